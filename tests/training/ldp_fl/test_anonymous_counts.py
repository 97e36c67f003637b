"""The law of anonymous counts: against all combinations, in fractions, and against reports that are really drawn."""

from __future__ import annotations

import itertools
import math

import numpy as np
import torch

from ldp_audit.mechanisms import LayerRange, TwoPoint
from ldp_audit.training.ldp_fl import reports
from ldp_audit.training.ldp_fl.canaries import AnonymousCounts, count_tables, upper_chances
from tests.frequency import assert_frequency


def by_combinations(chances, canary):
    """The law of the count, from all 2**n outcomes."""
    law = np.zeros(len(chances) + 2)
    for outcome in itertools.product((0, 1), repeat=len(chances) + 1):
        every = [*chances, canary]
        law[sum(outcome)] += math.prod(p if one else 1 - p for one, p in zip(outcome, every, strict=True))
    return law


def test_ratios_are_those_of_all_combinations():
    """Would catch a count that is off by one, and hypotheses in the wrong order."""
    chances = np.array([[0.3, 0.9], [0.5, 0.45], [0.7, 0.2]])
    upper = 1 / (1 + math.exp(-1.5))
    tables = count_tables(chances, 1.5)
    for weight in range(2):
        first, second = (by_combinations(chances[:, weight], p) for p in (upper, 1 - upper))
        np.testing.assert_allclose(tables.ratio[weight], np.log(first / second), atol=1e-12)
        none = by_combinations(chances[:-1, weight], chances[-1, weight])
        np.testing.assert_allclose(tables.cumulative[weight], np.cumsum(none), atol=1e-12)


def test_no_weight_tells_more_than_its_report_where_others_are_certain():
    """Would catch NaN and infinite ratios where a law underflows."""
    tables = count_tables(np.array([[0.0, 1.0, 1e-300]] * 40), 2.0)
    assert np.all(np.abs(tables.ratio) <= 2.0)
    assert tables.ratio[0, 0] == -2.0


def test_others_counts_follow_the_reports_that_clients_send():
    """Would catch chances of another mechanism than the run's: 4 clients, 20,000 rounds, each count by itself."""
    ranges = LayerRange((0.1,), (0.5,), ("a",))
    weights = {"a": torch.tensor([[0.3], [-0.9], [0.1]])}
    chances = upper_chances(weights, ranges, 1.0, {"a": 1})
    low, high = TwoPoint(1.0, 0.1, 0.5).outputs()
    np.testing.assert_allclose(chances[:, 0] * high + (1 - chances[:, 0]) * low, [0.3, -0.4, 0.1], atol=1e-7)
    generator = torch.Generator().manual_seed(1)
    sent = reports.reports({"a": weights["a"].expand(20_000, 3, 1)}, ranges, 1.0, generator)["a"]
    counts = (sent > 0.1).sum(dim=(1, 2)).numpy()
    cumulative = count_tables(chances, 1.0).cumulative[0]
    for k in range(3):
        assert_frequency(int((counts <= k).sum()), 20_000, float(cumulative[k]))


def test_the_statistic_has_the_law_that_its_table_says():
    """Would catch draws of the others' counts from another law: one weight, 20,000 repetitions, value by value."""
    chances, upper = np.array([[0.3], [0.6]]), 1 / (1 + math.exp(-1.0))

    def sends(world, rows, generator):
        chance = upper if world == 0 else 1 - upper
        return (torch.rand(rows, 1, generator=generator) < chance).numpy()

    draw = AnonymousCounts(chances, 1.0, sends, 1000, torch.device("cpu"))
    for world, chance in ((0, upper), (1, 1 - upper)):
        found = draw(world, 20_000, np.random.default_rng(world))
        for value, probability in zip(draw.tables.ratio[0], by_combinations(chances[:, 0], chance), strict=True):
            assert_frequency(int(np.isclose(found, value, atol=1e-8).sum()), 20_000, probability)
