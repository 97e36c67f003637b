"""DP-Auditorium on one case: python dp_auditorium.py CASE SAMPLES SEED CHECKOUT TESTER, one line of JSON.

TESTER: histogram, its quickest test, for single numbers; or hockey-stick, the test by a classifier of its README's
example, with that example's model and training.

A tester accepts or rejects one epsilon. As in its runner, every test takes all samples of both inputs, in both orders,
at failure probability 0.05; the tester with a classifier trains it on half of them and tests on the other. The bound is
found by eight steps of bisection on the same samples. That costs the histogram tester nothing: its estimate of delta
falls and its tolerance rises with epsilon, so that it rejects all epsilons up to one, and the bound is wrong only where
the true epsilon is rejected. The classifier's tests are not corrected for their number, nor are the two orders.
"""

import json
import os
import sys
import time
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
sys.path[:0] = [sys.argv[4], str(Path(__file__).parent.parent)]

from unittest.mock import MagicMock

import numpy as np

for name in ("vizier", "vizier.service", "vizier._src", "vizier.service.clients", "vizier.service.pyvizier"):
    sys.modules[name] = MagicMock()  # its search over data sets, which is not used here
import tensorflow as tf
from auditor_cases import CASES
from dp_auditorium.configs import privacy_property, property_tester_config
from dp_auditorium.interfaces import PropertyTester
from dp_auditorium.testers import histogram_tester, hockey_stick_tester

CASE, SAMPLES, SEED, TESTER = CASES[sys.argv[1]], int(float(sys.argv[2])), int(sys.argv[3]), sys.argv[5]
STEPS = 8
FAILURE = 0.05
BINS = {"b Laplace 1": 50, "d Piecewise 1": 3, "e noisy max's value (claim 1)": 5}
"""Of 2, 3, 5, 10, 20, 50 and 100 bins the number with the best bound, on other samples than these."""


def histogram(epsilon: float) -> PropertyTester:
    """It is given the number of bins and the range of the outputs, or all their values."""
    return histogram_tester.HistogramTester(
        property_tester_config.HistogramPropertyTesterConfig(
            approximate_dp=privacy_property.ApproximateDp(epsilon=epsilon, delta=0.0),
            test_discrete_mechanism=bool(CASE.values),
            histogram_size=len(CASE.values) or BINS[sys.argv[1]],
            min_value=None if CASE.values else CASE.span[0],
            max_value=None if CASE.values else CASE.span[1],
        )
    )


def hockey_stick(epsilon: float) -> PropertyTester:
    """Its own default model and training."""
    return hockey_stick_tester.HockeyStickPropertyTester(
        property_tester_config.HockeyStickPropertyTesterConfig(
            training_config=hockey_stick_tester.make_default_hs_training_config(),
            approximate_dp=privacy_property.ApproximateDp(epsilon=epsilon, delta=0.0),
        ),
        hockey_stick_tester.make_default_hs_base_model(),
    )


def rejects(tester: PropertyTester, first: np.ndarray, second: np.ndarray) -> bool:
    """Whether the tester finds a violation in either order."""
    bounds = (tester.estimate_lower_bound(*pair, FAILURE) for pair in ((first, second), (second, first)))
    return any(tester.reject_property(bound) for bound in bounds)


if __name__ == "__main__":
    if TESTER == "histogram" and CASE.dimension > 1:
        sys.exit("its histogram tester takes scalars alone")
    tf.keras.utils.set_random_seed(SEED)
    rng = np.random.default_rng(SEED)
    start = time.perf_counter()
    samples = [CASE.sampler(x, SAMPLES // 2, rng) for x in CASE.inputs]
    if CASE.values and TESTER == "histogram":
        samples = [np.searchsorted(np.sort(CASE.values), one) for one in samples]
    make = {"histogram": histogram, "hockey-stick": hockey_stick}[TESTER]
    low, high = 0.0, 1.05 * CASE.truth
    for _ in range(STEPS):
        epsilon = (low + high) / 2
        low, high = (epsilon, high) if rejects(make(epsilon), *samples) else (low, epsilon)
    print()  # the classifier's evaluation leaves its line open
    print(json.dumps({"bound": low, "samples": SAMPLES, "seconds": time.perf_counter() - start}))
