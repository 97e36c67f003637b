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
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from numbers import Rational
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import ArrayLike, NDArray

from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.channel_loss import channel_loss
from ldp_audit.mechanisms.finite_precision import AliasTable
from ldp_audit.mechanisms.hockey_stick import Doubled, doubled, hockey_stick
from ldp_audit.mechanisms.inputs import array_of, whole_numbers
from ldp_audit.mechanisms.log_space import levels
from ldp_audit.mechanisms.mechanism import Mechanism
from ldp_audit.mechanisms.output_labels import NUMBERS, columns_of, label_array
from ldp_audit.mechanisms.randomness import BITS, WORDS, NumpySource, source_of
from ldp_audit.numerics import listed

_TOLERANCE = Fraction(1, 10**9)
"""Largest deviation of a row's sum from 1."""
_MOST = 1 << 24
"""Most entries of a channel file."""
_LARGEST = 1 << 27
"""Most bytes of a channel file, and of its uncompressed parts."""
_LONGEST = 1 << 25
"""Most bits of a row's numerators together, over their common denominator."""


@dataclass(frozen=True, eq=False)
class FiniteChannel(Mechanism):
    """P(output j | input i) = matrix[i][j].

    matrix: shape (inputs, outputs); numbers, fractions or texts such as "1/3", all taken exactly. A row that adds up to
        1 only within 1e-9, as floats do, is divided by its sum.
    outputs: a label for each column; 0, 1, ... if not given.
    Raises ValueError for entries that are not probabilities, and for rows that do not add up to 1 within 1e-9.
    """

    matrix: Any
    outputs: Sequence[Any] | None = None
    _weights: NDArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        weights = _as_weights(self.matrix)
        labels = list(range(weights.shape[1])) if self.outputs is None else listed(self.outputs, "outputs", "labels")
        if len(labels) != weights.shape[1] or len(set(labels)) != len(labels):
            raise ValueError(f"outputs must be {weights.shape[1]} different labels, got {self.outputs!r}")
        object.__setattr__(self, "outputs", tuple(labels))
        object.__setattr__(self, "_weights", weights)

    @classmethod
    def from_file(cls, path: str | Path) -> FiniteChannel:
        """Read a .csv, or an .npz with `matrix` and perhaps `outputs` (never unpickled); ValueError names the fault."""
        path = Path(path)
        if path.suffix not in (".csv", ".npz"):
            raise ValueError(f"a channel file must end in .csv or .npz, got {path.name!r}")
        try:
            if path.suffix == ".csv":
                return cls(_rows_of(path))
            matrix, outputs = _arrays_of(path)
            return cls(matrix, None if outputs is None else outputs.tolist())
        except (ValueError, KeyError, EOFError, csv.Error, UnicodeDecodeError) as error:
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

    def pair_loss(self) -> PairLoss:
        """See base: the upper hull of all tests between two rows."""
        return channel_loss(self.matrix)

    def inputs(self, count: int) -> NDArray[np.int64]:  # noqa: ARG002
        """See base: all of them."""
        return np.arange(len(self.matrix))

    def worst_pair(self) -> tuple[int, int]:
        """The row numbers of two inputs that attain exact_epsilon(); delta() may need another pair."""
        return self._worst[:2]

    def delta(self, epsilon: ArrayLike) -> NDArray[np.float64] | np.float64:
        """The privacy profile, maximal over ordered pairs of inputs; shape of `epsilon`, nats, >= 0."""
        asked = levels(epsilon)
        found = [self._delta_at(float(level)) for level in asked.flat]
        return np.array(found, dtype=np.float64).reshape(asked.shape)[()]

    def log_prob(self, y: Any, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability of the labels y at the inputs (rows) x, nats; broadcasts; -inf for what is no label.

        y: a label, or an array or list of labels; a tuple is a single label.
        """
        columns, rows = np.broadcast_arrays(columns_of(y, self._labels()), self._rows(x))
        with np.errstate(divide="ignore"):
            logs = np.log(np.column_stack([self._table, np.zeros(len(self._table))]))  # the last column: no label
        return logs[rows, columns][()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """E[report | x]; shape of x. ValueError if the labels are not numbers."""
        return (self._table @ self._numbers())[self._rows(x)][()]

    def variance(self, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Var[report | x]; shape of x. ValueError if the labels are not numbers."""
        away = (self._numbers() - (self._table @ self._numbers())[:, None]) ** 2
        return (self._table * away).sum(axis=1)[self._rows(x)][()]

    def implemented(self, bits: int = 64) -> FiniteChannel:
        """The finite-precision distribution for `bits`-bit words; its epsilon is at most this channel's.

        `word_counts` gives the counts. A channel of such probabilities is returned unchanged. ValueError unless 2..64.
        """
        words = 2 ** int(BITS.check(bits))
        if are_whole(self._weights, words):
            return self
        counts = word_counts(self._weights, self._worst[2], words)
        return FiniteChannel([[Fraction(count, words) for count in row] for row in counts], self.outputs)

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
        rows = whole_numbers("x", source.array("x", x), 0, len(self._weights) - 1, source.xp)
        return self._words.draw(source, rows.shape, source.xp.astype(rows, source.xp.int64))[()]

    @cached_property
    def _words(self) -> AliasTable:
        """The sampler's table of 64-bit words."""
        return AliasTable.of(word_counts(self._weights, self._worst[2], WORDS))

    @cached_property
    def _totals(self) -> NDArray:
        return self._weights.sum(axis=1)

    @cached_property
    def _table(self) -> NDArray[np.float64]:
        return (self._weights / self._totals[:, None]).astype(np.float64)

    @cached_property
    def _doubled(self) -> Doubled:
        """The probabilities in double-double precision."""
        totals = np.broadcast_to(self._totals[:, None], self._weights.shape)
        nearest, remainder = doubled(self._weights.ravel().tolist(), totals.ravel().tolist())
        return nearest.reshape(self._weights.shape), remainder.reshape(self._weights.shape)

    @cached_property
    def _worst(self) -> tuple[int, int, Fraction | None]:
        """Two inputs and the largest ratio of an output's probabilities, attained there; None for infinity."""
        weights, totals, columns = self._weights, self._totals, np.arange(self._weights.shape[1])
        most, least = np.zeros_like(columns), np.zeros_like(columns)
        for row, (own, total) in enumerate(zip(weights, totals, strict=True)):
            most[own * totals[most] > weights[most, columns] * total] = row
            least[own * totals[least] < weights[least, columns] * total] = row
        best = (0, 0, Fraction(1))
        for column, (high, low) in enumerate(zip(most.tolist(), least.tolist(), strict=True)):
            above, below = weights[high, column] * totals[low], weights[low, column] * totals[high]
            if above and not below:
                return high, low, None
            if above * best[2].denominator > below * best[2].numerator:
                best = (high, low, Fraction(above, below))
        return best

    def _delta_at(self, level: float) -> float:
        if math.isinf(level):
            return max(
                float((self._table[i] * (self._weights == 0)).sum(axis=1).max()) for i in range(len(self._table))
            )
        if level >= self.exact_epsilon():
            return 0.0
        rows = zip(*self._doubled, strict=True)
        return max(float(hockey_stick(row, self._doubled, level).max()) for row in rows)

    def _labels(self) -> tuple[Any, ...]:
        return tuple(self.outputs or ())

    def _numbers(self) -> NDArray[np.float64]:
        try:
            return np.array(self._labels(), dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"moments need numbers as outputs, got {self.outputs!r}") from None

    def _rows(self, x: ArrayLike) -> NDArray[np.int64]:
        return whole_numbers("x", array_of("x", x), 0, len(self._weights) - 1).astype(np.int64)


def are_whole(weights: NDArray, words: int) -> bool:
    """Whether every probability is a whole number of words."""
    return not any(bool(np.any(row * words % row.sum())) for row in weights)


def word_counts(weights: NDArray, ratio: Fraction | None, words: int) -> list[list[int]]:
    """The number of words for each output at each input; rows add up to `words`.

    weights: shape (inputs, outputs), Python integers; a row's probabilities are its entries divided by their sum.
    ratio: e**epsilon, the largest ratio of an output's probabilities at two inputs; None for infinity.
    """
    rows = weights.tolist()
    if are_whole(weights, words):
        return [[weight * words // sum(row) for weight in row] for row in rows]
    if ratio is None:
        return [_shared_out(row, 1, words) for row in rows]
    floor = math.inf if ratio == 1 else math.ceil((ratio + 1) / (ratio - 1))
    if floor * int(np.count_nonzero(weights.any(axis=0))) > words:
        return [_shared_out(rows[0], 1, words)] * len(rows)
    return [_shared_out(row, int(floor), words) for row in rows]


def _shared_out(row: list[int], floor: int, words: int) -> list[int]:
    """`floor` words for each possible output, if they suffice; the rest in proportion, by largest remainders."""
    total, outputs = sum(row), sum(map(bool, row))
    floor = floor if floor * outputs <= words else 0
    rest = words - floor * outputs
    counts = [floor + weight * rest // total if weight else 0 for weight in row]
    remainders = [-(weight * rest % total) for weight in row]
    for place in sorted(range(len(row)), key=remainders.__getitem__)[: words - sum(counts)]:
        counts[place] += 1
    return counts


def _as_weights(matrix: Any) -> NDArray:
    """Each row's probabilities as numerators over the row's common denominator; an array of Python integers."""
    try:
        rows = [list(row) for row in matrix]
        table = np.array([[_rounded(entry) for entry in row] for row in rows], dtype=np.float64)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        raise ValueError(f"matrix must be rows of numbers of one length: {error}") from None
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"matrix must have at least one row and one column, got shape {table.shape}")
    bad = ~((table >= 0) & (table <= 1))
    if np.any(bad):
        i, j = (int(where[0]) for where in np.nonzero(bad))
        raise ValueError(f"matrix entries must be probabilities, got {table[i, j].item()!r} in row {i}, column {j}")
    weights = np.empty(table.shape, dtype=object)
    for i, row in enumerate(rows):
        exact = [_fraction(entry) for entry in row]
        common = _common(exact)
        weights[i] = [entry.numerator * (common // entry.denominator) for entry in exact]
        if abs(Fraction(sum(weights[i]), common) - 1) > _TOLERANCE:
            raise ValueError(f"matrix rows must add up to 1, got {sum(weights[i]) / common!r} in row {i}")
    return weights


def _rows_of(path: Path) -> list[list[str]]:
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"a channel file must have at most {_LARGEST} bytes, got {path.stat().st_size}")
    with path.open(newline="", encoding="utf-8") as file:
        return [row for row in csv.reader(file) if row]


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
