"""The inverse: the parameter with which a mechanism or a protocol just meets a budget.

Only the upper ends of epsilon and delta are used, and the returned value is checked, not trusted to the search: what
it spends is at most the budget. That nothing beyond it would do as well follows from the spending's being monotone
between the two ends that were given; the search can see that at the values that it visits, and says so where not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ldp_audit.accounting.calibration.calibration_search import Search
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses.budget_arguments import as_float, level, log_of_delta


@dataclass(frozen=True)
class Calibrated:
    """A parameter that meets a budget.

    value: the parameter.   spent: its epsilon at the budget's delta, nats, at most the budget's; spent_delta: its delta
    at the budget's epsilon, likewise.   excluded: the nearest value known not to meet the budget, at most `tolerance`
    of itself away (1 for whole numbers); None if every value in [low, high] meets it.
    loss: the privacy loss at `value`.   notes: what the reader should know.
    """

    value: float
    spent: float
    spent_delta: float
    excluded: float | None
    tolerance: float
    loss: PrivacyLoss = field(repr=False, compare=False)
    notes: tuple[str, ...] = ()

    @property
    def met_everywhere(self) -> bool:
        """Whether no value in the range was too much."""
        return self.excluded is None

    def describe(self) -> str:
        """One line for people."""
        end = () if self.excluded is None else (f"{self.excluded:.10g} would exceed the budget",)
        text = f"{self.value:.10g}: epsilon {self.spent:.9g}, delta {self.spent_delta:.6g} at the budget's epsilon"
        return "; ".join([text, *end, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "value": self.value,
            "spent_epsilon": self.spent,
            "spent_delta": self.spent_delta,
            "excluded": self.excluded,
            "tolerance": self.tolerance,
            "notes": list(self.notes),
        }


def calibrate(
    build: Callable[[Any], Any],
    *,
    epsilon: float,
    delta: float | None = 0.0,
    log_delta: float | None = None,
    low: float,
    high: float,
    increasing: bool | None = None,
    tolerance: float = 1e-6,
    whole: bool = False,
    near: float | None = None,
) -> Calibrated:
    """The parameter in [low, high] that spends the most of a budget (epsilon, delta) and does not exceed it.

    build: from a parameter to a `PrivacyLoss`, a mechanism, or anything that `privacy_loss` takes; the larger the
    parameter, the more (increasing=True) or the less (False) it must spend. If that is not given, the ends tell.
    delta: in [0, 1], or log_delta, its natural logarithm, with delta=None.
    low, high: the range, low < high, finite.   tolerance: how near the returned value must be to one that is known to
    exceed the budget, as a share of it.   whole: the parameter is a whole number, and the next one exceeds the budget.
    near: about where that is, which spares looks at the range's ends; takes `increasing`, and is no claim.
    Raises ValueError for bad numbers, and where the budget cannot be met in the range; that says what is spent there.
    """
    if not callable(build):
        raise ValueError(f"build must be a function from a parameter to a loss, got {build!r}")
    if near is not None and (increasing is None or math.isnan(as_float(near))):
        raise ValueError(f"near must be a number and needs increasing, got {near!r} and {increasing!r}")
    search = Search(build, level(epsilon), log_of_delta(delta, log_delta), tolerance, whole)
    safe, unsafe = search.ordered(low, high, increasing, compare=near is None and not whole)
    if whole and increasing is not None and near is None:
        near = safe  # the far end may be costly to build
    value, excluded = search.found(safe, unsafe, near)
    loss = search.loss(value)
    return Calibrated(
        value=value,
        spent=loss.epsilon(log_delta=search.target),
        spent_delta=loss.delta(search.epsilon),
        excluded=excluded,
        tolerance=1 if whole else tolerance,
        loss=loss,
        notes=search.notes(safe, excluded),
    )
