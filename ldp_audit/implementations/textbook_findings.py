"""Measured guarantees of the textbook programs in floating point: `python -m ldp_audit.auditing.textbook [--limits]`.

Every row claims the program's nominal epsilon and computes its channel. bfloat16 needs torch; half, float32 and float64
use numpy's logarithms, exponentials and cosines: other libraries differ in the last digits, and so in the shares.

The limits are the epsilons from which the two-point program's epsilon is infinite, by a scan of all epsilons, or all t,
of a dtype. With p+ and p-, the program's p at the two endpoints, ceil(2**b p) of the 2**b words of `u < p` lead to the
upper report. The implemented epsilon is the larger log ratio of the endpoints' counts, of the upper or the lower
report.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from ldp_audit.auditing.textbook import (
    TextbookBoxMuller,
    TextbookLaplace,
    TextbookPiecewise,
    TextbookSignedLaplace,
    TextbookTwoPoint,
    equation_2,
)
from ldp_audit.implementations import Implementation, implementation

BITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}
"""Bits of a uniform in each dtype: its significant bits."""

RADII = (1.0, 0.075, 0.015)


@dataclass(frozen=True)
class Finding:
    """A textbook program at two inputs in a dtype (a name in `BITS`), with its claimed epsilon, nats."""

    program: Any
    dtype: str
    inputs: tuple[float, float]
    epsilon: float = 1.0

    def run(self) -> Implementation:
        """The channel, enumerated, by monotonicity, or sampled; ImportError for bfloat16 without torch."""
        bits = BITS[self.dtype]
        return implementation(
            self.program,
            self.inputs,
            bits,
            uniforms=self.program.uniforms,
            claimed_epsilon=self.epsilon,
            dtype=_dtype(self.dtype),
            monotone=self.program.uniforms == 1 and bits > BITS["float32"],
        )


def findings() -> list[Finding]:
    """The rows of the table, fast ones first within each program."""
    dtypes, few = list(BITS), ["bfloat16", "float16", "float32"]
    rows = [Finding(TextbookLaplace(), dtype, (0.0, 1.0)) for dtype in dtypes]
    rows += [Finding(TextbookSignedLaplace(), dtype, (0.0, 1.0)) for dtype in few]
    rows += [Finding(TextbookTwoPoint(1.0), dtype, (-1.0, 1.0)) for dtype in dtypes]
    rows += [Finding(TextbookTwoPoint(17.0), dtype, (-1.0, 1.0), 17.0) for dtype in ("float32", "float64")]
    rows += [Finding(TextbookPiecewise(), dtype, inputs) for inputs in ((-1.0, 1.0), (0.3, 0.31)) for dtype in few]
    rows += [Finding(TextbookBoxMuller(), dtype, (0.0, 1.0)) for dtype in few]
    return rows


def table(rows: Iterable[Finding]) -> Iterator[str]:
    """Lines of a Markdown table, each as soon as it is measured."""
    yield "| program | dtype | inputs | method | implemented epsilon | delta at the claim | only one input | seconds |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in rows:
        found = row.run()
        least = "" if found.exact else ">= "
        share = max(pair.share for pair in found.pairs)
        cells = [
            repr(row.program),
            row.dtype,
            " and ".join(f"{x:g}" for x in row.inputs),
            found.method,
            f"{least if found.epsilon < math.inf else ''}{found.epsilon:.10g}",
            f"{least}{found.delta(row.epsilon):.4g}",
            f"{least}{share:.4g}",
            f"{found.seconds:.1f}",
        ]
        yield f"| {' | '.join(cells)} |"


def _dtype(name: str) -> Any:
    if name != "bfloat16":
        return np.dtype(name)
    import torch

    return torch.bfloat16


def rounded_limit(bits: int) -> float:
    """ln(2**(bits+1) - 1), nats, from which epsilon is infinite if p is rounded correctly."""
    return math.log(2 ** (bits + 1) - 1)


def measured(dtype: str, radius: float, center: float = 0.0) -> Limits:
    """The limits of equation (2), operation by operation.

    float32: all its numbers from 4 to 17.5 as epsilon. float16, bfloat16: all their numbers as t, each with the least
        epsilon that rounds to it, up to overflow. float64: two million epsilons from 30 to 38. Raises ImportError for
        bfloat16 without torch.
    """
    if dtype == "float32":
        epsilons = float32_between(4.0, 17.5)
        return limits(epsilons, float32_exp(epsilons), BITS[dtype], center=center, radius=radius)
    if dtype == "float64":
        epsilons = np.linspace(30.0, 38.0, 2_000_001)
        return limits(epsilons, np.exp(epsilons), BITS[dtype], center=center, radius=radius)
    if dtype == "float16":
        t = np.arange(np.float16(1.001).view(np.int16), np.float16(2.0**14).view(np.int16), dtype=np.int16)
        return limits(
            _least_epsilons(t.view(np.float16)), t.view(np.float16), BITS[dtype], center=center, radius=radius
        )
    import torch

    first, last = (int(torch.tensor(end, dtype=torch.bfloat16).view(torch.int16)) for end in (1.0, 2.0**20))
    tensor = torch.arange(first + 1, last, dtype=torch.int16).view(torch.bfloat16)
    return limits(_least_epsilons(tensor.double().numpy()), tensor, BITS[dtype], center=center, radius=radius)


def limits_table() -> Iterator[str]:
    """Lines of a Markdown table of the limits."""
    yield "| dtype | p rounded correctly | center, radius | infinite from | finite up to | largest finite excess |"
    yield "|---|---|---|---|---|---|"
    for dtype, bits in BITS.items():
        places = [(0.0, radius) for radius in RADII] + ([(1.0, 0.001)] if dtype == "float32" else [])
        for center, radius in places:
            found = measured(dtype, radius, center)
            yield (
                f"| {dtype} | {rounded_limit(bits):.4f} | {center:g}, {radius:g} | {found.first_infinite:.5f} "
                f"| {found.last_finite:.5f} | {found.excess:.4g} |"
            )


def _least_epsilons(t: np.ndarray) -> np.ndarray:
    """The least epsilon whose e**epsilon rounds to each t: the logarithm of the midpoint of t and its predecessor."""
    wide = t.astype(np.float64)
    return np.log((wide + np.concatenate([[1.0], wide[:-1]])) / 2)


@dataclass(frozen=True)
class Limits:
    """The least scanned epsilon with an infinite implemented epsilon, and the largest with a finite one; nats.

    excess: the largest difference of implemented and nominal epsilon, where finite.
    scanned: the number of epsilons.   inf, -inf if there is none of that kind.
    """

    first_infinite: float
    last_finite: float
    excess: float
    scanned: int


def limits(epsilons: NDArray[np.floating], t: Any, bits: int, *, center: float = 0.0, radius: float = 1.0) -> Limits:
    """The limits among these nominal epsilons, with t = e**epsilon in the dtype of the array t."""
    found = implemented_epsilons(t, bits, center=center, radius=radius)
    wide, infinite = np.asarray(epsilons, dtype=np.float64), np.isinf(found)
    return Limits(
        float(np.min(wide[infinite], initial=np.inf)),
        float(np.max(wide[~infinite], initial=-np.inf)),
        float(np.max((found - wide)[~infinite], initial=-np.inf)),
        wide.size,
    )


def implemented_epsilons(t: Any, bits: int, *, center: float = 0.0, radius: float = 1.0) -> NDArray[np.float64]:
    """The program's epsilon for each t, an array or tensor in whose dtype it computes; shape of t, nats.

    Inputs are center +- radius in that dtype; uniforms are multiples of 2**-bits. From exact counts of words. A p that
    is NaN, by overflow of t, leads no word to the upper report.
    """
    xp = array_namespace(t)
    c, r = (xp.asarray(value, dtype=t.dtype) for value in (center, radius))
    with np.errstate(all="ignore"):
        above, below = (_words(equation_2(end, c, r, t), bits) for end in (c + r, c - r))
        ratios = [np.abs(np.log(above / below)), np.abs(np.log((2.0**bits - above) / (2.0**bits - below)))]
    return np.fmax(np.fmax(*ratios), 0.0)  # NaN: 0/0 for a report that occurs at neither endpoint


def float32_between(low: float, high: float) -> NDArray[np.float32]:
    """All float32 numbers from low to high, both positive."""
    first, last = (int(np.float32(end).view(np.int32)) for end in (low, high))
    return np.arange(first, last + 1, dtype=np.int32).view(np.float32)


def float32_exp(epsilons: NDArray[np.float32]) -> NDArray[np.float32]:
    """e**epsilon rounded to float32, by way of float64.

    Double rounding errs only where float64's exp is within its error of the midpoint of two float32 numbers. numpy's
    own float32 exp is off by an ulp for two arguments in five, which moves the first infinite epsilon by 1e-4.
    """
    return np.exp(epsilons.astype(np.float64)).astype(np.float32)


def _words(p: Any, bits: int) -> NDArray[np.float64]:
    """The number of 2**bits words with u < p; exact for up to 53 bits."""
    wide = np.asarray(p.double() if hasattr(p, "double") else p, dtype=np.float64)
    return np.nan_to_num(np.clip(np.ceil(wide * 2.0**bits), 0.0, 2.0**bits), nan=0.0)


if __name__ == "__main__":
    for line in limits_table() if "--limits" in sys.argv[1:] else table(findings()):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
