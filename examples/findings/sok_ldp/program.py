"""sok-ldp-data-analysis: mechanisms for frequencies and means."""

import os
import sys
from functools import partial
from itertools import combinations
from math import e, exp

from finding import Library, epsilon_of, independent_bits, sampler

LIBRARY = Library(
    "sok-ldp-data-analysis",
    "",
    (),
    "numpy",
    checkout="mad-lab-fau/sok-ldp-data-analysis@df6372a45b9c98ae093cc48afe43c9b5aff29f33",
)
FOLDER = "sok_ldp_analysis/ldp"
P = exp(0.5) / (exp(0.5) + 1)


def responses(method, x, n, rng):
    """n responses of a frequency method that is made with rng, eight values, epsilon 1."""
    from numpy import full

    return method(1.0, 8, rng=rng).response(full(n, x))


def means(method, x, n, rng):
    """n reports of a mean method that is made with rng, for numbers in [-1, 1], epsilon 1."""
    from numpy import full

    return method(1.0, (-1.0, 1.0), rng=rng).mechanism(full(n, x))


def module(name):
    """A module of the local copy."""
    from importlib import import_module

    if os.environ["FINDING_CHECKOUT"] not in sys.path:
        sys.path.insert(0, os.environ["FINDING_CHECKOUT"])
    return import_module(f"sok_ldp_analysis.ldp.{name}")


def shifted(x):
    """Weights of the 28 pairs of eight values as the code draws them: x, or x + 1, ..., x + 6, but never x - 1."""
    kept, others = 2 * e / (2 * e + 6), [(x + i) % 8 for i in range(7)]
    weights = dict.fromkeys(combinations(range(8), 2), 0.0) | dict.fromkeys(((i,) for i in range(8)), 0.0)
    for one in others:  # the value was kept, and one more of the seven is drawn, perhaps the value again
        weights[tuple(sorted({x, one}))] += kept / 7
    for pair in combinations(others, 2):
        weights[tuple(sorted(pair))] += (1 - kept) / 21
    return list(weights.values())


@sampler(
    title="k-subset",
    claim="epsilon 1, eight values",
    place=f"{FOLDER}/distribution/frequency/k_subset.py: KSubset.response",
    inputs=(0, 1),
    epsilon=1.0,
    samples=50_000,
    expected="violated",
    exact=lambda: epsilon_of([shifted(0), shifted(1)]),
    exact_by="all pairs and single values that the code's two draws give",
    proof="The other elements are drawn from 0 to d - 2 and shifted by the value t modulo d: that excludes t - 1, where t is meant. So the response to t never "
    "has t - 1 in it. For d = 8 the response to 1 never has 0 in it, and that to 0 has it with probability 0.625: epsilon is infinite.",
    fix="idx = (idx + t[i] + 1) % self.domain_size.",
    status="Research code of a paper's simulations; nothing is said of the paper's theorems.",
)
def k_subset():
    return partial(responses, module("distribution.frequency.k_subset").KSubset)


@sampler(
    title="method of Nguyen et al. (2016)",
    claim="epsilon 1, eight values",
    place=f"{FOLDER}/distribution/frequency/nguyen2016.py: Nguyen2016FO.response",
    inputs=(0, 1),
    epsilon=1.0,
    samples=50_000,
    expected="violated",
    exact=lambda: epsilon_of([[1, 0], [0, 1]]),
    exact_by="the entry that is reported for a row s in which the two values differ",
    proof="`alpha[t] = -alpha[t]` has an array t of zeros and ones that are integers, not booleans: it negates alpha[0] and alpha[1], the first two clients' "
    "reports. All others report their value's entry in row s of the matrix, s being random and reported too, without noise: epsilon is infinite. "
    "(With t as booleans the sign would be flipped with probability e/(e + 1), which is private.)",
    fix="t = t.astype(bool) before it is used as an index; and flip with probability 1/(e^epsilon + 1), so that the estimate is not negated.",
    status="Research code of a paper's simulations; nothing is said of the paper's theorems.",
)
def nguyen():
    from numpy import column_stack

    method = module("distribution.frequency.nguyen2016").Nguyen2016FO
    return lambda x, n, rng: column_stack(responses(method, x, n + 2, rng))[2:]


@sampler(
    title="randomised response",
    claim="epsilon 1, eight values",
    place=f"{FOLDER}/distribution/frequency/d_randomized_response.py: DRandomizedResponse.response",
    inputs=(0, 1),
    epsilon=1.0,
    samples=100_000,
    expected="consistent",
    exact=lambda: epsilon_of([[e if x == y else 1 for y in range(8)] for x in range(2)]),
    exact_by="p = e/(e + 7), q = 1/(e + 7)",
    proof="The value has e times the probability of each other one.",
)
def response():
    return partial(responses, module("distribution.frequency.d_randomized_response").DRandomizedResponse)


@sampler(
    title="Duchi's one-hot vectors",
    claim="epsilon 1, eight values",
    place=f"{FOLDER}/distribution/frequency/duchi2013.py: Duchi2013.response",
    inputs=(0, 1),
    epsilon=1.0,
    samples=50_000,
    expected="consistent",
    exact=lambda: epsilon_of([independent_bits([P if x == y else 1 - P for y in range(8)]) for x in range(2)]),
    exact_by="eight independent bits, each flipped with probability 1/(e^0.5 + 1)",
    proof="Two bits differ between two values, each with ratio e^0.5.",
)
def duchi_vectors():
    return partial(responses, module("distribution.frequency.duchi2013").Duchi2013)


@sampler(
    title="Duchi's two points",
    claim="epsilon 1 for numbers in [-1, 1]",
    place=f"{FOLDER}/mean/wang2019.py: Wang2019Duchi1D.mechanism",
    inputs=(-1.0, 0.0, 1.0),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of([[e, 1], [1, e]]),
    exact_by="the upper point with probability 1/(e + 1) to e/(e + 1)",
    proof="The upper point's probability is linear in the number, and has the ratio e at the ends.",
)
def two_points():
    return partial(means, module("mean.wang2019").Wang2019Duchi1D)


@sampler(
    title="piecewise mechanism",
    claim="epsilon 1 for numbers in [-1, 1]",
    place=f"{FOLDER}/mean/wang2019.py: Wang2019Piecewise1D.mechanism",
    inputs=(-1.0, 0.0, 1.0),
    epsilon=1.0,
    numeric=True,
    expected="consistent",
    exact=lambda: 1.0,
    exact_by="two densities, e apart",
    proof="The density near the number is e times that elsewhere.",
)
def piecewise():
    return partial(means, module("mean.wang2019").Wang2019Piecewise1D)


@sampler(
    title="hybrid mechanism",
    claim="epsilon 1 for numbers in [-1, 1]",
    place=f"{FOLDER}/mean/wang2019.py: Wang2019Hybrid1D.mechanism",
    inputs=(-1.0, 0.0, 1.0),
    epsilon=1.0,
    numeric=True,
    expected="consistent",
    exact=lambda: 1.0,
    exact_by="a mixture of two mechanisms of epsilon 1, by a coin that does not depend on the number",
    proof="The piecewise mechanism or the two points, by a coin that does not depend on the number.",
)
def hybrid():
    return partial(means, module("mean.wang2019").Wang2019Hybrid1D)


@sampler(
    title="one bit of Ding et al. (2017)",
    claim="epsilon 1 for numbers in [-1, 1]",
    place=f"{FOLDER}/mean/ding2017.py: Ding2017.mechanism",
    inputs=(-1.0, 1.0),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of([[e, 1], [1, e]]),
    exact_by="the bit is 1 with probability 1/(e + 1) to e/(e + 1)",
    proof="The bit's probability is linear in the number, and has the ratio e at the ends.",
)
def one_bit():
    return partial(means, module("mean.ding2017").Ding2017)
