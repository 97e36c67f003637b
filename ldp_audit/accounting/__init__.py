"""Accounting: privacy losses of mechanisms and protocols, composition, sampling, shuffling, and calibration."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the names as type checkers and editors see them; at run time they are loaded on first use
    from ldp_audit.accounting.best_of import best_of as best_of
    from ldp_audit.accounting.budgets.budget import Budget as Budget
    from ldp_audit.accounting.budgets.budget import OverdrawnError as OverdrawnError
    from ldp_audit.accounting.budgets.columns import Budgets as Budgets
    from ldp_audit.accounting.calibrate import calibrate as calibrate
    from ldp_audit.accounting.choose import choose as choose
    from ldp_audit.accounting.dp_sgd import dp_sgd as dp_sgd
    from ldp_audit.accounting.events import account_verdict as account_verdict
    from ldp_audit.accounting.events import from_events as from_events
    from ldp_audit.accounting.factorised import factorised as factorised
    from ldp_audit.accounting.factorised import tree as tree
    from ldp_audit.accounting.loss_distributions import from_pld as from_pld
    from ldp_audit.accounting.loss_distributions import to_pld as to_pld
    from ldp_audit.accounting.privacy_loss import PrivacyLoss as PrivacyLoss
    from ldp_audit.accounting.privacy_loss import PrivacyProfile as PrivacyProfile
    from ldp_audit.accounting.privacy_loss import compose as compose
    from ldp_audit.accounting.privacy_loss import privacy_loss as privacy_loss
    from ldp_audit.accounting.promises import ZCDP as ZCDP
    from ldp_audit.accounting.promises import Approximate as Approximate
    from ldp_audit.accounting.promises import BoundedRange as BoundedRange
    from ldp_audit.accounting.promises import GaussianDP as GaussianDP
    from ldp_audit.accounting.promises import Pure as Pure
    from ldp_audit.accounting.promises import Renyi as Renyi
    from ldp_audit.accounting.random_allocation import random_allocation as random_allocation
    from ldp_audit.accounting.shuffle import shuffle as shuffle
    from ldp_audit.accounting.subsample import nfdp as nfdp
    from ldp_audit.accounting.subsample import sampled_clients as sampled_clients
    from ldp_audit.accounting.subsample import subsample as subsample
    from ldp_audit.losses.discrete_loss import DiscreteLoss as DiscreteLoss
    from ldp_audit.losses.discrete_loss import LossAtoms as LossAtoms

_HOME = {
    "Approximate": "ldp_audit.accounting.promises",
    "BoundedRange": "ldp_audit.accounting.promises",
    "Budget": "ldp_audit.accounting.budgets.budget",
    "Budgets": "ldp_audit.accounting.budgets.columns",
    "DiscreteLoss": "ldp_audit.losses.discrete_loss",
    "LossAtoms": "ldp_audit.losses.discrete_loss",
    "GaussianDP": "ldp_audit.accounting.promises",
    "OverdrawnError": "ldp_audit.accounting.budgets.budget",
    "PrivacyLoss": "ldp_audit.accounting.privacy_loss",
    "PrivacyProfile": "ldp_audit.accounting.privacy_loss",
    "Pure": "ldp_audit.accounting.promises",
    "Renyi": "ldp_audit.accounting.promises",
    "ZCDP": "ldp_audit.accounting.promises",
    "best_of": "ldp_audit.accounting.best_of",
    "calibrate": "ldp_audit.accounting.calibrate",
    "choose": "ldp_audit.accounting.choose",
    "compose": "ldp_audit.accounting.privacy_loss",
    "factorised": "ldp_audit.accounting.factorised",
    "dp_sgd": "ldp_audit.accounting.dp_sgd",
    "from_events": "ldp_audit.accounting.events",
    "from_pld": "ldp_audit.accounting.loss_distributions",
    "account_verdict": "ldp_audit.accounting.events",
    "nfdp": "ldp_audit.accounting.subsample",
    "privacy_loss": "ldp_audit.accounting.privacy_loss",
    "random_allocation": "ldp_audit.accounting.random_allocation",
    "sampled_clients": "ldp_audit.accounting.subsample",
    "shuffle": "ldp_audit.accounting.shuffle",
    "subsample": "ldp_audit.accounting.subsample",
    "tree": "ldp_audit.accounting.factorised",
    "to_pld": "ldp_audit.accounting.loss_distributions",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'ldp_audit.accounting' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


class _Room(ModuleType):
    """The names above stay the functions that they are.

    An import makes a module an attribute of its package: `shuffle`, once loaded, would hide the function of that name.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Room
