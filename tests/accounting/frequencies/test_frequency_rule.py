"""What a rule over frequencies rests on: noise, expansions, windows and tails, each against a way of its own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import acb, arb, ctx
from scipy.integrate import quad
from scipy.stats import norm

from ldp_audit.accounting.compose import compose
from ldp_audit.accounting.frequencies.condensed_atoms import condensed
from ldp_audit.accounting.frequencies.expansion import expansion
from ldp_audit.accounting.frequencies.frequency_rule import _tails, frequency_rule  # pyright: ignore[reportPrivateUsage]
from ldp_audit.accounting.frequencies.noise import Noise, Shift
from ldp_audit.accounting.frequencies.tilted_atoms import AtomSum, TiltedAtoms
from ldp_audit.accounting.frequencies.windows import DROPPED, windows
from ldp_audit.accounting.laws.finite_losses import symmetric_law
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.privacy_loss import PrivacyLoss


def _many(size: int, seed: int = 0) -> LossAtoms:
    """A symmetric law of so many values of about 1, and some large ones."""
    rng = np.random.default_rng(seed)
    losses = np.abs(rng.normal(size=size // 2)) * np.where(rng.random(size // 2) < 0.02, 8.0, 1.0)
    masses = rng.random(size // 2)
    law = symmetric_law(losses, np.log(masses / (masses * (1 + np.exp(-losses))).sum()))
    assert isinstance(law, LossAtoms)
    return law


def _transform(part: TiltedAtoms, frequency: float) -> acb:
    """The characteristic function at 50 digits."""
    ctx.dps = 50
    pairs = zip(part.masses.tolist(), part.away.tolist(), strict=True)
    total = sum((arb(m) for m in part.masses.tolist()), arb(0))
    return sum((arb(m) / total * (acb(0, 1) * arb(frequency) * arb(x)).exp() for m, x in pairs), acb(0))


def _smoothed(losses: np.ndarray, masses: np.ndarray, noise: float, epsilon: float) -> float:
    """The delta of the losses and normal noise of the mean s**2 / 2, by its closed form."""
    z = losses + noise**2 / 2 - epsilon
    gains = norm.cdf(z / noise) - np.exp(epsilon - losses) * norm.cdf(z / noise - noise)
    return float(masses @ gains)


@pytest.mark.parametrize("s", [0.01, 0.1])
@pytest.mark.parametrize("theta", [0.3, 3.0])
def test_noise_raises_delta_and_what_is_taken_off_is_enough(s: float, theta: float) -> None:
    """For a loss with few values, where every kink is as sharp as can be."""
    law = _many(8)
    losses, masses = law.losses, np.exp(law.log_probabilities)
    log_moment = math.log(float(masses @ np.exp(theta * losses)))
    noise, need = Noise(theta, s), 12.0
    w = noise.width(need)
    a, c = 1 / (1 + math.exp(-w)), noise.growth / math.tanh(w / 2)
    for epsilon in np.concatenate([np.linspace(-2, 2, 41), losses]):
        true = math.exp(law.log_delta_bounds(float(epsilon))[0])
        high, left, right = (_smoothed(losses, masses, s, float(epsilon) + x) for x in (0.0, -w, w))
        rest = math.exp(log_moment - theta * epsilon - need)
        assert true <= high * (1 + 1e-12)
        assert true * (1 - c) >= high - c * (a * left + (1 - a) * right) - rest - 1e-14


@pytest.mark.parametrize("s", [0.02, 0.4, 3.0])
@pytest.mark.parametrize("theta", [0.05, 2.0])
def test_much_noise_is_no_more_than_a_shift_of_the_level(s: float, theta: float) -> None:
    """A shift to the wrong side, or a tilted mean that is forgotten, would be seen."""
    law = _many(8)
    losses, masses = law.losses, np.exp(law.log_probabilities)
    noise, need = Noise(theta, s), 12.0
    moment = float(masses @ np.exp(theta * losses))
    for epsilon in np.concatenate([np.linspace(-2, 2, 9), losses]):
        unit = moment * math.exp(-theta * float(epsilon))
        true = math.exp(law.log_delta_bounds(float(epsilon))[0])

        def shifted(shift: Shift, epsilon: float = float(epsilon)) -> float:
            """d' at the shifted level, as what v there is multiplied by says."""
            here = _smoothed(losses, masses, s, epsilon + shift.level)
            tilted = moment * math.exp(noise.log_mean_power - theta * (epsilon + shift.level))
            return here / tilted * math.exp(shift.log_factor) * moment * math.exp(-theta * epsilon)

        lower = shifted(noise.lower_shift(need)) - unit * math.exp(-need) / (1 + theta)
        assert lower <= true * (1 + 1e-12)
        uppers = [shifted(noise.upper_shift(deviations)) for deviations in (0.0, 2.0, 5.0)]
        assert min(uppers) >= true * (1 - 1e-12)
        assert uppers[0] == pytest.approx(2 * _smoothed(losses, masses, s, float(epsilon) + s * s / 2), rel=1e-12)


@pytest.mark.parametrize("times", [300, 10**5])
def test_sums_of_hundreds_of_nats_take_much_noise_and_stay_enclosed(times: int) -> None:
    """With noise of many nats tents tell nothing: this once divided by 0."""
    law = symmetric_law([90.0, 211.0 * math.sqrt(2), 777.7], np.log([0.2, 0.1, 0.05]))
    assert isinstance(law, LossAtoms)
    total = AtomSum(((law, times),))
    theta = 3 / total.deviation(0.0)
    rule = frequency_rule(total, theta, 0.1 * total.deviation(0.0))
    assert rule is not None
    little = Noise(theta, rule.noise.deviation)
    assert little.deviation > 1
    low, high = rule.log_delta_bounds(total.mean(theta))
    assert -20 < low < high < -1
    fine = compose([(PrivacyLoss((law,)), times)]).log_delta_bounds(total.mean(theta))
    assert low <= fine[1]
    assert fine[0] <= high


def test_so_steep_a_tilt_that_a_tent_s_ends_are_no_floats_leaves_an_upper_end() -> None:
    """An OverflowError once, seen with shuffled reports of epsilon 50. At its largest loss the true delta is 0."""
    theta, top, times = 3e7, 0.032, 1000
    law = LossAtoms(np.array([0.0, top]), np.array([0.0, 20 - top * theta]), log_missing=-math.inf)
    rule = frequency_rule(AtomSum(((law, times),)), theta, 1e-4)
    assert rule is not None
    assert theta * rule.noise.deviation > 20
    low, high = rule.log_delta_bounds(times * top - 1e-6)
    truth = times * (20 - top * theta) + math.log(-math.expm1(-1e-6))
    assert low <= truth <= high < truth + 100


@pytest.mark.parametrize(("s", "theta"), [(0.03, 0.0), (0.5, 1.0), (1e-3, 200.0)])
def test_the_formulas_of_the_noise_are_those_of_its_density(s: float, theta: float) -> None:
    noise = Noise(theta, s)

    def density(x: float) -> float:
        return float(norm.pdf(x, s * s / 2, s))

    def mean(of, low: float = -12 * s) -> float:
        return quad(lambda x: of(x) * density(x), low, 12 * s + s * s * (1 + theta), epsabs=0, epsrel=1e-11)[0]

    assert mean(lambda x: math.exp(-x)) == pytest.approx(1, rel=1e-9)
    assert noise.growth == pytest.approx(mean(lambda x: -math.expm1(-x), low=0.0), rel=1e-7)
    power = mean(lambda x: math.exp(theta * x))
    assert noise.log_mean_power == pytest.approx(math.log(power), abs=1e-9)
    assert noise.mean == pytest.approx(mean(lambda x: x * math.exp(theta * x)) / power, rel=1e-7)
    for need in (5.0, 30.0):
        w = noise.width(need)
        assert w >= s * s / 2 + theta * s * s
        # the most of what lies beyond the tent
        assert math.log(0.5) + theta * w - (w - s * s / 2) ** 2 / (2 * s * s) <= -need * (1 - 1e-12)


@pytest.mark.parametrize("size", [20, 3000])
@pytest.mark.parametrize("theta", [0.1, 2.0])
def test_expansions_are_right_to_their_own_bounds(size: int, theta: float) -> None:
    """Around 0, where 1 is taken off, and far from it; with bins of many losses, and of one."""
    part = AtomSum(((_many(size), 1000),)).tilted(theta).parts[0]
    for middle, reach in ((0.0, 0.5), (37.3, 0.25)):
        near = expansion(part, middle, reach)
        at = np.array([1e-6, 0.01, 0.1, 0.5]) * reach + middle
        logs, errors = near.logs(at)
        sizes = near.sizes(at)
        for frequency, log, error, size_found in zip(at, logs, errors, sizes, strict=True):
            truth = _transform(part, float(frequency))
            assert float(abs(truth.log() - acb(complex(log)))) <= error
            assert error < (1e-12 if middle == 0 else 1e-10)
            assert size_found >= float(abs(truth))


@pytest.mark.parametrize("size", [20, 300, 3000])
@pytest.mark.parametrize("middle", [0.0, 37.3])
def test_many_neighbouring_frequencies_are_as_right(size: int, middle: float) -> None:
    """Their turns are products of a first one's and of a step's, also in rows that have their steps in common."""
    part, step = AtomSum(((_many(size), 1000),)).tilted(0.1).parts[0], 2e-5
    near, at = expansion(part, middle, 0.5), (np.arange(20_000) + round(middle / step) + 0.5) * step
    logs, errors = near.logs(at, step)
    sizes = near.sizes(at.reshape(-1, 10)).ravel()
    for place in (0, 1, 77, 5_003, 19_999):
        truth = _transform(part, float(at[place]))
        assert float(abs(truth.log() - acb(complex(logs[place])))) <= errors[place]
        assert errors[place] < (1e-12 if middle == 0 else 1e-10)
        assert float(abs(truth)) <= sizes[place] < float(abs(truth)) + 1e-10


def test_a_billion_losses_lose_few_digits_around_0() -> None:
    part = AtomSum(((_many(1000), 10**9),)).tilted(1e-4).parts[0]
    logs, errors = expansion(part, 0.0, 0.5).logs(np.array([2e-5]))
    assert 1e9 * errors[0] < 1e-8
    assert float(abs(1e9 * (_transform(part, 2e-5).log() - acb(complex(logs[0]))))) < 1e-8


@pytest.mark.parametrize("spacing", [None, 0.01])
def test_nothing_counts_outside_the_windows(spacing: float | None) -> None:
    """With a spacing psi returns at the multiples of 2 pi over it, which must be found."""
    law = _many(400)
    if spacing:
        steps = np.unique(np.ceil(law.losses[law.losses > 0] / spacing))
        masses = np.exp(-steps * spacing / 3)
        found = symmetric_law(steps * spacing, np.log(masses / (masses * (1 + np.exp(-steps * spacing))).sum()))
        assert isinstance(found, LossAtoms)
        law = found
    times, theta = 10**5, 0.01
    tilted = AtomSum(((law, times),)).tilted(theta)
    noise = Noise(theta, 0.004)
    step = 2 * math.pi / (40 * tilted.deviation)
    part, listed = tilted.parts[0], windows(tilted, noise, step)
    assert listed is not None
    inside = np.concatenate([window.frequencies for window in listed])
    assert np.all(np.diff(inside) > 0)
    assert np.allclose(inside / step % 1, 0.5, atol=1e-6)
    rng = np.random.default_rng(1)
    returns = [] if spacing is None else [2 * math.pi / spacing * k for k in (1, 2, 3)]
    some = np.concatenate([rng.uniform(0, 2200, 3000), np.geomspace(1e-3, 100, 500), returns])
    asked = np.unique((np.floor(some / step) + 0.5) * step)
    outside = asked[~np.isin(np.floor(asked / step), np.floor(inside / step))]
    sizes = np.abs(np.exp(1j * np.multiply.outer(outside, part.away)) @ part.masses)
    assert np.all(times * np.log(sizes + 1e-14) + noise.log_sizes(outside) <= -DROPPED + 1e-3)
    assert outside.size > 2000
    assert inside.max() > (1.9 * math.pi / spacing if spacing else 0)


def test_tails_are_bounded_from_above_also_where_their_powers_are_no_floats() -> None:
    """Powers cut at e**700 would make a loss of 1000 deviations, which is rare but possible, seem impossible."""
    law = symmetric_law([1e-3, 1.1e-3 * math.sqrt(2), 200.0], np.log([0.3, 0.1, 1e-20]))
    assert isinstance(law, LossAtoms)
    tilted = AtomSum(((law, 400),)).tilted(0.05)
    noise = Noise(0.05, 1e-4)
    tails, part = _tails(tilted, noise), tilted.parts[0]
    assert part.away.max() * tails.slopes.max() > 1000
    ctx.dps = 30
    for way, found in ((-1, tails.falling), (1, tails.rising)):
        for slope, log in zip(tails.slopes.tolist(), found.tolist(), strict=True):
            pairs = zip(part.masses.tolist(), part.away.tolist(), strict=True)
            truth = sum((arb(m) * (way * arb(slope) * arb(x)).exp() for m, x in pairs), arb(0)).log()
            assert log >= float(400 * truth + (slope * noise.deviation) ** 2 / 2) * (1 - 1e-12)


def test_few_losses_have_the_moments_of_many() -> None:
    law = _many(40_000)
    losses, logs = condensed(law)
    assert losses.size < 3000
    for tilt in (0.0, 0.02):
        many, few = (
            np.exp(masses + tilt * each) for each, masses in ((law.losses, law.log_probabilities), (losses, logs))
        )
        for power in (0, 1, 2):
            assert few @ losses**power == pytest.approx(many @ law.losses**power, rel=1e-9 if tilt else 1e-12)


def test_ends_that_noise_leaves_apart_meet_as_it_gets_smaller() -> None:
    total = AtomSum(((_many(1000), 10**4),))
    theta = 4 / total.deviation(0.0)
    ends = [frequency_rule(total, theta, cost) for cost in (1e-2, 1e-4)]
    coarse, fine = (rule.log_delta_bounds(total.mean(theta)) for rule in ends if rule is not None)
    assert coarse[0] < fine[0] <= fine[1] < coarse[1]
    assert fine[1] - fine[0] < (coarse[1] - coarse[0]) / 50
