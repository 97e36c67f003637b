"""The memory of a noisy round: it grows with a chunk of clients, not with all of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read as Linux tells it")

_ROUND = """
import json, re, sys
from pathlib import Path
import torch
from torch import nn
from ldp_audit.mechanisms import TwoPoint
from ldp_audit.training.client_data import ClientData
from ldp_audit.training.local_training import train_clients
from ldp_audit.training.models import initial_weights
from ldp_audit.training.streams import Streams

torch.set_num_threads(1)
clients, hidden, held_too = (int(word) for word in sys.argv[1:])
streams, noise = Streams(1), TwoPoint(1.0)
model = nn.Sequential(nn.Linear(784, hidden), nn.ReLU(), nn.Linear(hidden, 10))
weights = initial_weights(model, streams.torch("weights"))

def peak():
    # not getrusage: what it says begins at the peak of the process that started this one
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024

def noisy_round(n, hold):
    data = ClientData(torch.rand(n, 2, 784), torch.randint(10, (n, 2)), torch.full((n,), 2))
    generator, held = streams.torch("noise", 1), []
    total = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    for _, trained in train_clients(model, weights, data, range(n), epochs=1, batch_size=2, learning_rate=0.01,
                                    streams=streams, place=(1,)):
        for name, stacked in trained.items():
            for client in stacked:
                total[name] += noise.sample(client.clamp(-1, 1), rng=generator)
        held += [trained] if hold else []
    return {name: float((weight / n).abs().mean()) for name, weight in total.items()}

noisy_round(20, False)  # a whole chunk
d, peaks = sum(weight.numel() for weight in weights.values()), [peak()]
for hold in [False, True][: 1 + held_too]:
    noisy_round(clients, hold)
    peaks.append(peak())
print(json.dumps({"d": d, "bytes": 4 * d * clients, "peaks": peaks}))
"""


def measured(clients: int, hidden: int, *, held_too: bool) -> tuple[int, int, list[int]]:
    """Weights d; bytes of n x d; the peaks after a round of one chunk, one of all clients, one whose caller holds all.

    In a process of its own, as a process remembers its peak for ever.
    """
    command = [sys.executable, "-c", _ROUND, str(clients), str(hidden), str(int(held_too))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    found = json.loads(done.stdout)
    return found["d"], found["bytes"], found["peaks"]


def test_a_round_of_more_clients_takes_no_more_memory_unless_its_caller_holds_them() -> None:
    """Catches anything of the size n x d: 120 clients of 10**5 weights are 48 MB, of which a quarter is let pass.

    The caller that holds all is the measurement's own check.
    """
    d, whole, (chunk, clients, held) = measured(120, 126, held_too=True)
    assert d > 1e5
    assert clients - chunk < 0.25 * whole, (chunk, clients, whole)
    assert held - clients > 0.5 * whole, (clients, held, whole)


@pytest.mark.slow
def test_a_round_of_500_clients_and_a_million_weights_stays_under_4_gb() -> None:
    """Catches a chunk that is too large for such a model. Held whole, the round would be 2 GB more."""
    d, whole, (chunk, clients) = measured(500, 1260, held_too=False)
    assert d > 1e6
    assert clients < 4e9, clients
    assert clients - chunk < 0.25 * whole, (chunk, clients, whole)
