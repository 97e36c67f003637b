"""Composition: what several reports spend together.

The losses of independent reports add up, and a sum of dominating losses dominates; also where each mechanism is chosen
after the reports before it, as long as each one's pair dominates whatever was chosen (Zhu, Dong, Wang, AISTATS 2022,
Theorem 10). Which method adds them up, `losses/composition.py` says.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ldp_audit.accounting.privacy_loss import PrivacyLoss, privacy_loss
from ldp_audit.losses.budget_arguments import whole
from ldp_audit.losses.composition import composed
from ldp_audit.losses.grid_loss import check_width
from ldp_audit.losses.grid_plan import WIDTH

ADAPTIVE = "a report's mechanism may depend on the reports before it, but not its privacy loss, nor how many there are"
"""What every composition here rests on."""


def compose(items: Iterable[tuple[Any, int]], *, width: float = WIDTH) -> PrivacyLoss:
    """What these reports about one input spend together.

    items: pairs (mechanism or loss, times); as `privacy_loss` takes them, with whole times >= 0. A loss with two
    directions is composed direction by direction, first with first; one with a single direction counts in both.
    width: nats, how far apart the two ends of an epsilon may be where only a grid can tell the sum; met where its
        points allow. On a grid ten times wider is about three times quicker, and the ends are certain all the same.
    returns: exact where the parts are and their sum can be; no items spend nothing.
    Raises ValueError for anything else.
    """
    check_width(width)
    if not isinstance(items, Iterable):
        raise ValueError(f"items must be pairs (mechanism or loss, times), got {items!r}")
    listed = [_checked(item) for item in items]
    spent = [(loss, times) for loss, times in listed if times]
    if len(spent) == 1 and spent[0][1] == 1:
        return spent[0][0]
    sizes = [len(loss.directions) for loss, _ in spent]
    count = max(sizes, default=1)
    if any(size not in (1, count) for size in sizes):
        raise ValueError(f"items must have one direction each, or as many as the others, got {sizes}")
    directions = tuple(
        composed([(loss.directions[i % len(loss.directions)], times) for loss, times in spent], width)
        for i in range(count)
    )
    stated = [one for loss, _ in spent for one in loss.assumptions]
    return PrivacyLoss(directions, tuple(dict.fromkeys([*stated, ADAPTIVE] if spent else [])))


def _checked(item: Any) -> tuple[PrivacyLoss, int]:
    try:
        one, times = item
    except (TypeError, ValueError):
        raise ValueError(f"items must be pairs (mechanism or loss, times), got {item!r}") from None
    return privacy_loss(one), whole(times, "times", 0)
