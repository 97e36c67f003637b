"""The generators that programs share without being handed them: numpy.random, random, and those of numba and torch.

Each is a Mersenne twister. Its 624 words are drawn from the caller's generator, not from a seed of 32 bits, with which
two among some thousands of calls would share their numbers.
"""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np

from ldp_audit.auditing.adapters.torch_tensors import generator_state

_WORDS = 624


@contextmanager
def seeded_globals(rng: np.random.Generator) -> Iterator[None]:
    """Within, the shared generators of the libraries that are loaded are seeded from rng; after it, they are as before.

    They belong to the whole process (numba's to the thread): what another thread draws meanwhile is seeded too.
    """
    with ExitStack() as stack:
        for seeded in (_numpy, _python, _numba, _torch):
            stack.enter_context(seeded(rng))
        yield


def _fresh(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 2**32, _WORDS, dtype=np.uint32)


@contextmanager
def _numpy(rng: np.random.Generator) -> Iterator[None]:
    before = np.random.get_state()
    np.random.set_state(("MT19937", _fresh(rng), _WORDS, 0, 0.0))
    try:
        yield
    finally:
        np.random.set_state(before)


@contextmanager
def _python(rng: np.random.Generator) -> Iterator[None]:
    before = random.getstate()
    random.setstate((3, (*_fresh(rng).tolist(), _WORDS), None))
    try:
        yield
    finally:
        random.setstate(before)


@contextmanager
def _numba(rng: np.random.Generator) -> Iterator[None]:
    """What compiled functions call np.random is a generator of numba's, one for each thread."""
    if "numba" not in sys.modules:
        yield
        return
    states = importlib.import_module("numba._helperlib")
    pointer = states.rnd_get_np_state_ptr()
    before = states.rnd_get_state(pointer)
    states.rnd_set_state(pointer, (_WORDS, _fresh(rng).tolist()))
    try:
        yield
    finally:
        states.rnd_set_state(pointer, before)


@contextmanager
def _torch(rng: np.random.Generator) -> Iterator[None]:
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    on_gpus = torch.cuda.is_initialized()
    with torch.random.fork_rng(devices=range(torch.cuda.device_count()) if on_gpus else ()):
        torch.set_rng_state(generator_state(rng))
        if on_gpus:
            torch.cuda.manual_seed_all(int(rng.integers(2**63)))
        yield
