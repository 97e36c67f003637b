"""A run of FedMD-NFDP or of one of its baselines.

Before round 1 each network is pre-trained on the public images and each party trains on its private records. In each
round the parties report their scores of freshly drawn public images, the server averages them, and each party trains
towards the average and then on its records. Without communication parties train on their records only, equally often.

Source: Sun, Lyu, FedMD-NFDP (IJCAI 2021), Algorithm 1.
"""

from __future__ import annotations

import copy
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from ldp_audit.accounting.protocols.protocol import Protocol
from ldp_audit.training.canary import Canary
from ldp_audit.training.datasets import Images
from ldp_audit.training.fedmd_nfdp import canaries, distillation, spending
from ldp_audit.training.fedmd_nfdp.canaries import PartyRecords
from ldp_audit.training.fedmd_nfdp.networks import Party, moments_of, network, restore_moments, sampled
from ldp_audit.training.fedmd_nfdp.public_split import Holdings, holdings
from ldp_audit.training.fedmd_nfdp.settings import FedMdSettings, names_of, network_names
from ldp_audit.training.pipeline import Paced
from ldp_audit.training.streams import Streams


class FedMdRun(Paced):
    """One run; see `pipeline.Run`. Round 1's record includes the training before it.

    Records: "accuracy", mean over the parties, and "by_party", on all test images of private classes; "digested", the
    mean between Digest and Revisit; "noise", measured beside exact, and "clipped", for method "ldp".
    Raises ValueError if the data do not fit the plan.
    """

    EVALUATION = ("accuracy", "by_party", "digested")

    def __init__(self, plan: FedMdSettings, data: Images, *, seed: int, device: torch.device) -> None:
        self.rounds, self._trainings = plan.rounds, 0
        self.plan, self.data, self.device, self.streams = plan, data, device, Streams(seed)
        held = holdings(data, plan, self.streams.numpy("parties"))
        self.records = min(len(share) for share in held.private)
        self.private_batch = plan.private_batch * (plan.parties if plan.method == "centralised" else 1)
        self.first = plan.public_classes if plan.outputs == "private" else 0
        self.public_x = self._tensor(data.train_x[held.public])
        self.public_y = self._tensor(data.train_y[held.public])
        if plan.communicates and plan.public_per_round > len(self.public_x):
            raise ValueError(
                f"public_per_round must be at most the {len(self.public_x)} public images of {data.name}, "
                f"got {plan.public_per_round!r}"
            )
        self.test_x, self.test_y = self._tensor(data.test_x[held.test]), self._labels(data.test_y[held.test])
        self.noise = self._noise() if plan.method == "ldp" else None
        self.parties = self._parties(data, held)

    def advance(self, number: int) -> dict[str, Any]:
        """Train round `number`; see `pipeline.Run`."""
        self._trainings = 0
        record = self._before_the_first() if number == 1 else {}
        if self.plan.communicates:
            record |= self._collaborate(number)
        for party in self.parties:
            self._revisit(party, number, self.plan.revisit_epochs)
        return (self.evaluate() if self.evaluates(number) else {}) | record

    def state(self) -> dict[str, Any]:
        """The networks' weights, and the moments of kept optimisers; samples and splits follow from the seed."""
        weights = [
            {name: value.detach().cpu().clone() for name, value in party.model.state_dict().items()}
            for party in self.parties
        ]
        kept = [moments_of(party.optimizer) for party in self.parties if party.optimizer is not None]
        return {"weights": weights, "optimizers": kept} if kept else {"weights": weights}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a state. Raises ValueError for a state of another run."""
        weights = state.get("weights")
        if not isinstance(weights, list) or len(weights) != len(self.parties):
            raise ValueError(f"state must have the weights of {len(self.parties)} networks, got {type(weights)}")
        for party, held in zip(self.parties, weights, strict=True):
            known = {name: tuple(value.shape) for name, value in party.model.state_dict().items()}
            found = {name: tuple(value.shape) for name, value in held.items()}
            if known != found:
                raise ValueError(f"state must have weights of shapes {known} for party {party.number}, got {found}")
            party.model.load_state_dict(held)
        kept = [party.optimizer for party in self.parties if party.optimizer is not None]
        moments = state.get("optimizers", [])
        if len(moments) != len(kept):
            raise ValueError(f"state must have the moments of {len(kept)} optimisers, got {len(moments)}")
        for optimizer, held in zip(kept, moments, strict=True):
            restore_moments(optimizer, held)

    def protocol(self) -> Protocol | None:
        """One sample, or all noisy queries; None if nothing protects the records, or nothing is released."""
        return spending.protocol_of(self.plan, self.records, self.noise)

    def canaries(self) -> Iterator[Canary | str]:
        """See `canary.Audited`."""
        plan, release = self.plan, spending.sampling_of(self.plan, self.records)
        if self.noise is not None:
            yield canaries.noise_canary(plan, self.noise, self.records, self.device)
        elif release is not None and plan.communicates and release.delta(0.0) >= 1:
            yield "every record is trained on (delta is 1), so nothing is promised that could be broken"
        elif release is not None and plan.communicates:
            shares = holdings(self.data, plan, self.streams.numpy("parties")).private
            number = min(range(len(shares)), key=lambda place: len(shares[place]))  # the one that is promised least
            draw = self._attacked_party(number, shares[number])
            yield canaries.record_canary(release, self.protocol(), draw, number)

    def _attacked_party(self, number: int, share: np.ndarray) -> PartyRecords:
        """A party after its pre-training, with an inverted public image as its first record."""
        party = replace(self.parties[number], model=copy.deepcopy(self.parties[number].model), optimizer=None)
        self._pretrain(party)
        records = self._records(self.data, share)
        held = PartyRecords(self.plan, party.model, *records, self.first, 1 - self.public_x[:1], label=0)
        return held.with_canary(self.streams.numpy("canary", number))

    def _noise(self) -> spending.Noise:
        plan = self.plan
        reach = spending.sensitivity(plan.noise, plan.scores, plan.clip_norm)
        budget = spending.budget_of(plan, self.records)
        return spending.calibrated(plan.noise, reach, plan.rounds * plan.public_per_round, *budget)

    def _parties(self, data: Images, held: Holdings) -> list[Party]:
        """The parties with their sampled records; networks of one name have equal initial weights."""
        names = network_names(self.plan)
        if self.plan.method == "centralised":  # on all parties' records
            pool = self._records(data, np.concatenate(held.private))
            return [self._party(number, name, data, pool) for number, name in enumerate(names)]
        found = []
        for number, share in enumerate(held.private):
            release = spending.sampling_of(self.plan, len(share))
            drawn = sampled(len(share), release, self.streams.torch("sample", number))
            found.append(self._party(number, names[number], data, self._records(data, share[drawn.numpy()])))
        return found

    def _party(self, number: int, name: str, data: Images, records: tuple[torch.Tensor, torch.Tensor]) -> Party:
        model = self._network(name, data)
        kept = distillation.adam(model, self.plan.learning_rate) if self.plan.optimizer == "kept" else None
        return Party(number, name, model, *records, kept)

    def _network(self, name: str, data: Images) -> nn.Module:
        place = names_of(self.plan.networks).index(name)
        generator = self.streams.torch("weights", place)
        return network(name, data.shape, data.classes, generator).to(self.device)

    def _records(self, data: Images, places: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        return self._tensor(data.train_x[places]), self._labels(data.train_y[places])

    def _before_the_first(self) -> dict[str, Any]:
        """Pre-training, once for each network, and the first training on private records."""
        plan = self.plan
        trained: dict[str, dict[str, torch.Tensor]] = {}
        for party in self.parties:
            if party.name not in trained:
                self._pretrain(party)
                trained[party.name] = party.model.state_dict()
            party.model.load_state_dict(trained[party.name])
        pretrained = self.evaluate()["accuracy"]
        for party in self.parties:
            self._revisit(party, 0, plan.private_epochs)
        record: dict[str, Any] = {"pretrained": pretrained, "before": self.evaluate()["accuracy"]}
        release = spending.sampling_of(plan, self.records)
        return record if release is None else record | {"sampling": spending.sampling_record(release)}

    def _collaborate(self, number: int) -> dict[str, Any]:
        """Communicate, Aggregate, Digest."""
        plan = self.plan
        order = torch.randperm(len(self.public_x), generator=self.streams.torch("public", number))
        images = self.public_x[order[: plan.public_per_round].to(self.device)]
        outputs = [distillation.outputs_of(party.model, images, self.first) for party in self.parties]
        scores = [distillation.scores_of(one, plan.scores) for one in outputs]
        reports, record = (scores, {}) if self.noise is None else self._with_noise(self.noise, scores, number)
        consensus = distillation.consensus_of(reports)
        if self.noise is not None and plan.scores != "logits":
            consensus = distillation.onto_the_simplex(consensus)
        for party in self.parties:
            loss = distillation.digest_loss(plan.scores)
            self._train(party, images, consensus, loss, "digest", number, plan.digest_epochs)
        return record | ({"digested": self.evaluate()["accuracy"]} if self.evaluates(number) else {})

    def _with_noise(
        self, added: spending.Noise, scores: list[torch.Tensor], number: int
    ) -> tuple[list[torch.Tensor], dict[str, Any]]:
        """The noisy scores, and measures of clipping and noise."""
        record: dict[str, Any] = {}
        if self.plan.scores == "logits":
            pairs = [spending.bounded(one, self.plan.noise, self.plan.clip_norm) for one in scores]
            scores = [one for one, _ in pairs]
            record["clipped"] = statistics.fmean(share for _, share in pairs)
        reports = [
            spending.noisy(one, added, self.streams.torch("noise", number, party.number, device=self.device))
            for party, one in zip(self.parties, scores, strict=True)
        ]
        errors = torch.stack(reports).double() - torch.stack(scores).double()
        record["noise"] = {
            "measured_variance": float(errors.square().mean()),
            "exact_variance": spending.exact_variance(added),
            "numbers": errors.numel(),
            "agreement": statistics.fmean(spending.agreement(*pair) for pair in zip(reports, scores, strict=True)),
            "chance": 1 / scores[0].shape[1],
        }
        return reports, record

    def _pretrain(self, party: Party) -> None:
        epochs = self.plan.pretrain_epochs
        self._train(party, self.public_x, self.public_y, functional.cross_entropy, "pretrain", 0, epochs)

    def _revisit(self, party: Party, number: int, epochs: int) -> None:
        self._train(party, party.x, party.y, functional.cross_entropy, "revisit", number, epochs)

    def _train(
        self,
        party: Party,
        x: torch.Tensor,
        target: torch.Tensor,
        loss: distillation.Loss,
        phase: str,
        number: int,
        epochs: int,
    ) -> None:
        lasting = None if phase == "pretrain" else party.optimizer
        distillation.train(
            party.model,
            x,
            target,
            loss,
            first=0 if phase == "pretrain" else self.first,
            epochs=epochs,
            batch_size=self.private_batch if phase == "revisit" else self.plan.public_batch,
            optimizer=lasting or distillation.adam(party.model, self.plan.learning_rate),
            generator=self.streams.torch(phase, number, party.number),
        )
        self._trainings += 1
        self.within(self._trainings / self._trainings_of(number or 1))

    def _trainings_of(self, number: int) -> int:
        """The number of trainings in a round: Digest and Revisit of each party, and those before the first round."""
        before = len(self.parties) + len({party.name for party in self.parties}) if number == 1 else 0
        return before + len(self.parties) * (1 + self.plan.communicates)

    def evaluate(self) -> dict[str, Any]:
        """The accuracy of each party on the test images of private classes, and their mean."""
        found = [distillation.accuracy_of(one.model, self.test_x, self.test_y, self.first) for one in self.parties]
        return {"accuracy": statistics.fmean(found), "by_party": found}

    def _tensor(self, values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(values).to(self.device)

    def _labels(self, values: np.ndarray) -> torch.Tensor:
        """Labels of private images, numbered as the outputs in use."""
        return self._tensor(values - self.first)
