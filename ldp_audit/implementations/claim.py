"""What is claimed, as the floats that it is compared as."""

from __future__ import annotations

from ldp_audit.auditing.arguments import check_claim


def claim_as_floats(claimed_epsilon: float | None, claimed_delta: float) -> tuple[float | None, float]:
    """Both as floats. Raises ValueError, as `check_claim` does, and for what no float is large enough for."""
    check_claim(claimed_epsilon, claimed_delta)
    try:
        return None if claimed_epsilon is None else float(claimed_epsilon), float(claimed_delta)
    except OverflowError:
        raise ValueError(
            f"claimed_epsilon must be a number >= 0, or None, got a {type(claimed_epsilon).__name__} beyond the "
            "largest float, 1.8e308; math.inf claims nothing"
        ) from None
