"""FedMD-NFDP, Section 4 and its appendix: Theorems 1 and 2, that sampling alone is differentially private."""

from math import comb

from sympy import Integer

from ldp_audit.claims.as_written import difference, nontrivial, times, total
from ldp_audit.claims.claim import Claim, Correction, Reading
from ldp_audit.claims.language.statement import Statement, at_most, equal, less
from ldp_audit.mechanisms.variable import Variable, oo
from ldp_audit.papers.fedmd_nfdp.claims.symbols import k, kept, left_out, level, n, n_any, n_spare
from ldp_audit.papers.fedmd_nfdp.claims.two_events import (
    WITH,
    WITHOUT,
    bounded,
    listed,
    theorem_1_numbers,
    theorem_1_pair,
    theorem_2_numbers,
    theorem_2_pair,
)

LOST = (
    "The conversion of the paper has lost the formula; it is restored from the counting that the appendix describes, and "
    "reproduces Table 2 (NF-TAB2log10)."
)
ADD_REMOVE = "neighbours differ by one record x, added or removed; n is the size of D in both orders of the pair"

SEEN = difference(1, (n_spare - k) / n_spare)
"""Without replacement: C(n-1, k) of the C(n, k) samples, a share of (n-k)/n, omit x; the others contain it."""


def drawn_at_least_once() -> tuple[Statement, ...]:
    """With replacement, from the binomial distribution: x is drawn with probability 1 - ((n-1)/n)^k, and never if
    absent."""
    x = 1 / n_any
    return tuple(
        equal(
            total(*(times(comb(draws, j), x**j, (1 - x) ** (draws - j)) for j in range(1, draws + 1))),
            1 - (1 - x) ** draws,
            f"'the sample holds x' has that chance, whatever epsilon is: k = {draws}, from the binomial law",
        )
        for draws in (2, 3, 4)
    )


def record_level_ldp() -> Claim:
    return Claim(
        id="NF-LDPname",
        name="local privacy at record level",
        place="Section 2, Definition 1 and the text around it",
        says="Definition 1, applied by each party, gives record-level local differential privacy.",
        argument="Definition 1 compares two data sets of one party that differ in a record, so it is central differential "
        "privacy of that party's data, with the party as the trusted curator of its own records. Local differential privacy "
        "compares any two inputs of a party, here any two whole data sets; a sample of the records does not offer that. Only the "
        "word is at issue: the definition itself is sound.",
    )


def theorem_1() -> Claim:
    samples = Variable("C", 1, oo, integer=True)
    return Claim(
        id="NF-T1",
        name="sampling without replacement",
        place="Theorem 1, with its proof in the appendix",
        says="Sampling k of n records without replacement is (ln((n+1)/(n+1-k)), k/n)-DP.",
        latex=r"\Bigl(\ln\frac{n+1}{n+1-k},\ \frac kn\Bigr)\text{-DP}",
        parts=(
            equal(
                1 / (samples * n_spare / (n_spare - k)),
                (1 - k / n_spare) * (1 / samples),
                "if n - 1 records have C samples, n have C n/(n-k): each sample without x has the ratio 1 - k/n",
            ),
            at_most(SEEN, k / n_spare, "from D to D less x: the sample holds x"),
            *nontrivial(bounded(WITHOUT, theorem_1_pair)),
            *listed(theorem_1_numbers, replacement=False, what="the theorem's pair bounds every direction"),
        ),
        corrected=Correction(
            "(0, k/n) holds, and is tight for every epsilon: the theorem's epsilon adds nothing (NF-FLAT).",
            r"\bigl(0,\tfrac kn\bigr)\text{-DP}",
            (
                *nontrivial(bounded(WITHOUT, lambda size: (Integer(1), k / size))),
                equal(
                    difference(SEEN, level * 0),
                    k / n_spare,
                    "attained by 'the sample holds x', which has probability 0 without x, whatever epsilon is",
                ),
            ),
        ),
        assumptions=(ADD_REMOVE, "1 <= k <= n, and k <= n - 1 where a record is removed (NF-KN)"),
        rests_on=("double counting: each k-sample of n records leaves out n - k of them",),
        argument="As all samples without x have one ratio, whether the sample holds x is all that tells the two data sets "
        f"apart. {LOST}",
    )


def theorem_2() -> Claim:
    return Claim(
        id="NF-T2",
        name="sampling with replacement",
        place="Theorem 2, with its proof in the appendix",
        says="k draws with replacement from n records are (k ln((n+1)/n), 1 - ((n-1)/n)^k)-DP.",
        latex=r"\Bigl(k\ln\frac{n+1}n,\ 1-\Bigl(\frac{n-1}n\Bigr)^k\Bigr)\text{-DP}",
        parts=(
            at_most((n_any - 1) / n_any, n_any / (n_any + 1), "L = ((n-1)/n)^k is at most M = (n/(n+1))^k: k = 1"),
            at_most(left_out * ((n_any - 1) / n_any), kept * (n_any / (n_any + 1)), "and if for k, then for k + 1"),
            *nontrivial(bounded(WITH, theorem_2_pair)),
            *listed(theorem_2_numbers, replacement=True, what="the theorem's pair bounds every direction"),
        ),
        corrected=Correction(
            "(0, 1 - ((n-1)/n)^k) holds, and is tight for every epsilon: the theorem's epsilon adds nothing (NF-FLAT).",
            r"\Bigl(0,\ 1-\Bigl(\frac{n-1}n\Bigr)^k\Bigr)\text{-DP}",
            (
                *nontrivial(bounded(WITH, lambda _size: (Integer(1), 1 - left_out))),
                *drawn_at_least_once(),
            ),
        ),
        assumptions=(ADD_REMOVE, "k >= 1, and n >= 2 where a record is removed"),
        rests_on=("induction on k",),
        argument="A sequence of k draws without x has probability n^-k under D and (n-1)^-k under D less x: the ratio is L, "
        f"whichever sequence it is. {LOST}",
    )


def merged_cases() -> Claim:
    grown, back = WITHOUT[2], WITHOUT[3]
    t, slack = theorem_1_pair(n_spare)[0], k / (n_spare * (n_spare + 1 - k))
    return Claim(
        id="NF-PRF",
        name="merging of the two cases",
        place="Appendix, proofs of Theorems 1 and 2, 'merge the cases'",
        says="The two cases, D to D and a record with (epsilon, 0) and D to D less a record with (0, delta), make the theorem.",
        reading=(
            "n is the size of whichever data set comes first, as the proof begins with D and its size: every ordered pair is then one "
            "of the two cases."
        ),
        parts=(
            at_most(grown.gain(theorem_1_pair(n)[0], 0), 0, "case 1, without: 'the sample does not hold x'"),
            at_most(grown.gain(theorem_1_pair(n)[0]), 0, "and 'it holds x'"),
            at_most(SEEN, k / n_spare, "case 2, without: 'it holds x'"),
            at_most(WITHOUT[0].gain(1, 0), 0, "and 'it does not'"),
            at_most(WITH[2].gain(1 / kept), 0, "case 1, with replacement: 'it holds x' ('it does not': equality)"),
            at_most(WITH[0].gain(1, 0), 0, "case 2, with: 'it does not hold x'"),
            *drawn_at_least_once(),
        ),
        another=Reading(
            "The words, strictly.",
            (
                at_most(
                    grown.gain(theorem_1_pair(n)[0], 0), 0, "case 1, without replacement: epsilon as stated, delta 0"
                ),
                at_most(SEEN, k / n_spare, "case 2: epsilon 0, delta k/n"),
                at_most(
                    back.gain(theorem_1_pair(n)[0]),
                    0,
                    "one n for both orders: case 1 the other way round, from D and x to D with delta 0",
                ),
            ),
        ),
        corrected=Correction(
            "For one n in both orders the two other directions are needed, which the proof does not mention. They hold by slack.",
            parts=(
                equal(WITHOUT[1].gain(t, 0), slack, "without, D less x to D at the stated epsilon: k/(n(n+1-k))"),
                at_most(slack, k / n_spare, "which is at most k/n"),
                at_most(back.gain(1), k / n, "without, D and x to D at epsilon 0: k/(n+1) is at most k/n"),
                at_most(
                    WITH[1].gain(1 / kept, 0), 1 - left_out, "with replacement, D less x to D at the stated epsilon"
                ),
                at_most(WITH[3].gain(1), 1 - left_out, "with replacement, D and x to D at epsilon 0"),
            ),
        ),
        looked="The appendix, both proofs, and Definition 1. The formulas are lost in the conversion; the words set n as the size of the "
        "data set and let the neighbour have a record more or less.",
        argument="The formulas of both cases are lost in the conversion; the cases are restored from the words between them.",
    )


def everything_sampled() -> Claim:
    all_of_it = Variable("n", k, k, integer=True)
    chance = Variable("P", 0, 1)
    return Claim(
        id="NF-KN",
        name="sampling of all n records",
        place="Theorem 1, at k = n",
        says="Theorem 1 is meant for every subsample size k up to n.",
        reading="At k = n the delta is 1, which every mechanism satisfies, whatever it does with fewer than k records.",
        parts=(at_most(chance, k / all_of_it, "no event has a larger probability than k/n at k = n"),),
        another=Reading("The words, strictly.", (at_most(k, n - 1, "D less a record still holds k records to draw"),)),
        corrected=Correction(
            "For k <= n - 1 nothing need be said; at k = n the guarantee is empty, and a visible failure for want of records would "
            "tell the two data sets apart.",
            r"k=n:\quad\delta=1",
            (at_most(k, n_spare - 1, "k <= n - 1"), less(0, k, "with something drawn")),
        ),
        looked="Section 4, Theorem 1 and its proof; Table 2, which has k = n, is of sampling with replacement. The theorem's formulas, "
        "and with them its range, are lost in the conversion.",
    )


CLAIMS = {
    "NF-LDPname": record_level_ldp,
    "NF-T1": theorem_1,
    "NF-T2": theorem_2,
    "NF-PRF": merged_cases,
    "NF-KN": everything_sampled,
}
