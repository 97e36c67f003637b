"""Seconds and memory of enumerating every word of one pair of inputs, for several maps.

    python benchmarks/implementation.py [--json FILE] [--only NAME] [--bits N]

Each map runs in a process of its own on one core; memory is its peak resident set, the interpreter and numpy (or torch)
included. Required are 2**24 words in less than 5 CPU seconds and 1 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ldp_audit import implementation

_INPUTS = (0.0, 1.0)
_WANTED_SECONDS, _WANTED_MEGABYTES = 5.0, 1000.0


@dataclass(frozen=True)
class Row:
    """One measurement.   seconds: of the call; cpu: of the process in it.   megabytes: peak, of the process."""

    map: str
    words: int
    seconds: float
    cpu: float
    megabytes: float
    epsilon: float
    delta: float


def _laplace(x: float, u: Any) -> Any:
    """The inverse distribution function of the textbooks."""
    centred = u - u.dtype.type(0.5)
    return u.dtype.type(x) - np.sign(centred) * np.log1p(-2 * np.abs(centred))


def _laplace_on_torch(x: float, u: Any) -> Any:
    import torch

    centred = u - 0.5
    return x - torch.sign(centred) * torch.log1p(-2 * centred.abs())


def _box_muller(x: float, u: Any, v: Any) -> Any:
    return x + np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * np.pi * v)


def _scrambled(x: float, word: Any) -> Any:
    """Outputs in random order, the worst case for sorting."""
    return ((word * 2654435761 + int(x)) % 2**32).astype(np.uint32)


def _threshold(x: float, u: Any) -> Any:
    return np.where(u < 0.25 + x / 2, 1.0, -1.0)


def _rows(x: float, u: Any) -> Any:
    return np.stack([u < 0.25 + x / 2, u < 0.5, u > 0.9], axis=1)


def _labels(x: float, u: Any) -> Any:
    return np.where(u < 0.25 + x / 2, "yes", "no")


MAPS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Laplace, float32": (_laplace, {}),
    "Laplace, float64": (_laplace, {"dtype": "float64"}),
    "Laplace, torch float32": (_laplace_on_torch, {"dtype": "torch.float32"}),
    "Box-Muller, two uniforms": (_box_muller, {"uniforms": 2, "dtype": "float64"}),
    "scrambled words": (_scrambled, {"words": True}),
    "threshold": (_threshold, {}),
    "rows of three": (_rows, {}),
    "text": (_labels, {}),
}


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; 1 if a map exceeds a limit."""
    asked = _parser().parse_args(arguments)
    if asked.alone:
        _say(json.dumps(asdict(_measured(asked.alone, asked.bits))))
        return 0
    _say(f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}; 2**{asked.bits} words\n")
    _say(f"{'map':<26}{'seconds':>9}{'CPU':>8}{'MB':>7}   {'epsilon':<10}{'delta(1)'}")
    rows = []
    for name in MAPS:
        if asked.only.lower() in name.lower():
            rows.append(_alone(name, asked.bits))
            _say(_line(rows[-1]))
    if asked.json:
        asked.json.write_text(json.dumps([asdict(row) for row in rows], indent=1).replace("Infinity", '"inf"') + "\n")
    return int(any(row.cpu > _WANTED_SECONDS or row.megabytes > _WANTED_MEGABYTES for row in rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there too")
    parser.add_argument("--only", default="", metavar="NAME", help="measure the maps whose names contain this")
    parser.add_argument("--bits", type=int, default=24, metavar="N", help="of all uniforms together (24)")
    parser.add_argument("--alone", choices=MAPS, metavar="MAP", help=argparse.SUPPRESS)
    return parser


def _alone(name: str, bits: int) -> Row:
    """One map in a process of its own, on one thread."""
    command = [sys.executable, __file__, "--alone", name, "--bits", str(bits)]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    ran = subprocess.run(command, env=os.environ | threads, capture_output=True, text=True, check=True)  # noqa: S603
    return Row(**json.loads(ran.stdout))


def _measured(name: str, bits: int) -> Row:
    sampler_map, options = MAPS[name]
    if str(options.get("dtype")).startswith("torch."):
        import torch

        options = options | {"dtype": getattr(torch, options["dtype"].removeprefix("torch."))}
    cpu, start = time.process_time(), time.perf_counter()
    result = implementation(sampler_map, _INPUTS, bits // options.get("uniforms", 1), claimed_epsilon=1.0, **options)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    return Row(name, result.words, seconds, cpu, peak, result.epsilon, result.delta(1.0))


def _line(row: Row) -> str:
    return f"{row.map:<26}{row.seconds:9.2f}{row.cpu:8.2f}{row.megabytes:7.0f}   {row.epsilon:<10.6g}{row.delta:.6g}"


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
