"""What the zoo holds: a program that breaks its claim, and its sound twin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Sampler = Callable[[Any, int, np.random.Generator], Any]
"""(x, n, rng) -> n outputs on input x."""


@dataclass(frozen=True)
class Specimen:
    """One mistake, alone: the twin is the same program without it.

    inputs: what an audit compares.   claimed_epsilon, claimed_delta: what both programs are said to have.
    broken_epsilon, sound_epsilon: nats, at claimed_delta, over these inputs: exact, or None where not worked out.
    floating_point: it shows in the last bits of numbers alone, which an audit looks at when it is asked to.
    subtle: it takes the default number of samples or more to see; a twentieth of it shows the others.
    remembers: its outputs depend on one draw, of which no number proves anything: an audit says so, and accuses nobody.
    """

    name: str
    what_is_wrong: str
    broken: Sampler
    sound: Sampler
    inputs: tuple[Any, ...]
    claimed_epsilon: float
    claimed_delta: float = 0.0
    broken_epsilon: float | None = None
    sound_epsilon: float | None = None
    subtle: bool = False
    remembers: bool = False
    floating_point: bool = False


@dataclass(frozen=True)
class Deviation:
    """A mistake that costs accuracy or truth, and no privacy: the claim holds, the declared law does not.

    No audit of epsilon may object to it; `ldp_audit.auditing.fitting.fit` is the tool.

    law: what both programs are said to draw from, as `fit` takes it.   inputs: which the law accepts.
    """

    name: str
    what_is_wrong: str
    broken: Sampler
    sound: Sampler
    law: Any
    inputs: tuple[Any, ...]
    claimed_epsilon: float
