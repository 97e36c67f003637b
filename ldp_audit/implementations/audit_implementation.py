"""implementation_of(program, inputs): the channel of a program, run with a substitute random generator.

If the program's draws can be replayed, its words are enumerated, analysed by monotonicity, or sampled, as
`implementation` does for a map. If not, the unmodified program is sampled, which can only refute.

A function of one value may return rows that its adapter would convert to equal floats: (2**53 + 1, 0.5), (True, 0.5), a
masked array. An observer sees the difference, so `without_merging` refuses such rows.
"""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import Any

import numpy as np

from ldp_audit.auditing.adapters import AdaptedSampler, as_sampler
from ldp_audit.auditing.adapters.function_of_one_value import one_value_draw
from ldp_audit.auditing.adapters.sampler import ProgramError, Sampler
from ldp_audit.auditing.event_search import InputSearch, as_search
from ldp_audit.auditing.fresh import Fresh
from ldp_audit.implementations.attainability import by_samples
from ldp_audit.implementations.enumerate_map import MOST_ENUMERATED, claim_as_floats, implementation
from ldp_audit.implementations.fake_generator import NotEnumerable
from ldp_audit.implementations.grid import Grid
from ldp_audit.implementations.implementation_result import HOLDS, Implementation
from ldp_audit.implementations.output_keys import array_of_numbers, check_plain
from ldp_audit.implementations.program_map import COMPARED, ROWS, TRACES, ProgramMap, map_of
from ldp_audit.mechanisms.mechanism import Mechanism
from ldp_audit.mechanisms.values.value_mechanism import Implementable
from ldp_audit.numerics import whole

MECHANISM_BITS = 16
"""Default word length of a shipped mechanism that is rebuilt for enumeration."""

MOST_SINGLE_BITS = 16
"""Most bits of all draws together for which a program is called once for each word."""

MAP_BITS = 24
"""Default bits of a uniform of a map (x, u)."""


def implementation_of(
    program: Any,
    inputs: Sequence[Any] | InputSearch,
    *,
    claimed_epsilon: float | None = None,
    claimed_delta: float = 0.0,
    bits: int | None = None,
    samples: int = 100_000,
    seed: int = 0,
    monotone: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Implementation:
    """The guarantee of a program as implemented, with its finitely many random words and its rounding.

    program: any argument of `as_sampler`; or a map whose parameters are named x and u, or x, u1, u2 ...
    bits: of each uniform, for a grid coarser than the generator's (the result states it). For a map, of its uniforms,
        24 if None; for a mechanism with implemented(bits), its word length, 16 if None.
    samples, seed: used where not all words are replayed.   monotone, and the others: see `implementation`.
    The result's assumptions state what was replayed, and why not everything was.
    Raises ValueError for bad arguments and ProgramError, a ValueError, for a program that fails.
    """
    claim: dict[str, Any] = {"claimed_epsilon": claimed_epsilon, "claimed_delta": claimed_delta}
    how: dict[str, Any] = {"samples": samples, "seed": seed, "monotone": monotone, "progress": progress}
    uniforms = uniforms_of(program)
    if uniforms:
        return implementation(program, inputs, MAP_BITS if bits is None else bits, uniforms=uniforms, **claim, **how)
    start = time.perf_counter()
    search = as_search(inputs)
    epsilon, delta = claim_as_floats(claimed_epsilon, claimed_delta)
    claim = {"claimed_epsilon": epsilon, "claimed_delta": delta}
    whole(samples, "samples", 10)
    whole(seed, "seed", 0)
    built, notes = _with_decisions(program, bits)
    fresh = Fresh(as_sampler(program))
    sampler = without_merging(as_sampler(built))
    try:
        found = map_of(sampler, search.inputs, bits=MECHANISM_BITS if notes and bits is None else bits, seed=int(seed))
        found = replace(found, signed=bool(notes))  # mechanisms compare signed words
        _check_affordable(found, monotone=monotone)
        result = implementation(found, search, found.bits, uniforms=found.uniforms, words=found.words, **claim, **how)
    except (NotEnumerable, ProgramError) as error:  # errors of a map are wrapped by its callers
        return _unmodified(as_sampler(program), fresh, search, _reason(error), start, claim, how)
    coarser = _is_coarser(found, search.inputs[0], int(seed), mechanism=bool(notes))
    if result.verdict == HOLDS and isinstance(program, Mechanism):  # the shorter words' epsilon may be the smaller one
        level = float(claimed_epsilon or 0.0)
        coarser = coarser or not (program.exact_epsilon() <= level or program.delta(level) <= delta)
    assumptions = (*notes, *_in_words(found, coarser=coarser), *result.assumptions)
    return replace(result, assumptions=assumptions, coarser=coarser, seconds=time.perf_counter() - start)


def uniforms_of(program: Any) -> int:
    """The number of uniforms of a map (x, u) or (x, u1, u2, ...); 0 for anything else."""
    try:
        names = list(inspect.signature(program).parameters)
    except (TypeError, ValueError):
        return 0
    return len(names) - 1 if len(names) > 1 and all(re.fullmatch(r"u\d*", name) for name in names[1:]) else 0


def _with_decisions(program: Any, bits: int | None) -> tuple[Any, tuple[str, ...]]:
    """A shipped mechanism with a shorter word length, and a note about it; anything else unchanged."""
    if isinstance(program, type) or not isinstance(program, Implementable):
        return program, ()
    chosen = MECHANISM_BITS if bits is None else bits
    built = program.implemented(chosen)
    return built, (
        f"{program!r} draws decisions of 64 bits; what was played back is its implemented({chosen}), the same "
        f"construction with decisions of {chosen} bits",
    )


def _check_affordable(found: ProgramMap, *, monotone: bool) -> None:
    total = found.bits * found.uniforms
    if found.batched or not MOST_SINGLE_BITS < total <= MOST_ENUMERATED:
        return
    raise NotEnumerable(
        f"it makes one output a call, and {total} bits are too many calls: up to {MOST_SINGLE_BITS} are "
        f"played back so{'' if monotone else '; bits=16 plays a coarser generator'}"
    )


def _reason(error: BaseException) -> str:
    """Why the draws cannot be replayed; reraises errors of another kind."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, NotEnumerable):
        cause = cause.__cause__
    if cause is None:
        raise error
    return str(cause)


def _is_coarser(found: ProgramMap, x: Any, seed: int, *, mechanism: bool) -> bool:
    """Whether omitted bits of the program's words affect its outputs."""
    return sum(found.kept) < sum(found.widths) and not (mechanism and found.ignores_lower_bits(x, seed))


def _in_words(found: ProgramMap, *, coarser: bool) -> tuple[str, ...]:
    """What was replayed, and the assumptions of that."""
    said = [
        f"{found.describe()}, and depends on nothing else (checked on {TRACES} calls of each input; shared generators, "
        "those that it holds and the operating system's random bytes were watched; a clock, what it keeps from call to "
        "call, and generators that it makes and drops were not)"
    ]
    own, played = sum(found.widths), sum(found.kept)
    if coarser:
        said.append(
            f"not the generator's own grid: of {own} bits, {played} were played back, and the "
            "lower bits of each word were 0"
        )
    if found.batched:
        compared = f"{COMPARED} of {ROWS} were compared with calls for one output"
        rounded = (
            "the same, bit by bit" if found.alike else "which round otherwise: what was played back are calls for many"
        )
        said.append(
            "outputs of one call are each made from draws of their own, however many are asked for "
            f"({compared}, {rounded})"
        )
    return tuple(said)


def _unmodified(
    sampler: Sampler,
    fresh: Fresh,
    search: InputSearch,
    reason: str,
    start: float,
    claim: dict[str, Any],
    how: dict[str, Any],
) -> Implementation:
    """Lower bounds from samples of the unmodified program, each batch with a generator seeded by random words."""

    def seeded(x: Any, words: np.ndarray) -> Any:
        return sampler(x, len(words), np.random.default_rng(np.random.SeedSequence(words.tolist())))

    pairs, assumptions = by_samples(
        seeded,
        search,
        Grid(64, words=True),
        1,
        samples=int(how["samples"]),
        seed=int(how["seed"]),
        progress=how["progress"],
        fresh=fresh,
    )
    return Implementation(
        method="sampled",
        bits=0,
        uniforms=0,
        words=0,
        **claim,
        pairs=pairs,
        assumptions=(f"the program's words could not be enumerated: {reason}", *assumptions),
        seconds=time.perf_counter() - start,
    )


def without_merging(sampler: Sampler) -> Sampler:
    """The sampler, with such rows refused if it is an adapter of a function of one value."""
    if not isinstance(sampler, AdaptedSampler) or not isinstance(sampler.draw, partial):
        return sampler
    if sampler.draw.func is not one_value_draw:
        return sampler
    f, takes = sampler.draw.args
    return replace(sampler, draw=partial(one_value_draw, _checked(f), takes))


def _checked(f: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(f)
    def program(*arguments: Any, **named: Any) -> Any:
        output = f(*arguments, **named)
        _check(output)
        return output

    return program


def _check(output: Any) -> None:
    if isinstance(output, np.ndarray):
        try:
            check_plain(output)
        except ValueError as error:
            raise NotEnumerable(str(error)) from None
    if isinstance(output, list | tuple) and output and array_of_numbers(output) is None:
        raise NotEnumerable("it returns rows that are not all numbers of one type, which its adapter makes equal")
