"""diffprivlib 0.6.6: its mechanisms and its accountant."""

from math import e

from finding import Library, epsilon_of, formula, gaussian_epsilon, sampler

LIBRARY = Library("diffprivlib", "0.6.6", ("diffprivlib==0.6.6", "scikit-learn==1.8.0"), "diffprivlib")
FOLDER = "diffprivlib/mechanisms"
GEOMETRIC = [[e ** -abs(y - x) for y in range(-30, 31)] for x in (0, 1)]


@sampler(
    title="Binary",
    claim="epsilon 1",
    place=f"{FOLDER}/binary.py: Binary",
    inputs=("a", "b"),
    epsilon=1.0,
    samples=100_000,
    expected="consistent",
    exact=lambda: epsilon_of([[e, 1], [1, e]]),
    exact_by="the value with probability e/(e + 1)",
    proof="The value is kept with probability e/(e + 1).",
)
def binary():
    from diffprivlib.mechanisms import Binary

    return Binary(epsilon=1.0, value0="a", value1="b")


@sampler(
    title="Geometric",
    claim="epsilon 1 at sensitivity 1",
    place=f"{FOLDER}/geometric.py: Geometric",
    inputs=(0, 1),
    epsilon=1.0,
    samples=100_000,
    expected="consistent",
    exact=lambda: 1.0,
    exact_by="two-sided geometric noise, P(k) proportional to e^-|k|",
    proof="Two-sided geometric noise: neighbouring integers have the ratio e.",
)
def geometric():
    from diffprivlib.mechanisms import Geometric

    return Geometric(epsilon=1.0, sensitivity=1)


@sampler(
    title="GeometricTruncated",
    claim="epsilon 1 at sensitivity 1, in 0 to 3",
    place=f"{FOLDER}/geometric.py: GeometricTruncated",
    inputs=(0, 1),
    epsilon=1.0,
    samples=100_000,
    expected="consistent",
    exact=lambda: epsilon_of([[sum(row[:31]), row[31], row[32], sum(row[33:])] for row in GEOMETRIC]),
    exact_by="two-sided geometric noise, outputs below 0 become 0 and those above 3 become 3",
    proof="Clipping the output of the geometric mechanism is post-processing.",
)
def geometric_truncated():
    from diffprivlib.mechanisms import GeometricTruncated

    return GeometricTruncated(epsilon=1.0, sensitivity=1, lower=0, upper=3)


@sampler(
    title="Laplace",
    claim="epsilon 1 at sensitivity 1",
    place=f"{FOLDER}/laplace.py: Laplace",
    inputs=(0.0, 1.0),
    epsilon=1.0,
    samples=100_000,
    numeric=True,
    expected="consistent",
    exact=lambda: 1.0,
    exact_by="Laplace noise of scale 1",
    proof="Laplace noise of scale sensitivity/epsilon, as a sum of four terms against 'reconstruction attacks due to limited floating point precision'.",
    status="Last bits of the sum, known: https://github.com/IBM/differential-privacy-library/issues/94.",
)
def laplace():
    from diffprivlib.mechanisms import Laplace

    return Laplace(epsilon=1.0, sensitivity=1.0)


@sampler(
    title="LaplaceBoundedDomain",
    claim="epsilon 1 at sensitivity 1, in [0, 1]",
    place=f"{FOLDER}/laplace.py: LaplaceBoundedDomain",
    inputs=(0.0, 1.0),
    epsilon=1.0,
    samples=100_000,
    numeric=True,
    expected="consistent",
    proof="The density is renormalised to the domain, and the scale is solved for so that scale and normalisation together have epsilon 1.",
)
def laplace_bounded_domain():
    from diffprivlib.mechanisms import LaplaceBoundedDomain

    return LaplaceBoundedDomain(epsilon=1.0, sensitivity=1.0, lower=0.0, upper=1.0)


@sampler(
    title="LaplaceBoundedNoise",
    claim="epsilon 1 at delta 0.1 and sensitivity 1",
    place=f"{FOLDER}/laplace.py: LaplaceBoundedNoise",
    inputs=(0.0, 1.0),
    epsilon=1.0,
    delta=0.1,
    samples=100_000,
    numeric=True,
    expected="consistent",
    proof="Laplace noise of scale 1 on an interval, which is so long that the part that leaves it has probability delta.",
)
def laplace_bounded_noise():
    from diffprivlib.mechanisms import LaplaceBoundedNoise

    return LaplaceBoundedNoise(epsilon=1.0, delta=0.1, sensitivity=1.0)


@sampler(
    title="Gaussian",
    claim="epsilon 1 at delta 0.1 and sensitivity 1",
    place=f"{FOLDER}/gaussian.py: Gaussian",
    inputs=(0.0, 1.0),
    epsilon=1.0,
    delta=0.1,
    samples=100_000,
    numeric=True,
    expected="consistent",
    exact=lambda: gaussian_epsilon((2 * 2.5257286443082556) ** 0.5, 0.1),
    exact_by="Gaussian noise of sigma = sqrt(2 ln 12.5) = 2.248",
    proof="The classical calibration, sigma = sqrt(2 ln(1.25/delta))/epsilon; the class refuses epsilon above 1.",
    status="Last bits of the sum, known: https://github.com/IBM/differential-privacy-library/issues/94.",
)
def gaussian():
    from diffprivlib.mechanisms import Gaussian

    return Gaussian(epsilon=1.0, delta=0.1, sensitivity=1.0)


@sampler(
    title="GaussianAnalytic",
    claim="epsilon 2 at delta 0.1 and sensitivity 1",
    place=f"{FOLDER}/gaussian.py: GaussianAnalytic",
    inputs=(0.0, 1.0),
    epsilon=2.0,
    delta=0.1,
    samples=100_000,
    numeric=True,
    expected="consistent",
    proof="The least sigma with delta(2) = 0.1 (Balle and Wang 2018, Algorithm 1).",
)
def gaussian_analytic():
    from diffprivlib.mechanisms import GaussianAnalytic

    return GaussianAnalytic(epsilon=2.0, delta=0.1, sensitivity=1.0)


@sampler(
    title="GaussianDiscrete",
    claim="epsilon 1 at delta 0.1 and sensitivity 1",
    place=f"{FOLDER}/gaussian.py: GaussianDiscrete",
    inputs=(0, 1),
    epsilon=1.0,
    delta=0.1,
    samples=50_000,
    expected="consistent",
    proof="Discrete Gaussian noise whose scale is solved for from the exact delta (Canonne, Kamath, Steinke 2020).",
)
def gaussian_discrete():
    from diffprivlib.mechanisms import GaussianDiscrete

    return GaussianDiscrete(epsilon=1.0, delta=0.1, sensitivity=1)


@sampler(
    title="Exponential",
    claim="epsilon 1 at sensitivity 1 of the utility",
    place=f"{FOLDER}/exponential.py: Exponential",
    inputs=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    epsilon=1.0,
    samples=50_000,
    expected="consistent",
    exact=lambda: epsilon_of([[e**0.5, 1, 1], [1, e**0.5, 1]]),
    exact_by="weights e^(utility/2)",
    proof="Each weight changes by at most e^(1/2), and so does their sum; here the sum stays, and epsilon is 1/2.",
)
def exponential():
    from diffprivlib.mechanisms import Exponential

    return lambda utility: Exponential(epsilon=1.0, sensitivity=1.0, utility=list(utility)).randomise()


@sampler(
    title="PermuteAndFlip",
    claim="epsilon 1 at sensitivity 1 of the utility",
    place=f"{FOLDER}/exponential.py: PermuteAndFlip",
    inputs=((1.0, 0.0), (0.0, 1.0)),
    epsilon=1.0,
    samples=50_000,
    expected="consistent",
    exact=lambda: epsilon_of([[1 - e**-0.5 / 2, e**-0.5 / 2], [e**-0.5 / 2, 1 - e**-0.5 / 2]]),
    exact_by="the worse one is accepted with e^(-1/2) if it comes first, which has probability 1/2",
    proof="(1 - q)/q = 2 e^(1/2) - 1 = 2.30 < e with q = e^(-1/2)/2.",
)
def permute_and_flip():
    from diffprivlib.mechanisms import PermuteAndFlip

    return lambda utility: PermuteAndFlip(epsilon=1.0, sensitivity=1.0, utility=list(utility)).randomise()


@sampler(
    title="Staircase",
    claim="epsilon 1 at sensitivity 1",
    place=f"{FOLDER}/staircase.py: Staircase",
    inputs=(0.0, 1.0),
    epsilon=1.0,
    samples=100_000,
    numeric=True,
    expected="consistent",
    exact=lambda: 1.0,
    exact_by="a density of steps, each e times lower than the one a unit nearer to 0",
    proof="A shift by 1 changes the density by at most e at each point.",
)
def staircase():
    from diffprivlib.mechanisms import Staircase

    return Staircase(epsilon=1.0, sensitivity=1.0)


@sampler(
    title="Snapping",
    claim="epsilon 1 at sensitivity 1, in [0, 1]",
    place=f"{FOLDER}/snapping.py: Snapping",
    inputs=(0.0, 1.0),
    epsilon=1.0,
    samples=100_000,
    numeric=True,
    expected="consistent",
    proof="Mironov's snapping mechanism (2012): the sum is rounded to a grid that does not depend on the input, and clipped.",
)
def snapping():
    from diffprivlib.mechanisms import Snapping

    return Snapping(epsilon=1.0, sensitivity=1.0, lower=0.0, upper=1.0)


@sampler(
    title="Uniform",
    claim="delta 0.2 at sensitivity 1",
    place=f"{FOLDER}/uniform.py: Uniform",
    inputs=(0.0, 1.0),
    epsilon=0.01,
    delta=0.2,
    samples=100_000,
    numeric=True,
    expected="consistent",
    proof="Uniform noise on an interval of length sensitivity/delta: a shift by 1 moves a part of probability delta out of it.",
)
def uniform():
    from diffprivlib.mechanisms import Uniform

    return Uniform(delta=0.2, sensitivity=1.0)


@formula(
    title="BudgetAccountant with slack",
    claim="the total of 100 spends of epsilon 0.1 with slack 1e-6",
    place="diffprivlib/accountant.py: BudgetAccountant.total",
    delta=1e-6,
    expected="above",
    proof="The theorem of Kairouz, Oh and Viswanath; the certified bounds are those of 100 randomised responses, the worst mechanisms of epsilon 0.1.",
)
def accountant():
    from diffprivlib import BudgetAccountant

    from ldp_audit.accounting import compose
    from ldp_audit.mechanisms import RandomizedResponse

    total = BudgetAccountant(spent_budget=[(0.1, 0.0)] * 100, delta=1e-6, slack=1e-6).total()
    return total[0], compose([(RandomizedResponse(0.1), 100)])
