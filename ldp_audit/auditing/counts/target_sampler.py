"""A sampler that is known by its text, so that it can be sent to other processes and machines, and named in files."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ldp_audit.auditing.program import Sampler


@dataclass(frozen=True)
class TargetSampler:
    """What a TARGET of the command line names, as a sampler. Each process loads it once, from the text alone.

    Raises ValueError, when it is loaded, for a target that cannot be.
    """

    target: str

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> Any:
        """n outputs on input x."""
        return _sampler(self.target)(x, n, rng)

    def prepare(self) -> None:
        """Load it now, so that loading is no part of a call that is timed."""
        _sampler(self.target)

    @property
    def loaded(self) -> Any:
        """The object itself."""
        return _object(self.target)


def prepare(sampler: Sampler) -> None:
    """Load what the sampler needs, where it says how."""
    if isinstance(sampler, TargetSampler):
        sampler.prepare()


def name_of(sampler: Sampler) -> str:
    """The target's text, or package.module:name."""
    if isinstance(sampler, TargetSampler):
        return sampler.target
    named = sampler if hasattr(sampler, "__qualname__") else type(sampler)
    return f"{named.__module__}:{named.__qualname__}"  # type: ignore[union-attr]


def source_digest(sampler: Sampler) -> str | None:
    """SHA-256 of the file that defines it, which tells an edited program from the one that was begun with.

    None where there is no such file. The modules that the file imports are not looked at.
    """
    named = sampler.loaded if isinstance(sampler, TargetSampler) else sampler
    if isinstance(sampler, TargetSampler) and ":" not in sampler.target and Path(sampler.target).is_file():
        return _digest(Path(sampler.target))
    module = sys.modules.get(getattr(named, "__module__", None) or type(named).__module__)
    file = getattr(module, "__file__", None)
    return _digest(Path(file)) if file and Path(file).is_file() else None


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _object(target: str) -> Any:
    from ldp_audit.mechanisms import target as targets

    return targets.load(target)


@cache
def _sampler(target: str) -> Sampler:
    from ldp_audit.auditing.adapters import as_sampler

    return as_sampler(_object(target))
