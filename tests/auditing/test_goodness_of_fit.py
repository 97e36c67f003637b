"""The test of fit: its two rates, its exactness, every kind of law, and what it refuses."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import special

from ldp_audit.auditing.adapters.sampler import ProgramError
from ldp_audit.auditing.fitting import fit
from ldp_audit.auditing.law_cells import cells_of
from ldp_audit.auditing.outputs import Outputs
from ldp_audit.mechanisms import (
    DuchiVector,
    ExponentialSelection,
    FiniteChannel,
    Gaussian,
    Hybrid,
    Laplace,
    PerturbedEncoding,
    PerturbedSampling,
    Piecewise,
    RandomizedResponse,
    SquareWave,
    SymbolicChannel,
    TwoPoint,
    Variable,
)
from tests.frequency import FALSE_ALARM, assert_at_most
from tests.together import together

SURE = 1 - FALSE_ALARM
CHANNEL = FiniteChannel([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/8", "1/8", "3/4"]], ["a", None, 3])
LAWS: dict[str, tuple[Any, list[Any]]] = {
    "RandomizedResponse": (RandomizedResponse(2.0, 10), [0, 4, 9]),
    "TwoPoint": (TwoPoint(1.0, 0.5, 2.0), [-1.5, 0.7, 2.5]),
    "Piecewise": (Piecewise(1.0), [-1.0, 0.3]),
    "SquareWave": (SquareWave(1.0), [0.0, 0.3]),
    "Hybrid": (Hybrid(1.0), [-0.4, 1.0]),
    "Hybrid without its density": (Hybrid(0.5), [-0.4, 1.0]),
    "Laplace": (Laplace(2.0), [0.0, 1.3]),
    "Gaussian": (Gaussian(0.7), [0.0, 0.123]),
    "FiniteChannel": (CHANNEL, [0, 1, 2]),
    "DuchiVector": (DuchiVector(1.0, 3), [np.ones(3), np.array([0.1, -0.4, 0.9])]),
    "ExponentialSelection": (ExponentialSelection(1.0, 4), [np.array([1, 2, 3, 4]), np.array([2, 1, 4, 3])]),
    "PerturbedEncoding": (PerturbedEncoding(1.0, 4, 1), [np.array([1, 0, 0, 0]), np.array([0, 0, 1, 0])]),
    "PerturbedSampling": (PerturbedSampling(1.0, 4, 2), [np.array([1, 1, 0, 0]), np.array([0, 1, 0, 1])]),
}


def sampler_of(mechanism: Any) -> Callable:
    def sampler(x: Any, n: int, rng: np.random.Generator) -> Any:
        return mechanism.sample(np.broadcast_to(np.asarray(x), (n, *np.shape(x))).copy(), rng=rng)

    return sampler


def response(truth: float, k: int = 10, only: int | None = None) -> Callable:
    """k-RR that keeps the value with this probability: the labels of n outputs, in no order that matters.

    only: the one input that has it; others have that of epsilon 2.
    """

    def sampler(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        p = truth if only in (None, x) else TRUTH
        law = np.full(k, (1 - p) / (k - 1))
        law[x] = p
        return np.repeat(np.arange(k), rng.multinomial(n, law))

    return sampler


TRUTH = float(np.exp(RandomizedResponse(2.0, 10).log_prob(0, 0)))


@together("name", LAWS)
@together("which", ["ideal", "implemented"])
def test_shipped_samplers_follow_their_laws(name: str, which: str) -> None:
    """False alarm 1e-6 each; and none of them is so far off its ideal law that 20,000 samples could tell."""
    mechanism, inputs = LAWS[name]
    law = mechanism if which == "ideal" else mechanism.implemented()
    result = fit(sampler_of(mechanism), law, inputs, samples=20_000, confidence=SURE)
    assert result.verdict == "consistent", result.describe()


@together("name", LAWS)
def test_another_law_of_the_same_family_is_told_apart(name: str) -> None:
    """A budget, or a scale, that is 1.3 times as large; missed below 1e-6 where 20,000 samples suffice for 1e-6."""
    mechanism, inputs = LAWS[name]
    others = {
        "RandomizedResponse": RandomizedResponse(2.6, 10),
        "TwoPoint": TwoPoint(1.3, 0.5, 2.0),
        "Piecewise": Piecewise(1.3),
        "SquareWave": SquareWave(1.3),
        "Hybrid": Hybrid(1.3),
        "Hybrid without its density": Hybrid(0.6),
        "Laplace": Laplace(2.6),
        "Gaussian": Gaussian(0.91),
        "FiniteChannel": FiniteChannel([[0.4, 0.3, 0.3], [0.3, 0.4, 0.3], [0.2, 0.2, 0.6]], ["a", None, 3]),
        "DuchiVector": DuchiVector(1.3, 3),
        "ExponentialSelection": ExponentialSelection(1.3, 4),
        "PerturbedEncoding": PerturbedEncoding(1.3, 4, 1),
        "PerturbedSampling": PerturbedSampling(1.3, 4, 2),
    }
    result = fit(sampler_of(others[name]), mechanism, inputs, samples=20_000, confidence=SURE)
    assert result.verdict == "differs", result.describe()


def laplace(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return x + rng.laplace(size=n)


UNEQUAL = FiniteChannel([[0.6, 0.4], [0.1, 0.9], [0.3, 0.7]])
"""Whose pooled counts are sums of unlike binomials."""
NULLS: dict[str, tuple[Callable, Any, list[Any]]] = {
    "k-rr": (response(TRUTH), RandomizedResponse(2.0, 10), [0, 1]),
    "laplace": (laplace, Laplace(1.0), [0.0, 1.0]),
    "unequal": (sampler_of(UNEQUAL), UNEQUAL, [0, 1, 2]),
}


@together("name", NULLS)
@together("samples", [50, 2_000])
def test_a_sampler_that_follows_its_law_is_called_different_as_often_as_stated(name: str, samples: int) -> None:
    """Exact binomial test of at most 0.2, false alarm 1e-6; a true rate of 0.65 fails it with probability 0.99."""
    sampler, law, inputs = NULLS[name]
    runs = 60
    alarms = sum(fit(sampler, law, inputs, samples=samples, confidence=0.8, seed=seed).differs for seed in range(runs))
    assert_at_most(alarms, runs, 0.2)


def test_the_check_of_false_alarms_can_fail() -> None:
    runs, law = 60, RandomizedResponse(2.0, 10)
    alarms = sum(
        fit(response(TRUTH + 0.02), law, [0, 1], samples=5_000, confidence=0.8, seed=seed).differs
        for seed in range(runs)
    )
    with pytest.raises(AssertionError, match="is promised"):
        assert_at_most(alarms, runs, 0.2)


@together(
    ("change", "inputs", "stated"),
    [(0.005, 10, 0.999), (-0.005, 2, 0.8)],
)
def test_half_a_percent_of_a_probability_is_caught_at_1e5_samples(change: float, inputs: int, stated: float) -> None:
    """The stated power, by an exact binomial test with false alarm 1e-6; a power of 0.5 on two inputs fails it."""
    runs, law = (20 if inputs == 10 else 60), RandomizedResponse(2.0, 10)
    caught = sum(
        fit(response(TRUTH + change), law, range(inputs), samples=100_000, seed=seed).differs for seed in range(runs)
    )
    assert_at_most(runs - caught, runs, 1 - stated)


def test_half_a_percent_goes_to_one_wrong_label_on_one_input() -> None:
    """p - 0.005 and one label + 0.005: seven standard deviations of that label's count; missed below 0.02."""

    def sampler(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        law = np.full(10, (1 - TRUTH) / 9)
        law[x] = TRUTH
        law[[3, 7]] += (-0.005, 0.005) if x == 3 else (0, 0)
        return np.repeat(np.arange(10), rng.multinomial(n, law))

    runs = 15
    results = [fit(sampler, RandomizedResponse(2.0, 10), range(10), seed=seed) for seed in range(runs)]
    assert_at_most(runs - sum(result.differs for result in results), runs, 0.05)
    assert any("y = 7" in result.witness.describe() for result in results)


@together("sign", [1, -1])
def test_the_change_that_is_called_detectable_is_detected(sign: int) -> None:
    """With probability 0.95 or more; exact binomial test, false alarm 1e-6."""
    law, runs = RandomizedResponse(2.0, 10), 80
    change = sign * fit(response(TRUTH), law, [0, 1], samples=10_000).detectable["likeliest"]
    assert 0.01 < abs(change) < 0.03
    caught = sum(fit(response(TRUTH + change), law, [0, 1], samples=10_000, seed=seed).differs for seed in range(runs))
    assert_at_most(runs - caught, runs, 0.05)


def test_the_p_value_is_that_of_both_tails_and_the_shares() -> None:
    """One input, two labels as likely: none is the likeliest, so that the half-line has the whole error."""

    def sampler(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.arange(n) >= 0.39 * n

    result = fit(sampler, FiniteChannel([["1/2", "1/2"]]), [0], samples=1_000)
    tail = math.fsum(math.comb(1000, k) for k in range(610, 1001)) / 2**1000
    assert result.budget == pytest.approx({"half-lines": 0.001})
    assert result.p_value == pytest.approx(2 * tail, rel=1e-5)
    assert (result.witness.hits, result.witness.trials, result.witness.expected) == (390, 1000, 0.5)
    # With unlike labels the same count is tested twice, and the likeliest label has 0.4 of 0.6.
    result = fit(sampler, FiniteChannel([["1/4", "3/4"]]), [0], samples=1_000)
    weights = [Fraction(3 ** (1000 - k) * math.comb(1000, k), 4**1000) for k in range(390, 1001)]
    assert result.p_value == pytest.approx(float(2 * sum(weights)) * 1.5, rel=1e-5)


def test_an_output_off_the_support_is_a_certain_difference() -> None:
    def sampler(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        y = Piecewise(1.0).sample(np.full(n, x), rng=rng)
        y[:1] = 9.0 if n > 1 else 0.0
        return y

    result = fit(sampler, Piecewise(1.0), [0.5], samples=1_000, confidence=SURE)
    assert (result.verdict, result.p_value) == ("differs", 0.0)
    assert "y is off the law's support, on input 0.5: 1 of 1000" in result.describe()


@together("wrong", [11, 2.5, "a", None, True])
def test_a_label_that_is_none_is_off_the_support(wrong: Any) -> None:
    def sampler(x: int, n: int, rng: np.random.Generator) -> list[Any]:
        return [wrong, *rng.integers(0, 3, n - 1).tolist()]

    law = FiniteChannel([[1 / 3, 1 / 3, 1 / 3, 0]], [0, 1, 2, 5])
    result = fit(sampler, law, [0], samples=100)
    assert (result.p_value == 0) == (wrong is not True)  # which is the number 1, among numbers


def test_none_and_minus_one_are_both_no_index() -> None:
    mechanism = PerturbedEncoding(1.0, 4, 1)

    def with_none(x: Any, n: int, rng: np.random.Generator) -> list[Any]:
        return [None if y < 0 else int(y) for y in sampler_of(mechanism)(x, n, rng)]

    assert not fit(with_none, mechanism, [np.array([1, 0, 0, 0])], samples=5_000, confidence=SURE).differs


def test_single_precision_is_no_difference() -> None:
    for mechanism in (TwoPoint(1.0, 0.5, 2.0), Piecewise(1.0), Hybrid(1.0), DuchiVector(1.0, 3)):

        def sampler(x: Any, n: int, rng: np.random.Generator, mechanism: Any = mechanism) -> np.ndarray:
            return np.asarray(sampler_of(mechanism)(x, n, rng), dtype=np.float32)

        x = np.full(3, 0.5) if isinstance(mechanism, DuchiVector) else 0.5
        assert not fit(sampler, mechanism, [x], samples=5_000, confidence=SURE).differs


@together("x", [0.0, -0.61, 1.0])
def test_interval_masses_are_those_of_the_closed_forms(x: float) -> None:
    piecewise = Piecewise(1.0)
    reach, (left, right) = piecewise.reach(), (float(end) for end in piecewise.inner(x))
    inside = math.exp(piecewise.log_prob((left + right) / 2, x))
    knots = np.array([-reach, left, right, reach])
    shares = np.cumsum([0, *(np.diff(knots) * inside * np.exp([-1.0, 0.0, -1.0]))])

    def laplace_below(y: np.ndarray) -> np.ndarray:
        tail = np.exp(-np.abs(y - x) / 0.5) / 2
        return np.where(y < x, tail, 1 - tail)

    below: dict[Any, Callable] = {
        Laplace(0.5): laplace_below,
        Gaussian(0.5): lambda y: special.ndtr((y - x) / 0.5),
        piecewise: lambda y: np.interp(y, knots, shares),
    }
    for law, cumulative in below.items():
        cells = cells_of(law, x, 100_000)
        upper = np.array([float(words.removeprefix("y < ")) for words in cells.up_to])
        assert np.cumsum(cells.probabilities) == pytest.approx(cumulative(upper), abs=1e-9)
        assert len(cells.words) >= 30


@together("mechanism", [Piecewise(1.0), Hybrid(1.0), Laplace(1.0), Gaussian(1.0)])
def test_a_fine_grid_is_not_taken_for_a_difference(mechanism: Any) -> None:
    """Its steps move each cell's mass by less than a third of a standard deviation at 1e5 samples."""
    ideal = cells_of(mechanism, 0.37, 100_000)
    outputs = mechanism.sample(np.full(200_000, 0.37), rng=np.random.default_rng(1))
    counted = ideal.counts(Outputs(np.asarray(outputs)))
    assert counted[-1] == 0
    spread = np.sqrt(ideal.probabilities * (1 - ideal.probabilities) / 200_000)
    # 5.5 standard deviations of the count, and a third of one of a run of 1e5.
    assert np.all(np.abs(counted[:-1] / 200_000 - ideal.probabilities) <= (5.5 + math.sqrt(2) / 3) * spread)


def test_cells_depend_on_the_law_alone_and_a_seed_gives_the_same_result() -> None:
    one, two = (fit(laplace, Laplace(1.0), [0.0, 1.0], samples=2_000, seed=seed) for seed in (4, 4))
    assert {**one.to_dict(), "seconds": 0} == {**two.to_dict(), "seconds": 0}
    other = fit(laplace, Laplace(1.0), [0.0, 1.0], samples=2_000, seed=5)
    assert (one.tests, one.budget, one.detectable) == (other.tests, other.budget, other.detectable)
    assert one.witness != other.witness


def test_a_tolerance_forgives_what_is_smaller_and_is_said() -> None:
    law = RandomizedResponse(2.0, 10)
    strict, lenient = (
        fit(response(TRUTH + 0.01), law, range(10), samples=20_000, tolerance=tolerance) for tolerance in (0.0, 0.02)
    )
    assert (strict.differs, lenient.differs) == (True, False)
    assert "differences of a probability up to 0.02" in lenient.describe()
    assert lenient.detectable["cells"] > strict.detectable["cells"] + 0.01


def test_no_verdict_comes_without_what_would_have_been_caught() -> None:
    result = fit(response(TRUTH), RandomizedResponse(2.0, 10), [0, 1], samples=5_000)
    assert result.describe().count("is caught with probability 0.95") == 4
    data = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert data["verdict"] == "consistent"
    assert data["witness"]["observed"] == data["witness"]["hits"] / data["witness"]["trials"]
    assert sum(data["budget"].values()) == pytest.approx(0.001)
    assert set(data["detectable"]) == {"likeliest", "pooled", "cells", "half-lines"}


class Unnormalised:
    outputs = (0, 1)

    def log_prob(self, y: int, x: int) -> float:
        return math.log(0.4)


@together(
    ("law", "inputs", "options", "message"),
    [
        (object(), [0], {}, r"law must be one that has log_prob\(y, x\)"),
        (SymbolicChannel("c", Variable("w", -1, 1), [(1, 1)]), [0], {}, r"law must be one that has log_prob\(y, x\)"),
        (Unnormalised(), [0], {}, "law must have probabilities that add up to 1 at input 0, got 0.8"),
        (DuchiVector(1.0, 20), [np.ones(20)], {}, "law must say what its outputs are"),
        (FiniteChannel([[1, 0]], [(0, 0), (0, 1)]), [0], {}, r"law must have numbers or texts as labels, got \(0, 0\)"),
        (RandomizedResponse(math.inf, 3), [0], {}, "law must leave something to chance"),
        (RandomizedResponse(1.0, 3), [3], {}, "x must be whole numbers in 0..2"),
        (Laplace(1.0), [np.zeros(2)], {}, "inputs must be single numbers"),
        (RandomizedResponse(1.0, 3), [], {}, "inputs must be one or more inputs"),
        (RandomizedResponse(1.0, 3), [0], {"samples": 9}, "samples must be a whole number >= 10, got 9"),
        (RandomizedResponse(1.0, 3), [0], {"confidence": 1.0}, r"confidence must be in \[0.5, 1\), got 1.0"),
        (RandomizedResponse(1.0, 3), [0], {"confidence": 0.4}, r"confidence must be in \[0.5, 1\), got 0.4"),
        (RandomizedResponse(1.0, 3), [0], {"tolerance": -0.1}, r"tolerance must be in \[0, 1\), got -0.1"),
    ],
)
def test_bad_arguments_are_named(law: Any, inputs: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit(response(0.5, 3), law, inputs, **options)


def test_a_sampler_of_another_shape_or_that_raises_is_named() -> None:
    law = RandomizedResponse(1.0, 3)
    with pytest.raises(ValueError, match=r"law must have outputs such as the sampler's, vectors of 2"):
        fit(lambda x, n, rng: np.zeros((n, 2)), law, [0])
    with pytest.raises(ProgramError, match=r"on input 0 .*: it returned 1 outputs"):
        fit(lambda x, n, rng: np.zeros(1), law, [0], samples=100)


def test_no_change_is_called_detectable_that_so_few_outputs_cannot_show() -> None:
    """Would catch "a change by 1 is caught" of 10 outputs, none of which is seen in a cell either way."""
    law = RandomizedResponse(1.0, k=3)
    result = fit(lambda x, n, rng: law.sample(np.full(n, x), rng=rng), law, (0, 1), samples=10)
    assert result.detectable["cells"] == math.inf
    assert (
        "no change of any one cell on one input is caught with probability 0.95: too few samples" in result.describe()
    )
    assert result.to_dict()["detectable"]["cells"] == "inf"
