"""What `is_private` asks of a channel, and what it refuses to be asked."""

from __future__ import annotations

import pytest
from sympy import Rational, exp, oo

from ldp_audit.claims.privacy import is_private, require_channel
from ldp_audit.claims.settle import BadClaimError, settle
from ldp_audit.claims.verdict import Verdict, combine
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.hybrid import HYBRID
from ldp_audit.mechanisms.laplace import LAPLACE
from ldp_audit.mechanisms.perturbed_encoding import PERTURBED_ENCODING
from ldp_audit.mechanisms.perturbed_sampling import PERTURBED_SAMPLING
from ldp_audit.mechanisms.piecewise import PIECEWISE
from ldp_audit.mechanisms.two_point import CENTER, RADIUS, TWO_POINT
from ldp_audit.mechanisms.variable import ROOT_T, T, Variable
from ldp_audit.mechanisms.weights import SymbolicWeights

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


S_ = ROOT_T
D = Variable("D", 0, oo, open="left")


def test_the_piecewise_mechanism_is_private_with_t_and_not_with_its_root() -> None:
    assert verdict(PIECEWISE, S_**2) is Verdict.PROVED
    assert verdict(PIECEWISE, S_) is Verdict.REFUTED


def test_a_mixed_law_is_private_part_by_part() -> None:
    assert verdict(HYBRID, S_**2) is Verdict.PROVED
    assert verdict(HYBRID, (S_**2 + 1) / 2) is Verdict.REFUTED


def test_a_support_that_moves_with_the_input_is_refuted() -> None:
    assert verdict(SymbolicChannel("moving", x, pieces=[(x, x + 1, 1)]), 10**9) is Verdict.REFUTED


def test_laplace_noise_is_private_between_neighbours_only() -> None:
    (where,), b = LAPLACE.inputs, next(v for v in LAPLACE.variables() if v.name == "b")
    near = LAPLACE.at({where: Variable("x_prime", where - D, where + D)})

    def between_neighbours(t: object) -> Verdict:
        return combine([settle(part).verdict for part in is_private(LAPLACE, t, neighbour=near)])

    assert between_neighbours(exp(D / b)) is Verdict.PROVED
    assert between_neighbours(exp(D / (2 * b))) is Verdict.REFUTED
    assert verdict(LAPLACE, exp(D / b)) is Verdict.REFUTED


def test_flat_pieces_that_never_overlap_are_not_held_against_each_other() -> None:
    """Densities 9 and 1 side by side, at the same places for every input: nothing is given away."""
    fixed = SymbolicChannel("fixed", x, pieces=[(0, Rational(1, 10), 9), (Rational(1, 10), Rational(2, 10), 1)])
    assert Verdict.REFUTED not in [settle(part).verdict for part in is_private(fixed, 1)]


def test_exponential_pieces_that_never_overlap_are_not_held_against_each_other() -> None:
    left = (0, 1, 9 * exp(-OUTPUT) / (10 * (1 - exp(-1))))
    right = (1, 2, exp(1 - OUTPUT) / (10 * (1 - exp(-1))))
    fixed = SymbolicChannel("fixed", x, pieces=[left, right])
    assert Verdict.REFUTED not in [settle(part).verdict for part in is_private(fixed, 1)]


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ([(0, 1, 1), (2, 3, 1)], "must begin where the one before ends"),
        ([(0, 1, x - 1), (1, 2, 2 - x)], "the density x - 1 must be >= 0, got -1"),
        ([(0, 1, Rational(1, 2))], "must add up to 1"),
        ([(0, x - Rational(1, 2), 2), (x - Rational(1, 2), Rational(1, 2), 2)], "must not end before it begins"),
        ([(0, 1, (2 - 4 * OUTPUT) * exp(-2 * OUTPUT) * exp(2) / 2)], "must be >= 0"),
    ],
)
def test_pieces_that_make_no_law_are_refused(pieces: list, message: str) -> None:
    with pytest.raises(BadClaimError, match=message):
        is_private(SymbolicChannel("bad", x, pieces=pieces), T)


def test_laws_by_classes_are_compared_within_their_groups() -> None:
    assert verdict(PERTURBED_SAMPLING, T) is Verdict.PROVED
    assert verdict(PERTURBED_SAMPLING, (T + 1) / 2) is Verdict.REFUTED
    sizes = {v: {"d": 2, "k": 1}[v.name] for v in PERTURBED_ENCODING.variables() if v.name in "dk"}
    encoding = PERTURBED_ENCODING.at(sizes)
    assert verdict(encoding, T) is Verdict.REFUTED
    assert verdict(encoding, T * (2 * T + 1) / (T + 2)) is Verdict.PROVED


def test_a_law_by_classes_that_does_not_add_up_is_refused() -> None:
    with pytest.raises(BadClaimError, match="must add up to 1"):
        is_private(SymbolicWeights("half", [("one", 1, Rational(1, 2))]), T)
