"""The runs of a sweep are the same whoever computes them, also where workers are lost on the way."""

from __future__ import annotations

import json
import logging
import pickle
import random
import re
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ldp_audit import workers as dask_cluster
from ldp_audit.training.experiment import run_experiment
from ldp_audit.training.mapped_data import MappedData
from ldp_audit.training.runs import Spending, Task, Training, Work, WorkerMessage, digest, ends_of, spread
from ldp_audit.training.sweep import Sweep, jobs_of
from ldp_audit.workers import Cluster, Ended, Processes, pool_of
from tests.training.ldp_fl.small import images
from tests.training.toy import Toy, points

Records = list[dict[str, Any]]

WORK = Work.of("tests.training.toy:Toy", points(), "cpu", 1)
JOBS = [Training(job) for job in jobs_of(Toy, [Sweep({}, {"epsilon": (0.1, 1.0)}, repeats=2)], seed=0)]


def plain(records: Records) -> Records:
    """Without the seconds, which are never the same."""
    return [{name: value for name, value in one.items() if name != "seconds"} for one in records]


@pytest.fixture(scope="module")
def serial() -> Records:
    return plain(spread(WORK, JOBS, pool_of()))


def failing(what: str, **others: Any) -> list[Training]:
    return [Training(job) for job in jobs_of(Toy, [Sweep({"fails": what, **others})], seed=0)]


def test_a_process_gives_the_records_of_this_one_and_says_what_goes_wrong(serial: Records, tmp_path: Path) -> None:
    """One run kills its process once, in its second round: another process goes on from its checkpoint."""
    mark = tmp_path / "mark"
    jobs = [*JOBS, *failing("dies once", mark=str(mark)), *failing("raises"), *failing("refuses")]
    tasks = [Task(number, job, tmp_path / f"{number}.state") for number, job in enumerate(jobs)]
    heard: list[WorkerMessage] = []
    ends = {event.number: event for event in ends_of(WORK, tasks, Processes(1), heard.append)}
    assert mark.exists()
    assert plain([ends[number].record for number in range(4)]) == serial
    done = [event.done for event in heard if event.number == 4 and event.rounds]
    assert done == [0, 1, 1, 2, 3], "another process begins after the first round"
    again = spread(WORK, JOBS[2:3], pool_of())[0]
    assert ends[4].record["rounds"] == again["rounds"], "the settings differ in the mark alone"
    assert re.match(r"KeyError: 'no such thing' \(epsilon 1.0, rounds 3, .*fails raises.*; seed \d+\)$", ends[5].error)
    assert (ends[6].error, ends[6].bad_input) == ("the data do not fit", True)


def test_runs_that_are_kept_are_not_computed_again(serial: Records, tmp_path: Path) -> None:
    spread(WORK, JOBS[:3], pool_of(), folder=tmp_path)
    heard: list[WorkerMessage] = []
    assert (
        plain(spread(WORK, JOBS, pool_of(), folder=tmp_path, progress=lambda event, _: heard.append(event))) == serial
    )
    assert {event.number for event in heard} == {3}
    (tmp_path / f"{JOBS[0].file(WORK)}.json").write_text("{half")
    with pytest.warns(RuntimeWarning, match=r"run-\w{16}.json is damaged: .*; it is made again$"):
        assert plain(spread(WORK, JOBS, pool_of(), folder=tmp_path)) == serial


@pytest.mark.parametrize("flips", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_no_flipped_bit_in_what_a_resumed_sweep_reads_is_taken(flips: int, tmp_path: Path) -> None:
    """In runs, spends and states: each is made again to the same, or refused by the name of its file."""
    settings: dict[str, Any] = {"n": 6, "rounds": 2, "batch_size": 5, "model": "softmax"}

    def swept(folder: Path, *, resume: bool) -> dict[str, Any]:
        return run_experiment(
            "ldp-fl",
            [Sweep(settings, {"epsilon": (0.5, 2.0)})],
            images(),
            device="cpu",
            workers=1,
            folder=folder,
            resume=resume,
        )

    def shown(document: dict[str, Any]) -> list[Records]:
        return [plain(document[name]) for name in ("runs", "spend")]

    whole = tmp_path / "whole"
    expected = shown(swept(whole, resume=False))
    dice = random.Random(7)
    for flip in range(flips):
        folder = tmp_path / "flipped"
        shutil.copytree(whole, folder)
        file = dice.choice(sorted((folder / "runs").glob("*" if flip % 4 else "*.json")))
        content = bytearray(file.read_bytes())
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        file.write_bytes(content)
        if file.suffix == ".state":  # which is read where the run is not finished
            file.with_suffix(".json").unlink()
            with pytest.raises(ValueError, match=re.escape(str(file))):
                swept(folder, resume=True)
        else:
            with pytest.warns(RuntimeWarning, match=f"{re.escape(str(file))} is damaged"):
                assert shown(swept(folder, resume=True)) == expected
        shutil.rmtree(folder)


def test_a_files_name_follows_from_all_that_its_numbers_depend_on() -> None:
    works = [WORK, Work.of("other:Toy", points(), "cpu", 1), Work.of("tests.training.toy:Toy", points(n=50), "cpu", 1)]
    works += [
        Work.of("tests.training.toy:Toy", points(), "cuda", 1),
        Work.of("tests.training.toy:Toy", points(), "cpu", 2),
    ]
    names = {job.file(work) for work in works for job in JOBS}
    assert len(names) == len(works) * len(JOBS)


def test_what_goes_wrong_is_said_and_finished_runs_are_kept(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^the data do not fit$"):
        spread(WORK, [*JOBS[:1], *failing("refuses")], pool_of(), folder=tmp_path)
    assert (tmp_path / f"{JOBS[0].file(WORK)}.json").exists()


def test_an_error_of_a_task_is_raised() -> None:
    for bad_input, kind in ((False, RuntimeError), (True, ValueError)):
        with pytest.raises(kind, match=r"^what went wrong$"):
            spread(WORK, JOBS[:1], _Saying(WorkerMessage(0, error="what went wrong", bad_input=bad_input)))


@dataclass(frozen=True)
class _Saying:
    """A pool whose one task ends so."""

    event: WorkerMessage
    local: bool = True

    def run(self, function: Any, shared: Any, take: Any, heard: Any) -> Generator[Ended, None, None]:
        yield Ended(take(1, 0), self.event)


@pytest.mark.slow
def test_a_run_that_always_ends_its_process_is_given_up_after_three(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"3 worker processes died while they computed a run \(.*fails dies.*\)$"):
        spread(WORK, failing("dies", mark=str(tmp_path / "mark")), Processes(1))


def test_what_a_protocol_spends_is_computed_and_kept_like_a_run(tmp_path: Path) -> None:
    protocol = Toy().start(points(), seed=0, device="cpu").protocol()
    (spent,) = spread(WORK, [Spending(protocol)], pool_of(), folder=tmp_path)
    assert spent["everything"]["pure"] == pytest.approx(9.0)
    (file,) = tmp_path.iterdir()
    assert json.loads(file.read_text())["record"] == spent
    assert file.name.startswith("spend-")


def test_who_computes_is_checked() -> None:
    for workers in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="workers must be a whole number >= 1, got"):
            pool_of(workers)
    with pytest.raises(ValueError, match="workers must not be given with a scheduler"):
        pool_of(2, "tcp://127.0.0.1:1")


@contextmanager
def cluster(**how: Any) -> Iterator[Any]:
    """A Dask cluster of one worker; the scheduler is here."""
    distributed = pytest.importorskip("distributed")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it says at length that a worker was lost
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, dashboard_address=None, worker_dashboard_address=None, **how
    ) as made:
        yield made


@pytest.mark.filterwarnings("ignore")  # of distributed's
def test_a_dask_cluster_gives_the_same_records(serial: Records) -> None:
    with cluster(processes=False, protocol="tcp://") as made:
        assert plain(spread(WORK, JOBS, Cluster(made.scheduler_address))) == serial
        with pytest.raises(ValueError, match=r"^the data do not fit$"):
            spread(WORK, failing("refuses"), Cluster(made.scheduler_address))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_that_loses_a_worker_does_its_run_again(serial: Records, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with cluster() as made:
        done = spread(WORK, [*JOBS, *failing("dies once", mark=str(mark))], Cluster(made.scheduler_address))
        assert mark.exists()
        assert plain(done[:-1]) == serial
        with pytest.raises(
            RuntimeError, match=r"3 workers of the cluster died while they computed a run \(.*fails dies"
        ):
            spread(WORK, failing("dies", mark=str(mark)), Cluster(made.scheduler_address))


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    monkeypatch.setattr(dask_cluster, "_JOIN_SECONDS", 0.5)
    with pytest.raises(ValueError, match=r"scheduler 'tcp://127.0.0.1:9' cannot be reached"):
        spread(WORK, JOBS, Cluster("tcp://127.0.0.1:9"))


def test_data_that_processes_map_are_the_data_and_a_writer_changes_its_own_copy(tmp_path: Path) -> None:
    """Would catch arrays that begin elsewhere in the file, and a process that trains on what another has changed."""
    data = points()
    mapped = pickle.loads(pickle.dumps(MappedData.of(data, tmp_path / "data")))
    found = mapped.load()
    assert digest(found) == digest(data)
    assert found.describe() == data.describe()
    before = mapped.path.read_bytes()
    assert len(mapped.head) < 1000 < data.x.nbytes < len(before)
    found.x[:] = 0
    assert mapped.path.read_bytes() == before
