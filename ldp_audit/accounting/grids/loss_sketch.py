"""A law of the loss by some hundred cells: good enough to choose tilts, spacings and ranges; no bound rests on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.grids.gridding import cell_masses
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.loss_law import DiscretisableLaw

_OCTAVES, _PER_OCTAVE = (-44, 15), 6
_EVENLY = 512
_MOST_ATOMS = 2048
_BULK = -300.0
"""ln of what may lie beyond the evenly spaced cells."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """Cells of the finite loss, each with the loss ln(P/Q) of the whole cell.

    losses, logs: of the cells that P reaches, nats, and ln of their masses.
    edges, above, below: ln P(edge < loss < inf) and ln P(loss <= edge), shape (m,) each.
    """

    losses: NDArray[np.float64]
    logs: NDArray[np.float64]
    edges: NDArray[np.float64]
    above: NDArray[np.float64]
    below: NDArray[np.float64]

    def below_of(self, log_mass: float) -> Sketch:
        """The sketch of what is left without the largest losses, of at most so much mass; itself if there are none."""
        top = self.highest(log_mass)
        kept = self.losses <= top
        if kept.all():
            return self
        inner = self.edges <= top
        above = np.where(self.above[inner] > log_mass, self.above[inner], -math.inf)
        return Sketch(self.losses[kept], self.logs[kept], self.edges[inner], above, self.below[inner])

    def highest(self, log_mass: float) -> float:
        """The least edge above which there is at most so much; the last one if there is none."""
        found = np.flatnonzero(self.above <= log_mass)
        return float(self.edges[found[0]] if found.size else self.edges[-1])

    def lowest(self, log_mass: float, theta: float = 0.0) -> float:
        """The largest edge below which at most so much is left once the law is tilted by theta >= 0."""
        found = np.flatnonzero(self.below + theta * self.edges <= log_mass)
        return float(self.edges[found[-1]] if found.size else self.edges[0])


def sketch(law: DiscretisableLaw) -> Sketch:
    """The sketch of a law; of few atoms, these."""
    if isinstance(law, LossAtoms) and law.losses.size <= _MOST_ATOMS:
        above = np.append(np.logaddexp.accumulate(law.log_probabilities[:0:-1])[::-1], -math.inf)
        below = np.logaddexp.accumulate(law.log_probabilities)
        # what lies at the first atom or below is left of no edge but one before it
        edges = np.concatenate([[law.losses[0] - 1e-9 * (1 + abs(law.losses[0]))], law.losses])
        total = np.logaddexp.reduce(law.log_probabilities)
        ends = np.concatenate([[total], above]), np.concatenate([[-math.inf], below])
        return Sketch(law.losses, law.log_probabilities, edges, *ends)
    grown = 2.0 ** (np.arange(_OCTAVES[0] * _PER_OCTAVE, _OCTAVES[1] * _PER_OCTAVE + 1) / _PER_OCTAVE)
    edges = np.concatenate([-grown[::-1], [0.0], grown])
    first = _of(law, edges)
    inner = np.linspace(first.lowest(_BULK), first.highest(_BULK), _EVENLY)
    return _of(law, np.unique(np.concatenate([edges, inner])))


def _of(law: DiscretisableLaw, edges: NDArray[np.float64]) -> Sketch:
    masses = cell_masses(law, edges)
    reached = (masses.first > -math.inf) & (masses.second > -math.inf)
    logs = masses.first[reached]
    with np.errstate(invalid="ignore"):
        losses = np.clip((masses.first - masses.second)[reached], edges[0], edges[-1])
    above = np.logaddexp.accumulate(masses.first[:0:-1])[::-1]
    below = np.logaddexp.accumulate(masses.first[:-1])
    return Sketch(losses, logs, edges, above, below)
