"""Claims of the toolkit itself: privacy profiles, decisions by finitely many bits, and inequalities on which its
certified bounds rest.

The profile of a pair at a ratio E = e**epsilon is the mass of (P - E Q)_+; the claims bound it for every pair of inputs
and show that the bound is attained. Their letters: E for the ratio, t = e**(the mechanism's epsilon).
"""

from itertools import permutations

from sympy import Add, Max, Rational, exp, log, oo

from ldp_audit.claims.as_written import times, total
from ldp_audit.claims.claim import Claim, Paper
from ldp_audit.claims.language.statement import Statement, at_most, equal, less, prints_as
from ldp_audit.mechanisms.selection.exponential_selection import EXPONENTIAL_SELECTION, STEP_RATIO
from ldp_audit.mechanisms.selection.perturbed_encoding import PERTURBED_ENCODING
from ldp_audit.mechanisms.selection.perturbed_sampling import PERTURBED_SAMPLING
from ldp_audit.mechanisms.selection.ranking import DIMENSION, TOP
from ldp_audit.mechanisms.values.piecewise import INPUT, PIECEWISE
from ldp_audit.mechanisms.values.two_point import CENTER, RADIUS, TWO_POINT, WEIGHT
from ldp_audit.mechanisms.variable import ROOT_T, T, Variable

t, s, x = T, ROOT_T, INPUT
E = Variable("E", 1, t)
"""e**epsilon of the profile's argument, up to the mechanism's own; beyond it the profile is 0."""


def two_point() -> Claim:
    unit = TWO_POINT.at({CENTER: 0, RADIUS: 1, WEIGHT: x})
    other = unit.twin()
    largest = (t - E) / (t + 1)
    plus, minus = (one.probability - E * two.probability for one, two in zip(unit.atoms, other.atoms, strict=True))
    at_ends = plus.subs({x: 1, other.inputs[0]: -1})
    return Claim(
        id="PR-DUCHI",
        name="profile of Duchi's mechanism",
        place="profile of the two-point mechanism",
        says="delta = (t - E)/(t + 1), for every pair of inputs at most that, and exactly that between the ends.",
        latex=r"\delta(\epsilon)=\frac{(t-e^{\epsilon})_+}{t+1}",
        parts=(
            at_most(plus, largest, "the upper report gains at most that"),
            at_most(minus, largest, "the lower report likewise"),
            at_most(plus + minus, largest, "both together"),
            equal(at_ends, largest, "attained between the ends, where the other report gains nothing:"),
            at_most(minus.subs({x: 1, other.inputs[0]: -1}), 0, "it does not"),
        ),
        source="derived",
    )


def randomized_response() -> Claim:
    k = Variable("k", 2, oo, integer=True)
    truth, lie = t / (t + k - 1), 1 / (t + k - 1)
    return Claim(
        id="PR-RR",
        name="profile of randomised response",
        place="profile of randomised response on k values",
        says="delta = (t - E)/(t + k - 1) between any two values.",
        latex=r"\delta(\epsilon)=\frac{(t-e^{\epsilon})_+}{t+k-1}",
        parts=(
            equal(truth - E * lie, (t - E) / (t + k - 1), "the first value gains exactly that"),
            at_most(lie - E * truth, 0, "the second value gains nothing"),
            at_most(lie - E * lie, 0, "nor do the others"),
        ),
        source="derived",
    )


def piecewise() -> Claim:
    low, high = PIECEWISE.pieces[0].density, PIECEWISE.pieces[1].density
    level = Variable("E", 1, s**2)
    inner = PIECEWISE.pieces[1].upper - PIECEWISE.pieces[1].lower
    apart = PIECEWISE.pieces[1].lower.subs(x, 1) - PIECEWISE.pieces[1].upper.subs(x, 1 - 2 / s)
    return Claim(
        id="PR-PM",
        name="piecewise mechanism's profile",
        place="profile of the piecewise mechanism",
        says="delta = (t - E)/(t + s): the inner interval, where the other input's does not reach, at most all of it; attained "
        "once the inputs are 2/s apart.",
        latex=r"\delta(\epsilon)=\frac{(t-e^{\epsilon})_+}{t+\sqrt t}",
        parts=(
            equal((high - level * low) * inner, (s**2 - level) / (s**2 + s), "the whole inner interval gains that"),
            at_most(low - level * low, 0, "where both densities are low nothing is gained"),
            at_most(low - level * high, 0, "nor under the other's inner interval"),
            equal(apart, 0, "inner intervals of inputs 2/s apart just touch"),
        ),
        source="derived",
    )


def selections() -> Claim:
    m = Variable("m", 1, oo, integer=True)
    inside, outside = (one.probability for one in PERTURBED_SAMPLING.classes)
    d, k = DIMENSION.variable, TOP
    parts = [
        equal(m * (inside - E * outside), m * (t - E) / (d - k + t * k), "PS: m indices change sides, each gains that"),
        at_most(outside - E * inside, 0, "PS: the others gain nothing"),
    ]
    for sizes in ((2, 1), (3, 1), (4, 2)):
        encoding = PERTURBED_ENCODING.at(dict(zip((d, k), sizes, strict=True)))
        in_, out, none = (one.probability for one in encoding.classes)
        parts += [
            at_most(out - E * in_, 0, f"PE, d = {sizes[0]}, k = {sizes[1]}: an index outside gains nothing"),
            at_most(none - E * none, 0, "nor does no index"),
            less(0, in_ - t * out, "an index of the set gains even at the level of one bit"),
        ]
    return Claim(
        id="PR-SEL",
        name="profiles of top-k selections",
        place="profiles of FedSel's PS and PE",
        says="delta = m (P_in - E P_out), m = min(k, d - k) the most indices that two sets can differ by on one side.",
        latex=r"\delta(\epsilon)=\min(k,d-k)\,(P_{in}-e^{\epsilon}P_{out})_+",
        parts=tuple(parts),
        sizes="PE at (d, k) = (2, 1), (3, 1), (4, 2); PS at all",
        source="derived",
    )


def exponential_selection() -> Claim:
    parts: list[Statement] = []
    for d, base in ((2, 2), (3, 2), (4, 2), (3, 3)):
        law = EXPONENTIAL_SELECTION.at({DIMENSION.variable: d})
        p = [one.probability.subs(STEP_RATIO, base) for one in law.classes]

        def gain(order: tuple[int, ...], level: int, p: list = p) -> object:
            terms = [
                Max(0, Add(a, -level * p[j], evaluate=False), evaluate=False) for a, j in zip(p, order, strict=True)
            ]
            return Add(*terms, evaluate=False)

        reverse = tuple(range(d - 1, -1, -1))
        for level in (1, 2):
            parts += [
                at_most(gain(order, level), gain(reverse, level), f"d = {d}, y = {base}, E = {level}: ranks {order}")
                for order in permutations(range(d))
                if order != reverse
            ]
    return Claim(
        id="PR-EXP",
        name="profile of exponential selection",
        place="profile of FedSel's EXP",
        says="The reversed ranking is the worst neighbour of a ranking at every level.",
        latex=r"\delta(\epsilon)=\sum_i\bigl(P(i)-e^{\epsilon}P(d+1-i)\bigr)_+",
        parts=tuple(parts),
        sizes="d = 2, 3, 4; y = 2, and 3 at d = 3; E = 1, 2; all rankings",
        argument="In general by rearrangement: p F(q/p) is submodular, so large ranks gain most where they meet small ones.",
        source="derived",
    )


def laplace() -> Claim:
    # Inputs 0 and D, b = 1: between them the log ratio of the densities is (D - y) - y.
    apart = Variable("D", 0, oo, open="left")
    level = Variable("epsilon", 0, apart, latex=r"\epsilon")
    cut = (apart - level) / 2
    near, far = Variable("y", 0, cut), Variable("y", cut, apart)
    return Claim(
        id="PR-LAP",
        name="profile of Laplace noise",
        place="profile of the Laplace mechanism",
        says="delta = 1 - e^((epsilon - D/b)/2) for inputs D apart.",
        latex=r"\delta(\epsilon)=\bigl(1-e^{(\epsilon-D/b)/2}\bigr)_+",
        parts=(
            at_most(
                level, (apart - near) - near, "up to (D - epsilon)/2 the ratio of the densities is e^epsilon or more"
            ),
            at_most((apart - far) - far, level, "beyond it, no more: the event is the best one"),
            equal(
                total(level, cut, times(-1, apart)),
                -cut,
                "e^epsilon Q of the event, e^(epsilon + y* - D)/2 with y* its end, is e^(-y*)/2",
            ),
        ),
        argument="Of the event y < y* = (D - epsilon)/2 P has 1 - u/2 and e^epsilon Q has u/2, u = e^(-y*), with b = 1; the difference is "
        "1 - u. Below 0 the ratio is e^D, beyond D it is e^-D. Inputs less than D apart have a smaller D.",
        source="derived",
    )


def gaussian() -> Claim:
    return Claim(
        id="PR-GAUSS",
        name="profile of Gaussian noise",
        place="profile of the Gaussian mechanism",
        says="delta = Phi(m/2 - epsilon/m) - e^epsilon Phi(-m/2 - epsilon/m), with m the distance in standard deviations.",
        latex=r"\delta(\epsilon)=\Phi\bigl(\tfrac m2-\tfrac\epsilon m\bigr)-e^{\epsilon}\Phi\bigl(-\tfrac m2-\tfrac\epsilon m\bigr)",
        rests_on=("Balle, Wang (2018), Theorem 8",),
        argument="The ratio of the densities is e^epsilon at y = m/2 + epsilon/m standard deviations; the event is everything on "
        "one side of it. The engines do not know Phi, so this is not mechanised.",
        source="derived",
    )


def vanishing_probability() -> Claim:
    bits = ((8, "6.2364"), (11, "8.3175"), (24, "17.3287"), (53, "37.4299"))
    words = Variable("W", 2, oo)
    high, low = Variable("t", 2 * words - 1, oo), Variable("t", 1, 2 * words - 1, open="both")
    half = Rational(1, 2)
    return Claim(
        id="FP-LOW",
        name="vanishing of the rarer report",
        place="decisions u < p with b-bit uniforms u, p correctly rounded",
        says="From epsilon = ln(2^(b+1) - 1) on, the rarer report of the two-point mechanism at an end never comes: epsilon is "
        "infinite.",
        latex=r"\frac1{t+1}\le2^{-(b+1)}\iff\varepsilon\ge\ln(2^{b+1}-1)",
        parts=(
            at_most(
                words / (high + 1), half, "from t = 2 W - 1 on, W = 2^b words, the probability is at most half a word"
            ),
            less(half, words / (low + 1), "and more than that below"),
            *(prints_as(log(2 ** (b + 1) - 1), text, f"b = {b}") for b, text in bits),
        ),
        argument="Half a word rounds to even, to 0; anything below does as well.",
        source="derived",
    )


def safe_threshold() -> Claim:
    words = Variable("W", 2, oo)
    n = Variable("n", words / (t + 1), words / 2)
    position = Variable("a", n, words - n)
    second = Variable("b", n, words - n)
    return Claim(
        id="FP-SAFE",
        name="privacy of integer thresholds",
        place="decisions by a whole threshold, the shipped samplers",
        says="With n words for the rarer report, n at least W/(t+1), every pair of thresholds in [n, W - n] keeps the ratio at or "
        "below t.",
        latex=r"n\ge\frac{W}{t+1}\implies\frac{W-n}{n}\le t",
        parts=(
            at_most((words - n) / n, t, "between the ends"),
            at_most(position, t * second, "between any two thresholds, the upper report"),
            at_most(words - position, t * (words - second), "and the lower one"),
        ),
        source="derived",
    )


def finite_violations() -> Claim:
    j = Variable("j", 1, oo, integer=True)
    return Claim(
        id="FP-OVER",
        name="excess ratio after rounding",
        place="decisions u < p with b-bit uniforms u, p correctly rounded",
        says="Where 1/(t+1) lies just under j + 1/2 words, the rarer report has only j: its ratio is too large by (2j+1)/(2j).",
        latex=r"\varepsilon_{\text{implemented}}-\varepsilon\to\ln\frac{2j+1}{2j}",
        parts=(
            equal((j + Rational(1, 2)) / j, (2 * j + 1) / (2 * j), "the factor"),
            less(Rational("0.4054"), log(Rational(3, 2)), "j = 1: at least 0.4054 nats"),
            less(log(Rational(3, 2)), Rational("0.4055"), "and below 0.4055"),
            less(
                exp(Rational("16.23006")) + 1,
                Rational(2, 3) * 2**24,
                "b = 24: at epsilon = 16.23006 1.5 words and more round to 2",
            ),
            less(Rational(2, 3) * 2**24, exp(Rational("16.23007")) + 1, "and at 16.23007 to 1"),
        ),
        source="derived",
    )


def moves_of_a_grid() -> Claim:
    x = Variable("x", 1, oo, latex=r"e^{h/2}")
    low = Variable("a", 1 / x**2, 1)
    high = low * x**2
    between = Variable("v", low, high)
    most = (x - 1 / x) ** 2 / 4
    return Claim(
        id="BD-MOVE",
        name="variance of rounding to a grid",
        place="losses that are moved on a grid (discretisation.py, grid_loss.py)",
        says="A factor v = e^-step of mean 1, where the step lies in an interval of length h, has the variance sinh(h/2)^2 at most.",
        latex=r"\mathbb E[v]=1,\ v\in[a,ae^h]\implies\mathrm{Var}[v]\le(ae^h-1)(1-a)\le\sinh^2(h/2)",
        parts=(
            at_most(
                between**2,
                (low + high) * between - low * high,
                "(v - a)(b - v) >= 0: so E[v^2] <= a + b - a b, a variance of (b - 1)(1 - a)",
            ),
            at_most((high - 1) * (1 - low), most, "which is sinh(h/2)^2 at most, e^(h/2) = x"),
            equal(((high - 1) * (1 - low)).subs(low, (1 + 1 / x**2) / 2), most, "and that at a = (1 + e^-h)/2"),
        ),
        rests_on=("Bhatia, Davis (2000), for the first part, which is proved here",),
        source="derived",
    )


def second_difference() -> Claim:
    u = Variable("reach", 1, oo, open="left", latex="e^w")
    a, b, top = u / (1 + u), 1 / (1 + u), (u - 1) / (u + 1)
    below, left, right = Variable("y", 0, 1 / u), Variable("y", 1 / u, 1), Variable("y", 1, u)
    return Claim(
        id="BD-CHORD",
        name="second difference on a grid",
        place="the lower end of a sum on a grid (grid_loss.py)",
        says="a (1 - y/u)_+ + b (1 - y u)_+ - (1 - y)_+, u = e^w, is linear between 1/u, 1 and u, tanh(w/2) at 1, and 0 outside.",
        latex=r"a=\frac{e^w}{1+e^w},\ b=1-a",
        parts=(
            equal(a * (1 - below / u) + b * (1 - below * u) - (1 - below), 0, "0 up to 1/u"),
            equal(a * (1 - left / u) - (1 - left), top * (left - 1 / u) / (1 - 1 / u), "from there to 1"),
            equal(a * (1 - right / u), top * (u - right) / (u - 1), "and from 1 to u; behind u all three terms are 0"),
        ),
        source="derived",
    )


def chernoff_factor() -> Claim:
    v = Variable("v", 0, 1, open="both", latex="e^{-x}")
    order = Variable("theta", 0, oo, open="left", latex=r"\theta")
    return Claim(
        id="BD-CHERN",
        name="Chernoff bound on delta",
        place="delta from a moment (inversion.py, moment_bound.py, the tilted sums of grid_loss.py)",
        says="(1 - e^-x) e^(-theta x) is at most theta^theta/(1 + theta)^(1 + theta), so at most 1/(1 + theta).",
        latex=r"(1-e^{-x})_+\le\frac{\theta^\theta}{(1+\theta)^{1+\theta}}e^{\theta x}",
        parts=(
            at_most(
                log((1 - v) * (1 + order)) + order * log(v * (1 + order) / order), 0, "in logarithms, with v = e^-x"
            ),
            at_most(order * log(order / (1 + order)), 0, "what is left of 1/(1 + theta)"),
        ),
        rests_on=("Canonne, Kamath, Steinke (2020), Proposition 12, which is proved here",),
        source="derived",
    )


def strip_of_a_sampled_gaussian() -> Claim:
    r, c = Variable("r", 0, 1), Variable("c", -1, 1, latex=r"\cos\mu v")
    return Claim(
        id="BD-STRIP",
        name="modulus of a sampled Gaussian",
        place="Gaussian noise on a sample, off the real line (sampled_gaussian.py)",
        says="|1 - r + r e^(i a)|^2 = 1 - 2 r (1 - r)(1 - cos a), and at least (1 - 2 r)^2.",
        latex=r"|w(x+iv)|^2=w^2\bigl(1-2r(1-r)(1-\cos\mu v)\bigr)",
        parts=(
            equal((1 - r + r * c) ** 2 + r**2 * (1 - c**2), 1 - 2 * r * (1 - r) * (1 - c), "with sin^2 = 1 - cos^2"),
            at_most((1 - 2 * r) ** 2, 1 - 2 * r * (1 - r) * (1 - c), "least where the cosine is -1"),
        ),
        source="derived",
    )


def bets() -> Claim:
    p0 = Variable("p_0", 0, 1, open="left")
    mu = Variable("mu", 0, 1 / p0, open="right", latex=r"\mu")
    anywhere, far = Variable("s", -oo, oo), Variable("s", 1 - p0, oo)
    return Claim(
        id="BD-BET",
        name="expected value of a bet",
        place="bets on pairs of outputs (betting.py)",
        says="A bet's mean is at most 1 under the claim: (1 + mu s)(1 - mu s), or with p = 1 and s >= 1 - p0 what is left of it.",
        latex=r"\mathbb E\bigl[(1+\mu(B-p_0))(1-t\mu(B'-q_0))\bigr]\le1",
        parts=(
            at_most((1 + mu * anywhere) * (1 - mu * anywhere), 1, "where t q + delta <= 1"),
            at_most((1 + mu * (1 - p0)) * (1 - mu * far), 1 - mu**2 * (1 - p0) ** 2, "elsewhere"),
        ),
        source="derived",
    )


PAPER = Paper(
    key="own",
    title="What the toolkit says itself: privacy profiles, decisions by finitely many bits, and what its bounds rest on",
    claims={
        "PR-DUCHI": two_point,
        "PR-RR": randomized_response,
        "PR-PM": piecewise,
        "PR-SEL": selections,
        "PR-EXP": exponential_selection,
        "PR-LAP": laplace,
        "PR-GAUSS": gaussian,
        "FP-LOW": vanishing_probability,
        "FP-SAFE": safe_threshold,
        "FP-OVER": finite_violations,
        "BD-MOVE": moves_of_a_grid,
        "BD-CHORD": second_difference,
        "BD-CHERN": chernoff_factor,
        "BD-STRIP": strip_of_a_sampled_gaussian,
        "BD-BET": bets,
    },
)
