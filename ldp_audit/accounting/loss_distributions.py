"""dp-accounting's privacy loss distributions from losses, and losses from them.

A `PrivacyLossDistribution` has for each direction a mass at infinity and masses at the multiples of an interval. It is
pessimistic where these dominate: where sum p(l) (1 - e**(epsilon - l))_+ + p(inf) is at least delta at every epsilon.
"""

from __future__ import annotations

import math
from importlib import import_module
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.privacy_loss import PrivacyLoss, privacy_loss
from ldp_audit.losses.discrete_loss import INFINITE_LOSS, ZERO_LOSS, DiscreteLoss
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.hulls import atoms_above, atoms_of_hull, dominating_atoms, hull
from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.mechanism import Adjacency
from ldp_audit.numerics import exp_upwards, positive, shown

_MOST = 20_000_000
"""Masses of a direction."""
_OFF = 1e-4
"""By which masses may be wrong in all: those of Gaussian noise at the usual interval are by 2e-8."""
_LEAST = 1e-290
"""Smaller masses count as infinite: dp-accounting's logarithms of sums overflow with the smallest floats."""
_ROUNDING = 2e-13
"""More than the share by which e to a logarithm above that of the smallest float is wrong."""


def from_pld(pld: Any, *, adjacency: Adjacency | None = None) -> PrivacyLoss:
    """The loss that a pessimistic distribution of dp-accounting describes: upper bounds alone.

    pld: a `PrivacyLossDistribution`; the package is not imported.   adjacency: how its neighbours differ.
    Its masses are taken as they are; what they lack to 1 counts as infinite. Their rounding is not bounded by their
    maker, so a composition made there may be off by its floating-point errors.
    Raises ValueError for anything else, and for optimistic distributions, which bound nothing from above.
    """
    try:
        removed, added, symmetric = attrgetter("_pmf_remove", "_pmf_add", "_symmetric")(pld)
    except AttributeError:
        raise ValueError(f"pld must be a PrivacyLossDistribution of dp-accounting, got {shown(pld)}") from None
    losses = tuple(_loss_of(pmf) for pmf in ([removed] if symmetric else [removed, added]))
    return PrivacyLoss(losses, ("a distribution of dp-accounting dominates, as its maker says",), adjacency)


def _loss_of(pmf: Any) -> PairLoss:
    kind = type(pmf).__name__
    if kind not in ("DensePLDPmf", "SparsePLDPmf"):
        raise ValueError(f"pld must have masses in a DensePLDPmf or SparsePLDPmf, got {kind}")
    interval, infinity, pessimistic = attrgetter("_discretization", "_infinity_mass", "_pessimistic_estimate")(pmf)
    if not pessimistic:
        raise ValueError("pld must be pessimistic, got an optimistic one, which bounds nothing from above")
    if kind == "DensePLDPmf":
        masses = np.asarray(attrgetter("_probs")(pmf), np.float64)
        places = attrgetter("_lower_loss")(pmf) + np.arange(masses.size)
    else:
        found = sorted(attrgetter("_loss_probs")(pmf).items())
        places, masses = np.array([place for place, _ in found]), np.array([mass for _, mass in found], np.float64)
    kept = masses > 0  # a transform leaves zeros that are rounded, too
    total = float(infinity) + math.fsum(masses)
    if not (abs(total - 1) < _OFF and 0 <= float(infinity) <= 1 and masses.min(initial=0.0) > -_OFF):
        raise ValueError(f"pld must have masses that add up to 1, got {total!r} in all")
    return EnclosedLoss(ZERO_LOSS, _dominating(places[kept] * float(interval), masses[kept], float(infinity)))


def _dominating(losses: NDArray[np.float64], masses: NDArray[np.float64], infinity: float) -> DiscreteLoss:
    """The pair whose profile is the largest that the masses allow: convex, and 1 at t = 0.

    Where a tail was cut and put on a loss near it, masses may exceed 1 under P, or weighed by e**-loss under Q. The
    losses that Q has no room for are raised until they fit. Deltas are then evaluated at each loss from the largest
    down, with D(l - h) = e**-h D(l) + (1 - e**-h) P(> l), and P is brought to 1 by their hull with t = 0.
    """
    rest = infinity + max(0.0, 1 - infinity - math.fsum(masses))  # what is lacking may be anywhere
    with np.errstate(over="ignore"):
        second = np.cumsum((masses * np.exp(-losses))[::-1])[::-1]  # of Q from each loss on
    fits = int(np.searchsorted(-second, -1.0))
    if fits:
        raised, room = math.fsum(masses[:fits]), 1.0 - (float(second[fits]) if fits < losses.size else 0.0)
        rest += raised if room <= 0 else 0.0
        added = [(math.log(raised / room), raised)] if room > 0 else []
        pairs = sorted([*zip(losses[fits:].tolist(), masses[fits:].tolist(), strict=True), *added])
        losses, masses = np.array(pairs).reshape(-1, 2).T
    finite = above = 0.0
    points, grown = [(math.inf, rest)], 1 + 8 * losses.size * float(np.finfo(float).eps)
    for loss, mass in zip(losses[::-1].tolist(), masses[::-1].tolist(), strict=True):
        fallen = math.exp(loss - points[-1][0])
        finite = fallen * finite + (1 - fallen) * above if above else 0.0
        points.append((loss, min(1.0, (finite + rest) * grown)))
        above += mass
    levels = [(loss, math.log(delta)) for loss, delta in points[1:] if delta > 0]
    if rest == 0 and losses.size:
        levels.append((float(losses[-1]), -math.inf))
    return atoms_of_hull(*hull(levels), bounded=False) if levels else INFINITE_LOSS


def to_pld(loss: Any, *, interval: float = 1e-4) -> Any:
    """A pessimistic `PrivacyLossDistribution` of dp-accounting, which dominates the loss.

    loss: as `privacy_loss` takes it.   interval: nats, > 0, of the grid; its compositions have one interval in common.
    A discrete loss that dominates this one is moved to the grid: each mass p at l becomes two, at the multiples beside
    l, with the same p and the same p e**-l in all, which dominates. Masses are rounded up by 2e-13 of themselves.
    Raises ValueError for bad arguments, ImportError where dp-accounting is not installed.
    """
    step, found = positive(interval, "interval"), privacy_loss(loss)
    grids = [_on_grid(pair, step) for pair in found.directions]
    try:
        masses, distribution = (import_module(f"dp_accounting.pld.{name}") for name in _MODULES)
    except ImportError as error:
        missing = "to_pld makes objects of dp-accounting, which is not installed: pip install dp-accounting"
        raise ImportError(missing) from error
    made = [masses.DensePLDPmf(step, one.first, one.masses, one.infinity, pessimistic_estimate=True) for one in grids]
    return distribution.PrivacyLossDistribution(*made)


_MODULES = ("pld_pmf", "privacy_loss_distribution")


class _GridSize(NamedTuple):
    """Masses at the multiples `first`, `first` + 1, ... of an interval, and at infinity."""

    first: int
    masses: NDArray[np.float64]
    infinity: float


def _on_grid(pair: PairLoss, interval: float) -> _GridSize:
    listed = dominating_atoms(pair)
    atoms = (listed if listed.exact else atoms_above(listed)).atoms()
    if not atoms.losses.size:
        return _GridSize(0, np.zeros(1), 1.0)
    places = np.floor(atoms.losses / interval)
    first, count = int(places[0]), places[-1] - places[0] + 2
    if not count <= _MOST:
        raise ValueError(f"interval must leave at most {_MOST} multiples, got {interval!r} for {count:.3g}")
    # a loss that is rounded down to the grid by mistake would not dominate: the distance is rounded up
    above = atoms.losses - places * interval + 8 * np.spacing(np.abs(atoms.losses) + interval)
    share = np.clip(np.expm1(-above) / math.expm1(-interval), 0.0, 1.0)
    probabilities = np.exp(atoms.log_probabilities) * (1 + _ROUNDING)
    masses, at = np.zeros(int(count)), (places - places[0]).astype(np.int64)
    np.add.at(masses, at, probabilities * (1 - share))
    np.add.at(masses, at + 1, probabilities * share)
    tiny = masses < _LEAST
    infinity = exp_upwards(atoms.log_infinite) * (1 + _ROUNDING) + float(masses[tiny].sum())
    return _GridSize(first, np.where(tiny, 0.0, masses), min(1.0, infinity))
