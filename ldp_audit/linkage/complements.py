"""Values that complete each other: of m clients with the same two reports, each id occurs m times among both together.

Each id gets two words of 64 bits; the ids of a value have the sum of its words, modulo 2**64. Two values complete each
other only if their sums and those of all ids agree, which is then checked id by id.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray


def complements(labels: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """The group of each value: that of its only partner, or its own.

    labels: which of the values 0 .. k - 1 each report has; ids: its id; one shape.
    A value that holds every id equally often is complete without a partner. Shape (k,), the least value of a group.
    """
    known, place = np.unique(ids.ravel(), return_inverse=True)
    values = labels.ravel()
    words = _words(len(known))
    count = int(values.max()) + 1
    sums = np.zeros((2, count), dtype=np.uint64)
    for row, word in zip(sums, words, strict=True):
        np.add.at(row, values, word[place])
    sizes = np.bincount(values, minlength=count)
    keys = [(int(a), int(b), int(size)) for a, b, size in zip(*sums, sizes, strict=True)]
    whole = (int(words[0].sum()), int(words[1].sum()), len(known))
    partners = _partners(keys, whole)
    order = np.argsort(values, kind="stable")
    places = np.split(place[order], np.cumsum(sizes)[:-1])
    groups = np.arange(count)
    for value, others in partners.items():
        if len(others) == 1 and partners[others[0]] == [value]:
            times = np.bincount(np.concatenate([places[value], places[others[0]]]), minlength=len(known))
            if times.min() == times.max():
                groups[value] = min(value, others[0])
    return groups


def _words(count: int) -> NDArray[np.uint64]:
    """Two words for each id; always the same, so that a linking can be repeated."""
    return np.random.default_rng(0).integers(2**64, size=(2, count), dtype=np.uint64)


def _partners(keys: list[tuple[int, int, int]], whole: tuple[int, int, int]) -> dict[int, list[int]]:
    """The values whose sums complete each value's to m of all ids, for any m; complete values are left out."""
    most = 2 * max(size for _, _, size in keys) // whole[2]
    multiples = {m: tuple(m * part % 2**64 for part in whole[:2]) for m in range(1, most + 1)}
    by_key: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for value, key in enumerate(keys):
        if key[:2] != multiples.get(key[2] // whole[2]) or key[2] % whole[2]:
            by_key[key].append(value)
    found: dict[int, list[int]] = {}
    for key, members in by_key.items():
        for m, (first, second) in multiples.items():
            rest = ((first - key[0]) % 2**64, (second - key[1]) % 2**64, m * whole[2] - key[2])
            for value in members if rest[2] > 0 and rest in by_key else ():
                found.setdefault(value, []).extend(by_key[rest])
    return found
