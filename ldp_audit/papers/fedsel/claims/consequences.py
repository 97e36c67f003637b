"""FedSel, Sections 1 and 4.2: consequences of the error bound, and non-consequences: targets, bias, budget split,
time."""

from sympy import Rational, exp

from ldp_audit.claims.as_written import difference, put_in, quotient, times
from ldp_audit.claims.claim import Claim, Correction, Reading
from ldp_audit.claims.language.statement import Quantities, at_most, equal, less, order, prints_as, somewhere
from ldp_audit.papers.fedsel.claims.symbols import K, Variable, dims, epsilon, m, mu, oo, sampling_law, t, x
from ldp_audit.papers.fedsel.claims.utility import chance, epochs, linked, log_d, log_size, size, sparse


def dimension_dependence() -> Claim:
    q, value = Variable("Q", 0, oo, open="left"), Variable("v", 0, 1, open="left")
    ratio = Variable("t_sel", 1, oo, latex=r"e^{\varepsilon_{sel}}")
    picked = Variable("P", 0, ratio / dims, open="left")
    flat = dims * q / (m * value**2)
    signal, variance = times(picked, value), quotient(times(picked, q), m)
    own = q / (m * picked * value**2)
    return Claim(
        id="FS-SNR",
        name="error's dependence on dimension",
        place="Section 1, contributions, and Table 1",
        says="The dimension dependence of the estimation error falls from O(sqrt(d)) to O(1/sqrt(d)).",
        reading=(
            "Each error about what it estimates: FedSel's about X, the mean of the sparse vectors, as in Theorem 4.1; the flat "
            "solution's about the mean vector. As standard deviations of a coordinate, squared."
        ),
        parts=(
            at_most(picked * q / m, ratio * q / (m * dims), "FedSel: at most e^epsilon_sel Q/(m d), of order 1/d"),
            at_most(dims * q / m - value**2 / m, dims * q / m, "flat, one of d: d Q/m less v^2/m, of order d"),
        ),
        another=Reading(
            "The words, strictly.",
            (
                order(
                    size / ratio,
                    K / size,
                    constant=K,
                    label="relative to one target, the gradient's coordinate v: squared noise over squared signal, in units of Q/(m v^2), "
                    "d = n + 1, at the largest selection probability P = e^epsilon_sel/d that the budget allows",
                ),
            ),
        ),
        corrected=Correction(
            "The two errors have different targets: X_j has the mean P(j) v_j, about v_j/d, so signal and noise shrink together. "
            "FedSel's noise-to-signal ratio is at least the flat solution's times e^(-epsilon_sel/2): sqrt(d) stays. At epsilon "
            "= 2, mu = 0.1, d = 100, k = 10 the top k are selected with probability 0.1195 instead of 0.10.",
            r"\frac{\sqrt{Q/(mP)}}{v}\ge e^{-\varepsilon_{sel}/2}\,\frac{\sqrt{dQ/m}}{v}",
            (
                equal(quotient(variance, signal**2), own, "squared noise P Q/m, signal P v"),
                at_most(
                    flat / ratio,
                    own,
                    "squared noise over squared signal against the flat one's, any P <= e^epsilon_sel/d",
                ),
                prints_as(
                    10 * exp(Rational(1, 5)) / (90 + 10 * exp(Rational(1, 5))), "0.1195", "PS: the top k's share"
                ),
            ),
        ),
        looked="Abstract, Section 1 (contributions), Table 1, Sections 3.1 and 4.2, Theorem 4.1 and its X: the error is about X there, "
        "and the noise is called that of the average vector.",
        argument="The largest error over all coordinates with probability 1 - beta is another matter: FS-T41.",
    )


def estimates_the_gradient() -> Claim:
    law = [put_in(chance, {t: 3}) for chance in sampling_law((1, 0, 0), 1).values()]
    gradient = (Rational(1), Rational(1, 2), Rational(1, 4))
    return Claim(
        id="FS-BIAS",
        name="bias against the mean gradient",
        place="Algorithm 1, line 11, with Theorem 4.1 (the paper claims no more than a distance to X)",
        says="The server's mean, which takes the mean gradient's place in the update, is unbiased for it.",
        latex=r"\mathbb E[s^*_j]=v_j",
        parts=(
            equal(
                sparse.mean(),
                x,
                "one client, one coordinate, selected with probability P",
                sides=Quantities("the mean of the report", "the gradient"),
            ),
        ),
        corrected=Correction(
            "E[s*_j] = P(j) clip(v_j): a coordinate is shrunk by its own selection probability. PS at t = 3, d = 3, k = 1, v = "
            "(1, 1/2, 1/4): mean (3/5, 1/10, 1/20), short by (2/5, 2/5, 1/5). X has the same mean.",
            r"\mathbb E[s^*_j]=P(j)\,\mathrm{clip}(v_j)",
            (
                equal(sparse.mean(), chance * x, "P times the value"),
                *(
                    equal(times(share, value), mean, f"coordinate {place}: mean {mean}")
                    for place, (share, value, mean) in enumerate(
                        zip(law, gradient, (Rational(3, 5), Rational(1, 10), Rational(1, 20)), strict=True), start=1
                    )
                ),
                *(
                    equal(difference(value, times(share, value)), gap, f"coordinate {place}: short by {gap}")
                    for place, (share, value, gap) in enumerate(
                        zip(law, gradient, (Rational(2, 5), Rational(2, 5), Rational(1, 5)), strict=True), start=1
                    )
                ),
            ),
        ),
        source="derived",
    )


def _batches(share: Variable) -> tuple:
    """Table 1's batch sizes: FedSel's, with epsilon_2 = (1 - mu) epsilon/E, and the flat solution's."""
    ours = log_size / (dims * ((1 - share) * epsilon / epochs) ** 2)
    return ours, epochs**2 * dims * log_size / epsilon**2


def smaller_batch() -> Claim:
    below = Variable("mu", 0, Rational(1, 2), open="right", latex=r"\mu")
    limit = Variable("mu", 0, 1 - 1 / dims, open="right", latex=r"\mu")
    ours, flat = _batches(below)
    ours_limit, flat_limit = _batches(limit)
    ours_end, flat_end = (put_in(one, {mu: 1 - 1 / dims}) for one in _batches(mu))
    return Claim(
        id="FS-MU",
        name="batch size for mu below 1/2",
        place="Section 4.2",
        says="For mu < 0.5 the batch bound is below the flat solution's (compared with equal constants).",
        latex=r"\frac{E^2\log d}{d\,(1-\mu)^2\varepsilon^2}<\frac{E^2d\log d}{\varepsilon^2},\quad\mu<\tfrac12",
        parts=(less(ours, flat, "mu < 1/2"),),
        corrected=Correction(
            "Exactly for mu < 1 - 1/d.",
            parts=(
                less(ours_limit, flat_limit, "mu < 1 - 1/d"),
                equal(ours_end, flat_end, "mu = 1 - 1/d: equal"),
            ),
        ),
        assumptions=("d >= 2",),
        argument="Whether the compared bounds hold is another question: FS-BATCH.",
    )


def small_portion() -> Claim:
    more = Variable("mu_2", 0, 1, open="both", latex=r"\mu_2")
    fewer = Variable("mu", 0, more, open="right", latex=r"\mu")
    return Claim(
        id="FS-MUsmall",
        name="small share for the selection",
        place="Section 4.2, before Theorem 4.1",
        says="The bound speaks for a small portion of the budget for the selection rather than a large one.",
        latex=r"\mu<\mu_2\implies\frac1{1-\mu}<\frac1{1-\mu_2}",
        parts=(
            less(
                1 / ((1 - fewer) * epsilon),
                1 / ((1 - more) * epsilon),
                "1/epsilon_2, to which the bound is proportional",
            ),
        ),
    )


def some_portion() -> Claim:
    share = Variable("mu", 0, 1, open="both", latex=r"\mu")
    return Claim(
        id="FS-MUopt",
        name="best share for the selection",
        place="Section 4.2, before Theorem 4.1, read more strongly than FS-MUsmall",
        says="The bound speaks for giving the selection a portion of the budget at all: some mu > 0 has a smaller bound than mu = 0.",
        latex=r"\exists\mu>0:\ \frac1{(1-\mu)\varepsilon'}<\frac1{\varepsilon'}",
        parts=(
            somewhere(
                less(1 / ((1 - share) * epsilon), 1 / epsilon),
                "1/epsilon_2, to which the bound is proportional, at mu and at 0",
            ),
        ),
        corrected=Correction(
            "The bound grows like 1/(1 - mu) and is best at mu = 0: a selection that finds the large coordinates is no part of it. "
            "The case for mu > 0 is the experiments' alone.",
            parts=(less(1 / epsilon, 1 / ((1 - share) * epsilon), "every mu > 0 has a larger bound than mu = 0"),),
        ),
        source="derived",
    )


def time_complexity() -> Claim:
    drawn = Variable("l", 0, linked)
    sort = linked * log_d
    return Claim(
        id="FS-TIME",
        name="time complexity of selection",
        place="Section 4.2, time complexity",
        says="EXP takes O(d log d + d^2 + d) = O(d^2), PE O(d log d + d + l) = O(d log d), PS O(d log d).",
        latex=r"O(d\log d+d^2+d)=O(d^2),\quad O(d\log d+d+l)=O(d\log d)",
        parts=(
            order(sort + linked**2 + linked, K * linked**2, constant=K, label="EXP: d^2 dominates"),
            order(sort + linked + drawn, K * sort, constant=K, label="PE, l <= d ones: d log d dominates for d >= 2"),
            order(sort + linked, K * sort, constant=K, label="PS"),
        ),
        corrected=Correction(
            "All are upper bounds. EXP needs no more than O(d log d), as the sorted position of an index is its rank; PS, which "
            "needs the top k only, can do with O(d) by selection.",
            parts=(
                order(sort + 2 * linked, K * sort, constant=K, label="EXP with ranks read off the sorted positions"),
            ),
        ),
        argument="The counts of steps are the paper's: sorting d log d, looking up each rank d^2, drawing d.",
    )


CLAIMS = {
    "FS-SNR": dimension_dependence,
    "FS-BIAS": estimates_the_gradient,
    "FS-MU": smaller_batch,
    "FS-MUsmall": small_portion,
    "FS-MUopt": some_portion,
    "FS-TIME": time_complexity,
}
