r"""Membership inference: bounds from recorded scores of members and non-members, or from guesses about canaries.

No program is run. Each score is of a training of its own, with the record (a member) or without it; the bound is that
of `audit`, from the scores that did not choose the event.

Guesses are about one training with m canaries, each included by a fair coin of its own, S in {-1, 1}**m (Steinke, Nasr
and Jagielski, "Privacy Auditing with One (1) Training Run", NeurIPS 2023). From the output alone the attacker guesses r
of the coins, T, and is right in C. For an epsilon that holds, each guess is right with probability q = e**epsilon /
(1 + e**epsilon) at most, given T and the other coins, so P(C >= v) <= b = P(Binomial(r, q) >= v) (their Theorem 5.2
with delta = 0). For (epsilon, delta) it is at most

    b + m delta (1 - q) M,   M the mean, over j < r, of the largest probability M_j of a value of Binomial(j, q).

The proof. Given the other coins, let P+ and P- be the distributions of T for S_i = 1 and -1. Given T = t too, S_i = t_i
with probability at most q + y_i, where y_i = (1 - q) (P_{t_i} - e**epsilon P_{-t_i})_+ / (P+ + P-). T has the
distribution (P+ + P-)/2, so the mean of y_i over all t with t_i != 0 is at most (1 - q) (delta + delta) / 2. Given T =
t, look at the guessed coins in a random order. After k of them, c of which are right, let Z_k = P(c + Binomial(r - k,
q) >= v). From Z_{k-1}, Z_k grows in the mean by at most y P(Binomial(r - k, q) = v - 1 - c) <= y M_{r-k}, where y is
the mean of y_i given T and the coins before. Now Z_0 = b, and Z_r says whether C >= v. A guessed coin's place is
uniform in 1 .. r and independent of its y_i, so P(C >= v | T = t) <= b + M (sum of the means of y_i over the guessed
coins), and the mean over T is the bound. The theorem's own term for delta is not used.

A refuted epsilon refutes all smaller ones, which imply it: the bound is the greatest that is refuted.

A trade-off curve f says more than one epsilon and delta: an event of probability y on one of two neighbours has
probability g(y) = f(1 - y) or more on the other (Dong, Roth and Su 2022). For Gaussian noise of mu, g(y) is
Phi(Phi^-1(y) - mu). For one training it was used by Mahloujifar, Melis and Chaudhuri ("Auditing f-Differential Privacy
in One Run", 2024). Claim: with a_c = P(C >= c), for every c in 1 .. r,

    (r - c + 1) a_{c-1} >= m g((c a_c + sum of a_j over j > c) / m) + sum of a_j over j >= c.

The proof. Fix a canary i, the other coins and b in {-1, 1}. Let O be the event that T_i = b and that at least c - 1 of
the other guesses are right. If S_i = b, O says that guess i is right and C >= c; if S_i = -b, that guess i is wrong and
C >= c - 1. So P(O | -b) >= g(P(O | b)). Take means over i, b and the other coins, each uniform. As g is convex,

    E[r - C; C >= c - 1] / m >= g(E[C; C >= c] / m).

Both are sums of tails: E[C; C >= c] = c a_c + sum of a_j over j > c, and E[r - C; C >= c - 1] = (r - c + 1) a_{c-1} -
sum of a_j over j >= c. The claim's right side grows in each a_j. So if P(C >= v) >= error, each a_c is at least what
the recursion gives that begins with error at c = v, with 0 above, and takes each a_{c-1} as small as the claim and a_c
allow. Where that exceeds 1, P(C >= v) < error, and v right guesses refute f.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ldp_audit.auditing.bounds import Counts, check_claim, check_confidence, lower_limit
from ldp_audit.auditing.choice import Choice, Judge, Sample, choose_score, coverage_floor, hits_needed, sightings_to_win
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.evidence import EventBound, Evidence, PrivacyClaim
from ldp_audit.auditing.outputs import WIDE, Outputs, rounds
from ldp_audit.auditing.power import HIGHEST_CLAIM, Reach
from ldp_audit.auditing.result import CONSISTENT, INCONCLUSIVE, VIOLATED, AuditResult, Witness, plain
from ldp_audit.mechanisms.inputs import array_of
from ldp_audit.numerics import between, nonnegative, whole
from ldp_audit.shown import Judged

_STANDARD_ERRORS = 3.0  # standard deviations
_FEWEST = 3  # scores of either kind that choose an event
_SHAVE, _SLACK, _BLOCKS = 1e-10, 1.01, 1000  # relative: above the rounding of the limit, and of M
_NEAR, _MOST_STEPS = 1e-6, 200
_MOST_MU, _HALVINGS = 40.0, 40
_ROUNDING = 1e-9  # relative: far above that of the recursion

_OF_SCORES = (
    "assumed: the scores are independent, the members' from one distribution and the non-members' from another, as "
    "those of separate trainings are; canaries of one training influence each other's scores: see audit_guesses"
)
_OF_GUESSES = (
    "assumed: each canary was included by a fair coin of its own, and the guesses depend on the coins through the "
    "training's output alone"
)
_OF_NUMBERS = "the numbers of canaries and of guesses were fixed beforehand"


def audit_scores(
    members: ArrayLike,
    non_members: ArrayLike,
    claimed_epsilon: float | None = None,
    claimed_delta: float = 0.0,
    *,
    confidence: float = 0.999,
    seed: int = 0,
    split: float = 0.25,
) -> AuditResult:
    """Audit recorded scores, such as the losses of a canary in trainings with it and without it.

    members, non_members: real numbers, shapes (n,) and (m,), infinite ones included. Assumed: all n + m are
    independent, the members' from one distribution and the non-members' from another. Scores of separate trainings are.
    Canaries of one training are not, unless none influences the score of another (else see `audit_guesses`).
    claimed_epsilon: nats; None where only the bound is wanted.   claimed_delta: in [0, 1).
    confidence: in [0.5, 1).   seed: of the shuffle that decides which scores choose.
    split: the share of the scores that choose two events, that of `choose_score` and the half-line whose frequencies
    differ most significantly; the rest test them, each with half of the error.
    Raises ValueError for bad arguments.
    """
    start = time.perf_counter()
    check_claim(claimed_epsilon, claimed_delta)
    check_confidence(confidence)
    whole(seed, "seed", 0)
    between(split, "split", "in (0, 1)", lambda one: 0 < one < 1)
    claimed_delta = float(claimed_delta)
    rng = np.random.default_rng(seed)
    scores = [rng.permutation(_read(*one)) for one in (("members", members), ("non_members", non_members))]
    chosen = [int(split * len(one)) for one in scores]
    search, test = zip(*((one[:k], one[k:]) for one, k in zip(scores, chosen, strict=True)), strict=True)
    error = 1 - float(confidence)
    floor = 1.0
    if min(chosen) < _FEWEST:  # too few: no event is tested
        choices = [Choice(Event(), swapped=False, predicted=0.0, seen=Counts(0, 1, 0, 1))]
    else:
        first, second = (Sample(*map(Outputs, np.array_split(one, 3))) for one in search)
        trials = min(map(len, test))
        judge = Judge(trials, error / 2, claimed_delta)
        chosen_one = choose_score(first, second, judge, rng, scores=(None,))
        choices = [chosen_one, most_significant(*search)]
        fresh = min(chosen) * 2 // 3  # on which values are compared; half-lines are on all
        claimed = min(claimed_epsilon or 0.0, HIGHEST_CLAIM)
        hits = hits_needed(trials, error / 2, claimed, claimed_delta)
        floor = coverage_floor(fresh, sightings_to_win(fresh, chosen_one.predicted, judge), trials, hits)
    share = error / len(choices)
    witnesses = [tested(one, ("members", "non-members"), *test) for one in choices]
    claim = PrivacyClaim(None if claimed_epsilon is None else float(claimed_epsilon), claimed_delta, float(confidence))
    bounds = [
        EventBound.of(witness, share, one.design_epsilon(claimed_delta), claim)
        for one, witness in zip(choices, witnesses, strict=True)
    ]
    best = choices[max(range(len(bounds)), key=lambda place: bounds[place].epsilon)]
    none = None if len(choices) > 1 else math.inf
    evidence = Evidence(
        bounds,
        [witness.counts for witness in witnesses],
        Reach(best.seen, min(map(len, test)), share, *claim.pair, simulated=none),
        drawn=sum(map(len, scores)),
        budget={"event": share} | ({"alternatives": share} if len(choices) > 1 else {}),
        floor=floor,
        notes=(_OF_SCORES,),
    )
    return replace(evidence.result(claim, int(seed)), seconds=time.perf_counter() - start)


def most_significant(first: np.ndarray, second: np.ndarray) -> Choice:
    """The half-line of scores whose frequencies on the two sides differ most, less some standard errors.

    first, second: scores, shapes (n,) and (m,).   A small difference is more significant in a rare event.
    """
    levels = np.unique(np.concatenate([first, second]))
    hits, others = (len(one) - np.searchsorted(np.sort(one), levels, side="left") for one in (first, second))
    n, m = len(first), len(second)
    p, q = hits / n, others / m
    doubt = _STANDARD_ERRORS * np.sqrt((p * (1 - p) + 0.5 / n) / n + (q * (1 - q) + 0.5 / m) / m)
    place = int(np.argmax(np.abs(p - q) - doubt))
    seen, swapped = Counts(int(hits[place]), n, int(others[place]), m), bool(p[place] < q[place])
    event = Event(((float(levels[place]), math.inf),))
    return Choice(event, swapped, 0.0, seen.swapped() if swapped else seen)


def tested(choice: Choice, inputs: tuple[Any, Any], first: np.ndarray, second: np.ndarray) -> Witness:
    """The chosen event with its counts on scores that did not choose it."""
    counts = Counts(choice.event.count(Outputs(first)), len(first), choice.event.count(Outputs(second)), len(second))
    return Witness(inputs, choice.event, counts).turned(choice.swapped)


def _read(name: str, values: ArrayLike) -> np.ndarray:
    """The scores as float64, shape (n,). Raises ValueError for anything else."""
    array = array_of(name, values)
    if array.ndim != 1 or array.dtype.kind not in "biuf" or len(array) == 0:
        raise ValueError(
            f"{name} must be one row of real numbers, one at least, got shape {array.shape} and dtype {array.dtype}"
        )
    found = array.astype(np.float64)
    if array.dtype.kind in "iu" and any(int(one) != float(one) for one in array[np.abs(found) >= 2.0**53]):
        raise ValueError(
            f"{name} must be numbers that float64 holds, got whole numbers beyond 2**53 that it would round"
        )
    if rounds(array, found):
        raise ValueError(f"{name} must be numbers that float64 holds, got {WIDE} ({array.dtype})")
    if np.isnan(found).any():
        raise ValueError(f"{name} must not have NaN, got NaN first at place {int(np.argmax(np.isnan(found)))}")
    return found


@dataclass(frozen=True)
class GuessesResult(Judged):
    """The outcome of `audit_guesses`.

    verdict: "violated"; "consistent"; or "inconclusive": so few guesses could not have refuted the claim.
    epsilon_lower: nats; at most the training's true epsilon at claimed_delta, with probability >= confidence.
    delta_lower: the same for its delta at claimed_epsilon. None without a claimed epsilon, or without the number of
    canaries.   mu_lower: the same for the least mu of Gaussian noise whose trade-off curve the training has. None
    without the number of canaries. All hold at once, but in a share of at most 1 - confidence of the trainings.
    """

    verdict: str
    epsilon_lower: float
    delta_lower: float | None
    claimed_epsilon: float | None
    claimed_delta: float
    confidence: float
    correct: int
    guesses: int
    canaries: int | None
    notes: tuple[str, ...]
    claimed_mu: float | None = None
    mu_lower: float | None = None
    trade_off_refuted: bool | None = None

    @property
    def violated(self) -> bool:
        """Whether the claim is false, at the stated confidence."""
        return self.verdict == VIOLATED

    def describe(self) -> str:
        """A few lines for people."""
        at = f" at delta {self.claimed_delta:.6g}" if self.claimed_delta else ""
        claims = [] if self.claimed_epsilon is None else [f"claimed epsilon {self.claimed_epsilon:.6g}{at}"]
        claims += [] if self.claimed_mu is None else [f"claimed mu {self.claimed_mu:.6g}"]
        claims += ["claimed trade-off curve"] if self.trade_off_refuted is not None else []
        lines = [
            f"{self.verdict}: {', '.join(claims)}" if claims else "no claim to compare with",
            f"  epsilon{at} is at least  {self.epsilon_lower:.6g}  (confidence {self.confidence:.10g})",
        ]
        if self.delta_lower:
            lines.append(f"  delta at the claimed epsilon is at least  {self.delta_lower:.6g}")
        if self.mu_lower is not None:
            lines.append(f"  mu of Gaussian noise is at least  {self.mu_lower:.6g}")
        canaries = "" if self.canaries is None else f" about {self.canaries} canaries"
        lines.append(f"  {self.correct} of {self.guesses} guesses{canaries} were right")
        return "\n".join(lines + [f"  note: {note}" for note in self.notes])

    def to_dict(self) -> dict[str, Any]:
        """For JSON; infinite numbers are the text "inf"."""
        fields = {name: plain(value) for name, value in vars(self).items()}
        return {"schema_version": 1, "kind": "guesses", **fields}


def audit_guesses(
    correct: int,
    guesses: int,
    claimed_epsilon: float | None = None,
    claimed_delta: float = 0.0,
    *,
    canaries: int | None = None,
    confidence: float = 0.999,
    claimed_mu: float | None = None,
    claimed_trade_off: Callable[[float], float] | None = None,
) -> GuessesResult:
    """Audit one training by guesses about its canaries, with no other assumption on how they influence each other.

    Each canary was included by a fair coin of its own. The attacker, who saw the training's output and no coin, guessed
    some of the coins (`guesses`) and was right in `correct` of them. Neighbouring data sets differ in one canary.
    claimed_epsilon: nats; None where only the bound is wanted.   claimed_delta: in [0, 1).
    canaries: all of them, those not guessed included; needed for every claim but that of a pure epsilon. For a delta, a
    mu or a curve the numbers of canaries and of guesses must be fixed beforehand (those with the most extreme scores
    are guessed, say).
    confidence: in [0.5, 1).   claimed_mu: that the training is as private as Gaussian noise of this mu, such as one
    release with sensitivity 1 and standard deviation 1 / mu. For Gaussian noise this bound is tighter than epsilon's.
    claimed_trade_off: f, convex and falling: every test between neighbours with false-alarm rate alpha in [0, 1] misses
    with probability f(alpha) or more, in either order. Raises ValueError for bad arguments.
    """
    check_claim(claimed_epsilon, claimed_delta)
    check_confidence(confidence)
    whole(correct, "correct", 0)
    whole(guesses, "guesses", max(1, correct))
    if canaries is not None:
        whole(canaries, "canaries", guesses)
    elif claimed_delta > 0 or claimed_mu is not None or claimed_trade_off is not None:
        what = "claimed_delta is above 0" if claimed_delta > 0 else "a mu or a trade-off curve is claimed"
        raise ValueError(f"canaries must be given where {what}: how many there were, guessed or not")
    mu = None if claimed_mu is None else nonnegative(claimed_mu, "claimed_mu")
    error, delta = 1 - float(confidence), float(claimed_delta)
    among = canaries or guesses
    bound, most = (_epsilon_lower(right, guesses, among, delta, error) for right in (correct, guesses))
    claims = [] if claimed_epsilon is None else [(bound > claimed_epsilon, most > claimed_epsilon)]
    curves = [] if mu is None else [_gaussian(mu)]
    curves += [] if claimed_trade_off is None else [_converse(claimed_trade_off)]
    claims += [
        (_refutes(curve, correct, guesses, among, error), _refutes(curve, guesses, guesses, among, error))
        for curve in curves
    ]
    verdict, why = CONSISTENT, ()
    if any(refuted for refuted, _ in claims):
        verdict = VIOLATED
    elif not any(refutable for _, refutable in claims or [(False, most > 0)]):
        verdict = INCONCLUSIVE
        why = (f"{guesses} guesses, all of them right, show no epsilon above {most:.6g}",)
    return GuessesResult(
        verdict=verdict,
        epsilon_lower=bound,
        delta_lower=None
        if claimed_epsilon is None or canaries is None
        else _delta_lower(correct, guesses, canaries, float(claimed_epsilon), error),
        claimed_epsilon=None if claimed_epsilon is None else float(claimed_epsilon),
        claimed_delta=delta,
        confidence=float(confidence),
        correct=int(correct),
        guesses=int(guesses),
        canaries=None if canaries is None else int(canaries),
        notes=(*why, _OF_GUESSES if canaries is None else f"{_OF_GUESSES}; {_OF_NUMBERS}"),
        claimed_mu=mu,
        mu_lower=None if canaries is None else _mu_lower(correct, guesses, canaries, error),
        trade_off_refuted=None if claimed_trade_off is None else claims[-1][0],
    )


def _epsilon_lower(correct: int, guesses: int, canaries: int, delta: float, error: float) -> float:
    """The greatest epsilon of which P(C >= correct) is at most the error, a little less; from above, step by step."""
    of_delta, epsilon = 0.0, math.inf
    for _ in range(_MOST_STEPS):
        q = lower_limit(correct, guesses, error - of_delta) * (1 - _SHAVE) if error > of_delta else 0.0
        before, epsilon = epsilon, math.log(q / (1 - q)) if q > 0.5 else 0.0
        if delta == 0 or epsilon == 0 or epsilon >= before * (1 - _NEAR / 2):
            break
        of_delta = delta * _weight_of_delta(guesses, canaries, epsilon)
    for near in (0.0, _NEAR, 1e3 * _NEAR):
        found = epsilon * (1 - near)
        if delta == 0 or _delta_lower(correct, guesses, canaries, found, error) >= delta:
            return found
    return 0.0


def _delta_lower(correct: int, guesses: int, canaries: int, epsilon: float, error: float) -> float:
    """All below it are refuted at this epsilon."""
    q = special.expit(epsilon)
    right = float(special.betainc(correct, guesses - correct + 1, q)) if correct else 1.0
    left = error - right * (1 + _SHAVE)
    return min(1.0, left / _weight_of_delta(guesses, canaries, epsilon)) if left > 0 else 0.0


def _weight_of_delta(guesses: int, canaries: int, epsilon: float) -> float:
    """m (1 - q) M, from above: M_j never grows in j, so a block of the sum has at most its first term, each time."""
    q = special.expit(epsilon)
    starts = np.unique(np.geomspace(1, guesses, _BLOCKS).astype(np.int64))
    mode = np.minimum(np.floor((starts + 1) * q), starts)
    log_most = special.xlogy(mode, q) + special.xlog1py(starts - mode, -q)
    log_most -= special.betaln(mode + 1, starts - mode + 1) + np.log1p(starts)
    mean = (1 + np.diff(np.append(starts, guesses)) @ np.exp(log_most)) / guesses
    return canaries * float(special.expit(-epsilon)) * min(1.0, _SLACK * mean)


_Converse = Callable[[float], float]
"""g: the least probability of an event on one neighbour, from its probability on the other."""


def _gaussian(mu: float) -> _Converse:
    return lambda y: float(special.ndtr(special.ndtri(y) - mu)) if 0 < y < 1 else y


def _converse(trade_off: Callable[[float], float]) -> _Converse:
    """g(y) = f(1 - y), with 1 - y rounded up, where f is smaller. Raises ValueError for what is no trade-off curve."""
    rates = np.linspace(0, 1, 65)
    values = np.array([float(trade_off(float(rate))) for rate in rates])
    if not (
        (values >= 0).all()
        and (values <= 1 - rates + _ROUNDING).all()
        and (np.diff(values) <= _ROUNDING).all()
        and (np.diff(values, 2) >= -_ROUNDING).all()
    ):
        raise ValueError(
            "claimed_trade_off must be a convex, falling f(alpha) between 0 and 1 - alpha, for all of [0, 1]"
        )
    return lambda y: float(trade_off(min(1.0, max(0.0, math.nextafter(1 - y, 2.0)))))


def _refutes(converse: _Converse, correct: int, guesses: int, canaries: int, error: float) -> bool:
    """Whether P(C >= correct) is below the error, by the recursion. Where a count needs no mass, none below it does."""
    tail, right, wrong = error, correct * error, (guesses - correct) * error  # a_c, E[C; C >= c], E[r - C; C >= c]
    for count in range(correct, 0, -1):
        if tail > 1 + _ROUNDING:
            return True
        needed = canaries * converse(right / canaries) * (1 - _SHAVE)
        if needed <= wrong:
            return False
        mass = (needed - wrong) / (guesses - count + 1)
        tail, right, wrong = tail + mass, right + (count - 1) * mass, needed
    return tail > 1 + _ROUNDING


def _mu_lower(correct: int, guesses: int, canaries: int, error: float) -> float:
    """The greatest mu that is refuted, by halving: all smaller ones are."""
    refuted, above = 0.0, _MOST_MU
    for _ in range(_HALVINGS):
        middle = (refuted + above) / 2
        if _refutes(_gaussian(middle), correct, guesses, canaries, error):
            refuted = middle
        else:
            above = middle
    return refuted
