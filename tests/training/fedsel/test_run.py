"""Whole runs: every solution trains, batches equal single runs, restored ones equal uninterrupted ones."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.training.fedsel import run as run_module
from ldp_audit.training.fedsel.plan import FedSel
from ldp_audit.training.fedsel.solution import NAMES
from tests.together import together
from tests.training.fedsel.tiny import started, table, trained


@together("name", NAMES)
def test_every_solution_trains_and_records(name: str) -> None:
    """Catches a solution that fails, a record that is no JSON, and rounds that leave the weights as they were."""
    run = started(table(40), solution=name, epochs=2, share=0.5)
    records = [run.advance(number) for number in range(1, run.rounds + 1)]
    json.dumps(records, allow_nan=False)
    assert run.rounds == 4
    assert all(0 <= record["accuracy"] <= 1 for record in records)
    assert len(records[-1]["accuracies"]) == 10
    assert records[-1]["accuracy"] == pytest.approx(np.mean(records[-1]["accuracies"]))
    assert bool((run.weights.abs().sum(-1) > 0).all())


@together("model", ["logistic", "svm"])
def test_training_without_noise_learns(model: str) -> None:
    """Catches a step in the wrong direction, which would be right on few records; chance is a half."""
    run = started(solution="NP", learning_rate=1.0, model=model)
    for number in range(1, run.rounds):
        run.advance(number)
    assert run.advance(run.rounds)["accuracy"] > 0.85


def test_a_round_moves_the_weights_by_alpha_times_the_mean_of_its_users_reports() -> None:
    """Catches a sum for a mean, the users of another round or fold, and a lost learning rate: Algorithm 1, 9 to 11."""
    run = started(solution="NP", learning_rate=0.7, penalty=0.1)
    before = run.weights
    for number in (1, 2):
        before = run.weights
        run.advance(number)
    for place in (0, 7):
        users = run.order_of(0)[place, int(run.edges[1]) : int(run.edges[2])]
        rows = run.records_of[place][users]
        mean = run_module.gradients("logistic", run.x[rows], run.y[rows], before[place], 0.1).mean(0)
        torch.testing.assert_close(run.weights[place], before[place] - 0.7 * mean)


@together("settings", [{"solution": "NP"}, {"solution": "NP-K", "epochs": 2, "model": "svm"}])
def test_a_batch_is_its_single_runs(settings: dict[str, Any]) -> None:
    """Catches models of a batch that share users, weights, or states; without noise they differ by rounding alone."""
    data, settings = table(50, d=4), {**settings, "folds": 5, "repeats": 10, "share": 0.5}
    whole = trained(started(data, **settings))
    assert len(whole.models) == 50
    for place, model in enumerate(whole.models):
        one = trained(started(data, **settings, models=[model]))
        torch.testing.assert_close(one.weights[0], whole.weights[place], rtol=1e-4, atol=1e-5)


def test_chunks_change_nothing_without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches users that are left out or counted twice where a round does not fit into one chunk."""
    data, settings = table(50, d=4), {"solution": "NP-K", "epochs": 2, "share": 0.5, "repeats": 1}
    whole = trained(started(data, **settings))
    monkeypatch.setattr(run_module, "CHUNK", 25)  # six of a model's twenty users
    small = trained(started(data, **settings))
    torch.testing.assert_close(small.weights, whole.weights, rtol=1e-4, atol=1e-5)
    assert (small.reported == whole.reported).all()


def test_states_of_other_runs_and_rounds_out_of_turn_are_refused() -> None:
    """Catches a resumed run that silently starts from something else."""
    run = started()
    with pytest.raises(ValueError, match="number must be the next round, 1 of 10"):
        run.advance(2)
    with pytest.raises(ValueError, match="state must be one of this FedSel run"):
        run.restore(started(table(d=4)).state())
    with pytest.raises(ValueError, match="state must be one of this FedSel run"):
        run.restore({})


@together("epsilon", [1e-9, 50.0])
@together("name", ["EXP-PM", "PE-HM", "PS-DUCHI", "PE-PM-C", "HM", "PM-RP", "PE"])
def test_the_ends_of_the_ranges_train(epsilon: float, name: str) -> None:
    """Catches overflow and empty sets at d = 2, k = 1, one record a fold, and budgets from nearly 0 to large."""
    run = started(table(5, d=2), solution=name, epsilon=epsilon, k=1, corrected=True, epochs=2)
    record = [run.advance(number) for number in range(1, run.rounds + 1)][-1]
    assert set(record["accuracies"]) <= {0.0, 1.0}
    assert bool(run.weights.isfinite().all())


def test_original_accumulation_clips_after_the_learning_rate() -> None:
    """Catches -O that is the adapted one: all values of a huge alpha times g are clipped."""
    record = started(solution="PS-DUCHI-O", learning_rate=1e5, epsilon=20.0).advance(1)
    assert record["clipped"] == 1.0
    assert started(solution="PS-DUCHI", learning_rate=1e5, epsilon=20.0).advance(1)["clipped"] == 0.0


@together(
    ("settings", "match"),
    [
        ({"epsilon": float("inf")}, "epsilon must be a finite number > 0, got inf"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"mu": 1.0}, r"mu must be a number in \[0, 1\), got 1.0"),
        ({"threshold": None}, "threshold must be"),
        ({"model": "tree"}, "model must be one of logistic, svm, got 'tree'"),
        ({"solution": "XX"}, "solution must be"),
        ({"folds": 1}, "folds must be a whole number >= 2, got 1"),
        ({"repeats": True}, "repeats must be"),
        ({"share": 0.0}, "share must be"),
        ({"ratio": 1.5}, "ratio must be"),
        ({"k": 0}, "k must be"),
        ({"rounds": 0}, "rounds must be a whole number >= 1, got 0"),
        ({"corrected": 1}, "corrected must be"),
        ({"penalty": float("nan")}, "penalty must be"),
    ],
)
def test_settings_that_are_none_are_refused(settings: dict[str, Any], match: str) -> None:
    """Catches a setting that is taken as something else; the message names it and its value."""
    with pytest.raises(ValueError, match=match):
        FedSel(**settings)


def test_data_that_do_not_fit_are_refused() -> None:
    """Catches failures in the middle of a run: the start says what does not fit."""
    with pytest.raises(ValueError, match="k must be a whole number from 1 to d - 1 = 5, got 6"):
        started(k=6)
    with pytest.raises(ValueError, match="two columns or more"):
        started(table(d=1))
    with pytest.raises(ValueError, match="folds must be at most the number of records, 4, got 5"):
        started(table(4))
    with pytest.raises(ValueError, match="users must be at most the data's 200 records, got 300"):
        started(users=300)
    for rounds in (10, 21):
        with pytest.raises(
            ValueError, match=rf"rounds must be in 11 .. 20, those of the last of 2 epochs, got {rounds}"
        ):
            started(epochs=2, rounds=rounds)


def test_a_run_that_stops_early_is_the_first_rounds_of_a_whole_one_and_spends_as_much() -> None:
    """Catches rounds that are stretched over all users, and a spend that counts on users who never reported."""
    whole, part = started(solution="PE-PM", epochs=2), started(solution="PE-PM", epochs=2, rounds=13)
    records = [[run.advance(number) for number in range(1, 14)] for run in (whole, part)]
    assert part.rounds == part.done == 13
    assert torch.equal(whole.weights, part.weights)
    assert [{**one, "accuracies": None} for one in records[0]] == [{**one, "accuracies": None} for one in records[1]]
    first, second = whole.protocol(), part.protocol()
    assert first is not None
    assert second is not None
    assert (first.steps, first.epochs, first.split) == (second.steps, second.epochs, second.split)
    assert second.notes[0].endswith("each reports once an epoch; those whose turn comes after round 13 once less.")


def test_a_part_of_the_records_is_drawn_by_the_seed() -> None:
    """Catches `users` that takes the first records, which may be sorted."""
    run = started(users=50)
    assert len(run.x) == 50
    assert not torch.equal(run.x, torch.tensor(table().x[:50], dtype=torch.float32))
