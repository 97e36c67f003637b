"""The advantage of the client-membership test over the number of weights: simulation on top of theory."""

from __future__ import annotations

import math

import numpy as np

from ldp_audit.accounting.anonymous_counts import CountLaws, Others, anonymous_count
from ldp_audit.accounting.figure import Figure, Panel, Series
from ldp_audit.accounting.membership.membership_limit import advantage, smallest_dimension
from ldp_audit.accounting.membership.membership_settings import SETTINGS, Setting
from ldp_audit.accounting.membership.membership_simulation import simulate

_SEED = 2021
_TRIALS = 1000
_PLACINGS: dict[Others, str] = {
    "center": "Others at the center of the range",
    "one end": "Others at one end of the range",
}
_DIMENSIONS = (1, 3, 10, 30, 100, 300, 1000, 1_000_000)
_CURVE = [round(d) for d in np.geomspace(1, 1e6, 61)]


def membership_figure() -> Figure:
    """LDP-FL's three settings, others at the center and at one end of the range. Takes about a second; a fixed seed."""
    rng = np.random.default_rng(_SEED)
    needed = {
        others: [smallest_dimension(_laws(one, others), one.rounds, 0.99) for one in SETTINGS] for others in _PLACINGS
    }
    promised = " / ".join(f"{math.tanh(one.epsilon / 2):.4g}" for one in SETTINGS)
    return Figure(
        name="ldp-fl-membership",
        title="Anonymous counts: does one client take part?",
        caption="The server adds up the log-likelihood ratios of the anonymous counts, over all weights and rounds; "
        "nothing is linked. Dots: how much more often this test says yes where the client's weights lie at the upper "
        f"end than where they lie at the lower end, in {_TRIALS} simulated runs each, with 99.9% intervals; dashed: "
        "the normal limit of the exact law. If epsilon per weight were all that is spent, the advantage would be at "
        f"most {promised} (n = 100 / 200 / 500), for every d. It passes 0.99 at "
        f"d = {' / '.join(map(str, needed['center']))} if the other clients hide the target best (left) and at "
        f"d = {' / '.join(map(str, needed['one end']))} if they do worst (right); the smallest classifier of such "
        "pictures has 7850 weights.",
        alt="Two panels, advantage from 0 to 1 over the number of weights on a log scale from 1 to a million. In each, "
        "three rising curves with dots on them, which reach 1 before d = 1000. Left they start between 0.1 and 0.25. "
        "Right the curve for n = 500 lies at 1 throughout.",
        panels=tuple(
            Panel(
                title,
                "weights d",
                "advantage of the test",
                tuple(series for setting in SETTINGS for series in _series(setting, others, rng)),
                x_log=True,
            )
            for others, title in _PLACINGS.items()
        ),
    )


def _series(setting: Setting, others: Others, rng: np.random.Generator) -> list[Series]:
    """Dots, their intervals, and the curve beneath."""
    laws = _laws(setting, others)
    found = [
        simulate(setting.n, d, setting.rounds, setting.epsilon, trials=_TRIALS, rng=rng, others=others)
        for d in _DIMENSIONS
    ]
    theory = [advantage(laws, setting.rounds * d).value for d in _CURVE]
    label = f"n = {setting.n}, epsilon = {setting.epsilon:g}, {setting.rounds} rounds"
    return [
        Series(f"simulated: {label}", _DIMENSIONS, [_rounded(one.advantage) for one in found], style="points"),
        Series(
            "",
            _DIMENSIONS,
            [_rounded(one.low) for one in found],
            [_rounded(one.high) for one in found],
            style="intervals",
        ),
        Series(f"normal limit: n = {setting.n}", _CURVE, [_rounded(value) for value in theory], style="dashed"),
    ]


def _laws(setting: Setting, others: Others) -> CountLaws:
    return anonymous_count(setting.n, setting.epsilon, others=others)


def _rounded(number: float) -> float:
    return float(f"{number:.6g}")
