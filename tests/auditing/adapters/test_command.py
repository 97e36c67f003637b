"""Programs in other languages behind a pipe: the protocol, and clients that keep to it badly.

Each audit of a sound client fails once in 1e6 seeds, at most: its confidence is 1 - 1e-6.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldp_audit.auditing import audit
from ldp_audit.auditing.adapters import as_sampler, from_command
from ldp_audit.auditing.adapters.command import MOST
from ldp_audit.auditing.adapters.sampler import ProgramError
from tests.meta.snippets import snippets_of
from tests.together import together

CLIENT = """
import json, random, sys, time
for line in sys.stdin:
    request = json.loads(line)
    x, n = request["x"], request["n"]
    random.seed(request["seed"])
    {answer}
    sys.stdout.flush()
{after}
"""
WARNER = "for _ in range(n): print(x if random.random() < {p} else 1 - x)"
SOUND, BROKEN = WARNER.format(p=0.7310585), WARNER.format(p=0.9)
"""Epsilon 1, and 2.2."""


def client(answer: str, after: str = "") -> list[str]:
    return [sys.executable, "-S", "-c", CLIENT.format(answer=answer, after=after)]


def outputs(answer: str, n: int = 3, x: Any = 1, timeout: float = 20.0) -> list[Any]:
    sampler = from_command(client(answer), timeout=timeout)
    try:
        return sampler(x, n, np.random.default_rng(0))
    finally:
        sampler.close()


def is_running(pid: int) -> bool:
    """A zombie, whose parent has not looked yet, does not run."""
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_for_the_end(pid: int) -> None:
    patience = time.monotonic() + 20
    while is_running(pid):
        assert time.monotonic() < patience, f"process {pid} still runs"
        time.sleep(0.01)


def test_a_sound_client_is_consistent_and_a_broken_one_violated() -> None:
    """At epsilon 2.2 the bound of 5,000 samples lies below 1.5 with probability below 1e-9."""
    for answer, verdict in ((SOUND, "consistent"), (BROKEN, "violated"), ("print(*[x] * n, sep='\\n')", "violated")):
        found = audit(from_command(client(answer)), (0, 1), 1.0, samples=5_000, confidence=1 - 1e-6)
        assert (found.verdict, found.notes) == (verdict, ())


def test_the_seed_decides_and_workers_start_clients_of_their_own() -> None:
    sampler = from_command(client(SOUND))
    one, two = (audit(sampler, (0, 1), 1.0, samples=5_000, workers=workers) for workers in (1, 2))
    assert one.witness == two.witness
    sent = pickle.loads(pickle.dumps(sampler))
    assert sent == sampler
    assert sent(1, 50, np.random.default_rng(3)) == sampler(1, 50, np.random.default_rng(3))


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_client_of_the_documentation_that_is_in_another_language() -> None:
    page = (Path(__file__).parents[3] / "docs" / "auditing.md").read_text(encoding="utf-8")
    (client,) = (snippet.body for snippet in snippets_of(page) if snippet.title == "client.js")
    for p, verdict in (("0.7310585", "consistent"), ("0.9", "violated")):
        sampler = from_command(["node", "-e", client.replace("0.9", p)])
        assert audit(sampler, (0, 1), 1.0, samples=5_000, confidence=1 - 1e-6).verdict == verdict


@pytest.mark.slow
def test_a_shell_command_with_the_input_in_it_is_run_once_for_each_output_and_noted_as_unseeded() -> None:
    """The client prints what it was given: epsilon is infinite, and 25 outputs of each input show it."""
    sampler = from_command("sh -c 'echo $1' sh --value={x}")
    assert sampler("a b; echo {n}", 2, np.random.default_rng(0)) == ["--value=a b; echo {n}"] * 2
    found = audit(sampler, ("a", "b"), 1.0, samples=25)
    assert found.verdict == "violated"
    assert "the seed does not decide" in found.notes[0]


def test_places_for_the_count_and_the_seed_are_filled_and_answered_at_once() -> None:
    code = (
        "import random, sys; x, n, s = sys.argv[1:]; random.seed(s); [print(x, random.random()) for _ in range(int(n))]"
    )
    sampler = from_command([sys.executable, "-S", "-c", code, "{x}", "{n}", "{seed}"])
    first, again, other = (sampler([1, 2], 3, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert first == again != other
    assert len(first) == 3
    assert first[0].startswith("[1, 2] 0.")
    assert sampler.repeatable


def test_a_line_is_json_or_a_number_or_text() -> None:
    printed = ["1", "0.5", ".25", "inf", "yes", "", '"1"', "null", "[1, 2]", '{"a": 1}', "7" * 60]
    found = outputs(f"print(*{printed!r}, sep='\\n')", len(printed))
    assert found[:8] == [1, 0.5, 0.25, float("inf"), "yes", "", "1", None]
    assert found[8].tolist() == [1, 2]
    assert found[9:] == [{"a": 1}, int("7" * 60)]


@together(
    "spelled",
    [
        ("1", "1 "),
        ("1", "1.0"),
        ("1", "true"),
        ("0.5", "0.50"),
        ("0.0", "-0.0"),
        ("9007199254740992", "9007199254740992.0"),
        ("a", '"a"'),
        ("a", "a\r"),
        ("7", "7\r"),
        ("[1, 2]", "[1,2]"),
        ("[1, 2]", "[1.0, 2]"),
        ("[0.0, 0.5]", "[-0.0, 0.5]"),
        ('["a", [1]]', '["a", [1.0]]'),
        ('{"a": 1}', '{"a": 1.0}'),
        ('{"a": 2}', '{"a": 1, "a": 2}'),
    ],
)
def test_a_value_that_is_printed_in_two_ways_is_refused(spelled: tuple[str, str]) -> None:
    """Would catch a client whose spelling is its input, and which is called consistent."""
    with pytest.raises(ProgramError, match=r"it printed one value as .* print each value in one way"):
        audit(from_command(client(f"print(*[{spelled!r}[x]] * n, sep='\\n')")), (0, 1), 1.0, samples=500)


def test_values_that_are_printed_in_one_way_each_are_taken() -> None:
    """Would catch a refusal of numbers in the shortest of their forms, as most languages print them."""
    printed = ["1", "0.5", "1e-07", "0.1", "9007199254740992", "9007199254740993", "1.5e300", "a", "A", "[1, 0.5]"]
    printed += ["[0.5, 1]", "[[1, 0.5]]", '{"a": 1, "b": 0.5}', '{"b": 0.5, "a": 1}', '{"a": [1]}', "null", ""]
    assert len(outputs(f"print(*{printed * 2!r}, sep='\\n')", 2 * len(printed))) == 2 * len(printed)


def test_lines_that_all_end_as_on_windows_are_read_without_their_ends() -> None:
    """The last line of a client that joins its lines has no end."""
    assert outputs("print('1\\r\\n0.5\\r\\na\\r\\n1\\r')", 4) == [1, 0.5, "a", 1]
    code = "import sys; sys.stdout.write('\\r\\n'.join(['7'] * int(sys.argv[2])))"
    assert from_command([sys.executable, "-S", "-c", code, "{x}", "{n}"])(0, 3, np.random.default_rng(0)) == [7] * 3


def test_bytes_that_are_not_utf_8_are_labels_of_their_own() -> None:
    """Would catch a client that sends the byte 0xff on one input, its escape as text on the other, and passes.

    Epsilon is infinite; a result with such a label can be printed, and is JSON.
    """
    answer = "[sys.stdout.buffer.write([b'\\xff\\n', b'\\\\xff\\n'][x]) for _ in range(n)]"
    found = audit(from_command(client(answer)), (0, 1), 1.0, samples=500)
    assert found.verdict == "violated"
    assert found.describe().encode()
    assert json.dumps(found.to_dict()).encode()


def test_inputs_arrive_as_json_has_them() -> None:
    inputs = [1.5, "a", None, True, (1, 2), np.arange(3), np.float32(0.5), {"b", "a"}, {"k": [1]}]
    seen = [outputs("print(json.dumps(json.dumps(x)))", 1, x)[0] for x in inputs]
    assert seen == ["1.5", '"a"', "null", "true", "[1, 2]", "[0, 1, 2]", "0.5", '["a", "b"]', '{"k": [1]}']


def test_many_outputs_are_asked_for_in_several_requests_of_one_process() -> None:
    found = outputs("import os; print(*[os.getpid() * 10**6 + n] * n, sep='\\n')", MOST + 2)
    assert {y % 10**6 for y in found} == {MOST, 2}
    assert len({y // 10**6 for y in found}) == 1


def test_a_megabyte_of_errors_and_of_input_blocks_nothing() -> None:
    assert outputs("sys.stderr.write('e' * 10**6); print(len(x))", 1, "x" * 10**6) == [10**6]


@together(
    ("answer", "complaint"),
    [
        ("pass", "it printed 0 of 3 lines within 0.5 s (does it flush its output after each answer?)"),
        ("print(1); sys.stdout.flush(); time.sleep(100)", "it printed 1 of 3 lines within 0.5 s"),
        ("while True: sys.stderr.write('e')", "it printed 0 of 3 lines within 0.5 s"),
        ("print(1, 2, sep='\\n'); sys.exit(7)", "it printed 2 of 3 lines and ended, with exit code 7"),
        ("raise KeyError('boom')", "its errors: Traceback (most recent call last): File"),
        ("sys.stdout.write('y\\n' * 9)", "it printed more than 3 lines"),
        ("sys.stdout.write('1\\n2\\n3\\n4')", "it printed 4 of 3 lines"),
        ("while True: sys.stdout.write('y' * 99), time.sleep(0.01)", "it printed 0 of 3 lines within 0.5 s"),
        ("import os; os.close(1); time.sleep(100)", "it closed its output, and did not end"),
    ],
)
def test_a_client_that_does_not_answer_is_one_error_that_shows_what_it_did(answer: str, complaint: str) -> None:
    with pytest.raises(ProgramError) as caught:
        outputs(answer, timeout=0.5)
    assert complaint in str(caught.value)
    assert '; it was asked {"x": 1, "n": 3, "seed": ' in str(caught.value)
    assert len(str(caught.value)) < 1500


def test_what_is_printed_unasked_is_no_answer_to_the_next_request() -> None:
    sampler = from_command(client("print(1); sys.stdout.flush(); time.sleep(0.1); print(2)"))
    assert sampler(1, 1, np.random.default_rng(0)) == [1]
    time.sleep(0.5)
    with pytest.raises(
        ProgramError, match=r"printed before it was asked, or more than it had been asked for.*it printed '2"
    ):
        sampler(1, 1, np.random.default_rng(0))


def test_an_interruption_leaves_no_half_of_an_answer_behind() -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    sampler = from_command(client("time.sleep(1); print(x)"))
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            sampler(1, 1, np.random.default_rng(0))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert sampler(2, 1, np.random.default_rng(0)) == [2]


@pytest.mark.filterwarnings("ignore:This process")  # is multi-threaded, says Python 3.12 of forks
def test_a_fork_has_a_client_of_its_own_and_does_not_end_its_parents() -> None:
    sampler = from_command(client("import os; print(os.getpid())"))
    (pid,) = sampler(0, 1, np.random.default_rng(0))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            (other,) = sampler(0, 1, np.random.default_rng(0))
            sampler.close()
            code = int(other == pid)
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sampler(0, 1, np.random.default_rng(0)) == [pid]


def test_nan_is_a_value() -> None:
    sampler = from_command(client("print(*['NaN' if x else '0.5'] * n, sep='\\n')"))
    assert audit(sampler, (0, 1), 1.0, samples=500).epsilon_lower > 1


@together(
    ("command", "complaint"),
    [
        ("no-such-program {x}", "command 'no-such-program' is no program"),
        ("cat 'x", "command must be a program and its arguments, got .*: No closing quotation"),
        ("", "command must be a program and its arguments"),
        ([], "command must be a program and its arguments"),
        (["sh", 1], "command must be a program and its arguments"),
        ("sh --seed {seed}", r"command must have \{x\} where it has \{n\} or \{seed\}, got sh --seed"),
    ],
)
def test_what_is_no_command_is_refused(command: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        as_sampler(command=command)


def test_a_command_and_a_target_exclude_each_other_and_timeouts_are_checked() -> None:
    with pytest.raises(ValueError, match="target, command, url and fresh exclude each other, got command and target"):
        as_sampler(len, command="cat")
    for timeout in (0, -1, True, float("nan"), "1"):
        with pytest.raises(ValueError, match="timeout must be a number of seconds above 0"):
            as_sampler(command="cat", timeout=timeout)


def test_what_json_lacks_is_refused_as_an_input() -> None:
    for x in (float("inf"), object()):
        with pytest.raises(ProgramError, match="the input cannot be sent as JSON"):
            from_command("cat")(x, 1, np.random.default_rng(0))


STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(100)"
"""Ignores the end of its input, and the polite request to end."""


def test_a_client_ends_with_its_sampler_even_one_that_ignores_the_end_of_its_input() -> None:
    for after in ("", STUBBORN):
        sampler = from_command(client("import os; print(os.getpid())", after))
        (pid,) = sampler(0, 1, np.random.default_rng(0))
        assert is_running(pid)
        sampler.close()
        assert not is_running(pid)
        (pid,) = sampler(0, 1, np.random.default_rng(0))
        del sampler
        wait_for_the_end(pid)


def test_a_client_ends_when_the_process_that_feeds_it_is_killed() -> None:
    code = (
        "import json, sys, time, numpy; from ldp_audit.auditing.adapters import from_command\n"
        "sampler = from_command(json.loads(sys.argv[1]))\n"
        "print(*sampler(0, 1, numpy.random.default_rng(0)), flush=True); time.sleep(100)"
    )
    words = json.dumps(client("import os; print(os.getpid())", STUBBORN))
    with subprocess.Popen([sys.executable, "-c", code, words], stdout=subprocess.PIPE, text=True) as feeding:
        assert feeding.stdout is not None
        pid = int(feeding.stdout.readline())
        assert is_running(pid)
        os.kill(feeding.pid, signal.SIGKILL)
    wait_for_the_end(pid)
