"""FedSel, Section 4.1: perturbed encoding (PE), Lemma 2 and its proof line by line, and the exact epsilon of PE.

Let p = t/(t+1), q = 1 - p. Besides an index j and one further index of the other status, S = Bin(k-1, p) + Bin(d-k-1,
q) of the perturbed bits are ones. With a = E[1/(1+S)] and b = E[1/(2+S)] an index of the top k is drawn with
probability p (p a + q b), another one with probability q (q a + p b). Their ratio is t (t + theta)/(1 + t theta), theta
= b/a.
"""

from collections.abc import Sequence

from sympy import Add, Expr, Rational, exp, log, sqrt

from ldp_audit.accounting.laws.finite_laws import count_law
from ldp_audit.claims.as_written import difference, put_in, times, total
from ldp_audit.claims.claim import Claim, Correction
from ldp_audit.claims.language.statement import Quantities, at_most, equal, less, prints_as
from ldp_audit.papers.fedsel.claims.symbols import (
    NONE,
    PERTURBED_ENCODING,
    Variable,
    bottom,
    d,
    encoding_law,
    encoding_ratio,
    k,
    oo,
    t,
    theta,
    top,
)

p, q = t / (t + 1), 1 / (t + 1)
excess = (t + theta) / (1 + t * theta)
"""e to the excess of PE's epsilon over epsilon_1."""
worst_excess = (2 * t + 1) / (t + 2)
SIZES = ((2, 1), (3, 1), (3, 2), (4, 2))


def mean_inverse(size: int, marked: int, shift: int) -> Expr:
    """E[1/(shift + S)], S as above, from its exact distribution."""
    law = count_law([p] * (marked - 1) + [q] * (size - marked - 1))
    return Add(*(mass * Rational(1, shift + ones) for ones, mass in law.items()))


def exact_theta(size: int, marked: int) -> Expr:
    return mean_inverse(size, marked, 2) / mean_inverse(size, marked, 1)


def drawn(z: Sequence[int], place: int) -> Expr:
    """Two bits: the probability that an index is drawn, flip by flip: as the only one, or as one of two."""
    own, other = (p if bit else q for bit in (z[place], z[1 - place]))
    return total(times(own, difference(1, other)), times(Rational(1, 2), own, other))


def lemma_2() -> Claim:
    two = encoding_law((1, 0))
    parts = []
    for size, marked in SIZES:
        law = encoding_law(top(marked, size))
        a, b = (mean_inverse(size, marked, shift) for shift in (1, 2))
        where = f"d = {size}, k = {marked}"
        parts.append(equal(law[0], p * (p * a + q * b), f"{where}, all 2^{size} flips: an index of the top k"))
        parts.append(equal(law[size - 1], q * (q * a + p * b), f"{where}: another index"))
    a, b = Variable("a", 0, oo, open="left"), Variable("b", 0, oo, open="left")
    return Claim(
        id="FS-L2",
        name="privacy of perturbed encoding",
        place="Lemma 2",
        says="PE is epsilon_1-LDP.",
        latex=r"\Pr[j\mid z]\le e^{\varepsilon_1}\Pr[j\mid z']",
        parts=(
            at_most(
                two[0],
                t * two[1],
                "d = 2, k = 1: the first index, z = 10 against z' = 01",
                sides=Quantities("z = 10", "z' = 01", "the first index has probability", t),
            ),
        ),
        corrected=Correction(
            "The exact ratio is t (t + theta)/(1 + t theta) with theta = E[1/(2+S)]/E[1/(1+S)] in [1/2, 1): above t for every "
            "1 <= k < d and every epsilon_1. At d = 2, k = 1 it is t (2t + 1)/(t + 2): 21/5 for t = 3.",
            r"e^{\varepsilon_{\text{exact}}}=t\,\frac{t+\theta}{1+t\theta},\quad\theta=\frac{\mathbb E[1/(2+S)]}{\mathbb E[1/(1+S)]},"
            r"\ S\sim\mathrm{Bin}(k{-}1,p)+\mathrm{Bin}(d{-}k{-}1,1{-}p)",
            (
                *parts,
                equal(p * (p * a + q * b), t * (t + b / a) / (1 + t * b / a) * q * (q * a + p * b), "their quotient"),
                less(t, encoding_ratio, "it exceeds t for every theta < 1"),
                less(1, encoding_ratio, "so an index inside is always the likelier one"),
                equal(two[0], t * (2 * t + 1) / (t + 2) * two[1], "d = 2, k = 1"),
                equal(
                    put_in(two[0], {t: 3}), times(Rational(21, 5), put_in(two[1], {t: 3})), "t = 3: 21/5 = 4.2, not 3"
                ),
                equal(drawn((0, 1), 0), two[1], "z' = 01 gives the first index what z = 10 gives the second"),
            ),
        ),
        looked="Section 4.1 (the definition of PE), Lemma 2 and its proof, Algorithm 3, Definition 2. Exactly k ones are granted, as the "
        "proof says, and so is an empty answer. The words admit no other formal reading.",
        assumptions=("exactly k ones in each status vector, 1 <= k < d",),
        argument="The proof treats the draw among the ones as if it had probability 1/l for each, l the expected number of "
        "ones (FS-L2sum). Given z_j = 1 there is one top-k index fewer among the others, which makes j's draw likelier still.",
    )


def sum_of_the_proof() -> Claim:
    two = encoding_law((1, 0))
    sparsity = p + q
    return Claim(
        id="FS-L2sum",
        name="proof's selection probability",
        place="Lemma 2, its proof, first case",
        says="Pr[j given z] is Pr[z'_j = 1 given z] divided by l, the expected number of ones (here d = 2, k = 1, j in the top k).",
        latex=r"\Pr[j\mid z]=\tfrac1l\Pr[\acute z_j=1\mid z]",
        parts=(
            equal(
                two[0],
                p / sparsity,
                "the first index, z = 10",
                sides=Quantities("the probability of the first index at z = 10", "the proof's"),
            ),
        ),
        corrected=Correction(
            "E[1/N] is not 1/E[N], and depends on z_j. At t = 3 the formula gives 3/4, the law 21/32. Over j the formula adds up "
            "to 1, although no index is returned with probability 3/16.",
            r"\mathbb E[1/N]\neq1/\mathbb E[N];\qquad t=3:\quad\tfrac1l\Pr[\acute z_j=1\mid z]=\tfrac34,\quad"
            r"\Pr[j\mid z]=\tfrac{21}{32},\quad\Pr[\bot\mid z]=\tfrac3{16}",
            (
                equal(put_in(p / sparsity, {t: 3}), Rational(3, 4), "t = 3: the formula"),
                equal(put_in(two[0], {t: 3}), Rational(21, 32), "t = 3: the law"),
                equal(p / sparsity + q / sparsity, 1, "the formula adds up to 1"),
                equal(two[0] + two[1] + two[NONE], 1, "the law does so only with the empty answer"),
                equal(put_in(two[NONE], {t: 3}), Rational(3, 16), "which has probability 3/16 at t = 3"),
            ),
        ),
        looked="The proof of Lemma 2, its first displayed formula; Algorithm 3, lines 8 to 12 (an index is drawn from the ones). It is an "
        "equality there; no approximation is named, and the words admit no other formal reading.",
    )


def expected_sparsity() -> Claim:
    parts = []
    for size, marked in SIZES:
        law = count_law([p] * marked + [q] * (size - marked))
        mean = Add(*(ones * mass for ones, mass in law.items()))
        parts.append(
            equal(mean, marked * p + (size - marked) * q, f"d = {size}, k = {marked}: from the law of the count")
        )
    kept, raised = encoding_law((1,))[0], encoding_law((0,))[0]
    return Claim(
        id="FS-L2c",
        name="expected number of ones",
        place="Lemma 2, its proof, the expected sparsity",
        says="The expected number of ones is l = k p + (d - k)(1 - p), p = e^epsilon_1/(e^epsilon_1 + 1).",
        latex=r"l=kp+(d-k)(1-p)",
        parts=(
            equal(raised, 1 - p, "a zero becomes one with probability 1 - p"),
            equal(k * kept + (d - k) * raised, k * p + (d - k) * (1 - p), "the expectation is linear"),
            *parts,
        ),
    )


def empty_answer() -> Claim:
    lowered = encoding_law((1,))[NONE]
    others = Variable("Q", 0, 1, open="left")
    parts = []
    for size, marked in SIZES:
        closed = q**marked * p ** (size - marked)
        for ones, name in ((top, "the first ones"), (bottom, "the last ones")):
            bits = times(*(difference(1, p) if bit else p for bit in ones(marked, size)))
            parts.append(equal(bits, closed, f"d = {size}, k = {marked}, {name}: bit by bit"))
        parts.append(
            equal(
                total(*(mass for place, mass in encoding_law(top(marked, size)).items() if place != NONE), closed),
                1,
                f"d = {size}, k = {marked}: what all 2^{size} flips leave to the indices",
            )
        )
    return Claim(
        id="FS-L2bot",
        name="chance of an empty answer",
        place="Lemma 2, its proof, second case",
        says="No index is returned with probability (1-p)^k p^(d-k), whatever the status vector with k ones is.",
        latex=r"\frac{\Pr[\bot\mid z]}{\Pr[\bot\mid z']}=\frac{(1-p)^kp^{d-k}}{(1-p)^kp^{d-k}}=1",
        parts=(
            equal(lowered, 1 - p, "a one must become zero: 1 - p"),
            equal(
                times(others, difference(1, p), p),
                times(others, p, lowered),
                "exchanging a one and a zero changes nothing, Q being the chance of the other bits",
            ),
            *parts,
        ),
        assumptions=("exactly k ones in each status vector, as the proof says",),
        argument="The bits are independent, so the chances multiply: 1 - p for each of the k ones, p for each of the d - k zeros, "
        "in whatever order they stand. With ties code that marks by value can mark more than k: FS-TIES.",
    )


def likelier_top() -> Claim:
    kept, raised = encoding_law((1,))[0], encoding_law((0,))[0]
    enough = Variable("t", (d - k) / k, oo, open="left")
    share = k * t / (k * t + d - k)
    return Claim(
        id="FS-L2like",
        name="ones of the perturbed vector",
        place="Section 4.1, before Lemma 2",
        says="The ones of the perturbed vector are more likely top-k indices: a top-k index is a one more often than another is.",
        latex=r"\Pr[\acute z_j=1\mid z_j=1]=e^{\varepsilon_1}\Pr[\acute z_j=1\mid z_j=0]",
        parts=(
            less(raised, kept, "more often"),
            equal(kept, t * (1 - p), "by the factor t: a zero is raised with probability 1 - p"),
        ),
        corrected=Correction(
            "Most of the ones are top-k indices only if k t > d - k. With k = d/10 and epsilon_1 = 0.2 it is 11.9% of the "
            "expected ones (10% would be chance).",
            parts=(
                equal(k * kept / (k * kept + (d - k) * raised), share, "the top k's share of the expected ones"),
                less(Rational(1, 2), k * enough / (k * enough + d - k), "above one half if k t > d - k"),
                prints_as(
                    100 * exp(Rational(1, 5)) / (exp(Rational(1, 5)) + 9), "11.9", "k = d/10, epsilon_1 = 0.2, in %"
                ),
            ),
        ),
    )


def bound_on_the_excess() -> Claim:
    ones = Variable("S", 0, oo, integer=True)
    a = Variable("a", 0, oo, open="left")
    b = Variable("b", a / 2, a, open="right")
    return Claim(
        id="FS-L2excess",
        name="bounds on PE's excess ratio",
        place="Lemma 2, by how much it fails",
        says="PE's exact ratio exceeds t by a factor between 1 and (2t + 1)/(t + 2), which is below 2.",
        latex=r"1<\frac{t+\theta}{1+t\theta}\le\frac{2t+1}{t+2}<2",
        parts=(
            at_most(1 / (1 + ones) / 2, 1 / (2 + ones), "1/(2+S) is at least half of 1/(1+S), for every S"),
            less(1 / (2 + ones), 1 / (1 + ones), "and smaller"),
            at_most(Rational(1, 2), b / a, "so theta >= 1/2"),
            less(b / a, 1, "and theta < 1"),
            less(1, excess, "the factor exceeds 1"),
            at_most(excess, worst_excess, "it is at most (2t + 1)/(t + 2)"),
            less(worst_excess, 2, "which is below 2"),
        ),
        corrected=Correction(
            "The upper end is attained at d = 2, k = 1 and nowhere else: there S = 0 surely, so theta = 1/2.",
            parts=(
                equal(excess.subs(theta, Rational(1, 2)), worst_excess, "theta = 1/2"),
                less(Rational(1, 2), 1 / (2 + 1 + ones) * (1 + 1 + ones), "S >= 1 gives more than half"),
            ),
        ),
        source="derived",
    )


def monotone() -> Claim:
    i, more = Variable("i", 0, oo, integer=True), Variable("e", 0, oo, integer=True)
    j = i + more
    a_1 = Variable("a_1", 0, oo, open="left")
    a_2 = Variable("a_2", 0, a_1, open="both")
    a_3 = Variable("a_3", a_2**2 / a_1, a_2, open="both")
    larger = Variable("theta_2", theta, 1, open="both", latex=r"\theta_2")
    n = Variable("n", 0, oo, integer=True)
    pairs = Variable("E_12", 0, (t + 1) ** 2 / ((n + 1) * (n + 2)), latex=r"\mathbb E\tfrac1{(1+S)(2+S)}")
    single = Variable("E_1", 1 / (n + 1), 1, latex=r"\mathbb E\tfrac1{1+S}")
    with_zero = (p * a_2 + q * a_3) / (p * a_1 + q * a_2)
    with_one = (q * a_2 + p * a_3) / (q * a_1 + p * a_2)
    return Claim(
        id="FS-L2mono",
        name="PE's excess as d and k grow",
        place="Lemma 2, by how much it fails",
        says="The excess falls strictly as d grows (k fixed) and as k grows (d fixed), and tends to 0 as d grows.",
        latex=r"\theta_{d,k}<\theta_{d+1,k},\qquad\theta_{d,k}<\theta_{d,k+1}",
        parts=(
            less(
                2 / ((2 + i) * (2 + j)),
                1 / ((1 + i) * (3 + j)) + 1 / ((1 + j) * (3 + i)),
                "a_2^2 < a_1 a_3 for a_n = E[1/(n + S)]: for each pair of values i <= j = i + e of S and of a copy of it",
            ),
            less(a_2 / a_1, with_zero, "one more zero coordinate: S + Bern(1-p) instead of S; theta rises"),
            less(
                with_zero, with_one, "one more top-k coordinate in place of a zero: Bern(p) for Bern(1-p); theta rises"
            ),
            less((t + larger) / (1 + t * larger), excess, "and the excess falls as theta rises"),
            at_most(pairs / single, (t + 1) ** 2 / (n + 2), "1 - theta <= (t+1)^2/d, with n = d - 2"),
            at_most(excess - 1, (t - 1) * (1 - theta), "e^excess - 1 <= (t - 1)(1 - theta), which tends to 0"),
        ),
        rests_on=(
            "binomial theorem and Jensen: E[1/((1+S)(2+S))] <= 1/((n+1)(n+2)q^2) for S at least Bin(n, q), E[1/(1+S)] >= 1/(n+1)",
        ),
        argument="E[f(S)] E[g(S)] is a sum over pairs (S, S'), so a termwise inequality suffices. S + Bern(1-p) replaces a_n by "
        "p a_n + (1-p) a_{n+1}.",
        source="derived",
    )


def excess_at_k() -> Claim:
    turn = Variable("q", 0, Rational(1, 2), open="both")
    power = Variable("w", 0, 1, open="left", latex=r"q^{k-1}")
    at_next = ((k + 1) * (1 - turn) - 1 + power * turn**2) / ((k + 1) * (1 - turn) * (1 - power * turn))
    ratio = excess.subs({t: (1 - turn) / turn, theta: at_next}, simultaneous=True)
    checks = []
    for marked in range(1, 6):
        closed = at_next.subs({k: marked, power: turn ** (marked - 1)}, simultaneous=True).subs(turn, q)
        checks.append(
            equal(exact_theta(marked + 1, marked), closed, f"k = {marked}, d = {marked + 1}: theta from the law")
        )
    return Claim(
        id="FS-L2k",
        name="PE's excess at large budgets",
        place="Lemma 2, by how much it fails",
        says="The excess is below ln(1 + 1/k), its limit as epsilon_1 grows (d = k + 1).",
        latex=r"\frac{t+\theta}{1+t\theta}<1+\frac1k",
        parts=(
            *checks,
            less(ratio, 1 + 1 / k, "d = k + 1, every k, with q = 1/(t+1) and w = q^(k-1)"),
            at_most(1 + 1 / k - ratio, 3 * turn, "and the gap is at most 3 q, which tends to 0"),
        ),
        rests_on=(
            "FS-L2mono: for fixed k the excess is largest at d = k + 1",
            "binomial theorem: E[1/(1+S)] = (1-q^k)/(kp), E[1/((1+S)(2+S))] = (1-q^(k+1)-(k+1)pq^k)/(k(k+1)p^2), S = Bin(k-1, p)",
        ),
        source="derived",
    )


def calibration() -> Claim:
    reached = t * (2 * t + 1) / (t + 2)
    nominal = exp(Rational("0.178476"))
    law = PERTURBED_ENCODING.at({d: 10, k: 1})
    chances = [one.probability.subs(t, nominal) for one in law.classes[:2]]
    return Claim(
        id="FS-L2cal",
        name="recalibrated perturbed encoding",
        place="Lemma 2, repaired",
        says="With the nominal t = (tau - 1 + sqrt(tau^2 + 14 tau + 1))/4 PE's exact ratio is at most tau, for every d and k.",
        latex=r"t=\frac{\tau-1+\sqrt{\tau^2+14\tau+1}}4",
        parts=(
            equal(
                (4 * t + 1 - reached) ** 2,
                reached**2 + 14 * reached + 1,
                "with tau = t (2t + 1)/(t + 2): 4t + 1 - tau is a root",
            ),
            less(0, 4 * t + 1 - reached, "the positive one"),
            at_most(encoding_ratio, reached, "and the exact ratio is at most that tau"),
            equal(encoding_ratio.subs(theta, Rational(1, 2)), reached, "with equality at d = 2, k = 1"),
            prints_as((3 - 1 + sqrt(9 + 14 * 3 + 1)) / 4, "2.302776", "tau = 3"),
        ),
        corrected=Correction(
            "For given d and k less is lost: to have epsilon = 0.2 at d = 10, k = 1 the nominal epsilon_1 is 0.178476.",
            parts=(
                prints_as(log(chances[0] / chances[1]), "0.20000", "d = 10, k = 1, nominal 0.178476: exact epsilon"),
            ),
        ),
        source="derived",
    )


def whole_vector() -> Claim:
    common = Variable("c", 0, k)
    kept = encoding_law((1,))[0]
    parts = []
    for size, marked, bits in ((2, 1, 2), (3, 1, 2), (3, 2, 2), (4, 2, 4)):
        same, other = top(marked, size), bottom(marked, size)
        agree = [int(a == b) for a, b in zip(same, other, strict=True)]
        own, far = p**size, p ** sum(agree) * (1 - p) ** (size - sum(agree))
        parts.append(equal(own, t**bits * far, f"d = {size}, k = {marked}: z itself has the ratio t^{bits}"))
    overlap = Variable("c", 2 * k - d, k)
    return Claim(
        id="FS-L2bits",
        name="release of the whole encoding",
        place="Section 4.1, PE, if the whole perturbed vector were released",
        says="Releasing the whole perturbed status vector costs exactly 2 min(k, d - k) epsilon_1.",
        latex=r"t^{2\min(k,d-k)}",
        parts=(
            equal(kept, t * (1 - p), "each bit in which z and z' differ has the ratio t: p against 1 - p"),
            at_most(2 * (k - common), 2 * k, "with c ones in common they differ in 2 (k - c) <= 2 k bits"),
            at_most(2 * (k - overlap), 2 * (d - k), "and in at most 2 (d - k), as c >= 2 k - d"),
            *parts,
        ),
        argument="The bits are independent, so the ratios multiply. Sets as disjoint as they can be attain it.",
        source="derived",
    )


CLAIMS = {
    "FS-L2like": likelier_top,
    "FS-L2": lemma_2,
    "FS-L2c": expected_sparsity,
    "FS-L2sum": sum_of_the_proof,
    "FS-L2bot": empty_answer,
    "FS-L2excess": bound_on_the_excess,
    "FS-L2mono": monotone,
    "FS-L2k": excess_at_k,
    "FS-L2cal": calibration,
    "FS-L2bits": whole_vector,
}
