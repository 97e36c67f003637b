"""Densities in symbolic channels: their integrals, and what is refused."""

from __future__ import annotations

import pytest
from sympy import Rational, exp, oo, sqrt

from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.values.piecewise import PIECEWISE
from ldp_audit.mechanisms.variable import ROOT_T, Variable
from tests.together import together

x = Variable("x", -1, 1)
s = ROOT_T


def test_a_triangle_on_a_bounded_piece() -> None:
    triangle = SymbolicChannel("triangle", (), pieces=[(0, 1, 2 * OUTPUT)])
    assert (triangle.total(), triangle.mean()) == (1, Rational(2, 3))


def test_replacing_a_parameter_reaches_the_pieces() -> None:
    at_half = PIECEWISE.at({x: Rational(1, 2)})
    assert at_half.inputs == ()
    assert at_half.pieces[1].lower == (s / 2 - 1) / (s - 1)
    assert [v.name for v in PIECEWISE.twin().inputs] == ["x_prime"]


@together(
    ("pieces", "message"),
    [
        ([(0, 1)], r"a piece of channel 'bad' must be \(lower, upper, density\)"),
        ([(0, OUTPUT, 1)], "must not mention the output"),
        ([], "needs at least one atom or piece"),
        ([(0, 0.5, 1)], "floating-point number"),
    ],
)
def test_what_is_no_piece_is_refused(pieces: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SymbolicChannel("bad", x, pieces=pieces)


def test_square_roots_of_constants_may_stand_in_a_density() -> None:
    b = Variable("b", 0, oo, open="left")
    half = SymbolicChannel("one-sided", (), pieces=[(0, oo, sqrt(4) * exp(-OUTPUT / b) / (2 * b))])
    assert half.total() == 1
