"""LDP-FL's Table 1 beside these runs: fixed against adaptive ranges.

Source: Sun, Qian, Chen (IJCAI 2021), Table 1; the same in all three conversions of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldp_audit.training.experiments.comparison import Row, accuracy_rows

TABLE_1 = {
    ("mnist", 5.0): (0.9634, 0.9606),
    ("mnist", 10.0): (0.9639, 0.9611),
    ("fmnist", 5.0): (0.8595, 0.8754),
    ("fmnist", 10.0): (0.8610, 0.8757),
    ("cifar-10", 5.0): (0.1354, 0.5889),
    ("cifar-10", 10.0): (0.1428, 0.6037),
}
"""The paper's accuracies by (data, epsilon): (fixed, adaptive)."""

CLIENTS = {"mnist": 100, "fmnist": 200, "cifar-10": 500}
ROUNDS = {"mnist": 10, "fmnist": 15, "cifar-10": 15}
RADII = {"mnist": 0.075, "fmnist": 0.015, "cifar-10": 1.0}
"""Of the fixed ranges, about 0."""

_NAMES = {"fashion-mnist": "fmnist", "cifar-10-python": "cifar-10"}


def beside_the_paper(results: Mapping[str, Any]) -> list[Row]:
    """Table 1's cells for this data set."""
    name = results["data"]["name"]
    data, rows = _NAMES.get(name, name), []
    for (table_data, epsilon), printed in TABLE_1.items():
        for ranges, accuracy in zip(("fixed", "adaptive"), printed, strict=True):
            if table_data == data:
                point = {"ranges": ranges, "epsilon": epsilon, **_setting(table_data), "fraction": 1.0, "perturb": True}
                rows += accuracy_rows(results, "Table 1", f"{ranges}, epsilon = {epsilon:g}", accuracy, **point)
    return rows


def _setting(data: str) -> dict[str, Any]:
    """What the paper says of its setting (Section 5): other runs do not belong beside the table."""
    return {"n": CLIENTS[data], "rounds": ROUNDS[data], "center": 0.0, "radius": RADII[data]}
