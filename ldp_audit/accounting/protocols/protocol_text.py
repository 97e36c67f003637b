"""A protocol's account as short tables of text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from ldp_audit.accounting.protocols.conventions import Total
from ldp_audit.accounting.protocols.paper_conventions import PaperClaim
from ldp_audit.accounting.protocols.protocol_report import ProtocolReport, Spent

_WIDTH = 118
_LOST = 1e-13  # of a number, by rounding: no reason to print another digit
_LONG = 1e20
_PART = 0.01  # of a whole number, at most: floats from 1e11 on lose less


def describe(report: ProtocolReport) -> str:
    """The report for people: costs by scope, totals by convention, the paper's words, what it means."""
    protocol = report.protocol
    heading = [f"{protocol.name}{f' ({protocol.source})' if protocol.source else ''}"]
    heading.append(f"protects one {protocol.unit}; neighbours: {protocol.adjacency}; delta = {report.delta:g}")
    sections = ["\n".join(heading), _costs(report), _totals(report)]
    if report.claims:
        sections.append(_claims(report.claims))
    sections += [_listed("what it means", report.meaning), _listed("rests on", report.assumptions)]
    sections.append(_listed("notes", protocol.notes))
    return "\n\n".join(section for section in sections if section)


def number(value: float) -> str:
    """Six digits, never less than the value: an epsilon in print is not too small either."""
    if not math.isfinite(value):
        return "infinite"
    return _six(value, 1) if value else "0"


def interval(ends: tuple[float, float] | None) -> str:
    """One number where the ends agree to its digits, else both; the upper alone where nothing is known below."""
    if ends is None:
        return ""
    low, high = ends
    if low == high or (math.isfinite(high) and high - low <= 1e-6 * high):
        return number(high)
    return f"{_six(low, -1)} to {number(high)}" if low > 0 else f"at most {number(high)}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns, the first to the left and the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _six(value: float, way: int) -> str:
    """Six digits, in the last place rounded up (way 1) or down (-1), but for what floats lose."""
    if 1e6 <= value < _LONG:  # whole numbers say as much
        nearest = round(value)
        if abs(value - nearest) <= min(_LOST * value, _PART):
            return str(nearest)
        return str(math.ceil(value) if way > 0 else math.floor(value))
    text = f"{value:.6g}"
    if way * (value - float(text)) > _LOST * abs(value):
        step = 10.0 ** (math.floor(math.log10(abs(value))) - 5)
        text = f"{float(text) + way * step:.6g}"
    return text


def _costs(report: ProtocolReport) -> str:
    spent: list[Spent] = [*(report.steps if len(report.steps) > 1 else ()), *report.scopes]
    mixed = any(one.shuffled for one in spent)
    rows = [["epsilon of", "uses", "pure", "at delta", *(["at delta, shuffled"] if mixed else [])]]
    for one in spent:
        row = [one.name, str(one.uses), number(one.pure), interval(one.by_name)]
        rows.append([*row, interval(one.shuffled)] if mixed else row)
    return table(rows)


def _totals(report: ProtocolReport) -> str:
    """The conventions that say something; a bound above the sum of the epsilons says nothing."""
    first = report.totals[0]
    useful = [one for one in report.totals if one is first or one.lower is not None or one.epsilon < first.epsilon]
    rows = [["everything, by", "epsilon", "delta"]]
    rows += [[one.key, _ends(one), f"{one.delta:g}"] for one in useful]
    lines = table(rows).splitlines()
    says = ["", *(one.says for one in useful)]
    left = [one.key for one in report.totals if one not in useful]
    text = [f"{line}  {words}".rstrip() for line, words in zip(lines, says, strict=True)]
    if left:
        text.append(f"not below the first, so not shown: {', '.join(left)}")
    if report.floor > 0:
        text.append(f"no epsilon is large enough for a delta below {report.floor:.6g}: so likely is all shown as it is")
    return "\n".join(text)


def _ends(one: Total) -> str:
    return number(one.epsilon) if one.lower is None else interval((one.lower, one.epsilon))


def _claims(claims: Sequence[PaperClaim]) -> str:
    lines = ["the paper says"]
    for claim in claims:
        value = "" if claim.epsilon is None else f": epsilon {number(claim.epsilon)}"
        at = f" at delta {claim.delta:.4g}" if claim.delta and value else ""
        lines.append(f"  {claim.says}{value}{at}")
        found = ", ".join(f"{name} {verdict}" for name, verdict in zip(claim.claims, claim.verdicts, strict=True))
        words = f"{found}. {claim.instead}".rstrip()
        lines += textwrap.wrap(words, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(lines)


def _listed(heading: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    wrapped = (
        textwrap.fill(line, _WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
        for line in lines
    )
    return "\n".join([heading, *wrapped])
