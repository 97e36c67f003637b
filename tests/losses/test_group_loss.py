"""Pure losses of any size."""

from __future__ import annotations

import math

from ldp_audit.losses.discrete_loss import ZERO_LOSS, pure_loss


def test_pure_losses_at_the_ends_of_their_range() -> None:
    assert pure_loss(0.0) is ZERO_LOSS
    assert pure_loss(math.inf).atoms() is not None
    assert pure_loss(math.inf).supremum() == math.inf
    assert pure_loss(2.0).supremum() == 2.0
