"""The variables of FedSel, with their domains, and its selections at given sizes by Algorithms 2 to 4."""

from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import product

from sympy import Expr, Integer, Rational

from ldp_audit.mechanisms.selection.exponential_selection import EXPONENTIAL_SELECTION as EXPONENTIAL
from ldp_audit.mechanisms.selection.perturbed_encoding import PERTURBED_ENCODING
from ldp_audit.mechanisms.selection.perturbed_sampling import PERTURBED_SAMPLING
from ldp_audit.mechanisms.values.hybrid import HYBRID, MIXING
from ldp_audit.mechanisms.values.piecewise import INPUT, PIECEWISE, REACH
from ldp_audit.mechanisms.values.two_point import CENTER, RADIUS, TWO_POINT, WEIGHT
from ldp_audit.mechanisms.variable import EPSILON, ROOT_T, T, Variable, oo

t, epsilon, s = T, EPSILON, ROOT_T
t_2 = Variable("t_2", 1, oo, open="left", latex=r"e^{\varepsilon_2}")
"""The value stage's ratio; t is the selection's."""

k = Variable("k", 1, oo, integer=True)
d = Variable("d", k + 1, oo, integer=True)
"""Together with k: 1 <= k < d."""
dims = Variable("d", 2, oo, integer=True)
"""Without k."""
m = Variable("m", 1, oo, integer=True)
alpha = Variable("alpha", 0, 1, open="both", latex=r"\alpha")
"""The learning rate."""
mu = Variable("mu", 0, 1, latex=r"\mu")
"""The selection's share of an epoch's budget."""

K = Variable("K", 0, oo, open="left")
"""The constant of an O."""

x = INPUT
"""A selected value within the value mechanisms' range."""
duchi = TWO_POINT.at({CENTER: 0, RADIUS: 1, WEIGHT: x})
"""Duchi's mechanism for one number, in t."""
A = duchi.atoms[0].output

sampling = PERTURBED_SAMPLING.at({d: d, k: k})
inside, outside = (one.probability for one in sampling.classes)
"""PS: the probability of an index of the top k, and of another one."""

theta = Variable("theta", Rational(1, 2), 1, open="right", latex=r"\theta")
"""PE: E[1/(2 + S)] / E[1/(1 + S)], where S counts the ones among the other d - 2 perturbed bits."""
encoding_ratio = t * (t + theta) / (1 + t * theta)
"""PE: the exact ratio between an index of the top k and another one."""

Law = dict[Hashable, Expr]
NONE = "none"
"""PE's empty output."""


def top(size: int, of: int) -> tuple[int, ...]:
    """A status vector of length `of` whose first `size` entries are one."""
    return tuple(int(place < size) for place in range(of))


def bottom(size: int, of: int) -> tuple[int, ...]:
    """A status vector of length `of` whose last `size` entries are one."""
    return tuple(int(place >= of - size) for place in range(of))


def encoding_law(z: Sequence[int], ratio: Expr = t) -> Law:
    """Algorithm 3: each status is kept with probability ratio/(ratio + 1), then one of the ones is drawn."""
    law: Law = {place: Integer(0) for place in range(len(z))}
    law[NONE] = Integer(0)
    for flipped in product((0, 1), repeat=len(z)):
        weight = ratio ** sum(a == b for a, b in zip(z, flipped, strict=True))
        ones = [place for place, status in enumerate(flipped) if status] or [NONE]
        for place in ones:
            law[place] += weight / len(ones)
    return {place: weight / (1 + ratio) ** len(z) for place, weight in law.items()}


def sampling_law(z: Sequence[int], nominal: int, ratio: Expr = t) -> Law:
    """Algorithm 4: uniform among the ones with probability ratio k/(d - k + ratio k), k nominal, else among the others."""
    hit = ratio * nominal / (len(z) - nominal + ratio * nominal)
    return {place: hit / sum(z) if status else (1 - hit) / (len(z) - sum(z)) for place, status in enumerate(z)}


def ranking_law(ranks: Sequence[int], base: Expr) -> Law:
    """Algorithm 2 with the normaliser of Section 4.1: base**rank over its sum; base = e**(epsilon_1/(d - 1))."""
    total = sum((base**rank for rank in ranks), Integer(0))
    return {place: base**rank / total for place, rank in enumerate(ranks)}


def status_of(magnitudes: Sequence[Fraction], size: int) -> tuple[int, ...]:
    """The status vector of the `size` largest magnitudes; ties go to the earlier index."""
    order = sorted(range(len(magnitudes)), key=lambda place: (-abs(magnitudes[place]), place))
    return tuple(int(place in order[:size]) for place in range(len(magnitudes)))


__all__ = [
    "EXPONENTIAL",
    "HYBRID",
    "INPUT",
    "MIXING",
    "NONE",
    "PERTURBED_ENCODING",
    "PIECEWISE",
    "REACH",
    "A",
    "K",
    "Law",
    "Variable",
    "alpha",
    "bottom",
    "d",
    "dims",
    "duchi",
    "encoding_law",
    "encoding_ratio",
    "epsilon",
    "inside",
    "k",
    "m",
    "mu",
    "oo",
    "outside",
    "ranking_law",
    "s",
    "sampling",
    "sampling_law",
    "status_of",
    "t",
    "t_2",
    "theta",
    "top",
    "x",
]
