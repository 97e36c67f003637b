"""The letters that many of the statements share, with their domains."""

from sympy import oo

from ldp_audit.mechanisms.variable import EPSILON, ROOT_T, T, Variable

e, t, s = EPSILON, T, ROOT_T
"""epsilon, e**epsilon and e**(epsilon/2)."""
e1 = Variable("epsilon", 0, 1, open="left")
"""epsilon where a source asks for at most 1."""
t1 = Variable("t", 1, oo, open="left", exp_of=e1)
E1, E2 = (Variable(name, 0, oo, open="left") for name in ("epsilon_1", "epsilon_2"))
r1, r2 = (Variable(name, 1, oo, open="left") for name in ("t_1", "t_2"))
"""Two budgets, and two ratios that stand for their exponentials."""
k = Variable("k", 2, oo, integer=True)
n = Variable("n", 1, oo, integer=True)
m = Variable("m", 1, oo, integer=True)
x = Variable("x", -1, 1)
bit = Variable("x", 0, 1, integer=True)
unit = Variable("x", 0, 1)
f = Variable("f", 0, 1)
p_open, q_open = (Variable(name, 0, 1, open="both") for name in ("p", "q"))
u = Variable("u", 0, oo)
u_pos = Variable("u", 0, oo, open="left")
v_pos = Variable("v", 0, oo, open="left")
v = Variable("v", -oo, oo)
share = Variable("b", 0, 1, open="left")
"""A sampling rate."""
alpha = Variable("alpha", 1, oo, open="left")
K = Variable("K", 0, oo, open="left")
