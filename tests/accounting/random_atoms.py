"""Random pairs of distributions on few outcomes, for hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from ldp_audit.accounting.privacy_loss import PrivacyLoss
from ldp_audit.losses.discrete_loss import DiscreteLoss


@st.composite
def _laws(draw: st.DrawFn, least: int) -> DiscreteLoss:
    size = draw(st.integers(2, 6))
    weights = st.lists(st.integers(least, 1000), min_size=size, max_size=size).filter(any)
    first, second = draw(weights), draw(weights)
    return DiscreteLoss.of_laws(
        {i: w / sum(first) for i, w in enumerate(first)}, {i: w / sum(second) for i, w in enumerate(second)}
    )


def finite_losses() -> st.SearchStrategy[PrivacyLoss]:
    """Both directions of a pair in which every outcome has some probability."""
    return _laws(1).map(_both)


def losses() -> st.SearchStrategy[PrivacyLoss]:
    """Both directions of a pair in which some outcomes may be impossible."""
    return _laws(0).map(_both)


def _both(law: DiscreteLoss) -> PrivacyLoss:
    return PrivacyLoss((law, law.reversed()))
