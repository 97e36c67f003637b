"""FedMD's pairs: public labels 0 to 9, private ones from 10, each image with the label and the writer that it had."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ldp_audit.training.data import load
from ldp_audit.training.data.cifar_classes import COARSE_CLASSES, COARSE_OF_FINE, FINE_CLASSES
from ldp_audit.training.data.pairs import SUBCLASSES
from tests.together import together
from tests.training.data.image_files import (
    leaf,
    write_cifar_10,
    write_cifar_100,
    write_leaf,
    write_mnist,
)


def _cifar(folder: Path) -> None:
    """Both sets, in the folders that their archives unpack to."""
    for place, write in {"cifar-10-batches-bin": write_cifar_10, "cifar-100-binary": write_cifar_100}.items():
        (folder / place).mkdir()
        write(folder / place)


def test_mnist_with_the_letters_of_emnist(tmp_path: Path) -> None:
    """Would catch letters b to g: EMNIST's a is 1 in the file."""
    (train, train_y), _ = write_mnist(tmp_path)
    halves = ("emnist-letters-train", "emnist-letters-test")
    (letters, _), _ = write_mnist(tmp_path, halves=halves, classes=26, first=1)
    found = load("mnist-emnist", tmp_path)
    assert found.classes == 16
    np.testing.assert_array_equal(found.train_y, [*train_y, *range(10, 16), *range(10, 16)])
    np.testing.assert_array_equal(np.rint(found.train_x[:20, 0] * 255), train)
    np.testing.assert_array_equal(np.rint(found.train_x[20:26, 0] * 255), letters[:6].swapaxes(1, 2))
    assert found.writers is None


@together(("case", "starts"), [("small", [36]), ("capital", [10]), ("both", [10, 36])])
def test_mnist_with_the_letters_of_femnist_s_writers(tmp_path: Path, case: str, starts: list[int]) -> None:
    """Would catch capitals for small letters, and writers that no longer belong to their images."""
    write_mnist(tmp_path)
    train = leaf({"a": 62, "b": 3, "c": 62})
    write_leaf(tmp_path / "femnist/train/0.json", train)
    write_leaf(tmp_path / "femnist/test/0.json", leaf({"a": 62}))
    found = load("mnist-femnist", tmp_path, case=case)
    labels = [start + letter for start in starts for letter in range(6)]
    assert found.writers is not None
    assert found.train_y[20:].tolist() == [*range(10, 16)] * len(starts) * 2
    assert found.writers.tolist() == [-1] * 20 + [0] * len(labels) + [2] * len(labels)
    written = 1 - np.array([train["user_data"][name]["x"][label] for name in "ac" for label in labels])
    np.testing.assert_allclose(found.train_x[20:].reshape(-1, 784), written, atol=1e-7)
    assert len(found.test_y) == 10 + len(labels)


def test_writers_can_be_limited_and_the_case_is_checked(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    write_leaf(tmp_path / "all_data_0.json", leaf({"a": 62, "b": 62}))
    found = load("mnist-femnist", tmp_path, writers=1)
    assert found.writers is not None
    assert set(found.writers) == {-1, 0}
    with pytest.raises(ValueError, match="case must be one of small, capital, both, got 'upper'"):
        load("mnist-femnist", tmp_path, case="upper")


def test_cifar_10_with_six_subclasses(tmp_path: Path) -> None:
    _cifar(tmp_path)
    found = load("cifar-10-100", tmp_path, excerpt=True)
    private = found.train_y[found.train_y >= 10]
    assert [FINE_CLASSES[fine] for fine in SUBCLASSES] == ["apple", "baby", "chair", "porcupine", "sea", "sunflower"]
    assert found.classes == 16
    assert set(private) == set(range(10, 16))
    whole = load("cifar-100", tmp_path, excerpt=True)
    for place, fine in enumerate(SUBCLASSES):
        np.testing.assert_array_equal(found.train_x[found.train_y == 10 + place], whole.train_x[whole.train_y == fine])


def test_cifar_10_with_six_superclasses_names_the_subclass_of_each_image(tmp_path: Path) -> None:
    """Would catch superclasses by fine label, and subclasses in the order of the superclasses."""
    _cifar(tmp_path)
    found = load("cifar-10-100-coarse", tmp_path, excerpt=True)
    assert found.classes == 16
    assert found.writers is not None
    private = found.train_y >= 10
    assert set(found.writers[~private]) == {-1}
    np.testing.assert_array_equal(np.array(COARSE_OF_FINE)[found.writers[private]] + 10, found.train_y[private])
    assert [len(set(found.writers[found.train_y == 10 + coarse])) for coarse in range(6)] == [5] * 6
    assert COARSE_CLASSES[5] == "household_electrical_devices"
    assert len(found.test_y) == 20 + 60
