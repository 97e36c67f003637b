"""A zoo of broken programs, each with a sound twin. One file a family; a new specimen is one entry in its file."""

from __future__ import annotations

from tests.zoo import (
    encodings,
    federated,
    noise,
    repeats,
    responses,
    selection,
    sparse_vector,
    under_the_claim,
)
from tests.zoo.specimen import Deviation, Specimen

SPECIMENS: tuple[Specimen, ...] = (
    *noise.SPECIMENS,
    *responses.SPECIMENS,
    *encodings.SPECIMENS,
    *selection.SPECIMENS,
    *sparse_vector.SPECIMENS,
    *repeats.SPECIMENS,
    *federated.SPECIMENS,
)
"""Programs that break their claim."""

DEVIATIONS: tuple[Deviation, ...] = under_the_claim.DEVIATIONS
"""Programs that keep their claim, and not their law."""

__all__ = ["DEVIATIONS", "SPECIMENS", "Deviation", "Specimen"]
