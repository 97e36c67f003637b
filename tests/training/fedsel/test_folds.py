"""Folds, orders and rounds."""

from __future__ import annotations

import numpy as np

from ldp_audit.training.fedsel.run import all_models, order, round_edges, rounds_per_epoch, split
from ldp_audit.training.streams import Streams
from tests.together import together

STREAMS = Streams(3)


@together(("records", "folds"), [(20, 5), (23, 5), (5, 5), (2, 2)])
def test_folds_of_a_repeat_cover_every_record_once(records: int, folds: int) -> None:
    """Catches folds that overlap or miss records, and users that are tested; one record a fold is the smallest case."""
    found = split(records, folds, all_models(2, folds), STREAMS)
    for repeat in range(2):
        tested = np.concatenate(found.test[repeat * folds : (repeat + 1) * folds])
        assert sorted(tested) == list(range(records))
    for users, test in zip(found.train, found.test, strict=True):
        assert not set(users) & set(test)
        assert len(set(users)) == len(users) == records - -(-records // folds)
    table = found.tests(records)
    assert (table.sum(axis=1) == 2).all()
    assert all(set(np.flatnonzero(table[:, model])) == set(test) for model, test in enumerate(found.test))


def test_a_model_is_the_same_in_any_batch() -> None:
    """Catches shuffles that depend on which models are trained beside."""
    whole, one = split(30, 5, all_models(3, 5), STREAMS), split(30, 5, [(2, 1)], STREAMS)
    assert (whole.train[11] == one.train[0]).all()
    assert (whole.test[11] == one.test[0]).all()
    assert (order(24, 0, all_models(3, 5), STREAMS)[11] == order(24, 0, [(2, 1)], STREAMS)[0]).all()


def test_repeats_and_epochs_have_their_own_shuffles() -> None:
    """Catches a stream that forgets the repeat or the epoch."""
    found = split(60, 2, all_models(2, 2), STREAMS)
    assert set(found.test[0]) != set(found.test[2])
    assert (order(30, 0, [(0, 0)], STREAMS) != order(30, 1, [(0, 0)], STREAMS)).any()


@together(("users", "share", "rounds"), [(8000, 0.01, 100), (50, 0.01, 50), (7, 1.0, 1), (10, 0.3, 3)])
def test_every_user_has_one_round_an_epoch(users: int, share: float, rounds: int) -> None:
    """Catches a last round that is left out, and rounds without users."""
    assert rounds_per_epoch(users, share) == rounds
    sizes = np.diff(round_edges(users, rounds))
    assert sizes.sum() == users
    assert sizes.max() - sizes.min() <= 1 <= sizes.min()
