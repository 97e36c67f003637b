"""FedMD-NFDP, the strength of the guarantee: the exact profile beside the theorems' (epsilon, delta), and the best
attack."""

from sympy import Integer, Rational, exp

from ldp_audit.accounting.laws.finite_laws import hockey_stick, product_law
from ldp_audit.claims.as_written import difference, nontrivial, put_in, quotient, times, total
from ldp_audit.claims.claim import Claim, Correction
from ldp_audit.claims.language.statement import Statement, at_most, equal, less, prints_as
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.papers.fedmd_nfdp.claims.samples import by_ratio, delta, neighbours, sample_law
from ldp_audit.papers.fedmd_nfdp.claims.sampling import SEEN, drawn_at_least_once
from ldp_audit.papers.fedmd_nfdp.claims.symbols import (
    DELTA_WITH,
    k,
    left_out,
    level,
    n,
    n_spare,
    put,
    q,
)
from ldp_audit.papers.fedmd_nfdp.claims.two_events import (
    WITH,
    WITHOUT,
    bounded,
    listed,
    theorem_1_numbers,
    theorem_1_pair,
    theorem_2_numbers,
    without_epsilon,
)

t = level
drawn = Variable("q", 0, 1, open="both")
"""The probability that a given record is in the sample, strictly between 0 and 1."""


def _shown_at_four_records() -> tuple[Statement, ...]:
    """n = 4, k = 2, D to D less x: the same delta at three very different values of epsilon."""
    found = []
    for replacement, chance in ((False, Rational(1, 2)), (True, Rational(7, 16))):
        _, first, second = next(neighbours(4, 2, replacement=replacement))
        for name, number in (("0", 1), ("ln 3", 3), ("ln 10^9", 10**9)):
            words = f"n = 4, k = 2, {'with' if replacement else 'without'} replacement, all samples: epsilon = {name}"
            found.append(equal(delta(first, second, 2, number, replacement=replacement), chance, words))
    return tuple(found)


def _needed_at_the_theorems_epsilon() -> tuple[Statement, ...]:
    """n = 3 and 4, D to D less x, all samples listed: the exact delta at the theorems' epsilon."""
    found = []
    for replacement, numbers in ((False, theorem_1_numbers), (True, theorem_2_numbers)):
        for size, draws in ((3, 1), (4, 2)):
            ratio, chance = numbers(size, draws)
            _, first, second = next(neighbours(size, draws, replacement=replacement))
            words = f"n = {size}, k = {draws}, {'with' if replacement else 'without'} replacement, all samples"
            found.append(equal(delta(first, second, draws, ratio, replacement=replacement), chance, words))
    return tuple(found)


def epsilon_is_idle() -> Claim:
    return Claim(
        id="NF-FLAT",
        name="role of epsilon in the guarantee",
        place="Theorems 1 and 2; Section 5.2 and Table 2 read epsilon as a privacy budget",
        says="Epsilon is part of the guarantee: at the theorems' epsilon the least delta is k/n, or 1 - ((n-1)/n)^k.",
        latex=r"\delta\Bigl(\ln\frac{n+1}{n+1-k}\Bigr)=\frac kn,\qquad\delta\Bigl(k\ln\frac{n+1}n\Bigr)=1-\Bigl(\frac{n-1}n\Bigr)^k",
        parts=(
            equal(
                difference(SEEN, times(theorem_1_pair(n_spare)[0], 0)),
                k / n_spare,
                "without replacement: 'the sample holds x' needs it, as it has probability 0 without x",
            ),
            *drawn_at_least_once(),
            *_needed_at_the_theorems_epsilon(),
        ),
        void=(
            equal(
                difference(SEEN, times(t, 0)),
                k / n_spare,
                "without replacement the event 'it holds x' needs that delta at every epsilon",
            ),
            *nontrivial(bounded(WITHOUT, lambda size: (Integer(1), k / size), "without, epsilon = 0, ")),
            *nontrivial(bounded(WITH, lambda _size: (Integer(1), 1 - left_out), "with, epsilon = 0, ")),
            equal(
                difference(q, times(t, 0)),
                q,
                "x replaced by y, drawn with chance q: the event 'it holds x' needs delta = q at every epsilon",
            ),
            at_most(0 - t * q, 0, "'it holds y' needs nothing"),
            at_most((1 - q) - t * (1 - q), 0, "nor does 'it holds neither'"),
            *listed(
                without_epsilon(theorem_1_numbers), replacement=False, substitution=True, what="without, at epsilon 0"
            ),
            *listed(without_epsilon(theorem_2_numbers), replacement=True, substitution=True, what="with, at epsilon 0"),
            *_shown_at_four_records(),
        ),
        corrected=Correction(
            "The guarantee is (0, q), with q the chance that a record is in the sample: the profile is flat. Pure epsilon is "
            "infinite, as a sample with x is impossible without x.",
            r"\sup_{D\sim D'}\delta(\varepsilon)=q\quad\text{for every }\varepsilon\ge0",
            (equal(SEEN, k / n_spare, "without replacement, q = k/n"), *drawn_at_least_once()),
        ),
        looked="Section 4 and the appendix (both proofs give a case with epsilon = 0 and one with delta = 0, and merge them), Section 5.2 "
        "and Table 2: nowhere is it said that epsilon may be left out. The theorems hold as they stand (NF-T1, NF-T2); no other formal reading of "
        "them makes epsilon count.",
        rests_on=("NF-T1 and NF-T2: no more than that is needed",),
        sizes="all n and k; from the list of all samples n = 1 .. 6",
    )


def sharp_contrast() -> Claim:
    chance = k / n
    return Claim(
        id="NF-BALLE",
        name="contrast with amplification",
        place="Section 1, last paragraph, on Balle et al. (2018)",
        says="Sampling's inherent guarantee stands in sharp contrast to privacy amplification by sampling.",
        corrected=Correction(
            "Formally the guarantee is the amplification theorem, applied to the mechanism that releases its data as they are; every "
            "mechanism is (0, 1)-DP. It gives epsilon = 0 as well, less than Theorem 1 has.",
            r"\varepsilon'=\ln\bigl(1+q(e^0-1)\bigr)=0,\qquad\delta'=q\cdot1",
            (
                equal(total(1, times(chance, difference(exp(0), 1))), 1, "e^epsilon' = 1, without replacement"),
                equal(times(chance, 1), chance, "delta' = k/n, times the delta 1"),
                equal(total(1, times(1 - left_out, difference(exp(0), 1))), 1, "and with replacement"),
            ),
        ),
        rests_on=("Balle, Barthe, Gaboardi (2018): amplification by sampling without and with replacement",),
        argument="Two readings. That no private algorithm follows the sampling here, whereas amplification starts from one: so it is, and "
        "that is the contrast which the sentence draws. That the amplification theorem does not give this guarantee: it does, as the "
        "correction shows. A sentence that the first reading makes true is not held against the paper.",
    )


def one_draw_for_all_queries() -> Claim:
    q1, q2 = Variable("Q_1", 0, 1), Variable("Q_2", 0, 1)
    d1, d2 = Variable("d_1", 0, 1, latex=r"\delta_1"), Variable("d_2", 0, 1, latex=r"\delta_2")
    p1, p2 = Variable("P_1", 0, t * q1 + d1), Variable("P_2", 0, t * q2 + d2)
    share = Variable("s", 0, 1)
    first, second = (
        product_law([sample_law(records, 1, replacement=False)] * 2)
        for _, *both in [next(neighbours(3, 1, replacement=False))]
        for records in both
    )
    return Claim(
        id="NF-POST",
        name="post-processing of one sample",
        place="Section 4, last paragraph",
        says="With random sampling once, post-processing removes the dependence of the guarantee on the number of queries.",
        latex=r"\delta_{\text{run}}=q",
        parts=(
            at_most(p1 + p2, t * (q1 + q2) + (d1 + d2), "merging two outcomes of the sample keeps the bound"),
            at_most(share * p1, t * (share * q1) + share * d1, "and so does splitting one by a coin"),
        ),
        corrected=Correction(
            "It must be the one draw throughout: R fresh draws have the flat profile 1 - (1-q)^R, above q. And nothing else may look at "
            "the private data, no choice of settings either (Section 5 chooses them by grid search, and does not say on which data).",
            r"\delta_R=1-(1-q)^R",
            (
                less(drawn, 1 - (1 - drawn) ** 2, "two draws: a larger delta, 0 < q < 1"),
                equal(
                    hockey_stick(*by_ratio(first, second), 1),
                    Rational(5, 9),
                    "n = 3, k = 1, R = 2, all pairs of samples: 5/9 at epsilon = 0, where one draw has 1/3",
                ),
                equal(
                    hockey_stick(*by_ratio(first, second), 10**9),
                    Rational(5, 9),
                    "and 5/9 at epsilon = ln 10^9",
                ),
                equal(put_in(1 - (1 - drawn) ** 2, {drawn: Rational(1, 3)}), Rational(5, 9), "as the formula has it"),
            ),
        ),
        assumptions=(
            "one draw, kept throughout, as the sentence says and Algorithm 1 does (the previously sampled subset)",
        ),
        rests_on=("post-processing: a function of the sample is a sequence of splits and merges of its outcomes",),
    )


def best_attack() -> Claim:
    missed, always = (law[0] for law in (WITHOUT[0].first, WITHOUT[0].second))
    never = times(0, k)
    chance, drawn_once = k / n_spare, 1 - left_out
    _, small, less_x = next(neighbours(4, 2, replacement=False))
    everybody = put(DELTA_WITH, 2880, 2880)
    return Claim(
        id="NF-MIA",
        name="best membership attack",
        place="Theorems 1 and 2: the best attack on the sample",
        says="Asking whether the sample holds the record finds it with probability q at no false alarm. No test has a larger "
        "advantage than q, which is the total variation distance. At prior 1/2 the posterior of presence is 1 if the record is "
        "seen and (1-q)/(2-q) if not; the best guess is right with probability (1+q)/2.",
        latex=r"\mathrm{TPR}=q\text{ at }\mathrm{FPR}=0,\qquad\mathrm{TV}=q,\qquad q=\frac kn\text{ or }1-\Bigl(\frac{n-1}n\Bigr)^k",
        parts=(
            equal(SEEN, chance, "without replacement: a record that is there is seen with probability k/n, else never"),
            *drawn_at_least_once(),
            at_most(missed - always, 0, "'not seen' is no evidence of presence: no test beats 'seen'"),
            equal(
                times(Rational(1, 2), total(difference(SEEN, never), difference(always, missed))),
                chance,
                "total variation: half the sum of |P - Q|",
            ),
            equal(quotient(SEEN, total(SEEN, never)), 1, "posterior of presence if seen"),
            equal(
                quotient(difference(1, SEEN), total(difference(1, SEEN), always)),
                (1 - chance) / (2 - chance),
                "and if not seen",
            ),
            equal(
                times(Rational(1, 2), total(SEEN, always)),
                (1 + chance) / 2,
                "the best guess: 'there' if seen, else 'not'",
            ),
            equal(
                quotient(difference(1, drawn_once), total(difference(1, drawn_once), 1)),
                (1 - drawn_once) / (2 - drawn_once),
                "with replacement: posterior of presence if not seen",
            ),
            equal(
                delta(small, less_x, 2, 1, replacement=False),
                Rational(1, 2),
                "n = 4, k = 2, all samples: total variation 1/2",
            ),
        ),
        corrected=Correction(
            "At k = n = 2880 draws with replacement a record is seen with probability 0.632; if it is not, its presence still "
            "has the posterior 0.269.",
            r"q=1-(1-\tfrac1{2880})^{2880}",
            (
                prints_as(everybody, "0.632", "the chance to be seen"),
                prints_as((1 - everybody) / (2 - everybody), "0.269", "the posterior"),
            ),
        ),
        source="derived",
    )


CLAIMS = {
    "NF-FLAT": epsilon_is_idle,
    "NF-BALLE": sharp_contrast,
    "NF-POST": one_draw_for_all_queries,
    "NF-MIA": best_attack,
}
