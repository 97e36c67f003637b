"""LDP-FL's parameter shuffling: what the cloud sees of n clients' reports, and when.

Each client splits its d reports into messages (id, value), trains for t_LC, waits T_W = T_S - t_LC - t_C, where T_S is
the largest t_LC + t_C of all clients, delays every message by its own tau, uniform on [0, T), and sends it, which takes
t_C. The message arrives at t_LC + T_W + tau + t_C = T_S + tau. The cloud sees times, ids and values, no clients.

Where the predicted times hold, all arrivals are T_S plus independent delays of one law: the order of the messages is
uniform, and times carry nothing about who sent what. A client whose real times differ from the predicted ones by D has
all its arrivals moved by D; each then falls where only that client's can with probability min(1, |D| / T).

Of an id the cloud keeps the number of upper reports among n. Its law is Poisson binomial, and its pure epsilon that of
one report, for every n: at the least count that can occur, all others' reports are the lower ones, and the ratio is the
target's own. Only (epsilon, delta) gains by shuffling.

Source: Sun, Qian, Chen (IJCAI 2021), Algorithm 3 and "Parameter Shuffling". Balcer, Cheu (ITC 2020) for pure epsilons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import array_api_compat
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.mechanisms.inputs import finite
from ldp_audit.mechanisms.parameter import Parameter, check_parameters
from ldp_audit.mechanisms.randomness import NumpySource, source_of
from ldp_audit.mechanisms.variable import Variable

IDS = Parameter("d", Variable("d", 1, oo, integer=True), typical=(1, 100))
_DELAY_BITS = 53


class Messages(NamedTuple):
    """What arrives, in the order of arrival: arrays or tensors of n d messages.

    time: float64.   id: int64, 0 .. d-1.   value: the reports, in their dtype.
    """

    time: Any
    id: Any
    value: Any


@dataclass(frozen=True)
class ParameterShuffler:
    """n clients' reports as anonymous, delayed messages.

    training, communication: the predicted t_LC and t_C of each client, >= 0, finite, in any one unit of time.
    window: T, >= 0: delays are uniform on [0, T).
    actual_training, actual_communication: what they turn out to be; as predicted if not given.
    Raises ValueError for anything else.
    """

    training: Sequence[float]
    communication: Sequence[float]
    window: float
    actual_training: Sequence[float] | None = None
    actual_communication: Sequence[float] | None = None

    parameters = (Parameter("window", Variable("T_window", 0, oo, latex="T"), typical=(0.1, 10.0)),)

    def __post_init__(self) -> None:
        check_parameters(self)
        for name in ("training", "communication", "actual_training", "actual_communication"):
            given = getattr(self, name)
            times = getattr(self, name.removeprefix("actual_")) if given is None else given
            object.__setattr__(self, name, _times(name, times, len(self.training)))

    @property
    def n(self) -> int:
        """The number of clients."""
        return len(self.training)

    def slowest(self) -> float:
        """T_S: the largest predicted t_LC + t_C, when the last client would answer without shuffling."""
        return float(np.max(np.add(self.training, self.communication)))

    def waiting(self) -> NDArray[np.float64]:
        """T_W = T_S - t_LC - t_C of each client, >= 0; shape (n,)."""
        return self.slowest() - np.add(self.training, self.communication)

    def offsets(self) -> NDArray[np.float64]:
        """How much later than T_S a client's undelayed message arrives: its prediction errors; shape (n,)."""
        late = np.array(self.actual_training) - np.array(self.training)
        return late + (np.array(self.actual_communication) - np.array(self.communication))

    def round_end_bound(self) -> float:
        """No message arrives later: T_S + T, plus the largest offset."""
        return self.slowest() + float(np.max(self.offsets())) + self.window

    def exposed_fraction(self, offset: ArrayLike) -> NDArray[np.float64] | np.float64:
        """min(1, |offset| / T): how likely a report of a client so late, or early, arrives where no other's can.

        offset: against all other clients, who have none.   returns: shape of `offset`.
        """
        away = np.abs(finite("offset", offset))
        return (np.minimum(away, self.window) / self.window if self.window > 0 else np.where(away > 0, 1.0, 0.0))[()]

    def split(self, reports: Any, xp: Any = NumpySource.xp) -> tuple[Any, Any]:
        """The ids 0 .. d-1 and the values of all messages, client by client; shape (n, d) to twice (n d,)."""
        if reports.ndim != 2 or reports.shape[0] != self.n:
            raise ValueError(
                f"reports must have shape ({self.n}, d), a row for each client, got {tuple(reports.shape)}"
            )
        ids = xp.arange(reports.shape[1], dtype=xp.int64, device=array_api_compat.device(reports))
        return xp.reshape(xp.broadcast_to(ids, reports.shape), (-1,)), xp.reshape(reports, (-1,))

    def sample(self, reports: Any, *, rng: Any) -> Messages:
        """What the cloud sees of the reports, in the order of arrival.

        reports: array or tensor of shape (n, d), a row for each client.
        rng: a numpy.random.Generator, or a torch.Generator for tensors.
        Delays are multiples of T / 2**53; messages that arrive together come in a random order, by 64-bit words.
        """
        source = source_of(rng)
        xp, given = source.xp, source.array("reports", reports)
        ids, values = self.split(given, xp)
        uniform = (
            xp.astype(source.words(given.shape, _DELAY_BITS), xp.float64) + 2.0 ** (_DELAY_BITS - 1)
        ) / 2.0**_DELAY_BITS
        starts = self.slowest() + source.constant(self.offsets(), xp.float64)
        times = xp.reshape(starts[:, None] + self.window * uniform, (-1,))
        mixed = xp.argsort(source.words(times.shape))
        order = mixed[xp.argsort(times[mixed], stable=True)]
        return Messages(times[order], ids[order], values[order])

    def count_law(self, probabilities: ArrayLike) -> NDArray:
        """The law of the number of upper reports that the cloud counts for an id: the Poisson binomial.

        probabilities: of the upper report, one a client, shape (n,), or (n, ids) for several ids at once; Fractions,
            for an exact law, or floats.
        returns: shape (n + 1,), or (n + 1, ids), of the same kind; floats to within n roundings each, as nothing is
            subtracted but 1 - p. Raises ValueError for another shape, and for what is no probability.
        """
        shares = np.asarray(probabilities)
        if shares.ndim == 0 or shares.shape[0] != self.n:
            raise ValueError(f"probabilities must have shape ({self.n}, ...), one a client, got shape {shares.shape}")
        return poisson_binomial(shares)

    def exact_epsilon(self, value: Any, d: int = 1) -> float:
        """The tight pure epsilon of a round of d ids, nats: d times the value mechanism's, whatever n and T are."""
        return IDS.check(d) * value.exact_epsilon()


def poisson_binomial(probabilities: ArrayLike) -> NDArray:
    """The law of the number of successes among independent trials; see `ParameterShuffler.count_law`."""
    shares = np.asarray(probabilities)
    if shares.dtype.kind not in "fiuO" or not np.all((shares >= 0) & (shares <= 1)):
        raise ValueError(f"probabilities must lie in [0, 1], got {probabilities!r}")
    law = np.zeros((1 + shares.shape[0], *shares.shape[1:]), dtype=np.result_type(shares.dtype, np.float64))
    law[0] = 1
    for i, share in enumerate(shares):
        law[1 : i + 2] = law[1 : i + 2] * (1 - share) + law[: i + 1] * share
        law[0] = law[0] * (1 - share)
    return law


def _times(name: str, times: Any, n: int) -> tuple[float, ...]:
    given = finite(name, times)
    if given.ndim != 1 or len(given) != n or n == 0 or np.any(given < 0):
        raise ValueError(f"{name} must be {n or 'some'} times >= 0, one a client, got {times!r}")
    return tuple(given.tolist())
