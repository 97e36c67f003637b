"""Memoised reports: their law by enumeration, the longitudinal protocols by name, and what an audit finds of them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

from ldp_audit import audit
from ldp_audit.accounting import compose
from ldp_audit.mechanisms import LocalHashing, Memoised, Piecewise, RandomizedResponse, UnaryEncoding
from tests.frequency import assert_frequency
from tests.together import together

SYMMETRIC = UnaryEncoding(3.0, 3, "symmetric")


def bits(times: int, k: int) -> list[Any]:
    return [np.reshape(one, (times, k)) for one in itertools.product((0, 1), repeat=times * k)]


def labels(times: int, k: int) -> list[Any]:
    return [np.array(one) for one in itertools.product(range(k), repeat=times)]


def hashes(m: LocalHashing, times: int) -> list[Any]:
    """All reports of one seed; those of several seeds have no probability."""
    return [
        np.stack([np.full(times, seed), one], axis=-1)
        for seed in range(m.seeds())
        for one in itertools.product(range(m.hashes()), repeat=times)
    ]


PROTOCOLS: dict[str, tuple[Memoised, list[Any]]] = {
    "RAPPOR, 1": (Memoised(UnaryEncoding(2.0, 3, "symmetric"), SYMMETRIC), bits(1, 3)),
    "RAPPOR, 2": (Memoised(UnaryEncoding(2.0, 3, "symmetric"), SYMMETRIC, reports=2), bits(2, 3)),
    "RAPPOR, 5 bits of 2": (
        Memoised(UnaryEncoding(2.0, 2, "symmetric"), UnaryEncoding(1.0, 2, "symmetric"), reports=5),
        bits(5, 2),
    ),
    "L-OSUE, 3": (Memoised(UnaryEncoding(2.0, 2), UnaryEncoding(1.0, 2, "symmetric"), reports=3), bits(3, 2)),
    "any bits, 2": (Memoised(UnaryEncoding.of(0.7, 0.2, 2), UnaryEncoding.of(0.9, 0.05, 2), reports=2), bits(2, 2)),
    "permanent alone, 2": (Memoised(UnaryEncoding(2.0, 3), None, reports=2), bits(2, 3)),
    "L-GRR, 1": (Memoised(RandomizedResponse(2.0, 4), RandomizedResponse(1.0, 4)), labels(1, 4)),
    "L-GRR, 3": (Memoised(RandomizedResponse(2.0, 4), RandomizedResponse(3.0, 4), reports=3), labels(3, 4)),
    "L-GRR, 6 of 2": (Memoised(RandomizedResponse(2.0, 2), RandomizedResponse(1.0, 2), reports=6), labels(6, 2)),
    "labels alone, 2": (Memoised(RandomizedResponse(2.0, 3), None, reports=2), labels(2, 3)),
    "LOLOHA, 1": (Memoised(LocalHashing(2.0, 5, 3), RandomizedResponse(1.0, 3)), hashes(LocalHashing(2.0, 5, 3), 1)),
    "LOLOHA, 2": (
        Memoised(LocalHashing(2.0, 3, 3), RandomizedResponse(1.0, 3), reports=2),
        hashes(LocalHashing(2.0, 3, 3), 2),
    ),
    "BiLOLOHA, 4": (
        Memoised(LocalHashing(1.0, 3, 2), RandomizedResponse(2.0, 2), reports=4),
        hashes(LocalHashing(1.0, 3, 2), 4),
    ),
}
BOUNDED = {"L-GRR, 3", "LOLOHA, 2"}
"""Several reports of more than two labels: the profile is that of a pair that dominates."""


@together("name", PROTOCOLS)
def test_epsilon_and_the_profile_are_those_of_all_reports(name: str) -> None:
    """Brute force over all sequences of reports and all ordered pairs of values."""
    m, reports = PROTOCOLS[name]
    rows = [np.exp(m.log_prob(np.stack(reports), x)) for x in range(m.k)]
    largest, divergences = 0.0, {0.0: 0.0, 0.3: 0.0, 1.0: 0.0}
    for p, q in itertools.permutations(rows, 2):
        assert p.sum() == pytest.approx(1, rel=1e-12)
        seen = p > 0
        largest = max(largest, float(np.max(np.log(p[seen] / q[seen]))))
        for level in divergences:
            divergences[level] = max(divergences[level], float(np.maximum(p - math.exp(level) * q, 0).sum()))
    assert largest == pytest.approx(m.exact_epsilon(), rel=1e-12)
    for level, divergence in divergences.items():
        loss = m.pair_loss()
        low, high = (math.exp(end) for end in loss.log_delta_bounds(level))
        assert low * (1 - 1e-9) <= divergence <= high * (1 + 1e-9)
        assert float(m.delta(level)) == pytest.approx(high, rel=1e-9, abs=1e-15)
        if name not in BOUNDED:
            assert divergence == pytest.approx(float(m.delta(level)), rel=1e-9, abs=1e-15)


@together("name", PROTOCOLS)
def test_samples_have_these_probabilities_in_both_libraries(name: str) -> None:
    """False alarm 1e-6 for each of up to 40 sequences of reports, the likeliest."""
    m, reports = PROTOCOLS[name]
    law, trials = np.exp(m.log_prob(np.stack(reports), 1)), 20_000
    inputs = np.ones(trials, np.int64)
    for drawn in (
        np.asarray(m.sample(inputs, rng=np.random.default_rng(3))),
        np.asarray(m.sample(torch.from_numpy(inputs), rng=torch.Generator().manual_seed(3))),
    ):
        flat = drawn.reshape(trials, -1)
        for place in np.argsort(-law)[:40].tolist():
            assert_frequency(int(np.all(flat == reports[place].ravel(), axis=1).sum()), trials, min(1.0, law[place]))


@together("name", PROTOCOLS)
def test_what_is_implemented_has_at_most_the_exact_epsilon(name: str) -> None:
    m, reports = PROTOCOLS[name]
    for length in (3, 8, 64):
        law = m.implemented(length)
        assert law.exact_epsilon() <= m.exact_epsilon()
        rows = [np.exp(law.log_prob(np.stack(reports), x)) for x in range(2)]
        with np.errstate(divide="ignore", invalid="ignore"):
            told = np.nanmax(np.abs(np.log(rows[0] / rows[1])))
        assert told <= law.exact_epsilon() * (1 + 1e-9) + 1e-12
    assert m.implemented_epsilon() == pytest.approx(m.exact_epsilon(), rel=1e-9)


def _by_hand(times: int) -> float:
    """RAPPOR in 60 digits: both bits of the pair, all ones and none."""
    with mpmath.workdps(60):
        p, a = (1 / (1 + mpmath.exp(-epsilon / 2)) for epsilon in (mpmath.mpf(2), mpmath.mpf(1)))
        own, other = (share * a**times + (1 - share) * (1 - a) ** times for share in (p, 1 - p))
        return float(2 * mpmath.log(own / other))


@together("times", [1, 2, 10, 1000])
def test_epsilon_rises_with_the_reports_to_the_permanent_one(times: int) -> None:
    m = Memoised(UnaryEncoding(2.0, 100, "symmetric"), UnaryEncoding(1.0, 100, "symmetric"), reports=times)
    assert m.exact_epsilon() == pytest.approx(_by_hand(times), rel=1e-12)
    assert m.exact_epsilon() < 2.0 or times == 1000
    more = Memoised(m.permanent, m.instantaneous, reports=times + 1)
    assert m.exact_epsilon() <= more.exact_epsilon() <= 2.0


def test_the_epsilon_of_the_literature_of_one_report() -> None:
    """Arcolezi et al. 2022: for L-GRR epsilon_1 = ln((p1 p2 + q1 q2) / (p1 q2 + q1 p2)) of two labels."""
    m = Memoised(RandomizedResponse(2.0), RandomizedResponse(1.0))
    p1, p2 = (1 / (1 + math.exp(-epsilon)) for epsilon in (2.0, 1.0))
    first = math.log((p1 * p2 + (1 - p1) * (1 - p2)) / (p1 * (1 - p2) + (1 - p1) * p2))
    assert m.exact_epsilon() == pytest.approx(first)


def test_changes_of_the_value_add_up() -> None:
    """Two values, one after the other, for neighbours that change at the same time: all pairs of both reports."""
    m, reports = PROTOCOLS["L-GRR, 6 of 2"]
    rows = [np.exp(m.log_prob(np.stack(reports), x)) for x in range(2)]
    p, q = (np.multiply.outer(row, row).ravel() for row in rows)
    spent = compose([(m, 2)])
    assert spent.epsilon(0.0) == pytest.approx(float(np.max(np.log(p / q))), rel=1e-9)
    assert spent.delta(1.0) == pytest.approx(float(np.maximum(p - math.e * q, 0).sum()), rel=1e-9)


def test_when_a_value_changed_is_not_protected() -> None:
    """One value twice, beside two values: a permanent report that recurs is likelier by more than e**(2 epsilon)."""
    a, b = (math.exp(float(RandomizedResponse(0.5, 3).log_prob(y, 0))) for y in (0, 1))
    assert math.log(a / (b * b)) > 2 * 0.5


@together("name", ["RAPPOR, 1", "L-GRR, 1", "LOLOHA, 1"])
def test_frequencies_come_from_one_report_of_each_client(name: str) -> None:
    """Support of the own and of another value, by enumeration of one report; several reports are refused."""
    m, reports = PROTOCOLS[name]
    found = m.supports()
    seen = np.array([found.count(report[None])[1] for report in reports])
    for x, v in itertools.product(range(m.k), repeat=2):
        chance = float(np.exp(m.log_prob(np.stack(reports), x)) @ seen[:, v])
        assert chance == pytest.approx(found.own if x == v else found.other, rel=1e-11)
    several = Memoised(m.permanent, m.instantaneous, reports=4)
    drawn = several.sample(np.zeros(50, np.int64), rng=np.random.default_rng(1))
    assert several.estimate(drawn[:, 0]).n == 50
    with pytest.raises(ValueError, match=r"reports must be one of each client, as reports\[:, 0\], got shape"):
        several.estimate(drawn)


def test_an_audit_of_a_remembering_client_finds_nearly_the_exact_epsilon_of_its_reports() -> None:
    """From below, at confidence 99.9%: a wrong accusation at a rate of 1e-3, of a bound 1% beyond the exact epsilon."""
    m = Memoised(RandomizedResponse(2.0, 2), RandomizedResponse(1.0, 2), reports=3)

    def three_reports(x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
        return m.sample(np.full(n, int(x)), rng=rng)

    result = audit(three_reports, inputs=(0, 1), claimed_epsilon=m.exact_epsilon(), samples=100_000, seed=1)
    assert result.verdict == "consistent"
    assert 0.9 * m.exact_epsilon() < result.epsilon_lower <= m.exact_epsilon()
    broken = audit(three_reports, inputs=(0, 1), claimed_epsilon=0.46, samples=100_000, seed=1)
    assert broken.verdict == "violated"  # 0.46 is of one report


@together(
    ("build", "message"),
    [
        (
            lambda: Memoised(Piecewise(1.0)),
            r"permanent must be a UnaryEncoding, .* or LocalHashing, got P",
        ),
        (lambda: Memoised(SYMMETRIC, RandomizedResponse(1.0, 3)), r"instantaneous must be a UnaryEncoding with k = 3"),
        (
            lambda: Memoised(SYMMETRIC, UnaryEncoding(1.0, 4)),
            r"a UnaryEncoding with k = 3, or None",
        ),
        (lambda: Memoised(LocalHashing(1.0, 9, 3), RandomizedResponse(1.0, 9)), r"RandomizedResponse with k = 3"),
        (lambda: Memoised(SYMMETRIC, None, reports=0), r"reports must be a whole number >= 1, got 0"),
        (
            lambda: Memoised(SYMMETRIC, SYMMETRIC, reports=1001).delta(0.5),
            r"reports must be at most 1000",
        ),
        (lambda: Memoised(SYMMETRIC, SYMMETRIC).log_prob([1, 0, 1], 0), r"y must be bits of shape \(..., 1, 3\)"),
        (
            lambda: Memoised(RandomizedResponse(1.0), None, 2).log_prob([1], 0),
            r"y must have shape \(..., 2\)",
        ),
    ],
)
def test_bad_input_is_named(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_reports_that_are_none_have_no_probability() -> None:
    assert Memoised(SYMMETRIC, SYMMETRIC).log_prob([[0.5, 0, 1]], 0) == -math.inf
    assert Memoised(RandomizedResponse(1.0), None, 2).log_prob([[0, 1], [0, 2]], 0).tolist() == [-math.inf, -math.inf]
    hashed = Memoised(LocalHashing(1.0, 3, 3), RandomizedResponse(1.0, 3), reports=2)
    assert hashed.log_prob([[0, 1], [1, 1]], 0) == -math.inf  # two seeds
    assert hashed.log_prob([[9, 1], [9, 1]], 0) == -math.inf


@together("epsilon", [0.01, 1.0, 30.0, 50.0, 70.0, 100.0, 800.0])
def test_a_likely_bit_keeps_the_digits_of_its_complement(epsilon: float) -> None:
    """1 - p from a rounded p had the epsilon of 70 as 69.945, and that of 100 as the logarithm of 0."""
    m = UnaryEncoding(epsilon, 3, "symmetric")
    assert Memoised(m).exact_epsilon() == pytest.approx(epsilon, rel=1e-14)
    with mpmath.workdps(400):
        s = mpmath.exp(mpmath.mpf(epsilon) / 2)
        zero, one = -mpmath.log(s + 1), mpmath.log(s / (s + 1))
        assert m.log_prob([1, 0, 0], 0) == pytest.approx(float(3 * one), rel=1e-12)
        assert m.log_prob([1, 0, 0], 1) == pytest.approx(float(2 * zero + one), rel=1e-12)
        later = UnaryEncoding(1.0, 3, "symmetric")
        a, b = mpmath.exp(0.5) / (mpmath.exp(0.5) + 1), 1 / (mpmath.exp(0.5) + 1)
        own, other = (s * a + b) / (s + 1), (a + s * b) / (s + 1)
        exact = mpmath.log(own * (1 - other) / (other * (1 - own)))
    assert Memoised(m, later).exact_epsilon() == pytest.approx(float(exact), rel=1e-13)
    optimised = UnaryEncoding(epsilon, 3)
    assert optimised.log_prob([1, 0, 0], 0) - optimised.log_prob([0, 1, 0], 0) == pytest.approx(epsilon, rel=1e-13)


@together("first", [0.0, 0.01, 1.0, 50.0, 800.0, math.inf])
def test_of_labels_epsilon_keeps_its_digits_and_is_the_later_one_of_permanent_values(first: float) -> None:
    """Of infinity it was no number; of .01 beside 1,000 reports of 20, too small by 1.6e-12."""
    for second, k, times in itertools.product((0.0, 0.01, 20.0, math.inf), (2, 3, 1000), (1, 2, 1000)):
        m = Memoised(RandomizedResponse(first, k), RandomizedResponse(second, k), reports=times)
        share = times * second
        if math.isinf(first) or math.isinf(share):
            exact = min(first, share)
        else:
            with mpmath.workdps(50):
                t, r = mpmath.exp(mpmath.mpf(first)), mpmath.exp(mpmath.mpf(second) * times)
                exact = float(mpmath.log1p((t - 1) * (r - 1) / (r + t + k - 2)))
        assert m.exact_epsilon() == pytest.approx(exact, rel=1e-14)
        assert m.implemented().exact_epsilon() <= m.exact_epsilon()
    values = Memoised(RandomizedResponse(math.inf, 3), RandomizedResponse(1.0, 3))
    assert values.delta(0.5) == pytest.approx(RandomizedResponse(1.0, 3).delta(0.5), rel=1e-14)
