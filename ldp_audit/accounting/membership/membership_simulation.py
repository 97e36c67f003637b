"""The client-membership test, run: counts are drawn under both hypotheses, and their losses added up.

All counts of a run have the same law and are independent, so the sum needs only how many of them had each value
k = 0 .. n: one multinomial draw, whatever the number of weights. That is exact in law, and as fast for 10**7 weights as
for ten. Values are drawn rarest first, so that no rounding of the commoner ones reaches them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ldp_audit.accounting.anonymous_counts import Against, CountLaws, Others, anonymous_count
from ldp_audit.losses.budget_arguments import whole

_CELLS = 2**21  # of a block of draws: 16 MiB
_NEVER = 1e-20  # values whose expected number among all counts of a run is below it are left out


@dataclass(frozen=True)
class SimulatedTest:
    """How often the test said that the client took part.

    counts: anonymous counts in one run, d rounds.   hits, other_hits: of `trials` runs with the client's weight at the
    upper end, and of as many under the other hypothesis.   low, high: the advantage lies between them with probability
    at least `confidence` (two exact binomial limits, each at a quarter of the error).
    """

    counts: int
    trials: int
    hits: int
    other_hits: int
    advantage: float
    low: float
    high: float
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def simulate(
    n: int,
    d: int,
    rounds: int,
    epsilon: float,
    *,
    trials: int,
    rng: np.random.Generator,
    others: Others | ArrayLike = "one end",
    against: Against = "other end",
    confidence: float = 0.999,
    progress: Callable[[str], None] | None = None,
) -> SimulatedTest:
    """Draw `trials` runs under either hypothesis, and test each.

    n, epsilon, others, against: as `anonymous_count` takes them.   d: weights.   rounds: each with n reports a weight.
    Memory does not grow with d, rounds or trials. Raises ValueError for bad input.
    """
    for name, value in (("d", d), ("rounds", rounds), ("trials", trials)):
        whole(value, name)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be in (0, 1), got {confidence!r}")
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng must be a numpy.random.Generator, got {rng!r}")
    laws = anonymous_count(n, epsilon, others=others, against=against)
    hits = _yes(laws.first, laws, d * rounds, trials, rng, progress)
    other_hits = _yes(laws.second, laws, d * rounds, trials, rng, progress)
    share = (1 - confidence) / 4
    low = _at_least(hits, trials, share) - _at_most(other_hits, trials, share)
    high = _at_most(hits, trials, share) - _at_least(other_hits, trials, share)
    seen = (hits - other_hits) / trials
    return SimulatedTest(d * rounds, trials, hits, other_hits, seen, max(0.0, low), high, confidence)


def _yes(
    law: NDArray[np.float64],
    laws: CountLaws,
    m: int,
    trials: int,
    rng: np.random.Generator,
    progress: Callable[[str], None] | None,
) -> int:
    """In how many runs of m counts with this law the sum of the losses is above 0."""
    values = np.flatnonzero(law * m > _NEVER)
    values = values[np.argsort(law[values])]
    mass, loss = law[values] / law[values].sum(), laws.loss[values]
    block = max(1, _CELLS // len(values))
    said = 0
    for start in range(0, trials, block):
        found = rng.multinomial(m, mass, size=min(block, trials - start))
        said += int(np.count_nonzero(_sums(found, loss) > 0))
        if progress is not None:
            progress(f"simulation: {min(start + block, trials)} of {trials} runs under one hypothesis")
    return said


def _sums(found: NDArray[np.int64], loss: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of the losses of each run; one infinite loss decides."""
    finite = np.isfinite(loss)
    sums = found[:, finite].astype(np.float64) @ loss[finite]
    for at in np.flatnonzero(~finite):
        sums = np.where(found[:, at] > 0, loss[at], sums)
    return sums


def _at_least(hits: int, trials: int, error: float) -> float:
    """Clopper and Pearson's lower limit."""
    return 0.0 if hits == 0 else float(special.betaincinv(hits, trials - hits + 1, error))


def _at_most(hits: int, trials: int, error: float) -> float:
    """Clopper and Pearson's upper limit."""
    return 1.0 - _at_least(trials - hits, trials, error)
