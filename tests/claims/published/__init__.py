"""Published statements on privacy, each with a false neighbour."""

from tests.claims.published import amplification, composition, elementary, frequency, noise, selection

ENTRIES = [
    *frequency.ENTRIES,
    *noise.ENTRIES,
    *selection.ENTRIES,
    *composition.ENTRIES,
    *amplification.ENTRIES,
    *elementary.ENTRIES,
]
