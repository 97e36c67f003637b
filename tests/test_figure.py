"""What mechanisms, privacy losses and audits draw of themselves: the numbers, on the reader's axes or on new ones."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from ldp_audit import audit
from ldp_audit.accounting import compose
from ldp_audit.auditing import as_sampler
from ldp_audit.mechanisms import Gaussian, Laplace, RandomizedResponse


@pytest.fixture
def axes() -> object:
    return Figure().subplots()


def test_a_mechanism_draws_its_profile(axes: object) -> None:
    """Several on one pair of axes have colours of their own; one without a finite epsilon has an end."""
    for one in (Laplace(1.0), Gaussian(1.0), RandomizedResponse(0.0)):
        assert one.plot(axes) is axes
        curve = axes.lines[-1]
        assert np.array_equal(curve.get_ydata(), np.atleast_1d(one.delta(curve.get_xdata())))
    assert len({curve.get_color() for curve in axes.lines}) == 3
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels[0] == "Laplace(scale=1.0, sensitivity=1.0)"


def test_a_privacy_loss_draws_both_bounds(axes: object) -> None:
    loss = compose([(RandomizedResponse(0.1), 100)])
    loss.plot(axes, delta=1e-6, label="a year")
    upper, lower = axes.lines
    assert upper.get_xdata()[-1] == loss.epsilon(delta=1e-6)
    for end, curve in ((0, lower), (1, upper)):
        assert curve.get_ydata()[50] == loss.delta_bounds(curve.get_xdata()[50])[end]


def test_an_audit_draws_its_bound_and_the_claim(axes: object) -> None:
    found = audit(as_sampler(RandomizedResponse(1.0)), inputs=(0, 1), claimed_epsilon=0.5, samples=2000)
    for row in (0, 1):
        found.plot(axes)
        assert axes.containers[row][0].get_width() == found.epsilon_lower
        assert list(axes.lines[row].get_xdata()) == [0.5, 0.5]


def test_new_axes_are_made_where_none_are_given() -> None:
    import matplotlib as mpl
    from matplotlib import pyplot

    mpl.use("Agg")
    first, second = Laplace(1.0).plot(), Laplace(1.0).plot()
    assert first is not second
    pyplot.close("all")
