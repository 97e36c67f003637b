"""FedSel, Sections 3.2, 4.1 and 5.2: status vectors, the selections EXP (Lemma 1) and PS (Lemma 3), and how they compare."""

from collections.abc import Sequence

from sympy import Expr, Rational, exp

from ldp_audit.claims.as_written import difference, nontrivial, put_in, quotient, times
from ldp_audit.claims.claim import Claim, Correction, Reading
from ldp_audit.claims.language.statement import Quantities, Statement, at_most, equal, less, prints_as, somewhere
from ldp_audit.claims.privacy import is_private
from ldp_audit.mechanisms.selection.exponential_selection import STEP_RATIO
from ldp_audit.papers.fedsel.claims.symbols import (
    EXPONENTIAL,
    NONE,
    Variable,
    bottom,
    d,
    dims,
    encoding_law,
    inside,
    k,
    oo,
    outside,
    ranking_law,
    sampling,
    sampling_law,
    t,
    top,
)

y = STEP_RATIO
"""EXP's base: e**epsilon_1 = y**(d - 1)."""


def private_sampling() -> tuple[Statement, ...]:
    """PS is epsilon_1-LDP on status vectors with exactly k ones, from Algorithm 4's own probabilities."""
    hit = t * k / (d - k + t * k)
    crux = at_most(hit / k, t * ((1 - hit) / (d - k)), "an index of the set against an index outside: at most t times")
    return (crux, *nontrivial(is_private(sampling, t)))


def bit_by_bit(z: Sequence[int]) -> Expr:
    """PE: the probability that every bit is 0 after flipping, one factor per bit."""
    kept = t / (t + 1)
    return times(*(difference(1, kept) if bit else kept for bit in z))


def definition_2() -> Claim:
    none, none_prime = (encoding_law(z)[NONE] for z in ((0, 0), (1, 1)))
    three, three_prime = (encoding_law(z)[NONE] for z in ((0, 0, 0), (1, 1, 1)))
    return Claim(
        id="FS-D2",
        name="privacy over status vectors",
        place="Definition 2 with Lemmas 2 and 3",
        says="Definition 2 asks the bound of any two status vectors; PS meets it, and so does PE's empty answer.",
        latex=r"\Pr[M_1(z)=j]\le e^{\varepsilon_1}\Pr[M_1(z')=j]\quad\forall z,z'\in\{0,1\}^d",
        reading="Of status vectors with exactly k ones, as the proof of Lemma 2 says.",
        parts=(
            *(
                equal(
                    bit_by_bit(top(size, of)),
                    bit_by_bit(bottom(size, of)),
                    f"PE, d = {of}, k = {size}: no index, the first ones against the last ones",
                )
                for of, size in ((2, 1), (3, 1), (3, 2), (4, 2))
            ),
            *private_sampling(),
        ),
        another=Reading(
            "The words, strictly.",
            (
                at_most(none, t * none_prime, "PE, d = 2, no index: z = 00 against z' = 11"),
                at_most(
                    sampling_law((1, 1, 0), 1)[2],
                    t * sampling_law((0, 1, 1), 1)[2],
                    "PS, d = 3, k = 1, third index: z = 110 against z' = 011",
                ),
            ),
        ),
        corrected=Correction(
            "The restriction is needed. Over all of {0,1}^d PE's empty answer alone has the ratio t^d: 27 for d = 3, t = 3.",
            parts=(
                equal(bit_by_bit((0, 0)), t**2 * bit_by_bit((1, 1)), "PE, d = 2: the ratio of the empty answer is t^2"),
                equal(bit_by_bit((0, 0, 0)), t**3 * bit_by_bit((1, 1, 1)), "d = 3: it is t^3"),
                equal(put_in(three, {t: 3}), times(27, put_in(three_prime, {t: 3})), "d = 3, t = 3: 27"),
            ),
        ),
        looked="Section 3.2, Definition 2 (any two status vectors); Section 4.1, the proof of Lemma 2 (with k non-zero elements).",
        argument="PE's other answers do not keep to epsilon_1 with exactly k ones either: FS-L2.",
    )


def ties() -> Claim:
    three = {size: encoding_law(top(size, 3))[NONE] for size in (1, 3)}
    four = {size: encoding_law(top(size, 4))[NONE] for size in (1, 3)}
    return Claim(
        id="FS-TIES",
        name="ties among top-k magnitudes",
        place="Algorithms 3 and 4, line 2, with Lemmas 2 and 3",
        says="With z_j = 1 where |r_j| is among the top-k magnitudes, PE's empty answer is equally likely for all inputs and "
        "PS is epsilon_1-LDP.",
        reading=(
            "The top k are k coordinates: of equal magnitudes the sorting of line 2 decides, so that exactly k are marked, as the "
            "proof of Lemma 2 has it."
        ),
        parts=(
            equal(bit_by_bit(top(1, 3)), bit_by_bit(bottom(1, 3)), "PE, d = 3, k = 1, no index"),
            equal(bit_by_bit(top(2, 4)), bit_by_bit(bottom(2, 4)), "d = 4, k = 2 (all: FS-L2bot)"),
            *private_sampling(),
        ),
        another=Reading(
            "The words, strictly.",
            (
                equal(three[1], three[3], "PE, d = 3, k = 1: r = (1, 0, 0) against (1, 1, 1), no index"),
                at_most(
                    sampling_law((1, 1, 0), 1)[2],
                    t * sampling_law((0, 1, 1), 1)[2],
                    "PS, d = 3, k = 1, third index: r = (1, 1, 0) against (0, 1, 1)",
                ),
            ),
        ),
        corrected=Correction(
            "Code that marks by value, every |r_j| not below the k-th largest, lets the number of ones depend on the data. At d = 4, "
            "k = 1, PE's empty answer then has the ratio t^2, 9 at t = 3, and PS has 9/2 at t = 2. For r = 0 all d are tied and PS "
            "draws from an empty set.",
            parts=(
                equal(
                    put_in(four[1], {t: 3}),
                    times(9, put_in(four[3], {t: 3})),
                    "PE, t = 3: one against three equal maxima",
                ),
                equal(
                    put_in(sampling_law(top(3, 4), 1)[3], {t: 2}),
                    times(Rational(9, 2), put_in(sampling_law(bottom(3, 4), 1)[3], {t: 2})),
                    "PS, t = 2: (1, 1, 1, 0) against (0, 1, 1, 1), j = 4",
                ),
            ),
        ),
        looked="Algorithms 3 and 4, line 2, which sort and then mark; Section 3.2; the proofs of Lemmas 2 and 3, of which the first "
        "has k non-zero elements.",
        argument="One-hot data have many gradients that are exactly 0, so equal magnitudes are ordinary.",
    )


def proportional_to_the_gradient() -> Claim:
    small = Variable("a", 0, oo, open="left")
    large = Variable("b", small, oo, open="left")
    law = ranking_law((1, 2), t)
    return Claim(
        id="FS-EXPprop",
        name="selection odds by magnitude",
        place="Section 1, on private top-1 selection",
        says="The exponential mechanism returns a dimension with a probability proportional to its absolute gradient.",
        latex=r"\frac{\Pr[2]}{\Pr[1]}=\frac ba",
        reading="Loosely: the larger the absolute gradient, the likelier the dimension.",
        parts=(less(law[0], law[1], "d = 2, a < b: the second is the likelier"),),
        another=Reading(
            "The words, strictly.",
            (
                equal(
                    law[1] * small,
                    law[0] * large,
                    "of Section 4.1's mechanism, d = 2, a < b: the two probabilities stand as the magnitudes do",
                ),
            ),
        ),
        corrected=Correction(
            "In Section 4.1's mechanism only the ranks count: (1, 2) and (1, 100) give the same probabilities, at t = 2 1/3 and 2/3.",
            r"\Pr[j]\propto e^{\varepsilon_1z_j/(d-1)}",
            (
                equal(put_in(law[0], {t: 2}), Rational(1, 3), "the lower rank"),
                equal(put_in(law[1], {t: 2}), Rational(2, 3), "the higher rank, however much larger its magnitude is"),
            ),
        ),
        looked="Section 1 speaks of the known mechanism before any is defined; Section 4.1 modifies it and goes by ranks.",
    )


def lemma_1() -> Claim:
    eps = Variable("epsilon_1", 0, oo, open="left", latex=r"\varepsilon_1")
    rank, rank_prime = (Variable(name, 1, dims, integer=True) for name in ("z", "z_prime"))
    return Claim(
        id="FS-L1",
        name="privacy of exponential selection",
        place="Lemma 1",
        says="EXP is epsilon_1-LDP.",
        latex=r"\frac{\Pr[j\mid z]}{\Pr[j\mid z']}=e^{\varepsilon_1\frac{z_j-z'_j}{d-1}}\le e^{\varepsilon_1}",
        parts=(
            at_most(
                eps * rank / (dims - 1) - eps * rank_prime / (dims - 1),
                eps,
                "logarithms of the two weights of one index; the normaliser is the same for all rankings",
            ),
            *nontrivial(is_private(EXPONENTIAL.at({dims: 2}), y)),
            *nontrivial(is_private(EXPONENTIAL.at({dims: 3}), y**2)),
        ),
        corrected=Correction(
            "Tight: the index of rank d under one ranking and of rank 1 under another has exactly the ratio e^epsilon_1.",
            parts=(
                equal(eps * dims / (dims - 1) - eps * 1 / (dims - 1), eps, "rank d against rank 1"),
                *(
                    equal(
                        put_in(ranking_law((1, 2, 3), y)[2], {y: base}),
                        times(base**2, put_in(ranking_law((1, 2, 3), y)[0], {y: base})),
                        f"d = 3, from the law: y^2 = t = {base**2}",
                    )
                    for base in (2, 3)
                ),
            ),
        ),
        assumptions=("d >= 2", "z and z' are permutations of 1 .. d: equal magnitudes get different ranks"),
        argument="The normaliser adds up e^(epsilon_1 i/(d-1)) over all ranks i, so it does not depend on the ranking.",
    )


def lemma_1_all_vectors() -> Claim:
    high, low = ranking_law((3, 1, 1), y)[0], ranking_law((1, 3, 3), y)[0]
    weight, rest = Variable("a", 1, t), Variable("R", dims - 1, (dims - 1) * t)
    worst = t * (1 + (dims - 1) * t) / (t + dims - 1)
    return Claim(
        id="FS-L1lit",
        name="privacy under tied ranks",
        place="Lemma 1, its proof: possible ranking vectors, read of all of {1, ..., d}^d (of rankings without ties: FS-L1)",
        says="EXP is epsilon_1-LDP for any two vectors in {1, ..., d}^d, tied ranks included.",
        parts=(
            at_most(
                high,
                y**2 * low,
                "d = 3, first index: z = (3, 1, 1) against z' = (1, 3, 3), e^epsilon_1 = y^2",
                sides=Quantities("z = (3, 1, 1)", "z' = (1, 3, 3)", "the first index has probability", y**2),
            ),
        ),
        corrected=Correction(
            "Tied ranks change the normaliser. The exact ratio over {1..d}^d is t (1 + (d-1) t)/(t + d - 1), which tends to "
            "t^2 as d grows: at d = 3, t = 9 it is 171/11. Permutations, that is ties broken, restore Lemma 1.",
            r"\frac{t\,(1+(d-1)t)}{t+d-1}",
            (
                at_most(
                    weight / (weight + rest), t / (t + dims - 1), "an index's probability is at most t/(t + d - 1)"
                ),
                at_most(1 / (1 + (dims - 1) * t), weight / (weight + rest), "and at least 1/(1 + (d-1) t)"),
                equal(quotient(t / (t + dims - 1), 1 / (1 + (dims - 1) * t)), worst, "their quotient"),
                equal(high / low, worst.subs(t, y**2).subs(dims, 3), "attained, d = 3"),
                equal(put_in(high, {y: 3}), times(Rational(171, 11), put_in(low, {y: 3})), "d = 3, t = 9: 171/11"),
                equal(put_in(worst, {dims: 2}), t, "d = 2: it is t"),
            ),
        ),
        source="derived",
        argument="In weights divided by the least one, e^(epsilon_1/(d-1)), an index has 1 .. t and the others d - 1 .. (d-1) t.",
    )


def one_dimension() -> Claim:
    any_d = Variable("d", 1, oo, integer=True)
    return Claim(
        id="FS-L1d1",
        name="selection from one dimension",
        place="Section 4.1, EXP, and Algorithm 2, lines 1 and 5",
        says="EXP is defined for every number d of dimensions (the paper names no least one).",
        parts=(less(0, any_d - 1, "the exponent epsilon_1 z_j/(d-1) divides by more than 0"),),
        corrected=Correction("For d >= 2.", parts=(less(0, dims - 1, "d >= 2"),)),
        source="derived",
    )


def lemma_3() -> Claim:
    hit = t * k / (d - k + t * k)
    return Claim(
        id="FS-L3",
        name="privacy of perturbed sampling",
        place="Lemma 3",
        says="PS is epsilon_1-LDP.",
        latex=r"\frac{p/k}{(1-p)/(d-k)}=e^{\varepsilon_1},\quad p=\frac{e^{\varepsilon_1}k}{d-k+e^{\varepsilon_1}k}",
        parts=(
            *private_sampling(),
            equal((1 - hit) / (d - k), outside, "(1-p)/(d-k): an index outside"),
        ),
        corrected=Correction(
            "Tight for every 1 <= k < d.",
            parts=(equal(inside, t * ((1 - hit) / (d - k)), "an index inside against outside"),),
        ),
        assumptions=("exactly k ones in each status vector, 1 <= k < d",),
    )


def sampling_is_best() -> Claim:
    rho = Variable("rho", 1, oo, open="left", latex=r"\rho")
    out = Variable("W", 0, oo, open="left")
    short = Variable("x", 0, rho * out)
    wasted, lost = Variable("N", 0, oo), Variable("N", 0, oo, open="left")
    best = rho / (d - k + rho * k)
    hit = quotient(times(t, k), d - k + t * k)

    def chance(nothing: Variable) -> object:
        inner = rho * out - short
        return inner / (k * inner + (d - k) * out + nothing)

    return Claim(
        id="FS-PSopt",
        name="optimality of perturbed sampling",
        place="Section 4.1, PS beside PE",
        says="No selection that treats all indices alike and has the ratio rho gives a top-k index more than PS does at rho; "
        "PE, which sometimes answers nothing, gives less.",
        latex=r"P_{in}\le\frac{\rho}{d-k+\rho k}",
        parts=(
            at_most(chance(wasted), best, "weights W outside, at most rho W inside, N for no answer"),
            less(chance(lost), best, "strictly less where no answer has a positive weight, as in PE"),
            equal(quotient(put_in(hit, {t: rho}), k), best, "PS attains it"),
        ),
        source="derived",
    )


def exp_is_worse() -> Claim:
    others = Variable("M", dims - 1, oo)
    more = Variable("M", dims - 1, oo, open="left")
    top_one = t / (dims - 1 + t)
    base = exp(Rational(4, 99))
    return Claim(
        id="FS-EXPtop",
        name="chance of the largest coordinate",
        place="Section 5.2 (PE and PS perform better than EXP)",
        says="EXP finds the largest coordinate less often than PS with k = 1 (the part of the statement that can be "
        "computed; accuracies cannot).",
        latex=r"\frac{t}{1+y+\dots+y^{d-1}}\le\frac t{d-1+t},\quad t=y^{d-1}",
        parts=(
            at_most(
                1, y, "each of the d - 1 lower weights y^i, i = 0 .. d-2, is at least 1; so is their sum M >= d - 1"
            ),
            equal(put_in(t * k / (d - k + t * k), {k: 1, d: dims}), top_one, "PS with k = 1"),
            at_most(t / (others + t), top_one, "EXP's chance of the top index against PS's"),
            less(t / (more + t), top_one, "strictly where M exceeds d - 1, that is for d >= 3"),
        ),
        corrected=Correction(
            "EXP's chance is (1 - 1/y)/(1 - y^-d): at d = 100, epsilon_1 = 4 it is 0.0403, PS's 0.3555, a blind draw's 0.01.",
            parts=(
                equal(ranking_law((1, 2, 3), y)[2], (1 - 1 / y) / (1 - y**-3), "the closed form, d = 3"),
                prints_as((1 - 1 / base) / (1 - base**-100), "0.0403", "EXP"),
                prints_as(exp(4) / (99 + exp(4)), "0.3555", "PS"),
            ),
        ),
        source="derived",
    )


def approaching_top_one() -> Claim:
    level = Rational(3, 4)
    encoding = encoding_law(top(2, 3))[0]
    exp_two = ranking_law((1, 2), t)[1]
    return Claim(
        id="FS-NPK",
        name="selections as epsilon grows",
        place="Section 5.2, against the baseline NP-K with k = 1",
        says="With a larger epsilon_1, EXP, PE and PS approach the top-1 choice of NP-K (read of which coordinate is "
        "selected; accuracies cannot be recomputed).",
        latex=r"\lim_{\varepsilon_1\to\infty}\Pr[j=j_{\max}]=1",
        parts=(
            somewhere(at_most(level, exp_two), "EXP, d = 2: some epsilon_1 gives the top coordinate 3/4"),
            somewhere(at_most(level, inside.subs(d, 3).subs(k, 2)), "PS, d = 3, k = 2: some epsilon_1 does"),
            somewhere(at_most(level, encoding), "PE, d = 3, k = 2: some epsilon_1 does"),
        ),
        corrected=Correction(
            "PE and PS become uniform on the top k: the top coordinate's chance stays below 1/k, and tends to it. With k = 1 "
            "they do approach NP-K, and EXP does once epsilon_1 is far above d.",
            r"\lim_{\varepsilon_1\to\infty}P_{in}=\tfrac1k",
            (
                less(inside, 1 / k, "PS: below 1/k"),
                equal(1 / k - inside, (d - k) / (k * (d - k + t * k)), "by what tends to 0 as t grows"),
                less(encoding, Rational(1, 2), "PE, d = 3, k = 2: below 1/2"),
                less(1 - exp_two, 1 / t, "EXP, d = 2: within 1/t of 1"),
            ),
        ),
        argument="The experiments compare accuracies, with k = 0.1 d; a uniform choice among the top k may well do as well.",
        source="derived",
    )


CLAIMS = {
    "FS-D2": definition_2,
    "FS-TIES": ties,
    "FS-EXPprop": proportional_to_the_gradient,
    "FS-L1": lemma_1,
    "FS-L1lit": lemma_1_all_vectors,
    "FS-L1d1": one_dimension,
    "FS-L3": lemma_3,
    "FS-PSopt": sampling_is_best,
    "FS-EXPtop": exp_is_worse,
    "FS-NPK": approaching_top_one,
}
