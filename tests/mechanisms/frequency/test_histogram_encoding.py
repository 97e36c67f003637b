"""Histogram encoding: two Laplace losses by quadrature and on coarse grids, the best threshold, estimates."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

from ldp_audit.losses.composition import composed
from ldp_audit.losses.noise_losses import LaplaceLoss
from ldp_audit.mechanisms import HistogramEncoding, UnaryEncoding
from ldp_audit.mechanisms.frequency.histogram_encoding import SummedGrid
from ldp_audit.mechanisms.noise.laplace import Laplace, LaplaceGrid
from ldp_audit.mechanisms.target import load
from tests.frequency import assert_frequency
from tests.together import together

EPSILONS = (0.01, 0.5, 1.0, 4.0, 50.0)


def _coarse(exponent: int, epsilon: float) -> SummedGrid:
    """0 and 1 are few spacings apart."""
    form = HistogramEncoding(epsilon, 2).form()
    assert not isinstance(form, UnaryEncoding)
    return SummedGrid(form, LaplaceGrid(Laplace(2 / epsilon), exponent))


def _by_quadrature(epsilon: float, level: float) -> Any:
    """The divergence of two numbers with noise, from the loss of one: atoms at its ends, and a density between."""
    half = mpmath.mpf(epsilon) / 2

    def one(at: Any) -> Any:
        """Of the other number, at a level >= -half."""
        return max(mpmath.mpf(0), 1 - mpmath.exp((at - half) / 2))

    atom = one(level - half) / 2
    kink = level - half
    return atom + mpmath.quad(lambda loss: mpmath.exp((loss - half) / 2) / 4 * one(level - loss), [kink, half])


@together("epsilon", EPSILONS)
def test_the_profile_of_the_sum_is_that_of_two_laplace_numbers(epsilon: float) -> None:
    m = HistogramEncoding(epsilon, 3)
    assert m.exact_epsilon() == epsilon
    for share in (0.0, 0.3, 0.9, 0.999):
        level = share * epsilon
        with mpmath.workdps(30):
            exact = float(_by_quadrature(epsilon, level))
        assert float(m.delta(level)) == pytest.approx(exact, rel=1e-9)
    assert m.delta(epsilon) == m.delta(math.inf) == 0


@together("epsilon", EPSILONS)
def test_the_closed_form_lies_between_the_bounds_of_a_composition(epsilon: float) -> None:
    """Of two Laplace losses, above and below level 0; and three encodings compose as six of these."""
    loss = HistogramEncoding(epsilon, 3).pair_loss()
    summed = composed([(LaplaceLoss(epsilon / 2), 2)])
    thrice, six = composed([(loss, 3)]), composed([(LaplaceLoss(epsilon / 2), 6)])
    for share in (-1.5, -0.9, -0.1, 0.0, 0.4, 0.95):
        low, high = summed.log_delta_bounds(share * epsilon)
        found, same = loss.log_delta_bounds(share * epsilon)
        assert found == same
        assert low - 1e-12 <= found <= high + 1e-12
        assert thrice.log_delta_bounds(share * epsilon) == six.log_delta_bounds(share * epsilon)


@together("m", [_coarse(-2, 1.0), _coarse(-3, 4.0), _coarse(0, 0.3), _coarse(-1, 30.0)])
def test_the_grid_has_the_stated_epsilon_profile_and_moments(m: SummedGrid) -> None:
    """All pairs of numbers within 60 scales, where the mass is 1 but for 1e-20 or so."""
    steps = math.ceil(60 * m.noise.width()) if m.noise.width() < 9 else 45 * m.noise.width()
    line = np.arange(-steps, steps + m.noise.shift()) * math.ldexp(1.0, m.noise.exponent)
    rows = [np.exp(np.asarray(m.noise.log_prob(line, at))) for at in (0.0, 1.0)]
    first, second = np.outer(rows[1], rows[0]), np.outer(rows[0], rows[1])
    ends = np.stack(np.meshgrid(line[:3], line[:3], indexing="ij"), axis=-1)
    assert np.exp(m.log_prob(ends, 0)) == pytest.approx(first[:3, :3], rel=1e-12)
    assert first.sum() == pytest.approx(1, rel=1e-12)
    seen = (first > 1e-250) & (second > 1e-250)
    assert np.max(np.log(first[seen] / second[seen])) == pytest.approx(m.exact_epsilon(), rel=1e-9)
    for share in (0.0, 0.1, 0.47, 0.8, 0.99):
        level = share * m.exact_epsilon()
        divergence = np.maximum(first - math.exp(level) * second, 0).sum()
        assert float(m.delta(level)) == pytest.approx(divergence, rel=1e-9, abs=1e-13)
    assert m.mean(0).tolist() == [1, 0]
    assert rows[1] @ (line - 1) ** 2 == pytest.approx(m.variance(0)[0], rel=1e-9)
    assert m.exact_epsilon() <= m.mechanism.exact_epsilon()


@together("epsilon", [0.01, 0.1, 1.0, 3.0, 10.0, 50.0])
@together("threshold", [None, "optimal", 0.51, 0.75, 1.0])
def test_what_is_implemented_has_at_most_the_exact_epsilon(epsilon: float, threshold: Any) -> None:
    m = HistogramEncoding(epsilon, 5, threshold)
    for bits in (3, 8, 64):
        assert m.implemented(bits).exact_epsilon() <= m.exact_epsilon() <= epsilon
    assert m.implemented_epsilon() == pytest.approx(m.exact_epsilon(), rel=1e-6)
    assert load(repr(m)) == m
    assert (m.exact_epsilon() < epsilon) == (threshold is not None)


@together("epsilon", [0.01, 0.1, 1.0, 3.0, 10.0, 50.0])
@together("threshold", ["optimal", 0.51, 0.75, 1.0])
def test_bits_are_whether_laplace_numbers_exceed_the_threshold(epsilon: float, threshold: Any) -> None:
    """p and q from the tails of the noise in 40 digits, and the epsilon of these reals, which floats do not exceed."""
    m = HistogramEncoding(epsilon, 4, threshold)
    with mpmath.workdps(40):
        cut, half = mpmath.mpf(m.cut()), mpmath.mpf(epsilon) / 2
        p, q = 1 - mpmath.exp(-(1 - cut) * half) / 2, mpmath.exp(-cut * half) / 2
        exact = mpmath.log(p * (1 - q) / ((1 - p) * q))
        assert m.exact_epsilon() <= exact < epsilon
        assert m.exact_epsilon() == pytest.approx(float(exact), rel=1e-5)
        rare = float(q * (1 - q) / (p - q) ** 2)
    form = m.form()
    assert isinstance(form, UnaryEncoding)
    assert form.ones() == pytest.approx((float(p), float(q)), rel=1e-14)
    assert m.frequency_variance(7) == pytest.approx(rare / 7, rel=1e-8)
    assert m.supports().k == 4


@together("epsilon", [0.01, 0.1, 1.0, 3.0, 10.0, 50.0])
def test_the_optimal_threshold_has_the_least_variance_of_a_rare_value(epsilon: float) -> None:
    """No other of 500 has less; a threshold 1% of the range away has more."""
    m = HistogramEncoding(epsilon, 4, "optimal")
    least = float(m.frequency_variance(1))
    for threshold in np.linspace(0.501, 1.0, 500).tolist():
        assert float(HistogramEncoding(epsilon, 4, threshold).frequency_variance(1)) >= least * (1 - 1e-9)
    if epsilon >= 0.5:
        for away in (-0.01, 0.01):
            moved = HistogramEncoding(epsilon, 4, min(1.0, max(m.cut() + away, 0.501)))
            assert float(moved.frequency_variance(1)) > least


def test_variances_are_those_of_the_literature() -> None:
    """Wang et al. 2017, Table 1: 8/epsilon**2 summed, (2 s - 1)/(s - 1)**2 at threshold 1, s = e**(epsilon/2)."""
    for epsilon in (0.5, 1.0, 4.0):
        s = math.exp(epsilon / 2)
        numbers, bits, best = (HistogramEncoding(epsilon, 4, one) for one in (None, 1.0, "optimal"))
        assert numbers.frequency_variance(1) == pytest.approx(8 / epsilon**2)
        assert bits.frequency_variance(1) == pytest.approx((2 * s - 1) / (s - 1) ** 2)
        optimised, thresholded = UnaryEncoding(epsilon, 4).frequency_variance(1), best.frequency_variance(1)
        assert float(optimised) < float(thresholded) < float(bits.frequency_variance(1))
        assert float(thresholded) < float(numbers.frequency_variance(1))


@together("library", ["numpy", "torch"])
def test_numbers_have_the_noise_and_estimates_the_variance(library: str) -> None:
    """Signs and quartiles of the noise of each number: false alarm 1e-6 each; one scale for another is found."""
    m, n = HistogramEncoding(1.0, 3), 30_000
    x = np.arange(n) % 4 // 2 * 2  # half 0, half 2
    if library == "torch":
        drawn = m.sample(torch.from_numpy(x), rng=torch.Generator().manual_seed(3)).numpy()
    else:
        drawn = m.sample(x, rng=np.random.default_rng(3))
    assert drawn.shape == (n, 3)
    noise = drawn - np.eye(3)[x]
    for place, cut in itertools.product(range(3), (-3.0, -1.0, 0.0, 2.0, 5.0)):
        tail = math.exp(-abs(cut) / 2) / 2
        assert_frequency(int((noise[:, place] <= cut).sum()), n, tail if cut < 0 else 1 - tail)
    with pytest.raises(AssertionError, match="where"):  # the noise of a record present or absent, of scale 1/epsilon
        assert_frequency(int((noise[:, 0] <= -3.0).sum()), n, math.exp(-3.0) / 2)
    found = m.estimate(drawn)
    assert found.frequencies == pytest.approx(drawn.mean(axis=0))
    assert found.standard_error == pytest.approx([math.sqrt(8 / n)] * 3)
    assert np.max(np.abs(found.frequencies - [0.5, 0, 0.5])) < 6 * found.worst_standard_error


def test_estimates_of_bits_are_those_of_unary_encoding() -> None:
    m = HistogramEncoding(2.0, 3, 0.8)
    drawn = m.sample(np.zeros(50, np.int64), rng=np.random.default_rng(1))
    form = m.form()
    assert drawn.dtype == np.uint8
    assert m.estimate(drawn).frequencies.tolist() == form.estimate(drawn).frequencies.tolist()
    assert m.reports() == form.reports()
    with pytest.raises(ValueError, match="moments need reports that are numbers"):
        m.mean(0)


@together(
    ("act", "match"),
    [
        (
            lambda: HistogramEncoding(1.0, 3, 0.5),
            r'threshold must be None, "optimal" or a number > 1/2 and <= 1, got 0.5',
        ),
        (lambda: HistogramEncoding(1.0, 3, 1.1), r"threshold must be .* got 1.1"),
        (lambda: HistogramEncoding(1.0, 3, "best"), r"threshold must be .* got 'best'"),  # type: ignore[arg-type]
        (lambda: HistogramEncoding(1e-15, 3, 0.8), r"epsilon must lie in about 1e-14 \.\. 1400 with a threshold"),
        (lambda: HistogramEncoding(2000.0, 3, 0.8), r"epsilon must lie in about 1e-14 \.\. 1400 with a threshold"),
        (lambda: HistogramEncoding(0.0, 3), "epsilon must be a finite number > 0, got 0.0"),
        (lambda: HistogramEncoding(1.0, 1), "k must be a whole number >= 2, got 1"),
        (lambda: HistogramEncoding(1.0, 3).cut(), "threshold must be given"),
        (
            lambda: HistogramEncoding(1.0, 3).sample([3], rng=np.random.default_rng(0)),
            r"x must be whole numbers in 0..2",
        ),
        (lambda: HistogramEncoding(1.0, 3).log_prob([0.0, 1.0], 0), r"y must be numbers of shape \(\.\.\., 3\)"),
        (lambda: HistogramEncoding(1.0, 3).estimate([[0.0, 1.0]]), r"reports must have shape \(n, 3\)"),
        (lambda: HistogramEncoding(1.0, 3).estimate(np.zeros((0, 3))), "reports must be one or more, got none"),
        (lambda: HistogramEncoding(1.0, 3).estimate([[0.0, 1.0, math.nan]]), "reports must be finite real numbers"),
    ],
)
def test_what_is_refused(act: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        act()
