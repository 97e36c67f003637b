"""FedSel's perturbed encoding (PE): flip each status bit with probability 1/(t+1), report a uniform one, or None.

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Algorithm 3 and Lemma 2. The lemma states the epsilon of one bit; the
report's is larger, epsilon + ln((t + theta)/(1 + t theta)), theta = E[1/(2+S)] / E[1/(1+S)], where S counts the ones
among d - 2 other bits: Binomial(k-1, p) + Binomial(d-k-1, 1-p), p = t/(t+1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from sympy import Expr, Integer, Sum, binomial, oo

from ldp_audit.mechanisms.log_space import expit
from ldp_audit.mechanisms.mechanism import FamilyExample
from ldp_audit.mechanisms.selection.ranking import DIMENSION, TOP, SetSelection
from ldp_audit.mechanisms.variable import T, Variable
from ldp_audit.mechanisms.weights import OutputClass, SymbolicWeights

_d, _k = DIMENSION.variable, TOP
_u, _v = Variable("u", 0, oo, integer=True), Variable("v", 0, oo, integer=True)


def _mean_inverse(shift: int) -> Expr:
    """E[1/(shift + S)], S = u + v: u ones among k - 1 others of the set, v among d - k - 1 outside it."""
    ways = binomial(_k - 1, _u) * binomial(_d - _k - 1, _v)
    chance = T ** (_u + _d - _k - 1 - _v) / (1 + T) ** (_d - 2)
    return Sum(Sum(ways * chance / (shift + _u + _v), (_u, 0, _k - 1)), (_v, 0, _d - _k - 1))


_a, _b = _mean_inverse(1), _mean_inverse(2)

PERTURBED_ENCODING = SymbolicWeights(
    "perturbed encoding",
    [
        ("an index of the set", _k, T * (T * _a + _b) / (1 + T) ** 2),
        ("an index outside", _d - _k, (_a + T * _b) / (1 + T) ** 2),
        OutputClass("no index", Integer(1), T ** (_d - _k) / (1 + T) ** _d, group="none"),
    ],
)


@dataclass(frozen=True)
class PerturbedEncoding(SetSelection):
    """Inputs are status vectors of length d with exactly k ones; the report is an index, or None.

    epsilon: of one bit, as published, nats, > 0, finite; `calibrated` takes the report's.   d: >= 2.   k: 1 .. d-1.
    Raises ValueError for anything else.
    """

    epsilon: float
    d: int
    k: int

    example = FamilyExample(
        "PerturbedEncoding(epsilon=1, d=4, k=1)",
        "d: coordinates; k: size of the top set; t = e^epsilon, of one bit",
        worst=((0, {}), (1, {})),
    )

    @classmethod
    def calibrated(cls, epsilon: float, d: int, k: int) -> PerturbedEncoding:
        """The mechanism whose report has at most this epsilon, with the largest such bit epsilon in floating point."""
        wanted = cls(epsilon, d, k).epsilon
        low, high = wanted / 2, wanted  # (2t + 1)/(t + 2) < t: the report's epsilon is below 2 epsilon
        while (middle := (low + high) / 2) not in (low, high):
            low, high = (middle, high) if cls(middle, d, k).exact_epsilon() <= wanted else (low, middle)
        return cls(low, d, k)

    @staticmethod
    def symbolic() -> SymbolicWeights:
        """The definition, in d, k and t = e**epsilon of one bit; `.at` with numbers for d and k evaluates the sums."""
        return PERTURBED_ENCODING

    def exact_epsilon(self) -> float:
        """The tight pure epsilon of the report, nats; above `epsilon` for every d and k."""
        return self.epsilon + self._excess_over_a_bit()

    def favoured_log_prob(self) -> float:
        """Log probability that the report is in the set."""
        q = expit(-self.epsilon)
        a, c, rest = _moments(self.epsilon, self.d, self.k)
        share, missing = a - q * c, rest + q * c  # p a + q b with b = a - c, and 1 - this
        return math.log(self.k) + math.log1p(-q) + (math.log1p(-missing) if missing < 0.25 else math.log(share))

    def none_log_prob(self) -> float:
        """Log probability of None: every one flipped, no zero flipped."""
        log_p = -math.log1p(math.exp(-self.epsilon))
        return self.k * (log_p - self.epsilon) + (self.d - self.k) * log_p

    def _excess_over_a_bit(self) -> float:
        """ln((p a + q b) / (q a + p b)), computed stably from b = a - c and p - q = tanh(epsilon / 2)."""
        a, c, _ = _moments(self.epsilon, self.d, self.k)
        return math.log1p(math.tanh(self.epsilon / 2) * c / (a - expit(self.epsilon) * c))


@lru_cache(maxsize=4096)
def _moments(epsilon: float, d: int, k: int) -> tuple[float, float, float]:
    """a = E[1/(1+S)], c = E[1/(1+S)] - E[1/(2+S)] and 1 - a, as integrals of the generating function G over [0, 1].

    E[1/(1+S)] is the integral of G(u), and c, with v = 1 - u, that of v G. G is a polynomial that decays like e**(-v
    E[S]), so 20-point Gauss-Legendre on intervals that double in length is exact to rounding.
    """
    p, q = expit(epsilon), expit(-epsilon)
    scale = 1 / max(1.0, (k - 1) * p + (d - k - 1) * q)
    edges = [0.0, scale / 4]
    while edges[-1] < 1 and edges[-1] < 800 * scale:
        edges.append(min(1.0, edges[-1] * 1.5))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    left, right = np.array(edges[:-1])[:, None], np.array(edges[1:])[:, None]
    v = left + (right - left) * (nodes + 1) / 2
    with np.errstate(divide="ignore"):
        log_g = _power_log(k - 1, p, v) + _power_log(d - k - 1, q, v)
    lengths = weights * (right - left) / 2
    masses, missing = np.exp(log_g) * lengths, -np.expm1(log_g) * lengths
    return math.fsum(masses.ravel()), math.fsum((v * masses).ravel()), 1 - edges[-1] + math.fsum(missing.ravel())


def _power_log(count: int, share: float, v: NDArray[np.float64]) -> NDArray[np.float64]:
    return count * np.log1p(-share * v) if count else np.zeros_like(v)
