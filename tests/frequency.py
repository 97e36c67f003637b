"""What statistical tests go through: exact binomial tests with a stated false-alarm rate."""

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


def assert_at_most(hits: int, trials: int, rate: float) -> None:
    """Fail if so many hits have a chance of at most FALSE_ALARM at this rate. Fewer are never wrong."""
    chance = float(special.bdtrc(hits - 1, trials, rate)) if hits else 1.0
    assert chance > FALSE_ALARM, f"{hits} of {trials} where at most {rate:g} is promised: chance {chance:.3g}"


def assert_at_least(hits: int, trials: int, rate: float) -> None:
    """Fail if so few hits have a chance of at most FALSE_ALARM at this rate. More are never wrong."""
    chance = float(special.bdtr(hits, trials, rate))
    assert chance > FALSE_ALARM, f"{hits} of {trials} where {rate:g} is promised: chance {chance:.3g}"
