"""The loss of a record that each of k draws with replacement takes by chance, for all mechanisms with a given loss.

See `chain_mixture`. Exact for Gaussian and Laplace noise, and for finitely many losses; any other law is enclosed by
two that are. So is a record drawn so often that its numbers of copies are too many to be told apart.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ldp_audit.accounting.laws.binomial_loss import BinomialLoss
from ldp_audit.accounting.laws.bracketed_loss import BracketedLoss, ends_of, is_known
from ldp_audit.accounting.laws.finite_losses import NOTHING, as_atoms, log_sum
from ldp_audit.accounting.laws.gaussian_loss import GaussianLoss
from ldp_audit.accounting.laws.improper_loss import log_lacking
from ldp_audit.accounting.laws.laplace_loss import LaplaceLoss
from ldp_audit.accounting.laws.loss_atoms import LossAtoms
from ldp_audit.accounting.laws.loss_law import LossLaw
from ldp_audit.accounting.laws.profile_hull import dominating_atoms
from ldp_audit.accounting.sampling.chain_cells import chain_cells
from ldp_audit.accounting.sampling.chain_mixture import mixture_of_chain
from ldp_audit.accounting.sampling.copy_counts import CopyCounts, copy_counts, log_more
from ldp_audit.accounting.sampling.fewer_losses import coarser
from ldp_audit.accounting.sampling.group_loss import pure_loss
from ldp_audit.accounting.sampling.loss_mixture import mixture
from ldp_audit.accounting.sampling.lower_hull import dominated_atoms
from ldp_audit.accounting.sampling.noise_copies import noise_copies
from ldp_audit.accounting.sampling.rare_loss import RareLoss
from ldp_audit.accounting.sampling.sampling_rate import SamplingRate
from ldp_audit.accounting.sampling.symmetric_loss import symmetric

_MOST_COPIES, _MOST_CELLS, _FEWEST_LOSSES = 1000, 40_000, 100
_MOST_ATOMS = 2**18
_MOST_STEPS = 3000
"""Numbers of copies that noise is looked at for."""
_CROWDED = 100.0
"""Expected copies beyond which those of two-valued losses are not told one by one."""
_TELLS_NOTHING, _TELLS_NO_DIGIT = -40.0, -90.0
"""ln of a part that changes a loss by less than rounding: of the largest t, and of t = 1."""
_NO_FLOAT = -700.0

Noise = GaussianLoss | LaplaceLoss


def copies_loss(law: LossLaw, n: int, k: int, *, replaced: bool) -> LossLaw:
    """The loss from samples of n records with one of them to samples without it, by k >= 2 draws with replacement.

    law: of one copy, its own mirror image.   replaced: whether another record comes instead of that one; then the law
    returned is right above 0 alone.
    """
    lower, upper = ends_of(law)
    above = _chain_of(upper, n, k, 1)
    if above.counts.log_more >= 0:
        one = _of_more(above, k, replaced=replaced)
    else:
        one = _with_rest(_mixed(above, replaced=replaced), above, n, k, replaced=replaced)
    if is_known(law) and above.exact:
        return one
    below = _chain_of(lower, n, k, 0)
    rest = np.logaddexp(below.counts.logs[-1], below.counts.log_more)  # more copies count as the most that are told
    told = CopyCounts(below.counts.counts, np.append(below.counts.logs[:-1], rest), -math.inf)
    return BracketedLoss(_mixed(below._replace(counts=told), replaced=replaced), one)


class _Chain(NamedTuple):
    """The law of one copy, as noise or as a list, how many copies there are, and whether neither was moved.

    more: numbers of copies of which the list is too long; None where there are none.
    """

    law: Noise | LossAtoms
    counts: CopyCounts
    exact: bool = False
    more: CopyCounts | None = None


def _chain_of(law: LossLaw, n: int, k: int, end: int) -> _Chain:
    """From below (end 0) or from above (end 1)."""
    counts = copy_counts(n, k, end)
    if isinstance(law, BinomialLoss) and law.times == 1 and k / n > _CROWDED:
        # F_j lies between Laplace noise's of j and of j + 1 steps: a geometric law's tails are that noise's, moved
        moved = np.where(counts.counts > 0, counts.counts + end, 0.0)
        return _Chain(LaplaceLoss(law.high), CopyCounts(moved, counts.logs, counts.log_more).grouped(_MOST_STEPS, end))
    if isinstance(law, Noise):
        return _Chain(law, counts.grouped(_MOST_STEPS, end), counts.exact and counts.counts.size <= _MOST_STEPS)
    listed = as_atoms(law, _MOST_ATOMS)
    atoms = listed or (dominating_atoms(law) if end else _list_below(law))
    needed = min(float(counts.counts[-1]), _MOST_COPIES)
    few = as_atoms(coarser(atoms, max(_FEWEST_LOSSES, int(_MOST_CELLS / (2 * needed + 1))), end), _MOST_ATOMS) or atoms
    most = max(1, min(_MOST_COPIES, _MOST_CELLS // max(1, few.losses.size)))
    exact = counts.exact and listed is few
    if not end:
        counts = counts.moved_down(most)
    elif counts.counts[0] > most:
        return _Chain(few, CopyCounts(np.array([float(most)]), np.array([-math.inf]), 0.0), more=counts)
    cut, beyond = counts.cut(most), counts.counts > most
    more = CopyCounts(counts.counts[beyond], counts.logs[beyond], counts.log_more) if beyond.any() else None
    return _Chain(few, cut, exact and cut.log_more < _NO_FLOAT, more)


def _list_below(law: LossLaw) -> LossAtoms:
    """A law with finitely many losses below one that is its own mirror image, which is so itself."""
    found = as_atoms(symmetric(dominated_atoms(law), below=True), _MOST_ATOMS)
    return NOTHING if found is None else found


def _mixed(chain: _Chain, *, replaced: bool) -> LossLaw:
    """The loss of the numbers of copies that are told."""
    law, counts = chain.law, chain.counts
    logs = counts.logs - log_sum(counts.logs)
    if isinstance(law, LossAtoms):
        if not np.any(law.losses > 0) and law.log_infinite == -math.inf:
            return NOTHING
        copies = counts.counts.astype(np.int64)
        return mixture_of_chain(chain_cells(law, int(copies[-1])), copies, logs, replaced=replaced)
    return noise_copies(law, counts.counts, logs, replaced=replaced)


def _of_more(chain: _Chain, k: int, *, replaced: bool) -> LossLaw:
    """A law above that of the copies too many for a list: for each the worst mechanism of as large a loss.

    That has two losses, and groups of its copies are told by Laplace noise (`_chain_of`).
    """
    top = chain.law.largest()
    if chain.more is None or not 0 < top < math.inf:
        return pure_loss(k * top)
    moved = CopyCounts(chain.more.counts + 1, chain.more.logs, chain.more.log_more).grouped(_MOST_STEPS, 1)
    log_all = float(np.logaddexp(log_sum(moved.logs), moved.log_more))
    noisy = noise_copies(LaplaceLoss(top), moved.counts, moved.logs - log_sum(moved.logs), replaced=replaced)
    log_rest = moved.log_more - log_all
    if log_rest == -math.inf:
        return noisy
    return mixture([(log_lacking(log_rest), 0.0, noisy), (log_rest, 0.0, pure_loss(k * top))])


def _with_rest(told: LossLaw, chain: _Chain, n: int, k: int, *, replaced: bool) -> LossLaw:
    """The loss with that of more copies, of which only the size is known."""
    counts, top = chain.counts, chain.law.largest()
    if counts.log_more == -math.inf or top == 0:
        return told
    if math.isfinite(top):
        # many copies have at most e**(j top) of any event, which raises t by their sum, and at most their own chance
        beyond = log_more(n, k, int(counts.counts[-1]), top)
        rare = counts.log_more < _NO_FLOAT and beyond < log_sum(counts.logs + counts.counts * top) + _TELLS_NOTHING
        if rare or beyond < _TELLS_NO_DIGIT:
            return told
    if counts.log_more < _NO_FLOAT:
        one = SamplingRate.of_chance(1 / n)
        bound, back = (k * way * float(one.mixed(np.array(way * top))) for way in (1, -1))
        return RareLoss(told, counts.log_more, bound, back)
    log_told = min(log_sum(counts.logs), log_lacking(counts.log_more))
    return mixture([(log_told, 0.0, told), (log_lacking(log_told), 0.0, _of_more(chain, k, replaced=replaced))])
