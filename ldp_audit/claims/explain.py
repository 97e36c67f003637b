"""Search for the formula that reproduces a table's printed numbers, over a family of explanations.

A family is a formula with choices: the base of a logarithm, a neighbouring parameter, one theorem or the other. Each
choice lists its options, the plainest first. For each column, rounding or truncation is a choice as well. The search is
exhaustive and ranks explanations by the number of cells that they explain; of equals, the plainer one comes first.

Arithmetic is exact or in outward-rounded balls: a cell counts as explained only if its printed digits follow for
certain. The probability that random digits match as well is bounded (`Explanation.chance`), so that the size of a
family cannot pass for evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from math import prod
from typing import Any, Literal, get_args

from ldp_audit.accounting.laws.finite_laws import count_law
from ldp_audit.claims.engines.evaluate import Value, compare

Rule = Literal["rounded", "cut off"]
RULES: tuple[Rule, ...] = get_args(Rule)


@dataclass(frozen=True)
class Cell:
    """A printed number.

    name: for messages.   printed: its digits as printed.   column: the cells of one column share a rounding rule.
    inputs: the parameters that the table states for it.
    """

    name: str
    printed: str
    column: str
    inputs: Mapping[str, Any]


@dataclass(frozen=True)
class TableChoice:
    """An unstated convention that is the same for the whole table.

    options: the plainest first.
    """

    name: str
    options: Sequence[Any]


@dataclass(frozen=True)
class LocalChoice:
    """An unstated convention shared by the cells with the same value of an input.

    per: the input's name.   options: from its value to the options, the plainest first.
    """

    name: str
    per: str
    options: Callable[[Any], Sequence[Any]]


Formula = Callable[[Cell, Mapping[str, Any]], Value | None]
"""The number of a cell under a setting (choice name to option); None if undefined."""


@dataclass(frozen=True)
class Explanation:
    """One option for each choice, and the cells that follow.

    settings: for each cell, choice name to option.   printing: for each column.   explained, missed: the cells.
    departures: in words, each choice that is not the plainest.
    rivals: for each value of the shared input, the other options that explain as many of its cells.
    tried: number of settings of the family.
    """

    settings: Mapping[str, Mapping[str, Any]]
    printing: Mapping[str, Rule]
    explained: tuple[Cell, ...]
    missed: tuple[Cell, ...]
    departures: tuple[str, ...]
    rivals: Mapping[Hashable, tuple[Any, ...]]
    tried: int

    def chance(self) -> float:
        """Upper bound on the probability that random digits match as many cells; 1 is no evidence.

        The digits are uniform after each number's own leading zeros. The bound is the exact probability of as many
        matches under one setting, times the number of settings (union bound).
        """
        law = count_law([_match_probability(cell.printed) for cell in (*self.explained, *self.missed)])
        lucky = sum(mass for matches, mass in law.items() if matches >= len(self.explained))
        return float(min(Fraction(1), self.tried * lucky))

    def words(self) -> str:
        """The explanation in one line."""
        of = f"{len(self.explained)} of {len(self.explained) + len(self.missed)} numbers"
        return f"{of} with {'; '.join(self.departures) or 'everything as stated'}"


def explanations(
    cells: Sequence[Cell], formula: Formula, choices: Sequence[TableChoice], local: LocalChoice | None = None
) -> list[Explanation]:
    """The best local options for each setting of the whole table: most cells explained first, of equals the plainest.

    Raises ValueError without cells, for two cells with one name, for a choice without options, and for a cell without
    the shared input.
    """
    family = _Family(tuple(cells), formula, tuple(choices), local)
    family.check()
    ranked = [
        family.explanation(places, fits, dict(zip(family.columns, printing, strict=True)))
        for places in product(*[range(len(choice.options)) for choice in choices])
        for fits in [family.fits(places)]
        for printing in product(RULES, repeat=len(family.columns))
    ]
    return [explanation for _, explanation in sorted(ranked, key=lambda pair: pair[0])]


def prints(value: Value, printed: str, rule: Rule) -> bool:
    """Whether the printed digits certainly are the value's: rounded (either way at a tie), or truncated (towards 0)."""
    shown, unit = _read(printed)
    if rule == "rounded":
        return compare(shown - unit / 2, "<=", value) is True and compare(value, "<=", shown + unit / 2) is True
    if printed.startswith("-"):
        return compare(shown - unit, "<", value) is True and compare(value, "<=", shown) is True
    return compare(shown, "<=", value) is True and compare(value, "<", shown + unit) is True


@cache
def _read(printed: str) -> tuple[Fraction, Fraction]:
    """The printed number, and the unit of its last place."""
    return Fraction(printed), Fraction(1, 10 ** len(printed.partition(".")[2]))


Places = tuple[int, ...]
Fits = dict[Hashable, list[list[tuple[Rule, ...]]]]
"""For each group and option, the rounding rules under which each of its cells prints as in the table."""


@dataclass(frozen=True)
class _Family:
    """The search space."""

    cells: tuple[Cell, ...]
    formula: Formula
    choices: tuple[TableChoice, ...]
    local: LocalChoice | None

    def check(self) -> None:
        names = [cell.name for cell in self.cells]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"cells must be there and have different names, got {names}")
        missing = [cell.name for cell in self.cells if self.local and self.local.per not in cell.inputs]
        if self.local and missing:
            raise ValueError(f"cells need the input {self.local.per!r}; it is missing in {', '.join(missing)}")
        empty = [choice.name for choice in self.choices if not choice.options]
        empty += [f"{self.local.name} at {group}" for group in self.groups if self.local and not self.options[group]]
        if empty:
            raise ValueError(f"every choice needs options, got none for {', '.join(empty)}")

    @cached_property
    def columns(self) -> list[str]:
        return list(dict.fromkeys(cell.column for cell in self.cells))

    @cached_property
    def groups(self) -> dict[Hashable, list[Cell]]:
        """The cells that share their local options."""
        groups: dict[Hashable, list[Cell]] = {}
        for cell in self.cells:
            groups.setdefault(cell.inputs[self.local.per] if self.local else None, []).append(cell)
        return groups

    @cached_property
    def options(self) -> dict[Hashable, list[Any]]:
        """The local options of each group."""
        return {group: list(self.local.options(group)) if self.local else [None] for group in self.groups}

    def setting(self, places: Places, option: Any) -> dict[str, Any]:
        whole = {choice.name: choice.options[place] for choice, place in zip(self.choices, places, strict=True)}
        return {**whole, self.local.name: option} if self.local else whole

    def fits(self, places: Places) -> Fits:
        """Every cell under every local option: the expensive part, computed once for each setting of the whole
        table."""
        return {
            group: [
                [self._rules(cell, self.setting(places, option)) for cell in cells] for option in self.options[group]
            ]
            for group, cells in self.groups.items()
        }

    def _rules(self, cell: Cell, setting: Mapping[str, Any]) -> tuple[Rule, ...]:
        value = self.formula(cell, setting)
        return () if value is None else tuple(rule for rule in RULES if prints(value, cell.printed, rule))

    def explanation(
        self, places: Places, fits: Fits, printing: dict[str, Rule]
    ) -> tuple[tuple[int, int, int], Explanation]:
        """The best local options under these rounding rules, the cells that they explain, and its rank."""
        settings: dict[str, dict[str, Any]] = {}
        explained: list[Cell] = []
        rivals: dict[Hashable, tuple[Any, ...]] = {}
        told = [
            f"{choice.name}: {choice.options[place]}"
            for choice, place in zip(self.choices, places, strict=True)
            if place
        ]
        steps = sum(places)
        for group, cells in self.groups.items():
            hits = [
                [cell for cell, rules in zip(cells, row, strict=True) if printing[cell.column] in rules]
                for row in fits[group]
            ]
            most = max(map(len, hits))
            first, *others = [place for place, found in enumerate(hits) if len(found) == most]
            option = self.options[group][first]
            settings.update({cell.name: self.setting(places, option) for cell in cells})
            explained += hits[first]
            rivals[group] = tuple(self.options[group][place] for place in others)
            steps += first
            if self.local and first:
                told.append(f"{self.local.name} = {option} where {group} is printed")
        told += [f"{column} {rule}" for column, rule in printing.items() if rule != RULES[0]]
        names = {cell.name for cell in explained}
        found = Explanation(
            settings=settings,
            printing=printing,
            explained=tuple(cell for cell in self.cells if cell.name in names),
            missed=tuple(cell for cell in self.cells if cell.name not in names),
            departures=tuple(told),
            rivals=rivals,
            tried=self._tried(),
        )
        return (len(found.missed), len(told), steps), found

    def _tried(self) -> int:
        whole = prod(len(choice.options) for choice in self.choices)
        return whole * len(RULES) ** len(self.columns) * prod(map(len, self.options.values()))


def _match_probability(printed: str) -> Fraction:
    """The probability that random digits, after the leading zeros, are the printed ones."""
    digits = printed.lstrip("-").replace(".", "").lstrip("0")
    return Fraction(1, 9 * 10 ** (len(digits) - 1)) if digits else Fraction(1)
