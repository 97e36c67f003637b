"""The central baseline: federated averaging whose trusted server adds Gaussian noise to the sum of clipped updates.

Each of a round's k clients sends its update, the trained weights less those that it received, scaled down to an l2 norm
of at most S (`clip`). The server adds noise of standard deviation z S to every coordinate of the sum, and averages:

    w <- w + (sum_u min(1, S / |D_u|) D_u + z S N(0, I)) / k.

A replaced client moves the sum by at most 2 S. z is the least multiplier at which the whole run spends the given
epsilon at delta = 1e-5, by this project's accounting; a round's clients are a secret sample where they are not all.

Source: Geyer, Klein, Nabi, "Differentially Private Federated Learning: A Client Level Perspective" (2017). There S is
the median of the norms, which the server learns without noise; here it is public.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ldp_audit.accounting import calibrate, compose, subsample
from ldp_audit.accounting.privacy_loss import PrivacyLoss, privacy_loss
from ldp_audit.accounting.protocols.protocol import Protocol, Sampling, Step
from ldp_audit.mechanisms.noise.gaussian import Gaussian
from ldp_audit.training.canary import Canary, Promise
from ldp_audit.training.ldp_fl.reports import ROUNDING, noise_measures
from ldp_audit.training.spend import DELTA

if TYPE_CHECKING:
    from ldp_audit.training.ldp_fl.settings import LdpFlSettings

_LEAST, _MOST = 1e-4, 1e8
"""Between these the noise multiplier is looked for."""
_WIDTH, _TOLERANCE = 1e-2, 1e-3
"""Of the epsilon of a sampled run, nats, and of the multiplier: finer ones take a minute."""
_AUDITED = 64
"""Weights whose noisy sum the canary's repetitions draw."""


class ClippedSum:
    """The sum of a round's clipped updates, block by block: `sums` by layer names, float64, flat.

    received: the weights from which the clients started.   clip: S.
    """

    def __init__(self, received: Mapping[str, Tensor], clip: float) -> None:
        self._received, self._clip, self.clients = received, clip, 0
        self.sums: dict[str, Any] = dict.fromkeys(received, 0.0)
        self._moved: Any = 0

    def add(self, weights: Mapping[str, Tensor]) -> None:
        """Add more clients' trained weights, with a leading axis of clients."""
        updates = {name: weights[name].double() - one.double() for name, one in self._received.items()}
        norms = sum(update.flatten(1).square().sum(1) for update in updates.values()).sqrt()  # type: ignore[union-attr]
        shares = (self._clip / norms).clamp(max=1.0)
        self.clients += len(norms)
        self._moved = self._moved + (shares < 1).sum()
        for name, update in updates.items():
            self.sums[name] = self.sums[name] + (update.flatten(1) * shares[:, None]).sum(0)

    def averages(
        self, multiplier: float | None, generator: torch.Generator
    ) -> tuple[dict[str, Tensor], dict[str, dict[str, Any]]]:
        """The noisy average of all weights, float64, and the measures of each layer's noise.

        multiplier: z; None for no noise.   generator: on the weights' device.
        """
        share, layers, found = int(self._moved) / self.clients, {}, {}
        for name, one in self._received.items():
            total = self.sums[name].reshape(one.shape)
            noisy = total if multiplier is None else noisy_sum(total, multiplier, self._clip, generator)
            found[name] = one.double() + noisy / self.clients
            layers[name] = {"radius": self._clip, "weights": one.numel(), "clipped": {"share": share}}
            if multiplier is not None:
                sd = multiplier * self._clip / self.clients
                error, variance = (noisy - total) / self.clients, torch.full_like(total, sd**2)
                rounding = ROUNDING**2 * float(total.abs().max()) / self.clients  # sums are float64
                layers[name] |= noise_measures(error, variance, 0.0, rounding)
        return found, layers


def noisy_sum(total: Tensor, multiplier: float, clip: float, generator: torch.Generator) -> Tensor:
    """The sum with noise of standard deviation z S on every coordinate."""
    return mechanism(multiplier, clip).sample(total, rng=generator)


def mechanism(multiplier: float, clip: float) -> Gaussian:
    """Noise on the sum, for a client that is replaced."""
    return Gaussian(multiplier * clip, clip, 2 * clip)


def multiplier_of(plan: LdpFlSettings) -> float:
    """z: the least noise multiplier at which the plan's run spends its epsilon, nats, at delta = 1e-5."""
    return _multiplier(float(plan.epsilon or 0.0), plan.rounds, plan.chosen, plan.n)


@lru_cache
def _multiplier(epsilon: float, rounds: int, chosen: int, clients: int) -> float:
    def spent(multiplier: float) -> PrivacyLoss:
        one = mechanism(multiplier, 1.0)
        sampled = subsample(one, kind="without", n=clients, k=chosen, adjacency="replace") if chosen < clients else None
        return compose([(sampled or privacy_loss(one, "replace"), rounds)], width=_WIDTH)

    found = calibrate(
        spent, epsilon=epsilon, delta=DELTA, low=_LEAST, high=_MOST, increasing=False, tolerance=_TOLERANCE
    )
    return found.value


def spending(name: str, plan: LdpFlSettings) -> Protocol:
    """The protocol of a client of the central baseline.   name: of the data."""
    multiplier = multiplier_of(plan)
    sampling = None if plan.chosen == plan.n else Sampling("without", n=plan.n, k=plan.chosen)
    one = mechanism(multiplier, plan.clip)
    return Protocol(
        name=f"central federated averaging on {name}",
        steps=(Step(one, ("rounds",), name="the sum of the updates", sampling=sampling),),
        unit="client",
        adjacency="replace",
        rounds=plan.rounds,
        source="Geyer, Klein, Nabi (2017), Algorithm 1, with a public norm bound",
        notes=(
            f"The server is trusted: it sees every update. Its noise has a multiplier of {multiplier:.4g}, the least "
            f"known to spend epsilon {plan.epsilon:g} at delta = {DELTA:g}.",
        ),
    )


def spent_of_one_round(multiplier: float) -> float:
    """The epsilon of a client that takes part in a round for certain, nats, at delta = 1e-5."""
    return privacy_loss(mechanism(multiplier, 1.0), "replace").epsilon(DELTA)


def canary(plan: LdpFlSettings, device: torch.device) -> Canary:
    """The canary of whoever sees one round's model: its update is the largest that clipping leaves, or its opposite."""
    multiplier = multiplier_of(plan)
    promise = Promise("exact", "one round", spent_of_one_round(multiplier), DELTA)

    def draw(world: int, n: int, rng: np.random.Generator) -> np.ndarray:
        generator = torch.Generator(device).manual_seed(int(rng.integers(2**62)))
        update = torch.zeros(1, _AUDITED, device=device)
        update[:, 0] = (1 - 2 * world) * 4 * plan.clip
        total = ClippedSum({"weight": update[0] * 0}, plan.clip)
        total.add({"weight": update})
        sums = total.sums["weight"].expand(n, _AUDITED).clone()
        found = noisy_sum(sums, multiplier, plan.clip, generator)[:, 0].cpu().numpy()
        return (found / plan.clip).round(9)

    return Canary(
        unit="client",
        observer="one who sees a round's averaged model",
        worlds=("an update of norm clip along one weight", "its opposite"),
        draw=draw,
        promises=(promise,),
        assumes=(
            "The attacker knows all other updates, and that the canary takes part.",
            f"The run's own clipping and noise are repeated, of {_AUDITED} weights.",
        ),
        samples=4_000,
    )
