"""This package on one case: python ours.py CASE WIDTH GIB, one line of JSON. WIDTH: of `compose`; both bounds."""

import importlib
import pkgutil

import measure

from ldp_audit.accounting import best_of, calibrate, compose, random_allocation, shuffle, subsample
from ldp_audit.mechanisms import Gaussian, Laplace, Piecewise, RandomizedResponse

KINDS = {
    "rr": lambda epsilon, k=2: RandomizedResponse(epsilon, k=k),
    "laplace": lambda scale: Laplace(scale),
    "gaussian": lambda sigma: Gaussian(sigma),
    "sampled": lambda rate, sigma: subsample(Gaussian(sigma), rate=rate),
    "sampled laplace": lambda rate, scale: subsample(Laplace(scale), rate=rate),
    "piecewise": lambda epsilon: Piecewise(epsilon),
    "shuffled": lambda epsilon, k, n: shuffle(RandomizedResponse(epsilon, k=k), n=n),
    "allocated": lambda sigma, steps: random_allocation(Gaussian(sigma), steps=steps),
    "grouped": lambda rate, sigma, group: subsample(Gaussian(sigma), rate=rate, group=group),
    "truncated": lambda rate, sigma, most, records: subsample(
        Gaussian(sigma), rate=rate, truncated=most, records=records
    ),
    "best of": lambda scale, mean: best_of(Laplace(scale), "geometric", mean=mean),
    "shuffled laplace": lambda scale, n: shuffle(Laplace(scale, replaced=1.0), n=n),
}


def used(part):
    """A mechanism, and how often."""
    kind, parameters, times = part
    return KINDS[kind](*parameters), times


def bounds(case, width: str):
    """Lower and upper bound."""
    return compose([used(part) for part in case.parts], width=float(width)).epsilon_bounds(case.delta)


def calibrated(case, width: str):
    """A noise whose upper bound exceeds the budget, None if all do, and the one that does."""
    found = calibrate(
        lambda noise: compose([used(case.part(noise))], width=float(width)),
        epsilon=case.epsilon,
        delta=case.delta,
        low=case.low,
        high=case.high,
        tolerance=case.tolerance / case.high,
    )
    return found.excluded, found.value


def import_all():
    """Everything that an answer may import late."""
    importlib.import_module("scipy.optimize")
    for name in ("ldp_audit.accounting", "ldp_audit.mechanisms"):
        for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
            if "torch" not in module.name:
                importlib.import_module(module.name)


if __name__ == "__main__":
    if measure.ONCE:
        import_all()
        measure.measure_once(bounds, calibrated)
    else:
        measure.measure(bounds)
