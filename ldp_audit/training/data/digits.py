"""scikit-learn's handwritten digits: 1,797 images of 8 x 8, part of the package.

They are the test half of "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak 1998): a grey level is the
number of ink pixels in a block of 4 x 4, 0 to 16. They replace MNIST where there are no files.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ldp_audit.training.datasets import Images
from ldp_audit.training.pipeline import check_share
from ldp_audit.training.streams import Streams


def digits(*, test_share: float = 0.2, seed: int = 0) -> Images:
    """The digits, ink = 1, with this share of each class as the test half.

    test_share: in (0, 1).   seed: of the split.
    """
    from sklearn.datasets import load_digits

    check_share("test_share", test_share)
    found: Any = load_digits()
    x = (found.images[:, np.newaxis] / 16).astype(np.float32)
    y = found.target.astype(np.int64)
    held_out = np.zeros(len(y), bool)
    for label in range(10):
        ours = np.flatnonzero(y == label)
        drawn = Streams(seed).numpy("digits: test half", label).permutation(ours)
        held_out[drawn[: round(test_share * len(ours))]] = True
    return Images("digits", x[~held_out], y[~held_out], x[held_out], y[held_out], 10)
