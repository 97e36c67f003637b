"""Forty wrong inputs of the command line and of Python: one line that names the argument, the value, and what is taken.

Each row has the words that the line must have, in that order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ldp_audit import audit, choose, fit, implementation, plan, search
from ldp_audit.accounting import compose, shuffle, subsample
from ldp_audit.auditing import assert_private, audit_guesses, audit_scores
from ldp_audit.cli import main
from ldp_audit.mechanisms import Gaussian, Laplace, RandomizedResponse, UnaryEncoding
from tests.together import together

HERE = "tests/test_wrong_inputs.py"


def coin(x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 2, n)


COMMANDS = [
    (["chek"], ["there is no command 'chek'", "did you mean check"]),
    (["audits", "x"], ["there is no command 'audits'", "did you mean audit"]),
    (["zzz"], ["there is no command 'zzz'", "accepted: check, recheck, exact"]),
    (["audit", "Laplace(1.0)", "--epsilom", "1"], ["no option --epsilom", "did you mean --epsilon?"]),
    (["audit", "Laplace(1.0)", "--zzzzz"], ["no option --zzzzz", "--help lists them"]),
    (["audit", "Laplace(1.0)", "again"], ["'again' is one argument too many", "--help"]),
    (["audit", "Laplace(1.0)", "--epsilon", "one"], ["--epsilon must be a number", "got 'one'"]),
    (["audit", "Laplace(1.0)", "--samples", "many"], ["--samples must be a whole number such as", "got 'many'"]),
    (["audit", "Laplace(1.0)", "--workers", "two"], ["--workers must be a whole number", "got 'two'"]),
    (["audit", "Laplce(1.0)"], ["target 'Laplce(1.0)' names no shipped mechanism", "did you mean Laplace?"]),
    (["audit", "Laplace"], ["target 'Laplace' must have its parameters: Laplace(scale=...)"]),
    (["audit", "laplace", "--inputs=0,1"], ["target 'laplace' is none of", "did you mean Laplace"]),
    (["exact", "UnaryEncoding"], ["must have its parameters: UnaryEncoding(epsilon=..., k=...)"]),
    (["audit", f"{HERE}:coyn", "--inputs=0,1"], ["has no coyn", "did you mean coin?", "it has coin, "]),
    (["audit", "tests/test_wrong_inputs:coin", "--inputs=0,1"], ["a file's name ends in .py, such as", f"{HERE}:coin"]),
    (
        ["audit", f"{HERE}:coin", '--inputs=["a"],["b"]'],
        ['--inputs must be numbers, labels, or a JSON list, written \'[["a"],["b"]]\'', 'got \'["a"],["b"]\''],
    ),
    (["audit", f"{HERE}:coin", "--inputs=[1,"], ["written '[[0, 1], [1, 0]]'", "got '[1,'"]),
    (["check", "--paper", "exampel"], ["unknown paper 'exampel'", "did you mean example?"]),
    (["check", "--paper", "example", "--only", "XX"], ["unknown claim XX", "nearest of 14: EX-"]),
    (["check", "--fail-on", "refute"], ["--fail-on must be one of refuted, undecided", "got 'refute'"]),
    (["account", "example-sampl"], ["'example-sampl' is neither a file nor a shipped", "did you mean example-sample"]),
    (["train", "ldpfl"], ["pipeline must be one of ldp-fl", "got 'ldpfl'", "did you mean ldp-fl?"]),
    (
        ["train", "tests.training.toy:Toy", "--set", "epsilom=1"],
        ["field must be one of epsilon", "did you mean epsilon?"],
    ),
    (["train", "tests.training.toy:Toy", "--preset", "shrt"], ["preset must be one of short", "did you mean short?"]),
    (["train", "tests.training.toy:Toy", "--data", "digit"], ["data must be one of", "got 'digit'", "mean digits?"]),
]

CALLS: list[tuple[Callable[[], Any], list[str]]] = [
    (lambda: audit(coin, (0,), 1.0), ["inputs must be two or more", "got (0,)"]),
    (lambda: audit(coin, (0, 1), -1.0), ["claimed_epsilon must be a number >= 0", "got -1.0"]),
    (lambda: audit(coin, (0, 1), 1.0, 1.5), ["claimed_delta must be in [0, 1)", "got 1.5"]),
    (lambda: audit(coin, (0, 1), 1.0, samples=2), ["samples must be a whole number >= 10", "got 2"]),
    (lambda: audit(coin, (0, 1), 1.0, confidence=95), ["confidence must be in [0.5, 1)", "got 95"]),
    (lambda: audit(coin, "ab", 1.0), ["inputs must be two or more", "got 'ab'"]),
    (lambda: audit(3, (0, 1), 1.0), ["sampler must be something to draw from", "got 3", "accepted: a sampler"]),
    (lambda: fit(coin, Laplace(1.0), []), ["inputs must be one or more", "got []"]),
    (lambda: assert_private(coin, math.inf, (0, 1)), ["epsilon must be", "got inf"]),
    (lambda: assert_private(coin, 1.0, (0, 1), detects=0.5), ["detects must be", "got 0.5"]),
    (lambda: plan(1.0, violation=0.5), ["violation must be", "got 0.5"]),
    (lambda: search(1.0, 0.0), ["low and high must be finite numbers with low < high", "got 1.0, 0.0"]),
    (lambda: audit_scores([], [1.0], 1.0), ["members must", "got"]),
    (lambda: audit_guesses(5, 3, claimed_epsilon=1.0), ["guesses must be a whole number >= 5", "got 3"]),
    (lambda: implementation(coin, (0, 1), bits=99), ["bits must be", "got 99"]),
    (lambda: choose(users=0, answers=3, epsilon=1.0), ["users must be a whole number >= 1", "got 0"]),
    (lambda: RandomizedResponse(-1.0), ["epsilon must be a number >= 0", "got -1.0"]),
    (lambda: UnaryEncoding(1.0, k=1), ["k must be a whole number", "got 1"]),
    (lambda: Gaussian(sigma=0.0), ["sigma must be", "got 0"]),
    (lambda: compose([Gaussian(sigma=1.0)]), ["items must", "got"]),
    (lambda: shuffle(RandomizedResponse(1.0), n=0), ["n must be a whole number", "got 0"]),
    (lambda: subsample(Gaussian(sigma=1.0), rate=2.0), ["takes rate in [0, 1]", "got rate=2.0"]),
    (lambda: Laplace(scale=-1.0), ["scale must be", "got -1.0"]),
]


@pytest.mark.usefixtures("example_installed")
@together(("arguments", "words"), COMMANDS)
def test_a_command_says_in_one_line_what_is_wrong(
    arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code: Any = main(arguments)
    except SystemExit as stopped:  # of words that the parser refuses
        code = stopped.code
    said = capsys.readouterr().err
    assert code == 2
    assert said.startswith("ldp-audit")
    assert said.count("\n") == 1
    in_order(words, said)


@together(("call", "words"), CALLS)
def test_a_call_says_in_one_line_what_is_wrong(call: Callable[[], Any], words: list[str]) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011  (the words are looked for below)
        call()
    assert "\n" not in str(refused.value)
    in_order(words, str(refused.value))


def test_there_are_forty_of_them() -> None:
    assert len(COMMANDS) + len(CALLS) >= 40


def test_the_command_alone_shows_its_help_and_is_no_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "bound a sampler's epsilon from below" in " ".join(capsys.readouterr().out.split())


@together("name", ["audit", "check", "report", "train"])
def test_options_stand_in_groups(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([name, "--help"])
    said = capsys.readouterr().out
    in_order(["\nwhat is ", "\noutput:\n", "\nwith every command:\n", "exit codes: "], said)


def in_order(words: list[str], text: str) -> None:
    place = 0
    for word in words:
        found = text.find(word, place)
        assert found >= 0, f"{word!r} is not in, or not in its place in: {text}"
        place = found + len(word)
