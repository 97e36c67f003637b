r"""What a program on a finite grid of random words guarantees: channels of pairs, and what only one input can reach.

Its epsilon and delta follow from two inputs' whole-number counts without rounding. A program that maps N equally likely
words to outputs leads c_y of them to the output y on one input and c'_y on the other. With t = e**epsilon,

    epsilon = max_y |ln(c_y / c'_y)|,   delta(epsilon) = max(sum_y (c_y - t c'_y)_+, sum_y (c'_y - t c_y)_+) / N.

t is enclosed between two fractions, and everything else is exact. For a float epsilon other than 0, t is transcendental
(Lindemann), so that delta(epsilon) equals no fraction unless t has no part in it: whether delta(epsilon) is above a
number is decided by enough digits of t.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Literal

from ldp_audit.auditing.result import VIOLATED, plain, shown
from ldp_audit.numerics import log_ratio

HOLDS, NOT_REFUTED = "holds", "not refuted"
_MOST_WRITTEN = 2**64
"""Of words, whose number is written out; more are a power of 2."""

Method = Literal["enumerated", "monotone", "sampled"]
_DIGITS, _MOST_DIGITS = 60, 2000  # of e**epsilon; the smallest float above 0 moves it in its 324th


@dataclass(frozen=True)
class Example:
    """One output, worked out so that a reader can check it by hand.

    word, uniform: of `reached`, one entry for each uniform that the program takes; the first words that lead there.
    below, above: the other input's nearest outputs, None where there is none or where outputs have no order.
    ratio: how many times likelier the output is on the input it belongs to; inf where the other cannot reach it.
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
        """In words, one line."""
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
    """The outputs that one input of a pair can reach and the other cannot.

    outputs, words: how many, and by how many words of `reached`; of those examined.
    share: of all words; delta is at least this at every epsilon. A lower confidence bound where words were sampled.
    """

    reached: Any
    unreached: Any
    outputs: int
    words: int
    share: float
    example: Example | None = None

    def describe(self) -> str:
        """In words, one line."""
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
    """What is known of two inputs.

    counts: exact; None where only exclusive outputs of some words are known, and epsilon and delta are lower bounds.
    exclusive: at most one entry a direction.   worst: an exclusive output of the likelier direction, else that of the
    largest ratio; None where the two cannot be told apart.
    """

    first: Any
    second: Any
    counts: JointCounts | None
    exclusive: tuple[Exclusive, ...] = ()
    worst: Example | None = None

    @property
    def exact(self) -> bool:
        """Whether epsilon and delta are the pair's own, not lower bounds."""
        return self.counts is not None

    @property
    def epsilon(self) -> float:
        """The pure epsilon; inf where one input reaches an output that the other cannot."""
        if self.counts is not None:
            return self.counts.epsilon
        return math.inf if self.exclusive else 0.0

    def delta(self, epsilon: float) -> float:
        """The hockey-stick divergence at epsilon, the larger of the two directions."""
        if self.counts is not None:
            return self.counts.delta(epsilon)
        if not epsilon >= 0:
            raise ValueError(f"epsilon must be a number >= 0, got {epsilon!r}")
        return self.share

    @property
    def share(self) -> float:
        """Of the words of one input, those that lead to outputs the other cannot reach; the larger direction."""
        return max((one.share for one in self.exclusive), default=0.0)

    def exceeds(self, epsilon: float, delta: float) -> bool:
        """Whether delta(epsilon) > delta, decided without rounding; False also where it is not known."""
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
class Implementation:
    """What a deterministic map from random words to outputs guarantees on the inputs it was asked about.

    method: enumerated (every word), monotone (exact by structure where outputs are few), sampled (can only refute).
    words: equally likely words of an input, 2**(bits * uniforms).   assumptions: what the result takes on trust.
    coarser: whether all of this is about a program on a coarser grid than its own, of which nothing follows for it.
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
        """Whether epsilon and delta are the program's own, not lower bounds, nor those of a coarser one."""
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
        """Whether the claim is true of the program: violated, holds, not refuted; None where nothing is claimed.

        Decided on whole numbers. "holds": delta(claimed_epsilon) <= claimed_delta, the two taken as the exact numbers
        that the floats are. "violated": the claim would be false with the next larger floats too, as a float stands for
        every real number that reads as it: ln 2 is a little above `math.log(2)`, and a fair ratio of 2 is no violation
        of it. Between the two, and wherever something was sampled and nothing found: "not refuted".
        A claimed epsilon of inf promises nothing, and holds. Nothing that a coarser program does is a violation.
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
        """The pair that says most against the claim; without one, that of largest epsilon, then of largest share."""
        claimed = self.claimed_epsilon
        if claimed is None or not math.isfinite(claimed):
            return max(self.pairs, key=lambda pair: (pair.epsilon, pair.share))
        return max(self.pairs, key=lambda pair: (pair.delta(claimed), pair.epsilon))

    def describe(self) -> str:
        """A short table for people, with one example that a reader can check by hand."""
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
    """A uniform, so that it can be typed in again: the shortest digits that give the same float."""
    return repr(float(value)) if isinstance(value, float) else str(value)


def output_text(value: Any) -> str:
    """An output as a reader would write it: a number in the digits of its own dtype, text in quotes."""
    if isinstance(value, tuple):
        return f"({', '.join(map(output_text, value))})"
    return str(value) if isinstance(value, float | int) or hasattr(value, "dtype") else repr(value)


@dataclass(frozen=True)
class JointCounts:
    """How many words of each of two inputs lead to an output; outputs with the same two numbers are one row.

    total: words of each input, all equally likely.   rows: (words of the first, words of the second, such outputs);
    those of outputs that neither reaches are dropped.
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
        """The pure epsilon, the larger of the two directions; inf where an output has no word on one side."""
        worst = self.worst_row
        return math.inf if min(worst[:2]) == 0 else log_ratio(max(worst[:2]), min(worst[:2]))

    @property
    def worst_row(self) -> tuple[int, int, int]:
        """The row whose outputs tell most: with most words where the other input has none, else of largest ratio."""
        return max(self.rows, key=_telling)

    def exclusive(self, side: int) -> tuple[int, int]:
        """How many outputs only this side (0: the first input) reaches, and by how many words."""
        own = [(row[side], row[2]) for row in self.rows if row[1 - side] == 0]
        return sum(outputs for _, outputs in own), sum(words * outputs for words, outputs in own)

    def delta(self, epsilon: float) -> float:
        """delta at this epsilon, the larger of the two directions; at inf, the share of what one input alone reaches.

        epsilon: 0..inf. The value is within one unit of the last place. Raises ValueError for other numbers.
        """
        if not epsilon >= 0:
            raise ValueError(f"epsilon must be a number >= 0, got {epsilon!r}")
        return float(self._delta(next(_enclosures(epsilon, self.total))[0]))

    def exceeds(self, epsilon: float, delta: float) -> bool:
        """Whether delta(epsilon) > delta, the two floats taken as the exact numbers that they are; certain."""
        bound = Fraction(delta)
        for low, high in _enclosures(epsilon, self.total):
            if self._delta(high) > bound:
                return True
            if self._delta(low) <= bound:
                return False
        raise ArithmeticError(f"delta at epsilon {epsilon!r} is too near {delta!r} to tell which is larger")

    def _delta(self, t: Fraction) -> Fraction:
        """delta where e**epsilon is t."""
        p, q = t.numerator, t.denominator
        forwards = sum(max(0, q * first - p * second) * outputs for first, second, outputs in self.rows)
        backwards = sum(max(0, q * second - p * first) * outputs for first, second, outputs in self.rows)
        return Fraction(max(forwards, backwards), q * self.total)


def _telling(row: tuple[int, int, int]) -> tuple[bool, Fraction]:
    fewer, more = sorted(row[:2])
    return (True, Fraction(more)) if fewer == 0 else (False, Fraction(more, fewer))


def _enclosures(epsilon: float, total: int) -> Iterator[tuple[Fraction, Fraction]]:
    """Fractions below and above e**epsilon, ever closer; any t >= total stands for all of them."""
    if epsilon == 0 or epsilon > math.log(total) + 1:
        t = Fraction(1 if epsilon == 0 else total)
        yield t, t
        return
    digits = _DIGITS
    while digits <= _MOST_DIGITS:
        with localcontext() as context:
            context.prec = digits
            t = Fraction(Decimal(epsilon).exp())  # rounded to the nearest: at most half a unit of the last digit off
        margin = t / 10 ** (digits - 1)
        yield max(t - margin, Fraction(1)), t + margin
        digits *= 2


@dataclass(frozen=True)
class LowerBounds(PairChannel):
    """epsilon and delta are at least these; `counts` are those of a function of the output, which tells no more.

    So may be the counts of a binary channel at confidence limits, which the true one dominates with that confidence.
    """

    @property
    def exact(self) -> bool:
        """Never."""
        return False

    @property
    def epsilon(self) -> float:
        """The larger of what the counts and the exclusive outputs say."""
        coarse = 0.0 if self.counts is None else self.counts.epsilon
        return math.inf if self.exclusive else coarse

    def delta(self, epsilon: float) -> float:
        """The larger of what the counts and the exclusive outputs say."""
        if not epsilon >= 0:
            raise ValueError(f"epsilon must be a number >= 0, got {epsilon!r}")
        return max(self.share, 0.0 if self.counts is None else self.counts.delta(epsilon))

    def exceeds(self, epsilon: float, delta: float) -> bool:
        """Whether delta(epsilon) > delta for certain; False also where it is not known."""
        return self.share > delta or (self.counts is not None and self.counts.exceeds(epsilon, delta))
