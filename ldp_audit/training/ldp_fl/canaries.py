"""LDP-FL's canary: a client whose weights lie above, or below, every layer's range.

After clipping these are the worst pair of inputs of every report; without clipping the audit shows its absence. The
canary takes part in the run's last round. Three observers, and a fourth if the run permutes its reports:

* all reports of the canary, by name: d reports of epsilon each;
* the number of upper reports of each weight, without names: the view that the paper gives to the server;
* one report of the weight that distinguishes the worlds best in a pilot: wrong noise on one weight violates its epsilon
  long before d epsilon;
* the messages of one weight in order of arrival: a shuffler that preserves order identifies the sender.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ldp_audit.accounting import compose
from ldp_audit.accounting import shuffle as shuffled_loss
from ldp_audit.accounting.protocols.protocol import Protocol
from ldp_audit.mechanisms import TwoPoint
from ldp_audit.mechanisms.log_space import expit
from ldp_audit.mechanisms.values.layer_range import LayerRange
from ldp_audit.mechanisms.values.parameter_shuffler import ParameterShuffler, poisson_binomial
from ldp_audit.training.canary import Canary, Promise
from ldp_audit.training.ldp_fl import reports
from ldp_audit.training.spend import DELTA, claim_of

Step = Callable[[Mapping[str, Tensor], LayerRange, float, torch.Generator], dict[str, Tensor]]
"""The noisy step: (weights, ranges, epsilon, generator) -> reports, as `reports.reports`."""

_CANARY_RADII = 4.0
"""Distance of the canary's weights from the center, in radii, before clipping."""

_MAX_REPORTS = 2**21
"""Reports, or messages, in memory at a time."""

_MAX_WEIGHTS = 20_000
"""Largest number of audited weights, the first of the network; the rest would not raise the bound."""

_PILOTS = 2_000

ATTACKER = (
    "The attacker knows all but the canary's weights: the ranges, which are public, and all other true weights.",
    "The last round alone is looked at, with the canary chosen in it; earlier rounds are the same in both worlds.",
    f"The canary's reports are drawn by the run's own code; of at most {_MAX_WEIGHTS} weights.",
)
WORLDS = ("all weights beyond the upper ends of their ranges", "all beyond the lower ends")
_OTHERS = (
    "The numbers of the other clients' upper reports are drawn from their exact law, given the run's true weights."
)


@dataclass(frozen=True)
class ClientReports:
    """The canary's reports of a round in either world.

    shapes: of the layers, by name.   step: the run's noisy step.
    """

    shapes: Mapping[str, torch.Size]
    ranges: LayerRange
    epsilon: float
    device: torch.device
    step: Step = reports.reports

    @property
    def dimensions(self) -> int:
        """d, the number of audited weights."""
        return sum(shape.numel() for shape in self.shapes.values())

    @property
    def rows(self) -> int:
        """Repetitions in memory at a time."""
        return max(1, _MAX_REPORTS // self.dimensions)

    def positions(self, world: int, rows: int, generator: torch.Generator) -> NDArray[np.float64]:
        """The canary's reports, scaled: 1 for the upper value, -1 for the lower; shape (rows, d)."""
        found = self.step(self.weights(world, rows), self.ranges, self.epsilon, generator)
        mechanisms = self.ranges.mechanism(self.epsilon)
        parts = []
        for name in self.shapes:
            low, high = mechanisms[name].outputs()
            middle, half = low / 2 + high / 2, high / 2 - low / 2
            parts.append((found[name].flatten(1).double() - middle) / half)
        return torch.cat(parts, dim=1).cpu().numpy().round(4)  # reports are float32

    def upper(self, world: int, rows: int, generator: torch.Generator) -> NDArray[np.bool_]:
        """Whether each report has the upper value, shape (rows, d)."""
        return self.positions(world, rows, generator) > 0

    def __call__(self, world: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """draw of a `Canary`: upper less lower reports, which is the log-likelihood ratio / epsilon."""
        return self.each(n, rng, lambda rows, generator: self.positions(world, rows, generator).sum(axis=1).round(3))

    def weight(self, place: int) -> Callable[[int, int, np.random.Generator], np.ndarray]:
        """draw of a `Canary`: the report of this weight."""

        def draw(world: int, n: int, rng: np.random.Generator) -> np.ndarray:
            return self.each(n, rng, lambda rows, generator: self.positions(world, rows, generator)[:, place])

        return draw

    def _upper_counts(self, world: int, rows: int, generator: torch.Generator) -> NDArray[np.int64]:
        return self.upper(world, rows, generator).sum(axis=0)

    def most_distinguishing(self, seed: int) -> int:
        """The weight whose reports distinguish the worlds best in `_PILOTS` repetitions."""
        counts = []
        for world in (0, 1):
            parts = self.piloted(world, seed, _PILOTS, self._upper_counts)
            counts.append(np.sum(parts, axis=0))
        upper, lower = ((count + 0.5, _PILOTS - count + 0.5) for count in counts)
        evidence = np.maximum(np.abs(np.log(upper[0] / lower[0])), np.abs(np.log(upper[1] / lower[1])))
        return int(np.argmax(evidence))

    def piloted(
        self, world: int, seed: int, count: int, draw: Callable[[int, int, torch.Generator], NDArray[Any]]
    ) -> list[NDArray[Any]]:
        """So many pilot repetitions of a draw of (world, rows, generator), in parts that fit in memory."""
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3, world)))
        generator = torch.Generator(self.device).manual_seed(int(rng.integers(2**62)))
        return [draw(world, min(self.rows, count - first), generator) for first in range(0, count, self.rows)]

    def each(self, n: int, rng: np.random.Generator, draw: Callable[[int, torch.Generator], np.ndarray]) -> np.ndarray:
        """n repetitions of a draw of (rows, generator), in as many parts as fit in memory."""
        generator = torch.Generator(self.device).manual_seed(int(rng.integers(2**62)))
        return np.concatenate([draw(min(self.rows, n - first), generator) for first in range(0, n, self.rows)])

    def weights(self, world: int, rows: int) -> dict[str, Tensor]:
        """The canary's true weights, far above (world 0) or below (world 1) their ranges; one row per repetition."""
        sign = 1.0 - 2.0 * world
        ends = zip(self.shapes, self.ranges.centers, self.ranges.radii, strict=True)
        return {
            name: torch.full((rows, *self.shapes[name]), center + sign * _CANARY_RADII * radius, device=self.device)
            for name, center, radius in ends
        }


def audited_shapes(weights: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    """The audited layers' shapes; of a large network the first weights only, and at least one of each layer."""
    if sum(weight.numel() for weight in weights.values()) <= _MAX_WEIGHTS:
        return {name: weight.shape for name, weight in weights.items()}
    found, left = {}, _MAX_WEIGHTS
    for name, weight in weights.items():
        found[name] = torch.Size([max(1, min(left, weight.numel()))])
        left -= found[name].numel()
    return found


def named_canary(client: ClientReports, *claims: Promise) -> Canary:
    """The canary of an observer who knows which reports are the canary's."""
    d = client.dimensions
    return Canary(
        unit="client",
        observer=f"one who links the canary's {d} reports of a round",
        worlds=WORLDS,
        draw=client,
        promises=(Promise("exact", f"one round: {d} reports of {client.epsilon:g} each", d * client.epsilon), *claims),
        assumes=ATTACKER,
        samples=repetitions(client),
    )


def anonymous_canary(client: ClientReports, chances: NDArray[np.float64], *promises: Promise) -> Canary:
    """The canary of the paper's server, which sees the number of upper reports of each weight."""
    draw = AnonymousCounts(chances, client.epsilon, client.upper, client.rows, client.device)
    n, weights = chances.shape[0] + 1, chances.shape[1]
    return Canary(
        unit="client",
        observer=f"the server, with {n} clients' shuffled reports: the numbers of upper ones of {weights} weights",
        worlds=WORLDS,
        draw=draw,
        promises=promises,
        assumes=(*ATTACKER, _OTHERS),
        samples=repetitions(client),
    )


def weight_canary(client: ClientReports, place: int) -> Canary:
    """The canary of an observer of one weight's report."""
    return Canary(
        unit="weight",
        observer=f"one who sees the canary's report of weight {place} of {client.dimensions}",
        worlds=("the weight beyond the upper end of its range", "beyond the lower end"),
        draw=client.weight(place),
        promises=(Promise("exact", "one report", client.epsilon),),
        assumes=(*ATTACKER[2:], f"The weight was chosen by {_PILOTS} repetitions that the bound does not use."),
        samples=max(5_000, min(100_000, 2**26 // client.dimensions)),
    )


def claimed(protocol: Protocol | None) -> tuple[Promise, ...]:
    """The paper's claim for the whole run, if there is one."""
    claim = claim_of(protocol)
    return () if claim is None else (Promise("paper", claim["says"], claim["epsilon"]),)


def shuffled(client: ClientReports, n: int) -> Promise:
    """The exact spend of one round's reports, shuffled among those of n clients."""
    loss = compose([(shuffled_loss(TwoPoint(client.epsilon), n), client.dimensions)])
    epsilon = min(loss.epsilon(DELTA), client.dimensions * client.epsilon)
    return Promise("exact", "one round's reports without names, for any others", epsilon, DELTA)


def repetitions(client: ClientReports) -> int:
    """Of all the canary's reports, by default."""
    return max(2_000, min(20_000, 2**24 // client.dimensions))


_MAX_PROBABILITIES = 2**22
"""Probabilities in memory while the tables are computed."""


class Tables(NamedTuple):
    """One row per weight: shapes (weights, n) and (weights, n + 1).

    cumulative: distribution function of the others' count, 0 .. n - 1.   ratio: log-likelihood ratio of the count with
        the canary, 0 .. n.
    """

    cumulative: NDArray[np.float64]
    ratio: NDArray[np.float64]


@dataclass(frozen=True)
class AnonymousCounts:
    """draw of a `Canary`: the log-likelihood ratio of all counts of a round.

    chances: probability of an upper report for the other clients, shape (n - 1, d).   epsilon: of a report.
    upper: (world, rows, generator) -> whether the canary's reports are upper ones, boolean, shape (rows, d).
    rows: repetitions at a time.   device: of the generator.
    """

    chances: NDArray[np.float64]
    epsilon: float
    upper: Callable[[int, int, torch.Generator], NDArray[np.bool_]]
    rows: int
    device: torch.device

    def __call__(self, world: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """n log-likelihood ratios, each the sum over all weights."""
        generator = torch.Generator(self.device).manual_seed(int(rng.integers(2**62)))
        parts = [min(self.rows, n - first) for first in range(0, n, self.rows)]
        return np.concatenate([self._ratios(world, rows, rng, generator) for rows in parts]).round(9)

    def _ratios(self, world: int, rows: int, rng: np.random.Generator, generator: torch.Generator) -> np.ndarray:
        upper, total = self.upper(world, rows, generator), np.zeros(rows)
        for weight, (cumulative, ratio) in enumerate(zip(*self.tables, strict=True)):
            others = np.searchsorted(cumulative, rng.random(rows), side="right")
            total += ratio[np.minimum(others, len(cumulative) - 1) + upper[:, weight]]
        return total

    @cached_property
    def tables(self) -> Tables:
        """The tables of all weights, computed once, in blocks of weights."""
        clients, weights = self.chances.shape
        step = max(1, _MAX_PROBABILITIES // (clients + 2))
        parts = [count_tables(self.chances[:, first : first + step], self.epsilon) for first in range(0, weights, step)]
        return Tables(np.concatenate([one.cumulative for one in parts]), np.concatenate([one.ratio for one in parts]))


def count_tables(chances: NDArray[np.float64], epsilon: float) -> Tables:
    """The tables of some weights.   chances: shape (n - 1, weights)."""
    law = poisson_binomial(chances)
    none = np.zeros((1, law.shape[1]))
    stays, moves = np.concatenate([law, none]), np.concatenate([none, law])
    likely, rare = expit(epsilon), expit(-epsilon)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(rare * stays + likely * moves) - np.log(likely * stays + rare * moves)
    bounded = np.clip(np.where(np.isnan(ratio), 0.0, ratio), -epsilon, epsilon)  # clips underflowed probabilities only
    return Tables(np.ascontiguousarray(np.cumsum(law, axis=0).T), np.ascontiguousarray(bounded.T))


def upper_chances(
    weights: Mapping[str, Tensor], ranges: LayerRange, epsilon: float, counts: Mapping[str, int]
) -> NDArray[np.float64]:
    """Probability of an upper report for each client and weight; shape (clients, weights).

    weights: with a leading axis of clients; they are clipped into their ranges first.
    counts: how many of each layer's weights are used, the first ones.
    """
    found = []
    for name, mechanism in ranges.mechanism(epsilon).items():
        layer = mechanism.clip(weights[name].flatten(1)[:, : counts[name]].double().cpu().numpy())
        found.append(np.exp(mechanism.log_prob(mechanism.outputs()[1], layer)))
    return np.clip(np.concatenate(found, axis=1), 0.0, 1.0)


_ORDER_DELTA = 0.01
"""The delta of the tested epsilon; a smaller delta needs more repetitions."""


def arrival_canary(
    n: int,
    epsilon: float,
    window: float,
    device: torch.device,
    *,
    times: Sequence[float] | None = None,
    shuffle: Callable[[Tensor, torch.Generator], Any] | None = None,
) -> Canary:
    """The canary of a server that sees the messages of one weight in order of arrival.

    times: how long each client trains and sends; None for equally long.
    shuffle: (reports (n, repetitions), generator) -> messages; None for the run's shuffler.
    """
    shuffler = ParameterShuffler((0.0,) * n if times is None else times, (0.0,) * n, window)
    mixed = shuffle or (lambda reports, generator: shuffler.sample(reports, rng=generator))
    promised = shuffled_loss(TwoPoint(epsilon), n).epsilon(_ORDER_DELTA)
    return Canary(
        unit="weight",
        observer=f"the server: how many of {n} reports of one weight are upper ones, and which arrived first",
        worlds=("the weight at the upper end of its range", "at the lower end"),
        draw=_Arrivals(n, epsilon, device, mixed),
        promises=(Promise("exact", f"one report among {n}, for any others", promised, _ORDER_DELTA),),
        assumes=(
            "The other clients' weights lie at the center of the range.",
            "The shuffler of the run mixes them, with its clients' times.",
        ),
        samples=max(5_000, min(50_000, 2**22 // n)),
    )


@dataclass(frozen=True)
class _Arrivals:
    """draw of a `Canary`: 2 (number of upper reports) + whether the first arrival is one.

    Each id is one repetition: the delays of different ids are independent.
    """

    n: int
    epsilon: float
    device: torch.device
    shuffle: Callable[[Tensor, torch.Generator], Any]

    def __call__(self, world: int, n: int, rng: np.random.Generator) -> np.ndarray:
        generator = torch.Generator(self.device).manual_seed(int(rng.integers(2**62)))
        rows = max(1, _MAX_REPORTS // self.n)
        parts = [min(rows, n - first) for first in range(0, n, rows)]
        return np.concatenate([self._drawn(world, size, generator) for size in parts])

    def _drawn(self, world: int, size: int, generator: torch.Generator) -> np.ndarray:
        true = torch.zeros((self.n, size), device=self.device)
        true[0] = 1.0 - 2.0 * world
        messages = self.shuffle(TwoPoint(self.epsilon).sample(true, rng=generator), generator)
        ids, upper = messages.id.cpu().numpy(), (messages.value > 0).cpu().numpy()
        _, first = np.unique(ids, return_index=True)
        return 2.0 * np.bincount(ids, weights=upper, minlength=size) + upper[first]
