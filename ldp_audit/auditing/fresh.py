"""A program as it was before its first call, asked again in processes that have never called it.

What a program remembers from call to call (a permanent answer for each value, a cache, a generator that it made once)
makes all outputs of a run depend on one draw, and no comparison within the run shows it. So the sampler is pickled
before its first call. Where a claim would be refuted, and the pickle has changed since, or the first call made again
does not give what it gave (`Program.repeats_its_first_call`), a new process loads the pickle, is copied 16 times, and
each copy counts the event in outputs of its own: (hits on the first input, hits on the second). The global generators
of Python, numpy and torch are seeded anew in each copy. Where all copies still count the same, as with a generator that
the program's module has made, each loads the pickle itself; and where even these count the same, as with a generator in
the pickle, one is kept.

A function or class of a module is pickled by its name, so that the new process imports the module anew; what has no
such name is pickled by value, which needs cloudpickle.
"""

from __future__ import annotations

import io
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ldp_audit.auditing.program import DEPENDENCE, Program, Sampler
from ldp_audit.auditing.result import Witness

COPIES, COPIED = 16, 256
"""Copies of the new process, and outputs of each on either input."""

_SECONDS = 60.0
_MOST_BYTES = 2**26
_FIRST_COPY = 1000  # in keys, after the calls of the other look for dependence


class NotFreshError(Exception):
    """The program could not be asked afresh. The message says why."""


class Fresh:
    """The sampler as it is now, to be asked later.   Not kept where its pickle takes more than 64 MB."""

    def __init__(self, sampler: Sampler) -> None:
        self._pickle, self._why = b"", ""
        try:
            self._pickle = _pickled(sampler)
        except Exception as error:  # noqa: BLE001  (a user's object may raise anything when it is pickled)
            self._why = f"it cannot be pickled, {type(error).__name__}: {error}"

    def differs(self, sampler: Sampler) -> bool:
        """Whether the sampler's pickle is another one by now, as that of an object which keeps its answers is."""
        return bool(self._pickle) and self._pickle != Fresh(sampler)._pickle  # noqa: SLF001  (of the same class)

    def counts(self, program: Program, witness: Witness, stage: int) -> np.ndarray:
        """The event's hits in each copy, shape (2, COPIES); (2, 1) where all draw the same. Raises NotFreshError."""
        if not self._pickle:
            raise NotFreshError(self._why)
        settings = replace(program, sampler=None, inputs=())  # type: ignore[arg-type]
        try:
            job = pickle.dumps((sys.path, self._pickle, settings, witness, stage))
        except Exception as error:
            raise NotFreshError(f"its inputs cannot be pickled, {type(error).__name__}: {error}") from error
        try:
            ran = subprocess.run(  # noqa: S603  (this module, in this interpreter)
                [sys.executable, "-m", __name__], input=job, capture_output=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise NotFreshError(f"a new process took more than {_SECONDS:g} s") from None
        if ran.returncode:
            last = ran.stderr.decode(errors="replace").strip().splitlines()[-1:]
            raise NotFreshError(f"a new process cannot ask it: {' '.join(last)}")
        return np.frombuffer(ran.stdout, dtype=np.int64).reshape(-1, 2).T


class _Limited(io.BytesIO):
    def write(self, data: Any) -> int:
        if self.tell() + len(data) > _MOST_BYTES:
            raise ValueError(f"its pickle takes more than {_MOST_BYTES >> 20} MB")
        return super().write(data)


def _pickled(sampler: Sampler) -> bytes:
    try:
        file = _Limited()
        pickle.dump(sampler, file)
        if b"__main__" not in file.getvalue():
            return file.getvalue()
    except (pickle.PicklingError, AttributeError, TypeError):  # a lambda, a function within another
        pass
    import cloudpickle

    file = _Limited()
    cloudpickle.dump(sampler, file)
    return file.getvalue()


def _main() -> None:
    """In the new process: read the job, count in copies, write the counts."""
    answers = os.dup(1)
    os.dup2(2, 1)  # what the program prints is no answer
    path, pickled, program, witness, stage = pickle.loads(sys.stdin.buffer.read())  # noqa: S301  (from our parent)
    sys.path[:] = path

    def counts() -> list[list[int]]:
        return [_in_a_copy(partial(_counted, pickled, program, witness, (stage, copy))) for copy in range(COPIES)]

    def imported_once() -> tuple[list[list[int]], bool]:
        pickle.loads(pickled)  # noqa: S301  (likewise: what it imports is imported once, not in each copy)
        return counts(), "torch" in sys.modules

    found, with_torch = _in_a_copy(imported_once)
    if _alike(found):
        if with_torch:  # seconds for each copy; its generator is seeded anew in all of them
            import torch  # noqa: F401
        found = counts()
    if _alike(found):
        del found[1:]
    os.write(answers, np.array(found, dtype=np.int64).tobytes())


def _alike(counts: list[list[int]]) -> bool:
    """Whether all copies drew the same, as their counts show."""
    return any(0 < column[0] < COPIED and len({*column}) == 1 for column in zip(*counts, strict=True))


def _in_a_copy(work: Callable[[], Any]) -> Any:
    """What it gives in a copy of this process; where there are none (Windows), in this one."""
    if not hasattr(os, "fork"):
        return work()
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(sink, pickle.dumps(work()))
            os._exit(0)
        except BaseException as error:  # noqa: BLE001  (said by the parent)
            os.write(sink, pickle.dumps(f"{type(error).__name__}: {error}"[:1000]))
            os._exit(1)
    os.close(sink)
    with os.fdopen(source, "rb") as answer:
        found = pickle.loads(answer.read() or pickle.dumps("a copy of it died"))  # noqa: S301  (from our child)
    os.waitpid(child, 0)
    if isinstance(found, str):
        raise SystemExit(found)
    return found


def _counted(pickled: bytes, program: Program, witness: Witness, key: tuple[int, int]) -> list[int]:
    stage, copy = key
    random.seed(repr((program.seed, key)))
    np.random.seed(random.getrandbits(32))  # the program may use it
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(random.getrandbits(63))
    asked = replace(program, sampler=pickle.loads(pickled))  # noqa: S301  (see `_main`)

    def asked_once(x: Any, size: int, *last: int) -> int:
        return witness.event.count(asked.outputs(x, size, (DEPENDENCE, stage, *last)))

    if witness.calls_for_one:
        places = [[(place, _FIRST_COPY + copy, call) for call in range(COPIED)] for place in (0, 1)]
        return [sum(asked_once(x, 1, *key) for key in keys) for x, keys in zip(witness.inputs, places, strict=True)]
    return [asked_once(x, COPIED, place, _FIRST_COPY + copy) for place, x in enumerate(witness.inputs)]


if __name__ == "__main__":
    _main()
