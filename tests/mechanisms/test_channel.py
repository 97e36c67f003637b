"""The symbolic channel: what is derived from the atoms."""

import pytest
from sympy import Rational, oo, simplify

from ldp_audit.mechanisms.channel import Ind, SymbolicChannel
from ldp_audit.mechanisms.values.two_point import CENTER, RADIUS, TWO_POINT, WEIGHT
from ldp_audit.mechanisms.variable import T, Variable
from tests.together import together

x = Variable("x", 0, 1)
coin = SymbolicChannel("coin", x, {1: (1 + x * (T - 1)) / (T + 1), 0: (T - x * (T - 1)) / (T + 1)})


def test_total_mean_and_variance_of_a_coin() -> None:
    p = coin.atoms[0].probability
    assert simplify(coin.total() - 1) == 0
    assert simplify(coin.mean() - p) == 0
    assert simplify(coin.variance() - p * (1 - p)) == 0


def test_the_twin_has_its_own_input_and_the_same_parameters() -> None:
    twin = TWO_POINT.twin()
    assert [v.name for v in twin.inputs] == ["w_prime"]
    assert twin.inputs[0].lower == CENTER - RADIUS
    assert {v.name for v in twin.variables()} == {"c", "r", "t", "w_prime"}


def test_inputs_whose_domains_need_each_other_get_twins_that_do_too() -> None:
    chosen = SymbolicChannel("own range", (CENTER, RADIUS, WEIGHT), list(TWO_POINT.atoms))
    second = chosen.twin()
    assert {str(symbol) for symbol in second.inputs[2].lower.free_symbols} == {"c_prime", "r_prime"}


def test_replacing_a_parameter_moves_the_domain_of_the_input() -> None:
    unit = TWO_POINT.at({CENTER: 0, RADIUS: 1})
    assert (unit.inputs[0].lower, unit.inputs[0].upper) == (-1, 1)


def test_replacing_goes_by_name_so_that_a_moved_input_is_still_found() -> None:
    moved = TWO_POINT.at({RADIUS: 2})
    assert not moved.at({WEIGHT: CENTER}).mean().has(*moved.inputs)


def test_replacing_what_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="has no q; it has"):
        coin.at({Variable("q", 0, 1): 0})


def test_indicator() -> None:
    assert Ind(1, 1) == 1
    assert Ind(1, 2) == 0
    assert Ind(x, x) == 1
    assert Ind(x, 1).subs(x, 1) == 1


def test_outputs_that_depend_on_the_input_are_seen() -> None:
    assert not coin.outputs_depend_on_inputs()
    assert SymbolicChannel("leak", x, {x: 1}).outputs_depend_on_inputs()


@together(
    ("inputs", "atoms", "message"),
    [
        (x, {}, "needs at least one atom"),
        ("x", {1: 1}, "must be Variables"),
        (x, [1, 2], "must be \\(output, probability\\)"),
        (x, {1: 0.5, 0: 0.5}, "floating-point"),
    ],
)
def test_bad_definitions_are_refused(inputs: object, atoms: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SymbolicChannel("bad", inputs, atoms)  # type: ignore[arg-type]


def test_atoms_may_be_rational_numbers() -> None:
    half = SymbolicChannel("fair", Variable("z", -oo, oo), {0: Rational(1, 2), 1: Rational(1, 2)})
    assert half.mean() == Rational(1, 2)
