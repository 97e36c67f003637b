"""Rounding in statements: the engines' definition and the checker's own, against hardware and against each other."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sympy import Rational, Sum, Symbol, ceiling, exp, latex, log, sqrt

from ldp_audit.claims import at_most, equal, less, recheck, recheck_functions, somewhere
from ldp_audit.claims.engines.evaluate import exact_value, value
from ldp_audit.claims.language.rounding import Fl, in_normal_range, nearest, next_whole, rounded
from ldp_audit.claims.recheck_functions import rounded as checked
from ldp_audit.claims.settling import settle
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms.variable import EPSILON, T, Variable
from tests.together import together

TIES = [Fraction(2**24 + 1), Fraction(2**24 + 3), Fraction(-(2**24) - 1), Fraction(2**25 + 2), Fraction(0), Fraction(1)]


def _random_fractions(count: int) -> list[Fraction]:
    rng = np.random.default_rng(6)
    tops, bottoms = (rng.integers(1, 2**62, count) for _ in range(2))
    signs, powers = rng.choice([-1, 1], count), rng.integers(-20, 20, count)
    numbers = zip(tops, bottoms, signs, powers, strict=True)
    return [Fraction(int(a), int(b)) * int(s) * Fraction(2) ** int(k) for a, b, s, k in numbers]


def test_53_bits_are_pythons_own_floats() -> None:
    """int / int is correctly rounded in Python; a rounding down, up or twice would differ."""
    for number in [*_random_fractions(500), *TIES]:
        assert nearest(number, 53) == Fraction(number.numerator / number.denominator)


@pytest.mark.parametrize(("digits", "dtype"), [(24, np.float32), (11, np.float16)])
def test_24_and_11_bits_are_numpys(digits: int, dtype: type) -> None:
    """From float64 numbers, which numpy rounds once; ties among them."""
    doubles = [float(number) for number in _random_fractions(500)]
    doubles += [1 + k * 2.0**-digits for k in range(8)] + [2.0**digits + k / 2 for k in range(8) if digits == 24]
    for number in doubles:
        if in_normal_range(nearest(Fraction(number), digits), digits):
            assert nearest(Fraction(number), digits) == Fraction(float(dtype(number)))


@together("digits", [1, 2, 8, 11, 24, 53])
def test_the_checker_rounds_as_the_engines_do_by_its_own_code(digits: int) -> None:
    bits = (Fraction(digits), Fraction(digits))
    for number in [*_random_fractions(300), *TIES]:
        low, high = checked((number, number + 1), bits)
        assert (low, high) == (nearest(number, digits), nearest(number + 1, digits))


@together("argument", [exp(1), log(2), sqrt(2), exp(Rational(1, 10**6)), exp(40)])
def test_an_irrational_argument_has_an_exact_rounding(argument: object) -> None:
    recheck_functions.begin()  # as the checker does for each part
    for digits in (8, 24, 53):
        found = exact_value(rounded(argument, digits), {})
        assert found == nearest(Fraction(str(argument.evalf(60))), digits)  # type: ignore[attr-defined]
        low, high = recheck.evaluate(str(rounded(argument, digits)).replace("E", "exp(1)"), {}, recheck.INTERVALS)
        assert low == high == found


def test_an_argument_at_a_jump_is_left_open_and_not_guessed() -> None:
    """sqrt(x) sqrt(x) is 2^24 + 1, a tie: no enclosure of it lies on one side."""
    tie = rounded(exp(log(2**24 + 1, evaluate=False), evaluate=False), 24)
    assert not isinstance(value(tie, {}), Fraction)
    assert settle(equal(tie, 2**24)).verdict is Verdict.UNDECIDED


def test_a_box_of_words_settles_a_monotone_program() -> None:
    """No one of 2^53 words leads to the float after fl(4/3), and that is proved by a cover."""
    word = Variable("j", 0, 2**53 - 1, integer=True)
    report = rounded(1 + word / 3, 53)
    settled = settle(somewhere(equal(report, rounded(Rational(4, 3), 53) + Rational(1, 2**52))))
    assert (settled.verdict, settled.engine) == (Verdict.REFUTED, "interval")
    assert recheck.part(settled.to_dict()) == "REFUTED"
    few = Variable("j", 0, 9, integer=True)
    assert settle(somewhere(equal(rounded(1 + few / 4, 24), Rational(5, 4)))).verdict is Verdict.PROVED


def test_statements_about_roundings_of_all_numbers_of_a_range() -> None:
    x = Variable("x", 1, 2)
    assert settle(at_most(rounded(x, 24), 2)).verdict is not Verdict.REFUTED
    assert settle(less(rounded(x, 24), 3)).verdict is Verdict.PROVED
    assert settle(less(rounded(x, 24), 2)).verdict is Verdict.REFUTED
    assert settle(less(x, next_whole(x) + Rational(1, 10))).verdict in (Verdict.PROVED, Verdict.UNDECIDED)


@together("digits", [0, -1, 24.5, Rational(1, 2), None, "many"])
def test_digits_that_are_no_number_of_bits_are_refused(digits: object) -> None:
    with pytest.raises(ValueError, match="digits must be a positive whole number of bits"):
        rounded(1, digits)  # type: ignore[arg-type]


def test_it_is_typeset_and_left_as_it_is_written() -> None:
    assert str(Fl(Rational(1, 3), 24)) == "Fl(1/3, 24)"
    assert latex(rounded(Rational(1, 3), 24)) == r"\mathrm{fl}_{24}\left(\frac{1}{3}\right)"
    assert latex(next_whole(Rational(1, 3))) == r"\left\lceil \frac{1}{3}\right\rceil"


def test_the_normal_range_of_each_dtype() -> None:
    assert in_normal_range(Fraction(65504), 11)
    assert not in_normal_range(Fraction(65536), 11)
    assert in_normal_range(Fraction(2) ** -14, 11)
    assert not in_normal_range(Fraction(2) ** -15, 11)
    assert in_normal_range(Fraction(0), 8)
    with pytest.raises(ValueError, match="digits must be one of 8, 11, 24, 53, got 16"):
        in_normal_range(Fraction(1), 16)


def test_names_that_engines_make_are_not_those_of_the_statement() -> None:
    q, root, rate = Variable("q", 0, 1), Variable("root_q", 0, 1), Variable("rate_0", 0, 1, open="both")
    x, j = Variable("x", 0, 5), Symbol("j", integer=True)
    step = Variable("step_0", x, x + 1, open="right")
    for false in (
        at_most(root, sqrt(q)),
        equal(root, sqrt(q)),
        equal(Sum(rate * exp(-EPSILON * j), (j, 0, 10)), (1 - T**-11) / (T - 1)),
        at_most(ceiling(x), step),
    ):
        assert settle(false).verdict is Verdict.REFUTED, false
    proved = settle(less(ceiling(x) - 1 + step, x + step))
    assert proved.verdict is Verdict.PROVED
    assert recheck.part(proved.to_dict()) == "PROVED"
