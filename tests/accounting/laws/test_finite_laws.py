"""Exact distributions of small experiments."""

from fractions import Fraction
from math import comb

from sympy import Rational

from ldp_audit.accounting.laws.finite_laws import count_law, hockey_stick, product_law


def test_equal_trials_give_the_binomial_distribution() -> None:
    p = Fraction(1, 3)
    law = count_law([p] * 5)
    assert law == {k: comb(5, k) * p**k * (1 - p) ** (5 - k) for k in range(6)}


def test_a_product_distribution_is_a_distribution_and_factors() -> None:
    first, second = {"a": Fraction(1, 4), "b": Fraction(3, 4)}, {0: Fraction(1, 2), 1: Fraction(1, 2)}
    joint = product_law([first, second])
    assert sum(joint.values()) == 1
    assert joint["b", 1] == Fraction(3, 8)
    assert product_law([]) == {(): 1}


def test_hockey_stick_of_randomised_response_is_its_profile() -> None:
    p = {0: Rational(3, 4), 1: Rational(1, 4)}
    q = {0: Rational(1, 4), 1: Rational(3, 4)}
    assert hockey_stick(p, q, 3).doit() == 0
    assert hockey_stick(p, q, 2).doit() == Rational(1, 4)
    assert hockey_stick(p, q, 1).doit() == Rational(1, 2)


def test_hockey_stick_counts_outcomes_that_only_one_distribution_has() -> None:
    assert hockey_stick({"a": 1}, {"b": 1}, 100).doit() == 1
