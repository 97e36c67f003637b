"""Is this program what they claim? Statistical audits of any sampler, with bounds that hold at their confidence."""

from ldp_audit.auditing.adapters import as_sampler
from ldp_audit.auditing.assertions.assertion import (
    LawMismatch,
    NoPowerError,
    PrivacyViolation,
    assert_fits,
    assert_private,
)
from ldp_audit.auditing.audit_program import audit
from ldp_audit.auditing.bounds.curves import Curves
from ldp_audit.auditing.bounds.power import plan
from ldp_audit.auditing.declared.independent_audit import IndependentBound
from ldp_audit.auditing.declared.law_score import Law, LawScore
from ldp_audit.auditing.declared.product_law import ProductLaw
from ldp_audit.auditing.events.input_search import InputSearch, search
from ldp_audit.auditing.fitting.fit_result import FitResult, FitWitness
from ldp_audit.auditing.fitting.goodness_of_fit import fit
from ldp_audit.auditing.program import ProgramError
from ldp_audit.auditing.result import AuditResult, Witness
from ldp_audit.auditing.two_proportions import Counts, Region

__all__ = [
    "AuditResult",
    "Counts",
    "Curves",
    "FitResult",
    "FitWitness",
    "IndependentBound",
    "InputSearch",
    "Law",
    "LawMismatch",
    "LawScore",
    "NoPowerError",
    "PrivacyViolation",
    "ProductLaw",
    "ProgramError",
    "Region",
    "Witness",
    "as_sampler",
    "assert_fits",
    "assert_private",
    "audit",
    "fit",
    "plan",
    "search",
]
