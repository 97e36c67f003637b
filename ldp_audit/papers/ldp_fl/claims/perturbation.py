"""LDP-FL, Definition 1, eq. (2) and Theorem 1: the definition of LDP, the mechanism, and its privacy."""

from sympy import Max, Min, Rational, diff

from ldp_audit.claims.as_written import put_in
from ldp_audit.claims.claim import Claim, Correction, Reading
from ldp_audit.claims.language.statement import at_most, differ, equal, less, somewhere
from ldp_audit.papers.ldp_fl.claims.symbols import (
    A,
    Variable,
    c,
    lower,
    m,
    m_prime,
    minus,
    oo,
    plus,
    r,
    t,
    upper,
    variance,
    w,
    w_any,
    w_prime,
)


def definition_1() -> Claim:
    q1, q2 = Variable("Q_1", 0, 1), Variable("Q_2", 0, 1)
    p1, p2 = Variable("P_1", 0, t * q1), Variable("P_2", 0, t * q2)

    # M(x) = x + U(0, 1/2) has density 2 on [x, x + 1/2]; the event [0, 1/2] has the overlap's share of it.
    def share(x: int) -> object:
        return 2 * Max(0, Min(Rational(1, 2), x + Rational(1, 2), evaluate=False) - max(0, x), evaluate=False)

    return Claim(
        id="DEF-POINT",
        name="definition of local privacy",
        place="Definition 1",
        says="A mechanism is epsilon-LDP if Pr[M(x) = Y] <= e^epsilon Pr[M(x') = Y] for all inputs and every output Y. (Read "
        "of discrete outputs, as all of LDP-FL's are: the bound then holds of every set of outputs, which is what LDP means.)",
        latex=r"\Pr[M(x)=Y]\le e^{\varepsilon}\,\Pr[M(x')=Y]",
        parts=(at_most(p1 + p2, t * (q1 + q2), "two outputs that keep the bound keep it together"),),
        corrected=Correction(
            "For outputs with a density ask it of every measurable set, or of the densities with respect to one common measure: "
            "every single point has probability 0, so that M(x) = x + U(0, 1/2) meets the words for every epsilon, and yet the "
            "event [0, 1/2] tells x = 0 from x = 1 surely.",
            r"\Pr[M(x)\in S]\le e^{\varepsilon}\,\Pr[M(x')\in S]\quad\text{for all measurable }S",
            (
                equal(share(0), 1, "Pr[M(0) in [0, 1/2]] = 1"),
                equal(share(1), 0, "Pr[M(1) in [0, 1/2]] = 0"),
            ),
        ),
        argument="A set of outputs is put together one by one: the induction over their number is the part.",
    )


def smaller_is_stronger() -> Claim:
    larger = Variable("t_larger", t, oo, latex="t_2")
    q = Variable("Q", 0, 1)
    p = Variable("P", 0, t * q)
    return Claim(
        id="LF-DEF2",
        name="strength of a smaller epsilon",
        place="Definition 1, the sentence after it",
        says="A smaller epsilon is a stronger guarantee.",
        latex=r"P\le e^{\varepsilon}Q\ \text{and}\ \varepsilon\le\varepsilon_2\implies P\le e^{\varepsilon_2}Q",
        parts=(at_most(p, larger * q, "whatever satisfies the bound with t satisfies it with every larger one"),),
    )


def probabilities_sum_to_one() -> Claim:
    return Claim(
        id="LF-EQ2a",
        name="sum of the two probabilities",
        place="Section 3.1.1, eq. (2)",
        says="The two probabilities of eq. (2) sum to 1.",
        latex=r"\Pr[w^*=c+rA]+\Pr[w^*=c-rA]=1",
        parts=(equal(plus + minus, 1, "they sum to 1"),),
    )


def generalises_duchi() -> Claim:
    at_unit = {c: 0, r: 1}
    x = Variable("x", -1, 1)
    duchi = m.at({**at_unit, w: x})
    return Claim(
        id="LF-EQ2b",
        name="Duchi's law as a special case",
        place="Section 3.1.1, before eq. (2)",
        says="Eq. (2) generalises the mechanism of Duchi et al.: c = 0, r = 1 gives it back.",
        latex=r"\Pr[+]=\tfrac12+\frac{w}{2}\cdot\frac{e^{\varepsilon}-1}{e^{\varepsilon}+1},\quad w^*=\pm\frac{e^{\varepsilon}+1}{e^{\varepsilon}-1}",
        parts=(
            equal(duchi.atoms[0].probability, Rational(1, 2) + x * (t - 1) / (2 * (t + 1)), "Duchi's probability"),
            equal(put_in(upper, at_unit), (t + 1) / (t - 1), "Duchi's upper report"),
            equal(put_in(lower, at_unit), -(t + 1) / (t - 1), "Duchi's lower report"),
        ),
    )


def are_probabilities() -> Claim:
    reach = Variable("w", c - r * A, c + r * A)
    within = m.at({w: reach}).atoms
    beyond = Variable("w", c + r * A, oo, open="left")
    return Claim(
        id="LF-EQ2c",
        name="range of the two probabilities",
        place="Section 3.1.1, eq. (2)",
        says="The two numbers of eq. (2) are probabilities, for w in [c - r, c + r], which the sentence before it assumes.",
        latex=r"0\le\Pr[w^*=c\pm rA]\le 1",
        parts=(
            at_most(0, plus, "the upper one is at least 0"),
            at_most(0, minus, "the lower one is at least 0"),
            at_most(plus, 1, "the upper one is at most 1"),
            at_most(minus, 1, "the lower one is at most 1"),
        ),
        corrected=Correction(
            "They are probabilities exactly for |w - c| <= r A, a wider range than the assumed one.",
            r"0\le\Pr[w^*=c\pm rA]\le 1\iff|w-c|\le rA",
            (
                at_most(0, within[0].probability, "the upper one is at least 0"),
                at_most(0, within[1].probability, "the lower one is at least 0"),
                less(1, m.at({w: beyond}).atoms[0].probability, "beyond c + r A the upper one exceeds 1"),
            ),
        ),
        assumptions=("w in [c - r, c + r], by the sentence before eq. (2), in all three conversions",),
    )


def no_clip_in_the_pseudocode() -> Claim:
    rho = Variable("rho", 0, A, open="right", latex=r"\rho")
    wide = Variable("w", c - rho * r, c + rho * r)
    first, second = m.at({w: wide}), m.at({w: wide}).twin()
    ratio = (A + rho) / (A - rho)
    high, low = m.at({w: c + rho * r}).atoms[0].probability, m.at({w: c - rho * r}).atoms[0].probability
    return Claim(
        id="LF-CLIP",
        name="clipping before perturbation",
        place="Algorithm 2, with Sections 3.1.1 and 5",
        says="The weights that Algorithm 2 perturbs lie in [c - r, c + r]: they are clipped first.",
        latex=r"u\sim\mathrm{Bernoulli}\Bigl(\frac{(w-c)(e^{\varepsilon}-1)+r(e^{\varepsilon}+1)}{2r(e^{\varepsilon}+1)}\Bigr)",
        corrected=Correction(
            "What happens without the clip: the number that a Bernoulli variable is to be drawn with can be negative, such as "
            "-1/6 at e^epsilon = 2, c = 0, r = 1, w = -4. On |w - c| <= rho r with rho < A the exact epsilon is ln((A + rho) / "
            "(A - rho)), above epsilon for rho > 1 and infinite at rho = A; an implementation `u < p` saturates there without "
            "a word.",
            r"\varepsilon_{\text{exact}}=\ln\frac{A+\rho}{A-\rho},\qquad|w-c|\le\rho r,\ \rho<A",
            (
                equal(
                    put_in(m.at({w: w_any}).atoms[0].probability, {t: 2, c: 0, r: 1, w_any: -4}),
                    Rational(-1, 6),
                    "e^epsilon = 2, c = 0, r = 1, w = -4: the 'probability' is -1/6",
                ),
                at_most(
                    first.atoms[0].probability, ratio * second.atoms[0].probability, "the ratio bounds the upper report"
                ),
                at_most(first.atoms[1].probability, ratio * second.atoms[1].probability, "and the lower report"),
                equal(high, ratio * low, "it is attained at the ends"),
                equal(
                    put_in(ratio, {t: 3, rho: Rational(3, 2)}),
                    7,
                    "e^epsilon = 3 and rho = 3/2: the ratio is 7, not 3",
                ),
            ),
        ),
        argument="The text says so: Section 3.1.1 assumes the range and lets c and r depend on how the weight is clipped, and "
        "Section 5 clips each weight. No line of Algorithms 1 and 2 does it, so that who copies the pseudocode must add it.",
    )


def wider_range_noisier() -> Claim:
    r2 = Variable("r_2", r, oo)
    return Claim(
        id="LF-RVAR",
        name="variance as the range widens",
        place="Section 3.1.1, after eq. (2)",
        says="A larger r means a wider range of reports and a larger variance.",
        latex=r"\frac{\partial}{\partial r}\mathrm{Var}[M(w)]=2rA^2>0",
        parts=(
            at_most(2 * r * A, 2 * r2 * A, "the reports lie further apart"),
            less(0, diff(variance, r), "the variance at a fixed weight grows with r"),
        ),
    )


def size_of_the_crowd() -> Claim:
    r2 = Variable("r_2", 0, oo, open="left")

    def tight_ratio(radius: Variable) -> object:
        narrow = m.at({r: radius})
        return narrow.at({w: c + radius}).atoms[0].probability / narrow.at({w: c - radius}).atoms[0].probability

    higher = Variable("w", w_prime, c + r, open="left")
    pair = m.at({w: higher}).atoms[0].probability / m_prime.atoms[0].probability
    return Claim(
        id="LF-CROWD",
        name="effect of the range on privacy",
        place="Section 4, after Theorem 1",
        says="Both epsilon and r affect the privacy level: epsilon says how well a value is hidden in a crowd whose size r "
        "determines.",
        reading=(
            "The crowd is the range, and the level that of two given weights w > w' in it: how much likelier the upper report "
            "is from w than from w' depends on both."
        ),
        parts=(
            less(diff(pair, r), 0, "the ratio falls as r grows"),
            less(0, diff(pair, t), "and grows with epsilon"),
        ),
        another=Reading(
            "The words, strictly.",
            (somewhere(differ(tight_ratio(r), tight_ratio(r2)), "some two radii give different worst-case ratios"),),
        ),
        corrected=Correction(
            "The guarantee, the worst case over the range, is e^epsilon whatever c and r are: eq. (2) is its unit version, moved "
            "and scaled. What falls with r is the ratio for two fixed weights.",
            r"\sup_{w,w'\in[c-r,c+r]}\frac{\Pr[M(w)=+]}{\Pr[M(w')=+]}=e^{\varepsilon}\ \text{for all }c,r",
            (equal(tight_ratio(r), t, "the worst-case ratio is t for every c and r"),),
        ),
        looked="Section 4 after Theorem 1 and Section 3.1.1 after eq. (2), in all three conversions: the crowd is not defined.",
    )


def theorem_1() -> Claim:
    high, low = m.at({w: c + r}), m.at({w: c - r})
    return Claim(
        id="LF-T1",
        name="privacy of one perturbed weight",
        place="Theorem 1 and eq. (3)",
        says="Eq. (2) is epsilon-LDP on [c - r, c + r]; the proof's 'the above still holds' covers the lower report too.",
        latex=r"\frac{\Pr[M(w)=w^*]}{\Pr[M(w')=w^*]}\le e^{\varepsilon}",
        parts=(
            at_most(plus, t * m_prime.atoms[0].probability, "the upper report"),
            at_most(minus, t * m_prime.atoms[1].probability, "the lower report"),
        ),
        corrected=Correction(
            "The bound is tight: both reports attain it, at the two ends of the range.",
            r"\Pr[M(c+r)=c+rA]=e^{\varepsilon}\Pr[M(c-r)=c+rA]",
            (
                equal(high.atoms[0].probability, t * low.atoms[0].probability, "attained by the upper report"),
                equal(low.atoms[1].probability, t * high.atoms[1].probability, "attained by the lower report"),
                less(0, 2 * r * A, "the two reports differ, so neither hides the other"),
            ),
        ),
        assumptions=("w and w' lie in [c - r, c + r]",),
    )


CLAIMS = {
    "DEF-POINT": definition_1,
    "LF-DEF2": smaller_is_stronger,
    "LF-EQ2a": probabilities_sum_to_one,
    "LF-EQ2b": generalises_duchi,
    "LF-EQ2c": are_probabilities,
    "LF-CLIP": no_clip_in_the_pseudocode,
    "LF-RVAR": wider_range_noisier,
    "LF-CROWD": size_of_the_crowd,
    "LF-T1": theorem_1,
}
