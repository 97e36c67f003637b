"""A symbolic channel at given parameter values, as a mechanism.

Its suprema over all pairs of inputs are those of a finite channel: of finitely many candidate inputs, and of the atoms
and the cells between all ends of pieces at these inputs. The candidates attain the suprema, as they are

* for whole-number inputs: all values;
* for probabilities affine in each real input, the corners of the input box: P - e**epsilon P' is affine in every input
  for any set of outputs;
* for one real input and rational probabilities: the endpoints, and the zeros of the derivative of every set's
  probability;
* for constant densities on intervals whose endpoints are affine in one real input: the corners, and where in the square
  of input pairs two endpoints cross. The divergence is convex in the pair wherever none cross.

Other distributions are refused, and so are values at which the channel is no distribution. Computed with 1000 digits;
numbers below 1e-700 count as 0: products of two floats, and e**-epsilon up to 1600, do not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import mpmath
import numpy as np
from mpmath.libmp import NoConvergence
from numpy.typing import ArrayLike, NDArray
from sympy import Add, Expr, Poly, Rational, cancel, diff, fraction

from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.bound_sampling import GridChannel
from ldp_audit.mechanisms.density import SymbolicDistribution
from ldp_audit.mechanisms.finite_channel import FiniteChannel
from ldp_audit.mechanisms.inputs import in_interval, numbers_of, whole_numbers
from ldp_audit.mechanisms.mechanism import Mechanism
from ldp_audit.mechanisms.parameter_values import DIGITS, compiled, parameter_values
from ldp_audit.mechanisms.randomness import BITS
from ldp_audit.mechanisms.variable import Variable

_ROUNDED = 60
"""Digits of the probabilities that are rounded to counts of words."""

_CELLS = 512
"""Cells of the density's support in `implemented`."""

_STEPS = 32
"""Steps of the input grid in `implemented` where there is a density."""

NOTHING = mpmath.mpf(10) ** -700
"""Smaller numbers are rounding errors and count as 0; 1e-300 is a float, and e**-700."""

_COARSE = 50
"""Digits of a root before Newton's method refines it."""

_MOST_CORNERS = 4096
"""Most corners of the input box, of which all pairs are tried."""

_MOST_OUTPUTS = 12
"""Most atoms with rational probabilities, of which all subsets are tried."""

_TOLERANCE = mpmath.mpf(10) ** -30
"""Tolerance for negative probabilities, totals other than 1, and gaps between pieces."""

Inputs = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class BoundChannel(Mechanism):
    """The channel at the given parameter values; made by `SymbolicChannel.bind`.

    channel: the definition.   values: a number for each parameter, by name; "epsilon" determines t = e**epsilon too.
    Raises ValueError for a missing or unknown parameter, and for a number outside a parameter's domain.
    """

    channel: SymbolicDistribution
    values: Mapping[str, float]

    def __post_init__(self) -> None:
        _require_free(self.channel)
        numbers = parameter_values(self.channel, self.values)
        object.__setattr__(self, "values", dict(self.values))
        object.__setattr__(self, "_parameters", numbers)

    def __repr__(self) -> str:
        return f"{self.channel.name} at {', '.join(f'{name}={value!r}' for name, value in self.values.items())}"

    def symbolic(self) -> SymbolicDistribution:
        """The definition."""
        return self.channel

    def box(self) -> list[tuple[float, float]]:
        """The range of each input."""
        return [(float(low), float(high)) for low, high in self._box]

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats; infinity where the supports of two inputs differ."""
        return self._table.exact_epsilon()

    def pair_loss(self) -> PairLoss:
        """See base: that of the finite channel of candidates."""
        return self._table.pair_loss()

    def inputs(self, count: int) -> NDArray[np.float64] | None:
        """See base."""
        return np.linspace(*self.box()[0], count) if len(self.box()) == 1 else None

    def worst_pair(self) -> tuple[Any, Any]:
        """Inputs that attain exact_epsilon(): numbers, or tuples of numbers for several inputs.

        Of several such pairs, the one of largest total variation.
        """
        logs = np.array([[float(mpmath.log(p)) if p else -math.inf for p in row] for row in self._rows])
        best, found = (-math.inf, -math.inf), (0, 0)
        for first, own in enumerate(logs):
            with np.errstate(invalid="ignore"):
                losses = np.fmax.reduce(own - logs, axis=1)  # of -inf - -inf, NaN, is left out
            losses = np.round(losses, 12)
            gaps = np.maximum(np.exp(own) - np.exp(logs), 0.0).sum(axis=1)
            for second, reached in enumerate(zip(losses, np.round(gaps, 12), strict=True)):
                if reached > best:
                    best, found = reached, (first, second)
        return _plain(self._candidates[found[0]]), _plain(self._candidates[found[1]])

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The hockey-stick divergence, largest over pairs of inputs; shape of `epsilon`, nats, >= 0."""
        return self._table.delta(epsilon)

    def log_prob(self, y: ArrayLike, *x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the report y if it is an atom, else log density; broadcasts; -inf off the support."""
        self._require(x)
        if self.channel.is_vector():
            return np.vectorize(self._log_prob_of_atom, otypes=[np.float64])(self._places(y), *x)[()]
        with np.errstate(invalid="ignore"):  # NaN is off the support
            return np.vectorize(self._log_prob, otypes=[np.float64])(numbers_of("y", y), *x)[()]

    def outputs(self) -> tuple[Any, ...]:
        """The outputs that are atoms: numbers, or tuples of numbers."""
        if self.channel.is_vector():
            return tuple(tuple(map(float, output)) for output in self._outputs)
        return tuple(float(output) for output in self._outputs)

    def reports(self) -> tuple[Any, ...] | None:
        """The outputs that are atoms; None for a distribution with a density."""
        return None if self.channel.pieces else self.outputs()

    def mean(self, *x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """E[report | x]; one array for each input, broadcast against each other."""
        return self._vectorised(self.channel.mean(), x)

    def variance(self, *x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Var[report | x]; one array for each input, broadcast against each other."""
        return self._vectorised(self.channel.variance(), x)

    def sample(self, *x: ArrayLike, rng: Any) -> Any:
        """One report for each input, from `implemented()`; one array for each input."""
        return self.implemented().sample(*x, rng=rng)

    def implemented(self, bits: int = 64) -> GridChannel:
        """The finite-precision distribution of `sample`: finitely many inputs and outputs, on fixed grids."""
        self._require_affine()
        return _on_grids(self, int(BITS.check(bits)))

    def support(self) -> tuple[Any, Any]:
        """The interval that supports the density, in high precision; ValueError where it depends on the input."""
        lowest, highest = self.channel.pieces[0].lower, self.channel.pieces[-1].upper
        if lowest.has(*self.channel.inputs) or highest.has(*self.channel.inputs):
            raise ValueError(f"{self.channel.name!r}: a support that depends on the input has no private sampler")
        return self._number(lowest), self._number(highest)

    def masses(self, point: Sequence[float], edges: Sequence[Any]) -> list[Any]:
        """The probabilities of the atoms, and of the cells between these edges, at an input, in high precision."""
        masses, pieces = self.law_at(point)
        for low, high in itertools.pairwise(edges):
            covered = [(max(low, begin), min(high, end), d) for begin, end, d in pieces if begin < high and low < end]
            masses.append(mpmath.fsum((end - begin) * density for begin, end, density in covered))
        return masses

    def law_at(self, point: Sequence[float]) -> tuple[list[Any], list[tuple[Any, Any, Any]]]:
        """The atoms' probabilities and the pieces (lower, upper, density) at an input, in high precision."""
        x = tuple(map(mpmath.mpf, point))
        return [p(*x) for p in self._probabilities], [tuple(f(*x) for f in piece) for piece in self._pieces]

    def ends(self) -> list[tuple[Any, Any]]:
        """The range of each input, in high precision."""
        return self._box

    def whole_values(self, place: int) -> range:
        """The values of a whole-number input; ValueError if there are none."""
        variable, (low, high) = self.channel.inputs[place], self._box[place]
        first, last = int(mpmath.ceil(low)), int(mpmath.floor(high))
        first, last = first + (variable.lower_open and first == low), last - (variable.upper_open and last == high)
        if first > last:
            raise ValueError(f"input {variable.name!r} has no whole value in {variable.lower}..{variable.upper}")
        return range(first, last + 1)

    @cached_property
    def _box(self) -> list[tuple[Any, Any]]:
        box = []
        for variable in self.channel.inputs:
            if variable.lower.has(*self.channel.inputs) or variable.upper.has(*self.channel.inputs):
                raise ValueError(f"the range of input {variable.name!r} depends on another input; this is not solved")
            if variable.lower.is_infinite or variable.upper.is_infinite:
                raise ValueError(
                    f"input {variable.name!r} must have a bounded range, got {variable.lower}..{variable.upper}"
                )
            low, high = self._number(variable.lower), self._number(variable.upper)
            if low > high:
                raise ValueError(f"input {variable.name!r} has an empty range, {float(low)}..{float(high)}")
            box.append((low, high))
        return box

    @cached_property
    def _probabilities(self) -> list[Any]:
        return [self._function(atom.probability) for atom in self.channel.atoms]

    @cached_property
    def _outputs(self) -> list[Any]:
        if self.channel.outputs_depend_on_inputs():
            raise ValueError(f"{self.channel.name!r}: outputs that depend on the input are not solved; use is_private")
        outputs: list[Any] = [tuple(map(self._number, atom.coordinates())) for atom in self.channel.atoms]
        outputs = outputs if self.channel.is_vector() else [output[0] for output in outputs]
        if len(set(outputs)) < len(outputs):
            raise ValueError(f"{self.channel.name!r}: two atoms are the same output at these numbers")
        return outputs

    @cached_property
    def _pieces(self) -> list[tuple[Any, Any, Any]]:
        functions = []
        for piece in self.channel.pieces:
            if not piece.is_flat() or piece.lower.is_infinite or piece.upper.is_infinite:
                raise ValueError(f"{self.channel.name!r}: only flat pieces of finite length are solved in numbers")
            functions.append(tuple(self._function(part) for part in (piece.lower, piece.upper, piece.density)))
        return functions

    @cached_property
    def _table(self) -> FiniteChannel:
        """The finite channel of the candidates, with the suprema of this one."""
        with mpmath.workdps(DIGITS):
            return FiniteChannel([list(map(_as_fraction, row)) for row in self._rows])

    @cached_property
    def _rows(self) -> list[list[Any]]:
        """The probabilities at the candidates: of the atoms, and of the cells between all ends of pieces there."""
        with mpmath.workdps(DIGITS):
            ends = [end for point in self._candidates for piece in self.law_at(point)[1] for end in piece[:2]]
            edges = _distinct(ends)
            return [self.masses(point, edges) for point in self._candidates]

    @cached_property
    def _candidates(self) -> list[Inputs]:
        with mpmath.workdps(DIGITS):
            box, _, pieces = self._box, self._outputs, self._pieces  # these refuse what is not supported
            if pieces and any(not v.integer_valued for v in self.channel.inputs):
                self._require_affine()
                if len(box) > 1:
                    raise ValueError(f"{self.channel.name!r}: pieces are solved for a single input only")
                lists = [self._crossings(*box[0])]
            else:
                lists = [self._candidates_of(place) for place in range(len(self.channel.inputs))]
            if math.prod(map(len, lists)) > _MOST_CORNERS:
                raise ValueError(f"{self.channel.name!r} has more than {_MOST_CORNERS} corners; this is not solved")
            candidates = list(itertools.product(*lists))
            self._require_law(candidates)
            return candidates

    def _candidates_of(self, place: int) -> list[Any]:
        variable, (low, high) = self.channel.inputs[place], self._box[place]
        if variable.integer_valued:
            if high - low > _MOST_CORNERS:
                raise ValueError(f"input {variable.name!r} has more than {_MOST_CORNERS} values; this is not solved")
            return [mpmath.mpf(value) for value in self.whole_values(place)]
        if all(_is_affine(atom.probability, variable) for atom in self.channel.atoms):
            return [low, high]
        rational = all(atom.probability.is_rational_function(variable) for atom in self.channel.atoms)
        if not rational or len(self.channel.inputs) > 1 or len(self.channel.atoms) > _MOST_OUTPUTS:
            raise ValueError(
                f"{self.channel.name!r}: probabilities must be affine in {variable.name!r}, or rational in a single "
                f"input with at most {_MOST_OUTPUTS} outputs"
            )
        self._require_finite(variable, low, high)
        between = [low + (high - low) * k / 7 for k in range(1, 7)]  # `_require_law` checks inner points too
        return [low, *self._turning_points(variable, low, high), *between, high]

    def _require_finite(self, variable: Variable, low: Any, high: Any) -> None:
        """Raise ValueError for a probability with a pole in the range of its only input."""
        for atom in self.channel.atoms:
            _, denominator = fraction(cancel(atom.probability.subs(self._rationals)))
            for root in self._real_roots(denominator, variable):
                if low <= root <= high:
                    raise ValueError(
                        f"{self.channel.name!r}: the probability {atom.probability} is infinite at {variable.name} = "
                        f"{float(root)!r}; it must be finite for {float(low)} <= {variable.name} <= {float(high)}"
                    )

    @cached_property
    def _rationals(self) -> dict[Any, Any]:
        """The given values of variables as exact fractions."""
        given = {v: self.values[v.name] for v in self.channel.variables() if v.name in self.values}
        return {v: Rational(*float(number).as_integer_ratio()) for v, number in given.items()}

    def _turning_points(self, variable: Variable, low: Any, high: Any) -> list[Any]:
        """Inputs at which the probability of some set of outputs has derivative 0."""
        found = []
        atoms = self.channel.atoms[1:]  # a set and its complement have the same zeros
        for size in range(1, len(atoms) + 1):
            for chosen in itertools.combinations(atoms, size):
                probability = Add(*(atom.probability for atom in chosen)).subs(self._rationals)
                slope, _ = fraction(cancel(diff(probability, variable)))
                found += [root for root in self._real_roots(slope, variable) if low < root < high]
        return found

    def _real_roots(self, numerator: Expr, variable: Variable) -> list[Any]:
        if variable not in numerator.free_symbols:
            return []
        coefficients = Poly(numerator, variable).sqf_part().all_coeffs()
        return _real_roots([self._number(coefficient) for coefficient in coefficients])

    def _crossings(self, low: Any, high: Any) -> list[Any]:
        """The inputs at the corners of the regions of input pairs within which no two ends of pieces cross."""
        if low == high:
            return [low]
        endpoints = {_line(f, low, high) for lower, upper, _ in self._pieces for f in (lower, upper)}
        lines = [(b, -d, c - a) for a, b in endpoints for c, d in endpoints]  # b x - d x' = c - a
        lines += [(1, 0, low), (1, 0, high), (0, 1, low), (0, 1, high)]
        inputs = [low, high]
        for (a, b, e), (c, d, f) in itertools.combinations(lines, 2):
            determinant = a * d - b * c
            if abs(determinant) > NOTHING * (abs(a) + abs(b)) * (abs(c) + abs(d)):
                x, z = (e * d - b * f) / determinant, (a * f - e * c) / determinant
                if low <= x <= high and low <= z <= high:
                    inputs += [x, z]
        return _distinct(inputs)

    def _require_affine(self) -> None:
        """Raise ValueError unless densities are free of the input, and endpoints and probabilities affine in it."""
        for variable in self.channel.inputs:
            if variable.integer_valued:
                continue
            affine = [atom.probability for atom in self.channel.atoms]
            affine += [end for piece in self.channel.pieces for end in (piece.lower, piece.upper)]
            free = all(variable not in piece.density.free_symbols for piece in self.channel.pieces)
            if not free or not all(_is_affine(part, variable) for part in affine):
                raise ValueError(
                    f"{self.channel.name!r}: probabilities and the ends of pieces must be affine in {variable.name!r}, "
                    "and densities free of it; other laws are not solved in numbers"
                )

    def _require_law(self, points: Iterable[Inputs]) -> None:
        """Raise ValueError unless probabilities are >= 0 with sum 1 at the points, which implies it in between."""
        for point in points:
            atoms, pieces = self.law_at(point)
            parts = [*atoms, *(part for low, high, density in pieces for part in (density, high - low))]
            total = mpmath.fsum([*atoms, *((high - low) * density for low, high, density in pieces)])
            apart = any(abs(one[1] - two[0]) > _TOLERANCE for one, two in itertools.pairwise(pieces))
            if not (min(parts) >= -_TOLERANCE and abs(total - 1) <= _TOLERANCE) or apart:
                where = ", ".join(f"{v.name} = {float(n)!r}" for v, n in zip(self.channel.inputs, point, strict=True))
                raise ValueError(
                    f"{self.channel.name!r} is no law at {where}: probabilities, densities and lengths must be >= 0 "
                    f"and add up to 1, got {float(min(parts))!r} and {float(total)!r}; pieces must touch"
                )

    def _places(self, y: ArrayLike) -> NDArray[np.int64]:
        """The number of the atom that each vector is, shape (..., d) to (...); -1 for none."""
        vectors, atoms = numbers_of("y", y), np.array(self.outputs())
        if vectors.ndim == 0 or vectors.shape[-1] != atoms.shape[1]:
            raise ValueError(f"y must be vectors of shape (..., {atoms.shape[1]}), got shape {vectors.shape}")
        same = np.all(np.isclose(vectors[..., None, :], atoms, rtol=1e-12, atol=0.0), axis=-1)
        return np.where(same.any(axis=-1), same.argmax(axis=-1), -1)

    def _log_prob_of_atom(self, place: int, *x: float) -> float:
        if place < 0:
            return -math.inf
        with mpmath.workdps(DIGITS):
            mass = self._probabilities[place](*x)
            return float(mpmath.log(mass)) if mass > 0 else -math.inf

    def _log_prob(self, y: float, *x: float) -> float:
        with mpmath.workdps(DIGITS):
            for place, output in enumerate(self._outputs):
                if math.isclose(float(output), y, rel_tol=1e-12):
                    return self._log_prob_of_atom(place, *x)
            for low, high, density in self._pieces:
                if low(*x) <= y <= high(*x):
                    height = density(*x)
                    return float(mpmath.log(height)) if height > 0 else -math.inf
        return -math.inf

    def _require(self, x: Sequence[ArrayLike]) -> None:
        names = [variable.name for variable in self.channel.inputs]
        if len(x) != len(names):
            raise ValueError(f"inputs must be {len(names)} arrays, for {', '.join(names)}, got {len(x)}")
        for place, (name, values, (low, high)) in enumerate(zip(names, x, self.box(), strict=True)):
            if self.channel.inputs[place].integer_valued:
                whole = self.whole_values(place)
                whole_numbers(name, np.asarray(values), whole[0], whole[-1])
            else:
                in_interval(name, np.asarray(values), low, high)

    def _vectorised(self, expression: Expr, x: Sequence[ArrayLike]) -> NDArray[np.float64] | np.float64:
        self._require(x)
        function = self._function(expression)

        def one(*values: float) -> float:
            with mpmath.workdps(DIGITS):
                return float(function(*map(mpmath.mpf, values)))

        return np.vectorize(one, otypes=[np.float64])(*x)[()] if x else np.float64(one())

    def _function(self, expression: Expr) -> Any:
        return _function_of(expression, self.channel.inputs, self._parameters)  # type: ignore[attr-defined]

    def _number(self, expression: Expr) -> Any:
        with mpmath.workdps(DIGITS):
            return _function_of(expression, (), self._parameters)()  # type: ignore[attr-defined]


@lru_cache(maxsize=32)
def _on_grids(bound: BoundChannel, bits: int) -> GridChannel:
    grids = tuple(_grid(bound, place) for place in range(len(bound.channel.inputs)))
    with mpmath.workdps(DIGITS):
        edges = _edges(bound)
        points = map(_exact, bound.channel.inputs, grids, bound.ends())
        masses = [bound.masses(point, edges) for point in itertools.product(*points)]
    with mpmath.workdps(_ROUNDED):
        rows = [[_as_fraction(+mass) for mass in row] for row in masses]
    if bound.channel.is_vector():
        vectors = np.array(bound.outputs())
        return GridChannel(
            bound.channel.name, bound.channel.inputs, grids, FiniteChannel(rows).implemented(bits), vectors
        )
    outputs = [*bound.outputs(), *(float(low + high) / 2 for low, high in itertools.pairwise(edges))]
    table = FiniteChannel(*_merged(rows, outputs)).implemented(bits)
    return GridChannel(bound.channel.name, bound.channel.inputs, grids, table)


def _grid(bound: BoundChannel, place: int) -> NDArray[np.float64]:
    """All values of a whole-number input; else the two endpoints, with steps between them if there is a density."""
    low, high = bound.box()[place]
    if bound.channel.inputs[place].integer_valued:
        return np.array(bound.whole_values(place), dtype=np.float64)
    if low == high:
        return np.array([low])
    return np.linspace(low, high, _STEPS + 1 if bound.channel.pieces else 2)


def _exact(variable: Variable, grid: NDArray[np.float64], bounds: tuple[Any, Any]) -> list[Any]:
    """The grid points with the range's exact endpoints, whose floats may lie outside."""
    points = [mpmath.mpf(point) for point in grid.tolist()]
    return points if variable.integer_valued else [bounds[0], *points[1:-1], bounds[1]][: len(points)]


def _edges(bound: BoundChannel) -> list[Any]:
    """The ends of the cells of the density's support; none without a density."""
    if not bound.channel.pieces:
        return []
    low, high = bound.support()
    return [low + (high - low) * i / _CELLS for i in range(_CELLS + 1)]


def _merged(table: Sequence[Sequence[Fraction]], outputs: Sequence[float]) -> tuple[list[list[Fraction]], list[float]]:
    """The rows and outputs with one column for each number: an atom may be the midpoint of a cell."""
    columns: dict[float, list[int]] = {}
    for place, output in enumerate(outputs):
        columns.setdefault(output, []).append(place)
    return [[sum((row[i] for i in places), Fraction(0)) for places in columns.values()] for row in table], list(columns)


def _as_fraction(number: Any) -> Fraction:
    """The exact value of a number of mpmath's."""
    sign, mantissa, exponent, _ = mpmath.mpf(number)._mpf_
    return (-1) ** sign * int(mantissa) * Fraction(2) ** exponent


def _is_affine(expression: Expr, variable: Variable) -> bool:
    return bool(expression.is_rational_function(variable)) and cancel(diff(expression, variable, 2)) == 0


def _line(function: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """(a, b) of the affine function a + b x through two of its values."""
    slope = (function(high) - function(low)) / (high - low)
    return function(low) - slope * low, slope


def _distinct(numbers: Iterable[Any]) -> list[Any]:
    """The numbers ascending, without those that only rounding distinguishes from the one before."""
    found: list[Any] = []
    for number in sorted(numbers):
        if not found or number - found[-1] > NOTHING:
            found.append(number)
    return found


def _plain(inputs: Inputs) -> Any:
    numbers = tuple(float(value) for value in inputs)
    return numbers[0] if len(numbers) == 1 else numbers


def _require_free(channel: SymbolicDistribution) -> None:
    """Raise ValueError for an input that is an exponential or a logarithm of what another variable depends on, too."""
    for variable in channel.inputs:
        if variable.argument is None:
            continue
        others = [v for v in channel.variables() if v != variable]
        known = {*others, *(s for v in others if v.argument is not None for s in v.argument.free_symbols)}
        if variable.argument.free_symbols & known:
            kind = "exp" if variable.exp_of is not None else "log"
            raise ValueError(
                f"input {variable.name!r} is {kind}({variable.argument}), which is not free of the other variables of "
                f"{channel.name!r}; this is not solved"
            )


def _function_of(
    expression: Expr, inputs: Sequence[Variable], parameters: Mapping[Variable, Any]
) -> Callable[..., Any]:
    """The expression as a function of the inputs, at the precision of the caller's context."""
    function = compiled([*inputs, *parameters], expression)

    def value(*x: Any) -> Any:
        try:
            found = mpmath.mpf(function(*x, *parameters.values()))
        except (ZeroDivisionError, TypeError) as error:
            raise ValueError(f"{expression} has no real value at {', '.join(map(str, map(float, x)))}") from error
        return mpmath.mpf(0) if abs(found) < NOTHING else found

    return value


def _real_roots(coefficients: Sequence[Any]) -> list[Any]:
    """All real roots, or a superset; coefficients from the highest power down. ValueError where none are found."""
    largest = max(map(abs, coefficients))
    first = next((i for i, c in enumerate(coefficients) if abs(c) > NOTHING * largest), len(coefficients))
    kept = list(coefficients[first:])
    if len(kept) < 2:
        return []
    try:
        with mpmath.workdps(_COARSE):
            roots = mpmath.polyroots(kept, maxsteps=500, extraprec=400)
    except NoConvergence:
        raise ValueError("the roots of a polynomial were not found; this law is not solved") from None
    near = mpmath.mpf(10) ** -20
    return [_polished(kept, mpmath.re(root)) for root in roots if abs(mpmath.im(root)) < near * (1 + abs(root))]


def _polished(coefficients: Sequence[Any], root: Any) -> Any:
    for _ in range(6):
        height, slope = mpmath.polyval(coefficients, root, derivative=True)
        if not slope or not height:
            break
        root = root - height / slope
    return root
