"""A program of a user: `make package` gives it to mypy and pyright, both strict, beside the installed wheel."""
# pyright: strict

from __future__ import annotations

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

from ldp_audit import TwoPoint, audit, fit, implementation, plan, search
from ldp_audit.accounting import PrivacyLoss, calibrate, compose, shuffle, subsample
from ldp_audit.auditing import AuditResult, as_sampler, audit_scores
from ldp_audit.auditing.fitting import FitResult
from ldp_audit.claims import Claim, Verdict, is_private, settle_claim
from ldp_audit.mechanisms import Laplace, RandomizedResponse, SymbolicChannel, T, Variable
from ldp_audit_pytest import Ldp


def sampler(x: float, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    return x + rng.laplace(scale=0.8, size=n)


def test_sampler(ldp: Ldp) -> None:
    assert_type(ldp.assert_private(sampler, epsilon=2.0, inputs=(0.0, 1.0), detects=1.1), AuditResult)
    assert_type(ldp.assert_fits(sampler, Laplace(0.8), inputs=(0.0, 1.0)), FitResult)


mechanism = TwoPoint(epsilon=1.0)
assert_type(mechanism.exact_epsilon(), float)
assert_type(mechanism.delta([0.0, 0.5]), NDArray[np.float64] | np.float64)
assert_type(mechanism.worst_pair(), tuple[float, float])
reports = mechanism.sample(np.zeros(5), rng=np.random.default_rng(1))

result = audit(sampler, inputs=search(0.0, 1.0), claimed_epsilon=1.0)
assert_type(result, AuditResult)
assert_type(result.epsilon_lower, float)
assert_type(result.verdict, str)
assert_type(fit(sampler, Laplace(0.8), (0.0, 1.0)).describe(), str)
assert_type(plan(1.0, 0.1), int)
assert_type(audit_scores([1.0], [0.0], 1.0), AuditResult)
whole = implementation(as_sampler(mechanism), inputs=(0.0, 1.0), bits=16).epsilon

loss = compose([(RandomizedResponse(0.1), 100), (Laplace(20.0), 50)])
assert_type(loss, PrivacyLoss)
assert_type(loss.epsilon_bounds(delta=1e-6), tuple[float, float])
assert_type(shuffle(subsample(mechanism, rate=0.1), n=1_000).epsilon(delta=1e-6), float)
assert_type(calibrate(Laplace, epsilon=1.0, low=0.1, high=10.0).value, float)

x = Variable("x", 0, 1)
probability = (1 + x * (T - 1)) / (T + 1)
coin = SymbolicChannel("coin", inputs=x, atoms={1: probability, 0: 1 - probability})
claim = Claim("C-1", "my notes, 1", "The coin is epsilon-LDP.", parts=is_private(coin, T))
assert_type(settle_claim(claim).verdict, Verdict)
