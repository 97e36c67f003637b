"""Selections by scores: a candidate is reported, the likelier the higher its score.

All of them depend on the gaps to the largest score alone, in scales of 2 sensitivity / epsilon (`gaps`). A record moves
each score by at most the sensitivity, in any direction, and so the gap of two candidates by at most epsilon scales.

The samplers round scores down to a grid whose spacing is a power of two, so that floats are divided by it exactly. As
floor is monotone and commutes with whole steps, scores at most D apart are then at most m = ceil(D / spacing) steps
apart. On the grid the scale is t steps, for the least multiple t of 8 with 2 m / t <= epsilon, the implemented epsilon;
there the algorithms are exact: they toss coins of probability e**-(n/t) for whole n, by comparisons of integers
(Canonne, Kamath, Steinke, NeurIPS 2020, Algorithm 1).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import array_api_compat.numpy as numpy_namespace
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.losses.discrete_loss import ZERO_LOSS, pure_loss
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.finite_precision import FinitePrecision
from ldp_audit.mechanisms.inputs import array_of, finite, require_arithmetic, vectors
from ldp_audit.mechanisms.mechanism import (
    BUDGET,
    SENSITIVITY,
    Adjacency,
    Mechanism,
    Parameter,
    check_replaced,
    shown_with_replaced,
    upper_profile,
)
from ldp_audit.mechanisms.noise.laplace_noise import PARTS, decays, tails
from ldp_audit.mechanisms.noise.noise_grid import floor_log2, require_moderate
from ldp_audit.mechanisms.randomness import BITS, Source
from ldp_audit.mechanisms.selection.ranking import at_index, indices
from ldp_audit.mechanisms.variable import Variable

CANDIDATES = Parameter("candidates", Variable("n", 2, oo, integer=True), typical=(2, 100))


class ScoreSelection(Mechanism):
    """Inputs are scores, real vectors of shape (..., candidates); the report is an index, int64, shape (...).

    Neighbours are any two vectors that differ by at most `sensitivity` in each coordinate, not any two inputs:
    with a record, and without it. Where it is replaced by another, by at most `replaced`, which is at most twice that;
    None where that is not known. The profile, epsilon and the samplers are those of the former.

    A subclass defines the probabilities at given gaps (`log_law`), the profile, the loss that dominates, and `select`.
    """

    epsilon: float
    candidates: int
    sensitivity: float
    replaced: float | None

    parameters = (BUDGET, CANDIDATES, SENSITIVITY)
    adjacency: ClassVar[Adjacency | None] = "add/remove"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_replaced(self)

    def __repr__(self) -> str:
        return shown_with_replaced(self)

    @property
    def any_pair(self) -> bool:
        """See base: scores have no range."""
        return False

    @abstractmethod
    def log_law(self, gaps: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log probabilities of all candidates from their gaps, in scales, >= 0; shape (m, candidates) both."""

    @abstractmethod
    def dominating(self) -> PairLoss:
        """A loss that dominates all pairs of neighbours, its own reverse."""

    @abstractmethod
    def log_odds(self) -> float:
        """The loss of two values, this one and its negative, of the pair that attains delta(0), or comes close."""

    @abstractmethod
    def select(self, gaps: Any, width: int, source: Source) -> Any:
        """One index a row, for gaps in steps, int64 of shape (m, candidates), and a scale of `width` steps."""

    def slack(self) -> int:
        """The steps by which two selections on the grid are moved apart, at most, as the noise lies on it too."""
        return 0

    def attains(self) -> bool:
        """Whether `delta` is the supremum over pairs at every epsilon, not just an upper bound."""
        return True

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: epsilon."""
        return self.epsilon

    def pair_loss(self) -> PairLoss:
        """See base. Each level of delta may need a pair of its own, so sums of reports lie between that of one pair and
        that of the dominating loss, which bounds scores chosen after earlier reports as well.
        """
        return EnclosedLoss(pure_loss(self.log_odds()), self.dominating(), largest=self.attains(), either_order=True)

    def replaced_loss(self) -> PairLoss:
        """See base: that of epsilon replaced / sensitivity, as scores are `replaced` apart."""
        if self.replaced is None:
            raise ValueError(
                f"replaced must be stated where a record is replaced by another: how far that moves a score, at most "
                f"{2 * self.sensitivity!r}, as in {repr(self)[:-1]}, replaced=...)"
            )
        farther: Any = self
        return replace(
            farther, epsilon=self.epsilon * (self.replaced / self.sensitivity), sensitivity=self.replaced, replaced=None
        ).pair_loss()

    def scale(self) -> float:
        """2 sensitivity / epsilon, in scores."""
        return 2 * self.sensitivity / self.epsilon

    def log_prob(self, y: Any, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the index y, shape (...), at the scores x, shape (..., candidates); broadcasts."""
        chosen, scores = indices(y, self.candidates), finite("x", x)
        vectors("x", scores, self.candidates, -math.inf, math.inf)
        rows, place = np.unique(scores.reshape(-1, self.candidates), axis=0, return_inverse=True)
        with np.errstate(over="ignore"):  # a gap beyond the range of floats
            gaps = (rows.max(axis=-1, keepdims=True, initial=-math.inf) - rows) / self.scale()
        logs = self.log_law(gaps)[place.reshape(-1)].reshape(scores.shape)
        return np.where(chosen < 0, -np.inf, at_index(chosen, logs))[()]

    def reports(self) -> Sequence[int]:
        """The indices 0 .. candidates - 1."""
        return range(self.candidates)

    def implemented(self, bits: int = 64) -> ScoreGrid:
        """The finite-precision distribution of `sample`: this one at scores rounded down to a grid.

        bits: 2..64, without effect, as all decisions are exact. Raises ValueError for other bits, for an epsilon below
            2**-25, and for a sensitivity outside 2**-500 .. 2**500.
        """
        BITS.check(bits)
        return ScoreGrid(self)


_FINE = 24
"""log2 of the least number of steps in a sensitivity."""
_REACH = 2.0**61
"""Scores lie within this many steps of 0, so that int64 holds the gaps and the noise."""
_MOST_WHOLE = 2.0**52
"""Up to here scores of integer dtypes are exact in float64."""
_FLOAT64 = 8
"""Bytes."""
_LEAST_EPSILON = 2.0**-25
"""Below, a scale would have more than 2**54 steps, the limit of `discrete_laplace`."""


@dataclass(frozen=True)
class ScoreGrid(FinitePrecision):
    """A selection by scores that are rounded down to multiples of a power of two (see the module), then exact.

    Scores must lie within about 2**37 sensitivities of 0 (fewer for an epsilon above 1); ValueError for others.
    """

    mechanism: Any
    adjacency: ClassVar[Adjacency | None] = "add/remove"

    def __post_init__(self) -> None:
        require_moderate("sensitivity", self.mechanism.sensitivity)
        if self.mechanism.epsilon < _LEAST_EPSILON:
            raise ValueError(f"epsilon must be at least 2**-25 to be sampled, got {self.mechanism.epsilon!r}")

    @property
    def any_pair(self) -> bool:
        """See `mechanism`."""
        return self.mechanism.any_pair

    def exponent(self) -> int:
        """log2 of the spacing."""
        return exponent_for(self.mechanism.epsilon, self.mechanism.sensitivity)

    def shift(self) -> int:
        """m: the sensitivity in steps, rounded up, and the mechanism's `slack`."""
        return self._steps_in(self.mechanism.sensitivity)

    def width(self) -> int:
        """t: the scale in steps."""
        return PARTS * math.ceil(2 * self.shift() / (PARTS * Fraction(self.mechanism.epsilon)))

    def law(self) -> Any:
        """The mechanism on the grid, whose scores are in steps. For noise on the grid its probabilities are within 2/t
        nats of the sampler's, and its epsilon and profile are upper bounds.
        """
        replaced = self.mechanism.replaced
        return replace(
            self.mechanism,
            epsilon=2 * self.shift() / self.width(),
            sensitivity=float(self.shift()),
            replaced=None if replaced is None else float(self._steps_in(replaced)),  # at most twice the sensitivity
        )

    def exact_epsilon(self) -> float:
        """2 m / t, nats, at most the mechanism's; for noise on the grid an upper bound."""
        return self.law().exact_epsilon()

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The profile at the implemented epsilon, an upper bound as scores are whole; shape of `epsilon`, nats."""
        return upper_profile(self.pair_loss(), epsilon)

    def pair_loss(self) -> PairLoss:
        """See base: at most the law's, whose pairs may lie between points of the grid."""
        return EnclosedLoss(ZERO_LOSS, self.law().dominating(), either_order=True)

    def replaced_loss(self) -> PairLoss:
        """See base: at most the law's."""
        return EnclosedLoss(ZERO_LOSS, self.law().replaced_loss().sides().upper, either_order=True)

    def worst_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """See `mechanism`; on the grid."""
        first, second = (np.ldexp(np.floor(one), self.exponent()) for one in self.law().worst_pair())
        return first, second

    def log_prob(self, y: Any, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the index y at the scores x, by those of the grid; broadcasts. See `law`."""
        steps = self.steps(array_of("x", x))
        behind = steps - steps.max(axis=-1, keepdims=True)
        return self.law().log_prob(y, behind.astype(np.float64))

    def reports(self) -> Sequence[int]:
        """See `mechanism`."""
        return self.mechanism.reports()

    def draw(self, x: Any, source: Source) -> Any:
        """One index for each vector of scores."""
        xp, n = source.xp, self.mechanism.candidates
        steps = self.steps(x, xp)
        rows = xp.reshape(steps, (-1, n)) if steps.size else xp.zeros((0, n), dtype=xp.int64)
        gaps = xp.max(rows, axis=-1, keepdims=True) - rows
        return xp.reshape(self.mechanism.select(gaps, self.width(), source), tuple(steps.shape[:-1]))

    def steps(self, x: Any, xp: Any = numpy_namespace) -> Any:
        """The scores in steps, rounded down; int64, shape of x. Raises ValueError for scores that are none."""
        return floored(x, self.exponent(), self.mechanism.candidates, xp)

    def _steps_in(self, distance: float) -> int:
        return math.ceil(Fraction(distance) / Fraction(2) ** self.exponent()) + self.mechanism.slack()


def exponent_for(epsilon: float, sensitivity: float) -> int:
    """log2 of a grid's spacing: 2**24 steps or more in a sensitivity, and about 2**25 in 2 sensitivity / epsilon.

    For an epsilon above 2**24 no finer than for that.
    """
    return floor_log2(sensitivity) - _FINE - min(max(floor_log2(epsilon), 0), _FINE)


def floored(x: Any, exponent: int, length: int, xp: Any) -> Any:
    """Real vectors of this length in steps of 2**exponent, rounded down; int64, shape of x.

    Raises ValueError, naming x, for anything else, and for numbers 2**61 steps or more from 0.
    """
    reach = math.ldexp(_REACH, exponent)
    if xp.isdtype(x.dtype, ("real floating", "integral")):
        require_arithmetic("x", x)
        reach = min(reach, _MOST_WHOLE) if xp.isdtype(x.dtype, "integral") else reach
        x = xp.astype(x, xp.float64) if x.dtype.itemsize <= _FLOAT64 else x  # wider ones would be rounded
    return xp.astype(xp.floor(vectors("x", x, length, -reach, reach, xp) * math.ldexp(1.0, -exponent)), xp.int64)


def fades(numerators: Any, t: int, source: Source) -> Any:
    """True with probability e**-(n/t) exactly, for each whole n >= 0; shape (count,).   t: a multiple of 8."""
    xp, part = source.xp, t // PARTS
    outcome = tails(numerators.shape, source) >= numerators // part
    tossing = xp.nonzero(outcome)[0]
    outcome[tossing] = decays(numerators[tossing] % part, t, source)
    return outcome


def below_each(bounds: Any, source: Source) -> Any:
    """A whole number exactly uniform over 0 .. bound - 1, for each bound in 1 .. 2**31; int64, shape (count,)."""
    xp, most = source.xp, 2**62
    drawn, limits = source.below(most, bounds.shape), most - most % bounds
    waiting = xp.nonzero(drawn >= limits)[0]
    while waiting.shape[0]:
        drawn[waiting] = source.below(most, waiting.shape)
        waiting = waiting[drawn[waiting] >= limits[waiting]]
    return drawn % bounds
