"""The law of a number of successes among trials that are not alike (Poisson binomial), at any depth.

It is added up trial by trial; each mass is a float and a power of 2, as the rarest ones lie far below the range of
floats. Nothing is subtracted, so a mass is right to three roundings a trial.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldp_audit.mechanisms.inputs import numbers_of

RAREST = 1e-160
"""The least chance that is not 0."""

_ROOM = 400.0
"""Binary orders of magnitude that a mass may lose or gain before its power of 2 is set anew."""

Numbers = NDArray[np.float64]


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


def neighbouring_masses(masses: Numbers, powers: NDArray[np.int64]) -> tuple[Numbers, Numbers, NDArray[np.int64]]:
    """q(k) and q(k - 1) for k = 0 .. m + 1, and the power of 2 that both are to be multiplied with.

    masses, powers: see `count_masses`, shape (m + 1,).   returns: shape (m + 2,) each.
    """
    stays, moves = np.append(masses, 0.0), np.insert(masses, 0, 0.0)
    own, before = np.append(powers, powers[-1]), np.insert(powers, 0, powers[0])
    shared = np.maximum(own, before)
    return np.ldexp(stays, own - shared), np.ldexp(moves, before - shared), shared


def checked_chances(others: Any, count: int) -> Numbers:
    """The other clients' chances, shape (count,); ValueError unless `count_masses` takes them, or they are sure."""
    chances = numbers_of("others", others).astype(np.float64)
    if chances.shape != (count,):
        raise ValueError(f"others must be {count} probabilities, one a client, got shape {chances.shape}")
    wrong = ~((chances == 0) | ((chances >= RAREST) & (chances <= 1)))
    if wrong.any():
        raise ValueError(f"others must be probabilities, 0 or at least {RAREST:g}, got {float(chances[wrong][0])!r}")
    return chances
