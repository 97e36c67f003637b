"""Whatever a file holds, a loader answers or raises ValueError: no other error, little memory, nothing run."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ldp_audit.training.data import DATASETS, Images, load
from tests.together import together
from tests.training.data.image_files import (
    cifar_pixels,
    leaf,
    python_2_pickle,
    write_cifar_10,
    write_cifar_10_python,
    write_cifar_100,
    write_cifar_100_python,
    write_leaf,
    write_mnist,
)

Write = Callable[[Path], object]


def _write_packed(folder: Path) -> None:
    write_mnist(folder, packed=True)
    path = folder / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), 1))


def _write_leaf(folder: Path) -> None:
    found = leaf({"a": 2, "b": 1})
    for writer in found["user_data"].values():  # short texts, so that damage often hits what is not a pixel
        writer["x"] = [[1] * 784 for _ in writer["x"]]
    write_leaf(folder / "all_data_0.json", found)


FORMATS: dict[str, tuple[str, str, Write, dict[str, object]]] = {
    "IDX images": ("mnist", "train-images-idx3-ubyte", write_mnist, {}),
    "IDX labels": ("mnist", "train-labels-idx1-ubyte", write_mnist, {}),
    "gzipped IDX": ("mnist", "train-images-idx3-ubyte.gz", _write_packed, {}),
    "CIFAR-10": ("cifar-10", "test_batch.bin", lambda folder: write_cifar_10(folder, 2), {"excerpt": True}),
    "CIFAR-100": ("cifar-100", "train.bin", lambda folder: write_cifar_100(folder, 2), {"excerpt": True}),
    "pickled CIFAR-10": (
        "cifar-10-python",
        "test_batch",
        lambda folder: write_cifar_10_python(folder, 1),
        {"excerpt": True},
    ),
    "pickled CIFAR-100": (
        "cifar-100-python",
        "train",
        lambda folder: write_cifar_100_python(folder, 1),
        {"excerpt": True},
    ),
    "LEAF": ("femnist", "all_data_0.json", _write_leaf, {"held_out": 0.5}),
}

_SHORT = 160
_byte = st.tuples(st.integers(0, 1 << 20), st.integers(0, 255))
_damages = st.tuples(
    st.lists(_byte, max_size=4),  # anywhere
    st.lists(st.tuples(st.integers(0, _SHORT), st.integers(0, 255)), max_size=4),  # near the beginning
    st.lists(st.tuples(st.integers(-_SHORT, -1), st.integers(0, 255)), max_size=4),  # near the end
    st.none() | st.integers(0, 1 << 20),  # cut here
    st.binary(max_size=8),  # and go on so
)


def _damaged(data: bytes, damage: tuple) -> bytes:
    anywhere, beginning, end, cut, more = damage
    changed = bytearray(data)
    for place, value in (*anywhere, *beginning, *end):
        changed[place % len(data)] = value
    return bytes(changed if cut is None else changed[: cut % len(data)]) + more


@pytest.mark.parametrize("kind", FORMATS)
def test_damage_is_a_value_error_or_another_data_set(tmp_path: Path, kind: str) -> None:
    """Random bytes changed, cut and added: would catch any other exception, and memory by a number in the file."""
    name, file, write, options = FORMATS[kind]
    write(tmp_path)
    path = tmp_path / file
    data = path.read_bytes()
    outcomes = set()

    @settings(max_examples=60, database=None, suppress_health_check=list(HealthCheck))
    @given(_damages)
    def survives(damage: tuple) -> None:
        path.write_bytes(_damaged(data, damage))
        tracemalloc.start()
        try:
            assert isinstance(load(name, tmp_path, **options), Images)
            outcomes.add("read")
        except ValueError:
            outcomes.add("refused")
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 20e6

    survives()
    assert "refused" in outcomes


def test_every_format_of_images_is_damaged_here() -> None:
    """Would catch a new format without this test; pairs read the files of others, digits none."""
    formats = {name for name, source in DATASETS.items() if source.kind == "images" and source.files}
    pairs = {name for name in formats if DATASETS[name].loader.__module__.endswith(".pairs")}
    same = {"fashion-mnist", "emnist"}
    assert formats - pairs - same == {name for name, *_ in FORMATS.values()}


def test_a_loader_that_trusts_a_number_in_the_file_would_be_seen() -> None:
    """The memory check itself: an array as large as a damaged header says is noticed."""
    tracemalloc.start()
    np.zeros(2**30, np.uint8)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak > 20e6


@pytest.mark.parametrize("text", ["[" * 50_000 + "]" * 50_000, '{"a":' * 50_000 + "1" + "}" * 50_000])
def test_deep_json_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "all_data_0.json").write_text(text)
    with pytest.raises(ValueError, match="must be LEAF's JSON"):
        load("femnist", tmp_path)


def test_json_strings_never_become_wide_arrays(tmp_path: Path) -> None:
    """One long string among 784 x 300 pixels would be an array of 94 GB of text, if numpy chose the type."""
    rows = [[1] * 784 for _ in range(300)]
    rows[0][0] = "x" * 100_000  # type: ignore[call-overload]
    write_leaf(
        tmp_path / "a.json", {"users": ["a"], "num_samples": [300], "user_data": {"a": {"x": rows, "y": [0] * 300}}}
    )
    with pytest.raises(ValueError, match="pixels must be numbers"):
        load("femnist", tmp_path)


def test_a_pickle_that_refers_to_itself_is_refused_quickly(tmp_path: Path) -> None:
    """A list in itself, and lists doubled 64 times: would catch messages and comparisons that walk through them."""
    write_cifar_10_python(tmp_path, 1)
    whole = python_2_pickle({b"data": cifar_pixels(1, 0), b"labels": [0]})
    own = whole.replace(b"]q\x02(K\x00e", b"]q\x02(h\x02e")
    assert own != whole
    doubled = b"".join(b"U\x06labels](h%ch%ceq%cs" % (n - 1, n - 1, n) for n in range(21, 85))
    first = b"U\x06labels](K\x00K\x00eq%cs" % 20
    for data in (own, whole[:-1] + first + doubled + b"."):
        (tmp_path / "test_batch").write_bytes(data)
        with pytest.raises(
            ValueError, match="test_batch must have a list of 1 whole numbers as 'labels', found a list"
        ):
            load("cifar-10-python", tmp_path, excerpt=True)


def test_a_folder_in_place_of_a_file_is_not_a_file(tmp_path: Path) -> None:
    (tmp_path / "train-images-idx3-ubyte").mkdir()
    with pytest.raises(ValueError, match=r"expected one of train-images.*found train-images-idx3-ubyte/$"):
        load("mnist", tmp_path)


def test_a_json_number_of_many_digits_is_refused(tmp_path: Path) -> None:
    """Python refuses to read it, which must not pass for another error."""
    (tmp_path / "a.json").write_text(json.dumps(leaf({"a": 1})).replace('"y": [0]', f'"y": [{"9" * 5000}]'))
    with pytest.raises(ValueError, match=r"a\.json must be LEAF's JSON: Exceeds the limit"):
        load("femnist", tmp_path)


@together("name", ["cifar-10", "cifar-100", "cifar-10-python", "cifar-100-python", "cifar-10-100"])
def test_an_excerpt_is_asked_for_by_true_or_false(tmp_path: Path, name: str) -> None:
    """A command line hands over texts: would catch excerpt=no that accepts excerpts."""
    with pytest.raises(ValueError, match="excerpt must be true or false, got 'no'"):
        load(name, tmp_path, excerpt="no")
