"""Any mechanism of one number as LDP-FL's: moved to a layer's range.

A mechanism reports a number of its interval [a, b], of middle m and half width h. A weight w of a layer of center c and
radius r is clipped into [c - r, c + r], and reported as

    c + r (Y - m) / h,   Y the mechanism's report of  m + h (w - c) / r,

which spends what Y spends, as c and r are public. For noise on a number, [a, b] is as long as its sensitivity.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from ldp_audit.mechanisms import target
from ldp_audit.mechanisms.mechanism import AdditiveNoise, Mechanism
from ldp_audit.mechanisms.noise.laplace import Laplace
from ldp_audit.mechanisms.values.layer_range import LayerRange

if TYPE_CHECKING:
    import torch
    from torch import Tensor

TWO_POINT = "TwoPoint"
"""The paper's mechanism."""


def needs_epsilon(text: str) -> bool:
    """Whether this names a mechanism without its parameters."""
    return "(" not in text and ":" not in text


def value_mechanism(text: str, epsilon: float | None) -> Mechanism:
    """The mechanism of one number that this names; its neighbours are any two numbers of its domain.

    epsilon: for one without parameters of its own; Laplace then has the scale at which it spends this.
    Raises ValueError for what is none.
    """
    bare = needs_epsilon(text)
    if bare and text == "Laplace":
        found: Any = Laplace(1 / float(epsilon or 0.0))
    else:
        try:
            found = target.load(f"{text}(epsilon={float(epsilon or 0.0)!r})" if bare else text)
        except ValueError as error:
            more = "; give its parameters, as in Gaussian(sigma=3)" if bare else ""
            raise ValueError(f"mechanism must be one of one number, got {text!r}: {error}{more}") from None
    if isinstance(found, AdditiveNoise):
        # A weight may be any of the interval, which is as long as the sensitivity, whatever a sum's record does.
        found = copy(found)
        object.__setattr__(found, "replaced", found.sensitivity)
    if not (isinstance(found, Mechanism) and _of_numbers(found)):
        raise ValueError(
            f"mechanism must be a Mechanism of one number, with a mean and a variance, got {text!r}: {found!r:.200}"
        )
    return found


def _of_numbers(mechanism: Mechanism) -> bool:
    """Whether inputs are all numbers of an interval, not labels, and reports have a mean and a variance."""
    if any(np.asarray(end).dtype.kind != "f" for end in mechanism.worst_pair()):
        return False
    if type(mechanism).variance is Mechanism.variance:
        return False
    try:
        ends = np.array(mechanism.domain())
        moments = [np.asarray(of(ends), dtype=np.float64) for of in (mechanism.mean, mechanism.variance)]
    except ValueError:
        return False
    return all(one.shape == (2,) and np.isfinite(one).all() for one in moments) and bool((moments[1] >= 0).all())


def perturbed(
    weights: Mapping[str, Tensor],
    ranges: LayerRange,
    mechanism: Mechanism,
    generator: torch.Generator,
    radii: Mapping[str, Tensor] | None = None,
) -> dict[str, Tensor]:
    """One report of every weight: clipped into its layer's range, then perturbed by the mechanism.

    weights: by layer names, finite, with or without a leading axis of clients.   generator: on the weights' device.
    radii: of each client, by layer names, in the place of the ranges'; shape (clients,).
    """
    (low, high), found = mechanism.domain(), {}
    middle, half = (low + high) / 2, (high - low) / 2
    for name, center, radius in zip(ranges.names or (), ranges.centers, ranges.radii, strict=True):
        given = weights[str(name)]
        own: Any = radius if radii is None else along(radii[str(name)], given)
        position = ((given.double() - center) / own).clamp(-1.0, 1.0)
        drawn = mechanism.sample((middle + half * position).clamp(low, high), rng=generator)
        found[str(name)] = (center + own * (drawn - middle) / half).to(given.dtype)
    return found


def along(radii: Tensor, weights: Tensor) -> Tensor:
    """The clients' radii, shape (clients,), broadcasting with their weights, shape (clients, ...)."""
    return radii.double().reshape(-1, *[1] * (weights.ndim - 1))
