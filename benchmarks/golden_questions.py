"""The questions of `golden.py`, in groups: each has a name and a call that answers it.

Everyday questions to the accountant are data, at the top. `golden.py` explains the keys of an answer.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import cycle, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from accounting_cases import CASES, Case

from ldp_audit import audit
from ldp_audit.accounting import (
    PrivacyLoss,
    PrivacyProfile,
    calibrate,
    compose,
    nfdp,
    sampled_clients,
    shuffle,
    subsample,
)
from ldp_audit.accounting.calibrate import Calibrated
from ldp_audit.accounting.conversion import conversions as convert
from ldp_audit.auditing import fit
from ldp_audit.cli import main
from ldp_audit.mechanisms import (
    CoordinateSampling,
    Gaussian,
    Laplace,
    PerturbedSampling,
    RandomizedResponse,
    RandomProjection,
    TwoPoint,
    TwoStage,
)
from ldp_audit.mechanisms.target import load

Answers = dict[str, dict[str, Any]]
Questions = Iterator[tuple[str, Callable[[], Answers]]]
Part = tuple[str, int]  # a TARGET of the command line, and its number of uses
Sample = dict[str, Any]  # arguments of `subsample`

DELTAS = (1e-6, 1e-2, 1e-10, 1e-5, 1e-15)

TRAINING = [
    *product((0.001, 0.01, 0.2), (0.5, 1.0, 2.0, 10.0), (1, 100, 10_000, 100_000)),
    *product((0.05,), (0.8, 4.0), (10, 1000)),
]
"""DP-SGD: the sampling rate, the noise's standard deviation at sensitivity 1, and the steps."""

SAMPLES: list[Sample] = [
    {**drawn, "adjacency": adjacency}
    for drawn in (
        {"kind": "poisson", "rate": 0.01},
        {"kind": "without", "n": 1000, "k": 10},
        {"kind": "with", "n": 1000, "k": 1},
    )
    for adjacency in ("add/remove", "replace")
]
REPEATED: list[Sample] = [
    {"kind": "with", "n": n, "k": k, "adjacency": adjacency}
    for n, k in ((100, 2), (1000, 10), (10**6, 1000))
    for adjacency in ("add/remove", "replace")
]
SAMPLES_EACH = 50_000
"""Samples of each input in an audit of the zoo, as in its tests; subtle specimens get the default plan."""

NOISES = ("Gaussian(1, replaced=1)", "Gaussian(1, replaced=2)", "Laplace(1, replaced=1)", "RandomizedResponse(1)")

MECHANISMS = (
    "TwoPoint({})",
    "RandomizedResponse({}, k=3)",
    "Piecewise({})",
    "Hybrid({})",
    "ExponentialSelection({}, d=4)",
    "PerturbedEncoding({}, d=4, k=1)",
    "PerturbedSampling({}, d=4, k=1)",
    "DuchiVector({}, d=4)",
)
BUILT = SimpleNamespace(
    **{f"sampled_{i}": CoordinateSampling(TwoPoint, epsilon, 3, 2) for i, epsilon in enumerate((0.1, 1.0, 4.0))},
    **{
        f"staged_{i}": TwoStage(PerturbedSampling(epsilon, 3, 1), TwoPoint(epsilon / 2))
        for i, epsilon in enumerate((0.1, 1.0, 4.0))
    },
    **{
        f"projected_{i}": RandomProjection.drawn(TwoPoint(epsilon), 4, 2, np.random.default_rng(1))
        for i, epsilon in enumerate((0.1, 1.0, 4.0))
    },
)
"""Mechanisms built from others, which no TARGET names: coordinate sampling, two stages, random projection."""

EXACT_TARGETS = (
    *(text.format(epsilon) for text in MECHANISMS for epsilon in (0.1, 1, 4)),
    *(f"Laplace({scale})" for scale in (10, 1, 0.25)),
    *(f"Gaussian({sigma})" for sigma in (10, 1, 0.25)),
    *(f"SubsampleRelease(n={n}, k={k})" for n, k in ((10, 1), (10, 3), (1000, 10))),
    *(f"golden_questions:BUILT.{name}" for name in vars(BUILT)),
)
"""The catalogue's mechanisms at three budgets, as TARGETs of `ldp-audit exact`."""

SUMS: list[tuple[Part, ...]] = [
    *((("RandomizedResponse(0.1)", 10**power),) for power in range(7)),
    (("RandomizedResponse(1)", 10**6),),
    (("RandomizedResponse(0.001)", 10**6),),
    (("RandomizedResponse(0.5, k=4)", 48),),
    (("RandomizedResponse(0.01, k=10)", 10**6),),
    (("TwoPoint(1)", 1000),),
    (("Laplace(1)", 10),),
    (("Laplace(10)", 1000),),
    (("Laplace(100)", 10**5),),
    (("Laplace(1000)", 10**6),),
    (("Gaussian(1)", 1),),
    (("Gaussian(50)", 1000),),
    (("Gaussian(500)", 10**6),),
    (("Piecewise(0.1)", 1000),),
    (("Hybrid(2)", 20),),
    (("DuchiVector(0.5, d=8)", 100),),
    (("PerturbedEncoding(1, d=10, k=2)", 100), ("TwoPoint(0.5)", 100)),
    (("RandomizedResponse(0.1)", 100), ("Laplace(20)", 50)),
    (("RandomizedResponse(0.5, k=4)", 48), ("Piecewise(0.4)", 12)),
    (("Gaussian(20)", 100), ("Laplace(10)", 200)),
    (("Gaussian(1000)", 500_000), ("RandomizedResponse(0.001)", 500_000)),
    (("Laplace(5)", 20), ("Laplace(7)", 30), ("Laplace(11)", 40)),
    (("RandomizedResponse(0.1)", 1000), ("RandomizedResponse(0.3)", 300), ("RandomizedResponse(0.7)", 20)),
    (("TwoPoint(0.2)", 10), ("Hybrid(0.2)", 10), ("Piecewise(0.2)", 10), ("Gaussian(5)", 10)),
    tuple((f"Laplace({scale})", 10) for scale in range(5, 15)),
    tuple((f"RandomizedResponse({k}, k={k + 2})", 10 * k) for k in range(1, 6)),
    (
        ("RandomizedResponse(0.01)", 500_000),
        ("RandomizedResponse(0.02, k=5)", 200_000),
        ("TwoPoint(0.01)", 100_000),
        ("Laplace(100)", 100_000),
        ("Gaussian(200)", 90_000),
        ("Piecewise(0.05)", 9000),
        ("Hybrid(0.05)", 900),
        ("DuchiVector(0.5, d=4)", 50),
        ("ExponentialSelection(0.5, d=10)", 40),
        ("PerturbedSampling(0.5, d=10, k=1)", 10),
    ),
]

SHUFFLES: list[tuple[str, int]] = [
    *product(("RandomizedResponse(1)",), (1, 10, 1000, 10**5, 10**6, 10**8)),
    *product(("RandomizedResponse(0.5, k=4)", "RandomizedResponse(4, k=10)"), (1000, 10**6, 10**8)),
    *product(("TwoPoint(0.1)", "TwoPoint(3)"), (1000, 10**6)),
    *product(("Laplace(1)", "Piecewise(2)", "PerturbedSampling(1, d=4, k=1)"), (1000, 10**6)),
]

CALLS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((convert.gdp_to_delta, asked) for asked in ((1.0, 1.0), (0.1, 0.5), (3.0, 20.0))),
    *((convert.gdp_to_epsilon, asked) for asked in ((1.0, 1e-6), (0.1, 1e-10), (5.0, 1e-2))),
    *((convert.gdp_within, asked) for asked in ((1.0, 1e-6), (8.0, 1e-15))),
    *((convert.pure_to_delta, asked) for asked in ((1.0, 0.5), (3.0, 2.9))),
    *((convert.pure_to_epsilon, asked) for asked in ((1.0, 1e-2), (3.0, 1e-6))),
    *((convert.pure_to_renyi, asked) for asked in ((1.0, 2.0), (0.1, 64.0), (3.0, 1.0))),
    *((function, (one,)) for function in (convert.pure_to_zcdp, convert.pure_to_gdp) for one in (0.1, 1.0, 3.0)),
    *((convert.gaussian_renyi, asked) for asked in ((1.0, 2.0), (0.1, 32.0))),
    *((convert.laplace_renyi, asked) for asked in ((1.0, 2.0), (0.1, 32.0))),
    *((convert.response_renyi, asked) for asked in ((1.0, 2.0), (0.1, 32.0, 4))),
    *((convert.zcdp_to_epsilon, asked) for asked in ((0.1, 1e-6), (2.0, 1e-10))),
    *((convert.zcdp_to_delta, asked) for asked in ((0.1, 2.0), (2.0, 10.0))),
    *((function, (1.0,)) for function in (convert.gaussian_zcdp, convert.laplace_zcdp, convert.pure_to_zcdp_by_square)),
]

CURVES: list[tuple[tuple[Part, ...], Sample | None]] = [
    ((("RandomizedResponse(1, k=3)", 1),), None),
    ((("RandomizedResponse(0.1)", 1000),), None),
    ((("Gaussian(1)", 1),), None),
    ((("Laplace(1)", 1),), None),
    ((("Laplace(10)", 100),), None),
    ((("Gaussian(20)", 100), ("Laplace(10)", 200)), None),
    ((("Gaussian(1)", 1),), {"rate": 0.01}),
    ((("Gaussian(1)", 1000),), {"rate": 0.01}),
]


def account() -> Questions:
    """The account of every shipped protocol."""
    for name in _command("account", "--list")["protocols"]:
        yield name, partial(_account, name)


def check() -> Questions:
    """The verdict of every claim and of each statement that was settled for it."""
    for paper in ("ldp-fl", "fedsel", "fedmd-nfdp", "wang", "own"):
        yield paper, partial(_verdicts, paper)


def cases() -> Questions:
    """The accounting benchmark's cases, at the default width."""
    return ((name, partial(_case, case)) for name, case in CASES.items())


def exact() -> Questions:
    """Exact epsilon, moments and profile of the catalogue's mechanisms at three budgets."""
    return ((target, partial(_summary, target)) for target in EXACT_TARGETS)


def zoo() -> Questions:
    """Audits at the default seed of programs with known answers, and tests of fit with known deviations."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from tests.zoo import DEVIATIONS, SPECIMENS

    for specimen in SPECIMENS:
        for program in (specimen.broken, specimen.sound):
            kind = "broken" if program is specimen.broken else "sound"
            yield f"{specimen.name}, {kind}", partial(_audited, specimen, program)
    for one in DEVIATIONS:
        for kind, program in (("broken", one.broken), ("sound", one.sound)):
            tested = partial(fit, program, one.law, one.inputs, samples=SAMPLES_EACH, seed=0)
            yield f"{one.name}, {kind}", lambda run=tested: {"": {"verdict": run().verdict}}


def training() -> Questions:
    """DP-SGD: a Gaussian on Poisson samples, add/remove neighbours."""
    for (rate, sigma, steps), delta in zip(TRAINING, cycle(DELTAS), strict=False):
        yield _asked(((f"Gaussian({sigma:g})", steps),), delta, {"rate": rate})


def sampling() -> Questions:
    """Samples with a record at most once, used once and a hundred times; both notions of neighbours."""
    return (_asked(((noise, times),), 1e-6, sample) for noise, times, sample in product(NOISES, (1, 100), SAMPLES))


def replacement() -> Questions:
    """Samples with a record possibly several times."""
    return (_asked(((noise, times),), 1e-6, sample) for noise, times, sample in product(NOISES, (1, 10), REPEATED))


def sums() -> Questions:
    """Sums of equal and of different mechanisms, at several deltas."""
    yield from (_asked(parts, delta) for parts, delta in zip(SUMS, cycle(DELTAS), strict=False))
    yield from (_asked(((text.format(1), 30),), 1e-6) for text in (*MECHANISMS, "SubsampleRelease(n=1000, k=3)"))
    yield from (_asked(((text.format(1), 30),), 0.0) for text in MECHANISMS)
    yield from (_asked((("RandomizedResponse(0.1)", 20_000),), delta) for delta in DELTAS)
    yield "no use", lambda: {"": {"bounds": list(compose([]).epsilon_bounds(1e-6))}}


def shuffling() -> Questions:
    """Shuffled reports, for the worst and for given other clients; several rounds of them."""
    for (target, n), delta in zip(SHUFFLES, cycle(DELTAS), strict=False):
        yield f"{n} x {target} at {delta:g}", partial(_shuffled, target, n, delta, 1)
    for target, n, times in (("RandomizedResponse(0.5, k=4)", 1000, 12), ("TwoPoint(1)", 10_000, 100)):
        yield f"{times} rounds of {n} x {target} at 1e-06", partial(_shuffled, target, n, 1e-6, times)
    for others in ("one end", "center"):
        yield (
            f"1000 x TwoPoint(1) at 1e-06, others at {others}",
            partial(_shuffled, "TwoPoint(1)", 1000, 1e-6, 1, others=others),
        )


def calibration_and_conversion() -> Questions:
    """Parameters that meet a budget, and conversions between notions of privacy."""
    for function, asked in CALLS:
        yield f"{function.__name__}{asked}", partial(_called, function, *asked)
    for target, most in (("RandomizedResponse(0.1)", 10**6), ("Gaussian(20)", 10**6)):
        asked = {"epsilon": 2.0, "delta": 1e-6, "low": 1, "high": most, "increasing": True, "whole": True}
        build = partial(lambda target, times: _sum(((target, times),)), target)
        yield f"calibrate: the rounds of {target}", partial(_called, calibrate, build, **asked)
    for what, build, low, high, rises in (
        ("sigma at rate 0.01", lambda sigma: _dp_sgd(0.01, sigma), 0.3, 20.0, False),
        ("rate at sigma 1", lambda rate: _dp_sgd(rate, 1.0), 1e-4, 0.5, True),
    ):
        asked = {"epsilon": 2.0, "delta": 1e-5, "low": low, "high": high, "increasing": rises}
        yield f"calibrate: the {what}, 1000 steps, (2, 1e-05)", partial(_called, calibrate, build, **asked)


def profiles() -> Questions:
    """delta(epsilon), Renyi divergences, zCDP, Gaussian privacy and the trade-off curve of a few losses."""
    for parts, sample in CURVES:
        yield _named(parts, sample), partial(_profile, parts, sample)
    yield (
        "no more than (1, 1e-06) and (2, 1e-09)",
        lambda: _deltas(PrivacyProfile.from_points([(1.0, 1e-6), (2.0, 1e-9)]).loss),
    )
    for adjacency in ("add/remove", "replace"):
        yield f"nfdp(1000, 10), {adjacency}", lambda a=adjacency: _deltas(nfdp(1000, 10, adjacency=a, rounds=3))
    for observer in ("selects", "sees the result"):
        yield (
            f"10 of 1000 clients, who {observer}",
            lambda o=observer: _deltas(
                sampled_clients(
                    load("Laplace(1, replaced=1)"), clients=1000, selected=10, observer=o, adjacency="replace"
                )
            ),
        )


def refusals() -> Questions:
    """Questions without an answer: the exception is compared, and its message recorded."""
    refused: dict[str, Callable[[], Any]] = {
        "a negative number of uses": lambda: compose([(Gaussian(1.0), -1)]),
        "half a use": lambda: compose([(Gaussian(1.0), cast("int", 0.5))]),
        "delta of 2": lambda: compose([(Gaussian(1.0), 1)]).epsilon(2.0),
        "a negative epsilon": lambda: compose([(Gaussian(1.0), 1)]).delta(-1.0),
        "10**11 Laplaces": lambda: compose([(Laplace(1e6), 10**11)]).epsilon(1e-6),
        "a sampling rate of 2": lambda: subsample(Gaussian(1.0), rate=2.0),
        "a replaced record of a sum, of unknown size": lambda: subsample(Gaussian(1.0), rate=0.1, adjacency="replace"),
        "11 of 10 records": lambda: subsample(Gaussian(1.0), kind="without", n=10, k=11),
        "shuffled Gaussians": lambda: shuffle(Gaussian(1.0, replaced=1.0), 1000),
        "shuffled reports of no client": lambda: shuffle(TwoPoint(1.0), 0),
        "no mechanism": lambda: compose([("Gaussian", 1)]),
        "a budget that no sigma meets": lambda: calibrate(Gaussian, epsilon=0.1, delta=1e-9, low=0.1, high=1.0),
        "a mechanism that is not shipped": lambda: load("Staircase(epsilon=1)"),
        "epsilon of 0": lambda: load("TwoPoint(epsilon=0)"),
        "a protocol that is not shipped": lambda: _command("account", "nonsense"),
    }
    for name, call in refused.items():
        yield name, lambda call=call: {"": {"error": f"none: {call()!r}"}}


GROUPS: dict[str, Callable[[], Questions]] = {
    one.__name__: one
    for one in (
        *(account, check, cases, exact, zoo),
        *(training, sampling, replacement, sums, shuffling, calibration_and_conversion, profiles, refusals),
    )
}


def _command(*arguments: str) -> Any:
    """The --json output of an `ldp-audit` command. Raises ValueError with its last line if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        file, said = Path(folder) / "answer.json", io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            code = main([*arguments, "--json", str(file)])
        if code:
            raise ValueError(said.getvalue().strip())
        return json.loads(file.read_text(encoding="utf-8"))


def _account(name: str) -> Answers:
    report = _command("account", name, "--quiet")
    found: Answers = {": least delta": {"exact": report["least_delta"]}}
    for kind in ("steps", "scopes"):
        for row in report[kind]:
            found[f": {kind}, {row['name']}, pure"] = {"upper": row["pure"]}
            for notion in ("by_name", "shuffled"):
                if row[notion] is not None:
                    found[f": {kind}, {row['name']}, {notion}"] = {"bounds": row[notion]}
    for row in report["totals"]:
        lower, upper = row["lower"], row["epsilon"]
        found[f": total, {row['key']}"] = {"upper": upper} if lower is None else {"bounds": [lower, upper]}
    for row in report["paper"]:
        found[f": the paper, {row['says']}"] = {"exact": [row["epsilon"], row["delta"]]}
        found |= {f": the paper, {row['says']}, {claim}": {"verdict": one} for claim, one in row["claims"].items()}
    return found


def _verdicts(paper: str) -> Answers:
    found: Answers = {}
    for claim in _command("check", "--paper", paper, "--quiet")["claims"]:
        found[f": {claim['id']}"] = {"verdict": claim["verdict"]}
        for group, parts in claim["evidence"].items():
            if isinstance(parts, list) and parts:
                found[f": {claim['id']}, {group}"] = {"verdict": [part["verdict"] for part in parts]}
    return found


def _case(case: Case) -> Answers:
    """The bounds on epsilon of a case of the accounting benchmark."""
    kinds: dict[str, Callable[..., Any]] = {
        "rr": RandomizedResponse,
        "laplace": Laplace,
        "gaussian": Gaussian,
        "sampled": lambda rate, sigma: subsample(Gaussian(sigma), rate=rate),
    }
    loss = compose([(kinds[kind](*parameters), times) for kind, parameters, times in case.parts])
    return {"": {"bounds": list(loss.epsilon_bounds(case.delta))}}


def _summary(target: str) -> Answers:
    summary = _command("exact", target)
    names = ("exact_epsilon", "claimed_epsilon", "implemented_epsilon", "worst_pair")
    found: Answers = {f": {name}": {"exact": summary[name]} for name in names}
    found[": moments"] = {"exact": [[row["mean"], row["variance"]] for row in summary["moments"]]}
    return found | {f": delta at {row['epsilon']:g}": {"exact": row["delta"]} for row in summary["profile"]}


def _audited(specimen: Any, program: Any) -> Answers:
    found = audit(
        program,
        specimen.inputs,
        specimen.claimed_epsilon,
        specimen.claimed_delta,
        floating_point=specimen.floating_point,
        seed=0,
        samples=1_000_000 if specimen.subtle else SAMPLES_EACH,
    )
    return {"": {"verdict": found.verdict}, ": epsilon is at least": {"note": found.epsilon_lower}}


def _asked(parts: Iterable[Part], delta: float, sample: Sample | None = None) -> tuple[str, Callable[[], Answers]]:
    """The bounds on epsilon of a sum, each part on a sample of its own if one is given."""
    listed = tuple(parts)
    return f"{_named(listed, sample)} at {delta:g}", partial(_epsilon, listed, delta, sample)


def _named(parts: Iterable[Part], sample: Sample | None) -> str:
    drawn = "".join(f", {key} {value}" for key, value in (sample or {}).items())
    return " + ".join(f"{times} x {target}" for target, times in parts) + drawn


def _epsilon(parts: Iterable[Part], delta: float, sample: Sample | None) -> Answers:
    return {"": {"bounds": list(_sum(parts, sample).epsilon_bounds(delta))}}


def _sum(parts: Iterable[Part], sample: Sample | None = None) -> PrivacyLoss:
    return compose([(subsample(load(one), **sample) if sample else load(one), times) for one, times in parts])


def _shuffled(target: str, n: int, delta: float, times: int, **others: Any) -> Answers:
    loss = shuffle(load(target), n, **others)
    return {"": {"bounds": list(compose([(loss, times)]).epsilon_bounds(delta))}}


def _dp_sgd(rate: float, sigma: float) -> PrivacyLoss:
    return compose([(subsample(Gaussian(sigma), rate=rate), 1000)])


def _called(function: Callable[..., Any], *arguments: Any, **named: Any) -> Answers:
    """A calibrated parameter, as an interval from the value that meets the budget to the nearest known not to."""
    found = function(*arguments, **named)
    if isinstance(found, Calibrated):
        return {"": {"bounds": sorted([found.value, found.value if found.excluded is None else found.excluded])}}
    return {"": _converted(found)}


def _converted(found: convert.Converted) -> dict[str, Any]:
    return {"exact" if found.kind == "exact" else "upper": found.value}


def _deltas(loss: PrivacyLoss) -> Answers:
    asked = (0.0, 0.5, 1.0, 2.0, 5.0)
    return {f": delta at {epsilon:g}": {"bounds": list(loss.delta_bounds(epsilon))} for epsilon in asked}


def _profile(parts: Iterable[Part], sample: Sample | None) -> Answers:
    loss = _sum(parts, sample)
    found = _deltas(loss)
    for alpha in (0.001, 0.05, 0.5):
        found[f": trade-off at {alpha:g}"] = {"bounds": [float(bound) for bound in loss.trade_off(alpha)]}
    for alpha in (1.5, 8.0, 64.0):
        found[f": Renyi divergence of order {alpha:g}"] = _converted(convert.renyi_divergence(loss, alpha))
    by_renyi = convert.renyi_to_epsilon(lambda alpha: convert.renyi_divergence(loss, alpha).value, delta=1e-6)
    return found | {
        ": zCDP": _converted(convert.zcdp_of(loss)),
        ": Gaussian": _converted(convert.gdp_of(loss)),
        ": epsilon by Renyi divergences": _converted(by_renyi),
    }
