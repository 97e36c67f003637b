"""What an import loads, and which way imports run; each check has a twin that shows that it can fail."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
import warnings
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

import ldp_audit
from ldp_audit.moved import MOVED
from tests.together import together

PACKAGE = Path(ldp_audit.__file__).parent
ROOMS = [
    "losses",
    "mechanisms",
    "accounting",
    "claims",
    "auditing",
    "implementations",
    "training",
    "reports",
    "cli",
    "papers",
]
GROUND = {"checkpoint", "figure", "files", "moved", "numerics", "progress", "registry", "shown", "workers"}
"""Modules below all rooms, which import no room."""
ALLOWED = {
    "losses": set(),
    "mechanisms": {"losses"},
    "accounting": {"losses", "mechanisms"},
    "claims": {"losses", "mechanisms", "accounting"},
    "auditing": {"losses", "mechanisms", "accounting"},
    "implementations": {"losses", "mechanisms", "accounting", "auditing"},
    "training": {"losses", "mechanisms", "accounting", "claims", "auditing"},
    "reports": {"losses", "mechanisms", "accounting", "claims", "auditing", "implementations", "training"},
    "cli": {*ROOMS} - {"cli", "papers"},
    "papers": {*ROOMS},
}
"""Papers are on the top floor: they are found by the registry, and nothing imports them."""
HEAVY = {"numpy", "sympy", "torch", "matplotlib", "scipy", "z3", "flint", "jinja2", "rich"}


@functools.cache
def nodes_of(source: str) -> list[ast.AST]:
    """The parts of a module's text that import, also inside functions."""
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom | ast.Import)]


def loaded_by(code: str) -> set[str]:
    command = [sys.executable, "-c", f"{code}; import sys; print(*{{name.partition('.')[0] for name in sys.modules}})"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@together(
    ("code", "absent"),
    [
        ("import ldp_audit", HEAVY),
        ("import ldp_audit.claims, ldp_audit.mechanisms, ldp_audit.accounting, ldp_audit.reports", HEAVY),
        ("import ldp_audit.cli.command_line", HEAVY),
        ("from ldp_audit.claims import Claim, settle", {"torch", "matplotlib", "numpy"}),
        ("from ldp_audit import TwoPoint", {"torch", "matplotlib", "z3"}),
        ("from ldp_audit.reports import html", {"torch", "matplotlib"}),
    ],
)
def test_imports_stay_light(code: str, absent: set[str]) -> None:
    assert not absent & loaded_by(code)


def test_the_check_of_light_imports_can_fail() -> None:
    assert "sympy" in loaded_by("from ldp_audit import TwoPoint")


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(source: str) -> set[str]:
    """The rooms that a module's text imports, also inside functions."""
    found = set()
    for node in nodes_of(source):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found |= {name.split(".")[1] for name in names if name.startswith("ldp_audit.")}
    return found


def test_imports_run_one_way() -> None:
    offenders = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name, room = str(path.relative_to(PACKAGE)), room_of(path)
        found = imports_of(path.read_text(encoding="utf-8"))
        allowed = GROUND if room in GROUND else {*ALLOWED.get(room, found), *GROUND, room}
        if found - allowed:
            offenders[name] = found - allowed
    assert offenders == {}, "files that import a room from which they are to stay away"


def folders_that_import_each_other(modules: dict[str, set[str]]) -> set[tuple[str, str]]:
    """modules: each module with what it imports from. An __init__ hands on the names of its folder: it is left out."""
    arrows = {(name.rpartition(".")[0], module.rpartition(".")[0]) for name in modules for module in modules[name]}
    return {(one, other) for one, other in arrows if one < other and (other, one) in arrows}


def modules_imported(source: str, known: set[str]) -> set[str]:
    """The modules of ours that a text imports, also within functions and for type checkers."""
    froms: set[str] = set()
    for node in nodes_of(source):
        if isinstance(node, ast.ImportFrom):
            froms |= {f"{node.module}", *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            froms |= {alias.name for alias in node.names}
    return (froms | {f"{module}.__init__" for module in froms}) & known


def modules_of(rooms: set[str]) -> dict[str, set[str]]:
    paths = PACKAGE.rglob("*.py")
    modules = {".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in paths}
    return {
        name: modules_imported(path.read_text("utf-8"), set(modules))
        for name, path in modules.items()
        if room_of(path) in rooms and path.name != "__init__.py"
    }


def circles(modules: dict[str, set[str]]) -> set[frozenset[str]]:
    """The sets of modules each of which imports all others of its set, in however many steps.

    modules: each module with those that it imports.
    """
    reached: dict[str, set[str]] = {}
    for name in modules:
        found, ahead = set[str](), [name]
        while ahead:
            ahead += (more := modules.get(ahead.pop(), set()) - found)
            found |= more
        reached[name] = found
    return {
        frozenset(one for one in reached[name] if name in reached[one]) for name in modules if name in reached[name]
    }


def test_no_files_import_each_other() -> None:
    """Imports within functions and for type checkers count as well: a reader follows them all the same."""
    assert circles(modules_of({*ROOMS, *GROUND})) == set()


def test_the_check_of_circles_can_fail() -> None:
    assert circles({"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set()}) == {frozenset("abc")}
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == set()
    within = (
        "def f():\n    from ldp_audit.losses.hulls import hull\nif TYPE_CHECKING:\n    import ldp_audit.files as f\n"
    )
    names = {"ldp_audit.losses.hulls", "ldp_audit.files", "ldp_audit.losses.__init__"}
    assert modules_imported(within, names) == {"ldp_audit.losses.hulls", "ldp_audit.files"}


def test_no_two_folders_import_each_other() -> None:
    assert not folders_that_import_each_other(modules_of({*ROOMS} - {"cli"}))


def test_the_check_of_folders_can_fail() -> None:
    assert folders_that_import_each_other({"a.b.c": {"a.d"}, "a.e": {"a.b.f"}}) == {("a", "a.b")}
    assert not folders_that_import_each_other({"a.b.c": {"a.b.d"}, "a.e": {"a.b.f"}})
    assert "ldp_audit.auditing.scores.__init__" in modules_of({"auditing"})["ldp_audit.auditing.events"]


def test_the_check_of_directions_can_fail() -> None:
    assert not imports_of("from ldp_audit.claims import settle") <= ALLOWED["mechanisms"]
    assert imports_of("def f():\n    import ldp_audit.reports.html") == {"reports"}


def private_names(source: str) -> set[str]:
    nodes = [node for node in nodes_of(source) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in nodes if (node.module or "").startswith("ldp_audit")]
    return {one.name for node in ours for one in node.names if one.name.startswith("_") and one.name != "__main__"}


def assigned_twice(source: str) -> set[str]:
    """The names that a module assigns more than once at its top level."""
    assigned = (target for one in ast.parse(source).body if isinstance(one, ast.Assign) for target in one.targets)
    names = Counter(one.id for target in assigned for one in ast.walk(target) if isinstance(one, ast.Name))
    return {name for name, times in names.items() if times > 1}


def test_a_constant_is_assigned_once() -> None:
    """Would catch a new limit that takes another one's name, and changes what the rest of the module does."""
    assert assigned_twice("_A, _B = 1, 2\n_C = 3\n_D, _A = 4, 5") == {"_A"}
    found = {path.name: assigned_twice(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}
    assert {name: twice for name, twice in found.items() if twice} == {}


def test_tests_import_no_private_names() -> None:
    """One is a bound's slack, too small to be seen in the bound. Ruff's SLF001 sees private attributes."""
    assert private_names("from ldp_audit.losses import _a, b\nfrom torch import _c") == {"_a"}
    sources = [path.read_text("utf-8") for path in (PACKAGE.parent / "tests").rglob("*.py")]
    assert set().union(*map(private_names, sources)) == {"_log_lack"}


@together("earlier", [one for one in MOVED if not MOVED[one].startswith("ldp_audit.papers.")])
def test_a_moved_module_is_imported_under_its_earlier_name_with_a_warning(earlier: str) -> None:
    assert_moved(earlier)


def assert_moved(earlier: str) -> None:
    for name in MOVED:
        sys.modules.pop(name, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import_module(earlier.rpartition(".")[0])
    with pytest.warns(DeprecationWarning, match=f"{earlier} is now {MOVED[earlier]}"):
        found = import_module(earlier)
    now = vars(import_module(MOVED[earlier]))
    assert {name: one for name, one in vars(found).items() if name[:2] != "__"}.items() <= now.items()


def test_nothing_of_ours_uses_an_earlier_name() -> None:
    texts = {str(path.relative_to(PACKAGE)): path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
    assert {path for path, text in texts.items() for name in MOVED if name in text} == {"moved.py"}


def test_every_public_name_is_there() -> None:
    import ldp_audit.claims
    import ldp_audit.mechanisms

    for module in (ldp_audit, ldp_audit.claims, ldp_audit.mechanisms):
        assert list(module.__all__) == sorted(module.__all__)
        for name in module.__all__:
            assert getattr(module, name) is not None
        with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
            _ = module.nonsense


def test_the_links_at_the_root_show_the_rooms() -> None:
    root = PACKAGE.parent
    for room in ("mechanisms", "accounting", "training", "reports"):
        if (root / room).is_symlink():
            assert (root / room).resolve() == PACKAGE / room
