"""A law: what a library's sampler draws from, compared with an exact law of ldp-audit, output by output.

A `laws.py` beside a library's `program.py` has laws, each a function without parameters under `@law(...)`, which returns what
`as_sampler` takes, with the inputs and the outputs of the exact law. `finding.py` checks them with the library's findings.
"""

from __future__ import annotations

import runpy
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from finding import number, question_of

FALSE_ALARM = 1e-6  # of each comparison: a difference is said of somebody's code


@dataclass(frozen=True)
class Law:
    """A sampler with the exact law of the mechanism that the library names, and how they compare.

    place: of the sampler in the library's files, with the lines that draw.   law: makes the exact law.
    inputs: of the law.   samples: per input.   expected: "fits" or "differs".
    proof: by hand, why: the probabilities that the source has; where it differs, the law that it has instead.
    """

    glue: Callable[[], Any]
    title: str
    place: str
    law: Callable[[], Any]
    inputs: Any
    proof: str
    expected: str = "fits"
    samples: int = 100_000

    def question(self) -> str:
        """See `question_of`."""
        return question_of(self.glue)

    def compared(self) -> dict[str, Any]:
        """The record of one comparison: what `assert_fits` says at the false-alarm rate of this page."""
        from ldp_audit.auditing import LawMismatch, as_sampler, assert_fits

        start, exact = time.perf_counter(), self.law()
        settings = {"samples": self.samples, "false_alarm": FALSE_ALARM}
        try:
            verdict, found = "fits", assert_fits(as_sampler(self.glue), exact, list(self.inputs), **settings)
        except LawMismatch as mismatch:
            verdict, found = "differs", mismatch.result
        return {
            "question": self.question(),
            "law": repr(exact),
            "verdict": verdict,
            "p_value": number(found.p_value),
            "detectable": number(max(found.detectable.values())),
            "events": found.tests,
            "witness": found.witness.describe(),
            "samples_used": found.samples_used,
            "seconds": round(time.perf_counter() - start, 1),
        }


def law(**data: Any) -> Callable[[Callable[[], Any]], Law]:
    """The decorated function makes a sampler of the library; see `Law`."""
    return lambda glue: Law(glue, **data)


@cache
def laws_of(path: Path) -> list[Law]:
    """The laws beside one program; none where there is no such file."""
    laws = path.with_name("laws.py")
    names = runpy.run_path(str(laws)) if laws.exists() else {}
    return [one for one in names.values() if isinstance(one, Law)]
