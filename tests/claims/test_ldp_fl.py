"""LDP-FL, claim by claim: the engines reach the verdicts of the inventory, and the facts that a reader looks for."""

from __future__ import annotations

import pytest

from ldp_audit.claims.settling import SettledClaim
from ldp_audit.claims.verdict import Verdict

EXPECTED = {
    "DEF-POINT": "PROVED",
    "LF-DEF2": "PROVED",
    "LF-EQ2a": "PROVED",
    "LF-EQ2b": "PROVED",
    "LF-EQ2c": "PROVED",
    "LF-CLIP": "PROSE",
    "LF-RVAR": "PROVED",
    "LF-CROWD": "PROVED",
    "LF-T1": "PROVED",
    "LF-L1": "PROVED",
    "LF-L1clip": "REFUTED",
    "LF-L1samp": "PROVED",
    "LF-L2": "REFUTED",
    "LF-E6": "PROVED",
    "LF-L3": "PROVED",
    "LF-E7": "PROVED",
    "LF-L3n": "PROVED",
    "LF-E9a": "PROVED",
    "LF-E9b": "PROVED",
    "LF-E9O": "PROVED",
    "LF-T2": "PROVED",
    "LF-C1": "PROVED",
    "LF-C1ocrU": "REFUTED",
    "LF-C1ocrL": "REFUTED",
    "LF-RBIAS": "PROVED",
    "LF-RANGE": "CONDITIONAL",
    "LF-RLINK": "CONDITIONAL",
    "LF-RANGE2": "PROVED",
    "LF-POST": "PROVED",
    "LF-RFEED": "PROSE",
    "LF-EPSINF": "REFUTED",
    "LF-COMP": "PROVED",
    "LF-SEQ": "PROVED",
    "LF-MODEL": "REFUTED",
    "LF-UNLINK": "REFUTED",
    "LF-AMPdom": "REFUTED",
    "LF-CURSE": "REFUTED",
    "LF-SHUF": "REFUTED",
    "LF-ERL": "PROVED",
    "LF-SIGNAL": "PROVED",
    "LF-NEED": "PROVED",
    "LF-MEMBER": "ENUMERATED",
    "LF-FOUND": "PROVED",
    "LF-ANON": "PROSE",
    "LF-TIMElink": "ENUMERATED",
    "LF-TIMEcont": "PROVED",
    "LF-TIME": "PROVED",
    "LF-TIMEneg": "PROVED",
    "LF-T0": "ENUMERATED",
    "LF-MEDIAN": "ENUMERATED",
    "LF-CMP": "PROSE",
    "LF-EPSTOT": "REFUTED",
    "LF-CLDP": "PROVED",
    "LF-TAB1": "REFUTED",
    "LF-TAB1b": "PROSE",
    "LF-TAB1c": "PROVED",
    "LF-FMN": "PROSE",
    "LF-ACC": "UNDECIDED",
    "FP-32": "REFUTED",
    "FP-CENTRE": "REFUTED",
    "FP-53": "REFUTED",
    "FP-DTYPE": "ENUMERATED",
    "FP-LAPLACE": "REFUTED",
    "FP-LAPLACE53": "REFUTED",
    "FP-PM": "REFUTED",
    "FP-GAUSS": "REFUTED",
}


@pytest.fixture(scope="module")
def by_id(ldp_fl_settled: list[SettledClaim]) -> dict[str, SettledClaim]:
    return {settled.claim.id: settled for settled in ldp_fl_settled}


def test_every_claim_of_the_inventory_is_there_and_no_other(by_id: dict[str, SettledClaim]) -> None:
    assert set(by_id) == set(EXPECTED)


def test_the_engines_reach_the_verdicts(by_id: dict[str, SettledClaim]) -> None:
    assert {name: str(settled.verdict) for name, settled in by_id.items()} == EXPECTED


def test_every_correction_with_formal_parts_is_proved(by_id: dict[str, SettledClaim]) -> None:
    corrections = {name: settled.correction_verdict() for name, settled in by_id.items()}
    assert {name: verdict for name, verdict in corrections.items() if verdict not in (None, Verdict.PROVED)} == {}
    refuted = [name for name, settled in by_id.items() if str(settled.verdict) == "REFUTED"]
    assert [name for name in refuted if corrections[name] is None and not by_id[name].claim.argument] == []


def test_no_proof_rests_on_the_solver_alone(ldp_fl_settled: list[SettledClaim]) -> None:
    assert not [p.statement.label for s in ldp_fl_settled for p in s.all_parts() if p.engine == "smt"]


def test_the_damaged_corollary_is_not_held_against_the_paper(by_id: dict[str, SettledClaim]) -> None:
    damaged = {name for name, settled in by_id.items() if settled.claim.source == "damaged conversion"}
    assert damaged == {"LF-C1ocrU", "LF-C1ocrL"}


def test_lemma_2_fails_off_centre_by_the_square(by_id: dict[str, SettledClaim]) -> None:
    evidence = by_id["LF-L2"].parts[0].evidence
    assert evidence["point"] == {"c": "0", "r": "1", "t": "2", "w": "1"}
    assert (evidence["left"], evidence["right"]) == ("8", "9")


def test_the_unclipped_probability_is_negative(by_id: dict[str, SettledClaim]) -> None:
    assert by_id["LF-CLIP"].groups["corrected"][0].evidence["left"] == "-1/6"


def test_the_smallest_shuffled_example(by_id: dict[str, SettledClaim]) -> None:
    assert by_id["LF-UNLINK"].parts[0].evidence["left"] == "27/128"


def test_a_client_chosen_range_has_an_output_that_the_other_input_cannot_give(by_id: dict[str, SettledClaim]) -> None:
    for part in by_id["LF-RANGE2"].parts:
        assert part.evidence["right"] == "0"
        assert part.evidence["left"] != "0"


def test_a_shared_range_keeps_the_guarantee(by_id: dict[str, SettledClaim]) -> None:
    assert {part.verdict for part in by_id["LF-RANGE"].groups["condition"]} == {Verdict.PROVED}
    assert [str(part.verdict) for part in by_id["LF-RANGE"].parts] == ["REFUTED", "REFUTED", "PROVED", "PROVED"]


def test_theorem_2_hides_large_epsilon(by_id: dict[str, SettledClaim]) -> None:
    evidence = by_id["LF-T2"].parts[0].evidence
    assert evidence["kind"] == "escape"
    assert evidence["path"]["epsilon"] == "K + 1"


def test_pairing_by_time(by_id: dict[str, SettledClaim]) -> None:
    lefts = [part.evidence["left"] for part in by_id["LF-TIMElink"].groups["corrected"]]
    assert lefts == ["1417/2592", "25/32", "1"]
