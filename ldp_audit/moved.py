"""Earlier names of modules, which can be imported for one version more, with a DeprecationWarning."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_BY_REPORT = {
    "noise": "gaussian laplace laplace_noise noise_grid",
    "values": "coordinate_sampling duchi_vector hybrid layer_range parameter_shuffler piecewise "
    "random_projection sparse_report two_point value_mechanism",
    "selection": "exponential_selection perturbed_encoding perturbed_sampling ranking subsample_release two_stage",
    "frequency": "randomized_response",
}
"""The folder of each mechanism's module."""

MOVED = {
    "ldp_audit.accounting.privacy_profile": "ldp_audit.accounting.privacy_loss",
    "ldp_audit.auditing.implementation": "ldp_audit.implementations",
    "ldp_audit.auditing.linkage": "ldp_audit.papers.ldp_fl.attacks",
    "ldp_audit.auditing.linkage.membership": "ldp_audit.papers.ldp_fl.attacks.membership",
    "ldp_audit.claims.papers": "ldp_audit.papers",
    "ldp_audit.claims.papers.as_written": "ldp_audit.claims.as_written",
    "ldp_audit.linkage": "ldp_audit.papers.ldp_fl.attacks",
    "ldp_audit.linkage.membership": "ldp_audit.papers.ldp_fl.attacks.membership",
    **{
        f"ldp_audit.mechanisms.{module}": f"ldp_audit.mechanisms.{folder}.{module}"
        for folder, modules in _BY_REPORT.items()
        for module in modules.split()
    },
}
"""Where each module is now."""


class EarlierNames(MetaPathFinder, Loader):
    """Finds a module under its earlier name: asked only after every other finder has failed."""

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """The spec of a moved module; None for any other."""
        return ModuleSpec(name, self, is_package=True) if name in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module under its present name."""
        now = MOVED[spec.name]
        warnings.warn(f"{spec.name} is now {now}", DeprecationWarning, stacklevel=2)
        found = ModuleType(spec.name)
        found.__dict__.update(
            {key: value for key, value in vars(import_module(now)).items() if key[:2] != "__" or key == "__all__"}
        )
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: the names are those of the present module."""


def install() -> None:
    """Let earlier names be imported."""
    sys.meta_path.append(EarlierNames())
