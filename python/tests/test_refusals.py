"""Problems that have no solution, and options without a meaning, are refused and never end with "success"."""
import numpy as np
import pytest

import cpodes
from pendulum import GRAVITY, START, G, c, f

turn = lambda t, y: np.array([y[1], -y[0]])
circle = lambda t, y: np.array([y @ y - 1])


# ---- outside of the run ----


@pytest.mark.parametrize("t", [-0.01, 1.01, 1.5, [0.5, 2.0]])
@pytest.mark.parametrize("span", [(0.0, 1.0), (1.0, 0.0)])
def test_the_solution_is_not_extrapolated(t, span):
    sol = cpodes.solve(lambda t, y: [np.cos(t)], span, [np.sin(span[0])], rtol=1e-9, atol=1e-9, dense_output=True)
    with pytest.raises(ValueError, match="outside of the run"):
        sol.sol(t)


def test_a_pendulum_is_not_extrapolated_off_its_circle():
    sol = cpodes.model("pendulum").solve((0, 1), dense_output=True)
    with pytest.raises(ValueError, match="t = 1.5 is outside of the run, which goes from 0 to 1"):
        sol.sol(1.5)


def test_roundoff_of_times_is_within_the_run():
    sol = cpodes.solve(turn, (0, 3), [1, 0], dense_output=True)
    times = np.cumsum(np.full(30, 0.1))
    assert times[-1] > 3
    assert np.array_equal(sol.sol(times)[:, -1], sol.y[:, -1])
    assert np.array_equal(sol.sol(-1e-15), sol.y[:, 0])


# ---- f against the constraints ----


def wrong_tension(t, y):
    x, z, u, w = y
    tension = 2 * (u * u + w * w - GRAVITY * z) # 0 at the start
    return np.array([u, w, -tension * x, -GRAVITY - tension * z])


@pytest.mark.parametrize("method", ["auto", "BDF", "Adams", "RADAU"])
@pytest.mark.parametrize("options", [
    dict(fun=lambda t, y: np.array([1.0, 1.0]), y0=[1, 0], constraints=circle),
    dict(fun=lambda t, y: y, y0=[0.6, 0.8], constraints=circle, jac=lambda t, y: 2 * y[None]),
    dict(fun=lambda t, y: turn(t, y) + 0.01 * y, y0=[1, 0], constraints=circle),
    dict(fun=lambda t, y: y, y0=[1, 0], unit_norms=[(0, 2)]),
    dict(fun=lambda t, y: 0 * y, y0=[1, 0], constraints=lambda t, y: np.array([y[0] - 1 - t]))])
def test_a_function_that_leaves_the_manifold_is_refused_at_the_start(options, method):
    with pytest.raises(cpodes.Error, match="at t = 0: fun is not tangent"):
        cpodes.solve(t_span=(0, 10), method=method, **options)


@pytest.mark.parametrize("jac", [None, G])
@pytest.mark.parametrize("method", ["BDF", "RADAU"])
def test_a_function_that_is_tangent_at_rest_alone_is_refused_on_the_way(method, jac):
    with pytest.raises(cpodes.Error, match="fun is not tangent to the constraints: along it constraint 1") as error:
        cpodes.solve(wrong_tension, (0, 1), START, method, constraints=c, jac=jac)
    assert 0 < error.value.sol.t[-1] < 0.5


@pytest.mark.parametrize("span, y0, fun, constraints", [
    ((0, 10), START, f, c), ((1e6, 1e6 + 10), START, f, c), ((10, 0), START, f, c),
    ((0, 100), [0.0, -1.0, 0.0, 0.0], f, c), # an equilibrium: f is roundoff
    ((0, 5), [1.0, 0.0], lambda t, y: [1.0, 0.0], lambda t, y: [y[0] - 1 - t]),
    ((0, 5), [1.0, 0.0], turn, lambda t, y: [y @ y - 1, 2 * (y @ y) - 2, 3 - 3 * (y @ y)]), # rank 1
    ((0, 5), [1.0, 0.0], lambda t, y: turn(t, y) + 20 * (1 - y @ y) * y, circle)]) # Baumgarte's term vanishes on the circle
@pytest.mark.parametrize("method", ["DOP853", "BDF"])
def test_a_tangent_function_passes(span, y0, fun, constraints, method):
    for tolerance in 0.1, 1e-2, 1e-3, 1e-8:
        assert cpodes.solve(fun, span, y0, method, constraints=constraints, rtol=tolerance, atol=tolerance).success


def test_the_test_costs_few_evaluations_and_counts_none():
    calls = []
    sol = cpodes.solve(lambda t, y: (calls.append(t), f(t, y))[1], (0, 100), START, constraints=c, rtol=1e-10, atol=1e-10)
    assert len(sol.t) > 1000 and sol.nfev < len(calls) < 1.001 * sol.nfev


def test_constraints_that_leave_no_freedom_are_refused():
    with pytest.raises(ValueError, match="3 rows for 2 unknowns"):
        cpodes.solve(turn, (0, 1), [1, 0], constraints=lambda t, y: [y @ y - 1, y[0] - 1, y[1]])


# ---- mass ----


@pytest.mark.parametrize("mass", [np.array([[1, 0.5], [0, 1.0]]), lambda t, q: np.array([[2, q[0]], [0, 1.0]]),
                                  lambda t, q: np.array([[2, 0.1 * np.sin(t)], [0, 1.0]])]) # symmetric at the start
def test_an_unsymmetric_mass_is_refused(mass):
    m = cpodes.Mechanism(mass=mass, forces=lambda t, q, u: np.ones(2))
    with pytest.raises(cpodes.Error, match="M is not symmetric: M.1, 0. is 0, and its mirror image") as error:
        m.solve((0, 1), [0.5, 0, 1, 1])
    assert error.value.name == "CP_MECH_DERIV_WRONG"


def test_an_unsymmetric_sparse_mass_is_refused():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(cpodes.Error, match="M is not symmetric"):
        cpodes.Mechanism(mass=sparse.csc_matrix([[1, 0.5], [0.25, 1.0]])).evaluate(0, [0, 0, 1, 1])


def test_a_mass_of_single_precision_passes():
    M = np.array([[2, 1 / 3], [1 / 3 * (1 + 1e-7), 1.0]])
    assert cpodes.Mechanism(mass=M, forces=lambda t, q, u: np.ones(2)).solve((0, 1), [0, 0, 1, 1]).success


# ---- options ----


def event(**attributes):
    g = lambda t, y: y[0]
    g.__dict__.update(attributes)
    return g


@pytest.mark.parametrize("attributes, words", [
    (dict(terminal=-1), "terminal of event 0 .* and is -1"), (dict(terminal=0.5), "terminal"), (dict(terminal="yes"), "terminal"),
    (dict(terminal=float("nan")), "terminal"), (dict(terminl=True), "did you mean 'terminal'"),
    (dict(directions=1), "did you mean 'direction'"), (dict(Change=1), "did you mean 'change'"), (dict(direction="up"), "direction")])
def test_attributes_of_events_have_a_meaning(attributes, words):
    for run in (lambda e: cpodes.solve(turn, (0, 5), [1, 0], events=e), lambda e: cpodes.solve(turn, (0, 5), [1, 0], events=[e], args=()),
                lambda e: cpodes.model("pendulum").solve((0, 1), events=[e])):
        with pytest.raises((TypeError, ValueError), match=words):
            run(event(**attributes))


def test_events_may_have_other_attributes():
    class Height:
        def __init__(self):
            self.directions, self.terminal = "up, down", 2

        def __call__(self, t, y):
            return y[0]
    assert cpodes.solve(turn, (0, 5), [1, 0], events=[event(label="a", terminal=0), Height()]).status == 1


def test_a_change_to_no_number_is_refused():
    with pytest.raises(ValueError, match="not finite"):
        cpodes.solve(lambda t, y: 1j * y, (0, 5), [1 + 0j], events=(lambda e: (setattr(e, "change", lambda t, y: y * np.nan), e)[1])(
            lambda t, y: y[0].real))


pendulum = lambda **options: cpodes.Mechanism(mass=np.eye(2), position=lambda t, q: np.array([q @ q - 1]), **options)


@pytest.mark.parametrize("work, words", [
    (lambda: cpodes.solve(turn, (0, 1), [1, 0], max_step=0), "max_step"), (lambda: cpodes.solve(turn, (0, 1), [1, 0], max_step=-1), "max_step"),
    (lambda: cpodes.solve(turn, (0, 1), [1, 0], rtol="1e-3"), "rtol"), (lambda: cpodes.solve(turn, (0, 1), [1, 0], atol=True), "atol"),
    (lambda: cpodes.solve(turn, (0, 1), [1, 0], t_eval=[0, 2]), "t_eval"), (lambda: cpodes.solve(turn, (0, 1), [1, 0], t_eval=[0, np.nan]), "t_eval"),
    (lambda: pendulum(params={"a": np.nan}), "params"), (lambda: pendulum(params=np.inf), "params"),
    (lambda: cpodes.model("pendulum", L=np.nan).solve(), "L"), (lambda: pendulum().start([1.2, 0], fixed=[-1]), "fixed"),
    (lambda: pendulum().start([1.2, 0], fixed=[4]), "fixed"), (lambda: pendulum().set_active([0.5]), "mask"),
    (lambda: pendulum(templates={"K": np.eye(2)}), "template of K"), (lambda: pendulum(templates={"X": np.eye(2)}), "'X'")])
def test_options_without_a_meaning_are_refused(work, words):
    with pytest.raises((TypeError, ValueError), match=words):
        work()


def test_the_test_for_tangents_disturbs_no_run():
    """fun is evaluated at the start first by the test."""
    line = lambda t, y: [1.0, 1.0]
    calls = []

    def unwilling(t, y):
        calls.append(t)
        if len(calls) == 1:
            raise cpodes.TrySmallerStep
        return line(t, y)
    assert cpodes.solve(unwilling, (0, 1), [1.0, 1.0], constraints=lambda t, y: [y[0] - y[1]]).success
    for fails in lambda t, y: 1 / 0, lambda t, y: [np.nan, 0.0]:
        with pytest.raises((ZeroDivisionError, cpodes.Error), match="division|NaN"):
            cpodes.solve(fails, (0, 1), [1.0, 1.0], constraints=lambda t, y: [y[0] - y[1]])
