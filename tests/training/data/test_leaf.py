"""FEMNIST from LEAF's JSON: writers, halves, ink; and files that contradict themselves."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldp_audit.training.data import load
from tests.together import together
from tests.training.data.image_files import leaf, write_leaf

WRITERS = {"f0001_41": 12, "f0002_00": 7, "f0003_18": 0}


def test_divided_files_keep_their_halves_and_their_writers(tmp_path: Path) -> None:
    """Would catch writers counted anew in each file, and the test half mixed into the training half."""
    train = [leaf(WRITERS), leaf({"f0004_11": 5}, seed=1)]
    for number, found in enumerate(train):
        write_leaf(tmp_path / f"train/all_data_{number}_niid_0_keep_0_train_9.json", found)
    test = leaf({"f0001_41": 3, "f0002_00": 1}, seed=2, first=30)
    write_leaf(tmp_path / "test/all_data_0_niid_0_keep_0_test_9.json", test)
    found = load("femnist", tmp_path)
    assert found.shape == (1, 28, 28)
    assert found.classes == 62
    assert found.writers is not None
    assert np.bincount(found.writers).tolist() == [12, 7, 0, 5]
    assert found.train_y.tolist() == [*range(12), *range(7), *range(5)]
    assert found.test_y.tolist() == [30, 31, 32, 30]
    written = np.array([row for half in train for user in half["users"] for row in half["user_data"][user]["x"]])
    np.testing.assert_allclose(found.train_x.reshape(-1, 784), 1 - written, atol=1e-7)


def test_white_paper_becomes_zero_unless_it_is_so_already(tmp_path: Path) -> None:
    """LEAF's white is 1 and MNIST's is 0: would catch one pre-training a network for the other's negatives."""
    found = leaf({"a": 20, "b": 20})
    write_leaf(tmp_path / "all_data_0.json", found)
    assert load("femnist", tmp_path).train_x.mean() < 0.25
    for writer in found["user_data"].values():
        writer["x"] = (1 - np.array(writer["x"])).tolist()
    write_leaf(tmp_path / "all_data_0.json", found)
    with pytest.raises(ValueError, match=r"mostly white = 1, found a mean of 0\.10: .*give invert=False"):
        load("femnist", tmp_path)
    assert load("femnist", tmp_path, invert=False).train_x.mean() < 0.25


@together("place", ["", "all_data", "data/all_data", "femnist/data/all_data"])
def test_undivided_files_are_divided_writer_by_writer(tmp_path: Path, place: str) -> None:
    """Would catch a share of all images rather than of each writer's, images lost or in both halves."""
    files = [leaf({"a": 30, "b": 10}), leaf({"c": 20}, seed=1)]
    for number, found in enumerate(files):
        write_leaf(tmp_path / place / f"all_data_{number}.json", found)
    found = load("femnist", tmp_path, held_out=0.2)
    assert found.writers is not None
    assert np.bincount(found.writers).tolist() == [24, 8, 16]
    both = np.concatenate([found.train_x, found.test_x]).reshape(-1, 784)
    written = 1 - np.array([row for half in files for user in half["users"] for row in half["user_data"][user]["x"]])
    order, expected = np.lexsort(both.T), np.lexsort(written.astype(np.float32).T)
    np.testing.assert_allclose(both[order], written[expected], atol=1e-7)
    again, other = load("femnist", tmp_path, held_out=0.2), load("femnist", tmp_path, held_out=0.2, seed=1)
    np.testing.assert_array_equal(found.test_x, again.test_x)
    assert not np.array_equal(found.test_x, other.test_x)
    assert len(load("femnist", tmp_path).test_y) == 6  # a tenth


def test_files_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """Would catch all_data_10 before all_data_2, which moves the writers' numbers from machine to machine."""
    for number, count in ((10, 3), (2, 5), (0, 7)):
        write_leaf(tmp_path / f"train/all_data_{number}_train_9.json", leaf({f"w{number}": count}))
    write_leaf(tmp_path / "test/all_data_0_test_9.json", leaf({"w0": 1}))
    writers = load("femnist", tmp_path).writers
    assert writers is not None
    assert np.bincount(writers).tolist() == [7, 5, 3]


def test_some_writers_are_read_without_the_files_of_the_others(tmp_path: Path) -> None:
    """Would catch all files read first: the second is damaged."""
    write_leaf(tmp_path / "all_data_0.json", leaf(WRITERS))
    (tmp_path / "all_data_1.json").write_text("{")
    found = load("femnist", tmp_path, writers=2)
    assert found.writers is not None
    assert set(found.writers) == {0, 1}
    with pytest.raises(ValueError, match=r"all_data_1\.json must be LEAF's JSON"):
        load("femnist", tmp_path, writers=4)


def _change(change: Callable[[dict[str, Any]], Any]) -> str:
    found = leaf({"a": 3, "b": 2})
    changed = change(found)
    return json.dumps(found if changed is None else changed)


def _pixel(value: Any) -> str:
    return _change(lambda found: found["user_data"]["b"]["x"][1].__setitem__(5, value))


def _label(value: Any) -> str:
    return _change(lambda found: found["user_data"]["a"]["y"].__setitem__(1, value))


BAD = {
    "no JSON": ("[1, 2", "must be LEAF's JSON: Expecting"),
    "cut": (_change(lambda found: None)[:-20], "must be LEAF's JSON"),
    "no UTF-8": ("\udcff", "must be LEAF's JSON.*decode"),
    "nesting": ("[" * 100_000, "must be LEAF's JSON: .*recursion"),
    "a list": ("[]", "must be a JSON object with users, num_samples, user_data"),
    "a writer alone": (json.dumps(leaf({"a": 2})["user_data"]["a"]), "must be a JSON object with users"),
    "another key": (_change(lambda found: {"users": []}), "must be a JSON object with users, num_samples, user_data"),
    "users in words": (_change(lambda found: {**found, "users": "ab"}), "must have lists as users and num_samples"),
    "a user missing": (_change(lambda found: {**found, "users": ["a"]}), "must list each writer .*; 2 and 1 do not"),
    "a user twice": (_change(lambda found: {**found, "users": ["a", "a"]}), "must list each writer of user_data once"),
    "a user that is none": (_change(lambda found: {**found, "users": ["a", 1]}), "must list each writer of user_data"),
    "a count wrong": (
        _change(lambda found: {**found, "num_samples": [3, 3]}),
        "num_samples: 'b' has 2 images, not the",
    ),
    "a count missing": (_change(lambda found: {**found, "num_samples": [3]}), "num_samples: 1 numbers for 2 writers"),
    "a writer without y": (
        _change(lambda found: found["user_data"]["a"].pop("y") and None),
        "object of x and y for each",
    ),
    "a key twice": ('{"users": [], "users": []}', "an object has a key twice"),
    "NaN": (_pixel(float("nan")), r"pixels must lie in \[0, 1\], found NaN"),
    "infinity": (_pixel(float("-inf")), r"pixels must lie in \[0, 1\], found -Infinity"),
    "0 to 255": (_pixel(255), r"pixels must lie in \[0, 1\], found 0\.\d* to 255"),
    "below 0": (_pixel(-1e-9), r"pixels must lie in \[0, 1\], found -1e-09"),
    "beyond floats": (_pixel(0).replace(" 0, ", " 1e999, ", 1), r"pixels must lie in \[0, 1\], found .* to inf"),
    "a whole number beyond floats": (_pixel(10**400), r"pixels must lie in \[0, 1\]"),
    "a pixel in words": (_pixel("0.5"), "pixels must be numbers"),
    "no pixel": (_pixel(None), "pixels must be numbers"),
    "a pixel that is true": (_pixel(True), "pixels must be numbers"),
    "a row of 785": (_change(lambda found: found["user_data"]["a"]["x"][0].append(1.0)), "must be lists of 784 pixels"),
    "a row of 783": (
        _change(lambda found: found["user_data"]["a"]["x"][2].pop() and None),
        "must be lists of 784 pixels",
    ),
    "a label missing": (
        _change(lambda found: found["user_data"]["a"]["y"].pop() and None),
        "must be a list of 3 labels",
    ),
    "label 62": (_label(62), r"labels must be whole numbers 0 \.\. 61, found 62"),
    "label -1": (_label(-1), r"labels must be whole numbers 0 \.\. 61, found -1"),
    "label 1.0": (_label(1.0), r"labels must be whole numbers 0 \.\. 61, found 1\.0"),
    "label true": (_label(True), r"labels must be whole numbers 0 \.\. 61, found True"),
}


@together("kind", BAD)
def test_a_file_that_contradicts_itself_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    text, message = BAD[kind]
    (tmp_path / "all_data_7.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=message) as caught:
        load("femnist", tmp_path)
    assert str(tmp_path / "all_data_7.json") in str(caught.value)


def test_a_writer_in_two_files_of_a_half_is_refused(tmp_path: Path) -> None:
    for number in range(2):
        write_leaf(tmp_path / f"all_data_{number}.json", leaf({"a": 2}))
    with pytest.raises(ValueError, match=r"all_data_1\.json must hold writers of its own, found 'a' again.*all_data_0"):
        load("femnist", tmp_path)


def test_missing_files_and_needless_options_are_named(tmp_path: Path) -> None:
    (tmp_path / "readme.md").write_text("")
    with pytest.raises(ValueError, match=r"expected LEAF's JSON files in .*train and test.*found readme\.md$"):
        load("femnist", tmp_path)
    write_leaf(tmp_path / "train/all_data_0.json", leaf({"a": 4}))
    with pytest.raises(ValueError, match=r"expected LEAF's JSON files in '.*test', found readme\.md, train/$"):
        load("femnist", tmp_path)
    write_leaf(tmp_path / "test/all_data_0.json", leaf({"a": 1}))
    with pytest.raises(ValueError, match=r"held_out must not be given.*got 0\.5"):
        load("femnist", tmp_path, held_out=0.5)
    for held_out in (0, 1, float("nan"), "a tenth"):
        with pytest.raises(ValueError, match="held_out must be a number between 0 and 1, got"):
            load("femnist", tmp_path, held_out=held_out)
    for writers in (0, 1.5, True, "all"):
        with pytest.raises(ValueError, match=f"writers must be a whole number >= 1, got {writers!r}"):
            load("femnist", tmp_path, writers=writers)
    with pytest.raises(ValueError, match="invert must be true or false, got 'no'"):
        load("femnist", tmp_path, invert="no")


def test_one_file_is_in_memory_at_a_time_and_not_as_lists_of_numbers(tmp_path: Path) -> None:
    """Numbers in lists take 32 bytes each, 10 times what the arrays take; two files' texts more than the bound."""
    found = leaf({f"w{number}": 10 for number in range(10)})
    text = json.dumps(found)
    for number in range(4):
        (tmp_path / f"all_data_{number}.json").write_text(text.replace('"w', f'"{number}w'))
    arrays = 4 * 100 * 784 * 4
    tracemalloc.start()
    load("femnist", tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3.5 * arrays + 3 * len(text)
