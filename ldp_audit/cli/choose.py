"""ldp-audit choose: which mechanism answers a question with the least exact error at a budget."""

from __future__ import annotations

import argparse
from pathlib import Path

from ldp_audit.cli.command_line import HOLDS, check_writable, write_json, write_plot
from ldp_audit.cli.console import say, say_table
from ldp_audit.files import check_place
from ldp_audit.progress import Progress

_NONE_USABLE = 1


def add_arguments(choose: argparse.ArgumentParser) -> None:
    """The options of `ldp-audit choose`."""
    choose.add_argument("--users", type=int, required=True, metavar="N", help="how many people report")
    choose.add_argument("--epsilon", type=float, required=True, help="what one user may spend on all reports, in nats")
    choose.add_argument("--delta", type=float, default=0.0, help="and with it delta, 0 by default")
    asked = choose.add_mutually_exclusive_group(required=True)
    asked.add_argument("--answers", type=int, metavar="K", help="ask for the frequencies of K values")
    asked.add_argument("--numeric", action="store_true", help="ask for the mean of numbers in [-1, 1]")
    choose.add_argument("--dimension", type=int, default=1, metavar="D", help="of vectors of D numbers")
    choose.add_argument("--reports", type=int, default=1, metavar="R", help="each user answers R times")
    choose.add_argument("--shuffled", action="store_true", help="reports reach the server through a shuffler")
    choose.add_argument("--plot", type=Path, metavar="FILE.svg", help="draw errors over the bits of a report")
    choose.add_argument("--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    """Print the candidates, best first; 0, or 1 where none is usable. Raises ValueError for bad input."""
    from ldp_audit.accounting.choose import choose

    if options.plot:
        check_place(options.plot)
    check_writable(options)
    with Progress(options.quiet) as progress:
        found = choose(
            users=options.users,
            epsilon=options.epsilon,
            delta=options.delta,
            answers=options.answers,
            numeric=options.numeric,
            dimension=options.dimension,
            reports=options.reports,
            shuffled=options.shuffled,
            progress=progress,
        )
        if options.plot:
            write_plot(options.plot, found.figure(), progress)
    write_json(options, found.to_dict())
    say(found.question)
    say_table(found.table())
    for line in [*found.remarks(), found.verdict()]:
        say(line)
    return HOLDS if found.best else _NONE_USABLE
