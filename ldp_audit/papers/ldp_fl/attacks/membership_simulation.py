"""The client-membership test on LDP-FL's three experiments: its settings, its simulation, and a figure of both.

Settings: clients and epsilon are those of Section 5.2, and so are the rounds (Section 5 says 10 for FMNIST too; its
Section 5.1 says epsilon 5 there). The paper does not give its networks: MNIST and FMNIST have "a two-layer CNN",
CIFAR-10 "a small VGG". So the numbers of weights are those of named assumptions, computed layer by layer, biases
included. Little depends on them: the test needs a few hundred weights, and the smallest conceivable classifier of such
pictures has thousands.

Simulation: counts are drawn under both hypotheses, and their losses added up. All counts of a run are independent and
identically distributed, so the sum needs only how many of them had each value k = 0 .. n: one multinomial draw,
whatever the number of weights. That is exact, and as fast for 10**7 weights as for ten. Values are drawn rarest first,
so that no rounding of the commoner ones reaches them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ldp_audit.accounting.shuffling.anonymous_counts import Against, CountLaws, Others, anonymous_count
from ldp_audit.figure import Figure, Panel, Series
from ldp_audit.numerics import whole
from ldp_audit.papers.ldp_fl.attacks.membership_limit import advantage, smallest_dimension


@dataclass(frozen=True)
class Network:
    """An assumed network: what it is, in words, and its number of weights."""

    words: str
    weights: int


@dataclass(frozen=True)
class Setting:
    """An experiment: its data, clients, epsilon of a report (nats), rounds, and the networks it may have used."""

    data: str
    n: int
    epsilon: float
    rounds: int
    networks: tuple[Network, ...]


def convolution(inputs: int, outputs: int, side: int) -> int:
    """Weights of a layer of square filters, with biases."""
    return (side * side * inputs + 1) * outputs


def dense(inputs: int, outputs: int) -> int:
    """Weights of a fully connected layer, with biases."""
    return (inputs + 1) * outputs


_MNIST = (
    Network("no network at all: one dense layer, 784 to 10", dense(784, 10)),
    Network(
        "two 5x5 convolutions of 10 and 20 channels, no padding, each pooled; dense 320, 50, 10",
        convolution(1, 10, 5) + convolution(10, 20, 5) + dense(320, 50) + dense(50, 10),
    ),
    Network(
        "two padded 5x5 convolutions of 32 and 64 channels, each pooled; dense 3136, 512, 10 (McMahan et al. 2017)",
        convolution(1, 32, 5) + convolution(32, 64, 5) + dense(3136, 512) + dense(512, 10),
    ),
)

_CHANNELS = (3, 64, 64, 128, 128, 256, 256)

_CIFAR = (
    Network("no network at all: one dense layer, 3072 to 10", dense(3072, 10)),
    Network(
        "six padded 3x3 convolutions of 64, 64, 128, 128, 256, 256 channels, three pools; dense 4096, 10",
        sum(convolution(a, b, 3) for a, b in pairwise(_CHANNELS)) + dense(4096, 10),
    ),
)

SETTINGS = (
    Setting("MNIST", 100, 1.0, 10, _MNIST),
    Setting("FMNIST", 200, 4.0, 15, _MNIST),
    Setting("CIFAR-10", 500, 10.0, 15, _CIFAR),
)


_CELLS = 2**21  # of a block of draws: 16 MiB
_NEVER = 1e-20  # values whose expected number among all counts of a run is below it are left out


@dataclass(frozen=True)
class SimulatedTest:
    """The test's counts of positive answers under both hypotheses.

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
    """In how many runs of m counts with this distribution the sum of the losses is above 0."""
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
    """The lower Clopper-Pearson limit."""
    return 0.0 if hits == 0 else float(special.betaincinv(hits, trials - hits + 1, error))


def _at_most(hits: int, trials: int, error: float) -> float:
    """The upper Clopper-Pearson limit."""
    return 1.0 - _at_least(trials - hits, trials, error)


_SEED = 2021
_TRIALS = 1000
_PLACINGS: dict[Others, str] = {
    "center": "Others at the center of the range",
    "one end": "Others at one end of the range",
}
_DIMENSIONS = (1, 3, 10, 30, 100, 300, 1000, 1_000_000)
_CURVE = [round(d) for d in np.geomspace(1, 1e6, 61)]


def membership_figure() -> Figure:
    """LDP-FL's three settings, others at the center and at one end of the range. Takes about a second; a fixed seed."""
    rng = np.random.default_rng(_SEED)
    needed = {
        others: [smallest_dimension(_laws(one, others), one.rounds, 0.99) for one in SETTINGS] for others in _PLACINGS
    }
    promised = " / ".join(f"{math.tanh(one.epsilon / 2):.4g}" for one in SETTINGS)
    return Figure(
        name="ldp-fl-membership",
        title="Anonymous counts: does one client take part?",
        caption="The server adds up the log-likelihood ratios of the anonymous counts, over all weights and rounds; "
        "nothing is linked. Dots: how much more often this test says yes where the client's weights lie at the upper "
        f"end than where they lie at the lower end, in {_TRIALS} simulated runs each, with 99.9% intervals; dashed: "
        "the normal limit of the exact law. If epsilon per weight were all that is spent, the advantage would be at "
        f"most {promised} (n = 100 / 200 / 500), for every d. It passes 0.99 at "
        f"d = {' / '.join(map(str, needed['center']))} if the other clients hide the target best (left) and at "
        f"d = {' / '.join(map(str, needed['one end']))} if they do worst (right); the smallest classifier of such "
        "pictures has 7850 weights.",
        alt="Two panels, advantage from 0 to 1 over the number of weights on a log scale from 1 to a million. In each, "
        "three rising curves with dots on them, which reach 1 before d = 1000. Left they start between 0.1 and 0.25. "
        "Right the curve for n = 500 lies at 1 throughout.",
        panels=tuple(
            Panel(
                title,
                "weights d",
                "advantage of the test",
                tuple(series for setting in SETTINGS for series in _series(setting, others, rng)),
                x_log=True,
            )
            for others, title in _PLACINGS.items()
        ),
    )


def _series(setting: Setting, others: Others, rng: np.random.Generator) -> list[Series]:
    """Dots, their intervals, and the curve beneath."""
    laws = _laws(setting, others)
    found = [
        simulate(setting.n, d, setting.rounds, setting.epsilon, trials=_TRIALS, rng=rng, others=others)
        for d in _DIMENSIONS
    ]
    theory = [advantage(laws, setting.rounds * d).value for d in _CURVE]
    label = f"n = {setting.n}, epsilon = {setting.epsilon:g}, {setting.rounds} rounds"
    return [
        Series(f"simulated: {label}", _DIMENSIONS, [_rounded(one.advantage) for one in found], style="points"),
        Series(
            "",
            _DIMENSIONS,
            [_rounded(one.low) for one in found],
            [_rounded(one.high) for one in found],
            style="intervals",
        ),
        Series(f"normal limit: n = {setting.n}", _CURVE, [_rounded(value) for value in theory], style="dashed"),
    ]


def _laws(setting: Setting, others: Others) -> CountLaws:
    return anonymous_count(setting.n, setting.epsilon, others=others)


def _rounded(number: float) -> float:
    return float(f"{number:.6g}")
