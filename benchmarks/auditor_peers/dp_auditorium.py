"""DP-Auditorium's histogram tester on one case: python dp_auditorium.py CASE SAMPLES SEED CHECKOUT, one line of JSON.

It accepts or rejects one epsilon; the bound is by eight steps of bisection on fresh samples, both orders each, without
the correction for sixteen tests that it would need. It is given the number of bins and the range of the outputs.
"""

import json
import sys
import time
from pathlib import Path

sys.path[:0] = [sys.argv[4], str(Path(__file__).parent.parent)]

from unittest.mock import MagicMock

import numpy as np

for name in ("vizier", "vizier.service", "vizier._src", "vizier.service.clients", "vizier.service.pyvizier"):
    sys.modules[name] = MagicMock()  # its search over data sets, which is not used here
from auditor_cases import CASES
from dp_auditorium.configs import privacy_property, property_tester_config
from dp_auditorium.testers.histogram_tester import HistogramTester

CASE, SAMPLES, SEED = CASES[sys.argv[1]], int(float(sys.argv[2])), int(sys.argv[3])
STEPS = 8


def rejects(epsilon: float, first: np.ndarray, second: np.ndarray) -> bool:
    """Whether the tester finds a violation in either order."""
    if CASE.values:
        first, second = (np.searchsorted(np.sort(CASE.values), one) for one in (first, second))
    config = property_tester_config.HistogramPropertyTesterConfig(
        approximate_dp=privacy_property.ApproximateDp(epsilon=epsilon, delta=0.0),
        test_discrete_mechanism=bool(CASE.values),
        histogram_size=len(CASE.values) or 50,
        min_value=None if CASE.values else CASE.span[0],
        max_value=None if CASE.values else CASE.span[1],
    )
    tester = HistogramTester(config)
    for one, two in ((first, second), (second, first)):
        lower = tester.estimate_lower_bound(one, two, 0.05)
        if tester.reject_property(lower):
            return True
    return False


if __name__ == "__main__":
    if CASE.dimension > 1:
        sys.exit("its histogram tester takes scalars alone")
    rng = np.random.default_rng(SEED)
    start = time.perf_counter()
    low, high = 0.0, 1.05 * CASE.truth
    for _ in range(STEPS):
        epsilon = (low + high) / 2
        samples = [CASE.sampler(x, SAMPLES // 2 // STEPS, rng) for x in CASE.inputs]
        low, high = (epsilon, high) if rejects(epsilon, *samples) else (low, epsilon)
    print(json.dumps({"bound": low, "samples": SAMPLES, "seconds": time.perf_counter() - start}))
