"""Sweeps that are ready to run: a demonstration on the embedded digits, and the paper's settings for its data sets.

What the paper says of its settings: n, epsilon, rounds, learning rates and ranges (Sections 5, 5.1, 5.2, Table 1). It
says neither networks nor local epochs and batches: models and LOCAL are this project's. Where it says two things
(FMNIST has 10 rounds in Section 5 and 15 in 5.2, epsilon 5 in 5.1 and 4 in 5.2), Section 5.2 is taken.
"""

from __future__ import annotations

import math
from typing import Any

from ldp_audit.training.ldp_fl.findings import CLIENTS, RADII, ROUNDS
from ldp_audit.training.sweep import Sweep

BASE: dict[str, Any] = {"rounds": 6, "chunk": 100}
"""Of the demonstration: fewer rounds than the plan's own."""

_REPEATS = 5

DEMONSTRATION = (
    Sweep(BASE, {"epsilon": (0.5, 1.0, 2.0, 5.0, math.inf)}, _REPEATS),
    Sweep({**BASE, "epsilon": 1.0}, {"n": (25, 50)}, _REPEATS),
    Sweep({**BASE, "epsilon": 1.0}, {"fraction": (0.1, 0.3)}, _REPEATS),
    Sweep({**BASE, "epsilon": 5.0, "ranges": "fixed"}, {"radius": (0.075, 0.3, 1.0)}, _REPEATS),
    Sweep({**BASE, "epsilon": 5.0, "model": "softmax"}, {"ranges": ("adaptive",)}, _REPEATS),
    Sweep({**BASE, "epsilon": 5.0, "model": "softmax", "ranges": "fixed"}, {"radius": (1.0,)}, _REPEATS),
)
"""What the findings need, on the embedded digits."""

LOCAL: dict[str, Any] = {"epochs": 5, "batch_size": 10}

MNIST: dict[str, Any] = {
    **LOCAL,
    "model": "cnn",
    "n": CLIENTS["mnist"],
    "epsilon": 1.0,
    "rounds": ROUNDS["mnist"],
    "learning_rate": 0.03,
    "ranges": "fixed",
    "radius": RADII["mnist"],
}
FMNIST: dict[str, Any] = {
    **MNIST,
    "n": CLIENTS["fmnist"],
    "epsilon": 4.0,
    "rounds": ROUNDS["fmnist"],
    "radius": RADII["fmnist"],
}
CIFAR_10: dict[str, Any] = {
    **LOCAL,
    "model": "vgg",
    "n": CLIENTS["cifar-10"],
    "epsilon": 10.0,
    "rounds": ROUNDS["cifar-10"],
    "learning_rate": 0.015,
    "ranges": "adaptive",
    "radius": RADII["cifar-10"],  # of the fixed range in Table 1
}

_SETTINGS = {"mnist": MNIST, "fmnist": FMNIST, "cifar-10": CIFAR_10}
_PAPER_REPEATS = 10
_EPSILONS = {
    "mnist": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, math.inf),
    "fmnist": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, math.inf),
    "cifar-10": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, math.inf),
}
_CLIENTS = {"mnist": (20, 50, 100, 200), "fmnist": (50, 100, 200, 500), "cifar-10": (100, 200, 500, 1000)}
_RADII = (0.01, 0.05, 0.1, 0.3, 1.0)


def presets() -> dict[str, tuple[Sweep, ...]]:
    """By name; for each of mnist, fmnist and cifar-10, say "mnist":

    "mnist": its setting in Section 5.2, with the same without noise.   "table-1-mnist": fixed against adaptive ranges.
    "fig-3-mnist": numbers of clients.   "fig-4-mnist": fractions of them; rounds show in every run.
    "fig-5-mnist": epsilons.   "fig-5d": the radius of a fixed range on cifar-10.
    The figures' own values of n, fractions and radii are not in the paper's text; these are this project's.
    """
    found: dict[str, tuple[Sweep, ...]] = {}
    for data, settings in _SETTINGS.items():
        found[data] = (_swept(settings, epsilon=(settings["epsilon"], math.inf)),)
        found[f"table-1-{data}"] = (_swept(settings, epsilon=(5.0, 10.0), ranges=("fixed", "adaptive")),)
        found[f"fig-3-{data}"] = (_swept(settings, n=_CLIENTS[data]),)
        found[f"fig-4-{data}"] = (_swept(settings, fraction=(0.1, 0.2, 0.5, 1.0)),)
        found[f"fig-5-{data}"] = (_swept(settings, epsilon=_EPSILONS[data]),)
    found["fig-5d"] = (_swept({**CIFAR_10, "ranges": "fixed"}, radius=_RADII),)
    return found


def _swept(settings: dict[str, Any], **varied: Any) -> Sweep:
    fixed = {name: value for name, value in settings.items() if name not in varied}
    return Sweep(fixed, varied, _PAPER_REPEATS)
