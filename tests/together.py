"""A table of cases as one test: all of it runs, and the failure lists every row that failed with its error."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


class Length:
    """Whether tables run at full length: conftest sets it with --slow."""

    full = False


def together(
    names: str | tuple[str, ...], rows: Iterable[Any], quick: int | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run the test once for each row, as `parametrize` does, but as one test; other arguments are fixtures.

    For many cheap rows that ask one question. Of dear ones the first `quick` run without --slow.
    Raises AssertionError, from the first error, that lists all failed rows.
    """
    table = [(row,) if isinstance(names, str) else tuple(row) for row in rows]
    given = (names,) if isinstance(names, str) else names
    assert table, "a test of no rows says nothing"

    def of(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def every_row(**fixtures: Any) -> None:
            failed: list[tuple[str, BaseException]] = []
            for row in table if Length.full else table[:quick]:
                try:
                    test(**dict(zip(given, row, strict=True)), **fixtures)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001
                    failed.append((f"{', '.join(map(repr, row))}: {type(error).__name__}: {error}", error))
            if failed:
                listed = "\n".join(line for line, _ in failed)
                raise AssertionError(f"{len(failed)} of {len(table)} rows fail\n{listed}") from failed[0][1]

        rest = [parameter for parameter in signature.parameters.values() if parameter.name not in given]
        every_row.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return every_row

    return of
