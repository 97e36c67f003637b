"""What somebody else promises, as items of an account: an epsilon, an (epsilon, delta), a mu, a rho, a range, a curve.

A promise says nothing of the mechanism behind it, so its loss is that of the worst mechanism that keeps it; the bounds
then hold for every one, chosen adaptively too, as a dominating pair dominates each step whatever came before.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping

from ldp_audit.accounting.privacy_loss import PrivacyLoss, check_adjacency
from ldp_audit.losses.discrete_loss import ZERO_LOSS, pure_loss
from ldp_audit.losses.loss import LossWithInfinity, PairLoss
from ldp_audit.losses.moment_bound import RenyiLoss
from ldp_audit.losses.noise_losses import GaussianLoss
from ldp_audit.mechanisms.mechanism import Adjacency
from ldp_audit.mechanisms.selection.exponential_mechanism import ExponentialMechanism
from ldp_audit.numerics import as_float, between, instance, nonnegative, probability, shown


def Pure(epsilon: float, *, adjacency: Adjacency | None = None) -> PrivacyLoss:  # noqa: N802  (an item, used as a class is)
    """Every mechanism that is epsilon-differentially private: randomised response on two values dominates it.

    epsilon: nats, >= 0; infinity protects nothing.   adjacency: the neighbours of the promise; any two inputs if None.
    Raises ValueError for anything else. Source: Kairouz, Oh, Viswanath (ICML 2015), Theorem 3.3.
    """
    return _promise(pure_loss(nonnegative(epsilon, "epsilon")), f"epsilon = {epsilon:g}", adjacency)


def Approximate(  # noqa: N802
    epsilon: float, delta: float, *, adjacency: Adjacency | None = None
) -> PrivacyLoss:
    """Every mechanism that is (epsilon, delta)-differentially private.

    With probability delta the worst one names its input, and else it is randomised response on two values.
    epsilon: nats, >= 0.   delta: in [0, 1].   adjacency: see `Pure`.   Raises ValueError for anything else.
    Source: Kairouz, Oh, Viswanath (ICML 2015), Theorem 3.3.
    """
    share, common = probability(delta, "delta"), pure_loss(nonnegative(epsilon, "epsilon"))
    left = math.log1p(-share) if share < 1 else -math.inf
    loss = common if share == 0 or common.supremum() == math.inf else LossWithInfinity(common, left, left)
    return _promise(loss, f"epsilon = {epsilon:g} at delta = {delta:g}", adjacency)


def GaussianDP(mu: float, *, adjacency: Adjacency | None = None) -> PrivacyLoss:  # noqa: N802
    """Every mechanism whose trade-off curve is at least that of Gaussian noise of sensitivity/sigma = mu.

    mu: > 0, finite.   adjacency: see `Pure`.   Raises ValueError for anything else.
    Source: Dong, Roth, Su, "Gaussian Differential Privacy" (JRSS B 84, 2022), Definition 2.6.
    """
    size = between(mu, "mu", "a finite number > 0", lambda one: 0 < one < math.inf)
    return _promise(GaussianLoss(float(size)), f"mu = {mu:g}", adjacency)


def BoundedRange(epsilon: float, *, adjacency: Adjacency | None = None) -> PrivacyLoss:  # noqa: N802
    """Every mechanism whose losses span at most epsilon for each pair of neighbours, as exponential mechanisms' do.

    epsilon: nats, > 0, finite.   adjacency: see `Pure`.   Raises ValueError for anything else.
    Source: Dong, Durfee, Rogers, "Optimal Differential Privacy Composition for Exponential Mechanisms" (ICML 2020).
    """
    size = between(epsilon, "epsilon", "a finite number > 0", lambda one: 0 < one < math.inf)
    loss = ExponentialMechanism(float(size), 2).pair_loss()
    return _promise(loss, f"a range of {epsilon:g}", adjacency)


def ZCDP(rho: float, *, adjacency: Adjacency | None = None) -> PrivacyLoss:  # noqa: N802
    """Every mechanism that is rho-zero-concentrated differentially private: D_a <= rho a for every order a > 1.

    Its bounds are from above alone; sums add up rho.   rho: >= 0, finite.   adjacency: see `Pure`.
    Raises ValueError for anything else. Source: Bun, Steinke (TCC 2016), Definition 1.1; Canonne, Kamath, Steinke
    (NeurIPS 2020), Proposition 12, for delta.
    """
    size = float(between(rho, "rho", "a finite number >= 0", lambda one: 0 <= one < math.inf))
    loss = RenyiLoss(lambda order: size * order if size else 0.0, most=size)
    return _promise(loss if size else ZERO_LOSS, f"rho = {rho:g}", adjacency)


def Renyi(  # noqa: N802
    divergences: Mapping[float, float], *, adjacency: Adjacency | None = None
) -> PrivacyLoss:
    """Every mechanism whose Renyi divergences of these orders, in both orders of neighbours, are at most these.

    divergences: nats, >= 0, finite, by order a > 1, finite; at least one. Between two orders (a - 1) D_a is convex, and
    below the least one D_a is at most its divergence, as it does not fall; beyond the largest one nothing is known.
    adjacency: see `Pure`.   Raises ValueError for anything else.
    Source: Mironov, "Renyi Differential Privacy" (CSF 2017); van Erven, Harremoes (2014), Theorem 3, Corollary 2.
    """
    instance(divergences, Mapping, "divergences", "numbers by order, as {2: .5, 8: 3}")
    given = sorted((as_float(order), as_float(value)) for order, value in divergences.items())
    if not given or not all(1 < order < math.inf and 0 <= value < math.inf for order, value in given):
        raise ValueError(f"divergences must be finite numbers >= 0 by finite orders > 1, got {shown(divergences)}")
    orders = [order for order, _ in given]
    scaled = [(order - 1) * value for order, value in given]

    def bound(order: float) -> float:
        place = bisect_left(orders, order)
        if place == len(orders):
            return math.inf
        value = given[place][1]  # at most, as divergences do not fall
        if place == 0 or order == orders[place]:
            return value
        share = (order - orders[place - 1]) / (orders[place] - orders[place - 1])
        chord = (scaled[place - 1] + share * (scaled[place] - scaled[place - 1])) / (order - 1)
        return min(value, chord * (1 + 1e-13))

    words = ", ".join(f"{value:g} at order {order:g}" for order, value in given)
    return _promise(RenyiLoss(bound), f"a Renyi divergence of {words}", adjacency)


def _promise(loss: PairLoss, words: str, adjacency: Adjacency | None) -> PrivacyLoss:
    related = None if adjacency is None else check_adjacency(adjacency)
    return PrivacyLoss((loss,), (f"what is promised is {words}",), related, f"a promised {words}")
