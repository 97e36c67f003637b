from __future__ import annotations

import math
import pickle
import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from ldp_audit.auditing import adapters, audit
from ldp_audit.auditing.adapters import AdaptedSampler, as_sampler
from ldp_audit.mechanisms import TwoPoint
from tests.auditing.adapters.stand_ins import DPMechanism, DPTransformer, Measurement, NoiseMod, grr_client
from tests.auditing.worker_samplers import MemoisedRappor
from tests.together import together


def sampler(x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.full(n, x)


def sampler_with_options(x: Any, n: int, rng: np.random.Generator, scale: float = 1.0) -> np.ndarray:
    return np.full(n, x)


def own_mod(msg: Any, ctxt: Any, call_next: Any) -> Any:
    return call_next(msg, ctxt)


def on_batches(batch: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return batch


class OwnMeasurement(Measurement):
    """A user's class, of a library's."""


class Sampler:
    def __call__(self, x: Any, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.full(n, x)


class ModuleWithSample(torch.nn.Module):
    def sample(self, x: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
        return x


GRR = partial(grr_client, k=4, epsilon=1.0)


@together(
    ("target", "adapter"),
    [
        (Measurement(), adapters.from_opendp),
        (OwnMeasurement(), adapters.from_opendp),
        (DPMechanism(scale=1.0), adapters.from_diffprivlib),
        (DPTransformer(DPMechanism(scale=1.0)), adapters.from_diffprivlib),
        (GRR, adapters.from_multi_freq_ldpy),
        (NoiseMod(), adapters.from_flower),
        (own_mod, adapters.from_flower),
        (TwoPoint(1.0), adapters.from_mechanism),
        (TwoPoint(1.0).implemented(), adapters.from_mechanism),
        (ModuleWithSample(), adapters.from_mechanism),
        (torch.nn.Dropout(0.5), adapters.from_torch),
        (torch.nn.functional.dropout, adapters.from_torch),
        (on_batches, adapters.from_torch),
        (lambda x: x, adapters.from_function),
        (lambda x, rng: x, adapters.from_function),
        (lambda x, scale=1.0, rng=None: x, adapters.from_function),
    ],
)
def test_the_adapter_is_the_one_for_what_it_is(target: Any, adapter: Any) -> None:
    assert drawn_by(as_sampler(target)) == drawn_by(adapter(target))


def drawn_by(found: Any) -> str:
    """The adapter's module."""
    assert isinstance(found, AdaptedSampler)
    assert isinstance(found.draw, partial)
    return found.draw.func.__module__


@together("target", [sampler, sampler_with_options, Sampler(), Sampler().__call__])
def test_a_sampler_stays_what_it_is(target: Any) -> None:
    assert as_sampler(target) is target


def test_what_an_adapter_returned_is_a_sampler() -> None:
    adapted = as_sampler(TwoPoint(1.0))
    assert as_sampler(adapted) is adapted


@together(
    ("adapted", "x"),
    [(as_sampler(TwoPoint(1.0)), 0.5), (as_sampler(partial(sorted)), [2, 1]), (adapters.from_torch(on_batches), 0.5)],
)
def test_a_sampler_can_be_sent_to_another_process(adapted: AdaptedSampler, x: Any) -> None:
    sent = pickle.loads(pickle.dumps(adapted))
    assert np.array_equal(sent(x, 9, np.random.default_rng(0)), adapted(x, 9, np.random.default_rng(0)))


def test_arguments_are_handed_to_the_adapter() -> None:
    assert as_sampler(grr_client, 4, 50.0)(2, 3, np.random.default_rng(0)) == [2, 2, 2]
    assert as_sampler(lambda x: 1 / x, errors="output")(0, 1, np.random.default_rng(0)) == ["error: ZeroDivisionError"]
    with pytest.raises(ValueError, match=r"a sampler \(x, n, rng\) takes no further arguments, got \('errors',\)"):
        as_sampler(sampler, errors="output")


@together(
    ("target", "complaint"),
    [
        (3, "target must be something to draw from, got 3; "),
        (TwoPoint, r"target must be something to draw from, got <class .*, which needs \(epsilon\): "),
        (DPMechanism, r"target must be something to draw from, got <class .*, which needs \(scale\): "),
        (None, "target must be something to draw from, got None; "),
        (
            lambda a, b, c, d: a,
            r"target must not need the arguments \(a, b, c, d\); fix some: from functools import partial; partial\(f,",
        ),
        (max, "target must tell its parameters, got <built-in function max>; "),
    ],
)
def test_anything_else_is_one_error_that_says_what_is_accepted(target: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint + r".*accepted: a sampler \(x, n, rng\), a function f\(x\) or"):
        as_sampler(target)


HEAVY = ("torch", "numba", "opendp", "diffprivlib", "multi_freq_ldpy", "flwr", "sympy", "sklearn")
RECOGNISE = "from ldp_audit.auditing.adapters import as_sampler; s = as_sampler(lambda x, rng: x); s(1, 2, None); "


@together(
    ("extra", "loaded"),
    [("", []), ("import sys; sys.modules['numba'] = sys; ", ["numba"])],
)
def test_recognising_a_function_imports_no_library(extra: str, loaded: list[str]) -> None:
    code = extra + RECOGNISE + f"import sys; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == loaded


class Client:
    """One public method of one value."""

    made = 0

    def __init__(self, shift: int = 0) -> None:
        Client.made += 1
        self.shift = shift

    @property
    def trap(self) -> int:
        raise AssertionError("a property was evaluated")

    def privatize(self, x: int) -> int:
        return x + self.shift

    def report(self, reports: int, *, total: int) -> int:
        return total

    def reset(self) -> None:
        self.shift = 0

    def merge(self, one: int, other: int) -> int:
        return one + other

    def _encode(self, x: int) -> int:
        return x


class OneMethodWithRng:
    def perturb(self, x: int, rng: np.random.Generator) -> int:
        return x + int(rng.integers(1, 2))


class SeveralMethods:
    def encode(self, x: int) -> int:
        return x

    @staticmethod
    def privatize(x: int) -> int:
        return x + 1


class Called:
    def decode(self, y: int) -> int:
        return y

    def __call__(self, x: int) -> int:
        return x + 1


class Fails:
    def __init__(self) -> None:
        raise KeyError("no key")


@together(
    ("target", "output"),
    [
        (Client(1), 6),
        (Client, 5),
        (lambda: Client(1), 6),
        (partial(Client, 1), 6),
        (OneMethodWithRng, 6),
        (OneMethodWithRng(), 6),
        (SeveralMethods().privatize, 6),
        (SeveralMethods.privatize, 6),
        (Called, 6),
        (Called(), 6),
        (lambda: lambda x, n, rng: [x + 1] * n, 6),
    ],
)
def test_a_class_a_factory_and_an_object_stand_for_their_method_of_one_value(target: Any, output: Any) -> None:
    assert as_sampler(target)(5, 2, np.random.default_rng(0)) == [output] * 2


def test_a_class_makes_one_object() -> None:
    before = Client.made
    as_sampler(Client)(5, 100, np.random.default_rng(0))
    assert Client.made == before + 1


@together(
    ("target", "complaint"),
    [
        (SeveralMethods, "with encode, privatize: name one, such as SeveralMethods.encode"),
        (SeveralMethods.encode, "the method of an object, got SeveralMethods.encode, which is its class's"),
        (Fails, r"cannot make what is to be audited: KeyError\('no key'\)"),
        (lambda: 3, "something to draw from, got 3"),
        (lambda: Client, "something to draw from, got <class"),
    ],
)
def test_what_names_no_single_method_is_told_how_to_choose(target: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        as_sampler(target)


def test_clients_that_remember_are_audited_as_new_ones_with_as_many_reports_as_the_server_sees() -> None:
    """A permanent bit is 1 with probability 3/4 or 1/4, a report of it with 5/8 or 3/8: epsilon is 2 ln(5/3) = 1.02.

    Of two reports it is 2 ln(7/3) = 1.69. The first audit fails once in 1e6 seeds; in the second an event that has
    0.191 and 0.035, of 4,800 each, is 10 deviations above the claim, of which the confidence takes 4.8.
    """
    one, two = (as_sampler(fresh=MemoisedRappor, reports=reports) for reports in (1, 2))
    assert audit(one, (0, 1), 2 * math.log(5 / 3), samples=4_000, confidence=1 - 1e-6).verdict == "consistent"
    assert audit(two, (0, 1), 2 * math.log(5 / 3), samples=8_000, confidence=1 - 1e-6).verdict == "violated"


def test_one_client_alone_that_remembers_has_one_permanent_answer() -> None:
    assert audit(as_sampler(MemoisedRappor), (0, 1), 2 * math.log(5 / 3), samples=8_000).verdict == "inconclusive"


class FromRng:
    """Draws its answer when it is made."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.shift = float(rng.random())

    def __call__(self, x: float) -> float:
        return x + self.shift


@together(
    ("make", "repeatable"),
    [(FromRng, True), (lambda rng=None: FromRng(rng), True), (lambda: FromRng(np.random.default_rng()), False)],
)
def test_a_fresh_client_is_made_for_each_output_and_its_reports_are_a_row(make: Any, repeatable: bool) -> None:
    sampler = as_sampler(fresh=make, reports=3)
    rows = np.array(sampler(1.0, 5, np.random.default_rng(0)))
    assert rows.shape == (5, 3)
    assert [len({*row}) for row in rows] == [1] * 5
    assert len({*rows[:, 0]}) == 5
    assert np.array_equal(rows, sampler(1.0, 5, np.random.default_rng(0))) == repeatable
    assert isinstance(sampler, AdaptedSampler)
    assert sampler.repeatable == repeatable


def test_a_fresh_client_may_be_anything_that_is_a_sampler() -> None:
    """A mechanism, a sampler (x, n, rng), one that takes rng, and reports that are text."""
    rng = np.random.default_rng(0)
    assert {*as_sampler(fresh=lambda: TwoPoint(50.0), reports=2)(1.0, 1, rng)[0]} == {
        TwoPoint(50.0).implemented().sample(1.0, rng=rng)
    }
    assert as_sampler(fresh=lambda: sampler, reports=2)(1, 2, rng)[0].tolist() == [1, 1]
    assert as_sampler(fresh=OneMethodWithRng)(1, 2, rng) == [2, 2]
    assert as_sampler(fresh=lambda: lambda x: str(x), reports=2)(1, 1, rng) == [("1", "1")]


@together(
    ("make", "reports", "complaint"),
    [
        (Client(1), 1, r"fresh must be a class or function that makes a client.*Client object .* is none"),
        (TwoPoint, 1, r"fresh must .* needs \(epsilon\)"),
        (sampler, 1, r"fresh must .* needs \(x, n, rng\)"),
        (Client, 0, "reports must be a whole number >= 1, got 0"),
        (Client, 1.5, "reports must be a whole number >= 1, got 1.5"),
    ],
)
def test_what_makes_no_clients_is_refused(make: Any, reports: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        as_sampler(fresh=make, reports=reports)
