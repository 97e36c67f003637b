"""The grid of uniforms: every point exact, in the dtype asked for, and fresh."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.implementations import Grid
from tests.together import together


@together(
    ("bits", "dtype", "name"),
    [
        (1, None, "float32"),
        (11, None, "float16"),
        (12, None, "float32"),
        (24, None, "float32"),
        (25, None, "float64"),
        (53, None, "float64"),
        (8, "float16", "float16"),
        (11, torch.float16, "float16"),
        (8, torch.bfloat16, "bfloat16"),
        (24, torch.float32, "float32"),
        (53, torch.float64, "float64"),
    ],
)
def test_every_point_is_exact_in_its_dtype(bits: int, dtype: Any, name: str) -> None:
    """Would catch a product that rounds, or a dtype too narrow for the bits: two words with one uniform."""
    grid = Grid(bits, dtype)
    words = np.array([0, 1, 2**bits // 3, 2**bits - 2, 2**bits - 1], dtype=np.uint64)
    points = grid.uniforms(words)
    assert grid.dtype_name == name
    assert grid.on_torch == isinstance(points, torch.Tensor)
    read = points.double().numpy() if grid.on_torch else points.astype(np.float64)
    assert [float(point) for point in read] == [int(word) / 2**bits for word in words]


def test_the_points_are_those_that_the_generators_draw() -> None:
    """Would catch a grid of another spacing than the generator's: its draws must be whole multiples, below 1."""
    drawn = [
        np.random.default_rng(1).random(10_000, dtype=np.float32) * 2**24,
        np.random.default_rng(1).random(10_000) * 2**53,
        torch.rand(10_000, generator=torch.Generator().manual_seed(1)).numpy() * 2**24,
        torch.rand(10_000, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).numpy() * 2**53,
    ]
    for multiples in drawn:
        assert (multiples == np.floor(multiples)).all()
        assert (multiples % 2 == 1).any()


@together("dtype", [torch.float16, torch.bfloat16])
def test_torch_halves_of_24_bits_are_what_torch_draws(dtype: torch.dtype) -> None:
    """Would catch torch.rand taken for a grid of 11 or 8 bits: the same generator's float32 values name the words."""
    words = (torch.rand(100_000, generator=torch.Generator().manual_seed(1)).double() * 2**24).long().numpy()
    halves = torch.rand(100_000, dtype=dtype, generator=torch.Generator().manual_seed(1))
    assert torch.equal(Grid(24, dtype).uniforms(words), halves)
    assert (words > 2**24 - 2**10).any()  # some round to 1
    assert halves.max() < 1


@together(("bits", "dtype"), [(4, np.int64), (63, np.int64), (64, np.uint64)])
def test_words_are_the_whole_numbers_themselves(bits: int, dtype: Any) -> None:
    grid = Grid(bits, words=True)
    words = np.array([0, 2**bits - 1], dtype=np.uint64)
    assert grid.uniforms(words).dtype == dtype
    assert grid.uniforms(words).tolist() == [0, 2**bits - 1]
    assert Grid(4, torch.int64, words=True).uniforms(np.array([0, 15])).tolist() == [0, 15]


@together("words", [False, True])
def test_uniforms_are_new_arrays(words: bool) -> None:
    """A map that writes into its uniforms must not write into the words."""
    given = np.arange(16)
    Grid(4, words=words).uniforms(given)[:] = 0
    assert given.tolist() == list(range(16))


@together(
    ("arguments", "message"),
    [
        ({"bits": 0}, r"bits must be a whole number in 1 \.\. 53, got 0"),
        ({"bits": 54}, r"got 54"),
        ({"bits": 65, "words": True}, r"in 1 \.\. 64, got 65"),
        ({"bits": 8.0}, r"got 8.0"),
        ({"bits": True}, r"got True"),
        ({"bits": 24, "dtype": "float16"}, r"bits must be at most 11 in float16, got 24"),
        ({"bits": 24, "dtype": torch.float16, "words": True}, r"dtype must be one of int8, .* got float16"),
        ({"bits": 9, "dtype": torch.bfloat16}, r"bits must be at most 8 in bfloat16, got 9"),
        ({"bits": 8, "dtype": "int64"}, r"dtype must be one of float16, .* got int64"),
        ({"bits": 8, "dtype": "float32", "words": True}, r"dtype must be one of int8, .* got float32"),
        ({"bits": 8, "dtype": "no such"}, r"dtype must be a numpy or torch dtype, got 'no such'"),
        ({"bits": 64, "dtype": "int64", "words": True}, r"at most 63 in int64"),
    ],
)
def test_what_no_dtype_holds_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Grid(**arguments)
