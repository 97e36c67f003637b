"""One pool of workers for audits and training: this process, new processes of this machine, or a Dask cluster.

A pool applies a module-level function to tasks that share data: function(shared, task, say) -> value, where `say`
reports progress. A task is requested when a worker is free, so that its size may depend on the duration of earlier
ones. A task of a lost worker is repeated, up to MAX_LOSSES attempts in all.

A worker does one task at a time, so neither a program under audit nor torch's settings need be thread-safe. Processes
are spawned: they share no state with this one, and end when it ends, in any way. A script that starts them needs `if
__name__ == "__main__":`. (concurrent.futures breaks a whole pool where one worker dies, does not say whose task it was,
and cannot end a worker that hangs.)
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import CancelledError
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection, wait
from threading import Lock, Thread
from typing import Any, NamedTuple, Protocol

from ldp_audit.numerics import whole

MAX_LOSSES = 3
"""Workers that one task may lose."""

_JOIN_SECONDS = 30.0
_LOOK_SECONDS = 5.0  # between two queries of a cluster's number of workers

Say = Callable[[Any], None]
Function = Callable[[Any, Any, Say], Any]
"""(shared, task, say) -> value: a module-level function."""

Take = Callable[[int, int], Any]
"""(workers, tasks in progress) -> the next task; None if there is none, or none yet."""


class Ended(NamedTuple):
    """A task's value, or error and text, or lost workers (`lost`, in words) with advice (`hint`)."""

    task: Any
    value: Any = None
    error: str | None = None
    lost: str = ""
    hint: str = ""


class SchedulerLostError(ConnectionError):
    """The scheduler of a cluster is gone, and with it what its workers had not delivered."""


class Pool(Protocol):
    """Where tasks are computed.   local: whether workers share this machine's files, and this process's `__main__`."""

    @property
    def local(self) -> bool:
        """See the class."""
        ...

    def run(self, function: Function, shared: Any, take: Take, heard: Say) -> Generator[Ended, None, None]:
        """Compute all tasks, and yield their ends in any order; closing the generator ends its workers."""
        ...


def pool_of(workers: int = 1, scheduler: str | None = None) -> Pool:
    """The pool of `workers` processes here (1: this one), or of a Dask scheduler's address; ValueError for both."""
    workers = whole(workers, "workers")
    if scheduler is not None:
        if workers != 1:
            raise ValueError(f"workers must not be given with a scheduler, whose workers compute, got {workers!r}")
        try:
            import_module("distributed")
        except ImportError as error:
            raise ValueError(f"scheduler needs dask.distributed: pip install '.[dask]', in a clone ({error})") from None
        return Cluster(scheduler)
    return Processes(workers) if workers > 1 else ThisProcess()


def cores() -> int:
    """The number of cores available to this process."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not available on this system
        return os.cpu_count() or 1


@dataclass(frozen=True)
class ThisProcess:
    """A `Pool` of this process alone; errors of the function propagate."""

    local: bool = True

    def run(self, function: Function, shared: Any, take: Take, heard: Say) -> Generator[Ended, None, None]:
        """See `Pool`."""
        while (task := take(1, 0)) is not None:
            yield Ended(task, function(shared, task, heard))


@dataclass(frozen=True)
class Processes:
    """A `Pool` of new processes of this machine.   workers: their largest number."""

    workers: int
    local: bool = True

    def run(self, function: Function, shared: Any, take: Take, heard: Say) -> Generator[Ended, None, None]:
        """See `Pool`."""
        crew: dict[Connection, Worker] = {}
        tasks: dict[Connection, tuple[Any, int]] = {}  # each worker's task, and the number of workers it has lost
        again: deque[tuple[Any, int]] = deque()
        try:
            while True:
                while len(tasks) < self.workers:
                    task = again.popleft() if again else (take(self.workers, len(tasks)), 0)
                    if task[0] is None:
                        break
                    idle = [connection for connection in crew if connection not in tasks]
                    worker = crew[idle[0]] if idle else Worker(_Served(function, shared))
                    crew[worker.connection] = worker
                    worker.send(task[0])
                    tasks[worker.connection] = task
                if not tasks:
                    return
                for connection in wait(list(tasks)):
                    worker = crew[connection]  # type: ignore[index]
                    message = worker.received()
                    if message is None:
                        task, losses = tasks.pop(worker.connection)
                        crew.pop(worker.connection).end()
                        if losses + 1 < MAX_LOSSES:
                            again.append((task, losses + 1))
                        else:
                            hint = "" if worker.ready else _NEVER_READY
                            yield Ended(task, lost=f"{MAX_LOSSES} worker processes died", hint=hint)
                    elif message.said:
                        heard(message.value)
                    else:
                        task, _ = tasks.pop(worker.connection)
                        yield Ended(task, message.value, message.error)
        finally:
            for worker in crew.values():
                worker.end()


class Message(NamedTuple):
    """From a worker: its task's value, or an error in words; or a progress message."""

    value: Any
    error: str | None = None
    said: bool = False


_NEVER_READY = (
    " and nothing before; does the program end its process, or does a script start workers outside "
    "`if __name__ == '__main__':`?"
)


class Worker:
    """A process that applies function(task, say) to one task after another.   ready: whether it has answered."""

    def __init__(self, function: Callable[[Any, Say], Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.ready = False
        # No daemon, as programs and pipelines may start processes of their own.
        self._process = context.Process(target=_serve, args=(theirs, function))
        self._process.start()
        theirs.close()

    @property
    def number(self) -> int:
        """The process id."""
        return self._process.pid or 0

    def send(self, task: Any) -> None:
        """Start a task."""
        with suppress(OSError):  # `received` detects a dead worker
            self.connection.send(task)

    def received(self) -> Message | None:
        """Its next message; None if it has died."""
        try:
            message: Message = self.connection.recv()
        except (EOFError, OSError):
            return None
        self.ready = True
        return message

    def end(self) -> None:
        """Terminate the process."""
        self.connection.close()
        self._process.kill()
        self._process.join()
        self._process.close()


@dataclass(frozen=True)
class _Served:
    """A pool's function with the tasks' shared data."""

    function: Function
    shared: Any

    def __call__(self, task: Any, say: Say) -> Any:
        return self.function(self.shared, task, say)


def _serve(connection: Connection, function: Callable[[Any, Say], Any]) -> None:
    """The main loop of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    Thread(target=_end_with_parent, daemon=True).start()

    def say(message: Any) -> None:
        connection.send(Message(message, said=True))

    with suppress(EOFError, OSError):  # the parent is gone
        while True:
            task = connection.recv()
            try:
                message = Message(function(task, say))
            except Exception as error:  # noqa: BLE001  (a user's program may raise anything)
                message = Message(None, f"{type(error).__name__}: {error}")
            connection.send(message)


def _end_with_parent() -> None:
    """End this process as soon as its parent has ended, also in the middle of a task, which would write files."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@dataclass(frozen=True)
class Cluster:
    """A `Pool` of a Dask scheduler's workers (dask.distributed), which must be able to import the function.

    address: such as tcp://host:8786. The scheduler replaces lost workers; workers may come and go. Progress messages
        are not transmitted.
    """

    address: str
    local: bool = False

    def run(self, function: Function, shared: Any, take: Take, heard: Say) -> Generator[Ended, None, None]:  # noqa: ARG002
        """See `Pool`."""
        from distributed import as_completed

        with _quiet_library(), closing(client_of(self.address)) as client:
            # A task, so that the scheduler can recompute it if the worker that holds it is lost.
            held = client.submit(_held, shared, pure=False)
            tasks: dict[str, Any] = {}
            workers, looked = len(client.nthreads()), time.monotonic()
            running = as_completed(loop=client.loop)

            def hand_out() -> None:
                while (task := take(workers, len(tasks))) is not None:
                    future = client.submit(_computed, function, held, task, pure=False)
                    tasks[future.key] = task
                    running.add(future)

            hand_out()
            for future in running:
                ended = _gathered(future, tasks.pop(future.key), self.address)
                if time.monotonic() - looked > _LOOK_SECONDS:
                    with suppress(OSError):  # a lost scheduler cancels the futures, which is detected there
                        workers = max(1, len(client.nthreads()))
                    looked = time.monotonic()
                yield ended
                hand_out()


def client_of(address: str) -> Any:
    """A client of the scheduler at this address, once it has a worker. Raises ValueError if there is none."""
    from distributed import Client
    from distributed.comm.addressing import get_address_host_port

    try:
        get_address_host_port(address)  # a client of what is no address is left half made, and hangs at its end
        client = Client(address, set_as_default=False, timeout=_JOIN_SECONDS)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"scheduler {address!r} cannot be reached: {error}") from None
    try:
        client.wait_for_workers(1, timeout=_JOIN_SECONDS)
    except TimeoutError:
        client.close()
        raise ValueError(f"scheduler {address!r} has no workers after {_JOIN_SECONDS:g} s") from None
    return client


def _held(shared: Any) -> Any:
    return shared


@contextmanager
def _quiet_library() -> Iterator[None]:
    """Without the tracebacks that Dask's client logs when it loses its scheduler."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


_ONE_AT_A_TIME = Lock()


def _computed(function: Function, shared: Any, task: Any) -> Any:
    """Run on a worker of the cluster, which may have several threads."""
    with _ONE_AT_A_TIME:
        return function(shared, task, lambda _: None)


def _gathered(future: Any, task: Any, address: str) -> Ended:
    """The end of the task, with an error if the cluster could not compute it. Raises SchedulerLostError."""
    from distributed import KilledWorker

    try:
        return Ended(task, future.result())
    except CancelledError:  # by nobody here
        raise SchedulerLostError(f"scheduler {address!r} was lost while its workers computed") from None
    except KilledWorker:
        return Ended(task, lost=f"{MAX_LOSSES} workers of the cluster died")
    except Exception as error:  # noqa: BLE001  (whatever the cluster or the program raised)
        return Ended(task, error=f"{type(error).__name__}: {error}")
