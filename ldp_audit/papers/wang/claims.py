"""Wang et al. (ICDE 2019): the value mechanisms that FedSel uses, and Duchi's, which they improve.

Everything is derived from the mechanisms' own definitions (`symbolic()`): moments are integrals of the pieces, mixtures
are mixtures of the atoms and pieces. With s = e**(epsilon/2), everything is rational in s and x.
"""

from functools import cache

from sympy import Expr, Rational, cancel, log, oo

from ldp_audit.claims.as_written import difference, nontrivial, times, total
from ldp_audit.claims.claim import Claim, Correction, Paper
from ldp_audit.claims.language.statement import Statement, at_most, differ, equal, less, prints_as
from ldp_audit.claims.privacy import is_private
from ldp_audit.mechanisms.values.duchi_vector import DUCHI_VECTOR, DUCHI_VECTOR_PRINTED
from ldp_audit.mechanisms.values.hybrid import HYBRID, MIXING
from ldp_audit.mechanisms.values.piecewise import INPUT, PIECEWISE, REACH
from ldp_audit.mechanisms.values.two_point import CENTER, RADIUS, TWO_POINT, WEIGHT
from ldp_audit.mechanisms.variable import ROOT_T, T, Variable
from ldp_audit.mechanisms.weights import SymbolicWeights

s, t, x = ROOT_T, T, INPUT
duchi = TWO_POINT.at({CENTER: 0, RADIUS: 1, WEIGHT: x})
"""Duchi's mechanism for one number, in t."""

BELOW_STAR, ABOVE_STAR = Rational("1.3561858"), Rational("1.3561859")
"""Bounds on s*, the root of 3 s**3 - s**2 + s - 7."""
BELOW_CROSS, ABOVE_CROSS = Rational("1.9057818"), Rational("1.9057819")
"""Bounds on the s at which the worst-case variances of PM and of Duchi's mechanism are equal."""


@cache
def duchi_variance() -> Expr:
    return cancel(duchi.variance().subs(t, s**2))


@cache
def piecewise_variance() -> Expr:
    return cancel(PIECEWISE.variance())


@cache
def duchi_worst() -> Expr:
    return cancel(duchi_variance().subs(x, 0))


@cache
def piecewise_worst() -> Expr:
    return cancel(piecewise_variance().subs(x, 1))


@cache
def mixed_variance() -> Expr:
    return cancel(HYBRID.variance())


@cache
def hybrid_variance() -> Expr:
    return cancel(mixed_variance().subs(MIXING, 1 - 1 / s))


def between(lower: object, upper: object) -> Variable:
    """s on a part of its range."""
    return Variable("s", lower, upper, open="left" if lower == 1 else "")


def duchi_one_dimensional() -> Claim:
    return Claim(
        id="WG-DUCHI",
        name="Duchi's one-attribute mechanism",
        place="Duchi's mechanism for one attribute (Algorithm 1)",
        says="The report has mean x and variance A^2 - x^2; the mechanism is epsilon-LDP.",
        latex=r"\mathbb E[y]=x,\qquad\mathrm{Var}[y]=\Bigl(\frac{e^{\varepsilon}+1}{e^{\varepsilon}-1}\Bigr)^2-x^2",
        parts=(
            equal(duchi.mean(), x, "no bias"),
            equal(duchi.variance(), ((t + 1) / (t - 1)) ** 2 - x**2, "the variance"),
            *is_private(duchi, t),
        ),
    )


def piecewise_law() -> Claim:
    return Claim(
        id="WG-PM",
        name="piecewise mechanism",
        place="the piecewise mechanism (Algorithm 2)",
        says="PM is epsilon-LDP, its report has mean x and variance x^2/(s-1) + (s+3)/(3(s-1)^2), s = e^(epsilon/2).",
        latex=r"\mathrm{Var}[y]=\frac{x^2}{s-1}+\frac{s+3}{3(s-1)^2}",
        parts=(
            equal(PIECEWISE.total(), 1, "the density integrates to 1"),
            equal(PIECEWISE.mean(), x, "no bias"),
            equal(PIECEWISE.variance(), x**2 / (s - 1) + (s + 3) / (3 * (s - 1) ** 2), "the variance"),
            *nontrivial(is_private(PIECEWISE, s**2)),
            equal(PIECEWISE.pieces[1].density, s**2 * PIECEWISE.pieces[0].density, "the ratio t is attained"),
        ),
    )


def piecewise_domain() -> Claim:
    left, right = PIECEWISE.pieces[1].lower, PIECEWISE.pieces[1].upper
    beyond = Variable("x", 1, oo, open="left")
    return Claim(
        id="WG-PMdom",
        name="inner interval of PM",
        place="the piecewise mechanism (Algorithm 2)",
        says="The inner interval [l, r] lies within [-C, C], for inputs in [-1, 1].",
        latex=r"-C\le l(x)<r(x)\le C",
        parts=(
            at_most(-REACH, left, "l is at least -C"),
            less(left, right, "l is below r"),
            at_most(right, REACH, "r is at most C"),
        ),
        corrected=Correction(
            "And for no other: beyond 1 the interval leaves [-C, C] for every epsilon.",
            r"|x|>1\implies[l,r]\not\subseteq[-C,C]",
            (less(REACH, right.subs(x, beyond), "beyond 1, r is above C"),),
        ),
        assumptions=("inputs lie in [-1, 1], the domain for which the mechanism is defined",),
    )


def piecewise_worst_case() -> Claim:
    return Claim(
        id="WG-PMworst",
        name="worst-case variance of PM",
        place="the piecewise mechanism, worst-case variance",
        says="PM's variance is at most 4 s/(3 (s-1)^2), which it has at |x| = 1.",
        latex=r"\max_x\mathrm{Var}[y]=\frac{4e^{\varepsilon/2}}{3(e^{\varepsilon/2}-1)^2}",
        parts=(
            at_most(piecewise_variance(), 4 * s / (3 * (s - 1) ** 2), "at most that"),
            equal(piecewise_variance().subs(x, 1), 4 * s / (3 * (s - 1) ** 2), "attained at x = 1"),
            equal(piecewise_variance().subs(x, -1), 4 * s / (3 * (s - 1) ** 2), "and at x = -1"),
        ),
    )


def at_the_ends() -> Claim:
    return Claim(
        id="WG-PMvsDuchi1",
        name="PM against Duchi at the ends",
        place="PM against Duchi's mechanism, at |x| = 1",
        says="At |x| = 1 PM's variance is above that of Duchi's mechanism for every epsilon, by a third at least.",
        latex=r"\frac{\mathrm{Var}_{PM}(1)}{\mathrm{Var}_{Duchi}(1)}=\frac{(s+1)^2}{3s}>\frac43",
        parts=(
            equal(piecewise_variance().subs(x, 1), duchi_variance().subs(x, 1) * (s + 1) ** 2 / (3 * s), "the ratio"),
            less(4 * duchi_variance().subs(x, 1), 3 * piecewise_variance().subs(x, 1), "above 4/3"),
        ),
        argument="PM is the better one in the worst case over x only; FedSel perturbs selected, large, values.",
        source="derived",
    )


def crossover() -> Claim:
    low, high = between(1, BELOW_CROSS), between(ABOVE_CROSS, oo)
    y = s + 1 / s
    gap = 3 * y**2 - 4 * y - 8
    return Claim(
        id="WG-CROSS",
        name="PM against Duchi, worst case",
        place="PM against Duchi's mechanism, in the worst case",
        says="In the worst case over x PM has the smaller variance exactly for epsilon above 1.29.",
        latex=r"\max_x\mathrm{Var}_{PM}<\max_x\mathrm{Var}_{Duchi}\iff\varepsilon>2\,\mathrm{arccosh}\tfrac{1+\sqrt7}{3}",
        parts=(
            less(
                duchi_worst().subs(s, low),
                piecewise_worst().subs(s, low),
                f"Duchi's is smaller up to s = {BELOW_CROSS}",
            ),
            less(
                piecewise_worst().subs(s, high),
                duchi_worst().subs(s, high),
                f"PM's is smaller from s = {ABOVE_CROSS} on",
            ),
            equal(
                duchi_worst() - piecewise_worst(),
                s**2 * gap / (3 * (s**2 - 1) ** 2),
                "between: the sign is that of 3 y^2 - 4 y - 8, which grows with y = s + 1/s",
            ),
            prints_as(2 * log(BELOW_CROSS), "1.29", "2 ln of the lower s"),
            prints_as(2 * log(ABOVE_CROSS), "1.29", "2 ln of the upper s"),
        ),
        corrected=Correction(
            "The root of the quadratic is y = 2 (1 + sqrt(7))/3, so epsilon = 2 arccosh((1 + sqrt(7))/3) = 1.289785.",
            parts=_between_logs(BELOW_CROSS, ABOVE_CROSS, "1.28978", "1.28979"),
        ),
    )


def _between_logs(below: Expr, above: Expr, low: str, high: str) -> tuple[Statement, ...]:
    return (
        less(Rational(low), 2 * log(below), f"epsilon is above {low}"),
        less(2 * log(above), Rational(high), f"and below {high}"),
    )


def hybrid_threshold() -> Claim:
    low, high = between(1, BELOW_STAR), between(ABOVE_STAR, oo)
    at_zero = (piecewise_variance().subs(x, 0), duchi_variance().subs(x, 0))
    return Claim(
        id="WG-HMstar",
        name="hybrid's threshold epsilon",
        place="the hybrid mechanism, epsilon*",
        says="Mixing in PM pays exactly for epsilon above 0.61.",
        latex=r"\varepsilon^*=2\ln s^*,\qquad 3{s^*}^3-{s^*}^2+s^*-7=0",
        parts=(
            equal(
                at_zero[1] - at_zero[0],
                s * (3 * s**3 - s**2 + s - 7) / (3 * (s**2 - 1) ** 2),
                "at x = 0, Duchi's variance less PM's has the sign of 3 s^3 - s^2 + s - 7",
            ),
            less(at_zero[1].subs(s, low), at_zero[0].subs(s, low), f"Duchi's is the smaller up to s = {BELOW_STAR}"),
            less(at_zero[0].subs(s, high), at_zero[1].subs(s, high), f"PM's is the smaller from s = {ABOVE_STAR} on"),
            prints_as(2 * log(BELOW_STAR), "0.61", "2 ln of the lower s"),
            prints_as(2 * log(ABOVE_STAR), "0.61", "2 ln of the upper s"),
        ),
        corrected=Correction(
            "epsilon* = 0.609352...", parts=_between_logs(BELOW_STAR, ABOVE_STAR, "0.609352", "0.609353")
        ),
    )


def hybrid_variance_is_level() -> Claim:
    low, high = between(1, BELOW_STAR), between(ABOVE_STAR, oo)
    return Claim(
        id="WG-HM",
        name="variance of the hybrid mechanism",
        place="the hybrid mechanism, its variance",
        says="With alpha = 1 - 1/s the hybrid's variance is the same for every x, below PM's worst case, and at most "
        "Duchi's above epsilon*.",
        latex=r"\mathrm{Var}_{HM}=\frac{s+3}{3s(s-1)}+\frac{(e^{\varepsilon}+1)^2}{s(e^{\varepsilon}-1)^2}",
        parts=(
            equal(HYBRID.mean(), x, "no bias, whatever alpha is"),
            equal(
                mixed_variance(),
                MIXING * piecewise_variance() + (1 - MIXING) * duchi_variance(),
                "the variance mixes the variances of the two parts, whose means are both x",
            ),
            equal(
                hybrid_variance(),
                (s + 3) / (3 * s * (s - 1)) + (s**2 + 1) ** 2 / (s * (s**2 - 1) ** 2),
                "the formula, without x",
            ),
            less(hybrid_variance(), piecewise_worst(), "below PM's worst case for every epsilon"),
            at_most(hybrid_variance().subs(s, high), duchi_worst().subs(s, high), "at most Duchi's above epsilon*"),
            less(duchi_worst().subs(s, low), hybrid_variance().subs(s, low), "and above it below epsilon*"),
        ),
    )


def hybrid_mixing_is_best() -> Claim:
    low, high = between(1, BELOW_STAR), between(ABOVE_STAR, oo)
    less_pm, more_pm = Variable("alpha", 0, 1 - 1 / high), Variable("alpha", 1 - 1 / high, 1)

    def variance(at: int, alpha: Variable, where: Variable) -> object:
        return mixed_variance().subs({x: at, MIXING: alpha, s: where}, simultaneous=True)

    best = hybrid_variance().subs(s, high)
    return Claim(
        id="WG-HMopt",
        name="hybrid's best mixing weight",
        place="the hybrid mechanism, the choice of alpha",
        says="alpha = 1 - 1/s above epsilon*, and 0 below, gives the smallest worst-case variance.",
        latex=r"\alpha^*=1-e^{-\varepsilon/2}\ \text{for}\ \varepsilon>\varepsilon^*,\qquad\alpha^*=0\ \text{else}",
        parts=(
            at_most(best, variance(0, less_pm, high), "less PM: already at x = 0 not better"),
            at_most(best, variance(1, more_pm, high), "more PM: already at x = 1 not better"),
            at_most(duchi_worst().subs(s, low), variance(0, MIXING, low), "below epsilon*: any PM is worse at x = 0"),
        ),
        argument="The variance is linear in x^2 for each alpha, so its largest value is at x = 0 or |x| = 1.",
    )


def hybrid_is_private() -> Claim:
    return Claim(
        id="WG-HMldp",
        name="privacy of the hybrid mechanism",
        place="the hybrid mechanism, privacy",
        says="The hybrid is epsilon-LDP, whatever alpha is.",
        latex=r"p(y\mid x)\le e^{\varepsilon}p(y\mid x')",
        parts=nontrivial(is_private(HYBRID, s**2)),
    )


def _unevaluated(law: SymbolicWeights, ratio: Expr) -> tuple[Statement, ...]:
    """is_private, with the product of the ratio and a class's probability unevaluated if the sides agree."""
    rewritten = []
    for part in is_private(law, ratio):
        other = next((one for one in law.classes if part.right == ratio * one.probability), None)
        rewritten.append(
            at_most(part.left, times(ratio, other.probability), part.label, sides=part.sides) if other else part
        )
    return nontrivial(rewritten)


def duchi_vector_as_printed() -> Claim:
    return Claim(
        id="WG-DUCHId",
        name="Duchi's closed half-spaces",
        place="Duchi's mechanism for d attributes (Algorithm 3), as it is often copied: with closed half-spaces",
        says="With the closed half-spaces y.v >= 0 and y.v <= 0 the mechanism is epsilon-LDP for every d.",
        latex=r"\Pr[y\mid v]\le e^{\varepsilon}\Pr[y\mid v']",
        parts=_unevaluated(DUCHI_VECTOR_PRINTED, t),
        corrected=Correction(
            "For even d there are corners at right angles to v, which lie in both half-spaces: the exact ratio is e^epsilon "
            "+ 1. Counted with the rarer side alone they cost nothing.",
            r"e^{\varepsilon_{\text{exact}}}=e^{\varepsilon}+1",
            (
                *_unevaluated(DUCHI_VECTOR_PRINTED, t + 1),
                equal(
                    DUCHI_VECTOR_PRINTED.classes[1].probability,
                    times(t + 1, DUCHI_VECTOR_PRINTED.classes[2].probability),
                    "and t + 1 is attained",
                ),
            ),
        ),
        assumptions=("d even; N corners with y.v > 0 and N_0 with y.v = 0",),
        argument="A corner at right angles to one v is on the rarer side of another: turn half its places. The paper's text was not at "
        "hand, so this is held against the form, not against the paper.",
        source="derived",
    )


def duchi_vector() -> Claim:
    return Claim(
        id="WG-DUCHIdfix",
        name="Duchi's ties on the rarer side",
        place="Duchi's mechanism for d attributes, ties on the rarer side",
        says="With weight e^epsilon on y.v > 0 and 1 elsewhere the mechanism is epsilon-LDP, and tight.",
        latex=r"\Pr[y\mid v]=\frac{e^{\varepsilon}\text{ or }1}{(e^{\varepsilon}-1)N_++2^d}",
        parts=(
            *_unevaluated(DUCHI_VECTOR, t),
            equal(
                DUCHI_VECTOR.classes[0].probability,
                times(t, DUCHI_VECTOR.classes[1].probability),
                "the ratio t is attained",
            ),
        ),
        assumptions=("N corners of M lie on v's side",),
        source="derived",
    )


def coordinate_sampling() -> Claim:
    u = Variable("u", 1, oo, open="left", latex=r"e^{\varepsilon/k}")
    parts: list[Statement] = []
    for k in range(1, 4):
        q = [Variable(f"Q_{i}", 0, 1) for i in range(1, k + 1)]
        p = [Variable(f"P_{i}", 0, u * q_i) for i, q_i in enumerate(q, start=1)]
        left, right = 1, u**k
        for p_i, q_i in zip(p, q, strict=True):
            left, right = left * p_i, right * q_i
        parts.append(at_most(left, right, f"k = {k}: a product of ratios, each at most e^(epsilon/k)"))
    d, k = Variable("d", 1, oo, integer=True), Variable("k", 1, oo, integer=True)
    second = Variable("E_2", 0, oo, latex=r"\mathbb E[\zeta^2]")
    return Claim(
        id="WG-MULTI",
        name="sampling of k attributes",
        place="several attributes by sampling (Algorithm 4)",
        says="k of d coordinates at epsilon/k each, times d/k, others 0: epsilon-LDP and unbiased.",
        latex=r"y_j=\tfrac dk\,\zeta_j\ \text{for the sampled }j",
        parts=(
            *parts,
            equal(total(times(k / d, d / k, x), times(1 - k / d, 0)), x, "no bias"),
            equal(
                difference(times(k / d, (d / k) ** 2, second), x**2),
                d / k * second - x**2,
                "the variance of a coordinate",
            ),
        ),
        sizes="k = 1 .. 3 for the privacy; bias and variance for all",
        argument="Which coordinates are sampled does not depend on the input.",
    )


def vanishing_difference() -> Claim:
    return Claim(
        id="WG-HMpm",
        name="hybrid against PM, worst case",
        place="the hybrid mechanism against PM",
        says="The hybrid's worst case is below PM's by 4 (s^2 - s + 1)/(3 (s^2 - 1)^2).",
        latex=r"\mathrm{Var}_{PM}-\mathrm{Var}_{HM}=\frac{4(s^2-s+1)}{3(s^2-1)^2}",
        parts=(
            equal(piecewise_worst() - hybrid_variance(), 4 * (s**2 - s + 1) / (3 * (s**2 - 1) ** 2), "the difference"),
            differ(piecewise_worst(), hybrid_variance(), "never 0"),
        ),
        source="derived",
    )


PAPER = Paper(
    key="wang",
    title="Collecting and Analyzing Multidimensional Data with Local Differential Privacy",
    authors="Ning Wang, Xiaokui Xiao, Yin Yang, Jun Zhao, Siu Cheung Hui, Hyejin Shin, Junbum Shin, Ge Yu",
    venue="ICDE 2019",
    claims={
        "WG-DUCHI": duchi_one_dimensional,
        "WG-PM": piecewise_law,
        "WG-PMdom": piecewise_domain,
        "WG-PMworst": piecewise_worst_case,
        "WG-PMvsDuchi1": at_the_ends,
        "WG-CROSS": crossover,
        "WG-HMldp": hybrid_is_private,
        "WG-HMstar": hybrid_threshold,
        "WG-HM": hybrid_variance_is_level,
        "WG-HMopt": hybrid_mixing_is_best,
        "WG-HMpm": vanishing_difference,
        "WG-DUCHId": duchi_vector_as_printed,
        "WG-DUCHIdfix": duchi_vector,
        "WG-MULTI": coordinate_sampling,
    },
)
