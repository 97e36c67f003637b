"""Any finite channel: its numbers against brute force, its files, and what is no channel; and as it is sampled."""

from __future__ import annotations

import math
import time
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.accounting import compose
from ldp_audit.mechanisms import FiniteChannel, RandomizedResponse
from ldp_audit.mechanisms.randomness import WORDS
from tests.together import together

weights = st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any), min_size=1, max_size=4)


def channel(rows: list[list[int]]) -> FiniteChannel:
    return FiniteChannel([[f"{w}/{sum(row)}" for w in row] for row in rows])


@given(weights, st.floats(0, 3))
def test_epsilon_and_delta_by_brute_force(rows: list[list[int]], level: float) -> None:
    c = channel(rows)
    table = [[w / sum(row) for w in row] for row in rows]
    ratios = [p / q if q else math.inf for a in table for b in table for p, q in zip(a, b, strict=True) if p]
    assert c.exact_epsilon() == pytest.approx(math.log(max(ratios)), rel=1e-12, abs=1e-15)
    i, j = c.worst_pair()
    gaps = [float(c.log_prob(y, i)) - float(c.log_prob(y, j)) for y in range(3) if c.log_prob(y, i) > -math.inf]
    assert max(gaps) == pytest.approx(c.exact_epsilon(), rel=1e-12, abs=1e-15)
    brute = max(sum(max(p - math.exp(level) * q, 0) for p, q in zip(a, b, strict=True)) for a in table for b in table)
    assert c.delta(level) == pytest.approx(brute, rel=1e-12, abs=1e-15)


@settings(max_examples=60)
@given(weights, st.floats(0, 3))
def test_the_bounds_of_a_sum_hold_for_one_pair_of_inputs_and_for_pairs_chosen_report_by_report(
    rows: list[list[int]], level: float
) -> None:
    """Of two reports, by brute force: both of one ordered pair of rows; and the second's pair chosen after the first's.

    The two bounds are one where a single pair, in both orders, is the worst at every epsilon.
    """
    table, t = probabilities(rows), Fraction(math.exp(level))

    def lost(a: list[Fraction], b: list[Fraction], p: Fraction, q: Fraction) -> Fraction:
        return sum((max(p * one - t * q * two, Fraction()) for one, two in zip(a, b, strict=True)), Fraction())

    pairs = list(product(table, table))
    fixed = max(sum(lost(a, b, p, q) for p, q in zip(a, b, strict=True)) for a, b in pairs)
    chosen = max(sum(max(lost(*pair, p, q) for pair in pairs) for p, q in zip(a, b, strict=True)) for a, b in pairs)
    loss = compose([(channel(rows), 2)])
    low, high = loss.delta_bounds(level)
    assert low <= float(fixed) * (1 + 1e-12) + 1e-15
    assert high >= float(chosen) * (1 - 1e-12) - 1e-15
    if loss.exact:
        assert low == pytest.approx(float(fixed), rel=1e-12, abs=1e-15)


@together("rows", [[[8, 1, 1], [1, 8, 1], [1, 1, 8]], [[9, 1], [1, 9]], [[6, 4], [6, 4]], [[5, 0, 5], [0, 5, 5]]])
def test_a_sum_is_exact_where_one_pair_of_inputs_is_the_worst_throughout(rows: list[list[int]]) -> None:
    assert compose([(channel(rows), 8)]).exact


def test_rows_that_were_computed_as_floats_are_still_alike() -> None:
    """Unary encoding of five values, whose rows differ in their last digits."""
    up, rise = 1 / (1 + math.e), np.eye(5)
    words, sent = list(product([0, 1], repeat=5)), rise / 2 + (1 - rise) * up
    chances = [[np.where(word, one, 1 - one).prod() for word in words] for one in sent]
    assert compose([(FiniteChannel(chances), 8)]).exact


def test_a_sum_is_an_interval_where_the_two_orders_of_the_worst_pair_differ() -> None:
    """9/10 against 1/2: eight reports of the worse order, added up as fractions."""
    loss, p, q = compose([(channel([[9, 1], [5, 5]]), 8)]), Fraction(9, 10), Fraction(1, 2)
    low, high = loss.epsilon_bounds(delta=0.05)
    masses = [
        (math.comb(8, k) * one**k * (1 - one) ** (8 - k), math.comb(8, k) * two**k * (1 - two) ** (8 - k))
        for one, two in ((p, q), (q, p))
        for k in range(9)
    ]
    worse = [max(sum(max(a - Fraction(math.exp(e)) * b, 0) for a, b in masses[9 * way :][:9]) for way in (0, 1))
             for e in (low * (1 - 1e-9), low * (1 + 1e-9))]  # fmt: skip
    assert worse[0] > 0.05 > worse[1]
    assert 9.2 < high < 9.3


@given(weights, st.integers(1, 45))
def test_delta_keeps_its_digits_where_it_nearly_vanishes(rows: list[list[int]], nearness: int) -> None:
    """At levels next to a loss, P - e**level Q has lost up to 45 bits to cancellation; sixty digits have not."""
    c = channel(rows)
    table = [[Fraction(w, sum(row)) for w in row] for row in rows]
    losses = {p / q for a in table for b in table for p, q in zip(a, b, strict=True) if q and p > q}
    for loss in losses:
        level = math.log(loss) * (1 - 2.0**-nearness)
        with mpmath.workdps(60):
            t = mpmath.exp(mpmath.mpf(level))
            exact = max(
                mpmath.fsum(max(mpmath.mpf(p.numerator) / p.denominator - t * q.numerator / q.denominator, 0)
                            for p, q in zip(a, b, strict=True))
                for a in table for b in table
            )  # fmt: skip
        assert c.delta(level) == pytest.approx(float(exact), rel=1e-13, abs=0)


def test_it_agrees_with_a_mechanism_written_down_otherwise() -> None:
    m = RandomizedResponse(1.3, 4)
    c = FiniteChannel([[math.exp(m.log_prob(y, x)) for y in range(4)] for x in range(4)])
    assert c.exact_epsilon() == pytest.approx(1.3, rel=1e-12, abs=0)
    for level in (0.0, 0.5, 1.3, 2.0):
        assert c.delta(level) == pytest.approx(float(m.delta(level)), rel=1e-9, abs=1e-15)
    truth, lie = math.exp(float(m.log_prob(0, 0))), math.exp(float(m.log_prob(1, 0)))
    assert c.mean([0, 3]) == pytest.approx([6 * lie, 3 * truth + 3 * lie])
    assert c.variance(0) == pytest.approx(14 * lie - (6 * lie) ** 2)


def test_labels_and_infinite_levels() -> None:
    c = FiniteChannel([[1, 0], ["1/2", "1/2"]], outputs=["yes", "no"])
    assert c.exact_epsilon() == math.inf
    assert list(c.delta([0.0, math.inf])) == [0.5, 0.5]
    assert c.log_prob("maybe", 0) == -math.inf
    with pytest.raises(ValueError, match="moments need numbers as outputs"):
        c.mean(0)
    with pytest.raises(ValueError, match=r"x must be whole numbers in 0\.\.1, got 2"):
        c.log_prob("yes", 2)


@pytest.mark.parametrize(("inputs", "outputs"), [(40, 3), (12, 6)], ids=["by sets of outputs", "by pairs of inputs"])
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32 - 1), digits=st.integers(1, 17), spread=st.floats(-2, 4))
def test_texts_and_fractions_have_the_same_answers(
    inputs: int, outputs: int, seed: int, digits: int, spread: float
) -> None:
    """Decimals, where floats choose the rows, against all pairs in fractions; few digits make many rows alike."""
    table = np.random.default_rng(seed).dirichlet(np.full(outputs, 10.0**spread), inputs)
    texts = [[f"{entry:.{digits}f}" for entry in row] for row in table.tolist()]
    given_rows = [[*row[1:], format(1 - sum(map(Decimal, row[1:])), "f")] for row in texts]
    rows = [row for row in given_rows if "-" not in row[-1]] or [["1", *["0"] * (outputs - 1)]]
    c, exact = FiniteChannel(rows), [[Fraction(entry) for entry in row] for row in rows]
    assert c.exact_epsilon() == FiniteChannel(exact).exact_epsilon() == log_of(largest_ratio(exact))
    assert c.worst_pair() == FiniteChannel(exact).worst_pair()
    assert c.implemented_epsilon() == c.implemented().exact_epsilon()
    for share in (0.0, 0.5, 0.999, 1 - 1e-9):
        level = share * min(c.exact_epsilon(), 20.0)
        t = Fraction(math.exp(level))
        wanted = max(sum(max(p - t * q, 0) for p, q in zip(a, b, strict=True)) for a, b in product(exact, exact))
        assert c.delta(level) == pytest.approx(float(wanted), rel=1e-12, abs=1e-15)


def log_of(ratio: Fraction | float) -> Any:
    return pytest.approx(math.log(ratio), rel=1e-13, abs=1e-15)


def test_tens_of_thousands_of_rows_take_seconds() -> None:
    """Pairs of rows took days. The profile is that of the rows that are seen to be the worst."""
    table = np.random.default_rng(0).dirichlet(np.full(4, 5.0), 25_000)
    c, said = FiniteChannel([list(map(repr, row)) for row in table.tolist()]), list[str]()
    begin = time.process_time()
    i, j = c.worst_pair()
    found = c.delta([0.0, 1.0, 3.0], progress=said.append)
    assert time.process_time() - begin < 3
    assert c.exact_epsilon() == pytest.approx(np.log(table[i] / table[j]).max(), rel=1e-12)
    far = np.array([[np.maximum(table[place] - math.exp(e) * table, 0).sum(axis=1).max() for place in range(0, 500, 5)]
                    for e in (0.0, 1.0, 3.0)])  # fmt: skip
    assert (far.max(axis=1) <= found).all()
    assert repr(c) == "FiniteChannel of 25000 inputs and 4 outputs"
    FiniteChannel(np.random.default_rng(0).dirichlet(np.full(9, 5.0), 50)).delta(0.1, progress=said.append)
    assert "epsilon 3, 3 of 3" in said[2]
    assert "input 1 of" in said[4]


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("3/4,1/4\n1/4,3/4\n", encoding="utf-8-sig")
    assert FiniteChannel.from_file(tmp_path / "c.csv").exact_epsilon() == pytest.approx(math.log(3), rel=1e-15, abs=0)


def test_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("3/4, 1/4\n0.25,0.75\n\n", encoding="utf-8")
    np.savez(tmp_path / "c.npz", matrix=[[0.75, 0.25], [0.25, 0.75]], outputs=["a", "b"])
    assert FiniteChannel.from_file(tmp_path / "c.csv").exact_epsilon() == pytest.approx(math.log(3), rel=1e-15, abs=0)
    assert FiniteChannel.from_file(tmp_path / "c.npz").outputs == ("a", "b")


@together(
    ("content", "is_table"),
    [
        ("0,1\n0.5,0.5\n0.4,0.6\n", False),
        ("1, 0\n1/2,1/2\n", False),
        ("0.0,1.0\n0.5,0.5\n", True),
        ("0,1\n1,0\n", True),
        ("0,1\n0.5,0.5\n1,0\n", True),
        ("0,1\n", True),
        ("1,0,0\n0.5,0.25,0.25\n", True),
    ],
)
def test_a_first_row_that_may_be_labels_is_no_input(content: str, is_table: bool, tmp_path: Path) -> None:
    """Read as an input, a header 0,1 made every epsilon infinite."""
    (tmp_path / "c.csv").write_text(content, encoding="utf-8")
    if is_table:
        assert len(FiniteChannel.from_file(tmp_path / "c.csv").matrix) == content.count("\n")
    else:
        with pytest.raises(ValueError, match=r"the first row, .*, may be labels or probabilities; leave out labels"):
            FiniteChannel.from_file(tmp_path / "c.csv")


def test_reading_says_how_far_it_is(tmp_path: Path) -> None:
    rows = ["0.25,0.75\n", "1/3,2/3\n"]
    (tmp_path / "c.csv").write_text("".join(rows * 1000), encoding="utf-8")
    np.savez(tmp_path / "c.npz", matrix=np.full((200, 2), 0.5))
    said: list[str] = []
    FiniteChannel.from_file(tmp_path / "c.csv", progress=said.append)
    shares = [int(line.removeprefix("reading c.csv, ").removesuffix("%")) for line in said if "%" in line]
    assert shares == sorted(shares)
    assert 20 < max(shares) <= 100
    assert "reading row 1921 of 2000" in said
    assert said[-1] == "adding up row 961 of 1000 in exact fractions"
    FiniteChannel.from_file(tmp_path / "c.npz", progress=said.append)
    assert said[-1] == "reading row 193 of 200"


def test_log_prob_takes_arrays_of_labels() -> None:
    c = FiniteChannel([["1/4", "3/4", 0], ["1/2", "1/2", 0]], outputs=["a", None, (1, 2)])
    log = math.log
    assert c.log_prob(["a", None, "b"], 0) == pytest.approx([log(0.25), log(0.75), -math.inf])
    assert c.log_prob(np.array([["a"], [None]], dtype=object), [0, 1]) == pytest.approx(
        np.log([[0.25, 0.5], [0.75, 0.5]])
    )
    assert c.log_prob((1, 2), [0, 1]).tolist() == [-math.inf, -math.inf]
    assert c.log_prob([(1, 2), "a"], 1) == pytest.approx([-math.inf, log(0.5)])
    numbers = FiniteChannel([[0.5, 0.25, 0.25]], outputs=[0.1, 3, -2.5])
    assert np.exp(numbers.log_prob([-2.5, 0.1, 3, 4, math.nan], 0)) == pytest.approx([0.25, 0.5, 0.25, 0, 0])
    wrapped = FiniteChannel([[0.75, 0.25]], outputs=[-1, 1])
    assert np.exp(wrapped.log_prob(np.array([2**64 - 1, 1], dtype=np.uint64), 0)).tolist() == [0, 0.25]
    assert np.exp(wrapped.log_prob(np.array([-1, 1], dtype=np.int8), 0)).tolist() == [0.75, 0.25]
    assert np.exp(numbers.log_prob(np.float32(0.1), 0)) == 0.5  # a report rounded to a narrower dtype
    assert np.exp(FiniteChannel([[0.5, 0.5]], outputs=["1", 1]).log_prob(["1", 1, 2], 0)).tolist() == [0.5, 0.5, 0]


def test_entries_are_the_exact_numbers_that_they_are() -> None:
    """Sums of probabilities that floats cannot hold; 0.1 as a float is another number than 1/10."""
    tiny = Fraction(1, 10**30)
    c = FiniteChannel([[Fraction(1, 2) + tiny, Fraction(1, 2) - tiny], ["1/2", "1/2"]])
    assert c.exact_epsilon() == pytest.approx(2e-30, rel=1e-14, abs=0)
    assert c.delta(0.0) == pytest.approx(1e-30, rel=1e-14, abs=0)
    assert 0 < FiniteChannel([["1/10", "9/10"], [0.1, 0.9]]).exact_epsilon() < 1e-16
    assert FiniteChannel([["1e-1", "9.E-01"], ["100e-3", "900000000000000000000000000000e-30"]]).exact_epsilon() == 0
    assert FiniteChannel([[f"{'0' * 40}1e-59", "1"], ["1e-60", "1"]]).exact_epsilon() == pytest.approx(math.log(10))
    assert FiniteChannel([[0.1] * 10, ["1/10"] * 10]).exact_epsilon() == 0  # rows of floats are divided by their sum
    assert FiniteChannel(np.eye(2, dtype=np.int64)).exact_epsilon() == math.inf
    assert FiniteChannel([[Fraction(1, 10**400), 1 - Fraction(1, 10**400)], ["1/2", "1/2"]]).delta(1e3) == 0
    assert FiniteChannel([[Fraction(1, 10**400), 1 - Fraction(1, 10**400)], ["1/2", "1/2"]]).exact_epsilon() == (
        pytest.approx(400 * math.log(10) - math.log(2), rel=1e-14, abs=0)
    )


def test_entries_of_other_kinds_are_exact_or_refused() -> None:
    """As floats, 1e-400 and 1e-330 are both 0, and epsilon was 0."""
    tiny = [sympy.Rational(1, 10**400), sympy.Rational(1, 10**330)]
    assert FiniteChannel([[p, 1 - p] for p in tiny]).exact_epsilon() == pytest.approx(70 * math.log(10), rel=1e-14)
    halves = [kind(0.5) for kind in (mpmath.mpf, np.longdouble, np.float16, sympy.Float, torch.tensor, np.array)]
    assert FiniteChannel([[half, 0.5] for half in halves]).delta([0.0, 1.0]).tolist() == [0, 0]
    with mpmath.workdps(30):
        others = [mpmath.mpf("1e-400"), mpmath.mpf("0.1"), sympy.exp(-800)]
    others += [one for one in [np.longdouble("1e-400")] if one]  # some machines have no wider floats
    for other in others:
        with pytest.raises(ValueError, match="numbers that a float holds exactly, got"):
            FiniteChannel([[other, 1 - other], [1, 0]])


@together(
    ("matrix", "message"),
    [
        (["10", "01"], "got str"),
        ("10", "got str"),
        ({"10": [0.5, 0.5], "01": [0.5, 0.5]}, "got dict"),
        ([{1: 0.5, 0: 0.5}], "got dict"),
        ([{1, 0}], "got set"),
        (
            type("DataFrame", (), {"__module__": "polars.dataframe.frame"})(),
            r"got DataFrame; pass matrix\.to_numpy\(\)",
        ),
        ([], "at least one row and one column"),
        ([[]], "at least one row and one column"),
        ([[1, 0], [1]], "rows of numbers of one length"),
        ([["x", "y"]], "rows of numbers of one length"),
        ([["1/0", "1"]], "rows of numbers of one length"),
        (3, "rows of numbers of one length"),
        ([[math.nan, 1.0]], "entries must be probabilities, got nan in row 0, column 0"),
        ([[0.5, 0.5], [1.5, -0.5]], "entries must be probabilities, got 1.5 in row 1, column 0"),
        ([[0.5, 0.4]], "rows must add up to 1, got 0.9 in row 0"),
    ],
)
def test_what_is_no_channel_is_refused(matrix: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FiniteChannel(matrix)


def test_labels_must_fit() -> None:
    for labels in (["a"], ["a", "a"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="outputs must be 2 different labels"):
            FiniteChannel([[0.5, 0.5]], outputs=labels)
    with pytest.raises(
        ValueError, match=r"outputs must be hashable labels, such as tuples, got \[\[1, 0\], \[0, 1\]\]"
    ):
        FiniteChannel([[0.5, 0.5]], outputs=[[1, 0], [0, 1]])


@together("labels", [[(1, 0), (0, 1)], ["0", "1"], [None, 1], [1j, 1], [10**400, 1]])
def test_moments_of_labels_that_are_no_numbers_are_refused(labels: list[Any]) -> None:
    """Texts were read as numbers, None as NaN, and tuples as the rows of a matrix."""
    c = FiniteChannel([[0.5, 0.5]], outputs=labels)
    for moment in (c.mean, c.variance):
        with pytest.raises(ValueError, match="moments need numbers as outputs, got"):
            moment(0)


def test_moments_of_numbers_of_any_kind() -> None:
    for labels in ([False, True], [np.False_, np.True_], [Fraction(0), Decimal(1)], [np.float32(0), 1]):
        assert FiniteChannel([["1/4", "3/4"]], outputs=labels).mean(0) == 0.75


@together("content", [b"", b"PK\x03\x04broken", b"\x93NUMPY", b"0.5,0.5"])
def test_a_damaged_file_is_one_clear_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "c.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"c\.npz"):
        FiniteChannel.from_file(path)


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    np.savez(tmp_path / "c.npz", matrix=np.array([[{}]], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        FiniteChannel.from_file(tmp_path / "c.npz")
    with pytest.raises(ValueError, match=r"must end in \.csv or \.npz"):
        FiniteChannel.from_file(tmp_path / "c.pkl")


@together("entry", ["1e999999999", "1e-999999999", np.complex128(0.5), 0.5j, b"1"])
def test_entries_with_huge_exponents_and_complex_ones_are_refused(entry: Any) -> None:
    with pytest.raises(ValueError, match="matrix must be rows of numbers of one length"):
        FiniteChannel([[entry, 0], [0, 1]])


rows_of_weights = st.integers(1, 6).flatmap(
    lambda outputs: st.lists(
        st.lists(st.integers(0, 9) | st.integers(1, 10**30), min_size=outputs, max_size=outputs).filter(any),
        min_size=1,
        max_size=4,
    )
)


def probabilities(rows: list[list[int]]) -> list[list[Fraction]]:
    return [[Fraction(weight, sum(row)) for weight in row] for row in rows]


def largest_ratio(table: list[list[Fraction]]) -> Fraction | float:
    """e**epsilon by brute force over pairs of inputs and outputs."""
    pairs = [(p, q) for a, b in product(table, table) for p, q in zip(a, b, strict=True) if p]
    return max(p / q if q else math.inf for p, q in pairs)


@given(rows_of_weights, st.integers(2, 64))
def test_no_ratio_is_larger_than_the_channels(rows: list[list[int]], bits: int) -> None:
    """In exact fractions, and as the floats that exact_epsilon() returns."""
    table = probabilities(rows)
    c = FiniteChannel(table)
    implemented = c.implemented(bits)
    counts = [[p * 2**bits for p in row] for row in implemented.matrix]
    assert all(count.denominator == 1 and count >= 0 for row in counts for count in row)
    assert all(sum(row) == 2**bits for row in counts)
    assert largest_ratio(implemented.matrix) <= largest_ratio(table)
    assert implemented.exact_epsilon() <= c.exact_epsilon()
    assert implemented.implemented(bits) is implemented


@given(rows_of_weights)
def test_words_of_64_bits_give_nearly_the_law(rows: list[list[int]]) -> None:
    """Off by a share of a uniform law of m coth(epsilon/2) / 2**64, and a word; the first row where epsilon is tiny."""
    table = probabilities(rows)
    c = FiniteChannel(table)
    implemented = c.implemented().matrix
    ratio = largest_ratio(table)
    if ratio == 1 or (ratio < math.inf and (ratio + 1) / (ratio - 1) * len(rows[0]) > 2**40):
        return
    slack = Fraction(2 * len(rows[0]), WORDS) * (1 if ratio == math.inf else math.ceil((ratio + 1) / (ratio - 1)))
    for row, ideal in zip(implemented, table, strict=True):
        for p, wanted in zip(row, ideal, strict=True):
            assert abs(p - wanted) <= slack


@given(rows_of_weights)
def test_supports_are_kept_where_epsilon_is_infinite(rows: list[list[int]]) -> None:
    c = FiniteChannel(probabilities(rows))
    if c.exact_epsilon() < math.inf:
        return
    for bits in (3, 64):
        for row, weights in zip(c.implemented(bits).matrix, rows, strict=True):
            assert [p > 0 for p in row] == [weight > 0 for weight in weights]


def test_too_few_words_for_the_supports_still_share_out_all_words() -> None:
    c = FiniteChannel([["1/9"] * 9, [1, *[0] * 8]]).implemented(3)
    assert sorted(float(p) for p in c.matrix[0]) == [0, *[1 / 8] * 8]
    assert c.matrix[1][0] == 1


def test_too_few_words_for_the_ratio_ignore_the_input() -> None:
    """At epsilon = ln(51/49), coth(epsilon/2) = 50 words an output: 100 do not fit into 64."""
    c = FiniteChannel([["51/100", "49/100"], ["49/100", "51/100"]])
    assert c.implemented(6).exact_epsilon() == 0
    assert c.implemented(6).matrix[0] == c.implemented(6).matrix[1] == [Fraction(33, 64), Fraction(31, 64)]
    assert 0 < c.implemented(8).exact_epsilon() <= c.exact_epsilon()


def test_an_output_of_no_input_gets_no_words() -> None:
    c = FiniteChannel([["1/3", 0, "2/3"], ["2/3", 0, "1/3"]])
    assert all(row[1] == 0 < row[0] for row in c.implemented(8).matrix)


def test_whole_words_are_used_as_they_are() -> None:
    c = FiniteChannel([["3/4", "1/4"], ["1/4", "3/4"]])
    assert c.implemented() is c.implemented(2) is c
    assert FiniteChannel([["3/8", "5/8"], ["1/4", "3/4"]]).implemented(2).exact_epsilon() <= math.log(1.5)


@together(
    ("labels", "dtype"),
    [
        (["a", "bb"], np.dtype("<U2")),
        ([0, 5], np.int64),
        ([0.5, 1], np.float64),
        ([True, False], np.bool_),
        ([None, "a"], object),
        ([1, "a"], object),
        ([(0, 1), (1, 0)], object),
        ([2**70, 1], object),
    ],
)
def test_labels_keep_their_kind(labels: list[Any], dtype: Any) -> None:
    c = FiniteChannel([["1/2", "1/2"]], outputs=labels)
    drawn = c.sample(np.zeros((8, 4), dtype=np.uint8), rng=np.random.default_rng(0))
    assert (drawn.shape, drawn.dtype) == ((8, 4), dtype)
    assert set(drawn.ravel().tolist()) == set(labels)
    assert c.sample(0, rng=np.random.default_rng(0)) in labels
    assert np.exp(c.log_prob(drawn, 0)) == pytest.approx(0.5)


def test_tensors_hold_numbers_only() -> None:
    c, rng = FiniteChannel([["1/2", "1/2"]], outputs=["a", "b"]), torch.Generator().manual_seed(0)
    with pytest.raises(ValueError, match=r"outputs must be numbers for tensors, got .* use sample_indices"):
        c.sample(torch.zeros(3, dtype=torch.int64), rng=rng)
    drawn = c.sample_indices(torch.zeros(30, dtype=torch.int32), rng=rng)
    assert drawn.dtype == torch.int64
    assert set(drawn.tolist()) == {0, 1}
    for shape in [(), (0,), (2, 3)]:
        assert c.sample_indices(torch.zeros(shape, dtype=torch.int64), rng=rng).shape == shape


@together("x", [[0, 1], [-1], [0.5], [math.nan]])
def test_inputs_must_be_rows(x: list[float]) -> None:
    with pytest.raises(ValueError, match=r"x must be whole numbers in 0\.\.0"):
        FiniteChannel([["1/2", "1/2"]]).sample(x, rng=np.random.default_rng(0))
