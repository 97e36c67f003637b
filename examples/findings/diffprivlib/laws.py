"""diffprivlib 0.6.6: its mechanisms against the exact laws."""

from law import law

from ldp_audit import mechanisms

FOLDER = "diffprivlib/mechanisms"


@law(
    title="Binary",
    place=f"{FOLDER}/binary.py: Binary, lines 112-119",
    law=lambda: mechanisms.RandomizedResponse(1.0, k=2),
    inputs=(0, 1),
    proof="The value is kept with probability e/(e + 1).",
)
def binary():
    from diffprivlib.mechanisms import Binary

    response = Binary(epsilon=1.0, value0="0", value1="1")
    return lambda x: int(response.randomise(str(x)))


@law(
    title="Geometric",
    place=f"{FOLDER}/geometric.py: Geometric, lines 108-113",
    law=lambda: mechanisms.DiscreteLaplace(1.0),
    inputs=(0, 1),
    proof="v = |u|(1 + 1/e), u uniform in (-1/2, 1/2): -ln v rounded down is 0 with probability (1 - 1/e)/(1 + 1/e), and k > 0 with 2e^-k times this, half for each sign.",
)
def geometric():
    from diffprivlib.mechanisms import Geometric

    return Geometric(epsilon=1.0, sensitivity=1)


@law(
    title="GeometricTruncated",
    place=f"{FOLDER}/geometric.py: GeometricTruncated",
    law=lambda: mechanisms.DiscreteLaplace(1.0, lower=0, upper=3),
    inputs=(0, 1, 3),
    proof="As Geometric, clamped to the range.",
)
def geometric_truncated():
    from diffprivlib.mechanisms import GeometricTruncated

    return GeometricTruncated(epsilon=1.0, sensitivity=1, lower=0, upper=3)


@law(
    title="Laplace",
    place=f"{FOLDER}/laplace.py: Laplace, lines 125-127",
    law=lambda: mechanisms.Laplace(1.0),
    inputs=(0.0, 1.0),
    proof="The sum of two numbers, each an exponential one times the cosine of a uniform angle, with the characteristic function (1 + t^2)^(-1/2): together 1/(1 + t^2).",
)
def laplace():
    from diffprivlib.mechanisms import Laplace

    return Laplace(epsilon=1.0, sensitivity=1.0)


@law(
    title="Staircase",
    place=f"{FOLDER}/staircase.py: Staircase, lines 99-107",
    law=lambda: mechanisms.StaircaseNoise(1.0),
    inputs=(0.0, 1.0),
    proof="A sign, a geometric number of whole sensitivities, and one of a step's two parts with probabilities g : (1 - g)/e, g = 1/(1 + e^0.5).",
)
def staircase():
    from diffprivlib.mechanisms import Staircase

    return Staircase(epsilon=1.0, sensitivity=1.0)
