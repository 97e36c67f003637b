"""FedMD's pairs: a public data set joined with some classes of a private one.

Labels 0 to 9 are the public classes, those from 10 the private ones, in the order given. Both data sets are in one
folder. Source: Sun and Lyu, FedMD-NFDP (IJCAI 2021), Section 5 and Table 1: MNIST with the letters a to f, CIFAR-10
with CIFAR-100's subclasses 0, 2, 20, 63, 71 and 82, or, if the parties' data differ, with its superclasses 0 to 5.

The paper calls all its letters FEMNIST. Its 2,880 records for each of ten parties (Table 2) match EMNIST's letters, 6 x
4,800 / 10, as its 300 match CIFAR-100, 6 x 500 / 10; only LEAF's FEMNIST has writers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ldp_audit.training.data.cifar import cifar_10, cifar_100
from ldp_audit.training.data.cifar_classes import COARSE_OF_FINE
from ldp_audit.training.data.idx import emnist, mnist
from ldp_audit.training.data.leaf import femnist
from ldp_audit.training.datasets import Images
from ldp_audit.training.pipeline import check_choice

SUBCLASSES = (0, 2, 20, 63, 71, 82)
"""FedMD's private classes, as CIFAR-100's fine labels: apple, baby, chair, porcupine, sea and sunflower."""

_LETTERS = 6  # a to f
_SUPERCLASSES = 6  # 0 to 5
_CASES = {"small": (36,), "capital": (10,), "both": (36, 10)}  # the first label of the letters in FEMNIST


def mnist_emnist(folder: Path) -> Images:
    """MNIST, and the letters a to f of EMNIST's letters, small and capital in one class."""
    renamed = {label: label for label in range(_LETTERS)}
    return _joined("mnist-emnist", mnist(folder), emnist(folder, split="letters"), renamed)


def mnist_femnist(folder: Path, *, case: str = "small", writers: int | None = None) -> Images:
    """MNIST, and the letters a to f of LEAF's FEMNIST with their writers.

    case: small, capital or both (in one class).   writers: number of LEAF's writers to read.
    """
    check_choice("case", case, tuple(_CASES))
    renamed = {start + letter: letter for start in _CASES[case] for letter in range(_LETTERS)}
    private = femnist(folder, writers=writers)
    return _joined("mnist-femnist", mnist(folder), private, renamed, private.writers)


def cifar_10_100(folder: Path, *, excerpt: bool = False) -> Images:
    """CIFAR-10, and six of CIFAR-100's subclasses.

    excerpt: accept files with fewer images than the official ones.
    """
    public, private = cifar_10(folder, excerpt=excerpt), cifar_100(folder, excerpt=excerpt)
    return _joined("cifar-10-100", public, private, {fine: place for place, fine in enumerate(SUBCLASSES)})


def cifar_10_100_coarse(folder: Path, *, excerpt: bool = False) -> Images:
    """CIFAR-10, and the first six of CIFAR-100's superclasses; `writers` is the subclass, by its fine label.

    excerpt: accept files with fewer images than the official ones.
    """
    public, private = cifar_10(folder, excerpt=excerpt), cifar_100(folder, excerpt=excerpt)
    renamed = {fine: coarse for fine, coarse in enumerate(COARSE_OF_FINE) if coarse < _SUPERCLASSES}
    return _joined("cifar-10-100-coarse", public, private, renamed, private.train_y)


def _joined(
    name: str,
    public: Images,
    private: Images,
    renamed: Mapping[int, int],
    writers: NDArray[np.int64] | None = None,
) -> Images:
    """Public images, then the private ones with the labels in `renamed`, numbered after the public classes.

    writers: of the private training images; the public ones' are -1.
    """
    place = np.full(private.classes, -1)
    place[list(renamed)] = list(renamed.values())
    halves: list[NDArray] = []
    for public_x, public_y, x, y in (
        (public.train_x, public.train_y, private.train_x, private.train_y),
        (public.test_x, public.test_y, private.test_x, private.test_y),
    ):
        kept = place[y] >= 0
        halves.append(np.concatenate([public_x, x[kept]]))
        halves.append(np.concatenate([public_y, place[y[kept]] + public.classes]))
    who = None
    if writers is not None:
        who = np.concatenate([np.full(len(public.train_y), -1), writers[place[private.train_y] >= 0]])
    classes = public.classes + len(set(renamed.values()))
    return Images(name, halves[0], halves[1], halves[2], halves[3], classes, who)
