"""The base class of all mechanisms, and their parameters: what each must define, and what is derived from it.

Noise on a sum over records (`AdditiveNoise`) has two sensitivities. A record that is present or absent moves the sum by
at most `sensitivity`; one that is replaced by another, by at most `replaced`, which is at most twice that, as a
replaced record leaves and another comes. A sum of vectors of norm at most 1 has 1 and 2; a count has 1 and 1. Only who
knows the sum knows the second one, so it is not guessed.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.figure import Panel, Series, plotted
from ldp_audit.losses.discrete_loss import symmetric_loss
from ldp_audit.losses.loss import PairLoss
from ldp_audit.losses.profile_loss import loss_of_profile
from ldp_audit.mechanisms.blanket import Blanket
from ldp_audit.mechanisms.channel_loss import channel_loss
from ldp_audit.mechanisms.inputs import finite
from ldp_audit.mechanisms.log_space import excess, levels
from ldp_audit.mechanisms.supports import MeanEstimate, Sums, Supports
from ldp_audit.mechanisms.variable import EPSILON, Variable
from ldp_audit.numerics import as_float, exp_upwards, shown

Adjacency = Literal["add/remove", "replace"]
"""How neighbours differ: in a record that one of them lacks, or that another replaces."""


@dataclass(frozen=True)
class Parameter:
    """A named real parameter with a constant domain.

    name: of the argument.   variable: its symbol in the definition, with constant bounds.
    typical: a range from which tests and examples draw.   infinite: whether +inf is accepted, as a limit.
    """

    name: str
    variable: Variable
    typical: tuple[float, float]
    infinite: bool = False

    def check(self, value: Any) -> float:
        """The value as a float, or an int for whole numbers; ValueError, naming argument, value and domain, else."""
        number = as_float(value)
        if math.isnan(number) or not self._inside(number):
            raise ValueError(f"{self.name} must be {self.domain()}, got {shown(value)}")
        if self.variable.lower_open and number - float(self.variable.lower) < sys.float_info.min:
            raise ValueError(f"{self.name} must be {self.domain()}, by {sys.float_info.min!r} at least, got {value!r}")
        if self.variable.integer_valued:
            if number != int(number):
                raise ValueError(f"{self.name} must be {self.domain()}, got {value!r}")
            return int(value)  # not of the float, which is rounded from 2**53 on
        return number

    def domain(self) -> str:
        """The domain in words, for messages."""
        bounds = []
        if self.variable.lower.is_finite:
            bounds.append(f"{'>' if self.variable.lower_open else '>='} {self.variable.lower}")
        if self.variable.upper.is_finite:
            bounds.append(f"{'<' if self.variable.upper_open else '<='} {self.variable.upper}")
        kind = "a number" if self.infinite else "a finite number"
        kind = "a whole number" if self.variable.integer_valued else kind
        return " ".join([kind, " and ".join(bounds)]).strip()

    def _inside(self, number: float) -> bool:
        if math.isinf(number):
            return self.infinite and number > 0
        lower, upper = float(self.variable.lower), float(self.variable.upper)
        above = number > lower if self.variable.lower_open else number >= lower
        below = number < upper if self.variable.upper_open else number <= upper
        return above and below


BUDGET = Parameter("epsilon", EPSILON, typical=(0.1, 10.0))
"""A positive, finite epsilon."""

LENGTH = Parameter("d", Variable("d", 1, oo, integer=True), typical=(1, 50))
"""The length of a vector."""


def check_parameters(mechanism: Any) -> None:
    """Check each declared parameter, and store its value as a float or int."""
    for parameter in mechanism.parameters:
        object.__setattr__(mechanism, parameter.name, parameter.check(getattr(mechanism, parameter.name)))


@dataclass(frozen=True)
class FamilyExample:
    """One mechanism of a family, for the documentation and for the tests over all families.

    target: the TARGET that names it.   letters: the meaning of the symbols of `symbolic()`, in words.
    worst: the two likelihoods (number of an atom, piece or class, with the input) of largest ratio; None where the
        ratio is unbounded or `symbolic()` describes one coordinate of several.
    exponents: symbols that are powers of e but not declared so.   build: constructs it, if no TARGET names it.
    composed: how epsilon composes, where `symbolic()` describes one coordinate of several.
    """

    target: str
    letters: str
    worst: tuple[tuple[int, Mapping[str, Any]], tuple[int, Mapping[str, Any]]] | None = None
    exponents: Mapping[Any, Any] = field(default_factory=dict)
    build: Callable[[], Any] | None = None
    composed: str = ""


@dataclass(frozen=True)
class Losses:
    """A finite privacy loss distribution, equal for both orders of the pair: positive losses, their negatives, and 0.

    positive: nats, infinity included.   log_probs: their log probabilities; a loss -l has probability p e**-l.
    rest: the probability of loss 0; the remaining mass if not given.
    """

    positive: Sequence[float] | NDArray[np.float64]
    log_probs: Sequence[float] | NDArray[np.float64]
    rest: float | None = None


@runtime_checkable
class _Defined(Protocol):
    """A mechanism with a symbolic definition."""

    def symbolic(self) -> Any: ...


class Mechanism(ABC):
    """A randomised report of one input, with distribution `log_prob`; `sample` draws from `implemented()`.

    A subclass defines `log_prob`, `worst_pair` and `implemented`, and either `losses` or `reports`, from which epsilon
    and the privacy profile are derived, or closed forms of both. Any two inputs are neighbours; for additive noise, any
    two at most its sensitivity apart.
    """

    adjacency: ClassVar[Adjacency | None] = None
    """The neighbours whose loss `pair_loss` is; None for any two inputs, as in local privacy."""

    parameters: ClassVar[Sequence[Parameter]] = ()
    """The numerical arguments with their domains, checked by the constructor."""

    example: ClassVar[FamilyExample | None] = None
    """The example on the mechanisms page; every family of the registry has one, and defines `symbolic()`."""

    def __post_init__(self) -> None:
        check_parameters(self)

    @property
    def any_pair(self) -> bool:
        """Whether any two inputs are neighbours, in the range that noise states; bounds on shuffled reports need it."""
        return True

    mirrored: ClassVar[bool] = False
    """Whether the distributions at the two inputs of the worst pair are mirror images."""

    def _repr_latex_(self) -> str | None:
        """What a notebook shows: the definition, typeset; None, so that it shows the text, where there is none."""
        if not isinstance(self, _Defined) or (self.example is not None and self.example.composed):
            return None
        name = repr(self).replace("_", r"\_")
        return rf"$$ \text{{{name}: }}\quad {self.symbolic().latex()} $$"

    @abstractmethod
    def worst_pair(self) -> tuple[Any, Any]:
        """Two inputs that attain `exact_epsilon()` and, unless stated otherwise, `delta` at every epsilon."""

    @abstractmethod
    def log_prob(self, y: Any, x: Any, /) -> NDArray[np.float64] | np.float64:
        """Log probability (or log density) of the report y at the input x, nats; broadcasts; -inf off the support."""

    @abstractmethod
    def implemented(self, bits: int = 64) -> Any:
        """The finite-precision distribution of `sample`, of at most the same epsilon; ValueError if bits not 2..64."""

    def domain(self) -> tuple[float, float]:
        """Lower and upper bound of the inputs; ValueError where inputs are not the numbers of one interval."""
        pair = [np.asarray(x) for x in self.worst_pair()]
        if any(x.ndim or x.dtype.kind not in "iuf" for x in pair):
            raise ValueError(f"the inputs of {self!r} are no numbers of an interval")
        return float(min(pair)), float(max(pair))

    def inputs(self, count: int) -> NDArray[Any] | None:
        """Inputs across the domain: all whole numbers, or `count` evenly spaced ones; None unless single numbers."""
        try:
            return np.linspace(*self.domain(), count)
        except ValueError:
            return None

    def reports(self) -> Sequence[Any] | None:
        """All possible reports, where they are finitely many and can be listed; else None."""
        return None

    def report_bits(self) -> float:
        """log2 of the number of possible reports; 64, a floating-point number, where they are not listed."""
        listed = self.reports()
        return 64.0 if listed is None else math.log2(len(listed))

    def likely_reports(self, x: Any) -> Sequence[Any] | None:  # noqa: ARG002
        """All reports at the single input x, but for a mass below 1e-17 in all; None where they are too many."""
        return self.reports()

    def breakpoints(self, x: Any) -> Sequence[float] | None:  # noqa: ARG002
        """Ascending numbers between which the density at the single input x is smooth; None without a density.

        The mass beyond the outermost two is below 1e-12.
        """
        return None

    def losses(self) -> Losses | None:
        """The privacy loss distribution of the worst pair, where it is finite and known in closed form; else None."""
        return None

    def pair_loss(self) -> PairLoss:
        """The privacy loss of a pair that dominates all pairs of inputs, in both orders.

        Where neighbours differ by a record (`adjacency`): of the pair with it and without it, in this order, which is
        counted in the other order as well unless the loss is its own reverse.
        """
        found = self.losses()
        if found is None:
            return self._listed_loss() or loss_of_profile(self)
        positive, logs = (np.asarray(one, dtype=np.float64) for one in (found.positive, found.log_probs))
        finite = (positive > 0) & np.isfinite(positive)
        infinite = math.fsum(exp_upwards(log) for log in logs[positive == math.inf])
        infinite = min(1.0, math.nextafter(infinite, 2.0)) if infinite else 0.0  # never less than it is
        return symmetric_loss(positive[finite], logs[finite], infinite=infinite, rest=found.rest)

    def _listed_loss(self) -> PairLoss | None:
        """From the listed reports at the worst pair; None where there are none, or where floats do not hold them."""
        if self.adjacency is not None or self.reports() is None:
            return None
        rows = _worst_rows(self)
        if any(np.any((row < _LEAST_LOG) & (row > -math.inf)) for row in rows):
            return None
        return channel_loss([_weights(np.exp(row)) for row in rows])

    def replaced_loss(self) -> PairLoss:
        """The privacy loss of a pair that dominates all neighbours with a record replaced; ValueError where unknown."""
        if self.adjacency == "add/remove":
            raise ValueError(f"replaced_loss must be defined where a record is replaced by another, by {self!r}")
        return self.pair_loss()

    def exact_epsilon(self) -> float:
        """The smallest epsilon for which the mechanism is epsilon-LDP, nats; infinity where there is none."""
        found = self.losses()
        return summed_epsilon(self) if found is None else float(np.max(found.positive, initial=0.0))

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The privacy profile, supremum over input pairs; shape of `epsilon`, nats; ValueError unless >= 0."""
        asked, found = levels(epsilon), self.losses()
        if found is None:
            return summed_delta(self, epsilon)
        losses, masses = np.asarray(found.positive, dtype=np.float64), np.exp(found.log_probs)
        profile = [float(excess(level, losses) @ masses) for level in asked.ravel().tolist()]
        return np.reshape(profile, asked.shape)[()]

    def plot(self, axes: Any = None) -> Any:
        """Draw the privacy profile, delta over epsilon, on matplotlib's axes; returns them, new ones unless given."""
        largest = self.exact_epsilon()
        epsilons = np.linspace(0, 1.1 * largest if 0 < largest < math.inf else 10.0, 201)
        curve = Series(repr(self), epsilons.tolist(), np.atleast_1d(self.delta(epsilons)).tolist())
        return plotted(Panel("Privacy profile", "epsilon (nats)", "delta", (curve,)), axes)

    def responses(self) -> int | None:
        """k, if the reports are those of k-ary randomised response up to labels; else None."""
        return None

    def blanket(self) -> Blanket | None:
        """What all inputs' reports have in common, for bounds on shuffled reports; None where only losses are known."""
        return None

    def supports(self) -> Supports | Sums | None:
        """Which values a report supports, and how likely, where reports tell frequencies of values; else None."""
        return None

    def estimate(self, reports: Any) -> Any:
        """What the reports tell of all inputs together, unbiased, with standard errors.

        Where reports support values, the frequencies of the values 0 .. k-1 among the reporters, a `FrequencyEstimate`;
        where a report's mean is its input, the inputs' mean, a `MeanEstimate`.
        reports: as `sample` gives them, for one axis of inputs.   Raises ValueError for no reports, for what is none,
        and where reports tell neither.
        """
        found = self.supports()
        return self._mean_of(reports) if found is None else found.estimate(reports)

    def _mean_of(self, reports: Any) -> MeanEstimate:
        """The mean of reports whose mean is their input: at all of 101 inputs, or at both of the worst and halfway."""
        told = f"reports must support values, or have their input as their mean, to be estimated from; got {self!r}"
        spread = self.inputs(101)
        if spread is None:
            first, second = (np.asarray(one) for one in self.worst_pair())
            if first.dtype.kind != "f":
                raise ValueError(told)
            spread = np.stack([first, second, (first + second) / 2])
        try:
            means, variances = (np.array([moment(x) for x in spread]) for moment in (self.mean, self.variance))
        except ValueError:
            raise ValueError(told) from None
        if means.shape != spread.shape or not np.allclose(means, spread, rtol=1e-9, atol=1e-9):
            raise ValueError(told)
        return MeanEstimate.of(reports, float(variances.max()), spread.shape[1:])

    def frequency_variance(self, n: int, frequency: ArrayLike = 0.0) -> NDArray[np.float64] | np.float64:
        """The exact variance of the estimated frequency of a value, from n reports.

        n: >= 1.   frequency: the value's share among the reporters, in [0, 1], any shape.   returns: its shape.
        """
        return self._told().variance(n, frequency)

    def _told(self) -> Supports | Sums:
        found = self.supports()
        if found is None:
            raise ValueError(f"reports must support values to estimate their frequencies, got those of {self!r}")
        return found

    def mean(self, x: Any, /) -> Any:  # noqa: ARG002
        """E[report | x], by coordinate for vectors; ValueError where reports are not numbers."""
        told = "" if self.supports() is None else "; frequency_variance(n) is that of an estimated frequency"
        raise ValueError(f"moments need reports that are numbers, got those of {self!r}{told}")

    def variance(self, x: Any, /) -> Any:
        """Var[report | x], by coordinate for vectors; ValueError where reports are not numbers."""
        return self.mean(x)

    def implemented_epsilon(self) -> float:
        """The tight pure epsilon of `implemented()`, nats; ValueError for a form that is not sampled."""
        return float(self.implemented().exact_epsilon())

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One report for each input, drawn from `implemented()`; an array or tensor like x, on its device.

        x: an array, a list or a tensor of inputs.   rng: a numpy.random.Generator, or a torch.Generator for tensors.
        Raises ValueError for an invalid input, and for a dtype that cannot hold the reports.
        """
        return self.implemented().sample(x, rng=rng)


def pair_loss_of(mechanism: Any) -> PairLoss:
    """The loss of the pair that dominates a mechanism: its own, or that of its stated profile.

    mechanism: a `Mechanism`, a loss, or any object with `delta(epsilon)` and `exact_epsilon()`, whose values are
    trusted; ValueError for others.
    """
    if isinstance(mechanism, PairLoss):
        return mechanism
    return mechanism.pair_loss() if isinstance(mechanism, Mechanism) else loss_of_profile(mechanism)


def summed_epsilon(mechanism: Mechanism) -> float:
    """The largest absolute log ratio of the probabilities of a report at the worst pair, over all `reports()`."""
    first, second = _worst_rows(mechanism)
    reached = (first > -math.inf) | (second > -math.inf)
    return float(np.max(np.abs(first[reached] - second[reached])))


def summed_delta(mechanism: Mechanism, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
    """The hockey-stick divergence of the worst pair, maximum of both orders, as a sum over all `reports()`."""
    first, second = _worst_rows(mechanism)
    asked = levels(epsilon)[..., None]
    with np.errstate(invalid="ignore"):  # inf - inf where an input does not give the output
        both = [
            np.nansum(np.exp(p) * np.where(q == -math.inf, 1.0, -np.expm1(np.minimum(asked + q - p, 0.0))), axis=-1)
            for p, q in ((first, second), (second, first))
        ]
    return np.maximum(*both)[()]


def upper_profile(loss: PairLoss, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
    """The loss's delta, an upper bound where it is not known exactly; shape of `epsilon`, nats, >= 0."""
    asked = levels(epsilon)
    logs = [loss.log_delta_bounds(level)[1] for level in asked.ravel().tolist()]
    return np.exp(np.reshape(logs, asked.shape))[()]


_LEAST_LOG = -700.0
"""The least logarithm whose exponential is a float with all its digits, about."""


def _weights(row: NDArray[np.float64]) -> list[int]:
    """Whole numbers in the ratio of these floats, exactly."""
    parts = [one.as_integer_ratio() for one in row.tolist()]
    common = max(below for _, below in parts)  # a power of 2, as all are
    return [above * (common // below) for above, below in parts]


def _worst_rows(mechanism: Mechanism) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    reports, pair = mechanism.reports(), mechanism.worst_pair()
    if reports is None:
        raise ValueError(f"{mechanism!r} does not list its reports")
    first, second = (np.array([float(mechanism.log_prob(y, x)) for y in reports]) for x in pair)
    return first, second


INPUT = Variable("x", -oo, oo)
SENSITIVITY = Parameter("sensitivity", Variable("D", 0, oo, open="left"), typical=(0.1, 2.0))


def check_replaced(mechanism: Any) -> None:
    """Check how far a replaced record moves the input, where that is stated; store it as a float. ValueError else."""
    if mechanism.replaced is None:
        return
    distance = as_float(mechanism.replaced)
    if not 0 < distance <= 2 * mechanism.sensitivity:
        raise ValueError(
            f"replaced must be a number > 0, at most twice the sensitivity {mechanism.sensitivity!r}, as a record that "
            f"is replaced leaves and another comes; got {shown(mechanism.replaced)}"
        )
    object.__setattr__(mechanism, "replaced", distance)


def shown_with_replaced(mechanism: Any) -> str:
    """A dataclass's arguments by name, without those that are None: what `repr` prints."""
    given = ((one.name, getattr(mechanism, one.name)) for one in fields(mechanism))
    return f"{type(mechanism).__name__}({', '.join(f'{name}={value!r}' for name, value in given if value is not None)})"


class AdditiveNoise(Mechanism):
    """x + noise, for inputs at most `sensitivity` apart: with a record, and without it.

    sensitivity, replaced: > 0, finite; replaced, at most twice the sensitivity, is how far a replaced record moves x.
    None where that is not known; neighbours are then those with a record and without it alone. The profile, epsilon and
    the samplers are those for inputs `sensitivity` apart.
    """

    sensitivity: float
    replaced: float | None
    adjacency: ClassVar[Adjacency | None] = "add/remove"
    smooth: ClassVar[bool] = True
    """Whether `moved` gives a `NoiseLoss`, which rises with the report; else it gives a list of losses or bounds."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_replaced(self)

    def __repr__(self) -> str:
        return shown_with_replaced(self)

    @abstractmethod
    def moved(self, distance: float) -> PairLoss:
        """The loss between two inputs at this distance, > 0: a `NoiseLoss` where the noise is `smooth`."""

    def pair_loss(self) -> PairLoss:
        """See base; with a record, and without it."""
        return self.moved(self.sensitivity)

    def replaced_loss(self) -> PairLoss:
        """See base."""
        if self.replaced is None:
            raise ValueError(
                f"replaced must be stated where a record is replaced by another: how far that moves the sum, at most "
                f"{2 * self.sensitivity!r}, as in {repr(self)[:-1]}, replaced=...)"
            )
        return self.moved(self.replaced)

    def worst_pair(self) -> tuple[float, float]:
        """Two inputs at distance `sensitivity`."""
        return 0.0, self.sensitivity

    def domain(self) -> tuple[float, float]:
        """An interval of length `sensitivity` around 0."""
        return -self.sensitivity / 2, self.sensitivity / 2

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """x: no bias."""
        return finite("x", x)[()]
