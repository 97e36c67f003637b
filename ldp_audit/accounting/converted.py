"""The result of a conversion between notions of privacy: a number, the direction of its error, and its source."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, Literal

from ldp_audit.numerics import exp_upwards

Kind = Literal["exact", "upper", "lower"]

_ROUNDING = 1e-12
"""The relative amount by which one-sided numbers are moved outwards: more than their arithmetic can be wrong."""


@dataclass(frozen=True)
class Converted:
    """A converted number.

    kind: "exact": that of the worst mechanism with the given guarantee, or of the given mechanism, right to 1e-12 of
    itself; "upper": never too small, and perhaps larger than need be; "lower": never too large.
    source: the theorem.   log_value: for a delta, its natural logarithm, which may lie below that of any float.
    """

    value: float
    kind: Kind
    source: str
    log_value: float | None = None

    @classmethod
    def exact(cls, value: float, source: str, *, of: float | None = None) -> Converted:
        """An exact number.

        of: the argument, if the number is 0 or infinite only where the argument is. Where it then underflows or
        overflows, it becomes an upper bound: the least positive float, or infinity.
        """
        if of is not None and ((of > 0 and value < sys.float_info.min) or (math.isinf(value) and math.isfinite(of))):
            return cls.upper(value, source, of=of)
        return cls(value, "exact", source)

    @classmethod
    def upper(cls, value: float, source: str, *, of: float = 0.0) -> Converted:
        """An upper bound, rounded up. of: as `exact` has it; 0 if not given."""
        raised = value + _ROUNDING * abs(value)
        return cls(max(raised, value + 2 * math.ulp(0.0)) if max(value, of) > 0 else raised, "upper", source)

    @classmethod
    def lower(cls, value: float, source: str) -> Converted:
        """A lower bound, rounded down."""
        lowered = value - _ROUNDING * abs(value)
        return cls(max(0.0, min(lowered, value - 2 * math.ulp(0.0))) if value > 0 else lowered, "lower", source)

    @classmethod
    def delta(cls, log: float, kind: Kind, source: str) -> Converted:
        """A delta, given by its logarithm; never 0 unless it is 0, rounded up where it is an upper bound."""
        if kind == "upper" and math.isfinite(log):
            log = min(0.0, log + _ROUNDING * max(1.0, abs(log)))
        return cls(exp_upwards(log), kind, source, log)

    def describe(self) -> str:
        """One line for people."""
        words = {"exact": "exactly", "upper": "at most", "lower": "at least"}[self.kind]
        number = f"{self.value:.9g}"
        if self.log_value is not None and self.value < 1e-300 and math.isfinite(self.log_value):
            number = f"e^{self.log_value:.9g}"
        return f"{words} {number} ({self.source})"

    def to_dict(self) -> dict[str, Any]:
        """For JSON; infinities are written as text."""
        found = {"value": plain(self.value), "kind": self.kind, "source": self.source}
        return found if self.log_value is None else {**found, "log_value": plain(self.log_value)}


def plain(value: float | None) -> float | str | None:
    """A number that JSON can hold."""
    return value if value is None or math.isfinite(value) else str(value)
