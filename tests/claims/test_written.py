"""What was written is defined, and is what was proved: the rewriting of a statement is held against its own text.

Random statements have whole numbers with fractional bounds, poles, and logarithms of what may vanish; verdicts are held
against values of the text in 40 digits (`published.entry.number`), which no engine and no checker computes.
"""

from __future__ import annotations

import copy
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from mpmath import mp, mpc, mpf
from sympy import Abs, Expr, Integer, Integral, Rational, Sum, Symbol, binomial, cosh, exp, log, oo, sqrt, tanh

from ldp_audit.claims import Claim, Statement, at_most, differ, equal, less, recheck_written, somewhere
from ldp_audit.claims.language import exponentials
from ldp_audit.claims.recheck import RefusedError
from ldp_audit.claims.settling import BadClaimError, Settled, settle, settle_claim
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms.variable import EPSILON, T, Variable
from tests.claims.published.entry import number

a = exp(-EPSILON)
j, z = Symbol("j"), Symbol("z", real=True)
n = Variable("n", 60, oo, integer=True)
m = Variable("m", 0, 9, integer=True)
x, y = Variable("x", 0, 1), Variable("y", -1, 1)
u = Variable("u", 0, 1, open="left")


def whole(lower: Any, upper: Any = oo, **options: Any) -> Variable:
    return Variable("k", lower, upper, integer=True, **options)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ((Rational(3, 2), oo), (2, oo)),
        ((Rational(-1, 2), Rational(7, 2)), (0, 3)),
        ((sqrt(2), sqrt(50)), (2, 7)),
        ((1, 5), (1, 5)),
    ],
)
def test_bounds_of_whole_numbers_are_whole(given: tuple[Any, Any], made: tuple[Any, Any]) -> None:
    k = whole(*given, open="both" if given[0] != 1 else "left")
    assert (k.lower, k.upper) == made
    assert k.lower_open is (given[0] == 1)


@pytest.mark.parametrize("bound", [Rational(3, 2), Rational(1, 2), sqrt(2)])
@pytest.mark.parametrize("form", [lambda k: (k - 2) ** 2, lambda k: Abs(k - 2)])
def test_what_vanishes_at_a_whole_number_is_not_positive(bound: Any, form: Callable[[Expr], Expr]) -> None:
    """(k - 2)**2 was taken for positive for whole k from 3/2, so that 0 < 0 was proved."""
    factor = form(whole(bound))
    assert settle(less(factor * a, factor * T)).verdict is Verdict.REFUTED
    assert settle(differ(factor * a, factor * T)).verdict is Verdict.REFUTED
    assert settle(somewhere(equal(factor * a, factor * T))).verdict is Verdict.PROVED
    assert settle(at_most(factor * a, factor * T)).verdict is Verdict.PROVED


UNDEFINED: dict[str, tuple[Callable[[], Statement], str]] = {
    "two poles in a sum": (lambda: at_most(Sum(1 / ((j - 50) * (j - 51)), (j, 1, n)), 0), "j = 51"),
    "a logarithm in an exponent": (lambda: at_most(exp(x * log(y)), 1), "y = -1"),
    "a logarithm of a square": (lambda: at_most(exp(x * log(y**2)), 1), "y = 0"),
    "a pole": (lambda: at_most(1 / (x - Rational(1, 3)), 0), "x = 1/3"),
    "a pole that nothing decides": (lambda: at_most(-1 / (x - Rational(1, 3)) ** 2, 0), "x = 1/3"),
    "a root": (lambda: at_most(sqrt(y - Rational(1, 2)), 1), "y = -1"),
    "an end of a sum": (lambda: at_most(Sum(j, (j, 0, m / (m - 3) - m / (m - 3) + m)) / (m - 3), 9), "m = 3"),
    "an integrand": (lambda: at_most(Integral(z**2 / (y + 1) * (y + 1), (z, 0, 1)) / (y + 1), 1), "y = -1"),
    "a denial": (lambda: somewhere(less(1 / (x - Rational(1, 3)) ** 2, 0)), "x = 1/3"),
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_what_was_written_is_defined_or_the_claim_names_the_point(name: str) -> None:
    made, point = UNDEFINED[name]
    with pytest.raises(BadClaimError, match=f"undefined .*{point}"):
        settle(made())


REWRITTEN: dict[str, Callable[[], Statement]] = {
    "a sum with an end": lambda: equal(Sum(j**2, (j, 1, n)), n * (n + 1) * (2 * n + 1) / 6),
    "a geometric series": lambda: equal(Sum(a ** Abs(j - m), (j, -oo, oo)), (1 + a) / (1 - a)),
    "an integral": lambda: equal(Integral(z**2, (z, 0, x)), x**3 / 3),
    "hyperbolic": lambda: less(tanh(EPSILON), 1),
    "a root": lambda: at_most(x, sqrt(x)),
    "powers": lambda: less(exp(-EPSILON / 2), exp(EPSILON / 3)),
    "a logarithm": lambda: at_most(-u * log(u), 1),
    "binomials": lambda: equal(binomial(n, 3) / binomial(n, 2), (n - 2) / 3),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_what_was_written_is_kept_and_compared(name: str) -> None:
    settled = settle(REWRITTEN[name]())
    record = settled.to_dict()
    assert settled.verdict is Verdict.PROVED, settled.evidence
    assert {v["name"] for v in record["written"]["variables"]} >= {v.name for v in settled.statement.variables()} - {
        v.name for v in settled.statement.variables() if v.name.startswith("root_")
    }
    assert record["compared"]["points"] >= 5
    assert recheck_written.verified(record) == "PROVED"


def test_exponentials_and_hyperbolic_functions_are_shown_to_be_the_same() -> None:
    for statement in (less(exp(-EPSILON), cosh(EPSILON)), less(tanh(EPSILON), 1)):
        assert settle(statement).to_dict()["compared"]["identical"] is True


@pytest.mark.parametrize("name", REWRITTEN)
def test_another_text_beside_the_same_proof_is_refused(name: str) -> None:
    """Would catch a checker that takes the proof of one statement for that of another."""
    record = settle(REWRITTEN[name]()).to_dict()
    for change in ("({}) + 1", "2*({}) + 1"):
        forged = copy.deepcopy(record)
        side = "left" if record["relation"] != "==" else "right"
        forged["written"][side] = (
            change.format(forged["written"][side]) if side == "right" else f"({forged['written']['right']}) + 1"
        )
        with pytest.raises(RefusedError):
            recheck_written.verified(forged)
    with pytest.raises(RefusedError, match="not compared as it says"):
        recheck_written.verified({**record, "compared": {**record["compared"], "points": 41}})


def test_a_rewriting_that_is_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong while a statement is built: here a common factor counts as positive that is not."""
    monkeypatch.setattr(exponentials, "certain", lambda _: True)
    statement = less((x - 1) ** 2 * a, (x - 1) ** 2 * T)
    assert statement.wrote is not None
    settled = settle(statement)
    assert settled.verdict is Verdict.UNDECIDED
    assert "what was written says otherwise at epsilon = 1, x = 1" in settled.evidence["reason"]


def test_proofs_of_what_is_defined_are_needed() -> None:
    record = settle(at_most(1 / (x**2 - x + 1), 2)).to_dict()
    assert [one["written"]["left"] for one in record["defined"]]
    assert recheck_written.verified(record) == "PROVED"
    with pytest.raises(RefusedError, match="nothing shows that"):
        recheck_written.verified({key: value for key, value in record.items() if key != "defined"})
    other = copy.deepcopy(record)
    other["defined"][0]["written"]["variables"][0]["upper"] = "1/2"
    with pytest.raises(RefusedError):
        recheck_written.verified(other)


# -- Random statements ------------------------------------------------------------------------------------------------

_NUMBERS = [Rational(p, q) for p, q in ((0, 1), (1, 1), (2, 1), (3, 1), (1, 2), (3, 2), (5, 2), (1, 3), (-1, 1))]


def _statement(draw: random.Random) -> Statement | None:
    """A random statement, of forms that are often nearly true; None where it cannot be built."""
    lower, upper = (
        draw.choice([Rational(3, 2), Rational(1, 2), Rational(5, 3), 1, sqrt(2)]),
        draw.choice([oo, oo, Rational(13, 2), 7]),
    )
    k = whole(lower, upper, open=draw.choice(["", "left"]))
    v = Variable("v", draw.choice([0, -1, Rational(1, 3)]), draw.choice([1, 2]), open=draw.choice(["", "left", "both"]))
    c, d = draw.choice(_NUMBERS), draw.choice(_NUMBERS)
    factors: list[Callable[[], Expr]] = [
        lambda: (k - c) ** 2,
        lambda: Abs(k - c),
        lambda: (v - c) ** 2,
        lambda: Abs(v),
        lambda: a,
        lambda: T,
        lambda: 1 / (v - c),
        lambda: 1 / (k - c) ** 2,
        lambda: 1 / (k + v),
        lambda: log(v + c),
        lambda: sqrt(v + c),
        lambda: exp(v * log(k - c)),
        lambda: exp(v),
        lambda: cosh(v),
        lambda: Sum(1 / ((j - c) * (j - c + 1)), (j, 1, k)),
        lambda: Sum(j, (j, 1, k)),
        lambda: k - d,
        lambda: Integer(1),
    ]
    try:
        left = draw.choice(factors)() * draw.choice(factors)()
        right = left * draw.choice([1, 1, T, a, 2, 1 + (v - d) ** 2, Rational(1, 2)]) + draw.choice(
            [0, 0, (k - d) ** 2, -1, Abs(v - d)]
        )
        relation = draw.choice(["<=", "<", "==", "!=", "<="])
        if draw.random() < 0.3:
            right = draw.choice(factors)() * draw.choice(factors)()
        return Statement(left, relation, right)
    except (ValueError, ZeroDivisionError):
        return None


def _points(sides: tuple[Expr, Expr]) -> Iterator[dict[str, Any]]:
    """Corners, whole numbers and fractions in the domains of k, v and epsilon, if the sides have them."""
    names = {one.name: one for side in sides for one in side.free_symbols}
    choices: list[list[tuple[str, Any]]] = []
    for name, one in sorted(names.items()):
        if name in ("t", "epsilon"):
            continue
        tries = [Rational(i, 6) for i in range(-6, 13)] if name == "v" else [Integer(i) for i in range(-2, 12)]
        inside = [
            value
            for value in tries
            if (one.lower < value if one.lower_open else one.lower <= value)
            and (value < one.upper if one.upper_open else value <= one.upper)
        ]
        choices.append([(name, mpf(int(value.p)) / int(value.q)) for value in inside])
    rates = [mpf(1) / 1000, mpf(1) / 3, mpf(2)] if {"t", "epsilon"} & names.keys() else [mpf(1)]
    for values in product(*choices):
        for rate in rates:
            yield {**dict(values), "epsilon": rate, "t": mp.exp(rate)}


def _value(side: Expr, point: dict[str, Any]) -> Any:
    """The value in 40 digits; None where it is undefined."""
    for one in side.atoms(log):
        if not one.args[0].has(Symbol("j")) and _value(one.args[0], point) in (None, 0):
            return None
    try:
        found = number(side, point)
    except (ZeroDivisionError, ValueError):
        return None
    complex_valued = isinstance(found, mpc) and found.imag != 0
    return None if complex_valued or not mp.isfinite(found) else mp.re(found)


def _wrong(statement: Statement, settled: Settled) -> str:
    """What is wrong with the verdict, by values at points; empty if nothing is."""
    sides = statement.wrote or (statement.left, statement.right)
    violated = undefined = 0
    for point in _points(sides):
        left, right = (_value(side, point) for side in sides)
        if left is None or right is None:
            undefined += 1
            continue
        gap, noise = right - left, mpf(10) ** -30 * max(1, abs(left), abs(right))
        same = abs(gap) <= noise
        holds = {"==": same, "!=": not same, "<=": same or gap > 0, "<": gap > noise}[statement.relation]
        violated += not holds
    verdict = settled.verdict
    if verdict in (Verdict.PROVED, Verdict.REFUTED) and undefined:
        return f"{verdict}, but undefined at {undefined} points"
    if verdict is Verdict.PROVED and violated:
        return f"PROVED, but {violated} points violate it"
    return ""


def _is_undefined_there(statement: Statement, message: str) -> bool:
    """Whether the point that an error names makes a divisor, a logarithm or a root of the text undefined."""
    named = dict(re.findall(r"(\w+) = (-?[\d/]+)", message))
    needed = re.search(r"it needs (.*) (!=|>|>=) 0$", message)
    if needed is None or not named:
        return "undefined at" in message  # at one of the first points, by evaluation
    point = {name: Rational(value) for name, value in named.items()}
    found = eval(needed[1], {"exp": exp, "log": log, "Abs": Abs, "sqrt": sqrt, "cosh": cosh}, point)  # (our own text)
    return bool({"!=": found == 0, ">": found <= 0, ">=": found < 0}[needed[2]])


@pytest.mark.parametrize("count", [50, pytest.param(3_000, marks=pytest.mark.slow)])
def test_random_statements_against_values_of_their_text(count: int) -> None:
    """None is wrong, and many have each of the three outcomes. What takes more than two seconds is undecided."""
    draw, seen, wrong = random.Random(20261128), Counter[str](), []
    with mp.workdps(40):
        while seen.total() < count:
            statement = _statement(draw)
            if statement is None:
                continue
            try:
                claim = Claim("RANDOM", place="", says="a random statement", parts=(statement,))
                (settled,) = settle_claim(claim, seconds=2).parts
            except BadClaimError as error:
                seen["undefined"] += 1
                if not _is_undefined_there(statement, str(error)):
                    wrong.append((statement, str(error)))
                continue
            seen[str(settled.verdict)] += 1
            if complaint := _wrong(statement, settled):
                wrong.append((statement, complaint))
    assert wrong == []
    assert min(seen["PROVED"], seen["REFUTED"], seen["undefined"]) > 0.05 * count, seen
