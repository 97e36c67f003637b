"""The best of a random number of runs: private selection, as in tuning hyperparameters by private training runs.

A mechanism with the neighbours' distributions P and Q runs K times, and the output with the highest score is released.
K has the generating function phi, independently of the data; the order of the scores is fixed, and each output holds
its own. With F(y) the probability of no better output than y, where equal scores are ordered by chance, the release has
the density p(y) phi'(F_P(y)), and with probability phi(0) there is none. Let f be the trade-off curve of the pair, so
that 1 - F_P >= f(1 - F_Q), and phi' rises:

* by hockey-stick divergence. delta(epsilon) <= E_Q[max over u of (phi'(1 - f(1 - u)) L - e**epsilon phi'(u))_+] for the
  likelihood ratio L = p/q, as u = F_Q(y) is known to lie in [0, 1] alone;
* by Renyi divergence. The mean of (release's ratio)**a under Q's release is at most phi(0) + e**((a - 1) D_a) times the
  largest phi'(1 - f(1 - u))**a phi'(u)**(1 - a). For Poisson K with f's line of slope e**epsilon this is Theorem 6 of
  Papernot and Steinke.

The smaller of both counts. u runs over cells, with phi' taken at the worse end of each. Nothing is known from below.

Sources: Liu, Talwar (STOC 2019); Papernot, Steinke, "Hyperparameter Tuning with Renyi Differential Privacy" (ICLR
2022); Koskela, Redberg, Wang, "Privacy Profiles for Private Selection" (ICML 2024) for the first bound's idea.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ldp_audit.accounting.privacy_loss import PrivacyLoss, is_mirrored, privacy_loss
from ldp_audit.losses.discrete_loss import ZERO_LOSS
from ldp_audit.losses.hulls import atoms_above, divergence_of, dominating_atoms
from ldp_audit.losses.loss import KnownLoss, PairLoss, log_delta_from_reversed
from ldp_audit.numerics import between, root

Runs = Literal["geometric", "logarithmic", "poisson"]

SELECTED = "a run's output holds its score; neither the order of scores nor the number of runs depends on the data"
ONE_RELEASED = "nothing else of the runs is released, not even how many there were"
"""What the numbers rest on."""

_CELLS, _FINE_CELLS = 360, 200_000
"""Cells of the share of better outputs, which are close near 0 and 1; finer ones where high powers are taken."""
_MOST_MEAN = 1e12
_ORDERS = tuple(1 + 2.0 ** (k / 10) for k in range(-60, 101))
_ROUNDING = 1e-9
"""By this share of itself a delta is rounded up."""


def best_of(mechanism: Any, runs: Runs, *, mean: float) -> PrivacyLoss:
    """The privacy loss of the best output of a random number of independent runs.

    mechanism: one run, its score in its output; as `privacy_loss` takes it.
    runs: the distribution of their number, and mean: its mean. "geometric" on 1, 2, ... (`rng.geometric(1/mean)`) and
        "logarithmic" (`rng.logseries(1 - gamma)`, gamma in the loss's words), mean >= 1; "poisson"
        (`rng.poisson(mean)`, which may be 0), mean > 0.
    returns: upper bounds alone, in the directions of the mechanism's loss.
    Raises ValueError for anything else.
    """
    if runs not in get_args(Runs):
        raise ValueError(f"runs must be geometric, logarithmic or poisson, got {runs!r}")
    least = 0.0 if runs == "poisson" else 1.0
    accepted = "a finite number > 0" if runs == "poisson" else "a finite number >= 1"
    size = between(mean, "mean", accepted, lambda one: least <= one < math.inf and one > 0)
    loss = privacy_loss(mechanism)
    number = _NumberOfRuns.of_mean(runs, float(size))
    words = f"the best of a {runs} number of runs, {mean:g} on average{number.in_words()}, of {loss.of}"
    directions = loss.directions
    if size > least and loss.supremum() > 0:  # else there is one run, or they show nothing
        directions = tuple(_SelectedLoss(one, number) for one in directions)
    return PrivacyLoss(directions, (*loss.assumptions, SELECTED, ONE_RELEASED), loss.adjacency, words)


@dataclass(frozen=True)
class _NumberOfRuns:
    """The distribution of the number of runs.

    kind, mean: see `best_of`.   gamma: of the geometric and the logarithmic one, in (0, 1].
    """

    kind: Runs
    mean: float
    gamma: float

    @classmethod
    def of_mean(cls, kind: Runs, mean: float) -> _NumberOfRuns:
        if kind != "logarithmic":
            return cls(kind, mean, 1 / mean)
        if mean == 1:
            return cls(kind, mean, 1.0)
        if mean > _MOST_MEAN:
            raise ValueError(f"mean must be at most {_MOST_MEAN:g} for a logarithmic number of runs, got {mean!r}")
        # the mean is (e**x - 1)/x for gamma = e**-x
        return cls(kind, mean, math.exp(-root(lambda x: math.expm1(x) / x - mean, 1e-12, 99.0, xtol=1e-15, rtol=1e-15)))

    def in_words(self) -> str:
        return "" if self.kind == "poisson" else f" (gamma = {self.gamma:.10g})"

    def log_slope(self, short: NDArray[np.float64]) -> NDArray[np.float64]:
        """ln phi'(1 - short), which falls with `short`, in [0, 1]."""
        if self.kind == "poisson":
            return math.log(self.mean) - self.mean * short
        log = np.log(self.gamma + (1 - self.gamma) * short)
        if self.kind == "geometric":
            return math.log(self.gamma) - 2 * log
        return math.log((1 - self.gamma) / -math.log(self.gamma)) - log

    @property
    def log_none(self) -> float:
        """ln of the probability of no run."""
        return -self.mean if self.kind == "poisson" else -math.inf


@dataclass(frozen=True, eq=False)
class _SelectedLoss(PairLoss):
    """The loss of one direction, from above.   run: the loss of one run in this direction."""

    run: PairLoss
    number: _NumberOfRuns

    def supremum(self) -> float:
        """See `PairLoss`: the run's, and the most by which the weights of an output may differ."""
        return self._supremum

    @cached_property
    def _supremum(self) -> float:
        top = self.run.supremum()
        if top == math.inf:
            return math.inf
        chosen, passed = self._fine_weights
        # no F_P exceeds e**top F_Q, nor 1 - F_Q e**back (1 - F_P): of each of the runs that are beaten, one factor
        differ = float(np.max(chosen - passed)) + _ROUNDING
        if (factors := {"geometric": 2, "logarithmic": 1, "poisson": None}[self.number.kind]) is not None:
            differ = min(differ, factors * max(0.0, self.run.reversed().supremum()))
        return top + differ

    def reversed(self) -> _SelectedLoss:
        """See `PairLoss`."""
        return self if is_mirrored(self.run) else self._back

    @cached_property
    def _back(self) -> _SelectedLoss:
        return _SelectedLoss(self.run.reversed(), self.number)

    def known(self, end: int | None = None) -> KnownLoss | None:
        """See `PairLoss`: nothing is known from below."""
        return ZERO_LOSS if end == 0 else None

    def log_delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """See `PairLoss`; the lower bound is that of no release, or of one that shows nothing."""
        if epsilon < 0:
            return log_delta_from_reversed(epsilon, (-math.inf, self.reversed().log_delta_bounds(-epsilon)[1]))
        if epsilon >= self.supremum():
            return -math.inf, -math.inf
        return -math.inf, min(0.0, self._by_divergence(epsilon), self._by_orders(epsilon))

    def _by_divergence(self, epsilon: float) -> float:
        losses, log_masses, log_infinite = self._run
        chosen, passed = self._weights
        # e**chosen (1 - e**(epsilon + passed - chosen - loss)), the largest over u, for each loss
        apart = epsilon + passed - chosen - losses[:, None]
        with np.errstate(divide="ignore"):
            gains = chosen + np.log(-np.expm1(np.minimum(apart, 0.0)))
        total = np.logaddexp.reduce(log_masses + gains.max(axis=1), initial=float(chosen.max()) + log_infinite)
        return float(total) + _ROUNDING

    def _by_orders(self, epsilon: float) -> float:
        found = 0.0
        for order, log_moment in self._moments:
            bound = log_moment - (order - 1) * epsilon + order * math.log1p(-1 / order) - math.log(order - 1)
            found = min(found, bound + _ROUNDING)
        return found

    @cached_property
    def _run(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Of a discrete loss that dominates one run: its losses, ln of their masses, and of the mass at infinity."""
        listed = dominating_atoms(self.run)
        if listed.error:
            listed = atoms_above(listed)  # by its upper bounds alone, which have no error
        return listed.losses, listed.log_probabilities, listed.log_infinite

    @cached_property
    def _weights(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self._weights_in(_CELLS)

    @cached_property
    def _fine_weights(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self._weights_in(_FINE_CELLS)

    def _weights_in(self, cells: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """In each cell of u, ln phi'(1 - f(1 - u)) at its upper end and ln phi'(u) at its lower one."""
        losses, log_masses, _ = self._run
        first = np.concatenate([[0.0, 0.0], np.cumsum(np.exp(log_masses))])
        second = np.cumsum(np.exp(log_masses - losses))
        missing = max(0.0, 1 - float(second[-1])) if second.size else 1.0  # of Q, where P has nothing
        # f's corners, the tests that begin with the lowest losses
        corners = np.minimum(np.concatenate([[0.0, missing], missing + second]), 1.0)
        better = np.concatenate([[0.0], ndtr(np.linspace(-9.0, 9.0, cells + 1)), [1.0]])  # 1 - u, ascending
        least = np.maximum(0.0, np.interp(better, corners, first) * (1 - _ROUNDING) - 1e-15)
        return self.number.log_slope(least[:-1]), self.number.log_slope(better[1:])

    @cached_property
    def _moments(self) -> list[tuple[float, float]]:
        """Orders a > 1, and ln of a bound on the mean of the release's ratio to the power a."""
        chosen, passed = self._fine_weights
        found = []
        for order in _ORDERS:
            divergence = divergence_of(self.run, order)[0]
            if divergence < math.inf:
                most = float(np.max(order * chosen - (order - 1) * passed)) + (order - 1) * divergence
                found.append((order, float(np.logaddexp(self.number.log_none, most)) + _ROUNDING))
        return found
