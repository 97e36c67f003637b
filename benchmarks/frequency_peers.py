"""Reports and estimates of frequencies, beside the libraries that have the same mechanisms, in one run.

    python benchmarks/frequency_peers.py [--users 2000] [--values 100] [--repeats 3]

Every client holds one of `values` values and reports at epsilon 1; then the frequencies are estimated from all reports.
The peers are called as their interfaces require, once for each client. Seconds are the best of the repeats, which
alternate; a ratio is the peer's time over ours. It needs an environment with the peers, `pip install pure-ldp
multi-freq-ldpy opendp diffprivlib "xxhash<3.5" "scikit-learn<1.9" statsmodels`; one that is missing is named.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ldp_audit.mechanisms import HadamardResponse, LocalHashing, RandomizedResponse, SubsetSelection, UnaryEncoding

sys.path[:] = [one for one in sys.path if Path(one).resolve() != Path(__file__).resolve().parent]
# numba, which a peer needs, imports a module named coverage, and takes the file beside this one for it

EPSILON = 1.0
Sides = tuple[Callable[[], Any], Callable[[Any], Any]]
"""Makes all reports, and estimates all frequencies from them; the second is None where the peer has no estimator."""


def _pure_ldp(client: Any, server: Any, values: Sequence[int], k: int) -> Sides:
    def report() -> list[Any]:
        return [client.privatise(value + 1) for value in values]  # its values begin at 1

    def estimate(reports: list[Any]) -> Any:
        server.reset()
        server.aggregate_all(reports)
        return server.estimate_all(range(1, k + 1), suppress_warnings=True)

    return report, estimate


def pure_ldp_unary(values: Sequence[int], k: int) -> Sides:
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    return _pure_ldp(UEClient(EPSILON, k, use_oue=True), UEServer(EPSILON, k, use_oue=True), values, k)


def pure_ldp_hashing(values: Sequence[int], k: int) -> Sides:
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer

    return _pure_ldp(LHClient(EPSILON, k, use_olh=True), LHServer(EPSILON, k, use_olh=True), values, k)


def pure_ldp_response(values: Sequence[int], k: int) -> Sides:
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer

    return _pure_ldp(DEClient(EPSILON, k), DEServer(EPSILON, k), values, k)


def pure_ldp_hadamard(values: Sequence[int], k: int) -> Sides:
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer

    server = HadamardResponseServer(EPSILON, k)
    return _pure_ldp(HadamardResponseClient(EPSILON, k, server.get_hash_funcs()), server, values, k)


def multi_freq_unary(values: Sequence[int], k: int) -> Sides:
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    return lambda: [UE_Client(v, k, EPSILON, True) for v in values], lambda y: UE_Aggregator_MI(y, EPSILON, True)


def multi_freq_hashing(values: Sequence[int], k: int) -> Sides:
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client

    return lambda: [LH_Client(v, k, EPSILON, True) for v in values], lambda y: LH_Aggregator_MI(y, k, EPSILON, True)


def multi_freq_subset(values: Sequence[int], k: int) -> Sides:
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client

    return lambda: [SS_Client(v, k, EPSILON) for v in values], lambda y: SS_Aggregator_MI(y, k, EPSILON)


def multi_freq_response(values: Sequence[int], k: int) -> Sides:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client

    return lambda: [GRR_Client(v, k, EPSILON) for v in values], lambda y: GRR_Aggregator_MI(y, k, EPSILON)


def opendp_response(values: Sequence[int], k: int) -> Sides:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    measurement = dp.m.make_randomized_response(list(range(k)), np.e / (np.e + k - 1))
    return lambda: [measurement(v) for v in values], None  # type: ignore[return-value]


def diffprivlib_response(values: Sequence[int], _k: int) -> Sides:
    from diffprivlib.mechanisms import Binary

    binary = Binary(epsilon=EPSILON, value0="0", value1="1")
    return lambda: [binary.randomise(str(v % 2)) for v in values], None  # type: ignore[return-value]


CASES: list[tuple[str, Callable[[int], Any], str, Callable[[Sequence[int], int], Sides]]] = [
    ("unary encoding", lambda k: UnaryEncoding(EPSILON, k), "pure-ldp", pure_ldp_unary),
    ("unary encoding", lambda k: UnaryEncoding(EPSILON, k), "multi-freq-ldpy", multi_freq_unary),
    ("local hashing", lambda k: LocalHashing(EPSILON, k), "pure-ldp", pure_ldp_hashing),
    ("local hashing", lambda k: LocalHashing(EPSILON, k), "multi-freq-ldpy", multi_freq_hashing),
    ("subset selection", lambda k: SubsetSelection(EPSILON, k), "multi-freq-ldpy", multi_freq_subset),
    ("Hadamard response", lambda k: HadamardResponse(EPSILON, k, "columns"), "pure-ldp", pure_ldp_hadamard),
    ("randomised response", lambda k: RandomizedResponse(EPSILON, k), "pure-ldp", pure_ldp_response),
    ("randomised response", lambda k: RandomizedResponse(EPSILON, k), "multi-freq-ldpy", multi_freq_response),
    ("randomised response", lambda k: RandomizedResponse(EPSILON, k), "OpenDP", opendp_response),
    ("two values", lambda _: RandomizedResponse(EPSILON, 2), "diffprivlib", diffprivlib_response),
]


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--users", type=int, default=2000, metavar="N", help="clients (2000)")
    parser.add_argument("--values", type=int, default=100, metavar="K", help="values (100)")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="the best of so many runs counts (3)")
    asked = parser.parse_args(arguments)
    values = np.random.default_rng(1).integers(0, asked.values, asked.users)
    print(f"{asked.users} clients, {asked.values} values, epsilon {EPSILON:g}; microseconds for each client\n")
    print(
        f"{'mechanism':<20} {'peer':<16} {'report':>9} {'ours':>8} {'ratio':>7}   {'with estimate':>13} {'ours':>8} {'ratio':>7}"
    )
    for name, build, peer, prepare in CASES:
        try:
            theirs = prepare(values.tolist(), asked.values)
            theirs[0]()  # compiles, where it does
        except Exception as error:  # noqa: BLE001  (a peer that is missing or broken must not end the others' rows)
            print(f"{name:<20} {peer:<16} skipped: {type(error).__name__}: {error}")
            continue
        ours = _ours(build(asked.values), values if peer != "diffprivlib" else values % 2)
        (first, both), (own, own_both) = _seconds([theirs, ours], asked.repeats)
        micro = 1e6 / asked.users
        line = f"{name:<20} {peer:<16} {first * micro:>9.2f} {own * micro:>8.3f} {first / own:>7.0f}"
        print(
            line + (f"   {both * micro:>13.2f} {own_both * micro:>8.3f} {both / own_both:>7.0f}" if theirs[1] else "")
        )
    return 0


def _ours(m: Any, values: Any) -> Sides:
    rng = np.random.default_rng(2)
    return lambda: m.sample(values, rng=rng), m.estimate


def _seconds(sides: list[Sides], repeats: int) -> list[tuple[float, float]]:
    """The least seconds for the reports, and for reports and estimates, of each side; in alternation."""
    best = [(np.inf, np.inf) for _ in sides]
    for _ in range(repeats):
        for place, (report, estimate) in enumerate(sides):
            start = time.perf_counter()
            reports = report()
            middle = time.perf_counter()
            if estimate is not None:
                estimate(reports)
            end = time.perf_counter()
            best[place] = (min(best[place][0], middle - start), min(best[place][1], end - start))
    return best


if __name__ == "__main__":
    raise SystemExit(main())
