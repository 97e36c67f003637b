"""The embedded digits: scikit-learn's, divided class by class, the same every time."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from ldp_audit.training.data import load
from tests.together import together


def test_the_halves_are_the_package_s_images_once_each() -> None:
    """Would catch an image lost or doubled, a wrong scale, and labels that moved."""
    found = load("digits")
    reference = load_digits()
    assert found.shape == (1, 8, 8)
    assert len(found.train_y) + len(found.test_y) == 1797
    x = np.concatenate([found.train_x, found.test_x]).reshape(-1, 64) * 16
    pairs = np.column_stack([x, np.concatenate([found.train_y, found.test_y])])
    expected = np.column_stack([reference.data, reference.target])
    np.testing.assert_array_equal(pairs[np.lexsort(pairs.T)], expected[np.lexsort(expected.T)])


@together("share", [0.1, 0.2, 0.5])
def test_each_class_gives_its_share_to_the_test_half(share: float) -> None:
    """Would catch a division that is not stratified, which 1,797 images would feel."""
    found = load("digits", test_share=share)
    of_class = np.bincount(found.test_y) + np.bincount(found.train_y)
    assert (np.abs(np.bincount(found.test_y) - share * of_class) <= 0.5).all()


def test_the_division_depends_on_its_seed_only() -> None:
    np.testing.assert_array_equal(load("digits").test_x, load("digits").test_x)
    assert not np.array_equal(load("digits").test_x, load("digits", seed=1).test_x)


def test_bad_options_are_named() -> None:
    for share in (0, 1.0, float("nan"), "half"):
        with pytest.raises(ValueError, match="test_share must be a number between 0 and 1, got"):
            load("digits", test_share=share)
    with pytest.raises(ValueError, match="seed must be a whole number >= 0, got -1"):
        load("digits", seed=-1)
    with pytest.raises(ValueError, match="data 'digits' needs no folder"):
        load("digits", "somewhere")
