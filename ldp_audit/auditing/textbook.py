"""Mechanisms in floating point as they are published and commonly coded: to be audited, not to be used.

Each program is a map (x, u, ...) from an input and arrays of uniforms to reports, on numpy and torch alike; all its
operations are done in the uniforms' dtype. `ldp_audit.implementation(TextbookLaplace(), (0.0, 1.0))` computes its exact
channel. The samplers (x, n, rng) are targets of `ldp-audit audit --implementation`; epsilon is nominally 1.

Laplace noise, as textbooks and most libraries write it.

Inverse distribution function, one uniform u:   y = x - b sign(u - 1/2) ln(1 - 2 |u - 1/2|)
Sign and exponential, two uniforms u, v:        y = x +- b (-ln(1 - v)), with + where u >= 1/2

What is wrong: u takes 2**24 values (float32) or 2**53 (float64), the logarithm leaves gaps between the noises that they
lead to, and the sum with x rounds them to x's neighbourhood: which outputs can occur depends on x. Most outputs of one
input cannot come from another, and each of them gives its input away. Found by Ilya Mironov, "On Significance of the
Least Significant Bits for Differential Privacy" (CCS 2012).

The two-point mechanism in floating point: equation (2) of LDP-FL as a program, `u < p`.

    p = ((w - c) (t - 1) + r (t + 1)) / (2 r (t + 1)),   report c + r A where u < p, else c - r A,   A = (t + 1)/(t - 1)

What is wrong: u is a multiple of 2**-b (b = 8 bfloat16, 11 half, 24 float32, 53 float64), so of 2**b words ceil(2**b p)
lead to the upper report. Where p at an end of the range rounds to 1, or 1 - p to less than a word, the other report
never occurs there, and epsilon is infinite; before that, the few words of the rarer report are rounded either way. With
p rounded correctly this begins at epsilon = ln(2**(b+1) - 1); operation by operation it begins sooner, as t + 1 rounds
to t, and r (t + 1) - r (t - 1) cancels. Equation (2) is Ding et al.'s and Duchi et al.'s mechanism; that the
floating-point comparison has another epsilon than the formula is this package's measurement.

The piecewise mechanism (Wang et al. 2019, Algorithm 2) in floating point, two uniforms.

    s = e**(epsilon/2),  C = (s + 1)/(s - 1),  l = (C + 1)/2 x - (C - 1)/2,  r = l + C - 1

With probability s/(s + 1) (u below it) the report is uniform on [l, r], else uniform on [-C, l] and [r, C] together.

What is wrong: l + v (C - 1) lies on a lattice that starts at l and so moves with x. The inputs' lattices have few
points in common, and the low-order bits of a report leak x: Mironov's observation (CCS 2012), for another distribution.

Gaussian noise in floating point by Box and Muller's method (1958), two uniforms.

    y = x + sigma sqrt(-2 ln(1 - u)) cos(2 pi v)

What is wrong: as with Laplace noise, few noises exist, and those that x + noise can round to depend on x. Attacks on
this sampler: Jin, McMurtry, Rubinstein, Ohrimenko, "Are We There Yet? Timing and Floating-Point Attacks on Differential
Privacy Systems" (IEEE S&P 2022). The noise is also bounded, by sigma sqrt(2 b ln 2) with b bits: 5.8 sigma in float32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace, device

__all__ = [
    "GeneratorSampler",
    "TextbookBoxMuller",
    "TextbookLaplace",
    "TextbookPiecewise",
    "TextbookSignedLaplace",
    "TextbookTwoPoint",
    "box_muller32",
    "box_muller64",
    "laplace32",
    "laplace64",
    "piecewise32",
    "piecewise64",
    "signed_laplace32",
    "signed_laplace64",
    "two_point32",
    "two_point64",
]


def namespace_and_constants(u: Any, *values: float) -> tuple[Any, ...]:
    """The array namespace of u (numpy or torch), and the values, each rounded once to u's dtype; 0-dimensional.

    Python's own floats would not do: torch multiplies a bfloat16 tensor by one in float32, without rounding it first.
    Raises ValueError unless u is an array or tensor of floats.
    """
    try:
        xp = array_namespace(u)
    except TypeError:
        raise ValueError(f"u must be an array of floats, got {type(u).__name__}") from None
    if not xp.isdtype(u.dtype, "real floating"):
        raise ValueError(f"u must be an array of floats, got dtype {u.dtype}")
    with np.errstate(over="ignore"):  # what the dtype cannot hold becomes infinite, as in the program itself
        return xp, *(xp.asarray(value, dtype=u.dtype, device=device(u)) for value in values)


@dataclass(frozen=True)
class TextbookLaplace:
    """x plus Laplace noise of this scale, by the inverse distribution function; one uniform.

    Nominal epsilon: |x - x'| / scale. Of every output's last bits, some leak x: no epsilon holds below a delta that is
    near 1 for narrow dtypes. At u = 0 the output is -infinity, whatever x is.
    """

    uniforms: ClassVar[int] = 1
    scale: float = 1.0

    def __call__(self, x: float, u: Any) -> Any:
        """The reports, shape and dtype of u, which holds uniforms in [0, 1); every operation is rounded to it."""
        xp, value, scale, half, one, two = namespace_and_constants(u, x, self.scale, 0.5, 1.0, 2.0)
        away = u - half
        with np.errstate(divide="ignore"):
            return value - scale * xp.sign(away) * xp.log(one - two * xp.abs(away))


@dataclass(frozen=True)
class TextbookSignedLaplace:
    """x plus Laplace noise of this scale, as a random sign times an exponential variable; two uniforms.

    The same flaw as `TextbookLaplace`: 1 - v is a multiple of 2**-24 (or 2**-53), so there are as few noises.
    """

    uniforms: ClassVar[int] = 2
    scale: float = 1.0

    def __call__(self, x: float, u: Any, v: Any) -> Any:
        """The reports, shape and dtype of u and v, which hold uniforms in [0, 1)."""
        xp, value, scale, half, one = namespace_and_constants(u, x, self.scale, 0.5, 1.0)
        size = -(scale * xp.log(one - v))
        return value + xp.where(u >= half, size, -size)


@dataclass(frozen=True)
class TextbookTwoPoint:
    """Report c + r A with the probability p of equation (2), else c - r A; one uniform.

    epsilon: nats, nominal.   center, radius: c and r, of the inputs' range.
    clip: whether x is first moved into [fl(c - r), fl(c + r)], as programs do; without, a weight outside the range may
        give a p outside [0, 1], which `u < p` takes in silence.
    """

    uniforms: ClassVar[int] = 1
    epsilon: float = 1.0
    center: float = 0.0
    radius: float = 1.0
    clip: bool = True

    def __call__(self, x: float, u: Any) -> Any:
        """The reports, shape and dtype of u, which holds uniforms in [0, 1)."""
        xp, center, radius, t = namespace_and_constants(u, self.center, self.radius, _exp(self.epsilon))
        with np.errstate(over="ignore", invalid="ignore"):
            reach = radius * ((t + 1) / (t - 1))
            return xp.where(u < self.probability(x, u), center + reach, center - reach)

    def probability(self, x: float, like: Any) -> Any:
        """p, computed as the program does, in the dtype of the array `like`; 0-dimensional. NaN where t overflows.

        t is e**epsilon rounded to that dtype, as by a good library's exp; every later operation is rounded too.
        """
        xp, w, center, radius, t = namespace_and_constants(like, x, self.center, self.radius, _exp(self.epsilon))
        if self.clip:
            w = xp.minimum(xp.maximum(w, center - radius), center + radius)
        with np.errstate(over="ignore", invalid="ignore"):
            return equation_2(w, center, radius, t)


def equation_2(w: Any, center: Any, radius: Any, t: Any) -> Any:
    """((w - c)(t - 1) + r (t + 1)) / (2 r (t + 1)), operation by operation in the dtype of the arrays, which is one."""
    return ((w - center) * (t - 1) + radius * (t + 1)) / (2 * radius * (t + 1))


def _exp(epsilon: float) -> float:
    """e**epsilon; infinity where no float holds it."""
    return math.exp(epsilon) if epsilon < 709 else math.inf


@dataclass(frozen=True)
class TextbookPiecewise:
    """Reports in [-C, C] of inputs in [-1, 1]; epsilon: nats, nominal."""

    uniforms: ClassVar[int] = 2
    epsilon: float = 1.0

    def __call__(self, x: float, u: Any, v: Any) -> Any:
        """The reports, shape and dtype of u and v, which hold uniforms in [0, 1): u chooses the part, v the place."""
        xp, value, s, one, two = namespace_and_constants(u, x, math.exp(self.epsilon / 2), 1.0, 2.0)
        reach = (s + one) / (s - one)
        left = (reach + one) / two * value - (reach - one) / two
        right = left + reach - one
        outside = v * (reach + one)
        beside = xp.where(outside < left + reach, outside - reach, right + (outside - (left + reach)))
        return xp.where(u < s / (s + one), left + v * (right - left), beside)


@dataclass(frozen=True)
class TextbookBoxMuller:
    """x plus normal noise of this standard deviation."""

    uniforms: ClassVar[int] = 2
    sigma: float = 1.0

    def __call__(self, x: float, u: Any, v: Any) -> Any:
        """The reports, shape and dtype of u and v, which hold uniforms in [0, 1)."""
        xp, value, sigma, one, minus_two, turn = namespace_and_constants(u, x, self.sigma, 1.0, -2.0, 2 * math.pi)
        return value + sigma * (xp.sqrt(minus_two * xp.log(one - u)) * xp.cos(turn * v))


@dataclass(frozen=True)
class GeneratorSampler:
    """n reports from a numpy.random.Generator, which is asked once for each of the program's uniforms.

    program: one of this package's.   dtype: "float32" or "float64", those that `Generator.random` draws.
    Raises ValueError for another dtype.
    """

    program: Any
    dtype: str = "float64"

    def __post_init__(self) -> None:
        if self.dtype not in ("float32", "float64"):
            raise ValueError(f"dtype must be 'float32' or 'float64', got {self.dtype!r}")

    def __call__(self, x: float, n: int, rng: np.random.Generator) -> Any:
        """n reports at the input x, an array of the dtype."""
        return self.program(x, *(rng.random(n, dtype=np.dtype(self.dtype).type) for _ in range(self.program.uniforms)))


laplace32 = GeneratorSampler(TextbookLaplace(), "float32")
laplace64 = GeneratorSampler(TextbookLaplace(), "float64")
signed_laplace32 = GeneratorSampler(TextbookSignedLaplace(), "float32")
signed_laplace64 = GeneratorSampler(TextbookSignedLaplace(), "float64")
two_point32 = GeneratorSampler(TextbookTwoPoint(), "float32")
two_point64 = GeneratorSampler(TextbookTwoPoint(), "float64")
piecewise32 = GeneratorSampler(TextbookPiecewise(), "float32")
piecewise64 = GeneratorSampler(TextbookPiecewise(), "float64")
box_muller32 = GeneratorSampler(TextbookBoxMuller(), "float32")
box_muller64 = GeneratorSampler(TextbookBoxMuller(), "float64")
