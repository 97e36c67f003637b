"""LDP-FL: the facts that a reader looks for."""

from __future__ import annotations

import pytest

from ldp_audit.claims.settling import SettledClaim
from ldp_audit.claims.verdict import Verdict


@pytest.fixture(scope="module")
def by_id(ldp_fl_settled: list[SettledClaim]) -> dict[str, SettledClaim]:
    return {settled.claim.id: settled for settled in ldp_fl_settled}


def test_lemma_2_fails_off_centre_by_the_square(by_id: dict[str, SettledClaim]) -> None:
    evidence = by_id["LF-L2"].parts[0].evidence
    assert evidence["point"] == {"c": "0", "r": "1", "t": "2", "w": "1"}
    assert (evidence["left"], evidence["right"]) == ("8", "9")


def test_the_unclipped_probability_is_negative(by_id: dict[str, SettledClaim]) -> None:
    assert by_id["LF-CLIP"].groups["corrected"][0].evidence["left"] == "-1/6"


def test_the_smallest_shuffled_example(by_id: dict[str, SettledClaim]) -> None:
    assert by_id["LF-UNLINK"].parts[0].evidence["left"] == "27/128"


def test_a_client_chosen_range_has_an_output_that_the_other_input_cannot_give(by_id: dict[str, SettledClaim]) -> None:
    for part in by_id["LF-RANGE2"].groups["another"]:
        assert part.evidence["right"] == "0"
        assert part.evidence["left"] != "0"


def test_a_shared_range_keeps_the_guarantee(by_id: dict[str, SettledClaim]) -> None:
    assert {part.verdict for part in by_id["LF-RANGE"].groups["condition"]} == {Verdict.PROVED}
    assert [str(part.verdict) for part in by_id["LF-RANGE"].parts] == ["REFUTED", "REFUTED", "PROVED", "PROVED"]


def test_theorem_2_hides_large_epsilon(by_id: dict[str, SettledClaim]) -> None:
    evidence = by_id["LF-T2"].groups["another"][0].evidence
    assert evidence["kind"] == "escape"
    assert evidence["path"]["epsilon"] == "K + 1"


def test_pairing_by_time(by_id: dict[str, SettledClaim]) -> None:
    lefts = [part.evidence["left"] for part in by_id["LF-TIMElink"].groups["corrected"]]
    assert lefts == ["1417/2592", "25/32", "1"]
