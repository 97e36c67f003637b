"""Sweeps that are ready to run: a demonstration on the embedded digits, and the paper's tables for its data sets.

The paper gives k, the number of parties, 5000 public images a round and some 20 rounds, and leaves epochs and batches
to a grid search. Those here are of FedMD's own experiments (Li, Wang 2019), which it repeats; so are the networks,
without their dropout. Data, by what its records per party (2880 and 300) fit:

* "femnist", IID: --data mnist-emnist; not IID: --data mnist-femnist;
* "cifar-10", IID: --data cifar-10-100; not IID: --data cifar-10-100-coarse.
"""

from __future__ import annotations

from typing import Any

from ldp_audit.training.experiments.sweep import Sweep
from ldp_audit.training.fedmd_nfdp import architectures

_REPEATS = 5
_MORE = 8

DEMONSTRATION = (
    Sweep({}, {"method": ("nfdp-with", "nfdp-without")}, _MORE),
    Sweep({}, {"method": ("np", "ldp", "centralised", "alone", "alone-np")}, _REPEATS),
    Sweep({}, {"k": (8, 32, 64)}, _REPEATS),
    Sweep({}, {"scores": ("logits", "argmax")}, _REPEATS),
    Sweep({}, {"parties": (2, 5)}, _REPEATS),
    Sweep({}, {"split": ("classes",)}, _REPEATS),
)
"""What the findings need, on the embedded digits."""

PAPER: dict[str, Any] = {
    "public_classes": 10,
    "networks": architectures.PAPER,
    "outputs": "all",
    "rounds": 20,
    "public_per_round": 5000,
    "pretrain_epochs": 20,
    "private_epochs": 25,
    "digest_epochs": 1,
    "revisit_epochs": 2,
    "public_batch": 256,
    "private_batch": 5,
    "learning_rate": 0.001,
}
_SIZES = {"femnist": (16, 60, 300, 2880), "cifar-10": (16, 60, 120, 300)}
_BOTH_WAYS = {"femnist": 300, "cifar-10": 60}
_OTHERS_DATA = {"femnist": "writers", "cifar-10": "subclasses"}

TABLE_2 = {
    "femnist": {"np": 0.9615, "centralised": 0.9800, 16: 0.8064, 60: 0.8806, 300: 0.9356, 2880: 0.9663},
    "cifar-10": {"np": 0.8688, "centralised": 0.8883, 16: 0.7440, 60: 0.8158, 120: 0.8357, 300: 0.8738},
}
"""The paper's mean accuracies of ten parties: the baselines, and FedMD-NFDP with replacement by k."""

REPLACEMENT = {"femnist": {"with": 0.9356, "without": 0.9363}, "cifar-10": {"with": 0.8158, "without": 0.8113}}
"""With and without replacement, k = 300 (FEMNIST) and 60 (CIFAR-10)."""

TABLE_3 = {
    ("femnist", 5): {"logits": 0.7499, "softmax": 0.7502, "argmax": 0.7558},
    ("femnist", 10): {"logits": 0.8074, "softmax": 0.8064, "argmax": 0.8158},
    ("cifar-10", 5): {"logits": 0.6979, "softmax": 0.7002, "argmax": 0.7001},
    ("cifar-10", 10): {"logits": 0.7455, "softmax": 0.7488, "argmax": 0.7512},
}
"""By data and parties; k is not printed. FEMNIST's softmax at N = 10 is Table 2's at k = 16."""

TABLE_4 = {"femnist": {"iid": 0.8158, "not": 0.7836}, "cifar-10": {"iid": 0.7512, "not": 0.5318}}
"""Ten parties; the IID numbers are Table 3's for argmax."""


def presets() -> dict[str, tuple[Sweep, ...]]:
    """By name, for femnist and cifar-10:

    "table-2-femnist": k, and the baselines.   "replacement-femnist": both ways of sampling.
    "table-3-femnist": scores, for 5 and 10 parties.   "table-4-femnist": the other data's split, not IID; its IID side
    is in table 3.   "ldp-femnist": the baseline of which the paper prints nothing.
    """
    found: dict[str, tuple[Sweep, ...]] = {}
    for data, sizes in _SIZES.items():
        found[f"table-2-{data}"] = (
            _swept(k=sizes),
            _swept(method=("np", "centralised", "alone")),
        )
        found[f"replacement-{data}"] = (_swept({"k": _BOTH_WAYS[data]}, method=("nfdp-with", "nfdp-without")),)
        found[f"table-3-{data}"] = (_swept(parties=(5, 10), scores=("logits", "softmax", "argmax")),)
        found[f"table-4-{data}"] = (_swept({"scores": "argmax"}, split=(_OTHERS_DATA[data],)),)
        found[f"ldp-{data}"] = (_swept(method=("nfdp-with", "ldp", "alone-np")),)
    return found


def _swept(settings: dict[str, Any] | None = None, **varied: Any) -> Sweep:
    return Sweep({**PAPER, **(settings or {})}, varied, _REPEATS)
