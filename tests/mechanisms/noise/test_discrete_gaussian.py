"""Discrete Gaussian noise: profile, moments, divergences in high precision, sums by convolution, the sampler."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

from ldp_audit.accounting import compose, privacy_loss, shuffle, subsample
from ldp_audit.auditing import as_sampler, assert_fits, audit
from ldp_audit.losses import discrete_gaussian
from ldp_audit.losses.discrete_gaussian import DiscreteGaussianLoss, discrete_gaussian_variance, log_normaliser
from ldp_audit.losses.hulls import divergence_of
from ldp_audit.mechanisms import DiscreteGaussian
from ldp_audit.mechanisms.noise import discrete_gaussian as mechanism
from ldp_audit.mechanisms.noise.laplace_noise import quotient_above
from ldp_audit.mechanisms.randomness import NumpySource
from tests.frequency import assert_frequency
from tests.together import together

SOME = [(0.05, 1), (0.3, 1), (0.7, 2), (1.0, 1), (1.0, 8), (2.5, 3), (5.0, 1), (30.0, 40), (31.0, 1)]
some = together(("sigma", "distance"), SOME)


def weight(z: int, sigma: float) -> Any:
    return mpmath.exp(-(mpmath.mpf(z) ** 2) / (2 * mpmath.mpf(sigma) ** 2))


def masses(sigma: float, distance: int = 0, deepest: float = 40.0) -> tuple[dict[int, Any], Any]:
    """Weights from -deepest to deepest deviations and a distance beyond, and their sum."""
    far = math.ceil(deepest * sigma) + distance + 3
    found = {z: weight(z, sigma) for z in range(-far, far + 1)}
    return found, mpmath.fsum(found.values())


@some
def test_the_profile_in_many_digits(sigma: float, distance: int) -> None:
    """Also where delta is near 1 or far below floats, at negative epsilon, and beside a loss."""
    loss = DiscreteGaussianLoss(sigma, distance)
    with mpmath.workdps(150):
        found, total = masses(sigma, distance)
        top = distance * (2 * 8 * sigma + distance) / (2 * sigma**2)
        middle = distance**2 / (2 * sigma**2)
        for level in (0.0, 1e-6, 0.3 * middle, middle, middle * (1 + 1e-9), 0.3 * top, top, 3 * top, -0.1 * top):
            exact = sum(max(p - mpmath.exp(level) * found.get(z + distance, 0), 0) for z, p in found.items()) / total
            low, high = loss.log_delta_bounds(level)
            if exact < 1e-250:
                continue
            assert low <= high
            assert high == pytest.approx(float(mpmath.log(exact)), rel=2e-12, abs=1e-13)
            # 1 - delta has its own digits
            if exact > 0.5:
                assert -math.expm1(high) == pytest.approx(float(1 - exact), rel=1e-10, abs=1e-300)


def test_theorem_7_of_the_source() -> None:
    """P(z > e s - D/2) - e**e P(z > e s + D/2), s = sigma**2/D."""
    sigma, distance, level = 1.7, 2, 0.8
    found, total = masses(sigma)
    middle, half = level * sigma**2 / distance, distance / 2
    first, second = (mpmath.fsum(p for z, p in found.items() if z > end) for end in (middle - half, middle + half))
    exact = float((first - mpmath.exp(level) * second) / total)
    assert DiscreteGaussian(sigma, distance).delta(level) == pytest.approx(exact, rel=1e-12)


def test_ends_of_the_profile() -> None:
    loss = DiscreteGaussianLoss(1.0, 1)
    assert loss.log_delta_bounds(math.inf) == (-math.inf, -math.inf)
    assert loss.log_delta_bounds(1e200)[0] == -math.inf
    assert -math.inf < loss.log_delta_bounds(1e200)[1] < -1e300
    assert loss.log_delta_bounds(100.0)[1] == pytest.approx(-5001.8517, rel=1e-7)
    for sigma in (2.0**-30, 2.0**40):
        for distance in (1, 10**6):
            profile = DiscreteGaussian(sigma, distance).delta([0.0, 0.01, 50.0])
            assert np.all(np.diff(profile) <= 0)
            assert np.all((profile >= 0) & (profile <= 1))


@some
def test_law_and_moments_by_high_precision(sigma: float, distance: int) -> None:
    m = DiscreteGaussian(sigma, distance)
    with mpmath.workdps(40):
        found, total = masses(sigma)
        variance = mpmath.fsum(z * z * p for z, p in found.items()) / total
        assert log_normaliser(sigma) == pytest.approx(float(mpmath.log(total)), rel=1e-14, abs=1e-16)
        assert m.variance(0) == pytest.approx(float(variance), rel=2e-15)
        for z in (0, 1, -3, 17):
            assert m.log_prob(5 + z, 5) == pytest.approx(float(mpmath.log(weight(z, sigma) / total)), rel=1e-14)
    assert m.variance([1, 2]).shape == (2,)
    assert m.mean([3, -4]).tolist() == [3.0, -4.0]
    assert m.log_prob([0.5, math.nan, math.inf], 0).tolist() == [-math.inf] * 3


def test_the_variance_on_either_side_of_poissons_formula() -> None:
    """The two sums meet at sigma = 1; above, the variance is below sigma**2 by less and less (Corollary 9)."""
    just_below = math.nextafter(1.0, 0.0)
    assert discrete_gaussian_variance(just_below) == pytest.approx(discrete_gaussian_variance(1.0), rel=1e-14)
    assert discrete_gaussian_variance(0.8) < 0.64 * (1 - 1e-5)
    assert discrete_gaussian_variance(2.0**40) == 2.0**80


@some
def test_renyi_divergences_are_those_of_the_source(sigma: float, distance: int) -> None:
    """Proposition 5: at whole (a - 1) D the bound of Gaussian noise, elsewhere at most that."""
    loss = DiscreteGaussianLoss(sigma, distance)
    with mpmath.workdps(30):
        for order in (1.25, 2.0, 3.5):
            found, total = masses(sigma, 4 * distance, deepest=20.0)
            moment = mpmath.fsum(p**order * weight(z + distance, sigma) ** (1 - order) for z, p in found.items())
            exact = float(mpmath.log(moment / total) / (order - 1))
            value, is_exact = divergence_of(loss, order)
            assert exact <= value * (1 + 1e-12)
            assert is_exact == (((order - 1) * distance) % 1 == 0)
            if is_exact:
                assert value == pytest.approx(exact, rel=1e-11)


@some
def test_the_lists_lie_on_either_side(sigma: float, distance: int) -> None:
    loss = DiscreteGaussianLoss(sigma, distance)
    below, above = loss.known(0), loss.known(1)
    assert below is not None
    assert above is not None
    assert (below.reversed(), above.reversed()) == (below, above)
    for share in (-0.51, 0.0, 0.11, 0.52, 1.03, 29.7):
        level = share * distance / sigma  # between losses, whose floats in the lists may lie on the other side of it
        low, high = below.log_delta_bounds(level)[0], above.log_delta_bounds(level)[1]
        exact = loss.log_delta_bounds(level)[0]
        assert low <= exact + 1e-11 * (1 - exact)
        assert high >= exact - 1e-11 * (1 - exact)
        if exact > -600:
            assert low == pytest.approx(high, rel=1e-11, abs=1e-11)
    assert below.supremum() < math.inf
    assert above.supremum() == math.inf
    assert loss.known() is None


@together(("sigma", "distance", "times"), [(1.0, 1, 10), (4.0, 3, 10), (0.4, 1, 5), (20.0, 7, 30)])
def test_compositions_are_those_of_brute_force_convolution(sigma: float, distance: int, times: int) -> None:
    """The sum of the losses is that of the noises z, each by its own convolution."""
    with mpmath.workdps(30):
        found, total = masses(sigma, deepest=30.0)
        single = np.array([float(p / total) for p in found.values()])
    law = np.ones(1)
    for _ in range(times):
        law = np.convolve(law, single)
    far = times * (single.size // 2)
    losses = distance * (2 * np.arange(-far, far + 1) + times * distance) / (2 * sigma**2)
    loss = compose([(DiscreteGaussian(sigma, distance), times)])

    def brute(level: float) -> float:
        return float(law @ np.maximum(-np.expm1(level - losses), 0.0))

    for level in (0.0, 0.5, 2.0, 10.0):
        low, high = loss.delta_bounds(level)
        assert low * (1 - 1e-9) - 1e-14 <= brute(level) <= high * (1 + 1e-9) + 1e-14
        assert high <= low * (1 + 1e-5)
    epsilon = loss.epsilon(1e-6)
    assert 0.999e-6 < brute(epsilon) <= 1e-6 * (1 + 1e-9)


@together("distance", [1, 3, 50, 900])
def test_wide_noise_is_enclosed(monkeypatch: pytest.MonkeyPatch, distance: int) -> None:
    """The enclosure against the sum, at a sigma for which both are quick; and it is narrow."""
    levels = np.array([0.0, 1e-4, 0.01, 0.1, 0.5, 1.0, 3.0, 6.0]) * distance / 150
    with monkeypatch.context() as patched:
        exact = [DiscreteGaussianLoss(150.0, distance).log_delta_bounds(float(e))[0] for e in levels]
        patched.setattr(discrete_gaussian, "WIDE", 100.0)
        loss = DiscreteGaussianLoss(150.0, distance)
        assert not loss.exact
        for level, value in zip(levels, exact, strict=True):
            low, high = loss.log_delta_bounds(float(level))
            assert low <= value <= high
            assert high - low < 0.06


def test_compositions_of_wide_noise() -> None:
    loss = compose([(DiscreteGaussian(5000.0, 500), 10)])
    low, high = loss.epsilon_bounds(1e-6)
    assert low <= 1.36757 <= high  # of Gaussian noise 1.367571475, which differs by less than 1e-6 at this sigma
    assert high - low < 0.003


def test_relations_of_neighbours() -> None:
    m = DiscreteGaussian(2.0, 1, replaced=2)
    assert privacy_loss(m, "replace").delta(0.1) == pytest.approx(DiscreteGaussian(2.0, 2).delta(0.1), rel=1e-12)
    with pytest.raises(ValueError, match="replaced must be stated"):
        privacy_loss(DiscreteGaussian(1.0), "replace")
    with pytest.raises(ValueError, match="mechanism must have an epsilon of at most"):
        shuffle(m, 1000)
    found, total = masses(2.0)
    p, moved, back = (np.array([float(found[z - x] / total) for z in range(-70, 71)]) for x in (0, 1, -1))
    first, second = 0.9 * p + 0.1 * moved, 0.9 * p + 0.1 * back
    low, high = subsample(m, rate=0.1, adjacency="replace").delta_bounds(0.02)
    assert low <= np.maximum(first - math.exp(0.02) * second, 0).sum() <= high
    low, high = subsample(m, rate=0.1).delta_bounds(0.02)
    exact = max(np.maximum(a - math.exp(0.02) * b, 0).sum() for a, b in ((first, p), (p, first)))
    assert low * (1 - 1e-9) <= exact <= high * (1 + 1e-9)
    assert high == pytest.approx(exact, rel=1e-6)


@together("sigma", [2.0**-30, 0.1, 0.37, 1.0, 3.3, 1e5, 2.0**40])
def test_proposal_and_chance_multiply_to_the_law_exactly(sigma: float) -> None:
    """In fractions: |y| s/t + g = y**2/(2 sigma**2) + a constant. A g of another sigma is seen."""
    t, s = quotient_above(sigma)
    square = Fraction(sigma) ** 2

    def constants(own: float) -> set[Fraction]:
        return {
            abs(y) * Fraction(s, t) + mechanism._exponent(own, abs(y)) - y * y / (2 * square)  # noqa: SLF001
            for y in (0, 1, 2, -5, 1000, math.ceil(sigma))
        }

    assert len(constants(sigma)) == 1
    assert len(constants(sigma * (1 + 2.0**-50))) > 1


class Scripted(NumpySource):
    """Hands out these words, one array after the other."""

    def __init__(self, *given: Any) -> None:
        super().__init__(np.random.default_rng(0))
        self.given = [np.asarray(words, dtype=np.int64) for words in given]

    def words(self, shape: Any, bits: int = 64) -> np.ndarray:
        return self.given.pop(0).reshape(shape)


@together(("sigma", "size"), [(1.0, 0), (1.0, 3), (7.3, 20), (7.3, 7), (0.3, 2), (50.0, 480)])
def test_a_word_beside_the_chance_is_settled_by_more_bits(sigma: float, size: int) -> None:
    """The first bits of e**-g and the next ones: less than them is kept, more is not."""
    m = DiscreteGaussian(sigma)
    with mpmath.workdps(90):
        g = mechanism._exponent(sigma, size)  # noqa: SLF001
        digits = int(mpmath.floor(mpmath.exp(-mpmath.mpf(g.numerator) / g.denominator) * mpmath.mpf(2) ** 181))
    first, second, third = digits >> 128, (digits >> 64) % 2**64, digits % 2**64
    words = [[first - 2**52], second - 2**63]
    assert m.kept(np.array([size]), Scripted(words[0], words[1] - 1)).tolist() == [True]
    assert m.kept(np.array([size]), Scripted(words[0], words[1] + 1)).tolist() == [False]
    assert m.kept(np.array([size]), Scripted(*words, third - 2**63 - 1)).tolist() == [True]
    assert m.kept(np.array([size]), Scripted(*words, third - 2**63 + 1)).tolist() == [False]
    # far from it the first word alone decides, on its right side
    if first > 2**40:
        assert m.kept(
            np.array([size] * 2), Scripted([first * 99 // 100 - 2**52, first * 101 // 100 - 2**52])
        ).tolist() == [
            True,
            False,
        ]


@together("library", ["numpy", "torch"])
@together("sigma", [0.2, 0.6, 1.0, 4.7, 1000.0, 1e9])
def test_both_samplers_draw_from_the_law(sigma: float, library: str) -> None:
    """False alarm 1e-6 an event; 0.03 is missed with a chance below 1e-3."""
    m, trials = DiscreteGaussian(sigma), 20_000
    for dtype in (np.int64, np.float32):
        x = np.full(trials, 7, dtype=dtype)
        if library == "torch":
            drawn = m.sample(torch.from_numpy(x), rng=torch.Generator().manual_seed(6)).numpy()
        else:
            drawn = m.sample(x, rng=np.random.default_rng(6))
        assert drawn.dtype == np.int64
        for z in (0, 1, -1, 2, -5):
            assert_frequency(int((drawn == 7 + z).sum()), trials, math.exp(m.log_prob(7 + z, 7)))
        for k in (0, math.ceil(sigma), -math.ceil(2 * sigma)):  # sums, or for wide noise integrals
            far = math.exp(DiscreteGaussianLoss(sigma, 1)._log_tail(k + 1.0)) if k >= 0 and sigma < 1e4 else None  # noqa: SLF001
            upper = far if far is not None else math.erfc(k / sigma / math.sqrt(2)) / 2 if sigma > 100 else None
            if upper is not None:
                assert_frequency(int((drawn > 7 + k).sum()), trials, upper)


class AlwaysKept(DiscreteGaussian):
    """With a bug in its rejection."""

    def kept(self, sizes: Any, source: Any) -> Any:
        return sizes == sizes


def test_a_proposal_that_is_always_kept_is_seen() -> None:
    """The same frequencies fail."""
    m, trials = AlwaysKept(1.0), 20_000
    drawn = m.sample(np.zeros(trials, int), rng=np.random.default_rng(6))
    with pytest.raises(AssertionError, match="false-alarm rate"):
        assert_frequency(int((drawn == 1).sum()), trials, math.exp(m.log_prob(1, 0)))


def test_an_audit_finds_its_loss_and_no_more() -> None:
    m = DiscreteGaussian(1.0)
    level = 1.2
    claim: dict[str, Any] = {"claimed_epsilon": level, "samples": 100_000}
    honest = audit(as_sampler(m), inputs=m.worst_pair(), claimed_delta=float(m.delta(level)), **claim)
    assert honest.verdict == "consistent"
    short = audit(as_sampler(m), inputs=m.worst_pair(), claimed_delta=0.7 * float(m.delta(level)), **claim)
    assert short.verdict == "violated"


@together("m", [DiscreteGaussian(1.0), DiscreteGaussian(0.3), DiscreteGaussian(500.0)])
def test_its_own_law_fits_and_a_wider_one_does_not(m: DiscreteGaussian) -> None:
    assert_fits(as_sampler(m), m, inputs=list(m.worst_pair()), samples=50_000)
    with pytest.raises(AssertionError):
        assert_fits(as_sampler(DiscreteGaussian(1.0)), DiscreteGaussian(1.2), inputs=[0], samples=50_000)


@together(
    ("call", "message"),
    [
        (lambda: DiscreteGaussian(0.0), "sigma must be a finite number > 0, got 0.0"),
        (lambda: DiscreteGaussian(1e-12), r"sigma must lie in 2\*\*-30 .. 2\*\*40, got 1e-12"),
        (lambda: DiscreteGaussian(1e13), r"sigma must lie in 2\*\*-30 .. 2\*\*40, got 10000000000000.0"),
        (lambda: DiscreteGaussian(1.0, 0.5), "sensitivity must be a whole number >= 1 and <= 1000000, got 0.5"),
        (lambda: DiscreteGaussian(1.0, 2, 5), "replaced must be a number > 0, at most twice the sensitivity 2"),
        (lambda: DiscreteGaussian(1.0).implemented(65), "bits must be a whole number >= 2 and <= 64"),
        (lambda: DiscreteGaussian(1.0).sample([0.5], rng=np.random.default_rng(0)), "x must be whole numbers in"),
        (lambda: DiscreteGaussian(1.0).variance(0.5), "x must be whole numbers in"),
        (lambda: DiscreteGaussian(1.0).delta(-1.0), "epsilon must be >= 0 everywhere"),
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
