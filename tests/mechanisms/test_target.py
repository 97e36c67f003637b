"""TARGETs are parsed, never evaluated."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.mechanisms import RandomizedResponse, SubsampleRelease, TwoPoint
from ldp_audit.mechanisms.target import SHIPPED, load
from tests.together import together


@together(
    ("text", "expected"),
    [
        ("TwoPoint(epsilon=1)", TwoPoint(1.0)),
        ("TwoPoint(1, center=-2, radius=0.5)", TwoPoint(1.0, -2.0, 0.5)),
        ("RandomizedResponse(epsilon=inf, k=3)", RandomizedResponse(float("inf"), 3)),
        (" SubsampleRelease(10, 2, replacement=True) ", SubsampleRelease(10, 2, replacement=True)),
    ],
)
def test_shipped_mechanisms(text: str, expected: object) -> None:
    assert load(text) == expected


def test_an_object_of_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "theirs_for_target.py").write_text(
        "from ldp_audit import TwoPoint\nm = TwoPoint(2.0)\n", encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert load("theirs_for_target:m") == TwoPoint(2.0)


@together(
    ("text", "message"),
    [
        ("Nothing(1)", "names no shipped mechanism; known: .*DuchiVector"),
        ("Nothing(1)", "names no shipped mechanism; known: "),
        ("__import__('os').system('true')", "names no shipped mechanism"),
        ("TwoPoint(epsilon=__import__('os'))", "arguments must be numbers, texts, True, False, None or inf"),
        ("TwoPoint(epsilon='1')", "epsilon must be "),
        ("TwoPoint(*[1])", "arguments must be numbers"),
        ("TwoPoint(epsilon=1, epsilon=2)", "must give each argument once"),
        (f"TwoPoint({'-' * 900}1)", "arguments must be numbers"),
        ("TwoPoint(nonsense=1)", "unexpected keyword argument"),
        ("TwoPoint()", "missing 1 required positional argument"),
        ("TwoPoint(epsilon=0)", "epsilon must be a number > 0, got 0"),
        ("TwoPoint(", "cannot be read"),
        ("no_such_module:m", "cannot be loaded: ModuleNotFoundError"),
        ("math:nothing", "cannot be loaded: math has no nothing; it has acos, "),
        ("plain", "is none of: a shipped mechanism"),
        (
            "ldp_audit.mechanisms.values.two_point:TWO_POINT",
            "as TWO_POINT_at_one = TWO_POINT.bind(",
        ),
    ],
)
def test_what_is_no_target_is_one_clear_error(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        load(text)


@given(st.text(max_size=60).filter(lambda text: ":" not in text and not text.endswith((".csv", ".npz"))))
def test_any_text_is_a_target_or_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="target"):
        load(text)


def test_every_shipped_name_is_there() -> None:
    from ldp_audit import mechanisms

    assert all(hasattr(mechanisms, name) for name in SHIPPED)


def test_a_class_and_a_long_target_are_refused_in_few_words() -> None:
    with pytest.raises(ValueError, match="is a class; name one mechanism of it"):
        load("ldp_audit.mechanisms:TwoPoint")
    with pytest.raises(ValueError, match=r"x\.\.\.' is none of") as error:
        load("x" * 100_000)
    assert len(str(error.value)) < 500


FILE = """
from __future__ import annotations
from dataclasses import dataclass
from neighbour import SHIFT

@dataclass
class Client:
    shift: int = SHIFT
    def privatize(self, x: int) -> int:
        return x + self.shift

class Child(Client):
    def __init__(self) -> None:
        super().__init__(2 * SHIFT)

class Needs(Client):
    def __init__(self, shift: int) -> None:
        super().__init__(shift)

client = Client()
"""


def test_a_file_is_loaded_by_its_path_with_its_neighbours_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("SHIFT = 1\n", encoding="utf-8")
    for name in ("theirs_by_path.py", "random.py"):  # the second is no stand-in for Python's
        file = tmp_path / name
        file.write_text(FILE, encoding="utf-8")
        assert load(f"{file}:client").shift == 1
        assert load(f"{file}:client.privatize")(5) == 6
        assert load(f"{file}:Client.privatize")(5) == 6
        assert load(f"{file}:Child.privatize")(5) == 7
        assert load(f"{file}:Client", classes=True).__name__ == "Client"
        with pytest.raises(ValueError, match="is a class; name one mechanism of it"):
            load(f"{file}:Client")
        with pytest.raises(ValueError, match=r"cannot be loaded: TypeError: .*missing 1 required positional argument"):
            load(f"{file}:Needs.privatize")
        file.write_text("client = 3\n", encoding="utf-8")
        assert load(f"{file}:client") == 3
    import random

    assert random.random() < 1
    with pytest.raises(ValueError, match=r"cannot be loaded: ModuleNotFoundError: no such file: .*none\.py"):
        load(f"{tmp_path}/none.py:client")
