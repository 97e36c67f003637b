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
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from training_cases import BATCH, CASES, RATE, Case, samples, train_plainly

from ldp_audit.training.client_data import ClientData, LocalWork, draw_orders
from ldp_audit.training.device import device_of
from ldp_audit.training.local_training import STRATEGIES, choose_strategy, train_clients
from ldp_audit.training.models import initial_weights
from ldp_audit.training.streams import Streams

_FLOWER_WANTED = 3
_FLOWER_ROUNDS = 6
_LIMIT = 900  # most seconds of the peer


@dataclass(frozen=True)
class Row:
    """One measurement.   seconds: the median.   ratio: the loop's time over it.   wanted: the required ratio."""

    case: str
    strategy: str
    clients: int
    seconds: float
    ratio: float
    chosen: bool
    wanted: float
    share_of_peak: float | None = None


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
    peak = _peak(device) if device.type == "cuda" else None
    _say(f"torch {torch.__version__}, {device}, {options.threads} threads")
    _say("| case | clients | strategy | seconds a round | times faster than the loop | asked for | share of peak |")
    _say("|---|---|---|---|---|---|---|")
    for name in options.only.split(","):
        clients = 500 if name == "vgg" and device.type == "cuda" else options.clients
        found = _measured(name, CASES[name], clients, options.repeats, device, peak)
        for row in found:
            _say(_line(row))
        best = min(found, key=lambda row: row.seconds)
        enough = best.ratio >= CASES[name].wanted
        text, fast = _flower(options.peer, name, clients, next(row.seconds for row in found if row.chosen))
        _say(f"| {name} | {clients} | flower | {text} |")
        reached = reached and enough and fast
        rows += found
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return 0 if reached else 1


def _measured(name: str, case: Case, clients: int, repeats: int, device: torch.device, peak: float | None) -> list[Row]:
    """The loop and every strategy that supports the case, in alternation."""
    work, jobs = _work(case, clients, device), {}
    jobs["plain loop"] = lambda: [
        train_plainly(work.model, work.data.x[i], work.data.y[i], work.orders[0, i]) for i in range(clients)
    ]
    for strategy in STRATEGIES:
        if STRATEGIES[strategy].why_not(work) is None:
            jobs[strategy] = lambda strategy=strategy: _round(work, strategy)
    times: dict[str, list[float]] = {job: [] for job in jobs}
    for turn in range(repeats + 1):
        for job, run in jobs.items():
            seconds = _timed(run, device)
            if turn:
                times[job].append(seconds)
    chosen = choose_strategy(work)
    rows = []
    for job, seconds in times.items():
        middle = statistics.median(seconds)
        ratio = statistics.median(a / b for a, b in zip(times["plain loop"], seconds, strict=True))
        share = None if peak is None else case.flops(clients) / middle / peak
        rows.append(Row(name, job, clients, middle, ratio, job == chosen, case.wanted, share))
    return rows


def _work(case: Case, clients: int, device: torch.device) -> LocalWork:
    x, y = samples(case, clients)
    data = ClientData(x.to(device), y.to(device), torch.full((clients,), x.shape[1], device=device))
    model, everyone = case.build().to(device), torch.arange(clients)
    orders = draw_orders(data, everyone, 1, Streams(1), (1,))
    weights = initial_weights(model, torch.Generator().manual_seed(1))
    return LocalWork(model, weights, data, everyone, orders, BATCH, RATE, (1,))


def _round(work: LocalWork, strategy: str) -> None:
    """A round by the public function, including the random orders and all checks."""
    for _ in train_clients(
        work.model,
        work.weights,
        work.data,
        work.clients,
        epochs=1,
        batch_size=BATCH,
        learning_rate=RATE,
        streams=Streams(1),
        place=(1,),
        strategy=strategy,
    ):
        pass


def _timed(run: Callable[[], object], device: torch.device) -> float:
    start = time.perf_counter()
    run()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start


def _peak(device: torch.device) -> float:
    """Additions and multiplications per second of large products, in the number format of the clients' training."""
    size = 8192
    a = torch.rand((size, size), device=device)
    seconds = min(_timed(lambda: a @ a, device) for _ in range(10))
    return 2 * size**3 / seconds


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


def _line(row: Row) -> str:
    wanted = "" if row.strategy == "plain loop" else f"{row.wanted:g}"
    share = "" if row.share_of_peak is None else f"{row.share_of_peak:.1%}"
    name = f"{row.strategy} (chosen)" if row.chosen else row.strategy
    return f"| {row.case} | {row.clients} | {name} | {row.seconds:.4g} | {row.ratio:.2f} | {wanted} | {share} |"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
