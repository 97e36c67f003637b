"""Whatever a file holds, a loader answers or raises ValueError: no other error, little memory, nothing run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ldp_audit.training.data import DATASETS, load
from tests.together import together
from tests.training.data.image_files import (
    FORMATS,
    leaf,
    write_leaf,
)


def test_every_format_of_images_is_damaged_here() -> None:
    """In tests/fuzz, that is. Would catch a new format without it; pairs read the files of others, digits none."""
    formats = {name for name, source in DATASETS.items() if source.kind == "images" and source.files}
    pairs = {name for name in formats if DATASETS[name].loader.__module__.endswith(".pairs")}
    same = {"fashion-mnist", "emnist"}
    assert formats - pairs - same == {name for name, *_ in FORMATS.values()}


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


def test_a_folder_in_place_of_a_file_is_not_a_file(tmp_path: Path) -> None:
    (tmp_path / "train-images-idx3-ubyte").mkdir()
    with pytest.raises(ValueError, match=r"expected one of train-images.*found train-images-idx3-ubyte/$"):
        load("mnist", tmp_path)


def test_a_json_number_of_many_digits_is_refused(tmp_path: Path) -> None:
    """Python refuses to read it, which must not pass for another error."""
    (tmp_path / "a.json").write_text(json.dumps(leaf({"a": 1})).replace('"y": [0]', f'"y": [{"9" * 5000}]'))
    with pytest.raises(ValueError, match=r"a\.json must be LEAF's JSON: Exceeds the limit"):
        load("femnist", tmp_path)


@together("name", ["cifar-10", "cifar-100", "cifar-10-100"])
def test_an_excerpt_is_asked_for_by_true_or_false(tmp_path: Path, name: str) -> None:
    """A command line hands over texts: would catch excerpt=no that accepts excerpts."""
    with pytest.raises(ValueError, match="excerpt must be true or false, got 'no'"):
        load(name, tmp_path, excerpt="no")
