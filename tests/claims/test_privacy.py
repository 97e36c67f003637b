"""What `is_private` asks of a channel, and what it refuses to be asked."""

from __future__ import annotations

import pytest
from sympy import E, Integer, Rational, exp, oo

from ldp_audit.claims.privacy import is_private, require_channel
from ldp_audit.claims.settling import BadClaimError, settle
from ldp_audit.claims.verdict import Verdict, combine
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.noise.laplace import LAPLACE
from ldp_audit.mechanisms.selection.perturbed_encoding import PERTURBED_ENCODING
from ldp_audit.mechanisms.selection.perturbed_sampling import PERTURBED_SAMPLING
from ldp_audit.mechanisms.values.hybrid import HYBRID
from ldp_audit.mechanisms.values.piecewise import PIECEWISE
from ldp_audit.mechanisms.values.two_point import CENTER, RADIUS, TWO_POINT
from ldp_audit.mechanisms.variable import ROOT_T, T, Variable
from ldp_audit.mechanisms.weights import OutputClass, SymbolicWeights
from tests.together import together

x = Variable("x", 0, 1)
y = Variable("y", 0, 1)
inner = Variable("b", 0, y)


def verdict(channel: SymbolicChannel, t: object) -> Verdict:
    return combine([settle(part).verdict for part in is_private(channel, t)])


def test_the_two_point_mechanism_is_private_with_t_and_not_below() -> None:
    assert verdict(TWO_POINT, T) is Verdict.PROVED
    assert verdict(TWO_POINT, (T + 1) / 2) is Verdict.REFUTED


@together("inputs", [[y, inner], [inner, y]])
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


@together(
    ("atoms", "message"),
    [
        ([(1, x), (1, 1 - x)], "outputs 1 and 1 must differ"),
        ({1: 2, 0: 3}, "must add up to 1"),
        ({1: 2 * x, 0: 1 - 2 * x}, "must be >= 0, got -1 at x = 1"),
        ({x: Rational(1, 2), -x: Rational(1, 2)}, "outputs x and -x must differ, got 0 at x = 0"),
        (
            {1: T ** -abs(x - 1), 0: 1 - T ** -abs(x - 1)},
            r"could not be shown .*: derivatives do not settle it",
        ),
    ],
)
def test_what_is_no_channel_is_refused(atoms: object, message: str) -> None:
    with pytest.raises(BadClaimError, match=message):
        is_private(SymbolicChannel("bad", x, atoms), T)


@pytest.mark.slow
def test_distances_of_whole_numbers_may_be_exponents() -> None:
    """The truncated geometric mechanism, and the exponential mechanism whose normalisation depends on the input."""
    a, z = 1 / T, Variable("z", 0, 2, integer=True)
    middle = (1 - a) / (1 + a) * a ** abs(z - 1)
    ends = SymbolicChannel("ends", z, {0: a**z / (1 + a), 1: middle, 2: a ** (2 - z) / (1 + a)})
    assert verdict(ends, T**2) is Verdict.PROVED
    assert verdict(ends, ROOT_T**3) is Verdict.REFUTED
    weights = {y: ROOT_T ** -abs(z - y) for y in range(3)}
    chosen = SymbolicChannel("chosen", z, {y: weight / sum(weights.values()) for y, weight in weights.items()})
    assert verdict(chosen, T) is Verdict.PROVED
    assert verdict(chosen, ROOT_T) is Verdict.REFUTED


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


@together(
    ("pieces", "message"),
    [
        ([(0, 1, 1), (2, 3, 1)], r"must begin where the one before ends, at 1, got 2\b"),
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


def test_a_parameter_does_not_lean_on_an_input_by_both_ends_or_by_its_exponent() -> None:
    for leaning in (Variable("w", -x, x), Variable("w", 1, E, exp_of=x)):
        with pytest.raises(ValueError, match="depends on an input, so it must be an input"):
            is_private(SymbolicChannel("leaning", x, {1: (3 + leaning) / 9, 0: 1 - (3 + leaning) / 9}), 1)


def test_exponentials_that_touch_are_not_held_against_each_other_at_the_point() -> None:
    first, second = 1 - exp(-1), (exp(-2) - exp(-4)) / 2
    pieces = [(0, 1, exp(-OUTPUT) / first / 10), (1, 2, 9 * exp(-2 * OUTPUT) / second / 10)]
    assert verdict(SymbolicChannel("fixed", x, pieces=pieces), 1) is Verdict.PROVED


def test_densities_that_vanish_are_compared_without_logarithms() -> None:
    assert verdict(SymbolicChannel("late", x, pieces=[(0, 1, 0), (1, 2, 2 * (OUTPUT - 1))]), 1) is Verdict.PROVED
    tilted = SymbolicChannel("tilted", x, pieces=[(0, 1, 1 + x * (2 * OUTPUT - 1) / 2)])
    assert verdict(tilted, 2) is Verdict.PROVED
    assert verdict(tilted, Rational(19, 10)) is Verdict.REFUTED
    parabola = SymbolicChannel("parabola", x, pieces=[(-1, 2, (OUTPUT - x) ** 2 / (3 - 3 * x + 3 * x**2))])
    assert verdict(parabola, 10**6) is Verdict.REFUTED
    ramp = SymbolicChannel("ramp", x, pieces=[(0, oo, OUTPUT * exp(-OUTPUT))])
    assert verdict(ramp, 1) is Verdict.PROVED


def test_a_neighbour_is_a_law_of_the_same_shape_at_another_input() -> None:
    shown = SymbolicChannel("shown", x, {1: x, 0: 1 - x})
    for neighbour, message in (
        (shown, "must be at another input"),
        (SymbolicChannel("other", y, {1: y, 0: (1 - y) / 2, 2: (1 - y) / 2}), "with others"),
        (shown.at({x: Variable("near", x - 1, x + 1)}), "must be >= 0, got -1"),
    ):
        with pytest.raises(BadClaimError, match=message):
            is_private(shown, 1, neighbour=neighbour)


def test_a_ratio_that_is_not_positive_is_refused() -> None:
    for t in (0, -1):
        with pytest.raises(BadClaimError, match="the ratio t must be positive"):
            is_private(TWO_POINT, t)


def test_the_report_is_not_taken_for_a_neighbour_of_its_name() -> None:
    where, report = Variable("u", -oo, oo), Variable("y", -oo, oo)
    law = SymbolicChannel("even", where, pieces=[(-1, 1, Rational(1, 2) + OUTPUT * exp(-(where**2)) / 4)])
    with pytest.raises(ValueError, match="two variables named 'y'"):
        law.at({where: report})


RANK = Variable("i", 1, oo, integer=True)


def test_the_classes_of_a_family_are_held_against_each_other() -> None:
    ranks = SymbolicWeights("ranks", [OutputClass("rank", Integer(1), RANK / 6, (RANK, Integer(1), Integer(3)))])
    assert verdict(ranks, 3) is Verdict.PROVED
    assert verdict(ranks, 2) is Verdict.REFUTED


@together(
    ("classes", "message"),
    [
        ([("a", 2, 1), ("b", -1, 1)], "the number of b must be >= 0, got -1"),
        ([("a", Rational(1, 2), 1), ("b", 1, Rational(1, 2))], "the number of a must be whole, got 1/2"),
        (
            [OutputClass("r", Integer(1), (7 - 3 * RANK) / 3, (RANK, Integer(1), Integer(3)))],
            "the probability of r must be >= 0, got -2/3 at i = 3",
        ),
    ],
)
def test_classes_that_make_no_law_are_refused(classes: list, message: str) -> None:
    with pytest.raises(BadClaimError, match=message):
        is_private(SymbolicWeights("bad", classes), 10)


def test_a_one_sided_neighbour_is_asked_in_both_directions() -> None:
    """Noise that only adds shows which of two numbers is less: one direction holds, the other has no bound."""
    b, far = Variable("b", 0, oo, open="left"), Variable("D", 0, oo, open="left")
    place = Variable("x", -oo, oo)
    law = SymbolicChannel("one-sided", place, pieces=[(place, oo, exp((place - OUTPUT) / b) / b)], public=b)
    near = law.at({place: Variable("x2", place, place + far)})
    parts = is_private(law, exp(far / b), neighbour=near)
    assert any(part.label.endswith(", back") for part in parts)
    assert Verdict.REFUTED in {settle(part).verdict for part in parts}


def test_an_input_that_is_left_out_is_not_taken_for_public() -> None:
    """Two bits, each by randomised response, with only one of them called an input."""
    first, second = (Variable(name, 0, 1, integer=True) for name in ("x", "y"))
    bit = {1: lambda v: (1 + v * (T - 1)) / (T + 1), 0: lambda v: (T - v * (T - 1)) / (T + 1)}
    atoms = {2 * i + j: bit[i](first) * bit[j](second) for i in (0, 1) for j in (0, 1)}
    with pytest.raises(BadClaimError, match=r"does not say whether y is private: name it in inputs=\(...\)"):
        is_private(SymbolicChannel("two bits", first, atoms), T)
    assert verdict(SymbolicChannel("two bits", (first, second), atoms), T) is Verdict.REFUTED
    assert verdict(SymbolicChannel("two bits", (first, second), atoms), T**2) is Verdict.PROVED
    assert verdict(SymbolicChannel("one bit, the other known", first, atoms, public=second), T) is Verdict.PROVED


def test_a_delta_is_allowed_for_over_every_set_of_outputs() -> None:
    """Response that shows its input with probability delta: (epsilon, delta) holds, and no smaller delta does."""
    bit, leak = Variable("x", 0, 1, integer=True), Variable("delta", 0, 1)
    told = (1 + bit * (T - 1)) / (T + 1)
    atoms = {1: (1 - leak) * told, 0: (1 - leak) * (1 - told), 2: leak * bit, 3: leak * (1 - bit)}
    law = SymbolicChannel("response that leaks", bit, atoms, public=leak)
    assert {settle(part).verdict for part in is_private(law, T, delta=leak)} == {Verdict.PROVED}
    for t, delta in ((T, leak / 2), ((T + 1) / 2, leak), (T, Rational(1, 2))):
        assert Verdict.REFUTED in {settle(part).verdict for part in is_private(law, t, delta=delta)}
    with pytest.raises(BadClaimError, match="delta needs a channel of at most 6 outputs and no density"):
        is_private(PIECEWISE, T, delta=leak)


def test_outputs_of_a_neighbour_are_found_by_value_where_only_one_of_the_two_moves_them() -> None:
    """P(0) is 3/5 at x = 1 and 1/4 at x = 0; the other law says the same of both inputs."""
    bit = Variable("x", 0, 1, integer=True)
    rises = Rational(1, 4) + Rational(3, 20) * bit
    law = SymbolicChannel("law", bit, {bit: rises, 1 - bit: 1 - rises})
    found = [settle(part).verdict for part in is_private(law, 2, neighbour=law.at({bit: Integer(1)}))]
    assert Verdict.REFUTED in found
    rises = Rational(1, 5) + Rational(3, 5) * bit
    same = SymbolicChannel("same", bit, {2 * bit: rises, 2 - 2 * bit: 1 - rises})
    assert {settle(part).verdict for part in is_private(same, 1, neighbour=same.at({bit: 1 - bit}))} == {Verdict.PROVED}


def test_the_twin_of_a_logarithm_goes_with_the_twin_of_its_argument() -> None:
    inside = Variable("w", 1, 3)
    logarithm = Variable("l", -oo, oo, log_of=inside)
    p = (1 + logarithm) / 5
    for order in ((logarithm, inside), (inside, logarithm)):
        assert verdict(SymbolicChannel("c", order, {0: p, 1: 1 - p}), 1) is Verdict.REFUTED


def test_a_piece_without_density_is_no_support() -> None:
    v = Variable("v", -1, 1)
    uniform = SymbolicChannel("v or not", v, pieces=[(v - 2, -1, 0), (-1, 1, Rational(1, 2)), (1, v + 2, 0)])
    assert verdict(uniform, T) is Verdict.PROVED
    shifted = SymbolicChannel("v shifts", v, pieces=[(-3, v - 1, 0), (v - 1, v + 1, Rational(1, 2)), (v + 1, 3, 0)])
    assert verdict(shifted, T) is Verdict.REFUTED
