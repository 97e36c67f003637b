"""Forged reports of LDP-FL are refused, as the core's tests have it of their own paper's: a minute and a half."""

from __future__ import annotations

import pytest

from tests.claims.test_recheck import (  # noqa: F401
    test_a_changed_coefficient_in_a_proof_is_refused,
    test_a_changed_coefficient_in_a_statement_is_refused,
    test_a_changed_counterexample_is_refused,
    test_a_changed_verdict_is_refused_and_the_claim_named,
    test_a_changed_verdict_of_a_part_or_a_correction_is_refused,
)

pytestmark = pytest.mark.slow
