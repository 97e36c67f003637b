"""A real symbolic variable that carries its domain, so that statements need no separate assumptions."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Mapping
from types import NoneType
from typing import Any, Literal

from sympy import (
    Basic,
    Expr,
    Float,
    Number,
    Rational,
    S,
    Symbol,
    SympifyError,
    ceiling,
    exp,
    floor,
    nan,
    oo,
    sympify,
    zoo,
)

Ends = Literal["", "left", "right", "both"]
OPEN_ENDS: dict[tuple[bool, bool], Ends] = {
    (False, False): "",
    (True, False): "left",
    (False, True): "right",
    (True, True): "both",
}
"""The name of an interval by whether its lower and its upper bound are excluded."""

_NAME = re.compile(r"(?!(lo|hi)(_|$))[A-Za-z][A-Za-z0-9_]*")
_TAKEN = {"exp", "log", "erf", "Pi", "sqrt", "Max", "Min", "Abs", "Ind"}


class Variable(Symbol):
    """A SymPy symbol with the interval it ranges over.

    name: a Python identifier; the variable's name in reports and in report.json.
    lower, upper: numbers or expressions in other variables (`c - r`); `-oo` and `oo` for an unbounded interval.
    open: the excluded bounds: "", "left", "right" or "both". Infinite ones always are.
    integer: only whole numbers are meant. Proofs over the reals still hold; counterexamples are whole. A bound that is
        a number, and no whole one, becomes the next whole number inside: from 3/2 is from 2.
    exp_of: the variable is e**exp_of, and lies in the interval too.   log_of: it is the logarithm of that.
    latex: how it is typeset; the name if not given.

    Raises ValueError for a name that is no identifier, and for bounds that are no finite or infinite real expression.
    """

    __slots__ = ("exp_of", "integer_valued", "latex", "log_of", "lower", "lower_open", "upper", "upper_open")

    lower: Expr
    upper: Expr
    lower_open: bool
    upper_open: bool
    integer_valued: bool
    exp_of: Expr | None
    log_of: Expr | None
    latex: str

    def __new__(
        cls,
        name: str,
        lower: Any,
        upper: Any,
        *,
        open: Ends = "",  # noqa: A002  (the field's word for an interval without its end)
        integer: bool = False,
        exp_of: Any = None,
        log_of: Any = None,
        latex: str | None = None,
    ) -> Variable:
        """Build the symbol; see the class."""
        if not isinstance(name, str) or not _NAME.fullmatch(name) or keyword.iskeyword(name) or name in _TAKEN:
            raise ValueError(
                "name must be a plain identifier (letters, digits, underscores), no keyword or function, and not start "
                f"with lo or hi, which proofs use for the slacks; got {name!r}"
            )
        if open not in ("", "left", "right", "both"):
            raise ValueError(f'open must be "", "left", "right" or "both", got {open!r}')
        if exp_of is not None and log_of is not None:
            raise ValueError(
                f"one of exp_of and log_of may be given for {name!r}, got exp_of={exp_of}, log_of={log_of}"
            )
        variable: Variable = Symbol.__xnew__(cls, name, real=True)  # type: ignore[assignment]
        variable.lower = _bound(name, "lower", lower)
        variable.upper = _bound(name, "upper", upper)
        variable.lower_open = open in ("left", "both") or variable.lower is -oo
        variable.upper_open = open in ("right", "both") or variable.upper is oo
        variable.integer_valued = integer
        if integer:
            _make_whole(variable)
        variable.exp_of = None if exp_of is None else exact(exp_of)
        variable.log_of = None if log_of is None else exact(log_of)
        variable.latex = latex or name
        return variable

    def _hashable_content(self) -> tuple[Any, ...]:
        bounds = (self.lower, self.upper, self.lower_open, self.upper_open)
        # SymPy sorts by these, and None is not comparable.
        return (self.name, *bounds, self.integer_valued, self.exp_of is None, self.argument or S.Zero)

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        options = {"open": OPEN_ENDS[self.lower_open, self.upper_open], "integer": self.integer_valued}
        return (self.name, self.lower, self.upper), {
            **options,
            "exp_of": self.exp_of,
            "log_of": self.log_of,
            "latex": self.latex,
        }

    def __getstate__(self) -> None:
        return None

    def _latex(self, _printer: object) -> str:
        return self.latex

    @property
    def argument(self) -> Expr | None:
        """The expression whose exponential or logarithm the variable is; None if it is neither."""
        return self.log_of if self.exp_of is None else self.exp_of

    @property
    def symbol(self) -> Symbol:
        """The name alone, which SymPy's code printers (lambdify) require of any class called Variable."""
        return Symbol(self.name, real=True)

    def renamed(self, name: str, latex: str | None = None) -> Variable:
        """A variable with the same domain and another name."""
        options: dict[str, Any] = {**self.__getnewargs_ex__()[1], "latex": latex}
        return Variable(name, self.lower, self.upper, **options)


def variables_of(expressions: Iterable[Expr]) -> list[Variable]:
    """All variables in the expressions, and in the variables' domains; each after those its domain needs.

    Raises ValueError for a symbol without a domain, two variables of one name, and cyclic domains.
    """
    found: dict[Variable, None] = {}
    for expression in expressions:
        for symbol in sorted(expression.free_symbols, key=_by_name):
            _visit(symbol, found, ())
    by_name: dict[str, Variable] = {}
    for variable in found:
        if by_name.setdefault(variable.name, variable) != variable:
            raise ValueError(f"two variables named {variable.name!r} with different domains in one statement")
    return list(found)


def unused(name: str, others: Iterable[Symbol]) -> str:
    """The name, with underscores after it until none of the other symbols has it."""
    taken = {other.name for other in others}
    while name in taken:
        name += "_"
    return name


def in_order(variables: Iterable[Variable], linked: Callable[[Variable], bool]) -> list[Variable]:
    """The variables, each after those in its bounds, and in its exponent if `linked`."""
    ordered: list[Variable] = []
    among = list(variables)

    def place(variable: Variable) -> None:
        if variable in ordered:
            return
        needs = [
            variable.lower,
            variable.upper,
            *([variable.argument] if linked(variable) and variable.argument else []),
        ]
        for needed in among:
            if needed != variable and any(part.has(needed) for part in needs):
                place(needed)
        ordered.append(variable)

    for variable in among:
        place(variable)
    return ordered


def substituted(expression: Expr, replacements: Mapping[Any, Any]) -> Expr:
    """The expression with all replacements made simultaneously."""
    return expression.subs(dict(replacements), simultaneous=True)


def substitute_domain(variable: Variable, rewrite: Mapping[Any, Any] | Callable[[Expr], Expr]) -> Variable:
    """The variable with its bounds and its exponent rewritten, by replacements or by a function of an expression."""
    _, options = variable.__getnewargs_ex__()
    parts = (variable.lower, variable.upper, variable.exp_of, variable.log_of)
    moved = [
        None if part is None else rewrite(part) if callable(rewrite) else substituted(part, rewrite) for part in parts
    ]
    lower, upper, exp_of, log_of = moved
    return Variable(variable.name, lower, upper, **{**options, "exp_of": exp_of, "log_of": log_of})  # type: ignore[arg-type]


def replacements(what: str, variables: Iterable[Variable], values: Mapping[Variable, Any]) -> dict[Any, Any]:
    """The replacement of each variable, by name, and of those whose domains change; ValueError for unknown names."""
    own = {variable.name: variable for variable in variables}
    if not isinstance(values, Mapping) or not all(isinstance(variable, Variable) for variable in values):
        raise ValueError(f"values must be numbers or expressions by Variable, as {{x: 1}}, got {values!r}")
    missing = sorted(variable.name for variable in values if variable.name not in own)
    if missing:
        raise ValueError(f"{what} has no {', '.join(missing)}; it has {', '.join(sorted(own))}")
    swap: dict[Any, Any] = {own[variable.name]: exact(value) for variable, value in values.items()}
    for variable in own.values():
        if variable not in swap and substitute_domain(variable, swap) != variable:
            swap[variable] = substitute_domain(variable, swap)
    return swap


def exact(value: Any) -> Any:
    """The value as a SymPy expression; ValueError for texts and other objects, and for floats, which are not exact."""
    try:
        known = not isinstance(value, str | bytes | NoneType)
        expression = sympify(value) if known else None
    except (SympifyError, TypeError, AttributeError):
        expression = None
    if expression is None or expression in (S.true, S.false):
        raise ValueError(f"{value!r} is no number and no expression of SymPy, as Rational(1, 3) and x + 1 are")
    numbers = expression.atoms(Number, type(zoo)) if isinstance(expression, Basic) else set()
    inexact = sorted(str(number) for number in numbers if isinstance(number, Float))
    if inexact:
        raise ValueError(
            f"{', '.join(inexact)} is a floating-point number; write it exactly, as Rational('0.1') or as a fraction"
        )
    if any(_digits(number) > 4000 for number in numbers if isinstance(number, Rational)):
        raise ValueError("a number of more than 4000 digits cannot be reported; write it as a power")
    if zoo in numbers or nan in numbers:
        raise ValueError(f"{expression} divides by zero")
    return expression


def _digits(number: Any) -> float:
    return max(int(number.p).bit_length(), int(number.q).bit_length()) * 0.30103


def _bound(name: str, side: str, value: Any) -> Expr:
    try:
        end = exact(value)
    except ValueError as error:
        raise ValueError(f"{side} end of {name!r}: {error}") from None
    outwards = oo if side == "upper" else -oo
    if not isinstance(end, Expr) or end.is_extended_real is False or (end.is_infinite and end != outwards):
        raise ValueError(f"{side} end of {name!r} must be a real number or expression, got {value!r}")
    return end


def _make_whole(variable: Variable) -> None:
    """Move bounds that are numbers, but not whole, to the next whole number inside, which belongs to the domain."""
    if variable.lower.is_number and variable.lower.is_finite and not variable.lower.is_Integer:
        variable.lower, variable.lower_open = ceiling(variable.lower), False
    if variable.upper.is_number and variable.upper.is_finite and not variable.upper.is_Integer:
        variable.upper, variable.upper_open = floor(variable.upper), False


def _by_name(symbol: Any) -> str:
    return symbol.name


def _visit(symbol: Symbol, found: dict[Variable, None], path: tuple[Symbol, ...]) -> None:
    if symbol in found:
        return
    if not isinstance(symbol, Variable):
        raise ValueError(
            f"symbol {symbol.name!r} has no domain; "
            f"write Variable({symbol.name!r}, lower, upper), with -oo or oo if meant"
        )
    if symbol in path:
        raise ValueError(f"the domain of {symbol.name!r} depends on itself")
    needs = symbol.lower.free_symbols | symbol.upper.free_symbols
    if symbol.argument is not None and not ranges_over_all_exponentials(symbol):
        needs |= symbol.argument.free_symbols
    for needed in sorted(needs, key=_by_name):
        _visit(needed, found, (*path, symbol))
    found[symbol] = None


def ranges_over_all_exponentials(variable: Variable) -> bool:
    """Whether the domain is exactly the exponential's; if not, statements about the variable need its exponent."""
    exponent = variable.exp_of
    inner = next(iter(exponent.free_symbols), None) if exponent is not None else None
    if (
        exponent is None
        or not isinstance(inner, Variable)
        or inner.integer_valued
        or inner.argument is not None
        or not (exponent / inner).is_positive
    ):
        return False
    factor = exponent / inner  # a number, as its sign is known
    bounds = (exp(factor * inner.lower), exp(factor * inner.upper), inner.lower_open, inner.upper_open)
    return bounds == (variable.lower, variable.upper, variable.lower_open, variable.upper_open)


EPSILON = Variable("epsilon", 0, oo, open="left", latex=r"\varepsilon")
"""The privacy parameter, in nats, positive and finite."""

T = Variable("t", 1, oo, open="left", exp_of=EPSILON)
"""e**epsilon: the ratio that epsilon-LDP allows."""

ROOT_T = Variable("s", 1, oo, open="left", exp_of=EPSILON / 2)
"""e**(epsilon/2), the symbol of the piecewise mechanism; t = s**2."""
