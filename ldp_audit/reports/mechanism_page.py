"""docs/mechanisms.md: one page on the shipped mechanisms, generated from their definitions.

`python -m ldp_audit.reports.mechanism_page` prints it, and with the argument `reference` docs/reference/mechanisms.md
(`make docs` writes both); a test compares the files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from sympy import Expr, latex

from ldp_audit import mechanisms
from ldp_audit.mechanisms.catalogue import ENTRIES, Entry
from ldp_audit.mechanisms.typeset import with_sums_named

_OPENING = """# The mechanisms

Each mechanism's distribution, as defined in `ldp_audit/mechanisms/`, and what is derived from the definition. This page
is generated (`make docs`). The numbers in a table come from the example in its heading. What each of them can do:

```python
import numpy as np
from ldp_audit import TwoPoint

m = TwoPoint(epsilon=1.0, center=0.0, radius=0.075)  # two values around the center
m.exact_epsilon(), m.worst_pair()  # tight, and the inputs that attain it
m.delta([0.0, 0.5])  # the privacy profile
m.variance([0.0, 0.075])  # exact: less than Lemma 2 prints, away from the center
m.sample(np.zeros(5), rng=np.random.default_rng(1))  # a torch.Generator for tensors
m.implemented(bits=24).exact_epsilon()  # epsilon of a sampler with 24-bit words: never above 1
```

The samplers compare random bits with integer thresholds, rounded towards privacy, and report on a fixed grid, so that
low-order bits do not depend on the input.
"""

_REFERENCE = """# Mechanisms

`ldp_audit.mechanisms`: exact distributions, each defined once; [all on one page](../mechanisms.md).
"""


def render() -> str:
    """The page, as Markdown with LaTeX: one table, and the details of each mechanism behind it."""
    rows = [
        f"| [{entry.name}](#{entry.name.lower()}) | {entry.summary().partition(': ')[2] or entry.summary()} | "
        f"{_epsilon(entry)} |"
        for entry in ENTRIES
    ]
    table = "\n".join(["| | what it reports | exact epsilon |", "|---|---|---|", *rows, ""])
    return "\n".join([_OPENING, table, *(_section(entry) for entry in ENTRIES)])


def reference() -> str:
    """The public names of the room, as Markdown for mkdocstrings."""
    families = {*mechanisms.FAMILIES, *mechanisms.COMPOSED}
    rest = sorted(set(mechanisms.__all__) - families, key=str.lower)
    parts = (
        ("Families", mechanisms.FAMILIES),
        ("Made of other mechanisms, or of a matrix", mechanisms.COMPOSED),
        ("A mechanism of your own, and steps around mechanisms", rest),
    )
    lines = [_REFERENCE]
    for heading, names in parts:
        lines += [f"## {heading}\n", *(f"::: ldp_audit.mechanisms.{name}\n" for name in names)]
    return "\n".join(lines)


def _section(entry: Entry) -> str:
    mechanism, example = entry.mechanism(), entry.example
    lines = [
        f"## {entry.name}",
        "",
        entry.summary(),
        "",
        f"$${entry.law().latex()}$$",
        "",
        f"{example.letters}.",
        "",
    ]
    rows = [
        ("exact epsilon", _epsilon(entry)),
        ("bias", _formula(entry.bias())),
        ("variance", _formula(entry.variance())),
        (
            f"worst pair of `{example.target}`",
            f"{_inputs(mechanism)}; exact epsilon {mechanism.exact_epsilon():.10g}",
        ),
        ("source", entry.sources()),
    ]
    lines += ["| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows if text), ""]
    return "\n".join(lines)


def _epsilon(entry: Entry) -> str:
    epsilon = entry.epsilon()
    if entry.example.composed:
        return entry.example.composed
    return "infinite" if epsilon is None else f"${with_sums_named(epsilon, {})}$"


def _formula(expression: Expr | None) -> str:
    return "" if expression is None else f"${latex(expression)}$"


def _inputs(mechanism: Any) -> str:
    return " and ".join(" ".join(str(one).split()) for one in mechanism.worst_pair())


if __name__ == "__main__":
    write: Callable[[str], Any] = sys.stdout.write
    write(reference() if sys.argv[1:] == ["reference"] else render())
