"""Settled claims in a file, so that a run that was cut short settles again only what it had not settled.

Each line has a digest, one claim's evidence, and the digest of all on which this depends: the statements, the seconds
that the claim had, our source, and the versions of Python and the engines. A claim's verdict is not kept: it follows
anew from parts that the independent checker confirms. A claim for which time ran out is not kept.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import ldp_audit
from ldp_audit.checkpoint import plain
from ldp_audit.claims.claim import Claim
from ldp_audit.claims.language.statement import Statement, written
from ldp_audit.claims.settling import OUT_OF_TIME, Settled, SettledClaim, concluded, confirmed, settle_claim
from ldp_audit.claims.verdict import Verdict
from ldp_audit.files import check_place, write_whole

_HEAD = "ldp-audit settled claims"
Statements = Mapping[str, Sequence[Statement]]
"""Those of a claim, named as in `Claim.groups`."""
_ENGINES_FROM = ("sympy", "python-flint", "z3-solver")


class SettledFile:
    """The settled claims of a file, which is made if there is none.

    damaged: number of its lines that are damaged.   taken: number of claims that were not settled again.
    Raises ValueError for a file of another kind, and CannotWriteError where it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lines = path, dict[str, str]()
        self.damaged = self.taken = 0
        check_place(path)
        if path.exists():
            self._read(path.read_bytes())
        if self.damaged:
            self._write()

    def settle(self, claim: Claim, seconds: float) -> SettledClaim:
        """The claim from the file, or settled as by `settle_claim` and added to it."""
        try:
            statements = claim.groups()
        except ValueError:
            return settle_claim(claim, seconds)  # which says what is wrong with them
        key = _key(claim, statements, seconds)
        if key in self._lines:
            kept = _from_line(self._lines[key], claim, statements)
            if kept is not None:
                self.taken += 1
                return kept
        settled = settle_claim(claim, seconds)
        if any(_lacked_time(part) for group in settled.groups.values() for part in group):
            return settled  # another day it may be settled
        key = _key(claim, {name: [one.statement for one in group] for name, group in settled.groups.items()}, seconds)
        self._lines[key] = _line(key, settled)
        self._write()
        return settled

    def _write(self) -> None:
        text = "".join(f"{line}\n" for line in (_HEAD, *self._lines.values()))
        write_whole({self._path: text}, durable=False)

    def _read(self, content: bytes) -> None:
        head, *lines = content.split(b"\n")
        for line in filter(None, lines):
            key = _key_of(line)
            if key is None:
                self.damaged += 1
            else:
                self._lines[key] = line.decode()
        if head != _HEAD.encode():
            if not self._lines:
                raise ValueError(f"{self._path} holds no settled claims; name another file, or delete it")
            self.damaged += 1


def tool() -> dict[str, str]:
    """What settles claims: our version, Python's and those of the engines."""
    own = {"name": "ldp-audit", "version": _version("claimed-epsilon"), "python": platform.python_version()}
    return own | {name: _version(name) for name in _ENGINES_FROM}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


@cache
def _source() -> str:
    """Digest of our source: a checkout changes without a new version."""
    found = hashlib.blake2b(digest_size=16)
    for file in sorted(Path(ldp_audit.__file__).parent.rglob("*.py")):
        found.update(file.read_bytes())
    return found.hexdigest()


def _key(claim: Claim, statements: Statements, seconds: float) -> str:
    # Divisors that cancelled are in no side, but the engines look at them.
    groups = {
        name: [{**one.to_dict(), "divisors": [written(each) for each in one.divisors]} for one in group]
        for name, group in statements.items()
    }
    return _digest({"claim": claim.id, "groups": groups, "seconds": repr(seconds), "tool": tool(), "source": _source()})


def _line(key: str, settled: SettledClaim) -> str:
    groups = {name: [_part(one) for one in group] for name, group in settled.groups.items()}
    content = {"key": key, "claim": settled.claim.id, "seconds": settled.seconds, "groups": groups}
    return _sealed(content)


def _sealed(content: dict[str, Any]) -> str:
    return json.dumps({"digest": _digest(content), **content}, allow_nan=False)


def _part(settled: Settled) -> dict[str, Any]:
    return {name: value for name, value in vars(settled).items() if name != "statement"}


def _key_of(line: bytes) -> str | None:
    """The key of an undamaged line; None for another one."""
    try:
        content = json.loads(line)
        del content["digest"]
        return content["key"] if _sealed(content).encode() == line else None  # no byte may be another one
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _lacked_time(part: Settled) -> bool:
    return str(part.evidence.get("reason", "")).startswith(OUT_OF_TIME)


def _from_line(line: str, claim: Claim, statements: Statements) -> SettledClaim | None:
    """The claim, unless the independent checker objects to a proof or a counterexample of the line."""
    content = json.loads(line)
    groups = {
        name: tuple(_restored(one, part) for one, part in zip(group, content["groups"][name], strict=True))
        for name, group in statements.items()
    }
    parts = [part for group in groups.values() for part in group]
    if any(confirmed(part).verdict != part.verdict for part in parts if part.verdict is not Verdict.UNDECIDED):
        return None
    return concluded(claim, groups, content["seconds"])


def _restored(statement: Statement, part: dict[str, Any]) -> Settled:
    outcome = Verdict(part["verdict"]), part["engine"], part["seconds"], part["evidence"]
    return Settled(statement, *outcome, tuple(part["defined"]), part["compared"])


def _digest(content: Any) -> str:
    return hashlib.blake2b(json.dumps(plain(content), sort_keys=True).encode(), digest_size=16).hexdigest()
