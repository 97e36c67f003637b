"""What users' sparse reports of a vector lose and gain in one round: bias, variance, clipped and missing reports.

Beside each measured number stands the exact one, from the mechanisms' laws given the users' true vectors:

    bias       of the mean report along the true mean g, as a share of it: <E[report] - g, g> / |g|**2; 0 is unbiased,
               -1 says that nothing of g arrives, -(1 - 1/d) is what a uniform selection without scaling has
    distance   |E[report] - g| / |g|, the whole bias
    variance   E |report - E[report]|**2, the sum over the entries of the mean report

All are means over the models of a batch. Their reports are independent, given the data and the weights, so the spread
over the models gives the standard error of measured less exact, whatever the entries' correlations.

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Theorem 4.1, whose error is that of the values alone; the law of the
report is `TwoStage.mean` and `TwoStage.variance`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch


class RoundSums:
    """Sums over a round's users, for each model of a batch; filled chunk by chunk.

    models, width, d: of the sums: (models, width) of reports, (models, d) of true vectors. float64.
    """

    def __init__(self, models: int, width: int, d: int, device: torch.device) -> None:
        self.reports, self.means, self.variances = (
            torch.zeros(models, width, dtype=torch.float64, device=device) for _ in range(3)
        )
        self.truth = torch.zeros(models, d, dtype=torch.float64, device=device)
        self.said = self.nothing = self.clipped = 0

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
        """A chunk of users of these models.

        reports: shape (models, users, width).   law: their exact means and variances, of the same shape.
        truth: the users' true vectors, (models, users, d).   index: the entries reported, -1 for none.
        clipped: which of these were clipped; of the shape of `index`.
        """
        parts = ((self.reports, reports), (self.means, law[0]), (self.variances, law[1]), (self.truth, truth))
        for total, part in parts:
            total[models] += part.sum(1, dtype=torch.float64)
        if index is not None:
            self.said += index.numel()
            self.nothing += int((index < 0).sum())
        if clipped is not None:
            self.clipped += int(clipped.sum())


def share(count: int, whole: int) -> float:
    """count / whole; 0 where there is nothing."""
    return count / whole if whole else 0.0


def bias(report: torch.Tensor, expected: torch.Tensor, truth: torch.Tensor) -> dict[str, Any]:
    """Measured and exact bias of the mean report, and the exact distance; None where every true mean is 0.

    report, expected: the mean report and its exact expectation, as the server uses them; truth: the true mean; all
    (models, d). Models whose true mean is 0 are left out.
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

    report, expected: as in `bias`, but (models, width), as they were sent.   variances: the exact ones of its entries.
    """
    return _compared(((report - expected) ** 2).sum(-1), variances.sum(-1))


def as_layer(found: Mapping[str, Any], width: int) -> dict[str, Any]:
    """`variance` as the measures of a layer (`ldp_fl.reports`): of one of its numbers, the mean over `width`.

    Without a standard error only the number of weights is known to compare.
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
