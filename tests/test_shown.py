"""What `print`, a notebook and `dir()` show, and that no result is taken for true or false."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import ldp_audit
from ldp_audit import audit, choose, fit, implementation
from ldp_audit.accounting import calibrate, compose
from ldp_audit.auditing import audit_guesses
from ldp_audit.claims import at_most, less
from ldp_audit.mechanisms import FAMILIES, Gaussian, Laplace, RandomizedResponse, SymbolicChannel, T, Variable
from ldp_audit.mechanisms.catalogue import ENTRIES
from tests.together import together


def coin(x: int, u: np.ndarray) -> np.ndarray:
    return (u < (0.75 if x else 0.25)).astype(int)


JUDGED = {
    "audit": lambda: audit(RandomizedResponse(1.0), (0, 1), 1.0, samples=1000),
    "fit": lambda: fit(RandomizedResponse(1.0), RandomizedResponse(1.0), (0, 1), samples=1000),
    "guesses": lambda: audit_guesses(3, 5, claimed_epsilon=1.0),
    "implementation": lambda: implementation(coin, (0, 1), claimed_epsilon=1.2, bits=8),
}
OTHERS = {
    "choices": lambda: choose(users=1000, answers=4, epsilon=1.0),
    "calibrated": lambda: calibrate(lambda scale: Laplace(scale), epsilon=1.0, delta=0.0, low=0.5, high=2.0),
    "profile": lambda: compose([(RandomizedResponse(1.0), 2)]).profile(),
}


@together("name", [*JUDGED, *OTHERS])
def test_print_and_notebooks_show_the_description(name: str) -> None:
    result: Any = (JUDGED | OTHERS)[name]()
    assert str(result) == result.describe()
    assert result._repr_html_().startswith("<pre>")
    assert "<" not in result._repr_html_()[5:-6]


@together("name", JUDGED)
def test_a_result_is_neither_true_nor_false(name: str) -> None:
    """`if audit(...)` and `assert audit(...)` would pass whatever was found."""
    result: Any = JUDGED[name]()
    asked = "differs" if name == "fit" else "violated"
    with pytest.raises(ValueError, match=rf"asked for its verdict.*: result\.verdict == '{asked}'"):
        bool(result)


def test_a_loss_shows_its_profile() -> None:
    loss = compose([(Gaussian(sigma=4.0), 2)])
    shown = loss._repr_html_()
    assert loss.profile().describe().splitlines()[0] in shown
    assert "epsilon      delta" in shown


@together("entry", ENTRIES)
def test_a_mechanism_shows_its_definition(entry: Any) -> None:
    shown = entry.mechanism()._repr_latex_()
    assert (shown is None) == bool(entry.example.composed)
    if shown is not None:
        assert shown.startswith(r"$$ \text{")
        assert r"\begin{cases}" in shown


def test_statements_and_channels_are_typeset() -> None:
    x = Variable("x", 0, 1)
    assert at_most(x, T)._repr_latex_() == r"$$ \text{for all:}\quad x \le t $$"
    assert less(x, 2).negated()._repr_latex_() == r"$$ \text{there is:}\quad 2 \le x $$"
    channel = SymbolicChannel("coin", x, {1: x, 0: 1 - x})
    assert channel._repr_latex_().startswith(r"$$ \Pr[y\mid x]=\begin{cases}x&y=1")


def test_dir_lists_the_public_names_of_every_package() -> None:
    names = [one.name for one in pkgutil.walk_packages(ldp_audit.__path__, "ldp_audit.") if one.ispkg]
    packages = [import_module(name) for name in names if not name.startswith("ldp_audit.papers")]
    public = {one.__name__: set(one.__all__) for one in (ldp_audit, *packages) if "__all__" in vars(one)}
    assert {"ldp_audit", "ldp_audit.mechanisms", "ldp_audit.accounting", "ldp_audit.claims"} <= set(public)
    missing = {name: found - set(dir(import_module(name))) for name, found in public.items()}
    assert {name: lacks for name, lacks in missing.items() if lacks} == {}
    assert set(FAMILIES) <= set(dir(ldp_audit.mechanisms))
