"""A run is audited from its plan: shipped pipelines, a user's own, and bad arguments."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.accounting.protocols.paper_claims import installed
from ldp_audit.training.canary import Canary, Promise, audit_run
from ldp_audit.training.datasets import Images, Table
from ldp_audit.training.fedsel.plan import FedSel
from ldp_audit.training.ldp_fl.plan import LdpFl
from tests.together import together

CPU = torch.device("cpu")
SURE = 1 - 1e-6


@dataclass(frozen=True)
class OwnPlan:
    """A user's pipeline whose runs say what their canaries are."""

    leaks: bool

    def start(self, data: Any, *, seed: int, device: torch.device) -> OwnPlan:
        return self

    def protocol(self) -> None:
        return None

    def canaries(self) -> list[Canary]:
        def draw(world: int, n: int, rng: np.random.Generator) -> np.ndarray:
            return np.full(n, float(world)) if self.leaks else rng.integers(0, 2, n)

        promise = Promise("exact", "nothing is told", 0.1)

        def coin(world: int, n: int, rng: np.random.Generator) -> np.ndarray:
            return rng.integers(0, 2, n)

        made = Canary("client", "one", ("in", "out"), draw, (promise,), (), samples=2_000)
        return [made, replace(made, draw=coin)]


@together("leaks", [True, False])
def test_a_users_own_run_brings_its_canaries(leaks):
    """Would catch a verdict that ignores an observer, and an error that every observer spends anew."""
    found = audit_run(OwnPlan(leaks), None, 1, confidence=SURE, device=CPU)  # type: ignore[arg-type]
    assert found["verdict"] == ("violated" if leaks else "consistent")
    assert [one["confidence"] for one in found["observers"]] == [pytest.approx(1 - 5e-7, abs=1e-12)] * 2


def test_ldp_fl_is_audited_before_its_last_round():
    """Would catch observers that are missing, and a run that is sound and accused (1e-6): d = 10 weights, 3 clients."""
    rng = np.random.default_rng(1)
    x, y = rng.random((30, 1, 2, 2)).astype(np.float32), (np.arange(30) % 2).astype(np.int64)
    plan = LdpFl(model="softmax", n=4, fraction=0.75, rounds=2, epochs=1, permute=True)
    lines: list[str] = []
    data = Images("toy", x, y, x[:10], y[:10], 2)
    found = audit_run(plan, data, 2, samples=2_000, confidence=SURE, device=CPU, progress=lines.append)
    assert found["verdict"] == "consistent"
    assert [one["unit"] for one in found["observers"]] == ["client", "client", "weight", "weight"]
    assert found["observers"][0]["promised"][0]["epsilon"] == 10
    assert {one["verdict"] for one in found["observers"][0]["promised"] if one["by"] == "paper"} == (
        {"violated"} if installed("ldp-fl") else set()
    ), "the paper's epsilon is for no client"
    assert "audit: training, round 1 of 1 before the last" in lines
    json.dumps(found, allow_nan=False)


def test_fedsel_is_audited_with_its_own_sender():
    """Would catch an audit of other stages than the run's: PE's excess over epsilon = 6 at d = 2 is found."""
    rng = np.random.default_rng(2)
    y = np.where(np.arange(40) % 2, 1, -1).astype(np.int64)
    data = Table("toy", rng.uniform(-1, 1, (40, 2)), y, ("a", "b"))
    plan = FedSel(solution="PE-PM", epsilon=6.0, mu=0.5, repeats=1, folds=2)
    found = audit_run(plan, data, 3, samples=150_000, confidence=SURE, device=CPU)
    assert found["verdict"] == "consistent"
    verdicts = {one["by"]: one["verdict"] for one in found["observers"][0]["promised"]}
    assert verdicts == {"exact": "consistent", **({"paper": "violated"} if installed("fedsel") else {})}
    assert audit_run(FedSel(solution="NP", repeats=1, folds=2), data, 3, device=CPU)["observers"] == []


def test_bad_arguments_are_named():
    """Would catch a run that is trained before its audit is refused."""
    for more, words in (
        ({"samples": 3}, "samples must be a whole number >= 10, got 3"),
        ({"confidence": 1.0}, "confidence must be in"),
    ):
        with pytest.raises(ValueError, match=words):
            audit_run(OwnPlan(leaks=False), None, 1, device=CPU, **more)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seed must be a whole number >= 0, got -1"):
        audit_run(OwnPlan(leaks=False), None, -1, device=CPU)  # type: ignore[arg-type]
