"""Libraries that `ctypes` has loaded, in a pickle: by the files' names, to be loaded anew with the functions' types.

What such a library keeps in its own memory is not in the pickle, as what a module keeps is not. Pointers into that
memory, and functions of Python's that C may call, are left to the pickler, which refuses them.
"""

from __future__ import annotations

import ctypes
import operator
from typing import Any

_POINTER, _FUNCTION = ctypes._Pointer, ctypes._CFuncPtr  # noqa: SLF001  (bases without a public name)
_Prototype = tuple[Any, Any]
"""Of a function: types of its arguments, None where they are not declared, and of its result."""


def reduced(one: Any) -> tuple[Any, ...] | None:
    """As `__reduce__` returns it, of a library, one of its functions, or a type of pointers or arrays; else None."""
    if isinstance(one, ctypes.CDLL):
        functions = {name: _prototype(f) for name, f in vars(one).items() if isinstance(f, _FUNCTION)}
        return _library, (type(one), one._name, functions)  # noqa: SLF001  (the only place where it is kept)
    if isinstance(one, _FUNCTION):
        library = (one._objects or {}).get("0")  # noqa: SLF001  (likewise)
        return (_function, (library, *_named(one))) if isinstance(library, ctypes.CDLL) else None
    return _reduced_type(one) if isinstance(one, type) else None


def _reduced_type(one: Any) -> tuple[Any, ...] | None:
    if issubclass(one, _POINTER) and one is not _POINTER:
        return ctypes.POINTER, (vars(one)["_type_"],)
    if issubclass(one, ctypes.Array) and one is not ctypes.Array:
        return operator.mul, (one._type_, one._length_)
    return None


def _named(function: Any) -> tuple[str, _Prototype]:
    return function.__name__, _prototype(function)


def _prototype(function: Any) -> _Prototype:
    return function.argtypes, function.restype


def _library(kind: type[ctypes.CDLL], name: str | None, functions: dict[str, _Prototype]) -> ctypes.CDLL:
    library = kind(name)
    for one, prototype in functions.items():
        setattr(library, one, _function(library, one, prototype))
    return library


def _function(library: ctypes.CDLL, name: str, prototype: _Prototype) -> Any:
    function = library[name]
    function.argtypes, function.restype = prototype
    return function
