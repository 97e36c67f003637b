"""Small objects with the interfaces of the libraries that are adapted, so that each adapter is tested without them."""

from __future__ import annotations

import secrets
import types
from typing import Any

import numpy as np


class Measurement:
    """As opendp.Measurement: no seed; a list for a vector."""

    output_measure = "MaxDivergence"

    def invoke(self, x: Any) -> Any:
        source = secrets.SystemRandom()
        if isinstance(x, list):
            return [one + source.gauss(0, 1) for one in x]
        return x + source.gauss(0, 1)


Measurement.__module__ = "opendp.mod"


class DPMechanism:
    """As diffprivlib.mechanisms.DPMechanism: keyword arguments that are attributes, and a source of its own."""

    def __init__(self, *, scale: float, random_state: Any = None) -> None:
        self.scale = scale
        self.random_state = random_state
        seeded = isinstance(random_state, int)
        self._rng = np.random.RandomState(random_state) if seeded else random_state or secrets.SystemRandom()

    def randomise(self, value: float) -> float:
        return value + self.scale * self._rng.random()


class DPTransformer:
    """As diffprivlib's: around a mechanism or another transformer."""

    def __init__(self, parent: Any) -> None:
        self.parent = parent

    def copy(self) -> DPTransformer:
        return DPTransformer(self.parent)

    def randomise(self, value: int) -> int:
        return round(self.parent.randomise(float(value)))


DPMechanism.__module__ = DPTransformer.__module__ = "diffprivlib.mechanisms.base"


def grr_client(input_data: int, k: int, epsilon: float) -> int:
    """As GRR_Client, on numpy's shared generator."""
    if np.random.random() < np.exp(epsilon) / (np.exp(epsilon) + k - 1):
        return input_data
    return int(np.random.choice([value for value in range(k) if value != input_data]))


grr_client.__module__ = "multi_freq_ldpy.pure_frequency_oracles.GRR"


class RecordDict(dict):
    """As flwr.app.RecordDict: records by name, and by kind."""

    def _of(self, kind: type) -> dict[str, Any]:
        return {name: record for name, record in self.items() if isinstance(record, kind)}

    @property
    def array_records(self) -> dict[str, Any]:
        return self._of(ArrayRecord)

    @property
    def metric_records(self) -> dict[str, Any]:
        return self._of(MetricRecord)

    @property
    def config_records(self) -> dict[str, Any]:
        return self._of(ConfigRecord)


class ArrayRecord:
    def __init__(self, arrays: list[np.ndarray]) -> None:
        assert all(isinstance(one, np.ndarray) for one in arrays)
        self.arrays = [one.copy() for one in arrays]

    def to_numpy_ndarrays(self) -> list[np.ndarray]:
        return [one.copy() for one in self.arrays]


class MetricRecord(dict):
    pass


class ConfigRecord(dict):
    pass


class Message:
    """As flwr.app.Message, as far as mods use it."""

    def __init__(self, content: Any = None, *, metadata: Any = None, reply_to: Any = None, error: Any = None) -> None:
        assert (metadata is None) != (reply_to is None)
        self.content, self.metadata, self.error = content, metadata, error

    def has_error(self) -> bool:
        return self.error is not None


def flower() -> types.ModuleType:
    """A module as flwr.app."""
    module = types.ModuleType("flwr.app")
    for one in (RecordDict, ArrayRecord, MetricRecord, ConfigRecord, Message):
        setattr(module, one.__name__, one)
    module.Metadata = lambda *fields: fields
    module.Context = lambda *fields: fields
    module.MessageType = types.SimpleNamespace(TRAIN="train")
    return module


class NoiseMod:
    """Adds normal noise, and says in a metric whether the first weight was positive."""

    def __init__(self, *, tell: bool = False) -> None:
        self.tell = tell

    def __call__(self, msg: Any, ctxt: Any, call_next: Any) -> Any:
        factor = next(iter(msg.content.config_records.values())).get("factor", 1.0)
        sent = next(iter(msg.content.array_records.values())).to_numpy_ndarrays()
        reply = call_next(msg, ctxt)
        name, record = next(iter(reply.content.array_records.items()))
        weights = record.to_numpy_ndarrays()
        assert [one.shape for one in sent] == [one.shape for one in weights]
        if self.tell:
            metrics = next(iter(reply.content.metric_records.values()))
            metrics["positive"] = int(weights[0].flat[0] > 0)
        noisy = [one * factor + np.random.normal(size=one.shape) for one in weights]
        reply.content[name] = type(record)([np.asarray(one) for one in noisy])
        return reply


NoiseMod.__module__ = "flwr.clientapp.mod.localdp_mod"
