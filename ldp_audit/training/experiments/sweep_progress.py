"""How far a sweep is, on one line: finished runs, the round that was just done, its accuracy, the time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from ldp_audit.training.experiments.spread import Event
from ldp_audit.training.experiments.sweep import Job

Say = Callable[[str], None]


class SweepProgress:
    """Lines for `say` as events are heard."""

    def __init__(self, jobs: Sequence[Job], say: Say | None) -> None:
        self._jobs, self._say = jobs, say
        self._varied = [name for name in jobs[0].settings if len({repr(job.settings[name]) for job in jobs}) > 1]
        self._begun: dict[int, tuple[float, float]] = {}  # a run's share when first heard of here, and its share now
        self._start: float | None = None  # the first event: workers take their time to start
        self._kept, self._ended, self._of = 0, 0, len(jobs)
        self._after = ("", "", 0)

    def heard(self, event: Event, finished: int) -> None:
        """An event of a run, or of what `next` announced."""
        if self._say is None:
            return
        if self._after[0]:
            self._say("{0}: {3} of {2} {1}".format(*self._after, finished))
            return
        self._ended += event.record is not None
        self._kept = finished - self._ended
        if event.record is not None:
            self._note(event.number, 1.0, 0.0)
            self._say(f"{finished} of {self._of} runs{self._left()}")
            return
        self._note(event.number, event.round / event.rounds, (event.round - 1) / event.rounds)
        job = self._jobs[event.number]
        point = "".join(f"{name} {job.settings[name]}, " for name in self._varied)
        self._say(
            f"{finished} of {self._of} runs; {point}round {event.round} of {event.rounds}, "
            f"accuracy {event.accuracy:.3f}{self._left()}"
        )

    def next(self, what: str, of: str, count: int) -> None:
        """The runs are finished; next comes something about so many protocols or points."""
        self._after = (what, of, count)
        if self._say is not None and count:
            self._say(f"{what}: 0 of {count} {of}")

    def _note(self, number: int, share: float, first: float) -> None:
        if self._start is None:
            self._start, first = time.perf_counter(), share
        self._begun[number] = (self._begun.get(number, (first, 0.0))[0], share)

    def _left(self) -> str:
        """By the pace so far: runs that were kept from before count neither as work done nor as work left."""
        done = sum(now - first for first, now in self._begun.values())
        under_way = sum(1 - now for _, now in self._begun.values() if now < 1)
        waiting = self._of - self._kept - len(self._begun)
        if done <= 0 or self._start is None:
            return ""
        return f"; {duration((time.perf_counter() - self._start) / done * (under_way + waiting))} left"


def duration(seconds: float) -> str:
    """45 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
