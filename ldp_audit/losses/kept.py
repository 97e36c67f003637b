"""What takes long to make and is asked for again soon: kept, up to so many of it, the oldest going first."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Kept(Generic[Key, Made]):
    """Of one object, for its own use.   most: how many are kept, >= 1."""

    most: int
    _made: dict[Key, Made] = field(default_factory=dict, init=False, repr=False)

    def of(self, key: Key, make: Callable[[], Made]) -> Made:
        """What belongs to the key: made now, unless it was and is still kept."""
        if key not in self._made:
            made = make()  # which may ask for others
            if len(self._made) >= self.most:
                del self._made[next(iter(self._made))]
            self._made[key] = made
        return self._made[key]
