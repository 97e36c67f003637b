"""Linear algebra on one thread while a score is learned.

The matrices are small. Many threads gain little, lose a lot where the processor's cores are shared with others (a
hundredfold was seen), and may add in another order, so that a seed would not give the same result everywhere.
"""

from __future__ import annotations

from contextlib import AbstractContextManager


def one_thread() -> AbstractContextManager[object]:
    """A context in which numpy's and scipy's linear algebra uses one thread."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")
