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
    title="Gaussian calibration, epsilon 10",
    claim='"adding noise to `value` to realize differential private at (`epsilon`, `delta`) for the provided `sensitivity`", at epsilon 10, delta 1e-5',
    place=f"{FILE}: GaussianMechanism.scale, execute",
    delta=1e-5,
    expected="too small",
    proof="sqrt(2 ln(1.25/delta))/epsilon is proved for epsilon below 1. At delta 1e-5 it also suffices up to epsilon 8.4; at 10 it gives delta 2.27e-5, "
    "that is epsilon 10.39. As epsilon grows, the least sigma falls as 1/sqrt(2 epsilon), not as 1/epsilon.",
    fix="The analytic calibration (Balle and Wang 2018), or a refusal above epsilon 1.",
    status="0.0.5 is the newest release.",
)
def calibration():
    from eeprivacy.mechanisms import GaussianMechanism

    from ldp_audit.accounting import compose
    from ldp_audit.mechanisms import Gaussian

    return 10.0, compose([(Gaussian(GaussianMechanism.scale(sensitivity=1.0, epsilon=10.0, delta=1e-5)), 1)])
