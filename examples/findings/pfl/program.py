"""pfl 0.6.0: its mechanisms as local ones."""

from finding import Library, sampler

LIBRARY = Library("pfl", "0.6.0", ("pfl==0.6.0",), "pfl.privacy.laplace_mechanism")


def privatised(mechanism):
    """The client's side: an update of one number goes in, the same after clipping and noise comes out."""
    from numpy import array
    from pfl.stats import MappedVectorStatistics

    return lambda x: float(mechanism.privatize(MappedVectorStatistics({"w": array([x])}))[0]["w"][0])


def calibrated():
    """The Gaussian mechanism of epsilon 1 at delta 0.1 and clipping bound 1."""
    from pfl.privacy.gaussian_mechanism import GaussianMechanism

    return GaussianMechanism.construct_single_iteration(1.0, 1.0, 0.1)


@sampler(
    title="Laplace mechanism, one client's update or none",
    claim="epsilon 1 at clipping bound 1, against an update of 0",
    place="pfl/privacy/laplace_mechanism.py: LaplaceMechanism",
    inputs=(0.0, 1.0),
    epsilon=1.0,
    samples=50_000,
    numeric=True,
    expected="consistent",
    exact=lambda: 1.0,
    exact_by="Laplace noise of scale 1 on numbers that differ by 1",
    proof="The update is clipped to norm 1, and the noise has the scale clipping bound/epsilon = 1.",
    status="This is the guarantee against an update of 0 (one user present or not), the relation that Definition 3.1, which the docstring cites, uses. Local "
    "privacy is often defined for any two inputs: two clipped updates are 2 bounds apart, and the epsilon is then 2 (Laplace) and 3.316 at delta 0.1 "
    "(Gaussian). The class LocalPrivacyMechanism does not say which is meant; for any two updates, give half the epsilon (Laplace), or calibrate to twice "
    "the bound.",
)
def laplace_present():
    from pfl.privacy.laplace_mechanism import LaplaceMechanism

    return privatised(LaplaceMechanism(1.0, 1.0))


@sampler(
    title="Gaussian mechanism, one client's update or none",
    claim="epsilon 1 at delta 0.1 and clipping bound 1, against an update of 0",
    place="pfl/privacy/gaussian_mechanism.py: GaussianMechanism.construct_single_iteration",
    inputs=(0.0, 1.0),
    epsilon=1.0,
    delta=0.1,
    samples=50_000,
    numeric=True,
    expected="consistent",
    proof="The least sigma with delta(1) = 0.1 (Balle and Wang 2018, Algorithm 1).",
    status="This is the guarantee against an update of 0 (one user present or not), the relation that Definition 3.1, which the docstring of LaplaceMechanism "
    "cites, uses. Local privacy is often defined for any two inputs: two clipped updates are 2 bounds apart, and the epsilon is then 2 (Laplace) and 3.316 "
    "at delta 0.1 (Gaussian). The class LocalPrivacyMechanism does not say which is meant; for any two updates, give half the epsilon (Laplace), or "
    "calibrate to twice the bound.",
)
def gaussian_present():
    return privatised(calibrated())
