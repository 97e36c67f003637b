"""Amplification by sampling: the loss of a mechanism that sees only a random part of the records.

* "poisson": each record is drawn independently with probability q.
* "without": k of n records, without replacement; q = k/n.
* "with": k draws from n records, each from all of them; a record's multiplicity is binomial.

Neighbours differ in one record, which is there or not ("add/remove"), or is replaced by another ("replace"). The loss
of the mechanism itself must be that of the relation between its inputs, the samples:

    kind       neighbours    samples differ by             loss
    poisson    add/remove    a record more                 both directions of `subsampled`
    poisson    replace       a record more, or replaced    symmetric, q delta(1 + (t - 1)/q) at t >= 1
    without    add/remove    a record replaced             both directions of `subsampled`
    without    replace       a record replaced             symmetric, as above
    with       add/remove    1 .. k records replaced       both directions of `multiplicity_loss`
    with       replace       1 .. k records replaced       symmetric, of `multiplicity_loss` at t >= 1

Noise on a sum (`AdditiveNoise`) has a loss for each relation: a record present or absent moves the sum by at most s,
one replaced by at most r, r <= 2 s. Rows with a record replaced take that of r, and refuse noise that does not state
it. Poisson sampling and a replaced record take both, so a loss that is of replaced records alone is refused there. Let
v and w be the contributions of the two records, of norm at most s and at most r apart, and N_v the noise around v. The
pairs are ((1 - q) N_0 + q N_v, (1 - q) N_0 + q N_w), and

    r = 2 s    v = s and w = -s dominate all others, so the loss is exact;
    r < 2 s    v = s and w = s - r dominate all others at t >= 1, and their reverse below. So the loss is attained at
               each t in one use; composed, no pair of data is known to attain it, and the lower bound is that of the
               data of this v and w, or for r <= s of v = r and w = 0.

The proof is in `losses/subsampled_loss.py`. Noise whose loss does not rise with the report (`AdditiveNoise.smooth`)
has bounds instead: above, the table's loss of inputs max(r, s) apart, and below, that of v = 0 and w = min(r, s).

No smaller loss holds for all mechanisms with the loss given. One that reports, with that loss, whether a certain record
is in the sample attains it at each t. So both bounds are one number where the loss given is exact. For "with" and k >=
2 they differ by about the probability that a record is drawn twice (`multiplicity_loss`). A replaced record's loss
counts in either order, which no mechanism attains in both at once: composed, the lower bound is that of the mechanism
above in one order.

With replacement (`multiplicity_loss`). Of n records, the multiplicity J of one record is binomial. Given J = 0 the
sample is one without the record; given J >= 1 it differs from such a sample in J records. By joint convexity the loss
is at most that of Poisson sampling at the rate q = 1 - (1 - 1/n)**k of a mixture that shows J, given J >= 1, whose part
of J = j has the loss of a group of j records: noise moved j times as far, or j times the supremum, where that is
finite. The lower bound is the loss of a mechanism that shows no more than whether the record was drawn: Poisson
sampling of one copy at the same rate. Each draw changes any probability by at most 1 + (e**top - 1)/n for the supremum
top, so k times the logarithm of that bounds the loss.

Groups. Of a group of g records, whose data have all of them or none, J are in the sample: a binomial number for
"poisson", a hypergeometric one for "without", whose samples then differ in J records replaced. For noise whose loss
rises with the report (`NoiseLoss`) the loss is that of noise moved J times as far, exactly (`losses/mixed_moves.py`);
for any other mechanism the bounds are those of a multiplicity J, above.

Truncated batches. A Poisson sample of more than b records is cut to b of them, whichever are kept, as long as a record
that is dropped changes nothing, and one that is kept takes one other's place. Let K be how many of the other records
are drawn. If K < b nothing is cut. If K >= b the record is in the batch with chance q at most, in the place of another.
Shown which of the two it is, the loss is that of a public mixture of `subsampled` for a record more, and of
`subsampled` for a record replaced with the chance of K >= b. So no delta is added. As this chance is rounded up, its
part must dominate the other: a replaced record counts as moving the sum by no less than one more does. The lower bound
is that of the rate q P(K < b), where the other records' data add up to nothing.

Sources: Balle, Barthe, Gaboardi, "Privacy amplification by subsampling" (NeurIPS 2018), Theorems 8, 9 and 10; Zhu,
Dong, Wang, "Optimal accounting of differential privacy via characteristic function" (AISTATS 2022), on dominating
pairs.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import betainc

from ldp_audit.accounting.privacy_loss import (
    PrivacyLoss,
    adjacency_of,
    bracketed,
    check_adjacency,
    in_words,
    is_mirrored,
    privacy_loss,
    repeated,
)
from ldp_audit.losses.binomial import log_binomial
from ldp_audit.losses.discrete_loss import ZERO_LOSS, atoms_of, pure_loss
from ldp_audit.losses.enclosed_loss import EnclosedLoss, mixture
from ldp_audit.losses.hulls import known_bounds
from ldp_audit.losses.loss import LossWithInfinity, PairLoss, known_atoms, log_sum
from ldp_audit.losses.mixed_moves import MixedMoves
from ldp_audit.losses.noise_losses import NoiseLoss
from ldp_audit.losses.sampling_rate import SamplingRate
from ldp_audit.losses.subsampled_loss import ReplacedLoss, subsampled, symmetric
from ldp_audit.mechanisms.mechanism import AdditiveNoise, Adjacency, Mechanism
from ldp_audit.mechanisms.selection.subsample_release import SubsampleRelease, release_loss
from ldp_audit.numerics import as_float, log1mexp, log_ratio, whole

Kind = Literal["poisson", "without", "with"]

SECRECY = "the sample is secret: nothing but the mechanism's output shows which records were drawn"

MOST_RECORDS = 10**12
MOST_TOGETHER = 200
"""The largest group: each number of its records in a sample is a part of a mixture."""


def subsample(
    mechanism: Any,
    *,
    kind: Kind = "poisson",
    rate: float | None = None,
    n: int | None = None,
    k: int | None = None,
    adjacency: Adjacency = "add/remove",
    group: int = 1,
    truncated: int | None = None,
    records: int | None = None,
) -> PrivacyLoss:
    """The loss of the mechanism that runs on a secret sample of the records.

    mechanism: a mechanism or a loss, as `privacy_loss` takes them, of the relation in the table above. A loss with two
        directions has first that from the data with the record to those without it, and a pair's loss is the one from
        them. Noise on a sum has `replaced` where the relation is of replaced records. For "poisson" and "replace" a
        loss is one between any two inputs, as a loss of replaced records does not bound a record more or less.
    kind: "poisson" takes rate, in [0, 1]; "without" and "with" take n, the number of records, and k, of draws.
    adjacency: "add/remove" (k records must be left without the one, so k <= n - 1 without replacement) or "replace".
    group: how many records the neighbours differ in together, 1 .. 200, for "add/remove" and a loss that is its own
        reverse; n counts them, so k <= n - group. Not for "with".
    truncated, records: for "poisson" and "add/remove", the most records of a batch, to which larger ones are cut, and
        how many there are in all, the one that is added or removed among them. Noise on a sum that does not state
        `replaced` is taken to be moved twice its sensitivity by a record in another's place.
    returns: first the direction from the data with the record, then back; a single one for "replace". Exact where the
        mechanism's loss is; for "with" and k >= 2, and for a replaced record of a noisy sum, see above.
    Raises ValueError for anything else.
    """
    if kind not in get_args(Kind):
        raise ValueError(f"kind must be poisson, without or with, got {kind!r}")
    check_adjacency(adjacency)
    chance = _chance(kind, rate, n, k, adjacency)
    if whole(group, "group", 1, MOST_TOGETHER) > 1:
        found = _of_group(mechanism, kind, chance, n, k, adjacency, group, truncated)
        return replace(found, of=f"{_on_sample(mechanism, kind, rate, n, k)}, for {group} records together")
    if truncated is not None or records is not None:
        found = _of_truncated(mechanism, kind, chance, adjacency, truncated, records)
        return replace(found, of=f"{_on_sample(mechanism, kind, rate, n, k)}, cut to {truncated} records")
    if kind == "poisson" and adjacency == "replace":
        if isinstance(mechanism, AdditiveNoise):
            words = _on_sample(mechanism, kind, rate, n, k)
            return PrivacyLoss((_replaced_noise(mechanism, chance),), (SECRECY, _OTHERS), adjacency, words)
        if isinstance(mechanism, PrivacyLoss) and mechanism.adjacency == "replace":
            raise ValueError(
                "mechanism must not be a loss of replaced records alone for kind='poisson' and adjacency='replace', as "
                "such samples differ also by a record that is there or not: give the noise itself, which states how "
                "far both move it (of several steps on one sample, Gaussian noise with the norms over all steps), for "
                f"a sample of a sample the product of the rates; got a loss by {mechanism.adjacency}"
            )
    loss = privacy_loss(mechanism, "add/remove" if (kind, adjacency) == ("poisson", "add/remove") else "replace")
    stated = (*loss.assumptions, SECRECY, *_silent(mechanism), _relation(kind, adjacency))
    if kind == "poisson" and adjacency == "add/remove":
        remove, add = both_ways(loss)
    else:
        remove = add = _symmetric_loss(loss, kind, adjacency)
    if kind == "with" and n and k and k > 1:
        drawn = multiplicity_loss(remove, int(n), int(k))
        both = (symmetric(drawn),) if adjacency == "replace" else (drawn, drawn.reversed())
    elif adjacency == "replace":
        both = (symmetric(subsampled(remove, chance)),)
    else:
        both = (subsampled(remove, chance), subsampled(add.reversed(), chance).reversed())
    return PrivacyLoss(both, stated, adjacency, _on_sample(mechanism, kind, rate, n, k))


def _on_sample(mechanism: Any, kind: Kind, rate: float | None, n: int | None, k: int | None) -> str:
    """What was sampled, in words."""
    what = bracketed(in_words(mechanism))
    if kind == "poisson":
        return f"{what} on a Poisson sample at rate {rate:g}"
    return f"{what} on {k} of {n} records, drawn {kind} replacement"


def _silent(mechanism: Any) -> tuple[str, ...]:
    """That a client who is not drawn reports as well, of a local report."""
    local = isinstance(mechanism, Mechanism) and mechanism.adjacency is None
    return (STILL_SENT,) if local else ()


STILL_SENT = "a client that is not drawn still sends a report, of some input; of silent ones see sampled_clients"
"""What sampling the reports of a local mechanism rests on."""


def _of_group(
    mechanism: Any,
    kind: Kind,
    chance: SamplingRate,
    n: int | None,
    k: int | None,
    adjacency: Adjacency,
    group: int,
    truncated: int | None,
) -> PrivacyLoss:
    """The loss between data with all records of a group and with none."""
    if kind == "with" or adjacency != "add/remove" or truncated is not None:
        raise ValueError(
            f"group must be 1 for kind='with', for adjacency='replace' and for truncated batches, got group={group!r} "
            f"with kind={kind!r}, adjacency={adjacency!r}, truncated={truncated!r}"
        )
    loss = privacy_loss(mechanism, "add/remove" if kind == "poisson" else "replace")
    one = _symmetric_loss(loss, kind, adjacency)
    if kind == "poisson":
        logs = log_binomial(np.arange(group + 1.0), float(group), chance.log_drawn, chance.log_left_out)
    else:
        logs = _log_hypergeometric(group, int(n or 0), int(k or 0))
    stated = (*loss.assumptions, SECRECY, _relation(kind, adjacency), f"a group of {group} records is there or not")
    drawn = [(times, float(log)) for times, log in enumerate(logs) if times and log > -math.inf]
    lower, upper = known_bounds(one)
    found: PairLoss = ZERO_LOSS
    if drawn and isinstance(upper, NoiseLoss):
        noises, chances = zip(*((upper.group(times), log) for times, log in drawn), strict=True)
        found = MixedMoves(noises, chances, float(logs[0]))
    elif drawn:
        any_drawn = SamplingRate(min(0.0, log_sum(logs[1:])), float(logs[0]))
        if isinstance(mechanism, AdditiveNoise):  # below, where all other records of the group move nothing
            step = mechanism.sensitivity if kind == "poisson" else float(mechanism.replaced or 0)
            groups, reached = [mechanism.moved(times * step) for times, _ in drawn], chance
        else:
            groups = [upper.group(times) or pure_loss(times * upper.supremum()) for times, _ in drawn]
            reached = any_drawn
        parts = [(log - any_drawn.log_drawn, 0.0, pair) for (_, log), pair in zip(drawn, groups, strict=True)]
        found = EnclosedLoss(subsampled(lower, reached), subsampled(mixture(parts), any_drawn))
    return PrivacyLoss((found, found.reversed()), stated, adjacency)


def _log_hypergeometric(group: int, n: int, k: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """ln of the chances that 0 .. group of the group's records are among k of n."""
    if group + k > n:
        raise ValueError(
            f"k={k} records must be left to draw from n={n} without the group: k <= n - group = {n - group}"
        )
    logs = [math.fsum(log_ratio(n - k - i, n - i) for i in range(group))]
    for drawn in range(min(group, k)):
        ways = (group - drawn) * (k - drawn), (drawn + 1) * (n - group - k + drawn + 1)
        logs.append(logs[-1] + log_ratio(*ways))
    return np.array(logs)


def _of_truncated(
    mechanism: Any,
    kind: Kind,
    chance: SamplingRate,
    adjacency: Adjacency,
    truncated: int | None,
    records: int | None,
) -> PrivacyLoss:
    """The loss of Poisson batches of at most so many records."""
    if kind != "poisson" or adjacency != "add/remove" or truncated is None or records is None:
        raise ValueError(
            "truncated and records must be given together, for kind='poisson' and adjacency='add/remove', got "
            f"truncated={truncated!r}, records={records!r}, kind={kind!r}, adjacency={adjacency!r}"
        )
    most, others = whole(truncated, "truncated", 1, MOST_RECORDS), whole(records, "records", 1, MOST_RECORDS) - 1
    loss = privacy_loss(mechanism, "add/remove")
    stated = (*loss.assumptions, SECRECY, _relation(kind, adjacency), f"{_CUT}, of {records}, to {most}")
    log_cut = _log_tail(others, chance, most)
    if log_cut == -math.inf or chance.log_drawn == -math.inf:
        return replace(subsample(mechanism, rate=chance.drawn), assumptions=stated)
    remove, add = both_ways(loss)
    if isinstance(mechanism, AdditiveNoise):
        moved = mechanism.moved(max(mechanism.replaced or 2 * mechanism.sensitivity, mechanism.sensitivity))
    else:
        upper = known_bounds(_symmetric_loss(loss, kind, adjacency))[1]
        moved = upper.group(2) or pure_loss(2 * upper.supremum())
    uncut = SamplingRate(log1mexp(log_cut), log_cut)
    found = []
    for one in (remove, add.reversed()):
        whole_batch: PairLoss = subsampled(one, chance)
        parts = [(uncut.log_drawn, 0.0, whole_batch), (log_cut, 0.0, subsampled(moved, chance))]
        if log_cut < _NEVER and (known := whole_batch.known()) is not None and known.finite_part()[0] is known:
            upper: PairLoss = LossWithInfinity(known, uncut.log_drawn, uncut.log_drawn)
        else:
            upper = mixture([part for part in parts if part[0] > -math.inf])
        found.append(EnclosedLoss(subsampled(one, chance.again(uncut)), upper))
    return PrivacyLoss((found[0], found[1].reversed()), stated, adjacency)


_NEVER = -60.0
"""ln of a chance that a batch is cut below which a cut batch counts as an infinite loss, as sums are then quicker."""
_CUT = "larger batches are cut by a rule by which a record that is dropped changes nothing"


def _log_tail(count: int, chance: SamplingRate, least: int) -> float:
    """ln of an upper bound of P(Binomial(count, q) >= least): by Chernoff, or by the incomplete beta function.

    SciPy's `betainc` is right to far less than the share that is added.
    """
    if least > count:
        return -math.inf
    share = least / count
    if share <= chance.drawn:
        return 0.0
    left = (1 - share) * (math.log1p(-share) - chance.log_left_out) if share < 1 else 0.0
    chernoff = -count * (share * (math.log(share) - chance.log_drawn) + left)
    exact = float(betainc(least, count - least + 1, chance.drawn))
    return min(0.0, chernoff * (1 - 1e-12), math.log(exact) + 1e-6 if exact > 1e-280 else 0.0)


_OTHERS = "a record that is present or absent, and one that is replaced, move the sum by at most what the noise states"


def _replaced_noise(noise: AdditiveNoise, rate: SamplingRate) -> PairLoss:
    """The loss of a Poisson sample's noisy sum, between data with a record replaced."""
    noise.replaced_loss()  # which refuses what does not state it
    one, two = noise.sensitivity, float(noise.replaced or 0)
    if rate.log_drawn == -math.inf:
        return ZERO_LOSS
    if rate.log_left_out == -math.inf:
        return noise.moved(two)
    longest: Any = noise.moved(one)
    both: Any = noise.moved(two)
    if not noise.smooth:
        nearer, farther = (longest, both) if one <= two else (both, longest)
        return EnclosedLoss(subsampled(nearer, rate), symmetric(subsampled(farther, rate)))
    found = ReplacedLoss(longest, longest, both, rate)
    if two == 2 * one:
        return found
    between: Any = noise.moved(two - one) if two > one else both
    attained = ReplacedLoss(longest, between, both, rate) if two > one else subsampled(both, rate)
    return EnclosedLoss(attained, found)


def _chance(kind: Kind, rate: float | None, n: int | None, k: int | None, adjacency: Adjacency) -> SamplingRate:
    """The probability that a record is drawn; ValueError for arguments that do not give one."""
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


def both_ways(loss: PrivacyLoss) -> tuple[PairLoss, PairLoss]:
    """The losses from the data with the record, and to them."""
    first, *more = loss.directions
    if len(more) > 1 or not (more or is_mirrored(first)):
        raise ValueError(
            "mechanism must have two directions, or one that is its own reverse (whose reversed() is itself), got "
            f"directions of {', '.join(type(pair).__name__ for pair in loss.directions)}"
        )
    return first, more[0] if more else first


def _symmetric_loss(loss: PrivacyLoss, kind: Kind, adjacency: Adjacency) -> PairLoss:
    """The loss of a relation whose neighbours come in both orders; ValueError where it is not its own reverse."""
    pair = loss.directions[0]
    if len(loss.directions) > 1 or not is_mirrored(pair):
        raise ValueError(
            f"mechanism must have a loss between neighbours in either order for kind={kind!r} and "
            f"adjacency={adjacency!r}: one direction, its own reverse (whose reversed() is itself); got directions of "
            f"{', '.join(type(pair).__name__ for pair in loss.directions)}"
        )
    return pair


def _relation(kind: Kind, adjacency: Adjacency) -> str:
    """The relation whose loss the mechanism's must be."""
    if kind == "poisson" and adjacency == "add/remove":
        return "the loss given is that between samples with and without a record"
    if kind == "poisson":
        return "the loss given is that between samples with and without a record, and with one replaced"
    return "the loss given is that between samples with one record replaced"


_REACH, _TAIL, _MOST = 16.0, -80.0, 200
"""The tail of the multiplicity that counts as k draws, in deviations and as ln of its probability; and the most parts
of a mixture."""
_MOST_EXPECTED = 1e6
"""With more expected draws of one record all k draws count as draws of it."""


def multiplicity_loss(loss: PairLoss, n: int, k: int) -> PairLoss:
    """Bounds on the loss from samples of n records with one of them to samples without it, by k >= 2 draws.

    loss: of samples that differ in one record, its own reverse.
    """
    lower, upper = known_bounds(loss)
    rate = SamplingRate.with_replacement(n, k)
    top = loss.supremum()
    parts = [(log, 0.0, upper.group(times) or pure_loss(times * top)) for times, log in _times_drawn(n, k)]
    found = subsampled(mixture(parts), rate)
    if math.isfinite(k * top):
        once = SamplingRate.of_chance(1 / n)
        highest, lowest = (k * way * float(once.subsampled(np.array(way * top))) for way in (1, -1))
        found = _capped(_capped(found, highest).reversed(), lowest).reversed()
    return EnclosedLoss(subsampled(lower, rate), found)


def _capped(pair: PairLoss, bound: float) -> PairLoss:
    """A loss that dominates, without values above the bound, for an upper bound of a loss whose supremum is known.

    The true profile is convex in t and 0 at the bound, nats. So it lies below the chord from there to any corner of the
    upper bound's profile, of which the steepest that keeps it convex is taken.
    """
    atoms = known_atoms(pair)
    if atoms is None or atoms.error or atoms.log_infinite > -math.inf or pair.supremum() <= bound:
        return pair
    seconds = atoms.log_probabilities - atoms.losses
    slopes = np.logaddexp.accumulate(seconds[::-1])[::-1]  # ln of how steep the profile is before each loss
    for i in range(int(np.searchsorted(atoms.losses, bound)) - 1, -1, -1):
        loss = float(atoms.losses[i])
        slope = pair.log_delta_bounds(loss)[1] - bound - math.log(-math.expm1(loss - bound))
        if slope < slopes[i]:
            rest = slopes[i] + math.log(-math.expm1(slope - slopes[i]))
            losses = np.append(atoms.losses[: i + 1], bound)
            return atoms_of(losses, np.concatenate([seconds[:i], [rest, slope]]) + losses)
    return pair


def _times_drawn(n: int, k: int) -> list[tuple[int, float]]:
    """Multiplicities >= 1, and ln of their probabilities given that the record is drawn; rounded up, if at all.

    Beyond `_REACH` deviations and 100 draws the probability is below e**_TAIL by Bernstein's inequality.
    """
    expected = k / n
    if expected > _MOST_EXPECTED or n == 1:
        return [(k, 0.0)]
    reach = _REACH * math.sqrt(expected) + 100
    low, high = max(1, math.floor(expected - reach)), min(k, math.ceil(expected + reach))
    counts = np.arange(low, high + 1.0)
    logs = log_binomial(counts, float(k), log_ratio(1, n), log_ratio(n - 1, n))
    likely = np.flatnonzero(logs > _TAIL)
    counts, logs, rest = counts[likely], logs[likely], log_sum(np.delete(logs, likely))
    groups = np.array_split(np.arange(counts.size), min(counts.size, _MOST))
    found = [(int(counts[group[-1]]), log_sum(logs[group])) for group in groups]
    if counts[-1] < k:
        found.append((k, max(rest, _TAIL)))
    total = log_sum(np.array([log for _, log in found]))
    return [(times, log - total) for times, log in found]


Observer = Literal["selects", "sees the result"]

_ROUNDED = 4
"""Units in the last place by which a fraction may differ from that of a whole number of clients."""

_UNIT = "unit: one client's whole data, in one round"
_SELECTED = "the observer selects the clients, so sampling hides nobody: the loss is that of a client that takes part"
_RESULT = (
    "the observer sees only what is computed from all selected clients' reports together, which the loss given is of"
)


def sampled_clients(
    mechanism: Any,
    *,
    clients: int,
    selected: int | None = None,
    fraction: float | None = None,
    observer: Observer,
    adjacency: Adjacency | None = None,
) -> PrivacyLoss:
    """The loss of one round if a random part of the clients takes part.

    LDP-FL's cloud selects k of its n clients in each round, and so do FedSel's and FedMD's servers: a server that asks
    a client for a report knows that it takes part. A selected client has then spent its whole loss, and any other
    client nothing; sampling amplifies nothing. It amplifies only against an observer who sees no more than a function
    of all selected clients' reports together, and from whom the selection is secret.

    mechanism: a mechanism or a loss. Against "selects", that of one client's reports of the round; against "sees the
    result", that of the result, between rounds in which one selected client is replaced by another.
    clients: all of them.   selected: those that take part, without replacement; or fraction: this part of all, which
    must be a whole number of clients.
    observer: "selects", who chooses the clients or sees their single reports (LDP-FL's cloud), or "sees the result".
    adjacency: between clients' data that are replaced, or of clients that are there or not; by default the latter for
    noise on sums, and else the former.
    Raises ValueError for anything else.
    """
    if observer not in get_args(Observer):
        raise ValueError(f"observer must be 'selects' or 'sees the result', got {observer!r}")
    asked = check_adjacency(adjacency_of(mechanism) or "replace" if adjacency is None else adjacency)
    taking_part = _selected(clients, selected, fraction)
    if observer == "sees the result":
        loss = subsample(mechanism, kind="without", n=clients, k=taking_part, adjacency=asked)
        return replace(loss, assumptions=(*loss.assumptions, _RESULT, _UNIT))
    loss = privacy_loss(mechanism, asked)
    if not taking_part:
        loss = replace(loss, directions=(ZERO_LOSS,))
    return replace(loss, assumptions=(*loss.assumptions, _SELECTED, _UNIT), adjacency=asked)


def _selected(clients: int, selected: int | None, fraction: float | None) -> int:
    """The number of clients that take part."""
    count = whole(clients, "clients")
    if (selected is None) == (fraction is None):
        raise ValueError(
            f"one of selected and fraction must be given, got selected={selected!r}, fraction={fraction!r}"
        )
    if fraction is None:
        return whole(selected, "selected", 0, count)
    part = as_float(fraction)
    found = round(part * count) if 0 <= part <= 1 else None
    if found is None or abs(found / count - part) > _ROUNDED * math.ulp(part):
        raise ValueError(f"fraction must be in [0, 1] and a whole number of the {count} clients, got {fraction!r}")
    return found


def nfdp(
    n: int, k: int, *, replacement: bool = False, adjacency: Adjacency = "add/remove", rounds: int = 1
) -> PrivacyLoss:
    """The exact loss of noise-free privacy: k of n records, released unchanged, or several fresh samples.

    With q the probability that a record is in one of the samples, which is all that distinguishes neighbours:

    * "add/remove", from the data with the record: loss infinite with probability q, else ln(1 - q); delta = q;
    * back, from the data without it: loss -ln(1 - q); delta = (1 - e**epsilon (1 - q))_+;
    * "replace": loss infinite with probability q, else 0; delta = q throughout, both ways.

    This is `subsample` of the mechanism that shows its input. The paper's neighbours (Sun, Lyu, IJCAI 2021) have one
    record more or less than the n; the data with one record less have the larger loss, and are the ones meant here.
    Where they cannot supply k records without replacement (k = n) every output distinguishes them.

    n, k, replacement: as `SubsampleRelease` takes them.   rounds: independent samples, >= 1; a sample that is drawn
    once and used throughout counts once.
    returns: for "add/remove" the direction from the data with the record, then back; a single one for "replace".
    Raises ValueError for anything else.
    """
    release = SubsampleRelease(n, k, replacement)
    check_adjacency(adjacency)
    drawn = SamplingRate.with_replacement if replacement else SamplingRate.without_replacement
    left_out = drawn(release.n, release.k, whole(rounds, "rounds")).log_left_out
    words = repeated(repr(release), rounds)
    if adjacency == "replace":
        return PrivacyLoss((release_loss(left_out, left_out),), (SECRECY,), adjacency, words)
    released = release_loss(left_out, 0.0)
    return PrivacyLoss((released, released.reversed()), (SECRECY,), adjacency, words)
