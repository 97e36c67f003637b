"""prv-accountant 0.2.0: its bounds."""

from finding import Library, formula

LIBRARY = Library("prv-accountant", "0.2.0", ("prv-accountant==0.2.0",), "prv_accountant")


def upper(mechanism, uses):
    """The accountant's upper bound on epsilon at delta 1e-5."""
    from prv_accountant import PRVAccountant

    accountant = PRVAccountant(prvs=[mechanism], max_self_compositions=[uses], eps_error=0.01, delta_error=1e-9)
    return accountant.compute_epsilon(1e-5, [uses])[2]


@formula(
    title="sampled Gaussian noise",
    claim="upper bound for 1,000 steps, Poisson sampling rate 0.01, noise multiplier 1, delta 1e-5",
    place="prv_accountant/accountant.py: PRVAccountant.compute_epsilon",
    delta=1e-5,
    expected="above",
    proof="A discretised privacy loss with a proved error, eps_error = 0.01, which is added.",
)
def sampled_gaussian():
    from prv_accountant import PoissonSubsampledGaussianMechanism

    from ldp_audit.accounting import compose, subsample
    from ldp_audit.mechanisms import Gaussian

    claimed = upper(PoissonSubsampledGaussianMechanism(sampling_probability=0.01, noise_multiplier=1.0), 1000)
    return claimed, compose([(subsample(Gaussian(1.0), rate=0.01), 1000)])


@formula(
    title="Laplace noise",
    claim="upper bound for 100 uses of scale 10, delta 1e-5",
    place="prv_accountant/accountant.py: PRVAccountant.compute_epsilon",
    delta=1e-5,
    expected="above",
    proof="As above.",
)
def laplace():
    from prv_accountant import LaplaceMechanism

    from ldp_audit.accounting import compose
    from ldp_audit.mechanisms import Laplace

    return upper(LaplaceMechanism(mu=0.1), 100), compose([(Laplace(10.0), 100)])
