"""The privacy loss of a mechanism and of a composition: its profile, as numbers and as tables, and its epsilon.

All bounds are certified.

Composition. The losses of independent reports add up, and a sum of dominating losses dominates; also where each
mechanism is chosen after the reports before it, as long as each one's pair dominates every choice (Zhu, Dong, Wang,
AISTATS 2022, Theorem 10). `losses/composition.py` chooses the method that adds them up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.accounting.converted import plain
from ldp_audit.accounting.level_search import LevelSearch
from ldp_audit.accounting.trade_off import TradeOffBounds, trade_off_bounds
from ldp_audit.figure import Panel, Series, plotted
from ldp_audit.losses.composition import composed
from ldp_audit.losses.grid_loss import check_width
from ldp_audit.losses.grid_plan import WIDTH
from ldp_audit.losses.hulls import HullLoss, known_bound
from ldp_audit.losses.loss import PairLoss, side
from ldp_audit.mechanisms.inputs import numbers_of
from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.mechanism import AdditiveNoise, Adjacency, Mechanism, pair_loss_of
from ldp_audit.numerics import between, exp_upwards, is_number, listed, log_of_delta, nonnegative, shown, whole
from ldp_audit.shown import Shown

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class PrivacyLoss:
    """The privacy loss between neighbours; its delta is the larger of the two directions' hockey-stick divergences.

    directions: one dominating pair each way; a single one where the relation is symmetric.
    assumptions: what the numbers rest on, in words.
    adjacency: how neighbours differ; None for any two inputs, as in local privacy.
    of: what was composed, in words.
    Raises ValueError where there is no direction, and for another adjacency.

    Every method that takes an epsilon or a delta takes an array of them as well, and returns arrays of its shape.
    """

    directions: tuple[PairLoss, ...]
    assumptions: tuple[str, ...] = ()
    adjacency: Adjacency | None = None
    of: str = field(default="a privacy loss", compare=False)

    def __post_init__(self) -> None:
        if self.adjacency is not None:
            check_adjacency(self.adjacency)
        if not isinstance(self.directions, tuple | list) or not all(
            isinstance(loss, PairLoss) for loss in self.directions
        ):
            raise ValueError(f"directions must be a tuple of losses of pairs (PairLoss), got {self.directions!r}")
        if not self.directions:
            raise ValueError("directions must hold one loss or more, got none")
        if isinstance(self.assumptions, str) or not isinstance(self.assumptions, tuple | list):
            raise ValueError(f"assumptions must be a tuple of texts, got {self.assumptions!r}")

    def __repr__(self) -> str:
        first, more = next(iter(self.assumptions), GIVEN), len(self.assumptions) - 1
        rest = f", and {more} more in assumptions" if more > 0 else ""
        return f"PrivacyLoss of {self.of}\nneighbours: {neighbours(self.adjacency)}; rests on: {first}{rest}"

    @property
    def exact(self) -> bool:
        """Whether the lower and upper bounds are the same numbers."""
        return all(loss.exact for loss in self.directions)

    def supremum(self) -> float:
        """The pure epsilon, nats: the supremum of the loss; infinite where there is none."""
        ends = [loss.supremum() for loss in self.directions]
        for loss, end in zip(self.directions, ends, strict=True):
            between(end, f"the supremum() of {type(loss).__name__}", "a number", lambda one: not math.isnan(one))
        return max(0.0, *ends)

    largest = supremum

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """Natural logarithms of the bounds on delta(epsilon), also where delta itself would underflow.

        epsilon: nats, >= 0. Raises ValueError for anything else.
        """
        asked = nonnegative(epsilon)
        ends = [loss.log_delta_bounds(asked) for loss in self.directions]
        # rounded masses may add up to more than 1
        return min(0.0, max(low for low, _ in ends)), min(0.0, max(high for _, high in ends))

    @overload
    def delta_bounds(self, epsilon: float) -> tuple[float, float]: ...
    @overload
    def delta_bounds(self, epsilon: ArrayLike) -> tuple[Floats, Floats]: ...
    def delta_bounds(self, epsilon: Any) -> Any:
        """A lower and an upper bound of delta(epsilon). epsilon: nats, >= 0; ValueError for anything else."""
        if _several(epsilon):
            return self.profile().bounds(epsilon)
        low, high = self.log_delta_bounds(epsilon)
        return math.exp(low), exp_upwards(high)

    @overload
    def delta(self, epsilon: float) -> float: ...
    @overload
    def delta(self, epsilon: ArrayLike) -> Floats: ...
    def delta(self, epsilon: Any) -> Any:
        """The upper bound of delta(epsilon): never too small, and 0 for a true 0 alone."""
        return self.delta_bounds(epsilon)[1]

    @overload
    def epsilon_bounds(self, delta: float | None = None, *, log_delta: float | None = None) -> tuple[float, float]: ...
    @overload
    def epsilon_bounds(
        self, delta: ArrayLike | None = None, *, log_delta: ArrayLike | None = None
    ) -> tuple[Floats, Floats]: ...
    def epsilon_bounds(self, delta: Any = None, *, log_delta: Any = None) -> Any:
        """A lower and an upper bound of the least epsilon >= 0 whose delta is at most this one, nats.

        delta: in [0, 1]; or log_delta: its natural logarithm, which may lie below that of any float. One of the two.
        returns: infinity where no epsilon is large enough. Raises ValueError for anything else.
        """
        if _several(delta) or _several(log_delta):
            both = _each(delta, log_delta, 2, lambda one: self.epsilon_bounds(log_delta=one))
            return both[..., 0], both[..., 1]
        target = log_of_delta(delta, log_delta)
        if target == 0:
            return 0.0, 0.0
        search = self._search(target, 1)
        upper = self._least(search, target, 1)
        if self.exact:
            return upper, upper
        # the two bounds of an enclosed loss are those of two losses, each with a search of its own
        apart = any(side(loss, 1) is not loss for loss in self.directions)
        return min(self._least(self._search(target, 0, upper) if apart else search, target, 0), upper), upper

    @overload
    def epsilon(self, delta: float | None = None, *, log_delta: float | None = None) -> float: ...
    @overload
    def epsilon(self, delta: ArrayLike | None = None, *, log_delta: ArrayLike | None = None) -> Floats: ...
    def epsilon(self, delta: Any = None, *, log_delta: Any = None) -> Any:
        """The upper bound of `epsilon_bounds`: never too small."""
        if _several(delta) or _several(log_delta):
            return _each(delta, log_delta, 1, lambda one: self.epsilon(log_delta=one))[..., 0]
        target = log_of_delta(delta, log_delta)
        return 0.0 if target == 0 else self._least(self._search(target, 1), target, 1)

    def profile(self) -> PrivacyProfile:
        """delta as a function of epsilon, with its curves and tables."""
        return PrivacyProfile(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the table of the profile."""
        return self.profile()._repr_html_()

    def plot(self, axes: Any = None, *, delta: float = 1e-10, label: str = "privacy loss") -> Any:
        """Draw both bounds of the privacy profile on matplotlib's axes, from epsilon = 0 down to this delta.

        axes: to draw on, which are returned; new ones by default.   delta: in (0, 1), where the curves end.
        label: in the legend.
        """
        last = self.epsilon(delta=delta)
        epsilons = [last * place / 100 for place in range(101)] if 0 < last < math.inf else [0.0]
        bounds = [self.delta_bounds(epsilon) for epsilon in epsilons]
        upper = Series(f"{label}, upper bound", epsilons, [pair[1] for pair in bounds])
        lower = Series(f"{label}, lower bound", epsilons, [pair[0] for pair in bounds], style="dashed")
        return plotted(Panel("Privacy profile", "epsilon (nats)", "delta", (upper, lower), y_log=True), axes)

    def trade_off(self, alpha: ArrayLike) -> TradeOffBounds:
        """The least false-negative rate of any test with this false-positive rate: a lower and an upper bound."""
        return trade_off_bounds(self.directions, alpha)

    def _search(self, target: float, end: int, near: float = math.nan) -> LevelSearch:
        """The search with this bound on ln delta.   near: nats, a start if no direction has a hint."""
        losses = list({id(loss): loss for loss in (side(loss, end) for loss in self.directions)}.values())
        hints = [loss.epsilon_near(target) for loss in losses] if -math.inf < target < 0 else []
        hint = max((hint for hint in hints if 0 < hint < math.inf), default=near)
        one = PrivacyLoss(tuple(losses))
        return LevelSearch(one.log_delta_bounds, one.supremum(), hint)

    def _least(self, search: LevelSearch, target: float, end: int) -> float:
        """The root of ln delta = target for one of the bounds: rounded up for the upper, down for the lower."""
        if target == -math.inf:  # delta is 0 from the supremum on
            return search.largest if end else max(0.0, *(_least_supremum(loss) for loss in self.directions))
        return search.least(target, end)


def _several(asked: Any) -> bool:
    """Whether it is an array or a list, of any shape, and not one number."""
    return isinstance(asked, np.ndarray) or (isinstance(asked, Collection) and not isinstance(asked, str | bytes))


def _each(delta: Any, log_delta: Any, width: int, ask: Callable[[float], Any]) -> Floats:
    """The answers, `width` numbers for each ln delta, along the axes of an array of deltas or of their logarithms."""
    if delta is not None and log_delta is not None:
        log_of_delta(delta, log_delta)  # which refuses both
    asked = numbers_of(*(("delta", delta, "in [0, 1]") if log_delta is None else ("log_delta", log_delta, "at most 0")))
    flat = asked.ravel().tolist()
    targets = [log_of_delta(one, None) if log_delta is None else log_of_delta(None, one) for one in flat]
    return np.array([ask(one) for one in targets], dtype=np.float64).reshape(*asked.shape, width)


def _least_supremum(loss: PairLoss) -> float:
    """A lower bound of the supremum, nats."""
    lower = side(loss, 0)
    if lower.exact:
        return lower.supremum()
    known = known_bound(lower, 0)
    atoms = [(one.atoms(), times) for one, times in known.finite_part()[0].summands()]
    return known.supremum() - 2 * math.fsum(times * one.error for one, times in atoms if one is not None)


def neighbours(adjacency: Adjacency | None) -> str:
    """The words for an adjacency that are printed beside an epsilon."""
    return adjacency or "any two inputs"


def check_adjacency(adjacency: Adjacency) -> Adjacency:
    """The adjacency. Raises ValueError for anything else."""
    for one in get_args(Adjacency):
        if isinstance(adjacency, str) and adjacency == one:
            return one
    raise ValueError(f"adjacency must be add/remove or replace, got {adjacency!r}")


def adjacency_of(mechanism: Any) -> Adjacency | None:
    """How the neighbours of a mechanism or a loss differ, where it states that; None for any two inputs."""
    return mechanism.adjacency if isinstance(mechanism, Mechanism | PrivacyLoss) else None


def privacy_loss(mechanism: Any, adjacency: Adjacency | None = None) -> PrivacyLoss:
    """The privacy loss of one report of this mechanism, between its neighbours.

    Local privacy's neighbours are any two inputs, in both orders, so one pair's loss holds for both directions; with a
    record and without it they are two, unless the loss is its own reverse.
    mechanism: any mechanism of the toolkit, or the distribution it samples from (`implemented()`); any object with a
    profile `delta(epsilon)` and `exact_epsilon()`, which are trusted; a loss of a pair, which counts in both orders, as
    two directions unless its `reversed()` is itself; or a `PrivacyLoss`, which is returned.
    adjacency: between records present and absent, or replaced, for noise on a sum, which states how far either moves
    the sum (`Gaussian(sigma, sensitivity=1, replaced=2)`); by default, present and absent.
    Raises ValueError for anything else, and where the mechanism does not state what a replaced record does.
    """
    if is_number(mechanism):
        raise ValueError(
            f"mechanism must be a mechanism or a loss, got the number {shown(mechanism)}; a promised epsilon is "
            f"Pure({shown(mechanism)}), from ldp_audit.accounting"
        )
    own = adjacency_of(mechanism)
    asked = own if adjacency is None else check_adjacency(adjacency)
    if isinstance(mechanism, PrivacyLoss):
        if own not in (None, asked):
            raise ValueError(f"mechanism must be a loss of neighbours by {asked}, got one by {own}")
        return mechanism
    if (own, asked) == ("add/remove", "replace"):
        return PrivacyLoss((mechanism.replaced_loss(),), (_moves(mechanism, asked),), asked, shown(mechanism))
    pair = pair_loss_of(mechanism)
    in_one_order = pair is mechanism or own is not None  # a local report's pair dominates in both
    directions = (pair, pair.reversed()) if in_one_order and not is_mirrored(pair) else (pair,)
    return PrivacyLoss(directions, (_rests_on(mechanism, pair),), own, shown(mechanism))


def _rests_on(mechanism: Any, pair: PairLoss) -> str:
    """What the loss of one use of a mechanism rests on."""
    if pair is mechanism:
        return GIVEN
    if not isinstance(mechanism, Mechanism):
        return ONE_PAIR
    if mechanism.adjacency is not None:
        return _moves(mechanism, mechanism.adjacency)
    return (
        WHOLE_INPUT if mechanism.any_pair else "a client's input changes to a neighbour of it, as the mechanism states"
    )


def _moves(mechanism: Mechanism, adjacency: Adjacency | None) -> str:
    """What a neighbour changes, in words: for noise, how far it moves the sum."""
    record = "a record that is replaced" if adjacency == "replace" else "a record that is present or absent"
    if not isinstance(mechanism, AdditiveNoise):
        return f"{record} changes the data by itself alone"
    if adjacency == "replace":
        return f"{record} moves the sum by at most {mechanism.replaced:g}"
    return f"{record} moves the sum by at most {mechanism.sensitivity:g}, the sensitivity"


def in_words(mechanism: Any) -> str:
    """What was composed, of a loss; else the mechanism itself."""
    return mechanism.of if isinstance(mechanism, PrivacyLoss) else shown(mechanism)


def is_mirrored(loss: PairLoss) -> bool:
    """Whether the loss states that it is its own reverse."""
    return loss.reversed() is loss


def related(loss: PrivacyLoss, adjacency: Adjacency | None) -> PrivacyLoss:
    """A loss between any two inputs as one with and without a record, which it says; any other unchanged."""
    if adjacency != "add/remove" or loss.adjacency is not None:
        return loss
    return replace(loss, assumptions=(EITHER_WAY, *loss.assumptions), adjacency=adjacency)


GIVEN = "the loss of the pair that was given dominates"
"""What a loss of a pair rests on that somebody states."""
WHOLE_INPUT = "all that a client reports of its input is in these reports, and any two inputs are neighbours"
"""What the loss of a local report rests on."""
ONE_PAIR = "a stated profile is that of one pair of inputs, the same in either order; else a sum has no lower bound"
"""What the loss of an object that states its profile alone rests on."""
EITHER_WAY = (
    "neighbours became add/remove: a client whose record is absent still sends its local reports, of some input"
)
"""What makes a loss between any two inputs, a local report's, one of a record that is there or not."""


ADAPTIVE = "a report's mechanism may depend on the reports before it, but not its privacy loss, nor how many there are"
"""The assumption of every composition here."""


def compose(items: Iterable[tuple[Any, int]], *, width: float = WIDTH) -> PrivacyLoss:
    """The privacy loss of all these reports about one input together.

    items: pairs (mechanism or loss, times); as `privacy_loss` takes them, with whole times >= 0. A loss with two
    directions is composed direction by direction, first with first; one with a single direction counts in both.
    width: nats, the difference of the bounds on epsilon where a grid computes the sum; met where its points allow. A
    ten times larger width is about three times quicker; the bounds are certified all the same.
    returns: exact where the parts are and their sum can be; no items have loss 0.
    Raises ValueError for anything else, and for losses between neighbours of both adjacencies.
    """
    check_width(width)
    given = [_item(item) for item in listed(items, "items", "pairs (mechanism or loss, times)")]
    spent = [(loss, times) for loss, times in given if times]
    if len(spent) == 1 and spent[0][1] == 1:
        return spent[0][0]
    relations: set[Adjacency] = {loss.adjacency for loss, _ in spent if loss.adjacency is not None}
    if len(relations) > 1:
        raise ValueError(
            "items must be losses between the same neighbours, got some by add/remove and others by replace; "
            "privacy_loss(mechanism, adjacency='replace') has noise's own loss for a replaced record"
        )
    adjacency = next(iter(relations), None)
    spent = [(related(loss, adjacency), times) for loss, times in spent]
    sizes = [len(loss.directions) for loss, _ in spent]
    count = max(sizes, default=1)
    if any(size not in (1, count) for size in sizes):
        raise ValueError(f"items must have one direction each, or as many as the others, got {sizes}")
    directions = tuple(
        composed([(loss.directions[i % len(loss.directions)], times) for loss, times in spent], width)
        for i in range(count)
    )
    stated = sorted((one for loss, _ in spent for one in loss.assumptions), key=EITHER_WAY.__ne__)
    words = " + ".join(repeated(loss.of, times) for loss, times in spent)
    return PrivacyLoss(
        directions,
        tuple(dict.fromkeys([*stated, ADAPTIVE] if spent else ["nothing is released"])),
        adjacency,
        words or "nothing",
    )


def repeated(words: str, times: int) -> str:
    """So many uses of it, in words."""
    return words if times == 1 else f"{times:,} x {bracketed(words)}"


def bracketed(words: str) -> str:
    """In brackets, where it is a sum."""
    return f"({words})" if " + " in words else words


def _item(item: Any) -> tuple[PrivacyLoss, int]:
    try:
        one, times = item
    except (TypeError, ValueError):
        raise ValueError(f"items must be pairs (mechanism or loss, times), got {item!r}") from None
    return privacy_loss(one), whole(times, "times", 0)


LEVELS = (0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
"""The default epsilons of a table, nats; those above the supremum are left out."""


class ProfileRow(NamedTuple):
    """A line of the table: delta lies in [lower, upper], and likewise its natural logarithm."""

    epsilon: float
    lower: float
    upper: float
    log_lower: float
    log_upper: float


@dataclass(frozen=True)
class PrivacyProfile(Shown):
    """delta as a function of epsilon. It does not increase, and is convex in e**epsilon.

    loss: whose profile it is.
    """

    loss: PrivacyLoss

    @classmethod
    def from_points(cls, points: Iterable[tuple[float, float]], assumptions: tuple[str, ...] = ()) -> PrivacyProfile:
        """The profile of the worst mechanism that satisfies each of these (epsilon, delta), in both orders.

        The lower bounds are 0. Raises ValueError for no point, or bad ones.
        """
        try:
            listed = [(epsilon, delta) for epsilon, delta in points]
        except (TypeError, ValueError) as error:
            raise ValueError(f"points must be pairs (epsilon, delta) of numbers, got {points!r}") from error
        loss = HullLoss.of_points(listed)
        words = ", ".join(f"({float(epsilon):g}, {float(delta):g})" for epsilon, delta in listed)
        return cls(PrivacyLoss((loss,), (*assumptions, f"it satisfies {words}")))

    @property
    def exact(self) -> bool:
        """Whether the bounds are the same."""
        return self.loss.exact

    def __call__(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The upper bounds, never too small; shape of `epsilon`, nats, >= 0. Raises ValueError for other epsilons."""
        return self.bounds(epsilon)[1]

    def bounds(self, epsilon: ArrayLike) -> tuple[NDArray[np.float64] | np.float64, NDArray[np.float64] | np.float64]:
        """Lower and upper bounds, each of the shape of `epsilon`."""
        rows, shape = self._at(epsilon)
        return np.array([r.lower for r in rows]).reshape(shape)[()], np.array([r.upper for r in rows]).reshape(shape)[
            ()
        ]

    def log_bounds(
        self, epsilon: ArrayLike
    ) -> tuple[NDArray[np.float64] | np.float64, NDArray[np.float64] | np.float64]:
        """Natural logarithms of the bounds, also where deltas themselves would underflow."""
        rows, shape = self._at(epsilon)
        lows, highs = (np.array([getattr(r, name) for r in rows]) for name in ("log_lower", "log_upper"))
        return lows.reshape(shape)[()], highs.reshape(shape)[()]

    def rows(self, epsilon: ArrayLike | None = None) -> list[ProfileRow]:
        """The table at these epsilons, or at the default ones up to the supremum."""
        return self._at(self._usual() if epsilon is None else epsilon)[0]

    def describe(self) -> str:
        """The table for people."""
        lines = [f"neighbours: {neighbours(self.loss.adjacency)}"]
        lines.append("epsilon      delta" if self.exact else "epsilon      delta at least   at most")
        for row in self.rows():
            low, high = _shown(row.lower, row.log_lower), _shown(row.upper, row.log_upper)
            lines.append(f"{row.epsilon:<12.6g} {high if self.exact else f'{low}  {high}'}".rstrip())
        return "\n".join(lines)

    def to_dict(self, epsilon: ArrayLike | None = None) -> dict[str, Any]:
        """For JSON; infinities are written as text."""
        return {
            "adjacency": neighbours(self.loss.adjacency),
            "exact": self.exact,
            "largest": plain(self.loss.supremum()),
            "assumptions": list(self.loss.assumptions),
            "profile": [{name: plain(value) for name, value in row._asdict().items()} for row in self.rows(epsilon)],
        }

    def _at(self, epsilon: ArrayLike) -> tuple[list[ProfileRow], tuple[int, ...]]:
        asked = levels(epsilon)
        return [self._row(float(one)) for one in asked.flat], asked.shape

    def _row(self, epsilon: float) -> ProfileRow:
        low, high = self.loss.log_delta_bounds(epsilon)
        return ProfileRow(epsilon, math.exp(low), exp_upwards(high), low, high)

    def _usual(self) -> list[float]:
        """The default epsilons below the supremum, and the supremum itself if it is finite."""
        largest = self.loss.supremum()
        return [*(one for one in LEVELS if one < largest), *([largest] if math.isfinite(largest) else [])]


def _shown(value: float, log: float) -> str:
    text = f"{value:.6g}" if value > 1e-300 or log == -math.inf else f"e^{log:.6g}"
    return f"{text:<14}"
