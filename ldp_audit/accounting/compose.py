"""Composition: what several reports spend together.

The losses of independent reports add up, and a sum of dominating losses dominates; also where each mechanism is chosen
after the reports before it, as long as each one's pair dominates whatever was chosen (Zhu, Dong, Wang, AISTATS 2022,
Theorem 10). What is exact stays exact where it can:

* one loss of two values, any number of times: a binomial sum (`BinomialLoss`);
* Gaussian noises: one Gaussian;
* few losses: the sum of all combinations (`combinations_of_losses`).

All else has certified lower and upper bounds: where noises are among the losses, sampled Gaussian ones too, from the
inversion of the sum's characteristic function (`inverted_sum`); where that is not tight, for fewer than six losses and
where there are no noises, from one grid (`grid_loss`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.privacy_loss_of import privacy_loss
from ldp_audit.losses.budget_arguments import whole
from ldp_audit.losses.discretisation import grouped
from ldp_audit.losses.enclosed_loss import BracketedLoss
from ldp_audit.losses.finite_losses import EVERYTHING, NOTHING, sum_of_losses
from ldp_audit.losses.grid_loss import check_width, compose_on_grid
from ldp_audit.losses.grid_plan import WIDTH
from ldp_audit.losses.inverted_sum import inverted_sum
from ldp_audit.losses.loss import ImproperLoss, PairLoss
from ldp_audit.losses.moment_bound import with_moments
from ldp_audit.losses.noise_losses import GaussianLoss

ADAPTIVE = "a report's mechanism may depend on the reports before it, but not its privacy loss, nor how many there are"
"""What every composition here rests on."""

MOST_ON_GRID = 10**10
"""How often a loss may count in a sum that only a grid can tell: beyond, its ends say nothing, or take hours."""

MOST_DISTINCT = 1e150
"""The ratio of sensitivity and sigma whose square, the loss, is still a float."""

Counted = list[tuple[PairLoss, int]]


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


def composed(laws: Sequence[tuple[PairLoss, int]], width: float = WIDTH) -> PairLoss:
    """The law of the sum of independent losses, each so many times; times are whole, >= 1.   width: see `compose`."""
    if not all(law.known for law, _ in laws):
        ends = [(law.enclosed(), times) for law, times in laws]
        lower, upper = (composed([(pair[i], times) for pair, times in ends], width) for i in (0, 1))
        return BracketedLoss(lower, with_moments(upper, laws))
    parts = [(law.finite_part(), times) for law, times in laws]
    first = math.fsum(times * log_first for (_, log_first, _), times in parts)
    second = math.fsum(times * log_second for (_, _, log_second), times in parts)
    if -math.inf in (first, second):
        return EVERYTHING
    common = _finite([(part[0], times) for part, times in parts], width)
    return common if first == second == 0 else ImproperLoss(common, first, second)


def _checked(item: Any) -> tuple[PrivacyLoss, int]:
    try:
        one, times = item
    except (TypeError, ValueError):
        raise ValueError(f"items must be pairs (mechanism or loss, times), got {item!r}") from None
    return privacy_loss(one), whole(times, "times", 0)


def _finite(laws: Counted, width: float) -> PairLoss:
    """The sum of losses that are never infinite."""
    summands = [(one, count * times) for law, times in laws for one, count in law.summands() if one.largest() > 0]
    parts = _grouped(summands)
    if not parts:
        return NOTHING
    if len(parts) == 1 and (closed := parts[0][0].repeated(parts[0][1])) is not None:
        return closed
    return sum_of_losses(parts) or inverted_sum(compose_on_grid(_countable(parts), width=width))


def _grouped(laws: Counted) -> Counted:
    """Equal losses once, with all their times: losses of two values singly, Gaussian noises as one."""
    noises = [(law.dominating_gaussian(), times) for law, times in laws]
    mus = [(mu, times) for (mu, same), times in noises if same]
    others = [part for part, ((_, same), _) in zip(laws, noises, strict=True) if not same]
    if not mus:
        return grouped(others)
    scale = max(mu for mu, _ in mus)  # whose square may lie beyond the range of floats
    total = scale * math.sqrt(math.fsum(times * (mu / scale) ** 2 for mu, times in mus))
    if others and total > MOST_DISTINCT:
        raise ValueError(f"sensitivity over sigma must be at most {MOST_DISTINCT:g} beside other losses, got {total:g}")
    return [(GaussianLoss(total), 1), *grouped(others)]


def _countable(laws: Counted) -> Counted:
    """What a grid can still tell something of; ValueError for more."""
    most = max(times for _, times in laws)
    if most > MOST_ON_GRID:
        raise ValueError(
            f"times must be at most 10**10 for losses of more than two values that are no Gaussian noise, got {most}"
        )
    return laws
