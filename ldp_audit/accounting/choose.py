"""Which mechanism answers a question with the least error at a budget: exact errors, side by side.

A question is asked of `users` people, once or several times, and each of them may spend (epsilon, delta) on all answers
together. For every candidate the largest epsilon of one report is found whose composition, and shuffle where reports
are shuffled, meets the budget; the errors at that epsilon are exact standard deviations.

A frequency's estimate is a share of the users; "typical" is the standard error for a value that 1 in `answers` users
has, "worst" the largest over all frequencies. A mean's inputs lie in [-1, 1]; "typical" is the standard error for
inputs spread evenly over the range, "worst" the largest over equal inputs; of vectors, of one coordinate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldp_audit.accounting.calibrate import calibrate
from ldp_audit.accounting.privacy_loss import PrivacyLoss, compose
from ldp_audit.accounting.shuffle import shuffle
from ldp_audit.figure import Figure, Panel, Series
from ldp_audit.mechanisms import (
    CoordinateSampling,
    DuchiVector,
    HadamardResponse,
    Hybrid,
    Laplace,
    LocalHashing,
    Piecewise,
    RandomizedResponse,
    SubsetSelection,
    TwoPoint,
    UnaryEncoding,
)
from ldp_audit.mechanisms.mechanism import Mechanism
from ldp_audit.numerics import as_float, instance, log_of_delta, shown, whole
from ldp_audit.shown import Shown

Build = Callable[[float], Mechanism]
"""From the epsilon of one report to the mechanism."""

_LARGEST = 30.0
"""The largest epsilon of one report that is tried: of shuffled reports it exceeds the budget by far."""
_TOLERANCE = 1e-4
"""The share by which the epsilon of a report may be below the largest one; errors change by about as much."""
_WIDE = 20.0
"""The ratio of the ends of an axis from which it is logarithmic."""
_INPUTS = 101
"""Inputs of a mean, evenly over the range with its ends and its middle, where variances have their extremes."""


@dataclass(frozen=True)
class RankedMechanism:
    """One candidate at the budget.

    name: as in the table.   mechanism: at the epsilon of one report.   spent: of all reports, its epsilon at the delta.
    typical, worst: standard errors; see the module.   bits: of a report, log2 of the number of possible ones.
    """

    name: str
    mechanism: Mechanism
    report_epsilon: float
    spent: float
    typical: float
    worst: float
    bits: float


@dataclass(frozen=True)
class Choices(Shown):
    """Candidates, the least typical error first.

    question: in words.   signal: the size that an error must not exceed: 1/answers, or 1 for a mean in [-1, 1].
    """

    question: str
    signal: float
    rows: tuple[RankedMechanism, ...]
    left_out: Mapping[str, str]

    @property
    def best(self) -> RankedMechanism | None:
        """The candidate of the least typical error; None where every error exceeds the signal."""
        return self.rows[0] if self.rows and self.rows[0].typical <= self.signal else None

    def table(self) -> list[list[str]]:
        """The rows for people, with a header."""
        head = ["mechanism", "epsilon of a report", "spent", "typical error", "worst error", "bits"]
        return [head] + [
            [
                row.name,
                f"{row.report_epsilon:.4g}",
                f"{row.spent:.4g}",
                f"{row.typical:.3g}",
                f"{row.worst:.3g}",
                f"{math.ceil(row.bits)}",
            ]
            for row in self.rows
        ]

    def verdict(self) -> str:
        """One sentence."""
        if self.best is None:
            least = f"the least typical error is {self.rows[0].typical:.3g}" if self.rows else "none meets the budget"
            return f"no mechanism is usable here: {least}, and what is asked for is of size {self.signal:.3g}"
        surest = min(self.rows, key=lambda row: row.worst)
        also = "" if surest is self.best else f"; the least worst-case error has {surest.name}, {surest.worst:.3g}"
        return f"{self.best.name} has the least typical error, {self.best.typical:.3g}{also}"

    def describe(self) -> str:
        """Several lines for people."""
        rows = self.table()
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([self.question, *lines, *self.remarks(), self.verdict()])

    def remarks(self) -> list[str]:
        """Which candidates were left out, and why."""
        return [f"{name} was left out: {reason}" for name, reason in self.left_out.items()]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        rows = [
            {
                "name": row.name,
                "mechanism": repr(row.mechanism),
                "report_epsilon": row.report_epsilon,
                "spent": row.spent,
                "typical": row.typical,
                "worst": row.worst,
                "bits": row.bits,
            }
            for row in self.rows
        ]
        return {
            "question": self.question,
            "signal": self.signal,
            "rows": rows,
            "left_out": dict(self.left_out),
            "verdict": self.verdict(),
        }

    def figure(self) -> Figure:
        """The errors of all candidates as points over the bits of a report."""
        series = tuple(
            Series(row.name, [row.bits, row.bits], [row.typical, row.worst], style="points") for row in self.rows
        )
        bits = [row.bits for row in self.rows] or [1.0]
        errors = [self.signal, *(error for row in self.rows for error in (row.typical, row.worst))]
        line = Series("size of what is asked for", [min(bits), max(bits)], [self.signal] * 2, style="dotted")
        panel = Panel(
            "Error and communication",
            "bits of a report",
            "standard error",
            (*series, line),
            y_log=max(errors) > _WIDE * min(errors),
            x_log=max(bits) > _WIDE * min(bits),
        )
        return Figure(
            "choices",
            self.question,
            f"Of each mechanism the typical and the worst standard error. {self.verdict()}.",
            f"{len(self.rows)} mechanisms, each two points: the typical and the worst error over the bits of a report.",
            (panel,),
        )


@dataclass(frozen=True)
class _Question:
    """What is asked: how errors are measured, and what one report's epsilon leads to."""

    users: int
    answers: int | None
    dimension: int
    reports: int
    shuffled: bool

    def loss(self, mechanism: Mechanism) -> PrivacyLoss:
        """Of all reports of one user."""
        report: Any = shuffle(mechanism, n=self.users) if self.shuffled else mechanism
        return compose([(report, self.reports)])

    def errors(self, mechanism: Mechanism) -> tuple[float, float]:
        """The typical and the worst standard error from the users' reports."""
        if self.answers is not None:
            typical = float(mechanism.frequency_variance(self.users, 1 / self.answers))
            worst = max(float(mechanism.frequency_variance(self.users, end)) for end in (0.0, 1.0))
            return math.sqrt(typical), math.sqrt(worst)
        variances = np.array([self._variance(mechanism, x) for x in np.linspace(-1.0, 1.0, _INPUTS).tolist()])
        return math.sqrt(float(variances.mean()) / self.users), math.sqrt(float(variances.max()) / self.users)

    def _variance(self, mechanism: Mechanism, x: float) -> float:
        """Of one coordinate, all of which are x; ValueError where reports are biased, and more of them no help."""
        inputs: Any = x if self.dimension == 1 else np.full(self.dimension, x)
        mean, variance = (np.ravel(one) for one in (mechanism.mean(inputs), mechanism.variance(inputs)))
        if float(np.max(np.abs(mean - x))) > 1e-6:
            raise ValueError(f"reports must have the input as their mean, got mean {mean[0]:.6g} at {x:g}")
        return float(variance.max())

    def words(self, epsilon: float, delta: float) -> str:
        """The question as a sentence."""
        what = f"frequencies of {self.answers} answers" if self.answers is not None else "a mean in [-1, 1]"
        what = what if self.dimension == 1 else f"{self.dimension} means in [-1, 1]"
        often = "once" if self.reports == 1 else f"{self.reports} times"
        budget = f"epsilon {epsilon:g}" + (f" and delta {delta:g}" if delta else "")
        spent = "each report shuffled among all" if self.shuffled else "each in their own hands"
        return f"{what} from {self.users} users, {often}, {spent}, {budget} for all reports of one user"


def choose(
    *,
    users: int,
    epsilon: float,
    answers: int | None = None,
    numeric: bool = False,
    dimension: int = 1,
    reports: int = 1,
    shuffled: bool = False,
    delta: float = 0.0,
    candidates: Mapping[str, Build] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Choices:
    """The candidates for a question, the least typical error first.

    users: who report, >= 1.   answers: the number of values whose frequencies are asked, >= 2; or numeric: the mean of
    numbers in [-1, 1], or of vectors of `dimension` of them.   epsilon, delta: what one user may spend, nats; > 0 and
    in [0, 1).   reports: how often each user answers; the budget is for all of them together.   shuffled: reports reach
    the server through a shuffler, and delta must be > 0.   candidates: others than the shipped ones: functions from the
    epsilon of one report to a mechanism, by name.   progress: called with a line for each candidate.
    Raises ValueError for anything else.
    """
    question = _checked(users, answers, dimension, reports, numeric=numeric, shuffled=shuffled)
    budget = as_float(epsilon)
    if not 0 < budget < math.inf:
        raise ValueError(f"epsilon must be a finite number > 0, got {shown(epsilon)}")
    spare = as_float(delta)
    if not (0 < spare < 1 or (spare == 0 and not shuffled)):
        accepted = "a number > 0 and < 1 where reports are shuffled" if shuffled else "a number >= 0 and < 1"
        raise ValueError(f"delta must be {accepted}, got {shown(delta)}")
    if candidates is not None:
        instance(candidates, Mapping, "candidates", "functions from an epsilon to a mechanism, by name")
    rows, left_out = [], {}
    for name, build in (candidates or _shipped(question)).items():
        progress(f"{name}: the largest epsilon of a report")
        try:
            rows.append(_row(name, build, question, budget, spare))
        except ValueError as error:
            left_out[name] = str(error)
    rows.sort(key=lambda row: (row.typical, row.worst, row.bits))
    signal = 1.0 if question.answers is None else 1 / question.answers
    return Choices(question.words(budget, spare), signal, tuple(rows), left_out)


def _checked(users: Any, answers: Any, dimension: Any, reports: Any, *, numeric: bool, shuffled: bool) -> _Question:
    for name, value in (("numeric", numeric), ("shuffled", shuffled)):
        instance(value, (bool, np.bool_), name, "True or False")
    if bool(numeric) == (answers is not None):
        raise ValueError(f"answers must be given, or numeric=True, and not both; got {answers!r} and {numeric!r}")
    dimension = whole(dimension, "dimension", 1)
    if dimension > 1 and not numeric:
        raise ValueError(f"dimension must be 1 for frequencies, got {dimension!r}")
    return _Question(
        whole(users, "users", 1),
        None if numeric else whole(answers, "answers", 2),
        dimension,
        whole(reports, "reports", 1),
        shuffled,
    )


def _shipped(question: _Question) -> dict[str, Build]:
    """The shipped mechanisms for the question."""
    k, d = question.answers, question.dimension
    if k is not None:
        return {
            "randomised response": lambda epsilon: RandomizedResponse(epsilon, k),
            "unary encoding, symmetric": lambda epsilon: UnaryEncoding(epsilon, k, "symmetric"),
            "unary encoding, optimised": lambda epsilon: UnaryEncoding(epsilon, k),
            "local hashing, optimised": lambda epsilon: LocalHashing(epsilon, k),
            "subset selection": lambda epsilon: SubsetSelection(epsilon, k),
            "Hadamard response, one bit": lambda epsilon: HadamardResponse(epsilon, k),
        }
    if d > 1:
        return {
            "Duchi's vector mechanism": lambda epsilon: DuchiVector(epsilon, d),
            "two points, sampled coordinates": lambda epsilon: CoordinateSampling(TwoPoint, epsilon, d),
            "piecewise, sampled coordinates": lambda epsilon: CoordinateSampling(Piecewise, epsilon, d),
            "hybrid, sampled coordinates": lambda epsilon: CoordinateSampling(Hybrid, epsilon, d),
        }
    return {
        "two points": TwoPoint,
        "piecewise": Piecewise,
        "hybrid": Hybrid,
        "Laplace noise": lambda epsilon: Laplace(2 / epsilon, sensitivity=2.0, replaced=2.0),
    }


def _row(name: str, build: Build, question: _Question, epsilon: float, delta: float) -> RankedMechanism:
    each = epsilon / question.reports
    first = build(each)
    if delta == 0 and not question.shuffled and _just_meets(first.exact_epsilon(), epsilon, question.reports):
        mechanism, share, spent = first, each, question.reports * first.exact_epsilon()
    else:
        found = calibrate(
            lambda one: question.loss(build(one)),
            epsilon=epsilon,
            delta=None,
            log_delta=log_of_delta(delta, None),
            low=each * 1e-3,
            high=max(_LARGEST, 2 * each),
            increasing=True,
            tolerance=_TOLERANCE,
            near=each,
        )
        mechanism, share, spent = build(found.value), found.value, found.spent
    typical, worst = question.errors(mechanism)
    return RankedMechanism(name, mechanism, share, spent, typical, worst, mechanism.report_bits())


def _just_meets(exact: float, epsilon: float, reports: int) -> bool:
    """Whether reports of this epsilon spend the budget, to rounding: then no calibration is needed."""
    return epsilon * (1 - 1e-12) <= reports * exact <= epsilon
