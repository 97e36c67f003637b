"""Any finite channel, given by its matrix: rows are inputs, columns outputs, entries probabilities.

The sampler rounds probabilities to counts of W equally likely words such that no likelihood ratio grows. Each of the m
possible outputs gets `a` words at every input; the other K = W - m a words are shared in proportion to the probability
P, rounded to within one word: c = a + P K + r with -1 < r < 1. At two inputs with P <= t P', the counts of one output
satisfy

    c <= a + 1 + P K <= a + 1 + t P' K <= t (a - 1 + P' K) <= t c'   if   a + 1 <= t (a - 1),

that is, a >= (t + 1) / (t - 1) = coth(epsilon / 2), with the channel's own t = e**epsilon, a ratio of its probabilities
and so an exact fraction. The implemented epsilon is thus at most the channel's, and the distribution is mixed with a
share m a / W of the uniform one.

If m a > W or epsilon = 0, every input gets the counts of the first. If epsilon is infinite, an output gets one word at
each input that can give it, if there are enough words, and none at the others. Probabilities that already are whole
numbers of words are kept.
"""

from __future__ import annotations

import csv
import io
import math
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import InitVar, dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from numbers import Rational, Real
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import ArrayLike, NDArray

from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.blanket import Blanket
from ldp_audit.mechanisms.channel_loss import channel_loss
from ldp_audit.mechanisms.finite_precision import AliasTable, are_whole, word_counts
from ldp_audit.mechanisms.hockey_stick import doubled, hockey_stick
from ldp_audit.mechanisms.inputs import array_of, whole_numbers
from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.mechanism import Mechanism
from ldp_audit.mechanisms.neighbouring_rows import largest_divergence, pairs_of, worst_neighbours
from ldp_audit.mechanisms.output_labels import NUMBERS, columns_of, label_array
from ldp_audit.mechanisms.randomness import BITS, WORDS, NumpySource, source_of
from ldp_audit.numerics import listed
from ldp_audit.progress import silent

_TOLERANCE = Fraction(1, 10**9)
"""Largest deviation of a row's sum from 1."""
_MOST = 1 << 24
"""Most entries of a channel file."""
_LARGEST = 1 << 27
"""Most bytes of a channel file, and of its uncompressed parts."""
_LONGEST = 1 << 25
"""Most bits of a row's numerators together, over their common denominator."""
_PLAIN, _SHORT, _NARROW = re.compile(r"(?:[0-9. ]*(?:[eE][+-]?[0-9]{1,2})?,)*"), 64, 1 << 13
"""Decimals in a text of so many characters, in rows of at most so many columns, have a small common denominator."""
_LEAST = 1e-290
"""Rows with a positive entry below this are compared exactly."""
_SHOWN = 256
"""Most entries of a matrix that is shown in full."""
_AT_ONCE = 1 << 16
"""Most numbers of a block of rows that are compared with one: they stay in a processor's cache."""
_NO_ROWS = str | bytes | Mapping | Set
"""Kinds whose elements are digits, keys, or in no order."""
_SAID = 64
"""Rows between two lines of progress."""


@dataclass(frozen=True, eq=False, repr=False)
class FiniteChannel(Mechanism):
    """P(output j | input i) = matrix[i][j].

    matrix: shape (inputs, outputs); numbers, fractions or texts such as "1/3", all taken exactly. A row that adds up to
        1 only within 1e-9, as floats do, is divided by its sum.
    outputs: a label for each column; 0, 1, ... if not given.
    neighbours: pairs of inputs (row numbers) that are neighbours, in both orders; any two, if not given.
    progress: called with a line now and then while the matrix is checked.
    Raises ValueError for entries that are not probabilities, for rows that do not add up to 1 within 1e-9, and for
    neighbours that are no pairs of different rows.
    """

    matrix: Any
    outputs: Sequence[Any] | None = None
    neighbours: Sequence[tuple[int, int]] | None = None
    progress: InitVar[Callable[[str], None] | None] = field(default=None, kw_only=True)
    _given: _Given = field(init=False, repr=False)

    def __post_init__(self, progress: Callable[[str], None] | None) -> None:
        given = _Given.of(self.matrix, progress or silent)
        size = given.floats.shape[1]
        labels = list(range(size)) if self.outputs is None else listed(self.outputs, "outputs", "labels")
        try:
            different = len(set(labels))
        except TypeError:  # lists and arrays
            raise ValueError(f"outputs must be hashable labels, such as tuples, got {self.outputs!r}") from None
        if not len(labels) == different == size:
            raise ValueError(f"outputs must be {size} different labels, got {self.outputs!r}")
        object.__setattr__(self, "outputs", tuple(labels))
        object.__setattr__(self, "matrix", given.rows)  # a copy: the caller's may change, or be read once
        object.__setattr__(self, "_given", given)
        if self.neighbours is not None:
            object.__setattr__(self, "neighbours", pairs_of(self.neighbours, len(given.rows)))

    def __repr__(self) -> str:
        shape = self._given.floats.shape
        if shape[0] * shape[1] > _SHOWN:
            return f"FiniteChannel of {shape[0]} inputs and {shape[1]} outputs"
        related = "" if self.neighbours is None else f", neighbours={self.neighbours!r}"
        return f"FiniteChannel(matrix={self.matrix!r}, outputs={self.outputs!r}{related})"

    @classmethod
    def from_file(cls, path: str | Path, *, progress: Callable[[str], None] | None = None) -> FiniteChannel:
        """Read a .csv, or an .npz with `matrix` and perhaps `outputs` (never unpickled); ValueError names the fault.

        path: a .csv holds rows of probabilities only.   progress: called with a line now and then.
        """
        path = Path(path)
        if path.suffix not in (".csv", ".npz"):
            raise ValueError(f"a channel file must end in .csv or .npz, got {path.name!r}")
        try:
            if path.suffix == ".csv":
                return cls(_rows_of(path, progress or silent), progress=progress)
            matrix, outputs = _arrays_of(path)
            return cls(matrix, None if outputs is None else outputs.tolist(), progress=progress)
        except (ValueError, KeyError, EOFError, csv.Error) as error:
            raise ValueError(f"{path}: {error}") from error
        except Exception as error:  # a damaged archive fails in many ways
            if isinstance(error, OSError):
                raise
            raise ValueError(f"{path} is no .npz archive: {error}") from error

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats, from exact fractions; infinity where the supports of two inputs differ."""
        ratio = self._worst[2]
        return math.inf if ratio is None else _log(ratio)

    def reports(self) -> Sequence[Any]:
        """The labels."""
        return self._labels()

    def blanket(self) -> Blanket | None:
        """See base: of all pairs of rows, where they are not too many."""
        return Blanket.of_laws(self._table(np.arange(len(self._given.rows)))[0])

    def pair_loss(self) -> PairLoss:
        """See base: the upper hull of all tests between two rows."""
        return channel_loss(self._given.weights().tolist(), self.neighbours)

    @property
    def any_pair(self) -> bool:
        """See base."""
        return self.neighbours is None

    def inputs(self, count: int) -> NDArray[np.int64]:  # noqa: ARG002
        """See base: all of them."""
        return np.arange(len(self._given.rows))

    def worst_pair(self) -> tuple[int, int]:
        """The row numbers of two inputs that attain exact_epsilon(); delta() may need another pair."""
        return self._worst[:2]

    def delta(
        self, epsilon: ArrayLike, *, progress: Callable[[str], None] | None = None
    ) -> NDArray[np.float64] | np.float64:
        """The privacy profile, maximal over ordered pairs of inputs; shape of `epsilon`, nats, >= 0.

        progress: called with a line now and then.
        """
        asked, found, say = levels(epsilon), [], progress or silent
        for level in asked.ravel().tolist():
            say(f"the profile at epsilon {level:g}, {len(found) + 1} of {asked.size}")
            found.append(self._delta_at(level, say))
        return np.array(found, dtype=np.float64).reshape(asked.shape)[()]

    def log_prob(self, y: Any, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the labels y at the inputs (rows) x, nats; broadcasts; -inf for what is no label.

        y: a label, or an array or list of labels; a tuple is a single label.
        """
        columns, rows = np.broadcast_arrays(columns_of(y, self._labels()), self._rows(x))
        table, places = self._table(rows)
        with np.errstate(divide="ignore"):
            logs = np.log(np.column_stack([table, np.zeros(len(table))]))  # the last column: no label
        return logs[places, columns][()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """E[report | x]; shape of x. ValueError if the labels are not numbers."""
        table, places = self._table(self._rows(x))
        return (table @ self._numbers())[places][()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Var[report | x]; shape of x. ValueError if the labels are not numbers."""
        table, places = self._table(self._rows(x))
        away = (self._numbers() - (table @ self._numbers())[:, None]) ** 2
        return (table * away).sum(axis=1)[places][()]

    def implemented(self, bits: int = 64) -> FiniteChannel:
        """The finite-precision distribution for `bits`-bit words; its epsilon is at most this channel's.

        `word_counts` gives the counts. A channel of such probabilities is returned unchanged. ValueError unless 2..64.
        """
        words, weights = 2 ** int(BITS.check(bits)), self._given.weights()
        if are_whole(weights, words):
            return self
        counts = word_counts(weights, self._worst[2], words)
        exact = [[Fraction(count, words) for count in row] for row in counts]
        return FiniteChannel(exact, self.outputs, self.neighbours)

    def implemented_epsilon(self) -> float:
        """See base, from the rows that may have the most or the fewest words of an output with the largest ratio."""
        ratio = self._worst[2]
        if ratio is None or ratio == 1:
            return self.exact_epsilon()
        if self.neighbours is not None:
            return super().implemented_epsilon()
        floor = float((ratio + 1) / (ratio - 1)) / WORDS
        few = FiniteChannel([self._given.rows[row] for row in self._given.extremes(floor, 2.0**-60)])
        if are_whole(few._given.weights(), WORDS):  # the other rows may not be
            return super().implemented_epsilon()
        return few.implemented().exact_epsilon()

    def sample(self, x: Any, *, rng: Any) -> Any:
        """One label for each input (row number), from `implemented()`; shape of x, on its device.

        x: whole numbers, an array or a tensor.   rng: a numpy.random.Generator, or a torch.Generator for tensors.
        Returns bool, int64 or float64 for numeric labels, an array of texts, or of objects. Tensors hold numbers only:
        ValueError for other labels; use `sample_indices`.
        """
        source, labels = source_of(rng), label_array(self._labels())
        if labels.dtype.kind in NUMBERS:
            dtype = {"b": source.xp.bool, "i": source.xp.int64, "f": source.xp.float64}[labels.dtype.kind]
            return source.constant(labels, dtype)[self.sample_indices(x, rng=rng)]
        if not isinstance(source, NumpySource):
            raise ValueError(f"outputs must be numbers for tensors, got {self.outputs!r}; use sample_indices")
        return labels[self.sample_indices(x, rng=rng)]

    def sample_indices(self, x: Any, *, rng: Any) -> Any:
        """As `sample`, with column numbers for labels; int64."""
        source = source_of(rng)
        rows = whole_numbers("x", source.array("x", x), 0, len(self._given.rows) - 1, source.xp)
        return self._words.draw(source, rows.shape, source.xp.astype(rows, source.xp.int64))[()]

    @cached_property
    def _words(self) -> AliasTable:
        """The sampler's table of 64-bit words."""
        return AliasTable.of(word_counts(self._given.weights(), self._worst[2], WORDS))

    def _table(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The probabilities of the different ones of these rows, correctly rounded, and the place of each row there."""
        known, places = np.unique(rows, return_inverse=True)
        weights = self._given.weights(known.tolist())
        return (weights / weights.sum(axis=1)[:, None]).astype(np.float64), places.reshape(rows.shape)

    @cached_property
    def _worst(self) -> tuple[int, int, Fraction | None]:
        """Two inputs and the largest ratio of an output's probabilities, attained there; None for infinity."""
        if self.neighbours is not None:
            return worst_neighbours(self._given.weights, self.neighbours)
        rows = self._given.extremes()
        weights = self._given.weights(rows)
        totals, columns = weights.sum(axis=1), np.arange(weights.shape[1])
        most, least = np.zeros_like(columns), np.zeros_like(columns)
        for row, (own, total) in enumerate(zip(weights, totals, strict=True)):
            most[own * totals[most] > weights[most, columns] * total] = row
            least[own * totals[least] < weights[least, columns] * total] = row
        best = (0, 0, Fraction(1))
        for column, (high, low) in enumerate(zip(most.tolist(), least.tolist(), strict=True)):
            above, below = weights[high, column] * totals[low], weights[low, column] * totals[high]
            if above and not below:
                return rows[high], rows[low], None
            if above * best[2].denominator > below * best[2].numerator:
                best = (rows[high], rows[low], Fraction(above, below))
        return best

    def _delta_at(self, level: float, say: Callable[[str], None]) -> float:
        if self.neighbours is not None:
            return largest_divergence(self._given.weights, self.neighbours, level)
        if math.isinf(level):
            patterns = np.unique(self._given.impossible, axis=0)
            row, pattern = divmod(int((self._given.near @ patterns.T).argmax()), len(patterns))
            return float(self._table(np.array([row]))[0][0][patterns[pattern]].sum())
        if level >= self.exact_epsilon():
            return 0.0
        found = 0.0
        for row, others in self._given.pairs(math.exp(min(level, 700.0)), say):
            weights = self._given.weights([row, *others])
            totals = np.broadcast_to(weights.sum(axis=1)[:, None], weights.shape)
            near, rest = (
                one.reshape(weights.shape) for one in doubled(weights.ravel().tolist(), totals.ravel().tolist())
            )
            found = max(found, float(hockey_stick((near[0], rest[0]), (near[1:], rest[1:]), level).max()))
        return found

    def _labels(self) -> tuple[Any, ...]:
        return tuple(self.outputs or ())

    def _numbers(self) -> NDArray[np.float64]:
        try:
            if all(isinstance(label, Real | Decimal | np.bool_) for label in self._labels()):
                return np.array(self._labels(), dtype=np.float64)
        except OverflowError:  # beyond the range of floats
            pass
        raise ValueError(f"moments need numbers as outputs, got {self.outputs!r}")

    def _rows(self, x: ArrayLike) -> NDArray[np.int64]:
        return whole_numbers("x", array_of("x", x), 0, len(self._given.rows) - 1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Given:
    """The rows of a matrix as they were given, their entries as floats, and exact weights of the rows that need them.

    plain: whether a row's entries are floats or short decimals, shape (rows,).
    known: rows' probabilities as numerators over their common denominator, as far as computed.
    """

    rows: list[Sequence[Any]]
    floats: NDArray[np.float64]
    plain: NDArray[np.bool_]
    known: dict[int, list[int]]

    @classmethod
    def of(cls, matrix: Any, say: Callable[[str], None]) -> _Given:
        """Checked: see `FiniteChannel`. Rows that are not of short decimals or floats are made exact at once."""
        try:
            floating = isinstance(matrix, np.ndarray) and matrix.dtype.kind == "f" and matrix.dtype.itemsize <= 8
            rows: list[Sequence[Any]] = matrix.tolist() if floating else _rows_in_order(matrix)
            plain, floats = [], []
            for place, row in enumerate(rows):
                if not place % _SAID:
                    say(f"reading row {place + 1} of {len(rows)}")
                plain.append(len(row) <= _NARROW and _is_plain(row))
                floats.append(list(map(float if plain[-1] else _rounded, row)))
            table = np.array(floats, dtype=np.float64)
        except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
            raise ValueError(f"matrix must be rows of numbers of one length: {error}") from None
        if table.ndim != 2 or 0 in table.shape:
            raise ValueError(f"matrix must have at least one row and one column, got shape {table.shape}")
        bad = ~((table >= 0) & (table <= 1))
        if np.any(bad):
            i, j = (int(where[0]) for where in np.nonzero(bad))
            raise ValueError(f"matrix entries must be probabilities, got {table[i, j].item()!r} in row {i}, column {j}")
        found = cls(rows, table, np.array(plain), {})
        surely = np.abs(table.sum(axis=1) - 1) < float(_TOLERANCE) - found.error
        left = np.flatnonzero(~(surely & found.plain)).tolist()
        for place, i in enumerate(left):
            if not place % _SAID:
                say(f"adding up row {place + 1} of {len(left)} in exact fractions")
            found._weights_of(i)
        return found

    @property
    def error(self) -> float:
        """A bound on the relative error of a row's sum, and of `near`, with room to spare."""
        return (self.floats.shape[1] + 16) * 2.0**-52

    @cached_property
    def near(self) -> NDArray[np.float64]:
        """The probabilities, to a relative `error` unless they underflow."""
        return self.floats / self.floats.sum(axis=1, keepdims=True)

    @cached_property
    def impossible(self) -> NDArray[np.bool_]:
        """Whether an entry is 0, shape as the matrix."""
        zeros = self.floats == 0
        for row in np.flatnonzero(~self.plain).tolist():  # fractions may underflow
            zeros[row] = [weight == 0 for weight in self._weights_of(row)]
        return zeros

    @cached_property
    def tiny(self) -> NDArray[np.bool_]:
        """The rows with entries so small that floats have lost their digits, shape (rows,)."""
        return np.any((self.floats < _LEAST) & ~self.impossible, axis=1)

    def weights(self, rows: Iterable[int] | None = None) -> NDArray:
        """The exact weights of these rows, or of all; an array of Python integers."""
        chosen = range(len(self.rows)) if rows is None else rows
        return np.array([self._weights_of(row) for row in chosen], dtype=object).reshape(-1, self.floats.shape[1])

    def extremes(self, floor: float = 0.0, apart: float = 0.0) -> list[int]:
        """The rows that may have the largest or least probability of a column with the largest ratio of these.

        floor: is added to both sides of a ratio.   apart: the distance up to which probabilities are not told apart.
        """
        near, zeros, slack = self.near, self.impossible, 4 * self.error
        top, least = near.max(axis=0), near.min(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            highest = np.where(top > 0, (floor + top + apart) / np.maximum(floor + least - apart, 0.0), 0.0)
            surely = np.where(top > 0, (floor + top - apart) / (floor + least + apart), 0.0)
        chosen = (highest >= surely.max() * (1 - slack)) | self.tiny.any()
        some = chosen & ~zeros.any(axis=0)
        reached = (near[:, chosen] >= top[chosen] * (1 - slack) - apart).any(axis=1)
        reached |= (near[:, some] <= least[some] * (1 + slack) + apart).any(axis=1) | self.tiny
        reached[zeros[:, chosen].argmax(axis=0)] = True  # the first 0 of a column is its least
        return self._different(np.flatnonzero(reached))

    def pairs(self, t: float, say: Callable[[str], None]) -> list[tuple[int, list[int]]]:
        """Each row with others, of which one pair has the largest divergence at t, but for those of none."""
        near, slack = self.near, 4 * self.error
        high = (near >= t * near.min(axis=0) * (1 - slack)).any(axis=1)  # of all others no ratio is above t
        low = (t * near <= near.max(axis=0) * (1 + slack)).any(axis=1)
        high, low = high | self.tiny, low | self.tiny
        if 2 ** near.shape[1] <= min(len(near), 2**12):
            return self._of_sets(t, high, low)
        return self._of_rows(t, np.flatnonzero(high), np.flatnonzero(low), say)

    @cached_property
    def _sets(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """All sets of outputs but the empty one, by row, and the largest and the least probability of each."""
        size = self.near.shape[1]
        sets = ((np.arange(1, 2**size)[:, None] >> np.arange(size)) & 1).astype(np.float64)
        ends = np.array([(one.max(), one.min()) for one in (self.near @ chosen for chosen in sets)])
        return sets, ends[:, 0], ends[:, 1]

    def _of_sets(self, t: float, high: NDArray[np.bool_], low: NDArray[np.bool_]) -> list[tuple[int, list[int]]]:
        sets, most, least = self._sets
        gains, slack = most - t * least, 4 * self.error
        found: dict[int, list[int]] = {}
        for place in np.flatnonzero(gains >= gains.max() - slack):
            sums = self.near @ sets[place]
            firsts = self._different(np.flatnonzero(high & (sums >= most[place] - slack)))
            seconds = self._different(np.flatnonzero(low & (t * (sums - least[place]) <= slack)))
            for row in firsts if seconds else ():
                found.setdefault(row, []).extend(seconds)
        return [(row, list(dict.fromkeys(others))) for row, others in found.items()]

    def _of_rows(
        self, t: float, high: NDArray[np.int64], low: NDArray[np.int64], say: Callable[[str], None]
    ) -> list[tuple[int, list[int]]]:
        near, slack, half = self.near, 4 * self.error, math.sqrt(t)
        middle = near.mean(axis=0)
        first = np.maximum(near[high] - half * middle, 0.0).sum(axis=1)
        second = half * np.maximum(middle - half * near[low], 0.0).sum(axis=1)
        high, low = high[np.argsort(-first)], low[np.argsort(-second)]
        first, second, best = -np.sort(-first), -np.sort(-second), 0.0
        found: list[tuple[int, NDArray[np.int64], NDArray[np.float64]]] = []
        scaled, step = t * near[low], max(1, _AT_ONCE // near.shape[1])
        smaller = np.empty((min(step, low.size), near.shape[1]))
        for place, row in enumerate(high.tolist()):
            count = int(np.searchsorted(-second, first[place] - best + 2 * slack))
            if not count:
                break
            say(f"comparing input {place + 1} of {high.size} with others, at ratio {t:.4g}")
            gains = np.empty(count)  # sum (p - t q)_+ = 1 - sum min(p, t q)
            for start in range(0, count, step):
                block = scaled[start : min(count, start + step)]
                least = np.minimum(near[row], block, out=smaller[: len(block)])
                np.subtract(1.0, least.sum(axis=1), out=gains[start : start + len(block)])
            best = max(best, float(gains.max()))
            kept = gains >= best - slack
            found.append((row, low[:count][kept], gains[kept]))
        left = ((row, self._different(others[gains >= best - slack])) for row, others, gains in found)
        return [(row, others) for row, others in left if others]

    def _different(self, rows: NDArray[np.int64]) -> list[int]:
        """Of rows with the same entries the first."""
        return sorted({tuple(self.rows[row]): row for row in reversed(rows.tolist())}.values())

    def _weights_of(self, row: int) -> list[int]:
        if row not in self.known:
            exact = [_fraction(entry) for entry in self.rows[row]]
            common = _common(exact)
            weights = [entry.numerator * (common // entry.denominator) for entry in exact]
            if abs(Fraction(sum(weights), common) - 1) > _TOLERANCE:
                raise ValueError(f"matrix rows must add up to 1, got {sum(weights) / common!r} in row {row}")
            self.known[row] = weights
        return self.known[row]


def _rows_in_order(matrix: Any) -> list[Sequence[Any]]:
    """The rows; TypeError for texts, mappings, sets and tables, whose elements are no rows of numbers in order."""
    table = type(matrix).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow")
    given = [matrix] if table or isinstance(matrix, _NO_ROWS) else list(matrix)
    wrong = [type(one).__name__ for one in given if table or isinstance(one, _NO_ROWS)]
    if wrong:
        raise TypeError(f"got {wrong[0]}" + "; pass matrix.to_numpy()" * table)
    return [[entry[()] if isinstance(entry, np.ndarray) else entry for entry in row] for row in given]


def _is_plain(row: Sequence[Any]) -> bool:
    """Whether the entries are floats, or all short decimals, so that floats bound what they are."""
    if all(isinstance(entry, float) for entry in row):
        return True
    texts = all(isinstance(entry, str) and len(entry) <= _SHORT for entry in row)
    return texts and _PLAIN.fullmatch(",".join(row) + ",") is not None


def _rows_of(path: Path, say: Callable[[str], None]) -> list[list[str]]:
    size = path.stat().st_size
    if size > _LARGEST:
        raise ValueError(f"a channel file must have at most {_LARGEST} bytes, got {size}")
    rows: list[list[str]] = []
    with path.open("rb") as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        for row in csv.reader(text):
            if not len(rows) % _SAID:
                say(f"reading {path.name}, {file.tell() / size:.0%}")
            if row:
                rows.append(row)
    _require_no_header(rows)
    return rows


def _require_no_header(rows: list[list[str]]) -> None:
    """ValueError where the first row may be the labels 0 and 1: alone of all rows it is of whole numbers."""
    first, *rest = rows or [[]]
    whole = sorted(entry.strip() for entry in first) == ["0", "1"]
    if whole and rest and not any(entry.strip().isdecimal() for row in rest for entry in row):
        told = "leave out labels, and write such probabilities as 0.0 and 1.0"
        raise ValueError(f"the first row, {','.join(first)}, may be labels or probabilities; {told}")


def _arrays_of(path: Path) -> tuple[NDArray, NDArray | None]:
    """The arrays `matrix` and, if present, `outputs` of an archive; sizes are checked before decompression."""
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        arrays = []
        for name in ("matrix.npy", "outputs.npy"):
            if name not in archive.namelist():
                arrays.append(None)
                continue
            if archive.getinfo(name).file_size > _LARGEST:
                raise ValueError(f"{name} must have at most {_LARGEST} bytes, got {archive.getinfo(name).file_size}")
            with archive.open(name) as packed:
                arrays.append(_array_of(name, packed.read(_LARGEST)))
    if arrays[0] is None:
        raise ValueError("must hold an array named 'matrix'")
    return arrays[0], arrays[1]


def _array_of(name: str, content: bytes) -> NDArray:
    """An .npy file's array, after a check that its header agrees with its size."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(stream)
    count, room = math.prod(shape), len(content) - stream.tell()
    if dtype.hasobject:
        raise ValueError(f"{name}: object arrays are pickles, which are not read (allow_pickle=False)")
    if dtype.kind not in "biufUS" or not 0 < count <= _MOST or dtype.itemsize < 1 or count * dtype.itemsize != room:
        raise ValueError(f"{name} must hold 1 .. {_MOST} numbers or texts, got {shape} of {dtype} in {room} bytes")
    return np.load(io.BytesIO(content), allow_pickle=False)


def _common(row: Sequence[Fraction]) -> int:
    """The entries' common denominator; ValueError where it takes thousands of digits for each entry."""
    common = 1
    for entry in row:
        common = math.lcm(common, entry.denominator)
        if common.bit_length() * len(row) > _LONGEST:
            raise ValueError(
                f"matrix rows must have a common denominator of at most {_LONGEST // len(row)} bits, got more"
            )
    return common


def _fraction(entry: Any) -> Fraction:
    if isinstance(entry, str):
        return _of_text(entry)
    if isinstance(entry, Rational):
        return Fraction(int(entry.numerator), int(entry.denominator))  # numpy's integers would overflow
    if not isinstance(entry, Decimal) and float(entry) != entry:
        accepted = "fractions, texts such as '1/3', or numbers that a float holds exactly"
        raise ValueError(f"matrix entries must be {accepted}, got {entry!r}")
    return Fraction(entry if isinstance(entry, Decimal) else float(entry))


def _rounded(entry: Any) -> float:
    if isinstance(entry, complex | np.complexfloating | bytes):
        raise TypeError(f"got {entry!r}")
    return float(_of_text(entry)) if isinstance(entry, str) else float(entry)


def _of_text(entry: str) -> Fraction:
    if len(entry.lower().partition("e")[2]) > 6:  # 1e-9999999 would take a long time and all memory
        raise ValueError(f"the exponent of {entry!r} is too long")
    return Fraction(entry.strip())


def _log(ratio: Fraction) -> float:
    """The correctly rounded logarithm, which is monotone in the ratio."""
    with ctx.workprec(128 + 2 * ratio.denominator.bit_length()):
        return float(arb(fmpq(ratio.numerator, ratio.denominator)).log().mid())
