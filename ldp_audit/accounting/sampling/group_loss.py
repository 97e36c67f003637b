r"""Group privacy: the loss between data sets that differ in j records, from that between neighbours.

If no test of size alpha between neighbours has a power above g(alpha), none between data sets j steps apart has one
above g(g(... g(alpha))) (Dong, Roth, Su, "Gaussian differential privacy", JRSS B 2022, on group privacy). For Gaussian
and Laplace noise that is the same noise at j times the distance. For finitely many losses g is made of straight pieces,
and so is its j-th iterate: each of its pieces lies on one of the inner curve and one of the outer, whose losses add up.
Pieces are worked out in 60 digits.

Any other loss of at most e0 has at most the two losses j e0 and -j e0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.finite_losses import EVERYTHING, NOTHING, as_atoms, symmetric_law
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.laws.laplace_loss import LaplaceLoss
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.loss_law import LossLaw

_DIGITS = 60
_MOST_PIECES = 20_000
"""Of all curves together."""


class _Piece(NamedTuple):
    """A straight piece of a power curve: the size and the power it adds, and ln of their ratio, nats."""

    size: Decimal
    power: Decimal
    loss: float


def group_losses(law: LossLaw, most: int) -> Iterator[LossLaw]:
    """The losses of groups of 1, 2, ..., most records, for a law that is its own mirror image."""
    atoms = as_atoms(law)
    pieces = outer = None if atoms is None or atoms.losses.size > _MOST_PIECES else _pieces(atoms)
    for size in range(1, most + 1):
        if size == 1:
            yield law
        elif isinstance(law, GaussianLoss):
            yield GaussianLoss(size * law.mu)
        elif isinstance(law, LaplaceLoss):
            yield LaplaceLoss(size * law.epsilon)
        elif pieces is not None and outer is not None and len(outer) * size * (size - 1) <= 2 * _MOST_PIECES:
            pieces = _iterated(pieces, outer)
            yield _law(pieces)
        else:
            yield pure_loss(size * law.largest())


def pure_loss(epsilon: float) -> LossLaw:
    """The loss of the worst mechanism of a pure epsilon, nats, >= 0 or infinite."""
    if epsilon == 0:
        return NOTHING
    return BinomialLoss(epsilon, -epsilon, 1) if math.isfinite(epsilon) else EVERYTHING


def _pieces(atoms: LossAtoms) -> list[_Piece]:
    """The power curve of the law, steepest piece first; only losses above 0 are read, as the rest mirrors them."""
    with localcontext() as context:
        context.prec = _DIGITS
        infinite = Decimal(atoms.log_infinite).exp() if atoms.log_infinite > -math.inf else Decimal(0)
        above = [_Piece(Decimal(0), infinite, math.inf)]
        for loss, log in zip(atoms.losses[::-1].tolist(), atoms.log_probabilities[::-1].tolist(), strict=True):
            if loss > 0:
                above.append(_Piece((Decimal(log) - Decimal(loss)).exp(), Decimal(log).exp(), loss))
        rest = max(Decimal(0), 1 - sum((piece.size + piece.power for piece in above), Decimal(0)))
        below = [_Piece(power, size, -loss) for size, power, loss in reversed(above)]
        return [piece for piece in (*above, _Piece(rest, rest, 0.0), *below) if piece.size or piece.power]


def _iterated(inner: list[_Piece], outer: list[_Piece]) -> list[_Piece]:
    """The pieces of outer(inner(alpha)): the inner ones' power is the outer ones' size, cut at both's ends."""
    with localcontext() as context:
        context.prec = _DIGITS
        given, taken = list(accumulate(p.power for p in inner)), list(accumulate(p.size for p in outer))
        found, at, i, j = [], Decimal(0), 0, 0
        while i < len(inner) or j < len(outer):
            if i < len(inner) and not inner[i].power:
                found.append(inner[i])
                i += 1
            elif j < len(outer) and not outer[j].size:
                found.append(outer[j])
                j += 1
            elif i < len(inner) and j < len(outer):
                end = min(given[i], taken[j])
                if end > at and (inner[i].size or outer[j].power):
                    found.append(_joined(inner[i], outer[j], end - at))
                at = max(at, end)
                i, j = i + (given[i] <= end), j + (taken[j] <= end)
            else:  # the two totals differ by rounding alone
                break
        return found


def _joined(inner: _Piece, outer: _Piece, width: Decimal) -> _Piece:
    """The part of both that has this width on the coordinate between them."""
    if not inner.size:  # all at once, whatever the outer one adds
        return _Piece(Decimal(0), width * outer.power / outer.size, math.inf)
    if not outer.power:
        return _Piece(width * inner.size / inner.power, Decimal(0), -math.inf)
    return _Piece(width * inner.size / inner.power, width * outer.power / outer.size, inner.loss + outer.loss)


def _law(pieces: list[_Piece]) -> LossLaw:
    """The symmetric law of these pieces."""
    above = [(piece.loss, _log(piece.power)) for piece in pieces if 0 < piece.loss < math.inf]
    losses, logs = np.array(above).reshape(-1, 2).T
    return symmetric_law(losses, logs, infinite=float(sum(piece.power for piece in pieces if piece.loss == math.inf)))


def _log(number: Decimal) -> float:
    """ln of a positive number, which may lie below all floats."""
    exponent = number.adjusted()
    return math.log(float(number.scaleb(-exponent))) + exponent * math.log(10)
