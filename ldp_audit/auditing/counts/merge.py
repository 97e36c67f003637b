"""Counts of several runs, from several machines, added up to one bound.

The sum of binomial counts of one event on one pair is binomial, and its bound exact, if
- the event, its direction, the pair, the claim and the design were fixed before any of the samples was drawn: the other
  runs took them from the first one's file (`--confirm FIRST --seed K`), which may be its state as soon as the search is
  through;
- the samples are all different: no two parts share a seed, a stage and a chunk;
- which runs are merged, and how long each is, was settled before their counts were seen: merge all of them. A run that
  was killed, or whose program failed, has counts that a kill did not choose, and counts too.
The first two are checked here, the third is yours. The search's samples are never among the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from typing import Any

from ldp_audit.auditing.confirm import input_of, result_of
from ldp_audit.auditing.counts.record import KeyedCounts, Record, record_in
from ldp_audit.auditing.result import AuditResult, plain

_SAME = ("target", "inputs", "calls_for_one", "claimed_epsilon", "claimed_delta", "confidence", "design_epsilon")


def merge(documents: Sequence[tuple[str, Any]]) -> AuditResult:
    """One result from several: pairs of a name, for messages, and the JSON of a result or of an audit's state.

    Raises ValueError that says why where they cannot be added up.
    """
    if len(documents) < 2:
        raise ValueError(f"merge needs two files or more, got {len(documents)}")
    records = [(name, record_in(document, name)) for name, document in documents]
    first_name, first = records[0]
    for name, record in records[1:]:
        _require_same(first_name, first, name, record)
    parts = [(name, part) for name, record in records for part in record.parts]
    if not parts:
        raise ValueError(f"{', '.join(name for name, _ in records)} hold no counts yet")
    _require_apart(parts)
    counts = reduce(lambda total, more: total + more, (part.counts for _, part in parts))
    merged = replace(
        first,
        parts=tuple(part for _, part in parts),
        coverage_floor=min(record.coverage_floor for _, record in records),
    )
    note = f"merged from {', '.join(name for name, _ in records)}; seeds {', '.join(str(p.seed) for _, p in parts)}"
    inputs = (input_of(first.inputs[0]), input_of(first.inputs[1]))
    return result_of(merged, counts, inputs, parts[0][1].seed, (note,))


def _require_same(first_name: str, first: Record, name: str, record: Record) -> None:
    hint = f"only runs of one event can be added up: run the others with --confirm {first_name} and seeds of their own"
    if _bare(first) != _bare(record):
        raise ValueError(
            f"{first_name} and {name} are of different events, {first.event.describe()} and "
            f"{record.event.describe()}; {hint}"
        )
    for field in _SAME:
        one, other = getattr(first, field), getattr(record, field)
        if one != other:
            raise ValueError(f"{first_name} and {name} differ in {field}: {plain(one)!r} and {plain(other)!r}; {hint}")


def _bare(record: Record) -> dict[str, Any]:
    return {name: value for name, value in record.event.to_dict().items() if name != "words"}


def _require_apart(parts: Sequence[tuple[str, KeyedCounts]]) -> None:
    """No sample may be counted twice: a key is seed, stage, input and chunk."""
    ranges = [
        (part.seed, part.stage, first, last, place)
        for place, (_, part) in enumerate(parts)
        for first, last in part.chunks
    ]
    for (*key, _, last, place), (*next_key, first, _, other) in pairwise(sorted(ranges)):
        if key == next_key and first < last:
            names = " and ".join(parts[one][0] for one in sorted((place, other)))
            raise ValueError(
                f"{names} counted the same samples (seed {key[0]}), which must count only once; "
                "give each run a seed of its own"
            )
