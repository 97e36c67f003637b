"""Budgets of many users on the same terms, as columns of a file: one whole number a user.

A user's budget is a filter of its own (`budget.py`), from which the mechanisms are paid that this user takes part in:
what a user never answered costs nothing. Source: Feldman, Zrnic (NeurIPS 2021), on individual accounting; what each use
costs is the same for all users and known beforehand, so who is refused depends on who took part alone.

File: a first line of JSON, filled up with spaces to 4,096 bytes, then the columns, 8 bytes a user, little-endian.
Beside it lies a journal, FILE.journal: a spend is written there with its new values and a checksum, and on disk, before
it changes the columns. Where a process was killed in between, the next one puts the same values there again.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldp_audit.accounting.budgets.budget import UNITS, BudgetTerms, Currency, Item
from ldp_audit.files import CannotWriteError, create_whole, locked
from ldp_audit.mechanisms.mechanism import Adjacency
from ldp_audit.numerics import shown, whole

_HEAD = 4096
_FORMAT = "ldp-audit budgets of users"
_MOST = 1 << 40  # users


class Budgets:
    """A budget for each of many users.

        budgets = Budgets(1_000_000, epsilon=2, delta=1e-6)
        refused = budgets.spend(RandomizedResponse(0.1), users=drawn)

    users: how many, numbered from 0.   The other arguments: see `Budget`; neighbours are those of `adjacency` alone.
    One call is one write to the disk, all of it or none of it, before it returns; what was spent on is not kept.
    Raises ValueError for anything else.
    """

    def __init__(
        self,
        users: int,
        epsilon: float | None = None,
        delta: float = 0.0,
        *,
        rho: float | None = None,
        mu: float | None = None,
        currency: Currency | None = None,
        order: float | None = None,
        failures: float = 0.0,
        adjacency: Adjacency | None = None,
    ) -> None:
        self.terms = BudgetTerms(epsilon, delta, rho, mu, currency, order, failures, adjacency)
        rows = 2 if self.terms.failures else 1
        self.columns = np.zeros((rows, whole(users, "users", 1, _MOST)), np.dtype("<i8"))  # in units: see `Amount`
        self.path: Path | None = None
        self._turn = threading.RLock()

    @classmethod
    def load(cls, path: str | Path) -> Budgets:
        """The budgets of a file. Raises ValueError for a file that is none, CannotWriteError for one of no use."""
        place = Path(path)
        with locked(place) as handle:
            terms, (users,) = BudgetTerms.read(os.pread(handle, _HEAD, 0), _FORMAT, place, "users")
            budgets = cls(whole(users, f"{place}, line 1, users", 1, _MOST), **asdict(terms))
            shape, size = budgets.columns.shape, os.fstat(handle).st_size
            if size != _HEAD + budgets.columns.nbytes:
                raise ValueError(f"{place} must have {_HEAD + budgets.columns.nbytes} bytes, got {size}")
            budgets.columns, budgets.path = np.memmap(place, np.dtype("<i8"), "r+", _HEAD, shape), place
        budgets.spent()  # after the journal
        least, most = int(budgets.columns.min()), int(budgets.columns.max())
        if least < 0 or most > UNITS:
            raise ValueError(f"{place} must have whole numbers in 0 .. 2**62, got {least} to {most}")
        return budgets

    def save(self, path: str | Path) -> None:
        """Write the budgets to a new file, and keep them there from now on.

        Raises ValueError for budgets that have a file, CannotWriteError for one that exists or cannot be written.
        """
        if self.path is not None:
            raise ValueError(f"budgets have one file, and these have {self.path}")
        head = self.terms.head(_FORMAT, users=len(self)).encode().ljust(_HEAD - 1) + b"\n"
        create_whole(Path(path), head + self.columns.tobytes())
        self.columns, self.path = type(self).load(path).columns, Path(path)

    def spend(self, mechanism: Any, users: ArrayLike, times: int = 1) -> NDArray[np.int64]:
        """Pay for so many uses of a mechanism by each of these users, whose budgets have enough left.

        mechanism: as `privacy_loss` takes it.   users: different whole numbers, shape (k,).
        returns: the users that are refused, whose budgets are unchanged; those must not take part.
        Raises ValueError for anything else.
        """
        count, asked = whole(times, "times"), self._users(users)
        cost = [count * one for one in self._price(mechanism)]
        if max(cost) > UNITS:
            return asked
        with self._up_to_date():
            before = self.columns[:, asked]
            price = np.array(cost[: len(before)])[:, None]
            pays = (before <= UNITS - price).all(axis=0)
            if pays.any():
                self._write(asked[pays], before[:, pays] + price)
        return asked[~pays]

    def left(self, mechanism: Any, users: ArrayLike | None = None) -> NDArray[np.int64]:
        """How many more of these each user can pay for, all users by default; 2**62 where they cost nothing."""
        asked = slice(None) if users is None else self._users(users)
        price = self._price(mechanism)
        with self._up_to_date():
            spent = np.array(self.columns[:, asked])
        found = np.full(spent.shape[1], UNITS if max(price) <= UNITS else 0)
        for column, one in zip(spent, price, strict=False):  # a failure, where none is budgeted, costs more than all
            found = np.minimum(found, (UNITS - column) // one) if one else found
        return found

    def spent(self, users: ArrayLike | None = None) -> NDArray[np.float64]:
        """The share of each user's budget that is spent, of its failures if that is more."""
        asked = slice(None) if users is None else self._users(users)
        with self._up_to_date():
            return self.columns[:, asked].max(axis=0) / UNITS

    def __len__(self) -> int:
        return self.columns.shape[1]

    def __repr__(self) -> str:
        return f"<Budgets: {len(self)} users, each {self.terms.guarantee()}; by {self.terms.theorem()}>"

    def _users(self, users: ArrayLike) -> NDArray[np.int64]:
        asked = np.asarray(users)
        if asked.ndim != 1 or (asked.size and asked.dtype.kind not in "iu"):
            raise ValueError(f"users must be whole numbers in one row, got {shown(users)}")
        if asked.size and not (int(asked.min()) >= 0 and int(asked.max()) < len(self)):
            raise ValueError(f"users must be in 0 .. {len(self) - 1}, got {asked.min()} to {asked.max()}")
        if np.unique(asked).size != asked.size:
            raise ValueError("users must be different ones, got some twice")
        return asked.astype(np.int64)

    def _price(self, mechanism: Any) -> tuple[int, int]:
        item = Item.of(mechanism, self.terms)
        if item.loss.adjacency not in (None, self.terms.adjacency):
            accepted = f"Budgets(..., adjacency={item.loss.adjacency!r})"
            raise ValueError(f"mechanism must have the budgets' neighbours, got {item.loss.adjacency}; use {accepted}")
        return item.price

    @contextmanager
    def _up_to_date(self) -> Iterator[None]:
        """The columns for this process alone, after a spend was finished whose process was killed."""
        with self._turn:
            if self.path is None:
                yield
                return
            with locked(self.path) as handle:
                if os.fstat(handle).st_size != _HEAD + self.columns.nbytes:
                    raise ValueError(f"{self.path} has changed its size since it was read")
                self._recover()
                yield

    def _journal(self) -> Path:
        place = self.path or Path()
        return place.with_name(f"{place.name}.journal")

    def _write(self, users: NDArray[np.int64], values: NDArray[np.int64]) -> None:
        if self.path is None:
            self.columns[:, users] = values
            return
        content = users.astype("<i8").tobytes() + values.astype("<i8").tobytes()
        try:
            handle = os.open(self._journal(), os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                with os.fdopen(os.dup(handle), "wb") as file:
                    file.write(content + zlib.crc32(content).to_bytes(8, "little"))
                os.fsync(handle)
                self._apply(users, values)
                os.ftruncate(handle, 0)
            finally:
                os.close(handle)
        except OSError as error:
            raise CannotWriteError(f"cannot write {self._journal()}: {error.strerror or error}") from error

    def _recover(self) -> None:
        """Finish the spend of the journal; one that is not whole there has changed nothing, and has not returned."""
        place, width = self._journal(), 1 + len(self.columns)
        if not place.exists() or not (content := place.read_bytes()):
            return
        rows, check = content[:-8], content[-8:]
        if len(rows) % (8 * width) == 0 and zlib.crc32(rows).to_bytes(8, "little") == check:
            found = np.frombuffer(rows, np.dtype("<i8")).reshape(width, -1)
            if found.size and not (found.min() >= 0 and found[0].max() < len(self) and found[1:].max() <= UNITS):
                raise ValueError(f"{place} is not the journal of {self.path}")
            self._apply(found[0], found[1:])
        os.truncate(place, 0)

    def _apply(self, users: NDArray[np.int64], values: NDArray[np.int64]) -> None:
        self.columns[:, users] = values
        if isinstance(self.columns, np.memmap):
            self.columns.flush()
