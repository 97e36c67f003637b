"""DP-Sniper on one case: python dp_sniper.py CASE SAMPLES SEED CHECKOUT, one line of JSON.

Half of the samples find the attack (training, threshold, check: a sixth of a half each and input), half confirm it;
confidence 0.95, both orders of the inputs, its default classifier for many dimensions.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [sys.argv[4], str(Path(__file__).parent.parent)]

import numpy as np
import torch
from auditor_cases import CASES
from dpsniper.attack.dpsniper import DPSniper
from dpsniper.classifiers.classifier_factory import MultiLayerPerceptronFactory
from dpsniper.classifiers.torch_optimizer_factory import AdamOptimizerFactory
from dpsniper.mechanisms.abstract import Mechanism
from dpsniper.search.ddconfig import DDConfig
from dpsniper.search.ddsearch import DDSearch
from dpsniper.utils.initialization import initialize_dpsniper

CASE, SAMPLES, SEED = CASES[sys.argv[1]], int(float(sys.argv[2])), int(sys.argv[3])


class Program(Mechanism):
    """The case as DP-Sniper calls it."""

    def m(self, a, n_samples: int = 1):
        rng = np.random.default_rng(np.random.randint(2**31))
        x = tuple(a) if len(a) > 1 else type(CASE.inputs[0])(a[0])
        return CASE.sampler(x, n_samples, rng).astype(float)


class Pair:
    """The two inputs, in both orders."""

    def get_input_pairs(self):
        first, second = (np.atleast_1d(np.array(x, dtype=float)) for x in CASE.inputs)
        return [(first, second), (second, first)]


if __name__ == "__main__":
    np.random.seed(SEED)
    torch.manual_seed(SEED)
    part = max(1000, SAMPLES // 12 // 1000 * 1000)
    config = DDConfig(
        n_processes=1,
        confidence=0.95,
        n_train=part,
        n=part,
        n_check=part,
        n_final=max(1000, SAMPLES // 4 // 1000 * 1000),
    )
    start = time.perf_counter()
    factory = MultiLayerPerceptronFactory(
        in_dimensions=CASE.dimension,
        optimizer_factory=AdamOptimizerFactory(learning_rate=0.1, step_size=500),
        hidden_sizes=(10, 5),
    )
    with tempfile.TemporaryDirectory() as folder, initialize_dpsniper(config, out_dir=folder):
        witness = DDSearch(Program(), DPSniper(Program(), factory, config), Pair(), config).run()
        witness.compute_eps_high_precision(Program(), config)
    print(json.dumps({"bound": float(witness.lower_bound), "samples": SAMPLES, "seconds": time.perf_counter() - start}))
