"""Functions of several states at once: `vectorized`."""
import traceback

import numpy as np
import pytest

import cpodes
from pendulum import START, G, c, f as pendulum

METHODS = ["DOP853", "RK45", "BDF", "Adams", "RADAU", "RADAU5", "RADAU9", "RADAU13", "auto"]


def forced(t, y):
    """Sums and products only, which arrays and numbers round alike."""
    return np.array([y[1], (1 - y[0] * y[0]) * y[1] - y[0] + t * t / 8])


@pytest.mark.parametrize("vectorized", [True, "t"])
@pytest.mark.parametrize("method", METHODS)
def test_no_number_changes(method, vectorized):
    for run in (dict(fun=forced, t_span=(0, 3), y0=[1, 0]), dict(fun=pendulum, t_span=(0, 1), y0=START, constraints=c, jac=G)):
        one, several = (cpodes.solve(method=method, rtol=1e-7, atol=1e-7, vectorized=v, **run) for v in (False, vectorized))
        assert np.array_equal(one.t, several.t) and np.array_equal(one.y, several.y)
        calls = several.stats.pop("calls")
        assert (one.nfev, one.stats) == (several.nfev, several.stats)
        assert calls <= several.nfev


def test_an_iteration_and_a_jacobian_of_radau_are_one_call_each():
    shapes = []

    def fun(t, y):
        shapes.append((np.shape(t), y.shape))
        return forced(t, y)
    sol = cpodes.solve(fun, (0, 3), [1, 0], "RADAU9", rtol=1e-7, atol=1e-7, vectorized="t")
    assert sol.stats["calls"] == len(shapes) == sol.stats["iterations"] + sol.stats["jacobians"] + 2 # the start, the first step
    assert set(shapes) == {((k,), (2, k)) for k in (1, 3, 5)}
    assert sol.nfev == sum(y[1] for _, y in shapes)
    shapes.clear()
    sol = cpodes.solve(fun, (0, 3), [1, 0], "RADAU9", rtol=1e-7, atol=1e-7, vectorized=True) # one time in each call
    assert sol.stats["calls"] == len(shapes) == 5 * sol.stats["iterations"] + sol.stats["jacobians"] + 2
    assert set(shapes) == {((), (2, k)) for k in (1, 3)}


def test_groups_of_columns_are_one_call():
    n = 300
    def heat(t, y):
        padded = np.pad(y, ((1, 1), (0, 0)))
        return n * (padded[2:] - 2 * y + padded[:-2]) + np.cos(t)
    pattern = np.abs(np.subtract.outer(range(n), range(n))) < 2
    options = dict(method="RADAU", rtol=1e-6, atol=1e-6, vectorized="t")
    sparse = cpodes.solve(heat, (0, 1), np.ones(n), jac_sparsity=pattern, **options)
    assert sparse.stats["calls"] == sparse.stats["iterations"] + sparse.stats["jacobians"] + 2
    dense = cpodes.solve(heat, (0, 1), np.ones(n), **options) # 301 points, 128 in a call
    assert dense.stats["calls"] == dense.stats["iterations"] + 3 * dense.stats["jacobians"] + 2
    assert dense.y[:, -1] == pytest.approx(sparse.y[:, -1], abs=1e-5)


@pytest.mark.parametrize("vectorized", [True, "t"])
@pytest.mark.parametrize("method", ["DOP853", "RADAU", "BDF"])
def test_complex_states_and_arguments(method, vectorized):
    fun = lambda t, y, a: (a + 0.1j * t) * y
    sol = cpodes.solve(fun, (0, 2), [1 + 0j, 1j], method, rtol=1e-9, atol=1e-9, vectorized=vectorized, args=(-0.5 + 2j,))
    assert sol.y[:, -1] == pytest.approx(np.array([1, 1j]) * np.exp(-1 + 4j + 0.2j), abs=1e-6)


def test_a_stiff_problem_is_handed_to_radau_where_its_stages_are_one_call():
    stiff = lambda t, y: np.array([-1e5 * (y[0] - np.cos(t)) - np.sin(t), -y[1]])
    sol = cpodes.solve(stiff, (0, 10), [1, 1], rtol=1e-5, atol=1e-7, vectorized="t")
    assert sol.method == "RADAU"
    assert sol.y[:, -1] == pytest.approx([np.cos(10), np.exp(-10)], abs=1e-4)
    assert cpodes.solve(stiff, (0, 10), [1, 1], rtol=1e-5, atol=1e-7, vectorized=True).method == "BDF"


@pytest.mark.parametrize("method", ["DOP853", "RADAU"])
@pytest.mark.parametrize("spoilt, kind, words", [
    (lambda r: None, TypeError, "None"), (lambda r: r[:, :0], ValueError, "0"), (lambda r: r.T[:, :1], ValueError, r"\(\d, 1\)"),
    (lambda r: r[:1], ValueError, r"\(1, \d\)"), (lambda r: r + 1j, TypeError, "complex"), (lambda r: "four", TypeError, "dtype")])
def test_what_a_function_must_not_return_is_said(method, spoilt, kind, words):
    with pytest.raises(kind, match=r"fun, which is vectorized, has to return an array of shape \(2, \d\)") as error:
        cpodes.solve(lambda t, y: spoilt(forced(t, y)), (0, 1), [1, 0], method, vectorized="t")
    assert error.match(words)


def test_a_function_that_is_not_vectorized_is_found_at_the_first_call_of_several_states():
    with pytest.raises(ValueError, match=r"shape \(2, 3\) of real numbers, and returned one of shape \(2,\)"):
        cpodes.solve(lambda t, y: forced(t[0], y[:, 0]), (0, 1), [1, 0], "RADAU", vectorized="t")


@pytest.mark.parametrize("several", [False, True])
def test_exceptions_come_through_with_their_traceback(several):
    def fails(t, y):
        if t[0] > 0.5 and several == (y.shape[1] > 1):
            raise LookupError("not here")
        return forced(t, y)
    with pytest.raises(LookupError, match="not here") as error:
        cpodes.solve(fails, (0, 1), [1, 0], "RADAU" if several else "DOP853", vectorized="t")
    assert "fails" in [frame.name for frame in traceback.extract_tb(error.value.__traceback__)]


def test_a_smaller_step_is_tried_where_a_function_asks_for_it():
    asked = []

    def fun(t, y):
        if t[-1] > t[0] > 0.5 and not asked:
            asked.append(t[0])
            raise cpodes.TrySmallerStep
        return forced(t, y)
    sol = cpodes.solve(fun, (0, 3), [1, 0], "RADAU", rtol=1e-7, atol=1e-7, vectorized="t")
    assert asked and sol.success
    assert sol.y[:, -1] == pytest.approx(cpodes.solve(forced, (0, 3), [1, 0], rtol=1e-9, atol=1e-9).y[:, -1], abs=1e-5)


def test_not_a_number_is_an_error_that_names_the_time_and_the_component():
    fun = lambda t, y: forced(t, y) + [0 * t, np.where(t > 0.5, np.nan, 0)]
    sol = cpodes.solve(fun, (0, 1), [1, 0], "RADAU", vectorized="t")
    assert sol.status == -1 and "CP_RHS_NONFINITE" in sol.message and "component 1" in sol.message
    assert sol.t[-1] <= 0.5


def test_arguments_may_be_kept_and_changed():
    kept = []

    def fun(t, y):
        r = forced(t, y)
        kept.append((t, y, r.copy()))
        return r
    sol = cpodes.solve(fun, (0, 1), [1, 0], "RADAU", vectorized="t")
    assert all(np.array_equal(forced(t, y), r) for t, y, r in kept)

    def spoils(t, y):
        r = forced(t, y)
        t[:], y[:] = np.nan, np.nan
        return r
    assert np.array_equal(cpodes.solve(spoils, (0, 1), [1, 0], "RADAU", vectorized="t").y, sol.y)


def test_what_cannot_be_vectorized_is_said():
    with pytest.raises(ValueError, match="'t', and is 'times'"):
        cpodes.solve(forced, (0, 1), [1, 0], vectorized="times")
    with pytest.raises(TypeError, match="vectorized is for functions of Python"):
        cpodes.solve(cpodes.Compiled(1), (0, 1), [1, 0], vectorized=True)
    with pytest.raises(TypeError, match="fun has to be a function, and is int"):
        cpodes.solve(3, (0, 1), [1, 0], vectorized=True)
    with pytest.raises(ValueError, match="trees"):
        cpodes.solve(forced, (0, 1), {"x": 1.0}, vectorized=True)
