r"""The loss of a record that each of k draws with replacement may take: bounds for all mechanisms with a given loss.

Of n records, the number J of draws that take one record is binomial. Given J = 0 the sample is one without the record;
given J >= 1 it differs from such a sample in J records. By joint convexity the loss is at most that of Poisson sampling
at the rate q = 1 - (1 - 1/n)**k of a mixture that shows J, given J >= 1, whose part of J = j has the loss of a group of
j records (Balle, Barthe, Gaboardi, "Privacy amplification by subsampling", NeurIPS 2018, Theorem 10):

* Gaussian or Laplace noise moved j times as far;
* j times the largest loss, where that is finite, and an infinite loss else (group privacy).

The lower bound is the loss of a mechanism that shows no more than whether the record was drawn: Poisson sampling of one
copy at the same rate. Each draw changes any probability by at most 1 + (e**top - 1)/n for the largest loss top, so k
times the logarithm of that bounds the loss.
"""

from __future__ import annotations

import math

import numpy as np

from ldp_audit.accounting.sampling.fewer_losses import capped
from ldp_audit.losses.binomial_loss import log_binomial
from ldp_audit.losses.enclosed_loss import BracketedLoss, ends_of, mixture
from ldp_audit.losses.finite_losses import pure_loss
from ldp_audit.losses.loss import LossLaw
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.losses.sampled_loss import SamplingRate, mixed
from ldp_audit.numerics import log_ratio, log_sum

_REACH, _TAIL, _MOST = 16.0, -80.0, 200
"""Deviations, and ln of the chance of more, which count as k draws; and the most parts of a mixture."""
_MOST_EXPECTED = 1e6
"""Expected draws of one record beyond which all k draws are taken to be of it."""


def copies_loss(law: LossLaw, n: int, k: int) -> LossLaw:
    """Bounds on the loss from samples of n records with one of them to samples without it, by k >= 2 draws.

    law: of samples that differ in one record, its own mirror image.
    """
    lower, upper = ends_of(law)
    rate = SamplingRate.with_replacement(n, k)
    top = law.largest()
    parts = [(log, 0.0, _group(upper, times, top)) for times, log in _times_drawn(n, k)]
    found = mixed(mixture(parts), rate)
    if math.isfinite(k * top):
        once = SamplingRate.of_chance(1 / n)
        highest, lowest = (k * way * float(once.mixed(np.array(way * top))) for way in (1, -1))
        found = capped(capped(found, highest).mirrored(), lowest).mirrored()
    return BracketedLoss(mixed(lower, rate), found)


def _group(law: LossLaw, times: int, top: float) -> LossLaw:
    """The loss of so many records for the loss of one."""
    if times == 1:
        return law
    if isinstance(law, GaussianLoss):
        return GaussianLoss(times * law.mu)
    if isinstance(law, LaplaceLoss):
        return LaplaceLoss(times * law.epsilon)
    return pure_loss(times * top)


def _times_drawn(n: int, k: int) -> list[tuple[int, float]]:
    """Numbers of draws >= 1 that take the record, and ln of their chances given that any does; moved up, if at all.

    Beyond `_REACH` deviations and 100 draws the chance is below e**_TAIL by Bernstein's inequality.
    """
    expected = k / n
    if expected > _MOST_EXPECTED or n == 1:
        return [(k, 0.0)]
    reach = _REACH * math.sqrt(expected) + 100
    low, high = max(1, math.floor(expected - reach)), min(k, math.ceil(expected + reach))
    counts = np.arange(low, high + 1.0)
    logs = log_binomial(counts, float(k), log_ratio(1, n), log_ratio(n - 1, n))
    likely = np.flatnonzero(logs > _TAIL)
    counts, logs, rest = counts[likely], logs[likely], log_sum(np.delete(logs, likely))
    groups = np.array_split(np.arange(counts.size), min(counts.size, _MOST))
    found = [(int(counts[group[-1]]), log_sum(logs[group])) for group in groups]
    if counts[-1] < k:
        found.append((k, max(rest, _TAIL)))
    total = log_sum(np.array([log for _, log in found]))
    return [(times, log - total) for times, log in found]
