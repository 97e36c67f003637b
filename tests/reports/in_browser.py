"""Checks in a browser: what a reader at a desk and on a phone sees, in the light and in the dark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.reports.chromium import Browser
from tests.reports.outcome import Outcome, outcome

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}

_WIDER = """(() => {
  const seen = document.documentElement.clientWidth;
  const wide = [...document.querySelectorAll("body *")].filter((one) => {
    const box = one.getBoundingClientRect();
    return box.right > seen + 1 && box.width > 1 && !one.closest(".wide, .formula, .plot, .skip");
  });
  const words = wide.slice(0, 3).map((one) => one.tagName + "." + one.className + " " + one.textContent.slice(0, 30));
  return document.documentElement.scrollWidth > seen ? ["scrolls", ...words] : [];
})()"""

_CONTRAST = """(() => {
  const numbers = (colour) => (colour.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((one) => one / 255).map((one) =>
      one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const found = numbers(getComputedStyle(one).backgroundColor);
      if (found.length === 3 || found[3] > 0) return found;
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  let looked = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || element.closest("script, style, metadata, title, .skip, [hidden]")) continue;
    const style = getComputedStyle(element), size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const own = light(numbers(element.ownerSVGElement ? style.fill : style.color)), other = light(behind(element));
    const ratio = (Math.max(own, other) + 0.05) / (Math.min(own, other) + 0.05);
    looked += 1;
    if (ratio < (large ? 3 : 4.5)) found.push(`${ratio.toFixed(2)} ${element.tagName}.${element.className}`);
  }
  return [looked, [...new Set(found)]];
})()"""

_PICTURES = """[...document.images].filter((one) => !one.complete || !one.naturalWidth).map((one) => one.src)"""
_SMALL = """[...document.querySelectorAll("main button, main input, main select, .site a, .counts a")]
  .filter((one) => one.offsetParent && one.getBoundingClientRect().height < 24).map((one) => one.textContent)"""

_FILTER = """(() => {
  const rows = [...document.querySelectorAll("#claims tbody tr")], kept = () => rows.filter((one) => !one.hidden);
  const set = (name, value) => {
    const field = document.getElementById(name);
    field.value = value;
    field.dispatchEvent(new Event("input", {bubbles: true}));
  };
  const problems = [];
  if (document.getElementById("filter").hidden) problems.push("the filter is hidden");
  for (const name of ["paper", "verdict", "source"]) {
    for (const option of [...document.getElementById(name).options].slice(1)) {
      set(name, option.value);
      const [found, wanted] = [kept().length, rows.filter((one) => one.dataset[name] === option.value).length];
      if (found !== wanted || !wanted) problems.push(`${name} ${option.value}: ${found}, not ${wanted}`);
    }
    set(name, "");
  }
  const id = rows[0].querySelector("a").textContent;
  set("words", id.toUpperCase());
  if (!kept().includes(rows[0])) problems.push(`${id} is not found by its id`);
  if (!location.hash.includes("words")) problems.push("the search is not in the address");
  set("words", "no claim has these words");
  if (kept().length || document.getElementById("none").hidden) problems.push("nothing found, and nothing said");
  if (!document.getElementById("shown").textContent.startsWith("0 of")) problems.push("the count is not said");
  set("words", "");
  return problems.concat(kept().length === rows.length ? [] : ["not all come back"]);
})()"""


def check_in_browser(browser: Browser, folder: Path, names: Sequence[str]) -> list[Outcome]:
    """Every check, on these pages of the folder."""
    said, wide, pale, broken, small = [], [], [], [], []
    asked, texts = [], 0
    for name in names:
        for size, (width, height) in SIZES.items():
            for dark in (False, True):
                where = f"{name}, {size}, {'dark' if dark else 'light'}"
                browser.open((folder / name).resolve().as_uri(), width=width, height=height, dark=dark)
                wide += [f"{where}: {one}" for one in browser.evaluate(_WIDER)]
                looked, found = browser.evaluate(_CONTRAST)
                texts += looked
                pale += [f"{where}: {one}" for one in found]
                broken += [f"{where}: {one}" for one in browser.evaluate(_PICTURES)]
                small += [f"{where}: {one}" for one in browser.evaluate(_SMALL) if size == "phone"]
                said += [f"{where}: {one}" for one in browser.said()]
                asked += [one for one in browser.requested() if not one.startswith(("file:", "data:", "about:"))]
    seen = 4 * len(names)
    return [
        outcome("No console error", "console, exceptions, failed loads", seen, said),
        outcome("No request leaves the machine", "network log", seen, asked),
        outcome("No horizontal scrolling", "desktop 1280, phone 390", seen, wide),
        outcome("Contrast of text is at least 4.5, of large text 3", "computed colours, light and dark", texts, pale),
        outcome("Pictures are shown", "naturalWidth", seen, broken),
        outcome("What is tapped is at least 24 px high", "phone 390", 2 * len(names), small),
        *_behaviour(browser, folder),
    ]


def _behaviour(browser: Browser, folder: Path) -> list[Outcome]:
    """The filter, its address, and the keyboard."""
    address = (folder / "claims.html").resolve().as_uri()
    browser.open(address)
    filters = browser.evaluate(_FILTER) + browser.said()
    verdict = browser.evaluate("document.getElementById('verdict').options[1].value")
    browser.open(f"{address}#verdict={verdict}")
    shown = "[...document.querySelectorAll('#claims tbody tr:not([hidden])')].map((one) => one.dataset.verdict)"
    linked = [] if set(browser.evaluate(shown)) == {verdict} else [f"#verdict={verdict} is not followed"]
    return [
        outcome("Search and filters find what they say", "typed and chosen on claims.html", 1, filters),
        outcome("A link can set the filters", "claims.html#verdict=...", 1, linked),
        outcome("The first stop is the skip link, which shows and works", "Tab, click", 1, _skipped(browser, address)),
    ]


def _skipped(browser: Browser, address: str) -> list[str]:
    browser.open(address)
    browser.press_tab()
    box = "(() => { const one = document.activeElement; return [one.className, one.getBoundingClientRect().left]; })()"
    name, left = browser.evaluate(box)
    problems = [] if name == "skip" and left >= 0 else [f"the first stop is {name!r}, at {left}"]
    browser.evaluate("document.activeElement.click()")
    reached = browser.evaluate("location.hash") == "#main"
    return problems if reached else [*problems, "it leads nowhere"]
