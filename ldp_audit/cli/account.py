"""ldp-audit account: the epsilon of a protocol, by step and in every convention, the paper's own included."""

from __future__ import annotations

import argparse

from ldp_audit.cli.command_line import check_writable, write_json
from ldp_audit.cli.console import say, text_columns
from ldp_audit.progress import Progress


def add_arguments(account: argparse.ArgumentParser) -> None:
    """The options of `ldp-audit account`."""
    add = account.add_argument
    add("protocol", nargs="?", metavar="FILE|NAME", help="a protocol.toml, or the name of a shipped one")
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
    """Print the account, or the list; 0. Raises ValueError for bad input."""
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
