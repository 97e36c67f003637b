"""Gradients of l2-regularised linear models, one a record, in closed form and in one batch.

    logistic   ln(1 + e**(-y w.x)) + (lambda/2) |w|**2     gradient  -y x / (1 + e**(y w.x)) + lambda w
    svm        max(0, 1 - y w.x)   + (lambda/2) |w|**2     subgradient  -y x [y w.x < 1]     + lambda w

There is no intercept: the model has as many weights as the data have columns, as the paper's dimensions say.
Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Section 5.1.
"""

from __future__ import annotations

from typing import Literal

import torch

Model = Literal["logistic", "svm"]


def gradients(model: Model, x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor, penalty: float) -> torch.Tensor:
    """The gradient of each record's loss; shape (..., d).

    x: (..., d).   y: -1 or +1, shape (...).   weights: broadcasts with x.   penalty: lambda.
    """
    margin = y * (x * weights).sum(-1)
    slope = torch.sigmoid(-margin) if model == "logistic" else (margin < 1).to(x.dtype)
    return (-y * slope)[..., None] * x + penalty * weights


def shares_right(x: torch.Tensor, y: torch.Tensor, weights: torch.Tensor, tests: torch.Tensor) -> list[float]:
    """Of each model's test records, the share on the side of their label; a score of 0 counts as +1.

    x: (n, d).   y: -1 or +1, shape (n,).   weights: (models, d).   tests: whether a record is the model's to be tested
    on, booleans, shape (n, models), at least one a model.
    """
    right = ((x @ weights.T >= 0) == (y > 0)[:, None]) & tests
    return (right.sum(0, dtype=torch.float64) / tests.sum(0)).tolist()
