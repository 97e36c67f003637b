"""The documentation site: builds without a warning, needs no network, and its reference has every public name."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.together import together

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PUBLIC = [
    "ldp_audit",
    "ldp_audit.mechanisms",
    "ldp_audit.claims",
    "ldp_audit.auditing",
    "ldp_audit.implementations",
    "ldp_audit.papers.ldp_fl.attacks",
    "ldp_audit.accounting",
    "ldp_audit.training.canary",
]
LOADED = re.compile(  # what a browser fetches by itself, on another host
    r"""<(?:script|img|iframe|source|link|object|embed)\b[^>]*?\b(?:src|href|srcset|data)\s*=\s*["']?(?:https?:)?//|"""
    r"""(?:url\(|@import\s*)["']?(?:https?:)?//""",
    re.IGNORECASE,
)


def documented() -> set[str]:
    pages = [page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md")]
    return {name for page in pages for name in re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE)}


@together("module", PUBLIC)
def test_every_public_name_is_in_the_reference(module: str) -> None:
    assert {f"{module}.{name}" for name in import_module(module).__all__} <= documented()


def test_every_name_in_the_reference_exists() -> None:
    for path in documented():
        module, _, name = path.rpartition(".")
        assert hasattr(import_module(module), name), path


def test_every_page_is_in_the_navigation() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    navigation = re.findall(r"([\w/-]+\.(?:md|ipynb))$", settings, re.MULTILINE)
    pages = [page for kind in ("*.md", "*.ipynb") for page in (ROOT / "docs").rglob(kind)]
    pages = [str(page.relative_to(ROOT / "docs")) for page in pages]
    assert sorted(navigation) == sorted(pages)


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_fetches_nothing(tmp_path: Path) -> None:
    """One test, as the build takes seconds: strict, so that a broken link or an unknown name fails it."""
    site = tmp_path / "site"
    built = build(ROOT, site)
    assert built.returncode == 0, built.stdout + built.stderr
    pages = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    assert len(pages) > 20
    for page, text in pages.items():
        assert not LOADED.search(text), page
        assert 'class="mermaid"' not in text, f"{page}: the theme fetches what draws it"
        assert "arithmatex" not in text, f"{page}: a formula that was not typeset"
        assert not re.search(r'class="formula"><code', text), f"{page}: a formula that cannot be typeset"
    for sheet in site.rglob("*.css"):
        assert not LOADED.search(sheet.read_text(encoding="utf-8")), sheet
    mechanisms = pages[site / "reference" / "mechanisms.html"]
    assert "two values around the center" in mechanisms
    assert '<h3 id="ldp_audit.mechanisms.TwoPoint' in mechanisms
    assert (site / "search" / "search_index.js").exists()  # a search without a server
    assert "ParameterShuffler" in (site / "search" / "search_index.js").read_text(encoding="utf-8")
    assert not (site / "_site").exists()
    for notebook in (ROOT / "docs" / "notebooks").glob("*.ipynb"):
        page = pages[site / "notebooks" / f"{notebook.stem}.html"]
        assert page.count('class="figure"') == notebook.read_text(encoding="utf-8").count('"image/png": ')
        assert (site / "notebooks" / "files" / notebook.name).read_bytes() == notebook.read_bytes()


@pytest.mark.slow
def test_a_broken_link_and_an_unknown_name_fail_the_build(tmp_path: Path) -> None:
    for folder in ("docs/_site", "docs/assets"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    settings = re.sub(r"^nav:\n(?:[ ].*\n)+", "", settings, flags=re.MULTILINE).replace("[.]", f"['{ROOT}']")
    (tmp_path / "mkdocs.yml").write_text(settings, encoding="utf-8")
    (tmp_path / "docs" / "index.md").write_text("# A page\n\n[nowhere](nowhere.md)\n", encoding="utf-8")
    (tmp_path / "docs" / "other.md").write_text("# Another\n\n::: ldp_audit.nonsense\n", encoding="utf-8")
    said = failure(tmp_path)
    assert "nowhere.md" in said
    assert "nonsense" in said


def test_what_is_fetched_is_told_from_what_is_linked() -> None:
    assert not LOADED.search('<a href="https://example.org">x</a> <script src="assets/a.js"></script>')
    assert LOADED.search('<script async src="https://example.org/a.js"></script>')
    assert LOADED.search("<link rel=stylesheet href=//example.org/a.css>")
    assert LOADED.search('@import "https://example.org/a.css"')


def failure(folder: Path) -> str:
    built = build(folder, folder / "site")
    assert built.returncode != 0
    return built.stdout + built.stderr


def build(folder: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--config-file",
        "mkdocs.yml",
        "--site-dir",
        str(site),
    ]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, timeout=300)
