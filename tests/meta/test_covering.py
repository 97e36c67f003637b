"""The share of a product that CI runs: it holds every pair, it is small, and all of it runs with `--slow`."""

from __future__ import annotations

from itertools import product

import pytest

from tests.covering import combinations_of, covering
from tests.together import together

pytest_plugins = ["pytester"]
SIZES = [(7, 7, 3), (4, 8, 6), (2, 2, 2, 2, 2), (5, 3), (6,)]

FILE = """
    import pytest

    {mark}
    @pytest.mark.parametrize("a", [0, 1, pytest.param(2, marks=pytest.mark.slow)])
    @pytest.mark.parametrize("b", range(4))
    @pytest.mark.parametrize("c", range(2))
    def test_product(a, b, c):
        pass

    @pytest.mark.slow
    def test_full_size():
        pass
"""


def product_of(sizes: tuple[int, ...]) -> list[dict[str, int]]:
    return [dict(zip("abcde", values, strict=False)) for values in product(*map(range, sizes))]


@together("strength", [1, 2, 3])
@together("sizes", SIZES)
def test_every_combination_of_so_many_values_is_there(sizes: tuple[int, ...], strength: int) -> None:
    cases = product_of(sizes)
    chosen = covering(cases, strength)
    every, kept = (
        {one for case in some for one in combinations_of(case, strength)} for some in (cases, _at(chosen, cases))
    )
    assert kept == every
    assert len(chosen) == len(set(chosen))
    assert {one for case in _at(chosen[1:], cases) for one in combinations_of(case, strength)} != every or not chosen[
        1:
    ]


def _at(places: list[int], cases: list[dict[str, int]]) -> list[dict[str, int]]:
    return [cases[place] for place in places]


def test_pairs_take_few_cases_and_values_one_each() -> None:
    """The least that is possible is the product of the two longest lists; and the length of the longest."""
    assert len(covering(product_of((7, 7, 3)))) <= 1.2 * 49
    assert len(covering(product_of((4, 8, 6)))) <= 1.2 * 48
    assert len(covering(product_of((4, 8, 6)), 1)) == 8


@together(("strength", "options", "passed"), [(2, [], 8), (1, [], 4), (3, [], 16), (2, ["--slow"], 25)])
def test_what_runs(pytester: pytest.Pytester, strength: int, options: list[str], passed: int) -> None:
    """All pairs without a marker, all cases with `--slow`; one that is asked for by name, chosen or not."""
    pytester.makeconftest("from tests.conftest import pytest_addoption, pytest_collection_modifyitems")
    pytester.makeini("[pytest]\nmarkers =\n    slow: s\n    covering: c")
    path = pytester.makepyfile(FILE.format(mark="" if strength == 2 else f"@pytest.mark.covering({strength})"))
    pytester.runpytest(*options).assert_outcomes(passed=passed, deselected=25 - passed)
    for name in ("0-0-0", "1-3-0", "0-2-1"):
        pytester.runpytest(f"{path.name}::test_product[{name}]").assert_outcomes(passed=1)
