"""What `is_private` asks of a channel, and what it refuses to be asked."""

from __future__ import annotations

import pytest
from sympy import Rational, oo

from ldp_audit.claims.privacy import is_private, require_channel
from ldp_audit.claims.settle import BadClaimError, settle
from ldp_audit.claims.verdict import Verdict, combine
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.two_point import CENTER, RADIUS, TWO_POINT
from ldp_audit.mechanisms.variable import T, Variable

x = Variable("x", 0, 1)
y = Variable("y", 0, 1)
inner = Variable("b", 0, y)


def verdict(channel: SymbolicChannel, t: object) -> Verdict:
    return combine([settle(part).verdict for part in is_private(channel, t)])


def test_the_two_point_mechanism_is_private_with_t_and_not_below() -> None:
    assert verdict(TWO_POINT, T) is Verdict.PROVED
    assert verdict(TWO_POINT, (T + 1) / 2) is Verdict.REFUTED


@pytest.mark.parametrize("inputs", [[y, inner], [inner, y]])
def test_the_order_of_the_inputs_does_not_matter(inputs: list[Variable]) -> None:
    p = Rational(1, 2) - y / 8 - inner / 8
    channel = SymbolicChannel("two inputs", inputs, {1: p, 0: 1 - p})
    assert verdict(channel, Rational(3, 2)) is Verdict.REFUTED
    assert verdict(channel, 2) is Verdict.PROVED


def test_a_twin_does_not_capture_an_input_of_its_name() -> None:
    second = Variable("x_prime", 0, 1)
    p = (1 + x + second) / 4
    assert verdict(SymbolicChannel("captured", [x, second], {1: p, 0: 1 - p}), 2) is Verdict.REFUTED


def test_an_expression_in_the_place_of_an_input_is_an_input() -> None:
    identity = SymbolicChannel("identity", x, {1: x, 0: 1 - x})
    assert verdict(identity.at({x: 1 - y}), 1) is Verdict.REFUTED


def test_outputs_that_depend_on_the_input_are_compared_by_value() -> None:
    p = (1 + x * (T - 1)) / (T + 1)
    shown = SymbolicChannel("shows its input", x, {x + 2: p, -x - 2: 1 - p})
    assert verdict(shown, T) is Verdict.REFUTED


@pytest.mark.parametrize(
    ("atoms", "message"),
    [
        ([(1, x), (1, 1 - x)], "outputs 1 and 1 must differ"),
        ({1: 2, 0: 3}, "must add up to 1"),
        ({1: 2 * x, 0: 1 - 2 * x}, "must be >= 0, got -1 at x = 1"),
        ({x: Rational(1, 2), -x: Rational(1, 2)}, "outputs x and -x must differ, got 0 at x = 0"),
    ],
)
def test_what_is_no_channel_is_refused(atoms: object, message: str) -> None:
    with pytest.raises(BadClaimError, match=message):
        is_private(SymbolicChannel("bad", x, atoms), T)


def test_a_channel_without_inputs_keeps_nothing_private() -> None:
    with pytest.raises(BadClaimError, match="has no inputs"):
        is_private(TWO_POINT.at({TWO_POINT.inputs[0]: CENTER}), T)


def test_a_parameter_must_not_lean_on_an_input() -> None:
    with pytest.raises(ValueError, match="depends on an input, so it must be an input"):
        SymbolicChannel("leaning", x, {Variable("w", x, x + 1): 1})


def test_the_shipped_channels_are_channels() -> None:
    require_channel(TWO_POINT)
    require_channel(TWO_POINT.at({CENTER: 0, RADIUS: Variable("r", 1, oo)}))
