"""Claims of every sort, whose report test_tampering.py tampers with: proved, refuted, by a solver, open, argued."""

from __future__ import annotations

from sympy import erf, exp, oo, pi, sqrt

from ldp_audit.claims import Claim, Condition, Correction, Paper, Reading, at_most, equal, less, order
from ldp_audit.figure import Figure, Panel, Series
from ldp_audit.mechanisms import SymbolicChannel, T, Variable

x, y, z = Variable("x", -2, 2), Variable("y", -oo, oo), Variable("z", -oo, oo)
bit, n = Variable("b", 0, 1), Variable("n", 1, 3, integer=True)
k, whole = Variable("k", 0, oo, integer=True), Variable("whole", -oo, oo, integer=True)
u, K = (Variable(name, 0, oo, open="left") for name in "uK")
p = (1 + bit * (T - 1)) / (T + 1)

CLAIMS = (
    Claim(
        "P", "here", "a square", name="a square", latex="x^2", parts=(at_most(x**2, 4, "a part"),),
        assumptions=("one",), rests_on=("two",), looked="Section 1; no other", argument="plainly",
    ),
    Claim(
        "R", "here", "false", parts=(at_most(x, 1),), corrected=Correction("so", "x", (at_most(x, 2),)),
        another=Reading("strictly", (less(x, 0),)),
    ),
    Claim("C", "here", "conditional", parts=(at_most(x, 1),), condition=Condition("less", (Variable("x", 0, 1),))),
    Claim("S", "here", "by a solver", parts=(at_most(0, y**2 - y * z + z**2),), source="derived"),
    Claim("U", "here", "open", parts=(less(erf(y), 1), at_most(x**2, 5))),
    Claim("L", "here", "at sizes", parts=(at_most(2**n, 8),), sizes="n <= 3", reading="of few"),
    Claim("O", "here", "orders", parts=(order(x**2, K, constant=K), less(u, exp(u))), void=(at_most(0, 1),)),
    Claim("E", "here", "an identity", parts=(equal((x + 1) * (x - 1), x**2 - 1),)),
    Claim("A", "here", "argued", argument="in words"),
    Claim("T", "here", "terms", parts=(at_most(3 * u, pi * u), at_most(sqrt(u * u + u) + u, 2 * u + sqrt(u * u + u)))),
    Claim("W", "here", "by induction", parts=(at_most(k + 1, 2**k), at_most(0, (whole - 1) * (whole - 2)))),
    Claim("I", "here", "a premise", parts=(at_most(2 * x, 1, given=(at_most(x, y), at_most(2 * y, 1))),)),
    Claim("Z", "here", "an irrational zero", parts=(less(0, (u**2 - 2) ** 2),)),
)  # fmt: skip


def figures() -> list[Figure]:
    """One of each thing that a figure has."""
    curve = Series("a curve", (1.0, 2.0), (3.0, 4.0), upper=(5.0, 6.0), style="band")
    return [Figure("f", "a title", "a caption", "in words", (Panel("p", "x", "y", (curve,)),))]


PAPER = Paper(
    "tampered", "a title", "authors", "venue", CLAIMS, figures, (SymbolicChannel("coin", bit, {1: p, 0: 1 - p}),)
)
