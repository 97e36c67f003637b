"""The random-projection compressor that FedSel compares with: one of q public random combinations, perturbed.

Definition: with the public matrix Phi of shape (d, q), entries N(0, 1/q), the input g in R^d gives u = Phi^T g; an
index i is uniform in 0 .. q-1, independent of the input, and the value mechanism reports u_i. The dense report is q
times that at i, else 0, with mean u; the server averages and applies the pseudo-inverse of Phi^T.

Without clipping and noise the server recovers P g, P the projection on the column span: of rank q, with E[P] = (q/d) I
over the draw of Phi, so that the expected squared error is (1 - q/d) |g|^2. |u|^2 / |g|^2 is chi2_q / q: mean 1,
variance 2/q.

Sources: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Section 3.1, the "compressed solution"; the idea is from Shin, Kim,
Shin, Xiao, IEEE TKDE 30(9) (2018).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sympy import oo

from ldp_audit.losses.loss import PairLoss
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.inputs import array_of, as_array, finite, finite_numbers, report_dtype, whole_numbers
from ldp_audit.mechanisms.mechanism import LENGTH, FamilyExample, Mechanism, Parameter, pair_loss_of
from ldp_audit.mechanisms.randomness import NumpySource, source_of
from ldp_audit.mechanisms.values.sparse_report import SparseReport, scattered, thinned, two_parts
from ldp_audit.mechanisms.values.two_point import TwoPoint
from ldp_audit.mechanisms.values.value_mechanism import (
    implemented,
    in_domain,
    require_value,
    worst_ends,
)
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.numerics import instance

COMBINATIONS = Parameter("q", Variable("q", 1, oo, integer=True), typical=(1, 10))


@dataclass(frozen=True, eq=False)
class RandomProjection(Mechanism):
    """Inputs are vectors g of d finite numbers; the report is an index in 0 .. q-1 and the perturbed u_i.

    value: see `value_mechanism.ValueMechanism`.
    matrix: Phi, shape (d, q), finite, of rank q (so q <= d); public, the same for every client. `drawn` draws one.
    clip: whether combinations are clipped to the value mechanism's domain; otherwise one outside it is a ValueError.
    Raises ValueError for anything else.
    """

    value: Any
    matrix: NDArray[np.float64]
    clip: bool = False

    example = FamilyExample(
        "RandomProjection.drawn(TwoPoint(1), d=4, q=2, rng)",
        "the law of one of q combinations; w: its value, clipped; t = e^epsilon",
        build=lambda: RandomProjection.drawn(TwoPoint(1.0), 4, 2, np.random.default_rng(1)),
        composed="the value mechanism's",
    )

    def __post_init__(self) -> None:
        require_value("value", self.value)
        given = finite("matrix", self.matrix)
        if given.ndim != 2 or given.shape[1] < 1 or np.linalg.matrix_rank(given) != given.shape[1]:
            raise ValueError(f"matrix must have shape (d, q) and rank q, got shape {given.shape}")
        if not isinstance(self.clip, bool):
            raise ValueError(f"clip must be True or False, got {self.clip!r}")
        given.setflags(write=False)
        object.__setattr__(self, "matrix", given)

    @classmethod
    def drawn(cls, value: Any, d: int, q: int, rng: np.random.Generator, *, clip: bool = False) -> RandomProjection:
        """The mechanism with a random matrix of entries N(0, 1/q). ValueError unless 1 <= q <= d."""
        rows, columns = LENGTH.check(d), COMBINATIONS.check(q)
        instance(rng, np.random.Generator, "rng", "a numpy.random.Generator")
        if columns > rows:
            raise ValueError(f"q must be a whole number from 1 to d = {d}, got {q!r}")
        return cls(value, rng.standard_normal((int(rows), int(columns))) / np.sqrt(columns), clip)

    @property
    def d(self) -> int:
        """The length of an input."""
        return self.matrix.shape[0]

    @property
    def q(self) -> int:
        """The number of combinations."""
        return self.matrix.shape[1]

    def project(self, x: ArrayLike) -> NDArray[np.float64]:
        """u = Phi^T g, before clipping. Shape (..., d) to (..., q)."""
        return self._projected(array_of("x", x), NumpySource.xp, self.matrix)

    def recover(self, mean_report: Any) -> Any:
        """The server's estimate in R^d from an average of dense reports: the pseudo-inverse of Phi^T times it."""
        given = as_array("mean_report", mean_report)
        if given.ndim == 0 or given.shape[-1] != self.q:
            raise ValueError(f"mean_report must have shape (..., {self.q}), got {tuple(given.shape)}")
        xp = array_api_compat.array_namespace(given)
        inverse = xp.asarray(np.linalg.pinv(self.matrix), device=array_api_compat.device(given))
        return finite_numbers("mean_report", given, xp) @ inverse

    def symbolic(self) -> SymbolicChannel:
        """The distribution of one of the q numbers of `dense`, given the combination u, clipped."""
        share = 1 / COMBINATIONS.variable
        return thinned(self.value.symbolic(), "one of q combinations", share, 1 / share)

    def exact_epsilon(self) -> float:
        """The tight pure epsilon, nats: the value mechanism's, as the index is independent of the input."""
        return self.value.exact_epsilon()

    def pair_loss(self) -> PairLoss:
        """See base: that of the value."""
        return pair_loss_of(self.value)

    def worst_pair(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Vectors whose combinations all lie at one endpoint of the domain, and all at the other; shape (d,).

        With `clip` they attain exact_epsilon() and delta() for every index; without, they lie a few roundings inside.
        """
        endpoints, short = np.array(worst_ends(self.value)), -1.0 if self.clip else 2.0**-50
        while True:
            targets = endpoints + short * (endpoints[::-1] - endpoints)
            one, two = self.recover(np.repeat(targets[:, None], self.q, axis=1))
            reached = self.project(np.stack([one, two]))
            if self.clip or np.all((endpoints.min() <= reached) & (reached <= endpoints.max())):
                return one, two
            short *= 2

    def delta(self, epsilon: ArrayLike) -> Any:
        """The value mechanism's profile; shape of `epsilon`, nats, >= 0."""
        return self.value.delta(epsilon)

    def log_prob(self, y: Any, x: ArrayLike) -> NDArray[np.float64] | np.float64:
        """Log probability (density) of the report y = (index, value), shapes (...), at the vector x, shape (..., d)."""
        index, value = (array_of("y", part) for part in two_parts("y", y))
        inputs = self._inputs(array_of("x", x))
        whole_numbers("index", index, 0, self.q - 1)
        shape = np.broadcast_shapes(index.shape, value.shape, inputs.shape[:-1])
        index = np.broadcast_to(index, shape).astype(np.int64)[..., None]
        at = np.take_along_axis(np.broadcast_to(inputs, (*shape, self.q)), index, axis=-1)[..., 0]
        return (self.value.log_prob(value, at) - np.log(self.q))[()]

    def mean(self, x: ArrayLike) -> NDArray[np.float64]:
        """E[dense(report) | x]: the value mechanism's mean at u, u itself for an unbiased one. Shape (..., q)."""
        return np.asarray(self.value.mean(self._inputs(array_of("x", x))))

    def variance(self, x: ArrayLike) -> NDArray[np.float64]:
        """Var[dense(report)_i | x] = q E[y**2] - E[y]**2 = q Var[y] + (q - 1) E[y]**2. Shape (..., q)."""
        inputs = self._inputs(array_of("x", x))
        return np.asarray(self.q * self.value.variance(inputs) + (self.q - 1) * self.value.mean(inputs) ** 2)

    def implemented(self, bits: int = 64) -> RandomProjection:
        """The same mechanism with the value mechanism's finite-precision distribution for `bits`-bit words."""
        return replace(self, value=implemented("value", self.value, bits))

    def sample(self, x: Any, *, rng: Any) -> SparseReport:
        """One report for each vector: a uniform index in 0 .. q-1 and the perturbed, unscaled number; see the base."""
        source = source_of(rng)
        xp, vectors = source.xp, source.array("x", x)
        inputs = self._inputs(vectors, xp, source.constant(self.matrix.copy(), xp.float64))
        index = source.below(self.q, tuple(inputs.shape[:-1]))
        chosen = xp.take_along_axis(inputs, xp.asarray(index)[..., None], axis=-1)[..., 0]
        return SparseReport(index, self.value.sample(xp.astype(chosen, report_dtype(vectors, xp)), rng=rng))

    def dense(self, report: Any) -> Any:
        """The reports (index, value) as vectors of shape (..., q): q times the value, zeros elsewhere."""
        index, value = (as_array("report", part) for part in two_parts("report", report))
        return scattered(index[..., None], value[..., None], self.q, float(self.q))

    def _inputs(self, x: Any, xp: Any = NumpySource.xp, matrix: Any = None) -> Any:
        """The combinations, all checked: an error about the reported one only would reveal its index."""
        combinations = self._projected(x, xp, self.matrix if matrix is None else matrix)
        return in_domain("Phi^T x", combinations, self.value, clip=self.clip, xp=xp)

    def _projected(self, x: Any, xp: Any, matrix: Any) -> Any:
        if x.ndim == 0 or x.shape[-1] != self.d:
            raise ValueError(f"x must be real vectors of shape (..., {self.d}), got {x.dtype} of {tuple(x.shape)}")
        return finite_numbers("x", x, xp) @ matrix
