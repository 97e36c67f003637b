"""A protocol as data: the mechanisms that touch a client's data, how often, and their sampling and shuffling.

A protocol is a list of steps. A step is one mechanism and the counts that say how often one unit's data passes through
it: LDP-FL reports each of d weights in each of T rounds, so its step is

    Step("TwoPoint(epsilon=1)", times=("rounds", "dimensions")).

The unit says whose data is protected: one value, one record, or all that a client holds. Steps compose adaptively: each
may depend on what the earlier ones released.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Literal, get_args

from ldp_audit import registry
from ldp_audit.accounting.privacy_loss import adjacency_of, check_adjacency
from ldp_audit.mechanisms import target
from ldp_audit.mechanisms.mechanism import Adjacency
from ldp_audit.numerics import as_float, instance, whole

Unit = Literal["value", "record", "client"]
Count = Literal["rounds", "epochs", "dimensions", "queries"]
SamplingKind = Literal["poisson", "without", "with"]
ShufflingKind = Literal["parameter", "model"]
Stage = Literal["selection", "value"]

MOST = 2**53
"""The largest count: floats hold every whole number up to it."""


@dataclass(frozen=True)
class Sampling:
    """The random part of the units that takes part, kept secret.

    kind: "poisson" with a rate in [0, 1]; "without" or "with" replacement, k of n.
    Raises ValueError for anything else.
    """

    kind: SamplingKind
    rate: float | None = None
    n: int | None = None
    k: int | None = None

    def __post_init__(self) -> None:
        _one_of("kind", self.kind, get_args(SamplingKind))
        if self.kind == "poisson":
            if self.n is not None or self.k is not None:
                raise ValueError("n and k belong to sampling without or with replacement; poisson takes rate alone")
            object.__setattr__(self, "rate", _number("rate", self.rate, low=0.0, high=1.0))
            return
        if self.rate is not None:
            raise ValueError(f"rate belongs to poisson sampling, got {self.rate!r}; give n and k")
        n, k = _whole("n", self.n), _whole("k", self.k)
        if self.kind == "without" and k > n:
            raise ValueError(f"k must be at most n = {n} without replacement, got {k}")
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "k", k)


@dataclass(frozen=True)
class Shuffling:
    """The clients whose reports are shuffled together.

    clients: that report in a round, the target among them.
    kind: "parameter": each weight's reports are shuffled by themselves; "model": a client's reports stay together.
    Raises ValueError for anything else.
    """

    clients: int
    kind: ShufflingKind = "parameter"

    def __post_init__(self) -> None:
        object.__setattr__(self, "clients", _whole("clients", self.clients))
        _one_of("kind", self.kind, get_args(ShufflingKind))


@dataclass(frozen=True)
class Split:
    """FedSel's division of one budget: over the epochs, and in each between selection and value.

    epsilon: for all epochs, nats, > 0.
    mu: the selection's share of an epoch, in [0, 1); or, for the hyper-parameter-free split,
    batch: clients of an iteration, and threshold: the largest share. The value stage then gets
    constant * sqrt(d ln d / batch) at least; the paper gives the order alone, so the constant is this file's.
    Raises ValueError for anything else.
    """

    epsilon: float
    mu: float | None = None
    batch: int | None = None
    threshold: float = 0.2
    constant: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _number("epsilon", self.epsilon, low=0.0, strict=True))
        if (self.mu is None) == (self.batch is None):
            raise ValueError(f"one of mu and batch must be given, got mu = {self.mu!r}, batch = {self.batch!r}")
        if self.batch is not None:
            object.__setattr__(self, "batch", _whole("batch", self.batch))
        for name, high in (("mu", 1.0), ("threshold", 1.0), ("constant", math.inf)):
            if name == "mu" and self.batch is not None:
                continue
            value = _number(name, getattr(self, name), low=0.0, high=high)
            if value == high:
                raise ValueError(f"{name} must leave something to the value stage, got 1")
            object.__setattr__(self, name, value)

    def stages(self, epochs: int, dimensions: int) -> dict[Stage, float]:
        """The budget of each stage of one epoch, nats. epochs, dimensions: 1 .. 2**53; ValueError for others."""
        each, d = self.epsilon / _whole("epochs", epochs), _whole("dimensions", dimensions)
        if self.mu is not None:
            selection = self.mu * each
        else:
            needed = self.constant * math.sqrt(d * math.log(d) / (self.batch or 1))
            selection = min(self.threshold * each, max(0.0, each - needed))
        return {"selection": selection, "value": each - selection}


@dataclass(frozen=True)
class Step:
    """One mechanism, and how often one unit's data passes through it.

    mechanism: a TARGET such as "TwoPoint(epsilon=1)"; in Python also any mechanism. With a stage it has no epsilon.
    times: the factors of the number of uses: "rounds", "epochs", "dimensions", "queries", whole numbers.
    stage: the part of the protocol's split that this step may spend.
    Raises ValueError for anything else.
    """

    mechanism: Any
    times: tuple[Count | int, ...]
    name: str = ""
    stage: Stage | None = None
    sampling: Sampling | None = None
    shuffling: Shuffling | None = None

    def __post_init__(self) -> None:
        _text("name", self.name)
        if self.stage is not None:
            _one_of("stage", self.stage, get_args(Stage))
            if not isinstance(self.mechanism, str):
                raise ValueError(f"mechanism must be a text where a stage gives its epsilon, got {self.mechanism!r}")
        if isinstance(self.times, str) or not isinstance(self.times, tuple | list):
            raise ValueError(f"times must be a list of {_counts()}, got {self.times!r}")
        object.__setattr__(self, "times", tuple(_factor(part) for part in self.times))
        for name, kind in (("sampling", Sampling), ("shuffling", Shuffling)):
            instance(getattr(self, name), (kind, NoneType), name, f"a {kind.__name__} or None")
        if self.shuffling and self.sampling:
            self._check_sampled_shuffling(self.sampling, self.shuffling)
        if self.sampling and "dimensions" in self.times:
            raise ValueError(
                f"times of a sampled step must not name dimensions, as a client that is drawn sends all of them: in "
                f"Python, subsample(compose([(mechanism, dimensions)]), ...) is a mechanism; Gaussian noise is one "
                f"step whose sensitivity and replaced are the norms over all dimensions; got {list(self.times)!r}"
            )
        words = [part for part in self.times if isinstance(part, str)]
        if len(set(words)) < len(words):
            raise ValueError(f"times must name each count once, got {list(self.times)!r}")

    @staticmethod
    def _check_sampled_shuffling(sampling: Sampling, shuffling: Shuffling) -> None:
        if (sampling.kind, sampling.k) != ("without", shuffling.clients):
            raise ValueError(
                f"sampling of a shuffled step must draw as many clients as are shuffled, without replacement: "
                f"k = {shuffling.clients}, got {sampling!r}"
            )


@dataclass(frozen=True)
class Protocol:
    """The steps that a unit's data goes through, from the first round to the last.

    unit: the difference of neighbours.   adjacency: whether the unit is replaced, or added or removed; the latter by
    default where a step is noise on a sum, and else the former. Noise states what a replaced unit does to the sum.
    rounds, epochs, dimensions, queries: whole numbers >= 1, for the steps' `times`.
    split: FedSel's, where steps have stages.   paper: whose own accounting to show beside (`registry.CONVENTIONS`).
    source: of the setting.   notes: remarks for a reader of the numbers.
    Raises ValueError for anything else.
    """

    name: str
    steps: tuple[Step, ...]
    unit: Unit = "client"
    adjacency: Adjacency | None = None
    rounds: int = 1
    epochs: int = 1
    dimensions: int = 1
    queries: int = 1
    split: Split | None = None
    paper: str | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    mechanisms: tuple[Any, ...] = field(init=False, repr=False, compare=False)
    """The steps' mechanisms, in their order; None for a selection that spends nothing."""

    def __post_init__(self) -> None:
        _text("name", self.name, empty=False)
        _text("source", self.source)
        _one_of("unit", self.unit, get_args(Unit))
        instance(self.split, (Split, NoneType), "split", "a Split or None")
        if self.paper is not None:
            known = tuple(registry.entries(registry.CONVENTIONS))
            _one_of("paper", self.paper, known or ("(left out, as no paper is installed)",))
        for count in get_args(Count):
            object.__setattr__(self, count, _whole(count, getattr(self, count)))
        for name in ("steps", "notes"):
            if isinstance(getattr(self, name), str) or not isinstance(getattr(self, name), tuple | list):
                raise ValueError(f"{name} must be a list, got {getattr(self, name)!r}")
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for note in self.notes:
            _text("a note", note)
        if not self.steps or not all(isinstance(step, Step) for step in self.steps):
            raise ValueError(f"steps must be one Step or more, got {self.steps!r}")
        object.__setattr__(self, "mechanisms", tuple(self._mechanism(i, step) for i, step in enumerate(self.steps, 1)))
        shuffled = any(step.shuffling for step in self.steps)
        noise = not shuffled and "add/remove" in map(adjacency_of, self.mechanisms)
        adjacency = check_adjacency(
            ("add/remove" if noise else "replace") if self.adjacency is None else self.adjacency
        )
        if adjacency != "replace" and shuffled:
            raise ValueError("adjacency must be replace where reports are shuffled: their number is known")
        object.__setattr__(self, "adjacency", adjacency)

    def times(self, step: Step, *, without: tuple[str, ...] = ()) -> int:
        """How often one unit's data passes through this step; some counts may be left out of the product."""
        parts = (part for part in step.times if part not in without)
        return math.prod(getattr(self, part) if isinstance(part, str) else part for part in parts)

    def budgets(self) -> dict[Stage, float]:
        """The split's budget of each stage of an epoch, nats; empty where there is none."""
        return self.split.stages(self.epochs, self.dimensions) if self.split else {}

    def _mechanism(self, place: int, step: Step) -> Any:
        if step.stage is None:
            return _loaded(place, step.mechanism) if isinstance(step.mechanism, str) else step.mechanism
        if self.split is None:
            raise ValueError(f"step {place} has the stage {step.stage!r}, but the protocol has no split")
        budget = self.budgets()[step.stage]
        if budget == 0 and step.stage == "selection":
            return None
        return _loaded(place, _with_epsilon(place, step.mechanism, budget))


def _loaded(place: int, text: str) -> Any:
    try:
        return target.load(text)
    except (ValueError, OverflowError, RecursionError, MemoryError, OSError) as error:
        raise ValueError(f"mechanism of step {place}, {text[:200]!r}: {error}") from None


def _with_epsilon(place: int, text: str, epsilon: float) -> str:
    """The TARGET with its epsilon written in."""
    head, bracket, arguments = text.strip().partition("(")
    if not bracket or not arguments.endswith(")") or "epsilon" in arguments:
        raise ValueError(
            f"mechanism of step {place} must be a shipped one without its epsilon, which the stage gives, "
            f"such as PerturbedSampling(d=100, k=10), got {text!r}"
        )
    inner = arguments[:-1].strip().rstrip(",")
    return f"{head}({inner}{', ' if inner else ''}epsilon={epsilon!r})"


def _factor(part: Any) -> Any:
    if isinstance(part, str):
        if part not in get_args(Count):
            raise ValueError(f"times must be made of {_counts()}, got {part!r}")
        return part
    return _whole("a number in times", part)


def _counts() -> str:
    return ", ".join(get_args(Count)) + " and whole numbers"


def _whole(name: str, value: Any) -> int:
    """A whole number from 1 on; 1e5 is one too."""
    given = as_float(value)
    return whole(value if hasattr(value, "__index__") or not given.is_integer() else int(given), name, 1, MOST)


def _number(name: str, value: Any, *, low: float, high: float = math.inf, strict: bool = False) -> float:
    """A finite number in the range."""
    found = as_float(value)
    if not low <= found <= high or (strict and found == low) or found > 1e300:
        ends = f"{'>' if strict else '>='} {low:g}" if math.isinf(high) else f"in [{low:g}, {high:g}]"
        raise ValueError(f"{name} must be a finite number {ends}, got {value!r}")
    return found


def _text(name: str, value: Any, *, empty: bool = True) -> None:
    if not isinstance(value, str) or not (empty or value.strip()):
        raise ValueError(f"{name} must be a text{'' if empty else ' that is not empty'}, got {value!r}")


def _one_of(name: str, value: Any, choices: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
