"""LDP-FL, adaptive ranges: Corollary 1, and who chooses c and r from what."""

from sympy import Max, Min, Rational, binomial

from ldp_audit.claims.claim import Claim, Condition, Correction
from ldp_audit.claims.papers.ldp_fl.symbols import (
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
    w_any,
)
from ldp_audit.claims.statement import at_most, differ, equal, less, prints_as, somewhere
from ldp_audit.mechanisms.channel import SymbolicChannel

# One range for each client: S is the sum of the r_u**2, Q that of the (w_u - c_u)**2.
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
                equal(mean_variance.subs({squares: 0}), high, "every w_u = c_u"),
                equal(mean_variance.subs({squares: radii}), low, "every |w_u - c_u| = r_u"),
            ),
        ),
        assumptions=("every w_u lies in its own [c_u - r_u, c_u + r_u]",),
        rests_on=("independent noise: the variance of a sum is the sum of the variances (Bienayme)",),
    )


def corollary_1_damaged_upper() -> Claim:
    return Claim(
        id="LF-C1ocrU",
        place="Corollary 1 as the first scan prints it (the other two conversions differ): the upper bound",
        says="The variance of the mean is at most (A^2 - 1) sum r_u^2/n^2.",
        latex=r"\mathrm{Var}[\overline{M(w)}]\le\frac{A^2\sum_u r_u^2}{n^2}-\frac{\sum_u r_u^2}{n^2}",
        parts=(at_most(m.variance(), (A**2 - 1) * r**2, "one client"),),
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
    clipped = Max(c - r, Min(c + r, w_any))
    return Claim(
        id="LF-RBIAS",
        place="Section 4, adaptive range setting",
        says="With own c and r for each client the bias of the estimated mean is still 0.",
        latex=r"\mathbb E[\overline{M(w)}]=\bar w",
        parts=(equal(m.at({w: clipped}).mean(), w_any, "a client's term, for any weight (clipped to its own range)"),),
        condition=Condition(
            "Each w_u lies in its own range [c_u - r_u, c_u + r_u].",
            (equal(m.mean(), w, "a client's term, for a weight in its own range"),),
        ),
    )


def client_chosen_range() -> Claim:
    chosen = SymbolicChannel("eq. (2) with the client's own c and r", inputs=(c, r, w), atoms=list(m.atoms))
    other = chosen.twin()
    return Claim(
        id="LF-RANGE",
        place="Section 4, adaptive range setting",
        says="Clients may choose their own c and r, for each weight and round; LDP still holds, as noise is added to each weight.",
        parts=(
            at_most(
                chosen.atoms[0].probability,
                t * other.probability_of(chosen.atoms[0].output),
                "the upper report of one client is at most t times as likely from another one's range",
            ),
        ),
        corrected=Correction(
            "The two reports c - r A and c + r A show c and r: between clients of different ranges epsilon is infinite and "
            "delta is 1. True if (c, r) is public, or chosen without looking at the data.",
            r"r=1:\ \{-2,2\},\quad r=2:\ \{-4,4\}\quad(t=3,c=0)\ \Rightarrow\ \varepsilon=\infty",
            (
                equal(upper.subs({c: 0, r: 1, t: 3}), 2, "t = 3, c = 0, r = 1: the upper report is 2"),
                equal(upper.subs({c: 0, r: 2, t: 3}), 4, "t = 3, c = 0, r = 2: it is 4; the supports are disjoint"),
                at_most(plus, t * m_prime.atoms[0].probability, "with public c and r: epsilon-LDP"),
                at_most(minus, t * m_prime.atoms[1].probability, "likewise for the lower report"),
            ),
        ),
    )


def client_chosen_range_links() -> Claim:
    r_2 = Variable("r_2", r, oo, open="left")
    return Claim(
        id="LF-RLINK",
        place="Section 4, adaptive range setting together with parameter shuffling",
        says="Reports cannot be linked to their client where clients choose their own r.",
        parts=(somewhere(equal(r * A, r_2 * A), "two clients of different radii can send reports equally far from c"),),
        corrected=Correction(
            "|report - c| = r_u A names the client: n distinct radii give n distinct distances, so every report is attributed.",
            r"|M_u(w)-c|=r_uA,\quad r_u\neq r_v\Rightarrow r_uA\neq r_vA",
            (
                equal((upper - c) ** 2, (r * A) ** 2, "the upper report's distance from c is r A"),
                equal((lower - c) ** 2, (r * A) ** 2, "and the lower one's"),
                differ(r * A, r_2 * A, "different radii, different distances"),
            ),
        ),
    )


def range_of_own_weights() -> Claim:
    return Claim(
        id="LF-RANGE2",
        place="Section 5: c and r are set adaptively by the weight range of each layer",
        says="Setting c and r by the range of a layer's weights keeps the guarantee.",
        parts=(
            somewhere(
                differ((upper + lower) / 2 - (upper - lower) / (2 * A), c - r),
                "read with the client's own layer: two reports leave the layer's least weight c - r unknown",
            ),
        ),
        condition=Condition(
            "The range is that of the averaged layer W_l, which the server derives from the reports and publishes.",
            (
                at_most(
                    plus, t * m_prime.atoms[0].probability, "with public c and r eq. (2) is epsilon-LDP: upper report"
                ),
                at_most(minus, t * m_prime.atoms[1].probability, "lower report"),
            ),
        ),
        argument="With a range of the client's own weights, one upper and one lower report of a layer give its exact minimum "
        "and maximum. With a range of W_l nothing is added: post-processing.",
    )


def post_processing() -> Claim:
    q1, q2 = Variable("Q_1", 0, 1), Variable("Q_2", 0, 1)
    p1, p2 = Variable("P_1", 0, t * q1), Variable("P_2", 0, t * q2)
    share = Variable("s", 0, 1)
    return Claim(
        id="LF-POST",
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
    spread = upper - lower
    # n = 100, epsilon = 1/2, all weights at c: the mean leaves [c - r, c + r] if |2 K - n| > n / A = 100 tanh(1/4).
    tail = 2 * sum(binomial(100, k) for k in range(63, 101)) / Rational(2) ** 100
    return Claim(
        id="LF-RFEED",
        place="Section 3.1.1, adaptive range, third step, with Algorithm 1, line 14",
        says="Ranges calculated from the weights that the server received adapt to the true range (the rule is not given; "
        "read as the half-range of the averaged layer).",
        latex=r"R_{l+1}=\tfrac12(\max W_l-\min W_l)\overset{?}{=}R_l",
        parts=(equal(spread / 2, r, "one client per round: the half-range of its reports is its range"),),
        condition=Condition(
            "The rule divides by A what the noise multiplied: with one client R_{l+1} = half-range / A.",
            (equal(spread / (2 * A), r, "one client per round: the half-range over A is its range"),),
        ),
        corrected=Correction(
            "By half-ranges, R grows by the factor A > 1 each round with one client; with 100 clients and epsilon = 1/2 one "
            "averaged weight leaves [c - r, c + r] with probability 0.0120, so a layer of 1000 weights widens nearly surely.",
            r"R_{l+1}=A\,R_l",
            (
                equal(spread / 2, A * r, "the half-range of the reports is A r"),
                less(r, A * r, "which is larger"),
                prints_as(tail, "0.0120", "probability that the mean of 100 reports leaves the range"),
            ),
        ),
    )


CLAIMS = (
    corollary_1(),
    corollary_1_damaged_upper(),
    corollary_1_damaged_lower(),
    bias_with_own_ranges(),
    client_chosen_range(),
    client_chosen_range_links(),
    range_of_own_weights(),
    post_processing(),
    range_feedback(),
)
