"""Statistical tests of a paper's qualitative findings on the results of a sweep: seen, not seen, the opposite,
not tested (a single run tests nothing), or not compared (a side of the comparison learnt nothing).

The module of a plan lists functions `(results) -> Finding | None` as FINDINGS; None if the results lack the runs.
`results` is the document that `ldp-audit train` writes (`results.py`).

The tests are t tests of differences between runs with the same seed. For normal differences, "seen" and "opposite" are
false with probability at most `error_rate`; every other outcome is "not seen".
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ldp_audit.training.results import interval

Verdict = Literal["seen", "not seen", "opposite", "not tested", "not compared"]


@dataclass(frozen=True)
class Finding:
    """A paper's finding, and whether the runs show it.

    key: short, unique in its pipeline.   says: the finding, in words.   place: where the paper states it.
    numbers: what was compared, JSON-ready.   error_rate: probability of a false "seen" or a false "opposite".
    note: limitations that a reader should know, such as smaller data than the paper's.
    """

    key: str
    says: str
    verdict: Verdict
    numbers: Mapping[str, Any]
    error_rate: float
    place: str = ""
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {**asdict(self), "numbers": dict(self.numbers)}


Question = Callable[[Mapping[str, Any]], Finding | None]
"""A function of a pipeline's FINDINGS."""


def accuracies(results: Mapping[str, Any], **settings: Any) -> dict[int, float]:
    """Last-round accuracy of the runs with these settings, by seed; empty if there are none.

    Raises ValueError if two runs with one seed have these settings: the settings do not determine one point.
    """
    return measured(results, lambda run: run["rounds"][-1]["accuracy"], **settings)


def measured(
    results: Mapping[str, Any], what: Callable[[Mapping[str, Any]], float], **settings: Any
) -> dict[int, float]:
    """Any number of the runs with these settings, by seed; as `accuracies`."""
    found: dict[int, float] = {}
    wanted = {name: str(value) if value == math.inf else value for name, value in settings.items()}  # as JSON has it
    for run in results["runs"]:
        if any(run["settings"].get(name) != value for name, value in wanted.items()):
            continue
        if run["seed"] in found:
            raise ValueError(f"settings must name one point of the sweep, got {settings!r}")
        found[run["seed"]] = what(run)
    return found


def paired(one: Mapping[int, float], other: Mapping[int, float]) -> list[float]:
    """The differences one[seed] - other[seed] over the seeds that both have."""
    return [one[seed] - other[seed] for seed in sorted(one.keys() & other.keys())]


def greater(differences: Sequence[float], error_rate: float) -> tuple[Verdict, dict[str, Any]]:
    """One-sided t test that the mean difference is positive: the verdict, and the mean with its one-sided bounds.

    Fewer than two differences are "not tested".
    """
    low, mean, high = interval(differences, error_rate)
    verdict: Verdict = "seen" if low > 0 else "opposite" if high < 0 else _unseen(differences)
    return verdict, _numbers(low, mean, high, len(differences))


def within(differences: Sequence[float], margin: float, error_rate: float) -> tuple[Verdict, dict[str, Any]]:
    """Equivalence test of the mean difference: "seen" if two one-sided tests place it within +- margin.

    margin: > 0, in the differences' unit, fixed before the runs.
    "Opposite" if the mean is outside the margin at half the error rate on either side, as both sides can err.
    """
    if not margin > 0:
        raise ValueError(f"margin must be > 0, got {margin!r}")
    low, mean, high = interval(differences, error_rate)
    least, _, most = interval(differences, error_rate / 2)
    inside, outside = -margin < low <= high < margin, least > margin or most < -margin
    verdict: Verdict = "seen" if inside else "opposite" if outside else _unseen(differences)
    return verdict, {**_numbers(low, mean, high, len(differences)), "margin": margin}


def rising(
    levels: Sequence[float], runs: Sequence[Mapping[int, float]], error_rate: float
) -> tuple[Verdict, dict[str, Any]]:
    """t test that a number increases with a setting: regression slopes over the ranks of the levels, one slope per
    seed.

    levels: of the setting, two or more, ascending.   runs: by seed, at each level.
    """
    if len(levels) != len(runs) or len(levels) < 2 or any(b <= a for a, b in itertools.pairwise(levels)):
        raise ValueError(f"levels must be two or more, ascending, one a set of runs, got {list(levels)!r}")
    seeds = sorted(set.intersection(*(set(one) for one in runs)))
    middle = (len(levels) - 1) / 2
    scale = sum((rank - middle) ** 2 for rank in range(len(levels)))
    slopes = [sum((rank - middle) * one[seed] for rank, one in enumerate(runs)) / scale for seed in seeds]
    verdict, numbers = greater(slopes, error_rate)
    pairs = zip(levels, runs, strict=True)
    means = {str(level): statistics.fmean(one[seed] for seed in seeds) for level, one in pairs if seeds}
    return verdict, {"slope per level": numbers, "means": means}


def _unseen(differences: Sequence[float]) -> Verdict:
    return "not seen" if len(differences) > 1 else "not tested"


def all_of(verdicts: Sequence[Verdict], *, opposite: bool) -> Verdict:
    """The verdict on a finding that is seen where all of its parts are that can be compared.

    opposite: whether a part is, at an error rate that is divided by their number.
    """
    compared = set(verdicts) - {"not compared"}
    if opposite:
        return "opposite"
    if "not tested" in compared:
        return "not tested"
    return "not compared" if not compared else "seen" if compared == {"seen"} else "not seen"


def _numbers(low: float, mean: float, high: float, count: int) -> dict[str, Any]:
    ends = [low, mean, high]
    low_, mean_, high_ = (end if math.isfinite(end) else None for end in ends)
    return {"mean": mean_, "low": low_, "high": high_, "pairs": count}
