"""Published statements on privacy, each with a false neighbour."""

from tests.claims.published import (
    amplification,
    composition,
    constants,
    elementary,
    frequency,
    integrals,
    noise,
    renyi,
    selection,
    whole_numbers,
)

NEW = [*constants.ENTRIES, *whole_numbers.ENTRIES, *renyi.ENTRIES, *integrals.ENTRIES]
"""Those that were written down before the engines were tried on them."""

ENTRIES = [
    *frequency.ENTRIES,
    *noise.ENTRIES,
    *selection.ENTRIES,
    *composition.ENTRIES,
    *amplification.ENTRIES,
    *elementary.ENTRIES,
    *NEW,
]
