"""The runs, spends and audits of a sweep: computed in this process or by a pool of workers, and stored.

A run's numbers depend on its settings, its seed and the number of threads, not on the worker. The output folder keeps
finished runs and the state of each after its last round: an interrupted sweep continues from there, another worker
continues a run whose worker was lost, and a finished run can be extended.

A checkpoint file is a header line, a digest, and the output of torch.save. The digest detects damage, which torch.load
does not look for; torch.load reads the rest with weights_only=True, which builds tensors, numbers, texts, lists and
dicts and runs no code.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import torch

from ldp_audit.checkpoint import DAMAGE, Checkpoint, damaged
from ldp_audit.checkpoint import plain as as_json
from ldp_audit.files import write_whole
from ldp_audit.numerics import whole
from ldp_audit.training.canary import audit_run
from ldp_audit.training.device import described, device_of, repeatable
from ldp_audit.training.mapped_data import MappedData
from ldp_audit.training.pipeline import Paced, is_extendable, plan_class
from ldp_audit.training.results import tool
from ldp_audit.training.spend import protocol_spend
from ldp_audit.training.sweep import Job, plain_settings
from ldp_audit.workers import Pool

if TYPE_CHECKING:
    from ldp_audit.accounting.protocols.protocol import Protocol as SpendingProtocol
    from ldp_audit.training.datasets import Images, Table
    from ldp_audit.training.pipeline import Plan, Run


KIND = "training-state"
HEAD = b"ldp-audit training-state\n"
_DIGEST = 32  # bytes

Advance = Callable[[float, int, float | None], None]
"""Called during and after each round with the rounds done so far, such as 2.4, their number in all, and the accuracy as
last measured; at the beginning with (0, 0, None)."""


def train(
    pipeline: str,
    plan: Plan,
    data: Images | Table,
    *,
    seed: int,
    device: torch.device,
    threads: int = 1,
    evaluate_every: int = 1,
    keep: Path | None = None,
    progress: Advance | None = None,
) -> dict[str, Any]:
    """Train a whole run and return its record: settings, seed, rounds, seconds, device; JSON-ready.

    evaluate_every: see `pipeline.Paced`; other runs are evaluated in every round.
    keep: the checkpoint file, written after each round. A run that it holds is continued, also one of fewer rounds if
        the plan is `Extendable`.
    Raises ValueError if the data do not fit the plan, or the file is damaged or another run's.
    """
    identity, tell = identity_of(pipeline, plan, data, seed, device, threads), progress or (lambda *_: None)
    with repeatable(device, threads) as warned:
        tell(0.0, 0, None)
        run, accuracy = plan.start(data, seed=seed, device=device), None
        if isinstance(run, Paced):
            run.evaluate_every = evaluate_every
        rounds, seconds, before = _restored(run, keep, identity, extendable=is_extendable(plan))
        start = time.perf_counter()
        tell(float(len(rounds)), run.rounds, accuracy)
        for number in range(len(rounds) + 1, run.rounds + 1):
            if isinstance(run, Paced):
                run.within = partial(_within, tell, number, run.rounds, accuracy)
            evaluated = not isinstance(run, Paced) or run.evaluates(number)
            record = checked_record(run.advance(number), number, evaluated=evaluated)
            rounds.append({"round": number, **record})
            accuracy = record.get("accuracy", accuracy)
            if keep is not None:
                keep.parent.mkdir(parents=True, exist_ok=True)
                parts = {
                    "rounds": rounds,
                    "seconds": seconds + time.perf_counter() - start,
                    "not_repeatable": list(dict.fromkeys([*before, *warned])),
                    "state": run.state(),
                }
                checkpoint_of(keep, identity).write(parts, durable=False)
            tell(float(number), run.rounds, accuracy)
        seconds += time.perf_counter() - start
    not_repeatable = list(dict.fromkeys([*before, *warned]))
    return {
        "settings": identity["settings"],
        "seed": seed,
        "rounds": rounds,
        "seconds": seconds,
        "device": {**identity["device"], **({"not_repeatable": not_repeatable} if not_repeatable else {})},
    }


def _within(tell: Advance, number: int, rounds: int, accuracy: float | None, share: float) -> None:
    tell(number - 1 + min(share, 0.99), rounds, accuracy)


def identity_of(
    pipeline: str, plan: Plan, data: Images | Table, seed: int, device: torch.device, threads: int
) -> dict[str, Any]:
    """Everything on which the run's numbers depend."""
    return {
        "pipeline": pipeline,
        "settings": plain_settings(dataclasses.asdict(plan)),  # type: ignore[call-overload]  (a Plan is a dataclass)
        "seed": seed,
        "data": {**data.describe(), "digest": digest(data)},
        "device": described(device, threads),
    }


def digest(data: Images | Table) -> str:
    """Digest of a data set's arrays, 16 hexadecimal digits."""
    found = hashlib.blake2b(digest_size=8)
    for one in dataclasses.fields(data):
        value = getattr(data, one.name)
        if isinstance(value, np.ndarray):
            found.update(f"{one.name} {value.dtype} {value.shape}".encode())
            found.update(np.ascontiguousarray(value).data)
    return found.hexdigest()


def checked_record(record: Any, number: int, *, evaluated: bool = True) -> dict[str, Any]:
    """The record after a round trip through JSON.

    evaluated: whether it must have an accuracy. ValueError if it is not JSON-ready, or its accuracy not in [0, 1].
    """
    try:
        plain = as_json(record)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the record of round {number} must be JSON-ready, without NaN: {error}") from None
    if not _has_accuracy(plain, evaluated=evaluated):
        got = plain.get("accuracy") if isinstance(plain, dict) else None
        raise ValueError(f"the record of round {number} must have an accuracy in [0, 1], got {got!r}")
    return plain


def _has_accuracy(record: Any, *, evaluated: bool) -> bool:
    """Whether the record has an accuracy in [0, 1], or, of a round without evaluation, none."""
    if not isinstance(record, dict) or "accuracy" not in record:
        return isinstance(record, dict) and not evaluated
    accuracy = record["accuracy"]
    return isinstance(accuracy, int | float) and not isinstance(accuracy, bool) and 0 <= accuracy <= 1


def checkpoint_of(path: Path, identity: Mapping[str, Any], free: frozenset[str] = frozenset()) -> Checkpoint:
    """The checkpoint of a run: its records so far, the seconds that they took, and the run's state."""
    return Checkpoint(path, KIND, "the state of a training run", "is of another run", identity, read, packed, free)


def packed(document: Mapping[str, Any]) -> bytes:
    """The file's content. Raises ValueError for a state that could not be read back."""
    content = io.BytesIO()
    torch.save(checked_state(document, ""), content)  # in memory: torch reports a full disk as a RuntimeError
    return sealed(content.getvalue())


def sealed(content: bytes) -> bytes:
    """The content after the header and its digest."""
    return HEAD + hashlib.blake2b(content, digest_size=_DIGEST).digest() + content


def read(path: Path) -> Any:
    """The content of a checkpoint file with a valid digest. ValueError for any other file."""
    content = path.read_bytes()
    body = content[len(HEAD) + _DIGEST :]
    if not content.startswith(HEAD) or sealed(body) != content:
        raise ValueError(f"{path} is not the state of a training run, or is damaged; delete it to begin anew")
    try:
        return torch.load(io.BytesIO(body), map_location="cpu", weights_only=True)
    except Exception as error:  # noqa: BLE001  (torch raises many kinds of errors for files that it cannot read)
        reason = str(error).partition("\n")[0][:120]
        raise ValueError(f"{path} is not the state of a training run, or is damaged: {reason}") from None


def checked_state(value: Any, place: str) -> Any:
    """The value, if torch.load(weights_only=True) can read it back; otherwise ValueError that names the place."""
    if isinstance(value, torch.Tensor):
        if value.device.type != "cpu" or value.requires_grad:
            raise ValueError(f"{place} must be a CPU tensor without gradient, got one on {value.device}")
        # torch.save writes the whole storage of a view.
        return value.clone() if value.untyped_storage().nbytes() > value.nbytes else value
    if value is None or type(value) in (bool, int, float, str):  # numpy's scalars are excluded
        return value
    if isinstance(value, Mapping) and all(type(key) in (str, int) for key in value):
        return {key: checked_state(part, f"{place}[{key!r}]" if place else key) for key, part in value.items()}
    if type(value) in (list, tuple):
        parts = [checked_state(part, f"{place}[{i}]") for i, part in enumerate(value)]
        return tuple(parts) if isinstance(value, tuple) else parts
    raise ValueError(
        f"{place} must be made of CPU tensors, numbers, texts, lists and dicts, got {type(value).__name__}"
    )


def check_rounds(rounds: Any, last: int) -> None:
    """Raise ValueError unless these are the records of rounds 1, 2, ..., the last one with an accuracy."""
    if not isinstance(rounds, list):
        raise ValueError(f"rounds must be a list, got {type(rounds).__name__}")
    for number, record in enumerate(rounds, start=1):
        if not _has_accuracy(record, evaluated=number == last) or record.get("round") != number:
            raise ValueError(f"the record of round {number} must have its number and an accuracy, got {record!r:.80}")


def _restored(
    run: Run, keep: Path | None, identity: dict[str, Any], *, extendable: bool
) -> tuple[list[dict[str, Any]], float, list[str]]:
    """Restore the run from its checkpoint.

    Returns the records of the rounds so far, the seconds that they took, and their operations without a deterministic
    algorithm.
    """
    free = frozenset({"settings.rounds"} if extendable else ())
    held = None if keep is None else checkpoint_of(keep, identity, free).held("rounds", "seconds", "state")
    if keep is None or held is None:
        return [], 0.0, []
    try:
        rounds, seconds = held["rounds"], float(held["seconds"])
        names = [str(name) for name in held.get("not_repeatable", [])]  # earlier versions did not write them
        check_rounds(rounds, run.rounds)
        if len(rounds) > run.rounds:
            raise ValueError(f"it holds {len(rounds)} rounds of {run.rounds}")
        if not (isinstance(held["state"], dict) and 0 <= seconds < math.inf):
            raise ValueError(f"seconds {seconds!r} or the state is none")
        run.restore(held["state"])
    except DAMAGE as error:
        raise damaged(keep, error) from None
    if isinstance(run, Paced) and 0 < len(rounds) < run.rounds:
        rounds[-1] = run.interim(rounds[-1])
    return rounds, seconds, names


@dataclass(frozen=True)
class Work:
    """What all runs of a sweep share, as it is sent to the workers.

    pipeline: its name.   data: the data set, or a `MappedData` of it.   device: its name, which each worker resolves.
    threads: of torch, for each run.   data_digest: of the data set.   evaluate_every: see `train`.
    """

    pipeline: str
    data: Any
    device: str
    threads: int
    data_digest: str
    evaluate_every: int = 1

    @staticmethod
    def of(pipeline: str, data: Any, device: str, threads: int, evaluate_every: int = 1) -> Work:
        """The work on a data set. ValueError for a bad number of threads, or period of the evaluation."""
        whole(threads, "threads", 1)
        whole(evaluate_every, "evaluate_every", 1)
        return Work(pipeline, data, device, threads, digest(data), evaluate_every)


@dataclass(frozen=True)
class WorkerMessage:
    """A worker's message: during a run, at its end with the record, or with an error.

    number: the task's.   done, rounds, accuracy: see `Advance`.   bad_input: whether the error is a ValueError.
    """

    number: int
    done: float = 0.0
    rounds: int = 0
    accuracy: float | None = None
    record: dict[str, Any] | None = None
    error: str | None = None
    bad_input: bool = False


class Computed(ABC):
    """A result of a sweep that a pool computes and a folder stores."""

    @abstractmethod
    def file(self, work: Work) -> str:
        """The name of its files: a digest of everything on which its numbers depend."""

    @abstractmethod
    def record(self, work: Work, keep: Path | None, after: Advance) -> dict[str, Any]:
        """The finished record.   keep: the checkpoint file, if it has one.   after: called during the run."""

    @abstractmethod
    def check(self, record: Any) -> None:
        """Raise one of `checkpoint.DAMAGE` for a record of another kind."""


@dataclass(frozen=True)
class Training(Computed):
    """One training run."""

    job: Job

    def __str__(self) -> str:
        return str(self.job)

    def file(self, work: Work) -> str:
        """See `Computed`."""
        return f"run-{_run_digest(work, self.job)}"

    def record(self, work: Work, keep: Path | None, after: Advance) -> dict[str, Any]:
        """See `Computed`."""
        plan, device = plan_class(work.pipeline)(**self.job.settings), device_of(work.device)
        how: dict[str, Any] = {"device": device, "threads": work.threads, "evaluate_every": work.evaluate_every}
        return train(work.pipeline, plan, data_of(work), seed=self.job.seed, **how, keep=keep, progress=after)

    def check(self, record: Any) -> None:
        """See `Computed`."""
        if record["settings"] != as_json(plain_settings(self.job.settings)) or record["seed"] != self.job.seed:
            raise ValueError("it is of other settings, or of another seed")
        if not record["rounds"] or not isinstance(record["device"], dict) or not 0 <= record["seconds"] < math.inf:
            raise ValueError("it has no rounds, seconds or device")
        check_rounds(record["rounds"], len(record["rounds"]))


@dataclass(frozen=True)
class Spending(Computed):
    """The account of a protocol, which may take as long as a run."""

    protocol: SpendingProtocol

    def __str__(self) -> str:
        return f"spend of {self.protocol.name}"

    def file(self, work: Work) -> str:  # noqa: ARG002
        """See `Computed`."""
        return f"spend-{_digest_of([repr(self.protocol)])}"

    def record(self, work: Work, keep: Path | None, after: Advance) -> dict[str, Any]:  # noqa: ARG002
        """See `Computed`."""
        return protocol_spend(self.protocol)

    def check(self, record: Any) -> None:
        """See `Computed`."""
        if not isinstance(record, dict) or "seconds" not in record:
            raise ValueError("it must hold seconds")


@dataclass(frozen=True)
class Canaries(Computed):
    """The audit of a run by its canaries."""

    job: Job

    def __str__(self) -> str:
        return f"audit of {self.job}"

    def file(self, work: Work) -> str:
        """See `Computed`."""
        return f"audit-{_run_digest(work, self.job)}"

    def record(self, work: Work, keep: Path | None, after: Advance) -> dict[str, Any]:  # noqa: ARG002
        """See `Computed`."""
        plan, device = plan_class(work.pipeline)(**self.job.settings), device_of(work.device)
        with repeatable(device, work.threads):
            return audit_run(plan, data_of(work), self.job.seed, device=device)

    def check(self, record: Any) -> None:
        """See `Computed`."""
        if not isinstance(record, dict) or "verdict" not in record:
            raise ValueError("it must hold verdict")


class Task(NamedTuple):
    """A result to compute, its number, and its checkpoint file."""

    number: int
    what: Computed
    keep: Path | None = None


Say = Callable[[WorkerMessage], None]


def ends_of(work: Work, tasks: Sequence[Task], pool: Pool, say: Say) -> Generator[WorkerMessage, None, None]:
    """The final events of these tasks, in any order; `say` receives the rounds if the pool reports them.

    A cluster's workers keep no checkpoints: a run that is lost there starts again.
    """
    if not tasks:
        return
    waiting = iter(tasks if pool.local else [task._replace(keep=None) for task in tasks])
    ends = pool.run(computed, work, lambda *_: next(waiting, None), say)
    try:
        for task, event, error, lost, hint in ends:
            if lost:
                error = f"{lost} while they computed a run ({task.what}){hint}"
            elif error is not None:
                error = f"{error} ({task.what})"
            yield event if error is None else WorkerMessage(task.number, error=error)
    finally:
        ends.close()


def spread(
    work: Work,
    whats: Sequence[Computed],
    pool: Pool,
    *,
    folder: Path | None = None,
    progress: Callable[[WorkerMessage, int], None] | None = None,
) -> list[dict[str, Any]]:
    """The records of runs, accounts or audits, in their order.

    folder: where finished records are looked up and stored.   progress: called with each event and the number of
        finished records. A stored record that is damaged is named in a RuntimeWarning, and made again.
    Raises ValueError for bad input to a run and RuntimeError for other failures, naming the run.
    """
    files = [None if folder is None else stored(folder, what, work) for what in whats]
    records: list[dict[str, Any] | None] = []
    for what, file in zip(whats, files, strict=True):
        try:
            records.append(None if file is None or not file.exists() else read_record(file, what))
        except ValueError as error:
            records.append(None)
            warnings.warn(str(error), RuntimeWarning, stacklevel=2)
    pending = [
        Task(number, what, None if file is None else file.with_suffix(".state"))
        for number, (what, file, record) in enumerate(zip(whats, files, records, strict=True))
        if record is None
    ]
    finished = len(whats) - len(pending)

    def say(event: WorkerMessage) -> None:
        if progress is not None:
            progress(event, finished)

    events = ends_of(work, pending, pool, say)
    try:
        for event in events:
            if event.record is None:
                raise (ValueError if event.bad_input else RuntimeError)(event.error)
            records[event.number] = event.record
            finished += 1
            if (file := files[event.number]) is not None:
                write_record(file, event.record)
            say(event)
    finally:
        events.close()
    return [record for record in records if record is not None]


def undamaged(file: Path, what: Computed) -> dict[str, Any] | None:
    """The finished record that the file holds; None where there is no file, or a damaged one."""
    try:
        return read_record(file, what) if file.exists() else None
    except ValueError:
        return None


def stored(folder: Path, what: Computed, work: Work) -> Path:
    """The file of the finished record."""
    return folder / f"{what.file(work)}.json"


def computed(work: Work, task: Task, say: Say) -> WorkerMessage:
    """Compute a task in this process and return its final event; `say` receives its rounds."""

    def after(done: float, rounds: int, accuracy: float | None) -> None:
        say(WorkerMessage(task.number, done, rounds, accuracy))

    try:
        return WorkerMessage(task.number, record=task.what.record(work, task.keep, after))
    except (ValueError, OSError) as error:  # a full disk is no defect of the pipeline either
        return WorkerMessage(task.number, error=str(error), bad_input=True)


def _run_digest(work: Work, job: Job) -> str:
    settings = plain_settings(job.settings)
    return _digest_of([work.pipeline, settings, job.seed, work.data_digest, work.device, work.threads])


def _digest_of(parts: Sequence[Any]) -> str:
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=8).hexdigest()


def data_of(work: Work) -> Any:
    """The data set."""
    return work.data.load() if isinstance(work.data, MappedData) else work.data


def read_record(file: Path, what: Computed) -> dict[str, Any]:
    """A stored record. ValueError, with the file's name, if it is damaged or another's."""
    try:
        text = file.read_text(encoding="utf-8")
        document = json.loads(text, parse_constant=_refused)
        record = document["record"]
        if text != _record_text(record, document["tool"]):
            raise ValueError("its digest is not that of what it holds")
        what.check(record)
    except DAMAGE as error:
        raise damaged(file, error, "it is made again") from None
    return record


def write_record(file: Path, record: Mapping[str, Any]) -> None:
    """Store a finished record atomically, with its digest and what made it; its checkpoint stays, to be extended."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole({file: _record_text(record, tool())})


def _record_text(record: Any, made_by: Any) -> str:
    """All of the file: who reads it writes it again, so that no byte may be another one."""
    return json.dumps({"digest": _digest_of([record, made_by]), "tool": made_by, "record": record}, allow_nan=False)


def _refused(name: str) -> NoReturn:
    raise ValueError(f"it holds {name}, which JSON does not have")
