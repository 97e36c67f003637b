"""Privacy accounting and mechanism verification for local differential privacy.

Names are imported on first use: importing this module loads neither numpy, sympy, matplotlib nor torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ldp_audit import moved

if TYPE_CHECKING:
    from ldp_audit.accounting import choose as choose
    from ldp_audit.auditing import audit as audit
    from ldp_audit.auditing import fit as fit
    from ldp_audit.auditing import plan as plan
    from ldp_audit.auditing import search as search
    from ldp_audit.implementations import implementation as implementation
    from ldp_audit.mechanisms import TwoPoint as TwoPoint

__all__ = ["TwoPoint", "audit", "choose", "fit", "implementation", "plan", "search"]

_HOME = {
    "TwoPoint": "ldp_audit.mechanisms",
    "audit": "ldp_audit.auditing",
    "choose": "ldp_audit.accounting",
    "fit": "ldp_audit.auditing",
    "implementation": "ldp_audit.implementations",
    "plan": "ldp_audit.auditing",
    "search": "ldp_audit.auditing",
}

moved.install()


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("claimed-epsilon")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'ldp_audit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
