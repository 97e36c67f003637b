"""What the commands show on a terminal: colours, and no line wider than it; in a pipe the plain text."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from ldp_audit.auditing.result import CONSISTENT, INCONCLUSIVE, VIOLATED
from ldp_audit.claims.verdict import Verdict
from ldp_audit.cli import main
from ldp_audit.cli.console import COLOURS, say, say_table
from ldp_audit.implementations.implementation_result import HOLDS, NOT_REFUTED
from tests.together import together

Captured = pytest.CaptureFixture[str]

CLAIMS = """
from ldp_audit.claims import Claim, at_most
from ldp_audit.mechanisms import Variable
x = Variable("x", 0, 1)
says = "a number between 0 and 1 is at most 1, which takes more words here than any line of eighty columns has"
first = Claim("T-1", "here", says, parts=[at_most(x, 1)])
second = Claim("T-2", "here", "x is 0", parts=[at_most(x, 0)])
third = Claim("T-3", name="a name", place="here", says=says, parts=[at_most(x, 2)])
fourth = Claim("T-4", "here", "[bold]x[/bold] is :smile:", argument="words")
"""
WIDE = [
    "account example-sample",
    "train ldp-fl --list",
]
RED, GREEN, END = "\x1b[31m", "\x1b[32m", "\x1b[0m"


def on_terminal(*words: str) -> str:
    """All that a terminal of 80 columns is sent."""
    ours, its = pty.openpty()
    termios.tcsetwinsize(its, (24, 80))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    command, environment = [sys.executable, "-m", "ldp_audit.cli", *words], {**kept, "TERM": "xterm-256color"}
    with subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment):
        os.close(its)
        shown = b""
        with contextlib.suppress(OSError):  # which is how Linux says that nobody holds the other end any more
            while part := os.read(ours, 4096):
                shown += part
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def lines(shown: str) -> list[str]:
    """What a reader sees, without colours; a line of progress that is written over is a line."""
    return re.split(r"[\r\n]", re.sub(r"\x1b\[[\d;]*m", "", shown))


@pytest.fixture
def module(tmp_path: Path) -> str:
    path = tmp_path / "mine.py"
    path.write_text(CLAIMS, encoding="utf-8")
    return str(path)


def terminal(monkeypatch: pytest.MonkeyPatch, **environment: str) -> None:
    """The captured streams say that they are terminals, of 80 columns unless the environment says otherwise."""
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", "COLUMNS": "80", **environment}.items():
        monkeypatch.setenv(name, value)
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)


def test_verdicts_are_coloured_on_a_terminal_and_its_width_is_kept(module: str) -> None:
    shown = on_terminal("check", "--claims", module)
    assert f"{GREEN}PROVED{END}" in shown
    assert f"{RED}REFUTED{END}" in shown
    assert "PROSE        " in shown
    assert re.search(r"T-3 .* s  a name$", shown, re.MULTILINE), "a claim's name is short enough"
    assert "[bold]x[/bold] is :smile:" in shown
    assert max(map(len, lines(shown))) == 80, "the long title takes the rest of the line"


def wrapped_at_words(text: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """A command's lines fit into a terminal, and say what they say in a pipe."""
    assert main([*text.split(), "--quiet"]) == 0
    piped, seconds = capsys.readouterr().out, re.compile(r"\d+\.\d+ s$")
    with monkeypatch.context() as patch:
        terminal(patch)
        assert main([*text.split(), "--quiet"]) == 0
    shown = lines(capsys.readouterr().out)
    assert 70 < max(map(len, shown)) <= 80
    assert seconds.sub("", " ".join(shown).strip()).split() == seconds.sub("", piped.strip()).split()


@pytest.mark.usefixtures("example_installed")
@together("text", WIDE)
def test_long_lines_are_wrapped_at_words(text: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    wrapped_at_words(text, monkeypatch, capsys)


def test_nothing_is_coloured_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    for asked, shown in (
        ({}, f"{RED}REFUTED{END}\n"),
        ({"TERM": "dumb"}, "REFUTED\n"),
        ({"NO_COLOR": "1"}, "REFUTED\n"),
    ):
        terminal(monkeypatch, **asked)
        say("REFUTED")
        assert capsys.readouterr().out == shown


def test_a_pipe_has_plain_text_whatever_the_environment(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    for name, value in {"FORCE_COLOR": "1", "COLUMNS": "40"}.items():
        monkeypatch.setenv(name, value)
    assert main(["check", "--claims", module]) == 0
    piped = capsys.readouterr()
    assert "\x1b" not in piped.out + piped.err
    assert "a number between 0 and 1 is at most 1, which takes more words here than a..." in piped.out


def test_json_on_a_terminal_has_no_colours(module: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    terminal(monkeypatch)
    assert main(["check", "--claims", module, "--json", "-"]) == 0
    report, said = capsys.readouterr()
    assert [claim["verdict"] for claim in json.loads(report)["claims"]] == ["PROVED", "REFUTED", "PROVED", "PROSE"]
    assert f"{RED}REFUTED{END}" in said


def test_every_verdict_has_its_colour_or_is_known_to_have_none() -> None:
    """Catches a new verdict, or a renamed one, that nobody has thought about; "consistent" is no proof."""
    coloured = {str(word) for words in COLOURS.values() for word in words}
    known = {*map(str, Verdict), VIOLATED, CONSISTENT, INCONCLUSIVE, HOLDS, NOT_REFUTED}
    assert known - coloured == {"PROSE", "NUMERIC", CONSISTENT, NOT_REFUTED}
    assert coloured - known == {"REFUSED", "DIFFERS", "ERROR", "problem"}


def test_a_wide_table_keeps_its_numbers_whole(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    terminal(monkeypatch)
    rows = [["who looks", "a heading of many words", "verdict"], ["one who sees all of it", "0.12345678", "violated"]]
    say_table(rows)
    assert capsys.readouterr().out.endswith(f"one who sees all of it               0.12345678  {RED}violated{END}\n")
    terminal(monkeypatch, COLUMNS="40")
    say_table(rows)
    shown = capsys.readouterr().out
    assert f"0.12345678  {RED}violated{END}" in shown
    assert max(map(len, lines(shown))) <= 40
