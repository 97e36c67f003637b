from __future__ import annotations

import random
import sys
import types
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.auditing.adapters.adapted_sampler import seeded_globals
from ldp_audit.auditing.adapters.arrays import generator_state, seeded_generator


def raw(words: np.ndarray, count: int) -> list[int]:
    """What a Mersenne twister of this state draws, by numpy's own."""
    twister = np.random.MT19937()
    twister.state = {"bit_generator": "MT19937", "state": {"key": words.astype(np.uint32), "pos": 624}}
    return twister.random_raw(count).tolist()


def test_the_whole_state_of_torchs_generator_comes_from_rng() -> None:
    """A generator of torch draws word for word what numpy's does from the same 624 words: none is left out."""
    words = np.random.default_rng(8).integers(0, 2**32, 624, dtype=np.uint64)
    generator = torch.Generator()
    generator.set_state(generator_state(np.random.default_rng(8)))
    drawn = torch.empty(2000, dtype=torch.int64).random_(0, 2**16, generator=generator)
    assert drawn.tolist() == [word % 2**16 for word in raw(words, 2000)]


def test_numpy_and_python_draw_from_states_that_come_whole_from_rng() -> None:
    rng = np.random.default_rng(2)
    first, second = (rng.integers(0, 2**32, 624, dtype=np.uint32) for _ in range(2))
    with seeded_globals(np.random.default_rng(2)):
        numpys = np.random.randint(0, 2**32, 700, dtype=np.uint32).tolist()
        pythons = [random.getrandbits(32) for _ in range(700)]
    assert numpys == raw(first, 700)
    assert pythons == raw(second, 700)


def test_all_are_put_back_also_after_an_error() -> None:
    def states() -> list[Any]:
        return [np.random.get_state()[1].tolist(), random.getstate(), torch.get_rng_state().tolist()]

    before = states()
    with seeded_globals(np.random.default_rng(0)):
        assert all(one != other for one, other in zip(states(), before, strict=True))
        _ = np.random.random(), random.random(), torch.rand(1)
    assert states() == before
    with pytest.raises(ZeroDivisionError), seeded_globals(np.random.default_rng(0)):
        _ = 1 / 0
    assert states() == before


def test_numbas_state_is_set_and_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    states: dict[str, Any] = {"np": (5, [1] * 624)}
    module = types.ModuleType("numba._helperlib")
    module.rnd_get_np_state_ptr = lambda: "np"
    module.rnd_get_state = states.__getitem__
    module.rnd_set_state = states.__setitem__
    monkeypatch.setitem(sys.modules, "numba", types.ModuleType("numba"))
    monkeypatch.setitem(sys.modules, "numba._helperlib", module)
    with seeded_globals(np.random.default_rng(0)):
        index, words = states["np"]
        assert index == 624
        assert len(set(words)) == 624
    assert states["np"] == (5, [1] * 624)


def test_a_device_generator_differs_by_rng_alone() -> None:
    draws = [
        torch.rand(4, generator=seeded_generator("cpu", np.random.default_rng(seed))).tolist() for seed in (1, 1, 2)
    ]
    assert draws[0] == draws[1] != draws[2]
