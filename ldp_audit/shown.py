"""Results as people see them: `print` and notebooks show `describe()`, and a verdict is neither true nor false."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from typing import ClassVar, NoReturn


class Shown(ABC):
    """What describes itself in a few lines."""

    @abstractmethod
    def describe(self) -> str:
        """In words, for people."""

    def __str__(self) -> str:
        return self.describe()

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return f"<pre>{escape(self.describe())}</pre>"


class Judged(Shown):
    """A result with a verdict, which no truth value stands for: `if result:` may be meant either way."""

    asked: ClassVar[str] = "violated"
    """The verdict that people ask for."""

    def __bool__(self) -> NoReturn:
        ask = f"result.verdict == {self.asked!r}"
        raise ValueError(f"a result must be asked for its verdict, as it is neither true nor false: {ask}")
