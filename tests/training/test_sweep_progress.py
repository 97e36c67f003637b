"""Progress of a sweep: what it says, and that the time left follows the pace of what was done here."""

from __future__ import annotations

import pytest

from ldp_audit.training import experiment
from ldp_audit.training.experiment import SweepProgress, duration
from ldp_audit.training.runs import WorkerMessage
from ldp_audit.training.sweep import Sweep, jobs_of
from tests.together import together
from tests.training.toy import Toy

JOBS = jobs_of(Toy, [Sweep({}, {"epsilon": (0.5, 1.0)}, repeats=2)], seed=0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(experiment.time, "perf_counter", lambda: now[0])
    return now


def test_the_time_left_is_by_the_pace_since_the_first_event(clock: list[float]) -> None:
    """Four runs of two rounds, 10 s a round by two workers; two of the runs were kept from before."""
    said: list[str] = []
    progress = SweepProgress(JOBS, said.append)
    clock[0] += 50  # workers start, which is no work
    progress.heard(WorkerMessage(2), 2)
    for number in (2, 3):
        progress.heard(WorkerMessage(number, 0, 2), 2)
    clock[0] += 5
    progress.heard(WorkerMessage(2, 0.5, 2), 2)
    clock[0] += 5
    progress.heard(WorkerMessage(2, 1, 2, 0.25), 2)
    progress.heard(WorkerMessage(3, 1, 2, 0.5), 2)
    clock[0] += 10
    progress.heard(WorkerMessage(2, 2, 2, 0.75), 2)
    progress.heard(WorkerMessage(2, record={}), 3)
    assert said == [
        "2 of 4 runs; epsilon 1.0, dealing the data",
        "2 of 4 runs; epsilon 1.0, round 1 of 2",
        "2 of 4 runs; epsilon 1.0, round 1 of 2",
        "2 of 4 runs; epsilon 1.0, round 1 (50%) of 2; 35 s left",
        "2 of 4 runs; epsilon 1.0, round 1 of 2, accuracy 0.250; 30 s left",
        "2 of 4 runs; epsilon 1.0, round 1 of 2, accuracy 0.500; 10 s left",
        "2 of 4 runs; epsilon 1.0, round 2 of 2, accuracy 0.750; 7 s left",
        "3 of 4 runs; 7 s left",
    ]


def test_what_comes_after_the_runs_is_named() -> None:
    said: list[str] = []
    progress = SweepProgress(JOBS, said.append)
    progress.next("spend", "protocols", 3)
    progress.heard(WorkerMessage(0, record={}), 1)
    assert said == ["spend: 0 of 3 protocols", "spend: 1 of 3 protocols"]
    SweepProgress(JOBS, None).heard(WorkerMessage(0, 1, 2), 0)


@together(("seconds", "words"), [(0.4, "0 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")])
def test_durations_have_two_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words
