"""File names of pages: stable, distinct even where capitals do not count, and inside the folder."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.reports.page_names import claim_pages, is_figure_name, paper_pages


def claim(name: str, paper: str = "p") -> dict[str, str]:
    return {"id": name, "paper": paper}


def test_an_ordinary_id_is_its_page() -> None:
    assert claim_pages([claim("LF-C1"), claim("FS-L2")]) == {
        ("p", "LF-C1"): "claims/LF-C1.html",
        ("p", "FS-L2"): "claims/FS-L2.html",
    }


def test_a_page_keeps_its_name_whatever_else_is_in_the_report() -> None:
    assert claim_pages([claim("A")])["p", "A"] == claim_pages([claim("B"), claim("A"), claim("C")])["p", "A"]


@given(st.lists(st.tuples(st.text(max_size=20), st.sampled_from(["p", "q", "P"])), unique=True))
def test_pages_differ_even_without_capitals_and_stay_in_their_folder(keys: list[tuple[str, str]]) -> None:
    """Catches collisions on file systems that do not tell a from A, and ids that are paths."""
    pages = list(claim_pages([claim(name, paper) for name, paper in keys]).values())
    assert len({page.lower() for page in pages}) == len(keys)
    assert all(page.count("/") == 1 and not page.startswith("claims/.") for page in pages)
    assert all(page.isascii() and page.isprintable() and " " not in page for page in pages)


def test_papers_have_pages_likewise() -> None:
    pages = paper_pages([{"key": key} for key in ("a", "A", "../x", "b")])
    assert pages["b"] == "papers/b.html"
    assert len({page.lower() for page in pages.values()}) == 4
    assert ".." not in pages["../x"]


def test_a_figures_name_is_a_file_name() -> None:
    assert is_figure_name("ldp-fl-variance")
    assert not any(is_figure_name(name) for name in ("", "a/b", "..", "a.svg", "-x", None, 3, "x" * 101))
