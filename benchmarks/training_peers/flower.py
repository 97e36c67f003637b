"""Flower's simulation (flwr 1.41, Ray) on one case: python flower.py CASE CLIENTS ROUNDS, one line of JSON.

The clients train by the same plain loop as ours beside it, one thread each; the server averages. seconds: the median of
the rounds after the first; first: the first round, which starts Ray's actors.
"""

import itertools
import json
import logging
import os
import statistics
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
os.environ |= {"RAY_DEDUP_LOGS": "0", "FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"}

import torch
from flwr.client import ClientApp, NumPyClient
from flwr.common import ndarrays_to_parameters
from flwr.server import ServerApp, ServerAppComponents, ServerConfig
from flwr.server.strategy import FedAvg
from flwr.simulation import run_simulation
from training_cases import CASES, SAMPLES, samples, train_plainly

CASE, CLIENTS, ROUNDS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
_held = []


class Client(NumPyClient):
    """One client: its samples by number."""

    def __init__(self, number):
        self.number = number

    def fit(self, parameters, config):
        """Train and send all weights back."""
        torch.set_num_threads(1)
        if not _held:  # once an actor
            _held.extend([CASES[CASE].build(), *samples(CASES[CASE], CLIENTS)])
        model, x, y = _held
        with torch.no_grad():
            for weight, value in zip(model.parameters(), parameters, strict=True):
                weight.copy_(torch.from_numpy(value))
        trained = train_plainly(model, x[self.number], y[self.number], torch.randperm(SAMPLES))
        return [weight.detach().numpy() for weight in trained.parameters()], SAMPLES, {}


def client(context):
    """The client of this node."""
    return Client(int(context.node_config["partition-id"])).to_client()


def main():
    """Run the rounds and print their times."""
    ends = []
    initial = [weight.detach().numpy() for weight in CASES[CASE].build().parameters()]

    def server(context):
        strategy = FedAvg(
            fraction_fit=1.0,
            fraction_evaluate=0.0,
            min_fit_clients=CLIENTS,
            min_available_clients=CLIENTS,
            initial_parameters=ndarrays_to_parameters(initial),
            evaluate_fn=lambda *_: ends.append(time.perf_counter()),  # before the first round, and after each
        )
        return ServerAppComponents(strategy=strategy, config=ServerConfig(num_rounds=ROUNDS))

    logging.disable(logging.WARNING)
    run_simulation(
        server_app=ServerApp(server_fn=server),
        client_app=ClientApp(client_fn=client),
        num_supernodes=CLIENTS,
        backend_config={"client_resources": {"num_cpus": 1, "num_gpus": 0.0}},
    )
    rounds = [later - earlier for earlier, later in itertools.pairwise(ends)]
    print(json.dumps({"seconds": statistics.median(rounds[1:]), "first": rounds[0], "rounds": len(rounds)}))


if __name__ == "__main__":
    main()
