"""FedSel's canary: a user with worst-case vectors in every epoch, and the reports of these vectors.

The two worlds' vectors are the worst pair of the exact distribution: for two stages a ranking or a top set against the
one that shares least with it, with values above 1 against values below -1, so that a missing clip shows too. A user's
vectors depend on its record and on the models it receives; the guarantee holds for any vectors.

The run's own senders draw the reports. The statistic is the exact log-likelihood ratio of all reports if the
distribution is known, else the sum of the reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ldp_audit.mechanisms import TwoStage
from ldp_audit.training.canary import Canary, Promise
from ldp_audit.training.fedsel.senders import Reports, Sender

_MAX_NUMBERS = 2**21
"""Numbers of the users' vectors in memory at a time."""

_OUTSIDE = 3.0
"""Entry of the worst-case vectors if no ranking matters: outside [-1, 1]."""

_ASSUMES = (
    "The attacker knows all but the canary's vectors; what other users do plays no part in them.",
    "The canary's vectors are the same in all epochs, at the exact law's worst pair, and nothing that was left unsent "
    "adds to them.",
    "The reports are drawn by the run's own code; a bound of few repetitions says less than the exact epsilon does.",
)


def promises_of(spend: Mapping[str, Any]) -> tuple[Promise, ...]:
    """The promises for all reports together.   spend: the run's, see `training.spend`."""
    promises = [Promise("exact", "the exact pure epsilon of all reports", float(spend["everything"]["pure"]))]
    if (claimed := spend["claimed"]) is not None:
        promises.append(Promise("paper", claimed["says"], float(claimed["epsilon"]), float(claimed["delta"])))
    return tuple(promises)


def user_canary(
    sender: Sender,
    d: int,
    epochs: int,
    promises: tuple[Promise, ...],
    *,
    device: torch.device,
    dtype: torch.dtype = torch.float32,
    samples: int = 200_000,
) -> Canary:
    """The canary of a user with vectors of d numbers who reports once an epoch."""
    law = sender.law()
    vectors = law.worst_pair() if law is not None else (np.full(d, _OUTSIDE), np.full(d, -_OUTSIDE))
    pair = torch.tensor(np.stack(vectors), dtype=dtype, device=device)
    draw = _ReportStatistic(sender, pair, epochs, _ratio(law, vectors) if law is not None else _sum)
    return Canary(
        unit="user",
        observer=f"the server, which knows who sends what: {_reports(epochs)} of one user",
        worlds=("the worst pair's first vector in every epoch", "the second one"),
        draw=draw,
        promises=promises,
        assumes=_ASSUMES,
        samples=samples,
    )


@dataclass(frozen=True)
class _ReportStatistic:
    """draw of a `Canary`: a statistic of all reports of the user.   pair: of vectors, shape (2, d)."""

    sender: Sender
    pair: torch.Tensor
    epochs: int
    statistic: Callable[[Reports], np.ndarray]

    def __call__(self, world: int, n: int, rng: np.random.Generator) -> np.ndarray:
        generator = torch.Generator(self.pair.device).manual_seed(int(rng.integers(2**62)))
        rows, vector = max(1, _MAX_NUMBERS // self.pair.shape[1]), self.pair[world]
        total = n * self.epochs
        found = [
            self.statistic(self.sender.send(vector.expand(min(rows, total - first), -1), None, generator))
            for first in range(0, total, rows)
        ]
        return np.concatenate(found).reshape(n, self.epochs).sum(axis=1).round(10)


def _reports(epochs: int) -> str:
    return "the one report" if epochs == 1 else f"all {epochs} reports"


def _ratio(law: TwoStage, pair: tuple[Any, Any]) -> Callable[[Reports], np.ndarray]:
    """ln P(report | first) - ln P(report | second) of each report."""

    def statistic(sent: Reports) -> np.ndarray:
        if sent.index is None:
            raise ValueError("reports of two stages must name an index, got none")
        index = sent.index[..., 0]
        value = sent.vectors.gather(-1, index.clamp(min=0)[..., None])[..., 0]
        value = torch.where(index < 0, torch.zeros_like(value), value)
        report = index.cpu().numpy(), value.cpu().numpy()
        with np.errstate(invalid="ignore"):
            ratio = np.asarray(law.log_prob(report, pair[0])) - np.asarray(law.log_prob(report, pair[1]))
        # a wrong program may report what has probability 0 in both worlds; its value then distinguishes them
        return np.where(np.isnan(ratio), 1e6 * value.cpu().numpy().astype(np.float64), np.clip(ratio, -1e9, 1e9))

    return statistic


def _sum(sent: Reports) -> np.ndarray:
    return sent.vectors.sum(dim=-1).cpu().numpy().astype(np.float64)
