"""What a test of fit found: the p-value, the event furthest from the law, and what the run would have caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ldp_audit.auditing.result import plain, shown

DIFFERS, CONSISTENT = "differs", "consistent"

_SAYS = {
    "likeliest": "of the likeliest outputs together, over the inputs",
    "pooled": "of one output, or one half-line, over all inputs",
    "cells": "of any one cell on one input",
    "half-lines": "of any one half-line on one input",
}


@dataclass(frozen=True)
class FitWitness:
    """The event whose count lies furthest from the law, as p-values go.

    inputs: those on which it was counted.   cell: the event in words.   hits of trials were seen, expected is the
    law's probability, an average over the inputs.   p_value: with the price of all other events.
    detectable: the smallest change of its probability that is caught with probability 0.95.
    """

    inputs: tuple[Any, ...]
    cell: str
    hits: int
    trials: int
    expected: float
    p_value: float
    detectable: float

    @property
    def observed(self) -> float:
        """The share of hits."""
        return self.hits / self.trials

    def describe(self) -> str:
        """In words, one line."""
        where = f"input {shown(self.inputs[0])}" if len(self.inputs) == 1 else f"{len(self.inputs)} inputs together"
        return f"{self.cell}, on {where}: {self.hits} of {self.trials} ({self.observed:.6g}), law {self.expected:.6g}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "words": self.describe(),
            "inputs": [plain(x) for x in self.inputs],
            "cell": self.cell,
            "hits": self.hits,
            "trials": self.trials,
            "observed": self.observed,
            "expected": self.expected,
            "p_value": self.p_value,
            "detectable": self.detectable,
        }


@dataclass(frozen=True)
class FitResult:
    """The outcome of `fit`.

    verdict: "differs" with probability at most 1 - confidence for a sampler that follows the law.
    p_value: of everything that was tested together; 0 only for an output that the law excludes.
    detectable: for each kind of event the largest of its smallest changes that are caught with probability 0.95.
    tests: how many events were tested.   budget: how much of the error each kind may spend.
    """

    verdict: str
    p_value: float
    confidence: float
    witness: FitWitness
    detectable: dict[str, float]
    tests: int
    samples_used: int
    seconds: float
    seed: int
    budget: dict[str, float]
    notes: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether the sampler's law is another one, at the stated confidence."""
        return self.verdict == DIFFERS

    def describe(self) -> str:
        """A few lines for people; no verdict comes without the changes that would have been caught."""
        lines = [
            f"{self.verdict}: p-value {self.p_value:.3g} of {self.tests} events together, "
            f"confidence {self.confidence:.10g}",
            f"  furthest from the law: {self.witness.describe()}",
        ]
        lines += [
            f"  a change by {change:.3g} {_SAYS[kind]} is caught with probability 0.95"
            for kind, change in self.detectable.items()
        ]
        lines += [f"  note: {note}" for note in self.notes]
        lines.append(f"  {self.samples_used} samples in {self.seconds:.2f} s, seed {self.seed}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "schema_version": 1,
            "kind": "fit",
            "verdict": self.verdict,
            "p_value": self.p_value,
            "confidence": self.confidence,
            "witness": self.witness.to_dict(),
            "detectable": self.detectable,
            "tests": self.tests,
            "samples_used": self.samples_used,
            "seconds": self.seconds,
            "seed": self.seed,
            "budget": self.budget,
            "notes": list(self.notes),
        }
