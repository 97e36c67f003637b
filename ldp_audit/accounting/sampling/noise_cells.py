r"""Finitely many losses that enclose that of moved noises mixed together: outputs cut into intervals.

From below, an interval's outputs are merged, which is a post-processing. From above, its masses go to the losses at
its ends (`fewer_losses`). As in `chain_mixture`, some numbers of copies are pooled in an interval; from above those
that its lower end pools, from below those of the merged outputs.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri

from ldp_audit.accounting.laws.finite_losses import atoms_of
from ldp_audit.accounting.laws.laplace_loss import LaplaceLoss
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.sampling.chain_cells import ChainCells
from ldp_audit.accounting.sampling.chain_mixture import last_pooled, mixture_of_chain, prefix_means, upper_half
from ldp_audit.accounting.sampling.fewer_losses import connected, fewer
from ldp_audit.accounting.sampling.shifted_noise import ShiftedNoise

Numbers = NDArray[np.float64]

_MOST_POINTS, _LIKELY_POINTS, _UNLIKELY_POINTS, _LIKELY = 3000, 60, 15, -80.0
_FEWEST_POINTS, _CROWD = 4, 60
"""For each moved noise; and up to how many likely ones have more, as each serves its neighbours too."""
_FALLS, _LESS = np.concatenate([8.1 * np.exp(0.0025 * np.arange(1560)) - 8.0, np.arange(392.5, 746.0)]), 4
"""-ln of the chances of tails at whose ends outputs are cut: by 0.02 + u/400, at most 1, apart at u; and how many times
fewer there are where outputs tell that the record is not there."""
_MOST_PLACES = 2000
_GAUSSIAN_REACHES, _LAPLACE_REACHES = (39.0, 12.0), (40.0, 5.0)
_SINGLES = 2000
_APART = 2.0**-24
"""Cuts nearer than this part of a scale, or of the largest distance, are one."""
_SAME = 2.0**-43
"""Of which no mass can be told."""


def cuts_of(chain: ShiftedNoise, logs: Numbers, zero: float) -> Numbers:
    """Where outputs are cut: around each moved noise, and the more closely the more its losses count in a sum.

    An error of the losses counts by its square, so that the best density of cuts is as the cube root of the mass and of
    the squared slope of the loss: for one noise as quantiles of a law sqrt(3), or 3, times as wide. Of a delta of
    unlikely outputs it is a share, which grows with the steps by which the tail's logarithm falls (`_tails`).

    zero: where the loss of pooled numbers of copies passes 0; infinite where it does not.
    """
    far = chain.distances
    laplace = isinstance(chain.noise, LaplaceLoss)
    counted = (logs - logs.max()) / 3 + 2 / 3 * np.log(np.maximum(far / far[-1], 1e-3))
    shares = np.exp(counted - counted.max())
    numbers = (_MOST_POINTS * shares / shares.sum()).astype(int)
    found, dense = [], []
    shared = min(1.0, (_CROWD / max(1, int(np.count_nonzero(logs > _LIKELY)))) ** 2)
    for distance, log, number in zip(far.tolist(), logs.tolist(), numbers.tolist(), strict=True):
        sparse = max(_FEWEST_POINTS, int((_LIKELY_POINTS if log > _LIKELY else _UNLIKELY_POINTS) * shared))
        for reach in (*_LAPLACE_REACHES, 2 * chain.step) if laplace else _GAUSSIAN_REACHES:
            near = min(reach, float(far[-1])) if laplace else reach
            found.append(distance + np.linspace(-near, near, sparse))
        if number > sparse:
            dense.append(distance + _quantiles(number, laplace=laplace, most=float(far[-1])))
    # in a crowd the numbers of copies that are told cost more than their tails
    found += dense if shared < 1 else [*dense, *_tails(chain, logs, np.unique(np.concatenate(found)))]
    apart = _APART * min(1.0, float(far[-1]))
    points = apart * np.unique(np.round(np.concatenate(found) / apart))
    kinks = np.append(far / 2, zero)  # where losses are 0, which a symmetric law needs to know
    kinks = np.unique(kinks[np.isfinite(kinks)])
    if not laplace:
        kinks = kinks[np.diff(kinks, prepend=-math.inf) > _SAME * np.maximum(1.0, np.abs(kinks))]
    else:
        kinks = np.union1d(kinks, np.append(far, 0.0))  # where ratios bend
        points = points[(points > 0) & (points < far[-1])]
        kinks = kinks[(kinks >= 0) & (kinks <= far[-1])]
    after = np.minimum(np.searchsorted(kinks, points), kinks.size - 1)
    nearest = np.minimum(np.abs(points - kinks[after]), np.abs(points - kinks[after - 1]))
    return np.union1d(points[nearest > apart / 2], kinks)


def _quantiles(number: int, *, laplace: bool, most: float) -> Numbers:
    """Of a wider law of the noise: within the distance `most` for Laplace noise, which has no other slopes."""
    if not laplace:
        return math.sqrt(3) * ndtri((np.arange(number) + 0.5) / number)
    inside = -math.expm1(-min(most, 40.0) / 3)
    side = -3 * np.log1p(-inside * np.arange(1, number // 2 + 1) / (number // 2 + 1))
    return np.concatenate([-side, side])


def _tails(chain: ShiftedNoise, logs: Numbers, places: Numbers) -> list[Numbers]:
    """About where the chance of larger outputs with the record, and of smaller ones without it, has fallen by `_FALLS`.

    places: near the moved noises, ascending; there it is worked out, if they are not too many, and at even steps.
    """
    evenly = np.linspace(places[0], places[-1], _MOST_PLACES // 2)
    places = np.union1d(places[:: math.ceil(2 * places.size / _MOST_PLACES)], evenly)
    if isinstance(chain.noise, LaplaceLoss):
        places = places[(places >= 0) & (places <= chain.distances[-1])]
        away = chain.distances[:, None] - places
        above = np.where(away < 0, away - math.log(2), np.log1p(-np.exp(-np.maximum(away, 0.0)) / 2))
        below = np.log1p(-np.exp(-places) / 2)
    else:
        above, below = log_ndtr(chain.distances[:, None] - places), log_ndtr(places)
    above = np.logaddexp.reduce(above + logs[:, None], axis=0)
    return [np.interp(_FALLS, -above, places), np.interp(_FALLS[::_LESS], -below[::-1], places[::-1])]


def from_below(chain: ShiftedNoise, logs: Numbers, zero: float, *, replaced: bool) -> LossLaw:
    """Of the outputs merged to intervals.

    logs: ln of the probabilities of the steps, shape (j,).   zero: see `cuts_of`.
    """
    cuts = cuts_of(chain, logs, zero)
    sizes, ratios = chain.log_sizes(cuts), chain.cell_ratios(cuts)
    kept = (sizes > -math.inf) & np.all(np.isfinite(ratios), axis=0)
    cells = ChainCells(sizes[kept], ratios[:, kept], np.full(logs.size, -math.inf))
    return mixture_of_chain(cells, np.arange(logs.size), logs, replaced=replaced, merging=_SINGLES)


def from_above(chain: ShiftedNoise, logs: Numbers, zero: float, *, replaced: bool) -> LossLaw:
    """Of masses moved to the ends of intervals."""
    cuts = cuts_of(chain, logs, zero)
    sizes, ratios = chain.log_sizes(cuts), chain.cell_ratios(cuts)
    at_ends = chain.log_ratios(np.concatenate([[-math.inf], cuts, [math.inf]]))
    log_weights = np.logaddexp.accumulate(logs)
    ends, inner = prefix_means(at_ends, logs), prefix_means(ratios, logs)
    chosen = np.arange(sizes.size)
    last = np.full(sizes.size, logs.size - 1)
    if replaced:
        last = last_pooled(at_ends[:, :-1], ends[:, :-1])
    pool, infinite, missing = connected(
        ends[last, chosen], ends[last, chosen + 1], inner[last, chosen], sizes + log_weights[last]
    )
    if not replaced:
        return atoms_of(pool.losses, pool.seconds + pool.losses, infinite, missing)
    single = (np.arange(logs.size)[:, None] > last) & (at_ends[:, 1:] > 0)
    low, high = at_ends[:, :-1][single], at_ends[:, 1:][single]
    singles, more, _ = connected(low, high, ratios[single], (sizes + logs[:, None])[single])
    singles = fewer(singles, _SINGLES, 1)
    return upper_half(
        np.concatenate([pool.losses, singles.losses]),
        np.concatenate([pool.seconds, singles.seconds]),
        float(np.logaddexp(infinite, more)),
    )
