"""ldp-audit recheck: verify a report's evidence again, without the engines."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldp_audit.cli.command_line import write_json
from ldp_audit.cli.console import say
from ldp_audit.files import read_json
from ldp_audit.progress import Progress

if TYPE_CHECKING:
    from ldp_audit.claims import Paper


def add_arguments(recheck: argparse.ArgumentParser) -> None:
    """The options of `ldp-audit recheck`."""
    add = recheck.add_argument
    add("file", type=Path, metavar="FILE", help="a report.json")
    add(
        "--against",
        metavar="SOURCE",
        help="a paper's key, all, or a module: is what is shown the source's?",
    )
    add("--strict", action="store_true", help="refuse parts that rest on a solver's word alone")
    add("--pure", action="store_true", help="use the standard library alone, not numpy: slower where words are counted")
    add("--seconds", type=float, default=600.0, metavar="S", help="for the whole file; 600 by default")
    add("--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    """Print what was verified and what was rejected; 1 if anything was, else 0. Raises ValueError for bad input."""
    from collections import Counter
    from dataclasses import asdict

    from ldp_audit.claims import recheck_alone
    from ldp_audit.claims.manifest import digest
    from ldp_audit.claims.recheck_report import recheck_claims

    if not options.seconds > 0:
        raise ValueError(f"--seconds must be positive, got {options.seconds:g}")
    recheck_alone.PURE[0] = options.pure
    start, report = time.perf_counter(), read_json(options.file)
    outcomes = []
    with Progress(options.quiet) as progress:
        progress(f"rechecking {options.file}")
        for outcome in recheck_claims(report, options.seconds):
            outcomes.append(outcome)
            progress(f"rechecked {len(outcomes)} of {len(report['claims'])} claims")
        progress("building the source's statements")
        differing, again = [], 0
        try:
            if options.against:
                differing, again = _differences(report, options.against, progress)
        except (AttributeError, KeyError, IndexError, TypeError) as error:  # of a report that is not well formed
            differing = [("report", f"malformed ({type(error).__name__}: {error})")]
    claims = [outcome for outcome in outcomes if outcome.verdict]
    refused = [outcome for outcome in outcomes if outcome.complaint]
    by_solver = [outcome for outcome in claims if outcome.unverified and not outcome.complaint]
    verified = [outcome for outcome in claims if not outcome.complaint and not outcome.unverified]
    counts = Counter(outcome.verdict for outcome in verified)
    found = {"claims": [asdict(outcome) for outcome in outcomes], "refused": len(refused), "differing": differing}
    write_json(options, found)
    for outcome in refused:
        say(f"REFUSED {outcome.id}{f' ({outcome.verdict})' if outcome.verdict else ''}: {outcome.complaint}")
    for name, difference in differing:
        say(f"DIFFERS {name}: {difference}")
    listed = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    trusted = f"; {len(by_solver)} rest on a solver's word, not verified" if by_solver else ""
    seconds = time.perf_counter() - start
    say(f"verified {len(verified)} of {len(claims)} claims in {seconds:.2f} s: {listed}{trusted}")
    if by_solver:
        say(f"resting on a solver's word: {', '.join(outcome.id for outcome in by_solver)}")
    if options.against and not differing:
        say(f"every statement is the one that {options.against} makes, word by word, and what is shown beside it")
        if again:
            say(f"settled again, with the same result: {again}")
    papers = list(dict.fromkeys(claim["paper"] for claim in report["claims"]))
    marks = {name: digest([claim for claim in report["claims"] if claim["paper"] == name])[:16] for name in papers}
    marks |= {"all": digest(report["claims"])[:16]} if len(papers) > 1 else {}
    say(f"digest of the claims, as on the pages: {', '.join(f'{name} {mark}' for name, mark in marks.items())}")
    return int(bool(refused or differing or (options.strict and by_solver)))


def _differences(report: dict[str, Any], source: str, progress: Progress) -> tuple[list[tuple[str, str]], int]:
    """The report's differences from its source, which is built anew, and the number of claims that were settled again.

    Settled again are those of which the checker alone cannot tell what the source's own run says: undecided ones, those
    that rest on a solver, and counterexamples, which two engines find.
    """
    from ldp_audit.claims.loading import load_claims, load_papers, paper_keys
    from ldp_audit.claims.manifest import against, settled_otherwise
    from ldp_audit.claims.recheck_report import is_told_by_settling
    from ldp_audit.claims.settling import settle_claim
    from ldp_audit.reports.document import claim_record, paper_record, stated_record

    loaded = load_papers(source) if source in ("all", *paper_keys()) else [load_claims(source)]
    reported = {(claim["paper"], claim["id"]): claim for claim in report["claims"]}
    made, differing, again = [], [], 0
    for paper in loaded:
        for name in paper.claims.ids:
            try:
                made.append(stated_record(paper, paper.claims.named(name)))
                claim = reported.get((paper.key, name))
                if claim is not None and is_told_by_settling(claim):
                    progress(f"settling {name} again")
                    again += 1
                    record = claim_record(paper, settle_claim(paper.claims.named(name), _SECONDS))
                    differing += settled_otherwise(claim, record)
            except ValueError as error:
                differing.append((name, f"the source cannot build it: {error}"))
    progress("drawing the figures")
    drawn = [(paper.key, figure) for paper in loaded if paper.figures for figure in paper.figures()]
    records = [paper_record(paper) for paper in loaded]
    _solved(loaded, records, report["papers"])
    figures = [{"paper": key, **figure.to_dict()} for key, figure in drawn]
    differing += against(report, {"claims": made, "papers": records, "figures": figures})
    return differing, again


_SECONDS = 60.0
"""For a claim that is settled again, as in `check`."""


def _solved(loaded: Sequence[Paper], records: Sequence[dict[str, Any]], shown: Sequence[dict[str, Any]]) -> None:
    """Add to the mechanisms what `report --claims` adds, if the report has it."""
    from ldp_audit.cli.report_sections import solve

    for paper, record, other in zip(loaded, records, shown, strict=False):
        plain = {key for one in record["mechanisms"] for key in one}
        if any(one.keys() - plain for one in other["mechanisms"]):
            solve(paper, record)
