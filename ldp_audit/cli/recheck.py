"""ldp-audit recheck: verify a report's evidence again, without the engines."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from ldp_audit.cli.files import read_json, write_json


def add_arguments(recheck: argparse.ArgumentParser) -> None:
    """The options of `ldp-audit recheck`."""
    recheck.add_argument("file", type=Path, metavar="FILE", help="a report.json")


def run(options: argparse.Namespace) -> int:
    """Print what was verified and what was not; 1 if anything was refused, else 0. Raises ValueError for bad input."""
    from collections import Counter
    from dataclasses import asdict

    from ldp_audit.claims.recheck_report import recheck_claims

    start = time.perf_counter()
    outcomes = list(recheck_claims(read_json(options.file)))
    refused = [outcome for outcome in outcomes if outcome.complaint]
    counts = Counter(outcome.verdict for outcome in outcomes if not outcome.complaint)
    write_json(options, {"claims": [asdict(outcome) for outcome in outcomes], "refused": len(refused)})
    for outcome in refused:
        print(f"REFUSED {outcome.id} ({outcome.verdict}): {outcome.complaint}")
    listed = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    seconds = time.perf_counter() - start
    print(f"verified {len(outcomes) - len(refused)} of {len(outcomes)} claims in {seconds:.2f} s: {listed}")
    open_parts = [outcome.id for outcome in outcomes if outcome.unverified]
    if open_parts:
        print(f"resting on a solver's word alone, not verified: {', '.join(open_parts)}")
    return int(bool(refused))
