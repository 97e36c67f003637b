"""The opening page, to be understood in a minute: the claims, what is true, and the epsilons."""

from __future__ import annotations

from typing import Any

from ldp_audit.reports import training_page, wording
from ldp_audit.reports.blocks import (
    Badge,
    Block,
    ClaimLink,
    FoundLink,
    Heading,
    Items,
    Paragraph,
    Section,
    SectionLink,
    Shares,
    Span,
    Strong,
    Table,
    Text,
)
from ldp_audit.reports.sections.accounting import spent
from ldp_audit.reports.sections.numbers import grouped, many, short
from ldp_audit.reports.sections.training import HOW

TELLING = ("LF-UNLINK", "LF-EPSTOT", "LF-L2", "FS-L2", "FS-T31pe", "FS-T32eq", "NF-VAC", "NF-FLAT", "NF-TAB2ln")
"""Claims that say most about a paper, shown first if they are refuted or vacuous; else the first such ones are."""

PROTOCOLS = ("ldp-fl-mnist", "fedsel-adult", "fedmd-nfdp-femnist-300")
"""One protocol of each paper, shown if accounted for; else the first three are."""

_SHOWN = 3
_FALSE = ("REFUTED", "VACUOUS")


def summary(report: dict[str, Any]) -> Section:
    """Three parts of a few lines each, with links to the sections."""
    papers = [paper for paper in report["papers"] if _own(report, paper)]
    blocks: list[Block] = [Paragraph(_lead(report, papers), "lead")]
    blocks += [Paragraph(f"Not settled, as it is not well formed: {error}", "note") for error in report["failed"]]
    blocks += _claimed(report, papers)
    blocks += _all_verdicts(report, papers)
    blocks += _costs(report)
    blocks += _by_paper(report, papers)
    return Section("index", _title(papers), blocks)


def _title(papers: list[dict[str, Any]]) -> str:
    if not papers:
        return "What is claimed, and what is true"
    return f"What {'a paper claims' if len(papers) == 1 else f'{len(papers)} papers claim'}, and what is true"


def _own(report: dict[str, Any], paper: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in report["claims"] if one["paper"] == paper["key"] and one["source"] == "paper"]


def _own_claims(report: dict[str, Any], paper: dict[str, Any]) -> list[dict[str, Any]]:
    """The paper's own claims, or all claims of its file if it has none."""
    return _own(report, paper) or [one for one in report["claims"] if one["paper"] == paper["key"]]


def _counts(claims: list[dict[str, Any]]) -> dict[str, int]:
    found = {word: sum(one["verdict"] == word for one in claims) for word in wording.VERDICTS}
    return {word: count for word, count in found.items() if count}


def _lead(report: dict[str, Any], papers: list[dict[str, Any]]) -> Text:
    own = [one for paper in papers for one in _own(report, paper)]
    if not own:
        return f"{wording.counted(report)}, each settled with evidence that can be checked again.".capitalize()
    counts = _counts(own)
    held = sum(counts.get(word, 0) for word in ("PROVED", "ENUMERATED"))
    found: list[Span] = [
        f"Of {many(len(own), 'claim')} in {many(len(papers), 'paper')}, ",
        Strong(f"{held} hold as stated"),
        ", ",
        Strong(f"{counts.get('REFUTED', 0)} do not hold"),
    ]
    if counts.get("CONDITIONAL"):
        found.append(f", {counts['CONDITIONAL']} hold only under an assumption that is not stated")
    if counts.get("VACUOUS"):
        found.append(f", {counts['VACUOUS']} hold but promise nothing")
    rest = len(own) - held - sum(counts.get(word, 0) for word in ("REFUTED", "CONDITIONAL", "VACUOUS"))
    if rest:
        found.append(f", {rest} could not be settled by an engine")
    return [*found, ". Every proof and every counterexample is here, to be checked by hand or by program."]


def _claimed(report: dict[str, Any], papers: list[dict[str, Any]]) -> list[Block]:
    rows: list[list[Text]] = []
    for paper in papers or report["papers"]:
        about = ", ".join(part for part in (paper["authors"], paper["venue"]) if part)
        rows.append([FoundLink(paper["title"], paper["key"]), about or "–", str(len(_own_claims(report, paper)))])
    others = report["not_the_papers"]
    blocks: list[Block] = [Heading("What was claimed", "claimed")]
    if rows:
        name = "paper" if papers else "source"
        blocks.append(
            Table(f"{name.capitalize()}s and how many of their claims were settled", [name, "by", "claims"], rows)
        )
    if others:
        more = " more" if papers else ""
        what = f"{others}{more} {'claim is' if others == 1 else 'claims are'} not a paper's own: consequences that we "
        what += "quantified, claims about programs, readings of a damaged conversion."
        blocks.append(Paragraph([what, " All are in the ", FoundLink("list of claims"), "."], "note"))
    return blocks


def _all_verdicts(report: dict[str, Any], papers: list[dict[str, Any]]) -> list[Block]:
    """All verdicts in one bar, and the most important claim of each paper."""
    own = [one for paper in papers for one in _own(report, paper)] or report["claims"]
    told = [one for paper in papers for one in _important(_own(report, paper))[:1]] or _important(own)[:_SHOWN]
    blocks: list[Block] = [Heading("What is true", "true"), Shares(_counts(own))]
    if told:
        blocks.append(_corrections("The most important claim that fails in each paper", told))
    return [*blocks, Paragraph(["Every claim in one picture: ", SectionLink("verdict matrix", "matrix"), "."])]


def _by_paper(report: dict[str, Any], papers: list[dict[str, Any]]) -> list[Block]:
    """Each paper's verdicts with up to three claims that fail, and the meaning of the verdicts."""
    blocks: list[Block] = [Heading("Paper by paper", "papers")]
    for paper in papers or report["papers"]:
        mine = _own_claims(report, paper)
        told = _important(mine)
        blocks += [Heading(paper["title"], f"paper-{paper['key']}", 2), Shares(_counts(mine), paper["key"])]
        if told:
            caption = f"{min(_SHOWN, len(told))} of {len(told)} that do not hold or promise nothing"
            blocks.append(_corrections(caption, told[:_SHOWN]))
    found: list[Text] = [[Badge(word), f" {_meaning(word)}."] for word in _counts(report["claims"])]
    return [*blocks, Heading("How to read a verdict", "verdicts"), Items(found)]


def _meaning(verdict: str) -> str:
    return wording.VERDICTS[verdict].partition(";")[0]


def _important(claims: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The refuted or vacuous claims, those of `TELLING` first."""
    false = [one for one in claims if one["verdict"] in _FALSE]
    return sorted(false, key=lambda one: TELLING.index(one["id"]) if one["id"] in TELLING else len(TELLING))


def _corrections(caption: str, claims: list[dict[str, Any]]) -> Table:
    rows: list[list[Text]] = [
        [
            [ClaimLink(one["id"], one["paper"]), " ", Badge(wording.badge(one), one["verdict"])],
            f"{one['statement']} ({one['place']})",
            one["corrected"]["statement"] if one["corrected"] else "See the counterexample on its page.",
        ]
        for one in claims
    ]
    return Table(caption, ["claim", "claimed", "true"], rows)


def _costs(report: dict[str, Any]) -> list[Block]:
    blocks: list[Block] = [Heading("What it costs", "costs")]
    protocols = [one for key in PROTOCOLS for one in report["accounting"] if one["key"] == key] or report["accounting"]
    if protocols:
        head = ["a whole run of", "neighbours", "epsilon, says the paper", "exact, by name", "exact, shuffled"]
        rows = [[one["protocol"]["name"], one["protocol"]["adjacency"], *spent(one)] for one in protocols[:_SHOWN]]
        says = f"Epsilon of whole runs, exact at delta = {short(protocols[0]['delta'])}"
        more = ["All protocols, in every convention: ", SectionLink("accounting", "accounting"), "."]
        blocks += [Table(says, head, rows), Paragraph(more)]
    blocks += [_programs(report)] if report["implementation"] or report["audits"] else []
    if not report["training"]:
        return [*blocks, Paragraph(HOW, "note")]
    head = ["training", "accuracy without privacy", "best accuracy with", "exact epsilon of that run", "the paper's"]
    rows = [_trained(one["results"]) for one in report["training"]]
    more = ["All points, findings and figures: ", SectionLink("training", "training"), "."]
    return [
        *blocks,
        Table("Accuracy at the best point of each kind; their other settings may differ", head, rows),
        Paragraph(more),
    ]


def _programs(report: dict[str, Any]) -> Paragraph:
    runs, found = report["implementation"], report["audits"]
    broken = sum(one["verdict"] == "violated" for one in runs)
    bad = sum(one["verdict"] == "violated" for one in found)
    text: list[Span] = []
    if runs:
        text.append(f"{broken} of {many(len(runs), 'run')} of textbook programs do not keep what they have on paper: ")
        text += [SectionLink("implementation findings", "implementation"), ". "]
    if found:
        text += [f"{bad} of {many(len(found), 'audit')} found a violation: ", SectionLink("audits", "audits"), "."]
    return Paragraph(text)


def _trained(results: dict[str, Any]) -> list[Text]:
    """Accuracy without and with privacy, at the best point of each kind: if possible one with a published number."""
    spend = {str(one["settings"]): one for one in results["spend"]}
    private = [one for one in results["points"] if str(one["settings"]) in spend]
    other = [one for one in results["points"] if str(one["settings"]) not in spend]
    counted = [one for one in private if (spend[str(one["settings"])]["claimed"] or {}).get("epsilon") is not None]
    best = [max(kind, key=lambda one: one["accuracy"]["mean"], default=None) for kind in (other, counted or private)]
    cells = ["–" if one is None else training_page.accuracy(one["accuracy"]) for one in best]
    cost = training_page.spent(spend[str(best[1]["settings"])], shuffled=False) if best[1] else ["–", "–"]
    return [training_page.title(results), *cells, *map(grouped, cost)]
