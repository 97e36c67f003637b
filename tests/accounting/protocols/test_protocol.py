"""Protocols as data, and their spend in each convention."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.accounting.protocols.conventions import Ledger, step_losses, totals
from ldp_audit.accounting.protocols.paper_conventions import TABLE_2, VERDICTS, paper_claims
from ldp_audit.accounting.protocols.protocol import Protocol, Sampling, Shuffling, Split, Step
from ldp_audit.accounting.protocols.protocol_file import load_protocol, shipped
from ldp_audit.accounting.protocols.protocol_report import account
from ldp_audit.losses.discrete_loss import ZERO_LOSS
from ldp_audit.losses.enclosed_loss import EnclosedLoss
from ldp_audit.mechanisms import FiniteChannel, RandomizedResponse, TwoPoint
from tests.claims import test_papers
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


def test_what_shows_everything_with_some_probability_has_no_epsilon_and_says_from_which_delta_on() -> None:
    report = account(load_protocol("fedmd-nfdp-cifar10-60"))
    assert report.total("exact").epsilon == math.inf
    assert report.floor == pytest.approx(1 - (299 / 300) ** 60, rel=1e-12)
    assert "no epsilon is large enough for a delta below 0.181543" in report.describe()
    assert account(load_protocol("fedmd-nfdp-cifar10-60"), delta=0.19).total("exact").epsilon == 0


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


def test_the_papers_claims_are_their_formulas() -> None:
    ldp_fl = {claim.claims[0]: claim.epsilon for claim in paper_claims(load_protocol("ldp-fl-fmnist"))}
    assert ldp_fl == {"LF-SEQ": 15 * 21840 * 4, "LF-MODEL": 21840 * 4, "LF-UNLINK": 4}
    fedsel = {claim.claims[0]: claim.epsilon for claim in paper_claims(load_protocol("fedsel-adult-two-epochs"))}
    assert fedsel == pytest.approx({"FS-L2": 0.1, "FS-T31pe": 1.0, "FS-EPOCH": 2.0})


@together(("n", "k"), TABLE_2)
def test_table_2_is_printed_with_the_logarithm_to_base_ten(n: int, k: int) -> None:
    """And k = 18 where 16 is printed; delta is rounded but for one that is cut off."""
    name = f"fedmd-nfdp-{'femnist' if n == 2880 else 'cifar10'}-{k}"
    theory, printed = paper_claims(load_protocol(name))
    assert (printed.epsilon, printed.delta) == TABLE_2[n, k]
    used = 18 if k == 16 else k
    assert printed.epsilon == pytest.approx(used * math.log10((n + 1) / n), abs=6e-5)
    assert printed.delta == pytest.approx(1 - ((n - 1) / n) ** used, abs=1e-4)
    assert theory.epsilon == pytest.approx(k * math.log((n + 1) / n), rel=1e-12)


def test_table_2_is_held_against_its_own_settings_alone() -> None:
    """A wrong accusation would be to say that the paper prints something about a user's own setting."""
    own = Protocol("a", (Step("SubsampleRelease(n=500, k=20, replacement=True)", (1,)),), paper="fedmd-nfdp")
    assert [claim.claims[0] for claim in paper_claims(own)] == ["NF-T2"]
    without = Protocol("a", (Step("SubsampleRelease(n=300, k=60)", (1,)),), paper="fedmd-nfdp")
    (claim,) = paper_claims(without)
    assert (claim.claims[0], claim.delta) == ("NF-T1", 0.2)
    assert claim.epsilon == pytest.approx(math.log(301 / 241))


@together(
    ("paper", "message"),
    [
        ("ldp-fl", "knows one step, got 2"),
        ("fedsel", r"FedSel's accounting needs a \[split\]"),
        ("fedmd-ldp", "knows one step, got 2"),
        ("fedmd-nfdp", "knows one step, got 2"),
    ],
)
def test_a_papers_accounting_of_something_else_is_refused(paper: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        account(protocol(paper=paper, steps=(ANSWER, ANSWER)))


@pytest.mark.parametrize(
    ("paper", "message"),
    [
        ("fedmd-ldp", "needs Gaussian noise, got RandomizedResponse"),
        ("fedmd-nfdp", "needs a SubsampleRelease, got RandomizedResponse"),
    ],
)
def test_a_papers_accounting_of_another_mechanism_is_refused(paper: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        account(protocol(paper=paper))


def test_the_verdicts_are_those_that_the_engines_reach() -> None:
    """Catches a verdict that has changed: the page would accuse a paper wrongly.

    The tables are those that the test of the papers holds the engines to, every claim by its name.
    """
    tables = (test_papers.VERDICTS[key] for key in ("ldp-fl", "fedsel", "fedmd-nfdp"))
    expected = {name: verdict for table in tables for verdict, names in table.items() for name in names.split()}
    assert {name: expected[name] for name in VERDICTS} == VERDICTS


def test_every_claim_that_is_named_has_a_verdict() -> None:
    named = {name for one in shipped() for claim in paper_claims(load_protocol(one)) for name in claim.claims}
    assert named <= set(VERDICTS)
    assert all(name in VERDICTS for name in ("NF-T1",))


def test_a_report_fits_into_json() -> None:
    report = account(load_protocol("fedmd-nfdp-cifar10-60"))
    document = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert document["totals"][-1]["epsilon"] == "inf"
    assert document["paper"][0]["claims"]["NF-FLAT"] == "VACUOUS"


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
