"""ldp-audit check: settle claims, one line each, and write the report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ldp_audit.cli.command_line import check_writable, write_json
from ldp_audit.cli.console import columns, say
from ldp_audit.numerics import near
from ldp_audit.progress import Progress
from ldp_audit.registry import PAPERS, entries

if TYPE_CHECKING:
    from ldp_audit.claims.claim import Paper
    from ldp_audit.claims.settled_file import SettledFile
    from ldp_audit.claims.settling import SettledClaim

_SAYS = 76
"""Columns of a claim's words in a line; a claim's name takes their place where a terminal leaves fewer."""


def add_arguments(check: argparse.ArgumentParser) -> None:
    """The options of `ldp-audit check`."""
    what = check.add_argument_group("what is settled")
    source = what.add_mutually_exclusive_group()
    known = ", ".join([*entries(PAPERS), "or all"])
    source.add_argument("--paper", default="all", metavar="KEY", help=f"{known} (the default)")
    source.add_argument("--claims", metavar="MODULE", help="a module of your own: package.module or path/to/file.py")
    what.add_argument(
        "--only", action="append", metavar="ID", help="settle this claim only, without figures; may be repeated"
    )
    how = check.add_argument_group("how much")
    how.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        metavar="S",
        help="for one claim, which is UNDECIDED after it; 60 by default",
    )
    add = check.add_argument_group("output").add_argument
    add("--out", type=Path, metavar="DIR", help="write report.html, report.md and report.json there")
    add("--fail-on", choices=["refuted", "undecided"], help="exit 1 if a claim is refuted, or not even decided")
    add("--resume", type=Path, metavar="FILE", help="keep settled claims there; go on from there if it exists")
    add("--quiet", action="store_true", help="no progress lines")


def run(options: argparse.Namespace) -> int:
    """Settle, print, write; 1 for `--fail-on`, 2 for a malformed claim, else 0. ValueError for bad input."""
    from ldp_audit.reports import document, write

    check_writable(options)
    if not options.seconds > 0:
        raise ValueError(f"--seconds must be positive, got {options.seconds:g}")
    papers, failed, kept = _chosen(options), [], _kept(options)
    settled = [(paper, _settle(paper, options, kept, failed)) for paper in papers]
    _print_summary(settled)
    if kept and kept.taken:
        say(f"\nnot settled again: {kept.taken} claims, from {options.resume}")
    if options.out or options.json:
        with Progress(options.quiet) as progress:
            progress("drawing and writing the report" if options.out else "writing the report")
            drawn = [(paper.key, paper.figures()) for paper in papers if paper.figures and options.out]
            figures = [(key, figure) for key, figures in drawn for figure in figures]
            report = document.build(settled, figures, failed)
            if options.out:
                write.write_files(options.out, write.rendered(report))
            write_json(options, report)
        if options.out:
            first = "report.html" if len(papers) == 1 else "index.html"
            say(f"\nreport: {options.out / first} (also report.md, report.json)")
    for error in failed:
        say(f"not settled: {error}", sys.stderr)
    return 2 if failed else int(bool(options.fail_on) and _fails(settled, options.fail_on))


def papers_asked_for(options: argparse.Namespace) -> list[Paper]:
    """The papers that --claims or --paper names. Raises ValueError if there is none."""
    from ldp_audit.claims.loading import load_claims, load_papers

    return [load_claims(options.claims)] if options.claims else load_papers(options.paper)


def _chosen(options: argparse.Namespace) -> list[Paper]:
    from dataclasses import replace

    chosen = papers_asked_for(options)
    if not options.only:
        return chosen
    known = [name for paper in chosen for name in paper.claims.ids]
    unknown = [name for name in options.only if name not in known]
    if unknown:
        found = near(unknown[0], known, least=0.0)
        raise ValueError(f"unknown claim {', '.join(unknown)}; nearest of {len(known)}: {', '.join(found)}")
    return [replace(paper, claims=paper.claims.only(options.only), figures=None) for paper in chosen]


def _kept(options: argparse.Namespace) -> SettledFile | None:
    """The file of settled claims that --resume names."""
    from ldp_audit.claims.settled_file import SettledFile

    if options.resume is None:
        return None
    kept = SettledFile(options.resume)
    if kept.damaged:
        places = f"{kept.damaged} place{'s' if kept.damaged > 1 else ''}"
        say(f"{options.resume} is damaged in {places}; what it held there is settled again", sys.stderr)
    return kept


def _settle(
    paper: Paper, options: argparse.Namespace, kept: SettledFile | None, failed: list[str]
) -> list[SettledClaim]:
    """The settled claims; errors of the others are appended to `failed`."""
    from ldp_audit.claims.settling import settle_claim
    from ldp_audit.claims.verdict import Verdict
    from ldp_audit.reports.wording import counterexample

    outcomes = []
    for place, name in enumerate(paper.claims.ids, start=1):
        try:
            with Progress(options.quiet) as progress:
                progress(f"settling {name}")
                claim = paper.claims.named(name)
                outcome = (kept.settle if kept else settle_claim)(claim, options.seconds)
        except ValueError as error:
            failed.append(str(error))
            say(f"[{place:3d}/{len(paper.claims)}] {name:<12} ERROR        {_short(str(error), 90)}")
            continue
        outcomes.append(outcome)
        if not options.quiet:
            heading = f"[{place:3d}/{len(paper.claims)}] {name:<12} {outcome.verdict:<12} {outcome.seconds:6.3f} s"
            note = "" if claim.source == "paper" else f"({claim.source}) "
            left = columns(len(heading) + 2 + _SAYS) - len(heading) - 2
            says = claim.name if claim.name and len(note + claim.says) > left < _SAYS else claim.says
            say(f"{heading}  {_short(note + says, left)}")
            if outcome.verdict is Verdict.REFUTED:
                parts = [part.to_dict() for part in outcome.parts]
                say(f"{'':10}{counterexample({'evidence': {'parts': parts}})}")
    return outcomes


def _print_summary(settled: Sequence[tuple[Paper, Sequence[SettledClaim]]]) -> None:
    from collections import Counter

    from ldp_audit.claims.recheck_report import by_solver_alone
    from ldp_audit.claims.settling import says_nothing
    from ldp_audit.claims.verdict import Verdict

    for paper, outcomes in settled:
        counts = Counter(str(outcome.verdict) for outcome in outcomes if outcome.claim.source == "paper")
        others = [outcome.claim.id for outcome in outcomes if outcome.claim.source != "paper"]
        seconds = sum(outcome.seconds for outcome in outcomes)
        say(f"\n{paper.key}: {len(outcomes)} claims in {seconds:.2f} s")
        for verdict, count in counts.most_common():
            say(f"  {verdict:<12} {count:3d}")
        if others:
            say(f"  not the paper's own, so not counted: {', '.join(others)}")
        by_solver = [o.claim.id for o in outcomes if any(by_solver_alone(p.evidence) for p in o.all_parts())]
        same = [o.claim.id for o in outcomes if o.parts and all(says_nothing(part.statement) for part in o.parts)]
        corrected = [(one.claim.id, one.correction_verdict()) for one in outcomes]
        wrong = [f"{name} ({verdict})" for name, verdict in corrected if verdict not in (None, Verdict.PROVED)]
        if wrong:
            say(f"  with a correction that is not proved: {', '.join(wrong)}")
        if same:
            say(f"  true by the way they are written, both sides being one expression: {', '.join(same)}")
        if by_solver:
            say(f"  resting on a solver's word alone: {', '.join(by_solver)}")


def _fails(settled: Sequence[tuple[Paper, Sequence[SettledClaim]]], fail_on: str) -> bool:
    from ldp_audit.reports import junit

    return any(
        junit.fails(
            {
                "verdict": str(one.verdict),
                "source": one.claim.source,
                "corrected": {"verdict": str(one.correction_verdict())},
            },
            fail_on,
        )
        for _, outcomes in settled
        for one in outcomes
    )


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
