"""The pytest plugin: a privacy claim as an assertion with a stated false-alarm rate.

    def test_my_mechanism(ldp):
        ldp.assert_private(my_sampler, epsilon=1.0, inputs=(-1, 1), detects=1.1)

A test's seed is fixed: it comes from a base (0) and the test's node id, not from the order of the tests, so that it is
the same in every worker of pytest-xdist and in every example of Hypothesis (whose usual deadline, 0.2 s, is too short
for an assertion). The base can be set or drawn: for a run by --ldp-seed=INT|random, for a test by
@pytest.mark.ldp(seed=INT|"random"); the command line has the last word.

Every pytest session loads this module, so it imports nothing of ldp_audit, nor numpy, until a test asserts something.
"""

from __future__ import annotations

import hashlib
import math
import os
import secrets
import shlex
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

import pytest

if TYPE_CHECKING:
    from ldp_audit.auditing import AuditResult
    from ldp_audit.auditing.fitting import FitResult

_RANDOM = "random"
_QUIETEST = -1  # of pytest's levels of verbosity, -q, at which progress is shown
_ON_REPORT = "ldp_audit"  # the attribute of a test's report that carries its line of the summary


class Ldp:
    """What the fixture `ldp` gives: assertions about samplers. One for the whole session, as Hypothesis wants it."""

    def __init__(self, session: _Session) -> None:
        self._session = session

    @property
    def seed(self) -> int:
        """The seed of the running test."""
        return self._session.seed

    def assert_private(self, sampler: Any, epsilon: float, inputs: Any, **options: Any) -> AuditResult:
        """Fail where the sampler's epsilon is shown to be above the claim, and where nothing could have been shown.

        options: delta, detects, detects_epsilon, power, false_alarm, rarest, seed, max_samples, timeout, stateless,
        seconds, progress, as of `ldp_audit.auditing.assertions.assert_private`; the seed is the test's unless it is
        given here, and lines of progress go to the terminal, past pytest's capture, if the assertion takes long.
        """
        __tracebackhide__ = True
        from ldp_audit.auditing.assertions import NoPowerError, PrivacyViolation, assert_private

        with self._session.seeded(options), self._session.lines() as lines:
            given: dict[str, Any] = {"progress": lines, **options}
            try:
                result = assert_private(sampler, epsilon, inputs, **given)
            except (PrivacyViolation, NoPowerError) as violation:
                self._session.line.add(*_of_audit(violation.result))
                raise
        self._session.line.add(*_of_audit(result))
        return result

    def assert_fits(self, sampler: Any, law: Any, inputs: Any, **options: Any) -> FitResult:
        """Fail where the sampler is shown not to follow the law that it declares.

        options: samples, false_alarm, seed, timeout, tolerance, as of
        `ldp_audit.auditing.assertions.assert_fits`.
        """
        __tracebackhide__ = True
        from ldp_audit.auditing.assertions import LawMismatch, assert_fits

        with self._session.seeded(options):
            try:
                result = assert_fits(sampler, law, inputs, **options)
            except LawMismatch as mismatch:
                self._session.line.add(*_of_fit(mismatch.result))
                raise
        self._session.line.add(*_of_fit(result))
        return result


@dataclass
class _Line:
    """One test's line of the summary: the assertion that came nearest to failing, and sums over all of them."""

    text: str = ""
    excess: float = -math.inf
    assertions: int = 0
    samples: int = 0
    seconds: float = 0.0

    def add(self, text: str, excess: float, samples: int, seconds: float) -> None:
        """One more assertion. excess: above 0 if it failed, and the greater, the nearer it came."""
        if not self.assertions or excess > self.excess:
            self.text, self.excess = text, excess
        self.assertions += 1
        self.samples += samples
        self.seconds += seconds

    def describe(self) -> str:
        """In words, one line."""
        times = f", the nearest of {self.assertions} assertions" if self.assertions > 1 else ""
        return f"{self.text}{times}; {self.samples} samples in {self.seconds:.2f} s"


@dataclass
class _Session:
    """The bases of the seeds, the running test, and what it asserted so far."""

    option: int | str | None  # of --ldp-seed: a number, "random", or None where it was not given
    drawn: int  # the base of all seeds that are drawn in this run
    terminal: TextIO | None = None  # what pytest writes on, before it captures what tests write
    item: pytest.Item | None = None
    line: _Line = field(default_factory=_Line)

    @property
    def base(self) -> int | None:
        """The running test's base where it is not the usual 0."""
        base = self.option
        if base is None and self.item is not None:
            marker = self.item.get_closest_marker("ldp")
            base = None if marker is None else _of_marker(marker)
        return self.drawn if isinstance(base, str) else base

    @property
    def seed(self) -> int:
        """The running test's seed."""
        return _derived(self.base or 0, _node_id(self.item))

    @contextmanager
    def lines(self) -> Iterator[Callable[[str], None] | None]:
        """Show lines of progress below pytest's own; None where it has none, as in a worker of pytest-xdist."""
        if self.terminal is None:
            yield None
            return
        from ldp_audit.progress import Progress

        with Progress(stream=_Below(self.terminal), first=1.0) as lines:
            yield lambda text: lines(f"{_node_id(self.item)}: {text}")

    @contextmanager
    def seeded(self, options: dict[str, Any]) -> Iterator[None]:
        """Give the test's seed where the options have none, and say on failure how to see it again."""
        __tracebackhide__ = True
        usual = "seed" in options or self.base is None
        options.setdefault("seed", self.seed)
        try:
            yield
        except (AssertionError, ValueError) as failure:
            base = "" if usual else f" --ldp-seed={self.base}"
            failure.add_note(f"  repeat: pytest {shlex.quote(_node_id(self.item))}{base}")
            raise


class _Below:
    """A stream whose first text begins a line of its own, since pytest leaves its line open while a test runs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._written = stream, False

    def write(self, text: str, /) -> object:
        """Write it, below what pytest has written."""
        self._stream.write(text if self._written else f"\n{text}")
        self._written = True
        return None

    def flush(self) -> object:
        """See `ldp_audit.progress.Stream`."""
        return self._stream.flush()


def _of_audit(result: AuditResult) -> tuple[str, float, int, float]:
    claimed = result.claimed_epsilon or 0.0
    text = f"epsilon >= {result.epsilon_lower:.4g}, claimed {claimed:.4g}, detectable {result.detectable_epsilon:.4g}"
    return text, result.epsilon_lower - claimed, result.samples_used, result.seconds


def _of_fit(result: FitResult) -> tuple[str, float, int, float]:
    detectable = max(result.detectable.values(), default=math.inf)
    text = f"fit to the law: p-value {result.p_value:.3g}, detectable {detectable:.3g}"
    return text, 1 - result.confidence - result.p_value, result.samples_used, result.seconds


_STATE = pytest.StashKey[_Session]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option --ldp-seed."""
    parser.getgroup("ldp-audit").addoption(
        "--ldp-seed",
        metavar="INT|random",
        type=_option,
        help="base of the seeds of privacy assertions; the usual one is fixed, random draws it and prints it",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker; draw the random base, once for all workers."""
    config.addinivalue_line(
        "markers", 'ldp(seed=INT or "random"): base of the seeds of this test\'s privacy assertions'
    )
    from_controller = getattr(config, "workerinput", {}).get(_ON_REPORT)
    drawn = secrets.randbits(32) if from_controller is None else from_controller
    here = not hasattr(config, "workerinput") and config.getoption("verbose") >= _QUIETEST
    terminal = os.fdopen(os.dup(1), "w", encoding="utf-8") if here else None
    config.stash[_STATE] = _Session(config.getoption("--ldp-seed"), drawn, terminal)
    if terminal is not None:
        config.add_cleanup(terminal.close)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Of pytest-xdist: hand a worker what was drawn."""
    node.workerinput[_ON_REPORT] = node.config.stash[_STATE].drawn


def pytest_report_header(config: pytest.Config) -> str | None:
    """The base, where it is not the usual one."""
    state = config.stash[_STATE]
    if state.option is None:
        return None
    drawn = " (drawn; give the number to repeat it)" if state.option == _RANDOM else ""
    return f"ldp-audit: --ldp-seed={state.drawn if state.option == _RANDOM else state.option}{drawn}"


@pytest.fixture(scope="session")
def ldp(request: pytest.FixtureRequest) -> Ldp:
    """Assertions about the privacy of samplers; see `Ldp`."""
    return Ldp(request.config.stash[_STATE])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Know which test is running."""
    state = item.config.stash[_STATE]
    state.item = item
    try:
        return (yield)
    finally:
        state.item = None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let the report carry the test's line to the terminal, from a worker of pytest-xdist too."""
    report = yield
    state = item.config.stash[_STATE]
    if state.line.assertions:
        setattr(report, _ON_REPORT, state.line.describe())
        state.line = _Line()
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """A line for each test that asserted something: with -v for all of them, else for those that failed."""
    reports = [
        report
        for category, reports in terminalreporter.stats.items()
        for report in reports
        if hasattr(report, _ON_REPORT) and (config.get_verbosity() > 0 or category in ("failed", "error"))
    ]
    if reports:
        terminalreporter.section("privacy assertions")
    for report in reports:
        terminalreporter.write_line(f"{report.nodeid}: {getattr(report, _ON_REPORT)}")


def _option(text: str) -> int | str:
    try:
        return _base(text if text == _RANDOM else int(text), "--ldp-seed") or 0
    except ValueError:
        raise pytest.UsageError(f"--ldp-seed must be a whole number >= 0 or random, got {text!r}") from None


def _of_marker(marker: pytest.Mark) -> int | str | None:
    if marker.args or set(marker.kwargs) - {"seed"}:
        raise ValueError(f"the marker ldp takes seed=... alone, got {marker.args!r}, {marker.kwargs!r}")
    return _base(marker.kwargs.get("seed"), "the marker ldp's seed")


def _base(seed: Any, name: str) -> int | str | None:
    if seed is None or seed == _RANDOM or (isinstance(seed, int) and not isinstance(seed, bool) and seed >= 0):
        return seed
    raise ValueError(f"{name} must be a whole number >= 0 or 'random', got {seed!r}")


def _derived(base: int, node_id: str) -> int:
    """A seed of 48 bits for this test, which no other test has."""
    return int.from_bytes(hashlib.sha256(f"{base} {node_id}".encode()).digest()[:6])


def _node_id(item: pytest.Item | None) -> str:
    """The test's node id; without the groups that pytest-xdist appends under --dist loadgroup."""
    if item is None:
        return ""
    marks = item.iter_markers("xdist_group")
    groups = {str(mark.args[0] if mark.args else mark.kwargs.get("name", "default")) for mark in marks}
    return item.nodeid.removesuffix(f"@{'_'.join(sorted(groups))}") if groups else item.nodeid
