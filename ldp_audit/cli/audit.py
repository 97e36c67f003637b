"""ldp-audit audit: lower bounds on a sampler's epsilon from its outputs, or its exact channel over all random words."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldp_audit.cli.command_line import check_writable, write_json
from ldp_audit.cli.console import say
from ldp_audit.files import read_json
from ldp_audit.progress import Progress

if TYPE_CHECKING:
    from ldp_audit.auditing.adapters.sampler import NamedSampler
    from ldp_audit.auditing.result import AuditResult
    from ldp_audit.implementations import Implementation


_TARGETS = "package.module:name, path/to/file.py:name, TwoPoint(epsilon=1), or channel.csv"


def add_arguments(audit: argparse.ArgumentParser) -> None:
    """The options of `ldp-audit audit`."""
    add = audit.add_argument_group("what is audited").add_argument
    add("target", nargs="?", metavar="TARGET", help=f"what to audit: {_TARGETS}")
    add("--command", dest="program", metavar="WORDS", help="or a program in any language: './client {x}'")
    add("--url", metavar="URL", help="or a service on this machine: http://127.0.0.1:8000/path")
    add("--allow-remote", action="store_true", help="let --url name another machine, to which the inputs are sent")
    add("--constant", action="store_true", help="all outputs of the program are to be one")
    add("--stateless", action="store_true", help="the program keeps nothing for later calls")
    add("--fresh", action="store_true", help="TARGET makes clients, a new one for each output: for those that remember")
    add("--reports", type=count, metavar="K", help="of a fresh client on its input, which together are one output")
    add("--inputs", type=_inputs, metavar="X,X,...", help="two or more: numbers, labels, or a JSON list of them")
    add(
        "--search", type=_range, metavar="LOW,HIGH[,D]", help="search the inputs of a range, or of vectors of D numbers"
    )
    add = audit.add_argument_group("what is claimed").add_argument
    add("--epsilon", type=float, metavar="E", help="the claim, in nats; without it only the bound is stated")
    add("--delta", type=float, metavar="D", help="the claimed delta; 0 by default")
    add(
        "--claimed-rho",
        type=float,
        metavar="R",
        help="a claim of zCDP: Renyi divergences are at most R times the order",
    )
    add = audit.add_argument_group("how much").add_argument
    add("--samples", type=count, metavar="N", help="of each input, the search included; 1e6 by default")
    add("--confidence", type=float, metavar="C", help="of everything that is stated; 0.999 by default")
    add("--seed", type=_seed, metavar="SEED", help="a whole number, 0 by default, or random")
    add("--timeout", type=float, metavar="S", help="seconds that one call of the sampler, or one request, may take")
    add("--seconds", type=float, metavar="S", help="about so many may pass: a sequential audit of what they allow")
    add = audit.add_argument_group("how").add_argument
    add("--sequential", action="store_true", help="stop as soon as a violation is certain; cannot be confirmed")
    add("--curves", action="store_true", help="with delta over epsilon, Renyi and the trade-off curve")
    add("--floating-point", action="store_true", help="look at the last bits of numbers too")
    add("--implementation", action="store_true", help="run the program on all random words that it can draw")
    add("--bits", type=count, metavar="B", help="of each word, where fewer are to be run than are drawn")
    add("--monotone", action="store_true", help="take it that outputs rise or fall with the word, if too many to run")
    add("--confirm", type=Path, metavar="FILE", help="test the witness of a result on fresh samples")
    add("--merge", type=Path, nargs="+", metavar="FILE", help="add up runs of one event: one bound")
    add("--workers", type=int, default=1, metavar="N", help="processes of this machine that count")
    add("--scheduler", metavar="ADDRESS", help="of a Dask cluster, whose workers count")
    add = audit.add_argument_group("output").add_argument
    add("--resume", type=Path, metavar="FILE", help="keep the counts there; go on from there if it exists")
    add("--quiet", action="store_true", help="no progress")


def count(text: str) -> int:
    """A whole number, also as 1e6."""
    try:
        number = float(text)
    except ValueError:
        number = 0.5
    if not number.is_integer():
        raise argparse.ArgumentTypeError(f"must be a whole number such as 1000000 or 1e6, got {text!r}")
    return int(text) if text.strip().isdigit() else int(number)


def _range(text: str) -> dict[str, Any]:
    words = text.split(",")
    if len(words) in (2, 3):
        try:
            dimension = int(words[2]) if len(words) == 3 else None
            return {"low": float(words[0]), "high": float(words[1]), "dimension": dimension}
        except ValueError:
            pass
    raise argparse.ArgumentTypeError(f"must be LOW,HIGH or LOW,HIGH,DIMENSION, got {text!r}")


def _seed(text: str) -> int | str:
    if text != "random" and not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"must be a whole number >= 0, or random, got {text!r}")
    return text if text == "random" else int(text)


def _inputs(text: str) -> list[Any]:
    """JSON if it begins with [; else numbers if all of them are, else labels."""
    if text.lstrip().startswith("["):
        found = _json(text)
        if found is None:
            around = f"[{text}]"
            example = around if _json(around) is not None else "[[0, 1], [1, 0]]"
            raise argparse.ArgumentTypeError(
                f"must be numbers, labels, or a JSON list, written '{example}', got {text!r}, which is not JSON"
            )
        return found
    words = [word.strip() for word in text.split(",")]
    if "" in words:
        raise argparse.ArgumentTypeError(f"must have something before and after each comma, got {text!r}")
    try:
        numbers = [int(word) if word.lstrip("+-").isdigit() else float(word) for word in words]
    except ValueError:
        return words
    if any(number != number for number in numbers):
        raise argparse.ArgumentTypeError(f"must not be nan, got {text!r}")
    return numbers


def _json(text: str) -> Any:
    """What the text says as JSON; None where it is none."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None


def run(options: argparse.Namespace) -> int:
    """Audit, confirm, merge or enumerate; 1 if the claim is violated, 3 without power, else 0; or ValueError."""
    from ldp_audit.auditing.adapters.sampler import ProgramError
    from ldp_audit.auditing.test import IncompleteError

    check_writable(options)
    _check_together(options)
    progress = Progress(options.quiet)
    task = _merged if options.merge else _confirmed if options.confirm else _audited
    try:
        progress(f"auditing {options.target or options.program or options.url or 'saved runs'}")
        result = (_implemented if options.implementation else task)(options, progress)
    except ProgramError as error:
        partial = error.partial if isinstance(error, IncompleteError) else None
        write_json(options, {"schema_version": 1, "kind": "audit-error", "error": str(error), "partial": partial})
        raise ValueError(f"{error}{_saved_counts(options, partial)}") from error
    finally:
        progress.end()
    write_json(options, result.to_dict())
    say(result.describe())
    if result.verdict == "not refuted":
        say("no proof that the claim holds: what was run did not refute it")
    return 1 if result.violated else 3 if result.verdict == "inconclusive" else 0


def _check_together(options: argparse.Namespace) -> None:
    if options.program is not None and options.url is not None:
        raise ValueError("audit needs one of TARGET, --command and --url, got two of them")
    if options.confirm and options.merge:
        raise ValueError("--confirm does not go with --merge")
    if options.allow_remote and options.url is None:
        raise ValueError("--allow-remote is about --url")
    if options.reports is not None and not options.fresh:
        raise ValueError("--reports is about --fresh")
    if options.fresh and (options.program or options.url):
        raise ValueError("--fresh is about a TARGET")
    if options.seconds is not None and (options.confirm or options.merge):
        raise ValueError("--seconds does not go with --confirm and --merge")
    if options.claimed_rho is not None and (options.confirm or options.merge or options.implementation):
        raise ValueError("--claimed-rho does not go with --confirm, --merge and --implementation")
    if not options.implementation:
        if options.bits is not None or options.monotone:
            raise ValueError("--bits and --monotone are about --implementation")
        return
    others = ("program", "url", "fresh", "sequential", "curves", "floating_point", "confirm", "merge", "resume")
    others += ("scheduler", "timeout", "seconds", "constant")
    given = [name for name in others if getattr(options, name)]
    given += ["workers"] if options.workers != 1 else []
    given += ["confidence"] if options.confidence is not None else []
    if given:
        name = "command" if given[0] == "program" else given[0].replace("_", "-")
        raise ValueError(f"--implementation does not go with --{name}")


def _implemented(options: argparse.Namespace, progress: Progress) -> Implementation:
    from ldp_audit.implementations.audit_implementation import implementation_of
    from ldp_audit.mechanisms import target

    if options.target is None:
        raise ValueError(f"audit needs a TARGET: {_TARGETS}")
    loaded = target.load(options.target, progress=progress)
    inputs, epsilon = _compared(options, loaded, progress)
    return implementation_of(
        loaded,
        inputs,
        claimed_epsilon=epsilon,
        claimed_delta=options.delta or 0.0,
        bits=options.bits,
        monotone=options.monotone,
        seed=_seed_of(options),
        progress=progress,
        **({} if options.samples is None else {"samples": options.samples}),
    )


def _audited(options: argparse.Namespace, progress: Progress) -> AuditResult:
    from ldp_audit.auditing import audit

    progress(f"preparing {options.target or 'the program'}")
    sampler, loaded = _sampler_of(options, options.target)
    inputs, epsilon = _compared(options, loaded, progress)
    given = {"samples": options.samples, "confidence": options.confidence, "claimed_rho": options.claimed_rho}
    return audit(
        sampler,
        inputs,
        epsilon,
        options.delta or 0.0,
        **{name: value for name, value in given.items() if value is not None},
        seconds=options.seconds,
        constant=options.constant,
        sequential=options.sequential,
        curves=options.curves,
        floating_point=options.floating_point,
        **_common_arguments(options, progress, _seed_of(options)),
    )


def _sampler_of(options: argparse.Namespace, target: str | None) -> tuple[NamedSampler, Any]:
    """The sampler, ready to be called, and what the target names, for its own inputs and claim; None for others."""
    from ldp_audit.auditing.adapters import from_command, from_url
    from ldp_audit.auditing.adapters.target_sampler import TargetSampler

    timeout = {} if options.timeout is None else {"timeout": options.timeout}
    if options.target is not None and (options.program or options.url) is not None:
        raise ValueError("audit needs one of TARGET, --command and --url, got two of them")
    if options.program is not None:
        sampler: NamedSampler = from_command(options.program, **timeout)
    elif options.url is not None:
        sampler = from_url(options.url, allow_remote=options.allow_remote, **timeout)
    elif target is not None:
        reports = 1 if options.reports is None else options.reports
        sampler = TargetSampler(target, reports if options.fresh else None)
    else:
        raise ValueError(f"audit needs a TARGET: {_TARGETS}; or --command, or --url")
    sampler.prepare()
    return sampler, sampler.loaded if isinstance(sampler, TargetSampler) else None


def _compared(options: argparse.Namespace, loaded: Any, progress: Progress) -> tuple[Any, float | None]:
    """The inputs to compare, and the claim: from the options, or from the mechanism itself."""
    from ldp_audit.auditing.confirm import input_of

    if options.search and options.inputs is not None:
        raise ValueError("--search and --inputs both name inputs; give one of them")
    if options.inputs is None and not options.search and not hasattr(loaded, "worst_pair"):
        raise ValueError(
            f"--inputs is needed: {options.target or 'a program'} does not say which inputs tell most, as mechanisms do"
        )
    epsilon, own = options.epsilon, getattr(loaded, "epsilon", None)
    if epsilon is None and isinstance(own, int | float):
        epsilon = own
        progress.end()  # so that the line below stands alone
        say(f"no --epsilon: the claim is what {options.target} is calibrated to, {epsilon:.10g}")
    return _inputs_of(options, loaded, input_of), epsilon


def _inputs_of(options: argparse.Namespace, loaded: Any, input_of: Callable[[Any], Any]) -> Any:
    """A search, the given inputs, or a mechanism's worst pair."""
    from ldp_audit.auditing import search

    if options.search:
        try:
            return search(**options.search)
        except ValueError as error:
            raise ValueError(f"--search: {error}") from None
    return loaded.worst_pair() if options.inputs is None else [input_of(x) for x in options.inputs]


def _confirmed(options: argparse.Namespace, progress: Progress) -> AuditResult:
    from dataclasses import replace

    from ldp_audit.auditing.confirm import confirm, input_of, program_of, witness_in
    from ldp_audit.auditing.record import record_in

    document = read_json(options.confirm)
    record = record_in(document, str(options.confirm))
    named = options.program or options.url
    progress(f"preparing {options.target or 'the program'}")
    sampler, loaded = _sampler_of(options, None if named else program_of(options.target, record, str(options.confirm)))
    known = [input_of(x) for x in options.inputs or ()]
    if not known and hasattr(loaded, "worst_pair"):
        known = list(loaded.worst_pair())
    changed = {
        "claimed_epsilon": options.epsilon,
        "claimed_delta": options.delta,
        "confidence": options.confidence,
        "samples": options.samples,
    }
    again = witness_in(document, str(options.confirm), known)
    again = replace(again, **{name: value for name, value in changed.items() if value is not None})
    return confirm(sampler, again, **_common_arguments(options, progress, _seed_of(options)))


def _merged(options: argparse.Namespace, _: Progress) -> AuditResult:
    from ldp_audit.auditing.confirm import merge

    return merge([(str(path), read_json(path)) for path in options.merge])


def _seed_of(options: argparse.Namespace) -> int:
    """The given seed, that of the resumed run, or a random one."""
    import secrets

    from ldp_audit.auditing.record import seed_in

    if options.seed != "random":
        return options.seed or 0
    kept = seed_in(options.resume) if options.resume else None
    return secrets.randbits(48) if kept is None else kept


def _common_arguments(options: argparse.Namespace, progress: Progress, seed: int) -> dict[str, Any]:
    return {
        "seed": seed,
        "timeout": None if options.program or options.url else options.timeout,
        "stateless": options.stateless,
        "workers": options.workers,
        "scheduler": options.scheduler,
        "resume": options.resume,
        "progress": progress,
    }


def _saved_counts(options: argparse.Namespace, partial: dict[str, Any] | None) -> str:
    """A note on the counts saved before the program failed."""
    if partial is None:
        return ""
    (hits, other), (trials, others) = partial["hits"], partial["trials"]
    where, how = "", "; nothing is kept of it, for lack of --resume FILE"
    if options.resume:
        where, how = f", kept in {options.resume}", f"; --resume {options.resume} goes on from there"
    words = partial["event"]["words"]
    return f" (before that, {words}: {hits} of {trials} and {other} of {others}{where}){how}"
