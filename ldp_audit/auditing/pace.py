"""How long an audit takes: a pilot of a few calls, an estimate in every line of progress, and a budget of seconds.

The pilot times calls for 1 and for 16 outputs; with a budget, for twice as many again and again, until a call takes a
hundredth of it. What the calls give is not looked at.

Of a budget, a part is reserved for what comes before an accusation: further calls that show whether outputs depend on
each other, and copies of the program (`ldp_audit.auditing.dependent_outputs`). The rest says how many samples can be
drawn. An audit for which a budget was set bets (`ldp_audit.auditing.sequential`), so that it may stop whenever its time
is over.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ldp_audit.auditing.program import TIMING, Program
from ldp_audit.numerics import between
from ldp_audit.progress import duration

Lines = Callable[[str], None]

_PILOT, _LARGEST_PILOT = 16, 4096
_PILOT_SHARE = 0.01
"""Of the budget, that one call of the pilot takes, about."""
_CALL, _SMALL = 0.5, 32
"""Seconds that a call may take where there is a budget, as long as it has so many outputs."""
_WORTH_SAYING = 2.0
"""Seconds, below which no estimate is said."""
_STARTS = 3.0
"""Seconds in which a new process starts that copies the program, about."""
_COPIES, _COPIED, _AGAIN = 16, 1024, 512
"""Copies of a program that is accused of a gross violation; outputs of all of them, and of the calls that look for
dependence, on either input."""
_MOST_RESERVED = 0.5
"""Of a budget."""
_FEWEST_SAMPLES = 2


def checked_seconds(seconds: float | None) -> float | None:
    """The budget; or ValueError."""
    accepted = "a number of seconds above 0, or None for no limit"
    return None if seconds is None else between(seconds, "seconds", accepted, lambda one: 0 < one < math.inf)


@dataclass
class Pace:
    """What the pilot has measured.

    seconds: the budget, or None.   stateless: as of `audit`, so that no copies are asked.
    begun: when, by `time.perf_counter`.   start: seconds of the first call.   an_output: seconds, of a later one.
    """

    program: Program
    seconds: float | None
    stateless: bool
    begun: float
    start: float = field(init=False)
    an_output: float = field(init=False)
    _planned: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.start = self.an_output = math.inf

    def pilot(self, x: Any) -> None:
        """Time a few calls on this input."""
        self.start, place, size = self.program.timed(x, 1, (TIMING, 0)), 1, 1
        enough, most = math.inf, _PILOT
        if self.seconds is not None:
            enough, most = _PILOT_SHARE * self.seconds, _LARGEST_PILOT
        else:
            size = _PILOT
        while True:
            took = self.program.timed(x, size, (TIMING, place))
            self.an_output = took / size
            if took >= enough or size >= most:
                break
            place, size = place + 1, 2 * size
        if self.seconds is not None:  # a call that is under way ends late
            self.program.rows = min(self.program.rows, max(_SMALL, int(_CALL / max(self.an_output, 1e-12))))

    def line(self, progress: Lines | None, outputs: int, accused: int) -> Lines | None:
        """The progress, with the time that is left in each line. Says at once what the audit takes.

        outputs: of the audit, at most.   accused: further ones, at most, if the claim is refuted.
        """
        if progress is None:
            return None
        self.expect(outputs)
        whole = outputs * self.an_output
        if self.seconds is not None:
            progress(f"at {self.each} an output, within {duration(self.seconds)}")
        elif whole >= _WORTH_SAYING:
            more = f", {duration((outputs + accused) * self.an_output)} if the claim is refuted"
            progress(f"{self._of(outputs)}: about {duration(whole)}{more}")

        def said(text: str) -> None:
            left = max(0, self._planned - self.program.drawn) * self.program.seconds / max(1, self.program.drawn)
            if self.seconds is not None:
                left = min(left, self.left)
            progress(f"{text}; about {duration(left)} left" if left >= _WORTH_SAYING else text)

        return said

    def _of(self, outputs: int) -> str:
        return f"up to {outputs} outputs at {self.each} each"

    @property
    def left(self) -> float:
        """Seconds of the budget; infinite without one."""
        return math.inf if self.seconds is None else self.seconds - (time.perf_counter() - self.begun)

    @property
    def reserve(self) -> float:
        """Seconds that an accusation takes at least, but no more than half of the budget."""
        return min(self.accusation(_AGAIN, _COPIED), _MOST_RESERVED * (self.seconds or math.inf))

    def accusation(self, again: int, copied: int) -> float:
        """Seconds that so many outputs of either input take, in calls that look for dependence and in all copies."""
        if self.stateless:
            return 2 * again * self.an_output
        return _STARTS + _COPIES * self.start + 2 * (again + copied) * self.an_output

    def samples(self, most: int, outputs_of_one: float) -> int:
        """How many samples of an input the budget allows, no more than `most`.

        outputs_of_one: of all inputs, for each sample of an input.
        """
        if self.seconds is None:
            return most
        allowed = max(0.0, self.left - self.reserve) / max(self.an_output, 1e-12)
        return int(min(most, max(_FEWEST_SAMPLES, allowed / outputs_of_one)))

    def expect(self, outputs: int) -> None:
        """So many more outputs are to be drawn."""
        self._planned = self.program.drawn + outputs

    def budget_for(self, outputs: int) -> float:
        """Seconds in which so many outputs can be drawn, and the program be accused."""
        needed = outputs * self.an_output
        return needed + max(needed / 2, self.accusation(_AGAIN, _COPIED))

    def describe(self, samples: int) -> str:
        """What the budget allowed, in words."""
        return f"within {self.seconds:g} s, at {self.each} an output, {samples} samples of an input were drawn"

    def too_late(self, needed: float) -> str:
        """Why a refuted claim is no verdict; needed: seconds."""
        return (
            "outputs were seen that refute the claim if they are independent, and to look at that takes about "
            f"{duration(needed)}, more than is left of {self.seconds:g} s; --stateless (stateless=True) states that "
            "the program keeps nothing from call to call, and takes less"
        )

    @property
    def each(self) -> str:
        """The time of an output, in words."""
        return f"{1000 * self.an_output:.3g} ms"
