"""Samplers (x, n, rng) -> n outputs, made of what other libraries and plain functions offer.

Nothing is imported before it is used: an adapter loads its library when it is called, never earlier. Each returns an
`AdaptedSampler`, whose `repeatable` says whether a seed decides its outputs.
"""

from ldp_audit.auditing.adapters.adapted_sampler import AdaptedSampler
from ldp_audit.auditing.adapters.command import from_command
from ldp_audit.auditing.adapters.diffprivlib_mechanism import from_diffprivlib
from ldp_audit.auditing.adapters.flower_mod import from_flower
from ldp_audit.auditing.adapters.function_of_one_value import from_function
from ldp_audit.auditing.adapters.mechanism import from_mechanism
from ldp_audit.auditing.adapters.multi_freq_ldpy_client import from_multi_freq_ldpy
from ldp_audit.auditing.adapters.opendp_measurement import from_opendp
from ldp_audit.auditing.adapters.recognise import as_sampler, from_factory
from ldp_audit.auditing.adapters.scipy_distribution import from_scipy
from ldp_audit.auditing.adapters.torch_callable import from_torch
from ldp_audit.auditing.adapters.url import from_url

__all__ = [
    "AdaptedSampler",
    "as_sampler",
    "from_command",
    "from_diffprivlib",
    "from_factory",
    "from_flower",
    "from_function",
    "from_mechanism",
    "from_multi_freq_ldpy",
    "from_opendp",
    "from_scipy",
    "from_torch",
    "from_url",
]
