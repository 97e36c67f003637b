from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ldp_audit.auditing import audit
from ldp_audit.auditing.adapters import from_mechanism
from ldp_audit.auditing.outputs import read
from ldp_audit.mechanisms import ParameterShuffler, SubsampleRelease, SymbolicChannel, TwoPoint, Variable
from tests.frequency import assert_frequency
from tests.mechanisms.test_every_mechanism import MECHANISMS
from tests.together import together

BATCHED = [name for name in MECHANISMS if name != "SubsampleRelease"]


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", BATCHED)
@pytest.mark.parametrize("which", [0, 1])
def test_every_mechanism_reports_as_its_sample_does(name: str, which: int) -> None:
    m = MECHANISMS[name]
    x = np.asarray(m.worst_pair()[which])
    for given in (x, x.tolist()):
        outputs = from_mechanism(m)(given, 7, np.random.default_rng(5))
        direct = m.sample(np.broadcast_to(x, (7, *x.shape)).copy(), rng=np.random.default_rng(5))
        columns = direct if isinstance(direct, tuple) else (direct,)
        expected = np.concatenate([np.reshape(part, (7, -1)) for part in columns], axis=1)
        assert np.array_equal(np.reshape(outputs, (7, -1)), expected)
        assert len(read(outputs, 7)) == 7


@together("n", [5, 10])
def test_a_data_set_is_sampled_afresh_for_each_output(n: int) -> None:
    """Also where as many outputs are asked for as there are records."""
    m = SubsampleRelease(10, 3)
    outputs = read(from_mechanism(m)(np.arange(10), n, np.random.default_rng(1)), n)
    assert outputs.shape == "vectors of 3"
    assert len(np.unique(outputs.known_numbers, axis=0)) > 1
    assert set(outputs.known_numbers.ravel()) <= set(range(10))


def test_a_shuffled_round_is_one_output() -> None:
    """Two clients' three reports each: six times, six ids, six values."""
    reports = TwoPoint(1.0).sample(np.zeros((2, 3)), rng=np.random.default_rng(0))
    outputs = from_mechanism(ParameterShuffler([1.0, 2.0], [0.1, 0.1], 1.0))(reports, 4, np.random.default_rng(0))
    assert np.array(outputs).shape == (4, 18)
    assert len(np.unique(np.array(outputs)[:, 0])) == 4
    assert all(sorted(row[12:]) == sorted(reports.ravel()) for row in outputs)


def test_a_channel_of_two_inputs_takes_them_as_a_tuple() -> None:
    a, b = Variable("a", 0, 1), Variable("b", 0, 1)
    m = SymbolicChannel("two", [a, b], {1: (1 + a + 2 * a * b) / 5, 0: 1 - (1 + a + 2 * a * b) / 5}).bind()
    drawn = from_mechanism(m)((1.0, 0.5), 20_000, np.random.default_rng(2))
    assert_frequency(int((drawn == 1).sum()), 20_000, 3 / 5)


class Recording:
    """Any object with sample(x, rng=...) will do."""

    def __init__(self) -> None:
        self.rows: list[int] = []

    def sample(self, x: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
        self.rows.append(len(x))
        return x[:, 0] + rng.random(len(x))


def test_the_input_is_repeated_in_batches_of_bounded_size() -> None:
    m = Recording()
    outputs = from_mechanism(m)(np.zeros(1000), 3000, np.random.default_rng(0))
    assert len(np.unique(outputs)) == 3000
    assert sum(m.rows) == 3000
    assert max(m.rows) * 1000 <= 2**20


@together("candidate", [TwoPoint, 3, np.random.default_rng(0), lambda x, n, rng: x])
def test_what_has_no_sample_is_refused(candidate: Any) -> None:
    with pytest.raises(ValueError, match=r"mechanism must have a method sample\(x, rng=...\), got"):
        from_mechanism(candidate)


@together("name", ["ExponentialSelection", "PerturbedEncoding", "FiniteChannel", "TwoStage"])
def test_rankings_sets_vectors_and_tables_are_audited_at_their_epsilon(name: str) -> None:
    """At the exact epsilon it fails once in 1e6 seeds; half of it is shown with this seed."""
    m = MECHANISMS[name]
    for share, verdict, samples in ((1.0, "consistent", 4_000), (0.5, "violated", 20_000)):
        pair = [np.asarray(x) for x in m.worst_pair()]
        found = audit(from_mechanism(m), pair, share * m.exact_epsilon(), samples=samples, confidence=1 - 1e-6)
        assert found.verdict == verdict
