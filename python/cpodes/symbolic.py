"""Mechanisms from sympy expressions: M, A, f, p, b and all partial derivatives are formed symbolically, written as C and
compiled."""
from __future__ import annotations

import ctypes
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Sequence

import numpy as np
import sympy as sp

from ._cache import compiled
from ._core import Compiled, pointer
from ._mechanism import Mechanism
from ._native import ffi
from ._trees import unflatten

ARGUMENTS = { # inputs and outputs of the compiled functions, as cpodes calls them
    "M": (("q",), ("M",)), "A": (("q",), ("A",)), "f": (("q", "u", "z"), ("f",)), "p": (("q",), ("p",)),
    "v": (("q", "u"), ("v",)), "b": (("q", "u"), ("b",)),
    "dynamics_jac": (("q", "u", "z", "udot", "lambda"), ("K", "C", "Fz")), "constraint_jac": (("q", "u", "udot"), ("Bq", "Bu"))}


# Identifiers that sympy writes for functions of math.h and for constants. All others are those of c_function.
KNOWN = set("""acos acosh asin asinh atan atan2 atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 fabs floor fma fmax fmin fmod hypot
lgamma log log10 log1p log2 pow sin sinh sqrt tan tanh tgamma
M_1_PI M_2_PI M_2_SQRTPI M_E M_LN10 M_LN2 M_LOG10E M_LOG2E M_PI M_PI_2 M_PI_4 M_SQRT1_2 M_SQRT2 HUGE_VAL""".split())


def in_c(e: sp.Expr, names: Iterable[str]) -> str:
    """The expression in C. Functions that C lacks are refused: sympy writes their names as they are, and names may be code."""
    constants, unknown, code = sp.ccode(e, human=False)
    if unknown or constants:
        first = min(map(str, unknown or constants))
        raise ValueError(f"the expressions contain what C has no function for: {first!r}")
    for word in re.findall(r"[A-Za-z_]\w*", re.sub(r"\b\d+(\.\d*)?([eE][-+]?\d+)?", "0", code)):
        if word not in KNOWN and word not in names:
            raise ValueError(f"the expressions contain the name {word!r}, which is no function or constant of C")
    if re.search(r"""[^\w\s.,+*/()\[\]?:<>=!&|-]""", code):
        raise ValueError(f"the expressions contain a name that is no name of C: {code!r}")
    return code


def c_function(name: str, symbols: Dict[sp.Symbol, str], results: Dict[str, sp.Matrix]) -> str:
    """A C function that computes the arrays of the results, by columns, and common subexpressions only once."""
    inputs, outputs = ARGUMENTS[name]
    targets = [(f"{array}_[{k}]", e) for array in results for k, e in enumerate(results[array].T) if e != 0]
    shared, reduced = sp.cse([e for _, e in targets], symbols=sp.numbered_symbols("cse_"), order="none")
    names = {re.match(r"\w+", n)[0] for n in symbols.values()} | {str(s) for s, _ in shared}
    code = lambda e: in_c(e.xreplace({s: sp.Symbol(n) for s, n in symbols.items()}), names)
    lines = [f"  const double {s} = {code(e)};" for s, e in shared]
    lines += [f"  {target} = {code(e)};" for (target, _), e in zip(targets, reduced)]
    sizes = "".join(f"  memset({array}_, 0, {len(results[array])} * sizeof(double));\n" for array in results if len(results[array]))
    head = ", ".join(["double t_"] + [f"const double *{a}_" for a in inputs] + [f"double *{a}_" for a in outputs])
    return f"int {name}({head}, void *data) {{\n  const double *P_ = data;\n  (void)P_, (void)t_;\n{sizes}" + "\n".join(
        lines) + "\n  return 0;\n}\n"


def expressions(name: str, value: Any) -> Any:
    """value, whose iterators become lists, without strings, which sympy would evaluate as code of Python."""
    if hasattr(value, "__next__"):
        value = list(value)
    entries: List[Any] = [value]
    while entries:
        one = entries.pop()
        if isinstance(one, (str, bytes)):
            raise TypeError(f"{name} has to consist of expressions of sympy and numbers, and has the string {one!r}")
        if isinstance(one, (list, tuple)) or isinstance(one, np.ndarray) and one.dtype.kind in "OUS" and one.ndim:
            entries += list(one)
    return value


# ---- compiled objects ----


def built(source: str, compiler: List[str], folder: Path) -> Path:
    """The shared object, made in this folder."""
    path, made = folder / "mechanism.c", folder / "mechanism.so"
    path.write_text(source)
    done = subprocess.run([*compiler, "-O2", "-shared", "-fPIC", str(path), "-o", str(made), "-lm"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the C compiler failed on the mechanism's functions:\n{done.stderr}")
    return made


def compiled_library(source: str) -> ctypes.CDLL:
    """The source as a shared object, compiled by $CC, or cc."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    return compiled([compiler, source], lambda folder: built(source, compiler, folder))


def mechanism(q: Sequence[sp.Symbol], u: Sequence[sp.Symbol], mass: Any, forces: Any, position: Any = (), velocity: Any = (), *,
              t: Optional[sp.Symbol] = None, params: Optional[Dict[sp.Symbol, float]] = None, **options: Any) -> Mechanism:
    """The Mechanism of these expressions, with compiled functions.

    q, u: symbols of coordinates and velocities, q' = u. mass [nu, nu], forces [nu], position [np]: matrices or lists of
    expressions in q, u, t and params. velocity: further constraints v(t, q, u) = 0 that are linear in u (nonholonomic
    ones). params: symbols and their values; they become the mechanism's params, a dict by name, with respect to which
    gradient differentiates. options: Mechanism's."""
    q, u, mass, forces, position, velocity, _, _ = (expressions(name, value) for name, value in (
        ("q", q), ("u", u), ("mass", mass), ("forces", forces), ("position", position), ("velocity", velocity), ("t", t),
        ("params", list(params or {}))))
    q, u, n = list(q), list(u), len(q)
    t = t or sp.Symbol("t")
    params = params or {}
    if len(u) != n:
        raise ValueError(f"there are {n} coordinates and {len(u)} velocities")
    M, f = sp.Matrix(mass), sp.Matrix(n, 1, list(forces))
    if M.shape != (n, n):
        raise ValueError(f"mass has to have the shape ({n}, {n}), and has {M.shape}")
    column = lambda entries: sp.Matrix(len(entries), 1, list(entries))
    p, more = column(position), column(velocity)
    known = set(q) | set(u) | set(params) | {t}
    unknown = set().union(*(m.free_symbols for m in (M, f, p, more))) - known
    if unknown:
        raise ValueError(f"the expressions contain symbols that are none of q, u, t and params: {sorted(map(str, unknown))}")
    U = column(u)
    v = (p.jacobian(q) * U + p.diff(t)).col_join(more) if len(p) else more # dp/dt, then the nonholonomic ones
    A = v.jacobian(u) if len(v) else sp.zeros(0, n)
    b = -(v.jacobian(q) * U + v.diff(t)) if len(v) else sp.zeros(0, 1) # v' = A u' - b
    if any(A.has(s) for s in u):
        raise ValueError("velocity has to be linear in u")
    na = A.rows
    udot, lam = sp.symbols(f"udot_0:{n}"), sp.symbols(f"lambda_0:{max(1, na)}")[:na]
    d, l = column(udot), column(lam)
    balance = f - M * d - (A.T * l if na else sp.zeros(n, 1))
    names = {t: "t_"}
    for array, entries in (("q", q), ("u", u), ("udot", udot), ("lambda", lam), ("P", sorted(params, key=str))):
        names.update({s: f"{array}_[{k}]" for k, s in enumerate(entries)})
    results: Dict[str, Dict[str, sp.Matrix]] = {
        "M": {"M": M}, "f": {"f": f}, "dynamics_jac": {"K": balance.jacobian(q), "C": f.jacobian(u)}}
    if na:
        results.update({"A": {"A": A}, "v": {"v": v}, "b": {"b": b}, "constraint_jac": {
            "Bq": (b - A * d).jacobian(q), "Bu": b.jacobian(u)}})
    if len(p):
        results["p"] = {"p": p}
    source = "#include <math.h>\n#include <string.h>\n" + "".join(c_function(k, names, r) for k, r in results.items())
    library = compiled_library(source)
    values = {str(s): float(params[s]) for s in sorted(params, key=str)}
    flat = np.array(list(values.values()) or [0.0])
    address = int(ffi.cast("intptr_t", pointer(flat)))
    functions = {k: Compiled(ctypes.cast(getattr(library, k), ctypes.c_void_p).value or 0, address, (library, flat)) for k in results}
    m = Mechanism(functions["M"], functions["f"], functions.get("A"), functions.get("p"), functions.get("v"), functions.get("b"),
                  dynamics_jac=functions["dynamics_jac"], constraint_jac=functions.get("constraint_jac"), nq=n, nu=n,
                  rows=(len(p), len(v), na), params=values or None, **options)
    if values: # the compiled functions read the array that gradient changes
        m.parameters = flat
        m._views = unflatten(values, flat)
    m.source = source
    return m
