"""CIFAR's binary version: labels, colours, superclasses; and files of another length."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ldp_audit.training.data import load
from ldp_audit.training.data.cifar_classes import (
    COARSE_CLASSES,
    COARSE_OF_FINE,
    FINE_CLASSES,
    SUPERCLASSES,
)
from tests.together import together
from tests.training.data.image_files import fine_and_coarse, write_cifar_10, write_cifar_100


@pytest.mark.parametrize("place", ["", "cifar-10-batches-bin"])
def test_cifar_10_is_that_of_the_files(tmp_path: Path, place: str) -> None:
    """Would catch batches in another order, a pixel byte read as the label, and channels last."""
    (tmp_path / place).mkdir(exist_ok=True)
    *train, test = write_cifar_10(tmp_path / place)
    found = load("cifar-10", tmp_path, excerpt=True)
    assert found.shape == (3, 32, 32)
    assert found.classes == 10
    pixels = np.concatenate([batch for batch, _ in train])
    np.testing.assert_array_equal(np.rint(found.train_x * 255).reshape(-1, 3072), pixels)
    np.testing.assert_array_equal(np.rint(found.test_x[3, 2, 0] * 255), test[0][3, 2048:2080])  # blue, the first row
    np.testing.assert_array_equal(found.train_y, np.concatenate([labels for _, labels in train]))
    np.testing.assert_array_equal(found.test_y, test[1])


def test_cifar_100_has_fine_or_coarse_labels_of_the_same_images(tmp_path: Path) -> None:
    """Would catch the two label bytes swapped: the superclass is the first."""
    (pixels, fine), _ = write_cifar_100(tmp_path)
    by_class = load("cifar-100", tmp_path, excerpt=True)
    by_superclass = load("cifar-100", tmp_path, labels="coarse", excerpt=True)
    assert (by_class.classes, by_superclass.classes) == (100, 20)
    np.testing.assert_array_equal(by_class.train_x, by_superclass.train_x)
    np.testing.assert_array_equal(np.rint(by_class.train_x * 255).reshape(-1, 3072), pixels)
    np.testing.assert_array_equal(by_class.train_y, fine)
    np.testing.assert_array_equal(by_superclass.train_y, np.array(COARSE_OF_FINE)[fine])


def test_the_superclasses_divide_the_hundred_classes_by_five() -> None:
    """Would catch a class that is missing, doubled or out of the alphabet's order, from which the labels come."""
    assert len(FINE_CLASSES) == len(set(FINE_CLASSES)) == 100
    assert len(COARSE_CLASSES) == 20
    assert list(COARSE_CLASSES) == sorted(COARSE_CLASSES)
    assert [COARSE_OF_FINE.count(coarse) for coarse in range(20)] == [5] * 20
    for fine, coarse in enumerate(COARSE_OF_FINE):
        assert FINE_CLASSES[fine] in SUPERCLASSES[COARSE_CLASSES[coarse]]
    carnivores = {
        FINE_CLASSES[fine] for fine in range(100) if COARSE_CLASSES[COARSE_OF_FINE[fine]] == "large_carnivores"
    }
    assert carnivores == {"bear", "leopard", "lion", "tiger", "wolf"}  # the paper's own example
    assert COARSE_OF_FINE[19] == 11  # fine 19, coarse 11: the example on the data set's card


@together("kept", [3072, 3073, 20 * 3073 - 1, 20 * 3073, 0])
def test_files_that_are_not_the_official_ones_are_refused_by_their_length(tmp_path: Path, kept: int) -> None:
    """Would catch a download cut off at the end of a record, which only the number of records tells."""
    write_cifar_10(tmp_path)
    path = tmp_path / "data_batch_3.bin"
    path.write_bytes(path.read_bytes()[:kept])
    for name in ("data_batch_1.bin", "data_batch_2.bin"):
        with (tmp_path / name).open("r+b") as file:
            file.truncate(30_730_000)  # official length, so that the third is the one complained of
    expected = rf"data_batch_3.bin must be 10000 x 3073 = 30730000 bytes long, found {kept}$"
    with pytest.raises(ValueError, match=expected):
        load("cifar-10", tmp_path)


@together("kept", [0, 3072, 20 * 3073 - 1])
def test_an_excerpt_must_be_whole_records(tmp_path: Path, kept: int) -> None:
    write_cifar_10(tmp_path)
    path = tmp_path / "test_batch.bin"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ValueError, match=rf"test_batch.bin must be a multiple of 3073, at most .*found {kept}"):
        load("cifar-10", tmp_path, excerpt=True)


def test_a_file_too_large_for_the_format_is_not_read(tmp_path: Path) -> None:
    """A sparse file of 300 GB, a multiple of the record; reading it would end the test run."""
    write_cifar_10(tmp_path)
    with (tmp_path / "data_batch_1.bin").open("r+b") as file:
        file.truncate(3073 * 100_000_000)
    with pytest.raises(ValueError, match="at most 153650000 bytes long, found 307300000000"):
        load("cifar-10", tmp_path, excerpt=True)


def test_labels_out_of_range_are_refused(tmp_path: Path) -> None:
    write_cifar_10(tmp_path)
    path = tmp_path / "data_batch_2.bin"
    path.write_bytes(b"\x0a" + path.read_bytes()[1:])
    with pytest.raises(ValueError, match=r"data_batch_2.bin must have labels 0 \.\. 9, found 0 to 10"):
        load("cifar-10", tmp_path, excerpt=True)


def test_a_class_with_another_superclass_is_refused(tmp_path: Path) -> None:
    """Would catch coarse and fine swapped, or a file of another data set with records of the same length."""
    write_cifar_100(tmp_path)
    fine, coarse = fine_and_coarse(200)
    records = np.frombuffer((tmp_path / "test.bin").read_bytes(), np.uint8).reshape(200, -1).copy()
    records[7, 0] = (coarse[7] + 1) % 20
    (tmp_path / "test.bin").write_bytes(records.tobytes())
    message = f"image 7 has fine label {fine[7]}, which belongs to {coarse[7]}, and coarse label {records[7, 0]}"
    with pytest.raises(ValueError, match=f"test.bin must give each image the coarse label of its fine one; {message}"):
        load("cifar-100", tmp_path, excerpt=True)
    records[:, :2] = np.column_stack([fine, coarse])
    (tmp_path / "test.bin").write_bytes(records.tobytes())
    with pytest.raises(ValueError, match=r"test\.bin must"):
        load("cifar-100", tmp_path, excerpt=True)
    with pytest.raises(ValueError, match="labels must be one of fine, coarse, got 'superclass'"):
        load("cifar-100", tmp_path, labels="superclass")


def test_the_other_version_is_named_where_this_one_is_missing(tmp_path: Path) -> None:
    (tmp_path / "data_batch_1").write_bytes(b"")
    with pytest.raises(ValueError, match=r"expected data_batch_1.bin in .*found data_batch_1$"):
        load("cifar-10", tmp_path)


@pytest.mark.slow
def test_files_of_the_official_length_are_accepted(tmp_path: Path) -> None:
    for name in [*(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin"]:
        with (tmp_path / name).open("wb") as file:
            file.truncate(30_730_000)
    assert load("cifar-10", tmp_path).train_x.shape == (50_000, 3, 32, 32)
