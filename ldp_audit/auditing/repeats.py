"""Programs that repeat themselves: a fixed seed, a cache. Many outputs of one call hide it; many calls for one show it.

Each call asks for one output, with a fresh generator. An honest program's outputs are then as independent as ever, and
this is one more test of an event; a program that ignores the generator gives the same output again, and another on the
other input.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from ldp_audit.auditing.counting import CALLS, Test
from ldp_audit.auditing.event import Event
from ldp_audit.auditing.outputs import NOT_A_LABEL, Outputs
from ldp_audit.auditing.program import Program
from ldp_audit.auditing.scores.equals import Equals

_LOOKS = 10
_OFTEN = 9
_MOST_CALLS = 500


def suspected(
    program: Program, inputs: Sequence[Any], places: tuple[int, int], error: float, claimed: float
) -> Test | None:
    """A test of the first input's usual output, where that is unusual on the second; None where nothing repeats."""
    seen = [
        [_key(program.outputs(inputs[place], 1, (CALLS, 0, place, look))) for look in range(_LOOKS)] for place in places
    ]
    for one, two in ((0, 1), (1, 0)):
        usual, times = Counter(seen[one]).most_common(1)[0]
        if times >= _OFTEN and seen[two].count(usual) <= _LOOKS - _OFTEN:
            calls = min(_MOST_CALLS, math.ceil(2 * -math.log(error) * (1 + math.exp(min(claimed, 10.0)))))
            pair = (inputs[places[one]], inputs[places[two]])
            return Test((_event(usual),), pair, (places[one], places[two]), calls, 1, CALLS)
    return None


def _key(outputs: Outputs) -> Hashable:
    if outputs.labels is not None and outputs.labels[0] is not NOT_A_LABEL:
        return ("label", outputs.labels[0])
    numbers = outputs.known_numbers
    return float(numbers[0]) if numbers.ndim == 1 else tuple(map(float, numbers[0]))


def _event(key: Any) -> Event:
    if isinstance(key, float):
        return Event(intervals=((key, math.nextafter(key, math.inf)),))
    if key[:1] == ("label",):
        return Event(labels=(key[1],))
    return Event(intervals=((0.5, math.inf),), score=Equals(key))
