"""pure-LDP 1.2.0: its clients against the exact laws."""

from math import e

from law import law

from ldp_audit import mechanisms

FOLDER = "pure_ldp/frequency_oracles"
VALUES = (0, 1, 2, 3)


@law(
    title="direct encoding",
    place=f"{FOLDER}/direct_encoding/de_client.py: DEClient, lines 22-34",
    law=lambda: mechanisms.RandomizedResponse(1.0, k=4),
    inputs=VALUES,
    proof="Kept with probability e/(e + 3), else one of the other three, uniformly.",
)
def direct_encoding():
    from pure_ldp.frequency_oracles.direct_encoding import DEClient

    return from_zero(DEClient(1.0, 4))


@law(
    title="symmetric unary encoding",
    place=f"{FOLDER}/unary_encoding/ue_client.py: UEClient, lines 36-38, 54-57",
    law=lambda: mechanisms.UnaryEncoding(1.0, k=4, kind="symmetric"),
    inputs=VALUES,
    proof="Independent bits, p = e^0.5/(e^0.5 + 1) at the value's place and 1 - p elsewhere.",
)
def symmetric_unary():
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    return from_zero(UEClient(1.0, 4))


@law(
    title="optimised unary encoding",
    place=f"{FOLDER}/unary_encoding/ue_client.py: UEClient, lines 40-42, 54-57",
    law=lambda: mechanisms.UnaryEncoding(1.0, k=4),
    inputs=VALUES,
    proof="Independent bits, 1/2 at the value's place and 1/(e + 1) elsewhere.",
)
def optimised_unary():
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    return from_zero(UEClient(1.0, 4, use_oue=True))


@law(
    title="optimised local hashing, given the seed",
    place=f"{FOLDER}/local_hashing/lh_client.py: LHClient, lines 45-49, 69-79",
    law=lambda: mechanisms.RandomizedResponse(1.0, k=4),
    inputs=VALUES,
    proof="A uniform one of g = 4 hashes with probability 1 - p + q = 4q, else the value's: p = e/(e + 3) in all.",
)
def optimised_hashing():
    from pure_ldp.frequency_oracles.local_hashing import LHClient

    return given_seed(LHClient(1.0, 4, use_olh=True))


@law(
    title="binary local hashing, given the seed",
    place=f"{FOLDER}/local_hashing/lh_client.py: LHClient, lines 48-49, 69-79",
    law=lambda: mechanisms.RandomizedResponse(1.0, k=2),
    inputs=(0, 1),
    proof="A uniform one of two hashes with probability 1 - p + q = 2q, else the value's: p = e/(e + 1) in all.",
)
def binary_hashing():
    from pure_ldp.frequency_oracles.local_hashing import LHClient

    return given_seed(LHClient(1.0, 4))


@law(
    title="optimised local hashing, the values that a report supports",
    place=f"{FOLDER}/local_hashing/lh_client.py: LHClient, lines 69-79, 93",
    law=lambda: mechanisms.UnaryEncoding.of(e / (e + 3), 1 / 4, k=4),
    inputs=VALUES,
    proof="Of a random function of the values, the supported ones are independent: the own with probability e/(e + 3), another with 1/4.",
)
def optimised_supports():
    from pure_ldp.frequency_oracles.local_hashing import LHClient

    return supported(LHClient(1.0, 4, use_olh=True))


@law(
    title="binary local hashing, the values that a report supports",
    place=f"{FOLDER}/local_hashing/lh_client.py: LHClient, lines 69-79, 93",
    law=lambda: mechanisms.UnaryEncoding.of(e / (e + 1), 1 / 2, k=4),
    inputs=VALUES,
    proof="As above: the own with probability e/(e + 1), another with 1/2.",
)
def binary_supports():
    from pure_ldp.frequency_oracles.local_hashing import LHClient

    return supported(LHClient(1.0, 4))


@law(
    title="fast local hashing, given the seed",
    place=f"{FOLDER}/local_hashing/fast_lh_client.py: FastLHClient, lines 39-40",
    law=lambda: mechanisms.RandomizedResponse(1.0, k=4),
    inputs=VALUES,
    proof="As of local hashing; the seed is one of 10.",
)
def fast_hashing():
    from pure_ldp.frequency_oracles.local_hashing import FastLHClient

    return given_seed(FastLHClient(1.0, 4, 10, use_olh=True))


@law(
    title="Hadamard response",
    place=f"{FOLDER}/hadamard_response/internal/k2k_hadamard.py: Hadamard_Rand_high_priv, lines 45-71",
    law=lambda: mechanisms.HadamardResponse(1.0, k=4, kind="columns"),
    inputs=VALUES,
    proof="Of a uniform pair of outputs, one in the set of the value and one outside, the first with probability e/(e + 1).",
)
def hadamard_response():
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient

    return from_zero(HadamardResponseClient(1.0, 4, None))


@law(
    title="Hadamard mechanism, one coefficient",
    place=f"{FOLDER}/hadamard_mechanism/hadamard_mechanism_client.py: HadamardMechClient, lines 40-46, 65-72",
    law=lambda: mechanisms.HadamardResponse(1.0, k=4),
    inputs=VALUES,
    proof="A uniform one of four columns, and the sign of the value's entry in it, kept with probability e/(e + 1).",
)
def hadamard_mechanism():
    from pure_ldp.frequency_oracles.hadamard_mechanism import HadamardMechClient

    client = HadamardMechClient(1.0, 4, 1)

    def report(x):
        ((column, sign),) = client.privatise(x + 1)
        return [column, int(sign < 0)]

    return report


@law(
    title="histogram encoding, one entry",
    place=f"{FOLDER}/histogram_encoding/he_client.py: HEClient, lines 28-29",
    law=lambda: mechanisms.Laplace(2.0),
    inputs=(0.0, 1.0),
    proof="The entry, 0 or 1, and Laplace noise of scale 2/epsilon.",
)
def histogram_encoding():
    from pure_ldp.frequency_oracles.histogram_encoding import HEClient

    client = HEClient(1.0, 4)
    return lambda x: client.privatise(1 if x == 1.0 else 2)[0]


@law(
    title="RAPPOR client, one hash function",
    place=f"{FOLDER}/rappor/rappor_client.py: RAPPORClient, lines 48-51",
    law=lambda: mechanisms.UnaryEncoding.of(0.62, 0.38, k=2),
    inputs=(0, 1),
    expected="differs",
    proof="The permanent response of RAPPOR with f = 0.76 makes a 1 a 1 with probability 1 - f/2 = 0.62, and a 0 with f/2 = 0.38. Here "
    "line 51 only sets bits to 1, and none to 0: the law is that of independent bits with p = 1 and q = 0.38. It has infinite epsilon; see above.",
)
def rappor():
    from pure_ldp.frequency_oracles.rappor import RAPPORClient

    client = RAPPORClient(0.76, 2, [[lambda text: int(text) % 2]], num_of_cohorts=1)
    return lambda x: client.privatise(x + 1)[0]


def from_zero(client):
    """The client on values from 0: its own begin at 1."""
    return lambda x: client.privatise(x + 1)


def given_seed(client):
    """The hash in the report, turned so that the value's own hash under the report's seed becomes x."""
    from xxhash import xxh32_intdigest

    def report(x):
        value, seed = client.privatise(x + 1)
        return int((value - xxh32_intdigest(str(x), seed=seed) + x) % client.g)

    return report


def supported(client):
    """Which of the four values have the report's hash under its seed."""
    from xxhash import xxh32_intdigest

    def report(x):
        value, seed = client.privatise(x + 1)
        return [int(xxh32_intdigest(str(v), seed=seed) % client.g == value) for v in range(4)]

    return report
