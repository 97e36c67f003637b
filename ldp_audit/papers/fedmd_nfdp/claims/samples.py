"""The distribution of samples from its definition: all ways to draw k of the records, equally likely."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from typing import Any

from sympy import Add, Expr, Max, Rational

from ldp_audit.accounting.laws.finite_laws import Law, hockey_stick

Records = tuple[str, ...]


@cache
def sample_law(records: Records, k: int, *, replacement: bool) -> Law:
    """The released samples, without the order of the draws, and their probabilities."""
    draws = product(records, repeat=k) if replacement else permutations(records, k)
    ways = Counter(tuple(sorted(draw)) for draw in draws)
    return {sample: Fraction(count, ways.total()) for sample, count in ways.items()}


def neighbours(n: int, k: int, *, replacement: bool) -> Iterator[tuple[str, Records, Records]]:
    """(direction, first, second) for all ordered pairs of neighbours that include D, of n records, and have at least
    k each.
    """
    data = ("x", *(f"r{i}" for i in range(1, n)))
    fewer, more, other = data[1:], (*data, "y"), ("y", *data[1:])
    if len(fewer) >= (1 if replacement else k):
        yield "from D to D less a record", data, fewer
        yield "from D less a record to D", fewer, data
    yield "from D to D and a record", data, more
    yield "from D and a record to D", more, data
    yield "from D to D with a record replaced", data, other


def delta(first: Records, second: Records, k: int, t: Any, *, replacement: bool) -> Expr:
    """delta at e**epsilon = t between the samples of two data sets, as a sum over likelihood ratios."""
    laws = sample_law(first, k, replacement=replacement), sample_law(second, k, replacement=replacement)
    return hockey_stick(*by_ratio(*laws), t)


def by_ratio(first: Law, second: Law) -> tuple[Law, Law]:
    """Samples with equal likelihood ratio merged, which is sufficient for the pair of distributions."""
    together: dict[Fraction, list[Fraction]] = {}
    for sample in {**first, **second}:
        p, r = first.get(sample, Fraction(0)), second.get(sample, Fraction(0))
        masses = together.setdefault(p / (p + r), [Fraction(0), Fraction(0)])
        masses[0] += p
        masses[1] += r
    return tuple({share: masses[i] for share, masses in together.items()} for i in (0, 1))  # type: ignore[return-value]


def largest_excess(
    n: int, most: int, claimed: Callable[[int, int], tuple[Any, Any]], *, replacement: bool, substitution: bool
) -> Expr:
    """max over k = 1 .. most and all pairs of neighbours of delta(t) - d, for (t, d) = claimed(n, k); unevaluated.

    substitution: whether replacing a record gives a neighbour too.
    """
    terms = []
    for k in range(1, most + 1):
        t, d = claimed(n, k)
        for direction, first, second in neighbours(n, k, replacement=replacement):
            if substitution or "replaced" not in direction:
                found = delta(first, second, k, t, replacement=replacement)
                terms.append(Add(found, -Rational(d), evaluate=False))
    return Max(*terms, evaluate=False)
