"""Clients chosen at random: whom that protects from whom."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ldp_audit.accounting.privacy_loss import privacy_loss
from ldp_audit.accounting.subsample import sampled_clients, subsample
from ldp_audit.mechanisms import RandomizedResponse

REPORT = RandomizedResponse(1.0)


def test_who_selects_the_clients_learns_as_much_as_without_sampling() -> None:
    """LDP-FL's cloud; a wrong answer here would be amplification that nobody gets."""
    loss = sampled_clients(REPORT, clients=100, selected=10, observer="selects")
    assert loss.directions == privacy_loss(REPORT).directions
    assert any("hides nobody" in one for one in loss.assumptions)
    assert any("client" in one for one in loss.assumptions)


@pytest.mark.parametrize("adjacency", ["replace", "add/remove"])
def test_who_sees_the_result_alone_learns_what_the_sample_shows(adjacency: Any) -> None:
    loss = sampled_clients(REPORT, clients=100, fraction=0.1, observer="sees the result", adjacency=adjacency)
    wanted = subsample(REPORT, kind="without", n=100, k=10, adjacency=adjacency)
    assert loss.delta(0.05) == wanted.delta(0.05) < privacy_loss(REPORT).delta(0.05)
    assert any("secret" in one for one in loss.assumptions)
    assert any("all selected clients' reports together" in one for one in loss.assumptions)


def test_fractions_and_numbers_are_the_same() -> None:
    for clients, fraction, selected in ((100, 0.29, 29), (3, 1 / 3, 1), (10, 0.0, 0), (10, 1.0, 10)):
        one, two = (
            sampled_clients(REPORT, clients=clients, observer="sees the result", **how)
            for how in ({"fraction": fraction}, {"selected": selected})
        )
        assert one.delta(0.01) == two.delta(0.01)


@pytest.mark.parametrize("observer", ["selects", "sees the result"])
def test_nobody_selected_spends_nothing(observer: Any) -> None:
    assert sampled_clients(REPORT, clients=5, selected=0, observer=observer).supremum() == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"clients": 0, "selected": 0}, "clients must"),
        ({"clients": 5}, "one of selected and fraction"),
        ({"clients": 5, "selected": 1, "fraction": 0.2}, "one of selected and fraction"),
        ({"clients": 5, "selected": 6}, "selected must"),
        ({"clients": 5, "selected": 1.0}, "selected must"),
        ({"clients": 5, "fraction": 0.3}, "fraction must"),
        ({"clients": 5, "fraction": math.nan}, "fraction must"),
        ({"clients": 5, "fraction": 1.2}, "fraction must"),
        ({"clients": 10**9, "fraction": 4e-10}, "fraction must"),  # once taken as none of them, and epsilon as 0
        ({"clients": 10**9, "fraction": 1.4e-9}, "fraction must"),
        ({"clients": 5, "selected": 1, "adjacency": "swap"}, "adjacency must be add/remove or replace, got 'swap'"),
        ({"clients": 5, "selected": 1, "observer": "cloud"}, "observer must"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        sampled_clients(REPORT, **{"observer": "selects", **arguments})
