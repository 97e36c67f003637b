"""Whether a GPU computes what the CPU does: weights without noise, measures with it, and the same run twice.

Without noise, a round's weights are compared with those of the same round on the CPU. The difference of two tensors is
the largest one of their numbers, relative to the CPU's largest number of that tensor. Each comparison is made twice:
without TF32, in float32 throughout, and as torch is set by itself, where cuDNN convolves in TF32 (a mantissa of 10
bits).

With noise, measures are compared with their exact values, which the records of the runs have beside them. The noise of
a GPU is not the CPU's, so a wrong law is only found here.
"""

from __future__ import annotations

import math
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from gpu_cases import Job, Row, Setting, digits, images, started, table
from torch import Tensor
from torch.utils._pytree import tree_leaves

from ldp_audit.training.datasets import Images, Table
from ldp_audit.training.device import repeatable

if TYPE_CHECKING:
    from ldp_audit.training.pipeline import Run

FLOAT32, TF32 = "TF32 forbidden", "as torch has it"

STRICT, DEEP, ADAM = {FLOAT32: 1e-4, TF32: 1e-2}, {FLOAT32: 1e-3, TF32: 5e-2}, {FLOAT32: 5e-3}
"""Limits of a difference, by what is done about TF32.

On a CPU, data or weights that are moved by 2**-23 of themselves move the weights after the round by up to 2e-6 (CNN and
smaller), 2e-5 (VGG) and 2e-4 (FedMD); moved by TF32's 2**-10, by 2e-3 (CNN, VGG). FedMD has no limit with TF32: Adam
divides each slope by its size, so that a slope near 0 passes all its rounding on.
"""

MOST_SCORE = 6.0
"""Of a measure, in standard deviations; a normal variable is beyond it once in 5e8."""

Data = Images | Table
Limits = Mapping[str, float]
Case = tuple[str, Row, Callable[[], Data], int, Limits]
"""Pipeline, settings, data, rounds, and limits of a difference without noise."""


def _noise_free(setting: Setting) -> Iterator[Case]:
    small = partial(images, 600, 20, (1, 28, 28))
    local = {"n": 10, "epsilon": math.inf, "epochs": 1, "batch_size": 10, "learning_rate": 0.03}
    for model, strategy in (("softmax", "auto"), ("mlp", "auto"), ("cnn", "auto"), ("cnn", "vmap")):
        if not setting.quick or model != "cnn":
            yield "ldp-fl", local | {"model": model, "strategy": strategy}, small, 1, STRICT
    if not setting.quick:
        yield "ldp-fl", local | {"model": "vgg", "n": 4}, partial(images, 240, 20, (3, 32, 32)), 1, DEEP
    for solution in ("NP", "NP-K"):
        yield "fedsel", {"solution": solution, "repeats": 1}, partial(table, 2000), 3, STRICT
    once = {"pretrain_epochs": 1, "private_epochs": 1, "digest_epochs": 1, "revisit_epochs": 1}
    yield "fedmd-nfdp", once | {"method": "np", "parties": 5}, digits, 1, ADAM


def _noisy(setting: Setting) -> Iterator[Case]:
    """FedMD's are untrained: the noise of the scores does not depend on them."""
    quick = setting.quick
    clients = 10 if quick else 100
    local = {"n": clients, "model": "softmax" if quick else "cnn", "epochs": 1, "batch_size": 10, "learning_rate": 0.03}
    small = partial(images, 10 * clients, 20, (1, 28, 28))
    for more in ({}, {"epsilon": 0.1, "ranges": "fixed"}, {"permute": True}):
        if not quick or not more:
            yield "ldp-fl", local | more, small, 1, {}
    for solution in ("PM", "PM-RP", "EXP-PM", "PE-PM", "PS-PM", "PS-HM", "PS-DUCHI"):
        if not quick or solution == "PE-PM":
            yield "fedsel", {"solution": solution, "repeats": 2 if quick else 10}, partial(table, 2000), 1, {}
    untrained = {"pretrain_epochs": 0, "private_epochs": 0, "digest_epochs": 0, "revisit_epochs": 0}
    for noise in ("gaussian", "laplace"):
        yield "fedmd-nfdp", untrained | {"method": "ldp", "noise": noise}, digits, 1, {}


def equality(setting: Setting) -> Iterator[Job]:
    """Weights without noise, on the device and on the CPU."""
    for pipeline, settings, load, rounds, limits in _noise_free(setting):
        for tf32, limit in limits.items():
            asked = {
                "pipeline": pipeline,
                "settings": _json(settings),
                "rounds": rounds,
                "precision": tf32,
                "limit": limit,
            }
            yield asked, partial(_compared, pipeline, settings, load, rounds, tf32, limit, setting)


def _compared(
    pipeline: str, settings: Row, load: Callable[[], Data], rounds: int, tf32: str, limit: float, setting: Setting
) -> Iterator[Row]:
    data, start = load(), time.perf_counter()
    with precision(tf32):
        here, _, _ = finished(pipeline, settings, data, rounds, setting.device, setting.threads)
    there, _, _ = finished(pipeline, settings, data, rounds, torch.device("cpu"), setting.threads)
    found = agreement(here.state()["weights"], there.state()["weights"], limit)
    yield found | {"data": data.name, "seconds": time.perf_counter() - start}


def agreement(ours: Any, wanted: Any, limit: float) -> Row:
    """The largest relative difference of tensors in the same places, and whether it is within the limit.

    Raises ValueError if they have different numbers of tensors, or shapes.
    """
    found = max(_difference(*pair) for pair in zip(_tensors(ours), _tensors(wanted), strict=True))
    return {"difference": found, "holds": found <= limit}


def _difference(one: Tensor, other: Tensor) -> float:
    """Infinite if a number is not finite."""
    if one.shape != other.shape:
        raise ValueError(f"tensors must have one shape, got {tuple(one.shape)} and {tuple(other.shape)}")
    largest = float((one - other).abs().max())
    return largest / max(float(other.abs().max()), 1e-300) if math.isfinite(largest) else math.inf


def _tensors(tree: Any) -> list[Tensor]:
    return [leaf.double().cpu() for leaf in tree_leaves(tree) if isinstance(leaf, Tensor) and leaf.numel()]


def noise(setting: Setting) -> Iterator[Job]:
    """The measures of a round with noise against their exact values."""
    for pipeline, settings, load, rounds, _ in _noisy(setting):
        yield {"pipeline": pipeline, "settings": settings}, partial(_scored, pipeline, settings, load, rounds, setting)


def _scored(pipeline: str, settings: Row, load: Callable[[], Data], rounds: int, setting: Setting) -> Iterator[Row]:
    data, start = load(), time.perf_counter()
    run, records, _ = finished(pipeline, settings, data, rounds, setting.device, setting.threads)
    yield judged(scores(pipeline, records[-1], run)) | {"seconds": time.perf_counter() - start}


def judged(found: Mapping[str, float]) -> Row:
    """Whether all scores are within MOST_SCORE; none is none that holds."""
    worst = max(found, key=lambda name: abs(found[name]), default="no score")
    holds = bool(found) and abs(found[worst]) <= MOST_SCORE  # not a NaN
    return {"scores": {name: round(score, 3) for name, score in found.items()}, "worst": worst, "holds": holds}


def scores(pipeline: str, record: Mapping[str, Any], run: Run) -> dict[str, float]:
    """Measures less their exact values, in standard deviations, of a round's record."""
    return _SCORES[pipeline](record, run)


def _of_layers(record: Mapping[str, Any], run: Run) -> dict[str, float]:
    """LDP-FL's, which the record has."""
    del run
    named = {"bias": "bias_z", "variance": "variance_z"}
    return {f"{layer} {name}": one[key] for layer, one in record["layers"].items() for name, key in named.items()}


def _of_users(record: Mapping[str, Any], run: Any) -> dict[str, float]:
    """FedSel's: the standard errors are from the spread over the models; a number of empty reports is binomial."""
    found = {
        name: _score(record[name]["measured"] - record[name]["exact"], record[name]["standard_error"])
        for name in ("bias", "variance")
    }
    chance, reports = record["nothing"]["exact"], record["users"] * len(run.models)
    spread = math.sqrt(chance * (1 - chance) / reports)
    return found | {"nothing": _score(record["nothing"]["measured"] - chance, spread)}


def _of_parties(record: Mapping[str, Any], run: Any) -> dict[str, float]:
    """FedMD-LDP's: the mean square of n normal variables has a standard deviation of sqrt(2 / n) of it, of Laplace ones
    sqrt(5 / n)."""
    found, squares = record["noise"], {"gaussian": 2, "laplace": 5}[run.plan.noise]
    spread = found["exact_variance"] * math.sqrt(squares / found["numbers"])
    return {"variance": _score(found["measured_variance"] - found["exact_variance"], spread)}


_SCORES: dict[str, Callable[[Mapping[str, Any], Any], dict[str, float]]] = {
    "ldp-fl": _of_layers,
    "fedsel": _of_users,
    "fedmd-nfdp": _of_parties,
}


def _score(deviation: float, spread: float) -> float:
    return deviation / spread if spread else math.copysign(math.inf, deviation) if deviation else 0.0


def twice(setting: Setting) -> Iterator[Job]:
    """The same seed twice: records and states to the bit; and which operations torch calls not deterministic."""
    found: dict[str, set[str]] = {}
    for pipeline, settings, load, rounds, _ in (*_noise_free(setting), *_noisy(setting)):
        asked = {"pipeline": pipeline, "settings": _json(settings), "rounds": rounds}
        yield asked, partial(_ran_twice, pipeline, settings, load, rounds, setting, found)
    yield {}, lambda: iter([{"not deterministic": {name: sorted(pipelines) for name, pipelines in found.items()}}])


def _ran_twice(
    pipeline: str,
    settings: Row,
    load: Callable[[], Data],
    rounds: int,
    setting: Setting,
    found: dict[str, set[str]],
) -> Iterator[Row]:
    data, start = load(), time.perf_counter()
    runs = [finished(pipeline, settings, data, rounds, setting.device, setting.threads) for _ in range(2)]
    (one, records, operations), (other, again, _) = runs
    for name in operations:
        found.setdefault(name, set()).add(pipeline)
    holds = same(one.state(), other.state()) and same(records, again)
    yield {"holds": holds, "not deterministic": operations, "seconds": time.perf_counter() - start}


def same(one: Any, other: Any) -> bool:
    """Whether two states are equal to the bit."""
    if isinstance(one, Tensor):
        return isinstance(other, Tensor) and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def finished(
    pipeline: str, settings: Row, data: Data, rounds: int, device: torch.device, threads: int
) -> tuple[Any, list[dict[str, Any]], list[str]]:
    """A run after so many rounds, their records, and the operations that warn of being not deterministic."""
    with warnings.catch_warnings(record=True) as caught, repeatable(device, threads):
        warnings.simplefilter("always")
        run = started(pipeline, settings, data, device)
        records = [run.advance(number) for number in range(1, rounds + 1)]
    return run, records, sorted({name for one in caught if (name := operation(str(one.message)))})


def operation(warning: str) -> str | None:
    """The operation of torch that this warning says has no deterministic implementation; None for other warnings."""
    found = re.match(r"(\S+) does not have a deterministic implementation", warning)
    return found[1] if found else None


@contextmanager
def precision(tf32: str) -> Iterator[None]:
    """FLOAT32 forbids TF32; else torch's own setting, which allows it in cuDNN's convolutions alone."""
    before = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    if tf32 == FLOAT32:
        torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = False, False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = before


def _json(settings: Row) -> Row:
    return {name: "inf" if value == math.inf else value for name, value in settings.items()}
