"""LDP-FL, amplification by shuffling at the paper's own sizes: Sections 3.1.2 and 4, with those of 5.2.

In the worst case for one client all others are at the lower end of the range. Two events of the counts suffice:

* no upper report in any of m (weight, round) pairs: (t/(t+1))**(n m) for a client at the lower end, and t**-m times
  that for one at the upper end;
* at most a given number of upper reports of one weight: a short sum.

`accounting.shuffle` and `accounting.compose` compute the whole curves, as certified intervals; these events can be
summed by hand.
"""

from math import comb

from sympy import Add, Expr, Integer, Mul, Pow, Rational, exp, log, sqrt

from ldp_audit.claims.claim import Claim, Correction
from ldp_audit.claims.language.statement import Quantities, Statement, at_most, less, prints_as

DELTA = Rational(1, 10**5)


def no_upper_reports(n: int, epsilon: int, reports: int, level: Expr | int) -> Expr:
    """P - e**level Q of the event that none of the n clients reports an upper value, in this many (weight, round)
    pairs."""
    nobody = exp(Mul(-n * reports, log(1 + exp(-epsilon)), evaluate=False), evaluate=False)
    return Mul(nobody, 1 - exp(level - epsilon * reports), evaluate=False)


def few_upper_reports(n: int, epsilon: int, most: int, level: Expr) -> Expr:
    """P - e**level Q of the event of at most this many upper reports of one weight."""
    t = exp(epsilon)
    low = Add(*(comb(n, k) * Pow(t, n - k, evaluate=False) for k in range(most + 1)), evaluate=False)
    terms = [comb(n - 1, k) * Pow(t, n - 1 - k, evaluate=False) for k in range(most + 1)]
    terms += [comb(n - 1, k - 1) * Pow(t, n - k + 1, evaluate=False) for k in range(1, most + 1)]
    high = Add(*terms, evaluate=False)
    return Mul(Add(low, Mul(-1, exp(level), high, evaluate=False), evaluate=False), Pow(t + 1, -n, evaluate=False))


def many_upper_reports(n: int, epsilon: int, counts: int, share: Expr) -> Expr:
    """P - e**level Q of the event that the upper reports of all counts exceed a cut, by Hoeffding's inequality on
    both sides."""
    gap = (exp(epsilon) - 1) / (exp(epsilon) + 1)
    signal = 2 * counts * gap**2 / n
    return 1 - exp(-signal * (1 - share) ** 2) - exp(epsilon - signal * share**2)


def central_at_the_papers_sizes() -> tuple[Statement, ...]:
    """delta(epsilon) <= 10^-5 of a client's contribution to the counts, at Section 5.2's (n, epsilon)."""
    return (
        at_most(
            no_upper_reports(500, 10, 2, Integer(10)),
            DELTA,
            "n = 500, epsilon = 10, two counts: 'no upper report' exceeds e^10 times its other chance by at most delta",
            sides=Quantities("what P('no upper report') exceeds e^10 times its other chance by, at n = 500,", "delta"),
        ),
        at_most(no_upper_reports(200, 4, 2, Integer(4)), DELTA, "n = 200, epsilon = 4, two counts: likewise"),
        at_most(
            many_upper_reports(100, 1, 10 * 500, Rational(1, 2)),
            DELTA,
            "n = 100, epsilon = 1, 500 weights, 10 rounds: the upper reports in all counts, cut half way",
        ),
    )


def central_epsilon() -> Claim:
    return Claim(
        id="LF-SHUF",
        name="central epsilon after shuffling",
        place="Section 4, parameter shuffling, at the sizes of Section 5.2",
        says="As anonymous reports cannot be linked, the central guarantee of all that a client sends is its epsilon for "
        "each weight: at delta = 10^-5, 1 for 100 clients, 4 for 200 and 10 for 500.",
        latex=r"\delta_{\text{central}}(\varepsilon)\le10^{-5}",
        parts=central_at_the_papers_sizes(),
        corrected=Correction(
            "With the others at one end, the central epsilon of one weight is 0.408, 3.9996 and 10.000 at n = 100, 200, 500: "
            "for the last two, shuffling hides next to nothing. Of T d = 100 counts it is 4.7, 61 and 1000; of 10^5, 689, "
            "21730 and 971760 (`accounting.shuffle` with `compose`).",
            r"\varepsilon_{\text{central}}(T d=1)=0.408,\ 3.9996,\ 10.000",
            parts=(
                less(
                    DELTA,
                    few_upper_reports(100, 1, 12, Rational(2, 5)),
                    "n = 100, epsilon = 1, one weight: above 0.4, by 'at most 12 upper reports'",
                ),
                less(
                    DELTA,
                    no_upper_reports(200, 4, 1, Rational("3.9996")),
                    "n = 200, epsilon = 4, one weight: above 3.9996, by 'no upper report'",
                ),
                less(
                    DELTA,
                    no_upper_reports(500, 10, 1, Rational("9.9999")),
                    "n = 500, epsilon = 10, one weight: above 9.9999, by 'no upper report'",
                ),
                less(
                    Rational(95, 100),
                    no_upper_reports(500, 10, 2, Integer(10)),
                    "n = 500, epsilon = 10, two weights: delta(10) is above 0.95",
                ),
            ),
        ),
        looked="Definition 1, Sections 3.1.2, 4 and 5.2, the appendix, all three conversions: no delta is named. With one this is the "
        "kindest reading of LF-UNLINK; the words admit no other formal one.",
        rests_on=("Hoeffding (1963), Theorem 2, for 10 x 500 x 100 independent reports in {0, 1}",),
        argument="delta(epsilon) is at least P(S) - e^epsilon Q(S) for every event S of the counts. All other clients' weights lie "
        "at the lower end; P has the client at the one end, Q at the other. For the third part P has it at the upper end: the "
        "means differ by T d (t-1)/(t+1), and each side of the cut errs with at most exp(-2 (T d (t-1)/(t+1) / 2)^2 / (n T d)).",
    )


def unlinkable_reports() -> Claim:
    delta = Rational(1, 10**6)
    settings = ((10**3, "0.566"), (10**5, "0.073"), (10**6, "0.023"))
    return Claim(
        id="LF-ERL",
        name="amplification by shuffling",
        place="Section 3.1.2, on Bittau et al. and Erlingsson et al.",
        says="Anonymous reports that cannot be linked can have a greatly improved overall guarantee (shown by earlier works).",
        latex=r"\delta_{\text{central}}(\varepsilon')\le10^{-6},\quad\varepsilon'<\varepsilon=1",
        parts=tuple(
            part
            for n, _ in settings[1:]
            for part in (
                at_most(1, log(Rational(n) / (16 * log(2 / delta))), f"n = {n}, delta = 10^-6: epsilon = 1 is allowed"),
                less(closed_form(n, delta), 1, f"n = {n}: the central epsilon is below that of one report"),
            )
        ),
        corrected=Correction(
            "Only deltas shrink; the pure epsilon stays (LF-MODEL). At epsilon = 1 and delta = 10^-6 the bound is 0.566, 0.073 and "
            "0.023 for n = 10^3, 10^5, 10^6; the counts themselves have 0.127, 0.0101 and 0.0028 (`accounting.shuffle`). At LDP-FL's "
            "own (n, epsilon) = (200, 4) and (500, 10) next to nothing is gained, even for one weight in one round.",
            r"\ln\Big(1+\tfrac{t-1}{t+1}\Big(8\sqrt{\tfrac{t\ln(4/\delta)}n}+\tfrac{8t}n\Big)\Big)",
            (
                *(prints_as(closed_form(n, delta), printed, f"n = {n}: {printed}") for n, printed in settings),
                less(
                    DELTA,
                    no_upper_reports(200, 4, 1, Rational("3.9996")),
                    "n = 200, epsilon = 4: above 3.9996, delta = 10^-5",
                ),
                less(DELTA, no_upper_reports(500, 10, 1, Rational("9.9999")), "n = 500, epsilon = 10: above 9.9999"),
            ),
        ),
        assumptions=("delta > 0, and one report of each client",),
        rests_on=("Feldman, McMillan, Talwar (2021), Theorem 3.1, which sharpens Erlingsson et al. (2019)",),
        argument="How much is 'greatly' is not said; at the sizes of the works cited it is a factor of 10 to 40. The last two parts "
        "of the correction: delta(epsilon') is at least P(S) - e^epsilon' Q(S) for S = 'no upper report' (LF-SHUF).",
    )


def closed_form(n: int, delta: Expr) -> Expr:
    """The bound of Feldman, McMillan, Talwar (2021) at epsilon = 1."""
    t = exp(1)
    return log(1 + (t - 1) / (t + 1) * (8 * sqrt(t * log(4 / delta) / n) + 8 * t / n))


CLAIMS = {
    "LF-SHUF": central_epsilon,
    "LF-ERL": unlinkable_reports,
}
