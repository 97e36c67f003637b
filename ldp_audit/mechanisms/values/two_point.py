"""The two-point mechanism: Duchi, Jordan and Wainwright's one-dimensional report, moved and scaled.

Definition, with t = e**epsilon and A = (t + 1) / (t - 1): an input w in [c - r, c + r] is reported as

    c + r A   with probability  ((w - c)(t - 1) + r (t + 1)) / (2 r (t + 1)),
    c - r A   otherwise.

The sampler compares a word of `bits` bits with a threshold. At the lower endpoint n words lead to the upper report, n /
2**bits being 1/(t + 1) rounded up, and at the upper endpoint all but n; in between the threshold is interpolated and
rounded down. Probabilities lie in [n, 2**bits - n] / 2**bits, so the implemented epsilon, ln((2**bits - n) / n), is at
most the claimed one.

Source: LDP-FL (Sun, Qian, Chen, IJCAI 2021), eq. (2); Duchi et al., JASA 113 (2018), for c = 0, r = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.mechanisms.blanket import Blanket
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.finite_precision import WholeWords
from ldp_audit.mechanisms.inputs import array_of, as_reports, clip, in_interval, numbers_of, report_dtype
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.mechanisms.mechanism import FamilyExample, Losses, Mechanism, Parameter
from ldp_audit.mechanisms.randomness import NumpySource, Source, rarer_words
from ldp_audit.mechanisms.short_words import SHORT, Draw, TwoReports
from ldp_audit.mechanisms.variable import EPSILON, T, Variable
from ldp_audit.numerics import log_ratio

CENTER = Variable("c", -oo, oo)
RADIUS = Variable("r", 0, oo, open="left")
WEIGHT = Variable("w", CENTER - RADIUS, CENTER + RADIUS)

A = (T + 1) / (T - 1)
"""Reports are c + r A and c - r A."""

TWO_POINT = SymbolicChannel(
    "two-point mechanism",
    inputs=WEIGHT,
    public=(CENTER, RADIUS),
    atoms=[
        (CENTER + RADIUS * A, ((WEIGHT - CENTER) * (T - 1) + RADIUS * (T + 1)) / (2 * RADIUS * (T + 1))),
        (CENTER - RADIUS * A, (-(WEIGHT - CENTER) * (T - 1) + RADIUS * (T + 1)) / (2 * RADIUS * (T + 1))),
    ],
)


@dataclass(frozen=True)
class TwoPoint(Mechanism):
    """LDP-FL's eq. (2): report one of two values, with the input as their mean.

    epsilon: nats, > 0; infinity is accepted and reports center +- radius.
    center: finite.   radius: > 0, finite. Inputs lie in [center - radius, center + radius].
    Raises ValueError for anything else.
    """

    epsilon: float
    center: float = 0.0
    radius: float = 1.0

    parameters = (
        Parameter("epsilon", EPSILON, typical=(0.1, 10.0), infinite=True),
        Parameter("center", CENTER, typical=(-2.0, 2.0)),
        Parameter("radius", RADIUS, typical=(0.01, 3.0)),
    )
    example = FamilyExample(
        "TwoPoint(epsilon=1)",
        "w: the input; c, r: center and radius of its range; t = e^epsilon",
        worst=((0, {"w": "upper"}), (0, {"w": "lower"})),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.domain()
        if not (low < high and math.isfinite(high - low)):
            raise ValueError(
                f"center and radius must give an interval of floats, got center={self.center!r}, radius={self.radius!r}"
            )

    @staticmethod
    def symbolic() -> SymbolicChannel:
        """The definition, in w, c, r and t = e**epsilon."""
        return TWO_POINT

    def domain(self) -> tuple[float, float]:
        """The range of inputs, as computed in floating point."""
        return self.center - self.radius, self.center + self.radius

    def clip(self, x: ArrayLike) -> NDArray:
        """The inputs clipped to the range, as in LDP-FL's Section 5. Shape and dtype of x."""
        return clip(x, *self.domain())

    def outputs(self) -> tuple[float, float]:
        """The two reports, the lower one first: center -+ radius A, with A = 1 / tanh(epsilon / 2)."""
        reach = self.radius / math.tanh(self.epsilon / 2)
        return self.center - reach, self.center + reach

    def losses(self) -> Losses:
        """epsilon, with probability t / (t + 1), for every center and radius (LDP-FL, Theorem 1)."""
        return Losses([self.epsilon], [-math.log1p(math.exp(-self.epsilon))])

    def blanket(self) -> Blanket:
        """See base; reports of inputs between the ends have mixtures of their laws."""
        found = Blanket.of_two_levels(self.epsilon, 0.0, 1.0, 0.0)
        return replace(found, laws=np.append(found.laws, [[0.5, 0.5]], axis=0))

    def responses(self) -> int:
        """See base."""
        return 2

    def worst_pair(self) -> tuple[float, float]:
        """The two endpoints of the range, which attain exact_epsilon() and delta()."""
        low, high = self.domain()
        return high, low

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y at the input x, nats; broadcasts; -inf unless y is one of the reports."""
        y, (above, below) = numbers_of("y", y), self._shares(x)
        low, high = _apart(np.asarray(self.outputs(), dtype=report_dtype(y)))
        rare, common = expit(-self.epsilon), expit(self.epsilon)
        plus, minus = common * above + rare * below, rare * above + common * below
        with np.errstate(divide="ignore"):  # probabilities near 1 via log1p of their complement
            log_plus = np.where(plus > minus, np.log1p(-np.minimum(minus, 0.5)), np.log(plus))
            log_minus = np.where(minus > plus, np.log1p(-np.minimum(plus, 0.5)), np.log(minus))
        return np.where(y == high, log_plus, np.where(y == low, log_minus, -np.inf))[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """E[report | x] = x: no bias (LDP-FL, Lemma 1). Shape of x."""
        self._shares(x)
        return numbers_of("x", x).astype(np.float64)[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Var[report | x] = r**2 A**2 - (x - c)**2, stably (LDP-FL's Lemma 2 prints the value at x = c). Shape of x."""
        above, below = self._shares(x)
        half = self.epsilon / 2
        excess = 0.0 if half > 350 else self.radius / math.sinh(half)  # r**2 (A**2 - 1) = (r / sinh)**2
        return (excess * excess + 4 * (self.radius * self.radius) * above * below)[()]

    def reports(self) -> tuple[float, float]:
        """See `outputs`."""
        return self.outputs()

    def implemented(self, bits: int = 64) -> FiniteTwoPoint:
        """The finite-precision distribution that `sample` draws from. ValueError unless bits are 2..64."""
        return FiniteTwoPoint(self, bits)

    def _shares(self, x: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The distances of x from the lower and from the upper endpoint (of `domain()`), as fractions of the range."""
        low, high = self.domain()
        wide = in_interval("x", array_of("x", x), low, high).astype(np.float64)
        return (wide - low) / (high - low), (high - wide) / (high - low)


def _apart(reports: Any) -> tuple[Any, Any]:
    """The two reports of an array of two. ValueError where its dtype rounds them to one."""
    low, high = reports
    if bool(low == high):
        raise ValueError(
            f"x and y must have a wider dtype than {reports.dtype}, in which both reports are {float(low)!r}"
        )
    return low, high


@dataclass(frozen=True)
class FiniteTwoPoint(WholeWords):
    """The finite-precision two-point mechanism, by an integer threshold for each input."""

    mechanism: TwoPoint

    def rarest(self) -> int:
        """n, the number of words for the upper report at the lower endpoint; half of all where no fewer are safe."""
        return rarer_words(self.mechanism.epsilon, total=2**self.bits) or 2 ** (self.bits - 1)

    def losses(self) -> Losses:
        """ln((2**bits - n) / n), with probability (2**bits - n) / 2**bits."""
        common, rare = 2**self.bits - self.rarest(), self.rarest()
        return Losses([log_ratio(common, rare)], [log_ratio(common, 2**self.bits)])

    def outputs(self) -> tuple[float, float]:
        """See `mechanism`."""
        return self.mechanism.outputs()

    def log_prob(self, y: ArrayLike, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y at the input x, from counts of words; broadcasts; -inf off the support."""
        y, (upper, lower) = numbers_of("y", y), self._shares(x)
        low, high = _apart(np.asarray(self.outputs(), dtype=report_dtype(y)))
        with np.errstate(divide="ignore"):
            return np.where(y == high, np.log(upper), np.where(y == low, np.log(lower), -np.inf))[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """E[report | x]: x to within a few 2**-bits of the distance of the reports. Shape of x."""
        low, high = self.outputs()
        return (low + (high - low) * self._shares(x)[0])[()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Var[report | x]. Shape of x."""
        (low, high), (upper, lower) = self.outputs(), self._shares(x)
        return ((high - low) ** 2 * upper * lower)[()]

    def draw(self, x: Any, source: Source) -> Any:
        """One report for each input."""
        xp = source.xp
        inside = in_interval("x", x, *self.mechanism.domain(), xp)
        low, high = _apart(as_reports(source.constant(self.outputs(), xp.float64), inside, xp))
        return xp.where(source.words(inside.shape, self.bits) < self._thresholds(inside, xp), high, low)

    def fits_blocks(self, dtype: Any) -> bool:
        """Whether `blocks` supports this dtype.

        It requires 64-bit words, a center not much larger than the radius, and a threshold scale within the normal
        range of the dtype, which excludes radii below about 1e-34 in float32 and 2e-304 in float64.
        """
        if dtype not in (np.float32, np.float64) or self.bits != 64:
            return False
        limits = np.finfo(dtype)
        return self._error(np.dtype(dtype)) < 0.25 and float(limits.tiny) <= self._scale() <= float(limits.max)

    def blocks(self, dtype: np.dtype, size: int, source: NumpySource) -> Draw:
        """Draws blocks of up to `size` inputs of this dtype, by short words."""
        low, high = _apart(as_reports(np.array(self.outputs()), np.empty(0, dtype)))
        fast = TwoReports(
            domain=self.mechanism.domain(),
            low=low,
            high=high,
            center=self.mechanism.center,
            scale=self._scale(),
            error=self._error(dtype),
            thresholds=lambda x: self._thresholds(x, source.xp),
        )
        return fast.blocks(dtype, size, source)

    def _shares(self, x: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The probabilities of the upper and the lower report, from exact counts."""
        inside = in_interval("x", array_of("x", x), *self.mechanism.domain())
        signed, half = self._thresholds(inside, NumpySource.xp).view(np.uint64), np.uint64(2 ** (self.bits - 1))
        with np.errstate(over="ignore"):  # unsigned sums wrap around to the counts
            return (signed + half) / 2.0**self.bits, (half - signed) / 2.0**self.bits

    def _thresholds(self, x: Any, xp: Any) -> Any:
        """Signed words below this lead to the upper report; within +-(2**(bits-1) - n)."""
        low, high = self.mechanism.domain()
        reach = 2 ** (self.bits - 1) - self.rarest()
        wide = xp.astype(x, xp.float64)
        position = ((wide - low) - (high - wide)) / (high - low)  # exactly -1 and 1 at the endpoints
        safe = float(reach) if int(float(reach)) <= reach else float(np.nextafter(float(reach), 0.0))
        inner = xp.astype(xp.clip(xp.floor(position * float(reach)), -safe, safe), xp.int64)
        extremes = xp.where(wide >= high, xp.full_like(inner, reach), xp.full_like(inner, -reach))
        return xp.where((wide >= high) | (wide <= low), extremes, inner)

    def _scale(self) -> float:
        """The derivative of the threshold in the input, in units of 2**48; infinite for the smallest radii."""
        return (2**63 - self.rarest()) / SHORT / self.mechanism.radius

    def _error(self, dtype: np.dtype) -> float:
        """A bound on the rounding error of a threshold computed in this dtype, in units of 2**48."""
        m = self.mechanism
        return 2.0**16 * float(np.finfo(dtype).eps) * (4 + 2 * abs(m.center) / m.radius)
