"""FedMD-NFDP, Section 5 without its tables: Fig. 2, the number of parties, and the comparison with added noise."""

from sympy import Abs, Expr, Rational, evaluate, log, sqrt

from ldp_audit.claims.as_written import times
from ldp_audit.claims.claim import Claim, Correction
from ldp_audit.claims.language.statement import Statement, at_most, equal, less, prints_as
from ldp_audit.mechanisms.variable import Variable, oo
from ldp_audit.papers.fedmd_nfdp.claims.symbols import DELTA_WITH, EPSILON_WITH, n_any, put
from ldp_audit.papers.fedmd_nfdp.claims.table_2 import draws_behind

RECORDS = {"CIFAR-10": (300, -2), "FEMNIST": (2880, -3)}
"""Records of one of ten parties (Table 2), and the powers of ten of epsilon and delta in Fig. 2."""


def decimal_log(number: Expr) -> Expr:
    """log10, as a quotient of natural logarithms."""
    return log(number, evaluate=False) / log(10)


def figure_2() -> Claim:
    def near(what: str, formula: Expr, draws: int) -> tuple[Statement, ...]:
        return tuple(
            at_most(
                Abs(decimal_log(put(formula, size, draws)) - power, evaluate=False),
                Rational(1, 10),
                f"{name}, n = {size}, k = {draws}: log10 of {what} is within 0.1 of {power}",
            )
            for name, (size, power) in RECORDS.items()
        )

    return Claim(
        id="NF-FIG2",
        name="epsilon and delta of Figure 2",
        place="Section 5.2 on Fig. 2(a) and 2(b)",
        says="With three points from each of N = 10 parties log10 of epsilon, and of delta, is close to -2 for CIFAR-10 and to -3 "
        "for FEMNIST (here: within 0.1), by Theorem 2.",
        latex=r"\log_{10}\varepsilon\approx\log_{10}\delta\approx-2\ \text{(CIFAR-10)},\ -3\ \text{(FEMNIST)}",
        parts=(*near("epsilon", EPSILON_WITH, 3), *near("delta", DELTA_WITH, 3)),
        corrected=Correction(
            "Table 2 has other epsilons under the same name, with the decimal logarithm (NF-TAB2log10). log10 of epsilon is -2.001 and "
            "-2.982 by Theorem 2; -2.363 and -3.345 with the decimal logarithm. With the k of "
            "Table 2's first rows, three points for each of six classes, it would be -1.223 and -2.204.",
            parts=tuple(
                prints_as(decimal_log(put(formula, RECORDS[name][0], draws)), printed, f"{name}: {words}")
                for formula, draws, words, shown in (
                    (EPSILON_WITH, 3, "epsilon, natural logarithm, k = 3", ("-2.001", "-2.982")),
                    (EPSILON_WITH / log(10), 3, "epsilon, decimal logarithm, k = 3", ("-2.363", "-3.345")),
                    (EPSILON_WITH, 18, "epsilon, natural logarithm, k = 18", ("-1.223", "-2.204")),
                    (DELTA_WITH, 3, "delta, k = 3", ("-2.001", "-2.982")),
                )
                for name, printed in zip(RECORDS, shown, strict=True)
            ),
        ),
        assumptions=("n = 300 and 2880 records for each of ten parties, as in Table 2",),
        argument="The base of the logarithm is named for neither; in Theorem 2 it is e, by Definition 1.",
    )


def more_parties() -> Claim:
    everybody = Variable("N_total", 1, oo, integer=True, latex=r"N_{\text{total}}")
    parties = Variable("N", 1, oo, integer=True)
    larger = Variable("m", n_any, oo, open="left", integer=True)
    with_larger = Variable("B", 0, 1, open="left")
    with_smaller = Variable("A", 0, with_larger)
    return Claim(
        id="NF-PARTY",
        name="privacy with more parties",
        place="Section 5.2 on Fig. 2",
        says="With more parties each has fewer records, so that at a fixed k both epsilon and delta of Theorem 2 grow.",
        latex=r"m>n\implies k\ln\frac{m+1}m<k\ln\frac{n+1}n,\quad1-\Bigl(1-\frac1m\Bigr)^k<1-\Bigl(1-\frac1n\Bigr)^k",
        parts=(
            less(everybody / (parties + 1), everybody / parties, "fewer records each"),
            less((larger + 1) / larger, (n_any + 1) / n_any, "epsilon: the logarithm's argument, m > n records"),
            less(1 - 1 / n_any, 1 - 1 / larger, "delta: A = (1-1/n)^k is below B = (1-1/m)^k at k = 1"),
            less(with_smaller * (1 - 1 / n_any), with_larger * (1 - 1 / larger), "and if for k, then for k + 1"),
        ),
        rests_on=("induction on k", "the logarithm grows"),
    )


def basic_composition() -> Claim:
    queries = Rational(5000) * 20
    return Claim(
        id="NF-LDPorder",
        name="epsilon of FedMD-LDP",
        place="Section 5.2, epsilon in FedMD-LDP",
        says="Given the same k and delta, FedMD-LDP's epsilon is between 10^4 and 10^7.",
        argument="Neither the epsilon of a query nor the number of values in an answer is given, so that the total cannot be "
        "recomputed; the size is plausible.",
        corrected=Correction(
            "5000 public points in each of 20 rounds are 10^5 queries; by basic composition those totals mean 0.1 to 100 for "
            "each argmax answer, or 0.0167 to 16.7 for each of six values.",
            parts=(
                equal(times(5000, 20), 10**5, "queries"),
                equal(times(5000, 20, Rational(1, 10)), 10**4, "0.1 each"),
                equal(times(5000, 20, 100), 10**7, "100 each"),
                prints_as(10**4 / (6 * queries), "0.0167", "six values an answer: from"),
                prints_as(10**7 / (6 * queries), "16.7", "to"),
            ),
        ),
    )


def noise_to_match() -> Claim:
    p, r = Variable("P", 0, 1), Variable("Q", 0, 1)
    t, d = Variable("t", 1, oo, latex=r"e^{\varepsilon}"), Variable("d", 0, 1, latex=r"\delta")
    values = Rational(5000) * 20 * 6
    pi_above = Rational("3.1416")

    def below(distance: Expr, mu: str, where: str) -> Statement:
        """The Gaussian pair at distance mu has a larger total variation than allowed."""
        m = Rational(mu)
        return less(distance, m * (1 - m**2 / 24) / sqrt(2 * pi_above), f"{where}: mu must be below {mu}")

    parts: list[Statement] = []
    tight: list[Statement] = []
    settings = (
        ("CIFAR-10", 300, "0.218", 3500, "0.1465", 5280),
        ("FEMNIST", 2880, "0.02345", 33_000, "0.015622", 49_500),
    )
    for name, size, mu, scale, tight_mu, tight_scale in settings:
        draws = draws_behind(name, size, 16)
        where = f"{name}, n = {size}, k = {draws}"
        chance = put(DELTA_WITH, size, draws)
        with evaluate(x=False):  # unevaluated powers
            ratio = Rational(size + 1, size) ** draws
            distance = (ratio - 1 + 2 * chance) / (ratio + 1)
        parts.append(below(distance, mu, where))
        parts.append(less(scale, sqrt(values) / Rational(mu), f"{where}: so sigma is above {scale} sensitivities"))
        tight.append(below(chance, tight_mu, f"{where}, (0, delta)"))
        tight.append(less(tight_scale, sqrt(values) / Rational(tight_mu), f"{where}: sigma above {tight_scale}"))
    return Claim(
        id="NF-LDPnoise",
        name="noise scale of FedMD-LDP",
        place="Section 5.2, comparison with baselines",
        says="FedMD-LDP needs an extremely large noise scale for the same (epsilon, delta) as FedMD-NFDP (here: Gaussian noise of more "
        "than 3000 times a query's sensitivity, for Table 2's smallest k).",
        latex=r"\sigma>3500\,\Delta\ \text{(CIFAR-10)},\qquad\sigma>33000\,\Delta\ \text{(FEMNIST)}",
        parts=(
            equal(
                (t * r + d - p) + (t * (1 - p) + d - (1 - r)),
                t - 1 + 2 * d - (t + 1) * (p - r),
                "(epsilon, delta) for an event and its complement: total variation at most (t - 1 + 2 delta)/(t + 1)",
            ),
            *parts,
        ),
        corrected=Correction(
            "What NFDP has is (0, delta) (NF-FLAT). To match that, sigma must be above 5280 and 49500 sensitivities. The comparison "
            "holds the noise to a delta that is itself no protection: delta n is about 17.5 and 18 (NF-VAC).",
            r"\sigma>5280\,\Delta,\qquad\sigma>49500\,\Delta",
            tuple(tight),
        ),
        assumptions=(
            "5000 public points, 20 rounds, 6 values an answer; mu = sqrt(600000) sensitivity/sigma for all together",
        ),
        rests_on=(
            "the Gaussian mechanism composes to N(0, 1) against N(mu, 1)",
            "their total variation 2 Phi(mu/2) - 1 is at least mu (1 - mu^2/24)/sqrt(2 pi)",
            "pi < 3.1416",
        ),
    )


def accuracies() -> Claim:
    return Claim(
        id="NF-ACC",
        name="accuracies and convergence",
        place="Abstract, Tables 2 to 4, Fig. 2 to 4",
        says="The accuracies, and that all parties converge within 20 rounds.",
        experiments=("fedmd-nfdp-digits",),
    )


CLAIMS = {
    "NF-FIG2": figure_2,
    "NF-PARTY": more_parties,
    "NF-LDPorder": basic_composition,
    "NF-LDPnoise": noise_to_match,
    "NF-ACC": accuracies,
}
