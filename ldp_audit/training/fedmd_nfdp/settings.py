"""The settings of FedMD-NFDP and of its baselines.

Source: Sun, Lyu, "Federated Model Distillation with Noise-Free Differential Privacy" (IJCAI 2021), Algorithm 1 and
Section 5. The paper leaves the numbers of epochs and the batch sizes to a grid search; those here are this project's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ldp_audit.numerics import between, whole
from ldp_audit.training.pipeline import check_choice

SMALL = "mlp-64+cnn-8-16+mlp-48-32+mlp-128+mlp-96-48"
"""For images of 8x8: five architectures of 2,000 to 11,000 weights."""

METHODS = ("nfdp-with", "nfdp-without", "alone", "np", "ldp", "alone-np", "centralised")
SCORES = ("logits", "softmax", "argmax")
SPLITS = ("iid", "classes", "writers", "subclasses")
NOISES = ("gaussian", "laplace")

_ACCEPTED = {
    "method": METHODS,
    "split": SPLITS,
    "scores": SCORES,
    "outputs": ("all", "private"),
    "optimizer": ("reset", "kept"),
    "noise": NOISES,
}
_LEAST = {
    "k": 0,
    "parties": 1,
    "public_classes": 1,
    "classes_per_party": 1,
    "rounds": 1,
    "public_per_round": 1,
    "pretrain_epochs": 0,
    "private_epochs": 0,
    "digest_epochs": 0,
    "revisit_epochs": 0,
    "public_batch": 1,
    "private_batch": 1,
}


@dataclass(frozen=True)
class FedMdSettings:
    """One run: parties with networks of different shapes learn from each other's scores on public images.

    method: "nfdp-with" and "nfdp-without": each party trains on k of its n records, sampled once with or without
        replacement; "np": on all of them; "ldp": on all of them, with noisy scores; "alone" and "alone-np": as
        nfdp-with and np without communication; "centralised": each network is trained on all parties' records.
    k: records that a party samples, >= 0.
    parties: their number, >= 1.
    public_classes: labels below it are public, the others private; FedMD's pairs of data sets are joined so.
    split: of the private records: "iid", "classes", "writers" or "subclasses"; see `public_split`.
    classes_per_party: for split "classes", >= 1.
    networks: names such as "cnn-8-16+mlp-64", assigned to the parties cyclically: two 3x3 convolutions of 8 and 16
        channels, each with ReLU and 2x2 max-pooling, and a linear layer; one hidden layer of 64. A name may be a user's
        own network, as package.module:function (`models.Builder`), which keeps the weights that the function gives it.
    scores: what is communicated: "logits", "softmax" or "argmax".
    outputs: "all": scores of public and private classes, as in FedMD; "private": of the private ones only.
    rounds: of communication, >= 1.
    public_per_round: public images whose scores are communicated in a round, >= 1.
    pretrain_epochs: on the public images and their labels, once for each network, >= 0; 0 for an unlabelled public set.
    private_epochs: on the private records before the first round, >= 0.
    digest_epochs: on the public images and the consensus in each round, >= 0.
    revisit_epochs: on the private records in each round, >= 0.
    public_batch: images of a batch in pre-training and Digest, >= 1.
    private_batch: records of a batch in training on private ones, >= 1; per party if centralised.
    learning_rate: of Adam, > 0.
    optimizer: Adam's moments at the beginning of a phase (training on private records, Digest, Revisit): "reset", or
        "kept" from the party's last phase. Pre-training is shared and has its own. The paper does not say which.
    noise: of method "ldp": "gaussian" or "laplace".
    budget_epsilon: of method "ldp", for all rounds together, >= 0, nats; none: the paper's value for nfdp-with.
    budget_delta: likewise, in [0, 1).
    clip_norm: of method "ldp" with logits: their largest norm, > 0; l2 for Gaussian noise, l1 for Laplace.
    """

    method: str = "nfdp-with"
    k: int = 16
    parties: int = 10
    public_classes: int = 5
    split: str = "iid"
    classes_per_party: int = 2
    networks: str = SMALL
    scores: str = "softmax"
    outputs: str = "private"
    rounds: int = 8
    public_per_round: int = 200
    pretrain_epochs: int = 5
    private_epochs: int = 40
    digest_epochs: int = 3
    revisit_epochs: int = 2
    public_batch: int = 100
    private_batch: int = 16
    learning_rate: float = 0.005
    optimizer: str = "reset"
    noise: str = "gaussian"
    budget_epsilon: float | None = None
    budget_delta: float | None = None
    clip_norm: float = 10.0

    def __post_init__(self) -> None:
        for name, accepted in _ACCEPTED.items():
            check_choice(name, getattr(self, name), accepted)
        for name, least in _LEAST.items():
            whole(getattr(self, name), name, least)
        names_of(self.networks)
        for name in ("learning_rate", "clip_norm"):
            between(getattr(self, name), name, "a finite number > 0", lambda value: 0 < value < math.inf)
        if (self.budget_epsilon is None) != (self.budget_delta is None):
            raise ValueError(
                f"budget_epsilon and budget_delta must be given together or not at all, "
                f"got {self.budget_epsilon!r} and {self.budget_delta!r}"
            )
        if self.budget_epsilon is not None:
            between(self.budget_epsilon, "budget_epsilon", "a finite number >= 0", lambda value: 0 <= value < math.inf)
            between(self.budget_delta, "budget_delta", "a finite number in [0, 1)", lambda value: 0 <= value < 1)

    @property
    def samples(self) -> bool:
        """Whether a party trains on a sample of its records."""
        return self.method in ("nfdp-with", "nfdp-without", "alone")

    @property
    def communicates(self) -> bool:
        """Whether the parties exchange scores."""
        return self.method in ("nfdp-with", "nfdp-without", "np", "ldp")


_NAMES = "networks must be names such as cnn-16-32, mlp-64 or package.module:function, joined by +"


def names_of(networks: str) -> tuple[str, ...]:
    """The networks' names in a text such as "cnn-8-16+mlp-64". Raises ValueError, quoting the bad part."""
    if not isinstance(networks, str):
        raise ValueError(f"{_NAMES}, got {networks!r}")
    names = tuple(networks.split("+"))
    for name in names:
        if is_own(name):
            if not all(name.rpartition(":")[::2]):
                raise ValueError(f"{_NAMES}, got {name!r}")
        else:
            kind_and_widths(name)
    return names


def is_own(name: str) -> bool:
    """Whether this is a user's own network, package.module:function."""
    return ":" in name


def network_names(plan: FedMdSettings) -> tuple[str, ...]:
    """The network of each party; if centralised, each distinct one once."""
    names = names_of(plan.networks)
    each = tuple(names[number % len(names)] for number in range(plan.parties))
    return tuple(dict.fromkeys(each)) if plan.method == "centralised" else each


def kind_and_widths(name: str) -> tuple[str, tuple[int, ...]]:
    """("cnn", (16, 32)) from "cnn-16-32". Raises ValueError for any other form."""
    kind, *widths = name.split("-")
    numbers = all(width.isascii() and width.isdigit() and int(width) > 0 for width in widths)
    if kind not in ("cnn", "mlp") or not widths or not numbers:
        raise ValueError(f"{_NAMES}, got {name!r}")
    return kind, tuple(int(width) for width in widths)
