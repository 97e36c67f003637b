"""The two-point mechanism as it is sampled: 2**bits equally likely words, compared with a whole threshold.

At the lower end of the range n words lead to the upper report, n / 2**bits being 1/(t + 1) rounded up; at the upper
end all but n; in between the threshold is interpolated and rounded down. Every probability lies in [n, 2**bits - n] /
2**bits, so the implemented epsilon, ln((2**bits - n) / n), is at most the claimed one.

Numpy arrays and 64-bit words take a shorter way to the same law: the first 16 bits of a word decide, except where they
leave the comparison open (about once in 2**15), and only then are the other 48 drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.mechanisms.blocks import Draw, by_blocks
from ldp_audit.mechanisms.inputs import array_of, as_reports, in_interval, numbers_of, report_dtype
from ldp_audit.mechanisms.log_space import excess, levels
from ldp_audit.mechanisms.randomness import BITS, NumpySource, log_ratio, rarer_words, source_of

if TYPE_CHECKING:
    from ldp_audit.mechanisms.two_point import TwoPoint


@dataclass(frozen=True)
class TwoPointWords:
    """What `TwoPoint.sample` draws from, exactly.

    mechanism: whose probabilities are rounded.   bits: of a word, 2..64. Raises ValueError for anything else.
    """

    mechanism: TwoPoint
    bits: int = 64

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", BITS.check(self.bits))

    def rarest(self) -> int:
        """n: the words that lead to the upper report at the lower end; half of them where no fewer are safe."""
        return rarer_words(self.mechanism.epsilon, total=2**self.bits) or 2 ** (self.bits - 1)

    def exact_epsilon(self) -> float:
        """The implemented epsilon, nats: at most the mechanism's."""
        return log_ratio(2**self.bits - self.rarest(), self.rarest())

    def worst_pair(self) -> tuple[float, float]:
        """The ends of the range."""
        return self.mechanism.worst_pair()

    def outputs(self) -> tuple[float, float]:
        """The two reports, those of the mechanism."""
        return self.mechanism.outputs()

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """(2**bits - n - e**epsilon n)_+ / 2**bits; shape of `epsilon`, nats, >= 0."""
        common = 1 - self.rarest() / 2**self.bits
        return (excess(levels(epsilon), self.exact_epsilon()) * common)[()]

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y at the input x, from the counts of words; broadcasts; -inf elsewhere."""
        y, (upper, lower) = numbers_of("y", y), self._shares(x)
        low, high = (np.asarray(value, dtype=report_dtype(y)) for value in self.outputs())
        with np.errstate(divide="ignore"):
            return np.where(y == high, np.log(upper), np.where(y == low, np.log(lower), -np.inf))[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """E[report | x]: x to within a few 2**-bits of the reports' distance. Shape of x."""
        low, high = self.outputs()
        return (low + (high - low) * self._shares(x)[0])[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Var[report | x]. Shape of x."""
        (low, high), (upper, lower) = self.outputs(), self._shares(x)
        return ((high - low) ** 2 * upper * lower)[()]

    def sample(self, x: ArrayLike, *, rng: Any) -> Any:
        """One report per input; see `TwoPoint.sample`."""
        source = source_of(rng)
        values = source.array("x", x)
        if isinstance(source, NumpySource) and self.fits_blocks(values.dtype):
            return self._sample_by_short_words(values, source)
        xp = source.xp
        inside = in_interval("x", values, *self.mechanism.domain(), xp)
        low, high = as_reports(source.constant(self.outputs(), xp.float64), inside, xp)
        return xp.where(source.words(inside.shape, self.bits) < self._thresholds(inside, xp), high, low)

    def fits_blocks(self, dtype: Any) -> bool:
        """Whether `blocks` can draw reports of this dtype.

        It takes words of 64 bits, a center that does not dwarf the radius, and a scale that the dtype holds with all
        its digits: below a radius of about 1e-34 in float32, or 2e-304 in float64, it would overflow, and the input
        alone would settle the report.
        """
        if dtype not in (np.float32, np.float64) or self.bits != 64:
            return False
        limits = np.finfo(dtype)
        return self._error(np.dtype(dtype)) < 0.25 and float(limits.tiny) <= self._scale() <= float(limits.max)

    def blocks(self, dtype: np.dtype, size: int, source: NumpySource) -> Draw:
        """Draws blocks of at most so many inputs of this dtype, by short words.

        In units of 2**48: a threshold less the short word, less 1/2, is positive where the upper report is due.
        Within half a unit of 0, and the rounding error, the short word leaves that open.
        """
        m, kind, integer = self.mechanism, dtype.type, np.dtype(f"i{dtype.itemsize}")
        low, high = as_reports(np.array(self.outputs()), np.empty(0, dtype)).view(integer)
        sign, opposite = 8 * dtype.itemsize - 1, low ^ high == np.iinfo(integer).min
        scale = self._scale()
        offset, open_within = kind(m.center * scale + 0.5), kind(0.5 + self._error(dtype))
        scratch, ends = np.empty(size, dtype), m.domain()

        def draw(x: NDArray, margin: NDArray) -> None:
            if not (x.min() >= ends[0] and x.max() <= ends[1]):
                in_interval("x", x, *ends)
            free, short = scratch[: x.size], source.short_words(x.size)
            np.copyto(free, short)
            np.multiply(x, kind(scale), out=margin)
            np.subtract(margin, offset, out=margin)
            np.subtract(margin, free, out=margin)
            unsettled = np.flatnonzero(np.abs(margin, out=free) <= open_within)
            if unsettled.size:
                words = source.lengthened(short, unsettled)
                margin[unsettled] = np.where(words < self._thresholds(x[unsettled], source.xp), 1.0, -1.0)
            bits = margin.view(integer)
            if not opposite:  # reports that differ in more than the sign bit, which is set where the lower one is due
                np.right_shift(bits, sign, out=bits)
            np.bitwise_and(bits, low ^ high, out=bits)
            np.bitwise_xor(bits, high, out=bits)

        return draw

    def _shares(self, x: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The probabilities of the upper and the lower report, from exact counts."""
        inside = in_interval("x", array_of("x", x), *self.mechanism.domain())
        signed, half = self._thresholds(inside, NumpySource.xp).view(np.uint64), np.uint64(2 ** (self.bits - 1))
        with np.errstate(over="ignore"):  # unsigned sums wrap around to the counts
            return (signed + half) / 2.0**self.bits, (half - signed) / 2.0**self.bits

    def _thresholds(self, x: Any, xp: Any) -> Any:
        """Signed words below this lead to the upper report; within +-(2**(bits-1) - n) by construction."""
        low, high = self.mechanism.domain()
        reach = 2 ** (self.bits - 1) - self.rarest()
        wide = xp.astype(x, xp.float64)
        position = ((wide - low) - (high - wide)) / (high - low)  # -1 .. 1, exactly so at the ends
        safe = float(reach) if int(float(reach)) <= reach else float(np.nextafter(float(reach), 0.0))
        inner = xp.astype(xp.clip(xp.floor(position * float(reach)), -safe, safe), xp.int64)
        ends = xp.where(wide >= high, xp.full_like(inner, reach), xp.full_like(inner, -reach))
        return xp.where((wide >= high) | (wide <= low), ends, inner)

    def _scale(self) -> float:
        """How far the threshold moves, in units of 2**48, as the input moves by 1; infinite for the tiniest radii."""
        return (2**63 - self.rarest()) / 2**48 / self.mechanism.radius

    def _error(self, dtype: np.dtype) -> float:
        """A bound on the rounding error of a threshold in units of 2**48, computed in this dtype."""
        m = self.mechanism
        return 2.0**16 * float(np.finfo(dtype).eps) * (4 + 2 * abs(m.center) / m.radius)

    def _sample_by_short_words(self, x: NDArray, source: NumpySource) -> NDArray:
        return by_blocks(x, lambda size: self.blocks(x.dtype, size, source))
