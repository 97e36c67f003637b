"""The synthetic records of Wangni et al., as FedSel uses them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ldp_audit.training import data
from ldp_audit.training.datasets import Table
from tests.frequency import assert_frequency
from tests.together import together


def _load(name: str = "synthetic", **options) -> Table:
    table = data.load(name, **options)
    assert isinstance(table, Table)
    return table


def _heights(table: Table) -> np.ndarray:
    """How far each column goes; a column's magnitude, but for the cut-off normal's rarity near its bound."""
    return np.abs(table.x).max(axis=0)


def test_a_share_c2_of_the_columns_is_shrunk() -> None:
    """Would catch c2 read as the share that is kept: 0.8 against 0.2 fails surely with 2,000 columns."""
    heights = _heights(_load(records=200, columns=2000, c1=0.001, c2=0.8, seed=1))
    assert_frequency(int((heights <= 0.0008).sum()), 2000, 0.8)
    assert not ((heights > 0.0008) & (heights < 0.6)).any(), "columns above the threshold are as they were"


def test_magnitudes_are_uniform_below_the_threshold_and_above() -> None:
    """Would catch shrunk columns set to c1 itself; half of them are below half of c1 c2."""
    heights = _heights(_load(records=2000, columns=1000, c1=0.01, c2=0.8, bound=0.5, seed=2))
    shrunk = heights[heights <= 0.008]
    assert_frequency(int((shrunk <= 0.004).sum()), len(shrunk), 0.5)


def test_values_are_normal_cut_off_at_the_bound() -> None:
    """Would catch clipping (0.683 would lie below half the bound) and uniform values (0.5); the power is 1 to 1e-9.

    The column's own maximum stands for its magnitude: short by less than 1e-3, which moves the share by less than 4e-4
    of it, a third of the standard error.
    """
    normal = [math.erf(z / math.sqrt(2)) for z in (1, 2)]
    x = np.abs(_load(records=100_000, columns=1, c2=0.0, seed=3).x[:, 0])
    assert_frequency(int((x <= x.max() / 2).sum()), 100_000, normal[0] / normal[1])


def test_columns_are_as_often_below_zero_as_above() -> None:
    """Would catch magnitudes without signs."""
    x = _load(records=1000, columns=20, seed=4).x
    assert_frequency(int((x > 0).sum()), x.size, 0.5)


@together(("labels", "perfect"), [("sparse", True), ("dense", False)])
def test_labels_are_one_side_of_a_plane(labels: str, perfect: bool) -> None:
    """Would catch noise where none was asked for, and labels from the wrong values.

    Shrunk to 0, columns decide nothing in "sparse" and much in "dense".
    """
    table = _load(records=500, columns=6, c1=0.0, c2=0.5, labels=labels, seed=5)
    kept = table.x[:, table.x.any(axis=0)]
    assert 0 < kept.shape[1] < 6
    accuracy = LogisticRegression(C=1e8, max_iter=5000).fit(kept, table.y).score(kept, table.y)
    assert (accuracy == 1) is perfect


@together("noise", [0.5, 1.0])
@together("bound", [0.05, 2.0, 8.0])
def test_noise_turns_labels_over(noise: float, bound: float) -> None:
    """Would catch noise of another scale; the sum's law is known for one column.

    Twice or half the noise moves the share by at least 0.09, 29 standard errors; 30% by at least 0.03.
    """
    clean, noisy = (_load(records=20_000, columns=1, noise=n, bound=bound, seed=6) for n in (0.0, noise))
    assert (clean.x == noisy.x).all()
    assert_frequency(int((clean.y != noisy.y).sum()), 20_000, _turned(noise, bound))


def _turned(noise: float, bound: float) -> float:
    """P(Z + noise s N has another sign than Z), N standard normal, Z too but within the bound, s its deviation."""
    z = (np.arange(100_000) + 0.5) / 100_000 * bound
    density = np.exp(-(z**2) / 2)
    density /= density.sum()
    scale = noise * math.sqrt(float(density @ z**2))
    return float(density @ [0.5 * math.erfc(value) for value in z / scale / math.sqrt(2)])


def test_the_same_seed_gives_the_same_table() -> None:
    """Would catch a global generator, and one drawn twice for different purposes."""
    assert (_load(records=10, seed=7).x == _load(records=10, seed=7).x).all()
    assert (_load(records=10, seed=7).x != _load(records=10, seed=8).x).all()


@together(("name", "columns"), [("syn-l", 100), ("syn-h", 300)])
def test_the_papers_sets_have_their_names_and_widths(name: str, columns: int) -> None:
    """Would catch the two mixed up; fewer records than the paper's can be asked for."""
    table = _load(name, records=20)
    assert table.name.split()[0] == name
    assert table.x.shape == (20, columns)


def test_other_data_than_table_3s_have_another_name() -> None:
    """Would catch that the paper's numbers stand beside other data, and two of FedSel's sets under one name."""
    assert _load("syn-h", records=20, c1=0.1, c2=0.6).name == "syn-h records=20 c1=0.1 c2=0.6"
    assert _load("syn-l", records=20, c1=0.1).name == "syn-l records=20 c1=0.1"
    assert _load("syn-l", c1=0.01, c2=0.9, seed=4).name == "syn-l"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "shape"), [("syn-l", (60_000, 100)), ("syn-h", (100_000, 300))])
def test_the_papers_sets_have_their_sizes(name: str, shape: tuple[int, int]) -> None:
    """Would catch a default that overrides the preset."""
    assert _load(name).x.shape == shape


def test_the_smaller_set_has_its_size() -> None:
    """The reduced twin of the sizes' test."""
    assert _load("syn-l").x.shape == (60_000, 100)


@together(
    ("option", "value"),
    [
        ("records", 0),
        ("records", 1.0),
        ("columns", True),
        ("c1", -0.1),
        ("c1", "0.1"),
        ("c2", 1.1),
        ("c2", math.nan),
        ("noise", -1),
        ("noise", math.inf),
        ("bound", 0),
        ("bound", -1),
        ("labels", "x"),
        ("seed", -1),
    ],
)
def test_other_options_are_refused_by_name(option: str, value: object) -> None:
    """Would catch a parameter without effect or a NaN in the table."""
    with pytest.raises(ValueError, match=f"{option} must be .*got {value!r}"):
        _load(**{option: value})
