"""Small experiments with a random sample, enumerated in fractions: the distribution of a mechanism's output on each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from itertools import combinations, product
from math import comb

Data = tuple[int, ...]
Law = dict[Hashable, Fraction]
Channel = Callable[[Data], Law]


def randomized_response(t: Fraction, values: int, statistic: Callable[[Data], int]) -> Channel:
    """k-ary randomised response of e**epsilon = t on a statistic of the sample."""
    rest = 1 / (t + values - 1)
    return lambda sample: {y: t * rest if y == statistic(sample) else rest for y in range(values)}


def each_reported(t: Fraction) -> Channel:
    """Binary randomised response of every record in the sample; the reports are counted."""
    share = t / (1 + t)

    def law(sample: Data) -> Law:
        counts = {0: Fraction(1)}
        for record in sample:
            one = share if record else 1 - share
            counts = {
                c: counts.get(c, Fraction(0)) * (1 - one) + counts.get(c - 1, Fraction(0)) * one
                for c in range(len(counts) + 1)
            }
        return {**counts}

    return law


def geometric_count(t: Fraction, most: int) -> Channel:
    """The number of ones in the sample by a geometric mechanism cut off at 0 and `most`; t for each step."""

    def law(sample: Data) -> Law:
        count = sum(sample)
        weights = {y: t ** -abs(y - count) * (1 if y in (0, most) else 1 - 1 / t) for y in range(most + 1)}
        return {y: w / sum(weights.values()) for y, w in weights.items()}

    return law


def poisson(data: Data, rate: Fraction) -> Iterator[tuple[Data, Fraction]]:
    """All samples and their probabilities."""
    for drawn in product((0, 1), repeat=len(data)):
        sample = tuple(x for x, d in zip(data, drawn, strict=True) if d)
        yield sample, rate ** sum(drawn) * (1 - rate) ** (len(data) - sum(drawn))


def without_replacement(data: Data, k: int) -> Iterator[tuple[Data, Fraction]]:
    """All samples and their probabilities."""
    for sample in combinations(data, k):
        yield sample, Fraction(1, comb(len(data), k))


def with_replacement(data: Data, k: int) -> Iterator[tuple[Data, Fraction]]:
    """All samples and their probabilities."""
    for sample in product(data, repeat=k):
        yield sample, Fraction(1, len(data) ** k)


def shown(samples: Iterator[tuple[Data, Fraction]], channel: Channel) -> Law:
    """The distribution of the channel's output on the sample."""
    law: Counter[Hashable] = Counter()
    for sample, weight in samples:
        for y, p in channel(sample).items():
            law[y] += weight * p  # type: ignore[assignment]
    return dict(law)  # type: ignore[arg-type]


def hockey_stick(first: Law, second: Law, t: Fraction) -> Fraction:
    """The sum of (P - t Q)_+."""
    outcomes = {**first, **second}
    return sum(
        (max(Fraction(0), first.get(y, Fraction(0)) - t * second.get(y, Fraction(0))) for y in outcomes), Fraction(0)
    )
