"""Whatever is handed to audit, fit and the assertions is taken as the command line takes it, or the line is shown.

Each door's program is randomised response or Laplace noise at epsilon 1: the bound is above 0.3, which it would not be
if something else were drawn, and not above 1, but with probability 1e-8 in a row.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from ldp_audit import audit, fit, search
from ldp_audit.auditing import AuditResult, ProgramError, assert_fits, assert_private
from ldp_audit.mechanisms import Laplace, RandomizedResponse, TwoPoint
from tests.together import together

P = math.e / (math.e + 1)
CERTAIN = 1 - 1e-8


class OtherArray:
    """An array of another library: JAX's, say."""

    def __init__(self, values: Any) -> None:
        self._values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._values, dtype=dtype, copy=copy)

    def __iter__(self) -> Iterator[OtherArray]:
        return map(OtherArray, self._values)


class OtherMemory:
    """Memory that is handed on by DLPack alone."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._values.__dlpack_device__()


class Client:
    """One public method of one value."""

    def privatize(self, x: int) -> int:
        return x if random.random() < P else 1 - x

    def _private(self, x: int) -> int:
        return x


class ManyAtOnce:
    """One public method, of a value and a count."""

    def report(self, x: int, n: int) -> Any:
        return one_and_size(x, n)


class Noise(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.distributions.Laplace(0.0, 1.0).sample(x.shape)


class OwnSampler:
    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> Any:
        return flipped(x, n, rng)


class SamplerWithSample(OwnSampler):
    def sample(self, x: Any, rng: Any) -> Any:
        raise AssertionError("it is called itself")


def flipped(x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(n) < P, x, 1 - x)


def with_defaults(x: Any, n: int = 1, rng: Any = None) -> np.ndarray:
    return flipped(x, n, rng)


def named_generator(x: Any, n: int, generator: np.random.Generator) -> np.ndarray:
    return flipped(x, n, generator)


def with_scale(x: float, n: int, rng: np.random.Generator, scale: float) -> np.ndarray:
    return x + rng.laplace(scale=scale, size=n)


def one(x: int) -> int:
    return x if random.random() < P else 1 - x


def one_of_rng(x: int, rng: np.random.Generator) -> int:
    return x if rng.random() < P else 1 - x


def one_with_option(x: int, keep: float = P, rng: Any = None) -> int:
    return x if rng.random() < keep else 1 - x


def one_and_size(x: int, size: int) -> np.ndarray:
    return np.where(np.random.random(size) < P, x, 1 - x)


def endless(x: int) -> Iterator[int]:
    while True:
        yield one(x)


def endless_of_rng(x: int, rng: np.random.Generator) -> Iterator[int]:
    while True:
        yield one_of_rng(x, rng)


def so_many(x: int, n: int, rng: np.random.Generator) -> Iterator[int]:
    return (one_of_rng(x, rng) for _ in range(n))


def noisy(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + rng.laplace(size=n)


def of_anything(*given: Any) -> Any:
    return flipped(*given)


DOORS: dict[str, Any] = {
    "a mechanism": Laplace(1.0),
    "another mechanism": RandomizedResponse(1.0),
    "what a mechanism draws from": Laplace(1.0).implemented(),
    "a sampler": flipped,
    "a sampler as an object": OwnSampler(),
    "a sampler that has a method sample besides": SamplerWithSample(),
    "a sampler with defaults": with_defaults,
    "a sampler whose generator is called so": named_generator,
    "a sampler of any arguments": of_anything,
    "a partial": partial(with_scale, scale=1.0),
    "a function of one value": one,
    "a lambda of one value": lambda x: one(x),
    "of one value and rng": one_of_rng,
    "of one value with options": one_with_option,
    "of a value and a size": one_and_size,
    "a bound method": Client().privatize,
    "an object with one public method": Client(),
    "an object whose method takes a count": ManyAtOnce(),
    "a class": Client,
    "a factory": lambda: Client(),
    "a dictionary of frozen distributions": {0: stats.laplace(0.0), 1: stats.laplace(1.0)},
    "a function that draws from a frozen distribution": lambda x, n, rng: stats.laplace(x).rvs(n, random_state=rng),
    "a torch module": Noise(),
    "a function of a tensor and a generator": lambda x, generator: (
        x + torch.distributions.Laplace(0.0, 1.0).icdf(torch.rand(x.shape, generator=generator).clamp(min=1e-9))
    ),
    "tensors": lambda x, n, rng: torch.as_tensor(noisy(x, n, rng)),
    "another library's array": lambda x, n, rng: OtherArray(noisy(x, n, rng)),
    "a list of its scalars": lambda x, n, rng: list(OtherArray(noisy(x, n, rng))),
    "its scalar, of one value": lambda x, rng: OtherArray(noisy(x, 1, rng)[0]),
    "its rows": lambda x, n, rng: OtherArray(np.column_stack([noisy(x, n, rng), np.zeros(n)])),
    "memory": lambda x, n, rng: OtherMemory(noisy(x, n, rng)),
    "a generator function": endless,
    "a generator function of rng": endless_of_rng,
    "a generator of n outputs": so_many,
    "NaN among outputs": lambda x, n, rng: np.where(flipped(x, n, rng) == 1, np.nan, 0.0),
}


def audited(program: Any, inputs: Any = (0, 1)) -> AuditResult:
    return audit(program, inputs, 1.0, samples=6000, confidence=CERTAIN)


def bound(program: Any, inputs: Any = (0, 1)) -> float:
    return audited(program, inputs).epsilon_lower


@together("door", DOORS)
def test_audit_takes_it(door: str) -> None:
    assert 0.3 < bound(DOORS[door]) <= 1


@together("door", ["a mechanism", "a bound method", "an object with one public method", "a generator function"])
def test_assertions_take_it(door: str) -> None:
    assert assert_private(DOORS[door], 1.0, (0, 1), detects=3.0, false_alarm=1e-8).verdict == "consistent"


def test_an_assertion_on_a_bound_method_can_fail() -> None:
    with pytest.raises(AssertionError, match="epsilon is at least"):
        assert_private(Client().privatize, 0.2, (0, 1), detects=3.0, false_alarm=1e-8)


@together(
    ("program", "law", "other"),
    [
        (Laplace(1.0), Laplace(1.0), Laplace(2.0)),
        (one, RandomizedResponse(1.0), RandomizedResponse(2.0)),
        (Client().privatize, RandomizedResponse(1.0), RandomizedResponse(2.0)),
        (DOORS["a dictionary of frozen distributions"], Laplace(1.0), Laplace(2.0)),
        (DOORS["another library's array"], Laplace(1.0), Laplace(2.0)),
    ],
)
def test_fits_take_it(program: Any, law: Any, other: Any) -> None:
    assert fit(program, law, [0, 1], samples=4000, confidence=CERTAIN).verdict == "consistent"
    assert_fits(program, law, iter([0, 1]), samples=4000, false_alarm=1e-8)
    with pytest.raises(AssertionError, match="differs"):
        assert_fits(program, other, [0, 1], samples=4000, false_alarm=1e-8)


@together(
    "inputs",
    [
        iter((0, 1)),
        np.array([0, 1]),
        OtherArray([0, 1]),
        torch.tensor([0, 1]),
        {0, 1},
        {0: "no", 1: "yes"},
        range(2),
        (1, 0, math.nan),  # NaN is an input: here, of a program that answers it as it does 0
    ],
)
def test_inputs_are_taken_from_whatever_lists_them(inputs: Any) -> None:
    assert 0.3 < bound(lambda x, n, rng: flipped(int(x == 1), n, rng), inputs) <= 1


def test_tables_are_rows_and_what_is_missing_is_no_nan() -> None:
    pandas = pytest.importorskip("pandas")
    doors: dict[str, Callable[[Any, int, np.random.Generator], Any]] = {
        "a column": lambda x, n, rng: pandas.Series(flipped(x, n, rng)),
        "a table": lambda x, n, rng: pandas.DataFrame({"a": flipped(x, n, rng), "b": 0.5}),
        "a table of one column": lambda x, n, rng: pandas.DataFrame({"a": flipped(x, n, rng)}),
        "a mixed table": lambda x, n, rng: pandas.DataFrame({"a": flipped(x, n, rng), "b": "text"}),
        "labels": lambda x, n, rng: pandas.Series(np.where(flipped(x, n, rng) == 1, "yes", "no"), dtype="category"),
        "times": lambda x, n, rng: pandas.to_datetime(pandas.Series(np.where(flipped(x, n, rng) == 1, "2020", "2021"))),
        "NA and NaN": lambda x, n, rng: pandas.Series(
            [pandas.NA if y else math.nan for y in flipped(x, n, rng)], dtype=object
        ),
        "one value": lambda x, rng: pandas.Series([one_of_rng(x, rng), 7]),
    }
    for name, program in doors.items():
        assert 0.3 < bound(program) <= 1, name
    table = pandas.DataFrame({"a": [0, 1], "b": [5, 5]})
    for inputs in (table, table["a"], [table.iloc[:1], table.iloc[1:]], search(values=table)):
        assert 0.3 < bound(lambda x, n, rng: flipped(np.asarray(x).ravel()[0], n, rng), inputs) <= 1


def with_epsilon(x: int, epsilon: float) -> int:
    return x if random.random() < epsilon else 1 - x


async def later(x: int) -> int:
    return x


SHOWN: list[tuple[Any, str]] = [
    ("Laplace(1.0)", "write from ldp_audit.mechanisms import Laplace; Laplace(1.0)"),
    ("clients/mine.py:report", "write from clients.mine import report; report"),
    (
        stats.laplace(scale=2.0),
        "from scipy.stats import laplace; lambda x, n, rng: x + laplace(scale=2.0).rvs(size=n, ",
    ),
    (stats.laplace(0.0).rvs, "from scipy.stats import laplace; lambda x, n, rng: x + laplace(0.0).rvs(size=n, "),
    (stats.laplace, "a dictionary with a frozen distribution for each input, such as {0: laplace(0), 1: laplace(1)}"),
    (np.random.default_rng(1).laplace, "write lambda x, n, rng: rng.laplace(x, size=n)"),
    (np.random.normal, "write lambda x, n, rng: rng.normal(x, size=n)"),
    (endless(0), "it runs once only; hand over the function that makes it"),
    ([0, 1, 1], "from ldp_audit.auditing import audit_scores; audit_scores(members, non_members, ...)"),
    (np.eye(2), "from ldp_audit.mechanisms import FiniteChannel; FiniteChannel(matrix)"),
    (OtherArray([0.5]), "from ldp_audit.auditing import audit_scores"),
    (with_epsilon, "from functools import partial; partial(with_epsilon, epsilon=1.0)"),
    (with_scale, "from functools import partial; partial(with_scale, scale=...)"),
    (later, "call asyncio.run(f(x)) in a function"),
    (TwoPoint, "which needs (epsilon): name an object of it"),
    (Client.privatize, "sampler must be the method of an object, got Client.privatize"),
    (None, "sampler must be something to draw from, got None"),
    (3.5, "sampler must be something to draw from, got 3.5"),
]


@together(("program", "line"), SHOWN)
def test_what_cannot_be_drawn_from_is_told_what_to_write(program: Any, line: str) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: audit(program, (0, 1), 1.0),
        lambda: assert_private(program, 1.0, (0, 1)),
        lambda: fit(program, RandomizedResponse(1.0), (0, 1)),
        lambda: assert_fits(program, RandomizedResponse(1.0), (0, 1)),
    ]
    for call in calls:
        with pytest.raises(ValueError) as refused:  # noqa: PT011  (matched below: the lines are no patterns)
            call()
        assert str(refused.value).startswith("sampler")
        assert line in str(refused.value)


def test_a_function_that_returns_a_distribution_is_told_to_draw_from_it() -> None:
    """To draw once from each that it returns would take a millisecond an output; and one that is drawn itself is no
    law to draw from many times."""
    with pytest.raises(ProgramError, match=r"in f\(x, n\), return its \.rvs\(size=n\) instead"):
        audit(lambda x: stats.laplace(x), (0, 1), 1.0)


def test_the_result_names_what_was_audited_and_not_its_adapter() -> None:
    named = {
        "a mechanism": "Laplace(scale=1.0, sensitivity=1.0)",
        "a bound method": f"{__name__}:Client.privatize",
        "of one value and rng": f"{__name__}:one_of_rng",
    }
    for door, name in named.items():
        assert audited(DOORS[door]).to_dict()["counted"]["target"] == name


def test_two_inputs_that_are_nan_are_one() -> None:
    with pytest.raises(ValueError, match="inputs must be two or more that differ"):
        audit(flipped, (math.nan, float("nan")), 1.0)
