"""What all parts share: errors, user functions as C calls them, vectors and matrices."""
from __future__ import annotations

import sys
import warnings
from typing import Any, Callable, List, Optional, Sequence

import numpy as np

from ._native import ffi, lib


class Error(RuntimeError):
    """An error of cpodes. code: CP_... or CV_...; name: that of the code; message: what was wrong; sol: the results so far
    if it ended an integration, otherwise None."""

    def __init__(self, code: int, message: str, sol: Any = None):
        self.code, self.message, self.sol = code, message, sol
        raw = lib.CPGetReturnFlagName(code)
        self.name = ffi.string(raw).decode() if raw else str(code)
        lib.glue_free(raw)
        super().__init__(f"{self.name} ({code}): {message}")

    def __reduce__(self):
        return Error, (self.code, self.message)


class TrySmallerStep(Exception):
    """Raised by a user function that cannot be evaluated where a smaller step may help."""


class CpodesWarning(UserWarning):
    """A warning of the library."""


class Pointers:
    """The functions of the glue as C callbacks."""

    def __getattr__(self, name: str) -> Any:
        return ffi.addressof(lib, name)


to_c = Pointers()


C_ARRAYS = {np.dtype(float): ffi.typeof("double[]"), np.dtype(np.int64): ffi.typeof("int64_t[]"),
            np.dtype(np.intc): ffi.typeof("int[]")}


def pointer(a: Optional[np.ndarray]) -> Any:
    """The numbers of an array that is contiguous in either order, as C takes them; NULL for None or an empty array. The
    result keeps the array alive, so that a function may be called with pointer(temporary); but a member of a structure that
    is set to it does not."""
    if a is None or not a.size:
        return ffi.NULL
    return ffi.from_buffer(C_ARRAYS[a.dtype], a if a.flags.c_contiguous else a.T)


class Failures:
    """Holds an exception that a function called from C has raised. Each system has one."""

    __slots__ = ("exception",)

    def __init__(self) -> None:
        self.exception: Optional[BaseException] = None

    def check(self, flag: int, message: Callable[[], str]) -> int:
        """Returns flag if it is no error. Otherwise raises the exception on hold, or else an Error."""
        if flag >= 0 and self.exception is None:
            return flag
        self.reraise()
        raise Error(flag, message())

    def reraise(self) -> None:
        exception, self.exception = self.exception, None
        if exception is not None:
            raise exception


class Compiled:
    """A compiled function: its address, its user_data, and an object to keep alive.

    The signature is int f(double t, const double *x..., double *out..., void *user_data), as the guide lists it for each
    function; it returns 0, a positive number if a smaller step may help, or a negative one to give up."""

    def __init__(self, address: int, data: int = 0, keep: Any = None):
        if not address:
            raise ValueError("the address of a compiled function is 0")
        self.address, self.data, self.keep = int(address), int(data or 0), keep


def as_compiled(f: Any) -> Optional[Compiled]:
    """f as Compiled if it is a compiled function with an address (numba.cfunc, ctypes, cffi, scipy.LowLevelCallable), else
    None."""
    if isinstance(f, Compiled):
        return f
    if isinstance(f, ffi.CData):
        if ffi.typeof(f).kind != "function":
            raise TypeError(f"a cffi object of type {ffi.typeof(f)} is no pointer to a function")
        return Compiled(int(ffi.cast("intptr_t", f)), keep=f)
    if hasattr(f, "address") and hasattr(f, "native_name"): # numba.cfunc
        returned = str(getattr(getattr(f, "_sig", None), "return_type", "int32"))
        if returned not in ("int32", "int64"):
            raise TypeError(f"a numba.cfunc has to return int32, 0 for success; this one returns {returned}")
        return Compiled(f.address, keep=f)
    kind = type(f)
    if kind.__module__ == "scipy._lib._ccallback" and kind.__name__ == "LowLevelCallable":
        import ctypes
        get = ctypes.pythonapi
        for name in ("PyCapsule_GetName", "PyCapsule_GetPointer", "PyCapsule_GetContext"):
            getattr(get, name).restype = ctypes.c_char_p if name.endswith("Name") else ctypes.c_void_p
        get.PyCapsule_GetName.argtypes = get.PyCapsule_GetContext.argtypes = [ctypes.py_object]
        get.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        capsule = tuple.__getitem__(f, 0)
        address = get.PyCapsule_GetPointer(capsule, get.PyCapsule_GetName(capsule))
        return Compiled(address, get.PyCapsule_GetContext(capsule) or 0, keep=f)
    if "ctypes" in sys.modules:
        import ctypes
        if isinstance(f, ctypes._CFuncPtr):
            if f.restype is not ctypes.c_int:
                raise TypeError(f"a ctypes function has to return c_int, 0 for success; its restype is {f.restype}")
            return Compiled(ctypes.cast(f, ctypes.c_void_p).value or 0, keep=f)
    return None


@ffi.def_extern(error=-1, onerror=lambda kind, value, trace: _lost(value, trace))
def glue_python(handle, t):
    return ffi.from_handle(handle)(t)


@ffi.def_extern(error=-1, onerror=lambda kind, value, trace: _lost(value, trace))
def glue_python_event(handle, t, timed, found, y):
    return ffi.from_handle(handle).at_event(t, timed, found, y)


@ffi.def_extern(error=-1, onerror=lambda kind, value, trace: _lost(value, trace))
def glue_python_config(handle, mem, method):
    return ffi.from_handle(handle).configure(mem, ffi.string(method).decode())


@ffi.def_extern(error=-1, onerror=lambda kind, value, trace: _lost(value, trace))
def glue_python_named(handle, t, name):
    ffi.from_handle(handle).named_events.append((t, ffi.string(name).decode()))
    return 0


def _lost(exception: BaseException, trace: Any) -> bool:
    """Keeps an exception raised by what the glue calls, or outside a function itself: Ctrl-C between two instructions."""
    call = ffi.from_handle(trace.tb_frame.f_locals["handle"])
    call.failures.exception = exception
    return True


class Caller:
    """A Python function called from C: it gets t and copies of the input arrays, and its results go to the output arrays."""

    __slots__ = ("run", "failures")

    def __init__(self, run: Callable[[float], int], failures: Failures):
        self.run, self.failures = run, failures

    def __call__(self, t: float) -> int:
        return self.run(t)


def expected(name: str, result: Any, out: np.ndarray) -> np.ndarray:
    """The result of the function `name` as an array that fits out; otherwise an exception says what was expected."""
    what = f"{name} has to return an array of shape {out.shape} of {'complex' if out.dtype.kind == 'c' else 'real'} numbers"
    if result is None:
        raise TypeError(f"{what}, and returned None")
    if hasattr(result, "toarray"):
        result = result.toarray()
    try:
        array = np.asarray(result)
    except ValueError:
        raise ValueError(f"{what}, and returned {type(result).__name__} with rows of different lengths") from None
    if array.dtype.kind not in ("biufc" if out.dtype.kind == "c" else "biuf"):
        raise TypeError(f"{what}, and returned {type(result).__name__} of dtype {array.dtype}")
    if array.shape != out.shape and not (array.size == out.size == 1):
        raise ValueError(f"{what}, and returned one of shape {array.shape}")
    return array.reshape(out.shape)


class Sparse:
    """The pattern of a sparse matrix by columns. Results are scipy.sparse matrices, or the values of the pattern's entries."""

    def __init__(self, matrix: Any):
        matrix = matrix.tocsc().copy()
        matrix.sum_duplicates()
        matrix.sort_indices()
        self.shape = matrix.shape
        self.starts = np.ascontiguousarray(matrix.indptr, dtype=np.int64)
        self.rows = np.ascontiguousarray(matrix.indices, dtype=np.int64)
        columns = np.repeat(np.arange(self.shape[1]), np.diff(self.starts))
        self.places = columns * self.shape[0] + self.rows # ascending, since they are sorted by column, then row

    def groups(self) -> List[np.ndarray]:
        """Groups of columns that share no row, found greedily (A. Curtis, M. Powell, J. Reid, IMA J. Appl. Math. 13, 1974)."""
        rows = np.split(self.rows, self.starts[1:-1])
        left, found = range(self.shape[1]), []
        while left:
            taken, group, later = np.zeros(self.shape[0], dtype=bool), [], []
            for j in left:
                if taken[rows[j]].any():
                    later.append(j)
                else:
                    taken[rows[j]] = True
                    group.append(j)
            found.append(np.array(group, dtype=np.int64))
            left = later
        return found

    def values(self, name: str, result: Any, out: np.ndarray) -> np.ndarray:
        if not hasattr(result, "tocsc"):
            if np.shape(result) == self.shape and self.shape != out.shape: # a dense matrix
                result = expected(name, result, np.empty(self.shape))
                values = result.T.ravel()[self.places]
                if np.count_nonzero(values) != np.count_nonzero(result):
                    raise ValueError(f"{name} has an entry other than 0 where its template has none")
                return values
            return expected(f"{name} (the values of its template's entries)", result, out)
        result = result.tocsc()
        if result.shape != self.shape:
            raise ValueError(f"{name} has to return a matrix {self.shape}, and returned one {result.shape}")
        if result.nnz == len(self.rows) and np.array_equal(result.indices, self.rows) and np.array_equal(
                result.indptr, self.starts):
            return result.data
        result = result.tocoo()
        places = result.col.astype(np.int64) * self.shape[0] + result.row
        at = np.searchsorted(self.places, places)
        good = (at < len(self.places)) & (self.places[np.minimum(at, len(self.places) - 1)] == places)
        if not good[result.data != 0].all():
            k = int(np.flatnonzero(~good & (result.data != 0))[0])
            raise ValueError(f"{name} has an entry at ({result.row[k]}, {result.col[k]}), where its template has none")
        values = np.zeros(len(self.rows))
        np.add.at(values, at[good], result.data[good])
        return values


class Vectorized:
    """fun(t, y) for states that are the columns of y [n, k], as in scipy. With `times`, t [k] holds their times; otherwise
    it is one number for all of them. A call evaluates one time and one real state; `points` evaluates several, as rows."""

    def __init__(self, fun: Callable, dtype: type, times: bool):
        if as_compiled(fun):
            raise TypeError("a compiled function evaluates one state: vectorized is for functions of Python")
        if not callable(fun):
            raise TypeError(f"fun has to be a function, and is {type(fun).__name__}")
        self.fun, self.dtype, self.times, self.calls = fun, dtype, times, 0

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        return self.columns(np.array([t]) if self.times else t, y[None])[0]

    def points(self, t: np.ndarray, Y: np.ndarray) -> np.ndarray:
        if self.times:
            return self.columns(t, Y)
        if (t == t[0]).all():
            return self.columns(float(t[0]), Y)
        return np.concatenate([self.columns(float(ti), y) for ti, y in zip(t, Y[:, None])])

    def columns(self, t: Any, Y: np.ndarray) -> np.ndarray:
        self.calls += 1
        y = Y.view(self.dtype).T
        value = self.fun(t, y)
        if y.shape[1] == 1 and np.shape(value) == y.shape[:1]: # scipy accepts it
            value = np.reshape(value, y.shape)
        if not (type(value) is np.ndarray and value.dtype == self.dtype and value.shape == y.shape):
            value = expected("fun, which is vectorized,", value, y)
        return np.ascontiguousarray(value.T, dtype=self.dtype).view(float)

    def bind(self, batch: Any, failures: Failures, keep: list) -> None:
        """Fills in the GlueBatch with points."""
        def run(t: float) -> int:
            try:
                k, n = batch.k, batch.n
                times, Y = np.empty(k), np.empty((k, n)) # new arrays, since fun may keep them
                ffi.memmove(ffi.from_buffer(times), batch.t, times.nbytes)
                ffi.memmove(ffi.from_buffer(Y), batch.Y, Y.nbytes)
                ffi.memmove(batch.F, ffi.from_buffer(self.points(times, Y)), Y.nbytes)
            except TrySmallerStep:
                return 1
            except BaseException as exception:
                failures.exception = exception
                return -1
            return 0
        handle = ffi.new_handle(Caller(run, failures))
        batch.data = handle
        keep.append(handle)


REFERENCES = 3 # to an argument that nobody else holds: by the list x, by run, and by getrefcount


def bind(slot: Any, f: Any, name: str, inputs: Sequence[int], outputs: Sequence[Any], failures: Failures,
         keep: list, hide: Sequence[int] = ()) -> None:
    """Fills in the GlueFn slot with f. inputs: lengths; outputs: shapes, or Sparse. hide: inputs that a Python function
    does not get. keep: a list that gets everything that has to live as long as slot."""
    slot.nin, slot.nout = len(inputs), len(outputs)
    for i, n in enumerate(inputs):
        slot.nx[i] = n
    sizes = [len(o.rows) if isinstance(o, Sparse) else int(np.prod(o)) for o in outputs]
    for i, n in enumerate(sizes):
        slot.ny[i] = n
        slot.y[i] = ffi.NULL
    compiled = as_compiled(f)
    if compiled:
        slot.call, slot.data = ffi.cast("void *", compiled.address), ffi.cast("void *", compiled.data)
        keep.append(compiled)
        return
    if not callable(f):
        raise TypeError(f"{name} has to be a function, and is {type(f).__name__}")
    shown = [i for i in range(len(inputs)) if i not in hide]
    x = [np.zeros(inputs[i]) for i in shown]
    y = [np.zeros(n) if isinstance(o, Sparse) else np.zeros(o, order="F") for n, o in zip(sizes, outputs)]
    for i, a in zip(shown, x):
        slot.x[i] = pointer(a)
    for i in range(len(inputs)):
        if i in hide:
            slot.nx[i] = 0
    for i, a in enumerate(y):
        slot.y[i] = pointer(a)

    def renew(k: int) -> None: # somebody still holds this argument, so it must not change
        x[k] = np.zeros(len(x[k]))
        slot.x[shown[k]] = pointer(x[k])

    def failed(exception: BaseException) -> int:
        if isinstance(exception, TrySmallerStep):
            return 1
        failures.exception = exception
        return -1

    returned = [k for k, n in enumerate(sizes) if n > 0] # the function does not return matrices without entries
    y, outputs = [y[k] for k in returned], [outputs[k] for k in returned]
    count = sys.getrefcount
    if len(x) in (1, 2) and len(y) == 1 and not isinstance(outputs[0], Sparse): # the common case, without loops
        out, shape, double, first, second = y[0], y[0].shape, y[0].dtype, x[0], x[-1]
        single = len(x) == 1

        def run(t: float) -> int:
            nonlocal first, second
            try:
                r = f(t, first) if single else f(t, first, second)
                if type(r) is np.ndarray and r.dtype is double and r.shape == shape:
                    out[...] = r
                else:
                    out[...] = expected(name, r, out)
                del r
                if count(first) > REFERENCES + single: # then `second` is the same object
                    renew(0)
                    first = x[0]
                    if single:
                        second = first
                if not single and count(second) > REFERENCES:
                    renew(1)
                    second = x[1]
            except BaseException as exception:
                return failed(exception)
            return 0
    else:
        def run(t: float) -> int:
            try:
                r = f(t, *x)
                if len(y) > 1 and (not isinstance(r, (tuple, list)) or len(r) != len(y)):
                    raise TypeError(f"{name} has to return {len(y)} matrices, and returned {type(r).__name__}")
                for out, form, one in zip(y, outputs, r if len(y) > 1 else (r,)):
                    if isinstance(form, Sparse):
                        out[...] = form.values(name, one, out)
                    else:
                        out[...] = expected(name, one, out)
                del r
                for k in range(len(x)):
                    if count(x[k]) > 2:
                        renew(k)
            except BaseException as exception:
                return failed(exception)
            return 0

    handle = ffi.new_handle(Caller(run, failures))
    slot.call, slot.data = ffi.NULL, handle
    keep += [handle, x, y]


def sized(struct: str, **members: Any) -> Any:
    """A structure that begins with its size."""
    return ffi.new(f"{struct} *", {"size": ffi.sizeof(struct), **members})


def message_of(handle: Any) -> str:
    """The newest message of an object of the library; NULL: of this thread."""
    return ffi.string(lib.CPObjectGetLastMessage(ffi.cast("CPObject", handle))).decode()


def counter(handle: Any, name: str) -> float:
    """A counter of an object of the library by its name."""
    value = ffi.new("double *")
    if lib.CPObjectGetStat(ffi.cast("CPObject", handle), name.encode(), value):
        raise Error(lib.CP_ILL_INPUT, message_of(handle))
    return value[0]


class Owner:
    """Objects of the library, freed in reverse order of creation, at the latest with this object."""

    def __init__(self) -> None:
        self.frees: list = []
        self.keep: list = []
        self.failures = Failures()
        self.ctx = self.own(lib.glue_context(), lib.glue_context_free, "a SUNContext")
        self.warnings = ffi.new("GlueWarnings *")

    def own(self, pointer: Any, free: Callable, what: str) -> Any:
        if not pointer:
            raise Error(lib.CP_MEM_FAIL, f"{what} could not be created: {message_of(ffi.NULL)}")
        self.frees.append((free, pointer))
        return pointer

    def own_handle(self, kind: str, pointer: Any, free: Callable) -> Any:
        """As `own`, for an object whose free function takes its address."""
        self.own(pointer, lambda p: free(ffi.new(f"{kind} *", p)), f"a {kind}")
        lib.CPObjectSetErrHandlerFn(ffi.cast("CPObject", pointer), to_c.glue_message, self.warnings)
        return pointer

    def release(self, pointer: Any) -> None:
        """Frees one of them before the others."""
        i = [owned for _, owned in self.frees].index(pointer)
        free, _ = self.frees.pop(i)
        free(pointer)

    def vector(self, data: np.ndarray) -> Any:
        """An N_Vector that uses the memory of data."""
        self.keep.append(data)
        return self.own(lib.glue_vector(data.size, pointer(data), self.ctx),
                        lib.glue_vector_free, "a vector")

    def matrix(self, form: Any) -> Any:
        """A SUNMatrix of this shape, or with the pattern of a Sparse."""
        if isinstance(form, Sparse):
            made = lib.glue_csc(*form.shape, pointer(form.starts), pointer(form.rows), self.ctx)
        else:
            made = lib.glue_dense(*form, self.ctx)
        return self.own(made, lib.glue_matrix_free, "a matrix")

    def tell_warnings(self) -> None:
        count, self.warnings.count = self.warnings.count, 0
        for i in range(count):
            warnings.warn(ffi.string(self.warnings.text[i]).decode(), CpodesWarning, stacklevel=4)

    def close(self) -> None:
        frees, self.frees = self.frees, []
        for free, pointer in reversed(frees):
            free(pointer)

    def __del__(self) -> None:
        if hasattr(self, "frees"):
            self.close()

    def __reduce__(self):
        raise TypeError("objects of the C library can be neither copied nor pickled; keep arrays, t and y, instead")


def real_array(name: str, value: Any, shape: Optional[tuple] = None) -> np.ndarray:
    """value as a new contiguous array of finite floats of this shape, in which None means any length."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} has to be an array of real numbers, and is {type(value).__name__} with rows of different lengths") from None
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} has to be an array of real numbers, and is {type(value).__name__} of dtype {array.dtype}")
    if shape is not None and (array.ndim != len(shape) or any(s not in (None, k) for s, k in zip(shape, array.shape))):
        raise ValueError(f"{name} has to have the shape {tuple('any' if s is None else s for s in shape)}, "
                         f"and has {array.shape}")
    array = np.array(array, dtype=float, order="C")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has an entry that is not finite: {array[~np.isfinite(array)][0]} at "
                         f"{tuple(int(i[0]) for i in np.nonzero(~np.isfinite(np.atleast_1d(array))))}")
    return array
