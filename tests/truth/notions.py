"""Conversions between notions of privacy, calibration, and trade-off curves."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from flint import arb

from tests.truth import parts
from tests.truth.draws import DELTAS, Asked, Rng, budget, pick, round_to
from tests.truth.questions import Budget, DeltaAt, EpsilonAt, Truth, ValueOf
from tests.truth.truths import ZERO, Laplace, Normal, Outcomes, Sampled, exp, tail


def renyi(pair: Outcomes, order: float) -> arb:
    """ln(sum of p**a q**(1 - a)) / (a - 1); at order 1 the sum of p ln(p/q)."""
    if order == 1:
        return sum((p * (p / q).log() for p, q in pair.pairs), ZERO)
    alpha = arb(order)
    total = sum(((alpha * p.log() + (1 - alpha) * q.log()).exp() for p, q in pair.pairs), ZERO)
    return total.log() / (alpha - 1)


def miss_rate(pair: Outcomes, false_alarm: float) -> arb:
    """The least miss rate of a test with this false-alarm rate: the supremum over gamma of 1 - H(gamma) - gamma alpha.

    The function is concave and piecewise linear, so that the largest value is at a ratio p/q (or at 0).
    """
    values = [1 - pair.at(p / q) - p / q * false_alarm for p, q in pair.pairs if not q.is_zero()]
    return max([ZERO, *values], key=lambda value: float(value.mid()))


def normal_quantile(upper: arb) -> arb:
    """x with P(N > x) = upper."""
    return arb(2).sqrt() * (2 * upper).erfcinv()


def least_mu(pair: Outcomes) -> arb:
    """The least mu of Gaussian differential privacy: the largest Phi^-1(1 - alpha) - Phi^-1(beta) over the corners."""
    ordered = sorted(pair.pairs, key=lambda one: float((one[0] / one[1]).mid()), reverse=True)
    alarm, hit, best = ZERO, ZERO, ZERO
    for p, q in ordered[:-1]:
        alarm, hit = alarm + q, hit + p
        found = normal_quantile(alarm) - normal_quantile(hit)
        best = max(best, found, key=lambda value: float(value.mid()))
    return best


def conversion(rng: Rng) -> Asked:
    """Between notions of privacy, each against the mechanism that attains it."""
    epsilon, alpha = budget(rng, 1e-4, 20.0), round_to(float(1 + np.exp(rng.uniform(-3, 4))), 5)
    mu, delta = round_to(float(np.exp(rng.uniform(-4, 2))), 5), float(pick(rng, DELTAS))
    level = round_to(float(rng.uniform(0, 2 * mu * mu + 4 * mu)), 5)
    rho = round_to(mu * mu / 2, 6)
    normal, rr = Truth((Normal(arb(mu)),), mu * mu), Truth(parts.response(epsilon).directions, epsilon)
    of_rho, pair = Truth((Normal((2 * arb(rho)).sqrt()),), mu * mu), parts.response(epsilon).outcomes[0]
    other = parts.any_finite(rng, largest=5.0, sizes=6)
    some, order = other.outcomes[0], arb(alpha)
    noise = order / (2 * order - 1) * ((order - 1) * arb(epsilon)).exp()
    noise += (order - 1) / (2 * order - 1) * (-order * arb(epsilon)).exp()
    loss = f"privacy_loss({other.code})"
    simple = bool(rng.integers(2))
    listed: tuple[Asked, ...] = (
        (f"gdp_to_delta({mu!r}, {level!r})", DeltaAt(normal, level)),
        (f"gdp_to_epsilon({mu!r}, {delta!r})", EpsilonAt(normal, delta)),
        (f"gdp_within({epsilon!r}, {delta!r})", Budget(_normal, epsilon, delta, 0.0, 1e3, increasing=True)),
        (f"gdp_of({loss})", ValueOf(least_mu(some))),
        (f"pure_to_gdp({epsilon!r})", ValueOf(2 * normal_quantile(1 / (1 + exp(epsilon))))),
        (f"pure_to_delta({epsilon!r}, {epsilon * 0.37!r})", DeltaAt(rr, epsilon * 0.37)),
        (f"pure_to_epsilon({epsilon!r}, {delta!r})", EpsilonAt(rr, delta)),
        (f"pure_to_renyi({epsilon!r}, {alpha!r})", ValueOf(renyi(pair, alpha))),
        (f"pure_to_zcdp({epsilon!r})", ValueOf(renyi(pair, 1))),
        (f"pure_to_zcdp_by_square({epsilon!r})", ValueOf(renyi(pair, 1))),
        (f"response_renyi({epsilon!r}, {alpha!r}, 7)", ValueOf(renyi(parts.response(epsilon, 7).outcomes[0], alpha))),
        (f"gaussian_renyi({mu!r}, {alpha!r})", ValueOf(order * arb(mu) ** 2 / 2)),
        (f"laplace_renyi({epsilon!r}, {alpha!r})", ValueOf(noise.log() / (order - 1))),
        (f"gaussian_zcdp({mu!r})", ValueOf(arb(mu) ** 2 / 2)),
        (f"laplace_zcdp({epsilon!r})", ValueOf(arb(epsilon) + (-arb(epsilon)).exp() - 1)),
        (f"renyi_divergence({loss}, {alpha!r})", ValueOf(renyi(some, alpha))),
        (f"zcdp_of({loss})", ValueOf(max((renyi(some, a) / a for a in (1, 1.5, 4.0)), key=float))),
        (
            f"renyi_to_epsilon(lambda a: renyi_divergence({loss}, a).value, {delta!r}, simple={simple})",
            EpsilonAt(Truth((some,), other.reach), delta),
        ),
        (f"renyi_to_epsilon(lambda a: a * {rho!r}, {delta!r})", EpsilonAt(of_rho, delta)),
        (f"renyi_to_delta(lambda a: a * {rho!r}, {level!r})", DeltaAt(of_rho, level)),
        (f"zcdp_to_epsilon({rho!r}, {delta!r}, simple={simple})", EpsilonAt(of_rho, delta)),
        (f"zcdp_to_delta({rho!r}, {level!r}, simple={simple})", DeltaAt(of_rho, level)),
    )
    return listed[int(rng.integers(len(listed)))]


def _normal(mu: float) -> Truth:
    return Truth((Normal(arb(mu)),), mu * mu) if mu > 0 else Truth((parts.response(0.0).outcomes[0],))


def calibration(rng: Rng) -> Asked:
    """The returned parameter must meet the budget by the truth."""
    target, delta = budget(rng, 0.05, 8.0, 0.2), float(pick(rng, DELTAS))
    times, rate = int(rng.integers(2, 40)), float(pick(rng, (0.01, 0.1)))
    ranges = f"epsilon={target!r}, delta={delta!r}, low={{}}, high={{}}, increasing={{}})"

    def responses(epsilon: float) -> Truth:
        return Truth((parts.response(epsilon).outcomes[0].power(times),), times * epsilon)

    def noises(sigma: float) -> Truth:
        return _normal(math.sqrt(times) / sigma)

    def samples(sigma: float) -> Truth:
        one = Sampled(Normal(1 / arb(sigma)), arb(rate))
        return Truth((one, one.back()), sigma**-2)

    def laplaces(scale: float) -> Truth:
        return Truth((Laplace(1 / arb(scale)),), 1 / scale)

    listed: tuple[tuple[str, Callable[[float], Truth], float, float, bool], ...] = (
        (f"lambda x: compose([(RandomizedResponse(x), {times})])", responses, 1e-6, 20.0, True),
        (f"lambda x: compose([(Gaussian(x), {times})])", noises, 0.05, 1e5, False),
        (f"lambda x: subsample(Gaussian(x), rate={rate!r})", samples, 0.1, 1e4, False),
        ("lambda x: Laplace(x)", laplaces, 1e-3, 1e3, False),
    )
    build, truth, low, high, rises = listed[int(rng.integers(len(listed)))]
    code = f"calibrate({build}, " + ranges.format(low, high, rises)
    return code, Budget(truth, target, delta, low, high, increasing=rises)


def trade_off(rng: Rng) -> Asked:
    """The least miss rate at a false-alarm rate, in whichever order it is less."""
    alpha = float(pick(rng, (1e-6, 0.01, 0.5, 0.9, round_to(rng.random(), 4))))
    shape = int(rng.integers(3))
    if shape == 0:
        mu = round_to(float(np.exp(rng.uniform(-3, 2))), 4)
        code, value = f"privacy_loss(Gaussian({1 / mu!r}))", tail(1 / arb(1 / mu) - normal_quantile(arb(alpha)))
    elif shape == 1:
        part = parts.laplace(budget(rng, 1e-3, 10.0))
        one = part.directions[0]
        assert isinstance(one, Laplace)
        few, many = exp(-one.shift) / 2 >= alpha, alpha >= 0.5
        value = 1 - exp(one.shift) * alpha if few else exp(-one.shift) * (1 - arb(alpha))
        value = value if few or many else exp(-one.shift) / (4 * arb(alpha))
        code = f"privacy_loss({part.code})"
    else:
        part, times = parts.any_finite(rng, largest=5.0, sizes=5), int(rng.integers(1, 4))
        code, value = f"compose([({part.code}, {times})])", miss_rate(part.outcomes[0].power(times), alpha)
    return f"{code}.trade_off({alpha!r})", ValueOf(value)
