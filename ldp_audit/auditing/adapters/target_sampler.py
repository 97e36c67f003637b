"""A sampler that a TARGET of the command line names: a program, a shipped mechanism, a channel in a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.adapted_sampler import AdaptedSampler
from ldp_audit.auditing.adapters.recognise import as_sampler, made
from ldp_audit.auditing.program import NamedSampler, Sampler, source_of


@dataclass(frozen=True)
class TargetSampler(NamedSampler):
    """What a TARGET names, as a sampler. Each process loads it once, from the text alone.

    Raises ValueError, when it is loaded, for a target that cannot be.
    """

    target: str

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> Any:
        """n outputs on input x."""
        return _sampler(self.target)(x, n, rng)

    @property
    def name(self) -> str:
        """See `NamedSampler`."""
        return self.target

    @property
    def source(self) -> Path | None:
        """See `NamedSampler`: the file that holds a channel, or that defines the object."""
        file = Path(self.target)
        return file if ":" not in self.target and file.is_file() else source_of(self.loaded)

    @property
    def loaded(self) -> Any:
        """The object itself."""
        return _object(self.target)

    @property
    def repeatable(self) -> bool:
        """See `NamedSampler`; a sampler (x, n, rng) of the user's is trusted to draw from rng alone."""
        sampler = _sampler(self.target)
        return sampler.repeatable if isinstance(sampler, AdaptedSampler) else True

    def prepare(self) -> None:
        """See `NamedSampler`."""
        _sampler(self.target)


@cache
def _object(target: str) -> Any:
    from ldp_audit.mechanisms import target as targets

    return made(targets.load(target, classes=True))


@cache
def _sampler(target: str) -> Sampler:
    return as_sampler(_object(target))
