"""ornl-presto 0.1.29: its mechanisms."""

from math import e, log, sqrt

from finding import Library, epsilon_of, gaussian_epsilon, sampler

LIBRARY = Library("ornl-presto", "0.1.29", ("ornl-presto==0.1.29", "torch==2.13.0"), "ornl_presto")
FILE = "ornl_presto/privacy_mechanisms.py"


@sampler(
    title="Gaussian mechanism, sensitivity 4",
    claim='"Sensitivity of the query", "Target delta for (epsilon, delta)-DP": a number of sensitivity 4 has epsilon 1 at delta 0.01',
    place=f"{FILE}: applyDPGaussian",
    inputs=((0.0,), (4.0,)),
    epsilon=1.0,
    delta=0.01,
    expected="violated",
    exact=lambda: gaussian_epsilon(sqrt(4 * log(1.25 / 0.01)), 0.01, 4.0),
    exact_by="Gaussian noise of sigma = sqrt(4 ln 125) = 4.39",
    proof="The classical sigma is sensitivity sqrt(2 ln(1.25/delta))/epsilon = 12.43. The code has sqrt(sensitivity ln(1.25/delta))/epsilon = 4.39: "
    "the sensitivity is under the root, and the 2 is missing. The least sigma is 7.51. With the defaults (sensitivity 1, delta 1e-5) it has 3.43, the least is 3.73, and the epsilon is 1.098; "
    "for a sensitivity below 1/2 the code's sigma exceeds the classical one.",
    fix="sigma = sensitivity * sqrt(2 * log(1.25 / delta)) * gamma / epsilon, for epsilon below 1; above, an analytic calibration.",
    status="0.1.29 is the newest release.",
)
def gaussian():
    from ornl_presto.privacy_mechanisms import applyDPGaussian

    return lambda x: applyDPGaussian(list(x), sensitivity=4, delta=0.01, epsilon=1.0)


@sampler(
    title="Laplace mechanism",
    claim="a number of sensitivity 1 has epsilon 1",
    place=f"{FILE}: applyDPLaplace",
    inputs=((0.0,), (1.0,)),
    epsilon=1.0,
    numeric=True,
    expected="consistent",
    exact=lambda: 1.0,
    exact_by="Laplace noise of scale 1",
    proof="Laplace noise of scale sensitivity/epsilon.",
)
def laplace():
    from ornl_presto.privacy_mechanisms import applyDPLaplace

    return lambda x: applyDPLaplace(list(x), epsilon=1.0)


@sampler(
    title="exponential noise with random sign",
    claim="a number of sensitivity 1 has epsilon 1",
    place=f"{FILE}: applyDPExponential",
    inputs=((0.0,), (1.0,)),
    epsilon=1.0,
    numeric=True,
    expected="consistent",
    exact=lambda: 1.0,
    exact_by="Laplace noise of scale 1",
    proof="An exponential variable of scale 1/epsilon with a fair sign is Laplace noise of that scale.",
)
def exponential():
    from ornl_presto.privacy_mechanisms import applyDPExponential

    return lambda x: applyDPExponential(list(x), epsilon=1.0)


@sampler(
    title="Hadamard response",
    claim='"Local-DP via randomized response in the Hadamard domain": epsilon 1, four values',
    place=f"{FILE}: hadamard_response",
    inputs=((0, 3), (1, 3)),
    epsilon=1.0,
    samples=100_000,
    expected="violated",
    exact=lambda: epsilon_of([[4 * e + 1 if x == y else 1 for y in range(4)] for x in range(2)]),
    exact_by="the first of the two reports: kept with probability e/(e + 1), else uniform on d = 4 values",
    proof="A value is kept with probability p = e/(e + 1), else drawn from all d values, itself among them. It is reported with probability "
    "p + (1 - p)/d, another one with (1 - p)/d: the ratio is d e + 1 = 11.87 = e^2.47 for d = 4, and grows with d.",
    fix="Keep the value with probability (e^epsilon - 1)/(e^epsilon + d - 1), and take d from the caller: it is the data's maximum now.",
    status="0.1.29 is the newest release.",
)
def hadamard_response():
    from ornl_presto.privacy_mechanisms import hadamard_response
    from torch import tensor

    return lambda x: hadamard_response(tensor(x), 1.0).numpy()


@sampler(
    title="sparse vector technique",
    claim='"epsilon: Privacy parameter", "Apply the full SVT to privatize data": epsilon 1',
    place=f"{FILE}: applySVTAboveThreshold_full",
    inputs=((0.0, 1.0, 2.0), (0.5, 1.0, 2.0)),
    epsilon=1.0,
    samples=100_000,
    expected="violated",
    exact=lambda: float("inf"),
    exact_by="a list with 0.0 in it has positive probability on the first input and none on the second",
    proof="Every number that is returned is one of the input's numbers, unchanged: the value itself where it is above the noisy threshold, else "
    "one of the list at random. An output with 0.0 in it cannot come from a list without 0.0: epsilon is infinite. "
    "The technique bounds what comparisons with a threshold say, not values that are released after them.",
    fix="Return the comparisons alone, or add noise to a value before it is returned.",
    status="0.1.29 is the newest release.",
)
def sparse_vector():
    from ornl_presto.privacy_mechanisms import applySVTAboveThreshold_full

    return lambda x: applySVTAboveThreshold_full(list(x), 1.0)
