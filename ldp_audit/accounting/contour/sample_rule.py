r"""The rule for Gaussian noise on a sample: that of `panel_rule`, and what is known of f on pieces of its panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ldp_audit.accounting.contour.on_sample import OnSample, log_density, log_density_bound
from ldp_audit.accounting.contour.panel_rule import PanelRule, Points, Window, panel_rule

Numbers = NDArray[np.float64]

_PIECES = 8


class Pieces(NamedTuple):
    """Pieces of x, by their ends.

    left, right: the ends.   low, high, low_shares, high_shares: ln w and the share at either end.
    log_most, log_weighed, log_least: ln of the most that the integral of the density may be, of the same with the
    part's weight, and of the least that this may be.   log_least_weight: ln of the least weight of the part.
    """

    left: Numbers
    right: Numbers
    low: Numbers
    high: Numbers
    low_shares: Numbers
    high_shares: Numbers
    log_most: Numbers
    log_weighed: Numbers
    log_least: Numbers
    log_least_weight: Numbers


@dataclass(frozen=True, eq=False)
class SampleRule:
    """A rule for the integrands of some p."""

    integrands: OnSample
    panels: PanelRule

    @property
    def window(self) -> Window:
        """Where f is integrated."""
        return self.panels.window

    @property
    def points(self) -> Points:
        """See `PanelRule`."""
        return self.panels.points

    @property
    def log_flat(self) -> float:
        """See `PanelRule`."""
        return self.panels.log_flat

    def log_wrong(self, power: float, y: float) -> float:
        """See `PanelRule`."""
        return self.panels.log_wrong(power, y)

    @cached_property
    def pieces(self) -> Pieces:
        """What is known of f on some equal pieces of each panel."""
        middles, halves = self.panels.middles[:, None], self.panels.halves[:, None]
        ends = middles + halves * np.linspace(-1.0, 1.0, _PIECES + 1)
        left, right, part = ends[:, :-1].ravel(), ends[:, 1:].ravel(), self.integrands.part
        (low, low_shares), (high, high_shares) = self.integrands.told(left), self.integrands.told(right)
        lengths = np.log(right - left)
        least = np.log(np.maximum(np.minimum(part.weights(left), part.weights(right)), 1e-300))
        most = log_density_bound(left, right) + lengths
        weighed = most + part.log_bound(left, right, np.zeros(left.size))
        lowest = log_density(np.maximum(np.abs(left), np.abs(right))) + least + lengths
        return Pieces(left, right, low, high, low_shares, high_shares, most, weighed, lowest, least)


def sample_rule(integrands: OnSample, powers: Sequence[float], y: float, least: float) -> SampleRule | None:
    """See `panel_rule`."""
    found = panel_rule(integrands, powers, y, least)
    return None if found is None else SampleRule(integrands, found)
