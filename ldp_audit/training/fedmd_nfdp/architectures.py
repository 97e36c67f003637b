"""Names of small networks, one a party: "cnn-16-32+mlp-64" says that the parties have these two in turn.

"cnn-16-32" has two 3x3 convolutions of 16 and 32 channels, each with ReLU and 2x2 max-pooling, and a linear layer;
"mlp-64" has one hidden layer of 64.

Source of the paper-sized widths: Li, Wang, "FedMD" (2019), whose experiments Sun and Lyu repeat, without the dropout.
"""

from __future__ import annotations

SMALL = "mlp-64+cnn-8-16+mlp-48-32+mlp-128+mlp-96-48"
"""For images of 8x8: five architectures of 2,000 to 11,000 weights."""

PAPER = (
    "cnn-128-256+cnn-128-384+cnn-128-512+cnn-256-256+cnn-256-512"
    "+cnn-64-128-256+cnn-64-128-192+cnn-128-192-256+cnn-128-128-128+cnn-128-128-192"
)
"""FedMD's ten, for images of 28x28 and 32x32."""


def names_of(networks: str) -> tuple[str, ...]:
    """The names in such a text. Raises ValueError, naming the part that is none."""
    if not isinstance(networks, str):
        raise ValueError(f"networks must be names such as cnn-16-32 joined by +, got {networks!r}")
    names = tuple(networks.split("+"))
    for name in names:
        kind_and_widths(name)
    return names


def kind_and_widths(name: str) -> tuple[str, tuple[int, ...]]:
    """("cnn", (16, 32)) of "cnn-16-32". Raises ValueError for a text that is no such name."""
    kind, *widths = name.split("-")
    numbers = all(width.isascii() and width.isdigit() and int(width) > 0 for width in widths)
    if kind not in ("cnn", "mlp") or not widths or not numbers:
        raise ValueError(f"networks must be names such as cnn-16-32 or mlp-64, joined by +, got {name!r}")
    return kind, tuple(int(width) for width in widths)
