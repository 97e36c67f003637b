"""The formulas for attacks on arrival times against complete enumeration, the paper's claims, and simulation."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from ldp_audit.mechanisms import ParameterShuffler
from ldp_audit.papers.ldp_fl.attacks import (
    Arrivals,
    assign_by_time,
    exposed_reports,
    find_late_report,
    link_two_clients,
    name_report,
    name_report_normal_errors,
    name_report_uniform_errors,
    name_reports_of_id,
    simulate_arrivals,
    start_interval,
    tell_pair,
    tell_start,
    timing_table,
)
from ldp_audit.papers.ldp_fl.claims.timing import pairing_success
from tests.frequency import FALSE_ALARM, assert_frequency
from tests.together import together

STARTS = [
    (0,),
    (0, 0),
    (0, 1),
    (0, 3),
    (0, 4),
    (0, 6),
    (0, 0, 2),
    (0, 1, 3),
    (2, 0, 0),
    (0, 2, 7),
    (1, 0, 5),
    (0, 1, 1),
]
WINDOW = 4


def slots(starts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All arrivals of one id in whole slots, equally likely: slot t stands for the times in [t, t + 1)."""
    return itertools.product(*(range(start, start + WINDOW) for start in starts))


def assignments(times: tuple[int, ...], starts: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The clients that can have sent the reports, by trying every permutation."""
    clients = itertools.permutations(range(len(starts)))
    return [one for one in clients if all(starts[c] <= t < starts[c] + WINDOW for t, c in zip(times, one, strict=True))]


def sure_names(starts: tuple[int, ...]) -> Fraction:
    """The expected share of reports of an id that only one client can have sent, given all times."""
    sure, rounds = 0, list(slots(starts))
    for times in rounds:
        fitting = assignments(times, starts)
        sure += sum(len({one[report] for one in fitting}) == 1 for report in range(len(starts)))
    return Fraction(sure, len(rounds) * len(starts))


def best_names(starts: tuple[int, ...]) -> Fraction:
    """The expected share of right names by the best guess from all times of an id."""
    right, rounds = Fraction(0), 0
    for times in slots(starts):
        fitting = assignments(times, starts)
        for report in range(len(starts)):
            named = [one[report] for one in fitting]
            right += Fraction(max(named.count(client) for client in set(named)), len(fitting))
        rounds += len(starts)
    return right / rounds


@together("starts", STARTS)
def test_one_report_is_named_as_often_as_by_enumeration(starts: tuple[int, ...]) -> None:
    """Would catch a cell left out, counted twice, or a tie that is guessed too well."""
    masses: defaultdict[int, list[int]] = defaultdict(list)
    for client, start in enumerate(starts):
        for slot in range(start, start + WINDOW):
            masses[slot].append(client)
    arrivals, all_masses = Arrivals.of(WINDOW, starts), len(starts) * WINDOW
    found = name_report(arrivals)
    assert found.success == Fraction(len(masses), all_masses)
    assert found.exposed == Fraction(sum(len(senders) == 1 for senders in masses.values()), all_masses)
    assert arrivals.exposed() == tuple(
        Fraction(sum(senders == [client] for senders in masses.values()), WINDOW) for client in range(len(starts))
    )


def test_two_clients_are_named_with_one_half_plus_half_the_offset() -> None:
    for offset in (0, 1, 3, 6):
        assert name_report(Arrivals.of(6, (0, offset))).success == Fraction(1, 2) + Fraction(offset, 12)


@together("starts", STARTS)
def test_the_best_names_of_an_id_lie_within_the_bounds(starts: tuple[int, ...]) -> None:
    """Would catch an upper bound that is too low, or an 'exact' that is not."""
    found, truth = name_reports_of_id(Arrivals.of(WINDOW, starts)), best_names(starts)
    if found.exact:
        assert found.success == truth
        assert found.exposed == sure_names(starts)
    else:
        assert found.bounds is not None
        assert found.bounds[0] <= truth <= found.bounds[1]
    assert found.exact == (len(starts) <= 2 or len(set(starts)) == 1)


def test_disjoint_windows_name_everything() -> None:
    found = name_reports_of_id(Arrivals.of(1, (0, 5, 10)))
    assert (found.success, found.exact, found.exposed) == (1, True, 1)


@together(("n", "offset"), [*itertools.product((1, 2, 3, 4), (-3, 0, 1, 2, 4, 9))])
def test_the_late_clients_report_is_found_as_often_as_by_enumeration(n: int, offset: int) -> None:
    starts = (*[0] * (n - 1), offset)
    right, rounds = Fraction(0), 0
    for times in slots(starts):
        chances = [sum(one[k] == n - 1 for one in assignments(times, starts)) for k in range(n)]
        right += Fraction(max(chances), sum(chances))
        rounds += 1
    assert find_late_report(n, offset, WINDOW).success == right / rounds


@together("offset", [0, 1, 2, 3, 6])
def test_parting_two_clients_agrees_with_the_papers_claim(offset: int) -> None:
    """Two routes: the claim enumerates four arrivals, the formula does not."""
    assert Fraction(str(pairing_success(6, offset).doit())) == link_two_clients(offset, 6, 2).success


def test_parting_two_clients_gives_the_claims_numbers() -> None:
    found = [link_two_clients(offset, 6, 2).success for offset in (0, 1, 3, 6)]
    assert found == [Fraction(1, 2), Fraction(1417, 2592), Fraction(25, 32), 1]


@together(("offset", "d"), [*itertools.product((0, 1, 3, 4), (1, 2, 3))])
def test_parting_two_clients_agrees_with_the_best_partition(offset: int, d: int) -> None:
    starts, masses = (0, offset), defaultdict(lambda: defaultdict(Fraction))
    for ids in itertools.product(list(slots(starts)), repeat=d):
        seen = tuple(tuple(sorted(times)) for times in ids)
        straight = tuple(times[0] <= times[1] for times in ids)  # which of an id's listed reports is the first client's
        ties = [(True, False) if times[0] == times[1] else (way,) for times, way in zip(ids, straight, strict=True)]
        weight = Fraction(1, np.prod([len(tie) for tie in ties]).item())
        for ways in itertools.product(*ties):
            masses[seen][tuple(way == ways[0] for way in ways)] += weight
    total = sum(sum(of.values()) for of in masses.values())
    assert link_two_clients(offset, WINDOW, d).success == sum(max(of.values()) for of in masses.values()) / total


@together(("starts", "same"), [*itertools.product(STARTS[1:], (Fraction(1, 2), Fraction(1, 5)))])
def test_two_reports_are_told_apart_as_often_as_by_enumeration(starts: tuple[int, ...], same: Fraction) -> None:
    n, masses = len(starts), defaultdict(lambda: [Fraction(0), Fraction(0)])
    for one, two in itertools.product(range(n), repeat=2):
        share = same / n if one == two else (1 - same) / (n * (n - 1))
        for a, b in itertools.product(range(WINDOW), repeat=2):
            masses[starts[one] + a, starts[two] + b][one == two] += share / WINDOW**2
    found = tell_pair(Arrivals.of(WINDOW, starts), same)
    assert found.success == sum(max(pair) for pair in masses.values())
    assert found.exposed == sum(max(pair) for pair in masses.values() if 0 in pair)
    assert found.chance == max(same, 1 - same)


@together(("offset", "d"), [*itertools.product((0, 1, 3, 4, 7), (1, 2, 4))])
def test_a_start_is_told_as_often_as_the_total_variation_says(offset: int, d: int) -> None:
    first, second = (set(itertools.product(range(start, start + WINDOW), repeat=d)) for start in (0, offset))
    variation = 1 - Fraction(len(first & second), WINDOW**d)
    assert tell_start(offset, WINDOW, d).success == (1 + variation) / 2
    assert tell_start(offset, WINDOW, d).exposed == variation


def test_exposed_reports_follow_the_binomial_law() -> None:
    q, d = Fraction(1, 7), 5
    by_hand = 1 - (1 - q) ** d - d * q * (1 - q) ** (d - 1)
    assert exposed_reports(1, 7, d) == pytest.approx(float(by_hand), rel=1e-13)
    assert f"{exposed_reports(1, 1000, 10**4):.5f}" == "0.99950"  # as the claim LF-TIMEcont prints it
    assert (exposed_reports(0, 1, 10**6), exposed_reports(3, 1, 10), exposed_reports(0.5, 1, 1)) == (0, 1, 0)


def test_equal_starts_leave_every_attack_at_chance() -> None:
    """The paper's case. Would catch an attack that calls noise a success."""
    together = Arrivals.of(0.3, [0.1] * 50)
    rows = [name_report(together), name_reports_of_id(together), tell_pair(together), find_late_report(50, 0, 1)]
    rows += [link_two_clients(0, 1, 7), tell_start(0, 1, 10**6)]
    for row in rows:
        assert row.exact
        assert (row.success, row.advantage, row.exposed) == (row.chance, 0, 0)


def test_large_sizes_are_floats_near_the_truth() -> None:
    assert tell_start(1e-9, 1.0, 10**9).exposed == pytest.approx(-np.expm1(-1.0), rel=1e-8)
    assert link_two_clients(1e-3, 1.0, 10**6).success == pytest.approx(0.0, abs=1e-300)
    assert float(find_late_report(500, 1e-3, 1.0).success) == pytest.approx(0.001 + 0.002, rel=1e-12)


def test_windows_in_any_order_and_of_any_kind_of_number_are_the_same() -> None:
    numbers = [Arrivals.of(2, (3, 0, 1)), Arrivals.of(np.float32(2), np.array([1.0, 3.0, 0.0]))]
    assert len({(name_report(one).success, tell_pair(one).success) for one in numbers}) == 1
    assert numbers[0].exposed() == (1, Fraction(1, 2), Fraction(1, 2))


def test_a_shufflers_errors_of_prediction_are_the_starts() -> None:
    shuffler = ParameterShuffler((1.0, 2.0), (0.5, 0.5), 2.0, actual_training=(1.5, 2.0))
    arrivals = Arrivals.of_shuffler(shuffler)
    assert arrivals.spread() == Fraction(1, 4)
    assert arrivals.exposed() == (Fraction(1, 4), Fraction(1, 4))
    perfect = Arrivals.of_shuffler(ParameterShuffler((1.0, 2.0), (0.5, 0.5), 2.0))
    assert name_report(perfect).success == Fraction(1, 2)


@together("starts", STARTS)
def test_candidates_are_those_of_some_assignment(starts: tuple[int, ...]) -> None:
    """Times amid slots. Would catch a block cut too early (a sender excluded) and one that is never cut."""
    rounds = list(slots(starts))
    begin = np.array(starts, dtype=float)
    links = assign_by_time(np.array(rounds) + 0.5, begin, float(WINDOW))
    place = {client: k for k, client in enumerate(np.argsort(begin, kind="stable").tolist())}
    for times, first, count, sure in zip(rounds, links.first, links.candidates, links.clients, strict=True):
        fitting = assignments(times, starts)
        for report in range(len(starts)):
            possible = {one[report] for one in fitting}
            assert {place[client] for client in possible} <= set(range(first[report], first[report] + count[report]))
            assert (len(possible) == 1) == (count[report] == 1)
            assert sure[report] == (possible.pop() if len(possible) == 1 else -1)
    assert links.success <= float(best_names(starts)) + 1e-12


def test_reports_without_ids_are_judged_alone() -> None:
    links = assign_by_time([0.2, 1.4, 2.6, 0.2], [1.0, 0.0], 2.0)
    assert links.clients.tolist() == [1, -1, 0, 1]
    assert links.exposed == 0.75
    assert links.guess(np.random.default_rng(0)).tolist()[::2] == [1, 0]


@together("d", [1, 2, 50])
def test_the_start_interval_always_holds_the_start_and_has_its_mean_length(d: int) -> None:
    """False alarm: the mean of 4000 lengths in [0, T], by Hoeffding's bound 1e-6 (within 0.043 T)."""
    rng = np.random.default_rng(d)
    intervals = np.array([start_interval(7.0 + 2.0 * rng.random(d), 2.0) for _ in range(4000)])
    assert np.all((intervals[:, 0] <= 7.0) & (intervals[:, 1] >= 7.0))
    bound = 2.0 * np.sqrt(np.log(2 / FALSE_ALARM) / (2 * 4000))
    assert np.mean(intervals[:, 1] - intervals[:, 0]) == pytest.approx(4.0 / (d + 1), abs=bound)


def test_the_earliest_report_misses_the_start_as_often_as_said() -> None:
    rng = np.random.default_rng(3)
    misses = sum(start_interval(rng.random(20), 1.0)[1] > 0.1 for _ in range(3000))
    assert_frequency(misses, 3000, 0.9**20)


@together(
    "arrivals",
    [Arrivals.one_late(2, Fraction(1, 3), 1), Arrivals.one_late(20, Fraction(1, 4), 1), Arrivals.of(1, [0, 0.2, 0.7])],
)
def test_simulated_attacks_achieve_what_the_formulas_say(arrivals: Arrivals) -> None:
    """Each interval misses the truth with probability 1e-6; power: 3000 ids show an error of about 0.05 of an id's."""
    rows = simulate_arrivals(arrivals, 3000, rng=np.random.default_rng(5), confidence=1 - FALSE_ALARM)
    assert len(rows) == (3 if len(set(arrivals.starts)) == 2 else 2)
    for row in rows:
        assert row.bounds is not None
        assert not row.exact
        if row.theory is not None:
            assert row.bounds[0] <= row.theory <= row.bounds[1]
    most = name_reports_of_id(arrivals)
    assert rows[1].bounds is not None
    assert rows[1].bounds[0] <= float((most.bounds or (0, most.success))[1])


def test_a_simulation_would_notice_a_wrong_formula() -> None:
    rows = simulate_arrivals(
        Arrivals.one_late(20, Fraction(1, 4), 1), 3000, rng=np.random.default_rng(5), confidence=1 - FALSE_ALARM
    )
    late = rows[2].bounds
    assert late is not None
    assert not late[0] <= 0.25 <= late[1]  # q alone, without the guess in the common time


def test_simulations_repeat_and_do_not_depend_on_the_order_of_clients() -> None:
    one, two = (
        [row.success for row in simulate_arrivals(Arrivals.of(1, [0, 0, 0.5]), 100, rng=np.random.default_rng(1))]
        for _ in range(2)
    )
    assert one == two
    early = simulate_arrivals(Arrivals.of(1, [-0.5, 0, 0]), 3000, rng=np.random.default_rng(2))
    assert early[2].theory == find_late_report(3, -0.5, 1).success


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 200, 500])
def test_simulations_at_the_papers_sizes(n: int) -> None:
    arrivals = Arrivals.one_late(n, Fraction(1, 10), 1)
    rows = simulate_arrivals(arrivals, 10_000, rng=np.random.default_rng(n), confidence=1 - FALSE_ALARM)
    for row in (rows[0], rows[2]):
        assert row.bounds is not None
        assert row.theory is not None
        assert row.bounds[0] <= row.theory <= row.bounds[1]


@together(("n", "length"), [*itertools.product((1, 2, 5), (0.0, 0.5, 3.0))])
def test_random_uniform_starts_are_named_as_the_mean_over_drawn_ones(n: int, length: float) -> None:
    """Hoeffding's bound on the mean of 1000 shares in [1/n, 1]: false alarm 1e-6, at most 0.086."""
    rng = np.random.default_rng(7)
    drawn = [name_report(Arrivals.of(1.0, length * rng.random(n))) for _ in range(1000)]
    bound = np.sqrt(np.log(2 / FALSE_ALARM) / 2000)
    found = name_report_uniform_errors(n, length, 1.0)
    assert float(found.success) == pytest.approx(np.mean([float(one.success) for one in drawn]), abs=bound)
    assert float(found.exposed) == pytest.approx(np.mean([float(one.exposed) for one in drawn]), abs=bound)


def test_random_starts_of_two_clients_in_closed_form() -> None:
    """Two: E|s_1 - s_2| is L/3 for uniform errors within a window, 2 sigma / sqrt(pi) for normal ones."""
    assert name_report_uniform_errors(2, Fraction(1, 2), 1).success == Fraction(1, 2) + Fraction(1, 12)
    normal = name_report_normal_errors(2, 0.01, 1.0)
    assert float(normal.success) == pytest.approx(0.5 + 0.01 / np.sqrt(np.pi), rel=1e-9)
    assert float(normal.exposed) == pytest.approx(2 * 0.01 / np.sqrt(np.pi), rel=1e-9)


def test_random_starts_at_their_ends() -> None:
    assert name_report_normal_errors(5, 0.0, 1.0).success == pytest.approx(0.2)
    assert name_report_normal_errors(1, 0.3, 1.0).success == pytest.approx(1.0)
    assert float(name_report_normal_errors(3, 1e6, 1.0).success) == pytest.approx(1.0, abs=1e-5)
    # two starts, windows alone with probability near 1: 1 - E[overlap] / 2, from mpmath at 40 digits
    low, high = name_report_normal_errors(2, 1e9, 1.0).bounds
    assert low <= 0.99999999985895 <= high
    assert float(name_report_normal_errors(100, 1e-9, 1.0).success) == pytest.approx(0.01, rel=1e-6)
    assert float(name_report_uniform_errors(500, 1e9, 1.0).success) == pytest.approx(1.0, abs=1e-5)


def test_the_table_has_a_row_for_each_case_and_is_plain_numbers() -> None:
    rows = timing_table((2, 100), (10_000,), (0, Fraction(1, 1000)))
    assert [(row.n, row.d, row.ratio) for row in rows] == [
        (n, 10_000, q) for n in (2, 100) for q in (0, Fraction(1, 1000))
    ]
    assert rows[0].find == rows[0].chance
    assert f"{rows[3].linked:.5f}" == "0.99950"
    assert rows[3].expected == 10.0
    assert all(type(number) in (int, float) for row in rows for number in row.to_dict().values())


@together(
    ("call", "message"),
    [
        (lambda: Arrivals.of(0, [1]), "window must be positive, got 0"),
        (lambda: Arrivals.of(float("nan"), [1]), "window must be finite real numbers, got nan"),
        (lambda: Arrivals.of(1, []), "starts must be one number a client"),
        (lambda: Arrivals.of(1, 3.0), "starts must be a sequence"),
        (lambda: Arrivals.of(1, [True]), "starts must be finite"),
        (lambda: Arrivals.of(1, [float("inf")]), "starts must be finite"),
        (lambda: Arrivals.one_late(0, 1, 1), "n must be a whole number >= 1, got 0"),
        (lambda: tell_pair(Arrivals.of(1, [0])), "two clients"),
        (lambda: tell_pair(Arrivals.of(1, [0, 1]), 1), "same must lie in"),
        (lambda: tell_start(1, 1, 0), "d must be a whole number >= 1, got 0"),
        (lambda: exposed_reports(1, 1, 5, 0), "at_least must be"),
        (lambda: start_interval([], 1.0), "times must have shape"),
        (lambda: start_interval([0.0, 1.5], 1.0), "within one window"),
        (lambda: start_interval([0.0], -1.0), "window must be positive"),
        (lambda: assign_by_time([[0.0, 1.0]], [0.0], 1.0), "times must have shape"),
        (lambda: assign_by_time([0.0], [], 1.0), "starts must have shape"),
        (lambda: assign_by_time([0.0], [0.0], 0.0), "window must be positive"),
        (lambda: assign_by_time([5.0], [0.0], 1.0), "some client's window, got 5.0"),
        (lambda: assign_by_time([[0.5, 0.6], [0.1, 0.2]], [0.0, 0.5], 1.0), "row 1 does not"),
        (lambda: assign_by_time([1.7e18], [1_700_000_000_000_000_127], 1100), "starts must be at most 2.*53 in size"),
        (lambda: start_interval([2**53 + 1], 1), "times must be at most 2.*53 in size"),
        (lambda: simulate_arrivals(Arrivals.of(1, [0]), 1, rng=np.random.default_rng(0), confidence=1.0), "confidence"),
        (lambda: name_report_uniform_errors(2, -1, 1), "must be >= 0"),
        (lambda: name_report_normal_errors(2, 1.0, 0.0), "window > 0"),
    ],
)
def test_bad_input_is_named(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_tolerance_admits_what_a_coarse_clock_reports() -> None:
    with pytest.raises(ValueError, match="some client's window"):
        assign_by_time([-0.01], [0.0], 1.0)
    assert assign_by_time([-0.01], [0.0], 1.0, tolerance=0.02).clients.tolist() == [0]
