from __future__ import annotations

import math

import numpy as np

from ldp_audit import audit
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.scores import score_from_dict
from ldp_audit.auditing.scores.floating_point import ZeroSign


def leaky(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Noise that hides the sign of x, but for a product that is zero now and then: its sign is that of x."""
    return x * np.where(rng.random(n) < 0.1, 0.0, rng.choice([-1.0, 1.0], n))


def test_only_zeros_have_a_sign() -> None:
    numbers = np.array([0.0, -0.0, -1.0, 5e-324, -5e-324, math.inf, -math.inf])
    assert ZeroSign().of(numbers).tolist() == [1, -1, 0, 0, 0, 0, 0]


def test_it_is_proposed_where_a_negative_zero_was_seen() -> None:
    rng, plain = np.random.default_rng(0), np.array([0.0, -1.0])
    assert ZeroSign.learn(plain, plain, rng) == []
    assert ZeroSign.learn(plain, np.array([-0.0]), rng) == [ZeroSign()]


def test_it_and_its_events_are_the_same_after_json() -> None:
    assert score_from_dict(ZeroSign().to_dict()) == ZeroSign()
    event = Event(((-1.0, math.nextafter(-1.0, 0)),), (), ZeroSign())
    assert Event.from_dict(event.to_dict()) == event


def test_the_sign_of_a_zero_gives_its_input_away() -> None:
    """Without the look at bits, 0.0 and -0.0 are one output, and the program seems to have epsilon 0."""
    for sequential in (False, True):
        found = audit(leaky, (-1.0, 1.0), 1.0, samples=20_000, floating_point=True, sequential=sequential)
        assert found.violated
        assert found.epsilon_lower > 3 or sequential  # which stops as soon as it knows
        assert "sign of y where y is 0" in found.witness.describe()
    assert not audit(leaky, (-1.0, 1.0), 1.0, samples=20_000, confidence=1 - 1e-6).violated


def test_signs_that_tell_nothing_are_no_violation() -> None:
    """Called broken by one seed in a million at most."""

    def sound(x: float, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.copysign(0.0, rng.random(n) - 0.5)

    found = audit(sound, (-1.0, 1.0), 0.0, samples=20_000, floating_point=True, confidence=1 - 1e-6)
    assert not found.violated
