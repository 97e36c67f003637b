"""Other libraries' samplers of the same mechanisms, called by their interfaces: once for each value, or on a list."""

# pyright: reportMissingImports=false
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Prepared = tuple[Callable[[], Any], int]
"""The call to measure, and the number of values it draws."""


@dataclass(frozen=True)
class Peer:
    """ours: the equivalent mechanism in `samplers.CASES`.   name: library and call.   prepare: imports it."""

    ours: str
    name: str
    prepare: Callable[[np.random.Generator], Prepared]


def _multi_freq_ldpy(rng: np.random.Generator) -> Prepared:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

    values = rng.integers(0, 10, 50_000).tolist()
    return lambda: [GRR_Client(value, 10, 1.0) for value in values], len(values)


def _pure_ldp(rng: np.random.Generator) -> Prepared:
    from pure_ldp.frequency_oracles.direct_encoding import DEClient

    client, values = DEClient(1.0, 10), rng.integers(1, 11, 50_000).tolist()
    return lambda: [client.privatise(value) for value in values], len(values)


def _opendp_response(rng: np.random.Generator) -> Prepared:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    measurement = dp.m.make_randomized_response(list(range(10)), math.e / (math.e + 9))
    values = rng.integers(0, 10, 1000).tolist()
    return lambda: [measurement(value) for value in values], len(values)


def _opendp_bool(rng: np.random.Generator) -> Prepared:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    measurement = dp.m.make_randomized_response_bool(math.e / (math.e + 1))
    values = rng.integers(0, 2, 1000).astype(bool).tolist()
    return lambda: [measurement(value) for value in values], len(values)


def _opendp_laplace(kind: type) -> Callable[[np.random.Generator], Prepared]:
    def prepare(rng: np.random.Generator) -> Prepared:
        import opendp.prelude as dp

        dp.enable_features("contrib")
        atoms = dp.atom_domain(T=float, nan=False) if kind is float else dp.atom_domain(T=int)
        measurement = dp.m.make_laplace(dp.vector_domain(atoms), dp.l1_distance(T=kind), 1.0)
        values = rng.uniform(-1, 1, 5000).astype(kind).tolist()
        return lambda: measurement(values), len(values)

    return prepare


def _diffprivlib_binary(seed: int | None) -> Callable[[np.random.Generator], Prepared]:
    def prepare(rng: np.random.Generator) -> Prepared:
        from diffprivlib.mechanisms import Binary

        mechanism = Binary(epsilon=1.0, value0="0", value1="1", random_state=seed)
        values = [str(value) for value in rng.integers(0, 2, 5000)]
        return lambda: [mechanism.randomise(value) for value in values], len(values)

    return prepare


def _diffprivlib_laplace(seed: int | None) -> Callable[[np.random.Generator], Prepared]:
    def prepare(rng: np.random.Generator) -> Prepared:
        from diffprivlib.mechanisms import Laplace

        mechanism = Laplace(epsilon=1.0, sensitivity=1.0, random_state=seed)
        values = rng.uniform(-1, 1, 5000).tolist()
        return lambda: [mechanism.randomise(value) for value in values], len(values)

    return prepare


_TEN, _TWO, _LAPLACE = "RandomizedResponse(1, k=10)", "RandomizedResponse(1, k=2)", "Laplace(1)"

PEERS = (
    Peer(_TEN, "multi-freq-ldpy GRR_Client", _multi_freq_ldpy),
    Peer(_TEN, "pure-ldp DEClient.privatise", _pure_ldp),
    Peer(_TEN, "OpenDP make_randomized_response", _opendp_response),
    Peer(_TWO, "OpenDP make_randomized_response_bool", _opendp_bool),
    Peer(_TWO, "diffprivlib Binary, system randomness", _diffprivlib_binary(None)),
    Peer(_TWO, "diffprivlib Binary, seeded", _diffprivlib_binary(1)),
    Peer(_LAPLACE, "diffprivlib Laplace, system randomness", _diffprivlib_laplace(None)),
    Peer(_LAPLACE, "diffprivlib Laplace, seeded", _diffprivlib_laplace(1)),
    Peer(_LAPLACE, "OpenDP make_laplace, vector of floats", _opendp_laplace(float)),
    Peer(_LAPLACE, "OpenDP make_laplace, vector of integers", _opendp_laplace(int)),
)
"""By mechanism."""
