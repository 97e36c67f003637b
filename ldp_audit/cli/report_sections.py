"""The parts of the whole report: each computed by its own room, or read from the output of a command."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ldp_audit.files import read_json

Say = Callable[[str], None]

AUDITED: tuple[tuple[str, tuple[float, float] | None, str], ...] = (
    ("TwoPoint(epsilon=1)", None, "A shipped mechanism at its worst pair of inputs."),
    ("Piecewise(epsilon=1)", None, "A shipped mechanism at its worst pair of inputs."),
    ("Laplace(scale=1)", None, "A shipped mechanism at its worst pair of inputs."),
    ("ExponentialSelection(epsilon=1, d=4)", None, "A shipped mechanism at its worst pair of inputs."),
    ("PerturbedSampling(epsilon=1, d=4, k=1)", None, "A shipped mechanism at its worst pair of inputs."),
    ("PerturbedEncoding(epsilon=1, d=4, k=1)", None, "Perturbed encoding with the calibration that its paper states."),
    ("ldp_audit.auditing.textbook:laplace64", (0.0, 1.0), "Textbook Laplace noise: its last bits tell the input."),
    (
        "ldp_audit.auditing.textbook:laplace32",
        (0.0, 1.0),
        "Broken likewise, as its words show under implementation findings; so few samples do not tell.",
    ),
)
"""The audits: target, inputs (None: a mechanism's worst pair), and reason; the claimed epsilon is 1."""

_VERDICTS = {
    "audit": ("violated", "consistent", "inconclusive"),
    "implementation": ("violated", "holds", "not refuted", None),
}
"""What each kind of result may say."""

_SAMPLES = 50_000
_WIDTH = 1e-2


def mechanisms(say: Say) -> list[dict[str, Any]]:
    """Every mechanism of the catalogue: formulas derived from its definition, and the numbers of its example."""
    from ldp_audit.accounting.exact_summary import profile_figure, summarise
    from ldp_audit.mechanisms.catalogue import ENTRIES

    found = []
    for entry in ENTRIES:
        say(f"mechanisms: {entry.name}")
        mechanism = entry.mechanism()
        summary = summarise(mechanism)
        figure = {**profile_figure(mechanism).to_dict(), "name": f"mechanism-{entry.name}"}
        words = {
            "name": entry.name,
            "example": entry.example.target,
            "summary": entry.summary(),
            "letters": entry.example.letters,
        }
        moments = [_biased(one) for one in summary["moments"]]
        found.append({**words, **_formulas(entry), **summary, "moments": moments, "figure": figure})
    return found


def _formulas(entry: Any) -> dict[str, str]:
    from sympy import latex

    epsilon, bias, variance = (None if entry.example.composed else entry.epsilon()), entry.bias(), entry.variance()
    return {
        "law": entry.law().latex(),
        "epsilon_latex": "" if epsilon is None else latex(epsilon),
        "bias_latex": "" if bias is None else latex(bias),
        "variance_latex": "" if variance is None else latex(variance),
        "composed": entry.example.composed,
        "source": entry.sources(),
    }


def _biased(moment: Mapping[str, Any]) -> dict[str, Any]:
    """The moments with the bias added, where mean and input have one shape."""
    mean, value = moment["mean"], moment["input"]
    bias = None
    if isinstance(mean, float) and isinstance(value, float):
        bias = mean - value
    elif isinstance(mean, list) and isinstance(value, list) and len(mean) == len(value):
        bias = [one - other for one, other in zip(mean, value, strict=True)]
    return {**moment, "bias": bias}


def solve(paper: Any, record: dict[str, Any]) -> None:
    """Add to a paper's mechanisms their moments, typeset, and in numbers their exact epsilon, where it is solved.

    In numbers where epsilon is the only public variable: at 1/2, 1 and 2. Else the record says why not.
    """
    from sympy import latex

    from ldp_audit.accounting.converted import plain
    from ldp_audit.accounting.exact_summary import profile_figure
    from ldp_audit.mechanisms.channel import SymbolicChannel

    for place, (law, one) in enumerate(zip(paper.mechanisms, record["mechanisms"], strict=True), start=1):
        if not isinstance(law, SymbolicChannel):
            continue
        with suppress(ValueError):  # labels that are no numbers
            one |= {"mean_latex": latex(law.mean()), "variance_latex": latex(law.variance())}
        try:
            bound = [(level, law.bind(epsilon=level)) for level in (0.5, 1.0, 2.0)]
            one["at"] = [
                {
                    "epsilon": level,
                    "exact_epsilon": plain(at.exact_epsilon()),
                    "worst_pair": [list(x) if isinstance(x, tuple) else x for x in at.worst_pair()],
                }
                for level, at in bound
            ]
            figure = profile_figure(bound[1][1]).to_dict()
            one["figure"] = {**figure, "name": f"own-mechanism-{place}"}
        except ValueError as error:
            one["why_not"] = str(error)


def implementation(say: Say) -> list[dict[str, Any]]:
    """The textbook programs' channels, except in bfloat16, which needs torch."""
    from dataclasses import replace

    from ldp_audit.implementations.textbook_findings import findings

    found = []
    for row in findings():
        if row.dtype == "bfloat16":
            continue
        say(f"textbook programs: {row.program!r} in {row.dtype}")
        result = replace(row.run(), claimed_delta=_of_the_law(row.program, row.epsilon))
        pairs = result.to_dict()
        worst = [pair["worst"]["words"] for pair in pairs["pairs"] if pair["worst"]]
        kept = (
            "verdict",
            "method",
            "exact",
            "claimed_epsilon",
            "claimed_delta",
            "epsilon",
            "delta_at_claim",
            "exclusive_share",
        )
        found.append(
            {
                "program": repr(row.program),
                "dtype": row.dtype,
                "inputs": list(row.inputs),
                **{name: pairs[name] for name in kept},
                "example": worst[0] if worst and math.isinf(result.epsilon) else "",
            }
        )
    return found


def _of_the_law(program: Any, epsilon: float) -> float:
    """The ideal mechanism's delta, which is not the program's fault."""
    from ldp_audit.auditing.textbook import TextbookBoxMuller
    from ldp_audit.mechanisms import Gaussian

    return float(Gaussian(sigma=program.sigma).delta(epsilon)) if isinstance(program, TextbookBoxMuller) else 0.0


def audits(say: Say) -> list[dict[str, Any]]:
    """The audits of `AUDITED`."""
    from ldp_audit.accounting.converted import plain
    from ldp_audit.auditing import audit
    from ldp_audit.auditing.adapters.target_sampler import TargetSampler

    found = []
    for target, inputs, about in AUDITED:
        say(f"audits: {target}")
        sampler = TargetSampler(target)
        sampler.prepare()
        pair = inputs or sampler.loaded.worst_pair()
        result = audit(sampler, pair, 1.0, samples=_SAMPLES, floating_point=inputs is not None)
        truth = None if inputs else plain(sampler.loaded.exact_epsilon())
        found.append({"target": target, "about": about, "exact_epsilon": truth, **result.to_dict()})
    return found


def audits_read(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Results of `ldp-audit audit --json`. Raises ValueError for another document."""
    found = []
    for path in paths:
        document = _object(path)
        if document.get("kind") not in ("audit", "implementation"):
            raise ValueError(f"{path} must be what `ldp-audit audit --json` wrote, got kind {document.get('kind')!r}")
        with reading(path, "ldp-audit audit --json"):
            target = (document.get("counted") or {}).get("target") or path.stem
            one = {"target": str(target), "about": f"Read from {path.name}.", **document}
            if one["verdict"] not in _VERDICTS[document["kind"]]:  # one that no gate knows would pass it
                raise KeyError(f"verdict {one['verdict']!r}")
            _check_rendering(lambda one=one: _audit_section(one))
            found.append(one)
    return found


def _audit_section(one: dict[str, Any]) -> None:
    from ldp_audit.reports.sections.audits import audits as section

    section({"audits": [one]})


def accounting(names: Sequence[str], say: Say) -> list[dict[str, Any]]:
    """The accounts of protocols, by their names or files, in order."""
    found = []
    for name in names:
        say(f"accounting: {name}")
        found.append(accounted(name))
    return found


def accounted(name: str) -> dict[str, Any]:
    """One protocol's account, with its paper's statements about the whole run."""
    from ldp_audit.accounting.protocols.protocol_file import load_protocol
    from ldp_audit.accounting.protocols.protocol_report import account, rounds_figure
    from ldp_audit.training.spend import claim_of

    protocol = load_protocol(name)
    report, key = account(protocol, width=_WIDTH), Path(name).stem
    figure = rounds_figure(report, f"rounds-{key}", width=_WIDTH)
    drawn = None if figure is None else figure.to_dict()
    return {"key": key, "claimed": claim_of(protocol), "figure": drawn, **report.to_dict()}


def training_read(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """Results of `ldp-audit train --out`. Raises ValueError for another document."""
    found = []
    for folder in folders:
        path = folder if folder.suffix == ".json" else folder / "results.json"
        document = _object(path)
        if document.get("kind") != "training":
            raise ValueError(f"{path} must be what `ldp-audit train --out` wrote, got kind {document.get('kind')!r}")
        with reading(path, "ldp-audit train --out"):
            found.append(trained(document, len(found) + 1))
    return found


def trained(document: dict[str, Any], place: int) -> dict[str, Any]:
    """An experiment without its rounds, and its figures with names unique in the report."""
    from ldp_audit.reports.training_page import about, tables
    from ldp_audit.training.figures import figures

    drawn = [figure.to_dict() for figure in figures(document)]
    runs = [{name: value for name, value in run.items() if name != "rounds"} for run in document["runs"]]
    results = {**document, "runs": runs}
    _check_rendering(lambda: (about(results), tables(results)))
    return {"results": results, "figures": [{**one, "name": f"training-{place}-{one['name']}"} for one in drawn]}


def claims_read(path: Path) -> dict[str, Any]:
    """A report's claims, papers and figures, after the independent checker has verified every proof in it.

    Raises ValueError for another document, and for a claim whose evidence does not prove its verdict.
    """
    from ldp_audit.claims.recheck_report import recheck_claims
    from ldp_audit.reports import document, html, junit

    read = _object(path)
    with reading(path, "ldp-audit check --out"):
        refused = [one for one in recheck_claims(read) if one.complaint]
        if refused:
            raise ValueError(f"{path}: claim {refused[0].id} is refused: {refused[0].complaint}")
        kept = {
            name: read[name] for name in ("schema_version", "tool", "papers", "manifest", "failed", "claims", "figures")
        }
        papers = {paper["key"] for paper in kept["papers"]}
        strange = [one["id"] for one in kept["claims"] if one["paper"] not in papers]
        if strange:
            raise ValueError(f"{path}: claim {strange[0]} is of no paper in the report")
        report = {**kept, **document.counted(kept["claims"])}
        _check_rendering(lambda: (html.render(report), junit.render(report)))
        return report


@contextmanager
def reading(path: Path, command: str) -> Iterator[None]:
    """Turn any error of a malformed document into one clear ValueError."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, IndexError, LookupError, OverflowError) as error:
        raise ValueError(f"{path} is not what `{command}` writes: {type(error).__name__} {error}") from error


def _check_rendering(render: Callable[[], Any]) -> None:
    """Render once while the file's name is known; a template's error becomes a KeyError."""
    from jinja2 import TemplateError

    try:
        render()
    except TemplateError as error:
        raise KeyError(str(error)) from error


def _object(path: Path) -> dict[str, Any]:
    document = read_json(path)
    if not isinstance(document, dict):
        raise ValueError(f"{path} must hold a JSON object, got {type(document).__name__}")
    return document
