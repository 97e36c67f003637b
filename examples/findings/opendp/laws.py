"""OpenDP 0.16.0: its local randomisers and noise against the exact laws."""

from math import e, log

from law import law

from ldp_audit import mechanisms

PLACE = "opendp/measurements.py: "


@law(
    title="randomised response of a bit",
    place=f"{PLACE}make_randomized_response_bool",
    law=lambda: mechanisms.RandomizedResponse(log(3), k=2),
    inputs=(0, 1),
    samples=20_000,
    proof="The bit is kept with probability 3/4.",
)
def response_of_a_bit():
    response = measurements().m.make_randomized_response_bool(prob=0.75)
    return lambda x: int(response(bool(x)))


@law(
    title="randomised response of four categories",
    place=f"{PLACE}make_randomized_response",
    law=lambda: mechanisms.RandomizedResponse(1.0, k=4),
    inputs=(0, 1, 2, 3),
    samples=20_000,
    proof="Kept with probability e/(e + 3), else one of the other three, uniformly.",
)
def response():
    return measurements().m.make_randomized_response([0, 1, 2, 3], prob=e / (e + 3))


@law(
    title="randomised response on bit vectors",
    place=f"{PLACE}make_randomized_response_bitvec",
    law=lambda: mechanisms.UnaryEncoding(2 * log(3), k=8, kind="symmetric"),
    inputs=(0, 7),
    samples=10_000,
    proof="Vectors of eight bits with one 1, each bit flipped with probability f/2 = 1/4.",
)
def response_of_bits():
    from numpy import frombuffer, uint8, unpackbits

    dp = measurements()
    response = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=0.5)
    return lambda x: unpackbits(frombuffer(response(bytes([1 << x])), uint8), bitorder="little").tolist()


@law(
    title="Laplace noise on an integer",
    place=f"{PLACE}make_laplace",
    law=lambda: mechanisms.DiscreteLaplace(1.0),
    inputs=(0, 1),
    samples=20_000,
    proof="Two-sided geometric noise: P(k) is proportional to e^-|k|.",
)
def geometric():
    dp = measurements()
    return dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)


@law(
    title="Laplace noise on a float",
    place=f"{PLACE}make_laplace",
    law=lambda: mechanisms.Laplace(1.0),
    inputs=(0.0, 1.0),
    samples=20_000,
    proof="Discrete Laplace noise on a grid of 2^-1074, which no test tells from the density.",
)
def laplace():
    dp = measurements()
    return dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)


@law(
    title="Gaussian noise on an integer",
    place=f"{PLACE}make_gaussian",
    law=lambda: mechanisms.DiscreteGaussian(1.0),
    inputs=(0, 1),
    samples=20_000,
    proof="Discrete Gaussian noise: P(k) is proportional to e^(-k^2/2).",
)
def discrete_gaussian():
    dp = measurements()
    return dp.m.make_gaussian(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)


def measurements():
    """The library with the features that its local randomisers need."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp
