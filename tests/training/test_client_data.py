"""A data set dealt to clients."""

from __future__ import annotations

import re
from itertools import chain

import numpy as np
import pytest
import torch

from ldp_audit.training.client_data import ClientData
from ldp_audit.training.datasets import Images
from ldp_audit.training.streams import Streams
from tests.together import together


def images(count: int = 103, writers: bool = True) -> Images:
    """Each image has a value of its own, by which it is known again."""
    x = (np.arange(count, dtype=np.float32) / count)[:, None, None, None] * np.ones((1, 1, 2, 2), np.float32)
    y = np.arange(count) % 5
    of = np.arange(count) % 7 if writers else None
    return Images("made up", x, y.astype(np.int64), x[:1], y[:1].astype(np.int64), 5, of)


def held(data: ClientData, count: int = 103) -> list[list[int]]:
    """Which images each client holds."""
    return [
        sorted(round(float(value) * count) for value in data.client(number)[0][:, 0, 0, 0])
        for number in range(len(data))
    ]


@together("scheme", ["iid", "shards", "writers"])
def test_every_image_goes_to_one_client_with_its_label(scheme: str) -> None:
    """Catches images that are lost, dealt twice, or parted from their labels."""
    data = ClientData.of(images(), 7, Streams(1), "cpu", scheme=scheme)
    assert sorted(chain.from_iterable(held(data))) == list(range(103))
    for mine, labels in map(data.client, range(len(data))):
        assert [round(float(x[0, 0, 0]) * 103) % 5 for x in mine] == labels.tolist()


def test_a_random_split_has_sizes_that_differ_by_one_and_follows_the_seed() -> None:
    """Catches a split in the data set's order, which is often by label."""
    first, again, other = (ClientData.of(images(), 10, Streams(seed), "cpu") for seed in (1, 1, 2))
    assert sorted(set(first.sizes.tolist())) == [10, 11]
    assert held(first) == held(again) != held(other)
    assert held(first)[0] != list(range(11))
    assert len(first) == 10


def test_shards_give_a_client_few_labels() -> None:
    """Catches shards of images that were not sorted. Ten shards of five labels: each holds two labels at most."""
    data = ClientData.of(images(100), 5, Streams(1), "cpu", scheme="shards")
    counts = [len(set(data.client(number)[1].tolist())) for number in range(len(data))]
    assert max(counts) <= 2
    mixed = ClientData.of(images(100), 5, Streams(1), "cpu")
    assert min(len(set(mixed.client(number)[1].tolist())) for number in range(len(mixed))) > 2


def test_a_client_is_a_writer() -> None:
    """Catches clients that mix writers, and a choice of the first writers only."""
    data = ClientData.of(images(), 3, Streams(1), "cpu", scheme="writers")
    writers = [{image % 7 for image in mine} for mine in held(data)]
    assert all(len(one) == 1 for one in writers)
    assert len(set.union(*writers)) == 3
    seen = [set.union(*({image % 7 for image in mine} for mine in held(one))) for one in _over_seeds()]
    assert set.union(*seen) == set(range(7))  # a writer is missed by 40 seeds with chance (4/7)**40 = 2e-10


def _over_seeds() -> list[ClientData]:
    return [ClientData.of(images(), 3, Streams(seed), "cpu", scheme="writers") for seed in range(40)]


@together(
    ("clients", "scheme", "message"),
    [
        (0, "iid", "clients must be in 1 .. 103, the training images, got 0"),
        (104, "iid", "clients must be in 1 .. 103, the training images, got 104"),
        (2.0, "iid", "clients must be in 1 .. 103, the training images, got 2.0"),
        (52, "shards", "clients must be at most 51 for two shards each, got 52"),
        (8, "writers", "clients must be at most 7, the writers of made up, got 8"),
        (3, "labels", "scheme must be one of iid, shards, writers, got 'labels'"),
    ],
)
def test_a_deal_that_cannot_be_is_refused(clients: int, scheme: str, message: str) -> None:
    """Catches clients without images."""
    with pytest.raises(ValueError, match=re.escape(message)):
        ClientData.of(images(), clients, Streams(1), "cpu", scheme=scheme)


def test_writers_are_needed_where_they_are_asked_for() -> None:
    """Catches a data set without writers that is dealt some other way."""
    with pytest.raises(ValueError, match='scheme "writers" needs images with writers, made up has none'):
        ClientData.of(images(writers=False), 3, Streams(1), "cpu", scheme="writers")


@together(
    ("x", "y", "sizes", "message"),
    [
        ((2, 3), (2, 3), [3, 3], "x must have shape (clients, samples, ...), got (2, 3)"),
        ((2, 3, 4), (2, 4), [3, 3], "y must have shape (2, 3), got (2, 4)"),
        ((2, 3, 4), (2, 3), [3, 3, 3], "sizes must be int64, shape (2,), got torch.int64, (3,)"),
        ((2, 3, 4), (2, 3), [3.0, 3.0], "sizes must be int64, shape (2,), got torch.float32, (2,)"),
        ((2, 3, 4), (2, 3), [0, 3], "sizes must be in 1 .. 3, one a client, got [0, 3]"),
        ((2, 3, 4), (2, 3), [4, 3], "sizes must be in 1 .. 3, one a client, got [3, 4]"),
    ],
)
def test_tensors_that_do_not_fit_each_other_are_refused(x: tuple, y: tuple, sizes: list, message: str) -> None:
    """Catches padding that would be trained on."""
    with pytest.raises(ValueError, match=re.escape(message)):
        ClientData(torch.zeros(x), torch.zeros(y), torch.tensor(sizes))


def test_a_client_without_images_is_refused() -> None:
    """Catches a mean over nothing."""
    with pytest.raises(ValueError, match=re.escape("parts must give each client an image, got sizes [0, 2]")):
        ClientData.from_parts(images(), [np.array([1, 2]), np.array([], np.int64)], "cpu")


def test_clients_share_the_memory_of_the_data_set() -> None:
    """Catches a copy for every run: with MNIST 188 MB."""
    data = images()
    clients = ClientData.of(data, 7, Streams(1), "cpu")
    assert clients.x.data_ptr() == data.train_x.ctypes.data
    assert clients.y.data_ptr() == data.train_y.ctypes.data


def test_an_index_must_fit_the_samples() -> None:
    x, y, sizes = torch.zeros(6, 2), torch.zeros(6), torch.tensor([2, 3])
    index = torch.tensor([[0, 1, 0], [3, 4, 5]])
    assert ClientData(x, y, sizes, index).client(1)[0].shape == (3, 2)
    for wrong, message in ((index[:1], "sizes must be int64, shape (1,)"), (index[:, :2], "sizes must be in 1 .. 2")):
        with pytest.raises(ValueError, match=re.escape(message)):
            ClientData(x, y, sizes, wrong)
    for wrong in (index + 1, index.float(), index[0], index - 1):
        with pytest.raises(ValueError, match=re.escape("index must be int64, shape (clients, samples), in 0 .. 5")):
            ClientData(x, y, sizes, wrong)
    with pytest.raises(ValueError, match=re.escape("x must have shape (samples, ...), got (6,)")):
        ClientData(y, y, sizes, index)
