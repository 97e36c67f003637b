"""The findings on made-up results: each verdict is reached, and none without its runs."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from ldp_audit.training.data import load
from ldp_audit.training.fedmd_nfdp import plan as findings
from ldp_audit.training.fedmd_nfdp.plan import FedMd
from ldp_audit.training.findings import within
from ldp_audit.training.pipeline import judge
from tests.together import together
from tests.training.fedmd_nfdp.small import CPU

SEEDS = range(6)
WOBBLE = (0.004, -0.003, 0.001, -0.002, 0.003, -0.003)
"""What runs of one point differ by; not the same at two points, as each is shifted by its number."""


def made_up(points: Iterable[tuple[dict[str, Any], float]], agreement: float = 0.21) -> dict[str, Any]:
    """Results with these settings (beside the defaults) and mean accuracies."""
    runs = []
    for place, (settings, accuracy) in enumerate(points):
        plan = dataclasses.asdict(FedMd(**settings))
        for seed in SEEDS:
            last: dict[str, Any] = {"accuracy": accuracy + WOBBLE[(seed + place) % 6]}
            if plan["method"] == "ldp":
                last["noise"] = {"agreement": agreement + WOBBLE[seed], "chance": 0.2}
            runs.append({"settings": plan, "seed": seed, "rounds": [{"accuracy": 0.1}, last]})
    return {"runs": runs}


BASE: tuple[dict[str, Any], float] = ({}, 0.7)


@together(
    ("question", "settings", "seen", "opposite"),
    [
        (findings.replacement_makes_no_difference, {"method": "nfdp-without"}, 0.71, 0.8),
        (findings.beats_noise, {"method": "ldp"}, 0.2, 0.9),
        (findings.collaboration_helps, {"method": "alone"}, 0.65, 0.75),
        (findings.all_records_beat_a_sample, {"method": "np"}, 0.8, 0.6),
        (findings.large_samples_come_near_all_records, {"method": "np"}, 0.72, 0.9),
        (findings.grows_with_k, {"k": 64}, 0.9, 0.5),
        (findings.grows_with_the_parties, {"parties": 5}, 0.6, 0.8),
        (findings.other_data_are_harder, {"split": "classes"}, 0.5, 0.8),
    ],
)
def test_a_finding_is_seen_or_the_opposite_is(
    question: Callable[[Any], Any], settings: dict[str, Any], seen: float, opposite: float
) -> None:
    """A difference with the wrong sign, and a verdict that is always the same."""
    for accuracy, verdict in ((seen, "seen"), (opposite, "opposite")):
        found = question(made_up([BASE, (settings, accuracy)]))
        assert found is not None
        assert found.verdict == verdict, found


def test_between_the_two_nothing_is_seen() -> None:
    """A verdict without evidence: equal means."""
    found = findings.collaboration_helps(made_up([BASE, ({"method": "alone"}, 0.7)]))
    assert found is not None
    assert found.verdict == "not seen"


def test_pooling_is_compared_with_all_records() -> None:
    """A comparison with the sample."""
    results = made_up([BASE, ({"method": "np"}, 0.8), ({"method": "centralised"}, 0.75)])
    found = findings.pooling_is_an_upper_bound(results)
    assert found is not None
    assert found.verdict == "opposite"


@together(("agreement", "verdict"), [(0.21, "seen"), (0.5, "opposite")])
def test_random_guesses_are_told_from_others(agreement: float, verdict: str) -> None:
    """Agreement compared with 0 instead of with chance."""
    found = findings.noise_leaves_a_random_guess(made_up([BASE, ({"method": "ldp"}, 0.7)], agreement))
    assert found is not None
    assert found.verdict == verdict


@together(("ldp", "verdict"), [(0.6, "seen"), (0.9, "opposite")])
def test_noise_is_compared_with_no_communication(ldp: float, verdict: str) -> None:
    """A comparison with NFDP's sample."""
    results = made_up([BASE, ({"method": "ldp"}, ldp), ({"method": "alone-np"}, 0.8)])
    found = findings.noise_ends_collaboration(results)
    assert found is not None
    assert found.verdict == verdict


@together(
    ("logits", "argmax", "same", "better"),
    [(0.69, 0.71, "seen", "seen"), (0.71, 0.6, "opposite", "opposite"), (0.5, 0.7, "opposite", "seen")],
)
def test_the_three_scores_are_compared_pair_by_pair(logits: float, argmax: float, same: str, better: str) -> None:
    """A pair that is forgotten."""
    results = made_up([BASE, ({"scores": "logits"}, logits), ({"scores": "argmax"}, argmax)])
    found = findings.scores_differ_little(results)
    assert found is not None
    assert found.verdict == same
    assert len(found.numbers) == 3
    found = findings.argmax_is_slightly_better(results)
    assert found is not None
    assert found.verdict == better


def test_three_pairs_are_opposite_at_the_rate_that_is_stated() -> None:
    """Catches three chances of 5% under a stated 5%: this pair's difference is surely large at 5%, not at a third."""
    swing = (0.030, -0.030, 0.025, -0.025, 0.02, -0.02)
    results = made_up([BASE, ({"scores": "logits"}, 0.7), ({"scores": "argmax"}, 0.7)])
    for run, seed in itertools.product(results["runs"], SEEDS):
        if run["seed"] == seed:
            shift = 0.083 + swing[seed] if run["settings"]["scores"] == "argmax" else 0.0
            run["rounds"][-1]["accuracy"] = 0.7 + shift
    differences = [0.083 + one for one in swing]
    assert within(differences, findings.MARGIN, findings.ERROR_RATE)[0] == "opposite"
    assert within(differences, findings.MARGIN, findings.ERROR_RATE / 3)[0] == "not seen"
    found = findings.scores_differ_little(results)
    assert found is not None
    assert found.verdict == "not seen"


@pytest.mark.slow
def test_the_embedded_digits_show_the_main_findings() -> None:
    """A pipeline that runs and learns nothing: settings in which the findings cannot come out.

    Three seeds; over five the differences are 6, 16 and 9 points with standard errors below 2.
    """
    images = load("digits")
    points = [{"method": method} for method in ("nfdp-with", "alone", "np")] + [{"k": 64}]
    runs: list[dict[str, Any]] = []
    for settings in points:
        for seed in (1, 2, 3):
            plan = FedMd(**settings)
            run = plan.start(images, seed=seed, device=CPU)
            rounds = [run.advance(number) for number in range(1, run.rounds + 1)]
            runs.append({"settings": dataclasses.asdict(plan), "seed": seed, "rounds": rounds})
    verdicts = {one.key: one.verdict for one in judge(findings.FINDINGS, {"runs": runs})}
    assert verdicts.pop("near-np") != "opposite"
    assert verdicts == {"collaboration": "seen", "np-above": "seen", "k": "seen"}


def test_without_the_runs_there_is_no_finding() -> None:
    """An exception, or a verdict on nothing, after a sweep of something else."""
    assert judge(findings.FINDINGS, made_up([BASE])) == []
    assert judge(findings.FINDINGS, {"runs": []}) == []


def test_all_findings_are_asked_and_differ_in_their_keys() -> None:
    """A question that is defined and never asked."""
    results = made_up(
        [
            *[({"method": method}, 0.7) for method in ("nfdp-with", "nfdp-without", "np", "ldp")],
            *[({"method": method}, 0.6) for method in ("centralised", "alone", "alone-np")],
            *[({"scores": scores}, 0.7) for scores in ("logits", "argmax")],
            ({"k": 32}, 0.8),
            ({"parties": 5}, 0.6),
            ({"split": "classes"}, 0.5),
        ]
    )
    found = judge(findings.FINDINGS, results)
    assert len({one.key for one in found}) == len(findings.FINDINGS) == 13
    assert all(one.place and 0 < one.error_rate <= 0.05 for one in found)
