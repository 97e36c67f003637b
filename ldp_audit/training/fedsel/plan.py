"""FedSel as a pipeline: the plan that starts its runs, its presets, and tests of the paper's findings on a sweep.

The unit of every test is a repeat of the cross-validation: the mean accuracy over its folds, as folds of one repeat
share most of their training records. Repeats of two solutions are paired by seed and number: they have the same folds
and the same order of users. Repeats have independent shuffles and noise, so their differences are independent given the
data set; the tests are about that data set, not about a population from which it is drawn.

Each comparison is a one-sided t test at ERROR_RATE; the comparisons of one finding share it equally. A solution whose
mean accuracy does not exceed that of a constant answer has learnt nothing at the learning rate of its runs: solutions
are not compared where one of the two learnt nothing.

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Section 5.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ldp_audit.training.datasets import Images, Table
from ldp_audit.training.fedsel.settings import FedSelSettings
from ldp_audit.training.fedsel.signal_to_noise import signal_ratio
from ldp_audit.training.fedsel.solution import SELECTIONS
from ldp_audit.training.findings import Finding, Question, Verdict, all_of, greater
from ldp_audit.training.results import Row, apart, interval
from ldp_audit.training.sweep import read_presets

if TYPE_CHECKING:
    import torch
    from torch import nn

    from ldp_audit.training.fedsel.run import FedSelRun

EPSILON = 2.0
"""The budget at which solutions are compared, as in Table 3."""

LARGE = 8.0
"""A large budget, for comparison."""

ERROR_RATE = 0.01
"""Probability of a false "seen", and of a false "opposite"."""

_NOTE = "Given the data set: repeats of the cross-validation share its records."

_FEW_COLUMNS = (
    " The synthetic data vary in a tenth of their columns, so that a random tenth of the directions keeps much of them."
)

_UNLEARNED_NOTE = (
    " Not compared: there one of the two does no better than always answering the more frequent class. "
    "FedSel's steps are about 1 / d of the flat solution's, and the paper names no learning rate."
)

_COMPARED = ("solution", "epsilon", "coordinates")
"""Fields in which the points of one comparison may differ."""

Results = Mapping[str, Any]
Settings = Mapping[str, Any]


def repeat_means(results: Results, **settings: Any) -> dict[tuple[int, int], float]:
    """Last-round accuracy of every repeat, averaged over its folds, by (seed, repeat).

    Raises ValueError if two runs with one seed have these settings: the settings do not determine one point.
    """
    found: dict[tuple[int, int], float] = {}
    for run in results["runs"]:
        if any(run["settings"].get(name) != value for name, value in settings.items()):
            continue
        if (run["seed"], 0) in found:
            raise ValueError(f"settings must name one point of the sweep, got {settings!r}")
        accuracies, folds = run["rounds"][-1]["accuracies"], run["settings"]["folds"]
        for repeat in range(len(accuracies) // folds):
            found[run["seed"], repeat] = statistics.fmean(accuracies[repeat * folds : (repeat + 1) * folds])
    return found


def beats_flat(results: Results) -> Finding | None:
    """EXP, PE and PS with PM beat the flat PM at a small epsilon."""
    return _compare(
        results,
        "fedsel-beats-flat",
        f"EXP-PM, PE-PM and PS-PM are more accurate than flat PM at epsilon = {EPSILON:g}; "
        "Table 3's gain less its loss is the same difference.",
        {f"{one}-PM against PM": (_point(f"{one}-PM"), _point("PM")) for one in SELECTIONS},
        place="Fig. 2, Table 3",
        note=f"{_NOTE} The signal ratio is FedSel's squared signal-to-noise ratio over flat "
        "PM's, exactly, for a small gradient in the top tenth of the dimensions: below 1, selecting costs more than it "
        "gains (signal_to_noise.py).",
        numbers={f"{one}-PM against PM": _signal_numbers(results, one) for one in SELECTIONS},
    )


def beats_flat_at_a_large_epsilon(results: Results) -> Finding | None:
    """PS-PM against flat PM, with the number of coordinates of Wang et al.'s rule and with one."""
    large = {"epsilon": LARGE}
    private = _point("PS-PM", **large)
    return _compare(
        results,
        "fedsel-beats-flat-large-epsilon",
        f"PS-PM is more accurate than flat PM at epsilon = {LARGE:g}, with its rule's 3 coordinates and with 1.",
        {
            "PS-PM against PM, 3 coordinates": (private, _point("PM", **large)),
            "PS-PM against PM, 1 coordinate": (private, _point("PM", coordinates=1, **large)),
        },
        place="Fig. 2",
    )


def top_beats_random(results: Results) -> Finding | None:
    """NP-K beats NP-RS."""
    return _compare(
        results,
        "top-beats-random",
        "Without privacy, the largest coordinate (NP-K) is a better report than a random one (NP-RS).",
        {"NP-K against NP-RS": (_point("NP-K"), _point("NP-RS"))},
        place="Section 5.2",
    )


def selection_beats_random(results: Results) -> Finding | None:
    """PS alone beats NP-RS."""
    return _compare(
        results,
        "selection-beats-random",
        f"PS without value perturbation, epsilon = {EPSILON:g}, is better than a random coordinate (NP-RS).",
        {"PS against NP-RS": (_point("PS"), _point("NP-RS"))},
        place="Section 5.2",
    )


def projection_is_worse(results: Results) -> Finding | None:
    """Random projection is worse than PS."""
    return _projection(results, "projection-is-worse", EPSILON)


def projection_is_worse_at_a_large_epsilon(results: Results) -> Finding | None:
    """The same at a large epsilon, where the loss of the projection exceeds the noise."""
    return _projection(results, "projection-is-worse-large-epsilon", LARGE)


def adapted_accumulation(results: Results) -> Finding | None:
    """Accumulating g beats accumulating alpha g."""
    return _compare(
        results,
        "adapted-accumulation",
        "PS-PM, which accumulates g, is more accurate than PS-PM-O, which accumulates alpha g.",
        {"PS-PM against PS-PM-O": (_point("PS-PM"), _point("PS-PM-O"))},
        place="Fig. 3",
    )


def rises_with_epsilon(results: Results) -> Finding | None:
    """Accuracy rises with epsilon."""
    low, middle, high = (_point("PS-PM", epsilon=epsilon) for epsilon in (0.5, EPSILON, LARGE))
    return _compare(
        results,
        "rises-with-epsilon",
        f"PS-PM is more accurate at epsilon = {EPSILON:g} than at 0.5, and at {LARGE:g} than at {EPSILON:g}.",
        {f"{EPSILON:g} against 0.5": (middle, low), f"{LARGE:g} against {EPSILON:g}": (high, middle)},
        place="Fig. 2",
        needs_learning=False,
    )


def _point(solution: str, **settings: Any) -> Settings:
    """A point of the demonstration, with its common settings unless others are given."""
    return {"solution": solution, "epsilon": EPSILON, "coordinates": None, **settings}


def _signal_numbers(results: Results, selection: str) -> dict[str, float]:
    """The exact signal ratio, if the results know the number of dimensions and all runs have the same mu and k.

    Empty for several epochs, in which a report has a part of epsilon and an accumulated value, and for corrected PE.
    """
    found = {
        tuple(run["settings"].get(name) for name in ("mu", "k", "epochs", "corrected"))
        for run in results["runs"]
        if run["settings"]["solution"] == f"{selection}-PM"
    }
    d = results.get("data", {}).get("columns", 0)
    mu, k, epochs, corrected = found.pop() if len(found) == 1 else (None, None, None, None)
    if mu is None or d < 2 or epochs != 1 or corrected:
        return {}
    return {"signal ratio": signal_ratio(selection, "PM", epsilon=EPSILON, mu=mu, d=d, k=k)}


def _projection(results: Results, key: str, epsilon: float) -> Finding | None:
    return _compare(
        results,
        key,
        f"PS-PM is more accurate than PM-RP, with the same ratio of dimensions, 0.1; epsilon = {epsilon:g}.",
        {"PS-PM against PM-RP": (_point("PS-PM", epsilon=epsilon), _point("PM-RP", epsilon=epsilon))},
        place="Fig. 2, Section 5.3",
        note=_NOTE + (_FEW_COLUMNS if results.get("data", {}).get("name") == "synthetic" else ""),
    )


def _compare(
    results: Results,
    key: str,
    says: str,
    pairs: Mapping[str, tuple[Settings, Settings]],
    *,
    place: str = "",
    note: str = _NOTE,
    numbers: Mapping[str, Mapping[str, float]] | None = None,
    needs_learning: bool = True,
) -> Finding | None:
    """Whether the first point of each pair is more accurate than the second; None if runs are missing.

    The finding is "seen" if all comparisons are, "opposite" if one is.

    needs_learning: a pair is not compared if one of its points learnt nothing. False for a finding in which an accuracy
        rises from nothing.
    """
    share = constant_accuracy(results)
    parts: dict[str, _Pair] = {}
    more: dict[str, Mapping[str, float]] = {}
    for label, fixed in _contexts(results):
        more |= {label + name: one for name, one in (numbers or {}).items()}
        found = {label + name: _paired(results, points, label, fixed) for name, points in pairs.items()}
        parts |= found if all(one.differences for one in found.values()) else {}
    if not parts:
        return None
    verdicts: list[Verdict] = []
    shown: dict[str, dict[str, Any]] = {}
    for name, one in parts.items():
        tested, found = greater(one.differences, ERROR_RATE / len(parts))
        idle = learnt_nothing(one.means, share) if needs_learning else ""
        verdicts.append("not compared" if idle else tested)
        shown[name] = {
            "verdict": verdicts[-1],
            **found,
            "accuracies": [mean for _, mean in one.means],
            **({} if share is None else {"constant answer": share}),
            **({"why": idle} if idle else {}),
            **more.get(name, {}),
        }
    verdict = all_of(verdicts, opposite="opposite" in verdicts)
    note += _UNLEARNED_NOTE if "not compared" in verdicts else ""
    return Finding(key, says, verdict, shown, ERROR_RATE, place, note)


def _contexts(results: Results) -> list[tuple[str, Settings]]:
    """Every combination of the other settings that a sweep varies, such as the model or mu; comparisons stay within
    one.

    Returns its words, "" for the only one, and its settings.
    """
    every = [run["settings"] for run in results["runs"]]
    fields = [name for name in every[0] if name not in _COMPARED] if every else []
    varied = [name for name in fields if len({settings.get(name) for settings in every}) > 1]
    found = {tuple(settings.get(name) for name in varied): None for settings in every}
    return [
        (
            "".join(f"{name} = {value}, " for name, value in zip(varied, values, strict=True)),
            dict(zip(varied, values, strict=True)),
        )
        for values in found
    ]


class _Pair(NamedTuple):
    """Two points over the repeats that both have.   means: name and mean accuracy of either."""

    differences: list[float]
    means: list[tuple[str, float]]


def _paired(results: Results, points: tuple[Settings, Settings], label: str, fixed: Settings) -> _Pair:
    one, other = (repeat_means(results, **point, **fixed) for point in points)
    both = sorted(one.keys() & other.keys())
    means = [
        (label + point["solution"], statistics.fmean(found[pair] for pair in both))
        for point, found in zip(points, (one, other), strict=True)
        if both
    ]
    return _Pair([one[pair] - other[pair] for pair in both], means)


FINDINGS: tuple[Question, ...] = (
    beats_flat,
    beats_flat_at_a_large_epsilon,
    top_beats_random,
    selection_beats_random,
    projection_is_worse,
    projection_is_worse_at_a_large_epsilon,
    adapted_accumulation,
    rises_with_epsilon,
)


_LEARNING_MARGIN = 1e-3
"""A solution that exceeds the constant answer by less than this has learnt nothing."""


def learnt_nothing(accuracies: Sequence[tuple[str, float]], constant: float | None) -> str:
    """The solutions whose mean accuracy does not exceed that of a constant answer, in words; "" if there is none.

    constant: its accuracy; None if it is unknown, and then every solution counts as having learnt.
    """
    return "; ".join(
        f"{solution} learnt nothing: {100 * accuracy:.2f}%, a constant answer has {100 * constant:.2f}%"
        for solution, accuracy in accuracies
        if constant is not None and accuracy <= constant + _LEARNING_MARGIN
    )


def constant_accuracy(results: Mapping[str, Any]) -> float | None:
    """The accuracy of a constant answer: the more frequent class."""
    positive = results.get("data", {}).get("positive")
    return None if positive is None else max(positive, 1 - positive)


PRESETS = read_presets("fedsel")
DEMONSTRATION = PRESETS.demonstration
presets = PRESETS.presets
_IN_A_CELL = ("solution", "model", "epsilon")
_TAIL = 0.025


def beside_the_paper(results: Mapping[str, Any]) -> list[Row]:
    """Table 3's cells for this data set; 95% intervals are over the repeats of the cross-validation, given the data.

    Runs with other settings than the paper states are excluded; each value of a setting that the paper leaves open,
    such as the learning rate, has rows of its own.
    """
    table = PRESETS.document.get("table-3", {"said": {}, "rows": ()})
    said = table["said"].items()
    runs = [run for run in results["runs"] if all(run["settings"].get(name) == value for name, value in said)]
    rows: list[Row] = []
    for more, group in apart(runs, within=_IN_A_CELL):
        for line in table["rows"]:
            if results["data"]["name"] in line["data"]:
                rows += _cells({"runs": group}, constant_accuracy(results), line, more)
    return rows


class Difference(NamedTuple):
    """percent: mean over the repeats of the cross-validation.   error: its standard error; NaN for one repeat.

    low, high: 95% interval by Student's t, given the data; infinite for one repeat, or for a few equal ones.
    values: of the repeats, percent.
    """

    percent: float
    error: float
    low: float
    high: float
    values: tuple[float, ...]


class GainAndLoss(NamedTuple):
    """Gain and loss of one selection in Table 3."""

    gain: Difference
    loss: Difference


def gains_and_losses(results: Results, model: str, *, epsilon: float = EPSILON) -> dict[str, GainAndLoss]:
    """By selection, from results of the preset "table-3"; selections without runs are omitted."""
    at = {"model": model, "epsilon": epsilon}
    flat = repeat_means(results, solution="PM", **at)
    found: dict[str, GainAndLoss] = {}
    for name in SELECTIONS:
        control, private = (repeat_means(results, solution=f"{name}-PM{end}", **at) for end in ("-C", ""))
        if pairs := sorted(flat.keys() & control.keys() & private.keys()):
            gains, losses = ([control[pair] - other[pair] for pair in pairs] for other in (flat, private))
            found[name] = GainAndLoss(_difference(gains), _difference(losses))
    return found


def _difference(values: Sequence[float]) -> Difference:
    spread = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    low, mean, high = interval(values, _TAIL)
    return Difference(100 * mean, 100 * spread, 100 * low, 100 * high, tuple(100 * one for one in values))


def _cells(results: Results, constant: float | None, line: Mapping[str, Any], more: str) -> list[Row]:
    """Gain and loss of each selection for one model."""
    rows = []
    for selection, two in gains_and_losses(results, line["model"]).items():
        control = f"{selection}-PM-C"
        sides = ("gain", two.gain, (control, "PM")), ("loss", two.loss, (control, f"{selection}-PM"))
        for (word, found, solutions), printed in zip(sides, line[selection], strict=True):
            at = {"model": line["model"], "epsilon": EPSILON}
            means = [(one, statistics.fmean(repeat_means(results, solution=one, **at).values())) for one in solutions]
            what = f"{line['model']}, {selection}, {word}{more}"
            ends = (found.low, found.high) if math.isfinite(found.low) else (None, None)
            idle = learnt_nothing(means, constant)
            rows.append(Row("Table 3", what, "points", printed, found.percent, *ends, found.values, idle=idle))
    return rows


@dataclass(frozen=True)
class FedSel(FedSelSettings):
    """A run of FedSel or of a competitor; its fields are those of `FedSelSettings`."""

    embedded: ClassVar[str] = "synthetic"

    def why_not_extended(self) -> None:
        """See `pipeline.Extendable`: the budget is divided among the epochs, whose number stays the same."""

    def trained_networks(self, data: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, nn.Module]:
        """See `pipeline.Deployable`: a linear model of each fold, positive for the label +1."""
        from torch import nn

        from ldp_audit.training.fedsel.run import all_models

        found: dict[str, nn.Module] = {}
        for (repeat, fold), weights in zip(all_models(self.repeats, self.folds), state["weights"], strict=True):
            model = nn.Linear(data["columns"], 1, bias=False)
            model.load_state_dict({"weight": weights[None]})
            found[f"repeat-{repeat}-fold-{fold}"] = model
        return found

    def start(self, data: Images | Table, *, seed: int, device: torch.device) -> FedSelRun:
        """A run before its first round. Raises ValueError if the data do not fit the plan."""
        from ldp_audit.training.fedsel.run import FedSelRun  # imports torch, which a plan does without

        return FedSelRun(self, data, seed=seed, device=device)
