"""The parts of an epsilon-LDP claim about a channel with finitely many outputs, and whether a channel is one."""

from __future__ import annotations

from typing import Any

from ldp_audit.claims.settle import BadClaimError, settle
from ldp_audit.claims.statement import Statement, at_most, differ, equal
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms.channel import SymbolicChannel


def is_private(channel: SymbolicChannel, t: Any) -> tuple[Statement, ...]:
    """One part an output: P(output | x) <= t P(output | x') for all inputs x, x'. With t = e**epsilon: epsilon-LDP.

    Where outputs depend on the input, the right side asks which of the other input's outputs is the same.
    Raises BadClaimError if the channel is none (`require_channel`) or has no input, so that nothing would be private.
    """
    if not channel.inputs:
        raise BadClaimError(f"channel {channel.name!r} has no inputs, so there is nothing that it could keep private")
    require_channel(channel)
    other = channel.twin()
    moving = channel.outputs_depend_on_inputs()
    parts = []
    for mine, theirs in zip(channel.atoms, other.atoms, strict=True):
        at_theirs = other.probability_of(mine.output) if moving else theirs.probability
        parts.append(at_most(mine.probability, t * at_theirs, f"output {mine.output}: at most {t} times as likely"))
    return tuple(parts)


def require_channel(channel: SymbolicChannel) -> None:
    """Show that the atoms are a law: total 1, no probability below 0, no two outputs the same.

    Raises BadClaimError that names the channel, the atom and a point of the domain where it fails.
    """
    for index, atom in enumerate(channel.atoms):
        _require(channel, at_most(0, atom.probability), f"the probability of output {atom.output} must be >= 0")
        for later in channel.atoms[index + 1 :]:
            _require(
                channel, differ(atom.output, later.output), f"outputs {atom.output} and {later.output} must differ"
            )
    _require(channel, equal(channel.total(), 1), "the probabilities must add up to 1")


def _require(channel: SymbolicChannel, statement: Statement, rule: str) -> None:
    settled = settle(statement)
    if settled.verdict is Verdict.PROVED:
        return
    if settled.verdict is not Verdict.REFUTED:
        raise BadClaimError(f"channel {channel.name!r}: {rule}; this could not be shown on its domain")
    evidence = settled.evidence
    where = ", ".join(f"{name} = {number}" for name, number in evidence.get("point", {}).items())
    found = evidence["right"] if statement.relation == "<=" else evidence["left"]
    raise BadClaimError(f"channel {channel.name!r}: {rule}, got {found}" + (f" at {where}" if where else ""))
