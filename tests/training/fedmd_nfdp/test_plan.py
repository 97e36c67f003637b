"""Settings of FedMD-NFDP: what is refused, what a run says that it spends, and the presets."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from ldp_audit.mechanisms import SubsampleRelease
from ldp_audit.training.fedmd_nfdp.plan import FedMd
from ldp_audit.training.fedmd_nfdp.settings import METHODS
from tests.together import together
from tests.training.fedmd_nfdp.small import finished, images, run


@together(
    ("settings", "says"),
    [
        ({"method": "fedmd"}, "method must be one of nfdp-with"),
        ({"optimizer": "adam"}, "optimizer must be one of reset, kept, got 'adam'"),
        ({"scores": "probabilities"}, "scores must be one of logits"),
        ({"k": -1}, "k must be a whole number >= 0, got -1"),
        ({"k": 2.0}, "k must be a whole number >= 0, got 2.0"),
        ({"rounds": True}, "rounds must be a whole number >= 1, got True"),
        ({"parties": 0}, "parties must be a whole number >= 1"),
        ({"networks": "cnn"}, "networks must be names such as cnn-16-32"),
        ({"networks": "cnn-0"}, "networks must be names such as cnn-16-32"),
        ({"networks": 3}, "networks must be names such as cnn-16-32"),
        ({"networks": "mlp-6+mine:"}, "networks must be names such as .* package.module:function, .* got 'mine:'"),
        ({"networks": ":mine"}, "networks must be names such as .* got ':mine'"),
        ({"learning_rate": 0.0}, "learning_rate must be a finite number > 0"),
        ({"clip_norm": math.inf}, "clip_norm must be a finite number > 0"),
        ({"budget_epsilon": 1.0}, "budget_epsilon and budget_delta must be given together"),
        ({"budget_epsilon": -1.0, "budget_delta": 0.1}, "budget_epsilon must be a finite number >= 0"),
        ({"budget_epsilon": 1.0, "budget_delta": 1.0}, "budget_delta must be a finite number in"),
    ],
)
def test_bad_settings_are_refused_by_name(settings: dict[str, Any], says: str) -> None:
    """A typo that trains something else."""
    with pytest.raises(ValueError, match=says):
        FedMd(**settings)


@together(
    ("settings", "says"),
    [
        (
            {"method": "nfdp-without", "k": 25},
            "k must be at most the 24 records of a party without replacement, got 25",
        ),
        ({"public_classes": 6}, "public_classes must be 1 .. 5 for tiny, got 6"),
        ({"public_per_round": 73}, "public_per_round must be at most the 72 public images of tiny, got 73"),
        ({"parties": 73}, "parties must each have private records of tiny"),
        ({"split": "writers"}, "split 'writers' needs to know who wrote each image"),
        ({"split": "classes", "classes_per_party": 4}, "classes_per_party must be 1 .. 3 for tiny, got 4"),
        ({"networks": "cnn-2-2-2"}, "networks must leave a pixel after pooling, 'cnn-2-2-2' leaves none of 4x4"),
        ({"method": "ldp", "k": 0}, "budget must allow gaussian noise"),
        ({"method": "ldp", "k": 10**9}, "budget must allow gaussian noise, got .*delta = 1.0"),
    ],
)
def test_data_that_do_not_fit_are_refused_by_name(settings: dict[str, Any], says: str) -> None:
    """A run that clips its settings to the data in silence."""
    with pytest.raises(ValueError, match=says):
        run(**settings)


@together("method", METHODS)
def test_the_protocol_is_what_the_method_does(method: str) -> None:
    """Privacy that nothing gives (NP), and noise or sampling that the account leaves out."""
    protocol = run(method=method).protocol()
    if method in ("np", "alone", "alone-np", "centralised"):
        assert protocol is None
        return
    assert protocol is not None
    assert protocol.unit == "record"
    if method == "ldp":
        assert protocol.times(protocol.steps[0]) == 2 * 10
    else:
        assert protocol.mechanisms == (SubsampleRelease(24, 5, method == "nfdp-with"),)
        assert protocol.times(protocol.steps[0]) == 1


def test_where_sizes_differ_the_smallest_party_counts() -> None:
    """The guarantee of the largest party, given to all."""
    data = images(per_class=25, writers=4)
    assert data.writers is not None
    sizes = sorted(np.bincount(data.writers[data.train_y >= 3]))
    assert sizes == [12, 13, 25, 25]
    for parties, smallest in ((4, 12), (2, 25)):
        protocol = run(data, split="writers", parties=parties).protocol()
        assert protocol is not None
        assert protocol.mechanisms == (SubsampleRelease(smallest, 5, replacement=True),)


def test_the_first_record_has_the_exact_delta_and_the_papers_pair() -> None:
    """Wrong formulas of Theorem 2; delta alone does the work."""
    _, records = finished(k=5)
    sampling = records[0]["sampling"]
    delta = 1 - (1 - 1 / 24) ** 5
    assert sampling["exact"] == {"epsilon": 0.0, "delta": pytest.approx(delta, rel=1e-12)}
    assert sampling["paper"] == {
        "epsilon": pytest.approx(5 * math.log(25 / 24), rel=1e-12),
        "delta": pytest.approx(delta, rel=1e-12),
    }
    assert "sampling" not in records[1]
    json.dumps(records, allow_nan=False)
