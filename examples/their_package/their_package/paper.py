"""Claims about the coin."""

from ldp_audit.claims import Claim, Paper, at_most, equal, is_private
from ldp_audit.mechanisms import T
from their_package.noisy_coin import COIN, VALUE


def private() -> Claim:
    return Claim("NC-1", "Section 1", "The coin is epsilon-LDP.", parts=is_private(COIN, T))


def more_private() -> Claim:
    return Claim("NC-2", "Section 1", "Its ratio is even at most (T + 1)/2.", parts=is_private(COIN, (T + 1) / 2))


def unbiased() -> Claim:
    estimate = (COIN.mean() * (T + 1) - 1) / (T - 1)
    return Claim("NC-3", "Section 2", "(y (T + 1) - 1)/(T - 1) has no bias.", parts=[equal(estimate, VALUE)])


def variance() -> Claim:
    return Claim("NC-4", "Section 2", "A report's variance is at most 1/4.", parts=[at_most(4 * COIN.variance(), 1)])


PAPER = Paper(
    key="theirs",
    title="A Noisy Coin",
    authors="Somebody Else",
    claims={"NC-1": private, "NC-2": more_private, "NC-3": unbiased, "NC-4": variance},
    mechanisms=(COIN,),
)
