"""Structured outputs as vectors: each leaf of a dictionary, a row, a JSON text, bytes or a set becomes coordinates.

Two outputs that differ in an id are different labels, however much the rest of them reveals, and a label that never
comes again is in no event. So where most outputs of a first look come once only, or cannot be compared at all, they are
taken apart by what the look had in common:

    a number                     itself; 0 where it is missing or something else
    a text, None, a truth value  an indicator for each value that came again
    a dictionary, a dataclass    its values, by key; the items of keys that came once as a row of pairs
    a row                        its members, by place
    a set                        its size, and an indicator for each member that came again; if most did not, its
                                 members in order, as a row
    bytes                        their bits
    a text that never recurs     what its JSON, hex or base64 decodes to; else its words, or its characters; and an
                                 indicator for each spelling that came again: spaces, leading zeros, upper case
    any of several forms         the coordinates of each, and an indicator of it: absent, a text, a number with a point,
                                 keys in an order
    rows or bytes of many sizes  also their size
    what the look did not show   one number for all of it in an output, a hash: rare labels and forms, further members

Leaves that are different in every output are set aside, and named: ids and addresses. So are clocks and counters: what
only grows, or only falls, in the order in which outputs are drawn, and times of the present. An event of the vector is
an event of the outputs (post-processing), so that a bound on the one holds for the other. A leaf that is set aside is
not audited.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ldp_audit.auditing.clocks import is_clock, is_present
from ldp_audit.auditing.outputs import PLAIN, plain
from ldp_audit.auditing.scores import said

LOOK_SIZE = 256
"""Outputs of each of two inputs by which a structure is learned."""
_MOST_ONCE = 0.5
"""Values of which a larger share comes once only are no labels."""
_MOST_COORDINATES, _MOST_VALUES = 4096, 64
"""Of a structure, but for what the look did not show; and indicators for the commonest values or members of a leaf."""
_ALL_BUT_FEW = 0.99
"""Bytes of which so large a share is different may be a seed, if no short one."""
_FEWEST = 8
"""Of fewer texts none is set aside as one that never recurs."""
_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
TEXT_PARTS = rf"{_TIME}|\w+|\W+"
"""The words of a text, times among them, and what lies between, as a regular expression."""
_WORDS = re.compile(TEXT_PARTS)
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")

_MISSING: Any = object()
_PLAIN = PLAIN | {object}
"""Types of values that are as they are to be read, and of what is missing."""
Node = dict[str, Any]
"""A part of a structure as JSON: its kind, and what that needs."""


SEED = "but for its digits: whole numbers above 2**53 that did not recur"
SEED_BYTES = "but for its bits: bytes that did not recur"
"""What is said of a leaf that may be the seed of a hash: large numbers, and bytes, whose bits are coordinates."""


@dataclass(frozen=True)
class Structure:
    """How an output is taken apart.

    tree: its parts, as JSON.   names: of the coordinates.   aside: the leaves that are left out, and why.
    """

    tree: Node
    names: tuple[str, ...]
    aside: tuple[str, ...]

    def of(self, outputs: Sequence[Any]) -> np.ndarray:
        """The outputs as vectors, float64, shape (n, coordinates).

        Of a single coordinate numbers, shape (n,), and labels for what the look did not show.
        """
        unseen: list[list[str]] = [[] for _ in outputs]
        quickly = self._kept_of(outputs)
        found = np.stack(_columns(self.tree, list(outputs), unseen), axis=1) if quickly is None else quickly
        if found.shape[1] > 1:
            return found
        numbers = found[:, 0]
        if any(unseen):
            labels = [
                f"not shown: {_hashed(one):.0f}" if one else number for number, one in zip(numbers, unseen, strict=True)
            ]
            return np.array(labels, dtype=object)
        return numbers

    def _kept_of(self, outputs: Sequence[Any]) -> np.ndarray | None:
        """Of an array of numbers, of which columns are set aside, the others; None for all else."""
        row = self.tree.get("part", self.tree)
        if not isinstance(outputs, np.ndarray) or outputs.dtype.kind not in "biuf" or row["kind"] != "row":
            return None
        if (
            outputs.ndim != 2
            or outputs.shape[1] != len(row["parts"])
            or any(
                part["kind"] != "aside" and part != {"kind": "leaf", "numbers": True, "values": []}
                for part in row["parts"]
            )
        ):
            return None
        kept = outputs[:, [place for place, part in enumerate(row["parts"]) if part["kind"] == "leaf"]]
        if outputs.dtype.kind in "iu" and np.any(np.abs(kept.astype(np.float64)) >= 2.0**53):
            return None
        shown = np.zeros((len(outputs), int(self.tree["kind"] == "whole")))
        return np.concatenate([kept.astype(np.float64), shown], axis=1)

    def describe(self) -> str:
        """In a sentence, for a result."""
        why = {one.rpartition(" (")[2]: [] for one in self.aside}
        for one in self.aside:
            name, _, reason = one.rpartition(" (")
            why[reason].append(name)
        left = ", ".join(f"{said.listed(names)} ({reason}" for reason, names in why.items())
        aside = f"; set aside, and not audited: {left}" if left else ""
        form = f"a form that {2 * LOOK_SIZE} outputs did not show is compared as a whole"
        return f"outputs are taken apart: {said.listed(self.names)}{aside}; {form}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"tree": self.tree, "names": list(self.names), "aside": list(self.aside)}

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Structure:
        """What `to_dict` wrote. Raises ValueError for anything else."""
        try:
            names, aside = tuple(map(str, data["names"])), tuple(map(str, data["aside"]))
            found = Structure(data["tree"], names, aside)
            width = len(_columns(found.tree, [_MISSING], [[]]))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"structure cannot be read: {type(error).__name__}: {error}") from None
        if width != len(names) or not 1 <= width <= _MOST_COORDINATES + 1:
            raise ValueError(f"structure must have a name for each of its {width} coordinates, got {len(names)}")
        return found


def learned_structure(outputs: Sequence[Any], *, comparable: bool = True) -> Structure | None:
    """The structure that these outputs share; None where they are audited whole, or no coordinate is left.

    outputs: in the order in which they were drawn, of two inputs that took turns.
    comparable: whether they can be labels at all.   Raises ValueError for more than 4,096 coordinates.
    """
    values = [_plain(one) for one in outputs]
    if all(_is_number(value) for value in values):
        return None
    if comparable and _recur(values) and not any(map(_may_hold_a_clock, values)):
        return None
    aside: list[str] = []
    tree = _learned(values, "y", aside)
    if not aside and all(isinstance(one, list | tuple | np.ndarray) and all(map(_is_number, one)) for one in outputs):
        return None  # vectors, as they are
    names = tuple(_names(tree, "y"))
    if len(names) > _MOST_COORDINATES:
        raise ValueError(f"it returned outputs of {len(names)} parts; accepted: at most {_MOST_COORDINATES}")
    if len(names) > 1:  # one number is searched in ways of its own
        tree = {"kind": "whole", "part": tree}
        names = (*names, f"what {2 * LOOK_SIZE} outputs did not show")
    return Structure(tree, names, tuple(aside)) if names else None


def _plain(value: Any) -> Any:
    return value if value is _MISSING else plain(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not _is_large(value)


def _is_large(value: Any) -> bool:
    """Whole numbers that float64 would round are texts of digits."""
    return isinstance(value, int) and abs(value) >= 2**53


def _label(value: Any) -> str:
    """A value as it is compared: equal ones alike, and 1 and "1" apart. ValueError as `plain` raises it."""
    if type(value) in (str, int, bool, float):
        return repr(value)
    value = plain(value)
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(map(_label, value))) + "}"
    if isinstance(value, list | tuple):
        left, right = "()" if isinstance(value, tuple) else "[]"
        return left + ", ".join(map(_label, value)) + right
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_label(key)}: {_label(one)}" for key, one in value.items()) + "}"
    return repr(value)


def _recur(values: Sequence[Any]) -> bool:
    """Whether most of them come again."""
    times = Counter(map(_label, values))
    return sum(count == 1 for count in times.values()) <= _MOST_ONCE * len(values)


def _may_hold_a_clock(value: Any) -> bool:
    """Whether parts of it may change in the course of an audit, though whole outputs come again in a short look."""
    if isinstance(value, str):
        parts = _from_json(value)
        return bool(_words(value) and any(map(is_present, _words(value) or ()))) if parts is None else _counts(parts)
    if isinstance(value, list | tuple) and all(map(_is_number, value)):
        return any(map(is_present, value))
    return isinstance(value, Mapping | list | tuple) and _counts(value)


def _counts(value: Any) -> bool:
    """Whether there is a number, or a digit, in a leaf of it."""
    if isinstance(value, Mapping):
        return any(map(_counts, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_counts, value))
    return any(map(str.isdigit, value)) if isinstance(value, str) else _is_number(value) or _is_large(value)


def _common(values: Sequence[Any]) -> list[str]:
    """The values that came again, the commonest ones, in the order of their texts."""
    times = Counter(map(_label, values))
    return sorted(label for label, count in times.most_common(_MOST_VALUES) if count > 1)


def _learned(values: Sequence[Any], name: str, aside: list[str]) -> Node:
    """The node of these values, found at one place of the outputs. Leaves that are left out are added to `aside`."""
    values = [_plain(value) for value in values]
    ordered = _order_varies([value for value in values if isinstance(value, Mapping)])
    forms = [_form(value, ordered=ordered) for value in values]
    present = [value for value in values if value is not _MISSING]
    part = _of_several(present, name, aside) or _of_any_form(present, name, aside)
    sized = len({_size(value) for value in present}) > 1
    shown = _common(forms)[: 1 if len(set(forms)) == 2 else None]  # of two, the one shows the other
    if len(set(forms)) == 1 and not sized:
        return part
    several = len(set(forms)) > 1
    return {"kind": "form", "forms": shown if several else [], "ordered": ordered, "sized": sized, "part": part}


def _form(value: Any, *, ordered: bool) -> str:
    """What a part is, apart from its value.   ordered: whether the order of keys is a part of it."""
    if value is _MISSING:
        return "absent"
    if isinstance(value, Mapping):
        return f"keys in the order {', '.join(map(_label, value))}" if ordered else "a dictionary"
    return next((form for kind, form in _FORMS if isinstance(value, kind)), type(value).__qualname__)


_FORMS: list[tuple[Any, str]] = [
    (bool, "a truth value"),
    (int, "a whole number"),
    (float, "a number with a point"),
    (str | type(None), "a text or None"),  # whose values have indicators
    (list | tuple, "a row"),
    (bytes | bytearray, "bytes"),
    (set | frozenset, "a set"),
]
_WITH_PARTS = {"a dictionary", "a row", "bytes", "a set"}


def _structured(value: Any) -> str:
    """Which of the forms that have parts of their own it has, or ""."""
    form = _form(value, ordered=False)
    return form if form in _WITH_PARTS else ""


def _size(value: Any) -> int:
    """Of a row or bytes; 0 of anything else."""
    return len(value) if isinstance(value, list | tuple | bytes | bytearray) else 0


def _order_varies(values: Sequence[Mapping[Any, Any]]) -> bool:
    """Whether the keys of some of them come in another order than those of the others, by their mean places."""
    if not values or len({tuple(value) for value in values}) == 1:
        return False
    places: dict[Any, list[float]] = {}
    for value in values:
        for place, key in enumerate(value):
            places.setdefault(key, []).append(place / len(value))
    mean = {key: sum(found) / len(found) for key, found in places.items()}
    return any(mean[a] >= mean[b] for value in values for a, b in pairwise(value))


def _of_several(values: Sequence[Any], name: str, aside: list[str]) -> Node | None:
    """A node for each form that has parts of its own, and one for what has none; None where there is one form."""
    kinds = [_structured(value) for value in values]
    if len({*kinds}) < 2:
        return None
    parts = {kind: [one for one, its in zip(values, kinds, strict=True) if its == kind] for kind in sorted({*kinds})}
    return {"kind": "several", "parts": {kind: _learned(found, name, aside) for kind, found in parts.items()}}


def _of_any_form(values: Sequence[Any], name: str, aside: list[str]) -> Node:
    """The node of these values, which are all there, but for their form."""

    def left(what: str) -> Node:
        aside.append(f"{name} ({what})")
        return {"kind": "aside"}

    if is_clock(values):
        return left("a counter or a clock")
    if all(map(_is_number, values)):
        return {"kind": "leaf", "numbers": True, "values": []}
    if all(isinstance(value, Mapping) for value in values):
        return _of_mappings(values, name, aside)
    if all(isinstance(value, list | tuple) for value in values):
        longest = max(map(len, values))
        parts = [[value[k] for value in values if k < len(value)] for k in range(longest)]
        return {"kind": "row", "parts": [_learned(found, f"{name}[{k}]", aside) for k, found in enumerate(parts)]}
    if all(isinstance(value, bytes | bytearray) for value in values):
        if len(values) >= _FEWEST and len(set(map(bytes, values))) >= _ALL_BUT_FEW * len(values):
            aside.append(f"{name} ({SEED_BYTES})")
        return {"kind": "bits", "bytes": max(map(len, values))}
    if all(isinstance(value, set | frozenset) for value in values):
        members = [member for value in values for member in value]
        if _recur(members):
            return {"kind": "set", "members": _common(members)}
        return {"kind": "sorted", "part": _learned([_in_order(value) for value in values], name, aside)}
    if all(isinstance(value, uuid.UUID) or (isinstance(value, str) and _UUID.fullmatch(value)) for value in values):
        return left("a UUID")
    moving = all(isinstance(value, str) for value in values) and any(map(_may_hold_a_clock, values))
    if (_recur(values) and not moving) or len(values) < _FEWEST:
        others = [value for value in values if not _is_number(value)]
        return {"kind": "leaf", "numbers": len(others) < len(values), "values": _common(others)}
    return _of_texts(values, name, aside)


def _of_texts(values: Sequence[Any], name: str, aside: list[str]) -> Node:
    """The node of values that never recur, by what their texts decode to."""
    if sum(map(_is_large, values)) > len(values) / 2:
        aside.append(f"{name} ({SEED})")
    texts = [value if isinstance(value, str) else _label(value) for value in values]
    for decode in _DECODERS:
        decoded = [_DECODERS[decode](text) for text in texts]
        if None in decoded or decoded == [[text] for text in texts]:
            continue
        spelled = [_spelling(decode, text, one) for text, one in zip(texts, decoded, strict=True)]
        spellings = _common(spelled) if len(set(spelled)) > 1 else []
        part = _learned(decoded, f"{name} as {decode}", aside)
        return {"kind": "decoded", "by": decode, "spellings": spellings, "part": part}
    aside.append(f"{name} (different in every output)")
    return {"kind": "aside"}


def _of_mappings(values: Sequence[Mapping[Any, Any]], name: str, aside: list[str]) -> Node:
    """The node of dictionaries. The items of keys that came once are pairs, in the order in which they come."""
    keys = Counter((str(type(key).__name__), _label(key)) for value in values for key in value)
    known = [_by_label(value) for value in values]
    common = sorted(key for key, count in keys.items() if count > 1 or len(values) == 1)
    parts = {key: [one.get(key, _MISSING) for one in known] for _, key in common}
    node: Node = {"kind": "keys"}
    node["parts"] = {k: _learned(found, f"{name}[{k}]", aside) for k, found in parts.items()}
    if len(common) < len(keys):
        rest = [_other_items(value, node["parts"]) for value in values]
        node["rest"] = _learned(rest, f"other items of {name}", aside)
    return node


def _from_json(text: str) -> Any:
    if text[:1] not in ("{", "["):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict | list) else None


def _from_hex(text: str) -> bytes | None:
    try:
        return bytes.fromhex(text) if len(text) >= 4 and text.isalnum() else None
    except ValueError:
        return None


def _from_base64(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True) if len(text) >= 8 else None
    except (binascii.Error, ValueError):
        return None


def _words(text: str) -> list[Any] | None:
    """The words, times among them, and what lies between; words of digits are numbers."""
    found = re.findall(_WORDS, text)
    return [int(word) if word.isascii() and word.isdigit() else word for word in found] if len(found) > 1 else None


def _characters(text: str) -> list[str] | None:
    return list(text) if 0 < len(text) <= _MOST_VALUES else None


_DECODERS: dict[str, Callable[[str], Any]] = {
    "JSON": _from_json,
    "hex": _from_hex,
    "base64": _from_base64,
    "words": _words,
    "characters": _characters,
}


def _spelling(by: str, text: str, decoded: Any) -> str:
    """What decoding a text leaves out, coarsely: of JSON and words how many characters, of hex the case."""
    if by == "hex":
        return "lower case" if text == text.lower() else "upper case" if text == text.upper() else "both cases"
    if by == "JSON":
        compact = json.dumps(decoded, separators=(",", ":"), ensure_ascii=False)
    elif by == "words":
        compact = "".join(map(str, decoded))
    else:
        return ""
    return f"{len(text) - len(compact)} characters above the shortest"


def _names(node: Node, name: str) -> Iterator[str]:
    kind = node["kind"]
    if kind == "leaf":
        yield from [name] * node["numbers"]
        yield from (f"{name} = {value}" for value in node["values"])
    elif kind == "bits":
        yield from (f"{name} bit {bit}" for bit in range(8 * node["bytes"]))
    elif kind == "set":
        yield from [f"size of {name}", *(f"{member} in {name}" for member in node["members"])]
    elif kind == "form":
        yield from [f"size of {name}"] * node["sized"]
        yield from (f"form of {name} = {form}" for form in node["forms"])
    elif kind == "decoded":
        yield from (f"spelling of {name} = {spelling}" for spelling in node.get("spellings", ()))
    for part, place in _parts(node, name):
        yield from _names(part, place)


def _parts(node: Node, name: str) -> list[tuple[Node, str]]:
    """The nodes within a node, in the order of their coordinates, and their names."""
    kind = node["kind"]
    if kind == "keys":
        rest = [(node["rest"], f"other items of {name}")] if "rest" in node else []
        return [(part, f"{name}[{key}]") for key, part in node["parts"].items()] + rest
    if kind == "row":
        return [(part, f"{name}[{place}]") for place, part in enumerate(node["parts"])]
    if kind == "several":
        return [(part, name) for part in node["parts"].values()]
    if kind == "decoded":
        return [(node["part"], f"{name} as {node['by']}")]
    return [(node["part"], name)] if "part" in node else []


def _columns(node: Node, values: list[Any], unseen: list[list[str]]) -> list[np.ndarray]:
    """The coordinates of these values, shape (n,) each; zeros where one is missing, or of another kind.

    unseen: of each output, what no coordinate shows; it is added to.
    """
    kind = node["kind"]
    values = values if _PLAIN.issuperset(map(type, values)) else [_plain(value) for value in values]
    if kind == "whole":
        return [*_columns(node["part"], values, unseen), np.array([_hashed(one) if one else 0.0 for one in unseen])]
    if kind == "leaf":
        return _leaf(node, values, unseen)
    if kind == "keys":
        known = [_by_label(value) for value in _of_kind(values, Mapping, unseen, {})]
        parts = [(part, [one.get(key, _MISSING) for one in known]) for key, part in node["parts"].items()]
        if "rest" in node:
            parts.append((node["rest"], [_other_items(value, node["parts"]) for value in values]))
        else:
            _note(unseen, ([f"{key}: {_label(one[key])}" for key in one if key not in node["parts"]] for one in known))
        return [column for part, found in parts for column in _columns(part, found, unseen)]
    if kind == "several":
        kinds = [None if value is _MISSING else _structured(value) for value in values]
        known = {None, *node["parts"]}
        _note(unseen, ([] if its in known else [_label(one)] for one, its in zip(values, kinds, strict=True)))
        parts = (
            (part, [one if its == form else _MISSING for one, its in zip(values, kinds, strict=True)])
            for form, part in node["parts"].items()
        )
        return [column for part, found in parts for column in _columns(part, found, unseen)]
    if kind == "sorted":
        return _columns(node["part"], [_in_order(value) for value in values], unseen)
    if kind == "row":
        rows, length = _of_kind(values, list | tuple, unseen, ()), len(node["parts"])
        _note(unseen, ([_label(one) for one in row[length:]] for row in rows))
        parts = ((part, [row[k] if k < len(row) else _MISSING for row in rows]) for k, part in enumerate(node["parts"]))
        return [column for part, found in parts for column in _columns(part, found, unseen)]
    if kind == "bits":
        known = [bytes(value) for value in _of_kind(values, bytes | bytearray, unseen, b"")]
        width = node["bytes"]
        _note(unseen, ([repr(one[width:])] if len(one) > width else [] for one in known))
        padded = b"".join(one[:width].ljust(width, b"\0") for one in known)
        bits = np.unpackbits(np.frombuffer(padded, dtype=np.uint8).reshape(len(values), width), axis=1)
        return list(bits.T.astype(np.float64))
    if kind == "set":
        members = [set(map(_label, value)) for value in _of_kind(values, set | frozenset, unseen, ())]
        _note(unseen, (sorted(held.difference(node["members"])) for held in members))
        found = [[float(one in held) for held in members] for one in node["members"]]
        return [np.array([float(len(held)) for held in members]), *map(np.array, found)]
    if kind == "decoded":
        decode = _DECODERS[node["by"]]
        texts = [value if isinstance(value, str) or value is _MISSING else _label(value) for value in values]
        decoded = [None if text is _MISSING else decode(text) for text in texts]
        failed = (one is None and text is not _MISSING for text, one in zip(texts, decoded, strict=True))
        _note(unseen, ([text] * its for text, its in zip(texts, failed, strict=True)))
        spellings = node.get("spellings", ())  # files of earlier versions have none
        spelled = [
            _MISSING if one is None else _spelling(node["by"], text, one)
            for text, one in zip(texts if spellings else (), decoded if spellings else (), strict=True)
        ]
        known = [_MISSING if one is None else one for one in decoded]
        return [*_indicators(spellings, spelled), *_columns(node["part"], known, unseen)]
    if kind == "form":
        sizes = [np.array([float(_size(value)) for value in values])] * node["sized"]
        forms = [_form(value, ordered=node["ordered"]) for value in values]
        return [*sizes, *_indicators(node["forms"], forms), *_columns(node["part"], values, unseen)]
    return []


def _of_kind(values: list[Any], kind: Any, unseen: list[list[str]], otherwise: Any) -> list[Any]:
    """The values of this kind; for others what is to stand for them, and a note of what they are."""
    _note(unseen, ([] if value is _MISSING or isinstance(value, kind) else [_label(value)] for value in values))
    return [value if isinstance(value, kind) else otherwise for value in values]


def _note(unseen: list[list[str]], found: Iterable[list[str]]) -> None:
    for texts, more in zip(unseen, found, strict=True):
        texts += more


def _hashed(texts: list[str]) -> float:
    """A whole number from 1 to 2**48, the same in every process."""
    return 1.0 + int.from_bytes(hashlib.blake2b("\0".join(texts).encode(errors="replace"), digest_size=6).digest())


def _leaf(node: Node, values: list[Any], unseen: list[list[str]]) -> list[np.ndarray]:
    """A number, or 0, and an indicator of each known value; what is neither is noted."""
    labels, numbers = node["values"], node["numbers"]
    found = np.zeros((numbers + len(labels), len(values)))
    there = [place for place, value in enumerate(values) if value is not _MISSING]
    held = [values[place] for place in there]
    if numbers and held:
        found[0, there] = _numbers(held)
    if not (numbers and {*map(type, held)} <= {float}):  # most leaves are numbers with a point
        known = {label: place for place, label in enumerate(labels, start=int(numbers))}
        for place, value in zip(there, held, strict=True):
            if not (numbers and _is_number(value)):
                label = _label(value)
                if label in known:
                    found[known[label], place] = 1.0
                else:
                    unseen[place].append(label)
    return list(found)


def _numbers(values: list[Any]) -> np.ndarray:
    """The values, 0 where one is no number, float64; of one type, as most are, without a look at each."""
    types = {*map(type, values)}
    if types == {float} or (types == {int} and min(values) > -(2**53) and max(values) < 2**53):
        return np.array(values, dtype=np.float64)
    return np.array([float(value) if _is_number(value) else 0.0 for value in values])


def _indicators(labels: Sequence[str], values: list[Any]) -> list[np.ndarray]:
    """Of each label, which of the values are it."""
    if not labels:
        return []
    places = {label: place for place, label in enumerate(labels)}
    found = np.array([-1 if value is _MISSING else places.get(_label(value), -1) for value in values])
    return [(found == place).astype(np.float64) for place in range(len(labels))]


def _in_order(value: Any) -> Any:
    """The members of a set by their texts, as a row."""
    return sorted(value, key=_label) if isinstance(value, set | frozenset) else _MISSING


def _other_items(value: Any, keys: Mapping[str, Any]) -> Any:
    """Pairs of a dictionary with other keys than these."""
    return (
        [[key, one] for key, one in value.items() if _label(key) not in keys]
        if isinstance(value, Mapping)
        else _MISSING
    )


def _by_label(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {_label(key): one for key, one in value.items()}
