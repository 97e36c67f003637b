"""prv-accountant on one case: python prv_accountant.py CASE ERROR GIB, one line of JSON.

ERROR is the error in epsilon that it is asked for; the error in delta is a thousandth of delta, as its page says. Its
sampled Gaussian is one direction of the two, and it knows of no other.
"""

import warnings

import measure

import prv_accountant as prv

warnings.simplefilter("ignore")
KINDS = {
    "rr": lambda epsilon: prv.privacy_random_variables.PureDPMechanism(epsilon),
    "laplace": lambda scale: prv.privacy_random_variables.LaplaceMechanism(1 / scale),
    "gaussian": lambda sigma: prv.privacy_random_variables.GaussianMechanism(sigma),
    "sampled": lambda rate, sigma: prv.privacy_random_variables.PoissonSubsampledGaussianMechanism(rate, sigma),
}


def bounds(case, setting: str):
    """Lower and upper bound."""
    variables = [KINDS[kind](*parameters) for kind, parameters, _ in case.parts]
    times = [times for _, _, times in case.parts]
    accountant = prv.PRVAccountant(variables, float(setting), case.delta / 1000, max_self_compositions=times)
    lower, _, upper = accountant.compute_epsilon(case.delta, num_self_compositions=times)
    return lower, upper


if __name__ == "__main__":
    measure.measure(bounds)
