"""An example of every kind of score, which the tests of all kinds run over; a kind without one fails them."""

from __future__ import annotations

import math

from ldp_audit.auditing.scores import Score
from ldp_audit.auditing.scores.additive import Additive
from ldp_audit.auditing.scores.boxes import Boxes
from ldp_audit.auditing.scores.coordinate import Coordinate
from ldp_audit.auditing.scores.equals import Equals
from ldp_audit.auditing.scores.linear import Linear
from ldp_audit.auditing.scores.pattern import Pattern
from ldp_audit.auditing.scores.residuals import Residuals
from ldp_audit.auditing.scores.summary import Summary

EXAMPLES: dict[str, Score] = {
    "coordinate": Coordinate(2),
    "boxes": Boxes.of_boxes([[(0, 0.0, math.inf), (2, -math.inf, 1.0)], [(3, 1.0, math.nextafter(1.0, 2))]]),
    "equals": Equals((1.0, -math.inf, 0.0, 2.5)),
    "additive": Additive((0, 3), ((0.5,), (-1e300, 0.0, 2.0, math.inf)), ((0.0, 1.0), (0.0, 0.25, 0.5, 0.75, 1.0))),
    "pattern": Pattern((1, 2), ((0.0, 1.0), (5.0,)), ((0, 0), (2, 1), (1, 0))),
    "summary": Summary("first_at_least", 1.0),
    "linear": Linear((0, 1, 3), (0.0, 1e300, -2.0), (1.0, 1e-300, 3.0), (0.5, -1.0, 0.25)),
    "residuals": Residuals(
        (0.0, 1.0, -2.0, 0.5),
        ((1.0,), (-1.0, 2.0), (0.0, 0.25, 1e-300), (1e300, 0.0, 0.0, 1.0)),
        Additive((1, 3), ((0.5,), (-1.0, 2.0)), ((0.0, 1.0), (0.0, 0.25, 0.75))),
    ),
}
"""By KIND; each for vectors of four coordinates."""
