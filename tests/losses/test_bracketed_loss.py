"""Which laws know their losses, and which are enclosed by two that do."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldp_audit.losses.discrete_loss import LossAtoms
from ldp_audit.losses.enclosed_loss import BracketedLoss, ends_of, is_known, mixture
from ldp_audit.losses.loss import ImproperLoss, LossLaw
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.losses.profile_loss import ProfileLoss
from ldp_audit.mechanisms import Laplace

BETWEEN = BracketedLoss(LaplaceLoss(1.0), LaplaceLoss(2.0))


class OneForBoth:
    """A law that is enclosed by one object from both sides, and says whether that is because its losses are known."""

    exact = False

    def __init__(self, *, known: bool | None) -> None:
        if known is not None:
            self.known = known

    def enclosed(self) -> tuple[LossLaw, LossLaw]:
        law = GaussianLoss(1.0)
        return law, law


@pytest.mark.parametrize(
    ("law", "known"),
    [
        (GaussianLoss(1.0), True),
        (LossAtoms(np.zeros(1), np.zeros(1)), True),
        (ImproperLoss(LaplaceLoss(1.0), -0.1, -0.1), True),
        (BETWEEN, False),
        (ImproperLoss(BETWEEN, -0.1, -0.1), False),
        (mixture([(math.log(0.5), 0.0, LaplaceLoss(1.0)), (math.log(0.5), 0.0, BETWEEN)]), False),
        (ProfileLoss(Laplace(1.0).implemented()), False),
        (OneForBoth(known=False), False),
        (OneForBoth(known=True), True),
        (OneForBoth(known=None), False),
    ],
)
def test_a_law_says_whether_its_losses_are_known(law: LossLaw, known: bool) -> None:
    """Would catch a law that is taken for known because one object encloses it from both sides."""
    assert is_known(law) is known
    lower, upper = ends_of(law)
    assert (lower is law and upper is law) is known
    if not known:
        assert is_known(lower)
        assert is_known(upper)
        assert lower.log_delta_bounds(0.3)[0] <= upper.log_delta_bounds(0.3)[1]
