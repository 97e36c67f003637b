"""Everyday questions, as plain data for us and every peer; the standard library alone.

A part is (kind, parameters, times), in the kinds of `accounting_cases` and eight more, with sensitivity 1:
rr: randomised response, (epsilon,) on two values or (epsilon, k).   sampled laplace: Laplace noise on a Poisson sample,
    (rate, scale).   piecewise: the piecewise mechanism, (epsilon,).   shuffled: n shuffled reports by randomised
    response on k values, (epsilon, k, n).   shuffled laplace: n shuffled reports with Laplace noise, (scale, n).
allocated: an epoch of steps with Gaussian noise, each record in one of them, (sigma, steps).   grouped: `sampled`,
    where neighbours differ in g records, (rate, sigma, g).   truncated: `sampled`, with batches cut to b of n records,
    (rate, sigma, b, n).   best of: the best of a geometric number of runs with Laplace noise, (scale, mean).
"""

from __future__ import annotations

from dataclasses import dataclass

from accounting_cases import Case, Part


@dataclass(frozen=True)
class Calibration:
    """The least noise, in [low, high], with which `times` uses meet the budget (epsilon, delta).

    tolerance: on the least noise.
    noise: sigma of `sampled` with this rate, scale of `laplace`, 1/epsilon of `rr` and of `shuffled` with k and n.
    """

    kind: str
    others: tuple[float, ...]
    times: int
    epsilon: float
    delta: float
    low: float
    high: float
    tolerance: float = 1e-6

    def part(self, noise: float) -> Part:
        """The mechanism with this noise."""
        if self.kind == "sampled":
            return "sampled", (self.others[0], noise), self.times
        parameter = noise if self.kind == "laplace" else 1 / noise
        return self.kind, (parameter, *self.others), self.times


def _training(rate: float, sigma: float, steps: int, delta: float) -> Case:
    return Case((("sampled", (rate, sigma), steps),), delta)


def _single(kind: str, parameters: tuple[float, ...], times: int = 1, delta: float = 1e-6) -> Case:
    return Case(((kind, parameters, times),), delta)


def _laplaces(count: int) -> Case:
    """As many different scales, from 20 to 30."""
    return Case(tuple(("laplace", (20 + 10 * i / count,), 1) for i in range(count)), 1e-6)


def _ten(weaker: float, times: int, delta: float) -> Case:
    """Ten different mechanisms, each weakened by the same factor and used equally often."""
    parts: list[Part] = [("rr", (epsilon / weaker,), times) for epsilon in (0.1, 0.15, 0.23)]
    parts += [("rr", (epsilon / weaker, k), times) for epsilon, k in ((0.12, 4), (0.2, 10))]
    parts += [("laplace", (scale * weaker,), times) for scale in (8.0, 11.0)]
    parts += [("gaussian", (12.0 * weaker,), times)]
    parts += [("sampled", (0.05 / weaker, 1.0), times), ("sampled laplace", (0.1 / weaker, 1.5), times)]
    return Case(tuple(parts), delta)


_README = Case((("rr", (0.1,), 100), ("laplace", (20.0,), 50)), 1e-6)
_NOISES = (("gaussian", (20.0,), 100), ("laplace", (10.0,), 200), ("rr", (0.1,), 300))
_RESPONSES = tuple(("rr", (0.01 * (1 + i / 7),), 100_000) for i in range(10))
_PHASES = (("sampled", (0.01, 1.0), 5000), ("sampled", (0.02, 1.3), 2000), ("gaussian", (8.0,), 20))
_FEW_STEPS = (("sampled", (0.02, 0.607), 33), ("piecewise", (0.4,), 464))
_SURVEY = (("piecewise", (0.05,), 1000), ("rr", (0.1, 4), 1000), ("rr", (0.05,), 1000))

QUESTIONS: dict[str, Case | Calibration] = {
    "DP-SGD 0.01, 1 x 1e3": _training(0.01, 1.0, 1000, 1e-6),
    "DP-SGD 0.01, 1 x 1e3, 1e-15": _training(0.01, 1.0, 1000, 1e-15),
    "DP-SGD 0.001, 0.5 x 1e5": _training(0.001, 0.5, 100_000, 1e-6),
    "DP-SGD 0.001, 10 x 1e5, 1e-15": _training(0.001, 10.0, 100_000, 1e-15),
    "DP-SGD 0.001, 10 x 2": _training(0.001, 10.0, 2, 1e-6),
    "DP-SGD 0.005, 0.5 x 3, 1e-2": _training(0.005, 0.5, 3, 1e-2),
    "DP-SGD 0.005, 10 x 30, 1e-10": _training(0.005, 10.0, 30, 1e-10),
    "DP-SGD 0.005, 10 x 100, 1e-15": _training(0.005, 10.0, 100, 1e-15),
    "DP-SGD 0.02, 0.8 x 2, 1e-2": _training(0.02, 0.8, 2, 1e-2),
    "DP-SGD 0.02, 0.6 x 10": _training(0.02, 0.6, 10, 1e-6),
    "DP-SGD 0.05, 2 x 1e4, 1e-10": _training(0.05, 2.0, 10_000, 1e-10),
    "DP-SGD 0.2, 0.5 x 1": _training(0.2, 0.5, 1, 1e-6),
    "DP-SGD 0.2, 0.5 x 3": _training(0.2, 0.5, 3, 1e-6),
    "DP-SGD 0.2, 0.5 x 3, 1e-15": _training(0.2, 0.5, 3, 1e-15),
    "DP-SGD 0.2, 0.5 x 1e5": _training(0.2, 0.5, 100_000, 1e-6),
    "RR 0.1 x 1e6": _single("rr", (0.1,), 10**6),
    "RR 0.01 x 1e6, 1e-15": _single("rr", (0.01,), 10**6, 1e-15),
    "RR 0.01 on 10 x 1e6": _single("rr", (0.01, 10), 10**6),
    "Laplace 100 x 1e6": _single("laplace", (100.0,), 10**6),
    "README: RR x 100, Laplace x 50": _README,
    "Gaussian, Laplace, RR, 1e-15": Case(_NOISES, 1e-15),
    "two phases of DP-SGD, Gaussian": Case(_PHASES, 1e-5),
    "piecewise, 2 RR, x 3e3": Case(_SURVEY, 1e-6),
    "DP-SGD x 33, piecewise x 464": Case(_FEW_STEPS, 1e-5),
    "10 RR x 1e6": Case(_RESPONSES, 1e-6),
    "10 mechanisms, once each": _ten(1.0, 1, 1e-6),
    "10 mechanisms x 1e3, 1e-15": _ten(1.0, 100, 1e-15),
    "10 mechanisms x 1e6": _ten(30.0, 100_000, 1e-6),
    "300 Laplaces": _laplaces(300),
    "1000 Laplaces": _laplaces(1000),
    "shuffle RR 1, 1e3 clients": _single("shuffled", (1.0, 2, 1000)),
    "shuffle RR 2, 1e8 clients": _single("shuffled", (2.0, 2, 10**8), delta=1e-10),
    "shuffle RR 2 on 10, 1e6 clients": _single("shuffled", (2.0, 10, 10**6)),
    "shuffle Laplace 1, 1e8 clients": _single("shuffled laplace", (1.0, 10**8)),
    "shuffle RR 1, 1e4 clients, x 100": _single("shuffled", (1.0, 2, 10_000), 100),
    "allocation 1, 100 steps x 10 epochs": _single("allocated", (1.0, 100), 10, 1e-5),
    "allocation 0.8, 1e3 steps x 1 epoch": _single("allocated", (0.8, 1000), 1, 1e-5),
    "group of 10, DP-SGD 0.01, 1 x 1e3": _single("grouped", (0.01, 1.0, 10), 1000, 1e-5),
    "truncated 300, DP-SGD 256/60000, 1.1 x 1e3": _single("truncated", (256 / 60_000, 1.1, 300, 60_000), 1000, 1e-5),
    "best of 40 on average, Laplace 10": _single("best of", (10.0, 40.0), 1, 1e-6),
    "sigma of DP-SGD 0.01 x 1e3": Calibration("sampled", (0.01,), 1000, 1.0, 1e-6, 0.5, 10.0),
    "sigma of DP-SGD 0.1 x 1e4": Calibration("sampled", (0.1,), 10_000, 8.0, 1e-5, 0.5, 10.0),
    "scale of Laplace x 100": Calibration("laplace", (), 100, 1.0, 1e-6, 1.0, 1000.0),
    "1/epsilon of RR x 1e4": Calibration("rr", (), 10_000, 5.0, 1e-6, 1.0, 1e4),
    "1/epsilon of RR, 1e6 shuffled": Calibration("shuffled", (2, 10**6), 1, 0.01, 1e-8, 0.1, 10.0),
}
