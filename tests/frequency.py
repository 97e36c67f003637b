"""The one function through which statistical tests go: an exact binomial test with a stated false-alarm rate."""

from __future__ import annotations

import math

FALSE_ALARM = 1e-6
"""The chance that a test fails although the sampler is right; for each call."""


def assert_frequency(hits: int, trials: int, probability: float, *, false_alarm: float = FALSE_ALARM) -> None:
    """Fail if so few or so many hits have a chance below false_alarm/2 under the stated probability."""
    lower = sum(math.exp(_log_mass(k, trials, probability)) for k in range(hits + 1))
    upper = sum(math.exp(_log_mass(k, trials, probability)) for k in range(hits, trials + 1))
    assert min(lower, upper) > false_alarm / 2, (
        f"{hits} of {trials} where {probability:.6g} is expected: "
        f"chance {min(lower, upper):.3g}, below {false_alarm / 2:.3g} (false-alarm rate {false_alarm:g})"
    )


def _log_mass(k: int, n: int, p: float) -> float:
    if p in (0.0, 1.0):
        return 0.0 if k == n * p else -math.inf
    choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return choose + k * math.log(p) + (n - k) * math.log1p(-p)
