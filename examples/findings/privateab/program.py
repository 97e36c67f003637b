"""privateAB 0.0.2: its client's mechanisms."""

from math import e, exp

from finding import Library, epsilon_of, independent_bits, sampler

LIBRARY = Library("privateAB", "0.0.2", ("privateab==0.0.2", "torch==2.13.0"), "privateAB.client")
FILE = "privateAB/client.py"
P = exp(0.5) / (exp(0.5) + 1)


def released(name):
    """A client that releases n values at once, three categories, epsilon 1."""
    from privateAB.client import client
    from torch import full

    return lambda x, n, rng: client().release_private(name, full((n,), x), 3, 1.0, None).numpy()  # noqa: ARG005


@sampler(
    title="discrete Laplace noise",
    claim="epsilon 1, three categories",
    place=f"{FILE}: disclapu",
    inputs=(0, 1),
    epsilon=1.0,
    expected="violated",
    exact=lambda: epsilon_of([[1, 0], [0, 1]]),
    exact_by="which of the three coordinates is not a whole number",
    proof="The one-hot vector is multiplied by sqrt(k), and the noise is made of whole numbers. For k = 3, sqrt(3) + noise is never a whole number "
    "and 0 + noise always is: the coordinate that is not whole is the category. Epsilon is infinite for every k that is not a square.",
    fix="Round sqrt(k) up to a whole number, with the noise's parameter for that, or draw the noise on the grid of sqrt(k).",
    status="For k = 4, the README's example, sqrt(k) is whole and the formula has epsilon 1. We read the code, not the paper's definition. 0.0.2 is the newest release.",
)
def discrete_laplace():
    return released("disclapu")


@sampler(
    title="Laplace noise",
    claim="epsilon 1, three categories",
    place=f"{FILE}: lapu",
    inputs=(0, 1),
    epsilon=1.0,
    numeric=True,
    expected="consistent",
    proof="Laplace noise of scale 2/epsilon on each coordinate of a one-hot vector, all multiplied by sqrt(k).",
)
def laplace():
    return released("lapu")


@sampler(
    title="generalised randomised response",
    claim="epsilon 1, three categories",
    place=f"{FILE}: genrr",
    inputs=(0, 1, 2),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of([[e if x == y else 1 for y in range(3)] for x in range(3)]),
    exact_by="p = e/(e + 2), q = 1/(e + 2)",
    proof="The category has e times the weight of each other one.",
)
def generalised_response():
    return released("genrr")


@sampler(
    title="bit flips",
    claim="epsilon 1, three categories",
    place=f"{FILE}: bitflip",
    inputs=(0, 1, 2),
    epsilon=1.0,
    expected="consistent",
    exact=lambda: epsilon_of([independent_bits([P if x == y else 1 - P for y in range(3)]) for x in range(3)]),
    exact_by="three independent bits, each flipped with probability 1/(e^0.5 + 1)",
    proof="Two bits differ between two categories, each with ratio e^0.5.",
)
def bit_flips():
    return released("bitflip")
