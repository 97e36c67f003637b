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
    claim="not stated in the repository; read from the name PE (FedSel's perturbed encoding) and its use PE(accum_grad, EPS*privacy1_percent): "
    "epsilon 1 for the index",
    place=f"{FILE}: PE",
    inputs=(0, 5),
    epsilon=1.0,
    samples=50_000,
    expected="violated",
    exact=lambda: epsilon_of([[1, 0], [0, 1]]),
    exact_by="the first dimension of the k largest, whatever the random bits are",
    proof="`arr.logical_xor(arr2)` returns a new tensor and leaves arr as it is; the result is not used. So no bit is flipped, and `arr.nonzero()[0]` is "
    "the smallest index of the k largest entries, at every epsilon: two gradients with different first entries give different outputs. Epsilon is infinite.",
    fix="arr = arr.logical_xor(arr2), and a uniform choice among all of arr.nonzero(), give FedSel's PE. That encoding's report has "
    "epsilon + ln((t + theta)/(1 + t theta)), 1.084 here, not exactly 1 (see ldp_audit.mechanisms.PerturbedEncoding.calibrated).",
    status="The newest commit that was found, of June 2025. ExpM, whose call is commented out, weighs magnitudes where FedSel weighs ranks.",
)
def perturbed_encoding():
    import numpy
    import torch

    encode = taken(FILE, "PE", torch=torch, np=numpy, math=math)
    return lambda first: int(encode(10.0 * torch.isin(torch.arange(20), torch.tensor([first, first + 1])), 1.0))


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
    claim="not stated in the repository; read from the function (LDP-FL's perturbation, EPS per weight), for weights outside [c - r, c + r]",
    place="src/client/LDP_FL.py: data_pertubation",
    inputs=(-3.0, 3.0),
    epsilon=1.0,
    expected="violated",
    exact=lambda: epsilon_of([[1, 0], [0, 1]]),
    exact_by="(w - c)/coff + r is below 0 for w = -3 and above 2 r for w = 3: no random number decides",
    proof="`# torch.clamp(W, min=c-r, max=c+r)` is commented out (and would need an assignment). The server sends the centre and, in the first round, "
    "the half-range of the global weights, then shrinks the range by 0.995 a round, so trained weights can leave it. Beyond the range epsilon is larger than "
    "claimed (1.71 at 1.5 r), and infinite from r (e + 1)/(e - 1) = 2.16 r on.",
    fix="W = torch.clamp(W, min=c - r, max=c + r) before the probabilities are computed.",
    status="The newest commit that was found, of June 2025.",
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
