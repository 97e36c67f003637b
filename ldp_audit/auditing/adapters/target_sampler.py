"""A sampler that a TARGET of the command line names: a program, a shipped mechanism, a channel in a file."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.adapted_sampler import AdaptedSampler
from ldp_audit.auditing.adapters.recognise import as_sampler, made
from ldp_audit.auditing.adapters.sampler import DeclaredSampler, NamedSampler, Sampler, source_of


@dataclass(frozen=True)
class TargetSampler(NamedSampler):
    """What a TARGET names, as a sampler. Each process loads it once, from the text alone.

    reports: of a new client, which the target makes, for each output; None for the target itself, see `as_sampler`.
    Raises ValueError, when it is loaded, for a target that cannot be.
    """

    target: str
    reports: int | None = None

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> Any:
        """n outputs on input x."""
        return _sampler(self.target, self.reports)(x, n, rng)

    @property
    def name(self) -> str:
        """See `NamedSampler`."""
        return self.target if self.reports is None else f"{self.reports} of a fresh {self.target}"

    @property
    def source(self) -> Path | None:
        """See `NamedSampler`: the file that holds a channel, or that defines the object."""
        file = Path(self.target)
        return file if ":" not in self.target and file.is_file() else source_of(self.loaded)

    @property
    def loaded(self) -> Any:
        """The object itself."""
        return _object(self.target, fresh=self.reports is not None)

    @property
    def repeatable(self) -> bool:
        """See `NamedSampler`; a sampler (x, n, rng) of the user's is trusted to draw from rng alone."""
        sampler = _sampler(self.target, self.reports)
        return sampler.repeatable if isinstance(sampler, AdaptedSampler) else True

    @property
    def shared(self) -> str:
        """See `DeclaredSampler`."""
        sampler = _sampler(self.target, self.reports)
        return sampler.shared if isinstance(sampler, DeclaredSampler) else ""

    def prepare(self) -> None:
        """See `NamedSampler`."""
        _sampler(self.target, self.reports)


@cache
def _object(target: str, *, fresh: bool) -> Any:
    from ldp_audit.mechanisms import target as targets

    owner, _, method = target.rpartition(".")
    if fresh and ":" in owner and isinstance(kind := targets.load(owner, classes=True), type):
        drawn = "rng" in inspect.signature(kind).parameters
        return partial(_method_of_drawn if drawn else _method_of_new, kind, method)
    found = targets.load(target, classes=True)
    return found if fresh else made(found)


def _method_of_new(kind: type, method: str) -> Any:
    return getattr(kind(), method)


def _method_of_drawn(kind: type, method: str, rng: np.random.Generator) -> Any:
    return getattr(kind(rng=rng), method)


@cache
def _sampler(target: str, reports: int | None) -> Sampler:
    found = _object(target, fresh=reports is not None)
    return as_sampler(found) if reports is None else as_sampler(fresh=found, reports=reports)
