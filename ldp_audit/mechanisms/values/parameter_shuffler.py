"""LDP-FL's parameter shuffling: what the server receives from n clients, and when.

Each client splits its d reports into messages (id, value), trains for t_LC, waits T_W = T_S - t_LC - t_C (T_S is the
largest t_LC + t_C of all clients), delays every message independently by tau, uniform on [0, T), and transmits it in
t_C. It arrives at t_LC + T_W + tau + t_C = T_S + tau. The server receives times, ids and values, but no client names.

If the predicted times hold, arrivals are T_S plus i.i.d. delays: the order of the messages is uniform, and times are
independent of the clients. If a client's real times deviate by D, all its arrivals move by D, and each falls where no
other client's can with probability min(1, |D| / T).

For an id the server counts the upper reports among n. The count is Poisson binomial, and its pure epsilon is that of
one report for every n: at the least possible count all other reports are the lower ones, and the likelihood ratio is
the target's own. Shuffling improves (epsilon, delta) only.

Source: Sun, Qian, Chen (IJCAI 2021), Algorithm 3 and "Parameter Shuffling". For the pure epsilon see Balcer and Cheu
(ITC 2020) as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import array_api_compat
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.mechanisms.inputs import as_array, finite
from ldp_audit.mechanisms.mechanism import Mechanism, Parameter, check_parameters
from ldp_audit.mechanisms.randomness import NumpySource, source_of
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.numerics import instance

IDS = Parameter("d", Variable("d", 1, oo, integer=True), typical=(1, 100))
_DELAY_BITS = 53


class Messages(NamedTuple):
    """The n d messages in the order of arrival: time, float64; id, int64, 0 .. d-1; value, in the reports' dtype."""

    time: Any
    id: Any
    value: Any


@dataclass(frozen=True)
class ParameterShuffler:
    """n clients' reports as anonymous, delayed messages.

    training, communication: the predicted t_LC and t_C of each client, >= 0, finite, in any unit of time.
    window: T >= 0; delays are uniform on [0, T).
    actual_training, actual_communication: the real times; as predicted if not given.
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
            object.__setattr__(self, name, _times(name, times, np.size(self.training)))

    @property
    def n(self) -> int:
        """The number of clients."""
        return len(self.training)

    def slowest(self) -> float:
        """T_S: the largest predicted t_LC + t_C."""
        return float(np.max(np.add(self.training, self.communication)))

    def waiting(self) -> NDArray[np.float64]:
        """T_W = T_S - t_LC - t_C of each client, >= 0; shape (n,)."""
        return self.slowest() - np.add(self.training, self.communication)

    def offsets(self) -> NDArray[np.float64]:
        """Each client's prediction error: its arrival without delay, minus T_S; shape (n,)."""
        late = np.array(self.actual_training) - np.array(self.training)
        return late + (np.array(self.actual_communication) - np.array(self.communication))

    def split(self, reports: Any, xp: Any = NumpySource.xp) -> tuple[Any, Any]:
        """The ids 0 .. d-1 and the values of all messages, client by client; shape (n, d) to twice (n d,)."""
        reports = as_array("reports", reports)
        if reports.ndim != 2 or reports.shape[0] != self.n:
            raise ValueError(
                f"reports must have shape ({self.n}, d), a row for each client, got {tuple(reports.shape)}"
            )
        ids = xp.arange(reports.shape[1], dtype=xp.int64, device=array_api_compat.device(reports))
        return xp.reshape(xp.broadcast_to(ids, reports.shape), (-1,)), xp.reshape(reports, (-1,))

    def sample(self, reports: Any, *, rng: Any) -> Messages:
        """The messages that the server receives, in the order of arrival (random among simultaneous ones).

        reports: array or tensor of shape (n, d), a row for each client.   rng: a numpy.random.Generator, or a
            torch.Generator for tensors. Delays are multiples of T / 2**53.
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
        """The Poisson binomial distribution of the number of upper reports for an id.

        probabilities: of the upper report for each client, shape (n,), or (n, ids) for several ids; Fractions (exact)
            or floats.
        returns: shape (n + 1,), or (n + 1, ids), of the same kind; floats to within n roundings each. Raises ValueError
            for another shape, and for what is no probability.
        """
        shares = np.asarray(probabilities)
        if shares.ndim == 0 or shares.shape[0] != self.n:
            raise ValueError(f"probabilities must have shape ({self.n}, ...), one a client, got shape {shares.shape}")
        return poisson_binomial(shares)

    def exact_epsilon(self, value: Any, d: int = 1) -> float:
        """The tight pure epsilon of a round of d ids, nats: d times the value mechanism's, for every n and T."""
        instance(value, Mechanism, "value", "a mechanism")
        return IDS.check(d) * value.exact_epsilon()


def poisson_binomial(probabilities: ArrayLike) -> NDArray:
    """The distribution of the number of successes of independent trials; see `ParameterShuffler.count_law`."""
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
