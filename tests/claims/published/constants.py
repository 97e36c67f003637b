"""Irrational constants: logarithms of two, roots, pi and e in bounds on information, tails and composition."""

from sympy import E, Rational, Sum, binomial, erf, exp, factorial, log, oo, pi, sqrt

from ldp_audit.claims import at_most, equal, less
from ldp_audit.mechanisms.variable import Variable
from tests.claims.published.entry import Entry, published
from tests.claims.published.letters import E1, e, k, m, n, p_open, t, u

half = Rational(1, 2)

# What randomised response tells about a fair bit, and about one of k values.
told = log(2) - log(1 + t) + e * t / (1 + t)
told_k = log(k) - log(t + k - 1) + e * t / (t + k - 1)

INFORMATION = published(
    "Kairouz, Oh, Viswanath (2014), on mutual information",
    Entry(
        "MI-1",
        "the high-privacy regime, randomised response on a fair bit",
        "It tells at most epsilon^2/8 nats.",
        lambda: at_most(told, e**2 / 8),
        lambda: at_most(told, e**2 / 9),
        {"epsilon": "1/10"},
        needs="log(2)",
    ),
    Entry(
        "MI-2",
        "the low-privacy regime, randomised response on a fair bit",
        "It tells less than one bit, which is ln 2.",
        lambda: less(told, log(2)),
        lambda: less(told, log(2) - Rational(1, 100)),
        {"epsilon": 10},
        needs="log(2)",
    ),
    Entry(
        "MI-3",
        "the high-privacy regime, from below",
        "It tells at least epsilon^2/8 - epsilon^4/64 nats.",
        lambda: at_most(e**2 / 8 - e**4 / 64, told),
        lambda: at_most(e**2 / 8 - e**4 / 65, told),
        {"epsilon": "1/10"},
        needs="log(2)",
    ),
    Entry(
        "MI-4",
        "k-RR on a uniform value",
        "It tells at most epsilon nats.",
        lambda: at_most(told_k, e),
        lambda: at_most(told_k, e / 2),
        {"epsilon": 6, "k": 60},
        needs="log of a whole number",
    ),
    Entry(
        "MI-5",
        "k-RR on a uniform value, the low-privacy regime",
        "It tells less than the value's entropy ln k.",
        lambda: less(told_k, log(k)),
        lambda: less(told_k, log(k) - Rational(1, 100)),
        {"epsilon": 10, "k": 2},
        needs="log of a whole number",
    ),
    Entry(
        "MI-6",
        "k-RR on a uniform value, sign",
        "What it tells is not negative.",
        lambda: at_most(0, told_k),
        lambda: at_most(log(t + k - 1), log(k) + e * t / (2 * (t + k - 1))),
        {"epsilon": 1, "k": 2},
        needs="log of a whole number",
    ),
)

# Fano's inequality.
p = p_open
entropy = -p * log(p) - (1 - p) * log(1 - p)

FANO = published(
    "Fano's inequality, as in Cover, Thomas (2006) and Duchi, Jordan, Wainwright (2013)",
    Entry(
        "FA-1",
        "the entropy of a coin, from above",
        "It is at most 2 sqrt(p (1 - p)) bits.",
        lambda: at_most(entropy, 2 * log(2) * sqrt(p * (1 - p))),
        lambda: at_most(entropy, 2 * Rational(69, 100) * sqrt(p * (1 - p))),
        {"p": "1/2"},
        needs="log(2) and sqrt",
    ),
    Entry(
        "FA-2",
        "the entropy of a coin, from below",
        "It is at least 4 p (1 - p) bits.",
        lambda: at_most(4 * log(2) * p * (1 - p), entropy),
        lambda: at_most(4 * Rational(7, 10) * p * (1 - p), entropy),
        {"p": "1/2"},
        needs="log(2)",
    ),
    Entry(
        "FA-3",
        "sharpness at the uniform guess",
        "An error of 1 - 1/k has h(1/k) + (1 - 1/k) ln(k - 1) = ln k.",
        lambda: equal(-(1 - 1 / k) * log(1 - 1 / k) - log(1 / k) / k + (1 - 1 / k) * log(k - 1), log(k)),
        lambda: equal(-(1 - 1 / k) * log(1 - 1 / k) - log(1 / k) / k + (1 - 1 / k) * log(k), log(k)),
        {"k": 2},
        needs="log of a whole number",
    ),
    Entry(
        "FA-4",
        "the local version, at k-RR",
        "The best guess errs with probability at least 1 - (epsilon + ln 2)/ln k.",
        lambda: at_most(1 - (e + log(2)) / log(k), (k - 1) / (t + k - 1)),
        lambda: at_most(1 - (e / 4 + log(2)) / log(k), (k - 1) / (t + k - 1)),
        {"epsilon": 6, "k": 50},
        needs="log(2)",
    ),
)

# Distances of the two laws of randomised response.
apart = (t - 1) / (t + 1)
hellinger = 1 - 2 * sqrt(t) / (t + 1)
x_tail = Variable("x", 0, oo)
normal_tail = (1 - erf(x_tail / sqrt(2))) / 2
bell = exp(-(x_tail**2) / 2) / sqrt(2 * pi)

DISTANCES = published(
    "Tsybakov (2009), chapter 2, at randomised response and the Gaussian",
    Entry(
        "TS-1",
        "Pinsker's inequality",
        "The total variation is at most the root of half the divergence.",
        lambda: at_most(apart, sqrt(e * apart / 2)),
        lambda: at_most(apart, sqrt(e * apart / 3)),
        {"epsilon": 1},
        needs="sqrt",
    ),
    Entry(
        "TS-2",
        "the inequality of Bretagnolle and Huber (1979)",
        "It is at most sqrt(1 - e^-KL).",
        lambda: at_most(apart, sqrt(1 - exp(-e * apart))),
        lambda: at_most(apart, sqrt(1 - exp(-e * apart / 2))),
        {"epsilon": 1},
        needs="sqrt and exp",
    ),
    Entry(
        "TS-3",
        "Hellinger's distance for small epsilon",
        "1 - 2 sqrt(t)/(t + 1) is at most epsilon^2/8.",
        lambda: at_most(hellinger, e**2 / 8),
        lambda: at_most(hellinger, e**2 / 9),
        {"epsilon": "1/2"},
        needs="sqrt",
    ),
    Entry(
        "TS-4",
        "total variation and Hellinger's distance",
        "The total variation is at most sqrt(2) times Hellinger's distance.",
        lambda: at_most(apart, sqrt(2) * sqrt(hellinger)),
        lambda: at_most(apart, Rational(7, 5) * sqrt(hellinger)),
        {"epsilon": "1/10"},
        needs="sqrt(2)",
    ),
    Entry(
        "TS-5",
        "two Gaussians u standard deviations apart",
        "Their total variation erf(u/(2 sqrt 2)) is at most u/2.",
        lambda: at_most(erf(u / (2 * sqrt(2))), u / 2),
        lambda: at_most(erf(u / (2 * sqrt(2))), Rational(39, 100) * u),
        {"u": "1/10"},
        needs="erf",
    ),
    Entry(
        "TS-6",
        "Gordon's lower bound on the Gaussian tail",
        "P(Z > x) is at least x/(1 + x^2) times the density.",
        lambda: at_most(x_tail / (1 + x_tail**2) * bell, normal_tail),
        lambda: at_most(x_tail / (half + x_tail**2) * bell, normal_tail),
        {"x": 1},
        needs="erf",
    ),
)

# PrivUnit: a random vector of the cap around the input with probability p, of the rest of the sphere else. On a sphere
# in three dimensions the height is uniform, so that caps of height g and more have the share (1 - g)/2.
low_cap = Variable("g", 0, (t - 1) / (t + 1) * sqrt(pi / 4))
wide_cap = Variable("g", 0, (t - 1) / (t + 1) * sqrt(pi / 3))
high_cap = Variable("g", sqrt(Rational(2, 3)), 1, open="right")
any_cap = Variable("g", 0, 1, open="both")
d_3 = Variable("d", 3, oo, integer=True)
d_2 = Variable("d", 2, oo, integer=True)

PRIV_UNIT = published(
    "Bhowmick, Duchi, Freudiger, Kapoor, Rogers (2018)",
    Entry(
        "PU-1",
        "the theorem on PrivUnit, low caps, in three dimensions",
        "g up to (t - 1)/(t + 1) sqrt(pi/4) has (1 + g)/(1 - g) at most e^epsilon.",
        lambda: at_most(1 + low_cap, t * (1 - low_cap)),
        lambda: at_most(1 + wide_cap, t * (1 - wide_cap)),
        {"t": 2, "g": "341/1000"},
        needs="sqrt(pi) in a domain",
    ),
    Entry(
        "PU-2",
        "the theorem on PrivUnit, high caps, in three dimensions",
        "The ratio is at most e^(ln(3)/2 + ln 6 - ln(1 - g^2) + ln g) for g from sqrt(2/3) on.",
        lambda: at_most(
            log((1 + high_cap) / (1 - high_cap)), log(3) / 2 + log(6) - log(1 - high_cap**2) + log(high_cap)
        ),
        lambda: at_most(
            log((1 + high_cap) / (1 - high_cap)), log(3) / 2 + log(2) - log(1 - high_cap**2) + log(high_cap)
        ),
        {"g": "99/100"},
        needs="log(3)",
    ),
    Entry(
        "PU-3",
        "the theorem on PrivUnit, both cases as an implication",
        "If t (1 - g^2) is at least 6 sqrt(3) g, and g at least sqrt(2/3), the ratio is at most t.",
        lambda: at_most(
            1 + any_cap,
            t * (1 - any_cap),
            given=(at_most(6 * sqrt(3) * any_cap, t * (1 - any_cap**2)), at_most(sqrt(Rational(2, 3)), any_cap)),
        ),
        lambda: at_most(
            1 + any_cap,
            t * (1 - any_cap),
            given=(at_most(3 * sqrt(3) / 2 * any_cap, t * (1 - any_cap**2)), at_most(sqrt(Rational(2, 3)), any_cap)),
        ),
        {"t": 13, "g": "9/10"},
        needs="implication",
    ),
    Entry(
        "PU-4",
        "the theorem on PrivUnit, the gap between its cases",
        "The largest low cap, sqrt(pi/(2 (d - 1))), is below the smallest high one, sqrt(2/d), from d = 5 on.",
        lambda: less(sqrt(pi / (2 * (d_5 - 1))), sqrt(2 / d_5)),
        lambda: less(sqrt(pi / (2 * (d_4 - 1))), sqrt(2 / d_4)),
        {"d": 4},
        needs="sqrt(pi)",
    ),
)
d_5, d_4 = (Variable("d", least, oo, integer=True) for least in (5, 4))

# Composition with roots.
delta = Variable("delta", 0, 1, open="both")
step = Variable("epsilon", 0, 1 / sqrt(n), open="both")
small = Variable("delta", 0, (1 - sqrt(n) * step) / E, open="left")
less_small = Variable("delta", 0, (1 - sqrt(n) * step / 2) / E, open="left")
rho, logs = Variable("rho", 0, oo, open="left"), Variable("L", 0, oo, open="left")


def third(budget: object, slack: object) -> object:
    """The root term of the third bound of the theorem."""
    return budget * sqrt(2 * n * log(E + sqrt(n * budget**2) / slack))


def second(budget: object, slack: object) -> object:
    """The root term of the second bound, as Dwork, Rothblum and Vadhan have it."""
    return budget * sqrt(2 * n * log(1 / slack))


COMPOSED = published(
    "Kairouz, Oh, Viswanath (2015), Bun, Steinke (2016), on advanced composition",
    Entry(
        "CP-1",
        "Kairouz, Oh, Viswanath, Theorem 3.4, the second bound and the third",
        "The third is no larger for delta up to (1 - sqrt(k) epsilon)/e.",
        lambda: at_most(third(step, small), second(step, small)),
        lambda: at_most(third(step, less_small), second(step, less_small)),
        {"n": 1, "epsilon": "9/10", "delta": "1/5"},
        needs="e and sqrt in a domain",
    ),
    Entry(
        "CP-2",
        "Kairouz, Oh, Viswanath, Theorem 3.4, the same as an implication",
        "The third is no larger if e delta + sqrt(k) epsilon is at most 1.",
        lambda: at_most(third(e, delta), second(e, delta), given=(at_most(E * delta + sqrt(n) * e, 1),)),
        lambda: at_most(third(e, delta), second(e, delta), given=(at_most(E * delta + sqrt(n) * e / 2, 1),)),
        {"n": 1, "epsilon": "9/10", "delta": "1/5"},
        needs="implication",
    ),
    Entry(
        "CP-3",
        "Bun, Steinke, composition by concentrated privacy against Dwork, Rothblum, Vadhan",
        "k epsilon^2/2 + epsilon sqrt(2 k ln(1/delta)) is at most theirs.",
        lambda: at_most(n * e**2 / 2 + second(e, delta), n * e * (t - 1) + second(e, delta)),
        lambda: at_most(3 * n * e**2 / 2 + second(e, delta), n * e * (t - 1) + second(e, delta)),
        {"n": 1, "epsilon": "1/10", "delta": "1/2"},
        needs="sqrt and log",
    ),
    Entry(
        "CP-4",
        "Bun, Steinke, the conversion of k answers",
        "rho = k epsilon^2/2 makes rho + 2 sqrt(rho L) = k epsilon^2/2 + epsilon sqrt(2 k L).",
        lambda: equal(n * e**2 / 2 + 2 * sqrt(n * e**2 / 2 * logs), n * e**2 / 2 + e * sqrt(2 * n * logs)),
        lambda: equal(n * e**2 / 2 + 2 * sqrt(n * e**2 / 2 * logs), n * e**2 / 2 + e * sqrt(n * logs)),
        {"n": 1, "epsilon": 1, "L": 1},
        needs="sqrt(2)",
    ),
    Entry(
        "CP-5",
        "Bun, Steinke, the inverse of the conversion",
        "rho = (sqrt(L + E) - sqrt(L))^2 makes rho + 2 sqrt(rho L) = E, written with its root.",
        lambda: equal(inverse**2 + 2 * inverse * sqrt(logs), E1),
        lambda: equal(inverse**2 + inverse * sqrt(logs), E1),
        {"epsilon_1": 1, "L": 1},
        needs="sqrt",
    ),
    Entry(
        "CP-6",
        "Bun, Steinke, a sufficient rho",
        "If rho is at most E^2/(4 (L + E)), rho + 2 sqrt(rho L) is at most E.",
        lambda: at_most(rho + 2 * sqrt(rho * logs), E1, given=(at_most(rho, E1**2 / (4 * (logs + E1))),)),
        lambda: at_most(rho + 2 * sqrt(rho * logs), E1, given=(at_most(rho, E1**2 / (4 * logs)),)),
        {"epsilon_1": 2, "L": 1, "rho": 1},
        needs="implication",
    ),
)
inverse = sqrt(logs + E1) - sqrt(logs)

# Laws on the whole numbers.
v = Variable("v", 0, oo, open="left")
"""sigma^2."""
v_third = Variable("v", 0, Rational(1, 3), open="left")
i = Variable("i", 0, oo, integer=True)


def theta(variance: object) -> object:
    """The discrete Gaussian's normaliser: the sum of e^(-i^2/(2 sigma^2)) over the whole numbers."""
    return 1 + 2 * Sum(exp(-(i**2) / (2 * variance)), (i, 1, oo))


def second_moment(variance: object) -> object:
    """The discrete Gaussian's variance."""
    return 2 * Sum(i**2 * exp(-(i**2) / (2 * variance)), (i, 1, oo)) / theta(variance)


DISCRETE_GAUSSIAN = published(
    "Canonne, Kamath, Steinke (2020), the discrete Gaussian",
    Entry(
        "DG-1",
        "the proposition on the variance, its bound",
        "sigma^2 (1 - 4 pi^2 sigma^2/(e^(4 pi^2 sigma^2) - 1)) is below sigma^2.",
        lambda: less(v * (1 - 4 * pi**2 * v / (exp(4 * pi**2 * v) - 1)), v),
        lambda: less(v * (1 - 4 * pi**2 * v / (exp(4 * pi**2 * v) - 1)), Rational(99, 100) * v),
        {"v": 1},
        needs="pi and exp",
    ),
    Entry(
        "DG-2",
        "the proposition on the variance, small sigma",
        "For sigma^2 at most 1/3 it is at most 3 e^(-1/(2 sigma^2)).",
        lambda: at_most(second_moment(v_third), 3 * exp(-1 / (2 * v_third))),
        lambda: at_most(second_moment(v_third), Rational(19, 10) * exp(-1 / (2 * v_third))),
        {"v": "1/10"},
        needs="infinite sum",
        not_yet=True,
    ),
    Entry(
        "DG-3",
        "the fact on the normaliser, from above",
        "It is at most sqrt(2 pi sigma^2) + 1.",
        lambda: at_most(theta(v), sqrt(2 * pi * v) + 1),
        lambda: at_most(theta(v), sqrt(2 * pi * v) + half),
        {"v": "1/100"},
        needs="infinite sum",
        not_yet=True,
    ),
    Entry(
        "DG-4",
        "sampling Bernoulli(e^-g) for g above 1",
        "e^-g for g = 1 + u is e^-1 e^-u, at most (2/5)(1 - u + u^2/2).",
        lambda: at_most(exp(-1 - u), Rational(2, 5) * (1 - u + u**2 / 2)),
        lambda: at_most(exp(-1 - u), Rational(9, 25) * (1 - u + u**2 / 2)),
        {"u": 0},
        needs="e",
    ),
)

# The middle of a fair binomial law, the scale of the mechanism for vectors in the cube.
central = binomial(2 * m, m)

CENTRAL = published(
    "Duchi, Jordan, Wainwright (2018), the constant of the mechanism for the cube",
    Entry(
        "CB-1",
        "Wallis' product, from above",
        "C(2 m, m) is at most 4^m/sqrt(pi m).",
        lambda: at_most(central, 4**m / sqrt(pi * m)),
        lambda: at_most(central, 4**m / sqrt(Rational(16, 5) * m)),
        {"m": 30},
        needs="central binomial coefficient and pi",
    ),
    Entry(
        "CB-2",
        "Wallis' product, from below",
        "It is at least 4^m/sqrt(pi (m + 1/2)).",
        lambda: at_most(4**m / sqrt(pi * (m + half)), central),
        lambda: at_most(4**m / sqrt(3 * (m + half)), central),
        {"m": 30},
        needs="central binomial coefficient and pi",
    ),
    Entry(
        "CB-3",
        "Stirling's formula, a simple form",
        "n! is at least (n/e)^n.",
        lambda: at_most((n / E) ** n, factorial(n)),
        lambda: at_most(3 * (n / E) ** n, factorial(n)),
        {"n": 1},
        needs="factorial and e",
    ),
)

# Others.
from_log_2 = Variable("epsilon", log(2), oo)
from_2_thirds = Variable("epsilon", Rational(2, 3), oo)
g = Variable("g", 0, 1, open="both")
drop = exp(-e)
staircase_variance = (2 ** Rational(-2, 3) * drop ** Rational(2, 3) * (1 + drop) ** Rational(2, 3) + drop) / (
    1 - drop
) ** 2
inverse_sigma = Variable("u", 0, oo, open="left")


def normal(z: object) -> object:
    """The standard Gaussian's distribution function."""
    return (1 + erf(z / sqrt(2))) / 2


OTHERS = published(
    "Papernot, Steinke (2022); Dong, Roth, Su (2022); Geng, Kairouz, Oh, Viswanath (2015)",
    Entry(
        "OC-1",
        "Papernot, Steinke, the logarithmic law's mean",
        "(1/g - 1)/ln(1/g) repetitions are at least one.",
        lambda: at_most(1, (1 / g - 1) / log(1 / g)),
        lambda: at_most(Rational(11, 10), (1 / g - 1) / log(1 / g)),
        {"g": "9/10"},
        needs="log",
    ),
    Entry(
        "OC-2",
        "Papernot, Steinke, the mean of the truncated negative binomial law at eta = 1/2",
        "(1 - g)/(2 g (1 - sqrt g)) = (1 + sqrt g)/(2 g).",
        lambda: equal((1 - g) / (2 * g * (1 - sqrt(g))), (1 + sqrt(g)) / (2 * g)),
        lambda: equal((1 - g) / (2 * g * (1 - sqrt(g))), (1 + sqrt(g)) / g),
        {"g": "1/4"},
        needs="sqrt",
    ),
    Entry(
        "OC-3",
        "Papernot, Steinke, the mean at eta = 1/2 against the geometric law",
        "It is at most 1/g.",
        lambda: at_most((1 - g) / (2 * g * (1 - sqrt(g))), 1 / g),
        lambda: at_most((1 - g) / (2 * g * (1 - sqrt(g))), Rational(9, 10) / g),
        {"g": "99/100"},
        needs="sqrt",
    ),
    Entry(
        "OC-4",
        "Dong, Roth, Su, the central limit of subsampling",
        "e^(u^2) Phi(3 u/2) + 3 Phi(-u/2) - 2 is not negative, u = 1/sigma.",
        lambda: at_most(0, exp(inverse_sigma**2) * normal(3 * inverse_sigma / 2) + 3 * normal(-inverse_sigma / 2) - 2),
        lambda: at_most(
            0,
            exp(inverse_sigma**2) * normal(3 * inverse_sigma / 2) + Rational(29, 10) * normal(-inverse_sigma / 2) - 2,
        ),
        {"u": "1/10"},
        needs="erf",
    ),
    Entry(
        "OC-5",
        "Geng, Kairouz, Oh, Viswanath, the staircase's least variance against Laplace noise",
        "(2^(-2/3) b^(2/3) (1 + b)^(2/3) + b)/(1 - b)^2 at b = e^-epsilon is less than 2/epsilon^2.",
        lambda: less(staircase_variance, 2 / e**2),
        lambda: less(staircase_variance, Rational(9, 5) / e**2),
        {"epsilon": 1},
        needs="cube roots",
    ),
    Entry(
        "OC-6",
        "randomised response from epsilon = ln 2 on",
        "The truth comes with probability at least 2/3.",
        lambda: at_most(Rational(2, 3), exp(from_log_2) / (exp(from_log_2) + 1)),
        lambda: at_most(Rational(2, 3), exp(from_2_thirds) / (exp(from_2_thirds) + 1)),
        {"epsilon": "2/3"},
        needs="log(2) in a domain",
    ),
    Entry(
        "OC-7",
        "Dong, Roth, Su, a Gaussian level u against a pure one",
        "2 Phi(u/2) - 1 is at least sqrt(2/pi) (e^u - 1)/(e^u + 1) for u up to 1.",
        lambda: at_most(sqrt(2 / pi) * (exp(u_one) - 1) / (exp(u_one) + 1), erf(u_one / (2 * sqrt(2)))),
        lambda: at_most(Rational(4, 5) * (exp(u_one) - 1) / (exp(u_one) + 1), erf(u_one / (2 * sqrt(2)))),
        {"u": "1/10"},
        needs="erf and pi",
    ),
)
u_one = Variable("u", 0, 1)

ENTRIES = [*INFORMATION, *FANO, *DISTANCES, *PRIV_UNIT, *COMPOSED, *DISCRETE_GAUSSIAN, *CENTRAL, *OTHERS]
