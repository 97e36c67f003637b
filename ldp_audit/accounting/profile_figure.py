"""The curves of one mechanism as a figure: its profile and its trade-off curve."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ldp_audit.accounting.figure import Figure, Panel, Series
from ldp_audit.accounting.trade_off import trade_off_from_below


def profile_figure(mechanism: Any) -> Figure:
    """delta over epsilon, and the trade-off curve that follows from it."""
    epsilon = mechanism.exact_epsilon()
    levels = np.linspace(0, 1.1 * epsilon if math.isfinite(epsilon) else 10.0, 201)
    alphas = np.linspace(0, 1, 201)
    fine = np.linspace(0, float(levels[-1]), 801)
    profile = np.atleast_1d(mechanism.delta(levels))
    errors = trade_off_from_below(mechanism, alphas, fine)
    exact = f"exact epsilon {epsilon:.6g}" if math.isfinite(epsilon) else "no finite epsilon"
    return Figure(
        name="profile",
        title=repr(mechanism),
        caption=f"Left: the privacy profile, the least delta at each epsilon ({exact}). Right: the least "
        "false-negative rate of any test between the worst two inputs; on the diagonal nothing is learned.",
        alt=f"Left: delta falls from {profile[0]:.4g} at epsilon 0 to {profile[-1]:.4g}. Right: a convex curve from "
        f"{errors[0]:.4g} at rate 0 to 0 at rate 1, below the diagonal.",
        panels=(
            Panel("Privacy profile", "epsilon (nats)", "delta", (_series("delta(epsilon)", levels, profile),)),
            Panel(
                "Trade-off curve",
                "false-positive rate",
                "false-negative rate",
                (
                    _series("best test", alphas, errors),
                    Series("nothing learned", [0.0, 1.0], [1.0, 0.0], style="dotted"),
                ),
            ),
        ),
    )


def _series(label: str, x: np.ndarray, y: np.ndarray) -> Series:
    return Series(label, [float(f"{one:.6g}") for one in x], [float(f"{one:.6g}") for one in y])
