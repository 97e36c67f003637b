"""What the records say of a paper's accuracies: statistical verdicts, apart from those of the proofs.

    REPRODUCED      a figure: the mean over the repeats is within the experiment's margin of the paper's figure, by two
                    one-sided t tests; a comparison of methods: the paired one-sided t test finds the paper's direction
    NOT REPRODUCED  a figure: the mean is outside the margin; a comparison: the test finds the opposite direction
    WITHIN NOISE    neither is shown at the stated error rate: the repeats do not tell
    NOT TESTED      a single run, or a figure of other data than the paper's; a comparison on other data says so
    NOT COMPARED    a method that is compared learnt nothing: it is no more accurate than a constant answer

The first two are false with probability at most the error rate each, if repeats are normally distributed around what
the settings give; for repeats of a cross-validation, given the data set.

FedSel's solutions are compared at learning rates that were chosen on repeats of the cross-validation which are not
reported: one rate for all solutions, the best for their mean accuracy; the rate most favourable to the selections, by
the mean of FedSel less flat PM; and each solution at its own best rate. Rules that choose the same rates are one
reading.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ldp_audit.accounting.protocols.paper_claims import paper_claims
from ldp_audit.accounting.protocols.protocol_file import load_protocol
from ldp_audit.accounting.protocols.protocol_report import interval, number
from ldp_audit.training.fedsel.solution import SELECTIONS
from ldp_audit.training.findings import within
from ldp_audit.training.pipeline import comparing_of, findings_of, judge, plan_class
from ldp_audit.training.reproduction.record import Experiment, experiment_named, recorded
from ldp_audit.training.results import Row, runs_at, words

ERROR_RATE = 0.01
"""Of a figure's REPRODUCED, and of its NOT REPRODUCED."""

WORDS = {
    "seen": "REPRODUCED",
    "opposite": "NOT REPRODUCED",
    "not seen": "WITHIN NOISE",
    "not tested": "NOT TESTED",
    "not compared": "NOT COMPARED",
}
_MOST_LINES = 4
"""Figures of one table that a claim's page lists; more are counted by verdict."""

Results = Mapping[str, Any]
Rates = dict[tuple[str, str], float]
"""Learning rates by (model, solution)."""


@dataclass(frozen=True)
class PrintedFigure:
    """A published figure beside the repeats'.   low, high: the test's interval, None for too few repeats."""

    row: Row
    verdict: str
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Comparison:
    """A paper's comparison of methods.

    place: in the paper, and whether the data are others.
    parts: the tested differences by name, each as of `findings.greater`.
    """

    says: str
    place: str
    verdict: str
    error_rate: float
    parts: Mapping[str, Mapping[str, Any]]

    @property
    def compared(self) -> str:
        """How many of the parts are compared, in words; "" for all or none."""
        left_out = sum("why" in part for part in self.parts.values())
        return f", {len(self.parts) - left_out} of {len(self.parts)} parts" if 0 < left_out < len(self.parts) else ""

    @property
    def why_not(self) -> str:
        """Why parts are not compared, in words that start with ": "; "" if all are."""
        told = dict.fromkeys(part["why"] for part in self.parts.values() if "why" in part)
        return f": {'; '.join(told)}" if told else ""


@dataclass(frozen=True)
class Judgement:
    """One way to read an experiment's results.

    name: of the choices of the learning rates, "" if there is none.   rates: those that were chosen.
    """

    name: str
    rates: Rates
    figures: tuple[PrintedFigure, ...]
    comparisons: tuple[Comparison, ...]


def judged(experiment: Experiment, results: Results) -> list[Judgement]:
    """The verdicts on the figures and comparisons for which the results have the runs."""
    return [_reading(experiment, *one) for one in _readings(experiment, results)]


def evidence(name: str) -> list[str]:
    """What an experiment's record says, for the pages of claims."""
    experiment, results = experiment_named(name), recorded(name)
    if results is None:
        return [f"{experiment.says}: not run yet."]
    return summary(experiment, results, judged(experiment, results))


def summary(experiment: Experiment, results: Results, readings: Sequence[Judgement]) -> list[str]:
    """The verdicts in sentences, and the spends if they are few; figures of a long table are counted."""
    lines = []
    for reading in readings:
        head = f"{experiment.says}{', ' + reading.name if reading.name else ''}"
        told = [_figure_words(one, experiment) for one in reading.figures]
        if len(told) > _MOST_LINES:
            count = Counter(one.verdict for one in reading.figures)
            verdicts = ", ".join(f"{number} {verdict}" for verdict, number in count.items())
            told = [f"of {len(told)} figures {verdicts} ({experiment.margin_words})."]
        told += [
            f"{one.verdict}{one.compared}: {one.says.rstrip('.')} ({one.place}){one.why_not}."
            for one in reading.comparisons
        ]
        lines += [f"{head}: {one}" for one in told]
    if not any(one.figures or one.comparisons for one in readings) and not experiment.choosing:
        for point in results["points"]:
            runs = runs_at(results, point)
            mean = statistics.fmean(run["rounds"][-1]["accuracy"] for run in runs)
            told = words(experiment.told(runs[0]))
            lines.append(f"{experiment.says}, {told}: accuracy {100 * mean:.2f}% (mean of {len(runs)} repeats).")
    spent = list(spends(experiment, results))
    if len(spent) <= _MOST_LINES:
        for one in spent:
            what, *cells = one.items()
            told = "; ".join(f"{name} {cell}" for name, cell in cells if cell)
            lines.append(f"{experiment.says}, {what[0]} with {what[1]}: {told}.")
    return lines


def spends(experiment: Experiment, results: Results) -> Iterator[dict[str, str]]:
    """Settings with one spend, and what they spend, by the columns' heads.

    The paper's epsilon is the one that it prints, where it has a table of them, with what its theorem says of the very
    run in a column of its own; else it is that of the paper's accounting.
    """
    groups: dict[str, tuple[dict[str, str], list[dict[str, Any]]]] = {}
    for one in results["spend"]:
        run = runs_at(results, one)[0]
        cells = _spend_cells(experiment, one, run["settings"])
        groups.setdefault(repr(cells), (cells, []))[1].append(experiment.told(run))
    for cells, settings in groups.values():
        common = {name: value for name, value in settings[0].items() if all(one[name] == value for one in settings)}
        yield {"spend of the run": words(common), **cells}


def _spend_cells(experiment: Experiment, spend: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, str]:
    everything, claimed = spend["everything"], spend["claimed"]
    cells = {"epsilon by name": _ends(everything["by_name"])}
    if everything["shuffled"] is not None:
        words_of = {True: " (the run permuted its reports)", False: " (the run did not permute its reports)"}
        cells["epsilon if shuffled"] = _ends(everything["shuffled"]) + words_of.get(settings["permute"], "")
    cells["pure epsilon"] = number(float(everything["pure"]))
    here = "no number" if claimed is None or claimed["epsilon"] is None else _promised(**claimed)
    if experiment.paper_protocol is None:
        return {**cells, "the paper's epsilon": here}
    printed = paper_claims(load_protocol(experiment.paper_protocol.format_map(settings)))[-1]
    shown = "no number" if printed.epsilon is None else _promised(printed.epsilon, printed.delta)
    return {**cells, "the paper's epsilon, as printed": shown, "by its theorem with our records": here}


def _promised(epsilon: float, delta: float, **_: Any) -> str:
    """An epsilon of a paper's, at its delta if there is one."""
    return number(float(epsilon)) + (f" (delta {number(float(delta))})" if delta else "")


def _ends(ends: Sequence[Any]) -> str:
    return interval((float(ends[0]), float(ends[1])))


def _figure_words(figure: PrintedFigure, experiment: Experiment) -> str:
    row, unit = figure.row, " points" if figure.row.unit == "points" else "%"
    printed, here = (value if row.unit == "points" else 100 * value for value in (row.printed, row.measured))
    test = f"mean of {len(row.values)} repeats, {experiment.margin_words}"
    reason = row.other or row.idle or test
    return f"{figure.verdict}: {row.what}, printed {printed:.2f}{unit}, here {here:.2f}{unit} ({reason})."


def _reading(experiment: Experiment, name: str, rates: Rates, results: Results) -> Judgement:
    plan = plan_class(experiment.pipeline)
    rows = comparing_of(plan)(results)
    found = judge(findings_of(plan), results)
    other = "; on other data than the paper's" if any(row.other for row in rows) else ""
    comparisons = [
        Comparison(one.says, one.place + other, WORDS[one.verdict], one.error_rate, dict(_parts(one.numbers)))
        for one in found
    ]
    return Judgement(name, rates, tuple(_figure(row, experiment.margin) for row in rows), tuple(comparisons))


def _parts(numbers: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every tested difference among a finding's numbers."""
    if "pairs" in numbers:
        yield name, numbers
    else:
        for key, part in numbers.items():
            if isinstance(part, Mapping):
                yield from _parts(part, key)


def _figure(row: Row, margin: float) -> PrintedFigure:
    differences = [value - row.printed for value in row.values]
    tested, numbers = within(differences, margin / (1 if row.unit == "points" else 100), ERROR_RATE)
    verdict = WORDS["not tested" if row.other else "not compared" if row.idle else tested]
    if numbers["low"] is None:
        return PrintedFigure(row, verdict, None, None)
    return PrintedFigure(row, verdict, row.printed + numbers["low"], row.printed + numbers["high"])


def _readings(experiment: Experiment, results: Results) -> Iterator[tuple[str, Rates, Results]]:
    if not experiment.choosing:
        yield "", {}, results
        return
    scores = choosing_scores(results, experiment)
    if not scores:
        return
    named: list[tuple[str, Rates]] = []
    for name, chosen in _CHOICES.items():
        rates = {key: rate for part in _by_model(scores).values() for key, rate in chosen(part).items()}
        same = next((place for place, (_, other) in enumerate(named) if other == rates), None)
        if same is None:
            named.append((name, rates))
        else:
            named[same] = (f"{named[same][0]}, also {name}", rates)
    for name, rates in named:
        yield name, rates, {**results, "runs": list(_reported(results, rates, experiment.choosing))}


def choosing_scores(results: Results, experiment: Experiment) -> dict[tuple[str, str, float], float]:
    """Mean accuracy over the choosing repeats by (model, solution, learning rate).

    Learning rates at which some solution of the experiment was not run are left out.
    """
    choosing, asked = experiment.choosing, [one for sweep in experiment.sweeps() for one in sweep.combinations()]
    found: dict[tuple[str, str, float], float] = {}
    for run in results["runs"]:
        settings = run["settings"]
        accuracies = run["rounds"][-1]["accuracies"][: choosing * settings["folds"]]
        found[settings["model"], settings["solution"], settings["learning_rate"]] = statistics.fmean(accuracies)
    solutions = {(one["model"], one["solution"]) for one in asked}
    whole = {rate for _, _, rate in found if all((*one, rate) in found for one in solutions)}
    return {key: score for key, score in found.items() if key[-1] in whole}


Scores = dict[tuple[str, str, float], float]


def _by_model(scores: Scores) -> dict[str, Scores]:
    models = dict.fromkeys(model for model, _, _ in scores)
    return {model: {key: score for key, score in scores.items() if key[0] == model} for model in models}


def _shared(value: Callable[[Mapping[str, float]], float]) -> Callable[[Scores], Rates]:
    """One rate for all solutions of a model: the one whose accuracies by solution have the largest value."""

    def chosen(scores: Scores) -> Rates:
        by_rate: dict[float, dict[str, float]] = {}
        for (_, solution, rate), score in scores.items():
            by_rate.setdefault(rate, {})[solution] = score
        best = max(by_rate, key=lambda rate: value(by_rate[rate]))
        return {(model, solution): best for model, solution, _ in scores}

    return chosen


def _advantage(accuracies: Mapping[str, float]) -> float:
    """FedSel less flat PM, the mean over the selections."""
    return statistics.fmean(accuracies[f"{one}-PM"] for one in SELECTIONS) - accuracies["PM"]


def _own(scores: Scores) -> Rates:
    best: dict[tuple[str, str], tuple[float, float]] = {}
    for (model, solution, rate), score in scores.items():
        best[model, solution] = max(best.get((model, solution), (-math.inf, 0.0)), (score, rate))
    return {key: rate for key, (_, rate) in best.items()}


_CHOICES: dict[str, Callable[[Scores], Rates]] = {
    "the one rate best for the mean of all": _shared(lambda accuracies: statistics.fmean(accuracies.values())),
    "the one rate most favourable to selection": _shared(_advantage),
    "each method at its own best rate": _own,
}


def _reported(results: Results, rates: Rates, choosing: int) -> Iterator[dict[str, Any]]:
    """The runs at the chosen rates, without the repeats that chose them."""
    for run in results["runs"]:
        settings, last = run["settings"], run["rounds"][-1]
        if rates.get((settings["model"], settings["solution"])) == settings["learning_rate"]:
            kept = last["accuracies"][choosing * settings["folds"] :]
            now = {**settings, "learning_rate": "chosen", "repeats": settings["repeats"] - choosing}
            rounds = [*run["rounds"][:-1], {**last, "accuracy": statistics.fmean(kept), "accuracies": kept}]
            yield {**run, "settings": now, "rounds": rounds}
