"""Records drawn hundreds of times: numbers of copies in groups, one end at a time, against laws that tell them all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ldp_audit.accounting import compose
from ldp_audit.accounting.laws.bracketed_loss import BracketedLoss, ends_of, is_known, known_end
from ldp_audit.accounting.laws.finite_losses import EVERYTHING, log_sum
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.laws.laplace_loss import LaplaceLoss
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.sampling.copies_loss import copies_loss
from ldp_audit.accounting.sampling.copy_counts import CopyCounts, copy_counts
from ldp_audit.accounting.sampling.noise_copies import NoiseCopies
from ldp_audit.accounting.sampling.rare_loss import RareLoss
from ldp_audit.accounting.sampling.subsample import subsample
from ldp_audit.accounting.sampling.symmetric_loss import SymmetricLoss
from ldp_audit.mechanisms import Gaussian, RandomizedResponse

NOISES: list[LossLaw] = [GaussianLoss(0.02), GaussianLoss(1.0), LaplaceLoss(0.05)]


@pytest.mark.parametrize(("n", "k"), [(10, 10**4), (3, 1000), (2, 2 * 10**6)])
@pytest.mark.parametrize("end", [0, 1])
def test_groups_move_numbers_one_way_and_keep_their_chances(n: int, k: int, end: int) -> None:
    given = copy_counts(n, k, end)
    found = given.told_apart(100, end)
    assert found.counts.size <= 100
    assert np.all(np.diff(found.counts) > 0)
    assert log_sum(found.logs) == pytest.approx(log_sum(given.logs), abs=1e-12)
    for count in given.counts[:: max(1, given.counts.size // 50)]:
        beyond, before = log_sum(given.logs[given.counts >= count]), log_sum(found.logs[found.counts >= count])
        assert (before >= beyond - 1e-9) if end else (before <= beyond + 1e-9)


def test_likely_numbers_are_in_smaller_groups_than_others() -> None:
    given = copy_counts(10, 10**4, 1)
    found = given.told_apart(200, 1)
    gaps = np.diff(found.counts)
    near = np.abs(found.counts[1:] - 1000.0) < 60
    assert gaps[near].max() < (given.counts[-1] - given.counts[0]) / 200 <= gaps[~near].min() * 3
    few = CopyCounts(given.counts[:50], given.logs[:50], -math.inf)
    assert few.told_apart(200, 1) is few


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("n", "k"), [(3, 500)])
@pytest.mark.parametrize("replaced", [False, True])
def test_listed_ends_of_many_copies_enclose_the_law_that_tells_them_all(
    noise: Any, n: int, k: int, replaced: bool
) -> None:
    """In either order of the pair, whose two laws ask for the same lists."""
    counts = copy_counts(n, k, 1)
    assert counts.counts.size > 300
    law = NoiseCopies(noise, counts.counts, counts.logs - log_sum(counts.logs), replaced)
    for one in (law,) if replaced else (law, law.mirrored()):
        lower, upper = ends_of(one)
        top = min(one.largest(), 1e6)
        for share in (1e-3, 0.1, 0.4):
            low, truth, high = (some.log_delta_bounds(share * top) for some in (lower, one, upper))
            assert low[0] <= truth[0] + 1e-9 * (1 + abs(truth[0]))
            assert truth[1] <= high[1] + 1e-9 * (1 + abs(truth[1]))


def test_a_pair_and_its_mirror_image_are_listed_once() -> None:
    law = copies_loss(LaplaceLoss(1.0), 10, 20, replaced=False)
    assert isinstance(law, NoiseCopies)
    back = law.mirrored()
    assert isinstance(back, NoiseCopies)
    for end in (0, 1):
        assert back.mirrored().enclosed_end(end) is law.enclosed_end(end)  # type: ignore[attr-defined]


def test_one_end_is_that_of_both() -> None:
    noise = copies_loss(GaussianLoss(1.0), 10, 20, replaced=True)
    laws: list[LossLaw] = [
        noise,
        SymmetricLoss(noise),
        RareLoss(noise, -800.0, 100.0, 100.0),
        RareLoss(LaplaceLoss(1.0), -800.0, 100.0, 100.0, back_first=True),
        SymmetricLoss(RareLoss(noise, -800.0, 100.0, 100.0)),
        BracketedLoss(LaplaceLoss(1.0), EVERYTHING),
        LaplaceLoss(1.0),
    ]
    for law in laws:
        for end, both in enumerate(ends_of(law)):
            one = known_end(law, end)
            for level in (0.0, 0.5, 3.0):
                assert one.log_delta_bounds(level) == both.log_delta_bounds(level)


def test_a_rare_loss_seen_from_behind_is_not_known() -> None:
    law = RareLoss(LaplaceLoss(1.0), -800.0, 100.0, 100.0, back_first=True)
    assert not is_known(law)
    assert known_end(law, 0) is known_end(law, 1) is law.told


@pytest.mark.parametrize("adjacency", ["replace", "add/remove"])
def test_many_copies_composed_enclose_what_they_all_are_at_least_and_at_most(adjacency: Any) -> None:
    """Fewer and more copies in each of 1000 rounds: as many as are drawn but with a chance of 1e-9 in all."""
    loss = subsample(RandomizedResponse(1.0), kind="with", n=4, k=2000, adjacency=adjacency)
    low, high = compose([(loss, 1000)]).epsilon_bounds(1e-6)
    assert 1000 * 500 * math.tanh(0.5) * 0.9 < low < high < 1000 * 520
    assert high - low < 0.01 * high


def test_rounds_whose_noise_rarely_shows_a_record_are_told_to_a_nat_in_a_million() -> None:
    """Heavy tails: ends were 5% of epsilon apart, after 20 seconds."""
    loss = subsample(Gaussian(sigma=1.0), kind="with", n=10**5, k=10, adjacency="replace")
    low, high = compose([(loss, 1000)]).epsilon_bounds(1e-6)
    assert 0.0172 < low <= high < 0.018
    assert high - low < 2e-6
    assert low > loss.epsilon(1e-6)
