"""LDP-FL, parameter shuffling: the effect of splitting, shuffling and anonymity on the budget. Sections 3.1.2 and 4.

The server receives the anonymous reports of one weight in one round as the number of upper reports. Its distribution is
exact, so no amplification theorem is needed.
"""

from sympy import Rational, exp, log

from ldp_audit.accounting.laws.finite_laws import count_law, hockey_stick, product_law
from ldp_audit.claims.as_written import put_in, times
from ldp_audit.claims.claim import Claim, Correction, Reading
from ldp_audit.claims.language.statement import Quantities, at_most, equal, less, prints_as, somewhere
from ldp_audit.papers.ldp_fl.claims.amplification import central_at_the_papers_sizes
from ldp_audit.papers.ldp_fl.claims.symbols import A, Variable, c, m, n, oo, r, t, variance, w

# The target's probability of an upper report at the two ends of the range; all others are at the lower end.
high = m.at({w: c + r}).atoms[0].probability
low = m.at({w: c - r}).atoms[0].probability


WITH_A_DELTA = Reading(
    "With a delta of 10^-5, which Definition 1 does not have, and at the paper's numbers of clients: the anonymous counts of two or "
    "more (weight, round) pairs are (epsilon, delta)-indistinguishable.",
    central_at_the_papers_sizes,
)
"""The most charitable reading of the sentences about a client's budget; LF-SHUF."""


def counts(target: object, others: int, reports: int) -> dict:
    """Distribution of the anonymous counts for `reports` weights or rounds: the target among others at the lower
    end."""
    return product_law([count_law([target, *[low] * others])] * reports)


def composition() -> Claim:
    q1, q2 = Variable("Q_1", 0, 1), Variable("Q_2", 0, 1)
    t1, t2 = (Variable(f"t_{i}", 1, oo, latex=rf"e^{{\varepsilon_{i}}}") for i in (1, 2))
    p1, p2 = Variable("P_1", 0, t1 * q1), Variable("P_2", 0, t2 * q2)
    return Claim(
        id="LF-COMP",
        name="sequential composition",
        place="Section 3.1.2, first paragraph",
        says="Mechanisms that are epsilon_1- and epsilon_2-LDP together spend epsilon_1 + epsilon_2.",
        latex=r"P_1P_2\le e^{\varepsilon_1+\varepsilon_2}Q_1Q_2",
        parts=(at_most(p1 * p2, t1 * t2 * q1 * q2, "each pair of outcomes"),),
        corrected=Correction(
            "Tight: two reports at opposite ends attain the sum.",
            parts=(
                equal(
                    high * high,
                    t * t * low * low,
                    "two upper reports, both weights at the upper or both at the lower end",
                ),
            ),
        ),
        argument="The second mechanism may depend on the first one's outcome: the bound holds outcome by outcome.",
    )


def without_shuffling() -> Claim:
    q = Variable("Q_m", 0, 1, open="left")
    ratio = Variable("rho_m", 1, oo, latex=r"\rho_m")
    three = hockey_stick(
        product_law([{1: Rational(3, 4), 0: Rational(1, 4)}] * 2),
        product_law([{1: Rational(1, 4), 0: Rational(3, 4)}] * 2),
        3,
    )
    return Claim(
        id="LF-SEQ",
        name="budget without shuffling",
        place="Section 4, parameter shuffling",
        says="Without parameter shuffling the budget grows to T d epsilon (T rounds, d weights).",
        latex=r"\varepsilon_{\text{total}}=Td\,\varepsilon",
        parts=(
            equal(high, t * low, "one report reaches the ratio t: the start of an induction over T d reports"),
            equal(
                ratio * q * high, ratio * t * (q * low), "if m reports reach the ratio rho, m + 1 reach rho t: its step"
            ),
        ),
        corrected=Correction(
            "Tight for pure epsilon. At a delta > 0 the exact profile of m = T d reports is smaller.",
            r"\delta(e)=\sum_{j}\binom mj\frac{(t^{m-j}-e^{e}t^{j})_+}{(t+1)^m},\quad m=Td",
            (equal(three, Rational(6, 16), "m = 2, t = 3, e = ln 3: from the joint law, 6/16, as in the formula"),),
        ),
        rests_on=("LF-COMP for the upper bound",),
    )


def model_shuffling() -> Claim:
    first, second = counts(low, others=1, reports=2), counts(high, others=1, reports=2)
    nobody = (0, 0)
    others = Variable("B_0", 0, 1, open="left")
    return Claim(
        id="LF-MODEL",
        name="budget under model shuffling",
        place="Section 4, parameter shuffling",
        says="Model shuffling reduces the budget from T d epsilon to d epsilon.",
        latex=r"\varepsilon_{\text{total}}=d\,\varepsilon",
        parts=(
            at_most(
                first[nobody],
                t * second[nobody],
                "n = 2, d = 1, T = 2: the outcome 'all counts 0' has a ratio of at most t",
                sides=Quantities("weight c - r", "weight c + r", "the outcome 'all counts 0' has probability", t),
            ),
        ),
        corrected=Correction(
            "The pure epsilon of shuffled reports is T d epsilon for every n: the outcome 'all counts 0' has the ratio t in "
            "each (weight, round), whatever the others send. Only (epsilon, delta) improves, by amplification theorems.",
            r"\frac{\Pr[K=0\mid w=c-r]}{\Pr[K=0\mid w=c+r]}=\frac{B_0(1-\frac1{t+1})}{B_0(1-\frac t{t+1})}=t",
            (
                equal(
                    others * (1 - low),
                    t * (others * (1 - high)),
                    "one (weight, round), any others: B_0 is their chance of no upper report",
                ),
                equal(first[nobody], t**2 * second[nobody], "n = 2, d = 1, T = 2: the ratio is t^2"),
            ),
        ),
        another=Reading(
            "With a delta of 10^-5, which Definition 1 does not have, and at the paper's numbers of clients, d = 1 and T = 2: the counts "
            "of one weight in two rounds are (epsilon, delta)-indistinguishable.",
            central_at_the_papers_sizes()[:2],
        ),
        looked="Section 4, parameter shuffling; Sections 3.1.2 and 5.3; Fig. 2; the appendix; all three conversions. Definition 1 is "
        "pure, and no delta is named anywhere, nor a number of clients from which on it would hold.",
        argument="The (weight, round) pairs are independent, so the ratios multiply to t^(T d).",
    )


def enough_per_weight() -> Claim:
    first, second = counts(low, others=1, reports=2), counts(high, others=1, reports=2)
    at_three = {t: 3, c: 0, r: 1}
    laws = [{outcome: mass.subs(at_three) for outcome, mass in law.items()} for law in (first, second)]
    return Claim(
        id="LF-UNLINK",
        name="sufficiency of per-weight LDP",
        place="Section 4, parameter shuffling",
        says="As reports cannot be linked, it is sufficient to protect epsilon-LDP for each weight.",
        latex=r"\varepsilon_{\text{total}}\le\varepsilon",
        parts=(
            at_most(
                hockey_stick(laws[0], laws[1], 3),
                0,
                "n = 2, d = 2, T = 1, e^epsilon = 3, the other client at c - r: delta(ln 3) of the anonymous counts is 0",
                sides=Quantities(
                    "delta(ln 3) of the anonymous counts of two clients with two weights, at e^epsilon = 3,"
                ),
            ),
        ),
        corrected=Correction(
            "No report need be linked: the log-likelihood ratios of the anonymous counts add up over weights and rounds.",
            r"\delta(\ln3)=\tfrac{27}{128},\qquad\frac{\Pr[(0,0)\mid c-r]}{\Pr[(0,0)\mid c+r]}=9",
            (
                equal(hockey_stick(laws[0], laws[1], 3), Rational(27, 128), "from the lower end to the upper one"),
                equal(hockey_stick(laws[1], laws[0], 3), Rational(15, 128), "in the other direction"),
                equal(
                    put_in(first[0, 0], at_three),
                    times(9, put_in(second[0, 0], at_three)),
                    "the counts (0, 0) have the ratio 9",
                ),
                equal(first[0, 0], t**2 * second[0, 0], "for every t: t^2"),
            ),
        ),
        another=WITH_A_DELTA,
        looked="Section 4, parameter shuffling; Sections 3, 3.1.2 and 5.2; Algorithm 3; the appendix; all three conversions. The "
        "sentence before it is about a client, not about a single weight, and Definition 1 has no delta.",
    )


def curse_of_dimensionality() -> Claim:
    one = counts(low, others=1, reports=1), counts(high, others=1, reports=1)
    two = counts(low, others=1, reports=2), counts(high, others=1, reports=2)
    return Claim(
        id="LF-CURSE",
        name="privacy cost of dimensionality",
        place="Abstract and Section 3.1.2",
        says="Parameter shuffling bypasses the curse of dimensionality: the privacy spent does not grow with d.",
        latex=r"\varepsilon_{\text{total}}(d)\le\varepsilon_{\text{total}}(1)",
        parts=(
            at_most(
                two[0][0, 0] / two[1][0, 0],
                one[0][0,] / one[1][0,],
                "n = 2: two weights give away no more than one (likelihood ratio of 'no upper report')",
                sides=Quantities("the likelihood ratio of 'no upper report' from two weights", "that from one weight"),
            ),
        ),
        corrected=Correction(
            "Pure epsilon grows like T d; at a delta > 0 the cost of the counts grows like sqrt(T d) at best.",
            r"\varepsilon_{\text{total}}=\Theta(Td)\ \ (\delta=0),\qquad\varepsilon_{\text{total}}=\Omega(\sqrt{Td})\ \ (\delta>0)",
            (
                equal(one[0][0,] / one[1][0,], t, "one weight: the ratio is t"),
                equal(two[0][0, 0] / two[1][0, 0], t**2, "two weights: t^2"),
            ),
        ),
        another=WITH_A_DELTA,
        looked="Abstract; Sections 1, 3.1.2 (Fig. 2), 4 and 7; all three conversions. The conclusion says 'mitigate', the abstract and "
        "Section 4 'bypass', with a budget of epsilon for each weight instead of T d epsilon. No delta is named.",
    )


def amplification_domain() -> Claim:
    delta = Rational(1, 10**5)
    settings = ((100, 1), (200, 4), (500, 10))
    return Claim(
        id="LF-AMPdom",
        name="scope of amplification theorems",
        place="Sections 3.1.2 and 4, with the works cited (our question: the paper does not say that they apply at its settings)",
        says="Amplification by shuffling is proved at the paper's settings: (n, epsilon) = (100, 1), (200, 4), (500, 10), by Erlingsson "
        "et al. (2019), which it cites, or by the later and wider theorem of Feldman et al. (2021).",
        latex=r"\varepsilon\le\ln\frac{n}{16\ln(2/\delta)},\quad\delta=10^{-5}",
        parts=(
            *(
                at_most(eps, log(Rational(clients) / (16 * log(2 / delta))), f"n = {clients}, epsilon = {eps}")
                for clients, eps in settings
            ),
            at_most(1000, 500, "Erlingsson et al. 2019: n >= 1000 at the largest n"),
        ),
        corrected=Correction(
            "The largest epsilon to which they apply at n = 100, 200, 500 is -0.67 (none), 0.02 and 0.94.",
            parts=(
                *(
                    prints_as(
                        log(Rational(clients) / (16 * log(2 / delta))),
                        printed,
                        f"n = {clients}: the limit is {printed}",
                    )
                    for clients, printed in ((100, "-0.67"), (200, "0.02"), (500, "0.94"))
                ),
            ),
        ),
        rests_on=(
            "Feldman, McMillan, Talwar (2021), Theorem 3.1: its range of epsilon",
            "Erlingsson et al. (2019): n >= 1000",
        ),
        source="derived",
    )


def anonymity() -> Claim:
    k = Variable("k", 1, n, integer=True)
    return Claim(
        id="LF-ANON",
        name="anonymity among all clients",
        place="Section 3, cloud update, with Algorithm 1, lines 6 and 14",
        says="Clients remain anonymous to the cloud: a report may be any of the n clients'. (An assumption, by the paper's own word.)",
        latex=r"\Pr[\text{the cloud names the sender}]=\tfrac1n",
        corrected=Correction(
            "In Algorithm 1 the cloud itself selects k_l clients and sends them W_l, so a report is one of k_l <= n clients'. With "
            "all selected, or selection and sending left to a third party, the assumption can hold.",
            r"\tfrac1{k_l}\ge\tfrac1n",
            (
                at_most(
                    k / n,
                    1,
                    "1/n over 1/k: the cloud's chance to name a sender among all n, and among the k that it chose",
                ),
                equal(1 / Variable("k", n, n, integer=True), 1 / n, "the same if all take part"),
            ),
        ),
        argument="Section 3 assumes it, and Section 3.1.2 names means (a proxy, Tor, changing identifiers), so nothing is claimed "
        "that could be refuted. Who builds the protocol must see that Algorithm 1, where the cloud selects the clients, sends them "
        "the weights and asks for their timing predictions, has to reach them without knowing them.",
    )


def whole_vector_comparison() -> Claim:
    large = Variable("d", 501, oo, integer=True)
    return Claim(
        id="LF-CMP",
        name="budget against Bhowmick et al.",
        place="Sections 5.2 and 6",
        says="LDP-FL's epsilon = 1 is a smaller budget than the 500 and 5000 of Bhowmick et al.",
        latex=r"1\le 500",
        corrected=Correction(
            "Theirs is for the whole vector. Of a whole vector of d weights LDP-FL spends d epsilon a round, if nothing is taken off "
            "for shuffling: above 500 once d > 500.",
            parts=(less(500, large * 1, "d > 500, epsilon = 1"),),
        ),
        argument="The two numbers compare as printed, but count different things: theirs is of a client's whole vector, LDP-FL's of "
        "one weight. Whether the one may stand for the other is what LF-UNLINK is about; the number of weights d is not given.",
    )


def total_budget() -> Claim:
    d = Variable("d", 1, oo, integer=True)
    runs = (("MNIST", 10, 1), ("FMNIST", 15, 4), ("CIFAR-10", 15, 10))
    return Claim(
        id="LF-EPSTOT",
        name="total budget of the experiments",
        place="Abstract, with the rounds of Section 5.2",
        says="The privacy budgets are 1 (MNIST), 4 (FMNIST) and 10 (CIFAR-10).",
        latex=r"\varepsilon_{\text{total}}=1\ \text{(MNIST)},\quad4\ \text{(FMNIST)},\quad10\ \text{(CIFAR-10)}",
        parts=tuple(
            at_most(
                rounds * d * eps,
                eps,
                f"{name}: T d epsilon is at most {eps}",
                sides=Quantities(f"the budget T d epsilon on {name}", "the printed budget"),
            )
            for name, rounds, eps in runs
        ),
        another=WITH_A_DELTA,
        corrected=Correction(
            "They are those of one weight in one round (LF-T1). By Definition 1 a client spends T d epsilon: 10 d, 60 d and 150 d.",
            r"10\cdot1\cdot d,\quad15\cdot4\cdot d,\quad15\cdot10\cdot d",
            tuple(
                equal(times(rounds, eps, d), total * d, f"{name}: {total} d")
                for (name, rounds, eps), total in zip(runs, (10, 60, 150), strict=True)
            ),
        ),
        looked="Abstract; Sections 1, 3.1.2 (the budget does not accumulate), 4 and 5.2, where the numbers stand beside other works' "
        "budgets for all that a client sends; all three conversions. So they are meant as a client's, with shuffling counted.",
        rests_on=("LF-SEQ",),
    )


def noise_free_limit() -> Claim:
    level = r**2 / 2
    centre = m.at({w: c}).variance()
    at_5, at_10 = (A.subs({t: exp(number)}) for number in (5, 10))
    return Claim(
        id="LF-EPSINF",
        name="variance as epsilon grows",
        place="Sections 5.1 to 5.3 (our question: the paper says it of more clients, not of a larger epsilon)",
        says="A larger epsilon brings the result as near to the noise-free one as is wished.",
        latex=r"\lim_{\varepsilon\to\infty}\mathrm{Var}[M(w)]=0",
        parts=(somewhere(at_most(centre, level), "some epsilon brings the variance at w = c below r^2/2"),),
        corrected=Correction(
            "The limit is r^2 - (w - c)^2: the noise of rounding to one bit stays, and only n reduces it. A(5) = 1.01357 and "
            "A(10) = 1.00009, so Table 1's rows for 5 and 10 have noise equal within 1.3%.",
            r"\lim_{\varepsilon\to\infty}\mathrm{Var}[M(w)]=r^2-(w-c)^2",
            (
                less(r**2 - (w - c) ** 2, variance, "the variance stays above r^2 - (w - c)^2"),
                equal(variance - (r**2 - (w - c) ** 2), r**2 * (A**2 - 1), "by r^2 (A^2 - 1)"),
                equal(r**2 * (A**2 - 1), 4 * r**2 * t / (t - 1) ** 2, "which tends to 0 as t grows"),
                prints_as(at_5, "1.01357", "A at epsilon = 5"),
                prints_as(at_10, "1.00009", "A at epsilon = 10"),
                at_most(at_5 / at_10 - 1, Rational("0.0135"), "their ratio"),
            ),
        ),
        source="derived",
    )


CLAIMS = {
    "LF-COMP": composition,
    "LF-SEQ": without_shuffling,
    "LF-MODEL": model_shuffling,
    "LF-UNLINK": enough_per_weight,
    "LF-CURSE": curse_of_dimensionality,
    "LF-AMPdom": amplification_domain,
    "LF-ANON": anonymity,
    "LF-CMP": whole_vector_comparison,
    "LF-EPSTOT": total_budget,
    "LF-EPSINF": noise_free_limit,
}
