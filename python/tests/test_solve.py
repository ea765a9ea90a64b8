"""solve on the manifold: methods, output, events."""
import numpy as np
import pytest

import cpodes
from pendulum import GRAVITY, QUARTER, START, G, c, energy, f

METHODS = ["auto", "BDF", "Adams", "DOP853", "RK45", "RK23", "RADAU", "ARKODE_VERNER_8_5_6"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_passes_the_lowest_point_after_a_quarter_of_the_period(method):
    lowest = lambda t, y: y[0]
    sol = cpodes.solve(f, (0, 2), START, constraints=c, jac=G, method=method, rtol=1e-8, atol=1e-8, events=lowest)
    assert sol.status == 0 and sol.success
    assert sol.t_events[0][0] == pytest.approx(QUARTER, abs=2e-6)
    assert abs(energy(sol.y)).max() < 2e-5
    assert sol.violation.max() < 1e-8


@pytest.mark.parametrize("method", METHODS)
def test_output_between_the_steps_is_on_the_manifold_and_as_accurate_as_the_steps(method):
    times = np.linspace(0, 2, 101)
    options = dict(constraints=c, jac=G, method=method, rtol=1e-8, atol=1e-8)
    sol = cpodes.solve(f, (0, 2), START, dense_output=True, **options)
    y = sol.sol(times)
    assert abs(c(times, y)).max() < 1e-8
    # Interpolants of tables and of RADAU have lower orders than their steps; their errors are of the size of the tolerance.
    assert abs(energy(y)).max() < 10 * max(abs(energy(sol.y)).max(), 1e-8 * GRAVITY)
    assert np.array_equal(sol.sol(sol.t), sol.y)
    at = cpodes.solve(f, (0, 2), START, t_eval=times, **options)
    assert np.array_equal(at.t, times)
    assert abs(c(times, at.y)).max() < 1e-8
    assert abs(at.y - y).max() < 1e-6


def test_constraints_are_what_keeps_the_invariants():
    free = cpodes.solve(f, (0, 50), START, method="RK45", rtol=1e-4, atol=1e-4)
    kept = cpodes.solve(f, (0, 50), START, method="RK45", rtol=1e-4, atol=1e-4, constraints=c)
    assert abs(c(0, free.y[:, -1])).max() > 1e-3
    assert kept.violation.max() < 1e-4
    assert kept.stats["projections"] >= kept.stats["steps"]


def test_a_sparse_jacobian_gives_the_same_as_a_dense_one():
    sparse = pytest.importorskip("scipy.sparse")
    options = dict(constraints=c, method="DOP853", rtol=1e-8, atol=1e-8)
    start = np.array([0.6, -0.8, 0.8, 0.6]) # no entry of the pattern is zero here
    a = cpodes.solve(f, (0, 2), start, jac=G, **options)
    b = cpodes.solve(f, (0, 2), start, jac=lambda t, y: sparse.csc_matrix(G(t, y)), **options)
    assert np.allclose(a.y[:, -1], b.y[:, -1], atol=1e-8)


def test_a_unit_quaternion_keeps_its_norm():
    omega = np.array([0.3, 1.0, -0.5])

    def spin(t, q): # q' = 1/2 q o (0, omega)
        return 0.5 * np.array([-q[1:] @ omega, *(q[0] * omega + np.cross(q[1:], omega))])
    sol = cpodes.solve(spin, (0, 30), [1, 0, 0, 0], unit_norms=[(0, 4)], rtol=1e-6, atol=1e-6)
    angle = np.linalg.norm(omega) * 30 / 2
    assert np.linalg.norm(sol.y, axis=0) == pytest.approx(1, abs=1e-6)
    assert sol.y[0, -1] == pytest.approx(np.cos(angle), abs=1e-4)


def test_a_stiff_problem_is_handed_to_bdf():
    stiff = lambda t, y: [-1e5 * (y[0] - np.cos(t)) - np.sin(t), -y[1]]
    sol = cpodes.solve(stiff, (0, 10), [1, 1], rtol=1e-5, atol=1e-7)
    assert sol.method == "BDF"
    assert sol.nfev < 12000 # DOP853 alone takes about two million
    assert sol.y[:, -1] == pytest.approx([np.cos(10), np.exp(-10)], abs=1e-4)
    assert cpodes.solve(f, (0, 5), START, constraints=c, rtol=1e-6, atol=1e-6).method == "DOP853"


@pytest.mark.parametrize("method", ["RADAU", "RADAU5", "RADAU9", "RADAU13"])
def test_every_radau_takes_jacobians_and_their_patterns(method):
    rates = -10.0 ** np.arange(4)
    run = lambda **options: cpodes.solve(lambda t, y: rates * y, (0, 1), np.ones(4), method, rtol=1e-6, atol=1e-8, **options)
    with_jac, by_pattern, neither = run(jac=np.diag(rates)), run(jac_sparsity=np.eye(4)), run()
    assert with_jac.nfev < by_pattern.nfev < neither.nfev # The user's Jacobian is compared once, by one evaluation.
    for sol in (with_jac, by_pattern, neither):
        assert sol.y[:, -1] == pytest.approx(np.exp(rates), abs=1e-5)


def test_a_butcher_table_of_ones_own():
    heun = cpodes.Table([[0, 0], [1, 0]], [0.5, 0.5], d=[1, 0], order=2, embedded=1)
    sol = cpodes.solve(lambda t, y: -y, (0, 1), [1.0], method=heun, rtol=1e-8, atol=1e-8)
    assert sol.y[0, -1] == pytest.approx(np.exp(-1), abs=1e-6)


def test_an_event_changes_the_state_and_the_run_goes_on():
    """A ball that falls from height 1 and keeps 0.8 of its speed: bounces at sqrt(2/g) (1 + 2 e + 2 e^2 + ...)."""
    hit = lambda t, y: y[0]
    hit.direction = -1
    hit.change = lambda t, y: [0.0, -0.8 * y[1]]
    sol = cpodes.solve(lambda t, y: [y[1], -GRAVITY], (0, 2), [1.0, 0.0], events=hit, dense_output=True, rtol=1e-9, atol=1e-9)
    first = np.sqrt(2 / GRAVITY)
    wanted = first * np.array([1, 1 + 2 * 0.8, 1 + 2 * 0.8 + 2 * 0.64])
    assert sol.t_events[0][:3] == pytest.approx(wanted[wanted < 2], abs=1e-8)
    k = np.flatnonzero(np.diff(sol.t) == 0)[0] # sol.t has this time twice
    assert sol.y[1, k + 1] == pytest.approx(-0.8 * sol.y[1, k])
    assert sol.y[1, k] == pytest.approx(-np.sqrt(2 * GRAVITY), abs=1e-7)
    middle = (wanted[0] + wanted[1]) / 2
    assert sol.sol(middle) == pytest.approx([0.64, 0], abs=1e-7)
    assert sol.sol(sol.t_events[0][0])[1] == pytest.approx(0.8 * np.sqrt(2 * GRAVITY), abs=1e-7)


@pytest.mark.parametrize("method", ["BDF", "Adams", "DOP853"])
def test_a_terminal_event_ends_the_run_the_given_number_of_times(method):
    lowest = lambda t, y: y[0]
    lowest.terminal = 3
    sol = cpodes.solve(f, (0, 20), START, constraints=c, events=lowest, method=method, rtol=1e-8, atol=1e-8)
    assert sol.status == 1
    assert sol.t[-1] == sol.t_events[0][-1] == pytest.approx(5 * QUARTER, abs=1e-5)
    assert len(sol.t_events[0]) == 3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("speed, end", [(1.0, 1.0), (-0.3, 0.7), (1e3, 72.0)])
def test_an_event_at_the_end_is_met_whatever_roundoff_says(method, speed, end):
    """x = speed t reaches its mark at the end; and doses at each zero of a sine, the last one at the end."""
    mark = lambda t, y: y[0] - speed * end
    mark.change = lambda t, y: [y[0], -y[1]]
    sol = cpodes.solve(lambda t, y: [y[1], 0.0], (0, end), [0.0, speed], method, events=mark)
    assert sol.t_events[0] == pytest.approx([end]) and sol.y[1, -1] == -speed
    dose = lambda t, y: np.sin(3 * np.pi * t / end)
    dose.change = lambda t, y: [y[0] + 10]
    sol = cpodes.solve(lambda t, y: -y, (0, end), [10.0], method, events=dose)
    assert sol.t_events[0] == pytest.approx(end * np.array([1, 2, 3]) / 3)
    assert sol.y[0, -1] > 9.99


@pytest.mark.parametrize("method", ["auto", "BDF", "Adams", "DOP853", "RADAU"])
@pytest.mark.parametrize("end", [np.inf, -np.inf])
def test_a_span_without_end_ends_at_a_terminal_event(method, end):
    half = lambda t, y: y[0] - 0.5
    half.terminal = True
    sol = cpodes.solve(lambda t, y: -np.sign(end) * y, (0, end), [1.0], method, events=half, rtol=1e-8, atol=1e-8)
    assert sol.status == 1 and sol.t[-1] == pytest.approx(np.sign(end) * np.log(2), abs=1e-6)


def test_backwards_undoes_forwards():
    there = cpodes.solve(f, (0, 2), START, constraints=c, rtol=1e-10, atol=1e-10)
    back = cpodes.solve(f, (2, 0), there.y[:, -1], constraints=c, rtol=1e-10, atol=1e-10, dense_output=True)
    assert back.y[:, -1] == pytest.approx(START, abs=1e-7)
    assert back.sol(1.0) == pytest.approx(cpodes.solve(f, (0, 1), START, constraints=c, rtol=1e-10, atol=1e-10).y[:, -1], abs=1e-7)


def test_project_start_moves_the_start_to_the_manifold():
    with pytest.raises(cpodes.Error) as error:
        cpodes.solve(f, (0, 1), [1.1, 0, 0, 0], constraints=c)
    assert error.value.name == "CP_INCONSISTENT_IC"
    assert error.value.message.endswith("project_start=True makes it consistent")
    sol = cpodes.solve(f, (0, 1), [1.1, 0, 0, 0], constraints=c, project_start=True, rtol=1e-8, atol=1e-8)
    assert sol.y[:, 0] == pytest.approx([1, 0, 0, 0], abs=1e-8)


def test_the_local_errors_add_up_to_the_size_of_the_global_one():
    exact = cpodes.solve(f, (0, 2), START, constraints=c, rtol=1e-13, atol=1e-13).y[:, -1]
    for tolerance in 1e-5, 1e-7:
        sol = cpodes.solve(f, (0, 2), START, constraints=c, rtol=tolerance, atol=tolerance, method="RK45")
        error = abs(sol.y[:, -1] - exact).max()
        assert error / 300 < sol.error.max() < 300 * error


def test_tolerances_may_be_arrays():
    for method in "BDF", "DOP853":
        sol = cpodes.solve(f, (0, 1), START, constraints=c, rtol=[1e-8] * 4, atol=[1e-8, 1e-8, 1e-7, 1e-7], method=method)
        assert abs(energy(sol.y)).max() < 1e-4


def test_progress_is_told():
    told = []
    cpodes.solve(f, (0, 5), START, constraints=c, progress=lambda t, t0, t1: told.append(t))
    assert told[-1] == 5 and sorted(told) == told


# ---- the user's own projection: a point on a circle, y = (x, y), as in user_kind.c ----


def circle(t, y):
    return np.array([-y[1], y[0]])


def radial(t, y):
    return y / np.sqrt(y @ y)


def tangential(t, y, err):
    return err - y * (y @ err)


@pytest.mark.parametrize("projection", [radial, (radial, tangential)])
@pytest.mark.parametrize("method", ["BDF", "Adams", "DOP853", "RADAU"])
def test_a_projection_of_ones_own_keeps_the_state_on_the_manifold(method, projection):
    sol = cpodes.solve(circle, (0, 10), [1.0, 0.0], method, projection=projection, constraints=lambda t, y: [y @ y - 1], rtol=1e-7, atol=1e-7,
                       dense_output=True)
    assert sol.violation.max() < 1e-15 and sol.stats["projections"] > 0
    assert np.abs(np.hypot(*sol.sol(np.linspace(0, 10, 50))) - 1).max() < 1e-15
    assert sol.y[:, -1] == pytest.approx([np.cos(10), np.sin(10)], abs=1e-5)


def test_a_projection_moves_the_start_gets_arguments_and_takes_smaller_errors():
    sol = cpodes.solve(lambda t, y, r: circle(t, y), (0, 1), [3.0, 0.0], "DOP853", args=(2.0,), project_start=True,
                       projection=(lambda t, y, r: r * radial(t, y), lambda t, y, err, r: tangential(t, y / r, err)))
    assert sol.y[:, 0] == pytest.approx([2, 0], abs=1e-15) and np.hypot(*sol.y[:, -1]) == pytest.approx(2, abs=1e-15)
    counts = [len(cpodes.solve(circle, (0, 10), [1.0, 0.0], "BDF", projection=(radial, g), rtol=1e-7, atol=1e-7).t)
              for g in (tangential, lambda t, y, err: 0 * err)]
    assert counts[1] < counts[0] # BDF tests the error that g_eps returns


def test_a_state_and_its_error_are_projected_in_one_call():
    calls = {"g": 0, "both": 0}

    def g(t, y):
        calls["g"] += 1
        return radial(t, y)

    def both(t, y, err):
        calls["both"] += 1
        z = radial(t, y)
        return z, tangential(t, z, err)
    ends = []
    for projection in (g, tangential), (g, tangential, both):
        calls.update(g=0, both=0)
        sol = cpodes.solve(circle, (0, 10), [1.0, 0.0], "BDF", projection=projection, rtol=1e-7, atol=1e-7)
        ends.append(sol.y[:, -1])
        counts = dict(calls)
    assert np.array_equal(*ends) and counts["both"] > 0.9 * sol.stats["steps"] > counts["g"]
    with pytest.raises(TypeError, match="2 matrices"):
        cpodes.solve(circle, (0, 1), [1.0, 0.0], "BDF", projection=(radial, tangential, lambda t, y, err: y))


@pytest.mark.parametrize("options, kind, message", [
    (dict(projection=3), TypeError, "projection has to be a function"),
    (dict(projection=(radial, tangential, radial, radial)), ValueError, "has 4 entries"),
    (dict(projection=lambda t, y: None), TypeError, "projection has to return .* and returned None"),
    (dict(projection=lambda t, y: y[:1]), ValueError, r"projection has to return .* \(2,\)"),
    (dict(projection=radial, unit_norms=[(0, 2)]), ValueError, "give them or projection"),
    (dict(projection=radial, jac=np.eye(2), rhs_jac=np.eye(2)), ValueError, "give it or projection"),
])
def test_a_wrong_projection_says_what_was_expected(options, kind, message):
    with pytest.raises(kind, match=message):
        cpodes.solve(circle, (0, 1), [1.0, 0.0], "DOP853", **options)


@pytest.mark.parametrize("method", ["BDF", "LSODA", "auto"])
def test_tolerances_may_be_lists_with_all_methods(method):
    """stiff, so that LSODA and auto turn to BDF"""
    sol = cpodes.solve(lambda t, y: [-1e4 * (y[0] - np.cos(t)), -y[1]], (0, 5), [1, 1], method=method, rtol=[1e-6, 1e-8], atol=[1e-8, 1e-9])
    assert sol.success and sol.method == "BDF" and sol.y[:, -1] == pytest.approx([np.cos(5), np.exp(-5)], abs=2e-4)
