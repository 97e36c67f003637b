"""Losses with finitely many values, mixtures of them, and losses that may be infinite."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ldp_audit.accounting import DiscreteLoss
from ldp_audit.losses.discrete_loss import INFINITE_LOSS, ZERO_LOSS, BinomialLoss, atoms_of, merged, symmetric_loss
from ldp_audit.losses.enclosed_loss import LossMixture, mixture
from ldp_audit.losses.loss import LossWithInfinity
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss

LEVELS = st.floats(-5, 5)


@st.composite
def laws(draw, size=5):
    """Two laws on the same outcomes, in fractions; some of either may be 0."""
    first, second = (draw(st.lists(st.integers(0, 50), min_size=size, max_size=size)) for _ in range(2))
    assume(sum(first) > 0 and sum(second) > 0)
    return tuple({i: Fraction(w, sum(one)) for i, w in enumerate(one)} for one in (first, second))


def divergence(first, second, level):
    return sum(max(0.0, float(p) - math.exp(level) * float(second.get(i, 0))) for i, p in first.items())


@given(laws(), LEVELS)
def test_delta_is_the_sum_over_the_outcomes(pair, level):
    """Would catch a lost infinite loss, a wrong weight and a wrong comparison."""
    low, high = DiscreteLoss.of_laws(*pair).log_delta_bounds(level)
    assert low == high
    assert math.exp(low) == pytest.approx(divergence(*pair, level), abs=1e-13)


@given(laws(), LEVELS)
def test_the_mirror_image_is_the_other_order_and_twice_mirrored_is_the_law(pair, level):
    law = DiscreteLoss.of_laws(*pair)
    mirrored = law.reversed()
    assert math.exp(mirrored.log_delta_bounds(level)[0]) == pytest.approx(divergence(*pair[::-1], level), abs=1e-13)
    again = mirrored.reversed()
    assert np.allclose(again.losses, law.losses, atol=1e-15)
    assert np.allclose(again.log_probabilities, law.log_probabilities, atol=1e-13)
    assert (again.log_infinite, again.missing) == (law.log_infinite, law.missing)


@given(laws(), st.lists(LEVELS, min_size=1, max_size=4, unique=True))
def test_masses_of_cells_are_those_of_the_outcomes_in_them(pair, edges):
    """Would catch an outcome counted twice or not at all, at an edge above all."""
    law, cuts = DiscreteLoss.of_laws(*pair), np.sort(edges)
    cells = law.masses(cuts)
    assert np.exp(cells.first).sum() + math.exp(cells.infinite) == pytest.approx(1)
    assert np.exp(cells.second).sum() + math.exp(cells.missing) == pytest.approx(1)
    upper = np.append(cuts, math.inf)
    for i in range(upper.size):
        inside = (law.losses <= upper[i]) & (law.losses > (upper[i - 1] if i else -math.inf))
        assert math.exp(cells.first[i]) == pytest.approx(np.exp(law.log_probabilities[inside]).sum(), abs=1e-15)


@given(laws(6), st.permutations(range(6)), LEVELS)
def test_merging_outcomes_lowers_delta(pair, order, level):
    """Data processing: would catch a delta that does not compare ratios."""
    group = {i: i // 2 for i in range(6)}
    coarse = []
    for law in pair:
        merged_law: dict[int, Fraction] = {}
        for place, outcome in enumerate(order):
            merged_law[group[place]] = merged_law.get(group[place], Fraction(0)) + law[outcome]
        coarse.append(merged_law)
    fine, rough = (DiscreteLoss.of_laws(*laws_).log_delta_bounds(level)[0] for laws_ in (pair, coarse))
    assert math.exp(rough) <= math.exp(fine) + 1e-14


def test_a_tiny_mass_that_only_one_law_has_is_kept():
    """Would catch 1e-20 that is lost beside 1: it is the whole delta at large levels, in both orders."""
    law = DiscreteLoss(np.zeros(1), np.zeros(1), math.log(1e-20), math.log(1e-30))
    assert law.supremum() == math.inf
    assert law.log_delta_bounds(50.0)[0] == pytest.approx(math.log(1e-20))
    assert law.reversed().log_delta_bounds(50.0)[0] == pytest.approx(math.log(1e-30))


@pytest.mark.parametrize(
    ("losses", "logs", "infinite"),
    [
        ([1.0, 0.0], [-0.7, -0.7], -math.inf),
        ([0.0, 0.0], [math.log(0.5)] * 2, -math.inf),
        ([0.0], [math.log(0.5)], -math.inf),
        ([-1.0], [0.0], -math.inf),
        ([math.inf], [0.0], -math.inf),
        ([math.nan], [0.0], -math.inf),
        ([0.0, 1.0], [0.0], -math.inf),
        ([0.0], [0.0], math.nan),
    ],
)
def test_what_is_no_law_is_refused(losses, logs, infinite):
    with pytest.raises(ValueError, match=r"must be"):
        DiscreteLoss(np.array(losses), np.array(logs), infinite)


def test_losses_that_differ_by_rounding_become_one_and_others_do_not():
    losses, logs = merged(np.array([0.1 + 0.2, 0.3, -0.3, 0.3 + 1e-12]), np.log(np.full(4, 0.25)))
    assert losses == pytest.approx([-0.3, 0.3, 0.3 + 1e-12], abs=1e-15)
    assert np.exp(logs) == pytest.approx([0.25, 0.5, 0.25])


@pytest.mark.parametrize("seed", range(5))
def test_chains_of_near_losses_are_cut_where_they_would_grow_wider_than_rounding(seed):
    """Long chains and short ones side by side: each group is what a walk from its first loss on may join."""
    rng = np.random.default_rng(seed)
    steps = np.where(rng.random(400) < 0.7, rng.integers(0, 6, 400) * 2.0**-52, rng.random(400) * 0.01)
    losses = 1 + np.cumsum(steps)
    groups, reach = [[losses[0]]], 8e-16 * losses[-1]
    for loss in losses[1:]:
        near = loss - groups[-1][0] <= reach
        groups[-1].append(loss) if near else groups.append([loss])
    found, logs = merged(losses, np.log(np.full(400, 1 / 400)))
    assert found.size == len(groups)
    assert np.exp(logs) == pytest.approx([len(group) / 400 for group in groups])
    assert all(group[0] <= loss <= group[-1] for group, loss in zip(groups, found, strict=True))
    assert max(len(group) for group in groups) > 2


def test_a_symmetric_law_of_two_values_is_a_binomial_one_and_of_none_says_nothing():
    assert symmetric_loss([1.0], [-math.log1p(math.exp(-1.0))]) == BinomialLoss(1.0, -1.0, 1)
    assert symmetric_loss([], []) is ZERO_LOSS
    assert symmetric_loss([], [], infinite=1) is INFINITE_LOSS
    assert ZERO_LOSS.log_delta_bounds(0.0) == (-math.inf, -math.inf)
    assert INFINITE_LOSS.log_delta_bounds(math.inf) == (0.0, 0.0)


@given(laws(), LEVELS)
def test_an_infinite_loss_taken_apart_says_the_same(pair, level):
    """Would catch a shift of the wrong sign between the conditional laws."""
    law = DiscreteLoss.of_laws(*pair)
    apart = atoms_of(law.losses, law.log_probabilities, law.log_infinite, law.missing)
    assert math.exp(apart.log_delta_bounds(level)[0]) == pytest.approx(
        math.exp(law.log_delta_bounds(level)[0]), abs=1e-13
    )
    back = apart.atoms()
    assert back is not None
    assert math.exp(back.log_delta_bounds(level)[0]) == pytest.approx(
        math.exp(law.log_delta_bounds(level)[0]), abs=1e-13
    )
    mirrored = math.exp(apart.reversed().log_delta_bounds(level)[0])
    assert mirrored == pytest.approx(math.exp(law.reversed().log_delta_bounds(level)[0]), abs=1e-13)


@pytest.mark.parametrize("logs", [(0.1, 0.0), (-math.inf, 0.0), (math.nan, 0.0)])
def test_masses_above_one_and_half_empty_pairs_are_refused(logs):
    with pytest.raises(ValueError, match="log_first and log_second"):
        LossWithInfinity(ZERO_LOSS, *logs)


@given(laws(), laws(), st.floats(0.05, 0.95), st.floats(0.05, 0.95), LEVELS)
def test_a_mixture_that_shows_its_part_adds_the_parts(one, two, first, second, level):
    """Would catch a shift with the wrong sign; the parts' shares differ between the inputs."""
    together = tuple(
        {(i, o): share * float(p) for i, share, law in ((0, w, one[k]), (1, 1 - w, two[k])) for o, p in law.items()}
        for k, w in enumerate((first, second))
    )
    shifts = math.log(first / second), math.log((1 - first) / (1 - second))
    parts = [DiscreteLoss.of_laws(*pair) for pair in (one, two)]
    law = mixture([(math.log(first), shifts[0], parts[0]), (math.log(1 - first), shifts[1], parts[1])])
    assert math.exp(law.log_delta_bounds(level)[0]) == pytest.approx(divergence(*together, level), abs=1e-12)


@pytest.mark.parametrize("level", [-2.0, -0.3, 0.0, 0.7, 1.6])
def test_a_mixture_of_continuous_parts_follows_its_parts(level):
    weights = (0.25, 0.75)
    law = mixture([(math.log(weights[0]), 0.4, LaplaceLoss(1.0)), (math.log(weights[1]), -0.2, GaussianLoss(0.5))])
    assert isinstance(law, LossMixture)
    wanted = 0.25 * math.exp(LaplaceLoss(1.0).log_delta_bounds(level - 0.4)[0]) + 0.75 * math.exp(
        GaussianLoss(0.5).log_delta_bounds(level + 0.2)[0]
    )
    assert math.exp(law.log_delta_bounds(level)[0]) == pytest.approx(wanted, rel=1e-13)
    again = law.reversed().reversed()
    assert math.exp(again.log_delta_bounds(level)[0]) == pytest.approx(wanted, rel=1e-13)
    cells = law.masses(np.linspace(-2, 2, 9))
    assert np.exp(cells.first).sum() == pytest.approx(1, abs=1e-14)
    assert np.exp(cells.second).sum() == pytest.approx(0.25 * math.exp(-0.4) + 0.75 * math.exp(0.2), rel=1e-13)
    assert law.supremum() == math.inf
