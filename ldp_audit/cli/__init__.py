"""The command line: the only room that knows it. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldp_audit.cli import account, audit, completion, doctor, linkage, report, train
from ldp_audit.cli.files import check_writable, read_json, write_json

if TYPE_CHECKING:
    from ldp_audit.claims.claim import Paper
    from ldp_audit.claims.settle import SettledClaim

HOLDS, VIOLATED, BAD_INPUT = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code: 0 holds, 1 a violation was found, 2 bad input."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except BrokenPipeError:  # the reader of our output (`| head`) has seen enough
        sys.stderr.close()
        return HOLDS
    except (ValueError, OSError) as error:
        if options.debug:
            raise
        print(f"ldp-audit {options.command}: {_one_line(error)}", file=sys.stderr)
        return BAD_INPUT
    except MemoryError as error:
        if options.debug:
            raise
        print(f"ldp-audit {options.command}: too large for this machine's memory: {_one_line(error)}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        resume = getattr(options, "resume", None)
        kept = f"--resume {resume} goes on from there" if isinstance(resume, Path) else "no file is left half written"
        print(f"ldp-audit {options.command}: interrupted; {kept}", file=sys.stderr)
        return 130
    except Exception as error:  # one line, and not the exit code of a violation
        if options.debug:
            raise
        what = f"{type(error).__name__}: {_one_line(error)}"
        print(f"ldp-audit {options.command}: unexpected {what} (--debug shows where)", file=sys.stderr)
        return BAD_INPUT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ldp-audit",
        description="Check, audit and account for local differential privacy.",
        epilog="exit codes: 0 holds, 1 a violation or refutation was found, 2 bad input",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_check(commands)
    _add_recheck(commands)
    _add_exact(commands)
    audit.add_arguments(_command(commands, "audit", audit.run, "bound a sampler's epsilon from below, by its outputs"))
    account.add_arguments(_command(commands, "account", account.run, "what a protocol spends, in every convention"))
    linkage.add_arguments(
        _command(
            commands, "linkage", linkage.run, "what anonymous, shuffled reports give away, against what is promised"
        )
    )
    train.add_arguments(
        _command(
            commands, "train", train.run, "run a paper's federated pipeline, and tie its accuracy to what it spends"
        )
    )
    report.add_arguments(
        _command(commands, "report", report.run, "everything in one document: claims, programs, protocols, training")
    )
    _command(
        commands, "doctor", doctor.run, "what is installed, which devices there are, and known defects of this machine"
    )
    completion.add_arguments(
        _command(commands, "completion", _completion, "print a script that completes commands and options in a shell")
    )
    return parser


def _add_check(commands: Any) -> None:
    check = _command(commands, "check", _check, "settle a paper's claims, or your own, and write the report")
    source = check.add_mutually_exclusive_group()
    source.add_argument(
        "--paper", default="all", metavar="KEY", help="ldp-fl, fedsel, fedmd-nfdp, wang, own, or all (the default)"
    )
    source.add_argument("--claims", metavar="MODULE", help="a module of your own: package.module or path/to/file.py")
    check.add_argument("--only", action="append", metavar="ID", help="settle this claim only; may be repeated")
    check.add_argument("--out", type=Path, metavar="DIR", help="write report.html, report.md and report.json there")
    check.add_argument(
        "--fail-on", choices=["refuted", "undecided"], help="exit 1 if a claim is refuted, or not even decided"
    )
    check.add_argument("--quiet", action="store_true", help="no progress lines")


def _add_recheck(commands: Any) -> None:
    recheck = _command(
        commands, "recheck", _recheck, "verify a report's proofs and refutations again, without the engines"
    )
    recheck.add_argument("file", type=Path, metavar="FILE", help="a report.json")


def _add_exact(commands: Any) -> None:
    exact = _command(commands, "exact", _exact, "print what is known exactly of a mechanism: epsilon, profile, moments")
    exact.add_argument("target", metavar="TARGET", help="TwoPoint(epsilon=1), channel.csv, or package.module:name")
    exact.add_argument(
        "--plot", type=Path, metavar="FILE.svg", help="draw the profile, the trade-off curve and the variance"
    )
    exact.add_argument("--levels", type=_levels, metavar="E,E,...", help="where to evaluate the profile, in nats")


def _levels(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def _command(commands: Any, name: str, run: Callable[[argparse.Namespace], int], says: str) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=says, description=says.capitalize() + ".")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there as JSON")
    parser.add_argument("--debug", action="store_true", help="show a traceback for an error")
    parser.set_defaults(run=run)
    return parser


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        import ldp_audit

        print(f"ldp-audit {ldp_audit.__version__}")
        parser.exit()


def _check(options: argparse.Namespace) -> int:
    from ldp_audit.reports import document, write

    check_writable(options)
    papers = _chosen(options)
    settled = [(paper, _settle(paper, options)) for paper in papers]
    _print_summary(settled)
    figures = [(paper.key, figure) for paper in papers if paper.figures and options.out for figure in paper.figures()]
    if options.out or options.json:
        report = document.build(settled, figures)
        if options.out:
            write.write_files(options.out, write.rendered(report))
            first = "report.html" if len(papers) == 1 else "index.html"
            print(f"\nreport: {options.out / first} (also report.md, report.json)")
        if options.json:
            write.write_files(options.json.parent, {options.json.name: write.as_json(report)})
    return _exit_code(settled, options.fail_on)


def _completion(options: argparse.Namespace) -> int:
    print(completion.script(_parser(), options.shell))
    return HOLDS


def _chosen(options: argparse.Namespace) -> list[Paper]:
    from dataclasses import replace

    from ldp_audit.claims import papers
    from ldp_audit.claims.loading import load_claims

    if options.claims:
        chosen = [load_claims(options.claims)]
    else:
        chosen = [papers.load(key) for key in (papers.PAPERS if options.paper == "all" else [options.paper])]
    if not options.only:
        return chosen
    known = [claim.id for paper in chosen for claim in paper.claims]
    unknown = [name for name in options.only if name not in known]
    if unknown:
        raise ValueError(f"unknown claim {', '.join(unknown)}; known: {', '.join(known)}")
    return [replace(paper, claims=tuple(c for c in paper.claims if c.id in options.only)) for paper in chosen]


def _settle(paper: Paper, options: argparse.Namespace) -> list[SettledClaim]:
    from ldp_audit.claims.settle import settle_claim

    outcomes = []
    for place, claim in enumerate(paper.claims, start=1):
        outcome = settle_claim(claim)
        outcomes.append(outcome)
        if not options.quiet:
            heading = f"[{place:3d}/{len(paper.claims)}] {claim.id:<12} {outcome.verdict:<12} {outcome.seconds:6.3f} s"
            note = "" if claim.source == "paper" else f"({claim.source}) "
            print(f"{heading}  {_short(note + claim.says, 76)}", flush=True)
    return outcomes


def _print_summary(settled: Sequence[tuple[Paper, Sequence[SettledClaim]]]) -> None:
    from collections import Counter

    from ldp_audit.claims.recheck_report import by_solver_alone

    for paper, outcomes in settled:
        counts = Counter(str(outcome.verdict) for outcome in outcomes if outcome.claim.source == "paper")
        others = [outcome.claim.id for outcome in outcomes if outcome.claim.source != "paper"]
        seconds = sum(outcome.seconds for outcome in outcomes)
        print(f"\n{paper.key}: {len(outcomes)} claims in {seconds:.2f} s")
        for verdict, count in counts.most_common():
            print(f"  {verdict:<12} {count:3d}")
        if others:
            print(f"  not the paper's own, so not counted: {', '.join(others)}")
        by_solver = [o.claim.id for o in outcomes if any(by_solver_alone(p.evidence) for p in o.all_parts())]
        if by_solver:
            print(f"  resting on a solver's word alone: {', '.join(by_solver)}")


def _exit_code(settled: Sequence[tuple[Paper, Sequence[SettledClaim]]], fail_on: str | None) -> int:
    """A damaged conversion's reading never counts; what is undecided includes what is refuted."""
    failing = {"refuted": {"REFUTED"}, "undecided": {"REFUTED", "UNDECIDED"}, None: set()}[fail_on]
    own = [o for _, outcomes in settled for o in outcomes if o.claim.source != "damaged conversion"]
    return VIOLATED if any(str(outcome.verdict) in failing for outcome in own) else HOLDS


def _recheck(options: argparse.Namespace) -> int:
    from collections import Counter
    from dataclasses import asdict

    from ldp_audit.claims.recheck_report import recheck_claims

    start = time.perf_counter()
    outcomes = list(recheck_claims(read_json(options.file)))
    refused = [outcome for outcome in outcomes if outcome.complaint]
    counts = Counter(outcome.verdict for outcome in outcomes if not outcome.complaint)
    write_json(options, {"claims": [asdict(outcome) for outcome in outcomes], "refused": len(refused)})
    for outcome in refused:
        print(f"REFUSED {outcome.id} ({outcome.verdict}): {outcome.complaint}")
    listed = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    seconds = time.perf_counter() - start
    print(f"verified {len(outcomes) - len(refused)} of {len(outcomes)} claims in {seconds:.2f} s: {listed}")
    open_parts = [outcome.id for outcome in outcomes if outcome.unverified]
    if open_parts:
        print(f"resting on a solver's word alone, not verified: {', '.join(open_parts)}")
    return VIOLATED if refused else HOLDS


def _exact(options: argparse.Namespace) -> int:
    from ldp_audit.accounting.exact_summary import LEVELS, summarise
    from ldp_audit.accounting.whole_file import check_place
    from ldp_audit.mechanisms import target

    if options.plot:
        check_place(options.plot)
    check_writable(options)
    mechanism = target.load(options.target)
    summary = summarise(mechanism, options.levels or LEVELS)
    if options.plot:
        from ldp_audit.accounting.profile_figure import profile_figure
        from ldp_audit.reports import figures, write

        drawn = figures.svg(profile_figure(mechanism).to_dict())
        write.write_files(options.plot.parent, {options.plot.name: drawn + "\n"})
    write_json(options, summary)
    print(summary["mechanism"])
    for name in ("exact_epsilon", "claimed_epsilon", "implemented_epsilon", "worst_pair"):
        if summary[name] is not None:
            print(f"  {name.replace('_', ' '):<20} {summary[name]}")
    for row in summary["moments"]:
        print(f"  at input {row['input']!s:<11} mean {_digits(row['mean'])}, variance {_digits(row['variance'])}")
    print(f"  {'epsilon':>10}  delta")
    for row in summary["profile"]:
        print(f"  {row['epsilon']!s:>10}  {row['delta']:.12g}")
    return HOLDS


def _digits(number: Any) -> str:
    """Ten digits of a number, or of each number of a vector; a text as it is."""
    if isinstance(number, str):
        return number
    return f"[{', '.join(map(_digits, number))}]" if isinstance(number, list) else f"{number:.10g}"


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"cannot open {error.filename}: {error.strerror}"
    return " ".join(str(error).split())
