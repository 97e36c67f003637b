"""The event that a declared law proposes, for a test that assumes nothing.

Search samples are drawn as ever, and each is kept as its log-likelihood ratio alone: one number, however long the
output is. Where they agree with the law, it says where to cut the ratio (`law_cuts`). Where they do not, the event is
chosen on samples alone, so that a program which does not follow its law is judged by what it does.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import special

from ldp_audit.auditing.declared.independent_audit import STAGE
from ldp_audit.auditing.declared.law_cuts import cuts_of
from ldp_audit.auditing.declared.law_score import Law, LawScore
from ldp_audit.auditing.event import Event
from ldp_audit.auditing.events.choice import Choice, Sample, choose, scored
from ldp_audit.auditing.events.event_search import search_size
from ldp_audit.auditing.outputs import Outputs, concatenated
from ldp_audit.auditing.program import Program
from ldp_audit.auditing.two_proportions import Counts

_AGREES = 3.0  # standard deviations between what was seen and what the law says of the event


def law_choice(
    program: Program,
    law: Law,
    pair: tuple[Any, Any],
    places: tuple[int, int],
    *,
    samples: int,
    error: float,
    delta: float,
) -> tuple[Choice, int]:
    """The best event of the law's score, with how many search samples of each input it took.

    pair, places: two inputs and their numbers, in either order.   samples: of each input, the test included.
    error: that the test may spend.   Raises ValueError where the outputs are labels alone, and what the law raises.
    """
    score = LawScore(law, pair)
    size = search_size(samples, 1)
    first, second = (
        Sample(
            *(
                _ratios(program, score, x, times * size, (STAGE, place, 1, which))
                for which, times in enumerate((1, 1, 2))
            )
        )
        for x, place in zip(pair, places, strict=True)
    )
    rng = np.random.default_rng(np.random.SeedSequence(program.seed, spawn_key=(STAGE, *places, 1, 0, 0)))
    found = choose(first, second, trials=samples - 4 * size, error=error, delta=delta, rng=rng)
    if delta == 0 and all(part.labels is None for one in (first, second) for part in _parts(one)):
        drawn = [np.concatenate([part.known_numbers for part in _parts(one)]) for one in (first, second)]
        promised = [_promised(drawn, samples - 4 * size, error, swapped=swapped) for swapped in (False, True)]
        found = max([found, *(one for one in promised if one is not None)], key=lambda choice: choice.predicted)
    rare = None if found.rare is None else replace(found.rare, event=replace(found.rare.event, score=score))
    return replace(found, event=replace(found.event, score=score), rare=rare), 4 * size


def _promised(drawn: list[np.ndarray], trials: int, error: float, *, swapped: bool) -> Choice | None:
    """The best cut if the law holds; None where the samples say otherwise."""
    ratios = [-one for one in reversed(drawn)] if swapped else drawn
    values = np.unique(np.concatenate(ratios))
    cuts = cuts_of(values, values, ratios[0], trials)
    z = max(0.0, float(-special.ndtri(error)))
    bounds = cuts.gains - z * np.sqrt(cuts.variances)
    best = int(np.argmax(bounds))
    level = float(cuts.levels[best])
    hits, other = (int(np.count_nonzero(one >= level)) for one in ratios)
    seen = Counts(hits, len(ratios[0]), other, len(ratios[1]))
    away = math.log((hits + 0.5) * (seen.other_trials + 1) / ((other + 0.5) * (seen.trials + 1))) - cuts.gains[best]
    if abs(away) > _AGREES * math.sqrt(1 / (hits + 0.5) + 1 / (other + 0.5)):
        return None
    interval = (-math.inf, math.nextafter(-level, math.inf)) if swapped else (level, math.inf)
    return Choice(Event((interval,)), swapped, float(bounds[best]), seen)


def _parts(sample: Sample) -> tuple[Outputs, Outputs, Outputs]:
    return sample.learn, sample.cut, sample.compare


def _ratios(program: Program, score: LawScore, x: Any, n: int, key: tuple[int, ...]) -> Outputs:
    """The ratios of n outputs, and the labels among them."""
    parts = []
    for call, first in enumerate(range(0, n, program.rows)):
        outputs = program.outputs(x, min(program.rows, n - first), (*key, call))
        parts.append(scored(outputs, score))
    return concatenated(parts)
