"""pfl 0.6.0: its mechanisms as local ones."""

from finding import Library, gaussian_epsilon, sampler

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
)
def laplace_present():
    from pfl.privacy.laplace_mechanism import LaplaceMechanism

    return privatised(LaplaceMechanism(1.0, 1.0))


@sampler(
    title="Laplace mechanism as a local one, two updates",
    claim="privatize with epsilon 1 gives local privacy of epsilon 1 to any two updates",
    place="pfl/privacy/privacy_mechanism.py: LocalPrivacyMechanism.privatize; laplace_mechanism.py",
    inputs=(-1.0, 1.0),
    epsilon=1.0,
    samples=50_000,
    expected="violated",
    exact=lambda: 2.0,
    exact_by="Laplace noise of scale 1 on numbers that differ by 2",
    proof="Two updates of norm 1 are up to 2 apart, and the noise has the scale clipping bound/epsilon = 1: the ratio of the densities is e^2. "
    "The noise is calibrated to an update that is there or not. Local privacy compares any two updates, for which the sensitivity is twice the bound.",
    fix="As a local mechanism, scale the noise by twice the clipping bound, or say that the guarantee is against an update of 0.",
)
def laplace_local():
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
)
def gaussian_present():
    return privatised(calibrated())


@sampler(
    title="Gaussian mechanism as a local one, two updates",
    claim="privatize with epsilon 1 and delta 0.1 gives local privacy of these to any two updates",
    place="pfl/privacy/privacy_mechanism.py: LocalPrivacyMechanism.privatize; gaussian_mechanism.py",
    inputs=(-1.0, 1.0),
    epsilon=1.0,
    delta=0.1,
    samples=50_000,
    expected="violated",
    exact=lambda: gaussian_epsilon(calibrated().relative_noise_stddev, 0.1, 2.0),
    exact_by="Gaussian noise of the mechanism's relative_noise_stddev on numbers that differ by 2",
    proof="As for the Laplace mechanism: two clipped updates are up to 2 apart, and sigma is calibrated to a distance of 1.",
    fix="As for the Laplace mechanism.",
)
def gaussian_local():
    return privatised(calibrated())
