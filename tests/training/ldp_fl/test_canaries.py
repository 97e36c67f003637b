"""LDP-FL's canary: sound steps and shufflers pass; bugs of one weight, of the clip and of the order are seen."""

from __future__ import annotations

import math
from dataclasses import asdict, replace

import numpy as np
import torch

from ldp_audit.mechanisms import LayerRange, TwoPoint
from ldp_audit.mechanisms.values.parameter_shuffler import Messages, ParameterShuffler
from ldp_audit.training.canary import Promise, audit_run, canary_bounds
from ldp_audit.training.ldp_fl import reports
from ldp_audit.training.ldp_fl.canaries import (
    ClientReports,
    anonymous_canary,
    arrival_canary,
    audited_shapes,
    named_canary,
    upper_chances,
    weight_canary,
)
from ldp_audit.training.ldp_fl.plan import LdpFl
from ldp_audit.training.ldp_fl.run import LdpFlRun
from tests.together import together
from tests.training.ldp_fl.small import images, plan, run

ERROR = 1e-6
CPU = torch.device("cpu")
RANGES = LayerRange((0.0, 0.5), (1.0, 0.25), ("a", "b"))
CLIENT = ClientReports({"a": torch.Size([4, 5]), "b": torch.Size([5])}, RANGES, 1.0, CPU)
CLAIM = Promise("paper", "unlinkable", 1.0)


def one_weight_without_noise(weights, ranges, epsilon, generator):
    """Weight (1, 2) of layer a is sent as if its epsilon were infinite."""
    found = reports.reports(weights, ranges, epsilon, generator)
    _, high = TwoPoint(epsilon, ranges.centers[0], ranges.radii[0]).outputs()
    found["a"][..., 1, 2] = high * weights["a"][..., 1, 2].sign()
    return found


def outside_is_sent_as_it_is(weights, ranges, epsilon, generator):
    """A clip that is missing: what lies outside leaves the client."""
    found = reports.reports(weights, ranges, epsilon, generator)
    return {
        name: torch.where((weights[name] - center).abs() > 1.5 * radius, weights[name], found[name])
        for name, center, radius in zip(ranges.names, ranges.centers, ranges.radii, strict=True)
    }


def test_linked_reports_break_the_papers_epsilon_and_keep_d_epsilon():
    """Would catch a canary whose weights do not move all reports together. Power: practically 1."""
    found = canary_bounds(named_canary(CLIENT, CLAIM), samples=10_000, error=ERROR, seed=1)
    assert [one["verdict"] for one in found["promised"]] == ["consistent", "violated"]
    assert found["promised"][0]["epsilon"] == 25
    assert found["epsilon_lower"] > 4


def test_the_best_weight_of_a_sound_step_keeps_epsilon():
    """Would catch a false alarm of the choice among the weights: it must not count in the bound."""
    found = canary_bounds(weight_canary(CLIENT, CLIENT.most_distinguishing(2)), samples=30_000, error=ERROR, seed=2)
    assert found["verdict"] == "consistent"
    assert found["epsilon_lower"] > 0.85


def test_one_weight_without_noise_is_found_and_convicted():
    """Would catch an audit of the whole client alone: d epsilon = 25 would excuse it. Power: practically 1."""
    broken = replace(CLIENT, step=one_weight_without_noise)
    place = broken.most_distinguishing(3)
    assert place == 1 * 5 + 2
    found = canary_bounds(weight_canary(broken, place), samples=2_000, error=ERROR, seed=3)
    assert found["verdict"] == "violated"
    whole = canary_bounds(named_canary(broken, CLAIM), samples=2_000, error=ERROR, seed=3)
    assert whole["verdict"] == "consistent", "which is why there is an observer of one weight"


def test_a_missing_clip_shows_the_canary():
    """Would catch a canary inside the range. Power: practically 1."""
    broken = replace(CLIENT, step=outside_is_sent_as_it_is)
    found = canary_bounds(weight_canary(broken, broken.most_distinguishing(4)), samples=2_000, error=ERROR, seed=4)
    assert found["verdict"] == "violated"


def test_anonymous_counts_break_the_papers_epsilon_and_keep_their_own():
    """Would catch that weights are not added up: one weight's count has 0.41 at most. Power: practically 1."""
    chances = np.full((9, 25), 0.5)
    promise = Promise("exact", "d epsilon", 25.0)
    found = canary_bounds(anonymous_canary(CLIENT, chances, promise, CLAIM), samples=20_000, error=ERROR, seed=5)
    assert [one["verdict"] for one in found["promised"]] == ["consistent", "violated"]
    few = ClientReports({"a": torch.Size([1])}, LayerRange((0.0,), (1.0,), ("a",)), 1.0, CPU)
    alone = canary_bounds(anonymous_canary(few, chances[:, :1], promise, CLAIM), samples=20_000, error=ERROR, seed=5)
    assert alone["epsilon_lower"] < 1.0 < found["epsilon_lower"], "one weight of ten clients is hidden"


def test_an_order_that_the_shuffler_keeps_gives_the_sender_away():
    """Would catch an observer of counts alone. Power: practically 1; the shuffler of the runs is consistent (1e-6)."""

    def keeps_the_order(reports, generator):
        n, ids = reports.shape
        places = torch.arange(ids).expand(n, ids).reshape(-1)
        return Messages(torch.zeros(n * ids), places, reports.reshape(-1))

    sound = canary_bounds(arrival_canary(20, 1.0, 1.0, CPU), samples=10_000, error=ERROR, seed=6)
    broken = canary_bounds(
        arrival_canary(20, 1.0, 1.0, CPU, shuffle=keeps_the_order), samples=10_000, error=ERROR, seed=6
    )
    assert sound["verdict"] == "consistent"
    assert broken["verdict"] == "violated"
    assert broken["promised"][0]["epsilon"] < 0.9


def test_of_a_large_network_the_first_weights_are_looked_at():
    """Would catch a canary of a million weights, which takes hours."""
    found = audited_shapes({"a": torch.empty(30_000), "b": torch.empty(3, 3), "c": torch.empty(7)})
    assert [shape.numel() for shape in found.values()] == [20_000, 1, 1]
    assert audited_shapes({"b": torch.empty(3, 3)}) == {"b": torch.Size([3, 3])}


def test_other_clients_that_diverge_are_audited_with_what_they_send():
    """Would catch an audit that ends in an error where the run goes on."""
    one = run(learning_rate=1e30)
    chances = one.upper_chances_of_others()
    assert chances.shape == (5, one.dimensions)
    received = {name: weight[None] for name, weight in one.weights.items()}
    counts = {name: weight.numel() for name, weight in one.weights.items()}
    np.testing.assert_array_equal(chances[0], upper_chances(received, one.ranges, 1.0, counts)[0])


class LouderRun(LdpFlRun):
    """Sends with three times the epsilon that its plan says."""

    def reports_of(self, weights, generator):
        return reports.reports(weights, self.ranges, 3 * self.plan.epsilon, generator)


class LouderPlan(LdpFl):
    """Of such runs."""

    def start(self, data, *, seed, device):
        return LouderRun(self, data, seed=seed, device=device)


def test_a_run_that_sends_otherwise_than_it_says_is_convicted():
    """Would catch an audit of the noisy step in the place of what the run does with it: here three times its epsilon.

    Power: practically 1; the run as it is is consistent (1e-6).
    """
    sound = plan(rounds=1, model="softmax", epsilon=0.5)

    def verdict(of):
        return audit_run(of, images(), 1, samples=400, confidence=1 - ERROR, device=CPU)["verdict"]

    assert verdict(sound) == "consistent"
    assert verdict(LouderPlan(**asdict(sound))) == "violated"


@together("world", [0, 1])
def test_the_canary_lies_beyond_the_ends_of_every_range(world):
    """Would catch a world that is the same in both runs, and a layer that is left out."""
    sent = reports.reports(CLIENT.weights(world, 3), RANGES, math.inf, torch.Generator().manual_seed(1))
    for name, center, radius in zip(("a", "b"), RANGES.centers, RANGES.radii, strict=True):
        assert torch.all(sent[name] == center + (1 - 2 * world) * radius)


def test_clients_of_unequal_speed_are_hidden_where_they_wait():
    """Would catch a canary of clients that are equally quick. Power: practically 1 where the canary does not wait."""
    times = [1.0] + [5.0] * 19

    def nobody_waits(reports, generator):
        late = ParameterShuffler((1.0,) * 20, (0.0,) * 20, 1.0, actual_training=times)
        return late.sample(reports, rng=generator)

    sound = canary_bounds(arrival_canary(20, 1.0, 1.0, CPU, times=times), samples=10_000, error=ERROR, seed=6)
    broken = canary_bounds(
        arrival_canary(20, 1.0, 1.0, CPU, times=times, shuffle=nobody_waits), samples=10_000, error=ERROR, seed=6
    )
    assert sound["verdict"] == "consistent"
    assert broken["verdict"] == "violated"
