"""Sound samplers that compare a whole word with whole thresholds, and the same with one bug planted in them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ldp_audit.mechanisms.randomness import rarer_words
from ldp_audit.numerics import log_ratio

LOW, MIDDLE, HIGH = -1.0, 0.0, 1.0
INPUTS = (LOW, MIDDLE, HIGH)


@dataclass(frozen=True)
class ThresholdSampler:
    """Report `reports[x][i]` where the word lies in the i-th run of the input; words 0 .. 2**bits - 1.

    ends: for each input, where its runs end, ascending; the last one is 2**bits.
    """

    bits: int
    ends: dict[float, tuple[int, ...]]
    reports: dict[float, tuple[float, ...]] = field(default_factory=dict)

    def __call__(self, x: float, words: Any) -> Any:
        return np.array(self.reports[x])[np.searchsorted(np.array(self.ends[x]), words, side="right")]

    def counts(self, x: float) -> list[int]:
        """How many words lead to each run's report."""
        return [end - start for start, end in zip((0, *self.ends[x]), self.ends[x], strict=False)]

    def moved(self, x: float, run: int, by: int) -> ThresholdSampler:
        """With the end of one run moved."""
        ends = tuple(end + by * (place == run) for place, end in enumerate(self.ends[x]))
        return replace(self, ends={**self.ends, x: ends})

    def reporting(self, x: float, reports: tuple[float, ...]) -> ThresholdSampler:
        """With other reports at one input."""
        return replace(self, reports={**self.reports, x: reports})


def sound(epsilon: float, bits: int) -> ThresholdSampler:
    """Two reports, 1.75 and -1.25 (none is the other's negative); n words lead to the rarer one at either end.

    n = 2**bits / (t + 1) rounded up, or half of the words where that is no more than half; half of them in the middle.
    """
    size = 2**bits
    rarer = rarer_words(epsilon, total=size) or size // 2
    first = {LOW: rarer, MIDDLE: size // 2, HIGH: size - rarer}
    return ThresholdSampler(bits, {x: (end, size) for x, end in first.items()}, dict.fromkeys(INPUTS, (1.75, -1.25)))


def rarest(sampler: ThresholdSampler) -> int:
    """n."""
    return min(min(sampler.counts(x)) for x in INPUTS)


def claim(sampler: ThresholdSampler) -> float:
    """A claim that just holds: the sampler's own epsilon, a few units in the last place larger."""
    rarer = rarest(sampler)
    own = log_ratio(2**sampler.bits - rarer, rarer)
    return own + 4 * math.ulp(own)
