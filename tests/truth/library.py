"""The only place where the library is asked: by its public names, in code that can be pasted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import ldp_audit.accounting
import ldp_audit.mechanisms
from ldp_audit.accounting.conversion import conversions
from ldp_audit.accounting.protocols.protocol import Protocol, Step
from ldp_audit.accounting.protocols.protocol_report import account

NAMES: dict[str, Any] = {
    "np": np,
    "inf": math.inf,
    "account": account,
    "Protocol": Protocol,
    "Step": Step,
    **{name: getattr(ldp_audit.accounting, name) for name in ldp_audit.accounting.__all__},
    **{name: getattr(ldp_audit.mechanisms, name) for name in ldp_audit.mechanisms.__all__},
    **{name: getattr(conversions, name) for name in conversions.__all__},
}

Bounds = tuple[float, float]


def ask(code: str) -> Bounds:
    """The lower and the upper bound that an expression in the public names gives.

    A conversion says from which side it holds; a single number is an upper bound; a calibration is its parameter and
    the nearest that is excluded.
    """
    answer = eval(code, dict(NAMES))
    if isinstance(answer, conversions.Converted):
        low = answer.value if answer.kind in ("exact", "lower") else -math.inf
        return low, answer.value if answer.kind in ("exact", "upper") else math.inf
    if hasattr(answer, "excluded"):
        return answer.value, answer.value if answer.excluded is None else answer.excluded
    if isinstance(answer, tuple):
        low, high = answer
        return float(low), float(high)
    if hasattr(answer, "lower"):
        return answer.lower, answer.epsilon
    return -math.inf, float(answer)
