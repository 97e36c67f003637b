"""A coin that shows a number in [0, 1] with noise: 1 with a probability that rises from 1/(t + 1) to t/(t + 1)."""

from ldp_audit.mechanisms import BoundChannel, SymbolicChannel, T, Variable

VALUE = Variable("x", 0, 1)
_ONE = (1 + VALUE * (T - 1)) / (T + 1)  # T stands for e**epsilon
COIN = SymbolicChannel("noisy coin", inputs=VALUE, atoms={1: _ONE, 0: 1 - _ONE})


def NoisyCoin(epsilon: float) -> BoundChannel:  # noqa: N802 (on the command line it is a mechanism's name)
    """The coin at this epsilon, nats."""
    return COIN.bind(epsilon=epsilon)
