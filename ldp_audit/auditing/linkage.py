"""Another name of `ldp_audit.linkage` and of its module `membership`, under which they were documented first."""

import sys

from ldp_audit.linkage import *  # noqa: F403
from ldp_audit.linkage import membership

sys.modules[f"{__name__}.membership"] = membership
