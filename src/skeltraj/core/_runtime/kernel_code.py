"""What a kernel's compiled code was made of."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any

import numpy as np


def digest_of(kernel: Callable[..., Any]) -> str:
    """A digest of a kernel's code, its options, and all that it names: kernels and values, which are compiled into it.

    Numba looks at the file of the kernel alone, and these may come from others. They are read from what was imported,
    not from files, which may be those of another version by now.
    """
    text, seen = hashlib.sha256(), {id(kernel)}
    kernels = [kernel]
    while kernels:
        one = kernels.pop()
        function = getattr(one, "py_func", one)
        text.update(_written(sorted(getattr(one, "targetoptions", {}).items())).encode())
        named: dict[str, Any] = {}
        for code in _codes(function.__code__):
            text.update(code.co_code)
            text.update(_written([const for const in code.co_consts if not isinstance(const, CodeType)]).encode())
            text.update(_written(code.co_names).encode())
            named.update({name: function.__globals__[name] for name in code.co_names if name in function.__globals__})
        text.update(_written(function.__defaults__).encode())
        for name, value in named.items():
            if not hasattr(value, "py_func"):
                text.update(f"{name}={_written(value)}".encode())
            elif id(value) not in seen:
                seen.add(id(value))
                kernels.append(value)
    return text.hexdigest()


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of functions within it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _written(value: Any) -> str:
    """A value in words that are the same in every process."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    if isinstance(value, tuple | list):
        return f"({','.join(map(_written, value))})"
    if isinstance(value, frozenset):
        return f"({','.join(sorted(map(_written, value)))})"
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}{getattr(value, '_fields', '')}"
    if isinstance(value, ModuleType):
        return value.__name__
    if callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}"
    return repr(value)
