"""What somebody else promises, as items of an account: an epsilon, an (epsilon, delta), a mu, a bounded range.

A promise says nothing of the mechanism behind it, so its loss is that of the worst mechanism that keeps it; the bounds
then hold for every one, chosen adaptively too, as a dominating pair dominates each step whatever came before.
"""

from __future__ import annotations

import math

from ldp_audit.accounting.privacy_loss import PrivacyLoss, check_adjacency
from ldp_audit.losses.discrete_loss import pure_loss
from ldp_audit.losses.loss import LossWithInfinity, PairLoss
from ldp_audit.losses.noise_losses import GaussianLoss
from ldp_audit.mechanisms.mechanism import Adjacency
from ldp_audit.mechanisms.selection.exponential_mechanism import ExponentialMechanism
from ldp_audit.numerics import between, nonnegative, probability


def Pure(epsilon: float, *, adjacency: Adjacency | None = None) -> PrivacyLoss:  # noqa: N802  (an item, used as a class is)
    """Every mechanism that is epsilon-differentially private: randomised response on two values dominates it.

    epsilon: nats, >= 0; infinity protects nothing.   adjacency: the neighbours of the promise; any two inputs if None.
    Raises ValueError for anything else. Source: Kairouz, Oh, Viswanath (ICML 2015), Theorem 3.3.
    """
    return _promise(pure_loss(nonnegative(epsilon, "epsilon")), f"what is promised is epsilon = {epsilon:g}", adjacency)


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
    return _promise(loss, f"what is promised is epsilon = {epsilon:g} at delta = {delta:g}", adjacency)


def GaussianDP(mu: float, *, adjacency: Adjacency | None = None) -> PrivacyLoss:  # noqa: N802
    """Every mechanism whose trade-off curve is at least that of Gaussian noise of sensitivity/sigma = mu.

    mu: > 0, finite.   adjacency: see `Pure`.   Raises ValueError for anything else.
    Source: Dong, Roth, Su, "Gaussian Differential Privacy" (JRSS B 84, 2022), Definition 2.6.
    """
    size = between(mu, "mu", "a finite number > 0", lambda one: 0 < one < math.inf)
    return _promise(GaussianLoss(float(size)), f"what is promised is mu = {mu:g}", adjacency)


def BoundedRange(epsilon: float, *, adjacency: Adjacency | None = None) -> PrivacyLoss:  # noqa: N802
    """Every mechanism whose losses span at most epsilon for each pair of neighbours, as exponential mechanisms' do.

    epsilon: nats, > 0, finite.   adjacency: see `Pure`.   Raises ValueError for anything else.
    Source: Dong, Durfee, Rogers, "Optimal Differential Privacy Composition for Exponential Mechanisms" (ICML 2020).
    """
    size = between(epsilon, "epsilon", "a finite number > 0", lambda one: 0 < one < math.inf)
    loss = ExponentialMechanism(float(size), 2).pair_loss()
    return _promise(loss, f"what is promised is a range of {epsilon:g}", adjacency)


def _promise(loss: PairLoss, words: str, adjacency: Adjacency | None) -> PrivacyLoss:
    return PrivacyLoss((loss,), (words,), None if adjacency is None else check_adjacency(adjacency))
