"""What an adapter returns: a sampler that says whether a seed decides its outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class AdaptedSampler:
    """A sampler: called as (x, n, rng), it returns n outputs on input x.

    draw: the same, as a function.
    repeatable: whether rng decides the outputs. False where the program draws from the operating system, or may draw
        from a generator of its own: an audit is then as sound, but the same seed need not give the same result again.
    """

    draw: Callable[[Any, int, np.random.Generator], Any]
    repeatable: bool = True

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> Any:
        """n outputs on input x."""
        return self.draw(x, n, rng)
