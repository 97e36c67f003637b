"""What every shipped mechanism keeps to: a new one is added to the lists here and is tested the same day."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit import mechanisms
from ldp_audit.mechanisms import (
    DuchiVector,
    FiniteChannel,
    Hybrid,
    Memoised,
    PerturbedSampling,
    Piecewise,
    RandomizedResponse,
    RandomProjection,
    SubsampleRelease,
    SymbolicWeights,
    TwoPoint,
    TwoStage,
)
from ldp_audit.mechanisms.catalogue import ENTRIES
from ldp_audit.mechanisms.mechanism import Mechanism, summed_delta, summed_epsilon
from ldp_audit.mechanisms.selection.ranking import NONE
from ldp_audit.mechanisms.target import SHIPPED, load
from ldp_audit.mechanisms.values.sparse_report import SparseReport
from tests.frequency import assert_frequency
from tests.mechanisms.every_draw import every_draw, reported, shares
from tests.together import together

MATRIX = [["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/8", "1/8", "3/4"]]
MECHANISMS: dict[str, Any] = {
    **{entry.name: entry.mechanism() for entry in ENTRIES},
    "FiniteChannel": FiniteChannel(MATRIX),
    "DuchiVector": DuchiVector(1.0, 3),  # as many draws whatever they give
    "Memoised": Memoised(RandomizedResponse(1.0, 3), RandomizedResponse(2.0, 3)),  # of few draws
    "RandomProjection": RandomProjection.drawn(TwoPoint(1.0), 4, 2, np.random.default_rng(1), clip=True),
    "TwoStage": TwoStage(PerturbedSampling(1.0, 3, 1), TwoPoint(0.5), clip=True),  # its pair attains the profile
}
OUTPUTS = {
    name: [NONE if y is None else y for y in m.reports()]
    for name, m in MECHANISMS.items()
    if m.reports() is not None and np.ndim(m.reports()[0] or 0) == 0
}
"""Of those with few: all reports, as arrays hold them."""

BY_SCORES = {"ExponentialMechanism", "PermuteAndFlip", "NoisyMaximum"}
"""Each level of their profile has a pair of its own; tests/mechanisms/selection maximises over pairs."""

NOT_ENUMERATED = {
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DuchiBall",
    "HistogramEncoding",
    "Laplace",
    "PrivUnit",
    "SparseVector",
    "StaircaseNoise",
    "SubsampleRelease",
    *BY_SCORES,
}
"""Their draws have no fixed number; tests of their own enumerate or try them, each in its own way."""

every = together("name", MECHANISMS)
finite = together("name", OUTPUTS)


def test_every_public_mechanism_is_in_the_registry() -> None:
    public = [name for name in mechanisms.__all__ if isinstance(getattr(mechanisms, name), type)]
    known = {name for name in public if issubclass(getattr(mechanisms, name), Mechanism)}
    assert known - {"BoundChannel"} == set(MECHANISMS) == {*mechanisms.FAMILIES, *mechanisms.COMPOSED}
    assert {entry.name for entry in ENTRIES} == set(MECHANISMS) - {"FiniteChannel"}  # which has no law of its own


@together("name", SHIPPED)
def test_what_a_mechanism_prints_is_a_target_that_loads_it(name: str) -> None:
    assert load(repr(MECHANISMS[name])) == MECHANISMS[name]


@every
def test_the_profile_falls_from_epsilon_zero_to_nothing_at_the_exact_epsilon(name: str) -> None:
    m = MECHANISMS[name]
    epsilon = m.exact_epsilon()
    levels = np.linspace(0, 1.2 * min(epsilon, 5.0), 25)
    profile = m.delta(levels)
    assert profile.shape == levels.shape
    assert np.all(np.diff(profile) <= 1e-15)
    assert np.all((profile >= 0) & (profile <= 1))
    assert profile[0] > 0
    if math.isfinite(epsilon):
        assert m.delta(epsilon) == pytest.approx(0.0, abs=1e-15)
        assert m.delta(0.99 * epsilon) > 0
        assert m.delta(math.inf) == 0


@every
def test_levels_that_are_none_are_refused(name: str) -> None:
    m = MECHANISMS[name]
    assert np.shape(m.delta([[0.0, 1.0]])) == (1, 2)
    for level in (-1.0, [0.0, -1.0], math.nan, "1", [1, "a"], 10**400):
        with pytest.raises(ValueError, match=r"^epsilon must be "):
            m.delta(level)


LISTED = {name: m for name, m in MECHANISMS.items() if m.reports() is not None} | {
    f"{name} in {bits} bits": m.implemented(bits)
    for name, m in MECHANISMS.items()
    for bits in (4, 9)
    if m.implemented(bits).reports() is not None and len(m.implemented(bits).reports()) < 2000
}
"""Ideal and implemented mechanisms with finitely many reports."""


@together("name", LISTED)
def test_a_closed_form_is_what_the_base_derives_from_the_reports(name: str) -> None:
    """Epsilon and the profile are sums at the worst pair; the law adds up to 1, and has the moments of its reports."""
    m, reports = LISTED[name], LISTED[name].reports()
    for x in m.worst_pair():
        masses = np.exp([float(m.log_prob(y, x)) for y in reports])
        assert masses.sum() == pytest.approx(1.0, rel=1e-11)
        if type(m).mean is not Mechanism.mean:  # reports are numbers
            values = np.asarray(reports, dtype=np.float64)
            assert m.mean(x) == pytest.approx(masses @ values, rel=1e-9, abs=1e-9)
            assert m.variance(x) == pytest.approx(masses @ (values - masses @ values) ** 2, rel=1e-9, abs=1e-9)
    several = name.partition(" in ")[0] in {"FiniteChannel", *BY_SCORES}  # pairs, of which each may be the worst
    assert summed_epsilon(m) <= m.exact_epsilon() * (1 + 1e-9) + 1e-12
    if name.partition(" in ")[0] not in BY_SCORES:
        assert summed_epsilon(m) == pytest.approx(m.exact_epsilon(), rel=1e-9, abs=1e-12)
    for level in (0.0, 0.3, 0.99 * min(m.exact_epsilon(), 50.0)):
        derived = float(summed_delta(m, level))
        assert derived <= m.delta(level) * (1 + 1e-9) + 1e-12
        if not several:
            assert derived == pytest.approx(float(m.delta(level)), rel=1e-7, abs=1e-12)


def test_an_output_of_one_input_alone_counts_at_every_epsilon() -> None:
    """Of [.3, .4, .3, 0] against [0, .3, .4, .3], 0.3 is left at infinity."""
    rows = [[0.3, 0.4, 0.3, 0.0], [0.0, 0.3, 0.4, 0.3]]
    assert summed_delta(FiniteChannel(rows), [0.0, 0.5, math.inf]) == pytest.approx([0.4, 0.3, 0.3])


@every
def test_what_is_implemented_has_at_most_the_exact_epsilon_and_with_64_bits_nearly_the_profile(name: str) -> None:
    m = MECHANISMS[name]
    for bits in (3, 8, 24, 64):
        assert m.implemented(bits).exact_epsilon() <= m.exact_epsilon() + 1e-15, f"{bits} bits"
    implemented = m.implemented()
    if math.isfinite(m.exact_epsilon()):
        assert implemented.exact_epsilon() == pytest.approx(m.exact_epsilon(), rel=1e-3)
    for level in (0.0, 0.5):
        assert implemented.delta(level) == pytest.approx(m.delta(level), rel=1e-2, abs=1e-9)


def same(first: Any, second: Any) -> bool:
    """Whether two reports, arrays or tuples of arrays, are the same."""
    parts = (first, second) if isinstance(first, tuple) else ((first,), (second,))
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in zip(*parts, strict=True))


def many(m: Any, times: int) -> np.ndarray:
    """The first of the worst pair, repeated; the records for NFDP's sampling."""
    if isinstance(m, SubsampleRelease):
        return np.arange(m.n)
    x = np.asarray(m.worst_pair()[0])
    return np.broadcast_to(x, (times, *x.shape)).copy()


@every
def test_a_seed_gives_the_same_reports_on_both_libraries(name: str) -> None:
    m, x = MECHANISMS[name], many(MECHANISMS[name], 20)
    for generator, inputs in ((np.random.default_rng, x), (torch.Generator().manual_seed, torch.from_numpy(x))):
        assert same(m.sample(inputs, rng=generator(7)), m.sample(inputs, rng=generator(7)))


@every
def test_generators_of_another_library_and_bits_out_of_range_are_refused(name: str) -> None:
    m, x = MECHANISMS[name], many(MECHANISMS[name], 2)
    for rng in (None, 7, np.random):
        with pytest.raises(ValueError, match=r"rng must be a numpy.random.Generator or a torch.Generator"):
            m.sample(x, rng=rng)
    with pytest.raises(ValueError, match=r"rng must be a torch.Generator where x is a torch tensor"):
        m.sample(torch.from_numpy(x), rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"x must be a torch tensor where rng is a torch.Generator"):
        m.sample(x, rng=torch.Generator())
    for bits in (1, 65, 8.5):
        with pytest.raises(ValueError, match=f"bits must be a whole number >= 2 and <= 64, got {bits}"):
            m.implemented(bits)


@finite
@together("library", ["numpy", "torch"])
def test_both_libraries_draw_from_the_one_law(name: str, library: str) -> None:
    """False alarm 1e-6 for each report; with 20,000 draws a probability off by 0.03 is missed below 1e-4."""
    m, trials = MECHANISMS[name], 20_000
    for x in map(np.asarray, m.worst_pair()):
        inputs = np.broadcast_to(x, (trials, *x.shape)).copy()
        if library == "torch":
            drawn = np.asarray(m.sample(torch.from_numpy(inputs), rng=torch.Generator().manual_seed(11)))
        else:
            drawn = np.asarray(m.sample(inputs, rng=np.random.default_rng(11)))
        for y in OUTPUTS[name]:
            assert_frequency(int((drawn == y).sum()), trials, math.exp(m.log_prob(y, x)))


REAL = {name: m for name, m in MECHANISMS.items() if np.asarray(m.worst_pair()[0]).dtype.kind == "f"} | {
    f"{make.__name__} at {epsilon}": make(epsilon) for make in (Piecewise, Hybrid) for epsilon in (0.5, 2.0)
}
"""Of inputs that are real numbers; at 0.5 the hybrid has two atoms alone, at 2 float16 rounds up where they end."""


@together("dtype", [np.float16, np.float32])
@together("name", sorted(set(REAL) - {"SubsampleRelease"}))
def test_every_report_in_a_narrow_dtype_has_a_probability(name: str, dtype: Any) -> None:
    """Of 20,000; a share of 0.0007 without one is missed with a chance below 1e-6."""
    m = REAL[name]
    x = np.asarray(m.worst_pair()[0])
    inputs = np.broadcast_to(x, (20_000, *x.shape)).astype(dtype)
    assert np.all(m.log_prob(m.sample(inputs, rng=np.random.default_rng(1)), inputs) > -math.inf)


def test_atoms_are_atoms_in_every_dtype() -> None:
    """At most once in 1e6 seeds another share of atoms; none was seen as an atom in float32 once."""
    m, x = Hybrid(1.0), np.full(20_000, 0.5)
    for dtype in (np.float16, np.float32, np.float64):
        reports = m.sample(x.astype(dtype), rng=np.random.default_rng(1))
        high = np.asarray(m.outputs()[1], dtype=dtype)
        chance = math.exp(-0.5) * (0.5 + 0.25 * math.tanh(0.5))
        assert float(m.log_prob(high, 0.5)) == pytest.approx(math.log(chance), rel=1e-12)
        assert_frequency(int((reports == high).sum()), x.size, chance)
        assert m.is_atom(reports).mean() > 0.5


ENUMERATED = sorted(set(MECHANISMS) - NOT_ENUMERATED)
DTYPES: dict[str, list[Any]] = {
    "f": [np.float16, np.float32, np.float64, torch.float16, torch.bfloat16, torch.float32, torch.float64],
    "i": [np.int8, np.uint8, np.int64, torch.uint8, torch.int64],
    "b": [np.bool_, torch.bool, np.uint8, torch.int64],
}
"""By the kind of an input."""


def batch(vector: np.ndarray, shape: tuple[int, ...], dtype: Any) -> Any:
    """Copies of one input as an array or a tensor."""
    copies = np.broadcast_to(vector, (*shape, *vector.shape)).copy()
    return torch.from_numpy(copies).to(dtype) if isinstance(dtype, torch.dtype) else copies.astype(dtype)


@together("name", sorted(set(MECHANISMS) - {"SubsampleRelease"}))  # which takes records, not a batch
def test_reports_have_the_shape_and_the_dtype_of_the_inputs(name: str) -> None:
    """Batches of no, one and more axes. What is no value of the inputs' kind has one dtype for all."""
    m, vector, others = MECHANISMS[name], np.asarray(MECHANISMS[name].worst_pair()[0]), set()
    for dtype, shape in itertools.product(DTYPES[vector.dtype.kind], [(), (0,), (3,), (2, 1, 4)]):
        x = batch(vector, shape, dtype)
        rng: Any = torch.Generator().manual_seed(0) if isinstance(dtype, torch.dtype) else np.random.default_rng(0)
        drawn = m.sample(x, rng=rng)
        if isinstance(drawn, SparseReport):
            assert drawn.index.shape == drawn.value.shape
            assert m.dense(drawn).shape[:-1] == shape
            drawn = drawn.value
        for reports in drawn if isinstance(drawn, tuple) else (drawn,):
            assert isinstance(reports, torch.Tensor) == isinstance(x, torch.Tensor)
            assert tuple(reports.shape)[: len(shape)] == shape
            if reports.dtype != x.dtype:
                others.add(str(reports.dtype).removeprefix("torch."))
    assert others <= {"int64"} or others in ({"uint8"}, {"float64"})
    assert not others or vector.dtype.kind in "ib" or name in {*BY_SCORES, "SparseVector"}  # which choose among reals


@together("name", ["TwoPoint", "Piecewise", "Hybrid", "Laplace", "Gaussian"])
def test_whole_numbers_are_reported_as_float64(name: str) -> None:
    m = MECHANISMS[name]
    for whole in (np.int8, np.int64):
        assert m.sample(np.zeros(3, whole), rng=np.random.default_rng(0)).dtype == np.float64
    assert m.sample([0, 0], rng=np.random.default_rng(0)).dtype == np.float64
    assert m.sample(torch.zeros(3, dtype=torch.int64), rng=torch.Generator()).dtype == torch.float64


@together("tensors", [False, True])
@together("name", ENUMERATED)
def test_a_sampler_draws_exactly_from_the_distribution_that_is_published(
    monkeypatch: pytest.MonkeyPatch, name: str, tensors: bool
) -> None:
    """Every word of four bits and all else that is drawn, at the worst pair, which attains epsilon and the profile."""
    law = MECHANISMS[name].implemented(4)
    found = []
    for x in law.worst_pair():
        dtype = torch.from_numpy(np.atleast_1d(x)).dtype if tensors else None
        drawn = every_draw(monkeypatch, law, x, 4, dtype)
        found.append(shares(drawn))
        logs = [float(law.log_prob(reported(drawn, key), x)) for key in found[-1]]
        assert np.log(list(found[-1].values())) == pytest.approx(logs, rel=1e-11, abs=1e-11)
    epsilon, *deltas = _told(*found, levels=(0.0, 0.3))
    published = [law.exact_epsilon(), *(float(law.delta(level)) for level in (0.0, 0.3))]
    assert all(
        drawn_from <= one * (1 + 1e-9) + 1e-12 for drawn_from, one in zip([epsilon, *deltas], published, strict=True)
    )
    if name != "RandomProjection":  # whose combinations round, so that they miss the ends of the range
        assert [epsilon, *deltas] == pytest.approx(published, rel=1e-9, abs=1e-12)


VARIANTS = [
    *(MECHANISMS[name] for name in ENUMERATED),
    *(
        replace(MECHANISMS[name], epsilon=epsilon)
        for name, epsilon in itertools.product(ENUMERATED, (0.01, 50.0))
        if "epsilon" in {one.name for one in MECHANISMS[name].parameters}
    ),
    *(TwoPoint(4.0, *place) for place in ((0.3, 0.7), (1.0, 0.01))),
]
"""The registry's examples at three budgets, where they have one; and ranges whose ends a narrow dtype rounds."""


@pytest.mark.parametrize("bits", [5, pytest.param(3, marks=pytest.mark.slow)])
@together("m", VARIANTS)
def test_no_dtype_tells_more_than_the_implemented_epsilon(monkeypatch: pytest.MonkeyPatch, m: Any, bits: int) -> None:
    """Every word at the worst pair and between its inputs: what a dtype rounds, it rounds the same for every input."""
    law = m.implemented(bits)
    inputs = list(law.worst_pair())
    kind = np.asarray(inputs[0]).dtype.kind
    if kind == "f" and np.ndim(inputs[0]) == 0 and math.isfinite(law.exact_epsilon()):
        inputs.append(0.3 * inputs[0] + 0.7 * inputs[1])
    for dtype in DTYPES[kind]:
        with monkeypatch.context() as patched:
            found = [shares(every_draw(patched, law, x, bits, dtype)) for x in inputs]
        for first, second in itertools.combinations(found, 2):
            epsilon, delta = _told(first, second, levels=(0.5,))
            assert epsilon <= law.exact_epsilon() * (1 + 1e-9) + 1e-12, dtype
            assert delta <= float(law.delta(0.5)) * (1 + 1e-9) + 1e-12, dtype


def _told(first: dict[Any, float], second: dict[Any, float], levels: Sequence[float]) -> list[float]:
    """The largest log ratio between two laws, and their divergences at these levels, in the worse order."""
    p, q = (np.array([row.get(key, 0.0) for key in {**first, **second}]) for row in (first, second))
    with np.errstate(divide="ignore"):
        told = [float(np.max(np.abs(np.log(p / q))))]
    return told + [
        max(float(np.maximum(a - math.exp(level) * b, 0).sum()) for a, b in ((p, q), (q, p))) for level in levels
    ]


@together("entry", ENTRIES)
def test_the_definition_has_total_one_and_the_epsilon_of_the_numbers(entry: Any) -> None:
    from sympy import exp, simplify

    law, m = entry.law(), entry.mechanism()
    if isinstance(law, SymbolicWeights):
        law = law.at({v: getattr(m, v.name) for v in law.variables() if v.name in ("d", "k")})
        assert simplify(law.total()) == 1
    else:
        whole = [v for v in law.inputs if v.integer_valued]
        values = range(int(whole[0].lower), int(whole[0].upper) + 1) if whole else [None]
        assert all(simplify((law.at({whole[0]: x}) if whole else law).total()) == 1 for x in values)
    ratio = entry.ratio()
    if ratio is None:
        assert m.exact_epsilon() == math.inf or entry.example.composed
        return
    numbers = {parameter.variable.name: getattr(m, parameter.name) for parameter in m.parameters}
    powers = {letter: exp(power) for letter, power in entry.exponents(ratio).items()}
    value = ratio.subs(powers).subs({v: numbers[v.name] for v in ratio.subs(powers).free_symbols}).doit()
    assert math.log(float(value)) == pytest.approx(m.exact_epsilon(), rel=1e-12)


@together("name", ["TwoPoint", "Piecewise", "Hybrid", "Laplace", "Gaussian"])
def test_moments_are_those_of_the_definition(name: str) -> None:
    from sympy import exp

    m = MECHANISMS[name] if name != "TwoPoint" else TwoPoint(1.0, 0.3, 0.7)
    law, given = m.symbolic(), {one.variable.name: getattr(m, one.name) for one in m.parameters}
    given |= {"t": exp(given.get("epsilon", 1)), "s": exp(given.get("epsilon", 1) / 2)}
    given |= {"alpha": m.mixing()} if name == "Hybrid" else {}
    mean, variance = law.mean(), law.variance()
    for x in np.linspace(*m.domain(), 5):
        point = {v: given.get(v.name, x) for v in law.variables()}
        assert m.mean(x) == pytest.approx(float(mean.subs(point)), rel=1e-12, abs=1e-14)
        assert m.variance(x) == pytest.approx(float(variance.subs(point)), rel=1e-12)


@together("name", ["CoordinateSampling", "TwoStage", "RandomProjection"])
def test_the_law_of_one_coordinate_has_the_moments_of_the_numbers(name: str) -> None:
    from sympy import exp

    m, rng = MECHANISMS[name], np.random.default_rng(5)
    x = rng.uniform(-0.9, 0.9, size=4 if name == "RandomProjection" else 3)
    inputs = m.project(x) if name == "RandomProjection" else x
    letters = {"c": 0, "r": 1, "d": 3, "k": 2, "q": 2, "t": exp(0.5 if name != "RandomProjection" else 1)}
    for j, value in enumerate(inputs):
        chosen = float(m.index_probs(x)[j]) if name == "TwoStage" else 0
        law = m.symbolic().at({v: 0 for v in m.symbolic().variables() if v.name in ("c",)})
        point = {v: letters.get(v.name, value if v.name == "w" else chosen) for v in law.variables()}
        assert float(law.mean().subs(point)) == pytest.approx(m.mean(x)[j], rel=1e-9)
        assert float(law.variance().subs(point)) == pytest.approx(m.variance(x)[j], rel=1e-9)
        assert float(law.total().subs(point)) == pytest.approx(1.0)


def test_all_pairs_of_inputs_are_no_worse_than_the_worst_pair() -> None:
    """Brute force over a grid of inputs, for the mechanisms on numbers with few reports."""
    m = MECHANISMS["TwoPoint"]
    inputs = np.linspace(*m.domain(), 41)
    table = np.array([m.log_prob(y, inputs) for y in m.outputs()])
    worst = max(float(np.max(np.abs(a[:, None] - a[None, :]))) for a in table)
    assert worst <= m.exact_epsilon() * (1 + 1e-12)
    rankings = [np.array(order) for order in itertools.permutations(range(1, 5))]
    logs = np.array([MECHANISMS["ExponentialSelection"].log_prob(np.arange(4), ranks) for ranks in rankings])
    assert np.max(logs.max(axis=0) - logs.min(axis=0)) == pytest.approx(1.0)
