"""User functions: what they may return, raise, keep and change."""
import copy
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
import tracemalloc

import numpy as np
import pytest

import cpodes
from pendulum import START, G, c, f

GOOD = [0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("result, kind, words", [
    (None, TypeError, "None"), ([1, 2, 3], ValueError, r"\(3,\)"), (np.zeros((4, 4)), ValueError, r"\(4, 4\)"),
    ("four", TypeError, "dtype"), ([1j] * 4, TypeError, "complex"), ([None] * 4, TypeError, "object"), (1.0, ValueError, r"\(\)")])
@pytest.mark.parametrize("method", ["DOP853", "BDF"])
def test_what_a_function_must_not_return_is_said(result, kind, words, method):
    with pytest.raises(kind, match="shape \\(4,\\)") as error:
        cpodes.solve(lambda t, y: result, (0, 1), START, method=method)
    assert error.match(words)


@pytest.mark.parametrize("make", [list, tuple, np.array, lambda y: np.array(y, dtype="float32"), lambda y: np.repeat(y, 2)[::2],
                                  lambda y: np.array(y, dtype=">f8")])
def test_any_array_of_real_numbers_will_do(make):
    sol = cpodes.solve(lambda t, y: make([-y[0], -2 * y[1]]), (0, 1), [1, 1], rtol=1e-6, atol=1e-8)
    assert sol.y[:, -1] == pytest.approx([np.exp(-1), np.exp(-2)], rel=1e-5)


@pytest.mark.parametrize("which", ["fun", "constraints", "jac", "events", "change"])
def test_an_exception_comes_through_with_its_traceback(which):
    def broken(t, y):
        if t > 0.1 or which == "change":
            raise ZeroDivisionError("mine")
        return {"fun": f, "constraints": c, "jac": G, "events": lambda t, y: 1.0}[which](t, y)
    options = dict(constraints=c, jac=G, events=lambda t, y: y[0] - 0.5)
    if which == "change":
        options["events"].change = broken
    elif which != "fun":
        options[which] = broken
    with pytest.raises(ZeroDivisionError, match="mine") as error:
        cpodes.solve(broken if which == "fun" else f, (0, 2), START, **options)
    assert "broken" in [frame.name for frame in traceback.extract_tb(error.value.__traceback__)]


def test_not_a_number_is_an_error_of_the_library_with_code_and_message_and_the_results_so_far():
    fun = lambda t, y: [np.nan if t > 0.5 else 1.0, 0.0]
    with pytest.raises(cpodes.Error) as error:
        cpodes.solve(fun, (0, 1), [0.0, 1.0], method="BDF", constraints=lambda t, y: [y[1] - 1])
    assert error.value.code < 0 and error.value.name.startswith("C") and error.value.message
    assert 0 < error.value.sol.t[-1] <= 0.51
    assert error.value.sol.status == -1 and not error.value.sol.success
    assert pickle.loads(pickle.dumps(error.value)).code == error.value.code


def test_without_constraints_a_failed_integration_returns_as_that_of_scipy():
    integrate = pytest.importorskip("scipy.integrate")
    for fun, end in (lambda t, y: [np.nan if t > 0.5 else 1.0], 0.5), (lambda t, y: y ** 2, 1.0):
        for method in ("DOP853",) if end == 0.5 else ("DOP853", "BDF"): # scipy's BDF raises an error of its LU for NaN
            ours, theirs = (s(fun, (0, 2), [1.0], method) for s in (cpodes.solve, integrate.solve_ivp))
            assert (ours.status, ours.success) == (theirs.status, theirs.success) == (-1, False)
            assert ours.t[-1] == pytest.approx(end, abs=1e-2) and ours.y.shape == (1, len(ours.t)) and ours.message.startswith("C")
    with pytest.raises(ValueError, match="none of auto"): # during the set-up
        cpodes.solve(fun, (0, 1), [1.0], "Euler")


def test_a_smaller_step_is_tried_where_a_function_asks_for_it():
    def root(t, y): # y = (1 - t/2)^2, defined only for y >= 0, which a long step would leave
        if y[0] < 0:
            raise cpodes.TrySmallerStep
        return [-np.sqrt(y[0])]
    sol = cpodes.solve(root, (0, 1.9), [1.0], rtol=1e-6, atol=1e-8)
    assert sol.y[0, -1] == pytest.approx(0.05 ** 2, abs=1e-5)


def test_arguments_may_be_kept_and_changed():
    kept = []

    def keeps(t, y):
        kept.append((t, y, y.copy(), y[:1]))
        return -y

    def spoils(t, y):
        result = -y
        y[:] = np.nan
        return result
    a = cpodes.solve(keeps, (0, 1), [1.0, 2.0])
    assert all(np.array_equal(y, then) and part[0] == then[0] for _, y, then, part in kept)
    assert np.array_equal(cpodes.solve(spoils, (0, 1), [1.0, 2.0]).y, a.y)
    assert np.allclose(cpodes.solve(lambda t, y: y, (0, 1), [1.0]).y[0, -1], np.e, rtol=1e-3) # the function returns its argument


def event(**attributes):
    zero = lambda t, y: y[0] - 0.5
    zero.__dict__.update(attributes)
    return zero


@pytest.mark.parametrize("options, words", [
    (dict(y0=[[1.0]]), "y0"), (dict(y0=["a"]), "y0"), (dict(y0=[np.nan]), "not finite"), (dict(t_span=(0,)), "t_span"),
    (dict(t_span=(np.nan, 1)), "t_span"), (dict(method="Euler"), "Euler"), (dict(rtol=-1), "rtol"), (dict(atol=[1, 2]), "atol"),
    (dict(max_step=0), "max_step"), (dict(first_step=3), "first_step"), (dict(t_eval=[0.5, 0.2]), "sorted"),
    (dict(constraints=3), "constraints"), (dict(constraints=lambda t, y: None), "constraints"), (dict(fun=3), "fun"),
    (dict(constraints=lambda t, y: [y[0] - 1], jac=lambda t, y: [[1, 2]]), r"\(1, 1\)"),
    (dict(y0=[1j], constraints=lambda t, y: [0.0]), "real"), (dict(method=3), "method"), (dict(rtol="a"), "rtol"), (dict(min_step=np.inf), "min_step"),
    (dict(t_span=(0, np.nan)), "t_span"), (dict(max_step=None), "max_step"), (dict(fun=lambda t, y: [1, [2, 3]]), "different lengths"),
    (dict(constraints=lambda t, y: [1, [2, 3]]), "different lengths"), (dict(events=event(direction=np.nan)), "direction"),
    (dict(events=event(direction="up")), "direction"), (dict(events=event(change=3)), "change")])
def test_wrong_arguments_are_named(options, words):
    arguments = {"fun": lambda t, y: -y, "t_span": (0, 1), "y0": [1.0], **options}
    with pytest.raises((TypeError, ValueError), match=words):
        cpodes.solve(**arguments)


def test_a_wrong_jacobian_is_found_by_the_library():
    with pytest.raises(cpodes.Error) as error:
        cpodes.solve(f, (0, 5), START, constraints=c, jac=lambda t, y: np.array([[1e-3, 0, 0, 0], [0, 0, 1e-3, 0]]))
    assert error.value.name in ("CP_CNSTRJAC_WRONG", "CP_PROJ_CONV_FAILURE", "CP_PROJ_INCONSISTENT", "CP_INCONSISTENT_IC")


def test_results_are_neither_copied_nor_pickled_with_objects_of_c():
    sol = cpodes.solve(f, (0, 1), START, constraints=c, dense_output=True)
    for what in sol, sol.sol, sol._system:
        for how in copy.copy, copy.deepcopy, pickle.dumps:
            with pytest.raises(TypeError, match="neither copied nor pickled"):
                how(what)


def test_a_run_within_a_run():
    def outer(t, y):
        inner = cpodes.solve(lambda s, x: -x, (0, 1), y, events=lambda s, x: x[0] - 0.5, rtol=1e-8, atol=1e-10)
        return -inner.y[:, -1] * np.e # = -y
    sol = cpodes.solve(outer, (0, 1), [1.0], events=lambda t, y: y[0] - 0.5, rtol=1e-6, atol=1e-8)
    assert sol.t_events[0][0] == pytest.approx(np.log(2), abs=1e-5)


def test_threads_solve_side_by_side():
    """Both runs are within a function at once: neither passes the barrier without the other."""
    barrier, results = threading.Barrier(2, timeout=30), {}

    def work(name):
        def g(t, y):
            if name not in results:
                results[name] = None
                barrier.wait()
            return -y
        results[name + " y"] = cpodes.solve(g, (0, 1), [1.0, 2.0]).y[0, -1]
    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    [t.start() for t in threads]
    [t.join(60) for t in threads]
    assert results["a y"] == results["b y"] == pytest.approx(np.exp(-1), rel=1e-3)


def test_control_c_ends_a_run_with_the_results_so_far():
    end = time.monotonic() + 30

    def slow(t, y):
        time.sleep(1e-4)
        if time.monotonic() > end:
            raise AssertionError("was not interrupted")
        return [np.cos(t)]
    signal.signal(signal.SIGINT, signal.default_int_handler) # A shell starts background jobs without it.
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    sol = cpodes.solve(slow, (0, 1e6), [0.0], max_step=0.1)
    assert sol.status == 2 and not sol.success and "interrupted" in sol.message
    assert len(sol.t) > 1 and sol.y[0] == pytest.approx(np.sin(sol.t), abs=1e-3)


def test_the_interpreter_may_exit_in_mid_run():
    program = """
import threading, time, cpodes
started = threading.Event()
def f(t, y):
    started.set()
    return -y
threading.Thread(target=lambda: cpodes.solve(f, (0, 1e9), [1.0], max_step=1e-3), daemon=True).start()
started.wait()
time.sleep(0.2)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def flat(work, times):
    """Does Python's memory stay constant over so many calls of work? A run that left its arrays behind would take a few kB."""
    for _ in range(5):
        work()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(times):
        work()
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return after - before < 300 * times


def fails():
    with pytest.raises(ZeroDivisionError):
        cpodes.solve(lambda t, y: [1 / 0], (0, 1), START[:1])


def solves():
    cpodes.solve(f, (0, 0.1), START, constraints=c, jac=G, dense_output=True, events=lambda t, y: y[0])


def test_no_reference_is_left_behind_without_the_garbage_collector():
    gc.disable()
    try:
        assert flat(solves, 30) and flat(fails, 30)
    finally:
        gc.enable()


@pytest.mark.long
def test_memory_stays_flat_over_many_runs():
    import resource
    solves()
    before = None
    for k in range(10000):
        solves()
        if k == 1000:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 2000, f"{after - before} KiB more"
    for k in range(1000):
        fails()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - after < 1000
    assert flat(solves, 200) and flat(fails, 200)
