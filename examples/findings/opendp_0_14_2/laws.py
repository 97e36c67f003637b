"""OpenDP 0.14.2: randomised response on bit vectors against the exact law."""

from math import log

from law import law

from ldp_audit import mechanisms

PLACE = "rust/src/measurements/randomized_response_bitvec/mod.rs: make_randomized_response_bitvec, lines 59-66"


@law(
    title="randomised response on bit vectors",
    place=PLACE,
    law=lambda: mechanisms.UnaryEncoding(2 * log(3), k=8, kind="symmetric"),
    inputs=(0, 6, 7),
    samples=20_000,
    expected="differs",
    proof="The flips of line 60 are one less than the bits: the last bit is reported as it is. The other seven follow the law; see below.",
)
def last_bit():
    return reported(8)


@law(
    title="randomised response on bit vectors, all bits but the last",
    place=PLACE,
    law=lambda: mechanisms.UnaryEncoding(2 * log(3), k=7, kind="symmetric"),
    inputs=(0, 6),
    samples=20_000,
    proof="Each bit is flipped with probability f/2 = 1/4.",
)
def other_bits():
    return reported(7)


def reported(first):
    """The first bits of the report on a vector of eight with a 1 at x."""
    import opendp.prelude as dp
    from numpy import frombuffer, uint8, unpackbits

    dp.enable_features("contrib")
    response = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=0.5)
    return lambda x: unpackbits(frombuffer(response(bytes([1 << x])), uint8), bitorder="little")[:first].tolist()
