"""Claims that are false: true ones with a sign, a factor, a bound or a domain changed. A list for each relation.

`brute_force` shows that each is false by evaluating it on a rational grid, without any engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from sympy import Rational, exp, log, oo, sqrt

from ldp_audit.claims import Statement, at_most, differ, equal, less, order, prints_as
from ldp_audit.claims.language.rounding import next_whole, rounded
from ldp_audit.mechanisms.values.two_point import CENTER as c
from ldp_audit.mechanisms.values.two_point import RADIUS as r
from ldp_audit.mechanisms.values.two_point import TWO_POINT as m
from ldp_audit.mechanisms.values.two_point import WEIGHT as w
from ldp_audit.mechanisms.values.two_point import A
from ldp_audit.mechanisms.variable import EPSILON, Variable
from ldp_audit.mechanisms.variable import T as t

other = m.twin()
plus, minus = (atom.probability for atom in m.atoms)
plus_2, minus_2 = (atom.probability for atom in other.atoms)
K = Variable("K", 0, oo, open="left")
small = Variable("epsilon", 0, 1, open="left")
t_small = Variable("t", 1, oo, open="left", exp_of=small)
wide = m.at({w: Variable("w", c - 2 * r, c + 2 * r)})
q, p = Variable("q", 0, 1), Variable("p", 0, 1)
tiny = Rational(1, 10**9)

IDENTITIES = [
    equal(plus + minus, 1 + tiny),
    equal(plus - minus, 1),
    equal(plus, minus),
    equal(m.mean(), -w),
    equal(m.mean(), w + c),
    equal(m.mean(), w - tiny),
    equal(m.mean(), 2 * w),
    equal(m.mean(), w * t),
    equal(m.moment(2), m.variance()),
    equal(m.variance(), r**2 * A**2),
    equal(m.variance(), r**2 * A**2 + (w - c) ** 2),
    equal(m.variance(), r**2 * A**2 - (w + c) ** 2),
    equal(m.variance(), r**2 * A**2 - (w - c)),
    equal(m.variance(), r * A**2 - (w - c) ** 2),
    equal(m.variance(), r**2 * A - (w - c) ** 2),
    equal(m.variance(), 2 * (r**2 * A**2 - (w - c) ** 2)),
    equal(m.at({w: c + r}).atoms[0].probability, t * m.at({w: c}).atoms[0].probability),
    equal(m.at({w: c + r}).atoms[0].probability, t**2 * m.at({w: c - r}).atoms[0].probability),
    equal(m.at({w: c - r}).atoms[0].probability, t * m.at({w: c + r}).atoms[0].probability),
    equal(r * A + r, 2 * r / (t - 1)),
    equal(1 / (t - 1) - 1 / t, 1 / (t * (t + 1))),
    equal((p + q) ** 2, p**2 + q**2),
    equal((p - q) * (p + q), p**2 + q**2),
]

INEQUALITIES = [
    at_most(plus, plus_2),
    at_most(plus, minus),
    at_most(plus, (t - tiny) * plus_2),
    at_most(plus, (1 + t) / 2 * plus_2),
    at_most(t * plus, plus_2),
    at_most(wide.atoms[0].probability, t * wide.twin().atoms[0].probability),
    at_most(0, wide.atoms[0].probability),
    at_most(wide.atoms[0].probability, 1),
    less(plus, t * plus_2),
    less(0, w - c + r),
    at_most(m.variance(), r**2 * (A**2 - 1)),
    at_most(m.variance(), r**2 * A**2 - tiny * r**2),
    at_most(r**2 * A**2, m.variance()),
    at_most(r**2, m.variance()),
    less(m.variance(), r**2 * A**2),
    at_most(m.variance(), r * A**2),
    at_most(m.mean(), c),
    at_most(A, 1 + 2 / t),
    at_most(p * q, p * q - tiny),
    at_most(p, q),
    at_most(p + q, 1),
    at_most((p - q) ** 2, 0),
    at_most(p**2 + q**2, p + q - tiny),
    less(0, (p - q) ** 2),
    differ(p, q),
    differ(r * A, r * A**2 / 2),
]

ORDERS = [
    order(A, K / EPSILON, constant=K),
    order(A, K, constant=K),
    order(A**2, K / EPSILON**2, constant=K),
    order(A**2, K / EPSILON, constant=K),
    order(t / (t - 1), K / EPSILON, constant=K),
    order(EPSILON, K, constant=K),
    order(EPSILON**2, K * EPSILON, constant=K),
    order(1 / EPSILON, K, constant=K),
    order(1 / EPSILON**2, K / EPSILON, constant=K),
    order(r, K, constant=K),
    order(r**2, K * r, constant=K),
    order(1 / r, K * r, constant=K),
    order(r * A, K * r / EPSILON, constant=K),
    order(1 + r, K * r, constant=K),
    order(1 + EPSILON, K * EPSILON, constant=K),
    order(r + EPSILON, K * r, constant=K),
    order(r * EPSILON, K * r, constant=K),
    order(t, K, constant=K),
    order(t**2, K * t, constant=K),
    order(t, K * EPSILON, constant=K),
    order(1 / (t - 1), K, constant=K),
    order(1 / small, K, constant=K),
]

NUMBERS = [
    equal(Rational(1, 3), Rational(333333, 10**6)),
    equal(2 * Rational(10) ** 10, Rational(10) ** 10),
    equal(0, tiny),
    differ(Rational(1, 2), Rational(2, 4)),
    less(1, 1),
    less(Rational(1, 3), Rational(33, 100)),
    at_most(1, 1 - tiny),
    at_most(exp(1), Rational("2.7182818284")),
    at_most(Rational("2.7182818285"), exp(1)),
    at_most(log(2), Rational("0.6931471805")),
    at_most(Rational("0.6931471806"), log(2)),
    at_most(1, log(Rational(100) / (16 * log(2 * 10**5)))),
    less(exp(2), exp(1) ** 2 - tiny),
    less(exp(-700), 0),
    equal(exp(1), Rational(19, 7)),
    prints_as(Rational("46.09"), "45"),
    prints_as(Rational("46.09"), "46.1000"),
    prints_as(Rational(2, 3), "0.66"),
    prints_as(Rational(2, 3), "0.6666"),
    prints_as((exp(5) + 1) / (exp(5) - 1), "1.01358"),
    prints_as(log(3), "1.09"),
    prints_as(-log(3), "1.10"),
    prints_as(Rational(1, 10**6), "0.001"),
]

on_box = Variable("x", Rational(1, 10), 3)
u = Variable("u", 0, 1)
CURVES = [
    at_most(exp(on_box), 1 + on_box),
    at_most(exp(u), 1 + u + u**2 / 2),
    less(exp(u), Rational(271, 100)),
    at_most(1 + on_box, log(on_box)),
    at_most(log(on_box), on_box - Rational(11, 10)),
    less(log(on_box), Rational(109, 100)),
    at_most(on_box * exp(-on_box), Rational(36, 100)),
    less(Rational(37, 100), on_box * exp(-on_box)),
    at_most(exp(-u), 1 - u),
    at_most(exp(-u), Rational(99, 100)),
    less(u - u**2 / 2, log(1 + u)),
    at_most(log(1 + u), u - u**2 / 2),
    at_most(sqrt(on_box), on_box),
    at_most(on_box, sqrt(on_box)),
    less(sqrt(u + 1), 1 + u / 3),
    at_most(exp(u) * (1 - u), Rational(9, 10)),
    differ(exp(u) - 2 * u, 1),
    differ(log(on_box), 0),
    at_most(exp(u) + exp(-u), 3),
    less(2, exp(u) + exp(-u)),
    at_most(exp(u * on_box), exp(u)),
]

n_few = Variable("n", 1, 9, integer=True)
k_few = Variable("k", 0, n_few, integer=True)
COUNTS = [
    at_most(2**n_few, 500),
    less(n_few**2, 81),
    at_most((1 - 1 / n_few) ** n_few, Rational(34, 100)),
    less(k_few, n_few),
    differ(k_few**2, 16),
    differ(n_few * k_few, 63),
    equal(k_few**2, k_few),
    equal((-1) ** n_few, 1),
    at_most(k_few * (n_few - k_few), 19),
    at_most(Rational(1, 2) ** n_few, Rational(1, 3)),
    at_most(n_few**2, 2**n_few),
    less(1 / n_few, 1),
    at_most(k_few**2, n_few * k_few - 1),
    differ(3 * n_few + 2 * k_few, 20),
    at_most(0, (n_few - 4) * (n_few - 6)),
    less(0, (k_few - 2) ** 2),
    equal(n_few * (n_few + 1) / 2, n_few**2),
    at_most((1 + 1 / n_few) ** n_few, Rational(258, 100)),
    less(Rational(1, 3) ** k_few, 1),
    at_most(n_few**n_few, 10**8),
]

half_word = 1 + Rational(1, 2**24) + Rational(1, 2**60)  # rounded to 53 bits it is a tie of 24
ROUNDED = [
    equal(rounded(Rational(1, 3), 24), Rational(1, 3)),
    less(rounded(Rational(1, 3), 24), Rational(1, 3)),
    equal(rounded(2**24 + 1, 24), 2**24 + 2),
    equal(rounded(2**24 + 3, 24), 2**24 + 2),
    less(exp(1), rounded(exp(1), 24)),
    at_most(rounded(exp(2), 53), exp(2)),
    equal(rounded(log(2), 24), rounded(log(2), 53)),
    equal(rounded(rounded(half_word, 53), 24), rounded(half_word, 24)),
    equal(rounded(Rational(10) ** 40 + 1, 53), 10**40),
    equal(rounded(-(2**24) - 1, 24), -(2**24) - 2),
    equal(next_whole(Rational(7, 2)), 3),
    equal(next_whole(-Rational(7, 2)), -4),
    equal(next_whole(exp(3)), 20),
    less(next_whole(4), 5 - 1),
    at_most(rounded(u, 8), u),
    at_most(u, rounded(u, 8)),
    at_most(rounded(on_box, 8), on_box + Rational(1, 1000)),
    at_most(next_whole(u), u),
    at_most(rounded(n_few / 3, 8), n_few / 3),
    differ(rounded(n_few / 3, 8), 3),
    less(rounded(exp(on_box), 11), exp(on_box)),
]

_GRID = [Fraction(text) for text in ("0", "1", "1/2", "-1", "2", "3", "1/4", "-2", "3/4", "99/100", "1000", "1/1000")]

_COARSE = [Fraction(text) for text in ("0", "1", "1/2", "3", "1000")]


def brute_force(statement: Statement) -> bool:
    """Whether some point of a rational grid, mapped into the domain, violates it; by SymPy's substitution alone."""
    return any(violates(statement, point) for point in grid(statement))


def grid(statement: Statement, sizes: list[Fraction] | None = None) -> Iterator[dict]:
    """Rational points inside the domains of the statement's variables."""
    variables = statement.variables()
    for choice in product(sizes or (_GRID if len(variables) <= 3 else _COARSE), repeat=len(variables)):
        point: dict = {}
        for variable, step in zip(variables, choice, strict=True):
            number = Rational(step.numerator, step.denominator)
            low, high = variable.lower.subs(point), variable.upper.subs(point)
            if low.is_finite and high.is_finite:
                number = low + (high - low) * number
            elif low.is_finite:
                number = low + number
            elif high.is_finite:
                number = high - number
            above = number > low if variable.lower_open else number >= low
            below = number < high if variable.upper_open else number <= high
            if not (above and below):
                break
            point[variable] = number
        else:
            yield point


def violates(statement: Statement, point: dict) -> bool:
    left, right = (side.subs(point) for side in (statement.left, statement.right))
    if not (left.is_finite and right.is_finite):
        return False
    gap = right - left
    return {"==": gap != 0, "!=": gap == 0, "<=": gap < 0, "<": gap <= 0}[statement.relation] == True  # noqa: E712
