"""LDP-FL's canary where weights are reported by another mechanism than the paper's: all its reports, and one of them.

The canary's weights lie above, or below, every layer's range, as in `canaries`. By name, its reports are told apart by
the sum of their log-likelihood ratios, at the mechanism's own density; whatever the run's noise is, this is a function
of the reports, so the bound holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from ldp_audit.accounting import compose
from ldp_audit.accounting.privacy_loss import PrivacyLoss, adjacency_of, privacy_loss
from ldp_audit.mechanisms.mechanism import Mechanism
from ldp_audit.mechanisms.values.layer_range import LayerRange
from ldp_audit.training.canary import Canary, Promise
from ldp_audit.training.ldp_fl.canaries import ATTACKER, WORLDS, ClientReports, repetitions
from ldp_audit.training.spend import DELTA

if TYPE_CHECKING:
    from ldp_audit.training.ldp_fl.canaries import Step as NoisyStep
    from ldp_audit.training.ldp_fl.settings import LdpFlSettings

_PILOTS = 400
_LARGEST = 50.0
"""Nats: a report's log-likelihood ratio is cut here, where the density of one world is 0 or rounding hides it."""


def canaries(
    plan: LdpFlSettings,
    shapes: Mapping[str, torch.Size],
    ranges: LayerRange,
    device: torch.device,
    step: NoisyStep,
    seed: int,
) -> Iterator[Canary | str]:
    """The canaries of one round.   shapes: of the audited layers, by name.   step: the run's noisy step."""
    mechanism, one = plan.reported, local_loss(plan.reported)
    client = ValueReports(mechanism, ClientReports(shapes, ranges, 0.0, device, step))
    d, rows = client.reports.dimensions, repetitions(client.reports)
    yield Canary(
        unit="client",
        observer=f"one who links the canary's {d} reports of a round",
        worlds=WORLDS,
        draw=client,
        promises=(_promise(f"one round: {d} reports by {mechanism!r}", compose([(one, d)], width=_WIDTH)),),
        assumes=ATTACKER,
        samples=rows,
    )
    place = client.most_distinguishing(seed)
    yield Canary(
        unit="weight",
        observer=f"one who sees the canary's report of weight {place} of {d}",
        worlds=("the weight beyond the upper end of its range", "beyond the lower end"),
        draw=client.weight(place),
        promises=(_promise("one report", one),),
        assumes=(*ATTACKER[2:], f"The weight was chosen by {_PILOTS} repetitions that the bound does not use."),
        samples=max(5_000, min(100_000, 2**26 // d)),
    )
    yield "audit: what a server sees without names is audited for TwoPoint alone"


_WIDTH = 1e-2


def local_loss(mechanism: Mechanism) -> PrivacyLoss:
    """The loss of one report, between any two weights."""
    return privacy_loss(mechanism, "replace" if adjacency_of(mechanism) == "add/remove" else None)


def _promise(says: str, loss: PrivacyLoss) -> Promise:
    pure = loss.epsilon(0.0)
    return Promise("exact", says, pure) if pure < np.inf else Promise("exact", says, loss.epsilon(DELTA), DELTA)


@dataclass(frozen=True)
class ValueReports:
    """draw of a `Canary`: the sum of the log-likelihood ratios of the canary's reports of a round."""

    mechanism: Mechanism
    reports: ClientReports

    def values(self, world: int, rows: int, generator: torch.Generator) -> NDArray[np.float64]:
        """The reports, as the mechanism gives them; shape (rows, d)."""
        found = self.reports.step(self.reports.weights(world, rows), self.reports.ranges, 0.0, generator)
        low, high = self.mechanism.domain()
        ends = zip(self.reports.shapes, self.reports.ranges.centers, self.reports.ranges.radii, strict=True)
        parts = [(found[name].flatten(1).double() - center) / radius for name, center, radius in ends]
        scaled = torch.cat(parts, dim=1).cpu().numpy()
        return (low + high) / 2 + (high - low) / 2 * scaled

    def __call__(self, world: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """n sums, nats."""
        low, high = self.mechanism.domain()

        def ratios(rows: int, generator: torch.Generator) -> np.ndarray:
            values = self.values(world, rows, generator)
            with np.errstate(invalid="ignore"):
                ratio = np.asarray(self.mechanism.log_prob(values, high) - self.mechanism.log_prob(values, low))
            return np.clip(np.nan_to_num(ratio), -_LARGEST, _LARGEST).sum(axis=1).round(6)

        return self.reports.each(n, rng, ratios)

    def weight(self, place: int) -> Callable[[int, int, np.random.Generator], np.ndarray]:
        """draw of a `Canary`: the report of this weight."""

        def draw(world: int, n: int, rng: np.random.Generator) -> np.ndarray:
            return self.reports.each(n, rng, lambda rows, generator: self.values(world, rows, generator)[:, place])

        return lambda world, n, rng: draw(world, n, rng).round(5)  # reports are float32

    def most_distinguishing(self, seed: int) -> int:
        """The weight whose reports' means differ most, in their standard deviations, in `_PILOTS` repetitions."""
        drawn = [np.concatenate(self.reports.piloted(world, seed, _PILOTS, self.values)) for world in (0, 1)]
        spread = np.sqrt(drawn[0].var(axis=0) + drawn[1].var(axis=0)) + 1e-9
        return int(np.argmax(np.abs(drawn[0].mean(axis=0) - drawn[1].mean(axis=0)) / spread))
