"""FedMD-NFDP: the laws from their definition, and neighbouring claims that are false."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from sympy import Integer, Rational, exp, log, sqrt

from ldp_audit.accounting.laws.finite_laws import hockey_stick
from ldp_audit.claims import Statement, at_most, differ, equal, less, prints_as
from ldp_audit.claims.engines.evaluate import exact_value
from ldp_audit.claims.explain import LocalChoice, explanations
from ldp_audit.claims.loading import load_paper
from ldp_audit.claims.recheck import part as recheck_part
from ldp_audit.claims.settling import SettledClaim, settle
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms.selection.subsample_release import SubsampleRelease
from ldp_audit.mechanisms.variable import Variable, oo
from ldp_audit.papers.fedmd_nfdp.claims import samples, table_2, two_events
from ldp_audit.papers.fedmd_nfdp.claims.comparison import bernoulli
from ldp_audit.papers.fedmd_nfdp.claims.symbols import (
    DELTA_WITH,
    DELTA_WITHOUT,
    EPSILON_WITH,
    EPSILON_WITHOUT,
    k,
    k_any,
    kept,
    left_out,
    level,
    n,
    n_any,
    n_spare,
    put,
    q,
)
from ldp_audit.papers.fedmd_nfdp.claims.two_events import WITH, WITHOUT, theorem_1_pair, theorem_2_pair
from tests.papers.conftest import SettledPaper
from tests.together import together

PAPER = load_paper("fedmd-nfdp")


@pytest.fixture(scope="module")
def by_id(settled_paper: SettledPaper) -> dict[str, SettledClaim]:
    return {one.claim.id: one for one in settled_paper(PAPER.key)}


def test_each_of_the_eight_epsilons_differs_from_the_theorem(by_id: dict[str, SettledClaim]) -> None:
    assert {part.verdict for part in by_id["NF-TAB2ln"].parts} == {Verdict.REFUTED}


@together(("name", "failing"), [("NF-TAB2round", 1), ("NF-TAB3", 1), ("NF-TAB23", 1), ("NF-TAB2k", 4), ("NF-PRF", 1)])
def test_no_more_is_held_against_the_paper_than_fails(name: str, failing: int, by_id: dict[str, SettledClaim]) -> None:
    """In its own words, or in a stricter reading of them, which is shown beside as another statement."""
    own = by_id[name].parts
    strict = own if Verdict.REFUTED in {part.verdict for part in own} else by_id[name].groups["another"]
    verdicts = [part.verdict for part in strict]
    assert verdicts.count(Verdict.REFUTED) == failing
    assert Verdict.UNDECIDED not in verdicts


def test_the_smallest_counterexamples(by_id: dict[str, SettledClaim]) -> None:
    def refuted(name: str) -> list[dict]:
        strict = by_id[name].groups["another"]
        return [part.evidence for part in strict if part.verdict is Verdict.REFUTED]

    assert refuted("NF-KN")[0]["point"] == {"k": "1", "n": "1"}
    assert refuted("NF-PRF")[0]["point"] == {"k": "1", "n": "1"}
    assert refuted("NF-PRF")[0]["left"] == "1/2"


# The laws.


@together("replacement", [False, True])
@together(("size", "draws"), [(1, 1), (2, 1), (3, 2), (4, 2), (4, 3), (5, 4), (6, 3)])
def test_the_two_event_law_is_that_of_all_samples(size: int, draws: int, *, replacement: bool) -> None:
    chances = {two_events.n.name: Fraction(size), "k": Fraction(draws)}
    chances["L"], chances["M"] = Fraction(size - 1, size) ** draws, Fraction(size, size + 1) ** draws
    for direction, first, second in samples.neighbours(size, draws, replacement=replacement):
        if "replaced" in direction:
            continue
        record = next(iter({*first} ^ {*second}))
        short = direction.replace("a record", "x")
        pair = next(pair for pair in (WITH if replacement else WITHOUT) if pair.direction == short)
        for records, law in ((first, pair.first), (second, pair.second)):
            listed = samples.sample_law(records, draws, replacement=replacement)
            seen = sum((mass for sample, mass in listed.items() if record in sample), Fraction(0))
            point = {symbol: chances[symbol.name] for symbol in law[1].free_symbols}
            assert exact_value(law[1], point) == seen
            assert exact_value(law[0], point) == 1 - seen


@together("replacement", [False, True])
@together("t", [1, Fraction(3, 2), 3, 10**9])
def test_putting_samples_of_one_ratio_together_loses_nothing(t: Fraction, *, replacement: bool) -> None:
    for _, first, second in samples.neighbours(4, 3, replacement=replacement):
        laws = [samples.sample_law(records, 3, replacement=replacement) for records in (first, second)]
        whole = exact_value(hockey_stick(laws[0], laws[1], t), {})
        assert exact_value(samples.delta(first, second, 3, t, replacement=replacement), {}) == whole


@together("replacement", [False, True])
def test_the_mechanism_has_the_same_profile(*, replacement: bool) -> None:
    mechanism = SubsampleRelease(4, 2, replacement)
    for t in (1, 2, 3):
        found = max(
            exact_value(samples.delta(first, second, 2, t, replacement=replacement), {})
            for _, first, second in samples.neighbours(4, 2, replacement=replacement)
        )
        assert float(found) == pytest.approx(mechanism.delta(float(log(t))))


def test_all_ordered_pairs_are_compared() -> None:
    directions = [direction for direction, _, _ in samples.neighbours(3, 2, replacement=False)]
    assert len(directions) == 5
    assert [direction for direction, _, _ in samples.neighbours(2, 2, replacement=False)] == directions[2:]


# Table 2.


def test_the_search_finds_the_decimal_logarithm_and_eighteen_draws() -> None:
    best = table_2.table_2_explanations()[0]
    assert best.departures == ("base of the logarithm: 10", "k = 18 where 16 is printed", "delta cut off")
    assert len(best.explained) == 16
    assert {group: rivals for group, rivals in best.rivals.items() if rivals} == {}
    assert best.chance() < 1e-30


def test_the_next_explanation_is_worse() -> None:
    first, second, third, *_, last = table_2.table_2_explanations()
    assert (len(first.missed), len(second.missed), len(third.missed)) == (0, 1, 1)
    assert [cell.name for cell in second.missed] == ["FEMNIST, n = 2880, k = 2880: delta"]
    assert last.chance() == 1


def test_another_table_gets_another_explanation() -> None:
    cells = [
        replace(cell, printed=f"{number:.4f}")
        for cell in table_2.table_2_cells()
        for size, draws in [(cell.inputs["n"], cell.inputs["k"])]
        for number in [
            float(log(Rational(size + 1, size + 1 - draws)) if cell.column == "epsilon" else Rational(draws, size))
        ]
    ]
    choices, local = table_2.CHOICES, table_2.DRAWS
    best = explanations(cells, table_2.shown, choices, local)[0]
    assert best.departures == ("formula: Theorem 1",)
    assert len(best.explained) == 16


def test_a_search_over_fewer_draws_does_not_explain_the_first_rows() -> None:
    near = LocalChoice("k", "k", lambda printed: [printed, printed - 1, printed + 1])
    best = explanations(table_2.table_2_cells(), table_2.shown, table_2.CHOICES, near)[0]
    assert {cell.inputs["k"] for cell in best.missed} == {16}


# Neighbouring claims that are false.

t_1 = theorem_1_pair(n_spare)[0]
gain = {pair.direction: pair for pair in WITHOUT}
back = {pair.direction: pair for pair in WITH}
x = 1 / n
B_free = Variable("B", 0, 1)
y = Variable("y", 0, 1, open="left")
w = Variable("w", 1, oo, exp_of=y)
FALSE: dict[str, Statement] = {
    "T1 with k/(n+1)": at_most(gain["from D to D less x"].gain(t_1), k / (n_spare + 1)),
    "T1 with (k-1)/n": at_most(gain["from D to D less x"].gain(t_1), (k - 1) / n_spare),
    "T1 with delta 0": at_most(gain["from D and x to D"].gain(theorem_1_pair(n)[0]), 0),
    "T1, one delta the other way round": equal(
        gain["from D less x to D"].gain(t_1, 0), gain["from D to D less x"].gain(t_1)
    ),
    "T1, epsilon alone covers D less x to D": at_most(gain["from D less x to D"].gain(t_1, 0), 0),
    "T1 with ln(n/(n-k)) for D and x, larger than needed": equal(gain["from D to D and x"].gain(n / (n + 1 - k), 0), 0),
    "T1, the slack is k/(n(n-k))": equal(gain["from D less x to D"].gain(t_1, 0), k / (n_spare * (n_spare - k))),
    "T1, all samples: delta k/(n+1)": at_most(
        samples.largest_excess(
            3,
            3,
            lambda size, j: (Rational(size + 1, size + 1 - j), Fraction(j, size + 1)),
            replacement=False,
            substitution=False,
        ),
        0,
    ),
    "T2, all samples: delta for one draw less": at_most(
        samples.largest_excess(
            3, 3, lambda size, j: (1, 1 - Fraction(size - 1, size) ** (j - 1)), replacement=True, substitution=True
        ),
        0,
    ),
    "T2 with 1 - M": at_most(back["from D to D less x"].gain(1 / kept), 1 - kept),
    "T2 with epsilon 0 and delta 1 - M": at_most(back["from D to D less x"].gain(1), 1 - kept),
    "T2 with delta L": at_most(back["from D to D less x"].gain(theorem_2_pair(n)[0]), left_out),
    "T2, M below L": at_most(kept, left_out),
    "the profile falls": at_most(WITHOUT[0].gain(level), k / n_spare / level),
    "the profile falls with replacement": at_most(WITH[0].gain(level), (1 - left_out) / level),
    "flat at q/2": at_most(q - level * 0, q / 2),
    "R = 2 draws cost 2 q": equal(1 - (1 - q) ** 2, 2 * q),
    "amplification gives k/(n+1)": equal(k / n * 1, k / (n + 1)),
    "the best guess is right with 1/2": at_most((1 + q) / 2, Rational(1, 2)),
    "the posterior if not seen is 1/2": equal((1 - q) / ((1 - q) + 1), Rational(1, 2)),
    "the posterior if not seen is 1 - q": equal((1 - q) / ((1 - q) + 1), 1 - q),
    "Bernoulli the other way": at_most((1 - k * x) * (1 - x), 1 - (k + 1) * x),
    "Bernoulli's step from nothing": at_most(1 - (k + 1) * x, B_free * (1 - x)),
    "Bernoulli's product without its square": equal((1 - k * x) * (1 - x), 1 - (k + 1) * x),
    "Lemma 1 strictly, delta": less(1 - (1 - 1 / n_any) ** k_any, k_any / n_any),
    "Lemma 1 the other way, delta": at_most(k_any / n_any, 1 - (1 - 1 / n_any) ** k_any),
    "Theorem 1's delta is a probability for every k": at_most(k_any / n_any, 1),
    "Theorem 2's delta is Theorem 1's": equal(1 - (1 - 1 / n_any) ** k_any, k_any / n_any),
    "more parties, less epsilon": at_most((n + 1) / n, (n + 2) / (n + 1)),
    "more parties, less delta": at_most(1 - 1 / (n + 1), 1 - 1 / n),
    "the deltas differ by 1.5 at most": at_most(y, Rational(3, 2) * (1 - 1 / w)),
    "Table 2, natural logarithm": prints_as(put(EPSILON_WITH, 300, 60), "0.0867"),
    "Table 2, binary logarithm": prints_as(put(EPSILON_WITH, 300, 60) / log(2), "0.0867"),
    "Table 2, Theorem 1": prints_as(put(EPSILON_WITHOUT, 300, 60) / log(10), "0.0867"),
    "Table 2, k = 17": prints_as(put(DELTA_WITH, 2880, 17), "0.0062"),
    "Table 2, k = 19": prints_as(put(DELTA_WITH, 300, 19), "0.0583"),
    "Table 2, n + 1": prints_as(put(DELTA_WITH, 301, 60), "0.1815"),
    "Table 2, without replacement": prints_as(put(DELTA_WITHOUT, 300, 60), "0.1815"),
    "delta n is below 1": at_most(300 * Rational("0.0583"), 1),
    "Fig. 2 with k = 18": at_most(abs(log(put(EPSILON_WITH, 300, 18)) / log(10) + 2), Rational(1, 10)),
    "the noise is moderate": at_most(sqrt(Integer(600_000)) / Rational("0.218"), 1000),
    "1/(1 - 1/e) is 1.6": prints_as(1 / (1 - exp(-1)), "1.60"),
    "k = n and no delta": equal(WITHOUT[3].first[1], 0),
    "seen although absent": differ(WITHOUT[0].second[1], 0),
}


def test_neighbouring_false_claims_are_refuted() -> None:
    settled = {name: settle(statement) for name, statement in FALSE.items()}
    assert {name: one.verdict for name, one in settled.items() if one.verdict is not Verdict.REFUTED} == {}
    assert [name for name, one in settled.items() if recheck_part(one.to_dict()) != "REFUTED"] == []


def test_bernoulli_holds_for_every_k_in_the_unit_interval() -> None:
    anywhere = Variable("x", 0, 1)
    assert {settle(statement).verdict for statement in bernoulli(anywhere, k_any, "")} == {Verdict.PROVED}


# The figures.


def test_the_figures_show_the_flat_profile_and_the_printed_pairs() -> None:
    assert PAPER.figures is not None
    profile, worth = PAPER.figures()
    femnist, cifar = profile.panels
    exact = [series for series in femnist.series if series.label.startswith("exact")]
    assert [len(set(series.y)) for series in exact] == [1, 1, 1, 1]
    assert exact[0].y[0] == pytest.approx(0.00623159, rel=1e-5)
    printed = next(series for series in cifar.series if series.label.startswith("Table 2"))
    assert (list(printed.x), list(printed.y)) == ([0.026, 0.0867, 0.1734, 0.4336], [0.0583, 0.1815, 0.3301, 0.6327])
    ratio = worth.panels[1].series[0].y
    assert ratio[0] == pytest.approx(1)
    assert ratio[-1] == pytest.approx(1.5804, abs=1e-3)
    assert max(ratio) < 1.582
