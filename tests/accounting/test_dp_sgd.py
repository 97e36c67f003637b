"""Trainings by noisy gradients: each way of making batches is what it says it is."""

from __future__ import annotations

import pytest

from ldp_audit.accounting import compose, dp_sgd, random_allocation, subsample
from ldp_audit.mechanisms import Gaussian

TRAINING = {"noise_multiplier": 1.1, "batch": 256, "records": 60_000, "epochs": 3}
STEPS = 235


def _same(one: object, other: object) -> None:
    assert one.epsilon_bounds(1e-5) == other.epsilon_bounds(1e-5)  # type: ignore[attr-defined]


def test_each_sampling_is_the_rule_that_it_names() -> None:
    noise = Gaussian(1.1, replaced=2.0)
    _same(dp_sgd(**TRAINING), compose([(subsample(noise, rate=256 / 60_000), 3 * STEPS)]))
    fixed = subsample(noise, kind="without", n=60_000, k=256)
    _same(dp_sgd(**TRAINING, sampling="fixed"), compose([(fixed, 3 * STEPS)]))
    _same(dp_sgd(**TRAINING, sampling="allocation"), random_allocation(noise, steps=STEPS, epochs=3))
    cut = subsample(noise, rate=256 / 60_000, truncated=450, records=60_000)
    _same(dp_sgd(**TRAINING, truncated=450), compose([(cut, 3 * STEPS)]))


def test_shuffled_batches_are_not_taken_for_sampled_ones() -> None:
    low, high = dp_sgd(**TRAINING, sampling="shuffled").epsilon_bounds(1e-5)
    assert high == compose([(Gaussian(1.1), 3)]).epsilon(1e-5)
    allocated = dp_sgd(**TRAINING, sampling="allocation").epsilon_bounds(1e-5)
    assert low == pytest.approx(allocated[0], rel=1e-9)
    assert high > 5 * dp_sgd(**TRAINING).epsilon(1e-5)


def test_one_batch_of_all_hides_nobody() -> None:
    whole = {**TRAINING, "batch": 60_000}
    plain = compose([(Gaussian(1.1), 3)])
    for sampling in ("poisson", "shuffled", "allocation"):
        assert dp_sgd(**whole, sampling=sampling).epsilon_bounds(1e-5) == pytest.approx(plain.epsilon_bounds(1e-5))


@pytest.mark.parametrize("sampling", ["poisson", "shuffled", "fixed", "allocation"])
def test_assumptions_say_what_was_accounted_for(sampling: str) -> None:
    found = dp_sgd(**{**TRAINING, "records": 1000}, sampling=sampling)  # type: ignore[arg-type]
    assert found.adjacency == "add/remove"
    assert found.assumptions[0].startswith("3 epochs of 4 steps; each ")
    assert "1.1 times a gradient's largest norm" in found.assumptions[1]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"noise_multiplier": 0.0}, "noise_multiplier must be a number in 1e-3"),
        ({"noise_multiplier": "1.1"}, "noise_multiplier must be a number in 1e-3"),
        ({"batch": 60_001}, "batch must be a whole number in 1 .. 60000"),
        ({"records": 0.5}, "records must be a whole number"),
        ({"epochs": 0}, "epochs must be a whole number >= 1"),
        ({"sampling": "ordered"}, "sampling must be one of poisson, shuffled, fixed, allocation, got 'ordered'"),
        ({"sampling": "fixed", "truncated": 300}, "truncated must be None for sampling='fixed'"),
        ({"sampling": "fixed", "batch": 60_000}, "batch must be at most records - 1 = 59999"),
        ({"truncated": 0}, "truncated must be a whole number"),
    ],
)
def test_bad_input_is_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        dp_sgd(**{**TRAINING, **given})  # type: ignore[arg-type]
