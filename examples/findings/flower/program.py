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
    condition="It holds where `sensitivity` bounds the distance of two neighbouring clipped updates; that is 2 x clipping_norm if any two updates are neighbours. "
    "The caller chooses it ('The sensitivity of the client model'); the class does not compare it with clipping_norm. "
    "With 0.1 for a clipping norm of 1, updates 2 apart have epsilon 50.",
    status="The documentation says that Differential Privacy in Flower is 'in a preview phase'; localdp_mod.py of 1.42.0 is byte-identical.",
)
def twice():
    from flwr.clientapp.mod import LocalDpMod

    return LocalDpMod(clipping_norm=1.0, sensitivity=2.0, epsilon=1.0, delta=0.1)


@formula(
    title="LocalDpMod, Gaussian calibration, epsilon 10",
    claim="epsilon 10 at delta 1e-5 and sensitivity 1, the arguments of LocalDpMod(1, 1, 10, 1e-5)",
    place=PLACE,
    delta=1e-5,
    expected="too small",
    proof="sqrt(2 ln(1.25/delta))/epsilon is proved for epsilon below 1. At delta 1e-5 it also suffices up to epsilon 8.4; at 10 it gives delta 2.27e-5, "
    "that is epsilon 10.39. As epsilon grows, the least sigma falls as 1/sqrt(2 epsilon), not as 1/epsilon.",
    fix="The analytic calibration (Balle and Wang 2018), or a refusal above epsilon 1.",
    status="The formula is documented (explanation-differential-privacy), without its range of validity; Differential Privacy in Flower is 'in a preview phase'. "
    "Unchanged in 1.42.0.",
)
def calibration():
    from flwr.clientapp.mod import localdp_mod
    from numpy.random import default_rng

    from ldp_audit.accounting import compose
    from ldp_audit.auditing import as_sampler
    from ldp_audit.mechanisms import Gaussian

    sigmas = []
    localdp_mod.add_gaussian_noise_inplace = lambda arrays, sigma: sigmas.append(sigma)  # noqa: ARG005
    as_sampler(localdp_mod.LocalDpMod(1.0, 1.0, 10.0, 1e-5))(1.0, 1, default_rng(0))
    return 10.0, compose([(Gaussian(sigmas[0]), 1)])
