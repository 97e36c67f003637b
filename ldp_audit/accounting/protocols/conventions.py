"""The loss of a protocol's steps, and the protocol's total in every usual convention.

A step has a loss of one use, of a round, and of all of it, with its shuffling and without (`StepLoss`, `Ledger`). Every
total but the exact one is an upper bound by some theorem, at a stated delta. The exact composition is a certified
interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from ldp_audit.accounting.converted import plain
from ldp_audit.accounting.privacy_loss import PrivacyLoss, compose, privacy_loss, related
from ldp_audit.accounting.protocols.protocol import Protocol, Sampling, Step
from ldp_audit.losses.grid_plan import WIDTH
from ldp_audit.mechanisms import RandomizedResponse
from ldp_audit.progress import silent

_LARGE = 700.0
"""Nats: the exponential of little more overflows."""


@dataclass(frozen=True)
class Total:
    """The spend of a whole protocol in one convention.

    key: its name.   says: how it adds up.   epsilon: nats, never too small; infinite where the convention gives no
    bound.
    lower: the certified lower bound, where there is one.   delta: at which it holds.
    """

    key: str
    says: str
    epsilon: float
    delta: float
    lower: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON; infinities are written as text."""
        return {
            "key": self.key,
            "says": self.says,
            "epsilon": plain(self.epsilon),
            "lower": plain(self.lower),
            "delta": self.delta,
        }


Progress = Callable[[str], None] | None


def totals(ledger: Ledger, progress: Progress = None) -> tuple[Total, ...]:
    """The protocol in every convention, without shuffling and then behind the shuffler.

    A convention that does not apply is left out.
    """
    say = progress or silent
    uses = [(one.single, one.times(ledger.protocol, "everything")) for one in ledger.losses]
    found = [_basic(uses, ledger.delta)]
    for name, convention in (("pure composition", _pure), ("divergences", _divergences)):
        say(f"total: {name}")
        found += convention(uses, ledger.delta)
    say("total: exact composition")
    lower, upper = ledger.ends("everything", shuffled=False)
    found.append(Total("exact", "the losses themselves, composed", upper, ledger.delta, lower))
    if ledger.mixed:
        say("total: shuffled")
        found.append(_shuffled(ledger))
    return tuple(found)


Uses = Sequence[tuple[PrivacyLoss, int]]


def _basic(uses: Uses, delta: float) -> Total:
    """The sum of pure epsilons; where one is infinite, of the epsilons at an equal share of delta each."""
    pure = _upwards(_sum(times * loss.supremum() for loss, times in uses if loss.supremum() > 0))
    if math.isfinite(pure):
        return Total("basic", "the sum of the epsilons", pure, 0.0)
    share = delta / sum(times for _, times in uses)
    summed = _upwards(_sum(times * loss.epsilon(share) for loss, times in uses))
    return Total("basic", "the sum of the epsilons, each at an equal share of delta", summed, delta)


def _pure(uses: Uses, delta: float) -> list[Total]:
    """Composition theorems that use the pure epsilons alone (each implied by Kairouz, Oh, Viswanath 2015).

    "advanced" is their Theorem 3.5, which allows different epsilons, with the larger mean of Dwork, Rothblum, Vadhan.
    """
    counted = [(loss.supremum(), times) for loss, times in uses if loss.supremum() > 0]
    if not counted or not all(math.isfinite(epsilon) for epsilon, _ in counted):
        return []
    most = max(epsilon for epsilon, _ in counted)  # whose square may be no float
    root = most * math.sqrt(_sum(times * (epsilon / most) ** 2 for epsilon, times in counted))
    spread = math.sqrt(-2 * math.log(delta)) * root
    mean = _sum(times * epsilon * (math.expm1(epsilon) if epsilon < _LARGE else math.inf) for epsilon, times in counted)
    tight = _sum(times * epsilon * math.tanh(epsilon / 2) for epsilon, times in counted)
    worst = compose([(RandomizedResponse(epsilon), times) for epsilon, times in counted]).epsilon(delta)
    strong = "of the epsilons alone, by strong composition"
    return [
        Total("advanced", f"{strong} (Dwork, Rothblum, Vadhan 2010)", _upwards(mean + spread), delta),
        Total("improved", f"{strong} (Kairouz, Oh, Viswanath 2015)", _upwards(tight + spread), delta),
        Total("optimal", "of the epsilons alone: randomised response at each, composed", worst, delta),
    ]


def _divergences(uses: Uses, delta: float) -> list[Total]:
    """Zero-concentrated and Renyi differential privacy."""
    from ldp_audit.accounting.conversion.renyi import renyi_divergence, renyi_to_epsilon, zcdp_of, zcdp_to_epsilon

    if any(loss.delta(math.inf) > 0 for loss, _ in uses):
        return []  # a loss with mass at infinity has no finite divergence
    rho = _upwards(_sum(times * zcdp_of(loss).value for loss, times in uses))

    def curve(alpha: float) -> float:
        return _sum(times * renyi_divergence(loss, alpha).value for loss, times in uses)

    return [
        Total("zCDP", f"rho = {rho:.6g} in all, then to epsilon", zcdp_to_epsilon(rho, delta).value, delta),
        Total("RDP", "Renyi divergences at the best order", renyi_to_epsilon(curve, delta).value, delta),
    ]


def _shuffled(ledger: Ledger) -> Total:
    lower, upper = ledger.ends("everything", shuffled=True)
    says = "the reports without names, composed"
    if ledger.in_one_piece("everything"):
        says = "without names, each model in one piece: at least what its reports tell one by one, at most all"
    return Total("shuffled", says, upper, ledger.delta, lower)


def _sum(parts: Iterable[float]) -> float:
    """The sum of numbers >= 0; infinite where it overflows."""
    try:
        return math.fsum(parts)
    except OverflowError:
        return math.inf


def _upwards(value: float) -> float:
    """Rounded up, by more than the rounding of a sum."""
    return value * (1 + 1e-15)


Scope = Literal["one use", "one round", "everything"]
"""Of each step one use; all uses in one round of one epoch; all uses."""

_CLEARLY = 0.99
"""An epsilon that a hint places below this share of another is not computed."""

_LEFT_OUT = {"one round": ("rounds", "epochs"), "everything": ()}


@dataclass(frozen=True)
class StepLoss:
    """A step's loss of one use, to a server that sees the reports by name, and to one that sees them shuffled.

    shuffled: None where the step is not shuffled.   placed: the same with all other clients at the lower end of the
    range and this one at the upper, where reports have two values: a lower bound beside that of `shuffled`, whose own
    is its reverse.
    joint: a client's reports of a round stay together when shuffled.
    """

    step: Step
    mechanism: Any
    single: PrivacyLoss
    shuffled: PrivacyLoss | None
    placed: PrivacyLoss | None
    joint: bool

    def times(self, protocol: Protocol, scope: Scope) -> int:
        """Uses in this scope."""
        return 1 if scope == "one use" else protocol.times(self.step, without=_LEFT_OUT[scope])


def step_losses(protocol: Protocol, progress: Callable[[str], None] | None = None) -> tuple[StepLoss, ...]:
    """Each step's loss, in order; a selection without budget is left out.

    Raises ValueError, with the step's place, where a mechanism has no loss for what the step states.
    """
    found = []
    for place, (step, mechanism) in enumerate(zip(protocol.steps, protocol.mechanisms, strict=True), start=1):
        if mechanism is None:
            continue
        if progress:
            progress(f"step {place} of {len(protocol.steps)}: {step.name or repr(mechanism)}")
        try:
            single = _sampled(mechanism, step.sampling, protocol)
            mixed = (loss and _sampled(loss, step.sampling, protocol) for loss in _mixed(mechanism, step))
            found.append(StepLoss(step, mechanism, single, *mixed, joint=_stays_together(step)))
        except ValueError as error:
            raise ValueError(f"step {place}: {error}") from error
    return tuple(found)


@dataclass(frozen=True)
class Ledger:
    """The steps together, in each scope; every composition is made once.

    delta: of `ends`.   width: see `compose`.
    """

    protocol: Protocol
    losses: tuple[StepLoss, ...]
    delta: float
    width: float = WIDTH
    _made: dict[tuple[Scope, bool], PrivacyLoss] = field(default_factory=dict, repr=False)
    _ends: dict[tuple[Scope, bool], tuple[float, float]] = field(default_factory=dict, repr=False)

    @property
    def mixed(self) -> bool:
        """Whether any step is shuffled."""
        return any(one.shuffled for one in self.losses)

    def loss(self, scope: Scope, *, shuffled: bool) -> PrivacyLoss:
        """All steps composed; behind the shuffler, where a step has one, as if a model's reports came one by one."""
        if (scope, shuffled) not in self._made:
            chosen = ((one.shuffled if shuffled and one.shuffled else one.single, one) for one in self.losses)
            self._made[scope, shuffled] = self._composed(scope, chosen)
        return self._made[scope, shuffled]

    def ends(self, scope: Scope, *, shuffled: bool) -> tuple[float, float]:
        """A lower and an upper bound of epsilon at delta, nats.

        A model in one piece spends at least as much as its reports one by one, and at most as much as by name. More
        uses spend no less than fewer.
        """
        if (scope, shuffled) not in self._ends:
            lower, upper = self.loss(scope, shuffled=shuffled).epsilon_bounds(self.delta)
            if shuffled:
                lower = max(lower, self._of_placed(scope, lower))
                by_name = self.ends(scope, shuffled=False)[1]
                upper = by_name if self.in_one_piece(scope) else min(upper, by_name)
            fewer = get_args(Scope)[: get_args(Scope).index(scope)]
            known = max((self.ends(one, shuffled=shuffled)[0] for one in fewer), default=0.0)
            self._ends[scope, shuffled] = max(lower, known), upper
        return self._ends[scope, shuffled]

    def advantage(self, *, shuffled: bool) -> float:
        """A lower bound of the best attack's advantage over everything: no less than over a part of it."""
        return max(self.loss(scope, shuffled=shuffled).delta_bounds(0.0)[0] for scope in get_args(Scope))

    def _of_placed(self, scope: Scope, known: float) -> float:
        """A lower bound from other clients that are all at one end; 0 where no step has it, or it is below `known`."""
        if scope == "one use" or not any(one.placed for one in self.losses):
            return 0.0
        loss = self._composed(scope, ((one.placed or one.shuffled or one.single, one) for one in self.losses))
        target = math.log(self.delta)
        above = tuple(pair for pair in loss.directions if not pair.epsilon_near(target) < _CLEARLY * known)
        return PrivacyLoss(above).epsilon_bounds(self.delta)[0] if above else 0.0

    def _composed(self, scope: Scope, chosen: Iterable[tuple[PrivacyLoss, StepLoss]]) -> PrivacyLoss:
        return compose([(loss, one.times(self.protocol, scope)) for loss, one in chosen], width=self.width)

    def in_one_piece(self, scope: Scope) -> bool:
        """Whether shuffled reports stay together with others of their client, of the same step or of another one."""
        together: Scope = "one use" if scope == "one use" else "one round"
        return sum(one.times(self.protocol, together) for one in self.losses if one.joint) > 1


def _stays_together(step: Step) -> bool:
    return step.shuffling is not None and step.shuffling.kind == "model"


def label(one: StepLoss) -> str:
    """The name of a step."""
    return one.step.name or repr(one.mechanism)


def _mixed(mechanism: Any, step: Step) -> tuple[PrivacyLoss | None, PrivacyLoss | None]:
    """The losses among any other clients, and with all of them at one end.

    None where the step is not shuffled; the second also where its reports have not two values.
    """
    from ldp_audit.accounting.shuffle import MOST_PLACED, responses_of, shuffle

    if step.shuffling is None:
        return None, None
    clients = step.shuffling.clients
    two = responses_of(mechanism) == 2
    # The others' placing at one end needs a symmetric loss, which a subsampled client's is not, and no huge epsilon.
    fits = two and clients > 1 and step.sampling is None and mechanism.exact_epsilon() <= MOST_PLACED
    placed = PrivacyLoss(shuffle(mechanism, clients, others="one end").directions[:1], (), "replace") if fits else None
    return shuffle(mechanism, clients), placed


def _sampled(mechanism: Any, sampling: Sampling | None, protocol: Protocol) -> PrivacyLoss:
    if sampling is None:
        return related(privacy_loss(mechanism, protocol.adjacency), protocol.adjacency)
    from ldp_audit.accounting.subsample import subsample

    rate, n, k, adjacency = sampling.rate, sampling.n, sampling.k, protocol.adjacency or "replace"
    loss = subsample(mechanism, kind=sampling.kind, rate=rate, n=n, k=k, adjacency=adjacency)
    return replace(loss, assumptions=(*loss.assumptions, OWN_SAMPLE))


OWN_SAMPLE = "every use of a sampled step draws a sample of its own, independently of all others"
