"""Other accountants' records of what was run, read as losses, and a verdict on the numbers that they printed.

dp-accounting has events, a tree of objects; Opacus a history, a list of (noise multiplier, sample rate, steps). Neither
package is imported. In JSON an event is an object with its class, its fields, and the inner events under "of":

    {"event": "SelfComposed", "count": 1000, "of":
        {"event": "PoissonSampled", "sampling_probability": 0.01, "of": {"event": "Gaussian", "noise_multiplier": 1.1}}}

a list of events is composed, and Opacus' history is {"history": [[1.1, 0.01, 1000]], "mechanism": "rdp"}, as its
`state_dict()` has it. Around it may stand {"neighbours": "replace", "claimed": [{"epsilon": 2.1, "delta": 1e-5}],
"of": ...}, where `claimed` is what was printed.

Noise is relative to the largest norm of one record's contribution, so a replaced record moves a sum by up to 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, NamedTuple

from ldp_audit.accounting.converted import plain
from ldp_audit.accounting.privacy_loss import PrivacyLoss, check_adjacency, compose, privacy_loss, related
from ldp_audit.accounting.promises import ZCDP
from ldp_audit.accounting.subsample import subsample
from ldp_audit.losses.discrete_loss import INFINITE_LOSS, ZERO_LOSS
from ldp_audit.losses.moment_bound import RenyiLoss
from ldp_audit.mechanisms import DiscreteLaplace, Gaussian, Laplace, RandomizedResponse
from ldp_audit.mechanisms.mechanism import Adjacency
from ldp_audit.numerics import between, is_number, log_ratio, nonnegative, probability, shown, whole

Part = tuple[Any, int]
"""A mechanism or a loss, and how often."""

_MOST_DEEP = 100


class _Kind(NamedTuple):
    """A class of events: its numbers; its inner event's field, if any; and what composes it, under these neighbours."""

    numbers: tuple[str, ...]
    inner: str | None
    parts: Callable[[dict[str, Any], Adjacency, list[Part]], list[Part]]
    within: Callable[[Adjacency], Adjacency] = lambda adjacency: adjacency


def from_events(events: Any, *, adjacency: Adjacency | None = None) -> PrivacyLoss:
    """The privacy loss of what another accountant recorded.

    events: an event or an accountant of dp-accounting; an accountant of Opacus, its history or its state; or either in
        JSON's objects and lists (see the module). Random responses are local reports, in any neighbours.
    adjacency: how neighbours differ; what an accountant of dp-accounting or a document says, else "add/remove".
    Raises ValueError, which names the event and its place, for one that has no rule here, and for bad numbers.
    """
    found, stated, _ = _document(events)
    if adjacency is not None and stated not in (None, check_adjacency(adjacency)):
        raise ValueError(f"adjacency must be that of the events, {stated}, got {adjacency!r}")
    asked: Adjacency = adjacency or stated or "add/remove"
    return _one(_parts(found, asked, "events", 0), asked)


def claimed_by(events: Any) -> list[AccountVerdict]:
    """What a document of events says that was printed, each beside the certified bounds; errors as `from_events`."""
    loss = from_events(events)
    return [account_verdict(loss, claim["epsilon"], claim["delta"]) for claim in _document(events)[2]]


def account_verdict(mechanism: Any, epsilon: float, delta: float) -> AccountVerdict:
    """An accountant's epsilon at this delta, held against the certified bounds of what it is about.

    mechanism: or a loss, as `privacy_loss` takes it, that of `from_events` say.
    Raises ValueError unless epsilon is >= 0, and delta in [0, 1].
    """
    claim, chance = nonnegative(epsilon, "epsilon"), probability(delta, "delta")
    return AccountVerdict(claim, chance, *privacy_loss(mechanism).epsilon_bounds(delta=chance))


@dataclass(frozen=True)
class AccountVerdict:
    """An epsilon that an accountant printed, and the certified bounds of the true one at this delta, nats."""

    claimed: float
    delta: float
    lower: float
    upper: float

    @property
    def verdict(self) -> str:
        """In one word: "refuted", more is spent; "loose", less is spent for sure; else "consistent"."""
        return "refuted" if self.claimed < self.lower else "loose" if self.claimed > self.upper else "consistent"

    def describe(self) -> str:
        """One line for people."""
        words = {
            "refuted": "below the lower bound: more is spent than was printed",
            "consistent": "within the certified bounds",
            "loose": "true, and more than is spent",
        }[self.verdict]
        bounds = f"[{self.lower:.9g}, {self.upper:.9g}]"
        return f"{self.verdict}: epsilon {self.claimed:.9g} at delta {self.delta:g} for {bounds}, {words}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        numbers = {"claimed": self.claimed, "delta": self.delta, "lower": self.lower, "upper": self.upper}
        return {"verdict": self.verdict, **{name: plain(value) for name, value in numbers.items()}}


def _document(events: Any) -> tuple[Any, Adjacency | None, list[dict[str, float]]]:
    """The events, and the neighbours and claims that are stated around them."""
    name = type(events).__name__
    if name in ("RdpAccountant", "PLDAccountant"):
        relation = events.neighboring_relation.name
        if relation not in _RELATIONS:
            raise ValueError(f"events must be between neighbours of {', '.join(_RELATIONS)}, got {relation}")
        return events.ledger, _RELATIONS[relation], []
    if name in ("RDPAccountant", "PRVAccountant", "GaussianAccountant"):
        return {"history": events.history}, "add/remove", []
    if not isinstance(events, Mapping) or "event" in events or "of" not in events:
        return events, None, []
    _check_keys(events, {"of", "neighbours", "claimed"}, "events")
    stated = check_adjacency(events["neighbours"]) if "neighbours" in events else None
    claims = events.get("claimed", [])
    claims = [claims] if isinstance(claims, Mapping) else claims
    if not isinstance(claims, list) or not all(
        isinstance(one, Mapping) and set(one) == {"epsilon", "delta"} for one in claims
    ):
        raise ValueError(f'claimed must be like {{"epsilon": 2.1, "delta": 1e-5}}, or a list of these, got {claims!r}')
    return events["of"], stated, [dict(one) for one in claims]


_RELATIONS: dict[str, Adjacency] = {"ADD_OR_REMOVE_ONE": "add/remove", "REPLACE_ONE": "replace"}


def _parts(event: Any, adjacency: Adjacency, place: str, depth: int) -> list[Part]:
    """What an event composes, under these neighbours of its own input."""
    if depth > _MOST_DEEP:
        raise ValueError(f"{place[:60]}... must be at most {_MOST_DEEP} events deep")
    if isinstance(event, Mapping) and "history" in event:
        _check_keys(event, {"history", "mechanism"}, place)
        return _opacus(event["history"], adjacency, f"{place}.history")
    if isinstance(event, Sequence) and not isinstance(event, str | bytes) and not _is_named(event):
        if event and all(isinstance(one, tuple) and len(one) == 3 and all(map(is_number, one)) for one in event):
            return _opacus(event, adjacency, place)
        inner = [_parts(one, adjacency, f"{place}[{i}]", depth + 1) for i, one in enumerate(event)]
        return [part for one in inner for part in one]
    name, values, inner = _read(event, place)
    kind = _KINDS[name]
    try:
        nested = [] if kind.inner is None else _parts(inner, kind.within(adjacency), f"{place}.{name}", depth + 1)
    except RecursionError:
        raise ValueError(f"{place} must be at most {_MOST_DEEP} events deep") from None
    try:
        return kind.parts(values, adjacency, nested)
    except ValueError as error:
        raise ValueError(f"{place} ({name}): {error}") from None


def _read(event: Any, place: str) -> tuple[str, dict[str, Any], Any]:
    """The class of an event, its numbers by field, and its inner event."""
    if isinstance(event, Mapping):
        said = str(event.get("event"))
    else:
        said = type(event).__name__.removeprefix("_").removesuffix("NamedTupleWrapper")
    long = said.removesuffix("Event")
    name = long if long in _KINDS else long.removesuffix("Dp")
    if name not in _KINDS:
        reason = _REFUSED.get(name, f"an event must be one of {', '.join(_KINDS)}")
        raise ValueError(f"{place}: no rule for {said}, {reason}; got {shown(event)[:200]}")
    kind = _KINDS[name]
    fields = (*kind.numbers, *((kind.inner,) if kind.inner else ()))
    if isinstance(event, Mapping):
        keys = [*kind.numbers, *(["of"] if kind.inner else [])]
        _check_keys(event, {"event", *keys}, f"{place} ({name})")
        if missing := [key for key in keys if key not in event and key not in _DEFAULTS]:
            raise ValueError(f"{place} ({name}) must have {', '.join(keys)}; {missing[0]} is missing")
        return name, {key: event.get(key, _DEFAULTS.get(key)) for key in kind.numbers}, event.get("of")
    try:
        values = {field: attrgetter(field)(event) for field in fields}
    except AttributeError as error:
        raise ValueError(f"{place} ({name}) must have {', '.join(fields)}: {error}") from None
    return name, values, values.get(kind.inner or "")


def _is_named(event: Any) -> bool:
    """Whether it is an event as dp-accounting's `to_named_tuple` makes it."""
    return type(event).__name__.endswith("NamedTupleWrapper")


def _check_keys(found: Mapping[str, Any], known: set[str], place: str) -> None:
    if unknown := set(found) - known:
        raise ValueError(f"{place} must have the keys {', '.join(sorted(known))}, got {shown(sorted(unknown)[0])}")


def _opacus(history: Any, adjacency: Adjacency, place: str) -> list[Part]:
    """The parts of an Opacus history. Its steps draw each record by itself, at the sample rate."""
    found: list[Part] = []
    for i, step in enumerate(history if isinstance(history, list | tuple) else [None]):
        if not isinstance(step, list | tuple) or len(step) != 3:
            raise ValueError(f"{place}[{i}] must be (noise_multiplier, sample_rate, steps), got {shown(step)}")
        noise, rate, steps = step
        try:
            drawn = _poisson({"sampling_probability": rate}, adjacency, _gaussian({"noise_multiplier": noise}))
            found += [(loss, times * whole(steps, "steps", 0)) for loss, times in drawn]
        except ValueError as error:
            raise ValueError(f"{place}[{i}]: {error}") from None
    return found


def _one(parts: list[Part], adjacency: Adjacency) -> PrivacyLoss:
    """The loss of all parts, between these neighbours; a local report's holds between them, too."""
    losses = [(related(privacy_loss(part, _own(part, adjacency)), adjacency), times) for part, times in parts]
    return replace(compose(losses or [(PrivacyLoss((ZERO_LOSS,)), 1)]), adjacency=adjacency)


def _own(part: Any, adjacency: Adjacency) -> Adjacency | None:
    return None if isinstance(part, PrivacyLoss | RandomizedResponse) else adjacency


def _noise(make: Callable[[float], Any], multiplier: Any, name: str = "noise_multiplier") -> list[Part]:
    scale = nonnegative(multiplier, name)
    between(scale, name, "a finite number >= 0", math.isfinite)
    return [(make(scale) if scale else PrivacyLoss((INFINITE_LOSS,)), 1)]


def _gaussian(values: dict[str, Any]) -> list[Part]:
    return _noise(lambda sigma: Gaussian(sigma, 1.0, 2.0), values["noise_multiplier"])


def _laplace(values: dict[str, Any]) -> list[Part]:
    return _noise(lambda scale: Laplace(scale, 1.0, 2.0), values["noise_multiplier"])


def _discrete_laplace(values: dict[str, Any]) -> list[Part]:
    moved = whole(values["sensitivity"], "sensitivity", 1)

    def made(parameter: float) -> DiscreteLaplace:  # the next smaller scale: never less than exp(-parameter |x|)
        return DiscreteLaplace(math.nextafter(1 / parameter, 0.0), moved, replaced=2 * moved)

    return _noise(made, values["noise_parameter"], "noise_parameter")


def _response(values: dict[str, Any]) -> list[Part]:
    chance, count = (
        probability(values["noise_parameter"], "noise_parameter"),
        whole(values["num_buckets"], "num_buckets"),
    )
    if count == 1 or chance == 1:
        return []
    if chance == 0:
        return [(PrivacyLoss((INFINITE_LOSS,)), 1)]
    numerator, denominator = chance.as_integer_ratio()  # the truth has 1 - p + p/k, any other answer p/k
    epsilon = log_ratio(numerator + count * (denominator - numerator), numerator)
    return [(RandomizedResponse(epsilon, k=count), 1)] if epsilon > 0 else []


def _concentrated(values: dict[str, Any], adjacency: Adjacency) -> list[Part]:
    rho, xi = nonnegative(values["rho"], "rho"), nonnegative(values["xi"], "xi")
    if xi == 0:
        return [(ZCDP(rho, adjacency=adjacency), 1)]
    between(rho + xi, "rho and xi", "finite numbers", math.isfinite)
    words = f"what is promised is xi = {xi:g}, rho = {rho:g}"
    return [(PrivacyLoss((RenyiLoss(lambda order: xi + rho * order, rho + xi),), (words,), adjacency), 1)]


def _tree(values: dict[str, Any]) -> list[Part]:
    """Every node on the path from the record's leaf is noisy: of a tree of t leaves, one a bit of t."""
    steps = values["step_counts"]
    counts = [whole(one, "step_counts", 1) for one in (steps if isinstance(steps, list | tuple) else [steps])]
    if not counts:
        raise ValueError("step_counts must hold a number of steps, got none")
    return [(noise, times * max(counts).bit_length()) for noise, times in _gaussian(values)]


def _poisson(values: dict[str, Any], adjacency: Adjacency, inner: list[Part]) -> list[Part]:
    rate = probability(values["sampling_probability"], "sampling_probability")
    return [(subsample(_drawn(inner, "add/remove"), rate=rate, adjacency=adjacency), 1)] if inner else []


def _of_fixed_size(
    kind: str,
) -> Callable[[dict[str, Any], Adjacency, list[Part]], list[Part]]:
    def parts(values: dict[str, Any], adjacency: Adjacency, inner: list[Part]) -> list[Part]:
        sizes = {"n": values["source_dataset_size"], "k": values["sample_size"]}
        drawn = _drawn(inner, "replace")
        return [(subsample(drawn, kind=kind, **sizes, adjacency=adjacency), 1)] if inner else []  # type: ignore[arg-type]

    return parts


def _drawn(inner: list[Part], adjacency: Adjacency) -> Any:
    """What runs on a sample: one mechanism as it is, as noise states more than a loss; else the loss of all."""
    return inner[0][0] if len(inner) == 1 and inner[0][1] == 1 else _one(inner, adjacency) if inner else None


def _repeated(values: dict[str, Any], _: Adjacency, inner: list[Part]) -> list[Part]:
    count = whole(values["count"], "count", 0)
    return [(part, times * count) for part, times in inner]


_DEFAULTS = {"xi": 0.0}
_KINDS: dict[str, _Kind] = {
    "NoOp": _Kind((), None, lambda *_: []),
    "NonPrivate": _Kind((), None, lambda *_: [(PrivacyLoss((INFINITE_LOSS,)), 1)]),
    "Gaussian": _Kind(("noise_multiplier",), None, lambda values, *_: _gaussian(values)),
    "Laplace": _Kind(("noise_multiplier",), None, lambda values, *_: _laplace(values)),
    "DiscreteLaplace": _Kind(("noise_parameter", "sensitivity"), None, lambda values, *_: _discrete_laplace(values)),
    "RandomizedResponse": _Kind(("noise_parameter", "num_buckets"), None, lambda values, *_: _response(values)),
    "ZCDp": _Kind(("rho", "xi"), None, lambda values, adjacency, _: _concentrated(values, adjacency)),
    "SingleEpochTreeAggregation": _Kind(("noise_multiplier", "step_counts"), None, lambda values, *_: _tree(values)),
    "SelfComposed": _Kind(("count",), "event", _repeated),
    "Composed": _Kind((), "events", lambda _values, _adjacency, inner: inner),
    "PoissonSampled": _Kind(("sampling_probability",), "event", _poisson, lambda _: "add/remove"),
    "SampledWithReplacement": _Kind(
        ("source_dataset_size", "sample_size"), "event", _of_fixed_size("with"), lambda _: "replace"
    ),
    "SampledWithoutReplacement": _Kind(
        ("source_dataset_size", "sample_size"), "event", _of_fixed_size("without"), lambda _: "replace"
    ),
}
_REFUSED = {
    "RepeatAndSelect": "the best of a random number of runs",
    "MixtureOfGaussians": "noise on a sum of several records drawn together",
    "TruncatedSubsampledGaussian": "batches that are cut off at a size",
    "Unsupported": "which says that its author has none, either",
}
"""Why there is no rule for these."""
