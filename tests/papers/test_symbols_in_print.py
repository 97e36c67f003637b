"""Equal symbols are typeset alike: SymPy's cache may put one where the other was, and a page would change letters."""

import json
import subprocess
import sys

import pytest

RECORDED = """
import importlib, json, pkgutil
from ldp_audit.mechanisms.variable import EPSILON, Variable

made, build = {EPSILON: {EPSILON.latex}}, Variable.__new__

def recorded(kind, *arguments, **options):
    variable = build(kind, *arguments, **options)
    made.setdefault(variable, set()).add(variable.latex)
    return variable

Variable.__new__ = recorded
for room in ("ldp_audit.papers", "ldp_audit.mechanisms"):
    for module in pkgutil.walk_packages(importlib.import_module(room).__path__, room + "."):
        importlib.import_module(module.name)
from ldp_audit.claims.loading import load_paper, paper_keys
made_claims = [claim for key in paper_keys() for claim in load_paper(key).claims]
from ldp_audit.mechanisms.catalogue import ENTRIES
laws = [entry.law().latex() for entry in ENTRIES]
print(json.dumps({"made": len(made), "several": {str(one): sorted(how) for one, how in made.items() if len(how) > 1}}))
"""


@pytest.mark.slow
def test_equal_symbols_of_papers_and_mechanisms_are_typeset_alike() -> None:
    done = subprocess.run([sys.executable, "-c", RECORDED], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["made"] > 100
    assert found["several"] == {}
