"""Lists of losses that are rounded by more than their last digits, and by how much."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ldp_audit.accounting.laws.improper_loss import ImproperLoss, log_lacking
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.loss_law import LossLaw

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
