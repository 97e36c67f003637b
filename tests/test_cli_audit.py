"""ldp-audit audit: exit codes, files, and what becomes of a run that is killed or whose program fails."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ldp_audit
from ldp_audit.auditing.program import CHUNK_ROWS
from ldp_audit.cli import main
from ldp_audit.progress import Progress
from tests.together import together

HERE = "tests.test_cli_audit"
Captured = pytest.CaptureFixture[str]


def honest(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Warner's answer at epsilon 1."""
    return np.where(rng.random(n) < 0.7310585, x, -x)


def leaky(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """At epsilon 2.2."""
    return np.where(rng.random(n) < 0.9, x, -x)


def labelled(x: str, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(n) < 0.9, x, "neither")


def vector(x: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """One noise for both coordinates, and x * 2 must double them."""
    return x * 2 + rng.laplace(size=n)[:, None]


big_calls = [0]


@pytest.fixture(autouse=True)
def _first_call() -> None:
    big_calls[0] = 0


def third(n: int) -> bool:
    """Whether this is the fifth call of the test, the first of its third chunk; the search asks for others."""
    big_calls[0] += n == ROWS
    return n == ROWS and big_calls[0] == 5


def raises(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    if third(n):
        raise ArithmeticError("boom")
    return leaky(x, n, rng)


def ends(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Would end the audit with the exit code of a program that holds."""
    if third(n):
        sys.exit(0)
    return leaky(x, n, rng)


def hangs(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    if third(n):
        time.sleep(60)
    return leaky(x, n, rng)


def short(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return leaky(x, n - third(n), rng)


def other_shape(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.zeros((n, 3)) if third(n) else leaky(x, n, rng)


MANY_CALLS = ["--inputs=-1,1", "--epsilon", "1", "--samples", str(7 * CHUNK_ROWS)]
ROWS = 13711
"""Outputs of a call of the test of these."""


def audit(*arguments: str) -> int:
    return main(["audit", *arguments])


def outcome(path: Path) -> dict[str, Any]:
    document = json.loads(path.read_text(encoding="utf-8"))
    document.pop("seconds")
    return document


def test_a_sound_program_is_0_a_leaky_one_1_and_both_are_described(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "a.json"
    assert audit(f"{HERE}:honest", *MANY_CALLS, "--json", str(path)) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("consistent: claimed epsilon 1\n  epsilon is at least  0.9")
    assert "smallest epsilon that this event would have shown" in captured.out
    assert captured.err == ""  # it takes less than two seconds
    assert outcome(path)["verdict"] == "consistent"
    assert audit(f"{HERE}:leaky", *MANY_CALLS, "--json", str(path)) == 1
    assert capsys.readouterr().out.startswith("violated: claimed epsilon 1\n  epsilon is at least  2.1")
    assert outcome(path)["verdict"] == "violated"


def test_without_a_claim_only_the_bound_is_stated(capsys: Captured) -> None:
    assert audit(f"{HERE}:leaky", "--inputs=-1,1", "--samples", "1e5") == 0
    assert capsys.readouterr().out.startswith("no claim to compare with\n  epsilon is at least  2.")


def test_a_shipped_mechanism_brings_its_worst_pair_and_its_claim(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "a.json"
    assert audit("TwoPoint(epsilon=1.5)", "--samples", "1e5", "--json", str(path)) == 0
    assert "no --epsilon: the claim is what TwoPoint(epsilon=1.5) is calibrated to, 1.5\n" in capsys.readouterr().out
    assert sorted(outcome(path)["witness"]["inputs"]) == [-1.0, 1.0]
    assert audit("TwoPoint(epsilon=1.5)", "--samples", "1e5", "--epsilon", "1.2") == 1
    assert "no --epsilon" not in capsys.readouterr().out


def test_a_channel_file_is_audited(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "c.csv").write_text("0.75,0.25\n0.25,0.75\n")
    os.utime(tmp_path / "c.csv", (0, 0))  # a file that is as new as the audit may hold what a program has kept
    assert audit(str(tmp_path / "c.csv"), "--samples", "1e5") == 0
    assert "epsilon is at least  1.0" in capsys.readouterr().out


@together(
    ("inputs", "target", "seen"),
    [
        ("-1,1", "leaky", [-1, 1]),
        ("-0.5,0.5", "leaky", [-0.5, 0.5]),
        ("[-1, 1]", "leaky", [-1, 1]),
        ("yes,no", "labelled", ["no", "yes"]),
        ('["yes", "no"]', "labelled", ["no", "yes"]),
        ("[[0, 0], [0, 1]]", "vector", [[0, 0], [0, 1]]),
    ],
)
def test_inputs_are_numbers_labels_or_json(inputs: str, target: str, seen: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    audit(f"{HERE}:{target}", f"--inputs={inputs}", "--samples", "1e4", "--stateless", "--json", str(path))
    assert sorted(outcome(path)["witness"]["inputs"]) == seen


@together(
    ("argument", "message"),
    [
        ("--samples=many", "must be a whole number such as 1000000 or 1e6, got 'many'"),
        ("--samples=1.5", "must be a whole number such as 1000000 or 1e6, got '1.5'"),
        ("--samples=inf", "must be a whole number"),
        ("--seed=-1", "must be a whole number >= 0, or random, got '-1'"),
        ("--inputs=[1,", "is not JSON"),
        ("--inputs=1,nan", "must not be nan, got '1,nan'"),
    ],
)
def test_an_argument_that_cannot_be_read_is_exit_code_2(argument: str, message: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as caught:
        audit(f"{HERE}:leaky", argument)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("raises", "it raised ArithmeticError: boom"),
        ("ends", "it raised SystemExit: 0"),
        ("hangs", "no answer within 0.5 s"),
        ("short", "it returned 13710 outputs, 13711 were asked for"),
        ("other_shape", "it returned vectors of 3 after numbers or labels in an earlier call"),
    ],
)
def test_a_broken_program_is_named_and_what_was_counted_is_kept(
    target: str, complaint: str, tmp_path: Path, capsys: Captured
) -> None:
    path, state = tmp_path / "a.json", tmp_path / "state.json"
    files = ["--json", str(path), "--resume", str(state), "--timeout", "0.5"]
    assert audit(f"{HERE}:{target}", *MANY_CALLS, *files) == 2
    captured = capsys.readouterr()
    place = "the sampler, on input 1 (call 1.1.2, n = 13711): "
    assert f"ldp-audit audit: {place}{complaint} (before that, y = 1: " in captured.err
    assert f" of 27422, kept in {state})" in captured.err
    *progress, error = captured.err.splitlines()  # a slow machine says how far it is
    assert error.startswith("ldp-audit audit: ")
    assert not any("ldp-audit audit: " in line for line in progress)
    assert captured.out == ""
    document = json.loads(path.read_text())
    assert (document["kind"], document["error"]) == ("audit-error", place + complaint)
    assert document["partial"]["trials"] == [2 * ROWS] * 2
    assert json.loads(state.read_text())["done"] == [[0, 2]]
    # the program is well again from its sixth call on, and the run goes on to the result that it would have had
    assert audit(f"{HERE}:{target}", *MANY_CALLS, *files) == 1
    whole = tmp_path / "whole.json"
    audit(f"{HERE}:leaky", *MANY_CALLS, "--json", str(whole))
    assert outcome(path)["witness"] == outcome(whole)["witness"]


SLOW = """
import os, time
import numpy as np

def sampler(x, n, rng):
    time.sleep(float(os.environ.get("PAUSE", 0)))
    return np.where(rng.random(n) < 0.9, x, -x)
"""


def test_a_run_that_is_killed_goes_on_to_the_same_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_program.py").write_text(SLOW)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    words = ["audit", "slow_program:sampler", "--inputs=-1,1", "--epsilon=1", "--samples=5e6"]
    state, patience = tmp_path / "state.json", time.monotonic() + 60
    killed = subprocess.Popen(
        [sys.executable, "-m", "ldp_audit.cli", *words, "--resume=state.json", "--json=killed.json"],
        env={**os.environ, "PAUSE": "0.02", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    while not (state.exists() and json.loads(state.read_text())["done"]):
        assert killed.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < patience, "nothing was counted"
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    assert not (tmp_path / "killed.json").exists()
    (first, last), *more = json.loads(state.read_text())["done"]
    assert (first, more) == (0, [])
    assert 0 < last < -(-4_600_000 // CHUNK_ROWS)
    assert main([*words, "--resume=state.json", "--json=resumed.json"]) == 1
    assert main([*words, "--json=whole.json"]) == 1
    assert outcome(tmp_path / "resumed.json") == outcome(tmp_path / "whole.json")


def test_workers_do_not_change_the_result(tmp_path: Path) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    assert audit(f"{HERE}:leaky", *MANY_CALLS, "--json", str(one)) == 1
    assert audit(f"{HERE}:leaky", *MANY_CALLS, "--workers", "2", "--json", str(two)) == 1
    assert outcome(one) == outcome(two)


def test_a_state_of_other_arguments_is_refused(tmp_path: Path, capsys: Captured) -> None:
    state = str(tmp_path / "state.json")
    assert audit(f"{HERE}:leaky", *MANY_CALLS, "--resume", state) == 1
    capsys.readouterr()
    assert audit(f"{HERE}:leaky", *MANY_CALLS, "--resume", state, "--seed", "1") == 2
    assert "is the state of an audit of other arguments: seed was 0 and is 1" in capsys.readouterr().err
    assert audit(f"{HERE}:honest", *MANY_CALLS, "--resume", state) == 2
    assert f"target was '{HERE}:leaky' and is '{HERE}:honest'" in capsys.readouterr().err


def test_a_random_seed_is_stated_and_belongs_to_the_state(tmp_path: Path) -> None:
    state, seeds = tmp_path / "state.json", []
    for name in ("a.json", "b.json", "c.json"):
        path = tmp_path / name
        resume = [] if name == "c.json" else ["--resume", str(state)]
        audit(f"{HERE}:leaky", *MANY_CALLS, "--seed", "random", "--json", str(path), *resume)
        seeds.append(outcome(path)["seed"])
    assert seeds[0] == seeds[1] != seeds[2]  # 48 random bits


def test_a_witness_is_confirmed_and_runs_are_merged(tmp_path: Path, capsys: Captured) -> None:
    first, second, third_, merged = (tmp_path / f"{name}.json" for name in ("first", "second", "third", "merged"))
    assert audit(f"{HERE}:leaky", *MANY_CALLS, "--json", str(first)) == 1
    assert audit(f"{HERE}:leaky", "--confirm", str(first), "--seed", "1", "--json", str(second)) == 1
    more = ("--seed", "2", "--samples", "1e5", "--json", str(third_))
    assert audit(f"{HERE}:leaky", "--confirm", str(first), *more) == 1
    assert outcome(third_)["witness"]["trials"] == [100_000] * 2
    assert audit(f"{HERE}:honest", "--confirm", str(first)) == 0  # the mended program; wrong for one seed in 1,000
    assert audit(f"{HERE}:leaky", "--confirm", str(first), "--epsilon", "3") == 0
    assert audit("--merge", str(first), str(second), str(third_), "--json", str(merged)) == 1
    trials = [outcome(path)["witness"]["trials"][0] for path in (first, second, third_, merged)]
    assert trials[3] == sum(trials[:3])
    capsys.readouterr()
    assert audit("--merge", str(first), str(second), str(merged)) == 2
    assert "counted the same samples (seed 0), which must count only once" in capsys.readouterr().err


def test_a_mechanism_is_confirmed_on_inputs_as_it_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert audit("PerturbedEncoding(1, 4, 2)", "--samples", "2e5", "--json", str(path)) == 1
    assert audit("--confirm", str(path)) == 1


def test_an_interruption_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def interrupt(*_: Any) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"{HERE}.third", interrupt)
    state = tmp_path / "state.json"
    assert audit(f"{HERE}:raises", *MANY_CALLS, "--resume", str(state)) == 130
    assert capsys.readouterr().err == f"ldp-audit audit: interrupted; --resume {state} goes on from there\n"


def test_progress_is_told_after_two_seconds_and_not_when_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    clock = [0.0]

    def passing() -> float:
        clock[0] += 0.7
        return clock[0]

    monkeypatch.setattr(time, "perf_counter", passing)
    audit(f"{HERE}:leaky", *MANY_CALLS)
    told = capsys.readouterr().err
    assert "samples of each input, epsilon at least 2." in told
    assert re.search(r"so far(; about \d+ s left)?\n$", told)
    audit(f"{HERE}:leaky", *MANY_CALLS, "--quiet")
    assert capsys.readouterr().err == ""


def test_progress_on_a_terminal_is_one_line_of_its_width(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(time, "perf_counter", itertools.count(0.0, 3.0).__next__)
    progress = Progress()
    for text in ("a line of more than twenty characters", "short"):
        progress(text)
    progress.end()
    assert capsys.readouterr().err == "\ra line of more than" + "\rshort              " + "\r     \r"


def test_what_is_said_too_early_is_shown_when_a_line_is_due(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """Catches a long step that is announced in the first two seconds, and then silent."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress(first=0.2) as progress:
        progress("over at once")
    with Progress(first=0.2) as progress:
        progress("a first step")
        progress("a long step")
        said, until = "", time.monotonic() + 30
        while not said and time.monotonic() < until:
            time.sleep(0.01)
            said = capsys.readouterr().err
    assert (said, capsys.readouterr().err) == ("\ra long step", "\r           \r")


def test_a_call_from_python_clears_its_line(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(time, "perf_counter", itertools.count(0.0, 3.0).__next__)
    ldp_audit.audit(leaky, (-1, 1), 1.0, samples=7 * CHUNK_ROWS, progress=True)
    assert re.search(r"so far.*\r +\r$", capsys.readouterr().err)


def stretched(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Laplace noise, in floating point; epsilon 2 between the ends of [-1, 1]."""
    return x + rng.laplace(size=n)


def test_a_range_of_inputs_is_searched_to_its_ends(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    search = ("--search=-1,1", "--epsilon", "1.5", "--samples", "50000", "--json", str(file))
    assert audit(f"{HERE}:stretched", *search) == 1
    assert set(outcome(file)["witness"]["inputs"]) == {-1.0, 1.0}


def test_the_last_bits_and_the_curves_are_looked_at_when_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    base = (f"{HERE}:stretched", "--inputs=0.0,1.0", "--epsilon", "1", "--samples", "50000", "--confidence", "0.999999")
    assert audit(*base) == 0
    assert audit(*base, "--curves", "--json", str(file)) == 0
    assert outcome(file)["curves"]["delta_lower"][0] > 0.3
    assert audit(*base, "--floating-point") == 1


def test_a_claimed_rho_is_compared(tmp_path: Path, capsys: Captured) -> None:
    """Catches a claim of zCDP that is forgotten. The truth is 0.462, (p - q) epsilon, at order 1."""
    base, file = (f"{HERE}:honest", "--inputs=-1,1", "--samples", "20000", "--quiet"), tmp_path / "rho.json"
    assert audit(*base, "--claimed-rho", "0.5", "--json", str(file)) == 0
    assert outcome(file)["curves"]["claims"][0]["divergence_lower"] < 0.4622
    assert audit(*base, "--claimed-rho", "0.3") == 1
    assert "violated: claimed rho 0.3" in capsys.readouterr().out
    assert audit(*base, "--claimed-rho", "0.3", "--confirm", str(file)) == 2
    assert "--claimed-rho does not go with --confirm" in capsys.readouterr().err


def test_a_sequential_audit_stops_early(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    assert audit(f"{HERE}:leaky", "--inputs=-1,1", "--epsilon", "1", "--sequential", "--json", str(file)) == 1
    assert outcome(file)["samples_used"] < 30_000


@together("text", ["1", "a,b", "1,2,3,4", "0,1,x"])
def test_a_range_that_is_none_is_refused(text: str, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        audit(f"{HERE}:leaky", f"--search={text}")
    assert ended.value.code == 2
    assert "must be LOW,HIGH or LOW,HIGH,DIMENSION" in capsys.readouterr().err


def test_inputs_are_named_or_searched_and_not_both(capsys: Captured) -> None:
    assert audit(f"{HERE}:leaky", "--inputs=-1,1", "--search=-1,1") == 2
    assert "--search and --inputs both name inputs" in capsys.readouterr().err


def test_a_file_cannot_choose_the_program_that_is_run(tmp_path: Path, capsys: Captured) -> None:
    """A result from a stranger, with the target os:system and commands for inputs, ran them."""
    path, canary = tmp_path / "a.json", tmp_path / "canary"
    assert audit("RandomizedResponse(epsilon=2)", "--epsilon", "1", "--samples", "2000", "--json", str(path)) == 1
    document = json.loads(path.read_text())
    document["counted"] |= {"target": "os:system", "inputs": [f"touch {canary}", "true"]}
    path.write_text(json.dumps(document))
    assert audit("--confirm", str(path)) == 2
    assert "is of the program 'os:system', which must be named to be run" in capsys.readouterr().err
    assert not canary.exists()


CLIENT = """
import json, random, sys
for line in sys.stdin:
    request = json.loads(line)
    random.seed(request["seed"])
    for _ in range(request["n"]):
        print(request["x"] if random.random() < 0.9 else 1 - request["x"])
    sys.stdout.flush()
"""


def test_a_program_behind_a_pipe_is_audited_resumed_and_confirmed(tmp_path: Path, capsys: Captured) -> None:
    client, first, again = tmp_path / "client.py", tmp_path / "first.json", tmp_path / "again.json"
    client.write_text(CLIENT)
    words = ["--command", f"{sys.executable} {client}"]
    more = ["--inputs=0,1", "--epsilon=1", "--samples=20000", "--resume", str(tmp_path / "state.json")]
    assert audit(*words, *more, "--json", str(first)) == 1
    assert outcome(first)["counted"]["target"] == f"command: {sys.executable} {client}"
    assert audit(*words, *more, "--json", str(again)) == 1
    assert outcome(again) == outcome(first)
    assert audit(*words, "--confirm", str(first), "--seed=1") == 1
    capsys.readouterr()
    assert audit("--confirm", str(first)) == 2
    assert "must be named to be run" in capsys.readouterr().err
    client.write_text(CLIENT + "# edited")
    assert audit(*words, *more) == 2
    assert "source was" in capsys.readouterr().err


@together(
    ("target", "code"),
    [("Client", 1), ("Client.privatize", 1), ("make", 0), ("client", 1), ("Twice.privatize", 1), ("Twice", 2)],
)
def test_a_target_is_in_a_file_and_may_be_a_class_a_factory_or_a_method(
    target: str, code: int, tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "theirs.py").write_text(CLASSES)
    words = ["--inputs=0,1", "--epsilon=1", "--samples=20000", "--confidence=0.999999"]
    assert audit(f"{tmp_path}/theirs.py:{target}", *words) == code
    assert ("encode, privatize: name one, such as Twice.encode" in capsys.readouterr().err) == (code == 2)


def test_fresh_clients_are_audited_confirmed_and_named(tmp_path: Path) -> None:
    """One report has epsilon ln(5/3) = 0.511, two have ln(7/3) = 0.847. A bound of 20,000 samples is wrong with
    probability 1e-6; it lies 5 standard deviations below 0.847 on average, and 0.52 lies 14 below."""
    sure = ("--confidence=0.999999",)
    file = tmp_path / "theirs.py"
    file.write_text(CLASSES)
    """Two reports have an epsilon of ln(7/3): at 10,000 samples its bound is ten deviations above the claim."""
    words = [f"{file}:Memoised", "--fresh", "--reports", "2"]
    found = tmp_path / "found.json"
    assert audit(f"{file}:Memoised", "--fresh", "--inputs=0,1", "--epsilon=0.52", "--samples=20000", *sure) == 0
    assert audit(*words, "--inputs=0,1", "--epsilon=0.52", "--samples=20000", *sure, "--json", str(found)) == 1
    assert outcome(found)["counted"]["target"] == f"2 of a fresh {file}:Memoised"
    assert audit(*words, "--confirm", str(found), "--seed=1") == 1
    method = [f"{file}:Memoised.report", *words[1:]]
    assert audit(*method, "--inputs=0,1", "--epsilon=0.52", "--samples=20000", *sure) == 1
    drawn = [f"{file}:Drawn.report", "--fresh"]
    assert audit(*drawn, "--inputs=0,1", "--epsilon=0.52", "--samples=20000", *sure) == 1


CLASSES = """
import random

class Drawn:
    def __init__(self, rng):
        self.rng = rng

    def report(self, x):
        return x if self.rng.random() < 0.8 else 1 - x

class Client:
    def __init__(self, p=0.9):
        self.p = p

    def privatize(self, x):
        return x if random.random() < self.p else 1 - x

class Twice(Client):
    def encode(self, x):
        return x

class Memoised:
    def __init__(self):
        self.permanent = {}

    def report(self, x):
        answer = self.permanent.setdefault(x, x if random.random() < 0.75 else 1 - x)
        return answer if random.random() < 0.75 else 1 - answer

def make():
    return Client(0.7)

client = Client()
"""


def test_a_budget_of_seconds_bets_and_goes_with_no_confirmation(capsys: Captured, tmp_path: Path) -> None:
    command = ["audit", f"{HERE}:leaky", "--inputs=-1,1", "--epsilon", "1", "--quiet"]
    assert main([*command, "--seconds", "60", "--json", str(tmp_path / "result.json")]) == 1
    assert json.loads((tmp_path / "result.json").read_text())["sequential"]["stopped"] == "violation"
    assert main([*command, "--seconds", "60", "--confirm", str(tmp_path / "result.json")]) == 2
    assert "--seconds does not go with --confirm" in capsys.readouterr().err
