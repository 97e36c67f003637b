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
