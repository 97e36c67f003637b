"""Programs that repeat themselves: a fixed seed, a small one, a cache. Many small calls show what one large one hides.

Each call asks for one output, with a fresh generator. An honest program's outputs are then as independent as ever, and
this is one more test of an event; a program that ignores the generator, or keeps few of its bits, gives outputs that it
gave before on the one input and not on the other. Seeds of more than about ten bits are beyond these few calls.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from ldp_audit.auditing.counts.counting import CALLS, Test
from ldp_audit.auditing.event import Event
from ldp_audit.auditing.outputs import NOT_A_LABEL, Outputs
from ldp_audit.auditing.program import Program
from ldp_audit.auditing.scores.equals import Equals
from ldp_audit.auditing.two_proportions import Counts, Region

FIRST_CALLS = 128
"""Calls of each input before a test is proposed."""
_FEWEST_CALLS = 16  # and where samples are few: a fixed seed shows in these, one of 8 bits in the usual number
_MOST_CALLS = 1000


def first_calls(samples: int) -> int:
    """Calls of each input that an audit of so many samples begins with: one for fifty samples, 16 to 128, even."""
    return min(FIRST_CALLS, max(_FEWEST_CALLS, samples // 100 * 2))


def suspected_by_few(
    program: Program, inputs: Sequence[Any], places: tuple[int, int], error: float, claimed: float, samples: int
) -> tuple[Test | None, int]:
    """As `suspected`, from `first_calls` first, and from all only where those raise a suspicion; and how many it took.

    samples: of each input, of the whole audit.
    """
    few = first_calls(samples)
    keys = _seen(program, inputs, places, range(few))
    test = _proposed(keys, inputs, places, error, claimed)
    if test is None or few == FIRST_CALLS:
        return test, few
    more = _seen(program, inputs, places, range(few, FIRST_CALLS))
    keys = [one + two for one, two in zip(keys, more, strict=True)]
    return _proposed(keys, inputs, places, error, claimed), FIRST_CALLS


def suspected(
    program: Program, inputs: Sequence[Any], places: tuple[int, int], error: float, claimed: float
) -> Test | None:
    """A test of outputs that one input gives again and the other does not; None where none promises a violation.

    The first half of the calls names the outputs, the second says whether they come again.
    """
    return _proposed(_seen(program, inputs, places, range(FIRST_CALLS)), inputs, places, error, claimed)


def _seen(program: Program, inputs: Sequence[Any], places: tuple[int, int], calls: range) -> list[list[Hashable]]:
    """What these calls gave, on either input."""
    return [[_key(program.outputs(inputs[place], 1, (CALLS, 0, place, call))) for call in calls] for place in places]


def _proposed(
    seen: list[list[Hashable]], inputs: Sequence[Any], places: tuple[int, int], error: float, claimed: float
) -> Test | None:
    half = len(seen[0]) // 2
    for one, two in ((0, 1), (1, 0)):
        usual = _own(seen[one][:half], seen[two][:half])
        hits, other = (sum(key in usual for key in keys[half:]) for keys in (seen[one], seen[two]))
        if not hits:
            continue
        needed = 4 * -math.log(error) * (1 + math.exp(min(claimed, 10.0)) * half / hits)
        calls = min(_MOST_CALLS, math.ceil(needed))
        expected = Counts(calls * hits // half, calls, calls * other // half, calls)
        if Region(expected, error, max(1.0, claimed), fineness=0.02).exceeds(claimed):
            pair = (inputs[places[one]], inputs[places[two]])
            return Test((_event(usual),), pair, (places[one], places[two]), calls, 1, CALLS)
    return None


def _own(keys: list[Any], others: list[Any]) -> set[Any]:
    """What is seen on the one input alone; of vectors only the most frequent."""
    known = set(others)
    counts = Counter(key for key in keys if key not in known)
    if counts and isinstance(next(iter(counts)), tuple) and next(iter(counts))[:1] != ("label",):
        return {counts.most_common(1)[0][0]}
    return set(counts)


def _key(outputs: Outputs) -> Hashable:
    if outputs.labels is not None and outputs.labels[0] is not NOT_A_LABEL:
        return ("label", outputs.labels[0])
    numbers = outputs.known_numbers
    return float(numbers[0]) if numbers.ndim == 1 else tuple(map(float, numbers[0]))


def _event(keys: set[Any]) -> Event:
    numbers = sorted(key for key in keys if isinstance(key, float))
    labels = tuple(sorted((key[1] for key in keys if not isinstance(key, float) and key[:1] == ("label",)), key=repr))
    if numbers or labels:
        return Event(tuple((number, math.nextafter(number, math.inf)) for number in numbers), labels)
    return Event(intervals=((0.5, math.inf),), score=Equals(next(iter(keys))))
