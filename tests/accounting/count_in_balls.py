"""The hockey stick of an anonymous count in ball arithmetic, where no float reaches."""

from __future__ import annotations

from flint import arb, arb_poly, ctx


def in_balls(epsilon0: float, epsilon: float, chances: list[float]) -> float:
    """ln delta for client 1 at the upper end against the lower one."""
    with ctx.workprec(12_000):
        t, level = arb(epsilon0).exp(), arb(epsilon).exp()
        low, high = 1 / (t + 1), t / (t + 1)
        law = arb_poly([1])
        for chance in set(chances):
            law = law * arb_poly([1 - arb(chance), arb(chance)]) ** chances.count(chance)
        p, q = (law * arb_poly([1 - one, one]) for one in (high, low))
        gains = [p[k] - level * q[k] for k in range(len(chances) + 2)]
        return float(sum((gain for gain in gains if gain > 0), arb(0)).log())
