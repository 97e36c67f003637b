"""The guarantee of a program on a finite grid of random words: the channel of each pair of inputs.

A program that maps N equally likely words to outputs leads c_y of them to the output y on one input and c'_y on the
other. With t = e**epsilon,

    epsilon = max_y |ln(c_y / c'_y)|,   delta(epsilon) = max(sum_y (c_y - t c'_y)_+, sum_y (c'_y - t c_y)_+) / N.

All arithmetic is exact, with t enclosed between two fractions. For a float epsilon other than 0, t is transcendental
(Lindemann), so delta(epsilon) equals no fraction unless it is constant in t: sufficiently many digits of t decide every
comparison with a number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Literal

from ldp_audit.auditing.result import VIOLATED, plain, shown
from ldp_audit.numerics import log_ratio, nonnegative, probability
from ldp_audit.shown import Judged

HOLDS, NOT_REFUTED = "holds", "not refuted"
_MOST_WRITTEN = 2**64
"""Larger numbers of words are printed as powers of 2."""

Method = Literal["enumerated", "monotone", "sampled"]
_DIGITS, _MOST_DIGITS = 60, 2000  # of e**epsilon; for the smallest positive float it differs from 1 in the 324th


@dataclass(frozen=True)
class Example:
    """One output with its words, so that a reader can verify it by hand.

    word, uniform: of the input `reached`, one entry for each uniform of the program; the first words that lead to the
        output.
    below, above: the other input's nearest outputs, None where there is none or outputs have no order.
    ratio: of the output's probabilities on the two inputs; inf where the other cannot give it.
    """

    output: Any
    word: tuple[int, ...]
    uniform: tuple[float, ...]
    below: Any = None
    above: Any = None
    ratio: float = math.inf
    reached: Any = None
    unreached: Any = None

    def describe(self) -> str:
        """One line of text."""
        words = ", ".join(map(str, self.word))
        uniforms = ", ".join(_typed(value) for value in self.uniform)
        start = f"{shown(self.reached)} with u = {uniforms} (word {words}) gives {output_text(self.output)}"
        if not math.isinf(self.ratio):
            return f"{start}, which is {self.ratio:.10g} times likelier there than on {shown(self.unreached)}"
        nearest = [output_text(value) for value in (self.below, self.above) if value is not None]
        near = (
            f"; its nearest output{'s are' if len(nearest) > 1 else ' is'} {' and '.join(nearest)}" if nearest else ""
        )
        return f"{start}, which no word of {shown(self.unreached)} does{near}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "words": self.describe(),
            "reached": plain(self.reached),
            "unreached": plain(self.unreached),
            "output": plain(self.output),
            "word": list(self.word),
            "uniform": plain(self.uniform),
            "below": plain(self.below),
            "above": plain(self.above),
            "ratio": plain(self.ratio),
        }


@dataclass(frozen=True)
class Exclusive:
    """The outputs of one input of a pair that the other cannot give.

    outputs, words: their number, and the number of words of `reached` that lead to them; of those examined.
    share: of all words, a lower bound on delta at every epsilon. A lower confidence bound where words were sampled.
    """

    reached: Any
    unreached: Any
    outputs: int
    words: int
    share: float
    example: Example | None = None

    def describe(self) -> str:
        """One line of text."""
        outputs = f"{self.outputs} output{'s' if self.outputs != 1 else ''}"
        start = f"reached on {shown(self.reached)}, never on {shown(self.unreached)}"
        return f"{start}: {outputs} from {self.words} words, a share of {self.share:.6g}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "reached": plain(self.reached),
            "unreached": plain(self.unreached),
            "outputs": self.outputs,
            "words": self.words,
            "share": self.share,
            "example": None if self.example is None else self.example.to_dict(),
        }


@dataclass(frozen=True)
class PairChannel:
    """The channel of two inputs, as far as it is known.

    counts: exact; None where only exclusive outputs of some words are known, and epsilon and delta are lower bounds.
    exclusive: at most one entry for each direction.   worst: an exclusive output of the likelier direction, else one of
        the largest ratio; None if both distributions are equal.
    """

    first: Any
    second: Any
    counts: JointCounts | None
    exclusive: tuple[Exclusive, ...] = ()
    worst: Example | None = None

    @property
    def exact(self) -> bool:
        """Whether epsilon and delta are exact and not lower bounds."""
        return self.counts is not None

    @property
    def epsilon(self) -> float:
        """The pure epsilon; inf where an output is exclusive to one input."""
        if self.counts is not None:
            return self.counts.epsilon
        return math.inf if self.exclusive else 0.0

    def delta(self, epsilon: float) -> float:
        """The hockey-stick divergence at epsilon, maximum of both directions."""
        if self.counts is not None:
            return self.counts.delta(epsilon)
        nonnegative(epsilon)
        return self.share

    @property
    def share(self) -> float:
        """The share of words that lead to exclusive outputs, maximum of both directions."""
        return max((one.share for one in self.exclusive), default=0.0)

    def exceeds(self, epsilon: float, delta: float) -> bool:
        """Whether delta(epsilon) > delta, decided exactly; False also where it is unknown."""
        return self.share > delta if self.counts is None else self.counts.exceeds(epsilon, delta)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "inputs": [plain(self.first), plain(self.second)],
            "exact": self.exact,
            "epsilon": plain(self.epsilon),
            "exclusive": [one.to_dict() for one in self.exclusive],
            "worst": None if self.worst is None else self.worst.to_dict(),
        }


@dataclass(frozen=True)
class Implementation(Judged):
    """The guarantee of a deterministic map from random words to outputs, on the given inputs.

    method: enumerated (every word), monotone (exact where outputs are few), sampled (can only refute).
    words: equally likely words of an input, 2**(bits * uniforms).   assumptions: of the result.
    coarser: whether the grid is coarser than the program's own, so that nothing follows for the program itself.
    """

    method: Method
    bits: int
    uniforms: int
    words: int
    claimed_epsilon: float | None
    claimed_delta: float
    pairs: tuple[PairChannel, ...]
    assumptions: tuple[str, ...] = ()
    seconds: float = 0.0
    coarser: bool = False

    @property
    def exact(self) -> bool:
        """Whether epsilon and delta are exact, and those of the program itself."""
        return not self.coarser and self.method != "sampled" and all(pair.exact for pair in self.pairs)

    @property
    def epsilon(self) -> float:
        """The largest pure epsilon of a pair: exact, or a lower bound."""
        return max(pair.epsilon for pair in self.pairs)

    def delta(self, epsilon: float) -> float:
        """The largest delta of a pair at this epsilon, 0..inf: exact, or a lower bound."""
        return max(pair.delta(epsilon) for pair in self.pairs)

    @property
    def verdict(self) -> str | None:
        """violated, holds, or not refuted; None without a claim.

        Decided in exact arithmetic. "holds": delta(claimed_epsilon) <= claimed_delta for the floats' exact values.
        "violated": the claim is false for the next larger floats too, as a float stands for every real number that
        rounds to it: ln 2 is slightly above `math.log(2)`, and a true ratio of 2 does not violate it. Between the two,
        and for samples without a violation: "not refuted". A claimed epsilon of inf is trivially true, and holds.
        Nothing on a coarser grid is a violation.
        """
        if self.claimed_epsilon is None:
            return None
        if self.coarser:
            return NOT_REFUTED
        epsilon, delta = self.claimed_epsilon, self.claimed_delta
        if math.isfinite(epsilon):
            next_delta = math.nextafter(delta, math.inf) if delta else 0.0
            if any(pair.exceeds(math.nextafter(epsilon, math.inf), next_delta) for pair in self.pairs):
                return VIOLATED
            if any(pair.exceeds(epsilon, delta) for pair in self.pairs):
                return NOT_REFUTED
        return HOLDS if self.exact else NOT_REFUTED

    @property
    def violated(self) -> bool:
        """Whether the claim is false."""
        return self.verdict == VIOLATED

    @property
    def worst_pair(self) -> PairChannel:
        """The pair that most exceeds the claim; without a claim, that of largest epsilon, then of largest share."""
        claimed = self.claimed_epsilon
        if claimed is None or not math.isfinite(claimed):
            return max(self.pairs, key=lambda pair: (pair.epsilon, pair.share))
        return max(self.pairs, key=lambda pair: (pair.delta(claimed), pair.epsilon))

    def describe(self) -> str:
        """A short table, with one example that a reader can verify by hand."""
        at_least = "" if self.exact or self.coarser else "at least "
        lines = [self._headline(), f"  method                 {self._method()}"]
        lines.append(f"  inputs                 {len(self.pairs)} pair{'s' if len(self.pairs) > 1 else ''} examined")
        lines.append(f"  implemented epsilon    {at_least if self.epsilon < math.inf else ''}{self.epsilon:.10g}")
        if self.claimed_epsilon is not None:
            delta = self.delta(self.claimed_epsilon)
            lines.append(f"  delta at the claim     {at_least}{delta:.6g} (claimed {self.claimed_delta:.6g})")
        if self.coarser:
            lines.append("  all of this is about a coarser program than the one given: nothing follows for that one")
        elif self.claimed_epsilon is not None and self.exact and self.verdict == NOT_REFUTED:
            lines.append("  the claim is missed by less than the step from its numbers to the next floats")
        pair = self.worst_pair
        lines += [f"  {one.describe()}" for one in pair.exclusive]
        if pair.worst is not None:
            lines.append(f"  for example: {pair.worst.describe()}")
        lines += [f"  taken on trust: {assumption}" for assumption in self.assumptions]
        return "\n".join([*lines, f"  {self.seconds:.2f} s"])

    def to_dict(self) -> dict[str, Any]:
        """For JSON; infinite numbers are the text "inf"."""
        claimed = self.claimed_epsilon
        return {
            "schema_version": 1,
            "kind": "implementation",
            "verdict": self.verdict,
            "method": self.method,
            "exact": self.exact,
            "bits": self.bits,
            "uniforms": self.uniforms,
            "words": self.words if self.words <= _MOST_WRITTEN else self._many(),
            "coarser": self.coarser,
            "claimed_epsilon": plain(claimed),
            "claimed_delta": self.claimed_delta,
            "epsilon": plain(self.epsilon),
            "delta_at_claim": None if claimed is None else self.delta(claimed),
            "exclusive_share": max(pair.share for pair in self.pairs),
            "pairs": [pair.to_dict() for pair in self.pairs],
            "assumptions": list(self.assumptions),
            "seconds": self.seconds,
        }

    def _headline(self) -> str:
        if self.claimed_epsilon is None:
            return "no claim to compare with"
        claim = f"claimed epsilon {self.claimed_epsilon:.6g}"
        return f"{self.verdict}: {claim}" + (f" at delta {self.claimed_delta:.6g}" if self.claimed_delta else "")

    def _method(self) -> str:
        if not self.bits:
            return "sampled, by calls of the program as it is: its words are not known"
        many = f"{self.uniforms} x " if self.uniforms > 1 else ""
        each = f"{self._many()} words of {many}{self.bits} bits"
        return {
            "enumerated": f"enumerated, all {each}",
            "monotone": f"by structure, as a monotone function of {each}",
            "sampled": f"sampled, some of {each}",
        }[self.method]

    def _many(self) -> str:
        return str(self.words) if self.words <= _MOST_WRITTEN else f"2**{self.bits * self.uniforms}"


def _typed(value: float) -> str:
    return repr(float(value)) if isinstance(value, float) else str(value)


def output_text(value: Any) -> str:
    """An output as text: a number in the digits of its own dtype, text in quotes."""
    if isinstance(value, tuple):
        return f"({', '.join(map(output_text, value))})"
    return str(value) if isinstance(value, float | int) or hasattr(value, "dtype") else repr(value)


@dataclass(frozen=True)
class JointCounts:
    """Joint word counts of two inputs; outputs with the same two counts are one row.

    total: words of each input, all equally likely.   rows: (words of the first, words of the second, number of
        outputs), without outputs of neither input.
    """

    total: int
    rows: tuple[tuple[int, int, int], ...]

    def __post_init__(self) -> None:
        if any(min(row) < 0 for row in self.rows):
            raise ValueError("rows must hold whole numbers >= 0")
        object.__setattr__(self, "rows", tuple(row for row in self.rows if any(row[:2]) and row[2]))
        for side, name in enumerate(("first", "second")):
            words = sum(row[side] * row[2] for row in self.rows)
            if words != self.total:
                raise ValueError(f"the {name} input's counts must add up to {self.total} words, they make {words}")

    @property
    def epsilon(self) -> float:
        """The pure epsilon, maximum of both directions; inf where an output has no word on one side."""
        worst = self.worst_row
        return math.inf if min(worst[:2]) == 0 else log_ratio(max(worst[:2]), min(worst[:2]))

    @property
    def worst_row(self) -> tuple[int, int, int]:
        """The exclusive row of most words, else the row of largest ratio."""
        return max(self.rows, key=_telling)

    def exclusive(self, side: int) -> tuple[int, int]:
        """The number of outputs that only this side (0: the first input) can give, and of their words."""
        own = [(row[side], row[2]) for row in self.rows if row[1 - side] == 0]
        return sum(outputs for _, outputs in own), sum(words * outputs for words, outputs in own)

    def delta(self, epsilon: float) -> float:
        """delta at an epsilon in 0..inf, maximum of both directions, to a unit in the last place; else ValueError."""
        return float(self._delta(next(_enclosures(nonnegative(epsilon), self.total))[0]))

    def exceeds(self, epsilon: float, delta: float) -> bool:
        """Whether delta(epsilon) > delta for the exact values of the two floats; certain."""
        bound = Fraction(probability(delta, "delta"))
        for low, high in _enclosures(nonnegative(epsilon), self.total):
            if self._delta(high) > bound:
                return True
            if self._delta(low) <= bound:
                return False
        raise ArithmeticError(f"delta at epsilon {epsilon!r} is too near {delta!r} to tell which is larger")

    def _delta(self, t: Fraction) -> Fraction:
        p, q = t.numerator, t.denominator
        forwards = sum(max(0, q * first - p * second) * outputs for first, second, outputs in self.rows)
        backwards = sum(max(0, q * second - p * first) * outputs for first, second, outputs in self.rows)
        return Fraction(max(forwards, backwards), q * self.total)


def _telling(row: tuple[int, int, int]) -> tuple[bool, Fraction]:
    fewer, more = sorted(row[:2])
    return (True, Fraction(more)) if fewer == 0 else (False, Fraction(more, fewer))


def _enclosures(epsilon: float, total: int) -> Iterator[tuple[Fraction, Fraction]]:
    """Ever closer lower and upper fractions for e**epsilon; any t >= total is equivalent to total."""
    if epsilon == 0 or epsilon > math.log(total) + 1:
        t = Fraction(1 if epsilon == 0 else total)
        yield t, t
        return
    digits = _DIGITS
    while digits <= _MOST_DIGITS:
        with localcontext() as context:
            context.prec = digits
            t = Fraction(Decimal(epsilon).exp())  # correctly rounded: an error of at most half a unit in the last digit
        margin = t / 10 ** (digits - 1)
        yield max(t - margin, Fraction(1)), t + margin
        digits *= 2


@dataclass(frozen=True)
class LowerBounds(PairChannel):
    """Lower bounds; `counts` are of a function of the output, or of a binary channel dominated with confidence."""

    @property
    def exact(self) -> bool:
        """Never."""
        return False

    @property
    def epsilon(self) -> float:
        """The larger of the bounds from the counts and from the exclusive outputs."""
        coarse = 0.0 if self.counts is None else self.counts.epsilon
        return math.inf if self.exclusive else coarse

    def delta(self, epsilon: float) -> float:
        """The larger of the bounds from the counts and from the exclusive outputs."""
        nonnegative(epsilon)
        return max(self.share, 0.0 if self.counts is None else self.counts.delta(epsilon))

    def exceeds(self, epsilon: float, delta: float) -> bool:
        """Whether delta(epsilon) > delta is certain; False also where it is unknown."""
        return self.share > delta or (self.counts is not None and self.counts.exceeds(epsilon, delta))
