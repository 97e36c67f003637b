"""Another name of `ldp_audit.implementations`, under which it was documented first."""

from ldp_audit.implementations import *  # noqa: F403
