"""The one function through which statistical tests go: an exact binomial test with a stated false-alarm rate."""

from __future__ import annotations

from scipy import special

FALSE_ALARM = 1e-6
"""The chance that a test fails although the sampler is right; for each call."""


def assert_frequency(hits: int, trials: int, probability: float, *, false_alarm: float = FALSE_ALARM) -> None:
    """Fail if so few or so many hits have a chance below false_alarm/2 under the stated probability."""
    lower = float(special.bdtr(hits, trials, probability))
    upper = float(special.bdtrc(hits - 1, trials, probability)) if hits else 1.0
    assert min(lower, upper) > false_alarm / 2, (
        f"{hits} of {trials} where {probability:.6g} is expected: "
        f"chance {min(lower, upper):.3g}, below {false_alarm / 2:.3g} (false-alarm rate {false_alarm:g})"
    )
