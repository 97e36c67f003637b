"""What a user hung on a model: hooks, or a forward of an instance's own. Rewritten layers would pass it by."""

from __future__ import annotations

from torch import nn
from torch.nn.modules import module as every_module

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def has_own_calls(model: nn.Module) -> str | None:
    """Which module of the model has some, or that all modules of the process have, in words; None where none has."""
    if any(getattr(every_module, f"_global{hooks}") for hooks in _HOOKS):
        return "hooks are registered for every module of this process"
    for name, module in model.named_modules():
        if any(module.__dict__[hooks] for hooks in _HOOKS) or "forward" in module.__dict__:
            return f"layer {name!r}, {type(module).__name__}: it has hooks or a forward of its own"
    return None
