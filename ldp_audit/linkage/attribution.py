"""What a linkage attack achieves: how often its best guess is right, and how often a blind guess is.

An attack names the client of a report, or says of several reports whether they are one client's. It never reads the
weights: a report that is attributed to its client spends that client's budget together with its other reports.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Share = Fraction | float

_LONGEST_WRITTEN = 256  # bits of a denominator


@dataclass(frozen=True)
class Attribution:
    """An attack's success.

    attack: what is guessed from what.   clients, reports: how many, in all.
    success: the probability that the guess is right; chance: that of the best guess that ignores what the attack uses.
    exposed: the share of the reports (where the attack is about one client, of its reports) attributed without doubt.
    exact: whether `success` follows from a closed formula or a complete count (a float where the fraction would be too
        long); otherwise `bounds` hold it: always, or with probability `confidence` where it was simulated.
    theory: what a formula says, beside a simulation.   note: what is assumed.
    Raises ValueError unless the shares lie in [0, 1].
    """

    attack: str
    clients: int
    reports: int
    success: Share
    chance: Share
    exposed: Share
    exact: bool
    bounds: tuple[Share, Share] | None = None
    confidence: float | None = None
    theory: Share | None = None
    note: str = ""

    def __post_init__(self) -> None:
        for name in ("success", "chance", "exposed"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie in [0, 1], got {getattr(self, name)!r}")

    @property
    def advantage(self) -> Share:
        """What is gained over chance, as a share of what could be: 0 by chance, 1 where every guess is right."""
        return (self.success - self.chance) / (1 - self.chance) if self.chance < 1 else 0 * self.success

    def describe(self) -> str:
        """In words, one line."""
        parts = [f"{self.attack}: right with probability {_shown(self.success)}, by chance {_shown(self.chance)}"]
        parts.append(self._certainty())
        if self.theory is not None:
            parts.append(f"the formula says {_shown(self.theory)}")
        parts.append(f"attributed without doubt {_shown(self.exposed)}")
        return "; ".join(part for part in (*parts, self.note) if part)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: shares as floats; exact ones also as text, such as "25/32", unless they are very long."""
        bounds = None if self.bounds is None else [float(end) for end in self.bounds]
        shares: dict[str, Any] = {}
        for name in ("success", "chance", "exposed", "theory"):
            share = getattr(self, name)
            shares[name] = None if share is None else float(share)
            if isinstance(share, Fraction) and share.denominator.bit_length() <= _LONGEST_WRITTEN:
                shares[f"{name}_fraction"] = str(share)
        return {
            "attack": self.attack,
            "clients": self.clients,
            "reports": self.reports,
            **shares,
            "exact": self.exact,
            "bounds": bounds,
            "confidence": self.confidence,
            "note": self.note,
        }

    def _certainty(self) -> str:
        if self.exact or self.bounds is None:
            return ""
        low, high = (f"{float(end):.6g}" for end in self.bounds)
        how = "" if self.confidence is None else f" (simulated, confidence {self.confidence:.6g})"
        return f"between {low} and {high}{how}"


def table(rows: Sequence[Attribution]) -> str:
    """The attacks as lines of plain text: attack, success, chance, exposed share; ">=" before a lower bound."""
    width = max((len(row.attack) for row in rows), default=0)
    head = f"{'attack':<{width}}  {'success':>12}  {'chance':>10}  {'exposed':>12}"
    lines = []
    for row in rows:
        least = "" if row.exact or row.confidence else ">= "
        success, exposed = (f"{least}{float(share):.6g}" for share in (row.success, row.exposed))
        lines.append(f"{row.attack:<{width}}  {success:>12}  {float(row.chance):>10.6g}  {exposed:>12}")
    return "\n".join([head, *lines])


def power(base: Fraction, exponent: int) -> Share:
    """base**exponent, base in [0, 1]: a Fraction where that has no more than some thousand digits, else a float."""
    if base in (0, 1) or exponent * base.denominator.bit_length() <= 4096:
        return base**exponent
    lacking = float(1 - base)  # near 1 the base is known best by what it lacks
    return math.exp(exponent * math.log1p(-lacking)) if lacking < 0.5 else float(base) ** exponent


def _shown(share: Share) -> str:
    if isinstance(share, Fraction) and 1 < share.denominator < 10**8:
        return f"{share} = {float(share):.6g}"
    return f"{float(share):.6g}"
