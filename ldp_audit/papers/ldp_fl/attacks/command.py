"""ldp-audit linkage: what anonymous, shuffled reports reveal, against what is promised."""

from __future__ import annotations

import argparse

from ldp_audit.cli.audit import count
from ldp_audit.cli.command_line import check_writable, write_json
from ldp_audit.cli.console import say
from ldp_audit.progress import Progress


def add_arguments(linkage: argparse.ArgumentParser) -> None:
    """The options of `ldp-audit linkage`."""
    add = linkage.add_argument
    add("--clients", type=count, required=True, metavar="N", help="that report in a round")
    add("--dimension", type=count, required=True, metavar="D", help="weights of the model; 1e5 is a number too")
    add("--rounds", type=count, default=1, metavar="R", help="in which the client takes part; 1 by default")
    add("--epsilon", type=float, required=True, metavar="E", help="of each report, in nats")
    add("--delta", type=float, default=1e-5, metavar="D", help="for the central epsilon; 1e-5 by default")
    add("--window", type=float, metavar="T", help="random delays are uniform on [0, T]; with --offset")
    add("--offset", type=float, metavar="D", help="by how much the client starts later than the others")
    add("--simulate", type=count, default=0, metavar="TRIALS", help="run the membership test so often; 0 by default")
    add("--seed", type=count, default=0, metavar="SEED", help="of the simulation; 0 by default")
    add("--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    """Print the report; 0. Raises ValueError for bad input."""
    from ldp_audit.papers.ldp_fl.attacks.linkage_report import linkage_report

    check_writable(options)
    with Progress(options.quiet) as progress:
        progress("membership test and linking attacks")
        report = linkage_report(
            options.clients,
            options.dimension,
            options.rounds,
            options.epsilon,
            delta=options.delta,
            window=options.window,
            offset=options.offset,
            trials=options.simulate,
            seed=options.seed,
            progress=progress,
        )
    write_json(options, report.to_dict())
    say(report.describe())
    return 0
