"""What a result says: verdicts from bounds alone, sentences that can be checked, JSON without infinities."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ldp_audit.implementations import Example, Exclusive, Implementation, JointCounts, PairChannel
from tests.together import together

EXAMPLE = Example(np.float32(0.1), (3, 5), (0.1875, 0.3125), np.float32(-0.3), None, math.inf, -1.0, 1.0)
ALONE = PairChannel(-1.0, 1.0, None, (Exclusive(-1.0, 1.0, 2, 3, 0.25, EXAMPLE),), EXAMPLE)
NOTHING = PairChannel(-1.0, 1.0, None)
COUNTED = PairChannel(-1.0, 1.0, JointCounts(4, ((1, 2, 1), (3, 2, 1))))


def result_of(*pairs: PairChannel, method: Any = "sampled", **claim: Any) -> Implementation:
    claim = {"claimed_epsilon": 1.0, "claimed_delta": 0.0, **claim}
    return Implementation(method, 4, 2, 256, pairs=pairs, assumptions=("the seed is secret",), seconds=0.5, **claim)


@together(
    ("result", "verdict"),
    [
        (result_of(NOTHING), "not refuted"),
        (result_of(NOTHING, claimed_epsilon=math.inf), "not refuted"),
        (result_of(COUNTED), "not refuted"),  # whatever was counted, words were sampled
        (result_of(COUNTED, method="monotone"), "holds"),
        (result_of(COUNTED, NOTHING, method="monotone"), "not refuted"),
        (result_of(NOTHING, ALONE), "violated"),
        (result_of(ALONE, claimed_delta=0.2), "violated"),
        (result_of(ALONE, claimed_delta=0.25), "not refuted"),
        (result_of(COUNTED, method="enumerated"), "holds"),
        (result_of(COUNTED, method="enumerated", claimed_epsilon=0.1), "violated"),
        (result_of(COUNTED, ALONE, claimed_epsilon=None), None),
    ],
)
def test_only_exact_counts_let_a_claim_hold(result: Implementation, verdict: str | None) -> None:
    """Would catch a "holds" from samples, and a violation that one pair of several shows but the verdict misses."""
    assert result.verdict == verdict
    assert result.violated == (verdict == "violated")


def test_a_result_of_bounds_says_at_least() -> None:
    result = result_of(NOTHING, ALONE)
    assert (result.epsilon, result.delta(3.0), result.exact) == (math.inf, 0.25, False)
    text = result.describe()
    assert "violated: claimed epsilon 1" in text
    assert "sampled, some of 256 words of 2 x 4 bits" in text
    assert "at least 0.25 (claimed 0)" in text
    assert "reached on -1.0, never on 1.0: 2 outputs from 3 words, a share of 0.25" in text
    assert "-1.0 with u = 0.1875, 0.3125 (word 3, 5) gives 0.1, which no word of 1.0 does" in text
    assert "its nearest output is -0.3" in text
    assert "taken on trust: the seed is secret" in text
    assert "at least" not in result_of(COUNTED, method="enumerated").describe()


def test_a_coarser_program_is_neither_private_nor_not() -> None:
    """Catches a verdict about a program from what a coarser one does."""
    for pair in (ALONE, COUNTED):
        coarser = replace(result_of(pair, method="enumerated"), coarser=True)
        assert (coarser.verdict, coarser.exact, coarser.violated) == ("not refuted", False, False)
        assert "nothing follows for that one" in coarser.describe()
        assert coarser.to_dict()["coarser"]
    assert replace(result_of(COUNTED, claimed_epsilon=None), coarser=True).verdict is None


def test_numbers_of_words_beyond_all_digits_are_powers() -> None:
    """Catches the limit of Python on the digits of a number."""
    large = replace(result_of(NOTHING), bits=53, uniforms=300, words=2**15900)
    assert "some of 2**15900 words of 300 x 53 bits" in large.describe()
    assert json.loads(json.dumps(large.to_dict()))["words"] == "2**15900"


def test_one_nearest_output_is_one() -> None:
    assert "; its nearest output is -0.3" in EXAMPLE.describe()
    assert "; its nearest outputs are -0.3 and 2" in replace(EXAMPLE, above=2).describe()


def test_the_worst_pair_is_the_one_shown() -> None:
    assert result_of(NOTHING, ALONE, COUNTED).worst_pair is ALONE
    assert result_of(COUNTED, NOTHING, claimed_epsilon=None).worst_pair is COUNTED
    assert result_of(COUNTED, ALONE, claimed_epsilon=math.inf).worst_pair is ALONE


def test_the_json_form_has_everything_and_no_infinity() -> None:
    read = json.loads(json.dumps(result_of(ALONE, claimed_epsilon=math.inf).to_dict(), allow_nan=False))
    assert (read["kind"], read["method"], read["words"]) == ("implementation", "sampled", 256)
    assert (read["epsilon"], read["claimed_epsilon"], read["delta_at_claim"]) == ("inf", "inf", 0.25)
    example = read["pairs"][0]["exclusive"][0]["example"]
    assert (example["output"], example["word"], example["below"], example["above"]) == (
        float(np.float32(0.1)),
        [3, 5],
        float(np.float32(-0.3)),
        None,
    )


@together("pair", [ALONE, COUNTED])
def test_a_negative_epsilon_is_refused(pair: PairChannel) -> None:
    with pytest.raises(ValueError, match="epsilon must be a number >= 0"):
        pair.delta(-1.0)
