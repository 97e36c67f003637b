"""A test that could not have failed does not pass: verdict "inconclusive", exit code 3, a failure in the plugin."""

from __future__ import annotations

import base64
import json
import math
import pickle
import uuid
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldp_audit.auditing import audit
from ldp_audit.auditing.adapters.sampler import ProgramError
from ldp_audit.auditing.assertions import NoPowerError, assert_private
from ldp_audit.auditing.bounds import Counts
from ldp_audit.auditing.confirm import confirm, witness_in
from ldp_audit.auditing.dependent_outputs import drift
from ldp_audit.auditing.outputs import read, unrepeated
from ldp_audit.auditing.power import Reach
from ldp_audit.auditing.result import judged
from ldp_audit.cli import main
from tests.auditing.samplers import randomized_response
from tests.together import together


def ids(x: int, n: int, rng: np.random.Generator) -> list[str]:
    """Ids alone, no two alike."""
    return [str(uuid.UUID(bytes=rng.bytes(16), version=4)) for _ in range(n)]


def mostly_ids(x: int, n: int, rng: np.random.Generator) -> list[str]:
    """An error message comes again in a third of the outputs, the others are too long to be taken apart."""
    return ["error" if rng.random() < 1 / 3 else "".join(rng.choice(["x", "y"], 100)) for _ in range(n)]


def many_labels(x: int, n: int, rng: np.random.Generator) -> list[str]:
    """Response on 300 labels: none is frequent, but all come again."""
    truthful = rng.random(n) < math.e / (math.e + 299)
    return [f"label {value}" for value in np.where(truthful, x, rng.integers(0, 300, n)).tolist()]


@together("sequential", [False, True])
@together("sampler", [ids, mostly_ids])
def test_labels_that_never_come_again_are_inconclusive(sampler: object, sequential: bool) -> None:
    result = audit(sampler, (0, 1), 1.0, samples=2_000, sequential=sequential)
    assert result.verdict == "inconclusive"
    assert "labels that came once only" in result.notes[0]
    assert result.describe().startswith("inconclusive: claimed epsilon 1\n")
    assert result.to_dict()["verdict"] == "inconclusive"


def test_an_assertion_without_power_fails_and_says_why() -> None:
    with pytest.raises(NoPowerError, match="has no power") as raised:
        assert_private(ids, 1.0, (0, 1), detects=2.0, rarest=0.1)
    assert "labels that came once only" in str(raised.value)
    assert raised.value.result.inconclusive
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_a_claim_that_no_counts_would_refute_is_inconclusive() -> None:
    """Would catch "consistent" of a program that tells its input, claimed to have epsilon 20, after 1,000 outputs."""
    for samples, verdict in ((1_000, "inconclusive"), (20_000, "violated")):
        assert audit(lambda x, n, rng: np.full(n, x), (0, 1), 7.0, samples=samples).verdict == verdict
    result = audit(randomized_response(1.0), (0, 1), 20.0, samples=1_000)
    assert "outputs of each input would have shown no epsilon with probability 0.95: it takes more" in result.notes[0]


@together(
    ("counts", "claim", "why"),
    [
        (Counts(105, 1_000, 0, 1_000), (0.5, 0.1), "may be no likelier than delta, 0.1"),
        (Counts(95, 1_000, 0, 1_000), (0.5, 0.1), "may be no likelier than delta, 0.1"),
        (Counts(500, 1_000, 0, 1_000), (700.0, 0.0), "no number of outputs contradicts an epsilon above 600"),
        (Counts(1_000, 1_000, 999, 1_000), (1.0, 0.0), "nearly certain on both inputs"),
        (Counts(3, 1_000, 0, 1_000), (1.0, 0.0), None),
        (Counts(200, 1_000, 0, 1_000), (0.5, 0.1), None),
    ],
)
def test_more_outputs_are_asked_for_only_where_they_would_help(
    counts: Counts, claim: tuple[float, float], why: str | None
) -> None:
    """Would catch "it takes more" of an event as likely as delta."""
    reach = Reach(counts, 1_000, 1e-3, *claim)
    assert (reach.out_of_reach is None) == (why is None)
    assert why is None or why in reach.out_of_reach  # type: ignore[operator]
    verdict, notes = judged(violated=False, tested=[counts], reach=reach)
    assert why is None or (verdict == "inconclusive" and why in notes[0])


@pytest.mark.filterwarnings("error")
def test_outputs_that_are_infinite_either_way_are_numbers() -> None:
    def ends(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.where(
            rng.random(n) < 0.4, np.where(rng.random(n) < 0.5 + 0.1 * x, math.inf, -math.inf), rng.random(n)
        )

    assert audit(ends, (0, 1), 1.0, samples=5_000, confidence=1 - 1e-6).verdict == "consistent"


class Numbered:
    """Sends its input itself, beside a running number of 15 bits."""

    def __init__(self) -> None:
        self.sent = 0

    def __call__(self, x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        numbers = (self.sent + np.arange(n)) % 2**15
        self.sent += n
        return np.column_stack([np.full(n, x), numbers])


def test_a_running_number_is_set_aside_and_the_input_beside_it_found() -> None:
    """Would catch an event of the numbers that the search drew, which the test draws anew: that was inconclusive."""
    for seed in range(2):
        result = audit(Numbered(), (0, 1), 1.0, samples=25_000, seed=seed)
        assert result.violated
        assert any("set aside, and not audited: y[1] (a counter or a clock)" in note for note in result.notes)


def test_a_search_is_unlike_its_test_only_beyond_chance() -> None:
    """By hand: 500 and 560 of 1,000 are 2.7 deviations apart, 500 and 700 nine, and 90 and none too."""
    assert drift(Counts(500, 1000, 0, 1000), Counts(560, 1000, 3, 1000)) is None
    assert drift(Counts(500, 1000, 0, 1000), Counts(700, 1000, 0, 1000)) is not None
    assert drift(Counts(500, 1000, 90, 1000), Counts(500, 1000, 0, 1000)) is not None


@together("sequential", [False, True])
def test_labels_that_come_again_are_not_inconclusive(sequential: bool) -> None:
    """300 labels: about 3 in 100,000 outputs are alone among 8,000."""
    assert audit(many_labels, (0, 1), 1.0, samples=20_000, sequential=sequential).verdict == "consistent"


def test_a_violation_among_ids_is_still_one() -> None:
    def leaks(x: int, n: int, rng: np.random.Generator) -> list[str]:
        return ["error" if x and number % 3 == 0 else str(number) for number in rng.integers(0, 2**62, n).tolist()]

    assert audit(leaks, (0, 1), 1.0, samples=2_000).violated


def test_an_event_that_no_input_shows_is_inconclusive() -> None:
    """A witness of another program, looked for in one that never gives it."""
    found = audit(randomized_response(3.0), (0, 1), 1.0, samples=10_000)
    again = witness_in(found.to_dict(), "found")
    result = confirm(lambda x, n, rng: np.full(n, 7.5), again)
    assert result.inconclusive  # in the event on both inputs, or on neither
    never = confirm(lambda x, n, rng: ["other"] * n, again)
    assert never.verdict == "inconclusive"
    assert "seen on neither input" in never.notes[0]


def test_the_command_exits_with_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "id_program.py").write_text(
        "import uuid\ndef sampler(x, n, rng):\n    return [str(uuid.uuid4()) for _ in range(n)]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    target = ["audit", "id_program:sampler", "--inputs=0,1", "--epsilon", "1", "--samples", "2000", "--quiet"]
    assert main([*target, "--json", str(tmp_path / "result.json")]) == 3
    assert json.loads((tmp_path / "result.json").read_text())["verdict"] == "inconclusive"


def test_where_nothing_differs_the_event_is_one_that_could_have() -> None:
    """All outputs together were the event, which would have shown no epsilon whatever."""

    def noise(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return x + rng.laplace(size=n)

    result = audit(noise, (0.0, 1e-3), 0.5, samples=20_000)
    assert result.verdict == "consistent"
    assert result.detectable_epsilon < 0.7


def test_what_is_set_aside_beside_constants_alone_was_not_tested() -> None:
    def token(x: int, n: int, rng: np.random.Generator) -> list[str]:
        payloads = [json.dumps({"user": rng.bytes(40).hex(), "v": x}).encode() for _ in range(n)]
        return [f"eyJh.{base64.urlsafe_b64encode(one).decode().rstrip('=')}.sig" for one in payloads]

    result = audit(token, (0, 1), 1.0, samples=2_000)
    assert not result.violated
    assert result.inconclusive
    assert "set aside" in result.notes[0]


def test_labels_that_seldom_come_again_are_inconclusive() -> None:
    def sampler(x: int, n: int, rng: np.random.Generator) -> list[str]:
        return [f"{x}:{rng.integers(2**40):x}" if one else "none" for one in rng.random(n) < 0.45]

    result = audit(sampler, (0, 1), 1.0, samples=5_000)
    assert result.inconclusive
    assert "came once only" in result.notes[0]


def test_unrepeated_counts_labels_alone() -> None:
    assert unrepeated([]) == 0
    assert unrepeated([read([0.5, 0.25], 2)]) == 0
    assert unrepeated([read(["a", "b", 1.0, 2.0], 4), read(["a", "c", "c"], 3)]) == pytest.approx(1 / 7)


def test_a_pass_warns_of_what_was_set_aside() -> None:
    """Whatever an id carries, nobody would hear that it is not audited."""

    def sampler(x: int, n: int, rng: np.random.Generator) -> list[Any]:
        kept = rng.random(n) < 0.6
        return [{"id": str(uuid.UUID(bytes=rng.bytes(16))), "y": int(x == one)} for one in kept]

    with pytest.warns(UserWarning, match=r"has not audited y\['id'\] \(a UUID\)"):
        assert_private(sampler, 0.5, (0, 1), detects=2.0)


class Redacted:
    """An object whose text leaves out what it holds."""

    def __init__(self, noise: int, value: int) -> None:
        self.noise, self.value = noise, value

    def __repr__(self) -> str:
        return f"Redacted({self.noise}, <hidden>)"


class Slotted(Redacted):
    __slots__ = ("noise", "value")


@dataclass
class Zero:
    noise: int


class One(Zero):
    """The same fields."""


class Private:
    """As Slotted, under a name of its own."""

    __slots__ = ("__value",)

    def __init__(self, _: int, value: int) -> None:
        self.__value = value

    def __repr__(self) -> str:
        return "Private"


class Money(Decimal):
    currency = ""


def money(_: int, value: int) -> Money:
    found = Money(value)
    found.currency = "EUR"
    return found


@together(
    "shows",
    [
        Private,
        money,
        Redacted,
        Slotted,
        lambda noise, x: [noise, Redacted(noise, x)],
        lambda noise, x: (One if x else Zero)(noise),
    ],
    quick=2,
)
def test_an_object_is_its_class_and_attributes(shows: Any) -> None:
    """Would catch a program whose reports hold the secret, and hide it in their text, that is called consistent."""

    def sampler(x: int, n: int, rng: np.random.Generator) -> list[Any]:
        return [shows(noise, x) for noise in rng.integers(0, 3, n).tolist()]

    assert audit(sampler, (0, 1), 1.0, samples=1_000).violated


def test_an_event_that_shows_nothing_is_no_pass() -> None:
    """Would catch "consistent" by an event of nearly all outputs; of rare ones, what is tested is the rarer side."""

    def rarely(x: int, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.random(n) < 0.001

    assert audit(rarely, (0, 1), 1.0, samples=1_000).inconclusive
    result = audit(rarely, (0, 1), 1.0, samples=100_000, seed=1)
    assert result.verdict == "consistent"
    assert result.detectable_epsilon < 5


class Held:
    """A client that has drawn its answers already, and they are the same."""

    def __init__(self) -> None:
        self.answers = {0: 1, 1: 1}

    def __call__(self, x: int, n: int, rng: np.random.Generator) -> list[int]:
        return [self.answers[x]] * n


ONE_OUTPUT: list[Any] = [
    Held(),
    lambda x, n, rng: np.zeros(n),
    lambda x, n, rng: ["ok"] * n,
    lambda x, n, rng: [None] * n,
    lambda x, n, rng: np.ones((n, 5)),
    lambda x, n, rng: [{"status": "ok", "bits": [0, 1]}] * n,
    lambda x, n, rng: ['{"answer": 1}'] * n,
    lambda x, n, rng: [("id", 7)] * n,
    lambda x, n, rng: [b"\x01\x02"] * n,
]


@together("sequential", [False, True])
@together("sampler", ONE_OUTPUT)
def test_outputs_that_are_all_one_are_no_pass(sampler: Any, sequential: bool) -> None:
    """Would catch "consistent" of a stub, a cache, and a client that holds its answers: nothing was seen of them."""
    result = audit(sampler, (0, 1), 1.0, samples=2_000, sequential=sequential)
    assert result.inconclusive
    assert result.epsilon_lower == 0


def test_an_assertion_about_outputs_that_are_all_one_fails_unless_they_are_to_be() -> None:
    with pytest.raises(NoPowerError, match="constant=True"):
        assert_private(Held(), 1.0, (0, 1), detects=1.2)
    assert assert_private(Held(), 1.0, (0, 1), detects=1.2, constant=True).verdict == "consistent"
    for sequential in (False, True):
        assert audit(Held(), (0, 1), 1.0, samples=1_000, constant=True, sequential=sequential).verdict == "consistent"
    tells = lambda x, n, rng: rng.integers(0, 1, n) + x  # noqa: E731
    assert audit(tells, (0, 1), 1.0, samples=2_000, constant=True).violated
    with pytest.raises(ValueError, match="constant must be True or False"):
        audit(Held(), (0, 1), 1.0, samples=100, constant=1)  # type: ignore[arg-type]


def test_an_output_that_holds_itself_is_refused_in_a_line() -> None:
    def sampler(x: int, n: int, rng: np.random.Generator) -> list[Any]:
        found = [Redacted(0, x) for _ in range(n)]
        for one in found:
            one.value = one
        return found

    with pytest.raises(ProgramError, match="its outputs cannot be read: RecursionError"):
        audit(sampler, (0, 1), 1.0, samples=1_000)
