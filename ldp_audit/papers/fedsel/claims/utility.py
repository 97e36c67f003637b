"""FedSel, Theorem 4.1 with Appendix A, and the batch sizes of Section 4.2, Section 5.3 and Table 1.

An O concerns growth, so where one is refuted d ranges over all real numbers from 2 on.
"""

from sympy import Rational, exp, log, sqrt

from ldp_audit.claims.as_written import put_in, quotient, times, total
from ldp_audit.claims.claim import Claim, Correction, Reading
from ldp_audit.claims.language.statement import Quantities, at_most, equal, less, order, prints_as
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.papers.fedsel.claims.symbols import (
    PIECEWISE,
    A,
    K,
    Variable,
    d,
    dims,
    duchi,
    epsilon,
    k,
    oo,
    s,
    t,
    x,
)

chance = Variable("P", 0, 1, open="both", latex="p_{ij}")
"""The probability that a client's dimension j is selected."""
sparse = SymbolicChannel(
    "one coordinate of the sparse report, Duchi's mechanism",
    x,
    [*((atom.output, chance * atom.probability) for atom in duchi.atoms), (0, 1 - chance)],
)
second = Variable("E_2", x**2, oo, latex=r"\mathbb E[\zeta^2]")
"""E[zeta**2] of any unbiased value mechanism at x."""
others = Variable("n", 1, oo, latex="d-1")
size = others + 1
"""d in an O that is refuted."""
log_d = Variable("ell", Rational(1, 2), oo, latex=r"\ln d")
linked = Variable("d", 1, oo, open="left", exp_of=log_d)
log_size = Variable("L", 0, oo, open="left", latex=r"\log d")
epochs = Variable("E", 1, oo, integer=True)
small = Variable("epsilon_2", 0, 1, open="left", latex=r"\varepsilon_2")
t_small = Variable("t", 1, oo, open="left", exp_of=small)
s_small = Variable("s", 1, oo, open="left", exp_of=small / 2)


def equation_2() -> Claim:
    stated = chance * sparse.at({chance: 1}).moment(2) - x**2
    at = {t: 3, chance: Rational(1, 8), x: 1}
    return Claim(
        id="FS-E2",
        name="variance of a sparse coordinate",
        place="Appendix A, eq. (2)",
        says="The variance of one coordinate of the sparse report is p E[zeta^2] - s^2 (here: Duchi's mechanism).",
        latex=r"\mathrm{Var}[s^*_{ij}]=p_{ij}\mathbb E[\zeta^2]-(s_{ij})^2",
        reading="s is the entry of the sparse vector, whose mean is p times the value: E[s*] = s, as the line before has it.",
        parts=(
            equal(sparse.variance(), chance * sparse.at({chance: 1}).moment(2) - sparse.mean() ** 2, "from the law"),
        ),
        another=Reading(
            "The words, strictly.",
            (equal(sparse.variance(), stated, "from the law of the report, s the value that is perturbed"),),
        ),
        corrected=Correction(
            "With s the perturbed value it is p E[zeta^2] - p^2 s^2, as E[s*] = p s. At t = 3, p = 1/8, s = 1 the printed formula gives -1/2, a negative "
            "variance; the truth is 31/64.",
            r"\mathrm{Var}[s^*_{ij}]=p_{ij}\mathbb E[\zeta^2]-p_{ij}^2s_{ij}^2",
            (
                equal(sparse.variance(), chance * sparse.at({chance: 1}).moment(2) - chance**2 * x**2, "from the law"),
                equal(put_in(stated, at), Rational(-1, 2), "t = 3, p = 1/8, s = 1: as printed, s the value"),
                equal(put_in(sparse.variance(), at), Rational(31, 64), "and in truth"),
            ),
        ),
        looked="Appendix A from its first line, and Section 3.3, which writes s_ij for the gradient's value. Appendix A sets the mean "
        "of s* to s and calls s sparse, as the entry is that was not selected.",
        argument="The order that follows does not depend on the reading: FS-E2noise.",
    )


def noise_around_the_sparse_vector() -> Claim:
    direct = chance * sum(atom.probability * (atom.output - x) ** 2 for atom in duchi.atoms)
    return Claim(
        id="FS-E2noise",
        name="noise around the sparse vector",
        place="Appendix A, eq. (1), what Bernstein's inequality needs of eq. (2)",
        says="The noise around the sparse vector has a second moment of at most p E[zeta^2].",
        latex=r"\mathbb E[(s^*-s_{\text{sparse}})^2]=p(\mathbb E[\zeta^2]-s^2)\le p\,\mathbb E[\zeta^2]",
        parts=(
            equal(direct, chance * (A**2 - x**2), "Duchi's mechanism, from its law: E[zeta^2] = A^2"),
            equal(
                total(times(chance, total(second, times(-2, x, x), x**2)), times(1 - chance, 0)),
                chance * (second - x**2),
                "any unbiased one: E[(zeta - s)^2] = E[zeta^2] - 2 s E[zeta] + s^2, and 0 where j is not selected",
            ),
            at_most(chance * (second - x**2), chance * second, "at most p E[zeta^2]"),
        ),
    )


def selection_probability() -> Claim:
    top_one = t / (size - 1 + t)
    rho = Variable("t_sel", 1, oo, latex=r"e^{\varepsilon_{sel}}")
    weights = Variable("M", dims - 1, oo)
    return Claim(
        id="FS-PIJ",
        name="order of selection probability",
        place="Appendix A, after eq. (2)",
        says="For EXP, PE and PS the probability p_ij that a dimension is selected is O(1/d).",
        latex=r"p_{ij}=O(1/d)",
        reading="As d grows and epsilon_1 stays as it is: e to the selection's exact epsilon is a constant that does.",
        parts=(
            at_most(rho / (d - k + rho * k), rho / d, "PE, PS: at most rho/(d - k + rho k) (FS-PSopt)"),
            at_most(rho / (weights + rho), rho / dims, "EXP: the other weights add up to d - 1 or more"),
        ),
        another=Reading(
            "The words, strictly.",
            (
                order(
                    top_one.subs(t, size),
                    K / size,
                    constant=K,
                    label="epsilon_1 free to grow with d: PS, k = 1, epsilon_1 = ln d, d = n + 1: p = d/(2d - 1)",
                ),
            ),
        ),
        corrected=Correction(
            "p_ij <= e^(epsilon_sel)/d for every selection that treats all indices alike. With a budget that grows with d the O fails.",
            r"p_{ij}\le e^{\varepsilon_{sel}}/d",
            (less(Rational(1, 2), top_one.subs(t, size), "PS, k = 1: with epsilon_1 = ln d it stays above 1/2"),),
        ),
        looked="Appendix A, Sections 4.1, 4.2 and 5.1: epsilon_1 is a share of the budget of an epoch and is nowhere made to grow with d.",
    )


def noise_of_one_value() -> Claim:
    a_small = (t_small + 1) / (t_small - 1)
    piecewise_second = PIECEWISE.moment(2).subs(x, 1)
    variance = Variable("V", 0, oo)
    reach, reach_small = 2 * s / (s - 1), 2 * s_small / (s_small - 1)
    return Claim(
        id="FS-ZETA",
        name="order of one value's noise",
        place="Appendix A, before eq. (1) and eq. (2)",
        says="E[zeta^2] = O(1/epsilon_2^2) and |s* - s| = O(1/epsilon_2) (here: Duchi's mechanism and PM).",
        latex=r"\mathbb E[\zeta^2]=O(\varepsilon_2^{-2}),\qquad|s^*-s|=O(\varepsilon_2^{-1})",
        reading="An O without a range is one as epsilon_2 tends to 0: here on (0, 1].",
        parts=(
            order(a_small**2, K / small**2, constant=K, label="Duchi: E[zeta^2], epsilon_2 <= 1"),
            order(a_small + 1, K / small, constant=K, label="Duchi: |s* - s|, epsilon_2 <= 1"),
            order(piecewise_second.subs(s, s_small), K / small**2, constant=K, label="PM: E[zeta^2] at |s| = 1"),
            order(reach_small, K / small, constant=K, label="PM: |s* - s| <= C + 1"),
        ),
        another=Reading(
            "The words, strictly.",
            (
                order(A**2, K / epsilon**2, constant=K, label="every epsilon_2: Duchi: E[zeta^2] = A^2"),
                order(A + 1, K / epsilon, constant=K, label="Duchi: |s* - s| <= A + 1"),
                order(reach, K / epsilon, constant=K, label="PM: |s* - s| <= C + 1 = 2s/(s - 1), s = e^(epsilon_2/2)"),
            ),
        ),
        corrected=Correction(
            "For every epsilon_2: A <= 1 + 2/epsilon_2 (Duchi), C + 1 <= 2 + 4/epsilon_2 (PM). E[zeta^2] >= s^2 for every unbiased "
            "mechanism, so no such bound survives large epsilon_2. Laplace noise is unbounded, so the second bound does not hold of "
            "every value mechanism.",
            parts=(
                at_most(A, 1 + 2 / epsilon, "Duchi"),
                at_most(reach, 2 + 4 / epsilon, "PM"),
                at_most(
                    small**2 * a_small**2, Rational("4.69"), "Duchi, epsilon_2 <= 1: epsilon_2^2 E[zeta^2] <= 4.69"
                ),
                at_most(x**2, variance + x**2, "any unbiased mechanism: E[zeta^2] = Var + s^2 >= s^2"),
            ),
        ),
        looked="Appendix A and Section 4.2: no range is named; the bound is called asymptotically optimal.",
    )


def theorem_4_1() -> Claim:
    clients = Variable("m", 1, oo)
    level = Variable("L_2d", 0, oo, open="left", latex=r"\ln\tfrac{2d}\beta")
    enough = Variable("m", dims * level, oo, latex="m")
    root, reach = Variable("R", 0, oo), Variable("b", 0, oo, open="left")
    error = root + 2 * reach * level / (3 * clients)
    noise = clients * root**2 / (2 * level)  # p Q, from R**2 = 2 p Q L/m
    at_one = (A - 1).subs(t, exp(1))
    return Claim(
        id="FS-T41",
        name="error of the server's mean",
        place="Theorem 4.1",
        says="With probability 1 - beta the server's mean is within O(sqrt(log(d/beta))/(epsilon_2 sqrt(m d))) of the mean of "
        "the sparse vectors, in every coordinate, for every m and d.",
        latex=r"\max_j|\tilde s_j-X_j|=O\Bigl(\frac{\sqrt{\log(d/\beta)}}{\varepsilon_2\sqrt{md}}\Bigr)",
        parts=(
            order(
                ((A - 1) ** 2).subs(t, 3),
                K * (log_d + 1) / linked,
                constant=K,
                label="m = 1, e^epsilon_2 = 3 (so epsilon_2 > 1), beta = 1/e, squared: with Duchi's mechanism the selected "
                "coordinate is off by A - 1 or more, surely",
            ),
        ),
        another=Reading(
            "For small epsilon_2 and many clients: epsilon_2 <= 1, and m as large as is wished. Whatever m is, d may grow beyond: with m "
            "clients whose selected coordinates differ, as they nearly surely do then, a coordinate has one client's error over m.",
            (
                order(
                    ((A - 1) ** 2).subs(t, 2),
                    K * (log_d + 1) / linked,
                    constant=K,
                    label="e^epsilon_2 = 2, beta = 1/e, squared: off by (A - 1)/m or more; any fixed m goes into the constant",
                ),
            ),
        ),
        corrected=Correction(
            "The error is at most sqrt(2 p Q L/m) + 2 b L/(3m), L = ln(2d/beta), p = max p_ij, Q = max E[zeta^2], b = max "
            "|zeta - s| (A + 1 for Duchi, C + 1 for PM). The paper's order follows for m >= d L, epsilon_2 <= 1 and bounded "
            "epsilon_1; fewer clients leave one report's noise. The O also hides that X is not the mean gradient: the "
            "selection's bias (FS-BIAS) is no part of the bound.",
            r"\max_j|\tilde s_j-X_j|\le\sqrt{\frac{2pQL}{m}}+\frac{2bL}{3m},\quad L=\ln\frac{2d}\beta",
            (
                at_most(
                    level * (2 * clients * noise + Rational(2, 3) * clients * error * reach),
                    (clients * error) ** 2,
                    "Bernstein's exponent reaches L = ln(2d/beta) there, with R^2 = 2 p Q L/m",
                ),
                at_most(
                    level**2 / enough**2,
                    level / (enough * dims),
                    "m >= d L: the second term, squared, is within L/(m d)",
                ),
                at_most(A + 1, 2 + 2 / epsilon, "b <= 2 + 2/epsilon_2 (Duchi)"),
                at_most(A - 1, A - x, "Duchi: the upper report is off by A - 1 or more"),
                at_most(A - 1, x + A, "and so is the lower one"),
                less(1, log(3), "e^epsilon_2 = 3: epsilon_2 > 1"),
                less(
                    100 * sqrt(log(2 * 10**6)) / 1000,
                    at_one,
                    "even with the constant 100: at d = 10^6, m = 1, epsilon_2 = 1, beta = 1/2 the bound is below A - 1",
                ),
            ),
        ),
        rests_on=(
            "Bernstein's inequality and the union bound over d coordinates",
            "FS-E2noise, FS-PIJ, FS-ZETA",
        ),
        looked="Theorem 4.1, the text around it in Section 4.2, Table 1, Section 5.3 and Appendix A. No least m is named: Section 4.2 "
        "draws from the theorem that a batch of order log d/(d epsilon_2^2) is acceptable, far below the m that it needs. Section "
        "5.3's rule would be enough.",
        argument="The proof drops Bernstein's second term, lambda O(1/epsilon_2), which is the larger one for m < d log(d/beta).",
    )


def acceptable_batch() -> Claim:
    per_client = (A - 1).subs(t, exp(1))
    small_step = 1 / Variable("u", 1, oo)  # e^epsilon_2 - 1, at most 1
    ours, rule = log_size / (dims * epsilon**2), dims * log_size / epsilon**2
    return Claim(
        id="FS-BATCH",
        name="acceptable batch size",
        place="Section 4.2 and Table 1, the batch size of 'our solution'; Section 5.3",
        says="A batch of order log d/(d epsilon_2^2) is acceptable, as Section 5.3's rule epsilon_2 = Omega(sqrt(d log d/m)) asks.",
        latex=r"|m|=\Omega\Bigl(\frac{\log d}{d\,\varepsilon_2^2}\Bigr)",
        parts=(
            equal(
                ours,
                rule,
                "the batch of Section 4.2 against that of Section 5.3, solved for m",
                sides=Quantities("the batch of Section 4.2", "that of Section 5.3's rule"),
            ),
            at_most(
                per_client, 1, "d = 100, epsilon_2 = 1, one client (more than 0.046): its error A - 1 is at most 1"
            ),
        ),
        another=Reading(
            "An error of at most some constant, however large, is acceptable, and Section 5.3's rule is not meant. Wherever log d is "
            "at most d epsilon_2^2, and so for every epsilon_2 if d is large enough, one client is then enough.",
            (
                order(
                    (A - 1).subs(t, 1 + small_step),
                    K * 1,
                    constant=K,
                    label="e^epsilon_2 <= 2, one client: with Duchi's mechanism its error, at least A - 1, is at most the constant",
                ),
            ),
        ),
        corrected=Correction(
            "Section 5.3 asks d^2 times as many. At d = 100, epsilon_2 = 1 Section 4.2's bound is 0.046 of a client, while one "
            "client's report is off by 1.16 or more.",
            r"m=\Omega\Bigl(\frac{d\log d}{\varepsilon_2^2}\Bigr)",
            (
                equal(quotient(rule, ours), dims**2, "the quotient"),
                prints_as(log(100) / 100, "0.046", "d = 100, epsilon_2 = 1"),
                prints_as(per_client, "1.16", "Duchi's mechanism, epsilon_2 = 1: A - 1"),
            ),
        ),
        looked="Section 4.2 before and after Theorem 4.1, Table 1 and its caption, Section 5.3 (impacts of mu). No least number of "
        "clients is named in Section 4.2; Section 5.3 has the larger one.",
        argument="A bound that falls with d cannot be right: with one client the error stays (FS-T41).",
    )


def table_1() -> Claim:
    batch = Variable("m", 0, oo, open="left")
    rank = Variable("q", 2, oo, integer=True)
    rows = (
        ("flat", epochs**2 * dims * log_size / (epsilon**2 * batch), epochs**2 * dims * log_size / epsilon**2),
        ("compressed", epochs**2 * rank * log_size / (epsilon**2 * batch), epochs**2 * rank * log_size / epsilon**2),
        ("ours", epochs**2 * log_size / (epsilon**2 * batch * dims), epochs**2 * log_size / (dims * epsilon**2)),
    )
    return Claim(
        id="FS-TAB1",
        name="batch sizes from noise bounds",
        place="Table 1",
        says="In each row the lower bound of the batch size is the noise column, set to 1 and solved for m.",
        latex=r"\frac{E\sqrt{d\log d}}{\varepsilon\sqrt m}=1\iff m=\frac{E^2d\log d}{\varepsilon^2}",
        parts=tuple(
            equal(put_in(squared, {batch: bound}), 1, f"{name}: with that batch for m the noise, squared, is 1")
            for name, squared, bound in rows
        ),
        argument="L stands for log d, in the compressed row for log q. The noise falls with m, so 1 is reached at no other m. Whether the "
        "columns themselves hold: FS-T41, FS-BATCH.",
    )


CLAIMS = {
    "FS-E2": equation_2,
    "FS-E2noise": noise_around_the_sparse_vector,
    "FS-PIJ": selection_probability,
    "FS-ZETA": noise_of_one_value,
    "FS-T41": theorem_4_1,
    "FS-BATCH": acceptable_batch,
    "FS-TAB1": table_1,
}
