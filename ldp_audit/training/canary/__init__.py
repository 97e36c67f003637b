"""A client-level audit of a training run: what two neighbouring runs certainly show, beside what was promised."""

from ldp_audit.training.canary.audit_run import audit_run
from ldp_audit.training.canary.bounds import canary_bounds
from ldp_audit.training.canary.canary import Canary, Promise

__all__ = ["Canary", "Promise", "audit_run", "canary_bounds"]
