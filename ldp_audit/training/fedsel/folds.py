"""Repeated cross-validation in one batch, and the order in which the users of each model take part.

Model b = repeat * folds + fold is trained on the records outside its fold and tested on those in it. All models of a
batch have equally many users, n = N - ceil(N / folds), so that one tensor holds a round of all; where the folds'
sizes differ, the models with one record more leave the last of them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldp_audit.training.streams import Streams


@dataclass(frozen=True)
class Folds:
    """Who trains and who tests.

    train: record of each user, int64, shape (models, n).   test: each model's records, one array a model.
    """

    train: NDArray[np.int64]
    test: tuple[NDArray[np.int64], ...]

    def tests(self, records: int) -> NDArray[np.bool_]:
        """Whether each record is tested by each model; shape (records, models)."""
        found = np.zeros((records, len(self.test)), dtype=np.bool_)
        for model, rows in enumerate(self.test):
            found[rows, model] = True
        return found


def all_models(repeats: int, folds: int) -> list[tuple[int, int]]:
    """(repeat, fold) of every model, in the batch's order."""
    return [(repeat, fold) for repeat in range(repeats) for fold in range(folds)]


def split(records: int, folds: int, models: Sequence[tuple[int, int]], streams: Streams) -> Folds:
    """The folds of these models.   records: N >= folds >= 2.

    A repeat's shuffle depends on the seed and the repeat alone, so a model is the same in any batch.
    """
    users = records - -(-records // folds)
    edges = np.arange(folds + 1) * records // folds
    shuffled = {repeat: streams.numpy("folds", repeat).permutation(records) for repeat, _ in models}
    test = tuple(shuffled[repeat][edges[fold] : edges[fold + 1]] for repeat, fold in models)
    rest = [np.delete(shuffled[repeat], slice(edges[fold], edges[fold + 1]))[:users] for repeat, fold in models]
    return Folds(np.stack(rest), test)


def order(users: int, epoch: int, models: Sequence[tuple[int, int]], streams: Streams) -> NDArray[np.int64]:
    """In which order each model's users report in this epoch: permutations of 0 .. n-1, shape (models, n)."""
    return np.stack([streams.numpy("order", epoch, *model).permutation(users) for model in models])


def rounds_per_epoch(users: int, share: float) -> int:
    """So many rounds that each has about `share` of the users: every user reports once an epoch."""
    return max(1, min(users, round(1 / share)))


def round_edges(users: int, rounds: int) -> NDArray[np.int64]:
    """Where the rounds of an epoch begin and end in its order; their sizes differ by one at most."""
    return np.arange(rounds + 1) * users // rounds
