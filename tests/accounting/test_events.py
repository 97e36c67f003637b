"""Other accountants' events: each kind is answered by its loss or refused by name, and printed numbers are judged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import make_dataclass
from typing import Any

import pytest

from ldp_audit.accounting import (
    ZCDP,
    PrivacyLoss,
    account_verdict,
    compose,
    from_events,
    privacy_loss,
    subsample,
)
from ldp_audit.accounting.events import claimed_by
from ldp_audit.losses.discrete_loss import INFINITE_LOSS, ZERO_LOSS
from ldp_audit.mechanisms import DiscreteLaplace, Gaussian, Laplace, RandomizedResponse
from tests.together import together

NOISE = Gaussian(3.0, 1.0, 2.0)
GAUSSIAN = {"event": "Gaussian", "noise_multiplier": 3.0}
LAPLACE = {"event": "LaplaceDpEvent", "noise_multiplier": 2.0}
SAMPLED = {"event": "PoissonSampled", "sampling_probability": 0.1, "of": GAUSSIAN}
BOTH, REPLACED = ("add/remove", "replace"), ("replace",)
FIXED = {"source_dataset_size": 100, "sample_size": 10}


def of_names(name: str, **fields: Any) -> Any:
    """An object of a class with this name and these fields, as dp-accounting's are; it is not imported."""
    return make_dataclass(name, list(fields))(**fields)


CASES: list[tuple[Any, Sequence[str], Any]] = [
    ({"event": "NoOp"}, BOTH, lambda _: PrivacyLoss((ZERO_LOSS,))),
    ({"event": "NonPrivate"}, BOTH, lambda _: PrivacyLoss((INFINITE_LOSS,))),
    ({"event": "Gaussian", "noise_multiplier": 0}, BOTH, lambda _: PrivacyLoss((INFINITE_LOSS,))),
    (GAUSSIAN, BOTH, lambda a: privacy_loss(NOISE, a)),
    (LAPLACE, BOTH, lambda a: privacy_loss(Laplace(2.0, 1.0, 2.0), a)),
    (
        {"event": "DiscreteLaplace", "noise_parameter": 0.5, "sensitivity": 3},
        BOTH,
        lambda a: privacy_loss(DiscreteLaplace(2.0, 3, replaced=6), a),
    ),
    (
        {"event": "RandomizedResponse", "noise_parameter": 0.5, "num_buckets": 4},
        BOTH,
        lambda _: privacy_loss(RandomizedResponse(math.log(5), 4)),
    ),
    (
        {"event": "RandomizedResponse", "noise_parameter": 1.0, "num_buckets": 4},
        BOTH,
        lambda _: PrivacyLoss((ZERO_LOSS,)),
    ),
    (
        {"event": "RandomizedResponse", "noise_parameter": 0.0, "num_buckets": 1},
        BOTH,
        lambda _: PrivacyLoss((ZERO_LOSS,)),
    ),
    (
        {"event": "RandomizedResponse", "noise_parameter": 0, "num_buckets": 2},
        BOTH,
        lambda _: PrivacyLoss((INFINITE_LOSS,)),
    ),
    ({"event": "ZCDp", "rho": 0.25}, BOTH, lambda _: ZCDP(0.25)),
    (
        {"event": "SingleEpochTreeAggregation", "noise_multiplier": 3.0, "step_counts": [5, 9]},
        BOTH,
        lambda a: compose([(privacy_loss(NOISE, a), 4)]),
    ),
    ({"event": "SelfComposed", "count": 7, "of": GAUSSIAN}, BOTH, lambda a: compose([(privacy_loss(NOISE, a), 7)])),
    ({"event": "SelfComposed", "count": 0, "of": GAUSSIAN}, BOTH, lambda _: PrivacyLoss((ZERO_LOSS,))),
    (
        {
            "event": "SelfComposed",
            "count": 365,
            "of": {"event": "RandomizedResponse", "noise_parameter": 0.9, "num_buckets": 2},
        },
        BOTH,
        lambda _: compose([(RandomizedResponse(math.log(11 / 9)), 365)]),
    ),
    (
        {"event": "Composed", "of": [GAUSSIAN, LAPLACE]},
        BOTH,
        lambda a: compose([(privacy_loss(NOISE, a), 1), (privacy_loss(Laplace(2.0, 1.0, 2.0), a), 1)]),
    ),
    (
        [SAMPLED, GAUSSIAN],
        BOTH,
        lambda a: compose([(subsample(NOISE, rate=0.1, adjacency=a), 1), (privacy_loss(NOISE, a), 1)]),
    ),
    (
        {**SAMPLED, "of": {"event": "SelfComposed", "count": 3, "of": GAUSSIAN}},
        ("add/remove",),
        lambda _: subsample(compose([(NOISE, 3)]), rate=0.1),
    ),
    (
        {"event": "SampledWithoutReplacement", **FIXED, "of": GAUSSIAN},
        BOTH,
        lambda a: subsample(NOISE, kind="without", n=100, k=10, adjacency=a),
    ),
    (
        {"event": "SampledWithReplacement", **FIXED, "of": GAUSSIAN},
        REPLACED,
        lambda a: subsample(NOISE, kind="with", n=100, k=10, adjacency=a),
    ),
    (
        {"history": [[3.0, 0.1, 5], [3.0, 1.0, 2]], "mechanism": "prv"},
        BOTH[:1],
        lambda _: compose([(subsample(NOISE, rate=0.1), 5), (NOISE, 2)]),
    ),
    ([(3.0, 0.1, 5)], BOTH, lambda a: compose([(subsample(NOISE, rate=0.1, adjacency=a), 5)])),
    (
        of_names("RDPAccountant", history=[(3.0, 0.1, 5)]),
        BOTH[:1],
        lambda _: compose([(subsample(NOISE, rate=0.1), 5)]),
    ),
    (
        of_names("SelfComposedDpEvent", count=2, event=of_names("GaussianDpEvent", noise_multiplier=3.0)),
        BOTH,
        lambda a: compose([(privacy_loss(NOISE, a), 2)]),
    ),
    (
        of_names("ComposedDpEvent", events=[of_names("ZCDpEvent", rho=0.25, xi=0.0)]),
        BOTH,
        lambda _: ZCDP(0.25),
    ),
]


@together(("events", "relations", "expected"), CASES)
def test_each_kind_has_the_loss_of_its_mechanism(events: Any, relations: Sequence[Any], expected: Any) -> None:
    for relation in relations:
        found, truth = from_events(events, adjacency=relation), expected(relation)
        assert found.adjacency == relation
        for delta in (1e-2, 1e-6):
            low, high = truth.epsilon_bounds(delta=delta)
            assert found.epsilon_bounds(delta=delta) == (pytest.approx(low, rel=1e-9), pytest.approx(high, rel=1e-9))


def test_a_promise_with_a_part_for_every_order_is_an_upper_bound() -> None:
    found = from_events({"event": "ZCDp", "rho": 0.25, "xi": 0.5})
    assert found.epsilon_bounds(1e-6)[0] == 0
    assert found.epsilon(1e-6) == pytest.approx(ZCDP(0.25).epsilon(1e-6) + 0.5, rel=1e-6)


@together(
    ("events", "says"),
    [
        (of_names("UnsupportedDpEvent"), "events: no rule for UnsupportedDpEvent, which says that its author"),
        ({"event": "RepeatAndSelect"}, "no rule for RepeatAndSelect, the best of a random number of runs"),
        ({"event": "MixtureOfGaussians"}, "no rule for MixtureOfGaussians, noise on a sum of several"),
        ([GAUSSIAN, {"event": "TruncatedSubsampledGaussian"}], r"events\[1\]: no rule for TruncatedSub.*, batches"),
        ({"event": "Gauss"}, "no rule for Gauss, an event must be one of NoOp"),
        ({"event": ["Gaussian"]}, "no rule for"),
        (3, "no rule for int"),
        ("Gaussian", "no rule for str"),
        (None, "no rule for None"),
        ({}, "no rule for None"),
        ({"event": "Gaussian"}, "noise_multiplier is missing"),
        ({**GAUSSIAN, "of": []}, "must have the keys event, noise_multiplier, got 'of'"),
        ({"event": "Gaussian", "noise_multiplier": -1}, r"events \(Gaussian\): noise_multiplier must be a number >= 0"),
        ({"event": "Gaussian", "noise_multiplier": math.inf}, "noise_multiplier must be a finite number"),
        ({"event": "Gaussian", "noise_multiplier": "1"}, "noise_multiplier must be"),
        ({**SAMPLED, "sampling_probability": 1.1}, "sampling_probability must lie in"),
        ({**SAMPLED, "of": {"event": "Laplace", "noise_multiplier": -2}}, r"events.PoissonSampled \(Laplace\): noise"),
        ({"event": "SelfComposed", "count": 1.5, "of": GAUSSIAN}, "count must be a whole number"),
        ({"event": "SelfComposed", "count": -1, "of": GAUSSIAN}, "count must be a whole number"),
        ({"event": "SampledWithoutReplacement", **FIXED, "sample_size": 900, "of": GAUSSIAN}, "SampledWithout"),
        ({"event": "SingleEpochTreeAggregation", "noise_multiplier": 1.0, "step_counts": []}, "step_counts must hold"),
        (of_names("GaussianDpEvent", sigma=1.0), "must have noise_multiplier"),
        ({"history": [[1.0, 0.1]]}, r"events.history\[0\] must be \(noise_multiplier, sample_rate, steps\)"),
        ({"history": [[1.0, 2.0, 3]]}, r"events.history\[0\]: sampling_probability must lie in"),
        ({"history": 3}, r"events.history\[0\] must be"),
        ({"history": [], "sigma": 3}, "must have the keys history, mechanism"),
        ({"of": [], "neighbours": "near"}, "adjacency must be add/remove or replace"),
        ({"of": [], "claimed": 3}, "claimed must be like"),
        ({"of": [], "claimed": {"epsilon": 1}}, "claimed must be like"),
        ({"of": [], "delta": 1}, "must have the keys claimed, neighbours, of"),
    ],
)  # fmt: skip
def test_what_has_no_rule_is_refused_with_its_name_and_place(events: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        from_events(events)


def test_events_that_are_too_deep_are_refused() -> None:
    event: Any = GAUSSIAN
    for _ in range(5000):
        event = {"event": "SelfComposed", "count": 1, "of": event}
    with pytest.raises(ValueError, match="at most 100 events deep"):
        from_events(event)


def test_neighbours_are_stated_once() -> None:
    document = {"neighbours": "replace", "of": GAUSSIAN}
    assert from_events(document).adjacency == "replace" == from_events(document, adjacency="replace").adjacency
    with pytest.raises(ValueError, match="adjacency must be that of the events, replace, got 'add/remove'"):
        from_events(document, adjacency="add/remove")


def test_a_printed_number_is_refuted_consistent_or_loose() -> None:
    """The number is that of dp-accounting 0.6.0's PLDAccountant, whose distribution is said to be pessimistic."""
    steps = {"event": "SelfComposed", "count": 3000, "of": {**SAMPLED, "sampling_probability": 4.096e-4}}
    steps["of"]["of"] = {"event": "Gaussian", "noise_multiplier": 0.6}
    (found,) = claimed_by({"claimed": {"epsilon": 3.278144226000534, "delta": 1e-9}, "of": steps})
    assert found.verdict == "refuted"
    assert 3.2783 < found.lower <= found.upper < 3.2784
    assert found.describe().startswith("refuted: epsilon 3.27814423 at delta 1e-09 for [3.27834161, 3.27834161], below")
    loss = from_events(steps)
    assert account_verdict(loss, found.upper, 1e-9).verdict == "consistent"
    assert account_verdict(loss, 3.3, 1e-9).verdict == "loose"
    assert account_verdict(loss, 3.3, 1e-9).to_dict()["verdict"] == "loose"
    for epsilon, delta in ((-1.0, 1e-9), (1.0, 2.0), (math.nan, 1e-9)):
        with pytest.raises(ValueError, match=r"epsilon must|delta must"):
            account_verdict(loss, epsilon, delta)


def test_the_real_events_are_read_where_the_package_is_installed() -> None:
    dp = pytest.importorskip("dp_accounting")
    pld = pytest.importorskip("dp_accounting.pld")
    noise = dp.GaussianDpEvent(3.0)
    for event, expected in (
        (dp.SelfComposedDpEvent(noise, 7), compose([(NOISE, 7)])),
        (
            dp.ComposedDpEvent([noise, dp.PoissonSampledDpEvent(0.1, noise)]),
            compose([(NOISE, 1), (subsample(NOISE, rate=0.1), 1)]),
        ),
    ):
        accountant = pld.PLDAccountant().compose(event)
        for one in (event, event.to_named_tuple(), accountant):
            assert from_events(one).epsilon(1e-6) == pytest.approx(expected.epsilon(1e-6), rel=1e-9)
        assert account_verdict(from_events(event), accountant.get_epsilon(1e-6) + 1e-3, 1e-6).verdict == "loose"
    special = pld.PLDAccountant(neighboring_relation=dp.NeighboringRelation.REPLACE_SPECIAL).compose(noise)
    with pytest.raises(ValueError, match="REPLACE_SPECIAL"):
        from_events(special)
