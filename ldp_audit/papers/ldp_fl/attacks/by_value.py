"""Linking reports by their values, which reveal a range that a client chose itself.

LDP-FL's eq. (2) with client u's center and radius reports c_u - r_u A or c_u + r_u A, A = (t + 1)/(t - 1), t =
e^epsilon. Section 3.1.1 lets clients choose (c, r); Section 5 sets them "by the weight range of each layer".
(Derivations ours.)

* c public: |report - c| = r_u A identifies the client: reports at the same distance are one client's, unless radii
  agree.
* c unknown: each client reports every id once, so the ids of its values c - r A and c + r A are complementary, which
  links the two (`complements`; of m clients with the same two values, each id occurs m times among both).
* Two values of one client give its range: c = (high + low)/2, r = (high - low)/(2 A). If it is that of its own weights,
  c - r and c + r are the least and the largest of them. In a layer of d weights only one value occurs with probability
  at most (t^(d-1) + t)/(t + 1)^d: a product of d probabilities in [1/(t+1), t/(t+1)] plus that of their complements is
  largest with all at the endpoints, and at least one weight is at each; attained if all but one are at the same.

Values are compared as floats: equal centers and radii give the same bits in one program, and are then not
distinguished; two programs that round r A differently are.

Implementation: each id gets two words of 64 bits, and the ids of a value have the sum of its words, modulo 2**64. Two
values are complementary only if their sums add up to that of all ids, which is then verified id by id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ldp_audit.mechanisms.inputs import array_of, finite
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.mechanisms.values.two_point import TwoPoint
from ldp_audit.numerics import listed
from ldp_audit.papers.ldp_fl.attacks.attribution import Attribution, whole_number


@dataclass(frozen=True)
class OwnRange:
    """A client's range: center and radius, and the bounds low and high, center -+ radius."""

    center: float
    radius: float
    low: float
    high: float


@dataclass(frozen=True)
class ValueLinks:
    """Classes of reports that share a client, by their values.

    labels: the class of each report, 0 .. classes - 1, in the shape of the reports.
    values: the distinct values of each class, ascending: two if both reports of a range were found, one if only one
        occurred or its partner is unknown, more if clients are too close to be separated.
    """

    labels: NDArray[np.int64]
    values: tuple[tuple[float, ...], ...]

    @property
    def classes(self) -> int:
        """The number of classes: clients, or groups of indistinguishable clients."""
        return len(self.values)

    def ranges(self, epsilon: float) -> tuple[OwnRange | None, ...]:
        """The range of each class of two values; None for other classes."""
        _ = TwoPoint(epsilon)
        return tuple(_range(*pair, epsilon) if len(pair) == 2 else None for pair in self.values)


def link_by_value(reports: ArrayLike, *, ids: ArrayLike | None = None, center: ArrayLike | None = None) -> ValueLinks:
    """Group anonymous reports by the range that their values reveal.

    reports: finite numbers of any shape, in their original dtype.
    center: the public center, a number or one for each report (its layer's): reports at equal distance from it, up to
        rounding to their dtype, are grouped.
    ids: without a center, each report's id, in the shape of `reports`: two values with complementary ids (each id
        occurs equally often) are grouped, if no other values complement them. Lost reports prevent it.
    Without either, equal values are grouped. Raises ValueError for other values and shapes.
    """
    given = array_of("reports", reports)
    numbers = finite("reports", given)
    if given.size == 0:
        raise ValueError("reports must not be empty")
    if ids is not None and center is not None:
        raise ValueError("ids are for an unknown center: give ids or center, not both")
    if center is not None:
        step = np.abs(np.spacing(given if given.dtype.kind == "f" else numbers)).astype(np.float64)
        return _by_distance(numbers, finite("center", center), step)
    values, labels = np.unique(numbers, return_inverse=True)
    labels = labels.reshape(numbers.shape).astype(np.int64)
    groups = np.arange(len(values)) if ids is None else complements(labels, _whole_ids(ids, numbers.shape))
    return _grouped(values, groups, labels)


def ranges_of(reports: ArrayLike, epsilon: float) -> OwnRange:
    """The range of one client's layer, from reports that include both values.

    epsilon: nats, > 0, of each report.   Exact up to the rounding of the reports and of this computation.
    Raises ValueError unless there are exactly two values (`ranges_shown` has the probability).
    """
    values = np.unique(finite("reports", reports))
    if len(values) != 2:
        raise ValueError(f"reports must be of one range, of exactly two values, got {len(values)} different ones")
    return _range(float(values[0]), float(values[1]), epsilon)


def ranges_shown(epsilon: float, d: int) -> float:
    """The least probability, over all layers of d >= 2 weights, that both reports of the layer's own range occur.

    epsilon: nats, > 0. For two weights it is exact: one of them is the least, the other the largest.
    """
    weights = whole_number("d", d, least=2)
    _ = TwoPoint(epsilon)
    rare, common = float(expit(-epsilon)), float(expit(epsilon))
    return 1 - (rare * common ** (weights - 1) + common * rare ** (weights - 1))


def name_by_value(
    radii: Sequence[float],
    epsilon: float,
    *,
    centers: float | Sequence[float] = 0.0,
    d: int = 1,
    dtype: DTypeLike = np.float64,
) -> Attribution:
    """Name a report's client by its value, where the server knows the clients' ranges: a guess among those that fit.

    radii: one for each client, > 0.   centers: a public one, or one for each client.   epsilon: nats, > 0.
    d: reports of each client.   dtype: of the reports, rounded from float64.
    Exact if clients share both values or none: the number of distinct ranges, over n. If clients share one of two
    values, it depends on their weights; `success` is then the minimum, and `bounds` include the maximum.
    """
    radii = listed(radii, "radii", "one number a client")
    reports, n = whole_number("d", d), len(radii)
    if n == 0:
        raise ValueError("radii must be one number a client, got none")
    try:
        dtype = np.dtype(dtype)
    except TypeError as error:
        raise ValueError(f"dtype must be a floating one: {error}") from None
    supports = [_support(epsilon, c, r, dtype) for c, r in zip(_each(centers, n), radii, strict=True)]
    values, counts = np.unique(np.array(supports), return_counts=True)
    rivals = dict(zip(values.tolist(), counts.tolist(), strict=True))
    fits = [sorted((rivals[low], rivals[high])) for low, high in supports]
    least = sum((Fraction(1, most) for _, most in fits), Fraction(0)) / n
    most = sum((Fraction(1, fewest) for fewest, _ in fits), Fraction(0)) / n
    return Attribution(
        attack="by value",
        clients=n,
        reports=n * reports,
        success=least,
        chance=Fraction(1, n),
        exposed=Fraction(sum(most == 1 for _, most in fits), n),
        exact=least == most,
        bounds=None if least == most else (least, most),
    )


def _by_distance(numbers: NDArray, centers: NDArray, step: NDArray) -> ValueLinks:
    if centers.ndim and centers.shape != numbers.shape:
        raise ValueError(f"center must be a number or have the shape of reports, {numbers.shape}, got {centers.shape}")
    flat, middle = numbers.ravel(), np.broadcast_to(centers, numbers.shape).ravel()
    distance = np.abs(flat - middle)
    # Rounding errors of half a unit for each of the two reports, and of their float64 distances.
    wide = np.spacing(np.maximum(np.abs(flat), np.abs(middle)))
    rounding = np.where(middle == 0, 0.0, step.ravel() + 4 * wide)
    order = np.argsort(distance, kind="stable")
    gaps = np.diff(distance[order]) > np.maximum(rounding[order][1:], rounding[order][:-1])
    labels = np.empty(flat.size, dtype=np.int64)
    labels[order] = np.concatenate([[0], np.cumsum(gaps)])
    pairs = np.unique(np.stack([labels.astype(np.float64), flat]), axis=1)
    members: list[list[float]] = [[] for _ in range(int(labels.max()) + 1)]
    for label, value in pairs.T.tolist():
        members[int(label)].append(value)
    return ValueLinks(labels.reshape(numbers.shape), tuple(map(tuple, members)))


def _grouped(values: NDArray, groups: NDArray, labels: NDArray) -> ValueLinks:
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))[group]
    members: list[list[float]] = [[] for _ in first]
    for value, place in zip(values.tolist(), rank.tolist(), strict=True):
        members[place].append(value)
    return ValueLinks(rank[labels].astype(np.int64), tuple(map(tuple, members)))


def _whole_ids(ids: Any, shape: tuple[int, ...]) -> NDArray[np.int64]:
    given = array_of("ids", ids)
    if given.dtype.kind not in "iu" or given.shape != shape:
        raise ValueError(f"ids must be whole numbers in the shape of reports, {shape}, got {given.dtype} {given.shape}")
    return given.astype(np.int64)


def _range(low: float, high: float, epsilon: float) -> OwnRange:
    reach = TwoPoint(epsilon).outputs()[1]
    center, radius = low / 2 + high / 2, (high / 2 - low / 2) / reach
    return OwnRange(center, radius, center - radius, center + radius)


def _each(centers: float | Sequence[float], n: int) -> list[float]:
    given = finite("centers", centers)
    if given.ndim > 1 or (given.ndim == 1 and given.size != n):
        raise ValueError(f"centers must be a number or one a client, {n}, got shape {given.shape}")
    return np.broadcast_to(given, (n,)).tolist()


def _support(epsilon: float, center: float, radius: float, dtype: np.dtype) -> tuple[float, float]:
    if dtype.kind != "f":
        raise ValueError(f"dtype must be a floating one, got {dtype}")
    with np.errstate(over="ignore"):
        low, high = np.array(TwoPoint(epsilon, center, radius).outputs()).astype(dtype).tolist()
    if not np.isfinite([low, high]).all():
        raise ValueError(f"dtype {dtype} cannot hold the reports of center {center!r}, radius {radius!r}")
    return low, high


def complements(labels: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """The group of each value: that of its only complement, or its own.

    labels: the value 0 .. k - 1 of each report; ids: its id; one shape.
    A value with every id equally often is complete without a complement. Shape (k,), the least value of a group.
    """
    known, place = np.unique(ids.ravel(), return_inverse=True)
    values = labels.ravel()
    words = _words(len(known))
    count = int(values.max()) + 1
    sums = np.zeros((2, count), dtype=np.uint64)
    for row, word in zip(sums, words, strict=True):
        np.add.at(row, values, word[place])
    sizes = np.bincount(values, minlength=count)
    keys = [(int(a), int(b), int(size)) for a, b, size in zip(*sums, sizes, strict=True)]
    whole = (int(words[0].sum()), int(words[1].sum()), len(known))
    partners = _partners(keys, whole)
    order = np.argsort(values, kind="stable")
    places = np.split(place[order], np.cumsum(sizes)[:-1])
    groups = np.arange(count)
    for value, others in partners.items():
        if len(others) == 1 and partners[others[0]] == [value]:
            times = np.bincount(np.concatenate([places[value], places[others[0]]]), minlength=len(known))
            if times.min() == times.max():
                groups[value] = min(value, others[0])
    return groups


def _words(count: int) -> NDArray[np.uint64]:
    """Two words for each id, the same in every call."""
    return np.random.default_rng(0).integers(2**64, size=(2, count), dtype=np.uint64)


def _partners(keys: list[tuple[int, int, int]], whole: tuple[int, int, int]) -> dict[int, list[int]]:
    """The values whose sums add up to m times that of all ids, for any m; complete values are left out."""
    most = 2 * max(size for _, _, size in keys) // whole[2]
    multiples = {m: tuple(m * part % 2**64 for part in whole[:2]) for m in range(1, most + 1)}
    by_key: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for value, key in enumerate(keys):
        if key[:2] != multiples.get(key[2] // whole[2]) or key[2] % whole[2]:
            by_key[key].append(value)
    found: dict[int, list[int]] = {}
    for key, members in by_key.items():
        for m, (first, second) in multiples.items():
            rest = ((first - key[0]) % 2**64, (second - key[1]) % 2**64, m * whole[2] - key[2])
            for value in members if rest[2] > 0 and rest in by_key else ():
                found.setdefault(value, []).extend(by_key[rest])
    return found


@dataclass(frozen=True)
class LinkedPairs:
    """Numbers of pairs of reports: in all, of one client, linked by the attack, and both."""

    pairs: int
    same: int
    linked: int
    right: int

    @property
    def precision(self) -> Fraction:
        """The share of one client's among the linked pairs; 1 if none was linked."""
        return Fraction(self.right, self.linked) if self.linked else Fraction(1)

    @property
    def recall(self) -> Fraction:
        """The share of linked ones among the pairs of one client; 1 if there is none."""
        return Fraction(self.right, self.same) if self.same else Fraction(1)


def linked_pairs(labels: ArrayLike, clients: ArrayLike) -> LinkedPairs:
    """Compare a linking with the truth; exact counts, in linear time.

    labels: the class of each report in the attack, whole numbers; -1: not linked to any.
    clients: the true senders, whole numbers, in the same shape. Raises ValueError for anything else.
    """
    said, true = (array_of(name, given) for name, given in (("labels", labels), ("clients", clients)))
    if said.dtype.kind not in "iu" or true.dtype.kind not in "iu" or said.shape != true.shape:
        raise ValueError(
            f"labels and clients must be whole numbers of one shape, got {said.dtype} {said.shape}, "
            f"{true.dtype} {true.shape}"
        )
    linked = said.ravel() >= 0
    # numbered anew, as int64 and uint64 side by side would become rounded floats
    said, true = (np.unique(given.ravel(), return_inverse=True)[1] for given in (said, true))
    both = np.stack([said[linked], true[linked]])
    return LinkedPairs(
        pairs=said.size * (said.size - 1) // 2,
        same=_pairs(np.unique(true, return_counts=True)[1]),
        linked=_pairs(np.unique(said[linked], return_counts=True)[1]),
        right=_pairs(np.unique(both, axis=1, return_counts=True)[1]),
    )


def _pairs(counts: NDArray[np.int64]) -> int:
    return sum(count * (count - 1) // 2 for count in counts.tolist())
