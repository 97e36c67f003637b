"""A program as it was before its first call, asked again in processes that have never called it.

What a program remembers from call to call (a permanent answer for each value, a cache, a generator that it made once)
makes all outputs of a run depend on one draw, and no comparison within the run shows it. So the sampler is pickled
before its first call; an object that was audited before in this process, as it was before that. Where a claim would be
refuted, a new process is copied 16 times or more. Each copy loads the pickle and the program's own modules (libraries,
and modules that take long, are imported once for all), and counts the event in outputs of its own: (hits on the first
input, hits on the second). The global generators of Python, numpy and torch are seeded anew in each copy. Where all
copies count the same, as with a generator in the pickle, one is kept.

One copy is asked what this process was asked late, with the same generator. Where it answers otherwise, the program
keeps answers, or drew some when it was imported, or is another one here, whose settings were changed after the import.
That it answers as this process does is no sign of a program that remembers nothing: an answer that was drawn from the
generator, and kept, is drawn again.

Copies share the disk: where a call opens a file for reading, a database or a connection, all of them may find there
what the audited program has kept (`_opened`).

A function or class of a module is pickled by its name, so that each copy imports the module anew; what has no such name
is pickled by value, which needs cloudpickle. What an object drew when it was made, before its first audit, is a part of
it: `held` names its class.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib.util
import io
import math
import operator
import os
import pickle
import random
import re
import signal
import stat
import subprocess
import sys
import sysconfig
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from ldp_audit.auditing.adapters.sampler import DeclaredSampler, NamedSampler, Sampler
from ldp_audit.auditing.outputs import attributes
from ldp_audit.auditing.program import DEPENDENCE, Call, Program
from ldp_audit.auditing.result import Witness
from ldp_audit.numerics import instance

_FEWEST_COPIES, _FEWEST_OUTPUTS = 16, 64
"""Copies, and outputs of each on either input, at least."""
_HIDDEN, _MOST_EPSILON = 1e-3, 3.6
"""The probability that all copies of a client which remembers give true answers, where its epsilon is at most this.

A larger epsilon would need more copies than the 129 of this one, and gets as many.
"""

_SECONDS = 60.0
_MOST_BYTES = 2**26
_FIRST_COPY = 1000  # in keys, after the calls of the other look for dependence
_FORKS = sys.platform != "win32"
_ASKED = "LDP_AUDIT_ASKED_AFRESH"
"""In the environment of a copy."""
_HEAVY = {"numpy", "scipy", "torch", "tensorflow", "jax", "pandas", "sklearn", "matplotlib"}
"""Packages that a pickle may name, and that are none of the program's."""
_CODE = (".py", ".pyc", ".so", ".pyd", ".pth", ".nbi", ".nbc")
"""Modules, and the functions that numba has compiled."""
_METADATA = re.compile(r"\.(dist|egg)-info[/\\]|[/\\]EGG-INFO[/\\]")
"""In the path of what an installed distribution says of itself, such as its entry points, wherever it is installed."""
_INSTALLED = (*(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")), "built-in", "frozen")
_OF_THE_SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/")
_CLOCK = 0.1
"""Seconds by which the time of a file's last change may lag behind the clock."""
_OURS = ("ldp_audit.auditing.", "ldp_audit.mechanisms.", "ldp_audit.training.")
"""Modules of which a target of the command line, an adapter or a canary may need more than this one imports."""


class NotFreshError(Exception):
    """The program could not be asked afresh. The message says why."""


class _FailedError(Exception):
    """A copy raised an error, or died."""


class FreshCounts(NamedTuple):
    """What copies of a program, which had never been called, counted.

    hits: of the event, shape (2, copies); (2, 1) where all copies draw the same.   size: outputs, of a copy and input.
    same: whether a copy answered a late call as the program did.
    opened: files, databases and connections where a copy may have found what the program keeps from call to call.
    """

    hits: np.ndarray
    size: int
    same: bool
    opened: list[str]


class Fresh:
    """The sampler as it is now, and the process around it, to be asked later. Not kept if its pickle exceeds 64 MB.

    stateless: whether somebody states that the program keeps nothing from call to call, so that no copy is asked.
    shared: why a new process would ask the same running program; "" where it would not, or where that is stated.
    """

    def __init__(self, sampler: Sampler, *, stateless: bool = False) -> None:
        instance(stateless, bool, "stateless", "True or False")
        self._pickle, self._why, self.stateless = b"", "", stateless
        self._objects: list[tuple[Any, type]] = []
        self._own: set[str] = set()
        self.shared = sampler.shared if isinstance(sampler, DeclaredSampler) and not stateless else ""
        try:
            self._here = time.time() - _CLOCK, Path.cwd(), [*sys.path], dict(os.environ)
            self._pickle, self._objects, modules = _pickled(sampler)
            self._own = {name.partition(".")[0] for name in modules} - _HEAVY
            if isinstance(sampler, NamedSampler):
                self._own |= {*re.findall(r"\w+", sampler.name)}
        except Exception as error:  # noqa: BLE001  (a user's object may raise anything when it is pickled)
            self._why = f"it cannot be pickled, {type(error).__name__}: {error}"

    @property
    def held(self) -> str:
        """The class of an object in it, which may have drawn something before; "" without one."""
        held = (one for one, _ in self._objects if not isinstance(one, FunctionType))
        return next((type(one).__qualname__ for one in held if attributes(one)), "")

    def ended(self) -> None:
        """Keep the objects as the audit leaves them, so that the next one knows whether somebody else changed them."""
        for one, kind in self._objects:
            with suppress(Exception):  # as in `__init__`
                _KNOWN[id(one), kind].last = _dumped(one, kind, whole=True)[0]

    def counts(
        self, program: Program, witness: Witness, stage: int, epsilon: float, outputs: int, later: Call | None = None
    ) -> FreshCounts:
        """What copies count.   epsilon: of a client, at most, if the program is sound.   later: a call, made late.

        outputs: of all copies on either input, but for 64 of each at least.

        Raises NotFreshError.

        An answer that a client of this epsilon gives for ever is the true one with a probability of at most
        1/(1 + exp(-epsilon)), and copies which all answer truthfully do not show that it was given for ever.
        """
        if not self._pickle:
            raise NotFreshError(self._why)
        if _ASKED in os.environ:
            raise NotFreshError("the audit runs in a copy of a program, whose module audits it when it is imported")
        copies = math.ceil(-math.log(_HIDDEN) / 2 / math.log1p(math.exp(-min(epsilon, _MOST_EPSILON))))
        copies = max(copies, _FEWEST_COPIES)
        size = min(max(outputs // copies, _FEWEST_OUTPUTS), program.rows)
        import cloudpickle

        try:
            parts = (*self._here, self._pickle, program.of(_unknown), later, witness, stage, copies, size)
            job = cloudpickle.dumps((self._own, *parts))  # an input, or a law, may be of the user's script
        except Exception as error:
            raise NotFreshError(f"its inputs cannot be pickled, {type(error).__name__}: {error}") from error
        calls = 2 * copies * (size if witness.calls_for_one else 1)
        seconds = _SECONDS + 4 * (calls * program.seconds / max(1, program.calls) + copies * program.slowest)
        same, opened, hits = _Template.asked(job, seconds)
        return FreshCounts(np.array(hits, dtype=np.int64).T, size, same, opened)


class _Template:
    """A process that has imported this module and no program; each job is done in a copy of it. It ends with this one.

    One at most, of this process: it takes a second to start.
    """

    _lock = threading.Lock()
    _now: list[_Template] = []  # noqa: RUF012  (one for all)

    def __init__(self) -> None:
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        self._owner = os.getpid()
        self._process = subprocess.Popen(  # noqa: S603  (this module, in this interpreter)
            [sys.executable, "-m", __name__], stdin=pipe, stdout=pipe, stderr=null, start_new_session=True
        )

    @classmethod
    def asked(cls, job: bytes, seconds: float) -> tuple[bool, list[str], list[list[int]]]:
        """What it finds (see `_answered`). Raises NotFreshError, also after so many seconds."""
        with cls._lock:
            if not (cls._now and cls._now[0].is_ours()):
                cls.end_all()
                cls._now.append(cls())
            found = cls._now[0].answer(job, seconds)
            if found is None or not _FORKS:
                cls.end_all()
        if found is None:
            raise NotFreshError(f"a new process took more than {seconds:.0f} s, or died")
        if isinstance(found, str):
            raise NotFreshError(f"a new process cannot ask it: {found}")
        return found

    def is_ours(self) -> bool:
        """Whether it waits for a job of this process."""
        return self._owner == os.getpid() and self._process.poll() is None

    def answer(self, job: bytes, seconds: float) -> Any:
        """What it finds, or the text of an error; None where it took longer, or died."""
        process, own = self._process, [name for name in sys.modules if name.startswith(_OURS)]
        question = pickle.dumps((own, job))
        late = threading.Timer(seconds, self._kill)
        late.start()
        try:
            process.stdin.write(len(question).to_bytes(8, "big") + question)  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            size = process.stdout.read(8)  # type: ignore[union-attr]
            answer = process.stdout.read(int.from_bytes(size, "big"))  # type: ignore[union-attr]
            return pickle.loads(answer) if size else None  # noqa: S301  (from the process that this one started)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):
            return None
        except BaseException:  # an interruption leaves half an answer behind
            self._kill()
            raise
        finally:
            late.cancel()

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL) if _FORKS else self._process.kill()

    def end(self) -> None:
        """Let it end, unless it is another process's."""
        if self._owner == os.getpid():
            with suppress(BrokenPipeError):
                self._process.stdin.close()  # type: ignore[union-attr]
            self._process.stdout.close()  # type: ignore[union-attr]
            self._process.wait()
            with suppress(ProcessLookupError, PermissionError):  # processes that programs have left behind
                os.killpg(self._process.pid, signal.SIGKILL) if _FORKS else None

    @classmethod
    def end_all(cls) -> None:
        """Let what this process has started end."""
        while cls._now:
            cls._now.pop().end()


atexit.register(_Template.end_all)


class _Limited(io.BytesIO):
    def write(self, data: Any) -> int:
        if self.tell() + memoryview(data).nbytes > _MOST_BYTES:
            raise ValueError(f"its pickle takes more than {_MOST_BYTES >> 20} MB")
        return super().write(data)


@dataclass
class _Known:
    """An object, or a function that is pickled by value, which was audited in this process.

    first: its pickle before that.   last: when the last audit ended; None where that is not known.
    """

    reference: weakref.ref[Any]
    first: bytes
    last: bytes | None = None


_KNOWN: dict[tuple[int, type], _Known] = {}
"""By the object's identity, and by pickler."""


def _pickled(sampler: Sampler) -> tuple[bytes, list[tuple[Any, type]], set[str]]:
    """The pickle, the objects in it that may remember, and the packages in which its functions and classes are."""
    try:
        found = _dumped(sampler, pickle.Pickler)
        if b"__main__" not in found[0] and all(map(_findable, found[2])):
            return found
        unknown = [sys.modules[name] for name in found[2] if name != "__main__" and not _findable(name)]
    except (pickle.PicklingError, AttributeError, TypeError):  # a lambda, a function within another
        unknown = []
    import cloudpickle

    for module in unknown:
        cloudpickle.register_pickle_by_value(module)
    try:
        return _dumped(sampler, cloudpickle.Pickler)
    finally:
        for module in unknown:
            cloudpickle.unregister_pickle_by_value(module)


def _findable(module: str) -> bool:
    """Whether a new process finds its package; not so where pytest loaded a file by its path."""
    root = module.partition(".")[0]
    return root == "__main__" or any(finder.find_spec(root, None) is not None for finder in sys.meta_path)


def _dumped(
    sampler: Sampler, kind: type[pickle.Pickler], *, whole: bool = False
) -> tuple[bytes, list[tuple[Any, type]], set[str]]:
    outermost: list[Any] = []
    modules: set[str] = set()

    class Pickler(kind):  # type: ignore[valid-type, misc]
        instead: dict[int, bytes] | None = None  # pickles, by identity; None while the objects are looked for

        def reducer_override(self, one: Any) -> Any:
            if (anew := _reduced(one)) is not None:
                return anew
            if self.instead is None:
                modules.add(one.__module__ if isinstance(one, FunctionType | type) else type(one).__module__)
                if _may_remember(one):
                    outermost.append(one)
                    return object, ()
            elif id(one) in self.instead:
                return pickle.loads, (self.instead[id(one)],)
            return super().reducer_override(one) if kind is not pickle.Pickler else NotImplemented

    def dumped(one: Any, instead: dict[int, bytes] | None) -> bytes:
        file = _Limited()
        pickler = Pickler(file)
        pickler.instead = instead
        pickler.dump(one)
        return file.getvalue()

    if whole:
        return dumped(sampler, {}), [], modules
    looked = dumped(sampler, None)
    if not outermost:
        return looked, [], modules
    instead = {}
    for one in outermost:
        now, known = dumped(one, {}), _KNOWN.get((id(one), kind))
        if known is not None and known.last in (None, now):
            instead[id(one)] = known.first
        else:  # new, or changed by somebody since its last audit
            with suppress(TypeError):  # an object without weak references
                key = id(one), kind
                _KNOWN[key] = _Known(weakref.ref(one, lambda _, key=key: _KNOWN.pop(key, None)), now)
    return dumped(sampler, instead), [(one, kind) for one in outermost], modules


_LOCKS = type(threading.Lock()), type(threading.RLock())


def _reduced(one: Any) -> tuple[Any, ...] | None:
    """As `__reduce__` returns it, of what no pickler takes and what is made anew; else None."""
    if isinstance(one, random.SystemRandom):  # which has no state, and raises an error where it is asked for
        return type(one), ()
    if isinstance(one, _LOCKS):
        return (threading.Lock if isinstance(one, _LOCKS[0]) else threading.RLock), ()
    return _reduced_of_c(one)


_POINTER, _FUNCTION = ctypes._Pointer, ctypes._CFuncPtr  # noqa: SLF001  (bases without a public name)
_Prototype = tuple[Any, Any]
"""Of a function: types of its arguments, None where they are not declared, and of its result."""


def _reduced_of_c(one: Any) -> tuple[Any, ...] | None:
    """As `__reduce__` returns it, of a library, one of its functions, or a type of pointers or arrays; else None.

    A library is loaded anew by its file's name, with the functions' types. Pointers into its memory, and functions of
    Python's that C may call, are left to the pickler, which refuses them.
    """
    if isinstance(one, ctypes.CDLL):
        functions = {name: _prototype(f) for name, f in vars(one).items() if isinstance(f, _FUNCTION)}
        return _library, (type(one), one._name, functions)  # noqa: SLF001  (the only place where it is kept)
    if isinstance(one, _FUNCTION):
        library = (one._objects or {}).get("0")  # noqa: SLF001  (likewise)
        return (_function, (library, *_named(one))) if isinstance(library, ctypes.CDLL) else None
    return _reduced_type(one) if isinstance(one, type) else None


def _reduced_type(one: Any) -> tuple[Any, ...] | None:
    if issubclass(one, _POINTER) and one is not _POINTER:
        return ctypes.POINTER, (vars(one)["_type_"],)
    if issubclass(one, ctypes.Array) and one is not ctypes.Array:
        return operator.mul, (one._type_, one._length_)
    return None


def _named(function: Any) -> tuple[str, _Prototype]:
    return function.__name__, _prototype(function)


def _prototype(function: Any) -> _Prototype:
    return function.argtypes, function.restype


def _library(kind: type[ctypes.CDLL], name: str | None, functions: dict[str, _Prototype]) -> ctypes.CDLL:
    library = kind(name)
    for one, prototype in functions.items():
        setattr(library, one, _function(library, one, prototype))
    return library


def _function(library: ctypes.CDLL, name: str, prototype: _Prototype) -> Any:
    function = library[name]
    function.argtypes, function.restype = prototype
    return function


def _may_remember(one: Any) -> bool:
    """Whether it is an object of a class of the user's, or a function that is pickled by value."""
    if isinstance(one, FunctionType):
        return one.__module__ == "__main__" or "<locals>" in one.__qualname__
    root = type(one).__module__.partition(".")[0]
    return not (isinstance(one, type) or root in sys.stdlib_module_names or root in _HEAVY or root == "ldp_audit")


def _main() -> None:
    """In the new process: do job after job, each in a copy of it, until there are no more."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the program prints is no answer
    jobs = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what a program reads is no job
    while size := jobs.read(8):
        own, job = pickle.loads(jobs.read(int.from_bytes(size, "big")))  # noqa: S301  (from our parent)
        for name in own:  # our own modules, which remember no program, and what they import: once, not in each copy
            if name not in sys.modules:
                importlib.import_module(name)
        gc.freeze()  # no copy looks at what all of them share
        try:
            found: Any = _in_a_copy(partial(_answered, job))
        except _FailedError as error:
            found = str(error)
        answer = pickle.dumps(found)
        answers.write(len(answer).to_bytes(8, "big") + answer)
        answers.flush()


def _answered(job: bytes) -> tuple[bool, list[str], list[list[int]]]:
    """Whether a copy answers the late call as the program did, what one opens, and the counts of all."""
    own, begun, folder, path, environment, pickled, program, later, *rest = pickle.loads(job)  # noqa: S301  (ours)
    witness, stage, copies, size = rest
    sys.path[:] = path
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment, **{_ASKED: "1"})

    def first_copy() -> tuple[list[str], list[str], float]:
        changed, opened, start = [begun], list[str](), time.perf_counter()
        sys.addaudithook(partial(_opened, opened, changed))
        sampler = _loaded(pickled)
        seconds = time.perf_counter() - start
        changed[0] = -math.inf  # what is read at a call may have been kept before the audit

        def called() -> tuple[list[str], list[str]]:
            for place, x in enumerate(witness.inputs):
                program.of(sampler).outputs(x, 1, (DEPENDENCE, stage, 3, place))
            return opened, [name for name in sys.modules if _of_a_library(name) and name.split(".")[0] not in own]

        return *_in_a_copy(called), seconds

    opened, libraries, seconds = _in_a_copy(first_copy)
    for name in libraries:
        with suppress(ImportError):
            importlib.import_module(name)
    if seconds * copies > _SECONDS / 2:
        _loaded(pickled)
    same = later is not None and _in_a_copy(lambda: program.of(_loaded(pickled)).repeats(later))
    asked = [partial(_counted, pickled, program, witness, (stage, copy), size) for copy in range(copies)]
    found = [_in_a_copy(one) for one in asked]
    if _alike(found, size):
        del found[1:]
    return same, opened, found


def _loaded(pickled: bytes) -> Sampler:
    sampler: Sampler = pickle.loads(pickled)  # noqa: S301  (see `_answered`)
    if isinstance(sampler, NamedSampler):
        sampler.prepare()
    return sampler


def _of_a_library(module: str) -> bool:
    """Whether it is of Python's, of an installed package, or of ours, which draw no answers when they are imported."""
    if module.startswith("ldp_audit."):
        return True
    try:
        spec = importlib.util.find_spec(module)
    except ValueError:  # it has none, as `__main__` may
        return False
    return spec is not None and str(spec.origin).startswith(_INSTALLED)


def _opened(found: list[str], changed: list[float], event: str, args: tuple[Any, ...]) -> None:
    """An audit hook of Python's: collects what is opened and may hold what was kept since the time `changed`."""
    if event == "socket.connect":
        found.append(f"a connection to {args[1]}")
    reads = event == "open" and not (args[2] or 0) & (os.O_WRONLY | os.O_TRUNC | os.O_EXCL)
    if not (reads or event == "sqlite3.connect") or not isinstance(args[0], str | bytes | os.PathLike):
        return
    file = os.path.abspath(os.fsdecode(args[0]))  # noqa: PTH100  (a hook is called for each file of an import)
    if file.endswith(_CODE) or file.startswith((*_OF_THE_SYSTEM, *_INSTALLED)) or _METADATA.search(file):
        return
    with suppress(OSError):
        states = [os.stat(one) for one in (file, f"{file}-wal") if os.path.exists(one)]  # noqa: PTH110, PTH116
        if any(stat.S_ISREG(one.st_mode) and one.st_mtime >= changed[0] for one in states):
            found.append(file)


def _alike(counts: list[list[int]], size: int) -> bool:
    """Whether all copies drew the same, as their counts show."""
    return any(0 < column[0] < size and len({*column}) == 1 for column in zip(*counts, strict=True))


def _unknown(x: Any, n: int, rng: np.random.Generator) -> Any:
    """In the place of a sampler that has not been loaded."""
    raise NotImplementedError


def _in_a_copy(work: Callable[[], Any]) -> Any:
    """What it gives in a copy of this process; where there are none (Windows), in this one."""
    if not _FORKS:
        return work()
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            try:
                answer = pickle.dumps(work())
            except BaseException as error:  # noqa: BLE001  (said by the parent)
                answer = pickle.dumps(f"{type(error).__name__}: {error}"[:1000])
            with os.fdopen(sink, "wb") as pipe:
                pipe.write(len(answer).to_bytes(8, "big") + answer)
        finally:
            os._exit(0)
    os.close(sink)
    with os.fdopen(source, "rb") as pipe:  # whose end a process that the program started may keep open
        answer = pipe.read(int.from_bytes(pipe.read(8), "big"))
    found = pickle.loads(answer or pickle.dumps("a copy of it died"))  # noqa: S301  (from our child)
    os.waitpid(child, 0)
    if isinstance(found, str):
        raise _FailedError(found)
    return found


def _counted(pickled: bytes, program: Program, witness: Witness, key: tuple[int, int], size: int) -> list[int]:
    stage, copy = key
    random.seed(repr((program.seed, key)))
    np.random.seed(random.getrandbits(32))  # the program may use it
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(random.getrandbits(63))
    asked = program.of(_loaded(pickled))

    def asked_once(x: Any, size: int, *last: int) -> int:
        return witness.event.count(asked.outputs(x, size, (DEPENDENCE, stage, *last)))

    if witness.calls_for_one:
        places = [[(place, _FIRST_COPY + copy, call) for call in range(size)] for place in (0, 1)]
        return [sum(asked_once(x, 1, *key) for key in keys) for x, keys in zip(witness.inputs, places, strict=True)]
    return [asked_once(x, size, place, _FIRST_COPY + copy) for place, x in enumerate(witness.inputs)]


if __name__ == "__main__":
    _main()
