"""FedSel's perturbed sampling (PS): an index of the top-k set with probability t k / (d - k + t k), else another.

Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Algorithm 4 and Lemma 3. It maximises the probability of reporting a
member of the set among index-symmetric selections with this epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass

from ldp_audit.mechanisms.mechanism import FamilyExample
from ldp_audit.mechanisms.selection.ranking import DIMENSION, TOP, SetSelection
from ldp_audit.mechanisms.variable import T
from ldp_audit.mechanisms.weights import SymbolicWeights

_d, _k = DIMENSION.variable, TOP

PERTURBED_SAMPLING = SymbolicWeights(
    "perturbed sampling",
    [("an index of the set", _k, T / (_d - _k + T * _k)), ("an index outside", _d - _k, 1 / (_d - _k + T * _k))],
)


@dataclass(frozen=True)
class PerturbedSampling(SetSelection):
    """Inputs are status vectors of length d with exactly k ones; the report is an index.

    epsilon: of the report (FedSel, Lemma 3), nats, > 0, finite.   d: >= 2.   k: 1 .. d-1.
    Raises ValueError for anything else.
    """

    epsilon: float
    d: int
    k: int

    example = FamilyExample(
        "PerturbedSampling(epsilon=1, d=4, k=1)",
        "d: coordinates; k: size of the top set; t = e^epsilon",
        worst=((0, {}), (1, {})),
    )

    @staticmethod
    def symbolic() -> SymbolicWeights:
        """The definition, in d, k and t = e**epsilon."""
        return PERTURBED_SAMPLING
