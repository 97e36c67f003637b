"""The variables of FedMD-NFDP, with their domains, and the formulas of its two theorems.

The one available conversion of the paper lost every formula. Those below follow from the counting that the appendix
describes, and Table 2 confirms them (`tables.py`).
"""

from sympy import Expr, Integer, evaluate, log

from ldp_audit.mechanisms.variable import Variable, oo

k = Variable("k", 1, oo, integer=True)
"""Number of draws."""

n = Variable("n", k, oo, integer=True)
"""Records of the training data D, at least k."""

n_spare = Variable("n", k + 1, oo, integer=True)
"""Records of D if the data without one record still have at least k."""

n_any, k_any = Variable("n", 1, oo, integer=True), Variable("k", 1, oo, integer=True)
"""Any n > 0 and any k > 0, as in Lemma 1."""

level = Variable("t", 1, oo, latex=r"e^{\varepsilon}")
"""e**epsilon for any epsilon >= 0."""

kept = Variable("M", 0, 1, open="left", latex=r"\left(\tfrac{n}{n+1}\right)^k")
"""With replacement: the probability that a given one of n + 1 records is not drawn."""

left_out = Variable("L", 0, kept, latex=r"\left(\tfrac{n-1}{n}\right)^k")
"""The same for one of n records; at most M, which Theorem 2's first two parts show."""

q = Variable("q", 0, 1, latex="q")
"""The probability that a given record is in the sample."""

EPSILON_WITHOUT, DELTA_WITHOUT = log((n_any + 1) / (n_any + 1 - k_any)), k_any / n_any
"""Theorem 1."""

EPSILON_WITH, DELTA_WITH = k_any * log((n_any + 1) / n_any), 1 - (1 - 1 / n_any) ** k_any
"""Theorem 2."""


def put(formula: Expr, records: int, draws: int) -> Expr:
    """The formula with numbers substituted, unevaluated: the checker does the arithmetic."""
    with evaluate(x=False):
        return formula.xreplace({n_any: Integer(records), k_any: Integer(draws)})
