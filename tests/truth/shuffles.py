"""Shuffled reports of few clients, by all histograms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations_with_replacement, permutations

import numpy as np
from flint import arb

from tests.truth import parts
from tests.truth.draws import Asked, Rng, asked, budget, pick, round_to
from tests.truth.questions import Truth
from tests.truth.truths import ONE, ZERO, Number, Outcomes, binomial, exp, fraction


def histograms(rows: Sequence[Sequence[arb]]) -> dict[tuple[int, ...], arb]:
    """The distribution of how often each output occurs, of independent reports with these probabilities."""
    found = {(0,) * len(rows[0]): ONE}
    for row in rows:
        longer: dict[tuple[int, ...], arb] = {}
        for counts, mass in found.items():
            for j, chance in enumerate(row):
                key = (*counts[:j], counts[j] + 1, *counts[j + 1 :])
                longer[key] = longer.get(key, ZERO) + mass * chance
        found = longer
    return found


def shuffled(first: Sequence[arb], second: Sequence[arb], others: Sequence[Sequence[arb]]) -> Outcomes:
    """The shuffled reports of one client, by the first or the second row, and of the others, as a pair."""
    base = histograms(others) if others else {(0,) * len(first): ONE}
    masses: dict[tuple[int, ...], list[arb]] = {}
    for counts, mass in base.items():
        for j, (p, q) in enumerate(zip(first, second, strict=True)):
            key = (*counts[:j], counts[j] + 1, *counts[j + 1 :])
            entry = masses.setdefault(key, [ZERO, ZERO])
            entry[0], entry[1] = entry[0] + mass * p, entry[1] + mass * q
    return Outcomes.of((p, q) for p, q in masses.values())


def clones(epsilon: Number, clients: int) -> Outcomes:
    """Above every mechanism of this epsilon, shuffled: Feldman, McMillan, Talwar (FOCS 2021), Theorem 3.1."""
    odds = exp(epsilon)
    truth = odds / (1 + odds)
    masses: dict[tuple[int, int], list[arb]] = {}
    for copies, mass in enumerate(binomial(clients - 1, 1 / odds)):
        for ahead, share in enumerate(binomial(copies, fraction(1, 2))):
            for key, p, q in (
                ((ahead + 1, copies - ahead), truth, 1 - truth),
                ((ahead, copies - ahead + 1), 1 - truth, truth),
            ):
                entry = masses.setdefault(key, [ZERO, ZERO])
                entry[0], entry[1] = entry[0] + mass * share * p, entry[1] + mass * share * q
    return Outcomes.of((p, q) for p, q in masses.values())


def _rows(epsilon: float, k: int) -> list[list[arb]]:
    total = exp(epsilon) + k - 1
    return [[(exp(epsilon) if i == j else arb(1)) / total for j in range(k)] for i in range(k)]


def shuffling(rng: Rng) -> Asked:
    """Shuffled reports of few clients, by all histograms."""
    choice, epsilon = rng.random(), budget(rng, 1e-3, 8.0)
    if choice < 0.4:
        n, rows = int(rng.integers(2, 31)), _rows(epsilon, 2)
        placed = [[rows[1]] * m + [rows[0]] * (n - 1 - m) for m in range(n)]
        name = str(pick(rng, (f"TwoPoint({epsilon!r})", f"RandomizedResponse({epsilon!r})")))
        code, truth = f"shuffle({name}, {n})", _of_placings(rows, placed, epsilon)
    elif choice < 0.6:
        n, k = (int(rng.integers(2, 11)), 3) if rng.random() < 0.7 else (int(rng.integers(2, 6)), 4)
        rows = _rows(epsilon, k)
        placed = [list(one) for one in combinations_with_replacement(rows, n - 1)]
        code, truth = f"shuffle(RandomizedResponse({epsilon!r}, k={k}), {n})", _of_placings(rows, placed, epsilon)
    elif choice < 0.8:
        code, truth = _placed(rng, epsilon)
    elif choice < 0.9:
        code, truth = _of_clones(rng, epsilon)
    else:
        code, truth, epsilon = _of_channel(rng, epsilon)
    return asked(rng, code, truth, epsilon)


def _of_placings(rows: list[list[arb]], placed: Sequence[Sequence[list[arb]]], epsilon: float) -> Truth:
    """Client 1 has the first value or the second, in either order; the others are placed in each way."""
    found = [shuffled(rows[0], rows[1], others) for others in placed]
    return Truth((*found, *(one.back() for one in found)), epsilon)


def _placed(rng: Rng, epsilon: float) -> tuple[str, Truth]:
    """Two values, and others whose places are known."""
    n, rows = int(rng.integers(2, 31)), _rows(epsilon, 2)
    kind = int(rng.integers(3))
    if kind == 0:
        words = "'one end'"
        placings = [[one] * (n - 1) for one in rows]
    elif kind == 1:
        words, placings = "'center'", [[[fraction(1, 2)] * 2] * (n - 1)]
    else:
        chances = [round_to(float(c), 6) for c in 0.5 + (rng.random(n - 1) - 0.5) * math.tanh(epsilon / 2) * 0.999]
        words, placings = repr(chances), [[[arb(c), 1 - arb(c)] for c in chances]]
    return f"shuffle(TwoPoint({epsilon!r}), {n}, others={words})", _of_placings(rows, placings, epsilon)


def _of_clones(rng: Rng, epsilon: float) -> tuple[str, Truth]:
    """Other mechanisms: the histograms with all others at the second input; from above, by clones."""
    n = int(rng.integers(2, 16))
    part = (parts.piecewise(epsilon), parts.exponential(epsilon, 3), parts.perturbed_sampling(epsilon, 6, 2))[
        int(rng.integers(3))
    ]
    first, second = zip(*part.outcomes[0].pairs, strict=True)
    found = shuffled(first, second, [second] * (n - 1))
    cap = clones(epsilon, n)
    return f"shuffle({part.code}, {n})", Truth((found, found.back()), epsilon, (cap, cap.back()))


def _of_channel(rng: Rng, size: float) -> tuple[str, Truth, float]:
    """Whole masses of ratios up to e**size, about: all pairs of inputs, and the others placed in each way."""
    inputs, outputs, n = (int(rng.integers(low, high)) for low, high in ((2, 4), (2, 4), (2, 6)))
    weights = np.exp(size * rng.random((inputs, outputs)))
    if rng.random() < 0.3:  # nearly alike but for an output
        weights = 1 + weights * (rng.random(weights.shape) < 0.3)
    table = [1 + rng.multinomial(2**40 - outputs, row / row.sum()) for row in weights]
    listed = ", ".join("[" + ", ".join(f"'{mass}/{2**40}'" for mass in row) + "]" for row in table)
    rows = [[fraction(int(mass), 2**40) for mass in row] for row in table]
    found = tuple(
        shuffled(rows[first], rows[second], [rows[one] for one in others])
        for others in combinations_with_replacement(range(inputs), n - 1)
        for first, second in permutations(range(inputs), 2)
    )
    top = max(math.log(p / q) for one, two in permutations(table, 2) for p, q in zip(one, two, strict=True))
    return f"shuffle(FiniteChannel([{listed}]), {n})", Truth(found, top), top
