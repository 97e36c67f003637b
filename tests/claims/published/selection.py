"""Choosing: exponential mechanism, permute-and-flip, noisy maximum, sparse vector."""

from sympy import Rational, exp, log, oo

from ldp_audit.claims import at_most, equal, less
from ldp_audit.mechanisms.variable import Variable
from tests.claims.published.entry import Entry, published
from tests.claims.published.letters import e, k, n, s, t

half = Rational(1, 2)

# Weights g_i = e**(epsilon u_i/2), and the factors w_i by which a neighbour changes them.
g1, g2, g3 = (Variable(f"g_{i}", 0, oo, open="left") for i in (1, 2, 3))
w1, w2, w3 = (Variable(f"w_{i}", 1 / s, s) for i in (1, 2, 3))
up1, up2 = (Variable(f"w_{i}", 1, t) for i in (1, 2))
any1, any2 = (Variable(f"w_{i}", 1 / t, t) for i in (1, 2))
z = Variable("z", 0, oo)
c = Variable("c", 0, oo)
u1, u2 = Variable("u_1", 0, 1), Variable("u_2", 0, 1)

EXPONENTIAL = published(
    "McSherry, Talwar (2007)",
    Entry(
        "EM-1",
        "Theorem 6, two outcomes",
        "Weights e^(epsilon u/2) with |u - u'| at most 1 are epsilon-private.",
        lambda: at_most(g1 / (g1 + g2), s**2 * g1 * w1 / (g1 * w1 + g2 * w2)),
        lambda: at_most(g1 / (g1 + g2), s * g1 * w1 / (g1 * w1 + g2 * w2)),
        {"epsilon": 2, "g_1": 1, "g_2": 10, "w_1": exp(-1), "w_2": exp(1)},
    ),
    Entry(
        "EM-2",
        "Theorem 6, three outcomes",
        "The same with a third outcome: the normaliser moves by at most t w_1.",
        lambda: at_most((g1 * w1 + g2 * w2 + g3 * w3) / (g1 + g2 + g3), s**2 * w1),
        lambda: at_most((g1 * w1 + g2 * w2 + g3 * w3) / (g1 + g2 + g3), s * w1),
        {"epsilon": 2, "g_1": 1, "g_2": 10, "g_3": 10, "w_1": exp(-1), "w_2": exp(1), "w_3": exp(1)},
    ),
    Entry(
        "EM-3",
        "monotone scores",
        "If scores only rise, weights e^(epsilon u) are epsilon-private.",
        lambda: at_most(g1 / (g1 + g2), t * g1 * up1 / (g1 * up1 + g2 * up2)),
        lambda: at_most(g1 / (g1 + g2), t * g1 * any1 / (g1 * any1 + g2 * any2)),
        {"t": 2, "g_1": 1, "g_2": 10, "w_1": "1/2", "w_2": 2},
    ),
    Entry(
        "EM-4",
        "two scores in [0, 1], with exponentials",
        "Choosing between scores u_1, u_2 with weights e^(epsilon u/2): at most e^(epsilon/2) to 1.",
        lambda: at_most(exp(e * u1 / 2) / (exp(e * u1 / 2) + exp(e * u2 / 2)), s / (s + 1)),
        lambda: at_most(exp(e * u1 / 2) / (exp(e * u1 / 2) + exp(e * u2 / 2)), (s + 1) / (s + 3)),
        {"epsilon": 2, "u_1": 1, "u_2": 0},
        needs="exp",
    ),
    Entry(
        "EM-5",
        "Theorem 8, utility",
        "n bad outcomes of weight e^-c against one best have probability at most n e^-c.",
        lambda: at_most(n * exp(-c) / (1 + n * exp(-c)), n * exp(-c)),
        lambda: at_most(n * exp(-c), n * exp(-c) / (1 + n * exp(-c))),
        {"n": 1, "c": 1},
        needs="exp",
    ),
    Entry(
        "EM-6",
        "Theorem 8, the union bound's constant",
        "n e^(-(ln n + z)) = e^-z.",
        lambda: equal(n * exp(-(log(n) + z)), exp(-z)),
        lambda: equal(n * exp(-(log(n) + z)), n * exp(-z)),
        {"n": 2, "z": 1},
        needs="exp and log",
    ),
    Entry(
        "EM-7",
        "k outcomes, the best one's probability",
        "One best outcome and k - 1 worse by 1 have s/(s + k - 1), at least 1/k.",
        lambda: at_most(1 / k, s / (s + k - 1)),
        lambda: at_most(2 / k, s / (s + k - 1)),
        {"epsilon": "1/10", "k": 4},
    ),
)

# Permute-and-flip: a random order, each accepted with q = e**(-epsilon gap/2).
q = Variable("q", 0, 1, open="left")
a = Variable("a", 1 / t, 1)
b_near = Variable("b", 0, 1, open="left")
a_near = Variable("a", b_near / t, 1)
b_cross = Variable("b", 1 / (t * a), 1)
a_s = Variable("a", 1 / s, 1)
b_s = Variable("b", 1 / (s**2 * a_s), 1)
b_top = Variable("b", 0, 1, open="left")
a_low = Variable("a", 0, t * b_top)
best_3 = (1 - (1 - q) ** 3) / (3 * q)

PERMUTE = published(
    "McKenna, Sheldon (2020)",
    Entry(
        "PF-1",
        "two candidates, against the exponential mechanism",
        "The worse one comes with q/2, not more than q/(1 + q).",
        lambda: at_most(q / 2, q / (1 + q)),
        lambda: at_most(q / (1 + q), q / 2),
        {"q": "1/2"},
    ),
    Entry(
        "PF-2",
        "Theorem on the factor two, two candidates",
        "The exponential mechanism errs at most twice as often.",
        lambda: at_most(q / (1 + q), 2 * (q / 2)),
        lambda: at_most(q / (1 + q), Rational(3, 2) * (q / 2)),
        {"q": "1/10"},
    ),
    Entry(
        "PF-3",
        "the best of three candidates",
        "The mean of 1, 1 - q and (1 - q)^2 is (1 - (1 - q)^3)/(3 q).",
        lambda: equal((1 + (1 - q) + (1 - q) ** 2) / 3, best_3),
        lambda: equal((1 + (1 - q) + (1 - q) ** 2) / 3, (1 - (1 - q) ** 3) / (2 * q)),
        {"q": "1/2"},
    ),
    Entry(
        "PF-4",
        "three candidates, against the exponential mechanism",
        "The best comes at least as often.",
        lambda: at_most(1 / (1 + 2 * q), best_3),
        lambda: at_most(best_3, 1 / (1 + 2 * q)),
        {"q": "1/2"},
    ),
    Entry(
        "PF-5",
        "n candidates, against the exponential mechanism",
        "(1 - (1 - q)^n)/(n q) is at least 1/(1 + (n - 1) q).",
        lambda: at_most(1 / (1 + (n - 1) * q), (1 - (1 - q) ** n) / (n * q)),
        lambda: at_most(2 / (2 + (n - 1) * q), (1 - (1 - q) ** n) / (n * q)),
        {"q": 1, "n": 3},
        needs="symbolic power",
    ),
    Entry(
        "PF-6",
        "privacy, the same one stays best",
        "1 - a/2 is at most t (1 - b/2) where the gap's factor moves by at most t.",
        lambda: at_most(1 - a_near / 2, t * (1 - b_near / 2)),
        lambda: at_most(1 - a_near / 2, (t + 1) / 2 * (1 - b_near / 2)),
        {"t": "3/2", "a": "2/3", "b": 1},
    ),
    Entry(
        "PF-7",
        "privacy, the other one becomes best",
        "1 - a/2 is at most t b/2 where a b is at least 1/t.",
        lambda: at_most(1 - a / 2, t * b_cross / 2),
        lambda: at_most(1 - a_s / 2, s * b_s / 2),
        {"epsilon": log(4), "a": 1, "b": "1/4"},
    ),
    Entry(
        "PF-8",
        "privacy, the one behind",
        "a/2 is at most t b/2 for a at most t b.",
        lambda: at_most(a_low / 2, t * b_top / 2),
        lambda: at_most(a_low / 2, (t + 1) / 2 * b_top / 2),
        {"t": 2, "a": 1, "b": "1/2"},
    ),
)

# Noisy maximum of two counts that are g apart, Laplace noise of scale 1/epsilon.
g = Variable("g", 0, oo)
tail = exp(-e * g) * (1 + e * g / 2) / 2
tail_next = exp(-e * (g + 1)) * (1 + e * (g + 1) / 2) / 2

NOISY_MAX = published(
    "Dwork, Roth (2014), Section 3.3",
    Entry(
        "NM-1",
        "Claim 3.9, two counts",
        "The smaller count wins at most e^epsilon times as often as from one further behind.",
        lambda: at_most(tail, t * tail_next),
        lambda: at_most(tail, s * tail_next),
        {"epsilon": 2, "g": 3},
        needs="exp",
    ),
    Entry(
        "NM-2",
        "two counts, the smaller one",
        "It wins with probability at most 1/2.",
        lambda: at_most(tail, half),
        lambda: at_most(tail, exp(-e * g) / 2),
        {"epsilon": 1, "g": 1},
        needs="exp",
    ),
    Entry(
        "NM-3",
        "two counts, the order",
        "Being further behind never helps.",
        lambda: at_most(tail_next, tail),
        lambda: at_most(tail, tail_next),
        {"epsilon": 1, "g": 1},
        needs="exp",
    ),
    Entry(
        "NM-4",
        "exponential noise instead",
        "e^(-epsilon g)/2 is at most the Laplace tail.",
        lambda: at_most(exp(-e * g) / 2, tail),
        lambda: at_most(exp(-e * g), tail),
        {"epsilon": 1, "g": 1},
        needs="exp",
    ),
)

# Sparse vector: budget epsilon_1 for the threshold, epsilon_2 for c queries; r**3 = 2 c.
part = Variable("a", 0, 1, open="both")
r = Variable("r", 0, oo, open="left")
cut = Variable("c", 1, oo, integer=True)
tolerance = Variable("b", 0, 2, open="both")
queries = Variable("k", 1, oo, integer=True)
above = Variable("p", 0, 1, open="left")
mono = 2 / part**2 + 2 * r**6 / (1 - part) ** 2
y = Variable("z", -oo, oo)

SPARSE = published(
    "Lyu, Su, Li (2017)",
    Entry(
        "SV-1",
        "Section 4.2, the best split at 2 c = 8",
        "The comparison's variance is at least 250/epsilon^2.",
        lambda: at_most(250, 2 / part**2 + 128 / (1 - part) ** 2),
        lambda: at_most(251, 2 / part**2 + 128 / (1 - part) ** 2),
        {"a": "1/5"},
    ),
    Entry(
        "SV-2",
        "Section 4.2, the best split for every c",
        "It is at least 2 (1 + (2 c)^(2/3))^3.",
        lambda: at_most(2 * (1 + r**2) ** 3, mono),
        lambda: at_most(2 * (1 + r**2) ** 3 + 1, mono),
        {"r": 2, "a": "1/5"},
    ),
    Entry(
        "SV-3",
        "Section 4.2, the best split, attained",
        "epsilon_1 : epsilon_2 = 1 : (2 c)^(2/3) has exactly that.",
        lambda: equal(mono.subs(part, 1 / (1 + r**2)), 2 * (1 + r**2) ** 3),
        lambda: equal(mono.subs(part, 1 / (1 + r)), 2 * (1 + r**2) ** 3),
        {"r": 2},
    ),
    Entry(
        "SV-4",
        "Algorithm 4, its real budget",
        "epsilon/4 and c times 3 epsilon/2 are (1 + 6 c) epsilon/4.",
        lambda: equal(e / 4 + cut * (3 * e / 2), (1 + 6 * cut) / 4 * e),
        lambda: equal(e / 4 + cut * (3 * e / 4), (1 + 6 * cut) / 4 * e),
        {"epsilon": 1, "c": 1},
    ),
    Entry(
        "SV-5",
        "Algorithm 4, the claim of its authors",
        "It is epsilon-private as claimed: (1 + 6 c)/4 is at most 1. False for every c.",
        lambda: at_most((1 + 6 * cut) / 4 * e, e),
        None,
        {"epsilon": 1, "c": 1},
    ),
    Entry(
        "SV-6",
        "Algorithm 5, no noise on the queries",
        "An answer pattern of positive probability stays possible at the neighbour: p is at most t times 0. False.",
        lambda: at_most(above, t * 0),
        None,
        {"epsilon": 1, "p": "1/2"},
    ),
    Entry(
        "SV-7",
        "Algorithm 6, answers with no cutoff",
        "m answers above the threshold stay within e^epsilon: e^(m epsilon) is at most e^epsilon. False from m = 2 on.",
        lambda: at_most(t**queries, t),
        None,
        {"epsilon": 1, "k": 2},
        needs="symbolic power",
    ),
    Entry(
        "SV-8",
        "Algorithm 1, the threshold's share",
        "A shift of the threshold by 1 costs e^(epsilon_1).",
        lambda: at_most(exp(-e * abs(y)), t * exp(-e * abs(y + 1))),
        lambda: at_most(exp(-e * abs(y)), s * exp(-e * abs(y + 1))),
        {"epsilon": 1, "z": 0},
        needs="exp",
    ),
    Entry(
        "SV-9",
        "accuracy, as in Dwork, Roth (2014), Theorem 3.24",
        "k e^-(ln k + ln(2/b)) = b/2.",
        lambda: equal(queries * exp(-(log(queries) + log(2 / tolerance))), tolerance / 2),
        lambda: equal(queries * exp(-(log(queries) + log(2 / tolerance))), tolerance),
        {"k": 1, "b": 1},
        needs="exp and log",
    ),
    Entry(
        "SV-10",
        "monotone queries",
        "They need (1 + 3 c)/4 of Algorithm 4's budget, less than (1 + 6 c)/4.",
        lambda: less((1 + 3 * cut) / 4, (1 + 6 * cut) / 4),
        lambda: less((1 + 6 * cut) / 4, 2 * (1 + 3 * cut) / 4 - Rational(1, 2)),
        {"c": 1},
    ),
)

ENTRIES = [*EXPONENTIAL, *PERMUTE, *NOISY_MAX, *SPARSE]
