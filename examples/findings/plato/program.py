"""Plato: its unary encoding of features."""

import math

from finding import Library, epsilon_of, independent_bits, sampler, taken

LIBRARY = Library("Plato", "", (), "numpy", checkout="TL-System/plato@60d6779a0be16bd529f5f9d9cd34fd4d47f4e95a")
FILE = "plato/utils/unary_encoding.py"
P = math.exp(0.5) / (math.exp(0.5) + 1)


def encoded():
    """Features through `encode` and `randomize` at epsilon 1, as the processor for randomised response does."""
    import numpy

    encode, randomize = taken(FILE, "encode", np=numpy), taken(FILE, "randomize", np=numpy)
    return lambda x: randomize(encode(numpy.array(x)), 1.0)


@sampler(
    title="randomised response on features, one-hot",
    claim="epsilon 1 for one-hot vectors",
    place=f"{FILE}: randomize; plato/processors/feature_randomized_response.py",
    inputs=((1.0, -1.0, -1.0, -1.0), (-1.0, 1.0, -1.0, -1.0)),
    epsilon=1.0,
    samples=50_000,
    expected="consistent",
    exact=lambda: epsilon_of([independent_bits([P if x == y else 1 - P for y in range(4)]) for x in range(2)]),
    exact_by="four independent bits, each kept with probability e^0.5/(e^0.5 + 1)",
    proof="Two bits differ between two one-hot vectors, each with ratio e^0.5.",
)
def one_hot():
    return encoded()


@sampler(
    title="randomised response on features, one feature",
    claim="epsilon 1 per feature (docs/papers/MistNet.pdf, section 5.2; Theorem 4.1: r features have r ln(p/q))",
    place=f"{FILE}: randomize; plato/processors/feature_randomized_response.py",
    inputs=((1.0, -1.0, -1.0, -1.0), (-1.0, -1.0, -1.0, -1.0)),
    epsilon=1.0,
    samples=50_000,
    expected="consistent",
    exact=lambda: epsilon_of([independent_bits([p, 1 - P, 1 - P, 1 - P]) for p in (P, 1 - P)]),
    exact_by="four independent bits, each kept with probability e^0.5/(e^0.5 + 1), one of which differs",
    proof="Each sign is kept with e^0.5/(e^0.5 + 1): one feature has 0.5, r features r/2, as Theorem 4.1 says. `algorithm.epsilon` is therefore not the "
    "epsilon of a whole feature vector; the configuration page does not say so.",
    status="The commit is of 2025-10-01, not the newest.",
)
def one_feature():
    return encoded()
