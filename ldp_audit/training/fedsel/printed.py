"""Table 3: what a private selection gains and loses in accuracy, from results, beside the printed numbers.

    gain = acc(S-PM-C) - acc(PM),   loss = acc(S-PM-C) - acc(S-PM),   S one of EXP, PE, PS; in percent, epsilon = 2

Gain less loss is acc(S-PM) - acc(PM): the control group drops out.
Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Table 3, with 10 times 5-fold cross-validation, k = 0.1 d and mu = 0.1.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ldp_audit.training.experiments.comparison import Row, apart
from ldp_audit.training.experiments.findings import interval
from ldp_audit.training.fedsel.findings import gains_and_losses_of
from ldp_audit.training.fedsel.solution import SELECTIONS

PRINTED: dict[tuple[str, str], tuple[float, ...]] = {
    ("syn-l", "logistic"): (8.6074, 0.3517, 5.410, 1.192, 5.975, 0.4970),
    ("syn-l", "svm"): (7.1950, 2.1593, 3.7704, 0.8533, 5.065, 2.0816),
    ("bank", "logistic"): (2.4197, -0.157, 3.2338, 0.0464, 2.5525, 0.1463),
    ("bank", "svm"): (4.3823, 0.4436, 3.4369, 0.2530, 4.0244, 0.0164),
    ("kdd99", "logistic"): (2.0471, 0.5091, 2.5148, 0.2322, 2.0171, 0.3428),
    ("kdd99", "svm"): (1.85629, -0.1625, 2.2168, 0.2288, 1.8291, 0.4465),
    ("adult", "logistic"): (5.5745, 0.2935, 5.6445, 1.3096, 6.0535, 0.8091),
    ("adult", "svm"): (5.5361, 0.1949, 5.6057, 0.9550, 5.1442, 0.3852),
}
"""By data set and model: gain and loss of EXP, of PE and of PS, percent. syn-l has C1 = 0.01 and C2 = 0.9."""

_NAMES = {"a9a": "adult"}
_SAID = {
    "mu": 0.1,
    "k": None,
    "penalty": 1e-4,
    "epochs": 1,
    "share": 0.01,
    "rounds": None,
    "folds": 5,
    "users": None,
    "coordinates": None,
    "corrected": False,
}
"""The paper's settings; the learning rate is none of them."""
_IN_A_CELL = ("solution", "model", "epsilon")
_EACH_END = 0.025


def beside_the_paper(results: Mapping[str, Any]) -> list[Row]:
    """Table 3's cells for this data set; 95% intervals are over the repeats of the cross-validation, given the data.

    Runs with other settings than the paper states are left out; where those differ that it leaves open, such as the
    learning rate, each has its rows.
    """
    runs = [run for run in results["runs"] if all(run["settings"].get(name) == value for name, value in _SAID.items())]
    name = _NAMES.get(results["data"]["name"], results["data"]["name"])
    rows = []
    for more, group in apart(runs, within=_IN_A_CELL):
        for (data, model), printed in PRINTED.items():
            if data == name:
                rows += _cells(gains_and_losses({"runs": group}, model), model, printed, more)
    return rows


class Difference(NamedTuple):
    """percent: mean over the repeats of the cross-validation.   error: its standard error; NaN for one repeat.

    low, high: a 95% interval, Student's, given the data; infinite for one repeat, or for a few equal ones.
    """

    percent: float
    error: float
    low: float
    high: float


class GainAndLoss(NamedTuple):
    """One selection's two numbers."""

    gain: Difference
    loss: Difference


def gains_and_losses(results: Mapping[str, Any], model: str, *, epsilon: float = 2.0) -> dict[str, GainAndLoss]:
    """By selection; of the results of the preset "table-3". Selections whose runs are missing are left out."""
    at = {"model": model, "epsilon": epsilon}
    found = {name: gains_and_losses_of(results, name, **at) for name in SELECTIONS}
    return {
        name: GainAndLoss(_difference(gains), _difference(losses)) for name, (gains, losses) in found.items() if gains
    }


def _difference(values: Sequence[float]) -> Difference:
    spread = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    low, mean, high = interval(values, _EACH_END)
    return Difference(100 * mean, 100 * spread, 100 * low, 100 * high)


def _cells(found: Mapping[str, GainAndLoss], model: str, printed: Sequence[float], more: str) -> list[Row]:
    rows = []
    for place, selection in enumerate(SELECTIONS):
        for part, word in enumerate(("gain", "loss")):
            if selection in found:
                what = f"{model}, {selection}, {word}{more}"
                rows.append(_row(what, found[selection][part], printed[2 * place + part]))
    return rows


def _row(what: str, found: Difference, printed: float) -> Row:
    ends = (found.low, found.high) if math.isfinite(found.low) else (None, None)
    return Row("Table 3", what, "points", printed, found.percent, *ends)
