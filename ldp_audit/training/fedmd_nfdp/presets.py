"""Sweeps that are ready to run: a demonstration on the embedded digits, and the paper's tables for its data sets.

The paper gives k, the number of parties, 5000 public images a round and some 20 rounds, and leaves epochs and batches
to a grid search. Those here are of FedMD's own experiments (Li, Wang 2019), which it repeats; so are the networks,
without their dropout. Data, by what its records per party (2880 and 300) fit:

* "femnist", IID: --data mnist-emnist; not IID: --data mnist-femnist;
* "cifar-10", IID: --data cifar-10-100; not IID: --data cifar-10-100-coarse.
"""

from __future__ import annotations

from typing import Any

from ldp_audit.training.sweep import Sweep

NETWORKS = (
    "cnn-128-256+cnn-128-384+cnn-128-512+cnn-256-256+cnn-256-512"
    "+cnn-64-128-256+cnn-64-128-192+cnn-128-192-256+cnn-128-128-128+cnn-128-128-192"
)
"""FedMD's ten, for images of 28x28 and 32x32."""

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
    "networks": NETWORKS,
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
