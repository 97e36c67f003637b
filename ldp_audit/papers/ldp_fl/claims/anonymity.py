"""LDP-FL, the privacy of anonymous counts: the test that sums them, and the number of clients required.

Derived claims, which quantify the objections of `shuffling.py`. A count of upper reports has the signal mu^2 =
(difference of its means)^2 / variance, and m = T d counts have m times that (`attacks.membership_limit`).
"""

from fractions import Fraction

from sympy import Add, Expr, Integer, Max, Mul, Pow, Rational, exp

from ldp_audit.accounting.laws.finite_laws import Law, count_law, product_law
from ldp_audit.claims.as_written import put_in
from ldp_audit.claims.claim import Claim
from ldp_audit.claims.language.statement import at_most, equal, less, prints_as
from ldp_audit.papers.ldp_fl.claims.symbols import Variable, c, m, n, oo, plus, r, t, w

high, low, middle = (m.at({w: place}).atoms[0].probability for place in (c + r, c - r, c))

MU = Fraction("0.26805")
"""The shift mu of two normal distributions with delta(1) = 10^-5; LF-NEED bounds it."""

SETTINGS = (("MNIST", 100, 1, 10), ("FMNIST", 200, 4, 15), ("CIFAR-10", 500, 10, 15))
"""Section 5.2: data, n, epsilon, rounds."""

FEW, LINEAR = 500, 7850
"""Numbers of weights: one that every network exceeds, and that of a dense layer from 784 numbers to 10."""


def signal() -> Claim:
    several = Variable("n", 2, oo, integer=True)
    gap = high - low
    ends = n * low * (1 - low)
    centers = high * (1 - high) + (several - 1) * middle * (1 - middle)
    return Claim(
        id="LF-SIGNAL",
        name="signal of one anonymous count",
        place="Section 4, parameter shuffling (our quantification)",
        says="One anonymous count tells the two ends of one client's range apart with the squared signal (t-1)^2/(n t) if all "
        "clients are at the ends, and never with less than 4 (t-1)^2/((t+1)^2 n): it falls like 1/n, so T d counts need n to "
        "grow like T d.",
        latex=r"\frac{4(t-1)^2}{(t+1)^2\,n}\le\mu_1^2\le\frac{(t-1)^2}{nt}",
        parts=(
            equal(gap, (t - 1) / (t + 1), "the difference of the count's means"),
            equal(gap**2 / ends, (t - 1) ** 2 / (n * t), "all n clients at the ends"),
            at_most(
                low * (1 - low), plus * (1 - plus), "no report varies less than one at an end, so this is the most"
            ),
            at_most(plus * (1 - plus), Rational(1, 4), "no report varies more than one at the center"),
            at_most(
                4 * (t - 1) ** 2 / ((t + 1) ** 2 * several),
                gap**2 / centers,
                "all others at the center: at least 4 (t-1)^2/((t+1)^2 n)",
            ),
        ),
        argument="The reports are independent, so their variances add up; the means differ by the target's own chances alone.",
        source="derived",
    )


def clientsneeded() -> Claim:
    counts = Integer(10) ** 5
    return Claim(
        id="LF-NEED",
        name="clients needed for shuffling",
        place="Section 4, parameter shuffling (our quantification)",
        says="For a total of (1, 10^-5) at T d = 10^5 counts, shuffling takes n = T d (t-1)^2/(t mu^2) clients with mu = 0.26805 "
        "in the normal limit: 1.51 million at epsilon = 1 and 30.7 billion at epsilon = 10 a report. LDP-FL has 100 to 500.",
        latex=r"n\ge Td\,\frac{(t-1)^2}{t\,\mu^2},\qquad\Phi\!\left(\tfrac\mu2-\tfrac1\mu\right)-e\,\Phi\!\left(-\tfrac\mu2-\tfrac1\mu\right)=10^{-5}",
        parts=(
            prints_as(needed(counts, 1) / 10**6, "1.51", "epsilon = 1: 1.51 million"),
            prints_as(needed(counts, 10) / 10**10, "3.07", "epsilon = 10: 3.07 x 10^10"),
            less(500, needed(counts, 1), "more than the paper's largest n"),
            at_most(
                tail_excess(MU - Fraction(1, 10**5), above=True), Rational(1, 10**5), "mu = 0.26804 is private enough"
            ),
            at_most(Rational(1, 10**5), tail_excess(MU + Fraction(1, 10**5), above=False), "mu = 0.26806 is not"),
        ),
        rests_on=(
            "The normal limit: for so many clients the sum of the log-likelihood ratios is nearly normal",
            "Dong, Roth, Su (2022): the profile of two normal laws",
            "The alternating series of the normal integral, cut off where its terms fall; 3.1415926535 < pi < 3.1415926536",
        ),
        source="derived",
    )


def needed(counts: Expr, epsilon: int) -> Expr:
    return counts * (exp(epsilon) - 1) ** 2 / (exp(epsilon) * _rational(MU) ** 2)


def tail_excess(mu: Fraction, *, above: bool) -> Expr:
    """A bound on delta(1) of two normal distributions with distance mu, from below or from above."""
    near, far = 1 / mu - mu / 2, 1 / mu + mu / 2
    return Add(upper_tail(near, above=above), Mul(-1, exp(1), upper_tail(far, above=not above)), evaluate=False)


def upper_tail(x: Fraction, *, above: bool) -> Expr:
    """Bounds on P(N > x) = 1/2 - sum_k (-1)^k x^(2k+1) / (2^k k! (2k+1)) / sqrt(2 pi).

    Partial sums that end with a negative term are lower bounds on the sum, once the terms decrease (k > x^2/2).
    """
    pi = Rational("3.1415926536") if above else Rational("3.1415926535")
    last = 60 if not above else 61  # even: an upper bound on the sum, a lower bound on the tail
    term, total = x, Fraction(0)
    square = term * term
    for k in range(last + 1):
        total += term / (2 * k + 1)
        term *= -square / (2 * (k + 1))
    shortened = Fraction(-(-total.numerator * 10**25 // total.denominator) - above, 10**25)  # outward, 25 places
    part = Mul(_rational(shortened), Pow(2 * pi, Rational(-1, 2)), evaluate=False)
    return Add(Rational(1, 2), Mul(-1, part, evaluate=False), evaluate=False)


def _rational(number: Fraction) -> Expr:
    return Rational(number.numerator, number.denominator)


def client_found() -> Claim:
    parts = []
    for name, clients, eps, rounds in SETTINGS:
        gap = (exp(eps) - 1) / (exp(eps) + 1)
        errors = {d: 2 * exp(-rounds * d * gap**2 / (2 * clients)) for d in (FEW, LINEAR)}
        parts += [
            at_most(errors[FEW], Rational(1, 100), f"{name}, d = {FEW}: the advantage is at least 0.99"),
            less(errors[LINEAR], 1 - gap, f"{name}, d = {LINEAR}: it exceeds what epsilon = {eps} in all would allow"),
        ]
    return Claim(
        id="LF-FOUND",
        name="attack at the paper's settings",
        place="Section 4, parameter shuffling, at the sizes of Section 5.2 (our test of it)",
        says="At LDP-FL's own clients, rounds and epsilon, adding up the anonymous reports tells the two ends of one client's "
        f"range apart with an advantage of at least 0.99 from d = {FEW} weights on, whatever the others' weights are; from "
        f"d = {LINEAR}, one dense layer for MNIST, with more than epsilon in all would allow. (Others' weights known, as DP has it.)",
        latex=r"1-2\exp\!\left(-\frac{Td}{2n}\Big(\frac{t-1}{t+1}\Big)^{2}\right)\ge0.99,\quad d=500",
        parts=tuple(parts),
        rests_on=("Hoeffding (1963), Theorem 2, for n T d independent reports in {0, 1}",),
        argument="Count the reports that agree with the client's end, over all weights and rounds. The two means differ by "
        "T d (t-1)/(t+1); cut half way; each side errs with at most exp(-2 (T d (t-1)/(t+1) / 2)^2 / (n T d)). Any test's advantage "
        "is at most (t-1)/(t+1) under epsilon-LDP, so its two errors sum to at least 1 - (t-1)/(t+1).",
        source="derived",
    )


def membership() -> Claim:
    pairs = {d: best_advantage(d) for d in (1, 2, 3, 4)}
    return Claim(
        id="LF-MEMBER",
        name="likelihood-ratio test on counts",
        place="Section 4, parameter shuffling (our test of it)",
        says="If epsilon-LDP for each weight were sufficient, no test could tell what a client sent with an advantage above "
        "(t-1)/(t+1) = 1/2 at t = 3. Of two clients' anonymous counts the likelihood-ratio test has 3/8, 15/32, 531/1024 and "
        "2511/4096 for d = 1, 2, 3 and 4 weights: from three on it is above.",
        latex=r"\max_S\Pr[S\mid c+r]-\Pr[S\mid c-r]=\tfrac38,\ \tfrac{15}{32},\ \tfrac{531}{1024},\ \tfrac{2511}{4096}",
        parts=(
            equal(
                put_in(high - low, {t: 3, c: 0, r: 1}),
                Rational(1, 2),
                "one report, sent by name: 1/2, the most that epsilon = ln 3 allows",
            ),
            *(
                equal(pairs[d], value, f"n = 2, d = {d}, the other client at c - r")
                for d, value in ((1, Rational(3, 8)), (2, Rational(15, 32)), (3, Rational(531, 1024)))
            ),
            equal(pairs[4], Rational(2511, 4096), "n = 2, d = 4"),
            less(pairs[2], Rational(1, 2), "two weights: still below 1/2"),
            less(Rational(1, 2), pairs[3], "three weights: above 1/2"),
        ),
        sizes="n = 2, t = 3, d = 1 to 4, one round",
        argument="The advantage of the best test is the total variation distance, the sum over outcomes of (P - Q)_+.",
        source="derived",
    )


def _at_three(expression: Expr) -> Expr:
    return expression.subs({t: 3, c: 0, r: 1})


def best_advantage(d: int) -> Expr:
    """The sum of (P - Q)_+ over the outcomes of d counts of two clients, equal terms collected, unevaluated."""
    others = _at_three(low)
    laws: list[Law] = [product_law([count_law([_at_three(own), others])] * d) for own in (high, low)]
    terms: dict[tuple[Expr, Expr], int] = {}
    for outcome in laws[0]:
        masses = (laws[0][outcome], laws[1][outcome])
        terms[masses] = terms.get(masses, 0) + 1
    return Add(
        *(
            Mul(Integer(times), Max(0, Add(p, -q, evaluate=False), evaluate=False), evaluate=False)
            for (p, q), times in sorted(terms.items())
        ),
        evaluate=False,
    )


CLAIMS = {
    "LF-SIGNAL": signal,
    "LF-NEED": clientsneeded,
    "LF-MEMBER": membership,
    "LF-FOUND": client_found,
}
