"""Sums over infinitely many or a symbolic number of values, integrals, binomial coefficients, and channels of them.

What a statement becomes is held against plain sums of numbers; verdicts against false neighbours of each statement.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import mpmath
import pytest
from sympy import (
    Abs,
    Expr,
    Float,
    Integral,
    Matrix,
    Mul,
    Rational,
    Sum,
    Symbol,
    binomial,
    exp,
    factorial,
    lambdify,
    oo,
    sign,
)

from ldp_audit.claims import Statement, at_most, equal, recheck
from ldp_audit.claims.privacy import is_private, require_channel
from ldp_audit.claims.settling import BadClaimError, settle
from ldp_audit.claims.verdict import Verdict, combine
from ldp_audit.mechanisms.channel import Ind, SymbolicChannel
from ldp_audit.mechanisms.variable import EPSILON, ROOT_T, T, Variable
from tests.together import together

a = exp(-EPSILON)
x = Variable("x", 0, 20, integer=True)
k = Variable("k", -oo, oo, integer=True)
n = Variable("n", 2, oo, integer=True)
z = Variable("z", 0, n, integer=True)
j = Variable("j", 1, n - 1, integer=True)
d = Variable("d", 2, oo, integer=True)
m = Variable("m", 1, d - 1, integer=True)
noise = (1 - a) / (1 + a)
few, more = binomial(d - 1, m - 1), binomial(d - 1, m)

POINTS = [(0.3, 4, 3, 6, 2), (1.7, 0, 2, 2, 1), (0.9, 1, 5, 9, 8)]
"""epsilon, x, n, d, m; z is x, but for n at most."""


def _noise_sum(power: int, centre: int, epsilon: float) -> float:
    return math.fsum(math.exp(-epsilon * abs(i)) * (i + centre) ** power for i in range(-2000, 2001))


SUMS: dict[str, tuple[Any, Callable[..., float]]] = {
    "geometric": (Sum(a**j, (j, 1, oo)), lambda e, *_: math.fsum(math.exp(-e * i) for i in range(1, 2000))),
    "two sides": (Sum(a ** Abs(k - x), (k, -oo, oo)), lambda e, *_: _noise_sum(0, 0, e)),
    "two sides, twice the rate": (Sum(T ** (-2 * Abs(k - x)), (k, -oo, oo)), lambda e, *_: _noise_sum(0, 0, 2 * e)),
    "mean": (Sum(a ** Abs(k - x) * k, (k, -oo, oo)), lambda e, x, *_: _noise_sum(1, x, e)),
    "second moment": (Sum(a ** Abs(x - k) * k**2, (k, -oo, oo)), lambda e, x, *_: _noise_sum(2, x, e)),
    "between two ends": (
        Sum(a ** Abs(j - z), (j, 1, n - 1)),
        lambda e, x, n, *_: math.fsum(math.exp(-e * abs(i - min(x, n))) for i in range(1, n)),
    ),
    "subset selection": (few * T / (few * T + more), lambda e, x, n, d, m: m * math.exp(e) / (m * math.exp(e) + d - m)),
    "Pascal": (binomial(d, m) / few, lambda e, x, n, d, m: math.comb(d, m) / math.comb(d - 1, m - 1)),
    "all pairs": (binomial(d, 2), lambda e, x, n, d, m: math.comb(d, 2)),
}


def _value(letter: Variable, values: dict[str, float]) -> Expr:
    if letter.exp_of is None:
        return Float(values[letter.name], 40)
    return exp(letter.exp_of.subs({v: _value(v, values) for v in letter.exp_of.free_symbols}))


@pytest.mark.parametrize("name", SUMS)
def test_closed_forms_are_the_plain_sums(name: str) -> None:
    expression, plain = SUMS[name]
    closed = equal(expression, 0).left
    for epsilon, at, most, dims, kept in POINTS:
        values = {"epsilon": epsilon, "x": at, "n": most, "z": min(at, most), "d": dims, "m": kept}
        found = float(closed.subs({v: _value(v, values) for v in closed.free_symbols}))
        assert math.isclose(found, plain(epsilon, at, most, dims, kept), rel_tol=1e-12)


y, gap = Variable("y", -oo, oo), Variable("g", 0, oo)
below, above = Variable("p", -oo, 0), Variable("q", 0, oo)


def _laplace(at: Expr) -> Expr:
    """Density at `at`, scale 2/epsilon."""
    return EPSILON / 4 * exp(-EPSILON * Abs(at) / 2)


def _wins(ahead: Expr) -> Expr:
    """The chance that a score that is ahead by so much stays ahead, both with noise of scale 2/epsilon."""
    return Integral(
        _laplace(y) * (Rational(1, 2) + sign(y + ahead) / 2 * (1 - exp(-EPSILON * Abs(y + ahead) / 2))), (y, -oo, oo)
    )


def _exceeds(ahead: Expr) -> Expr:
    """The chance that noise of scale 4/epsilon is at least -ahead."""
    return Rational(1, 2) + sign(ahead) / 2 * (1 - exp(-EPSILON * Abs(ahead) / 4))


def _first_below_then_above(one: Expr, two: Expr) -> Expr:
    """The sparse vector technique's chance to answer so to two queries; its threshold has noise of scale 2/epsilon."""
    return Integral(_laplace(y) * _exceeds(y - one) * _exceeds(two - y), (y, -oo, oo))


def _wins_of_three(one: Expr, two: Expr) -> Expr:
    """The chance that a score that is ahead of two others by so much stays ahead."""
    beaten = [Rational(1, 2) + sign(y + by) / 2 * (1 - exp(-EPSILON * Abs(y + by) / 2)) for by in (one, two)]
    return Integral(_laplace(y) * beaten[0] * beaten[1], (y, -oo, oo))


INTEGRALS = {
    "sparse vector": _first_below_then_above(0, gap + 2),
    "noisy maximum": _wins(gap),
    "Laplace tail": Integral(_laplace(y), (y, gap, oo)),
    "second moment": Integral(_laplace(y - gap) * y**2, (y, -oo, oo)),
    "three turns": Integral(y**3 * exp(-Abs(y) - 2 * Abs(1 + y - below) - Abs(y - above) / 3), (y, -oo, oo)),
    "within ends": Integral(T ** (-Abs(y)) * sign(y) * y**2, (y, below, 2 + above)),
    "no exponential": Integral(Abs(y - 1) * y, (y, 0, 3)),
    "outside the ends": Integral(exp(-Abs(y + 1)) * sign(3 - y), (y, 0, 2)),
}


@pytest.mark.parametrize("name", INTEGRALS)
def test_integrals_are_those_of_quadrature(name: str) -> None:
    closed, letters = equal(INTEGRALS[name], 0).left, (EPSILON, gap, below, above)
    for point in ((0.7, 1.5, -0.6, 0.25), (2.0, 0.1, -3.0, 2.0)):
        values = {v: Float(number, 40) for v, number in zip(letters, point, strict=True)}
        values |= {T: exp(values[EPSILON]), ROOT_T: exp(values[EPSILON] / 2)}
        by_name = {v.name: number for v, number in values.items()}
        found = closed.subs({v: _value(v, by_name) for v in closed.free_symbols})
        term, (_, low, high) = INTEGRALS[name].subs(values).args
        turns = [
            float(one)
            for one in (low, high, *point, *(-p for p in point), point[2] - 1, point[1] + 2, -1, 0, 1, -12, 12, -40, 40)
        ]
        far = 150.0  # e**-52 of the mass lies beyond
        cuts = [cut for cut in sorted({-far, far, *turns}) if max(-far, low) <= cut <= min(far, high)]
        with mpmath.workdps(30):
            plain = mpmath.quad(lambdify(y, term, "mpmath"), cuts)
        assert math.isclose(float(found), float(plain), rel_tol=1e-9)


TRUE = {
    "a noisy maximum keeps epsilon upwards": lambda: at_most(_wins(gap + 2), T * _wins(gap)),
    "and downwards": lambda: at_most(1 - _wins(gap), T * (1 - _wins(gap + 2))),
    "sparse vector": lambda: at_most(_first_below_then_above(0, gap + 2), T * _first_below_then_above(1, gap + 1)),
    "and back": lambda: at_most(_first_below_then_above(1, gap + 1), T * _first_below_then_above(0, gap + 2)),
    "variance of Laplace noise": lambda: equal(Integral(_laplace(y) * y**2, (y, -oo, oo)), 8 / EPSILON**2),
    "cut at both ends": lambda: equal(Sum(noise * a ** Abs(j - z), (j, 1, n - 1)) + (a**z + a ** (n - z)) / (1 + a), 1),
    "subset selection's total": lambda: equal(few * T / (few * T + more) + more / (few * T + more), 1),
    "how often the own value is kept": lambda: at_most(few * T / (few * T + more), T * few / (few + more)),
    "absorption": lambda: equal(binomial(d, m) * m, d * few),
    "a bound on pairs": lambda: at_most(binomial(d, 2), d**2 / 2),
}
FALSE = {
    "a noisy maximum with half of it": lambda: at_most(1 - _wins(gap), ROOT_T * (1 - _wins(gap + 2))),
    "sparse vector with an eighth of it": lambda: at_most(
        _first_below_then_above(0, gap + 2), exp(EPSILON / 8) * _first_below_then_above(1, gap + 1)
    ),
    "a noisy maximum of three with half of it": lambda: at_most(
        1 - _wins_of_three(gap, gap + 1), ROOT_T * (1 - _wins_of_three(gap + 2, gap + 3))
    ),
    "the variance of scale 1/epsilon": lambda: equal(Integral(_laplace(y) * y**2, (y, -oo, oo)), 2 / EPSILON**2),
    "total, one factor": lambda: equal(Sum(noise * a ** Abs(k - x), (k, -oo, oo)), 1 + a),
    "variance, one power": lambda: equal(Sum(noise * a ** Abs(k) * k**2, (k, -oo, oo)), 2 * a / (1 - a) ** 3),
    "cut, no denominator": lambda: equal(
        Sum(noise * a ** Abs(j - z), (j, 1, n - 1)) + a**z / (1 + a) + a ** (n - z), 1
    ),
    "selection, the other class": lambda: equal(more * T / (few * T + more) + more / (few * T + more), 1),
    "kept at least half": lambda: at_most(Rational(1, 2), few * T / (few * T + more)),
    "absorption, one less": lambda: equal(binomial(d, m) * m, (d - 1) * few),
    "pairs, a third": lambda: at_most(binomial(d, 2), d**2 / 3),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in ("and back", "sparse vector with an eighth of it") else ())
        for name in TRUE
    ],
)
def test_true_sums_are_proved(name: str) -> None:
    settled = settle(TRUE[name]())
    assert settled.verdict is Verdict.PROVED, settled.evidence
    assert recheck.part(settled.to_dict()) == Verdict.PROVED


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "variance, one power" else ()) for name in FALSE]
)
def test_false_sums_are_refuted(name: str) -> None:
    assert settle(FALSE[name]()).verdict is Verdict.REFUTED


@together(
    "expression",
    [
        Sum(T ** Abs(k - x), (k, -oo, oo)),  # diverges
        Sum(a ** Abs(k - Rational(1, 2)), (k, -oo, oo)),  # no whole number in the middle
        Sum(a ** Abs(j - x), (j, 1, n)),  # the middle may lie outside
        Sum(j, (j, 2, x)),  # from 2 to 0
        Integral(exp(-(y**2)), (y, -oo, oo)),
        Integral(exp(y), (y, 0, oo)),
        Integral(1 / y, (y, -1, 1)),
        Integral(exp(-Abs(y) - Abs(y - x + 3)), (y, -oo, oo)),  # 3 - x on either side of 0
        Integral(y, (y, gap, 0)),
    ],
)
def test_what_has_no_closed_form_that_always_holds_is_refused(expression: Expr) -> None:
    with pytest.raises(
        ValueError, match=r"write it out|do not cancel|no one meaning|is infinite|must follow|backwards"
    ):
        equal(expression, 1)


def test_only_sums_may_run_to_infinity() -> None:
    with pytest.raises(ValueError, match="finite real expression"):
        at_most(x, oo)
    with pytest.raises(ValueError, match="finite real expression"):
        at_most(Matrix([x]), 1)


def _verdict(parts: tuple[Statement, ...]) -> Verdict:
    return combine([settle(part).verdict for part in parts])


def _geometric(kept: Expr = noise) -> SymbolicChannel:
    return SymbolicChannel("geometric", x, {k: kept * a ** Abs(k - x)})


@pytest.mark.slow
def test_geometric_noise_is_private_and_no_more_than_it_is() -> None:
    near = Variable("x2", x - 1, x + 1, integer=True)
    law = _geometric()
    assert _verdict(is_private(law, T, neighbour=law.at({x: near}))) is Verdict.PROVED
    assert _verdict(is_private(law, ROOT_T, neighbour=law.at({x: near}))) is Verdict.REFUTED
    assert _verdict(is_private(law, T)) is Verdict.REFUTED  # between any two inputs
    assert _verdict((equal(law.mean(), x), equal(law.variance(), 2 * a / (1 - a) ** 2))) is Verdict.PROVED


def test_truncated_geometric_noise_is_private_for_every_range() -> None:
    law = SymbolicChannel(
        "cut", z, {0: a**z / (1 + a), j: noise * a ** Abs(j - z), n: a ** (n - z) / (1 + a)}, public=n
    )
    lower = Variable("w", 0, n - 1, integer=True)
    below, above = law.at({z: lower}), law.at({z: lower + 1})
    assert _verdict(is_private(below, T, neighbour=above)) is Verdict.PROVED


def test_a_family_that_adds_up_to_something_else_is_no_channel() -> None:
    with pytest.raises(BadClaimError, match="must add up to 1"):
        require_channel(_geometric(1 - a))
    inside = Variable("j", 0, n, integer=True)
    with pytest.raises(BadClaimError, match="outputs 0 and j must differ"):
        require_channel(SymbolicChannel("twice", x, {0: Rational(1, 2), inside: 1 / (2 * n + 2)}, public=n))


@together(
    ("ends", "is_open"), [((0, 4), "both"), ((Rational(1, 2), Rational(7, 2)), ""), ((0, Rational(10, 3)), "left")]
)
def test_a_family_is_summed_over_the_whole_values_of_its_domain(ends: tuple[Any, Any], is_open: Any) -> None:
    """The values 1, 2, 3: an end that is excluded, or lies between whole numbers, is none of them."""
    bit, three = Variable("x", 0, 1, integer=True), Variable("k", *ends, open=is_open, integer=True)
    law = SymbolicChannel("three", bit, [(three, Rational(1, 3) + (three - 2) * (2 * bit - 1) / 12)])
    require_channel(law)
    assert settle(equal(law.mean(), 2 + (2 * bit - 1) / 6)).verdict is Verdict.PROVED
    with pytest.raises(BadClaimError, match="must add up to 1, got 3/4"):
        require_channel(SymbolicChannel("less", bit, {three: Rational(1, 4)}))


def test_a_number_for_the_end_of_a_family_ends_it() -> None:
    law = SymbolicChannel("uniform", x, {j: 1 / (n - 1)}, public=n).at({n: 6})
    assert (law.total().doit(), law.mean().doit()) == (1, 3)


def test_a_vector_of_bits_is_private_as_its_product() -> None:
    b, c = (Variable(name, 0, 1, integer=True) for name in "bc")
    p, q = ((1 + bit * (ROOT_T - 1)) / (ROOT_T + 1) for bit in (b, c))
    bits = SymbolicChannel(
        "two bits", (b, c), {(1, 1): p * q, (1, 0): p * (1 - q), (0, 1): (1 - p) * q, (0, 0): (1 - p) * (1 - q)}
    )
    assert _verdict(is_private(bits, T)) is Verdict.PROVED
    assert _verdict(is_private(bits, (1 + T) / 2)) is Verdict.REFUTED
    with pytest.raises(ValueError, match="vectors, which have no moments"):
        bits.mean()
    assert bits.bind(epsilon=1).exact_epsilon() == pytest.approx(1.0)
    with pytest.raises(BadClaimError, match="must differ"):
        require_channel(SymbolicChannel("same", b, [((b - b, 1), Rational(1, 2)), ((0, 1), Rational(1, 2))]))


def optimised_unary_encoding(k: int) -> SymbolicChannel:
    x = Variable("x", 0, k - 1, integer=True)
    ones = [Rational(1, 2) * Ind(x, v) + (1 - Ind(x, v)) / (T + 1) for v in range(k)]
    return SymbolicChannel(
        "unary encoding",
        x,
        [
            (bits, Mul(*(one if bit else 1 - one for bit, one in zip(bits, ones, strict=True))))
            for bits in product((0, 1), repeat=k)
        ],
    )


def test_a_vector_of_a_label_is_private_by_few_statements() -> None:
    """256 pairs of an output and two values of 4 are 6 different statements; a smaller ratio is refuted by name."""
    law = optimised_unary_encoding(4)
    parts = is_private(law, T)
    assert len(parts) == 6
    assert _verdict(parts) is Verdict.PROVED
    tighter = is_private(law, (1 + T) / 2)
    assert _verdict(tighter) is Verdict.REFUTED
    refuted = next(one for one in map(settle, tighter) if one.verdict is Verdict.REFUTED)
    assert refuted.statement.label == "output (1, 0, 0, 0), x = 0 against 1: at most t/2 + 1/2 times"
    x = Variable("x", 0, 1, integer=True)
    wrong = SymbolicChannel("wrong", x, [((0, 1), 1 - Ind(x, 0) / 2), ((1, 1), Ind(x, 0) / 3)])
    with pytest.raises(BadClaimError, match="the probabilities must add up to 1"):
        is_private(wrong, T)
    negative = SymbolicChannel("negative", x, [((0, 1), 1 - 2 * Ind(x, 0)), ((1, 1), 2 * Ind(x, 0))])
    with pytest.raises(BadClaimError, match=r"the probability of output \(0, 1\) must be >= 0"):
        is_private(negative, T)


@together(
    ("atoms", "pieces", "message"),
    [
        ({(0, 1): 1, 2: 0}, (), "tuples of one length"),
        ({(0, 1): 1, (2,): 0}, (), "tuples of one length"),
        ({(0, 1): 1}, [(0, 1, 0)], "tuples of one length"),
        ({(x, 1): 1}, (), "must not depend on its inputs"),
        ({k: Rational(1, 2), x: Rational(1, 2)}, (), "must not depend on its inputs"),
        ({Variable("k", x, oo, integer=True): 1}, (), "the domain of k depends on an input"),
        ({Variable("k", 0, n / 2, integer=True): 1}, (), "the ends of k, which stands for its whole values"),
    ],
)
def test_outputs_that_do_not_go_together_are_refused(atoms: dict, pieces: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SymbolicChannel("odd", x, atoms, pieces)


def test_a_delta_needs_outputs_that_are_listed() -> None:
    with pytest.raises(BadClaimError, match="delta needs a channel of at most 6 outputs"):
        is_private(_geometric(), T, delta=Rational(1, 100))


@together(
    "alternating",
    [  # at the smallest n: 1 rather than 0; -1 rather than 0; 0 rather than -1; and an empty sum of 1/j!
        lambda j, c: equal(Sum((-1) ** j * binomial(c, j), (j, 0, c)), 0),
        lambda j, c: equal(Sum((-1) ** j * j * binomial(c + 1, j), (j, 0, c + 1)), 0),
        lambda j, c: equal(Sum((-1) ** j * binomial(c, j), (j, 1, c)), -1),
        lambda j, c: at_most(Sum((-1) ** j * j * binomial(c + 1, j), (j, 1, c)), -1),
        lambda j, c: at_most(1, Sum(1 / factorial(j), (j, 0, c - 1))),
    ],
)
def test_a_closed_form_that_fails_at_the_smallest_number_is_none(alternating: Callable[..., Statement]) -> None:
    with pytest.raises(ValueError, match="no closed form that holds on the whole domain"):
        settle(alternating(Symbol("j", integer=True), Variable("count", 0, oo, integer=True)))


def test_a_closed_form_that_holds_from_the_first_number_on_is_used() -> None:
    i, c = Symbol("i", integer=True), Variable("count", 1, oo, integer=True)
    assert settle(equal(Sum((-1) ** i * binomial(c, i), (i, 0, c)), 0)).verdict is Verdict.PROVED
    assert settle(equal(Sum(i * T**i, (i, 0, c)), Sum(i * T**i, (i, 1, c)))).verdict is Verdict.PROVED
