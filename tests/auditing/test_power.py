"""Plans and detectable epsilons hold what they promise: power that is measured, not trusted."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldp_audit.auditing.bounds import Counts, Region
from ldp_audit.auditing.power import Reach, detectable_epsilon, plan
from tests.frequency import assert_at_least
from tests.together import together

RUNS = 300


def rejections(p: float, q: float, n: int, error: float, claimed: float, design: float, delta: float = 0.0) -> int:
    """Of RUNS simulated tests of the claim, with n trials on either input."""
    rng = np.random.default_rng([n, round(1000 * p)])
    draws = zip(rng.binomial(n, p, RUNS).tolist(), rng.binomial(n, q, RUNS).tolist(), strict=True)
    regions = (Region(Counts(x, n, y, n), error, design, delta, fineness=0.05) for x, y in draws)
    return sum(region.epsilon_lower(delta) > claimed for region in regions)


CASES = [
    (1.0, 1.5, 0.95, 0.95, 0.0, 0.5),
    (1.0, 1.2, 1 - 1e-9, 0.99, 0.0, 0.05),
    (0.0, 0.1, 0.95, 0.8, 0.0, 0.5),
    (4.0, 6.0, 0.999, 0.95, 0.0, 0.9),
    (1.0, 2.0, 0.95, 0.95, 0.1, 0.3),
    (0.5, 40.0, 0.95, 0.95, 0.0, 1.0),
]


@together(("claimed", "violation", "confidence", "power", "delta", "probability"), CASES)
def test_a_plan_has_its_power_and_wastes_little(
    claimed: float, violation: float, confidence: float, power: float, delta: float, probability: float
) -> None:
    n = plan(claimed, violation, confidence, power, claimed_delta=delta, probability=probability)
    q = (probability - delta) * math.exp(-violation)
    assert_at_least(rejections(probability, q, n, 1 - confidence, claimed, violation, delta), RUNS, power)
    z = 1.35 * (math.sqrt(-2 * math.log(1 - confidence)) + math.sqrt(-2 * math.log(1 - power)))  # above the quantiles
    deviations = probability * (1 - probability) / (probability - delta) ** 2 + (1 - q) / q
    assert n <= 10 + deviations * (z / (violation - claimed)) ** 2 + 20 * math.exp(claimed) / probability


def test_fewer_samples_than_planned_lack_the_power() -> None:
    """So the simulation can fail."""
    n = plan(1.0, 1.5, 0.95, 0.95)
    hits = rejections(0.5, 0.5 * math.exp(-1.5), n // 3, 0.05, 1.0, 1.5)
    with pytest.raises(AssertionError, match=f"{hits} of {RUNS} where"):
        assert_at_least(hits, RUNS, 0.95)


@together(
    ("probability", "trials", "error", "claimed", "delta"),
    [
        (0.5, 1000, 0.05, 1.0, 0.0),
        (0.05, 20_000, 1e-3, 1.0, 0.0),
        (0.9, 5000, 0.05, 0.0, 0.0),
        (0.5, 2000, 0.05, 1, 0.1),
    ],
)
def test_a_detectable_epsilon_is_detected_with_its_power(
    probability: float, trials: int, error: float, claimed: float, delta: float
) -> None:
    found = detectable_epsilon(probability, trials, error, claimed, delta)
    assert claimed < found < math.inf
    q = (probability - delta) * math.exp(-found)
    assert_at_least(rejections(probability, q, trials, error, claimed, found, delta), RUNS, 0.95)
    nearer = claimed + 0.4 * (found - claimed)  # the smallest one was asked for: well below it the power is gone
    q = (probability - delta) * math.exp(-nearer)
    with pytest.raises(AssertionError, match="is promised"):
        assert_at_least(rejections(probability, q, trials, error, claimed, nearer, delta), RUNS, 0.95)


def test_plan_and_detectable_epsilon_agree() -> None:
    n = plan(1.0, 1.3, 0.95, 0.95, probability=0.4)
    assert detectable_epsilon(0.4, n, 0.05, 1.0, 0.0) == pytest.approx(1.3, abs=0.01)


def test_what_no_test_can_detect_is_infinite() -> None:
    assert detectable_epsilon(0.5, 1, 0.05, 1.0, 0.0) == math.inf
    assert detectable_epsilon(0.01, 100, 0.05, 5.0, 0.0) == math.inf


def test_more_is_needed_for_less() -> None:
    usual = plan(1.0, 1.5)
    assert plan(1.0, 1.4) > usual
    assert plan(1.0, 1.5, confidence=0.999) > usual
    assert plan(1.0, 1.5, power=0.99) > usual
    assert plan(1.0, 1.5, probability=0.1) > usual
    assert plan(1.0, 1.5, claimed_delta=0.1) > usual


def test_even_odds_are_the_least_confidence_of_a_plan() -> None:
    assert plan(1.0, 1.5, confidence=0.5) < plan(1.0, 1.5, confidence=0.6)


def test_a_design_that_is_fixed_already_is_reckoned_with() -> None:
    """A region that is tight at 0 never exceeds a claim of 3 here, though one that is tight at the violation would."""
    p, trials, error, claimed = 0.4, 234, 0.35, 3.0
    found = detectable_epsilon(p, trials, error, claimed, 0.0)
    assert rejections(p, p * math.exp(-found), trials, error, claimed, 0.0) < RUNS // 2
    assert detectable_epsilon(p, trials, error, claimed, 0.0, design_epsilon=0.0) > found
    for design in (0.0, 1.0, 4.0):
        caught = detectable_epsilon(p, 2000, error, 1.0, 0.0, design_epsilon=design)
        assert 1.0 < caught < math.inf
        assert_at_least(rejections(p, p * math.exp(-caught), 2000, error, 1.0, design), RUNS, 0.95)


@together(
    ("counts", "delta", "finds"),
    [
        (Counts(500, 1000, 100, 1000), 0.0, True),
        (Counts(999, 1000, 995, 1000), 0.0, False),
        (Counts(100, 1000, 10, 1000), 0.2, False),
    ],
)
def test_an_event_that_cannot_show_a_violation_detects_nothing(counts: Counts, delta: float, finds: bool) -> None:
    """Audits and confirmations say the same of it; catches one that promises power at an event that always occurs."""
    assert math.isfinite(Reach(counts, 100_000, 0.001, 1.0, delta).detectable_epsilon) == finds
    assert Reach(counts, 100_000, 0.001, math.inf, delta).detectable_epsilon == math.inf


@together(
    ("arguments", "options", "says"),
    [
        ((-1.0, 1.0), {}, r"claimed_epsilon must be a finite number >= 0, got -1\.0"),
        ((math.inf, 1.0), {}, "claimed_epsilon must be a finite number >= 0, got inf"),
        ((math.nan, 1.0), {}, "claimed_epsilon must be a finite number >= 0, got nan"),
        ((1.0, 1.0), {}, r"violation must be .*, got 1\.0"),
        ((1.0, 0.5), {}, r"violation must be .*, got 0\.5"),
        ((1.0, math.inf), {}, "violation must be .*, got inf"),
        ((1.0, 2.0), {"confidence": 1.0}, r"confidence must be in \[0.5, 1\), got 1\.0"),
        ((1.0, 2.0), {"confidence": 0.4}, r"confidence must be in \[0.5, 1\), got 0\.4"),
        ((1.0, 2.0), {"power": 0.0}, r"power must be in \(0, 1\), got 0\.0"),
        ((1.0, 2.0), {"claimed_delta": 1.0}, r"claimed_delta must be in \[0, 1\), got 1\.0"),
        ((1.0, 2.0), {"probability": 0.0}, r"probability must be in \(claimed_delta, 1\], got 0\.0"),
        (
            (1.0, 2.0),
            {"probability": 0.1, "claimed_delta": 0.2},
            r"probability must be in \(claimed_delta, 1\], got 0\.1",
        ),
        ((1.0, 1.0 + 1e-9), {}, r"violation 1\.000000001 cannot be told from claimed_epsilon 1\.0 with 1e\+12 samples"),
    ],
)
def test_bad_plans_are_refused(arguments: tuple[float, float], options: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        plan(*arguments, **options)
