"""The guarantee of a program as implemented in finite precision: its exact channel over all random words."""

from ldp_audit.implementations.audit_implementation import implementation_of
from ldp_audit.implementations.enumerate_map import implementation
from ldp_audit.implementations.grid import Grid
from ldp_audit.implementations.implementation_result import Example, Exclusive, Implementation, JointCounts, PairChannel

__all__ = [
    "Example",
    "Exclusive",
    "Grid",
    "Implementation",
    "JointCounts",
    "PairChannel",
    "implementation",
    "implementation_of",
]
