"""Every check of the pages is seen to pass, and to fail on a page with the fault that it is for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ldp_audit.reports import write
from ldp_audit.reports.sections import whole
from tests.reports import check_pages
from tests.reports.chromium import Browser, chromium, find_chromium
from tests.reports.in_browser import check_in_browser
from tests.reports.in_text import check_text
from tests.reports.whole_report import hostile_report, whole_report
from tests.together import together

Change = Callable[[str], str]


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return whole.rendered(whole_report())


def put(old: str, new: str) -> Change:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return change


FAULTS: dict[str, tuple[str, Change]] = {
    "Elements nest": ("index.html", put("</h1>", "</h2>")),
    "The language is named": ("index.html", put(' lang="en"', "")),
    "The page fits a phone": ("index.html", put("width=device-width", "width=device-width, user-scalable=no")),
    "Every page has a title": ("index.html", lambda text: text.replace("title>", "b>")),
    "Ids are unique": ("index.html", put("<p", '<p id="main"')),
    "One h1, no level skipped": ("index.html", lambda text: text.replace("h2", "h3")),
    "Images have a text": ("training.html", put('alt="', 'alt="" data-alt="')),
    "Form fields have labels": ("claims.html", put('for="words"', 'for="word"')),
    "Links and buttons have names": ("index.html", put(">Summary</a>", "></a>")),
    "Tables name their columns": ("index.html", put(' scope="col"', "")),
    "Scrolling regions can be reached by keyboard": ("index.html", put(' tabindex="0"', "")),
    "Landmarks: one main, and a link that skips to the content": ("index.html", put('href="#main"', 'href="#top"')),
    "What aria-labelledby names is there": ("index.html", put('aria-labelledby="', 'aria-labelledby="no-')),
    "No element carries a script": ("index.html", put("<p", '<p onclick="x()"')),
    "Every link resolves": ("index.html", put('href="matrix.html"', 'href="matrices.html"')),
    "Nothing is loaded from the network": ("index.html", put("<p", '<img alt="x" src="https://example.org/x.png"><p')),
    "Titles differ from page to page": (
        "matrix.html",
        lambda text: text.replace("Every claim and its verdict |", "Mechanisms |"),
    ),
    "junit.xml is well formed, its counts are right": ("junit.xml", put('tests="5"', 'tests="6"')),
    "report.json is what its schema says": ("report.json", put('"schema_version": 1', '"schema_version": 2')),
}


def failing(folder: Path, files: dict[str, str], page: str, change: Change) -> set[str]:
    write.write_files(folder, {**files, page: change(files[page])})
    return {one.name for one in check_text(folder) if not one.passed}


def test_there_is_a_fault_for_every_check(files: dict[str, str], tmp_path: Path) -> None:
    write.write_files(tmp_path, files)
    assert [one.name for one in check_text(tmp_path)] == list(FAULTS)


@together("name", FAULTS)
def test_a_fault_is_found(name: str, files: dict[str, str], tmp_path: Path) -> None:
    assert name in failing(tmp_path, files, *FAULTS[name])


@together(
    ("page", "old", "new"),
    [
        ("index.html", 'href="matrix.html"', 'href="matrix.html#nothing"'),
        ("index.html", 'href="matrix.html"', 'href="../outside.html"'),
        ("claims/T-1.html", 'href="../style.css"', 'href="style.css"'),
        ("training.html", 'src="figures/', 'src="figure/'),
    ],
)
def test_links_that_lead_nowhere_are_found(
    files: dict[str, str], tmp_path: Path, page: str, old: str, new: str
) -> None:
    (tmp_path / "outside.html").write_text("there, but not in the folder")
    assert failing(tmp_path / "report", files, page, put(old, new)) == {"Every link resolves"}


def test_the_list_is_printed_and_its_exit_code_tells(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write.write_files(tmp_path, files)
    assert check_pages.main([str(tmp_path), "--browser", ""]) == 0
    out = capsys.readouterr().out
    assert f"{len(FAULTS)} of {len(FAULTS)} checks pass" in out
    assert "nothing was opened in a browser" in out
    (tmp_path / "matrix.html").unlink()
    assert check_pages.main([str(tmp_path), "--browser", ""]) == 1
    assert "matrix.html leads nowhere" in capsys.readouterr().out


def test_a_folder_without_a_report_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="got no index"):
        check_text(tmp_path)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        pytest.skip("no chromium on this machine")
    with chromium(program) as started:
        yield started


def in_browser(browser: Browser, folder: Path, pages: list[str]) -> dict[str, tuple[str, ...]]:
    return {one.name: one.problems for one in check_in_browser(browser, folder, pages)}


def test_pages_pass_in_the_browser(browser: Browser, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """At a desk and on a phone, in the light and in the dark, whatever the texts are."""
    every = ["index.html", "claims.html", "training.html"]
    if request.config.getoption("--slow"):
        every += ["mechanisms.html", "claims/T-2b.html"]
    write.write_files(tmp_path, whole.rendered(hostile_report()))
    found = in_browser(browser, tmp_path, every)
    assert {key: problems for key, problems in found.items() if problems} == {}
    assert len(found) == 9


BROWSER_FAULTS: dict[str, tuple[str, Change]] = {
    "No console error": ("index.html", put("</main>", "<script>undefinedName()</script></main>")),
    "No request leaves the machine": (
        "index.html",
        put("</main>", '<img alt="" src="http://localhost:9/x.png"></main>'),
    ),
    "No horizontal scrolling": ("index.html", put("<h1>", '<h1 style="width:1400px">')),
    "Contrast of text is at least 4.5, of large text 3": ("style.css", put("--muted: #57606a", "--muted: #aaa")),
    "Pictures are shown": ("training.html", put('src="figures/training-1-curve.svg"', 'src="style.css"')),
    "What is tapped is at least 24 px high": ("style.css", put("min-height: 2.4rem", "height: 1rem; padding: 0")),
    "Search and filters find what they say": ("claims.html", put("texts[place].includes(word)", "true")),
    "A link can set the filters": ("claims.html", put("location.hash.slice(1)", "''")),
    "The first stop is the skip link, which shows and works": ("style.css", put(".skip:focus { left: 1rem;", ".x {")),
}


TOGETHER: tuple[tuple[set[int], set[int]], ...] = (({0, 3, 4, 6}, set()), ({1, 5, 7}, {0, 4}), ({2, 8}, set()))
"""By their places: the faults that are tried in one folder, and the checks that they trip beside their own."""


def test_each_fault_is_found_in_the_browser(
    browser: Browser, files: dict[str, str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Four of them; with `--slow` all."""
    names = list(BROWSER_FAULTS)
    for faults, beside in TOGETHER if request.config.getoption("--slow") else TOGETHER[:1]:
        changed, opened = dict(files), set()
        for page, change in (BROWSER_FAULTS[names[place]] for place in faults):
            changed[page] = change(changed[page])
            opened.add(page if page.endswith(".html") else "claims.html")
        folder = tmp_path / "".join(map(str, faults))
        write.write_files(folder, changed)
        found = in_browser(browser, folder, sorted(opened))
        assert list(found) == names
        assert {names.index(name) for name, problems in found.items() if problems} == faults | beside
    assert set().union(*(faults for faults, _ in TOGETHER)) == set(range(len(names)))
