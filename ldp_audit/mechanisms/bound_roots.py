"""The real roots of a polynomial, in many digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mpmath
from mpmath.libmp import NoConvergence

from ldp_audit.mechanisms.bound_parameters import NOTHING

_COARSE = 50
"""Digits of a root before it is polished."""


def real_roots(coefficients: Sequence[Any]) -> list[Any]:
    """At least all real roots; coefficients from the highest power down, none of its roots double.

    Raises ValueError where they are not found.
    """
    largest = max(map(abs, coefficients))
    first = next((i for i, c in enumerate(coefficients) if abs(c) > NOTHING * largest), len(coefficients))
    kept = list(coefficients[first:])
    if len(kept) < 2:
        return []
    try:
        with mpmath.workdps(_COARSE):
            roots = mpmath.polyroots(kept, maxsteps=500, extraprec=400)
    except NoConvergence:
        raise ValueError("the roots of a polynomial were not found; this law is not solved") from None
    near = mpmath.mpf(10) ** -20
    return [_polished(kept, mpmath.re(root)) for root in roots if abs(mpmath.im(root)) < near * (1 + abs(root))]


def _polished(coefficients: Sequence[Any], root: Any) -> Any:
    """The root in all digits, by Newton's steps."""
    for _ in range(6):
        height, slope = mpmath.polyval(coefficients, root, derivative=True)
        if not slope or not height:
            break
        root = root - height / slope
    return root
