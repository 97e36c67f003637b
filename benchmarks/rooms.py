"""The rooms of the package, drawn from their imports as an SVG on standard output, or their sizes.

    python benchmarks/rooms.py > docs/assets/rooms.svg
    python benchmarks/rooms.py --table

A room is a folder or a file of ldp_audit, one floor above the highest room that it imports; arrows implied by a longer
path are left out. Lines are those of the files, docstrings included.
"""

from __future__ import annotations

import argparse
import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "ldp_audit"
_WIDE, _HIGH, _ACROSS, _DOWN = 140, 36, 172, 72


def rooms() -> dict[str, list[Path]]:
    """Each room's files, without the names of the package itself."""
    found: dict[str, list[Path]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room != "__init__":
            found.setdefault(room, []).append(path)
    return found


def imports(files: list[Path]) -> set[str]:
    """The rooms that these files import, inside functions too."""
    found: set[str] = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            found |= {name.split(".")[1] for name in names if name.startswith("ldp_audit.")}
    return found


def arrows(found: dict[str, list[Path]]) -> dict[str, set[str]]:
    """The imports of each room among rooms below it."""
    return {room: (imports(files) & set(found)) - {room} for room, files in found.items()}


def floors(below: dict[str, set[str]]) -> dict[str, int]:
    """The floor of each room; ValueError for circular imports."""
    known: dict[str, int] = {}
    while len(known) < len(below):
        ready = [room for room in below if room not in known and below[room] <= set(known)]
        if not ready:
            raise ValueError(f"rooms import each other: {', '.join(sorted(set(below) - set(known)))}")
        known |= {room: max((known[one] + 1 for one in below[room]), default=0) for room in ready}
    return known


def shortest(below: dict[str, set[str]]) -> set[tuple[str, str]]:
    """The arrows that no longer path implies."""

    def reach(room: str) -> set[str]:
        return below[room].union(*(reach(one) for one in below[room]))

    return {
        (room, one)
        for room, direct in below.items()
        for one in direct
        if not any(one in reach(other) for other in direct - {one})
    }


def drawn() -> str:
    """The picture."""
    found = rooms()
    below = arrows(found)
    floor = floors(below)
    rows = [sorted(room for room in floor if floor[room] == height) for height in range(max(floor.values()) + 1)]
    wide, high = _ACROSS * max(map(len, rows)), _DOWN * len(rows)
    place = {
        room: (wide / 2 + (i - (len(row) - 1) / 2) * _ACROSS, high - (height + 0.5) * _DOWN)
        for height, row in enumerate(rows)
        for i, room in enumerate(row)
    }
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img" font-family="sans-serif" '
        'aria-label="The rooms of ldp_audit, each above those that it imports">',
        f'<rect width="{wide}" height="{high}" fill="#ffffff"/>',
        '<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#667788"/></marker>',
    ]
    for room, one in sorted(shortest(below)):
        (x, y), (to, end) = place[room], place[one]
        parts.append(
            f'<path d="M{x:g} {y + _HIGH / 2:g} L{to:g} {end - _HIGH / 2:g}" stroke="#667788" fill="none" '
            'marker-end="url(#tip)"/>'
        )
    for room, (x, y) in place.items():
        parts.append(
            f'<rect x="{x - _WIDE / 2:g}" y="{y - _HIGH / 2:g}" width="{_WIDE}" height="{_HIGH}" rx="6" fill="#e8f0f7" '
            'stroke="#0b62a4"/>'
            f'<text x="{x:g}" y="{y + 5:g}" text-anchor="middle" font-size="15" fill="#102030">{room}</text>'
        )
    return "\n".join([*parts, "</svg>"])


def table() -> str:
    """Files and lines of each room."""
    lines = ["| room | files | lines |", "|---|---|---|"]
    for room, files in rooms().items():
        count = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
        lines.append(f"| {room} | {len(files)} | {count:,} |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="files and lines of each room instead")
    print(table() if parser.parse_args().table else drawn())  # noqa: T201
