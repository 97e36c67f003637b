"""A small paper of the tests' own about the two-point mechanism: every verdict, every kind of evidence, two protocols.

It is for tests that want some paper, so that none needs a shipped one. `check --claims tests.example_paper` settles it,
and for tests with the fixture `example_installed` it is registered by entry points, as another package's paper is.
"""

from __future__ import annotations

from sympy import Rational, binomial, exp, log, oo

from ldp_audit.accounting.protocols.paper_claims import PaperClaim
from ldp_audit.accounting.protocols.protocol import Protocol
from ldp_audit.claims import (
    Claim,
    Condition,
    Correction,
    Paper,
    Reading,
    at_most,
    differ,
    equal,
    is_private,
    less,
    order,
    prints_as,
    somewhere,
)
from ldp_audit.claims.language.alone import words_alone
from ldp_audit.figure import Figure, Panel, Series
from ldp_audit.mechanisms.values.two_point import CENTER, RADIUS, TWO_POINT, WEIGHT, A
from ldp_audit.mechanisms.variable import EPSILON, T, Variable

_VARIANCE = TWO_POINT.variance()
_AT_CENTER = RADIUS**2 * A**2


def private() -> Claim:
    return Claim(
        "EX-1",
        name="privacy of one report",
        place="Theorem 1",
        says="The mechanism is epsilon-LDP.",
        latex=r"\frac{\Pr[M(w)=y]}{\Pr[M(w')=y]}\le e^{\varepsilon}",
        parts=is_private(TWO_POINT, T),
        assumptions=("the weights lie in [c - r, c + r]",),
    )


def unbiased() -> Claim:
    return Claim("EX-2", "Lemma 1", "A report has its weight as its mean.", parts=(equal(TWO_POINT.mean(), WEIGHT),))


def variance() -> Claim:
    return Claim(
        "EX-3",
        name="variance of one report",
        place="Lemma 2",
        says="The variance of a report is r^2 A^2.",
        latex=r"\mathrm{Var}[M(w)]=r^2A^2",
        parts=(equal(_VARIANCE, _AT_CENTER, "the variance"), at_most(_VARIANCE, _AT_CENTER, "at most that")),
        corrected=Correction(
            "It falls short of that by (w - c)^2.",
            r"r^2A^2-(w-c)^2",
            (equal(_VARIANCE, _AT_CENTER - (WEIGHT - CENTER) ** 2, "the exact variance"),),
        ),
        another=Reading("Of the variance at the ends.", (equal(_VARIANCE.subs(WEIGHT, CENTER + RADIUS), _AT_CENTER),)),
        looked="Lemma 2 and its proof.",
    )


def variance_of_the_mean() -> Claim:
    n = Variable("n", 1, oo, integer=True)
    return Claim(
        "EX-4",
        "Corollary 1",
        "The mean of n reports has a variance of at most r^2 (A^2 - 1)/n.",
        parts=(
            at_most(_VARIANCE / n, RADIUS**2 * (A**2 - 1) / n, "the least variance as the largest"),
            less(_VARIANCE, _AT_CENTER + RADIUS**2, "and below another bound"),
        ),
    )


def at_the_center() -> Claim:
    return Claim(
        "EX-5",
        "Lemma 3",
        "The variance of a report is r^2 A^2 in the middle of the range.",
        parts=(equal(_VARIANCE, _AT_CENTER),),
        condition=Condition("The weight is the center.", (Variable("w", CENTER, CENTER),)),
    )


def worthless() -> Claim:
    k = Variable("k", 1, oo)
    return Claim(
        "EX-6",
        "Theorem 2",
        "The chance of a guess is at most k.",
        parts=(at_most(T / (T + 1), k, "the bound"),),
        void=(at_most(1, k, "it is never below 1"),),
    )


def some_sizes() -> Claim:
    return Claim(
        "EX-7",
        "Section 3",
        "Of n fair reports, the chance that all agree is 2^(1 - n).",
        parts=[
            equal(Rational(binomial(n, 0) + binomial(n, n), 2**n), Rational(2, 2**n), f"n = {n}") for n in range(1, 6)
        ],
        sizes="n = 1 to 5",
        rests_on=("the reports are independent",),
    )


def in_words() -> Claim:
    return Claim("EX-8", "Section 1", "Nobody has to be trusted.", argument="Each client perturbs its own weight.")


def not_formal() -> Claim:
    return Claim("EX-9", "Section 5", "The accuracy is good.")


def grows_as() -> Claim:
    K = Variable("K", 0, oo, open="left")
    few = Variable("epsilon_few", 0, 1, open="left")
    return Claim(
        "EX-10",
        "Section 4, the table",
        "The deviation is O(1/epsilon) for epsilon up to 1, and O(1) for every epsilon.",
        parts=(
            order((few + 2) / few, K / few, constant=K, label="up to 1"),
            order(1 / EPSILON, K, constant=K, label="for every epsilon"),
        ),
    )


def exists() -> Claim:
    w = Variable("w", 0, 1)
    return Claim(
        "EX-11",
        "Section 4",
        "Some weight in [0, 1] has a square above itself, and some one below.",
        parts=(somewhere(less(w**2, w), "below"), somewhere(less(w, w**2), "above")),
    )


def numbers() -> Claim:
    x = Variable("x", 1, 2)
    return Claim(
        "EX-12",
        "Section 5, Table 1",
        "The printed numbers.",
        parts=(
            prints_as(exp(Rational(1, 2)), "1.65", "e^(1/2)"),
            prints_as(log(3), "1.1", "ln 3"),
            differ(exp(-x), log(x) + 1, "two curves that do not meet"),
            less(x * exp(-x) * log(x), Rational(1, 5), "a bound by boxes"),
        ),
    )


def program() -> Claim:
    return Claim(
        "FP-1",
        "textbook Laplace noise of 8 bits",
        "As a program it is epsilon-LDP: no report comes from one input only.",
        parts=(equal(words_alone(8, 0, 1), 0, "words that lead from 0 to what 1 never reports"),),
        source="derived",
    )


def scanned() -> Claim:
    return Claim(
        "EX-ocr",
        "Corollary 1, in a damaged copy",
        "The variance is at least r^2.",
        parts=(at_most(RADIUS**2, _VARIANCE),),
        source="damaged conversion",
    )


def figures() -> list[Figure]:
    """One figure of two panels, with a band and a dashed line."""
    x = [-1.0, -0.5, 0.0, 0.5, 1.0]
    exact = Series("exact", x, [3.7 - one**2 for one in x])
    printed = Series("as printed", x, [3.7] * 5, style="dashed")
    band = Series("between the bounds", x, [2.7] * 5, [3.7] * 5, "band")
    return [
        Figure(
            "example-variance",
            "Lemma 2: the variance of one report",
            "The printed value is right in the middle of the range.",
            "A downward parabola under a horizontal line that touches it in the middle.",
            (Panel("Two values", "weight", "variance", (exact, printed)), Panel("A band", "weight", "", (band, exact))),
        )
    ]


def accounting(protocol: Protocol) -> tuple[PaperClaim, ...]:
    """The paper's own words on its protocols."""
    if protocol.split is None:
        return (PaperClaim("no epsilon is needed", 0.0, 0.2, {"EX-6": "VACUOUS"}),)
    whole = protocol.split.epsilon
    return (
        PaperClaim("a report spends epsilon", whole, 0.0, {"EX-1": "PROVED"}),
        PaperClaim("and as much with the selection", whole, 0.0, {"EX-3": "REFUTED"}, "More, by the selection."),
    )


ENTRY_POINTS = """
[ldp_audit.papers]
example = tests.example_paper:PAPER
[ldp_audit.protocols]
example = tests.example_paper.protocols
[ldp_audit.conventions]
example = tests.example_paper:accounting
"""
"""What an installed package that brings this paper has in its entry_points.txt."""

PAPER = Paper(
    key="example",
    title="Two Values Are Enough",
    authors="Nobody in Particular",
    venue="the tests",
    claims={
        "EX-1": private,
        "EX-2": unbiased,
        "EX-3": variance,
        "EX-4": variance_of_the_mean,
        "EX-5": at_the_center,
        "EX-6": worthless,
        "EX-7": some_sizes,
        "EX-8": in_words,
        "EX-9": not_formal,
        "EX-10": grows_as,
        "EX-11": exists,
        "EX-12": numbers,
        "FP-1": program,
        "EX-ocr": scanned,
    },
    figures=figures,
    mechanisms=(TWO_POINT,),
    telling=("EX-3",),
    protocol="example-two-stages",
)
