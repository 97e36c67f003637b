"""FedSel's selections at the ends of epsilon and d, against direct sums in higher precision."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from ldp_audit.mechanisms import ExponentialSelection, PerturbedEncoding, PerturbedSampling
from tests.together import together

EPSILONS = [1e-9, 1e-4, 0.3, 1.0, 5.0, 20.0, 50.0]
SIZES = [(2, 1), (3, 1), (3, 2), (10, 5), (300, 1), (300, 150), (300, 299), (3000, 40)]
LARGE = [(1_000_000, k) for k in (1, 2, 1000, 500_000, 999_000, 999_999)]


def probable(count: int, p: mpmath.mpf) -> tuple[int, np.ndarray]:
    """Binomial(count, p) where it is above 1e-35: the first value, and the masses from there on."""
    mode = int(mpmath.floor((count + 1) * p))
    mode = min(mode, count)
    log_choose = mpmath.loggamma(count + 1) - mpmath.loggamma(mode + 1) - mpmath.loggamma(count - mode + 1)
    top = mpmath.exp(log_choose + mode * mpmath.log(p) + (count - mode) * mpmath.log1p(-p))
    odds, up, down = p / (1 - p), [top], []
    while mode + len(up) <= count and up[-1] > 1e-35:
        s = mode + len(up)
        up.append(up[-1] * odds * (count - s + 1) / s)
    while len(down) < mode and (down or up)[-1 if down else 0] > 1e-35:
        s = mode - len(down)
        down.append((down[-1] if down else top) / odds * s / (count - s + 1))
    return mode - len(down), np.array([float(mass) for mass in [*reversed(down), *up]])


def summed(epsilon: float, d: int, k: int) -> tuple[float, float, float]:
    """PE's exact epsilon, P_in and P_out, from the sums over the convolution of its two binomials.

    The masses are positive, so that sums of floats keep 13 digits; what could cancel is taken at 40 digits.
    """
    with mpmath.workdps(40):
        t = mpmath.exp(mpmath.mpf(epsilon))
        p, q = t / (t + 1), 1 / (t + 1)
        (low_kept, kept), (low_flipped, flipped) = probable(k - 1, p), probable(d - k - 1, q)
        masses = np.convolve(kept, flipped)
        s = low_kept + low_flipped + np.arange(len(masses), dtype=np.float64)
        a = mpmath.mpf(math.fsum(masses / (1 + s)))
        c = mpmath.mpf(math.fsum(masses / (1 + s) / (2 + s)))  # E[1/(1+S)] - E[1/(2+S)]
        inside, outside = p * (p * a + q * (a - c)), q * (q * a + p * (a - c))
        excess = mpmath.log1p((p - q) * c / (a - p * c))
        return float(epsilon + excess), float(inside), float(outside)


@together(
    ("epsilon", "d", "k"), [(EPSILONS[place % len(EPSILONS)], *size) for place, size in enumerate([*SIZES, *LARGE])]
)
def test_perturbed_encoding_is_the_sum_over_its_two_binomials(epsilon: float, d: int, k: int) -> None:
    m = PerturbedEncoding(epsilon, d, k)
    exact, inside, outside = summed(epsilon, d, k)
    assert m.exact_epsilon() == pytest.approx(exact, rel=1e-13, abs=0)
    assert np.exp(m.index_log_probs()) == pytest.approx([inside, outside], rel=1e-12, abs=0)
    levels = np.array([0.0, 0.3, 0.9]) * exact
    with mpmath.workdps(40):
        gaps = [float(inside * -mpmath.expm1(mpmath.mpf(level) - mpmath.mpf(exact))) for level in levels]
        none = float(-d * mpmath.log1p(mpmath.exp(-mpmath.mpf(epsilon))) - k * mpmath.mpf(epsilon))
    assert m.delta(levels) == pytest.approx(np.array(gaps) * min(k, d - k), rel=1e-12, abs=0)
    assert m.none_log_prob() == pytest.approx(none, rel=1e-14, abs=0)


@together(("epsilon", "d", "k"), [(0.3, 12, 5), (4.0, 30, 1), (1e-9, 40, 20)])
def test_the_sums_agree_with_the_generating_polynomial(epsilon: float, d: int, k: int) -> None:
    """What the other test compares with, held to the coefficients of (1 + t y)**(k-1) (t + y)**(d-k-1)."""
    with mpmath.workdps(60):
        t = mpmath.exp(mpmath.mpf(epsilon))
        law = [mpmath.mpf(1)]
        for constant, slope in [(mpmath.mpf(1), t)] * (k - 1) + [(t, mpmath.mpf(1))] * (d - k - 1):
            law = [
                constant * (law[s] if s < len(law) else 0) + slope * (law[s - 1] if s else 0)
                for s in range(len(law) + 1)
            ]
        a, b = (sum(w / (shift + s) for s, w in enumerate(law)) for shift in (1, 2))
        exact = mpmath.log(t * (t * a + b) / (a + t * b))
    assert summed(epsilon, d, k)[0] == pytest.approx(float(exact), rel=1e-14, abs=0)


@together(("d", "k"), [*SIZES, *LARGE])
@together("epsilon", EPSILONS)
def test_perturbed_sampling_keeps_its_digits(epsilon: float, d: int, k: int) -> None:
    m = PerturbedSampling(epsilon, d, k)
    with mpmath.workdps(40):
        t = mpmath.exp(mpmath.mpf(epsilon))
        inside, outside = float(t / (d - k + t * k)), float(1 / (d - k + t * k))
        delta = float(min(k, d - k) * (t - mpmath.exp(mpmath.mpf(epsilon * 0.75))) / (d - k + t * k))
    assert np.exp(m.index_log_probs()) == pytest.approx([inside, outside], rel=1e-12, abs=0)
    assert m.delta(epsilon * 0.75) == pytest.approx(delta, rel=1e-12, abs=0)


@together("d", [2, 3, 12, 1001, 1_000_000])
@together("epsilon", [1e-9, 0.1, 1.0, 50.0])
def test_exponential_selection_is_the_sum_over_its_ranks(epsilon: float, d: int) -> None:
    """Every rank's term, in extended precision where the platform has it; the losses are no differences of logs."""
    m = ExponentialSelection(epsilon, d)
    step = np.longdouble(epsilon) / (d - 1)
    weights = np.exp(-step * np.arange(d - 1, -1, -1, dtype=np.longdouble))
    exact = weights / weights.sum()
    assert np.max(np.abs(np.exp(m.rank_log_probs()) / exact - 1)) < 1e-12
    losses = step * (2 * np.arange(1, d + 1, dtype=np.longdouble) - d - 1)
    levels = np.array([0.0, 0.1, 0.5, 0.9]) * epsilon
    direct = [float(np.sum(-exact * np.expm1(np.minimum(level - losses, 0)))) for level in levels]
    assert m.delta(levels) == pytest.approx(direct, rel=1e-12, abs=0)
    assert m.delta([epsilon, 2 * epsilon, 1e300, math.inf]).tolist() == [0, 0, 0, 0]


@together("epsilon", [1e-9, 1.0, 50.0])
def test_the_weights_of_a_million_ranks_have_the_profile_of_their_sum(epsilon: float) -> None:
    """delta() of what is sampled, in whole numbers: the terms where w(i) > e**level w(d+1-i), at 40 digits."""
    m = ExponentialSelection(epsilon, 1_000_000).implemented()
    weights = m.weights().astype(object)
    with mpmath.workdps(40):
        for level in (0.0, epsilon / 3):
            t = mpmath.exp(mpmath.mpf(level))
            cut = int(np.searchsorted(np.log(m.weights() / m.weights()[::-1]), level, side="right"))
            more, base = int(weights[cut:].sum()), int(weights[: 1_000_000 - cut].sum())
            assert m.delta(level) == pytest.approx(float((more - t * base) / int(weights.sum())), rel=1e-12, abs=0)


@together("epsilon", [100.0, 700.0])
def test_large_epsilons_do_not_overflow(epsilon: float) -> None:
    for m in (PerturbedEncoding(epsilon, 5, 2), PerturbedSampling(epsilon, 5, 2), ExponentialSelection(epsilon, 5)):
        assert m.exact_epsilon() >= epsilon
        assert 0 < m.delta(0.0) <= 1
        assert m.delta(m.exact_epsilon()) == 0
        assert m.implemented().exact_epsilon() < 64


@together("epsilon", [1e-9, 0.5, 1.0, 5.0, 50.0])
@together("d", [2, 3, 10, 1_000_000])
def test_exponential_selection_just_below_epsilon_has_all_its_digits(epsilon: float, d: int) -> None:
    """One rank is left there: delta = P(top) (1 - e**(level - epsilon))."""
    m = ExponentialSelection(epsilon, d)
    level = math.nextafter(epsilon, 0.0)
    with mpmath.workdps(60):
        y = mpmath.exp(mpmath.mpf(epsilon) / (d - 1))
        want = (1 - 1 / y) / (1 - y**-d) * -mpmath.expm1(mpmath.mpf(level) - mpmath.mpf(epsilon))
        assert m.delta(level) == pytest.approx(float(want), rel=1e-12, abs=0)


def test_probabilities_near_one_have_logarithms_with_all_their_digits() -> None:
    with mpmath.workdps(60):
        q = 1 / (1 + mpmath.exp(50))
        both, bits = float(mpmath.log(1 - q)), float(mpmath.log((1 - q) * (1 - q / 2)))
    assert PerturbedSampling(50.0, 2, 1).index_log_probs()[0] == pytest.approx(both, rel=1e-12, abs=0)
    assert ExponentialSelection(50.0, 2).rank_log_probs()[1] == pytest.approx(both, rel=1e-12, abs=0)
    assert PerturbedEncoding(50.0, 2, 1).index_log_probs()[0] == pytest.approx(bits, rel=1e-12, abs=0)
