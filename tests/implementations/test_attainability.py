"""Maps of several uniforms, sampled: floating-point noise is refuted, sound programs never are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ldp_audit.auditing.adapters.sampler import ProgramError
from ldp_audit.implementations.attainability import LocalGrain, SeenBefore, by_samples
from ldp_audit.implementations.enumerate_map import implementation
from ldp_audit.implementations.grid import Grid
from ldp_audit.implementations.implementation_result import PairChannel
from tests.together import together

SAMPLES = 30_000


def box_muller(x: float, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The textbook Gaussian, in the precision of its uniforms."""
    kind = u.dtype.type
    return kind(x) + np.sqrt(kind(-2) * np.log(kind(1) - u)) * np.cos(kind(2 * math.pi) * v)


def response(x: int, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Warner's at epsilon = 1, sound but for its second uniform's rounding: v is used for nothing."""
    return np.where(u < 1 / (1 + math.e), 1 - x, x) + 0 * (v > 0.5)


def sampled(sampler_map: Any, inputs: Any, grid: Grid, uniforms: int = 2, seed: int = 0) -> Any:
    return by_samples(sampler_map, inputs, grid, uniforms, samples=SAMPLES, seed=seed, progress=None)


def one_pair(sampler_map: Any, inputs: Any, grid: Grid, uniforms: int = 2, seed: int = 0) -> PairChannel:
    return sampled(sampler_map, inputs, grid, uniforms, seed)[0][0]


@together(
    ("inputs", "grid", "epsilon"),
    [
        ((0.0, 1.0), Grid(53), 5.0),
        ((0.0, 1.0), Grid(16, np.float32), 5.0),
        ((-1.0, 1.0), Grid(24), 4.0),
        ((0.5, 0.625), Grid(24), 1.5),
    ],
)
def test_box_muller_in_floats_is_refuted(inputs: tuple[float, float], grid: Grid, epsilon: float) -> None:
    """Also where both inputs leave the same grains, but in other places.

    Gaussians so far apart have, at half of these epsilons, a delta below 0.02, 0.02, 0.17 and 1e-8; the programs have
    ten times that and more, but for inputs of one size, where it is epsilon that shows it. Catches a blind score.
    """
    pair = one_pair(box_muller, inputs, grid)
    assert not pair.exact
    assert pair.epsilon > epsilon
    assert pair.delta(epsilon / 2) > {1.0: 0.2, 2.0: 0.1, 0.125: 0.003}[inputs[1] - inputs[0]]
    assert pair.exclusive == ()  # that no word leads to an output cannot be seen from some


def test_the_bound_of_a_sound_program_is_near_its_epsilon_and_not_above() -> None:
    """Warner's at epsilon = 1. Catches a bound above the truth. False alarms: 1e-6 each seed."""
    for seed in range(5):
        pair = one_pair(response, (0, 1), Grid(30), seed=seed)
        assert 0.8 < pair.epsilon < 1.0
        assert 0.0 < pair.delta(0.5) < (math.e - math.exp(0.5)) / (1 + math.e)
        assert pair.delta(1.0) == 0.0
        assert not pair.exceeds(1.0, 0.0)


def test_noise_on_a_common_grid_is_not_refuted() -> None:
    """A rounded Gaussian sum of two uniforms with thousands of values. Catches grains or memories of one's own making.

    Its true epsilon is infinite at the ends of the triangle; its delta at epsilon = 0.5 is below 0.07.
    """
    unit = 2.0**-10
    pair = one_pair(lambda x, u, v: x + unit * np.rint((u + v) * 4 / unit), (0.0, 0.25), Grid(53))
    assert pair.delta(0.5) < 0.07
    assert one_pair(lambda x, u, v: unit * np.rint((u + v + 0 * x) / unit), (0.0, 1.0), Grid(53)).epsilon == 0.0


def test_outputs_of_which_no_two_inputs_share_any_are_told_apart_by_having_been_seen() -> None:
    """Two interleaved grids of one grain and one range. Catches a score that knows only ranges and last bits."""

    def interleaved(x: int, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        steps = (u * 2**15).astype(np.int64) ^ (v * 2**15).astype(np.int64)
        return (4 * steps + 2 * (steps.astype(float) * math.pi % 1 > 0.5) * (1 - 2 * x) + 2 * x) * 2 + 1

    pairs, notes = sampled(interleaved, (0, 1), Grid(40))
    assert pairs[0].epsilon > 3.0
    assert "seen before" in notes[1]


def test_the_limits_of_an_event_are_on_the_safe_side_of_its_probabilities() -> None:
    """0.8 and 0.2. Catches a frequency in place of its limit. False alarms: 1e-6 each seed."""
    for seed in range(4):
        pair = one_pair(lambda x, u, v: np.where(u + 0 * v < 0.2 + 0.6 * x, 7.0, 1.0), (0, 1), Grid(53), seed=seed)
        assert pair.counts is not None
        for row in pair.counts.rows:
            likelier, other = max(row[:2]) / pair.counts.total, min(row[:2]) / pair.counts.total
            assert 0.75 < likelier < 0.8
            assert 0.2 < other < 0.25


def test_either_direction_is_found_and_belongs_to_its_input() -> None:
    """An output of probability 0.2 that only the second input gives. Catches rows of counts in the wrong order."""
    pair = one_pair(lambda x, u, v: np.where(u + 0 * v < 0.2 * x, 7.0, 1.0), (0, 1), Grid(53))
    assert pair.counts is not None
    assert pair.delta(1.0) == pytest.approx(0.2, abs=0.03)
    rare = min(pair.counts.rows, key=lambda row: row[0])
    assert rare[0] < rare[1]


@together(
    "sampler_map",
    [
        lambda x, u, v: np.array(["no", "yes"])[(u + 0 * v < 0.2 + 0.6 * x).astype(int)],
        lambda x, u, v: np.stack([u, v + x], axis=1),
        lambda x, u, v: u < 0.2 + 0.6 * x + 0 * v,
    ],
)
def test_labels_rows_and_booleans_are_bounded_too(sampler_map: Any) -> None:
    """Catches a score of numbers that is asked about something else."""
    assert one_pair(sampler_map, (0, 1), Grid(53)).epsilon > 1.0


def test_the_verdict_is_never_that_a_claim_holds() -> None:
    """Through the public function, with the claim above, at and below what the program has."""
    verdicts = [
        implementation(response, (0, 1), 30, uniforms=2, claimed_epsilon=claimed, samples=SAMPLES).verdict
        for claimed in (3.0, 1.0, 0.5)
    ]
    assert verdicts == ["not refuted", "not refuted", "violated"]


def test_all_pairs_share_the_confidence_and_the_same_seed_gives_the_same_result() -> None:
    """Catches a pair that is left out, an error that is spent twice, and a seed that is not used."""
    first, second = (sampled(response, (0, 1, 0.5), Grid(30), seed=3) for _ in range(2))
    assert first == second
    assert [(pair.first, pair.second) for pair in first[0]] == [(0, 1), (0, 0.5), (1, 0.5)]
    assert first[0][0].epsilon < one_pair(response, (0, 1), Grid(30), seed=3).epsilon
    assert sampled(response, (0, 1, 0.5), Grid(30), seed=4) != first


@together("samples", [10, 11, 100])
def test_few_samples_say_little_and_are_no_error(samples: int) -> None:
    """Catches an empty part of the samples."""
    pairs, _ = by_samples(box_muller, (0.0, 1.0), Grid(24), 2, samples=samples, seed=0, progress=None)
    assert pairs[0].epsilon < 3.0


def test_failing_maps_are_named() -> None:
    """Catches a message without the input."""
    with pytest.raises(ProgramError, match="on input 0"):
        by_samples(lambda x, u, v: {}[x], (0, 1), Grid(30), 2, samples=10, seed=0, progress=None)


@together(
    "score",
    [
        LocalGrain.learn(np.array([0.0, 1.5, math.inf]), np.array([-2.0, 1e-320, -0.0])),
        LocalGrain.learn(np.zeros(0), np.array([math.inf])),
        SeenBefore.learn(np.array([1.0, 1.0, 2.0]), np.array([2.0])),
        SeenBefore.learn(np.zeros(0), np.zeros(0)),
    ],
)
def test_scores_are_numbers_everywhere_and_read_back_the_same(score: Any) -> None:
    """As of every score. Catches NaN at infinities, at zero, and a score learned on nothing."""
    numbers = np.array([0.0, -0.0, 1.0, 2.0, 1.5, 5e-324, -1e308, math.inf, -math.inf])
    again = type(score).from_dict(score.to_dict())
    assert not np.isnan(score.of(numbers)).any()
    assert (again.of(numbers) == score.of(numbers)).all()
    assert score.describe() == again.describe()


def test_scores_tell_what_they_should() -> None:
    """By hand. Catches a grain of the wrong range, and the two memories in the wrong order."""
    assert SeenBefore.learn(np.array([1.0, 2.0]), np.array([2.0, 3.0])).of(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [
        1.0,
        3.0,
        2.0,
        0.0,
    ]
    grain = LocalGrain((0.0,))
    assert grain.of(np.array([-1.5, 1.5, 4.0])).tolist() == [1099.0, 4096 + 1099.0, 4096 + 1102.0]
    assert grain.in_words(((4096 + 1099.0, 4096 + 1101.0),)) == "0 <= y < inf with a last bit of 2**-1 .. 2**0"
    assert grain.in_words(((-math.inf, math.inf),)).count("last bit") == 2


def test_outputs_that_are_dictionaries_are_taken_apart() -> None:
    """Would catch a refusal of what an audit of the same program takes: its bound is far above 0.9."""

    def told(x: int, u: np.ndarray) -> list[dict[str, int]]:
        return [{"bit": int(one < 0.25 + 0.5 * x), "version": 2} for one in u]

    found = one_pair(told, (0, 1), Grid(16), 1)
    assert 0.9 < found.epsilon <= math.log(3)
