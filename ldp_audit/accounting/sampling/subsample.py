"""Amplification by sampling: what a mechanism spends that sees only a random part of the records.

* "poisson": each record is drawn with chance q, by itself.
* "without": k of n records, without replacement; q = k/n.
* "with": k draws from n records, each from all of them; a record is drawn j times with the chance that is binomial.

Neighbours differ in one record, which is there or not ("add/remove"), or is replaced by another ("replace"). The loss
of the mechanism itself must be that of the relation that its inputs, the samples, are in:

    kind       neighbours    samples differ by             loss
    poisson    add/remove    a record more                 both directions of `mixed_loss`
    poisson    replace       a record more, or replaced    symmetric, q delta(1 + (t - 1)/q) at t >= 1
    without    add/remove    a record replaced             both directions of `mixed_loss`
    without    replace       a record replaced             symmetric, as above
    with       add/remove    1 .. k records replaced       both directions of `copies_loss`
    with       replace       1 .. k records replaced       symmetric, of `copies_loss` at t >= 1

No smaller loss holds for all mechanisms with the loss given. One that reports, with that loss, whether a certain record
is in the sample attains it at each t. So both bounds are one number where the loss given is exact. For "with" and
k >= 2 they are apart by about the chance that a record is drawn twice (`copies_loss`). Composed, the lower bound for a
replaced record is that of the pair that dominates at all t, which no single mechanism is known to attain.

Sources: Balle, Barthe, Gaboardi, "Privacy amplification by subsampling" (NeurIPS 2018), Theorems 8, 9 and 10; Zhu,
Dong, Wang, "Optimal accounting of differential privacy via characteristic function" (AISTATS 2022), on dominating
pairs.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.privacy_loss_of import privacy_loss
from ldp_audit.accounting.sampling.copies_loss import copies_loss
from ldp_audit.losses.budget_arguments import as_float, whole
from ldp_audit.losses.loss import LossLaw
from ldp_audit.losses.sampled_loss import SamplingRate, mixed, symmetric

Kind = Literal["poisson", "without", "with"]
Adjacency = Literal["add/remove", "replace"]

SECRECY = "the sample is secret: nothing but the mechanism's output shows which records were drawn"

MOST_RECORDS = 10**12


def subsample(
    mechanism: Any,
    *,
    kind: Kind = "poisson",
    rate: float | None = None,
    n: int | None = None,
    k: int | None = None,
    adjacency: Adjacency = "add/remove",
) -> PrivacyLoss:
    """The loss of the mechanism that runs on a secret sample of the records.

    mechanism: a mechanism or a loss, as `privacy_loss` takes them, of the relation in the table above. A loss with two
        directions has first that from the data with the record to those without it.
    kind: "poisson" takes rate, in [0, 1]; "without" and "with" take n, the number of records, and k, of draws.
    adjacency: "add/remove" (k records must be left without the one, so k <= n - 1 without replacement) or "replace".
    returns: first the direction from the data with the record, then back; a single one for "replace". Exact where the
        mechanism's loss is; for "with" and k >= 2 see above.
    Raises ValueError for anything else.
    """
    if kind not in get_args(Kind):
        raise ValueError(f"kind must be poisson, without or with, got {kind!r}")
    if adjacency not in get_args(Adjacency):
        raise ValueError(f"adjacency must be add/remove or replace, got {adjacency!r}")
    chance = _chance(kind, rate, n, k, adjacency)
    loss = privacy_loss(mechanism)
    stated = (*loss.assumptions, SECRECY, _relation(kind, adjacency))
    if kind == "poisson" and adjacency == "add/remove":
        remove, add = _both_ways(loss)
    else:
        remove = add = _symmetric_law(loss, kind, adjacency)
    if kind == "with" and n and k and k > 1:
        found = copies_loss(remove, int(n), int(k))
        return PrivacyLoss((symmetric(found),) if adjacency == "replace" else (found, found.mirrored()), stated)
    if adjacency == "replace":
        return PrivacyLoss((symmetric(mixed(remove, chance)),), stated)
    return PrivacyLoss((mixed(remove, chance), mixed(add.mirrored(), chance).mirrored()), stated)


def _chance(kind: Kind, rate: float | None, n: int | None, k: int | None, adjacency: Adjacency) -> SamplingRate:
    """The chance that a record is drawn; ValueError for arguments that say none."""
    if kind == "poisson":
        if n is not None or k is not None or not 0 <= as_float(rate) <= 1:
            raise ValueError(
                f"kind='poisson' takes rate in [0, 1], and neither n nor k; got rate={rate!r}, n={n!r}, k={k!r}"
            )
        return SamplingRate.of_chance(as_float(rate))
    if rate is not None:
        raise ValueError(f"kind={kind!r} takes n and k, and no rate; got rate={rate!r}")
    records, draws = whole(n, "n", 1, MOST_RECORDS), whole(k, "k", 0, MOST_RECORDS)
    needed = (draws if kind == "without" else min(draws, 1)) + (adjacency == "add/remove" and draws > 0)
    if needed > records:
        accepted = "k <= n - 1 for add/remove, k <= n for replace" if kind == "without" else "n >= 2 for add/remove"
        raise ValueError(f"k={k} records must be there to draw from n={n}, and without the one removed: {accepted}")
    drawn = SamplingRate.without_replacement if kind == "without" else SamplingRate.with_replacement
    return drawn(records, draws)


def _both_ways(loss: PrivacyLoss) -> tuple[LossLaw, LossLaw]:
    """The laws from the data with the record, and to them."""
    first, *more = loss.directions
    if len(more) > 1:
        raise ValueError(f"mechanism must have one direction or two, got {len(loss.directions)}")
    return first, more[0] if more else first


def _symmetric_law(loss: PrivacyLoss, kind: Kind, adjacency: Adjacency) -> LossLaw:
    """The law of a loss whose neighbours come in both orders; ValueError where it is not the same both ways."""
    law = loss.directions[0]
    top = min(1.0, law.largest())
    if len(loss.directions) > 1 or not all(_alike(law, share * top) for share in (0.1, 0.5, 0.9)):
        raise ValueError(
            f"mechanism must have a loss between neighbours in either order for kind={kind!r} and "
            f"adjacency={adjacency!r}: one direction, its own mirror image; got directions of "
            f"{', '.join(type(law).__name__ for law in loss.directions)}"
        )
    return law


def _alike(law: LossLaw, level: float) -> bool:
    """Whether the loss and its mirror image agree at this level."""
    ends = zip(law.log_delta_bounds(level), law.mirrored().log_delta_bounds(level), strict=True)
    return all(one == other or abs(one - other) < 1e-9 for one, other in ends)


def _relation(kind: Kind, adjacency: Adjacency) -> str:
    """What the mechanism's own loss must be."""
    if kind == "poisson" and adjacency == "add/remove":
        return "the loss given is that between samples with and without a record"
    if kind == "poisson":
        return "the loss given is that between samples with and without a record, and with one replaced"
    return "the loss given is that between samples with one record replaced"
