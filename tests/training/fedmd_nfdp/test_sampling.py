"""NFDP's sample: its size, its law, that it is drawn once, and that nothing outside it is used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ldp_audit.mechanisms import SubsampleRelease
from ldp_audit.training.datasets import Images
from ldp_audit.training.fedmd_nfdp import run as run_module
from ldp_audit.training.fedmd_nfdp.networks import sampled
from ldp_audit.training.fedmd_nfdp.public_split import holdings
from ldp_audit.training.streams import Streams
from tests.frequency import assert_frequency
from tests.together import together
from tests.training.fedmd_nfdp.small import finished, images, plan, run


def assert_untouched(method: str) -> None:
    """Change every private record that no party has drawn: nothing may come out otherwise."""
    data = images()
    settings = plan(method=method)
    drawn = np.concatenate(_drawn(data, method))
    outside = np.setdiff1d(np.flatnonzero(data.train_y >= settings.public_classes), drawn)
    assert len(outside) > 50
    x, y = data.train_x.copy(), data.train_y.copy()
    x[outside] = 1 - x[outside]
    y[outside] = 3 + (y[outside] - 3 + 1) % 3
    changed = replace(data, train_x=x, train_y=y)
    assert finished(data, method=method)[1] == finished(changed, method=method)[1]


@together("method", ["nfdp-with", "nfdp-without", "alone"])
def test_nothing_outside_the_sample_is_touched(method: str) -> None:
    """Training, scoring or splitting that looks at a record which was not drawn."""
    assert_untouched(method)


def test_a_leak_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check above, seen to fail: parties that keep their sample and train on all their records."""
    monkeypatch.setattr(run_module, "sampled", lambda count, sampling, generator: torch.arange(count))
    with pytest.raises(AssertionError):
        assert_untouched("nfdp-with")


def test_the_sample_is_drawn_once() -> None:
    """A new sample in each round, whose deltas would add up."""
    one = run(rounds=4)
    drawn = [party.x.clone() for party in one.parties]
    assert not torch.equal(drawn[0], drawn[1])
    for number in range(1, 5):
        one.advance(number)
        assert all(torch.equal(party.x, first) for party, first in zip(one.parties, drawn, strict=True))


@together("k", [0, 1, 24])
@together("method", ["nfdp-with", "nfdp-without"])
def test_samples_have_k_records(method: str, k: int) -> None:
    """One too few or too many, and the ends: none, one and all records."""
    one, records = finished(method=method, k=k)
    for party in one.parties:
        assert len(party.x) == len(party.y) == k
        if method == "nfdp-without":
            assert len({tuple(image.flatten().tolist()) for image in party.x}) == k
    assert all(0 <= share <= 1 for record in records for share in record["by_party"])


def test_more_draws_than_records_are_possible_with_replacement() -> None:
    """A bound on k that only sampling without replacement has."""
    assert all(len(party.x) == 100 for party in run(method="nfdp-with", k=100).parties)


@together("method", ["np", "ldp", "alone-np"])
def test_other_methods_use_all_records(method: str) -> None:
    """A baseline that is weakened by sampling."""
    assert [len(party.x) for party in run(method=method).parties] == [24, 24, 24]


@together(("replacement", "chance"), [(False, 0.4), (True, 1 - 0.9**4)])
def test_a_record_is_in_the_sample_as_often_as_delta_says(replacement: bool, chance: float) -> None:
    """With and without replacement swapped (found with probability 99%), and streams of parties or seeds that agree.

    False-alarm rate 1e-6.
    """
    release = SubsampleRelease(10, 4, replacement)
    draws = [sampled(10, release, Streams(seed).torch("sample", 3)) for seed in range(4000)]
    assert_frequency(sum(0 in draw.tolist() for draw in draws), len(draws), chance)


def _drawn(data: Images, method: str) -> list[np.ndarray]:
    """What each party of seed 7 draws, from the streams."""
    settings, streams = plan(method=method), Streams(7)
    shares = holdings(data, settings, streams.numpy("parties")).private
    release = SubsampleRelease(24, settings.k, method != "nfdp-without")
    return [share[sampled(24, release, streams.torch("sample", number)).numpy()] for number, share in enumerate(shares)]
