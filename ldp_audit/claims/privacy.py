"""The parts of an epsilon-LDP claim about a symbolic law, and whether it is a law at all."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from sympy import Expr, Integer, Max, Min, Mul, exp, expand_log, log, simplify, sympify

from ldp_audit.claims.settle import BadClaimError, settle
from ldp_audit.claims.statement import Statement, at_most, differ, equal
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT, Piece
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.mechanisms.weights import SymbolicWeights


def is_private(
    law: SymbolicChannel | SymbolicWeights, t: Any, *, neighbour: SymbolicChannel | None = None
) -> tuple[Statement, ...]:
    """One part an output: P(output | x) <= t P(output | x') for all inputs x, x'. With t = e**epsilon: epsilon-LDP.

    neighbour: the channel at the second input, if not every input is a neighbour: `law.at({x: near})`, where the domain
        of `near` says how far it may be from x.
    Where outputs depend on the input, the right side asks which of the other input's outputs is the same. Densities are
    compared piece against piece, and the support must not depend on the input. A flat density is compared everywhere if
    that can be proved, else where the two pieces overlap (multiplied by the overlap's length).
    Raises BadClaimError if the law is none (`require_channel`) or has no input, so that nothing would be private.
    """
    if isinstance(law, SymbolicWeights):
        return _weights_private(law, t)
    if not law.inputs:
        raise BadClaimError(f"channel {law.name!r} has no inputs, so there is nothing that it could keep private")
    require_channel(law)
    other = law.twin() if neighbour is None else neighbour
    return (*_atoms_private(law, other, t), *_pieces_private(law, other, t))


def require_channel(law: SymbolicChannel | SymbolicWeights) -> None:
    """Show that it is a law: total 1, nothing below 0, no two outputs the same, pieces one after the other.

    Raises BadClaimError that names the channel, the atom and a point of the domain where it fails.
    """
    if isinstance(law, SymbolicWeights):
        for one in law.classes:
            _require(law, at_most(0, one.probability), f"the probability of {one.label} must be >= 0")
    else:
        _require_atoms(law)
        _require_pieces(law)
    _require(law, equal(law.total(), 1), "the probabilities must add up to 1")


def _atoms_private(mine: SymbolicChannel, theirs: SymbolicChannel, t: Any) -> list[Statement]:
    moving = mine.outputs_depend_on_inputs()
    parts = []
    for one, other in zip(mine.atoms, theirs.atoms, strict=True):
        at_theirs = theirs.probability_of(one.output) if moving else other.probability
        parts.append(at_most(one.probability, t * at_theirs, f"output {one.output}: at most {t} times as likely"))
    return parts


def _pieces_private(mine: SymbolicChannel, theirs: SymbolicChannel, t: Any) -> list[Statement]:
    if not mine.pieces:
        return []
    parts = []
    for side, first, second in (
        ("begins", theirs.pieces[0].lower, mine.pieces[0].lower),
        ("ends", mine.pieces[-1].upper, theirs.pieces[-1].upper),
    ):
        if not (first.is_infinite or second.is_infinite):
            parts.append(at_most(first, second, f"the support {side} no further out than the other input's"))
    for i, one in enumerate(mine.pieces, start=1):
        for j, other in enumerate(theirs.pieces, start=1):
            parts.append(_ratio(one, other, t, f"piece {i} against piece {j}: at most {t} times as dense"))
    return parts


def _ratio(one: Piece, other: Piece, t: Any, label: str) -> Statement:
    """one.density <= t other.density where the two pieces overlap."""
    if one.is_flat() and other.is_flat():
        everywhere = at_most(one.density, t * other.density, label)
        if settle(everywhere).verdict is Verdict.PROVED:
            return everywhere
        overlap = Max(0, Min(one.upper, other.upper) - Max(one.lower, other.lower))
        return at_most(one.density * overlap, t * other.density * overlap, f"{label}, where they overlap")
    begin, end = Max(one.lower, other.lower), Min(one.upper, other.upper)
    ratio = simplify(expand_log(log(one.density) - log(other.density), force=True))
    allowed = getattr(t, "exp_of", None) or expand_log(log(sympify(t)), force=True)
    label += " (in logarithms)"
    if OUTPUT in ratio.free_symbols:
        return at_most(ratio.subs(OUTPUT, Variable(OUTPUT.name, begin, end)), allowed, label)
    overlap = Integer(1) if begin.is_infinite or end.is_infinite else Max(0, end - begin)
    return at_most(ratio * overlap, allowed * overlap, label)


def _weights_private(law: SymbolicWeights, t: Any) -> tuple[Statement, ...]:
    require_channel(law)
    return tuple(
        at_most(one.probability, t * other.probability, f"{one.label} against {other.label}: at most {t} times")
        for one in law.classes
        for other in law.classes
        if one is not other and one.group == other.group
    )


def _require_atoms(channel: SymbolicChannel) -> None:
    for index, atom in enumerate(channel.atoms):
        _require(channel, at_most(0, atom.probability), f"the probability of output {atom.output} must be >= 0")
        for later in channel.atoms[index + 1 :]:
            _require(
                channel, differ(atom.output, later.output), f"outputs {atom.output} and {later.output} must differ"
            )


def _require_pieces(channel: SymbolicChannel) -> None:
    for piece, following in zip_longest(channel.pieces, channel.pieces[1:]):
        _require(channel, at_most(0, _coefficient(piece)), f"the density {piece.density} must be >= 0")
        if not (piece.lower.is_infinite or piece.upper.is_infinite):
            rule = f"piece {piece.lower} .. {piece.upper} must not end before it begins"
            _require(channel, at_most(piece.lower, piece.upper), rule)
        if following is not None:
            rule = f"a piece must begin where the one before ends, at {piece.upper}"
            _require(channel, equal(piece.upper, following.lower), rule)


def _coefficient(piece: Piece) -> Expr:
    """The density without its exponential factors, which are positive; the output ranges over the piece."""
    factors = [factor for factor in Mul.make_args(piece.density) if not isinstance(factor, exp)]
    return Mul(*factors).subs(OUTPUT, Variable(OUTPUT.name, piece.lower, piece.upper))


def _require(law: SymbolicChannel | SymbolicWeights, statement: Statement, rule: str) -> None:
    settled = settle(statement)
    if settled.verdict is Verdict.PROVED:
        return
    if settled.verdict is not Verdict.REFUTED:
        raise BadClaimError(f"channel {law.name!r}: {rule}; this could not be shown on its domain")
    evidence = settled.evidence
    where = ", ".join(f"{name} = {number}" for name, number in evidence.get("point", {}).items())
    found = evidence["right"] if statement.relation == "<=" else evidence["left"]
    raise BadClaimError(f"channel {law.name!r}: {rule}, got {found}" + (f" at {where}" if where else ""))
