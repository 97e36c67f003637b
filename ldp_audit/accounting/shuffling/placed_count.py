r"""The loss of a count of two-valued reports among clients whose chances are known one by one, at any depth.

With q the law of the n - 1 others' count, a Poisson binomial, the count's laws are

    P(k) = l q(k) + u q(k - 1),   and Q(k) likewise,

so the loss is a function of q(k - 1)/q(k), and a count that is rarer than any float has one as well. q is added up
client by client; each mass is a float and a power of 2, as the rarest ones lie far below the range of floats. Nothing
is subtracted, so a mass is right to three roundings a client.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.accounting.anonymous_counts import MOST_CLIENTS, check_clients, gap_of, hypotheses
from ldp_audit.accounting.laws.finite_losses import atoms_of
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.mechanisms.inputs import numbers_of

RAREST = 1e-160
"""The least chance of an upper report that is not 0."""

_ROOM = 400.0
"""Binary orders of magnitude that a mass may lose or gain before its power of 2 is set anew."""

Numbers = NDArray[np.float64]


def placed_count(n: int, epsilon: float, others: ArrayLike) -> LossLaw:
    """The loss while client 1 is at the upper end of its range, against the lower one.

    n: clients, 1 .. 10**6.   epsilon: of one report, nats, > 0, at most 350.
    others: n - 1 chances of an upper report, one each, none between 0 and 1e-160; takes n**2 steps.
    Raises ValueError for anything else.
    """
    check_clients(n, MOST_CLIENTS)
    first, second = hypotheses(epsilon, "other end")
    masses, powers = count_masses(_unsure(others, n))
    # q(k) and q(k - 1), both in the power of 2 of the larger one
    stays, moves = np.append(masses, 0.0), np.insert(masses, 0, 0.0)
    own, before = np.append(powers, powers[-1]), np.insert(powers, 0, powers[0])
    shared = np.maximum(own, before)
    stays, moves = np.ldexp(stays, own - shared), np.ldexp(moves, before - shared)
    top, bottom = (one.lower * stays + one.upper * moves for one in (first, second))
    change = gap_of(epsilon, "other end") * (moves - stays) / bottom
    losses = np.where(np.abs(change) < 0.5, np.log1p(np.clip(change, -0.5, 0.5)), np.log(top / bottom))
    return atoms_of(losses, np.log(top) + math.log(2) * shared)


def count_masses(chances: Numbers) -> tuple[Numbers, NDArray[np.int64]]:
    """The law of the number of successes: that of k is masses[k] * 2.0**powers[k], shape (m + 1,) each.

    chances: in [1e-160, 1), shape (m,).
    """
    masses, powers = np.zeros(chances.size + 1), np.zeros(chances.size + 1, dtype=np.int64)
    steps = np.ones(chances.size + 1)  # the powers of the masses before, over their own
    masses[0], moved, odds = 1.0, 0.0, 0.0
    for i, chance in enumerate(chances.tolist()):
        # no mass is more than `odds` times the next one
        most = max(1 - math.log2(min(chance, 1 - chance)), math.log2(1 + odds * chance))
        if moved + most > _ROOM:
            masses[: i + 1], more = np.frexp(masses[: i + 1])
            powers[: i + 1] += more
            powers[i + 1 :] = powers[i]
            steps[1:] = np.ldexp(1.0, powers[:-1] - powers[1:])
            moved = 0.0
        moved, odds = moved + most, odds + (1 - chance) / chance
        added = masses[: i + 1] * steps[1 : i + 2] * chance
        masses[: i + 1] *= 1 - chance
        masses[1 : i + 2] += added
    return masses, powers


def _unsure(others: ArrayLike, n: int) -> Numbers:
    """The chances of those whose report is not sure: the server knows the others'."""
    chances = numbers_of("others", others).astype(np.float64)
    if chances.shape != (n - 1,):
        raise ValueError(f"others must be {n - 1} probabilities, one a client, got shape {chances.shape}")
    wrong = ~((chances == 0) | ((chances >= RAREST) & (chances <= 1)))
    if wrong.any():
        raise ValueError(f"others must be probabilities, 0 or at least {RAREST:g}, got {chances[wrong][0]!r}")
    return chances[(chances > 0) & (chances < 1)]
