"""A square wave: a density of my own, high within 1 of the input and low elsewhere on [-2, 2]."""

from sympy import Rational

from ldp_audit.claims import Claim, at_most, equal, is_private
from ldp_audit.mechanisms import SymbolicChannel, T, Variable

x = Variable("x", -1, 1)
low = Rational(1, 2) / (T + 1)
wave = SymbolicChannel("square wave", inputs=x, pieces=[(-2, x - 1, low), (x - 1, x + 1, T * low), (x + 1, 2, low)])

claims = [
    Claim("SW-1", "my notes", "The wave is epsilon-LDP.", parts=is_private(wave, T)),
    Claim("SW-2", "my notes", "y (T + 1)/(T - 1) is unbiased.", parts=[equal(wave.mean() * (T + 1) / (T - 1), x)]),
    Claim("SW-3", "my notes", "The report's variance is at most 1.", parts=[at_most(wave.variance(), 1)]),
]

at_one = wave.bind(epsilon=1)  # numbers put in: exact epsilon, profile, moments, a sampler
