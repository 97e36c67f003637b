"""This package on one case: python ours.py CASE WIDTH GIB, one line of JSON. WIDTH: of `compose`; both ends."""

import measure

from ldp_audit.accounting import compose, subsample
from ldp_audit.mechanisms import Gaussian, Laplace, RandomizedResponse

KINDS = {
    "rr": lambda epsilon: RandomizedResponse(epsilon),
    "laplace": lambda scale: Laplace(scale),
    "gaussian": lambda sigma: Gaussian(sigma),
    "sampled": lambda rate, sigma: subsample(Gaussian(sigma), rate=rate),
}


def bounds(case, width: str):
    """The ends."""
    parts = [(KINDS[kind](*parameters), times) for kind, parameters, times in case.parts]
    return compose(parts, width=float(width)).epsilon_bounds(case.delta)


if __name__ == "__main__":
    measure.measure(bounds)
