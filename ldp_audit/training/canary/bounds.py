"""A canary's bounds: what the two worlds' outputs certainly show, beside what was promised.

`ldp_audit.audit` does it where repetitions are cheap. Where each is a training there are a few hundred, all drawn
beforehand: the first part chooses the event (a score above or below a threshold), the others are counted, and the
bound is the auditor's exact region of two binomial proportions (`auditing.bounds`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ldp_audit.auditing.audit_program import audit
from ldp_audit.auditing.bounds import Counts, Region
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.outputs import Outputs
from ldp_audit.auditing.result import CONSISTENT, VIOLATED, Witness, plain
from ldp_audit.training.canary.canary import Canary, Promise

Progress = Callable[[str], None] | None

_SEARCHED = 0.4
"""The share of few samples that chooses the event."""

_DOUBT = 3.0  # standard deviations

Bound = dict[str, Any]
"""Of one delta: "epsilon_lower"; "delta_lower", at epsilon 0, or None; "witness", "trials" of a world, "samples"."""


def canary_bounds(
    canary: Canary, *, samples: int | None, error: float, seed: int, progress: Progress = None
) -> dict[str, Any]:
    """The canary's result, JSON-ready; all its bounds hold together with probability >= 1 - error.

    samples: repetitions of each world; None for the canary's own.   error: in (0, 0.5].   seed: of the repetitions.
    """
    start = time.perf_counter()
    count, deltas = samples or canary.samples, canary.deltas()
    if canary.trained:
        found = _of_few(canary, count, error, seed)
    else:
        error_of_each = error / len(deltas)
        found = [_of_many(canary, delta, count, error_of_each, seed, progress) for delta in deltas]
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
        "most_that_could_be_seen": _ceiling(best["trials"], error / len(deltas)),
        "confidence": 1 - error,
        "witness": best["witness"],
        "samples": sum(bound["samples"] for bound in found) if not canary.trained else 2 * count,
        "seconds": time.perf_counter() - start,
        "assumes": list(canary.assumes),
    }


def _verdict(promised: list[dict[str, Any]]) -> str:
    """Against what the run should keep: the paper's own numbers have verdicts of their own."""
    broken = any(one["verdict"] == VIOLATED and one["by"] == "exact" for one in promised)
    return VIOLATED if broken else CONSISTENT


def _of_many(canary: Canary, delta: float, samples: int, error: float, seed: int, progress: Progress) -> Bound:
    """By `audit`: it searches for an event and counts it on fresh repetitions."""
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


def _of_few(canary: Canary, samples: int, error: float, seed: int) -> list[Bound]:
    """One event and one region for all deltas: its bounds hold at once."""
    first, second = (_drawn(canary, world, samples, seed) for world in (0, 1))
    searched = int(_SEARCHED * samples)
    trials = samples - searched
    event, swapped, gap = _threshold(first[:searched], second[:searched])
    tested = [event.count(Outputs(one[searched:])) for one in (first, second)]
    likelier, other = (1, 0) if swapped else (0, 1)
    counts = Counts(tested[likelier], trials, tested[other], trials)
    region = Region(counts, error, 0.0, gap / 2)  # at the whole gap no probability below 1 would be allowed for
    witness = Witness((likelier, other), event, counts)
    return [_bound(delta, region.epsilon_lower(delta), witness, 2 * samples, region) for delta in canary.deltas()]


def _drawn(canary: Canary, world: int, samples: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(world,)))
    found = np.asarray(canary.draw(world, samples, rng), dtype=np.float64)
    if found.shape != (samples,) or np.isnan(found).any():
        raise ValueError(f"draw must give {samples} numbers in world {world}, got shape {found.shape}, or NaN")
    return found


def _threshold(first: np.ndarray, second: np.ndarray) -> tuple[Event, bool, float]:
    """The half-line of the greatest difference of shares, less its doubt; whether it is likelier in the second world.

    Also that difference. A rare event shows a small difference better than a frequent one.
    """
    levels, n = np.unique(np.concatenate([first, second])), len(first)
    p, q = (1 - np.searchsorted(np.sort(one), levels, side="left") / n for one in (first, second))
    doubt = _DOUBT * np.sqrt((p * (1 - p) + q * (1 - q) + 1 / n) / n)
    place = int(np.argmax(np.abs(p - q) - doubt))
    gap = float(p[place] - q[place])
    return Event(((float(levels[place]), math.inf),)), gap < 0, abs(gap)


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


def _ceiling(trials: int, error: float) -> float:
    """The pure epsilon that so many trials show of an event that always happens in one world, never in the other."""
    return Region(Counts(trials, trials, 0, trials), error, 10.0).epsilon_lower()
