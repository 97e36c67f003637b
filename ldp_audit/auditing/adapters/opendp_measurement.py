"""An OpenDP measurement, as a sampler."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.adapted_sampler import AdaptedSampler, one_by_one


def from_opendp(measurement: Any) -> AdaptedSampler:
    """A sampler that invokes the measurement once for each output; about 0.1 ms each.

    measurement: an opendp.Measurement. x is what it accepts: a number, a string, a list for a vector domain.
    OpenDP takes all randomness from the operating system and cannot be seeded: the sampler is not `repeatable`, and
    an audit of it gives another result each time, whatever its seed. Its objects cannot be copied, so that an audit
    asks for `stateless=True` before it accuses one: right for all but measurements made of a Python function that keeps
    something.
    """
    usable = callable(getattr(measurement, "invoke", None)) and hasattr(measurement, "output_measure")
    if isinstance(measurement, type) or not usable:  # a transformation has no output_measure, but an output_metric
        raise ValueError(f"measurement must be an OpenDP measurement, with all its arguments, got {measurement!r:.200}")
    return AdaptedSampler(partial(_draw, measurement), repeatable=False)


def _draw(measurement: Any, x: Any, n: int, rng: np.random.Generator) -> list[Any]:  # noqa: ARG001  (no seed is taken)
    plain = x.tolist() if hasattr(x, "tolist") else x  # OpenDP takes lists and numbers
    return one_by_one(measurement.invoke, n, plain)
