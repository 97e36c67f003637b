"""What a sampler is, how one says where it comes from, and the error of one that fails."""

from __future__ import annotations

import hashlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Sampler = Callable[[Any, int, np.random.Generator], Any]
"""(x, n, rng) -> n independent outputs on input x."""


class ProgramError(ValueError):
    """The program under audit raised, hung, or returned what cannot be read. Says on which input and in which call."""


class DeclaredSampler(ABC):
    """A sampler that says whether a seed decides its outputs."""

    @abstractmethod
    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> Any:
        """n outputs on input x."""

    @property
    @abstractmethod
    def repeatable(self) -> bool:
        """Whether rng decides all outputs; False where that is not known."""

    @property
    def origin(self) -> Any:
        """What it was made of, by which it is named; itself if of nothing else."""
        return self

    @property
    def shared(self) -> str:
        """Why a new process asks the same running program, with all that it remembers; "" where it asks a new one."""
        return ""


class NamedSampler(DeclaredSampler):
    """A sampler that is known by its text, so that other processes can load it and files can name it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its text."""

    @property
    @abstractmethod
    def source(self) -> Path | None:
        """The file that defines it, where there is one."""

    @abstractmethod
    def prepare(self) -> None:
        """Load it now, so that loading is no part of a call that is timed."""


def name_of(sampler: Sampler) -> str:
    """The sampler's text; of a mechanism, as it is written; or package.module:name."""
    if isinstance(sampler, NamedSampler):
        return sampler.name
    sampler = sampler.origin if isinstance(sampler, DeclaredSampler) else sampler
    if type(sampler).__module__.startswith("ldp_audit.mechanisms."):
        return repr(sampler)
    named = sampler if hasattr(sampler, "__qualname__") else type(sampler)
    return f"{named.__module__}:{named.__qualname__}"  # type: ignore[union-attr]


def source_of(sampler: Any) -> Path | None:
    """The file that defines it, or that its module is; None where there is none."""
    if isinstance(sampler, NamedSampler):
        return sampler.source
    sampler = sampler.origin if isinstance(sampler, DeclaredSampler) else sampler
    module = sys.modules.get(getattr(sampler, "__module__", None) or type(sampler).__module__)
    file = getattr(module, "__file__", None)
    return Path(file) if file and Path(file).is_file() else None


def source_digest(sampler: Sampler) -> str | None:
    """SHA-256 of the file that defines it, by which an edited program differs from the one that was begun with.

    None where there is no such file. The modules that the file imports are not looked at.
    """
    source = source_of(sampler)
    return None if source is None else hashlib.sha256(source.read_bytes()).hexdigest()
