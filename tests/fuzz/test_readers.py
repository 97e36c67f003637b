"""Whatever a file holds, its reader answers or raises ValueError or OSError: no other error, no hang, nothing run.

`make fuzz` does the same for minutes, with other seeds.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz import attack as engine
from tests.fuzz.attack import Reader, TooLongError, attack
from tests.fuzz.damage import damaged, edited
from tests.fuzz.readers import READERS


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_damaged_files_are_read_or_refused(reader: Reader, tmp_path: Path) -> None:
    outcomes = attack(reader, tmp_path.resolve(), 9, seed=0)
    assert outcomes["refused"] >= 1, "the damage was no damage"


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_many_damaged_files_are_read_or_refused(reader: Reader, tmp_path: Path) -> None:
    attack(reader, tmp_path.resolve(), 1000, seed=1)


def _reads(path: Path) -> object:
    return path.read_bytes()


def _fails(path: Path) -> object:
    return {}[path.name] if b"\x00" in path.read_bytes() else None


def _hangs(path: Path) -> object:
    content = path.read_bytes()
    while content != b"valid":
        pass
    return None


def _grows(path: Path) -> object:
    return None if path.read_bytes() == b"valid" else len(b"x" * (700 << 20))


def _reserves(path: Path) -> object:
    return None if path.read_bytes() == b"valid" else np.zeros(2**30, np.uint8)


def _runs(path: Path) -> object:
    return None if path.read_bytes() == b"valid" else os.system("true")


def _makes(path: Path) -> object:
    return None if path.read_bytes() == b"valid" else Path("CANARY").touch()


def _writes(path: Path) -> object:
    elsewhere = path.parent.parent / "elsewhere"
    return None if path.read_bytes() == b"valid" else elsewhere.write_text("")


@pytest.mark.parametrize(
    ("read", "error", "message"),
    [
        (_fails, KeyError, "file"),
        (_hangs, TooLongError, "more than"),
        (_grows, AssertionError, "MB more memory"),
        (_reserves, AssertionError, "MB were asked for"),
        (_runs, AssertionError, "code was run"),
        (_makes, AssertionError, "a payload was run"),
        (_writes, AssertionError, "code was run"),
    ],
)
def test_a_reader_that_does_what_none_may_is_seen(
    read, error: type, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack itself can fail: another exception, a hang, memory, a process, a canary, a file elsewhere."""
    good = attack(Reader("good", "file", lambda _: [b"valid"], _reads), tmp_path, 5, seed=0)
    assert good["read"] == 6
    if error is TooLongError:
        monkeypatch.setattr(engine, "SECONDS", 0.3)
    folder = tmp_path / "in"
    folder.mkdir()
    with pytest.raises(error, match=message):
        attack(Reader("bad", "file", lambda _: [b"valid"], read, lambda: (b"\x00",), most=900), folder, 5, seed=0)


def test_a_document_is_edited_where_the_number_says() -> None:
    whole = {"a": [1, {"b": 2}], "c": "x"}
    assert edited(whole, []) == b'{"a":[1,{"b":2}],"c":"x"}'
    assert edited(whole, [(2, "replace", "1e400")]) == b'{"a":[1e400,{"b":2}],"c":"x"}'
    assert edited(whole, [(4, "drop", "null")]) == b'{"a":[1,{}],"c":"x"}'
    assert edited(whole, [(5, "twice", "NaN")]) == b'{"a":[1,{"b":2}],"c":"x","c":NaN}'
    assert damaged(b"abc", [(1, "cut", b""), (1, "put", b"z")]) == b"az"


def test_the_limit_counts_the_processors_time_and_not_the_walls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine must not fail the suite."""
    monkeypatch.setattr(engine, "SECONDS", 0.2)
    sleeping = Reader("sleeping", "file", lambda _: [b"valid"], lambda _: time.sleep(0.4))
    assert attack(sleeping, tmp_path.resolve(), 1, seed=0)["read"] >= 1
