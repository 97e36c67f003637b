"""StatDP on one case: python statdp.py CASE SAMPLES SEED CHECKOUT, one line of JSON.

It tests one epsilon at a time; the bound is the greatest of eight shares of the truth with p <= 0.05, which needs the
truth. It cannot be seeded.
"""

import json
import logging
import sys
import time
from pathlib import Path

import numpy as np

np.bool = bool  # it uses a name that numpy removed
sys.path[:0] = [sys.argv[4], str(Path(__file__).parent.parent)]

from auditor_cases import CASES
from statdp import detect_counterexample

CASE, SAMPLES = CASES[sys.argv[1]], int(float(sys.argv[2]))
SHARES = (0.5, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 1.0)


def program(prng, queries, epsilon):
    """The case as StatDP calls it: one output a call."""
    x = tuple(queries) if len(queries) > 1 else queries[0]
    output = CASE.sampler(x, 1, prng)[0]
    return tuple(output.tolist()) if CASE.dimension > 1 else output


if __name__ == "__main__":
    start = time.perf_counter()
    first, second = (list(x) if isinstance(x, tuple) else [x] for x in CASE.inputs)
    each = SAMPLES // 2 // len(SHARES)
    found = detect_counterexample(
        program,
        tuple(share * CASE.truth for share in SHARES),
        default_kwargs={"epsilon": CASE.truth},
        databases=(first, second),
        event_iterations=max(100, each // 6),
        detect_iterations=max(100, 5 * each // 6),
        cores=1,
        quiet=True,
        loglevel=logging.ERROR,
    )
    bound = max((row[0] for row in found if row[1] <= 0.05), default=0.0)
    print(json.dumps({"bound": float(bound), "samples": SAMPLES, "seconds": time.perf_counter() - start}))
