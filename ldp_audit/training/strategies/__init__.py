"""The ways to train many clients, each in a file of its own with

    train(work: LocalWork, chunk: int) -> Iterator[Trained]      at most chunk clients at a time, as they were chosen
    why_not(work: LocalWork) -> str | None                       why it cannot do this work; None where it can

All give the same weights up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ldp_audit.training.local_work import LocalWork, Trained
from ldp_audit.training.strategies import closed_form, grouped, loop, processes, vmapped


class Strategy(NamedTuple):
    """See the module.   chunk: clients at a time on a CPU, where the caller does not say."""

    train: Callable[[LocalWork, int], Iterator[Trained]]
    why_not: Callable[[LocalWork], str | None]
    chunk: int


STRATEGIES = {
    "loop": Strategy(loop.train, loop.why_not, 20),
    "vmap": Strategy(vmapped.train, vmapped.why_not, 20),
    "grouped": Strategy(grouped.train, grouped.why_not, 10),
    "processes": Strategy(processes.train, processes.why_not, 20),
    "closed-form": Strategy(closed_form.train, closed_form.why_not, 25),
}
