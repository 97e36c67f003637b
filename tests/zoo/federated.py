"""Reports of model updates (LDP-FL, FedSel), and of samples of a data set."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ldp_audit.mechanisms import ClientRange, LayerRange, PerturbedSampling, Piecewise, TwoPoint, TwoStage
from tests.zoo.draws import laplace
from tests.zoo.specimen import Specimen

_T, _ROOT = math.e, math.exp(0.5)


def _two_point(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """The formula as it is often written down, for center 0 and radius 1, without a look at x."""
    reach = (_T + 1) / (_T - 1)
    upper = (x * (_T - 1) + _T + 1) / (2 * (_T + 1))
    return np.where(rng.random(n) < upper, reach, -reach)


def _two_point_clipped(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    mechanism = TwoPoint(1.0)
    return mechanism.sample(np.full(n, mechanism.clip(np.array(x))), rng=rng)


UNCLIPPED = Specimen(
    name="a two-point mechanism with unclipped inputs",
    what_is_wrong="weights of -2 and 2 in a range of radius 1; true epsilon ln((3 e - 1) / (3 - e)) = 3.235",
    broken=_two_point,
    sound=_two_point_clipped,
    inputs=(-2.0, 2.0),
    claimed_epsilon=1.0,
    broken_epsilon=math.log((3 * _T - 1) / (3 - _T)),
    sound_epsilon=1.0,
)

_PUBLIC = LayerRange((0.0,), (2.0,))


def _range_of_the_client(x: tuple[float, float], n: int, rng: np.random.Generator) -> np.ndarray:
    return ClientRange(1.0).sample(np.broadcast_to(np.array(x), (n, 2)), rng=rng)


def _range_of_the_server(x: tuple[float, float], n: int, rng: np.random.Generator) -> np.ndarray:
    return _PUBLIC.perturb([np.broadcast_to(np.array(x), (n, 2))], 1.0, rng=rng)[0]


CLIENT_RADIUS = Specimen(
    name="a two-point mechanism with client-chosen radius",
    what_is_wrong="the two values that are reported give the client's range away; true epsilon infinite",
    broken=_range_of_the_client,
    sound=_range_of_the_server,
    inputs=((-1.0, 1.0), (-2.0, 2.0), (2.0, -2.0)),
    claimed_epsilon=2.0,
    broken_epsilon=math.inf,
    sound_epsilon=2.0,
)


def _wrong_reach(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    reach = (_T + 1) / (_T - 1)  # of the two-point mechanism; this one's is (s + 1)/(s - 1) with s = e**(1/2)
    left, length = (reach + 1) / 2 * x - (reach - 1) / 2, reach - 1
    inner = left + length * rng.random(n)
    outer = rng.random(n) * (reach + 1) - reach  # what is left of [-C, C], the inner interval cut out
    outer = np.where(outer < left, outer, outer + length)
    return np.where(rng.random(n) < _ROOT / (_ROOT + 1), inner, outer)


def _right_reach(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return Piecewise(1.0).sample(np.full(n, x), rng=rng)


WRONG_REACH = Specimen(
    name="PM with the wrong C",
    what_is_wrong="C = (t + 1)/(t - 1) makes the inner interval too short: density ratio s t, true epsilon 1.5",
    broken=_wrong_reach,
    sound=_right_reach,
    inputs=(-1.0, 1.0),
    claimed_epsilon=1.0,
    broken_epsilon=1.5,
    sound_epsilon=1.0,
)


def _budget_for_each_weight(x: tuple[float, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    return TwoPoint(1.0).sample(np.broadcast_to(np.array(x), (n, len(x))), rng=rng)


def _budget_for_all_weights(x: tuple[float, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    return TwoPoint(1.0 / len(x)).sample(np.broadcast_to(np.array(x), (n, len(x))), rng=rng)


EACH_WEIGHT = Specimen(
    name="the budget of one weight claimed of the whole update",
    what_is_wrong="five weights, each reported with epsilon 1; true epsilon 5, one weight alone shows 1",
    broken=_budget_for_each_weight,
    sound=_budget_for_all_weights,
    inputs=((1.0,) * 5, (-1.0,) * 5),
    claimed_epsilon=1.0,
    broken_epsilon=5.0,
    sound_epsilon=1.0,
)


def _sparse(mechanism: TwoStage, x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    return mechanism.dense(mechanism.sample(np.broadcast_to(np.array(x), (n, len(x))), rng=rng))


_UNCOUNTED = TwoStage(PerturbedSampling(1.0, 4, 1), TwoPoint(1.0))
_COUNTED = TwoStage(PerturbedSampling(0.5, 4, 1), TwoPoint(0.5))


def _selection_uncounted(x: tuple[float, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    return _sparse(_UNCOUNTED, x, n, rng)


def _selection_counted(x: tuple[float, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    return _sparse(_COUNTED, x, n, rng)


UNCOUNTED = Specimen(
    name="a two-stage report that counts the value alone",
    what_is_wrong="which coordinate is reported has an epsilon of 1 as well; true epsilon 2",
    broken=_selection_uncounted,
    sound=_selection_counted,
    inputs=((1.0, 0.0, 0.0, 0.5), (-1.0, 0.0, 0.0, 1.0), (-1.0, 0.0, 0.0, -0.5)),
    claimed_epsilon=1.0,
    broken_epsilon=2.0,
    sound_epsilon=1.0,
)


def _told_twice(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return TwoPoint(1.0).sample(np.full((n, 2), float(x)), rng=rng)


def _told_once(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.repeat(TwoPoint(1.0).sample(np.full((n, 1), float(x)), rng=rng), 2, axis=1)


TOLD_TWICE = Specimen(
    name="a report that is perturbed afresh when it is sent again",
    what_is_wrong="two reports of one weight, each with epsilon 1; true epsilon 2, either alone shows 1",
    broken=_told_twice,
    sound=_told_once,
    inputs=(-1, 1),
    claimed_epsilon=1.0,
    broken_epsilon=2.0,
    sound_epsilon=1.0,
)


def _first_two(x: tuple[int, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    return sum(x[:2]) + laplace(n, 1.0, rng)


def _any_two(x: tuple[int, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.hypergeometric(sum(x), len(x) - sum(x), 2, n) + laplace(n, 1.0, rng)


SUBSAMPLE = Specimen(
    name="amplification by a sample that is always the same",
    what_is_wrong="two of ten clients, drawn once and for all, claim ln(1 + (e - 1)/5) = 0.295; true epsilon 1",
    broken=_first_two,
    sound=_any_two,
    inputs=((0,) * 10, (1,) + (0,) * 9),
    claimed_epsilon=math.log1p((math.e - 1) / 5),
    broken_epsilon=1.0,
    sound_epsilon=math.log1p((math.e - 1) / 5),
)

SPECIMENS = (UNCLIPPED, CLIENT_RADIUS, WRONG_REACH, EACH_WEIGHT, UNCOUNTED, TOLD_TWICE, SUBSAMPLE)
