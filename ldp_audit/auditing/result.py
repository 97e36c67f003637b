"""What an audit found: the bound, the witness, what the run could not have seen, and how its error was spent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ldp_audit.auditing.bounds import Counts
from ldp_audit.auditing.events import Event
from ldp_audit.auditing.power import Reach
from ldp_audit.figure import BAR, CLAIM, new_axes
from ldp_audit.shown import Judged

VIOLATED, CONSISTENT, INCONCLUSIVE = "violated", "consistent", "inconclusive"

_MOST_UNREPEATED = 0.1  # of the outputs: labels that come once only, beyond which no event is about too many of them

CERTAIN = (
    "every output of both inputs was in the event: nothing that could tell the inputs apart was seen, as of a stub, a "
    "cache, or a client that holds its answers already; if all outputs are to be one, --constant (constant=True) "
    "states that"
)


@dataclass(frozen=True)
class Witness:
    """Two inputs and an event that distinguishes them, with how often it was seen.

    inputs: the one that makes the event likelier, then the other.   calls_for_one: whether each output was drawn by a
    call of its own.
    """

    inputs: tuple[Any, Any]
    event: Event
    counts: Counts
    calls_for_one: bool = False

    def turned(self, swapped: bool) -> Witness:  # noqa: FBT001
        """The same with the inputs, and their counts, in the other order where that is so."""
        return replace(self, inputs=self.inputs[::-1], counts=self.counts.swapped()) if swapped else self

    def describe(self) -> str:
        """In words, one line."""
        p, q = self.counts.frequencies
        calls = ", each output by a call of its own" if self.calls_for_one else ""
        return (
            f"{self.event.describe()}: {self.counts.hits} of {self.counts.trials} ({p:.6g}) on input "
            f"{shown(self.inputs[0])}, {self.counts.other_hits} of {self.counts.other_trials} ({q:.6g}) on input "
            f"{shown(self.inputs[1])}{calls}"
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "words": self.describe(),
            "python": self.event.python,
            "complete": self.event.complete,
            "inputs": plain(self.inputs),
            "event": self.event.to_dict(),
            **self.counts.to_dict(),
            "frequencies": list(self.counts.frequencies),
            "calls_for_one": self.calls_for_one,
        }


@dataclass(frozen=True)
class DivergenceClaim:
    """A claim about Renyi divergences, at the order at which it fares worst.

    claim: in words.   order: >= 1, may be infinite.   allowed: the divergence of this order that is claimed, nats.
    divergence_lower: nats; at most the true one, with the confidence of the audit.
    """

    claim: str
    order: float
    allowed: float
    divergence_lower: float

    @property
    def violated(self) -> bool:
        """Whether the claim is false."""
        return self.divergence_lower > self.allowed

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: plain(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class AuditResult(Judged):
    """The outcome of `audit`.

    verdict: "violated"; "consistent"; or "inconclusive": nothing was found, and much could not have been (`notes`).
    epsilon_lower: nats; at most the program's true epsilon at claimed_delta, with probability >= confidence.
    delta_lower: the same for its delta at claimed_epsilon; both hold at once. None without a claimed epsilon.
    reach: what the test would have caught, or how to work it out.
    coverage_floor: a value, a label, or all beyond a value of one coordinate, that at least this share of one input's
    outputs have and none of the other's, was found and shown to break the claim, with probability 0.95 or more (without
    a claim: to differ); rarer ones may have been missed, and what is scattered over many values counts by each alone;
    1 where none is promised.   budget: how much of the error each part may spend.
    divergences: the claims about Renyi divergences, which the verdict is about too.
    """

    verdict: str
    epsilon_lower: float
    delta_lower: float | None
    claimed_epsilon: float | None
    claimed_delta: float
    confidence: float
    witness: Witness
    reach: Reach
    coverage_floor: float
    samples_used: int
    seconds: float
    seed: int
    budget: dict[str, float]
    notes: tuple[str, ...] = ()
    sections: dict[str, Any] = field(default_factory=dict)
    divergences: tuple[DivergenceClaim, ...] = ()

    @property
    def violated(self) -> bool:
        """Whether the claim is false, at the stated confidence."""
        return self.verdict == VIOLATED

    @property
    def inconclusive(self) -> bool:
        """Whether the test could not have found anything; `notes` say why."""
        return self.verdict == INCONCLUSIVE

    @property
    def detectable_epsilon(self) -> float:
        """The smallest true epsilon that the test would have reported as a violation with probability 0.95.

        That is if its event keeps its probability on the likelier input; inf if there is none. It takes a millisecond
        or two, the first time that it is asked for.
        """
        return self.reach.detectable_epsilon

    def plot(self, axes: Any = None) -> Any:
        """Draw the epsilons that the audit excludes as a bar, and the claim as a line; returns matplotlib's axes.

        axes: to draw on, a row below those already there; new ones by default.
        """
        axes = new_axes() if axes is None else axes
        row = -len(axes.containers)
        label = f"excluded with confidence {self.confidence:g}" if row == 0 else None
        axes.barh([row], [self.epsilon_lower], height=0.5, color=BAR, label=label)
        if self.claimed_epsilon is not None:
            words = "claimed" if row == 0 else None
            axes.plot([self.claimed_epsilon] * 2, [row - 0.4, row + 0.4], color=CLAIM, linewidth=3, label=words)
        axes.annotate(f"  {self.verdict}", (max(self.epsilon_lower, self.claimed_epsilon or 0.0), row), va="center")
        end = 1.4 * max(self.epsilon_lower, self.claimed_epsilon or 0.0, 0.1)
        axes.set(
            xlabel="epsilon (nats)", yticks=[], ylim=(row - 1, 1), xlim=(0, max(end, axes.get_xlim()[1] * bool(row)))
        )
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False)
        return axes

    def describe(self) -> str:
        """A few lines for people; a consistent verdict never comes without what it could not see."""
        claim = "" if self.claimed_epsilon is None else f"claimed epsilon {self.claimed_epsilon:.6g}"
        if self.claimed_delta:
            claim += f" at delta {self.claimed_delta:.6g}"
        claim = ", ".join(one for one in (claim, *(one.claim for one in self.divergences)) if one)
        lines = [
            f"{self.verdict}: {claim}" if claim else "no claim to compare with",
            f"  epsilon is at least  {self.epsilon_lower:.6g}  (confidence {self.confidence:.10g})",
        ]
        if self.delta_lower:
            lines.append(f"  delta at the claimed epsilon is at least  {self.delta_lower:.6g}")
        for one in () if self.inconclusive else self.divergences:
            bound = f"at least  {one.divergence_lower:.6g}, and {one.allowed:.6g} is claimed"
            lines.append(f"  the Renyi divergence of order {one.order:.6g} is {bound}")
        lines.append(f"  witness: {self.witness.describe()}")
        caught = f"{self.detectable_epsilon:.6g}" if math.isfinite(self.detectable_epsilon) else "none"
        rarer = f"events rarer than {self.coverage_floor:.2g} may have been missed"
        searched = "no other event was searched" if self.coverage_floor >= 1 else rarer
        lines.append(f"  smallest epsilon that this event would have shown with probability 0.95: {caught}; {searched}")
        lines += [f"  note: {note}" for note in self.notes]
        lines.append(f"  {self.samples_used} samples in {self.seconds:.2f} s, seed {self.seed}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """For JSON; infinite numbers are the text "inf"."""
        left_out = ("reach", "sections", "divergences")
        fields = {name: plain(value) for name, value in vars(self).items() if name not in left_out}
        more = {"witness": self.witness.to_dict(), "detectable_epsilon": plain(self.detectable_epsilon)}
        return {"schema_version": 1, "kind": "audit", **fields, **more, **self.sections}


def judged(
    *,
    violated: bool,
    tested: Sequence[Counts],
    unrepeated: float = 0.0,
    drift: str | None = None,
    untested: str | None = None,
    reach: Reach | None = None,
    constant: bool = False,
) -> tuple[str, tuple[str, ...]]:
    """The verdict on a claim, and a note that says why it is inconclusive, where it is.

    tested: how often each event was seen in the test.   unrepeated: as of `ldp_audit.auditing.outputs.unrepeated`.
    drift: as of `ldp_audit.auditing.dependent_outputs.drift`.   untested: as of `Program.untested`.
    reach: of the test.   constant: whether somebody states that all outputs of a sound program are one.
    A claim that was not refuted is inconclusive where it could not have been: by few outputs, as of a large claim or a
    rare event; no event was seen on either input; the event was every output of both, as where all are one; most
    outputs are labels that never come again, or a coordinate may be the seed of a hash, which no event computes; or
    where the event was chosen on outputs unlike those of the test.
    """
    if violated:
        return VIOLATED, ()
    if unrepeated > _MOST_UNREPEATED:
        return INCONCLUSIVE, (
            f"{unrepeated:.0%} of the outputs are labels that came once only: nothing was tested about them; return "
            "numbers, vectors or labels that come again (without an id, a time, an address)",
        )
    if not any(counts.hits or counts.other_hits for counts in tested):
        return INCONCLUSIVE, ("the event was seen on neither input, so that the test could not have refuted any claim",)
    if untested is not None:
        return INCONCLUSIVE, (untested,)
    certain = all(counts.frequencies == (1.0, 1.0) for counts in tested)
    if certain and not constant:
        return INCONCLUSIVE, (CERTAIN,)
    claimed = None if reach is None else reach.claimed_epsilon
    if reach is not None and claimed is not None and not certain and math.isinf(reach.detectable_epsilon):
        return INCONCLUSIVE, (
            f"{reach.trials} outputs of each input would have shown no epsilon with probability 0.95: "
            f"{reach.out_of_reach or 'it takes more'}",
        )
    return (CONSISTENT, ()) if drift is None else (INCONCLUSIVE, (drift,))


def plain(value: Any) -> Any:
    """An input, or a number, as JSON can hold it."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain(member) for member in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(member) for member in value), key=repr)
    return repr(value)


def shown(x: Any) -> str:
    """An input in a message: one line, of 60 characters at most."""
    text = " ".join(str(plain(x)).split())
    return text if len(text) <= 60 else text[:60] + "..."
