"""What every mechanism promises, and what follows from it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.losses.finite_losses import EVERYTHING, symmetric_law
from ldp_audit.losses.loss import PairLoss
from ldp_audit.losses.profile_loss import loss_of_profile
from ldp_audit.mechanisms.log_space import excess, levels
from ldp_audit.mechanisms.parameter import Parameter, check_parameters


@dataclass(frozen=True)
class Example:
    """One mechanism of a family, for the documents and for the tests over all families.

    target: how it is written.   letters: what the letters of `symbolic()` stand for, in words.
    worst: which two probabilities (atoms, pieces or classes, by number, and at which inputs) have the largest ratio;
        None where the supports differ, no ratio bounds the density, or the law is that of one coordinate among several.
    exponents: the letters that are powers of e without saying so.   build: makes it, if it is no TARGET.
    composed: how epsilon is put together, for a law of one coordinate among several.
    """

    target: str
    letters: str
    worst: tuple[tuple[int, Mapping[str, Any]], tuple[int, Mapping[str, Any]]] | None = None
    exponents: Mapping[Any, Any] = field(default_factory=dict)
    build: Callable[[], Any] | None = None
    composed: str = ""


@dataclass(frozen=True)
class Losses:
    """The privacy losses of a pair that is as bad in both orders: finitely many above 0, their negatives, and 0.

    positive: nats, infinity included.   log_probs: of these; a loss -l has probability p e**-l.   rest: the probability
    of the loss 0; what is left of 1 if not given.
    """

    positive: Sequence[float] | NDArray[np.float64]
    log_probs: Sequence[float] | NDArray[np.float64]
    rest: float | None = None


class Mechanism(ABC):
    """A randomised report of one input; its law is `log_prob`, and what `sample` draws from is `implemented()`.

    A mechanism states `log_prob`, `worst_pair` and `implemented`, and with them `losses` or `reports`, from which
    epsilon and the profile follow, or else closed forms of both. Neighbours are any two inputs; for additive noise, any
    two that are at most its sensitivity apart.
    """

    parameters: ClassVar[Sequence[Parameter]] = ()
    """Its arguments that are numbers, with their domains; they are checked when it is built."""

    example: ClassVar[Example | None] = None
    """What the page of mechanisms shows; a family in the folder's registry has one, and a definition, `symbolic()`."""

    def __post_init__(self) -> None:
        check_parameters(self)

    mirrored: ClassVar[bool] = False
    """Whether the law at one input of the worst pair is the mirror image of that at the other."""

    @abstractmethod
    def worst_pair(self) -> tuple[Any, Any]:
        """Two inputs that attain `exact_epsilon()`, and `delta` at every level unless the mechanism says otherwise."""

    @abstractmethod
    def log_prob(self, y: Any, x: Any, /) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y at the input x, nats, or log density; broadcasts; -inf off the support."""

    @abstractmethod
    def implemented(self, bits: int = 64) -> Any:
        """The finite-precision distribution that `sample` draws from with `bits`-bit words, as a mechanism.

        Its epsilon is at most the mechanism's. Raises ValueError unless bits are 2..64.
        """

    def domain(self) -> tuple[float, float]:
        """The ends of the inputs, for a mechanism on the numbers of one interval; ValueError for another."""
        ends = [np.asarray(x) for x in self.worst_pair()]
        if any(end.ndim or end.dtype.kind not in "iuf" for end in ends):
            raise ValueError(f"the inputs of {self!r} are no numbers of an interval")
        return float(min(ends)), float(max(ends))

    def inputs(self, count: int) -> NDArray[Any] | None:
        """Inputs across the domain: whole numbers from 0 on, or evenly spaced; None where they are no single numbers.

        count: how many of an interval.
        """
        try:
            return np.linspace(*self.domain(), count)
        except ValueError:
            return None

    def reports(self) -> Sequence[Any] | None:
        """Every report, where they are finitely many numbers, labels or vectors and can be listed; else None."""
        return None

    def breakpoints(self, x: Any) -> Sequence[float] | None:  # noqa: ARG002
        """Of a law with a density: ascending finite numbers between which it is smooth at the input x; else None.

        Beyond the outermost it has no mass worth 1e-12. Raises ValueError where x is no single input.
        """
        return None

    def losses(self) -> Losses | None:
        """The privacy losses of the worst pair, where finitely many numbers say them; else None."""
        return None

    def pair_loss(self) -> PairLoss:
        """The privacy loss of a pair that dominates all pairs of inputs, in both orders."""
        found = self.losses()
        if found is None:
            return loss_of_profile(self)
        positive, logs = (np.asarray(one, dtype=np.float64) for one in (found.positive, found.log_probs))
        finite = (positive > 0) & np.isfinite(positive)
        if math.fsum(np.exp(logs[np.isinf(positive)])) == 1:
            return EVERYTHING
        return symmetric_law(positive[finite], logs[finite], rest=found.rest)

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats, at the worst pair; infinity where no epsilon holds."""
        found = self.losses()
        return summed_epsilon(self) if found is None else float(np.max(found.positive, initial=0.0))

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The hockey-stick divergence, largest over pairs of inputs; shape of `epsilon`, nats, >= 0.

        Raises ValueError where an epsilon is negative or NaN.
        """
        asked, found = levels(epsilon), self.losses()
        if found is None:
            return summed_delta(self, epsilon)
        masses = zip(found.positive, np.exp(found.log_probs), strict=True)
        return sum((excess(asked, float(loss)) * mass for loss, mass in masses), np.zeros_like(asked))[()]

    def responses(self) -> int | None:
        """k, where the reports are those of k-ary randomised response, but for their names; else None."""
        return None

    def blanket(self) -> float:
        """The share of a report's law that does not depend on the input, 0 .. 1: the integral of the least density.

        e**-exact_epsilon(), which every mechanism has, where no more is known.
        """
        lie, k = math.exp(-self.exact_epsilon()), self.responses()
        return lie if k is None else k * lie / (1 + (k - 1) * lie)

    def mean(self, x: Any, /) -> Any:  # noqa: ARG002
        """E[report | x], where reports are numbers, or of each coordinate; ValueError where they are labels."""
        raise ValueError(f"moments need reports that are numbers, got those of {self!r}")

    def variance(self, x: Any, /) -> Any:
        """Var[report | x], where reports are numbers, or of each coordinate; ValueError where they are labels."""
        return self.mean(x)

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One report for each input, drawn from `implemented()`; an array or tensor like x, on its device.

        x: an array, a list or a tensor of inputs.   rng: a numpy.random.Generator, or a torch.Generator for tensors.
        Raises ValueError for what is no input, and for a dtype that cannot hold the reports.
        """
        return self.implemented().sample(x, rng=rng)


def summed_epsilon(mechanism: Mechanism) -> float:
    """The largest log ratio of a report's probabilities at the worst pair, in either order, over all `reports()`."""
    first, second = _worst_rows(mechanism)
    reached = (first > -math.inf) | (second > -math.inf)
    return float(np.max(np.abs(first[reached] - second[reached])))


def summed_delta(mechanism: Mechanism, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
    """The hockey-stick divergence of the worst pair, in its worse order, as a sum over all `reports()`."""
    first, second = _worst_rows(mechanism)
    asked = levels(epsilon)[..., None]
    with np.errstate(invalid="ignore"):  # inf - inf: an output that neither input has, at infinity
        left = [
            np.nansum(np.exp(p) * -np.expm1(np.minimum(asked + q - p, 0.0)), axis=-1)
            for p, q in ((first, second), (second, first))
        ]
    return np.maximum(*left)[()]


def _worst_rows(mechanism: Mechanism) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The log probabilities of all reports at the worst pair."""
    reports, pair = mechanism.reports(), mechanism.worst_pair()
    if reports is None:
        raise ValueError(f"{mechanism!r} does not list its reports")
    first, second = (np.array([float(mechanism.log_prob(y, x)) for y in reports]) for x in pair)
    return first, second
