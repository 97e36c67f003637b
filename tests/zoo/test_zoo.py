"""Every broken program of the zoo is caught, and its sound twin is not.

All are audited at confidence 1 - 1e-6, so that a right auditor calls a twin broken, or states a bound above the exact
epsilon, at most once in a million seeds. By default tests draw a twentieth of a default audit's samples, or twice its
samples where the mistake is subtle, and a tenth of that twentieth of a twin: what accuses a sound program at a wrong
rate does so with few samples too. `--slow` audits both as a user would, with every argument left at its default.
"""

from __future__ import annotations

from typing import Any

import pytest

from ldp_audit import audit
from ldp_audit.auditing.adapters import from_function
from ldp_audit.auditing.fitting import fit
from ldp_audit.auditing.result import AuditResult
from tests.auditing.second_counter import assert_a_person_can_count
from tests.together import together
from tests.zoo import DEVIATIONS, SPECIMENS, Deviation, Specimen
from tests.zoo.responses import ERROR

FALSE_ALARM = 1e-6
FEW, MANY = 50_000, 2_000_000


AT_LENGTH = {
    "a sampler that caches",
    "a seed that repeats",
    "a two-stage report that counts the value alone",
    "local hashing whose seed depends on the value",
    "randomised response with a seed that repeats",
    "sparse vector that never stops",
    "sparse vector that reports the query's value",
    "sparse vector without noise on its queries",
    "the budget of one weight claimed of the whole update",
    "the classical Gaussian calibration beyond epsilon 1",
}
"""Of a kind with another specimen, and longer: with `--slow`."""


def _each(specimens: tuple[Any, ...]) -> Any:
    slow = [(pytest.mark.slow,) if one.name in AT_LENGTH else () for one in specimens]
    cases = [pytest.param(one, marks=mark, id=one.name) for one, mark in zip(specimens, slow, strict=True)]
    return pytest.mark.parametrize("specimen", cases)


def _audited(specimen: Specimen, sampler: Any, **options: Any) -> AuditResult:
    claim = specimen.claimed_epsilon, specimen.claimed_delta
    return audit(sampler, specimen.inputs, *claim, floating_point=specimen.floating_point, **options)


def _surely(specimen: Specimen, sampler: Any, samples: int) -> AuditResult:
    kept = {"stateless": not specimen.remembers}  # without copies, which the audits at the default plan have
    return _audited(specimen, sampler, samples=samples, confidence=1 - FALSE_ALARM, **kept)


def _assert_caught(specimen: Specimen, result: AuditResult) -> None:
    caught = result.inconclusive and "remembers" in result.notes[0] if specimen.remembers else result.violated
    assert caught, f"{specimen.what_is_wrong}\n{result.describe()}"


def _assert_spared(specimen: Specimen, samples: int) -> None:
    result = _surely(specimen, specimen.sound, samples)
    assert not result.violated, result.describe()
    assert specimen.sound_epsilon is None or result.epsilon_lower <= specimen.sound_epsilon, result.describe()


@_each(SPECIMENS)
def test_a_broken_program_is_caught_with_a_bound_below_its_epsilon_and_its_sound_twin_is_not(specimen: Specimen):
    result = _surely(specimen, specimen.broken, MANY if specimen.subtle else FEW)
    _assert_caught(specimen, result)
    if not specimen.remembers:  # whose outputs nobody can draw again
        assert_a_person_can_count(result, specimen.broken, specimen.inputs)
    assert specimen.broken_epsilon is None or result.epsilon_lower <= specimen.broken_epsilon, result.describe()
    _assert_spared(specimen, FEW // 10)


@pytest.mark.slow
@_each(SPECIMENS)
def test_so_they_are_at_the_default_plan(specimen: Specimen):
    _assert_caught(specimen, _audited(specimen, specimen.broken))
    _assert_spared(specimen, 1_000_000)


def test_every_sound_twin_keeps_its_claim_where_its_epsilon_is_known():
    known = [(one.sound_epsilon, one.claimed_epsilon) for one in SPECIMENS if one.sound_epsilon is not None]
    assert all(epsilon <= claim + 1e-12 for epsilon, claim in known)
    assert len(known) >= 15


def test_every_broken_program_exceeds_its_claim_where_its_epsilon_is_known():
    assert all(one.claimed_epsilon < one.broken_epsilon for one in SPECIMENS if one.broken_epsilon is not None)


def test_the_zoo_is_large_and_its_names_differ():
    names = [one.name for one in (*SPECIMENS, *DEVIATIONS)]
    assert len(set(names)) == len(names)
    assert len(SPECIMENS) >= 18


@together("specimen", DEVIATIONS)
def test_a_deviation_under_the_claim_is_seen_by_the_test_of_fit_and_its_twin_fits(specimen: Deviation):
    result = fit(specimen.broken, specimen.law, specimen.inputs, samples=FEW)
    assert result.verdict == "differs", f"{specimen.what_is_wrong}\n{result.describe()}"
    result = fit(specimen.sound, specimen.law, specimen.inputs, samples=FEW, confidence=1 - FALSE_ALARM)
    assert result.verdict == "consistent", result.describe()


@together("specimen", DEVIATIONS)
def test_no_audit_of_epsilon_objects_to_a_deviation_under_the_claim(specimen: Deviation):
    """So that the test of fit is not one more way to see what an audit sees anyway."""
    result = audit(specimen.broken, specimen.inputs, specimen.claimed_epsilon, samples=FEW, confidence=1 - FALSE_ALARM)
    assert not result.violated, result.describe()


def test_an_exception_is_an_output_where_the_adapter_is_told_so():
    """The message that leaks, from a function of one value that raises it."""

    def report(x: float, rng: Any) -> float:
        if not -1 <= x <= 1:
            raise ValueError(f"x must be in [-1, 1], got {x}")
        return float(x + rng.laplace(scale=2.0))

    result = audit(from_function(report, errors="output"), ERROR.inputs, ERROR.claimed_epsilon, samples=3_000)
    assert result.violated, result.describe()
    assert result.witness.event.labels or result.witness.inputs[0] == -1.0
