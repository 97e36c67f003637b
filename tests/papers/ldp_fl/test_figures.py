"""LDP-FL's figures: their curves are the mechanism's numbers, and the claims'."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldp_audit import TwoPoint
from ldp_audit.figure import colours_of


def test_one_epsilon_has_one_colour_in_all_panels(paper_report: dict) -> None:
    colours = colours_of(paper_report["figures"][0])
    assert list(colours) == ["epsilon = 1", "epsilon = 2", "epsilon = 4", "epsilon = 0.5", "epsilon = 8"]
    assert len(set(colours.values())) == 5


def test_the_exact_curves_are_the_mechanisms_numbers(paper_report: dict) -> None:
    variance, bounds = paper_report["figures"][:2]
    exact = variance["panels"][0]["series"][0]
    assert np.allclose(exact["y"], TwoPoint(1.0).variance(exact["x"]), rtol=1e-5, atol=0)
    for panel in bounds["panels"]:
        band, inside = panel["series"][:2]
        assert all(low <= y <= high for low, y, high in zip(band["y"], inside["y"], band["upper"], strict=True))


def test_the_damaged_lower_bound_crosses_the_band_where_the_caption_says(paper_report: dict) -> None:
    panel = paper_report["figures"][1]["panels"][1]
    band, _, damaged = panel["series"]
    above = [x for x, low, y in zip(band["x"], band["y"], damaged["y"], strict=True) if y > low]
    assert min(above) >= math.log(3 + 2 * math.sqrt(2)) > max(x for x in band["x"] if x not in above)
    assert f"{math.log(3 + 2 * math.sqrt(2)):.2f}" in paper_report["figures"][1]["caption"]


def test_the_float_curves_end_where_the_claims_say_and_show_the_largest_excess(paper_report: dict) -> None:
    """Against FP-DTYPE's and FP-32's numbers; an infinite value would not be drawn, so none may be in the data."""
    (figure,) = (one for one in paper_report["figures"] if one["name"] == "ldp-fl-float")
    series = {one["label"]: one for panel in figure["panels"] for one in panel["series"]}
    for dtype, bits in (("bfloat16", 8), ("half", 11), ("float32", 24), ("float64", 53)):
        first = math.log(2**bits - 0.5)
        assert series[f"{dtype}: infinite from {first:.2f}"]["x"] == pytest.approx([first] * 2, rel=1e-5)
        assert max(series[dtype]["x"]) < first
        assert series[dtype]["y"] == pytest.approx(series[dtype]["x"], abs=math.log(2))
    excess = [max(one["y"]) for one in figure["panels"][1]["series"]]
    assert excess == pytest.approx([math.log(3 / 2), 1.0578, 5.9744], abs=1e-4)
    assert all(math.isfinite(number) for one in series.values() for number in one["y"])
