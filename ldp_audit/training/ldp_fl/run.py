"""A run of LDP-FL: Algorithm 1 of the paper, with measures of every layer in each round.

The layers' ranges (c, r) are fixed, or updated by the server from the averaged weights, which are public already. A
layer is a module of the network; its weights and its biases share a range. The paper says that the server updates the
ranges from W_l, but not how. Two rules are implemented:

* "extremes": the middle and half the width of the layer's extremes. Noise widens the range from which the next is
  computed: with k clients of m weights the radius grows by a factor of about A sqrt(2 ln m / k) every round.
* "moments": the layer's mean, and a multiple of its standard deviation after subtracting the noise's variance,
  (r^2 A^2 - E(w - c)^2) / k; the server knows all of this.

Source: Sun, Qian, Chen, LDP-FL (IJCAI 2021), Algorithms 1 to 3, "Adaptive Range Setting".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ldp_audit.accounting.protocols.paper_claims import installed
from ldp_audit.accounting.protocols.protocol import Protocol, Shuffling, Step
from ldp_audit.accounting.shuffling.pooled_reports import MOST_EPSILON
from ldp_audit.mechanisms.frequency.randomized_response import RandomizedResponse
from ldp_audit.mechanisms.values.layer_range import ClientRange, LayerRange
from ldp_audit.training import local_training, models
from ldp_audit.training.canary import Canary
from ldp_audit.training.client_data import ClientData, Trained
from ldp_audit.training.ldp_fl import canaries, central, reports, value_canaries
from ldp_audit.training.ldp_fl.moments import ReportMoments, moments_of
from ldp_audit.training.ldp_fl.reports import LayerMeasures
from ldp_audit.training.ldp_fl.value_noise import TWO_POINT, perturbed
from ldp_audit.training.pipeline import Paced
from ldp_audit.training.streams import Streams

if TYPE_CHECKING:
    from ldp_audit.training.datasets import Images
    from ldp_audit.training.ldp_fl.settings import LdpFlSettings


class LdpFlRun(Paced):
    """See `pipeline.Run`. Memory does not grow with clients x weights unless reports are permuted.

    model, clients: the network, and the clients' images.
    weights, ranges: the server's, which the clients of the next round receive.
    """

    def __init__(self, plan: LdpFlSettings, data: Images, *, seed: int, device: torch.device) -> None:
        self.plan, self.data, self.device, self.rounds = plan, data, device, plan.rounds
        self.streams = Streams(seed)
        self.model = network(plan, data.shape, data.classes, self.streams.torch("weights")).to(device)
        self.clients = ClientData.of(data, plan.n, self.streams, device, scheme=plan.scheme)
        self.weights = {name: weight.detach().clone() for name, weight in self.model.named_parameters()}
        self.dimensions = sum(weight.numel() for weight in self.weights.values())
        self.permuted = permutes(plan, self.dimensions, int(self.clients.sizes.max()))
        self.window = agreed_window(plan, self.streams)
        self.moments = moments_of(plan.reported) if plan.private and plan.privacy == "local" else None
        self._rule = AdaptiveRule(plan.rule, plan.spread, plan.least, plan.most)
        self.ranges = self._first_ranges()
        self._test = torch.from_numpy(data.test_x).to(device), torch.from_numpy(data.test_y).to(device)

    def advance(self, number: int) -> dict[str, Any]:
        """Train round `number`.

        "clients": that reported; "layers": see `reports.LayerMeasures`, empty without clipping; "arrivals": statistics
        of the messages, if they are permuted; "diverged": clients whose training overflowed, if any: each reports the
        weights that it received, and the server does not learn who they are.
        """
        chosen, diverged = self.choose(number), list[int]()
        aggregate = self._aggregate_centrally if self.plan.privacy == "central" and self.plan.clips else self._aggregate
        record = aggregate(number, chosen, self.trained(number, chosen, diverged))
        if diverged:
            record["diverged"] = diverged
        return {**(self.evaluate() if self.evaluates(number) else {}), "clients": len(chosen), **record}

    def evaluate(self) -> dict[str, Any]:
        """The accuracy of the server's weights on the test images."""
        return {"accuracy": local_training.evaluate(self.model, self.weights, *self._test)}

    def choose(self, number: int) -> Tensor:
        """The clients of a round, ascending."""
        found = self.streams.numpy("chosen", number).choice(self.plan.n, self.plan.chosen, replace=False)
        return torch.from_numpy(found).sort().values

    def trained(self, number: int, clients: Tensor, diverged: list[int]) -> Iterator[Trained]:
        """These clients' weights after local training in a round, chunk by chunk, before clipping.

        diverged: is extended by the clients that report the weights that they received.
        """
        plan = self.plan
        trained = local_training.train_clients(
            self.model,
            self.weights,
            self.clients,
            clients,
            epochs=plan.epochs,
            batch_size=plan.batch_size,
            learning_rate=plan.learning_rate,
            streams=self.streams,
            place=(number,),
            strategy=plan.strategy,
            chunk=plan.chunk,
            strict=False,
        )
        return reports.replace_diverged(self._told(trained, len(clients)), self.weights, diverged)

    def _told(self, trained: Iterable[Trained], count: int) -> Iterator[Trained]:
        """The same chunks; `within` hears of each."""
        done = 0
        for clients, weights in trained:
            yield clients, weights
            done += len(clients)
            self.within(done / count)

    def reports_of(
        self, weights: dict[str, Tensor], generator: torch.Generator, radii: Mapping[str, Tensor] | None = None
    ) -> dict[str, Tensor]:
        """The reports of clients with these weights in this round.

        weights: with a leading axis of clients.   radii: the clients' own, see `own_radii`.
        """
        plan = self.plan
        if plan.private and plan.mechanism == TWO_POINT and radii is None:
            return reports.reports(weights, self.ranges, float(plan.epsilon or 0.0), generator)
        if plan.private:
            return perturbed(weights, self.ranges, plan.reported, generator, radii)
        return reports.clipped(weights, self.ranges, radii) if plan.clips else weights

    def state(self) -> dict[str, Any]:
        """See `pipeline.Run`."""
        return {
            "weights": {name: weight.cpu() for name, weight in self.weights.items()},
            "centers": list(self.ranges.centers),
            "radii": list(self.ranges.radii),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """See `pipeline.Run`."""
        weights, centers, radii = (state.get(key) for key in ("weights", "centers", "radii"))
        wanted = {name: weight.shape for name, weight in self.weights.items()}
        held = weights if isinstance(weights, dict) else {}
        if {name: weight.shape for name, weight in held.items() if isinstance(weight, Tensor)} != wanted:
            raise ValueError(f"state must hold weights of the names and shapes {wanted!r}")
        if not (isinstance(centers, list) and isinstance(radii, list) and len(centers) == len(radii) == len(wanted)):
            raise ValueError(f"state must hold {len(wanted)} centers and radii, got {centers!r} and {radii!r}")
        self.weights = {name: held[name].to(self.device) for name in wanted}
        self.ranges = LayerRange(tuple(centers), tuple(radii), tuple(wanted))

    def protocol(self) -> Protocol | None:
        """See `pipeline.Run`: for a client that takes part in every round."""
        plan = self.plan
        if not plan.private:
            return None
        if plan.privacy == "central":
            return central.spending(self.data.name, plan)
        return spending(self.data.name, plan, self.dimensions, len(layers_of(self.weights)), permuted=self.permuted)

    def canaries(self) -> Iterator[Canary | str]:
        """See `canary.Audited`; the run is first trained up to its last round."""
        plan = self.plan
        if not plan.private:
            return
        for number in range(1, self.rounds):
            yield f"audit: training, round {number} of {self.rounds - 1} before the last"
            self.advance(number)
        if plan.privacy == "central":
            yield central.canary(plan, self.device)
            return
        if plan.ranges == "own":
            yield "audit: none where ranges are the clients' own: the exact spend says what they cost"
            return
        shapes = canaries.audited_shapes(self.weights)
        if plan.mechanism != TWO_POINT:
            yield from value_canaries.canaries(plan, shapes, self.ranges, self.device, self._step, self.streams.seed)
            return
        claims = canaries.claimed(self.protocol())
        client = canaries.ClientReports(shapes, self.ranges, float(plan.epsilon or 0.0), self.device, self._step)
        yield canaries.named_canary(client, *claims)
        if plan.chosen > 1:
            promise = canaries.shuffled(client, plan.chosen)
            yield canaries.anonymous_canary(client, self.upper_chances_of_others(), promise, *claims)
        yield canaries.weight_canary(client, client.most_distinguishing(self.streams.seed))
        if self.permuted and plan.chosen > 1:
            times = self._times(self.choose(self.rounds))
            yield canaries.arrival_canary(plan.chosen, client.epsilon, self.window, self.device, times=times)

    def upper_chances_of_others(self) -> NDArray[np.float64]:
        """Probability of an upper report of each weight, for every client of the last round but the first, shape
        (clients, weights).

        The canary replaces that first client; the others train as in the round itself.
        """
        trained = self.trained(self.rounds, self.choose(self.rounds)[1:], [])
        counts = {name: shape.numel() for name, shape in canaries.audited_shapes(self.weights).items()}
        epsilon = float(self.plan.epsilon or 0.0)
        chances = [canaries.upper_chances(one, self.ranges, epsilon, counts) for _, one in trained]
        return np.concatenate(chances)

    def _step(self, weights: Mapping[str, Tensor], *arguments: Any) -> dict[str, Tensor]:
        """The run's own noisy step as `canaries.Step`, with its own ranges and epsilon whatever the arguments are."""
        return self.reports_of(dict(weights), arguments[-1])

    def _first_ranges(self) -> LayerRange:
        if self.plan.ranges != "adaptive":
            radius = self.plan.radius if self.plan.ranges == "fixed" else self.plan.most
            return fixed_ranges(self.weights, self.plan.center, radius)
        return self._rule.ranges(self.weights)

    def _aggregate(self, number: int, chosen: Tensor, trained: Iterable[Trained]) -> dict[str, Any]:
        """Average the clients' reports, update weights and ranges, and return the round's measures."""
        average = self._average(number, chosen)
        measures = LayerMeasures(self.ranges, self.moments) if self.plan.clips else None
        # One generator for all blocks: torch's keeps 32 bits of a seed, so two of thousands of seeds may coincide.
        noise = self.streams.torch("noise", number, 0, device=self.device)
        for block in reports.blocks(trained, reports.block_size(self.dimensions, self.device)):
            radii = own_radii(self.plan, block, noise) if self.plan.ranges == "own" and self.plan.clips else None
            average.add(self.reports_of(block, noise, radii))
            if measures is not None:
                measures.add(block, radii)
        averages = average.averages()
        layers = {} if measures is None else measures.records(averages)
        self._update(averages)
        arrivals = average.arrivals()
        return {"layers": layers} | ({} if arrivals is None else {"arrivals": arrivals})

    def _aggregate_centrally(self, number: int, chosen: Tensor, trained: Iterable[Trained]) -> dict[str, Any]:  # noqa: ARG002
        """Add the noisy average of the clients' clipped updates to the weights, and return the round's measures."""
        plan, total = self.plan, central.ClippedSum(self.weights, self.plan.clip)
        for block in reports.blocks(trained, reports.block_size(self.dimensions, self.device)):
            total.add(block)
        multiplier = central.multiplier_of(plan) if plan.private else None
        averages, layers = total.averages(multiplier, self.streams.torch("noise", number, 0, device=self.device))
        self.weights = {name: average.float() for name, average in averages.items()}
        return {"layers": layers}

    def _average(self, number: int, chosen: Tensor) -> reports.Average:
        if not self.permuted:
            return reports.PlainAverage()
        generator = self.streams.torch("arrivals", number, device=self.device)
        return reports.PermutedAverage(self.window, generator, self._times(chosen))

    def _times(self, chosen: Tensor) -> list[float]:
        """How long these clients train and send, in the quickest one's time; a slow client is slow in every round."""
        return self.streams.numpy("pace").uniform(1.0, self.plan.slowest, self.plan.n)[chosen.numpy()].tolist()

    def _update(self, averages: dict[str, Tensor]) -> None:
        self.weights = {name: average.float() for name, average in averages.items()}
        if self.plan.ranges == "adaptive" and self.plan.clips:
            noise = noise_variance(averages, self.ranges, self.moments, self.plan.chosen)
            self.ranges = self._rule.ranges(averages, noise)


def network(
    plan: LdpFlSettings, shape: Sequence[int], classes: int, generator: torch.Generator | None = None
) -> nn.Module:
    """The plan's network, untrained.   shape: of an image, whose size decides if the plan leaves it open.

    generator: of the initial weights, see `models.build`.
    """
    side = min(shape[1:])
    by_size = "digit-cnn" if side < 16 else "cnn" if side < 32 else "vgg"
    return models.build(by_size if plan.model == "auto" else plan.model, tuple(shape), classes, generator)


@dataclass(frozen=True)
class AdaptiveRule:
    """The rule that derives (c, r) from a layer.

    rule: "extremes" or "moments".   spread: standard deviations in a radius, > 0 ("moments").
    least, most: bounds on every radius, 0 < least <= most, from prior knowledge of such weights.
    """

    rule: str
    spread: float
    least: float
    most: float

    def ranges(self, weights: Mapping[str, Tensor], noise: Mapping[str, float] | None = None) -> LayerRange:
        """The ranges for these averaged weights.

        noise: the variance that perturbation added to the weights of each name; None for initial weights.
        """
        found = {}
        for names in layers_of(weights):
            added = 0.0 if noise is None else sum(noise[name] * weights[name].numel() for name in names)
            found |= dict.fromkeys(names, self._range([weights[name] for name in names], added))
        return _by_name(weights, found)

    def _range(self, tensors: list[Tensor], noise: float) -> tuple[float, float]:
        values = torch.cat([tensor.detach().double().reshape(-1) for tensor in tensors])
        if self.rule == "extremes":
            plain = LayerRange.of([values], floor=self.least)
            return plain.centers[0], min(plain.radii[0], self.most)
        variance = float(values.var(correction=0)) - noise / len(values)
        return float(values.mean()), min(max(self.spread * math.sqrt(max(variance, 0.0)), self.least), self.most)


def fixed_ranges(weights: Mapping[str, Tensor], center: float, radius: float) -> LayerRange:
    """One range for all layers."""
    return _by_name(weights, dict.fromkeys(weights, (center, radius)))


def layers_of(names: Iterable[str]) -> list[list[str]]:
    """The names of each module's tensors: "conv1.weight" and "conv1.bias" are one layer."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name.rpartition(".")[0], []).append(name)
    return list(found.values())


def noise_variance(
    weights: Mapping[str, Tensor], ranges: LayerRange, moments: ReportMoments | None, clients: int
) -> dict[str, float]:
    """The server's estimate of the variance that perturbation added to each layer of averaged weights.

    For an averaged weight w of two-point reports, E(w - c)^2 is the noise variance N = (r^2 A^2 - E(w_u - c)^2) / k
    plus the spread of the true means; substituting it for E(w_u - c)^2 gives N (1 - 1/k) = (r^2 A^2 - E(w - c)^2) / k,
    at k = 1 nothing. Of another mechanism the variance is taken as a + b u^2 of the position u, which is exact for the
    shipped ones; then N = (r^2 a + b E(w - c)^2) / (k + b), the same with a = A^2, b = -1.
    """
    if moments is None or clients == 1:
        return dict.fromkeys(weights, 0.0)
    found = {}
    for name, center, radius in zip(ranges.names or (), ranges.centers, ranges.radii, strict=True):
        second = float((weights[str(name)].double() - center).square().mean())
        if moments.amplitude is None:
            middle, end = moments.at(torch.tensor([0.0, 1.0], dtype=torch.float64))[1].tolist()
            slope = end - middle
            found[str(name)] = max(0.0, (radius**2 * middle + slope * second) / (clients + slope))
        else:
            found[str(name)] = max(0.0, ((radius * moments.amplitude) ** 2 - second) / (clients - 1))
    return found


def _by_name(weights: Mapping[str, Tensor], found: Mapping[str, tuple[float, float]]) -> LayerRange:
    names = tuple(weights)
    return LayerRange(tuple(found[name][0] for name in names), tuple(found[name][1] for name in names), names)


_MANY_STEPS = 2_500
"""Samples that a client trains on in a round, over all epochs, from which permuting takes less than a tenth of the
round: some 0.5 microseconds a message, where training takes 2 ns and more for each sample and weight (on a CPU)."""


def permutes(plan: LdpFlSettings, dimensions: int, samples: int) -> bool:
    """Whether a run splits, delays and mixes its reports: as the plan says, else where it costs little.

    samples: the most that a client has.   Raises ValueError where the plan says so and there are too many messages.
    """
    messages = plan.chosen * dimensions
    if plan.permute is None:
        reports_travel = plan.private and plan.privacy == "local" and plan.ranges != "own"
        return reports_travel and samples * plan.epochs >= _MANY_STEPS and messages <= reports.MAX_MESSAGES // 4
    if plan.permute and messages > reports.MAX_MESSAGES:
        raise ValueError(
            f"permute must be false beyond {reports.MAX_MESSAGES} messages a round (the average is the same), "
            f"got {plan.chosen} clients of {dimensions} weights"
        )
    return plan.permute


_ABSURD = 1e6


def agreed_window(plan: LdpFlSettings, streams: Streams) -> float:
    """T: the plan's, or the median of all clients' proposals, some of them dishonest."""
    if plan.dishonest is None:
        return plan.window
    proposals = plan.window * streams.numpy("proposals").uniform(0.5, 1.5, plan.n)
    proposals[: plan.dishonest] = _ABSURD * plan.window
    return float(np.median(proposals))


def own_radii(plan: LdpFlSettings, weights: Mapping[str, Tensor], generator: torch.Generator) -> dict[str, Tensor]:
    """The radius that each client chooses for each of its layers, by names; shape (clients,).

    The least of `plan.radii` that holds the layer ("extremes": all its weights; "moments": `spread` root mean squares
    about the center), then randomised response of range_epsilon on their numbers.
    """
    grid, found = torch.tensor(plan.radii, dtype=torch.float64, device=generator.device), {}
    for names in layers_of(weights):
        away = torch.cat([weights[name].flatten(1).double() for name in names], dim=1).sub(plan.center).abs()
        fitting = away.amax(1) if plan.rule == "extremes" else plan.spread * away.square().mean(1).sqrt()
        index = torch.searchsorted(grid, fitting).clamp(max=len(grid) - 1)
        if plan.private and plan.range_epsilon < math.inf and len(grid) > 1:
            index = RandomizedResponse(plan.range_epsilon, len(grid)).sample(index, rng=generator)
        found |= dict.fromkeys(names, grid[index])
    return found


_RANGES = "The ranges (c, r) are fixed, or derived from averaged reports: they cost nothing."
_OWN = "Each client chooses a radius for each of its layers, and its reports show which."
_PERMUTED = "The run splits, delays and mixes its reports: the epsilon of shuffled reports is what its server learns."
_UNPERMUTED = (
    "The run averages its reports unpermuted, which gives the same average: the epsilon of shuffled reports is that of "
    "a run with permute=true."
)
_CHOSEN = (
    "The server chooses the clients of each round and knows them: a client that is chosen in every round spends all of "
    "this, and choosing amplifies nothing."
)


def spending(name: str, plan: LdpFlSettings, dimensions: int, layers: int, *, permuted: bool) -> Protocol:
    """The protocol of a client that takes part in every round.

    name: of the data.   dimensions: weights.   layers: of the network.   permuted: whether the run's reports are.
    """
    own, paper = plan.ranges == "own", plan.mechanism == TWO_POINT
    reported = plan.reported
    named_anyhow = reported.exact_epsilon() > MOST_EPSILON  # such a report may name its client, however it is shuffled
    mixed = None if own or named_anyhow else Shuffling(plan.chosen)
    steps = [Step(reported, ("rounds", "dimensions"), name="a weight's report", shuffling=mixed)]
    if own and len(plan.radii) > 1:
        chooses: Any = (
            RandomizedResponse(plan.range_epsilon, len(plan.radii)) if plan.range_epsilon < math.inf else None
        )
        choice = chooses or ClientRange(float(plan.epsilon or 1.0))
        steps.append(Step(choice, ("rounds", layers), name="a client's choice of a layer's radius"))
    notes = [_OWN] if own else [_RANGES] if mixed is None else [_PERMUTED if permuted else _UNPERMUTED, _RANGES]
    return Protocol(
        name=f"LDP-FL on {name}",
        steps=tuple(steps),
        unit="client",
        adjacency="replace",
        rounds=plan.rounds,
        dimensions=dimensions,
        paper=installed("ldp-fl") if paper and not own else None,
        source="Sun, Qian, Chen, LDP-FL (IJCAI 2021), Algorithms 1 to 3",
        notes=(*notes, *((_CHOSEN,) if plan.chosen < plan.n else ())),
    )
