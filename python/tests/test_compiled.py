"""Compiled functions with addresses, and those that symbolic compiles."""
import ctypes
import os
import signal
import subprocess
import threading

import numpy as np
import pytest

import cpodes
import crank
from pendulum import START, c, f

SOURCE = """
int f(double t, const double *y, double *ydot, void *data) {
  const double g = data ? *(const double *)data : 9.81, tension = y[2] * y[2] + y[3] * y[3] - g * y[1];
  ydot[0] = y[2], ydot[1] = y[3], ydot[2] = -tension * y[0], ydot[3] = -g - tension * y[1];
  return 0;
}
int c(double t, const double *y, double *c, void *data) {
  c[0] = (y[0] * y[0] + y[1] * y[1] - 1) / 2, c[1] = y[0] * y[2] + y[1] * y[3];
  return 0;
}
int fails(double t, const double *y, double *ydot, void *data) { return -1; }
void nothing(double t, const double *y, double *ydot, void *data) {}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "f.c").write_text(SOURCE)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "f.c", "-o", "f.so"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "f.so"))


@pytest.fixture(scope="module")
def wanted():
    return cpodes.solve(f, (0, 2), START, constraints=c, rtol=1e-8, atol=1e-8).y[:, -1]


def run(function, constraints):
    return cpodes.solve(function, (0, 2), START, constraints=constraints, rtol=1e-8, atol=1e-8).y[:, -1]


def test_ctypes(library, wanted):
    assert run(library.f, (library.c, 2)) == pytest.approx(wanted, abs=1e-10)
    assert run(library.f, c) == pytest.approx(wanted, abs=1e-10)


def test_cffi(library, wanted):
    from cffi import FFI
    address = ctypes.cast(library.f, ctypes.c_void_p).value
    pointer = FFI().cast("int (*)(double, const double *, double *, void *)", address)
    assert run(pointer, c) == pytest.approx(wanted, abs=1e-10)


def test_low_level_callable(library, wanted):
    scipy = pytest.importorskip("scipy")
    function = library["f"]
    function.restype = ctypes.c_int
    function.argtypes = [ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    gravity = ctypes.c_double(9.81)
    data = ctypes.cast(ctypes.pointer(gravity), ctypes.c_void_p)
    assert run(scipy.LowLevelCallable(function, data), c) == pytest.approx(wanted, abs=1e-10)


@pytest.mark.filterwarnings("ignore")
def test_numba(wanted):
    numba = pytest.importorskip("numba")
    types = numba.types
    signature = types.int32(types.double, types.CPointer(types.double), types.CPointer(types.double), types.voidptr)

    @numba.cfunc(signature)
    def compiled(t, y, ydot, data):
        tension = y[2] * y[2] + y[3] * y[3] - 9.81 * y[1]
        ydot[0], ydot[1], ydot[2], ydot[3] = y[2], y[3], -tension * y[0], -9.81 - tension * y[1]
        return 0
    assert run(compiled, c) == pytest.approx(wanted, abs=1e-10)

    @numba.cfunc(types.void(types.double, types.CPointer(types.double), types.CPointer(types.double), types.voidptr))
    def returns_nothing(t, y, ydot, data):
        pass
    with pytest.raises(TypeError, match="int32"):
        run(returns_nothing, c)


def test_compiled_functions_that_cannot_be_used_are_refused(library):
    nothing = library["nothing"]
    nothing.restype = None
    with pytest.raises(TypeError, match="c_int"):
        run(nothing, c)
    with pytest.raises(TypeError, match="number of constraints"):
        run(library.f, library.c)
    with pytest.raises(ValueError, match="address"):
        cpodes.Compiled(0)
    with pytest.raises(cpodes.Error) as error:
        run(library.fails, c)
    assert error.value.code < 0


def test_control_c_ends_a_compiled_run_too(library):
    signal.signal(signal.SIGINT, signal.default_int_handler) # A shell starts background jobs without it.
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    sol = cpodes.solve(library.f, (0, 1e9), START, constraints=(library.c, 2), rtol=1e-8, atol=1e-8)
    assert sol.status == 2 and len(sol.t) > 100 and sol.t[-1] < 1e9


# ---- symbolic ----


@pytest.mark.parametrize("method", ["DOP853", "BDF"])
def test_sympy_s_mechanism_moves_as_that_in_python(method):
    pytest.importorskip("sympy")
    a, b = crank.in_sympy(), crank.in_python()
    y0 = crank.start(crank.PARAMETERS)
    report = a.check(0.3, a.start([1.3, 0.9, -0.4], [1, 2, 3]))
    assert max(report[name] for name in "A_p A_v v_p b_v M K C Bq Bu".split()) < 1e-8
    assert report["freedom"] == 1
    ends = [m.solve((0, 3), y0, method, rtol=1e-9, atol=1e-9).y[:, -1] for m in (a, b)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-6)


def test_moving_and_nonholonomic_constraints_are_differentiated_with_respect_to_time_and_velocity():
    """A knife edge on a plane, v = u_x sin(phi) - u_y cos(phi); and a point that is carried along x = sin(t)."""
    sp = pytest.importorskip("sympy")
    x, y, phi, ux, uy, w, t, s = sp.symbols("x y phi ux uy w t s")
    m = cpodes.symbolic.mechanism([x, y, phi], [ux, uy, w], sp.diag(1, 1, 1), [0, 0, 0], velocity=[ux * sp.sin(phi) - uy * sp.cos(phi)])
    sol = m.solve((0, 2 * np.pi), [0, 0, 0, 1, 0, 1], rtol=1e-9, atol=1e-9) # a circle of radius 1
    assert sol.y[:2, -1] == pytest.approx([0, 0], abs=1e-6)
    carried = cpodes.symbolic.mechanism([x], [ux], [[s]], [0], [x - sp.sin(t)], t=t, params={s: 2.0})
    end = carried.solve((0, 1), [0, 1], rtol=1e-9, atol=1e-9).y[:, -1]
    assert end == pytest.approx([np.sin(1), np.cos(1)], abs=1e-8)
    assert carried.multipliers(1, end) == pytest.approx([2 * np.sin(1)], abs=1e-7) # f - M u' = A^T lambda
    with pytest.raises(ValueError, match="none of q"):
        cpodes.symbolic.mechanism([x], [ux], [[1]], [s])
    with pytest.raises(ValueError, match="linear"):
        cpodes.symbolic.mechanism([x], [ux], [[1]], [0], velocity=[ux ** 2])
