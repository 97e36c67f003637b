"""FedSel, Section 3.3: accumulating g or alpha g, and Theorem 3.2.

Accumulating g, a client's report is alpha s*; accumulating alpha g, it is (alpha s)*. Both are compared as in the
paper, by their variances (times m**2). V(x) is the variance of a value mechanism's report at x.
"""

from typing import Any

from sympy import Expr, Rational

from ldp_audit.claims.as_written import difference, nontrivial, put_in, times, total
from ldp_audit.claims.claim import Claim, Correction
from ldp_audit.claims.language.statement import Quantities, Statement, at_most, equal, less
from ldp_audit.claims.privacy import is_private
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.variable import substituted
from ldp_audit.papers.fedsel.claims.symbols import PIECEWISE, A, Variable, alpha, duchi, oo, s, t, x

base = Variable("V_0", 0, oo, open="left", latex="V(0)")
kappa = Variable("kappa", -base, oo, latex=r"\kappa")
"""V(x) = V(0) + kappa x**2 is nonnegative on [-1, 1]."""
piecewise_base = (s + 3) / (3 * (s - 1) ** 2)
duchi_variance = A**2 - x**2
piecewise_variance = piecewise_base + x**2 / (s - 1)


def from_the_laws() -> tuple[Statement, ...]:
    return (
        equal(duchi.variance(), duchi_variance, "Duchi's variance, from the law: kappa = -1, V(0) = A^2"),
        equal(
            PIECEWISE.variance(),
            piecewise_variance,
            "PM's, from the density: kappa = 1/(s-1), V(0) = (s+3)/(3 (s-1)^2)",
        ),
    )


def quadratic(at: Expr | int) -> Expr:
    return base + kappa * at**2


def _sixteen(far: Expr, value: Variable) -> SymbolicChannel:
    """Reports +-16 with probability `far`, else +-4 such that the mean is the value."""
    return SymbolicChannel(
        "a mechanism with reports +-4 and +-16",
        value,
        [
            (4, (1 - far) / 2 + value / 8),
            (-4, (1 - far) / 2 - value / 8),
            (16, far / 2),
            (-16, far / 2),
        ],
    )


near = _sixteen(Rational(1, 16), Variable("x", Rational(-1, 2), Rational(1, 2)))
"""For |x| <= 1/2."""
beyond = _sixteen(Rational(1, 2), x)
"""For |x| > 1/2; defined on all of [-1, 1], where its privacy is shown."""


def _at(law: SymbolicChannel, value: Any) -> Expr:
    return law.at({law.inputs[0]: value}).variance()


def _written_mean(law: SymbolicChannel) -> Expr:
    """The mean by its definition, as an unevaluated sum."""
    return total(*(times(atom.output, atom.probability) for atom in law.atoms))


def _written_variance(law: SymbolicChannel, value: Any) -> Expr:
    """The variance at a value by its definition, as an unevaluated sum: the mean is the value."""
    there = law.at({law.inputs[0]: value})
    return difference(total(*(times(atom.output**2, atom.probability) for atom in there.atoms)), value**2)


def _example_is_a_mechanism() -> tuple[Statement, ...]:
    return (
        equal(_written_mean(near), near.inputs[0], "the example is unbiased for |x| <= 1/2"),
        equal(_written_mean(beyond), x, "and beyond"),
        *nontrivial(is_private(near, 8)),
        *nontrivial(is_private(beyond, 8)),
        *nontrivial(is_private(near, 8, neighbour=beyond.twin())),
        *nontrivial(is_private(beyond, 8, neighbour=near.twin())),
        at_most(
            beyond.atoms[2].probability, times(8, near.atoms[2].probability), "output 16: at most 8 times as likely"
        ),
        at_most(
            beyond.atoms[3].probability, times(8, near.atoms[3].probability), "output -16: at most 8 times as likely"
        ),
    )


def equal_in_range() -> Claim:
    scaled = duchi_variance.subs(x, alpha * x)
    numbers = {t: 3, alpha: Rational(1, 2), x: Rational(1, 2)}
    return Claim(
        id="FS-T32eq",
        name="accumulation variance in range",
        place="Section 3.3, before Theorem 3.2",
        says="When the selected value is within the input range, both ways of accumulating have the same variance (here: "
        "Duchi's mechanism and PM).",
        latex=r"\alpha^2\,\mathrm{Var}[s^*]=\mathrm{Var}[(\alpha s)^*],\quad|s|\le1",
        parts=(
            equal(
                alpha**2 * duchi_variance,
                scaled,
                "Duchi's mechanism",
                sides=Quantities("alpha^2 V(x)", "V(alpha x)"),
            ),
            equal(alpha**2 * piecewise_variance, piecewise_variance.subs(x, alpha * x), "PM"),
        ),
        corrected=Correction(
            "Accumulating g has the smaller variance, by (1 - alpha^2) V(0). At s = 0 no unbiased LDP mechanism has equality: "
            "V(0) = 0 would make the report 0 for sure at 0, so by LDP everywhere. Duchi, t = 3, alpha = s = 1/2: 15/16 "
            "against 63/16.",
            r"\mathrm{Var}[(\alpha s)^*]-\alpha^2\,\mathrm{Var}[s^*]=(1-\alpha^2)V(0)>0",
            (
                *from_the_laws(),
                equal(scaled - alpha**2 * duchi_variance, (1 - alpha**2) * A**2, "Duchi's mechanism"),
                equal(
                    piecewise_variance.subs(x, alpha * x) - alpha**2 * piecewise_variance,
                    (1 - alpha**2) * piecewise_base,
                    "PM",
                ),
                equal(
                    quadratic(alpha * x) - alpha**2 * quadratic(x),
                    (1 - alpha**2) * base,
                    "whenever V = V(0) + kappa x^2",
                ),
                less(0, (1 - alpha**2) * base, "which is above 0"),
                equal(put_in(alpha**2 * duchi_variance, numbers), Rational(15, 16), "alpha s*"),
                equal(put_in(scaled, numbers), Rational(63, 16), "(alpha s)*"),
            ),
        ),
        looked="Section 3.3 from its first sentence to Theorem 3.2: one mechanism with the input range [-1, 1] reports s or alpha s, so "
        "the words admit no other formal reading. The theorem itself, an inequality, holds there: FS-T32.",
    )


def theorem_3_2() -> Claim:
    inner = Variable("y", alpha, 1, latex=r"\alpha s")
    return Claim(
        id="FS-T32",
        name="variance of accumulated updates",
        place="Theorem 3.2",
        says="Accumulating g instead of alpha g gives the update a variance that is not larger, for alpha in (0, 1) (here: for the "
        "paper's own mechanisms, Duchi's, PM and HM, and for noise that does not depend on the value).",
        latex=r"\alpha^2\,\mathrm{Var}[s^*]\le\mathrm{Var}[(\alpha s)^*]",
        parts=(
            *from_the_laws(),
            at_most(alpha**2 * quadratic(x), quadratic(alpha * x), "V(0) + kappa x^2: both within the range"),
            at_most(alpha**2 * quadratic(1), quadratic(inner), "s clipped to 1, alpha s within"),
            at_most(alpha**2 * quadratic(x), quadratic(x), "both clipped to the same value"),
        ),
        corrected=Correction(
            "Where both are clipped to one value xi, it holds of every mechanism: alpha^2 V(xi) <= V(xi). Else it rests on how the "
            "variance varies with the value: FS-T32gen is an unbiased LDP mechanism for which it fails.",
            parts=(at_most(alpha**2 * base, base, "both clipped"),),
        ),
        argument="Negative s are the mirror image. HM mixes the two laws (kappa between theirs) or is Duchi's; kappa = 0 for noise that "
        "does not depend on the value.",
    )


def clipped_and_not() -> Claim:
    inner = Variable("y", alpha, 1, latex=r"\alpha s")
    return Claim(
        id="FS-T32mix",
        name="accumulation, one value clipped",
        place="Section 3.3, the case between the paper's two: |s| > 1 is clipped, |alpha s| <= 1 is not",
        says="Theorem 3.2 also holds there, for Duchi's mechanism and PM.",
        latex=r"\alpha^2V(1)\le V(\alpha s),\quad|s|>1\ge|\alpha s|",
        parts=(
            at_most(alpha**2 * duchi_variance.subs(x, 1), duchi_variance.subs(x, inner), "Duchi's mechanism"),
            at_most(alpha**2 * piecewise_variance.subs(x, 1), piecewise_variance.subs(x, inner), "PM"),
        ),
        assumptions=("alpha s lies in [alpha, 1], since s > 1",),
    )


def for_every_mechanism() -> Claim:
    half = Rational(1, 2)
    return Claim(
        id="FS-T32gen",
        name="accumulation, every mechanism",
        place="Theorem 3.2 and the sentences before it, read of all LDP mechanisms of mean estimation (of the paper's own: FS-T32)",
        says="Theorem 3.2 holds of every unbiased LDP mechanism on [-1, 1].",
        latex=r"\alpha^2V(1)\le V(\alpha)",
        parts=(
            at_most(
                half**2 * _at(beyond, 1),
                _at(near, half),
                "alpha = 1/2, s = 1: reports +-4, +-16",
                sides=Quantities("alpha^2 V(1) at alpha = 1/2", "V(alpha)"),
            ),
        ),
        corrected=Correction(
            "It depends on how the variance varies with the value. Reports +-16 with probability 1/16 for |x| <= 1/2 and 1/2 "
            "beyond, else +-4: unbiased, with ratio 8, and alpha^2 V(1) = 135/4 > V(1/2) = 123/4.",
            parts=(
                *_example_is_a_mechanism(),
                equal(times(half**2, _written_variance(beyond, 1)), Rational(135, 4), "alpha^2 V(1)"),
                equal(_written_variance(near, half), Rational(123, 4), "V(1/2)"),
            ),
        ),
        source="derived",
    )


def more_accurate() -> Claim:
    value = Variable("s", 1, 1 / alpha)
    own = alpha**2 * (duchi_variance.subs(x, 1) + (value - 1) ** 2)
    other = A**2 - (alpha * value) ** 2
    limit = Variable("alpha", 0, 1, open="both", latex=r"\alpha")
    at_end = {value: 1 / alpha}
    return Claim(
        id="FS-T32mse",
        name="accumulation and squared error",
        place="Section 3.3, before Theorem 3.2",
        says="The smaller variance leads to a more accurate update (here: a mean squared error about alpha s that is not larger; "
        "Duchi's mechanism, 1 <= s <= 1/alpha).",
        latex=r"\alpha^2\bigl(V(1)+(s-1)^2\bigr)\le V(\alpha s)",
        parts=(
            at_most(
                own,
                other,
                "s is clipped to 1, alpha s is not",
                sides=Quantities("alpha^2 (V(1) + (s - 1)^2)", "V(alpha s)"),
            ),
        ),
        corrected=Correction(
            "Clipping s costs a bias of alpha (|s| - 1), which alpha s does not have. At alpha s = 1 accumulating g is the less "
            "accurate one iff A^2 - 1 < (1 - alpha)/(1 + alpha): so at t = 33, alpha = 1/10, s = 10.",
            r"\alpha s=1:\quad A^2-1<\frac{1-\alpha}{1+\alpha}",
            (
                equal(
                    substituted(other - own, at_end),
                    (1 - limit**2) * (A**2 - 1) - (1 - limit) ** 2,
                    "alpha s = 1: the difference of the errors is (1 - alpha^2)((A^2 - 1) - (1 - alpha)/(1 + alpha))",
                ),
                less(
                    other.subs({t: 33, alpha: Rational(1, 10), value: 10}),
                    own.subs({t: 33, alpha: Rational(1, 10), value: 10}),
                    "t = 33, alpha = 1/10, s = 10",
                ),
            ),
        ),
        source="derived",
    )


CLAIMS = {
    "FS-T32eq": equal_in_range,
    "FS-T32": theorem_3_2,
    "FS-T32mix": clipped_and_not,
    "FS-T32gen": for_every_mechanism,
    "FS-T32mse": more_accurate,
}
