"""Variables carry their domains, and say so when they cannot."""

import pytest
from sympy import Symbol, oo

from ldp_audit.mechanisms.variable import EPSILON, T, Variable, exact, variables_of
from tests.together import together


def test_two_variables_of_one_name_and_different_domains_are_different() -> None:
    assert Variable("x", 0, 1) == Variable("x", 0, 1)
    assert Variable("x", 0, 1) != Variable("x", 0, 2)
    assert hash(Variable("x", 0, 1)) != hash(Variable("x", 0, 1, open="left"))


def test_sympy_can_sort_them() -> None:
    first, second = Variable("x", 0, 1), Variable("x", 0, 2)
    assert first.compare(Variable("x", 0, 1)) == 0
    assert first.compare(second) == -second.compare(first) != 0
    assert T.compare(Variable("t", 1, oo, open="left")) != 0


def test_a_statement_cannot_mix_them() -> None:
    with pytest.raises(ValueError, match="two variables named 'x'"):
        variables_of([Variable("x", 0, 1) + Variable("x", 0, 2)])


def test_each_variable_comes_after_those_its_domain_needs() -> None:
    c, r = Variable("c", -oo, oo), Variable("r", 0, oo, open="left")
    w = Variable("w", c - r, c + r)
    names = [variable.name for variable in variables_of([w])]
    assert names.index("w") > max(names.index("c"), names.index("r"))


def test_a_link_to_an_exponent_is_no_need() -> None:
    assert variables_of([T]) == [T]
    assert set(variables_of([T, EPSILON])) == {T, EPSILON}


def test_a_plain_symbol_is_refused_with_the_way_out() -> None:
    with pytest.raises(ValueError, match=r"symbol 'q' has no domain; write Variable\('q', lower, upper\)"):
        variables_of([Symbol("q")])


@together("name", ["", "1x", "lambda", "a b", "lo_x", "hi_x"])
def test_names_that_a_report_could_not_read_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name must"):
        Variable(name, 0, 1)


def test_an_unknown_kind_of_openness_is_refused() -> None:
    with pytest.raises(ValueError, match="open must be"):
        Variable("x", 0, 1, open="neither")  # type: ignore[arg-type]


def test_no_variable_is_an_exponential_and_a_logarithm() -> None:
    v = Variable("v", 0, 1)
    with pytest.raises(ValueError, match="one of exp_of and log_of may be given for 'u', got exp_of=v, log_of=v"):
        Variable("u", 0, 9, exp_of=v, log_of=v)


def test_floats_have_no_exact_meaning() -> None:
    with pytest.raises(ValueError, match="floating-point"):
        exact(0.1)
    with pytest.raises(ValueError, match="floating-point"):
        Variable("x", 0, 0.5)


def test_renaming_keeps_the_domain() -> None:
    x = Variable("x", 0, 3, open="right", integer=True)
    y = x.renamed("y")
    assert (y.lower, y.upper, y.upper_open, y.integer_valued) == (0, 3, True, True)
