"""The privacy losses of a protocol's steps: one use, a round, all of it, with its shuffling and without."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ldp_audit.accounting.compose import compose
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.privacy_loss_of import privacy_loss
from ldp_audit.accounting.protocols.protocol import Protocol, Sampling, Step
from ldp_audit.losses.grid_plan import WIDTH
from ldp_audit.losses.loss import hint_of
from ldp_audit.mechanisms import RandomizedResponse, TwoPoint

Scope = Literal["one use", "one round", "everything"]
"""Of each step one use; all uses in one round of one epoch; all uses."""

_CLEARLY = 0.99
"""A level that is said to lie below this share of another is not looked for."""

_LEFT_OUT = {"one round": ("rounds", "epochs"), "everything": ()}


@dataclass(frozen=True)
class StepLoss:
    """A step's loss of one use, as the one who sees the reports by name has it, and as the one who sees them mixed.

    shuffled: None where the step is not shuffled.   placed: the same with all other clients at the lower end of the
    range and this one at the upper, where reports have two values: a lower end beside that of `shuffled`, whose own is
    this one's mirror image.
    joint: a client's reports of a round stay together when mixed.
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
    """Each step's loss, in their order; a selection that spends nothing is left out."""
    found = []
    for place, (step, mechanism) in enumerate(zip(protocol.steps, protocol.mechanisms, strict=True), start=1):
        if mechanism is None:
            continue
        if progress:
            progress(f"step {place} of {len(protocol.steps)}: {step.name or repr(mechanism)}")
        single = _sampled(mechanism, step.sampling, protocol)
        mixed = (loss and _sampled(loss, step.sampling, protocol) for loss in _shuffled(mechanism, step))
        found.append(StepLoss(step, mechanism, single, *mixed, joint=_stays_together(step)))
    return tuple(found)


@dataclass(frozen=True)
class Ledger:
    """The steps together, in each scope; every composition is made once.

    delta: at which `ends` are.   width: see `compose`.
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
        """A lower and an upper end of epsilon at delta, nats.

        A model in one piece tells at least what its reports tell one by one, and at most what they tell by name. More
        uses tell no less than fewer.
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
        """A lower end of the best attack's advantage over everything: no less than over a part of it."""
        return max(self.loss(scope, shuffled=shuffled).delta_bounds(0.0)[0] for scope in get_args(Scope))

    def _of_placed(self, scope: Scope, known: float) -> float:
        """A lower end from other clients that are all at one end; 0 where no step has it, or it is below `known`."""
        if scope == "one use" or not any(one.placed for one in self.losses):
            return 0.0
        loss = self._composed(scope, ((one.placed or one.shuffled or one.single, one) for one in self.losses))
        target = math.log(self.delta)
        above = tuple(law for law in loss.directions if not hint_of(law, target) < _CLEARLY * known)
        return PrivacyLoss(above).epsilon_bounds(self.delta)[0] if above else 0.0

    def _composed(self, scope: Scope, chosen: Iterable[tuple[PrivacyLoss, StepLoss]]) -> PrivacyLoss:
        return compose([(loss, one.times(self.protocol, scope)) for loss, one in chosen], width=self.width)

    def in_one_piece(self, scope: Scope) -> bool:
        """Whether reports that are mixed stay together with others of their client."""
        reports = (one.times(self.protocol, "one round") for one in self.losses if one.joint)
        return scope != "one use" and any(count > 1 for count in reports)


def _stays_together(step: Step) -> bool:
    return step.shuffling is not None and step.shuffling.kind == "model"


def label(one: StepLoss) -> str:
    """What a step is called."""
    return one.step.name or repr(one.mechanism)


def _shuffled(mechanism: Any, step: Step) -> tuple[PrivacyLoss | None, PrivacyLoss | None]:
    """With any other clients, and with all of them at one end; None where the step is not shuffled, or has no ends."""
    from ldp_audit.accounting.shuffling.shuffle import MOST_PLACED, shuffle

    if step.shuffling is None:
        return None, None
    clients = step.shuffling.clients
    two = isinstance(mechanism, TwoPoint) or (isinstance(mechanism, RandomizedResponse) and mechanism.k == 2)
    # A chosen client's law is not symmetric, as placing the others at one end needs; nor is there a huge epsilon's.
    fits = two and clients > 1 and step.sampling is None and mechanism.exact_epsilon() <= MOST_PLACED
    placed = PrivacyLoss(shuffle(mechanism, clients, others="one end").directions[:1]) if fits else None
    return shuffle(mechanism, clients), placed


def _sampled(mechanism: Any, sampling: Sampling | None, protocol: Protocol) -> PrivacyLoss:
    if sampling is None:
        return privacy_loss(mechanism)
    from ldp_audit.accounting.sampling.subsample import subsample

    rate, n, k = sampling.rate, sampling.n, sampling.k
    return subsample(mechanism, kind=sampling.kind, rate=rate, n=n, k=k, adjacency=protocol.adjacency)
