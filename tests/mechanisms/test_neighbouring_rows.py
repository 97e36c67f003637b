"""Finite channels of which some pairs of rows are neighbours: suprema against brute force over these pairs alone."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.accounting import compose, shuffle
from ldp_audit.cli.command_line import run_command
from ldp_audit.mechanisms import FiniteChannel, RandomizedResponse
from ldp_audit.mechanisms.target import load
from tests.together import together


def truncated_geometric(rows: int, ratio: Fraction) -> list[list[Fraction]]:
    """A count of 0 .. rows - 1 with geometric noise, clamped to the range; P(z) = (1 - a)/(1 + a) a**|z|."""
    matrix = []
    for x in range(rows):
        inner = [(1 - ratio) / (1 + ratio) * ratio ** abs(y - x) for y in range(rows)]
        inner[0], inner[-1] = ratio**x / (1 + ratio), ratio ** (rows - 1 - x) / (1 + ratio)
        matrix.append(inner)
    return matrix


def test_a_truncated_geometric_mechanism_has_the_epsilon_of_counts_one_apart() -> None:
    """All pairs: four times as much for five rows."""
    matrix = truncated_geometric(5, Fraction(1, 2))
    near = FiniteChannel(matrix, neighbours=[(x, x + 1) for x in range(4)])
    assert near.exact_epsilon() == pytest.approx(math.log(2), rel=1e-15)
    assert FiniteChannel(matrix).exact_epsilon() == pytest.approx(4 * math.log(2), rel=1e-15)
    assert abs(np.diff(near.worst_pair())[0]) == 1
    for bits in (6, 16, 64):
        assert near.implemented(bits).exact_epsilon() <= math.log(2)
    assert near.implemented().neighbours == near.neighbours
    assert near.implemented_epsilon() == pytest.approx(math.log(2), rel=1e-9)


channels = st.integers(2, 4).flatmap(
    lambda columns: st.lists(
        st.lists(st.integers(0, 6), min_size=columns, max_size=columns).filter(any), min_size=2, max_size=5
    )
)


@given(channels, st.data())
@settings(max_examples=60)
def test_suprema_are_those_of_the_stated_pairs(weights: list[list[int]], data: st.DataObject) -> None:
    every = list(itertools.combinations(range(len(weights)), 2))
    pairs = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    rows = [[Fraction(one, sum(row)) for one in row] for row in weights]
    m = FiniteChannel(rows, neighbours=pairs)
    both = [*pairs, *((j, i) for i, j in pairs)]
    ratios = [p / q if q else math.inf for i, j in both for p, q in zip(rows[i], rows[j], strict=True) if p]
    assert m.exact_epsilon() == pytest.approx(math.log(max(ratios)) if max(ratios) < math.inf else math.inf)
    for level in (0.0, 0.4, 1.5, math.inf):
        scale = Fraction(math.exp(level)) if level < math.inf else None
        gains = [
            sum(
                max(p - scale * q, 0) if scale is not None else (p if not q else 0)
                for p, q in zip(rows[i], rows[j], strict=True)
            )
            for i, j in both
        ]
        assert m.delta(level) == pytest.approx(float(max(gains)), rel=1e-12, abs=1e-15)
        if level < math.inf:
            low, high = (math.exp(end) for end in m.pair_loss().log_delta_bounds(level))
            assert high == pytest.approx(float(max(gains)), rel=1e-9, abs=1e-14)
            assert low <= high


def test_a_composition_counts_neighbours_alone() -> None:
    """Two reports of counts one apart, by enumeration."""
    matrix = truncated_geometric(4, Fraction(1, 3))
    m = FiniteChannel(matrix, neighbours=[(0, 1), (1, 2), (2, 3)])
    rows = np.array(matrix, dtype=np.float64)
    joint = [np.multiply.outer(row, row).ravel() for row in rows]
    gains = [np.maximum(joint[i] - math.e * joint[j], 0).sum() for i in range(4) for j in range(4) if abs(i - j) == 1]
    low, high = compose([(m, 2)]).delta_bounds(1.0)
    assert low <= max(gains) * (1 + 1e-9)
    assert max(gains) <= high * (1 + 1e-9)


def test_shuffled_reports_of_some_neighbours_are_refused() -> None:
    """The others' inputs may be any: their reports need not have the least probability that epsilon leaves."""
    m = FiniteChannel(truncated_geometric(5, Fraction(1, 2)), neighbours=[(0, 1)])
    with pytest.raises(ValueError, match="mechanism must protect any two inputs"):
        shuffle(m, n=100)


def test_exact_says_which_neighbours_are_meant(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own.py").write_text(
        "from ldp_audit.mechanisms import FiniteChannel\n"
        "m = FiniteChannel([['1/2', '1/2'], ['1/3', '2/3'], [0, 1]], neighbours=[(0, 1)])\n"
    )
    assert run_command(["exact", f"{tmp_path / 'own.py'}:m", "--quiet"]) == 0
    assert "the pairs of inputs that are stated" in capsys.readouterr().out
    assert load(f"{tmp_path / 'own.py'}:m").exact_epsilon() == pytest.approx(math.log(1.5))
    assert RandomizedResponse(1.0).any_pair


@together("pairs", [[], [(0, 0)], [(0, 3)], [(0, 1, 2)], [0, 1], [("a", 1)], "01", [(0, 0.5)], None])
def test_what_are_no_pairs_is_refused(pairs: Any) -> None:
    matrix = [[0.5, 0.5], [0.25, 0.75], [0.125, 0.875]]
    if pairs is None:
        assert FiniteChannel(matrix, neighbours=None).any_pair
        return
    with pytest.raises(ValueError, match=r"^neighbours must be "):
        FiniteChannel(matrix, neighbours=pairs)
