"""OpenDP 0.16.0: its local randomisers and noise."""

from math import e

from finding import Library, epsilon_of, formula, gaussian_epsilon, sampler

LIBRARY = Library("OpenDP", "0.16.0", ("opendp==0.16.0",), "opendp.prelude")
PLACE = "opendp/measurements.py: "


def measurements():
    """The library with the features that its local randomisers need."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


@sampler(
    title="randomised response of a bit",
    claim="map(1) = ln 3 for prob = 0.75",
    place=f"{PLACE}make_randomized_response_bool",
    inputs=(False, True),
    epsilon=1.0986122886681098,
    expected="consistent",
    exact=lambda: epsilon_of([[3, 1], [1, 3]]),
    exact_by="the bit with probability 3/4",
    proof="The bit is kept with probability 3/4: 3/4 : 1/4 = 3.",
)
def response_of_a_bit():
    return measurements().m.make_randomized_response_bool(prob=0.75)


@sampler(
    title="randomised response of four categories",
    claim="map(1) = 1 for prob = e/(e + 3)",
    place=f"{PLACE}make_randomized_response",
    inputs=("a", "b", "c", "d"),
    epsilon=1.0,
    samples=50_000,
    expected="consistent",
    exact=lambda: epsilon_of([[e if x == y else 1 for y in range(4)] for x in range(4)]),
    exact_by="p = e/(e + 3), q = 1/(e + 3)",
    proof="The category is kept with probability e/(e + 3), else one of the other three is reported.",
)
def response():
    return measurements().m.make_randomized_response(["a", "b", "c", "d"], prob=e / (e + 3))


@sampler(
    title="Laplace noise on a float",
    claim="map(1.) = 1 for scale = 1",
    place=f"{PLACE}make_laplace",
    inputs=(0.0, 1.0),
    epsilon=1.0,
    numeric=True,
    expected="consistent",
    exact=lambda: 1.0,
    exact_by="discrete Laplace noise on a grid of 2^-1074",
    proof="Input and noise are on one grid of rational numbers; the sum is rounded after the noise is added.",
)
def laplace():
    dp = measurements()
    return dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)


@sampler(
    title="Laplace noise on an integer",
    claim="map(1) = 1 for scale = 1",
    place=f"{PLACE}make_laplace",
    inputs=(0, 1),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: 1.0,
    exact_by="two-sided geometric noise, P(k) proportional to e^-|k|",
    proof="Two-sided geometric noise: neighbouring integers have the ratio e.",
)
def geometric():
    dp = measurements()
    return dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)


@sampler(
    title="Gaussian noise on a float",
    claim="map(1.) = rho 1/2 for scale = 1: epsilon 1 at delta 0.13",
    place=f"{PLACE}make_gaussian",
    inputs=(0.0, 1.0),
    epsilon=1.0,
    delta=0.13,
    numeric=True,
    expected="consistent",
    exact=lambda: gaussian_epsilon(1.0, 0.13),
    exact_by="Gaussian noise of sigma 1, on a grid",
    proof="Gaussian noise of sigma 1 on a number that changes by 1 has delta(1) = 0.1269.",
)
def gaussian():
    dp = measurements()
    return dp.m.make_gaussian(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)


@formula(
    title="conversion of zCDP",
    claim="map of the Gaussian measurement, scale 1, at delta 1e-5",
    place="opendp/combinators.py: make_zCDP_to_approxDP, make_fix_delta",
    delta=1e-5,
    expected="above",
    proof="A bound for every mechanism of rho 1/2; Gaussian noise is better than the worst of them.",
)
def conversion():
    from ldp_audit.accounting import compose
    from ldp_audit.mechanisms import Gaussian

    dp = measurements()
    noise = dp.m.make_gaussian(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)
    fixed = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(noise), delta=1e-5)
    return fixed.map(1.0)[0], compose([(Gaussian(1.0), 1)])


@sampler(
    title="randomised response on bit vectors",
    claim="map(1) = 2 ln 3 for f = 0.5 and vectors with at most one 1",
    place=f"{PLACE}make_randomized_response_bitvec",
    inputs=((0, 0, 0, 0, 0, 0, 1, 0), (0, 0, 0, 0, 0, 0, 0, 1)),
    epsilon=2.1972245773362196,
    samples=50_000,
    expected="consistent",
    exact=lambda: epsilon_of([[9, 3, 3, 1], [1, 3, 3, 9]]),
    exact_by="the two bits that differ, each kept with probability 3/4",
    proof="Each bit is flipped with probability f/2 = 1/4, and two bits differ: (3/4 : 1/4)^2 = 9.",
    status="In 0.14.2 the last bit was not protected; 0.15.0 is the first release in which it is.",
)
def response_of_bits():
    from numpy import frombuffer, packbits, uint8, unpackbits

    dp = measurements()
    response = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=0.5)
    return lambda x: unpackbits(
        frombuffer(response(packbits(x, bitorder="little").tobytes()), uint8), bitorder="little"
    ).tolist()


@sampler(
    title="randomised response on bit vectors of two lengths",
    claim="map(1) = 2 ln 3 for f = 0.5 and the domain of all vectors with at most one 1, under the discrete metric",
    place=f"{PLACE}make_randomized_response_bitvec, with domains.py: bitvector_domain",
    inputs=(8, 16),
    epsilon=2.1972245773362196,
    samples=5_000,
    expected="violated",
    exact=lambda: float("inf"),
    exact_by="the length of the report is that of the input",
    proof="The domain bounds the number of ones, not the length, and under the discrete metric any two of its vectors are at distance 1. A report is as "
    "long as its vector: the lengths of reports of a vector of 8 bits and of one of 16 exclude each other. Where all vectors have one length, the claim holds.",
    fix="A length in the domain: all vectors of one length.",
    status="Open: https://github.com/opendp/opendp/issues/2930 (September 2026). 0.16.0 is the newest release; 0.14.2, 0.15.0 and 0.15.1 do the same.",
)
def length_of_bits():
    dp = measurements()
    response = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=0.5)
    return lambda x: 8 * len(response(bytes(x // 8)))
