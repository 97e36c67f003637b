"""The formal parts of an epsilon-LDP claim about a symbolic channel, and the validation of the channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, permutations, zip_longest
from typing import Any

from sympy import Add, Expr, Integer, Max, Min, Mul, exp, expand_log, log, simplify, sympify

from ldp_audit.claims.engines.enumeration import values_of
from ldp_audit.claims.language.statement import Quantities, Statement, at_most, differ, equal, less
from ldp_audit.claims.settling import BadClaimError, settle
from ldp_audit.claims.verdict import Verdict
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT, Piece
from ldp_audit.mechanisms.variable import Variable, exact, ranges_over_all_exponentials, substituted
from ldp_audit.mechanisms.weights import OutputClass, SymbolicWeights
from ldp_audit.numerics import instance

_MAX_OUTPUTS = 6
"""With a delta every nonempty set of outputs is a part: 63 sets of 6 outputs."""


def is_private(
    law: SymbolicChannel | SymbolicWeights, t: Any, *, neighbour: SymbolicChannel | None = None, delta: Any = 0
) -> tuple[Statement, ...]:
    """One part per output: P(output | x) <= t P(output | x') for all inputs x, x'. With t = e**epsilon this is
    epsilon-LDP.

    neighbour: the channel at the second input, if not every input is a neighbour: `law.at({x: near})`, where the domain
        of `near` bounds its distance from x. Both directions are stated, from x to near and back.
    delta: P(S | x) <= t P(S | x') + delta for every set S of outputs, one part per set: for channels with at most 6
        outputs and no density.

    If outputs depend on the input, the right side identifies the equal output of the other input. Densities are
    compared piece by piece, and the support must not depend on the input. A flat density is compared everywhere if that
    can be proved, else where the two pieces overlap (multiplied by the overlap's length).

    Every variable of a channel must be one of its inputs or named `public`, except epsilon, its exponentials, and the
    variables of t: an input that is not declared would otherwise count as public.
    Raises BadClaimError if one is not, if the channel or its neighbour is invalid (`require_channel`), if the channel
    has no input, so that nothing would be private, if it is its own neighbour or has another shape, and for t <= 0.
    """
    instance(law, (SymbolicChannel, SymbolicWeights), "law", "a SymbolicChannel or SymbolicWeights")
    instance(neighbour, (SymbolicChannel, type(None)), "neighbour", "a SymbolicChannel, or None")
    for name, value in (("t", t), ("delta", delta)):
        try:
            instance(exact(value), Expr, name, "an expression")
        except ValueError as error:
            raise BadClaimError(f"{name}: {error}") from None
    if sympify(t).is_nonpositive:
        raise BadClaimError(f"the ratio t must be positive, got {t}")
    approximate = sympify(delta) != 0
    if isinstance(law, SymbolicWeights):
        if approximate:
            raise BadClaimError(f"delta needs a channel with its outputs one by one, got {law.name!r}")
        return _weights_private(law, t)
    if approximate and (law.pieces or law.families() or len(law.atoms) > _MAX_OUTPUTS):
        raise BadClaimError(
            f"delta needs a channel of at most {_MAX_OUTPUTS} outputs and no density, got {law.name!r} with "
            f"{len(law.atoms)} outputs and {len(law.pieces)} pieces; write the divergence out instead"
        )
    if not law.inputs:
        raise BadClaimError(f"channel {law.name!r} has no inputs, so there is nothing that it could keep private")
    unnamed = [v.name for v in law.unnamed() if v not in sympify(t).free_symbols]
    if unnamed:
        raise BadClaimError(
            f"channel {law.name!r} does not say whether {', '.join(unnamed)} is private: name it in inputs=(...) if it "
            "is, or in public=(...) if everybody knows it"
        )
    require_channel(law)
    if neighbour is None:
        by_value = () if approximate else _values_private(law, t)
        return by_value or _parts(law, law.twin(), t, delta)
    _require_neighbour(law, neighbour)
    return tuple(
        part
        for one, other, way in ((law, neighbour, ""), (neighbour, law, ", back"))
        for found in _parts(one, other, t, delta)
        for part in [replace(found, label=found.label + way)]
    )


def _parts(mine: SymbolicChannel, theirs: SymbolicChannel, t: Any, delta: Any) -> tuple[Statement, ...]:
    if sympify(delta) == 0:
        return (*_atoms_private(mine, theirs, t), *_pieces_private(mine, theirs, t))
    moving = _outputs_move(mine, theirs)
    gains = [
        one.probability - t * (theirs.probability_of(one.output) if moving else other.probability)
        for one, other in zip(mine.atoms, theirs.atoms, strict=True)
    ]
    sets = [chosen for size in range(1, len(gains) + 1) for chosen in combinations(range(len(gains)), size)]
    return tuple(
        at_most(
            Add(*(gains[place] for place in chosen)), delta, f"outputs {_listed(mine, chosen)}: {t} and {delta} suffice"
        )
        for chosen in sets
    )


def _outputs_move(mine: SymbolicChannel, theirs: SymbolicChannel) -> bool:
    """Whether the outputs in one place of their lists may be different ones."""
    pairs = zip(mine.atoms, theirs.atoms, strict=True)
    moves = mine.outputs_depend_on_inputs() or theirs.outputs_depend_on_inputs()
    return moves or any(one.output != other.output for one, other in pairs)


def _listed(law: SymbolicChannel, places: Sequence[int]) -> str:
    return ", ".join(str(law.atoms[place].output) for place in places)


def require_channel(law: SymbolicChannel | SymbolicWeights) -> None:
    """Prove that it is a channel: total 1, no negative probability, distinct outputs, pieces in order.

    Raises BadClaimError that names the channel, the atom and a point of the domain where this fails.
    """
    if isinstance(law, SymbolicWeights):
        for one in law.classes:
            _require(law, at_most(0, _in_family(one, one.probability)), f"the probability of {one.label} must be >= 0")
            _require(law, at_most(0, _in_family(one, one.count)), f"the number of {one.label} must be >= 0")
            if one.count.is_number and not one.count.is_Integer:
                raise BadClaimError(f"{law.name!r}: the number of {one.label} must be whole, got {one.count}")
    else:
        _require_atoms(law)
        _require_pieces(law)
    rows = _rows_by_value(law) if isinstance(law, SymbolicChannel) else None
    for total in [law.total()] if rows is None else dict.fromkeys(Add(*row) for row in rows):
        _require(law, equal(total, 1), "the probabilities must add up to 1")


def _atoms_private(mine: SymbolicChannel, theirs: SymbolicChannel, t: Any) -> list[Statement]:
    moving = _outputs_move(mine, theirs)
    parts = []
    for one, other in zip(mine.atoms, theirs.atoms, strict=True):
        at_theirs = theirs.probability_of(one.output) if moving else other.probability
        label = f"output {one.output}: at most {t} times as likely"
        sides = _between(mine, theirs, f"the output {one.output} has probability", t)
        parts.append(at_most(one.probability, t * at_theirs, label, sides=sides))
    return parts


def _between(mine: SymbolicChannel, theirs: SymbolicChannel, of: str, t: Any) -> Quantities:
    """What the two sides are, where a size on one input is compared with t times that on another."""
    names = (", ".join(v.name for v in law.inputs) for law in (mine, theirs))
    left, right = (f"input ({name})" if "," in name else f"input {name}" for name in names)
    return Quantities(left, right, of, sympify(t))


def _values_private(law: SymbolicChannel, t: Any) -> tuple[Statement, ...]:
    """One part for each different pair of probabilities that an output has at two values; see `_rows_by_value`.

    Of vectors many outputs have the same probabilities, at other values.
    """
    rows, parts = _rows_by_value(law), {}
    values = values_of(law.inputs[0]) if rows else range(0)
    for (first, one), (second, other) in permutations(zip(values, rows or (), strict=True), 2):
        for atom, likely, rare in zip(law.atoms, one, other, strict=True):
            if likely != rare and (likely, rare) not in parts:
                where = f"{law.inputs[0]} = {first} against {second}"
                sides = Quantities(
                    f"input {first}", f"input {second}", f"the output {atom.output} has probability", sympify(t)
                )
                label = f"output {atom.output}, {where}: at most {t} times"
                parts[likely, rare] = at_most(likely, t * rare, label, sides=sides)
    return tuple(parts.values())


@lru_cache(maxsize=8)
def _rows_by_value(law: SymbolicChannel) -> list[list[Expr]] | None:
    """The probabilities of all outputs at each value of the only input; None but for vectors and a finite range."""
    if not law.is_vector() or len(law.inputs) != 1 or not values_of(law.inputs[0]):
        return None
    swaps = [{law.inputs[0]: Integer(value)} for value in values_of(law.inputs[0])]
    return [[substituted(atom.probability, swap) for atom in law.atoms] for swap in swaps]


def _pieces_private(mine: SymbolicChannel, theirs: SymbolicChannel, t: Any) -> list[Statement]:
    if not mine.pieces:
        return []
    support = [one for one in mine.pieces if one.density != 0] or mine.pieces
    parts = []
    for side, first, second in (
        ("begins", theirs.pieces[0].lower, support[0].lower),
        ("ends", support[-1].upper, theirs.pieces[-1].upper),
    ):
        if not (first.is_infinite or second.is_infinite):
            parts.append(at_most(first, second, f"the support {side} no further out than the other input's"))
    for i, one in enumerate(mine.pieces, start=1):
        for j, other in enumerate(theirs.pieces, start=1):
            part = _ratio(one, other, t, f"piece {i} against piece {j}: at most {t} times as dense")
            parts += [part] if part else []
    return parts


def _ratio(one: Piece, other: Piece, t: Any, label: str) -> Statement | None:
    """one.density <= t other.density where the two pieces overlap; None if they never do."""
    if one.is_flat() and other.is_flat():
        everywhere = at_most(one.density, t * other.density, label)
        if settle(everywhere).verdict is Verdict.PROVED:
            return everywhere
        overlap = Max(0, Min(one.upper, other.upper) - Max(one.lower, other.lower))
        return at_most(one.density * overlap, t * other.density * overlap, f"{label}, where they overlap")
    begin, end = Max(one.lower, other.lower), Min(one.upper, other.upper)
    endless = begin.is_infinite or end.is_infinite
    if not endless and settle(at_most(end, begin)).verdict is Verdict.PROVED:
        return None
    overlap = Integer(1) if endless else Max(0, end - begin)
    where = Variable(OUTPUT.name, begin, end, open="both")
    if _are_exponentials(one, other):
        left = simplify(expand_log(log(one.density) - log(other.density), force=True))
        right, label = _logarithm(sympify(t)), f"{label} (in logarithms)"
    else:
        common = Mul(*(factor for factor in Mul.make_args(one.density) if isinstance(factor, exp)))
        left, right = one.density / common, t * simplify(other.density / common)
    if OUTPUT in left.free_symbols | right.free_symbols:
        return at_most(left.subs(OUTPUT, where), right.subs(OUTPUT, where), label)
    return at_most(left * overlap, right * overlap, label)


def _logarithm(t: Expr) -> Expr:
    """The exponent of t, if t is a variable with `exp_of`, and no other bound than its exponent's."""
    known = t.exp_of if isinstance(t, Variable) and ranges_over_all_exponentials(t) else None
    return expand_log(log(t), force=True) if known is None else known


def _are_exponentials(one: Piece, other: Piece) -> bool:
    """Whether both are positive, and the logarithm of their ratio is rational in the output."""
    apart = [factor for piece in (one, other) for factor in Mul.make_args(piece.density) if not isinstance(factor, exp)]
    if not (one.density.has(exp) or other.density.has(exp)) or any(OUTPUT in factor.free_symbols for factor in apart):
        return False
    return all(settle(less(0, _coefficient(piece))).verdict is Verdict.PROVED for piece in (one, other))


def _weights_private(law: SymbolicWeights, t: Any) -> tuple[Statement, ...]:
    require_channel(law)
    return tuple(
        at_most(
            _in_family(one, one.probability),
            t * _in_family(other, other.probability, "_prime"),
            label,
            sides=Quantities(one.label, other.label, "the mechanism's probability is", sympify(t)),
        )
        for one in law.classes
        for other in law.classes
        if (one is not other or one.index) and one.group == other.group
        for label in [f"{one.label} against {other.label}: at most {t} times"]
    )


def _in_family(one: OutputClass, expression: Expr, suffix: str = "") -> Expr:
    """The expression for every class of a family: its index ranges from the first to the last."""
    if one.index is None:
        return expression
    variable, first, last = one.index
    return expression.subs(variable, Variable(variable.name + suffix, first, last, integer=True))


def _require_neighbour(law: SymbolicChannel, neighbour: SymbolicChannel) -> None:
    if neighbour == law:
        raise BadClaimError(f"the neighbour of channel {law.name!r} must be at another input, got the channel itself")
    shapes = [
        (len(one.atoms), [(piece.lower.is_infinite, piece.upper.is_infinite) for piece in one.pieces])
        for one in (law, neighbour)
    ]
    if shapes[0] != shapes[1]:
        raise BadClaimError(
            f"the neighbour of channel {law.name!r} must have its atoms and pieces, got {neighbour.name!r} with others"
        )
    require_channel(neighbour)


def _require_atoms(channel: SymbolicChannel) -> None:
    rows, shown = _rows_by_value(channel), set()
    for place, atom in enumerate(channel.atoms):
        for probability in [atom.probability] if rows is None else [row[place] for row in rows]:
            if probability not in shown:
                _require(channel, at_most(0, probability), f"the probability of output {atom.output} must be >= 0")
            shown.add(probability)
        for later in channel.atoms[place + 1 :]:
            pairs = list(zip(atom.coordinates(), later.coordinates(), strict=True))
            if any(a.is_Rational and b.is_Rational and a != b for a, b in pairs):
                continue
            apart = differ(*pairs[0]) if not channel.is_vector() else differ(Add(*((a - b) ** 2 for a, b in pairs)), 0)
            _require(channel, apart, f"outputs {atom.output} and {later.output} must differ")


def _require_pieces(channel: SymbolicChannel) -> None:
    for piece, following in zip_longest(channel.pieces, channel.pieces[1:]):
        _require(channel, at_most(0, _coefficient(piece)), f"the density {piece.density} must be >= 0")
        if not (piece.lower.is_infinite or piece.upper.is_infinite):
            rule = f"piece {piece.lower} .. {piece.upper} must not end before it begins"
            _require(channel, at_most(piece.lower, piece.upper), rule)
        if following is not None:
            rule = f"a piece must begin where the one before ends, at {piece.upper}"
            _require(channel, equal(following.lower, piece.upper), rule)


def _coefficient(piece: Piece) -> Expr:
    """The density without its positive exponential factors; the output ranges over the interior of the piece."""
    factors = [factor for factor in Mul.make_args(piece.density) if not isinstance(factor, exp)]
    return Mul(*factors).subs(OUTPUT, Variable(OUTPUT.name, piece.lower, piece.upper, open="both"))


def _require(law: SymbolicChannel | SymbolicWeights, statement: Statement, rule: str) -> None:
    settled = settle(statement)
    if settled.verdict is Verdict.PROVED:
        return
    if settled.verdict is not Verdict.REFUTED:
        raise BadClaimError(
            f"channel {law.name!r}: {rule}; this could not be shown on its domain: {settled.evidence['reason']}"
        )
    evidence = settled.evidence
    where = ", ".join(f"{name} = {number}" for name, number in evidence.get("point", {}).items())
    found = evidence["right"] if statement.relation == "<=" else evidence["left"]
    raise BadClaimError(f"channel {law.name!r}: {rule}, got {found}" + (f" at {where}" if where else ""))
