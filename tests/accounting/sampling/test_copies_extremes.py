"""Draws with replacement at the ends of their range: many copies, infinite losses, losses that cancel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ldp_audit.accounting.compose import compose
from ldp_audit.accounting.laws.bracketed_loss import ends_of, is_known
from ldp_audit.accounting.laws.finite_losses import as_atoms, log_sum, symmetric_law
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.laws.laplace_loss import LaplaceLoss
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.privacy_loss_of import privacy_loss
from ldp_audit.accounting.sampling.chain_cells import chain_cells
from ldp_audit.accounting.sampling.copies_loss import copies_loss
from ldp_audit.accounting.sampling.fewer_losses import connected
from ldp_audit.accounting.sampling.subsample import subsample
from ldp_audit.mechanisms import RandomizedResponse

BASES: list[LossLaw] = [privacy_loss(RandomizedResponse(1.0, 3)).directions[0]]
CANCELLING = symmetric_law(np.log([22 / 9, 55 / 18, 33 / 10]), np.log([4 / 45, 1 / 6, 3 / 10]))
"""The quotients of two ratios are ratios again, so that some sums of four losses are 0."""


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(("n", "k"), [(2, 5000)])
@pytest.mark.parametrize("adjacency", ["replace", "add/remove"])
def test_no_lower_end_is_above_an_upper_one_however_many_the_copies(
    base: LossLaw, n: int, k: int, adjacency: Any
) -> None:
    """A lower end was an infinite loss of chance 1/2, and others were above 1."""
    loss = subsample(PrivacyLoss((base,)), kind="with", n=n, k=k, adjacency=adjacency)
    most = k * math.log1p(math.expm1(base.largest()) / n) if base.largest() < 100 else math.inf
    for law in loss.directions:
        least, upper = ends_of(law)
        for level in (-50.0, 0.0, 1.0, 100.0, 1e3, 3e4):
            low, high = law.log_delta_bounds(level)
            most_above = max(high, upper.log_delta_bounds(level)[1])
            assert low <= 1e-12
            assert max(low, least.log_delta_bounds(level)[0]) <= most_above + 1e-9
            if level > most:
                assert low == -math.inf


@pytest.mark.parametrize("adjacency", ["replace", "add/remove"])
def test_losses_that_cancel_are_no_losses(adjacency: Any) -> None:
    """A rounded sum just above 0 was counted, with its mirror image, twice."""
    atoms = as_atoms(CANCELLING)
    assert atoms is not None
    cells = chain_cells(atoms, 4)
    assert np.all((cells.log_ratios == 0) | (np.abs(cells.log_ratios) > 1e-9))
    for n in (1, 2):
        if adjacency == "replace" or n > 1:
            loss = subsample(PrivacyLoss((CANCELLING,)), kind="with", n=n, k=4, adjacency=adjacency)
            assert 0 < loss.delta(0.0) < 1


def test_a_rare_loss_seen_from_behind_has_two_ends() -> None:
    """One object, twice, says of a law that it knows its losses, and its composition was an error."""
    law = subsample(RandomizedResponse(50.0), kind="with", n=10**8, k=10**8).directions[1]
    upper = ends_of(law)[1]
    assert not is_known(law)
    assert upper.largest() == pytest.approx(1.0, rel=1e-6)


def test_masses_moved_to_far_ends_keep_those_of_both_laws() -> None:
    """The share that moves down was 1 less one that rounds to 1, which lost Q's mass and so the mirrored law's."""
    for low, loss, high in ((-100.0, -50.0, -1.0), (-1.0, 30.0, 31.0), (-math.inf, -3.0, 2.0), (-2.0, 3.0, math.inf)):
        found = connected(*(np.array([x]) for x in (low, high, loss, -5.0)))
        first = log_sum(np.append(found.masses.seconds + found.masses.losses, found.log_infinite))
        assert first == pytest.approx(loss - 5.0, abs=1e-13)
        assert log_sum(np.append(found.masses.seconds, found.log_missing)) == pytest.approx(-5.0, abs=1e-13)


@pytest.mark.parametrize("noise", [LaplaceLoss(1.0), LaplaceLoss(20.0), GaussianLoss(1.0), GaussianLoss(6.0)])
@pytest.mark.parametrize(("n", "k"), [(3, 40)])
def test_both_laws_of_the_upper_end_have_all_their_mass(noise: LossLaw, n: int, k: int) -> None:
    """The mirrored law dominates only if none of Q's mass is lost."""
    upper = ends_of(copies_loss(noise, n, k, replaced=False))[1]
    atoms = as_atoms(upper)
    assert atoms is not None
    assert log_sum(np.append(atoms.log_probabilities, atoms.log_infinite)) == pytest.approx(0.0, abs=1e-9)
    assert log_sum(np.append(atoms.log_probabilities - atoms.losses, atoms.missing)) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(("noise", "n", "k"), [(GaussianLoss(1.0), 10**5, 10), (GaussianLoss(0.3), 10, 10)])
def test_lists_of_losses_are_as_near_where_delta_is_tiny(noise: LossLaw, n: int, k: int) -> None:
    """Outputs were cut five deviations apart there, which cost seven nats of ln delta at the last level."""
    law = copies_loss(noise, n, k, replaced=False)
    lower, upper = ends_of(law)
    for log_delta in (-100.0, -300.0, -600.0):
        level = PrivacyLoss((law,)).epsilon(log_delta=log_delta)
        exact = law.log_delta_bounds(level)[1]
        assert exact == pytest.approx(log_delta, abs=1e-6)
        low, high = lower.log_delta_bounds(level)[0], upper.log_delta_bounds(level)[1]
        assert low <= exact + 1e-9 <= high + 2e-9
        assert high - low < 0.3


@pytest.mark.parametrize("noise", [GaussianLoss(0.001), LaplaceLoss(0.001)])
def test_a_delta_as_good_as_1_has_ends_in_order(noise: LossLaw) -> None:
    """The upper one was below 1 by the rounding of the chances, and the epsilon of such a delta 0."""
    loss = subsample(PrivacyLoss((noise,)), n=10**6, k=10**12, kind="with", adjacency="replace")
    low, high = loss.log_delta_bounds(1.0)
    assert -1e-14 <= low <= high == 0


@pytest.mark.parametrize("mu", [1e5, 1e7])
def test_noise_that_shows_every_copy_composes_without_a_warning(mu: float) -> None:
    sampled = subsample(PrivacyLoss((GaussianLoss(mu),)), n=10**12, k=2, kind="with", adjacency="replace")
    low, high = compose([(sampled, 7)]).log_delta_bounds(mu / 2)
    assert -math.inf < low <= math.log(7 * 2e-12) + 1e-6
    assert math.log(2e-12) - 1e-6 <= high <= 0
