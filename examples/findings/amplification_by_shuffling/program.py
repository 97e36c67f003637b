"""amplification-by-shuffling: the bounds of the privacy blanket."""

import os
import sys

from finding import Library, formula

LIBRARY = Library(
    "amplification-by-shuffling",
    "",
    (),
    "numpy",
    checkout="BorjaBalle/amplification-by-shuffling@1778a0dd16405cb10d780d5f1878ed0b1fb76f2e",
)
FILE = "shuffleddp/amplification_bounds.py"


def amplified(bound, epsilon, n, delta):
    """A bound's epsilon for n randomised responses of two values, and their certified loss."""
    sys.path.insert(0, os.environ["FINDING_CHECKOUT"])
    from shuffleddp import amplification_bounds, mechanisms

    from ldp_audit.accounting import shuffle
    from ldp_audit.mechanisms import RandomizedResponse

    claimed = getattr(amplification_bounds, bound)(mechanisms.RRMechanism(epsilon, 2)).get_eps(epsilon, n, delta)
    return claimed, shuffle(RandomizedResponse(epsilon), n=n)


@formula(
    title="Bennett's inequality",
    claim="epsilon of 10,000 shuffled randomised responses of epsilon 2 at delta 1e-5",
    place=f"{FILE}: BennettExact.get_eps",
    delta=1e-5,
    expected="above",
    proof="The mean over binomially many blanket reports of Bennett's bound on the positive part of a sum.",
)
def bennett():
    return amplified("BennettExact", 2.0, 10_000, 1e-5)


@formula(
    title="Hoeffding's inequality",
    claim="epsilon of 10,000 shuffled randomised responses of epsilon 2 at delta 1e-5",
    place=f"{FILE}: Hoeffding.get_eps",
    delta=1e-5,
    expected="above",
    proof="The same with Hoeffding's bound.",
)
def hoeffding():
    return amplified("Hoeffding", 2.0, 10_000, 1e-5)
