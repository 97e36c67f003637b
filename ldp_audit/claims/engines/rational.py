"""Exact rational functions: a SymPy expression as numerator over denominator, in named generators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx
from sympy import Add, Expr, Integer, Mul, Pow, Rational, Symbol, sympify


class NotRationalFunctionError(ValueError):
    """The expression is no rational function of its variables."""


_LARGEST = 200
"""Larger exponents are not expanded; the checker has the same bound."""


@dataclass(frozen=True)
class Ratio:
    """numerator / denominator, without common factors."""

    numerator: fmpq_mpoly
    denominator: fmpq_mpoly

    def __add__(self, other: Ratio) -> Ratio:
        numerator = self.numerator * other.denominator + other.numerator * self.denominator
        return reduced(numerator, self.denominator * other.denominator)

    def __sub__(self, other: Ratio) -> Ratio:
        return self + Ratio(-other.numerator, other.denominator)

    def __mul__(self, other: Ratio) -> Ratio:
        return reduced(self.numerator * other.numerator, self.denominator * other.denominator)

    def __truediv__(self, other: Ratio) -> Ratio:
        return reduced(self.numerator * other.denominator, self.denominator * other.numerator)


def reduced(numerator: fmpq_mpoly, denominator: fmpq_mpoly) -> Ratio:
    """The fraction in lowest terms; ZeroDivisionError for denominator 0."""
    if denominator.is_zero():
        raise ZeroDivisionError("division by an expression that is zero everywhere")
    common = numerator.gcd(denominator)
    if not common.is_one():
        numerator, denominator = numerator / common, denominator / common
    return Ratio(numerator, denominator)


class Ring:
    """Polynomials over the rationals in the given generators."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._context = fmpq_mpoly_ctx.get(self.names or ("unused",), Ordering.lex)
        self._generators = dict(zip(self.names, self._context.gens(), strict=False))

    def constant(self, number: Rational | int) -> Ratio:
        """A number as a ratio."""
        exact: Any = sympify(number)
        return Ratio(self._context.constant(fmpq(int(exact.p), int(exact.q))), self._one())

    def generator(self, name: str) -> Ratio:
        """A generator as a ratio."""
        return Ratio(self._generators[name], self._one())

    def monomial(self, powers: Mapping[str, int]) -> fmpq_mpoly:
        """The product of powers of generators, by name."""
        return self._context.from_dict({tuple(powers.get(name, 0) for name in self.names or ("",)): 1})

    def convert(
        self,
        expression: Expr,
        environment: Mapping[Symbol, Ratio],
        divisors: list[Ratio],
        other: Callable[[Expr], Ratio] | None = None,
    ) -> Ratio:
        """The expression with its symbols replaced from the environment.

        divisors: is extended by every divisor; the expression is defined if none of them vanishes.
        other: called for non-arithmetic terms (a maximum, a logarithm).
        Raises NotRationalFunctionError for such a term if `other` is not given.
        """
        if isinstance(expression, Rational):
            return self.constant(expression)
        if isinstance(expression, Symbol):
            return environment[expression]
        if isinstance(expression, (Add, Mul)):
            parts = [self.convert(part, environment, divisors, other) for part in expression.args]
            total = parts[0]
            for part in parts[1:]:
                total = total + part if isinstance(expression, Add) else total * part
            return total
        if isinstance(expression, Pow) and isinstance(expression.exp, Integer) and abs(int(expression.exp)) < _LARGEST:
            base = self.convert(expression.base, environment, divisors, other)
            return self._power(base, int(expression.exp), divisors)
        if other is None:
            raise NotRationalFunctionError(f"{expression} is no rational function of its variables")
        return other(expression)

    def _power(self, base: Ratio, exponent: int, divisors: list[Ratio]) -> Ratio:
        if exponent >= 0:
            return Ratio(base.numerator**exponent, base.denominator**exponent)
        if base.numerator.is_zero():
            raise ZeroDivisionError("division by an expression that is zero everywhere")
        divisors.append(base)
        return Ratio(base.denominator**-exponent, base.numerator**-exponent)

    def _one(self) -> fmpq_mpoly:
        return self._context.constant(1)


def text(polynomial: fmpq_mpoly) -> str:
    """The polynomial in Python's arithmetic notation."""
    return str(polynomial).replace("^", "**")
