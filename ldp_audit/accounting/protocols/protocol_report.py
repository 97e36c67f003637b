"""The account of a protocol, step by step and in all, in every convention, the paper's own included: data and text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from ldp_audit.accounting.attack_success import posterior
from ldp_audit.accounting.converted import plain
from ldp_audit.accounting.interpretation import explain
from ldp_audit.accounting.protocols.conventions import Ledger, Scope, Total, label, step_losses, totals
from ldp_audit.accounting.protocols.paper_claims import PaperClaim, paper_claims
from ldp_audit.accounting.protocols.protocol import Protocol
from ldp_audit.figure import Figure, Panel, Series
from ldp_audit.losses.grid_loss import check_width
from ldp_audit.losses.grid_plan import WIDTH
from ldp_audit.numerics import as_float
from ldp_audit.shown import Shown

TEXT = 118
"""Columns of running text."""

_MOST = 500.0  # nats: beyond, no sentence about odds says anything
_PRACTICALLY = 0.9999

_NAMES = {"one use": "one use of each step", "one round": "one round", "everything": "everything"}


@dataclass(frozen=True)
class Spent:
    """Epsilon of some uses: pure, and at the report's delta with its certified bounds, by name and shuffled.

    name, uses: of what, and how many uses of a mechanism that is.   pure: nats, infinite where there is none.
    by_name: lower and upper bound, nats.   shuffled: likewise; None where nothing is shuffled.
    """

    name: str
    uses: int
    pure: float
    by_name: tuple[float, float]
    shuffled: tuple[float, float] | None

    def to_dict(self) -> dict[str, Any]:
        """For JSON; infinities are written as text."""
        return {
            "name": self.name,
            "uses": self.uses,
            "pure": plain(self.pure),
            "by_name": [plain(end) for end in self.by_name],
            "shuffled": None if self.shuffled is None else [plain(end) for end in self.shuffled],
        }


@dataclass(frozen=True)
class ProtocolReport(Shown):
    """The account of one protocol at one delta.

    steps: each step's whole cost.   scopes: one use of each step, one round, everything.   totals: everything, in each
    convention.   claims: the paper's own accounting.   floor: below this delta no epsilon is large enough.
    meaning: of the total, in plain sentences.   assumptions: of the numbers.
    """

    protocol: Protocol
    delta: float
    steps: tuple[Spent, ...]
    scopes: tuple[Spent, ...]
    totals: tuple[Total, ...]
    claims: tuple[PaperClaim, ...]
    floor: float
    meaning: tuple[str, ...]
    assumptions: tuple[str, ...]

    def total(self, key: str) -> Total:
        """The total of one convention. Raises ValueError for one that does not apply."""
        for one in self.totals:
            if one.key == key:
                return one
        raise ValueError(f"convention must be one of {', '.join(one.key for one in self.totals)}, got {key!r}")

    def describe(self, *, width: int = TEXT) -> str:
        """Short tables for people; sentences are wrapped at `width` columns."""
        return describe(self, width=width)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "protocol": {
                "name": self.protocol.name,
                "source": self.protocol.source,
                "unit": self.protocol.unit,
                "adjacency": self.protocol.adjacency,
                "notes": list(self.protocol.notes),
            },
            "delta": self.delta,
            "steps": [one.to_dict() for one in self.steps],
            "scopes": [one.to_dict() for one in self.scopes],
            "totals": [one.to_dict() for one in self.totals],
            "paper": [one.to_dict() for one in self.claims],
            "least_delta": self.floor,
            "meaning": list(self.meaning),
            "assumptions": list(self.assumptions),
        }


def account(
    protocol: Protocol, *, delta: float = 1e-5, width: float = WIDTH, progress: Callable[[str], None] | None = None
) -> ProtocolReport:
    """The spend of the protocol, each step and in all.

    delta: in (0, 1), for all numbers that are not pure.   width: see `compose`; a wider one is quicker.
    progress: called with a line before each longer part.
    Raises ValueError for another delta or width, and where the paper's accounting does not fit the protocol.
    """
    if not isinstance(protocol, Protocol):
        raise ValueError(f"protocol must be a Protocol, as load_protocol gives it, got {protocol!r}")
    if not 0 < as_float(delta) < 1:
        raise ValueError(f"delta must be in (0, 1), got {delta!r}")
    delta = float(delta)
    check_width(width)
    claims = paper_claims(protocol)
    ledger = Ledger(protocol, step_losses(protocol, progress), delta, width)
    scopes = tuple(_spent(ledger, scope, _NAMES[scope], progress) for scope in _scopes(ledger))
    many = len(ledger.losses) > 1
    alone = (replace(ledger, losses=(one,), _made={}, _ends={}) if many else ledger for one in ledger.losses)
    steps = tuple(_spent(one, "everything", label(one.losses[0]), progress) for one in alone)
    final = ledger.loss("everything", shuffled=ledger.mixed)
    return ProtocolReport(
        protocol,
        delta,
        steps,
        scopes,
        totals(ledger, progress),
        claims,
        final.delta(math.inf),
        _meaning(ledger),
        final.assumptions,
    )


_POINTS = 8
"""Numbers of rounds at which a figure's curves are computed."""


def rounds_figure(report: ProtocolReport, name: str, *, width: float) -> Figure | None:
    """Epsilon over the rounds in each convention, by name, with the shuffled bounds of one round and of all.

    None for a protocol of one round, and for one without a finite epsilon.
    """
    protocol = report.protocol
    if protocol.rounds == 1 or math.isinf(report.total("exact").epsilon):
        return None
    named = replace(protocol, steps=tuple(replace(step, shuffling=None) for step in protocol.steps))
    losses = step_losses(named)  # of one use, whatever the rounds
    rounds = sorted({round(1 + (protocol.rounds - 1) * share / (_POINTS - 1)) for share in range(_POINTS)})
    ledgers = [Ledger(replace(named, rounds=one), losses, report.delta, width) for one in rounds]
    found = [{one.key: one.epsilon for one in totals(ledger)} for ledger in ledgers]
    finite = [key for key, epsilon in found[-1].items() if math.isfinite(epsilon)]
    series = [Series(key, rounds, [one[key] for one in found]) for key in finite]
    places = {"one round": 1, "everything": protocol.rounds}
    shuffled = {places[one.name]: one.shuffled[1] for one in report.scopes if one.name in places and one.shuffled}
    if shuffled:
        series.append(Series("exact, shuffled", [*shuffled], [*shuffled.values()], style="points"))
    return Figure(
        name,
        f"Epsilon over the rounds of {protocol.name}",
        f"At delta = {report.delta:g}, neighbours: {protocol.adjacency}. Lines: reports by name, in each convention. "
        + ("Points: shuffled, after one round and after all." if shuffled else ""),
        f"Epsilon rises with the rounds, in every convention, to {number(report.total('exact').epsilon)} by "
        "exact accounting.",
        (Panel("", "rounds", "epsilon (nats)", tuple(series), y_log=True),),
    )


def _scopes(ledger: Ledger) -> list[Scope]:
    """The scopes that differ, and everything."""
    scopes = get_args(Scope)
    return list({tuple(one.times(ledger.protocol, scope) for one in ledger.losses): scope for scope in scopes}.values())


def _meaning(ledger: Ledger) -> tuple[str, ...]:
    """The sentences of `explain` where they are quick, else the two that need one evaluation."""
    loss = ledger.loss("everything", shuffled=ledger.mixed)
    epsilon = ledger.ends("everything", shuffled=ledger.mixed)[1]
    if loss.exact and (epsilon <= _MOST or math.isinf(epsilon)):
        return tuple(line for line in explain(loss, delta=ledger.delta) if not line.startswith("This rests on"))
    low, high = ledger.advantage(shuffled=ledger.mixed), posterior(0.01, epsilon).upper
    apart = "The best attack tells which of two neighbours the input was practically always."
    if low <= _PRACTICALLY:
        apart = f"The best attack's true-positive rate is at least {low:.4g} above its false-positive rate."
    rises = "certainty" if high > _PRACTICALLY else f"{high:.4%}"
    return apart, f"So large an epsilon allows that a prior probability of 1% rises to {rises}."


def _spent(ledger: Ledger, scope: Scope, name: str, progress: Callable[[str], None] | None) -> Spent:
    if progress:
        progress(f"composing: {name}")
    return Spent(
        name,
        sum(one.times(ledger.protocol, scope) for one in ledger.losses),
        ledger.loss(scope, shuffled=False).supremum(),
        ledger.ends(scope, shuffled=False),
        ledger.ends(scope, shuffled=True) if ledger.mixed else None,
    )


_LOST = 1e-13  # of a number, by rounding: no reason to print another digit
_LONG = 1e20
_PART = 0.01  # of a whole number, at most: floats from 1e11 on lose less


def describe(report: ProtocolReport, *, width: int = TEXT) -> str:
    """The report as text: costs by scope, totals by convention, the paper's words, its meaning."""
    protocol = report.protocol
    heading = [f"{protocol.name}{f' ({protocol.source})' if protocol.source else ''}"]
    heading.append(f"protects one {protocol.unit}; neighbours: {protocol.adjacency}; delta = {report.delta:g}")
    sections = ["\n".join(heading), _costs(report), _totals(report)]
    if report.claims:
        sections.append(_claims(report.claims, width))
    sections += [_listed("what it means", report.meaning, width), _listed("rests on", report.assumptions, width)]
    sections.append(_listed("notes", protocol.notes, width))
    return "\n\n".join(section for section in sections if section)


def number(value: float) -> str:
    """Six digits, never less than the value: an epsilon in print is not too small either."""
    if not math.isfinite(value):
        return "infinite"
    return _six(value, 1) if value else "0"


def interval(ends: tuple[float, float] | None) -> str:
    """One number where the bounds agree to its digits, else both; the upper alone where the lower is 0."""
    if ends is None:
        return ""
    low, high = ends
    if low == high or (math.isfinite(high) and high - low <= 1e-6 * high):
        return number(high)
    return f"{_six(low, -1)} to {number(high)}" if low > 0 else f"at most {number(high)}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns, the first aligned left and the others right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _six(value: float, way: int) -> str:
    """Six digits, the last rounded up (way 1) or down (-1), but for float noise."""
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
    """The conventions below the sum of the epsilons, and the exact one."""
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


def _claims(claims: Sequence[PaperClaim], width: int) -> str:
    lines = ["the paper says"]
    for claim in claims:
        value = "" if claim.epsilon is None else f": epsilon {number(claim.epsilon)}"
        at = f" at delta {claim.delta:.4g}" if claim.delta and value else ""
        lines.append(f"  {claim.says}{value}{at}")
        found = ", ".join(f"{name} {verdict}" for name, verdict in claim.claims.items())
        words = f"{found}. {claim.instead}".rstrip()
        lines += textwrap.wrap(words, width, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(lines)


def _listed(heading: str, lines: Sequence[str], width: int) -> str:
    if not lines:
        return ""
    wrapped = (
        textwrap.fill(line, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
        for line in lines
    )
    return "\n".join([heading, *wrapped])
