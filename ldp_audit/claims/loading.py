"""Load the claims of a registered paper, or a user's own module of claims, validated before anything is settled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from ldp_audit import registry
from ldp_audit.claims.claim import Claim, Paper
from ldp_audit.claims.privacy import require_channel
from ldp_audit.claims.settling import BadClaimError
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.named_object import named_module
from ldp_audit.mechanisms.weights import SymbolicWeights
from ldp_audit.numerics import meant

Kind = TypeVar("Kind")

NO_PAPER = "no paper is installed; a module of your own claims needs none: --claims MODULE"


def paper_keys() -> tuple[str, ...]:
    """The keys of the registered papers, in the order of a report."""
    return tuple(registry.entries(registry.PAPERS))


def load_paper(key: str) -> Paper:
    """The registered paper with this key. Raises ValueError, listing the known keys, for another."""
    if key not in paper_keys():
        known = ", ".join((*paper_keys(), "all")) if paper_keys() else f"none, as {NO_PAPER}"
        raise ValueError(f"unknown paper {key!r}; known: {known}{meant(key, paper_keys())}")
    paper = registry.load(registry.PAPERS, key)
    if not isinstance(paper, Paper):
        raise ValueError(f"entry point {key!r} in {registry.PAPERS} must name a claims.Paper, got {paper!r:.200}")
    return paper


def load_papers(key: str) -> list[Paper]:
    """The registered paper with this key; of "all", all of them. Raises ValueError if there is none."""
    if key != "all":
        return [load_paper(key)]
    if not paper_keys():
        raise ValueError(NO_PAPER)
    return list(registry.usable(registry.PAPERS, load_paper).values())


def load_claims(target: str) -> Paper:
    """The claims of a module, given by its dotted name or as a path to a .py file.

    The module defines `PAPER`, or claims as module-level names or in lists. The channels among its names are the
    claims' subjects: they are validated, and the report prints them.
    Raises BadClaimError for a module that cannot be imported, that has no claims, or with an invalid channel.
    """
    module = _import(target)
    key = Path(target).stem if target.endswith(".py") else module.__name__
    title = (module.__doc__ or key).strip().splitlines()[0]
    paper = vars(module).get("PAPER") or Paper(key=key, title=title, claims=_claims(module))
    outside = [one.id for one in _claims(module) if isinstance(paper, Paper) and one.id not in paper.claims.ids]
    if outside:
        raise BadClaimError(f"module {target!r} has claims that its PAPER does not list: {', '.join(outside)}")
    if not isinstance(paper, Paper) or not paper.claims:
        raise BadClaimError(f"module {target!r} has no claims: define Claim(...) objects, or PAPER = Paper(...)")
    laws = [*_values(module, SymbolicChannel), *_values(module, SymbolicWeights)]
    mechanisms = list({id(law): law for law in [*paper.mechanisms, *laws]}.values())
    for law in mechanisms:
        require_channel(law)
    return replace(paper, mechanisms=tuple(mechanisms))


def _import(target: str) -> ModuleType:
    try:
        return named_module(target)
    except ModuleNotFoundError as error:
        raise BadClaimError(f"module {target!r} cannot be imported: {error}") from error
    except (Exception, SystemExit) as error:  # a user's module may raise anything, and its message says most
        advice = "a claim whose parts are a function (parts=lambda: ...) fails alone"
        said = f"{type(error).__name__}: {error}"
        raise BadClaimError(f"module {target!r} fails when imported: {said}; {advice}") from error


def _claims(module: ModuleType) -> tuple[Claim, ...]:
    return tuple({id(claim): claim for claim in _values(module, Claim)}.values())  # one claim may have two names


def _values(module: ModuleType, kind: type[Kind]) -> list[Kind]:
    """Module-level values of a kind, also inside module-level collections, in the order of definition."""
    return [one for name, value in vars(module).items() if not name.startswith("__") for one in _members(value, kind)]


def _members(value: object, kind: type[Kind]) -> list[Kind]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return [one for member in value for one in _members(member, kind)]
    return [value] if isinstance(value, kind) else []
