"""A data set whose arrays lie in a file that several processes map, so that the machine holds them once."""

from __future__ import annotations

import mmap
import pickle
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

_ALIGNED = 64


@dataclass(frozen=True)
class MappedData:
    """A data set as it is sent to the processes of this machine.

    head: pickled, without its arrays.   path: of the file that has their bytes.   spans: of each array in it.
    """

    head: bytes
    path: Path
    spans: tuple[tuple[int, int], ...]

    @staticmethod
    def of(data: Any, path: Path) -> MappedData:
        """Write the arrays to this file, which must outlive all processes that have yet to load them."""
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(data, protocol=5, buffer_callback=buffers.append)
        spans = []
        with path.open("wb") as file:
            for buffer in buffers:
                start = file.tell()
                file.write(buffer.raw())
                spans.append((start, file.tell()))
                file.write(bytes(_ALIGNED - file.tell() % _ALIGNED))
            file.write(b"\0")  # an empty file cannot be mapped
        return MappedData(head, path, tuple(spans))

    def load(self) -> Any:
        """The data set, whose arrays are mapped; a process that writes to them changes its own copy only."""
        return _loaded(self)


@lru_cache(maxsize=1)
def _loaded(mapped: MappedData) -> Any:
    with mapped.path.open("rb") as file:
        whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    return pickle.loads(mapped.head, buffers=[whole[slice(*span)] for span in mapped.spans])  # noqa: S301  (our own)
