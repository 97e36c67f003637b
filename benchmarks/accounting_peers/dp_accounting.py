"""dp-accounting's privacy loss distributions on one case: python dp_accounting.py CASE INTERVAL GIB, one line of JSON.

INTERVAL is the grid's step (its default is 1e-4), with `both` behind it for a lower end too: that costs a second,
optimistic composition, so the times are those of the upper end alone unless it is asked for. The tail that may be cut
off is its default, 1e-15, or a thousandth of delta where that is less.
"""

import math

import measure

import dp_accounting
from dp_accounting.pld import privacy_loss_distribution as pld


def part(kind: str, parameters: tuple[float, ...], **how):
    """One mechanism's distribution."""
    if kind == "rr":
        k = parameters[1] if len(parameters) > 1 else 2
        return pld.from_randomized_response(k / (k - 1 + math.exp(parameters[0])), k, **how)
    if kind == "laplace":
        return pld.from_laplace_mechanism(parameters[0], **how)
    if kind == "gaussian":
        return pld.from_gaussian_mechanism(parameters[0], **how)
    if kind == "sampled":
        return pld.from_gaussian_mechanism(parameters[1], sampling_prob=parameters[0], **how)
    if kind == "sampled laplace":
        return pld.from_laplace_mechanism(parameters[1], sampling_prob=parameters[0], **how)
    if kind == "grouped":
        rate, sigma, group = parameters
        drawn = range(int(group) + 1)
        chances = [math.comb(int(group), i) * rate**i * (1 - rate) ** (group - i) for i in drawn]
        return pld.from_mixture_gaussian_mechanism(sigma, list(drawn), chances, **how)
    if kind == "truncated" and how.pop("pessimistic_estimate"):
        rate, sigma, most, records = parameters
        batches = {"dataset_size": int(records), "sampling_probability": rate, "truncated_batch_size": int(most)}
        return pld.from_truncated_subsampled_gaussian_mechanism(**batches, noise_multiplier=sigma, **how)
    raise NotImplementedError(f"has no {kind}")


def epsilon(case, interval: float, *, pessimistic: bool) -> float:
    """One end."""
    tail, total = min(1e-15, case.delta / 1000), None
    for kind, parameters, times in case.parts:
        one = part(kind, parameters, value_discretization_interval=interval, pessimistic_estimate=pessimistic)
        more = one.self_compose(times, tail_mass_truncation=tail)
        total = more if total is None else total.compose(more, tail_mass_truncation=tail)
    return float(total.get_epsilon_for_delta(case.delta))


def bounds(case, setting: str):
    """Lower and upper bound."""
    interval, _, both = setting.partition(" ")
    upper = epsilon(case, float(interval), pessimistic=True)
    return (epsilon(case, float(interval), pessimistic=False) if both else None), upper


def event(case, noise: float):
    """The calibrated mechanism's uses."""
    kind, parameters, times = case.part(noise)
    if kind == "laplace":
        return dp_accounting.SelfComposedDpEvent(dp_accounting.LaplaceDpEvent(noise), times)
    if kind == "sampled":
        drawn = dp_accounting.PoissonSampledDpEvent(parameters[0], dp_accounting.GaussianDpEvent(noise))
        return dp_accounting.SelfComposedDpEvent(drawn, times)
    raise NotImplementedError(f"calibrates no {kind}")


def calibrated(case, setting: str):
    """A noise that does; its accountant cannot be asked from below."""
    value = dp_accounting.calibrate_dp_mechanism(
        lambda: dp_accounting.pld.PLDAccountant(value_discretization_interval=float(setting)),
        lambda noise: event(case, noise),
        case.epsilon,
        case.delta,
        dp_accounting.ExplicitBracketInterval(case.low, case.high),
        tol=case.tolerance,
    )
    return None, float(value)


if __name__ == "__main__":
    if measure.ONCE:
        measure.measure_once(bounds, calibrated)
    else:
        measure.measure(bounds)
