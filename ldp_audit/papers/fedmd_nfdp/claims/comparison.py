"""FedMD-NFDP, Lemma 1 and its proof by induction: sampling with replacement against sampling without."""

from sympy import Expr, Rational, exp, log

from ldp_audit.claims.as_written import difference, quotient
from ldp_audit.claims.claim import Claim, Correction
from ldp_audit.claims.language.statement import Statement, at_most, equal, less, prints_as
from ldp_audit.mechanisms.variable import Variable, oo
from ldp_audit.papers.fedmd_nfdp.claims.symbols import (
    DELTA_WITH,
    DELTA_WITHOUT,
    EPSILON_WITH,
    EPSILON_WITHOUT,
    n,
    n_any,
    put,
)
from ldp_audit.papers.fedmd_nfdp.claims.symbols import k as k_whole

SETTINGS = ((2880, 60), (2880, 300), (300, 60), (300, 120))
"""(n, k) of Table 2, except the rows that print 16 (see NF-TAB2k) and k = n."""


def bernoulli(x: Expr, draws: Variable, what: str) -> tuple[Statement, ...]:
    """(1 - x)**k >= 1 - k x by induction on k, from equality at k = 1: the step for any value B of the power."""
    power = Variable("B", 1 - draws * x, 1)
    return (
        at_most(1 - (draws + 1) * x, power * (1 - x), f"{what}: if B = (1-x)^k >= 1 - kx, then B(1-x) >= 1 - (k+1)x"),
    )


def lemma_1() -> Claim:
    small = Variable("k", 1, 8, integer=True)
    larger = Variable("n", small, oo, integer=True)
    x, y = 1 / larger, 1 / (larger + 1)
    return Claim(
        id="NF-L1",
        name="comparison of the two samplings",
        place="Lemma 1",
        says="With replacement the algorithm is consistently more private than without (here: no less, in Theorem 2's epsilon and delta "
        "against Theorem 1's, wherever k of n records can be drawn without replacement).",
        latex=r"k\ln\frac{n+1}n\le\ln\frac{n+1}{n+1-k},\qquad1-\Bigl(\frac{n-1}n\Bigr)^k\le\frac kn\quad(1\le k\le n)",
        parts=(
            *bernoulli(1 / n, k_whole, "delta, x = 1/n"),
            *bernoulli(1 / (n + 1), k_whole, "epsilon, x = 1/(n+1)"),
            less(0, n + 1 - k_whole, "Theorem 1's logarithm is defined"),
            at_most(1 - small * x, (1 - x) ** small, "delta, k = 1 .. 8, every n >= k"),
            at_most(1 - small * y, (1 - y) ** small, "epsilon, k = 1 .. 8, every n >= k"),
        ),
        corrected=Correction(
            "'More' is 'no less': at k = 1 the two agree. And k <= n is needed: at k = n + 1 Theorem 1's epsilon is the logarithm of "
            "infinity, beyond it of a negative number.",
            r"k=1:\quad\ln\frac{n+1}n=\ln\frac{n+1}{n+1-1},\quad\frac1n=\frac1n",
            (
                equal(
                    (n_any + 1) / n_any,
                    quotient(n_any + 1, difference(n_any + 1, 1)),
                    "the arguments of the logarithms at k = 1",
                ),
                equal(difference(1, 1 - 1 / n_any), 1 / n_any, "delta at k = 1"),
            ),
        ),
        assumptions=("1 <= k <= n; the lemma's own range, with all its formulas, is lost in the conversion",),
        rests_on=("induction on k", "the logarithm grows"),
        argument="With x = 1/(n+1) the claim about epsilon is (1-x)^k >= 1 - kx (exponentiate and invert both sides); with x = 1/n "
        "the claim about delta is the same inequality, Bernoulli's; at k = 1 both are equalities.",
    )


def lemma_1_induction() -> Claim:
    x = Variable("x", 0, 1)
    power = Variable("B", 1 - k_whole * x, 1)
    return Claim(
        id="NF-L1ind",
        name="induction step of the proof",
        place="Appendix, proof of Lemma 1: the induction",
        says="If the two inequalities hold for k, they hold for k + 1.",
        latex=r"(1-kx)(1-x)=1-(k+1)x+kx^2,\qquad x=\tfrac1n\text{ or }\tfrac1{n+1}",
        parts=(
            equal((1 - k_whole * x) * (1 - x), 1 - (k_whole + 1) * x + k_whole * x**2, "the product"),
            at_most(1 - (k_whole + 1) * x, (1 - k_whole * x) * (1 - x), "so it is at least 1 - (k+1)x"),
            at_most((1 - k_whole * x) * (1 - x), power * (1 - x), "and (1-x)^(k+1) at least as large, as 1 - x >= 0"),
        ),
    )


def much_more() -> Claim:
    y = Variable("y", 0, 1, open="left")
    w = Variable("w", 1, oo, exp_of=y)
    x = Variable("x", 0, 1)
    falling = Variable("G", 0, 1, exp_of=-x)
    ratios: list[Statement] = []
    printed = {
        (2880, 60): ("1.01", "1.01"),
        (2880, 300): ("1.05", "1.06"),
        (300, 60): ("1.10", "1.11"),
        (300, 120): ("1.21", "1.27"),
    }
    for records, draws in SETTINGS:
        where = f"n = {records}, k = {draws}"
        deltas = put(DELTA_WITHOUT, records, draws), put(DELTA_WITH, records, draws)
        epsilons = put(EPSILON_WITHOUT, records, draws), put(EPSILON_WITH, records, draws)
        for name, (without, with_), digits in zip(
            ("delta", "epsilon"), (deltas, epsilons), printed[records, draws], strict=True
        ):
            ratios.append(prints_as(without / with_, digits, f"{where}: the ratio of {name} is {digits}"))
    return Claim(
        id="NF-MUCH",
        name="margin between the samplings",
        place="Section 5.2, comparison of the two samplings (Fig. 4)",
        says="For the same sample size, sampling without replacement costs much more privacy than with replacement.",
        corrected=Correction(
            "It costs more: at the k and n of Table 2 with k < n the pairs differ by 1% to 27%. The deltas never differ by more than "
            "the factor 1/(1 - 1/e) = 1.58, which k = n approaches. Theorem 1's epsilon does grow faster, to ln(n+1) against 1 at k = "
            "n, but epsilon is no part of what is guaranteed (NF-FLAT).",
            r"\frac kn\le1.6\Bigl(1-\bigl(1-\tfrac1n\bigr)^k\Bigr)\quad(1\le k\le n)",
            (
                *ratios,
                at_most(1 - x, falling, "1 - x <= e^-x, so (1 - 1/n)^k <= e^-y with y = k/n"),
                at_most(y, Rational(8, 5) * (1 - 1 / w), "y <= 1.6 (1 - e^-y) for 0 < y <= 1"),
                prints_as(1 / put(DELTA_WITH, 2880, 2880), "1.58", "n = k = 2880: the ratio of the deltas"),
                prints_as(1 / (1 - exp(-1)), "1.58", "1/(1 - 1/e)"),
                prints_as(log(2881) / put(EPSILON_WITH, 2880, 2880), "7.97", "n = k = 2880: the ratio of the epsilons"),
            ),
        ),
        argument="How much 'much' is is not said, and the figure cannot be read from the text; that it is no less is NF-L1.",
    )


CLAIMS = {
    "NF-L1": lemma_1,
    "NF-L1ind": lemma_1_induction,
    "NF-MUCH": much_more,
}
