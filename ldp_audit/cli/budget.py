"""ldp-audit budget: a budget in a file, from which mechanisms are paid before they run, by any number of processes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ldp_audit.cli.command_line import HOLDS, check_writable, write_json
from ldp_audit.cli.console import say

_REFUSED = 1


def add_arguments(budget: argparse.ArgumentParser) -> None:
    """The options of `ldp-audit budget`."""
    add = budget.add_argument
    add(
        "action", choices=("create", "spend", "left", "show"), help="make it; pay; how many more fit; what was paid for"
    )
    add("file", type=Path, metavar="FILE", help="the budget, in lines of JSON")
    add("target", nargs="?", metavar="TARGET", help="spend, left: a mechanism, or a promise such as 'Pure(0.1)'")
    add("--times", type=int, metavar="N", help="spend: pay for N of them, all or none; 1 by default")
    add("--epsilon", type=float, metavar="E", help="create: the budget, in nats")
    add("--delta", type=float, metavar="D", help="create: and with it delta, 0 by default")
    add("--rho", type=float, metavar="R", help="create: a budget of zero-concentrated privacy instead")
    add("--mu", type=float, metavar="M", help="create: a budget of Gaussian privacy instead")
    add("--currency", metavar="C", help="create: what is added up: renyi (the default with a delta), mu or epsilon")
    add("--order", type=float, metavar="A", help="create: of the Renyi divergences")
    add(
        "--failures", type=float, metavar="D", help="create: the part of delta for mechanisms with a delta of their own"
    )
    add("--adjacency", metavar="N", help="create: neighbours by add/remove or replace; as the first mechanism says")


def run(options: argparse.Namespace) -> int:
    """Do it, and print what is left; 0, or 1 where the budget refuses. Raises ValueError for bad input."""
    from ldp_audit.accounting.budgets.budget import PROMISES, Budget, OverdrawnError
    from ldp_audit.mechanisms import target

    check_writable(options)
    _check_arguments(options)
    if options.action == "create":
        Budget(**_terms(options)).save(options.file)
    budget = Budget.load(options.file)
    if options.action in ("create", "show"):
        write_json(options, budget.to_dict())
        say(budget.describe())
        return HOLDS
    item = target.load(options.target, others=PROMISES)
    refused, left = "", budget.left(item)
    if options.action == "spend":
        try:
            left = budget.spend(item, 1 if options.times is None else options.times, name=options.target)
        except OverdrawnError as error:
            refused, left = str(error), error.left
    number: int | str = "any number" if left == float("inf") else int(left)
    write_json(options, {"target": options.target, "refused": bool(refused), "left": number})
    say(f"refused: {refused}" if refused else f"{number} more of these", sys.stdout)
    return _REFUSED if refused or (options.action == "left" and not left) else HOLDS


_TERMS = ("epsilon", "delta", "rho", "mu", "currency", "order", "failures", "adjacency")


def _terms(options: argparse.Namespace) -> dict[str, Any]:
    return {name: value for name in _TERMS if (value := vars(options)[name]) is not None}


def _check_arguments(options: argparse.Namespace) -> None:
    """Raise ValueError for arguments that the action does not take, and for a missing TARGET."""
    paid = options.action in ("spend", "left")
    if paid != (options.target is not None):
        raise ValueError(f"target must be given to spend and left alone, got {options.target!r} for {options.action}")
    if options.times is not None and options.action != "spend":
        raise ValueError(f"times must be given to spend alone, got {options.times} for {options.action}")
    if options.action != "create" and (given := _terms(options)):
        name, value = next(iter(given.items()))
        raise ValueError(f"{name} must be given to create alone, got {value!r} for {options.action}")
