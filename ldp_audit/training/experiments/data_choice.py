"""The data of an experiment: what the command line names, or what the pipeline has embedded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ldp_audit.mechanisms.named_object import named_object
from ldp_audit.training.data import Images, Table, load


def data_for(plan: type, name: str | None, folder: Path | None, texts: Mapping[str, str]) -> Images | Table:
    """The data set of this name, "module:function" for a loader of the user's; the plan's own for None.

    texts: the loader's options, as the command line has them.
    Raises ValueError for unknown names and options, and for files that are not as expected.
    """
    chosen = name or getattr(plan, "embedded", None)
    if not chosen:
        raise ValueError("data must be named: this pipeline has no data of its own")
    options = {key: _value(text) for key, text in texts.items()}
    try:
        if ":" in chosen:
            function = named_object(chosen, f"data {chosen!r}")
            found = function(folder, **options) if folder is not None else function(**options)
        else:
            found = load(chosen, folder, **options)
    except TypeError as error:
        if "unexpected keyword argument" in str(error):
            raise ValueError(f"data {chosen!r} has no such option: {error}") from None
        if "positional argument" in str(error):
            raise ValueError(f"data {chosen!r} does not go with these options: {error}") from None
        raise
    if not isinstance(found, Images | Table):
        raise ValueError(f"data {chosen!r} must give Images or a Table, got {found!r:.80}")
    return found


def _value(text: str) -> Any:
    """A number, true or false where it reads as one, else the text."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)
