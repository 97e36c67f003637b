"""Sampling and shuffling: what privacy gains when a client may not take part, or hides among others."""

from sympy import Rational, exp, log, oo

from ldp_audit.claims import at_most, equal, order
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.variable import Variable
from tests.claims.published.entry import Entry, Privacy, published
from tests.claims.published.letters import K, bit, e, e1, k, m, n, share, t, t1

q = Variable("q", 0, 1)
p_up = Variable("p", 0, t * q)
p_down = Variable("p", q / t, 1)
eta = Variable("eta", 0, 1, open="left")
A = Variable("A", 1, oo)
P0, P1, Q1 = (Variable(name, 0, oo) for name in ("mu_0", "mu_1", "nu_1"))
mixed = 1 + eta * (A - 1)
beta = mixed / A
sampled_rr = SymbolicChannel(
    "sampled RR",
    inputs=bit,
    atoms={1: (1 + share * bit * (t - 1)) / (t + 1), 0: (t - share * bit * (t - 1)) / (t + 1)},
)
goal = Variable("E", 0, oo, open="left")
rate = Variable("b", 0, 1)

SAMPLING = published(
    "Li, Qardaji, Su (2012); Balle, Barthe, Gaboardi (2018)",
    Entry(
        "SA-1",
        "Theorem 1 (2012), one direction",
        "Sampling at rate b makes the ratio at most 1 + b (t - 1).",
        lambda: at_most((1 - share) * q + share * p_up, (1 + share * (t - 1)) * q),
        lambda: at_most((1 - share) * q + share * p_up, (1 + share * (t - 1) / 2) * q),
        {"t": 2, "b": "1/2", "q": "1/2", "p": 1},
    ),
    Entry(
        "SA-2",
        "Theorem 1 (2012), the other direction",
        "So does removing the sampled client.",
        lambda: at_most(q, (1 + share * (t - 1)) * ((1 - share) * q + share * p_down)),
        lambda: at_most(q, (1 + share * (t - 1) / t / 2) * ((1 - share) * q + share * p_down)),
        {"t": 2, "b": "1/2", "q": "1/2", "p": "1/4"},
    ),
    Entry(
        "SA-3",
        "Theorem 1 (2012), for randomised response",
        "Sampled randomised response has the ratio 1 + b (t - 1).",
        lambda: Privacy(sampled_rr, 1 + share * (t - 1)),
        lambda: Privacy(sampled_rr, 1 + share * (t - 1) / 2),
        {"t": 2, "b": "1/2", "x": 1, "x_prime": 0},
    ),
    Entry(
        "SA-4",
        "Theorem 1 (2012), with delta",
        "delta becomes b delta.",
        lambda: at_most((1 - share) * q + share * p_delta, (1 + share * (t - 1)) * q + share * slack),
        lambda: at_most((1 - share) * q + share * p_delta, (1 + share * (t - 1)) * q + share**2 * slack),
        {"t": 2, "b": "1/2", "q": 0, "delta": "1/2", "p": "1/2"},
        needs="delta",
    ),
    Entry(
        "SA-5",
        "never a loss",
        "ln(1 + b (e^epsilon - 1)) is at most epsilon.",
        lambda: at_most(log(1 + share * (t - 1)), e),
        lambda: at_most(log(1 + share * (t - 1)), e / 2),
        {"epsilon": 1, "b": 1},
        needs="log",
    ),
    Entry(
        "SA-6",
        "for small epsilon",
        "It is at most 2 b epsilon up to epsilon = 1.",
        lambda: at_most(log(1 + share * (t1 - 1)), 2 * share * e1),
        lambda: at_most(log(1 + share * (t1 - 1)), share * e1),
        {"epsilon": 1, "b": "1/2"},
        needs="log",
    ),
    Entry(
        "SA-7",
        "no more than the rate",
        "It is at least b epsilon.",
        lambda: at_most(share * e, log(1 + share * (t - 1))),
        lambda: at_most(2 * share * e, log(1 + share * (t - 1))),
        {"epsilon": 1, "b": 1},
        needs="log",
    ),
    Entry(
        "SA-8",
        "no more than the rate, as powers",
        "e^(b epsilon) is at most 1 + b (e^epsilon - 1).",
        lambda: at_most(exp(rate * e), 1 + rate * (t - 1)),
        lambda: at_most(exp(rate * e), 1 + rate * (t - 1) / 2),
        {"epsilon": 1, "b": 1},
        needs="exp",
    ),
    Entry(
        "SA-9",
        "Theorem 2 (2018), advanced joint convexity",
        "(1 - h) m0 + h m1 - A' ((1 - h) m0 + h n1) = h (m1 - A ((1 - b) m0 + b n1)), A' = 1 + h (A - 1), b = A'/A.",
        lambda: equal(
            (1 - eta) * P0 + eta * P1 - mixed * ((1 - eta) * P0 + eta * Q1),
            eta * (P1 - A * ((1 - beta) * P0 + beta * Q1)),
        ),
        lambda: equal(
            (1 - eta) * P0 + eta * P1 - mixed * ((1 - eta) * P0 + eta * Q1),
            eta * (P1 - A * ((1 - 1 / A) * P0 + Q1 / A)),
        ),
        {"eta": "1/2", "A": 2, "mu_0": 1, "mu_1": 1, "nu_1": 1 + 1},
    ),
    Entry(
        "SA-10",
        "the inverse",
        "e^epsilon = 1 + (e^epsilon' - 1)/b undoes it: 1 + b (that - 1) = e^epsilon'.",
        lambda: equal(1 + share * ((1 + (t - 1) / share) - 1), t),
        lambda: equal(1 + share * ((1 + (t - 1) * share) - 1), t),
        {"epsilon": 1, "b": "1/2"},
    ),
    Entry(
        "SA-11",
        "the inverse, in logarithms",
        "ln(1 + b (e^(ln(1 + (e^E - 1)/b)) - 1)) = E.",
        lambda: equal(log(1 + share * (exp(log(1 + (exp(goal) - 1) / share)) - 1)), goal),
        lambda: equal(log(1 + share * (exp(log(1 + (exp(goal) - 1) * share)) - 1)), goal),
        {"E": 1, "b": "1/2"},
        needs="exp and log",
    ),
    Entry(
        "SA-12",
        "sampling with replacement",
        "1 - (1 - 1/n)^m is at most m/n.",
        lambda: at_most(1 - (1 - 1 / n) ** m, m / n),
        lambda: at_most(m / n, 1 - (1 - 1 / n) ** m),
        {"n": 2, "m": 2},
        needs="symbolic power",
    ),
    Entry(
        "SA-13",
        "sampling with replacement, from below",
        "1 - (1 - 1/n)^m is at least 1 - e^(-m/n).",
        lambda: at_most(1 - exp(-m / n), 1 - (1 - 1 / n) ** m),
        lambda: at_most(1 - (1 - 1 / n) ** m, 1 - exp(-m / n)),
        {"n": 2, "m": 2},
        needs="symbolic power",
    ),
    Entry(
        "SA-14",
        "sampling twice",
        "Rates multiply: 1 + a ((1 + b (t - 1)) - 1) = 1 + a b (t - 1).",
        lambda: equal(1 + rate * ((1 + share_2 * (t - 1)) - 1), 1 + rate * share_2 * (t - 1)),
        lambda: equal(1 + rate * ((1 + share_2 * (t - 1)) - 1), 1 + (rate + share_2) * (t - 1)),
        {"epsilon": 1, "b": "1/2", "a": "1/2"},
    ),
)
share_2 = Variable("a", 0, 1)
slack = Variable("delta", 0, 1)
p_delta = Variable("p", 0, t * q + slack)

gamma = k / (t + k - 1)
shift = Variable("d", 0, 1)

BLANKET = published(
    "Balle, Bell, Gascon, Nissim (2019)",
    Entry(
        "BB-1",
        "the blanket of k-RR",
        "The truth has 1 - g + g/k with g = k/(t + k - 1).",
        lambda: equal(1 - gamma + gamma / k, t / (t + k - 1)),
        lambda: equal(1 - gamma + gamma / (k - 1), t / (t + k - 1)),
        {"epsilon": 1, "k": 2},
    ),
    Entry(
        "BB-2",
        "the blanket of k-RR, a lie",
        "Any other value has g/k.",
        lambda: equal(gamma / k, 1 / (t + k - 1)),
        lambda: equal(gamma / (k + 1), 1 / (t + k - 1)),
        {"epsilon": 1, "k": 2},
    ),
    Entry(
        "BB-3",
        "the blanket of any epsilon-LDP randomiser",
        "g is at least e^-epsilon: for k-RR, k/(t + k - 1) is.",
        lambda: at_most(exp(-e), gamma),
        lambda: at_most(gamma, exp(-e)),
        {"epsilon": 1, "k": 2},
        needs="exp",
    ),
    Entry(
        "BB-4",
        "the blanket of Laplace noise on [0, 1]",
        "The densities at distance d from both ends multiply to e^-epsilon: e^(-epsilon d) e^(-epsilon (1 - d)).",
        lambda: equal(exp(-e * shift) * exp(-e * (1 - shift)), exp(-e)),
        lambda: equal(exp(-e * shift) * exp(-e * (1 + shift)), exp(-e)),
        {"epsilon": 1, "d": "1/2"},
        needs="exp",
    ),
    Entry(
        "BB-5",
        "the blanket of Laplace noise, the mean of the ends",
        "(e^(-epsilon d) + e^(-epsilon (1 - d)))/2 is at least e^(-epsilon/2).",
        lambda: at_most(exp(-e / 2), (exp(-e * shift) + exp(-e * (1 - shift))) / 2),
        lambda: at_most((exp(-e * shift) + exp(-e * (1 - shift))) / 2, exp(-e / 2)),
        {"epsilon": 1, "d": 0},
        needs="exp",
    ),
)

BASSILY_SMITH = published(
    "Bassily, Smith (2015)",
    Entry(
        "BS-1",
        "Algorithm 1, the scale",
        "c = (t + 1)/(t - 1) is O(1/epsilon) for epsilon at most 1.",
        lambda: order((t1 + 1) / (t1 - 1), K / e1, constant=K),
        lambda: order((t1 + 1) / (t1 - 1), K, constant=K),
        lambda constant: {"epsilon": Rational(1, 10 * constant)},
        shown={"K": 3},
        needs="order",
    ),
    Entry(
        "BS-2",
        "Algorithm 1, the basic randomiser",
        "c (t/(t + 1) - 1/(t + 1)) = 1: it is unbiased.",
        lambda: equal((t + 1) / (t - 1) * (t / (t + 1) - 1 / (t + 1)), 1),
        lambda: equal((t + 1) / (t - 1) * (t / (t + 1) + 1 / (t + 1)), 1),
        {"epsilon": 1},
    ),
    Entry(
        "BS-3",
        "Algorithm 1, the second moment",
        "c^2 - 1 = 4 t/(t - 1)^2.",
        lambda: equal(((t + 1) / (t - 1)) ** 2 - 1, 4 * t / (t - 1) ** 2),
        lambda: equal(((t + 1) / (t - 1)) ** 2 + 1, 4 * t / (t - 1) ** 2),
        {"epsilon": 1},
    ),
    Entry(
        "BS-4",
        "Algorithm 1, the scale with its constant",
        "(t + 1)/(t - 1) is above 1 by at most 2/epsilon.",
        lambda: at_most((t + 1) / (t - 1) - 1, 2 / e),
        lambda: at_most((t + 1) / (t - 1) - 1, 1 / e),
        {"epsilon": "1/10"},
        needs="epsilon and t",
    ),
)

KASIVISWANATHAN = published(
    "Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith (2011)",
    Entry(
        "KL-1",
        "Definition of local algorithms, budgets of one client",
        "A client of two randomisers has the sum of their budgets, which is no less than either.",
        lambda: at_most(exp(E1), exp(E1 + E2)),
        lambda: at_most(exp(E1 + E2), exp(E1)),
        {"epsilon_1": 1, "epsilon_2": 1},
        needs="exp",
    ),
    Entry(
        "KL-2",
        "Section 5, simulating a statistical query",
        "The Laplace noise for [-b, b] has variance 8 b^2/epsilon^2, more than b^2 for epsilon up to 2.",
        lambda: at_most(width**2, 8 * width**2 / below**2),
        lambda: at_most(width**2, 8 * width**2 / e**2),
        {"epsilon": 3, "b": 1},
    ),
)
E1, E2 = (Variable(name, 0, oo, open="left") for name in ("epsilon_1", "epsilon_2"))
width, below = Variable("b", 0, oo, open="left"), Variable("epsilon", 0, 2, open="left")

ENTRIES = [*SAMPLING, *BLANKET, *BASSILY_SMITH, *KASIVISWANATHAN]
