"""Questions that other accountants answer, with their answers, held against the certified bounds of the same questions.

`peers_cases.json` is a list of groups. A group has its source (project, version, file and test, or how the numbers were
computed), what its numbers are, their tolerance as the source states it, and rows. A row has parts, what is asked, and
the number that the peer says:

    "estimate"    of the truth, to within the tolerance: so are both of our bounds;
    "upper"       an upper bound: it is not below our lower bound, and ours is not looser;
    "lower"       a lower bound, likewise;
    "tighter"     an upper bound that is smaller than ours, and not below our lower bound;
    "wrong"       said to be what `claimed` has, and on the wrong side of the certified interval `proof`, which is ours;
                  `why` names the error.

A part is a kind of `KINDS` with its parameters, and how it runs: `rate` of a Poisson sample, or `fixed`, [n, k] drawn
without replacement; and `times`. Asked is `delta_at` an epsilon, `epsilon_at` a delta, `power_at` a rate of false
positives, `renyi_at` an order, `mu` of Gaussian differential privacy, or `noise_for` [epsilon, delta]. Of neighbours
that have a record more or less, "remove" and "add" are the single directions.

A `slow` row takes a second or more, and runs with --slow. `benchmarks/peers_cases.py` computes anew the numbers that
came from running a peer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from flint import arb, ctx

from ldp_audit.accounting import (
    ZCDP,
    Approximate,
    BoundedRange,
    DiscreteLoss,
    PrivacyLoss,
    best_of,
    compose,
    factorised,
    privacy_loss,
    random_allocation,
    subsample,
    tree,
)
from ldp_audit.accounting.attack_success import detection_bounds
from ldp_audit.accounting.conversion.gaussian_dp import gdp_of
from ldp_audit.accounting.conversion.renyi import renyi_divergence
from ldp_audit.losses.mixed_moves import MixedMoves
from ldp_audit.losses.noise_losses import GaussianLoss
from ldp_audit.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, RandomizedResponse
from tests.together import together

GROUPS = json.loads(Path(__file__).with_name("peers_cases.json").read_text(encoding="utf-8"))
ROWS = [
    (group["source"], {name: group[name] for name in ("is", "tolerance")} | row)
    for group in GROUPS
    for row in group["rows"]
]
ROWS.sort(key=lambda row: row[1].get("slow", False))
QUICK = sum(not row.get("slow", False) for _, row in ROWS)
ASKED = ("delta_at", "epsilon_at", "power_at", "renyi_at", "mu", "noise_for")
WIDTH = 2e-4
"""The relative width of our bounds that counts as none: twice what `compose` aims at."""


def _response(p: float, k: int) -> RandomizedResponse:
    """The truth with probability 1 - p, else any of k values."""
    return RandomizedResponse(math.log1p(k * (1 - p) / p), k=k)


def _mixture(sigma: float, moves: list[float], chances: list[float]) -> PrivacyLoss:
    parts = [
        (GaussianLoss(move / sigma), math.log(chance)) for move, chance in zip(moves, chances, strict=True) if move
    ]
    unmoved = sum(chance for move, chance in zip(moves, chances, strict=True) if not move)
    noises, logs = zip(*parts, strict=True)
    found = MixedMoves(noises, logs, math.log(unmoved) if unmoved else -math.inf)
    return PrivacyLoss((found, found.reversed()), adjacency="add/remove")


def _cut_discrete_gaussian(sigma: float, sensitivity: int, cut: int) -> PrivacyLoss:
    """Noise on -cut .. cut alone."""
    weights = {z: math.exp(-z * z / (2 * sigma**2)) for z in range(-cut, cut + 1)}
    total = math.fsum(weights.values())
    law = {z: weight / total for z, weight in weights.items()}
    moved = {z + sensitivity: chance for z, chance in law.items()}
    return PrivacyLoss((DiscreteLoss.of_laws(moved, law), DiscreteLoss.of_laws(law, moved)), adjacency="add/remove")


KINDS: dict[str, Callable[..., Any]] = {
    "gaussian": lambda sigma, sensitivity=1.0: Gaussian(sigma, sensitivity, 2 * sensitivity),
    "laplace": lambda scale, sensitivity=1.0: Laplace(scale, sensitivity, 2 * sensitivity),
    "discrete laplace": lambda parameter, sensitivity=1: DiscreteLaplace(1 / parameter, sensitivity),
    "discrete gaussian": lambda sigma, sensitivity=1: DiscreteGaussian(sigma, sensitivity),
    "cut discrete gaussian": _cut_discrete_gaussian,
    "gaussian mixture": _mixture,
    "response": _response,
    "approximate": Approximate,
    "bounded range": BoundedRange,
    "zcdp": ZCDP,
    "truncated": lambda sigma, rate_of, **batch: subsample(Gaussian(sigma), rate=rate_of, **batch),
    "tree": lambda sigma, steps: factorised(tree(steps), sigma, participations=1),
    "best of": lambda runs, mean, scale: best_of(Laplace(scale), runs, mean=mean),
    "allocation": lambda sigma, steps, epochs: random_allocation(Gaussian(sigma), steps=steps, epochs=epochs),
}
NOISE = {"gaussian": "sigma", "laplace": "scale"}
"""The parameter that is calibrated, of `noise_for`."""


def asked(row: dict[str, Any]) -> str:
    return next(name for name in ASKED if name in row)


def loss_of(parts: list[dict[str, Any]], neighbours: str) -> PrivacyLoss:
    return _loss_of(json.dumps(parts), neighbours)


@cache
def _loss_of(parts: str, neighbours: Any) -> PrivacyLoss:
    items = []
    for part in json.loads(parts):
        rate, fixed, times = part.pop("rate", None), part.pop("fixed", None), part.pop("times", 1)
        made = KINDS[part.pop("kind")](**part)
        if rate is not None:
            made = subsample(made, rate=rate, adjacency=neighbours)
        elif fixed is not None:
            made = subsample(made, kind="without", n=fixed[0], k=fixed[1], adjacency=neighbours)
        elif not isinstance(made, RandomizedResponse | PrivacyLoss):
            made = privacy_loss(made, neighbours)
        items.append((made, times))
    return (
        items[0][0] if len(items) == 1 and items[0][1] == 1 and isinstance(items[0][0], PrivacyLoss) else compose(items)
    )


def bounds(row: dict[str, Any]) -> tuple[float, float]:
    """Our certified answer."""
    loss, what = loss_of(row["parts"], row.get("neighbours", "add/remove")), asked(row)
    if "direction" in row:  # from the data with the record, or to them
        loss = PrivacyLoss((loss.directions[-1 if row["direction"] == "add" else 0],), adjacency=loss.adjacency)
    if what == "delta_at":
        low, high = (
            loss.directions[0].log_delta_bounds(row[what]) if row[what] < 0 else loss.log_delta_bounds(row[what])
        )
        return math.exp(low), math.exp(high)
    if what == "epsilon_at":
        return loss.epsilon_bounds(row[what])
    if what == "power_at":
        return detection_bounds(loss, row[what])
    found = renyi_divergence(loss, float(row[what])) if what == "renyi_at" else gdp_of(loss)
    return (found.value, found.value) if found.kind == "exact" else (0.0, found.value)


def calibrated(row: dict[str, Any]) -> None:
    """The noise is right to within its tolerance if more is certified to meet the budget, and less to exceed it."""
    epsilon, delta = row["noise_for"]
    (part,), says, tolerance = row["parts"], row["says"], row["tolerance"]

    def epsilons(noise: float) -> tuple[float, float]:
        return bounds(row | {"parts": [part | {NOISE[part["kind"]]: noise}], "epsilon_at": delta, "noise_for": None})

    assert epsilons(says + tolerance)[1] <= epsilon * (1 + 1e-9)
    if row["is"] == "estimate":
        assert epsilons(says - tolerance)[0] > epsilon * (1 - 1e-9)


def agree(row: dict[str, Any]) -> None:
    """AssertionError unless the peer's number is what its row says that it is."""
    if asked(row) == "noise_for":
        calibrated(row)
        return
    says, (low, high), near = float(row["says"]), bounds(row), row["tolerance"]
    assert low <= high
    if row["is"] == "wrong":
        inner, outer = row["proof"]
        assert inner <= low <= high <= outer
        assert not inner <= says <= outer
        assert says + near < low if row["claimed"] == "upper" else says - near > high
    elif says == math.inf or high == math.inf:
        assert says == math.inf
        assert row["is"] != "estimate" or low == math.inf
    else:
        loose = near + WIDTH * abs(says)
        above, below = row["is"] != "lower", row["is"] in ("lower", "estimate")  # what the number bounds
        assert not above or low <= says + near, "below our lower bound"
        assert not below or says - near <= high, "above our upper bound"
        assert not above or (high <= says + loose) != (row["is"] == "tighter"), "our upper bound is looser, or is not"
        assert not below or says - loose <= low, "our lower bound is looser"


@together(("source", "row"), ROWS, quick=QUICK)
def test_a_peers_number_agrees_with_the_certified_bounds(source: str, row: dict[str, Any]) -> None:
    agree(row)


GAUSSIAN = {"parts": [{"kind": "gaussian", "sigma": 1.0}], "epsilon_at": 1e-5, "tolerance": 1e-9, "says": 4.377178096}
"""Its epsilon is 4.37717809572..."""
RIGHT = (
    GAUSSIAN | {"is": "estimate"},
    GAUSSIAN | {"is": "upper"},
    GAUSSIAN | {"is": "lower"},
    GAUSSIAN | {"is": "wrong", "claimed": "upper", "says": 4.3, "proof": [4.377178, 4.377179]},
    GAUSSIAN | {"is": "wrong", "claimed": "lower", "says": 4.4, "proof": [4.377178, 4.377179]},
    {
        "parts": [{"kind": "gaussian"}],
        "noise_for": [4.377178096, 1e-5],
        "tolerance": 1e-6,
        "says": 1.0,
        "is": "estimate",
    },
    GAUSSIAN | {"is": "upper", "parts": [{"kind": "zcdp", "rho": 0.5}], "says": 5.0},
)


@together(
    ("row", "change"),
    [
        *((RIGHT[0], {"says": says}) for says in (4.37, 4.38)),
        (RIGHT[1], {"says": 4.37}),
        (RIGHT[2], {"says": 4.38}),
        (RIGHT[6], {"says": 4.4}),  # true, and ours is looser
        (RIGHT[1], {"is": "tighter"}),
        *((RIGHT[3], change) for change in ({"says": 4.4}, {"proof": [4.2, 4.5]}, {"proof": [4.3771782, 4.3771783]})),
        (RIGHT[4], {"says": 4.3}),
        *((RIGHT[5], {"says": says}) for says in (0.999, 1.001)),
    ],
)
def test_a_number_that_is_not_what_its_row_says_is_seen(row: dict[str, Any], change: dict[str, Any]) -> None:
    agree(row)
    with pytest.raises(AssertionError):
        agree(row | change)


def test_rows_that_are_wrong_about_gaussian_noise_are_so_by_its_closed_form() -> None:
    """Another proof, in balls of 60 digits, of the rows whose loss is that of one normal distribution."""
    found = 0
    for _, row in ROWS:
        if row["is"] == "wrong" and all("rate" not in part and part["kind"] == "gaussian" for part in row["parts"]):
            moved = 2 if row.get("neighbours") == "replace" else 1
            if any("fixed" in part for part in row["parts"]):
                continue
            with ctx.workdps(60):
                mu = sum(arb(part.get("times", 1)) * (moved / arb(part["sigma"])) ** 2 for part in row["parts"]).sqrt()
                claimed = arb(row["says"])
                ahead, behind = (((claimed / mu + way * mu / 2) / arb(2).sqrt()).erfc() / 2 for way in (-1, 1))
                assert ahead - claimed.exp() * behind > arb(row["epsilon_at"])
            found += 1
    assert found >= 9


def test_there_are_hundreds_of_rows_and_each_is_there_once() -> None:
    """The table is not lost, and a row that is there twice is not counted twice."""
    assert len({json.dumps([source, row]) for source, row in ROWS}) == len(ROWS) >= 500
    assert all(row["why"] for _, row in ROWS if row["is"] == "wrong")
