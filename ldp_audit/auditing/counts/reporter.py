"""What a long test says while it runs: how far it is, and what its bound would be if it stopped here."""

from __future__ import annotations

import time
from collections.abc import Callable

from ldp_audit.auditing.counts.counting import Tally
from ldp_audit.auditing.two_proportions import Region

_SECONDS = 1.0  # between two lines, at least


def reporter(
    progress: Callable[[str], None] | None, error: float, design_epsilon: float, delta: float
) -> Callable[[Tally], None] | None:
    """What `count_all` hands its counts to; None without a progress to tell.

    error, design_epsilon: of the test of the first event.   delta: the claimed one.
    """
    if progress is None:
        return None
    last = [time.perf_counter()]

    def report(tally: Tally) -> None:
        if time.perf_counter() - last[0] < _SECONDS:
            return
        bound = Region(tally[0], error, design_epsilon, delta, fineness=0.05).epsilon_lower(delta)
        progress(f"test: {tally[0].trials} samples of each input, epsilon at least {bound:.4g} so far")
        last[0] = time.perf_counter()

    return report
