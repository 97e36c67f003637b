"""Monotone maps by structure: equal to enumeration where that can be done, exact elsewhere, honest about the rest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.auditing.adapters.sampler import ProgramError
from ldp_audit.implementations import monotone
from ldp_audit.implementations.enumerate_map import implementation
from ldp_audit.implementations.evaluation import OneUniform
from ldp_audit.implementations.grid import Grid
from ldp_audit.implementations.implementation_result import PairChannel
from ldp_audit.implementations.monotone import search
from ldp_audit.implementations.output_keys import OutputKeys
from tests.frequency import assert_frequency
from tests.together import together

DOUBLES = Grid(53)


def by_structure(sampler_map: Any, inputs: Any, grid: Grid = DOUBLES, samples: int = 2000, seed: int = 0) -> Any:
    return monotone.by_structure(sampler_map, inputs, grid, samples=samples, seed=seed, progress=None)


def one_pair(sampler_map: Any, inputs: Any = (0.0, 1.0), grid: Grid = DOUBLES, samples: int = 2000) -> PairChannel:
    return by_structure(sampler_map, inputs, grid, samples)[0][0]


def probability_of_plus(epsilon: float, x: float) -> float:
    """The two-point mechanism's, as a program computes it."""
    t = math.exp(epsilon)
    return 0.5 + x * (t - 1) / (2 * (t + 1))


def laplace(x: float, u: np.ndarray) -> np.ndarray:
    """The textbook inversion, as it is published."""
    return x - np.sign(u - 0.5) * np.log1p(-2 * np.abs(u - 0.5))


# -- few values ---------------------------------------------------------------------------------------------------


@together("epsilon", [1.0, 20.0, 36.8, 38.0])
def test_the_two_point_mechanism_in_doubles_has_the_counts_of_the_formula(epsilon: float) -> None:
    """N(p) = ceil(p 2**53). Catches an error of one word among 2**53, which no float of a count would show."""
    pair = one_pair(lambda x, u: np.where(u < probability_of_plus(epsilon, x), 1.0, -1.0), (-1.0, 1.0))
    low, high = (min(2**53, math.ceil(probability_of_plus(epsilon, x) * 2**53)) for x in (-1.0, 1.0))
    assert pair.exact
    assert pair.counts is not None
    assert sorted(pair.counts.rows) == sorted([(low, high, 1), (2**53 - low, 2**53 - high, 1)])
    if epsilon == 38.0:
        assert pair.epsilon == math.inf  # beyond 37.4299, the last epsilon that is finite
    else:
        assert pair.epsilon == pytest.approx(epsilon, abs=0.8)


def test_an_exclusive_output_comes_with_all_its_words_and_the_first_of_them() -> None:
    """Catches a share of the wrong input, a word that does not lead there, and neighbours on the wrong side."""
    cut = {0.0: 0.25, 1.0: 0.0}
    pair = one_pair(lambda x, u: np.where(u < cut[x], -1.0, np.where(u < 0.5, 0.0, 2.0)))
    (found,) = pair.exclusive
    assert (found.reached, found.unreached, found.outputs, found.words, found.share) == (0.0, 1.0, 1, 2**51, 0.25)
    assert found.example is not None
    assert (found.example.output, found.example.word, found.example.uniform) == (-1.0, (0,), (0.0,))
    assert (found.example.below, found.example.above) == (None, 0.0)
    assert (pair.epsilon, pair.delta(3.0), pair.worst) == (math.inf, 0.25, found.example)


@together("k", [2, 3, 100])
def test_k_ary_response_by_cumulative_sums_is_counted_exactly(k: int) -> None:
    """Catches a value that bisection passes over: the counts of all k values must add up and agree with the sums."""
    t = math.e

    def response(x: int, u: np.ndarray) -> np.ndarray:
        return np.searchsorted(np.cumsum(weights(x))[:-1], u, side="right")

    def weights(x: int) -> np.ndarray:
        return np.where(np.arange(k) == x, t, 1.0) / (t + k - 1)

    pair = one_pair(response, (0, 1))
    edges = [[0, *(math.ceil(edge * 2**53) for edge in np.cumsum(weights(x))[:-1].tolist()), 2**53] for x in (0, 1)]
    first, second = (np.diff(np.array(side, dtype=object)).tolist() for side in edges)
    assert pair.counts is not None
    assert sorted((a, b) for a, b, many in pair.counts.rows for _ in range(many)) == sorted(
        zip(first, second, strict=True)
    )
    assert pair.epsilon == pytest.approx(1.0, abs=1e-12)
    assert pair.worst is not None
    assert pair.worst.ratio == pytest.approx(t)
    assert pair.worst.output == pair.worst.reached != pair.worst.unreached
    assert response(int(pair.worst.reached), np.array(pair.worst.uniform)) == pair.worst.output


def test_words_of_sixty_four_bits_are_counted_beyond_what_a_float_holds() -> None:
    """Catches counts that overflow int64 or are rounded to floats."""
    edge = {0: 2**63 + 1, 1: 2**64 - 1}
    pair = one_pair(lambda x, w: w < np.uint64(edge[x]), (0, 1), Grid(64, words=True))
    assert pair.counts is not None
    assert sorted(pair.counts.rows) == [(2**63 - 1, 1, 1), (2**63 + 1, 2**64 - 1, 1)]


def test_labels_need_no_order_but_consecutive_words() -> None:
    """Catches a comparison of labels, and one that takes 1 and True, or text and numbers, for the same."""
    names = {0: np.array(["b", "a", None], dtype=object), 1: np.array(["b", "c", "a"], dtype=object)}
    pair = one_pair(lambda x, u: names[x][(u * 3).astype(int)], (0, 1))
    assert {(one.reached, one.example.output if one.example else None) for one in pair.exclusive} == {
        (0, None),
        (1, "c"),
    }


@settings(max_examples=40)
@given(data=st.data())
def test_random_step_maps_have_the_counts_of_complete_enumeration(data: st.DataObject) -> None:
    """Catches every way to miss a step: narrow ones of one word, at either end, falling maps, maps of one value."""
    bits = data.draw(st.integers(12, 16))
    tables = {}
    for x in (0, 1):
        cuts = sorted(data.draw(st.sets(st.integers(1, 2**bits - 1), max_size=12)))
        values = sorted(data.draw(st.sets(st.integers(-9, 9), min_size=len(cuts) + 1, max_size=len(cuts) + 1)))
        values = values[::-1] if data.draw(st.booleans()) else values
        tables[x] = np.array(cuts, dtype=np.int64), np.array(values)

    def stepped(x: int, w: np.ndarray) -> np.ndarray:
        return tables[x][1][np.searchsorted(tables[x][0], w, side="right")]

    pair = one_pair(stepped, (0, 1), Grid(bits, words=True))
    (whole,) = implementation(stepped, (0, 1), bits, words=True).pairs
    assert pair.exact
    assert pair.counts is not None
    assert whole.counts is not None
    assert sorted(pair.counts.rows) == sorted(whole.counts.rows)
    assert {(one.reached, one.outputs, one.words) for one in pair.exclusive} == {
        (one.reached, one.outputs, one.words) for one in whole.exclusive
    }


# -- many values --------------------------------------------------------------------------------------------------


def test_textbook_laplace_in_doubles_has_no_epsilon_and_a_true_example() -> None:
    """The example is checked by brute force on the words around it. Catches a search that looks in the wrong place."""
    pair = one_pair(laplace)
    assert (pair.exact, pair.epsilon) == (False, math.inf)
    assert [one.reached for one in pair.exclusive] == [0.0, 1.0]
    for found in pair.exclusive:
        example = found.example
        assert example is not None
        assert laplace(found.reached, np.array(example.uniform))[0] == example.output
        assert example.word[0] * 2.0**-53 == example.uniform[0]
        noise = example.output - found.unreached
        there = (0.5 * math.exp(noise) if noise < 0 else 1 - 0.5 * math.exp(-noise)) * 2**53
        around = laplace(found.unreached, (int(there) + np.arange(-(2**15), 2**15)) * 2.0**-53)
        assert around.min() < example.output < around.max()
        assert example.output not in around
        assert (around[around < example.output].max(), around[around > example.output].min()) == (
            example.below,
            example.above,
        )


def test_textbook_laplace_loses_four_fifths_of_its_words() -> None:
    """The share of exclusive outputs is compared with brute force on this processor, whose logarithm decides it.

    Every output of 5,000 words of one input is looked for among the 512 words around the other input's word that comes
    nearest to it; an ulp of error in the logarithm moves that word by a few. The search draws 20,000 words of its own,
    so both shares differ by more than 0.05 with probability below 1e-9. Catches a share of the wrong words.
    """
    pairs, assumptions = by_structure(laplace, (0.0, 1.0), samples=20_000)
    words = np.random.default_rng(0).integers(1, 2**53, 5000)
    for found in pairs[0].exclusive:
        outputs = laplace(found.reached, words * 2.0**-53)
        noise = outputs - found.unreached
        near = np.rint(np.where(noise < 0, np.exp(noise) / 2, 1 - np.exp(-noise) / 2) * 2.0**53).astype(np.int64)
        around = np.clip(near[:, None] + np.arange(-256, 256), 1, 2**53 - 1)
        share = np.mean(~(laplace(found.unreached, around * 2.0**-53) == outputs[:, None]).any(axis=1))
        assert abs(found.words / 20_000 - share) < 0.05
        assert found.words / 20_000 - 0.02 < found.share < found.words / 20_000
    assert pairs[0].delta(30.0) == max(one.share for one in pairs[0].exclusive)
    assert pairs[0].exceeds(30.0, 0.5)
    assert not pairs[0].exceeds(30.0, 0.9)
    assert "100% of each input's own 20000 outputs" in assumptions[1]


def test_the_share_of_exclusive_outputs_is_what_it_is() -> None:
    """Half of one input's outputs are odd, the other's never. Catches a biased draw of words. False alarms: 1e-6."""
    pair = one_pair(lambda x, w: w if x == 0 else w // 2 * 2, (0, 1), Grid(60, words=True), samples=20_000)
    (found,) = pair.exclusive
    assert found.reached == 0
    assert_frequency(found.words, 20_000, 0.5)
    assert 0.45 < found.share < 0.5


def test_noise_on_a_common_grid_is_not_refuted_whether_it_has_few_values_or_many() -> None:
    """Catches an accusation of a sound sampler; the epsilon of a coarser output may not be above the true one."""
    for unit, few in ((2.0**-4, True), (2.0**-14, False)):
        result = implementation(
            lambda x, u, unit=unit: np.clip(x + unit * np.rint(laplace(0.0, u) / unit), -12.0, 13.0),
            (0.0, 1.0),
            53,
            monotone=True,
            claimed_epsilon=1.001,
            samples=2000,
        )
        assert (result.method, result.exact) == ("monotone", few)
        assert result.verdict == ("holds" if few else "not refuted")
        assert 0.99 < result.epsilon < 1.001
        assert not result.pairs[0].exclusive


def test_a_finite_excess_is_found_in_the_coarser_channel() -> None:
    """Noise of half the scale claimed, on a common grid. Catches counts that are not compared with the claim."""
    unit = 2.0**-14
    result = implementation(
        lambda x, u: np.clip(x + unit * np.rint(0.5 * laplace(0.0, u) / unit), -6.0, 7.0),
        (0.0, 1.0),
        53,
        monotone=True,
        claimed_epsilon=1.0,
        samples=2000,
    )
    assert result.verdict == "violated"
    assert 1.99 < result.epsilon < 2.001
    assert 0.2 < result.delta(1.0) < 0.4


def test_an_output_of_a_single_word_is_found_at_the_ends() -> None:
    """Noise on a common grid that is not clipped: what lies beyond the other input's last output has a word or more.

    Catches a claim of pure privacy that holds but for the ends, and a share that is more than they have.
    """
    unit = 2.0**-14
    pair = one_pair(lambda x, u: x + unit * np.rint(np.log2(u + 2.0**-53) / unit))
    assert pair.epsilon == math.inf
    low = pair.exclusive[0]
    assert low.example is not None
    assert (low.example.output, low.example.word, low.words) == (-53.0, (0,), 1)
    assert low.share == 2.0**-53
    assert pair.exceeds(9.0, 0.0)


def test_falling_maps_and_maps_that_turn_with_the_input_are_searched_like_rising_ones() -> None:
    """Catches a mirror that is forgotten in one of the places where words and ranks meet."""
    rising = one_pair(laplace)
    falling = one_pair(lambda x, u: -laplace(-x, u))
    turning = one_pair(lambda x, u: laplace(x, u) if x == 0.0 else -laplace(-x, u))
    for pair in (falling, turning):
        assert pair.epsilon == math.inf
        assert [one.share for one in pair.exclusive] == pytest.approx([one.share for one in rising.exclusive], abs=0.05)
    example = falling.exclusive[1].example
    assert example is not None
    assert -laplace(-1.0, np.array(example.uniform))[0] == example.output
    assert example.below < example.output < example.above


# -- what is taken on trust ---------------------------------------------------------------------------------------


@together(
    "sampler_map",
    [
        lambda x, u: x + np.cos(6 * u),
        lambda x, u: (u < 0.25) | (u > 0.75),
        lambda x, u: np.array(["yes", "no", "yes"])[(3 * u).astype(int)],
        lambda x, u: np.array([0, 2, 1])[(3 * u).astype(int)],
        lambda x, u: (u * 2**53).astype(np.int64) ^ 1,
    ],
)
def test_a_map_that_is_not_monotone_is_an_error_with_two_words_that_show_it(sampler_map: Any) -> None:
    """Catches a result that rests on an order which is not there."""
    with pytest.raises(ValueError, match=r"not monotone on input 0.0: word \d+ gives .+, word \d+ gives"):
        one_pair(sampler_map)


def test_an_output_out_of_its_place_is_an_error() -> None:
    """A word in 256 is out of order by a last place, which is allowed, but far from its place. Catches a search that is
    not tried on the input's own outputs.
    """

    def scattered(x: float, u: np.ndarray) -> np.ndarray:
        words = (u * 2**53).astype(np.int64)
        return x + words // 1024 * 2.0**-43 + (words % 256 == 128) * 2.0**-53

    with pytest.raises(
        ValueError, match=r"word \d+ gives .+, and no word does where the outputs of the other words say"
    ):
        one_pair(scattered, samples=20_000)


def test_a_frayed_step_is_not_counted() -> None:
    """Two words beyond the step have the value before it. Catches counts that are called exact and are two off."""

    def frayed(x: int, w: np.ndarray) -> np.ndarray:
        return np.where(w ^ 3 < 2**59 + 2 + 4 * x, 1.0, 2.0)

    pair = one_pair(frayed, (0, 1), Grid(60, words=True))
    assert (pair.exact, pair.counts, pair.epsilon) == (False, None, 0.0)
    with pytest.raises(ValueError, match=r"not monotone on input 0: word \d+ gives .+, word \d+ gives"):
        one_pair(lambda x, w: frayed(x, w) < 1.5, (0, 1), Grid(60, words=True))


def test_outputs_beyond_all_of_the_other_input_have_their_words_counted() -> None:
    """Two ranges apart. Catches a search that ends at the last word, and counts one too few below what is beyond it."""
    pair = one_pair(lambda x, w: w + (x << 40), (0, 1), Grid(30, words=True))
    assert pair.counts is not None
    assert (pair.counts.delta(9.0), pair.epsilon) == (1.0, math.inf)
    assert [(one.example.below, one.example.above) for one in pair.exclusive if one.example] == [
        (None, 2**40),
        (2**30 - 1, None),
    ]


def test_neighbours_out_of_order_by_a_last_place_are_allowed_for() -> None:
    """Catches a library's logarithm being called not monotone, and outputs near a frayed place called unreachable."""

    def frayed(x: float, u: np.ndarray) -> np.ndarray:
        return x + ((u * 2**53).astype(np.int64) ^ 1) * 2.0**-53

    pairs, _ = by_structure(frayed, (1.0, 1.5), samples=500)
    assert pairs[0].counts is None
    assert all(one.example is None or not 1.5 < one.example.output < 2.0 for one in pairs[0].exclusive)
    one = OneUniform(lambda x, u: 2 * frayed(0.0, u), 0, DOUBLES, OutputKeys())
    wanted = np.array([0.5 + 2.0**-53])
    wide, narrow = search(one, wanted, 1.0), search(one, wanted, 1.0, window=4)
    assert (wide.excluded.all(), wide.seen.any()) == (True, False)
    assert (narrow.excluded.any(), narrow.seen.any()) == (False, False)
    assert narrow.step_back == 2.0**-52


@together(
    ("sampler_map", "message"),
    [
        (lambda x, u: np.where(u < 0.3, np.nan, u), "got NaN on input 0.0, word"),
        (lambda x, u: np.stack([u, u], axis=1), "needs single numbers where outputs are many, got rows of 2 float64"),
        (lambda x, u: [f"{value!r}" for value in u.tolist()], "needs single numbers where outputs are many, got label"),
        (lambda x, u: u[:-1], "outputs for"),
        (lambda x, u: u[0] / 0 if x else [].pop(), "IndexError: pop from empty list"),
    ],
)
def test_what_cannot_be_searched_is_named(sampler_map: Any, message: str) -> None:
    """Catches a failure that does not say on which input, or what was returned."""
    with pytest.raises(ValueError, match=message):
        one_pair(sampler_map)


def test_a_failing_map_is_a_program_error() -> None:
    """As it is in every other audit, so that the command line can tell it from our own failure."""
    with pytest.raises(ProgramError, match=r"on input 0\.0"):
        one_pair(lambda x, u: {}[x])


def test_the_same_seed_gives_the_same_result_and_all_pairs_are_there() -> None:
    """Catches a generator that is shared with anything else, and a pair that is left out."""
    first, second = (by_structure(laplace, (0.0, 1.0, -1.0), samples=300, seed=5) for _ in range(2))
    assert first == second
    assert [(pair.first, pair.second) for pair in first[0]] == [(0.0, 1.0), (0.0, -1.0), (1.0, -1.0)]
    assert by_structure(laplace, (0.0, 1.0), samples=300, seed=6) != by_structure(laplace, (0.0, 1.0), samples=300)


def test_maps_on_torch_are_read_as_well() -> None:
    """Catches a word that numpy's and torch's arrays give differently."""
    torch = pytest.importorskip("torch")
    grid = Grid(53, torch.float64)
    pair = one_pair(lambda x, u: torch.where(u < 0.25 + x / 4, 1.0, -1.0), grid=grid)
    assert pair.counts is not None
    assert sorted(pair.counts.rows) == [(2**51, 2**52, 1), (3 * 2**51, 2**52, 1)]
    assert one_pair(lambda x, u: x - torch.log1p(-u), grid=grid, samples=200).epsilon == math.inf
