"""Chunks of clients side by side on a CPU: as many Python threads as torch has, each with one thread of torch's own.

Torch lets go of Python's lock while it computes, so that two cores are busy all the time; where one operation after the
other is split among them, they wait for each other. A chunk's numbers are those of one thread, however many chunks are
trained at once. It pays where operations take long, as convolutions do. The caller's thread keeps torch's number of
threads; Python threads that other code starts meanwhile get the workers' one from torch, until they set their own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import torch

from ldp_audit.training.local_work import LocalWork, Trained

ROOM = 2**30
"""Bytes that the weights, gradients and as much again of all chunks in work may take."""


def at_once(work: LocalWork, chunk: int) -> int:
    """How many chunks can be trained at once; 1 where that is not possible.

    A user's own loss is called in the caller's thread alone: it need not be safe for several.
    """
    if work.data.x.device.type != "cpu" or work.loss.slope is None:
        return 1
    size = 3 * chunk * sum(weight.nbytes for weight in work.weights.values())
    return max(1, min(torch.get_num_threads(), -(-len(work) // chunk), ROOM // size))


def train(work: LocalWork, chunk: int, train_chunk: Callable[[LocalWork], Trained]) -> Iterator[Trained]:
    """The chunks in order, each from train_chunk, with one more in work than threads; see `strategies`."""
    threads = at_once(work, chunk)
    if threads == 1:
        yield from map(train_chunk, work.chunks(chunk))
        return
    before, waiting = torch.get_num_threads(), deque[Future[Trained]]()
    executor = ThreadPoolExecutor(threads, "clients")
    try:
        for part in work.chunks(chunk):
            waiting.append(executor.submit(_on_one_thread, train_chunk, part))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        try:
            executor.shutdown(cancel_futures=True)
        finally:  # of an interrupt while chunks come to their ends, too
            torch.set_num_threads(before)


def _on_one_thread(train_chunk: Callable[[LocalWork], Trained], part: LocalWork) -> Trained:
    torch.set_num_threads(1)
    return train_chunk(part)
