"""docs/reproduction.md: the papers' figures beside those of the records.

`python -m ldp_audit.training.reproduction page` prints it from the records alone; a test holds the file to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources.abc import Traversable
from typing import Any

from ldp_audit.training.reproduction.judgement import (
    ERROR_RATE,
    Comparison,
    Judgement,
    PrintedFigure,
    choosing_scores,
    judged,
    spends,
    summary,
)
from ldp_audit.training.reproduction.record import Experiment, experiments, not_run, recorded
from ldp_audit.training.results import Row, runs_at, words

_OPENING = f"""# The papers' numbers, on the papers' data

This page is generated: `python -m ldp_audit.training.reproduction page` prints it from the records in
`ldp_audit/papers/*/records`, and `make reproduce` makes the records: it says how much is left of the
experiments below, runs that, and goes on where it was stopped. Records of your own, from the first run on:
`make reproduce ARGS="--records mine --page mine.md"`. `make data` fetches MNIST, Fashion-MNIST and ADULT.
EMNIST, FEMNIST, CIFAR-10, BANK and KDD99 could not be had from software packages; [training.md](training.md) has the
presets for whoever has the files.

The verdicts are statistical, and apart from the formal ones of `ldp-audit check`, which proves or refutes: accuracies
stay UNDECIDED there.

* **REPRODUCED**: of a figure, two one-sided t tests over the repeats place the mean within the margin of the paper's
  figure; of a comparison of methods, the paired one-sided t test finds the paper's direction.
* **NOT REPRODUCED**: the mean lies outside the margin, or the test finds the opposite direction.
* **WITHIN NOISE**: neither is shown; the repeats do not tell.
* **NOT TESTED**: a single run, or a figure of other data than the paper's. A comparison on other data says so.
* **NOT COMPARED**: a method learnt nothing at this learning rate. Its mean accuracy is at most a tenth of a point above
  that of a constant answer, the more frequent one, so that its distance from the other tells nothing of the methods. A
  comparison's verdict is on the parts that are compared, and says how many they are.

The first two are false with probability at most {ERROR_RATE:g} each for a figure, and at most the stated error rate for
a comparison (which its parts share), not corrected for the number of rows. Margins, and the rules by which learning
rates are chosen, were fixed before the results of these runs were known, though not before single runs of similar
settings. A paper's figure is taken as exact: none comes with an error. Intervals of figures are
those of the tests, {100 * (1 - 2 * ERROR_RATE):g}% by Student's t over the repeats. For repeats of a cross-validation
they are about the data set, not about a population. The bounds of a comparison's differences are one-sided, at its
error rate divided by the number of its parts.

Epsilon is that of the very run: exact, at delta = 1e-5, by name (who sent what is known) and for reports whose senders
a shuffler hides, with certified bounds. Whether the run itself permuted its reports, which changes no average, stands
beside the latter. Hours are those of one core that other programs shared, or of one of several runs at a time on a GPU.
"""


def page(records: Traversable | None = None) -> str:
    """The page about the records in a folder; None: about those of the papers."""
    found = [(one, recorded(one.name, records)) for one in experiments()]
    run = [(one, results, judged(one, results)) for one, results in found if results is not None]
    parts = [
        _OPENING,
        "## In short\n",
        *(f"* {line}" for one, results, readings in run for line in summary(one, results, readings)),
    ]
    for one, results, readings in run:
        parts += ["", *_chapter(one, results, readings)]
    left = [_left(one, results) for one, results in found]
    parts += ["\n## Not run\n", *(line for line in left if line)]
    parts += ["What the papers print and no experiment above repeats:\n"]
    parts += [f"* {one.says}: {one.reason}." for one in not_run()]
    return "\n".join(parts) + "\n"


def _judgements(one: Experiment, readings: Sequence[Judgement]) -> Iterator[str]:
    """Figures and comparisons, with a verdict for each reading."""
    names = [reading.name or "here" for reading in readings]
    rows = [
        [same[0].row.what, _value(same[0].row.printed, same[0].row), *map(_figure_cell, same)]
        for same in zip(*(reading.figures for reading in readings), strict=True)
    ]
    if rows:
        repeats = len(readings[0].figures[0].row.values)
        yield _table([f"{repeats} repeats; {one.margin_words}", "paper", *names], iter(rows))
        yield ""
    compared = [row for same in zip(*(one.comparisons for one in readings), strict=True) for row in _compared(same)]
    if compared:
        yield _table(["comparison, differences in points", *names], iter(compared))
        yield ""


def _compared(same: Sequence[Comparison]) -> Iterator[list[str]]:
    """The verdict of each reading on one comparison, and its tested differences."""
    says = same[0].says.rstrip(".")
    verdicts = (f"**{one.verdict}**{one.compared}" for one in same)
    yield [f"{says} ({same[0].place}; error rate {same[0].error_rate:g})", *verdicts]
    yield from ([name or "difference", *(_difference(one.parts[name]) for one in same)] for name in same[0].parts)


def _value(value: float, row: Row) -> str:
    return f"{value:.2f} points" if row.unit == "points" else f"{100 * value:.2f}%"


def _figure_cell(one: PrintedFigure) -> str:
    scale = 1 if one.row.unit == "points" else 100
    ends = "" if one.low is None or one.high is None else f" [{scale * one.low:.2f}, {scale * one.high:.2f}]"
    reason = " (other data)" if one.row.other else f" ({one.row.idle})" if one.row.idle else ""
    return f"{_value(one.row.measured, one.row)}{ends}: **{one.verdict}**{reason}"


def _difference(part: Mapping[str, Any]) -> str:
    mean, low, high = (None if part[end] is None else f"{100 * part[end]:+.2f}" for end in ("mean", "low", "high"))
    ends = "" if low is None else f" [{low}, {high}]"
    sides = " against ".join(f"{100 * one:.2f}%" for one in part.get("accuracies", ()))
    constant = f", a constant answer {100 * part['constant answer']:.2f}%" if "constant answer" in part else ""
    return f"{mean}{ends}{f' ({sides}{constant})' if sides else ''}{': not compared' if 'why' in part else ''}"


def _chapter(one: Experiment, results: Mapping[str, Any], readings: Sequence[Judgement]) -> Iterator[str]:
    runs, tool, data = results["runs"], results["tool"], results["data"]
    hours = sum(run["seconds"] for run in runs) / 3600
    devices = dict.fromkeys(f"{run['device']['name']}, torch {run['device']['torch']}" for run in runs)
    sizes = ", ".join(f"{name} {data[name]}" for name in ("train", "test", "records", "columns") if name in data)
    yield f"\n## {one.says}\n"
    yield f"```\n{one.command()}\n```\n"
    yield (
        f"{len(runs)} runs, root seed {results['seed']}, {hours:.1f} hours in all; data {data['name']} ({sizes}); "
        f"{'; '.join(devices)}; {tool['name']} {tool['version']}.\n"
    )
    yield "What differs from the paper, or is not said there:\n"
    yield from (f"* {sentence}" for sentence in one.differences())
    yield ""
    yield from _judgements(one, readings)
    if one.choosing:
        yield from _rates(one, results, readings)
    else:
        yield _table(*_accuracies(one, results))
        yield ""
    if spent := list(spends(one, results)):
        heads = list(max(spent, key=len))  # a row without shuffled reports lacks their column
        yield _table(heads, iter([[row.get(head, "") for head in heads] for row in spent]))


def _accuracies(one: Experiment, results: Mapping[str, Any]) -> tuple[list[str], Iterator[list[str]]]:
    """Mean accuracy over the repeats after some of the rounds, and each repeat's after the last."""
    ends = {len(run["rounds"]) for run in results["runs"]}
    step = 5 * math.ceil(max(ends) / 20)
    rounds = sorted({1, *range(step, max(ends), step), *ends})
    rows = []
    for point in results["points"]:
        runs = runs_at(results, point)
        had = [at for at in rounds if at <= len(runs[0]["rounds"])]
        means = [f"{100 * sum(run['rounds'][at - 1]['accuracy'] for run in runs) / len(runs):.2f}" for at in had]
        each = ", ".join(f"{100 * run['rounds'][-1]['accuracy']:.2f}" for run in runs)
        seeds = ", ".join(str(run["seed"]) for run in runs)
        rows.append([words(one.told(runs[0])), *means, *[""] * (len(rounds) - len(had)), each, seeds])
    return ["accuracy, %", *(f"round {at}" for at in rounds), "each repeat", "seeds"], iter(rows)


def _rates(one: Experiment, results: Mapping[str, Any], readings: Sequence[Judgement]) -> Iterator[str]:
    """Accuracy of each solution at each learning rate on the choosing repeats, and the choices."""
    scores = choosing_scores(results, one)
    if not scores:
        yield "No learning rate has the runs of all solutions yet.\n"
        return
    rates = sorted({rate for _, _, rate in scores})
    folds, positive = results["settings"]["folds"], results["data"]["positive"]
    constant = f"{100 * max(positive, 1 - positive):.2f}"
    yield (
        f"Mean accuracy, %, on the first {one.choosing} of {one.repeats} repeats of the {folds}-fold cross-validation, "
        f"which choose the learning rates; the other {one.repeats - one.choosing}, with other shuffles of the records "
        f"and other noise, are reported.\n"
    )
    rows = [
        [model, solution, *(f"{100 * scores[model, solution, rate]:.2f}" for rate in rates), constant]
        for model, solution in dict.fromkeys((model, solution) for model, solution, _ in scores)
    ]
    yield _table(["model", "solution", *(f"rate {rate:g}" for rate in rates), "a constant answer"], iter(rows))
    yield ""
    for reading in readings:
        models = dict.fromkeys(model for model, _ in reading.rates)
        for model in models:
            chosen = {solution: rate for (of, solution), rate in reading.rates.items() if of == model}
            shared = len(set(chosen.values())) == 1
            told = f"{next(iter(chosen.values())):g}" if shared else ", ".join(f"{k} {v:g}" for k, v in chosen.items())
            ends = [name for name, rate in chosen.items() if rate in (rates[0], rates[-1])]
            whose = "all" if shared else ", ".join(ends)
            edge = f" (at an end of the sweep, a better one may lie beyond: {whose})" if ends else ""
            yield f"* {model}, {reading.name}: {told}{edge}."
    yield ""


def _left(one: Experiment, results: Mapping[str, Any] | None) -> str:
    """A line for an experiment with points that have no record; "" for a complete one."""
    asked = sum(len(sweep.combinations()) for sweep in one.sweeps())
    done = 0 if results is None else len(results["points"])
    if done >= asked:
        return ""
    return f"* {one.says}: {done} of {asked} settings so far.\n\n```\n{one.command()}\n```\n"


def _table(head: Sequence[str], rows: Iterator[list[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])
