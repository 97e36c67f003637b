"""LDP-Auditor on one case: python ldp_auditor.py CASE SAMPLES SEED CHECKOUT, one line of JSON.

It audits protocols that are built into it: randomised response, and unary encoding, of one value.
"""

import json
import os
import sys
import time
from pathlib import Path

CASE, SAMPLES, SEED = sys.argv[1], int(float(sys.argv[2])), int(sys.argv[3])
BUILT_IN = {"a Warner 1": ("GRR", 2, 1.0), "f k-RR (10) 2": ("GRR", 10, 2.0), "g unary, 20 bits, 1": ("SUE", 20, 1.0)}

if __name__ == "__main__":
    if CASE not in BUILT_IN:
        sys.exit("it has no such protocol")
    sys.path = [
        sys.argv[4],
        *(path for path in sys.path if Path(path or ".").resolve() != Path(__file__).parent.resolve()),
    ]
    os.environ["PYTHONPATH"] = sys.argv[4]  # for the processes that it starts
    from ldp_audit.base_auditor import LDPAuditor

    protocol, k, epsilon = BUILT_IN[CASE]
    start = time.perf_counter()
    auditor = LDPAuditor(
        nb_trials=SAMPLES // 2, alpha=0.05, epsilon=epsilon, delta=0.0, k=k, random_state=SEED, n_jobs=1
    )
    bound = auditor.run_audit(protocol)
    print(json.dumps({"bound": float(bound), "samples": SAMPLES, "seconds": time.perf_counter() - start}))
