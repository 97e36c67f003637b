"""A name says one thing: no class name occurs twice in the package, and no function of accounting has a namesake."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import ldp_audit
from ldp_audit import accounting

PACKAGE = Path(ldp_audit.__file__).parent


def package_sources() -> dict[str, str]:
    paths = sorted(PACKAGE.rglob("*.py"))
    return {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in paths}


def classes_of(source: str) -> Iterator[str]:
    """Private ones too, and those inside classes and functions."""
    return (node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef))


def functions_of(source: str) -> Iterator[str]:
    """Those of the module itself, no methods."""
    return (node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))


def twice(names: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """names: by file.   returns: each name that occurs more than once, with the file of each occurrence."""
    places = defaultdict(list)
    for file, found in names.items():
        for name in found:
            places[name].append(file)
    return {name: files for name, files in places.items() if len(files) > 1}


def test_no_class_name_occurs_twice() -> None:
    named = twice({file: classes_of(source) for file, source in package_sources().items()})
    assert named == {}, "name one for what it is"


def test_no_public_function_of_accounting_has_a_namesake() -> None:
    named = twice({file: functions_of(source) for file, source in package_sources().items()})
    assert {name: files for name, files in named.items() if name in accounting.__all__} == {}


def test_the_check_of_names_can_fail() -> None:
    sources = {
        "one.py": "class Shown:\n    class Cell: ...\n\ndef compose():\n    class Other: ...",
        "two.py": "def f():\n    class Cell: ...\n\ndef compose(): ...\ndef Shown(): ...",
        "three.py": "class _Run: ...\nif True:\n    class _Run: ...",
    }
    classes = twice({file: classes_of(source) for file, source in sources.items()})
    assert classes == {"Cell": ["one.py", "two.py"], "_Run": ["three.py", "three.py"]}
    assert twice({file: functions_of(source) for file, source in sources.items()}) == {"compose": ["one.py", "two.py"]}
