"""Plato: its unary encoding of features."""

import math

from finding import Library, epsilon_of, independent_bits, sampler, taken

LIBRARY = Library("Plato", "", (), "numpy", checkout="TL-System/plato@60d6779a0be16bd529f5f9d9cd34fd4d47f4e95a")
FILE, P = "plato/utils/unary_encoding.py", math.exp(0.5) / (math.exp(0.5) + 1)


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
    title="randomised response on features, any",
    claim='"applying local differential privacy using randomized response": epsilon 1 for the features of a client',
    place=f"{FILE}: randomize; plato/processors/feature_randomized_response.py",
    inputs=((1.0, 1.0, 1.0, 1.0), (-1.0, -1.0, -1.0, -1.0)),
    epsilon=1.0,
    samples=50_000,
    expected="violated",
    exact=lambda: epsilon_of([independent_bits([p] * 4) for p in (P, 1 - P)]),
    exact_by="four independent bits, each kept with probability e^0.5/(e^0.5 + 1)",
    proof="Unary encoding gives each bit epsilon/2, because two bits differ between one-hot vectors. Here the bits are the signs of d features, all of "
    "which may differ: the ratio is e^(d epsilon/2), e^2 for four features.",
    fix="Give each of d bits epsilon/d, or say that the epsilon is for two bits that differ.",
)
def any_features():
    return encoded()
