"""Arrays of other libraries as numpy's, none of which is imported for that; and torch's generators."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

_HEADER, _WORDS = 24, 624
"""In the state of torch's generator on the CPU: bytes before the words, and how many words, of 8 bytes each."""


def is_tensor(value: Any) -> bool:
    """Whether it is a torch tensor."""
    return any(one.__module__ == "torch" and one.__name__ == "Tensor" for one in type(value).__mro__)


def as_numpy(tensor: Any) -> np.ndarray:
    """The tensor's values, exactly: floats of whatever width as float64. ValueError for one that numpy cannot hold."""
    try:
        found = tensor.detach().cpu()
        return (found.double() if found.is_floating_point() else found).numpy()
    except (RuntimeError, TypeError) as error:  # sparse, nested, quantised, without data: each has its own
        reason = str(error).partition("\n")[0]
        raise ValueError(f"it returned a tensor without a dense array of numbers ({reason}); return it dense") from None


def refuse_masked(*raw: Any) -> None:
    """ValueError for a masked array: its hidden values are no outputs, and reading it would count them."""
    if any(isinstance(one, np.ma.MaskedArray) for one in raw):
        raise ValueError("it returned a masked array; accepted: arrays of which no value is hidden")


_NO_ARRAYS = frozenset({int, float, bool, str, bytes, list, tuple, dict, set, type(None)})
"""Types of Python's own, known at a glance."""


@runtime_checkable
class _HoldsArray(Protocol):
    def __array__(self) -> Any: ...


@runtime_checkable
class _HoldsMemory(Protocol):
    def __dlpack__(self, *, stream: None = None) -> Any: ...


def arrayed(value: Any) -> Any:
    """The array of another library, such as JAX's or pandas', as one of numpy's; anything else as it is.

    A table becomes its rows; its names and its index are no outputs. torch's tensors stay (see `as_numpy`), and so do
    times, which are labels. What is missing in a table stays apart from NaN.
    """
    if type(value) in _NO_ARRAYS or isinstance(value, np.ndarray | np.generic | type) or is_tensor(value):
        return value
    if isinstance(value, _HoldsArray):
        found = np.asarray(value)
        if found.dtype.kind == "f" and np.isnan(found).any():
            known = np.asarray(value, dtype=object)
            found = found if all(isinstance(one, float | np.floating) for one in known.flat) else known
    elif isinstance(value, _HoldsMemory):
        found = np.from_dlpack(value)
    else:
        return value
    return value if found.dtype.kind in "mM" or (found.dtype.kind == "O" and found.ndim == 0) else found


def generator_state(rng: np.random.Generator) -> Any:
    """A state for torch's generator on the CPU, all of whose 624 words come from rng.

    Its manual_seed keeps 32 bits of a seed, so that among some thousands of calls two would share their numbers.
    """
    import torch

    state = torch.Generator().get_state()  # a byte tensor; one that was just seeded starts with a new block of numbers
    words = rng.integers(0, 2**32, _WORDS, dtype=np.uint64)
    state.numpy()[_HEADER : _HEADER + 8 * _WORDS] = words.view(np.uint8)
    return state


def seeded_generator(device: str, rng: np.random.Generator) -> Any:
    """A torch.Generator on the device, seeded from rng."""
    import torch

    generator = torch.Generator(device)
    if generator.device.type == "cpu":
        generator.set_state(generator_state(rng))
        return generator
    return generator.manual_seed(int(rng.integers(2**63)))
