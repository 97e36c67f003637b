"""Into which parts noisy values are told apart, by their losses: so that few lines serve, as no bound rests on it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from ldp_audit.accounting.contour.on_sample import log_density
from ldp_audit.accounting.contour.sampled_transform import SampledTransform
from ldp_audit.accounting.contour.symmetric_transform import SymmetricTransform
from ldp_audit.accounting.contour.transform import Transform

_LOG_FEW, _LOG_MANY = math.log(0.3), math.log(60.0)
"""ln: so many values above the first end are rare; and so many above the last one leave no outcome with none."""
_SMALL, _HALF = 0.15, 0.5
"""Losses of this share of the bulk's deviation, or of how far its mean lies below 0, are part of the bulk."""
_TILT = 0.5 / 40.0
_KNOWN = 1.5
"""A loss above which the record alone explains a value."""
_BEND, _TIMES = 24.0, 3.0
"""How far ln of the density may bend in a part under a tilt that balances its ends, times 8; and ln of losses."""
_RAREST, _RARER = -900.0, -60.0
_PER_BLUR = 20.0
_MOST_ENDS = 40
_STEPS = 2000
_GENTLE = 1e-3

OnSamples = SampledTransform | SymmetricTransform
Noisy = Sequence[tuple[OnSamples, int]]
Counted = Sequence[tuple[Transform, int]]


def part_ends(noisy: Noisy) -> list[float]:
    """The losses at which parts end, ascending, for losses on samples; none if large ones are many."""
    one, times = max(noisy, key=lambda pair: math.log(pair[1]) + _log_above(pair[0], value_of(pair[0], _KNOWN)))
    rare, last = _places(one, times, _RAREST)
    known = min(value_of(one, _KNOWN), last)
    if _log_above(one, known) + math.log(times) > _LOG_MANY:
        return []
    found = [min(_first(one, times, rare), known)]
    while len(found) < _MOST_ENDS and found[-1] < known:
        step = math.sqrt(_BEND / (max(0.5, found[-1]) * one.mu))
        found.append(found[-1] + min(step, _TIMES / one.mu))
    if len(found) > 1:  # the last one at the known loss, and none too near before it
        found = [*(value for value in found[:-1] if known - value > 0.4 * (found[-1] - found[-2])), known]
    return [_loss_of(one, value) for value in found]


def value_of(one: OnSamples, loss: float) -> float:
    """The noisy value with this loss."""
    return float(one.rate.unmixed(np.array(loss))) / one.mu + one.mu / 2


def blur(mu: float, ends: Sequence[float]) -> float:
    """How blurred the ends are: a part of their distance, so little that neither density nor tilt change much in it."""
    apart = min(np.diff(ends), default=math.inf)
    steep = max(1.0, *ends)
    return float(min(1.0, apart / _PER_BLUR, 0.5 / math.sqrt(steep * mu), 1 / steep))


def contrast(parts: Counted) -> float:
    """How many times larger losses there may be than the bulk's deviation is; 0 where none is on a sample."""
    variance, largest = 0.0, 0.0
    for one, times in parts:
        if isinstance(one, OnSamples):
            rare, last = _places(one, times, _RARER)
            variance += times * _bulk(one, rare)[1]
            largest = max(largest, _loss_of(one, last))
        else:
            means = [one.about(c) for c in (0.0, _GENTLE, 2 * _GENTLE)]
            variance += times * max(0.0, means[2] - 2 * means[1] + means[0]) / _GENTLE**2
    return largest / math.sqrt(variance) if variance > 0 else math.inf


def _loss_of(one: OnSamples, value: float) -> float:
    return float(one.rate.mixed(np.array(one.mu * value - one.mu * one.mu / 2)))


def _places(one: OnSamples, times: int, log_none: float) -> tuple[float, float]:
    """The value from which on values are rare, and the one beyond which there are none but for this ln probability."""
    x = np.linspace(-10.0, 60.0 + one.mu, _STEPS)
    logs = _logs_above(one, x) + math.log(times)
    rare, last = (float(x[np.argmax(logs <= log)]) if logs[-1] <= log else math.inf for log in (_LOG_FEW, log_none))
    return rare, min(last, float(x[-1]))


def _bulk(one: OnSamples, end: float) -> tuple[float, float]:
    """About the mean and the variance of a loss, values beyond the end counted as none."""
    x = np.linspace(-10.0, min(end, 20.0 + one.mu), _STEPS)
    losses = one.rate.mixed(one.mu * x - one.mu * one.mu / 2)
    masses = np.exp(log_density(x) + losses) * (x[1] - x[0])
    mean = float((masses * losses).sum())
    return mean, max(0.0, float((masses * (losses - mean) ** 2).sum()))


def _first(one: OnSamples, times: int, rare: float) -> float:
    """The value where the bulk ends, if values are rare from this one on."""
    if rare == math.inf:
        return rare
    mean, variance = _bulk(one, rare)
    deviation = math.sqrt(times * variance)
    # under the largest tilt that the bulk may have, losses below this one hardly bend
    straight = _TILT * deviation / one.mu**2
    return max(rare, value_of(one, max(_SMALL * deviation, straight, -_HALF * times * mean)))


def _log_above(one: OnSamples, x: float) -> float:
    """ln of the probability of more than x, of data with the record."""
    return float(_logs_above(one, np.array([x]))[0])


def _logs_above(one: OnSamples, x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.logaddexp(one.rate.log_left_out + log_ndtr(-x), one.rate.log_drawn + log_ndtr(one.mu - x))
