"""The answers of other accountants to one grid of questions, written into tests/accounting/peers_cases.json.

    PYTHON benchmarks/peers_cases.py PEER ...

PYTHON is the interpreter of an environment that has the peers, and nothing of ours is needed in it:

    dp_accounting     dp-accounting==0.6.0       its distributions from above; with _optimistic behind the name from
                      below, with _renyi its Renyi accountant, and with _reports what is known of it: issues 378 and
                      428, and two findings of ours
    prv_accountant    prv-accountant==0.2.0      its lower and its upper bound
    autodp            autodp==0.2.3.1            its Renyi accountant
    opacus            opacus==1.6.0 (and torch)  its three accountants
    opendp            opendp==0.16.0             its conversions from zero-concentrated privacy
    diffprivlib       diffprivlib==0.6.6         its budget accountant and its calibrations
    pld_accounting    PLD_accounting==2.0        its bounds for random allocation

The groups of a peer are replaced, all others left. A row that was marked wrong stays so, with its proof, as long as the
peer says the same. What a row is, and what its parts mean: tests/accounting/test_peers_cases.py, which reads the file.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parent.parent / "tests" / "accounting" / "peers_cases.json"
Parts = list[dict[str, Any]]
Question = tuple[Parts, str]
"""What is composed, and how neighbours differ."""

DELTAS = (1e-5, 1e-8)


def _part(kind: str, times: int = 1, rate: float | None = None, **parameters: Any) -> dict[str, Any]:
    sampled = {} if rate is None else {"rate": rate}
    return {"kind": kind, **parameters, **sampled, **({} if times == 1 else {"times": times})}


GAUSSIANS = [[_part("gaussian", times, sigma=sigma)] for sigma, times in product((0.5, 1.0, 3.0, 10.0), (1, 10, 100))]
LAPLACES = [[_part("laplace", times, scale=scale)] for scale, times in product((1.0, 4.0, 20.0), (1, 10, 100))]
RESPONSES = [[_part("response", times, p=p, k=k)] for p, k, times in product((0.5, 0.9), (2, 5), (1, 20))]
SAMPLED = [
    [_part("gaussian", times, rate, sigma=sigma)]
    for rate, sigma, times in product((0.001, 0.01, 0.1), (0.6, 1.0, 2.0), (1, 100, 1000))
]
SAMPLED_LAPLACES = [[_part("laplace", times, 0.1, scale=scale)] for scale, times in product((0.5, 3.0), (1, 50))]
DISCRETE = [[_part("discrete laplace", times, parameter=a)] for a, times in product((0.5, 0.125), (1, 50))]
DISCRETE += [[_part("discrete gaussian", times, sigma=sigma)] for sigma, times in product((1.0, 5.0), (1, 20))]
SUMS = [
    [_part("gaussian", 10, sigma=5.0), _part("laplace", 20, scale=10.0)],
    [_part("gaussian", 100, 0.01, sigma=0.8), _part("gaussian", 1, sigma=4.0)],
    [_part("gaussian", 50, 0.02, sigma=1.5), _part("laplace", 5, scale=6.0)],
]
ADD_REMOVE = "add/remove"
ALL = [(parts, ADD_REMOVE) for parts in GAUSSIANS + LAPLACES + RESPONSES + SAMPLED + SAMPLED_LAPLACES + DISCRETE + SUMS]
REPLACED = [
    ([_part("gaussian", times, rate, sigma=s)], "replace")
    for s, rate, times in product((1.0, 2.0), (0.01, 0.1), (1, 100))
]
NOISES = [(parts, ADD_REMOVE) for parts in GAUSSIANS + LAPLACES + SAMPLED + SUMS]


def rows(
    questions: Iterable[Question], answer: Callable[[Parts, float, str], float | None]
) -> Iterator[dict[str, Any]]:
    """A row for each question and delta that the peer answers."""
    for parts, neighbours in questions:
        for delta in DELTAS:
            says = answer(parts, delta, neighbours)
            if says is not None and not math.isnan(says):
                stated = {} if neighbours == ADD_REMOVE else {"neighbours": neighbours}
                yield {"parts": parts, **stated, "epsilon_at": delta, "says": says if math.isfinite(says) else "inf"}


def group(package: str, how: str, what: str, found: Iterable[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A group of computed rows; upper and lower bounds have no tolerance but that of a float."""
    source = f"{package} {version(package)}, computed: {how}"
    return {"source": source, "is": what, "tolerance": 1e-9, **more, "rows": list(found)}


def _distribution(part: dict[str, Any], neighbours: str, *, pessimistic: bool) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.privacy_accountant import NeighboringRelation

    relations = {"add/remove": NeighboringRelation.ADD_OR_REMOVE_ONE, "replace": NeighboringRelation.REPLACE_ONE}
    how: dict[str, Any] = {"pessimistic_estimate": pessimistic}
    sampled = how | ({"sampling_prob": part["rate"]} if "rate" in part else {})
    if part["kind"] == "gaussian":
        return pld.from_gaussian_mechanism(part["sigma"], neighboring_relation=relations[neighbours], **sampled)
    if part["kind"] == "laplace":
        return pld.from_laplace_mechanism(part["scale"], **sampled)
    if part["kind"] == "response":
        return pld.from_randomized_response(part["p"], part["k"], **how)
    if part["kind"] == "discrete laplace":
        return pld.from_discrete_laplace_mechanism(part["parameter"], 1, **how)
    return pld.from_discrete_gaussian_mechanism(part["sigma"], 1, **how)


def _by_distributions(*, pessimistic: bool) -> Callable[[Parts, float, str], float]:
    @cache
    def composed(text: str, neighbours: str) -> Any:
        total = None
        for part in json.loads(text):
            one = _distribution(part, neighbours, pessimistic=pessimistic).self_compose(part.get("times", 1))
            total = one if total is None else total.compose(one)
        return total

    return lambda parts, delta, neighbours: float(composed(json.dumps(parts), neighbours).get_epsilon_for_delta(delta))


def dp_accounting() -> list[dict[str, Any]]:
    """Its distributions, pessimistic, at their default discretisation."""
    found = rows(ALL + REPLACED, _by_distributions(pessimistic=True))
    return [group("dp-accounting", "privacy_loss_distribution, pessimistic", "upper", found)]


def dp_accounting_optimistic() -> list[dict[str, Any]]:
    """Its distributions, optimistic, of every third question, as they take longer."""
    found = rows((ALL + REPLACED)[::3], _by_distributions(pessimistic=False))
    return [group("dp-accounting", "privacy_loss_distribution, optimistic", "lower", found)]


def dp_accounting_renyi() -> list[dict[str, Any]]:
    """Its Renyi accountant at its default orders."""
    from dp_accounting import GaussianDpEvent, LaplaceDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
    from dp_accounting.rdp import RdpAccountant

    def answer(parts: Parts, delta: float, _: str) -> float:
        accountant = RdpAccountant()
        for part in parts:
            event: Any = GaussianDpEvent(part["sigma"]) if part["kind"] == "gaussian" else LaplaceDpEvent(part["scale"])
            event = PoissonSampledDpEvent(part["rate"], event) if "rate" in part else event
            accountant.compose(SelfComposedDpEvent(event, part.get("times", 1)))
        return float(accountant.get_epsilon(delta))

    return [group("dp-accounting", "RdpAccountant", "upper", rows(NOISES, answer))]


def dp_accounting_reports() -> list[dict[str, Any]]:
    """What public reports, and findings of ours, say that dp-accounting gets wrong."""
    from dp_accounting import (
        GaussianDpEvent,
        NeighboringRelation,
        PoissonSampledDpEvent,
        RandomizedResponseDpEvent,
        SampledWithoutReplacementDpEvent,
        SelfComposedDpEvent,
    )
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.rdp import RdpAccountant

    replaced = NeighboringRelation.REPLACE_ONE

    def row(
        accountant: Any, event: Any, times: int, delta: float, part: dict[str, Any], **stated: Any
    ) -> dict[str, Any]:
        says = float(accountant.compose(SelfComposedDpEvent(event, times)).get_epsilon(delta))
        return {"parts": [part], **stated, "epsilon_at": delta, "says": says}

    apart = {"neighbours": "replace"}
    issue = [
        row(RdpAccountant(neighboring_relation=replaced), GaussianDpEvent(sigma), times, delta, part, **apart)
        for sigma, times, delta in product((1.0, 10.0), (1, 100), DELTAS)
        for part in [_part("gaussian", times, sigma=sigma)]
    ]
    event = SampledWithoutReplacementDpEvent(60_000, 600, GaussianDpEvent(1.0))
    part = _part("gaussian", 1000, sigma=1.0, fixed=[60_000, 600])
    issue.append(row(RdpAccountant(neighboring_relation=replaced), event, 1000, 1e-5, part, **apart))
    accountant, part = PLDAccountant(neighboring_relation=replaced), _part("response", 365, p=0.9, k=2)
    counts = [row(accountant, RandomizedResponseDpEvent(0.9, 2), 365, 1e-6, part)]
    event, part = PoissonSampledDpEvent(4.096e-4, GaussianDpEvent(0.6)), _part("gaussian", 3000, 4.096e-4, sigma=0.6)
    rare = [row(PLDAccountant(), event, 3000, 1e-9, part)]
    both = [_part("gaussian", sigma=1.0), _part("gaussian", sigma=2.0)]
    alone = float(pld.from_gaussian_mechanism(1.0).get_epsilon_for_delta(1e-5))
    return [
        group("dp-accounting", "issue 378, RdpAccountant for a replaced record", "upper", issue),
        group("dp-accounting", "PLDAccountant, count of randomised responses", "upper", counts),
        group("dp-accounting", "PLDAccountant, small rate and delta", "upper", rare),
        group(
            "dp-accounting",
            "issue 428, from_gaussian_mechanism of one output of two",
            "upper",
            [{"parts": both, "epsilon_at": 1e-5, "says": alone}],
        ),
    ]


def prv_accountant() -> list[dict[str, Any]]:
    """Its bounds, for an error of 0.05 in epsilon and of a thousandth of delta."""
    import prv_accountant as prv

    def variable(part: dict[str, Any]) -> Any:
        if part["kind"] == "laplace":
            return prv.privacy_random_variables.LaplaceMechanism(1 / part["scale"])
        if "rate" in part:
            return prv.privacy_random_variables.PoissonSubsampledGaussianMechanism(part["rate"], part["sigma"])
        return prv.privacy_random_variables.GaussianMechanism(part["sigma"])

    def bound(end: int) -> Callable[[Parts, float, str], float | None]:
        def answer(parts: Parts, delta: float, _: str) -> float | None:
            times = [part.get("times", 1) for part in parts]
            try:
                found = prv.PRVAccountant(
                    [variable(part) for part in parts], 0.05, delta / 1000, max_self_compositions=times
                )
                return float(found.compute_epsilon(delta, num_self_compositions=times)[end])
            except (RuntimeError, ValueError):  # it refuses where its grid would be too large or its error too small
                return None

        return answer

    return [
        group("prv-accountant", "PRVAccountant, lower", "lower", rows(NOISES, bound(0))),
        group("prv-accountant", "PRVAccountant, upper", "upper", rows(NOISES, bound(2))),
    ]


def autodp() -> list[dict[str, Any]]:
    """Its Renyi composition and conversion."""
    from autodp import mechanism_zoo as zoo
    from autodp.transformer_zoo import Composition

    def mechanism(part: dict[str, Any]) -> Any:
        how = {"phi_off": True, "RDP_off": False}
        if part["kind"] == "laplace":
            return zoo.LaplaceMechanism(part["scale"], **how)
        if "rate" in part:
            return zoo.SubsampleGaussianMechanism({"prob": part["rate"], "sigma": part["sigma"], "coeff": 1}, **how)
        return zoo.GaussianMechanism(part["sigma"], **how)

    def answer(parts: Parts, delta: float, _: str) -> float:
        times = [part.get("times", 1) for part in parts]
        return float(Composition()([mechanism(part) for part in parts], times).get_approxDP(delta))

    return [group("autodp", "Composition by Renyi divergences", "upper", rows(NOISES, answer))]


def opacus() -> list[dict[str, Any]]:
    """Its accountants; that of Gaussian differential privacy is a limit for many steps, and no bound."""
    from opacus.accountants import create_accountant

    def answer(kind: str) -> Callable[[Parts, float, str], float]:
        def epsilon(parts: Parts, delta: float, _: str) -> float:
            accountant = create_accountant(kind)
            accountant.history = [(part["sigma"], part.get("rate", 1.0), part.get("times", 1)) for part in parts]
            return float(accountant.get_epsilon(delta))

        return epsilon

    questions = [(parts, ADD_REMOVE) for parts in [*SAMPLED, SUMS[1]]]
    several = [(parts, ADD_REMOVE) for parts in SAMPLED if parts[0].get("times", 1) >= 100]
    weighted = [([_part("gaussian", 8, 0.125, sigma=1.0)], ADD_REMOVE)]
    large = [([_part("gaussian", 300, 0.1, sigma=0.4)], ADD_REMOVE)]
    return [
        group("opacus", "issue 813, RDPAccountant at the rate of what ran", "upper", rows(weighted, answer("rdp"))),
        group("opacus", "issues 601 and 604, PRVAccountant", "upper", rows(large, answer("prv"))),
        group("opacus", "RDPAccountant", "upper", rows(questions, answer("rdp"))),
        group("opacus", "PRVAccountant", "upper", rows(questions, answer("prv"))),
        group("opacus", "GaussianAccountant, a central limit", "upper", rows(several[::3], answer("gdp"))),
    ]


def opendp() -> list[dict[str, Any]]:
    """Gaussian noise by zero-concentrated privacy, converted."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)

    def answer(parts: Parts, delta: float, _: str) -> float:
        (part,) = parts
        noise = dp.m.make_gaussian(*space, part["sigma"])
        composed = dp.c.make_composition([noise] * part.get("times", 1))
        return float(dp.c.make_zCDP_to_approxDP(composed).map(1.0).epsilon(delta))

    return [group("opendp", "make_zCDP_to_approxDP", "upper", rows([(one, ADD_REMOVE) for one in GAUSSIANS], answer))]


def diffprivlib() -> list[dict[str, Any]]:
    """Its composition with a slack (Kairouz, Oh, Viswanath), and the noises that it takes for a budget."""
    from diffprivlib import BudgetAccountant
    from diffprivlib.mechanisms import Gaussian, GaussianAnalytic

    sums, noises = [], []
    for epsilon, delta, times, slack in product((0.1, 1.0), (0.0, 1e-6), (5, 50), (1e-5, 1e-3)):
        found, total = BudgetAccountant(slack=slack, spent_budget=[(epsilon, delta)] * times).total()
        part = _part("approximate", times, epsilon=epsilon, delta=delta)
        sums.append({"parts": [part], "epsilon_at": float(total), "says": float(found)})
    for kind, epsilon, delta in product((Gaussian, GaussianAnalytic), (0.1, 0.5, 1.0), (1e-3, 1e-5)):
        sigma = math.sqrt(kind(epsilon=epsilon, delta=delta, sensitivity=1.0).variance(0.0))
        noises.append({"parts": [_part("gaussian", sigma=sigma)], "epsilon_at": delta, "says": epsilon})
    return [
        group("diffprivlib", "BudgetAccountant.total", "upper", sums),
        group("diffprivlib", "Gaussian and GaussianAnalytic", "upper", noises),
    ]


def pld_accounting() -> list[dict[str, Any]]:
    """Its bounds for steps with Gaussian noise of which a record takes part in one."""
    from PLD_accounting import gaussian_allocation_epsilon_range

    found: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    for sigma, steps in product((1.0, 2.0), (10, 100)):
        upper, lower = gaussian_allocation_epsilon_range(sigma=sigma, num_steps=steps, delta=DELTAS[0])
        part = _part("allocation", sigma=sigma, steps=steps, epochs=1)
        for end, says in zip(found, (lower, upper), strict=True):
            end.append({"parts": [part], "epsilon_at": DELTAS[0], "says": float(says)})
    return [
        group("PLD_accounting", f"gaussian_allocation_epsilon_range, {end}", end, one)
        for end, one in zip(("lower", "upper"), found, strict=True)
    ]


PEERS = {
    one.__name__: one
    for one in (
        dp_accounting,
        dp_accounting_optimistic,
        dp_accounting_renyi,
        dp_accounting_reports,
        prv_accountant,
        autodp,
        opacus,
        opendp,
        diffprivlib,
        pld_accounting,
    )
}


def _key(row: dict[str, Any]) -> str:
    return json.dumps({name: row[name] for name in row if name not in _MARKS}, sort_keys=True)


_MARKS = ("is", "claimed", "proof", "why", "slow")


def merged(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The old groups, those of the same sources replaced, marks of rows that are the same carried over."""
    places = {one["source"]: one for one in new}
    for before in old:
        if before["source"] in places:
            marks = {_key(row): {name: row[name] for name in _MARKS if name in row} for row in before["rows"]}
            for row in places[before["source"]]["rows"]:
                row.update(marks.get(_key(row), {}))
    kept = [places.pop(one["source"], one) for one in old]
    return kept + list(places.values())


def text(groups: list[dict[str, Any]]) -> str:
    """JSON with a row on each line."""
    found = []
    for one in groups:
        head = json.dumps({name: one[name] for name in one if name != "rows"})
        listed = ",\n    ".join(json.dumps(row) for row in one["rows"])
        found.append(f'{head[:-1]}, "rows": [\n    {listed}\n  ]}}')
    return "[\n  " + ",\n  ".join(found) + "\n]\n"


def main() -> int:
    """Ask the peers that are named, and write the file."""
    if not sys.argv[1:] or set(sys.argv[1:]) - set(PEERS):
        sys.stderr.write(f"usage: peers_cases.py PEER ..., of {', '.join(PEERS)}\n")
        return 2
    warnings.simplefilter("ignore")
    found = [one for name in sys.argv[1:] for one in PEERS[name]()]
    groups = merged(json.loads(FILE.read_text(encoding="utf-8")), found)
    FILE.write_text(text(groups), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]
    sys.exit(main())
