"""Every argument of every public name of the attacks, replaced by hostile values, as in tests/meta."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ldp_audit import mechanisms
from ldp_audit.papers.ldp_fl import attacks
from tests.meta.test_hostile_values import Calls, complaints

RESULTS = {"Attribution", "LinkedPairs", "OwnRange", "TimeLinks", "TimingRow", "ValueLinks", "Arrivals"}
"""Their methods and what makes them are tried, not their constructors."""

WORDS = {
    ("attacks", "offset"): "starts",
    ("name_by_value", "centers"): "center",
    ("tell_pair_by_identifier", "second"): "reports",
}
"""The word for an argument in a message, where it is not its name."""


def calls_of_attacks() -> Calls:
    calls, k, rng = Calls(), attacks, np.random.default_rng(1)
    arrivals = k.Arrivals.of(4, (0, 1, 3))
    late: dict[str, Any] = {"offset": 1, "window": 4}
    calls.add("Arrivals.of", k.Arrivals.of, window=4, starts=(0, 1, 3))
    calls.add("Arrivals.one_late", k.Arrivals.one_late, n=3, **late)
    shuffler = mechanisms.ParameterShuffler((1.0, 1.0), (0.1, 0.2), 3.0)
    calls.add("Arrivals.of_shuffler", k.Arrivals.of_shuffler, shuffler=shuffler)
    calls.add("assign_by_time", k.assign_by_time, times=[1.0, 2.0], starts=[0.0, 1.0], window=4.0, tolerance=0.0)
    calls.add("attacks", k.attacks, n=3, d=2, rounds=1, epsilon=1.0, **late, radii=None)
    calls.add("attacks:radii", k.attacks, n=3, d=2, rounds=1, epsilon=1.0, **late, radii=[1.0, 2.0, 3.0])
    calls.add("exposed_reports", k.exposed_reports, **late, d=2, at_least=2)
    calls.add("find_late_report", k.find_late_report, n=3, **late)
    calls.add("full_models", k.full_models, n=3, d=2)
    calls.add("link_by_value", k.link_by_value, reports=np.array([[1.0, -1.0], [2.0, -2.0]]), ids=None, center=None)
    calls.add("link_two_clients", k.link_two_clients, **late, d=2)
    calls.add("linked_pairs", k.linked_pairs, labels=[0, 0, 1], clients=[0, 0, 1])
    calls.add("name_by_channel", k.name_by_channel, channels=[["a"], ["b"]])
    sent = np.array([[1, 0], [0, 1]])
    calls.add("name_by_identifier", k.name_by_identifier, sent=sent)
    calls.add("tell_pair_by_identifier", k.tell_pair_by_identifier, sent=sent, first=0, second=1)
    calls.add("name_by_value", k.name_by_value, radii=[1.0, 2.0], epsilon=1.0, centers=0.0, d=1, dtype=np.float64)
    calls.add("name_report", k.name_report, arrivals=arrivals, d=1)
    calls.add("name_report_normal_errors", k.name_report_normal_errors, n=3, sigma=1.0, window=4.0)
    calls.add("name_report_uniform_errors", k.name_report_uniform_errors, n=3, length=1, window=4)
    calls.add("name_reports_of_id", k.name_reports_of_id, arrivals=arrivals)
    calls.add("ranges_of", k.ranges_of, reports=[1.0, -1.0, 1.0], epsilon=1.0)
    calls.add("ranges_shown", k.ranges_shown, epsilon=1.0, d=2)
    calls.add("simulate_arrivals", k.simulate_arrivals, arrivals=arrivals, d=1, rng=rng, confidence=0.9)
    calls.add("start_interval", k.start_interval, times=[1.0, 2.0], window=4.0)
    calls.add("table", k.table, rows=[k.full_models(3, 2)])
    calls.add("tell_pair", k.tell_pair, arrivals=arrivals, same=Fraction(1, 2))
    calls.add("tell_start", k.tell_start, **late, d=2)
    calls.add("timing_table", k.timing_table, clients=(2,), reports=(10,), ratios=(Fraction(1, 10),))
    links = k.link_by_value(np.array([[1.0, -1.0], [2.0, -2.0]]), center=0.0)
    calls.add("ValueLinks.ranges", links.ranges, epsilon=1.0)
    calls.add("TimeLinks.guess", k.assign_by_time([1.0, 2.0], [0.0, 1.0], 4.0).guess, rng=rng)
    return calls


def test_every_public_name_is_tried_or_named_here() -> None:
    tried = {name.partition(":")[0].partition(".")[0] for name in calls_of_attacks()}
    assert tried | RESULTS == set(attacks.__all__)


def test_a_hostile_value_is_answered_or_refused_by_name(request: pytest.FixtureRequest) -> None:
    wrong = complaints(calls_of_attacks(), WORDS, every=bool(request.config.getoption("--slow")))
    assert not wrong, "\n".join(wrong)
