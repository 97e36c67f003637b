"""Golden answers: recorded results on protocols, claims, mechanisms, programs and everyday questions.

    python benchmarks/golden.py take [--only GROUP ...] [--processes 2]                # write golden.json
    python benchmarks/golden.py compare [--only GROUP ...] [--processes 2] [--moved]   # recompute; 1 if one is broken

An answer has one key, which determines how it may differ from the golden one:

bounds: [lower, upper]. Both intervals contain the truth, so they must overlap, up to 1e-11 of themselves, as exact
    numbers are correct to 1e-12. The upper bound may rise by 1e-6 of itself, and the lower bound fall by as much.
upper: an upper bound alone. It may move by 1e-6 of itself either way, as no lower bound limits its fall.
exact: numbers to 1e-12 of themselves; words and lists unchanged.   verdict: unchanged.
error: the same class of exception; its words may differ.   note: changes are counted, but not broken.

Seconds are of the CPU and are not compared; with OPENBLAS_NUM_THREADS=1 they are those of one core.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import multiprocessing
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().with_suffix(".json")
MAY_MOVE, APART, EXACT = 1e-6, 1e-11, 1e-12

Answer = dict[str, Any]
Answers = dict[str, Answer]
Items = Iterable[tuple[str, Callable[[], Answers]]]


def main() -> int:
    """Take or compare; 1 if an answer is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["take", "compare"])
    parser.add_argument("--only", nargs="+", choices=list(groups()), default=list(groups()), metavar="GROUP")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--moved", action="store_true", help="list the answers that moved too")
    parser.add_argument("--file", type=Path, default=FILE)
    options = parser.parse_args()
    taken = options.file.exists()
    known = json.loads(options.file.read_text(encoding="utf-8")) if taken else {"answers": {}, "seconds": {}}
    found = json.loads(as_text(_asked(options.only, options.processes)))
    if options.command == "take":
        kept = {part: {group: known[part][group] for group in groups() if group in known[part]} for part in found}
        options.file.write_text(as_text({part: kept[part] | found[part] for part in found}), encoding="utf-8")
        return 0
    return compared(known, found, {"broken", "new", *(["moved"] if options.moved else [])})


def groups() -> Mapping[str, Callable[[], Items]]:
    """The groups of questions by name; each lists its items."""
    from golden_questions import GROUPS

    return GROUPS


def judged(before: Answer, after: Answer) -> str:
    """Whether an answer is "equal", "moved" within the rules above, or "broken"."""
    if before == after:
        return "equal"
    (key, old), (other, new) = *before.items(), *after.items()
    return "moved" if key == other and RULES[key](old, new) else "broken"


def as_text(document: dict[str, dict[str, dict[str, Any]]]) -> str:
    """JSON with a line for each answer, sorted; infinities as text."""
    parts = []
    for part, found in sorted(document.items()):
        listed = [
            f"  {json.dumps(group)}: {{\n"
            + ",\n".join(f"   {json.dumps(name)}: {_line(answers[name])}" for name in sorted(answers))
            + "\n  }"
            for group, answers in sorted(found.items())
        ]
        parts.append(f" {json.dumps(part)}: {{\n" + ",\n".join(listed) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _line(answer: Any) -> str:
    return json.dumps(_plain(answer), sort_keys=True, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _bounds_hold(old: list[float | str], new: list[float | str]) -> bool:
    (low, high), (lower, upper) = map(float, old), map(float, new)
    no_looser = _not_above(upper, high, MAY_MOVE) and _not_above(-lower, -low, MAY_MOVE)
    return no_looser and lower <= upper and not _apart(old, new)


def _apart(old: list[float | str], new: list[float | str]) -> bool:
    """Whether two intervals are disjoint, so that one of them is false."""
    (low, high), (lower, upper) = map(float, old), map(float, new)
    return not (_not_above(lower, high, APART) and _not_above(low, upper, APART))


def _upper_holds(old: float | str, new: float | str) -> bool:
    return _not_above(float(new), float(old), MAY_MOVE) and _not_above(-float(new), -float(old), MAY_MOVE)


def _not_above(value: float, limit: float, share: float) -> bool:
    """Whether value <= limit, up to a relative excess of `share`."""
    return value <= limit or value - limit <= share * abs(limit) < math.inf


def _same(old: Any, new: Any) -> bool:
    """Whether numbers agree to `EXACT`, and everything else exactly."""
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_same, old, new))
    if isinstance(old, int | float) and isinstance(new, int | float):
        return math.isclose(old, new, rel_tol=EXACT)
    return old == new


RULES: dict[str, Callable[[Any, Any], bool]] = {
    "bounds": _bounds_hold,
    "upper": _upper_holds,
    "exact": _same,
    "verdict": lambda old, new: old == new,
    "error": lambda old, new: old.partition(":")[0] == new.partition(":")[0],
    "note": lambda old, new: True,  # noqa: ARG005
}


def compared(known: dict[str, Any], found: dict[str, Any], listed: set[str]) -> int:
    """Print a table and the offenders; 1 if an answer is broken or missing."""
    _say(f"{'group':<28}{'equal':>7}{'moved':>7}{'broken':>7}{'new':>5}{'seconds then':>14}{'now':>8}")
    offenders, total = [], Counter[str]()
    for group, now in found["answers"].items():
        before = known["answers"].get(group, {})
        status = {name: _status(before.get(name), now.get(name)) for name in sorted(before | now)}
        count = Counter(status.values())
        then, seconds = (sum(part["seconds"].get(group, {}).values()) for part in (known, found))
        counts = f"{count['equal']:>7}{count['moved']:>7}{count['broken']:>7}{count['new']:>5}"
        _say(f"{group:<28}{counts}{then:>14.1f}{seconds:>8.1f}")
        offenders += [
            f"{kind}  {group}: {name}\n    {_change(before.get(name), now.get(name))}"
            for name, kind in status.items()
            if kind in listed
        ]
        total += count
    _say("\n".join(["", *offenders]) if offenders else "\nnothing is broken")
    return int(total["broken"] > 0)


def _status(before: Answer | None, after: Answer | None) -> str:
    if before is None or after is None:
        return "new" if before is None else "broken"
    return judged(before, after)


def _change(before: Answer | None, after: Answer | None) -> str:
    """Both answers, the relative change of each number, and whether two intervals are disjoint."""
    shown = " -> ".join("nothing" if one is None else _line(one) for one in (before, after))
    pairs = zip(*(_numbers(one) for one in (before, after)), strict=False)
    changes = ", ".join(f"{(new - old) / abs(old):+.2g}" if old else "from 0" for old, new in pairs)
    apart = (
        before and after and before.keys() == after.keys() == {"bounds"} and _apart(before["bounds"], after["bounds"])
    )
    return shown + (f"  ({changes})" if changes else "") + ("  DISJOINT" if apart else "")


def _numbers(value: Any) -> Iterator[float]:
    """The finite numbers of an answer, in order."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _numbers(one)
    elif isinstance(value, int | float) and math.isfinite(value):
        yield value


def _asked(names: Iterable[str], processes: int) -> dict[str, dict[str, Any]]:
    """Compute every item of these groups, with progress on stderr."""
    tasks = [(group, item) for group in names for item in _items(group)]
    found: dict[str, dict[str, Any]] = {"answers": {}, "seconds": {}}
    with contextlib.ExitStack() as stack:
        results = map(_ask, tasks)
        if processes > 1:
            context = multiprocessing.get_context("spawn")
            results = stack.enter_context(ProcessPoolExecutor(processes, context)).map(_ask, tasks)
        for done, ((group, item), (answers, seconds)) in enumerate(zip(tasks, results, strict=True), start=1):
            found["answers"].setdefault(group, {}).update(answers)
            found["seconds"].setdefault(group, {})[item] = seconds
            sys.stderr.write(f"\r{done}/{len(tasks)} {group:<30}" + "\n" * (done == len(tasks)))
            sys.stderr.flush()
    return found


def _ask(task: tuple[str, str]) -> tuple[Answers, float]:
    """One item's answers by their full names, and its CPU seconds."""
    group, item = task
    start = time.process_time()
    try:
        answers = _items(group)[item]()
    except Exception as error:  # noqa: BLE001  (whatever is raised is an answer)
        sentence = re.split(r"(?<=\w[.!?])\s", str(error), maxsplit=1)[0]
        answers = {"": {"error": f"{type(error).__name__}: {sentence}"}}
    return {item + name: answer for name, answer in answers.items()}, float(f"{time.process_time() - start:.2g}")


@cache
def _items(group: str) -> dict[str, Callable[[], Answers]]:
    items = list(groups()[group]())
    if len(found := dict(items)) < len(items):
        raise ValueError(f"items of {group} must have names of their own, got {[name for name, _ in items]}")
    return found


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
