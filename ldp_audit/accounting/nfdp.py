"""Noise-free differential privacy: a random sample of the records is released as it is, once or in fresh rounds.

With q the chance that a record is in one of the samples, all that tells neighbours apart is whether it is:

* "add/remove", from the data with the record: loss infinite with probability q, else ln(1 - q); delta = q throughout;
* back, from the data without it: loss -ln(1 - q); delta = (1 - e**epsilon (1 - q))_+;
* "replace": loss infinite with probability q, else 0; delta = q throughout, both ways.

This is `subsample` of the mechanism that shows its input. The paper's neighbours (Sun, Lyu, IJCAI 2021) have one record
more or less than the n; of the two the data with one less tell more, and are the ones meant here. Where they cannot
supply k records without replacement (k = n) every output tells them apart.
"""

from __future__ import annotations

import math

from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.sampling.subsample import SECRECY, Adjacency
from ldp_audit.losses.budget_arguments import whole
from ldp_audit.losses.finite_losses import EVERYTHING, NOTHING
from ldp_audit.losses.loss import ImproperLoss, LossLaw
from ldp_audit.losses.sampled_loss import SamplingRate
from ldp_audit.mechanisms.subsample_release import SubsampleRelease


def nfdp(
    n: int, k: int, *, replacement: bool = False, adjacency: Adjacency = "add/remove", rounds: int = 1
) -> PrivacyLoss:
    """The exact loss of releasing k of n records, or so many fresh samples.

    n, k, replacement: as `SubsampleRelease` takes them.   rounds: samples drawn independently of each other, >= 1; one
    that is drawn once and used throughout counts once.
    returns: for "add/remove" the direction from the data with the record, then back; a single one for "replace".
    Raises ValueError for anything else.
    """
    release = SubsampleRelease(n, k, replacement)
    if adjacency not in ("add/remove", "replace"):
        raise ValueError(f"adjacency must be add/remove or replace, got {adjacency!r}")
    drawn = SamplingRate.with_replacement if replacement else SamplingRate.without_replacement
    left_out = drawn(release.n, release.k, whole(rounds, "rounds")).log_left_out
    if adjacency == "replace":
        return PrivacyLoss((_released(left_out, left_out),), (SECRECY,))
    released = _released(left_out, 0.0)
    return PrivacyLoss((released, released.mirrored()), (SECRECY,))


def _released(log_first: float, log_second: float) -> LossLaw:
    """Samples without the record, of these probabilities, are the same in both laws; no other sample is in both."""
    if log_first == -math.inf:
        return EVERYTHING
    return ImproperLoss(NOTHING, log_first, log_second) if log_first < 0 else NOTHING
