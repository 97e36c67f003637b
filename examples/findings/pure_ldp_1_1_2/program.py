"""pure-LDP 1.1.2: unary encoding, which 1.2.0 changes."""

from math import e, exp

from finding import Library, epsilon_of, independent_bits, sampler

LIBRARY = Library(
    "pure-LDP", "1.1.2", ("pure-ldp==1.1.2", "scikit-learn==1.9.1", "statsmodels==0.15.0", "xxhash==3.4.2"), "pure_ldp"
)
PLACE = "pure_ldp/frequency_oracles/unary_encoding/ue_client.py"
P, Q = exp(0.5) / (exp(0.5) + 1), 1 / (e + 1)


def kept(p, q):
    """Probability that the value's own bit is 1: set with probability p, or else as drawn, 1 with probability q."""
    return p + (1 - p) * q


@sampler(
    title="symmetric unary encoding",
    claim="epsilon 1, four values",
    place=f"{PLACE}: UEClient",
    inputs=(1, 2, 3, 4),
    epsilon=1.0,
    expected="violated",
    exact=lambda: epsilon_of(
        [independent_bits([kept(P, 1 - P) if x == y else 1 - P for y in range(4)]) for x in range(4)]
    ),
    exact_by="four independent bits, p = e^0.5/(e^0.5 + 1), q = 1 - p, p' = p + (1 - p) q",
    proof="All bits are drawn with q, and then the value's bit is set to 1 with probability p, else left: it is 1 with p' = p + (1 - p) q, not p. "
    "Two bits differ between two inputs: p'(1 - q)/(q(1 - p')) = 5.37 = e^1.68, instead of e.",
    fix="Set the value's bit to 0 before it is drawn with p. Version 1.2.0 does so, and is consistent.",
    status="Known: found by Arcolezi and Gambs (2023, arXiv:2309.01597), announced by the maintainer in issue #11 and fixed in 1.2.0 (PR #12), https://github.com/Samuel-Maddock/pure-LDP/issues/11. "
    "Kept here as a check of the tool.",
)
def symmetric_unary():
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    return UEClient(1.0, 4).privatise


@sampler(
    title="optimised unary encoding",
    claim="epsilon 1, four values",
    place=f"{PLACE}: UEClient, use_oue",
    inputs=(1, 2, 3, 4),
    epsilon=1.0,
    expected="violated",
    exact=lambda: epsilon_of([independent_bits([kept(0.5, Q) if x == y else Q for y in range(4)]) for x in range(4)]),
    exact_by="four independent bits, p = 1/2, q = 1/(e + 1), p' = p + (1 - p) q",
    proof="The value's bit is 1 with probability p' = 1/2 + q/2 = 0.634, not 1/2. "
    "Two bits differ between two inputs: p'(1 - q)/(q(1 - p')) = e (1 + q)/(1 - q) = e^1.55, instead of e.",
    fix="Set the value's bit to 0 before it is drawn with p. Version 1.2.0 does so, and is consistent.",
    status="Known: found by Arcolezi and Gambs (2023, arXiv:2309.01597), announced by the maintainer in issue #11 and fixed in 1.2.0 (PR #12), https://github.com/Samuel-Maddock/pure-LDP/issues/11. "
    "Kept here as a check of the tool.",
)
def optimised_unary():
    from pure_ldp.frequency_oracles.unary_encoding import UEClient

    return UEClient(1.0, 4, use_oue=True).privatise
