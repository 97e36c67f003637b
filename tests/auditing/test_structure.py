"""Outputs that are taken apart: what they give away is found, ids are set aside, and sound programs stay consistent."""

from __future__ import annotations

import base64
import json
import math
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from ldp_audit.auditing import audit
from ldp_audit.auditing.assertions import PrivacyViolation, assert_private
from ldp_audit.auditing.confirm import confirm, witness_in
from ldp_audit.auditing.structure import Structure, learned_structure
from tests.together import together

_NUMBERS = count()


@dataclass(frozen=True)
class Report:
    number: int
    value: Any


EYE = torch.eye(1, 1200, dtype=torch.float64)[0].roll(600)
"""0 but for one in the middle, which the text of a tensor leaves out."""


def _uuid(rng: np.random.Generator) -> uuid.UUID:
    return uuid.UUID(bytes=rng.bytes(16), version=4)


SHOWN: dict[str, Callable[[Any, np.random.Generator], Any]] = {
    "JSON with a running id": lambda x, _: json.dumps({"id": next(_NUMBERS), "value": x}),
    "a UUID in a row": lambda x, rng: (_uuid(rng), x),
    "text with a UUID": lambda x, rng: f"{_uuid(rng)} {x}",
    "bytes after it": lambda x, rng: bytes([x]) + rng.bytes(8),
    "hex": lambda x, rng: (rng.bytes(4) + bytes([x])).hex(),
    "base64": lambda x, rng: base64.b64encode(rng.bytes(6) + bytes([x, 0, 0])).decode(),
    "a text with an address": lambda x, rng: f"<Named {x} at {rng.integers(2**47):x}>",
    "a dataclass": lambda x, _: Report(next(_NUMBERS), x),
    "a dictionary in a dictionary": lambda x, rng: {"meta": {"t": float(rng.random())}, "body": {"v": [0, x]}},
    "a set": lambda x, rng: {f"n{rng.integers(2**40)}", f"v{x}"},
    "a set of one that never recurs": lambda x, rng: {(int(rng.integers(2**40)), x)},
    "a key that never recurs": lambda x, rng: {f"session {rng.integers(2**40)}": x},
    "such a key beside others": lambda x, rng: {"t": 1, "events": {str(rng.integers(2**40)): f"v{x}", "a": 0}},
    "a tensor among others": lambda x, rng: {"w": torch.from_numpy(rng.normal(0, 1e-9, 1200)) + x * EYE},
    "a queue": lambda x, rng: deque([float(rng.random()), x]),
    "memory": lambda x, rng: memoryview(rng.bytes(8) + bytes([x])),
    "a missing key": lambda x, rng: {"t": float(rng.random())} | ({"v": 1} if x else {}),
    "a field that is absent or 0": lambda x, rng: {"t": _uuid(rng)} | ({} if x else {"v": 0}),
    "a row that is longer by a zero": lambda x, rng: [_uuid(rng), 1] + [0] * x,
    "a row of 3 or 5 zeros": lambda x, rng: {"t": _uuid(rng), "v": [0] * (3 + 2 * x)},
    "0 or a random text": lambda x, rng: {"t": _uuid(rng), "v": rng.bytes(8).hex() if x else 0},
    "bytes that are padded": lambda x, rng: rng.bytes(8) + b"\0" * 8 * x,
    "the order of JSON's keys": lambda x, rng: json.dumps(dict([("t", str(_uuid(rng))), ("a", 1)][:: 1 - 2 * x])),
    "JSON's spaces": lambda x, rng: json.dumps({"t": str(_uuid(rng))}, indent=2 if x else None),
    "the case of hex": lambda x, rng: rng.bytes(8).hex().upper() if x else rng.bytes(8).hex(),
    "a truth value or a number": lambda x, rng: (_uuid(rng), True if x else 1),
    "JSON in base64": lambda x, rng: base64.b64encode(json.dumps([int(rng.integers(2**50)), x]).encode()).decode(),
}
"""How one output shows a bit."""


def _sampler(bit: Callable[[int, np.random.Generator], int], shows: Callable[[Any, np.random.Generator], Any]) -> Any:
    return lambda x, n, rng: [shows(bit(x, rng), rng) for _ in range(n)]


def _clear(x: int, rng: np.random.Generator) -> int:
    rng.random()  # a program that draws nothing would be asked again in a new process
    return x


def _response(x: int, rng: np.random.Generator) -> int:
    """Randomised response with epsilon 1."""
    return x if rng.random() < math.e / (1 + math.e) else 1 - x


SPREAD = "JSON in base64"
"""Its bit lies at several places, as the id before it has several lengths: an audit combines them."""


@together("name", SHOWN.keys() - {SPREAD})
def test_a_bit_has_a_coordinate_wherever_it_is_shown(name: str) -> None:
    """Would catch a program that prints the secret and is called consistent: one whose values on 0 and 1 differ."""
    rng = np.random.default_rng(1)
    looks, fresh = ([[SHOWN[name](x, rng) for _ in range(128)] for x in (0, 1)] for _ in range(2))
    structure = learned_structure([one for turn in zip(*looks, strict=True) for one in turn])
    assert structure is not None
    first, second = (structure.of(outputs).reshape(128, -1).T for outputs in fresh)
    assert any(not {*one} & {*other} for one, other in zip(first.tolist(), second.tolist(), strict=True))


@together("name", [*list(SHOWN)[7::14], SPREAD])
def test_an_audit_finds_the_bit_in_its_coordinate(name: str) -> None:
    found = audit(_sampler(_clear, SHOWN[name]), (0, 1), 1.0, samples=1_000, seed=1)
    assert found.violated
    assert any("taken apart" in note for note in found.notes)


@together("name", list(SHOWN)[::6])
def test_a_randomised_bit_is_not_accused(name: str) -> None:
    """False alarms: 1e-6 a case. The addresses of a process are no random numbers: they may change during an audit."""
    sound = audit(_sampler(_response, SHOWN[name]), (0, 1), 1.0, samples=2_000, confidence=1 - 1e-6)
    assert sound.verdict == "consistent" or (name == "a repr with an address" and not sound.violated)
    assert sound.epsilon_lower <= 1


def test_what_its_text_may_leave_out_is_refused() -> None:
    """Tables, sparse matrices and iterators in an output: audits of their texts were consistent, whatever they held."""
    for output in (csr_array(np.eye(2)), iter([1]), {"w": [csr_array(np.eye(2))]}):
        with pytest.raises(ValueError, match="which cannot be compared; accepted: numbers, labels, vectors, and rows"):
            learned_structure([output] * 4, comparable=False)
        with pytest.raises(ValueError, match="cannot be compared"):
            audit(lambda x, n, rng, output=output: [output] * n, (0, 1), 1.0, samples=500)


def test_an_output_of_keys_and_bits_is_audited_as_it_is() -> None:
    """Eight bits of unary encoding; the assertion keeps its promise on them too."""

    def program(keeps: float, flips: float) -> Any:
        def sampler(x: int, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
            bits = rng.random((n, 8)) < np.where(np.arange(8) == x, keeps, flips)
            return [{"version": 2, "bits": row.astype(int).tolist()} for row in bits]

        return sampler

    assert_private(program(0.5, 1 / (1 + math.e)), 1.0, (0, 1), detects=4.0, rarest=0.05)
    with pytest.raises(PrivacyViolation):
        assert_private(program(0.9, 0.1), 1.0, (0, 1), detects=4.0, rarest=0.05)


def test_a_key_that_the_look_did_not_show_is_seen_beside_a_single_number() -> None:
    """The third input alone adds a key; of a single coordinate it was left out."""

    def sampler(x: int, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        more = {"flag": "member"} if x == 2 else {}
        return [{"v": float(noise), **more} for noise in rng.laplace(size=n)]

    assert audit(sampler, (0, 1, 2), 1.0, samples=5_000).violated


def test_a_form_that_the_look_did_not_show_is_named() -> None:
    notes = audit(_sampler(_clear, SHOWN["a UUID in a row"]), (0, 1), 1.0, samples=500).notes
    assert "a form that 512 outputs did not show is compared as a whole" in notes[0]


def test_a_dictionary_that_is_none_now_and_then_is_taken_apart_by_key() -> None:
    """It was taken apart as the characters of its text, in ten times the seconds."""
    rng = np.random.default_rng(2)
    outputs = [None if k % 20 == 0 else {"a": one, "b": [one, k]} for k, one in enumerate(rng.random(200).tolist())]
    structure = learned_structure(outputs)
    assert structure is not None
    assert structure.names[:3] == ("form of y = 'a dictionary'", "y = None", "y['a']")
    assert structure.of([None, {"a": 0.25, "b": [0.5, 3]}]).tolist() == [[0, 1, 0, 0, 0], [1, 0, 0.25, 0.5, 0]]


def _seldom(usual: Callable[..., list[Any]], leak: Callable[[int], Any]) -> Callable[..., list[Any]]:
    """A sampler that shows its input in 4 of 1,000 outputs."""

    def sampler(x: int, n: int, rng: np.random.Generator) -> list[Any]:
        drawn = zip(rng.random(n).tolist(), usual(rng.random((n, 2)).tolist()), strict=True)
        return [leak(x) if shown < 0.004 else one for shown, one in drawn]

    return sampler


@together(
    ("usual", "leak"),
    [
        (lambda drawn: [{"a": a, "b": b} for a, b in drawn], lambda x: f"KeyError: user {x}"),
        (lambda drawn: [{"a": a, "b": b} for a, b in drawn], lambda x: {"a": 0.5, "b": 0.5, "debug": x}),
        (lambda drawn: [json.dumps(row) for row in drawn], lambda x: f"no answer for {x}"),
        (lambda drawn: [(a, "red" if b < 0.5 else "blue") for a, b in drawn], lambda x: (0.5, f"colour {x}")),
    ],
    quick=1,
)
def test_a_leak_in_a_form_that_the_look_seldom_shows_is_found(usual: Any, leak: Any) -> None:
    """Would catch that it counts as a missing part on both inputs. 160 of 40,000 outputs of an input; seeded."""
    found = audit(_seldom(usual, leak), (0, 1), 1.0, samples=40_000, stateless=True)
    assert found.violated
    assert "a form that 512 outputs did not show is compared as a whole" in found.notes[0]


def test_what_is_set_aside_is_named() -> None:
    result = audit(_sampler(_clear, SHOWN["JSON with a running id"]), (0, 1), 1.0, samples=500)
    assert "set aside, and not audited: id (a counter or a clock)" in result.notes[0]
    assert result.violated
    assert result.witness is not None
    assert result.witness.event.describe().startswith("value = ")


def test_a_witness_takes_outputs_apart_as_its_audit_did() -> None:
    sampler = _sampler(_clear, SHOWN["bytes after it"])
    found = audit(sampler, (0, 1), 1.0, samples=2_000)
    again = witness_in(json.loads(json.dumps(found.to_dict())), "found")
    assert confirm(sampler, again, seed=5).violated


@together(
    "outputs",
    [
        [0.5, 1.5, 2.5],
        ["a", "b", "a", "b"],
        [("x", "a"), ("x", "a"), ("y", "b"), ("y", "b")],
        [(1.0, 2.0), (1.0, 3.0), (2.0, 2.0)],
        [],
        [str(uuid.UUID(int=k)) for k in range(20)],
    ],
)
def test_what_is_audited_whole_is_not_taken_apart(outputs: list[Any]) -> None:
    assert learned_structure(outputs) is None


def test_coordinates_of_each_kind() -> None:
    """By hand: a number, indicators, missing and unknown values, bits, a set."""
    look = [
        {"n": 0.5, "k": "a", "b": b"\x01", "s": {1}, "e": k * 0.37 % 1} if k % 2 else
        {"n": 1.5, "k": None, "b": b"\x80", "s": {1, 2}, "e": k * 0.37 % 1}
        for k in range(20)
    ]  # fmt: skip
    structure = learned_structure(look)
    assert structure is not None
    assert structure.names == (
        "y['b'] bit 0", *(f"y['b'] bit {k}" for k in range(1, 8)), "y['e']", "y['k'] = 'a'", "y['k'] = None", "y['n']",
        "size of y['s']", "1 in y['s']", "2 in y['s']", "what 512 outputs did not show",
    )  # fmt: skip
    *row, unseen = structure.of([{"n": 2, "k": "new", "b": b"\x03\xff", "s": {2, 9}}])[0].tolist()
    assert row == [0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 2, 2, 0, 1]
    assert structure.of([17])[0].tolist()[:-1] == [0] * 15
    known = {"n": 2, "k": "a", "b": b"\x03", "s": {2}, "e": 0.5}
    others = [{}, {"k": "new"}, {"k": 5}, {"b": b"\x03\xff"}, {"s": {9}}, {"s": 2}, {"n": "2"}, {"more": 1}]
    numbers = structure.of([{**known, **other} for other in others] + [17])[:, -1].tolist()
    assert numbers[0] == 0
    assert len({0, unseen, *numbers[1:]}) == 2 + len(others)
    assert all(1 <= number <= 2**48 and number.is_integer() for number in numbers[1:])
    assert Structure.from_dict(json.loads(json.dumps(structure.to_dict()))) == structure


def test_complex_numbers_are_two_coordinates() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=300) + 1j * rng.normal(size=300)
    for outputs in (list(drawn), drawn.tolist()):
        structure = learned_structure(outputs)
        assert structure is not None
        assert structure.names == ("y[0]", "y[1]", "what 512 outputs did not show")
        assert structure.of([2 - 3j]).tolist() == [[2, -3, 0]]


def test_a_character_that_one_output_has_is_not_set_aside() -> None:
    """It is not taken apart again; that it never recurs cannot be known of one."""
    texts = [f"{chr(0x4E00 + k)}{chr(0x5E00 + k) if k % 2 else ''}" for k in range(40)]
    structure = learned_structure([*texts, "\u4e00\u5e00\u6e00"])
    assert structure is not None
    assert "y as characters[1] (different in every output)" in structure.aside
    assert not any("characters[2]" in one for one in structure.aside)


def test_the_most_parts_do_not_count_what_the_look_did_not_show() -> None:
    """Would catch that outputs of 512 bytes, of 4,096 bits, are refused."""
    rng = np.random.default_rng(6)
    structure = learned_structure([rng.bytes(512) for _ in range(4)])
    assert structure is not None
    assert len(structure.names) == 4097
    assert Structure.from_dict(structure.to_dict()) == structure


def test_what_cannot_be_taken_apart_is_refused() -> None:
    with pytest.raises(ValueError, match="which cannot be compared"):
        audit(lambda x, n, rng: [object() for _ in range(n)], (0, 1), 1.0, samples=100)
    with pytest.raises(ValueError, match="at most 4096"):
        audit(lambda x, n, rng: [rng.bytes(1000) for _ in range(n)], (0, 1), 1.0, samples=100)
    with pytest.raises(ValueError, match="structure"):
        Structure.from_dict({"tree": {"kind": "leaf", "numbers": True, "values": []}, "names": [], "aside": []})
