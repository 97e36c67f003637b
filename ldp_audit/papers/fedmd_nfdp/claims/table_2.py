"""FedMD-NFDP, Table 2: its epsilon and delta, and a search for the formula that reproduces them.

They are not Theorem 2's values at the printed k. The family of the search: both theorems; the natural, the decimal and
the binary logarithm; n, its neighbours, and ten parties' records; for each printed k every k up to 60 and the printed
one's neighbours; numbers rounded or truncated.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from sympy import Expr, Integer, Mul, Rational, log

from ldp_audit.claims.engines.evaluate import Point, Value, enclosure, value
from ldp_audit.claims.explain import Cell, Explanation, LocalChoice, Rule, TableChoice, explanations
from ldp_audit.claims.language.statement import Statement, at_most, less, prints_as
from ldp_audit.papers.fedmd_nfdp.claims.symbols import (
    DELTA_WITH,
    DELTA_WITHOUT,
    EPSILON_WITH,
    EPSILON_WITHOUT,
    k_any,
    n_any,
    put,
)

TABLE_2 = {  # (private data, n, k): (epsilon, delta, accuracy in percent), sampling with replacement
    ("FEMNIST", 2880, 16): ("0.0027", "0.0062", "80.64"),
    ("FEMNIST", 2880, 60): ("0.0090", "0.0206", "88.06"),
    ("FEMNIST", 2880, 300): ("0.0452", "0.0989", "93.56"),
    ("FEMNIST", 2880, 2880): ("0.4342", "0.6321", "96.63"),
    ("CIFAR-10", 300, 16): ("0.0260", "0.0583", "74.40"),
    ("CIFAR-10", 300, 60): ("0.0867", "0.1815", "81.58"),
    ("CIFAR-10", 300, 120): ("0.1734", "0.3301", "83.57"),
    ("CIFAR-10", 300, 300): ("0.4336", "0.6327", "87.38"),
}

THEOREMS = {
    "Theorem 2": {"epsilon": EPSILON_WITH, "delta": DELTA_WITH},
    "Theorem 1": {"epsilon": EPSILON_WITHOUT, "delta": DELTA_WITHOUT},
}
BASES: Mapping[str, Expr] = {"e": Integer(1), "10": log(10), "2": log(2)}
SIZES = {"n": lambda n: n, "n - 1": lambda n: n - 1, "n + 1": lambda n: n + 1, "10 n": lambda n: 10 * n}


def table_2_cells() -> list[Cell]:
    """The sixteen numbers of the epsilon and delta columns."""
    return [
        Cell(f"{data}, n = {n}, k = {k}: {column}", printed, column, {"n": n, "k": k})
        for (data, n, k), (epsilon, delta, _) in TABLE_2.items()
        for column, printed in (("epsilon", epsilon), ("delta", delta))
    ]


@cache
def table_2_explanations() -> tuple[Explanation, ...]:
    """All explanations of Table 2, the best first."""
    return tuple(explanations(table_2_cells(), shown, CHOICES, DRAWS))


def _draws(printed: int) -> list[int]:
    """The printed k, then the others, the nearest first."""
    others = {*range(1, 61), printed - 1, printed + 1} - {printed}
    return [printed, *sorted(others, key=lambda k: (abs(k - printed), k))]


CHOICES = (
    TableChoice("formula", tuple(THEOREMS)),
    TableChoice("base of the logarithm", tuple(BASES)),
    TableChoice("number of records", tuple(SIZES)),
)
DRAWS = LocalChoice("k", "k", _draws)


def shown(cell: Cell, setting: Mapping[str, Any]) -> Value | None:
    """The number of a cell of Table 2 under a setting; None if it requires more draws than records."""
    records, draws = SIZES[setting["number of records"]](cell.inputs["n"]), setting["k"]
    theorem = THEOREMS[setting["formula"]]
    if draws > records and setting["formula"] == "Theorem 1":
        return None
    base = setting["base of the logarithm"] if cell.column == "epsilon" else "e"
    return _value(theorem[cell.column], base, records, draws)


@cache
def _value(formula: Expr, base: str, records: int, draws: int) -> Value:
    point: Point = {n_any: Fraction(records), k_any: Fraction(draws)}
    if not formula.has(log):
        return value(formula, point)
    return enclosure(formula, point) / enclosure(BASES[base], {})


def draws_behind(data: str, n: int, k: int) -> int:
    """The k of the best explanation for a row of Table 2."""
    cell = next(cell for cell in table_2_cells() if cell.name.startswith(f"{data}, n = {n}, k = {k}:"))
    return table_2_explanations()[0].settings[cell.name]["k"]


def follows(explanation: Explanation, cell: Cell) -> tuple[Statement, ...]:
    """A statement that the cell's printed digits are those of the explanation's formula."""
    setting, rule = explanation.settings[cell.name], explanation.printing[cell.column]
    records, draws = SIZES[setting["number of records"]](cell.inputs["n"]), setting["k"]
    formula = put(THEOREMS[setting["formula"]][cell.column], records, draws)
    if cell.column == "epsilon":
        formula = Mul(formula, 1 / BASES[setting["base of the logarithm"]], evaluate=False)
    return printed_by(rule, formula, cell.printed, cell.name)


def printed_by(rule: Rule, formula: Expr, printed: str, where: str) -> tuple[Statement, ...]:
    """A statement that the value, rounded or truncated, is the printed one."""
    if rule == "rounded":
        return (prints_as(formula, printed, f"{where}: rounds to {printed}"),)
    unit = Rational(1, 10 ** len(printed.partition(".")[2]))
    return (
        at_most(Rational(printed), formula, f"{where}: not below {printed}"),
        less(formula, Rational(printed) + unit, f"{where}: and its next digit is cut off"),
    )
