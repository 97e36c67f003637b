"""Is this program what they claim? Statistical audits of any sampler, with bounds that hold at their confidence."""

from ldp_audit.auditing.adapters import as_sampler
from ldp_audit.auditing.adapters.sampler import ProgramError
from ldp_audit.auditing.assertions import (
    LawMismatch,
    NoPowerError,
    PrivacyViolation,
    assert_fits,
    assert_private,
)
from ldp_audit.auditing.audit_program import audit
from ldp_audit.auditing.bounds import Counts, Region
from ldp_audit.auditing.curves import Curves
from ldp_audit.auditing.event_search import InputSearch, search
from ldp_audit.auditing.fitting import FitResult, FitWitness, fit
from ldp_audit.auditing.membership import GuessesResult, audit_guesses, audit_scores
from ldp_audit.auditing.power import plan
from ldp_audit.auditing.result import AuditResult, DivergenceClaim, Witness
from ldp_audit.auditing.scores.law_score import Law, LawScore

__all__ = [
    "AuditResult",
    "Counts",
    "Curves",
    "DivergenceClaim",
    "FitResult",
    "FitWitness",
    "GuessesResult",
    "InputSearch",
    "Law",
    "LawMismatch",
    "LawScore",
    "NoPowerError",
    "PrivacyViolation",
    "ProgramError",
    "Region",
    "Witness",
    "as_sampler",
    "assert_fits",
    "assert_private",
    "audit",
    "audit_guesses",
    "audit_scores",
    "fit",
    "plan",
    "search",
]
