"""What ids and channels give away, against enumeration; the result type; all attacks at one size."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest

from ldp_audit.papers.ldp_fl.attacks import (
    Attribution,
    attacks,
    full_models,
    name_by_channel,
    name_by_identifier,
    table,
    tell_pair_by_identifier,
)
from tests.together import together


def matrices(n: int, d: int):
    return (np.array(bits).reshape(n, d) for bits in itertools.product((0, 1), repeat=n * d) if any(bits))


@together(("n", "d"), [(1, 2), (2, 2), (2, 3), (3, 2)])
def test_naming_by_id_is_the_best_guess_for_every_incidence(n: int, d: int) -> None:
    for sent in matrices(n, d):
        right = sum(Fraction(int(sent[:, j].max()), int(sent.sum())) for j in range(d))
        found = name_by_identifier(sent)
        assert found.success == right
        assert found.chance == Fraction(int(sent.sum(axis=1).max()), int(sent.sum()))
        assert found.chance <= found.success


@together(("n", "d"), [(2, 2), (3, 2), (2, 3)])
def test_pairs_of_ids_are_one_clients_as_often_as_by_enumeration(n: int, d: int) -> None:
    for sent, (i, j) in itertools.product(matrices(n, d), itertools.product(range(d), repeat=2)):
        pairs = [
            (a, b) for a, b in itertools.product(range(n), repeat=2) if sent[a, i] and sent[b, j] and (i != j or a != b)
        ]
        if pairs:
            assert tell_pair_by_identifier(sent, i, j) == Fraction(sum(a == b for a, b in pairs), len(pairs))
        else:
            with pytest.raises(ValueError, match="two reports"):
                tell_pair_by_identifier(sent, i, j)


def test_full_models_link_nothing_and_exclude_the_same_id() -> None:
    everything = np.ones((5, 3), dtype=bool)
    assert name_by_identifier(everything) == Attribution(
        "by id", 5, 15, Fraction(1, 5), Fraction(1, 5), Fraction(0), exact=True
    )
    assert full_models(5, 3).success == Fraction(1, 5)
    assert full_models(500, 10**9).advantage == 0
    assert tell_pair_by_identifier(everything, 0, 1) == Fraction(1, 5)
    assert tell_pair_by_identifier(everything, 1, 1) == 0


def test_a_rare_id_exposes_its_client() -> None:
    sent = np.ones((4, 5), dtype=int)
    sent[:3, 4] = 0
    found = name_by_identifier(sent)
    assert found.exposed == Fraction(1, 17)
    assert found.advantage == 0  # naming always the client that sends most is as good
    sent[3, 0] = 0
    assert name_by_identifier(sent).advantage > 0


def test_channels_link_what_is_sent_on_them() -> None:
    own = name_by_channel([["a"] * 10, ["b"] * 10])
    assert (own.success, own.exposed, own.chance) == (1, 1, Fraction(1, 2))
    shared = name_by_channel([["x"] * 10, ["x"] * 10])
    assert (shared.success, shared.exposed, shared.advantage) == (Fraction(1, 2), 0, 0)
    mixed = name_by_channel([["x", "x", "a"], ["x", "b", "b"]])
    assert (mixed.success, mixed.exposed) == (Fraction(5, 6), Fraction(1, 2))


@together(
    ("call", "message"),
    [
        (lambda: name_by_identifier([1, 0]), "sent must have shape"),
        (lambda: name_by_identifier([[2]]), "sent must have shape"),
        (lambda: name_by_identifier([[0.5]]), "sent must have shape"),
        (lambda: name_by_identifier([[0, 0]]), "sends an id"),
        (lambda: name_by_identifier(np.zeros((0, 0), dtype=bool)), "sends an id"),
        (lambda: tell_pair_by_identifier([[1, 1]], 0, 2), "second must be an id in 0..1"),
        (lambda: name_by_channel([]), "channels must hold a report"),
        (lambda: name_by_channel([[], []]), "channels must hold a report"),
        (lambda: name_by_channel([["x"], [["x"]]]), r"channels must be numbers or text, got \['x'\] of client 1"),
        (lambda: full_models(0, 1), "n must be a whole number"),
        (lambda: Attribution("", 1, 1, 1.5, 0.0, 0.0, exact=True), "success must lie in"),
        (lambda: Attribution("", 1, 1, float("nan"), 0.0, 0.0, exact=True), "success must lie in"),
        (lambda: attacks(3, 2, 1, 1.0, window=1, offset=0, radii=[1.0]), "radii must be one number a client, 3"),
        (lambda: attacks(3, 2, 1, 1.0, window=1, offset=[0, 1]), "starts of 3 clients, got 2"),
        (lambda: attacks(3, 2, 0, 1.0, window=1, offset=0), "rounds must be"),
        (lambda: attacks(3, 2, 1, 0.0, window=1, offset=0), "epsilon"),
        (lambda: attacks(3, 2, 1, 1.0, window=0, offset=0), "window must be positive"),
    ],
)
def test_bad_input_is_named(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_result_reads_and_is_json() -> None:
    row = Attribution("by x", 2, 4, Fraction(25, 32), Fraction(1, 2), 0.0, exact=True, note="as assumed")
    assert row.advantage == Fraction(9, 16)
    assert "right with probability 25/32 = 0.78125, by chance 1/2 = 0.5" in row.describe()
    assert row.describe().endswith("as assumed")
    written = json.loads(json.dumps(row.to_dict()))
    assert (written["success"], written["success_fraction"], written["theory"]) == (0.78125, "25/32", None)
    bounded = Attribution("by y", 2, 4, 0.6, 0.5, 0.0, exact=False, bounds=(0.5, 0.7), confidence=0.99, theory=0.61)
    assert "between 0.5 and 0.7 (simulated, confidence 0.99); the formula says 0.61" in bounded.describe()
    assert json.loads(json.dumps(bounded.to_dict()))["bounds"] == [0.5, 0.7]
    assert table([row, bounded]).count("\n") == 2
    long = Attribution("by z", 2, 4, Fraction(2, 3) ** 20_000, Fraction(0), Fraction(0), exact=True)
    assert "right with probability 0, by chance 0" in long.describe()
    assert "success_fraction" not in json.loads(json.dumps(long.to_dict()))


@together(("n", "d", "offset"), [(1, 1, 0), (2, 1, 0.5), (3, 4, [0, 1, 2]), (100, 10_000, 0.001), (5, 2, 9)])
def test_all_attacks_at_one_size(n: int, d: int, offset: object) -> None:
    rows = attacks(n, d, 3, EPSILON := 1.0, window=1.0, offset=offset)
    assert all(row.clients == n for row in rows if row.attack != "by time, whose are these reports")
    assert all(row.success >= row.chance for row in rows)
    assert len({row.attack for row in rows}) == len(rows)
    by_name = {row.attack: row for row in rows}
    assert by_name["by time, one report, all start together"].success == Fraction(1, n)
    assert by_name["by id, each client sends each once"].reports == 3 * n * d
    assert json.dumps([row.to_dict() for row in rows])
    shared = attacks(n, d, 3, EPSILON, window=1.0, offset=offset, radii=[2.0] * n)
    assert {row.attack: row.success for row in shared}["by value, own ranges"] == Fraction(1, n)
    assert by_name["by value, own ranges"].success == 1
