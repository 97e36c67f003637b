"""The two events that distinguish neighbouring data sets: whether the sample contains the record in which they differ.

Among samples without that record, the two probabilities have one constant ratio (first parts of NF-T1 and NF-T2). The
distribution of the two events is therefore sufficient, for all n and k; the enumerated distributions of all samples
(`samples.py`) confirm it for n = 1 .. 6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sympy import Expr, Rational

from ldp_audit.accounting.laws.finite_laws import Law
from ldp_audit.claims.language.statement import Statement, at_most
from ldp_audit.mechanisms.selection.subsample_release import WITH_REPLACEMENT, WITHOUT_REPLACEMENT
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.papers.fedmd_nfdp.claims.samples import largest_excess
from ldp_audit.papers.fedmd_nfdp.claims.symbols import k, kept, left_out, n, n_spare

Bound = tuple[Any, Any]
"""(e**epsilon, delta)."""

_present = Variable("z", 0, 1, integer=True)


@dataclass(frozen=True)
class Pair:
    """An ordered pair of neighbours: the probabilities that the sample contains the record (1) or not (0), under each.

    n: the size of D, with its domain.
    """

    direction: str
    n: Variable
    first: Law
    second: Law

    def gain(self, t: Any, seen: int = 1) -> Expr:
        """P(event) - t Q(event)."""
        return self.first[seen] - t * self.second[seen]


def _without(size: Expr, present: int) -> Law:
    law = WITHOUT_REPLACEMENT.at({n: size, k: k, _present: present})
    return {atom.output: atom.probability for atom in law.atoms}


def _with(size: Expr, not_drawn: Expr, present: int) -> Law:
    law = WITH_REPLACEMENT.at({n: size, k: k, _present: present})
    return {atom.output: atom.probability.subs((1 - 1 / size) ** k, not_drawn) for atom in law.atoms}


WITHOUT = (
    Pair("from D to D less x", n_spare, _without(n_spare, 1), _without(n_spare, 0)),
    Pair("from D less x to D", n_spare, _without(n_spare, 0), _without(n_spare, 1)),
    Pair("from D to D and x", n, _without(n + 1, 0), _without(n + 1, 1)),
    Pair("from D and x to D", n, _without(n + 1, 1), _without(n + 1, 0)),
)
WITH = (
    Pair("from D to D less x", n, _with(n, left_out, 1), _with(n, left_out, 0)),
    Pair("from D less x to D", n, _with(n, left_out, 0), _with(n, left_out, 1)),
    Pair("from D to D and x", n, _with(n + 1, kept, 0), _with(n + 1, kept, 1)),
    Pair("from D and x to D", n, _with(n + 1, kept, 1), _with(n + 1, kept, 0)),
)


def bounded(pairs: tuple[Pair, ...], bound: Callable[[Variable], Bound], what: str = "") -> tuple[Statement, ...]:
    """P(event) <= t Q(event) + delta for both events and every direction; for the empty and the full event it is 1 <=
    t.

    bound: from n to (t, delta).   what: prefix of each label.
    """
    return tuple(
        at_most(pair.gain(bound(pair.n)[0], seen), bound(pair.n)[1], f"{what}{pair.direction}: {words}")
        for pair in pairs
        for seen, words in ((1, "the sample holds x"), (0, "it does not"))
    )


def theorem_1_pair(size: Any) -> Bound:
    """Theorem 1 without replacement, for k draws."""
    return (size + 1) / (size + 1 - k), k / size


def theorem_2_pair(_size: Any) -> Bound:
    """Theorem 2 with replacement, for k draws."""
    return 1 / kept, 1 - left_out


def listed(
    claimed: Callable[[int, int], Bound], *, replacement: bool, substitution: bool = False, what: str
) -> tuple[Statement, ...]:
    """delta(t) <= d for (t, d) = claimed(n, k), n = 1 .. 6, over all pairs, from the distributions of all samples.

    k = 1 .. n without replacement, 1 .. 4 with.   substitution: replacing a record gives a neighbour too.
    """
    statements = []
    for size in range(1, 7):
        most = 4 if replacement else size
        excess = largest_excess(size, most, claimed, replacement=replacement, substitution=substitution)
        statements.append(at_most(excess, 0, f"n = {size}, k = 1 .. {most}, all samples listed: {what}"))
    return tuple(statements)


def theorem_1_numbers(records: int, draws: int) -> Bound:
    """Theorem 1's pair as numbers."""
    return Rational(records + 1, records + 1 - draws), Fraction(draws, records)


def theorem_2_numbers(records: int, draws: int) -> Bound:
    """Theorem 2's pair as numbers."""
    return Rational(records + 1, records) ** draws, 1 - (1 - Fraction(1, records)) ** draws


def without_epsilon(numbers: Callable[[int, int], Bound]) -> Callable[[int, int], Bound]:
    """The same delta with epsilon = 0."""
    return lambda records, draws: (1, numbers(records, draws)[1])
