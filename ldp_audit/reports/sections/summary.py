"""The opening page, to be understood in a minute: the claims, what is true, and the epsilons."""

from __future__ import annotations

import re
from typing import Any

from ldp_audit.reports import training_page, wording
from ldp_audit.reports.blocks import (
    Badge,
    Block,
    CaptionedTable,
    ClaimLink,
    Code,
    Formula,
    FoundLink,
    Heading,
    Items,
    Mathematics,
    Paragraph,
    Picture,
    Section,
    SectionLink,
    Shares,
    Span,
    Strong,
    Text,
)
from ldp_audit.reports.document import is_own
from ldp_audit.reports.sections.accounting import spent
from ldp_audit.reports.sections.audits import overview
from ldp_audit.reports.sections.matrix import counts
from ldp_audit.reports.sections.numbers import grouped, many, short

_SHOWN = 3
_FALSE = ("REFUTED", "VACUOUS")


def summary(report: dict[str, Any]) -> Section:
    """Papers: three parts of a few lines each, with links to the sections. One's own things: `_of_ones_own`."""
    papers = [paper for paper in report["papers"] if _own(report, paper)]
    made = report.get("made")
    blocks: list[Block] = [Paragraph(_lead(report, papers), "lead")] if report["claims"] else []
    blocks += [_programs(report)] if report["implementation"] or report["audits"] else []
    blocks += [Paragraph(f"Not settled, as it is not well formed: {error}", "note") for error in report["failed"]]
    if is_own(report):
        blocks += _of_ones_own(report)
    else:
        blocks += _all_verdicts(report, papers)
        blocks += _claimed(report, papers)
        blocks += _costs(report)
        blocks += _by_paper(report, papers)
    blocks += _made(made, report["tool"]) if made else []
    return Section("index", _title(report, papers), blocks)


def _of_ones_own(report: dict[str, Any]) -> list[Block]:
    """What is claimed and what holds, the audits, the accounts, the mechanisms: what there is of them."""
    blocks: list[Block] = []
    if report["claims"]:
        rows: list[list[Text]] = [
            [_named(one), _set(one["statement"], one["latex"], one["place"]), _instead(one)] for one in report["claims"]
        ]
        blocks += [Heading("What is claimed, and what holds", "claimed"), Shares(counts(report["claims"]))]
        blocks.append(CaptionedTable("Every claim", ["claim", "claimed", "instead"], rows))
    if report["audits"]:
        blocks += [Heading("What the programs show", "audited"), *overview(report["audits"])]
    if report["accounting"]:
        blocks += [Heading("What is spent", "spent"), *_spent(report["accounting"])]
    if report["training"]:
        blocks += [Heading("What training keeps of the accuracy", "trained"), *_accuracies(report)]
    for paper in report["papers"]:
        for place, one in enumerate(paper["mechanisms"], start=1):
            blocks += _mechanism(one, f"mechanism-{paper['key']}-{place}")
    return blocks


def _mechanism(one: dict[str, Any], name: str) -> list[Block]:
    blocks: list[Block] = [Heading(f"The mechanism: {one['name']}", name)]
    blocks.append(Formula(one["latex"], f"distribution of {one['name']}", wording.folded(one["latex"])))
    domains = [f"private: {', '.join(one['private'])}"] if one["private"] else []
    domains += [f"public: {', '.join(one['public'])}"] if one["public"] else []
    blocks.append(Paragraph("; ".join(domains), "note"))
    for words, latex in (("Mean", one.get("mean_latex")), ("Variance", one.get("variance_latex"))):
        if latex:
            blocks += [Paragraph(f"{words} of the report:"), Formula(latex, f"{words.lower()} of {one['name']}")]
    if one.get("at"):
        rows: list[list[Text]] = [
            [short(at["epsilon"]), short(at["exact_epsilon"], 10), " and ".join(short(x) for x in at["worst_pair"])]
            for at in one["at"]
        ]
        head = ["epsilon in the definition", "exact epsilon", "attained by the inputs"]
        blocks.append(CaptionedTable(f"The exact epsilon of {one['name']}", head, rows))
    return [*blocks, Picture(one["figure"])] if one.get("figure") else blocks


def _made(made: dict[str, Any], tool: dict[str, Any]) -> list[Block]:
    """The command, its day, its inputs and the versions: what repeats the document."""
    versions = ", ".join(f"{name} {number}" for name, number in tool.items() if name not in ("name", "version"))
    rows: list[list[Text]] = [
        ["command", Code(made["command"])],
        ["date", made["date"]],
        ["versions", f"{tool['name']} {tool['version']}, {versions}"],
        *([one["file"], [f"{one['bytes']:,} bytes, SHA-256 ", Code(one["sha256"])]] for one in made["inputs"]),
    ]
    return [
        Heading("How this document was made", "made"),
        CaptionedTable("What repeats it", ["of this document", "value"], rows),
    ]


def _named(one: dict[str, Any]) -> list[Span]:
    name = [f"{one['name']}: "] if one.get("name") else []
    return [*name, ClaimLink(one["id"], one["paper"]), " ", Badge(wording.badge(one), one["verdict"])]


def _set(words: str, latex: str, place: str = "") -> list[Span]:
    """A sentence, and its formula typeset."""
    found: list[Span] = [f"{words} ({place})" if place else words]
    return [*found, " ", Mathematics(latex, words)] if latex else found


def _corrected(words: str, latex: str) -> list[Span]:
    """A correction: its formula typeset, and the sentences that are no formulas in plain characters."""
    sentences = re.split(r"(?<=\.) (?=[A-Z])", words)
    plain = " ".join(one for one in sentences if not re.search(r"[=^*<>]|/ ?\(|\) ?/", one))
    return [*([plain, " "] if plain else []), Mathematics(latex, words)] if latex else [words]


def _instead(one: dict[str, Any]) -> Text:
    if one["corrected"]:
        return _corrected(one["corrected"]["statement"], one["corrected"]["latex"])
    return [Code(wording.counterexample(one))] if wording.counterexample(one) else "–"


def _title(report: dict[str, Any], papers: list[dict[str, Any]]) -> str:
    if report["papers"] and is_own(report):
        return f"Report on {', '.join(paper['title'].rstrip('.') for paper in report['papers'])}"
    if not report["claims"] and report["audits"]:
        return many(len(report["audits"]), "audit")
    if not papers:
        return "What is claimed, and what is true"
    return f"What {'a paper claims' if len(papers) == 1 else f'{len(papers)} papers claim'}, and what is true"


def _own(report: dict[str, Any], paper: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in report["claims"] if one["paper"] == paper["key"] and one["source"] == "paper"]


def _own_claims(report: dict[str, Any], paper: dict[str, Any]) -> list[dict[str, Any]]:
    """The paper's own claims, or all claims of its file if it has none."""
    return _own(report, paper) or [one for one in report["claims"] if one["paper"] == paper["key"]]


def _lead(report: dict[str, Any], papers: list[dict[str, Any]]) -> Text:
    own = [one for paper in papers for one in _own(report, paper)]
    if not own:
        return f"{wording.counted(report)}, each settled with evidence that can be checked again.".capitalize()
    each = counts(own)
    held, refuted = sum(each.get(word, 0) for word in ("PROVED", "ENUMERATED")), each.get("REFUTED", 0)
    found: list[Span] = [
        f"Of {many(len(own), 'claim')}{f' in {len(papers)} papers' if len(papers) > 1 else ''}, ",
        Strong(_holding(held, "as stated")),
        ", ",
        Strong(f"{refuted} {'does' if refuted == 1 else 'do'} not hold"),
    ]
    if each.get("CONDITIONAL"):
        found.append(f", {_holding(each['CONDITIONAL'], 'only under an assumption that is not stated')}")
    if each.get("VACUOUS"):
        found.append(f", {_holding(each['VACUOUS'], 'but')} promise{'s' * (each['VACUOUS'] == 1)} nothing")
    rest = len(own) - held - sum(each.get(word, 0) for word in ("REFUTED", "CONDITIONAL", "VACUOUS"))
    if rest:
        found.append(f", {rest} could not be settled by an engine")
    return [*found, ". Every proof and every counterexample is here, to be checked by hand or by program."]


def _holding(count: int, how: str) -> str:
    return f"{count} {'holds' if count == 1 else 'hold'} {how}"


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
            CaptionedTable(
                f"{name.capitalize()}s and how many of their claims were settled", [name, "by", "claims"], rows
            )
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
    told = [one for paper in papers for one in _important(_own(report, paper), papers)[:1]]
    told = told or _important(own, papers)[:_SHOWN]
    blocks: list[Block] = [Heading("What is true", "true"), Shares(counts(own))]
    if told:
        blocks.append(_corrections("The most important claim that fails in each paper", told))
    return [*blocks, Paragraph(["Every claim in one picture: ", SectionLink("verdicts", "matrix"), "."])]


def _by_paper(report: dict[str, Any], papers: list[dict[str, Any]]) -> list[Block]:
    """Each paper's verdicts with up to three claims that fail, and the meaning of the verdicts."""
    blocks: list[Block] = [Heading("Paper by paper", "papers")]
    for paper in papers or report["papers"]:
        mine = _own_claims(report, paper)
        told = _important(mine, [paper])
        blocks += [Heading(paper["title"], f"paper-{paper['key']}", 2), Shares(counts(mine), paper["key"])]
        if told:
            caption = f"{min(_SHOWN, len(told))} of {len(told)} that do not hold or promise nothing"
            blocks.append(_corrections(caption, told[:_SHOWN]))
    found: list[Text] = [[Badge(word), f" {_meaning(word)}."] for word in counts(report["claims"])]
    return [*blocks, Heading("How to read a verdict", "verdicts"), Items(found)]


def _meaning(verdict: str) -> str:
    return wording.VERDICTS[verdict].partition(";")[0]


def _important(claims: list[dict[str, Any]], papers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The refuted or vacuous claims, first those that say most about their papers."""
    telling = [name for paper in papers for name in paper.get("telling", ())]
    false = [one for one in claims if one["verdict"] in _FALSE]
    return sorted(false, key=lambda one: telling.index(one["id"]) if one["id"] in telling else len(telling))


def _corrections(caption: str, claims: list[dict[str, Any]]) -> CaptionedTable:
    rows: list[list[Text]] = [
        [
            _named(one),
            _set(one["statement"], one["latex"], one["place"]),
            _instead(one),
        ]
        for one in claims
    ]
    return CaptionedTable(caption, ["claim", "claimed", "true"], rows)


def _costs(report: dict[str, Any]) -> list[Block]:
    first = [paper.get("protocol") for paper in report["papers"]]
    protocols = [one for key in first for one in report["accounting"] if one["key"] == key] or report["accounting"]
    blocks = _spent(protocols[:_SHOWN]) if protocols else []
    blocks += _accuracies(report) if report["training"] else []
    return [Heading("What it costs", "costs"), *blocks] if blocks else []


def _spent(protocols: list[dict[str, Any]]) -> list[Block]:
    head = [
        "a whole run of",
        "neighbours",
        "epsilon, says the paper",
        "exact, if reports carry names",
        "exact, if they are shuffled",
    ]
    rows: list[list[Text]] = [[one["protocol"]["name"], one["protocol"]["adjacency"], *spent(one)] for one in protocols]
    says = f"Epsilon of whole runs, exact at delta = {short(protocols[0]['delta'])}"
    more = ["Every protocol, in every convention: ", SectionLink("accounting", "accounting"), "."]
    return [CaptionedTable(says, head, rows), Paragraph(more)]


def _accuracies(report: dict[str, Any]) -> list[Block]:
    head = ["training", "accuracy without privacy", "best accuracy with", "exact epsilon of that run", "the paper's"]
    rows = [_trained(one["results"]) for one in report["training"]]
    more = ["All points, findings and figures: ", SectionLink("training", "training"), "."]
    return [
        CaptionedTable("Accuracy at the best point of each kind; their other settings may differ", head, rows),
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
        blind = sum(one["verdict"] == "inconclusive" for one in found)
        without = f", {blind} could have found none" if blind else ""
        says = f"{bad} of {many(len(found), 'audit')} found a violation{without}: "
        text += [says, SectionLink("audits", "audits"), "."]
    return Paragraph(text)


def _trained(results: dict[str, Any]) -> list[Text]:
    """Accuracy without and with privacy, at the best point of each kind."""
    spend = {str(one["settings"]): one for one in results["spend"]}
    private = [one for one in results["points"] if str(one["settings"]) in spend]
    other = [one for one in results["points"] if str(one["settings"]) not in spend]
    best = [max(kind, key=lambda one: one["accuracy"]["mean"], default=None) for kind in (other, private)]
    cells = ["–" if one is None else training_page.accuracy(one["accuracy"]) for one in best]
    cost = training_page.spent(spend[str(best[1]["settings"])], shuffled=False) if best[1] else ["–", "–"]
    return [training_page.title(results), *cells, *map(grouped, cost)]
