"""A claim: what a paper says, where, and the formal parts that settle it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ldp_audit.accounting.figure import Figure
from ldp_audit.claims.statement import Statement

Source = Literal["paper", "damaged conversion", "derived"]


def _statements(parts: Sequence[Statement], what: str) -> tuple[Statement, ...]:
    if isinstance(parts, Statement) or not all(isinstance(part, Statement) for part in parts):
        raise ValueError(f"{what} must be a sequence of statements (equal, at_most, ...), got {parts!r}")
    return tuple(parts)


@dataclass(frozen=True)
class Condition:
    """An assumption that the paper does not state and under which the claim holds.

    says: the assumption in words.   parts: the claim's parts under it.
    """

    says: str
    parts: tuple[Statement, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _statements(self.parts, "parts of a condition"))


@dataclass(frozen=True)
class Correction:
    """The statement as it should read, with its own formal parts, which must be proved.

    says: in words.   latex: typeset.   parts: what is settled of it.
    """

    says: str
    latex: str = ""
    parts: tuple[Statement, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _statements(self.parts, "parts of a correction"))


@dataclass(frozen=True)
class Claim:
    """One claim.

    id: short and stable.   place: where the source says it.   says: restated in plain words.   latex: typeset.
    parts: the formal statements, as the source has them; all must hold.
    condition: tried when a part is refuted; the verdict is then CONDITIONAL.
    void: if the parts hold and these hold too, the claim is VACUOUS.
    corrected: what is true instead, or the tight form of what is true.
    assumptions: what the source states.   rests_on: theorems cited and not re-proved.
    sizes: the sizes that the parts cover, if not all: the verdict is then ENUMERATED.
    argument: why the formal parts say what the words say; alone, a PROSE claim.
    source: "paper"; "damaged conversion" (a scanner's error, kept as a test); "derived" (ours).

    Raises ValueError for an empty id or statement.
    """

    id: str
    place: str
    says: str
    latex: str = ""
    parts: tuple[Statement, ...] = ()
    condition: Condition | None = None
    void: tuple[Statement, ...] = ()
    corrected: Correction | None = None
    assumptions: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()
    sizes: str = ""
    argument: str = ""
    source: Source = "paper"

    def __post_init__(self) -> None:
        if not (isinstance(self.id, str) and self.id and isinstance(self.says, str) and self.says):
            raise ValueError(f"a claim needs an id and a statement in words, got id={self.id!r}, says={self.says!r}")
        for name in ("parts", "void"):
            object.__setattr__(self, name, _statements(getattr(self, name), f"{name} of claim {self.id}"))


@dataclass(frozen=True)
class Paper:
    """A source of claims.

    key: what the command line calls it.   title, authors, venue: for the report.   claims: in the source's order.
    """

    key: str
    title: str
    authors: str = ""
    venue: str = ""
    claims: Sequence[Claim] = ()
    figures: Callable[[], Sequence[Figure]] | None = None

    def __post_init__(self) -> None:
        ids = [claim.id for claim in self.claims]
        twice = sorted({one for one in ids if ids.count(one) > 1})
        if twice:
            raise ValueError(f"claim ids must be unique in {self.key!r}, got {', '.join(twice)} more than once")
