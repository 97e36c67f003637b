"""Seconds of a round of n clients, each strategy in alternation with the plain loop over clients; see `training.py`."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from training_cases import BATCH, RATE, Case, samples, train_plainly

from ldp_audit.training.client_data import ClientData, LocalWork, draw_orders
from ldp_audit.training.local_training import STRATEGIES, choose_strategy, train_clients
from ldp_audit.training.models import initial_weights
from ldp_audit.training.streams import Streams

HEAD = (
    "| case | clients | strategy | seconds a round | times faster than the loop | asked for | share of peak |\n"
    "|---|---|---|---|---|---|---|"
)
"""Of the rows that `line` writes."""


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


def measured(name: str, case: Case, clients: int, repeats: int, device: torch.device, peak: float | None) -> list[Row]:
    """The loop and every strategy that supports the case, in alternation."""
    work, jobs = prepared(case, clients, device), {}
    jobs["plain loop"] = lambda: [
        train_plainly(work.model, work.data.x[i], work.data.y[i], work.orders[0, i]) for i in range(clients)
    ]
    for strategy in STRATEGIES:
        if STRATEGIES[strategy].why_not(work) is None:
            jobs[strategy] = lambda strategy=strategy: train_round(work, strategy)
    times: dict[str, list[float]] = {job: [] for job in jobs}
    for turn in range(repeats + 1):
        for job, run in jobs.items():
            seconds = timed(run, device)
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


def prepared(case: Case, clients: int, device: torch.device) -> LocalWork:
    """One epoch of the case's clients."""
    x, y = samples(case, clients)
    data = ClientData(x.to(device), y.to(device), torch.full((clients,), x.shape[1], device=device))
    model, everyone = case.build().to(device), torch.arange(clients)
    orders = draw_orders(data, everyone, 1, Streams(1), (1,))
    weights = initial_weights(model, torch.Generator().manual_seed(1))
    return LocalWork(model, weights, data, everyone, orders, BATCH, RATE, (1,))


def train_round(work: LocalWork, strategy: str, chunk: int | None = None) -> None:
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
        chunk=chunk,
    ):
        pass


def timed(run: Callable[[], object], device: torch.device) -> float:
    """Seconds of the run, until the device is done."""
    start = time.perf_counter()
    run()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start


def peak_of(device: torch.device) -> float:
    """Additions and multiplications per second of large products, in the number format of the clients' training."""
    size = 8192
    a = torch.rand((size, size), device=device)
    seconds = min(timed(lambda: a @ a, device) for _ in range(10))
    return 2 * size**3 / seconds


def line(row: Row) -> str:
    """The row of a table; see `HEAD`."""
    wanted = "" if row.strategy == "plain loop" else f"{row.wanted:g}"
    share = "" if row.share_of_peak is None else f"{row.share_of_peak:.1%}"
    name = f"{row.strategy} (chosen)" if row.chosen else row.strategy
    return f"| {row.case} | {row.clients} | {name} | {row.seconds:.4g} | {row.ratio:.2f} | {wanted} | {share} |"


def say(text: str) -> None:
    """Print the text at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
