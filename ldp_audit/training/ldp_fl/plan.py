"""LDP-FL as a pipeline: the plan that starts its runs, its presets, and tests of the paper's findings on a sweep.

Runs are paired by seed: they have the same clients and the same initial weights. A finding about one setting compares
runs that differ in that setting only; of several such sets in a sweep, the one with most levels is used. Differences
are tested by one-sided t tests at ERROR_RATE each, unless a finding with several comparisons states otherwise.

Source: Sun, Qian, Chen, LDP-FL (IJCAI 2021), Section 5.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ldp_audit.training.datasets import Images, Table
from ldp_audit.training.findings import Finding, Question, Verdict, all_of, greater, paired, rising, within
from ldp_audit.training.ldp_fl.settings import LdpFlSettings
from ldp_audit.training.results import beside
from ldp_audit.training.sweep import read_presets

if TYPE_CHECKING:
    import torch
    from torch import nn

    from ldp_audit.training.ldp_fl.run import LdpFlRun

ERROR_RATE = 0.01
"""Probability of a false "seen", and of a false "opposite"."""

CLOSE = 0.02
"""Two points of accuracy count as close; the paper calls 0.97 % (MNIST), 1.32 % and 1.09 % small losses."""

Results = Mapping[str, Any]
Accuracies = dict[int, float]
"""Accuracy after the last round, by seed."""

_RANGE = ("ranges", "center", "radius", "rule", "spread", "least", "most")
_NO_NOISE = "inf"


def _rises(field: str, says: str, place: str) -> Question:
    """The finding that accuracy increases with this setting."""

    def found(results: Results) -> Finding | None:
        group = _largest(results, field)
        levels = [] if group is None else sorted(level for level in group if level != _NO_NOISE)
        if group is None or len(levels) < 2:
            return None
        verdict, numbers = rising(levels, [group[level] for level in levels], ERROR_RATE)
        return Finding(f"rises-with-{field}", says, verdict, numbers, ERROR_RATE, place)

    return found


_FIGURE_5 = {"mnist": (0.1, 1.0), "fmnist": (1.0, 10.0), "fashion-mnist": (1.0, 10.0), "cifar-10": (1.0, 10.0)}
"""Smallest and largest epsilon of Fig. 5 (a) to (c), by data set (Section 5.3)."""


def rises_with_epsilon(results: Results) -> Finding | None:
    """Fig. 5 (a) to (c): over the figure's range; over all that was run for data that the figure does not have.

    None if the runs do not reach both ends of the figure's range: a curve is flat where it has risen already.
    """
    name = results.get("data", {}).get("name")
    least, most = _FIGURE_5.get(name, (0.0, math.inf))
    group = _largest(results, "epsilon") or {}
    levels = sorted(level for level in group if level != _NO_NOISE and least <= level <= most)
    if len(levels) < 2 or (name in _FIGURE_5 and (levels[0], levels[-1]) != (least, most)):
        return None
    verdict, numbers = rising(levels, [group[level] for level in levels], ERROR_RATE)
    says = f"Accuracy rises with epsilon, from {levels[0]:g} to {levels[-1]:g}."
    return Finding("rises-with-epsilon", says, verdict, numbers, ERROR_RATE, "Fig. 5 (a) to (c)")


rises_with_clients = _rises("n", "Accuracy rises with the number of clients.", "Fig. 3")
rises_with_fraction = _rises("fraction", "Accuracy rises with the fraction of clients in a round.", "Fig. 4")


def rises_with_rounds(results: Results) -> Finding | None:
    """Fig. 4: the last round of each run against the first that was evaluated."""
    private = (run for run in results["runs"] if _private(run) and _evaluations(run) > 1)
    runs = [run for run in private if run["settings"]["ranges"] == "adaptive"]
    if not runs:
        return None
    best = max(run["settings"]["epsilon"] for run in runs)
    gains: dict[int, list[float]] = {}
    for run in runs:
        if run["settings"]["epsilon"] == best:
            known = [record["accuracy"] for record in run["rounds"] if "accuracy" in record]
            gains.setdefault(run["seed"], []).append(known[-1] - known[0])
    verdict, numbers = greater([statistics.fmean(gain) for gain in gains.values()], ERROR_RATE)
    says = f"More rounds train a better model (last against first round, epsilon = {best:g})."
    return Finding("rises-with-rounds", says, verdict, numbers, ERROR_RATE, "Fig. 4")


def close_to_noise_free(results: Results) -> Finding | None:
    """Fig. 5: at each epsilon, whether the loss against federated averaging without noise is within CLOSE.

    The verdict is that of the largest epsilon; the numbers have all of them.
    """
    group = _largest(results, "epsilon", needed=(_NO_NOISE,))
    levels = [] if group is None else sorted(level for level in group if level != _NO_NOISE)
    if group is None or not levels:
        return None
    found = {level: within(paired(group[_NO_NOISE], group[level]), CLOSE, ERROR_RATE) for level in levels}
    numbers = {f"loss at epsilon = {level:g}": {"verdict": one, **shown} for level, (one, shown) in found.items()}
    says = f"At epsilon = {levels[-1]:g} the loss against training without noise is at most {CLOSE:g}."
    note = "Federated averaging without noise does not clip."
    return Finding("close-to-noise-free", says, found[levels[-1]][0], numbers, ERROR_RATE, "Fig. 5, 5.2", note)


def adaptive_beats_fixed(results: Results) -> Finding | None:
    """Table 1: the network with most layers, against the widest fixed range."""
    compared = _compared(results)
    if not compared:
        return None
    deepest = max(compared, key=lambda one: one.layers)
    radius, verdict, numbers = _against_widest(deepest)
    says = f"For the deeper network ({deepest.words}) adaptive ranges beat the fixed range of radius {radius:g}."
    return Finding("adaptive-beats-fixed", says, verdict, numbers, ERROR_RATE, "Table 1, Section 5.4")


def advantage_grows_with_depth(results: Results) -> Finding | None:
    """Table 1: the gain of adaptive ranges for the deepest network, less that for the shallowest."""
    compared = _compared(results)
    if len({one.layers for one in compared}) < 2:
        return None
    deep, shallow = max(compared, key=lambda one: one.layers), min(compared, key=lambda one: one.layers)
    verdict, numbers = greater(paired(_gains_by_seed(deep), _gains_by_seed(shallow)), ERROR_RATE)
    shown = {one.words: statistics.fmean(_gains(one)) for one in (deep, shallow)}
    return Finding(
        "advantage-grows-with-depth",
        "Adaptive ranges gain more on the deeper network than on the shallow one, over the widest fixed range.",
        verdict,
        {"difference": numbers, "gains": shown},
        ERROR_RATE,
        "Table 1, Section 5.4",
    )


def no_radius_does_as_well(results: Results) -> Finding | None:
    """Fig. 5 (d): adaptive ranges against every fixed radius, for the deepest network.

    "seen" if they are better than each at ERROR_RATE (an intersection of tests, so no correction); "opposite" if some
    radius is better at ERROR_RATE over the number of radii.
    """
    compared = [one for one in _compared(results) if len(one.fixed) > 1]
    if not compared:
        return None
    group = max(compared, key=lambda one: one.layers)
    tests = {radius: greater(paired(group.adaptive, runs), ERROR_RATE) for radius, runs in group.fixed.items()}
    worse = [greater(paired(runs, group.adaptive), ERROR_RATE / len(tests))[0] for runs in group.fixed.values()]
    verdict = all_of([one for one, _ in tests.values()], opposite="seen" in worse)
    numbers = {f"adaptive less radius {radius:g}": shown for radius, (_, shown) in tests.items()}
    says = f"No fixed radius does as well as adaptive ranges for the deeper network ({group.words})."
    return Finding("no-radius-does-as-well", says, verdict, numbers, ERROR_RATE, "Fig. 5 (d)")


FINDINGS: tuple[Question, ...] = (
    rises_with_epsilon,
    rises_with_clients,
    rises_with_fraction,
    rises_with_rounds,
    close_to_noise_free,
    adaptive_beats_fixed,
    advantage_grows_with_depth,
    no_radius_does_as_well,
)


class _Compared(NamedTuple):
    """Runs that differ in their ranges only.   fixed: by radius."""

    words: str
    layers: int
    adaptive: Accuracies
    fixed: dict[float, Accuracies]


def _largest(results: Results, field: str, needed: tuple[Any, ...] = ()) -> dict[Any, Accuracies] | None:
    """The largest set of runs that differ in this field only: accuracies by the field's value."""
    groups: dict[tuple[Any, ...], dict[Any, Accuracies]] = {}
    for run in results["runs"]:
        if not (_of_paper(run) and run["settings"]["perturb"]) or (field != "epsilon" and not _private(run)):
            continue
        value = run["settings"][field]
        groups.setdefault(_other_settings(run, (field,)), {}).setdefault(value, {})[run["seed"]] = _accuracy(run)
    fitting = [group for group in groups.values() if all(value in group for value in needed)]
    return max(fitting, key=len, default=None)


def _compared(results: Results) -> list[_Compared]:
    """Every set of private runs with both adaptive and fixed ranges."""
    return [one for one in _by_ranges(results) if one.adaptive and one.fixed and paired(*_adaptive_and_widest(one))]


def _by_ranges(results: Results) -> Iterator[_Compared]:
    runs = sorted((run for run in results["runs"] if _private(run)), key=lambda run: repr(_other_settings(run, _RANGE)))
    for _, members in itertools.groupby(runs, key=lambda run: _other_settings(run, _RANGE)):
        adaptive: Accuracies = {}
        fixed: dict[float, Accuracies] = {}
        layers, words = 0, ""
        for run in members:
            settings = run["settings"]
            place = adaptive if settings["ranges"] == "adaptive" else fixed.setdefault(settings["radius"], {})
            place[run["seed"]] = _accuracy(run)
            layers = len(run["rounds"][-1]["layers"])
            words = f"{settings['model']}, {layers} tensors, epsilon = {settings['epsilon']:g}"
        yield _Compared(words, layers, adaptive, fixed)


def _against_widest(group: _Compared) -> tuple[float, Verdict, dict[str, Any]]:
    verdict, numbers = greater(_gains(group), ERROR_RATE)
    means = {
        "adaptive": statistics.fmean(group.adaptive.values()),
        "fixed": statistics.fmean(group.fixed[max(group.fixed)].values()),
    }
    return max(group.fixed), verdict, {"adaptive less fixed": numbers, "means": means}


def _gains(group: _Compared) -> list[float]:
    """Adaptive less the widest fixed range, over the seeds."""
    return paired(*_adaptive_and_widest(group))


def _gains_by_seed(group: _Compared) -> Accuracies:
    adaptive, widest = _adaptive_and_widest(group)
    return {seed: adaptive[seed] - widest[seed] for seed in adaptive.keys() & widest.keys()}


def _adaptive_and_widest(group: _Compared) -> tuple[Accuracies, Accuracies]:
    return group.adaptive, group.fixed[max(group.fixed)]


def _other_settings(run: Mapping[str, Any], left_out: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(sorted((name, value) for name, value in run["settings"].items() if name not in left_out))


def _accuracy(run: Mapping[str, Any]) -> float:
    return run["rounds"][-1]["accuracy"]


def _evaluations(run: Mapping[str, Any]) -> int:
    return sum("accuracy" in record for record in run["rounds"])


def _private(run: Mapping[str, Any]) -> bool:
    return _of_paper(run) and run["settings"]["epsilon"] != _NO_NOISE and run["settings"]["perturb"]


def _of_paper(run: Mapping[str, Any]) -> bool:
    """Whether the run is one of the paper's: its mechanism at the clients, and ranges that the server sets."""
    settings = run["settings"]
    return (settings["privacy"], settings["mechanism"]) == ("local", "TwoPoint") and settings["ranges"] != "own"


PRESETS = read_presets("ldp-fl")
DEMONSTRATION = PRESETS.demonstration
presets = PRESETS.presets
beside_the_paper = beside(PRESETS)


@dataclass(frozen=True)
class LdpFl(LdpFlSettings):
    """A run of LDP-FL or of federated averaging; its fields are those of `LdpFlSettings`."""

    embedded: ClassVar[str] = "digits"

    def why_not_extended(self) -> str | None:
        """See `pipeline.Extendable`: a round knows its number only, but for a central run's noise."""
        if self.privacy == "central" and self.private:
            return "privacy is central: the noise of every round is made for all rounds together"
        return None

    def trained_networks(self, data: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, nn.Module]:
        """See `pipeline.Deployable`."""
        from ldp_audit.training.ldp_fl.run import network

        model = network(self, data["shape"], data["classes"])
        model.load_state_dict(state["weights"])
        return {"model": model}

    def start(self, data: Images | Table, *, seed: int, device: torch.device) -> LdpFlRun:
        """A run before its first round. Raises ValueError if the data do not fit the plan."""
        from ldp_audit.training.ldp_fl.run import LdpFlRun  # imports torch, which a plan does without

        if not isinstance(data, Images) or not len(data.test_x):
            raise ValueError(f"data must be images with a test half for ldp-fl, got {data.name!r}")
        return LdpFlRun(self, data, seed=seed, device=device)
