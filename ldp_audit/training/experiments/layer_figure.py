"""The measured variance of every aggregated layer against the one that the mechanism's law predicts, as a figure.

It reads the rounds' "layers": of each layer "variance" (the mean squared error of the server's average), its
expectation "variance_exact" and standard deviation "variance_sd", and "weights", how many the layer has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ldp_audit.accounting.figure import Figure, Panel, Series

_MOST_LAYERS = 4  # each has a colour, as has the line
_NEEDED = ("variance", "variance_exact", "variance_sd", "weights")

Measures = Mapping[str, Any]


def layer_figure(results: Mapping[str, Any]) -> Figure | None:
    """The last round of every run; None where no run measured its layers."""
    layers = _measured(results["runs"])
    if not layers:
        return None
    by_size = sorted(layers.items(), key=lambda pair: -pair[1][0]["weights"])
    shown = dict(by_size[:_MOST_LAYERS])
    every = [one for found in layers.values() for one in found]
    outside = sum(abs(one["variance"] - one["variance_exact"]) > 3 * one["variance_sd"] for one in every)
    bounds = [abs(one["lemma_3"].get("measured_z", 0)) <= 3 for one in every if "lemma_3" in one]
    of_lemma = f"{sum(bounds)} of {len(bounds)}"
    lemma = f" It is within Lemma 3's bounds, or three standard deviations of them, in {of_lemma}." if bounds else ""
    left = f" The {len(shown)} largest of {len(layers)} layers are drawn." if len(layers) > len(shown) else ""
    return Figure(
        "variance-layers",
        "Measured against predicted variance of every layer",
        "The mean squared error of the averaged reports of each layer in the last round of each run, against its exact "
        "expectation, and their ratio with three standard deviations either side. A pipeline that adds another noise "
        f"than it says leaves the line. Beyond three standard deviations: {outside} of {len(every)}, where chance "
        f"alone puts about 1 in 370, more where a layer is small.{lemma}{left}",
        f"Marks of {len(shown)} layers along the line on which measured and predicted variance are equal; "
        f"{outside} of {len(every)} are more than three standard deviations from it.",
        (_against(shown, every), _ratios(shown, every)),
    )


def _measured(runs: Sequence[Mapping[str, Any]]) -> dict[str, list[Measures]]:
    """By layer: what the last round of each run measured of it."""
    found: dict[str, list[Measures]] = {}
    for run in runs:
        layers = run["rounds"][-1].get("layers")
        for name, one in layers.items() if isinstance(layers, Mapping) else ():
            if all(key in one for key in _NEEDED) and one["variance_exact"] > 0:
                found.setdefault(name, []).append(one)
    return found


def _against(layers: Mapping[str, Sequence[Measures]], every: Sequence[Measures]) -> Panel:
    ends = sorted([min(one["variance_exact"] for one in every), max(one["variance_exact"] for one in every)])
    line = Series("equal", ends, ends, style="dotted")
    marks = [
        Series(name, [one["variance_exact"] for one in found], [one["variance"] for one in found], style="points")
        for name, found in layers.items()
    ]
    title = "variance of a layer's average"
    return Panel(title, "predicted variance", "measured variance", (*marks, line), y_log=True, x_log=True)


def _ratios(layers: Mapping[str, Sequence[Measures]], every: Sequence[Measures]) -> Panel:
    """Against the layers' sizes: the larger a layer, the nearer to 1."""
    widest: dict[int, float] = {}
    for one in every:
        widest[one["weights"]] = max(widest.get(one["weights"], 0.0), 3 * one["variance_sd"] / one["variance_exact"])
    sizes = sorted(widest)
    band = Series(
        "three standard deviations", sizes, [1 - widest[n] for n in sizes], [1 + widest[n] for n in sizes], "band"
    )
    marks = [
        Series(
            name,
            [one["weights"] for one in found],
            [one["variance"] / one["variance_exact"] for one in found],
            (),
            "points",
        )
        for name, found in layers.items()
    ]
    return Panel("measured / predicted", "weights in the layer", "ratio", (band, *marks), x_log=True)
