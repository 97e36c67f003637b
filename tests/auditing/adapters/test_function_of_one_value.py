from __future__ import annotations

import math
import random
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest

from ldp_audit.auditing import as_sampler, audit
from ldp_audit.auditing.adapters import from_function
from tests.together import together


def laplace(x: float, rng: np.random.Generator) -> float:
    return x + rng.laplace()


def flips_below_two(x: float, rng: np.random.Generator) -> int:
    """A coin, but for 2, on which it fails once in ten times."""
    if x == 2 and rng.random() < 0.1:
        raise KeyError(x)
    return int(rng.random() < 0.5)


def by_keyword(x: float, scale: float = 1.0, *, rng: np.random.Generator) -> float:
    return x + scale * rng.normal()


def by_default(x: float, scale: float = 1.0, rng: np.random.Generator | None = None) -> float:
    assert rng is not None
    return x + scale * rng.normal()


def from_shared_generators(x: float) -> list[float]:
    return [x + np.random.normal(), random.random()]


@together(
    ("f", "repeatable"),
    [
        (laplace, True),
        (by_keyword, True),
        (by_default, True),
        (partial(by_default, scale=2.0), True),
        (from_shared_generators, False),
    ],
)
def test_a_seed_gives_the_same_outputs_and_another_gives_others(f: Any, repeatable: bool) -> None:
    sampler = from_function(f)
    first, again, other = (sampler(1.5, 20, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.any(np.asarray(first) == np.asarray(other))
    assert len(np.unique(np.asarray(first).reshape(20, -1)[:, 0])) == 20
    assert sampler.repeatable is repeatable


def test_shared_generators_go_on_as_if_nothing_had_been_drawn() -> None:
    np.random.seed(1)
    random.seed(1)
    expected = np.random.random(), random.random()
    np.random.seed(1)
    random.seed(1)
    from_function(from_shared_generators)(0.0, 10, np.random.default_rng(0))
    assert (np.random.random(), random.random()) == expected


def test_a_seed_gives_the_same_whichever_libraries_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a sound or broken client whose copies answer otherwise because nobody has imported torch there."""

    class Client:
        def __init__(self, rng: np.random.Generator) -> None:
            self.rng = rng

        def report(self, x: float) -> float:
            return x + self.rng.laplace()

    pytest.importorskip("torch")
    sampler = as_sampler(fresh=Client)
    loaded = sampler(1.5, 20, np.random.default_rng(3))
    monkeypatch.delitem(sys.modules, "torch")
    assert np.array_equal(loaded, sampler(1.5, 20, np.random.default_rng(3)))


def test_floats_stay_as_the_function_returned_them() -> None:
    values = [0.1 + 0.2, math.nextafter(1, 2), 5e-324]
    assert from_function(lambda x: values[x])(0, 1, np.random.default_rng(0)) == [values[0]]
    assert from_function(lambda x: values)(0, 2, np.random.default_rng(0))[1].tolist() == values


def test_an_error_is_raised_unless_it_is_to_be_an_output() -> None:
    with pytest.raises(KeyError):
        from_function(flips_below_two)(2.0, 1000, np.random.default_rng(0))
    outputs = from_function(flips_below_two, errors="output")(2.0, 1000, np.random.default_rng(0))
    assert set(outputs) == {0, 1, "error: KeyError"}


def test_an_error_that_depends_on_the_input_is_caught_as_a_leak() -> None:
    """The error has probability 0.1 and 0, in 20,000 outputs each: missed below 1e-9, at whatever claim up to 4."""
    sampler = from_function(flips_below_two, errors="output")
    found = audit(sampler, (1.0, 2.0), 4.0, samples=20_000, confidence=1 - 1e-6)
    assert found.verdict == "violated"
    assert "error: KeyError" in str(found.witness.to_dict())
    sound = audit(sampler, (0.0, 1.0), 0.0, samples=20_000, confidence=1 - 1e-6)  # two fair coins: fails once in 1e6
    assert sound.verdict == "consistent"


def test_a_function_is_audited_at_its_epsilon() -> None:
    """Epsilon is 1: the first fails once in 1e6 seeds. At 0.5 the event x >= 1 has 0.5 and 0.18: missed below 1e-9."""
    for claim, verdict in ((1.0, "consistent"), (0.5, "violated")):
        assert audit(from_function(laplace), (0.0, 1.0), claim, samples=20_000, confidence=1 - 1e-6).verdict == verdict


async def awaited(x: int) -> int:
    return x


@together(
    "f",
    [
        lambda: 1,
        lambda x, y, z: x,
        lambda x, *, scale: x,
        float,
        3,
        awaited,
    ],
)
def test_what_is_no_function_of_one_value_is_refused(f: Any) -> None:
    with pytest.raises(ValueError, match=r"^f must .*accepted: f\(x\), f\(x, rng\)"):
        from_function(f)


def test_an_unknown_treatment_of_errors_is_refused() -> None:
    with pytest.raises(ValueError, match=r'errors must be "raise" or "output", got \'ignore\''):
        from_function(laplace, errors="ignore")


def test_a_built_in_function_that_tells_no_parameters_is_called_with_the_value() -> None:
    assert from_function(max)((1, 5), 2, np.random.default_rng(0)) == [5, 5]
