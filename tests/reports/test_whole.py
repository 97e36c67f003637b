"""The whole report: every form has the same content, every link resolves, and markup stays text."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ldp_audit.reports import blocks, markdown, write
from ldp_audit.reports.blocks_markdown import text as markdown_text
from ldp_audit.reports.sections import all_sections, whole
from tests.reports.in_text import check_text
from tests.reports.page_tree import parse
from tests.reports.whole_report import (
    HOSTILE,
    audits_alone,
    hostile_report,
    of_ones_own,
    whole_report,
    without_sections,
)
from tests.together import together

REPORTS = {
    "plain": whole_report,
    "hostile": hostile_report,
    "claims alone": lambda: without_sections(whole_report()),
    "one's own": lambda: of_ones_own(whole_report()),
    "hostile, one's own": lambda: of_ones_own(hostile_report()),
    "audits alone": lambda: audits_alone(whole_report()),
}


@pytest.fixture(scope="module", params=REPORTS)
def report(request: pytest.FixtureRequest) -> dict[str, Any]:
    return json.loads(json.dumps(REPORTS[request.param]()))


@pytest.fixture(scope="module")
def files(report: dict[str, Any]) -> dict[str, str]:
    return whole.rendered(report)


def words_of(text: blocks.Text) -> str:
    """A text without its marks, as a reader sees it."""
    return " ".join(
        "".join(
            one if isinstance(one, str) else getattr(one, "text", "") or getattr(one, "id", "")
            for one in blocks.spans(text)
            if not isinstance(one, blocks.Mathematics | blocks.Strip)
        ).split()
    )


def texts(block: blocks.Block) -> list[str]:
    """Everything that a block says."""
    match block:
        case blocks.Paragraph() | blocks.Heading():
            return [words_of(block.text)]
        case blocks.CaptionedTable():
            return [block.caption, *block.head, *(words_of(cell) for row in block.rows for cell in row)]
        case blocks.Items():
            return [words_of(item) for item in block.items]
        case blocks.Picture():
            return [f"{block.figure['title']}.", block.figure["caption"]]
        case blocks.Shares():
            return [f"{count} {verdict}" for verdict, count in block.counts.items()]
        case blocks.Tiles():
            return [words for tile in block.tiles for words in (tile.name, tile.place)]
        case blocks.Formula():
            return []


def unescaped(markdown: str) -> str:
    """Markdown's text: without escapes, marks of links, fences and emphasis of ours."""
    plain = re.sub(r"(?<!\\)\]\(#?[^)\s]*\)", "", markdown)
    plain = re.sub(r"(?<!\\)(?:\[|\*\*|`+)", "", plain)
    return " ".join(re.sub(r"\\([\\`*_{}\[\]<>#|$])", r"\1", plain).split())


def test_every_block_is_on_its_page_and_in_the_markdown(report: dict[str, Any], files: dict[str, str]) -> None:
    """Catches a kind of block that one form leaves out, and texts that one form changes."""
    readable = unescaped(files["report.md"])
    seen = 0
    for section in all_sections(report):
        page = parse(files[f"{section.key}.html"]).text
        for text in (one for block in section.blocks for one in texts(block)):
            seen += 1
            assert " ".join(text.split()) in page
            if HOSTILE not in text:  # its own brackets and fences are no marks of ours
                assert text in readable
    assert seen > 10


def test_what_is_left_out_has_no_page_and_no_place_in_the_menu() -> None:
    menus = {
        kind: re.findall(r'href="(\w+)\.html"', whole.rendered(REPORTS[kind]())["index.html"].partition("</header>")[0])
        for kind in ("plain", "claims alone", "audits alone")
    }
    more = {"mechanisms", "implementation", "audits", "accounting", "training"}
    assert set(menus["plain"]) - set(menus["claims alone"]) == more
    assert set(menus["audits alone"]) == {"index", "audits"}
    for kind, menu in menus.items():
        pages = {name for name in whole.rendered(REPORTS[kind]()) if name.endswith(".html") and "/" not in name}
        assert pages - {"report.html"} == {f"{name}.html" for name in menu}


def test_a_document_of_ones_own_opens_with_what_holds_and_ends_with_what_repeats_it() -> None:
    page = parse(whole.rendered(of_ones_own(whole_report()))["index.html"]).text
    order = [
        "1 of 1 audit found a violation",
        "What is claimed, and what holds",
        "What the programs show",
        "The mechanism: plain words",
        "What repeats it",
    ]
    assert sorted(order, key=page.index) == order
    assert "ldp-audit report plain words" in page
    assert "A page per paper" not in page


def test_an_audit_is_drawn_with_its_claim_and_the_truth() -> None:
    report = whole_report()
    report["audits"][0] |= {"exact_epsilon": 2.0, "detectable_epsilon": 1.1}
    page = whole.rendered(report)["audits.html"]
    assert re.search(r'class="low beyond" style="width:100.0%', page)  # 3.5, on an axis to 2.2 times the claim of 1
    places = dict(re.findall(r'class="(claim|detectable|truth)" style="left:([\d.]+)%', page))
    assert {name: float(place) for name, place in places.items()} == {
        "claim": pytest.approx(100 / 2.2, abs=0.01),
        "detectable": 50.0,
        "truth": pytest.approx(200 / 2.2, abs=0.01),
    }


def test_every_number_of_a_section_is_in_the_json(files: dict[str, str]) -> None:
    report = json.loads(files["report.json"])
    assert report.keys() >= {"claims", "papers", "mechanisms", "implementation", "audits", "accounting", "training"}
    if report["audits"]:
        page = parse(files["audits.html"]).text
        assert "3.5" in page
        assert report["audits"][0]["epsilon_lower"] == 3.5
        assert f"{report['audits'][0]['samples_used']:,}" in page


def test_each_claim_has_a_page_with_its_verdict_place_and_neighbours(
    report: dict[str, Any], files: dict[str, str]
) -> None:
    pages = {name: text for name, text in files.items() if name.startswith("claims/")}
    assert len(pages) == len(report["claims"])
    for claim, text in zip(report["claims"], pages.values(), strict=True):
        page = parse(text)
        statement = re.sub("`([^`]*)`", r"\1", claim["statement"])  # set as code
        for wanted in (claim["id"], claim["verdict"], f"Where: {claim['place']}", statement):
            assert " ".join(wanted.split()) in page.text
        assert [given["rel"] for _, given in page.of("a") if "rel" in given] in (["prev", "next"], ["prev"], ["next"])


def test_every_check_of_the_pages_passes(files: dict[str, str], tmp_path: Path) -> None:
    write.write_files(tmp_path, files)
    failed = [one.describe() for one in check_text(tmp_path) if not one.passed]
    assert failed == []


def test_markup_stays_text_on_every_page() -> None:
    """Catches any `| safe`, any text that reaches an attribute without quotes, and an id that becomes markup."""
    files = whole.rendered(hostile_report())
    for name, text in files.items():
        if name.endswith(".html"):
            page = parse(text)
            own = len(page.of("script"))
            assert own == (1 if name == "claims.html" else 0), name
            assert all("onerror" not in given for _, given in page.elements), name
            assert "<script>alert" not in text.replace(html.escape("<script>alert"), ""), name
            assert "{{ 7*7 }}" in text or "49" not in text


def test_markup_stays_text_in_markdown() -> None:
    outside_code = re.sub(r"(`+).*?\1|\$\$.*?\$\$", "", whole.rendered(hostile_report())["report.md"], flags=re.DOTALL)
    assert not re.search(r"(?<!\\)<(?:script|img)", outside_code)
    assert not re.search(r"(?<!\\)\]\(javascript", outside_code)


def test_mathematics_in_markdown_cannot_be_left() -> None:
    assert markdown.formula(r"\frac12") == r"$$\frac12$$"
    assert markdown.formula("x$$ <b> `y`") == "``x$$ <b> `y```"


def test_no_file_leaves_the_folder() -> None:
    for name in whole.rendered(hostile_report()):
        assert re.fullmatch(r"(?:claims/|papers/|figures/)?[A-Za-z0-9][A-Za-z0-9._-]*", name), name
        assert ".." not in name


@together("name", ["../x", "a/b", "", "a b", "x.svg", ".hidden", 7])
def test_a_figure_whose_name_is_no_file_name_is_refused(name: object) -> None:
    report = whole_report()
    report["figures"][0]["name"] = name
    with pytest.raises(ValueError, match="figure's name must be"):
        whole.rendered(report)


def test_two_figures_of_one_name_are_refused() -> None:
    report = whole_report()
    report["training"][0]["figures"][0]["name"] = report["figures"][0]["name"]
    with pytest.raises(ValueError, match="twice"):
        whole.rendered(report)


def test_equal_reports_give_equal_files() -> None:
    report = whole_report()
    assert whole.rendered(report) == whole.rendered(json.loads(json.dumps(report)))


def test_a_report_whose_claims_are_no_papers_names_where_they_are_from() -> None:
    report = whole_report()
    for claim in report["claims"]:
        claim["source"] = "derived"
    report["not_the_papers"] = len(report["claims"])
    page = whole.rendered(report)["index.html"]
    assert f"{len(report['claims'])} claims are not a paper's own" in html.unescape(page)
    assert "more claims" not in page
    assert all(paper["title"] in page for paper in report["papers"])


def test_a_consistent_audit_never_comes_without_what_it_could_not_see() -> None:
    report = whole_report()
    report["audits"][0] |= {"verdict": "consistent", "delta_lower": 0.0}
    page = parse(whole.rendered(report)["audits.html"]).text
    assert "Consistent is no proof" in page
    assert "events rarer than 0.062 may have been missed" in page


def test_markdown_spans_are_escaped() -> None:
    assert markdown_text(["a|b ", blocks.Strong("*c*"), blocks.Code("d|`e`")]) == r"a\|b **\*c\***``d\|`e```"


def test_what_no_paper_claims_is_under_no_papers_title_and_in_no_verdicts_colour() -> None:
    """Catches a red tile under an author's title for a statement that the authors do not make."""
    report = whole_report()
    own = {one["id"] for one in report["claims"] if one["source"] == "paper"}
    section = next(one for one in all_sections(report) if one.key == "matrix")
    title, seen = "", []
    for block in section.blocks:
        match block:
            case blocks.Heading(level=1):
                title = block.text
            case blocks.Tiles():
                for tile in block.tiles:
                    seen.append(tile.link.id)
                    named = title in {paper["title"] for paper in report["papers"]}
                    assert named == tile.coloured == (tile.link.id in own)
    assert sorted(seen) == sorted(one["id"] for one in report["claims"])
    files = whole.rendered(report)
    assert re.search(r'class="tile" href="claims/FP-1', files["matrix.html"])
    alone = next(text for name, text in files.items() if name.startswith("claims/FP-1"))
    assert 'class="badge beside">PROVED' in alone
    assert 'class="badge PROVED">PROVED' not in alone.partition("</h1>")[0]
    page = parse(files["papers/b.html"]).text
    assert page.index("T-2 The other's id") < page.index("What we asked beside its claims") < page.index("FP-1")


@together("cases", [2, 6, 7, 40])
def test_a_distribution_of_more_than_six_lines_is_folded(cases: int) -> None:
    report = of_ones_own(whole_report())
    report["papers"][0]["mechanisms"][0]["latex"] = r" \\ ".join(["p"] * cases)
    files = whole.rendered(report)
    shown = [f"The whole distribution, {cases} lines" in files[name] for name in ("index.html", "papers/a.html")]
    assert shown == [cases > 6] * 2


def test_a_correction_is_said_once() -> None:
    """Catches a formula in plain characters beside the same one typeset."""
    report = whole_report()
    false = next(one for one in report["claims"] if one["verdict"] == "REFUTED" and one["corrected"])
    false["corrected"] |= {"statement": "Noise is larger. The ratio is t (t + 1)/(t + 2).", "latex": r"\frac{t}{2}"}
    page = whole.rendered(report)["index.html"]
    assert "Noise is larger." in page
    assert "The ratio is t (t + 1)/(t + 2)." not in re.sub(r'aria-label="[^"]*"', "", page)
    false["corrected"]["latex"] = ""
    assert "The ratio is t (t + 1)/(t + 2)." in whole.rendered(report)["index.html"]


def test_the_account_of_all_protocols_stays_a_table_on_a_phone() -> None:
    page = whole.rendered(whole_report())
    assert page["accounting.html"].count('class="wide scrolls"') == 1
    assert 'class="wide scrolls"' not in page["audits.html"]
    assert ".scrolls tr { display: table-row; }" in page["style.css"]
