"""Who holds what: public against private classes, and the four splits of the private records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ldp_audit.training.fedmd_nfdp.public_split import holdings
from ldp_audit.training.fedmd_nfdp.settings import SPLITS
from tests.together import together
from tests.training.fedmd_nfdp.small import images, plan, run

RNG = np.random.default_rng


@together("split", SPLITS)
def test_no_image_is_in_two_parts_and_classes_do_not_mix(split: str) -> None:
    """A private image in the public set, or in two parties, who would then both spend on it."""
    data = images(writers=5)
    held = holdings(data, plan(split=split), RNG(1))
    everything = np.concatenate([held.public, *held.private])
    assert len(set(everything)) == len(everything)
    assert set(data.train_y[held.public]) == {0, 1, 2}
    assert all(set(data.train_y[share]) <= {3, 4, 5} for share in held.private)
    assert set(data.test_y[held.test]) == {3, 4, 5}


def test_iid_parties_have_equally_many() -> None:
    """Records that one party has more of; what does not divide is left out."""
    held = holdings(images(), plan(parties=5), RNG(1))
    assert [len(share) for share in held.private] == [14] * 5


def test_parties_of_few_classes_have_those_alone() -> None:
    """Classes that leak into a party, or that nobody has."""
    data = images()
    held = holdings(data, plan(split="classes", classes_per_party=2), RNG(1))
    assert [set(data.train_y[share]) for share in held.private] == [{3, 4}, {4, 5}, {5, 3}]
    assert [len(share) for share in held.private] == [24] * 3


def test_writers_keep_their_images() -> None:
    """A party with two writers' images, or not all of its own's."""
    data = images(writers=5)
    held = holdings(data, plan(split="writers"), RNG(1))
    assert data.writers is not None
    for share in held.private:
        (writer,) = set(data.writers[share])
        assert set(share) == set(np.flatnonzero((data.writers == writer) & (data.train_y >= 3)))


def test_more_parties_than_writers_are_refused() -> None:
    """Parties without records."""
    with pytest.raises(ValueError, match="parties must be at most the 2 writers of private images, got 3"):
        holdings(images(writers=2), plan(split="writers"), RNG(1))


def test_each_party_has_one_subclass_of_every_class() -> None:
    """CIFAR-100's split: a party with two subclasses of a superclass; parties that share one get halves of it."""
    data = images()
    subclasses = 2 * data.train_y + np.arange(len(data.train_y)) // 6 % 2
    data = replace(data, writers=subclasses)
    held = holdings(data, plan(split="subclasses", parties=4), RNG(1))
    found = [set(subclasses[share]) for share in held.private]
    assert found == [{6, 8, 10}, {7, 9, 11}, {6, 8, 10}, {7, 9, 11}]
    assert [len(share) for share in held.private] == [18] * 4


@together("settings", [{}, {"split": "classes"}])
def test_the_split_follows_the_seed(settings: dict[str, Any]) -> None:
    """Repeats that all have the same split, or a split from a global generator."""
    data = images()
    first = [holdings(data, plan(**settings), RNG(seed)).private[0].tolist() for seed in (1, 1, 2)]
    assert first[0] == first[1] != first[2]


def test_a_data_set_without_private_test_images_is_refused() -> None:
    """An accuracy of nothing, which is NaN."""
    data = images()
    public = data.test_y < 3
    with pytest.raises(ValueError, match="public_classes must leave test images of a private class in tiny, got none"):
        run(replace(data, test_x=data.test_x[public], test_y=data.test_y[public]))
