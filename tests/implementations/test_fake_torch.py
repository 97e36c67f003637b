"""The fake of torch's random functions: bit for bit torch's own values, and what is not modelled is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.together import together

torch = pytest.importorskip("torch")

from ldp_audit.implementations import fake_torch  # noqa: E402
from ldp_audit.implementations.fake_generator import NotEnumerable, Tape  # noqa: E402
from ldp_audit.implementations.fake_torch import FakeTorch  # noqa: E402

HALVES = [torch.float16, torch.bfloat16]
DTYPES = [torch.float32, torch.float64, *HALVES]
N = 3000

CALLS: dict[str, Callable[[Any], Any]] = {
    **{f"rand {dtype}": lambda g, dtype=dtype: torch.rand(N, dtype=dtype, generator=g) for dtype in DTYPES},
    "rand of two axes": lambda g: torch.rand(3, 5, generator=g),
    "rand of none": lambda g: torch.rand(0, generator=g),
    **{
        f"uniform_ {dtype}": lambda g, dtype=dtype: torch.empty(N, dtype=dtype).uniform_(-1, 1, generator=g)
        for dtype in DTYPES
    },
    **{
        f"uniform_ 0.1 0.2 {dtype}": lambda g, dtype=dtype: torch.empty(N, dtype=dtype).uniform_(0.1, 0.2, generator=g)
        for dtype in (torch.float32, *HALVES)
    },
    "uniform_ far": lambda g: torch.empty(50_000).uniform_(1000, 1001, generator=g),
    **{
        f"bernoulli {dtype}": lambda g, dtype=dtype: torch.bernoulli(torch.full((N,), 0.3, dtype=dtype), generator=g)
        for dtype in DTYPES
    },
    "bernoulli_ of a number": lambda g: torch.empty(N).bernoulli_(0.3, generator=g),
    "bernoulli_ of a tensor": lambda g: torch.empty(N).bernoulli_(torch.full((N,), 0.3), generator=g),
    "bernoulli of a number": lambda g: torch.bernoulli(torch.empty(N), 0.3, generator=g),
    "randint": lambda g: torch.randint(8, (N,), generator=g),
    "randint low": lambda g: torch.randint(-4, 4, (N,), generator=g, dtype=torch.int32),
    "random_": lambda g: torch.empty(N).random_(0, 2**24, generator=g),
}

SHARED: dict[str, Callable[[], Any]] = {
    "rand_like": lambda: torch.rand_like(torch.zeros(N)),
    "dropout": lambda: torch.nn.functional.dropout(torch.ones(N), 0.3),
    "Laplace": lambda: torch.distributions.Laplace(0.5, 2.0).sample((N,)),
    "Bernoulli": lambda: torch.distributions.Bernoulli(torch.tensor(0.3)).sample((N,)),
}

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "randn": (lambda: torch.randn(3), "torch's randn.default"),
    "normal": (lambda: torch.normal(0.0, torch.ones(3)), "torch's normal"),
    "exponential_": (lambda: torch.empty(3).exponential_(), "torch's exponential_"),
    "randperm": (lambda: torch.randperm(3), "torch's randperm"),
    "multinomial": (lambda: torch.multinomial(torch.ones(3), 1), "torch's multinomial"),
    "randint over 10": (lambda: torch.randint(10, (3,)), "over 10 values, a word modulo 10"),
    "randint over many": (lambda: torch.randint(2**30, (3,)), "up to 2**24"),
    "uniform_ in float64": (lambda: torch.empty(3, dtype=torch.float64).uniform_(0.1, 0.2), "rounding is not modelled"),
    "random_ without an end": (lambda: torch.empty(3).random_(), "torch's random_"),
    "gumbel": (lambda: torch.nn.functional.gumbel_softmax(torch.ones(2, 2)), "torch's exponential_"),
}


def played(call: Callable[[], Any]) -> tuple[Tape, Any]:
    tape = Tape()
    with FakeTorch(tape):
        return tape, call()


@together("call", CALLS.values())
def test_recorded_values_are_torchs_own_and_come_back_from_their_words(call: Callable[[Any], Any]) -> None:
    """Catches a wrong grid, rounding, or end of a range: values are compared bit by bit, also by the fake itself."""
    wanted = call(torch.Generator().manual_seed(3))
    tape, found = played(lambda: call(torch.Generator().manual_seed(3)))
    assert found.dtype == wanted.dtype
    assert torch.equal(found, wanted)
    again = Tape(list(zip(tape.draws, tape.words, strict=True)))
    generator = torch.Generator().manual_seed(4)
    state = generator.get_state()
    with FakeTorch(again):
        assert torch.equal(call(generator), wanted)
    assert torch.equal(generator.get_state(), state)


@together("call", SHARED.values())
def test_functions_that_draw_inside_are_played_back_too(call: Callable[[], Any]) -> None:
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(3)
        wanted = call()
        torch.manual_seed(3)
        tape, found = played(call)
        torch.manual_seed(4)
        with FakeTorch(Tape(list(zip(tape.draws, tape.words, strict=True)))):
            again = call()
    assert torch.equal(found, wanted)
    assert torch.equal(again, wanted)


@together(("call", "reason"), REFUSED.values())
def test_what_is_not_modelled_is_refused_by_name(call: Callable[[], Any], reason: str) -> None:
    with torch.random.fork_rng(devices=()), pytest.raises(NotEnumerable) as caught:
        played(call)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("dtype", "zeros"), [(torch.bfloat16, 2**15 + 1), pytest.param(torch.float16, 2**12 + 1, marks=pytest.mark.slow)]
)
def test_half_uniforms_are_rounded_and_what_rounds_to_1_is_0(dtype: Any, zeros: int) -> None:
    """The docstring's statement, on every word: 0 has probability about 2**-12 in float16, 2**-9 in bfloat16."""
    words = np.arange(2**24, dtype=np.uint64)
    tape, _ = played(lambda: torch.rand(4, dtype=dtype))
    (draw,) = tape.draws
    whole = type(draw)(draw.name, draw.bits, (2**24,))
    with FakeTorch(Tape([(whole, words)])):
        values = torch.rand(2**24, dtype=dtype)
    assert draw.bits == 24
    assert int((values == 0).sum()) == zeros
    assert bool((values < 1).all())


def test_float32_uniforms_are_all_multiples_of_their_grid() -> None:
    drawn = torch.rand(10**6, generator=torch.Generator().manual_seed(1)).double() * 2.0**24
    assert torch.equal(drawn, drawn.floor())
    assert np.bitwise_or.reduce(drawn.long().numpy()) == 2**24 - 1


def test_a_torch_of_other_values_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison with torch's own values can fail: here the end of the range is not kept out."""
    monkeypatch.setattr(fake_torch, "_inside", lambda values, low, high: values)
    with pytest.raises(NotEnumerable, match="is not the function of words that it is known to be"):
        played(lambda: torch.rand(10**4, dtype=torch.bfloat16))
