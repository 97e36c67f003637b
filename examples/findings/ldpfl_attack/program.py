"""LDPFL-Attack: clients of FedSel and LDP-FL."""

import math
import random

from finding import Library, epsilon_of, sampler, taken

LIBRARY = Library(
    "LDPFL-Attack",
    "",
    ("torch==2.13.0",),
    "torch",
    checkout="ZiJW/LDPFL-Attack@f9f37ea1e301fb415c6c4a96a83e3b8f8bce0f73",
)
FILE = "src/util.py"


@sampler(
    title="FedSel's perturbed encoding",
    claim="PE(V, 1): the selected dimension has epsilon 1, as FedSel's perturbed encoding",
    place=f"{FILE}: PE",
    inputs=(0, 5),
    epsilon=1.0,
    samples=50_000,
    expected="violated",
    exact=lambda: epsilon_of([[1, 0], [0, 1]]),
    exact_by="the first dimension of the k largest, whatever the random bits are",
    proof="`arr.logical_xor(arr2)` returns a new tensor and leaves arr as it is; the result is not used. So no bit is flipped, and `arr.nonzero()[0]` is "
    "the smallest index of the k largest entries, at every epsilon: two gradients with different first entries give different outputs. Epsilon is infinite.",
    fix="arr = arr.logical_xor(arr2), and a uniform choice among all of arr.nonzero().",
)
def perturbed_encoding():
    import numpy
    import torch

    encode = taken(FILE, "PE", torch=torch, np=numpy, math=math)
    return lambda first: int(encode(10.0 * torch.isin(torch.arange(20), torch.tensor([first, first + 1])), 1.0))


@sampler(
    title="FedSel's exponential mechanism",
    claim="ExpM(V, 1): the selected dimension has epsilon 1, as FedSel's exponential mechanism",
    place=f"{FILE}: ExpM",
    inputs=((10.0, 0.0, 0.0), (0.0, 10.0, 0.0)),
    epsilon=1.0,
    samples=50_000,
    expected="violated",
    exact=lambda: epsilon_of([[math.exp(5), 1, 1], [1, math.exp(5), 1]]),
    exact_by="weights e^(|V|/(d - 1)) with d = 3",
    proof="(The client calls PE; ExpM stands beside it.) FedSel's weights are e^(epsilon r/(d - 1)) with the rank r of an entry, which changes by at most d - 1. The code has the entry's magnitude "
    "in place of the rank, and magnitudes are not bounded: with 10 and d = 3 the ratio is e^5, and it grows with the gradient.",
    fix="Use ranks: torch.argsort(torch.argsort(torch.abs(V))) + 1.",
)
def exponential():
    import numpy
    import torch

    select = taken(FILE, "ExpM", torch=torch, np=numpy)
    return lambda gradient: int(select(torch.tensor(gradient), 1.0))


@sampler(
    title="LDP-FL's two-point report, weight in its range",
    claim="epsilon 1 for weights in [c - r, c + r]",
    place="src/client/LDP_FL.py: data_pertubation",
    inputs=(-1.0, 1.0),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of([[math.e, 1], [1, math.e]]),
    exact_by="w = c + r: the upper point with probability e/(e + 1)",
    proof="The upper point has probability 1/2 + (w - c)/(2 r) (e - 1)/(e + 1), which is 1/(e + 1) to e/(e + 1) in the range.",
)
def two_points():
    return reported


@sampler(
    title="LDP-FL's two-point report, any weight",
    claim="epsilon 1 for the weights of a trained model",
    place="src/client/LDP_FL.py: data_pertubation",
    inputs=(-3.0, 3.0),
    epsilon=1.0,
    expected="violated",
    exact=lambda: epsilon_of([[1, 0], [0, 1]]),
    exact_by="(w - c)/coff + r is below 0 for w = -3 and above 2 r for w = 3: no random number decides",
    proof="The paper's clients clip to [c - r, c + r]; the line that would is a comment, and its result would not be used. Beyond r (e + 1)/(e - 1) = 2.16 r "
    "the probability 1/2 + (w - c)/(2 r) (e - 1)/(e + 1) leaves [0, 1], and the report is the sign of w - c: epsilon is infinite.",
    fix="W = torch.clamp(W, min=c - r, max=c + r) before the probabilities are computed.",
)
def any_weight():
    return reported


@sampler(
    title="piecewise mechanism",
    claim="epsilon 1 for values in [-1, 1]",
    place=f"{FILE}: pm_perturbation",
    inputs=(-1.0, 0.0, 1.0),
    epsilon=1.0,
    numeric=True,
    expected="consistent",
    exact=lambda: 1.0,
    exact_by="two densities, e apart",
    proof="Piecewise mechanism of Wang et al. (2019): the density near the value is e times that elsewhere.",
)
def piecewise():
    import numpy
    import torch

    perturb = taken(FILE, "pm_perturbation", torch=torch, np=numpy)
    return lambda x: float(perturb(x, 1.0, 1.0))


def reported(x, n, rng):
    """n reports of the weight x with centre 0 and radius 1."""
    import torch

    torch.manual_seed(int(rng.integers(2**31)))
    perturb = taken("src/client/LDP_FL.py", "data_pertubation", torch=torch, math=math, random=random, DEVICE="cpu")
    return perturb(torch.full((n,), x), 0.0, 1.0, 1.0).numpy()
