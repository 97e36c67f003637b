"""Protocols read from files: valid files are read exactly, invalid ones are one clear error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_audit.accounting.protocols.protocol import Protocol, Sampling, Shuffling, Split, Step
from ldp_audit.accounting.protocols.protocol_file import load_protocol, parse_protocol
from ldp_audit.accounting.protocols.protocol_report import account
from tests.together import together

GOOD = """
name = "two questions"
unit = "client"
rounds = 30

[[step]]
name = "answer"
mechanism = "RandomizedResponse(epsilon=0.5, k=4)"
times = ["rounds", 2]
"""


def read(text: str) -> Protocol:
    return parse_protocol(text.encode(), "here.toml")


def test_a_file_gives_the_protocol_that_python_would() -> None:
    step = Step("RandomizedResponse(epsilon=0.5, k=4)", times=("rounds", 2), name="answer")
    assert read(GOOD) == Protocol("two questions", (step,), unit="client", rounds=30)


def test_every_key_of_the_inner_tables_is_read() -> None:
    protocol = read(
        GOOD
        + 'sampling = {kind = "without", n = 50, k = 7}\nshuffling = {clients = 7, kind = "model"}\n'
        + '[[step]]\nmechanism = "Piecewise()"\nstage = "value"\ntimes = ["epochs"]\n[split]\nepsilon = 3\nmu = 0.25\n'
    )
    first, second = protocol.steps
    assert first.sampling == Sampling("without", n=50, k=7)
    assert first.shuffling == Shuffling(7, "model")
    assert (protocol.split, second.stage) == (Split(3, mu=0.25), "value")
    assert protocol.mechanisms[1].epsilon == 2.25


WRONG = {
    "no step": ('name = "a"', "step must be one"),
    "unknown key": (GOOD.replace("rounds = 30", "rouds = 30"), "unknown key 'rouds' = 30; accepted: name, step, unit"),
    "unknown key in a step": (
        GOOD + "noise = 3",
        r"\[\[step\]\] 1: unknown key 'noise' = 3; accepted: mechanism, times",
    ),
    "missing key": (GOOD.replace('times = ["rounds", 2]', ""), r"\[\[step\]\] 1: the key 'times' is missing"),
    "missing name": (GOOD.replace('name = "two questions"', ""), "the key 'name' is missing"),
    "text for a number": (GOOD.replace("= 30", '= "30"'), "rounds must be a whole number in 1 .. .*, got '30'"),
    "a flag for a number": (GOOD.replace("= 30", "= true"), "rounds must be a whole number .*, got True"),
    "a broken number": (GOOD.replace("= 30", "= 2.5"), "rounds must be a whole number .*, got 2.5"),
    "not a number": (GOOD.replace("= 30", "= nan"), "rounds must be a whole number .*, got nan"),
    "no round": (GOOD.replace("= 30", "= 0"), "rounds must be a whole number .*, got 0"),
    "too many": (GOOD.replace("= 30", "= 1e17"), "rounds must be a whole number .*, got 100000000000000000"),
    "number for a text": (GOOD.replace('"two questions"', "7"), "name must be a text that is not empty, got 7"),
    "unknown unit": (GOOD.replace('"client"', '"user"'), "unit must be one of value, record, client, got 'user'"),
    "unknown count": (GOOD.replace('["rounds", 2]', '["round"]'), "times must be made of rounds, .*, got 'round'"),
    "dimensions of a sampled client": (
        GOOD.replace("2]", '"dimensions"]') + 'sampling = {kind = "poisson", rate = 0.1}',
        "times of a sampled step must not name dimensions",
    ),
    "a count twice": (GOOD.replace("2]", '"rounds"]'), "times must name each count once"),
    "times is no list": (GOOD.replace('["rounds", 2]', '"rounds"'), "times must be a list of .*, got 'rounds'"),
    "step is no table": ('name = "a"\nstep = [3]', r"\[\[step\]\] 1 must be a table of keys and values, got 3"),
    "an unknown mechanism": (
        GOOD.replace("RandomizedResponse", "Randomised"),
        "names no shipped mechanism; did you mean RandomizedResponse",
    ),
    "a wrong parameter": (GOOD.replace("0.5", "-1"), "mechanism of step 1, .*epsilon must be .*, got -1"),
    "an unknown parameter": (GOOD.replace("epsilon=0.5", "eps=0.5"), "mechanism of step 1, .*unexpected keyword"),
    "not TOML": ("name = ", r"is not TOML: Invalid value"),
    "an old key": (
        GOOD + "shuffling = {n = 3}",
        r"\[\[step\]\] 1 shuffling: unknown key 'n' = 3; accepted: clients, kind",
    ),
    "a mixed sampling": (GOOD + 'sampling = {kind = "poisson", n = 3}', "sampling: n and k belong to sampling without"),
    "a rate above 1": (
        GOOD + 'sampling = {kind = "poisson", rate = 2}',
        r"rate must be a finite number in \[0, 1\], got 2",
    ),
    "a sample of another size": (
        GOOD + 'sampling = {kind = "without", n = 9, k = 5}\nshuffling = {clients = 7}',
        "sampling of a shuffled step must draw as many clients as are shuffled, without replacement: k = 7, got",
    ),
    "adding to a shuffle": (
        'adjacency = "add/remove"' + GOOD + "shuffling = {clients = 7}",
        "adjacency must be replace where reports are shuffled",
    ),
    "k above n": (GOOD + 'sampling = {kind = "without", n = 3, k = 4}', "k must be at most n = 3 without replacement"),
    "a stage without a split": (
        GOOD + 'stage = "value"',
        "step 1 has the stage 'value', but the protocol has no split",
    ),
    "two budgets": (
        GOOD + 'stage = "value"\n[split]\nepsilon = 1\nmu = 0',
        "without its epsilon, which the stage gives",
    ),
    "a split of nothing": (GOOD + "[split]\nepsilon = 1", r"\[split\]: one of mu and batch must be given"),
    "no share left": (GOOD + "[split]\nepsilon = 1\nmu = 1", "mu must leave something to the value stage"),
    "notes as a text": ('notes = "one"' + GOOD, "notes must be a list, got 'one'"),
    "an unknown paper": ('paper = "dpsgd"' + GOOD, "paper must be .*, got 'dpsgd'"),
}


@together("case", WRONG)
def test_what_is_wrong_is_one_line_that_names_the_file_the_key_and_what_is_accepted(case: str) -> None:
    text, message = WRONG[case]
    with pytest.raises(ValueError, match=message) as error:
        read(text)
    assert str(error.value).startswith("here.toml: ")
    assert "\n" not in str(error.value)


def test_no_code_of_a_file_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A TARGET of the command line may import a module; one of a file must not."""
    ran = tmp_path / "ran"
    (tmp_path / "planted.py").write_text(f"open({str(ran)!r}, 'w').close()\nmechanism = None\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for text in ("planted:mechanism", "planted:mechanism(1)", "__import__('planted')", "TwoPoint(epsilon=open('x'))"):
        with pytest.raises(ValueError, match="mechanism"):
            read(f'name = "a"\n[[step]]\nmechanism = "{text}"\ntimes = [1]')
    assert not ran.exists()


def test_a_channel_lies_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "channel.csv").write_text("0.75,0.25\n0.25,0.75\n")
    file = tmp_path / "p.toml"
    file.write_text('name = "a"\n[[step]]\nmechanism = "channel.csv"\ntimes = [3]\n')
    assert load_protocol(file).mechanisms[0].exact_epsilon() == pytest.approx(1.0986122886681098)
    file.write_text('name = "a"\n[[step]]\nmechanism = "other.csv"\ntimes = [3]\n')
    with pytest.raises(ValueError, match=r"p\.toml: .*mechanism 'other.csv' is no file beside the protocol"):
        load_protocol(file)


@pytest.mark.usefixtures("example_installed")
def test_a_name_that_is_neither_shipped_nor_a_file_lists_what_is_near_or_all_that_is_shipped() -> None:
    with pytest.raises(ValueError, match=r"'example' is neither a file nor a shipped protocol; did you mean example-s"):
        load_protocol("example")
    with pytest.raises(ValueError, match=r"'zzz' is neither a file nor a shipped protocol; shipped: .*example-s"):
        load_protocol("zzz")


def test_bytes_that_are_no_text_and_files_that_are_too_long_are_refused() -> None:
    with pytest.raises(ValueError, match="here: is not a text in UTF-8"):
        parse_protocol(b"\xff\xfe", "here")
    with pytest.raises(ValueError, match="a protocol has at most 100000 bytes"):
        parse_protocol(b"#" * 1_000_001)


KEYS = [
    "name",
    "step",
    "unit",
    "rounds",
    "dimensions",
    "split",
    "epsilon",
    "mu",
    "batch",
    "mechanism",
    "times",
    "sampling",
]
KEYS += [
    "shuffling",
    "clients",
    "kind",
    "rate",
    "n",
    "k",
    "stage",
    "notes",
    "paper",
    "adjacency",
    "mechanisms",
    "steps",
]
values = st.recursive(
    st.one_of(
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.booleans(),
        st.sampled_from(
            ["", "rounds", "TwoPoint(epsilon=1)", "TwoPoint(", "a:b", "poisson", "with", "model", "x(1)", "\0"]
        ),
        st.text(max_size=8),
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


def test_a_file_with_a_byte_order_mark_is_read() -> None:
    assert parse_protocol(GOOD.encode("utf-8-sig")) == parse_protocol(GOOD.encode())


@pytest.mark.parametrize(
    ("head", "noise", "adjacency"),
    [
        ("", "Gaussian(sigma=2)", "add/remove"),
        ("", "RandomizedResponse(epsilon=1)", "replace"),
        ('adjacency = "replace"', "Laplace(scale=2, replaced=1.5)", "replace"),
        ('adjacency = "add/remove"', "RandomizedResponse(epsilon=1)", "add/remove"),
    ],
)
def test_neighbours_of_noise_on_sums_are_those_with_and_without_a_record(head: str, noise: str, adjacency: str) -> None:
    text = f'{head}\nname = "a"\n[[step]]\nmechanism = "{noise}"\ntimes = [1]'
    report = account(parse_protocol(text.encode()))
    assert f"neighbours: {adjacency};" in report.describe()
    assert report.to_dict()["protocol"]["adjacency"] == adjacency
    silent = text.replace(", replaced=1.5", "")
    if "Laplace" in noise:
        with pytest.raises(ValueError, match=r"^step 1: replaced must be stated where a record is replaced"):
            account(parse_protocol(silent.encode()))


@settings(max_examples=20, deadline=None)
@given(
    st.dictionaries(st.sampled_from(KEYS), values, max_size=6),
    st.dictionaries(st.sampled_from(KEYS), values, max_size=5),
)
def test_no_document_is_more_than_a_protocol_or_a_value_error(top: dict[str, Any], step: dict[str, Any]) -> None:
    base = {"name": "a", "step": [{"mechanism": "TwoPoint(epsilon=1)", "times": [1], **step}]}
    _read_or_refuse(toml({**base, **top}))
    _read_or_refuse(toml({**top, "step": [step]}))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(GOOD) - 1), st.text(max_size=6))
def test_no_damage_to_a_file_is_more_than_a_protocol_or_a_value_error(place: int, noise: str) -> None:
    _read_or_refuse((GOOD[:place] + noise + GOOD[place + 1 :]).encode("utf-8", "surrogatepass"))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=40))
def test_no_bytes_are_more_than_a_value_error(content: bytes) -> None:
    _read_or_refuse(content)


def _read_or_refuse(content: bytes) -> None:
    message = ""
    try:
        parse_protocol(content, "here")
    except ValueError as error:
        message = str(error)
    assert not message or message.startswith("here: ")


def toml(value: Any) -> bytes:
    lines = [f"{_quoted(key)} = {_inline(one)}" for key, one in value.items()]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _inline(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(key)} = {_inline(one)}" for key, one in value.items()) + "}"
    return str(value)


def _quoted(text: str) -> str:
    return '"' + "".join(c if c.isalnum() or c in " _-()=,.:" else f"\\u{min(ord(c), 0xFFFF):04x}" for c in text) + '"'
