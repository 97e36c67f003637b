"""OpenDP 0.14.2: randomised response on bit vectors, whose last bit is not protected."""

from finding import Library, sampler

LIBRARY = Library("OpenDP", "0.14.2", ("opendp==0.14.2",), "opendp.prelude")


@sampler(
    title="randomised response on bit vectors",
    claim="map(1) = 2 ln 3 for f = 0.5 and vectors with at most one 1",
    place="rust/src/measurements/randomized_response_bitvec/mod.rs: make_randomized_response_bitvec, lines 59-66",
    inputs=((0, 0, 0, 0, 0, 0, 1, 0), (0, 0, 0, 0, 0, 0, 0, 1)),
    epsilon=2.1972245773362196,
    samples=50_000,
    expected="violated",
    exact=lambda: float("inf"),
    exact_by="the last bit of a report is that of the input",
    proof="Line 60 draws a flip for 1, ..., n - 1: one less than there are bits. The exclusive or in line 66 takes the missing flip as 0, so that the last bit of "
    "every report is the last bit of the input. Two vectors that differ there exclude each other's reports.",
    fix="A flip for each of 0, ..., n - 1.",
    status="Known and mended: https://github.com/opendp/opendp/issues/2707 and pull request 2708, April 2026. Of the releases that we ran, 0.11.1, 0.12.1, 0.13.0, 0.14.0 "
    "and 0.14.2 never flip the last bit; 0.15.0 (May 2026), 0.15.1 and 0.16.0 flip it as the others.",
)
def response_of_bits():
    import opendp.prelude as dp
    from numpy import frombuffer, packbits, uint8, unpackbits

    dp.enable_features("contrib")
    response = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=0.5)
    return lambda x: unpackbits(
        frombuffer(response(packbits(x, bitorder="little").tobytes()), uint8), bitorder="little"
    ).tolist()
