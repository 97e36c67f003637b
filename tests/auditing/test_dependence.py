"""Programs whose outputs depend on each other are not accused on the strength of their number; the others are."""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib
import importlib.metadata
import json
import math
import os
import random
import secrets
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldp_audit.auditing import assert_private, audit
from ldp_audit.auditing.adapters import as_sampler
from ldp_audit.auditing.assertions import NoPowerError, PrivacyViolation
from ldp_audit.auditing.bounds import Counts
from ldp_audit.auditing.dependent_outputs import dependence_of_outputs, telling
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.fresh import Fresh
from ldp_audit.auditing.program import Program
from ldp_audit.auditing.result import Witness
from tests.auditing import worker_samplers
from tests.auditing.worker_samplers import (
    OfTwoSources,
    OneAnswer,
    Rappor,
    WithAnAnswer,
    apart,
    closure,
    keeper,
    of_a_module,
    of_a_record,
    one_draw,
    one_seed,
    own_entropy,
    shifted,
    too_little_noise,
    used_again,
)
from tests.together import Length, together

SECURE = random.SystemRandom()


@together("seed", range(4))
def test_noise_that_is_shared_within_a_call_gives_no_bound_above_the_truth(seed: int) -> None:
    """The true epsilon is 1 for each output alone."""
    for sampler in (one_draw, used_again):
        result = audit(sampler, (0.0, 1.0), 1.0, samples=20_000, seed=seed)
        assert not result.violated
        assert result.epsilon_lower <= 1


def test_a_broken_program_of_independent_calls_is_still_accused() -> None:
    assert audit(one_seed, (0.0, 1.0), 1.0, samples=2_000).violated


def test_without_a_claim_calls_are_compared_too() -> None:
    for seed in range(4):
        assert audit(one_draw, (0.0, 1.0), samples=20_000, seed=seed).epsilon_lower <= 1


def test_what_is_said_is_what_was_seen() -> None:
    witness = Witness((0.0, 1.0), Event(((0.5, math.inf),)), Counts(3_000, 10_000, 7_000, 10_000))
    said, _, drawn = dependence_of_outputs(witness, Program(one_draw), Fresh(one_draw), epsilon=1.0)
    assert said is not None
    assert said.startswith("outputs of one call depend on each other: 93.9 of 313 on input 0.0 should be in the event")
    assert drawn == 2 * 16 * 313


def test_a_small_part_that_a_call_shares_is_no_violation() -> None:
    """Calls as large as a test's show it; it would have accused of a claim of 0.05 nearly every second time."""
    assert not any(audit(shifted, (0, 1), 0.05, samples=200_000, seed=seed).violated for seed in range(6))


def test_a_part_that_a_call_shares_is_no_violation_to_bets_either() -> None:
    """Of these seeds, six were accused with 16 calls of the size of a test's."""
    found = [audit(apart, (0, 1), 1.0, samples=20_000, seed=seed, sequential=True) for seed in (1, 2, 7, 10, 15, 21)]
    assert {one.verdict for one in found} <= {"consistent", "inconclusive"}


@pytest.mark.parametrize(
    ("make", "sequential"),
    [(Rappor, False), (closure, True), (of_a_module, False), (keeper, False)],
    ids=["object", "closure, sequentially", "module", "module, from the generator"],
)
def test_a_client_that_remembers_is_not_accused(make: Callable[[], Any], sequential: bool) -> None:
    """Would catch "violated, at least 2.4" of a sound program."""
    result = audit(make(), (0, 1), 1.02, samples=30_000, sequential=sequential)
    assert result.verdict == "inconclusive"
    assert result.epsilon_lower == 0
    assert "remembers earlier calls" in result.notes[0]
    assert ("a new process answers otherwise" if sequential else "fresh copies") in result.notes[0]


def test_a_permanent_answer_is_no_leak_where_calls_for_one_output_repeat_it() -> None:
    """Would catch "violated, at least 2.7" of a client whose whole transcript has epsilon 1: its answers never tie."""
    result = audit(OneAnswer(), (0, 1), 1.0, samples=1_000, sequential=True)
    assert (result.verdict, result.epsilon_lower) == ("inconclusive", 0)
    with pytest.raises(NoPowerError, match="remembers earlier calls"):
        assert_private(OneAnswer(), 1.0, (0, 1), detects=4.0)


def test_a_client_that_almost_always_keeps_the_truth_is_not_accused() -> None:
    """16 copies of it would all keep the true value, as the audited one does, in one of four audits."""
    result = audit(keeper(3.0), (0, 1), 3.0, samples=20_000)
    assert result.verdict == "inconclusive"
    assert "of 64 on input" in result.notes[0]
    assert "in 72 fresh copies of it 0 to 64 were" in result.notes[0]


def test_an_answer_that_is_kept_in_the_input_is_no_memory_of_the_program() -> None:
    """Would catch "violated" of a client whose record holds its permanent answer; inputs stay as they are."""
    records = {"value": 0}, {"value": 1}
    assert not audit(of_a_record, records, 1.0986, samples=20_000).violated
    assert records == ({"value": 0}, {"value": 1})


CLIENT = """
import json, random, sys
kept = {}
for line in sys.stdin:
    asked = json.loads(line)
    draw = random.Random(asked["seed"])
    kept.setdefault(asked["x"], asked["x"] if draw.random() < 0.75 else 1 - asked["x"])
    for _ in range(asked["n"]):
        print(kept[asked["x"]] if draw.random() < 0.9 else 1 - kept[asked["x"]])
    sys.stdout.flush()
"""


def test_a_command_that_remembers_is_started_anew(tmp_path: Path) -> None:
    """Would catch "violated, at least 2.1" of a client whose reports together have epsilon 1.0986."""
    (tmp_path / "client.py").write_text(CLIENT)
    sampler = as_sampler(command=[sys.executable, str(tmp_path / "client.py")])
    result = audit(sampler, (0, 1), 1.0986, samples=20_000)
    assert result.verdict == "inconclusive"
    assert "16 fresh copies" in result.notes[0]


@pytest.fixture
def truthful(monkeypatch: pytest.MonkeyPatch) -> OfTwoSources:
    """Answers both values truthfully; its 16 copies, in another process, toss coins: all so once in 0.6**-32 = 1e7."""
    monkeypatch.setattr(random.SystemRandom, "random", lambda _: 0.0)
    return OfTwoSources()


def test_a_memory_from_another_source_is_seen(truthful: OfTwoSources) -> None:
    """Would catch "violated, at least 1.09" where all reports together have epsilon 0.41."""
    result = audit(truthful, (0, 1), 0.41, samples=20_000)
    assert result.verdict == "inconclusive"
    assert any("remembers earlier calls" in note for note in result.notes)


def test_a_test_that_begins_with_many_outputs_accuses_no_client_that_remembers(truthful: OfTwoSources) -> None:
    """A pilot for rare events asks for 20,000 at once; a later call, which repeats itself, would pass for the first."""
    with pytest.raises(NoPowerError, match="remembers earlier calls"):
        assert_private(truthful, 0.41, (0, 1), rarest=0.001, detects=3.0)


def test_a_broken_program_whose_first_call_is_a_large_one_is_accused() -> None:
    """Beyond 4096 outputs no first call was compared, and "a new process answers otherwise" was said of it."""
    with pytest.raises(PrivacyViolation):
        assert_private(too_little_noise, 1.0, (0.0, 1.0), rarest=0.004, detects=1.8)


def test_copies_are_asked_for_as_many_outputs_as_a_violation_needs_to_be_told_from_a_memory() -> None:
    """The test's number where the claim is all but kept; for a gross violation a few, and no more for more samples."""
    event = Event(((0.5, math.inf),))

    def outputs(p: float, q: float, trials: int) -> int:
        counts = Counts(round(p * trials), trials, round(q * trials), trials)
        return telling(Witness((0.0, 1.0), event, counts), 1.0, 0.0)

    assert outputs(0.733, 0.267, 1_000_000) == 1_000_000
    assert outputs(0.733, 0.267, 2_000) == 4_096
    assert outputs(0.95, 0.05, 1_000_000) == outputs(0.95, 0.05, 20_000) <= 1_024
    assert outputs(0.80, 0.20, 1_000_000) >= 4_096


def test_one_draw_for_the_life_of_an_object_is_not_accused() -> None:
    result = audit(WithAnAnswer(), (0.0, 1.0), 0.5, samples=20_000)
    assert result.verdict == "inconclusive"


def test_randomness_of_its_own_is_no_memory() -> None:
    result = audit(own_entropy, (0.0, 1.0), 1.0, samples=20_000)
    assert result.violated
    assert not any("remembers" in note for note in result.notes)


NOISY = """
import numpy as np

RNG = np.random.default_rng()

def of_the_module(x, n, rng):
    return x + 0.5 * RNG.laplace(size=n)

def of_numpy(x, n, rng):
    return x + 0.5 * np.random.laplace(size=n)

class OfAnObject:
    def __init__(self):
        self.rng = np.random.default_rng()

    def __call__(self, x, n, rng):
        return x + 0.5 * self.rng.laplace(size=n)

of_an_object = OfAnObject()
"""


def test_copies_of_a_generator_of_the_program_do_not_count_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies that draw the same outputs passed for one large sample, and every fifth violation for a memory."""
    (tmp_path / "noisy.py").write_text(NOISY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "noisy", raising=False)
    noisy = importlib.import_module("noisy")
    witness = audit(too_little_noise, (0.0, 1.0), samples=20_000).witness
    for sampler, copies in ((noisy.of_the_module, 16), (noisy.of_numpy, 16), (noisy.of_an_object, 1)):
        program, fresh = Program(sampler, 0), Fresh(sampler)
        program.outputs(0.0, 1, (0,))
        found = fresh.counts(program, witness, 1, 1.0, 4096)
        assert found.hits.shape == (2, copies)
        assert copies == 1 or all(len(set(column)) > 3 for column in found.hits.tolist())


def test_a_setting_that_a_new_process_does_not_have_may_be_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant by `monkeypatch` looks as a client does whose module drew its answers: who knows better must say so."""
    monkeypatch.setattr(worker_samplers, "SCALE", 0.2)
    result = audit(worker_samplers.of_a_scale, (0.0, 1.0), 1.0, samples=20_000)
    assert result.inconclusive
    assert "could not be looked at: a new process answers otherwise" in result.notes[0]
    assert "stateless=True" in result.notes[0]
    assert audit(worker_samplers.of_a_scale, (0.0, 1.0), 1.0, samples=20_000, stateless=True).violated


DRAWN_BEFORE = """
import random, secrets
import numpy as np

SECRET = secrets.token_bytes(2)

def noisy(permanent):
    return permanent if random.random() < 0.95 else 1 - permanent

def by(secret, x):
    return noisy(x if secret[x] < 154 else 1 - x)

def of_a_secret(x):
    return by(SECRET, x)

def of_a_secret_at_once(x, n, rng):
    return np.where(rng.random(n) < 0.95, x if SECRET[x] < 154 else 1 - x, 1 - x)

class Client:
    def __init__(self):
        self.secret, self.permanent = secrets.token_bytes(2), {}

    def report(self, x):
        return by(self.secret, x)

class Lazy(Client):
    def report(self, x):
        return noisy(self.permanent.setdefault(x, x if secrets.token_bytes(1)[0] < 154 else 1 - x))
"""


@pytest.mark.slow
def test_answers_that_were_drawn_before_the_audit_are_not_accused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When a module was imported, or an object made, or in an earlier audit: bounds of 2.8 where 0.41 is true.

    Here all answers are true; 16 copies, of other processes, all give true answers once in 0.6**-32 = 1e7.
    """
    (tmp_path / "drawn_before.py").write_text(DRAWN_BEFORE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(secrets, "token_bytes", bytes)
    drawn = importlib.import_module("drawn_before")
    lazy = drawn.Lazy()
    for program in (drawn.of_a_secret, drawn.of_a_secret_at_once, drawn.Client, lazy.report, lazy.report):
        result = audit(as_sampler(program), (0, 1), 0.5, samples=2_000)
        assert result.inconclusive
        assert "remembers" in result.notes[0]


def test_what_an_object_drew_when_it_was_made_is_said_to_be_a_part_of_it() -> None:
    result = audit(WithAnAnswer(), (0.0, 1.0), 0.5, samples=20_000)
    assert not result.violated
    result = audit(OwnNoise(), (0.0, 1.0), 1.0, samples=20_000)
    assert result.violated
    assert result.notes[-1].startswith("what this OwnNoise drew before the audit")


class OwnNoise:
    """A codebook of 80 KB, and noise of its own generator: epsilon 2."""

    def __init__(self) -> None:
        self.rng, self.book = np.random.default_rng(1), np.ones(10_000)

    def __call__(self, x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return x * self.book[0] + 0.5 * self.rng.laplace(size=n)


def test_a_bit_that_comes_again_by_chance_is_no_memory() -> None:
    """One output repeated itself by chance, here and not there, and three of sixty violations passed for a memory."""
    client = as_sampler(lambda x: x if SECURE.random() < 0.9 else 1 - x)
    assert all(
        audit(client, (0, 1), 1.0, samples=5_000, seed=seed).violated for seed in range(12 if Length.full else 3)
    )


AUDITED_WHEN_IMPORTED = """
from ldp_audit.auditing import audit

def noisy(x, n, rng):
    return x + 0.5 * rng.laplace(size=n)

print(audit(noisy, (0.0, 1.0), 1.0, samples=20_000).verdict)
"""


def test_a_module_that_audits_itself_when_it_is_imported_ends(tmp_path: Path) -> None:
    """Would catch copies that import it, audit it, start copies of their own, and so on."""
    (tmp_path / "audited.py").write_text(AUDITED_WHEN_IMPORTED)
    words = [sys.executable, "-c", "import audited"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == "violated\n"


def test_what_cannot_be_asked_afresh_is_accused_only_if_said_to_be_stateless() -> None:
    """A socket cannot be pickled, and a sound client that remembers may have one; each output alone has epsilon 1."""
    lock, kept = socket.socket(), {}

    def noisy(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        with lock:
            return own_entropy(x, n, rng)

    def client(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        with lock:
            answer = kept.setdefault(x, x if rng.random() < 1 / (1 + math.exp(-1)) else 1 - x)
        return np.full(n, answer)

    for seed in range(4):
        kept.clear()
        assert not audit(client, (0, 1), 1.0, samples=5_000, seed=seed).violated
    result = audit(noisy, (0.0, 1.0), 1.0, samples=20_000)
    assert result.inconclusive
    assert "could not be looked at: it cannot be pickled" in result.notes[0]
    assert "--stateless" in result.notes[0]
    with pytest.raises(NoPowerError, match="stateless=True"):
        assert_private(noisy, 1.0, (0.0, 1.0), detects=2.0)
    stated = audit(noisy, (0.0, 1.0), 1.0, samples=20_000, stateless=True)
    assert stated.violated
    assert stated.notes[-1] == "that the program keeps nothing from call to call was stated, and not looked at"


SLOW_AND_SURE = """
import json, random, sys, time
time.sleep(4.5)
kept = {}
for line in sys.stdin:
    request = json.loads(line)
    chance = random.Random(request["seed"])
    x = request["x"]
    answer = kept.setdefault(x, x if chance.random() < 0.73 else 1 - x)
    print("\\n".join([str(answer)] * request["n"]), flush=True)
"""


@pytest.mark.slow
def test_a_command_that_starts_slowly_has_the_time_for_its_copies(tmp_path: Path) -> None:
    """60 seconds for 16 copies were too few, and clients that remember their answers were accused unlooked."""
    (tmp_path / "slow.py").write_text(SLOW_AND_SURE)
    sampler = as_sampler(command=[sys.executable, str(tmp_path / "slow.py")])
    result = audit(sampler, (0, 1), 1.0, samples=2_000)
    assert not result.violated
    assert not any("more than" in note for note in result.notes)


def test_the_environment_is_that_of_before_the_first_call() -> None:
    """Would catch copies that find in it what the program itself has put there. Each output alone has epsilon 1."""

    def client(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        secret = os.environ.setdefault("LDP_AUDIT_TEST_SECRET", str(random.SystemRandom().getrandbits(64)))
        return np.full(n, x if random.Random(secret + str(x)).random() < 1 / (1 + math.exp(-1)) else 1 - x)

    for seed in range(6):
        os.environ.pop("LDP_AUDIT_TEST_SECRET", None)
        assert not audit(client, (0, 1), 1.0, samples=5_000, seed=seed).violated
    os.environ.pop("LDP_AUDIT_TEST_SECRET", None)


class KeptOnDisk:
    """One answer for each value, for ever, in a file of JSON or a database: all reports together have epsilon 1."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __call__(self, x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        new = int(x if rng.random() < 1 / (1 + math.exp(-1)) else 1 - x)
        if self.file.suffix == ".json":
            kept = json.loads(self.file.read_text()) if self.file.exists() else {}
            if str(x) not in kept:
                self.file.write_text(json.dumps(kept | {str(x): new}))
            return np.full(n, kept.get(str(x), new))
        with closing(sqlite3.connect(self.file)) as database, database:
            database.execute("create table if not exists kept (x primary key, y)")
            database.execute("insert or ignore into kept values (?, ?)", (x, new))
            (answer,) = database.execute("select y from kept where x = ?", (x,)).fetchone()
        return np.full(n, answer)


@pytest.mark.parametrize("name", ["kept.json", "kept.db"])
def test_an_answer_on_disk_is_not_accused(tmp_path: Path, name: str) -> None:
    """All copies find it, as an audit does that comes after another: five of six were accused."""
    for _ in range(2):
        result = audit(KeptOnDisk(tmp_path / name), (0, 1), 1.0, samples=2_000)
        assert (result.verdict, result.epsilon_lower) == ("inconclusive", 0)
        assert f"a call opens {tmp_path / name}" in result.notes[0]


def test_files_that_are_only_written_or_new_keep_no_answers(tmp_path: Path) -> None:
    def logging(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        with (tmp_path / "log").open("a") as log:
            log.write("asked")
        with tempfile.TemporaryFile() as new:
            new.write(b"asked")
        return own_entropy(x, n, rng)

    assert audit(logging, (0.0, 1.0), 1.0, samples=20_000).violated


def test_what_distributions_say_of_themselves_is_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """numba reads the entry points of all of them at its first call, wherever they are installed."""
    (tmp_path / "extension-1.0.dist-info").mkdir()
    (tmp_path / "extension-1.0.dist-info" / "entry_points.txt").write_text("[numba_extensions]\ninit = ctypes:CDLL\n")
    monkeypatch.syspath_prepend(tmp_path)

    def noisy(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        assert "init" in importlib.metadata.entry_points(group="numba_extensions").names
        return own_entropy(x, n, rng)

    assert audit(noisy, (0.0, 1.0), 1.0, samples=20_000).violated


class InC:
    """Half of the noise that it should have, by C's logarithm."""

    def __init__(self, scale: float) -> None:
        self.library, self.scale = ctypes.CDLL(ctypes.util.find_library("m")), scale
        self.library.log.restype, self.library.log.argtypes = ctypes.c_double, (ctypes.c_double,)
        self.library.modf.argtypes = ctypes.c_double, ctypes.POINTER(ctypes.c_double)
        self.log, self.permanent = self.library.log, {}

    def __call__(self, x: float, n: int, rng: np.random.Generator) -> list[float]:
        kept = self.permanent.setdefault(x, x + self.scale * rng.laplace()) if self.scale else x
        return [kept + 0.5 * rng.choice((-1, 1)) * self.log(one) for one in rng.random(n)]


def test_an_object_with_a_library_of_c_is_asked_afresh() -> None:
    """Its library is loaded again, and its functions keep their types: without them, log(0.5) is a whole number."""
    assert audit(InC(0), (0.0, 1.0), 1.0, samples=20_000).violated
    result = audit(InC(3), (0.0, 1.0), 0.3, samples=20_000, seed=1)
    assert result.inconclusive
    assert "fresh copies of it" in result.notes[0]


def test_inputs_that_no_module_names_are_sent_too() -> None:
    """Would catch "inconclusive" of every program whose inputs are objects of the user's script."""

    @dataclass
    class Record:
        value: float

    def noisy(x: Record, n: int, rng: np.random.Generator) -> np.ndarray:
        return own_entropy(x.value, n, rng)

    assert audit(noisy, (Record(0.0), Record(1.0)), 1.0, samples=20_000).violated


@dataclass
class Kept:
    """Permanent answers, in a dictionary and under a lock; no two objects can be told apart by their hash."""

    answers: dict[int, int] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.Lock)

    def report(self, x: int) -> int:
        with self.lock:
            answer = self.answers.setdefault(x, x if secrets.token_bytes(1)[0] < 154 else 1 - x)
        return answer if SECURE.random() < 0.95 else 1 - answer


def test_an_object_is_as_before_its_first_audit_unless_somebody_has_changed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch "violated" of a client that was audited before, and "inconclusive" of one that was set otherwise.

    The client's own answers are true, as copies' are once in 0.6**-32 = 1e7.
    """
    monkeypatch.setattr(secrets, "token_bytes", bytes)
    client = Kept()
    for _ in range(3):
        result = audit(as_sampler(client.report), (0, 1), 0.5, samples=2_000)
        assert result.inconclusive
        assert "remembers" in result.notes[0]
    noisy = Response(0.7)
    assert not audit(noisy, (0, 1), 1.0, samples=5_000).violated
    noisy.truth = 0.95
    assert audit(noisy, (0, 1), 1.0, samples=5_000).violated
    other = Response(0.7)
    other.truth = 0.95
    assert audit(other, (0, 1), 1.0, samples=5_000).violated


class Response:
    def __init__(self, truth: float) -> None:
        self.truth = truth

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Response)

    def __hash__(self) -> int:
        return 1

    def __call__(self, x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(n) < self.truth, x, 1 - x)


def test_what_a_call_reads_of_the_system_is_no_memory() -> None:
    """Files of libraries; and its input, which was the pipe of jobs: nothing answered for a minute and a half."""

    def noisy(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        assert importlib.metadata.version("numpy")
        assert subprocess.run(["cat"], capture_output=True, check=True).stdout == b""
        return own_entropy(x, n, rng)

    result = audit(noisy, (0.0, 1.0), 1.0, samples=20_000)
    assert result.violated
    assert result.seconds < 30
