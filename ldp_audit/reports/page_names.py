"""File names of pages: a function of the claims alone, and inside the report's folder."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

_LONGEST = 60


def claim_pages(claims: Sequence[dict[str, Any]]) -> dict[tuple[str, str], str]:
    """The page of each claim, by its paper and its id: claims/ID.html, relative to the report's folder.

    An id that is no file name, or equals another's up to case, gets digits of a hash of the paper and the id.
    """
    keys = [(claim["paper"], claim["id"]) for claim in claims]
    plain = {key: _plain(key[1]) for key in keys}
    often = Counter(name.lower() for name in plain.values())
    return {
        key: f"claims/{name if name == key[1] and often[name.lower()] == 1 else f'{name}-{_digits(key)}'}.html"
        for key, name in plain.items()
    }


def paper_pages(papers: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The page of each paper by its key: papers/KEY.html."""
    keys = [paper["key"] for paper in papers]
    often = Counter(_plain(key).lower() for key in keys)
    return {
        key: f"papers/{name if name == key and often[name.lower()] == 1 else f'{name}-{_digits((key,))}'}.html"
        for key, name in ((key, _plain(key)) for key in keys)
    }


def claim_anchors(claims: Sequence[dict[str, Any]]) -> dict[tuple[str, str], str]:
    """A unique HTML id for each claim on a page of all, by its paper and its id: the id itself if possible."""
    keys = [(claim["paper"], claim["id"]) for claim in claims]
    often = Counter(name for _, name in keys)
    return {key: key[1] if often[key[1]] == 1 and not re.search(r"\s", key[1]) else _digits(key) for key in keys}


def is_figure_name(name: object) -> bool:
    """Whether figures/NAME.svg is a valid file name."""
    return isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", name) is not None


def _plain(text: str) -> str:
    """Letters, digits, hyphens and dots (not first) of the text; "claim" if there are none."""
    kept = re.sub(r"[^A-Za-z0-9.-]+", "-", text).strip("-.")[:_LONGEST]
    return kept or "claim"


def _digits(key: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join(key).encode()).hexdigest()[:8]
