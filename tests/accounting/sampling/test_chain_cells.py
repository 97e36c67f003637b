"""Cells of a chain of laws: against the geometric mechanism, and against iterated power curves."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ldp_audit.accounting.laws.finite_losses import EVERYTHING, as_atoms, symmetric_law
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.privacy_loss_of import privacy_loss
from ldp_audit.accounting.sampling.chain_cells import ChainCells, chain_cells
from ldp_audit.mechanisms import RandomizedResponse, SubsampleRelease
from tests.accounting.sampled_experiments import geometric_count, hockey_stick


def atoms_of(mechanism: object) -> LossAtoms:
    found = as_atoms(privacy_loss(mechanism).directions[0])
    assert found is not None
    return found


def log_delta(cells: ChainCells, copies: int, level: float) -> float:
    """ln of the hockey-stick divergence of P_copies from P_0."""
    ratios = cells.log_ratios[copies]
    above = ratios > level
    gains = (cells.log_sizes + ratios + np.log(-np.expm1(np.where(above, level - ratios, -1.0))))[above]
    return float(np.logaddexp.reduce(np.append(gains, cells.log_infinite[copies])))


@pytest.mark.parametrize("t", [Fraction(11, 10), Fraction(2), Fraction(50)])
def test_a_geometric_mechanism_has_the_cells_of_randomised_response(t: Fraction) -> None:
    """It would fail if groups counted as pure mechanisms."""
    most = 6
    cells = chain_cells(atoms_of(RandomizedResponse(math.log(t))), most)
    channel = geometric_count(t, most)
    for size in range(1, most + 1):
        for level in (Fraction(1), t ** (size - 1) * (1 + t) / 2, t / 2 + Fraction(1, 2), t**size):
            exact = float(hockey_stick(channel((1,) * size), channel(()), level))
            assert math.exp(log_delta(cells, size, math.log(level))) == pytest.approx(exact, rel=1e-11, abs=1e-15)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 1.0, 50.0])
def test_no_digits_are_lost_for_large_and_for_small_losses(epsilon: float) -> None:
    cells = chain_cells(atoms_of(RandomizedResponse(epsilon)), 2)
    # (t - 1)/t, the total variation of two steps of the geometric mechanism
    assert math.exp(log_delta(cells, 2, 0.0)) == pytest.approx(-math.expm1(-epsilon), rel=1e-12)
    assert cells.log_ratios[2].max() == pytest.approx(2 * epsilon, rel=1e-14)


def test_cells_too_small_for_floats_are_cut() -> None:
    cells = chain_cells(atoms_of(RandomizedResponse(50.0)), 40)
    assert cells.log_sizes[0] == pytest.approx(-50.0 * 40, rel=1e-12)
    assert np.logaddexp.reduce(cells.log_sizes) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("infinite", [0.0, 0.05])
def test_each_law_of_the_chain_is_the_power_curve_of_the_one_before(infinite: float) -> None:
    """By points of the curves, worked out without the cells."""
    law = as_atoms(symmetric_law([0.3, 1.1, 2.0], np.log([0.3, 0.2, 0.1]), infinite=infinite))
    assert law is not None
    sizes = np.exp(np.concatenate([[-math.inf], (law.log_probabilities - law.losses)[::-1], [law.log_infinite]]))
    powers = np.exp(np.concatenate([[law.log_infinite], law.log_probabilities[::-1], [-math.inf]]))
    alphas, betas = np.cumsum(sizes), np.cumsum(powers)
    cells = chain_cells(law, 5)
    starts = np.concatenate([[0.0], np.cumsum(np.exp(cells.log_sizes))])
    reached = starts.copy()
    for copies in range(1, 6):
        positive = starts > 1e-12
        reached = np.where(positive, np.interp(reached, alphas, betas), reached)
        found = math.exp(cells.log_infinite[copies]) + np.concatenate(
            [[0.0], np.cumsum(np.exp(cells.log_sizes + cells.log_ratios[copies]))]
        )
        assert found[positive] == pytest.approx(reached[positive], abs=1e-12)


def test_ratios_fall_from_cell_to_cell_and_are_concave_in_the_number_of_copies() -> None:
    cells = chain_cells(atoms_of(RandomizedResponse(0.7, 4)), 12)
    assert np.all(np.diff(cells.log_ratios, axis=1) <= 1e-12)
    assert np.all(np.diff(cells.log_ratios, n=2, axis=0) <= 1e-12)


def test_the_chances_of_an_infinite_loss_add_up() -> None:
    q = 0.3  # each step may be told from the next by an output of its own
    cells = chain_cells(atoms_of(SubsampleRelease(10, 3)), 5)
    assert np.exp(cells.log_infinite) == pytest.approx([min(1.0, size * q) for size in range(6)], rel=1e-13)
    assert chain_cells(EVERYTHING, 3).log_infinite.tolist() == [-math.inf, 0.0, 0.0, 0.0]  # type: ignore[arg-type]
