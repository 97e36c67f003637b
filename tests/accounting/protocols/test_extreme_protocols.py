"""Protocols at the limits of floats, of any numeric type, and their printed numbers: never on the wrong side."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_audit.accounting.protocols.protocol import Protocol, Sampling, Shuffling, Split, Step
from ldp_audit.accounting.protocols.protocol_report import ProtocolReport, account, interval, number
from ldp_audit.mechanisms import RandomizedResponse, TwoPoint
from tests.together import together


def report(epsilon: float, delta: float = 1e-5) -> ProtocolReport:
    return account(Protocol("x", (Step(RandomizedResponse(epsilon), ("rounds",)),), rounds=10), delta=delta)


@given(st.floats(1e6, 1e300))
def test_what_is_printed_of_a_large_number_is_on_its_side(value: float) -> None:
    """But for the rounding of a sum: a ten-trillionth, and a hundredth of one."""
    slack = min(Fraction(value) / 10**13, Fraction(1, 100)) if value < 1e20 else Fraction(value) / 10**13
    above, below = Fraction(number(value)), Fraction(interval((value, 2 * value)).split(" to ")[0])
    assert Fraction(value) - slack <= above <= Fraction(value) * (1 + Fraction(1, 10**5)) + 1
    assert Fraction(value) * (1 - Fraction(1, 10**5)) - 1 <= below <= Fraction(value) + slack


def test_whole_numbers_beyond_ten_trillions_are_printed_as_they_are() -> None:
    for value in (1e13 - 1, 1e13 + 1, 2.0**53 - 1, 5e18):
        assert number(value) == str(int(value))
        assert interval((value, 2 * value)).split(" to ")[0] == str(int(value))
    assert number(1e13 + 0.5) == "10000000000001"
    assert interval((1e13 + 0.5, 2e13)) == "10000000000000 to 20000000000000"
    assert number(1e200) == "1e+200"


def test_a_total_is_not_printed_below_itself() -> None:
    step = Step(TwoPoint(50), ("rounds", "dimensions"))
    found = account(Protocol("x", (step,), rounds=10**9, dimensions=10**8)).describe()
    assert "5000000000000000000" in found
    assert "499999999999" not in found


def test_totals_below_the_square_root_of_all_floats_are_no_false_zero() -> None:
    found = report(1e-200, 1e-300)
    exact = found.total("exact").lower
    assert exact == pytest.approx(1e-199)
    for key in ("basic", "advanced", "improved", "optimal", "zCDP", "RDP"):
        assert found.total(key).epsilon >= exact
    assert found.total("improved").epsilon == pytest.approx(1e-200 * math.sqrt(20 * 300 * math.log(10)))


@together("epsilon", [600.0, 800.0, 1e160, 1e200])
def test_totals_of_huge_losses_are_stated(epsilon: float) -> None:
    found = report(epsilon)
    assert found.total("basic").epsilon == pytest.approx(10 * epsilon)
    assert all(one.epsilon >= (found.total("exact").lower or 0.0) for one in found.totals)
    assert found.total("improved").epsilon < math.inf
    assert len(max(found.describe().splitlines(), key=len)) < 200


def test_numbers_of_numpy_describe_the_same_protocol() -> None:
    def protocol(whole: type, real: type) -> Protocol:
        step = Step(RandomizedResponse(1.0), ("rounds", whole(3)), sampling=Sampling("poisson", rate=real(0.25)))
        return Protocol("x", (step,), rounds=whole(5), epochs=real(2))

    found = protocol(np.int64, np.float32)
    assert found == protocol(int, float)
    assert account(found, delta=np.float64(1e-5)).to_dict() == account(protocol(int, float)).to_dict()
    assert Shuffling(np.int32(10)).clients == 10  # type: ignore[arg-type]
    split = Split(np.float32(1.0), mu=np.float64(0.25))  # type: ignore[arg-type]
    assert split.stages(np.int64(2), 3) == Split(1.0, mu=0.25).stages(2, 3)  # type: ignore[arg-type]
    staged = Step("PerturbedSampling(d=100, k=10)", ("epochs",), stage="selection")
    assert Protocol("x", (staged,), split=Split(1.0, mu=np.float64(0.5))).mechanisms[0].epsilon == 0.5  # type: ignore[arg-type]


@together(
    ("ask", "message"),
    [
        (lambda: account("x"), "protocol must be a Protocol, .*, got 'x'"),  # type: ignore[arg-type]
        (lambda: Split(1.0, mu=0.1).stages(0, 1), r"epochs must be a whole number in 1 .. 2\*\*53, got 0"),
        (lambda: Split(1.0, mu=0.1).stages(1, 0), r"dimensions must be a whole number in 1 .. 2\*\*53, got 0"),
        (lambda: Split(1.0, mu=1), "mu must leave something to the value stage, got 1"),
        (lambda: Split(1.0, batch=9, threshold=1.0), "threshold must leave something to the value stage, got 1"),
        (lambda: Split(1.0, batch=9, constant=math.inf), "constant must be a finite number >= 0, got inf"),
        (lambda: Protocol("x", (Step(TwoPoint(1), (1,)),), rounds=np.True_), "rounds must be a whole number .*True"),  # type: ignore[arg-type]
    ],
)
def test_what_does_not_fit_is_refused_by_name(ask: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask()  # type: ignore[operator]
