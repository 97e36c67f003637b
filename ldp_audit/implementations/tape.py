"""What a program draws, written down call by call, and played back with other words.

A word is what a generator makes one value of: all 2**bits words are equally likely, and the value is a fixed function
of its word. The fakes of numpy's generator and of torch ask a `Tape` for words; it records fresh ones or gives those
of a script.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

MOST_DRAWS = 4096
"""A call for one output that draws more often is given up on."""


class NotEnumerable(ValueError):  # noqa: N818 - an outcome, not a mistake of the caller
    """The program's draws cannot be played back. The text says why, as the end of a sentence about the program."""


@dataclass(frozen=True)
class Draw:
    """One call of a generator.

    name: as a program writes it, with the dtype.   bits: of the word of one value.   shape: of the values.
    """

    name: str
    bits: int
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many values."""
        return math.prod(self.shape)


@dataclass
class Tape:
    """Records the draws of one call of a program, or plays a script of them.

    script: the draws that are expected, each with its words, uint64, shape (draw.size,); None: record.
    """

    script: Sequence[tuple[Draw, np.ndarray]] | None = None
    draws: list[Draw] = field(default_factory=list)
    words: list[np.ndarray] = field(default_factory=list)
    refusal: str | None = None

    @property
    def recording(self) -> bool:
        """Whether fresh words are drawn."""
        return self.script is None

    def take(self, draw: Draw, fresh: Callable[[], np.ndarray]) -> np.ndarray:
        """The words of this draw, flat; fresh() draws them where the tape records. A draw of no values is none."""
        if draw.size == 0:
            return np.zeros(0, dtype=np.uint64)
        place = len(self.draws)
        self.draws.append(draw)
        if self.script is None:
            if place >= MOST_DRAWS:
                self.refuse(f"it draws more than {MOST_DRAWS} times for a few outputs")
            self.words.append(fresh())
            return self.words[-1]
        if place >= len(self.script) or self.script[place][0] != draw:
            self.refuse(f"how much it draws depends on what it drew: {shown(draw)} comes {self._instead(place)}")
        return self.script[place][1]

    def refuse(self, reason: str) -> NoReturn:
        """Give up; remembered, as the program may catch the error."""
        self.refusal = self.refusal or reason
        raise NotEnumerable(self.refusal)

    def finish(self) -> None:
        """Raises NotEnumerable where a draw was refused, or the script is not at its end."""
        if self.refusal is None and self.script is not None and len(self.draws) < len(self.script):
            missing = self.script[len(self.draws)][0]
            self.refusal = f"how much it draws depends on what it drew: {shown(missing)} is not always there"
        if self.refusal is not None:
            raise NotEnumerable(self.refusal)

    def _instead(self, place: int) -> str:
        if self.script is None or place >= len(self.script):
            return "after all others"
        return f"where {shown(self.script[place][0])} was expected"


def shown(draw: Draw) -> str:
    """In words."""
    return draw.name if draw.shape == () else f"{draw.name} of shape {draw.shape}"
