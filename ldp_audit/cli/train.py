"""ldp-audit train: run a paper's pipeline, or a sweep over its settings, with accuracy and exact epsilon."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ldp_audit.cli.command_line import check_writable, write_json
from ldp_audit.cli.console import say, say_table, text_columns
from ldp_audit.progress import Progress


def add_arguments(train: argparse.ArgumentParser) -> None:
    """The options of `ldp-audit train`."""
    from ldp_audit.training.pipeline import PIPELINES

    add = train.add_argument_group("what is trained").add_argument
    add("pipeline", metavar="PIPELINE", help=f"{', '.join(PIPELINES)}, or a plan of your own, module:Class")
    add("--data", metavar="NAME", help="a data set; the pipeline's embedded one by default")
    add("--folder", type=Path, metavar="DIR", help="where the data set's files are, for those that have files")
    add("--data-option", type=_pair, action="append", default=[], metavar="NAME=V", help="of the data set's loader")
    add("--set", type=_pair, action="append", default=[], metavar="FIELD=V", help="a setting; may be repeated")
    add("--sweep", type=_pair, action="append", default=[], metavar="FIELD=V,V", help="vary a setting; may be repeated")
    add("--preset", metavar="NAME", help="settings of the paper's, or demonstration, the default without settings")
    add("--list", action="store_true", help="the pipeline's settings and presets, and the data sets")
    add = train.add_argument_group("how much").add_argument
    add("--repeats", type=int, metavar="K", help="runs of each point; or of its cross-validation")
    add("--seed", type=int, default=0, metavar="SEED", help="from which all seeds follow; 0 by default")
    add(
        "--evaluate-every",
        type=int,
        default=1,
        metavar="K",
        help="evaluate the model in every K-th round, and the last",
    )
    add("--audit", action="store_true", help="bound each run's epsilon from below by canaries")
    add = train.add_argument_group("how").add_argument
    add("--device", default="auto", metavar="NAME", help="auto (a GPU if there is one), cpu, cuda, cuda:1")
    add("--threads", type=int, default=1, metavar="N", help="of torch in each run; 1 by default")
    add("--workers", type=int, metavar="N", help="processes of this machine; one a core by default, 1 on a GPU")
    add("--scheduler", metavar="ADDRESS", help="of a Dask cluster, whose workers train")
    add = train.add_argument_group("output").add_argument
    add(
        "--out", type=Path, metavar="DIR", help="write results.json, report.md, report.html, figures, checkpoints there"
    )
    add("--keep-model", action="store_true", help="write every run's model, with its spend, to --out's folder models")
    add("--resume", action="store_true", help="go on with what --out holds, perhaps for more rounds")
    add("--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    """Print the tables; 0, or 1 if an audit found a violation. Raises ValueError for bad input."""
    from ldp_audit.training.pipeline import plan_class

    plan = plan_class(options.pipeline)
    if options.list:
        say(_listed(plan))
        return 0
    if options.resume and options.out is None:
        raise ValueError("--resume needs --out, the folder to go on with")
    document = _experiment(options, plan)
    write_json(options, document)
    _say_tables(document)
    _written(options, document)
    return 1 if any(one["verdict"] == "violated" for one in document["audit"] or ()) else 0


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip() or not value:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {text!r}")
    return name.strip().replace("-", "_"), value


def _listed(plan: type) -> str:
    from ldp_audit.training.data import DATASETS
    from ldp_audit.training.pipeline import DEMONSTRATION, preset_of, presets_of
    from ldp_audit.training.sweep import doubts_of

    lines = [f"settings of {plan.__name__}"]
    lines += [f"  {one.name} = {one.default!r}" for one in dataclasses.fields(plan)]
    lines += ["presets", f"  {DEMONSTRATION}"]
    for name in presets_of(plan):
        doubts = doubts_of(preset_of(plan, name))
        lines.append(f"  {name}{''.join(f' (suspect: {doubt})' for doubt in doubts)}")
    lines.append("data sets")
    lines += [f"  {name}{f': a folder that holds {one.files}' if one.files else ''}" for name, one in DATASETS.items()]
    return "\n".join(lines)


def _experiment(options: argparse.Namespace, plan: type) -> dict[str, Any]:
    from ldp_audit.training.data import data_for
    from ldp_audit.training.pipeline import embedded_data
    from ldp_audit.training.sweep_folder import check_folder

    sweeps = _sweeps(options, plan)
    check_writable(options)
    embedded = embedded_data(plan)
    how: dict[str, Any] = {
        "seed": options.seed,
        "device": options.device,
        "threads": options.threads,
        "scheduler": options.scheduler,
        "resume": options.resume,
    }
    if options.out is not None:  # before the data set, which may take minutes to read
        check_folder(options.out, options.pipeline, sweeps, **how)
    with Progress(options.quiet, first=0.0) as progress:
        progress(f"reading {options.data or embedded or 'data'}")
        from ldp_audit.training.experiment import run_experiment  # imports torch, which takes a second or two

        return run_experiment(
            options.pipeline,
            sweeps,
            data_for(embedded, options.data, options.folder, _once("--data-option", options.data_option)),
            **how,
            workers=options.workers,
            folder=options.out,
            audit=options.audit,
            evaluate_every=options.evaluate_every,
            keep_models=options.keep_model,
            progress=progress,
        )


def _sweeps(options: argparse.Namespace, plan: type) -> Sequence[Any]:
    """The preset's sweeps, or the demonstration's by default, with the user's settings."""
    from ldp_audit.training.pipeline import sweeps_of
    from ldp_audit.training.sweep import read_value

    fixed = {name: read_value(plan, name, text) for name, text in _once("--set", options.set).items()}
    varied = {
        name: tuple(read_value(plan, name, part) for part in _parted(text))
        for name, text in _once("--sweep", options.sweep).items()
    }
    return sweeps_of(plan, options.preset, fixed, varied, options.repeats)


def _parted(text: str) -> list[str]:
    """The values between commas; those within parentheses and brackets part nothing, as in Gaussian(a, b)."""
    depth, parts = 0, [""]
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _once(option: str, pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{option} must name {name!r} once, got it {names.count(name)} times")
    return dict(pairs)


def _say_tables(document: dict[str, Any]) -> None:
    from ldp_audit.reports.training_page import about, tables, title

    say("\n".join([title(document), *about(document)]))
    for one in tables(document):
        if one.title != "Findings":
            say()
            say_table(one.rows)
    for finding in document["findings"]:
        say(f"\n{_finding(finding)}")


def _finding(finding: dict[str, Any]) -> str:
    import textwrap

    from ldp_audit.reports.training_page import finding_words

    head = f"{finding['verdict'].upper()}: {finding['key']} (error rate {finding['error_rate']:g})"
    body = textwrap.fill(finding_words(finding), text_columns(), initial_indent="  ", subsequent_indent="  ")
    return f"{head}\n{body}"


def _written(options: argparse.Namespace, document: dict[str, Any]) -> None:
    if options.out is None:
        return
    from ldp_audit.reports import training_page, write
    from ldp_audit.training.figures import figures

    files = training_page.rendered(document, figures(document))
    write.write_files(options.out, files)
    say(f"\nwritten to {options.out}: {', '.join(sorted(files, key=lambda name: (name.count('/'), name)))}")
