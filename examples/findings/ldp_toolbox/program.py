"""ldp-toolbox 0.1.3: its frequency protocols."""

from itertools import combinations
from math import e, exp

from finding import Library, epsilon_of, independent_bits, sampler

LIBRARY = Library("ldp-toolbox", "0.1.3", ("ldp-toolbox==0.1.3", "xxhash==3.5.0"), "ldp_toolbox.protocols.frequency")
FOLDER = "ldp_toolbox/protocols/frequency"
RESPONSE = [[e if x == y else 1 for y in range(4)] for x in range(4)]
P, Q = exp(0.5) / (exp(0.5) + 1), 1 / (e + 1)


@sampler(
    title="generalised randomised response",
    claim="epsilon 1, four values",
    place=f"{FOLDER}/grr.py: GeneralizedRandomizedResponse.obfuscate",
    inputs=(0, 1, 2, 3),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of(RESPONSE),
    exact_by="p = e/(e + 3), q = 1/(e + 3)",
    proof="The value is kept with probability e/(e + 3), else one of the other three is reported.",
)
def grr():
    from ldp_toolbox.protocols.frequency.grr import GeneralizedRandomizedResponse

    return GeneralizedRandomizedResponse(4, 1.0).obfuscate


@sampler(
    title="subset selection",
    claim="epsilon 1, eight values",
    place=f"{FOLDER}/ss.py: SubsetSelection.obfuscate",
    inputs=(0, 1),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of([[e if x in pair else 1 for pair in combinations(range(8), 2)] for x in range(2)]),
    exact_by="the 28 subsets of two of eight values; those with the input are e times as likely",
    proof="A subset with the value has e times the probability of one without it, and the array is shuffled before it is returned.",
)
def subset_selection():
    from ldp_toolbox.protocols.frequency.ss import SubsetSelection

    return SubsetSelection(8, 1.0).obfuscate


@sampler(
    title="optimised unary encoding",
    claim="epsilon 1, four values",
    place=f"{FOLDER}/ue.py: UnaryEncoding.obfuscate",
    inputs=(0, 1, 2, 3),
    epsilon=1.0,
    samples=100_000,
    expected="consistent",
    exact=lambda: epsilon_of([independent_bits([0.5 if x == y else Q for y in range(4)]) for x in range(4)]),
    exact_by="four independent bits, p = 1/2, q = 1/(e + 1)",
    proof="Two bits differ between two inputs: p(1 - q)/(q(1 - p)) = e.",
)
def unary_encoding():
    from ldp_toolbox.protocols.frequency.ue import UnaryEncoding

    return UnaryEncoding(4, 1.0).obfuscate


@sampler(
    title="optimised local hashing",
    claim="epsilon 1, four values",
    place=f"{FOLDER}/lh.py: LocalHashing.obfuscate",
    inputs=(0, 1, 2, 3),
    epsilon=1.0,
    samples=50_000,
    expected="consistent",
    exact=lambda: epsilon_of(RESPONSE),
    exact_by="given the seed: randomised response on g = 4 hash values, where the inputs' hashes differ",
    proof="The seed does not depend on the value. Given the seed, the hash goes through randomised response on four values.",
)
def local_hashing():
    from ldp_toolbox.protocols.frequency.lh import LocalHashing
    from xxhash import xxh32_intdigest

    obfuscate = LocalHashing(4, 1.0).obfuscate
    return lambda x: (lambda y, seed: [int(xxh32_intdigest(str(v), seed=int(seed)) % 4 == y) for v in range(4)])(
        *obfuscate(x)
    )


@sampler(
    title="histogram encoding",
    claim="epsilon 1, four values",
    place=f"{FOLDER}/he.py: HistogramEncoding.obfuscate",
    inputs=(0, 1),
    epsilon=1.0,
    numeric=True,
    expected="consistent",
    proof="Laplace noise of scale 2/epsilon on each entry of a one-hot vector; two entries change by 1.",
)
def histogram_encoding():
    from ldp_toolbox.protocols.frequency.he import HistogramEncoding

    return HistogramEncoding(4, 1.0, False).obfuscate
