"""Ask the library all cases and print a table by family: `python -m tests.truth --cases 2000`."""

from __future__ import annotations

import argparse
import math
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.truth.cases import FAMILIES, Case, case, family_of
from tests.truth.library import ask
from tests.truth.questions import Judgement


@dataclass(frozen=True)
class Record:
    """One case: what was judged, or that it was refused or took too long; seconds of the library."""

    case: Case
    judgement: Judgement
    seconds: float


class TooLongError(Exception):
    """The time limit of one question has passed."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TooLongError in the block after so many seconds (0: never)."""

    def stop(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run(one: Case, limit: float = 60.0) -> Record:
    """Ask and judge one case."""
    start = time.process_time()
    try:
        with limited(limit):
            answer = ask(one.code)
    except ValueError as error:
        return Record(one, Judgement("refused", str(error)), time.process_time() - start)
    except TooLongError:
        return Record(one, Judgement("too long"), limit)
    except (ArithmeticError, LookupError, TypeError, AttributeError, RuntimeError, MemoryError) as error:
        return Record(one, Judgement("WRONG", f"{type(error).__name__}: {error}"), time.process_time() - start)
    seconds = time.process_time() - start
    try:
        with limited(limit):
            return Record(one, one.question.judge(answer), seconds)
    except TooLongError:
        return Record(one, Judgement("truth too long"), seconds)


def table(records: Iterable[Record]) -> str:
    """A line a family."""
    lines = [("family", "cases", *_KINDS, "median width", "worst (case)", "slowest s (case)", "all s")]
    listed = list(records)
    for name in (*FAMILIES, "all"):
        of_family = [one for one in listed if name in (one.case.family, "all")]
        lines += [_line(name, of_family)] if of_family else []
    sizes = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.rjust, line, sizes)) for line in lines)


def _line(name: str, listed: list[Record]) -> tuple[str, ...]:
    counts = [sum(one.judgement.status.endswith(kind) for one in listed) for kind in _KINDS]
    wide = sorted((one.judgement.width, one.case.number) for one in listed if not math.isnan(one.judgement.width))
    shown = (f"{wide[len(wide) // 2][0]:.1e}", f"{wide[-1][0]:.1e} ({wide[-1][1]})") if wide else ("-", "-")
    slow, number = max((one.seconds, one.case.number) for one in listed)
    times = f"{slow:.2f} ({number})", f"{sum(one.seconds for one in listed):.0f}"
    return (name, str(len(listed)), *map(str, counts), *shown, *times)


_KINDS = ("WRONG", "rounding", "refused", "too long")


def describe(record: Record) -> str:
    """Everything about a case, to be pasted."""
    one, judged = record.case, record.judgement
    return f"{judged.status}: case {one.number} ({one.family}), {record.seconds:.2f} s\n  {one.code}\n  {judged.detail}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.truth", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000, help="how many")
    parser.add_argument("--start", type=int, default=0, help="the first one's number")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=list(FAMILIES), help="one family")
    parser.add_argument("--case", type=int, help="one case, in full")
    parser.add_argument("--rounding", action="store_true", help="show what is within rounding of the truth, too")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one question")
    chosen = parser.parse_args(arguments)
    numbers = range(chosen.start, chosen.start + chosen.cases) if chosen.case is None else [chosen.case]
    quiet = ("right",) if chosen.rounding else ("right", "rounding")
    records = []
    for number in numbers:
        if chosen.only in (None, family_of(number)):
            records.append(run(case(number, chosen.seed), chosen.limit))
            if records[-1].judgement.status not in quiet or chosen.case is not None:
                _say(describe(records[-1]))
    _say(table(records))
    return 1 if any(one.judgement.status == "WRONG" for one in records) else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
