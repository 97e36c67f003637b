"""The device of a run, and the settings of torch that make its numbers repeatable there.

Equal seeds give equal numbers on one device with one number of threads. Rounding differs on another device, with
another number of threads and in another version of torch; results record all three.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ldp_audit.numerics import whole

if TYPE_CHECKING:
    import torch

_WARNING = " does not have a deterministic implementation"
"""What torch says after the name of an operation."""
_VOID = "max_pool2d_with_indices_backward"
_ACCEPTED = "auto, cpu, cuda, cuda:0, cuda:1, ..."


def device_of(name: str = "auto") -> torch.device:
    """The device with this name; "auto" is CUDA's first GPU if there is one, else the CPU.

    Raises ValueError for another name, and for a device that this machine does not have.
    """
    import torch

    if name == "auto":
        return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is not None and device.type == "mps":
        raise ValueError(f"device must be {_ACCEPTED}, got {name!r}, which has no float64: averages are computed in it")
    if device is None or device.type not in ("cpu", "cuda"):
        raise ValueError(f"device must be {_ACCEPTED}, got {name!r}")
    if device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (device.index or 0) >= count:
            raise ValueError(f"device {name!r} is not there: CUDA finds {count} devices; cpu always is")
        return torch.device("cuda", device.index or 0)
    return device


@contextmanager
def repeatable(device: torch.device, threads: int) -> Iterator[list[str]]:
    """Run torch with this many threads and deterministic algorithms, and restore its settings afterwards.

    The value is a list to which the name of each operation without a deterministic algorithm is added when it runs, as
    torch then warns. Of max-pooling the warning is void: windows that do not overlap pass each slope on once, in any
    order.
    """
    import torch

    whole(threads, "threads", 1)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when CUDA is first used
    before, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    warned = torch.is_deterministic_algorithms_warn_only_enabled()
    cudnn = torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
    torch.set_num_threads(threads)
    if device.type != "cpu" or threads > 1:  # one CPU thread sums in a fixed order
        torch.use_deterministic_algorithms(mode=True, warn_only=True)
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    try:
        with _heard() as names:
            yield names
    finally:
        torch.set_num_threads(before)
        torch.use_deterministic_algorithms(strict, warn_only=warned)
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = cudnn


@contextmanager
def _heard() -> Iterator[list[str]]:
    """The names of the operations of which torch warns; every warning is shown as before, but the void one."""
    names: list[str] = []
    with warnings.catch_warnings():
        warnings.filterwarnings("default", f".*{_WARNING}", UserWarning)  # even where the user ignores warnings
        shown = warnings.showwarning

        def heard(message: Warning | str, *where: Any, **how: Any) -> None:
            name, sign, _ = str(message).partition(_WARNING)
            if sign and name.startswith(_VOID):
                return
            if sign and name not in names:
                names.append(name)
            shown(message, *where, **how)

        warnings.showwarning = heard
        yield names


def described(device: torch.device, threads: int) -> dict[str, Any]:
    """Device, threads and version of torch, on which the numbers depend besides the settings and the seed."""
    import torch

    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return {"device": device.type, "name": name, "threads": threads, "torch": str(torch.__version__)}
