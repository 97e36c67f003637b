"""A training experiment's document as tables, Markdown and HTML; all numbers are from the document."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from ldp_audit.accounting.protocols.protocol_report import interval, number
from ldp_audit.figure import Figure
from ldp_audit.reports.figures import svg
from ldp_audit.reports.html import environment
from ldp_audit.reports.markdown import plain
from ldp_audit.reports.write import as_json
from ldp_audit.training.results import runs_at


class TextTable(NamedTuple):
    """Rows of texts under a title; the first row is the head."""

    title: str
    rows: list[list[str]]


def rendered(document: Mapping[str, Any], figures: Sequence[Figure]) -> dict[str, str]:
    """Every file of an experiment by its name: results.json, report.md, report.html and the figures."""
    drawn = [figure.to_dict() for figure in figures]
    files = {f"figures/{figure['name']}.svg": svg(figure) + "\n" for figure in drawn}
    files["results.json"] = as_json(document)
    files["report.md"] = markdown(document, drawn)
    files["report.html"] = html(document, drawn)
    return files


def tables(document: Mapping[str, Any]) -> list[TextTable]:
    """The tables of points, findings and audits, as far as they exist."""
    found = [TextTable("Points", _points(document))]
    if document["findings"]:
        found.append(TextTable("Findings", _findings(document)))
    if document["printed"]:
        found.append(TextTable("Beside the paper", _printed(document)))
    if document["audit"]:
        found.append(TextTable("Audit", _audits(document["audit"])))
    return found


def title(document: Mapping[str, Any]) -> str:
    """The page's title."""
    return f"Training {document['pipeline']} on {document['data']['name']}"


def about(document: Mapping[str, Any]) -> list[str]:
    """The experiment's settings, in sentences."""
    runs, tool, points = document["runs"], document["tool"], len(document["points"])
    data = ", ".join(f"{name} {value}" for name, value in document["data"].items() if name not in ("name", "digest"))
    device = runs[0]["device"]
    threads = "one thread" if device["threads"] == 1 else f"{device['threads']} threads"
    seconds = sum(run["seconds"] for run in runs)
    lines = [
        f"{len(runs)} run{'s' * (len(runs) != 1)} of {points} point{'s' * (points != 1)}, "
        f"root seed {document['seed']}, {seconds:.0f} s in all.",
        f"Data {document['data']['name']}: {data}.",
        f"Device {device['name']}, {threads} a run, torch {device['torch']}, {tool['name']} {tool['version']}.",
        "Accuracy is the last round's: mean and half-width of its 95% interval (Student's t over the repeats; over the "
        "folds, corrected for their overlap, where a point has one run).",
    ]
    operations = dict.fromkeys(name for run in runs for name in run["device"].get("not_repeatable", ()))
    if operations:
        lines.append(
            f"Not repeatable to the last bit: torch has no deterministic algorithm on this device for "
            f"{', '.join(operations)}."
        )
    if document["spend"]:
        delta = document["spend"][0]["delta"]
        lines.append(
            f"Epsilon is that of the whole run, at delta = {delta:g}: exact, reports by name and (where they are "
            "shuffled) without names; beside it what the paper says that the run spends."
        )
    return lines + [f"The paper's setting is suspect: {doubt}" for doubt in document.get("doubts", ())]


def markdown(document: Mapping[str, Any], figures: Sequence[Mapping[str, Any]]) -> str:
    """The page as Markdown."""
    lines = [f"# {plain(title(document))}", "", *(f"{plain(line)}\n" for line in about(document))]
    for table in tables(document):
        head, *rows = ([plain(cell) for cell in row] for row in table.rows)
        lines += [f"## {table.title}", "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
        lines += [f"| {' | '.join(row)} |" for row in rows]
        lines.append("")
    for figure in figures:
        lines += [f"## {plain(figure['title'])}", "", f"![{plain(figure['alt'])}](figures/{figure['name']}.svg)", ""]
        lines += [f"*{plain(figure['caption'])}*", ""]
    return "\n".join(lines)


def html(document: Mapping[str, Any], figures: Sequence[Mapping[str, Any]]) -> str:
    """The page as one self-contained file; all text is escaped."""
    drawn = [(figure, Markup(svg(dict(figure)))) for figure in figures]  # noqa: S704  (matplotlib escapes its texts)
    template = environment().get_template("training.html.j2")
    return template.render(
        title=title(document), about=about(document), tables=tables(document), figures=drawn, tool=document["tool"]
    )


def _points(document: Mapping[str, Any]) -> list[list[str]]:
    spend = {str(one["settings"]): one for one in document["spend"]}
    shuffled = any(one["everything"]["shuffled"] for one in spend.values())
    names = list(document["points"][0]["settings"])
    head = [*(name.replace("_", " ") for name in names), "accuracy", "repeats"]
    if spend:
        between = ", ".join(dict.fromkeys(one["protocol"]["adjacency"] for one in spend.values()))
        head += [f"exact epsilon ({between})", *([_shuffled_head(document)] if shuffled else []), "the paper's"]
    rows = [head]
    for point in document["points"]:
        row = [*map(_value, point["settings"].values()), accuracy(point["accuracy"])]
        row.append(str(point["accuracy"]["repeats"]))
        if spend:
            row += spent(spend.get(str(point["settings"])), shuffled=shuffled)
        rows.append(row)
    return rows


def _shuffled_head(document: Mapping[str, Any]) -> str:
    """The heading of the epsilon of shuffled reports: whether the runs permuted theirs, where they say so."""
    if not any("permute" in run["settings"] for run in document["runs"]):
        return "shuffled"
    spent = [one for one in document["spend"] if one["everything"]["shuffled"]]
    permuted = {"arrivals" in run["rounds"][-1] for one in spent for run in runs_at(document, one)}
    if permuted == {True}:
        return "shuffled, as they were"
    return "if they were shuffled" if permuted == {False} else "shuffled, as some were"


def accuracy(measured: Mapping[str, Any]) -> str:
    """The mean, with the half-width of its interval if there is one."""
    if measured["low"] is None:
        return f"{measured['mean']:.4f}"
    return f"{measured['mean']:.4f} ± {(measured['high'] - measured['low']) / 2:.4f}"


def spent(spend: Mapping[str, Any] | None, *, shuffled: bool) -> list[str]:
    """Cells of a point's epsilon: exact by name, shuffled on request, and the paper's."""
    if spend is None:
        return ["no promise", *([""] if shuffled else []), ""]
    everything, claimed = spend["everything"], spend["claimed"]
    cells = [_ends(everything["by_name"])]
    if shuffled:
        cells.append(_ends(everything["shuffled"]) if everything["shuffled"] else "")
    if claimed is None or claimed["epsilon"] is None:
        return [*cells, "no number"]
    return [
        *cells,
        number(float(claimed["epsilon"])) + (f" (delta {claimed['delta']:.4g})" if claimed["delta"] else ""),
    ]


def _ends(ends: Sequence[Any]) -> str:
    low, high = (float(end) for end in ends)
    return "infinite" if math.isinf(low) else interval((low, high))


def finding_words(finding: Mapping[str, Any]) -> str:
    """A finding as one paragraph: the paper's words, their place, the measurement, and remarks."""
    place = f" ({finding['place']})" if finding["place"] else ""
    note = f" {finding['note']}" if finding["note"] else ""
    numbers = ", ".join(_flat(finding["numbers"])) or "no numbers"
    return f"{finding['says']}{place}: {numbers}.{note}"


def _findings(document: Mapping[str, Any]) -> list[list[str]]:
    rows = [["finding", "verdict", "error rate", "what was said and measured"]]
    return rows + [
        [one["key"], one["verdict"], f"{one['error_rate']:g}", finding_words(one)] for one in document["findings"]
    ]


def _printed(document: Mapping[str, Any]) -> list[list[str]]:
    rows = [["the paper's", "cell", "printed", "here", "95% interval"]]
    for one in document["printed"]:
        digits = ".4f" if one["unit"] == "accuracy" else ".2f"
        ends = "" if one["low"] is None else f"{one['low']:{digits}} to {one['high']:{digits}}"
        unit = "" if one["unit"] == "accuracy" else " points"
        cells = [f"{one['printed']:{digits}}{unit}", f"{one['measured']:{digits}}{unit}", ends]
        other = f" (other data: {one['other']})" if one.get("other") else ""
        idle = f" (not compared: {one['idle']})" if one.get("idle") else ""
        rows.append([one["place"] + other, one["what"] + idle, *cells])
    return rows


def _audits(audits: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """A row for each guarantee against each observer of each point."""
    rows = [["point", "observer", "epsilon at least", "promised", "by", "verdict"]]
    for audit in audits:
        point = ", ".join(f"{name} {_value(value)}" for name, value in audit["settings"].items()) or "the run"
        if not audit["observers"]:
            rows.append([point, str(audit["why_not"]), "", "", "", ""])
        for one in audit["observers"]:
            for promise in one["promised"]:
                at = f" (delta {promise['delta']:.4g})" if promise["delta"] else ""
                bound, promised = f"{promise['epsilon_lower']:.4g}", number(float(promise["epsilon"])) + at
                rows.append([point, one["observer"], bound, promised, promise["by"], promise["verdict"]])
    return rows


def _flat(numbers: Mapping[str, Any], before: str = "") -> list[str]:
    if {"mean", "low", "high"} <= set(numbers):
        known = numbers["low"] is not None
        interval_words = f" [{_value(numbers['low'])}, {_value(numbers['high'])}]" if known else ""
        head = f"{before}{_value(numbers['mean'])}{interval_words}"
        return [head, *_flat({key: value for key, value in numbers.items() if key not in ("mean", "low", "high")})]
    found = []
    for name, value in numbers.items():
        if isinstance(value, Mapping):
            found += _flat(value, f"{before}{name} ")
        else:
            found.append(f"{before}{name} {_value(value)}")
    return found


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
