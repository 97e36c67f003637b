"""A noisy coin: four claims about a mechanism of my own."""

from ldp_audit.claims import Claim, at_most, equal, is_private
from ldp_audit.mechanisms import SymbolicChannel, T, Variable

x = Variable("x", 0, 1)  # the private value, anywhere in [0, 1]
p = (1 + x * (T - 1)) / (T + 1)  # T stands for e**epsilon
coin = SymbolicChannel("noisy coin", inputs=x, atoms={1: p, 0: 1 - p})

claims = [
    Claim("NC-1", "my notes, 1", "The coin is epsilon-LDP.", parts=is_private(coin, T)),
    Claim("NC-2", "my notes, 2", "Its ratio is even at most (T + 1)/2.", parts=is_private(coin, (T + 1) / 2)),
    Claim(
        "NC-3",
        "my notes, 3",
        "(y (T + 1) - 1)/(T - 1) estimates x without bias.",
        parts=[equal((coin.mean() * (T + 1) - 1) / (T - 1), x)],
    ),
    Claim("NC-4", "my notes, 4", "The report's variance is at most 1/4.", parts=[at_most(4 * coin.variance(), 1)]),
]
