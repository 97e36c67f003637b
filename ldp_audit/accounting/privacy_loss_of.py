"""The privacy loss of one mechanism: its dominating pair, exactly where finitely many losses or a formula say it.

Local privacy's neighbours are any two inputs, in both orders, so one law holds for both directions. It follows from

* the profile of most mechanisms here, m (1 - e**(epsilon - e0))_+: the losses e0, with probability m, -e0 and 0;
* a finite channel's rows (`channel_loss`);
* the selection's loss plus the value's, for a two-stage report: its profile is that of the two independent ones;
* formulas, for Gaussian and Laplace noise;
* the profile itself, for any other object with `delta` and `exact_epsilon` (`profile_loss`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ldp_audit.accounting.laws.channel_loss import channel_loss
from ldp_audit.accounting.laws.selection_loss import selection_loss
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses.enclosed_loss import mixture
from ldp_audit.losses.finite_losses import EVERYTHING, NOTHING, symmetric_law
from ldp_audit.losses.loss import ImproperLoss, LossLaw
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.losses.profile_loss import ProfileLoss, stated_delta, stated_epsilon
from ldp_audit.mechanisms.bound_sampling import GridChannel
from ldp_audit.mechanisms.coordinate_sampling import CoordinateSampling
from ldp_audit.mechanisms.duchi_vector import DuchiVector
from ldp_audit.mechanisms.exponential_selection import ExponentialSelection, FiniteSelection
from ldp_audit.mechanisms.finite_channel import FiniteChannel
from ldp_audit.mechanisms.gaussian import Gaussian
from ldp_audit.mechanisms.hybrid import FiniteHybrid
from ldp_audit.mechanisms.laplace import Laplace
from ldp_audit.mechanisms.random_projection import RandomProjection
from ldp_audit.mechanisms.randomized_response import FiniteResponse, RandomizedResponse
from ldp_audit.mechanisms.subsample_release import SubsampleRelease
from ldp_audit.mechanisms.two_point import TwoPoint
from ldp_audit.mechanisms.two_stage import TwoStage


def privacy_loss(mechanism: Any) -> PrivacyLoss:
    """What one report of this mechanism gives away, at most, between any two inputs.

    mechanism: any mechanism of the toolkit, or what it samples from (`implemented()`); any object with a profile
    `delta(epsilon)` and `exact_epsilon()`, which are believed; a loss law; or a `PrivacyLoss`, which is returned.
    Raises ValueError for anything else.
    """
    if isinstance(mechanism, PrivacyLoss):
        return mechanism
    return PrivacyLoss((law_of(mechanism),))


def law_of(mechanism: Any) -> LossLaw:
    """The law of the dominating pair. Raises ValueError for what is no mechanism."""
    for kind, law in _LAWS:
        if isinstance(mechanism, kind):
            return law(mechanism)
    if all(callable(getattr(mechanism, name, None)) for name in ("log_delta_bounds", "largest", "mirrored")):
        return mechanism
    if all(callable(getattr(mechanism, name, None)) for name in ("delta", "exact_epsilon")):
        return _by_profile(mechanism)
    raise ValueError(f"mechanism must have delta and exact_epsilon, or be a loss, got {mechanism!r}")


def _randomized_response(m: RandomizedResponse) -> LossLaw:
    if m.epsilon in (0.0, math.inf):
        return EVERYTHING if m.epsilon else NOTHING
    truth = -math.log1p((m.k - 1) * math.exp(-m.epsilon))
    return symmetric_law([m.epsilon], [truth], rest=(m.k - 2) * math.exp(truth - m.epsilon))


def _two_point(m: TwoPoint) -> LossLaw:
    return EVERYTHING if math.isinf(m.epsilon) else symmetric_law([m.epsilon], [-math.log1p(math.exp(-m.epsilon))])


def _finite_selection(m: FiniteSelection) -> LossLaw:
    weights, half = m.weights(), m.mechanism.d // 2
    ahead, behind = weights[::-1][:half], weights[:half]
    losses, gains = np.log1p((ahead - behind) / behind), ahead > behind
    return symmetric_law(losses[gains], np.log(ahead[gains]) - math.log(sum(weights.tolist())))


def _finite_hybrid(m: FiniteHybrid) -> LossLaw:
    total, piecewise = 2**m.bits, m.piecewise_words()
    parts = [(m.piecewise(), piecewise), (m.points(), total - piecewise)]
    return mixture([(math.log(words / total), 0.0, law_of(part)) for part, words in parts if words])


def _duchi_vector(m: DuchiVector) -> LossLaw:
    if not (m.printed and m.ties()):
        return _by_profile(m)
    likely, ties = m.likely(), m.ties()
    apart, tied = math.log((2 * (likely - ties) - ties) / (2 * likely)), math.log(ties / (2 * likely))
    shrunk = math.log1p(math.exp(-m.epsilon))
    return symmetric_law([m.epsilon, m.exact_epsilon(), shrunk], [apart - shrunk, tied, tied])


def _two_stage(m: TwoStage) -> LossLaw:
    """Each index's ratio, at the selection's worst pair, and the value's loss; no report has no value."""
    first, second = (np.asarray(z) for z in m.selection.worst_pair())
    one, two = (np.asarray(m.selection.log_prob(np.arange(m.d), z)) for z in (first, second))
    ratios = _snapped(one - two, (first.astype(float) - second) * 1.0, m.selection.exact_epsilon(), one, two)
    value, none = law_of(m.value), float(m.selection.log_prob(-1, first))
    pairs, counts = np.unique(np.stack([one, ratios], axis=-1), axis=0, return_counts=True)
    parts = [(float(p + math.log(n)), float(r), value) for (p, r), n in zip(pairs, counts, strict=True)]
    return mixture([*parts, (none, 0.0, NOTHING)] if none > -math.inf else parts)


def _snapped(ratios: Any, apart: Any, top: float, one: Any, two: Any) -> Any:
    """The shipped selections' log ratios go with the difference of ranks or statuses: then that has more digits."""
    steps = top * (apart / np.max(np.abs(apart)))
    rounding = 8 * np.finfo(np.float64).eps * (1 + np.maximum(np.abs(one), np.abs(two)))
    return np.where(np.abs(ratios - steps) <= rounding, steps, ratios)


def _coordinate_sampling(m: CoordinateSampling) -> LossLaw:
    from ldp_audit.accounting.compose import composed

    return composed([(law_of(m.coordinate()), m.k)])


def _subsample_release(m: SubsampleRelease) -> LossLaw:
    """A record is replaced by another: a sample that holds either shows which. It dominates removing and adding one."""
    if m.k == 0:
        return NOTHING
    left_out = m.k * math.log1p(-1 / m.n) if m.replacement and m.n > 1 else _log_share(m.n - m.k, m.n)
    return EVERYTHING if left_out == -math.inf else ImproperLoss(NOTHING, left_out, left_out)


def _log_share(part: int, whole: int) -> float:
    return -math.inf if part <= 0 else math.log1p(-(whole - part) / whole)


def _by_profile(m: Any) -> LossLaw:
    """Of the profile alone: of three losses where it is a chord, from which one point in the middle tells it."""
    top, start = stated_epsilon(m), stated_delta(m, 0.0)
    if top == 0:
        return NOTHING
    if math.isfinite(top) and start > 0:
        mass = start / -math.expm1(-top)
        middle = stated_delta(m, top / 2), mass * -math.expm1(-top / 2)
        if math.isclose(*middle, rel_tol=1e-13):
            return symmetric_law([top], [math.log(mass)])
    elif 0 < start == stated_delta(m, math.inf):  # flat: either all is shown, or nothing
        return EVERYTHING if start == 1 else ImproperLoss(NOTHING, math.log1p(-start), math.log1p(-start))
    return ProfileLoss(m)


_LAWS: tuple[tuple[type, Callable[[Any], LossLaw]], ...] = (
    (RandomizedResponse, _randomized_response),
    (FiniteResponse, lambda m: _randomized_response(m.law())),
    (TwoPoint, _two_point),
    (FiniteChannel, channel_loss),
    (GridChannel, lambda m: channel_loss(m.rows)),
    (ExponentialSelection, selection_loss),
    (FiniteSelection, _finite_selection),
    (FiniteHybrid, _finite_hybrid),
    (DuchiVector, _duchi_vector),
    (Laplace, lambda m: LaplaceLoss(m.exact_epsilon())),
    (Gaussian, lambda m: GaussianLoss(m.sensitivity / m.sigma)),
    (TwoStage, _two_stage),
    (CoordinateSampling, _coordinate_sampling),
    (RandomProjection, lambda m: law_of(m.value)),
    (SubsampleRelease, _subsample_release),
)
