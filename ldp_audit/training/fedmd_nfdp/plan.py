"""FedMD-NFDP as a pipeline: the plan that starts its runs, its presets, and tests of the paper's findings on a sweep.

The demonstration has the runs for all findings. Runs are compared that differ in one setting, at the most frequent
values of the others. Margins were fixed before the runs: five points of accuracy, about what the paper calls comparable
(Table 2: 5.3 points between FedMD-NFDP with k = 60 and FedMD-NP on CIFAR-10).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ldp_audit.training.datasets import Images, Table
from ldp_audit.training.fedmd_nfdp.settings import FedMdSettings, network_names
from ldp_audit.training.findings import (
    Finding,
    Question,
    Verdict,
    accuracies,
    all_of,
    greater,
    measured,
    paired,
    rising,
    within,
)
from ldp_audit.training.results import beside
from ldp_audit.training.sweep import read_presets

if TYPE_CHECKING:
    import torch
    from torch import nn

    from ldp_audit.training.fedmd_nfdp.run import FedMdRun

ERROR_RATE = 0.05
MARGIN = 0.05

Results = Mapping[str, Any]


def _more_accurate(key: str, says: str, one: str, other: str, place: str, note: str = "") -> Question:
    """The finding that one method is more accurate than another."""

    def found(results: Results) -> Finding | None:
        differences = paired(_runs_at(results, method=one), _runs_at(results, method=other))
        return _finding(key, says, *greater(differences, ERROR_RATE), place, note) if differences else None

    return found


def replacement_makes_no_difference(results: Results) -> Finding | None:
    """Two one-sided tests between the two samplings."""
    differences = paired(_runs_at(results, method="nfdp-with"), _runs_at(results, method="nfdp-without"))
    if not differences:
        return None
    return _finding(
        "replacement",
        "sampling with and without replacement gives the same accuracy, within five points",
        *within(differences, MARGIN, ERROR_RATE),
        "Section 5.2, comparison of the samplings",
        "The paper's differences are 0.07 and 0.45 points.",
    )


beats_noise = _more_accurate(
    "beats-ldp",
    "NFDP is more accurate than FedMD-LDP at the budget that the paper states for NFDP",
    "nfdp-with",
    "ldp",
    "Section 5.2, comparison with baselines",
    "FedMD-LDP's parties train on all their records and only what they send is noisy: their own models stay good.",
)


def noise_leaves_a_random_guess(results: Results) -> Finding | None:
    """The share of noisy reports whose largest score is the true one's, against chance."""
    found = _runs_at(results, lambda run: run["rounds"][-1]["noise"]["agreement"], method="ldp")
    chance = _runs_at(results, lambda run: run["rounds"][-1]["noise"]["chance"], method="ldp")
    if not found:
        return None
    return _finding(
        "noise-random",
        "FedMD-LDP's noisy predictions are close to a random guess at that budget, within five points",
        *within(paired(found, chance), MARGIN, ERROR_RATE),
        "Section 5.2, evaluation of FedMD-LDP",
    )


noise_ends_collaboration = _more_accurate(
    "ldp-useless",
    "FedMD-LDP does worse at that budget than its parties do alone on all their records",
    "alone-np",
    "ldp",
    "Section 5.2, evaluation of FedMD-LDP (what its random guesses must mean for the parties)",
)


collaboration_helps = _more_accurate(
    "collaboration",
    "NFDP's parties are more accurate together than alone on the same samples",
    "nfdp-with",
    "alone",
    "Section 5.2, number of parties",
)


all_records_beat_a_sample = _more_accurate(
    "np-above",
    "without sampling (FedMD-NP) accuracy is higher than with the sweep's k",
    "np",
    "nfdp-with",
    "Table 2",
)


pooling_is_an_upper_bound = _more_accurate(
    "centralised",
    "pooled records give more accuracy than FedMD-NP",
    "centralised",
    "np",
    "Table 2",
)


def grows_with_k(results: Results) -> Finding | None:
    """Accuracy over all sample sizes of the sweep."""
    sizes, runs = _levels(results, "k", "nfdp-with")
    if len(sizes) < 2:
        return None
    return _finding("k", "accuracy rises with the sample size k", *rising(sizes, runs, ERROR_RATE), "Table 2")


def large_samples_come_near_all_records(results: Results) -> Finding | None:
    """NFDP at the largest k of the sweep against FedMD-NP."""
    sizes, runs = _levels(results, "k", "nfdp-with")
    everything = _runs_at(results, method="np")
    if not sizes or not paired(runs[-1], everything):
        return None
    verdict, numbers = within(paired(runs[-1], everything), MARGIN, ERROR_RATE)
    return _finding(
        "near-np",
        "with a large sample NFDP is within five points of FedMD-NP",
        verdict,
        {"k": sizes[-1], **numbers},
        "Table 2",
        "The paper's largest k is n, where it finds NFDP 0.5 points better.",
    )


def scores_differ_little(results: Results) -> Finding | None:
    """Equivalence of all pairs of scores.

    "seen" if all pairs are within the margin, each at the error rate; "opposite" if one is outside, at a third of it.
    """
    found = {kind: _runs_at(results, scores=kind, method="nfdp-with") for kind in ("logits", "softmax", "argmax")}
    pairs = {f"{one} - {other}": paired(found[one], found[other]) for one, other in itertools.combinations(found, 2)}
    if not all(pairs.values()):
        return None
    tested = {pair: within(differences, MARGIN, ERROR_RATE) for pair, differences in pairs.items()}
    far = any(within(differences, MARGIN, ERROR_RATE / len(pairs))[0] == "opposite" for differences in pairs.values())
    verdict = all_of([one for one, _ in tested.values()], opposite=far)
    numbers = {pair: numbers for pair, (_, numbers) in tested.items()}
    says = "logits, softmax and argmax give the same accuracy, within five points"
    return _finding("scores", says, verdict, numbers, "Table 3")


def argmax_is_slightly_better(results: Results) -> Finding | None:
    """Argmax against the mean of logits and softmax."""
    runs = [_runs_at(results, scores=kind, method="nfdp-with") for kind in ("logits", "softmax", "argmax")]
    seeds = set.intersection(*(set(one) for one in runs))
    others = {seed: (runs[0][seed] + runs[1][seed]) / 2 for seed in seeds}
    differences = paired(runs[2], others)
    if not differences:
        return None
    says = "argmax is more accurate than logits and softmax in the mean"
    return _finding("argmax", says, *greater(differences, ERROR_RATE), "Table 3", "By 0.3 to 0.9 points in the paper.")


def grows_with_the_parties(results: Results) -> Finding | None:
    """Accuracy over the number of parties that divide the records, at the same k."""
    counts, runs = _levels(results, "parties", "nfdp-with")
    if len(counts) < 2:
        return None
    says = "accuracy rises with the number of parties at the same k"
    return _finding("parties", says, *rising(counts, runs, ERROR_RATE), "Figure 2(d), Table 3")


def other_data_are_harder(results: Results) -> Finding | None:
    """IID against the sweep's other split."""
    others = sorted({run["settings"]["split"] for run in results["runs"]} - {"iid"})
    tested = [(split, paired(_runs_at(results, split="iid"), _runs_at(results, split=split))) for split in others]
    tested = [(split, differences) for split, differences in tested if differences]
    if not tested:
        return None
    split, differences = tested[0]
    verdict, numbers = greater(differences, ERROR_RATE)
    says = "parties whose data differ are less accurate than IID ones"
    return _finding("not-iid", says, verdict, {"split": split, **numbers}, "Table 4")


FINDINGS: tuple[Question, ...] = (
    replacement_makes_no_difference,
    beats_noise,
    noise_leaves_a_random_guess,
    noise_ends_collaboration,
    collaboration_helps,
    all_records_beat_a_sample,
    pooling_is_an_upper_bound,
    grows_with_k,
    large_samples_come_near_all_records,
    scores_differ_little,
    argmax_is_slightly_better,
    grows_with_the_parties,
    other_data_are_harder,
)


def _finding(key: str, says: str, verdict: Verdict, numbers: Mapping[str, Any], place: str, note: str = "") -> Finding:
    return Finding(key, says, verdict, numbers, ERROR_RATE, place, note)


def _runs_at(results: Results, what: Any = None, **changed: Any) -> dict[int, float]:
    """The runs with the sweep's usual settings except these, by seed: the last accuracy, or `what` of a run."""
    settings = {**_usual(results), **changed}
    return accuracies(results, **settings) if what is None else measured(results, what, **settings)


def _usual(results: Results) -> dict[str, Any]:
    """The most frequent value of each setting, the first of several."""
    names = results["runs"][0]["settings"] if results["runs"] else ()
    return {name: Counter(run["settings"][name] for run in results["runs"]).most_common(1)[0][0] for name in names}


def _levels(results: Results, name: str, method: str) -> tuple[list[int], list[dict[int, float]]]:
    """The setting's values for which there are runs, ascending, and their runs."""
    values = sorted({run["settings"][name] for run in results["runs"]})
    found = [(value, _runs_at(results, method=method, **{name: value})) for value in values]
    kept = [(value, runs) for value, runs in found if runs]
    return [value for value, _ in kept], [runs for _, runs in kept]


PRESETS = read_presets("fedmd-nfdp")
DEMONSTRATION = PRESETS.demonstration
presets = PRESETS.presets
beside_the_paper = beside(PRESETS)


@dataclass(frozen=True)
class FedMd(FedMdSettings):
    """A run of FedMD-NFDP or of a baseline; its fields are those of `FedMdSettings`."""

    embedded: ClassVar[str] = "digits"

    def why_not_extended(self) -> str | None:
        """See `pipeline.Extendable`."""
        return "the noise of method ldp is made for the budget of all rounds" if self.method == "ldp" else None

    def trained_networks(self, data: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, nn.Module]:
        """See `pipeline.Deployable`: a network's outputs are the scores of all classes, public ones first."""
        import torch

        from ldp_audit.training.fedmd_nfdp.networks import network

        found = {}
        for number, (name, weights) in enumerate(zip(network_names(self), state["weights"], strict=True)):
            found[f"party-{number}"] = model = network(name, data["shape"], data["classes"], torch.Generator())
            model.load_state_dict(weights)
        return found

    def start(self, data: Images | Table, *, seed: int, device: torch.device) -> FedMdRun:
        """A run before its first round. Raises ValueError if the data do not fit the plan."""
        from ldp_audit.training.fedmd_nfdp.run import FedMdRun  # imports torch, which a plan does without

        if not isinstance(data, Images):
            raise ValueError(f"data must be images for fedmd-nfdp, got {data.name!r}, a table")
        return FedMdRun(self, data, seed=seed, device=device)
