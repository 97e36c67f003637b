"""The curves of LDP-FL's figures in the report: its variance, its bounds, and its epsilon as a program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from ldp_audit.claims.language.rounding import nearest
from ldp_audit.figure import Figure, Panel, Series, Style
from ldp_audit.mechanisms.values.two_point import TwoPoint
from ldp_audit.papers.ldp_fl.attacks.membership_simulation import membership_figure
from ldp_audit.papers.ldp_fl.claims.float_program import DTYPES, implemented_epsilon

_CLIENTS = 100
_POINTS = 150
_IN_FLOAT32 = (
    (0, "1", ("16.230068", "16.63553"), "16.635532"),
    (0, "0.015", ("15.577747", "15.983987"), "15.983988"),
    (1, "0.001", ("10.66115", "10.661743"), "10.661744"),
)
"""c, r; the epsilon of the largest finite excess and the last before the first infinite one; and that one (FP-32)."""
_SEED = 2021


def figures() -> list[Figure]:
    """The figures of the paper's report, in order."""
    return [variance_figure(), bounds_figure(), membership_figure(), dtype_figure()]


def variance_figure() -> Figure:
    """Lemma 2: the exact variance of one report over the weight, against the published formula."""
    w = np.linspace(-1, 1, 81)
    absolute, relative = [], []
    for epsilon in (1.0, 2.0, 4.0):
        exact = TwoPoint(epsilon).variance(w)
        printed = np.full_like(w, TwoPoint(epsilon).variance(0.0))
        absolute.append(_series(f"exact, epsilon = {epsilon:g}", w, exact))
        absolute.append(_series(f"as printed, epsilon = {epsilon:g}", w, printed, style="dashed"))
    for epsilon in (0.5, 1.0, 2.0, 4.0, 8.0):
        mechanism = TwoPoint(epsilon)
        share = 100 * mechanism.variance(w) / mechanism.variance(0.0)
        relative.append(_series(f"epsilon = {epsilon:g}", w, share))
    where = "weight w (center 0, radius 1)"
    return Figure(
        name="ldp-fl-variance",
        title="Lemma 2: the variance of one report",
        caption="Lemma 2 prints the value at the center for every weight (dashed). The exact variance falls short of it by "
        "(w - c)^2, so the printed formula is right only at w = c. In share of the printed value (right) the gap is small for "
        "small epsilon and nearly everything at the ends of the range for large epsilon.",
        alt="Two panels over the weight from -1 to 1. Left: downward parabolas under horizontal dashed lines that touch them at "
        "weight 0. Right: the ratio exact over printed, near 100 percent for epsilon 0.5 and near 0 at the ends for epsilon 8.",
        panels=(
            Panel("Exact and as printed", where, "variance of one report (radius squared)", tuple(absolute)),
            Panel("Exact, in share of the printed value", where, "exact / printed (%)", tuple(relative)),
        ),
    )


def bounds_figure() -> Figure:
    """Lemma 3 and Corollary 1: the bounds on the variance of the mean around the exact value, over epsilon."""
    rng = np.random.default_rng(_SEED)
    epsilons = np.geomspace(0.5, 8, 41)
    positions = rng.uniform(-1, 1, _CLIENTS)
    radii = rng.uniform(0.2, 1.8, _CLIENTS)
    printed = np.array([float(TwoPoint(epsilon).variance(0.0)) for epsilon in epsilons])  # A**2
    common = np.mean(positions**2)
    square, own = np.mean(radii**2), np.mean((radii * positions) ** 2)
    return Figure(
        name="ldp-fl-bounds",
        title="Lemma 3 and Corollary 1: the variance of the mean",
        caption=f"n = {_CLIENTS} clients with weights drawn uniformly in their ranges; n times the variance of the mean. Left: one "
        "common range; the exact value runs inside the band of Lemma 3, whose edges are attained. Right: own radii; it runs inside "
        "the band of Corollary 1 as the paper has it. The dotted line is the lower bound that one damaged conversion of the paper "
        "prints: from epsilon = 1.76 on it lies above the band's lower edge, the least possible variance.",
        alt="Two panels over epsilon from 0.5 to 8, variance on a log scale, all curves falling. In each a solid curve runs inside a "
        "narrow band that widens, on the log scale, as epsilon grows. Right: a horizontal dotted line cuts through the band.",
        panels=(
            Panel(
                "Lemma 3: one common range",
                "epsilon (nats)",
                "n x variance of the mean",
                (
                    _series("between the bounds", epsilons, printed - 1, upper=printed, style="band"),
                    _series("exact", epsilons, printed - common),
                ),
                y_log=True,
            ),
            Panel(
                "Corollary 1: own radii",
                "epsilon (nats)",
                "n x variance of the mean",
                (
                    _series(
                        "between the bounds", epsilons, (printed - 1) * square, upper=printed * square, style="band"
                    ),
                    _series("exact", epsilons, printed * square - own),
                    _series(
                        "lower bound in the damaged conversion",
                        epsilons,
                        np.full_like(epsilons, square),
                        style="dotted",
                    ),
                ),
                y_log=True,
            ),
        ),
    )


def dtype_figure() -> Figure:
    """FP-DTYPE, FP-32, FP-CENTRE: the program's epsilon over the nominal one, from exact counts of words."""
    top = 42.0
    curves: list[Series] = []
    for name, bits in reversed(DTYPES.items()):  # the shortest curve on top
        curves += _until_infinite(name, bits, math.log(2**bits - 0.5), top)
    excess = [_excess(*case) for case in _IN_FLOAT32]
    return Figure(
        name="ldp-fl-float",
        title="Eq. (2) as a program: the epsilon that the roundings leave",
        caption="From exact counts of the generator's words that lead to each report, at the two ends of the range. Left: the curves "
        "follow the nominal epsilon (dotted) until the rarer report no longer comes from one of the ends; there epsilon is infinite "
        "(dashed, upwards). The curves are drawn to their first infinite epsilon; a few beyond it are finite again, none from 0.7 "
        "further on. Right: in float32, by how much the program's epsilon exceeds the nominal one. Near the end the few words of "
        "the rarer report are rounded either way; with a center of 1 and a radius of 0.001 the program is off long before.",
        alt="Left: implemented against nominal epsilon, both from 0 to 42, one diagonal for four dtypes; each leaves it upwards in a "
        "vertical dashed line, bfloat16 at 5.5, half at 7.6, float32 at 16.6, float64 at 36.7. Right: the excess in float32 over "
        "the nominal epsilon from 0 to 17: near 0 and then jagged, up to 0.4 for c = 0, r = 1 and about 1 for r = 0.015; for c = 1, "
        "r = 0.001 it rises smoothly from 0 through 0.7 at epsilon 10 to about 6.",
        panels=(
            Panel(
                "Four dtypes, c = 0, r = 1",
                "nominal epsilon (nats)",
                "implemented epsilon (nats)",
                (*curves, _series("implemented = nominal", [0, top], [0, top], style="dotted")),
            ),
            Panel("float32", "nominal epsilon (nats)", "implemented - nominal (nats)", tuple(excess)),
        ),
    )


def _until_infinite(dtype: str, bits: int, start: float, top: float) -> list[Series]:
    """The program's epsilon up to the first infinite one, and a vertical line there."""
    grid = [start * k / _POINTS for k in range(1, _POINTS)]
    found = [implemented_epsilon(bits, Fraction(epsilon), Fraction(1)) for epsilon in grid]
    upwards = _series(f"{dtype}: infinite from {start:.2f}", [start, start], [found[-1], top], style="dashed")
    return [_series(dtype, grid, found), upwards]


def _excess(center: int, radius: str, marked: Sequence[str], first: str) -> Series:
    """In float32: the program's epsilon less the nominal one, up to the first infinite one."""
    r, end, *known = (nearest(Fraction(text), DTYPES["float32"]) for text in (radius, first, *marked))
    epsilons = sorted([*known, *(end * k / (3 * _POINTS) for k in range(1, 3 * _POINTS))])
    found = [implemented_epsilon(DTYPES["float32"], e, r, Fraction(center)) - float(e) for e in epsilons]
    return _series(f"c = {center}, r = {radius}: infinite from {float(end):.2f}", [float(e) for e in epsilons], found)


def _series(label: str, x: ArrayLike, y: ArrayLike, upper: ArrayLike = (), style: Style = "line") -> Series:
    xs, ys, tops = ([float(f"{number:.6g}") for number in np.asarray(values)] for values in (x, y, upper))
    return Series(label, xs, ys, tops, style)
