import json
import math

import numpy as np
import pytest
from scipy import special

from ldp_audit.auditing.bounds import Counts, lower_limit, upper_limit
from ldp_audit.auditing.grey_box import ProductLaw
from ldp_audit.auditing.independent_audit import STAGE, IndependentTest, audit_independent
from ldp_audit.auditing.independent_bound import dependence, epsilon_lower_if_independent
from ldp_audit.auditing.program import Program
from ldp_audit.mechanisms import Laplace, RandomizedResponse
from tests.frequency import FALSE_ALARM, assert_at_most
from tests.together import together

HIGH, LOW = 0.525, 0.475  # of a RAPPOR bit at f = 0.95
BIT = math.log(HIGH / LOW)
SPENT = math.sqrt((1 - HIGH) / HIGH + (1 - LOW) / LOW)  # standard deviation of one log ratio, times sqrt(n)


def _counts(x, n, y, m):
    return [Counts(int(a), n, int(b), m) for a, b in zip(x, y, strict=True)]


def _bound(d, n, x, y, error=0.05, design=(HIGH, LOW)):
    return epsilon_lower_if_independent(_counts(x, n, y, n), error, [design] * d)


@together(("p", "q"), [(HIGH, LOW), (0.02, 0.005)])
@together(("d", "times"), [(1, 60), (8, 25), (20, 12)])
def test_the_bound_exceeds_the_truth_no_more_often_than_its_error(d, times, p, q, request):
    times *= 50 if request.config.getoption("--slow") else 1
    rng, error, over = np.random.default_rng(d), 0.2, 0
    for n in (100, 10**4, 10**6):
        for _ in range(times):
            over += _bound(d, n, rng.binomial(n, p, d), rng.binomial(n, q, d), error, (p, q)) > d * math.log(p / q)
    # At most Binomial(3 times, error), whatever n: fails with probability FALSE_ALARM if the bound is right.
    assert_at_most(over, 3 * times, error)


def test_the_rate_of_a_region_without_slack_is_the_stated_error():
    # The other side of the test above: for large counts the error is spent, and a bound that hardly ever errs fails.
    rng, n, d, times = np.random.default_rng(3), 10**6, 2, 200
    over = sum(_bound(d, n, rng.binomial(n, HIGH, d), rng.binomial(n, LOW, d), 0.4) > d * BIT for _ in range(times))
    assert special.bdtr(over, times, 0.36) > FALSE_ALARM


@together(("d", "n", "most"), [(1, 10**4, 1.06), (8, 10**6, 1.02), (20, 10**4, 1.15), (20, 10**7, 1.02)])
def test_the_gap_is_that_of_deviations_that_add_in_squares(d, n, most):
    x, y = np.full(d, round(n * HIGH)), np.full(d, round(n * LOW))
    gap = d * BIT - _bound(d, n, x, y)
    assert 1 < gap / (-special.ndtri(0.05) * SPENT * math.sqrt(d / n)) < most


def test_limits_for_each_proportion_alone_are_several_times_wider():
    d, n = 20, 10**6
    x, y = round(n * HIGH), round(n * LOW)
    alone = d * math.log(lower_limit(x, n, 0.05 / (2 * d)) / upper_limit(y, n, 0.05 / (2 * d)))
    assert d * BIT - alone > 5 * (d * BIT - _bound(d, n, [x] * d, [y] * d))


def test_no_point_of_the_region_lies_below_the_bound():
    """The certificate against the definition: parameters are drawn near the region's edge, and checked one by one."""
    rng, d, n, m, error = np.random.default_rng(0), 3, 300, 500, 0.05
    x, y, designs = [40, 150, 7], [30, 200, 5], [(0.15, 0.05), (0.5, 0.4), (0.03, 0.02)]
    bound = epsilon_lower_if_independent(_counts(x, n, y, m), error, designs)
    p = np.array(x) / n * np.exp(rng.normal(0, 1, (40_000, 1)) * rng.uniform(-0.6, 0.3, (40_000, d)))
    q = np.array(y) / m * np.exp(rng.normal(0, 1, (40_000, 1)) * rng.uniform(-0.3, 0.6, (40_000, d)))
    p, q = np.minimum(p, 0.999), np.minimum(q, 0.999)
    limit, z = -special.ndtri(0.02 * error / (4 * d)), -special.ndtri(0.98 * error)
    a = np.array([-special.ndtri(special.betainc(h, n - h + 1, p[:, j])) for j, h in enumerate(x)]).T
    b = np.array([special.ndtri(special.betainc(h + 1, m - h, q[:, j])) for j, h in enumerate(y)]).T
    w = np.sqrt([(1 - c[0]) / n for c in designs] / p)
    v = np.sqrt([(1 - c[1]) / (m * c[1] ** 2) for c in designs] * q)
    total = (w * np.maximum(a, -limit) + v * np.maximum(b, -limit)).sum(axis=1)
    inside = (total <= z * np.sqrt((w**2 + v**2).sum(axis=1))) & (np.maximum(a, b) <= limit).all(axis=1)
    values = np.log(p / q).sum(axis=1)[inside]
    assert inside.sum() > 1000
    assert values.min() >= bound
    seen = sum(math.log(h * m / (n * k)) for h, k in zip(x, y, strict=True))
    assert values.min() < bound + 0.3 * (seen - bound)  # so the points come near to where the bound is attained


def test_more_hits_raise_the_bound_and_the_order_of_coordinates_does_not_matter():
    n, x, y = 10**5, [52_500, 20_000, 900], [47_500, 15_000, 500]
    designs = [(0.5, 0.5), (0.2, 0.15), (0.01, 0.005)]
    bound = epsilon_lower_if_independent(_counts(x, n, y, n), 0.05, designs)
    assert epsilon_lower_if_independent(_counts(x[::-1], n, y[::-1], n), 0.05, designs[::-1]) == pytest.approx(bound)
    assert epsilon_lower_if_independent(_counts([x[0] + 1, *x[1:]], n, y, n), 0.05, designs) > bound
    assert epsilon_lower_if_independent(_counts(x, n, [y[0] + 1, *y[1:]], n), 0.05, designs) < bound


def test_a_design_that_is_off_costs_little():
    d, n = 20, 10**6
    x, y = np.full(d, round(n * HIGH)), np.full(d, round(n * LOW))
    right = _bound(d, n, x, y)
    # Half the square of how far the weights are off, which is half as far for p as sqrt(1 - p) is.
    most = d * ((0.005 / LOW) ** 2 + (0.025 / (1 - HIGH) / 2) ** 2) / 2
    assert right > _bound(d, n, x, y, design=(0.5, 0.48)) > right - most


@together(("x", "n", "y", "m"), [([0, 5], 10, [1, 1], 10), ([5, 5], 10, [10, 1], 10), ([1, 1], 1, [1, 0], 1)])
def test_a_coordinate_that_shows_nothing_leaves_no_bound(x, n, y, m):
    assert epsilon_lower_if_independent(_counts(x, n, y, m), 0.05, [(0.5, 0.5)] * 2) == 0


def test_counts_at_the_other_ends_give_a_finite_bound():
    bound = epsilon_lower_if_independent(_counts([1000, 10**6], 10**6, [0, 0], 10**6), 0.05, [(0.001, 1e-6)] * 2)
    single = epsilon_lower_if_independent(_counts([10**6], 10**6, [0], 10**6), 0.05, [(0.5, 0.5)])
    assert math.log(1000) < bound < 30
    assert math.log(1e5) < single < math.log(1e6)


def test_no_coordinates_give_no_bound():
    assert epsilon_lower_if_independent([], 0.05, []) == 0


@together(
    ("error", "designs", "message"),
    [
        (0.0, [(0.5, 0.5)], "error must be in"),
        (0.05, [], "designs must be as many as counts, 1, got 0"),
        (0.05, [(1.0, 0.5)], "designs must be pairs of numbers in"),
    ],
)
def test_bad_arguments_of_the_bound_are_named(error, designs, message):
    with pytest.raises(ValueError, match=message):
        epsilon_lower_if_independent([Counts(1, 2, 1, 2)], error, designs)


SET = {0: (0, 3, 7, 11), 1: (1, 5, 13, 17)}


def _bits(x):
    return np.isin(np.arange(20), SET[x]).astype(int)


RAPPOR = ProductLaw([RandomizedResponse(BIT)] * 20, _bits)


def _rappor(x, n, rng):
    return rng.random((n, 20)) < np.where(_bits(x) == 1, HIGH, LOW)


def _audit(sampler, law, samples=100_000, error=1e-6, pair=(0, 1)):
    return audit_independent(Program(sampler, 0), pair, law, samples=samples, error=error)


def test_rappor_is_bounded_from_its_eight_bits_that_differ():
    found = _audit(_rappor, RAPPOR)
    assert [one.place for one in found.events] == sorted(SET[0] + SET[1])
    # Error 1e-6 is the chance of exceeding the truth; the estimate itself falls by 5 deviations with chance 3e-7.
    deviation = SPENT * math.sqrt(8 / 95_000)
    assert 8 * BIT - (4.8 * 1.06 + 5) * deviation < found.epsilon_lower <= 8 * BIT
    assert not found.refuted
    assert found.samples_used == 200_000


def test_twenty_laplaces_add_up():
    found = _audit(lambda x, n, rng: rng.laplace(x, 20.0, (n, 20)), ProductLaw([Laplace(20.0)] * 20))
    deviation = math.sqrt(20 * 2.1 / 95_000)
    assert len(found.events) == 20
    assert all(len(one.event.intervals) == 1 for one in found.events)
    assert 1 - (4.8 * 1.06 + 5) * deviation < found.epsilon_lower <= 1


def test_the_result_says_what_it_assumes():
    found = _audit(_rappor, RAPPOR)
    written = json.loads(json.dumps(found.to_dict()))
    assert "independent" in found.assumption
    assert found.assumption in found.describe()
    assert written["assumption"] == found.assumption
    assert written["epsilon_lower"] == found.epsilon_lower
    assert len(written["coordinates"]) == 8


def test_one_noise_scalar_shared_by_a_vector_is_noticed_and_nothing_is_claimed():
    def shared(x, n, rng):
        return x + rng.laplace(0, 20.0, (n, 1)) + np.zeros(20)  # its epsilon is 1/20, not 1

    found = _audit(shared, ProductLaw([Laplace(20.0)] * 20), error=0.05)
    assert found.refuted
    assert found.epsilon_lower == 0
    assert "not independent" in found.describe()


def test_a_weak_common_cause_is_noticed_through_all_pairs_together():
    def common(x, n, rng):
        return rng.random((n, 20)) < LOW + x * (HIGH - LOW) + 0.02 * rng.choice([-1, 1], (n, 1))

    found = _audit(common, ProductLaw([RandomizedResponse(BIT)] * 20), error=0.05)
    assert found.refuted
    assert found.checks[0].pair is None
    assert found.epsilon_lower == 0


def test_dependence_that_no_pair_shows_is_not_noticed_which_is_why_it_is_assumed():
    """The limit of the check: all pairs are independent, the triple is not, and the bound exceeds the true epsilon."""
    cells = np.array([[(cell >> place) & 1 for place in range(3)] for cell in range(8)])
    parity = (-1.0) ** cells.sum(axis=1)

    def law(x):
        p = LOW + x * (HIGH - LOW)
        return np.prod(np.where(cells == 1, p, 1 - p), axis=1) + 0.01 * x * parity

    def sampler(x, n, rng):
        return cells[rng.choice(8, n, p=law(x))]

    truth = np.abs(np.log(law(1) / law(0))).max()
    found = _audit(sampler, ProductLaw([RandomizedResponse(BIT)] * 3), 1_000_000, 0.001)
    assert truth < 2.5 * BIT < found.epsilon_lower
    assert not found.refuted
    assert "does not prove it" in found.describe()


def test_a_coordinate_that_the_program_does_not_treat_as_the_law_says_is_left_out():
    def dead_bit(x, n, rng):
        drawn = _rappor(x, n, rng)
        drawn[:, 3] = True
        return drawn

    found = _audit(dead_bit, RAPPOR)
    assert [one.place for one in found.events] == [0, 1, 5, 7, 11, 13, 17]
    assert 0 < found.epsilon_lower <= 7 * BIT


def test_inputs_that_the_law_cannot_tell_apart_give_no_bound():
    found = _audit(_rappor, RAPPOR, samples=1000, pair=(0, 0))
    assert found.epsilon_lower == 0
    assert found.events == ()
    assert "no bound" in found.describe()


def test_the_chunks_add_up_and_the_search_draws_other_outputs_than_the_test():
    program, law = Program(_rappor, 5, rows=1000), RAPPOR
    found = audit_independent(program, (0, 1), law, samples=20_000, error=0.05)
    test = IndependentTest(found.events, law, found.inputs, found.inputs, 18_000, 1000)
    tallies = [test.count(program, chunk) for chunk in reversed(range(18))]
    assert sum(tallies[1:], tallies[0]).counts() == found.counts
    searched = program.outputs(0, 1000, (STAGE, 0, 0, 0)).known_numbers
    assert not np.array_equal(searched, program.outputs(0, 1000, (STAGE, 0, 0)).known_numbers)


def test_the_check_is_made_on_fewer_outputs_where_there_are_many_pairs(monkeypatch):
    monkeypatch.setattr("ldp_audit.auditing.independent_audit._CHECK_WORK", 8 * 8 * 5000.0)
    program = Program(_rappor, 0, rows=1000)
    found = audit_independent(program, (0, 1), RAPPOR, samples=20_000, error=0.05)
    assert found.checks[0].outputs == 5000
    assert found.counts[0].trials == 18_000


def test_independent_events_are_seldom_called_dependent():
    rng, times, level, n = np.random.default_rng(0), 2000, 0.05, 200
    p, alarms = np.array([0.5, 0.1, 0.9, 0.3]), 0
    for _ in range(times):
        member = (rng.random((n, 4)) < p).astype(np.int64)
        alarms += dependence(member.T @ member, n).p_value < level
    assert_at_most(alarms, times, level)


@together("sign", [1, -1])
def test_a_pair_that_goes_together_or_apart_is_named(sign):
    member = np.random.default_rng(0).random((5000, 4)) < 0.3
    member[:, 2] = member[:, 0] if sign > 0 else ~member[:, 0]
    ones = member.astype(np.int64)
    found = dependence(ones.T @ ones, 5000)
    assert found.pair == (0, 2)
    assert found.p_value < 1e-100


def test_a_law_of_another_dimension_is_named():
    law = ProductLaw([RandomizedResponse(1.0)] * 3)
    with pytest.raises(ValueError, match="law must have one coordinate for each of the outputs' 20"):
        audit_independent(Program(_rappor), (0, 1), law, samples=1000, error=0.05)


def test_labels_are_refused():
    with pytest.raises(ValueError, match="law must be of numbers"):
        _audit(lambda x, n, rng: ["a"] * n, ProductLaw([RandomizedResponse(1.0)]), 1000)
