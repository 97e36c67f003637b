"""Values per second of every sampler, as a ratio to plain `Generator.random` on the same machine, beside the peers'.

    python benchmarks/samplers.py [--json FILE] [--only NAME] [--values N] [--repeats N]

Each sampler's runs alternate with runs of the plain generator (float64, a new array), and the best of each counts,
which makes the ratio robust to other load. A value is one number of a report. Torch runs on the CPU and, if there is
one, on a GPU, with its memory traffic beside that of a device copy. The peers are scalar programs, called once for each
value as their interfaces require; each is optional. A missing sampler is skipped with the reason.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from peers import PEERS, Peer

from ldp_audit import mechanisms

_SECONDS = 6.0
"""A row stops repeating after this time, but not before three runs."""


@dataclass(frozen=True)
class Case:
    """A mechanism to measure.

    target: a name in `ldp_audit.mechanisms` with arguments.   build: constructs it from that package.
    inputs: (rng, values, dtype) -> array.   dtypes: of the inputs.   share: of the requested values that it draws.
    wanted: the required ratio, if there is one.
    """

    target: str
    build: Callable[[Any], Any]
    inputs: Callable[[np.random.Generator, int, str], np.ndarray]
    dtypes: tuple[str, ...] = ("float32", "float64")
    share: float = 1.0
    wanted: float | None = None


@dataclass(frozen=True)
class Row:
    """One measurement.

    values: numbers in the report.   read: numbers in the inputs.   seconds: the best run.
    ratio: of the values' rate to the plain generator's, in alternation with it.
    """

    mechanism: str
    library: str
    dtype: str
    values: int
    read: int
    seconds: float
    ratio: float
    wanted: float | None = None
    gigabytes_per_second: float | None = None
    share_of_copy: float | None = None

    @property
    def rate(self) -> float:
        """Values per second."""
        return self.values / self.seconds


def _interval(rng: np.random.Generator, n: int, dtype: str) -> np.ndarray:
    return rng.uniform(-1, 1, n).astype(dtype)


def _labels(k: int) -> Callable[[np.random.Generator, int, str], np.ndarray]:
    return lambda rng, n, dtype: rng.integers(0, k, n).astype(dtype)


def _vectors(d: int) -> Callable[[np.random.Generator, int, str], np.ndarray]:
    return lambda rng, n, dtype: rng.uniform(-1, 1, (n // d, d)).astype(dtype)


def _rankings(d: int) -> Callable[[np.random.Generator, int, str], np.ndarray]:
    return lambda rng, n, dtype: rng.permuted(np.tile(np.arange(1, d + 1), (n, 1)), axis=1).astype(dtype)


def _statuses(d: int, k: int) -> Callable[[np.random.Generator, int, str], np.ndarray]:
    return lambda rng, n, dtype: rng.permuted(np.tile(np.arange(d) < k, (n, 1)), axis=1).astype(dtype)


_LABELS = ("uint8", "int64", "float32", "float64")
_WHOLE = ("int64",)

CASES = (
    Case("TwoPoint(1)", lambda m: m.TwoPoint(1.0), _interval, wanted=0.6),
    Case("RandomizedResponse(1, k=10)", lambda m: m.RandomizedResponse(1.0, 10), _labels(10), _LABELS, wanted=0.6),
    Case("RandomizedResponse(1, k=2)", lambda m: m.RandomizedResponse(1.0, 2), _labels(2), _LABELS, wanted=0.6),
    Case("Piecewise(1)", lambda m: m.Piecewise(1.0), _interval, wanted=0.2),
    Case("Hybrid(1)", lambda m: m.Hybrid(1.0), _interval, wanted=0.12),
    Case("Laplace(1)", lambda m: m.Laplace(1.0), _interval),
    Case("Gaussian(1)", lambda m: m.Gaussian(1.0), _interval, share=0.25),
    Case("FiniteChannel(3 x 3)", lambda m: m.FiniteChannel([[0.5, 0.25, 0.25]] * 3), _labels(3), _WHOLE, 0.25),
    Case("DuchiVector(1, d=16)", lambda m: m.DuchiVector(1.0, 16), _vectors(16), share=0.25),
    Case("ExponentialSelection(1, d=100)", lambda m: m.ExponentialSelection(1.0, 100), _rankings(100), _WHOLE, 0.01),
    Case(
        "PerturbedSampling(1, d=100, k=10)",
        lambda m: m.PerturbedSampling(1.0, 100, 10),
        _statuses(100, 10),
        _WHOLE,
        0.01,
    ),
    Case(
        "PerturbedEncoding(1, d=100, k=10)",
        lambda m: m.PerturbedEncoding(1.0, 100, 10),
        _statuses(100, 10),
        _WHOLE,
        0.01,
    ),
    Case(
        "TwoStage(ExponentialSelection, Piecewise)",
        lambda m: m.TwoStage(m.ExponentialSelection(1.0, 100), m.Piecewise(1.0)),
        lambda rng, n, dtype: _vectors(100)(rng, 100 * n, dtype),
        share=0.005,
    ),
    Case(
        "CoordinateSampling(Piecewise, 5, d=100)",
        lambda m: m.CoordinateSampling(m.Piecewise, 5.0, 100),
        lambda rng, n, dtype: _vectors(100)(rng, 50 * n, dtype),
        share=0.01,
    ),
    Case(
        "RandomProjection(Piecewise(1), 100 x 20)",
        lambda m: m.RandomProjection.drawn(m.Piecewise(1.0), 100, 20, np.random.default_rng(0), clip=True),
        lambda rng, n, dtype: _vectors(100)(rng, 100 * n, dtype),
        share=0.005,
    ),
    Case(
        "ParameterShuffler(64 clients)",
        lambda m: m.ParameterShuffler([1.0] * 64, [0.1] * 64, 1.0),
        lambda rng, n, dtype: rng.uniform(-1, 1, (64, n // 64)).astype(dtype),
        share=0.1,
    ),
    Case(
        "SubsampleRelease(n, n/10)",
        lambda m: m.SubsampleRelease(1_000_000, 100_000),
        lambda *_: np.arange(10**6),
        _WHOLE,
    ),
)
"""Every mechanism that samples; fewer values for vectors and selections, whose inputs are larger than their reports."""


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; returns the exit status."""
    asked = _parser().parse_args(arguments)
    rows, skipped, peers = [], [], []
    _say(f"{_machine()}\n")
    rng = np.random.default_rng(20)
    for case in CASES:
        if asked.only.lower() in case.target.lower():
            for outcome in _measure(case, rng, asked.values, asked.repeats):
                (rows if isinstance(outcome, Row) else skipped).append(outcome)
                _say(_line(outcome) if isinstance(outcome, Row) else f"{'':<12}{outcome}")
    for peer in PEERS:
        if asked.only.lower() in peer.ours.lower():
            peers.append(_measure_peer(peer, rows, rng))
            _say(_peer_line(peers[-1]))
    if asked.json:
        document = {"machine": _machine(), "rows": [asdict(row) | {"rate": row.rate} for row in rows]}
        asked.json.write_text(json.dumps(document | {"peers": peers, "skipped": skipped}, indent=1) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there too")
    parser.add_argument("--only", default="", metavar="NAME", help="measure the mechanisms whose names contain this")
    parser.add_argument("--values", type=int, default=4_000_000, metavar="N", help="of a scalar mechanism (4000000)")
    parser.add_argument("--repeats", type=int, default=15, metavar="N", help="the best of so many runs counts (15)")
    return parser


def _measure(case: Case, rng: np.random.Generator, values: int, repeats: int) -> Iterator[Row | str]:
    """A row, or why there is none, for each library, device and dtype."""
    try:
        mechanism = case.build(mechanisms)
    except Exception as error:  # noqa: BLE001  (one mechanism's failure must not end the others' measurement)
        yield f"skipped {case.target}: {_reason(error)}"
        return
    if not hasattr(mechanism, "sample"):
        yield f"skipped {case.target}: it has no sampler"
        return
    for library in _libraries():
        for dtype in case.dtypes:
            try:
                yield _row(case, mechanism, library, dtype, rng, values, repeats)
            except Exception as error:  # noqa: BLE001  (likewise)
                yield f"skipped {case.target}, {library}, {dtype}: {_reason(error)}"


def _row(
    case: Case, mechanism: Any, library: str, dtype: str, rng: np.random.Generator, values: int, repeats: int
) -> Row:
    on_gpu = library == "torch cuda"
    x: Any = case.inputs(rng, int(values * case.share) * (16 if on_gpu else 1), dtype)
    generator: Any = rng
    if library != "numpy":
        import torch

        x, generator = torch.from_numpy(x).to(_device(library)), torch.Generator(_device(library)).manual_seed(1)
    report = mechanism.sample(x, rng=generator)
    numbers = _fields(report)[-1]
    count, read = (int(np.prod(tuple(array.shape))) for array in (numbers, x))
    seconds, plain = _in_turns(
        lambda: mechanism.sample(x, rng=generator), lambda: rng.random(values), repeats, on_gpu=on_gpu
    )
    moved = share = None
    if on_gpu:
        moved = sum(_bytes(part) for part in [x, *_fields(report)]) / seconds / 1e9
        share = moved / _copy_rate(x)
    ratio = count / seconds * plain / values
    return Row(case.target, library, dtype, count, read, seconds, ratio, case.wanted, moved, share)


def _in_turns(
    subject: Callable[[], Any], plain: Callable[[], Any], repeats: int, *, on_gpu: bool = False
) -> tuple[float, float]:
    """The best seconds of the subject and of the plain generator, in alternation."""
    best, best_plain, end = float("inf"), float("inf"), time.perf_counter() + _SECONDS
    for done in range(repeats):
        if done >= 3 and time.perf_counter() > end:
            break
        best_plain = min(best_plain, _seconds(plain))
        best = min(best, _seconds(subject, on_gpu=on_gpu))
    return best, best_plain


def _seconds(run: Callable[[], Any], *, on_gpu: bool = False) -> float:
    _finish(on_gpu=on_gpu)
    start = time.perf_counter()
    run()
    _finish(on_gpu=on_gpu)
    return time.perf_counter() - start


def _finish(*, on_gpu: bool) -> None:
    if on_gpu:
        sys.modules["torch"].cuda.synchronize()


def _copy_rate(x: Any) -> float:
    """Gigabytes per second that a copy of an array of this size on the device reads and writes."""
    target = x.clone()
    best = min(_seconds(lambda: target.copy_(x), on_gpu=True) for _ in range(20))
    return 2 * _bytes(x) / best / 1e9


def _measure_peer(peer: Peer, rows: list[Row], rng: np.random.Generator) -> dict[str, Any]:
    """The peer's rate, and the ratio of our slowest numpy row of the same mechanism to it."""
    found: dict[str, Any] = {"mechanism": peer.ours, "peer": peer.name, "rate": None, "times_faster": None}
    try:
        run, count = peer.prepare(rng)
    except ImportError as error:
        return found | {"note": f"not installed ({_reason(error)})"}
    except Exception as error:  # noqa: BLE001  (a peer may fail in its own ways)
        return found | {"note": f"failed ({_reason(error)})"}
    run()
    rate = count / min(_seconds(run) for _ in range(5))
    ours = [row.rate for row in rows if row.mechanism == peer.ours and row.library == "numpy"]
    return found | {"rate": rate, "times_faster": min(ours) / rate if ours else None, "note": ""}


def _libraries() -> list[str]:
    try:
        import torch
    except ImportError:
        return ["numpy"]
    return ["numpy", "torch cpu", *(["torch cuda"] if torch.cuda.is_available() else [])]


def _device(library: str) -> str:
    return library.removeprefix("torch ")


def _machine() -> str:
    parts = [f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}"]
    if "torch cpu" in _libraries():
        torch = sys.modules["torch"]
        parts.append(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
        parts += [torch.cuda.get_device_name()] if torch.cuda.is_available() else []
    rng = np.random.default_rng(0)
    best = min(_seconds(lambda: rng.random(4_000_000)) for _ in range(15))
    return "; ".join(parts) + f"; Generator.random float64: {4 / best:.0f} million values/s = 1.00"


def _fields(report: Any) -> list[Any]:
    return list(report) if isinstance(report, tuple) else [report]


def _bytes(array: Any) -> int:
    return int(array.nbytes)


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0][:110]


def _line(row: Row) -> str:
    wanted = f" (wanted {row.wanted})" if row.wanted and row.library == "numpy" else ""
    moved = f"  {row.gigabytes_per_second:.0f} GB/s, {row.share_of_copy:.2f} of a copy" if row.share_of_copy else ""
    reads = f"  reads {row.read / row.seconds / 1e6:.0f} million numbers/s" if row.read > row.values else ""
    place = f"{row.mechanism:<41.41} {row.library:<10} {row.dtype:<7}"
    return f"{place} {row.rate / 1e6:9.2f} million/s  ratio {row.ratio:.3g}{wanted}{reads}{moved}"


def _peer_line(peer: dict[str, Any]) -> str:
    start = f"{peer['mechanism']:<41.41} {peer['peer']:<44}"
    if peer["rate"] is None:
        return f"{start} {peer['note']}"
    times = f"ours {peer['times_faster']:.0f} times faster" if peer["times_faster"] else "ours not measured"
    return f"{start} {peer['rate'] / 1e6:8.4f} million/s  {times}"


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
