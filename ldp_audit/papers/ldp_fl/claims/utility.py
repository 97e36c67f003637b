"""LDP-FL, Section 4 and its appendix: bias, variance, the tail bound. Lemmas 1 to 3, eq. (4) to (9), Theorem 2."""

from itertools import combinations

from sympy import Expr, Max, Min, Rational, exp

from ldp_audit.claims.as_written import difference, put_in, times, total
from ldp_audit.claims.claim import Claim, Correction, Reading
from ldp_audit.claims.language.statement import Quantities, Statement, at_most, equal, less, order, prints_as
from ldp_audit.papers.ldp_fl.claims.symbols import (
    A,
    K,
    Variable,
    c,
    epsilon,
    lower,
    m,
    n,
    oo,
    r,
    stated_variance,
    t,
    upper,
    variance,
    w,
    w_any,
)

BIENAYME = "independent noise: the variance of a sum is the sum of the variances (Bienayme)"
ONE_RANGE = "all clients use one common (c, r), and every w_u lies in [c - r, c + r]"

# sum_u (w_u - c)**2 over n clients, each term in [0, r**2]
squares = Variable("Q", 0, n * r**2, latex=r"\textstyle\sum_u(w_u-c)^2")
mean_variance = (n * r**2 * A**2 - squares) / n**2

small = Variable("epsilon", 0, 1, open="left", latex=r"\varepsilon")
"""epsilon where an O is read as one for epsilon to 0."""
t_small = Variable("t", 1, oo, open="left", exp_of=small)
a_small = (t_small + 1) / (t_small - 1)


def lemma_1() -> Claim:
    second = m.twin("_2")
    mean_of_two = (m.mean() + second.mean()) / 2
    return Claim(
        id="LF-L1",
        name="bias of the estimated mean",
        place="Lemma 1, eq. (4) and (5)",
        says="The mean of the reports estimates the mean weight without bias.",
        latex=r"\mathbb E[\overline{M(w)}]=\bar w",
        parts=(
            equal(2 * r * (w - c) * (t - 1) / (2 * r * (t - 1)) + c, m.mean(), "eq. (4), third line"),
            equal(m.mean(), w, "one report: E[M(w)] = w"),
            equal(mean_of_two, (w + second.inputs[0]) / 2, "two clients; more follow term by term"),
        ),
        assumptions=("w in [c - r, c + r]",),
        argument="Expectation is linear, so n clients follow from one. Eq. (5) prints w where w_u is meant.",
    )


def lemma_1_after_clipping() -> Claim:
    clipped = Max(c - r, Min(c + r, w_any))
    above = Variable("w", c + r, oo)
    below = Variable("w", -oo, c - r)
    return Claim(
        id="LF-L1clip",
        name="bias against unclipped weights",
        place="Section 5 (weights are clipped) with Lemma 1, read more strongly than Section 3.1.1 assumes",
        says="The report is unbiased for the weight that training produced, which is clipped before it is perturbed. (Lemma 1 says "
        "it of the clipped weight: LF-L1.)",
        latex=r"\mathbb E[M(\mathrm{clip}(w))]=w",
        parts=(
            equal(
                m.at({w: clipped}).mean(),
                w_any,
                "unbiased for every weight",
                sides=Quantities("the mean of the report", "the weight"),
            ),
        ),
        corrected=Correction(
            "The bias is clip(w) - w, whatever the number of clients.",
            r"\mathbb E[M(\mathrm{clip}(w))]-w=\mathrm{clip}(w)-w",
            (
                equal(m.at({w: c + r}).mean() - above, (c + r) - above, "above the range"),
                equal(m.at({w: c - r}).mean() - below, (c - r) - below, "below the range"),
                equal(m.mean() - w, 0, "within it: none"),
            ),
        ),
        source="derived",
    )


def lemma_1_sampled_clients() -> Claim:
    clients = Variable("n", 2, oo, integer=True)
    k = Variable("k", 1, clients, integer=True)
    whole = Variable("S", -oo, oo, latex=r"\textstyle\sum_u(w_u-c)")
    spread_out = Variable("Q", whole**2 / clients, oo, latex=squares.latex)  # Cauchy-Schwarz
    one, pair = k / clients, k * (k - 1) / (clients * (clients - 1))
    second_moment = (one * clients * r**2 * A**2 + pair * (whole**2 - spread_out)) / k**2
    sample_variance = (spread_out - whole**2 / clients) / (clients - 1)
    stated = (r**2 * A**2 - spread_out / clients) / k + (1 - k / clients) * sample_variance / k
    return Claim(
        id="LF-L1samp",
        name="bias with sampled clients",
        place="Algorithm 1, lines 6 to 11",
        says="The mean over k_l randomly selected clients is unbiased for the mean over all n.",
        latex=r"\mathbb E\Bigl[\tfrac1k\sum_{u\in S}M(w_u)\Bigr]=\bar w",
        parts=(
            equal(
                one * m.mean() / k,
                w / clients,
                "a client is chosen with probability k/n, and the mean of its term is then E[M(w_u)]/k: it contributes w_u/n",
            ),
            *(every_selection(of, chosen) for of, chosen in ((2, 1), (3, 2), (4, 2), (4, 3))),
        ),
        corrected=Correction(
            "Unbiased, and the variance has a sampling term that the paper leaves out; S_w^2 is the sample variance of "
            "the weights, with n - 1.",
            r"\mathrm{Var}=\frac{r^2A^2-\frac1n\sum_u(w_u-c)^2}{k}+\Bigl(1-\frac kn\Bigr)\frac{S_w^2}{k}",
            (
                equal(
                    second_moment - whole**2 / clients**2,
                    stated,
                    "second moment from the inclusion probabilities of one client and of two",
                ),
            ),
        ),
        rests_on=("inclusion probabilities k/n and k(k-1)/(n(n-1)) of uniform sampling without replacement",),
    )


def every_selection(clients: int, chosen: int) -> Statement:
    """The mean over all selections of the mean weight of the chosen clients is the mean weight of all."""
    weights = [Variable(f"w_{u}", -oo, oo) for u in range(1, clients + 1)]
    selections = [times(Rational(1, chosen), total(*selection)) for selection in combinations(weights, chosen)]
    return equal(
        times(Rational(1, len(selections)), total(*selections)),
        sum(weights) / clients,
        f"n = {clients}, k = {chosen}: the mean over all {len(selections)} selections",
    )


def lemma_2() -> Claim:
    right = Variable("w", c, c + r, open="left")
    left = Variable("w", c - r, c, open="right")
    return Claim(
        id="LF-L2",
        name="variance of a report",
        place="Lemma 2",
        says="The variance of a report is r^2 ((e^epsilon + 1)/(e^epsilon - 1))^2, for any w.",
        latex=r"\mathrm{Var}[M(w)]=r^2\Bigl(\frac{e^{\varepsilon}+1}{e^{\varepsilon}-1}\Bigr)^2",
        parts=(
            equal(
                variance,
                stated_variance,
                "equality at every w in the range",
                sides=Quantities("the variance of a report", "the printed one"),
            ),
        ),
        corrected=Correction(
            "It is smaller by (w - c)^2: at most the printed value, equal to it only at w = c, and least at the ends.",
            r"\mathrm{Var}[M(w)]=r^2A^2-(w-c)^2\in[r^2(A^2-1),\,r^2A^2]",
            (
                equal(variance, stated_variance - (w - c) ** 2, "the exact variance"),
                at_most(variance, stated_variance, "the printed value is an upper bound"),
                equal(m.at({w: c}).variance(), stated_variance, "attained at w = c"),
                less(m.at({w: right}).variance(), stated_variance, "strictly smaller for w > c"),
                less(m.at({w: left}).variance(), stated_variance, "strictly smaller for w < c"),
                at_most(r**2 * (A**2 - 1), variance, "and at least r^2 (A^2 - 1)"),
            ),
        ),
        looked="Lemma 2 has '=' and 'any number' in all three conversions (in the second scan legibly in the appendix only); its proof (eq. (6)) ends with '<=', which is right and is "
        "LF-E6; Lemma 3 and Corollary 1 use the inequality. The words admit no other formal reading.",
    )


def equation_6() -> Claim:
    return Claim(
        id="LF-E6",
        name="bound on a report's variance",
        place="Appendix, eq. (6)",
        says="The variance is r^2 A^2 - (w - c)^2, at most r^2 A^2. (So the paper's own proof has an inequality where Lemma 2 has '='.)",
        latex=r"\mathrm{Var}[M(w_u)]=r^2A^2-(w_u-c)^2\le r^2A^2",
        parts=(
            equal(variance, stated_variance - (w - c) ** 2, "first line"),
            at_most(stated_variance - (w - c) ** 2, stated_variance, "second line"),
        ),
    )


def lemma_3() -> Claim:
    at_center, at_ends = (put_in(mean_variance, {squares: end}) for end in (0, n * r**2))
    low, high = r**2 * (A**2 - 1) / n, r**2 * A**2 / n
    return Claim(
        id="LF-L3",
        name="bounds on the mean's variance",
        place="Lemma 3 and eq. (8)",
        says="The variance of the estimated mean lies between r^2 A^2/n - r^2/n and r^2 A^2/n.",
        latex=r"\frac{r^2A^2}{n}-\frac{r^2}{n}\le\mathrm{Var}[\overline{M(w)}]\le\frac{r^2A^2}{n}",
        parts=(
            at_most((w - c) ** 2, r**2, "one client's (w_u - c)^2 is at most r^2"),
            at_most(low, mean_variance, "lower bound, for every sum of squares"),
            at_most(mean_variance, high, "upper bound"),
        ),
        corrected=Correction(
            "Both ends are attained: the upper one if all weights are at c, the lower one if all are at the ends.",
            parts=(
                equal(at_center, high, "all w_u = c"),
                equal(at_ends, low, "all |w_u - c| = r"),
            ),
        ),
        assumptions=(ONE_RANGE,),
        rests_on=(BIENAYME,),
    )


def equation_7() -> Claim:
    second = m.twin("_2")
    joint = [((a.output + b.output) / 2, a.probability * b.probability) for a in m.atoms for b in second.atoms]
    mean = sum(y * p for y, p in joint)
    direct = sum(y**2 * p for y, p in joint) - mean**2
    w_2 = second.inputs[0]
    return Claim(
        id="LF-E7",
        name="exact variance of the mean",
        place="Appendix, eq. (7)",
        says="The variance of the mean is r^2 A^2/n - (1/n^2) sum_u (w_u - c)^2 (the paper prints w for w_u).",
        latex=r"\mathrm{Var}[\overline{M(w)}]=\frac{r^2A^2}{n}-\frac1{n^2}\sum_u(w_u-c)^2",
        parts=(
            equal(
                (variance + second.variance()) / 4,
                r**2 * A**2 / 2 - ((w - c) ** 2 + (w_2 - c) ** 2) / 4,
                "n = 2, by terms",
            ),
            equal(
                direct,
                r**2 * A**2 / 2 - ((w - c) ** 2 + (w_2 - c) ** 2) / 4,
                "n = 2, from the joint law of both reports",
            ),
            equal((n * stated_variance - squares) / n**2, stated_variance / n - squares / n**2, "any n, from eq. (6)"),
        ),
        assumptions=(ONE_RANGE,),
        rests_on=(BIENAYME,),
    )


def many_clients() -> Claim:
    v = Variable("v", 0, oo, open="left")
    enough = Variable("n", r**2 * A**2 / v, oo)
    return Claim(
        id="LF-L3n",
        name="variance with many clients",
        place="Section 4, after Lemma 3",
        says="With enough clients the variance of the mean is low, even for a large r and a small epsilon.",
        latex=r"n\ge r^2A^2/v\implies\mathrm{Var}[\overline{M(w)}]\le v",
        parts=(at_most(r**2 * A**2 / enough, v, "n >= r^2 A^2 / v clients bring it down to v"),),
        assumptions=(ONE_RANGE,),
        rests_on=("Lemma 3",),
    )


def largest_deviation() -> Claim:
    reach = 2 * r * t / (t - 1)
    return Claim(
        id="LF-E9a",
        name="largest deviation of a report",
        place="Appendix, before eq. (9)",
        says="A report lies within r A + r = 2 r e^epsilon/(e^epsilon - 1) of its weight.",
        latex=r"|M(w)-w|\le rA+r=\frac{2re^{\varepsilon}}{e^{\varepsilon}-1}",
        parts=(
            equal(r * A + r, reach, "the two forms agree"),
            at_most(upper - w, reach, "the upper report, from above"),
            at_most(w - upper, reach, "the upper report, from below"),
            at_most(w - lower, reach, "the lower report, from below"),
            at_most(lower - w, reach, "the lower report, from above"),
        ),
        corrected=Correction(
            "It is attained: w = c - r reported as the upper value.",
            parts=(
                equal((upper - w).subs({w: c - r}), reach, "at w = c - r"),
                less(0, m.at({w: c - r}).atoms[0].probability, "which happens with positive probability"),
            ),
        ),
    )


def bernstein_chain() -> Claim:
    lam = Variable("lam", 0, oo, open="left", latex=r"\lambda")
    total = Variable("V", 0, n * r**2 * A**2, open="left", latex=r"\textstyle\sum_u\mathrm{Var}[M(w_u)]")
    reach = 2 * r * t / (t - 1)
    first = n**2 * lam**2 / 2 / (total + 2 * n * lam * r * t / (3 * (t - 1)))
    second = n**2 * lam**2 / (2 * total + 4 * n * lam * r * t / (3 * (t - 1)))
    third = n**2 * lam**2 / (2 * n * r**2 * A**2 + 4 * n * lam * r * t / (3 * (t - 1)))
    fourth = n * lam**2 / (2 * r**2 * A**2 + 4 * lam * r * t / (3 * (t - 1)))
    return Claim(
        id="LF-E9b",
        name="Bernstein bound on the mean",
        place="Appendix, eq. (9), lines 2 to 5",
        says="Bernstein's inequality gives the chain of exponents in eq. (9), with the constants 2 and 4/3.",
        latex=r"\Pr[|\overline{M(w)}-\bar w|\ge\lambda]\le 2\exp\Bigl(-\frac{n\lambda^2}{2r^2A^2+\frac{4\lambda re^{\varepsilon}}{3(e^{\varepsilon}-1)}}\Bigr)",
        parts=(
            equal(n * lam * reach / 3, 2 * n * lam * r * t / (3 * (t - 1)), "Bernstein's term b n lambda / 3"),
            equal(first, second, "line 3 from line 2"),
            at_most(third, second, "line 4: the exponent shrinks as the variance grows to its bound"),
            equal(third, fourth, "line 5 from line 4"),
        ),
        rests_on=("Bernstein's inequality", "Lemma 2 as an upper bound"),
    )


def order_of_the_exponent() -> Claim:
    return Claim(
        id="LF-E9O",
        name="order of the Bernstein terms",
        place="Appendix, eq. (9), last line",
        says="2 A^2 = O(epsilon^-2) and 4 e^epsilon/(3 (e^epsilon - 1)) = O(epsilon^-1).",
        latex=r"2A^2=O(\varepsilon^{-2}),\qquad\frac{4e^{\varepsilon}}{3(e^{\varepsilon}-1)}=O(\varepsilon^{-1})",
        reading="An O without a range is one as epsilon tends to 0: here on (0, 1].",
        parts=(
            order(2 * a_small**2, K / small**2, constant=K, label="the first, epsilon <= 1"),
            order(
                4 * t_small / (3 * (t_small - 1)),
                K / small,
                constant=K,
                label="the second, epsilon <= 1",
            ),
        ),
        another=Reading(
            "The words, strictly.",
            (
                order(2 * A**2, K / epsilon**2, constant=K, label="one constant for all epsilon > 0: the first"),
                order(4 * t / (3 * (t - 1)), K / epsilon, constant=K, label="and the second"),
            ),
        ),
        corrected=Correction(
            "For every epsilon, A <= 1 + 2/epsilon; for epsilon <= 1, epsilon A <= 2.164. As A > 1 for every epsilon, no constant "
            "does for all: at the paper's own 1, 4, 5 and 10 epsilon A is 2.164, 4.149, 5.068 and 10.001, so it grows like "
            "epsilon there.",
            r"A\le 1+\frac2{\varepsilon};\qquad\varepsilon A\le 2.164\ \ (\varepsilon\le 1)",
            (
                at_most(A, 1 + 2 / epsilon, "for every epsilon > 0"),
                at_most(small * a_small, Rational("2.164"), "for epsilon <= 1"),
                *_at_the_papers_own(),
            ),
        ),
        looked="The proof of Theorem 2, eq. (9), and Section 5 (epsilon from 0.1 to 10), in all three conversions: no range is named.",
    )


def _at_the_papers_own() -> tuple[Statement, ...]:
    """epsilon A at the epsilons of Section 5."""
    return tuple(
        prints_as(number * (exp(number) + 1) / (exp(number) - 1), printed, f"epsilon = {number}: epsilon A = {printed}")
        for number, printed in ((1, "2.164"), (4, "4.149"), (5, "5.068"), (10, "10.001"))
    )


def theorem_2() -> Claim:
    up_to_ten = Variable("epsilon", 0, 10, open="left", latex=r"\varepsilon")
    t_up_to_ten = Variable("t", 1, oo, open="left", exp_of=up_to_ten)
    ln2 = Variable("ln2", 0, oo, open="left", latex=r"\ln 2")
    log_inverse_beta = Variable("ell", ln2, oo, latex=r"\ln\tfrac1\beta")

    def enough(constant: Expr, level: Variable, ratio: Variable) -> Statement:
        """The constant suffices: both sides of (Hoeffding's deviation) <= constant r sqrt(ell)/(epsilon sqrt n),
        squared."""
        scaled = level * (ratio + 1) / (ratio - 1)
        return at_most(
            2 * (log_inverse_beta + ln2) * scaled**2,
            constant**2 * log_inverse_beta,
            f"the constant {constant} does for epsilon <= {level.upper}: both sides squared, with ell = ln(1/beta) >= ln 2",
        )

    # n = 1, w = c, beta = 1/e: the report is c + r A or c - r A, so the error is always r A; the bound is K r / epsilon.
    one_client = order(r * A, K * r / epsilon, constant=K, label="n = 1, w = c, beta = 1/e: the error is r A surely")
    return Claim(
        id="LF-T2",
        name="tail bound on the mean's error",
        place="Theorem 2",
        says="With probability at least 1 - beta the error of the mean is below O(r sqrt(-log beta) / (epsilon sqrt n)).",
        latex=r"|\overline{M(w)}-\bar w|<O\Bigl(\frac{r\sqrt{-\log\beta}}{\varepsilon\sqrt n}\Bigr)",
        reading=(
            "An O without a range is one for small epsilon and beta: here epsilon <= 1 and beta <= 1/2, for every n. A larger "
            "constant reaches to the paper's largest epsilon, 10."
        ),
        parts=(
            enough(Rational("4.328"), small, t_small),
            enough(Rational(24), up_to_ten, t_up_to_ten),
        ),
        another=Reading("The words, strictly.", (one_client,)),
        corrected=Correction(
            "For every epsilon, n and beta: the error is at most r A sqrt(2 ln(2/beta)/n), with A <= 1 + 2/epsilon. The O hides that "
            "the error does not fall below r A/sqrt n > r/sqrt n however large epsilon is: its constant is at least epsilon A, "
            "which is 2.164, 4.149, 5.068 and 10.001 at the paper's 1, 4, 5 and 10. And the bound vanishes as beta tends to 1.",
            r"|\overline{M(w)}-\bar w|\le rA\sqrt{\frac{2\ln(2/\beta)}{n}},\qquad A\le1+\frac2{\varepsilon}",
            (
                equal(
                    difference(upper, lower),
                    2 * r * A,
                    "each report lies in an interval of length 2 r A: Hoeffding applies",
                ),
                at_most(A, 1 + 2 / epsilon, "A <= 1 + 2/epsilon"),
                *_at_the_papers_own(),
            ),
        ),
        looked="Theorem 2, its proof and Section 5 (epsilon from 0.1 to 10), in all three conversions: no range is named.",
        rests_on=("Hoeffding (1963), Theorem 2",),
        argument="Hoeffding: Pr(|error| >= x) <= 2 exp(-n x^2 / (2 r^2 A^2)); equate the right side with beta.",
    )


CLAIMS = {
    "LF-L1": lemma_1,
    "LF-L1clip": lemma_1_after_clipping,
    "LF-L1samp": lemma_1_sampled_clients,
    "LF-L2": lemma_2,
    "LF-E6": equation_6,
    "LF-L3": lemma_3,
    "LF-E7": equation_7,
    "LF-L3n": many_clients,
    "LF-E9a": largest_deviation,
    "LF-E9b": bernstein_chain,
    "LF-E9O": order_of_the_exponent,
    "LF-T2": theorem_2,
}
