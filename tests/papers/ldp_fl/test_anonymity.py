"""LDP-FL, what anonymity is worth: the numbers of the accounting, and twins that are false."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from sympy import Rational

from ldp_audit.accounting.conversion.conversions import gdp_within
from ldp_audit.accounting.laws.finite_laws import product_law
from ldp_audit.accounting.shuffling.anonymous_counts import anonymous_count, exact_advantage, exact_laws
from ldp_audit.claims import Statement
from ldp_audit.claims.claim import Claims
from ldp_audit.claims.settling import settle
from ldp_audit.claims.verdict import Verdict
from ldp_audit.papers.ldp_fl.attacks.membership_limit import advantage, break_even_clients
from ldp_audit.papers.ldp_fl.attacks.membership_simulation import SETTINGS, Setting
from ldp_audit.papers.ldp_fl.claims import anonymity
from tests.together import together


def twins() -> list[Statement]:
    """Each equality with its right side moved by a hundredth."""
    parts = [part for claim in Claims(anonymity.CLAIMS) for part in claim.parts if part.relation == "=="]
    return [replace(part, right=part.right * Rational(101, 100)) for part in parts]


@together("twin", twins())
def test_no_equality_with_a_wrong_number_is_proved(twin: Statement) -> None:
    assert settle(twin).verdict is not Verdict.PROVED


FALSE = {
    "the signal at the ends without the t": (
        "LF-SIGNAL",
        1,
        lambda part: replace(part, right=part.right * anonymity.t),
    ),
    "a report that varies less than one at an end": (
        "LF-SIGNAL",
        2,
        lambda part: replace(part, left=part.left * Rational(101, 100)),
    ),
    "a variance of less than a quarter at most": ("LF-SIGNAL", 3, lambda part: replace(part, right=Rational(24, 100))),
    "1.52 million": ("LF-NEED", 0, lambda part: replace(part, left=part.left.subs(Rational("1.51"), Rational("1.52")))),
    "less than 500 clients suffice": ("LF-NEED", 2, lambda part: replace(part, left=part.right, right=part.left)),
    "mu = 0.26806 private enough": (
        "LF-NEED",
        3,
        lambda part: replace(part, left=anonymity.tail_excess(Fraction("0.26806"), above=True)),
    ),
    "mu = 0.26804 not": (
        "LF-NEED",
        4,
        lambda part: replace(part, right=anonymity.tail_excess(Fraction("0.26804"), above=False)),
    ),
    "two weights above one half": ("LF-MEMBER", 5, lambda part: replace(part, left=part.right, right=part.left)),
    "three weights below one half": ("LF-MEMBER", 6, lambda part: replace(part, left=part.right, right=part.left)),
    "50 weights suffice too": ("LF-FOUND", 0, lambda part: replace(part, left=2 * (part.left / 2) ** Rational(1, 10))),
    "an error that epsilon in all allows": ("LF-FOUND", 1, lambda part: replace(part, right=part.right / 10**40)),
}


@together("name", FALSE)
def test_no_false_neighbour_is_proved(name: str) -> None:
    claim, place, change = FALSE[name]
    part = {one.id: one for one in Claims(anonymity.CLAIMS)}[claim].parts[place]
    twin = change(part)
    assert twin != part
    assert settle(twin).verdict is Verdict.REFUTED


def test_the_numbers_are_those_of_the_accounting() -> None:
    assert float(anonymity.MU) == pytest.approx(gdp_within(1, 1e-5).value, abs=5e-6)
    assert float(anonymity.needed(10**5, 1)) == pytest.approx(break_even_clients(1, 1, 10**5, 1, 1e-5), rel=1e-4)  # type: ignore[arg-type]


@together("d", [1, 2, 3, 4])
def test_the_sums_are_the_total_variation_distances(d: int) -> None:
    laws = exact_laws(Fraction(3, 4), Fraction(1, 4), [Fraction(1, 4)])
    found = exact_advantage(*(product_law([law] * d) for law in laws))  # type: ignore[arg-type]
    assert anonymity.best_advantage(d).doit() == Rational(found.numerator, found.denominator)


@together("above", [True, False])
def test_the_tail_is_enclosed_on_the_stated_side(above: bool) -> None:
    from scipy import special

    for x in (Fraction("3.6"), Fraction("3.86")):
        found, exact = anonymity.upper_tail(x, above=above).evalf(30), special.ndtr(-float(x))
        assert 0 <= (found - exact) * (1 if above else -1) < 1e-10


def test_the_settings_are_those_of_the_accounting() -> None:
    assert tuple((one.data, one.n, one.epsilon, one.rounds) for one in SETTINGS) == anonymity.SETTINGS
    assert min(network.weights for one in SETTINGS for network in one.networks) == anonymity.LINEAR


@together("setting", SETTINGS)
def test_the_best_test_has_at_least_what_the_simplest_is_proved_to_have(setting: Setting) -> None:
    for others in ("one end", "center"):
        laws = anonymous_count(setting.n, setting.epsilon, others=others)
        assert advantage(laws, setting.rounds * anonymity.FEW).low >= 0.99
