"""A program in any language, as a sampler: requests go in as lines of JSON, outputs come out as lines.

A request is one line, {"x": INPUT, "n": COUNT, "seed": SEED}. Its answer is exactly COUNT lines on standard output, one
output each: a JSON value; or else a number as Python reads it (.5, inf); or else text. A value that recurs in another
spelling, such as 1 and "1 ", 0.0 and -0.0, or a line that ends in CR LF and one that ends in LF, is refused, since
whoever reads the lines may tell them apart. One process answers request after request until its standard input ends,
and flushes its output after each answer.

A command with {x} among its words is started anew instead, with the input in that place (text as it is, all else as
JSON), and prints its outputs: as many as stand where {n} is, or, without {n}, one. {seed} is a seed. No shell reads the
words. A request asks for at most MOST outputs; a seed is below 2**31, which every language can take.

A process that is fed belongs to one sampler, and ends with it: on `close`, when the sampler is collected, at the exit
of this process, and when this process is killed, since a guard beside it waits for that. Needs a POSIX system.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.adapted_sampler import flattened
from ldp_audit.auditing.adapters.sampler import NamedSampler, ProgramError
from ldp_audit.auditing.scores.score import cut
from ldp_audit.numerics import between, listed

MOST = 4096
"""Outputs of a request, at most."""
MOST_BYTES = 2**28
"""Of an answer: a program that prints without end is stopped there."""

_GRACE_SECONDS = 1.0  # between the end of a program's input and its being killed
_READ = 2**16  # bytes at a time
_TAIL = 300  # bytes of what was asked, and of what was printed, in a message
_LONGEST_NUMBER = 40
_PLACES = re.compile(r"\{(x|n|seed)\}")


def from_command(command: str | Sequence[str], *, timeout: float = 60.0) -> CommandSampler:
    """A sampler that asks a program for its outputs; the module's documentation has the protocol.

        from_command("./client")            # one process, which is fed requests
        from_command("./client --value={x} --seed {seed} --count {n}")

    command: the program and its arguments, as a list or as text that is split as a shell would. It is never run by a
       shell.   timeout: seconds that one request may take.
    Raises ValueError where there is no such program. A program that ends, prints too few or too many lines, or takes
    too long is a ProgramError with the request, and the end of what it printed.
    """
    try:
        words = shlex.split(command) if isinstance(command, str) else listed(command, "command", "words")
    except ValueError as error:  # an open quotation
        raise ValueError(f"command must be a program and its arguments, got {command!r:.200}: {error}") from None
    if not words or not all(isinstance(word, str) for word in words):
        raise ValueError(f"command must be a program and its arguments, as text, got {command!r:.200}")
    if shutil.which(words[0]) is None:
        raise ValueError(f"command {words[0]!r:.200} is no program that can be run from here")
    sampler = CommandSampler(tuple(words), checked_timeout(timeout))
    if (sampler.takes("n") or sampler.takes("seed")) and not sampler.takes("x"):
        raise ValueError(f"command must have {{x}} where it has {{n}} or {{seed}}, got {shlex.join(words):.200}")
    return sampler


def checked_timeout(timeout: float) -> float:
    """The timeout, a number of seconds; or ValueError."""
    return between(timeout, "timeout", "a number of seconds above 0", lambda one: 0 < one < 1e9)


@dataclass(frozen=True)
class CommandSampler(NamedSampler):
    """See `from_command`. Each process that unpickles it starts a program of its own."""

    command: tuple[str, ...]
    timeout: float = 60.0
    _fed: list[_Process] = field(default_factory=list, init=False, repr=False, compare=False)
    _spelled: dict[Any, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __reduce__(self) -> Any:
        return type(self), (self.command, self.timeout)

    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> list[Any]:
        """n outputs on input x."""
        at_once = MOST if not self.takes("x") or self.takes("n") else 1
        lines = [line for one in requests(x, n, rng, at_once) for line in self._answered(one)]
        values = [_value(line.removesuffix("\r")) for line in lines]
        refuse_other_spellings(self._spelled, zip(values, lines, strict=True), shlex.join(self.command))
        return [flattened(value) for value in values]

    @property
    def name(self) -> str:
        """See `NamedSampler`."""
        return f"command: {shlex.join(self.command)}"

    @property
    def source(self) -> Path | None:
        """See `NamedSampler`: the last word that names a file, such as client.js of `node client.js`."""
        return next((Path(word) for word in reversed(self.command) if Path(word).is_file()), None)

    @property
    def repeatable(self) -> bool:
        """See `NamedSampler`; a program that is fed is trusted to use the seed of its requests."""
        return not self.takes("x") or self.takes("seed")

    def prepare(self) -> None:
        """See `NamedSampler`."""
        if not self.takes("x"):
            self._process()

    def close(self) -> None:
        """End the program. It is started again when it is needed."""
        while self._fed:
            self._fed.pop().end()

    def takes(self, place: str) -> bool:
        """Whether {x}, {n} or {seed} is in a word."""
        return any(f"{{{place}}}" in word for word in self.command)

    def _process(self) -> _Process:
        if not self._fed or self._fed[0].owner != os.getpid():
            self._fed.clear()
            self._fed.append(_Process(self.command, fed=True))
        return self._fed[0]

    def _answered(self, request: dict[str, Any]) -> list[str]:
        line, words = json_of(request), self.command
        fed = not self.takes("x")
        if not fed:
            words = [_PLACES.sub(lambda place: _argument(request[place[1]]), word) for word in words]
        process, whole = self._process() if fed else _Process(words, fed=False), False
        try:
            lines = process.answer(f"{line}\n".encode() if fed else b"", request["n"], self.timeout)
            whole = True
        except _FaultError as fault:
            asked = f"; it was asked {shortened(line)}" if fed else ""
            raise ProgramError(f"{shlex.join(words):.200}: {fault}{asked}; {process.said()}") from None
        finally:  # an interruption too leaves half an answer behind
            if not whole:
                process.kill()
                self._fed.clear()
            elif not fed:
                process.end()
        return lines


def requests(x: Any, n: int, rng: np.random.Generator, at_once: int = MOST) -> Iterator[dict[str, Any]]:
    """Requests for n outputs on x, each with a seed from rng."""
    for first in range(0, n, at_once):
        yield {"x": x, "n": min(at_once, n - first), "seed": int(rng.integers(2**31))}


def json_of(value: Any) -> str:
    """One line of JSON: arrays and tuples as lists, sets as sorted ones. Raises ProgramError for what JSON cannot
    hold."""
    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except (ValueError, TypeError) as error:
        raise ProgramError(f"the input cannot be sent as JSON: {error}") from None


def refuse_other_spellings(known: dict[Any, str], spelled: Iterable[tuple[Any, str]], program: str) -> None:
    """Raises ProgramError where a value comes in another spelling than before.

    known: the first MOST values, with their spellings; new ones are added.   spelled: values, each with its spelling.
    """
    for value, spelling in spelled:
        key = _key(value)
        before = known.get(key, spelling)
        if before != spelling:
            raise ProgramError(
                f"{program:.200}: it printed one value as {cut(before)} and as {cut(spelling)}, which its receiver may "
                "tell apart and the audit does not: print each value in one way"
            )
        if len(known) < MOST:
            known[key] = spelling


def _key(value: Any) -> Any:
    """Equal for values that an audit takes for one: 1, 1.0 and true, 0.0 and -0.0, also within lists and dictionaries.

    Dictionaries whose keys are in another order are told apart there, and here.
    """
    if isinstance(value, list):
        return tuple(map(_key, value))
    if isinstance(value, dict):
        return dict, *((name, _key(part)) for name, part in value.items())
    return value


def shortened(text: str) -> str:
    """The text in a message, 300 characters at most."""
    return text if len(text) <= _TAIL else text[:_TAIL] + "..."


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    raise TypeError(f"{cut(value)} is neither a number, text, nor a list or dictionary of such")


def _argument(value: Any) -> str:
    return value if isinstance(value, str) else json_of(value)


def _value(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        pass
    try:
        return float(line) if len(line) <= _LONGEST_NUMBER else line
    except ValueError:
        return line


class _FaultError(Exception):
    """What a program did instead of answering."""


class _Process:
    """One running program: fed requests, or started with one as its arguments.

    owner: the process that started it, and alone may talk to it.
    end: closes its input, and kills it and the processes that it started if it does not end by itself.
    """

    def __init__(self, words: Sequence[str], *, fed: bool) -> None:
        self._fed, self._printed, self._errors, self._lines, self._ended = fed, bytearray(), b"", 0, False
        pipe, stdin = subprocess.PIPE, subprocess.PIPE if fed else subprocess.DEVNULL
        try:
            self._program = subprocess.Popen(  # noqa: S603
                words, stdin=stdin, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True
            )
        except (OSError, ValueError) as error:
            raise ProgramError(f"{shlex.join(words):.200} cannot be started: {error}") from None
        self.owner = os.getpid()
        self.end = weakref.finalize(self, _end, self.owner, self._program, _guard(self._program.pid) if fed else None)
        for pipe in filter(None, (self._program.stdin, self._program.stdout, self._program.stderr)):
            os.set_blocking(pipe.fileno(), False)

    def answer(self, request: bytes, n: int, seconds: float) -> list[str]:
        """The n lines that it prints: after the request if it is fed, else until it ends. Raises _FaultError.

        A line has its CR, and its bytes that are not UTF-8 as lone surrogates.
        """
        deadline, program, fed = time.monotonic() + seconds, self._program, self._fed
        self._printed[:] = (program.stdout.read(_READ) if fed else None) or b""  # type: ignore[union-attr]
        if self._printed:
            raise _FaultError("it printed before it was asked, or more than it had been asked for")
        self._lines = 0
        # All three pipes are served at a time, so that none fills up.
        with selectors.DefaultSelector() as ready:
            ready.register(program.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]
            ready.register(program.stderr, selectors.EVENT_READ)  # type: ignore[arg-type]
            if fed:
                ready.register(program.stdin, selectors.EVENT_WRITE)  # type: ignore[arg-type]
            while self._lines < n and not self._ended if fed else ready.get_map():
                events = ready.select(max(0.0, deadline - time.monotonic()))
                if not events or time.monotonic() > deadline:
                    hint = " (does it flush its output after each answer?)" if fed else ""
                    raise _FaultError(f"it printed {self._lines} of {n} lines within {seconds:g} s{hint}")
                for key, _ in events:
                    if key.fileobj is program.stdin:
                        left = request = request[_written(key.fd, request) :]
                    else:
                        left = self._heard(key.fd, errors=key.fileobj is program.stderr)
                    if not left:
                        ready.unregister(key.fileobj)
                if self._lines > n or len(self._printed) > MOST_BYTES:
                    raise _FaultError(f"it printed more than {n} lines, or {MOST_BYTES} bytes")
        return self._read(n, deadline)

    def _heard(self, pipe: int, *, errors: bool) -> bytes:
        chunk = os.read(pipe, _READ)
        if errors:
            self._errors = (self._errors + chunk)[-_TAIL:]
        else:
            self._printed += chunk
            self._lines += chunk.count(b"\n")
            self._ended = not chunk
        return chunk

    def _read(self, n: int, deadline: float) -> list[str]:
        found = self._printed.decode(errors="surrogateescape").split("\n")  # no two answers are one text
        if not found[-1]:
            found.pop()
        elif len(found) > 1 and found[-2].endswith("\r"):
            found[-1] += "\r"  # lines that are joined by CR LF
        end = ""
        if self._ended:
            try:
                code = self._program.wait(max(_GRACE_SECONDS, deadline - time.monotonic()))
                end = f" and ended, with exit code {code}"
            except subprocess.TimeoutExpired:
                raise _FaultError("it closed its output, and did not end") from None
        if len(found) != n or self._program.returncode:
            raise _FaultError(f"it printed {len(found)} of {n} lines{end}")
        return found

    def kill(self) -> None:
        """End it at once."""
        _kill(self._program)
        self.end()

    def said(self) -> str:
        """The end of what it printed last, and of its errors."""
        self._errors += self._program.stderr.read(_READ) or b""  # type: ignore[union-attr]
        printed, errors = (text[-_TAIL:].decode(errors="backslashreplace") for text in (self._printed, self._errors))
        cut_off = "..., at last " if len(self._printed) > _TAIL else ""
        said = f"its errors: {' '.join(errors.split())}" if errors else "it wrote no errors"
        return f"it printed {cut_off}{printed!r}; {said}"


def _written(pipe: int, request: bytes) -> int:
    """How many bytes a pipe took; all of them, where nobody reads it any more."""
    try:
        return os.write(pipe, request)
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(request)


def _guard(program: int) -> subprocess.Popen[bytes]:
    """A process that kills the program once this one has ended, in whatever way: its input then ends too."""
    words = ["sh", "-c", 'read -r line; kill -9 "-$0"', str(program)]
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, start_new_session=True)  # noqa: S603


def _kill(program: subprocess.Popen[bytes]) -> None:
    """With the processes that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(program.pid, signal.SIGKILL)


def _end(owner: int, program: subprocess.Popen[bytes], guard: subprocess.Popen[bytes] | None) -> None:
    if os.getpid() != owner:  # a fork of it, which has only copies of the pipes
        return
    if guard is not None:
        program.stdin.close()  # type: ignore[union-attr]
        with suppress(subprocess.TimeoutExpired):
            program.wait(_GRACE_SECONDS)
        guard.kill()
        guard.wait()
        guard.stdin.close()  # type: ignore[union-attr]
    _kill(program)
    program.wait()
    program.stdout.close()  # type: ignore[union-attr]
    program.stderr.close()  # type: ignore[union-attr]
