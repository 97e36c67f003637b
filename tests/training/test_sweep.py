"""Sweeps: which runs they are, with which seeds, and how the command line's texts become settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from ldp_audit.training.sweep import Job, Sweep, doubts_of, jobs_of, presets_of_text, read_value, repeat_seed
from tests.together import together
from tests.training.toy import Toy


@dataclass(frozen=True)
class Fields:
    """One of each kind of field."""

    whole: int = 1
    number: float = 1.0
    flag: bool = False
    text: str = "a"
    maybe: float | None = None
    either: int | str | None = 3


@together(
    ("name", "text", "value"),
    [
        ("whole", "12", 12),
        ("whole", "1e3", 1000),
        ("whole", "-4", -4),
        ("number", "2", 2.0),
        ("number", "inf", float("inf")),
        ("flag", "true", True),
        ("flag", "No", False),
        ("text", "true", "true"),
        ("text", "3", "3"),
        ("maybe", "none", None),
        ("maybe", "0.5", 0.5),
        ("either", "7", 7),
        ("either", "seven", "seven"),
        ("either", "None", None),
    ],
)
def test_a_text_becomes_what_the_annotation_says(name: str, text: str, value: Any) -> None:
    found = read_value(Fields, name, text)
    assert found == value
    assert type(found) is type(value)


def test_a_literal_is_read_by_the_type_of_its_values() -> None:
    assert read_value(Toy, "kind", "lazy") == "lazy"


@together(
    ("name", "text", "message"),
    [
        ("whole", "1.5", "whole must be a whole number, got '1.5'"),
        ("whole", "none", "whole must be a whole number, got 'none'"),
        ("whole", "inf", "whole must be a whole number, got 'inf'"),
        ("number", "many", "number must be a number, got 'many'"),
        ("number", "nan", "number must be a number, got 'nan'"),
        ("maybe", "x", "maybe must be none or a number, got 'x'"),
        ("flag", "2", "flag must be true or false, got '2'"),
        ("size", "2", "field must be one of whole, number, flag, text, maybe, either, got 'size'"),
    ],
)
def test_a_text_that_does_not_fit_is_named_with_what_is_accepted(name: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_value(Fields, name, text)


def test_a_sweep_is_every_combination_the_last_field_fastest() -> None:
    sweep = Sweep({"rounds": 2}, {"epsilon": (0.5, 1.0), "kind": ("plain", "lazy")})
    assert [(one["rounds"], one["epsilon"], one["kind"]) for one in sweep.combinations()] == [
        (2, 0.5, "plain"),
        (2, 0.5, "lazy"),
        (2, 1.0, "plain"),
        (2, 1.0, "lazy"),
    ]


def test_repeats_share_their_seeds_between_points_and_differ_from_each_other() -> None:
    jobs = jobs_of(Toy, [Sweep({}, {"epsilon": (0.5, 1.0)}, repeats=4)], seed=7)
    by_point = [[job.seed for job in jobs if job.settings["epsilon"] == epsilon] for epsilon in (0.5, 1.0)]
    assert by_point[0] == by_point[1] == [repeat_seed(7, repeat) for repeat in range(4)]
    assert len(set(by_point[0])) == 4
    assert not set(by_point[0]) & {repeat_seed(8, repeat) for repeat in range(4)}
    assert all(0 <= seed < 2**53 for seed in by_point[0])


def test_more_repeats_keep_the_first_ones() -> None:
    few, many = (jobs_of(Toy, [Sweep(repeats=repeats)], seed=0) for repeats in (2, 5))
    assert many[:2] == few


def test_a_run_that_two_sweeps_share_is_run_once() -> None:
    sweeps = [Sweep({}, {"epsilon": (0.5, 1.0)}, repeats=2), Sweep({"epsilon": 1.0}, {"kind": ("plain", "lazy")})]
    jobs = jobs_of(Toy, sweeps, seed=0)
    assert len(jobs) == 2 * 2 + 1
    assert all(isinstance(job, Job) and set(job.settings) >= {"epsilon", "rounds", "kind"} for job in jobs)


def test_a_changed_sweep_keeps_the_doubts_about_settings_that_it_keeps() -> None:
    """Would say of a reader's own radius that the paper's is suspect, or nothing of the paper's with other repeats."""
    suspect = Sweep({"rounds": 1, "epsilon": 2.0}, repeats=2, doubts={"rounds": "one is few"})
    assert doubts_of([suspect.changed({"epsilon": 1.0}, {}, 3)] * 2) == ["one is few"]
    assert doubts_of([suspect.changed({"rounds": 2}, {}, None), suspect.changed({}, {"rounds": (1, 2)}, None)]) == []


@together(
    ("build", "message"),
    [
        (lambda: Sweep({"rounds": 1}, {"rounds": (1, 2)}), "field 'rounds' must be either set or swept, got both"),
        (lambda: Sweep({}, {"rounds": ()}), r"sweep of 'rounds' must have one value or more, got \(\)"),
        (lambda: Sweep({}, {"kind": "plain"}), "sweep of 'kind' must have one value or more, got 'plain'"),
        (lambda: Sweep({}, {"rounds": (2, 2)}), r"sweep of 'rounds' must have each value once, got \[2, 2\]"),
        (lambda: Sweep(repeats=0), "repeats must be a whole number >= 1, got 0"),
        (lambda: jobs_of(Toy, [Sweep({"epoch": 1})], 0), "field must be one of epsilon, rounds, kind, .* got 'epoch'"),
        (lambda: jobs_of(Toy, [Sweep({"epsilon": -1})], 0), "epsilon must be > 0, got -1"),
        (lambda: jobs_of(Toy, [Sweep()], -1), "seed must be a whole number >= 0, got -1"),
    ],
)
def test_bad_sweeps_are_named(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


@together(
    ("text", "message"),
    [
        (
            "[[demonstration]]\nsets = { epsilon = 1 }",
            r"a sweep has an unknown key 'sets'; accepted: base, set, vary, repeats",
        ),
        ('[presets]\none = [{ bases = "a" }]', "a sweep has an unknown key 'bases'"),
        ('[[printed]]\nplaces = "Table 1"', r"\[\[printed\]\] has an unknown key 'places'; accepted: place, data, "),
        ('[[demonstration]]\nbase = "a"', r"base must be one of \[settings\], , got 'a'"),
    ],
)
def test_a_misspelt_key_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        presets_of_text(text)


def test_none_is_a_text_as_on_the_command_line() -> None:
    (sweep,) = presets_of_text('[[demonstration]]\nset = { mu = "none" }\nvary = { k = ["none", 3] }').demonstration
    assert (sweep.settings, sweep.varied) == ({"mu": None}, {"k": (None, 3)})
