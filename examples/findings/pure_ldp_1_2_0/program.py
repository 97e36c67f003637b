"""pure-LDP 1.2.0: its clients."""

from math import e, exp

from finding import Library, epsilon_of, independent_bits, sampler

LIBRARY = Library(
    "pure-LDP", "1.2.0", ("pure-ldp==1.2.0", "scikit-learn==1.9.1", "statsmodels==0.15.0", "xxhash==3.4.2"), "pure_ldp"
)
FOLDER = "pure_ldp/frequency_oracles"


@sampler(
    title="RAPPOR client",
    claim='"Can be used to convert a privacy budget epsilon to the privacy parameter f": a filter with f = convert_eps_to_f(1) and one hash function has epsilon '
    "1",
    place=f"{FOLDER}/rappor/rappor_client.py: RAPPORClient, convert_eps_to_f",
    inputs=(1, 2),
    epsilon=1.0,
    expected="violated",
    exact=lambda: epsilon_of([independent_bits([1, 0.38]), independent_bits([0.38, 1])]),
    exact_by="the two bits that differ, f = 0.76: a 1 stays with probability 1, a 0 becomes 1 with probability 0.38",
    proof="A bit of the filter is set to 1 or left as it is; no branch sets a 1 to 0. So a bit that is 1 in the filter is 1 in every "
    "report, and a bit that is 0 is 0 in a report with probability 0.62. A report with a 0 there excludes the one input: epsilon is infinite.",
    fix="Set each bit anew: to 1 with probability 1 - f/2 (for a 1) or f/2 (for a 0), else to 0.",
    status="Besides, convert_eps_to_f rounds f to two decimals: from epsilon 11.98 on, f is 0 and a corrected client would report the filter as it is. The file "
    "excludes longitudinal privacy, which is not at issue here: one report is enough. 1.2.0 is the newest release.",
)
def rappor():
    from pure_ldp.frequency_oracles.rappor import RAPPORClient

    f = RAPPORClient(0.5, 2, []).convert_eps_to_f(1.0)
    return RAPPORClient(f, 2, [[lambda text: int(text) % 2]], num_of_cohorts=1).privatise


@sampler(
    title="direct encoding",
    claim="epsilon 1, four values",
    place=f"{FOLDER}/direct_encoding/de_client.py: DEClient",
    inputs=(1, 2, 3, 4),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of([[e if x == y else 1 for y in range(4)] for x in range(4)]),
    exact_by="p = e/(e + 3), q = 1/(e + 3)",
    proof="The value is kept with probability e/(e + 3), else one of the other three is reported, each with 1/(e + 3): p/q = e.",
)
def direct_encoding():
    from pure_ldp.frequency_oracles.direct_encoding import DEClient

    return DEClient(1.0, 4).privatise


@sampler(
    title="symmetric unary encoding",
    claim="epsilon 1, four values",
    place=f"{FOLDER}/unary_encoding/ue_client.py: UEClient",
    inputs=(1, 2, 3, 4),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of([independent_bits([P if x == y else 1 - P for y in range(4)]) for x in range(4)]),
    exact_by="four independent bits, p = e^0.5/(e^0.5 + 1), q = 1 - p",
    proof="Two bits differ between two inputs; each has p/q = (1 - q)/(1 - p) = e^0.5. Together: e.",
)
def symmetric_unary():
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    return UEClient(1.0, 4).privatise


@sampler(
    title="optimised unary encoding",
    claim="epsilon 1, four values",
    place=f"{FOLDER}/unary_encoding/ue_client.py: UEClient, use_oue",
    inputs=(1, 2, 3, 4),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of([independent_bits([0.5 if x == y else Q for y in range(4)]) for x in range(4)]),
    exact_by="four independent bits, p = 1/2, q = 1/(e + 1)",
    proof="Two bits differ between two inputs: p(1 - q)/(q(1 - p)) = (1 - q)/q = e.",
)
def optimised_unary():
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    return UEClient(1.0, 4, use_oue=True).privatise


@sampler(
    title="optimised local hashing",
    claim="epsilon 1, four values",
    place=f"{FOLDER}/local_hashing/lh_client.py: LHClient",
    inputs=(1, 2, 3, 4),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of([[e if x == y else 1 for y in range(4)] for x in range(4)]),
    exact_by="given the seed: randomised response on g = 4 hash values, where the inputs' hashes differ",
    proof="The seed does not depend on the value. Given the seed, the hash is kept with probability e/(e + 3), else one of the other three.",
)
def local_hashing():
    from pure_ldp.frequency_oracles.local_hashing import LHClient
    from xxhash import xxh32_intdigest

    client = LHClient(1.0, 4, use_olh=True)
    return lambda x: supported(client.privatise(x), lambda v, seed: xxh32_intdigest(str(v), seed=seed) % client.g)


@sampler(
    title="fast local hashing",
    claim="epsilon 1, four values",
    place=f"{FOLDER}/local_hashing/fast_lh_client.py: FastLHClient",
    inputs=(1, 2, 3, 4),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of([[e if x == y else 1 for y in range(4)] for x in range(4)]),
    exact_by="as of local hashing",
    proof="As local hashing, with one of 10 seeds. The audit takes value and seed as they are.",
)
def fast_local_hashing():
    from pure_ldp.frequency_oracles.local_hashing import FastLHClient

    return FastLHClient(1.0, 4, 10, use_olh=True).privatise


@sampler(
    title="histogram encoding",
    claim="epsilon 1, four values",
    place=f"{FOLDER}/histogram_encoding/he_client.py: HEClient",
    inputs=(1, 2),
    epsilon=1.0,
    numeric=True,
    expected="consistent",
    proof="Laplace noise of scale 2/epsilon on each entry of a one-hot vector; two entries change by 1: 2 epsilon/2 = epsilon.",
)
def histogram_encoding():
    from pure_ldp.frequency_oracles.histogram_encoding import HEClient

    return HEClient(1.0, 4).privatise


@sampler(
    title="Hadamard response",
    claim="epsilon 1, four values",
    place=f"{FOLDER}/hadamard_response/hr_client.py: HadamardResponseClient",
    inputs=(1, 2, 3, 4),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of([[e if (x + 1 & y).bit_count() % 2 == 0 else 1 for y in range(8)] for x in range(4)]),
    exact_by="outputs 0 to 7; those in the set of the input (a row of the Hadamard matrix) have e/(e + 1) of the mass",
    proof="Half of the outputs are in an input's set. The report is in it with probability e/(e + 1), uniformly, else uniformly outside.",
)
def hadamard_response():
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient

    return HadamardResponseClient(1.0, 4, None).privatise


@sampler(
    title="Hadamard mechanism",
    claim="epsilon 1, eight values, two coefficients",
    place=f"{FOLDER}/hadamard_mechanism/hadamard_mechanism_client.py: HadamardMechClient",
    inputs=(1, 2, 4),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of([[e if x == y else 1 for y in range(4)] for x in range(4)]),
    exact_by="given the indices: randomised response on the four pairs of signs",
    proof="The indices do not depend on the value. Given them, the pair of signs is kept with probability e/(e + 3), else one of three others.",
)
def hadamard_mechanism():
    from pure_ldp.frequency_oracles.hadamard_mechanism import HadamardMechClient

    client = HadamardMechClient(1.0, 8, 2)
    return lambda x: list(client.privatise(x))


@sampler(
    title="count mean sketch",
    claim="epsilon 1",
    place=f"{FOLDER}/apple_cms/cms_client.py: CMSClient",
    inputs=(1, 2),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of([independent_bits([P if x == y else 1 - P for y in range(4)]) for x in range(2)]),
    exact_by="four signs, each flipped with probability 1/(1 + e^0.5); one hash function",
    proof="Where the hashes differ, two of the vector's signs differ; each sign's ratio is e^0.5. Together: e.",
)
def count_mean_sketch():
    from pure_ldp.frequency_oracles.apple_cms import CMSClient

    return CMSClient(1.0, [lambda text: int(text) % 4], 4).privatise


@sampler(
    title="Hadamard count mean sketch",
    claim="epsilon 1",
    place=f"{FOLDER}/apple_cms/cms_client.py: CMSClient, is_hadamard",
    inputs=(1, 2),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of([[e, 1], [1, e]]),
    exact_by="given the index: one sign, flipped with probability 1/(1 + e)",
    proof="The index does not depend on the value. Given it, the sign is kept with probability e/(1 + e).",
)
def hadamard_count_mean_sketch():
    from pure_ldp.frequency_oracles.apple_cms import CMSClient

    return CMSClient(1.0, [lambda text: int(text) % 4], 4, is_hadamard=True).privatise


def supported(report, hashed):
    """Which of the four values a report (hash, seed) supports: all that it says of them."""
    value, seed = report
    return [int(hashed(v, seed) == value) for v in range(4)]


P, Q = exp(0.5) / (exp(0.5) + 1), 1 / (e + 1)
