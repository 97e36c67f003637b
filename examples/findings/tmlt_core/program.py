"""tmlt.core 0.20.0: its noise measurements."""

from math import exp, fsum, log

from finding import Library, sampler

LIBRARY = Library("tmlt.core", "0.20.0", ("tmlt-core==0.20.0",), "tmlt.core", apart=True)
PLACE = "tmlt/core/measurements/noise_mechanisms.py: "


@sampler(
    title="Laplace noise",
    claim="privacy_function(1) = 1 for scale 1",
    place=f"{PLACE}AddLaplaceNoise",
    inputs=(0.0, 1.0),
    epsilon=1.0,
    samples=50_000,
    numeric=True,
    expected="consistent",
    exact=lambda: 1.0,
    exact_by="Laplace noise of scale 1",
    proof="Laplace noise of scale 1, drawn as its inverse distribution function in interval arithmetic and rounded once.",
)
def laplace():
    from numpy import float64
    from tmlt.core.domains.numpy_domains import NumpyFloatDomain
    from tmlt.core.measurements.noise_mechanisms import AddLaplaceNoise

    measurement = AddLaplaceNoise(scale=1, input_domain=NumpyFloatDomain())
    return lambda x: float(measurement(float64(x)))


@sampler(
    title="geometric noise",
    claim="privacy_function(1) = 1 for alpha 1",
    place=f"{PLACE}AddGeometricNoise",
    inputs=(0, 1),
    epsilon=1.0,
    samples=50_000,
    expected="consistent",
    exact=lambda: 1.0,
    exact_by="two-sided geometric noise, P(k) proportional to e^-|k|",
    proof="Two-sided geometric noise: neighbouring integers have the ratio e.",
)
def geometric():
    from numpy import int64
    from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise

    measurement = AddGeometricNoise(alpha=1)
    return lambda x: int(measurement(int64(x)))


@sampler(
    title="Gaussian noise, its last bits",
    claim='"for any pair of elements x, y in I ... D(M(x), M(y)) <= beta", I the domain of floating-point numbers; privacy_function(1) = rho 1/2 for '
    "sigma_squared 1: epsilon 1 at delta 0.13",
    place=f"{PLACE}AddGaussianNoise; the documentation's page on the privacy guarantee",
    inputs=(0.0, 1.0),
    epsilon=1.0,
    delta=0.13,
    samples=50_000,
    last_bits=True,
    expected="violated",
    exact=lambda: float("inf"),
    exact_by="numbers that are not multiples of 2^-53: probability 0.257 around 0, none around 1",
    proof="AddLaplaceNoise draws around the number and rounds once. AddGaussianNoise draws around 0 and adds: float(value) + gaussian(u=0). "
    "Around 0 a quarter of the results end in bits below 2^-53, more than delta. 1 + noise below 1/2 has noise in (-1.5, -0.5), "
    "a multiple of 2^-53, and is exact: it never does. In real numbers the claim holds (0.9833).",
    fix="gaussian(u=float(value), sigma_squared=float_scale), as AddLaplaceNoise does.",
    status="This is the precision-based attack of Haney et al. (2022, arXiv:2207.13793), whose authors include a maintainer of this library; AddLaplaceNoise is "
    "already protected. Counted here because the library states its guarantee for floating-point inputs and draws noise in interval arithmetic for this "
    "purpose. 0.20.0 is the newest release.",
)
def gaussian():
    from numpy import float64
    from tmlt.core.domains.numpy_domains import NumpyFloatDomain
    from tmlt.core.measurements.noise_mechanisms import AddGaussianNoise

    measurement = AddGaussianNoise(input_domain=NumpyFloatDomain(), sigma_squared=1)
    return lambda x: float(measurement(float64(x)))


@sampler(
    title="discrete Gaussian noise",
    claim="privacy_function(1) = rho 1/2 for sigma_squared 1: epsilon 1 at delta 0.1414",
    place=f"{PLACE}AddDiscreteGaussianNoise",
    inputs=(0, 1),
    epsilon=1.0,
    delta=0.1414,
    samples=50_000,
    expected="consistent",
    exact=lambda: discrete_epsilon(),
    exact_by="P(k) proportional to e^(-k^2/2)",
    proof="P(k) proportional to e^(-k^2/2); the delta of epsilon 1 is the sum of P(k) - e P(k - 1) where that is positive, k up to -1: 0.1413.",
)
def discrete_gaussian():
    from numpy import int64
    from tmlt.core.measurements.noise_mechanisms import AddDiscreteGaussianNoise

    measurement = AddDiscreteGaussianNoise(sigma_squared=1)
    return lambda x: int(measurement(int64(x)))


def discrete_epsilon():
    """The epsilon at delta 0.1414: sum of P(k) - e^epsilon P(k - 1) over k <= -1, which are the ones that count there."""
    weights = [exp(-k * k / 2) for k in range(-40, 41)]
    below = fsum(weights[:40]) / fsum(weights)  # P(k <= -1), and P(k <= -2)
    return log((below - 0.1414) / (fsum(weights[:39]) / fsum(weights)))
