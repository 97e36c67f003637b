"""The curves behind LDP-FL's figures in the report: its variance, and its bounds, against the exact values."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ldp_audit.accounting.figure import Figure, Panel, Series, Style
from ldp_audit.mechanisms.two_point import TwoPoint

_CLIENTS = 100
_SEED = 2021


def figures() -> list[Figure]:
    """The figures of the paper's report, in order."""
    return [variance_figure(), bounds_figure()]


def variance_figure() -> Figure:
    """Lemma 2: the exact variance of one report over the weight, against the printed formula."""
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


def _series(label: str, x: ArrayLike, y: ArrayLike, upper: ArrayLike = (), style: Style = "line") -> Series:
    xs, ys, tops = ([float(f"{number:.6g}") for number in np.asarray(values)] for values in (x, y, upper))
    return Series(label, xs, ys, tops, style)
