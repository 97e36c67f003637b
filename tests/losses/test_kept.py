"""What is kept is made once; the oldest goes first."""

from __future__ import annotations

from ldp_audit.losses.kept import Kept


def test_what_is_kept_is_made_once_and_the_oldest_goes_first() -> None:
    kept: Kept[str, str | None] = Kept(2)
    made: list[str] = []

    def ask(key: str, value: str | None) -> str | None:
        def make() -> str | None:
            made.append(key)
            return value

        return kept.of(key, make)

    assert [ask("a", "first"), ask("b", None), ask("a", "other"), ask("b", "other")] == ["first", None, "first", None]
    assert made == ["a", "b"]
    assert ask("c", "third") == "third"
    assert ask("b", "other") is None
    assert ask("a", "again") == "again"
    assert made == ["a", "b", "c", "a"]
