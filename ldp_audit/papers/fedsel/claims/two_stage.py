"""FedSel, Section 3.2 and Algorithm 1: value perturbation, composition of the two stages, and the budget of all
epochs."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from sympy import Expr, Integer, Max, Rational, sympify

from ldp_audit.claims.as_written import nontrivial, put_in, times
from ldp_audit.claims.claim import Claim, Correction, Reading
from ldp_audit.claims.language.statement import Quantities, at_most, equal, less, somewhere
from ldp_audit.claims.privacy import is_private
from ldp_audit.papers.fedsel.claims.symbols import (
    NONE,
    PIECEWISE,
    REACH,
    Law,
    Variable,
    duchi,
    encoding_law,
    mu,
    oo,
    s,
    sampling,
    sampling_law,
    status_of,
    t,
    t_2,
    x,
)

anywhere = Variable("x", -oo, oo)
value_stage = duchi.at({t: t_2})
"""Duchi's mechanism with the second stage's ratio."""
plus, minus = (atom.probability for atom in value_stage.atoms)
top_plus = plus.subs(x, 1)
low_plus = plus.subs(x, -1)


def numeric_selection(kind: str, z: Sequence[int], ratio: int) -> Law:
    """PS or PE with a numeric t."""
    return sampling_law(z, sum(z), Integer(ratio)) if kind == "PS" else encoding_law(z, Integer(ratio))


def reports(kind: str, values: Sequence[Fraction], sent: Sequence[Fraction], ratio: int, ratio_2: int) -> dict:
    """One round, k = 1: select by |values|, clip the coordinate of `sent` and report it by Duchi's mechanism."""
    z = status_of(values, 1)
    joint: dict[Any, Fraction] = {}
    for j, chance in numeric_selection(kind, z, ratio).items():
        if not isinstance(j, int):
            joint[NONE] = Fraction(str(chance))
            continue
        clipped = max(Fraction(-1), min(Fraction(1), sent[j]))
        up = Fraction(1, 2) + clipped * Fraction(ratio_2 - 1, 2 * (ratio_2 + 1))
        share = Fraction(str(chance))
        joint[j, "+"], joint[j, "-"] = share * up, share * (1 - up)
    return joint


def worst(laws: Iterable[Mapping]) -> Expr:
    """The largest ratio of an outcome's probabilities over all ordered pairs of inputs, as a maximum over the
    outcomes."""
    listed = list(laws)
    ratios = {max(law[y] for law in listed) / min(law[y] for law in listed) for y in listed[0]}
    return Max(*(sympify(ratio) for ratio in sorted(ratios)), evaluate=False)


def two_rounds(first: Sequence[Fraction], second: Sequence[Fraction], momentum: Fraction) -> dict:
    """Algorithm 1, lines 12 to 18, twice: accumulate, select, clip, report, reset; PS and Duchi, both ratios 2."""
    joint = {}
    for y_1, mass in reports("PS", first, first, 2, 2).items():
        kept = [Fraction(0) if j == y_1[0] else value for j, value in enumerate(first)]
        total = [old + new for old, new in zip(kept, second, strict=True)]
        sent = [now + momentum * old for now, old in zip(total, kept, strict=True)]
        for y_2, chance in reports("PS", total, sent, 2, 2).items():
            joint[y_1, y_2] = mass * chance
    return joint


def definition_3() -> Claim:
    unbounded = value_stage.at({x: anywhere})
    return Claim(
        id="FS-D3",
        name="privacy of a value perturbation",
        place="Definition 3, with Section 3.3",
        says="The value perturbation is epsilon_2-LDP if the bound holds for any two numeric values, of the mechanism's input range.",
        latex=r"\Pr[M_2(v_j)=v_j^*]\le e^{\varepsilon_2}\Pr[M_2(v'_j)=v_j^*]",
        corrected=Correction(
            "With both values in [-1, 1] Duchi's mechanism and PM keep it (FedSel's references 14 and 13). Of any two numbers they "
            "do not: beyond A Duchi's 'probability' exceeds 1.",
            parts=(
                *nontrivial(is_private(value_stage, t_2)),
                *nontrivial(is_private(PIECEWISE, s**2)),
                somewhere(less(1, unbounded.atoms[0].probability), "Duchi's upper report, some number outside"),
            ),
        ),
        argument="A definition cannot be wrong, and Section 3.3 names the input range, [-1, 1], to which values are clipped. For PM, "
        "which has a density, its '=' is to be read of densities (DEF-POINT).",
    )


def no_clip_in_the_pseudocode() -> Claim:
    g_1, g_2 = Variable("g_1", -1, 1), Variable("g_2", -1, 1)
    eta = Variable("eta", 0, 1, latex=r"\eta")
    beyond = Variable("x", 1, oo, open="left")
    reach = (t_2 + 1) / (t_2 - 1)
    certain = Rational(1, 2) + anywhere * (t_2 - 1) / (2 * (t_2 + 1))
    within = certain.subs(anywhere, Variable("x", -reach, reach))
    return Claim(
        id="FS-CLIP",
        name="clipping of the selected value",
        place="Algorithm 1, lines 15 to 18, with Section 3.3",
        says="The report of the selected value is epsilon_2-LDP (here: Duchi's mechanism).",
        reading="With the value clipped to [-1, 1] before it is perturbed, as the text of Section 3.3 says that it should be.",
        parts=nontrivial(is_private(value_stage, t_2)),
        another=Reading(
            "The words, strictly.",
            (
                at_most(
                    1 - certain.subs(anywhere, 0),
                    t_2 * (1 - within),
                    "as the lines are printed: the lower report, value 0 against any x that has probabilities at all, |x| <= A",
                ),
            ),
        ),
        corrected=Correction(
            "No line of the pseudocode clips, so who copies it must add the step. Without it epsilon is infinite at |s_j| = A (t = "
            "3: s_j = 2 is surely reported +A) and there is no distribution beyond; PM's support moves for every |s_j| > 1.",
            r"s_j\leftarrow\min(1,\max(-1,s_j))",
            (
                somewhere(
                    less(1, g_1 + g_2 + eta * g_1), "two gradients in [-1, 1] and the momentum add up to more than 1"
                ),
                equal(certain.subs(anywhere, reach), 1, "at x = A the upper report is certain"),
                equal(put_in(certain, {t_2: 3, anywhere: 2}), 1, "t = 3: at x = 2"),
                less(0, 1 - certain.subs(anywhere, 0), "while x = 0 can give the lower one"),
                less(
                    REACH, PIECEWISE.pieces[1].upper.subs(x, beyond), "PM: beyond 1 the inner interval leaves [-C, C]"
                ),
            ),
        ),
        looked="Algorithm 1 and its caption, Sections 3.1 and 3.3: the pseudocode has no clip, Section 3.3 asks for one.",
    )


def theorem_3_1() -> Claim:
    t_1 = Variable("t_1", 1, oo, latex=r"e^{\varepsilon_1}")
    t_any = Variable("t_2", 1, oo, latex=r"e^{\varepsilon_2}")
    q_1, q_2 = Variable("Q_1", 0, 1), Variable("Q_2", 0, 1)
    p_1, p_2 = Variable("P_1", 0, t_1 * q_1), Variable("P_2", 0, t_any * q_2)
    halves = [Fraction(n, 2) for n in (-2, -1, 1, 2)]
    inputs = [v for v in product(halves, repeat=2) if abs(v[0]) != abs(v[1])]
    ps = worst(reports("PS", v, v, 3, 2) for v in inputs)
    law, law_prime = (sampling_law(z, 1) for z in ((1, 0), (0, 1)))
    return Claim(
        id="FS-T31",
        name="privacy of the two stages",
        place="Theorem 3.1",
        says="A selection that is epsilon_1-LDP and then a value perturbation that is epsilon_2-LDP are together "
        "(epsilon_1 + epsilon_2)-LDP.",
        latex=r"\frac{\Pr[v^*\mid v]}{\Pr[v^*\mid v']}=\frac{\Pr[j\mid z]\Pr[v_j^*\mid v_j]}{\Pr[j\mid z']\Pr[v_j^*\mid v_j']}\le e^{\varepsilon_1+\varepsilon_2}",
        parts=(
            at_most(p_1 * p_2, t_1 * t_any * q_1 * q_2, "each outcome (j, report): the two ratios multiply"),
            at_most(p_1, t_1 * t_any * q_1, "an empty answer has the first ratio only"),
            at_most(
                ps, 6, "PS (t = 3), Duchi (t_2 = 2), d = 2, k = 1, all inputs in {-1, -1/2, 1/2, 1}^2 without ties"
            ),
        ),
        corrected=Correction(
            "Tight, with the two stages' exact epsilons: PS and Duchi attain e^(epsilon_1 + epsilon_2) with v = (1, 0) against "
            "v' = (-1, 2), clipped. On {-1, -1/2, 1/2, 1}^2 the largest ratio is 24/5.",
            parts=(
                equal(
                    law[0] * top_plus,
                    t * t_2 * law_prime[0] * low_plus,
                    "v = (1, 0) against v' = (-1, 2): j = 1, upper report",
                ),
                equal(
                    put_in(law[0] * plus, {t: 3, t_2: 2, x: 1}),
                    times(Rational(24, 5), put_in(law_prime[0] * plus, {t: 3, t_2: 2, x: Rational(-1, 2)})),
                    "t = 3, t_2 = 2: v = (1, 1/2) against (-1/2, 1), j = 1, upper report: 24/5",
                ),
            ),
        ),
        assumptions=("each stage has the epsilon that it is credited with, on the values that reach it",),
        argument="The status vector is a function of v, so the proof's Pr[z given v] is 1.",
    )


def theorem_3_1_with_encoding() -> Claim:
    law, law_prime = (encoding_law(z) for z in ((1, 0), (0, 1)))
    halves = [Fraction(n, 2) for n in (-2, -1, 1, 2)]
    inputs = [v for v in product(halves, repeat=2) if abs(v[0]) != abs(v[1])]
    pe = worst(reports("PE", v, v, 3, 2) for v in inputs)
    joint, joint_prime = law[0] * top_plus, law_prime[0] * low_plus
    return Claim(
        id="FS-T31pe",
        name="two stages, perturbed encoding",
        place="Section 1, contributions, and Table 2, for the PE variants",
        says="The framework with PE as the selection is (epsilon_1 + epsilon_2)-LDP for any local vector.",
        latex=r"\frac{\Pr[v^*\mid v]}{\Pr[v^*\mid v']}\le e^{\varepsilon_1+\varepsilon_2}",
        parts=(
            at_most(
                joint,
                t * t_2 * joint_prime,
                "PE and Duchi, d = 2, k = 1: v = (1, 0) against (-1, 2), j = 1",
                sides=Quantities("v = (1, 0)", "v = (-1, 2)", "index 1 with the upper value has probability", t * t_2),
            ),
        ),
        another=Reading(
            "Of vectors whose values all lie in [-1, 1] and have no ties, so that nothing is clipped and exactly k are marked.",
            (at_most(pe, 6, "PE at e^epsilon_1 = 3, Duchi at e^epsilon_2 = 2, inputs in {-1, -1/2, 1/2, 1}^2"),),
        ),
        corrected=Correction(
            "PE's exact epsilon must be counted (FS-L2). At e^epsilon_1 = 3, e^epsilon_2 = 2: 42/5 instead of 6, and already "
            "168/25 = 6.72 between inputs in {-1, -1/2, 1/2, 1}^2.",
            r"e^{\varepsilon_1}=3,\ e^{\varepsilon_2}=2:\quad\frac{\Pr[v^*\mid v]}{\Pr[v^*\mid v']}=\tfrac{42}5>6,\qquad"
            r"\tfrac{168}{25}=6.72>6\ \text{for}\ v,v'\in\{-1,-\tfrac12,\tfrac12,1\}^2",
            (
                equal(
                    joint, t * (2 * t + 1) / (t + 2) * t_2 * joint_prime, "d = 2, k = 1: t (2t + 1)/(t + 2) times t_2"
                ),
                equal(
                    put_in(joint, {t: 3, t_2: 2}),
                    times(Rational(42, 5), put_in(joint_prime, {t: 3, t_2: 2})),
                    "t = 3, t_2 = 2: 42/5",
                ),
                equal(pe, Rational(168, 25), "inputs in {-1, -1/2, 1/2, 1}^2: 168/25"),
                less(6, pe, "more than 6"),
            ),
        ),
        looked="Sections 1 and 3.2, Theorem 3.1 and its proof, Table 2, Algorithms 1 and 3. Each stage is credited with its epsilon; "
        "PE does not keep it, with exactly k ones either (FS-L2). The words admit no other formal reading.",
    )


def all_epochs() -> Claim:
    one = Variable("t", 1, oo, open="left", latex=r"e^{\varepsilon'}")
    seen, seen_prime = Variable("rho", 1, oo, latex=r"\rho"), Variable("Q", 0, 1, open="left")
    steps = [Fraction(n, 2) for n in (-2, 1)]
    turns = [(a, b) for a, b in product(steps, repeat=2) if abs(a) != abs(b)]
    records = list(product(turns, turns))
    largest = worst(two_rounds(first, second, Fraction(1, 2)) for first, second in records)
    new = Variable("P", 0, one * Variable("Q_2", 0, 1))
    return Claim(
        id="FS-EPOCH",
        name="budget split over the epochs",
        place="Algorithm 1, line 3",
        says="E epochs that are epsilon'-LDP each, with epsilon' = epsilon/E, spend epsilon in all.",
        latex=r"\varepsilon'=\varepsilon/E\implies\sum_{e=1}^{E}\varepsilon'=\varepsilon",
        parts=(
            at_most(
                seen * seen_prime * new,
                seen * one * (seen_prime * Variable("Q_2", 0, 1)),
                "a transcript of ratio rho so far, then a round of ratio e^epsilon' given it: at most rho e^epsilon'",
            ),
            at_most(
                largest,
                16,
                "two epochs of PS and Duchi, all four ratios 2, d = 2, momentum 1/2, state kept and reset: enumerated",
            ),
        ),
        assumptions=(
            "an epoch is epsilon'-LDP: values clipped (Section 3.3), exactly k ones (proof of Lemma 2), and the selection's exact "
            "epsilon counted, which for PE is above epsilon_1 (FS-T31pe)",
            "a client takes part once an epoch: Section 2.3 partitions the clients into batches",
        ),
        rests_on=("adaptive composition: given the transcript so far, a client's state is a function of its record",),
        argument="After an empty answer of PE lines 17 and 18 are undefined; the state is then kept.",
    )


def table_2() -> Claim:
    per_epoch = Variable("epsilon_prime", 0, oo, open="left", latex=r"\varepsilon'")
    first = mu * per_epoch
    return Claim(
        id="FS-MUB",
        name="budget split of the two stages",
        place="Table 2 and Algorithm 1, line 3",
        says="epsilon_1 = mu epsilon' and epsilon_2 = epsilon' - epsilon_1 are budgets that add up to epsilon'.",
        latex=r"\varepsilon_1+\varepsilon_2=\varepsilon'",
        parts=(
            equal(mu * per_epoch + (1 - mu) * per_epoch, per_epoch, "they add up"),
            at_most(0, first, "the selection's is not negative"),
            at_most(0, per_epoch - first, "nor is the value's"),
            equal(per_epoch - first, (1 - mu) * per_epoch, "which is (1 - mu) epsilon' (Section 4.2)"),
        ),
        assumptions=("mu in [0, 1]",),
    )


def whole_vector() -> Claim:
    selected, other = (one.probability for one in sampling.classes)
    prime = value_stage.twin()
    return Claim(
        id="FS-LDPV",
        name="privacy of the whole gradient",
        place="Section 6",
        says="LDP makes the whole gradient vector indistinguishable, not only a single value.",
        latex=r"\Pr[(j,v_j^*)\mid v]\le e^{\varepsilon_1+\varepsilon_2}\Pr[(j,v_j^*)\mid v']\quad\forall v,v'",
        parts=(
            at_most(
                selected * plus,
                t * t_2 * other * prime.atoms[0].probability,
                "PS and Duchi, any two vectors: j in the first one's top k only, upper report",
            ),
            at_most(other * plus, t * t_2 * selected * prime.atoms[0].probability, "j in the second one's top k only"),
            at_most(selected * minus, t * t_2 * other * prime.atoms[1].probability, "the lower report, first case"),
            at_most(other * minus, t * t_2 * selected * prime.atoms[1].probability, "and second case"),
            at_most(plus, t * t_2 * prime.atoms[0].probability, "j in both or in neither: upper report"),
            at_most(minus, t * t_2 * prime.atoms[1].probability, "and lower report"),
        ),
        assumptions=("the stages' exact epsilons, values clipped, exactly k ones",),
        rests_on=("FS-T31",),
    )


CLAIMS = {
    "FS-D3": definition_3,
    "FS-T31": theorem_3_1,
    "FS-T31pe": theorem_3_1_with_encoding,
    "FS-CLIP": no_clip_in_the_pseudocode,
    "FS-EPOCH": all_epochs,
    "FS-MUB": table_2,
    "FS-LDPV": whole_vector,
}
