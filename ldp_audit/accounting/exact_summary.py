"""The exact properties of one mechanism as plain data and curves: epsilon, profile, worst pair and moments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ldp_audit.accounting.privacy_loss import adjacency_of, neighbours
from ldp_audit.accounting.trade_off import trade_off_from_below
from ldp_audit.figure import Figure, Panel, Series
from ldp_audit.mechanisms.finite_channel import FiniteChannel
from ldp_audit.mechanisms.mechanism import Mechanism

LEVELS = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0)


def summarise(
    mechanism: Any, levels: Sequence[float] = LEVELS, progress: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """The summary, JSON-ready; infinities are written "inf".

    progress: called with a line now and then where a table takes long.
    Raises ValueError for an object without exact epsilon or profile, and for epsilons that are invalid.
    """
    missing = [name for name in ("exact_epsilon", "delta", "worst_pair") if not _states(mechanism, name)]
    if missing:
        raise ValueError(f"{mechanism!r} is no mechanism of known distribution: it has no {', '.join(missing)}")
    pair = mechanism.worst_pair()
    more = {"progress": progress} if isinstance(mechanism, FiniteChannel) else {}
    profile = np.atleast_1d(mechanism.delta(list(levels), **more))
    return {
        "mechanism": repr(mechanism),
        "adjacency": _related(mechanism),
        "exact_epsilon": _plain(mechanism.exact_epsilon()),
        "claimed_epsilon": _plain(getattr(mechanism, "epsilon", None)),
        "implemented_epsilon": _implemented(mechanism),
        "worst_pair": [_plain(x) for x in pair],
        "moments": _moments(mechanism, pair),
        "frequency_variance": _frequency_variances(mechanism),
        "profile": [{"epsilon": _plain(e), "delta": _plain(d)} for e, d in zip(levels, profile, strict=True)],
    }


def _related(mechanism: Any) -> str:
    """The neighbours, in words."""
    some = isinstance(mechanism, Mechanism) and mechanism.adjacency is None and not mechanism.any_pair
    return "the pairs of inputs that are stated" if some else neighbours(adjacency_of(mechanism))


def _states(mechanism: Any, *names: str) -> bool:
    """Whether an object, which may be a reader's own and no `Mechanism`, has these methods."""
    return all(callable(getattr(mechanism, name, None)) for name in names)


def _implemented(mechanism: Any) -> Any:
    """The sampler's own epsilon, where a sampler states it."""
    if not _states(mechanism, "implemented"):
        return None
    try:
        own = isinstance(mechanism, Mechanism)
        return _plain(mechanism.implemented_epsilon() if own else mechanism.implemented().exact_epsilon())
    except ValueError:  # a form that is not sampled
        return None


def _moments(mechanism: Any, pair: Sequence[Any]) -> list[dict[str, Any]]:
    """Mean and variance at the worst pair, for mechanisms whose reports are numbers."""
    if not _states(mechanism, "mean", "variance"):
        return []
    try:
        return [
            {"input": _plain(x), "mean": _plain(mechanism.mean(x)), "variance": _plain(mechanism.variance(x))}
            for x in pair
        ]
    except ValueError:  # labels that are no numbers have no moments
        return []


def _frequency_variances(mechanism: Any) -> list[dict[str, Any]]:
    """n times the variance of an estimated frequency, at its ends, for mechanisms whose reports support values."""
    if not isinstance(mechanism, Mechanism) or mechanism.supports() is None:
        return []
    return [{"frequency": end, "times_n": _plain(mechanism.frequency_variance(1, end))} for end in (0.0, 1.0)]


def _plain(value: Any) -> Any:
    """Python's own numbers, texts and lists."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}" if value.size > 16 else [_plain(one) for one in value.tolist()]
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, float) and math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return number


_POINTS = 201
_MOST_INPUTS = 1000
"""The most inputs drawn for a mechanism on whole numbers."""


def profile_figure(mechanism: Any) -> Figure:
    """delta over epsilon, the trade-off curve that follows from it, and Var[report | x] where reports are numbers."""
    epsilon = mechanism.exact_epsilon()
    levels = np.linspace(0, 1.1 * epsilon if math.isfinite(epsilon) else 10.0, _POINTS)
    alphas = np.linspace(0, 1, _POINTS)
    fine = np.linspace(0, float(levels[-1]), 801)
    profile = np.atleast_1d(mechanism.delta(levels))
    errors = trade_off_from_below(mechanism, alphas, fine)
    exact = f"exact epsilon {epsilon:.6g}" if math.isfinite(epsilon) else "no finite epsilon"
    variances = _variances(mechanism)
    third = " Right: the variance of the report at each input." if variances else ""
    second = "Middle" if third else "Right"
    return Figure(
        name="profile",
        title=repr(mechanism),
        caption=f"Left: the privacy profile, the least delta at each epsilon ({exact}). {second}: the "
        " false-negative rate below which no test between two inputs falls; on the diagonal nothing is learned."
        + third,
        alt=f"Left: delta falls from {profile[0]:.4g} at epsilon 0 to {profile[-1]:.4g}. {second}: a "
        f"convex curve from {errors[0]:.4g} at rate 0 to 0 at rate 1, below the diagonal."
        + (f" Right: the variance between {min(variances.y):.4g} and {max(variances.y):.4g}." if variances else ""),
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
            *([Panel("Variance", "input", "variance of the report", (variances,))] if variances else []),
        ),
    )


def _variances(mechanism: Any) -> Series | None:
    """Var[report | x] over the inputs; None unless inputs and reports are single numbers."""
    if not _states(mechanism, "inputs", "variance"):
        return None
    inputs = mechanism.inputs(_POINTS)
    if inputs is None:
        return None
    inputs = inputs[:_MOST_INPUTS]
    try:
        found = np.broadcast_to(mechanism.variance(inputs), inputs.shape)
    except ValueError:  # labels that are no numbers have no variance
        return None
    return _series("Var[report]", inputs, found)


def _series(label: str, x: np.ndarray, y: np.ndarray) -> Series:
    return Series(label, [float(f"{one:.6g}") for one in x], [float(f"{one:.6g}") for one in y])
