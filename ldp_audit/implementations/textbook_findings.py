"""Measured guarantees of the textbook programs in floating point, for the report.

Every finding claims the program's nominal epsilon and computes its channel. bfloat16 needs torch; half, float32 and
float64 use numpy's logarithms, exponentials and cosines: other libraries differ in the last digits, and so in the
shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldp_audit.auditing.textbook import (
    TextbookBoxMuller,
    TextbookLaplace,
    TextbookPiecewise,
    TextbookSignedLaplace,
    TextbookTwoPoint,
)
from ldp_audit.implementations import Implementation, implementation

BITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}
"""Bits of a uniform in each dtype: its significant bits."""


@dataclass(frozen=True)
class TextbookCase:
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


def findings() -> list[TextbookCase]:
    """The rows of the table, fast ones first within each program."""
    dtypes, few = list(BITS), ["bfloat16", "float16", "float32"]
    rows = [TextbookCase(TextbookLaplace(), dtype, (0.0, 1.0)) for dtype in dtypes]
    rows += [TextbookCase(TextbookSignedLaplace(), dtype, (0.0, 1.0)) for dtype in few]
    rows += [TextbookCase(TextbookTwoPoint(1.0), dtype, (-1.0, 1.0)) for dtype in dtypes]
    rows += [TextbookCase(TextbookTwoPoint(17.0), dtype, (-1.0, 1.0), 17.0) for dtype in ("float32", "float64")]
    rows += [TextbookCase(TextbookPiecewise(), dtype, inputs) for inputs in ((-1.0, 1.0), (0.3, 0.31)) for dtype in few]
    rows += [TextbookCase(TextbookBoxMuller(), dtype, (0.0, 1.0)) for dtype in few]
    return rows


def _dtype(name: str) -> Any:
    if name != "bfloat16":
        return np.dtype(name)
    import torch

    return torch.bfloat16
