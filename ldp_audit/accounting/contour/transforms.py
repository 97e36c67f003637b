"""The laws whose moment-generating function is known on a line: noises, few atoms, sampled noises."""

from __future__ import annotations

import math

from ldp_audit.accounting.contour.atoms_transform import AtomsTransform
from ldp_audit.accounting.contour.noise_transforms import GaussianTransform, LaplaceTransform
from ldp_audit.accounting.contour.sampled_laplace_transform import SampledLaplaceTransform
from ldp_audit.accounting.contour.sampled_transform import SampledTransform
from ldp_audit.accounting.contour.symmetric_transform import SymmetricTransform
from ldp_audit.accounting.contour.transform import Transform
from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.laws.laplace_loss import LaplaceLoss
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.sampling.mixed_loss import MixedLoss
from ldp_audit.accounting.sampling.symmetric_loss import SymmetricLoss

_MOST_ATOMS = 1000


def transform_of(law: LossLaw) -> Transform | None:
    """That of one loss; None where it is not known, or where the loss may be infinite."""
    if isinstance(law, GaussianLoss):
        return GaussianTransform(law.mu)
    if isinstance(law, LaplaceLoss):
        return LaplaceTransform(law.epsilon)
    if isinstance(law, BinomialLoss) and law.times == 1:
        return AtomsTransform(law.atoms(), whole=True)
    if type(law) is LossAtoms and 0 < law.losses.size <= _MOST_ATOMS and law.log_infinite == -math.inf:
        return AtomsTransform(law, whole=False)
    if isinstance(law, MixedLoss) and isinstance(law.base, GaussianLoss):
        return SampledTransform(law.base.mu, law.rate, back=not law.record_first)
    if isinstance(law, SymmetricLoss) and isinstance(law.upper, MixedLoss) and law.upper.record_first:
        one, base = law.upper, law.upper.base
        return SymmetricTransform(base.mu, one.rate) if isinstance(base, GaussianLoss) else None
    if isinstance(law, MixedLoss) and isinstance(law.base, LaplaceLoss):
        return SampledLaplaceTransform(law.base.epsilon, law.rate, back=not law.record_first)
    return None
