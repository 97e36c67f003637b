"""Symbolic definitions."""

from sympy import Integer, Pow, Rational, Sum, binomial, exp, oo, pi, sqrt

from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.two_point import TWO_POINT, CENTER, RADIUS
from ldp_audit.mechanisms.variable import EPSILON, ROOT_T, T, Variable
from ldp_audit.mechanisms.weights import OutputClass, SymbolicWeights

# --- piecewise
INPUT = Variable("x", -1, 1)
REACH = (ROOT_T + 1) / (ROOT_T - 1)
_left, _right = (ROOT_T * INPUT - 1) / (ROOT_T - 1), (ROOT_T * INPUT + 1) / (ROOT_T - 1)
_high = ROOT_T * (ROOT_T - 1) / (2 * (ROOT_T + 1))
PIECEWISE = SymbolicChannel(
    "piecewise mechanism",
    inputs=INPUT,
    pieces=[(-REACH, _left, _high / ROOT_T**2), (_left, _right, _high), (_right, REACH, _high / ROOT_T**2)],
)

# --- hybrid
MIXING = Variable("alpha", 0, 1, latex=r"\alpha")
_A = (ROOT_T**2 + 1) / (ROOT_T**2 - 1)
_upper = Rational(1, 2) + INPUT / (2 * _A)
HYBRID = SymbolicChannel(
    "hybrid mechanism",
    inputs=INPUT,
    atoms=[(_A, (1 - MIXING) * _upper), (-_A, (1 - MIXING) * (1 - _upper))],
    pieces=[(piece.lower, piece.upper, MIXING * piece.density) for piece in PIECEWISE.pieces],
)

# --- laplace
_b, _sigma, _x = (
    Variable("b", 0, oo, open="left"),
    Variable("sigma", 0, oo, open="left", latex=r"\sigma"),
    Variable("x", -oo, oo),
)
LAPLACE = SymbolicChannel(
    "Laplace mechanism",
    inputs=_x,
    pieces=[(-oo, _x, exp((OUTPUT - _x) / _b) / (2 * _b)), (_x, oo, exp((_x - OUTPUT) / _b) / (2 * _b))],
)
GAUSSIAN = SymbolicChannel(
    "Gaussian mechanism",
    inputs=_x,
    pieces=[(-oo, oo, exp(-((OUTPUT - _x) ** 2) / (2 * _sigma**2)) / (_sigma * sqrt(2 * pi)))],
)

from ldp_audit.mechanisms.perturbed_sampling import PERTURBED_SAMPLING  # noqa
from ldp_audit.mechanisms.perturbed_encoding import PERTURBED_ENCODING  # noqa
from ldp_audit.mechanisms.exponential_selection import EXPONENTIAL_SELECTION as EXPONENTIAL, STEP_RATIO as _base  # noqa
from ldp_audit.mechanisms.subsample_release import (
    WITHOUT_REPLACEMENT,
    WITH_REPLACEMENT,
    RECORDS as _n,
    DRAWS as _draws,
    PRESENT as _present,
)  # noqa
from ldp_audit.mechanisms.ranking import DIMENSION, TOP as _k  # noqa

_d = DIMENSION.variable
_side = Variable("N", 1, oo, integer=True)
_corners = Variable("M", _side + 1, oo, integer=True)
DUCHI_VECTOR = SymbolicWeights(
    "Duchi's mechanism for vectors",
    [
        ("a corner on v's side", _side, T / ((T - 1) * _side + _corners)),
        ("another corner", _corners - _side, 1 / ((T - 1) * _side + _corners)),
    ],
)
_ties = Variable("N_0", 1, oo, integer=True)
_open = Variable("N", 1, oo, integer=True)
DUCHI_VECTOR_PRINTED = SymbolicWeights(
    "Duchi's mechanism for vectors, closed half-spaces, even d",
    [
        ("a corner on v's side", _open, T / ((T + 1) * (_open + _ties))),
        ("a corner at right angles to v", _ties, 1 / (_open + _ties)),
        ("a corner on the other side", _open, 1 / ((T + 1) * (_open + _ties))),
    ],
)
_values = Variable("k", 2, oo, integer=True)
RANDOMIZED_RESPONSE = SymbolicWeights(
    "randomised response",
    [("the value itself", 1, T / (T + _values - 1)), ("another value", _values - 1, 1 / (T + _values - 1))],
)
