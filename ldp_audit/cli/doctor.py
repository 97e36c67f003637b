"""`ldp-audit doctor`: installed packages, devices, and known defects of this machine."""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
from collections.abc import Iterator
from typing import Any

from ldp_audit.cli.command_line import INSTALL, write_json
from ldp_audit.cli.console import say
from ldp_audit.progress import Progress

_PEERS = ("opendp", "diffprivlib", "multi-freq-ldpy", "flwr")


def add_arguments(_: argparse.ArgumentParser) -> None:
    """`ldp-audit doctor` has no options of its own."""


def run(options: argparse.Namespace) -> int:
    """Print the findings; 0 if all required packages are installed and work, else 1."""
    with Progress() as progress:
        progress("looking for devices and defects")
        found = diagnosis()
    write_json(options, found)
    say(f"ldp-audit {found['version']}, Python {found['python']}, {found['platform']}, {found['cores']} cores")
    for group in found["packages"]:
        say(f"\n{group['for']}")
        for package in group["packages"]:
            say(f"  {package['name']:<18} {package['version'] or 'not installed':<16} {package['needs']}")
        if not group["complete"] and group["install"]:
            say(f"  to install: {group['install']}")
    say(f"\ndevices            {', '.join(found['devices']) or 'none: torch is not installed'}")
    plugin = "registered" if found["pytest_plugin"] else "not registered: install this package where your tests run"
    plugin += "" if _version("pytest") else "; pytest is not installed"
    say(f"pytest plugin      {plugin}")
    for problem in found["problems"]:
        say(f"\nproblem: {problem}")
    say("\nno problem found" if not found["problems"] else "")
    return int(not found["sound"])


def diagnosis() -> dict[str, Any]:
    """The findings as plain data: versions, packages by purpose, devices, problems."""
    import importlib.metadata

    packages = [_needed(), *(_extra(name) for name in INSTALL), _peers()]
    missing = [package["name"] for package in packages[0]["packages"] if package["version"] is None]
    problems = [f"{name} is missing, and nothing works without it" for name in missing]
    problems += [] if missing else _known_defects()
    return {
        "version": _version("claimed-epsilon"),
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "cores": os.cpu_count(),
        "packages": packages,
        "devices": _devices(),
        "pytest_plugin": any(point.name == "ldp_audit" for point in importlib.metadata.entry_points(group="pytest11")),
        "problems": problems,
        "sound": not missing,
    }


def _needed() -> dict[str, Any]:
    return _group("needed", [one for one in _requirements() if one[2] is None])


def _extra(name: str) -> dict[str, Any]:
    return _group(f"for {name}", [one for one in _requirements() if one[2] == name], INSTALL[name])


def _peers() -> dict[str, Any]:
    return _group("whose programs can be audited as they are", [(name, "", None) for name in _PEERS])


def _group(title: str, wanted: list[tuple[str, str, str | None]], install: str = "") -> dict[str, Any]:
    packages = [{"name": name, "version": _version(name), "needs": needs} for name, needs, _ in wanted]
    complete = all(package["version"] for package in packages)
    return {"for": title, "packages": packages, "complete": complete, "install": install}


def _requirements() -> Iterator[tuple[str, str, str | None]]:
    """Name, accepted versions, and the extra that requires it, of each declared requirement."""
    import importlib.metadata

    for text in importlib.metadata.requires("claimed-epsilon") or []:
        requirement, _, marker = text.partition(";")
        matched = re.match(r"\s*([\w.-]+)(?:\[[^]]*\])?\s*(.*)", requirement)
        extra = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", marker)
        if matched:
            yield matched[1], matched[2].strip(), extra and extra[1]


def _version(name: str) -> str | None:
    import importlib.metadata

    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _devices() -> list[str]:
    """The devices that torch can train on; torch is imported only if it is installed."""
    import importlib.util

    if importlib.util.find_spec("torch") is None:
        return []
    import torch

    cuda = [f"cuda:{i} ({torch.cuda.get_device_name(i)})" for i in range(torch.cuda.device_count())]
    return ["cpu", *cuda]


def _known_defects() -> list[str]:
    """Defects of libraries on some machines that would invalidate results, found by tests, not by versions."""
    import numpy as np

    problems = []
    halves = np.random.default_rng(0).standard_normal(4096).astype(np.float16)
    if not np.all(np.diff(np.sort(halves).astype(np.float32)) >= 0):
        problems.append(
            "numpy sorts long float16 arrays wrongly on this CPU (np.sort, np.unique); nothing here relies on it, "
            "your samplers may"
        )
    if np.float64(5e-324) * 1.0 == 0.0:
        problems.append("subnormal numbers are flushed to 0 in this process; exact profiles may lose tiny deltas")
    if sys.float_info.mant_dig != 53:
        problems.append(f"floats have {sys.float_info.mant_dig} bits, not 53; rounding arguments do not hold")
    return problems
