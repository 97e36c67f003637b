"""The audit of a training run: lower bounds on epsilon from two neighbouring runs, beside the promised values.

A canary is one unit of a run's data in two versions. Worlds 0 and 1 are neighbouring runs that agree in everything
else. `draw` repeats random steps of the run in one of them and returns the observer's view or a function of it; by
post-processing a lower bound from a function of the view holds for the view.

`ldp_audit.audit` computes the bound if repetitions are cheap. If each is a training there are a few hundred, all drawn
beforehand: one part selects the event (a score above or below a threshold), the rest is counted, and the bound comes
from the auditor's exact confidence region of two binomial proportions (`auditing.bounds`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
import torch

from ldp_audit.auditing.audit_program import audit
from ldp_audit.auditing.bounds import Counts, Region, check_claim, check_confidence
from ldp_audit.auditing.membership import most_significant, tested
from ldp_audit.auditing.result import CONSISTENT, VIOLATED, Witness, plain
from ldp_audit.numerics import whole
from ldp_audit.progress import silent

if TYPE_CHECKING:
    from ldp_audit.training.datasets import Images, Table
    from ldp_audit.training.pipeline import Plan, Run


__all__ = ["Canary", "Promise", "audit_run", "canary_bounds"]

Progress = Callable[[str], None]

Promisor = Literal["paper", "exact"]
"""Origin of a promise: the paper's own accounting, or the exact mathematics of the described run."""


@dataclass(frozen=True)
class Promise:
    """An (epsilon, delta) that bounds what the canary's observer learns.

    by: see `Promisor`.   says: what is bounded and why, in words.   epsilon: nats, >= 0, may be infinite.   delta: in
        [0, 1).
    Raises ValueError for anything else.
    """

    by: Promisor
    says: str
    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if self.by not in ("paper", "exact"):
            raise ValueError(f"by must be paper or exact, got {self.by!r}")
        if math.isnan(self.epsilon):
            raise ValueError(f"epsilon must be a number >= 0, got {self.epsilon!r}")
        check_claim(self.epsilon, self.delta)


@dataclass(frozen=True)
class Canary:
    """Two neighbouring runs as one observer sees them.

    unit: whose data differ: "client", "weight", "user", "record".   observer: the observer's view, in words.
    worlds: the canary in world 0 and in world 1, in words.
    draw: (world, n, rng) -> n independent outputs, one per repetition: numbers, labels, or (n, k) vectors.
    promises: one or more.   assumes: the attacker's knowledge, and which part of the run is repeated, in sentences.
    samples: repetitions of each world, by default.
    trained: whether a repetition is a training; there are then few repetitions.
    Raises ValueError for no promises, and fewer than 10 samples.
    """

    unit: str
    observer: str
    worlds: tuple[str, str]
    draw: Callable[[int, int, np.random.Generator], Any]
    promises: tuple[Promise, ...]
    assumes: tuple[str, ...]
    samples: int = 100_000
    trained: bool = False

    def __post_init__(self) -> None:
        if not self.promises:
            raise ValueError("promises must be one or more, got none")
        whole(self.samples, "samples", 10)

    def deltas(self) -> tuple[float, ...]:
        """The distinct deltas of the promises, in their order."""
        return tuple(dict.fromkeys(promise.delta for promise in self.promises))


_SELECTION_SHARE = 0.4
"""The share of the trainings that selects the event."""

Bound = dict[str, Any]
"""At one delta: "epsilon_lower"; "delta_lower", at epsilon 0, or None; "witness", "trials" of a world, "samples"."""


@runtime_checkable
class Audited(Protocol):
    """A run that can be audited; a user's own pipeline may implement it."""

    def canaries(self) -> Iterable[Canary | str]:
        """The canaries before the first round; a text announces a long computation, or says why there are none."""
        ...


def canary_bounds(
    canary: Canary, *, samples: int | None, error: float, seed: int, progress: Progress | None = None
) -> dict[str, Any]:
    """The canary's result, JSON-ready; all its bounds hold together with probability >= 1 - error.

    samples: repetitions of each world; None for the canary's own.   error: in (0, 0.5].   seed: of the repetitions.
    """
    start = time.perf_counter()
    count, deltas = samples or canary.samples, canary.deltas()
    if canary.trained:
        found = _bounds_of_trainings(canary, count, error, seed)
    else:
        error_of_each = error / len(deltas)
        found = [_bound_by_audit(canary, delta, count, error_of_each, seed, progress) for delta in deltas]
    bounds = {bound["delta"]: bound for bound in found}
    promised = [_compared(promise, bounds[promise.delta]) for promise in canary.promises]
    best = max(found, key=lambda bound: bound["epsilon_lower"])
    return {
        "unit": canary.unit,
        "observer": canary.observer,
        "worlds": list(canary.worlds),
        "verdict": _verdict(promised),
        "promised": promised,
        "epsilon_lower": best["epsilon_lower"],
        "delta": best["delta"],
        "delta_lower": best["delta_lower"],
        "most_that_could_be_seen": _largest_provable(best["trials"], error / len(deltas)),
        "confidence": 1 - error,
        "witness": best["witness"],
        "samples": sum(bound["samples"] for bound in found) if not canary.trained else 2 * count,
        "seconds": time.perf_counter() - start,
        "assumes": list(canary.assumes),
    }


def _verdict(promised: list[dict[str, Any]]) -> str:
    """The verdict against the exact promises; a paper's claims have verdicts of their own."""
    broken = any(one["verdict"] == VIOLATED and one["by"] == "exact" for one in promised)
    return VIOLATED if broken else CONSISTENT


def _bound_by_audit(
    canary: Canary, delta: float, samples: int, error: float, seed: int, progress: Progress | None
) -> Bound:
    """A bound by `audit`, which searches for an event and counts it on fresh repetitions."""
    exact = [one.epsilon for one in canary.promises if one.delta == delta and one.by == "exact"]
    claimed = min(exact, default=min(one.epsilon for one in canary.promises if one.delta == delta))
    result = audit(
        canary.draw,
        (0, 1),
        claimed if math.isfinite(claimed) else None,
        delta,
        samples=samples,
        confidence=1 - error,
        seed=seed,
        progress=progress,
    )
    return _bound(delta, result.epsilon_lower, result.witness, result.samples_used, None)


def _bounds_of_trainings(canary: Canary, samples: int, error: float, seed: int) -> list[Bound]:
    """Bounds at all deltas from one event and one confidence region: they hold simultaneously."""
    first, second = (_drawn(canary, world, samples, seed) for world in (0, 1))
    searched = int(_SELECTION_SHARE * samples)
    choice = most_significant(first[:searched], second[:searched])
    witness = tested(choice, (0, 1), first[searched:], second[searched:])
    p, q = choice.seen.frequencies
    region = Region(witness.counts, error, 0.0, (p - q) / 2)  # all of p - q would leave no slack
    return [_bound(delta, region.epsilon_lower(delta), witness, 2 * samples, region) for delta in canary.deltas()]


def _drawn(canary: Canary, world: int, samples: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(world,)))
    found = np.asarray(canary.draw(world, samples, rng), dtype=np.float64)
    if found.shape != (samples,) or np.isnan(found).any():
        raise ValueError(f"draw must give {samples} numbers in world {world}, got shape {found.shape}, or NaN")
    return found


def _bound(delta: float, epsilon: float, witness: Witness, samples: int, region: Region | None) -> Bound:
    return {
        "delta": delta,
        "epsilon_lower": epsilon,
        "delta_lower": None if region is None else region.delta_lower(0.0),
        "witness": witness.to_dict(),
        "trials": witness.counts.trials,
        "samples": samples,
    }


def _compared(promise: Promise, bound: Bound) -> dict[str, Any]:
    return {
        "by": promise.by,
        "says": promise.says,
        "epsilon": plain(promise.epsilon),
        "delta": promise.delta,
        "epsilon_lower": bound["epsilon_lower"],
        "verdict": VIOLATED if bound["epsilon_lower"] > promise.epsilon else CONSISTENT,
    }


def _largest_provable(trials: int, error: float) -> float:
    """The pure epsilon that so many trials show of an event that always happens in one world and never in the other."""
    return Region(Counts(trials, trials, 0, trials), error, 10.0).epsilon_lower()


def audit_run(
    plan: Plan,
    data: Images | Table,
    seed: int,
    *,
    samples: int | None = None,
    confidence: float = 0.999,
    device: torch.device,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Audit the run that this plan starts on these data.

    seed: of the run and of the repetitions.   samples: repetitions of each world, >= 10; None for each canary's own
        number.   confidence: in [0.5, 1), of all bounds together.   progress: called with a line now and then.
    returns, JSON-ready: "verdict", "violated" if a bound exceeds an exact promise; "observers", a result of
    `canary_bounds` each: "unit", "observer", "promised" (each with its own verdict), "epsilon_lower", "confidence",
    "witness", "samples", "seconds", "assumes", ...; "why_not", if there is nothing to audit.
    Raises ValueError for bad arguments, and if the data do not fit the plan.
    """
    check_confidence(confidence)
    whole(seed, "seed", 0)
    if samples is not None:
        whole(samples, "samples", 10)
    start, say = time.perf_counter(), progress or silent
    run = plan.start(data, seed=seed, device=device)
    canaries, said = _canaries(run, say)
    results = []
    for place, canary in enumerate(canaries, start=1):
        say(f"audit: observer {place} of {len(canaries)}: {canary.observer}")
        error = (1 - confidence) / len(canaries)
        results.append(canary_bounds(canary, samples=samples, error=error, seed=seed, progress=progress))
    broken = any(one["verdict"] == VIOLATED for one in results)
    return {
        "verdict": VIOLATED if broken else CONSISTENT,
        "confidence": confidence,
        "seed": seed,
        "observers": results,
        "why_not": None if results else _why_not(run, said),
        "seconds": time.perf_counter() - start,
    }


def _canaries(run: Run, say: Progress) -> tuple[list[Canary], str | None]:
    """The canaries, and the last text between them."""
    found, said = [], None
    for one in run.canaries() if isinstance(run, Audited) else ():
        if isinstance(one, str):
            said = one
            say(one)
        else:
            found.append(one)
    return found, said


def _why_not(run: Run, said: str | None) -> str:
    if run.protocol() is None:
        return "this run promises no privacy that could be broken"
    return said or f"runs of {type(run).__module__} have no canaries"
