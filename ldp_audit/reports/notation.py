"""Formal expressions, which report.json has in Python's arithmetic notation, as a person writes them.

`readable` gives plain characters for a terminal: t^2, x', 1[x' = 0]. `typeset` gives LaTeX. Both read the text by
Python's grammar and evaluate nothing; what they do not know stays as it is.
"""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Mapping
from fractions import Fraction

_SUM, _PRODUCT, _SIGN, _POWER, _WHOLE = 1, 2, 3, 4, 5  # how tightly an operation binds
_LOOSE: dict[type[ast.operator], int] = {ast.Add: _SUM, ast.Sub: _SUM, ast.Mult: _PRODUCT, ast.Div: _PRODUCT}
_SIGNS: dict[type[ast.operator], str] = {ast.Add: " + ", ast.Sub: " - ", ast.Mult: " ", ast.Div: "/"}
_GREEK = {
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
    "lambda",
    "mu",
    "nu",
    "xi",
    "pi",
    "rho",
    "sigma",
    "tau",
    "phi",
    "chi",
    "psi",
    "omega",
}
_PLAIN_FUNCTIONS = {"Max": "max", "Min": "min", "log": "ln", "Ceil": "ceil", "Fl": "fl", "sqrt": "sqrt"}
_SIGNS_OF_HTML = {"&lt;=": "≤", "&gt;=": "≥", " != ": " ≠ ", " == ": " = ", "**": "^", "sqrt(": "√(", "sqrt ": "√"}
_RELATIONS = {"==": "=", "!=": r"\ne", "<=": r"\le", "<": "<"}
_PLAIN_RELATIONS = {"==": "=", "!=": "!=", "<=": "<=", "<": "<"}


def readable(text: str) -> str:
    """The expression in plain characters."""
    tree = _parsed(text)
    return text if tree is None else _Plain().of(tree)


def relation(sign: str) -> str:
    """A relation in plain characters."""
    return _PLAIN_RELATIONS.get(sign, sign)


def name(text: str) -> str:
    """A variable's name: x' for x_prime."""
    return _primed(text, "'")


def typeset(text: str) -> str:
    """The expression in LaTeX."""
    tree = _parsed(text)
    return rf"\text{{{text}}}" if tree is None else _Latex().of(tree)


def typeset_relation(sign: str) -> str:
    """A relation in LaTeX."""
    return _RELATIONS.get(sign, sign)


def in_html(words: str) -> str:
    """Words of a claim as HTML: powers raised, indices lowered, Greek letters and relations as such; all else escaped.

    What stands between backquotes is code, and stays.
    """
    parts = html.escape(words, quote=False).split("`")
    shown = [f"<code>{part}</code>" if place % 2 else _in_html(part) for place, part in enumerate(parts)]
    return "".join(shown) if len(parts) % 2 else _in_html("`".join(parts))


def _in_html(text: str) -> str:
    for sign, letter in _SIGNS_OF_HTML.items():
        text = text.replace(sign, letter)
    text = re.sub(r"(?<=[\w)\]'])\^(\((?:[^()]|\([^()]*\))*\)|-?[\w.]+(?:_\w+)?)", lambda one: _raised(one[1]), text)
    text = re.sub(r"\b([A-Za-z]|" + "|".join(_GREEK) + r")_(\w+?)\b", r"\1<sub>\2</sub>", text)
    return re.sub(r"\b(" + "|".join(_GREEK) + r")\b", lambda one: f"&{one[1]};", text)


def _raised(power: str) -> str:
    return f"<sup>{power[1:-1] if power.startswith('(') else power.rstrip('.')}</sup>{'.' * power.endswith('.')}"


def at_point(text: str, point: Mapping[str, str]) -> Fraction | None:
    """The exact value of a rational expression at rational numbers; None for anything else."""
    tree = _parsed(text)
    try:
        return None if tree is None else _value(tree, point)
    except (ArithmeticError, KeyError, ValueError):
        return None


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None


def _value(tree: ast.expr, point: Mapping[str, str]) -> Fraction:
    match tree:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return Fraction(number)
        case ast.Name(id=variable):
            return Fraction(point[variable])
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, point)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as power)) if 0 <= power <= 64:
            return _value(left, point) ** power
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _LOOSE:
            a, b = _value(left, point), _value(right, point)
            if isinstance(operation, ast.Div):
                return a / b
            return a * b if isinstance(operation, ast.Mult) else a + b if isinstance(operation, ast.Add) else a - b
    raise ValueError("no rational expression")


def _primed(text: str, mark: str) -> str:
    base, _, rest = text.partition("_prime")
    return base + mark + rest if text.endswith("_prime") else text


class _Plain:
    """Plain characters: each operation by how tightly it binds."""

    def of(self, tree: ast.expr, least: int = 0) -> str:
        """The expression, in brackets where it binds less tightly than `least`."""
        text, binds = self._of(tree)
        return text if binds >= least else self.brackets(text)

    def _of(self, tree: ast.expr) -> tuple[str, int]:
        match tree:
            case ast.Constant(value=value):
                return str(value), _WHOLE
            case ast.Name(id=variable):
                return self.variable(variable), _WHOLE
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return f"-{self.of(inner, _PRODUCT)}", _SUM
            case ast.BinOp(left=left, op=ast.Pow(), right=power):
                return self.power(left, power), _POWER
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self.quotient(left, right)
            case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _LOOSE:
                binds = _LOOSE[type(operation)]
                second = self.of(right, binds + isinstance(operation, ast.Sub))
                sign = self.times(left, second) if isinstance(operation, ast.Mult) else _SIGNS[type(operation)]
                signed = isinstance(left, ast.UnaryOp)  # -2 x needs no brackets by itself
                return self.of(left, _SUM if signed else binds) + sign + second, _SUM if signed else binds
            case ast.Call(func=ast.Name(id=function), args=arguments):
                return self.call(function, arguments)
            case ast.Tuple(elts=members):
                return self.brackets(", ".join(map(self.of, members))), _WHOLE
        return ast.unparse(tree), 0

    def brackets(self, text: str) -> str:
        return f"({text})"

    def variable(self, text: str) -> str:
        return name(text)

    def times(self, left: ast.expr, second: str) -> str:
        """What stands between factors."""
        after_quotient = isinstance(left, ast.BinOp) and isinstance(left.op, ast.Div)
        return "*" if second[:1].isdigit() or after_quotient else " "

    def power(self, base: ast.expr, exponent: ast.expr) -> str:
        return f"{self.of(base, _WHOLE)}^{self.of(exponent, _WHOLE)}"

    def quotient(self, left: ast.expr, right: ast.expr) -> tuple[str, int]:
        return f"{self.of(left, _PRODUCT)}/{self.of(right, _POWER)}", _PRODUCT

    def call(self, function: str, arguments: list[ast.expr]) -> tuple[str, int]:
        each = [self.of(one) for one in arguments]
        if function == "Ind" and len(each) == 2:
            return f"1[{each[0]} = {each[1]}]", _WHOLE
        if function == "exp" and len(each) == 1:
            return f"e^{self.of(arguments[0], _WHOLE)}", _POWER
        if function == "Abs" and len(each) == 1:
            return f"|{each[0]}|", _WHOLE
        if function == "Pi" and not each:
            return "pi", _WHOLE
        if function == "Fl":
            each = each[:1]
        return f"{_PLAIN_FUNCTIONS.get(function, function)}({', '.join(each)})", _WHOLE


class _Latex(_Plain):
    """LaTeX."""

    def brackets(self, text: str) -> str:
        return rf"\left({text}\right)"

    def variable(self, text: str) -> str:
        base, _, below = text.removesuffix("_prime").partition("_")
        letter = rf"\{'varepsilon' if base == 'epsilon' else base}" if base in _GREEK else base
        letter = rf"\mathrm{{{letter}}}" if len(base) > 1 and base not in _GREEK else letter
        prime = "'" if text.endswith("_prime") else ""
        index = below.replace("_", r"\_")
        return letter + (rf"_{{\mathrm{{{index}}}}}" if below else "") + prime

    def times(self, left: ast.expr, second: str) -> str:  # noqa: ARG002
        return r" \cdot " if second[:1].isdigit() or second.startswith("-") else r"\,"

    def power(self, base: ast.expr, exponent: ast.expr) -> str:
        return f"{self.of(base, _WHOLE)}^{{{self.of(exponent)}}}"

    def quotient(self, left: ast.expr, right: ast.expr) -> tuple[str, int]:
        return rf"\frac{{{self.of(left)}}}{{{self.of(right)}}}", _WHOLE

    def call(self, function: str, arguments: list[ast.expr]) -> tuple[str, int]:
        each = [self.of(one) for one in arguments]
        if function == "Ind" and len(each) == 2:
            return rf"\mathbf{{1}}[{each[0]}={each[1]}]", _WHOLE
        if function == "exp" and len(each) == 1:
            return f"e^{{{each[0]}}}", _POWER
        if function == "Abs" and len(each) == 1:
            return rf"\left|{each[0]}\right|", _WHOLE
        if function == "sqrt" and len(each) == 1:
            return rf"\sqrt{{{each[0]}}}", _WHOLE
        if function == "Ceil" and len(each) == 1:
            return rf"\left\lceil {each[0]}\right\rceil ", _WHOLE
        if function == "binomial" and len(each) == 2:
            return rf"\binom{{{each[0]}}}{{{each[1]}}}", _WHOLE
        if function == "factorial" and len(each) == 1:
            return f"{self.of(arguments[0], _WHOLE)}!", _WHOLE
        if function == "Pi" and not each:
            return r"\pi", _WHOLE
        if function == "Fl":
            each = each[:1]
        known = {"Max": r"\max", "Min": r"\min", "log": r"\ln"}
        return known.get(function, rf"\mathrm{{{_PLAIN_FUNCTIONS.get(function, function)}}}") + self.brackets(
            ", ".join(each)
        ), _WHOLE
