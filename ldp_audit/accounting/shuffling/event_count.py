"""How often an event occurs among n shuffled reports, as a privacy loss: exact, for others who are all alike.

Whoever sees the shuffled reports can count those in a set. If client 1's report lies there with one probability or the
other and each other client's with a third, the count's loss is `anonymous_counts.loss_of_count`, a formula. For reports
of two values the count is all there is to see; of other mechanisms' shuffled reports it is a part, so a lower end.
"""

from __future__ import annotations

import math

import numpy as np

from ldp_audit.accounting.anonymous_counts import Chance, loss_of_count
from ldp_audit.accounting.shuffling.count_loss import CountLoss
from ldp_audit.accounting.shuffling.stop_loss import Trials
from ldp_audit.losses.finite_losses import NOTHING, atoms_of
from ldp_audit.losses.loss import LossLaw

MOST_LISTED = 20_000
"""Of more clients the counts are not listed one by one."""


def event_count(n: int, first: Chance, second: Chance, others: Chance, gap: float) -> LossLaw:
    """The loss of the count between client 1's two hypotheses.

    n: clients, >= 1.   first, second: client 1's chances of the event, in (0, 1).
    others: each of the n - 1 others', likewise.   gap: how much larger the first's chance is: see `loss_of_count`.
    """
    if gap == 0:
        return NOTHING
    if n > MOST_LISTED:
        return CountLoss(n, first, second, others, gap)
    counts = np.arange(n + 1, dtype=np.float64)
    masses = Trials(n - 1, others.upper, others.lower).log_masses(counts[:-1]) if n > 1 else np.zeros(1)
    stays, moves = np.append(masses, -math.inf), np.insert(masses, 0, -math.inf)
    logs = np.logaddexp(stays + math.log(first.lower), moves + math.log(first.upper))
    return atoms_of(loss_of_count(counts, n, first, second, others, gap), logs)
