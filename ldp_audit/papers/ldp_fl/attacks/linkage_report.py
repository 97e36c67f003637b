"""Parameter shuffling: the paper's claim, what an observer learns, and the number of clients that the claim requires.

LDP-FL claims that split, shuffled and delayed reports cannot be linked, so that a client spends the epsilon of one
weight. The report compares this with the membership test, which links nothing (`membership`), and with the attacks that
link by time, value or id.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ldp_audit.accounting.protocols.protocol_report import table as table_of
from ldp_audit.accounting.shuffling.anonymous_counts import MOST_CLIENTS, Others, anonymous_count
from ldp_audit.auditing.result import plain
from ldp_audit.numerics import whole
from ldp_audit.papers.ldp_fl.attacks.attacks import attacks
from ldp_audit.papers.ldp_fl.attacks.attribution import Attribution, table
from ldp_audit.papers.ldp_fl.attacks.membership_limit import (
    Advantage,
    advantage,
    break_even_clients,
    check_delta,
    compose_counts,
    compose_signals,
    limit_advantage,
    signal,
    smallest_dimension,
)
from ldp_audit.papers.ldp_fl.attacks.membership_simulation import SimulatedTest, simulate

PLACINGS: tuple[Others, ...] = ("one end", "center")
"""The other clients' weights: for many counts, the worst and the best case for the target."""

WANTED = 0.99
"""The advantage at which a client counts as detected."""


@dataclass(frozen=True)
class MembershipView:
    """The membership test if the other clients' weights lie at one end of the range, or at its center.

    advantage: of the best test, in the normal limit of the exact distribution.   bounds: certain; None where the number
        of clients is too large to compute them.   simulated: by simulation, on request.
    weights_needed: the least number of weights with advantage 0.99, in the normal limit; None if there is none.
    weights_surely: the same, certain.
    central_epsilon: at the report's delta, for all counts together, nats; in the normal limit, but exact for one count.
    clients_needed: the least number for which (epsilon, delta) holds for all counts together, in the normal limit.
    """

    others: str
    advantage: float
    bounds: tuple[float, float] | None
    weights_needed: int | None
    weights_surely: int | None
    central_epsilon: float
    clients_needed: float
    simulated: SimulatedTest | None


@dataclass(frozen=True)
class LinkageReport:
    """The paper's claim and the findings for n clients, d weights, so many rounds, and epsilon a report.

    promised_advantage: the largest of any test if a client spends epsilon in all.
    pure_epsilon: at delta = 0.   views: the membership test, for each of PLACINGS.   attacks: those that link.
    """

    n: int
    d: int
    rounds: int
    epsilon: float
    delta: float
    promised_advantage: float
    pure_epsilon: float
    views: tuple[MembershipView, ...]
    attacks: tuple[Attribution, ...]
    seconds: float

    def describe(self) -> str:
        """A few lines of text."""
        counts = f"{self.rounds * self.d} counts: {self.d} weights, {self.rounds} rounds, {self.n} clients"
        lines = [
            f"promised: no report can be linked, so a client spends epsilon {self.epsilon:.6g} in all;",
            f"  then no test could tell what a client sent with an advantage above {self.promised_advantage:.6g}",
            f"learned from the anonymous counts, linking nothing ({counts})",
            *("  " + line for line in table_of(self._rows()).splitlines()),
            "  (told apart: the client's weights at opposite ends of the range; at a share s of it take weights / s^2)",
        ]
        if self.attacks:
            lines += ["learned by linking reports", *("  " + line for line in table(self.attacks).splitlines())]
        return "\n".join([*lines, f"{self.seconds:.2f} s"])

    def to_dict(self) -> dict[str, Any]:
        """For JSON; infinite numbers are the text "inf"."""
        views = [{name: plain(value) for name, value in asdict(view).items()} for view in self.views]
        for record, view in zip(views, self.views, strict=True):
            record["simulated"] = None if view.simulated is None else view.simulated.to_dict()
        return {
            "schema_version": 1,
            "kind": "linkage",
            "clients": self.n,
            "dimension": self.d,
            "rounds": self.rounds,
            "epsilon": plain(self.epsilon),
            "delta": self.delta,
            "promised_advantage": self.promised_advantage,
            "pure_epsilon": plain(self.pure_epsilon),
            "membership": views,
            "linking": [attack.to_dict() for attack in self.attacks],
            "seconds": self.seconds,
        }

    def _rows(self) -> list[list[str]]:
        views = self.views
        rows = [["", *(f"others at {view.others}" for view in views)]]
        rows.append(["advantage of the membership test", *(_share(view.advantage) for view in views)])
        runs = [view.simulated for view in views if view.simulated is not None]
        if runs:
            name = f"  simulated, {runs[0].trials} runs, confidence {runs[0].confidence:.6g}"
            ends = ((math.floor(run.low * 1e4) / 1e4, math.ceil(run.high * 1e4) / 1e4) for run in runs)
            rows.append([name, *(f"{low:.4f} .. {high:.4f}" for low, high in ends)])
        surely = ["-" if view.weights_surely is None else _whole(view.weights_surely) for view in views]
        exact = "exactly" if self.rounds * self.d == 1 else "about"
        return [
            *rows,
            [f"weights from which it is {WANTED}, about", *(_whole(view.weights_needed) for view in views)],
            *([["  for certain", *surely]] if "-" not in surely else []),
            [f"central epsilon at delta {self.delta:g}, {exact}", *(f"{view.central_epsilon:.6g}" for view in views)],
            ["central epsilon at delta 0", *(f"{self.pure_epsilon:.6g}" for _ in views)],
            [
                f"clients for ({self.epsilon:g}, {self.delta:g}) in all, about",
                *(_whole(view.clients_needed) for view in views),
            ],
        ]


def linkage_report(
    n: int,
    d: int,
    rounds: int,
    epsilon: float,
    *,
    delta: float = 1e-5,
    window: float | None = None,
    offset: float | None = None,
    trials: int = 0,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> LinkageReport:
    """The paper's claim and the findings.

    n: clients in a round.   d: weights.   rounds: in which the client takes part.   epsilon: of a report, nats, >= 0.
    delta: for the central epsilon, in [0, 1).   window, offset: the random delays are uniform on [0, window], and the
        target starts `offset` late (same unit); both or neither.   trials: simulated runs of the membership test, 0 for
        none.   seed: of the simulation.   Raises ValueError for bad input.
    """
    start = time.perf_counter()
    _check(n, d, rounds, trials, seed)
    check_delta(delta)
    if (window is None) != (offset is None):
        raise ValueError(f"window and offset must be given together, got window={window!r}, offset={offset!r}")
    rng = np.random.default_rng(seed)
    views = []
    for others in PLACINGS:
        run = None
        if trials:
            run = simulate(n, d, rounds, epsilon, trials=trials, rng=rng, others=others, progress=progress)
        views.append(_view(n, d, rounds, epsilon, delta, others, run))
    return LinkageReport(
        n=n,
        d=d,
        rounds=rounds,
        epsilon=epsilon,
        delta=delta,
        promised_advantage=math.tanh(epsilon / 2),
        pure_epsilon=rounds * d * epsilon,
        views=tuple(views),
        attacks=_attacks(n, d, rounds, epsilon, window, offset),
        seconds=time.perf_counter() - start,
    )


def _view(
    n: int, d: int, rounds: int, epsilon: float, delta: float, others: Others, run: SimulatedTest | None
) -> MembershipView:
    m = rounds * d
    needed = surely = None
    if n <= MOST_CLIENTS:
        laws = anonymous_count(n, epsilon, others=others)
        found = advantage(laws, m)
        central = laws.epsilon(delta) if m == 1 else compose_counts(laws, m).epsilon(delta)
        if laws.advantage() > 0:
            needed, surely = (smallest_dimension(laws, rounds, WANTED, surely=one) for one in (False, True))
    else:
        mu = math.sqrt(m * signal(n, epsilon, others=others))
        found = Advantage(limit_advantage(mu), math.nan, math.nan)
        central = compose_signals(n, epsilon, m, others=others).epsilon(delta)
        needed = None if mu == 0 else math.ceil(_NORMAL_TWICE**2 / (mu * mu / d))
    return MembershipView(
        others=others,
        advantage=found.value,
        bounds=None if math.isnan(found.low) else (found.low, found.high),
        weights_needed=needed,
        weights_surely=surely,
        central_epsilon=min(central, m * epsilon),
        clients_needed=break_even_clients(epsilon, rounds, d, epsilon, delta, others=others),
        simulated=run,
    )


_MOST_COUNTS = 10**15

_NORMAL_TWICE = 5.151658607097801
"""The mu at which 2 Phi(mu/2) - 1 is 0.99."""


def _attacks(
    n: int, d: int, rounds: int, epsilon: float, window: float | None, offset: float | None
) -> tuple[Attribution, ...]:
    if window is None:
        return ()
    return tuple(attacks(n, d, rounds, epsilon, window=window, offset=offset))


def _check(n: int, d: int, rounds: int, trials: int, seed: int) -> None:
    for name, value, least in (
        ("n", n, 1),
        ("d", d, 1),
        ("rounds", rounds, 1),
        ("trials", trials, 0),
        ("seed", seed, 0),
    ):
        whole(value, name, least)
    if d * rounds > _MOST_COUNTS:
        raise ValueError(f"d and rounds must give at most {_MOST_COUNTS:.0e} counts, got d={d!r}, rounds={rounds!r}")


def _share(number: float) -> str:
    """Four digits, rounded below 1 where the normal limit reaches it and the true advantage does not."""
    return "> 0.9999" if number > 0.9999 else f"{number:.4f}"


def _whole(number: float | None) -> str:
    if number is None or math.isinf(number):
        return "none suffice"
    return str(number) if number < 10**7 else f"{number:.4g}"
