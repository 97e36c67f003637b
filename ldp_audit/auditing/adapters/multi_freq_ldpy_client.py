"""A client of a multi-freq-ldpy protocol, such as GRR_Client, as a sampler."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.adapted_sampler import AdaptedSampler, one_by_one, seeded_globals


def from_multi_freq_ldpy(client: Callable[..., Any], *arguments: Any, **named: Any) -> AdaptedSampler:
    """A sampler that calls client(x, *arguments, **named) once for each output.

        from_multi_freq_ldpy(GRR_Client, 4, 1.0)      # k and epsilon

    client: the user's side of a protocol. Reports of several parts, such as the encodings of several attributes,
       become one row of numbers; where their lengths differ (SMP), labels. The seed of a hash (LH), of 64 bits, becomes
       two numbers of 32 bits, the high one first.
    The clients draw from numpy's shared generator, or, where numba compiled them, from numba's; both are seeded from
    rng, and put back after the call. LH clients need xxhash < 3.5.
    """
    if not callable(client) or isinstance(client, type):
        raise ValueError(
            f"client must be a function of a value and parameters, such as GRR_Client, got {client!r:.200}"
        )
    program = partial(client, **named) if named else client
    return AdaptedSampler(partial(_draw, program, arguments))


def _draw(
    client: Callable[..., Any], arguments: tuple[Any, ...], x: Any, n: int, rng: np.random.Generator
) -> list[Any]:
    with seeded_globals(rng):
        return one_by_one(lambda *called: _with_halves(client(*called)), n, x, *arguments)


def _with_halves(report: Any) -> Any:
    """A report of several parts, its seeds (integers of numpy's) as two numbers each: a float would round them."""
    if not isinstance(report, list | tuple):
        return report
    return tuple(divmod(int(part), 2**32) if isinstance(part, np.integer) else _with_halves(part) for part in report)
