"""The figures of a sweep, as data for `reports` to draw.

Accuracy against each swept number; accuracy over the rounds; the measured variance of every layer against the predicted
one; accuracy against the exact spend of a run, beside the paper's claim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ldp_audit.figure import Figure, Panel, Series, Style
from ldp_audit.training.results import accuracy_of, runs_at, words
from ldp_audit.training.spend import spend_values

_PANELS, _CURVES = 2, 5  # panels of a figure; curves of a panel, limited by the colours
_SPENT = {
    "exact": "exact, reports by name",
    "shuffled": "exact, without names, at most",
    "claimed": "the paper's claim",
    "least delta": "least delta of the run",
}
_LOG_AXIS_RATIO = 30.0  # an axis is logarithmic if the values span this factor

Results = Mapping[str, Any]
Point = Mapping[str, Any]


def figures(results: Results) -> list[Figure]:
    """The figures for which the results have the numbers."""
    names = results["points"][0]["settings"] if results["points"] else {}
    made = [sweep_figure(results, name) for name in names]
    made += [round_figure(results), layer_figure(results), spend_figure(results)]
    return [figure for figure in made if figure is not None]


def sweep_figure(results: Results, name: str) -> Figure | None:
    """Accuracy against one field; None unless the field takes two or more numbers with all else equal."""
    groups = [group for group in _groups(results["points"], name) if len(_numeric(group, name)) > 1]
    if not groups:
        return None
    shown = groups[: _PANELS * _CURVES]
    labels = _labels([group[0] for group in shown], but=name)
    curves = [
        _curves(label or "accuracy", group, name, band=len(shown) == 1)
        for label, group in zip(labels, shown, strict=True)
    ]
    panels = [Panel("", _plain(name), "accuracy", tuple(series), x_log=_wide(series)) for series in _packed(curves)]
    drawn = sum(len(panel.series) for panel in panels)
    whole = drawn == sum(map(len, curves)) and len(shown) == len(groups)
    return Figure(
        f"accuracy-{name.replace('_', '-')}",
        f"Accuracy against {_plain(name)}",
        f"Accuracy after the last round against {_plain(name)}, on {results['data']['name']}. "
        f"{_interval_words(results)}{'' if whole else ' The first combinations of the other settings are drawn.'}",
        _alt(f"Accuracy against {_plain(name)}.", [one for panel in panels for one in panel.series]),
        tuple(panels),
    )


def round_figure(results: Results) -> Figure | None:
    """Accuracy after each round, averaged over each point's runs; None if every run has one round."""
    points = results["points"][: _PANELS * _CURVES]
    curves: list[list[Series]] = []
    in_panels = [points[start : start + _CURVES] for start in range(0, len(points), _CURVES)]
    labels = [label for part in in_panels for label in _labels(part)]
    for label, point in zip(labels, points, strict=True):
        found = _over_the_rounds(runs_at(results, point))
        curves.append(_line(label or "accuracy", list(found), list(found.values()), band=len(points) == 1))
    if all(len(one.x) < 2 for series in curves for one in series if one.style == "line"):
        return None
    panels = [Panel("", "round", "accuracy", tuple(series)) for series in _packed(curves)]
    left = (
        f" The first {len(points)} of {len(results['points'])} points." if len(results["points"]) > len(points) else ""
    )
    scales = " The panels' scales differ." if len(panels) > 1 else ""
    return Figure(
        "accuracy-rounds",
        "Accuracy over the rounds",
        f"Accuracy after each round, the mean of the repeats, on {results['data']['name']}. "
        f"{_interval_words(results)}{scales}{left}",
        _alt("Accuracy over the rounds.", [one for panel in panels for one in panel.series]),
        tuple(panels),
    )


def _over_the_rounds(runs: Sequence[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """The accuracy of these runs, as a point has it, after each round in which all were evaluated."""
    records = [{one["round"]: one for one in run["rounds"] if "accuracy" in one} for run in runs]
    numbers = [number for number in records[0] if all(number in one for one in records)]
    return {
        number: accuracy_of([{**run, "rounds": [one[number]]} for run, one in zip(runs, records, strict=True)])
        for number in numbers
    }


def spend_figure(results: Results) -> Figure | None:
    """Accuracy against the exact epsilon of a whole run, beside the paper's claim; None for fewer than two points."""
    accounted = {words(one["settings"]): one for one in results["spend"]}
    pairs = [
        (point, accounted[words(point["settings"])])
        for point in results["points"]
        if words(point["settings"]) in accounted
    ]
    panels: list[Panel] = []
    drawn: set[int] = set()
    for title, keys in (("epsilon of a run", ("exact", "shuffled", "claimed")), ("least delta", ("least delta",))):
        series: list[Series] = []
        for key in keys:
            spent = [(spend_values(one).get(key), point) for point, one in pairs]
            known = sorted(((x, point) for x, point in spent if x is not None and x > 0), key=lambda pair: pair[0])
            if known:
                series += _line(
                    _SPENT[key], [at for at, _ in known], [one["accuracy"] for _, one in known], style="points"
                )
                drawn |= {id(point) for _, point in known}
        if series:
            axis = (
                "epsilon of the whole run (nats)" if title.startswith("eps") else "delta below which no epsilon holds"
            )
            panels.append(Panel(title, axis, "accuracy", tuple(series), x_log=_wide(series)))
    if len(drawn) < 2:
        return None
    delta, left = pairs[0][1]["delta"], len(results["points"]) - len(drawn)
    without = f" {left} of {len(results['points'])} points have no such number." if left else ""
    return Figure(
        "accuracy-spend",
        "Accuracy against what is spent",
        f"Accuracy against what all rounds together spend: exactly (at delta = {delta:g}), without names where reports "
        "are shuffled, and as the paper counts it. Marks of one height are one point of the sweep: the further apart, "
        f"the further the paper's number is from the exact one. {_interval_words(results)}{without}",
        _alt("Accuracy against the epsilon of a whole run.", [one for panel in panels for one in panel.series]),
        tuple(panels),
    )


def _groups(points: Sequence[Point], name: str) -> list[list[Point]]:
    """The points that differ in this field alone."""
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(words({key: value for key, value in point["settings"].items() if key != name}), []).append(
            point
        )
    return list(found.values())


def _labels(points: Sequence[Point], but: str = "") -> list[str]:
    """The settings that distinguish these points, in words; of a single point those that the sweep varies; "" if
    none."""
    settings = [point["settings"] for point in points]
    alone = len(points) == 1
    names = [name for name in settings[0] if name != but and (alone or len({repr(s[name]) for s in settings}) > 1)]
    return [words({name: one[name] for name in names}) if names else "" for one in settings]


def _numeric(points: Sequence[Point], name: str) -> list[Point]:
    values = [(point, point["settings"][name]) for point in points]
    return [point for point, value in values if isinstance(value, int | float) and not isinstance(value, bool)]


def _curves(label: str, group: Sequence[Point], name: str, *, band: bool) -> list[Series]:
    """Mean accuracy against the field, with a band or error bars, and a horizontal line for a value that is no
    number."""
    points = sorted(_numeric(group, name), key=lambda point: point["settings"][name])
    x = [float(point["settings"][name]) for point in points]
    series = _line(label, x, [point["accuracy"] for point in points], band=band)
    levels = [point for point in group if point["settings"][name] in (None, "inf")]
    return [*series, *(one for point in levels for one in _level(label, point, name, x))]


def _line(
    label: str,
    x: Sequence[float],
    accuracies: Sequence[Mapping[str, Any]],
    *,
    band: bool = False,
    style: Style = "line",
) -> list[Series]:
    """A curve through mean accuracies, with their intervals as bars, or as a band if each has one."""
    line = Series(label, x, [one["mean"] for one in accuracies], style=style)
    known = [(at, one) for at, one in zip(x, accuracies, strict=True) if one["low"] is not None]
    ends = [at for at, _ in known], [one["low"] for _, one in known], [one["high"] for _, one in known]
    if band and known and len(known) == len(x):
        return [Series("95% interval of the mean", *ends, "band"), line]
    return [line, Series("", *ends, "intervals")] if known else [line]


def _level(label: str, point: Point, name: str, x: Sequence[float]) -> list[Series]:
    """A horizontal line, with the interval of its mean at its end."""
    value, accuracy = point["settings"][name], point["accuracy"]
    words_ = f"{_plain(name)} {'none' if value is None else value}"
    named = words_ if label == "accuracy" else f"{label}, {words_}"
    line, *bars = _line(named, [max(x)], [accuracy], style="dotted")
    return [replace(line, x=[min(x), max(x)], y=[accuracy["mean"]] * 2), *bars]


def _packed(curves: Sequence[Sequence[Series]]) -> list[list[Series]]:
    """Distribute the curves over panels with at most `_CURVES` colours each; curves beyond `_PANELS` panels are
    omitted."""
    panels: list[list[Series]] = [[]]
    for series in curves:
        if panels[-1] and _colours(panels[-1]) + _colours(series) > _CURVES:
            panels.append([])
        panels[-1] += series
    return panels[:_PANELS]


def _colours(series: Sequence[Series]) -> int:
    return sum(one.style not in ("band", "intervals") for one in series)


def _interval_words(results: Results) -> str:
    most = max(point["accuracy"]["repeats"] for point in results["points"])
    if most < 2:
        return "One run each, so that chance is not shown."
    over = {point["accuracy"]["over"] for point in results["points"]}
    each = "folds of a repeated cross-validation" if over == {"folds"} else "repeats"
    least = min(point["accuracy"]["repeats"] for point in results["points"])
    return f"Bars and bands are 95% intervals of the mean of {'' if least == most else 'up to '}{most} {each}."


def _alt(first: str, series: Sequence[Series]) -> str:
    """The first and last value of every curve, as alternative text."""
    said = [
        f"{one.label}: from {one.y[0]:.3f} at {one.x[0]:.4g} to {one.y[-1]:.3f} at {one.x[-1]:.4g}"
        for one in series
        if one.label and one.style not in ("band", "intervals")
    ]
    return f"{first} {'; '.join(said)}."


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _wide(series: Sequence[Series]) -> bool:
    values = [x for one in series for x in one.x]
    return min(values) > 0 and max(values) / min(values) >= _LOG_AXIS_RATIO


_MAX_LAYERS = 4  # one colour each, and one for the line
_LAYER_KEYS = ("variance", "variance_exact", "variance_sd", "weights")

Measures = Mapping[str, Any]


def layer_figure(results: Mapping[str, Any]) -> Figure | None:
    """Measured against predicted variance in the last round of every run; None if fewer than two layers
    were measured."""
    layers = _measured(results["runs"])
    if sum(map(len, layers.values())) < 2:
        return None
    by_size = sorted(layers.items(), key=lambda pair: -pair[1][0]["weights"])
    shown = dict(by_size[:_MAX_LAYERS])
    every = [one for found in layers.values() for one in found]
    outside = sum(abs(one["variance"] - one["variance_exact"]) > 3 * one["variance_sd"] for one in every)
    bounds = [abs(one["lemma_3"].get("measured_z", 0)) <= 3 for one in every if "lemma_3" in one]
    silent = [name for name, found in layers.items() if any(map(_is_silent, found))]
    none = f" NO NOISE AT ALL in {', '.join(silent)}: those reports were not perturbed." if silent else ""
    of_lemma = f"{sum(bounds)} of {len(bounds)}"
    lemma = f" It is within Lemma 3's bounds, or three standard deviations of them, in {of_lemma}." if bounds else ""
    left = f" The {len(shown)} largest of {len(layers)} layers are drawn." if len(layers) > len(shown) else ""
    return Figure(
        "variance-layers",
        "Measured against predicted variance of every layer",
        "The mean squared error of the averaged reports of each layer in the last round of each run, against its exact "
        "expectation, and their ratio with three standard deviations either side. A pipeline that adds another noise "
        f"than it says leaves the line. Beyond three standard deviations: {outside} of {len(every)}, where chance "
        f"alone puts about 1 in 370, more where a layer is small.{none}{lemma}{left}",
        f"Marks of {len(shown)} layers along the line on which measured and predicted variance are equal; "
        f"{outside} of {len(every)} are more than three standard deviations from it.{none}",
        (_against(shown, every), _ratios(shown, every)),
    )


def _measured(runs: Sequence[Mapping[str, Any]]) -> dict[str, list[Measures]]:
    """The measures of each layer in the last round of every run."""
    found: dict[str, list[Measures]] = {}
    for run in runs:
        layers = run["rounds"][-1].get("layers")
        for name, one in layers.items() if isinstance(layers, Mapping) else ():
            if all(key in one for key in _LAYER_KEYS) and one["variance_exact"] > 0:
                found.setdefault(name, []).append(one)
    return found


def _is_silent(layer: Measures) -> bool:
    """Whether a layer has no noise: what rounding leaves, five standard deviations below what there should be.

    A layer of few weights never is that far below; nor one whose variance is that of flips that seldom come.
    """
    missing = layer["variance_exact"] - layer["variance"]
    return layer["variance"] < 1e-6 * layer["variance_exact"] and missing > 5 * layer["variance_sd"]


def _against(layers: Mapping[str, Sequence[Measures]], every: Sequence[Measures]) -> Panel:
    ends = sorted([min(one["variance_exact"] for one in every), max(one["variance_exact"] for one in every)])
    line = Series("equal", ends, ends, style="dotted")
    marks = [
        Series(name, [one["variance_exact"] for one in found], [one["variance"] for one in found], style="points")
        for name, found in layers.items()
    ]
    title = "variance of a layer's average"
    wide = _wide((line,))  # a logarithmic axis within one power of ten has ticks that overprint
    return Panel(title, "predicted variance", "measured variance", (*marks, line), y_log=wide, x_log=wide)


def _ratios(layers: Mapping[str, Sequence[Measures]], every: Sequence[Measures]) -> Panel:
    """Ratios against the layers' sizes: the larger a layer, the nearer to 1."""
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
    return Panel("measured / predicted", "weights in the layer", "ratio", (band, *marks), x_log=_wide((band,)))
