"""All benchmarks in sequence, with their output as one page: benchmarks/RESULTS.md.

    python benchmarks/every.py [--only NAME ...] [--add accounting "--limit 30 --peer autodp=PYTHON"] [--out FILE]

A benchmark runs in a process of its own, on an otherwise idle machine. --add gives one of them more options, such as
the environments of its peers. Coverage takes an hour at its full size, and runs at its quick one unless `--add coverage
""` is given.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import shlex
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BENCHMARKS = {
    "samplers": ("what a report costs, beside numpy's generator and the peers that are installed", ""),
    "implementation": ("enumerating every word of a generator: seconds and memory", ""),
    "accounting": ("compositions beside peers: epsilon, error, seconds", ""),
    "everyday": ("everyday questions beside limits and dp-accounting: width, seconds, memory", ""),
    "training": (
        "a round of clients beside the plain loop over them, and Flower's simulation",
        "--only linear,mlp,cnn",
    ),
    "auditors": ("audits beside peers: bound, samples, seconds", ""),
    "published_audits": ("the mechanisms on which DP-Sniper was published, with a tenth of its samples", ""),
    "coverage": ("how often a bound exceeds the truth", "--quick"),
}
PACKAGES = ("claimed-epsilon", "numpy", "scipy", "scikit-learn", "sympy", "torch", "z3-solver")


def main() -> int:
    """Run them; 1 if any failed or does not meet a criterion."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS))
    parser.add_argument("--add", nargs=2, action="append", default=[], metavar=("NAME", "OPTIONS"))
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    options = parser.parse_args()
    added = dict(options.add)
    if unknown := added.keys() - BENCHMARKS.keys():
        parser.error(f"--add must name one of {', '.join(BENCHMARKS)}, got {', '.join(unknown)}")
    parts, failed = [_head()], []
    for name in options.only:
        text, code = _ran(name, added.get(name, BENCHMARKS[name][1]))
        parts.append(text)
        failed += [name] if code else []
        options.out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    sys.stdout.write(f"written to {options.out}{f'; not all holds in {chr(44).join(failed)}' if failed else ''}\n")
    return int(bool(failed))


def _head() -> str:
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    processor = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "unknown"
    )
    memory = next((line.split()[1] for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), None)
    size = f", {int(memory) / 2**20:.0f} GiB" if memory else ""
    return (
        "# Benchmarks\n\nWritten by `make bench`. Ratios mean more than seconds: both sides ran in one run, here.\n\n"
        f"{time.strftime('%Y-%m-%d')}; {os.cpu_count()} cores ({processor}){size}; {platform.system()}, "
        f"Python {platform.python_version()}; {versions}."
    )


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def _ran(name: str, options: str) -> tuple[str, int]:
    """The benchmark's output, as a chapter, and its exit code."""
    command = [sys.executable, str(HERE / f"{name}.py"), *shlex.split(options)]
    sys.stdout.write(f"{name} ...\n")
    sys.stdout.flush()
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    seconds, shown = time.perf_counter() - start, _without_places(f"python benchmarks/{name}.py {options}".strip())
    printed = done.stdout.strip() or "nothing was printed"
    if done.returncode and done.stderr.strip():
        printed += f"\n\n    {done.stderr.strip().splitlines()[-1]}"
    title = f"## {name}: {BENCHMARKS[name][0]}\n\n`{shown}`: {seconds:.0f} s, exit code {done.returncode}.\n\n"
    return title + _without_places(printed), done.returncode


def _without_places(text: str) -> str:
    """The text with interpreters by their names, without local paths."""
    words = (word.partition("=")[0] + "=PYTHON" if "=" in word and "/" in word else word for word in text.split(" "))
    return " ".join(words)


if __name__ == "__main__":
    raise SystemExit(main())
