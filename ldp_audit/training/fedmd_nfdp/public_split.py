"""The partition of a data set: the public set, each party's private records, and the private task's test images.

The first `public_classes` labels of a data set are public, the others private: digits against letters, CIFAR-10 against
CIFAR-100, or, in the embedded data, the handwritten digits 0 .. 4 against 5 .. 9. Private records are split among
parties:

* "iid": at random, equally many each (the remainder is left out);
* "classes": each party has images of a few private classes, in cyclic order;
* "writers": each party has the private images of one writer; the writers with most images are chosen;
* "subclasses": each party has one subclass of every private class; parties with the same subclass share its images.
  `Images.writers` holds the subclasses.

Source: Sun, Lyu, FedMD-NFDP (IJCAI 2021), Section 5 and Table 1; "classes" is for data without writers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldp_audit.training.datasets import Images
from ldp_audit.training.fedmd_nfdp.settings import FedMdSettings

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Holdings:
    """Indices of images in a data set.

    public: in the training half.   private: of each party, in the training half; the parts are disjoint.
    test: in the test half, images of the private classes.
    """

    public: Indices
    private: tuple[Indices, ...]
    test: Indices


def holdings(data: Images, plan: FedMdSettings, rng: np.random.Generator) -> Holdings:
    """The plan's split, drawn from rng. Raises ValueError, naming the field, if the data do not support it."""
    if plan.public_classes >= data.classes:
        raise ValueError(f"public_classes must be 1 .. {data.classes - 1} for {data.name}, got {plan.public_classes!r}")
    private = np.flatnonzero(data.train_y >= plan.public_classes)
    shares = _shares(data, private, plan, rng)
    empty = [party for party, share in enumerate(shares) if not len(share)]
    if empty:
        raise ValueError(f"parties must each have private records of {data.name}, got none for number {empty[0]}")
    test = np.flatnonzero(data.test_y >= plan.public_classes)
    if not len(test):
        raise ValueError(f"public_classes must leave test images of a private class in {data.name}, got none")
    return Holdings(np.flatnonzero(data.train_y < plan.public_classes), tuple(shares), test)


def _shares(data: Images, private: Indices, plan: FedMdSettings, rng: np.random.Generator) -> list[Indices]:
    if plan.split == "iid":
        return _equal(rng.permutation(private), plan.parties)
    if plan.split == "classes":
        return _few_classes(data, private, plan, rng)
    if data.writers is None:
        raise ValueError(f"split {plan.split!r} needs to know who wrote each image, which {data.name} does not say")
    if plan.split == "writers":
        return _one_writer_each(data.writers, private, plan.parties, rng)
    return _one_subclass_each(data.train_y, data.writers, private, plan.parties, rng)


def _equal(order: Indices, parties: int) -> list[Indices]:
    size = len(order) // parties
    return [order[party * size : (party + 1) * size] for party in range(parties)]


def _few_classes(data: Images, private: Indices, plan: FedMdSettings, rng: np.random.Generator) -> list[Indices]:
    """Party p takes classes p, p + 1, ... of the private ones, cyclically; parties with a common class divide it
    equally."""
    classes = data.classes - plan.public_classes
    if plan.classes_per_party > classes:
        raise ValueError(f"classes_per_party must be 1 .. {classes} for {data.name}, got {plan.classes_per_party!r}")
    takers: list[list[int]] = [[] for _ in range(classes)]
    for party in range(plan.parties):
        for step in range(plan.classes_per_party):
            takers[(party + step) % classes].append(party)
    parts: list[list[Indices]] = [[] for _ in range(plan.parties)]
    for label, who in enumerate(takers):
        found = rng.permutation(private[data.train_y[private] == plan.public_classes + label])
        _share_out(found, who, parts)
    return [rng.permutation(np.concatenate(part)) for part in parts]


def _one_writer_each(writers: Indices, private: Indices, parties: int, rng: np.random.Generator) -> list[Indices]:
    names, counts = np.unique(writers[private], return_counts=True)
    if len(names) < parties:
        raise ValueError(f"parties must be at most the {len(names)} writers of private images, got {parties!r}")
    most = names[np.argsort(-counts, kind="stable")][:parties]
    return [rng.permutation(private[writers[private] == name]) for name in most]


def _one_subclass_each(
    labels: Indices, subclasses: Indices, private: Indices, parties: int, rng: np.random.Generator
) -> list[Indices]:
    parts: list[list[Indices]] = [[] for _ in range(parties)]
    for label in np.unique(labels[private]):
        of_label = private[labels[private] == label]
        names = np.unique(subclasses[of_label])
        for place, name in enumerate(names):
            who = range(place, parties, len(names))
            found = rng.permutation(of_label[subclasses[of_label] == name])
            _share_out(found, who, parts)
    return [rng.permutation(np.concatenate(part)) for part in parts]


def _share_out(found: Indices, who: Sequence[int], parts: list[list[Indices]]) -> None:
    for party, share in zip(who, _equal(found, max(1, len(who))), strict=False):
        parts[party].append(share)
