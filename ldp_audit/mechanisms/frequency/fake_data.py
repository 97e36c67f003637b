"""Random sampling plus fake data (RS+FD): one of several attributes is reported, and uniform values of the others.

Which attribute is reported is hidden. With P_j the law of randomised response on the k_j values of attribute j,

    P(y | x) = (1/d) sum_j P_j(y_j | x_j) prod_{i != j} 1/k_i = (1/d) prod_i 1/k_i sum_j k_j P_j(y_j | x_j).

For any two tuples of values the largest ratio is that of y = x at a tuple that differs from x in every attribute:

    epsilon = ln(sum_j k_j p_j / sum_j k_j q_j),

p_j and q_j the probabilities of the own label and of another one. Such a pair dominates all others: replacing a common
value by two different ones spreads the terms of an attribute, k_j (P_j(y_j | x_j) - e**level P_j(y_j | x'_j)), as y_j
is uniform: at two of the labels (1 - t) p and (1 - t) q become p - t q and q - t p, t = e**level, which have the same
sum and lie farther apart. For tuples that differ in attribute j alone, the ratio is at most

    (k_j p_j + r) / (k_j q_j + r),   r = sum_{i != j} k_i q_i.

The source's budget for each attribute, ln(d (e**epsilon - 1) + 1), gives these pairs epsilon where all k_j are equal;
for any two tuples that budget itself is spent.

A single attribute's label has the law of randomised response, mixed with uniform labels with probability (d - 1)/d.

Source: Arcolezi, Couchot, Al Bouna, Xiao, "Random Sampling Plus Fake Data: Multidimensional Frequency Estimates With
Local Differential Privacy" (CIKM 2021).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sympy import Rational

from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.frequency.attributes import Attributes, all_tuples, parts_of
from ldp_audit.mechanisms.frequency.randomized_response import FiniteResponse, RandomizedResponse
from ldp_audit.mechanisms.inputs import numbers_of
from ldp_audit.mechanisms.mechanism import FamilyExample, Losses
from ldp_audit.mechanisms.randomness import source_of
from ldp_audit.mechanisms.supports import FrequencyEstimate, Supports

_MOST_LOSSES = 1_000_000
"""The most combinations of labels, but for equal attributes, whose losses are listed."""


@dataclass(frozen=True, repr=False)
class FakeData(Attributes):
    """A report is a tuple of d labels.

    mechanisms: `RandomizedResponse` of each attribute, with what is spent on the one that is reported. Raises
    ValueError for anything else.
    """

    example = FamilyExample(
        "FakeData([RandomizedResponse(epsilon=1, k=2), RandomizedResponse(epsilon=1, k=3)])",
        "the label of the first attribute; x: its value; t = e^epsilon",
        build=lambda: FakeData((RandomizedResponse(1.0, 2), RandomizedResponse(1.0, 3))),
        composed="at most the largest of the attributes'; that of all, where they are equal",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for one in self.mechanisms:
            if not isinstance(one, RandomizedResponse | FiniteResponse):
                raise ValueError(f"mechanisms must be randomised responses, got {one!r}")

    def symbolic(self) -> SymbolicChannel:
        """The law of the first attribute's label."""
        law, share = self.mechanisms[0].symbolic(), Rational(1, len(self.mechanisms))
        fake = (1 - share) / len(law.atoms)
        atoms = [(atom.output, share * atom.probability + fake) for atom in law.atoms]
        return SymbolicChannel("label of one attribute, or a fake one", inputs=law.inputs, atoms=atoms)

    def exact_epsilon(self) -> float:
        """The tight pure epsilon for any two tuples, nats; see the module."""
        own, other = (math.fsum(column) for column in zip(*self._ratios(), strict=True))
        return math.log(own / other) if other else math.inf

    def attribute_epsilon(self) -> float:
        """The tight pure epsilon for tuples that differ in one attribute alone, nats, at most `exact_epsilon()`."""
        ratios = self._ratios()
        rest = [math.fsum(other for _, other in ratios[:j] + ratios[j + 1 :]) for j in range(len(ratios))]
        return max(
            math.log((own + r) / (other + r)) if other + r else math.inf
            for (own, other), r in zip(ratios, rest, strict=True)
        )

    def losses(self) -> Losses:
        """See base: by the numbers of attributes, among equal ones, whose label is that of the one tuple or the other.

        ValueError for more than a million combinations.
        """
        first, second, logs = np.zeros(1), np.zeros(1), np.zeros(1)
        for (k, own, other), times in Counter(
            (k, *ratio) for k, ratio in zip(self._sizes(), self._ratios(), strict=True)
        ).items():
            mine, theirs, ways = _counts(k, times)
            if first.size * mine.size > _MOST_LOSSES:
                raise ValueError(f"mechanisms must have at most {_MOST_LOSSES} combinations of labels for a profile")
            both = other * (times - mine - theirs)
            first = np.add.outer(first, own * mine + other * theirs + both).ravel()
            second = np.add.outer(second, other * mine + own * theirs + both).ravel()
            logs = np.add.outer(logs, ways).ravel()
        with np.errstate(divide="ignore", invalid="ignore"):  # of responses without lies
            losses, masses = np.log(first / second), logs + np.log(first / len(self.mechanisms))
        upper, same = losses > 0, losses == 0
        return Losses(losses[upper], masses[upper], math.fsum(np.exp(masses[same])))

    def report_bits(self) -> float:
        """See base: the attributes' in all."""
        return math.fsum(one.report_bits() for one in self.mechanisms)

    def reports(self) -> Sequence[tuple[Any, ...]] | None:
        """See base, where they are at most 1000."""
        return all_tuples(self.mechanisms)

    def log_prob(self, y: Any, x: Any) -> NDArray[np.float64] | np.float64:
        """Log probability of the tuple of labels y at the inputs x, nats; broadcasts; -inf where one is no label."""
        labels = [numbers_of("y", part) for part in parts_of("y", y, len(self.mechanisms))]
        sizes = self._sizes()
        known = [(one >= 0) & (one < k) & (one == np.floor(one)) for one, k in zip(labels, sizes, strict=True)]
        terms = [
            math.log(k) + one.log_prob(label, column)
            for one, k, label, column in zip(self.mechanisms, sizes, labels, self.columns(x), strict=True)
        ]
        total = np.logaddexp.reduce(np.broadcast_arrays(*terms), axis=0)
        constant = math.log(len(sizes)) + math.fsum(map(math.log, sizes))
        return np.where(np.logical_and.reduce(known), total - constant, -np.inf)[()]

    def attribute_supports(self) -> tuple[Supports, ...]:
        """Which values a label supports, for each attribute; their `variance` is that of an estimated frequency."""
        share, found = 1 / len(self.mechanisms), [one.supports() for one in self.mechanisms]
        return tuple(
            replace(
                one,
                own=share * one.own + (1 - share) / one.k,
                missed=share * one.missed + (1 - share) * (1 - 1 / one.k),
                other=share * one.other + (1 - share) / one.k,
            )
            for one in found
        )

    def estimate(self, reports: Any) -> tuple[FrequencyEstimate, ...]:
        """The frequencies of every attribute's values, unbiased, with exact standard errors; see the base."""
        parts = parts_of("reports", reports, len(self.mechanisms))
        return tuple(one.estimate(part) for one, part in zip(self.attribute_supports(), parts, strict=True))

    def sample(self, x: Any, *, rng: Any) -> tuple[Any, ...]:
        """A tuple of d labels for each input, in the dtype of the values; see the base."""
        source = source_of(rng)
        xp, columns = source.xp, [source.array("x", column) for column in self.columns(x, source.array)]
        shape = tuple(columns[0].shape)
        true = [xp.asarray(one.sample(column, rng=rng)) for one, column in zip(self.mechanisms, columns, strict=True)]
        index = source.below(len(true), shape)
        fakes = [xp.astype(xp.asarray(source.below(k, shape)), true[j].dtype) for j, k in enumerate(self._sizes())]
        return tuple(xp.where(xp.asarray(index == j), true[j], fakes[j]) for j in range(len(true)))

    def _sizes(self) -> list[int]:
        return [len(one.reports()) for one in self.mechanisms]

    def _ratios(self) -> list[tuple[float, float]]:
        """k p and k q of every attribute: how much likelier than a fake one the own label is, and another one."""
        logs = [(one.log_prob(0, 0), one.log_prob(1, 0)) for one in self.mechanisms]
        return [(k * math.exp(own), k * math.exp(other)) for k, (own, other) in zip(self._sizes(), logs, strict=True)]


def _counts(k: int, times: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """How many of so many uniform labels of k are the one or the other of two, with the log probabilities."""
    most = range(times + 1)
    listed = [(a, b, times - a - b) for a in most for b in most if a + b <= times and (k > 2 or a + b == times)]
    ways = [
        math.lgamma(times + 1)
        - sum(math.lgamma(n + 1) for n in counts)
        + (counts[2] * math.log(k - 2) if k > 2 else 0.0)
        - times * math.log(k)
        for counts in listed
    ]
    a, b, _ = np.array(listed, dtype=np.float64).T
    return a, b, np.array(ways)
