"""PyDP 1.1.5: the samplers of Google's library that Python reaches."""

from finding import Library, sampler

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
    proof="The standard deviation is the least with delta(1) = 0.1 (the analytic calibration); the noise is binomial on a grid.",
)
def gaussian():
    from pydp.algorithms.numerical_mechanisms import GaussianMechanism

    mechanism = GaussianMechanism(1.0, 0.1, 1.0)
    return lambda x: mechanism.add_noise(x)
