"""What own ranges show: reports of the shipped mechanism, grouped and attributed, and what must not be told apart."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from ldp_audit.mechanisms import TwoPoint
from ldp_audit.papers.ldp_fl.attacks import by_value as complements
from ldp_audit.papers.ldp_fl.attacks import link_by_value, linked_pairs, name_by_value, ranges_of, ranges_shown
from tests.together import together

EPSILON = 1.0


def a_round(centers, radii, d, dtype=np.float64, seed=0):
    """The reports of clients with these ranges, shape (n, d), their weights uniform; with the clients and ids."""
    rng = np.random.default_rng(seed)
    rows = [
        TwoPoint(EPSILON, c, r).sample(rng.uniform(c - r, c + r, d).clip(c - r, c + r), rng=rng)
        for c, r in zip(centers, radii, strict=True)
    ]
    reports = np.array(rows).astype(dtype)
    clients, ids = np.indices(reports.shape)
    mixed = rng.permutation(reports.size)
    return tuple(array.ravel()[mixed] for array in (reports, clients, ids))


@together(("center", "dtype"), [*itertools.product((0.0, 0.3, -7.7), (np.float64, np.float32))])
def test_a_public_center_and_own_radii_link_every_report(center: float, dtype: type) -> None:
    radii = np.random.default_rng(1).uniform(0.1, 1.0, 50)
    reports, clients, _ = a_round([center] * 50, radii, 100, dtype)
    links = link_by_value(reports, center=center)
    pairs = linked_pairs(links.labels, clients)
    assert (links.classes, pairs.precision, pairs.recall) == (50, 1, 1)
    found = sorted(one.radius for one in links.ranges(EPSILON) if one is not None)
    assert found == pytest.approx(sorted(radii), rel=1e-4 if dtype == np.float32 else 1e-12)


@together("dtype", [np.float64, np.float32, np.float16])
def test_equal_radii_are_not_told_apart(dtype: type) -> None:
    reports, clients, _ = a_round([0.2] * 20, [0.5] * 20, 30, dtype)
    links = link_by_value(reports, center=0.2)
    assert links.classes == 1
    assert linked_pairs(links.labels, clients).precision == Fraction(30 - 1, 600 - 1)


def test_one_center_for_each_report_serves_layers() -> None:
    one, two = a_round([0.1, 0.1], [1.0, 2.0], 40), a_round([5.0, 5.0], [1.0, 2.0], 40, seed=1)
    reports, clients = np.concatenate([one[0], two[0]]), np.concatenate([one[1], two[1]])
    links = link_by_value(reports, center=np.repeat([0.1, 5.0], 80))
    assert links.classes == 2
    assert linked_pairs(links.labels, clients).recall == 1


def test_ids_pair_the_two_values_of_a_client_with_an_unknown_center() -> None:
    rng = np.random.default_rng(2)
    reports, clients, ids = a_round(rng.normal(size=40), rng.uniform(0.1, 1.0, 40), 64)
    alone, paired = link_by_value(reports), link_by_value(reports, ids=ids)
    assert (alone.classes, paired.classes) == (80, 40)
    pairs = linked_pairs(paired.labels, clients)
    assert (pairs.precision, pairs.recall) == (1, 1)
    assert linked_pairs(alone.labels, clients).precision == 1
    assert linked_pairs(alone.labels, clients).recall < Fraction(6, 10)


def test_clients_of_one_range_stay_one_class_and_are_paired_too() -> None:
    reports, clients, ids = a_round([0.0, 1.0, 1.0], [1.0, 0.3, 0.3], 50)
    links = link_by_value(reports, ids=ids)
    assert links.classes == 2
    assert linked_pairs(links.labels, clients).recall == 1


def test_ambiguous_or_incomplete_ids_pair_nothing() -> None:
    """Two ids, and values that complete two others each; and a lost report. Would catch a pairing by luck."""
    reports, ids = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 1, 0, 1])
    assert link_by_value(reports, ids=ids).classes == 4
    assert link_by_value(reports[:3], ids=np.array([0, 1, 1])).classes == 3
    assert link_by_value(reports[:3], ids=np.array([1, 1, 0])).classes == 3
    assert link_by_value(np.array([1.0, 2.0, 2.0]), ids=np.array([0, 0, 1])).classes == 2
    assert link_by_value(np.array([1.0, 2.0]), ids=np.array([0, 1])).classes == 1


def test_words_that_collide_pair_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """All ids have the same words: only the check id by id can tell that two values do not complete each other."""
    monkeypatch.setattr(complements, "_words", lambda count: np.zeros((2, count), dtype=np.uint64))
    assert link_by_value(np.array([1.0, 2.0, 2.0]), ids=np.array([0, 1, 2])).classes == 1
    reports, ids = np.array([1.0, 2.0, 2.0, 3.0, 3.0, 3.0]), np.array([0, 0, 1, 2, 2, 2])
    assert link_by_value(reports, ids=ids).classes == 3


def test_two_reports_give_the_least_and_largest_weight_of_a_layer() -> None:
    weights = np.random.default_rng(3).normal(size=200)
    low, high = weights.min(), weights.max()
    center, radius = (low + high) / 2, (high - low) / 2 * (1 + 1e-15)
    reports = TwoPoint(EPSILON, center, radius).sample(weights, rng=np.random.default_rng(4))
    found = ranges_of(reports[np.sort(np.unique(reports, return_index=True)[1])], EPSILON)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-13)
    assert (found.center, found.radius) == pytest.approx((center, radius), rel=1e-13)


@together(("epsilon", "d"), [*itertools.product((1e-9, 0.5, 2.0, 50.0), (2, 3, 5))])
def test_the_least_probability_of_both_values_is_attained(epsilon: float, d: int) -> None:
    """Against all layers on a grid that reaches both ends. Would catch a bound that is wrong, or not attained."""
    share = 1 / (1 + np.exp(-epsilon))
    grid = np.linspace(1 - share, share, 5)
    least = min(
        1 - np.prod([share, 1 - share, *inner]) - np.prod([1 - share, share, *(1 - p for p in inner)])
        for inner in itertools.product(grid, repeat=d - 2)
    )
    assert ranges_shown(epsilon, d) == pytest.approx(least, rel=1e-12)
    assert ranges_shown(np.inf, d) == 1.0


@together(
    ("radii", "success", "exposed"),
    [([1, 2, 3], 1, 1), ([1, 1, 1], Fraction(1, 3), 0), ([1, 1, 2, 3], Fraction(3, 4), Fraction(1, 2)), ([5], 1, 1)],
)
def test_success_is_the_number_of_different_ranges_over_n(radii: list[int], success: object, exposed: object) -> None:
    found = name_by_value(radii, EPSILON, d=7)
    assert (found.success, found.exposed, found.exact) == (success, exposed, True)
    assert (found.chance, found.reports) == (Fraction(1, len(radii)), 7 * len(radii))


def test_shared_single_values_give_bounds_that_hold() -> None:
    """Ranges that share one value: the success depends on the weights; both ends by hand."""
    reach = TwoPoint(EPSILON).outputs()[1]
    found = name_by_value([1.0, 1.0], EPSILON, centers=[0.0, 2 * reach])  # {-A, A} and {A, 3A}
    assert (found.exact, found.bounds, found.success) == (False, (Fraction(1, 2), Fraction(1)), Fraction(1, 2))
    for p in (0.25, 0.5, 0.75):  # how often each reports the shared value
        success = (1 - p) * 1 + p / 2
        assert found.bounds is not None
        assert found.bounds[0] <= success <= found.bounds[1]


def test_narrow_dtypes_merge_close_radii() -> None:
    close = [1.0, 1.0 + 1e-5]
    assert name_by_value(close, EPSILON).success == 1
    assert name_by_value(close, EPSILON, dtype=np.float32).success == 1
    assert name_by_value(close, EPSILON, dtype=np.float16).success == Fraction(1, 2)


def test_two_programs_of_equal_radii_can_be_told_apart_by_their_rounding() -> None:
    """r A multiplied in float32, and in float64 and then rounded: other bits for many radii."""
    radii = np.random.default_rng(5).uniform(0.1, 1.0, 1000)
    A = TwoPoint(EPSILON).outputs()[1]
    narrow, wide = radii.astype(np.float32) * np.float32(A), (radii * A).astype(np.float32)
    differing = float(np.mean(narrow != wide))
    assert 0.2 < differing < 0.8
    place = int(np.argmax(narrow != wide))
    assert link_by_value(np.array([narrow[place], -narrow[place], wide[place], -wide[place]]), center=0.0).classes == 2


def test_linked_pairs_count_as_by_visiting_every_pair() -> None:
    rng = np.random.default_rng(6)
    labels, clients = rng.integers(-1, 4, 40), rng.integers(0, 3, 40)
    found = linked_pairs(labels, clients)
    pairs = list(itertools.combinations(range(40), 2))
    joined = [(a, b) for a, b in pairs if labels[a] == labels[b] >= 0]
    assert (found.pairs, found.linked) == (len(pairs), len(joined))
    assert found.same == sum(clients[a] == clients[b] for a, b in pairs)
    assert found.right == sum(clients[a] == clients[b] for a, b in joined)
    nothing = linked_pairs([-1, -1], [0, 0])
    assert (nothing.precision, nothing.recall) == (1, 0)


def test_large_client_numbers_are_not_rounded() -> None:
    pairs = linked_pairs(np.array([0, 0, 1]), np.array([2**63, 2**63 + 1, 5], dtype=np.uint64))
    assert (pairs.same, pairs.linked, pairs.right) == (0, 1, 0)


@together(
    ("call", "message"),
    [
        (lambda: link_by_value([]), "reports must not be empty"),
        (lambda: link_by_value([np.nan]), "reports must be finite"),
        (lambda: link_by_value([2**53, 2**53 + 1]), "reports must be at most 2.*53 in size"),
        (lambda: link_by_value(["a"]), "reports must be finite"),
        (lambda: link_by_value([1.0], ids=[0], center=0.0), "not both"),
        (lambda: link_by_value([1.0], ids=[0.5]), "ids must be whole numbers"),
        (lambda: link_by_value([1.0], ids=[0, 1]), "ids must be whole numbers"),
        (lambda: link_by_value([1.0], center=[0.0, 1.0]), "center must be a number or have the shape"),
        (lambda: ranges_of([1.0, 1.0], 1.0), "exactly two values, got 1"),
        (lambda: ranges_of([1.0, 2.0, 3.0], 1.0), "exactly two values, got 3"),
        (lambda: ranges_of([1.0, 2.0], 0.0), "epsilon"),
        (lambda: ranges_shown(1.0, 1), "d must be a whole number >= 2"),
        (lambda: ranges_shown(-1.0, 2), "epsilon"),
        (lambda: name_by_value([], 1.0), "radii must be one number a client"),
        (lambda: name_by_value([1.0, 2.0], 1.0, centers=[0.0]), "centers must be"),
        (lambda: name_by_value([-1.0], 1.0), "radius"),
        (lambda: name_by_value([1.0], 1e-9, dtype=np.float16), "cannot hold the reports"),
        (lambda: name_by_value([1.0], 1.0, dtype=np.int64), "dtype must be a floating one"),
        (lambda: linked_pairs([0.5], [0]), "whole numbers of one shape"),
        (lambda: linked_pairs([0, 1], [0]), "whole numbers of one shape"),
    ],
)
def test_bad_input_is_named(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
