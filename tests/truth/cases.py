"""The cases: number i is always the same question, whichever others are asked.

Each family draws code that can be pasted, and the truth beside it. `FAMILIES` says how often each comes in fifty cases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.truth.draws import Asked, Rng
from tests.truth.notions import calibration, conversion, trade_off
from tests.truth.questions import Question
from tests.truth.shuffles import shuffling
from tests.truth.singles import allocation, from_points, group, sampled, single, with_replacement
from tests.truth.sums import (
    finite_sum,
    laplace_sum,
    normal_sum,
    protocol,
    sampled_normal_sum,
    smooth_sum,
    three_valued_sum,
)


@dataclass(frozen=True)
class Case:
    """number, family: which.   code: what is asked of the library.   question: judges the answer."""

    number: int
    family: str
    code: str
    question: Question


def case(number: int, seed: int = 0) -> Case:
    """Case `number` of this seed."""
    family = family_of(number)
    code, question = FAMILIES[family][1](np.random.default_rng([seed, number]))
    return Case(number, family, code, question)


def family_of(number: int) -> str:
    return _CYCLE[number % len(_CYCLE)]


FAMILIES: dict[str, tuple[int, Callable[[Rng], Asked]]] = {
    "single": (8, single),
    "sampled": (5, sampled),
    "with replacement": (2, with_replacement),
    "group": (2, group),
    "allocation": (2, allocation),
    "shuffle": (5, shuffling),
    "finite sum": (6, finite_sum),
    "three-valued sum": (2, three_valued_sum),
    "normal sum": (3, normal_sum),
    "laplace sum": (3, laplace_sum),
    "sampled normal sum": (2, sampled_normal_sum),
    "smooth sum": (4, smooth_sum),
    "protocol": (1, protocol),
    "conversion": (5, conversion),
    "calibration": (2, calibration),
    "trade-off": (1, trade_off),
    "from points": (1, from_points),
}

_CYCLE = [name for name, (count, _) in FAMILIES.items() for _ in range(count)]
_CYCLE = [_CYCLE[i] for i in np.random.default_rng(0).permutation(len(_CYCLE))]
