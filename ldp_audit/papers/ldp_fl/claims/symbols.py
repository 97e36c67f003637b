"""The variables of LDP-FL, with their domains."""

from sympy import oo

from ldp_audit.mechanisms.values.two_point import CENTER, RADIUS, TWO_POINT, WEIGHT, A
from ldp_audit.mechanisms.variable import EPSILON, T, Variable

m = TWO_POINT
"""Eq. (2)."""
m_prime = TWO_POINT.twin()
"""Eq. (2) at a second weight w'."""

w, c, r = WEIGHT, CENTER, RADIUS
w_prime = m_prime.inputs[0]
t, epsilon = T, EPSILON

w_any = Variable("w", -oo, oo)
"""An unrestricted weight."""

n = Variable("n", 1, oo, integer=True)
"""Number of clients."""

plus, minus = (atom.probability for atom in m.atoms)
"""The probabilities of the upper and of the lower report."""
upper, lower = (atom.output for atom in m.atoms)

variance = m.variance()
stated_variance = r**2 * A**2
"""Lemma 2."""

K = Variable("K", 0, oo, open="left")
"""The constant of an O."""

__all__ = [
    "A",
    "K",
    "Variable",
    "c",
    "epsilon",
    "lower",
    "m",
    "m_prime",
    "minus",
    "n",
    "oo",
    "plus",
    "r",
    "stated_variance",
    "t",
    "upper",
    "variance",
    "w",
    "w_any",
    "w_prime",
]
