from __future__ import annotations

import logging
import math
import sys
import types
from typing import Any

import numpy as np
import pytest

from ldp_audit.auditing import audit
from ldp_audit.auditing.adapters import from_flower
from ldp_audit.auditing.outputs import read
from tests.auditing.adapters import stand_ins
from tests.auditing.adapters.stand_ins import NoiseMod
from tests.together import together


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """flwr.app, whether or not the library is installed."""
    monkeypatch.setitem(sys.modules, "flwr", types.ModuleType("flwr"))
    monkeypatch.setitem(sys.modules, "flwr.app", stand_ins.flower())


def keeps_all(msg: Any, ctxt: Any, call_next: Any) -> Any:
    return call_next(msg, ctxt)


def fails(msg: Any, ctxt: Any, call_next: Any) -> Any:
    return types.SimpleNamespace(has_error=lambda: True, error=types.SimpleNamespace(reason="no clipping_norm"))


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("x", "weights"),
    [
        (0.1, [0.1]),
        ((0.1, 2.0), [0.1, 2.0]),
        (np.array([[0.1, 2.0], [3.0, 4.0]]), [0.1, 2.0, 3.0, 4.0]),
        ([np.array([0.1, 2.0]), np.array(5.0)], [0.1, 2.0, 5.0]),
        ([np.float32([0.1])], [float(np.float32(0.1))]),
    ],
    ids=["number", "tuple", "matrix", "list of arrays", "float32"],
)
def test_what_leaves_the_client_is_the_update_in_one_row(x: Any, weights: list[float]) -> None:
    outputs = from_flower(keeps_all)(x, 2, np.random.default_rng(0))
    assert [one.tolist() for one in outputs] == [weights] * 2


@pytest.mark.usefixtures("stand_in")
def test_a_seed_decides_the_outputs_and_numpys_generator_is_left_alone() -> None:
    state = np.random.get_state()[1].tolist()
    sampler = from_flower(NoiseMod())
    first, again, other = (sampler((1.0, 2.0), 6, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert len(np.unique([*first, *other])) == 24
    assert np.random.get_state()[1].tolist() == state


@pytest.mark.usefixtures("stand_in")
def test_a_number_that_the_mod_adds_to_the_message_is_part_of_what_leaves() -> None:
    for x, tells in ((1.0, 1), (-1.0, 0)):
        outputs = np.array(from_flower(NoiseMod(tell=True))(x, 5, np.random.default_rng(0)))
        assert outputs.shape == (5, 2)
        assert outputs[:, 1].tolist() == [tells] * 5
    mod = from_flower(NoiseMod(tell=True))  # whose stand-in for Flower no new process has
    found = audit(mod, (-1.0, 1.0), 3.0, samples=2_000, confidence=1 - 1e-6, stateless=True)
    assert found.verdict == "violated"  # the metric tells the inputs apart every time


@pytest.mark.usefixtures("stand_in")
def test_the_servers_settings_and_model_reach_the_mod() -> None:
    rng = np.random.default_rng
    plain, doubled = from_flower(NoiseMod()), from_flower(NoiseMod(), config={"factor": 2.0})
    assert np.array(doubled(1.0, 3, rng(0))) - np.array(plain(1.0, 3, rng(0))) == pytest.approx(1.0)
    moved = from_flower(keeps_all, model=[np.array([10.0, 20.0])])
    assert moved((1.0, 2.0), 1, rng(0))[0].tolist() == [11, 22]
    with pytest.raises(ValueError, match=r"x must have the model's shapes, \[\(2,\)\], got 1.0"):
        moved(1.0, 1, rng(0))


@pytest.mark.usefixtures("stand_in")
def test_a_mod_that_answers_with_an_error_is_named_with_its_reason() -> None:
    with pytest.raises(ValueError, match="the mod answered with an error: no clipping_norm"):
        from_flower(fails)(1.0, 1, np.random.default_rng(0))


@together("candidate", [3, NoiseMod])
def test_what_is_no_mod_is_refused(candidate: Any) -> None:
    with pytest.raises(ValueError, match=r"mod must be a Flower mod \(message, context, call_next\), got"):
        from_flower(candidate)


def gaussian_epsilon(distance: float, sigma: float, delta: float) -> float:
    """The least epsilon of normal noise at delta: Balle and Wang (2018), Theorem 8, by bisection."""

    def profile(epsilon: float) -> float:
        a, b = distance / (2 * sigma), epsilon * sigma / distance
        return (math.erfc((b - a) / math.sqrt(2)) - math.exp(epsilon) * math.erfc((a + b) / math.sqrt(2))) / 2

    low, high = 0.0, 50.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if profile(middle) > delta else (low, middle)
    return high


@pytest.fixture
def mods() -> Any:
    return pytest.importorskip("flwr.clientapp.mod", reason="flwr is not installed")


def test_flowers_local_noise_is_audited_at_its_epsilon(mods: Any) -> None:
    """Updates of norm 1 either way: the noise has less than 3, 1 in 1e6 seeds fails; 0.1 is shown with this one.

    4,000 outputs of each input suffice for an epsilon above 3 to be shown, so that the verdict is not "inconclusive".
    """
    mod = mods.LocalDpMod(clipping_norm=1.0, sensitivity=2.0, epsilon=3.0, delta=0.01)
    sigma = 2.0 * math.sqrt(2 * math.log(1.25 / 0.01)) / 3.0
    assert gaussian_epsilon(2.0, sigma, 0.01) < 3.0
    sound = audit(from_flower(mod), (-1.0, 1.0), 3.0, 0.01, samples=4_000, confidence=1 - 1e-6)
    assert sound.verdict == "consistent"
    found = audit(from_flower(mod), (-1.0, 1.0), 0.1, 0.01, samples=4_000, confidence=1 - 1e-6)
    assert found.verdict == "violated"


def test_flowers_clipping_mods_send_what_they_clipped_and_whether(mods: Any) -> None:
    rng = np.random.default_rng
    for name, added in (("fixedclipping_mod", []), ("adaptiveclipping_mod", [1.0])):
        sampler = from_flower(getattr(mods, name), config={"clipping_norm": 1.0})
        assert sampler((3.0, 4.0), 2, rng(0))[0].tolist() == pytest.approx([0.6, 0.8, *added])
        with pytest.raises(ValueError, match=r"the mod answered with an error: .*clipping_norm"):
            from_flower(getattr(mods, name))((3.0, 4.0), 1, rng(0))


def test_flowers_older_mods_are_accepted_too(mods: Any) -> None:
    older = pytest.importorskip("flwr.client.mod")
    update = [np.ones((2, 2), dtype=np.float32), np.ones(3, dtype=np.float32)]
    for module in (mods, older):
        sampler = from_flower(module.LocalDpMod(1.0, 1.0, 1.0, 1e-5))
        first, again, other = (sampler(update, 3, np.random.default_rng(seed)) for seed in (3, 3, 4))
        assert read(first, 3).shape == "vectors of 7"
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)


def test_flowers_log_is_silent_meanwhile_and_as_before_afterwards(mods: Any) -> None:
    logger, heard = logging.getLogger("flwr"), []
    handler = logging.Handler()
    handler.emit = heard.append
    logger.addHandler(handler)
    try:
        level = logger.level
        from_flower(mods.LocalDpMod(1.0, 1.0, 1.0, 1e-5))(1.0, 2, np.random.default_rng(0))
        assert logger.level == level
        assert heard == []
    finally:
        logger.removeHandler(handler)
