"""A privacy loss with finitely many values, exactly: what every finite mechanism has, and every grid."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldp_audit.losses.divergence import log_gains, log_mean, of_excess
from ldp_audit.losses.loss import CellMasses, Divergence, PairLoss, log_finite
from ldp_audit.losses.transform import AtomsTransform, Transform
from ldp_audit.numerics import log_lacking, log_sum

_SLACK = 1e-9
_MASSES = 1e-12
_MOST_ATOMS = 1000
"""Of longer lists no transform is made."""
_NEAR_ONE, _WHOLE = -0.1, 1e-12
"""ln of a delta that is near 1, and by how much masses that add up to 1 may be rounded."""


@dataclass(frozen=True, eq=False)
class LossAtoms(PairLoss):
    """The loss takes each of these values with these probabilities under P; under Q they weigh e**-loss of that.

    losses: nats, ascending, finite, shape (m,).   log_probabilities: ln P(loss), same shape.
    log_infinite: ln P(loss = inf).
    log_missing: ln of the mass that Q has where P has none; if not given, what Q's masses lack of 1 beyond rounding.
    error: nats, by which each loss may be rounded beyond its last digits.
    Raises ValueError where shapes or order are wrong, where P's masses do not add up to 1, or Q's exceed it.
    """

    losses: NDArray[np.float64]
    log_probabilities: NDArray[np.float64]
    log_infinite: float = -math.inf
    log_missing: float | None = None
    error: float = 0.0

    @property
    def exact(self) -> bool:
        """See `PairLoss`."""
        return not self.error

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
        """See `PairLoss`."""
        bounded = self.log_infinite == -math.inf and self.losses.size
        return float(self.losses[-1]) + self.error if bounded else math.inf

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; losses that are rounded are moved down and up by their error."""
        if not self.error:
            value = self._log_delta(epsilon)
            return value, value
        low, high = self._log_delta(epsilon + self.error), self._log_delta(epsilon - self.error)
        return _moved(low, -_MASSES), min(0.0, _moved(high, _MASSES))

    def _log_delta(self, epsilon: float) -> float:
        first = int(np.searchsorted(self.losses, epsilon, side="right"))
        above = self.losses[first:]
        with np.errstate(divide="ignore"):
            gains = self.log_probabilities[first:] + np.log(-np.expm1(epsilon - above))
        value = _log_sum(np.append(gains, self.log_infinite))
        if value > _NEAR_ONE:  # what it lacks of 1 has its own digits, if the masses do add up to 1
            lacking = _log_sum(self.log_probabilities + np.minimum(0.0, epsilon - self.losses))
            return log_lacking(lacking) if abs(np.logaddexp(value, lacking)) < _WHOLE else value
        return value

    def reversed(self) -> LossAtoms:
        """The loss of (Q, P): the negative values, weighed by Q; infinite where P has nothing."""
        weights = self.log_probabilities - self.losses
        return LossAtoms(-self.losses[::-1], weights[::-1], self.missing, self.log_infinite, self.error)

    def atoms(self, most: int = 1000) -> LossAtoms:  # noqa: ARG002
        """See `PairLoss`: itself, however long."""
        return self

    def finite_part(self) -> tuple[PairLoss, float, float]:
        """See `PairLoss`."""
        if self.log_infinite == self.missing == -math.inf:
            return self, 0.0, 0.0
        from ldp_audit.losses.finite_losses import NOTHING, atoms_of

        first = log_finite(self.log_probabilities, self.log_infinite)
        second = log_finite(self.log_probabilities - self.losses, self.missing)
        if -math.inf in (first, second) or not self.losses.size:
            return NOTHING, -math.inf, -math.inf
        return atoms_of(self.losses - (first - second), self.log_probabilities - first, error=self.error), first, second

    def transform(self) -> Transform | None:
        """See `PairLoss`."""
        bounded = self.log_infinite == -math.inf and self.exact
        return AtomsTransform(self, whole=False) if bounded and 0 < self.losses.size <= _MOST_ATOMS else None

    @property
    def moments_known(self) -> bool:
        """See `PairLoss`."""
        return True

    def _divergence(self, alpha: float) -> Divergence:
        if math.isinf(alpha * self.largest()):
            return self.largest(), self.exact
        if alpha == 1:
            return math.exp(log_mean(self.losses, self.log_probabilities, self.missing)), self.exact
        return of_excess(self.log_excess(alpha - 1), alpha - 1), self.exact

    def log_excess(self, c: float) -> float:
        """ln(M(c) - 1), c > 0, where M(c) = E[e**(c L)]; with p the probability of inf, ln(M(c) - 1 + (1 + c) p)."""
        mean = log_mean(self.losses, self.log_probabilities, self.missing)
        return float(np.logaddexp(math.log(c) + mean, log_sum(self.log_probabilities + log_gains(c * self.losses))))

    @property
    def discretisable(self) -> bool:
        """See `PairLoss`."""
        return True

    def masses(self, edges: NDArray[np.float64]) -> CellMasses:
        """See `PairLoss`."""
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


def _moved(log_delta: float, by: float) -> float:
    """ln delta if the masses of which there are fewer, of delta or of what it lacks of 1, change by this share."""
    return log_delta + by if log_delta < -0.1 else log_lacking(log_lacking(log_delta) - by)
