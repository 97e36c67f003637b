"""Small networks are fastest on one thread, which is how the driver trains them too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ldp_audit.training.device import repeatable
from tests.training.ldp_fl.small import CPU


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with repeatable(CPU, 1):
        yield
