"""Checks that need no browser: every page is parsed."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag
from xml.etree import ElementTree

import jsonschema

from tests.reports.outcome import Outcome, outcome
from tests.reports.page_tree import Page, parse

Pages = dict[str, Page]
_FROM_ELSEWHERE = re.compile(r"(?:https?:)?//|@import|url\((?!#|['\"]?data:)", re.IGNORECASE)
_ALONE = {"report.html"}  # one page for itself, without a menu or a script

SCHEMA = json.loads((files("ldp_audit.reports") / "report.schema.json").read_text(encoding="utf-8"))
_IN_PART = ("evidence", "audit")
"""Parts whose schema does not list every key: evidence is for `recheck`, an audit is the result of another command."""


def check_text(folder: Path) -> list[Outcome]:
    """Every check of the folder's pages, in order. Raises ValueError where there is no index.html."""
    if not (folder / "index.html").is_file():
        raise ValueError(f"{folder} must hold a report, got no index.html in it")
    files = sorted(path for path in folder.rglob("*.html") if "training" not in path.relative_to(folder).parts[:-1])
    texts = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}
    pages = {name: parse(text) for name, text in texts.items()}
    each: list[tuple[str, str, Callable[[Page], Iterable[str]]]] = [
        ("Elements nest", "parser", lambda page: page.unclosed),
        ("The language is named", "html lang", lambda page: _lacks(page, "html", "lang")),
        ("The page fits a phone", "meta viewport", _viewport),
        ("Every page has a title", "title", lambda page: [] if page.of("title") else ["no title"]),
        ("Ids are unique", "parser", _twice),
        ("One h1, no level skipped", "heading order", _headings),
        ("Images have a text", "alt not empty", lambda page: _lacks(page, "img", "alt")),
        ("Form fields have labels", "label for", _labels),
        ("Links and buttons have names", "text or aria-label", _names),
        ("Tables name their columns", "th scope", lambda page: _lacks(page, "th", "scope")),
        ("Scrolling regions can be reached by keyboard", "role region with tabindex and a name", _regions),
        ("Landmarks: one main, and a link that skips to the content", "main, .skip", _landmarks),
        ("What aria-labelledby names is there", "ids", _labelled),
        ("No element carries a script", "on... attributes, javascript: addresses", _handlers),
    ]
    found = [
        outcome(name, how, len(pages), [f"{page}: {one}" for page, tree in pages.items() for one in look(tree)])
        for name, how, look in each
    ]
    found += [_links(folder, pages), _nothing_from_elsewhere(folder, texts), _titles(pages), _junit(folder)]
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return [*found, outcome("report.json is what its schema says", "jsonschema", 1, misfits(report))]


def _lacks(page: Page, tag: str, attribute: str) -> list[str]:
    return [f"a {tag} without {attribute}" for _, given in page.of(tag) if not given.get(attribute, "").strip()]


def _viewport(page: Page) -> list[str]:
    named = [given.get("content", "") for _, given in page.of("meta") if given.get("name") == "viewport"]
    good = any("width=device-width" in one and "user-scalable=no" not in one for one in named)
    return [] if good else ["no viewport that can be zoomed"]


def _twice(page: Page) -> list[str]:
    ids = page.ids()
    return [f"id {one!r} twice" for one in sorted({one for one in ids if ids.count(one) > 1})]


def _headings(page: Page) -> list[str]:
    levels = [int(tag[1]) for tag, _ in page.of("h1", "h2", "h3", "h4", "h5", "h6")]
    problems = [] if levels[:1] == [1] and levels.count(1) == 1 else [f"h1 {levels.count(1)} times, or not first"]
    return problems + [f"h{b} after h{a}" for a, b in itertools.pairwise(levels) if b > a + 1]


def _labels(page: Page) -> list[str]:
    labelled = {given.get("for") for _, given in page.of("label")}
    fields = page.of("input", "select", "textarea")
    return [f"{tag} without a label" for tag, given in fields if given.get("id") not in labelled]


def _names(page: Page) -> list[str]:
    return [f"{tag} without a name" for tag, words in page.names if not words]


def _regions(page: Page) -> list[str]:
    regions = [given for _, given in page.elements if given.get("role") == "region"]
    return [
        f"a region that cannot be reached: {given}"
        for given in regions
        if "tabindex" not in given or not (given.get("aria-label") or given.get("aria-labelledby"))
    ]


def _landmarks(page: Page) -> list[str]:
    skips = [given.get("href", "#")[1:] for _, given in page.of("a") if given.get("class") == "skip"]
    problems = [] if len(page.of("main")) == 1 else ["not one main"]
    return problems if skips and skips[0] in page.ids() else [*problems, "no link that skips to the content"]


def _labelled(page: Page) -> list[str]:
    named = [one for _, given in page.elements for one in given.get("aria-labelledby", "").split()]
    return [f"{one!r} is not there" for one in named if one not in page.ids()]


def _handlers(page: Page) -> list[str]:
    return [
        f"{tag} {name}={value!r}"
        for tag, given in page.elements
        for name, value in given.items()
        if name.startswith("on") or value.strip().lower().startswith("javascript:")
    ]


def _links(folder: Path, pages: Pages) -> Outcome:
    """Every href and src, to a file in the folder and to an id in it."""
    problems, looked, ids = [], 0, {name: set(page.ids()) for name, page in pages.items()}
    for name, page in pages.items():
        for _, given in page.elements:
            for address in (given[key] for key in ("href", "src", "xlink:href") if key in given):
                looked += 1
                if address.startswith("data:"):
                    continue
                path, mark = urldefrag(address)
                target = (folder / name).parent / unquote(path) if path else folder / name
                inside = target.resolve().is_relative_to(folder.resolve())
                if not inside or not target.is_file():
                    problems.append(f"{name}: {address} leads nowhere")
                elif mark and not _is_filter(path) and unquote(mark) not in _ids_of(target, folder, ids):
                    problems.append(f"{name}: nothing has the id of {address}")
    return outcome("Every link resolves", "all href and src, with their ids", looked, problems)


def _is_filter(path: str) -> bool:
    """Whether what follows # are filters of the claims' list, which a script reads."""
    return path.rpartition("/")[2] == "claims.html"


def _ids_of(target: Path, folder: Path, ids: dict[str, set[str]]) -> set[str]:
    return ids.get(target.resolve().relative_to(folder.resolve()).as_posix(), set())


def _nothing_from_elsewhere(folder: Path, texts: dict[str, str]) -> Outcome:
    """No address of another host in any attribute that loads, and none in a style."""
    problems = []
    for name, text in texts.items():
        for tag, given in parse(text).elements:
            loads = [given.get(key, "") for key in ("src", "srcset", "action", "poster", "data")]
            loads += [given.get("href", "")] if tag in ("link", "a", "use", "image", "base") else []
            loads += [given.get("style", "")]
            problems += [f"{name}: {tag} {one}" for one in loads if _FROM_ELSEWHERE.search(one)]
    styles = sorted(folder.glob("*.css"))
    problems += [path.name for path in styles if _FROM_ELSEWHERE.search(path.read_text(encoding="utf-8"))]
    return outcome("Nothing is loaded from the network", "addresses and styles", len(texts) + len(styles), problems)


def _titles(pages: Pages) -> Outcome:
    """Tabs and results of a search are told apart."""
    seen: dict[str, str] = {}
    problems = []
    for name, page in pages.items():
        title = page.text.partition(" | ldp-audit report")[0] if name not in _ALONE else name
        if title in seen:
            problems.append(f"{name} and {seen[title]}: {title!r}")
        seen[title] = name
    return outcome("Titles differ from page to page", "title", len(pages), problems)


def _junit(folder: Path) -> Outcome:
    """The counts on each suite are those of its cases."""
    path = folder / "junit.xml"
    if not path.exists() and not (folder / "claims.html").exists():
        return outcome("junit.xml is left out without claims", "parser", 1, [])
    try:
        suites = ElementTree.parse(path).getroot().findall("testsuite")
    except (OSError, ElementTree.ParseError) as error:
        return outcome("junit.xml is well formed", "parser", 1, [str(error)])
    problems = []
    for suite in suites:
        cases = suite.findall("testcase")
        for key, found in (
            ("tests", len(cases)),
            ("failures", sum(one.find("failure") is not None for one in cases)),
            ("skipped", sum(one.find("skipped") is not None for one in cases)),
        ):
            if suite.get(key) != str(found):
                problems.append(f"{suite.get('name')}: {key} {suite.get(key)}, {found} found")
    return outcome("junit.xml is well formed, its counts are right", "parser", len(suites), problems)


def misfits(report: dict[str, Any]) -> list[str]:
    """Where a report is not what the schema says; a key that the schema does not describe is one."""
    found = jsonschema.Draft202012Validator(_closed(SCHEMA)).iter_errors(report)
    return [f"{one.json_path}: {one.message}" for one in found]


def _closed(schema: Any) -> Any:
    """The schema without room for further keys."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: one if key in _IN_PART and "properties" in one else _closed(one) for key, one in schema.items()}
    return inner | ({"additionalProperties": False} if "required" in schema else {})
