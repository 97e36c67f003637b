"""Many releases: groups, composition, concentrated and Renyi privacy, the Gaussian's sigma."""

from sympy import Max, Rational, Sum, erf, exp, log, oo, pi, sqrt

from ldp_audit.claims import at_most, equal, less
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.variable import Variable
from tests.claims.published.entry import Entry, Privacy, published
from tests.claims.published.frequency import pair_of_answers
from tests.claims.published.letters import E1, E2, alpha, bit, e, e1, k, m, t, t1

half = Rational(1, 2)

# Groups: a chain of neighbours.
r = Variable("r", 0, 1)
q = Variable("q", 0, t * r)
p = Variable("p", 0, t * q)
d = Variable("delta", 0, 1)
q_d = Variable("q", 0, t * r + d)
p_d = Variable("p", 0, t * q_d + d)
i = Variable("i", 0, m - 1, integer=True)
whole = Variable("k", 1, oo, integer=True)

GROUPS = published(
    "Dwork, Roth (2014), Theorem 2.2; Vadhan (2017), Lemma 2.2",
    Entry(
        "GP-1",
        "groups of two",
        "Two steps of e^epsilon are one of e^(2 epsilon).",
        lambda: at_most(p, t**2 * r),
        lambda: at_most(p, t * r),
        {"t": 2, "r": "1/4", "q": "1/2", "p": 1},
    ),
    Entry(
        "GP-2",
        "groups of two, in e^(2 epsilon)",
        "The same with the exponential of 2 epsilon.",
        lambda: at_most(p, exp(2 * e) * r),
        lambda: at_most(p, exp(e) * r),
        {"epsilon": log(2), "r": "1/4", "q": "1/2", "p": 1},
        needs="exp",
    ),
    Entry(
        "GP-3",
        "groups of two, with delta",
        "delta becomes (1 + e^epsilon) delta.",
        lambda: at_most(p_d, t**2 * r + (1 + t) * d),
        lambda: at_most(p_d, t**2 * r + 2 * d),
        {"t": 2, "r": 0, "delta": "1/4", "q": "1/4", "p": "3/4"},
        needs="delta",
    ),
    Entry(
        "GP-4",
        "groups of k, the series of the deltas",
        "(t^k - 1)/(t - 1) is at most k t^(k - 1).",
        lambda: at_most((t**whole - 1) / (t - 1), whole * t ** (whole - 1)),
        lambda: at_most((t**whole - 1) / (t - 1), whole * t ** (whole - 2)),
        {"t": 2, "k": 2},
        needs="symbolic power",
    ),
    Entry(
        "GP-5",
        "groups of three, the series of the deltas",
        "1 + t + t^2 = (t^3 - 1)/(t - 1), at most 3 t^2.",
        lambda: at_most((t**3 - 1) / (t - 1), 3 * t**2),
        lambda: at_most((t**3 - 1) / (t - 1), 3 * t),
        {"epsilon": 1},
    ),
    Entry(
        "GP-6",
        "groups of m, the series summed",
        "The sum of t^i below m is (t^m - 1)/(t - 1).",
        lambda: equal(Sum(t**i, (i, 0, m - 1)), (t**m - 1) / (t - 1)),
        lambda: equal(Sum(t**i, (i, 0, m - 1)), (t ** (m + 1) - 1) / (t - 1)),
        {"epsilon": 1, "m": 2},
        needs="sum",
    ),
)

# Composition: budgets add up.
d1, d2 = Variable("delta_1", 0, 1), Variable("delta_2", 0, 1)
TWICE = pair_of_answers(t, t)
chi = SymbolicChannel(
    "RR that sometimes tells",
    inputs=bit,
    public=d,
    atoms={
        0: d * (1 - bit),
        1: (1 - d) * ((1 - bit) * t + bit) / (t + 1),
        2: (1 - d) * ((1 - bit) + bit * t) / (t + 1),
        3: d * bit,
    },
)

BASIC = published(
    "Dwork, Kenthapadi, McSherry, Mironov, Naor (2006)",
    Entry(
        "BC-1",
        "budgets add up",
        "e^epsilon_1 e^epsilon_2 = e^(epsilon_1 + epsilon_2).",
        lambda: equal(exp(E1) * exp(E2), exp(E1 + E2)),
        lambda: equal(exp(E1) * exp(E2), exp(E1 * E2)),
        {"epsilon_1": 1, "epsilon_2": 1},
        needs="exp",
    ),
    Entry(
        "BC-2",
        "two answers at epsilon",
        "They are 2 epsilon-LDP together.",
        lambda: Privacy(TWICE, t**2),
        lambda: Privacy(TWICE, (t**2 + t) / 2),
        {"epsilon": 1, "x": 1, "x_prime": 0},
    ),
    Entry(
        "BC-3",
        "deltas add up",
        "1 - (1 - delta_1)(1 - delta_2) is at most delta_1 + delta_2.",
        lambda: at_most(1 - (1 - d1) * (1 - d2), d1 + d2),
        lambda: at_most(d1 + d2, 1 - (1 - d1) * (1 - d2)),
        {"delta_1": "1/2", "delta_2": "1/2"},
    ),
    Entry(
        "BC-4",
        "deltas add up, k times",
        "1 - (1 - delta)^k is at most k delta.",
        lambda: at_most(1 - (1 - d) ** whole, whole * d),
        lambda: at_most(1 - (1 - d) ** whole, (whole - 1) * d),
        {"delta": "1/2", "k": 1},
        needs="symbolic power",
    ),
    Entry(
        "BC-5",
        "k answers",
        "(e^epsilon)^k = e^(k epsilon).",
        lambda: equal(t**whole, exp(whole * e)),
        lambda: equal(t**whole, exp((whole + 1) * e)),
        {"epsilon": 1, "k": 1},
        needs="symbolic power",
    ),
)

# The optimal composition of randomised responses.
KOV = published(
    "Kairouz, Oh, Viswanath (2015)",
    Entry(
        "KO-1",
        "the extremal (epsilon, delta) pair",
        "Randomised response that tells the truth openly with probability delta is (epsilon, delta)-LDP.",
        lambda: Privacy(chi, t, d),
        lambda: Privacy(chi, t, d / 2),
        {"epsilon": 1, "delta": "1/2", "x": 1, "x_prime": 0},
        needs="delta",
    ),
    Entry(
        "KO-2",
        "Theorem 3.3, two answers at level 0",
        "They are (0, (t^2 - 1)/(t + 1)^2)-LDP.",
        lambda: Privacy(TWICE, 1, (t**2 - 1) / (t + 1) ** 2),
        lambda: Privacy(TWICE, 1, (t - 1) ** 2 / (t + 1) ** 2),
        {"epsilon": 1, "x": 1, "x_prime": 0},
        needs="delta",
    ),
    Entry(
        "KO-3",
        "Theorem 3.3, two answers at level epsilon",
        "They are (epsilon, (t^2 - t)/(t + 1)^2)-LDP.",
        lambda: Privacy(TWICE, t, (t**2 - t) / (t + 1) ** 2),
        lambda: Privacy(TWICE, t, (t - 1) / (t + 1) ** 2),
        {"epsilon": 1, "x": 1, "x_prime": 0},
        needs="delta",
    ),
    Entry(
        "KO-4",
        "Theorem 3.3, one answer at any level",
        "Below its epsilon it is (E, (t - E)/(t + 1))-LDP.",
        lambda: Privacy(single, level, (t - level) / (t + 1)),
        lambda: Privacy(single, level, (t - level) / (t + 2)),
        {"t": 2, "E": 1, "x": 1, "x_prime": 0},
        needs="delta",
    ),
    Entry(
        "KO-5",
        "Theorem 3.3, two answers, by hand",
        "The sum of (P - Q)_+ is (t - 1)/(t + 1).",
        lambda: equal((Max(0, t**2 - 1) + 2 * Max(0, t - t) + Max(0, 1 - t**2)) / (1 + t) ** 2, (t - 1) / (t + 1)),
        lambda: equal((Max(0, t**2 - 1) + Max(0, t - 1) + Max(0, 1 - t**2)) / (1 + t) ** 2, (t - 1) / (t + 1)),
        {"epsilon": 1},
        needs="Max or Min",
    ),
    Entry(
        "KO-6",
        "Theorem 3.3, three answers at level epsilon",
        "The sum of (P - t Q)_+ is (t^3 - t)/(t + 1)^3.",
        lambda: equal(
            (Max(0, t**3 - t) + 3 * Max(0, t**2 - t**2) + 3 * Max(0, t - t**3) + Max(0, 1 - t**4)) / (1 + t) ** 3,
            (t**3 - t) / (t + 1) ** 3,
        ),
        lambda: equal(
            (Max(0, t**3 - t) + 3 * Max(0, t**2 - t**2) + 3 * Max(0, t - t**3) + Max(0, 1 - t**4)) / (1 + t) ** 3,
            (t**3 - 1) / (t + 1) ** 3,
        ),
        {"epsilon": 1},
        needs="Max or Min",
    ),
    Entry(
        "KO-7",
        "Theorem 3.3, k answers, the first delta",
        "(t^k - t^(k - 2))/(1 + t)^k = (t^2 - 1) t^(k - 2)/(1 + t)^k.",
        lambda: equal((t**k - t ** (k - 2)) / (1 + t) ** k, (t**2 - 1) * t ** (k - 2) / (1 + t) ** k),
        lambda: equal((t**k - t ** (k - 2)) / (1 + t) ** k, (t - 1) * t ** (k - 2) / (1 + t) ** k),
        {"epsilon": 1, "k": 2},
        needs="symbolic power",
    ),
    Entry(
        "KO-8",
        "Theorem 3.3, k answers, delta shrinks",
        "That delta is at most (t/(1 + t))^k.",
        lambda: at_most((t**k - t ** (k - 2)) / (1 + t) ** k, (t / (1 + t)) ** k),
        lambda: at_most((t / (1 + t)) ** k, (t**k - t ** (k - 2)) / (1 + t) ** k),
        {"epsilon": 1, "k": 2},
        needs="symbolic power",
    ),
    Entry(
        "KO-9",
        "Theorem 3.4 against Dwork, Rothblum, Vadhan",
        "k epsilon (t - 1)/(t + 1) is at most half of k epsilon (t - 1).",
        lambda: at_most(k * e * (t - 1) / (t + 1), k * e * (t - 1) / 2),
        lambda: at_most(k * e * (t - 1) / (t + 1), k * e * (t - 1) / 3),
        {"epsilon": "1/10", "k": 2},
    ),
    Entry(
        "KO-10",
        "Theorem 3.4, the drift",
        "It is at most k epsilon^2/2.",
        lambda: at_most(k * e * (t - 1) / (t + 1), k * e**2 / 2),
        lambda: at_most(k * e**2 / 2, k * e * (t - 1) / (t + 1)),
        {"epsilon": 1, "k": 2},
        needs="epsilon and t",
    ),
)
level = Variable("E", 1, t)
single = SymbolicChannel("RR", inputs=bit, atoms={1: (bit * t + 1 - bit) / (t + 1), 0: (bit + (1 - bit) * t) / (t + 1)})

# Advanced composition.
L = Variable("L", half, oo)
free_l = Variable("L", 0, oo, open="left")
goal = Variable("E", 0, 1, open="left")


def per_step(logs: Variable) -> object:
    """The budget of one of k steps for a goal of E, L = ln(1/delta')."""
    return goal / (2 * sqrt(2 * whole * logs))


def advanced(logs: Variable) -> object:
    """What advanced composition makes of it."""
    step = per_step(logs)
    return sqrt(2 * whole * logs) * step + whole * step * (exp(step) - 1)


delta = Variable("delta", 0, 1, open="both")
few = Variable("k", 1, 2 * log(1 / delta), integer=True)

ADVANCED = published(
    "Dwork, Rothblum, Vadhan (2010)",
    Entry(
        "AC-1",
        "Lemma III.2, for randomised response",
        "Its divergence epsilon (t - 1)/(t + 1) is at most epsilon (e^epsilon - 1).",
        lambda: at_most(e * (t - 1) / (t + 1), e * (t - 1)),
        lambda: at_most(e * (t - 1), e * (t - 1) / (t + 1)),
        {"epsilon": 1},
    ),
    Entry(
        "AC-2",
        "the bound for small epsilon",
        "epsilon (e^epsilon - 1) is at most 2 epsilon^2 up to 1.",
        lambda: at_most(e1 * (t1 - 1), 2 * e1**2),
        lambda: at_most(e1 * (t1 - 1), Rational(3, 2) * e1**2),
        {"epsilon": 1},
        needs="epsilon and t",
    ),
    Entry(
        "AC-3",
        "the bound for small epsilon, in exponentials",
        "The same with exp(epsilon).",
        lambda: at_most(e1 * (exp(e1) - 1), 2 * e1**2),
        lambda: at_most(e1 * (exp(e1) - 1), e1**2),
        {"epsilon": 1},
        needs="exp",
    ),
    Entry(
        "AC-4",
        "Dwork, Roth (2014), Corollary 3.21",
        "Steps of E/(2 sqrt(2 k L)) make at most E, for E at most 1 and L at least 1/2.",
        lambda: at_most(advanced(L), goal),
        lambda: at_most(advanced(free_l), goal),
        {"E": 1, "k": 1, "L": "1/100"},
        needs="sqrt and exp",
    ),
    Entry(
        "AC-5",
        "Dwork, Roth (2014), Corollary 3.21, the first term",
        "The square-root term is exactly half of E.",
        lambda: equal(sqrt(2 * whole * free_l) * per_step(free_l), goal / 2),
        lambda: equal(sqrt(2 * whole * free_l) * per_step(free_l), goal),
        {"E": 1, "k": 1, "L": 1},
        needs="sqrt",
    ),
    Entry(
        "AC-6",
        "against basic composition",
        "For k at most 2 ln(1/delta) the square-root term alone is at least k epsilon.",
        lambda: at_most(few * e, sqrt(2 * few * log(1 / delta)) * e),
        lambda: at_most(whole * e, sqrt(2 * whole * log(1 / delta)) * e),
        {"epsilon": 1, "k": 10, "delta": "1/2"},
        needs="sqrt and log",
    ),
    Entry(
        "AC-7",
        "the martingale's steps",
        "The loss of a step lies in [-epsilon, epsilon] and its mean is below epsilon.",
        lambda: less(e * (t - 1) / (t + 1), e),
        lambda: less(e, e * (t - 1) / (t + 1)),
        {"epsilon": 1},
    ),
)

# Concentrated privacy.
rho, logs = Variable("rho", 0, oo, open="left"), Variable("L", 0, oo, open="left")
root_rho, root_logs = Variable("r", 0, oo, open="left"), Variable("l", 0, oo, open="left")
y = Variable("y", -oo, oo)
mu, sigma = Variable("mu", -oo, oo), Variable("sigma", 0, oo, open="left")

CONCENTRATED = published(
    "Bun, Steinke (2016)",
    Entry(
        "ZC-1",
        "Proposition 1.3, the conversion",
        "rho alpha + L/(alpha - 1) is at least rho + 2 sqrt(rho L) for every alpha above 1.",
        lambda: at_most(rho + 2 * sqrt(rho * logs), rho * alpha + logs / (alpha - 1)),
        lambda: at_most(rho + 3 * sqrt(rho * logs), rho * alpha + logs / (alpha - 1)),
        {"rho": 1, "L": 1, "alpha": 2},
        needs="sqrt",
    ),
    Entry(
        "ZC-2",
        "Proposition 1.3, by roots",
        "The same with rho = r^2 and L = l^2.",
        lambda: at_most(root_rho**2 + 2 * root_rho * root_logs, root_rho**2 * alpha + root_logs**2 / (alpha - 1)),
        lambda: at_most(root_rho**2 + 3 * root_rho * root_logs, root_rho**2 * alpha + root_logs**2 / (alpha - 1)),
        {"r": 1, "l": 1, "alpha": 2},
    ),
    Entry(
        "ZC-3",
        "Proposition 1.3, attained",
        "alpha = 1 + sqrt(L/rho) has exactly that.",
        lambda: equal(rho * (1 + sqrt(logs / rho)) + logs / sqrt(logs / rho), rho + 2 * sqrt(rho * logs)),
        lambda: equal(rho * (1 + sqrt(logs / rho)) + logs / sqrt(logs / rho), rho + sqrt(rho * logs)),
        {"rho": 1, "L": 1},
        needs="sqrt",
    ),
    Entry(
        "ZC-4",
        "Proposition 1.4 at alpha = 2, for randomised response",
        "ln(t - 1 + 1/t) is at most epsilon^2.",
        lambda: at_most(log(t - 1 + 1 / t), e**2),
        lambda: at_most(log(t - 1 + 1 / t), e**2 / 2),
        {"epsilon": 1},
        needs="log",
    ),
    Entry(
        "ZC-5",
        "Proposition 3.3, the lemma at alpha = 2",
        "2 cosh(epsilon) - 1 is at most e^(epsilon^2).",
        lambda: at_most(exp(e) + exp(-e) - 1, exp(e**2)),
        lambda: at_most(exp(e) + exp(-e) - 1, exp(e**2 / 2)),
        {"epsilon": 1},
        needs="exp",
    ),
    Entry(
        "ZC-6",
        "Proposition 3.3, the lemma at alpha = 3",
        "(sinh 3 e - sinh 2 e)/sinh e = (t^2 + 1/t^2) - (t + 1/t) + 1 is at most e^(3 epsilon^2).",
        lambda: at_most(t**2 + 1 / t**2 - (t + 1 / t) + 1, exp(3 * e**2)),
        lambda: at_most(t**2 + 1 / t**2 - (t + 1 / t) + 1, exp(e**2)),
        {"epsilon": 1},
        needs="exp",
    ),
    Entry(
        "ZC-7",
        "Proposition 3.3, the lemma at alpha = 3, the identity",
        "(t^3 - t^-3 - t^2 + t^-2)/(t - 1/t) is that sum.",
        lambda: equal((t**3 - t**-3 - t**2 + t**-2) / (t - 1 / t), t**2 + 1 / t**2 - (t + 1 / t) + 1),
        lambda: equal((t**3 - t**-3 - t**2 + t**-2) / (t - 1 / t), t**2 + 1 / t**2 - (t + 1 / t) - 1),
        {"epsilon": 1},
    ),
    Entry(
        "ZC-8",
        "Renyi divergence of randomised response, alpha = 2",
        "Its exponential is (t^2 - t + 1)/t.",
        lambda: equal((t / (1 + t)) ** 2 / (1 / (1 + t)) + (1 / (1 + t)) ** 2 / (t / (1 + t)), (t**2 - t + 1) / t),
        lambda: equal((t / (1 + t)) ** 2 / (1 / (1 + t)) + (1 / (1 + t)) ** 2 / (t / (1 + t)), (t**2 + t + 1) / t),
        {"epsilon": 1},
    ),
    Entry(
        "ZC-9",
        "Lemma on the Gaussian",
        "The exponent's square completes with alpha (alpha - 1) mu^2/(2 sigma^2).",
        lambda: equal(
            (-alpha * y**2 - (1 - alpha) * (y - mu) ** 2) / (2 * sigma**2),
            (-((y - (1 - alpha) * mu) ** 2) + alpha * (alpha - 1) * mu**2) / (2 * sigma**2),
        ),
        lambda: equal(
            (-alpha * y**2 - (1 - alpha) * (y - mu) ** 2) / (2 * sigma**2),
            (-((y - (1 - alpha) * mu) ** 2) + alpha**2 * mu**2) / (2 * sigma**2),
        ),
        {"alpha": 2, "mu": 1, "sigma": 1, "y": 0},
    ),
)

# Renyi privacy.
p_any, q_any = Variable("p", 0, 1), Variable("q", 0, 1, open="both")
inverse = Variable("z", 0, oo)

RENYI = published(
    "Mironov (2017)",
    Entry(
        "RD-1",
        "Proposition 10 at alpha = 2",
        "P(A)^2 is at most Q(A) times the second moment of the likelihood ratio.",
        lambda: at_most(p_any**2, q_any * (p_any**2 / q_any + (1 - p_any) ** 2 / (1 - q_any))),
        lambda: at_most(p_any, q_any * (p_any**2 / q_any + (1 - p_any) ** 2 / (1 - q_any))),
        {"p": "1/2", "q": "1/10"},
    ),
    Entry(
        "RD-2",
        "Corollary 2, Laplace at alpha = 2",
        "ln(2/3 e^z + 1/3 e^(-2 z)) is at most z.",
        lambda: at_most(log(2 * exp(inverse) / 3 + exp(-2 * inverse) / 3), inverse),
        lambda: at_most(log(2 * exp(inverse) / 3 + exp(-2 * inverse) / 3), inverse / 2),
        {"z": 5},
        needs="exp and log",
    ),
    Entry(
        "RD-3",
        "Corollary 2, Laplace at alpha = 2, without the logarithm",
        "2/3 e^z + 1/3 e^(-2 z) is at most e^z.",
        lambda: at_most(2 * exp(inverse) / 3 + exp(-2 * inverse) / 3, exp(inverse)),
        lambda: at_most(exp(inverse), 2 * exp(inverse) / 3 + exp(-2 * inverse) / 3),
        {"z": 1},
        needs="exp",
    ),
    Entry(
        "RD-4",
        "Corollary 2, Laplace, the limit alpha = 1",
        "z + e^-z - 1 is at most z^2/2.",
        lambda: at_most(inverse + exp(-inverse) - 1, inverse**2 / 2),
        lambda: at_most(inverse + exp(-inverse) - 1, inverse**2 / 3),
        {"z": "1/10"},
        needs="exp",
    ),
    Entry(
        "RD-5",
        "monotonicity in the order, for randomised response at alpha = 2",
        "ln(t - 1 + 1/t) is at most epsilon, the divergence of order infinity.",
        lambda: at_most(log(t - 1 + 1 / t), e),
        lambda: at_most(log(t - 1 + 1 / t), e - half),
        {"epsilon": 5},
        needs="log",
    ),
    Entry(
        "RD-6",
        "randomised response, integer alpha",
        "P^a Q^(1-a) summed over both answers is (t^a + t^(1-a))/(1 + t).",
        lambda: equal(
            (t / (1 + t)) ** k * (1 / (1 + t)) ** (1 - k) + (1 / (1 + t)) ** k * (t / (1 + t)) ** (1 - k),
            (t**k + t ** (1 - k)) / (1 + t),
        ),
        lambda: equal(
            (t / (1 + t)) ** k * (1 / (1 + t)) ** (1 - k) + (1 / (1 + t)) ** k * (t / (1 + t)) ** (1 - k),
            (t**k + t ** (-k)) / (1 + t),
        ),
        {"epsilon": 1, "k": 2},
        needs="symbolic power",
    ),
    Entry(
        "RD-7",
        "randomised response, order infinity bounds every order",
        "That sum is at most t^(a - 1).",
        lambda: at_most((t**k + t ** (1 - k)) / (1 + t), t ** (k - 1)),
        lambda: at_most((t**k + t ** (1 - k)) / (1 + t), t ** (k - 2)),
        {"epsilon": 1, "k": 2},
        needs="symbolic power",
    ),
    Entry(
        "RD-8",
        "the later conversion, Balle et al. (2020)",
        "ln((alpha - 1)/alpha) - ln(alpha)/(alpha - 1) is never positive: it improves on Proposition 3.",
        lambda: at_most(log((alpha - 1) / alpha) - log(alpha) / (alpha - 1), 0),
        lambda: at_most(0, log((alpha - 1) / alpha) - log(alpha) / (alpha - 1)),
        {"alpha": 2},
        needs="log",
    ),
)

# The classic Gaussian: sigma = c/epsilon with c^2 > 2 ln(1.25/delta).
c = Variable("c", Rational(3, 2), oo)
x = Variable("x", 0, oo)
x_pos = Variable("x", 0, oo, open="left")
tenth = Variable("epsilon", Rational(1, 10), 1)
long = Variable("epsilon", Rational(1, 10), 50)


def normal_tail(z: object) -> object:
    """P(a standard normal is above z)."""
    return (1 - erf(z / sqrt(2))) / 2


def gaussian_delta(level: object, sigma: object) -> object:
    """The exact delta of the Gaussian mechanism of sensitivity 1."""
    ahead, behind = level * sigma - 1 / (2 * sigma), level * sigma + 1 / (2 * sigma)
    return normal_tail(ahead) - exp(level) * normal_tail(behind)


def classic(level: object, tiny: Rational) -> object:
    """The textbook's sigma."""
    return sqrt(2 * log(Rational(5, 4) / tiny)) / level


GAUSSIAN = published(
    "Dwork, Roth (2014), Theorem A.1; Balle, Wang (2018)",
    Entry(
        "GA-1",
        "Theorem A.1 at delta = 1/100",
        "sigma = sqrt(2 ln(1.25/delta))/epsilon suffices for epsilon from 1/10 to 1.",
        lambda: at_most(gaussian_delta(tenth, classic(tenth, Rational(1, 100))), Rational(1, 100)),
        lambda: at_most(gaussian_delta(long, classic(long, Rational(1, 100))), Rational(1, 100)),
        {"epsilon": 40},
        needs="erf",
    ),
    Entry(
        "GA-2",
        "Theorem A.1 at delta = 1/100000",
        "The same for a smaller delta.",
        lambda: at_most(gaussian_delta(tenth, classic(tenth, Rational(1, 10**5))), Rational(1, 10**5)),
        lambda: at_most(gaussian_delta(tenth, classic(tenth, Rational(1, 10))), Rational(1, 10**5)),
        {"epsilon": 1},
        needs="erf",
    ),
    Entry(
        "GA-3",
        "the same formula for every epsilon, which the theorem does not claim",
        "It suffices for epsilon up to 50 as well. False.",
        lambda: at_most(gaussian_delta(long, classic(long, Rational(1, 10**5))), Rational(1, 10**5)),
        None,
        {"epsilon": 45},
        needs="erf",
    ),
    Entry(
        "GA-4",
        "the proof, the tail bound",
        "P(Z > x) is at most e^(-x^2/2)/(x sqrt(2 pi)).",
        lambda: at_most(normal_tail(x_pos), exp(-(x_pos**2) / 2) / (x_pos * sqrt(2 * pi))),
        lambda: at_most(normal_tail(x_pos), exp(-(x_pos**2) / 2) / (2 * x_pos * sqrt(2 * pi))),
        {"x": 3},
        needs="erf",
    ),
    Entry(
        "GA-5",
        "the tail bound without the division",
        "P(Z > x) is at most e^(-x^2/2)/2.",
        lambda: at_most(normal_tail(x), exp(-(x**2) / 2) / 2),
        lambda: at_most(normal_tail(x), exp(-(x**2)) / 2),
        {"x": 2},
        needs="erf",
    ),
    Entry(
        "GA-6",
        "the proof, the exponent at c = 3/2",
        "c^2 - epsilon + epsilon^2/(4 c^2) is at least c^2 - 8/9 for epsilon at most 1.",
        lambda: at_most(Rational(9, 4) - Rational(8, 9), Rational(9, 4) - e1 + e1**2 / 9),
        lambda: at_most(c**2 - Rational(8, 9), c**2 - e1 + e1**2 / (4 * c**2)),
        {"epsilon": 1, "c": 3},
    ),
    Entry(
        "GA-7",
        "the proof, the exponent for every c",
        "It is at least c^2 - 1.",
        lambda: at_most(c**2 - 1, c**2 - e1 + e1**2 / (4 * c**2)),
        lambda: at_most(c**2 - Rational(9, 10), c**2 - e1 + e1**2 / (4 * c**2)),
        {"epsilon": 1, "c": 3},
    ),
    Entry(
        "GA-8",
        "the proof, the constant",
        "(2/pi) e^(8/9) is less than 1.55, hence than 1.25^2.",
        lambda: less(2 / pi * exp(Rational(8, 9)), Rational(155, 100)),
        lambda: less(2 / pi * exp(Rational(8, 9)), Rational(154, 100)),
        {},
        needs="pi",
    ),
    Entry(
        "GA-9",
        "the proof, the point where the tail bound starts",
        "c - epsilon/(2 c) is at least 1 for epsilon at most 1 and c at least 3/2.",
        lambda: at_most(1, c - e1 / (2 * c)),
        lambda: at_most(Rational(6, 5), c - e1 / (2 * c)),
        {"epsilon": 1, "c": "3/2"},
    ),
    Entry(
        "GA-10",
        "Balle, Wang (2018), the limit of epsilon = 0",
        "delta = P(|Z| < 1/(2 sigma)) is at most 1/(sigma sqrt(2 pi)).",
        lambda: at_most(erf(1 / (2 * sigma * sqrt(2))), 1 / (sigma * sqrt(2 * pi))),
        lambda: at_most(erf(1 / (2 * sigma * sqrt(2))), 1 / (2 * sigma * sqrt(2 * pi))),
        {"sigma": 1},
        needs="erf",
    ),
)

ENTRIES = [*GROUPS, *BASIC, *KOV, *ADVANCED, *CONCENTRATED, *RENYI, *GAUSSIAN]
