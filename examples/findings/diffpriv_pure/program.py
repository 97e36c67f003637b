"""diffpriv-pure 0.1.0: its noise and its accounting."""

from math import exp

from finding import Library, epsilon_of, formula, sampler

LIBRARY = Library("diffpriv-pure", "0.1.0", ("diffpriv-pure==0.1.0",), "diffpriv_pure")
FILE = "diffpriv_pure/__init__.py"


@sampler(
    title="count with geometric noise",
    claim='"Shifted geometric for pure ε-DP integer counts", epsilon 1',
    place=f"{FILE}: geometric_noise, private_count",
    inputs=(10, 11),
    epsilon=1.0,
    expected="violated",
    exact=lambda: epsilon_of([[exp(-y) if y >= x else 0 for y in range(40)] for x in (0, 1)]),
    exact_by="one-sided geometric noise, P(k) proportional to e^-k for k = 0, 1, ..., without the probability 2^-53 of -1",
    proof="ceil(ln(1 - u)/(-epsilon) - 1) is never below 0 for u > 0: the noise has one side. The count 10 gives 10 with probability 1 - 1/e = 0.632, "
    "the count 11 only where random.random() returns exactly 0, probability 2^-53.",
    fix="Subtract a second, independent geometric variable: the two-sided geometric mechanism.",
    status="0.1.0 is the only release.",
)
def count():
    from diffpriv_pure import private_count

    return lambda x: private_count(x, 1.0)


@sampler(
    title="sum with Laplace noise",
    claim="a sum of values in [0, 1] has epsilon 1",
    place=f"{FILE}: private_sum, laplace_noise",
    inputs=((0.0, 0.5), (1.0, 0.5)),
    epsilon=1.0,
    numeric=True,
    expected="consistent",
    exact=lambda: 1.0,
    exact_by="Laplace noise of scale 1 on a sum that changes by 1",
    proof="The values are clamped to the bounds; the noise is the inverse distribution function of Laplace noise of scale (high - low)/epsilon.",
)
def total():
    from diffpriv_pure import private_sum

    return lambda x: private_sum(x, (0.0, 1.0), 1.0)


@formula(
    title="advanced composition",
    claim="PrivacyBudget.advanced_composition(100, 1.0, 1e-5) returns (47.99, 0.001)",
    place=f"{FILE}: PrivacyBudget.advanced_composition",
    delta=1e-3,
    expected="too small",
    proof="The theorem has epsilon sqrt(2 n ln(1/delta')) + n epsilon (e^epsilon - 1); the second term is missing. "
    "For 100 randomised responses of epsilon 1 the privacy loss has the mean 100 tanh(1/2) = 46.2 and the standard deviation 8.9: "
    "48 is close to its mean.",
    fix="Add n epsilon (e^epsilon - 1) (or n epsilon tanh(epsilon/2)), and delta' to the total delta.",
    status="The README exposes it 'for manual use'; spend() composes basically and is not affected. At epsilon 0.1 each, the number 4.80 is not exceeded by "
    "randomised responses: the missing term matters for large epsilon.",
)
def advanced_composition():
    from diffpriv_pure import PrivacyBudget

    from ldp_audit.accounting import compose
    from ldp_audit.mechanisms import RandomizedResponse

    epsilon, _ = PrivacyBudget(100.0, 0.5).advanced_composition(100, 1.0, 1e-5)
    return epsilon, compose([(RandomizedResponse(1.0), 100)])


@formula(
    title="Gaussian calibration, epsilon 10",
    claim="gaussian_sigma(1, 10, 1e-5) gives epsilon 10 at delta 1e-5",
    place=f"{FILE}: gaussian_sigma",
    delta=1e-5,
    expected="too small",
    proof="sqrt(2 ln(1.25/delta))/epsilon is proved for epsilon below 1. At delta 1e-5 it also suffices up to epsilon 8.4; at 10 it gives delta 2.27e-5, "
    "that is epsilon 10.39. As epsilon grows, the least sigma falls as 1/sqrt(2 epsilon), not as 1/epsilon.",
    fix="The analytic calibration of the paper that the docstring cites (Balle and Wang 2018), or a refusal above epsilon 1.",
    status="README: 'Analytic Gaussian σ per Balle & Wang 2018'; the code has the classical formula.",
)
def calibration():
    from diffpriv_pure import gaussian_sigma

    from ldp_audit.accounting import compose
    from ldp_audit.mechanisms import Gaussian

    return 10.0, compose([(Gaussian(gaussian_sigma(1.0, 10.0, 1e-5)), 1)])
