"""What the composed mechanisms read off the value mechanism inside them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.mechanisms import Gaussian, Laplace, Piecewise, RandomizedResponse, TwoPoint
from ldp_audit.mechanisms.inputs import finite_numbers
from ldp_audit.mechanisms.values.value_mechanism import (
    domain_of,
    implemented,
    in_domain,
    require_value,
    worst_ends,
)
from tests.mechanisms.four_points import FourPoints
from tests.together import together


@together(
    ("value", "domain"),
    [
        (TwoPoint(1.0, 3.0, 0.5), (2.5, 3.5)),
        (TwoPoint(1.0, 3.0, 0.5).implemented(8), (2.5, 3.5)),
        (Piecewise(1.0), (-1.0, 1.0)),
        (Piecewise(1.0).implemented(8), (-1.0, 1.0)),
        (Laplace(1.0, 3.0), (-1.5, 1.5)),
        (Gaussian(1.0, 2.0), (-1.0, 1.0)),
        (FourPoints(), (-1.0, 1.0)),
    ],
)
def test_the_domain_is_that_of_clip_or_has_the_width_of_the_sensitivity(value: Any, domain: tuple) -> None:
    assert domain_of(value) == domain
    assert sorted(worst_ends(value)) == list(domain)


def test_inputs_are_checked_or_clipped() -> None:
    value = TwoPoint(1.0, 0.1, 0.3)
    low, high = value.domain()
    ends = np.array([low, high], dtype=np.float32)
    assert in_domain("x", ends, value, clip=False).tolist() == [low, high]
    assert in_domain("x", np.array([-9, 9]), value, clip=True).tolist() == [low, high]
    tensor = in_domain("x", torch.tensor([9.0]), value, clip=True, xp=_torch())
    assert (tensor.dtype, tensor.tolist()) == (torch.float64, [high])
    with pytest.raises(ValueError, match="x must lie in"):
        in_domain("x", np.array([9.0]), value, clip=False)
    with pytest.raises(ValueError, match="x must be finite real numbers"):
        in_domain("x", np.array([math.nan]), value, clip=True)
    with pytest.raises(ValueError, match="x must be finite real numbers, got dtype complex128"):
        finite_numbers("x", np.array([1j]))


def test_what_is_no_value_mechanism_is_refused() -> None:
    require_value("value", FourPoints())
    require_value("value", RandomizedResponse(1.0))  # its worst pair, 0 and 1, is an interval
    with pytest.raises(ValueError, match=r"value must be a mechanism with .*: no exact_epsilon"):
        require_value("value", 1.0)
    with pytest.raises(ValueError, match=r"value must take the numbers of an interval, got .* \[-inf, inf\]"):
        require_value("value", _Unbounded())
    with pytest.raises(ValueError, match=r"value must offer implemented\(bits\) for this"):
        implemented("value", FourPoints(), 8)


class _Unbounded(FourPoints):
    def clip(self, x: Any) -> np.ndarray:
        return np.asarray(x)


def _torch() -> Any:
    import array_api_compat.torch

    return array_api_compat.torch
