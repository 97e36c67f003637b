"""ldp-audit recheck: verify a report's evidence again, without the engines."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from ldp_audit.cli.command_line import write_json
from ldp_audit.cli.console import say
from ldp_audit.files import read_json
from ldp_audit.progress import Progress


def add_arguments(recheck: argparse.ArgumentParser) -> None:
    """The options of `ldp-audit recheck`."""
    add = recheck.add_argument
    add("file", type=Path, metavar="FILE", help="a report.json")
    add("--against", metavar="SOURCE", help="ldp-fl, fedsel, ..., all, or a module: are its statements the source's?")
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
        differing = _differences(report, options.against) if options.against else []
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
        say(f"every statement is the one that {options.against} makes, word by word")
    papers = list(dict.fromkeys(claim["paper"] for claim in report["claims"]))
    marks = {name: digest([claim for claim in report["claims"] if claim["paper"] == name])[:16] for name in papers}
    marks |= {"all": digest(report["claims"])[:16]} if len(papers) > 1 else {}
    say(f"digest of the claims, as on the pages: {', '.join(f'{name} {mark}' for name, mark in marks.items())}")
    return int(bool(refused or differing or (options.strict and by_solver)))


def _differences(report: dict[str, Any], source: str) -> list[tuple[str, str]]:
    """The report's statements that differ from the source's, which are rebuilt but not settled."""
    from ldp_audit.claims import papers
    from ldp_audit.claims.loading import load_claims
    from ldp_audit.claims.manifest import against
    from ldp_audit.reports.document import stated_record

    known = list(papers.PAPERS) if source == "all" else [source] if source in papers.PAPERS else []
    loaded = [papers.load(key) for key in known] or [load_claims(source)]
    made, failed = [], []
    for paper in loaded:
        for name in paper.claims.ids:
            try:
                made.append(stated_record(paper, paper.claims.named(name)))
            except ValueError as error:
                failed.append((name, f"the source cannot build it: {error}"))
    return [*failed, *against(report, made)]
