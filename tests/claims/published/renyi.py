"""Renyi and concentrated privacy at every order, divergences that randomised response contracts, and ties at 0."""

from sympy import Abs, Min, Rational, Sum, binomial, exp, log, oo

from ldp_audit.claims import at_most, equal, less
from ldp_audit.mechanisms.variable import Variable
from tests.claims.published.entry import Entry, published
from tests.claims.published.letters import alpha, e, k, p_open, q_open, share, t, u_pos, v_pos

half = Rational(1, 2)


def power_sum(order: object) -> object:
    """The mean of the ratio's power for randomised response: e^((order - 1) D_order)."""
    return (t**order + t ** (1 - order)) / (1 + t)


inverse = Variable("z", 0, oo, open="left")
"""1/lambda: the distance of two inputs in scales of the Laplace noise."""
laplace_sum = (alpha * exp((alpha - 1) * inverse) + (alpha - 1) * exp(-alpha * inverse)) / (2 * alpha - 1)

ORDERS = published(
    "Mironov (2017), at every order",
    Entry(
        "RO-1",
        "randomised response, order infinity, real orders",
        "(t^a + t^(1 - a))/(1 + t) is at most t^(a - 1).",
        lambda: at_most(power_sum(alpha), t ** (alpha - 1)),
        lambda: at_most(power_sum(alpha), t ** (alpha - Rational(3, 2))),
        {"epsilon": 1, "alpha": 2},
        needs="symbolic power, real",
    ),
    Entry(
        "RO-2",
        "randomised response, the divergence itself",
        "ln((t^a + t^(1 - a))/(1 + t))/(a - 1) is at most epsilon.",
        lambda: at_most(log(power_sum(alpha)) / (alpha - 1), e),
        lambda: at_most(log(power_sum(alpha)) / (alpha - 1), e / 2),
        {"epsilon": 5, "alpha": 2},
        needs="symbolic power, real",
    ),
    Entry(
        "RO-3",
        "monotonicity in the order, orders 2 and 3",
        "D_2 is at most D_3 for randomised response.",
        lambda: at_most(log(power_sum(2)), log(power_sum(3)) / 2),
        lambda: at_most(log(power_sum(2)), log(power_sum(3)) / 3),
        {"epsilon": 1},
        needs="log",
    ),
    Entry(
        "RO-4",
        "log-convexity of the power sums, orders 2, 3 and 4",
        "That of order 3, squared, is at most the product of those of orders 2 and 4.",
        lambda: at_most(power_sum(3) ** 2, power_sum(2) * power_sum(4)),
        lambda: at_most(power_sum(4) ** 2, power_sum(2) * power_sum(5)),
        {"t": 10},
    ),
    Entry(
        "RO-5",
        "log-convexity of the power sums, neighbouring whole orders",
        "That of order k, squared, is at most the product of those of k - 1 and k + 1.",
        lambda: at_most(power_sum(k) ** 2, power_sum(k - 1) * power_sum(k + 1)),
        lambda: at_most(power_sum(k) ** 2, power_sum(k - 1) * power_sum(k)),
        {"epsilon": 1, "k": 2},
        needs="symbolic power",
    ),
    Entry(
        "RO-6",
        "Laplace noise, order infinity, real orders",
        "The power sum is at most e^((a - 1) z).",
        lambda: at_most(laplace_sum, exp((alpha - 1) * inverse)),
        lambda: at_most(laplace_sum, exp((alpha - 1) * inverse / 2)),
        {"z": 1, "alpha": 2},
        needs="exp of a product",
    ),
    Entry(
        "RO-7",
        "the weak triangle inequality, for Gaussians at p = q = 2",
        "a (u + v)^2/2 is at most (a - 1/2)/(a - 1) (2 a) u^2/2 + (2 a - 1) v^2/2.",
        lambda: at_most(
            alpha * (u_pos + v_pos) ** 2 / 2,
            (alpha - half) / (alpha - 1) * alpha * u_pos**2 + (2 * alpha - 1) * v_pos**2 / 2,
        ),
        lambda: at_most(
            alpha * (u_pos + v_pos) ** 2 / 2,
            (alpha - half) / (alpha - 1) * alpha * u_pos**2 + (2 * alpha - Rational(3, 2)) * v_pos**2 / 2,
        ),
        {"u": 1, "v": 2, "alpha": 2},
    ),
)

# Concentrated privacy.
rho, far = Variable("rho", 0, oo, open="left"), Variable("L", 0, oo)

CONCENTRATED = published(
    "Bun, Steinke (2016), at every order",
    Entry(
        "ZO-1",
        "Proposition 3.3, randomised response, real orders",
        "ln((t^a + t^(1 - a))/(1 + t)) is at most a (a - 1) epsilon^2/2.",
        lambda: at_most(log(power_sum(alpha)), alpha * (alpha - 1) * e**2 / 2),
        lambda: at_most(log(power_sum(alpha)), alpha * (alpha - 1) * e**2 / 3),
        {"epsilon": "1/10", "alpha": 2},
        needs="symbolic power, real",
    ),
    Entry(
        "ZO-2",
        "Proposition 3.3, randomised response, whole orders",
        "(t^k + t^(1 - k))/(1 + t) is at most e^(k (k - 1) epsilon^2/2).",
        lambda: at_most(power_sum(k), exp(k * (k - 1) * e**2 / 2)),
        lambda: at_most(power_sum(k), exp(k * (k - 1) * e**2 / 3)),
        {"epsilon": "1/10", "k": 2},
        needs="symbolic power",
    ),
    Entry(
        "ZO-3",
        "Proposition 3.3, randomised response at order 4",
        "(t^4 + t^-3)/(1 + t) is at most e^(6 epsilon^2).",
        lambda: at_most(power_sum(4), exp(6 * e**2)),
        lambda: at_most(power_sum(4), exp(5 * e**2)),
        {"epsilon": "1/10"},
        needs="exp",
    ),
    Entry(
        "ZO-4",
        "Proposition 3.3, Laplace noise, real orders",
        "Its power sum is at most e^(a (a - 1) z^2/2).",
        lambda: at_most(laplace_sum, exp(alpha * (alpha - 1) * inverse**2 / 2)),
        lambda: at_most(laplace_sum, exp(alpha * (alpha - 1) * inverse**2 / 3)),
        {"z": "1/10", "alpha": 2},
        needs="exp of a product",
    ),
    Entry(
        "ZO-5",
        "the tail of the loss, the best order",
        "(a - 1)(rho a - rho - L) is at least -L^2/(4 rho) for every order.",
        lambda: at_most(-(far**2) / (4 * rho), (alpha - 1) * (rho * alpha - rho - far)),
        lambda: at_most(-(far**2) / (5 * rho), (alpha - 1) * (rho * alpha - rho - far)),
        {"rho": 1, "L": 2, "alpha": 2},
    ),
    Entry(
        "ZO-6",
        "Proposition 3.3 at order 1",
        "epsilon (t - 1)/(t + 1) is at most the smaller of epsilon and epsilon^2/2.",
        lambda: at_most(e * (t - 1) / (t + 1), Min(e, e**2 / 2)),
        lambda: at_most(e * (t - 1) / (t + 1), Min(9 * e / 10, e**2 / 2)),
        {"epsilon": 5},
        needs="Max or Min",
    ),
)

# Ties at epsilon = 0, which some sources allow.
e0 = Variable("epsilon", 0, oo)

TIES = published(
    "Dwork, Rothblum (2016), with epsilon = 0 allowed",
    Entry(
        "TI-1",
        "the total variation of randomised response",
        "(e^epsilon - 1)/(e^epsilon + 1) is at most epsilon/2, with a tie at 0.",
        lambda: at_most((exp(e0) - 1) / (exp(e0) + 1), e0 / 2),
        lambda: less((exp(e0) - 1) / (exp(e0) + 1), e0 / 2),
        {"epsilon": 0},
        needs="exp, a tie at the end",
    ),
    Entry(
        "TI-2",
        "the divergence of randomised response",
        "epsilon (e^epsilon - 1)/(e^epsilon + 1) is at most epsilon^2/2, with a tie at 0.",
        lambda: at_most(e0 * (exp(e0) - 1) / (exp(e0) + 1), e0**2 / 2),
        lambda: less(e0 * (exp(e0) - 1) / (exp(e0) + 1), e0**2 / 2),
        {"epsilon": 0},
        needs="exp, a tie at the end",
    ),
    Entry(
        "TI-3",
        "the divergence of order 2",
        "ln((e^(2 epsilon) + e^-epsilon)/(1 + e^epsilon)) is at most epsilon^2, with a tie at 0.",
        lambda: at_most(log((exp(2 * e0) + exp(-e0)) / (1 + exp(e0))), e0**2),
        lambda: less(log((exp(2 * e0) + exp(-e0)) / (1 + exp(e0))), e0**2),
        {"epsilon": 0},
        needs="log, a tie at the end",
    ),
    Entry(
        "TI-4",
        "sampling at any rate",
        "ln(1 + b (e^epsilon - 1)) is at most epsilon, with ties at 0 and at b = 1.",
        lambda: at_most(log(1 + share * (exp(e0) - 1)), e0),
        lambda: less(log(1 + share * (exp(e0) - 1)), e0),
        {"epsilon": 0, "b": "1/2"},
        needs="log, a tie at the end",
    ),
    Entry(
        "TI-5",
        "the scale of one-bit reports, multiplied out",
        "epsilon (e^epsilon + 1) is at least 2 (e^epsilon - 1), with a tie at 0.",
        lambda: at_most(2 * (exp(e0) - 1), e0 * (exp(e0) + 1)),
        lambda: at_most(2 * (exp(e0) - 1) + e0**3 / 5, e0 * (exp(e0) + 1)),
        {"epsilon": "1/10"},
        needs="exp, a tie at the end",
    ),
)

# What is left of the distance of two coins p, q after randomised response.
p, q = Variable("p", 0, 1), Variable("q", 0, 1)


def seen(coin: object) -> object:
    """The probability of the answer 1."""
    return (1 + coin * (t - 1)) / (t + 1)


def divergence(one: object, other: object) -> object:
    """Kullback and Leibler's, of two coins."""
    return one * log(one / other) + (1 - one) * log((1 - one) / (1 - other))


one, other = seen(p), seen(q)
kept = (t - 1) / (t + 1)

CONTRACTION = published(
    "Duchi, Jordan, Wainwright (2018); Asoodeh, Aliakbarpour, Calmon (2021)",
    Entry(
        "CT-1",
        "Duchi, Jordan, Wainwright, Theorem 1, two coins",
        "Both divergences together are at most min(4, e^(2 epsilon)) (e^epsilon - 1)^2 |p - q|^2.",
        lambda: at_most(
            (one - other) * (log(one / (1 - one)) - log(other / (1 - other))),
            Min(4, t**2) * (t - 1) ** 2 * (p - q) ** 2,
        ),
        lambda: at_most(
            (one - other) * (log(one / (1 - one)) - log(other / (1 - other))),
            Rational(9, 10) * (t - 1) ** 2 * (p - q) ** 2,
        ),
        {"epsilon": "1/100", "p": 1, "q": 0},
        needs="log, Max or Min",
    ),
    Entry(
        "CT-2",
        "the total variation of two coins",
        "It is (t - 1)/(t + 1) of what it was.",
        lambda: equal(Abs(one - other), kept * Abs(p - q)),
        lambda: equal(Abs(one - other), kept * (p - q)),
        {"epsilon": 1, "p": 0, "q": 1},
        needs="Abs",
    ),
    Entry(
        "CT-3",
        "Asoodeh, Aliakbarpour, Calmon, the contraction of the divergence",
        "It is at most ((t - 1)/(t + 1))^2 of what it was.",
        lambda: at_most(divergence(seen(p_open), seen(q_open)), kept**2 * divergence(p_open, q_open)),
        lambda: at_most(divergence(seen(p_open), seen(q_open)), kept**3 * divergence(p_open, q_open)),
        {"epsilon": 1, "p": "1/2", "q": "2/5"},
        needs="log",
    ),
    Entry(
        "CT-4",
        "Asoodeh, Aliakbarpour, Calmon, the contraction of chi-squared",
        "The answers' chi-squared divergence is at most ((t - 1)/(t + 1))^2 of the coins'.",
        lambda: at_most(
            (seen(p_open) - seen(q_open)) ** 2 / (seen(q_open) * (1 - seen(q_open))),
            kept**2 * (p_open - q_open) ** 2 / (q_open * (1 - q_open)),
        ),
        lambda: at_most(
            (seen(p_open) - seen(q_open)) ** 2 / (seen(q_open) * (1 - seen(q_open))),
            kept**3 * (p_open - q_open) ** 2 / (q_open * (1 - q_open)),
        ),
        {"epsilon": 1, "p": "1/4", "q": "1/2"},
    ),
)

# Renyi privacy of sampling.
gamma = share
i = Variable("i", 0, k, integer=True)
sampled = ((1 - gamma + gamma * t) ** k + t * (1 - gamma + gamma / t) ** k) / (1 + t)

SAMPLED = published(
    "Wang, Balle, Kasiviswanathan (2019); Mironov, Talwar, Zhang (2019)",
    Entry(
        "SR-1",
        "sampled randomised response at order 2",
        "Its power sum is 1 + g^2 (t - 1)^2/t.",
        lambda: equal(
            ((1 + gamma * (t - 1)) ** 2 + t * (1 + gamma * (1 / t - 1)) ** 2) / (1 + t), 1 + gamma**2 * (t - 1) ** 2 / t
        ),
        lambda: equal(
            ((1 + gamma * (t - 1)) ** 2 + t * (1 + gamma * (1 / t - 1)) ** 2) / (1 + t), 1 + gamma * (t - 1) ** 2 / t
        ),
        {"epsilon": 1, "b": "1/2"},
    ),
    Entry(
        "SR-2",
        "sampled randomised response at whole orders, by the binomial theorem",
        "The sum of C(k, i)(1 - g)^(k - i) g^i (t^i + t^(1 - i))/(1 + t) in closed form.",
        lambda: equal(
            Sum(binomial(k, i) * (1 - p_open) ** (k - i) * p_open**i * (t**i + t ** (1 - i)) / (1 + t), (i, 0, k)),
            ((1 - p_open + p_open * t) ** k + t * (1 - p_open + p_open / t) ** k) / (1 + t),
        ),
        lambda: equal(
            Sum(binomial(k, i) * (1 - p_open) ** (k - i) * p_open**i * (t**i + t ** (1 - i)) / (1 + t), (i, 0, k)),
            ((1 - p_open + p_open * t) ** k + (1 - p_open + p_open / t) ** k) / (1 + t),
        ),
        {"epsilon": 1, "p": "1/2", "k": 2},
        needs="sum over a binomial law",
    ),
    Entry(
        "SR-3",
        "sampled randomised response at whole orders, order infinity",
        "That is at most (1 + g (t - 1))^(k - 1).",
        lambda: at_most(sampled, (1 + gamma * (t - 1)) ** (k - 1)),
        lambda: at_most(sampled, (1 + gamma * (t - 1)) ** (k - 2)),
        {"epsilon": 1, "b": "1/2", "k": 2},
        needs="symbolic power",
    ),
    Entry(
        "SR-4",
        "Theorem 9 at order 2, the second term of the minimum, for randomised response",
        "Chi-squared is at most e^(D_2) times min(2, (t - 1)^2).",
        lambda: at_most((t - 1) ** 2 / t, (t**2 - t + 1) / t * Min(2, (t - 1) ** 2)),
        lambda: at_most((t - 1) ** 2 / t, (t**2 - t + 1) / t * Min(half, (t - 1) ** 2)),
        {"t": 10},
        needs="Max or Min",
    ),
    Entry(
        "SR-5",
        "Theorem 9 at order 2, the first term of the minimum, for randomised response",
        "ln(1 + g^2 (t - 1)^2/t) is at most ln(1 + 4 g^2 (e^(D_2) - 1)), e^(D_2) = (t^2 - t + 1)/t.",
        lambda: at_most(log(1 + gamma**2 * (t - 1) ** 2 / t), log(1 + 4 * gamma**2 * ((t**2 - t + 1) / t - 1))),
        lambda: at_most(
            log(1 + gamma**2 * (t - 1) ** 2 / t), log(1 + Rational(9, 10) * gamma**2 * ((t**2 - t + 1) / t - 1))
        ),
        {"epsilon": 1, "b": "1/2"},
        needs="log",
    ),
)

# Hoeffding's lemma.
x = Variable("x", -oo, oo)
MOMENTS = published(
    "Hoeffding (1963), the lemma, as moments accountants use it",
    Entry(
        "HL-1",
        "a coin's cumulants",
        "ln(1 - p + p e^x) is at most p x + x^2/8.",
        lambda: at_most(log(1 - p + p * exp(x)), p * x + x**2 / 8),
        lambda: at_most(log(1 - p + p * exp(x)), p * x + x**2 / 9),
        {"p": "1/2", "x": "1/2"},
        needs="log and exp",
    ),
    Entry(
        "HL-2",
        "a coin's cumulants, Bennett's way",
        "ln(1 - p + p e^x) is at most p (e^x - 1).",
        lambda: at_most(log(1 - p + p * exp(x)), p * (exp(x) - 1)),
        lambda: at_most(log(1 - p + p * exp(x)), p * x),
        {"p": "1/2", "x": 1},
        needs="log and exp",
    ),
)

ENTRIES = [*ORDERS, *CONCENTRATED, *TIES, *CONTRACTION, *SAMPLED, *MOMENTS]
