"""LDP-FL, what shuffling leaves: the numbers, and twins that are false."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from sympy import Integer, Rational

from ldp_audit.accounting.shuffle import shuffle
from ldp_audit.claims.claim import Claims
from ldp_audit.claims.settling import settle
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms import TwoPoint
from ldp_audit.papers.ldp_fl.claims import amplification
from tests.together import together


@pytest.mark.parametrize(("n", "epsilon", "level"), [(100, 1, "2/5"), (200, 4, "3"), (500, 10, "9")])
def test_an_event_is_a_lower_end_of_the_whole_curve(n: int, epsilon: int, level: str) -> None:
    """Would catch an event whose chances were swapped: then it would lie above the exact profile, or below 0."""
    whole = shuffle(TwoPoint(float(epsilon)), n, others="one end").delta(float(Rational(level)))
    events = [amplification.no_upper_reports(n, epsilon, 1, Rational(level))]
    events += [amplification.few_upper_reports(n, epsilon, most, Rational(level)) for most in (0, 3, 12)]
    values = [float(event.evalf(30)) for event in events]
    assert max(values) > 0
    assert all(value <= whole * (1 + 1e-9) for value in values)
    assert values[0] == pytest.approx(values[1], rel=1e-9)


def test_the_closed_form_is_the_published_one() -> None:
    """Feldman, McMillan, Talwar (FOCS 2021), Theorem 3.1, at epsilon 1 and delta 1e-6."""
    for n in (10**3, 10**5, 10**6):
        value = float(amplification.closed_form(n, Rational(1, 10**6)).evalf(30))
        growth = 8 * math.sqrt(math.e * math.log(4e6) / n) + 8 * math.e / n
        assert value == pytest.approx(math.log1p((math.e - 1) / (math.e + 1) * growth), rel=1e-12)


def test_added_up_reports_follow_hoeffding() -> None:
    gap = math.tanh(0.5)
    error = math.exp(-5000 * gap**2 / 200)
    assert float(amplification.many_upper_reports(100, 1, 5000, Rational(1, 2)).evalf()) == pytest.approx(
        1 - error - math.e * error
    )


FALSE = {
    "one weight at the paper's smallest n leaves 0.41": lambda: amplification.few_upper_reports(
        100, 1, 12, Rational(41, 100)
    ),
    "one weight at n = 200 leaves 3.9997": lambda: amplification.no_upper_reports(200, 4, 1, Rational("3.9997")),
    "two weights at level 20": lambda: amplification.no_upper_reports(500, 10, 2, Integer(20)),
}


@together("name", FALSE)
def test_larger_levels_are_not_proved(name: str) -> None:
    corrected = Claims(amplification.CLAIMS)[0].corrected
    assert corrected is not None
    assert settle(replace(corrected.parts[0], right=FALSE[name]())).verdict is Verdict.REFUTED


def test_a_promise_that_is_kept_is_not_refuted() -> None:
    """With 10 for each of two weights, 20 in the center is what the counts give: the check can go the other way."""
    part = Claims(amplification.CLAIMS)[0].parts[0]
    assert settle(replace(part, left=amplification.no_upper_reports(500, 10, 2, Integer(20)))).verdict is Verdict.PROVED
