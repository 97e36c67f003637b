"""Every figure of training on a GPU, in four minutes: seconds, tuned constants, agreement with the CPU.

    PYTHONPATH=. python benchmarks/gpu.py [--json FILE] [--only strategies,equality] [--device cpu --quick]

    strategies   rounds of clients beside the plain loop, by every strategy; whether `auto` takes the quickest
    chunks       clients in a chunk
    blocks       weights perturbed at a time
    rounds       a round of every pipeline here and on the CPU
    equality     weights without noise against the CPU's
    noise        measures with noise against their exact values
    twice        the same seed twice, to the bit

Needs torch, numpy, scipy, sympy, python-flint and array-api-compat (`strategies` and `chunks` the first two alone) and
no installed package; scikit-learn has the digits, in whose place random images stand without it. A part that fails
prints its error and the others run. --quick is for trying it on a CPU; its seconds mean nothing.

Exit code 1 if a part failed or a check does not hold. The speed asked for is `benchmarks/training.py`'s business.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from gpu_cases import Job, Row, Setting

from ldp_audit.training.device import device_of

PARTS = {
    "strategies": "gpu_speed",
    "chunks": "gpu_speed",
    "blocks": "gpu_speed",
    "rounds": "gpu_speed",
    "equality": "gpu_agreement",
    "noise": "gpu_agreement",
    "twice": "gpu_agreement",
}
"""A function of each name, and its module."""

HERE = Path(__file__).resolve().parent


def main(arguments: list[str] | None = None) -> int:
    """Run the parts; 1 if one failed or a check does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, default=min(16, len(os.sched_getaffinity(0))))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    names = options.only.split(",")
    if unknown := [name for name in names if name not in PARTS]:
        parser.error(f"--only must name some of {', '.join(PARTS)}, got {', '.join(unknown)}")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when CUDA is first used, which strategies do
    setting = Setting(device_of(options.device), options.quick, options.threads)
    record: dict[str, Any] = {**described(setting), "parts": {}}
    _say(", ".join(f"{name} {value}" for name, value in record.items() if name != "parts"))
    before = torch.get_num_threads()
    torch.set_num_threads(setting.threads)
    try:
        return int(not _all_hold(names, setting, record, options.json))
    finally:
        torch.set_num_threads(before)


def _all_hold(names: list[str], setting: Setting, record: dict[str, Any], file: Path | None) -> bool:
    """Run these parts, and write the record after each row, as a machine may be taken away."""
    start, holds = time.perf_counter(), True
    for name in names:
        found = record["parts"][name] = {"rows": [], "seconds": 0.0}
        before = time.perf_counter()
        _say(f"\n{name}")
        for row in _rows(name, setting):
            _say("  " + shown(row))
            found["rows"].append(row)
            holds = holds and well(row)
            found["seconds"] = round(time.perf_counter() - before, 1)
            if file:
                file.write_text(json.dumps(finite(record), indent=1, allow_nan=False))
    _say(f"\n{'all holds' if holds else 'NOT ALL HOLDS'}; {time.perf_counter() - start:.0f} s")
    return holds


def described(setting: Setting) -> Row:
    """What the figures depend on."""
    gpu = setting.device.type == "cuda"
    return {
        "torch": str(torch.__version__),
        "CUDA": str(torch.version.cuda or "none"),
        "device": torch.cuda.get_device_name(setting.device) if gpu else "cpu",
        "threads": setting.threads,
        "Python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
        "commit": _commit(),
        "quick": setting.quick,
    }


def _commit() -> str:
    """The checkout's commit; without git or outside of a repository, "no commit"."""
    try:
        head, changes = (_git(*words) for words in (("rev-parse", "HEAD"), ("status", "--porcelain", "-uno")))
    except (OSError, subprocess.CalledProcessError):
        return "no commit"
    return f"{head} and changes" if changes else head


def _git(*words: str) -> str:
    command = ["git", "-C", str(HERE), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603


def _rows(name: str, setting: Setting) -> Iterator[Row]:
    """The rows of a part; of a job that fails, its error."""
    jobs = _jobs(name, setting)
    while True:
        asked: Row = {}
        try:
            asked, run = next(jobs)
            for row in run():
                yield asked | row
        except StopIteration:
            return
        except Exception as error:  # noqa: BLE001
            yield asked | {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
            sys.stderr.write(traceback.format_exc())
            with suppress(RuntimeError):  # a GPU that has failed for good fails here too
                torch.cuda.empty_cache()


def _jobs(name: str, setting: Setting) -> Iterator[Job]:
    """A part imports what it needs, so that another runs where that is not installed."""
    yield from getattr(importlib.import_module(PARTS[name]), name)(setting)


def well(row: Row) -> bool:
    """Whether nothing failed, and a check, if there was one, holds."""
    return "error" not in row and row.get("holds", True)


def shown(row: Row) -> str:
    """The row in one line, what does not hold marked."""
    mark = "" if well(row) else "DOES NOT HOLD: "
    return mark + ", ".join(f"{name} {_value(value)}" for name, value in row.items() if value is not None)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name} {_value(one)}" for name, one in value.items()) + ")"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def finite(value: Any) -> Any:
    """The same with texts in place of numbers that JSON lacks."""
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [finite(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
