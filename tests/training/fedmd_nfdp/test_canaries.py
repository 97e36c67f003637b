"""FedMD's canaries: a record that is drawn too often, and noise that is too small, are seen; sound runs pass."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from ldp_audit.accounting import compose
from ldp_audit.accounting.protocols.paper_claims import installed
from ldp_audit.mechanisms import Gaussian, Laplace
from ldp_audit.training.canary import Canary, Promise, audit_run, canary_bounds
from ldp_audit.training.datasets import Images
from ldp_audit.training.fedmd_nfdp.canaries import NoisyScores, PartyRecords, noise_canary
from ldp_audit.training.fedmd_nfdp.plan import FedMd
from tests.together import together

ERROR = 1e-6
CPU = torch.device("cpu")
PLAN = FedMd(k=4, networks="mlp-4", private_epochs=8, private_batch=20, learning_rate=0.5, outputs="all")


def party(plan: FedMd) -> PartyRecords:
    """20 records of two classes, black and white on the left; the canary is white on the right, of a third class."""
    x = torch.zeros(20, 1, 2, 2)
    x[::2, 0, :, 0] = 1
    y = (torch.arange(20) % 2).long()
    x[0], y[0] = 0.0, 2
    x[0, 0, :, 1] = 1
    torch.manual_seed(0)
    start = nn.Sequential(nn.Flatten(), nn.Linear(4, 3))
    return PartyRecords(plan, start, x, y, 0, x[:1].clone(), 2)


def record(plan: FedMd, delta: float, samples: int) -> Canary:
    return Canary("record", "", ("in", "out"), party(plan), (Promise("exact", "", 0.0, delta),), (), samples, True)


def test_a_sampled_record_is_seen_as_often_as_it_is_drawn_and_no_more():
    """Would catch a canary that is not memorised, and worlds that differ in more than the record: delta is 0.2."""
    found = canary_bounds(record(replace(PLAN, method="nfdp-without"), 4 / 20, 200), samples=None, error=1e-3, seed=1)
    assert found["verdict"] == "consistent"
    assert 0.0 < found["delta_lower"] <= 4 / 20


def test_a_party_that_trains_on_all_its_records_breaks_the_promise_of_a_sample():
    """Would catch an audit that trusts the sampling: the sample is ignored here. Power: practically 1."""
    found = canary_bounds(record(replace(PLAN, method="np"), 4 / 20, 60), samples=None, error=ERROR, seed=2)
    assert found["verdict"] == "violated"
    assert found["delta_lower"] > 0.4


@together(
    ("kind", "right", "half", "budget"),
    [
        ("gaussian", Gaussian(sigma=12.0, sensitivity=math.sqrt(2)), Gaussian(sigma=3.0), (1.0, 0.05)),
        ("laplace", Laplace(scale=40.0, sensitivity=2.0), Laplace(scale=1.0), (1.0, 0.0)),
    ],
    quick=1,
)
def test_noise_that_is_too_small_breaks_the_budget_and_enough_keeps_it(kind, right, half, budget):
    """Would catch a statistic of one query alone: 20 queries together. Power: practically 1; false alarms 1e-6."""
    epsilon, delta = budget
    assert compose([(right, 20)]).delta(epsilon) <= delta
    plan = FedMd(method="ldp", noise=kind, rounds=2, public_per_round=10, budget_epsilon=epsilon, budget_delta=delta)
    verdicts = [
        canary_bounds(noise_canary(plan, added, 50, CPU), samples=4_000, error=ERROR, seed=3)["verdict"]
        for added in (right, half)
    ]
    assert verdicts == ["consistent", "violated"]


@together("added", [Gaussian(sigma=2.0), Laplace(scale=2.0)])
def test_the_statistic_is_the_log_likelihood_ratio(added):
    """Would catch a wrong scale or sign: against the law of each number."""
    pair = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    reports = torch.tensor([[[0.3, -1.0], [2.0, 0.5]]])
    logs = [
        sum(float(added.log_prob(float(y), float(x))) for row in reports[0] for y, x in zip(row, one, strict=True))
        for one in pair
    ]
    assert math.isclose(NoisyScores(added, 2, pair).ratio(reports)[0], logs[0] - logs[1], abs_tol=1e-6)


def small_images() -> Images:
    rng = np.random.default_rng(1)
    y = np.arange(120, dtype=np.int64) % 4
    x = np.clip(rng.random((120, 1, 4, 4)) * 0.3 + (y[:, None, None, None] == np.arange(4)[:, None]) * 0.7, 0, 1)
    return Images("toy", x.astype(np.float32), y, x.astype(np.float32)[:40], y[:40], 4)


def test_a_run_is_audited_from_its_plan():
    """Would catch a canary that does not fit the run that it is made for."""
    plan = replace(
        PLAN, parties=2, public_classes=2, networks="mlp-8", outputs="private", public_per_round=5, public_batch=50
    )
    found = audit_run(plan, small_images(), 5, samples=30, confidence=1 - ERROR, device=CPU)
    (one,) = found["observers"]
    assert found["verdict"] == one["verdict"] == "consistent"
    assert [promise["by"] for promise in one["promised"]] == ["exact", *(["paper"] if installed("fedmd-nfdp") else [])]
    assert math.isclose(one["promised"][0]["delta"], 1 - (29 / 30) ** 4)
    bare = audit_run(replace(plan, method="np"), small_images(), 5, device=CPU)
    assert bare["observers"] == []
    assert "this run promises no privacy" in bare["why_not"]
    whole = audit_run(replace(plan, method="nfdp-without", k=30), small_images(), 5, device=CPU)
    assert whole["observers"] == []
    assert "every record is trained on (delta is 1)" in whole["why_not"]
