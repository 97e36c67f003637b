"""Groups of records in one sample, and batches that are cut, against enumeration and the mixture's own integrals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from ldp_audit.accounting import PrivacyLoss, compose, subsample
from ldp_audit.losses.mixed_moves import MixedMoves
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss, NoiseLoss
from ldp_audit.losses.sampling_rate import SamplingRate
from ldp_audit.losses.subsampled_loss import subsampled
from ldp_audit.mechanisms import DiscreteGaussian, Gaussian, Laplace, RandomizedResponse, StaircaseNoise

EDGES = np.linspace(-0.9, 2.5, 401)
EPSILONS = [-1.0, -0.1, 0.0, 1e-6, 0.01, 0.3, 1.0, 2.0, 4.0]


def densities(noise: str, x: np.ndarray, center: float) -> np.ndarray:
    if noise == "Gaussian":
        return np.exp(-((x - center) ** 2) / 2) / math.sqrt(2 * math.pi)
    return np.exp(-np.abs(x - center)) / 2


def hypergeometric(n: int, k: int, group: int) -> list[float]:
    return [math.comb(group, j) * math.comb(n - group, k - j) / math.comb(n, k) for j in range(min(group, k) + 1)]


def binomial(rate: float, group: int) -> list[float]:
    return [math.comb(group, j) * rate**j * (1 - rate) ** (group - j) for j in range(group + 1)]


@pytest.mark.parametrize("noise", ["Gaussian", "Laplace"])
@pytest.mark.parametrize(("rate", "group", "scale"), [(0.01, 10, 1.0), (0.5, 3, 1.0), (0.2, 4, 0.2), (0.3, 2, 50.0)])
def test_a_group_is_noise_moved_a_binomial_number_of_times(noise: str, rate: float, group: int, scale: float) -> None:
    mechanism = {"Gaussian": Gaussian, "Laplace": Laplace}[noise](scale)
    x = np.linspace(-45, 45 + group / scale, 400_001)
    without = densities(noise, x, 0.0)
    chances = binomial(rate, group)
    given = sum(chance * densities(noise, x, j / scale) for j, chance in enumerate(chances))
    remove, add = subsample(mechanism, rate=rate, group=group).directions
    for loss, first, second in ((remove, given, without), (add, without, given)):
        for epsilon in EPSILONS:
            exact = float(np.trapezoid(np.maximum(0.0, first - math.exp(epsilon) * second), x))
            low, high = loss.log_delta_bounds(epsilon)
            assert math.exp(low) - 1e-7 <= exact <= math.exp(high) + 1e-7, epsilon


def test_a_sample_without_replacement_holds_a_hypergeometric_number_of_a_group() -> None:
    remove = subsample(Gaussian(1.0, replaced=2.0), kind="without", n=40, k=7, group=5).directions[0]
    assert isinstance(remove, MixedMoves)
    expected = hypergeometric(40, 7, 5)
    assert np.exp([remove.log_unmoved, *remove.log_chances]) == pytest.approx(expected, rel=1e-12)
    assert [noise.shift for noise in remove.noises] == [2.0, 4.0, 6.0, 8.0, 10.0]
    few = subsample(Gaussian(1.0, replaced=2.0), kind="without", n=40, k=2, group=5).directions[0]
    assert isinstance(few, MixedMoves)
    assert len(few.noises) == 2


@pytest.mark.parametrize("base", [GaussianLoss(1.0), GaussianLoss(5.0), LaplaceLoss(0.7)])
@pytest.mark.parametrize("rate", [1e-9, 0.01, 0.9])
def test_a_group_of_one_is_a_sampled_record(base: NoiseLoss, rate: float) -> None:
    chance = SamplingRate.of_chance(rate)
    one, two = MixedMoves((base,), (chance.log_drawn,), chance.log_left_out), subsampled(base, chance)
    known = two.known()
    assert known is not None
    for mixed, sampled in ((one, known), (one.reversed(), known.reversed())):
        assert mixed.supremum() == pytest.approx(sampled.supremum(), rel=1e-12)
        for epsilon in EPSILONS:
            assert mixed.log_delta_bounds(epsilon) == pytest.approx(sampled.log_delta_bounds(epsilon), rel=1e-9)
        edges = EDGES if rate > 1e-3 else EDGES * rate
        for found, expected in zip(mixed.masses(edges)[:2], sampled.masses(edges)[:2], strict=True):
            assert np.exp(found) == pytest.approx(np.exp(expected), abs=1e-11)


@pytest.mark.parametrize("base", [GaussianLoss(1.0), LaplaceLoss(1.0)])
@pytest.mark.parametrize("count", [3, 401, 20_001])
def test_cells_add_up_to_the_profile(base: NoiseLoss, count: int) -> None:
    """delta = sum over cells above epsilon of P - e**epsilon Q, whichever way the edges' reports are found."""
    logs = np.log(binomial(0.3, 4))
    forward = MixedMoves(tuple(base.group(j) for j in (1, 2, 3, 4)), tuple(logs[1:].tolist()), float(logs[0]))  # type: ignore[misc]
    for loss in (forward, forward.reversed()):
        edges = np.linspace(-1.0, 2.0, count)
        cells = loss.masses(edges)
        for place in (0, count // 3, count - 2):
            first, second = (float(np.exp(side[place + 1 :]).sum()) for side in cells[:2])
            delta = first - math.exp(edges[place]) * second
            assert delta == pytest.approx(math.exp(loss.log_delta_bounds(float(edges[place]))[1]), abs=1e-12)


def test_a_group_of_ten_in_a_thousand_steps() -> None:
    remove = subsample(Gaussian(1.0), rate=0.01, group=10).directions[0]
    low, high = compose([(PrivacyLoss((remove,)), 1000)]).epsilon_bounds(1e-6)
    assert 30.6 < low <= high < 30.63
    assert high - low < 1e-3


def test_other_mechanisms_show_how_many_were_drawn() -> None:
    for mechanism in (RandomizedResponse(1.0), DiscreteGaussian(2.0), StaircaseNoise(1.0)):
        single = subsample(mechanism, rate=0.1).delta_bounds(0.2)
        for group in (2, 5):
            low, high = subsample(mechanism, rate=0.1, group=group).delta_bounds(0.2)
            assert single[0] - 1e-15 <= low <= high
            assert high < 1
    noise = StaircaseNoise(1.0, replaced=2.0)  # a group of three moves its sum by six
    assert 0 < subsample(noise, kind="without", n=100, k=3, group=3).delta(0.2) < 0.2


def test_a_group_s_loss_grows_with_it_and_ends_are_met() -> None:
    noise = Gaussian(1.0)
    epsilons = [subsample(noise, rate=0.05, group=group).epsilon(1e-6) for group in (1, 2, 3, 10, 50)]
    assert epsilons == sorted(epsilons)
    assert epsilons[0] == subsample(noise, rate=0.05).epsilon(1e-6)
    assert subsample(noise, rate=0.0, group=7).epsilon(1e-6) == 0
    every = subsample(noise, rate=1.0, group=7).epsilon(1e-6)
    assert every == pytest.approx(PrivacyLoss((GaussianLoss(7.0),)).epsilon(1e-6), rel=1e-12)


Data = tuple[int, ...]


def _cut_law(data: Data, rate: Fraction, most: int, flip: Fraction) -> dict[tuple[int, int], Fraction]:
    """Whether the batch's sum is positive, by randomised response; batches are cut to their first records.

    The second coordinate is the size of the whole sample's others, which the bound allows to be shown.
    """
    law: dict[tuple[int, int], Fraction] = {}
    for drawn in itertools.product((0, 1), repeat=len(data)):
        chance = math.prod((rate if one else 1 - rate for one in drawn), start=Fraction(1))
        batch = [value for value, one in zip(data, drawn, strict=True) if one][:most]
        present = int(sum(batch) > 0)
        for answer in (0, 1):
            law[answer, 0] = law.get((answer, 0), Fraction(0)) + chance * (1 - flip if answer == present else flip)
    return law


@pytest.mark.parametrize("others", [(0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 1, 1)])
@pytest.mark.parametrize("place", [0, 2, 3])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_data_exceed_the_bound_for_cut_batches(others: Data, place: int, most: int) -> None:
    rate, flip = Fraction(2, 5), Fraction(1, 4)
    loss = subsample(RandomizedResponse(math.log(3)), rate=0.4, truncated=most, records=4)
    given = (*others[:place], 1, *others[place:])
    first, second = (_cut_law(data, rate, most, flip) for data in (given, others))
    for (one, two), direction in zip(((first, second), (second, first)), loss.directions, strict=True):
        for epsilon in (0.0, 0.05, 0.2, 0.5, 0.9):
            exact = float(sum(max(Fraction(0), one[key] - Fraction(math.exp(epsilon)) * two[key]) for key in one))
            assert exact <= math.exp(direction.log_delta_bounds(epsilon)[1]) + 1e-12


def test_the_lower_bound_for_cut_batches_is_attained_by_data() -> None:
    """Where the others add nothing, the batch is cut at random: the record is kept with chance min(1, b/(K + 1))."""
    rate, most, records = 0.4, 2, 4
    kept = sum(chance * min(1.0, most / (j + 1)) for j, chance in enumerate(binomial(rate, records - 1)))
    attained = subsample(Gaussian(1.0), rate=rate * kept)
    loss = subsample(Gaussian(1.0), rate=rate, truncated=most, records=records)
    for epsilon in (0.0, 0.1, 0.5, 1.0, 3.0):
        low, high = loss.delta_bounds(epsilon)
        assert low <= attained.delta(epsilon) <= high


def test_cut_batches_of_records_that_move_less_when_replaced_keep_the_loss_of_one_more() -> None:
    """The others add nothing, so a kept record moves the sum by its sensitivity, however often batches are cut.

    Would catch a bound of nothing but replaced records, as the chance of a cut is rounded up to 1 here.
    """
    rate, most, records = 0.5, 5, 10
    kept = sum(chance * min(1.0, most / (j + 1)) for j, chance in enumerate(binomial(rate, records - 1)))
    attained = subsample(Gaussian(1.0), rate=rate * kept)
    loss = subsample(Gaussian(1.0, replaced=0.5), rate=rate, truncated=most, records=records)
    for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0):
        low, high = loss.delta_bounds(epsilon)
        assert low <= attained.delta(epsilon) <= high


def test_rare_cuts_cost_nothing() -> None:
    plain = subsample(Gaussian(1.0), rate=0.01)
    uncut = subsample(Gaussian(1.0), rate=0.01, truncated=1000, records=1000)
    assert uncut.epsilon_bounds(1e-6) == plain.epsilon_bounds(1e-6)
    rare = subsample(Gaussian(1.0), rate=0.01, truncated=60, records=1000)
    assert rare.epsilon(1e-6) == pytest.approx(plain.epsilon(1e-6), rel=1e-6)
    never = compose([(subsample(Gaussian(1.0), rate=0.01, truncated=150, records=1000), 100)])
    assert never.epsilon_bounds(1e-6) == pytest.approx(compose([(plain, 100)]).epsilon_bounds(1e-6), rel=1e-6)
    often = [
        subsample(Gaussian(1.0), rate=0.01, truncated=most, records=1000).epsilon(1e-6) for most in (1, 10, 20, 40)
    ]
    assert often == sorted(often, reverse=True)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rate": 0.1, "group": 0}, "group must be a whole number in 1 .. 200, got 0"),
        ({"rate": 0.1, "group": 2, "adjacency": "replace"}, "group must be 1 for kind='with'"),
        ({"kind": "with", "n": 10, "k": 2, "group": 2}, "group must be 1 for kind='with'"),
        ({"kind": "without", "n": 10, "k": 2, "group": 9}, "k <= n - group = 1"),
        ({"rate": 0.1, "truncated": 3}, "truncated and records must be given together"),
        ({"rate": 0.1, "records": 3}, "truncated and records must be given together"),
        ({"rate": 0.1, "truncated": 0, "records": 3}, "truncated must be a whole number"),
        ({"rate": 0.1, "truncated": 3, "records": 9, "group": 2}, "group must be 1"),
        ({"rate": 0.1, "truncated": 3, "records": 9, "adjacency": "replace"}, "truncated and records must be given"),
    ],
)
def test_bad_input_is_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        subsample(Gaussian(1.0, replaced=2.0), **given)  # type: ignore[arg-type]


def test_a_loss_of_two_directions_is_refused_for_groups() -> None:
    with pytest.raises(ValueError, match="either order"):
        subsample(subsample(Gaussian(1.0), rate=0.1), rate=0.1, group=2)
