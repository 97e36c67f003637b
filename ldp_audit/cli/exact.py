"""ldp-audit exact: exact epsilon, moments and profile of one mechanism."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ldp_audit.cli.command_line import check_writable, write_json, write_plot
from ldp_audit.cli.console import say
from ldp_audit.files import check_place
from ldp_audit.progress import Progress


def add_arguments(exact: argparse.ArgumentParser) -> None:
    """The options of `ldp-audit exact`."""
    exact.add_argument(
        "target",
        metavar="TARGET",
        help="TwoPoint(epsilon=1), channel.csv, package.module:name, or path/to/file.py:name",
    )
    exact.add_argument(
        "--plot", type=Path, metavar="FILE.svg", help="draw the profile, the trade-off curve and the variance"
    )
    exact.add_argument("--levels", type=_levels, metavar="E,E,...", help="where to evaluate the profile, in nats")
    exact.add_argument("--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    """Print epsilon, moments and profile; 0. Raises ValueError for bad input."""
    from ldp_audit.accounting.exact_summary import LEVELS, summarise
    from ldp_audit.mechanisms import target

    if options.plot:
        check_place(options.plot)
    check_writable(options)
    with Progress(options.quiet) as progress:
        progress(f"loading {options.target}")
        mechanism = target.load(options.target, progress=progress)
        progress(f"exact epsilon, moments and profile of {options.target}")
        summary = summarise(mechanism, options.levels or LEVELS, progress)
        if options.plot:
            from ldp_audit.accounting.exact_summary import profile_figure

            write_plot(options.plot, profile_figure(mechanism), progress)
    write_json(options, summary)
    say(summary["mechanism"])
    say(f"  {'neighbours':<20} {summary['adjacency']}")
    for name in ("exact_epsilon", "claimed_epsilon", "implemented_epsilon", "worst_pair"):
        if summary[name] is not None:
            say(f"  {name.replace('_', ' '):<20} {summary[name]}")
    for row in summary["moments"]:
        say(f"  at input {row['input']!s:<11} mean {_digits(row['mean'])}, variance {_digits(row['variance'])}")
    if summary["frequency_variance"]:
        rare, sure = (_digits(row["times_n"]) for row in summary["frequency_variance"])
        say(f"  {'frequency variance':<20} from n reports: {rare}/n for a value of nobody, {sure}/n for one of all")
    say(f"  {'epsilon':>10}  delta")
    for row in summary["profile"]:
        say(f"  {row['epsilon']!s:>10}  {row['delta']:.12g}")
    return 0


def _levels(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be numbers with commas between them, got {text!r}") from None


def _digits(number: Any) -> str:
    if isinstance(number, str):
        return number
    return f"[{', '.join(map(_digits, number))}]" if isinstance(number, list) else f"{number:.10g}"
