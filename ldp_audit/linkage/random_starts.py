"""Starts that are errors of prediction: how well reports are named where the clients' offsets are themselves random.

LDP-FL's waiting time T_W = T_S - t_LC - t_C uses predicted times. If what they miss is independent, of one distribution
function F, a moment is in no client's window with probability (1 - F(t) + F(t - T))^n, so that the expected length of
the union of the windows, and with it the success of naming one report from its time and the starts, is

    (1/(n T)) int 1 - (1 - F(t) + F(t - T))^n dt.

For errors uniform on an interval of length L, whose n - 1 spacings exceed x with probability (1 - x/L)^n each, it is
1/n + (n-1)/n L/(T (n+1)) (1 - (1 - T/L)_+^(n+1)). (Derivations ours; Section 3.1.2 predicts without error.)
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr

from ldp_audit.linkage.arrivals import exact_number, whole_number
from ldp_audit.linkage.attribution import Attribution, power


def name_report_uniform_errors(n: int, length: Any, window: Any) -> Attribution:
    """Name a report's client where starts are uniform on an interval of this length >= 0, and known. Exact.

    exposed: the share of reports that arrive where no other client's can.
    """
    clients, spread = whole_number("n", n), _share(length, window)
    short = max(Fraction(0), 1 - 1 / spread) if spread else Fraction(0)
    gap = spread * (1 - power(short, clients + 1)) / (clients + 1)
    return Attribution(
        attack="by time, one report, starts uniformly random",
        clients=clients,
        reports=clients,
        success=(1 + (clients - 1) * gap) / clients,
        chance=Fraction(1, clients),
        exposed=_alone(clients, float(spread)) if clients > 1 else Fraction(1),
        exact=True,
    )


def name_report_normal_errors(n: int, sigma: float, window: float) -> Attribution:
    """Name a report's client where starts are normal, of standard deviation sigma >= 0, and known.

    By quadrature; `bounds` are its own estimate of its error.
    """
    clients, scale = whole_number("n", n), float(_share(sigma, window))
    exposed, success, error = Fraction(1, 1) if clients == 1 else 0.0, 1 / clients, 0.0
    if scale > 0:
        success, error = _integral(lambda t: _covered(_within(t, scale), clients), scale)
        success, error = min(1.0, success / clients), error / clients
        exposed = min(1.0, _integral(lambda t: _single(_within(t, scale), clients), scale)[0])
    return Attribution(
        attack="by time, one report, starts normally random",
        clients=clients,
        reports=clients,
        success=success,
        chance=Fraction(1, clients),
        exposed=exposed,
        exact=scale == 0,
        bounds=(max(0.0, success - error), min(1.0, success + error)),
        note="by quadrature",
    )


def _share(length: Any, window: Any) -> Fraction:
    spread, whole = exact_number("the spread of the starts", length), exact_number("window", window)
    if spread < 0 or whole <= 0:
        raise ValueError(f"the spread of the starts must be >= 0 and window > 0, got {length!r} and {window!r}")
    return spread / whole


def _within(t: float, scale: float) -> float:
    """The probability that the window of one client, of length 1, holds the moment t."""
    return float(ndtr(t / scale) - ndtr((t - 1) / scale))


def _covered(share: float, n: int) -> float:
    return 1.0 if share >= 1 else -math.expm1(n * math.log1p(-share))


def _single(share: float, n: int) -> float:
    """The probability, over n, that exactly one window holds a moment that each holds with this probability."""
    return share * (1 - share) ** (n - 1)


def _integral(value: Any, scale: float) -> tuple[float, float]:
    """Over all times; in pieces, so that the steep ends of the window are seen."""
    reach = 40 * scale
    points = sorted({-reach, -8 * scale, 0.0, 8 * scale, 0.5, 1 - 8 * scale, 1.0, 1 + 8 * scale, 1 + reach})
    points = [point for point in points if -reach <= point <= 1 + reach]
    pieces = [quad(value, a, b, limit=200) for a, b in pairwise(points)]
    return float(np.sum([piece[0] for piece in pieces])), float(np.sum([piece[1] for piece in pieces]))


def _alone(n: int, spread: float) -> float:
    """The share of reports where only their client's window is open, starts uniform on an interval of this length."""
    if spread == 0:
        return 0.0

    def single(t: float) -> float:
        return _single(max(0.0, min(t, spread) - max(t - 1, 0.0)) / spread, n)

    ends = sorted({0.0, min(1.0, spread), max(1.0, spread), 1 + spread})
    return min(1.0, float(sum(quad(single, a, b, limit=200)[0] for a, b in pairwise(ends))))
