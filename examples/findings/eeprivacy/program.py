"""eeprivacy 0.0.5: its mechanisms."""

from finding import Library, formula, sampler

LIBRARY = Library("eeprivacy", "0.0.5", ("eeprivacy==0.0.5",), "eeprivacy")
FILE = "eeprivacy/mechanisms.py"


@sampler(
    title="Laplace mechanism",
    claim="epsilon 1 at sensitivity 1",
    place=f"{FILE}: LaplaceMechanism.execute",
    inputs=(0.0, 1.0),
    epsilon=1.0,
    numeric=True,
    expected="consistent",
    exact=lambda: 1.0,
    exact_by="Laplace noise of scale 1",
    proof="Laplace noise of scale sensitivity/epsilon.",
)
def laplace():
    from eeprivacy.mechanisms import LaplaceMechanism

    return lambda x: LaplaceMechanism.execute(value=x, epsilon=1.0, sensitivity=1.0)


@formula(
    title="Gaussian calibration above epsilon 1",
    claim='"adding noise to `value` to realize differential private at (`epsilon`, `delta`)": epsilon 10 at delta 0.1',
    place=f"{FILE}: GaussianMechanism.scale, execute",
    delta=0.1,
    expected="too small",
    proof="sqrt(2 ln(1.25/delta))/epsilon is proved for epsilon below 1 alone. For epsilon 10 at delta 0.1 it is 0.225, the least sigma is 0.282: "
    "as epsilon grows, the least sigma falls as 1/sqrt(2 epsilon), not as 1/epsilon.",
    fix="The analytic calibration (Balle and Wang 2018), or a refusal above epsilon 1.",
)
def calibration():
    from eeprivacy.mechanisms import GaussianMechanism

    from ldp_audit.accounting import compose
    from ldp_audit.mechanisms import Gaussian

    return 10.0, compose([(Gaussian(GaussianMechanism.scale(sensitivity=1.0, epsilon=10.0, delta=0.1)), 1)])
