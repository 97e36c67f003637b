"""Whole numbers as symbols: powers, binomial coefficients, sums over a binomial law, sizes of subsets and hashes."""

from sympy import Rational, Sum, binomial, exp, log, oo

from ldp_audit.claims import at_most, equal, less
from ldp_audit.mechanisms.variable import Variable
from tests.claims.published.entry import Entry, published
from tests.claims.published.letters import e, k, m, n, p_open, t

p = p_open
to_one = Variable("p", 0, 1, open="left")
rate = Variable("b", 0, 1)
z = Variable("z", 0, oo, open="left")
i = Variable("i", 0, n, integer=True)
i_n = Variable("i", 0, n - 1, integer=True)
i_k = Variable("i", 0, k, integer=True)
i_1 = Variable("i", 1, k, integer=True)
i_m = Variable("i", 0, m, integer=True)
weight = binomial(n, i) * p**i * (1 - p) ** (n - i)
answers = binomial(k, i_k) * t**i_k / (1 + t) ** k
n_0 = Variable("n", 0, oo, integer=True)
i_0 = Variable("i", 0, n_0, integer=True)

BINOMIAL = published(
    "Cheu, Smith, Ullman, Zeber, Zhilyaev (2019), the binomial noise of shuffled bits",
    Entry(
        "BI-1",
        "the law of n bits, total",
        "Its probabilities add up to 1.",
        lambda: equal(Sum(weight, (i, 0, n)), 1),
        lambda: equal(Sum(weight, (i, 0, n - 1)), 1),
        {"p": "1/2", "n": 1},
        needs="sum over a binomial law",
    ),
    Entry(
        "BI-2",
        "the law of n bits, mean",
        "It is n p.",
        lambda: equal(Sum(i * weight, (i, 0, n)), n * p),
        lambda: equal(Sum(i * weight, (i, 0, n)), (n + 1) * p),
        {"p": "1/2", "n": 1},
        needs="sum over a binomial law",
    ),
    Entry(
        "BI-3",
        "the law of n bits, second moment",
        "It is n p (1 - p) + n^2 p^2.",
        lambda: equal(Sum(i**2 * weight, (i, 0, n)), n * p * (1 - p) + n**2 * p**2),
        lambda: equal(Sum(i**2 * weight, (i, 0, n)), n * p + n**2 * p**2),
        {"p": "1/2", "n": 1},
        needs="sum over a binomial law",
    ),
    Entry(
        "BI-4",
        "the law of n bits, variance",
        "The squared distances from n p have the mean n p (1 - p).",
        lambda: equal(Sum((i - n * p) ** 2 * weight, (i, 0, n)), n * p * (1 - p)),
        lambda: equal(Sum((i - n * p) ** 2 * weight, (i, 0, n)), n * p),
        {"p": "1/2", "n": 1},
        needs="sum over a binomial law",
    ),
    Entry(
        "BI-5",
        "the law of n bits, generating function",
        "The mean of z^X is (1 - p + p z)^n.",
        lambda: equal(Sum(weight * z**i, (i, 0, n)), (1 - p + p * z) ** n),
        lambda: equal(Sum(weight * z**i, (i, 0, n)), (1 + p * z) ** n),
        {"p": "1/2", "z": 1, "n": 1},
        needs="sum over a binomial law",
    ),
    Entry(
        "BI-6",
        "the law of n bits, mean of 1/(1 + X)",
        "It is (1 - (1 - p)^(n + 1))/((n + 1) p).",
        lambda: equal(Sum(weight / (1 + i), (i, 0, n)), (1 - (1 - p) ** (n + 1)) / ((n + 1) * p)),
        lambda: equal(Sum(weight / (1 + i), (i, 0, n)), (1 - (1 - p) ** n) / ((n + 1) * p)),
        {"p": "1/2", "n": 1},
        needs="sum over a binomial law",
    ),
    Entry(
        "BI-7",
        "mean of 1/(1 + X), bounded",
        "It is less than 1/((n + 1) p) for p below 1.",
        lambda: less((1 - (1 - p) ** (n + 1)) / ((n + 1) * p), 1 / ((n + 1) * p)),
        lambda: less((1 - (1 - to_one) ** (n + 1)) / ((n + 1) * to_one), 1 / ((n + 1) * to_one)),
        {"p": 1, "n": 1},
        needs="symbolic power",
    ),
    Entry(
        "BI-8",
        "fair bits",
        "The binomial coefficients of n add up to 2^n.",
        lambda: equal(Sum(binomial(n, i), (i, 0, n)), 2**n),
        lambda: equal(Sum(binomial(n, i), (i, 0, n)), 2**n - 1),
        {"n": 1},
        needs="sum of binomial coefficients",
    ),
    Entry(
        "BI-9",
        "fair bits, two groups of m",
        "The squares of the coefficients of m add up to C(2 m, m).",
        lambda: equal(Sum(binomial(m, i_m) ** 2, (i_m, 0, m)), binomial(2 * m, m)),
        lambda: equal(Sum(binomial(m, i_m) ** 2, (i_m, 0, m)), binomial(2 * m, m - 1)),
        {"m": 1},
        needs="sum of binomial coefficients",
    ),
)

PARITY = published(
    "Barak, Chaudhuri, Dwork, Kale, McSherry, Talwar (2007); Cormode, Kulkarni, Srivastava (2018), on marginals",
    Entry(
        "PY-1",
        "Hadamard's basis, a column's sum",
        "The signed coefficients of n add up to 0.",
        lambda: equal(Sum((-1) ** i * binomial(n, i), (i, 0, n)), 0),
        lambda: equal(Sum((-1) ** i_0 * binomial(n_0, i_0), (i_0, 0, n_0)), 0),
        {"n": 0},
        needs="sum of binomial coefficients",
        not_yet=True,
    ),
    Entry(
        "PY-2",
        "the coefficients that a marginal of d attributes needs",
        "There are 2^d, at least d + 1.",
        lambda: at_most(m + 1, 2**m),
        lambda: less(m + 1, 2**m),
        {"m": 1},
        needs="symbolic power",
    ),
    Entry(
        "PY-3",
        "the coefficients that all marginals of two attributes need",
        "There are C(d, 2) + d + 1, at most d^2 + 1.",
        lambda: at_most(binomial(m, 2) + m + 1, m**2 + 1),
        lambda: less(binomial(m, 2) + m + 1, m**2 + 1),
        {"m": 1},
        needs="binomial coefficient",
    ),
)

COUNTED = published(
    "Kairouz, Oh, Viswanath (2015), k answers one by one",
    Entry(
        "KA-1",
        "the law of the number of true answers, total",
        "The probabilities C(k, i) t^i/(1 + t)^k add up to 1.",
        lambda: equal(Sum(answers, (i_k, 0, k)), 1),
        lambda: equal(Sum(answers, (i_k, 1, k)), 1),
        {"epsilon": 1, "k": 2},
        needs="sum over a binomial law",
    ),
    Entry(
        "KA-2",
        "the law of the number of true answers, mean loss",
        "The mean of (2 i - k) epsilon is k epsilon (t - 1)/(t + 1).",
        lambda: equal(Sum(answers * (2 * i_k - k) * e, (i_k, 0, k)), k * e * (t - 1) / (t + 1)),
        lambda: equal(Sum(answers * (2 * i_k - k) * e, (i_k, 0, k)), k * e * (t - 1) / t),
        {"epsilon": 1, "k": 2},
        needs="sum over a binomial law",
    ),
    Entry(
        "KA-3",
        "the law of the number of true answers, variance of the loss",
        "The mean of ((2 i - k) epsilon)^2 is 4 k epsilon^2 t/(t + 1)^2 plus the squared mean.",
        lambda: equal(
            Sum(answers * ((2 * i_k - k) * e) ** 2, (i_k, 0, k)),
            4 * k * e**2 * t / (t + 1) ** 2 + (k * e * (t - 1) / (t + 1)) ** 2,
        ),
        lambda: equal(
            Sum(answers * ((2 * i_k - k) * e) ** 2, (i_k, 0, k)),
            k * e**2 * t / (t + 1) ** 2 + (k * e * (t - 1) / (t + 1)) ** 2,
        ),
        {"epsilon": 1, "k": 2},
        needs="sum over a binomial law",
    ),
    Entry(
        "KA-4",
        "the number of true answers under the other input",
        "Each count's ratio t^(2 i - k) is at most t^k.",
        lambda: at_most(t ** (2 * i_k - k), t**k),
        lambda: at_most(t ** (2 * i_k - k), t ** (k - 1)),
        {"epsilon": 1, "k": 2, "i": 2},
        needs="symbolic power",
    ),
)

POWERS = published(
    "Vadhan (2017), on groups, sampling and repetition",
    Entry(
        "VP-1",
        "the budget in k parts",
        "(1 + epsilon/k)^k is at most e^epsilon.",
        lambda: at_most((1 + e / k) ** k, exp(e)),
        lambda: at_most((1 + e / k) ** (k + 1), exp(e)),
        {"epsilon": 1, "k": 2},
        needs="symbolic power",
    ),
    Entry(
        "VP-2",
        "groups of n, from below",
        "(t^n - 1)/(t - 1) is at least n.",
        lambda: at_most(n, (t**n - 1) / (t - 1)),
        lambda: less(n, (t**n - 1) / (t - 1)),
        {"epsilon": 1, "n": 1},
        needs="symbolic power",
    ),
    Entry(
        "VP-3",
        "n samples, two terms",
        "1 - (1 - b)^n is at least n b - n (n - 1) b^2/2.",
        lambda: at_most(n * rate - n * (n - 1) * rate**2 / 2, 1 - (1 - rate) ** n),
        lambda: at_most(n * rate - n * (n - 1) * rate**2 / 3, 1 - (1 - rate) ** n),
        {"n": 2, "b": "1/2"},
        needs="symbolic power",
    ),
    Entry(
        "VP-4",
        "one record is missed by n draws out of n",
        "(1 - 1/n)^n is less than 1/e.",
        lambda: less((1 - 1 / n) ** n, exp(-1)),
        lambda: less((1 - 1 / n) ** n, Rational(9, 25)),
        {"n": 40},
        needs="symbolic power and e",
    ),
    Entry(
        "VP-5",
        "one record is missed by n draws out of n, from below",
        "It is at least (1 - 1/n)/e.",
        lambda: at_most(exp(-1) * (1 - 1 / n), (1 - 1 / n) ** n),
        lambda: less(exp(-1) * (1 - 1 / n), (1 - 1 / n) ** n),
        {"n": 1},
        needs="symbolic power and e",
    ),
    Entry(
        "VP-6",
        "a truncated geometric series",
        "1 + 1/t + ... + t^-n is less than t/(t - 1).",
        lambda: less(Sum(t ** (-i), (i, 0, n)), t / (t - 1)),
        lambda: less(Sum(t ** (-i), (i, 0, n)), 1 / (t - 1)),
        {"epsilon": 1, "n": 1},
        needs="sum",
    ),
)

# The middle binomial coefficient.
central = binomial(2 * m, m)

CENTRAL = published(
    "Duchi, Jordan, Wainwright (2018), the constant of the mechanism for the cube, by elementary bounds",
    Entry(
        "CE-1",
        "the largest of 2 m + 1 coefficients",
        "C(2 m, m) is at least 4^m/(2 m + 1).",
        lambda: at_most(4**m / (2 * m + 1), central),
        lambda: at_most(4**m / 2, central),
        {"m": 2},
        needs="central binomial coefficient",
    ),
    Entry(
        "CE-2",
        "a sharper bound",
        "It is at least 4^m/(m + 1).",
        lambda: at_most(4**m / (m + 1), central),
        lambda: less(4**m / (m + 1), central),
        {"m": 1},
        needs="central binomial coefficient",
    ),
    Entry(
        "CE-3",
        "with a root, from below",
        "It is at least 4^m/(2 sqrt m).",
        lambda: at_most(4**m / (2 * m**half), central),
        lambda: less(4**m / (2 * m**half), central),
        {"m": 1},
        needs="central binomial coefficient and sqrt",
    ),
    Entry(
        "CE-4",
        "with a root, from above",
        "It is at most 4^m/sqrt(3 m + 1).",
        lambda: at_most(central, 4**m / (3 * m + 1) ** half),
        lambda: at_most(central, 4**m / (3 * m + 2) ** half),
        {"m": 1},
        needs="central binomial coefficient and sqrt",
    ),
)
half = Rational(1, 2)

# Sizes of subsets, hash ranges and trees.
d = Variable("d", 1, k - 1, integer=True)
k_3 = Variable("k", 3, oo, integer=True)
d_2 = Variable("d", 2, k_3 - 1, integer=True)
g = Variable("g", 2, oo, integer=True)
branching = Variable("B", 2, oo, integer=True)
i_h = Variable("i", 0, m - 1, integer=True)


def hashed(values: object) -> object:
    """(t - 1)^2 times the variance of local hashing with so many hash values, a report."""
    return (t - 1 + values) ** 2 / (values - 1)


SIZES = published(
    "Ye, Barg (2018); Wang et al. (2017); Qardaji, Yang, Li (2013); Cormode, Kulkarni, Srivastava (2019)",
    Entry(
        "SZ-1",
        "subset selection, the number of subsets",
        "Those with a value and those without it are C(k, d).",
        lambda: equal(binomial(k - 1, d - 1) + binomial(k - 1, d), binomial(k, d)),
        lambda: equal(binomial(k - 1, d - 1) + binomial(k - 1, d), binomial(k, d - 1)),
        {"k": 2, "d": 1},
        needs="binomial coefficient",
    ),
    Entry(
        "SZ-2",
        "subset selection, another value's inclusion",
        "It comes with d ((d - 1) t + k - d)/((k - 1)(d t + k - d)).",
        lambda: equal(
            (t * binomial(k_3 - 2, d_2 - 2) + binomial(k_3 - 2, d_2 - 1))
            / (t * binomial(k_3 - 1, d_2 - 1) + binomial(k_3 - 1, d_2)),
            d_2 * ((d_2 - 1) * t + k_3 - d_2) / ((k_3 - 1) * (d_2 * t + k_3 - d_2)),
        ),
        lambda: equal(
            (t * binomial(k_3 - 2, d_2 - 2) + binomial(k_3 - 2, d_2 - 1))
            / (t * binomial(k_3 - 1, d_2 - 1) + binomial(k_3 - 1, d_2)),
            d_2 * (d_2 * t + k_3 - d_2) / ((k_3 - 1) * (d_2 * t + k_3 - d_2)),
        ),
        {"epsilon": 1, "k": 3, "d": 2},
        needs="binomial coefficient",
    ),
    Entry(
        "SZ-3",
        "subset selection, the own value against another",
        "The own value is included at least as often.",
        lambda: at_most(d * ((d - 1) * t + k - d) / ((k - 1) * (d * t + k - d)), d * t / (d * t + k - d)),
        lambda: at_most(d * ((d - 1) * t + k - d) / ((k - 1) * (d * t + k - d)), d / (d * t + k - d)),
        {"epsilon": 1, "k": 3, "d": 2},
        needs="whole-number bounds",
    ),
    Entry(
        "SZ-4",
        "local hashing, the best whole hash range",
        "One more hash value does not help if t^2 is at most g (g - 1).",
        lambda: at_most(hashed(g), hashed(g + 1), given=(at_most(t**2, g * (g - 1)),)),
        lambda: at_most(hashed(g), hashed(g + 1), given=(at_most(t**2, g * (g + 1)),)),
        {"t": "11/5", "g": 2},
        needs="implication",
    ),
    Entry(
        "SZ-5",
        "local hashing, too small a hash range",
        "One hash value fewer does not help if t^2 is at least g (g - 1).",
        lambda: at_most(hashed(g + 1), hashed(g), given=(at_most(g * (g - 1), t**2),)),
        lambda: at_most(hashed(g + 1), hashed(g), given=(at_most(g * (g - 1), t**2 + 1),)),
        {"t": "11/10", "g": 2},
        needs="implication",
    ),
    Entry(
        "SZ-6",
        "local hashing, the whole hash range t + 1 for a whole t",
        "With t = g - 1 the variance is 4 (g - 1), at most that of any hash range.",
        lambda: at_most(4 * (g - 1), (g - 2 + g_other) ** 2 / (g_other - 1)),
        lambda: less(4 * (g - 1), (g - 2 + g_other) ** 2 / (g_other - 1)),
        {"g": 3, "h": 3},
        needs="whole-number bounds",
    ),
    Entry(
        "SZ-7",
        "hierarchies, inner nodes of a tree of height h",
        "1 + B + ... + B^(h - 1) = (B^h - 1)/(B - 1).",
        lambda: equal(Sum(branching**i_h, (i_h, 0, m - 1)), (branching**m - 1) / (branching - 1)),
        lambda: equal(Sum(branching**i_h, (i_h, 0, m - 1)), branching**m / (branching - 1)),
        {"B": 2, "m": 1},
        needs="sum",
    ),
    Entry(
        "SZ-8",
        "hierarchies, nodes of a range",
        "2 (B - 1) h of them suffice, at most B^(h + 1) - 2.",
        lambda: at_most(2 * (branching - 1) * m, branching ** (m + 1) - 2),
        lambda: less(2 * (branching - 1) * m, branching ** (m + 1) - 2),
        {"B": 2, "m": 1},
        needs="symbolic power",
    ),
)
g_other = Variable("h", 2, oo, integer=True)

# Permute-and-flip against n - 1 candidates at one gap, and the noisy maximum with exponential noise.
q = Variable("q", 0, 1, open="left")

FLIPPED = published(
    "Ding, Kifer et al. (2021); McKenna, Sheldon (2020)",
    Entry(
        "FL-1",
        "the best of n candidates, as a signed sum",
        "The sum of (-q)^i C(n - 1, i)/(i + 1) is (1 - (1 - q)^n)/(n q).",
        lambda: equal(
            Sum((-q) ** i_n * binomial(n - 1, i_n) / (i_n + 1), (i_n, 0, n - 1)), (1 - (1 - q) ** n) / (n * q)
        ),
        lambda: equal(Sum((-q) ** i_n * binomial(n, i_n) / (i_n + 1), (i_n, 0, n - 1)), (1 - (1 - q) ** n) / (n * q)),
        {"q": "1/2", "n": 2},
        needs="sum over a binomial law",
    ),
    Entry(
        "FL-2",
        "the mean of the largest of k exponential noises",
        "The harmonic number 1 + 1/2 + ... + 1/k is at most 1 + ln k.",
        lambda: at_most(Sum(1 / i_1, (i_1, 1, k)), 1 + log(k)),
        lambda: at_most(Sum(1 / i_1, (i_1, 1, k)), Rational(3, 4) + log(k)),
        {"k": 2},
        needs="harmonic number",
    ),
    Entry(
        "FL-3",
        "the mean of the largest of k exponential noises, from below",
        "It is at least ln(k + 1).",
        lambda: at_most(log(k + 1), Sum(1 / i_1, (i_1, 1, k))),
        lambda: at_most(log(2 * k + 1), Sum(1 / i_1, (i_1, 1, k))),
        {"k": 2},
        needs="harmonic number",
    ),
    Entry(
        "FL-4",
        "n equal candidates, one worse at q",
        "It comes with q/(n + 1), at most q/(n + q) of the exponential mechanism.",
        lambda: at_most(q / (n + 1), q / (n + q)),
        lambda: less(q / (n + 1), q / (n + q)),
        {"q": 1, "n": 1},
        needs="whole-number bounds",
    ),
)

# Shuffled k-RR: a report is random with probability gamma = k/(t + k - 1).
gamma = k / (t + k - 1)

SHUFFLED = published(
    "Balle, Bell, Gascon, Nissim (2019), the number of random reports",
    Entry(
        "SH-1",
        "nobody else is in the blanket",
        "(1 - g)^(n - 1) is at most e^(-g (n - 1)) for k-RR.",
        lambda: at_most((1 - gamma) ** (n - 1), exp(-gamma * (n - 1))),
        lambda: at_most((1 - gamma) ** (n - 1), exp(-gamma * n)),
        {"epsilon": 1, "k": 2, "n": 1},
        needs="symbolic power",
    ),
    Entry(
        "SH-2",
        "the share of the blanket",
        "k/(t + k - 1) is at least 1/t for every k.",
        lambda: at_most(1 / t, gamma),
        lambda: at_most(2 / t, gamma),
        {"epsilon": 5, "k": 2},
    ),
    Entry(
        "SH-3",
        "Erlingsson et al. (2019), the amplified level against the local one",
        "12 epsilon sqrt(ln(1/delta)/n) is at most epsilon if n is at least 144 ln(1/delta).",
        lambda: at_most(12 * e * (log(1 / delta) / n) ** half, e, given=(at_most(144 * log(1 / delta), n),)),
        lambda: at_most(12 * e * (log(1 / delta) / n) ** half, e, given=(at_most(100 * log(1 / delta), n),)),
        {"epsilon": 1, "delta": "19/20", "n": 6},
        needs="implication",
    ),
    Entry(
        "SH-4",
        "Erlingsson et al. (2019), the same by the domain of n",
        "12 epsilon sqrt(ln(1/delta)/n) is at most epsilon from n = 144 ln(1/delta) on.",
        lambda: at_most(12 * e * (log(1 / delta) / many) ** half, e),
        lambda: at_most(12 * e * (log(1 / delta) / fewer) ** half, e),
        {"epsilon": 1, "delta": "19/20", "n": 6},
        needs="log in a domain",
    ),
)
delta = Variable("delta", 0, 1, open="both")
many = Variable("n", 144 * log(1 / delta), oo, integer=True)
fewer = Variable("n", 100 * log(1 / delta), oo, integer=True)

ENTRIES = [*BINOMIAL, *PARITY, *COUNTED, *POWERS, *CENTRAL, *SIZES, *FLIPPED, *SHUFFLED]
