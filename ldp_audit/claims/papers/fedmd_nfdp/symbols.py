"""The letters of FedMD-NFDP, with their domains, and the formulas of its two theorems.

The paper's text comes in one conversion, which has lost every formula. Those below follow from the counting that the
appendix describes, and Table 2 confirms them (`tables.py`).
"""

from sympy import Expr, Integer, evaluate, log

from ldp_audit.mechanisms.variable import Variable, oo

k = Variable("k", 1, oo, integer=True)
"""Draws."""

n = Variable("n", k, oo, integer=True)
"""Records of the training data D, k at least."""

n_spare = Variable("n", k + 1, oo, integer=True)
"""The same where the data without one record still hold k."""

n_any, k_any = Variable("n", 1, oo, integer=True), Variable("k", 1, oo, integer=True)
"""Any n > 0 and any k > 0, as Lemma 1 has it."""

level = Variable("t", 1, oo, latex=r"e^{\varepsilon}")
"""e**epsilon for any epsilon >= 0."""

kept = Variable("M", 0, 1, open="left", latex=r"\left(\tfrac{n}{n+1}\right)^k")
"""With replacement: the chance that a given one of n + 1 records is not drawn."""

left_out = Variable("L", 0, kept, latex=r"\left(\tfrac{n-1}{n}\right)^k")
"""The same for one of n records; at most M, which Theorem 2's first two parts show."""

q = Variable("q", 0, 1, latex="q")
"""The chance that a given record is in the sample."""

EPSILON_WITHOUT, DELTA_WITHOUT = log((n_any + 1) / (n_any + 1 - k_any)), k_any / n_any
"""Theorem 1."""

EPSILON_WITH, DELTA_WITH = k_any * log((n_any + 1) / n_any), 1 - (1 - 1 / n_any) ** k_any
"""Theorem 2."""


def put(formula: Expr, records: int, draws: int) -> Expr:
    """The formula with its numbers put in and not worked out, for a reader and the checker to do."""
    with evaluate(x=False):
        return formula.xreplace({n_any: Integer(records), k_any: Integer(draws)})  # pyright: ignore[reportReturnType]
