"""Is this program what they claim? Statistical audits of any sampler, with bounds that hold at their confidence."""

from ldp_audit.auditing.adapters import as_sampler
from ldp_audit.auditing.assertion import LawMismatch, PrivacyViolation, assert_fits, assert_private
from ldp_audit.auditing.audit_program import audit
from ldp_audit.auditing.curves import Curves
from ldp_audit.auditing.fit_result import FitResult, FitWitness
from ldp_audit.auditing.goodness_of_fit import fit
from ldp_audit.auditing.independent_audit import IndependentBound
from ldp_audit.auditing.input_search import InputSearch, search
from ldp_audit.auditing.law_score import Law, LawScore
from ldp_audit.auditing.power import plan
from ldp_audit.auditing.product_law import ProductLaw
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
