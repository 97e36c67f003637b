"""Protocols as data, and their spend in each convention."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.protocols.conventions import Ledger, step_losses, totals
from ldp_audit.accounting.protocols.protocol import Protocol, Sampling, Shuffling, Split, Step
from ldp_audit.accounting.protocols.protocol_file import load_protocol
from ldp_audit.accounting.protocols.protocol_report import account
from ldp_audit.losses.discrete_loss import ZERO_LOSS
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.mechanisms import FiniteChannel, RandomizedResponse, TwoPoint
from tests.together import together

ANSWER = Step("RandomizedResponse(epsilon=0.5)", times=("rounds", "dimensions", 2))


def protocol(**changes: object) -> Protocol:
    return replace(Protocol("a", (ANSWER,), rounds=3, dimensions=5), **changes)


def test_uses_are_the_product_of_the_counts_that_a_step_names() -> None:
    assert protocol().times(ANSWER) == 30
    assert protocol().times(ANSWER, without=("rounds", "epochs")) == 10
    assert protocol(epochs=100, queries=7).times(ANSWER) == 30, "counts that the step does not name leave it alone"


def test_a_split_shares_one_budget_over_epochs_and_stages() -> None:
    stages = Split(2.0, mu=0.1).stages(epochs=4, dimensions=100)
    assert stages == pytest.approx({"selection": 0.05, "value": 0.45})


def test_the_hyper_parameter_free_split_serves_the_value_first_and_stops_at_its_threshold() -> None:
    needed = math.sqrt(100 * math.log(100) / 900)
    between = Split(needed + 0.1, batch=900).stages(1, 100)
    assert between == pytest.approx({"selection": 0.1, "value": needed})
    assert Split(10.0, batch=900).stages(1, 100) == pytest.approx({"selection": 2.0, "value": 8.0})
    assert Split(needed / 2, batch=900).stages(1, 100) == {"selection": 0.0, "value": needed / 2}


def test_a_selection_with_no_budget_costs_nothing_and_is_left_out() -> None:
    steps = (
        Step("PerturbedSampling(d=100, k=10)", ("epochs",), stage="selection"),
        Step("Piecewise()", ("epochs",), stage="value"),
    )
    report = account(Protocol("a", steps, dimensions=100, split=Split(0.3, batch=900)))
    assert len(report.steps) == 1
    assert report.total("basic").epsilon == pytest.approx(0.3, rel=1e-12)


def test_python_takes_any_mechanism() -> None:
    channel = FiniteChannel([[0.75, 0.25], [0.25, 0.75]])
    report = account(Protocol("a", (Step(channel, times=(4,)),)))
    assert report.total("basic").epsilon == pytest.approx(4 * math.log(3), rel=1e-12)
    assert account(protocol(steps=(Step(RandomizedResponse(0.5), (30,)),))).totals == account(protocol()).totals


@together("delta", [0, 1, -1, math.nan, True, "1e-5"])
def test_a_delta_that_is_none_is_refused(delta: object) -> None:
    with pytest.raises(ValueError, match=r"delta must be in \(0, 1\), got"):
        account(protocol(), delta=delta)


def test_no_convention_is_below_the_exact_one_and_the_bounds_are_in_order() -> None:
    """Catches a convention that forgets a factor, and a shuffled account that is worse than the one by name."""
    shuffled = replace(ANSWER, shuffling=Shuffling(50))
    report = account(protocol(steps=(shuffled, Step("Piecewise(epsilon=1)", ("rounds",)))), delta=1e-6)
    exact = report.total("exact")
    assert exact.lower is not None
    assert 0 < exact.lower <= exact.epsilon
    for one in report.totals:
        if one.key != "shuffled":
            assert one.epsilon >= exact.lower, one
    mixed = report.total("shuffled")
    assert mixed.lower is not None
    assert 0 < mixed.lower <= mixed.epsilon <= exact.epsilon


def test_basic_composition_is_the_sum_and_the_exact_one_the_binomial_sum() -> None:
    report = account(protocol(), delta=1e-6)
    assert report.total("basic").epsilon == pytest.approx(15.0, rel=1e-12)
    assert report.total("basic").delta == 0
    epsilon, delta = report.total("exact").epsilon, 0.0
    for j in range(31):
        mass = math.comb(30, j) * math.exp(0.5 * (30 - j)) / (1 + math.exp(0.5)) ** 30
        delta += mass * max(0.0, -math.expm1(epsilon - 0.5 * (30 - 2 * j)))
    assert delta == pytest.approx(1e-6, rel=1e-9)


def test_a_mechanism_without_pure_epsilon_shares_delta_over_its_uses() -> None:
    report = account(Protocol("a", (Step("Gaussian(sigma=2, sensitivity=1)", ("rounds",)),), rounds=100), delta=1e-4)
    assert report.total("basic").delta == 1e-4
    single = account(Protocol("a", (Step("Gaussian(sigma=2, sensitivity=1)", (1,)),)), delta=1e-6)
    assert report.total("basic").epsilon == pytest.approx(100 * single.total("exact").epsilon, rel=1e-9)
    one = account(Protocol("a", (Step("Gaussian(sigma=0.2, sensitivity=1)", (1,)),)), delta=1e-4)
    assert report.total("exact").epsilon == pytest.approx(one.total("exact").epsilon, rel=1e-9), "mu = 5 either way"


@pytest.mark.usefixtures("example_installed")
def test_what_shows_everything_with_some_probability_has_no_epsilon_and_says_from_which_delta_on() -> None:
    report = account(load_protocol("example-sample"))
    assert report.total("exact").epsilon == math.inf
    assert report.floor == pytest.approx(1 - (299 / 300) ** 60, rel=1e-12)
    assert "no epsilon is large enough for a delta below 0.181543" in report.describe()
    assert account(load_protocol("example-sample"), delta=0.19).total("exact").epsilon == 0


def test_a_model_that_is_mixed_in_one_piece_tells_at_least_its_counts_and_at_most_all() -> None:
    parts = protocol(steps=(replace(ANSWER, shuffling=Shuffling(20)),))
    models = protocol(steps=(replace(ANSWER, shuffling=Shuffling(20, "model")),))
    apart, whole = account(parts).total("shuffled"), account(models)
    joint = whole.total("shuffled")
    assert joint.lower == apart.lower
    assert joint.epsilon == whole.total("exact").epsilon > apart.epsilon
    alone = replace(models, dimensions=1, steps=(replace(models.steps[0], times=("rounds",)),))
    single = account(alone)
    assert single.total("shuffled").epsilon < single.total("exact").epsilon


def test_the_answers_of_two_steps_stay_together_as_those_of_one_step_do() -> None:
    """Two binary answers of four clients: composed apart they spend 0.12 at delta 0.3, side by side 0.2356."""
    answer = Step("RandomizedResponse(epsilon=1)", (1,), shuffling=Shuffling(4, "model"))
    one, two = Protocol("a", (replace(answer, times=(2,)),)), Protocol("a", (answer, answer))
    known, found = account(one, delta=0.3).total("shuffled"), account(two, delta=0.3).total("shuffled")
    assert (found.lower, found.epsilon, found.says) == (known.lower, known.epsilon, known.says)
    assert found.epsilon > 0.2356
    uses = account(Protocol("a", (replace(answer, times=(2,)),) * 2), delta=0.3).scopes[0]
    assert uses.name == "one use of each step"
    assert uses.shuffled is not None
    assert uses.shuffled[1] > 0.2356
    apart = Protocol("a", (answer, replace(answer, shuffling=Shuffling(4))))
    assert account(apart, delta=0.3).total("shuffled").epsilon < 0.12, "of which one is shuffled by itself"


def test_a_lower_bound_that_a_grid_has_lost_is_that_of_fewer_uses() -> None:
    """With 17 million uses: would catch a lower bound of 0, which the report prints as 'at least 0'."""
    losses = step_losses(protocol())
    known = Ledger(protocol(), losses, 1e-5)
    lost = PrivacyLoss((EnclosedLoss(ZERO_LOSS, known.loss("everything", shuffled=False).directions[0]),))
    ledger = Ledger(protocol(), losses, 1e-5, _made={("everything", False): lost})
    assert lost.epsilon_bounds(1e-5)[0] == 0
    assert ledger.ends("everything", shuffled=False)[0] == known.ends("one round", shuffled=False)[0] > 0
    assert ledger.ends("everything", shuffled=False)[1] == known.ends("everything", shuffled=False)[1]
    assert ledger.advantage(shuffled=False) == known.loss("one round", shuffled=False).delta_bounds(0.0)[0] > 0


@pytest.mark.usefixtures("example_installed")
def test_a_report_fits_into_json() -> None:
    report = account(load_protocol("example-sample"))
    document = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert document["totals"][-1]["epsilon"] == "inf"
    assert document["paper"][0]["claims"]["EX-6"] == "VACUOUS"


def test_progress_names_what_is_being_done() -> None:
    said: list[str] = []
    account(protocol(), progress=said.append)
    assert said[0] == "step 1 of 1: RandomizedResponse(epsilon=0.5, k=2)"
    assert "total: exact composition" in said


def test_costs_that_are_printed_are_rounded_upwards() -> None:
    from ldp_audit.accounting.protocols.protocol_report import interval, number

    assert number(2.0000001) == "2.00001"
    assert number(2.0000000000000004) == "2"
    assert number(0) == "0"
    assert number(math.inf) == "infinite"
    assert interval((1.23456789, 1.3)) == "1.23456 to 1.3"
    assert interval((1.0, 1.0 + 1e-9)) == "1.00001"
    assert interval((0.0, math.inf)) == "at most infinite"
    assert interval((0.0, 2.0)) == "at most 2"
    assert number(177956700.0) == "177956700"
    assert number(1310400.25) == "1310401"


def test_totals_say_one_thing_each() -> None:
    keys = [one.key for one in totals(Ledger(protocol(), step_losses(protocol()), 1e-5))]
    assert len(set(keys)) == len(keys)
    assert {"basic", "exact"} <= set(keys)
    with pytest.raises(ValueError, match=r"convention must be one of basic, .*exact.*, got 'shuffled'"):
        account(protocol()).total("shuffled")


def test_two_valued_reports_of_sampled_and_shuffled_clients_are_accounted_for() -> None:
    """Would catch others placed at one end for a loss that sampling made asymmetric, which is an error."""
    step = Step(
        TwoPoint(1.0), ("rounds",), sampling=Sampling("without", n=50, k=20), shuffling=Shuffling(20, "parameter")
    )
    found = account(Protocol("sampled clients", (step,), rounds=2)).total("shuffled")
    assert 0 <= (found.lower or 0.0) <= found.epsilon < 2
