"""Few combinations of parameters that hold all pairs of values: what CI runs of a full product.

A fault shows at one value, or where two values meet, far more often than only where three do (Kuhn, Wallace and Gallo,
IEEE TSE 30(6), 2004). So of every test with three `parametrize` or more CI runs a covering array of strength 2, and of
a test with `@pytest.mark.covering(1)` every value once; the whole product runs with `--slow`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from zlib import crc32

import pytest

Values = frozenset[tuple[str, int]]
"""Names of parameters, each with the place of its value."""


def covering(cases: Sequence[Mapping[str, int]], strength: int = 2) -> list[int]:
    """Choose places of `cases` that hold every combination of `strength` values that occurs in any of them.

    Greedy: next is the case with the most that is new; among equals, the one whose values were used least. What is
    still equal is settled by a checksum, so that the first values do not all meet each other.
    """
    if len(cases[0]) <= strength:
        return list(range(len(cases)))
    parts = [set(combinations_of(case, strength)) for case in cases]
    missing = set().union(*parts)
    used: Counter[tuple[str, int]] = Counter()
    chosen = []
    while missing:
        best = max(
            range(len(cases)),
            key=lambda place: (
                len(parts[place] & missing),
                -sum(used[value] for value in cases[place].items()),
                crc32(repr(sorted(cases[place].items())).encode()),
            ),
        )
        chosen.append(best)
        missing -= parts[best]
        used.update(cases[best].items())
    return sorted(chosen)


def combinations_of(case: Mapping[str, int], strength: int) -> Iterator[Values]:
    """List the combinations of `strength` values of one case; all of it, where it has fewer."""
    return map(frozenset, combinations(sorted(case.items()), min(strength, len(case))))


def numbered(cases: Sequence[pytest.Item]) -> list[dict[str, int]]:
    """Number the values of each `parametrize` of one test, in the order in which its cases have them.

    Names that one `parametrize` gives values together are one parameter.
    """
    together = [names_of(mark) for mark in cases[0].iter_markers("parametrize")]
    seen: dict[str, dict[tuple[int, ...], int]] = {}
    found = []
    for case in cases:
        assert isinstance(case, pytest.Function)
        params = case.callspec.params
        alone = [(name,) for name in params if not any(name in names for names in together)]
        values = {",".join(names): tuple(id(params[name]) for name in names) for names in [*together, *alone]}
        found.append(
            {name: seen.setdefault(name, {}).setdefault(value, len(seen[name])) for name, value in values.items()}
        )
    return found


def names_of(mark: pytest.Mark) -> tuple[str, ...]:
    """List the names that a `parametrize` gives values."""
    names = mark.args[0]
    return tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else tuple(names)
