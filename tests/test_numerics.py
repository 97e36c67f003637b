"""A bounded cache computes a value once, and drops the oldest first."""

from __future__ import annotations

from ldp_audit.numerics import BoundedCache


def test_a_cached_value_is_computed_once_and_the_oldest_is_dropped_first() -> None:
    cache: BoundedCache[str, str | None] = BoundedCache(2)
    computed: list[str] = []

    def ask(key: str, value: str | None) -> str | None:
        def compute() -> str | None:
            computed.append(key)
            return value

        return cache.get(key, compute)

    assert [ask("a", "first"), ask("b", None), ask("a", "other"), ask("b", "other")] == ["first", None, "first", None]
    assert computed == ["a", "b"]
    assert ask("c", "third") == "third"
    assert ask("b", "other") is None
    assert ask("a", "again") == "again"
    assert computed == ["a", "b", "c", "a"]
