"""LDP-FL's findings on made-up results: each is seen, not seen and opposite, and None where runs are missing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from ldp_audit.training.findings import Finding
from ldp_audit.training.ldp_fl import plan as findings
from ldp_audit.training.ldp_fl.plan import LdpFl
from tests.together import together

SEEDS = 5
Accuracy = Callable[[dict[str, Any]], float]


def results(points: Iterable[dict[str, Any]], accuracy: Accuracy) -> dict[str, Any]:
    """Five runs of each point, of three rounds; seeds differ by a little."""
    runs = []
    for point in points:
        settings = dataclasses.asdict(LdpFl(**{k: v for k, v in point.items() if k != "epsilon"}))
        settings["epsilon"] = point.get("epsilon", 1.0)
        layers = {name: {} for name in ("abc" if point.get("model") != "softmax" else "a")}
        for seed in range(SEEDS):
            last = accuracy(settings) + 0.01 * (seed - 2) * (1 + 0.2 * (seed % 2))
            jitter = 0.002 * (pow(3, len(runs), 29) % 7 - 3)
            rounds = [{"accuracy": one, "layers": layers} for one in (0.3, 0.4, last + jitter)]
            runs.append({"settings": settings, "seed": seed, "rounds": rounds})
    return {"runs": runs}


EPSILONS = [{"epsilon": one} for one in (0.5, 1.0, 2.0, "inf")]
CLIENTS = [{"n": one} for one in (25, 50, 100)]
FRACTIONS = [{"fraction": one} for one in (0.1, 0.3, 1.0)]
RADII = [{}, *({"ranges": "fixed", "radius": one} for one in (0.1, 0.3, 1.0))]
DEPTHS = [
    {**model, **ranges} for model in ({}, {"model": "softmax"}) for ranges in ({}, {"ranges": "fixed", "radius": 1.0})
]


def by(field: str, values: dict[Any, float], fallback: float = 0.6) -> Accuracy:
    return lambda settings: values.get(settings[field], fallback)


def by_ranges(deep: float, shallow: float = 0.0) -> Accuracy:
    """What adaptive ranges gain on either model."""
    gains = {"softmax": shallow}
    return lambda one: 0.6 + (one["ranges"] == "adaptive") * gains.get(one["model"], deep)


CASES: dict[Callable[..., Finding | None], tuple[list[dict[str, Any]], Accuracy, Accuracy, Accuracy]] = {
    findings.rises_with_epsilon: (
        EPSILONS,
        by("epsilon", {0.5: 0.4, 1.0: 0.5}),
        by("epsilon", {}),
        by("epsilon", {0.5: 0.8, 1.0: 0.7}),
    ),
    findings.rises_with_clients: (CLIENTS, by("n", {25: 0.4, 50: 0.5}), by("n", {}), by("n", {25: 0.8, 50: 0.7})),
    findings.rises_with_fraction: (
        FRACTIONS,
        by("fraction", {0.1: 0.4, 0.3: 0.5}),
        by("fraction", {}),
        by("fraction", {0.1: 0.8, 0.3: 0.7}),
    ),
    findings.rises_with_rounds: ([{}], by("n", {}), by("n", {}, 0.3), by("n", {}, 0.2)),
    findings.close_to_noise_free: (
        EPSILONS,
        by("epsilon", {0.5: 0.4}),
        by("epsilon", {2.0: 0.58}),
        by("epsilon", {2.0: 0.5}),
    ),
    findings.adaptive_beats_fixed: (RADII, by_ranges(0.1), by_ranges(0.0), by_ranges(-0.1)),
    findings.advantage_grows_with_depth: (DEPTHS, by_ranges(0.1), by_ranges(0.1, 0.1), by_ranges(0.0, 0.1)),
    findings.no_radius_does_as_well: (
        RADII,
        by_ranges(0.1),
        lambda one: 0.6 if one["ranges"] == "adaptive" or one["radius"] == 0.3 else 0.4,
        lambda one: 0.7 if one["radius"] == 0.3 and one["ranges"] == "fixed" else 0.6,
    ),
}


def test_every_finding_is_tested() -> None:
    """A finding that no test has seen both ways."""
    assert tuple(CASES) == findings.FINDINGS


@together("finding", findings.FINDINGS)
@together(("place", "verdict"), [(1, "seen"), (2, "not seen"), (3, "opposite")])
def test_a_finding_is_seen_not_seen_and_opposite(
    finding: Callable[..., Finding | None], place: int, verdict: str
) -> None:
    """A verdict that is always the same."""
    case = CASES[finding]
    found = finding(results(case[0], case[place]))  # type: ignore[arg-type]
    assert found is not None
    assert found.verdict == verdict
    assert 0 < found.error_rate <= 0.01


@together("finding", findings.FINDINGS)
def test_without_its_runs_a_finding_says_nothing(finding: Callable[..., Finding | None]) -> None:
    """A verdict from runs that are about something else."""
    assert finding({"runs": []}) is None
    baseline = results([{"epsilon": "inf"}], by("epsilon", {}))
    assert finding(baseline) is None


@together(
    ("data", "epsilons", "asked"),
    [
        ("mnist", (5.0, 10.0), ""),
        ("mnist", (0.5, 1.0), ""),
        ("mnist", (0.1, 0.5), ""),
        ("mnist", (0.1, 0.5, 1.0), "from 0.1 to 1"),
        ("mnist", (0.1, 0.5, 1.0, 10.0), "from 0.1 to 1"),
        ("fashion-mnist", (5.0, 10.0), ""),
        ("fashion-mnist", (0.5, 1.0, 4.0, 10.0), "from 1 to 10"),
        ("cifar-10", (1.0, 10.0, "inf"), "from 1 to 10"),
        ("digits", (0.5, 5.0), "from 0.5 to 5"),
    ],
)
def test_a_rise_with_epsilon_is_judged_over_the_figures_range(data: str, epsilons: tuple[Any, ...], asked: str) -> None:
    """Catches Table 1's epsilons, 5 and 10, taken for Fig. 5 (a), which ends at 1; and levels beyond the figure's."""
    document = results([{"epsilon": one} for one in epsilons], by("epsilon", {"inf": 0.9, 10.0: 0.5}))
    found = findings.rises_with_epsilon({**document, "data": {"name": data}})
    assert (found is None) == (not asked)
    if found is not None:
        assert found.says == f"Accuracy rises with epsilon, {asked}."
        assert (found.verdict == "opposite") == (asked == "from 1 to 10")


def test_keys_are_unique() -> None:
    """Two findings that overwrite each other in a report."""
    keys = [finding(results(case[0], case[1])).key for finding, case in CASES.items()]  # type: ignore[union-attr]
    assert len(set(keys)) == len(keys)


def test_runs_that_differ_in_something_else_are_not_compared() -> None:
    """n = 25 with one epsilon against n = 50 with another."""
    mixed = results([{"n": 25, "epsilon": 0.5}, {"n": 50, "epsilon": 2.0}], by("n", {25: 0.3, 50: 0.8}))
    assert findings.rises_with_clients(mixed) is None


def test_runs_without_noise_show_no_price_of_noise() -> None:
    """Clipping alone at several epsilons, which do nothing there, called a rise with epsilon, or close to no noise."""
    clipped = results([{**one, "perturb": False} for one in EPSILONS], by("epsilon", {0.5: 0.4, 1.0: 0.5}))
    assert findings.rises_with_epsilon(clipped) is None
    assert findings.close_to_noise_free(clipped) is None


def test_rounds_are_looked_at_where_ranges_are_adaptive_alone() -> None:
    """A finding of no runs at all, with NaN in its numbers, since the largest epsilon has fixed ranges only."""
    fixed = {"ranges": "fixed", "epsilon": 5.0}
    assert findings.rises_with_rounds(results([fixed], by("n", {}))) is None
    both = findings.rises_with_rounds(results([fixed, {"epsilon": 2.0}], by("n", {})))
    assert both is not None
    assert both.verdict == "seen"
    assert "epsilon = 2" in both.says
