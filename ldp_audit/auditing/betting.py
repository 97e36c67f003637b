r"""A test by betting that may be looked at after any sample: e-processes on pairs of outputs, for a grid of epsilons.

The i-th output on x is paired with the i-th on x': B = 1[Y in S], B' = 1[Y' in S], independent, with probabilities p
and q. Let t = e**epsilon. The claim that (epsilon, delta) is private says p <= t q + delta, for every pair and event.

One bet. Take a point on the claim's edge, p0 = t q0 + delta, and 0 <= mu < min(1/p0, 1/(t (1 - q0))). Then

    E = (1 + mu (B - p0)) (1 - t mu (B' - q0)) >= 0

has mean at most 1 under the claim. The first factor's mean grows with p and the second's is not negative, so put p =
min(1, t q + delta), and let s = t (q - q0). Where t q + delta <= 1 the mean is (1 + mu s)(1 - mu s) <= 1. Elsewhere p =
1 and s >= 1 - p0, so that it is (1 + mu (1 - p0))(1 - mu s) <= 1 - mu**2 (1 - p0)**2; both are BD-BET of
`papers/own/claims.py`. E is the likelihood ratio of an alternative to the distribution under the claim that is nearest
to it (Turner, Ly and Grunwald, arXiv 2106.02693, for two samples), so that no bet on a pair grows faster. The linear
bet 1 + lambda (B - t B' - delta) grows as fast near the edge and up to a tenth slower far from it; it would allow B and
B' to depend on each other, but different calls draw them. As the factors part, a batch of n pairs needs only the hits
on either side.

Many bets. Whatever is fixed before a batch is drawn (S, x, x', q0, mu) may depend on all that was seen before. So the
product of the E is a nonnegative supermartingale that starts at 1; so is a mean of such products with fixed weights,
and so is one that leaves part of its capital unused or spreads it anew between batches. By Ville's inequality (1939;
Durrett, "Probability: Theory and Examples", 5th ed., Exercise 4.8.2) the probability that it ever reaches 1/error is at
most error, if the claim holds.

Confidence sequence. Let epsilon_1 < epsilon_2 < ... be a fixed grid, each with its own capital, and L_t the largest
epsilon_i such that each of epsilon_1 .. epsilon_i was rejected at some time up to t. Let epsilon* be the truth (the
least one at this delta) and epsilon_k the first grid point with epsilon_k >= epsilon*. L_t > epsilon* at some t needs
the rejection of epsilon_k, whose claim is true: probability at most error. k is fixed by the sampler and not by the
samples, so that no sum over the grid is paid, and as the statement is about all t at once, it holds at every stopping
time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

_STEP = 0.004  # of the grid, relative; ten times finer near the claim
_HIGHEST = 30.0
_STAKES = -np.expm1(-6.0 / 2.0 ** np.arange(17))  # shares of the greatest mu: 0.9975 ... 0.00009
_RESERVE = 0.2  # of the capital, kept for events that are chosen later
_ROUNDING = 1e-14  # relative; far above the error of a few operations on float64
_LEAST_BATCH, _BATCH_SHARE = 128, 8
_HALVINGS = 30


def epsilon_grid(claimed_epsilon: float | None = None) -> np.ndarray:
    """The grid: 0, then 0.001 to 30 in steps of 0.4%, and a finer part around the claim, which is on it exactly."""
    points = int(math.log(_HIGHEST / 0.001) / _STEP)
    parts = [np.zeros(1), np.geomspace(0.001, _HIGHEST, points)]
    if claimed_epsilon is not None:
        near = claimed_epsilon * (1 + _STEP / 10 * np.arange(-100, 101))
        parts += [near, np.array([claimed_epsilon, math.nextafter(claimed_epsilon, math.inf)])]
    return np.unique(np.concatenate(parts))


def next_batch(past: int) -> int:
    """How many pairs to draw before the next look, after so many: looks are rarer as they matter less."""
    return max(_LEAST_BATCH, past // _BATCH_SHARE)


@dataclass
class Capital:
    """What was won by betting against each epsilon of a grid; optionally in many simulated runs at once.

    epsilons: ascending, nats, shape (g,).   error: in (0, 1).   delta: of the claims, in [0, 1).
    paths: shape of the simulated runs; () for a single one. Counts handed over have this shape.
    """

    epsilons: np.ndarray
    error: float
    delta: float = 0.0
    paths: tuple[int, ...] = ()
    rejected: np.ndarray = field(init=False)  # bool, shape (*paths, g): at some time so far
    _wealth: np.ndarray = field(init=False, repr=False)  # logs, shape (*paths, g, stakes)
    _reserve: float = field(init=False, default=_RESERVE, repr=False)
    _known: np.ndarray = field(init=False, repr=False)  # hits, trials, other hits, other trials; shape (4, *paths)

    def __post_init__(self) -> None:
        self.epsilons = np.asarray(self.epsilons, dtype=np.float64)
        if self.epsilons.ndim != 1 or not len(self.epsilons) or not (np.diff(self.epsilons) > 0).all():
            raise ValueError(f"epsilons must be an ascending list, got {self.epsilons!r:.200}")
        if not 0 <= self.epsilons[0] <= self.epsilons[-1] < math.inf:
            raise ValueError(f"epsilons must be finite numbers >= 0, got {self.epsilons!r:.200}")
        if not 0 < self.error < 1:
            raise ValueError(f"error must be in (0, 1), got {self.error!r}")
        if not 0 <= self.delta < 1:
            raise ValueError(f"delta must be in [0, 1), got {self.delta!r}")
        shape = (*self.paths, len(self.epsilons))
        self.rejected = np.zeros(shape, dtype=bool)
        self._wealth = np.full((*shape, len(_STAKES)), math.log((1 - _RESERVE) / len(_STAKES)))
        self._known = np.zeros((4, *self.paths))

    @property
    def log_capital(self) -> np.ndarray:
        """Natural logarithm of the capital now, shape (*paths, g). An epsilon's bets end when it is rejected."""
        return self._total(slice(None))

    @property
    def epsilon_lower(self) -> np.ndarray:
        """The confidence sequence L_t, nats, shape (*paths); 0 where nothing is known."""
        first_left = np.where(self.rejected.all(axis=-1), len(self.epsilons), np.argmin(self.rejected, axis=-1))
        return np.where(first_left > 0, self.epsilons[first_left - 1], 0.0)

    def begin_event(self, hits: np.ndarray | int, trials: int, other_hits: np.ndarray | int, other_trials: int) -> None:
        """Turn to a pair and event (again). The counts are of earlier samples: they steer the bets and win nothing.

        The capital is kept and spread evenly over the stakes, with half of the reserve added if there were bets before.
        """
        if self._known.any():
            self._reserve /= 2
            total = np.logaddexp(_log_sum(self._wealth), math.log(self._reserve)) - math.log(len(_STAKES))
            self._wealth = np.repeat(total[..., None], len(_STAKES), axis=-1)
        self._known = np.stack(
            [
                np.broadcast_to(np.asarray(count, float), self.paths)
                for count in (hits, trials, other_hits, other_trials)
            ]
        )

    def update(self, hits: np.ndarray | int, other_hits: np.ndarray | int, pairs: int) -> None:
        """Bet on a batch of so many new pairs, with what is known from before it; then learn from it."""
        hits, other_hits = (np.asarray(count, float) for count in (hits, other_hits))
        for name, count in (("hits", hits), ("other_hits", other_hits)):
            if count.shape != self.paths or not ((count >= 0) & (count <= pairs)).all():
                raise ValueError(f"{name} must be in 0 .. {pairs}, of shape {self.paths}, got {count!r:.200}")
        part = self._open()
        if part.start < part.stop:
            gains = _log_gains(hits, other_hits, pairs, *self._edge(part), self.epsilons[part])
            going = ~self.rejected[..., part, None]
            self._wealth[..., part, :] += np.where(going, gains, 0.0)
            self.rejected[..., part] |= self._total(part) >= -math.log(self.error)
        self._known = self._known + np.stack([hits, np.full(self.paths, pairs), other_hits, np.full(self.paths, pairs)])

    def _total(self, part: slice) -> np.ndarray:
        return np.logaddexp(_log_sum(self._wealth[..., part, :]), math.log(self._reserve))

    def _estimates(self) -> tuple[np.ndarray, np.ndarray]:
        hits, trials, other_hits, other_trials = self._known
        return (hits + 0.5) / (trials + 1), (other_hits + 0.5) / (other_trials + 1)

    def _open(self) -> slice:
        """The epsilons worth a bet: from the first that is not rejected, up to what the counts so far make possible."""
        _, trials, other_hits, _ = self._known
        p, q = self._estimates()
        most_p = p + 4 * np.sqrt(p * (1 - p) / (trials + 1)) - self.delta
        least_q = np.log(q) - 4 / np.sqrt(other_hits + 0.5)
        highest = np.max(np.log(np.maximum(most_p, 1e-300)) - least_q) + 0.1
        first = int(np.min(np.sum(np.cumprod(self.rejected, axis=-1), axis=-1)))
        return slice(first, max(first, int(np.searchsorted(self.epsilons, highest, side="right"))))

    def _edge(self, part: slice) -> tuple[np.ndarray, np.ndarray]:
        p, q = self._estimates()
        return nearest_on_edge(p[..., None], q[..., None], self.epsilons[part], self.delta)


def nearest_on_edge(
    p: np.ndarray, q: np.ndarray, epsilon: np.ndarray, delta: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """(p0, q0) with p0 = e**epsilon q0 + delta that are nearest to p, q, in (0, 1), in Kullback-Leibler divergence.

    The divergence is convex along the line. Its derivative vanishes where, with g = p0 - delta and q0 = e**-epsilon g,

        (p - p0) g (1 - q0) + (q - q0) p0 (1 - p0) = 0,

    a quadratic equation at delta = 0, and otherwise solved by halving, in ln g. Any point of the line makes a valid
    bet. Shapes broadcast; p0 is rounded upwards.
    """
    p, q, epsilon = np.broadcast_arrays(p, q, epsilon)
    shrink = np.exp(-epsilon)
    gain = _gain_at_zero(p, q, shrink) if delta == 0 else _gain(p, q, shrink, delta)
    return (gain + delta) * (1 + _ROUNDING), gain * shrink


def stopping_times(
    p: float,
    q: float,
    epsilon: float,
    *,
    error: float,
    pairs: int,
    paths: int,
    rng: np.random.Generator,
    delta: float = 0.0,
    known: int = 0,
    share: int = _BATCH_SHARE,
) -> np.ndarray:
    """Simulated runs on an event of probabilities p and q: the pairs after which each has rejected epsilon, else inf.

    pairs: the most of a run.   known: samples of each input that steer the first bets.
    share: a batch is as large as all before it divided by this, but never below 128.   returns: shape (paths,).
    """
    capital = Capital(np.array([epsilon]), error, delta, (paths,))
    capital.begin_event(rng.binomial(known, p, paths), known, rng.binomial(known, q, paths), known)
    times, spent = np.full(paths, math.inf), 0
    while spent < pairs and not capital.rejected.all():
        size = min(pairs - spent, max(_LEAST_BATCH, (known + spent) // share))
        capital.update(rng.binomial(size, p, paths), rng.binomial(size, q, paths), size)
        spent += size
        times = np.where(capital.rejected[:, 0], np.minimum(times, spent), times)
    return times


def _gain_at_zero(p: np.ndarray, q: np.ndarray, shrink: np.ndarray) -> np.ndarray:
    """The root in (0, 1) of 2 s g**2 - (1 + s + s p + q) g + p + q, in the form that does not cancel."""
    middle = 1 + shrink + shrink * p + q
    root = np.sqrt(np.maximum(middle**2 - 8 * shrink * (p + q), 0.0))
    return np.minimum(2 * (p + q) / (middle + root), 1.0)


def _gain(p: np.ndarray, q: np.ndarray, shrink: np.ndarray, delta: float) -> np.ndarray:
    low, high = np.full(p.shape, math.log(1e-13)), np.full(p.shape, math.log1p(-delta))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        gain = np.exp(middle)
        p0, q0 = gain + delta, gain * shrink
        before = (p - p0) * gain * (1 - q0) + (q - q0) * p0 * (1 - p0) > 0
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return np.exp(low)


def _log_gains(
    hits: np.ndarray, other_hits: np.ndarray, pairs: int, p0: np.ndarray, q0: np.ndarray, epsilon: np.ndarray
) -> np.ndarray:
    """ln of the product of a batch's bets, less a charge for rounding: shape (*paths, epsilons, stakes)."""
    x, y = hits[..., None, None], other_hits[..., None, None]
    p0, q0, shrink = p0[..., None], q0[..., None], np.exp(-epsilon)[:, None]
    t_mu = _STAKES / np.maximum(p0 * shrink, 1 - q0)
    mu = t_mu * shrink
    terms = (
        x * np.log1p(mu * (1 - p0)),
        (pairs - x) * np.log1p(-mu * p0),
        y * np.log1p(-t_mu * (1 - q0)),
        (pairs - y) * np.log1p(t_mu * q0),
    )
    charge = np.sum([np.abs(term) for term in terms], axis=0) * _ROUNDING
    return np.sum(terms, axis=0) - charge


def _log_sum(logs: np.ndarray) -> np.ndarray:
    """ln of the sum of the exponentials along the last axis."""
    most = logs.max(axis=-1)
    return most + np.log(np.exp(logs - most[..., None]).sum(axis=-1))
