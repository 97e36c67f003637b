"""What the parts of `benchmarks/gpu.py` are made of: the machine, jobs of rows, and runs of the pipelines on data that
need no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ldp_audit.training.datasets import Images, Table

if TYPE_CHECKING:
    from ldp_audit.training.pipeline import Run

Row = dict[str, Any]
"""What was asked and what was found, JSON-ready; "holds": false if a check does not hold."""

Job = tuple[Row, Callable[[], Iterable[Row]]]
"""What is asked, and a function that finds it; rows are printed as they come."""


@dataclass(frozen=True)
class Setting:
    """device: that is measured.   quick: sizes at which a CPU tries everything in seconds.   threads: on the CPU."""

    device: torch.device
    quick: bool
    threads: int


def images(train: int, test: int, shape: tuple[int, int, int]) -> Images:
    """Grey levels and labels of ten classes at random: an image of class c is brighter in its c-th tenth."""
    rng, halves = np.random.default_rng(1), []
    for count in (train, test):
        y = rng.integers(0, 10, count)
        x = rng.random((count, *shape), dtype=np.float32) / 2
        places = np.arange(np.prod(shape)).reshape(shape) * 10 // int(np.prod(shape))
        x += 0.5 * (places == y[:, None, None, None]).astype(np.float32)
        halves += [x, y]
    return Images(f"random {'x'.join(map(str, shape))} images", *halves, classes=10)


def digits() -> Images:
    """The embedded digits, or random images of their size where scikit-learn, which has them, is not installed."""
    from ldp_audit.training.data import load

    try:
        found = load("digits")
    except ModuleNotFoundError:
        return images(1437, 360, (1, 8, 8))
    assert isinstance(found, Images)  # noqa: S101
    return found


def table(records: int) -> Table:
    """FedSel's syn-L with so many records; 60,000 are the paper's."""
    from ldp_audit.training.data import load

    found = load("syn-l", records=records)
    assert isinstance(found, Table)  # noqa: S101
    return found


def started(pipeline: str, settings: Row, data: Images | Table, device: torch.device, seed: int = 7) -> Run:
    """A run of the pipeline before its first round."""
    from ldp_audit.training.pipeline import plan_class

    return plan_class(pipeline)(**settings).start(data, seed=seed, device=device)


def waited(device: torch.device) -> None:
    """Wait until the device is done."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class Memory:
    """The most GPU memory in use since the object was made, beyond what was in use then."""

    def __init__(self, device: torch.device) -> None:
        self._device = device if device.type == "cuda" else None
        if self._device is not None:
            torch.cuda.reset_peak_memory_stats(self._device)
            self._before = torch.cuda.memory_allocated(self._device)

    def megabytes(self) -> float | None:
        """10^6 bytes; None on a CPU, where nothing is counted."""
        if self._device is None:
            return None
        return round((torch.cuda.max_memory_allocated(self._device) - self._before) / 1e6, 1)
