"""Deltas near 1: what they lack of 1 against exact sums, and the levels that are read from them."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from ldp_audit.accounting import compose, subsample
from ldp_audit.accounting.contour.atoms_transform import AtomsTransform
from ldp_audit.accounting.contour.coarse_atoms import coarse_atoms
from ldp_audit.accounting.contour.contour_plan import ContourPlan
from ldp_audit.accounting.contour.near_one import NearOne, near_one
from ldp_audit.accounting.contour.noise_transforms import GaussianTransform, LaplaceTransform
from ldp_audit.accounting.contour.strip import BELOW, Strip
from ldp_audit.accounting.contour.summed_transform import SummedTransform
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.laws.laplace_loss import LaplaceLoss
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.mechanisms import Gaussian, Laplace, Piecewise, RandomizedResponse

THREE = LossAtoms(np.array([-1.3, 0.2, 1.7]), np.log([0.05, 0.25, 0.7]))


def _log_lacking_of_gaussian(mu: float, epsilon: float) -> mp.mpf:
    with mp.workdps(60):
        x, m = mp.mpf(epsilon) / mu - mp.mpf(mu) / 2, mp.mpf(mu)
        return mp.log(mp.ncdf(x) + mp.exp(epsilon) * mp.ncdf(-x - m))


def _log_lacking_of_sum(atoms: LossAtoms, times: int, epsilon: float) -> mp.mpf:
    """Over all ways in which three losses can be drawn so often."""
    with mp.workdps(40):
        losses, logs = ([mp.mpf(float(one)) for one in some] for some in (atoms.losses, atoms.log_probabilities))
        found = []
        for i in range(times + 1):
            for j in range(times + 1 - i):
                counts = i, j, times - i - j
                log = mp.loggamma(times + 1) - sum(mp.loggamma(count + 1) for count in counts)
                log += sum(count * one for count, one in zip(counts, logs, strict=True))
                loss = sum(count * one for count, one in zip(counts, losses, strict=True))
                found.append(mp.exp(log + min(mp.mpf(0), mp.mpf(epsilon) - loss)))
        return mp.log(mp.fsum(found))


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 20.0, 40.0, 60.0, 100.0])
def test_what_gaussian_noises_lack_of_one_is_enclosed_to_ten_digits(epsilon: float) -> None:
    """Would catch a pole on the wrong side, and a sign of the integrand."""
    line = ContourPlan(SummedTransform([(GaussianTransform(1.0), 100)]), strip=BELOW).line(epsilon)
    assert line is not None
    low, high = line.ends(epsilon)
    truth = _log_lacking_of_gaussian(10.0, epsilon)
    assert low <= truth <= high
    assert high - low <= 1e-5 if epsilon == 100.0 else high - low <= 1e-11


@pytest.mark.parametrize("epsilon", [5.0, 20.0, 30.0, 38.0])
def test_what_sums_of_three_values_lack_of_one_is_enclosed(epsilon: float) -> None:
    """M does not fall off: a little noise is added. Would catch noise that is not taken off again."""
    truth = _log_lacking_of_sum(THREE, 40, epsilon)
    told = NearOne(SummedTransform([(AtomsTransform(THREE, whole=False), 40)]))
    low, high = told.log_lacking_bounds(epsilon)
    assert low <= truth <= high
    assert high - low <= 1e-2
    least, most = told.log_delta_bounds(epsilon)
    assert least <= mp.log1p(-mp.exp(truth)) <= most


@pytest.mark.parametrize("epsilon", [5.0, 20.0, 38.0])
def test_cells_tell_an_upper_end_alone(epsilon: float) -> None:
    """Would catch cells whose losses are taken for the law's own."""
    coarse = LossAtoms(np.array([0.2]), np.zeros(1))
    assert coarse_atoms(coarse) is not None
    merged = math.log(0.95 / (0.25 * math.exp(-0.2) + 0.7 * math.exp(-1.7)))
    low = math.log(0.05 / (1 - 0.95 * math.exp(-merged)))
    cells = LossAtoms(np.array([low, merged]), np.log([0.05, 0.95]))
    told = NearOne(SummedTransform([(AtomsTransform(cells, whole=False), 40)]), coarse=True)
    found = told.log_lacking_bounds(epsilon)
    assert found[0] == -math.inf
    assert found[1] >= _log_lacking_of_sum(THREE, 40, epsilon)


def test_a_list_of_many_losses_is_told_by_few_that_it_dominates() -> None:
    """Would catch groups that leave masses out, or whose loss is a mean."""
    z = np.linspace(-6.0, 7.0, 5001)
    cells = GaussianLoss(1.0).masses(z)
    losses = cells.first - cells.second
    many = LossAtoms(losses, cells.first)
    found = coarse_atoms(many)
    assert found is not None
    few, rounding = found
    assert few.losses.size < 700
    assert rounding < 1e-12
    for level in (-3.0, -1.0, 0.0, 0.3, 1.0, 4.0):
        assert few.log_delta_bounds(level)[1] <= many.log_delta_bounds(level)[1] + 1e-11
        assert few.log_delta_bounds(level)[1] >= many.log_delta_bounds(level)[1] - 1e-2


def test_a_law_that_is_not_known_by_cells_is_not_told() -> None:
    class Unknown:
        exact = False

    assert near_one([(Unknown(), 2)]) is None  # type: ignore[list-item]


@pytest.mark.parametrize("epsilon", [1e-6, 0.7, 1.5, 50.0, 301.0])
@pytest.mark.parametrize("c", [-0.999, -0.75, -0.5, -0.5 + 1e-12, -0.3, -1e-7])
def test_laplace_noise_is_known_below_zero_too(epsilon: float, c: float) -> None:
    """Would catch a formula for c >= 0 alone: its errors, its value at c = -1/2, and how it falls off."""
    y = np.array([0.0, 1e-9, 1e-3, 0.3, 7.0, 100.0])
    found = LaplaceTransform(epsilon).at(c, y)
    assert found is not None
    with mp.workdps(50):
        for at, log, error in zip(y, found.log, found.error, strict=True):
            z, top = mp.mpc(c, at) + mp.mpf(1) / 2, mp.mpf(epsilon)
            odd = mp.sinh(z * top) / (2 * z) if z else top / 2
            truth = mp.exp(-top / 2) * (mp.cosh(z * top) + odd)
            assert abs(mp.log(truth / mp.exp(mp.mpc(log)))) <= error
            if at:
                for bound in (at, at / 3):
                    assert mp.log(abs(truth)) <= LaplaceTransform(epsilon).log_beyond(c, bound)


def test_a_strip_has_its_lines_inside() -> None:
    """Would catch -c beyond 1, where nothing is known, and a place whose tilt is rounded to an end."""
    for place in (-(2**40), BELOW.lowest, -3, 0, 5, BELOW.highest, 2**40):
        assert -1 < BELOW.tilt(place) < 0
        assert BELOW.room(BELOW.tilt(place)) > 0
    assert Strip(1, 0, 1).room(3.0) == 3.0
    assert BELOW.holds(-1.0)
    assert not BELOW.holds(0.1)


@pytest.mark.parametrize("lacking", [1e-6, 1e-9, 1e-12, 1e-15])
@pytest.mark.parametrize(
    ("parts", "width"),
    [
        ([(Laplace(1.0), 1000)], 1e-7),
        ([(Laplace(0.1), 7)], 1e-2),
        ([(Gaussian(sigma=1.0), 1000), (Laplace(2.0), 1000)], 1e-7),
        ([(subsample(Gaussian(sigma=1.0), rate=0.01), 10**9)], 1e-6),
        ([(RandomizedResponse(1.0, k=10), 10**6)], 1e-3),
        ([(Piecewise(1.0), 10**9)], 1e-3),
    ],
)
def test_levels_of_deltas_near_one_have_near_ends(parts: list, width: float, lacking: float) -> None:
    """Lower ends were 0, or half of the upper one. Would catch what delta lacks of 1 being lost beside it."""
    low, high = compose(parts).epsilon_bounds(log_delta=math.log1p(-lacking))
    assert 0 <= low <= high
    assert high - low <= width * high


def test_the_level_of_a_delta_of_one_less_1e_300_is_told() -> None:
    """ln delta tells what no float delta can. Would catch a search that sees no difference from 1."""
    loss = compose([(Laplace(1.0), 10**6)])
    low, high = loss.epsilon_bounds(log_delta=-1e-300)
    assert 0 < low <= high <= low * (1 + 1e-6)
    least, most = loss.log_delta_bounds(high)
    assert least <= -1e-300 * (1 - 1e-3)
    assert most < 0


@pytest.mark.parametrize("mu", [0.01, 0.4, 1.0, 5.0, 40.0, 1e3])
def test_gaussian_noise_keeps_the_digits_of_what_it_lacks(mu: float) -> None:
    for x in (-8.0, -5.0, -2.0):
        epsilon = mu * (x + mu / 2)
        truth = _log_lacking_of_gaussian(mu, epsilon)
        found = math.log(-math.expm1(GaussianLoss(mu).log_delta_bounds(epsilon)[0]))
        assert found == pytest.approx(float(truth), abs=1e-12 * max(1.0, mu))


def test_one_laplace_noise_keeps_the_digits_of_what_it_lacks() -> None:
    assert LaplaceLoss(100.0).log_delta_bounds(0.0)[0] == pytest.approx(-math.exp(-50.0), rel=1e-14)


def test_a_list_keeps_the_digits_of_what_it_lacks() -> None:
    law = LossAtoms(np.array([-40.0, 40.0]), np.array([-40.0, math.log1p(-math.exp(-40.0))]))
    assert law.log_delta_bounds(1.0)[0] == pytest.approx(-math.exp(-40.0) - math.exp(-39.0), rel=1e-12)


@pytest.mark.parametrize("log", [-1.6e-16, -3.7e-13, -0.1, -0.69, -0.71, -5.0, -36.6, -600.0])
def test_what_delta_lacks_of_one_becomes_delta_with_all_its_digits(monkeypatch, log: float) -> None:
    """Would catch a number next to 1 that has fewer digits than its logarithm."""
    monkeypatch.setattr(NearOne, "log_lacking_bounds", lambda *_: (log, log))
    low, high = NearOne(SummedTransform([(LaplaceTransform(1.0), 2)])).log_delta_bounds(0.0)
    with mp.workdps(400):
        truth = mp.log(-mp.expm1(mp.mpf(log)))
        assert low <= truth <= high or abs(log) < 2.3e-16  # of that the lower end alone is told
        assert low <= truth
    assert high - low <= 1e-14 * abs(low) or abs(log) < 2.3e-16
