"""A claim: a paper's sentence, its place, and the formal statements that settle it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, overload

from ldp_audit.claims.language.statement import Statement, at_most, less
from ldp_audit.figure import Figure
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.variable import Variable, substitute_domain, variables_of
from ldp_audit.mechanisms.weights import SymbolicWeights
from ldp_audit.numerics import instance, listed

Source = Literal["paper", "damaged conversion", "derived"]

_LONGEST_NAME = 32
"""Characters of a claim's name, so that names fit beside each other in a picture."""

Parts = Sequence[Statement] | Callable[[], Sequence[Statement]]
"""Statements, or a function without arguments that returns them. It is called when the claim is settled, so that its
errors concern that claim only."""


def _statements(parts: Parts, what: str) -> Parts:
    """The statements as a tuple, or the function that returns them. Raises ValueError for anything else."""
    return parts if callable(parts) else _listed(parts, what)


def _listed(parts: Any, what: str) -> tuple[Statement, ...]:
    of = "a sequence of statements (equal, at_most, ...)"
    found = listed(parts, what, of)
    for part in found:
        instance(part, Statement, what, of)
    return tuple(found)


def _statements_of(parts: Parts, what: str) -> tuple[Statement, ...]:
    """The statements themselves. Raises ValueError with the error of a function that fails."""
    if not callable(parts):
        return tuple(parts)
    try:
        found: Any = parts()
    except Exception as error:  # a user's function may raise anything, and its message says most
        raise ValueError(f"{what} cannot be built: {_message(error)}") from error
    if not isinstance(found, Sequence):
        raise ValueError(f"{what} must be made as a sequence of statements, got {found!r}")
    return _listed(found, what)


def _message(error: Exception) -> str:
    return f"{error}" if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


@dataclass(frozen=True)
class Condition:
    """An assumption that the paper does not state and under which the claim holds: a restriction of the domain.

    says: the assumption in words.
    where: for each restricted variable, one with the same name and a narrower domain; a fixed variable has the value as
        both bounds, such as Variable("k", n, n).

    Its parts are the claim's own parts on that domain, so that no other statement can be proved in their place, and the
    counterexample of a failing part lies outside. Raises ValueError unless `where` are variables with distinct names.
    """

    says: str
    where: tuple[Variable, ...]

    def __post_init__(self) -> None:
        where = (self.where,) if isinstance(self.where, Variable) else tuple(self.where)
        if not where or not all(isinstance(one, Variable) for one in where):
            raise ValueError(f"where of a condition must be variables with a narrower domain, got {self.where!r}")
        if len({one.name for one in where}) < len(where):
            raise ValueError(f"where of a condition must be variables of different names, got {self.where!r}")
        object.__setattr__(self, "where", where)

    def applied_to(self, parts: Sequence[Statement]) -> tuple[Statement, ...]:
        """The parts on the narrower domain. Raises ValueError for a variable that occurs in none of them."""
        restricted = [(part, _namesakes(part, self.where)) for part in parts]
        known = {one.name for _, swap in restricted for one in swap.values()}
        missing = sorted({one.name for one in self.where} - known)
        if missing:
            raise ValueError(f"where of a condition names {', '.join(missing)}, which no part of the claim has")
        return tuple(part.at(swap) for part, swap in restricted)

    def narrower(self, parts: Sequence[Statement]) -> tuple[Statement, ...]:
        """Statements that the new domains lie inside the claim's."""
        before = {new: old for part in parts for old, new in _namesakes(part, self.where).items()}
        swap = {old: new for new, old in before.items()}
        return tuple(
            replace(bound, label=f"the condition restricts {new.name}")
            for new, old in before.items()
            for bound in _bounds(old, new, swap)
        )


def _namesakes(part: Statement, where: Sequence[Variable]) -> dict[Variable, Variable]:
    """The part's restricted variables with their replacements, including those that occur only in exponents of
    others."""
    arguments = [v.argument for v in part.variables() if v.argument is not None]
    own = variables_of([part.left, part.right, *part.bounding, *arguments])
    by_name = {one.name: one for one in where}
    return {variable: by_name[variable.name] for variable in own if variable.name in by_name}


def _bounds(old: Variable, new: Variable, swap: Mapping[Variable, Variable]) -> list[Statement]:
    if old.integer_valued and not (new.integer_valued or (new.lower == new.upper and new.lower.is_integer)):
        raise ValueError(f"{new.name} must stay a whole number under a condition")
    link = "log_of" if old.exp_of is None else "exp_of"
    own = new.log_of if old.exp_of is None else new.exp_of
    if old.argument is not None and str(own) != str(old.argument):  # the same names, whose domains may be narrower
        raise ValueError(f"{new.name} must stay what it is under a condition: {link}={old.argument}")
    ends = substitute_domain(old, swap)
    found = []
    if not old.lower.is_infinite:
        found.append(less(ends.lower, new) if old.lower_open else at_most(ends.lower, new))
    if not old.upper.is_infinite:
        found.append(less(new, ends.upper) if old.upper_open else at_most(new, ends.upper))
    return found


@dataclass(frozen=True)
class Reading:
    """Another formal reading of the source's words than the claim's own parts, and so another statement.

    says: the reading in words.   parts: its statements, which are settled and shown, and never count for the verdict.
    """

    says: str
    parts: Parts

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _statements(self.parts, "parts of a reading"))


@dataclass(frozen=True)
class Correction:
    """The corrected statement, with its own formal parts, which must be proved.

    says: in words.   latex: typeset.   parts: its formal statements.
    """

    says: str
    latex: str = ""
    parts: Parts = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _statements(self.parts, "parts of a correction"))


@dataclass(frozen=True)
class Claim:
    """One claim.

    id: short and stable.   name: a noun phrase for pictures and lists, one line of at most 32 characters.
    place: where the source says it.   says: restated in plain words.   latex: typeset.
    parts: the formal statements, in the most charitable reading of the source's words; all must hold. Wherever
        statements are given, a function without arguments may replace them: it is called when the claim is settled.
    reading: how the words are read in the parts, if they have another formal reading too.
    condition: tried if a part is refuted; the verdict is then CONDITIONAL.
    another: another formal reading, shown as another statement with verdicts of its own: a stricter one where the parts
        are proved, a kinder one that fails too where they are refuted.
    looked: where the source was searched for the missing assumption, or for another meaning of the words.
    void: if the parts hold and these hold too, the claim is VACUOUS.
    corrected: what is true instead, or the tight form of what is true.
    assumptions: what the source states.   rests_on: theorems cited and not re-proved.
    sizes: the sizes that the parts cover, if not all: the verdict is then ENUMERATED.
    argument: why the formal parts say what the words say; alone, a PROSE claim.
    source: "paper"; "damaged conversion" (a scanner's error, kept as a test); "derived" (ours).
    experiments: names of `training.reproduction`'s, whose statistical verdicts a report prints beside the formal one.

    Raises ValueError for an empty id or statement, and for a name that is longer or not one line.
    """

    id: str
    name: str = field(default="", kw_only=True)
    place: str
    says: str
    latex: str = ""
    parts: Parts = ()
    reading: str = ""
    condition: Condition | None = None
    another: Reading | None = None
    looked: str = ""
    void: Parts = ()
    corrected: Correction | None = None
    assumptions: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()
    sizes: str = ""
    argument: str = ""
    source: Source = "paper"
    experiments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (isinstance(self.id, str) and self.id and isinstance(self.says, str) and self.says):
            raise ValueError(f"a claim needs an id and a statement in words, got id={self.id!r}, says={self.says!r}")
        if not (isinstance(self.name, str) and len(self.name) <= _LONGEST_NAME and self.name.isprintable()):
            raise ValueError(
                f"name of claim {self.id} must be one line of at most {_LONGEST_NAME} characters, got {self.name!r}"
            )
        for name in ("parts", "void"):
            object.__setattr__(self, name, _statements(getattr(self, name), f"{name} of claim {self.id}"))

    def groups(self) -> dict[str, tuple[Statement, ...]]:
        """Every formal statement by its role: the parts, those of another reading, the parts under the condition, the
        proof that this is a restriction, the statements that make the claim void, and the correction.

        Raises ValueError for a condition on a variable that occurs in no part, and if a function that should return
        statements fails.
        """
        condition, parts = self.condition, _statements_of(self.parts, "its parts")
        return {
            "parts": parts,
            "another": _statements_of(self.another.parts, "the parts of its reading") if self.another else (),
            "condition": condition.applied_to(parts) if condition else (),
            "narrower": condition.narrower(parts) if condition else (),
            "void": _statements_of(self.void, "what makes it void"),
            "corrected": _statements_of(self.corrected.parts, "the parts of its correction") if self.corrected else (),
        }


class Claims(Sequence[Claim]):
    """Claims in the order of their source, each built at its first use.

    made: a function for each id, or the claims themselves.
    Raises ValueError for duplicate ids, and at a claim's first use if its function fails or returns another id.
    """

    def __init__(self, made: Sequence[Claim] | Mapping[str, Callable[[], Claim]]) -> None:
        if isinstance(made, Mapping):
            self._makers, self._built = dict(made), {}
        else:
            ids = [claim.id for claim in made]
            twice = sorted({one for one in ids if ids.count(one) > 1})
            if twice:
                raise ValueError(f"claim ids must be unique, got {', '.join(twice)} more than once")
            self._makers, self._built = dict.fromkeys(ids), {claim.id: claim for claim in made}
        self.ids: tuple[str, ...] = tuple(self._makers)

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> Claim: ...
    @overload
    def __getitem__(self, place: slice) -> Claims: ...
    def __getitem__(self, place: int | slice) -> Claim | Claims:
        return self.only(self.ids[place]) if isinstance(place, slice) else self.named(self.ids[place])

    def named(self, name: str) -> Claim:
        """The claim with this id."""
        maker = self._makers[name]
        if name not in self._built and maker is not None:
            try:
                claim = maker()
            except Exception as error:  # a user's function may raise anything, and its message says most
                raise ValueError(f"claim {name} cannot be built: {_message(error)}") from error
            if not isinstance(claim, Claim) or claim.id != name:
                raise ValueError(f"claim {name} must be built as a Claim of this id, got {claim!r}")
            self._built[name] = claim
        return self._built[name]

    def only(self, ids: Sequence[str]) -> Claims:
        """The claims with these ids, in the source's order."""
        chosen = Claims({})
        chosen.ids = tuple(one for one in self.ids if one in ids)
        chosen._makers, chosen._built = self._makers, self._built
        return chosen


@dataclass(frozen=True)
class Paper:
    """A source of claims.

    key: its name on the command line.   title, authors, venue: for the report.
    claims: in the source's order; or for each id a function that builds the claim (`Claims`).
    figures: a function that returns them.   mechanisms: the claims' subjects, which the report prints.
    telling: ids of the claims that say most about the source, which a summary shows first if they do not hold.
    protocol: the name of the registered protocol that a summary accounts for; "" for none.
    """

    key: str
    title: str
    authors: str = ""
    venue: str = ""
    claims: Claims = field(default_factory=lambda: Claims(()))
    figures: Callable[[], Sequence[Figure]] | None = None
    mechanisms: Sequence[SymbolicChannel | SymbolicWeights] = ()
    telling: Sequence[str] = ()
    protocol: str = ""

    if TYPE_CHECKING:

        def __init__(
            self,
            key: str,
            title: str,
            authors: str = "",
            venue: str = "",
            claims: Sequence[Claim] | Mapping[str, Callable[[], Claim]] = (),
            figures: Callable[[], Sequence[Figure]] | None = None,
            mechanisms: Sequence[SymbolicChannel | SymbolicWeights] = (),
            telling: Sequence[str] = (),
            protocol: str = "",
        ) -> None: ...

    def __post_init__(self) -> None:
        if not isinstance(self.claims, Claims):
            object.__setattr__(self, "claims", Claims(self.claims))
