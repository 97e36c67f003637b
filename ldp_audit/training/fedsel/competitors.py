"""What FedSel is compared with: no privacy, flat coordinate sampling, and random projection.

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Section 5.1; the mechanisms are those of `ldp_audit.mechanisms`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ldp_audit.mechanisms import CoordinateSampling, RandomProjection
from ldp_audit.mechanisms.randomness import source_of
from ldp_audit.mechanisms.sparse_report import scattered
from ldp_audit.training.fedsel.sent import Sent
from ldp_audit.training.fedsel.value import second_moment


class AsWideAsVectors:
    """The part of a `Sender` whose reports are as wide as the vectors: the mean needs nothing done to it."""

    def width(self, d: int) -> int:
        """d."""
        return d

    def nothing(self) -> float:
        """0."""
        return 0.0

    def recover(self, mean: torch.Tensor) -> torch.Tensor:
        """The mean itself."""
        return mean


@dataclass(frozen=True)
class FullSender(AsWideAsVectors):
    """NP: the whole gradient, as it is."""

    def send(self, now: torch.Tensor, before: torch.Tensor | None, generator: torch.Generator) -> Sent:  # noqa: ARG002
        """See `Sender`; `before` and the generator are not used."""
        return Sent(now, now, torch.zeros_like(now))


@dataclass(frozen=True)
class RandomCoordinateSender(AsWideAsVectors):
    """NP-RS: one uniform coordinate, times d, which makes it unbiased."""

    def send(self, now: torch.Tensor, before: torch.Tensor | None, generator: torch.Generator) -> Sent:  # noqa: ARG002
        """See `Sender`; `before` is not used."""
        d = now.shape[-1]
        index = source_of(generator).below(d, now.shape[:-1])[..., None]
        return Sent(scattered(index, now.gather(-1, index), d, float(d)), now, (d - 1) * now * now, index)


@dataclass(frozen=True)
class FlatSender(AsWideAsVectors):
    """PM, HM, DUCHI: k random coordinates, each perturbed with its share of the budget, times d / k."""

    mechanism: CoordinateSampling

    def send(self, now: torch.Tensor, before: torch.Tensor | None, generator: torch.Generator) -> Sent:  # noqa: ARG002
        """See `Sender`; `before` is not used. Every coordinate is clipped: which are sent must not matter."""
        inside = now.clamp(-1, 1)
        report = self.mechanism.sample(inside, rng=generator)
        scale = self.mechanism.d / self.mechanism.k
        square = second_moment(self.mechanism.coordinate())(inside)
        clipped = (now.abs() > 1).gather(-1, report.index)
        return Sent(self.mechanism.dense(report), inside, scale * square - inside * inside, report.index, clipped)


@dataclass(frozen=True)
class ProjectionSender:
    """PM-RP and so on: one of q public random combinations, perturbed, times q; the server applies a pseudo-inverse."""

    mechanism: RandomProjection

    def send(self, now: torch.Tensor, before: torch.Tensor | None, generator: torch.Generator) -> Sent:  # noqa: ARG002
        """See `Sender`; `before` is not used. The reports' width is q."""
        matrix = torch.tensor(self.mechanism.matrix, dtype=torch.float64, device=now.device)
        combined = (now.to(torch.float64) @ matrix).to(now.dtype)
        inside = combined.clamp(-1, 1)
        report = self.mechanism.sample(now, rng=generator)
        square = second_moment(self.mechanism.value)(inside)
        index = report.index[..., None]
        clipped = (combined.abs() > 1).gather(-1, index)
        vectors = self.mechanism.dense(report)
        return Sent(vectors, inside, self.mechanism.q * square - inside * inside, index, clipped)

    def width(self, d: int) -> int:  # noqa: ARG002
        """q."""
        return self.mechanism.q

    def nothing(self) -> float:
        """0."""
        return 0.0

    def recover(self, mean: torch.Tensor) -> torch.Tensor:
        """P g of the mean of clipped combinations, P the projection on the public span."""
        return self.mechanism.recover(mean)
