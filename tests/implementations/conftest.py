"""What the tests of shipped samplers share."""

from __future__ import annotations

import pytest

from tests.implementations.shipped_runs import Draw, drawing


@pytest.fixture
def draw(monkeypatch: pytest.MonkeyPatch) -> Draw:
    """Replays chosen words through a shipped sampler."""
    return drawing(monkeypatch)
