"""FedMD's canaries: a record that a party memorises, and scores as far apart as any record can move them.

NFDP: in world 0 the party's records include an inverted public image, in world 1 that record is missing. Its label is
the class that the party scores lowest on it in a few trainings without it. Each repetition samples the party's records
anew, by the run's own code, trains its pre-trained network on them, and returns the score of this label on this image,
which the attacker put among the public ones and the server therefore receives. The guarantee is a delta, the
probability that the record is sampled, at every epsilon; the bound is at epsilon 0.

FedMD-LDP: in the two worlds every score vector of the party is a different one-hot vector (logits: opposite points of
the norm ball). Only the noise is repeated, by the run's own code, over all queries of all rounds; the statistic is the
exact log-likelihood ratio.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from ldp_audit.accounting.protocols.protocol import Protocol
from ldp_audit.mechanisms import SubsampleRelease
from ldp_audit.training.canary import Canary, Promise
from ldp_audit.training.fedmd_nfdp import distillation, spending
from ldp_audit.training.fedmd_nfdp.networks import sampled
from ldp_audit.training.fedmd_nfdp.settings import FedMdSettings
from ldp_audit.training.spend import claim_of

TRAININGS = 400
"""Repetitions in each world."""

_PILOT_TRAININGS = 8

_NOISY_NUMBERS = 2**22
_NOISY_REPETITIONS = 8_000


@dataclass(frozen=True)
class PartyRecords:
    """A party's training in both worlds.

    plan: of the run.   start: its pre-trained network.   x, y: its records, the canary first; labels as the outputs in
        use are numbered.   first: index of the first output in use.   image, label: the audited score: an image, shape
        (1, channels, height, width), and a class.
    """

    plan: FedMdSettings
    start: nn.Module
    x: torch.Tensor
    y: torch.Tensor
    first: int
    image: torch.Tensor
    label: int

    def __call__(self, world: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """draw of a `Canary`: the score after each of n trainings."""
        return np.array([self.scores(world, rng)[self.label] for _ in range(n)])

    def with_canary(self, rng: np.random.Generator) -> PartyRecords:
        """The same party with `image` as its first record, under the label that it scores lowest without it."""
        label = int(np.mean([self.scores(1, rng) for _ in range(_PILOT_TRAININGS)], axis=0).argmin())
        x, y = self.x.clone(), self.y.clone()
        x[0], y[0] = self.image[0], label
        return replace(self, x=x, y=y, label=label)

    def scores(self, world: int, rng: np.random.Generator) -> np.ndarray:
        """The scores of all classes after one training."""
        generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        x, y = self.x[world:], self.y[world:]  # world 1 has all records but the first
        drawn = sampled(len(x), spending.sampling_of(self.plan, len(x)), generator).to(x.device)
        model = copy.deepcopy(self.start)
        distillation.train(
            model,
            x[drawn],
            y[drawn],
            functional.cross_entropy,
            first=self.first,
            epochs=self.plan.private_epochs,
            batch_size=self.plan.private_batch,
            optimizer=distillation.adam(model, self.plan.learning_rate),
            generator=generator,
        )
        outputs = distillation.outputs_of(model, self.image, self.first)
        return distillation.scores_of(outputs, self.plan.scores)[0].cpu().numpy()


@dataclass(frozen=True)
class NoisyScores:
    """draw of a `Canary`: the log-likelihood ratio of the noisy scores of all queries.

    added: the run's noise.   queries: of all rounds.   pair: two score vectors, shape (2, classes that differ).
    """

    added: spending.Noise
    queries: int
    pair: torch.Tensor

    def __call__(self, world: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """n log-likelihood ratios."""
        generator = torch.Generator(self.pair.device).manual_seed(int(rng.integers(2**62)))
        width = self.queries * self.pair.shape[1]
        rows = max(1, _NOISY_NUMBERS // width)
        found = []
        for first in range(0, n, rows):
            scores = self.pair[world].expand(min(rows, n - first), self.queries, -1)
            found.append(self.ratio(spending.noisy(scores.contiguous(), self.added, generator)))
        return np.concatenate(found)

    def ratio(self, reports: torch.Tensor) -> np.ndarray:
        """ln P(reports | first) - ln P(reports | second), shape (rows, queries, classes) to (rows,)."""
        away = [(reports.double() - one.double()) / self._scale() for one in self.pair]
        if isinstance(self.added, spending.Gaussian):
            ratio = (away[1].square() - away[0].square()) / 2
        else:
            ratio = away[1].abs() - away[0].abs()
        return ratio.sum(dim=(1, 2)).cpu().numpy().round(9)

    def _scale(self) -> float:
        return self.added.sigma if isinstance(self.added, spending.Gaussian) else self.added.scale


def record_canary(release: SubsampleRelease, protocol: Protocol | None, draw: PartyRecords, party: int) -> Canary:
    """The canary of NFDP: whether a party holds a record from which it draws its sample.

    release: that party's sampling.   protocol: of the run.   party: its number.
    """
    exact, claimed = spending.sampling_record(release)["exact"], claim_of(protocol)
    promises = [Promise("exact", f"one draw of {release.k} from {release.n} records", exact["epsilon"], exact["delta"])]
    if claimed is not None and claimed["delta"] < 1:
        promises.append(Promise("paper", claimed["says"], claimed["epsilon"], claimed["delta"]))
    return Canary(
        unit="record",
        observer=f"the server: one score of a public image, that party {party} sends in the first round",
        worlds=("an odd image with an odd label is among the party's records", "it is not, one record less"),
        draw=draw,
        promises=tuple(promises),
        assumes=(
            "The attacker knows the party's other records, its network and its pre-trained weights, chose the canary, "
            "and put its image among the public ones.",
            "The sample, the order of the batches and so the training are drawn anew in each repetition, by the run's "
            "own code; the first round's scores alone are looked at, and of them one number.",
            "Later rounds are post-processing of the same sample: what is promised is the same, and they show no less.",
        ),
        samples=TRAININGS,
        trained=True,
    )


def noise_canary(plan: FedMdSettings, added: spending.Noise, records: int, device: torch.device) -> Canary:
    """The canary of FedMD-LDP: score vectors that differ as much as any can."""
    reach = plan.clip_norm if plan.scores == "logits" else 1.0
    ends = [[reach], [-reach]] if plan.scores == "logits" else [[1.0, 0.0], [0.0, 1.0]]
    queries = plan.rounds * plan.public_per_round
    seen = "the one query" if queries == 1 else f"all {queries} queries"
    epsilon, delta = spending.budget_of(plan, records)
    return Canary(
        unit="record",
        observer=f"the server: a party's noisy scores of {seen}",
        worlds=("all score vectors at one end of what scores can be", "all at the other"),
        draw=NoisyScores(added, queries, torch.tensor(ends, device=device)),
        promises=(Promise("exact", "the budget that the noise was made for", epsilon, delta),),
        assumes=(
            "A record may move every score vector as far as scores can differ; no record that does was looked for.",
            "The noise alone is repeated, by the run's own code; the attacker knows the scores of both worlds.",
        ),
        samples=max(1_000, min(_NOISY_REPETITIONS, 2**26 // queries)),
    )
