"""What an LDP-FL run spends, as `accounting` describes a protocol."""

from __future__ import annotations

from ldp_audit.accounting.protocols.protocol import Protocol, Shuffling, Step
from ldp_audit.mechanisms.two_point import TwoPoint

_NOTES = (
    "Reports are taken to be shuffled parameter by parameter among the round's clients; the run averages them "
    "unpermuted unless `permute` is set, which gives the same average.",
    "The ranges (c, r) are fixed, or derived from averaged reports: they cost nothing.",
)
_CHOSEN = (
    "The server chooses the clients of each round and knows them: a client that is chosen in every round spends all of "
    "this, and choosing amplifies nothing."
)


def spending(name: str, epsilon: float, rounds: int, dimensions: int, chosen: int, clients: int) -> Protocol:
    """Of a client that takes part in every round.

    name: of the data.   epsilon: of one report, nats.   dimensions: weights.   chosen: of so many clients, in a round.
    """
    return Protocol(
        name=f"LDP-FL on {name}",
        steps=(
            Step(TwoPoint(epsilon), ("rounds", "dimensions"), name="a weight's report", shuffling=Shuffling(chosen)),
        ),
        unit="client",
        adjacency="replace",
        rounds=rounds,
        dimensions=dimensions,
        paper="ldp-fl",
        source="Sun, Qian, Chen, LDP-FL (IJCAI 2021), Algorithms 1 to 3",
        notes=_NOTES if chosen == clients else (*_NOTES, _CHOSEN),
    )
