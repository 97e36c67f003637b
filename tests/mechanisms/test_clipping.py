"""Clipping is explicit, moves nothing that is inside, and refuses NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ldp_audit.mechanisms import DuchiVector, Hybrid, Piecewise, TwoPoint
from tests.together import together

ROWS = [
    (TwoPoint(1.0, 0.5, 2.0), -1.5, 2.5),
    (Piecewise(1.0), -1.0, 1.0),
    (Hybrid(1.0), -1.0, 1.0),
    (DuchiVector(1.0, 3), -1.0, 1.0),
]


@together(("m", "low", "high"), ROWS)
def test_values_are_moved_to_the_nearest_end(m: Any, low: float, high: float) -> None:
    x = np.array([low - 1, low, 0.0, high, high + 9, -math.inf], dtype=np.float32)
    assert m.clip(x).tolist() == [low, low, 0.0, high, high, low]
    assert m.clip(x).dtype == np.float32


@together(("m", "low", "high"), ROWS)
def test_what_is_no_number_is_refused(m: Any, low: float, high: float) -> None:
    with pytest.raises(ValueError, match="x must not be NaN"):
        m.clip([low, math.nan])
    with pytest.raises(ValueError, match="x must be real numbers"):
        m.clip(["a", high])


def test_the_hybrids_law_has_total_one() -> None:
    m, x = Hybrid(1.0), 0.3
    points = TwoPoint(1.0).outputs()
    assert m.is_atom([*points, 0.0]).tolist() == [True, True, False]
    mass = sum(math.exp(m.log_prob(y, x)) for y in points)
    reach, (left, right) = Piecewise(1.0).reach(), (float(end) for end in Piecewise(1.0).inner(x))
    inner = (right - left) * math.exp(m.log_prob((left + right) / 2, x))
    outer = (2 * reach - (right - left)) * math.exp(m.log_prob(reach * 0.999, x))
    assert mass + inner + outer == pytest.approx(1, rel=1e-12)
    assert mass == pytest.approx(1 - m.mixing(), rel=1e-12)
    assert Hybrid(0.3).log_prob(0.0, x) == -math.inf
