"""Sampled attribute: one of several, chosen uniformly and told, is reported at the full budget (SMP).

Which attribute it is depends on no value, so the privacy loss is a public mixture of the attributes' losses; epsilon is
the largest of theirs, and the profile the mean of their profiles.

The reports of attribute j come from n_j of n people, a uniform sample without replacement given n_j. Where C of them
support a value of frequency f among all n, and one does with probability p (its own value) or q (another),

    Var(C) = n_j (f p (1 - p) + (1 - f) q (1 - q)) + (p - q)**2 n_j f (1 - f) (n - n_j) / (n - 1),

the second term being the variance of the number of sampled people who have the value, which is hypergeometric.

Source: Arcolezi, Couchot, Al Bouna, Xiao, "Random Sampling Plus Fake Data: Multidimensional Frequency Estimates With
Local Differential Privacy" (CIKM 2021), where this is the second of two known solutions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.losses.enclosed_loss import mixture
from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.frequency.attributes import Attributes, all_lists, parts_of
from ldp_audit.mechanisms.frequency.randomized_response import RandomizedResponse
from ldp_audit.mechanisms.inputs import whole_numbers
from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.mechanism import FamilyExample
from ldp_audit.mechanisms.randomness import source_of
from ldp_audit.mechanisms.supports import FrequencyEstimate


@dataclass(frozen=True, repr=False)
class SampledAttribute(Attributes):
    """A report is a tuple of 1 + d: the sampled attribute, 0 .. d-1, and a report of each, zeros but for that one.

    mechanisms: see `Attributes`; each takes single numbers. Raises ValueError for anything else.
    """

    example = FamilyExample(
        "SampledAttribute([RandomizedResponse(epsilon=1, k=2), RandomizedResponse(epsilon=1, k=3)])",
        "the report of the first attribute where it is sampled; x: its value; t = e^epsilon",
        build=lambda: SampledAttribute((RandomizedResponse(1.0, 2), RandomizedResponse(1.0, 3))),
        composed="the largest of the attributes'",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for one in self.mechanisms:
            if isinstance(one, Attributes) or np.ndim(one.worst_pair()[0]):
                raise ValueError(f"mechanisms must take single numbers or values, got {one!r}")

    def symbolic(self) -> Any:
        """The law of the first attribute's report, where it is sampled."""
        return self.mechanisms[0].symbolic()

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: the largest of the attributes'."""
        return max(one.exact_epsilon() for one in self.mechanisms)

    def pair_loss(self) -> PairLoss:
        """See base: that of an attribute, each with probability 1/d."""
        return mixture([(-math.log(len(self.mechanisms)), 0.0, one.pair_loss()) for one in self.mechanisms])

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The mean of the attributes' profiles; shape of `epsilon`, nats, >= 0."""
        asked = levels(epsilon)
        return np.mean([one.delta(asked) for one in self.mechanisms], axis=0)[()]

    def report_bits(self) -> float:
        """See base: of the attribute's number, and of the longest report."""
        return math.log2(len(self.mechanisms)) + max(one.report_bits() for one in self.mechanisms)

    def reports(self) -> Sequence[tuple[Any, ...]] | None:
        """See base, where the attributes' have at most 1000 combinations."""
        found = all_lists(self.mechanisms)
        if found is None:
            return None
        blank = [np.zeros_like(one[0])[()] for one in found]
        return [(j, *blank[:j], y, *blank[j + 1 :]) for j, one in enumerate(found) for y in one]

    def log_prob(self, y: Any, x: Any) -> NDArray[np.float64] | np.float64:
        """Log probability (or density) of the tuple y at the inputs x; broadcasts; -inf unless the others are zeros."""
        first, *parts = parts_of("y", y, 1 + len(self.mechanisms))
        index, columns = np.asarray(first), self.columns(x)
        zero = [np.all(np.asarray(part) == 0, axis=tuple(range(index.ndim, np.ndim(part)))) for part in parts]
        found: Any = -np.inf
        for j, one in enumerate(self.mechanisms):
            known = np.logical_and.reduce([index == j, *zero[:j], *zero[j + 1 :]])
            found = np.where(known, one.log_prob(parts[j], columns[j]) - math.log(len(self.mechanisms)), found)
        return found[()]

    def estimate(self, reports: Any) -> tuple[FrequencyEstimate, ...]:
        """The frequencies among all n people for every attribute, unbiased given the numbers of reports of each.

        Standard errors are exact given these numbers; see the module.   reports: of one axis. Raises ValueError for
        what is no report, for an attribute that nobody reported, and as the attributes' own estimates.
        """
        index, *parts = (np.asarray(part) for part in parts_of("reports", reports, 1 + len(self.mechanisms)))
        whole_numbers("reports", index, 0, len(self.mechanisms) - 1)
        if index.ndim != 1 or any(part.shape[:1] != index.shape for part in parts):
            raise ValueError(f"reports must be of one axis, got shapes {[part.shape for part in (index, *parts)]}")
        return tuple(_of_all(one, parts[j][index == j], index.size) for j, one in enumerate(self.mechanisms))

    def sample(self, x: Any, *, rng: Any) -> tuple[Any, ...]:
        """A tuple of 1 + d for each input; all attributes are drawn, so that time tells nothing. See the base."""
        source = source_of(rng)
        xp, columns = source.xp, [source.array("x", column) for column in self.columns(x, source.array)]
        drawn = [xp.asarray(one.sample(column, rng=rng)) for one, column in zip(self.mechanisms, columns, strict=True)]
        index = source.below(len(drawn), tuple(columns[0].shape))
        return index, *(_where(index == j, one, xp) for j, one in enumerate(drawn))


def _where(chosen: Any, report: Any, xp: Any) -> Any:
    """The reports where they are chosen, else zeros."""
    chosen = xp.asarray(chosen)
    wide = xp.reshape(chosen, (*chosen.shape, *([1] * (report.ndim - chosen.ndim))))
    return xp.where(wide, report, xp.zeros_like(report))


def _of_all(mechanism: Any, reports: NDArray[Any], n: int) -> FrequencyEstimate:
    """The estimate from a sample of n people, with the variance of sampling in the standard errors."""
    found = mechanism.estimate(reports)
    sampling = (n - found.n) / (found.n * (n - 1)) if n > 1 else 0.0

    def errors(shares: Any) -> Any:
        return np.sqrt(mechanism.frequency_variance(found.n, shares) + sampling * shares * (1 - shares))

    none, all_ = (float(mechanism.frequency_variance(found.n, end)) for end in (0.0, 1.0))
    worst = 0.5 + (all_ - none) / (2 * sampling) if sampling else float(all_ > none)  # linear, and a parabola
    return replace(
        found,
        standard_error=errors(np.clip(found.frequencies, 0.0, 1.0)),
        worst_standard_error=float(errors(min(1.0, max(0.0, worst)))),
    )
