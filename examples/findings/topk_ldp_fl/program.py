"""topk-subsample-LDP-FL: the noise of its randomiser."""

import os
import sys

from finding import Library, formula, sampler, taken

LIBRARY = Library(
    "topk-subsample-LDP-FL",
    "",
    ("torch==2.13.0",),
    "torch",
    checkout="yushengzh/topk-subsample-LDP-FL@5c0febdd622dd91ad97e401e2e81d8cbf45e123d",
)
FILE = "src/privacy.py"


def added(name, *parameters):
    """A function of the file that adds noise to a gradient, as a function of one gradient."""
    import torch

    add = taken(FILE, name, torch=torch)
    return lambda gradient: add(torch.tensor(gradient), *parameters).tolist()


@sampler(
    title="Laplace noise on a vector",
    claim="AddLaplaceNoise(grads, 1, 1): epsilon 1 at sensitivity 1",
    place=f"{FILE}: AddLaplaceNoise",
    inputs=((0.0, 0.0), (1.0, 0.0)),
    epsilon=1.0,
    samples=50_000,
    expected="violated",
    exact=lambda: float("inf"),
    exact_by="the difference of the two coordinates has no noise",
    proof="`noise.sample()` without a shape is one number, which is added to all coordinates. The difference of two coordinates is that of the "
    "gradient: 0 for the one input and 1 for the other. Epsilon is infinite.",
    fix="noise.sample(grads.shape).",
    status="The file has no docstrings; the claim is the names `sens` and `epsilon` and the README's 'Privacy Budget'.",
)
def laplace():
    return added("AddLaplaceNoise", 1.0, 1.0)


@sampler(
    title="Gaussian noise on a vector",
    claim="AddGaussianNoise(grads, 1, 1, 0.1): epsilon 1 at delta 0.1 and sensitivity 1",
    place=f"{FILE}: AddGaussianNoise",
    inputs=((0.0, 0.0), (1.0, 0.0)),
    epsilon=1.0,
    delta=0.1,
    samples=50_000,
    expected="violated",
    exact=lambda: float("inf"),
    exact_by="the difference of the two coordinates has no noise",
    proof="As with Laplace noise: one number is added to all coordinates.",
    fix="noise.sample(grads.shape).",
    status="The file has no docstrings; the claim is the names `sens` and `epsilon` and the README's 'Privacy Budget'.",
)
def gaussian():
    return added("AddGaussianNoise", 1.0, 1.0, 0.1)


@sampler(
    title="Laplace noise on one number",
    claim="AddLaplaceNoise(grads, 1, 1): epsilon 1 at sensitivity 1, for a gradient of one entry",
    place=f"{FILE}: AddLaplaceNoise",
    inputs=((0.0,), (1.0,)),
    epsilon=1.0,
    samples=50_000,
    numeric=True,
    expected="consistent",
    exact=lambda: 1.0,
    exact_by="Laplace noise of scale 1",
    proof="For one entry the one number is the noise that it needs.",
)
def one_number():
    return added("AddLaplaceNoise", 1.0, 1.0)


@formula(
    title="amplification by shuffling",
    claim="epsilon of 10,000 shuffled randomised responses of epsilon 2 at delta 1e-5",
    place="src/amplification/amplification_bound.py: BennettExact.get_eps",
    delta=1e-5,
    expected="too small",
    proof="Bennett's bound integrates to b/log(1 + a b/c) e^(-m alpha phi). The code divides by a further m a, a = e^epsilon - 1: m is in the divisor of "
    "expectation_l and a in eta. At its epsilon 0.0666 the counts of ones, Bin(9999, q) + Bin(1, p or q), have delta 2.07e-5, not 1e-5. "
    "The repository that the file is taken from has corrected both.",
    fix="np.exp(-m * alpha * phi(beta)) / (log(1 + beta) / b_plus), as in BorjaBalle/amplification-by-shuffling.",
    status="The file comes from BorjaBalle/amplification-by-shuffling, which is corrected, and keeps the former lines as comments "
    "(`#eta = a / b_plus`).",
)
def amplification():
    sys.path.insert(0, f"{os.environ['FINDING_CHECKOUT']}/src")
    from amplification import amplification_bound, mechanisms

    from ldp_audit.accounting import shuffle
    from ldp_audit.mechanisms import RandomizedResponse

    bound = amplification_bound.BennettExact(mechanisms.RRMechanism(2.0, 2))
    return bound.get_eps(2.0, 10_000, 1e-5), shuffle(RandomizedResponse(2.0), n=10_000)
