"""LDP-FL, adaptive ranges: Corollary 1, and the privacy of choosing c and r from the data."""

from sympy import Rational, binomial

from ldp_audit.claims.as_written import difference, put_in, times, total
from ldp_audit.claims.claim import Claim, Condition, Correction, Reading
from ldp_audit.claims.language.statement import Quantities, Statement, at_most, differ, equal, less, prints_as
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.variable import substituted
from ldp_audit.papers.ldp_fl.claims.symbols import (
    A,
    Variable,
    c,
    lower,
    m,
    m_prime,
    minus,
    n,
    oo,
    plus,
    r,
    t,
    upper,
    w,
)

# One range per client: S is the sum of the r_u**2, Q that of the (w_u - c_u)**2.
radii = Variable("S", 0, oo, open="left", latex=r"\textstyle\sum_u r_u^2")
squares = Variable("Q", 0, radii, latex=r"\textstyle\sum_u(w_u-c_u)^2")
mean_variance = (radii * A**2 - squares) / n**2


def corollary_1() -> Claim:
    second = m.twin("_2")
    r_2 = Variable("r_2", 0, oo, open="left")
    c_2 = Variable("c_2", -oo, oo)
    other = second.at({r: r_2, c: c_2})
    w_2 = other.inputs[0]
    own_ranges = (m.variance() + other.variance()) / 4
    low, high = (A**2 - 1) * radii / n**2, A**2 * radii / n**2
    return Claim(
        id="LF-C1",
        name="variance with per-client ranges",
        place="Corollary 1 (as the web conversion and the second scan have it)",
        says="With own radii r_u the variance of the mean lies between (A^2 - 1) sum r_u^2/n^2 and A^2 sum r_u^2/n^2.",
        latex=r"\frac{(A^2-1)\sum_u r_u^2}{n^2}\le\mathrm{Var}[\overline{M(w)}]\le\frac{A^2\sum_u r_u^2}{n^2}",
        parts=(
            equal(
                own_ranges,
                ((r**2 + r_2**2) * A**2 - (w - c) ** 2 - (w_2 - c_2) ** 2) / 4,
                "two clients, each its own c and r",
            ),
            at_most((w - c) ** 2, r**2, "a client's (w_u - c_u)^2 is at most r_u^2"),
            at_most(low, mean_variance, "lower bound"),
            at_most(mean_variance, high, "upper bound"),
        ),
        corrected=Correction(
            "Both ends are attained, and the exact value is known.",
            r"\mathrm{Var}[\overline{M(w)}]=\frac1{n^2}\sum_u\bigl(r_u^2A^2-(w_u-c_u)^2\bigr)",
            (
                equal(put_in(mean_variance, {squares: 0}), high, "every w_u = c_u"),
                equal(put_in(mean_variance, {squares: radii}), low, "every |w_u - c_u| = r_u"),
            ),
        ),
        assumptions=("every w_u lies in its own [c_u - r_u, c_u + r_u]",),
        rests_on=("independent noise: the variance of a sum is the sum of the variances (Bienayme)",),
    )


def corollary_1_damaged_upper() -> Claim:
    return Claim(
        id="LF-C1ocrU",
        name="damaged upper variance bound",
        place="Corollary 1 as the first scan prints it (the other two conversions differ): the upper bound",
        says="The variance of the mean is at most (A^2 - 1) sum r_u^2/n^2.",
        latex=r"\mathrm{Var}[\overline{M(w)}]\le\frac{A^2\sum_u r_u^2}{n^2}-\frac{\sum_u r_u^2}{n^2}",
        parts=(
            at_most(
                m.variance(),
                (A**2 - 1) * r**2,
                "one client",
                sides=Quantities("the variance of a report", "(A^2 - 1) r^2"),
            ),
        ),
        corrected=Correction(
            "That expression is the minimum: see LF-C1.",
            parts=(at_most((A**2 - 1) * r**2, m.variance(), "one client"),),
        ),
        source="damaged conversion",
    )


def corollary_1_damaged_lower() -> Claim:
    up_to = Variable("t", 1, Rational("5.828"), open="left")
    beyond = Variable("t", Rational("5.829"), oo)
    at_end = m.at({w: c + r}).variance()
    return Claim(
        id="LF-C1ocrL",
        name="damaged lower variance bound",
        place="Corollary 1 as the first scan prints it (the other two conversions differ): the lower bound",
        says="The variance of the mean is at least sum r_u^2/n^2.",
        latex=r"\frac{\sum_u r_u^2}{n^2}\le\mathrm{Var}[\overline{M(w)}]",
        parts=(at_most(r**2, m.variance(), "one client"),),
        corrected=Correction(
            "True of every weight exactly if e^epsilon <= 3 + 2 sqrt 2 = 5.8284...; the paper's lower bound is LF-C1.",
            r"\frac{4t}{(t-1)^2}\ge1\iff t\le3+2\sqrt2",
            (
                at_most(r**2, m.at({t: up_to}).variance(), "it holds for t <= 5.828"),
                less(at_end.subs({t: beyond}), r**2, "and fails at the ends for t >= 5.829"),
            ),
        ),
        source="damaged conversion",
    )


def bias_with_own_ranges() -> Claim:
    second = m.twin("_2")
    other = second.at({r: Variable("r_2", 0, oo, open="left"), c: Variable("c_2", -oo, oo)})
    return Claim(
        id="LF-RBIAS",
        name="bias with per-client ranges",
        place="Section 4, adaptive range setting",
        says="With own c and r for each client the bias of the estimated mean is still 0.",
        latex=r"\mathbb E[\overline{M(w)}]=\bar w",
        parts=(
            equal(m.mean(), w, "a client's term, for a weight in its own range"),
            equal((m.mean() + other.mean()) / 2, (w + other.inputs[0]) / 2, "two clients, each its own c and r"),
        ),
        assumptions=("each w_u lies in its own [c_u - r_u, c_u + r_u], which c and r are chosen to bound",),
        argument="Expectation is linear, so n clients follow from one.",
    )


def _from_another_range(chosen: SymbolicChannel, words: str) -> tuple[Statement, ...]:
    """Statements that an input's reports are at most t times as likely as under another input, with another range."""
    other = chosen.twin()
    return tuple(
        at_most(atom.probability, t * other.probability_of(atom.output), f"the {name} report {words}")
        for atom, name in zip(chosen.atoms, ("upper", "lower"), strict=True)
    )


def client_chosen_range() -> Claim:
    other = SymbolicChannel("eq. (2) with the client's own c and r", inputs=(c, r, w), atoms=list(m.atoms)).twin()
    return Claim(
        id="LF-RANGE",
        name="privacy with self-chosen ranges",
        place="Section 4, adaptive range setting",
        says="Clients may choose their own c and r, for each weight and round; LDP still holds, as noise is added to each weight.",
        latex=r"\Pr[M_{c,r}(w)=y]\le e^{\varepsilon}\,\Pr[M_{c',r'}(w')=y]",
        parts=(
            equal(
                upper,
                other.atoms[0].output,
                "another choice of c and r has the same upper report (else it is impossible)",
            ),
            equal(lower, other.atoms[1].output, "and the same lower report"),
            at_most(plus, t * other.atoms[0].probability, "the upper report is at most t times as likely"),
            at_most(minus, t * other.atoms[1].probability, "and the lower one"),
        ),
        condition=Condition(
            "c and r do not depend on what is to be hidden: they are public, or chosen without looking at the data.",
            (Variable("c_prime", c, c), Variable("r_prime", r, r)),
        ),
        corrected=Correction(
            "The two reports c - r A and c + r A show c and r: between inputs with different ranges epsilon is infinite and "
            "delta is 1. A range that is chosen from the data must be chosen privately, and paid for.",
            r"r=1:\ \{-2,2\},\quad r=2:\ \{-4,4\}\quad(t=3,c=0)\ \Rightarrow\ \varepsilon=\infty",
            (
                equal(put_in(upper, {c: 0, r: 1, t: 3}), 2, "t = 3, c = 0, r = 1: the upper report is 2"),
                equal(put_in(upper, {c: 0, r: 2, t: 3}), 4, "t = 3, c = 0, r = 2: it is 4; the supports are disjoint"),
                equal(put_in(lower, {c: 0, r: 1, t: 3}), -2, "t = 3, c = 0, r = 1: the lower report is -2"),
                equal(put_in(lower, {c: 0, r: 2, t: 3}), -4, "t = 3, c = 0, r = 2: it is -4"),
            ),
        ),
        looked="Section 4, adaptive range setting, and Theorem 1; Section 3.1.1 with its three steps; Algorithms 1 and 2; Sections 5 "
        "and 5.4; all three conversions. Section 3.1.1 and Algorithm 1 have one public range, which the cloud sends; the paragraph "
        "of Section 4 lets clients choose c and r to bound their weights, and does not say from what. Its words admit no other "
        "formal reading.",
    )


def client_chosen_range_links() -> Claim:
    r_2 = Variable("r_2", 0, oo, open="left")
    apart = Variable("r_2", r, oo, open="left")
    return Claim(
        id="LF-RLINK",
        name="linkage by a client's range",
        place="Section 4, adaptive range setting together with parameter shuffling",
        says="The cloud cannot link different reports of one client, in the adaptive range setting either.",
        parts=(equal(r * A, r_2 * A, "the reports of any two clients, of radii r and r_2, lie equally far from c"),),
        condition=Condition("All clients have the same range.", (Variable("r_2", r, r),)),
        corrected=Correction(
            "|report - c| = r_u A names the client: n distinct radii give n distinct distances, so every report is attributed.",
            r"|M_u(w)-c|=r_uA,\quad r_u\neq r_v\Rightarrow r_uA\neq r_vA",
            (
                equal(difference(upper, c) ** 2, (r * A) ** 2, "the upper report's distance from c is r A"),
                equal(difference(lower, c) ** 2, (r * A) ** 2, "and the lower one's"),
                differ(r * A, apart * A, "different radii, different distances"),
            ),
        ),
        looked="Section 4, both paragraphs; Sections 3 and 3.1.2; Algorithms 1 to 3; all three conversions. Section 3.1.1 and "
        "Algorithm 1 have one range for all, as the condition asks; the paragraph on adaptive ranges lets clients differ and the "
        "next one, on shuffling, makes no exception. The words admit no other formal reading.",
    )


def range_of_own_weights() -> Claim:
    # A layer of two weights a < b: its range has c = (a + b)/2 and r = (b - a)/2, and its first weight is reported.
    a = Variable("a", -oo, oo)
    b = Variable("b", a, oo, open="left")
    layer = {c: (a + b) / 2, r: (b - a) / 2, w: a}
    atoms = [(substituted(one.output, layer), substituted(one.probability, layer)) for one in m.atoms]
    middle, reach = times(Rational(1, 2), total(upper, lower)), times(1 / (2 * A), difference(upper, lower))
    own = SymbolicChannel("the least weight of a layer, in the layer's own range", (a, b), atoms)
    return Claim(
        id="LF-RANGE2",
        name="privacy with per-layer ranges",
        place="Section 5: c and r are set adaptively by the weight range of each layer",
        says="Setting c and r by the range of a layer's weights keeps the guarantee.",
        reading=(
            "The layers are those of the averaged model W_l, as in Algorithm 1: the cloud calculates their ranges and sends them to "
            "all clients, so that they are public when a client perturbs."
        ),
        parts=(
            at_most(plus, t * m_prime.atoms[0].probability, "with public c and r: the upper report"),
            at_most(minus, t * m_prime.atoms[1].probability, "and the lower report"),
        ),
        another=Reading(
            "The words, strictly.",
            _from_another_range(
                own, "of a layer is at most t times as likely from another layer, each in its own range"
            ),
        ),
        corrected=Correction(
            "A range of the client's own weights gives the layer's least and largest weight away: one upper and one lower report "
            "show c - r and c + r.",
            r"\tfrac{y_++y_-}2\mp\tfrac{y_+-y_-}{2A}=c\mp r",
            (
                equal(total(middle, -reach), c - r, "the least weight"),
                equal(total(middle, reach), c + r, "the largest weight"),
            ),
        ),
        looked="Section 5 does not say whose layers; Section 3.1.1 (third step) and Algorithm 1 (lines 12 to 14) say the averaged "
        "model's; all three conversions.",
        argument="Nothing is added by the cloud's calculation: it is post-processing of earlier reports (LF-POST).",
    )


def post_processing() -> Claim:
    q1, q2 = Variable("Q_1", 0, 1), Variable("Q_2", 0, 1)
    p1, p2 = Variable("P_1", 0, t * q1), Variable("P_2", 0, t * q2)
    share = Variable("s", 0, 1)
    return Claim(
        id="LF-POST",
        name="post-processing by the server",
        place="Algorithm 1, line 13",
        says="The server's update of C and R from the reports costs no privacy.",
        latex=r"P(y)\le tQ(y)\ \forall y\implies P(f^{-1}(z))\le tQ(f^{-1}(z))",
        parts=(
            at_most(p1 + p2, t * (q1 + q2), "merging two outcomes keeps the bound"),
            at_most(share * p1, t * share * q1, "and so does splitting one by a coin of the server's own"),
        ),
        argument="Every function of the reports, randomised or not, is a sequence of such splits and merges.",
    )


def range_feedback() -> Claim:
    spread = difference(upper, lower)
    v = Variable("v", 0, oo, open="left")
    enough = Variable("n", r**2 * A**2 / v, oo)
    # n = 100, epsilon = 1/2, all weights at c: the mean leaves [c - r, c + r] if |2 K - n| > n / A = 100 tanh(1/4).
    tail = 2 * sum(binomial(100, k) for k in range(63, 101)) / Rational(2) ** 100
    return Claim(
        id="LF-RFEED",
        name="range updates from the reports",
        place="Section 3.1.1, adaptive range, third step, with Algorithm 1, lines 12 to 14",
        says="Ranges that the cloud calculates from the weights that it received make the setting adaptive.",
        latex=r"R_{l+1}=f(W_l)",
        corrected=Correction(
            "By half-ranges of W_l it takes many clients. With one client R grows by the factor A > 1 each round, which a division by A "
            "would undo; with 100 clients and epsilon = 1/2 one averaged weight leaves [c - r, c + r] with probability 0.0120, so a "
            "layer of 1000 weights widens nearly surely. With n clients an averaged weight is as near to the true average as r A/sqrt n.",
            r"f=\tfrac12(\max W_l-\min W_l),\ n=1:\quad R_{l+1}=A\,R_l",
            (
                equal(times(Rational(1, 2), spread), A * r, "one client: the half-range of the reports is A r"),
                less(r, A * r, "which is larger"),
                equal(times(1 / (2 * A), spread), r, "over A it is r again"),
                prints_as(tail, "0.0120", "probability that the mean of 100 reports leaves the range"),
                at_most(
                    r**2 * A**2 / enough, v, "n >= r^2 A^2 / v clients bring an averaged weight's variance down to v"
                ),
            ),
        ),
        argument="The rule by which the cloud calculates them is given nowhere (Section 3.1.1, Algorithm 1, Section 5, all three "
        "conversions), so there is no formal statement to hold against the paper. Whoever implements it must choose one.",
    )


CLAIMS = {
    "LF-C1": corollary_1,
    "LF-C1ocrU": corollary_1_damaged_upper,
    "LF-C1ocrL": corollary_1_damaged_lower,
    "LF-RBIAS": bias_with_own_ranges,
    "LF-RANGE": client_chosen_range,
    "LF-RLINK": client_chosen_range_links,
    "LF-RANGE2": range_of_own_weights,
    "LF-POST": post_processing,
    "LF-RFEED": range_feedback,
}
