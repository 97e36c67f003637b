"""What a reviewer writes: irrational numbers, premises, whole numbers, ties and irrational points, each with a false
neighbour, and forged evidence of the kinds that settle them.

Everything that `settle` returns was rechecked by the independent checker, which refuses what it cannot verify.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sympy import E, Rational, Sum, Symbol, binomial, erf, exp, factorial, log, oo, pi, sign, sinh, sqrt

from ldp_audit.claims import Statement, at_most, differ, equal, less, somewhere
from ldp_audit.claims.recheck_written import verified
from ldp_audit.claims.settling import BadClaimError, settle
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms import EPSILON, Variable

u, x, z = Variable("u", 0, oo), Variable("x", 0, 1), Variable("z", -oo, oo)
n, m, k = Variable("n", 1, oo, integer=True), Variable("m", -oo, oo, integer=True), Variable("k", 0, oo, integer=True)
few = Variable("few", 0, 30, integer=True)
a, y, c = Variable("a", 0, oo), Variable("y", 0, oo), Variable("c", 0, 5)
alpha = Variable("alpha", 1, oo, open="left")
g, t = Variable("g", 0, oo, open="left"), Variable("t_", -oo, oo)
half, shown = Variable("h", log(2), log(2)), Variable("s", 0, sqrt(2))
j = Symbol("j", integer=True)
eps = EPSILON


def mean(term: object) -> Sum:
    return Sum(term * binomial(n, j) * x**j * (1 - x) ** (n - j), (j, 0, n))  # type: ignore[operator]


def response_has_zcdp(rho: Rational) -> Statement:
    """Randomised response: exp((alpha - 1) D_alpha) at every order alpha, where rho is so much of epsilon**2."""
    moment = (exp(alpha * eps) + exp((1 - alpha) * eps)) / (1 + exp(eps))
    return at_most(moment, exp(alpha * (alpha - 1) * rho * eps**2))


Build = Callable[[], Statement]

PAIRS: dict[str, tuple[Build, Build]] = {
    "pi": (lambda: at_most(3 * u, pi * u), lambda: at_most(Rational(22, 7) * u, pi * u)),
    "a root": (lambda: at_most(u * sqrt(2), Rational(17, 12) * u), lambda: at_most(u * sqrt(2), Rational(7, 5) * u)),
    "e": (lambda: at_most(2 * u, u * E), lambda: at_most(3 * u, u * E)),
    "a logarithm": (lambda: at_most(u * log(2), u), lambda: at_most(u, u * log(2))),
    "two of them": (
        lambda: at_most(sqrt(2) * log(2) * u, u * pi / 3),
        lambda: at_most(u * pi / 3, sqrt(2) * log(2) * u),
    ),
    "an irrational value": (
        lambda: at_most(half * u, Rational(7, 10) * u),
        lambda: at_most(Rational(7, 10) * u, half * u),
    ),
    "an irrational end": (lambda: at_most(shown, Rational(3, 2)), lambda: at_most(shown, Rational(7, 5))),
    "a root that cancels": (
        lambda: at_most(n + sqrt(a * n + 1), 2 * n + sqrt(a * n + 1)),
        lambda: at_most(2 * n + sqrt(a * n + 1), n + sqrt(a * n + 1)),
    ),
    "a function that cancels": (
        lambda: at_most(u + erf(u), 2 * u + erf(u)),
        lambda: at_most(2 * u + erf(u), u + erf(u)),
    ),
    "a product as one": (lambda: at_most(1 + eps * g, exp(eps * g)), lambda: at_most(2 + eps * g, exp(eps * g))),
    "sign": (lambda: at_most(sign(z), 1), lambda: less(sign(z), 1)),
    "a square of a whole number": (lambda: at_most(m, m**2), lambda: less(m, m**2)),
    "between two whole numbers": (lambda: at_most(0, (m - 1) * (m - 2)), lambda: at_most(0, (m - 1) * (m - 3))),
    "a power beside a line": (lambda: at_most(k + 1, 2**k), lambda: at_most(k + 2, 2**k)),
    "two powers": (lambda: at_most(2**k, 3**k), lambda: at_most(3**k, 2**k + 4)),
    "a power of a variable": (lambda: at_most(x**n, x), lambda: at_most(x**n, x**2)),
    "minus one to a power": (lambda: at_most((-1) ** n, 1), lambda: at_most((-1) ** n, 0)),
    "a square beside a power": (lambda: at_most(n**2, 2**n + 1), lambda: at_most(n**2, 2**n)),
    "Bernoulli": (lambda: at_most(1 + n * y, (1 + y) ** n), lambda: at_most(1 + n * y + y, (1 + y) ** n)),
    "a central coefficient": (
        lambda: at_most(binomial(2 * few, few), 4**few),
        lambda: less(binomial(2 * few, few), 4**few),
    ),
    "a factorial": (lambda: at_most(2**few, 2 * factorial(few)), lambda: at_most(2**few, factorial(few))),
    "a binomial mean": (lambda: equal(mean(j), n * x), lambda: equal(mean(j), n * x**2)),
    "a binomial variance": (
        lambda: equal(mean((j - n * x) ** 2), n * x * (1 - x)),
        lambda: at_most(mean((j - n * x) ** 2), n * x * (1 - x) / 2),
    ),
    "a generating function": (
        lambda: at_most(mean(y**j), (1 - x + x * y) ** n),
        lambda: less(mean(y**j), (1 - x + x * y) ** n),
    ),
    "zCDP at every order": (lambda: response_has_zcdp(Rational(1, 2)), lambda: response_has_zcdp(Rational(1, 3))),
    "a tie at e**0": (lambda: at_most(u, exp(u) - 1), lambda: less(u, exp(u) - 1)),
    "a tie of sinh": (lambda: at_most(u, sinh(u)), lambda: less(u, sinh(u))),
    "a tie of a product": (lambda: at_most(1, 1 + u * exp(u)), lambda: less(1, 1 + u * exp(u))),
    "an irrational zero": (lambda: at_most(0, (c**2 - 2) ** 2), lambda: less(0, (c**2 - 2) ** 2)),
    "an irrational solution": (lambda: somewhere(equal(c**2, 2)), lambda: differ(c**2, 2)),
    "no solution": (lambda: differ(c**2, 26), lambda: somewhere(equal(c**2, 26))),
    "a far point": (lambda: at_most(log(1 + u), 20 + u), lambda: at_most(log(1 + u), 20 + u / 10**12)),
    "a premise": (
        lambda: at_most(t, g, given=(at_most(t**2, g * (g - 1)),)),
        lambda: at_most(t, g - 1, given=(at_most(t**2, g * (g - 1)),)),
    ),
    "a linear premise": (
        lambda: at_most(y, 3 * a, given=(at_most(y, a + x * a),)),
        lambda: at_most(y, a, given=(at_most(y, a + x * a),)),
    ),
    "a strict premise": (lambda: less(y, a + 1, given=(less(y, a + x),)), lambda: less(y, a, given=(less(y, a + x),))),
    "an equality as premise": (
        lambda: at_most(2 * a * y, 1, given=(equal(a**2 + y**2, 1),)),
        lambda: at_most(a, Rational(1, 2), given=(equal(a**2 + y**2, 1),)),
    ),
    "a premise that makes it defined": (
        lambda: at_most(0, sqrt(y - a), given=(at_most(a, y),)),
        lambda: at_most(1, sqrt(y - a), given=(at_most(a, y),)),
    ),
    "an exponential under a premise": (
        lambda: at_most(exp(a), exp(y), given=(at_most(a, y),)),
        lambda: at_most(exp(y), exp(a), given=(at_most(a, y),)),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_true_one_is_proved_and_its_neighbour_refuted(name: str) -> None:
    true, false = (settle(build()) for build in PAIRS[name])
    assert (true.verdict, false.verdict) == (Verdict.PROVED, Verdict.REFUTED), (true.evidence, false.evidence)
    assert [verified(one.to_dict()) for one in (true, false)] == ["PROVED", "REFUTED"]
    assert "smt" not in (true.evidence["kind"], true.evidence.get("proof", {}).get("kind"))


def test_a_premise_that_no_point_meets_is_an_error() -> None:
    with pytest.raises(BadClaimError, match="no point was found in the domain"):
        settle(at_most(a, 1, given=(at_most(a, -1),)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("a < 1", "given must be a tuple of statements"),
        ((a < 1,), "given must have statements of at_most, less or equal"),
        ((differ(a, 1),), "given must have statements of at_most, less or equal"),
        ((somewhere(at_most(a, 1)),), "given must have statements of at_most, less or equal"),
    ],
)
def test_what_is_no_premise_is_refused(given: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        at_most(a, 2, given=given)  # type: ignore[arg-type]
