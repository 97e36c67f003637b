"""The list of checks of a report's pages: `python -m tests.reports.check_pages DIR`; 1 where one fails.

Every page is parsed; a few are opened in Chromium, where it is installed (`--all`: every page).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.reports.chromium import chromium, find_chromium
from tests.reports.in_browser import check_in_browser
from tests.reports.in_text import check_text
from tests.reports.outcome import Outcome


def checked(folder: Path, *, program: str | None, every: bool = False) -> list[Outcome]:
    """All outcomes.

    program: the browser; None leaves its checks out.   every: open each page, not a few of each kind.
    """
    found = check_text(folder)
    if program is None:
        return found
    with chromium(program) as browser:
        return [*found, *check_in_browser(browser, folder, _names(folder, every=every))]


def _names(folder: Path, *, every: bool) -> list[str]:
    """All top pages and papers; of the claims' pages the longest, the shortest and the middle one."""
    claims = sorted((folder / "claims").glob("*.html"), key=lambda path: path.stat().st_size)
    few = claims if every else [claims[place] for place in {0, len(claims) // 2, len(claims) - 1} if claims]
    paths = [*sorted(folder.glob("*.html")), *sorted((folder / "papers").glob("*.html")), *few]
    return [path.relative_to(folder).as_posix() for path in paths]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the list."""
    parser = argparse.ArgumentParser(prog="python -m tests.reports.check_pages", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="what `ldp-audit report --out DIR` wrote")
    parser.add_argument("--browser", default=find_chromium(), metavar="PROGRAM", help="chromium where it is found")
    parser.add_argument("--all", action="store_true", help="open every page in the browser, not a few of each kind")
    options = parser.parse_args(arguments)
    found = checked(options.folder, program=options.browser or None, every=options.all)
    lines = [one.describe() for one in found]
    failed = sum(not one.passed for one in found)
    lines += [] if options.browser else ["no chromium: nothing was opened in a browser"]
    lines.append(f"{len(found) - failed} of {len(found)} checks pass")
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
