"""CIFAR's python version: the plain machine reads what pickle reads, builds tables only, and runs nothing."""

from __future__ import annotations

import os
import pickle
import pickletools
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldp_audit.training.data import load
from ldp_audit.training.data.plain_pickle import ByteTable, read_pickle
from tests.together import together
from tests.training.data.image_files import (
    cifar_pixels,
    fine_and_coarse,
    python_2_pickle,
    write_cifar_10_python,
    write_cifar_100_python,
)

BATCH = {b"batch_label": b"one", b"labels": [1, 2, 3], b"data": cifar_pixels(3, 0), b"filenames": [b"a", b"b", b"c"]}


def test_the_machine_reads_what_pickle_reads() -> None:
    """The tests' own files are pickles of Python 2, and both readers agree on them."""
    data = python_2_pickle(BATCH)
    assert pickletools.optimize(data) != data  # it has a memo, as the official files do
    ours, reference = read_pickle(data), pickle.loads(data, encoding="bytes")
    np.testing.assert_array_equal(ours.pop(b"data").values, reference.pop(b"data"))
    assert ours == reference == {key: value for key, value in BATCH.items() if key != b"data"}


@together("order", ["C", "F"])
@together("key", ["data", b"data"])
def test_what_python_3_wrote_in_protocol_2_is_read_too(order: Any, key: str | bytes) -> None:
    """Its bytes are texts, encoded by a call; would catch columns taken for rows, too."""
    table = np.asarray(cifar_pixels(4, 1), order=order)
    found = read_pickle(pickle.dumps({key: table, "labels": [1, 70_000, -5, 2**40]}, protocol=2))
    assert isinstance(found[key], ByteTable)
    np.testing.assert_array_equal(found[key].values, table)
    assert found["labels"] == [1, 70_000, -5, 2**40]


def test_cifar_10_is_that_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "cifar-10-batches-py").mkdir()
    *train, test = write_cifar_10_python(tmp_path / "cifar-10-batches-py")
    found = load("cifar-10-python", tmp_path, excerpt=True)
    np.testing.assert_array_equal(np.rint(found.train_x * 255).reshape(-1, 3072), np.concatenate([x for x, _ in train]))
    np.testing.assert_array_equal(found.train_y, np.concatenate([y for _, y in train]))
    np.testing.assert_array_equal(np.rint(found.test_x * 255).reshape(-1, 3072), test[0])


def test_cifar_100_has_both_kinds_of_labels(tmp_path: Path) -> None:
    (pixels, fine), _ = write_cifar_100_python(tmp_path)
    by_class = load("cifar-100-python", tmp_path, excerpt=True)
    np.testing.assert_array_equal(by_class.train_y, fine)
    np.testing.assert_array_equal(np.rint(by_class.train_x * 255).reshape(-1, 3072), pixels)
    coarse = load("cifar-100-python", tmp_path, labels="coarse", excerpt=True)
    np.testing.assert_array_equal(coarse.test_y, fine_and_coarse(100)[1])


class _Runs:
    """A pickle of this runs a command when it is loaded by pickle."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return os.system, (f"touch '{self.path}'",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_that_runs_a_command_is_refused_and_runs_nothing(tmp_path: Path, protocol: int) -> None:
    """The same bytes do run under pickle.loads, so the file's absence means something."""
    ran = tmp_path / "ran"
    data = pickle.dumps({"data": _Runs(ran), "labels": []}, protocol)
    write_cifar_10_python(tmp_path)
    (tmp_path / "data_batch_1").write_bytes(data)
    with pytest.raises(ValueError, match=r"data_batch_1, as a pickle, must (be a plain one|name nothing but numpy's)"):
        load("cifar-10-python", tmp_path, excerpt=True)
    assert not ran.exists()
    pickle.loads(data)
    assert ran.exists()


def _call(name: str, arguments: bytes) -> bytes:
    module, function = name.rsplit(".", 1)
    return b"\x80\x02c" + f"{module}\n{function}\n".encode() + arguments + b"R."


REFUSED = {
    "a global outside the list": (_call("builtins.eval", b"X\x03\0\0\x001+1\x85"), "found 'builtins.eval'"),
    "a module beside numpy's": (_call("numpy.core.os.system", b"U\x01a\x85"), "found 'numpy.core.os.system'"),
    "numpy's own way to run code": (_call("numpy.testing.rundocs", b")"), "found 'numpy.testing.rundocs'"),
    "a huge array made by its class": (_call("numpy.ndarray", b"J\xff\xff\xff\x7f\x85\x85"), "nothing but arrays"),
    "another type of number": (_call("numpy.dtype", b"U\x02f8K\x00K\x01\x87"), "nothing but arrays of unsigned"),
    "objects": (_call("numpy.dtype", b"U\x02O8K\x00K\x01\x87"), "nothing but arrays of unsigned"),
    "another codec": (_call("_codecs.encode", b"U\x01aU\x03zip\x86"), "nothing but arrays of unsigned"),
    "an instance": (b"\x80\x02(ios\nsystem\n.", "must be a plain one of protocol 2, found INST"),
    "a class's new": (b"\x80\x02cnumpy\nndarray\n)\x81.", "found NEWOBJ"),
    "an extension code": (b"\x80\x02\x82\x01.", "found EXT1"),
    "a persistent id": (b"\x80\x02U\x01aQ.", "found BINPERSID"),
    "a later protocol": (pickle.dumps({}, 4), "found PROTO 4"),
    "no instruction": (b"\x80\x02\xff.", "must be a plain one of protocol 2, found 'ÿ'"),
    "a text of Python 2, with an escape": (b"\x80\x02S'\\q'\n.", "must be a plain one of protocol 2, found STRING"),
    "nothing": (b"", "must have an end, which is missing"),
    "no end": (b"\x80\x02}", "must have an end, which is missing"),
    "something after the end": (b"\x80\x02}.}", "must hold one value and nothing after it"),
    "two values": (b"\x80\x02}}.", "must hold one value and nothing after it"),
    "a value from nowhere": (b"\x80\x02h\x05.", "uses values that it never made"),
    "a tuple of nothing": (b"\x80\x02\x86.", "uses values that it never made"),
    "a run without a start": (b"\x80\x02]K\x01e.", "uses values that it never made"),
    "append to a number": (b"\x80\x02K\x01K\x02a.", "must append to lists only"),
    "a key that is a tuple": (b"\x80\x02})K\x01s.", "must enter strings into dicts only"),
    "a key without a value": (b"\x80\x02}(U\x01au.", "must enter strings into dicts only"),
    "a state for a dict": (b"\x80\x02}}b.", "must fill nothing but tables"),
    "a string of 2 GB that is not there": (b"\x80\x02T" + struct.pack("<i", 2**31 - 1) + b"a.", "expected 2147483647"),
    "a memo of 16 GB": (b"\x80\x02}r\xff\xff\xff\x7f(U\x01aK\x01uh\x07.", "uses values that it never made"),
}


@together("kind", REFUSED)
def test_anything_but_tables_lists_and_strings_is_refused(kind: str) -> None:
    data, message = REFUSED[kind]
    with pytest.raises(ValueError, match=message):
        read_pickle(data)


@together(("rows", "columns"), [(3, 3073), (2, 3072), (4, 3072), (2**31 - 1, 2**31 - 1), (-3, -3072), (-1, 3072)])
def test_an_array_whose_shape_is_not_that_of_its_bytes_is_refused(rows: int, columns: int) -> None:
    """Would catch an allocation by the shape that the file claims."""
    data = python_2_pickle(BATCH)
    claimed = b"J" + struct.pack("<i", rows) + b"J" + struct.pack("<i", columns)
    assert data.count(b"K\x03M\x00\x0c") == 1
    with pytest.raises(ValueError, match=rf"says that an array has {rows} x {columns} bytes, found 9216"):
        read_pickle(data.replace(b"K\x03M\x00\x0c", claimed))


def test_a_pickle_of_too_many_instructions_is_refused() -> None:
    """A million empty dicts take one byte each in the file, and 64 in memory."""
    with pytest.raises(ValueError, match="must have at most 1000000 instructions"):
        read_pickle(b"\x80\x02" + b"}" * 1_000_000)


WRONG = {
    "no dict": ([1], "must hold a dict whose 'data'"),
    "no data": ({b"labels": [0]}, r"'data' is an array of shape \(n, 3072\), found none"),
    "data of another size": ({b"data": np.zeros((2, 784), np.uint8)}, r"found one of \(2, 784\)"),
    "no images": ({b"data": np.zeros((0, 3072), np.uint8), b"labels": []}, r"found one of \(0, 3072\)"),
    "no labels": ({b"data": cifar_pixels(2, 0)}, "must have a list of 2 whole numbers as 'labels', found NoneType"),
    "a label missing": ({b"data": cifar_pixels(2, 0), b"labels": [1]}, "as 'labels', found a list of 1"),
    "labels in words": ({b"data": cifar_pixels(2, 0), b"labels": [b"cat", b"dog"]}, "whole numbers as 'labels'"),
    "a label out of range": (
        {b"data": cifar_pixels(2, 0), b"labels": [1, 10]},
        r"must have labels 0 \.\. 9, found 10",
    ),
    "a label beyond 64 bits": (
        {"data": cifar_pixels(2, 0), "labels": [1, 2**70]},
        r"must have labels 0 \.\. 9, found 1180591620717411303424",
    ),
}


@together("kind", WRONG)
def test_a_batch_that_is_not_images_with_labels_is_refused(tmp_path: Path, kind: str) -> None:
    found, message = WRONG[kind]
    write_cifar_10_python(tmp_path)
    old = isinstance(found, dict) and all(isinstance(key, bytes) for key in found)
    data = python_2_pickle(found) if old else pickle.dumps(found, protocol=2)
    (tmp_path / "data_batch_1").write_bytes(data)
    with pytest.raises(ValueError, match=message) as caught:
        load("cifar-10-python", tmp_path, excerpt=True)
    assert "data_batch_1" in str(caught.value)


def test_the_number_of_images_and_the_size_of_the_file_are_checked(tmp_path: Path) -> None:
    write_cifar_10_python(tmp_path)
    with pytest.raises(ValueError, match="data_batch_1 must hold 10000 images, found 10"):
        load("cifar-10-python", tmp_path)
    with (tmp_path / "data_batch_1").open("r+b") as file:
        file.truncate(10**12)  # sparse; reading it would end the test run
    with pytest.raises(ValueError, match="data_batch_1 must be at most 32720000 bytes, found 1000000000000"):
        load("cifar-10-python", tmp_path)


def test_a_class_with_another_superclass_is_refused(tmp_path: Path) -> None:
    write_cifar_100_python(tmp_path)
    fine, coarse = fine_and_coarse(100)
    wrong = {b"fine_labels": fine.tolist(), b"coarse_labels": coarse.tolist()[::-1], b"data": cifar_pixels(100, 0)}
    (tmp_path / "train").write_bytes(python_2_pickle(wrong))
    with pytest.raises(ValueError, match="train must give each image the coarse label of its fine one; image 0"):
        load("cifar-100-python", tmp_path, excerpt=True)
