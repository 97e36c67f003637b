"""A witness is tested again on fresh samples: a true one is confirmed, a lucky or a mended one is not."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ldp_audit.auditing import audit, audit_guesses, audit_scores
from ldp_audit.auditing.bounds import Region
from ldp_audit.auditing.confirm import Retest, confirm, input_of, program_of, witness_in
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.power import Reach
from ldp_audit.auditing.record import record_in
from ldp_audit.auditing.test import IncompleteError
from tests.auditing.worker_samplers import repeating
from tests.together import together

Json = dict[str, Any]


def coin(probability: float) -> Any:
    return lambda x, n, rng: np.where(rng.random(n) < probability, x, -x)


def document_of(sampler: Any, epsilon: float = 1.0, samples: int = 100_000) -> Json:
    return json.loads(json.dumps(audit(sampler, (-1.0, 1.0), epsilon, samples=samples).to_dict()))


class StopsOnce:
    """A coin that fails in one call. What it counts is no memory: its pickle is that of a new one."""

    def __init__(self, call: int) -> None:
        self.call, self.calls = call, 0

    def __reduce__(self) -> Any:
        return StopsOnce, (self.call,)

    def __call__(self, x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        self.calls += 1
        if self.calls == self.call:
            raise ArithmeticError("stop")
        return coin(0.9)(x, n, rng)


@pytest.fixture(scope="module")
def leaky() -> Json:
    return document_of(coin(0.9))


def test_a_true_violation_is_confirmed_on_samples_that_are_all_new(leaky: Json) -> None:
    again = confirm(coin(0.9), witness_in(leaky, "a.json"), seed=0)
    assert again.violated
    assert again.witness.event.to_dict() == leaky["witness"]["event"]
    assert again.witness.counts.trials == leaky["witness"]["trials"][0]
    assert again.witness.counts.hits != leaky["witness"]["hits"][0]  # the same seed, and yet other samples
    assert again.budget == {"event": pytest.approx(0.001)}
    assert "no other was looked for" in again.describe()


def test_the_program_once_mended_is_not_found_guilty(leaky: Json) -> None:
    """Wrongly so at most once in a thousand seeds; this is one."""
    assert not confirm(coin(0.7310585), witness_in(leaky, "a.json")).violated


def test_a_confirmation_can_be_confirmed(leaky: Json) -> None:
    first = confirm(coin(0.9), witness_in(leaky, "a.json"), seed=1).to_dict()
    second = confirm(coin(0.9), witness_in(json.loads(json.dumps(first)), "b.json"), seed=2)
    assert second.violated
    assert second.sections["counted"]["design_epsilon"] == leaky["counted"]["design_epsilon"]


def test_a_program_that_repeats_itself_is_asked_for_one_output_a_call_again() -> None:
    document = document_of(repeating, samples=700)
    assert document["witness"]["calls_for_one"]
    sizes: list[int] = []

    def noted(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        sizes.append(n)
        return repeating(x, n, rng)

    again = confirm(noted, witness_in(document, "a.json"))
    assert again.violated
    assert set(sizes) == {1}
    assert again.witness.calls_for_one


def test_the_bound_of_a_confirmation_exceeds_the_truth_as_rarely_as_it_says() -> None:
    """100 of them at confidence 0.9; a right bound fails with a chance below 1e-6, one of rate 0.4 in 0.995."""
    again = Retest(Event(((0.0, math.inf),)), (1, -1), False, 1.0, None, 0.0, 0.9, 500)
    truth = math.log(0.75 / 0.25)
    over = sum(confirm(coin(0.75), again, seed=seed, stateless=True).epsilon_lower > truth for seed in range(100))
    assert 0 < over <= stats.binom.isf(1e-6, 100, 0.1)


@together("design", [0.0, 1.0, 4.0])
def test_a_confirmation_is_tight_where_the_first_audit_said(design: float) -> None:
    """The bound and what would have been caught are those of the recorded design, and of no other."""
    event = Event(((0.0, math.inf),))
    found = confirm(coin(0.9), Retest(event, (1, -1), False, design, 1.0, 0.0, 0.9, 500), seed=3)
    others = {other: Region(found.witness.counts, 0.1, other).epsilon_lower() for other in (0.0, 1.0, 4.0)}
    assert found.epsilon_lower == pytest.approx(others.pop(design), rel=1e-12)
    assert found.epsilon_lower not in others.values()
    reach = Reach(found.witness.counts, 500, 0.1, 1.0, 0.0, design)
    assert found.detectable_epsilon == pytest.approx(reach.detectable_epsilon, rel=1e-12)


def test_inputs_are_found_again_where_json_has_changed_them() -> None:
    def sampler(x: tuple[int, ...], n: int, rng: np.random.Generator) -> np.ndarray:
        return coin(0.9)(1 if x == (0, 1) else -1, n, rng)

    document = json.loads(json.dumps(audit(sampler, ((0, 1), (0, 2)), 1.0, samples=20_000).to_dict()))
    assert witness_in(document, "a.json", [(0, 2), (0, 1)]).inputs in (((0, 1), (0, 2)), ((0, 2), (0, 1)))
    assert confirm(sampler, witness_in(document, "a.json", [(0, 1), (0, 2)])).violated
    assert [x.tolist() for x in witness_in(document, "a.json").inputs] == document["witness"]["inputs"]
    with pytest.raises(ValueError, match=r"inputs must be told apart by their JSON, which is \[0, 1\] for"):
        witness_in(document, "a.json", [[0, 1], (0, 1), (0, 2)])


def test_lists_of_numbers_are_arrays_for_the_program() -> None:
    assert (input_of([1, 2.5]) * 2).tolist() == [2, 5]
    assert input_of([[0, 1], [1, 0]]).shape == (2, 2)
    for value in (1, "a", None, True, [], ["a", "b"], [[1], [1, 2]], [1, "a"]):
        assert input_of(value) is value


def test_an_unfinished_audit_already_has_its_event(tmp_path: Path) -> None:
    calls = []

    def stops(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        calls.append(n)
        if sum(size > 5_000 for size in calls) > 4:  # the search, of smaller calls, is through
            raise KeyboardInterrupt
        return coin(0.9)(x, n, rng)

    state = tmp_path / "state.json"
    with pytest.raises(KeyboardInterrupt):
        audit(stops, (-1.0, 1.0), 1.0, samples=300_000, resume=state)
    again = witness_in(json.loads(state.read_text()), "state.json")
    assert again.samples > 250_000
    assert confirm(coin(0.9), again).violated


def test_a_confirmation_goes_on_after_an_interruption(leaky: Json, tmp_path: Path) -> None:
    again = replace(witness_in(leaky, "a.json"), samples=500_000)
    state, stops = tmp_path / "state.json", StopsOnce(8)
    with pytest.raises(IncompleteError):
        confirm(stops, again, resume=state)
    before = stops.calls
    resumed = confirm(stops, again, resume=state)
    assert stops.calls - before <= 2 * (32 - 3) + 2 * 16 + 4  # three calls were counted; 16 look for dependence
    assert resumed.witness.counts == confirm(stops, again).witness.counts
    with pytest.raises(ValueError, match="other arguments: seed was 0 and is 5"):
        confirm(stops, again, seed=5, resume=state)


@together(
    ("change", "message"),
    [
        ([], "a.json is no result of an audit; accepted: what --json or --resume wrote"),
        ({"kind": "audit-error"}, "a.json is no result of an audit"),
        ({"schema_version": 3}, "a.json has schema_version 3; accepted: 1"),
        ({"counted": {}}, "a.json is damaged: KeyError: 'inputs'"),
        ({"counted": None}, "a.json is damaged: TypeError"),
    ],
)
def test_other_files_are_refused(leaky: Json, change: Any, message: str) -> None:
    document = change if isinstance(change, list) else {**leaky, **change}
    with pytest.raises(ValueError, match=message):
        witness_in(document, "a.json")


def test_results_without_counts_of_one_event_are_refused() -> None:
    """Catches recorded scores, or guesses, taken for a sequential audit."""
    others = (
        audit(coin(0.9), (-1.0, 1.0), 1.0, samples=10_000, sequential=True),
        audit_scores([1.0] * 50, [0.0] * 50),
        audit_guesses(3, 4),
    )
    for result in others:
        with pytest.raises(
            ValueError, match=r"of a sequential audit, of recorded scores or of guesses, and has no counts"
        ):
            witness_in(result.to_dict(), "a.json")


def test_no_call_of_a_confirmation_has_the_key_of_what_it_confirms() -> None:
    """An audit, its confirmation, one of that, and one of the last: with one seed, and not one sample twice."""
    keys: list[tuple[int, ...]] = []

    def noted(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        keys.append(tuple(rng.bit_generator.seed_seq.generate_state(4).tolist()))
        return coin(0.9)(x, n, rng)

    document = document_of(noted)
    before: set[tuple[int, ...]] = set()
    for _ in range(3):
        before |= set(keys)
        keys.clear()
        document = json.loads(json.dumps(confirm(noted, witness_in(document, "a.json")).to_dict()))
        assert keys
        assert not before & set(keys)


def test_a_confirmation_of_an_unfinished_confirmation_has_samples_of_its_own(leaky: Json, tmp_path: Path) -> None:
    """Its state says the stage before the first count is kept."""
    state = tmp_path / "state.json"

    def fails(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        if n > 1:
            raise ArithmeticError("stop")
        return coin(0.9)(x, n, rng)

    with pytest.raises(IncompleteError):
        confirm(fails, witness_in(leaky, "a.json"), resume=state)
    again = witness_in(json.loads(state.read_text()), "state.json")
    assert (witness_in(leaky, "a.json").stage, again.stage) == (7, 1007)


@together(
    ("change", "message"),
    [
        ({"confidence": 0.3}, r"confidence must be in \[0.5, 1\), got 0.3"),
        ({"samples": 0}, "samples must be a whole number >= 1, got 0"),
        ({"claimed_epsilon": -1.0}, "claimed_epsilon must be a number >= 0, or None, got -1.0"),
    ],
)
def test_what_was_changed_by_hand_is_checked(leaky: Json, change: Json, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        confirm(coin(0.9), replace(witness_in(leaky, "a.json"), **change))


def test_a_program_that_only_the_file_names_is_not_run(leaky: Json) -> None:
    """A result from a stranger with the target os:system, and commands for inputs, would run them."""
    for theirs in ("os:system", "subprocess:getoutput", "their_module:sampler"):
        record = record_in({**leaky, "counted": {**leaky["counted"], "target": theirs}}, "a.json")
        with pytest.raises(ValueError, match=rf"a.json is of the program '{theirs}', which must be named to be run"):
            program_of(None, record, "a.json")
        assert program_of("mine:sampler", record, "a.json") == "mine:sampler"
    for ours in ("TwoPoint(epsilon=1)", "channel.csv", "channel.npz"):
        record = record_in({**leaky, "counted": {**leaky["counted"], "target": ours}}, "a.json")
        assert program_of(None, record, "a.json") == ours


@together(
    "change",
    [
        {"confidence": 7.0},
        {"confidence": math.nan},
        {"claimed_epsilon": -1.0},
        {"claimed_epsilon": "nan"},
        {"claimed_delta": 1.5},
        {"design_epsilon": math.nan},
        {"coverage_floor": -1.0},
        {"inputs": [1]},
        {"parts": [{"seed": 0, "stage": 1, "rows": math.inf, "chunks": [[0, 1]], "hits": [1, 1], "trials": [2, 2]}]},
        {"parts": [{"seed": 0, "stage": 1, "rows": 2, "chunks": [[0, 1]], "hits": [0.5, 1], "trials": [2, 2]}]},
        {"parts": []},
    ],
)
def test_a_record_edited_by_hand_is_damaged(leaky: Json, change: Json) -> None:
    """Would catch a confidence beyond 1, half a hit, and an infinite count, on which a bound would be built."""
    with pytest.raises(ValueError, match=r"a\.json is damaged"):
        witness_in({**leaky, "counted": {**leaky["counted"], **change}}, "a.json")


@together("witness", [{}, {"calls_for_one": True}, 7, {"calls_for_one": True, "event": None}])
def test_a_witness_edited_by_hand_is_damaged(leaky: Json, witness: Any) -> None:
    with pytest.raises(ValueError, match=r"a\.json is damaged"):
        witness_in({**leaky, "witness": witness}, "a.json")
