"""dp-accounting 0.6.0: its accountants."""

from finding import Library, formula

LIBRARY = Library("dp-accounting", "0.6.0", ("dp-accounting==0.6.0",), "dp_accounting")
STEPS = "epsilon of 1,000 steps, Poisson sampling rate 0.01, noise multiplier 1, delta 1e-5"


def sampled_gaussians():
    """The loss that the accountants account for."""
    from ldp_audit.accounting import compose, subsample
    from ldp_audit.mechanisms import Gaussian

    return compose([(subsample(Gaussian(1.0), rate=0.01), 1000)])


def accounted(accountant, event, uses):
    """The epsilon at delta 1e-5 of so many uses of an event."""
    return accountant.compose(event, uses).get_epsilon(1e-5)


@formula(
    title="RDP accountant",
    claim=STEPS,
    place="dp_accounting/rdp/rdp_privacy_accountant.py: RdpAccountant",
    delta=1e-5,
    expected="above",
    proof="Renyi divergences, converted at the best order: an upper bound.",
)
def rdp():
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    from dp_accounting.rdp import RdpAccountant

    return accounted(RdpAccountant(), PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0)), 1000), sampled_gaussians()


@formula(
    title="PLD accountant",
    claim=STEPS,
    place="dp_accounting/pld/pld_privacy_accountant.py: PLDAccountant",
    delta=1e-5,
    expected="tight",
    proof="A privacy loss distribution whose discretisation is rounded towards a larger loss.",
)
def pld():
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    from dp_accounting.pld import PLDAccountant

    return accounted(PLDAccountant(), PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0)), 1000), sampled_gaussians()


@formula(
    title="PLD accountant, Laplace noise",
    claim="100 uses of Laplace noise of scale 10, delta 1e-5",
    place="dp_accounting/pld/pld_privacy_accountant.py: PLDAccountant",
    delta=1e-5,
    expected="tight",
    proof="As above.",
)
def pld_laplace():
    from dp_accounting import LaplaceDpEvent
    from dp_accounting.pld import PLDAccountant

    from ldp_audit.accounting import compose
    from ldp_audit.mechanisms import Laplace

    return accounted(PLDAccountant(), LaplaceDpEvent(10.0), 100), compose([(Laplace(10.0), 100)])
