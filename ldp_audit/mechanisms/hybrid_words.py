"""The hybrid mechanism as it is sampled: a mixture of PM on its grid and of the two points, by whole numbers of words.

Of the 2**bits words that say which of the two reports, alpha 2**bits, to the nearest, lead to PM. That number is the
same for every input, so rounding it costs no privacy, and the mixture is known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.blocks import Draw, by_blocks
from ldp_audit.mechanisms.piecewise_grid import PiecewiseGrid
from ldp_audit.mechanisms.randomness import BITS, NumpySource, log_ratio, occurs, source_of
from ldp_audit.mechanisms.two_point import TwoPoint
from ldp_audit.mechanisms.two_point_words import TwoPointWords

if TYPE_CHECKING:
    from ldp_audit.mechanisms.hybrid import Hybrid


@dataclass(frozen=True)
class HybridWords:
    """What `Hybrid.sample` draws from, exactly.

    mechanism: whose probabilities are rounded.   bits: of a word, 2..64. Raises ValueError for anything else.
    """

    mechanism: Hybrid
    bits: int = 64

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", BITS.check(self.bits))

    def piecewise(self) -> PiecewiseGrid:
        """PM as it is sampled."""
        return PiecewiseGrid.of(self.mechanism.epsilon, self.bits)

    def points(self) -> TwoPointWords:
        """The two-point mechanism as it is sampled."""
        return TwoPoint(self.mechanism.epsilon).implemented(self.bits)

    def piecewise_words(self) -> int:
        """How many of the 2**bits words lead to PM; the others lead to the two points."""
        return round(Fraction(self.mechanism.mixing()) * 2**self.bits)

    def exact_epsilon(self) -> float:
        """The implemented epsilon, nats: the larger of the two parts', at most the mechanism's.

        The points are no cells of the grid, whose spacing is rational while theirs is not. Should a dtype round the two
        to one number, that report's ratio only falls.
        """
        return max(part.exact_epsilon() for part, _ in self._parts())

    def worst_pair(self) -> tuple[float, float]:
        """The two ends."""
        return self.mechanism.worst_pair()

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The parts' divergences, mixed: the two ends attain both; shape of `epsilon`, nats, >= 0."""
        return np.asarray(sum(float(share) * part.delta(epsilon) for part, share in self._parts()))[()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y at the input x, nats; broadcasts; -inf where y is no output of its dtype.

        Raises ValueError for a dtype of y that cannot tell PM's outputs apart.
        """
        logs = [log_ratio(*share.as_integer_ratio()) + part.log_prob(y, x) for part, share in self._parts()]
        return np.logaddexp.reduce(np.asarray(logs), axis=0)[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """E[report | x]: x to within what the parts leave. Shape of x."""
        return np.asarray(sum(float(share) * part.mean(x) for part, share in self._parts()))[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Var[report | x]: the parts', mixed, and that of their means. Shape of x."""
        within = sum(float(share) * part.variance(x) for part, share in self._parts())
        mean = self.mean(x)
        return np.asarray(within + sum(float(share) * (part.mean(x) - mean) ** 2 for part, share in self._parts()))[()]

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One report per input; see `Hybrid.sample`."""
        parts = [part for part, _ in self._parts()]
        if len(parts) == 1:
            return parts[0].sample(x, rng=rng)
        source, values = source_of(rng), source_of(rng).array("x", x)
        if isinstance(source, NumpySource) and all(part.fits_blocks(values.dtype) for part in parts):
            return by_blocks(values, lambda size: self.blocks(values.dtype, size, source))
        first, second = (part.sample(values, rng=rng) for part in parts)
        return source.xp.where(
            occurs(source.words(values.shape, self.bits), self.piecewise_words(), self.bits), first, second
        )

    def blocks(self, dtype: np.dtype, size: int, source: NumpySource) -> Draw:
        """Draws blocks of at most so many inputs of this dtype: both reports, and 16 bits to choose between them.

        Where these begin the first word that leads to the points, the other 48 bits are drawn too.
        """
        piecewise, points = (part.blocks(dtype, size, source) for part, _ in self._parts())
        first, integer = self.piecewise_words() - 2**63, np.dtype(f"i{dtype.itemsize}")
        others, masks, chosen = np.empty(size, dtype), np.empty(size, integer), np.empty(size, np.bool_)

        def draw(x: NDArray, out: NDArray) -> None:
            piecewise(x, out)
            points(x, others[: x.size])
            short, choice = source.short_words(x.size), chosen[: x.size]
            np.greater(short, np.int16(first >> 48), out=choice)
            unsettled = np.flatnonzero(short == np.int16(first >> 48))
            if unsettled.size:
                choice[unsettled] = source.lengthened(short, unsettled) >= first
            mask, other, report = masks[: x.size], others[: x.size].view(integer), out.view(integer)
            np.copyto(mask, np.negative(choice.view(np.int8)))  # all ones for the points
            np.bitwise_xor(other, report, out=other)
            np.bitwise_and(other, mask, out=other)
            np.bitwise_xor(report, other, out=report)

        return draw

    def _parts(self) -> list[tuple[PiecewiseGrid | TwoPointWords, Fraction]]:
        """PM and the two points, each with its share, if it has any."""
        share = Fraction(self.piecewise_words(), 2**self.bits)
        parts = [(self.piecewise(), share), (self.points(), 1 - share)]
        return [(part, share) for part, share in parts if share]
