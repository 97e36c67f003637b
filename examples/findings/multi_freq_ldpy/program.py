"""multi-freq-ldpy 0.2.5: its clients."""

from functools import partial
from itertools import product
from math import e, exp, log

from finding import Library, epsilon_of, independent_bits, sampler

LIBRARY = Library(
    "multi-freq-ldpy", "0.2.5", ("multi-freq-ldpy==0.2.5", "numba==0.68.1", "xxhash==3.4.2"), "multi_freq_ldpy"
)
ONE, MANY, LONG = (
    "multi_freq_ldpy/pure_frequency_oracles",
    "multi_freq_ldpy/mdim_freq_est",
    "multi_freq_ldpy/long_freq_est",
)
AMPLIFIED = log(2 * (e - 1) + 1)  # what the RS+FD clients give each of two attributes at epsilon 1
P, Q = exp(0.5) / (exp(0.5) + 1), 1 / (e + 1)


def response(epsilon, k):
    """Probabilities of randomised response: a row for each of k values."""
    return [[(exp(epsilon) if x == y else 1) / (exp(epsilon) + k - 1) for y in range(k)] for x in range(k)]


def unary(epsilon, k):
    """Probabilities of optimised unary encoding: a row for each of k values."""
    q = 1 / (exp(epsilon) + 1)
    return [independent_bits([0.5 if x == y else q for y in range(k)]) for x in range(k)]


def sampled_plus_fake(reports, fake, tuples):
    """RS+FD for two attributes: one of them is reported, the other is drawn from `fake`."""
    outputs = list(product(range(len(fake)), repeat=2))
    return [[reports[a][y] * fake[z] + fake[y] * reports[b][z] for y, z in outputs] for a, b in tuples]


@sampler(
    title="generalised randomised response",
    claim="epsilon 1, four values",
    place=f"{ONE}/GRR.py: GRR_Client",
    inputs=(0, 1, 2, 3),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of(response(1, 4)),
    exact_by="p = e/(e + 3), q = 1/(e + 3)",
    proof="The value is kept with probability e/(e + 3), else one of the other three is reported: p/q = e.",
)
def grr():
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

    return partial(GRR_Client, k=4, epsilon=1.0)


@sampler(
    title="optimised unary encoding",
    claim="epsilon 1, four values",
    place=f"{ONE}/UE.py: UE_Client",
    inputs=(0, 1, 2, 3),
    epsilon=1.0,
    samples=100_000,
    expected="consistent",
    exact=lambda: epsilon_of(unary(1, 4)),
    exact_by="four independent bits, p = 1/2, q = 1/(e + 1)",
    proof="Two bits differ between two inputs: p(1 - q)/(q(1 - p)) = e.",
)
def oue():
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    return partial(UE_Client, k=4, epsilon=1.0)


@sampler(
    title="symmetric unary encoding",
    claim="epsilon 1, four values",
    place=f"{ONE}/UE.py: UE_Client, optimal=False",
    inputs=(0, 1, 2, 3),
    epsilon=1.0,
    samples=100_000,
    expected="consistent",
    exact=lambda: epsilon_of([independent_bits([P if x == y else 1 - P for y in range(4)]) for x in range(4)]),
    exact_by="four independent bits, p = e^0.5/(e^0.5 + 1), q = 1 - p",
    proof="Two bits differ between two inputs, each with ratio e^0.5.",
)
def sue():
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    return partial(UE_Client, k=4, epsilon=1.0, optimal=False)


@sampler(
    title="subset selection, as it is returned",
    claim='"epsilon: privacy guarantee", of the array that is returned; the docstring calls it a "set of sub_k sanitized values", '
    "and as a set it keeps the claim",
    place=f"{ONE}/SS.py: SS_Client",
    inputs=(0, 1),
    epsilon=1.0,
    expected="violated",
    exact=lambda: epsilon_of([[e / (e + 3) / 7] * 7 + [0], [0] + [3 / (e + 3) / 42] * 6 + [e / (e + 3) / 7]]),
    exact_by="arrays that start with 0 and go on with 1 to 7, and (1, 0), which input 0 never gives; input 1 gives it with probability 0.0679",
    proof="If the subset has the value, it is the array's first entry, and the rest are other values; else no entry is the value. "
    "So input 0 never gives an array with a 0 in the second place, and input 1 does, with probability 1/7 = 0.1429: epsilon is infinite. "
    "The order carries it; the aggregators of the library do not use the order.",
    fix="Sort or shuffle the array before it is returned. Sorted, the same audit found nothing; the 28 subsets have epsilon exactly 1.",
    status="0.2.5 is the newest release.",
)
def subset_selection():
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client

    return partial(SS_Client, k=8, epsilon=1.0)


@sampler(
    title="subset selection, sorted",
    claim="epsilon 1, eight values",
    place=f"{ONE}/SS.py: SS_Client, its array sorted",
    inputs=(0, 1),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of(
        [[e if x in pair else 1 for pair in product(range(8), repeat=2) if pair[0] < pair[1]] for x in (0, 1)]
    ),
    exact_by="the 28 subsets of two of eight values; those with the input are e times as likely",
    proof="A subset with the value has e times the probability of one without it.",
)
def sorted_subset_selection():
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client

    return lambda x: sorted(SS_Client(x, 8, 1.0))


@sampler(
    title="optimised local hashing",
    claim="epsilon 1, four values",
    place=f"{ONE}/LH.py: LH_Client",
    inputs=(0, 1, 2, 3),
    epsilon=1.0,
    samples=100_000,
    expected="consistent",
    exact=lambda: epsilon_of(response(1, 4)),
    exact_by="given the seed: randomised response on g = 4 hash values, where the inputs' hashes differ",
    proof="The seed does not depend on the value. Given the seed, the hash goes through randomised response on four values.",
)
def olh():
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client

    return lambda x: supported(LH_Client(x, 4, 1.0), 4)


@sampler(
    title="histogram encoding",
    claim="epsilon 1, four values",
    place=f"{ONE}/HE.py: HE_Client",
    inputs=(0, 1),
    epsilon=1.0,
    numeric=True,
    expected="consistent",
    proof="Laplace noise of scale 2/epsilon on each entry; two entries change by 1.",
)
def histogram_encoding():
    from multi_freq_ldpy.pure_frequency_oracles.HE import HE_Client

    return partial(HE_Client, k=4, epsilon=1.0)


@sampler(
    title="adaptive protocol",
    claim="epsilon 1, sixteen values",
    place=f"{ONE}/ADP.py: ADP_Client",
    inputs=(0, 1),
    epsilon=1.0,
    samples=100_000,
    expected="consistent",
    proof="It is randomised response or optimised unary encoding, by the number of values alone.",
)
def adaptive():
    from multi_freq_ldpy.pure_frequency_oracles.ADP import ADP_Client

    return partial(ADP_Client, k=16, epsilon=1.0)


@sampler(
    title="SPL with randomised response",
    claim="epsilon 1 for a tuple of two attributes",
    place=f"{MANY}/SPL_solution.py: SPL_GRR_Client",
    inputs=((0, 0), (1, 1), (0, 1)),
    epsilon=1.0,
    samples=100_000,
    expected="consistent",
    exact=lambda: epsilon_of([[a * b for a, b in product(row, row)] for row in response(0.5, 3)]),
    exact_by="two independent randomised responses of epsilon 1/2 each",
    proof="Each attribute goes through randomised response of epsilon 1/2.",
)
def spl():
    from multi_freq_ldpy.mdim_freq_est.SPL_solution import SPL_GRR_Client

    return partial(SPL_GRR_Client, lst_k=[3, 3], d=2, epsilon=1.0)


@sampler(
    title="SMP with randomised response",
    claim="epsilon 1 for a tuple of two attributes",
    place=f"{MANY}/SMP_solution.py: SMP_GRR_Client",
    inputs=((0, 0), (1, 1), (0, 1)),
    epsilon=1.0,
    samples=100_000,
    expected="consistent",
    exact=lambda: epsilon_of([row + row for row in response(1, 3)]),
    exact_by="the attribute's number, and randomised response of epsilon 1 on its value",
    proof="The attribute is chosen independently of the values and sent along; its value goes through randomised response of epsilon 1.",
)
def smp():
    from multi_freq_ldpy.mdim_freq_est.SMP_solution import SMP_GRR_Client

    return partial(SMP_GRR_Client, lst_k=[3, 3], d=2, epsilon=1.0)


@sampler(
    title="RS+FD with randomised response, one attribute differs",
    claim="epsilon 1 for tuples that differ in one of two attributes of equal size",
    place=f"{MANY}/RSpFD_solution.py: RSpFD_GRR_Client",
    inputs=((0, 0), (1, 0)),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of(sampled_plus_fake(response(AMPLIFIED, 3), [1 / 3] * 3, [(0, 0), (1, 0), (0, 1)])[:2]),
    exact_by="one attribute by randomised response of epsilon ln(2(e - 1) + 1), the other uniform",
    proof="With r the ratio of response to fake: (r1 + r2)/(r1' + r2) is largest at the least r2, (e' + 1)/2 = e, e' = 2(e - 1) + 1.",
)
def rsfd_one():
    from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Client

    return partial(RSpFD_GRR_Client, lst_k=[3, 3], d=2, epsilon=1.0)


@sampler(
    title="RS+FD with randomised response, whole tuples",
    claim='"epsilon: privacy guarantee" for "user\'s true tuple of values", read as any two tuples of one user',
    place=f"{MANY}/RSpFD_solution.py: RSpFD_GRR_Client",
    inputs=((0, 0), (1, 1)),
    epsilon=1.0,
    expected="violated",
    exact=lambda: epsilon_of(sampled_plus_fake(response(AMPLIFIED, 3), [1 / 3] * 3, [(0, 0), (1, 1)])),
    exact_by="one attribute by randomised response of epsilon ln(2(e - 1) + 1), the other uniform",
    proof="One of d attributes is responded for with epsilon' = ln(d(e^epsilon - 1) + 1). Where all differ, the tuple as the output has the ratio "
    "p/q = e^epsilon' = 4.44. The amplification holds for tuples that differ in one attribute where the domain sizes are equal. It does not for all tuples, nor for "
    "unequal sizes: [10, 2] has 1.19 with one attribute. The code follows the paper that it cites [1]; this is about that argument, not about the implementation.",
    fix="Say which tuples are neighbours (one attribute, equal domains), or respond with epsilon itself.",
    status="[1] is Arcolezi et al. (2021). 0.2.5 is the newest release.",
)
def rsfd_whole():
    from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_GRR_Client

    return partial(RSpFD_GRR_Client, lst_k=[3, 3], d=2, epsilon=1.0)


@sampler(
    title="RS+FD with unary encoding of zeros, one attribute differs",
    claim="epsilon 1 for tuples that differ in one of two attributes",
    place=f"{MANY}/RSpFD_solution.py: RSpFD_UE_zero_Client",
    inputs=((0, 0), (1, 0)),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of(
        sampled_plus_fake(unary(AMPLIFIED, 3), independent_bits([1 / (exp(AMPLIFIED) + 1)] * 3), [(0, 0), (1, 0)])
    ),
    exact_by="one attribute by unary encoding of epsilon ln(2(e - 1) + 1), the other by that of no value",
    proof="As with randomised response: the least ratio of a report to a fake is that of a 0 in the value's place, and so is the other's.",
)
def rsfd_zero():
    from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_UE_zero_Client

    return partial(RSpFD_UE_zero_Client, lst_k=[3, 3], d=2, epsilon=1.0)


@sampler(
    title="RS+FD with unary encoding of random values, one attribute differs",
    claim="epsilon 1 for tuples that differ in one of two attributes",
    place=f"{MANY}/RSpFD_solution.py: RSpFD_UE_rnd_Client",
    inputs=((0, 0), (1, 0)),
    epsilon=1.0,
    samples=2_000_000,
    expected="violated",
    exact=lambda: epsilon_of(
        sampled_plus_fake(
            unary(AMPLIFIED, 4),
            [sum(column) / 4 for column in zip(*unary(AMPLIFIED, 4), strict=True)],
            [(0, 0), (1, 0)],
        )
    ),
    exact_by="one attribute by unary encoding of epsilon ln(2(e - 1) + 1), the other by that of a uniform value; 256 outputs",
    proof="With E = e^epsilon' = 4.44, k = 4, a report of a 1 in the value's place alone is r = kE/(E + k - 1) times as likely as a fake, k/(E + k - 1) "
    "times for another value; the other attribute's report with a 1 in all places but the value's, k/(1 + (k - 1)E) times. "
    "(2.386 + 0.280)/(0.538 + 0.280) = 3.26 = e^1.18: the fake is not as rare as the rarest report (two values: the claim holds; three: 1.125).",
    fix="Use the zero-vector variant (for tuples that differ in one attribute), or calibrate to the mixture.",
    status="The code follows [1] (Arcolezi et al. 2021); 0.2.5 is the newest release.",
)
def rsfd_random():
    from multi_freq_ldpy.mdim_freq_est.RSpFD_solution import RSpFD_UE_rnd_Client

    return partial(RSpFD_UE_rnd_Client, lst_k=[4, 4], d=2, epsilon=1.0)


@sampler(
    title="longitudinal randomised response, first report",
    claim="epsilon_1 = 1 for one report, epsilon_perm = 2",
    place=f"{LONG}/L_GRR.py: L_GRR_Client",
    inputs=(0, 1, 2),
    epsilon=1.0,
    samples=100_000,
    expected="consistent",
    proof="Two chained responses; the second is solved so that their product has ratio e.",
)
def long_grr():
    from multi_freq_ldpy.long_freq_est.L_GRR import L_GRR_Client

    return partial(L_GRR_Client, k=3, eps_perm=2.0, eps_1=1.0)


@sampler(
    title="longitudinal unary encoding (L-SUE), first report",
    claim="epsilon_1 = 1 for one report, epsilon_perm = 2",
    place=f"{LONG}/L_SUE.py: L_SUE_Client",
    inputs=(0, 1),
    epsilon=1.0,
    samples=100_000,
    expected="consistent",
    proof="Two chained symmetric encodings; the second is solved so that the two bits that differ have ratio e.",
)
def long_sue():
    from multi_freq_ldpy.long_freq_est.L_SUE import L_SUE_Client

    return partial(L_SUE_Client, k=3, eps_perm=2.0, eps_1=1.0)


@sampler(
    title="longitudinal unary encoding (L-OSUE), first report",
    claim="epsilon_1 = 1 for one report, epsilon_perm = 2",
    place=f"{LONG}/L_OSUE.py: L_OSUE_Client",
    inputs=(0, 1),
    epsilon=1.0,
    samples=100_000,
    expected="consistent",
    exact=lambda: epsilon_of([independent_bits([p, q]) for p, q in [OSUE, OSUE[::-1]]]),
    exact_by="the two bits that differ: p = p1 p2 + (1 - p1) q2, q = q1 p2 + (1 - q1) q2",
    proof="Optimised encoding of epsilon 2, then symmetric with p2 = (e^3 - 1)/(e^3 + e^2 - e - 1): p(1 - q)/(q(1 - p)) = e.",
)
def long_osue():
    from multi_freq_ldpy.long_freq_est.L_OSUE import L_OSUE_Client

    return partial(L_OSUE_Client, k=3, eps_perm=2.0, eps_1=1.0)


@sampler(
    title="longitudinal unary encoding (L-OUE), first report",
    claim="epsilon_1 = 0.5 for one report, epsilon_perm = 2",
    place=f"{LONG}/L_OUE.py: L_OUE_Client",
    inputs=(0, 1),
    epsilon=0.5,
    samples=100_000,
    expected="consistent",
    proof="Two chained optimised encodings; the second is solved so that the two bits that differ have ratio e^0.5.",
)
def long_oue():
    from multi_freq_ldpy.long_freq_est.L_OUE import L_OUE_Client

    return partial(L_OUE_Client, k=3, eps_perm=2.0, eps_1=0.5)


@sampler(
    title="longitudinal unary encoding (L-SOUE), first report",
    claim="epsilon_1 = 0.5 for one report, epsilon_perm = 2",
    place=f"{LONG}/L_SOUE.py: L_SOUE_Client",
    inputs=(0, 1),
    epsilon=0.5,
    samples=100_000,
    expected="consistent",
    proof="Symmetric and then optimised encoding; the second is solved so that the two bits that differ have ratio e^0.5.",
)
def long_soue():
    from multi_freq_ldpy.long_freq_est.L_SOUE import L_SOUE_Client

    return partial(L_SOUE_Client, k=3, eps_perm=2.0, eps_1=0.5)


@sampler(
    title="longitudinal local hashing, first report",
    claim="epsilon_1 = 1 for one report, epsilon_perm = 2",
    place=f"{LONG}/L_LH.py: L_LH_Client",
    inputs=(0, 1),
    epsilon=1.0,
    samples=100_000,
    expected="consistent",
    proof="Given the seed, the hash goes through longitudinal randomised response.",
)
def long_lh():
    from multi_freq_ldpy.long_freq_est.L_LH import L_LH_Client

    return lambda x: supported(L_LH_Client(x, 4, 2.0, 1.0, optimal=False), 2)


@sampler(
    title="dBitFlipPM",
    claim="epsilon 1, four buckets, four sampled bits",
    place=f"{LONG}/dBitFlipPM.py: dBitFlipPM_Client",
    inputs=(0, 1, 2),
    epsilon=1.0,
    samples=100_000,
    expected="consistent",
    exact=lambda: epsilon_of([independent_bits([P if x == y else 1 - P for y in range(4)]) for x in range(3)]),
    exact_by="all four bits are sampled; p = e^0.5/(e^0.5 + 1)",
    proof="Two of the sampled bits differ between two buckets, each with ratio e^0.5.",
)
def dbitflip():
    from multi_freq_ldpy.long_freq_est.dBitFlipPM import dBitFlipPM_Client

    return partial(dBitFlipPM_Client, k=4, b=4, d_bits=4, eps_perm=1.0)


def supported(report, g):
    """Which of the four values a report (hash, seed) supports: all that it says of them."""
    from xxhash import xxh32_intdigest

    return [int(xxh32_intdigest(str(v), seed=report[1]) % g == report[0]) for v in range(4)]


def chained(p1, q1, p2):
    """The probabilities of a 1 after two encodings, the second symmetric, of a bit that is 1 and of one that is 0."""
    return p1 * p2 + (1 - p1) * (1 - p2), q1 * p2 + (1 - q1) * (1 - p2)


OSUE = chained(0.5, 1 / (exp(2) + 1), (1 - exp(3)) / (exp(1) - exp(2) - exp(3) + 1))
