"""The settings of FedSel's experiments (Liu, Cao, Yoshikawa, Chen, DASFAA 2020, Section 5)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ldp_audit.numerics import between, whole
from ldp_audit.training.fedsel.solution import solution
from ldp_audit.training.pipeline import check_choice, check_flag


@dataclass(frozen=True)
class FedSelSettings:
    """FedSel's federated SGD on a table, one record a user, by repeated cross-validation in one batch.

    solution: what users report: "NP", "PM", "PS-PM", "PE-HM-C", ...; see `solution.py`.
    model: "logistic" or "svm".
    epsilon: budget of a user over all epochs, nats, > 0, finite; solutions "NP..." do not use it.
    mu: the selection's share of it, in [0, 1); None for the split without hyper-parameters.
    threshold: the largest share that the split without hyper-parameters gives the selection, in [0, 1).
    k: size of the top set of PE and PS, 1 .. d-1; None for a tenth of d, rounded down, at least 1.
    corrected: whether PE's whole report satisfies its epsilon; False is PE as published, which exceeds it.
    epochs: reports of each user, >= 1.
    share: of the users who report in one round, in (0, 1].
    rounds: number of rounds, ending in the last epoch; None for all rounds.
    learning_rate: alpha, > 0.
    penalty: lambda of the l2 regularisation, >= 0.
    momentum: eta, >= 0; the paper names no value.
    ratio: q / d of the random projection, in (0, 1]; q is rounded down, and at least 1.
    coordinates: number of coordinates that flat solutions report, 1 .. d; None for Wang et al.'s rule, epsilon / 2.5
        rounded down.
    users: number of records used, drawn by the seed; None for all.
    repeats: of the cross-validation, >= 1.
    folds: of the cross-validation, >= 2.
    details: period in rounds, >= 1, at which the record has every model's accuracy, as has the last round's.
    Raises ValueError for anything else.
    """

    solution: str = "PS-PM"
    model: Literal["logistic", "svm"] = "logistic"
    epsilon: float = 2.0
    mu: float | None = 0.1
    threshold: float = 0.2
    k: int | None = None
    corrected: bool = False
    epochs: int = 1
    share: float = 0.01
    rounds: int | None = None
    learning_rate: float = 0.1
    penalty: float = 1e-4
    momentum: float = 0.9
    ratio: float = 0.1
    coordinates: int | None = None
    users: int | None = None
    repeats: int = 10
    folds: int = 5
    details: int = 20

    def __post_init__(self) -> None:
        solution(self.solution)
        check_choice("model", self.model, ("logistic", "svm"))
        check_flag("corrected", self.corrected)
        for name in ("epochs", "repeats", "details"):
            whole(getattr(self, name), name, 1)
        whole(self.folds, "folds", 2)
        for name in ("k", "coordinates", "rounds", "users"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name, 1)
        for name in ("epsilon", "learning_rate"):
            between(getattr(self, name), name, "a finite number > 0", lambda x: 0 < x < math.inf)
        for name in ("penalty", "momentum"):
            between(getattr(self, name), name, "a finite number >= 0", lambda x: 0 <= x < math.inf)
        for name in ("share", "ratio"):
            between(getattr(self, name), name, "a number in (0, 1]", lambda x: 0 < x <= 1)
        for name in ("threshold", "mu"):
            if name != "mu" or self.mu is not None:
                between(getattr(self, name), name, "a number in [0, 1)", lambda x: 0 <= x < 1)
