"""Random mechanisms, and random claims about their epsilon, bias and variance, true and false: no verdict may be wrong.

The truth comes from exact arithmetic in Fractions over the corners of the inputs' range, without any engine.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Rational

from ldp_audit.claims import Statement, at_most, equal, recheck
from ldp_audit.claims.privacy import is_private
from ldp_audit.claims.settling import settle
from ldp_audit.claims.verdict import Verdict, combine
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.variable import Variable

x = Variable("x", 0, 1)

FACTORS = st.sampled_from(
    [Fraction(n, d) for n, d in ((1, 1), (9, 10), (11, 10), (99, 100), (101, 100), (1, 2), (2, 1))]
)


@st.composite
def channels(draw: st.DrawFn) -> tuple[list[Fraction], list[Fraction], list[int]]:
    """The law at x = 0 and at x = 1, in between it is a mixture; and the reports."""
    size = draw(st.integers(2, 4))
    rows = []
    for _ in range(2):
        weights = draw(st.lists(st.integers(1, 12), min_size=size, max_size=size))
        rows.append([Fraction(weight, sum(weights)) for weight in weights])
    outputs = draw(st.lists(st.integers(-5, 5), min_size=size, max_size=size, unique=True))
    return rows[0], rows[1], outputs


def symbolic(first: list[Fraction], second: list[Fraction], outputs: list[int]) -> SymbolicChannel:
    def rational(number: Fraction) -> Rational:
        return Rational(number.numerator, number.denominator)

    atoms = [(y, rational(p) + x * (rational(q) - rational(p))) for y, p, q in zip(outputs, first, second, strict=True)]
    return SymbolicChannel("random", x, atoms)


def verdict_of(parts: tuple[Statement, ...]) -> Verdict:
    """What the engines say; each part's evidence must convince the checker."""
    settled = [settle(part) for part in parts]
    assert all(recheck.part(one.to_dict()) == one.verdict for one in settled)
    return combine([one.verdict for one in settled])


def right_or_open(verdict: Verdict, *, true: bool) -> bool:
    return verdict is (Verdict.PROVED if true else Verdict.REFUTED) or verdict is Verdict.UNDECIDED


def mean_of(row: list[Fraction], outputs: list[int], power: int = 1) -> Fraction:
    return sum((p * y**power for p, y in zip(row, outputs, strict=True)), Fraction(0))


def check_epsilon(channel: tuple, factor: Fraction) -> Verdict:
    first, second, _ = channel
    exact = max(max(p / q, q / p) for p, q in zip(first, second, strict=True))
    claimed = max(Fraction(1), exact * factor)
    found = verdict_of(is_private(symbolic(*channel), Rational(claimed.numerator, claimed.denominator)))
    assert right_or_open(found, true=claimed >= exact), (channel, claimed, exact, found)
    return found


def check_bias(channel: tuple, factor: Fraction, shift: int) -> Verdict:
    """E[y] = a + b x, with the true a and b or wrong ones."""
    first, second, outputs = channel
    a, b = mean_of(first, outputs), mean_of(second, outputs) - mean_of(first, outputs)
    claimed = Rational(*(a + shift).as_integer_ratio()) + Rational(*(b * factor).as_integer_ratio()) * x
    found = verdict_of((equal(symbolic(*channel).mean(), claimed),))
    assert right_or_open(found, true=shift == 0 and (b == 0 or factor == 1)), (channel, factor, shift, found)
    return found


def check_variance(channel: tuple, factor: Fraction) -> Verdict:
    """Var[y] <= factor times its largest value, which a concave parabola in x has at its top, or at an end."""
    first, second, outputs = channel
    a, b = mean_of(first, outputs), mean_of(second, outputs) - mean_of(first, outputs)
    c, d = mean_of(first, outputs, 2), mean_of(second, outputs, 2) - mean_of(first, outputs, 2)

    def at(where: Fraction) -> Fraction:
        return c + d * where - (a + b * where) ** 2

    tops = [Fraction(0), Fraction(1)] + ([(d - 2 * a * b) / (2 * b**2)] if b else [])
    largest = max(at(where) for where in tops if 0 <= where <= 1)
    claimed = Rational(*(largest * factor).as_integer_ratio())
    found = verdict_of((at_most(symbolic(*channel).variance(), claimed),))
    assert right_or_open(found, true=factor >= 1 or largest == 0), (channel, factor, found)
    return found


@given(channels(), FACTORS)
@settings(max_examples=30, deadline=None)
def test_claims_about_epsilon(channel: tuple, factor: Fraction) -> None:
    check_epsilon(channel, factor)


@given(channels(), FACTORS, st.sampled_from([0, 0, 1, -1]))
@settings(max_examples=30, deadline=None)
def test_claims_about_bias(channel: tuple, factor: Fraction, shift: int) -> None:
    check_bias(channel, factor, shift)


@given(channels(), FACTORS)
@settings(max_examples=30, deadline=None)
def test_claims_about_variance(channel: tuple, factor: Fraction) -> None:
    check_variance(channel, factor)


def test_nearly_all_are_decided() -> None:
    """Never wrong is easy for an engine that never decides: on a fixed sample it decides 95 in a hundred."""
    from random import Random

    rng, found = Random(1), []
    for _ in range(20):
        size = rng.randint(2, 4)
        rows = []
        for _ in range(2):
            weights = [rng.randint(1, 12) for _ in range(size)]
            rows.append([Fraction(weight, sum(weights)) for weight in weights])
        channel = (*rows, rng.sample(range(-5, 6), size))
        factor = rng.choice([Fraction(1), Fraction(9, 10), Fraction(11, 10)])
        found += [check_epsilon(channel, factor), check_bias(channel, factor, 0), check_variance(channel, factor)]
    assert sum(verdict is not Verdict.UNDECIDED for verdict in found) >= 0.95 * len(found)


@pytest.mark.slow
@given(channels(), FACTORS, st.sampled_from([0, 0, 1, -1]))
@settings(max_examples=3500, deadline=None)
def test_ten_thousand_claims(channel: tuple, factor: Fraction, shift: int) -> None:
    check_epsilon(channel, factor)
    check_bias(channel, factor, shift)
    check_variance(channel, factor)
