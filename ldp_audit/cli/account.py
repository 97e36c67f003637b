"""ldp-audit account: the epsilon of a protocol, by step and in every convention; or of another accountant's events."""

from __future__ import annotations

import argparse
from pathlib import Path

from ldp_audit.cli.command_line import HOLDS, check_writable, write_json
from ldp_audit.cli.console import say, text_columns
from ldp_audit.files import read_json
from ldp_audit.progress import Progress


def add_arguments(account: argparse.ArgumentParser) -> None:
    """The options of `ldp-audit account`."""
    add = account.add_argument
    add("protocol", nargs="?", metavar="FILE|NAME", help="a protocol.toml, or the name of a shipped one")
    add("--from", dest="events", type=Path, metavar="FILE", help="dp-accounting's events or Opacus' history, as JSON")
    add(
        "--claimed",
        type=float,
        metavar="E",
        help="--from: the epsilon that was printed, at --delta; exit 1 if too small",
    )
    add("--delta", type=float, default=1e-5, metavar="D", help="where epsilon is not pure; 1e-5 by default")
    add(
        "--width",
        type=float,
        default=1e-4,
        metavar="W",
        help="what a grid may add to the distance of the certified bounds, nats; a larger one is faster",
    )
    add("--list", action="store_true", help="the protocols that are shipped")
    add("--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    """Print the account, or the list; 0, or 1 where a number that was printed is refuted. ValueError for bad input."""
    if options.events is not None:
        return _foreign(options)
    if options.claimed is not None:
        raise ValueError(f"claimed must be given with --from alone, got {options.claimed}")
    from ldp_audit.accounting.protocols.protocol_file import load_protocol, named, shipped

    if options.list:
        loaded = {name: load_protocol(name) for name in shipped()}
        write_json(options, {"protocols": {name: one.name for name, one in loaded.items()}})
        width = max(map(len, loaded), default=0)
        say("\n".join(f"{name:<{width}}  {one.name}" for name, one in loaded.items()) or "no protocol is shipped")
        return 0
    if options.protocol is None:
        raise ValueError(f"a protocol file or name is missing; --list shows the shipped ones: {named()}")
    from ldp_audit.accounting.protocols.protocol_report import account

    with Progress(options.quiet) as progress:
        progress(f"reading {options.protocol}")
        protocol = load_protocol(options.protocol)
        check_writable(options)
        report = account(protocol, delta=options.delta, width=options.width, progress=progress)
    write_json(options, report.to_dict())  # first: whoever reads what is printed may close the pipe
    say(report.describe(width=text_columns()))
    return 0


_REFUTED = 1


def _foreign(options: argparse.Namespace) -> int:
    """Print what another accountant's events spend, and what is to be said of the numbers that it printed."""
    from ldp_audit.accounting.converted import plain
    from ldp_audit.accounting.events import account_verdict, claimed_by, from_events
    from ldp_audit.accounting.privacy_loss import neighbours

    if options.protocol is not None or options.list:
        raise ValueError(f"a protocol and --list are no business of --from, got {options.protocol or '--list'}")
    check_writable(options)
    document = read_json(options.events)
    loss, claims = from_events(document), claimed_by(document)
    if options.claimed is not None:
        claims.append(account_verdict(loss, options.claimed, options.delta))
    low, high = loss.epsilon_bounds(delta=options.delta)
    bounds = {"delta": options.delta, "lower": plain(low), "upper": plain(high)}
    said = {"neighbours": neighbours(loss.adjacency), "assumptions": list(loss.assumptions)}
    write_json(options, {**bounds, **said, "claims": [claim.to_dict() for claim in claims]})
    say(f"epsilon at delta {options.delta:g} in [{low:.9g}, {high:.9g}]; neighbours: {neighbours(loss.adjacency)}")
    for line in [*(claim.describe() for claim in claims), *(f"  {words}" for words in loss.assumptions)]:
        say(line)
    return _REFUTED if any(claim.verdict == "refuted" for claim in claims) else HOLDS
