"""What every shipped pipeline keeps to: resumed runs, seeds, data and states that do not fit, findings without runs."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.training import pipeline
from ldp_audit.training.datasets import Images, Table
from ldp_audit.training.kept_model import keep_model, load_model
from ldp_audit.training.runs import packed, read, train
from tests.together import together
from tests.training.fedmd_nfdp import small as fedmd
from tests.training.fedsel import tiny as fedsel
from tests.training.ldp_fl import small as ldp_fl
from tests.training.toy import Toy, points

CPU = torch.device("cpu")
FEDSEL = {"repeats": 2, "folds": 5, "epochs": 2, "share": 0.34}
START: dict[str, tuple[Callable[..., Any], Any]] = {
    "ldp-fl": (lambda **settings: ldp_fl.plan(**{"rounds": 3, **settings}), ldp_fl.images()),
    "fedsel": (lambda **settings: pipeline.plan_class("fedsel")(**{**FEDSEL, **settings}), fedsel.table(30)),
    "fedmd-nfdp": (lambda **settings: fedmd.plan(**{"rounds": 3, **settings}), fedmd.images()),
}
"""Of each, small settings and data."""

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    *(("ldp-fl", one) for one in ({}, {"permute": True, "fraction": 0.5}, {"ranges": "fixed"}, {"epsilon": math.inf})),
    *(("ldp-fl", one) for one in ({"mechanism": "Laplace"}, {"privacy": "central"}, {"ranges": "own"})),
    *(("fedsel", {"solution": one, "repeats": 1}) for one in ("PE-PM", "PM", "PM-RP", "PS-HM-O")),
    *(("fedmd-nfdp", one) for one in ({}, {"method": "ldp"}, {"method": "centralised"}, {"scores": "argmax"})),
    *(("fedmd-nfdp", {"optimizer": "kept", **one}) for one in ({}, {"method": "alone"}, {"k": 0, "digest_epochs": 0})),
]
every = together("name", pipeline.PIPELINES)


def run(name: str, seed: int = 7, **settings: Any) -> Any:
    plan, data = START[name]
    return plan(**settings).start(data, seed=seed, device=CPU)


def advanced(one: Any, first: int, last: int) -> list[dict[str, Any]]:
    return [one.advance(number) for number in range(first, last + 1)]


def through_a_file(state: Any) -> Any:
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def same(one: Any, other: Any) -> bool:
    """Whether two states are equal, to the bit."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def test_every_pipeline_is_tried() -> None:
    assert set(START) == set(pipeline.PIPELINES)


@together(("name", "settings"), SETTINGS)
def test_a_restored_run_is_an_uninterrupted_one(name: str, settings: dict[str, Any]) -> None:
    """State that a later round needs and the checkpoint lacks, such as an optimiser's; memory that both share."""
    whole, first, second = (run(name, **settings) for _ in range(3))
    middle, records = whole.rounds // 2 + 1, advanced(whole, 1, whole.rounds)
    json.dumps(records, allow_nan=False)
    assert advanced(first, 1, middle) == records[:middle]
    state = first.state()
    kept = through_a_file(state)
    advanced(first, middle + 1, whole.rounds)
    assert same(state, kept), "a state changes with its run"
    second.restore(kept)
    assert advanced(second, middle + 1, whole.rounds) == records[middle:]
    assert same(second.state(), whole.state())


MORE: dict[str, dict[str, Any]] = {"ldp-fl": {"rounds": 2}, "fedsel": {"rounds": 4}, "fedmd-nfdp": {"rounds": 2}}
"""Fewer rounds than START has."""


def trained(name: str, keep: Path | None = None, every: int = 1, **settings: Any) -> Any:
    plan, data = START[name]
    heard: list[float] = []
    how: dict[str, Any] = {"seed": 7, "device": CPU, "keep": keep, "evaluate_every": every}
    record = train(name, plan(**settings), data, **how, progress=lambda done, *_: heard.append(done))
    return record, heard


@pytest.mark.parametrize("period", [1, 5])
@every
def test_an_extended_run_is_one_that_had_all_rounds_from_the_start(name: str, period: int, tmp_path: Path) -> None:
    """Would catch what a last round alone has or leaves, and rounds that depend on how many there are."""
    short, long = tmp_path / f"{name}.state", tmp_path / f"whole-{name}.state"
    first, _ = trained(name, short, period, **MORE[name])
    extended, heard = trained(name, short, period)
    whole, _ = trained(name, long, period)
    assert len(first["rounds"]) < len(whole["rounds"])
    assert heard[1] == len(first["rounds"])
    assert extended["rounds"] == whole["rounds"]
    assert same(read(short)["state"], read(long)["state"])


@together(("name", "settings"), [("fedmd-nfdp", {"method": "ldp"}), ("ldp-fl", {"privacy": "central"})])
def test_a_run_whose_noise_is_made_for_all_rounds_is_not_extended(
    name: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    """A longer run would have spent more in its first rounds than it states."""
    trained(name, tmp_path / f"{name}.state", rounds=2, **settings)
    with pytest.raises(ValueError, match=r"is of another run: settings\.rounds was 2 and is 3"):
        trained(name, tmp_path / f"{name}.state", rounds=3, **settings)


@every
def test_a_kept_model_is_the_run_s_and_can_be_trained_on(name: str, tmp_path: Path) -> None:
    """Would catch weights under other names, and a model whose settings or seed are another's."""
    state, path, data = tmp_path / "one.state", tmp_path / name / "run-1.pt", START[name][1]
    state.unlink(missing_ok=True)
    record, _ = trained(name, state, **MORE[name])
    keep_model(state, path, {"delta": 1e-5})
    model = load_model(path)
    last = record["rounds"][-1]
    assert (model.pipeline, model.seed, model.accuracy, model.spend) == (name, 7, last["accuracy"], {"delta": 1e-5})
    assert model.run(data).evaluate().items() <= last.items()
    tensors = [tensor for one in model.networks().values() for tensor in one.state_dict().values()]
    assert same(sorted(map(numbers, tensors)), sorted(weights(model.state["weights"])))
    with pytest.raises(ValueError, match=r"rounds must be at least the \d+ that were trained, got 0"):
        model.run(data, rounds=0)
    longer = model.run(data, rounds=len(record["rounds"]) + 1)
    whole, _ = trained(name, rounds=len(record["rounds"]) + 1)
    assert longer.advance(longer.rounds).items() <= whole["rounds"][-1].items()


def numbers(tensor: torch.Tensor) -> list[float]:
    return tensor.flatten().tolist()


def weights(state: Any) -> list[list[float]]:
    """The numbers of each network's tensors, however a state keeps them."""
    if isinstance(state, torch.Tensor):  # a row for each linear model
        return state.tolist()
    if isinstance(state, dict):
        return [numbers(tensor) for tensor in state.values()]
    return [numbers(tensor) for one in state for tensor in one.values()]


def test_a_kept_network_predicts_what_the_pipeline_measured(tmp_path: Path) -> None:
    """Would catch networks of another shape of data, and outputs in another order."""
    data = START["ldp-fl"][1]
    record, _ = trained("ldp-fl", tmp_path / "one.state")
    (network,) = load_model(tmp_path / "one.state").networks().values()
    right = network(torch.from_numpy(data.test_x)).argmax(1).numpy() == data.test_y
    assert right.mean() == pytest.approx(record["rounds"][-1]["accuracy"])


def test_a_model_that_names_code_is_refused_unless_it_is_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "toy.state"
    train("tests.training.toy:Toy", Toy(), points(), seed=1, device=CPU, keep=path)
    with pytest.raises(ValueError, match=r"names 'tests.training.toy:Toy', whose import runs its code; own=True"):
        load_model(path)
    model = load_model(path, own=True)
    assert model.spend is None
    assert same(model.run(points()).state(), model.state)
    with pytest.raises(ValueError, match="does not say how to build its networks"):
        model.networks()
    with pytest.raises(ValueError, match="rounds must be left as they are"):
        model.run(points(), rounds=9)
    document = read(path)
    for change in ({"rounds": []}, {"arguments": {"pipeline": ["a"], "settings": {}}}, {"kind": "x"}, {"state": None}):
        broken = {**document, **change}
        if change == {"state": None}:
            del broken["state"]
        path.write_bytes(packed(broken))
        with pytest.raises(ValueError, match="damaged"):
            load_model(path, own=True)
    path.write_bytes(packed(document)[:-1])
    with pytest.raises(ValueError, match="damaged"):
        load_model(path)
    with pytest.raises(ValueError, match="the model of that run cannot be kept"):
        keep_model(tmp_path / "none.state", tmp_path / "one.pt", None)


@every
def test_the_model_is_evaluated_every_so_many_rounds_and_after_the_last(name: str) -> None:
    """Would catch an evaluation that changes what is trained."""
    (rare, _), (usual, heard) = trained(name, every=2), trained(name)
    last = len(usual["rounds"])
    for number, (one, other) in enumerate(zip(rare["rounds"], usual["rounds"], strict=True), 1):
        assert ("accuracy" in one) == (number % 2 == 0 or number == last)
        assert one.items() <= other.items()
    assert all("accuracy" in one for one in usual["rounds"])
    within = [done for done in heard if done % 1]
    assert name == "fedsel" or {int(done) for done in within} == set(range(last)), "a round says how far it is"


@every
def test_equal_seeds_give_equal_runs_and_others_do_not(name: str) -> None:
    """Randomness from anywhere but the seed; a seed that is ignored."""
    runs = []
    for global_seed, seed in ((1, 7), (2, 7), (2, 8)):
        torch.manual_seed(global_seed)
        before = torch.get_rng_state()
        one = run(name, seed)
        runs.append((advanced(one, 1, 2), one.state()))
        assert torch.equal(torch.get_rng_state(), before), "the global generator was used"
    assert same(runs[0], runs[1])
    assert not same(runs[0][1], runs[2][1])


@every
def test_data_of_the_other_kind_are_refused(name: str) -> None:
    plan, data = START[name]
    table = Table("ages", np.zeros((3, 1)), np.array([1, -1, 1]), ("age",))
    image = Images("one", *(np.zeros(s, t) for _ in "ab" for s, t in (((1, 1, 2, 2), "f4"), ((1,), "i8"))), classes=2)
    kind, wrong = ("images", table) if isinstance(data, Images) else ("a table", image)
    with pytest.raises(ValueError, match=f"data must be {kind}"):
        plan().start(wrong, seed=1, device=CPU)


@every
def test_states_of_other_runs_are_refused(name: str) -> None:
    """A checkpoint of another model, or of none, that fails later or never."""
    one = run(name)
    for state in ({}, dict.fromkeys(one.state())):
        with pytest.raises(ValueError, match="state must"):
            one.restore(state)


@every
def test_findings_without_runs_say_nothing(name: str) -> None:
    questions = pipeline.findings_of(pipeline.plan_class(name))
    assert questions
    assert pipeline.judge(questions, {"runs": []}) == []
