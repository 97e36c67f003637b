"""A batch of FedSel trainings, one for each fold of each repeat of a cross-validation, round by round.

In a round every model has its own users; all users of all models are computed together, in chunks of bounded memory.
Model b = repeat * folds + fold is trained on the records outside its fold and tested on those inside. All models of a
batch have n = N - ceil(N / folds) users, so that one tensor holds a round of all; if the folds' sizes differ, a model
with one record more leaves out its last one.

Gradients of l2-regularised linear models, one per record, without intercept, as the paper's dimensions imply:

    logistic   ln(1 + e**(-y w.x)) + (lambda/2) |w|**2     gradient  -y x / (1 + e**(y w.x)) + lambda w
    svm        max(0, 1 - y w.x)   + (lambda/2) |w|**2     subgradient  -y x [y w.x < 1]     + lambda w

A user accumulates what it has not reported; a selected coordinate is reset:

    r^t = r^(t-1) + g^t,   then r^t_j <- 0 for the reported j; nothing is reset if PE reported none

A user's r is a function of its record, the models it received and the indices it reported. It is recomputed when
needed, from stored models and indices: users times d numbers are never in memory.

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Algorithm 1, Section 5.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from ldp_audit.accounting.protocols.protocol import Protocol
from ldp_audit.training.canary import Canary
from ldp_audit.training.datasets import Images, Table
from ldp_audit.training.fedsel import canaries
from ldp_audit.training.fedsel.measures import RoundSums, as_layer, bias, share, variance
from ldp_audit.training.fedsel.senders import protocol, sender, top_size
from ldp_audit.training.fedsel.settings import FedSelSettings
from ldp_audit.training.fedsel.solution import solution, split_of
from ldp_audit.training.pipeline import Paced
from ldp_audit.training.spend import spend_of
from ldp_audit.training.streams import Streams

CHUNK = 2**20
"""Numbers in one tensor of a chunk (users times weights); about thirty such tensors are in memory at once."""


class FedSelRun(Paced):
    """See `ldp_audit.training.pipeline.Run`.

    models: (repeat, fold) of each model; None for all of the plan's. Without noise a model is the same in any batch.
    """

    EVALUATION = ("accuracy", "accuracies")

    def __init__(
        self,
        plan: FedSelSettings,
        data: Images | Table,
        *,
        seed: int,
        device: torch.device,
        models: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        if not isinstance(data, Table):
            raise ValueError(f"data must be a table for FedSel, got the images {data.name!r}")
        self.plan, self.device, self.streams, self.data = plan, device, Streams(seed), data
        self.models = list(models) if models is not None else all_models(plan.repeats, plan.folds)
        rows = _rows(plan, len(data.x), self.streams)
        self.x = torch.tensor(data.x[rows], dtype=torch.float32, device=device)
        self.y = torch.tensor(data.y[rows], dtype=torch.float32, device=device)
        self.folds = split(len(rows), plan.folds, self.models, self.streams)
        self.records_of = torch.as_tensor(self.folds.train, device=device)
        self.tests = torch.as_tensor(self.folds.tests(len(rows)), device=device)
        self.users, self.d = self.folds.train.shape[1], self.x.shape[1]
        self.k = top_size(plan, self.d)
        self.per_epoch = rounds_per_epoch(self.users, plan.share)
        self.edges = round_edges(self.users, self.per_epoch)
        self.rounds = _rounds(plan, self.per_epoch)
        self.solution = solution(plan.solution)
        self.split = split_of(plan.epsilon, plan.mu, plan.threshold, max(1, self.users // self.per_epoch))
        self.senders = [sender(plan, self.split, self.d, model, self.streams) for model in self._senders_models()]
        self.done = 0
        self.weights = torch.zeros(len(self.models), self.d, device=device)
        self.past_weights: list[torch.Tensor] = []
        self.reported = torch.full(
            (plan.epochs - 1, len(self.models), self.users), -1, dtype=torch.int32, device=device
        )
        self._orders: dict[int, torch.Tensor] = {}
        self._places: dict[int, torch.Tensor] = {}

    def advance(self, number: int) -> dict[str, Any]:
        """See `Run`: all models' users of this round report, and the weights are updated. ValueError out of order."""
        if number != self.done + 1 or number > self.rounds:
            raise ValueError(f"number must be the next round, {self.done + 1} of {self.rounds}, got {number!r}")
        epoch, place = divmod(number - 1, self.per_epoch)
        places = slice(int(self.edges[place]), int(self.edges[place + 1]))
        generator = self.streams.torch("reports", number, device=self.device)
        sums = RoundSums(len(self.models), self.senders[0].width(self.d), self.d, self.device)
        for models, part in self._chunks(places):
            self._report(epoch, models, self.order_of(epoch)[models, part], sums, generator)
        count = places.stop - places.start
        mean = self._recovered(sums.reports / count)
        record = self._measured(sums, count, mean)
        if self._keeps_history() and epoch < self.plan.epochs - 1:
            self.past_weights.append(self.weights)
        step = 1.0 if self.solution.original else self.plan.learning_rate
        self.weights = self.weights - (step * mean).to(self.weights.dtype)
        self.done = number
        return {**self._accuracy(number), "epoch": epoch + 1, "users": count, **record}

    def evaluate(self) -> dict[str, Any]:
        """The accuracy of every model on its test fold, and their mean."""
        found = shares_right(self.x, self.y, self.weights, self.tests)
        return {"accuracy": float(np.mean(found)), "accuracies": found}

    def interim(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """See `Paced`; a round between others has the accuracies of all models every `details` rounds."""
        found = super().interim(record)
        if record["round"] % self.plan.details:
            found.pop("accuracies", None)
        return found

    def state(self) -> dict[str, Any]:
        """See `Run`."""
        return {
            "pipeline": "fedsel",
            "done": self.done,
            "weights": self.weights.cpu(),
            "past_weights": [one.cpu() for one in self.past_weights],
            "reported": self.reported.cpu(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `Run`."""
        expected = {"weights": self.weights.shape, "reported": self.reported.shape}
        for name, shape in expected.items():
            found = state.get(name)
            if state.get("pipeline") != "fedsel" or not isinstance(found, torch.Tensor) or found.shape != shape:
                raise ValueError(f"state must be one of this FedSel run, with {name} of shape {tuple(shape)}")
        self.done = int(state["done"])
        self.weights = state["weights"].to(self.device)
        self.past_weights = [one.to(self.device) for one in state["past_weights"]]
        self.reported = state["reported"].to(self.device)

    def protocol(self) -> Protocol | None:
        """See `Run`: one user's reports over all epochs."""
        return protocol(self.plan, self.split, data=self.data.name, users=self.users, d=self.d, k=self.k)

    def canaries(self) -> Iterator[Canary]:
        """See `canary.Audited`."""
        spend = spend_of(self)
        if spend is not None:
            made = canaries.promises_of(spend)
            yield canaries.user_canary(
                self.senders[0], self.d, self.plan.epochs, made, device=self.device, dtype=self.x.dtype
            )

    def _senders_models(self) -> list[tuple[int, int]]:
        """One sender for all models, except that random projections have a matrix per model."""
        return self.models if self.solution.kind == "projection" else self.models[:1]

    def _chunks(self, places: slice) -> Iterator[tuple[slice, slice]]:
        """Models, and positions in their orders, that fit into memory together; always in the same order."""
        users = max(1, min(places.stop - places.start, CHUNK // self.d))
        models = 1 if len(self.senders) > 1 else max(1, CHUNK // (users * self.d))
        for first in range(0, len(self.models), models):
            for start in range(places.start, places.stop, users):
                yield slice(first, min(first + models, len(self.models))), slice(start, min(start + users, places.stop))

    def _report(
        self, epoch: int, models: slice, users: torch.Tensor, sums: RoundSums, generator: torch.Generator
    ) -> None:
        """One chunk's gradients and reports.   users: of each model, shape (models, users)."""
        x, y = self._records(models, users)
        truth = self._vectors(x, y, self.weights[models, None])
        before = unsent(self._history(epoch, models, users, x, y)) if self.solution.accumulates else None
        now = truth if before is None else before + truth
        sent = self.senders[min(models.start, len(self.senders) - 1)].send(now, before, generator)
        law = (sent.mean, sent.variance)
        sums.add(models, sent.vectors, law, truth, index=sent.index, clipped=sent.clipped)
        if self._keeps_history() and epoch < self.plan.epochs - 1 and sent.index is not None:
            self.reported[epoch, models].scatter_(1, users, sent.index[..., 0].to(torch.int32))

    def _history(
        self, epoch: int, models: slice, users: torch.Tensor, x: torch.Tensor, y: torch.Tensor
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """What these users computed and reported in earlier epochs, the first one first."""
        rows = torch.arange(models.start, models.stop, device=self.device)[:, None]
        for past in range(epoch):
            number = past * self.per_epoch + self._rounds_of(past)[models].gather(1, users)
            weights = torch.stack(self.past_weights)[number, rows]
            yield self._vectors(x, y, weights), self.reported[past, models].gather(1, users)

    def _vectors(self, x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """The vectors that users accumulate: gradients, times alpha in the original accumulation."""
        found = gradients(self.plan.model, x, y, weights, self.plan.penalty)
        return self.plan.learning_rate * found if self.solution.original else found

    def _records(self, models: slice, users: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows = self.records_of[models].gather(1, users)
        return self.x[rows], self.y[rows]

    def order_of(self, epoch: int) -> torch.Tensor:
        """See `order`; computed once an epoch."""
        if epoch not in self._orders:
            found = order(self.users, epoch, self.models, self.streams)
            self._orders[epoch] = torch.as_tensor(found, device=self.device)
        return self._orders[epoch]

    def _rounds_of(self, epoch: int) -> torch.Tensor:
        """The round of that epoch, from 0 on, in which each user of each model reported; computed once an epoch."""
        if epoch not in self._places:
            edges = torch.tensor(self.edges[1:], device=self.device)
            self._places[epoch] = torch.searchsorted(edges, torch.argsort(self.order_of(epoch), dim=-1), right=True)
        return self._places[epoch]

    def _keeps_history(self) -> bool:
        return self.solution.accumulates and self.plan.epochs > 1

    def _recovered(self, mean: torch.Tensor) -> torch.Tensor:
        """The server's estimate from mean reports: (models, width) to (models, d)."""
        if len(self.senders) == 1:
            return self.senders[0].recover(mean)
        return torch.stack([one.recover(row) for one, row in zip(self.senders, mean, strict=True)])

    def _measured(self, sums: RoundSums, count: int, mean: torch.Tensor) -> dict[str, Any]:
        """See `measures`."""
        sent, expected = sums.reports / count, sums.means / count
        noise = variance(sent, expected, sums.variances / count**2)
        return {
            "nothing": {"measured": share(sums.empty, sums.reported), "exact": self.senders[0].nothing()},
            "clipped": share(sums.clipped, sums.reported),
            "bias": bias(mean, self._recovered(expected), sums.truth / count),
            "variance": noise,
            "layers": {"weights": as_layer(noise, sent.shape[-1])},
        }

    def _accuracy(self, number: int) -> dict[str, Any]:
        """The mean accuracy; every `details` rounds, and in the last one, all of them."""
        found = self.evaluate() if self.evaluates(number) else {}
        if number % self.plan.details and number != self.rounds:
            found.pop("accuracies", None)
        return found


def _rounds(plan: FedSelSettings, per_epoch: int) -> int:
    """The number of rounds: all of the epochs', or the plan's own, in the last epoch, so that the spend is some
    user's."""
    last = per_epoch * plan.epochs
    if plan.rounds is not None and not last - per_epoch < plan.rounds <= last:
        raise ValueError(
            f"rounds must be in {last - per_epoch + 1} .. {last}, those of the last of {plan.epochs} epochs, "
            f"got {plan.rounds}"
        )
    return plan.rounds or last


def _rows(plan: FedSelSettings, records: int, streams: Streams) -> np.ndarray:
    """The indices of the records that are used, ascending."""
    if plan.users is not None and plan.users > records:
        raise ValueError(f"users must be at most the data's {records} records, got {plan.users}")
    used = plan.users or records
    if used < plan.folds:
        raise ValueError(f"folds must be at most the number of records, {used}, got {plan.folds}")
    if used == records:
        return np.arange(records)
    return np.sort(streams.numpy("users").permutation(records)[:used])


@dataclass(frozen=True)
class Folds:
    """Training and test records of each model.

    train: record of each user, int64, shape (models, n).   test: each model's records, one array a model.
    """

    train: NDArray[np.int64]
    test: tuple[NDArray[np.int64], ...]

    def tests(self, records: int) -> NDArray[np.bool_]:
        """Whether each record is in each model's test fold; shape (records, models)."""
        found = np.zeros((records, len(self.test)), dtype=np.bool_)
        for model, rows in enumerate(self.test):
            found[rows, model] = True
        return found


def all_models(repeats: int, folds: int) -> list[tuple[int, int]]:
    """(repeat, fold) of every model, in the batch's order."""
    return [(repeat, fold) for repeat in range(repeats) for fold in range(folds)]


def split(records: int, folds: int, models: Sequence[tuple[int, int]], streams: Streams) -> Folds:
    """The folds of these models.   records: N >= folds >= 2.

    A repeat's shuffle depends on the seed and the repeat only, so a model is the same in any batch.
    """
    users = records - -(-records // folds)
    edges = np.arange(folds + 1) * records // folds
    shuffled = {repeat: streams.numpy("folds", repeat).permutation(records) for repeat, _ in models}
    test = tuple(shuffled[repeat][edges[fold] : edges[fold + 1]] for repeat, fold in models)
    rest = [np.delete(shuffled[repeat], slice(edges[fold], edges[fold + 1]))[:users] for repeat, fold in models]
    return Folds(np.stack(rest), test)


def order(users: int, epoch: int, models: Sequence[tuple[int, int]], streams: Streams) -> NDArray[np.int64]:
    """The order in which each model's users report in this epoch: permutations of 0 .. n-1, shape (models, n)."""
    return np.stack([streams.numpy("order", epoch, *model).permutation(users) for model in models])


def rounds_per_epoch(users: int, share: float) -> int:
    """The number of rounds with about `share` of the users each, such that every user reports once an epoch."""
    return max(1, min(users, round(1 / share)))


def round_edges(users: int, rounds: int) -> NDArray[np.int64]:
    """The boundaries of an epoch's rounds in its order; the rounds' sizes differ by one at most."""
    return np.arange(rounds + 1) * users // rounds


Model = Literal["logistic", "svm"]


def gradients(model: Model, x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor, penalty: float) -> torch.Tensor:
    """The gradient of each record's loss; shape (..., d).

    x: (..., d).   y: -1 or +1, shape (...).   weights: broadcasts with x.   penalty: lambda.
    """
    margin = y * (x * weights).sum(-1)
    slope = torch.sigmoid(-margin) if model == "logistic" else (margin < 1).to(x.dtype)
    return (-y * slope)[..., None] * x + penalty * weights


def shares_right(x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor, tests: torch.Tensor) -> list[float]:
    """Accuracy of each model on its test records; a score of 0 counts as +1.

    x: (n, d).   y: -1 or +1, shape (n,).   weights: (models, d).   tests: whether a record is in the model's test fold,
        booleans, shape (n, models), at least one per model.
    """
    right = ((x @ weights.T >= 0) == (y > 0)[:, None]) & tests
    return (right.sum(0, dtype=torch.float64) / tests.sum(0)).tolist()


def unsent(past: Iterable[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor | None:
    """r^(t-1) from the past rounds of these users, the first one first; None without past rounds.

    past: what was added, shape (..., d), and the index reported then, shape (...), -1 for none.
    """
    kept: torch.Tensor | None = None
    for added, index in past:
        kept = after_report(added if kept is None else kept + added, index)
    return kept


def after_report(accumulated: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """The accumulated vectors, shape (..., d), reset at each reported index, shape (...); unchanged for -1."""
    places = torch.arange(accumulated.shape[-1], device=accumulated.device)
    return torch.where(places == index[..., None], torch.zeros_like(accumulated), accumulated)
