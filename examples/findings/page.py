"""docs/findings.md, and a report to the maintainers of each library with a violated claim, from programs and their records."""

from __future__ import annotations

import ast
import json
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import Any

from finding import NULL_SAMPLES, Finding, Library, findings_of
from law import Law, laws_of

GOOD = ("consistent", "tight", "above")
INTRODUCTION = """# Findings in public code

What public libraries claim about their samplers and formulas, and what ldp-audit says. `examples/findings/` has a short
program for each library and version: the claim with its place, the lines that connect the library to ldp-audit, the inputs,
and a proof by hand. This page is written from these programs and the records of their runs, by

```
make findings                             # an environment for each library, its findings, and this page
make findings ARGS="--only pure_ldp_1_1_2"
```

How to read it:

* *violated*: an event whose frequencies on two inputs the claim excludes, at an error rate of one in a million an audit.
  The proof explains it without statistics; "exact" is the epsilon of the probabilities that the source has.
* *consistent*: no violation was found. A claim below the bound would have been found false.
* *under a condition*: the claim holds where the condition in the library's section is met, or the library itself says that
  the number is no bound. It is not counted among the claims that do not hold.
* *Stated* precedes a claim that quotes the library; *Read as* one that is our reading of a name, a parameter or a formula.
* *last bits*: a second audit of the same numbers with their low-order bits. "visible" is not counted as a violation: the claim
  is about real numbers, and most libraries promise nothing for the arithmetic. A sum x + noise in double precision near x = 1 is
  a multiple of 2^-53 (2^-24 in float32), but near x = 0 it keeps the noise's finer bits, so a fine result excludes x = 1
  (Mironov 2012; Haney et al. 2022, arXiv:2207.13793); interval end + uniform x length is rounded likewise. It is in the table of
  what does not hold only where a library promises protection.
* *By `--implementation`*: the program with its random words played back, every one or a sample of them; where they cannot be (normal
  draws by rejection, generators in compiled code, the operating system's random bytes), samples of the program as it is.
* For formulas, *tight* is within 0.1% of the certified epsilon, *above* is valid and larger than necessary, *too small* is below
  the certified lower bound.
* *fits*, *differs*: the sampler's outputs against the exact law of the named mechanism of ldp-audit, by `assert_fits`, which says of a
  sampler with this law that it differs at most once in a million comparisons. A law is more than its epsilon: a sampler with a wrong p
  may keep its claim, and be biased. *seen* is a change of any tested event's probability that is found in 95% of all runs. What is about the
  seed of a hash is compared given the seed, and through the values that a report supports.

A finding is about one version, which is pinned; a later one may differ. The texts for the maintainers are the `report.md` beside the programs.
"""


@dataclass(frozen=True)
class Account:
    """A library's findings with the records of their runs."""

    folder: str
    library: Library
    findings: list[Finding]
    record: dict[str, Any]
    laws: list[Law]

    @classmethod
    def of(cls, folder: Path) -> Account:
        """What lies in a folder."""
        record = folder / "record.json"
        known = json.loads(record.read_text("utf-8")) if record.exists() else {"unavailable": "not run yet"}
        return cls(folder.name, *findings_of(folder / "program.py"), known, laws_of(folder / "program.py"))

    @property
    def checked(self) -> list[tuple[Finding, dict[str, Any]]]:
        """The findings that were run, each with its record."""
        found = self.record.get("findings", {})
        return [(one, found[one.title]) for one in self.findings if one.title in found]

    @property
    def compared(self) -> list[tuple[Law, dict[str, Any]]]:
        """The laws that were compared, each with its record."""
        found = self.record.get("laws", {})
        return [(one, found[one.title]) for one in self.laws if one.title in found]

    @property
    def violated(self) -> list[tuple[Finding, dict[str, Any]]]:
        """Those whose claim does not hold."""
        return [(one, record) for one, record in self.checked if record["verdict"] not in GOOD and not one.condition]

    @property
    def name(self) -> str:
        """The library with its version."""
        return f"{self.library.name} {self.library.version}".strip()


def page_of(accounts: list[Account]) -> str:
    """The page."""
    tested = [one for one in accounts if one.checked]
    count, violated = sum(len(one.checked) for one in tested), sum(len(one.violated) for one in tested)
    conditional = sum(bool(finding.condition) for one in tested for finding, _ in one.checked)
    nulls = [one.record.get("nulls", {"audits": 0, "accused": 0}) for one in tested]
    audits, accused = (sum(one[key] for one in nulls) for key in ("audits", "accused"))
    laws = [(one.name, *pair) for one in tested for pair in one.compared]
    different = sum(record["verdict"] == "differs" for _, _, record in laws)
    lines = [
        INTRODUCTION,
        f"{len(tested)} libraries and repositories, {count} claims: {violated} do not hold, as we read them; {count - violated} do as far "
        f"as was seen, {conditional} of them under a condition. The median claim needs {median_glue(tested):g} lines to connect. {audits:,} audits with {NULL_SAMPLES:,} samples "
        f"of each input, over all samplers that are expected to keep their claim, accused {accused or 'none'}. {len(laws)} samplers of "
        f"{len({name for name, _, _ in laws})} of these libraries were compared with exact laws: {different} differ.\n",
        "## Claims that do not hold, as we read them\n",
        *table((one.name, *pair) for one in tested for pair in one.violated),
        "## Claims that hold as far as was seen\n",
        *table((one.name, *pair) for one in tested for pair in one.checked if pair not in one.violated),
        "## Samplers against exact laws\n",
        *law_table(laws),
        *map(section, tested),
    ]
    missing = [f"- {one.name}: {one.record.get('unavailable', 'not run yet')}" for one in accounts if not one.checked]
    lines += ["## Not available\n", *missing] if missing else []
    return "\n".join(lines).rstrip() + "\n"


def median_glue(accounts: list[Account]) -> float:
    """Lines of code, below the function's first, that connect a claim."""
    counts = [len(finding.source().splitlines()) - 1 for one in accounts for finding, _ in one.checked]
    return statistics.median(counts) if counts else 0


def table(rows: Iterable[tuple[str, Finding, dict[str, Any]]]) -> list[str]:
    """Lines of a table of findings."""
    return [
        "| library | claim | verdict | bound | exact | last bits |",
        "|---|---|---|---|---|---|",
        *starmap(row, rows),
        "",
    ]


def law_table(rows: Iterable[tuple[str, Law, dict[str, Any]]]) -> list[str]:
    """Lines of a table of laws; those that differ first."""
    lines = ["| library | sampler | exact law | verdict | p-value | seen | outputs |", "|---|---|---|---|---|---|---|"]
    for name, one, record in sorted(rows, key=lambda each: each[2]["verdict"]):
        verdict = "fits" if record["verdict"] == "fits" else "**differs**"
        numbers = f"{shown(record['p_value'])} | {shown(record['detectable'])} | {record['samples_used']:,}"
        lines.append(f"| {name} | {one.title} | `{record['law']}` | {verdict} | {numbers} |")
    return [*lines, ""]


def row(name: str, finding: Finding, record: dict[str, Any]) -> str:
    """A line of the table."""
    words = finding.title + (f", delta {finding.delta:g}" if finding.delta else "")
    verdict = record["verdict"] if record["verdict"] in GOOD else f"**{record['verdict']}**"
    verdict = "under a condition" if finding.condition else verdict
    last = seen(record["last_bits"]) if "last_bits" in record else ""
    if "certified" in record:
        bound, exact = (
            f"{shown(record['library_epsilon'])} {'returned' if finding.condition else 'claimed'}",
            certified(record),
        )
    else:
        words += f", epsilon {shown(finding.epsilon)}"
        bound, exact = shown(record["epsilon_lower"]), shown(record["exact"]) if "exact" in record else ""
    return f"| {name} | {words} | {verdict} | {bound} | {exact} | {last} |"


def section(account: Account) -> str:
    """A library's findings."""
    source = f"`pip install {' '.join(map(quoted, account.library.requirements))}`"
    if account.library.apart:
        source += ", in an environment without ldp-audit, whose pins it excludes: ldp-audit asks it for outputs"
    if account.library.checkout:
        repository, _, commit = account.library.checkout.partition("@")
        source = (
            f"the repository {repository} at {commit[:12]}, which no registry has: fetched by hand, and read from a local copy, "
            "`--checkouts DIR`"
        )
    again = f'From {source}. Again: `make findings ARGS="--only {account.folder}"`.\n'
    broken = [described(*one) for one in account.violated]
    return "\n".join(
        [
            f"## {account.name}\n",
            again,
            *broken,
            *(line(*one) for one in account.checked if one not in account.violated),
            *(law_line(*one) for one in account.compared),
            "",
        ]
    )


def line(finding: Finding, record: dict[str, Any]) -> str:
    """A claim that holds as far as was seen."""
    text = f"* **{finding.title}**: {finding.claim} ({place(finding)}). {verdict_of(finding, record)} By hand: {finding.proof}"
    condition = f" The condition: {finding.condition}" if finding.condition else ""
    return text + condition + (f" Status: {finding.status}" if finding.status else "")


def law_line(one: Law, record: dict[str, Any]) -> str:
    """A sampler beside its exact law."""
    words = (
        f"p-value {shown(record['p_value'])} of {record['events']} events together; {record['samples_used']:,} outputs, "
        f"{record['seconds']:g} s. Furthest from the law: `{record['witness']}`."
    )
    verdict = "Fits" if record["verdict"] == "fits" else "**Differs** from"
    return f"* Law of **{one.title}** ({place(one)}). {verdict} `{record['law']}`: {words} By hand: {one.proof}"


def described(finding: Finding, record: dict[str, Any]) -> str:
    """A claim that does not hold: claim, place, verdict, witness, proof, glue."""
    lines = [
        f"### {finding.title}\n",
        f"{reading(finding)}: {finding.claim} ({place(finding)}).\n",
        f"{verdict_of(finding, record)}\n",
        f"By hand: {finding.proof}\n",
        *([f"What would make the claim true: {finding.fix}\n"] if finding.fix else []),
        *([f"Status: {finding.status}\n"] if finding.status else []),
        "<!-- not run: needs the library -->\n```python\n" + finding.source() + "\n```\n",
    ]
    return "\n".join(lines)


def reading(finding: Finding) -> str:
    """What the claim is: the library's words, or ours."""
    return "Stated" if finding.stated else "Read as"


def seen(bits: dict[str, Any]) -> str:
    """Whether an audit with the last bits tells the inputs apart."""
    return "visible" if bits["verdict"] == "violated" else "none seen"


def place(finding: Finding | Law) -> str:
    """Where the claim is made, or the sampler is, names of files as code."""
    file, colon, rest = finding.place.partition(": ")
    return f"`{file}`{colon}{rest}"


def verdict_of(finding: Finding, record: dict[str, Any]) -> str:
    """The verdict with its numbers."""
    holds = [record["verdict"]] if record["verdict"] in GOOD or not finding.condition else []
    word = ", ".join(holds + ["under a condition"] * bool(finding.condition)).capitalize()
    at = f" at delta {finding.delta:g}" if finding.delta else ""
    if "certified" in record:
        low, high = map(shown, record["certified"])
        said = "returned" if finding.condition else "claimed"
        return (
            f"{word}: epsilon {shown(record['library_epsilon'])} is {said}{at}; certified bounds are {low} and {high}."
        )
    lines = [
        f"{word}: epsilon is at least {shown(record['epsilon_lower'])}{at}; inputs {finding.inputs!r}, "
        f"{record['samples_used']:,} outputs, {record['seconds']:g} s. {event(record['witness'])}"
    ]
    if finding.expected == "consistent" and float(record["epsilon_lower"]) > finding.epsilon / 2:
        lines.append("A claim of half this epsilon would have been found false.")
    if "exact" in record:
        lines.append(f"Exact: {shown(record['exact'])} ({finding.exact_by}).")
    if "last_bits" in record:
        bits = record["last_bits"]
        lower = f"epsilon is at least {shown(bits['epsilon_lower'])}{at}"
        lines.append(f"With the last bits: {seen(bits)}, {lower}. {event(bits['witness'])}")
    if "implementation" in record:
        lines.append(implementation(record["implementation"]))
    return " ".join(lines)


def implementation(found: dict[str, Any]) -> str:
    """What was played back of the program's random words, or why nothing was, and what that shows."""
    how = found["how"].partition(" (checked")[0]
    alone = f", {found['exclusive_share']:.2g} of an input's words lead where another cannot" * bool(
        found["exclusive_share"]
    )
    bound = f"{found['verdict']}, epsilon at delta 0 is at least {shown(found['epsilon'])}"
    return f"By `--implementation`, {found['method']}: {bound}{alone}; {how}."


def certified(record: dict[str, Any]) -> str:
    """The certified bounds of a loss, or their one value to four digits."""
    low, high = map(shown, record["certified"])
    return low if low == high else f"{low} to {high}"


def event(words: str) -> str:
    """An audit's witness as code, which Markdown leaves as it is."""
    return f"Event `{words}`."


def report_of(account: Account) -> str:
    """A text for the maintainers; "" where all claims hold."""
    violated = account.violated
    if not violated:
        return ""
    lines = [
        f"# {account.name}: {len(violated)} privacy claim{'s' * (len(violated) > 1)} to look at\n",
        "We compared what this version states with what its code does: a tool drew outputs on two inputs, and the source was read. "
        "We may have misread the intended claim, and would be glad to hear where. Thank you for publishing the code.\n",
    ]
    for finding, record in violated:
        lines += [
            f"## {finding.title}\n",
            f"**{reading(finding)}**: {finding.claim} ({place(finding)}).\n",
            f"**Observed**: {verdict_of(finding, record)}\n",
            f"**Why**: {finding.proof}\n",
            *([f"**A possible change**: {finding.fix}\n"] if finding.fix else []),
            *([f"**Status**: {finding.status}\n"] if finding.status else []),
            f"**To reproduce**, {beside(account)}:\n",
            "```python\n" + reproduction(finding) + "\n```\n",
        ]
    return "\n".join(lines).rstrip() + "\n"


def beside(account: Account) -> str:
    """What a reproduction needs."""
    if account.library.apart:
        return f'by `make findings ARGS="--only {account.folder}"` of ldp-audit, whose pins exclude the library\'s; it runs'
    copy = ", and FINDING_CHECKOUT set to a local copy of the repository" if account.library.checkout else ""
    return f"with ldp-audit installed beside the library{copy}"


def reproduction(finding: Finding) -> str:
    """A program that makes the finding again, without this folder."""
    name = finding.glue.__name__
    imports, helpers = needed(finding)
    if finding.inputs:
        imports.append("from ldp_audit.auditing import as_sampler, audit")
        bits = ", floating_point=True" if finding.last_bits else ""
        quoted_inputs = repr(finding.inputs).replace("'", '"')
        claim = f"inputs, {finding.epsilon}, {finding.delta:g}, samples={finding.samples}{bits}"
        last = f"inputs = {quoted_inputs}\nprint(audit(as_sampler({name}), {claim}).describe())"
    else:
        last = f"epsilon, loss = {name}()\nprint(epsilon, loss.epsilon_bounds(delta={finding.delta:g}))"
    return "\n\n\n".join(["\n".join(sorted(set(imports))), *helpers, finding.source(), last]).strip()


def needed(finding: Finding) -> tuple[list[str], list[str]]:
    """The imports, and the constants and functions, that the glue uses, of its program and of `finding.py`."""
    defined: dict[str, str] = {}
    for path in (Path(finding.glue.__code__.co_filename), Path(__file__).with_name("finding.py")):
        text = path.read_text("utf-8")
        for node in ast.parse(text).body:
            for name in names_of(node):
                defined.setdefault(name, ast.get_source_segment(text, node) or "")
    imports: list[str] = []
    helpers: list[str] = []
    waiting = [finding.source()]
    while waiting:
        for node in ast.walk(ast.parse(waiting.pop())):
            source = defined.pop(node.id, None) if isinstance(node, ast.Name) else None
            if source is not None:
                (imports if source.startswith(("import ", "from ")) else helpers).append(source)
                waiting.append(source)
    return imports, helpers[::-1]


def names_of(node: ast.stmt) -> list[str]:
    """The names that a statement of a module defines; none of a finding, and none that is imported from this folder."""
    if isinstance(node, ast.FunctionDef):
        return [] if node.decorator_list else [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return (
            []
            if getattr(node, "module", "") in ("finding", "__future__")
            else [one.asname or one.name for one in node.names]
        )
    if isinstance(node, ast.Assign):
        return [one.id for one in ast.walk(node.targets[0]) if isinstance(one, ast.Name)]
    return []


def shown(value: float | str) -> str:
    """Four digits."""
    return "infinite" if float(value) == float("inf") else f"{float(value):.4g}"


def quoted(requirement: str) -> str:
    """A requirement as a shell takes it."""
    return f"'{requirement}'" if set("<>;[") & set(requirement) else requirement
