"""A budget that is spent step by step, each mechanism chosen after what the earlier ones showed: privacy filters.

A filter fixes in advance which number is added up, and refuses what would take the sum beyond the budget. The theorems
are about exactly this, the choice of mechanisms, their parameters and their number included:

    "epsilon"  pure epsilons, with their deltas beside them   Rogers, Roth, Ullman, Vadhan (NeurIPS 2016)
    "rho"      approximate zero-concentrated privacy          Whitehouse, Ramdas, Rogers, Wu (ICML 2023)
    "renyi"    Renyi divergences of one order a > 1           Feldman, Zrnic (NeurIPS 2021)
    "mu"       Gaussian privacy, by the squares of mu         Smith, Thakurta (2022); Koskela, Tobaben, Honkela (2022)

That of divergences in a line: from the last output to the first, E_Q[(P/Q)**a given the outputs before] is at most
e**((a - 1)(the sum that may still come)), as each step's own is at most e**((a - 1) D) for the D that is paid for it.

An (epsilon, delta) becomes once, when the budget is made, the divergence of one order, or the mu, that implies it. The
divergence's order is by default the one at which the zero-concentrated rho that implies (epsilon, delta) is converted:
what fits into that rho fits here, as D_a <= rho a.

Failures. A mechanism whose loss is infinite with probability d is a mixture, (1 - d) of one without and d of anything.
With w(y), the product of all (1 - d), a function of the outputs y on either input, P <= w P' + sum of d and Q >= w Q',
so P(S) - e**epsilon Q(S) <= (P' - e**epsilon Q')_+ + the largest sum of d: a budget sets `failures` of its delta apart
for that sum, and adds the filter of P' and Q'. Source: as Whitehouse et al. have it for rho.

Amounts are whole numbers of 2**-62 of the budget, rounded up, so sums are exact.
"""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from ldp_audit.accounting import promises
from ldp_audit.accounting.calibrate import gdp_within
from ldp_audit.accounting.conversion.gaussian_dp import gdp_of
from ldp_audit.accounting.conversion.renyi import renyi_divergence, zcdp_of
from ldp_audit.accounting.converted import Converted
from ldp_audit.accounting.privacy_loss import PrivacyLoss, check_adjacency, compose, in_words, neighbours, privacy_loss
from ldp_audit.files import CannotWriteError, create_whole, locked
from ldp_audit.losses.loss import PairLoss, side
from ldp_audit.mechanisms import target
from ldp_audit.mechanisms.mechanism import Adjacency, Mechanism
from ldp_audit.numerics import BoundedCache, between, instance, positive, probability, shown, whole

Currency = Literal["epsilon", "rho", "renyi", "mu"]

UNITS = 1 << 62
"""The budget, in the unit of amounts."""
_SLACK = 1e-11
"""A stated epsilon, rho, mu or failures is granted to this share of itself: ten of a float .1 are more than 1. A
converted budget is smaller by twice this share, as a cost is right to 1e-12 of itself."""
_ORDERS = tuple(float(f"{1 + 2 ** (k / 32):.6g}") for k in range(-320, 960))
"""From which the order of a budget is chosen: the ratio at the best of all is larger by less than a thousandth."""
_FORMAT, _VERSION = "an ldp-audit budget", 1
_LONGEST = 200  # characters of a mechanism's name in the file
PROMISES = {name: vars(promises)[name] for name in ("Approximate", "BoundedRange", "GaussianDP", "Pure", "ZCDP")}
"""The promises that a TARGET may name: those of numbers."""

_THEOREMS = {
    "epsilon": "sums of epsilon: Rogers, Roth, Ullman, Vadhan (2016)",
    "rho": "sums of rho: Whitehouse, Ramdas, Rogers, Wu (2023)",
    "renyi": "sums of divergences of one order: Feldman, Zrnic (2021)",
    "mu": "sums of mu squared: Smith, Thakurta (2022); Koskela, Tobaben, Honkela (2022)",
}


class OverdrawnError(Exception):
    """A mechanism that does not fit into what is left of a budget, which is unchanged.

    left: how many of these still fit.
    """

    def __init__(self, message: str, left: float) -> None:
        super().__init__(message)
        self.left = left


class Amount(NamedTuple):
    """What a mechanism costs, or what is spent: of the currency, and of the failures, in units of `UNITS`."""

    units: int
    failures: int

    def after(self, times: int, each: Amount) -> Amount:
        """With so many more of this price."""
        return Amount(self.units + times * each.units, self.failures + times * each.failures)

    def fits(self) -> bool:
        """Whether a budget has this much."""
        return self.units <= UNITS and self.failures <= UNITS

    def left(self, each: Amount) -> float:
        """How many of this price fit into what is left; infinite where they cost nothing."""
        of_units = (UNITS - self.units) // each.units if each.units else math.inf
        return min(of_units, (UNITS - self.failures) // each.failures) if each.failures else of_units


@dataclass(frozen=True)
class BudgetTerms:
    """What a budget guarantees and by which sums: the arguments of `Budget`, which has their meaning and errors."""

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    mu: float | None = None
    currency: Currency | None = None
    order: float | None = None
    failures: float = 0.0
    adjacency: Adjacency | None = None

    def __post_init__(self) -> None:
        stated = {"epsilon": self.epsilon, "rho": self.rho, "mu": self.mu}
        given = [(name, value) for name, value in stated.items() if value is not None]
        if len(given) != 1:
            raise ValueError(f"a budget must state one of epsilon (with or without delta), rho and mu, got {stated}")
        ((named, value),) = given
        amount = positive(value, named)
        delta, kept = probability(self.delta, "delta"), probability(self.failures, "failures")
        own = named if self.epsilon is None or delta == 0 else self.currency or "renyi"
        if (self.currency is not None and self.currency not in get_args(Currency)) or self.currency not in (None, own):
            accepted = "renyi, mu or epsilon for an epsilon with a delta > 0, else what is stated"
            raise ValueError(f"currency must be {accepted}, got {shown(self.currency)}")
        if own == "rho" and self.rho is None:
            raise ValueError("currency must be renyi, mu or epsilon for an epsilon, got 'rho'; renyi allows for more")
        converted = own in ("renyi", "mu") and self.epsilon is not None
        kept = kept if kept or converted else delta
        if kept > delta or (kept == delta and converted):
            raise ValueError(f"failures must be a part of delta = {delta:g}, got {self.failures!r}")
        if self.order is not None and own != "renyi":
            raise ValueError(f"order must be that of a budget in Renyi divergences, got {self.order!r} with {own}")
        if self.adjacency is not None:
            check_adjacency(self.adjacency)
        for name, value in (("currency", own), ("failures", float(kept)), ("delta", float(delta))):
            object.__setattr__(self, name, value)
        object.__setattr__(self, named, amount)
        if own == "renyi":
            object.__setattr__(self, "order", self._order())
        if own == named and not 0 < self.total < math.inf:
            raise ValueError(f"{named} must be a number whose sums of costs are finite floats > 0, got {amount!r}")
        if not self.total > 0:
            raise ValueError(f"epsilon must be large enough for delta at order {self.order!r}, got {self.epsilon!r}")

    @cached_property
    def total(self) -> float:
        """What the sum of costs may reach: an epsilon, a rho, a divergence, or the square of a mu."""
        if self.currency == "renyi":
            return self._divergence(self.order or 2.0) * (1 - 2 * _SLACK)
        if self.currency == "mu" and self.mu is None:
            found = gdp_within(epsilon=self.epsilon or 0.0, delta=self._own_delta()).value
            return found * found * (1 - 4 * _SLACK)
        stated = self.mu * self.mu if self.mu is not None else self.rho if self.rho is not None else self.epsilon
        return (stated or 0.0) * (1 + _SLACK)

    def head(self, kind: str, **more: int) -> str:
        """The first line of a file of this kind, in JSON."""
        return json.dumps({"format": kind, "version": _VERSION, **more, **asdict(self)})

    @classmethod
    def read(cls, line: bytes, kind: str, place: Path, *more: str) -> tuple[BudgetTerms, list[Any]]:
        """The terms, and more values, of a first line. Raises ValueError for one of another kind or version."""
        head = _object(line, f"{place}, line 1") if line.endswith(b"\n") else {}
        if head.pop("format", None) != kind:
            raise ValueError(f"{place} is not {kind}: its first line does not say so")
        if (version := head.pop("version", None)) != _VERSION:
            raise ValueError(f"{place} must be of version {_VERSION}, got {version!r}")
        values = [head.pop(key, None) for key in more]
        try:
            return cls(**head), values
        except (TypeError, ValueError) as error:
            raise ValueError(f"{place}, line 1: {error}") from None

    def price(self, loss: PrivacyLoss) -> Amount:
        """What one of these costs, rounded up; above `UNITS` where no budget in this currency can pay."""
        cost, failure = self._cost(loss), 0.0
        if cost == math.inf:
            parts = [self._without_failure(pair) for pair in loss.directions]
            failure = max(lost for _, lost in parts)
            cost = max(self._cost(one) for one, _ in parts) if failure < 1 else math.inf
        return Amount(_share(cost, self.total), _share(failure, self.failures * (1 + _SLACK)))

    def guarantee(self) -> str:
        """The words for what is never exceeded."""
        stated = [("epsilon", self.epsilon), ("rho", self.rho), ("mu", self.mu)]
        words = [f"{name} = {value:g}" for name, value in stated if value is not None]
        return " ".join([*words, *([f"at delta = {self.delta:g}"] if self.delta else [])])

    def theorem(self) -> str:
        """The filter, with its source."""
        found = _THEOREMS[self.currency or "epsilon"]
        return found.replace("one order", f"order {self.order:g}") if self.order is not None else found

    def _cost(self, loss: PrivacyLoss | PairLoss) -> float:
        """In the currency, never too small but for 1e-12 of itself."""
        if self.currency == "epsilon":
            return max(0.0, loss.supremum())
        measures: dict[str | None, Callable[[PrivacyLoss | PairLoss], Converted]] = {"rho": zcdp_of, "mu": gdp_of}
        if self.currency == "renyi":
            return renyi_divergence(loss, self.order or 2.0).value
        return measures[self.currency](loss).value ** (2 if self.currency == "mu" else 1)

    @staticmethod
    def _without_failure(pair: PairLoss) -> tuple[PairLoss, float]:
        """The loss where it is finite, and the larger probability that it is not."""
        known = side(pair, 1).known()
        if known is None:
            return pair, 0.0
        common, first, second = known.finite_part()
        return common, -math.expm1(min(first, second)) * (1 + 4e-16)

    def _own_delta(self) -> float:
        return max(0.0, self.delta - self.failures * (1 + 2 * _SLACK))

    def _divergence(self, order: float) -> float:
        """The divergence of this order that implies (epsilon, delta): Canonne, Kamath, Steinke (2020), Prop. 12."""
        target, steps = math.log(self._own_delta()), order - 1
        terms = (self.epsilon or 0.0, target / steps, -math.log1p(-1 / order), math.log(order) / steps)
        return math.fsum(terms) - 1e-14 * math.fsum(map(abs, terms))

    def _order(self) -> float:
        if self.order is not None:
            return between(self.order, "order", "a finite number > 1", lambda one: 1 < one < math.inf)
        return max(_ORDERS, key=lambda one: self._divergence(one) / one)


def _share(part: float, whole_amount: float) -> int:
    """In units, rounded up; more than there are for what is infinite, or part of nothing."""
    if part == 0:
        return 0
    if not 0 < part <= whole_amount:
        return UNITS + 1
    return math.ceil(Fraction(part) / Fraction(whole_amount) * UNITS)


@dataclass(frozen=True)
class Item:
    """A mechanism that is paid for: its name in the file, its loss where known, the price of one."""

    name: str
    loss: PrivacyLoss
    price: Amount

    @classmethod
    def of(cls, mechanism: Any, terms: BudgetTerms, name: str | None = None) -> Item:
        """Raises ValueError for what has no loss."""
        loss = privacy_loss(mechanism)
        return cls((name or in_words(mechanism))[:_LONGEST], loss, terms.price(loss))


class Budget:
    """A budget of privacy that mechanisms are paid from before they run.

        budget = Budget(epsilon=4, delta=1e-6)
        budget.save("survey.budget")        # and in any process: budget = Budget.load("survey.budget")
        budget.spend(Gaussian(10.0), times=3)

    epsilon: nats, > 0, with delta in [0, 1); or rho; or mu: what all spending together keeps, whatever is chosen when.
    currency: what is added up (see the module): for an epsilon with a delta "renyi", "mu", which is better where all
        noise is Gaussian, or "epsilon", with delta for mechanisms that have one of their own.
    order: of the divergences; for one kind of mechanism that loses privacy by sampling another one may allow for more.
    failures: the part of delta for mechanisms with a delta of their own; 0, or all of delta with "epsilon".
    adjacency: how neighbours differ; by default as the first mechanism says that says so.

    What is kept is the stated number to 1e-11 of itself, as ten times the float .1 is more than 1; a converted one has
    this margin inside. A budget with a file is on disk before `spend` returns, safe with any number of processes, and
    the same after a kill; what was being written then has not been spent. Threads may share one object.
    Raises ValueError for anything else.
    """

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float = 0.0,
        *,
        rho: float | None = None,
        mu: float | None = None,
        currency: Currency | None = None,
        order: float | None = None,
        failures: float = 0.0,
        adjacency: Adjacency | None = None,
    ) -> None:
        self.terms = BudgetTerms(epsilon, delta, rho, mu, currency, order, failures, adjacency)
        self.path: Path | None = None
        self.adjacency = adjacency
        self._spent = Amount(0, 0)
        self._bought: dict[tuple[str, Amount], int] = {}  # times, by name and the price of one
        self._known: dict[tuple[str, Amount], PrivacyLoss] = {}
        self._lines, self._offset = 0, 0  # of the file, that were read
        self._items: BoundedCache[int, tuple[Any, Item]] = BoundedCache(1000)
        self._turn = threading.RLock()

    @classmethod
    def load(cls, path: str | Path) -> Budget:
        """The budget of a file. Raises ValueError for a file that is none, CannotWriteError where it cannot be used."""
        place = Path(path)
        try:
            with place.open("rb") as file:
                first = file.readline()
        except OSError as error:
            raise CannotWriteError(f"cannot open {place}: {error.strerror or error}") from error
        budget = cls(**asdict(BudgetTerms.read(first, _FORMAT, place)[0]))
        budget.path, budget._lines, budget._offset = place, 1, len(first)
        with budget._up_to_date():
            return budget

    def save(self, path: str | Path) -> None:
        """Write the budget to a new file, in JSON lines, and keep it there from now on.

        Raises ValueError for a budget that has a file, CannotWriteError for a file that exists or cannot be written.
        """
        if self.path is not None:
            raise ValueError(f"a budget has one file, and this one has {self.path}")
        spent, lines = Amount(0, 0), [self.terms.head(_FORMAT)]
        for (name, price), times in self._bought.items():
            spent = spent.after(times, price)
            lines.append(self._line(name, times, price, spent, self.adjacency))
        content = "".join(f"{line}\n" for line in lines).encode()
        create_whole(Path(path), content)
        self.path, self._lines, self._offset = Path(path), len(lines), len(content)

    def spend(self, mechanism: Any, times: int = 1, *, name: str | None = None) -> float:
        """Pay for so many uses of a mechanism, all or none; run it after this has returned.

        mechanism: as `privacy_loss` takes it, a promise such as `Pure(.1)` too.   name: in the file; its own if None.
        returns: how many more of these fit.
        Raises OverdrawnError, which says what is left, and changes nothing; ValueError for other neighbours or times.
        """
        count, item = whole(times, "times", 1), self._item(mechanism, name)
        with self._up_to_date() as handle:
            self._check_neighbours(item.loss)
            spent = self._spent.after(count, item.price)
            if not spent.fits():
                raise OverdrawnError(self._refusal(item, count), self._spent.left(item.price))
            adjacency = item.loss.adjacency or self.adjacency
            if handle is not None:
                self._append(handle, self._line(item.name, count, item.price, spent, adjacency))
            self._enter(item.name, count, item.price, spent, adjacency)
            self._known[item.name, item.price] = item.loss
            return spent.left(item.price)

    def left(self, mechanism: Any = None) -> float:
        """How many more of these fit, or without a mechanism how much of the currency is left.

        Of currency "mu" a mu, of the others their sums; rounded down. Infinite for a mechanism without loss.
        """
        with self._up_to_date():
            if mechanism is not None:
                item = self._item(mechanism, None)
                self._check_neighbours(item.loss)
                return self._spent.left(item.price)
            share = (UNITS - self._spent.units) / UNITS * self.terms.total * (1 - 2 * _SLACK)
            return math.sqrt(share) if self.terms.currency == "mu" else share

    def bought(self) -> list[tuple[str, int]]:
        """What was paid for: names and how often."""
        with self._up_to_date():
            return [(name, times) for (name, _), times in self._bought.items()]

    def composed(self) -> PrivacyLoss:
        """What was paid for, composed as if it had been chosen in advance: information, no guarantee of a filter.

        Raises ValueError for a mechanism that another process paid for and whose name in the file is no TARGET.
        """
        with self._up_to_date():
            return compose([(self._loss_of(name, price), times) for (name, price), times in self._bought.items()])

    def describe(self) -> str:
        """The budget for people: the guarantee, its theorem, what was paid for, and what is left."""
        bought = self.bought()
        terms, share = self.terms, self._spent.units / UNITS
        lines = [
            f"never more than {terms.guarantee()}, whatever is chosen when; neighbours: {neighbours(self.adjacency)}",
            f"  by {terms.theorem()}",
            f"  spent {share:.1%} of {_CURRENCIES[terms.currency or 'epsilon']} = {_stated(terms):.6g}",
        ]
        if terms.failures:
            lines.append(f"  spent {self._spent.failures / UNITS:.1%} of failures = {terms.failures:g}")
        lines += [f"  {times} x {name}" for name, times in bought]
        return "\n".join([*lines, *([f"  {self._fixed()}"] if bought else [])])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        bought = self.bought()
        return {
            **asdict(self.terms),
            "adjacency": self.adjacency,
            "theorem": self.terms.theorem(),
            "total": _stated(self.terms),
            "spent": self._spent.units / UNITS,
            "spent_failures": self._spent.failures / UNITS,
            "bought": [{"what": name, "times": times} for name, times in bought],
        }

    def __repr__(self) -> str:
        return f"<Budget: {self.describe().replace(chr(10), ';')}>"

    def _fixed(self) -> str:
        try:
            loss = self.composed()
        except ValueError as error:
            return f"chosen in advance: not known, as {error}"
        if self.terms.delta == 0:
            return f"chosen in advance, the same would be epsilon {loss.supremum():.6g}"
        low, high = loss.epsilon_bounds(delta=self.terms.delta)
        return f"chosen in advance, the same would be epsilon {low:.6g} to {high:.6g} at delta = {self.terms.delta:g}"

    def _item(self, mechanism: Any, name: str | None) -> Item:
        if name is not None:
            instance(name, str, "name", "a text")
        if name is not None or not isinstance(mechanism, Mechanism | PrivacyLoss | PairLoss):
            return Item.of(mechanism, self.terms, name)  # anew, as an object of somebody else's may have changed
        # with the mechanism, so that its id is not another's
        return self._items.get(id(mechanism), lambda: (mechanism, Item.of(mechanism, self.terms)))[1]

    def _loss_of(self, name: str, price: Amount) -> PrivacyLoss:
        if (name, price) not in self._known:
            try:
                item = Item.of(target.load(name, others=PROMISES), self.terms)
            except ValueError:
                item = None
            if item is None or item.price != price:
                raise ValueError(f"{name!r} is a name that another process gave, and no TARGET of this price")
            self._known[name, price] = item.loss
        return self._known[name, price]

    def _check_neighbours(self, loss: PrivacyLoss) -> None:
        if loss.adjacency is not None and self.adjacency not in (None, loss.adjacency):
            raise ValueError(f"mechanism must have neighbours by {self.adjacency}, got one by {loss.adjacency}")

    def _refusal(self, item: Item, count: int) -> str:
        if item.price.units > UNITS or item.price.failures > UNITS:
            own = item.price.units <= UNITS
            reason = "its own delta is more than the budget's failures" if own else "one alone costs more than all"
            return f"no {item.name} fits into {self.terms.guarantee()}: {reason}, by {self.terms.theorem()}"
        left, share = self._spent.left(item.price), self._spent.units / UNITS
        words = f"{left:.0f} more of these fit, {share:.1%} is spent"
        return f"{count} x {item.name} would overdraw {self.terms.guarantee()}: {words}"

    def _enter(self, name: str, times: int, price: Amount, spent: Amount, adjacency: Adjacency | None) -> None:
        self._bought[name, price] = self._bought.get((name, price), 0) + times
        self._spent, self.adjacency = spent, adjacency

    @staticmethod
    def _line(name: str, times: int, price: Amount, spent: Amount, adjacency: Adjacency | None) -> str:
        line = {"what": name, "times": times, "price": list(price), "spent": list(spent), "adjacency": adjacency}
        return json.dumps(line)

    @contextmanager
    def _up_to_date(self) -> Iterator[int | None]:
        """The file, locked, after what other processes have appended was read; nothing for a budget without one."""
        with self._turn:
            if self.path is None:
                yield None
                return
            with locked(self.path) as handle:  # opened anew, as a lock is shared with forked children
                self._read(handle)
                yield handle

    def _read(self, handle: int) -> None:
        size = os.fstat(handle).st_size
        if size < self._offset:
            raise ValueError(f"{self.path} has lost lines that were read before; its budget is not known")
        content = os.pread(handle, size - self._offset, self._offset)
        whole_lines, _, rest = content.rpartition(b"\n")
        for line in whole_lines.split(b"\n") if whole_lines else []:
            self._lines += 1
            self._offset += len(line) + 1
            self._understand(line)
        if rest:  # a spend that was being written as its process ended, and that has not returned
            os.ftruncate(handle, self._offset)

    def _understand(self, line: bytes) -> None:
        """Enter a line of the file. Raises ValueError unless its sums continue those of the lines before."""
        where = f"{self.path}, line {self._lines}"
        found = _object(line, where)
        try:
            name, times, adjacency = found["what"], whole(found["times"], "times", 1), found["adjacency"]
            instance(name, str, "what", "a text")
            price, spent = (Amount(*(whole(one, key, 0) for one in found[key])) for key in ("price", "spent"))
            check_adjacency(adjacency) if adjacency is not None else None
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{where} must have what, times, price, spent and adjacency: {error}") from None
        if self._spent.after(times, price) != spent or not spent.fits():
            raise ValueError(f"{where} does not continue the sums of the lines before; its budget is not known")
        if self.adjacency not in (None, adjacency):
            raise ValueError(f"{where} must have neighbours by {self.adjacency}, got {adjacency!r}")
        self._enter(name, times, price, spent, adjacency)

    def _append(self, handle: int, line: str) -> None:
        content = f"{line}\n".encode()
        try:
            written = os.pwrite(handle, content, self._offset)
            os.fsync(handle)
        except OSError as error:
            os.ftruncate(handle, self._offset)
            raise CannotWriteError(f"cannot write {self.path}: {error.strerror or error}") from error
        if written < len(content):
            os.ftruncate(handle, self._offset)
            raise CannotWriteError(f"cannot write {self.path}: the disk is full")
        self._lines, self._offset = self._lines + 1, self._offset + len(content)


_CURRENCIES = {"epsilon": "epsilon", "rho": "rho", "renyi": "a divergence", "mu": "mu squared"}


def _stated(terms: BudgetTerms) -> float:
    return terms.total / (1 + _SLACK)


def _object(line: bytes, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{where} must be an object, got {shown(found)}")
    return found
