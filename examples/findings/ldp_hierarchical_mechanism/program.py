"""ldp-hierarchical-mechanism 0.1.3: its amplification by shuffling."""

from finding import Library, formula

LIBRARY = Library(
    "ldp-hierarchical-mechanism",
    "0.1.3",
    ("ldp-hierarchical-mechanism==0.1.3", "scipy==1.15.3", "pandas==2.3.3", "tqdm==4.70.1"),
    "hierarchical_mechanism_LDP.computeamplification",
)
FILE = "hierarchical_mechanism_LDP/computeamplification.py"


def shuffled():
    """The certified loss of 10,000 shuffled randomised responses of epsilon 1, two values."""
    from ldp_audit.accounting import shuffle
    from ldp_audit.mechanisms import RandomizedResponse

    return shuffle(RandomizedResponse(1.0), n=10_000)


@formula(
    title="numerical amplification by shuffling",
    claim="upper bound for 10,000 reports of epsilon 1 at delta 1e-6",
    place=f"{FILE}: numericalanalysis",
    delta=1e-6,
    expected="above",
    proof="Hiding among the clones (Feldman, McMillan, Talwar 2021): each other report is a clone with probability e^-epsilon.",
)
def numerical():
    from hierarchical_mechanism_LDP.computeamplification import numericalanalysis

    return numericalanalysis(10_000, 1.0, 1e-6, 12, 50, True), shuffled()


@formula(
    title="closed form of amplification by shuffling",
    claim="bound for 10,000 reports of epsilon 1 at delta 1e-6",
    place=f"{FILE}: closedformanalysis",
    delta=1e-6,
    expected="above",
    proof="Theorem III.1 of the same paper.",
)
def closed_form():
    from hierarchical_mechanism_LDP.computeamplification import closedformanalysis

    return closedformanalysis(10_000, 1.0, 1e-6), shuffled()
