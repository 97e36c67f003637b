"""Counting answers and frequencies: randomised response, RAPPOR, unary encodings, hashing, subsets, Hadamard."""

from sympy import Min, Rational, binomial, exp, log, oo

from ldp_audit.claims import at_most, equal, less
from ldp_audit.mechanisms.channel import Ind, SymbolicChannel
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.mechanisms.weights import SymbolicWeights
from tests.claims.published.entry import Entry, Privacy, published
from tests.claims.published.letters import bit, e, f, k, n, r1, r2, s, t, x

half = Rational(1, 2)


def coin(truth: object, lie: object) -> SymbolicChannel:
    """A bit, reported as 1 with these probabilities where it is 1 and where it is 0."""
    one = bit * truth + (1 - bit) * lie
    return SymbolicChannel("coin", inputs=bit, atoms={1: one, 0: 1 - one})


def two_bits(p: object, q: object) -> SymbolicChannel:
    """Which of two bits is set; a set bit is reported as 1 with probability p, the other one with probability q."""
    first, second = bit * p + (1 - bit) * q, bit * q + (1 - bit) * p
    atoms = {
        3: bit * p * q + (1 - bit) * p * q,
        2: bit * p * (1 - q) + (1 - bit) * q * (1 - p),
        1: bit * (1 - p) * q + (1 - bit) * (1 - q) * p,
        0: 1 - first - second + p * q,
    }
    return SymbolicChannel("two bits", inputs=bit, atoms=atoms)


# Warner: the related question is asked with probability p, its opposite with 1 - p.
p = Variable("p", half, 1, open="left")
share_yes = Variable("pi", 0, 1)
yes = share_yes * p + (1 - share_yes) * (1 - p)
warner_variance = yes * (1 - yes) / (n * (2 * p - 1) ** 2)
p_fair = Variable("p", half, 1)

WARNER = published(
    "Warner (1965)",
    Entry(
        "WR-1",
        "Section 2, the estimator",
        "The estimate of the share is unbiased.",
        lambda: equal((p - 1) / (2 * p - 1) + yes / (2 * p - 1), share_yes),
        lambda: equal((1 - p) / (2 * p - 1) + yes / (2 * p - 1), share_yes),
        {"p": "3/4", "pi": "1/2"},
    ),
    Entry(
        "WR-2",
        "Section 2, the variance",
        "The estimate's variance by the distances of p and pi from one half.",
        lambda: equal(warner_variance, (1 / (16 * (p - half) ** 2) - (share_yes - half) ** 2) / n),
        lambda: equal(warner_variance, (1 / (8 * (p - half) ** 2) - (share_yes - half) ** 2) / n),
        {"p": "3/4", "pi": "1/2", "n": 1},
    ),
    Entry(
        "WR-3",
        "Section 2, the variance in two terms",
        "It is the variance of asking directly plus p (1 - p)/(n (2 p - 1)^2).",
        lambda: equal(warner_variance, share_yes * (1 - share_yes) / n + p * (1 - p) / (n * (2 * p - 1) ** 2)),
        lambda: equal(warner_variance, share_yes * (1 - share_yes) / n + p * (1 - p) / (n * (2 * p - 1))),
        {"p": "3/4", "pi": "1/2", "n": 1},
    ),
    Entry(
        "WR-4",
        "Section 3, comparison",
        "The randomised estimate is never better than truthful answers.",
        lambda: at_most(share_yes * (1 - share_yes) / n, warner_variance),
        lambda: at_most(warner_variance, share_yes * (1 - share_yes) / n + 1 / (4 * n)),
        {"p": "3/5", "pi": "1/2", "n": 2},
    ),
    Entry(
        "WR-5",
        "the design with p = t/(t + 1)",
        "The interview is epsilon-LDP.",
        lambda: Privacy(coin(t / (t + 1), 1 / (t + 1)), t),
        lambda: Privacy(coin(t / (t + 1), 1 / (t + 1)), (t + 1) / 2),
        {"epsilon": 1, "x": 1, "x_prime": 0},
    ),
    Entry(
        "WR-6",
        "the design with p = t/(t + 1)",
        "The price p (1 - p)/(2 p - 1)^2 of the randomisation is t/(t - 1)^2.",
        lambda: equal(t / (t + 1) * (1 - t / (t + 1)) / (2 * t / (t + 1) - 1) ** 2, t / (t - 1) ** 2),
        lambda: equal(t / (t + 1) * (1 - t / (t + 1)) / (2 * t / (t + 1) - 1) ** 2, t / (t**2 - 1)),
        {"epsilon": 1},
    ),
    Entry(
        "WR-7",
        "the design with any p above one half",
        "Any p is epsilon-LDP for epsilon = ln(p/(1 - p)).",
        lambda: Privacy(coin(q_wide, 1 - q_wide), q_wide / (1 - q_wide)),
        lambda: Privacy(coin(q_wide, 1 - q_wide), 1 / (2 * (1 - q_wide))),
        {"p": "3/4", "x": 1, "x_prime": 0},
    ),
)
q_wide = Variable("p", half, 1, open="both")

# RAPPOR: a permanent answer with noise f, then an instantaneous one with q for a set bit and p for the others.
noise = Variable("f", 0, 1, open="both")
p_low = Variable("p", 0, 1, open="right")
q_high = Variable("q", p_low, 1, open="left")
p_in, q_in = Variable("p", 0, 1), Variable("q", 0, 1)
p_mid = Variable("p", 0, 1, open="both")
q_mid = Variable("q", p_mid, 1, open="both")


def star_q(p: object, q: object) -> object:
    """P(the report's bit is 1 | the bit is set)."""
    return noise * (p + q) / 2 + (1 - noise) * q


def star_p(p: object, q: object) -> object:
    """P(the report's bit is 1 | the bit is not set)."""
    return noise * (p + q) / 2 + (1 - noise) * p


count, total = Variable("c", 0, oo), Variable("N", 0, oo)

RAPPOR = published(
    "Erlingsson, Pihur, Korolova (2014)",
    Entry(
        "RP-1",
        "Theorem 1, one hash function",
        "The permanent answer about one of two bits is epsilon-LDP for epsilon = 2 ln((1 - f/2)/(f/2)).",
        lambda: Privacy(two_bits(1 - noise / 2, noise / 2), ((1 - noise / 2) / (noise / 2)) ** 2),
        lambda: Privacy(two_bits(1 - noise / 2, noise / 2), (1 - noise / 2) / (noise / 2)),
        {"f": "1/2", "x": 1, "x_prime": 0},
    ),
    Entry(
        "RP-2",
        "Theorem 1, h hash functions",
        "e**(2 h ln((1 - f/2)/(f/2))) is the 2h-th power of the ratio for one bit.",
        lambda: equal(exp(2 * n * log((1 - noise / 2) / (noise / 2))), ((2 - noise) / noise) ** (2 * n)),
        lambda: equal(exp(2 * n * log((1 - noise / 2) / (noise / 2))), ((2 - noise) / noise) ** n),
        {"f": "1/2", "n": 1},
        needs="symbolic power",
    ),
    Entry(
        "RP-3",
        "Lemma 1, q*",
        "A set bit is reported as 1 with probability f (p + q)/2 + (1 - f) q.",
        lambda: equal((1 - noise / 2) * q_in + noise / 2 * p_in, star_q(p_in, q_in)),
        lambda: equal((1 - noise / 2) * q_in + noise / 2 * p_in, noise * (q_in - p_in) / 2 + (1 - noise) * q_in),
        {"f": "1/2", "p": "1/2", "q": "3/4"},
    ),
    Entry(
        "RP-4",
        "Lemma 1, p*",
        "A bit that is not set is reported as 1 with probability f (p + q)/2 + (1 - f) p.",
        lambda: equal(noise / 2 * q_in + (1 - noise / 2) * p_in, star_p(p_in, q_in)),
        lambda: equal(noise / 2 * q_in + (1 - noise / 2) * p_in, star_q(p_in, q_in)),
        {"f": "1/2", "p": "1/2", "q": "3/4"},
    ),
    Entry(
        "RP-5",
        "Section 4, the denominator",
        "q* - p* = (1 - f)(q - p).",
        lambda: equal(star_q(p_in, q_in) - star_p(p_in, q_in), (1 - noise) * (q_in - p_in)),
        lambda: equal(star_q(p_in, q_in) - star_p(p_in, q_in), (1 - noise / 2) * (q_in - p_in)),
        {"f": "1/2", "p": "1/2", "q": "3/4"},
    ),
    Entry(
        "RP-6",
        "Theorem 2, one hash function",
        "One report is epsilon_1-LDP for epsilon_1 = ln(q* (1 - p*)/(p* (1 - q*))).",
        lambda: Privacy(
            two_bits(star_q(p_mid, q_mid), star_p(p_mid, q_mid)),
            star_q(p_mid, q_mid) * (1 - star_p(p_mid, q_mid)) / (star_p(p_mid, q_mid) * (1 - star_q(p_mid, q_mid))),
        ),
        lambda: Privacy(
            two_bits(star_q(p_mid, q_mid), star_p(p_mid, q_mid)), star_q(p_mid, q_mid) / star_p(p_mid, q_mid)
        ),
        {"f": "1/2", "p": "1/4", "q": "3/4", "x": 1, "x_prime": 0},
    ),
    Entry(
        "RP-7",
        "Section 3.2, one report against many",
        "One report reveals no more than the permanent answer.",
        lambda: at_most(
            star_q(p_low, q_high) * (1 - star_p(p_low, q_high)) * noise**2,
            star_p(p_low, q_high) * (1 - star_q(p_low, q_high)) * (2 - noise) ** 2,
        ),
        lambda: at_most(
            star_q(p_low, q_high) * (1 - star_p(p_low, q_high)) * noise,
            star_p(p_low, q_high) * (1 - star_q(p_low, q_high)) * (2 - noise),
        ),
        {"f": "1/2", "p": 0, "q": 1},
    ),
    Entry(
        "RP-8",
        "Section 4, the estimator",
        "(c - (p + f q/2 - f p/2) N)/((1 - f)(q - p)) is unbiased for the number of clients with the bit set.",
        lambda: equal(
            (
                count * star_q(p_mid, q_mid)
                + (total - count) * star_p(p_mid, q_mid)
                - (p_mid + noise * q_mid / 2 - noise * p_mid / 2) * total
            )
            / ((1 - noise) * (q_mid - p_mid)),
            count,
        ),
        lambda: equal(
            (
                count * star_q(p_mid, q_mid)
                + (total - count) * star_p(p_mid, q_mid)
                - (p_mid + noise * q_mid - noise * p_mid) * total
            )
            / ((1 - noise) * (q_mid - p_mid)),
            count,
        ),
        {"f": "1/2", "p": "1/4", "q": "3/4", "c": 1, "N": 2},
    ),
)

# Pure protocols: support with probability p for the own value, q for the others.
p_star = Variable("p", Variable("q", 0, 1), 1, open="left")
q_star = Variable("q", 0, 1)
variance = (n * f * p_star * (1 - p_star) + n * (1 - f) * q_star * (1 - q_star)) / (p_star - q_star) ** 2
g = Variable("g", 1, oo, open="left")
q_any = Variable("q", 0, 1, open="both")
p_of_q = t * q_any / (1 - q_any + t * q_any)
theta = Variable("theta", half, 1, open="both")
few = Variable("k", 2, 3 * t + 2, open="right")
more = Variable("k", 2, 4 * t + 2, open="right")
many = Variable("k", 3 * t + 2, oo)


def approximate(p: object, q: object) -> object:
    """Var* of a pure protocol, a report: the variance at frequency 0."""
    return q * (1 - q) / (p - q) ** 2


GRR = SymbolicWeights("k-RR", [("truth", 1, t / (t + k - 1)), ("lie", k - 1, 1 / (t + k - 1))])
spread = exp(e * theta / 2)

USENIX = published(
    "Wang, Blocki, Li, Jha (2017)",
    Entry(
        "US-1",
        "Theorem 1",
        "A pure protocol's count is unbiased.",
        lambda: equal((n * f * p_star + n * (1 - f) * q_star - n * q_star) / (p_star - q_star), n * f),
        lambda: equal((n * f * p_star + n * (1 - f) * q_star - n * p_star) / (p_star - q_star), n * f),
        {"n": 1, "f": "1/2", "p": "3/4", "q": "1/4"},
    ),
    Entry(
        "US-2",
        "Theorem 2",
        "Its variance is n q (1 - q)/(p - q)^2 + n f (1 - p - q)/(p - q).",
        lambda: equal(variance, n * approximate(p_star, q_star) + n * f * (1 - p_star - q_star) / (p_star - q_star)),
        lambda: equal(variance, n * approximate(p_star, q_star) + n * f * (1 - p_star + q_star) / (p_star - q_star)),
        {"n": 1, "f": "1/2", "p": "3/4", "q": "1/4"},
    ),
    Entry(
        "US-3",
        "direct encoding, the definition",
        "The probabilities of k-RR add up to 1.",
        lambda: equal(t / (t + k - 1) + (k - 1) / (t + k - 1), 1),
        lambda: equal(t / (t + k - 1) + k / (t + k - 1), 1),
        {"epsilon": 1, "k": 2},
    ),
    Entry(
        "US-4",
        "direct encoding, privacy",
        "k-RR is epsilon-LDP for every k.",
        lambda: Privacy(GRR, t),
        lambda: Privacy(GRR, (t + 1) / 2),
        {"epsilon": 1, "k": 2},
    ),
    Entry(
        "US-5",
        "direct encoding, variance",
        "Var* = (k - 2 + t)/(t - 1)^2 a report.",
        lambda: equal(approximate(t / (t + k - 1), 1 / (t + k - 1)), (k - 2 + t) / (t - 1) ** 2),
        lambda: equal(approximate(t / (t + k - 1), 1 / (t + k - 1)), (k - 1 + t) / (t - 1) ** 2),
        {"epsilon": 1, "k": 2},
    ),
    Entry(
        "US-6",
        "symmetric unary encoding, privacy",
        "p = s/(s + 1), q = 1 - p have p (1 - q)/(q (1 - p)) = e**epsilon.",
        lambda: equal((s / (s + 1)) * (s / (s + 1)) / ((1 / (s + 1)) * (1 / (s + 1))), t),
        lambda: equal((s / (s + 1)) * (s / (s + 1)) / ((1 / (s + 1)) * (1 / (s + 1))), t - 1),
        {"epsilon": 1},
        needs="t and s linked",
    ),
    Entry(
        "US-7",
        "symmetric unary encoding, variance",
        "Var* = s/(s - 1)^2 a report.",
        lambda: equal(approximate(s / (s + 1), 1 / (s + 1)), s / (s - 1) ** 2),
        lambda: equal(approximate(s / (s + 1), 1 / (s + 1)), s / (s**2 - 1)),
        {"epsilon": 1},
    ),
    Entry(
        "US-8",
        "optimised unary encoding, privacy",
        "p = 1/2, q = 1/(t + 1) on two bits is epsilon-LDP.",
        lambda: Privacy(two_bits(half, 1 / (t + 1)), t),
        lambda: Privacy(two_bits(half, 1 / (t + 2)), t),
        {"epsilon": 1, "x": 1, "x_prime": 0},
    ),
    Entry(
        "US-9",
        "optimised unary encoding, variance",
        "Var* = 4 t/(t - 1)^2 a report.",
        lambda: equal(approximate(half, 1 / (t + 1)), 4 * t / (t - 1) ** 2),
        lambda: equal(approximate(half, 1 / (t + 1)), 4 * t / (t + 1) ** 2),
        {"epsilon": 1},
    ),
    Entry(
        "US-10",
        "optimised unary encoding, optimality",
        "No unary encoding of the same epsilon has a smaller Var*.",
        lambda: at_most(4 * t / (t - 1) ** 2, approximate(p_of_q, q_any)),
        lambda: at_most(5 * t / (t - 1) ** 2, approximate(p_of_q, q_any)),
        {"t": 3, "q": "1/4"},
    ),
    Entry(
        "US-11",
        "local hashing, variance",
        "With g hash values Var* = (t - 1 + g)^2/((t - 1)^2 (g - 1)) a report.",
        lambda: equal(approximate(t / (t + g - 1), 1 / g), (t - 1 + g) ** 2 / ((t - 1) ** 2 * (g - 1))),
        lambda: equal(approximate(t / (t + g - 1), 1 / g), (t - 1 + g) ** 2 / ((t - 1) ** 2 * g)),
        {"epsilon": 1, "g": 2},
    ),
    Entry(
        "US-12",
        "optimised local hashing, optimality",
        "No g does better than 4 t/(t - 1)^2.",
        lambda: at_most(4 * t / (t - 1) ** 2, (t - 1 + g) ** 2 / ((t - 1) ** 2 * (g - 1))),
        lambda: at_most((4 * t + 1) / (t - 1) ** 2, (t - 1 + g) ** 2 / ((t - 1) ** 2 * (g - 1))),
        {"t": 2, "g": 3},
    ),
    Entry(
        "US-13",
        "optimised local hashing, the optimum",
        "g = t + 1 attains it.",
        lambda: equal((t - 1 + (t + 1)) ** 2 / ((t - 1) ** 2 * ((t + 1) - 1)), 4 * t / (t - 1) ** 2),
        lambda: equal((t - 1 + (t + 2)) ** 2 / ((t - 1) ** 2 * ((t + 2) - 1)), 4 * t / (t - 1) ** 2),
        {"epsilon": 1},
    ),
    Entry(
        "US-14",
        "binary local hashing",
        "g = 2 has Var* = (t + 1)^2/(t - 1)^2.",
        lambda: equal(approximate(t / (t + 1), half), (t + 1) ** 2 / (t - 1) ** 2),
        lambda: equal(approximate(t / (t + 1), half), (t + 1) / (t - 1)),
        {"epsilon": 1},
    ),
    Entry(
        "US-15",
        "Table 1, SUE against OUE",
        "Optimising the unary encoding never loses.",
        lambda: at_most(4 * s**2 / (s**2 - 1) ** 2, s / (s - 1) ** 2),
        lambda: at_most(s / (s - 1) ** 2, 4 * s**2 / (s**2 - 1) ** 2),
        {"epsilon": 2},
    ),
    Entry(
        "US-16",
        "Table 1, SUE against OUE, in t and s",
        "The same with OUE's variance written in e**epsilon.",
        lambda: less(4 * t / (t - 1) ** 2, s / (s - 1) ** 2),
        lambda: less(5 * t / (t - 1) ** 2, s / (s - 1) ** 2),
        {"epsilon": "1/10"},
        needs="t and s linked",
    ),
    Entry(
        "US-17",
        "Table 1, BLH against OLH",
        "More hash values than two help.",
        lambda: less(4 * t / (t - 1) ** 2, (t + 1) ** 2 / (t - 1) ** 2),
        lambda: less(4 * t / (t - 1) ** 2, (t - 1) ** 2 / (t + 1) ** 2),
        {"epsilon": 1},
    ),
    Entry(
        "US-18",
        "DE against OUE, few values",
        "Below 3 t + 2 values direct encoding has the smaller variance.",
        lambda: less((few - 2 + t) / (t - 1) ** 2, 4 * t / (t - 1) ** 2),
        lambda: less((more - 2 + t) / (t - 1) ** 2, 4 * t / (t - 1) ** 2),
        {"t": 2, "k": 9},
    ),
    Entry(
        "US-19",
        "DE against OUE, many values",
        "From 3 t + 2 values on it has not.",
        lambda: at_most(4 * t / (t - 1) ** 2, (many - 2 + t) / (t - 1) ** 2),
        lambda: less(4 * t / (t - 1) ** 2, (many - 2 + t) / (t - 1) ** 2),
        {"t": 2, "k": 8},
    ),
    Entry(
        "US-20",
        "thresholding with histogram encoding",
        "Var* = (2 e^(epsilon theta/2) - 1)/(1 + e^(epsilon (theta - 1/2)) - 2 e^(epsilon theta/2))^2.",
        lambda: equal(
            approximate(1 - exp(e / 2 * (theta - 1)) / 2, exp(-e * theta / 2) / 2),
            (2 * spread - 1) / (1 + exp(e * (theta - half)) - 2 * spread) ** 2,
        ),
        lambda: equal(
            approximate(1 - exp(e / 2 * (theta - 1)) / 2, exp(-e * theta / 2) / 2),
            (2 * spread - 1) / (1 + exp(e * (theta + half)) - 2 * spread) ** 2,
        ),
        {"epsilon": 1, "theta": "3/4"},
        needs="exp",
    ),
    Entry(
        "US-21",
        "summation with histogram encoding against OUE",
        "OUE's variance is at most half of the Laplace histogram's 8/epsilon^2.",
        lambda: at_most(4 * t / (t - 1) ** 2, 4 / e**2),
        lambda: at_most(4 * t / (t - 1) ** 2, 3 / e**2),
        {"epsilon": "1/10"},
        needs="epsilon and t",
    ),
)

# Kairouz et al.: extremal mechanisms; the k-RR and k-RAPPOR risks.
b = Variable("b", 0, 1)
squares = Variable("S", 1 / k, 1)
p_i = Variable("p_i", 0, 1)
krr_risk = ((t + k - 1) / (t - 1)) ** 2 * (1 - ((t - 1) ** 2 * squares + 2 * (t - 1) + k) / (t + k - 1) ** 2) / n
rappor_i = (p_i * (s - 1) + 1) / (s + 1)
three = Variable("x", 0, 2, integer=True)

KAIROUZ = published(
    "Kairouz, Oh, Viswanath (2014); Kairouz, Bonawitz, Ramage (2016)",
    Entry(
        "KR-1",
        "2014, total variation of a binary mechanism",
        "An epsilon-LDP bit separates two inputs by at most (t - 1)/(t + 1).",
        lambda: at_most(Min(t * b, 1 - (1 - b) / t) - b, (t - 1) / (t + 1)),
        lambda: at_most(Min(t * b, 1 - (1 - b) / t) - b, (t - 1) / (t + 2)),
        {"t": 2, "b": "1/3"},
        needs="Max or Min",
    ),
    Entry(
        "KR-2",
        "2014, Kullback-Leibler divergence of randomised response",
        "It is epsilon (t - 1)/(t + 1).",
        lambda: equal(t / (1 + t) * log(t) + 1 / (1 + t) * log(1 / t), e * (t - 1) / (t + 1)),
        lambda: equal(t / (1 + t) * log(t) + 1 / (1 + t) * log(1 / t), e * (t - 1) / t),
        {"epsilon": 1},
        needs="log",
    ),
    Entry(
        "KR-3",
        "2014, the high-privacy regime",
        "That divergence is at most epsilon^2/2.",
        lambda: at_most(e * (t - 1) / (t + 1), e**2 / 2),
        lambda: at_most(e * (t - 1) / (t + 1), e**2 / 3),
        {"epsilon": 1},
        needs="epsilon and t",
    ),
    Entry(
        "KR-4",
        "2014, randomised response on three values",
        "It is epsilon-LDP.",
        lambda: Privacy(
            SymbolicChannel(
                "3-RR", inputs=three, atoms={i: (1 + (t - 1) * Ind(three, i)) / (t + 2) for i in (0, 1, 2)}
            ),
            t,
        ),
        lambda: Privacy(
            SymbolicChannel(
                "3-RR", inputs=three, atoms={i: (1 + (t - 1) * Ind(three, i)) / (t + 2) for i in (0, 1, 2)}
            ),
            (2 * t + 1) / 3,
        ),
        {"epsilon": 1, "x": 1, "x_prime": 0},
        needs="indicator",
    ),
    Entry(
        "KR-5",
        "2016, risk of k-RR",
        "The squared error is (1 - sum p^2)/n + (k - 1)(k + 2 (t - 1))/(n (t - 1)^2).",
        lambda: equal(krr_risk, (1 - squares) / n + (k - 1) * (k + 2 * (t - 1)) / (n * (t - 1) ** 2)),
        lambda: equal(krr_risk, (1 - squares) / n + (k - 1) * (k + (t - 1)) / (n * (t - 1) ** 2)),
        {"epsilon": 1, "k": 3, "n": 1, "S": "1/2"},
    ),
    Entry(
        "KR-6",
        "2016, risk of k-RAPPOR, one symbol",
        "A symbol adds p_i (1 - p_i) + s/(s - 1)^2.",
        lambda: equal(rappor_i * (1 - rappor_i) / ((s - 1) / (s + 1)) ** 2, p_i * (1 - p_i) + s / (s - 1) ** 2),
        lambda: equal(rappor_i * (1 - rappor_i) / ((s - 1) / (s + 1)) ** 2, p_i * (1 - p_i) + s**2 / (s - 1) ** 2),
        {"epsilon": 1, "p_i": "1/2"},
    ),
    Entry(
        "KR-7",
        "2016, the low-privacy regime",
        "For t at least k the k-RR risk exceeds the error without privacy by at most 3 k/(n (t - 1)).",
        lambda: at_most(krr_risk.subs(t, large), (1 - squares) / n + 3 * k / (n * (large - 1))),
        lambda: at_most(krr_risk.subs(t, large), (1 - squares) / n + 2 * k / (n * (large - 1))),
        {"k": 20, "t_big": 20, "n": 1, "S": "1/2"},
    ),
    Entry(
        "KR-8",
        "2014, two-fold randomised response as one channel",
        "Two answers with e**epsilon_1 and e**epsilon_2 are epsilon_1 + epsilon_2 together.",
        lambda: Privacy(pair_of_answers(r1, r2), r1 * r2),
        lambda: Privacy(pair_of_answers(r1, r2), (r1 * r2 + r1) / 2),
        {"t_1": 2, "t_2": 2, "x": 1, "x_prime": 0},
    ),
)
large = Variable("t_big", k, oo)


def pair_of_answers(first: object, second: object) -> SymbolicChannel:
    """One bit, asked twice, by randomised responses of two ratios."""
    law = {}
    for i, one in enumerate((first, 1)):
        for j, two in enumerate((second, 1)):
            if_set, if_not = one * two, first * second / (one * two)
            law[2 * i + j] = (bit * if_set + (1 - bit) * if_not) / ((first + 1) * (second + 1))
    return SymbolicChannel("two answers", inputs=bit, atoms=law)


# Subset selection: a subset of d of the k values, which holds the own one more often.
d = Variable("d", 1, k - 1, integer=True)
d_real = Variable("d", 0, k, open="both")
inside = d * t / (d * t + k - d)
other = (t * d * (d - 1) + d * (k - d)) / ((k - 1) * (d * t + k - d))
uniform = k * (d / k) * (1 - d / k) / (n * (inside - other) ** 2)


def subsets(size: int, chosen: int) -> SymbolicWeights:
    """Subset selection at given sizes."""
    norm = t * binomial(size - 1, chosen - 1) + binomial(size - 1, chosen)
    return SymbolicWeights(
        "subset",
        [
            ("with the value", binomial(size - 1, chosen - 1), t / norm),
            ("without", binomial(size - 1, chosen), 1 / norm),
        ],
    )


SUBSET = published(
    "Ye, Barg (2018); Wang et al. (2016)",
    Entry(
        "SS-1",
        "the mechanism at k = 6, d = 2",
        "It is epsilon-LDP.",
        lambda: Privacy(subsets(6, 2), t),
        lambda: Privacy(subsets(6, 2), t / 2 + 1 / (2 * t)),
        {"epsilon": 1},
    ),
    Entry(
        "SS-2",
        "the probability that the subset holds the value",
        "t C(k-1, d-1)/(t C(k-1, d-1) + C(k-1, d)) = d t/(d t + k - d).",
        lambda: equal(
            t * binomial(k - 1, d - 1) / (t * binomial(k - 1, d - 1) + binomial(k - 1, d)), d * t / (d * t + k - d)
        ),
        lambda: equal(t * binomial(k - 1, d - 1) / (t * binomial(k - 1, d - 1) + binomial(k - 1, d)), d * t / (t + k)),
        {"epsilon": 1, "k": 4, "d": 2},
        needs="binomial",
    ),
    Entry(
        "SS-3",
        "the expected size",
        "The inclusion probabilities of the values add up to d.",
        lambda: equal(inside + (k - 1) * other, d),
        lambda: equal(inside + k * other, d),
        {"epsilon": 1, "k": 4, "d": 2},
    ),
    Entry(
        "SS-4",
        "the gap of the inclusion probabilities",
        "It is d (k - d)(t - 1)/((k - 1)(d t + k - d)).",
        lambda: equal(inside - other, d * (k - d) * (t - 1) / ((k - 1) * (d * t + k - d))),
        lambda: equal(inside - other, d * (k - d) * (t - 1) / (k * (d * t + k - d))),
        {"epsilon": 1, "k": 4, "d": 2},
    ),
    Entry(
        "SS-5",
        "subsets of one",
        "At d = 1 it is k-RR.",
        lambda: equal(inside.subs(d, 1), t / (t + k - 1)),
        lambda: equal(inside.subs(d, 1), t / (t + k)),
        {"epsilon": 1, "k": 4},
    ),
    Entry(
        "SS-6",
        "the risk at the uniform distribution",
        "(k - 1)^2 (d t + k - d)^2/(n k d (k - d)(t - 1)^2).",
        lambda: equal(uniform, (k - 1) ** 2 * (d * t + k - d) ** 2 / (n * k * d * (k - d) * (t - 1) ** 2)),
        lambda: equal(uniform, (k - 1) * (d * t + k - d) ** 2 / (n * d * (k - d) * (t - 1) ** 2)),
        {"epsilon": 1, "k": 4, "d": 2, "n": 1},
    ),
    Entry(
        "SS-7",
        "the best size",
        "(d t + k - d)^2/(d (k - d)) is at least 4 t for every size.",
        lambda: at_most(4 * t, (d_real * t + k - d_real) ** 2 / (d_real * (k - d_real))),
        lambda: at_most(4 * t + 1, (d_real * t + k - d_real) ** 2 / (d_real * (k - d_real))),
        {"t": 2, "k": 3, "d": 1},
    ),
    Entry(
        "SS-8",
        "the best size, attained",
        "d = k/(t + 1) has exactly 4 t.",
        lambda: equal((k / (t + 1) * t + k - k / (t + 1)) ** 2 / (k / (t + 1) * (k - k / (t + 1))), 4 * t),
        lambda: equal((k / (t + 1) * t + k - k / (t + 1)) ** 2 / (k / (t + 1) * (k - k / (t + 1))), 4 * t**2),
        {"t": 2, "k": 3},
    ),
    Entry(
        "SS-9",
        "against k-RR",
        "Single values are never better than the best size.",
        lambda: at_most(4 * t, (t + k - 1) ** 2 / (k - 1)),
        lambda: at_most(4 * t + k, (t + k - 1) ** 2 / (k - 1)),
        {"t": 2, "k": 3},
    ),
)

# Hadamard response: K outputs, half of them more likely.
size = Variable("K", 2, oo, integer=True)
part = Variable("z", 1, size - 1, integer=True)
seen = t / (t + 1) * f + (1 - f) * half
r = Variable("r", 0, 1)

HADAMARD = published(
    "Acharya, Sun, Zhang (2019)",
    Entry(
        "HR-1",
        "Section 3, the channel",
        "Half of the outputs at 2 t/(K (t + 1)), half at 2/(K (t + 1)) is epsilon-LDP for every K.",
        lambda: Privacy(hadamard(), t),
        lambda: Privacy(hadamard(), (t + 3) / 4),
        {"epsilon": 1, "K": 2},
    ),
    Entry(
        "HR-2",
        "Section 3, the estimator",
        "2 (t + 1)/(t - 1) (P(C_x) - 1/2) is unbiased.",
        lambda: equal(2 * (t + 1) / (t - 1) * (seen - half), f),
        lambda: equal((t + 1) / (t - 1) * (seen - half), f),
        {"epsilon": 1, "f": "1/2"},
    ),
    Entry(
        "HR-3",
        "Section 3, the error of one symbol",
        "Its variance is at most (t + 1)^2/(t - 1)^2.",
        lambda: at_most(4 * (t + 1) ** 2 / (t - 1) ** 2 * r * (1 - r), (t + 1) ** 2 / (t - 1) ** 2),
        lambda: at_most(4 * (t + 1) ** 2 / (t - 1) ** 2 * r * (1 - r), (t + 1) / (t - 1)),
        {"epsilon": 1, "r": "1/2"},
    ),
    Entry(
        "HR-4",
        "Section 4, sets of any size",
        "A set that shares half with the own one is hit with probability z (t + 1)/(2 (z t + K - z)).",
        lambda: equal(
            (part / 2 * t + part / 2) / (part * t + size - part), part * (t + 1) / (2 * (part * t + size - part))
        ),
        lambda: equal((part / 2 * t + part / 2) / (part * t + size - part), (t + 1) / (2 * (t + size - part))),
        {"epsilon": 1, "K": 4, "z": 2},
    ),
    Entry(
        "HR-5",
        "Section 4, sets of any size, the gap",
        "The own set is hit more often by z (t - 1)/(2 (z t + K - z)).",
        lambda: equal(
            part * t / (part * t + size - part) - part * (t + 1) / (2 * (part * t + size - part)),
            part * (t - 1) / (2 * (part * t + size - part)),
        ),
        lambda: equal(
            part * t / (part * t + size - part) - part * (t + 1) / (2 * (part * t + size - part)),
            part * (t - 1) / (part * t + size - part),
        ),
        {"epsilon": 1, "K": 4, "z": 2},
    ),
    Entry(
        "HR-6",
        "Section 4, the normalisation",
        "z outputs at t and K - z at 1 add up to 1.",
        lambda: equal((part * t + (size - part)) / (part * t + size - part), 1),
        lambda: equal((part * t + size) / (part * t + size - part), 1),
        {"epsilon": 1, "K": 4, "z": 2},
    ),
)


def hadamard() -> SymbolicWeights:
    """Hadamard response in the high-privacy regime."""
    likely, rare = 2 * t / (size * (t + 1)), 2 / (size * (t + 1))
    return SymbolicWeights("Hadamard", [("in the set", size / 2, likely), ("outside", size / 2, rare)])


# Key and value: the key's presence by randomised response, the value to +-1 and flipped.
presence = Variable("b", 0, 1, integer=True)
kept = presence * r1 / (r1 + 1) + (1 - presence) / (r1 + 1)
up = half + x / 2 * (r2 - 1) / (r2 + 1)
p_key = Variable("p", half, 1, open="left")
key_value = SymbolicChannel("PrivKV", inputs=[presence, x], atoms={2: kept * up, -2: kept * (1 - up), 0: 1 - kept})

PRIVKV = published(
    "Ye, Hu, Meng, Zheng (2019)",
    Entry(
        "KV-1",
        "local perturbation, privacy",
        "It is (epsilon_1 + epsilon_2)-LDP.",
        lambda: Privacy(key_value, r1 * r2),
        lambda: Privacy(key_value, (r1 * r2 + r2) / 2),
        {"t_1": 2, "t_2": 2, "b": 1, "b_prime": 0, "x": 1, "x_prime": -1},
    ),
    Entry(
        "KV-2",
        "value perturbation",
        "The value's two-point report is epsilon_2-LDP.",
        lambda: Privacy(SymbolicChannel("VPP", inputs=x, atoms={1: up, -1: 1 - up}), r2),
        lambda: Privacy(SymbolicChannel("VPP", inputs=x, atoms={1: up, -1: 1 - up}), (r2 + 1) / 2),
        {"t_2": 2, "x": 1, "x_prime": -1},
    ),
    Entry(
        "KV-3",
        "value perturbation, the mean",
        "(t_2 + 1)/(t_2 - 1) times the report is unbiased.",
        lambda: equal((2 * up - 1) * (r2 + 1) / (r2 - 1), x),
        lambda: equal((2 * up - 1) * (r2 - 1) / (r2 + 1), x),
        {"t_2": 2, "x": 1},
    ),
    Entry(
        "KV-4",
        "key frequency, calibration",
        "(p - 1 + observed)/(2 p - 1) is unbiased.",
        lambda: equal((p_key - 1 + f * p_key + (1 - f) * (1 - p_key)) / (2 * p_key - 1), f),
        lambda: equal((p_key - 1 + f * p_key + (1 - f) * (1 - p_key)) / (2 * p_key + 1), f),
        {"p": "3/4", "f": "1/2"},
    ),
)

# Industry: one bit of telemetry, and counts by coarse.
top = Variable("M", 0, oo, open="left")
reading = Variable("x", 0, top)
bit_mean = 1 / (t + 1) + reading / top * (t - 1) / (t + 1)
bound = (s + 1) / (s - 1)

TELEMETRY = published(
    "Ding, Kulkarni, Yekhanin (2017)",
    Entry(
        "DK-1",
        "Section 2, 1BitMean",
        "The bit is epsilon-LDP.",
        lambda: Privacy(
            SymbolicChannel("1BitMean", inputs=reading, atoms={1: bit_mean, 0: 1 - bit_mean}, public=top), t
        ),
        lambda: Privacy(
            SymbolicChannel("1BitMean", inputs=reading, atoms={1: bit_mean, 0: 1 - bit_mean}, public=top), t - 1
        ),
        {"t": "3/2", "M": 1, "x": 1, "x_prime": 0},
    ),
    Entry(
        "DK-2",
        "Section 2, 1BitMean, the estimator",
        "M (b (t + 1) - 1)/(t - 1) is unbiased.",
        lambda: equal(top * (bit_mean * (t + 1) - 1) / (t - 1), reading),
        lambda: equal(top * (bit_mean * (t + 1) - 1) / (t + 1), reading),
        {"epsilon": 1, "M": 1, "x": 1},
    ),
    Entry(
        "DK-3",
        "Section 2, 1BitMean, the variance",
        "The estimate of one client has variance at most M^2 (t + 1)^2/(4 (t - 1)^2).",
        lambda: at_most(
            top**2 * (t + 1) ** 2 / (t - 1) ** 2 * bit_mean * (1 - bit_mean),
            top**2 * (t + 1) ** 2 / (4 * (t - 1) ** 2),
        ),
        lambda: at_most(
            top**2 * (t + 1) ** 2 / (t - 1) ** 2 * bit_mean * (1 - bit_mean),
            top**2 * (t + 1) ** 2 / (5 * (t - 1) ** 2),
        ),
        {"epsilon": 1, "M": 2, "x": 1},
    ),
    Entry(
        "DK-4",
        "Section 3, dBitFlip",
        "A bit with s/(s + 1) is epsilon/2-LDP, two of them epsilon-LDP.",
        lambda: Privacy(two_bits(s / (s + 1), 1 / (s + 1)), t),
        lambda: Privacy(two_bits(s / (s + 1), 1 / (s + 1)), s),
        {"epsilon": 1, "x": 1, "x_prime": 0},
        needs="t and s linked",
    ),
)

APPLE = published(
    "Differential Privacy Team, Apple (2017)",
    Entry(
        "AP-1",
        "count mean coarse_loss, the flip",
        "1/(1 + s) flips, c = (s + 1)/(s - 1) undoes: c (1 - 2/(1 + s)) = 1.",
        lambda: equal(bound * (1 - 2 / (1 + s)), 1),
        lambda: equal(bound * (1 - 1 / (1 + s)), 1),
        {"epsilon": 1},
    ),
    Entry(
        "AP-2",
        "count mean coarse_loss, the variance",
        "(c^2 - 1)/4 = s/(s - 1)^2.",
        lambda: equal((bound**2 - 1) / 4, s / (s - 1) ** 2),
        lambda: equal((bound**2 - 1) / 2, s / (s - 1) ** 2),
        {"epsilon": 1},
    ),
    Entry(
        "AP-3",
        "Hadamard count mean coarse_loss",
        "One bit with t/(t + 1) has c = (t + 1)/(t - 1), at most that of CMS.",
        lambda: at_most((t + 1) / (t - 1), (s + 1) / (s - 1)),
        lambda: at_most((s + 1) / (s - 1), (t + 1) / (t - 1)),
        {"epsilon": 1},
        needs="t and s linked",
    ),
)

ENTRIES = [*WARNER, *RAPPOR, *USENIX, *KAIROUZ, *SUBSET, *HADAMARD, *PRIVKV, *TELEMETRY, *APPLE]
