"""Seconds on a GPU: strategies, clients in a chunk, weights perturbed at a time, and rounds of every pipeline.

The tuned constants `local_training._GPU_FACTOR` and `ldp_fl.reports._GPU_FACTOR` are measured at several values; a row
of the value in use is marked "used".
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial

import torch
from gpu_cases import Job, Memory, Row, Setting, digits, images, started, table, waited
from training_cases import CASES
from training_rounds import measured, peak_of, prepared, timed, train_round

from ldp_audit.training import local_training
from ldp_audit.training.datasets import Images, Table
from ldp_audit.training.device import repeatable
from ldp_audit.training.ldp_fl.moments import TwoPointMoments
from ldp_audit.training.local_training import STRATEGIES, choose_chunk, choose_strategy

SLACK = 0.05
"""Share of the quickest strategy's time by which `auto` may be slower."""

CLIENTS = {"linear": (100, 3), "mlp": (100, 3), "cnn": (100, 3), "vgg": (500, 1)}
"""Clients, and repeats beside the plain loop, whose round of the VGG takes ten seconds."""

CHUNK_FACTORS = (1, 10, 50, 200)
BLOCK_FACTORS = (1, 4, 16, 64)


def strategies(setting: Setting) -> Iterator[Job]:
    """Rounds of clients beside the plain loop by `benchmarks/training.py`, then without it as runs train them.

    Runs use deterministic algorithms (`device.repeatable`), which may make another strategy the quickest.
    """
    peaks: list[float] = []

    def peak() -> Iterator[Row]:
        peaks.append(peak_of(setting.device))
        yield {"tflops": round(peaks[0] / 1e12, 3)}

    on_gpu = setting.device.type == "cuda"
    if on_gpu:
        yield {"case": "8192 x 8192 products"}, peak
    for name, (clients, repeats) in CLIENTS.items():
        if setting.quick and name in ("cnn", "vgg"):
            continue
        count, turns = (3, 1) if setting.quick else (clients, repeats)
        yield {"case": name}, partial(_beside_the_loop, name, count, turns, setting, peaks)
        yield {"case": name, "repeatable": True}, partial(_as_runs_train, name, count, setting)


def _beside_the_loop(name: str, clients: int, repeats: int, setting: Setting, peaks: list[float]) -> Iterator[Row]:
    found = measured(name, CASES[name], clients, repeats, setting.device, peaks[0] if peaks else None)
    yield from (asdict(row) for row in found)
    chosen = next(row.strategy for row in found if row.chosen)
    yield verdict({row.strategy: row.seconds for row in found}, chosen)


def _as_runs_train(name: str, clients: int, setting: Setting) -> Iterator[Row]:
    work, seconds = prepared(CASES[name], clients, setting.device), {}
    for strategy in STRATEGIES:
        if strategy != "loop" and STRATEGIES[strategy].why_not(work) is None:
            with repeatable(setting.device, setting.threads):
                seconds[strategy], _ = _median(lambda name=strategy: train_round(work, name), setting)
            yield {"clients": clients, "strategy": strategy, "seconds": seconds[strategy]}
    yield verdict(seconds, choose_strategy(work))


def verdict(seconds: dict[str, float], chosen: str) -> Row:
    """Whether `auto` takes the quickest strategy, and if not, by which share of its time it is slower."""
    best = min(seconds, key=lambda name: seconds[name])
    slower = seconds[chosen] / seconds[best] - 1
    words = "auto takes the quickest" if slower <= SLACK else f"auto takes {chosen}, {slower:.0%} slower than {best}"
    return {"auto": chosen, "quickest": best, "slower": slower, "says": words}


def chunks(setting: Setting) -> Iterator[Job]:
    """Rounds of 1,000 clients by the chosen strategy and vmap, at factors on the clients in a chunk on a CPU.

    The rule's chunk is smaller where the weights would exceed `grouped.MAX_BYTES`; here it never is.
    """
    clients = 6 if setting.quick else 1000
    for case in ("mlp",) if setting.quick else ("mlp", "cnn"):
        work = prepared(CASES[case], clients, setting.device)
        chosen = choose_strategy(work)
        for strategy in dict.fromkeys((chosen, "vmap")):
            rule = choose_chunk(work, strategy)
            for factor in CHUNK_FACTORS:
                chunk = STRATEGIES[strategy].chunk * factor
                asked = {"case": case, "clients": clients, "strategy": strategy, "factor": factor, "chunk": chunk}
                used = {"used": factor == local_training._GPU_FACTOR, "chunk of the rule": rule}  # noqa: SLF001
                run = partial(train_round, work, strategy, chunk)
                yield asked | used, partial(_repeated, run, setting)


def blocks(setting: Setting) -> Iterator[Job]:
    """Perturbing, averaging and measuring a round's weights, at factors on the weights perturbed at a time on a CPU."""
    from ldp_audit.training.ldp_fl import reports
    from ldp_audit.training.models import build

    model = build("cnn", (1, 28, 28), 10)
    shapes = {name: weight.shape for name, weight in model.named_parameters()}
    dimensions = sum(shape.numel() for shape in shapes.values())
    for clients in (5,) if setting.quick else (100, 2000):
        for factor in BLOCK_FACTORS:
            size = max(1, reports.BLOCK_WEIGHTS * factor // dimensions)
            asked = {"weights": dimensions, "clients": clients, "factor": factor, "clients in a block": size}
            run = partial(_perturbed, shapes, clients, size, setting)
            yield asked | {"used": factor == reports._GPU_FACTOR}, run  # noqa: SLF001


def _perturbed(shapes: dict[str, torch.Size], clients: int, size: int, setting: Setting) -> Iterator[Row]:
    from ldp_audit.mechanisms.values.layer_range import LayerRange
    from ldp_audit.training.ldp_fl import reports

    device, epsilon, most = setting.device, 1.0, 500
    generator = torch.Generator(device).manual_seed(1)
    ranges = LayerRange((0.0,) * len(shapes), (0.3,) * len(shapes), tuple(shapes))
    trained = [
        (
            torch.arange(start, stop := min(start + most, clients)),
            {name: torch.randn((stop - start, *shape), device=device) / 5 for name, shape in shapes.items()},
        )
        for start in range(0, clients, most)
    ]

    def run() -> None:
        average, measures = reports.PlainAverage(), reports.LayerMeasures(ranges, TwoPointMoments(epsilon))
        for block in reports.blocks(trained, size):
            average.add(reports.reports(block, ranges, epsilon, generator))
            measures.add(block)
        measures.records(average.averages())

    with repeatable(device, setting.threads):
        yield from _repeated(run, setting)


def rounds(setting: Setting) -> Iterator[Job]:
    """One round of every pipeline, here and on the CPU; FedMD-NFDP's first one has the training before it.

    FedMD's networks are small: on the CPU they have one thread.
    """
    quick = setting.quick
    cases: tuple[tuple[str, Row, Callable[[], Images | Table], int, int], ...] = (
        (
            "ldp-fl",
            {"n": 10 if quick else 100, "epochs": 1, "batch_size": 10, "learning_rate": 0.03},
            partial(images, 100 if quick else 60_000, 20 if quick else 10_000, (1, 28, 28)),
            2 if quick else 3,
            setting.threads,
        ),
        (
            "fedsel",
            {"repeats": 1 if quick else 10},
            partial(table, 1000 if quick else 60_000),
            5 if quick else 20,
            setting.threads,
        ),
        (
            "fedmd-nfdp",
            {"private_epochs": 1, "pretrain_epochs": 1, "parties": 2} if quick else {},
            digits,
            2 if quick else 3,
            1,
        ),
    )
    for pipeline, settings, load, count, threads in cases:
        for device in dict.fromkeys((setting.device, torch.device("cpu"))):
            asked = {"pipeline": pipeline, "device": str(device), "settings": settings}
            cores = threads if device.type == "cpu" else setting.threads
            yield asked | {"threads": cores}, partial(_rounds, pipeline, settings, load, count, device, cores)


def _rounds(
    pipeline: str,
    settings: Row,
    load: Callable[[], Images | Table],
    count: int,
    device: torch.device,
    threads: int,
) -> Iterable[Row]:
    data, memory = load(), Memory(device)
    with repeatable(device, threads):
        start = time.perf_counter()
        run = started(pipeline, settings, data, device)
        waited(device)
        before = time.perf_counter() - start
        seconds = [timed(partial(run.advance, number), device) for number in range(1, count + 1)]
    found = {"data": data.name, "start": before, "first": seconds[0], "later": statistics.median(seconds[1:])}
    yield found | {"megabytes": memory.megabytes()}


def _repeated(run: Callable[[], object], setting: Setting) -> Iterator[Row]:
    with repeatable(setting.device, setting.threads):
        seconds, megabytes = _median(run, setting)
    yield {"seconds": seconds, "megabytes": megabytes}


def _median(run: Callable[[], object], setting: Setting) -> tuple[float, float | None]:
    """Seconds of the run after one that does not count, and GPU memory."""
    memory = Memory(setting.device)
    repeats = 2 if setting.quick else 4
    return statistics.median([timed(run, setting.device) for _ in range(repeats)][1:]), memory.megabytes()
