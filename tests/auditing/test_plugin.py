"""The pytest plugin, run on small test files of its own."""

from __future__ import annotations

import re

import pytest

from ldp_audit import mechanisms
from ldp_audit.auditing import assertions as assertion
from ldp_audit.auditing import fitting as goodness_of_fit
from tests.together import together

pytest_plugins = ["pytester"]

LOADED_BEFORE = (assertion, goodness_of_fit, mechanisms)
"""What an inner run loads is unloaded after it, and numpy cannot be loaded twice."""

SAMPLERS = """\
import numpy as np
import pytest

P = np.e / (1 + np.e)  # epsilon 1

def keeps(p):
    return lambda x, n, rng: np.where(rng.random(n) < p, x, 1 - x)

sound, broken = keeps(P), keeps(0.9)

"""
BROKEN = SAMPLERS + "def test_it(ldp): ldp.assert_private(broken, epsilon=1.0, inputs=(0, 1), detects=1.5)\n"


@pytest.fixture(autouse=True)
def _as_on_a_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a CI server, pytest prints each message a second time, in its summary."""
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)


def outcome(pytester: pytest.Pytester, source: str, *options: str) -> str:
    """What pytest printed for a file of this source, colours off."""
    pytester.makepyfile(source)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--strict-markers", "-Werror", *options)
    return result.stdout.str() + result.stderr.str()


def seeds_of(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"; seed (\d+)", text)]


def test_a_sound_sampler_passes_and_says_nothing(pytester: pytest.Pytester) -> None:
    source = SAMPLERS + "def test_it(ldp): ldp.assert_private(sound, epsilon=1.0, inputs=(0, 1), detects=1.5)\n"
    text = outcome(pytester, source)
    assert "1 passed" in text
    assert "privacy assertions" not in text


def test_with_v_a_test_that_passed_has_a_line_of_samples_bound_and_power(pytester: pytest.Pytester) -> None:
    source = SAMPLERS + (
        "def test_it(ldp):\n"
        "    for _ in range(2):\n"
        "        ldp.assert_private(sound, epsilon=1.0, inputs=(0, 1), detects=1.5)\n"
        "def test_other(): pass\n"
    )
    text = outcome(pytester, source, "-v")
    assert "= privacy assertions =" in text
    assert re.search(r"::test_it: epsilon >= 0\.\d+, claimed 1, detectable 1\.\d+, the nearest of 2 assertions;", text)
    assert re.search(r" 2 assertions; \d+ samples in [\d.]+ s\n", text)
    assert "::test_other: epsilon" not in text


def test_a_failure_shows_the_witness_the_bound_the_seed_and_how_to_repeat_it(pytester: pytest.Pytester) -> None:
    text = outcome(pytester, BROKEN)
    assert "1 failed" in text
    assert re.search(r"E +ldp_audit\.\S+PrivacyViolation: epsilon is at least 1\.\d+, and 1 was claimed", text)
    assert re.search(r"E +inputs: [01] and [01]\n", text)
    assert re.search(r"E +event:  y .*[01]\n", text)
    of = r"(0\.\d+) on input [01] \((\d+) of (\d+)\)"
    seen = re.search(rf"E +seen:   {of}, {of}\n", text)
    assert seen is not None
    for frequency, hits, trials in (seen.groups()[:3], seen.groups()[3:]):
        assert float(frequency) == pytest.approx(int(hits) / int(trials), rel=1e-5)
    assert re.search(r"E +chance that a sound sampler fails so: 1e-09; seed \d+\n", text)
    node = "test_a_failure_shows_the_witness_the_bound_the_seed_and_how_to_repeat_it.py::test_it"
    assert re.search(rf"E +repeat: pytest {node}\n", text)
    assert "= privacy assertions =" in text  # without -v too
    assert "assertion.py:" not in text.split("short test summary")[0]  # no frame of ours, only the test's


def test_a_law_that_does_not_fit_fails_with_what_differs(pytester: pytest.Pytester) -> None:
    source = SAMPLERS + (
        "from ldp_audit.mechanisms import RandomizedResponse\n"
        "def test_fits(ldp): ldp.assert_fits(sound, RandomizedResponse(1.0), (0, 1), samples=20_000)\n"
        "def test_differs(ldp): ldp.assert_fits(broken, RandomizedResponse(1.0), (0, 1), samples=20_000)\n"
    )
    text = outcome(pytester, source, "-v")
    assert "1 failed, 1 passed" in text
    assert re.search(r"E +ldp_audit\.\S+LawMismatch: differs", text)
    assert re.search(r"::test_fits: fit to the law: p-value [\d.]+, detectable [\d.]+; 40000 samples", text)
    assert re.search(r"::test_differs: fit to the law: p-value \d", text)
    assert re.search(r"E +repeat: pytest \S+::test_differs\n", text)


def test_a_plan_beyond_max_samples_is_an_error_with_advice(pytester: pytest.Pytester) -> None:
    source = SAMPLERS + (
        "def test_it(ldp): ldp.assert_private(sound, epsilon=1.0, inputs=(0, 1), detects=1.01, max_samples=10_000)\n"
    )
    text = outcome(pytester, source)
    assert "1 failed" in text
    assert re.search(
        r"E +ValueError: max_samples must be at least \d{6,} to catch epsilon 1\.01 where 1 is claimed", text
    )


def test_the_usual_seed_is_fixed_and_each_test_has_its_own(pytester: pytest.Pytester) -> None:
    source = BROKEN + "def test_too(ldp): ldp.assert_private(broken, epsilon=1.0, inputs=(0, 1), detects=1.5)\n"
    first, again = seeds_of(outcome(pytester, source)), seeds_of(outcome(pytester, source))
    assert len(set(first)) == 2
    assert first == again


def test_a_seed_can_be_set_drawn_and_repeated(pytester: pytest.Pytester) -> None:
    usual = outcome(pytester, BROKEN)
    assert seeds_of(outcome(pytester, BROKEN, "--ldp-seed=0")) == seeds_of(usual)
    drawn = outcome(pytester, BROKEN, "--ldp-seed=random")
    base = re.search(r"ldp-audit: --ldp-seed=(\d+) \(drawn", drawn)
    assert base is not None
    assert f"::test_it --ldp-seed={base[1]}\n" in drawn
    assert seeds_of(drawn) != seeds_of(usual)
    assert seeds_of(outcome(pytester, BROKEN, f"--ldp-seed={base[1]}")) == seeds_of(drawn)


def test_the_marker_sets_or_draws_the_seed_of_one_test(pytester: pytest.Pytester) -> None:
    def marked(seed: str) -> str:
        return BROKEN.replace("def test_it", f"@pytest.mark.ldp(seed={seed})\ndef test_it")

    assert seeds_of(outcome(pytester, marked("7"))) == seeds_of(outcome(pytester, BROKEN, "--ldp-seed=7"))
    drawn = outcome(pytester, marked("'random'"))
    base = re.search(r"::test_it --ldp-seed=(\d+)\n", drawn)
    assert base is not None
    assert seeds_of(outcome(pytester, marked("7"), f"--ldp-seed={base[1]}")) == seeds_of(drawn)


def test_a_seed_given_in_the_call_is_the_seed(pytester: pytest.Pytester) -> None:
    assert seeds_of(outcome(pytester, BROKEN.replace("detects=1.5", "detects=1.5, seed=5"), "--ldp-seed=1")) == [5]


@together("value", ["-1", "1.5", "often"])
def test_a_seed_that_is_none_is_refused_on_the_command_line(pytester: pytest.Pytester, value: str) -> None:
    text = outcome(pytester, BROKEN, f"--ldp-seed={value}")
    assert f"--ldp-seed must be a whole number >= 0 or random, got '{value}'" in text


@together(("marker", "says"), [("seed=-1", "got -1"), ("7", "seed=... alone"), ("sead=1", "'sead'")])
def test_a_marker_that_says_nothing_sensible_fails_the_test(pytester: pytest.Pytester, marker: str, says: str) -> None:
    text = outcome(pytester, BROKEN.replace("def test_it", f"@pytest.mark.ldp({marker})\ndef test_it"))
    assert re.search(rf"E +ValueError: the marker ldp.*{re.escape(says)}", text)


def test_it_works_inside_hypothesis_and_every_example_has_the_same_seed(pytester: pytest.Pytester) -> None:
    source = SAMPLERS + (
        "from hypothesis import given, settings, strategies as st\n"
        "seen = set()\n"
        "@settings(deadline=None, max_examples=5, database=None)\n"
        "@given(st.sampled_from((2.0, 3.0)))\n"
        "def test_good(ldp, epsilon):\n"
        "    seen.add(ldp.assert_private(sound, epsilon, (0, 1), detects=1.5).seed)\n"
        "    assert len(seen) == 1\n"
        "@settings(deadline=None, max_examples=5, database=None)\n"
        "@given(st.sampled_from((1.0, 1.1)))\n"
        "def test_bad(ldp, epsilon):\n"
        "    ldp.assert_private(broken, epsilon, (0, 1), detects=1.5)\n"
    )
    text = outcome(pytester, source)
    assert "1 failed, 1 passed" in text
    assert "epsilon=1.0" in text  # the falsifying example, shrunk
    assert "PrivacyViolation: epsilon is at least" in text
    assert "FailedHealthCheck" not in text
    assert "Flaky" not in text


def test_workers_of_xdist_agree_on_the_drawn_seed_and_report_their_lines(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        BROKEN + "@pytest.mark.xdist_group('a@b')\n"
        "def test_too(ldp): ldp.assert_private(broken, epsilon=1.0, inputs=(0, 1), detects=1.5)\n"
    )
    options = ["-p", "no:cacheprovider", "--strict-markers"]
    spread = pytester.runpytest_subprocess(*options, "-n2", "--dist=loadgroup", "--ldp-seed=random").stdout.str()
    assert "2 failed" in spread
    base = re.search(r"ldp-audit: --ldp-seed=(\d+) \(drawn", spread)
    assert base is not None
    assert f"::test_too --ldp-seed={base[1]}\n" in spread
    assert spread.split("= privacy assertions =")[1].count("epsilon >= 1.") == 2
    alone = pytester.runpytest_inprocess(*options, f"--ldp-seed={base[1]}").stdout.str()
    assert sorted(seeds_of(spread)) == sorted(seeds_of(alone))
    assert len(set(seeds_of(alone))) == 2


def test_a_session_that_asserts_nothing_imports_nothing_of_ours(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\n"
        "def test_it(ldp):\n"
        "    assert 'ldp_audit_pytest' in sys.modules\n"
        "    assert not {'numpy', 'scipy', 'ldp_audit'} & set(sys.modules)\n"
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_an_assertion_that_takes_long_says_so_while_it_runs(pytester: pytest.Pytester) -> None:
    """Would catch minutes of silence: pytest captures the standard error."""
    source = SAMPLERS + (
        "import time\n"
        "slept = []\n"
        "def slow(x, n, rng):\n"
        "    if n == 16 and not slept:\n"
        "        time.sleep(1.1)\n"
        "        slept.append(n)\n"
        "    return sound(x, n, rng)\n"
        "def test_it(ldp): ldp.assert_private(slow, epsilon=1.0, inputs=(0, 1), detects=9, stateless=True)\n"
    )
    pytester.makepyfile(source)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-q")
    text = result.stdout.str()
    assert "1 passed" in text
    assert re.search(r"\n\S+::test_it: up to \d+ outputs at \S+ ms each: about .* if the claim is refuted\n", text)
