"""Laws by classes of outputs, held to the definitions written out."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from ldp_audit.mechanisms.selection.exponential_selection import EXPONENTIAL_SELECTION as EXPONENTIAL
from ldp_audit.mechanisms.selection.perturbed_encoding import PERTURBED_ENCODING
from ldp_audit.mechanisms.selection.perturbed_sampling import PERTURBED_SAMPLING
from ldp_audit.mechanisms.variable import T, Variable
from ldp_audit.mechanisms.weights import OutputClass, SymbolicWeights
from tests.together import together


def sized(law: SymbolicWeights, **sizes: int) -> SymbolicWeights:
    return law.at({v: sizes[v.name] for v in law.variables() if v.name in sizes})


@together(("d", "k"), [(2, 1), (3, 1), (3, 2), (5, 2)])
def test_perturbed_encoding_by_classes_is_the_bit_flips_added_up(d: int, k: int) -> None:
    law, t = sized(PERTURBED_ENCODING, d=d, k=k), Fraction(3)
    truth = [1] * k + [0] * (d - k)
    report: dict[int | None, Fraction] = {}
    for flipped in product((0, 1), repeat=d):
        chance = Fraction(1)
        for a, b in zip(truth, flipped, strict=True):
            chance *= (t if a == b else 1) / (t + 1)
        ones = [j for j, bit in enumerate(flipped) if bit]
        for j in ones or [None]:
            report[j] = report.get(j, Fraction(0)) + chance / max(1, len(ones))
    found = [one.probability.subs(T, 3) for one in law.classes]
    assert found == [report[0], report[d - 1], report[None]]
    assert [one.count for one in law.classes] == [k, d - k, 1]


def test_a_family_of_known_range_is_written_out() -> None:
    law = sized(EXPONENTIAL, d=3)
    assert [one.label for one in law.classes] == [f"the index of rank {i}" for i in (1, 2, 3)]
    y = next(v for v in law.variables() if v.name == "y")
    assert [one.probability.subs(y, 2) for one in law.classes] == [Fraction(i, 7) for i in (1, 2, 4)]


def test_replacing_a_size_moves_the_domain_of_the_other() -> None:
    k = next(v for v in sized(PERTURBED_SAMPLING, d=7).variables() if v.name == "k")
    assert k.upper == 6


def test_unknown_parameters_and_empty_laws_are_refused() -> None:
    with pytest.raises(ValueError, match=r"has no z; it has d, k, t"):
        PERTURBED_SAMPLING.at({Variable("z", 0, 1): 0})
    with pytest.raises(ValueError, match="needs at least one class"):
        SymbolicWeights("nothing", [])


def test_the_index_of_a_family_is_not_captured() -> None:
    index = EXPONENTIAL.classes[0].index
    assert index is not None
    with pytest.raises(ValueError, match="has i as the index of a family"):
        EXPONENTIAL.at({next(v for v in EXPONENTIAL.variables() if v.name == "d"): index[0]})


def test_a_class_takes_no_floats() -> None:
    with pytest.raises(ValueError, match="floating-point number"):
        SymbolicWeights("half", [OutputClass("a", 1, 0.5), OutputClass("b", 1, 0.5)])
