"""cpodes: differential equations with invariants, and mechanical systems, solved on their manifold.

    y' = f(t, y),   0 = c(t, y)                    solve
    M u' + A^T lambda = f,   0 = p(t, q)           Mechanism

See the guide's chapter "Python"."""
from __future__ import annotations

import importlib
from typing import Any

from ._core import Compiled, CpodesWarning, Error, TrySmallerStep
from ._native import ffi, lib
from ._run import Solution, Table
from ._solve import solve

__version__ = ffi.string(lib.CPGetVersion(ffi.NULL, ffi.NULL, ffi.NULL)).decode() # that of the library

_LATER = {"Mechanism": "._mechanism", "Model": "._mechanism", "model": "._mechanism", "models": "._mechanism", "Contact": "._contact",
          "Bodies": "._bodies", "Powers": "._bodies", "Function": "._function", "load": "._load", "Objective": "._gradient", "jvp": "._gradient", "vjp": "._gradient",
          "torch_motion": "._gradient", "jax_motion": "._gradient"}

__all__ = ["Compiled", "CpodesWarning", "Error", "Solution", "Table", "TrySmallerStep", "solve", *_LATER]


def __getattr__(name: str) -> Any: # parts that few programs need are imported on first use
    if name == "symbolic":
        return importlib.import_module(".symbolic", __name__)
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name], __name__), name)
    raise AttributeError(f"module 'cpodes' has no attribute {name!r}")


def __dir__() -> list: # help() imports them all; without sympy there is no symbolic
    from importlib.util import find_spec
    return sorted({*__all__, *globals(), *(["symbolic"] if find_spec("sympy") else [])} - {"ffi", "lib", "importlib", "Any", "annotations"})
