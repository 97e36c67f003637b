"""The search for the formula behind a table: it finds what was planted, and does not explain luck."""

from __future__ import annotations

import random
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal
from fractions import Fraction

import pytest
from flint import arb

from ldp_audit.claims.explain import Cell, LocalChoice, Rule, TableChoice, explanations, prints
from tests.together import together

POWERS = TableChoice("power", [1, 2, 3])
OFFSETS = TableChoice("offset", [0, 1, -1])
MISPRINT = LocalChoice("k", "k", lambda k: [k, k - 1, k + 1, k + 2, k + 3])
ROWS = [(30, 5), (30, 7), (41, 5), (41, 11), (53, 13), (67, 7)]


def formula(cell: Cell, setting: dict) -> Fraction | None:
    """((k + offset) / n)**power, undefined for k + offset > n."""
    k, n = setting["k"] + setting["offset"], cell.inputs["n"]
    return Fraction(k, n) ** setting["power"] if k <= n else None


def table(setting: dict, misprints: dict[int, int], rounding: str = ROUND_HALF_EVEN, digits: int = 5) -> list[Cell]:
    """Cells printed under the setting; misprints: from the printed k to the one that was used."""
    cells = []
    for n, k in ROWS:
        bare = Cell("", "", "share", {"n": n, "k": k})
        shown = formula(bare, {**setting, "k": misprints.get(k, k)})
        assert shown is not None
        printed = (Decimal(shown.numerator) / Decimal(shown.denominator)).quantize(Decimal(1).scaleb(-digits), rounding)
        cells.append(Cell(f"n = {n}, k = {k}", str(printed), "share", {"n": n, "k": k}))
    return cells


def find(cells: list[Cell]) -> list:
    return explanations(cells, formula, [POWERS, OFFSETS], MISPRINT)


@together("power", POWERS.options)
@together("offset", OFFSETS.options)
@together("used", [5, 6, 8])
def test_a_planted_explanation_is_found(power: int, offset: int, used: int) -> None:
    cells = table({"power": power, "offset": offset}, {5: used})
    best = find(cells)[0]
    assert best.explained == tuple(cells)
    # One more k in one place is not one more k everywhere: the plainest is the planted one.
    assert best.settings["n = 53, k = 13"] == {"power": power, "offset": offset, "k": 13}
    assert {best.settings[name]["k"] for name in ("n = 30, k = 5", "n = 41, k = 5")} == {used}
    assert best.rivals[5] == ()
    assert best.chance() < 1e-6


def test_what_needs_no_explanation_has_none() -> None:
    best = find(table({"power": 1, "offset": 0}, {}))[0]
    assert best.departures == ()
    assert best.words() == "6 of 6 numbers with everything as stated"


def test_departures_are_told() -> None:
    best = find(table({"power": 2, "offset": 0}, {5: 7}, ROUND_DOWN))[0]
    assert best.departures == ("power: 2", "k = 7 where 5 is printed", "share cut off")
    assert best.printing == {"share": "cut off"}


def test_one_wrong_digit_is_one_number_missed() -> None:
    cells = table({"power": 2, "offset": 0}, {})
    wrong = Cell(
        cells[4].name, cells[4].printed[:-1] + str((int(cells[4].printed[-1]) + 3) % 10), "share", cells[4].inputs
    )
    best = find([*cells[:4], wrong, *cells[5:]])[0]
    assert [cell.name for cell in best.missed] == [wrong.name]


@together("seed", range(20))
def test_random_digits_are_not_explained(seed: int) -> None:
    rng = random.Random(seed)
    cells = [Cell(f"n = {n}, k = {k}", f"0.{rng.randrange(10**5):05}", "share", {"n": n, "k": k}) for n, k in ROWS]
    best = find(cells)[0]
    assert len(best.explained) <= 1
    assert best.chance() > 0.1


def test_a_large_family_may_fit_a_digit_or_two_and_says_that_this_is_luck() -> None:
    anything = LocalChoice("k", "k", lambda k: [k, *range(1, 100)])
    cells = [Cell(f"k = {k}", printed, "x", {"k": k}) for k, printed in ((200, "0.13"), (300, "0.57"), (400, "0.91"))]
    best = explanations(cells, lambda _cell, setting: Fraction(setting["k"], 100), [], anything)[0]
    assert len(best.explained) == 3
    assert best.chance() == 1


def test_of_equals_the_plainer_comes_first() -> None:
    cells = [Cell("a", "0.25", "x", {})]
    same = TableChoice("route", ["direct", "roundabout"])
    ranked = explanations(cells, lambda _cell, _setting: Fraction(1, 4), [same])
    assert [found.settings["a"]["route"] for found in ranked] == ["direct", "direct", "roundabout", "roundabout"]
    assert [found.printing["x"] for found in ranked[:2]] == ["rounded", "cut off"]


def test_rivals_are_named() -> None:
    cells = [Cell("a", "1", "x", {"k": 7})]
    best = explanations(
        cells, lambda _cell, setting: Fraction(setting["k"] % 3), [], LocalChoice("k", "k", lambda _k: [7, 8, 10])
    )[0]
    assert best.settings["a"]["k"] == 7
    assert best.rivals == {7: (10,)}


def test_columns_may_be_printed_by_different_rules() -> None:
    shown = {"a": Fraction(19, 100), "b": Fraction(19, 100)}
    cells = [Cell("a", "0.2", "a", {}), Cell("b", "0.1", "b", {})]
    best = explanations(cells, lambda cell, _setting: shown[cell.name], [])[0]
    assert best.printing == {"a": "rounded", "b": "cut off"}
    assert best.missed == ()


def test_an_undefined_formula_explains_nothing() -> None:
    found = explanations([Cell("a", "0.2", "a", {})], lambda _cell, _setting: None, [])
    assert all(not one.explained for one in found)
    assert found[0].chance() == 1


@together(
    ("value", "printed", "rule", "expected"),
    [
        (Fraction(1, 8), "0.12", "rounded", True),
        (Fraction(1, 8), "0.13", "rounded", True),
        (Fraction(1, 8), "0.12", "cut off", True),
        (Fraction(1, 8), "0.13", "cut off", False),
        (Fraction(1, 8), "0.125", "rounded", True),
        (Fraction(1, 8), "0.1250", "cut off", True),
        (Fraction(1251, 10000), "0.12", "rounded", False),
        (Fraction(1, 3), "0.333", "rounded", True),
        (Fraction(2, 3), "0.666", "rounded", False),
        (Fraction(2, 3), "0.666", "cut off", True),
        (Fraction(2, 3), "0.667", "cut off", False),
        (Fraction(-2, 3), "-0.66", "cut off", True),
        (Fraction(-2, 3), "-0.67", "cut off", False),
        (Fraction(-2, 3), "-0.67", "rounded", True),
        (Fraction(13), "13", "cut off", True),
        (Fraction(27, 2), "14", "rounded", True),
        (Fraction(-1, 3), "0.3", "cut off", False),
    ],
)
def test_rounding_goes_either_way_at_a_tie_and_cutting_off_goes_towards_zero(
    value: Fraction, printed: str, rule: Rule, expected: bool
) -> None:
    assert prints(value, printed, rule) is expected


def test_a_ball_across_an_end_explains_nothing() -> None:
    across = arb(0.125, 1e-9)
    assert not prints(across, "0.12", "rounded")
    assert not prints(across, "0.13", "rounded")
    assert prints(across, "0.12", "cut off")
    assert not prints(arb(0.13, 1e-9), "0.13", "cut off")
    assert not prints(arb("nan"), "0.12", "rounded")


def test_more_numbers_explained_are_less_likely_by_chance() -> None:
    cells = table({"power": 3, "offset": 1}, {})
    ranked = find(cells)
    chances = [one.chance() for one in ranked]
    assert chances == sorted(chances)
    assert chances[0] < 1e-9
    assert chances[-1] == 1


@together(
    ("cells", "choices", "local", "message"),
    [
        ([], [], None, "cells must be there"),
        ([Cell("a", "1", "x", {}), Cell("a", "2", "x", {})], [], None, "different names"),
        ([Cell("a", "1", "x", {})], [TableChoice("base", [])], None, "got none for base"),
        ([Cell("a", "1", "x", {"k": 3})], [], LocalChoice("k", "k", lambda _k: []), "got none for k at 3"),
        ([Cell("a", "1", "x", {})], [], LocalChoice("k", "k", lambda k: [k]), "missing in a"),
    ],
)
def test_what_is_not_a_family_is_refused(cells: list, choices: list, local: LocalChoice | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        explanations(cells, lambda _cell, _setting: Fraction(1), choices, local)
