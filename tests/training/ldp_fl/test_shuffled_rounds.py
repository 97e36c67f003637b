"""Splitting, waiting and mixing in training: who waits how long, which window is agreed, when a run permutes."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from ldp_audit.training.ldp_fl.run import agreed_window, own_radii, permutes
from ldp_audit.training.ldp_fl.settings import LdpFlSettings
from ldp_audit.training.spend import spend_of
from ldp_audit.training.streams import Streams
from tests.together import together
from tests.training.ldp_fl.small import finished, plan, run


def test_clients_of_unequal_speed_wait_for_the_slowest() -> None:
    """T_W = T_S - t_LC - t_C; every message comes within T after T_S, whoever sends it."""
    _, equal = finished(permute=True, model="softmax")
    _, unequal = finished(permute=True, model="softmax", slowest=4.0, window=2.0)
    for record, others in zip(unequal, equal, strict=True):
        found = record["arrivals"]
        assert 1 < found["slowest"] < 4
        assert 0 < found["waited"]["mean"] < found["waited"]["most"] <= found["slowest"] - 1
        assert found["slowest"] <= found["first"] < found["last"] < found["slowest"] + found["window"]
        assert found["latest_delay"] == pytest.approx(found["last"] - found["slowest"])
        assert 0.99 * 2.0 < found["latest_delay"] < 2.0  # of 1,170 uniform delays; chance (0.99)^1170 < 1e-5, one seed
        assert others["arrivals"]["waited"] == {"mean": 0.0, "most": 0.0}
        assert record["accuracy"] == others["accuracy"]


def test_a_slow_client_is_slow_in_every_round() -> None:
    _, records = finished(permute=True, model="softmax", slowest=4.0)
    assert records[0]["arrivals"]["slowest"] == records[1]["arrivals"]["slowest"]


@together(("n", "dishonest", "within"), [(3, 1, True), (7, 3, True), (2, 1, False), (7, 4, False), (7, 0, True)])
def test_the_median_of_proposals_resists_a_minority(n: int, dishonest: int, within: bool) -> None:
    """LF-MEDIAN: with two clients the median is the mean, which one dishonest client moves."""
    found = agreed_window(LdpFlSettings(n=n, dishonest=dishonest, window=2.0), Streams(4))
    assert (1.0 <= found <= 3.0) == within
    assert agreed_window(LdpFlSettings(n=n, window=2.0), Streams(4)) == 2.0


def test_the_agreed_window_is_the_run_s() -> None:
    one, records = finished(permute=True, model="softmax", dishonest=2)
    assert records[0]["arrivals"]["window"] == records[1]["arrivals"]["window"] == one.window
    assert 0.5 < one.window < 1.5


@together(
    ("settings", "samples", "expected"),
    [
        ({"epochs": 5}, 600, True),
        ({"epochs": 4}, 600, False),
        ({"epochs": 5, "n": 10_000}, 600, False),
        ({"epochs": 5, "epsilon": math.inf}, 600, False),
        ({"epochs": 5, "perturb": False}, 600, False),
        ({"epochs": 5, "privacy": "central"}, 600, False),
        ({"epochs": 5, "ranges": "own"}, 600, False),
        ({"epochs": 1, "permute": True}, 1, True),
        ({"epochs": 5, "permute": False}, 600, False),
    ],
)
def test_a_run_permutes_where_that_costs_little(settings: dict[str, Any], samples: int, expected: bool) -> None:
    """LDP-FL's network on MNIST has 28,938 weights."""
    assert permutes(LdpFlSettings(**settings), 28_938, samples) == expected


@together(("permute", "says"), [(True, "splits, delays and mixes"), (False, "averages its reports unpermuted")])
def test_the_protocol_says_which_of_both_the_run_did(permute: bool, says: str) -> None:
    protocol = run(permute=permute, model="softmax").protocol()
    assert protocol is not None
    assert any(says in note for note in protocol.notes)


def test_a_client_s_own_radius_is_the_least_that_holds_its_layer() -> None:
    """From .01, .02, ..., .64; two spreads about the center, both tensors of a layer together."""
    weights = {
        "a.weight": torch.tensor([[[0.1, -0.1]], [[0.5, 0.5]]]),
        "a.bias": torch.tensor([[0.1], [-0.5]]),
        "b.weight": torch.tensor([[0.001], [9.0]]),
    }
    settings = plan(ranges="own")
    found = own_radii(settings, weights, torch.Generator())
    assert [round(one, 9) for one in settings.radii] == [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64]
    assert {name: [round(one, 9) for one in radii.tolist()] for name, radii in found.items()} == {
        "a.weight": [0.32, 0.64],
        "a.bias": [0.32, 0.64],
        "b.weight": [0.01, 0.64],
    }
    largest = own_radii(plan(ranges="own", rule="extremes"), weights, torch.Generator())
    assert [round(one, 9) for one in largest["a.weight"].tolist()] == [0.16, 0.64]


def test_own_ranges_spend_what_their_choice_spends() -> None:
    """Chosen from the data: infinite. By randomised response: its epsilon for each layer and round besides."""
    bare = spend_of(run(ranges="own", model="mlp"))["everything"]  # type: ignore[index]
    noisy = run(ranges="own", model="mlp", range_epsilon=2.0)
    spent = spend_of(noisy)["everything"]  # type: ignore[index]
    assert (bare["pure"], bare["by_name"]) == ("inf", ["inf", "inf"])
    assert spent["pure"] == pytest.approx(2 * (noisy.dimensions * 1.0 + 2 * 2.0))
    assert spent["shuffled"] is None


def test_measures_of_own_ranges_are_corollary_1_s() -> None:
    """The exact variance lies within A^2 and A^2 - 1 times the clients' mean square radius, over their number."""
    _, records = finished(ranges="own", model="mlp", range_epsilon=1.0)
    for layer in records[-1]["layers"].values():
        assert layer["lemma_3"]["holds"]
        assert abs(layer["variance_z"]) < 6
        assert abs(layer["bias_z"]) < 6
        assert 0.01 < layer["radius"] < 0.64


@together(
    ("settings", "message"),
    [
        ({"dishonest": 6}, "dishonest must be fewer than the 6 clients, got 6"),
        ({"slowest": 0.5}, r"slowest must be a number in \[1, 1e6\], got 0.5"),
        ({"range_epsilon": 0.0}, r"range_epsilon must be a number in \[1e-12, 700\], or inf, got 0.0"),
        ({"ranges": "own", "permute": True}, "permute must be false where ranges are own"),
        ({"ranges": "own", "privacy": "central"}, "ranges must be fixed or adaptive where privacy is central"),
        ({"privacy": "central", "permute": True}, "privacy central has no reports by clients, got permute = True"),
        ({"privacy": "shared"}, "privacy must be one of local, central, got 'shared'"),
        ({"permute": 3}, "permute must be true or false, got 3"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan(**settings)
