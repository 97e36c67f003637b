"""Additive and bounded noise: Duchi's bit, square wave, Laplace, geometric, staircase, truncated and discrete laws."""

from sympy import Abs, Rational, Sum, exp, log, oo

from ldp_audit.claims import at_most, equal, less, order
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.density import OUTPUT
from ldp_audit.mechanisms.variable import Variable
from tests.claims.published.entry import Entry, Privacy, published
from tests.claims.published.letters import K, bit, e, e1, m, s, t, t1, unit, x

half = Rational(1, 2)

# One bit for a number in [-1, 1], and what privacy costs in information.
DUCHI_BIT = SymbolicChannel(
    "one bit",
    inputs=x,
    atoms={
        (t + 1) / (t - 1): half + x * (t - 1) / (2 * (t + 1)),
        -(t + 1) / (t - 1): half - x * (t - 1) / (2 * (t + 1)),
    },
)
low = Variable("q", 0, 1)
high = Variable("p", low / t, t * low)
first, second = Variable("a", 0, 1), Variable("b", 0, 1)
small = Variable("epsilon", 0, Rational(23, 35), open="left")
larger = Variable("epsilon", 0, Rational(24, 35), open="left")
b_pos = Variable("b", 0, oo, open="left")
a_above = Variable("a", b_pos, oo)

DUCHI = published(
    "Duchi, Jordan, Wainwright (2013, 2018)",
    Entry(
        "DU-1",
        "the one-dimensional mechanism, privacy",
        "The bit for a number in [-1, 1] is epsilon-LDP.",
        lambda: Privacy(DUCHI_BIT, t),
        lambda: Privacy(DUCHI_BIT, (t + 1) / 2),
        {"epsilon": 1, "x": 1, "x_prime": -1},
    ),
    Entry(
        "DU-2",
        "the one-dimensional mechanism, mean",
        "Its report is unbiased.",
        lambda: equal(DUCHI_BIT.mean(), x),
        lambda: equal(DUCHI_BIT.mean(), -x),
        {"epsilon": 1, "x": 1},
    ),
    Entry(
        "DU-3",
        "the one-dimensional mechanism, variance",
        "The variance is (t + 1)^2/(t - 1)^2 - x^2.",
        lambda: equal(DUCHI_BIT.variance(), (t + 1) ** 2 / (t - 1) ** 2 - x**2),
        lambda: equal(DUCHI_BIT.variance(), (t + 1) ** 2 / (t - 1) ** 2 + x**2),
        {"epsilon": 1, "x": 1},
    ),
    Entry(
        "DU-4",
        "the rate of mean estimation",
        "For epsilon at most 1 the variance is O(1/epsilon^2).",
        lambda: order((t1 + 1) ** 2 / (t1 - 1) ** 2, K / e1**2, constant=K),
        lambda: order((t1 + 1) ** 2 / (t1 - 1) ** 2, K / e1, constant=K),
        lambda constant: {"epsilon": Rational(1, 10 * constant)},
        shown={"K": 9},
        needs="order",
    ),
    Entry(
        "DU-5",
        "Theorem 1, at two inputs that are told apart",
        "Both divergences of randomised response together are at most 4 (t - 1)^2.",
        lambda: at_most(2 * e * (t - 1) / (t + 1), 4 * (t - 1) ** 2),
        lambda: at_most(2 * e * (t - 1) / (t + 1), (t - 1) ** 2 / 2),
        {"epsilon": "1/10"},
        needs="epsilon and t",
    ),
    Entry(
        "DU-6",
        "Lemma on marginals",
        "Marginals of two mixtures differ by at most (t - 1)|a - b| times the smaller conditional.",
        lambda: at_most(Abs((first - second) * (high - low)), (t - 1) * Abs(first - second) * low),
        lambda: at_most(Abs((first - second) * (high - low)), (t - 1) * Abs(first - second) * low / 2),
        {"t": 2, "a": 1, "b": 0, "p": 1, "q": "1/2"},
        needs="Abs",
    ),
    Entry(
        "DU-7",
        "Lemma on logarithms",
        "ln(a/b) is at most (a - b)/b for a at least b.",
        lambda: at_most(log(a_above / b_pos), (a_above - b_pos) / b_pos),
        lambda: at_most(log(a_above / b_pos), (a_above - b_pos) / a_above),
        {"a": 2, "b": 1},
        needs="log",
    ),
    Entry(
        "DU-8",
        "the corollary for small epsilon",
        "(e^epsilon - 1)^2 is at most 2 epsilon^2 up to 23/35.",
        lambda: at_most((exp(small) - 1) ** 2, 2 * small**2),
        lambda: at_most((exp(larger) - 1) ** 2, 2 * larger**2),
        {"epsilon": "24/35"},
        needs="exp",
    ),
    Entry(
        "DU-9",
        "the minimax rate for one number",
        "(t + 1)^2/(t - 1)^2 is at least 4/epsilon^2.",
        lambda: at_most(4 / e**2, (t + 1) ** 2 / (t - 1) ** 2),
        lambda: at_most(5 / e**2, (t + 1) ** 2 / (t - 1) ** 2),
        {"epsilon": "1/2"},
        needs="epsilon and t",
    ),
    Entry(
        "DU-10",
        "chi-squared divergence of randomised response",
        "It is (t - 1)^2/t.",
        lambda: equal(
            ((t - 1) / (t + 1)) ** 2 / (1 / (1 + t)) + ((t - 1) / (t + 1)) ** 2 / (t / (1 + t)), (t - 1) ** 2 / t
        ),
        lambda: equal(
            ((t - 1) / (t + 1)) ** 2 / (1 / (1 + t)) + ((t - 1) / (t + 1)) ** 2 / (t / (1 + t)), (t - 1) ** 2
        ),
        {"epsilon": 1},
    ),
)

# Square wave: density p within b of the input, q elsewhere on [-b, 1 + b].
width = Variable("b", 0, oo, open="left")
q_wave = 1 / (2 * width * t + 1)
WAVE = SymbolicChannel(
    "square wave",
    inputs=unit,
    public=width,
    pieces=[
        (-width, unit - width, q_wave),
        (unit - width, unit + width, t * q_wave),
        (unit + width, 1 + width, q_wave),
    ],
)
best_width = (e * t - t + 1) / (2 * t * (t - 1 - e))
mutual = log((2 * width + 1) / (2 * width * t + 1)) + 2 * width * e * t / (2 * width * t + 1)

SQUARE_WAVE = published(
    "Li et al. (2020)",
    Entry(
        "SW-1",
        "the definition",
        "The density integrates to 1.",
        lambda: equal(WAVE.total(), 1),
        lambda: equal(2 * width * t * q_wave + (1 + width) * q_wave, 1),
        {"epsilon": 1, "b": 1},
    ),
    Entry(
        "SW-2",
        "privacy",
        "The square wave is epsilon-LDP for every b.",
        lambda: Privacy(WAVE, t),
        lambda: Privacy(WAVE, (t + 1) / 2),
        {"epsilon": 1, "b": "1/4", "x": 0, "x_prime": 1, "y": 0},
        needs="density",
    ),
    Entry(
        "SW-3",
        "the mean",
        "It is q (2 b (t - 1) x + (1 + 2 b)/2).",
        lambda: equal(WAVE.mean(), q_wave * (2 * width * (t - 1) * unit + (1 + 2 * width) / 2)),
        lambda: equal(WAVE.mean(), q_wave * (2 * width * (t + 1) * unit + (1 + 2 * width) / 2)),
        {"epsilon": 1, "b": 1, "x": 1},
    ),
    Entry(
        "SW-4",
        "the recommended width",
        "b = (epsilon t - t + 1)/(2 t (t - 1 - epsilon)) is positive.",
        lambda: less(0, best_width),
        lambda: less(best_width, 0),
        {"epsilon": 1},
        needs="epsilon and t",
    ),
    Entry(
        "SW-5",
        "the recommended width, small epsilon",
        "It is at most 1/2, its limit.",
        lambda: at_most(best_width, half),
        lambda: at_most(best_width, Rational(2, 5)),
        {"epsilon": "1/10"},
        needs="epsilon and t",
    ),
    Entry(
        "SW-6",
        "the bound on mutual information",
        "ln((2 b + 1)/(2 b t + 1)) + 2 b epsilon t/(2 b t + 1) is at most epsilon.",
        lambda: at_most(mutual, e),
        lambda: at_most(mutual, e / 8),
        {"epsilon": 10, "b": "1/100"},
        needs="log",
    ),
    Entry(
        "SW-7",
        "the bound on mutual information, sign",
        "It is not negative.",
        lambda: at_most(0, mutual),
        lambda: at_most(mutual, 0),
        {"epsilon": 1, "b": "1/4"},
        needs="log",
    ),
)

# Laplace noise of scale 1/epsilon on [0, 1].
LAPLACE_LAW = SymbolicChannel(
    "Laplace",
    inputs=unit,
    pieces=[(-oo, unit, e / 2 * exp(e * (OUTPUT - unit))), (unit, oo, e / 2 * exp(e * (unit - OUTPUT)))],
)
scale = Variable("lambda_", 0, oo, open="left")
near = Variable("x_2", x - 1, x + 1)
there = Variable("y", -oo, oo)
second_unit = Variable("x_prime", 0, 1)
second_wide = Variable("x_prime", 0, 2)
wide = Variable("x", 0, 2)
span = Variable("w", 0, oo, open="left")
inner = Variable("q", 0, span)
shift = Variable("d", 0, span)

LAPLACE = published(
    "Dwork, McSherry, Nissim, Smith (2006)",
    Entry(
        "LA-1",
        "Laplace noise on [0, 1]",
        "Scale 1/epsilon is epsilon-LDP.",
        lambda: Privacy(LAPLACE_LAW, t),
        lambda: Privacy(LAPLACE_LAW, (t + 1) / 2),
        {"epsilon": 1, "x": 0, "x_prime": 1, "y": 0},
        needs="density",
    ),
    Entry(
        "LA-2",
        "the ratio of the densities",
        "exp(-epsilon |y - x|) is at most e^epsilon exp(-epsilon |y - x'|) for |x - x'| at most 1.",
        lambda: at_most(exp(-e * Abs(there - x)), t * exp(-e * Abs(there - near))),
        lambda: at_most(exp(-e * Abs(there - x)), (t + 1) / 2 * exp(-e * Abs(there - near))),
        {"epsilon": 1, "x": 0, "x_2": 1, "y": 0},
        needs="exp",
    ),
    Entry(
        "LA-3",
        "in logarithms",
        "The loss epsilon (|y - x'| - |y - x|) is at most epsilon.",
        lambda: at_most(e * (Abs(there - near) - Abs(there - x)), e),
        lambda: at_most(e * (Abs(there - near) - Abs(there - x)), e / 2),
        {"epsilon": 1, "x": 0, "x_2": 1, "y": 0},
        needs="Abs",
    ),
    Entry(
        "LA-4",
        "the variance",
        "It is 2/epsilon^2, at least that of randomised response on two values.",
        lambda: at_most(t / (t - 1) ** 2, 2 / e**2),
        lambda: at_most(2 / e**2, t / (t - 1) ** 2),
        {"epsilon": 1},
        needs="epsilon and t",
    ),
    Entry(
        "LA-5",
        "the tail",
        "At ln(1/b)/epsilon the tail e^(-epsilon z) is b.",
        lambda: equal(exp(-e * (log(1 / open_b) / e)), open_b),
        lambda: equal(exp(-e * (log(1 / open_b) / e)), open_b / 2),
        {"epsilon": 1, "b": "1/2"},
        needs="exp and log",
    ),
)
open_b = Variable("b", 0, 1, open="both")

BOUNDED = published(
    "Holohan, Antonatos, Braghin, Mac Aonghusa (2020)",
    Entry(
        "BL-1",
        "the normaliser of the bounded Laplace mechanism",
        "1 - (e^-q + e^-(w - q))/2 is smallest at the ends of the range [0, w].",
        lambda: at_most((1 - exp(-span)) / 2, 1 - (exp(-inner) + exp(-(span - inner))) / 2),
        lambda: at_most(1 - exp(-span), 1 - (exp(-inner) + exp(-(span - inner))) / 2),
        {"w": 1, "q": 0},
        needs="exp",
    ),
    Entry(
        "BL-2",
        "the normaliser, its largest value",
        "It is largest in the middle.",
        lambda: at_most(1 - (exp(-inner) + exp(-(span - inner))) / 2, 1 - exp(-span / 2)),
        lambda: at_most(1 - (exp(-inner) + exp(-(span - inner))) / 2, 1 - exp(-span / 3)),
        {"w": 2, "q": 1},
        needs="exp",
    ),
    Entry(
        "BL-3",
        "the correction of epsilon",
        "The ratio of the normalisers at d and at 0 is at least 1.",
        lambda: at_most((1 - exp(-span)) / 2, 1 - (exp(-shift) + exp(-(span - shift))) / 2),
        lambda: at_most(1 - (exp(-shift) + exp(-(span - shift))) / 2, (1 - exp(-span)) / 2),
        {"w": 2, "d": 1},
        needs="exp",
    ),
    Entry(
        "BL-4",
        "truncated Laplace, the atom at the end",
        "P(report = 0 | x) = e^(-epsilon x)/2 changes by at most e^epsilon on [0, 1].",
        lambda: at_most(exp(-e * unit) / 2, t * exp(-e * second_unit) / 2),
        lambda: at_most(exp(-e * wide) / 2, t * exp(-e * second_wide) / 2),
        {"epsilon": 1, "x": 0, "x_prime": 2},
        needs="exp",
    ),
    Entry(
        "BL-5",
        "truncated Laplace, both atoms",
        "The two atoms together hold at most (1 + e^-epsilon)/2.",
        lambda: at_most((exp(-e * unit) + exp(-e * (1 - unit))) / 2, (1 + exp(-e)) / 2),
        lambda: at_most((exp(-e * unit) + exp(-e * (1 - unit))) / 2, exp(-e / 2)),
        {"epsilon": 1, "x": 0},
        needs="exp",
    ),
)

# Geometric noise: P(z) = (1 - a)/(1 + a) a**|z| with a = e**-epsilon.
a = Variable("a", 0, 1, open="both")
ratio = 1 / t
z = Variable("z", -oo, oo, integer=True)
j = Variable("j", 1, m, integer=True)
GEOMETRIC_COUNTS = SymbolicChannel(
    "geometric on {0, 1, 2}",
    inputs=bit,
    atoms={
        0: ((1 - bit) + bit * a) / (1 + a),
        1: ((1 - bit) * (1 - a) * a + bit * (1 - a)) / (1 + a),
        2: ((1 - bit) * a**2 + bit * a) / (1 + a),
    },
)
GEOMETRIC_FAR = SymbolicChannel(
    "geometric on {0, 1, 2}, two apart",
    inputs=bit,
    atoms={
        0: ((1 - bit) + bit * a**2) / (1 + a),
        1: (1 - a) * a / (1 + a),
        2: ((1 - bit) * a**2 + bit) / (1 + a),
    },
)

GEOMETRIC = published(
    "Ghosh, Roughgarden, Sundararajan (2009)",
    Entry(
        "GE-1",
        "the two-sided geometric law, its mass within m",
        "It is 1 - 2 a^(m+1)/(1 + a).",
        lambda: equal((1 - a) / (1 + a) * (1 + 2 * a * (1 - a**m) / (1 - a)), 1 - 2 * a ** (m + 1) / (1 + a)),
        lambda: equal((1 - a) / (1 + a) * (1 + 2 * a * (1 - a**m) / (1 - a)), 1 - 2 * a**m / (1 + a)),
        {"a": "1/2", "m": 1},
        needs="symbolic power",
    ),
    Entry(
        "GE-2",
        "the same mass as a sum",
        "The sum over |z| at most m is at most 1.",
        lambda: at_most((1 - a) / (1 + a) * (1 + 2 * Sum(a**j, (j, 1, m))), 1),
        lambda: at_most((1 - a) / (1 + a) * (1 + 2 * Sum(a**j, (j, 1, m))), Rational(9, 10)),
        {"a": "1/10", "m": 3},
        needs="sum",
    ),
    Entry(
        "GE-3",
        "the variance",
        "2 a/(1 - a)^2 at a = e^-epsilon is 2 t/(t - 1)^2.",
        lambda: equal(2 * ratio / (1 - ratio) ** 2, 2 * t / (t - 1) ** 2),
        lambda: equal(2 * ratio / (1 - ratio) ** 2, 2 / (t - 1) ** 2),
        {"epsilon": 1},
    ),
    Entry(
        "GE-4",
        "the variance, in e^-epsilon",
        "The same, written with exp(-epsilon).",
        lambda: equal(2 * exp(-e) / (1 - exp(-e)) ** 2, 2 * t / (t - 1) ** 2),
        lambda: equal(2 * exp(-e) / (1 + exp(-e)) ** 2, 2 * t / (t - 1) ** 2),
        {"epsilon": 1},
        needs="exp",
    ),
    Entry(
        "GE-5",
        "against Laplace, variance",
        "2 t/(t - 1)^2 is at most 2/epsilon^2.",
        lambda: at_most(2 * t / (t - 1) ** 2, 2 / e**2),
        lambda: at_most(2 * t / (t - 1) ** 2, 2 / e**2 - Rational(1, 5)),
        {"epsilon": "1/2"},
        needs="epsilon and t",
    ),
    Entry(
        "GE-6",
        "against Laplace, mean absolute error",
        "2 a/(1 - a^2) is less than 1/epsilon.",
        lambda: less(2 * t / (t**2 - 1), 1 / e),
        lambda: less(2 * t / (t**2 - 1), 1 / (2 * e)),
        {"epsilon": "1/2"},
        needs="epsilon and t",
    ),
    Entry(
        "GE-7",
        "the range-restricted mechanism, neighbouring counts",
        "Counts 0 and 1 of at most 2 differ by at most the ratio 1/a.",
        lambda: Privacy(GEOMETRIC_COUNTS, 1 / a),
        lambda: Privacy(GEOMETRIC_COUNTS, 2 / (1 + a)),
        {"a": "1/2", "x": 0, "x_prime": 1},
    ),
    Entry(
        "GE-8",
        "the range-restricted mechanism, counts two apart",
        "Counts 0 and 2 differ by at most the ratio 1/a^2.",
        lambda: Privacy(GEOMETRIC_FAR, 1 / a**2),
        lambda: Privacy(GEOMETRIC_FAR, 1 / a),
        {"a": "1/2", "x": 0, "x_prime": 1},
    ),
    Entry(
        "GE-9",
        "neighbouring counts, unrestricted",
        "a^|z| is at most a^|z + 1|/a for every whole z.",
        lambda: at_most(a ** Abs(z), a ** Abs(z + 1) / a),
        lambda: at_most(a ** Abs(z), a ** Abs(z + 1)),
        {"a": "1/2", "z": 0},
        needs="symbolic power",
    ),
)

# Staircase: steps of width D, each split at gamma, lower by b = e**-epsilon a step.
far = Variable("r", Rational(3, 2), oo)
"""e**(epsilon/2) from 3/2 on."""
gamma, width_d = Variable("gamma", 0, 1), Variable("D", 0, oo, open="left")
drop = 1 / s**2
height = (1 - drop) / (2 * width_d * (gamma + drop * (1 - gamma)))
cost = drop / (1 - drop) + (gamma**2 + drop * (1 - gamma**2)) / (2 * (gamma + drop * (1 - gamma)))

STAIRCASE = published(
    "Geng, Viswanath (2014); Geng et al. (2015)",
    Entry(
        "ST-1",
        "the density's height",
        "The steps' geometric series adds up to 1.",
        lambda: equal(2 * height * width_d * (gamma + (1 - gamma) * drop) / (1 - drop), 1),
        lambda: equal(2 * height * width_d * (gamma + (1 - gamma)) / (1 - drop), 1),
        {"epsilon": 1, "gamma": "1/2", "D": 1},
    ),
    Entry(
        "ST-2",
        "the optimum of the mean absolute error",
        "At gamma = 1/(1 + s) it is D s/(t - 1).",
        lambda: equal(cost.subs(gamma, 1 / (1 + s)), s / (s**2 - 1)),
        lambda: equal(cost.subs(gamma, half), s / (s**2 - 1)),
        {"epsilon": 1},
    ),
    Entry(
        "ST-3",
        "the optimum over gamma",
        "No other split does better.",
        lambda: at_most(s / (s**2 - 1), cost),
        lambda: at_most((s + Rational(1, 10)) / (s**2 - 1), cost),
        {"epsilon": log(4), "gamma": "1/3"},
    ),
    Entry(
        "ST-4",
        "against Laplace",
        "s/(t - 1) is less than 1/epsilon.",
        lambda: less(s / (t - 1), 1 / e),
        lambda: less(s / (t - 1), 1 / (2 * e)),
        {"epsilon": "1/2"},
        needs="t and s linked",
    ),
    Entry(
        "ST-5",
        "small epsilon",
        "The gain on Laplace is at most epsilon/24.",
        lambda: at_most(1 / e - s / (s**2 - 1), e / 24),
        lambda: at_most(1 / e - s / (s**2 - 1), e / 25),
        {"epsilon": "1/10"},
        needs="epsilon and s",
    ),
    Entry(
        "ST-6",
        "large epsilon",
        "It is at most twice e^(-epsilon/2) from s = 3/2 on.",
        lambda: at_most(far / (far**2 - 1), 2 / far),
        lambda: at_most(s / (s**2 - 1), 2 / s),
        {"epsilon": "1/10"},
    ),
    Entry(
        "ST-7",
        "large epsilon, from below",
        "It is at least e^(-epsilon/2).",
        lambda: at_most(exp(-e / 2), s / (s**2 - 1)),
        lambda: at_most(2 * exp(-e / 2), s / (s**2 - 1)),
        {"epsilon": 3},
        needs="exp",
    ),
    Entry(
        "ST-8",
        "the split's place",
        "The best split lies below the middle of a step.",
        lambda: less(1 / (1 + s), half),
        lambda: less(1 / (1 + s), Rational(1, 3)),
        {"epsilon": 1},
    ),
)

# Discrete laws.
gap, mean_ = Variable("g", 0, 1), Variable("mu", -oo, oo)
TAU = Variable("tau", 0, oo, open="left")
DISCRETE = published(
    "Canonne, Kamath, Steinke (2020); Inusah, Kozubowski (2006)",
    Entry(
        "DL-1",
        "discrete Laplace, the weight at zero",
        "(e^(1/tau) - 1)/(e^(1/tau) + 1) = (1 - a)/(1 + a) for a = e^(-1/tau).",
        lambda: equal((exp(1 / TAU) - 1) / (exp(1 / TAU) + 1), (1 - exp(-1 / TAU)) / (1 + exp(-1 / TAU))),
        lambda: equal((exp(1 / TAU) - 1) / (exp(1 / TAU) + 1), (1 - exp(-1 / TAU)) / (1 + exp(1 / TAU))),
        {"tau": 1},
        needs="exp",
    ),
    Entry(
        "DL-2",
        "discrete Laplace, the tail",
        "P(Z >= m) = t^(1-m)/(t + 1).",
        lambda: equal((t - 1) / (t + 1) * t ** (-m) / (1 - 1 / t), t ** (1 - m) / (t + 1)),
        lambda: equal((t - 1) / (t + 1) * t ** (-m) / (1 - 1 / t), t ** (-m) / (t + 1)),
        {"epsilon": 1, "m": 1},
        needs="symbolic power",
    ),
    Entry(
        "DL-3",
        "discrete Laplace, the tail as an exponential",
        "t^(-m) = e^(-epsilon m).",
        lambda: equal(t ** (-m), exp(-e * m)),
        lambda: equal(t ** (-m), exp(-e * (m - 1))),
        {"epsilon": 1, "m": 2},
        needs="symbolic power",
    ),
    Entry(
        "DL-4",
        "sampling Bernoulli(e^-g), the first terms",
        "1 - g + g^2/2 - g^3/6 <= e^-g <= 1 - g + g^2/2 on [0, 1]: the upper half.",
        lambda: at_most(exp(-gap), 1 - gap + gap**2 / 2),
        lambda: at_most(exp(-gap), 1 - gap + gap**2 / 3),
        {"g": "1/10"},
        needs="exp",
    ),
    Entry(
        "DL-5",
        "sampling Bernoulli(e^-g), the first terms",
        "The lower half.",
        lambda: at_most(1 - gap + gap**2 / 2 - gap**3 / 6, exp(-gap)),
        lambda: at_most(1 - gap + gap**2 / 2 - gap**3 / 7, exp(-gap)),
        {"g": "1/10"},
        needs="exp",
    ),
    Entry(
        "DL-6",
        "the variance",
        "2/(t + 1/t - 2), which is 1/(cosh epsilon - 1), is 2 t/(t - 1)^2.",
        lambda: equal(2 / (t + 1 / t - 2), 2 * t / (t - 1) ** 2),
        lambda: equal(2 / (t + 1 / t + 2), 2 * t / (t - 1) ** 2),
        {"epsilon": 1},
    ),
    Entry(
        "DL-7",
        "discrete Gaussian, the divergence's exponent",
        "-alpha y^2/2 - (1 - alpha)(y - mu)^2/2 completes to alpha (alpha - 1) mu^2/2.",
        lambda: equal(
            -al * there**2 / 2 - (1 - al) * (there - mean_) ** 2 / 2,
            -((there - (1 - al) * mean_) ** 2) / 2 + al * (al - 1) * mean_**2 / 2,
        ),
        lambda: equal(
            -al * there**2 / 2 - (1 - al) * (there - mean_) ** 2 / 2,
            -((there - (1 - al) * mean_) ** 2) / 2 + al * (al + 1) * mean_**2 / 2,
        ),
        {"alpha": 2, "mu": 1, "y": 1},
    ),
)
al = Variable("alpha", 1, oo, open="left")

ENTRIES = [*DUCHI, *SQUARE_WAVE, *LAPLACE, *BOUNDED, *GEOMETRIC, *STAIRCASE, *DISCRETE]
