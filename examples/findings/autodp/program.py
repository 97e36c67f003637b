"""autodp 0.2.3.1: its accountants and calibrations."""

from finding import Library, formula

LIBRARY = Library("autodp", "0.2.3.1", ("autodp==0.2.3.1",), "autodp.mechanism_zoo")


def composed(mechanism, uses):
    """The certified loss of so many uses."""
    from ldp_audit.accounting import compose

    return compose([(mechanism, uses)])


@formula(
    title="Gaussian mechanism",
    claim="epsilon at delta 1e-5 of noise of sigma 2",
    place="autodp/mechanism_zoo.py: ExactGaussianMechanism",
    delta=1e-5,
    expected="tight",
    proof="The exact privacy profile of Gaussian noise.",
)
def gaussian():
    from autodp.mechanism_zoo import ExactGaussianMechanism

    from ldp_audit.mechanisms import Gaussian

    return ExactGaussianMechanism(2.0).get_approxDP(1e-5), composed(Gaussian(2.0), 1)


@formula(
    title="composed randomised responses",
    claim="epsilon at delta 1e-5 of 100 responses of epsilon 0.1",
    place="autodp/mechanism_zoo.py: RandresponseMechanism; transformer_zoo.py: Composition",
    delta=1e-5,
    expected="above",
    proof="Renyi divergences, converted at the best order: an upper bound.",
)
def responses():
    from math import exp

    from autodp.mechanism_zoo import RandresponseMechanism
    from autodp.transformer_zoo import Composition

    from ldp_audit.mechanisms import RandomizedResponse

    one = RandresponseMechanism(p=exp(0.1) / (exp(0.1) + 1))
    return Composition()([one], [100]).get_approxDP(1e-5), composed(RandomizedResponse(0.1), 100)


@formula(
    title="composed Laplace noise",
    claim="epsilon at delta 1e-5 of 100 uses of scale 10",
    place="autodp/mechanism_zoo.py: LaplaceMechanism; transformer_zoo.py: Composition",
    delta=1e-5,
    expected="above",
    proof="Renyi divergences, converted at the best order: an upper bound.",
)
def laplace():
    from autodp.mechanism_zoo import LaplaceMechanism
    from autodp.transformer_zoo import Composition

    from ldp_audit.mechanisms import Laplace

    return Composition()([LaplaceMechanism(b=10.0)], [100]).get_approxDP(1e-5), composed(Laplace(10.0), 100)


@formula(
    title="analytic calibration",
    claim="ana_gaussian_mech(1, 1e-5) gives epsilon 1 at delta 1e-5",
    place="autodp/privacy_calibrator.py: ana_gaussian_mech",
    delta=1e-5,
    expected="tight",
    proof="The least sigma with delta(1) = 1e-5 (Balle and Wang 2018, Algorithm 1).",
)
def calibration():
    from autodp.privacy_calibrator import ana_gaussian_mech

    from ldp_audit.mechanisms import Gaussian

    return 1.0, composed(Gaussian(ana_gaussian_mech(1.0, 1e-5)["sigma"]), 1)
