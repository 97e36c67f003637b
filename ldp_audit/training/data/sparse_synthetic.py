"""Synthetic records with few relevant columns, by the procedure of Wangni et al. (NeurIPS 2018), which FedSel uses.

As in their section on convex models (recalled; the text was not at hand), for d columns:
    z_nj ~ N(0, 1);   B_j ~ Uniform[0, 1], then B_j <- c1 B_j where B_j <= c2;   x_nj = z_nj B_j;
    w ~ N(0, 1)^d;   y_n = the sign of z_n . w.
A share c2 of the columns shrinks by the factor c1: small c1 and large c2 make sparse gradients. FedSel varies c1 in
{0.01, 0.1} and c2 in {0.6, 0.9}, and names the widths syn-L (100 columns, 60,000 records) and syn-H (300, 100,000).

Choices of this project:
* Labels come from x_n, not z_n, by default: y_n = the sign of x_n . w + noise. `labels="dense"` uses z_n. The shrunk
  columns then matter as much as the others although their gradients are small: for c1 = 0.01, c2 = 0.9 scikit-learn's
  logistic regression reaches 65% on syn-L even without privacy (100% if the columns are rescaled), against more than
  99% with x_n. FedSel's Table 3 has gains of 5 to 9 points there.
* Records must be in [-1, 1]. z is redrawn if it exceeds `bound` and everything is divided by `bound`: no value is
  clipped, and no scale depends on the data.
* The normal noise is 0 by default, in units of the standard deviation of the sum whose sign is the label (for these
  magnitudes and weights, not the sample's).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldp_audit.numerics import between, whole
from ldp_audit.training.datasets import Table
from ldp_audit.training.pipeline import check_choice
from ldp_audit.training.streams import Streams


def load(
    *,
    records: int = 10_000,
    columns: int = 100,
    c1: float = 0.01,
    c2: float = 0.9,
    noise: float = 0.0,
    bound: float = 2.0,
    labels: str = "sparse",
    seed: int = 0,
    name: str = "synthetic",
) -> Table:
    """Records with a common sparse pattern of magnitudes.

    records, columns: their numbers, >= 1.   c1: the factor, in [0, 1].   c2: the threshold, in [0, 1].
    noise: >= 0, of the labels.   bound: > 0, truncation of the normal values, in standard deviations.
    labels: "sparse", from the records, or "dense", from the records before columns were shrunk.
    Raises ValueError for anything else.
    """
    whole(records, "records", 1)
    whole(columns, "columns", 1)
    _check_numbers(c1=c1, c2=c2, noise=noise, bound=bound)
    check_choice("labels", labels, ("sparse", "dense"))
    streams = Streams(seed)
    z = _truncated_normal((records, columns), bound, streams.numpy("synthetic values"))
    magnitudes = streams.numpy("synthetic magnitudes").random(columns)
    magnitudes[magnitudes <= c2] *= c1
    weights = streams.numpy("synthetic weights").standard_normal(columns)
    deciding = weights if labels == "dense" else weights * magnitudes
    spread = _truncated_deviation(bound) * np.linalg.norm(deciding)
    sums = z @ deciding + noise * spread * streams.numpy("synthetic noise").standard_normal(records)
    z *= magnitudes / bound
    names = tuple(f"x{column}" for column in range(1, columns + 1))
    return Table(name, z, np.where(sums >= 0, 1, -1).astype(np.int64), names)


def load_syn_l(**options: Any) -> Table:
    """FedSel's syn-L: 60,000 records of 100 columns; other options as for `load`."""
    chosen: dict[str, Any] = {"records": 60_000, "columns": 100, "name": _name("syn-l", options)} | options
    return load(**chosen)


def _name(name: str, options: dict[str, Any]) -> str:
    """The name with the settings that differ from those of FedSel's Table 3, c1 = 0.01 and c2 = 0.9."""
    usual = {"c1": 0.01, "c2": 0.9, "noise": 0, "bound": 2, "labels": "sparse"}
    other = {key: value for key, value in options.items() if key not in ("seed", "name") and usual.get(key) != value}
    return " ".join([name, *(f"{key}={value}" for key, value in other.items())])


def load_syn_h(**options: Any) -> Table:
    """FedSel's syn-H: 100,000 records of 300 columns; other options as for `load`."""
    chosen: dict[str, Any] = {"records": 100_000, "columns": 300, "name": _name("syn-h", options)} | options
    return load(**chosen)


def _check_numbers(**values: float) -> None:
    for name, value in values.items():
        if name in ("c1", "c2"):
            between(value, name, "a number in [0, 1]", lambda one: 0 <= one <= 1)
        elif name == "bound":
            between(value, name, "a number > 0", lambda one: 0 < one < math.inf)
        else:
            between(value, name, "a number >= 0", lambda one: 0 <= one < math.inf)


def _truncated_normal(shape: tuple[int, int], bound: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Standard normal numbers, truncated to [-bound, bound]."""
    z = rng.standard_normal(shape)
    while (beyond := np.abs(z) > bound).any():
        z[beyond] = rng.standard_normal(np.count_nonzero(beyond))
    return z


def _truncated_deviation(bound: float) -> float:
    """Standard deviation of a truncated normal number; its variance is 1 - 2 b phi(b) / (Phi(b) - Phi(-b))."""
    if bound < 0.1:  # avoids cancellation: uniform up to a term in bound**2
        return bound / math.sqrt(3) * (1 - bound**2 / 15)
    density = math.exp(-(bound**2) / 2) / math.sqrt(2 * math.pi)
    return math.sqrt(1 - 2 * bound * density / math.erf(bound / math.sqrt(2)))
