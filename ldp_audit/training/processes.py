"""Worker processes with one thread each, which train chunks of clients as `grouped` or the loop does.

One thread per client wastes less than many threads on one small batch. The first round spawns the workers, which takes
some seconds; later rounds reuse them until `stop()` or the end of the program. A script that trains with them needs `if
__name__ == "__main__":`. Samples, weights and results are in shared memory; each worker has two result slots, so that
it trains one chunk while another is read.

Workers end when the parent ends, and the parent ends them if a round does not finish.
"""

from __future__ import annotations

import atexit
import os
import pickle
import shutil
from collections.abc import Iterator
from copy import deepcopy
from multiprocessing import current_process
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch import multiprocessing as multiprocessing  # pickles tensors as shared memory

from ldp_audit.training import grouped, strategies
from ldp_audit.training.client_data import ClientData, LocalWork, Trained
from ldp_audit.workers import Worker, cores

_SHARED = Path("/dev/shm")  # noqa: S108  where Linux keeps shared memory
_RESULT_BYTES = 2**30
"""Bytes for the results of all workers."""
_MAX_WORKERS = 16
"""Largest number of workers; each takes some 200 MB for torch alone."""
_SLOTS = 2
"""Chunks that a worker is given in advance."""


def train(work: LocalWork, chunk: int) -> Iterator[Trained]:
    """See `strategies`.   chunk: largest number of clients per chunk; fewer if that keeps more workers busy."""
    crew = _idle.pop() if _idle and _idle[-1].process == os.getpid() else _Crew()
    try:
        yield from crew.trained(work, chunk)
    except BaseException:  # Ctrl-C, or a caller that stops early: results in progress must not reach a later round
        crew.stop()
        raise
    _idle.append(crew)


def why_not(work: LocalWork) -> str | None:
    """See `strategies`."""
    if work.data.x.device.type != "cpu":
        return f"the samples are on {work.data.x.device}, and worker processes train on the CPU"
    if current_process().daemon:
        return "this process is a daemon, which may not start others"
    try:
        pickle.dumps((_without_weights(work).model, work.loss))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        return f"model and loss must be picklable, as those of a module are: {error}"
    needed, free = _needed(work), shutil.disk_usage(_SHARED).free if _SHARED.is_dir() else float("inf")
    if needed > free:
        return f"it needs {needed / 2**20:.0f} MiB of shared memory, {_SHARED} has {free / 2**20:.0f} MiB"
    return None


def stop() -> None:
    """End the idle workers; the next round starts others."""
    while _idle:
        _idle.pop().stop()


class _Crew:
    """The worker processes of one round at a time."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.workers = [Worker(_Trainer(), daemon=True) for _ in range(_workers())]

    def trained(self, work: LocalWork, chunk: int) -> Iterator[Trained]:
        """Chunk i goes to worker i modulo their number; results come in order."""
        workers = self.workers
        size = _chunk(work, chunk)
        shared = _shared(work)
        slots = torch.empty(len(workers), _SLOTS, size, _dimension(work), dtype=work.data.x.dtype).share_memory_()
        for place, worker in enumerate(workers):
            worker.send((_without_weights(shared), slots[place]))
        for worker in workers:
            _received(worker)
        bounds = [(start, min(start + size, len(work))) for start in range(0, len(work), size)]
        for number, bound in enumerate(bounds[: _SLOTS * len(workers)]):
            workers[number % len(workers)].send((*bound, number // len(workers) % _SLOTS))
        for number, (start, stop) in enumerate(bounds):
            place, slot = number % len(workers), number // len(workers) % _SLOTS
            _received(workers[place])
            flat = slots[place, slot, : stop - start].clone()
            later = number + _SLOTS * len(workers)
            if later < len(bounds):
                workers[place].send((*bounds[later], slot))
            yield work.clients[start:stop], _split(flat, work.weights)
        for worker in workers:
            worker.send(None)
        for worker in workers:
            _received(worker)

    def stop(self) -> None:
        """End the workers, also in the middle of a chunk."""
        for worker in self.workers:
            if self.process == os.getpid():
                worker.end()


_idle: list[_Crew] = []
atexit.register(stop)


class _Trainer:
    """The worker's loop: it receives a round (work, slots), then its chunks (start, stop, slot), then None."""

    def __init__(self) -> None:
        self.round: tuple[LocalWork, Tensor] | None = None

    def __call__(self, message: Any, _: object) -> FloatingPointError | None:
        """The error of a client whose training overflowed, which the parent raises."""
        torch.set_num_threads(1)
        if message is None or len(message) == 2:
            self.round = message
            return None
        assert self.round is not None  # noqa: S101
        (work, slots), (start, stop, slot) = self.round, message
        train = grouped.train if grouped.why_not(work) is None else strategies.train_by_loop
        part = work.part(start, stop)
        try:
            ((_, weights),) = train(part, len(part))
        except FloatingPointError as error:
            return error
        torch.cat([weights[name].flatten(1) for name in part.weights], dim=1, out=slots[slot, : len(part)])
        return None


def _received(worker: Worker) -> None:
    message = worker.received()
    if message is None:
        raise RuntimeError(_LOST)
    if message.value is not None or message.error is not None:
        raise message.value or RuntimeError(message.error)


_LOST = "a worker process ended; was it killed for memory, or does a script train outside `if __name__ == '__main__':`?"


def _workers() -> int:
    return min(cores(), _MAX_WORKERS)


def _chunk(work: LocalWork, most: int) -> int:
    """Clients per chunk such that all workers receive equally many chunks, within the memory for results."""
    workers = _workers()
    most = max(1, min(most, _RESULT_BYTES // (workers * _SLOTS * _dimension(work) * work.data.x.element_size())))
    rounds = -(-len(work) // (workers * most))
    return -(-len(work) // (workers * rounds))


def _dimension(work: LocalWork) -> int:
    return sum(weight.numel() for weight in work.weights.values())


def _needed(work: LocalWork) -> int:
    """Bytes of shared memory: samples (unless already shared), global weights and results."""
    samples = sum(part.nbytes for part in (work.data.x, work.data.y) if not part.is_shared())
    slots = min(
        _RESULT_BYTES,
        _workers() * _SLOTS * _chunk(work, _RESULT_BYTES) * _dimension(work) * work.data.x.element_size(),
    )
    return samples + slots


def _shared(work: LocalWork) -> LocalWork:
    """The same work with its tensors in shared memory; the samples are moved there permanently."""
    data = ClientData(work.data.x.share_memory_(), work.data.y.share_memory_(), work.data.sizes.share_memory_())
    fields = {
        "weights": {name: weight.detach().clone().share_memory_() for name, weight in work.weights.items()},
        "orders": work.orders.clone().share_memory_(),
        "clients": work.clients.clone().share_memory_(),
    }
    return LocalWork(**{**work.__dict__, "data": data, **fields})


def _without_weights(work: LocalWork) -> LocalWork:
    """The same work without the model's own weights, which are not used."""
    return LocalWork(**{**work.__dict__, "model": deepcopy(work.model).to("meta")})


def _split(flat: Tensor, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    parts = flat.split([weight.numel() for weight in weights.values()], dim=1)
    return {
        name: part.view(len(flat), *weight.shape) for (name, weight), part in zip(weights.items(), parts, strict=True)
    }
