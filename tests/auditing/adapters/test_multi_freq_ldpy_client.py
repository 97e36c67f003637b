from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from ldp_audit.auditing import audit
from ldp_audit.auditing.adapters import from_multi_freq_ldpy
from ldp_audit.auditing.outputs import read
from tests.auditing.adapters.stand_ins import grr_client
from tests.together import together


def test_a_seed_decides_the_outputs_and_numpys_generator_is_left_alone() -> None:
    np.random.seed(1)
    expected = np.random.random()
    np.random.seed(1)
    for sampler in (from_multi_freq_ldpy(grr_client, 4, 1.0), from_multi_freq_ldpy(grr_client, k=4, epsilon=1.0)):
        first, again, other = (sampler(2, 50, np.random.default_rng(seed)) for seed in (3, 3, 4))
        assert first == again
        assert first != other
        assert sampler.repeatable
    assert np.random.random() == expected


def test_a_protocol_is_audited_at_its_epsilon() -> None:
    """Epsilon is 1: the first fails once in 1e6 seeds. At 0.2 the event y = 0 has 0.48 and 0.17: missed below 1e-9."""
    sampler = from_multi_freq_ldpy(grr_client, 4, 1.0)
    for claim, verdict in ((1.0, "consistent"), (0.2, "violated")):
        assert audit(sampler, (0, 1), claim, samples=4_000, confidence=1 - 1e-6).verdict == verdict


def hashed(x: int) -> tuple[int, np.int64]:
    """As the library's local hashing: a value and a seed; this one says x in the last bits of the seed."""
    return 1, 2 * np.random.randint(2**58, 2**59, dtype=np.int64) + x


def test_the_last_bits_of_a_seed_are_kept() -> None:
    """float64 would round them away, and with them all that this client gives away."""
    sampler = from_multi_freq_ldpy(hashed)
    halves = read(sampler(1, 20, np.random.default_rng(0)), 20)
    assert halves.shape == "vectors of 3"
    assert np.all(halves.known_numbers[:, 2] % 2 == 1)
    both = from_multi_freq_ldpy(lambda x: (1, (0, np.int64(2**62 + x))))  # one of several attributes
    assert read(both(3, 2, np.random.default_rng(0)), 2).known_numbers.tolist() == [[1, 0, 2**30, 3]] * 2


@together("candidate", [3, int])
def test_what_is_no_client_is_refused(candidate: Any) -> None:
    with pytest.raises(
        ValueError, match="client must be a function of a value and parameters, such as GRR_Client, got"
    ):
        from_multi_freq_ldpy(candidate)


def client(name: str) -> Any:
    """A client of the library's, such as pure_frequency_oracles.GRR.GRR_Client."""
    module, _, function = name.rpartition(".")
    found = pytest.importorskip(f"multi_freq_ldpy.{module}", reason="multi-freq-ldpy is not installed")
    return getattr(found, function)


def test_compiled_clients_are_seeded_and_numbas_generator_is_left_alone() -> None:
    grr = client("pure_frequency_oracles.GRR.GRR_Client")
    njit = pytest.importorskip("numba").njit
    draw = njit(lambda: np.random.random())
    njit(lambda: np.random.seed(1))()
    first_draw, second_draw = draw(), draw()
    njit(lambda: np.random.seed(1))()
    assert draw() == first_draw
    sampler = from_multi_freq_ldpy(partial(grr, k=4, epsilon=1.0))
    first, again, other = (sampler(1, 50, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert first == again
    assert first != other
    assert draw() == second_draw


def test_the_librarys_grr_is_audited_at_its_epsilon() -> None:
    """Epsilon is 1: the first fails once in 1e6 seeds. At 0.9 the odds are 0.48 and 0.17, in 1e5; missed below 1e-9."""
    sampler = from_multi_freq_ldpy(client("pure_frequency_oracles.GRR.GRR_Client"), 4, 1.0)
    for claim, verdict in ((1.0, "consistent"), (0.9, "violated")):
        assert audit(sampler, (0, 1), claim, samples=100_000, confidence=1 - 1e-6, stateless=True).verdict == verdict


@together(
    ("name", "arguments", "x", "shape"),
    [
        ("pure_frequency_oracles.UE.UE_Client", (5, 1.0), 1, "vectors of 5"),
        ("pure_frequency_oracles.SS.SS_Client", (8, 1.0), 1, "vectors of 2"),
        ("pure_frequency_oracles.LH.LH_Client", (8, 1.0), 1, "vectors of 3"),  # needs xxhash < 3.5
        ("mdim_freq_est.RSpFD_solution.RSpFD_GRR_Client", ([3, 4], 2, 1.0), (1, 2), "vectors of 2"),
        ("mdim_freq_est.RSpFD_solution.RSpFD_UE_zero_Client", ([3, 4], 2, 1.0), (1, 2), "vectors of 7"),
        ("mdim_freq_est.SMP_solution.SMP_UE_Client", ([3, 4], 2, 1.0), (1, 2), "numbers or labels"),
    ],
)
def test_encodings_subsets_and_tuples_of_attributes_can_be_read(
    name: str, arguments: tuple[Any, ...], x: Any, shape: str
) -> None:
    sampler = from_multi_freq_ldpy(client(name), *arguments)
    first, again, other = (sampler(x, 40, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert read(first, 40).shape == shape
    assert str(first) == str(again)
    assert str(first) != str(other)
