"""FedSel's selections against exact enumeration; PE's true epsilon against known values and its calibration."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

from ldp_audit.mechanisms import ExponentialSelection, PerturbedEncoding
from tests.together import together

TRUE_EPSILON = {
    (0.2, 2, 1): 0.266470, (0.2, 10, 1): 0.224385, (0.2, 10, 5): 0.221878,
    (0.2, 100, 1): 0.202239, (0.2, 100, 10): 0.202194,
    (1, 2, 1): 1.310550, (1, 10, 1): 1.173043, (1, 10, 5): 1.096724, (1, 100, 1): 1.017509, (1, 100, 10): 1.015024,
    (4, 2, 1): 4.666287, (4, 10, 1): 4.643440, (4, 10, 5): 4.177551, (4, 100, 1): 4.428502, (4, 100, 10): 4.082686,
}  # fmt: skip


def encoded(t: Fraction, status: tuple[int, ...]) -> dict[int | None, Fraction]:
    """PE's law by all 2**d flips, exactly."""
    law: dict[int | None, Fraction] = {}
    for flips in product((0, 1), repeat=len(status)):
        weight = math.prod((1 if flip else t) / (t + 1) for flip in flips)
        ones = [j for j, (bit, flip) in enumerate(zip(status, flips, strict=True)) if bit ^ flip]
        for y in ones or [None]:
            law[y] = law.get(y, Fraction(0)) + weight / max(len(ones), 1)
    return law


@pytest.mark.parametrize(("t", "d", "k"), [(2, 2, 1), (3, 3, 1), (3, 3, 2), (Fraction(5, 4), 6, 2), (20, 7, 5)])
def test_perturbed_encoding_is_the_law_of_all_flips(t: int | Fraction, d: int, k: int) -> None:
    status = (1,) * k + (0,) * (d - k)
    m = PerturbedEncoding(math.log(t), d, k)
    for y, probability in encoded(Fraction(t), status).items():
        assert math.exp(m.log_prob(y, list(status))) == pytest.approx(float(probability), rel=1e-13, abs=0)


@together(("key", "value"), TRUE_EPSILON.items())
def test_perturbed_encodings_true_epsilon(key: tuple, value: float) -> None:
    assert PerturbedEncoding(*key).exact_epsilon() == pytest.approx(value, abs=6e-7)
    assert PerturbedEncoding(*key).exact_epsilon() > key[0]


@pytest.mark.parametrize("t", [1.0000001, 1.5, 3.0, 50.0, 1e8])
def test_the_closed_forms_of_the_smallest_sizes(t: float) -> None:
    epsilon = math.log(t)
    with mpmath.workdps(40):
        t = mpmath.exp(mpmath.mpf(epsilon))
        two_one = mpmath.log(t * (2 * t + 1) / (t + 2))
        three_two = mpmath.log(t * (3 * t**2 + 8 * t + 3) / (2 * t**2 + 6 * t + 6))
    assert PerturbedEncoding(epsilon, 2, 1).exact_epsilon() == pytest.approx(float(two_one), rel=1e-12, abs=0)
    assert PerturbedEncoding(epsilon, 3, 2).exact_epsilon() == pytest.approx(float(three_two), rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("epsilon", "d", "k"), [(0.5, 1000, 3), (2.0, 100_000, 400), (1e-9, 1_000_000, 10), (50.0, 1000, 999)]
)
def test_large_sizes_against_the_sum_over_the_two_binomials(epsilon: float, d: int, k: int) -> None:
    """theta = E[1/(2+S)]/E[1/(1+S)] by mpmath's quadrature of the generating function, at 30 digits."""
    with mpmath.workdps(30):
        t = mpmath.exp(mpmath.mpf(epsilon))
        p, q = t / (t + 1), 1 / (t + 1)
        scale = 1 / max(mpmath.mpf(1), (k - 1) * p + (d - k - 1) * q)
        edges = [mpmath.mpf(0), *(scale * 2**j for j in range(-2, 40) if scale * 2**j < 1), mpmath.mpf(1)]

        def g(v: mpmath.mpf) -> mpmath.mpf:
            return (1 - p * v) ** (k - 1) * (1 - q * v) ** (d - k - 1)

        a = mpmath.quad(g, edges)
        c = mpmath.quad(lambda v: v * g(v), edges)
        exact = epsilon + mpmath.log1p((p - q) * c / (a - p * c))
    assert PerturbedEncoding(epsilon, d, k).exact_epsilon() == pytest.approx(float(exact), rel=1e-12, abs=0)


@pytest.mark.parametrize(("wanted", "d", "k"), [(0.2, 2, 1), (1, 10, 1), (4, 100, 10), (1e-6, 5, 2), (30.0, 4, 3)])
def test_calibration_keeps_to_the_epsilon_in_its_name(wanted: float, d: int, k: int) -> None:
    m = PerturbedEncoding.calibrated(wanted, d, k)
    assert m.exact_epsilon() <= wanted
    assert m.exact_epsilon() == pytest.approx(wanted, rel=1e-12, abs=0)
    assert m.epsilon < wanted


@pytest.mark.parametrize("d", [2, 10, 1_000_000])
@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 50.0])
def test_exponential_selection_at_the_ends(epsilon: float, d: int) -> None:
    m = ExponentialSelection(epsilon, d)
    logs = m.rank_log_probs()
    assert math.fsum(np.exp(logs)) == pytest.approx(1, rel=1e-12, abs=0)
    assert logs[-1] - logs[0] == pytest.approx(epsilon, rel=1e-9, abs=1e-12)
    assert m.implemented().exact_epsilon() <= epsilon
    assert m.delta(epsilon) == 0
    assert 0 < m.delta(0.0) <= 1
