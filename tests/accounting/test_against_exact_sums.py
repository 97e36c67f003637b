"""Privacy losses against sums and integrals with 50 digits and more, by methods that the package does not use.

python-flint's arb gives a number with a bound on its error, so "above" and "below" here are certain. An epsilon is
right to the share r of itself if delta(epsilon (1 - r)) is above the target delta and delta(epsilon (1 + r)) is not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import pytest
from flint import acb, arb, ctx, fmpq, fmpq_poly

from ldp_audit.accounting import PrivacyLoss, compose, subsample
from ldp_audit.mechanisms import Gaussian, Laplace, RandomizedResponse
from tests.together import together

_DIGITS = 60
Delta = Callable[[arb], arb]


@contextmanager
def _digits(count: int):
    before, ctx.dps = ctx.dps, count
    try:
        yield
    finally:
        ctx.dps = before


def _is_right(loss: PrivacyLoss, true_delta: Delta, delta: float, share: float) -> None:
    """Epsilon is right to this share, never too small, and the lower bound no larger than the truth."""
    lower, upper = loss.epsilon_bounds(delta)
    target = arb(delta)
    assert true_delta(arb(upper)) <= target, "the upper end is too small"
    assert true_delta(arb(upper) * (1 - arb(share))) > target, "the upper end is too large"
    assert true_delta(arb(lower) * (1 - arb(share))) > target, "the lower end is too large"


def _encloses(loss: PrivacyLoss, true_delta: Delta, delta: float, width: float) -> None:
    """The bounds on epsilon are this near, and the truth lies between them; the bounds on delta likewise."""
    lower, upper = loss.epsilon_bounds(delta)
    assert upper - lower <= width
    assert true_delta(arb(upper)) <= arb(delta), "the upper end is too small"
    assert true_delta(arb(lower) * (1 - arb(1e-12))) > arb(delta), "the lower end is too large"
    for level in (0.0, upper / 3, upper):
        low, high = loss.delta_bounds(level)
        truth = true_delta(arb(level))
        assert arb(low) * (1 - arb(1e-11)) <= truth <= arb(high) * (1 + arb(1e-11))


def _responses(epsilon: float, times: int) -> Delta:
    """T binary randomised responses: the binomial sum from its first positive term on."""

    def delta(level: arb) -> arb:
        step = arb(epsilon)
        odds = step.exp()
        truth = odds / (1 + odds)
        first = max(0, int(((level / step + times) / 2).mid().floor().unique_fmpz()))
        term = arb(times).fac() / arb(first).fac() / arb(times - first).fac()
        term *= truth**first * (1 - truth) ** (times - first)
        total = arb(0)
        for k in range(first, times + 1):
            gain = 1 - (level - step * (2 * k - times)).exp()
            total += term * gain if gain > 0 else 0
            ratio = odds * (times - k) / (k + 1)
            if total > 0 and ratio < 1 and term < total * (1 - ratio) * arb(10) ** -30:
                # what is left out is less than a geometric series
                return total + (term / (1 - ratio)).union(arb(0))
            term *= ratio
        return total

    return delta


@together(("times", "delta"), itertools.product([10**2, 10**4, 10**6], [1e-6, 1e-15, 1e-300]))
def test_many_randomised_responses_are_right_to_ten_digits(times, delta):
    """Catches a sum that loses digits, a tail cut too early, and a root stated on the wrong side."""
    with _digits(_DIGITS):
        _is_right(compose([(RandomizedResponse(0.1), times)]), _responses(0.1, times), delta, 1e-10)


def test_a_billion_tiny_losses_do_not_underflow():
    """Catches a probability that underflows to 0, and logarithms without digits."""
    loss = compose([(RandomizedResponse(1e-9), 10**9)])
    with _digits(_DIGITS):
        for level in (0.5, 0.9, 1 - 1e-8):
            low, high = loss.log_delta_bounds(level)
            truth = _responses(1e-9, 10**9)(arb(level)).log()
            assert -1e9 < low <= high
            assert abs(arb(high) - truth) < arb(1e-11) * abs(truth)
            assert 0 < loss.delta(level) < 1e-300


def _gaussian(mu: arb) -> Delta:
    def above(x: arb) -> arb:
        return (x / arb(2).sqrt()).erfc() / 2

    return lambda level: above(level / mu - mu / 2) - level.exp() * above(level / mu + mu / 2)


@together(
    ("sigma", "times", "delta"),
    [
        (sigma, times, delta)
        for sigma, times in [(0.3, 3), (50.0, 10**3), (1e6, 10**9), (1e9, 1)]
        for delta in [0.3, 1e-6, 1e-300]
    ],
)
def test_gaussian_noises_are_right_to_ten_digits(sigma, times, delta):
    """Catches the cancellation between the two tails, which is complete for large sigma and for small delta."""
    with _digits(800):
        truth = _gaussian(arb(times).sqrt() / arb(sigma))
        loss = compose([(Gaussian(sigma), times)])
        if truth(arb(0)) > arb(delta):
            _is_right(loss, truth, delta, 1e-10)
        else:
            assert loss.epsilon_bounds(delta) == (0.0, 0.0)


def _laplaces(top: arb, times: int) -> Delta:
    r"""T Laplace noises of ratio e**top, as a finite sum.

    With z = s + 1/2 the loss has E e**(sL) = e**(-top/2) (A e**(top z) + B e**(-top z)), A = (z + 1/2)/(2 z) and
    B = (z - 1/2)/(2 z). Its T-th power over s (s + 1) is a sum of e**(c z) times rational functions, and delta is the
    sum of their residues at z = 0 and z = 1/2 for those with c > 0.
    """
    half = fmpq(1, 2)
    plus, minus = fmpq_poly([half, 1]), fmpq_poly([-half, 1])

    def residue(k: int, c: arb) -> arb:
        """Of (z + 1/2)**(k - 1) (z - 1/2)**(T - k - 1) z**-T e**(c z)."""
        if k < times:
            rational = [(plus ** (k - 1) * minus ** (times - k - 1))[i] for i in range(times)]
            extra = arb(0)
        else:  # 1/(z - 1/2) = -2 (1 + 2 z + 4 z**2 + ...), and a pole there
            series = fmpq_poly([-(2 ** (i + 1)) for i in range(times)])
            rational = [(plus ** (k - 1) * series)[i] for i in range(times)]
            extra = arb(2) ** times * (c / 2).exp()
        return extra + sum((c**i / arb(i).fac() * _arb(rational[times - 1 - i]) for i in range(times)), arb(0))

    def delta(level: arb) -> arb:
        total = arb(0)
        for k in range(1, times + 1):
            c = top * (2 * k - times) - level
            if c > 0:
                total += math.comb(times, k) * residue(k, c)
        return total * ((level - times * top) / 2).exp() / 2**times

    return delta


def _arb(q: fmpq) -> arb:
    return arb(q.p) / arb(q.q)


@pytest.mark.covering(1)
@pytest.mark.parametrize(("scale", "times"), [(1.0, 1), (2.0, 2), (0.5, 3), (10.0, 40), (1.0, 100)])
@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-30])
def test_laplace_noises_lie_between_certified_bounds(scale, times, delta):
    """Catches an atom put into the wrong cell, and bounds that are swapped, too wide, or missing."""
    with _digits(200):
        truth = _laplaces(1 / arb(scale), times)
        if truth(arb(0)) > arb(delta):
            _encloses(compose([(Laplace(scale), times)]), truth, delta, 1e-4)


@together("delta", [1e-3, 1e-9, 1e-30])
def test_gaussian_noise_with_responses_lies_between_certified_bounds(delta):
    """Catches a mistake in a sum of losses of different kinds: the truth is a sum over the responses' counts."""
    epsilon, times, sigma = 0.3, 25, 1.5
    gaussian = _gaussian(1 / arb(sigma))

    def truth(level: arb) -> arb:
        step, total = arb(epsilon), arb(0)
        honest = step.exp() / (1 + step.exp())
        for k in range(times + 1):
            weight = math.comb(times, k) * honest**k * (1 - honest) ** (times - k)
            total += weight * gaussian(level - step * (2 * k - times))
        return total

    with _digits(100):
        gaussian = _gaussian(1 / arb(sigma))
        _encloses(compose([(RandomizedResponse(epsilon), times), (Gaussian(sigma), 1)]), truth, delta, 1e-4)


@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_two_sampled_gaussians_lie_between_certified_bounds(delta):
    """Catches the two directions mixed up, and a wrong least loss of an unsampled record."""
    rate, sigma = 0.2, 1.0
    with _digits(40):
        directions = [_two_sampled(arb(rate), arb(sigma), back) for back in (False, True)]

        def truth(level: arb) -> arb:
            one, two = (direction(level) for direction in directions)
            return one.max(two)

        _encloses(compose([(subsample(Gaussian(sigma), rate=rate), 2)]), truth, delta, 1e-4)


def _two_sampled(rate: arb, sigma: arb, back: bool) -> Delta:
    """The integral over the first report's value of the closed form of the second's delta, which bends at one value."""
    low = (1 - rate).log()

    def loss(x: Any) -> Any:
        return (1 - rate + rate * ((2 * x - 1) / (2 * sigma**2)).exp()).log()

    def value(level: Any, analytic: bool = False) -> Any:
        """The noisy value with this loss."""
        return sigma**2 * ((acb(level).exp() - (1 - rate)) / rate).log(analytic=analytic) + arb(1) / 2

    def below(x: Any) -> tuple[Any, Any]:
        """The chance to lie below x with the record, and without it."""
        without, other = ((-acb(x - shift) / (sigma * arb(2).sqrt())).erfc() / 2 for shift in (0, 1))
        return (1 - rate) * without + rate * other, without

    def second(level: Any, analytic: bool) -> Any:
        if back:
            drawn, without = below(value(-level, analytic))
            return without - level.exp() * drawn
        drawn, without = below(value(level, analytic))
        return 1 - drawn - level.exp() * (1 - without)

    def delta(level: arb) -> arb:
        edge = (-level if back else level) - low
        if not edge > low:
            return arb(0)
        bend = value(edge).real

        def integrand(x: Any, analytic: bool) -> Any:
            at_zero, at_one = ((-((x - shift) ** 2) / (2 * sigma**2)).exp() for shift in (0, 1))
            density = (at_zero if back else (1 - rate) * at_zero + rate * at_one) / (sigma * (2 * arb.pi()).sqrt())
            return density * second(level + loss(x) if back else level - loss(x), analytic)

        start, stop = bend.min(arb(0)) - 14 * sigma, bend - arb(10) ** -25
        inner = acb.integral(integrand, acb(start), acb(stop), abs_tol=arb(10) ** -22).real
        cut = (below(start)[0].real + arb(10) ** -25).union(arb(0))  # of a density and a delta below 1
        drawn, without = (part.real for part in below(bend))
        return inner + cut + (0 if back else 1 - drawn - level.exp() * (1 - without))

    return delta
