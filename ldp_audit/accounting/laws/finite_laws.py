"""Exact distributions of small finite experiments: products, counts, and their hockey-stick divergence.

The probabilities may be fractions or SymPy expressions; the arithmetic is exact either way.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from sympy import Add, Expr, Max, Mul, sympify

Law = Mapping[Any, Any]
"""Outcomes and their probabilities."""


def product_law(laws: Sequence[Law]) -> dict[tuple[Hashable, ...], Any]:
    """The joint distribution of independent experiments; an outcome is the tuple of theirs."""
    joint: dict[tuple[Hashable, ...], Any] = {(): 1}
    for law in laws:
        joint = {(*seen, y): p * q for seen, p in joint.items() for y, q in law.items()}
    return joint


def count_law(probabilities: Sequence[Any]) -> dict[int, Any]:
    """The number of successes among independent trials: the Poisson binomial distribution.

    probabilities: one a trial.   returns: {count: probability} for count = 0 .. number of trials.
    """
    law: dict[int, Any] = {0: 1}
    for p in probabilities:
        longer = dict.fromkeys(range(len(law) + 1), 0)
        for count, mass in law.items():
            longer[count] += mass * (1 - p)
            longer[count + 1] += mass * p
        law = longer
    return law


def hockey_stick(first: Law, second: Law, t: Any) -> Expr:
    """delta at e**epsilon = t in one direction: the sum over outcomes of max(0, P - t Q), written out, not evaluated.

    Left as a sum so that a reader, and the checker, can add it up.
    """
    outcomes = sorted({*first, *second}, key=repr)
    terms = []
    for outcome in outcomes:
        p, q = sympify(first.get(outcome, 0)), sympify(second.get(outcome, 0))
        terms.append(Max(0, Add(p, Mul(-sympify(t), q, evaluate=False), evaluate=False), evaluate=False))
    return Add(*terms, evaluate=False)
