"""A loss in plain sentences: attacks, posteriors, and the meaning of delta."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.accounting import ZCDP, PrivacyProfile, compose, privacy_loss
from ldp_audit.accounting.attack_success import (
    advantage,
    detection,
    epsilon_with_probability,
    guess_accuracy,
    loss_exceeds,
    posterior,
    shown_outright,
)
from ldp_audit.accounting.interpretation import explain
from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses.discrete_loss import DiscreteLoss, pure_loss, symmetric_loss
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.losses.noise_losses import GaussianLoss, LaplaceLoss
from ldp_audit.mechanisms import ExponentialSelection, FiniteChannel, Gaussian, RandomizedResponse, SubsampleRelease
from tests.accounting.random_atoms import finite_losses, losses
from tests.together import together

RESPONSE = privacy_loss(RandomizedResponse(math.log(3)))
NFDP = privacy_loss(SubsampleRelease(2880, 2880, replacement=True))


def test_randomised_response_of_three_to_one() -> None:
    assert advantage(RESPONSE).upper == pytest.approx(0.5)
    assert guess_accuracy(RESPONSE).upper == pytest.approx(0.75)
    assert posterior(0.5, math.log(3)).upper == pytest.approx(0.75)
    assert posterior(0.1, math.log(3)).upper == pytest.approx(0.25)
    assert posterior(0.1, math.log(3)).lower == pytest.approx(1 / 28)
    assert detection(RESPONSE, 0.01).upper == pytest.approx(0.03)


@given(losses(), st.floats(0.01, 0.99))
def test_the_best_guess_is_the_likelier_neighbour_at_every_output(loss: PrivacyLoss, prior: float) -> None:
    """Against the Bayes rule added up output by output, for both orders of the neighbours."""
    found = []
    for law in loss.directions:
        assert isinstance(law, DiscreteLoss)
        first = np.append(np.exp(law.log_probabilities), [math.exp(law.log_infinite), 0.0])
        second = np.append(np.exp(law.log_probabilities - law.losses), [0.0, math.exp(law.missing)])
        rare = min(prior, 1 - prior)
        found.append(float(np.maximum(rare * first, (1 - rare) * second).sum()))
    right = guess_accuracy(loss, prior)
    assert right.lower <= right.upper == pytest.approx(max(found), rel=1e-9)


@given(finite_losses(), st.floats(0.01, 0.99))
def test_posteriors_stay_within_the_pure_bounds_and_reach_them(loss: PrivacyLoss, prior: float) -> None:
    ends = posterior(prior, loss.supremum())
    ratios = np.exp([x for law in loss.directions for x in law.losses])  # type: ignore[attr-defined]
    after = prior * ratios / (prior * ratios + 1 - prior)
    assert np.all((ends.lower <= after + 1e-12) & (after <= ends.upper + 1e-12))
    assert ends.upper == pytest.approx(after.max())


@given(losses(), st.floats(0, 8))
def test_how_often_a_loss_exceeds_an_epsilon(loss: PrivacyLoss, epsilon: float) -> None:
    exact = max(
        float(np.exp(law.log_probabilities)[law.losses > epsilon].sum() + math.exp(law.log_infinite))  # type: ignore[attr-defined]
        for law in loss.directions
    )
    found = loss_exceeds(loss, epsilon)
    assert found.lower == pytest.approx(exact, abs=1e-12)
    assert found.upper >= max(exact, loss.delta(epsilon)) - 1e-12


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any), min_size=2, max_size=4), st.floats(0, 3)
)
def test_bounds_hold_for_every_pair_of_inputs(rows: list[list[int]], epsilon: float) -> None:
    """Tails and detection rates of a channel by brute force: its pairs need not be ordered as their profiles are."""
    table = np.array(rows) / np.array(rows).sum(axis=1, keepdims=True)
    loss, rate = privacy_loss(FiniteChannel([[f"{w}/{sum(row)}" for w in row] for row in rows])), 0.2
    tails, rates = [0.0], [rate]
    for p, q in permutations(table, 2):
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = np.where(p > 0, np.log(p) - np.log(q), -np.inf)
        tails.append(float(p[losses > epsilon + 1e-12].sum()))
        order = np.argsort(-losses)
        used = np.append(0.0, np.cumsum(q[order]))
        rates.append(float(np.interp(rate, used + 1e-15 * np.arange(4), np.append(0.0, np.cumsum(p[order])))))
    assert loss_exceeds(loss, epsilon).upper >= max(tails) - 1e-9
    found, errors = detection(loss, rate), loss.trade_off(rate)
    assert found.lower - 1e-9 <= max(rates) <= found.upper + 1e-9
    assert errors.lower - 1e-9 <= 1 - max(rates) <= errors.upper + 1e-9


def test_a_pair_with_a_smaller_profile_may_exceed_an_epsilon_more_often() -> None:
    """Rankings that differ by a cyclic shift, by enumeration: 0.85839, where the worst pair's loss has 0.6608."""
    found = loss_exceeds(privacy_loss(ExponentialSelection(1.0, 4)), 0.1)
    assert found.lower == pytest.approx(0.6608, abs=1e-4)
    assert found.upper >= 0.85839


@together("epsilon", [0.0, 0.5, 2.0, 6.0])
def test_the_slope_of_the_profile_brackets_the_gaussian_tail(epsilon: float) -> None:
    exact = 0.5 * math.erfc((epsilon - 0.5) / math.sqrt(2))
    found = loss_exceeds(PrivacyLoss((GaussianLoss(1.0),)), epsilon)
    assert found.lower <= exact * (1 + 1e-6)
    assert exact * (1 - 1e-6) <= found.upper
    assert found.upper - found.lower < 1e-3 * exact


def test_the_laplace_tail_is_bracketed() -> None:
    """P(L > e) = 1 - e**((e - 1)/2) / 2: half the mass lies at the supremum."""
    found = loss_exceeds(PrivacyLoss((LaplaceLoss(1.0),)), 0.3)
    assert found.lower <= 1 - math.exp(-0.35) / 2 <= found.upper
    assert found.lower == pytest.approx(1 - math.exp(-0.35) / 2, abs=1e-4)
    assert loss_exceeds(PrivacyLoss((LaplaceLoss(1.0),)), 1.0).upper == 0


def test_delta_is_not_the_probability_of_a_large_loss() -> None:
    loss = PrivacyLoss((GaussianLoss(1.0),))
    epsilon = loss.epsilon(1e-6)
    assert loss_exceeds(loss, epsilon).lower > 5e-6
    sure = epsilon_with_probability(loss, 1e-6)
    assert 0.5 * math.erfc((sure - 0.5) / math.sqrt(2)) == pytest.approx(1e-6, rel=1e-3)
    assert epsilon_with_probability(RESPONSE, 0.0) == pytest.approx(math.log(3))


@settings(max_examples=30)
@given(finite_losses(), st.sampled_from([0.0, 0.01, 0.3]))
def test_the_level_that_is_rarely_exceeded_is_exceeded_rarely(loss: PrivacyLoss, delta: float) -> None:
    sure = epsilon_with_probability(loss, delta)
    assert loss_exceeds(loss, sure).upper <= delta
    assert sure >= loss.epsilon(delta)


def test_a_guarantee_alone_does_not_bound_the_tail_by_delta() -> None:
    """(1, 1e-5)-privacy allows a loss just above 1 nearly always."""
    loss = PrivacyProfile.from_points([(1.0, 1e-5)]).loss
    found = loss_exceeds(loss, 1.0)
    assert found.lower == 0
    assert found.upper > 0.7


# --- NFDP: a chance of being shown outright


def test_a_bootstrap_sample_keeps_a_record_out_with_probability_one_over_e() -> None:
    found = shown_outright(NFDP)
    assert found.upper == pytest.approx(1 - (1 - 1 / 2880) ** 2880, rel=1e-12)
    assert advantage(NFDP).upper == pytest.approx(found.upper)
    words = " ".join(explain(NFDP, records=2880))
    assert "No epsilon holds at delta = 1e-06: the least delta that any epsilon allows is 0.6322." in words
    assert "The profile is flat: delta is 0.6322 at every epsilon" in words
    assert "with probability 0.3678 the record is left out" in words
    assert "Of 2880 records that is 1821 on average" in words
    assert "flat" not in " ".join(explain(RESPONSE))


def test_at_its_own_delta_a_flat_profile_has_epsilon_zero() -> None:
    assert NFDP.epsilon(0.633) == 0
    words = " ".join(explain(NFDP, delta=0.633, records=100))
    assert "A delta of 0.633 is above 1/100" in words
    assert "publishes 63.3 of the 100 records" in words


# --- sentences


def test_the_sentences_of_a_pure_loss() -> None:
    assert explain(RESPONSE) == [
        "The pure epsilon at delta = 0, between any two inputs, is exactly 1.099 nats.",
        "The best attack finds out which of two neighbours the input was with a true-positive rate that exceeds its "
        "false-positive rate by 0.5. A guess at even odds is right with probability 75%, where 50% is blind chance; "
        "with 1% of false alarms, 3% are detected.",
        "An output multiplies the odds of the neighbour that it came from by at most e^1.099 = 3: a prior probability "
        "rises at most from 1% to 2.941%, from 10% to 25%, from 50% to 75%.",
        "This rests on: all that a client reports of its input is in these reports, and any two inputs are neighbours.",
    ]


def test_what_an_attack_gains_is_said_by_both_bounds() -> None:
    loss = PrivacyLoss((EnclosedLoss(symmetric_loss([0.5], [math.log(0.6)]), pure_loss(1.0)),))
    low, high = loss.delta_bounds(0.0)
    assert f"by between {low:.4g} and {high:.4g}." in explain(loss)[1]
    assert "is at least 0.5 and at most 1 nats" in explain(loss)[0]
    assert (
        "with a true-positive rate that exceeds its false-positive rate by at most"
        in explain(privacy_loss(ZCDP(1.0)))[1]
    )


def test_the_sentences_say_what_delta_is_not() -> None:
    words = " ".join(explain(privacy_loss(Gaussian(1.0)), delta=1e-6))
    assert "With probability at least 1 - 1e-06, an output" in words
    assert "Delta is not the probability that the loss exceeds epsilon: at 4.887 nats that is 5.758e-06" in words
    assert "it falls to 1e-06 at 5.253 nats" in words


def test_nearly_certain_is_not_called_certain() -> None:
    words = " ".join(explain(compose([(RandomizedResponse(0.1), 10_000)]), delta=1e-6))
    assert "from 1% to nearly 100%" in words
    assert "probability 100% less" in words


def test_a_delta_that_is_only_approached_is_not_called_allowed() -> None:
    first = explain(privacy_loss(Gaussian(1.0)), delta=0.0)[0]
    assert first == (
        "No epsilon holds at delta = 0: larger ones bring delta as near to it as is asked for, but none reaches it."
    )


def test_assumptions_and_bounds_are_passed_on() -> None:
    words = explain(PrivacyProfile.from_points([(1.0, 1e-5)]).loss, delta=1e-5)
    assert words[-1] == "This rests on: it satisfies (1, 1e-05)."
    assert words[0] == "The epsilon at delta = 1e-05, between any two inputs, is at least 0 and at most 1 nats."
    assert any("1 - 2e-05, an output" in sentence for sentence in words)


def test_nothing_and_everything() -> None:
    nothing = compose([])
    assert advantage(nothing).upper == 0
    assert "is right with probability 50%, where" in explain(nothing)[1]
    everything = privacy_loss(RandomizedResponse(math.inf))
    assert advantage(everything).upper == 1
    assert guess_accuracy(everything, 0.01).upper == 1
    assert "with probability 0 the record is left out" in " ".join(explain(everything))


@together(
    ("call", "message"),
    [
        (lambda: explain(RESPONSE, delta=1.5), r"delta must lie in \[0, 1\], got 1.5"),
        (lambda: explain(RESPONSE, records=0), "records must be a whole number >= 1, got 0"),
        (lambda: explain(RESPONSE, records=1.5), "records must be a whole number >= 1, got 1.5"),  # type: ignore[arg-type]
        (lambda: explain(RESPONSE, records=True), "records must be a whole number >= 1, got True"),
        (lambda: explain(RESPONSE, records=10**400), "records must be a whole number in 1 .. .*, got a number of 1329"),
        (lambda: explain(RESPONSE, delta="a"), r"delta must lie in \[0, 1\], got 'a'"),  # type: ignore[arg-type]
        (lambda: explain(RESPONSE, delta=True), r"delta must lie in \[0, 1\], got True"),
        (lambda: explain(3), "loss must be a PrivacyLoss, .*, got 3"),  # type: ignore[arg-type]
        (lambda: posterior(1.5, 1.0), r"prior must lie in \[0, 1\], got 1.5"),
        (lambda: posterior(math.nan, 1.0), r"prior must lie in \[0, 1\], got nan"),
        (lambda: posterior(0.5, -1.0), "epsilon must be a number >= 0, got -1.0"),
        (lambda: detection(RESPONSE, 2.0), r"false_alarm must lie in \[0, 1\], got 2.0"),
        (lambda: detection(RESPONSE, [0.1, 0.2]), r"false_alarm must lie in \[0, 1\], got \[0.1, 0.2\]"),  # type: ignore[arg-type]
        (lambda: loss_exceeds(RESPONSE, math.nan), "epsilon must be a number >= 0, got nan"),
    ],
)
def test_bad_numbers_are_refused_by_name(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
