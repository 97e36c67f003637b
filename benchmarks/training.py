"""Seconds of a round of n clients: each strategy beside the plain per-client torch loop and Flower's simulation.

    python benchmarks/training.py [--only linear,mlp] [--clients 100] [--threads 2] [--repeats 7] [--json FILE]
                                  [--peer flower=PYTHON]

A client has 60 samples, batches of 10, one epoch; see `training_cases`. The loop deep-copies the network and runs
torch.optim.SGD, client by client, with as many threads. Loop and strategies alternate, after one round each that does
not count; a ratio is the median over the turns of the loop's time over the strategy's in the same turn, which makes it
robust to other load. `chosen` marks what "auto" selects; required: 15 times for the linear model, 2.5 for the MLP, 1.5
for CNNs, by any strategy, and 3 times against Flower.

With CUDA, everything runs there, the small VGG with 500 clients in place of --clients, and each row has the share of
the GPU's peak: counted operations of matrix products and convolutions per second, relative to those of products of 8192
x 8192 float32 matrices in the same run and number format.

PYTHON is the interpreter of an environment with flwr 1.41 and its simulation (pip install torch==2.13.0, then
"flwr[simulation]>=1.41,<2"), which trains the same clients on as many cores; its first round, which starts Ray, is
listed separately. A peer that is not given, or that fails, is listed with the reason.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import torch
from training_cases import CASES
from training_rounds import HEAD, line, measured, peak_of, say

from ldp_audit.training.device import device_of

_FLOWER_WANTED = 3
_FLOWER_ROUNDS = 6
_LIMIT = 900  # most seconds of the peer


def main() -> int:
    """Print a table; 1 if a required ratio is not reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peer", metavar="flower=PYTHON")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    device, rows, reached = device_of(), [], True
    peak = peak_of(device) if device.type == "cuda" else None
    say(f"torch {torch.__version__}, {device}, {options.threads} threads")
    say(HEAD)
    for name in options.only.split(","):
        clients = 500 if name == "vgg" and device.type == "cuda" else options.clients
        found = measured(name, CASES[name], clients, options.repeats, device, peak)
        for row in found:
            say(line(row))
        best = min(found, key=lambda row: row.seconds)
        enough = best.ratio >= CASES[name].wanted
        text, fast = _flower(options.peer, name, clients, next(row.seconds for row in found if row.chosen))
        say(f"| {name} | {clients} | flower | {text} |")
        reached = reached and enough and fast
        rows += found
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0 if reached else 1


def _flower(peer: str | None, name: str, clients: int, ours: float) -> tuple[str, bool]:
    """The cells of its row, and whether our ratio to it is sufficient; true if it was not measured."""
    if peer is None:
        return "not given an environment | | |", True
    python = peer.removeprefix("flower=")
    script = Path(__file__).resolve().parent / "training_peers" / "flower.py"
    command = [python, str(script), name, str(clients), str(_FLOWER_ROUNDS)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = "cannot be started" if isinstance(error, OSError) else f"no answer within {_LIMIT} s"
        return f"{reason} | | |", False
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return (done.stderr.strip().splitlines() or ["no answer"])[-1][:90].replace("|", "/") + " | | |", False
    theirs = json.loads(lines[-1])
    ratio = theirs["seconds"] / ours
    text = f"{theirs['seconds']:.3g} (first {theirs['first']:.3g}) | chosen is {ratio:.1f} times faster"
    return f"{text} | {_FLOWER_WANTED} |", ratio >= _FLOWER_WANTED


if __name__ == "__main__":
    sys.exit(main())
