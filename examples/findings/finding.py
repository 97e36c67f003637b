"""A finding: what a public library claims about one of its samplers or formulas, and what ldp-audit says of it.

A program of this folder has a `LIBRARY` and findings, each a function without parameters under `@sampler(...)`, which returns
what `as_sampler` takes, or under `@formula(...)`, which returns a number of the library and the exact loss that it is about.
`python finding.py PROGRAM RECORD`, in an environment with both libraries, checks them and writes the record.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import inspect
import json
import math
import os
import random
import runpy
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

CONFIDENCE = 1 - 1e-6  # of each audit: a finding is about somebody's code
PROSE = ("title", "claim", "place", "proof", "fix", "exact_by", "status", "condition")
WORDS = 20_000  # drawn where an implementation has too many to enumerate
NULL_SAMPLES = 3000  # per input, in an audit that looks for false accusations alone


@dataclass(frozen=True)
class Library:
    """A library at one version, and what pip needs to install it.

    module: what must import.   checkout: owner/name@commit of a repository that no registry has: run from a local copy.
    apart: its pins exclude ldp-audit's: it has an environment of its own, in which glue answers ldp-audit's requests.
    """

    name: str
    version: str
    requirements: tuple[str, ...]
    module: str
    checkout: str = ""
    apart: bool = False


@dataclass(frozen=True)
class Finding:
    """A claim with its place in the library's files or pages, and how it is checked.

    claim: begins with a quotation mark where it is stated; else it is how the library is read.
    inputs: of the audit.   epsilon, delta: claimed.   expected: the verdict.   samples: per input.
    exact: the epsilon that the source's probabilities give at the claimed delta, by an exact channel; exact_by: in words.
    numeric: outputs are floating-point numbers; the audit is made again with their last bits.
    last_bits: the library says that these are safe: the audit itself looks at them.
    proof: by hand, at most three lines.   fix: what would make the claim true.
    status: documented, already known (where), fixed in a release, the newest release looked at, or whose choice it is.
    condition: under which the claim holds, or in which words the library itself limits it: not counted as broken.
    """

    glue: Callable[[], Any]
    title: str
    claim: str
    place: str
    proof: str
    expected: str
    epsilon: float | None = None
    delta: float = 0.0
    inputs: Any = ()
    samples: int = 200_000
    exact: Callable[[], float] | None = None
    exact_by: str = ""
    numeric: bool = False
    last_bits: bool = False
    fix: str = ""
    status: str = ""
    condition: str = ""

    @property
    def stated(self) -> bool:
        """Whether the claim quotes the library."""
        return self.claim.startswith('"')

    @property
    def floats(self) -> bool:
        """Whether its outputs are floating-point numbers."""
        return self.numeric or self.last_bits

    def source(self) -> str:
        """The glue without its decorator."""
        text = textwrap.dedent(inspect.getsource(self.glue))
        (node,) = ast.parse(text).body
        return "\n".join(text.splitlines()[node.lineno - 1 :])

    def question(self) -> str:
        """SHA-256 of the code that a run depends on, without prose: a record of another question is out of date."""
        return question_of(self.glue)


def question_of(glue: Callable[[], Any]) -> str:
    """SHA-256 of the code of its file that a run of the glue depends on, without prose."""
    code = glue.__code__
    nodes = ast.parse(Path(code.co_filename).read_text("utf-8")).body[1:]
    own = [one for one in nodes if not getattr(one, "decorator_list", ()) or one.name == code.co_name]
    for node in own:
        for call in getattr(node, "decorator_list", ()):
            call.keywords = [one for one in call.keywords if one.arg not in PROSE]
    return hashlib.sha256("\n".join(map(ast.dump, own)).encode()).hexdigest()


def sampler(**data: Any) -> Callable[[Callable[[], Any]], Finding]:
    """The decorated function makes a sampler of the library; see `Finding`."""
    return lambda glue: Finding(glue, **data)


def formula(**data: Any) -> Callable[[Callable[[], Any]], Finding]:
    """The decorated function returns an epsilon that the library computes, and the loss that has it at `delta`."""
    return lambda glue: Finding(glue, **data)


@cache
def findings_of(path: Path) -> tuple[Library, list[Finding]]:
    """The library and the findings of one program, which is loaded."""
    names = runpy.run_path(str(path))
    return names["LIBRARY"], [one for one in names.values() if isinstance(one, Finding)]


def taken(file: str, name: str, **names: Any) -> Callable[..., Any]:
    """A function of a file in the local copy of a repository, without the rest of the file and what that imports.

    names: what the function finds in its module.
    """
    path = Path(os.environ["FINDING_CHECKOUT"]) / file
    functions = [one for one in ast.parse(path.read_text("utf-8")).body if isinstance(one, ast.FunctionDef)]
    exec(compile(ast.Module(functions, []), path, "exec"), names)
    return names[name]


def gaussian_epsilon(sigma: float, delta: float, sensitivity: float = 1.0) -> float:
    """The least epsilon of Gaussian noise at delta."""
    from ldp_audit.accounting import compose
    from ldp_audit.mechanisms import Gaussian

    return compose([(Gaussian(sigma, sensitivity=sensitivity), 1)]).epsilon(delta=delta)


def epsilon_of(rows: Sequence[Sequence[float]]) -> float:
    """Tight epsilon of the finite channel whose rows, one an input, are proportional to these weights."""
    from ldp_audit.mechanisms import FiniteChannel

    return FiniteChannel([[weight / math.fsum(row) for weight in row] for row in rows]).exact_epsilon()


def independent_bits(ones: Sequence[float]) -> list[float]:
    """Probabilities of all vectors of independent bits.   ones: of each bit being 1."""
    return [
        math.prod(p if bit else 1 - p for p, bit in zip(ones, word, strict=True))
        for word in product((0, 1), repeat=len(ones))
    ]


def checked(one: Finding) -> dict[str, Any]:
    """The record of one finding."""
    start = time.perf_counter()
    result = audited(one) if one.inputs else compared(one)
    exact = {} if one.exact is None else {"exact": number(one.exact())}
    return {"question": one.question()} | result | exact | {"seconds": round(time.perf_counter() - start, 1)}


def audited(one: Finding) -> dict[str, Any]:
    """An audit of the sampler at its claim; where its outputs are floats, one with the last bits, and its implementation."""
    found = run(one, samples=one.samples, floating_point=one.last_bits)
    record = summary(found) | {"samples_used": found.samples_used}
    if one.numeric:
        record["last_bits"] = summary(run(one, samples=one.samples, floating_point=True))
    return record | ({"implementation": implemented(one)} if one.floats else {})


def run(one: Finding, **options: Any) -> Any:
    """An audit of what the glue makes."""
    from ldp_audit.auditing import audit

    return audit(connected(one), one.inputs, one.epsilon, one.delta, **{"confidence": CONFIDENCE} | options)


def connected(one: Finding) -> Any:
    """The library's sampler, in this process or in the library's own environment."""
    from ldp_audit.auditing import as_sampler

    apart = os.environ.get("FINDING_PYTHON")
    return (
        as_sampler(command=[apart, __file__, *sys.argv[1:3], "--serve", one.title]) if apart else as_sampler(one.glue)
    )


def implemented(one: Finding) -> dict[str, Any]:
    """What `audit --implementation` says: with its random words played back where that is possible, else of samples."""
    from ldp_audit.implementations.audit_implementation import implementation_of

    claim = {"claimed_epsilon": one.epsilon, "claimed_delta": one.delta}
    found = implementation_of(connected(one), one.inputs, samples=WORDS, **claim).to_dict()
    bounds = {key: number(found[key]) for key in ("epsilon", "exclusive_share")}
    return {"verdict": found["verdict"], "method": found["method"], **bounds, "how": found["assumptions"][0]}


def serve(one: Finding) -> None:
    """Answer requests for outputs, as `as_sampler(command=...)` makes them: what the glue returns is a function of x."""
    client = one.glue()
    for line in sys.stdin:
        request = json.loads(line)
        random.seed(request["seed"])
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(request["seed"])
        for _ in range(request["n"]):
            print(json.dumps(client(request["x"])))
        sys.stdout.flush()


def summary(found: Any) -> dict[str, Any]:
    """An audit's verdict, bound and witness."""
    return {
        "verdict": found.verdict,
        "epsilon_lower": number(found.epsilon_lower),
        "delta_lower": number(found.delta_lower),
        "detectable_epsilon": number(found.detectable_epsilon),
        "witness": found.witness.describe(),
        "notes": list(found.notes),
    }


def compared(one: Finding) -> dict[str, Any]:
    """A library's epsilon beside the certified bounds of the loss that it is about."""
    epsilon, loss = one.glue()
    lower, upper = loss.epsilon_bounds(delta=one.delta)
    verdict = "too small" if epsilon < lower * (1 - 1e-9) else "above" if epsilon > upper * 1.001 else "tight"
    return {"verdict": verdict, "library_epsilon": number(epsilon), "certified": [number(lower), number(upper)]}


def number(value: float | str | None) -> float | str | None:
    """A number that JSON can hold."""
    return None if value is None else float(f"{float(value):.6g}") if math.isfinite(float(value)) else str(float(value))


def nulls(findings: list[Finding], audits: int) -> dict[str, int]:
    """Small audits of the sound samplers at their claims, by turns, each with a seed of its own; how many accuse one."""
    sound, accused = sound_samplers(findings), 0
    for place, one in turns(sound, audits):
        accused += run(one, samples=NULL_SAMPLES, seed=1000 + place).violated
    return {"audits": audits, "accused": accused}


def sound_samplers(findings: list[Finding]) -> list[Finding]:
    """Those whose claim is expected to hold."""
    return [one for one in findings if one.inputs and one.expected == "consistent"]


def turns(members: list[Finding], count: int) -> Iterator[tuple[int, Finding]]:
    """The members in turn, numbered, so many in all."""
    return ((place, members[place % len(members)]) for place in range(count if members else 0))


def main() -> None:
    """Check one program's findings; write its record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("record", type=Path)
    parser.add_argument("--nulls", type=int, default=0, help="audits of sound samplers that look for false accusations")
    parser.add_argument("--implementation", action="store_true", help="this part of the records alone")
    parser.add_argument("--laws", action="store_true", help="the comparisons with exact laws alone")
    parser.add_argument("--title", help="one finding or law alone")
    parser.add_argument("--serve", metavar="TITLE", help="answer requests for the outputs of a finding")
    given = parser.parse_args()
    from law import Law, laws_of

    library, findings = findings_of(given.program)
    if given.serve:
        serve(next(one for one in findings if one.title == given.serve))
        return
    record = json.loads(given.record.read_text("utf-8")) if given.record.exists() else {}
    record.pop("unavailable", None)
    if given.nulls:
        record["nulls"] = nulls(findings, given.nulls)
    elif given.implementation:
        for one in findings:
            if one.floats:
                record["findings"][one.title]["implementation"] = found = implemented(one)
                print(f"{library.name} {library.version}: {one.title}: {found}", flush=True)
    else:
        for kind, check in (("findings", checked), ("laws", Law.compared)):
            members = laws_of(given.program) if kind == "laws" else [] if given.laws else findings
            done = record.get(kind, {})
            for one in members:
                if given.title in (None, one.title):
                    done[one.title] = check(one)
                    print(f"{library.name} {library.version}: {one.title}: {done[one.title]['verdict']}", flush=True)
            if members:
                record[kind] = {one.title: done[one.title] for one in members if one.title in done}
    given.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.modules["finding"] = sys.modules["__main__"]
    main()
