"""The true epsilon of each benchmark case, by code independent of ours and the peers', to about 1e-9 of itself.

* Randomised responses alone: every term of the sum, with 40 digits for equal ones (python-flint's arb).
* Else, with M(s) = E[e**(s L)] of the summed loss L and any c > 0,

      delta(epsilon) = (1 / pi) Re of the integral over y > 0 of M(s) e**(-s epsilon) / (s (s + 1)), s = c + i y,

  by the trapezoid rule with c the saddle point; the step is halved until the value is stable, which is soon as the
  integrand is analytic. For compositions of noise our own inversion computes the same integral, but with other lines,
  steps and values of M; the tests compare it with exact sums and with grids.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from accounting_cases import Case, Part
from flint import arb, ctx
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar

_NODES, _MOST_NODES = 250, 100_000
_STEP, _REACH = 0.02, 14.0  # of the samples' standard deviation, for the sampled Gaussian's M

Cumulants = Callable[[NDArray[np.complex128]], Any]


def true_epsilon(case: Case) -> float:
    """The least epsilon whose delta is at most the case's, nats."""
    if all(kind == "rr" for kind, _, _ in case.parts):
        log_delta = _of_equal_responses(case.parts[0]) if not case.mixed else _of_responses(case.parts)
        top = sum(parameters[0] * times for _, parameters, times in case.parts)
        return _solved(log_delta, math.log(case.delta), top)
    sampled = any(kind == "sampled" for kind, _, _ in case.parts)
    return max(_by_integral(case, back=back) for back in ((False, True) if sampled else (False,)))


def _solved(log_delta: Callable[[float], float], target: float, top: float) -> float:
    return float(brentq(lambda e: max(log_delta(e), -1e5) - target, 0.0, top, xtol=1e-300, rtol=1e-14))  # type: ignore[arg-type]


def _of_equal_responses(part: Part) -> Callable[[float], float]:
    """ln delta as a function of epsilon: the terms from the first positive one on, until they are negligible."""
    (step,), times = part[1], part[2]
    ctx.dps = 40
    odds = arb(step).exp()
    truth = odds / (1 + odds)

    def log_delta(epsilon: float) -> float:
        first = max(0, math.floor((epsilon / step + times) / 2))
        term = arb(times).fac() / arb(first).fac() / arb(times - first).fac()
        term *= truth**first * (1 - truth) ** (times - first)
        total = arb(0)
        for k in range(first, times + 1):
            loss = arb(step) * (2 * k - times)
            gain = 1 - (arb(epsilon) - loss).exp()
            total += term * gain if gain > 0 else 0
            # terms that fall at least by the half add up to less than the last one
            if total > 0 and odds * (times - k) / (k + 1) < 1 and term * times < total * arb(10) ** -25:
                break
            term *= odds * (times - k) / (k + 1)
        return float(total.log()) if total > 0 else -math.inf

    return log_delta


def _of_responses(parts: tuple[Part, ...]) -> Callable[[float], float]:
    """ln delta as a function of epsilon, over all combinations of counts."""
    losses, logs = np.zeros(1), np.zeros(1)
    for _, (step,), times in parts:
        k = np.arange(times + 1)
        choices = [math.log(math.comb(times, i)) for i in k]
        here = np.array(choices) - times * np.log1p(np.exp(step)) + k * step
        losses, logs = np.add.outer(losses, step * (2.0 * k - times)).ravel(), np.add.outer(logs, here).ravel()

    def log_delta(epsilon: float) -> float:
        above = losses > epsilon
        terms = logs[above] + np.log(-np.expm1(epsilon - losses[above]))
        return float(np.logaddexp.reduce(terms)) if terms.size else -math.inf

    order = np.argsort(logs)[::-1]
    kept = order[logs[order] > -120.0]
    losses, logs = losses[kept], logs[kept]
    return log_delta


def _by_integral(case: Case, *, back: bool) -> float:
    parts = [(_cumulants(kind, parameters, back=back), times) for kind, parameters, times in case.parts]

    def cumulants(s: NDArray[np.complex128]) -> Any:
        return np.sum([times * part(s) for part, times in parts], axis=0)

    return _solved(lambda epsilon: _log_delta(cumulants, epsilon), math.log(case.delta), 1000.0)


def _log_delta(cumulants: Cumulants, epsilon: float) -> float:
    def height(log_c: float) -> float:
        s = np.array([complex(math.exp(log_c))])
        return float((cumulants(s) - s * epsilon - np.log(s * (s + 1)))[0].real)

    found: Any = minimize_scalar(height, bounds=(-7.0, 6.0), method="bounded")
    c = math.exp(float(found.x))
    step, before = c / 4, math.inf
    while True:
        now = _trapezoids(cumulants, epsilon, c, step, height(math.log(c)))
        if abs(now - before) < 1e-11 or step < c / 200:
            return now
        step, before = step / 2, now


def _trapezoids(cumulants: Cumulants, epsilon: float, c: float, step: float, top: float) -> float:
    """ln of the integral over pi, with this step; top: ln of the integrand at its start."""
    total, at = 0.0, 0
    while at < _MOST_NODES:
        s = c + 1j * step * np.arange(at, at + _NODES)
        terms = np.exp(cumulants(s) - s * epsilon - np.log(s * (s + 1)) - top).real
        total += float(terms.sum()) - (0.5 * float(terms[0]) if at == 0 else 0.0)
        at += _NODES
        if np.max(np.abs(terms[-_NODES // 4 :])) < 1e-16 * max(total, 1e-16):
            break
    return top + math.log(step * total / math.pi) if total > 0 else -math.inf


def _cumulants(kind: str, parameters: tuple[float, ...], *, back: bool) -> Cumulants:
    if kind == "sampled":
        return _sampled(*parameters, back=back)
    return {"rr": _response, "laplace": _laplace, "gaussian": _gaussian}[kind](*parameters)


def _response(epsilon: float) -> Cumulants:
    return lambda s: np.log(np.exp((1 + s) * epsilon) + np.exp(-s * epsilon)) - math.log1p(math.exp(epsilon))


def _laplace(scale: float) -> Cumulants:
    top = 1 / scale

    def cumulants(s: NDArray[np.complex128]) -> Any:
        z = s + 0.5
        return np.log(np.cosh(z * top) + np.sinh(z * top) / (2 * z)) - top / 2

    return cumulants


def _gaussian(sigma: float) -> Cumulants:
    return lambda s: s * (s + 1) / (2 * sigma**2)


def _sampled(rate: float, sigma: float, *, back: bool) -> Cumulants:
    """By the trapezoid rule over the noisy value x, in standard deviations: the loss is an analytic function of it."""

    def cumulants(s: NDArray[np.complex128]) -> Any:
        power = -s if back else s + 1
        reach = 0.0 if back else float(power[0].real) / sigma
        x = np.arange(-_REACH - (reach if back else 0), _REACH + reach, _STEP)
        loss = np.logaddexp(math.log1p(-rate), math.log(rate) + x / sigma - 1 / (2 * sigma**2))
        weights = np.exp(-x * x / 2 - _HALF_LOG_TWO_PI) * _STEP
        found = [np.exp(np.outer(some, loss)) @ weights for some in np.array_split(power, max(1, power.size // 500))]
        return np.log(np.concatenate(found))

    return cumulants


_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
