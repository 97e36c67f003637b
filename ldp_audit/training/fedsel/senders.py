"""The users' reports in each solution, their exact moments, and the protocol of a run.

FedSel's report: select a coordinate of the accumulated gradient, then perturb its value plus momentum,

    j from select(|r^t|, epsilon1),   s_j = r^t_j + eta r^(t-1)_j,   clip to [-1, 1],   perturb with epsilon2.

No epsilon is finite without the clip, which is in the paper's Section 3.3. PE may select none: the server counts zeros.
The competitors report the whole gradient, one random coordinate, flat samples of perturbed coordinates, or a random
projection. Variances are those of `ldp_audit.mechanisms`; every value mechanism has V(0) + (V(1) - V(0)) x**2, which is
evaluated on tensors.

The protocol's unit is a record: each user has one.

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Algorithm 1, Section 5.1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from ldp_audit.accounting.protocols.paper_claims import installed
from ldp_audit.accounting.protocols.protocol import Protocol as SpendingProtocol
from ldp_audit.accounting.protocols.protocol import Split, Step
from ldp_audit.mechanisms import (
    CoordinateSampling,
    ExponentialSelection,
    PerturbedEncoding,
    PerturbedSampling,
    RandomProjection,
    TwoStage,
)
from ldp_audit.mechanisms.randomness import source_of
from ldp_audit.mechanisms.selection.ranking import ranking, top_set
from ldp_audit.mechanisms.values.sparse_report import scattered
from ldp_audit.training.fedsel.settings import FedSelSettings
from ldp_audit.training.fedsel.solution import MECHANISMS, Solution, solution, stages
from ldp_audit.training.streams import Streams


@dataclass(frozen=True)
class Reports:
    """The reports of a chunk of users.

    vectors: as the server reads them, zeros elsewhere; shape (..., width).
    mean, variance: the exact ones of `vectors`, given the users' data; shape (..., width).
    index: the reported entry, -1 for none; shape (..., entries); None for the whole vector.
    clipped: whether the reported value was outside [-1, 1]; shape of `index`, or None without clipping.
    """

    vectors: torch.Tensor
    mean: torch.Tensor
    variance: torch.Tensor
    index: torch.Tensor | None = None
    clipped: torch.Tensor | None = None


class Sender(ABC):
    """One solution with its budgets: a pure function from true vectors and a generator to reports.

    By default reports are as wide as the vectors, are never empty, and the server's step is their mean.
    """

    @abstractmethod
    def send(self, now: torch.Tensor, before: torch.Tensor | None, generator: torch.Generator) -> Reports:
        """The reports of users.

        now: their (accumulated) gradients r^t, shape (..., d).
        before: r^(t-1), what they had not reported before this gradient, for the momentum; None for zeros.
        """

    def width(self, d: int) -> int:
        """Number of entries of a report, for vectors of d."""
        return d

    def nothing(self) -> float:
        """The exact probability of an empty report."""
        return 0.0

    def recover(self, mean: torch.Tensor) -> torch.Tensor:
        """The server's step from the mean of `Reports.vectors`: shape (..., width) to (..., d)."""
        return mean

    def law(self) -> TwoStage | None:
        """The exact mechanism of a report with its clip, if it has two stages."""
        return None


class Perturbed(NamedTuple):
    """report: the perturbed value.   clipped: whether the value was outside [-1, 1]. Both of the values' shape."""

    report: torch.Tensor
    clipped: torch.Tensor


@dataclass(frozen=True)
class Quadratic:
    """E[report**2 | x] = at_zero + slope x**2, for x in [-1, 1]."""

    at_zero: float
    slope: float

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Shape of x."""
        return self.at_zero + self.slope * x * x


def perturb(mechanism: Any, values: torch.Tensor, generator: torch.Generator) -> Perturbed:
    """Clip each value to [-1, 1] and perturb it."""
    return Perturbed(mechanism.sample(values.clamp(-1, 1), rng=generator), values.abs() > 1)


def second_moment(mechanism: Any) -> Quadratic:
    """E[report**2 | x] of an unbiased value mechanism on [-1, 1]; ValueError unless it is such a quadratic."""
    zero, half, one = (float(mechanism.variance(x)) for x in (0.0, 0.5, 1.0))
    if abs(half - (zero + (one - zero) / 4)) > 1e-9 * max(zero, one):
        raise ValueError(f"mechanism must have a variance of the form a + b x**2, got {mechanism!r}")
    return Quadratic(zero, 1 + one - zero)


class Selection(ABC):
    """A selection mechanism on vectors: its input, the drawn index, and the exact probabilities."""

    @abstractmethod
    def input_of(self, vectors: torch.Tensor) -> torch.Tensor:
        """The mechanism's input for vectors (..., d): their rankings, or membership in the top k. Shape (..., d)."""

    @abstractmethod
    def draw(self, inputs: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """One index for each input, -1 for none; int64, shape (...)."""

    @abstractmethod
    def table(self) -> list[float]:
        """The probability of an index by its entry in the input: its rank, or its membership."""

    def probabilities(self, inputs: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """P(j | input) of every coordinate, shape (..., d); the rest to 1 is the probability of none."""
        return torch.tensor(self.table(), dtype=dtype, device=inputs.device)[inputs.to(torch.int64)]

    def nothing(self) -> float:
        """The probability of no index, for any input."""
        return 0.0

    def oracle(self) -> Any:
        """The private mechanism; None if there is none."""
        return None


@dataclass(frozen=True)
class Largest(Selection):
    """NP-K: the coordinate of the largest magnitude, always."""

    def input_of(self, vectors: torch.Tensor) -> torch.Tensor:
        """Membership of the largest magnitude."""
        return top_set(vectors.abs(), 1)

    def draw(self, inputs: torch.Tensor, generator: torch.Generator) -> torch.Tensor:  # noqa: ARG002
        """The index of the largest magnitude."""
        return inputs.to(torch.uint8).argmax(-1)

    def table(self) -> list[float]:
        """See `Selection`."""
        return [0.0, 1.0]


@dataclass(frozen=True)
class Uniform(Selection):
    """A uniform coordinate, whatever the magnitudes: a selection without a budget.   d: number of coordinates."""

    d: int

    def input_of(self, vectors: torch.Tensor) -> torch.Tensor:
        """No information: zeros."""
        return torch.zeros_like(vectors, dtype=torch.bool)

    def draw(self, inputs: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """See `Selection`."""
        return source_of(generator).below(self.d, inputs.shape[:-1])

    def table(self) -> list[float]:
        """See `Selection`."""
        return [1 / self.d]


@dataclass(frozen=True)
class ByRank(Selection):
    """EXP: by the ranking of the magnitudes."""

    mechanism: ExponentialSelection

    def input_of(self, vectors: torch.Tensor) -> torch.Tensor:
        """The ranks, from 1 for the smallest."""
        return ranking(vectors.abs())

    def draw(self, inputs: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """See `Selection`."""
        return self.mechanism.sample(inputs, rng=generator)

    def table(self) -> list[float]:
        """See `Selection`; rank 0 does not occur."""
        return [0.0, *torch.as_tensor(self.mechanism.rank_log_probs()).exp().tolist()]

    def oracle(self) -> ExponentialSelection:
        """See `Selection`."""
        return self.mechanism


@dataclass(frozen=True)
class ByTopSet(Selection):
    """PE and PS: by membership in the k largest.   none: the probability of no index, for PE."""

    mechanism: PerturbedEncoding | PerturbedSampling
    none: float = 0.0

    def input_of(self, vectors: torch.Tensor) -> torch.Tensor:
        """Membership in the k largest."""
        return top_set(vectors.abs(), self.mechanism.k)

    def draw(self, inputs: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """See `Selection`."""
        return self.mechanism.sample(inputs, rng=generator)

    def table(self) -> list[float]:
        """See `Selection`."""
        inside, outside = torch.tensor(self.mechanism.index_log_probs(), dtype=torch.float64).exp().tolist()
        return [outside, inside]

    def nothing(self) -> float:
        """See `Selection`."""
        return self.none

    def oracle(self) -> PerturbedEncoding | PerturbedSampling:
        """See `Selection`."""
        return self.mechanism


def selection_of(name: str, epsilon: float, d: int, k: int, *, corrected: bool) -> Selection:
    """The selection with this name (EXP, PE, PS) and budget; `Uniform` if the budget is 0.

    corrected: whether PE's whole report, and not only each of its bits, has that epsilon.
    """
    if epsilon == 0:
        return Uniform(d)
    if name == "EXP":
        return ByRank(ExponentialSelection(epsilon, d))
    if name == "PS":
        return ByTopSet(PerturbedSampling(epsilon, d, k))
    encoding = PerturbedEncoding.calibrated(epsilon, d, k) if corrected else PerturbedEncoding(epsilon, d, k)
    return ByTopSet(encoding, math.exp(encoding.none_log_prob()))


@dataclass(frozen=True)
class TwoStageSender(Sender):
    """FedSel's report.   value: a value mechanism, or None to report the value exactly.

    momentum: eta, >= 0.
    """

    selection: Selection
    value: Any
    momentum: float = 0.0

    def send(self, now: torch.Tensor, before: torch.Tensor | None, generator: torch.Generator) -> Reports:
        """See `Sender`: one index a user, or none."""
        inputs = self.selection.input_of(now)
        index = self.selection.draw(inputs, generator)
        values = now if before is None else now + self.momentum * before
        chosen = values.gather(-1, index.clamp(min=0)[..., None])[..., 0]
        mean, square = values, values * values
        report, clipped = chosen, None
        if self.value is not None:
            report, clipped = perturb(self.value, chosen, generator)
            mean = values.clamp(-1, 1)
            square = second_moment(self.value)(mean)
            clipped = (clipped & (index >= 0))[..., None]
        report = torch.where(index < 0, torch.zeros_like(report), report)
        share = self.selection.probabilities(inputs, now.dtype)
        expected = share * mean
        return Reports(
            scattered(index[..., None], report[..., None], now.shape[-1]),
            expected,
            share * square - expected * expected,
            index[..., None],
            clipped,
        )

    def nothing(self) -> float:
        """Positive for PE only."""
        return self.selection.nothing()

    def law(self) -> TwoStage | None:
        """See `Sender`; None if a stage has no budget."""
        oracle = self.selection.oracle()
        return None if oracle is None or self.value is None else TwoStage(oracle, self.value, clip=True)


@dataclass(frozen=True)
class FullSender(Sender):
    """NP: the whole gradient, exactly."""

    def send(self, now: torch.Tensor, before: torch.Tensor | None, generator: torch.Generator) -> Reports:  # noqa: ARG002
        """See `Sender`; `before` and the generator are not used."""
        return Reports(now, now, torch.zeros_like(now))


@dataclass(frozen=True)
class RandomCoordinateSender(Sender):
    """NP-RS: one uniform coordinate, times d, which makes it unbiased."""

    def send(self, now: torch.Tensor, before: torch.Tensor | None, generator: torch.Generator) -> Reports:  # noqa: ARG002
        """See `Sender`; `before` is not used."""
        d = now.shape[-1]
        index = source_of(generator).below(d, now.shape[:-1])[..., None]
        return Reports(scattered(index, now.gather(-1, index), d, float(d)), now, (d - 1) * now * now, index)


@dataclass(frozen=True)
class FlatSender(Sender):
    """PM, HM, DUCHI: k random coordinates, each perturbed with its share of the budget, times d / k."""

    mechanism: CoordinateSampling

    def send(self, now: torch.Tensor, before: torch.Tensor | None, generator: torch.Generator) -> Reports:  # noqa: ARG002
        """See `Sender`; `before` is not used. Every coordinate is clipped, whichever are reported."""
        inside = now.clamp(-1, 1)
        report = self.mechanism.sample(inside, rng=generator)
        scale = self.mechanism.d / self.mechanism.k
        square = second_moment(self.mechanism.coordinate())(inside)
        clipped = (now.abs() > 1).gather(-1, report.index)
        return Reports(self.mechanism.dense(report), inside, scale * square - inside * inside, report.index, clipped)


@dataclass(frozen=True)
class ProjectionSender(Sender):
    """PM-RP etc.: one of q public random combinations, perturbed, times q; the server applies a pseudo-inverse."""

    mechanism: RandomProjection

    def send(self, now: torch.Tensor, before: torch.Tensor | None, generator: torch.Generator) -> Reports:  # noqa: ARG002
        """See `Sender`; `before` is not used. The reports' width is q."""
        matrix = torch.tensor(self.mechanism.matrix, dtype=torch.float64, device=now.device)
        combined = (now.to(torch.float64) @ matrix).to(now.dtype)
        inside = combined.clamp(-1, 1)
        report = self.mechanism.sample(now, rng=generator)
        square = second_moment(self.mechanism.value)(inside)
        index = report.index[..., None]
        clipped = (combined.abs() > 1).gather(-1, index)
        vectors = self.mechanism.dense(report)
        return Reports(vectors, inside, self.mechanism.q * square - inside * inside, index, clipped)

    def width(self, d: int) -> int:  # noqa: ARG002
        """q."""
        return self.mechanism.q

    def recover(self, mean: torch.Tensor) -> torch.Tensor:
        """P g from the mean of clipped combinations, where P projects on the public span."""
        return self.mechanism.recover(mean)


def top_size(plan: FedSelSettings, d: int) -> int:
    """k: the plan's, or a tenth of d. ValueError if PE or PS cannot use it."""
    chosen, k = solution(plan.solution), plan.k or max(1, d // 10)
    if chosen.kind in ("selection", "two-stage") and d < 2:
        raise ValueError(f"data must have two columns or more for a selection, got {d}")
    if chosen.selection in ("PE", "PS") and k > d - 1:
        raise ValueError(f"k must be a whole number from 1 to d - 1 = {d - 1}, got {k}")
    return k


def sender(plan: FedSelSettings, split: Split, d: int, model: tuple[int, int], streams: Streams) -> Sender:
    """The sender of a model's users.   model: (repeat, fold); each random projection has a public matrix of its own."""
    chosen, budget, k = (
        solution(plan.solution),
        stages(solution(plan.solution), split, plan.epochs, d),
        top_size(plan, d),
    )
    value = MECHANISMS[chosen.value](budget.value) if chosen.value else None
    if chosen.kind == "full":
        return FullSender()
    if chosen.kind == "random":
        return RandomCoordinateSender()
    if chosen.kind == "largest":
        return TwoStageSender(Largest(), None, plan.momentum)
    if chosen.kind == "flat":
        return FlatSender(CoordinateSampling(MECHANISMS[chosen.value], budget.value, d, plan.coordinates))
    if chosen.kind == "projection":
        q = max(1, math.floor(plan.ratio * d + 1e-9))  # 1e-9: 0.7 * 10 is slightly below 7 in floating point
        matrix = streams.numpy("projection", *model)
        return ProjectionSender(RandomProjection.drawn(value, d, q, matrix, clip=True))
    selection = selection_of(chosen.selection, budget.selection, d, k, corrected=plan.corrected)
    return TwoStageSender(selection, value, plan.momentum)


_SELECTION = {
    "EXP": "ExponentialSelection(d={d}",
    "PE": "PerturbedEncoding(d={d}, k={k}",
    "PS": "PerturbedSampling(d={d}, k={k}",
}
_VALUE = {"PM": "Piecewise(", "HM": "Hybrid(", "DUCHI": "TwoPoint("}
_CLIP = "The value is clipped to [-1, 1] first; without that, no epsilon is finite (FS-CLIP)."
_TIES = "Ties are broken so that exactly k entries are selected from; otherwise the cost is larger (FS-TIES)."
_CONTROL = "A control group: the selection's share comes on top of the whole budget, which the value has."
_CORRECTED = "PE's bits have a smaller epsilon, so that the whole report keeps to the selection's share."
_PUBLISHED = "PE as published: its report has more than the selection's share (FS-L2)."


def protocol(plan: FedSelSettings, split: Split, *, data: str, users: int, d: int, k: int) -> SpendingProtocol | None:
    """The protocol of the run; None if no epsilon is finite: NP..., and a selection alone, which reports the value
    exactly.

    data: its name.   users: of one model.   d: weights.   k: size of the top set.
    """
    chosen = solution(plan.solution)
    if not chosen.private:
        return None
    budget = stages(chosen, split, plan.epochs, d)
    two_stage = chosen.kind == "two-stage"
    steps = (
        (_selection(chosen, budget.selection, d, k, plan), _value(chosen, budget.value))
        if two_stage
        else (_value(chosen, *_shares(plan, budget.value, d)),)
    )
    by_paper = two_stage and not chosen.control
    return SpendingProtocol(
        name=f"FedSel's {chosen.name} on {data}",
        steps=tuple(step for step in steps if step),
        unit="record",
        adjacency="replace",
        epochs=plan.epochs,
        dimensions=d,
        split=split if by_paper else None,
        paper=installed("fedsel") if by_paper else None,
        source="Liu, Cao, Yoshikawa, Chen, FedSel (DASFAA 2020), Algorithm 1 and Section 5",
        notes=_notes(chosen, users, k, plan),
    )


def _selection(chosen: Solution, epsilon: float, d: int, k: int, plan: FedSelSettings) -> Step | None:
    """The selection's step; without an epsilon if the split determines it. None if a control group's selection has
    no budget."""
    head = _SELECTION[chosen.selection].format(d=d, k=k)
    if chosen.selection == "PE" and plan.corrected and epsilon > 0:
        epsilon = PerturbedEncoding.calibrated(epsilon, d, k).epsilon
    elif not chosen.control:
        return Step(f"{head})", ("epochs",), "which dimension", stage="selection")
    return Step(f"{head}, epsilon={epsilon!r})", ("epochs",), "which dimension") if epsilon else None


def _value(chosen: Solution, epsilon: float, times: int = 1) -> Step:
    head = _VALUE[chosen.value]
    if chosen.kind == "two-stage" and not chosen.control:
        return Step(f"{head})", ("epochs",), "its value", stage="value")
    return Step(f"{head}epsilon={epsilon!r})", ("epochs", times), "its value")


def _shares(plan: FedSelSettings, epsilon: float, d: int) -> tuple[float, int]:
    """The budget of one coordinate of the flat solutions, and the number of coordinates in a report."""
    chosen = solution(plan.solution)
    if chosen.kind != "flat":
        return epsilon, 1
    flat = CoordinateSampling(MECHANISMS[chosen.value], epsilon, d, plan.coordinates)
    return flat.coordinate().epsilon, flat.k


def _notes(chosen: Solution, users: int, k: int, plan: FedSelSettings) -> tuple[str, ...]:
    stopped = "" if plan.rounds is None else f"; those whose turn comes after round {plan.rounds} once less"
    found = [f"{users} users train a model; each reports once an epoch{stopped}.", _CLIP]
    if chosen.selection in ("PE", "PS"):
        found += [f"k = {k}.", _TIES]
    if chosen.selection == "PE":
        found.append(_CORRECTED if plan.corrected else _PUBLISHED)
    if chosen.control:
        found.append(_CONTROL)
    return tuple(found)
