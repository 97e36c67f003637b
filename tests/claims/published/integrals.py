"""Integrals over noise: truncated, bounded and exponential noise, the piecewise mechanism, iteration and selection."""

from sympy import Abs, Integral, Rational, exp, log, oo

from ldp_audit.claims import at_most, equal, less
from ldp_audit.mechanisms.variable import Variable
from tests.claims.published.entry import Entry, published
from tests.claims.published.letters import alpha, e, s, t, u_pos, x

half = Rational(1, 2)
z = Variable("z", -oo, oo)
laplace = e / 2 * exp(-e * Abs(z))
past = Variable("u", 0, oo)

LAPLACE = published(
    "Dwork, Roth (2014), moments and divergences of Laplace noise",
    Entry(
        "IL-1",
        "the mean absolute error",
        "It is 1/epsilon.",
        lambda: equal(Integral(Abs(z) * laplace, (z, -oo, oo)), 1 / e),
        lambda: equal(Integral(Abs(z) * laplace, (z, -oo, oo)), 1 / (2 * e)),
        {"epsilon": 1},
        needs="integral",
    ),
    Entry(
        "IL-2",
        "the variance",
        "It is 2/epsilon^2.",
        lambda: equal(Integral(z**2 * laplace, (z, -oo, oo)), 2 / e**2),
        lambda: equal(Integral(z**2 * laplace, (z, -oo, oo)), 1 / e**2),
        {"epsilon": 1},
        needs="integral",
    ),
    Entry(
        "IL-3",
        "the tail",
        "P(Z > u) is e^(-epsilon u)/2.",
        lambda: equal(Integral(e / 2 * exp(-e * z), (z, past, oo)), exp(-e * past) / 2),
        lambda: equal(Integral(e / 2 * exp(-e * z), (z, past, oo)), exp(-e * past)),
        {"epsilon": 1, "u": 1},
        needs="integral",
    ),
    Entry(
        "IL-4",
        "the generating function at epsilon/2",
        "The mean of e^(epsilon Z/2) is 4/3.",
        lambda: equal(Integral(laplace * exp(e * z / 2), (z, -oo, oo)), Rational(4, 3)),
        lambda: equal(Integral(laplace * exp(e * z / 2), (z, -oo, oo)), Rational(5, 3)),
        {"epsilon": 1},
        needs="integral",
    ),
    Entry(
        "IL-5",
        "the total variation of two inputs at distance 1",
        "It is 1 - e^(-epsilon/2).",
        lambda: equal(2 * Integral(laplace, (z, -oo, half)) - 1, 1 - 1 / s),
        lambda: equal(2 * Integral(laplace, (z, -oo, half)) - 1, 1 - 1 / t),
        {"epsilon": 1},
        needs="integral",
    ),
    Entry(
        "IL-6",
        "the divergence of two inputs at distance 1",
        "It is epsilon + e^-epsilon - 1.",
        lambda: equal(Integral(laplace * e * (Abs(z - 1) - Abs(z)), (z, -oo, oo)), e + exp(-e) - 1),
        lambda: equal(Integral(laplace * e * (Abs(z - 1) - Abs(z)), (z, -oo, oo)), e + exp(e) - 1),
        {"epsilon": 1},
        needs="integral",
    ),
    Entry(
        "IL-7",
        "Mironov (2017), the power sum of order 2",
        "It is 2 t/3 + 1/(3 t^2).",
        lambda: equal(
            Integral(e / 2 * exp(-2 * e * Abs(z) + e * Abs(z - 1)), (z, -oo, oo)), 2 * t / 3 + 1 / (3 * t**2)
        ),
        lambda: equal(Integral(e / 2 * exp(-2 * e * Abs(z) + e * Abs(z - 1)), (z, -oo, oo)), 2 * t / 3 + 1 / (3 * t)),
        {"epsilon": 1},
        needs="integral",
    ),
)

# Truncated Laplace noise on [-A, A].
A = Variable("A", 1, oo)
delta = Variable("delta", 0, half, open="both")
cut = log(1 + (t - 1) / (2 * delta)) / e


def truncated(end: object) -> object:
    """The density at 0."""
    return e / (2 * (1 - exp(-e * end)))


TRUNCATED = published(
    "Geng, Ding, Guo, Kumar (2018), on truncated Laplace noise",
    Entry(
        "TL-1",
        "the definition",
        "The density integrates to 1.",
        lambda: equal(Integral(truncated(A) * exp(-e * Abs(z)), (z, -A, A)), 1),
        lambda: equal(Integral(e / 2 * exp(-e * Abs(z)), (z, -A, A)), 1),
        {"epsilon": 1, "A": 1},
        needs="integral",
    ),
    Entry(
        "TL-2",
        "the definition, the weight at the cut",
        "e^(-epsilon A) at A = ln(1 + (t - 1)/(2 delta))/epsilon is 2 delta/(2 delta + t - 1).",
        lambda: equal(exp(-e * cut), 2 * delta / (2 * delta + t - 1)),
        lambda: equal(exp(-e * cut), delta / (delta + t - 1)),
        {"epsilon": 1, "delta": "1/4"},
        needs="exp and log",
    ),
    Entry(
        "TL-3",
        "privacy, the part that a shift by 1 uncovers",
        "It holds e^(-epsilon A)(t - 1)/(2 (1 - e^(-epsilon A))).",
        lambda: equal(
            Integral(truncated(A) * exp(-e * z), (z, A - 1, A)), exp(-e * A) * (t - 1) / (2 * (1 - exp(-e * A)))
        ),
        lambda: equal(Integral(truncated(A) * exp(-e * z), (z, A - 1, A)), exp(-e * A) * (t - 1) / 2),
        {"epsilon": 1, "A": 1},
        needs="integral",
    ),
    Entry(
        "TL-4",
        "privacy, delta",
        "At the cut for delta that part is delta.",
        lambda: equal(exp(-e * cut) * (t - 1) / (2 * (1 - exp(-e * cut))), delta),
        lambda: equal(exp(-e * cut) * (t - 1) / (2 * (1 + exp(-e * cut))), delta),
        {"epsilon": 1, "delta": "1/4"},
        needs="exp and log",
    ),
    Entry(
        "TL-5",
        "privacy, the integral at the cut for delta",
        "The part that a shift by 1 uncovers is delta.",
        lambda: equal(Integral(truncated(cut) * exp(-e * z), (z, cut - 1, cut)), delta),
        lambda: equal(Integral(truncated(cut) * exp(-e * z), (z, cut - 1, cut)), delta / 2),
        {"epsilon": 1, "delta": "1/4"},
        needs="integral",
    ),
    Entry(
        "TL-6",
        "the mean absolute error",
        "It is (1 - (1 + epsilon A) e^(-epsilon A))/(epsilon (1 - e^(-epsilon A))).",
        lambda: equal(
            Integral(truncated(A) * Abs(z) * exp(-e * Abs(z)), (z, -A, A)),
            (1 - (1 + e * A) * exp(-e * A)) / (e * (1 - exp(-e * A))),
        ),
        lambda: equal(
            Integral(truncated(A) * Abs(z) * exp(-e * Abs(z)), (z, -A, A)),
            (1 - e * A * exp(-e * A)) / (e * (1 - exp(-e * A))),
        ),
        {"epsilon": 1, "A": 1},
        needs="integral",
    ),
    Entry(
        "TL-7",
        "the mean absolute error against Laplace noise",
        "It is less than 1/epsilon.",
        lambda: less((1 - (1 + e * A) * exp(-e * A)) / (e * (1 - exp(-e * A))), 1 / e),
        lambda: less((1 - (1 + e * A) * exp(-e * A)) / (e * (1 - exp(-e * A))), 9 / (10 * e)),
        {"epsilon": 10, "A": 1},
        needs="exp of a product",
    ),
    Entry(
        "TL-8",
        "the cut covers a shift by 1",
        "ln(1 + (t - 1)/(2 delta))/epsilon is at least 1 for delta below 1/2.",
        lambda: at_most(1, cut),
        lambda: at_most(1, log(1 + (t - 1) / (2 * wide_delta)) / e),
        {"epsilon": 1, "delta": "3/5"},
        needs="log",
    ),
)
wide_delta = Variable("delta", 0, 1, open="both")

# Bounded Laplace noise, drawn anew until it falls into [0, w].
width = Variable("w", 1, oo)
inner = Variable("q", 0, width)


def mass(middle: object) -> object:
    """What noise around a point has in [0, w]."""
    return Integral(e / 2 * exp(-e * Abs(z - middle)), (z, 0, width))


BOUNDED = published(
    "Holohan, Antonatos, Braghin, Mac Aonghusa (2020), by integrals",
    Entry(
        "BO-1",
        "the normaliser",
        "Noise around q stays in [0, w] with probability 1 - (e^(-epsilon q) + e^(-epsilon (w - q)))/2.",
        lambda: equal(mass(inner), 1 - (exp(-e * inner) + exp(-e * (width - inner))) / 2),
        lambda: equal(mass(inner), 1 - (exp(-e * inner) + exp(-e * width)) / 2),
        {"epsilon": 1, "w": 1, "q": "1/2"},
        needs="integral",
    ),
    Entry(
        "BO-2",
        "the normaliser, its smallest value",
        "It is at least (1 - e^(-epsilon w))/2, with ties at the ends.",
        lambda: at_most((1 - exp(-e * width)) / 2, mass(inner)),
        lambda: less((1 - exp(-e * width)) / 2, mass(inner)),
        {"epsilon": 1, "w": 1, "q": 0},
        needs="integral",
    ),
    Entry(
        "BO-3",
        "the true epsilon without a correction",
        "The normalisers at 1 and at 0 differ by at most the factor e^epsilon, so that 2 epsilon is safe.",
        lambda: at_most(1 - (exp(-e) + exp(-e * (width - 1))) / 2, exp(e) * (1 - exp(-e * width)) / 2),
        lambda: at_most(1 - (exp(-e) + exp(-e * (width - 1))) / 2, (exp(e) + 1) / 2 * (1 - exp(-e * width)) / 2),
        {"epsilon": "2/5", "w": 10},
        needs="exp of a product",
    ),
    Entry(
        "BO-4",
        "the true epsilon without a correction, in logarithms",
        "The loss at the report 0, epsilon + ln(C(1)/C(0)), is at least epsilon.",
        lambda: at_most(e, e + log((1 - (exp(-e) + exp(-e * (width - 1))) / 2) / ((1 - exp(-e * width)) / 2))),
        lambda: less(e, e + log((1 - (exp(-e) + exp(-e * (width - 1))) / 2) / ((1 - exp(-e * width)) / 2))),
        {"epsilon": 1, "w": 1},
        needs="exp of a product and log",
    ),
)

# Exponential noise and the noisy maximum.
gap = Variable("g", 0, oo)
more = Variable("z", 0, oo)
exponential = e * exp(-e * more)

SELECTION = published(
    "Ding, Kifer et al. (2021); Liu, Talwar (2019)",
    Entry(
        "XN-1",
        "exponential noise, two candidates at a gap",
        "The better one wins with probability 1 - e^(-epsilon g)/2, as with permute-and-flip.",
        lambda: equal(Integral(exponential * (1 - exp(-e * (more + gap))), (more, 0, oo)), 1 - exp(-e * gap) / 2),
        lambda: equal(Integral(exponential * (1 - exp(-e * (more + gap))), (more, 0, oo)), 1 - exp(-e * gap)),
        {"epsilon": 1, "g": 1},
        needs="integral",
    ),
    Entry(
        "XN-2",
        "exponential noise, the larger of two",
        "Its mean is 3/(2 epsilon).",
        lambda: equal(Integral(2 * more * exponential * (1 - exp(-e * more)), (more, 0, oo)), Rational(3, 2) / e),
        lambda: equal(Integral(2 * more * exponential * (1 - exp(-e * more)), (more, 0, oo)), 2 / e),
        {"epsilon": 1},
        needs="integral",
    ),
    Entry(
        "XN-3",
        "Laplace noise, two candidates at a gap",
        "The worse one wins with probability (2 + epsilon g) e^(-epsilon g)/4.",
        lambda: equal(
            Integral(laplace * exp(-e * (gap - z)) / 2, (z, -oo, 0))
            + Integral(laplace * exp(-e * (gap - z)) / 2, (z, 0, gap))
            + Integral(laplace * (1 - exp(-e * (z - gap)) / 2), (z, gap, oo)),
            (2 + e * gap) * exp(-e * gap) / 4,
        ),
        lambda: equal(
            Integral(laplace * exp(-e * (gap - z)) / 2, (z, -oo, 0))
            + Integral(laplace * exp(-e * (gap - z)) / 2, (z, 0, gap))
            + Integral(laplace * (1 - exp(-e * (z - gap)) / 2), (z, gap, oo)),
            (1 + e * gap) * exp(-e * gap) / 2,
        ),
        {"epsilon": 1, "g": 1},
        needs="integral",
    ),
    Entry(
        "XN-4",
        "Liu, Talwar, the best of geometrically many candidates",
        "It is 3 epsilon-private: g p/((g + (1 - g) U)(g + (1 - g)(U + p))) changes by at most t^3.",
        lambda: at_most(best(p, above), t**3 * best(p_2, above_2)),
        lambda: at_most(best(p, above), t**2 * best(p_2, above_2)),
        {"t": 2, "g": "1/1000", "p_2": "1/100", "p": "1/50", "U_2": "1/5", "U": "1/10"},
    ),
)
stop = Variable("g", 0, 1, open="both")
p_2, above_2 = Variable("p_2", 0, 1), Variable("U_2", 0, 1)
p = Variable("p", p_2 / t, t * p_2)
above = Variable("U", above_2 / t, 1)


def best(own: object, higher: object) -> object:
    """The probability of the best so far, if it has probability `own` and better ones `higher`."""
    return stop * own / ((stop + (1 - stop) * higher) * (stop + (1 - stop) * (higher + own)))


# The piecewise mechanism: density dense on [left, left + C - 1], and dense/t elsewhere on [-C, C].
C = (s + 1) / (s - 1)
dense = (t - s) / (2 * s + 2)
left = (C + 1) / 2 * x - (C - 1) / 2
right = left + C - 1


def moment(order: int) -> object:
    """The moment of the report."""
    return (
        Integral(z**order * dense / t, (z, -C, left))
        + Integral(z**order * dense, (z, left, right))
        + Integral(z**order * dense / t, (z, right, C))
    )


piecewise_variance = x**2 / (s - 1) + (s + 3) / (3 * (s - 1) ** 2)

PIECEWISE = published(
    "Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu (2019), the piecewise mechanism",
    Entry(
        "PM-1",
        "the definition",
        "The density integrates to 1.",
        lambda: equal(dense * (C - 1) + dense / t * (C + 1), 1),
        lambda: equal(dense * (C - 1) + dense / s * (C + 1), 1),
        {"epsilon": 1},
        needs="t and s linked",
    ),
    Entry(
        "PM-2",
        "the lemma on the mean",
        "The report's mean is the input.",
        lambda: equal(moment(1), x),
        lambda: equal(moment(1), x / 2),
        {"epsilon": 1, "x": 1},
        needs="integral",
    ),
    Entry(
        "PM-3",
        "the lemma on the variance",
        "It is x^2/(s - 1) + (s + 3)/(3 (s - 1)^2).",
        lambda: equal(moment(2) - x**2, piecewise_variance),
        lambda: equal(moment(2), piecewise_variance),
        {"epsilon": 1, "x": 1},
        needs="integral",
    ),
    Entry(
        "PM-4",
        "the worst case",
        "It is at most 4 s/(3 (s - 1)^2), with ties at the ends.",
        lambda: at_most(piecewise_variance, 4 * s / (3 * (s - 1) ** 2)),
        lambda: less(piecewise_variance, 4 * s / (3 * (s - 1) ** 2)),
        {"epsilon": 1, "x": 1},
    ),
    Entry(
        "PM-5",
        "the worst case against Laplace noise of scale 2/epsilon",
        "4 s/(3 (s - 1)^2) is less than 8/epsilon^2.",
        lambda: less(4 * s / (3 * (s - 1) ** 2), 8 / e**2),
        lambda: less(4 * s / (3 * (s - 1) ** 2), 5 / e**2),
        {"epsilon": "1/10"},
        needs="epsilon and s",
    ),
)

# PrivUnit in three dimensions: the height on the sphere is uniform on [-1, 1].
height = Variable("g", 0, 1, open="right")
keep = Variable("p", 0, 1)
v = Variable("v", -oo, oo)

OTHERS = published(
    "Bhowmick et al. (2018); Feldman, Mironov, Talwar, Thakurta (2018), by hand",
    Entry(
        "OI-1",
        "PrivUnit, the mean height in three dimensions",
        "p on the cap from g on and 1 - p below has the mean (g + 2 p - 1)/2.",
        lambda: equal(
            keep * Integral(z / (1 - height), (z, height, 1))
            + (1 - keep) * Integral(z / (1 + height), (z, -1, height)),
            (height + 2 * keep - 1) / 2,
        ),
        lambda: equal(
            keep * Integral(z / (1 - height), (z, height, 1))
            + (1 - keep) * Integral(z / (1 + height), (z, -1, height)),
            (height + keep) / 2,
        ),
        {"g": "1/2", "p": "1/2"},
        needs="integral",
    ),
    Entry(
        "OI-2",
        "amplification by iteration, one shift in two halves",
        "a ((u/2)^2 + (u/2)^2)/2 is half of a u^2/2, and no other split of the shift costs less.",
        lambda: at_most(alpha * u_pos**2 / 4, alpha * (v**2 + (u_pos - v) ** 2) / 2),
        lambda: less(alpha * u_pos**2 / 4, alpha * (v**2 + (u_pos - v) ** 2) / 2),
        {"alpha": 2, "u": 1, "v": "1/2"},
    ),
)

ENTRIES = [*LAPLACE, *TRUNCATED, *BOUNDED, *SELECTION, *PIECEWISE, *OTHERS]
