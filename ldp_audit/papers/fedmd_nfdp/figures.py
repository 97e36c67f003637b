"""The curves of FedMD-NFDP's figures in the report: the flat exact profile, and the protection it gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ldp_audit.figure import Figure, Panel, Series, Style
from ldp_audit.mechanisms.selection.subsample_release import SubsampleRelease
from ldp_audit.papers.fedmd_nfdp.claims.table_2 import TABLE_2, draws_behind


def figures() -> list[Figure]:
    """The figures of the paper's report, in order."""
    return [profile_figure(), worth_figure()]


def profile_figure() -> Figure:
    """Table 2's settings: the exact profile of each, the published pairs, and Theorem 2's."""
    panels = []
    for data, size in (("FEMNIST", 2880), ("CIFAR-10", 300)):
        epsilons = np.linspace(0, 1.1, 12)
        lines, printed, theorem = [], [], []
        for (name, n, k), (epsilon, delta, _) in TABLE_2.items():
            if name != data:
                continue
            draws = draws_behind(name, n, k)
            mechanism = SubsampleRelease(n=n, k=draws, replacement=True)
            label = f"exact, k = {k}" + (f" (found: {draws})" if draws != k else "")
            lines.append(_series(label, epsilons, mechanism.delta(epsilons)))
            printed.append((float(epsilon), float(delta)))
            theorem.append(mechanism.published())
        panels.append(
            Panel(
                f"{data}: n = {size}, with replacement",
                "epsilon (nats)",
                "delta",
                (
                    *lines,
                    _series("Theorem 2, natural logarithm", *zip(*theorem, strict=True), style="dotted"),
                    _series("Table 2, as printed", *zip(*printed, strict=True), style="points"),
                ),
                y_log=True,
            )
        )
    return Figure(
        name="fedmd-nfdp-profile",
        title="Theorem 2 and Table 2: the exact privacy profile",
        caption="The least delta at each epsilon, for the settings of Table 2: it is the same at every epsilon, so the epsilon of a pair "
        "says nothing. The pairs of Theorem 2 (dotted, one at each k) and those of Table 2 (dots) lie on these lines; the two "
        "differ by the base of the logarithm.",
        alt="Two panels, delta on a log scale over epsilon from 0 to 1.1. In each, four horizontal lines, one for each k, from about "
        "0.006 or 0.06 up to 0.63, and a rising curve and a row of dots that meet each line once.",
        panels=tuple(panels),
    )


def worth_figure() -> Figure:
    """n = 300: the best attack, and with replacement against without, over k/n."""
    n = 300
    draws = np.arange(1, n + 1)
    shares = draws / n
    pairs = {kind: np.array([SubsampleRelease(n, int(k), kind).published() for k in draws]) for kind in (False, True)}
    without, with_ = pairs[False][:, 1], pairs[True][:, 1]
    ratios = pairs[False] / pairs[True]
    return Figure(
        name="fedmd-nfdp-worth",
        title="What the guarantee is worth",
        caption=f"n = {n}. Left: the chance that a record is in the sample, which is the delta of the theorems and the advantage of the best "
        "membership attack; and the posterior of a record's presence at prior 1/2, if the sample does not hold it (if it does, the "
        "posterior is 1). Right: without replacement against with, as a ratio; the deltas never differ by more than 1.58.",
        alt="Two panels over the share k/n from 0 to 1. Left: two rising curves to 1 and 0.63 and two falling ones from 0.5 to 0 and 0.27. "
        "Right: the ratio of the deltas rises to 1.58, that of the epsilons to 5.7, most of it close to k = n.",
        panels=(
            Panel(
                "The best attack",
                "k / n",
                "probability",
                (
                    _series("advantage, without replacement", shares, without),
                    _series("posterior if not seen", shares, (1 - without) / (2 - without), style="dashed"),
                    _series("advantage, with replacement", shares, with_),
                    _series("posterior if not seen", shares, (1 - with_) / (2 - with_), style="dashed"),
                ),
            ),
            Panel(
                "Without replacement / with",
                "k / n",
                "ratio",
                (_series("delta", shares, ratios[:, 1]), _series("epsilon (idle)", shares, ratios[:, 0])),
            ),
        ),
    )


def _series(label: str, x: ArrayLike, y: ArrayLike, style: Style = "line") -> Series:
    xs, ys = ([float(f"{number:.6g}") for number in np.asarray(values, dtype=float)] for values in (x, y))
    return Series(label, xs, ys, style=style)
