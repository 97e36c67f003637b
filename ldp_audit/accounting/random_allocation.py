"""Random allocation, or balls in bins: each record takes part in exactly k of t steps, chosen uniformly and in secret.

The loss of k = 1 is that of `losses/allocation.py`. For k > 1 let the t steps be divided at random, whatever the data,
into k parts of as equal sizes as can be: one step drawn from each part is k steps drawn from all, by symmetry. Shown
the parts, the loss is that of k allocations of one step each, and by joint convexity no smaller than without them. The
lower bound is then that of less: of Gaussian noise the sum of all reports, of any other noise a single one.
"""

from __future__ import annotations

import math
from typing import Any

from ldp_audit.accounting.privacy_loss import PrivacyLoss, compose, in_words, privacy_loss
from ldp_audit.accounting.subsample import both_ways
from ldp_audit.losses.allocation import MOST_STEPS, allocated
from ldp_audit.losses.composition import composed
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.hulls import known_bound
from ldp_audit.losses.loss import PairLoss, side
from ldp_audit.losses.noise_losses import GaussianLoss
from ldp_audit.losses.sampling_rate import SamplingRate
from ldp_audit.losses.subsampled_loss import subsampled
from ldp_audit.numerics import whole

_SECRECY = "which steps a record takes part in is secret, drawn for each record by itself, and afresh in each epoch"
_ABSENT = (
    "a record that is absent leaves the other records' steps as they are; the loss given is that of a step between "
    "data with and without a record that takes part"
)


def random_allocation(mechanism: Any, *, steps: int, times: int = 1, epochs: int = 1) -> PrivacyLoss:
    """The loss of a mechanism that runs at each of `steps` steps, of which each record takes part in `times`.

    mechanism: a step, a mechanism or a loss as `privacy_loss` takes them, between data with and without a record; with
        two directions, or one that is its own reverse. Steps may depend on the reports before them.
    steps: of an epoch, 1 .. 10**6.   times: 1 .. steps.   epochs: >= 1, each with a new allocation.
    returns: neighbours by add/remove, first from the data with the record. For `times=1` the bounds on epsilon of one
        epoch differ by some 1e-4 of it; for more the upper bound is that of the module's proof, the lower one is crude.
    Raises ValueError for anything else.
    """
    whole(steps, "steps", 1, MOST_STEPS)
    whole(times, "times", 1, steps)
    whole(epochs, "epochs", 1)
    loss = privacy_loss(mechanism, "add/remove")
    remove, add = both_ways(loss)
    found = tuple(_allocated(one, steps, times) for one in (remove, add.reversed()))
    drawn = f"each record takes part in exactly {times} of {steps} steps, drawn uniformly"
    words = f"({in_words(mechanism)} in {times} of {steps} steps at random)"
    stated = (*loss.assumptions, drawn, _SECRECY, _ABSENT)
    return compose([(PrivacyLoss((found[0], found[1].reversed()), stated, "add/remove", words), epochs)])


def _allocated(loss: PairLoss, steps: int, times: int) -> PairLoss:
    """The loss of one epoch, from that of a step; first the data with the record."""
    if times == 1:
        return allocated(loss, steps)
    if times == steps:
        return composed([(loss, times)])
    short, longer = steps // times, steps % times
    parts = [(allocated(loss, size), count) for size, count in ((short, times - longer), (short + 1, longer)) if count]
    mu, same = known_bound(loss, 0).dominating_gaussian()
    if same:
        lower: PairLoss = GaussianLoss(mu * times / math.sqrt(steps))
    else:
        lower = subsampled(known_bound(loss, 0), SamplingRate.without_replacement(steps, times))
    return EnclosedLoss(lower, side(composed(parts), 1))
