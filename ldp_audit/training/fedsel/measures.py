"""Bias, variance, and the shares of clipped and empty reports of one round, measured and exact.

The exact values come from the mechanisms' distributions given the users' true vectors:

    bias       of the mean report along the true mean g, relative to it: <E[report] - g, g> / |g|**2; 0 is unbiased,
               -1 means that nothing of g arrives, -(1 - 1/d) is that of a uniform selection without scaling
    distance   |E[report] - g| / |g|, the norm of the bias
    variance   E |report - E[report]|**2, the sum over the entries of the mean report

All are means over the models of a batch. Given the data and the weights, the models' reports are independent, so the
spread over the models estimates the standard error of measured less exact, for any correlation of the entries.

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Theorem 4.1, whose error is that of the values only; the report's
moments are `TwoStage.mean` and `TwoStage.variance`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch


class RoundSums:
    """Sums over a round's users, for each model of a batch; accumulated chunk by chunk.

    models, width, d: shapes of the sums: (models, width) of reports, (models, d) of true vectors. float64.
    """

    def __init__(self, models: int, width: int, d: int, device: torch.device) -> None:
        self.reports, self.means, self.variances = (
            torch.zeros(models, width, dtype=torch.float64, device=device) for _ in range(3)
        )
        self.truth = torch.zeros(models, d, dtype=torch.float64, device=device)
        self.reported = self.empty = self.clipped = 0

    def add(
        self,
        models: slice,
        reports: torch.Tensor,
        law: tuple[torch.Tensor, torch.Tensor],
        truth: torch.Tensor,
        *,
        index: torch.Tensor | None = None,
        clipped: torch.Tensor | None = None,
    ) -> None:
        """Add a chunk of users of these models.

        reports: shape (models, users, width).   law: their exact means and variances, of the same shape.
        truth: the users' true vectors, (models, users, d).   index: the reported entries, -1 for none.
        clipped: which of these were clipped; of the shape of `index`.
        """
        parts = ((self.reports, reports), (self.means, law[0]), (self.variances, law[1]), (self.truth, truth))
        for total, part in parts:
            total[models] += part.sum(1, dtype=torch.float64)
        if index is not None:
            self.reported += index.numel()
            self.empty += int((index < 0).sum())
        if clipped is not None:
            self.clipped += int(clipped.sum())


def share(count: int, whole: int) -> float:
    """count / whole; 0 if the whole is 0."""
    return count / whole if whole else 0.0


def bias(report: torch.Tensor, expected: torch.Tensor, truth: torch.Tensor) -> dict[str, Any]:
    """Measured and exact bias of the mean report, and the exact distance; None if every true mean is 0.

    report, expected: the mean report and its exact expectation, after the server's recovery; truth: the true mean; all
        of shape (models, d). Models whose true mean is 0 are excluded.
    """
    size = (truth * truth).sum(-1)
    known = size > 0
    if not bool(known.any()):
        return {"measured": None, "exact": None, "standard_error": None, "distance": None}
    report, expected, truth, size = report[known], expected[known], truth[known], size[known]
    along, exact = ((one - truth).mul(truth).sum(-1) / size for one in (report, expected))
    distance = (expected - truth).norm(dim=-1) / size.sqrt()
    return {**_compared(along, exact), "distance": float(distance.mean())}


def variance(report: torch.Tensor, expected: torch.Tensor, variances: torch.Tensor) -> dict[str, Any]:
    """Measured and exact variance of the mean report.

    report, expected: as in `bias`, but before recovery, shape (models, width).   variances: the exact ones of the
        entries.
    """
    return _compared(((report - expected) ** 2).sum(-1), variances.sum(-1))


def as_layer(found: Mapping[str, Any], width: int) -> dict[str, Any]:
    """`variance` in the format of a layer's measures (`ldp_fl.reports`): per entry, the mean over `width`.

    Without a standard error only the number of weights.
    """
    if found["standard_error"] is None:
        return {"weights": width}
    names = {"variance": "measured", "variance_exact": "exact", "variance_sd": "standard_error"}
    return {"weights": width, **{name: found[key] / width for name, key in names.items()}}


def _compared(measured: torch.Tensor, exact: torch.Tensor) -> dict[str, Any]:
    """Means over the models, and the standard error of their difference; None for one model."""
    models = len(measured)
    spread = float((measured - exact).std()) / math.sqrt(models) if models > 1 else None
    return {"measured": float(measured.mean()), "exact": float(exact.mean()), "standard_error": spread}
