"""Flower 1.41.0: its mod for local differential privacy."""

from math import log, sqrt

from finding import Library, formula, gaussian_epsilon, sampler

LIBRARY = Library("Flower", "1.41.0", ("flwr==1.41.0",), "flwr.clientapp.mod")
PLACE = "flwr/clientapp/mod/localdp_mod.py: LocalDpMod"
SIGMA = sqrt(2 * log(1.25 / 0.1))


@sampler(
    title="LocalDpMod, sensitivity twice the clipping norm",
    claim="epsilon 1 at delta 0.1, for any two updates",
    place=PLACE,
    inputs=(-1.0, 1.0),
    epsilon=1.0,
    delta=0.1,
    samples=20_000,
    numeric=True,
    expected="consistent",
    exact=lambda: gaussian_epsilon(2 * SIGMA, 0.1, 2.0),
    exact_by="Gaussian noise of sigma = 2 sqrt(2 ln 12.5) = 4.495 on numbers that differ by 2",
    proof="Two clipped updates are at most twice the clipping norm apart, which is the sensitivity given; sigma is the classical one, at epsilon 1.",
)
def twice():
    from flwr.clientapp.mod import LocalDpMod

    return LocalDpMod(clipping_norm=1.0, sensitivity=2.0, epsilon=1.0, delta=0.1)


@sampler(
    title="LocalDpMod, sensitivity a tenth of the clipping norm",
    claim="epsilon 1 at delta 0.1, for any two updates that clipping_norm=1 allows, with sensitivity=0.1, which is accepted",
    place=PLACE,
    inputs=(-1.0, 1.0),
    epsilon=1.0,
    delta=0.1,
    samples=20_000,
    expected="violated",
    exact=lambda: gaussian_epsilon(0.1 * SIGMA, 0.1, 2.0),
    exact_by="Gaussian noise of sigma = 0.1 sqrt(2 ln 12.5) = 0.2248 on numbers that differ by 2",
    proof="Sensitivity and clipping norm are separate arguments, and any pair is accepted. Two clipped updates are up to 2 apart, and sigma is "
    "calibrated to the 0.1 that is given: the epsilon of the arguments is that of no neighbours that the clipping allows.",
    fix="Derive the sensitivity from the clipping norm (twice it for any two updates), or refuse one that is smaller.",
)
def tenth():
    from flwr.clientapp.mod import LocalDpMod

    return LocalDpMod(clipping_norm=1.0, sensitivity=0.1, epsilon=1.0, delta=0.1)


@formula(
    title="LocalDpMod above epsilon 1",
    claim="epsilon 10 at delta 0.1, sensitivity 1",
    place=PLACE,
    delta=0.1,
    expected="too small",
    proof="sqrt(2 ln(1.25/delta))/epsilon is proved for epsilon below 1 alone. For epsilon 10 at delta 0.1 it is 0.225, the least sigma is 0.282: "
    "as epsilon grows, the least sigma falls as 1/sqrt(2 epsilon), not as 1/epsilon.",
    fix="The analytic calibration (Balle and Wang 2018), or a refusal above epsilon 1.",
)
def calibration():
    from flwr.clientapp.mod import localdp_mod
    from numpy.random import default_rng

    from ldp_audit.accounting import compose
    from ldp_audit.auditing import as_sampler
    from ldp_audit.mechanisms import Gaussian

    sigmas = []
    localdp_mod.add_gaussian_noise_inplace = lambda arrays, sigma: sigmas.append(sigma)  # noqa: ARG005
    as_sampler(localdp_mod.LocalDpMod(1.0, 1.0, 10.0, 0.1))(1.0, 1, default_rng(0))
    return 10.0, compose([(Gaussian(sigmas[0]), 1)])
