"""FedMD-NFDP's presets are those of its tables and figures, and run; its runs' protocols fit its own accounting."""

from __future__ import annotations

import numpy as np

from ldp_audit.accounting.protocols.protocol_report import account
from ldp_audit.training.data import load
from ldp_audit.training.datasets import Images
from ldp_audit.training.fedmd_nfdp.plan import PRESETS, FedMd, grows_with_the_parties
from ldp_audit.training.sweep import jobs_of
from tests.together import together
from tests.training.fedmd_nfdp.small import CPU, run


def test_presets_are_those_of_the_tables() -> None:
    """A size or a network that was copied wrongly."""
    found = PRESETS.presets
    assert {"table-2-femnist", "table-2-cifar-10", "table-3-femnist", "table-4-cifar-10"} <= set(found)
    sizes = {job.settings["k"] for job in jobs_of(FedMd, found["table-2-femnist"], seed=0)}
    assert sizes == {cell["k"] for cell in PRESETS.printed[0]["cells"] if "k" in cell}
    assert len(PRESETS.document["settings"]["paper"]["networks"].split("+")) == 10


@together("name", ["parties-femnist", "parties-cifar-10", "parties-embedded"])
def test_the_presets_over_the_number_of_parties_answer_figure_2d(name: str) -> None:
    """A sweep without Table 3's numbers of parties, or that varies more, so that the finding is never asked."""
    runs = [
        {"settings": job.settings, "seed": job.seed, "rounds": [{"accuracy": job.settings["parties"] / 11}]}
        for job in jobs_of(FedMd, PRESETS.presets[name], 0)
    ]
    settings = PRESETS.document["settings"]["paper"] if name != "parties-embedded" else {}
    assert all(run["settings"].items() >= settings.items() for run in runs)
    assert {run["settings"]["parties"] for run in runs} == {2, 5, 7, 10}
    found = grows_with_the_parties({"runs": runs})
    assert found is not None
    assert found.verdict == "seen"


def test_ten_parties_of_the_embedded_digits_have_records_to_draw_from() -> None:
    """A preset for the embedded digits that asks for more parties than they allow."""
    (sweep,) = PRESETS.presets["parties-embedded"]
    one = FedMd(**{**sweep.settings, "parties": 10}).start(load("digits"), seed=1, device=CPU)
    assert one.records > 4 * one.plan.k
    assert len({party.name for party in one.parties}) == 5


def test_a_preset_runs_on_a_small_pair_of_its_shape() -> None:
    """The tables' settings, with smaller numbers, on 28x28 images and ten networks of their kinds."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (160, 1, 28, 28)).astype(np.float32)
    y = np.tile(np.arange(16, dtype=np.int64), 10)
    data = Images("pair", x, y, x[:32], y[:32], 16)
    small = {
        "networks": "cnn-2-3+cnn-2-2-3",
        "public_per_round": 20,
        "rounds": 1,
        "pretrain_epochs": 1,
        "private_epochs": 1,
        "k": 6,
        "parties": 2,
    }
    one = FedMd(**{**PRESETS.document["settings"]["paper"], **small}).start(data, seed=1, device=CPU)
    assert len(one.advance(1)["by_party"]) == 2


@together("method", ["nfdp-with", "ldp"])
def test_the_accounting_room_accepts_the_protocol(method: str) -> None:
    """A protocol that its paper's conventions refuse."""
    protocol = run(method=method).protocol()
    assert protocol is not None
    assert account(protocol, delta=0.3).claims
