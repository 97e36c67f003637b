"""FedSel: counterexamples are the smallest, and neighbouring false claims fail."""

from __future__ import annotations

from fractions import Fraction

import pytest
from sympy import Integer, Min, Rational, exp, log

from ldp_audit.claims import at_most, equal, less, order, prints_as
from ldp_audit.claims.loading import load_paper
from ldp_audit.claims.recheck import part as recheck_part
from ldp_audit.claims.settling import SettledClaim, settle
from ldp_audit.claims.verdict import Verdict
from ldp_audit.papers.fedsel.claims import accumulation, consequences, encoding, experiments, flat, two_stage, utility
from ldp_audit.papers.fedsel.claims import symbols as letters
from ldp_audit.papers.wang import claims as wang
from tests.papers.conftest import SettledPaper
from tests.together import together

PAPER = load_paper("fedsel")


@pytest.fixture(scope="module")
def by_id(settled_paper: SettledPaper) -> dict[str, SettledClaim]:
    return {one.claim.id: one for one in settled_paper(PAPER.key)}


@together(
    ("name", "group", "place", "point", "left", "right"),
    [
        ("FS-L2", "parts", 0, {"t": "2"}, "5/9", "4/9"),
        ("FS-L2sum", "parts", 0, {"t": "2"}, "5/9", "2/3"),
        ("FS-D2", "another", 0, {"t": "2"}, "4/9", "2/9"),
        ("FS-D2", "another", 1, {"t": "3/2"}, "4/7", "9/28"),
        ("FS-T31pe", "parts", 0, {"t": "2", "t_2": "2"}, "10/27", "8/27"),
        ("FS-L1lit", "parts", 0, {"y": "2"}, "2/3", "4/9"),
        ("FS-L1d1", "parts", 0, {"d": "1"}, "0", "0"),
        ("FS-E2", "another", 0, {"P": "1/2", "t": "2", "x": "1"}, "17/4", "7/2"),
    ],
)
def test_the_counterexample_is_small_enough_to_check_by_hand(
    name: str, group: str, place: int, point: dict, left: str, right: str, by_id: dict[str, SettledClaim]
) -> None:
    evidence = by_id[name].groups[group][place].evidence
    assert (evidence["point"], evidence["left"], evidence["right"]) == (point, left, right)


def test_theorem_3_2_fails_for_the_mechanism_with_two_sizes_of_report(by_id: dict[str, SettledClaim]) -> None:
    evidence = by_id["FS-T32gen"].parts[0].evidence
    assert (evidence["left"], evidence["right"]) == ("135/4", "123/4")


def test_theorem_4_1_is_escaped_by_one_client_in_many_dimensions(by_id: dict[str, SettledClaim]) -> None:
    assert by_id["FS-T41"].parts[0].evidence["path"] == {"ell": "K + 1"}


def test_two_epochs_stay_within_the_budget_and_use_most_of_it(by_id: dict[str, SettledClaim]) -> None:
    assert by_id["FS-EPOCH"].parts[-1].evidence["left"] == "64/5"


@together("status", [(1, 0), (1, 0, 0), (0, 1, 1), (1, 1, 0, 0)])
def test_the_direct_laws_add_up_to_one(status: tuple[int, ...]) -> None:
    laws = [letters.encoding_law(status), letters.sampling_law(status, sum(status))]
    laws.append(letters.ranking_law(range(1, len(status) + 1), letters.t))
    for law in laws:
        assert settle(equal(sum(law.values(), Integer(0)), 1)).verdict is Verdict.PROVED


def test_of_equal_magnitudes_the_earlier_is_marked() -> None:
    half = Fraction(1, 2)
    assert letters.status_of((half, -half, Fraction(0)), 1) == (1, 0, 0)
    assert letters.status_of((half, -half, Fraction(1)), 2) == (1, 0, 1)


t, t_2, theta, d, k, x = letters.t, letters.t_2, letters.theta, letters.d, letters.k, letters.x
A, K, alpha, epsilon = letters.A, letters.K, letters.alpha, letters.epsilon
two, two_prime = letters.encoding_law((1, 0)), letters.encoding_law((0, 1))
three = letters.encoding_law((1, 0, 0))
p, q = encoding.p, encoding.q
rank = letters.Variable("z", 1, letters.dims, integer=True)
rank_2 = letters.Variable("z_2", 1, letters.dims, integer=True)
inner = letters.Variable("y", alpha, 1)
wide = letters.Variable("mu", 0, 1, open="right")
ones = letters.Variable("S", 0, letters.oo, integer=True)
TINY = Rational(1, 10**6)

FALSE = {
    "PE's exact ratio is (t + 1)/2 t": equal(two[0], t * (t + 1) / 2 * two_prime[0]),
    "PE's excess is at most (2t + 1)/(t + 2) less a little": at_most(encoding.excess, encoding.worst_excess - TINY),
    "PE's excess is at most (3t + 1)/(2t + 3)": at_most(encoding.excess, (3 * t + 1) / (2 * t + 3)),
    "PE's excess rises with theta": less(
        encoding.excess, encoding.excess.subs(theta, letters.Variable("theta_2", theta, 1, open="both"))
    ),
    "theta is at least 3/5": at_most(Rational(3, 5) / (1 + ones), 1 / (2 + ones)),
    "PE at d = 3 is private at its nominal epsilon": at_most(three[0], t * three[1]),
    "PE's empty answer has probability p (1-p) at d = 3": equal(three[letters.NONE], p * q),
    "PE's law without the empty answer adds up to 1": equal(two[0] + two[1], 1),
    "PE's bits keep with probability 1/2 + 1/t": equal(letters.encoding_law((1,))[0], Rational(1, 2) + 1 / t),
    "PS has the ratio t - 1/1000": at_most(letters.inside, (t - Rational(1, 1000)) * letters.outside),
    "PS gives an index of the top k 1/k": equal(letters.inside, 1 / k),
    "PS for k = 2 where k = 1 is marked": at_most(
        letters.sampling_law((1, 0, 0), 2)[0], t * letters.sampling_law((0, 1, 0), 2)[0]
    ),
    "PS beats its own optimum": less(t / (d - k + t * k), letters.inside),
    "EXP with d in the exponent's divisor is tight": equal(
        epsilon * letters.dims / letters.dims - epsilon / letters.dims, epsilon
    ),
    "EXP is private at epsilon/2": at_most(
        epsilon * (rank - rank_2) / (letters.dims - 1), epsilon / 2, "a factor of two lost"
    ),
    "EXP is private on all ranking vectors, d = 3": at_most(t * (1 + 2 * t) / (t + 2), t),
    "two stages spend the larger epsilon only": at_most(
        letters.sampling_law((1, 0), 1)[0] * two_stage.top_plus,
        t * letters.sampling_law((0, 1), 1)[0] * two_stage.low_plus,
    ),
    "Duchi's variance grows with the value": at_most(letters.duchi.variance().subs(x, 0), letters.duchi.variance()),
    "accumulating alpha g has the smaller variance": at_most(
        accumulation.duchi_variance.subs(x, alpha * x), alpha**2 * accumulation.duchi_variance
    ),
    "Theorem 3.2 with alpha in place of alpha^2, clipped": at_most(
        alpha * (A**2 - 1), Rational(1, 2) * (A**2 - inner**2)
    ),
    "Theorem 3.2 for every V(0), kappa not bounded below": at_most(
        alpha**2 * (accumulation.base + letters.Variable("kappa", -letters.oo, letters.oo)),
        accumulation.base + letters.Variable("kappa", -letters.oo, letters.oo) * inner**2,
    ),
    "the sparse report's variance with P^2 in both places": equal(
        utility.sparse.variance(), utility.chance**2 * (A**2 - x**2)
    ),
    "the sparse report is unbiased after division by d": equal(utility.sparse.mean(), x / letters.dims),
    "E[zeta^2] <= 4/epsilon^2 for Duchi, epsilon <= 1": at_most(
        utility.small**2 * ((utility.t_small + 1) / (utility.t_small - 1)) ** 2, 4
    ),
    "A <= 2/epsilon for every epsilon": at_most(A, 2 / epsilon),
    "|s* - s| = O(1/epsilon^2) for every epsilon": order(A + 1, K / epsilon**2, constant=K),
    "p_ij = O(1/d) for a selection of ratio d": order(
        utility.size / (2 * utility.size - 1), K / utility.size, constant=K
    ),
    "Table 1 with d in place of d^2": equal(
        utility.log_size * letters.dims, utility.log_size / letters.dims * letters.dims
    ),
    "the batch is smaller for every mu < 1": less(
        1 / (letters.dims * (1 - wide) ** 2), letters.dims, "mu < 1 in place of mu < 1 - 1/d"
    ),
    "EXP's lookup is O(d log d) too": order(
        utility.linked**2, K * utility.linked * utility.log_d, constant=K, label="d^2 = O(d log d)"
    ),
    "the flat solution's variance without d/c": equal(flat.coordinate().variance(), A**2 - x**2),
    "PM's worst variance is at most Duchi's": at_most(wang.piecewise_worst(), wang.duchi_worst()),
    "Duchi's worst variance is at most PM's": at_most(wang.duchi_worst(), wang.piecewise_worst()),
    "the least quotient of Table 3 is above 2.44": less(
        Rational("2.44"),
        Min(*(Rational(g) / Rational(c) for row in experiments.TABLE_3.values() for g, c in row if Rational(c) > 0)),
    ),
    "EXP at d = 100, epsilon_1 = 4 finds the top with 0.0404": prints_as(
        (1 - exp(-Rational(4, 99))) / (1 - exp(-Rational(400, 99))), "0.0404"
    ),
    "the top k's share is 12.0% of the ones": prints_as(100 * exp(Rational(1, 5)) / (exp(Rational(1, 5)) + 9), "12.0"),
    "log d/d at d = 100 prints as 0.047": prints_as(log(100) / 100, "0.047"),
    "the bound is best at some mu > 0": at_most(1 / ((1 - wide) * epsilon), 1 / epsilon),
    "noise over signal falls like 1/sqrt(d)": order(utility.size, K / utility.size, constant=K),
    "two-stage noise is at most the flat one's over t": at_most(
        1 / consequences.chance, letters.dims / t, "any selection probability"
    ),
}


def test_neighbouring_false_claims_are_refuted() -> None:
    settled = {name: settle(statement) for name, statement in FALSE.items()}
    assert {name: one.verdict for name, one in settled.items() if one.verdict is not Verdict.REFUTED} == {}
    assert [name for name, one in settled.items() if recheck_part(one.to_dict()) != one.verdict] == []
