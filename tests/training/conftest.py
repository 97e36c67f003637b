"""Fixtures of training. One thread for torch, as `ldp-audit train` has it: networks this small are slower on two."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from ldp_audit.auditing.fresh import Fresh, NotFreshError


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """For the time of a test."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Convictions without the auditor's look for memory in a new process, to which tests/auditing holds it."""

    def counts(*_: object) -> None:
        raise NotFreshError("it is not started")

    monkeypatch.setattr(Fresh, "counts", counts)
