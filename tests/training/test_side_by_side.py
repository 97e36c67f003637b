"""Chunks of clients in threads: the same bits for any number of them, errors that come back, nothing left behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
import torch
from torch import Tensor

from ldp_audit.training import grouped
from ldp_audit.training.client_data import ClientData, LocalWork, Trained, draw_orders
from ldp_audit.training.local_training import train_clients
from tests.together import together
from tests.training.plain_clients import BATCH, EPOCHS, PLACE, RATE, Round, a_round


def rounds(case: Round, **settings: object) -> Iterator[Trained]:
    arguments = {"epochs": EPOCHS, "batch_size": BATCH, "learning_rate": RATE, "streams": case.streams, "place": PLACE}
    return train_clients(case.model, case.weights, case.data, range(5), **{**arguments, "chunk": 1, **settings})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Noticed(ClientData):
    """Clients' samples that note by whom they are read.   names: of the threads that trained, one a chunk."""

    names: list[str] = field(default_factory=list)

    def samples(self) -> tuple[Tensor, Tensor]:
        self.names.append(threading.current_thread().name)
        return super().samples()


def noticed(case: Round) -> tuple[Round, list[str]]:
    data = Noticed(case.data.x, case.data.y, case.data.sizes)
    return replace(case, data=data), data.names


@pytest.mark.parametrize("chunk", [1, 2])
def test_the_bits_are_the_same_for_any_number_of_threads(chunk: int) -> None:
    """Catches clients out of order, sums that depend on the threads, and threads that are not used."""
    (case, names), found = noticed(a_round("digit-cnn", torch.float32)), []
    for threads in (1, 2, 3, 7):
        torch.set_num_threads(threads)
        names.clear()
        found.append(case.trained("grouped", chunk=chunk))
        assert torch.get_num_threads() == threads
        assert all(name.startswith("clients") == (threads > 1) for name in names)
        assert len(names) == -(-5 // chunk)
    for other in found[1:]:
        assert all(torch.equal(other[name], weight) for name, weight in found[0].items())


def test_an_error_names_its_client_and_leaves_neither_threads_nor_their_number() -> None:
    """Catches an error that is lost in a thread, and a process that keeps to one thread ever after."""
    case = a_round("digit-cnn")
    case.data.x[3, 0] = float("nan")
    torch.set_num_threads(2)
    with pytest.raises(FloatingPointError, match="client 3 in round 3"):
        list(rounds(case))
    assert torch.get_num_threads() == 2
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("clients")]


def test_a_round_that_is_not_taken_to_its_end_ends_its_threads() -> None:
    """Catches threads that go on training for nobody."""
    torch.set_num_threads(2)
    parts = rounds(a_round("digit-cnn"))
    next(parts)
    parts.close()  # type: ignore[attr-defined]
    assert torch.get_num_threads() == 2
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("clients")]


def test_no_more_chunks_are_in_work_than_threads_and_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a round that is held whole while its caller is slow."""
    torch.set_num_threads(2)
    handed, submit = [], grouped.ThreadPoolExecutor.submit
    monkeypatch.setattr(grouped.ThreadPoolExecutor, "submit", lambda *arguments: handed.append(1) or submit(*arguments))
    assert [len(handed) for _ in rounds(a_round("digit-cnn"))] == [3, 4, 5, 5, 5]


def test_networks_of_short_operations_stay_in_the_callers_thread() -> None:
    """Catches threads that cost more than they save."""
    torch.set_num_threads(2)
    case, names = noticed(a_round("mlp"))
    list(rounds(case))
    assert set(names) == {threading.main_thread().name}


def test_the_room_for_weights_limits_the_chunks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches threads that multiply the memory of a large network."""
    torch.set_num_threads(3)
    case, everyone = a_round("digit-cnn"), torch.arange(5)
    orders = draw_orders(case.data, everyone, EPOCHS, case.streams, PLACE)
    work = LocalWork(case.model, case.weights, case.data, everyone, orders, BATCH, RATE, PLACE)
    size = 3 * 2 * sum(weight.nbytes for weight in case.weights.values())
    for room, wanted in ((10 * size, 3), (2 * size, 2), (1, 1)):
        monkeypatch.setattr(grouped, "MAX_BYTES", room)
        assert grouped.at_once(work, 2) == wanted


@together("mode", [torch.no_grad, torch.inference_mode])
def test_the_callers_own_grad_mode_counts_for_no_number_of_threads(mode: type) -> None:
    """It is one of each thread: one thread once failed where two trained."""
    case, found = a_round("digit-cnn", torch.float32), []
    wanted = case.trained("grouped")
    for threads in (1, 2):
        torch.set_num_threads(threads)
        with mode():
            found.append(case.trained("grouped"))
    assert all(torch.equal(other[name], weight) for other in found for name, weight in wanted.items())


def test_rounds_within_rounds_have_the_same_bits() -> None:
    """Catches an inner round whose end changes how the outer one's threads add."""
    case = a_round("digit-cnn", torch.float32)
    torch.set_num_threads(1)
    wanted = [weights for _, weights in rounds(case)]
    torch.set_num_threads(2)
    for outer, expected in zip(rounds(case), wanted, strict=True):
        inner = [weights for _, weights in rounds(case)]
        for found, right in zip([outer[1], *inner], [expected, *wanted], strict=True):
            assert all(torch.equal(found[name], weight) for name, weight in right.items())


def test_an_interrupt_while_chunks_end_leaves_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second Ctrl-C, while the first one waits for the threads."""
    torch.set_num_threads(2)
    shutdown, seen = grouped.ThreadPoolExecutor.shutdown, []

    def interrupted(self: grouped.ThreadPoolExecutor, **settings: bool) -> None:
        shutdown(self, **settings)
        raise KeyboardInterrupt

    monkeypatch.setattr(grouped.ThreadPoolExecutor, "shutdown", interrupted)
    monkeypatch.setattr(grouped.torch, "set_num_threads", seen.append)
    with pytest.raises(KeyboardInterrupt):
        list(rounds(a_round("digit-cnn")))
    assert seen[-1] == 2
