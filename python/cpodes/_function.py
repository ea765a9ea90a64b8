"""Functions with exact first and second derivatives, of texts with units and of tables: the interface of libcpodes_language."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from ._core import Error, message_of, pointer, real_array, sized
from ._native import ffi, lib

ENDS = {"natural": lib.CP_ENDS_NATURAL, "clamped": lib.CP_ENDS_CLAMPED, "periodic": lib.CP_ENDS_PERIODIC,
        "cubic": lib.CP_ENDS_CUBIC}


class Function:
    """A function of named variables, Function("-k*sin(x) + 2 N m", {"x": "rad"}, names={"k": "3 N m"}).

    variables: their names, or a mapping of these to their units. unit: that of the value, or None. names: further names that the text
    may use, for numbers (texts or plain numbers) and Functions. The guide's chapter "Expressions and tables" has the grammar. Values are
    in SI units. f(x, ...) is the value, and f.derivatives(x, ...) the value, the gradient [n] and the Hessian [n, n].

    Springs, forces and drives of Bodies take Functions in place of Python's: they are as fast as compiled ones."""

    def __init__(self, text: str, variables: Union[Sequence[str], Mapping[str, Optional[str]]] = (), *, unit: Optional[str] = None,
                 names: Optional[Mapping[str, Any]] = None):
        if not isinstance(text, str):
            raise TypeError(f"text has to be an expression as a string, and is {text!r}")
        if isinstance(variables, str):
            variables = (variables,)
        given = list(variables.items()) if isinstance(variables, Mapping) else [(name, None) for name in variables]
        keep: list = []

        def c(value: Optional[str]) -> Any:
            if value is None:
                return ffi.NULL
            keep.append(ffi.new("char[]", value.encode()))
            return keep[-1]
        defined = []
        for name, value in (names or {}).items():
            is_function = isinstance(value, Function)
            defined.append({"size": ffi.sizeof("CPDefinition"), "name": c(name),
                            "text": ffi.NULL if is_function else c(value if isinstance(value, str) else repr(float(value))),
                            "function": value._handle if is_function else ffi.NULL})
        arrays = ffi.new("char *[]", [c(name) for name, _ in given]), ffi.new("char *[]", [c(u) for _, u in given])
        definitions = ffi.new("CPDefinition[]", defined)
        self.variables = tuple(name for name, _ in given)
        self._create(len(given), text=c(text), variable=arrays[0], unit=arrays[1], result=c(unit),
                     definition=definitions if defined else ffi.NULL, ndefinitions=len(defined))

    @classmethod
    def table(cls, x: Any, y: Any, *, units: Tuple[str, str] = ("", ""), order: int = 3, ends: str = "natural",
              slopes: Sequence[float] = ()) -> "Function":
        """The spline through the rows (x, y), of order 1, 3 or 5; ends "natural", "clamped" (with slopes), "periodic" or "cubic"."""
        if ends not in ENDS:
            raise ValueError(f"ends are one of {', '.join(ENDS)}, and not {ends!r}")
        xs, ys = real_array("x", x, (None,)), real_array("y", y, (len(np.atleast_1d(x)),))
        self = cls.__new__(cls)
        keep = [ffi.new("char[]", u.encode()) for u in units]
        spline = sized("CPTable", order=order, ends=ENDS[ends], nx=len(xs), x=pointer(xs), value=pointer(ys))
        for i, slope in enumerate(slopes):
            spline.slope[i] = slope
        self.variables = ("x",)
        self._create(1, table=spline, unit=ffi.new("char *[]", keep[:1]), result=keep[1])
        return self

    def _create(self, n: int, **options: Any) -> None:
        box = ffi.new("CPFunction *")
        flag = lib.CPFunctionCreate(sized("CPFunctionOptions", nvariables=n, **options), box)
        if flag:
            raise Error(flag, message_of(ffi.NULL))
        self._handle = ffi.gc(box[0], lambda f: lib.CPFunctionFree(ffi.new("CPFunction *", f)))

    def derivatives(self, *x: float) -> Tuple[float, np.ndarray, np.ndarray]:
        """The value, the gradient [n] and the Hessian [n, n] at x."""
        n = len(self.variables)
        if len(x) != n:
            raise TypeError(f"the function has {n} variables, and {len(x)} values are given")
        at, value, g, H = np.array(x + (0.0,), dtype=float), np.zeros(1), np.zeros(n + 1), np.zeros(n * n + 1)
        if lib.CPFunctionEvaluate(self._handle, pointer(at), pointer(value), pointer(g), pointer(H)):
            raise ValueError(f"the function or a derivative is not a finite number at {x}")
        return float(value[0]), g[:n], H[:n * n].reshape(n, n)

    def __call__(self, *x: Any) -> Any:
        """The value at x; with arrays, at each of their elements."""
        if any(np.ndim(one) for one in x):
            return np.vectorize(lambda *one: self(*one), otypes=[float])(*x)
        n = len(self.variables)
        if len(x) != n:
            raise TypeError(f"the function has {n} variables, and {len(x)} values are given")
        at, value = np.array(x + (0.0,), dtype=float), np.zeros(1)
        if lib.CPFunctionEvaluate(self._handle, pointer(at), pointer(value), ffi.NULL, ffi.NULL):
            raise ValueError(f"the function is not a finite number at {x}")
        return float(value[0])
