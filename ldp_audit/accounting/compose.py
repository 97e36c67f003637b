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
from ldp_audit.accounting.shuffling.moment_bound import with_moments
from ldp_audit.losses.binomial_loss import BinomialLoss
from ldp_audit.losses.budget_arguments import whole
from ldp_audit.losses.discrete_loss import LossAtoms, rounded, rounding_of
from ldp_audit.losses.discretisation import grouped
from ldp_audit.losses.enclosed_loss import BracketedLoss
from ldp_audit.losses.finite_losses import EVERYTHING, NOTHING, atoms_of, sum_of_losses
from ldp_audit.losses.grid_loss import check_width, compose_on_grid
from ldp_audit.losses.grid_plan import WIDTH
from ldp_audit.losses.inverted_sum import inverted_sum, parts_of
from ldp_audit.losses.loss import ImproperLoss, PairLoss, log_finite
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
    parts = [(_proper(law), times) for law, times in laws]
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


def _proper(law: PairLoss) -> tuple[PairLoss, float, float]:
    """The finite loss, and ln of the masses of P and of Q that have one."""
    if isinstance(law, ImproperLoss):
        return law.common, law.log_first, law.log_second
    if isinstance(law, LossAtoms) and (law.log_infinite > -math.inf or law.missing > -math.inf):
        first = log_finite(law.log_probabilities, law.log_infinite)
        second = log_finite(law.log_probabilities - law.losses, law.missing)
        if -math.inf in (first, second) or not law.losses.size:
            return NOTHING, -math.inf, -math.inf
        finite = atoms_of(law.losses - (first - second), law.log_probabilities - first)
        return rounded(finite, rounding_of(law)), first, second
    return law, 0.0, 0.0


def _finite(laws: Counted, width: float) -> PairLoss:
    """Of losses that are never infinite."""
    parts = _grouped([(law, times) for law, times in _single(laws) if not _is_nothing(law)])
    if not parts:
        return NOTHING
    if len(parts) == 1:
        law, times = parts[0]
        if isinstance(law, BinomialLoss):
            return BinomialLoss(law.high, law.low, times)
        if times == 1:
            return law
    finite = sum_of_losses(parts)
    if finite:
        return finite
    return inverted_sum(compose_on_grid(_countable(parts), width=width))


def _single(laws: Counted) -> Counted:
    """What sums are made of, in their place."""
    return [(one, count * times) for law, times in laws for one, count in parts_of(law)]


def _countable(laws: Counted) -> Counted:
    """What a grid can still tell something of."""
    noise = max((law.mu for law, _ in laws if isinstance(law, GaussianLoss)), default=0.0)
    if noise > MOST_DISTINCT:
        raise ValueError(f"sensitivity over sigma must be at most {MOST_DISTINCT:g} beside other losses, got {noise:g}")
    most = max(times for _, times in laws)
    if most > MOST_ON_GRID:
        raise ValueError(
            f"times must be at most 10**10 for losses of more than two values that are no Gaussian noise, got {most}"
        )
    return laws


def _is_nothing(law: PairLoss) -> bool:
    return isinstance(law, LossAtoms) and law.losses.size == 1


def _grouped(laws: Counted) -> Counted:
    """Equal losses once, with all their times: losses of two values singly, Gaussian noises as one."""
    found: Counted = []
    noises = [(law.mu, times) for law, times in laws if isinstance(law, GaussianLoss)]
    if noises:
        scale = max(mu for mu, _ in noises)  # whose square may lie beyond the range of floats
        total = scale * math.sqrt(math.fsum(times * (mu / scale) ** 2 for mu, times in noises))
        found.append((GaussianLoss(total), 1))
    return [*found, *grouped((law, times) for law, times in laws if not isinstance(law, GaussianLoss))]
