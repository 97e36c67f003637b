"""MNIST and its like from IDX files: what is read is what was written, and damaged files are refused by name."""

from __future__ import annotations

import gzip
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from ldp_audit.training.data import load
from ldp_audit.training.data.idx import EMNIST_CLASSES
from tests.together import together
from tests.training.data.image_files import idx, write_mnist

IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"


@together("packed", [False, True])
@together("name", ["mnist", "fashion-mnist"])
def test_images_are_those_of_the_files(tmp_path: Path, name: str, packed: bool) -> None:
    """Would catch swapped halves, a wrong scale or order of axes, and labels that do not belong to their images."""
    (train, train_y), (test, test_y) = write_mnist(tmp_path, packed=packed)
    found = load(name, tmp_path)
    assert found.shape == (1, 28, 28)
    assert found.name == name
    np.testing.assert_array_equal(np.rint(found.train_x[:, 0] * 255), train)
    np.testing.assert_array_equal(np.rint(found.test_x[:, 0] * 255), test)
    np.testing.assert_array_equal(found.train_y, train_y)
    np.testing.assert_array_equal(found.test_y, test_y)


@together("place", ["", "raw", "MNIST/raw"])
def test_other_names_and_places_are_found(tmp_path: Path, place: str) -> None:
    """Would catch a loader that knows the official names only, or that tells gzip by the name."""
    folder = tmp_path / place
    folder.mkdir(parents=True, exist_ok=True)
    write_mnist(folder)
    (folder / IMAGES).rename(folder / "train-images.idx3-ubyte")
    (folder / "t10k-labels-idx1-ubyte").rename(
        folder / "t10k-labels.idx1-ubyte.gz"
    )  # not packed, whatever it is called
    packed = gzip.compress((folder / LABELS).read_bytes())
    (folder / LABELS).write_bytes(packed)
    assert len(load("mnist", tmp_path).train_y) == 20


@pytest.mark.parametrize("split", EMNIST_CLASSES)
def test_emnist_is_turned_upright_and_its_labels_start_at_zero(tmp_path: Path, split: str) -> None:
    """Would catch letters left at 1 .. 26, and images left lying on their side."""
    first, classes = int(split == "letters"), EMNIST_CLASSES[split]
    halves = (f"emnist-{split}-train", f"emnist-{split}-test")
    (tmp_path / "gzip").mkdir()
    (train, _), _ = write_mnist(tmp_path / "gzip", halves=halves, classes=classes, first=first, packed=True)
    found = load("emnist", tmp_path)
    assert found.name == f"emnist-{split}"
    assert found.classes == classes
    assert set(found.train_y) == set(range(classes))
    np.testing.assert_array_equal(np.rint(found.train_x[:, 0] * 255), train.swapaxes(1, 2))
    assert found.train_x.flags.c_contiguous


def test_an_emnist_split_must_be_named_where_there_are_several(tmp_path: Path) -> None:
    for split, classes in (("digits", 10), ("letters", 26)):
        halves = (f"emnist-{split}-train", f"emnist-{split}-test")
        write_mnist(tmp_path, halves=halves, classes=classes, first=int(split == "letters"))
    with pytest.raises(ValueError, match="split must be given, one of letters, digits"):
        load("emnist", tmp_path)
    assert load("emnist", tmp_path, split="digits").classes == 10
    with pytest.raises(ValueError, match=r"split must be one of byclass, .*, got 'words'"):
        load("emnist", tmp_path, split="words")


@pytest.mark.parametrize("label", [0, 27])
def test_letters_outside_1_to_26_are_refused(tmp_path: Path, label: int) -> None:
    """Would catch a label 0 that becomes -1 silently, the last class."""
    write_mnist(tmp_path, halves=("emnist-letters-train", "emnist-letters-test"), classes=26, first=1)
    labels = np.ones(52, np.uint8)
    labels[5] = label
    (tmp_path / "emnist-letters-train-labels-idx1-ubyte").write_bytes(idx(labels))
    with pytest.raises(ValueError, match=r"train-labels-idx1-ubyte must have labels 1 \.\. 26, found"):
        load("emnist", tmp_path)


def test_an_error_says_what_was_expected_where_and_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "pictures").mkdir()
    expected = rf"expected one of {IMAGES}, .* in {re.escape(repr(str(tmp_path)))} .*found notes.txt, pictures/$"
    with pytest.raises(ValueError, match=expected):
        load("mnist", tmp_path)
    with pytest.raises(ValueError, match=r"expected emnist-SPLIT-train-images.*found notes.txt"):
        load("emnist", tmp_path)
    with pytest.raises(ValueError, match=r"must be a folder that holds MNIST's four files, train-images"):
        load("mnist", tmp_path / "notes.txt")


IMAGE = np.zeros((20, 28, 28), np.uint8)
DAMAGED = {
    "an empty file": (b"", "must begin with 00 00 08 03.*found an empty file"),
    "labels in place of images": (idx(np.zeros(20, np.uint8)), "must begin with 00 00 08 03.*found 00 00 08 01"),
    "floats": (b"\0\0\x0d\3" + idx(IMAGE)[4:], "found 00 00 0d 03"),
    "text": (b"<html>not found</html>", "must begin with 00 00 08 03"),
    "a cut header": (idx(IMAGE)[:11], "must give the length of 3 axes, found only 7 bytes"),
    "other sizes": (idx(np.zeros((20, 32, 32), np.uint8)), r"must have axes of length \(at most 1000000, 28, 28\)"),
    "too many images": (b"\0\0\x08\3\xff\xff\xff\xff" + idx(IMAGE)[8:], "its header says .4294967295"),
    "one byte short": (idx(IMAGE)[:-1], "must hold 15680 bytes of data, found only 15679"),
    "one byte long": (idx(IMAGE) + b"\0", "must hold 15680 bytes of data, found more"),
    "packed, one byte short": (gzip.compress(idx(IMAGE)[:-1]), "found only 15679"),
    "packed, cut": (gzip.compress(idx(IMAGE))[:-9], "cannot be read"),
    "packed, wrong checksum": (gzip.compress(idx(IMAGE))[:-8] + bytes(8), "cannot be read.*CRC"),
    "packed, damaged": (gzip.compress(idx(IMAGE))[:10] + b"\xff" * 99, "cannot be read.*invalid block type"),
    "fewer labels than images": (idx(IMAGE[:19]), "must have a label for each of 19 images, found 20"),
}


@together("kind", DAMAGED)
def test_damaged_images_are_refused_by_name(tmp_path: Path, kind: str) -> None:
    """Would catch any of these read as images all the same."""
    data, message = DAMAGED[kind]
    write_mnist(tmp_path)
    (tmp_path / IMAGES).write_bytes(data)
    with pytest.raises(ValueError, match=message) as caught:
        load("mnist", tmp_path)
    assert str(tmp_path / "train-") in str(caught.value)


def test_a_label_out_of_range_is_refused(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    (tmp_path / LABELS).write_bytes(idx(np.full(20, 10)))
    with pytest.raises(ValueError, match=rf"{LABELS} must have labels 0 \.\. 9, found 10 to 10"):
        load("mnist", tmp_path)


@pytest.mark.parametrize("count", [20, 1_000_000])
def test_a_gzip_bomb_takes_no_more_memory_than_its_header_allows(tmp_path: Path, count: int) -> None:
    """100 MB of zeros behind a header of few images, and few bytes behind a header of a million images."""
    write_mnist(tmp_path)
    header = idx(IMAGE)[:4] + count.to_bytes(4, "big") + idx(IMAGE)[8:16]
    size = 100_000_000 if count == 20 else 100_000
    (tmp_path / IMAGES).write_bytes(gzip.compress(header + bytes(size), 1))
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"must hold .* bytes of data, found"):
        load("mnist", tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6
