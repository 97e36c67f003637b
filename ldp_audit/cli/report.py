"""ldp-audit report: papers, mechanisms, implementation findings, audits, accounting and training in one document."""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import sys
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from ldp_audit.cli import report_sections as gather
from ldp_audit.cli.check import papers_asked_for
from ldp_audit.cli.command_line import check_writable, write_json
from ldp_audit.cli.console import say
from ldp_audit.progress import Progress

SECTIONS = ("mechanisms", "implementation", "audits", "accounting")


def add_arguments(report: argparse.ArgumentParser) -> None:
    """The options of `ldp-audit report`."""
    what = report.add_argument_group("what is in it")
    source = what.add_mutually_exclusive_group()
    source.add_argument("--paper", metavar="KEY", help="settle a shipped paper's claims; by default all")
    source.add_argument("--claims", metavar="MODULE", help="settle the claims of a module of your own instead")
    source.add_argument("--from", dest="source", type=Path, metavar="FILE", help="take the claims of a report.json")
    add = what.add_argument
    add("--audits", type=Path, nargs="+", metavar="FILE", help="show these results of `audit --json`, and no others")
    add(
        "--protocol",
        action="append",
        metavar="NAME|FILE",
        help="account for this one; by default for all that are shipped",
    )
    add("--training", type=Path, nargs="+", default=[], metavar="DIR", help="show these folders of `train --out`")
    add("--demonstrations", action="store_true", help="train the three pipelines' demonstrations first, in minutes")
    add("--without", action="append", default=[], choices=SECTIONS, help="leave a section out; may be repeated")
    add(
        "--with",
        dest="also",
        action="append",
        default=[],
        choices=SECTIONS,
        help="the shipped section beside things of yours; may be repeated",
    )
    add = report.add_argument_group("output").add_argument
    add("--out", type=Path, required=True, metavar="DIR", help="write index.html and everything it leads to there")
    add(
        "--fail-on",
        choices=["refuted", "undecided"],
        help="exit 1, and fail in junit.xml, if a claim is refuted or an audit violated; or not even decided",
    )
    add("--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    """Gather, write, print the place; 1 for `--fail-on`, 2 for a malformed claim, else 0; or ValueError."""
    from collections import Counter

    from ldp_audit.reports import junit, write
    from ldp_audit.reports.sections import whole

    start = time.perf_counter()
    check_writable(options)
    with Progress(options.quiet) as progress:
        report = _gathered(options, progress)
        progress("writing")
        files = whole.rendered(report, options.fail_on)
    write.write_files(options.out, files)
    write_json(options, report)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in report["summary"].items())
    if report["claims"]:
        others = "; of the papers' own" if report["not_the_papers"] else ""
        say(f"{len(report['claims'])} claims{others}: {counts or 'none'}")
    found = Counter(one.verdict or "no claim" for one in junit.audited(report))
    if found:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in found.most_common())
        say(f"{found.total()} audit{'s' * (found.total() > 1)}: {counts}")
    size = sum(len(text.encode()) for text in files.values()) / 1e6
    say(
        f"report: {options.out / 'index.html'} ({len(files)} files, {size:.1f} MB, {time.perf_counter() - start:.0f} s)"
    )
    for error in report["failed"]:
        say(f"not settled: {error}", sys.stderr)
    return 2 if report["failed"] else int(junit.gate(report, options.fail_on))


def _gathered(options: argparse.Namespace, progress: Progress) -> dict[str, Any]:
    """The report's data; input files are read first, as they may be invalid."""
    from ldp_audit.claims.manifest import digests_of_sections

    own = bool(options.claims or options.source or options.audits or options.protocol or options.training)
    asked = {*options.also, "accounting"} if options.protocol else {*options.also}
    wanted = (asked if own else {*SECTIONS}) - {*options.without}
    audited = gather.audits_read(options.audits) if options.audits else None
    training = gather.training_read(options.training)
    options.paper = options.paper or ("" if own else "all")
    papers = papers_asked_for(options) if options.claims or options.paper else []
    claims = gather.claims_read(options.source) if options.source else None
    protocols = _protocols(options) if "accounting" in wanted else []
    found: dict[str, Any] = {
        **(claims or _settled(papers, progress)),
        "made": _made(options, own=own),
        "mechanisms": gather.mechanisms(progress) if "mechanisms" in wanted else [],
        "implementation": gather.implementation(progress) if "implementation" in wanted else [],
        "audits": audited or (gather.audits(progress) if "audits" in wanted else []),
        "training": training + (_demonstrations(options, len(training), progress) if options.demonstrations else []),
        "accounting": gather.accounting(protocols, progress),
    }
    if options.claims:
        for paper, record in zip(papers, found["papers"], strict=True):
            gather.solve(paper, record)
    return {**found, "sections": digests_of_sections(found)}


def _made(options: argparse.Namespace, *, own: bool) -> dict[str, Any]:
    """The command line, the day, and the files that it names, each with its digest."""
    module = Path(str(options.claims or "")) if str(options.claims or "").endswith(".py") else None
    named = [module, options.source, *(options.audits or []), *map(Path, options.protocol or [])]
    files = [path for path in named if path is not None and path.is_file()]
    inputs = [
        {"file": path.name, "bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        for path in files
    ]
    seconds = os.environ.get("SOURCE_DATE_EPOCH")  # the day of reproducible builds
    day = date.fromtimestamp(int(seconds)) if seconds else date.today()
    return {"own": own, "command": shlex.join(["ldp-audit", *options.typed]), "date": day.isoformat(), "inputs": inputs}


def _settled(papers: Sequence[Any], progress: Progress) -> dict[str, Any]:
    from ldp_audit.claims.settling import settle_claim
    from ldp_audit.reports import document

    pairs, failed = [], []
    for paper in papers:
        settled = []
        for place, name in enumerate(paper.claims.ids, start=1):
            progress(f"claims of {paper.key}: {place} of {len(paper.claims)}")
            try:
                settled.append(settle_claim(paper.claims.named(name)))
            except ValueError as error:
                failed.append(str(error))
        pairs.append((paper, settled))
    progress("figures")
    figures = [(paper.key, figure) for paper in papers if paper.figures for figure in paper.figures()]
    return document.build(pairs, figures, failed)


def _protocols(options: argparse.Namespace) -> list[str]:
    from ldp_audit.accounting.protocols.protocol_file import load_protocol, shipped

    names = [one for name in options.protocol or ["all"] for one in (shipped() if name == "all" else [name])]
    for name in names:
        load_protocol(name)
    return list(dict.fromkeys(names))


def _demonstrations(options: argparse.Namespace, before: int, progress: Progress) -> list[dict[str, Any]]:
    """The documents of the three pipelines' demonstrations, each with a folder of its own under --out."""
    from ldp_audit.reports import training_page, write
    from ldp_audit.training.data import data_for
    from ldp_audit.training.experiment import run_experiment
    from ldp_audit.training.figures import figures
    from ldp_audit.training.pipeline import PIPELINES, demonstration_of, plan_class

    found = []
    for name in PIPELINES if options.demonstrations else ():
        plan = plan_class(name)
        folder = options.out / "training" / name
        data = data_for(plan.embedded, None, None, {})
        again = (folder / "sweep.json").exists()
        results = run_experiment(name, demonstration_of(plan), data, folder=folder, resume=again, progress=progress)
        write.write_files(folder, training_page.rendered(results, figures(results)))
        found.append(gather.trained(results, before + len(found) + 1))
    return found
