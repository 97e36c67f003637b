"""torch tensors and generators, for adapters that have not imported torch."""

from __future__ import annotations

from typing import Any

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
