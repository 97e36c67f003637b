"""How often an event occurs among n shuffled reports, as a privacy loss: exact, for others who are all alike.

Whoever sees the shuffled reports can count those in a set. If client 1's report lies there with one probability or the
other and each other client's with a third, the count's loss is `anonymous_counts.loss_of_count`, a formula. For reports
of two values the count is all there is to see; of other mechanisms' shuffled reports it is a part, so a lower end.
"""

from __future__ import annotations

import math

import numpy as np

from ldp_audit.accounting.anonymous_counts import Chance, loss_of_count
from ldp_audit.accounting.laws.binomial_window import binomial_window
from ldp_audit.accounting.laws.finite_losses import atoms_of
from ldp_audit.accounting.laws.loss_law import LossLaw

_REACH = 745.0
_MOST = 10**6


def event_count(n: int, first: Chance, second: Chance, others: Chance) -> LossLaw:
    """The loss of the count between client 1's two hypotheses.

    n: clients, >= 1.   first, second: client 1's chances of the event.   others: each of the n - 1 others'.
    Of more than a million clients, counts less probable than e**-745 times the likeliest are not listed one by one:
    their mass, below that of any float, goes to the largest and the smallest loss.
    """
    chances = (_log(others.upper), _log(others.lower))
    window = binomial_window(n - 1, *chances, _REACH, most=_MOST)
    counts = np.append(window.counts, window.counts[-1] + 1)
    stays, moves = np.append(window.log_masses, -math.inf), np.insert(window.log_masses, 0, -math.inf)
    logs = np.logaddexp(stays + _log(first.lower), moves + _log(first.upper))
    losses = loss_of_count(counts, n, first, second, others)
    if window.log_missed > -math.inf:
        ends = loss_of_count(np.array([0.0, float(n)]), n, first, second, others)
        losses, logs = np.append(losses, ends), np.append(logs, np.full(2, window.log_missed))
    finite = np.isfinite(losses)
    return atoms_of(
        losses[finite], logs[finite], float(np.logaddexp.reduce(logs[losses == math.inf], initial=-math.inf))
    )


def _log(chance: float) -> float:
    return math.log(chance) if chance > 0 else -math.inf
