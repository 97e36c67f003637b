"""The outcome of one check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """One line of the list.

    name: what must hold.   how: how it was looked at.   looked: at how many things.   problems: empty where it holds.
    """

    name: str
    how: str
    looked: int
    problems: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether something was looked at and nothing was found; a check that saw nothing does not pass."""
        return self.looked > 0 and not self.problems

    def describe(self) -> str:
        """One line, then the first few problems."""
        word = "pass" if self.passed else "FAIL"
        lines = [f"{word}  {self.name}  [{self.how}; {self.looked} looked at]"]
        lines += [f"      {problem}" for problem in self.problems[:5]]
        more = len(self.problems) - 5
        return "\n".join([*lines, *([f"      and {more} more"] if more > 0 else [])])


def outcome(name: str, how: str, looked: int, problems: Sequence[str]) -> Outcome:
    """An Outcome from any sequence of problems."""
    return Outcome(name, how, looked, tuple(problems))
