"""Ready settings: the paper's Table 3, and the runs that the findings are looked for in.

Table 3 is one command a data set (`--data bank --folder ...`), as the data are no setting of a plan.
Source: Liu, Cao, Yoshikawa, Chen (DASFAA 2020), Section 5.
"""

from __future__ import annotations

from ldp_audit.training.fedsel.solution import SELECTIONS, VALUES
from ldp_audit.training.sweep import Sweep

EPSILON = 2.0
"""The budget at which solutions are compared: Table 3's."""

LARGE = 8.0
"""A large budget, for comparison."""

RATE = 0.1
"""The learning rate: the paper's example."""

_RATES = (RATE, 1.0, 10.0)
"""Table 3's; the paper says that its solutions have the same one, not which. At 0.1 FedSel learns nothing on BANK,
ADULT and KDD99: its steps are about 1 / d of the flat solution's."""

_ROUNDS = 10
"""Of every run of the split without hyper-parameters, whatever its batch: the paper stops after equally many iterations
(Section 5.3) and does not say how many; with a tenth of the users in a round, ten are an epoch."""

_TABLE_3 = ("PM", *(f"{selection}-PM{suffix}" for selection in SELECTIONS for suffix in ("", "-C")))
_BASE = {"epsilon": EPSILON, "learning_rate": RATE}

DEMONSTRATION = (
    Sweep(_BASE, {"solution": (*_TABLE_3, "PM-RP", "PS-PM-O", "NP", "NP-RS", "NP-K", "PS")}),
    Sweep({**_BASE, "epsilon": LARGE}, {"solution": ("PM", "PS-PM", "PM-RP")}),
    Sweep({**_BASE, "epsilon": LARGE, "coordinates": 1, "solution": "PM"}),
    Sweep({**_BASE, "epsilon": 0.5, "solution": "PS-PM"}),
)
"""What `findings.py` asks for, on the synthetic data; about a minute of one core."""


def presets() -> dict[str, tuple[Sweep, ...]]:
    """The paper's experiments by name."""
    return {
        "table-3": (
            Sweep(
                {"epsilon": EPSILON},
                {"learning_rate": _RATES, "model": ("logistic", "svm"), "solution": _TABLE_3},
            ),
        ),
        "selection": (Sweep({"epsilon": 4.0}, {"solution": ("NP", "NP-RS", "NP-K", *SELECTIONS)}),),
        "values": (
            Sweep({}, {"epsilon": (0.5, 1.0, 2.0, 4.0), "solution": (*VALUES, *(f"PS-{value}" for value in VALUES))}),
        ),
        "accumulation": (
            Sweep(
                {"epochs": 2},
                {
                    "epsilon": (1.0, 2.0, 4.0),
                    "solution": ("PM", *(f"{one}-PM{end}" for one in SELECTIONS for end in ("", "-O"))),
                },
            ),
        ),
        "mu": (
            Sweep(
                {},
                {
                    "epsilon": (0.5, 1.0, 2.0, 4.0),
                    "mu": (0.1, 0.2, 0.4, 0.6, 0.8),
                    "solution": tuple(f"{one}-PM" for one in SELECTIONS),
                },
            ),
            Sweep({"solution": "PM"}, {"epsilon": (0.5, 1.0, 2.0, 4.0)}),
        ),
        "free-split": (
            Sweep(
                {"mu": None, "rounds": _ROUNDS},
                {"share": (0.01, 0.02, 0.05, 0.1), "solution": ("PM", *(f"{one}-PM" for one in SELECTIONS))},
            ),
        ),
    }
