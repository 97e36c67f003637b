"""Calibration: the parameter with which a mechanism or a protocol just meets a budget.

Only the upper bounds of epsilon and delta are used, and the returned value is checked, not trusted to the search: it
spends at most the budget. The upper bounds of no value beyond it would, to the tolerance, if they are monotone between
the two given ends; the search checks that at the values it visits, and reports where it fails.

The search keeps a bracket, of which one end meets the budget and the other does not. In ln value and ln(-ln delta) many
small losses and most noises are near a straight line (where delta must be 0, the second is minus ln of the supremum):
the crossing is estimated from the visited values that are nearest to it, by inverse quadratic interpolation or a
secant. A bad estimate only costs time: where three of them have not halved the bracket, the next value halves it. An
estimate that lies next to an end is moved as far from it as the ends may stay apart, so that the bracket closes from
both sides.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any

from ldp_audit.accounting.converted import Converted
from ldp_audit.accounting.privacy_loss import PrivacyLoss, privacy_loss
from ldp_audit.losses.noise_losses import GaussianLoss
from ldp_audit.numerics import as_float, between, log_of_delta, nonnegative, root, shown
from ldp_audit.shown import Shown


@dataclass(frozen=True)
class Calibrated(Shown):
    """A parameter that meets a budget.

    value: the parameter.   spent: its epsilon at the budget's delta, nats, at most the budget's; spent_delta: its delta
    at the budget's epsilon, likewise.   excluded: the nearest value at which an upper bound exceeds the budget, at most
    `tolerance` of itself away (1 for whole numbers); None if both low and high meet it, and so, for a monotone `build`,
    all between.
    loss: the privacy loss at `value`.   notes: remarks for the reader.
    """

    value: float
    spent: float
    spent_delta: float
    excluded: float | None
    tolerance: float
    loss: PrivacyLoss = field(repr=False, compare=False)
    notes: tuple[str, ...] = ()

    @property
    def met_everywhere(self) -> bool:
        """Whether neither end of the range was too much."""
        return self.excluded is None

    def describe(self) -> str:
        """One line for people."""
        end = () if self.excluded is None else (f"at {self.excluded:.10g} the upper bound exceeds it",)
        text = f"{self.value:.10g}: epsilon {self.spent:.9g}, delta {self.spent_delta:.6g} at the budget's epsilon"
        return "; ".join([text, *end, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "value": self.value,
            "spent_epsilon": self.spent,
            "spent_delta": self.spent_delta,
            "excluded": self.excluded,
            "tolerance": self.tolerance,
            "notes": list(self.notes),
        }


def calibrate(
    build: Callable[[Any], Any],
    *,
    epsilon: float,
    delta: float | None = 0.0,
    log_delta: float | None = None,
    low: float | None = None,
    high: float | None = None,
    increasing: bool | None = None,
    tolerance: float = 1e-6,
    whole: bool = False,
    near: float | None = None,
) -> Calibrated:
    """The parameter in [low, high] that spends the most of a budget (epsilon, delta) and does not exceed it.

    build: from a parameter to a `PrivacyLoss`, a mechanism, or anything that `privacy_loss` takes; the larger the
    parameter, the more (increasing=True) or the less (False) it must spend. If that is not given, the ends decide.
    delta: in [0, 1], or log_delta, its natural logarithm, with delta=None.
    low, high: the range, low < high, finite. An end that is not given is found, for parameters > 0 (whole ones >= 0):
    from 1, or from the other end, by factors of 2 and 4, as far as `build` accepts them without ValueError.
    tolerance: how near the returned value must be to one whose upper
    bound exceeds the budget, as a share of it.   whole: the parameter is a whole number, and the next one's does.
    near: about where that is, which saves evaluations at the range's ends; needs `increasing`, and is not trusted.
    Raises ValueError for bad numbers, and where the budget cannot be met in the range; the message has what is spent
    there.
    """
    if not callable(build):
        raise ValueError(f"build must be a function from a parameter to a loss, got {build!r}")
    if near is not None and (increasing is None or math.isnan(as_float(near))):
        raise ValueError(f"near must be a number and needs increasing, got {near!r} and {increasing!r}")
    search = Search(build, nonnegative(epsilon), log_of_delta(delta, log_delta), tolerance, whole)
    if low is None or high is None:
        low, high = search.range(low, high)
    safe, unsafe = search.ordered(low, high, increasing, compare=near is None and not whole)
    if whole and increasing is not None and near is None:
        near = safe  # the far end may be costly to build
    value, excluded = search.found(safe, unsafe, near)
    loss = search.loss(value)
    return Calibrated(
        value=value,
        spent=loss.epsilon(log_delta=search.target),
        spent_delta=loss.delta(search.epsilon),
        excluded=excluded,
        tolerance=1 if whole else tolerance,
        loss=loss,
        notes=search.notes(safe, excluded),
    )


_SOURCE = "Balle, Wang (2018), Theorem 8; Dong, Roth, Su (2022), Corollary 1"
_ENOUGH = 1e3
"""A ln delta lower than this, below the target and again, is cut."""


def gdp_within(epsilon: float, delta: float | None = None, *, log_delta: float | None = None) -> Converted:
    """The largest mu whose Gaussian privacy meets a budget: noise of sensitivity/mu. Exact, rounded down.

    That (epsilon, delta) holds does not make a mechanism mu-GDP; for that see `gdp_of`.
    """
    asked, target = nonnegative(epsilon), log_of_delta(delta, log_delta)
    if target == 0 or math.isinf(asked):
        return Converted.exact(math.inf, _SOURCE)
    if target == -math.inf:
        return Converted.exact(0.0, _SOURCE)

    low = _surely_within(asked, target)
    if low == 0:
        return Converted.lower(0.0, _SOURCE)

    def excess(mu: float) -> float:
        return max(2 * target - _ENOUGH, GaussianLoss(mu).log_delta_bounds(asked)[1]) - target

    while excess(2 * low) <= 0:
        low *= 2
    found = low * root(lambda share: excess(low * share), 1.0, 2.0, xtol=1e-14, rtol=1e-14)
    step = 1e-13
    while excess(found * (1 - step)) > 0:
        step *= 4
    mu = found * (1 - step)
    return Converted.exact(mu, _SOURCE) if mu >= sys.float_info.min else Converted.lower(mu, _SOURCE)


def _surely_within(epsilon: float, target: float) -> float:
    """A mu whose delta is below e**target: delta <= delta(0) <= mu/sqrt(2 pi), and delta <= e**(-x**2/2), x > 0.

    A little less, against the rounding of x for huge mu.
    """
    by_distance = 0.99 * math.sqrt(2 * math.pi) * math.exp(target)
    width = math.sqrt(2) * math.sqrt(-target)
    return (1 - 1e-9) * max(by_distance, epsilon / (width / 2 + math.hypot(width / 2, math.sqrt(epsilon / 2))))


_MOST_STEPS, _DOMAIN = 30, 1e-7
"""How often a range that is not given grows by a factor of 4; and how near to the end of a domain it may stop."""
_SLACK = 1e-9
"""A fall of ln delta that is noted where it should rise."""


@dataclass
class Search:
    """One search: the question, and the spending at the values that were visited.

    build: from a parameter to something with a privacy loss.   epsilon: the budget's, nats.   target: ln of its delta.
    tolerance: in [1e-13, 1); ValueError for anything else.   whole: the parameter is a whole number.
    """

    build: Callable[[Any], Any]
    epsilon: float
    target: float
    tolerance: float
    whole: bool
    spending: dict[float, float] = field(default_factory=dict)
    """At each visited value ln of the upper bound of delta at the budget's epsilon; if delta is 0, the supremum."""
    epsilons: dict[float, float] = field(default_factory=dict)
    """Epsilon at the budget's delta, at the values where it was needed."""
    _heights: dict[float, float] = field(default_factory=dict)
    """Of the values in `spending`, in their order, as far as they were needed."""

    def __post_init__(self) -> None:
        if not 1e-13 <= as_float(self.tolerance) < 1:
            raise ValueError(f"tolerance must lie in [1e-13, 1), got {self.tolerance!r}")

    def loss(self, value: float) -> PrivacyLoss:
        """The privacy loss at this value."""
        return privacy_loss(self.build(value))

    def epsilon_at(self, value: float) -> float:
        """The upper bound of epsilon at the budget's delta, cached."""
        if value not in self.epsilons:
            self.epsilons[value] = self.loss(value).epsilon(log_delta=self.target)
        return self.epsilons[value]

    def meets(self, value: float) -> bool:
        """Whether neither delta nor epsilon exceeds the budget."""
        return self._nearly_meets(value) and self.epsilon_at(value) <= self.epsilon

    def range(self, low: float | None, high: float | None) -> tuple[float, float]:
        """A range around the crossing, or as far as `build` accepts values > 0, with the end that is given.

        From 1, or the given end, it grows to the side where the crossing lies; to both as long as that is not known.
        Raises ValueError where `build` refuses whatever is tried.
        """
        given, name = (low, "low") if high is None else (high, "high")
        if given is None:
            first = self._first()
        else:
            accepted = "a finite number > 0, where the other end is to be found"
            first = between(given, name, accepted, lambda one: 0 < one < math.inf)
            first = int(first) if self.whole and first == math.floor(first) else first
        ends, open_sides = [first, first], [low is None, high is None]
        met = self._nearly_meets(first)
        for step in range(_MOST_STEPS):
            for side, up in enumerate((False, True)):
                ahead = self._accepted(ends[side], 4 if step else 2, up=up) if open_sides[side] else None
                if ahead is None:
                    open_sides[side] = False
                    continue
                before, ends[side] = ends[side], ahead
                if self._nearly_meets(ahead) != met:
                    return (before, ahead) if up else (ahead, before)
                # where it spends more on the way from a value that is too much, the crossing lies on the other side
                change = self.spending[ahead] - self.spending[before]
                if abs(change) > _SLACK:
                    open_sides[side] &= (change > 0) == met
        if len(set(self.spending.values())) == 1:
            raise ValueError(
                f"build must spend more or less as its parameter changes, got the same from {ends[0]:g} to {ends[1]:g}"
            )
        return ends[0], ends[1]

    def _first(self) -> float:
        """The power of 4 nearest to 1 that `build` accepts."""
        refused = None
        for step in range(_MOST_STEPS):
            for value in (1 << 2 * step,) if self.whole else (0.25**step, 4.0**step):
                try:
                    self.loss(value)
                except ValueError as error:
                    refused = refused or error
                else:
                    return value
        raise refused or ValueError(f"build must accept a value, got {self.build!r}")

    def _accepted(self, value: float, factor: int, *, up: bool) -> float | None:
        """A value up to so many times as far from 0, or as near, that `build` accepts; None where its domain ends."""
        if self.whole:
            candidate: float = max(1, factor * value) if up else value // factor
        else:
            candidate = factor * value if up else value / factor
        while abs(candidate - value) > (0 if self.whole else _DOMAIN * value):
            try:
                self.loss(candidate)
            except ValueError:
                candidate = (candidate + value) // 2 + (not up) if self.whole else (candidate + value) / 2
            else:
                return candidate
        return None

    def ordered(self, low: float, high: float, increasing: bool | None, *, compare: bool) -> tuple[float, float]:  # noqa: FBT001
        """The end that spends less, then the other one.

        compare: evaluate both, also where `increasing` is given. Raises ValueError for bad ends, and where the ends
        contradict `increasing`.
        """
        low, high = self._ends(low, high)
        if increasing is not None and not compare:
            return (low, high) if increasing else (high, low)
        more, less = self._compared(low, high)
        if increasing is not None and not (more if increasing else less):
            raise ValueError(
                f"increasing={increasing} but epsilon is {self.epsilon_at(low):.6g} at low={low!r} and "
                f"{self.epsilon_at(high):.6g} at high={high!r}"
            )
        return (low, high) if more and increasing is not False else (high, low)

    def found(self, safe: float, unsafe: float, near: float | None) -> tuple[float, float | None]:
        """A value that meets the budget, and a near one that does not; None if the far end meets it.

        safe, unsafe: the ends of the range.   near: where to begin; by default with the ends.
        Raises ValueError where nothing in the range meets the budget.
        """
        found = self._found(safe, unsafe, near, self._nearly_meets)
        # a value that nearly meets the budget may exceed it by rounding
        return found if self.meets(found[0]) else self._found(safe, unsafe, found[0], self.meets)

    def notes(self, safe_end: float, excluded: float | None) -> tuple[str, ...]:
        """Remarks on the values that were visited."""
        found = []
        if excluded is None:
            found.append("both ends of the range meet the budget: the one that spends more is returned")
        elif self.epsilon_at(excluded) <= self.epsilon * (1 + 1e-12):
            found.append(f"{excluded!r} exceeds the budget by rounding alone")
        visited = sorted(self.spending)
        if safe_end >= visited[-1]:
            visited.reverse()
        spent = [self.spending[value] for value in visited]
        if any(b < a - _SLACK * max(1.0, abs(a)) for a, b in pairwise(spent)):
            found.append("the spending is not monotone at the values visited: others may meet the budget too")
        return tuple(found)

    def _nearly_meets(self, value: float) -> bool:
        """Whether delta does not exceed the budget, or the supremum where that is 0: epsilon then hardly does."""
        if value not in self.spending:
            loss = self.loss(value)
            pure = self.target == -math.inf
            self.spending[value] = loss.supremum() if pure else loss.log_delta_bounds(self.epsilon)[1]
        return self.spending[value] <= (self.epsilon if self.target == -math.inf else self.target)

    def _height(self, value: float) -> float:
        """A function that falls with the spending and is 0 at the budget, near a straight line in ln value."""
        if self.target == -math.inf:
            return _log(self.epsilon) - _log(self.spending[value])
        return _log(-self.spending[value]) - _log(-self.target)

    def _steps(self, safe: float, unsafe: float | None = None) -> Steps:
        """The bracket and the heights of the visited values."""
        for value in islice(self.spending, len(self._heights), None):
            self._heights[value] = self._height(value)
        return Steps(dict(self._heights), safe, unsafe, self.tolerance, self.whole)

    def _found(
        self, safe: float, unsafe: float, near: float | None, meets: Callable[[float], bool]
    ) -> tuple[float, float | None]:
        """See `found`."""
        inside, outside = self._bracket(safe, unsafe, near, meets)
        if outside is None:
            return inside, None
        steps = self._steps(inside, outside)
        while (between := steps.between()) is not None:
            met = meets(between)
            steps.add(between, self._height(between), safe=met)
        return steps.safe, steps.unsafe

    def _bracket(
        self, safe: float, unsafe: float, near: float | None, meets: Callable[[float], bool]
    ) -> tuple[float, float | None]:
        """A value that meets the budget, and another one that does not; None if the far end meets it."""
        here = safe if near is None else min(max(near, min(safe, unsafe)), max(safe, unsafe))
        here = int(here) if self.whole else float(here)
        met = meets(here)
        end = unsafe if met else safe
        while here != end:
            ahead = end if near is None else self._steps(here).ahead(here, end)
            if meets(ahead) != met:
                return (here, ahead) if met else (ahead, here)
            here = ahead
        if not met:
            raise ValueError(self._refusal(safe, *sorted((safe, unsafe))))
        return here, None

    def _refusal(self, safe: float, low: float, high: float) -> str:
        """Why nothing in the range meets the budget."""
        loss = self.loss(safe)
        return (
            f"the budget epsilon={self.epsilon:g}, delta={_exponential(self.target)} cannot be met for values from "
            f"{low!r} to {high!r}: even {safe!r} spends epsilon {self.epsilon_at(safe):.6g} at that delta, and delta "
            f"{_exponential(loss.log_delta_bounds(self.epsilon)[1])} at that epsilon"
        )

    def _ends(self, low: float, high: float) -> tuple[float, float]:
        for name, end in (("low", low), ("high", high)):
            if not math.isfinite(as_float(end)):
                raise ValueError(f"{name} must be a finite number, got {shown(end)}")
            if self.whole and end != math.floor(end):
                raise ValueError(f"{name} must be a whole number, got {end!r}")
        if not low < high:
            raise ValueError(f"low must be below high, got low={low!r}, high={high!r}")
        return (int(low), int(high)) if self.whole else (float(low), float(high))

    def _compared(self, low: float, high: float) -> tuple[bool, bool]:
        """Whether the upper end spends at least as much as the lower one, and whether at most as much."""
        for end in (low, high):
            self._nearly_meets(end)
        first, second = self.spending[low], self.spending[high]
        if first == second:
            first, second = self.epsilon_at(low), self.epsilon_at(high)
        return second >= first, second <= first


def _log(size: float) -> float:
    """ln of a number >= 0, also of 0 and of infinity."""
    return math.log(size) if size > 0 else -math.inf


def _exponential(log: float) -> str:
    """A delta for people, from its logarithm."""
    return f"{math.exp(log):.6g}" if log > -690 or log == -math.inf else f"e^{log:.6g}"


_MOST = math.log(sys.float_info.max)
_SMALLEST = 1e-300
"""Positive values below it are not distinguished."""
_CLOSE, _PATIENCE = 0.9, 3
"""How near to an end the next value may lie, as a share of the tolerance; and how many estimates may be in vain."""
_NEAR, _BEYOND, _SHORT, _FAR, _FURTHER = 0.5, 1.5, 0.7, math.log(64), 1.1
"""The first step: _BEYOND times the height where that is below _NEAR, else _SHORT times the height, at most _FAR; the
next steps go _FURTHER than a secant."""


@dataclass
class Steps:
    """The search's knowledge of the crossing.

    heights: of the values that were visited, >= 0 on the safe side.   safe, unsafe: the nearest values around the
    crossing; None while the second is not known.   tolerance: how far apart they may stay, as a share of either.
    whole: values are whole numbers, and may stay 1 apart.
    """

    heights: dict[float, float]
    safe: float
    unsafe: float | None
    tolerance: float
    whole: bool
    _widths: list[float] = field(default_factory=list)
    _outside: int = 0

    def ahead(self, here: float, end: float) -> float:
        """The next value on the way to an end of the range, about at the crossing or a little behind it."""
        way = 1 if end > here else -1
        if here * end <= 0:
            return here + way * max(1, abs(here) // 2) if self.whole else end
        step = self._step(here, math.copysign(1, abs(end) - abs(here)))
        next_one = here * math.exp(step)
        if self.whole:
            next_one = here + way * max(1, abs(round(next_one - here)))
        return next_one if way * (end - next_one) > 0 else end

    def between(self) -> float | None:
        """A value between the two; None where they are near enough."""
        safe, unsafe = self.safe, self.safe if self.unsafe is None else self.unsafe
        apart, largest = abs(safe - unsafe), max(abs(safe), abs(unsafe))
        if self.whole and apart <= 1:
            return None
        if not self.whole and (apart <= self.tolerance * min(abs(safe), abs(unsafe)) or largest <= _SMALLEST):
            return None
        middle = self._middle(safe, unsafe)
        if middle in (safe, unsafe):
            return None
        if safe * unsafe <= 0:
            return middle
        self._widths.append(abs(math.log(safe / unsafe)))
        stalled = len(self._widths) > _PATIENCE and self._widths[-1] > self._widths[-1 - _PATIENCE] / 2
        guess = None if stalled else self._crossing()
        return middle if guess is None else self._inside(_value(guess, safe), middle)

    def add(self, value: float, height: float, *, safe: bool) -> None:
        """Record a value between the two."""
        self.heights[value] = height
        if safe:
            self.safe = value
        else:
            self.unsafe = value

    def _middle(self, safe: float, unsafe: float) -> float:
        """The middle of the two, in ln value if they are far apart."""
        if self.whole:
            return (safe + unsafe) // 2
        small, large = sorted((abs(safe), abs(unsafe)))
        if safe * unsafe < 0 or large <= 4 * small:
            return (safe + unsafe) / 2
        return math.copysign(math.sqrt(small) * math.sqrt(large) if small else large / 1024, safe + unsafe)

    def _inside(self, guess: float, middle: float) -> float:
        """The guess, but no nearer to an end than the ends may stay apart.

        For a guess beyond an end, in turn the middle, and the geometric mean of the least and the whole distance to
        that end: the function may change fast there.
        """
        low, high = sorted((self.safe, self.safe if self.unsafe is None else self.unsafe))
        least = 1.0 if self.whole else _CLOSE * self.tolerance * min(abs(low), abs(high))
        if not low - least <= guess <= high + least:
            self._outside += 1
            if self._outside % 2 == 0:
                return middle
            least = math.sqrt(least * (high - low))
        inside = min(max(guess, low + least), high - least)
        return min(max(round(inside), low + 1), high - 1) if self.whole else inside

    def _step(self, here: float, way: float) -> float:
        """How far to go from a visited value, in ln value; way: 1 or -1."""
        height = abs(self.heights[here])
        if not math.isfinite(height):
            return way * math.log(2)
        crossing = self._crossing()
        if crossing is None:
            far = _BEYOND * height if height < _NEAR else _SHORT * height
        else:
            far = _FURTHER * way * (crossing - math.log(abs(here)))
        least = _CLOSE * self.tolerance
        return way * min(max(far if far > 0 else math.log(2), least), _FAR)

    def _crossing(self) -> float | None:
        """About ln |value| where the height is 0, from the visited values whose heights are next to it."""
        finite = [
            (math.log(abs(value)), height)
            for value, height in self.heights.items()
            if value * self.safe > 0 and math.isfinite(height)
        ]
        points = sorted(finite, key=lambda point: abs(point[1]))[:3]
        heights = {height for _, height in points}
        if len(heights) < 2 or len(heights) < len(points):
            return None
        found = sum(
            place * math.prod(other / (other - height) for other in heights if other != height)
            for place, height in points
        )
        return found if math.isfinite(found) else None


def _value(log: float, sign: float) -> float:
    """The value with this ln and sign; the largest float for more."""
    return math.copysign(math.exp(log) if log < _MOST else sys.float_info.max, sign)
