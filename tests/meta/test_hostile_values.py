"""Every argument of every public name, replaced by 31 hostile values: an answer, or an error that names the argument.

What is no number must not pass for one: True, "1" and b"1" are refused wherever a number is asked for.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sympy import oo

import ldp_audit
from ldp_audit import accounting, auditing, claims, implementations, mechanisms
from ldp_audit.auditing import adapters
from ldp_audit.mechanisms.mechanism import Mechanism
from ldp_audit.training import data
from tests.mechanisms.test_every_mechanism import MECHANISMS


class Strange:
    def __repr__(self) -> str:
        return "<strange>"


FALSE_NUMBERS: list[Any] = [True, False, np.True_, "", "x", "1", b"1"]
VALUES: list[Any] = [
    *FALSE_NUMBERS,
    *(None, 1j, math.nan, math.inf, -math.inf, -1, 0, -0.5, 0.5, 1e-320, 1e308, 10**400, -(10**400)),
    *(Fraction(1, 3), Decimal("0.5"), np.float64(0.5), np.array(0.3), np.array([1.0]), np.array([])),
    *([], {}, (1, 2, 3), Strange(), lambda *_: None),
]

SECONDS = 5.0
"""The time that one call may take."""

Call = tuple[Callable[..., Any], dict[str, Any]]
"""A function, and the arguments of a call that succeeds."""

ROOMS = (ldp_audit, mechanisms, accounting, auditing, claims, implementations, adapters, data)

NOT_BUILT = {
    *(
        "AuditResult",
        "DivergenceClaim",
        "Example",
        "Exclusive",
        "FitResult",
        "FitWitness",
        "GuessesResult",
        "Implementation",
    ),
    *(
        "InputSearch",
        "JointCounts",
        "LawScore",
        "PairChannel",
        "Witness",
        "AdaptedSampler",
        "DataSource",
    ),
    *("Images", "Table", "Paper", "Reading", "Condition", "Correction", "Statement", "Verdict"),
}
"""Results, and parts of papers: their methods and what makes them are tried, not their constructors."""

NO_CALLS = {
    *("EPSILON", "T", "ROOT_T", "OUTPUT", "Ind", "Law", "DATASETS", "data_for", "LossAtoms", "BoundChannel"),
    *("BadClaimError", "LawMismatch", "NoPowerError", "OverdrawnError", "PrivacyViolation", "ProgramError"),
    *(
        "to_pld",
        "from_opendp",
        "from_diffprivlib",
        "from_flower",
        "from_multi_freq_ldpy",
    ),  # tried against those libraries
}
"""Symbols, errors, protocols, and second names."""

SAID = {
    ("Parameter.check", "value"): "z",
    ("BoundChannel.log_prob", "x"): "z",
    ("BoundChannel.sample", "x"): "z",
    ("BoundChannel.mean", "x"): "z",
    ("SymbolicChannel", "atoms"): "atom",
    ("SymbolicChannel", "pieces"): "piece",
    ("SymbolicWeights", "classes"): "class",
    ("RandomProjection.drawn", "d"): "dimension",
    ("ParameterShuffler", "training"): "communication",
    ("LayerRange.of", "floor"): "radius",
    ("ClientRange.log_prob", "y"): "shapes",
    ("ClientRange.log_prob", "x"): "shapes",
    ("calibrate", "build"): "mechanism",
    ("calibrate", "low"): "scale",
    ("calibrate", "high"): "budget",
    ("DiscreteLoss", "log_infinite"): "masses",
    ("DiscreteLoss.of_laws", "first"): "masses",
    ("search", "adjacent"): "pair",
    ("fit", "inputs"): "x",
    ("assert_fits", "inputs"): "x",
    ("audit", "resume"): "the state of an audit",
    ("audit", "timeout"): "no answer within",
    ("assert_private", "timeout"): "no answer within",
    ("fit", "timeout"): "no answer within",
    ("assert_fits", "timeout"): "no answer within",
    ("as_sampler:command", "command"): "target",
    ("as_sampler:url", "url"): "target",
    ("as_sampler:fresh", "fresh"): "target",
    ("from_factory", "make"): "fresh",
    ("implementation_of", "program"): "target",
    ("order", "left"): "constant",
    ("prints_as", "value"): "side",
    ("is_private", "t"): "side",
    ("is_private", "delta"): "side",
    ("load", "name"): "data",
}
"""The word for an argument in a message, where it is not its name."""


def coin(x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    """A fair answer with probability 3/4."""
    return (rng.random(n) < (0.75 if x else 0.25)).astype(int)


def coin_map(x: Any, u: np.ndarray) -> np.ndarray:
    """It names no library: `implementation` looks through all that a program names for generators."""
    return (u < (0.75 if x else 0.25)).astype(int)


def the_same(x: Any) -> Any:
    return x


def a_client(rng: np.random.Generator) -> Callable[[Any], Any]:
    return the_same


def _generator() -> np.random.Generator:
    return np.random.default_rng(1)


class Calls(dict[str, Call]):
    """Calls by the public name, with the method behind a dot and the variant behind a colon."""

    def add(self, name: str, function: Callable[..., Any], /, **arguments: Any) -> None:
        self[name] = (function, arguments)


def _of_every_mechanism(calls: Calls) -> None:
    for name, m in MECHANISMS.items():
        x = m.worst_pair()[0] if name != "SubsampleRelease" else np.arange(m.n)
        y = m.sample(np.asarray(x), rng=_generator())
        calls.add(f"{name}.sample", m.sample, x=x, rng=_generator())
        calls.add(f"{name}.log_prob", m.log_prob, y=y, x=x)
        calls.add(f"{name}.delta", m.delta, epsilon=0.5)
        calls.add(f"{name}.implemented", m.implemented, bits=64)
        if name in ("TwoPoint", "Piecewise", "Hybrid", "SquareWave", "DuchiVector", "DuchiBall"):
            calls.add(f"{name}.clip", m.clip, x=x)
        if name in ("TwoStage", "CoordinateSampling", "RandomProjection"):
            calls.add(f"{name}.dense", m.dense, report=y)
        if type(m).mean is not Mechanism.mean:
            calls.add(f"{name}.mean", m.mean, x=x)
            calls.add(f"{name}.variance", m.variance, x=x)


def _of_mechanisms() -> Calls:
    calls, m, rng = Calls(), mechanisms, _generator()
    _of_every_mechanism(calls)
    calls.add("TwoPoint", m.TwoPoint, epsilon=1.0, center=0.0, radius=1.0)
    calls.add("Piecewise", m.Piecewise, epsilon=1.0)
    calls.add("Hybrid", m.Hybrid, epsilon=1.0)
    calls.add("SquareWave", m.SquareWave, epsilon=1.0)
    reports = np.linspace(0, 1, 9)
    calls.add("SquareWave.estimate", m.SquareWave(1.0).estimate, reports=reports, bins=4, tolerance=0.1, iterations=5)
    calls.add("RandomizedResponse", m.RandomizedResponse, epsilon=1.0, k=3)
    calls.add("Laplace", m.Laplace, scale=1.0, sensitivity=1.0, replaced=2.0)
    calls.add("Gaussian", m.Gaussian, sigma=1.0, sensitivity=1.0, replaced=2.0)
    calls.add("ExponentialSelection", m.ExponentialSelection, epsilon=1.0, d=3)
    calls.add("PerturbedEncoding", m.PerturbedEncoding, epsilon=1.0, d=4, k=2)
    calls.add("PerturbedEncoding.calibrated", m.PerturbedEncoding.calibrated, epsilon=1.0, d=4, k=2)
    calls.add("PerturbedSampling", m.PerturbedSampling, epsilon=1.0, d=4, k=2)
    calls.add("SubsampleRelease", m.SubsampleRelease, n=5, k=2, replacement=False)
    calls.add("DuchiVector", m.DuchiVector, epsilon=1.0, d=3, printed=False)
    calls.add("DuchiBall", m.DuchiBall, epsilon=1.0, d=3)
    calls.add("PrivUnit", m.PrivUnit, epsilon=1.0, d=3)
    for by_scores in (m.ExponentialMechanism, m.PermuteAndFlip, m.NoisyMaximum):
        given = {"noise": "laplace"} if by_scores is m.NoisyMaximum else {}
        calls.add(by_scores.__name__, by_scores, epsilon=1.0, candidates=3, sensitivity=1.0, **given, replaced=2.0)
    calls.add("SparseVector", m.SparseVector, epsilon=1.0, threshold=0.0, cutoff=2, variant="correct")
    calls.add("CoordinateSampling", m.CoordinateSampling, value=m.TwoPoint, epsilon=1.0, d=4, k=2)
    calls.add("TwoStage", m.TwoStage, selection=m.PerturbedSampling(1.0, 3, 1), value=m.TwoPoint(1.0), clip=False)
    projection: Any = MECHANISMS["RandomProjection"]
    calls.add("RandomProjection", m.RandomProjection, value=m.TwoPoint(1.0), matrix=np.eye(2), clip=True)
    calls.add("RandomProjection.drawn", m.RandomProjection.drawn, value=m.TwoPoint(1.0), d=4, q=2, rng=rng, clip=True)
    calls.add("RandomProjection.project", projection.project, x=np.zeros(4))
    calls.add("RandomProjection.recover", projection.recover, mean_report=np.zeros(2))
    rows = [["1/2", "1/2"], ["1/4", "3/4"]]
    calls.add("FiniteChannel", m.FiniteChannel, matrix=rows, outputs=None)
    calls.add("FiniteChannel.sample_indices", m.FiniteChannel(rows).sample_indices, x=0, rng=rng)
    layers, ranges = [np.zeros(2), np.ones(3)], m.LayerRange((0.0, 1.0), (1.0, 2.0))
    calls.add("LayerRange", m.LayerRange, centers=(0.0, 1.0), radii=(1.0, 2.0), names=None)
    calls.add("LayerRange.of", m.LayerRange.of, weights=[np.array([1.0, 2.0]), np.array([0.0, 1.0])], floor=0.0)
    calls.add("LayerRange.mechanism", ranges.mechanism, epsilon=1.0)
    calls.add("LayerRange.clip", ranges.clip, layers=layers)
    calls.add("LayerRange.perturb", ranges.perturb, layers=layers, epsilon=1.0, rng=rng, clip=False)
    x, client = np.array([0.0, 1.0]), m.ClientRange(1.0)
    calls.add("ClientRange", m.ClientRange, epsilon=1.0, bits=64)
    calls.add("ClientRange.mean", client.mean, x=x)
    calls.add("ClientRange.variance", client.variance, x=x)
    calls.add("ClientRange.sample", client.sample, x=x, rng=rng)
    calls.add("ClientRange.log_prob", client.log_prob, y=x, x=x)
    calls.add("ClientRange.delta", client.delta, epsilon=1.0)
    calls.add("ClientRange.implemented", client.implemented, bits=64)
    shuffler = m.ParameterShuffler((1.0, 1.0), (0.1, 0.2), 3.0)
    times: dict[str, Any] = {"training": (1.0, 1.0), "communication": (0.1, 0.2), "window": 3.0}
    calls.add("ParameterShuffler", m.ParameterShuffler, **times, actual_training=None, actual_communication=None)
    calls.add("ParameterShuffler.exact_epsilon", shuffler.exact_epsilon, value=m.TwoPoint(1.0), d=1)
    calls.add("ParameterShuffler.count_law", shuffler.count_law, probabilities=[0.5, 0.5])
    calls.add("ParameterShuffler.sample", shuffler.sample, reports=np.zeros((2, 3)), rng=rng)
    calls.add("ParameterShuffler.split", shuffler.split, reports=np.zeros((2, 3)))
    z, w = m.Variable("z", 0, 1), m.Variable("w", 0, 1)
    calls.add("Variable", m.Variable, name="z", lower=0, upper=1)
    calls.add("Parameter", m.Parameter, name="z", variable=z, typical=(0.0, 1.0), infinite=False)
    calls.add("Parameter.check", m.Parameter("z", z, (0.0, 1.0)).check, value=0.5)
    channel = m.SymbolicChannel("coin", z, {1: w / 2 + z / 2, 0: 1 - w / 2 - z / 2})
    bound: Any = channel.bind(w=0.5)
    calls.add("SymbolicChannel", m.SymbolicChannel, name="coin", inputs=z, atoms={1: z, 0: 1 - z}, pieces=())
    calls.add("SymbolicChannel.moment", channel.moment, order=1)
    calls.add("SymbolicChannel.bind", channel.bind, w=0.5)
    calls.add("SymbolicChannel.at", channel.at, values={w: 0})
    calls.add("SymbolicWeights", m.SymbolicWeights, name="w", classes=[("a", 1, 2)])
    calls.add("BoundChannel.log_prob", lambda y, x: bound.log_prob(y, x), y=1, x=0.5)
    calls.add("BoundChannel.sample", lambda x, rng: bound.sample(x, rng=rng), x=0.5, rng=rng)
    calls.add("BoundChannel.mean", lambda x: bound.mean(x), x=0.5)
    calls.add("BoundChannel.delta", bound.delta, epsilon=1.0)
    calls.add("BoundChannel.implemented", bound.implemented, bits=16)
    return calls


def _of_accounting() -> Calls:
    calls, a = Calls(), accounting
    response, noise = mechanisms.RandomizedResponse(1.0), mechanisms.Gaussian(1.0, 1.0, 2.0)
    calls.add("privacy_loss", a.privacy_loss, mechanism=response, adjacency=None)
    calls.add("compose", a.compose, items=[(response, 2)], width=1e-4)
    calls.add("compose:item", lambda mechanism, times: a.compose([(mechanism, times)]), mechanism=response, times=2)
    calls.add("nfdp", a.nfdp, n=10, k=2, replacement=False, adjacency="add/remove", rounds=2)
    seen: dict[str, Any] = {"observer": "sees the result", "adjacency": None}
    calls.add("sampled_clients", a.sampled_clients, mechanism=response, clients=10, selected=2, fraction=None, **seen)
    calls.add("sampled_clients:share", a.sampled_clients, mechanism=response, clients=10, fraction=0.5, **seen)
    calls.add("random_allocation", a.random_allocation, mechanism=response, steps=10, times=1, epochs=2)
    calls.add("dp_sgd", a.dp_sgd, noise_multiplier=1.0, batch=5, records=20, epochs=2, sampling="poisson", truncated=9)
    calls.add("shuffle", a.shuffle, mechanism=response, n=10, others="worst")
    sampled: dict[str, Any] = {"mechanism": noise, "adjacency": "replace"}
    calls.add("subsample", a.subsample, **sampled, kind="poisson", rate=0.1, n=None, k=None)
    grouped: dict[str, Any] = {"mechanism": response, "rate": 0.1}
    calls.add("subsample:group", a.subsample, **grouped, group=3)
    calls.add("subsample:truncated", a.subsample, **grouped, truncated=9, records=20)
    calls.add("subsample:without", a.subsample, **sampled, kind="without", n=10, k=2)
    budget: dict[str, Any] = {"epsilon": 1.0, "delta": 0.0, "low": 0.1, "high": 10.0, "tolerance": 1e-3}
    calls.add("calibrate", a.calibrate, build=mechanisms.Laplace, **budget, increasing=False, whole=False, near=None)
    calls.add("best_of", a.best_of, mechanism=response, runs="geometric", mean=2.0)
    calls.add("factorised", a.factorised, strategy=[[1.0]], sigma=1.0, participations=1, separation=1)
    calls.add("tree", a.tree, steps=3)
    calls.add("Pure", a.Pure, epsilon=1.0, adjacency=None)
    calls.add("Approximate", a.Approximate, epsilon=1.0, delta=0.1, adjacency=None)
    calls.add("GaussianDP", a.GaussianDP, mu=1.0, adjacency="replace")
    calls.add("ZCDP", a.ZCDP, rho=1.0, adjacency=None)
    calls.add("Renyi", a.Renyi, divergences={2.0: 0.5}, adjacency=None)
    calls.add("BoundedRange", a.BoundedRange, epsilon=1.0, adjacency=None)
    terms: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-3, "rho": None, "mu": None, "currency": None, "order": None}
    calls.add("Budget", a.Budget, **terms, failures=0.0, adjacency=None)
    calls.add("Budgets", a.Budgets, users=3, **terms, failures=1e-4, adjacency=None)
    purse, purses = a.Budget(1e9), a.Budgets(3, 1e9)
    calls.add("Budget.spend", purse.spend, mechanism=response, times=1, name=None)
    calls.add("Budget.left", purse.left, mechanism=response)
    calls.add("Budgets.spend", purses.spend, mechanism=response, users=[0, 2], times=1)
    calls.add("Budgets.left", purses.left, mechanism=response, users=[1])
    event = {"event": "Gaussian", "noise_multiplier": 3.0}
    calls.add("from_events", a.from_events, events=event, adjacency="replace")
    calls.add("account_verdict", a.account_verdict, mechanism=a.Pure(1.0), epsilon=0.5, delta=1e-3)
    ends = {"_discretization": 1.0, "_infinity_mass": 0.0, "_pessimistic_estimate": True}
    masses = type("SparsePLDPmf", (), {"_loss_probs": {0: 1.0}, **ends})()
    pld = SimpleNamespace(_pmf_remove=masses, _pmf_add=masses, _symmetric=True)
    calls.add("from_pld", a.from_pld, pld=pld, adjacency=None)
    question: dict[str, Any] = {"users": 100, "epsilon": 1.0, "reports": 2, "delta": 0.0}
    calls.add("choose", a.choose, **question, answers=3, shuffled=False, candidates={"one": mechanisms.TwoPoint})
    calls.add("choose:mean", a.choose, **question, numeric=True, dimension=2)
    for name, one in (("", response), (":gaussian", noise)):
        loss = a.compose([(one, 3)])
        calls.add(f"PrivacyLoss.epsilon{name}", loss.epsilon, delta=1e-3, log_delta=None)
        calls.add(f"PrivacyLoss.epsilon{name}:log", loss.epsilon, log_delta=-5.0)
        calls.add(f"PrivacyLoss.epsilon_bounds{name}", loss.epsilon_bounds, delta=1e-3, log_delta=None)
        calls.add(f"PrivacyLoss.delta{name}", loss.delta, epsilon=1.0)
        calls.add(f"PrivacyLoss.delta_bounds{name}", loss.delta_bounds, epsilon=1.0)
        calls.add(f"PrivacyLoss.log_delta_bounds{name}", loss.log_delta_bounds, epsilon=1.0)
        calls.add(f"PrivacyLoss.trade_off{name}", loss.trade_off, alpha=0.1)
    loss = a.compose([(response, 3)])
    profile = a.PrivacyProfile(loss)
    calls.add("PrivacyProfile", a.PrivacyProfile, loss=loss)
    calls.add("PrivacyProfile.bounds", profile.bounds, epsilon=1.0)
    calls.add("PrivacyProfile.log_bounds", profile.log_bounds, epsilon=1.0)
    calls.add("PrivacyProfile.rows", profile.rows, epsilon=1.0)
    calls.add("PrivacyProfile.to_dict", profile.to_dict, epsilon=1.0)
    calls.add("PrivacyProfile.from_points", a.PrivacyProfile.from_points, points=[(0.0, 0.5), (1.0, 0.1)])
    first, second = {0: 0.5, 1: 0.5}, {0: 0.25, 1: 0.75}
    atoms: dict[str, Any] = {"losses": np.array([-1.0, 1.0]), "log_probabilities": np.log([0.25, 0.75])}
    rest: dict[str, Any] = {"log_infinite": -math.inf, "log_missing": None, "error": 0.0}
    calls.add("DiscreteLoss", a.DiscreteLoss, **atoms, **rest)
    calls.add("DiscreteLoss.of_laws", a.DiscreteLoss.of_laws, first=first, second=second)
    pair = a.DiscreteLoss.of_laws(first, second)
    calls.add("PrivacyLoss", a.PrivacyLoss, directions=(pair, pair), assumptions=(), adjacency=None)
    return calls


def _of_auditing() -> Calls:
    calls, u, rng = Calls(), auditing, _generator()
    law = mechanisms.RandomizedResponse(math.log(3))
    plan: dict[str, Any] = {"claimed_epsilon": 1.0, "violation": 2.0, "confidence": 0.95, "power": 0.95}
    calls.add("plan", u.plan, **plan, claimed_delta=0.0, probability=0.5)
    calls.add("search", u.search, low=0.0, high=1.0, dimension=2, grid=3, random=2, adjacent=None, seed=0, values=())
    calls.add("search:sets", u.search, universe=4, size=2, grid=3, random=2, seed=0)
    calls.add("search:values", u.search, values=[0, 1, 2], pairs=[(0, 1)])
    run: dict[str, Any] = {"sampler": coin, "inputs": [0, 1], "samples": 100, "seed": 0}
    claim: dict[str, Any] = {"claimed_epsilon": 1.0, "claimed_delta": 0.0, "confidence": 0.9}
    more: dict[str, Any] = {"workers": 1, "scheduler": None, "resume": None, "law": None, "progress": None}
    audit, assert_private = (functools.partial(one, stateless=True) for one in (u.audit, u.assert_private))
    calls.add("audit", audit, **run, **claim, **more, sequential=False, curves=False, floating_point=False)
    calls.add("audit:renyi", audit, **run, claimed_rho=1.0, claimed_renyi={2.0: 1.0})
    calls.add("fit", u.fit, **run, law=law, confidence=0.9, tolerance=0.0)
    calls.add("assert_fits", u.assert_fits, **run, law=law, false_alarm=1e-3, tolerance=0.0)
    goal: dict[str, Any] = {"sampler": coin, "inputs": [0, 1], "seed": 0, "epsilon": 1.2, "delta": 0.0}
    finds: dict[str, Any] = {"detects": 2.0, "detects_epsilon": None, "power": 0.9, "rarest": 0.1}
    calls.add("assert_private", assert_private, **goal, **finds, false_alarm=1e-3, max_samples=100_000)
    for name in ("audit", "fit", "assert_private", "assert_fits"):  # a limit takes a thread for each answer
        function, arguments = calls[name]
        calls.add(f"{name}:timeout", functools.partial(function, **arguments), timeout=10.0)
    scores: dict[str, Any] = {"members": rng.random(100), "non_members": rng.random(100)}
    calls.add("audit_scores", u.audit_scores, **scores, **claim, seed=0, split=0.25)
    calls.add("audit_guesses", u.audit_guesses, correct=60, guesses=100, **claim, canaries=200)
    counts = u.Counts(60, 100, 30, 100)
    region, curves = u.Region(counts, 0.01), u.Curves((counts,), 0.01)
    calls.add("Counts", u.Counts, hits=60, trials=100, other_hits=30, other_trials=100)
    design: dict[str, Any] = {"design_epsilon": 1.0, "design_delta": 0.0, "fineness": 0.002}
    calls.add("Region", u.Region, counts=counts, error=0.01, **design)
    calls.add("Region.delta_lower", region.delta_lower, epsilon=0.1)
    calls.add("Region.epsilon_lower", region.epsilon_lower, delta=0.0)
    calls.add("Region.exceeds", region.exceeds, epsilon=0.1, delta=0.0)
    calls.add("Curves", u.Curves, levels=(counts,), error=0.01)
    calls.add("Curves.delta_lower", curves.delta_lower, epsilons=0.1)
    calls.add("Curves.renyi_lower", curves.renyi_lower, orders=2.0)
    calls.add("Curves.trade_off_upper", curves.trade_off_upper, alphas=0.1)
    return calls


def _of_adapters() -> Calls:
    calls, law = Calls(), mechanisms.RandomizedResponse(1.0)
    calls.add("as_sampler", adapters.as_sampler, target=law)
    calls.add("as_sampler:command", adapters.as_sampler, command="cat")
    calls.add("as_sampler:fresh", adapters.as_sampler, fresh=a_client)
    calls.add("as_sampler:url", adapters.as_sampler, url="http://127.0.0.1:9/")
    calls.add("from_function", adapters.from_function, f=the_same, errors="raise")
    calls.add("from_torch", adapters.from_torch, f=the_same, device="cpu", dtype=None)
    calls.add("from_scipy", adapters.from_scipy, distributions={0: stats.laplace(0.0)})
    calls.add("from_mechanism", adapters.from_mechanism, mechanism=law)
    calls.add("from_command", adapters.from_command, command="cat", timeout=1.0)
    calls.add("from_url", adapters.from_url, url="http://127.0.0.1:9/", timeout=1.0, allow_remote=False)
    calls.add("from_factory", adapters.from_factory, make=a_client, reports=1)
    return calls


def _of_implementations() -> Calls:
    calls, i = Calls(), implementations
    claim: dict[str, Any] = {
        "inputs": [0, 1],
        "claimed_epsilon": 1.0,
        "claimed_delta": 0.0,
        "bits": 6,
    }
    grid: dict[str, Any] = {"uniforms": 1, "dtype": None, "words": False, "monotone": False}
    calls.add(
        "implementation", i.implementation, sampler_map=coin_map, **claim, **grid, samples=100, seed=0, progress=None
    )
    calls.add("implementation_of", i.implementation_of, program=coin, **claim, samples=100, seed=0)
    calls.add("Grid", i.Grid, bits=8, dtype=None, words=False)
    calls.add("Grid.uniforms", i.Grid(8).uniforms, words=np.arange(4))
    found = i.implementation(coin_map, [0, 1], 8)
    pair = found.pairs[0]
    assert pair.counts is not None
    for name, one in (("Implementation", found), ("PairChannel", pair), ("JointCounts", pair.counts)):
        calls.add(f"{name}.delta", one.delta, epsilon=0.1)
    calls.add("PairChannel.exceeds", pair.exceeds, epsilon=0.1, delta=0.0)
    calls.add("JointCounts.exceeds", pair.counts.exceeds, epsilon=0.1, delta=0.0)
    return calls


def _of_claims() -> Calls:
    calls, z, constant = Calls(), mechanisms.Variable("z", 0, 1), mechanisms.Variable("c", 0, oo, open="both")
    channel = mechanisms.SymbolicChannel("coin", z, {1: z, 0: 1 - z})
    statement = claims.at_most(z, 1)
    for name in ("at_most", "differ", "equal", "less"):
        calls.add(
            name, getattr(claims, name), left=z, right=2, label="", **({} if name == "differ" else {"sides": None})
        )
    calls.add("Quantities", claims.Quantities, left="the mean", right="the bound", of="", factor=mechanisms.T)
    calls.add("order", claims.order, left=z, right=constant, constant=constant, label="")
    calls.add("prints_as", claims.prints_as, value=z, printed="0.5", label="")
    calls.add("somewhere", claims.somewhere, statement=statement, label="")
    calls.add("settle", claims.settle, statement=statement)
    claim = claims.Claim("X", "p", "s", parts=[statement])
    calls.add("settle_claim", claims.settle_claim, claim=claim, seconds=5.0)
    calls.add("is_private", claims.is_private, law=channel, t=mechanisms.T, neighbour=None, delta=0)
    calls.add("Claim", claims.Claim, id="X", place="p", says="s", parts=[statement], assumptions=())
    return calls


def _of_data() -> Calls:
    calls = Calls()
    calls.add("load", data.load, name="digits", folder=None)
    return calls


CALLS = {
    "mechanisms": _of_mechanisms,
    "accounting": _of_accounting,
    "auditing": _of_auditing,
    "adapters": _of_adapters,
    "implementations": _of_implementations,
    "claims": _of_claims,
    "data": _of_data,
}


class Late(BaseException):
    """The call took longer than SECONDS."""


@contextmanager
def _time_limit() -> Iterator[None]:
    def late(*_: object) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def complaint_about(
    name: str, call: Call, argument: str, value: Any, words: Mapping[tuple[str, str], str] = SAID
) -> str | None:
    """What is wrong with the answer to a call with this value; None if nothing is.   words: as SAID."""
    function, arguments = call
    bound = inspect.signature(function).bind(**{**arguments, argument: value}) if _by_name(function) else None
    given = {**arguments, argument: value}
    try:
        with _time_limit():
            function(*bound.args, **bound.kwargs) if bound else function(*given.values())
    except ValueError as error:
        said = words.get((name, argument)) or words.get((name.partition(":")[0], argument), argument)
        flag = not _is_number(arguments[argument]) and "truth value of an" in str(error)  # an array is no flag
        named = re.search(rf"\b{said}\b|\b{argument}\b", str(error))
        return None if named or flag else f"its error names no {argument}: {error}"
    except (AssertionError, OSError):  # an assertion's failure, and a file's
        return None
    except Late:
        return f"no answer within {SECONDS:g} s"
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    taken = _is_number(arguments[argument]) and any(value is one for one in FALSE_NUMBERS)
    return "taken for a number" if taken else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool)


def _by_name(function: Callable[..., Any]) -> bool:
    kinds = {one.kind for one in inspect.signature(function).parameters.values()}
    return inspect.Parameter.POSITIONAL_ONLY not in kinds


def test_every_public_name_is_tried_or_named_here() -> None:
    tried = {name.partition(":")[0].partition(".")[0] for calls in CALLS.values() for name in calls()}
    public = {name for room in ROOMS for name in room.__all__}
    assert public == (tried | NOT_BUILT | NO_CALLS) & public
    assert tried | NOT_BUILT | NO_CALLS <= public | {"JointCounts"}
    assert not tried & NO_CALLS - {"BoundChannel"}


@pytest.mark.parametrize("room", CALLS)
def test_a_hostile_value_is_answered_or_refused_by_name(
    room: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Would catch a raw TypeError, True taken for 1, and a call that never ends."""
    monkeypatch.chdir(tmp_path)  # a state of an audit may be kept in a file of any name
    assert len(VALUES) == 31
    wrong = complaints(CALLS[room](), every=bool(request.config.getoption("--slow")))
    assert not wrong, "\n".join(wrong)


def complaints(calls: Calls, words: Mapping[tuple[str, str], str] = SAID, *, every: bool) -> list[str]:
    """What is wrong with the answers, after each call has succeeded with its own arguments.

    every: all values for all arguments; else every third value for one argument, the others for the next two.
    """
    wrong, step = [], 1 if every else 3
    for name, call in calls.items():
        function, arguments = call
        function(**arguments) if _by_name(function) else function(*arguments.values())
        wrong += [
            f"{name}({argument}={value!r:.60}): {complaint}"
            for place, argument in enumerate(arguments)
            for value in VALUES[place % step :: step]
            if (complaint := complaint_about(name, call, argument, value, words)) is not None
        ]
    return wrong


def test_the_sweep_sees_what_it_looks_for() -> None:
    def careless(epsilon: Any) -> float:
        return float(epsilon) if epsilon != -1 else 1 / 0

    found = {
        repr(value): complaint_about("careless", (careless, {"epsilon": 1.0}), "epsilon", value) for value in VALUES
    }
    assert found["True"] == found["b'1'"] == found["'1'"] == "taken for a number"
    assert str(found["None"]).startswith("TypeError")
    assert str(found["-1"]).startswith("ZeroDivisionError")
    assert str(found["'x'"]).startswith("its error names no epsilon")
    assert found["0.5"] is None
