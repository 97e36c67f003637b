"""A privacy loss with finitely many values, exactly: what every finite mechanism has, and every grid.

Lists of losses that are rounded by more than their last digits, and by how much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.loss import CellMasses, ImproperLoss, LossLaw
from ldp_audit.numerics import log_lacking

_SLACK = 1e-9
_NEAR_ONE, _WHOLE = -0.1, 1e-12
"""ln of a delta that is near 1, and by how much masses that add up to 1 may be rounded."""


@dataclass(frozen=True, eq=False)
class LossAtoms:
    """The loss takes each of these values with these probabilities under P; under Q they weigh e**-loss of that.

    losses: nats, ascending, finite, shape (m,).   log_probabilities: ln P(loss), same shape.
    log_infinite: ln P(loss = inf).
    log_missing: ln of the mass that Q has where P has none; if not given, what Q's masses lack of 1 beyond rounding.
    Raises ValueError where shapes or order are wrong, where P's masses do not add up to 1, or Q's exceed it.
    """

    losses: NDArray[np.float64]
    log_probabilities: NDArray[np.float64]
    log_infinite: float = -math.inf
    log_missing: float | None = None

    exact = True

    def __post_init__(self) -> None:
        losses, logs = (np.asarray(a, dtype=np.float64) for a in (self.losses, self.log_probabilities))
        if losses.ndim != 1 or losses.shape != logs.shape:
            raise ValueError(f"losses and log_probabilities must be of one length, got {losses.shape} and {logs.shape}")
        if not np.all(np.isfinite(losses)) or np.any(np.diff(losses) <= 0):
            raise ValueError("losses must be finite and ascending; an infinite loss is given by log_infinite")
        if not all(isinstance(end, int | float) for end in (self.log_infinite, self.log_missing or 0.0)):
            raise ValueError(f"log_infinite must be a number, got {self.log_infinite!r}")
        total = _log_sum(np.append(logs, self.log_infinite))
        other = _log_sum(logs - losses)
        if not abs(total) <= _SLACK or not other <= _SLACK:
            raise ValueError(f"masses must be 1 in all under P, at most 1 under Q, got ln {total!r}, ln {other!r}")
        object.__setattr__(self, "losses", losses)
        object.__setattr__(self, "log_probabilities", logs)
        if self.log_missing is None:
            object.__setattr__(self, "log_missing", _lack(other, losses.size))

    @classmethod
    def of_laws(cls, first: Mapping[Any, float], second: Mapping[Any, float]) -> LossAtoms:
        """The loss between two laws on the same outcomes, as {outcome: probability}; equal ratios become one atom.

        Raises ValueError as the class.
        """
        masses: dict[float, list[float]] = {}
        infinite, missing = [], [float(q) for outcome, q in second.items() if q > 0 and not first.get(outcome, 0) > 0]
        shared = [float(q) for outcome, q in second.items() if q > 0 and first.get(outcome, 0) > 0]
        for outcome, p in first.items():
            q = second.get(outcome, 0)
            if p > 0 and q > 0:
                masses.setdefault(math.log(p / q), []).append(float(p))
            elif p > 0:
                infinite.append(float(p))
        losses = sorted(masses)
        logs = np.log([math.fsum(masses[loss]) for loss in losses]) if losses else np.empty(0)
        finite = [mass for group in masses.values() for mass in group]
        return cls(np.array(losses), logs, _log_rest(infinite, finite), _log_rest(missing, shared))

    def largest(self) -> float:
        """See `LossLaw`."""
        return math.inf if self.log_infinite > -math.inf or not self.losses.size else float(self.losses[-1])

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`; both ends are the same."""
        first = int(np.searchsorted(self.losses, epsilon, side="right"))
        above = self.losses[first:]
        with np.errstate(divide="ignore"):
            gains = self.log_probabilities[first:] + np.log(-np.expm1(epsilon - above))
        value = _log_sum(np.append(gains, self.log_infinite))
        if value > _NEAR_ONE:  # what it lacks of 1 has its own digits, if the masses do add up to 1
            lacking = _log_sum(self.log_probabilities + np.minimum(0.0, epsilon - self.losses))
            value = log_lacking(lacking) if abs(np.logaddexp(value, lacking)) < _WHOLE else value
        return value, value

    def mirrored(self) -> LossAtoms:
        """The loss of (Q, P): the negative values, weighed by Q; infinite where P has nothing."""
        weights = self.log_probabilities - self.losses
        return LossAtoms(-self.losses[::-1], weights[::-1], self.missing, self.log_infinite)

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `DiscretisableLaw`."""
        cells = np.searchsorted(edges, self.losses, side="left")
        weights = self.log_probabilities - self.losses
        return CellMasses(
            _added(cells, self.log_probabilities, edges.size + 1),
            _added(cells, weights, edges.size + 1),
            self.log_infinite,
            self.missing,
        )

    @property
    def missing(self) -> float:
        """ln of the mass that Q has where P has none."""
        return -math.inf if self.log_missing is None else self.log_missing


def _log_sum(logs: NDArray[np.float64]) -> float:
    """ln of the sum of e**logs; minus infinity for none."""
    top = float(logs.max(initial=-math.inf))
    return top if not math.isfinite(top) else top + math.log(float(np.exp(logs - top).sum()))


def _lack(log_total: float, atoms: int) -> float:
    """ln of what the masses lack of 1; what is within rounding of 1 lacks nothing."""
    return log_lacking(log_total) if -math.expm1(log_total) > 1e-14 * max(1, atoms) else -math.inf


def _log_rest(rest: list[float], shared: list[float]) -> float:
    """ln of the sum of the rest; where it rounds to 1, from what is shared."""
    total, other = math.fsum(rest), math.fsum(shared)
    if total <= 0:
        return -math.inf
    return log_lacking(math.log(other)) if 0 < other < 1e-9 and abs(total - 1) < 2e-9 else math.log(total)


def _added(cells: NDArray[np.int64], logs: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Log-sums by cell, shape (size,)."""
    found = np.full(size, -math.inf)
    np.logaddexp.at(found, cells, logs)
    return found


_MASSES = 1e-12


@dataclass(frozen=True, eq=False)
class RoundedAtoms(LossAtoms):
    """Losses so large that their rounding shows: each is right to `error` nats."""

    error: float = 0.0

    exact = False

    def largest(self) -> float:
        """See `LossLaw`."""
        return super().largest() + self.error

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `LossLaw`; the ends are those of losses smaller and larger by the error."""
        low, high = (super(RoundedAtoms, self).log_delta_bounds(epsilon + way * self.error) for way in (1, -1))
        return _moved(low[0], -_MASSES), min(0.0, _moved(high[1], _MASSES))

    def mirrored(self) -> RoundedAtoms:
        """The loss of (Q, P)."""
        law = super().mirrored()
        return RoundedAtoms(law.losses, law.log_probabilities, law.log_infinite, law.log_missing, self.error)


def _moved(log_delta: float, by: float) -> float:
    """ln delta if the masses of which there are fewer, of delta or of what it lacks of 1, change by this share."""
    return log_delta + by if log_delta < -0.1 else log_lacking(log_lacking(log_delta) - by)


def rounded(law: LossLaw, error: float) -> LossLaw:
    """The same list of losses, finite or not, each right to the error, nats; any other law as it is."""
    if error and isinstance(law, ImproperLoss):
        return replace(law, common=rounded(law.common, error))
    return with_rounding(law, error) if isinstance(law, LossAtoms) else law


def with_rounding(atoms: LossAtoms, error: float) -> LossAtoms:
    """The same list, each of its losses right to the error, nats."""
    if not error:
        return atoms
    return RoundedAtoms(atoms.losses, atoms.log_probabilities, atoms.log_infinite, atoms.log_missing, error)


def rounding_of(law: LossLaw) -> float:
    """By how many nats the losses of a list may be rounded beyond their last digits."""
    if isinstance(law, ImproperLoss):
        return rounding_of(law.common)
    return law.error if isinstance(law, RoundedAtoms) else 0.0
