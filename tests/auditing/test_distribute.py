"""The same counts from several processes, and from a Dask cluster, also where workers are lost on the way."""

from __future__ import annotations

import json
import logging
import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ldp_audit import workers as dask_cluster
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.program import Program
from ldp_audit.auditing.test import IncompleteError, Tally, Test, count_all
from ldp_audit.auditing.workers import Counting
from ldp_audit.cli import main
from ldp_audit.workers import Cluster, Processes, ThisProcess, pool_of
from tests.auditing.worker_samplers import Bad, Unloadable, uniform

CHUNKS, ROWS = 24, 1000
TEST = Test((Event(((0.5, math.inf),)),), (0.0, 1.0), (0, 1), CHUNKS * ROWS - 10, ROWS)


@pytest.fixture(scope="module")
def serial() -> Tally:
    return count_all(TEST, Program(uniform, seed=3))


def test_a_shard_whose_worker_is_killed_is_counted_by_another(tmp_path: Path, serial: Tally) -> None:
    program = Program(Bad("dies", 9, once=tmp_path / "dead"), seed=3)
    assert count_all(TEST, program, runner=Counting(Processes(2))) == serial
    assert (tmp_path / "dead").exists()


def test_a_program_that_always_ends_its_process_is_named() -> None:
    with pytest.raises(IncompleteError, match=r"Bad: 3 worker processes died while they counted chunk") as caught:
        count_all(TEST, Program(Bad("dies", 9), seed=3), runner=Counting(Processes(1)))
    assert caught.value.partial is not None


@pytest.mark.parametrize(("what", "timeout", "workers"), [("raises", None, 1), ("hangs", 0.3, 1)])
def test_a_failure_in_a_worker_reads_as_it_does_in_this_process(what: str, timeout: float | None, workers: int) -> None:
    messages = []
    for runner in (None, Counting(Processes(workers))):
        with pytest.raises(IncompleteError) as caught:
            count_all(TEST, Program(Bad(what, 11, 13), 3, timeout), runner=runner)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "on input 0.0 (call 1.0.11, n = 1000): " in messages[0]


def test_the_number_of_workers_changes_nothing_and_a_sampler_without_a_name_goes_by_value(serial: Tally) -> None:
    program = Program(lambda x, n, rng: uniform(x, n, rng), seed=3)
    assert count_all(TEST, program, runner=Counting(pool_of(3))) == serial


def test_a_sampler_that_cannot_be_sent_is_refused() -> None:
    lock = threading.Lock()
    with pytest.raises(ValueError, match="sampler must be one that other processes can load"):
        count_all(TEST, Program(lambda x, n, rng: lock.locked() or uniform(x, n, rng)), runner=Counting(Processes(2)))


def test_a_worker_that_cannot_load_the_sampler_says_why() -> None:
    with pytest.raises(IncompleteError, match="a worker cannot load the sampler: ImportError: no such module here"):
        count_all(TEST, Program(Unloadable()), runner=Counting(Processes(1)))


def test_who_counts_is_checked() -> None:
    assert pool_of(1, None) == ThisProcess()
    for workers in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="workers must be a whole number >= 1, got"):
            pool_of(workers, None)
    with pytest.raises(ValueError, match="workers must not be given with a scheduler"):
        pool_of(2, "tcp://127.0.0.1:1")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two worker processes; the scheduler is here, and its nannies replace a worker that is lost."""
    distributed = pytest.importorskip("distributed")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it says at length that a worker was lost
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, worker_dashboard_address=None
    ) as made:
        yield made


@pytest.mark.filterwarnings("ignore")  # of distributed's
def test_a_dask_cluster_that_loses_a_worker_gives_the_same_counts(cluster: Any, serial: Tally, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    program = Program(Bad("dies", 9, once=killed), seed=3)
    assert count_all(TEST, program, runner=Counting(Cluster(cluster.scheduler_address))) == serial
    assert killed.exists()


@pytest.mark.filterwarnings("ignore")
def test_a_failure_on_a_dask_cluster_reads_as_it_does_here(cluster: Any) -> None:
    messages = []
    for runner in (None, Counting(Cluster(cluster.scheduler_address))):
        with pytest.raises(IncompleteError) as caught:
            count_all(TEST, Program(Bad("raises", 3), seed=3), runner=runner)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    monkeypatch.setattr(dask_cluster, "_JOIN_SECONDS", 0.5)
    with pytest.raises(ValueError, match=r"scheduler 'tcp://127.0.0.1:9' cannot be reached"):
        count_all(TEST, Program(uniform), runner=Counting(Cluster("tcp://127.0.0.1:9")))
    with pytest.raises(ValueError, match=r"scheduler 'other://x' cannot be reached: unknown address scheme 'other'"):
        count_all(TEST, Program(uniform), runner=Counting(Cluster("other://x")))


SCHEDULER = """
import time
from distributed import LocalCluster
made = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp")
print(made.scheduler_address, flush=True)
time.sleep(100)
"""


@pytest.mark.filterwarnings("ignore")
def test_a_lost_scheduler_is_one_line_and_the_counts_are_gone_on_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("distributed")
    state = tmp_path / "state.json"
    words = ["audit", "tests.auditing.worker_samplers:ends_the_scheduler", "--inputs=0,1", "--epsilon=1", "--quiet"]
    words += ["--samples=1e6", f"--resume={state}"]
    ends = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "ENDS_THE_SCHEDULER": "1"}
    with subprocess.Popen([sys.executable, "-c", SCHEDULER], stdout=subprocess.PIPE, text=True, env=ends) as scheduler:
        assert scheduler.stdout is not None
        address = scheduler.stdout.readline().strip()
        assert main([*words, "--scheduler", address]) == 2
        scheduler.kill()
    said = capsys.readouterr().err
    assert said.startswith(f"ldp-audit audit: scheduler '{address}' was lost while its workers computed (before")
    assert said.endswith(f", kept in {state}); --resume {state} goes on from there\n")
    assert said.count("\n") == 1
    (first, last), *more = json.loads(state.read_text())["done"]
    assert (first, more) == (0, [])
    assert last > 0
    assert main(words) == 0
