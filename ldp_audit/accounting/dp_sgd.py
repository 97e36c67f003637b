"""What a training by noisy gradients spends (DP-SGD; Abadi et al. 2016), by how its batches are made.

Each step adds Gaussian noise to the sum of a batch's clipped gradients; the noise multiplier is the noise's standard
deviation in units of the largest norm of one. Batches of b from n records make s = ceil(n/b) steps an epoch. Neighbours
differ in one record, which is there or not.

    sampling      a batch is                                    the loss of
    poisson       each record with chance b/n                   s epochs samples (`subsample`)
    allocation    the records that drew this of an epoch's      a record in one step of s, drawn by itself
                  steps: balls in bins                          (`random_allocation`), epoch by epoch
    fixed         b records, drawn without replacement          s epochs samples; a record more takes another's place,
                                                                which moves the sum by at most 2
    shuffled      the next b of an epoch's shuffled order       one unsampled step an epoch, see below

Shuffled batches. Shown the order, a record takes part in one step an epoch, so the loss is at most that of Gaussian
noise, once an epoch: it is not that of Poisson samples, which many trainings print, and can be far larger (Chua et al.,
"How private are DP-SGD implementations?", 2024). From below it is at least that of a random allocation to s steps:
where the other records' gradients are 0 the batches are those of an allocation to steps of unequal chances, and by
joint convexity over all orders of the steps equal ones have no larger loss. An absent record leaves its place empty.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

from ldp_audit.accounting.privacy_loss import PrivacyLoss, compose
from ldp_audit.accounting.random_allocation import random_allocation
from ldp_audit.accounting.subsample import MOST_RECORDS, subsample
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.loss import side
from ldp_audit.mechanisms.noise.gaussian import Gaussian
from ldp_audit.numerics import between, whole

Batches = Literal["poisson", "shuffled", "fixed", "allocation"]

_BATCHES: dict[Batches, str] = {
    "poisson": "each step's batch holds each record with chance {batch}/{records}, independently",
    "shuffled": "each epoch's batches are consecutive parts of a secret, uniformly shuffled order of all records; an "
    "absent record leaves its place empty",
    "fixed": "each step's batch is {batch} of {records} records, drawn without replacement and afresh",
    "allocation": "each epoch, each record joins the batch of one of the {steps} steps, drawn uniformly and by itself",
}


def dp_sgd(
    *,
    noise_multiplier: float,
    batch: int,
    records: int,
    epochs: int,
    sampling: Batches = "poisson",
    truncated: int | None = None,
) -> PrivacyLoss:
    """The loss of a training by noisy sums of clipped gradients, all of whose steps are shown.

    noise_multiplier: the noise's standard deviation over the largest norm of a gradient, 1e-3 .. 1e9.
    batch, records: whole, 1 <= batch <= records; the mean size of a batch for "poisson" and "allocation".
    epochs: whole, >= 1, of ceil(records/batch) steps each.
    sampling: how batches are made, as in the module's table; the code that makes them must do that.
    truncated: for "poisson", the size to which larger batches are cut; see `subsample`.
    returns: neighbours by add/remove, first from the data with the record; its assumptions say all of the above.
    Raises ValueError for anything else.
    """
    between(noise_multiplier, "noise_multiplier", "a number in 1e-3 .. 1e9", lambda size: 1e-3 <= size <= 1e9)
    whole(records, "records", 1, MOST_RECORDS)
    whole(batch, "batch", 1, records)
    whole(epochs, "epochs", 1)
    if sampling not in get_args(Batches):
        raise ValueError(f"sampling must be one of {', '.join(get_args(Batches))}, got {sampling!r}")
    if truncated is not None and sampling != "poisson":
        raise ValueError(f"truncated must be None for sampling={sampling!r}, got {truncated!r}")
    noise, steps = Gaussian(noise_multiplier, replaced=2.0), -(-records // batch)
    if sampling == "poisson":
        of = None if truncated is None else records
        found = compose([(subsample(noise, rate=batch / records, truncated=truncated, records=of), steps * epochs)])
    elif sampling == "fixed":
        if batch == records:
            raise ValueError(f"batch must be at most records - 1 = {records - 1} for sampling='fixed', got {batch!r}")
        found = compose([(subsample(noise, kind="without", n=records, k=batch), steps * epochs)])
    elif sampling == "allocation":
        found = random_allocation(noise, steps=steps, epochs=epochs)
    else:
        allocated, alone = random_allocation(noise, steps=steps), compose([(noise, 1)])
        one, other = (EnclosedLoss(side(pair, 0), alone.directions[0]) for pair in allocated.directions)
        found = compose([(PrivacyLoss((one, other), alone.assumptions, "add/remove"), epochs)])
    stated = (
        f"{epochs} epochs of {steps} steps; " + _BATCHES[sampling].format(batch=batch, records=records, steps=steps),
        f"each step adds Gaussian noise of {noise_multiplier!r} times a gradient's largest norm to the batch's sum",
    )
    words = f"{epochs} epochs of {steps} noisy gradients, noise multiplier {noise_multiplier:g}, {sampling} batches"
    return replace(found, assumptions=(*stated, *found.assumptions), of=words)
