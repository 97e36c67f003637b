"""The HTML report: self-contained, escaped, with every claim, its verdict and its evidence."""

from __future__ import annotations

import itertools
import re
from html.parser import HTMLParser

from ldp_audit.claims import at_most, equal
from ldp_audit.claims.claim import Claim, Condition, Correction, Paper, Reading
from ldp_audit.claims.settling import settle_claim
from ldp_audit.figure import Figure, Panel, Series
from ldp_audit.mechanisms.channel import SymbolicChannel
from ldp_audit.mechanisms.variable import Variable
from ldp_audit.mechanisms.weights import SymbolicWeights
from ldp_audit.reports import document, html, write

HOSTILE = "<script>alert(1)</script> & \"quotes\" '</style>' <img src=x onerror=y>"
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Tree(HTMLParser):
    """Collects ids, links and tags, and checks that tags nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.tags.add(tag)
        self.ids += [named["id"] or ""] if "id" in named else []
        self.links += [named["href"] or ""] if tag == "a" else []
        self.sources += [value or "" for key, value in attrs if key in ("src", "href", "xlink:href") and tag != "a"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()


def parse(page: str) -> Tree:
    tree = Tree()
    tree.feed(page)
    assert not tree.open
    return tree


def test_every_claim_has_its_article_and_every_link_its_target(paper_report: dict) -> None:
    tree = parse(html.render(paper_report))
    claims = {claim["id"] for claim in paper_report["claims"]}
    assert claims <= set(tree.ids)
    assert len(tree.ids) == len(set(tree.ids))
    assert {link.removeprefix("#") for link in tree.links} <= set(tree.ids)


def test_nothing_is_loaded_from_anywhere(paper_report: dict) -> None:
    page = html.render(paper_report)
    tree = parse(page)
    assert not {"script", "link", "iframe", "img", "object"} & tree.tags
    assert all(source.startswith("#") for source in tree.sources)
    assert not re.search(r"url\((?!#)|@import", page)


def test_each_verdict_and_each_counterexample_is_on_the_page(paper_report: dict) -> None:
    page = html.render(paper_report)
    for claim in paper_report["claims"]:
        article = page[page.index(f'<article id="{claim["id"]}"') :].split("</article>")[0]
        assert claim["verdict"] in article
        assert ("Counterexample." in article) == (claim["counterexample"] is not None)
        assert not claim["latex"] or "<math" in article


def test_headings_do_not_skip_a_level(paper_report: dict) -> None:
    levels = [int(level) for level in re.findall(r"<h([1-6])", html.render(paper_report))]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def hostile_report() -> dict:
    x = Variable("x", 0, 1)
    claim = Claim(
        id="X-1",
        place=HOSTILE,
        says=HOSTILE,
        latex=r"x < \text{" + HOSTILE.replace("&", "and").replace('"', "") + "}",
        parts=(at_most(x, 0, HOSTILE), equal(x, x, HOSTILE)),
        condition=Condition(HOSTILE, (Variable("x", 0, 0),)),
        looked=HOSTILE,
        another=Reading(HOSTILE, (at_most(x, 0, HOSTILE),)),
        corrected=Correction(HOSTILE, "", (at_most(x, 1, HOSTILE),)),
        assumptions=(HOSTILE,),
        rests_on=(HOSTILE,),
        sizes=HOSTILE,
        argument=HOSTILE,
    )
    laws = (SymbolicChannel(HOSTILE, (), {1: 1}), SymbolicWeights(HOSTILE, [(HOSTILE, 1, 1)]))
    paper = Paper("key", HOSTILE, HOSTILE, HOSTILE, (claim,), mechanisms=laws)
    panel = Panel(HOSTILE, HOSTILE, HOSTILE, (Series(HOSTILE, [0, 1], [0, 1]),))
    figure = Figure("figure", HOSTILE, HOSTILE, HOSTILE, (panel,))
    return document.build([(paper, [settle_claim(claim)])], [("key", figure)])


def test_markup_in_a_claim_stays_text() -> None:
    page = html.render(hostile_report())
    assert not {"script", "img"} & parse(page).tags
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_markup_in_an_id_stays_text() -> None:
    claim = Claim('"><script>', "here", "an id with markup")
    page = html.render(document.build([(Paper("k", "t", claims=(claim,)), [settle_claim(claim)])]))
    assert "<script" not in page


def test_equal_reports_give_equal_pages(paper_report: dict) -> None:
    assert html.render(paper_report) == html.render(paper_report)


def test_several_papers_get_an_index_and_a_page_each() -> None:
    x = Variable("x", 0, 1)
    claims = (
        Claim("A<b>", "here", "one", parts=(at_most(x, 0),)),
        Claim("B", "there", "second one", parts=(at_most(x, 2),)),
    )
    papers = [Paper(key, f"<i>{key}</i>", claims=(claim,)) for key, claim in zip("ab", claims, strict=True)]
    report = document.build([(paper, [settle_claim(paper.claims[0])]) for paper in papers])
    files = write.rendered(report)
    assert {"index.html", "a.html", "b.html", "report.html", "report.json", "report.md"} <= set(files)
    assert "<i>" not in files["index.html"]
    assert 'href="a.html#A&lt;b&gt;"' in files["index.html"]
    assert "second one" not in files["a.html"]
    assert document.of_paper(report, "b")["summary"] == {"PROVED": 1}
    parse(files["index.html"])
