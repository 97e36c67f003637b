r"""M of a sum of losses, counted only where the largest of the samples' noisy values lies in a certain part.

Of each loss there is M over the values below that part, A, and over those in it, B. So over all outcomes of the sum
with no value above the part, and one or more in it,

    M = product of (A + B)**T - product of A**T = product of A**T (e**z - 1),   z = sum of T ln(1 + B/A),

which keeps its digits where B is tiny. All parts' M add up to that of the sum, and each one falls off as its B does,
however large the share of outcomes in which no value is large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.contour.transform import EPS, VAGUE, Transform, Values

_LOG_SMALL = -230.0
"""ln of the z from which down e**z - 1 is as good as z, and ln(1 + B/A) as B/A."""

Ratios = Sequence[tuple[NDArray[np.complex128], NDArray[np.float64], int]]


@dataclass(frozen=True, eq=False)
class LargestPart:
    """The `Transform` of the sum over such outcomes.

    parts: each loss's A, its B or None if it has none, and how many times it counts; one B at least.
    """

    parts: Sequence[tuple[Transform, Transform | None, int]]

    def at(self, c: float, y: NDArray[np.float64]) -> Values | None:
        """See `Transform`."""
        logs, errors = np.zeros(y.size, dtype=np.complex128), np.zeros(y.size)
        ratios: list[tuple[NDArray[np.complex128], NDArray[np.float64], int]] = []
        for below, inside, times in self.parts:
            one = below.at(c, y)
            if one is None:
                return None
            logs += times * one.log
            errors += times * (one.error + (4 + len(self.parts)) * EPS * np.abs(one.log))
            if inside is not None:
                two = inside.at(c, y)
                if two is None:
                    return None
                ratio, error = two.log - one.log, two.error + one.error
                ratios.append((ratio, error + 4 * EPS * (np.abs(one.log) + np.abs(two.log)), times))
        grown, wrong = _grown(ratios)
        return Values(logs + grown, errors + wrong)

    def about(self, c: float) -> float:
        """See `Transform`."""
        belows, insides = [one.about(c) for one, _, _ in self.parts], [_about(one, c) for _, one, _ in self.parts]
        return self._together(belows, insides) if _told(belows, insides) else math.inf

    def log_limit(self, c: float) -> float:  # noqa: ARG002
        """See `Transform`: it falls all the way."""
        return -math.inf

    def log_beyond(self, c: float, y: float) -> float:
        """See `Transform`: |M| is at most what the bounds of all |A| and |B| make of it."""
        belows = [one.log_beyond(c, y) for one, _, _ in self.parts]
        insides = [-math.inf if one is None else one.log_beyond(c, y) for _, one, _ in self.parts]
        if not _told(belows, insides):
            return math.inf
        found = self._together(belows, insides)
        added = sum(times * abs(below) for below, (_, _, times) in zip(belows, self.parts, strict=True))
        return found + 8 * EPS * (1 + abs(found) + added)

    def _together(self, belows: list[float], insides: list[float]) -> float:
        """ln of product of (A + B)**T - product of A**T, or a little more, from ln A and ln B."""
        total, more = 0.0, []
        for below, inside, (_, _, times) in zip(belows, insides, self.parts, strict=True):
            total += times * below
            more.append(math.log(times) + float(log1p_exp(np.array(inside - below))))
        return total + float(log_expm1(np.logaddexp.reduce(more)))


def _about(one: Transform | None, c: float) -> float:
    return -math.inf if one is None else one.about(c)


def _told(belows: list[float], insides: list[float]) -> bool:
    """Whether all ln A and ln B are known."""
    return all(map(math.isfinite, belows)) and all(inside < math.inf for inside in insides)


def _grown(ratios: Ratios) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
    """ln(e**z - 1) from each ln(B/A), its error and how many times it counts; and its error."""
    vague = np.any([error >= VAGUE for _, error, _ in ratios], axis=0)
    most = np.logaddexp.reduce([math.log(times) + log1p_exp(ratio.real + error) for ratio, error, times in ratios])
    bound = log_expm1(most)
    top = max(float(ratio.real.max()) + math.log(times) for ratio, _, times in ratios)
    log, relative = _grown_tiny(ratios, top) if top < _LOG_SMALL else _grown_any(ratios)
    known = (relative < 0.25) & ~vague
    error = np.where(known, 1.5 * relative + 4 * EPS * (abs(top) + np.abs(log)), VAGUE)
    return np.where(known, log, bound - VAGUE), error


def _grown_tiny(ratios: Ratios, scale: float) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
    """The same and its relative error, where e**z - 1 is as good as z, and ln(1 + B/A) as B/A."""
    total, wrong = np.zeros(ratios[0][0].size, dtype=np.complex128), np.zeros(ratios[0][0].size)
    for ratio, error, times in ratios:
        value = np.exp(ratio - (scale - math.log(times)))
        total, wrong = total + value, wrong + np.abs(value) * (_off(error) + 8 * EPS)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(total) + scale, dtype=np.complex128), wrong / np.abs(total)


def _grown_any(ratios: Ratios) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
    total, wrong = np.zeros(ratios[0][0].size, dtype=np.complex128), np.zeros(ratios[0][0].size)
    for ratio, error, times in ratios:
        # of the ratio or of its inverse, whichever is at most 1
        flipped = ratio.real > 0
        share = np.asarray(np.exp(np.where(flipped, -ratio, ratio)), dtype=np.complex128)
        inner = 0.5 * np.log1p(np.maximum(share.real * (2 + share.real) + share.imag**2, EPS - 1))
        inner = inner + 1j * np.arctan2(share.imag, 1 + share.real)
        total = total + times * (inner + np.where(flipped, ratio, 0))
        size = np.where(flipped, 1.0, np.abs(share))
        rounding = 16 * EPS * (size + np.where(flipped, np.abs(ratio), 0.0))
        wrong = wrong + times * (
            size * _off(error) / np.maximum(np.abs(1 + share) - size * _off(error), EPS) + rounding
        )
    # e**(z + d) - 1 is that of z, right to |e**z| (e**|d| - 1)
    up = total.real > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(up, -np.expm1(-np.where(up, total, 0)), np.expm1(np.where(up, 0, total)))
        log = np.where(up, total, 0) + np.log(ends)
        relative = np.expm1(np.minimum(wrong, 50.0)) * np.exp(np.minimum(total.real, 0.0)) / np.abs(ends)
    return log, relative + 8 * EPS * (1 + np.abs(total))


def _off(error: NDArray[np.float64]) -> NDArray[np.float64]:
    """By what share of itself a number may be wrong whose logarithm is by so much; > 1 where that says nothing."""
    return np.expm1(np.minimum(error, VAGUE))


def log1p_exp(log: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln of an upper bound of ln(1 + e**log)."""
    inner = np.clip(log, -36.0, 36.0)
    found = np.where(log > 36.0, np.log(np.maximum(log, 36.0) + EPS), np.log(np.log1p(np.exp(inner))))
    return np.where(log < -36.0, log, found) + EPS


def log_expm1(log: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln of an upper bound of e**(e**log) - 1."""
    z = np.exp(np.clip(log, -36.0, 700.0))
    return np.where(log < -36.0, log, z + np.log(-np.expm1(-z))) + 2 * EPS
