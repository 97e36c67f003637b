"""A Flower client mod, as a sampler: a model update goes in, what leaves the client comes out."""

from __future__ import annotations

import importlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters.adapted_sampler import AdaptedSampler, one_by_one, seeded_globals

_SENT = {"num_examples": 1}
"""The client's only number besides its weights. A mod that changes it, or adds others, sends them too."""

_SECONDS_TO_LIVE = 3600.0


def from_flower(
    mod: Callable[..., Any], *, config: Mapping[str, Any] | None = None, model: Any = None
) -> AdaptedSampler:
    """A sampler that sends an update through the mod once for each output; about 0.6 ms each.

    mod: mod(message, context, call_next), such as LocalDpMod(...) or fixedclipping_mod.
    config: what the server sends along, such as {"clipping_norm": 1.0}, which the clipping mods need.
    model: the server's weights, as the input is given; None: zeros, with which the weights that leave are the update.

    Input: a model update, as a list of arrays, one array, a number, or a tuple of numbers. Behind the mod stands a
    client that returns the model plus the update, on one example. Output: all weights that leave, in one row, and then
    all numbers that the mod itself adds to the message (adaptiveclipping_mod: whether it clipped).

    Mods draw from shared generators, which are seeded from rng and put back after the call. Raises ValueError with
    Flower's reason where the mod answers with an error. Needs flwr; messages suit its current mods and those of
    flwr.client.mod.
    """
    if not callable(mod) or isinstance(mod, type):
        raise ValueError(f"mod must be a Flower mod (message, context, call_next), got {mod!r:.200}")
    given = None if model is None else _arrays(model)
    return AdaptedSampler(partial(_draw, mod, dict(config or {}), given))


def _draw(
    mod: Callable[..., Any],
    config: dict[str, Any],
    model: list[np.ndarray] | None,
    x: Any,
    n: int,
    rng: np.random.Generator,
) -> list[Any]:
    flower = importlib.import_module("flwr.app")
    update = _arrays(x)
    server = [np.zeros_like(one) for one in update] if model is None else model
    if [one.shape for one in server] != [one.shape for one in update]:
        raise ValueError(f"x must have the model's shapes, {[one.shape for one in server]}, got {x!r:.200}")
    weights = [np.asarray(base + change) for base, change in zip(server, update, strict=True)]
    with seeded_globals(rng), _quiet():
        return one_by_one(partial(_leaving, flower, mod, config, server), n, weights)


def _leaving(
    flower: Any, mod: Callable[..., Any], config: dict[str, Any], server: list[np.ndarray], weights: list[np.ndarray]
) -> list[Any]:
    """Everything in the message that the mod lets out: arrays, then numbers that the client had not sent."""
    content = flower.RecordDict(
        {"fitins.parameters": flower.ArrayRecord(server), "fitins.config": flower.ConfigRecord(dict(config))}
    )
    # With metadata of its own a message needs no running task: run, message, source, target, reply to, group, ...
    metadata = flower.Metadata(1, "1", 1, 2, "", "1", time.time(), _SECONDS_TO_LIVE, flower.MessageType.TRAIN)
    context = flower.Context(1, 2, {}, flower.RecordDict(), {})
    reply = mod(flower.Message(content, metadata=metadata), context, partial(_client, flower, weights))
    if reply.has_error():
        raise ValueError(f"the mod answered with an error: {reply.error.reason}")
    arrays = [one for record in reply.content.array_records.values() for one in record.to_numpy_ndarrays()]
    return arrays + _added(reply.content)


def _client(flower: Any, weights: list[np.ndarray], message: Any, _context: Any) -> Any:
    """The application behind the mod."""
    content = flower.RecordDict(
        {
            "fitres.parameters": flower.ArrayRecord(weights),
            "fitres.num_examples": flower.MetricRecord(dict(_SENT)),
            "fitres.metrics": flower.ConfigRecord(),
            "fitres.status": flower.ConfigRecord({"code": 0, "message": ""}),
        }
    )
    return flower.Message(content, reply_to=message)


def _added(content: Any) -> list[Any]:
    """Values of metrics and settings that the client did not send, in the order of their names."""
    known = {**_SENT, "code": 0, "message": ""}
    records = [*content.metric_records.items(), *content.config_records.items()]
    values = {(name, key): value for name, record in records for key, value in record.items()}
    return [values[place] for place in sorted(values) if known.get(place[1]) != values[place]]


def _arrays(value: Any) -> list[np.ndarray]:
    """The update's arrays, in their shapes, where it is a list or tuple of some; else one array, not of shape ()."""
    if isinstance(value, list | tuple) and any(isinstance(part, np.ndarray | list | tuple) for part in value):
        return [np.asarray(part) for part in value]
    return [np.atleast_1d(np.asarray(value))]


@contextmanager
def _quiet() -> Iterator[None]:
    """Without Flower's two lines of log for each message."""
    logger = logging.getLogger("flwr")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
