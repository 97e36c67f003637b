"""The profile as arrays and tables, and the largest profile that finitely many points allow."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.accounting import compose, privacy_loss
from ldp_audit.accounting.privacy_loss import PrivacyLoss, PrivacyProfile
from ldp_audit.losses.discrete_loss import BinomialLoss
from ldp_audit.losses.hulls import HullLoss, atoms_of_hull, hull, known_bound
from ldp_audit.losses.noise_losses import LaplaceLoss
from ldp_audit.mechanisms import Gaussian, Laplace, RandomizedResponse
from tests.accounting.random_atoms import losses
from tests.together import together

POINTS = st.lists(st.tuples(st.floats(0, 20), st.floats(0, 1)), min_size=1, max_size=6)


@settings(max_examples=30)
@given(losses())
def test_a_profile_falls_and_is_convex_in_the_exponential(loss: PrivacyLoss) -> None:
    t = np.linspace(1, 50, 50)
    deltas = PrivacyProfile(loss)(np.log(t))
    assert np.all(np.diff(deltas) <= 1e-14)
    assert np.all(np.diff(deltas, 2) >= -1e-13)


def test_epsilons_may_be_arrays_of_any_shape() -> None:
    profile = PrivacyProfile(privacy_loss(RandomizedResponse(1.0)))
    asked = np.array([[0.0, 0.5], [1.0, math.inf]])
    assert profile(asked) == pytest.approx(RandomizedResponse(1.0).delta(asked), abs=1e-15)
    assert np.shape(profile(0.5)) == ()
    low, high = profile.bounds(asked)
    assert np.array_equal(low, high)
    assert profile(np.empty(0)).shape == (0,)


def test_deltas_that_no_float_holds_are_kept_as_logarithms() -> None:
    profile = PrivacyProfile(privacy_loss(Gaussian(10.0)))
    row = profile.rows([50.0])[0]
    assert row.upper == math.ulp(0.0)
    assert row.log_upper < -1e5
    assert profile.log_bounds([50.0])[1][0] == row.log_upper
    assert "e^-12" in profile.describe()


def test_the_table_ends_at_the_supremum() -> None:
    rows = PrivacyProfile(privacy_loss(RandomizedResponse(1.0))).rows()
    assert [row.epsilon for row in rows] == [0.0, 0.01, 0.1, 0.5, 1.0]
    assert rows[-1].upper == 0


def test_the_profile_is_json() -> None:
    plain = PrivacyProfile(privacy_loss(RandomizedResponse(1.0))).to_dict([0, 1])
    assert json.loads(json.dumps(plain, allow_nan=False))["profile"][1]["log_upper"] == "-inf"
    assert plain["exact"] is True


@pytest.mark.parametrize("bad", [-1.0, math.nan])
def test_epsilons_must_be_valid(bad: float) -> None:
    with pytest.raises(ValueError, match="epsilon must be >= 0 everywhere"):
        PrivacyProfile(privacy_loss(RandomizedResponse(1.0)))([0.0, bad])


# --- from points


@settings(max_examples=40)
@given(losses(), st.lists(st.floats(0, 6), min_size=1, max_size=5))
def test_points_of_a_profile_give_one_that_is_never_below_it(loss: PrivacyLoss, levels: list[float]) -> None:
    """Fails if a chord is drawn below the profile, or if the reversed points are wrong."""
    bound = PrivacyProfile.from_points((e, loss.delta(e)) for e in levels)
    for e in (0.0, 0.1, 0.5, 1.0, 3.0, 7.0):
        low, high = bound.bounds(e)
        assert low == 0
        assert high >= loss.delta_bounds(e)[0] * (1 - 1e-11) - 1e-15
    for e in levels:
        assert bound(e) <= loss.delta(e) * (1 + 1e-11)


@settings(max_examples=50)
@given(POINTS)
def test_the_profile_of_points_is_one_that_some_mechanism_has(points: list[tuple[float, float]]) -> None:
    """So it cannot be lowered: the pair made of its corners has it, and satisfies the points in both orders."""
    law = HullLoss.of_points(points)
    listed = known_bound(law, 1)
    pair = PrivacyLoss((listed, listed.reversed()))
    for e in (0.0, 0.3, 2.0, 10.0, 19.0):
        assert pair.delta(e) == pytest.approx(math.exp(law.log_delta_bounds(e)[1]), rel=1e-7, abs=1e-9)
    assert all(pair.delta(e) <= d + 1e-9 for e, d in points)


def test_one_point_gives_the_known_advantage() -> None:
    """delta(0) of (epsilon, delta)-privacy is (t - 1 + 2 delta)/(t + 1) (Kairouz, Oh, Viswanath 2015)."""
    for epsilon, delta in ((1.0, 0.0), (1.0, 1e-5), (0.0, 0.3), (3.0, 0.2)):
        t = math.exp(epsilon)
        assert PrivacyProfile.from_points([(epsilon, delta)])(0.0) == pytest.approx((t - 1 + 2 * delta) / (t + 1))


def test_pure_points_are_randomised_response() -> None:
    profile = PrivacyProfile.from_points([(1.0, 0.0)])
    exact = BinomialLoss(1.0, -1.0, 1)
    assert profile.loss.supremum() == 1
    for e in (0.0, 1e-9, 0.3, 0.999):
        assert profile.log_bounds(e)[1] == pytest.approx(exact.log_delta_bounds(e)[1], rel=1e-12)


def test_points_at_extremes() -> None:
    assert PrivacyProfile.from_points([(math.inf, 0.1)])(5.0) == 1
    assert PrivacyProfile.from_points([(0.0, 0.0)])(0.0) == 0
    assert PrivacyProfile.from_points([(2.0, 1.0)])(3.0) == 1
    tiny = PrivacyProfile.from_points([(50.0, 1e-300)])
    assert tiny(60.0) == pytest.approx(1e-300)
    assert PrivacyProfile.from_points([(1e-9, 0.0)])(0.0) == pytest.approx(5e-10)
    assert PrivacyProfile.from_points([(5000.0, 1e-9)])(5000.0) == pytest.approx(1e-9)


def test_a_published_guarantee_composes() -> None:
    """(1, 0)-private twice: between nothing and two randomised responses."""
    loss = compose([(PrivacyProfile.from_points([(1.0, 0.0)]).loss, 2)])
    assert not loss.exact
    assert loss.delta_bounds(0.5)[0] == 0
    assert loss.delta(0.5) == pytest.approx(math.exp(BinomialLoss(1.0, -1.0, 2).log_delta_bounds(0.5)[1]), rel=1e-6)


def test_a_point_that_says_nothing_new_changes_nothing() -> None:
    one, two = (
        PrivacyProfile.from_points(points) for points in ([(1.0, 0.01)], [(1.0, 0.01), (1.0, 0.5), (2.0, 0.02)])
    )
    asked = np.linspace(0, 3, 30)
    assert one(asked) == pytest.approx(two(asked), rel=1e-13)


@together(
    ("points", "message"),
    [
        ([], "points must hold one"),
        ([(-1.0, 0.1)], "epsilon must be a number >= 0, got -1.0"),
        ([(1.0, 1.1)], r"delta must lie in \[0, 1\], got 1.1"),
        ([(1.0, math.nan)], "delta must lie"),
    ],
)
def test_points_must_be_guarantees(points: list[tuple[float, float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PrivacyProfile.from_points(points)


def test_the_corners_of_a_smooth_profile_carry_its_masses() -> None:
    """The chords of Laplace's profile lie above it, and by little; chords moved down would be caught."""
    law = LaplaceLoss(1.0)
    levels = np.linspace(-1, 1, 400)
    atoms = atoms_of_hull(*hull((float(e), law.log_delta_bounds(float(e))[1]) for e in levels), bounded=True)
    for e in (0.0, 0.1234, 0.77):
        exact, bound = law.log_delta_bounds(e)[1], atoms.log_delta_bounds(e)[1]
        assert exact <= bound <= exact + 1e-4
    lowered = HullLoss.of_points((float(e), 0.9 * math.exp(law.log_delta_bounds(float(e))[1])) for e in levels[200:])
    assert lowered.log_delta_bounds(0.1234)[1] < law.log_delta_bounds(0.1234)[0]
    assert PrivacyProfile(privacy_loss(Laplace(1.0)))(0.5) == pytest.approx(float(Laplace(1.0).delta(0.5)))
