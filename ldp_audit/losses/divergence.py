r"""The Renyi divergence of a law of losses: exact where that can be, else from above.

With c = alpha - 1 and M = E_P[e**(c L)] it is ln M / c. Small losses would cancel in that formula. With
g(x) = e**x - 1 - x >= 0,

    E_P[L] = E_P[g(-L)] + Q(where P has nothing),
    M - 1 = c E_P[L] + E_P[g(c L)],

which has positive terms alone, and is added up in logarithms.

* Independent losses: the divergences add up.
* A public mixture: M is the mean of the parts' own, each times e**(c shift).
* Noise on a random sample: M is an integral with a proved error (`inversion`), as in Mironov, Talwar, Zhang, "Renyi
  differential privacy of the sampled Gaussian mechanism" (2019); and never more than without sampling.
* Any other law: that of finitely many losses that dominate it. By M - 1 = alpha c int_0^inf (e**(c e) delta(e) +
  e**(-alpha e) delta_back(e)) de, what lies beyond the last level E of these, where delta is at most p and at most that
  of Gaussian noise, adds less than alpha p (e**(c E) - 1) + E_P[e**(c L); L > E] of that noise.
"""

from __future__ import annotations

import math
import sys
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from ldp_audit.losses.binomial_loss import BinomialLoss
from ldp_audit.losses.discrete_loss import LossAtoms
from ldp_audit.losses.enclosed_loss import BracketedLoss, LossMixture
from ldp_audit.losses.hulls import dominating_atoms
from ldp_audit.losses.inverted_sum import parts_of, transform_of
from ldp_audit.losses.loss import ImproperLoss, PairLoss
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.losses.sampled_loss import MixedLoss, SymmetricLoss
from ldp_audit.losses.transform import Transform
from ldp_audit.numerics import log_sum

_LEAST = (1e-5, 1e-2, 0.5)
"""Of alpha - 1 where M is an integral: divergences rise with the order, so a lower one has at most this one's."""
_ROUNDING = 2.0**-48
_LITTLE = -40.0
"""ln of an x from which down ln(1 + x) is x to the last digit."""
_KEPT = 32
_DEEPEST = -20_000.0
"""ln of the delta up to which finitely many losses dominate: 200 deviations of Gaussian noise, as high orders need."""

Divergence = tuple[float, bool]
"""Nats, and whether it is exact, but for rounding; else an upper end."""


def divergence_of(law: PairLoss, alpha: float) -> Divergence:
    """That of order alpha; alpha: >= 1, infinity among them. It is 0 for a loss that is always 0 alone."""
    value, exact = _divergence_of(law, alpha)
    if value < sys.float_info.min and law.largest() > 0:  # where floats have lost digits, or all of them
        return max(value, 0.0) + 2 * math.ulp(0.0), False
    return value, exact


def _divergence_of(law: PairLoss, alpha: float) -> Divergence:
    """The same, rounded as floats are."""
    law = law.side(1) if isinstance(law, BracketedLoss) else law
    if isinstance(law, LossAtoms):
        return _of_atoms(law, alpha), True
    if math.isinf(alpha):
        return law.largest(), law.exact
    if isinstance(law, BinomialLoss):
        one, exact = divergence_of(BinomialLoss(law.high, law.low, 1).atoms(), alpha)
        return law.times * one, exact
    if isinstance(law, ImproperLoss):
        if law.log_first < 0:
            return math.inf, True
        value, exact = divergence_of(law.common, alpha)
        return value + law.shift, exact
    if isinstance(law, GaussianLoss):
        value = alpha * law.mu * law.mu / 2
        return value, value < math.inf
    if isinstance(law, LaplaceLoss):
        return laplace_divergence(law.epsilon, alpha), True
    parts = parts_of(law)
    if parts[0][0] is not law:
        found = [(times, *divergence_of(one, alpha)) for one, times in parts]
        return math.fsum(times * value for times, value, _ in found), all(exact for _, _, exact in found)
    if isinstance(law, LossMixture):
        return _of_mixture(law, alpha), False
    return min(_of_integral(law, alpha), _of_noise(law, alpha)), False


def ratio_beyond(law: PairLoss, order: float) -> float:
    """A bound on divergence over order from this order on, nats; infinite where none is known."""
    if math.isfinite(law.largest()):
        return law.largest() / order
    law = law.side(1) if isinstance(law, BracketedLoss) else law
    if isinstance(law, ImproperLoss):
        return math.inf if law.log_first < 0 else ratio_beyond(law.common, order) + max(0.0, law.shift) / order
    if isinstance(law, LossMixture):
        return max(ratio_beyond(part.law, order) + max(0.0, part.shift) / order for part in law.parts)
    parts = parts_of(law)
    if parts[0][0] is not law:
        return math.fsum(times * ratio_beyond(one, order) for one, times in parts)
    return _square(largest_noise(law)) / 2


def largest_noise(law: PairLoss) -> float:
    """The mu of Gaussian noise that has no smaller a delta from level 0 on, in both orders of the pair; or infinity."""
    if isinstance(law, SymmetricLoss):
        return largest_noise(law.upper)
    if isinstance(law, MixedLoss):
        return largest_noise(law.base)
    if isinstance(law, LossMixture) and all(part.shift == 0 for part in law.parts):
        return max(largest_noise(part.law) for part in law.parts)
    return law.mu if isinstance(law, GaussianLoss) else math.inf


def laplace_divergence(epsilon: float, alpha: float) -> float:
    """Of Laplace noise, nats; epsilon: its pure epsilon, > 0 and finite.   alpha: >= 1, finite."""
    if alpha == 1:
        return math.exp(_log_g(-epsilon))
    if math.isinf(alpha * epsilon):
        return epsilon
    parts = [math.log(alpha) + _log_g((alpha - 1) * epsilon), math.log(alpha - 1) + _log_g(-alpha * epsilon)]
    return of_excess(log_sum(np.array(parts)) - math.log(2 * alpha - 1), alpha - 1)


def _of_atoms(law: LossAtoms, alpha: float) -> float:
    """See the module: positive terms, in logarithms."""
    if math.isinf(alpha) or math.isinf(alpha * law.largest()):
        return law.largest()
    if alpha == 1:
        return math.exp(_log_mean(law))
    return of_excess(_log_excess(law, alpha - 1), alpha - 1)


def of_excess(log: float, c: float) -> float:
    """ln(M)/c from ln(M - 1), also where M - 1 is no float."""
    return math.exp(log - math.log(c)) if log < _LITTLE else float(np.logaddexp(0.0, log)) / c


def _square(mu: float) -> float:
    """From above: infinite where mu**2 would be an error, and 0 only for 0."""
    return mu * mu + 4 * math.ulp(0.0) if mu > 0 else 0.0


def _log_mean(law: LossAtoms) -> float:
    """ln E_P[L]; of a law that may be infinite, ln of that plus the probability of it."""
    return log_sum(np.append(law.log_probabilities + _log_gs(-law.losses), law.missing))


def _log_excess(law: LossAtoms, c: float) -> float:
    """ln(M - 1), c > 0; of a law that may be infinite with the probability p, ln(M - 1 + (1 + c) p)."""
    return float(np.logaddexp(math.log(c) + _log_mean(law), log_sum(law.log_probabilities + _log_gs(c * law.losses))))


def _of_mixture(law: LossMixture, alpha: float) -> float:
    found = [(part, divergence_of(part.law, alpha)[0]) for part in law.parts]
    if alpha == 1:
        return math.fsum(math.exp(part.log_weight) * (part.shift + value) for part, value in found)
    c = alpha - 1
    powers = np.array([c * (part.shift + value) for part, value in found])
    logs = np.array([part.log_weight for part in law.parts])
    top = float((logs + powers).max())
    if top > 1:
        return (log_sum(logs + powers) + _ROUNDING * top) / c
    terms = np.exp(logs) * np.expm1(powers)
    return math.log1p(math.fsum(terms) + _ROUNDING * float(np.abs(terms).sum())) / c


def _of_integral(law: PairLoss, alpha: float) -> float:
    """Where M is known on a line; else that of a law which dominates."""
    transform = _transform(law)
    if transform is None:
        return _of_dominating(law, alpha)
    # of tiny losses rounding shows at orders near 1, and a larger order has no smaller a divergence
    return min(transform.log_mean(c) / c for c in {max(alpha - 1, least) for least in _LEAST})


def _of_noise(law: PairLoss, alpha: float) -> float:
    """Of noise without sampling; infinite where the law is no noise on a sample."""
    return divergence_of(law.base, alpha)[0] if isinstance(law, MixedLoss) else alpha * _square(largest_noise(law)) / 2


def _of_dominating(law: PairLoss, alpha: float) -> float:
    atoms = _atoms(law)
    if math.isfinite(atoms.largest()):
        return _of_atoms(atoms, alpha)
    mu = largest_noise(law)
    if mu == math.inf or not atoms.losses.size:
        return math.inf
    c, last = max(alpha - 1, _LEAST[0]), float(atoms.losses[-1])
    known = _log_excess(atoms, c)
    at_last = math.log1p(c) + atoms.log_infinite + c * last
    beyond = (1 + c) * c * mu * mu / 2 + float(log_ndtr(mu / 2 + c * mu - last / mu))
    return float(np.logaddexp.reduce([0.0, known, at_last, beyond])) * (1 + _ROUNDING) / c


@lru_cache(_KEPT)
def _transform(law: PairLoss) -> Transform | None:
    """With the rules that it has found so far."""
    return transform_of(law) if isinstance(law, MixedLoss) else None


@lru_cache(_KEPT)
def _atoms(law: PairLoss) -> LossAtoms:
    return dominating_atoms(law, _DEEPEST)


def _log_gs(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln(e**x - 1 - x), elementwise; -inf at 0."""
    series = np.ones_like(x)
    small = np.clip(x, -0.5, 0.5)
    for n in range(16, 2, -1):  # 1 + x/3 (1 + x/4 (1 + ...))
        series = 1 + small / n * series
    with np.errstate(divide="ignore", over="ignore"):
        near = 2 * np.log(np.abs(small)) - math.log(2) + np.log(series)
        above = np.maximum(x, 0.5)
        high = above + np.log1p(-(1 + above) * np.exp(-above))
        below = np.minimum(x, -0.5)
        low = np.log(np.expm1(below) - below)
    return np.where(np.abs(x) <= 0.5, near, np.where(x > 0, high, low))


def _log_g(x: float) -> float:
    return float(_log_gs(np.array([x]))[0])
