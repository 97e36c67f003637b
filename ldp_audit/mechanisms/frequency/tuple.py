"""Tuple of attributes: each is reported by a mechanism of its own, independently, at its share of the budget (SPL).

The privacy losses of the attributes add up, so that epsilon is the sum of theirs.

Source: Arcolezi, Couchot, Al Bouna, Xiao, "Random Sampling Plus Fake Data: Multidimensional Frequency Estimates With
Local Differential Privacy" (CIKM 2021), where this is the first of two known solutions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.losses.composition import composed
from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.frequency.attributes import Attributes, all_tuples, parts_of
from ldp_audit.mechanisms.frequency.randomized_response import RandomizedResponse
from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.mechanism import FamilyExample, upper_profile
from ldp_audit.mechanisms.randomness import source_of


@dataclass(frozen=True, repr=False)
class Tuple(Attributes):
    """All attributes are reported; a report is a tuple of d reports.   mechanisms: see `Attributes`."""

    example = FamilyExample(
        "Tuple([RandomizedResponse(epsilon=1, k=2), RandomizedResponse(epsilon=0.5, k=3)])",
        "the report of the first attribute; x: its value; t = e^epsilon",
        build=lambda: Tuple((RandomizedResponse(1.0, 2), RandomizedResponse(0.5, 3))),
        composed="the sum of the attributes'",
    )

    def symbolic(self) -> Any:
        """The law of the first attribute's report."""
        return self.mechanisms[0].symbolic()

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: the sum of the attributes', rounded up."""
        parts = [one.exact_epsilon() for one in self.mechanisms]
        if math.inf in parts:
            return math.inf
        total = sum(map(Fraction, parts))
        found = float(total)
        return found if Fraction(found) >= total else math.nextafter(found, math.inf)

    def pair_loss(self) -> PairLoss:
        """See base: the sum of the attributes'."""
        return composed([(one.pair_loss(), 1) for one in self.mechanisms])

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The privacy profile; shape of `epsilon`, nats, >= 0.

        That of `pair_loss`: exact for losses of few values where one pair of inputs of each attribute is the worst in
        both orders, else an upper bound.
        """
        asked = levels(epsilon)
        return np.where(asked >= self.exact_epsilon(), 0.0, upper_profile(self.pair_loss(), asked))[()]

    def report_bits(self) -> float:
        """See base: the attributes' in all."""
        return math.fsum(one.report_bits() for one in self.mechanisms)

    def reports(self) -> Sequence[tuple[Any, ...]] | None:
        """See base, where they are at most 1000."""
        return all_tuples(self.mechanisms)

    def log_prob(self, y: Any, x: Any) -> NDArray[np.float64] | np.float64:
        """Log probability (or density) of the tuple of reports y at the inputs x, nats; broadcasts."""
        parts, columns = parts_of("y", y, len(self.mechanisms)), self.columns(x)
        logs = [one.log_prob(*at) for one, *at in zip(self.mechanisms, parts, columns, strict=True)]
        return reduce(np.add, logs)

    def estimate(self, reports: Any) -> tuple[Any, ...]:
        """The estimate of every attribute from a tuple of reports; see the base. ValueError as the attributes'."""
        parts = parts_of("reports", reports, len(self.mechanisms))
        return tuple(one.estimate(part) for one, part in zip(self.mechanisms, parts, strict=True))

    def sample(self, x: Any, *, rng: Any) -> tuple[Any, ...]:
        """A tuple of d reports for each input; see the base."""
        columns = self.columns(x, source_of(rng).array)
        return tuple(one.sample(column, rng=rng) for one, column in zip(self.mechanisms, columns, strict=True))
