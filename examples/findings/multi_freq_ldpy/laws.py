"""multi-freq-ldpy 0.2.5: its clients against the exact laws."""

from functools import partial
from math import e

from law import law

from ldp_audit import mechanisms

FOLDER = "multi_freq_ldpy/pure_frequency_oracles"
VALUES = (0, 1, 2, 3)


@law(
    title="generalised randomised response",
    place=f"{FOLDER}/GRR.py: GRR_Client, lines 29-39",
    law=lambda: mechanisms.RandomizedResponse(1.0, k=4),
    inputs=VALUES,
    proof="Kept with probability e/(e + 3), else one of the other three, uniformly.",
)
def grr():
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

    return partial(GRR_Client, k=4, epsilon=1.0)


@law(
    title="symmetric unary encoding",
    place=f"{FOLDER}/UE.py: UE_Client, lines 31-32, 48-56",
    law=lambda: mechanisms.UnaryEncoding(1.0, k=4, kind="symmetric"),
    inputs=VALUES,
    proof="Independent bits, p = e^0.5/(e^0.5 + 1) at the value's place and 1 - p elsewhere.",
)
def sue():
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    return partial(UE_Client, k=4, epsilon=1.0, optimal=False)


@law(
    title="optimised unary encoding",
    place=f"{FOLDER}/UE.py: UE_Client, lines 35-37, 48-56",
    law=lambda: mechanisms.UnaryEncoding(1.0, k=4),
    inputs=VALUES,
    proof="Independent bits, 1/2 at the value's place and 1/(e + 1) elsewhere.",
)
def oue():
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    return partial(UE_Client, k=4, epsilon=1.0)


@law(
    title="subset selection, sorted",
    place=f"{FOLDER}/SS.py: SS_Client, lines 32-44",
    law=lambda: mechanisms.SubsetSelection(1.0, k=8, w=2),
    inputs=(0, 1, 7),
    proof="w = 2, the nearest to 8/(e + 1) = 2.15. The value is in the set with probability 2e/(2e + 6), the other members are uniform.",
)
def subset_selection():
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client

    return lambda x: sorted(SS_Client(x, 8, 1.0).tolist())


@law(
    title="optimised local hashing, given the seed",
    place=f"{FOLDER}/LH.py: LH_Client, lines 37-47",
    law=lambda: mechanisms.RandomizedResponse(1.0, k=4),
    inputs=VALUES,
    proof="The value's hash, one of g = 4, through randomised response: kept with probability e/(e + 3).",
)
def optimised_hashing():
    return given_seed(True, 4)


@law(
    title="binary local hashing, given the seed",
    place=f"{FOLDER}/LH.py: LH_Client, lines 34-47",
    law=lambda: mechanisms.RandomizedResponse(1.0, k=2),
    inputs=(0, 1),
    proof="The value's hash, one of two, kept with probability e/(e + 1).",
)
def binary_hashing():
    return given_seed(False, 2)


@law(
    title="optimised local hashing, the values that a report supports",
    place=f"{FOLDER}/LH.py: LH_Client, lines 37-47",
    law=lambda: mechanisms.UnaryEncoding.of(e / (e + 3), 1 / 4, k=4),
    inputs=VALUES,
    proof="Of a random function of the values, the supported ones are independent: the own with probability e/(e + 3), another with 1/4.",
)
def optimised_supports():
    return supported(True, 4)


@law(
    title="binary local hashing, the values that a report supports",
    place=f"{FOLDER}/LH.py: LH_Client, lines 34-47",
    law=lambda: mechanisms.UnaryEncoding.of(e / (e + 1), 1 / 2, k=4),
    inputs=VALUES,
    proof="As above: the own with probability e/(e + 1), another with 1/2.",
)
def binary_supports():
    return supported(False, 2)


@law(
    title="histogram encoding, one entry",
    place=f"{FOLDER}/HE.py: HE_Client, lines 29-32",
    law=lambda: mechanisms.Laplace(2.0),
    inputs=(0.0, 1.0),
    proof="The entry, 0 or 1, and Laplace noise of scale 2/epsilon.",
)
def histogram_encoding():
    from multi_freq_ldpy.pure_frequency_oracles.HE import HE_Client

    return lambda x: HE_Client(0 if x == 1.0 else 1, 4, 1.0)[0]


@law(
    title="dBitFlipPM, all bits sampled",
    place="multi_freq_ldpy/long_freq_est/dBitFlipPM.py: dBitFlipPM_Client, lines 30-55",
    law=lambda: mechanisms.UnaryEncoding(1.0, k=4, kind="symmetric"),
    inputs=VALUES,
    proof="All four bits are sampled, each once: e^0.5/(e^0.5 + 1) at the value's bucket and 1 - p elsewhere.",
)
def dbitflip():
    from multi_freq_ldpy.long_freq_est.dBitFlipPM import dBitFlipPM_Client

    return partial(dBitFlipPM_Client, k=4, b=4, d_bits=4, eps_perm=1.0)


def given_seed(optimal, g):
    """The hash in the report, turned so that the value's own hash under the report's seed becomes x."""
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
    from xxhash import xxh32_intdigest

    def report(x):
        value, seed = LH_Client(x, 4, 1.0, optimal)
        return int((value - xxh32_intdigest(str(x), seed=seed) + x) % g)

    return report


def supported(optimal, g):
    """Which of the four values have the report's hash under its seed."""
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
    from xxhash import xxh32_intdigest

    def report(x):
        value, seed = LH_Client(x, 4, 1.0, optimal)
        return [int(xxh32_intdigest(str(v), seed=seed) % g == value) for v in range(4)]

    return report
