"""Every command on bad input: one line that says what is wrong, and exit code 2."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from ldp_audit.cli import main
from tests.test_cli_audit import HERE, MANY_CALLS
from tests.test_cli_implementation import CLAIM
from tests.test_cli_implementation import HERE as PROGRAMS
from tests.test_cli_train import QUICK, TOY
from tests.together import together


@pytest.mark.usefixtures("example_installed")
@together(
    ("arguments", "message"),
    [
        (["account"], "a protocol file or name is missing; --list shows the shipped ones"),
        (["account", "no-such"], "'no-such' is neither a file nor a shipped protocol; shipped: .*example-sample"),
        (["account", "no-such.toml"], "cannot open no-such.toml"),
        (["account", "example-sample", "--delta", "2"], "--delta must be in (0, 1), got 2.0"),
        (["account", "example-sample", "--delta", "nan"], "delta must be in (0, 1), got nan"),
        (["audit"], "audit needs a TARGET"),
        (["audit", "leaky", "--inputs=-1,1"], "target 'leaky' is none of"),
        (["audit", "tests.nowhere:leaky", "--inputs=-1,1"], "ModuleNotFoundError"),
        (["audit", f"{HERE}:leaky"], "--inputs is needed"),
        (["audit", f"{HERE}:leaky", "--inputs=1"], "--inputs must be two or more"),
        (
            ["audit", f"{HERE}:leaky", *MANY_CALLS, "--epsilon=-1"],
            "--epsilon must be a number >= 0, or None, got -1.0",
        ),
        (["audit", f"{HERE}:leaky", *MANY_CALLS, "--delta=2"], "--delta must be in [0, 1), got 2.0"),
        (["audit", f"{HERE}:leaky", *MANY_CALLS, "--confidence=1"], "--confidence must be in [0.5, 1), got 1.0"),
        (["audit", f"{HERE}:leaky", *MANY_CALLS, "--workers=0"], "--workers must be a whole number >= 1, got 0"),
        (
            ["audit", f"{HERE}:leaky", *MANY_CALLS, "--resume", "no/such/folder/s.json"],
            "cannot write no/such/folder/s.json",
        ),
        (["audit", "--confirm", "none.json"], "cannot open none.json"),
        (["audit", "--merge", "none.json"], "cannot open none.json"),
        (["audit", f"{HERE}:leaky", "--command", "cat", *MANY_CALLS], "one of TARGET, --command and --url"),
        (["audit", "--command", "cat"], "--inputs is needed: a program does not say"),
        (["audit", "--command", "no-such-program {x}", *MANY_CALLS], "command 'no-such-program' is no program"),
        (["audit", "--command", "cat", "--timeout=0", *MANY_CALLS], "--timeout must be a number of seconds above 0"),
        (["audit", "--command", "false", *MANY_CALLS], "false: it printed 0 of 1 lines and ended, with exit code 1"),
        (["audit", "--url", "http://example.com/", *MANY_CALLS], "--url must be on this machine"),
        (["audit", "--url", "http://127.0.0.1:9/", *MANY_CALLS], "refused"),
        (["audit", f"{HERE}:leaky", "--allow-remote", *MANY_CALLS], "--allow-remote is about --url"),
        (["audit", f"{PROGRAMS}:honest", "--fresh", *CLAIM, "--implementation"], "does not go with --fresh"),
        (["audit", "--command", "cat", *CLAIM, "--implementation"], "--implementation does not go with --command"),
        (["audit", "no/such/file.py:leaky", *MANY_CALLS], "ModuleNotFoundError: no such file: no/such/file.py"),
        (["audit", f"{HERE}:leaky", "--reports", "2", *MANY_CALLS], "--reports is about --fresh"),
        (["audit", "--command", "cat", "--fresh", *MANY_CALLS], "--fresh is about a TARGET"),
        (["audit", f"{HERE}:leaky", "--fresh", *MANY_CALLS], "fresh must be a class or function .* needs (x, n, rng)"),
        (["audit", "--implementation"], "audit needs a TARGET"),
        (["audit", f"{PROGRAMS}:honest", "--implementation"], "--inputs is needed"),
        (
            ["audit", f"{PROGRAMS}:honest", *CLAIM, "--implementation", "--sequential"],
            "--implementation does not go with --sequential",
        ),
        (["audit", f"{PROGRAMS}:honest", *CLAIM, "--implementation", "--workers", "2"], "does not go with --workers"),
        (
            ["audit", f"{PROGRAMS}:honest", *CLAIM, "--implementation", "--resume", "s.json"],
            "does not go with --resume",
        ),
        (
            ["audit", f"{PROGRAMS}:honest", *CLAIM, "--implementation", "--floating-point"],
            "does not go with --floating-point",
        ),
        (
            ["audit", f"{PROGRAMS}:honest", *CLAIM, "--implementation", "--confidence=0.9"],
            "does not go with --confidence",
        ),
        (["audit", "--implementation", "--confirm", "a.json"], "does not go with --confirm"),
        (["audit", "--implementation", "--merge", "a.json"], "does not go with --merge"),
        (["audit", f"{PROGRAMS}:honest", *CLAIM, "--bits", "8"], "--bits and --monotone are about --implementation"),
        (["audit", f"{PROGRAMS}:honest", *CLAIM, "--monotone"], "--bits and --monotone are about --implementation"),
        (
            ["audit", f"{PROGRAMS}:honest", *CLAIM, "--implementation", "--bits", "0"],
            "--bits must be a whole number in 1 .. 64",
        ),
        (["audit", f"{PROGRAMS}:honest", "--inputs=-1", "--implementation"], "--inputs must be two or more"),
        (["audit", f"{PROGRAMS}:fails", *CLAIM, "--implementation", "--quiet"], "ArithmeticError: boom"),
        (
            ["audit", "TwoPoint(epsilon=0)", "--implementation"],
            "target 'TwoPoint(epsilon=0)': epsilon must be",
        ),
        (["audit", "nothing", *CLAIM, "--implementation"], "target 'nothing' is none of"),
        (
            ["audit", f"{HERE}:leaky", "--inputs", "-1,1", "--samples=3"],
            "--samples must be a whole number >= 10",
        ),
        (
            ["audit", f"{HERE}:leaky", "--search", "-1,-2"],
            "--search: low and high must be finite numbers",
        ),
        (["train", "nothing"], "pipeline must be one of ldp-fl, fedsel, fedmd-nfdp, or module:Class, got 'nothing'"),
        (["train", "no.such:Plan"], "pipeline 'no.such:Plan' cannot be loaded: ModuleNotFoundError"),
        (
            ["train", "tests.training.toy:points"],
            "must be a dataclass of settings with a method start, got <function points",
        ),
        (["train", TOY, "--set", "size=3"], "field must be one of epsilon, rounds, kind, .* got 'size'"),
        (["train", TOY, "--set", "rounds=many"], "--set rounds must be a whole number, got 'many'"),
        (["train", TOY, "--set", "epsilon=-1"], "--set epsilon must be > 0, got -1"),
        (["train", TOY, "--set", "rounds=1", "--set", "rounds=2"], "--set must name 'rounds' once, got it 2 times"),
        (
            ["train", TOY, "--set", "rounds=1", "--sweep", "rounds=1,2"],
            "field 'rounds' must be either set or swept, got both",
        ),
        (["train", TOY, "--preset", "long"], "preset must be one of short, two, got 'long'"),
        (["train", TOY, "--repeats", "0"], "repeats must be a whole number >= 1, got 0"),
        (["train", TOY, "--data", "nothing"], "data must be one of .* got 'nothing'"),
        (["train", TOY, "--data-option", "size=3"], "data 'tests.training.toy:points' has no such option"),
        (["train", TOY, "--device", "tpu"], "device must be auto, cpu, cuda, .* got 'tpu'"),
        (["train", TOY, "--device", "cuda:99"], "device 'cuda:99' is not there"),
        (["train", TOY, "--threads", "0"], "threads must be a whole number >= 1, got 0"),
        (["train", TOY, "--workers", "0"], "--workers must be a whole number >= 1, got 0"),
        (["train", TOY, "--workers", "2", "--scheduler", "tcp://x:1"], "workers must not be given with a scheduler"),
        (["train", TOY, "--seed", "-1"], "seed must be a whole number >= 0, got -1"),
        (["train", TOY, "--resume"], "--resume needs --out, the folder to go on with"),
        (["train", TOY, "--set", "fails=refuses", "--workers", "1"], "the data do not fit"),
        (["train", TOY, *QUICK, "--repeats", "1000000000"], "sweeps must ask for at most 100000 runs, got 3000000000"),
        (
            ["train", TOY, *QUICK, "--sweep", "epsilon=" + ",".join(map(str, range(1, 400))), "--repeats", "1000"],
            "at most 100000 runs",
        ),
        (
            ["train", TOY, *QUICK, "--data-option", "n=40", "--data-option", "n=50"],
            "--data-option must name 'n' once, got it 2 times",
        ),
        (
            ["train", TOY, *QUICK, "--data", "tests.fuzz.test_whole_files:nothing"],
            "must give Images or a Table, got None",
        ),
        (
            ["train", TOY, *QUICK, "--data", "tests.fuzz.test_whole_files:nothing", "--folder", "."],
            "does not go with these options",
        ),
        (["train", TOY, *QUICK, "--sweep", "rounds=1,"], "--sweep rounds must be a whole number, got ''"),
        (["train", TOY, *QUICK, "--sweep", "rounds=1,1"], "must have each value once"),
        (["train", TOY, *QUICK, "--set", "rounds=1e400"], "rounds must be a whole number"),
        (["check", "--paper", "nobody"], "unknown paper 'nobody'; known: .*example, all"),
        (["check", "--claims", "no_such_module_anywhere"], "cannot be imported"),
        (["check", "--claims", "no/such/file.py"], "no such file"),
        (["check", "--paper", "example", "--only", "EX-NONE"], "unknown claim EX-NONE; nearest of 14: EX-"),
        (["recheck", "no_such_report.json"], "cannot open no_such_report.json: No such file"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a message ".*" stands for anything."""
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert re.match(f"ldp-audit {arguments[0]}: .*{'.*'.join(map(re.escape, message.split('.*')))}", said), said
    assert said.count("\n") == 1
    assert "unexpected" not in said or "unexpected keyword" in said


WITHOUT = """
import contextlib, io, json, sys
class Absent:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("torch", "distributed", "z3"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
from ldp_audit.cli import main
outcomes = []
for arguments in json.loads(sys.argv[1]):
    with contextlib.redirect_stderr(io.StringIO()) as said:
        outcomes.append((main(arguments), said.getvalue()))
print(json.dumps(outcomes))
"""
MISSING = [
    (["train", "ldp-fl"], "train: this needs torch, which is not installed: pip install '.[training]', in a clone"),
    (
        ["audit", f"{HERE}:leaky", *MANY_CALLS, "--scheduler", "tcp://127.0.0.1:9", "--quiet"],
        "audit: scheduler needs dask.distributed: pip install '.[dask]', in a clone",
    ),
    (
        ["check", "--claims", "tests.example_paper"],
        "check: this needs z3, which is not installed: pip install ., in a clone",
    ),
]


def test_a_missing_extra_is_one_line_that_says_what_to_install() -> None:
    asked = json.dumps([arguments for arguments, _ in MISSING])
    done = subprocess.run([sys.executable, "-c", WITHOUT, asked], capture_output=True, text=True, check=True)
    outcomes = json.loads(done.stdout.splitlines()[-1])
    for (code, said), (_, message) in zip(outcomes, MISSING, strict=True):
        assert code == 2
        assert said.startswith(f"ldp-audit {message}"), said
        assert said.count("\n") == 1
