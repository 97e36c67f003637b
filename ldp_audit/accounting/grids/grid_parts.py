"""The parts of a sum of losses, listed so that a grid can take them: flat, each law once, few losses as atoms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ldp_audit.accounting.budget_arguments import whole
from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.finite_losses import as_atoms
from ldp_audit.accounting.laws.improper_loss import log_lacking
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.loss_law import DiscretisableLaw, LossLaw

_RARE = -40.0

Part = tuple[LossLaw, int]
Discretisable = tuple[DiscretisableLaw, int]


def flat_parts(laws: Iterable[Part]) -> list[Part]:
    """The laws, each once with all its times; sums of two-valued losses as so many single ones.

    Raises ValueError where times are not whole numbers >= 1, or a law cannot be put on a grid.
    """
    found: dict[Any, Part] = {}
    for law, times in laws:
        single, more = (BinomialLoss(law.high, law.low, 1), law.times) if isinstance(law, BinomialLoss) else (law, 1)
        if as_atoms(single) is None and not hasattr(single, "masses"):
            raise ValueError(f"laws must know the masses of cells, or list their losses; got {law!r}")
        key = _key(single)
        found[key] = (single, whole(times, "times") * more + (found[key][1] if key in found else 0))
    return list(found.values())


def gridded_parts(parts: Sequence[Part]) -> list[Discretisable]:
    """The laws, as atoms where they have few losses."""
    return [(as_atoms(law) or law, times) for law, times in parts]  # type: ignore[misc]


def log_infinite_of(law: DiscretisableLaw) -> float:
    """ln P(loss = inf)."""
    return law.log_infinite if isinstance(law, LossAtoms) else law.masses(np.zeros(1)).infinite


def log_any(logs: Iterable[tuple[float, int]]) -> float:
    """ln of the probability that anything happens of what has these probabilities, each so many times."""
    listed = list(logs)
    added = float(np.logaddexp.reduce([log + math.log(times) for log, times in listed], initial=-math.inf))
    if added < _RARE:  # where the sum is right to the last digit
        return added
    return log_lacking(math.fsum(times * log_lacking(log) for log, times in listed))


def _key(law: LossLaw) -> Any:
    """Equal for equal laws."""
    if isinstance(law, LossAtoms):
        return law.losses.tobytes(), law.log_probabilities.tobytes(), law.log_infinite
    try:
        hash(law)
    except TypeError:
        return id(law)
    return law
