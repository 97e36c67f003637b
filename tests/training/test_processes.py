"""Worker processes: the same weights, errors that come back, and no worker that stays behind."""

# pyright: reportOptionalMemberAccess=false
from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ldp_audit.training import processes
from ldp_audit.training.local_training import train_clients
from tests.training.plain_clients import Round, a_round, distance, tolerance


@pytest.fixture(scope="module", autouse=True)
def _two_workers() -> Iterator[None]:
    """As many on every machine; none after the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "cores", lambda: 2)
        yield
    processes.stop()


def started(case: Round) -> Iterator[object]:
    return train_clients(
        case.model,
        case.weights,
        case.data,
        range(5),
        epochs=1,
        batch_size=2,
        learning_rate=0.1,
        streams=case.streams,
        place=(3,),
        strategy="processes",
        chunk=1,
    )


def workers() -> list[int]:
    """The process numbers of this process's workers."""
    return [child.pid or 0 for child in multiprocessing.active_children()]


def gone(number: int) -> bool:
    """Whether this process has ended."""
    try:
        status = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return True
    return status.rpartition(")")[2].split()[0] == "Z"


def test_they_agree_with_plain_sgd_round_after_round_and_are_started_once() -> None:
    """Catches a slot that is overwritten before it is read, chunks out of order, a start a round."""
    numbers = set()
    for chunk in (1, 2, 100):
        for model in ("digit-cnn", "mlp"):
            case = a_round(model)
            assert distance(case.trained("processes", chunk=chunk), case.plain()) <= tolerance(case.weights)
            numbers |= set(workers())
    assert len(numbers) == 2


def test_what_goes_wrong_in_a_worker_is_raised_here_and_ends_the_workers() -> None:
    """Catches an error that is lost, and answers of a broken round that the next one would read."""
    case = a_round()
    case.trained("processes")
    numbers = workers()
    assert len(numbers) == 2
    assert not any(gone(number) for number in numbers)
    case.data.x[3, 0] = float("nan")
    assert case.trained("processes", strict=False)["output.bias"].isnan().all(1).tolist() == [False] * 3 + [True, False]
    with pytest.raises(FloatingPointError, match="client 3 in round 3"):
        case.trained("processes", chunk=1)
    assert all(gone(number) for number in numbers)


@pytest.mark.slow
def test_a_round_that_is_not_taken_to_its_end_ends_its_workers_and_the_next_one_starts_others() -> None:
    """Catches orphans after Ctrl-C, which leaves the round in the same way."""
    case = a_round()
    case.trained("processes")
    numbers, parts = workers(), started(case)
    next(parts)
    parts.close()
    assert len(numbers) == 2
    assert all(gone(number) for number in numbers)
    assert distance(case.trained("processes"), case.plain()) <= tolerance(case.weights)


@pytest.mark.slow
def test_a_worker_that_is_killed_is_an_error_that_says_so() -> None:
    """Catches a round that waits for ever."""
    case = a_round()
    case.trained("processes")
    numbers = workers()
    os.kill(numbers[0], signal.SIGKILL)
    with pytest.raises(RuntimeError, match="a worker process ended; was it killed for memory"):
        case.trained("processes")
    assert all(gone(number) for number in numbers)


def test_what_cannot_go_to_a_worker_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches an error of pickle's in the middle of a round, and a bus error where shared memory is small."""
    case = a_round()
    with pytest.raises(ValueError, match="strategy 'processes' cannot train this: model and loss must be picklable"):
        case.trained("processes", loss=lambda outputs, targets: outputs.sum(1))
    monkeypatch.setattr(processes.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 10}))
    if Path("/dev/shm").is_dir():
        with pytest.raises(ValueError, match=r"it needs \d+ MiB of shared memory, /dev/shm has 0 MiB"):
            case.trained("processes")


_SCRIPT = """
import sys, torch
from ldp_audit.training import processes
from tests.training.plain_clients import a_round
from tests.training.test_processes import started, workers
processes.cores = lambda: 2
if __name__ == "__main__":
    case = a_round()
    list(started(case))
    print(*workers(), flush=True)
    while True:
        list(started(case))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="it looks for processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_its_parent(number: signal.Signals, tmp_path: Path) -> None:
    """Catches orphans: Ctrl-C reaches parent and workers, a kill the parent alone."""
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT)
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment,
        cwd=root,
    )
    numbers = [int(word) for word in parent.stdout.readline().split()]
    assert len(numbers) == 2, parent.stderr.read()
    time.sleep(0.5)
    (os.killpg if number == signal.SIGINT else os.kill)(parent.pid, number)
    parent.communicate(timeout=60)
    end = time.monotonic() + 30
    while not all(gone(one) for one in numbers) and time.monotonic() < end:
        time.sleep(0.05)
    assert all(gone(one) for one in numbers)
    assert parent.returncode != 0
