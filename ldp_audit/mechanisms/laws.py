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
_b, _sigma, _x = Variable("b", 0, oo, open="left"), Variable("sigma", 0, oo, open="left", latex=r"\sigma"), Variable("x", -oo, oo)
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

# --- selections
_d = Variable("d", 2, oo, integer=True)
_k = Variable("k", 1, _d - 1, integer=True)
PERTURBED_SAMPLING = SymbolicWeights(
    "perturbed sampling",
    [("an index of the set", _k, T / (_d - _k + T * _k)), ("an index outside", _d - _k, 1 / (_d - _k + T * _k))],
)
_i, _h = Variable("i", 1, oo, integer=True), Variable("h", 1, oo, integer=True)
_base = Variable("y", 1, oo, open="left")
EXPONENTIAL = SymbolicWeights(
    "exponential selection",
    [OutputClass("the index of rank", Integer(1), _base**_i / Sum(_base**_h, (_h, 1, _d)), (_i, Integer(1), _d))],
)
_u, _v = Variable("u", 0, oo, integer=True), Variable("v", 0, oo, integer=True)


def _mean_inverse(shift: int):
    """E[1/(shift + S)], S the ones among the other bits but one."""
    ways = binomial(_k - 1, _u) * binomial(_d - _k - 1, _v) * T ** (_u + _d - _k - 1 - _v) / (1 + T) ** (_d - 2)
    return Sum(Sum(ways / (shift + _u + _v), (_u, 0, _k - 1)), (_v, 0, _d - _k - 1))


_a, _b2 = _mean_inverse(1), _mean_inverse(2)
PERTURBED_ENCODING = SymbolicWeights(
    "perturbed encoding",
    [
        ("an index of the set", _k, T * (T * _a + _b2) / (1 + T) ** 2),
        ("an index outside", _d - _k, (_a + T * _b2) / (1 + T) ** 2),
        OutputClass("no index", Integer(1), T ** (_d - _k) / (1 + T) ** _d, group="none"),
    ],
)
_n = Variable("n", 1, oo, integer=True)
_draws = Variable("k", 0, _n, integer=True)
_present = Variable("z", 0, 1, integer=True)
_left_out = 1 - _draws / _n
WITHOUT_REPLACEMENT = SymbolicChannel(
    "sampling without replacement, seen by one record",
    inputs=_present,
    atoms={1: _present * (1 - _left_out), 0: 1 - _present * (1 - _left_out)},
)
WITH_REPLACEMENT = SymbolicChannel(
    "sampling with replacement, seen by one record",
    inputs=_present,
    atoms={1: _present * (1 - (1 - 1 / _n) ** _draws), 0: 1 - _present * (1 - (1 - 1 / _n) ** _draws)},
)
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
