"""The audit of a run: its canaries, one for each observer, with one confidence for all of their bounds together.

A pipeline of the user's own has canaries if its runs have a method `canaries() -> Iterable[Canary]`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ldp_audit.auditing.arguments import check_confidence, check_count, check_seed
from ldp_audit.auditing.result import CONSISTENT, VIOLATED
from ldp_audit.training.canary.bounds import canary_bounds
from ldp_audit.training.canary.canary import Canary

if TYPE_CHECKING:
    import torch

    from ldp_audit.training.datasets import Images, Table
    from ldp_audit.training.pipeline import Plan, Run

Progress = Callable[[str], None]

CANARIES = {
    "ldp_audit.training.ldp_fl": "ldp_audit.training.canary.ldp_fl",
    "ldp_audit.training.fedsel": "ldp_audit.training.canary.fedsel",
    "ldp_audit.training.fedmd_nfdp": "ldp_audit.training.canary.fedmd_nfdp",
}
"""By the package of a pipeline's runs, the module of its `canaries(run, *, data, seed, say) -> Iterator[Canary]`."""


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

    seed: of the run and of the repetitions.   samples: repetitions of each world, >= 10; None: what each canary is made
    for.   confidence: in [0.5, 1), of all bounds together.   progress: called with a line now and then.
    returns, JSON-ready: "verdict", "violated" where a bound is above what the exact mathematics promise; "observers",
    a result of `canary_bounds` each: "unit", "observer", "promised" (each with its own verdict), "epsilon_lower",
    "confidence", "witness", "samples", "seconds", "assumes", ...; "why_not", where there is nothing to audit.
    Raises ValueError for bad arguments, and where the data do not fit the plan.
    """
    check_confidence(confidence)
    check_seed(seed)
    if samples is not None:
        check_count("samples", samples, 10)
    start, say = time.perf_counter(), progress or _silent
    run = plan.start(data, seed=seed, device=device)
    canaries = list(_canaries(run, data, seed, say))
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
        "why_not": None if results else _why_not(run),
        "seconds": time.perf_counter() - start,
    }


def _silent(_: str) -> None:
    pass


def _canaries(run: Run, data: Any, seed: int, say: Progress) -> Iterable[Canary]:
    """The run's own, or those of a shipped pipeline."""
    own = getattr(run, "canaries", None)
    if own is not None:
        return own()
    module = CANARIES.get(type(run).__module__.rpartition(".")[0])
    if run.protocol() is None or module is None:
        return ()
    return import_module(module).canaries(run, data=data, seed=seed, say=say)


def _why_not(run: Run) -> str:
    if run.protocol() is None:
        return "nothing in this run is private, so nothing is promised that could be broken"
    return f"runs of {type(run).__module__} have no canaries"
