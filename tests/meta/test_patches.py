"""No test replaces a function or a method of the package: what is replaced is not what a user runs.

Constants (upper-case names) and what others wrote (os, sys, torch, the tests' own classes) may be replaced.
"""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import ldp_audit

PACKAGE = Path(ldp_audit.__file__).parent
TESTS = Path(__file__).parents[1]
REPLACING = {
    "accounting/shuffling/test_worst_neighbourhood.py",
    "accounting/test_calibrate.py",
    "claims/test_manifest.py",
    "claims/test_settled_file.py",
    "claims/test_tampering.py",
    "claims/test_written.py",
    "fuzz/test_forging.py",
    "implementations/scripted_generators.py",
    "implementations/test_fake_torch.py",
    "implementations/test_shipped_noise.py",
    "implementations/test_shipped_samplers_by_structure.py",
    "losses/test_binomial_loss.py",
    "losses/test_discrete_loss.py",
    "losses/test_grid_loss.py",
    "losses/test_inverted_sum.py",
    "mechanisms/every_draw.py",
    "mechanisms/test_every_sampler_path.py",
    "meta/test_gpu_benchmark.py",
    "papers/ldp_fl/attacks/test_by_value.py",
    "papers/test_reproduction.py",
    "test_cli_report.py",
    "test_cli_train.py",
    "training/fedmd_nfdp/test_distillation.py",
    "training/fedmd_nfdp/test_noise.py",
    "training/fedmd_nfdp/test_run.py",
    "training/fedmd_nfdp/test_sampling.py",
    "training/fedsel/test_accumulation.py",
    "training/ldp_fl/test_planted_bugs.py",
    "training/test_local_training.py",
}
"""Files that still replace some, most to plant a bug. A file leaves the list with its last one, and none joins it."""
_REPLACES = {"setattr", "delattr"}
_MOCKS = {"patch", "object"}


def patches(source: str) -> list[str]:
    """The functions and methods of the package that a test's text replaces, as dotted names.

    With `monkeypatch.setattr` and `delattr` or the builtins of these names, `unittest.mock.patch` and `patch.object`,
    and by assignment. The package's objects are told by the imports; what they hand out under other names is not seen.
    """
    tree = ast.parse(source)
    known = dict(_imported(tree))
    known |= dict(_looped(tree, known))
    found = [_dotted(target, known) for target in _replaced(tree)]
    return [name for name in found if name.startswith("ldp_audit") and not _is_free(name)]


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each name of the text that is the package's, and what it is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.asname, alias.name) for alias in node.names if alias.asname)
            yield from ((top := alias.name.partition(".")[0], top) for alias in node.names if not alias.asname)


def _looped(tree: ast.Module, known: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The name of a loop over names that are known, as the first of them."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.For)
            and isinstance(node.target, ast.Name)
            and isinstance(node.iter, ast.Tuple | ast.List)
        ):
            found = [_dotted(one, known) for one in node.iter.elts]
            yield from ((node.target.id, name) for name in found[:1] if name.startswith("ldp_audit."))


def _replaced(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in _REPLACES | _MOCKS and node.args:
                yield _attribute(*node.args[:2])
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        )
        for target in targets:
            yield from (one for one in ast.walk(target) if isinstance(one, ast.Attribute))


def _attribute(first: ast.expr, second: ast.expr | None = None) -> ast.expr:
    """What `setattr(first, second, ...)` replaces: an attribute of an object, or a dotted text's."""
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        try:
            return ast.parse(first.value, mode="eval").body
        except SyntaxError:
            return first
    name = second.value if isinstance(second, ast.Constant) and isinstance(second.value, str) else "some_attribute"
    return ast.Attribute(first, name)


def _dotted(target: ast.expr, known: dict[str, str]) -> str:
    if isinstance(target, ast.Attribute):
        return f"{_dotted(target.value, known)}.{target.attr}"
    return known.get(target.id, target.id) if isinstance(target, ast.Name) else ""


def _is_free(name: str) -> bool:
    """Whether this is a constant, or what a module of the package has from elsewhere."""
    if name.rpartition(".")[2].isupper():
        return True
    parts = name.split(".")
    ends = [place for place in range(1, len(parts)) if _module(".".join(parts[:place]))]
    module, rest = ".".join(parts[: ends[-1]]), parts[ends[-1] :]
    return rest[0] in _foreign(module)


def _module(name: str) -> Path | None:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return next((one for one in (path.with_suffix(".py"), path / "__init__.py") if one.exists()), None)


@functools.cache
def _foreign(module: str) -> set[str]:
    """The names that a module of the package imports from elsewhere."""
    path = _module(module)
    names = dict(_imported(ast.parse(path.read_text("utf-8")))) if path else {}
    return {name for name, origin in names.items() if not origin.startswith("ldp_audit")}


def test_no_test_replaces_a_function_of_the_package() -> None:
    paths = sorted(TESTS.rglob("*.py"))
    found = {str(path.relative_to(TESTS)): patches(path.read_text("utf-8")) for path in paths}
    offenders = {name: replaced for name, replaced in found.items() if replaced}
    new = {name: replaced for name, replaced in offenders.items() if name not in REPLACING}
    by_folder = Counter(Path(name).parts[0] for name, replaced in offenders.items() for _ in replaced)
    assert new == {}, f"pass it in, or let the tests' own program do it; by folder {dict(by_folder)}"
    expected = {name for name in REPLACING if (TESTS / Path(name).parts[0]).exists()}  # a copy may lack the papers'
    assert set(offenders) == expected, "take the files that replace nothing any more off the list"


def test_the_check_of_replaced_functions_can_fail() -> None:
    imports = """
import os, ldp_audit
import ldp_audit.training.grouped as grouped
from unittest import mock
from ldp_audit.auditing import record
from ldp_audit.auditing.program import Program
"""
    for line, replaced in {
        "monkeypatch.setattr(record, 'source_digest', f)": "ldp_audit.auditing.record.source_digest",
        "monkeypatch.setattr(Program, name, f)": "ldp_audit.auditing.program.Program.some_attribute",
        "patched.delattr('ldp_audit.auditing.bounds.probability')": "ldp_audit.auditing.bounds.probability",
        "setattr(Program, 'outputs', f)": "ldp_audit.auditing.program.Program.outputs",
        "mock.patch('ldp_audit.files.write_whole')": "ldp_audit.files.write_whole",
        "with mock.patch.object(Program, 'outputs'): pass": "ldp_audit.auditing.program.Program.outputs",
        "Program.outputs = f": "ldp_audit.auditing.program.Program.outputs",
        "for one in (Program, grouped): one.outputs = f": "ldp_audit.auditing.program.Program.outputs",
        "ldp_audit.audit, other = f, g": "ldp_audit.audit",
    }.items():
        assert patches(imports + line) == [replaced]
    for line in (
        "monkeypatch.setattr(os, 'fsync', f)",
        "monkeypatch.setattr(record.time, 'monotonic', f)",
        "monkeypatch.setattr(grouped.ThreadPoolExecutor, 'submit', f)",
        "monkeypatch.setattr(grouped, 'MAX_BYTES', 3)",
        "monkeypatch.setattr(grouped, '_LONG', 3)",
        "monkeypatch.setattr(Own, 'outputs', f)",
        "monkeypatch.setitem(sys.modules, 'flwr', f)",
        "found = Program.outputs",
    ):
        assert patches(imports + line) == []
