"""PyDP 1.1.5: the samplers of Google's library that Python reaches."""

from finding import Library, gaussian_epsilon, sampler

LIBRARY = Library("PyDP", "1.1.5", ("python-dp==1.1.5",), "pydp")


@sampler(
    title="Laplace mechanism",
    claim="epsilon 1 at sensitivity 1",
    place="pydp/algorithms/numerical_mechanisms: LaplaceMechanism",
    inputs=(0.0, 1.0),
    epsilon=1.0,
    numeric=True,
    expected="consistent",
    exact=lambda: 1.0,
    exact_by="discrete Laplace noise on a grid that depends on epsilon alone",
    proof="Two-sided geometric noise on a grid of powers of two, to which the input is rounded first.",
)
def laplace():
    from pydp.algorithms.numerical_mechanisms import LaplaceMechanism

    mechanism = LaplaceMechanism(epsilon=1.0, sensitivity=1.0)
    return lambda x: mechanism.add_noise(x)


@sampler(
    title="Gaussian mechanism",
    claim="epsilon 1 at delta 0.1 and sensitivity 1",
    place="pydp/algorithms/numerical_mechanisms: GaussianMechanism",
    inputs=(0.0, 1.0),
    epsilon=1.0,
    delta=0.1,
    numeric=True,
    expected="consistent",
    exact=lambda: deviation_epsilon(),
    exact_by="Gaussian noise of the standard deviation that the object names, 1.086",
    proof="The standard deviation is the least with delta(1) = 0.1 (the analytic calibration). The noise is on a grid of 2^-55, finer than double "
    "precision near 1: around 1 every result is a multiple of 2^-53, around 0 18% are not, more than delta 0.1.",
    status="The version of Google's library that PyDP 1.1.5 wraps, not Google's newest.",
)
def gaussian():
    from pydp.algorithms.numerical_mechanisms import GaussianMechanism

    mechanism = GaussianMechanism(1.0, 0.1, 1.0)
    return lambda x: mechanism.add_noise(x)


def deviation_epsilon():
    """The epsilon at delta 0.1 of the noise's standard deviation."""
    from pydp.algorithms.numerical_mechanisms import GaussianMechanism

    return gaussian_epsilon(GaussianMechanism(1.0, 0.1, 1.0).std, 0.1)
