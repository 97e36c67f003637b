r"""The loss of a count of two-valued reports among clients whose chances are known one by one, at any depth.

With q the law of the n - 1 others' count, a Poisson binomial, the count's laws are

    P(k) = l q(k) + u q(k - 1),   and Q(k) likewise,

so the loss is a function of q(k - 1)/q(k), and a count that is rarer than any float has one as well (`count_masses`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ldp_audit.accounting.anonymous_counts import (
    MOST_CLIENTS,
    check_clients,
    gap_of,
    hypotheses,
    loss_of_neighbours,
)
from ldp_audit.accounting.laws.count_masses import checked_chances, count_masses, neighbouring_masses
from ldp_audit.losses.finite_losses import atoms_of
from ldp_audit.losses.loss import LossLaw


def placed_count(n: int, epsilon: float, others: ArrayLike) -> LossLaw:
    """The loss while client 1 is at the upper end of its range, against the lower one.

    n: clients, 1 .. 10**6.   epsilon: of one report, nats, > 0, at most 350.
    others: n - 1 chances of an upper report, one each, none between 0 and 1e-160; takes n**2 steps.
    Raises ValueError for anything else.
    """
    check_clients(n, MOST_CLIENTS)
    first, second = hypotheses(epsilon, "other end")
    chances = checked_chances(others, n - 1)
    unsure = chances[(chances > 0) & (chances < 1)]  # the server knows the other reports
    stays, moves, powers = neighbouring_masses(*count_masses(unsure))
    losses = loss_of_neighbours(stays, moves, first, second, gap_of(epsilon, "other end"))
    return atoms_of(losses, np.log(first.lower * stays + first.upper * moves) + math.log(2) * powers)
