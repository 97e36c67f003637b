"""A witness counted again by nothing but the text of its predicate, on the samples that the audit counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ldp_audit.auditing.bounds import Counts
from ldp_audit.auditing.program import CALLS, SEARCH, Program
from ldp_audit.auditing.result import AuditResult, Witness
from ldp_audit.auditing.test import Test, call_size, count_all

LINE = 100


def counted_by_its_text(witness: Witness, sampler: Any, inputs: Sequence[Any], seed: int = 0) -> Counts:
    """The samples of the test are drawn again, by their keys, and kept as the program returns them."""
    seen: list[list[Any]] = [[], []]

    def recorded(x: Any, n: int, rng: np.random.Generator) -> Any:
        raw = sampler(x, n, rng)
        seen[0 if _same(x, witness.inputs[0]) else 1].extend(list(raw))
        return raw

    program = Program(recorded, seed, structure=witness.event.structure)
    program.learn_dimension(inputs[0], (SEARCH, 0))
    seen[:] = [], []
    places = tuple(next(i for i, x in enumerate(inputs) if _same(x, one)) for one in witness.inputs)
    trials = witness.counts.trials
    rows, stage = (1, {"stage": CALLS}) if witness.calls_for_one else (call_size(trials, program.rows), {})
    (again,) = count_all(Test((witness.event,), witness.inputs, places, trials, rows, **stage), program)
    assert again == witness.counts, "these are not the samples of the audit"
    scope: dict[str, Any] = {}
    assert witness.event.python is not None
    exec(witness.event.python, scope)
    hits, other = (sum(map(scope["event"], side)) for side in seen)
    return Counts(hits, len(seen[0]), other, len(seen[1]))


def assert_a_person_can_count(result: AuditResult, sampler: Any, inputs: Sequence[Any]) -> None:
    """Its witness is a line of 100 characters at most, and its text counts what the audit counted."""
    assert len(result.witness.event.describe()) <= LINE, result.witness.event.describe()
    assert counted_by_its_text(result.witness, sampler, inputs, result.seed) == result.witness.counts, (
        f"{result.witness.event.describe()}\n{result.witness.event.python}"
    )


def _same(x: Any, other: Any) -> bool:
    return repr(x) == repr(other)
