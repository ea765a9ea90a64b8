"""Mechanisms: their quantities, motions, impacts, and the models of the catalogue."""
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

import cpodes
from pendulum import GRAVITY, QUARTER

MASS, LENGTH = 2.0, 1.0


def pendulum(**options):
    """A point mass on a massless rod, q = (x, z)."""
    return cpodes.Mechanism(mass=MASS * np.eye(2), forces=lambda t, q, u: np.array([0, -MASS * GRAVITY]),
                            constraints=lambda t, q: np.array([[q[0], q[1]]]),
                            position=lambda t, q: np.array([(q @ q - LENGTH ** 2) / 2]),
                            potential=lambda t, q: MASS * GRAVITY * q[1], **options)


def test_a_rough_guess_becomes_a_consistent_start():
    m = pendulum()
    y = m.start([1.2, 0.5], [1.0, 1.0])
    q, u, z = m.split(y)
    assert q == pytest.approx(np.array([1.2, 0.5]) / 1.3, abs=1e-9) and abs(q @ u) < 1e-9 and z.size == 0
    held = m.start([0.6, 0.5], fixed=[0])
    assert held[0] == 0.6 and held[1] == pytest.approx(0.8)
    with pytest.raises(cpodes.Error, match="CP_IC_FAIL"):
        m.start([1.5, 0.1], fixed=[0])


@pytest.mark.parametrize("method", ["auto", "BDF", "Adams", "DOP853", "RADAU"])
def test_the_pendulum_swings_on_the_manifold_and_keeps_its_energy(method):
    m = pendulum()
    lowest = lambda t, y: y[0]
    sol = m.solve((0, 2), m.start([1, 0]), method, rtol=1e-8, atol=1e-8, events=lowest, dense_output=True)
    assert sol.t_events[0][0] == pytest.approx(QUARTER, abs=5e-6)
    assert sol.violation.max() < 1e-8
    assert abs(m.energy(sol.t, sol.y)).max() < 2e-4
    assert abs(m.functions["p"](0, sol.sol(1.234)[:2])[0]) < 1e-8


@pytest.mark.parametrize("sign, method", [(1, "RADAU"), (-1, "DOP853")])
def test_stiffness_that_arises_or_ends_on_the_way_changes_the_method(sign, method):
    """A damper that closes about t = 20, or opens: while it is closed DOP853 is stable up to h = 6e-5."""
    m = cpodes.Mechanism(mass=np.eye(2), forces=lambda t, q, u: np.array(
        [-q[0], -4 * q[1] - 0.5e5 * (1 + np.tanh(sign * (t - 20))) * u[1]]))
    sol = m.solve((0, 60), m.start([1, 1]), rtol=1e-8, atol=1e-8, dense_output=True)
    assert sol.method == method and sol.stats["steps"] < 3000
    other = m.solve((0, 60), m.start([1, 1]), "RADAU", rtol=1e-10, atol=1e-10)
    assert sol.y[:, -1] == pytest.approx(other.y[:, -1], abs=1e-5)
    assert sol.sol(sol.t) == pytest.approx(sol.y, abs=1e-9)


@pytest.mark.parametrize("name", ["pendulum", "andrews", "spatial_four_bar", "bushing_crank", "flyball_governor"])
def test_asking_for_a_method_on_the_way_changes_no_digit(name):
    m = cpodes.model(name)
    auto = m.solve((0, m.t_end), rtol=1e-10, atol=1e-10)
    assert np.array_equal(auto.y, m.solve((0, m.t_end), method=auto.method, rtol=1e-10, atol=1e-10).y)


@pytest.mark.parametrize("velocity", [None, lambda t, q, u: np.array([q @ u])])
def test_positions_are_enough(velocity):
    m = cpodes.Mechanism(mass=MASS * np.eye(2), forces=lambda t, q, u: np.array([0, -MASS * GRAVITY]), velocity=velocity,
                         position=lambda t, q: np.array([(q @ q - LENGTH ** 2) / 2]))
    sol = m.solve((0, 1), m.start([1, 0]), "DOP853", rtol=1e-9, atol=1e-9)
    reference = pendulum()
    assert sol.y[:, -1] == pytest.approx(reference.solve((0, 1), reference.start([1, 0]), "DOP853", rtol=1e-9, atol=1e-9).y[:, -1], abs=1e-7)
    assert m.multipliers(0, sol.y[:, -1]) == pytest.approx(reference.multipliers(0, sol.y[:, -1]), rel=1e-10)
    with pytest.raises(ValueError, match="goes with position"):
        cpodes.Mechanism(mass=np.eye(2), constraints=np.ones((1, 2)))
    with pytest.raises(ValueError, match="sparse mass"):
        sparse = pytest.importorskip("scipy.sparse")
        cpodes.Mechanism(mass=sparse.eye(2), position=lambda t, q: [q[0]]).start([0, 1])


def test_the_rod_carries_the_weight_three_times_at_the_lowest_point():
    m = pendulum()
    y = m.start([0, -1], [np.sqrt(2 * GRAVITY), 0]) # as it arrives from the horizontal
    assert m.reactions(0, y) == pytest.approx([0, 3 * MASS * GRAVITY])
    assert m.accelerations(0, y) == pytest.approx([0, 2 * GRAVITY])
    assert m.multipliers(0, y) == pytest.approx([3 * MASS * GRAVITY / LENGTH])
    assert m.kinetic_energy(0, y) == pytest.approx(MASS * GRAVITY * LENGTH)
    out = m.evaluate(0, y)
    assert out.rank == 1 and out.unique and out.power == pytest.approx(0)
    assert m.multipliers(np.zeros(3), np.stack([y] * 3, axis=1)).shape == (1, 3)


def test_projectors_and_the_delassus_operator_are_those_of_the_formulas():
    m = pendulum()
    y = m.start([0.6, -0.8])
    A, x = np.array([[0.6, -0.8]]), np.array([1.0, 2.0])
    P = np.eye(2) - A.T @ A # M is a multiple of I
    assert m.delassus(0, y) == pytest.approx(A @ A.T / MASS)
    assert m.effective_mass(0, y) == pytest.approx(np.array([[MASS]]))
    assert m.project_tangent(0, y, x) == pytest.approx(P @ x)
    assert m.project_normal(0, y, x) == pytest.approx(x - P @ x)
    assert m.project_cotangent(0, y, x) == pytest.approx(P @ x)
    assert x == pytest.approx([1, 2])


def test_an_impact_turns_the_velocity_and_loses_energy_as_newton_says():
    """A mass that falls onto the plane z = 0."""
    m = cpodes.Mechanism(mass=[MASS, MASS], forces=lambda t, q, u: [0, -MASS * GRAVITY], constraints=lambda t, q: [[0.0, 1.0]],
                         position=lambda t, q: [q[1]], nq=2)
    m.set_active([0])
    hit = lambda t, y: y[1]
    hit.direction = -1
    hit.change = lambda t, y: m.impact(t, y, rows=[0], restitution=0.5)[0]
    first = np.sqrt(2 / GRAVITY)
    sol = m.solve((0, 1.4 * first), [0.0, 1.0, 1.0, 0.0], rtol=1e-9, atol=1e-9, events=hit)
    assert sol.t_events[0][0] == pytest.approx(first, abs=1e-7)
    assert sol.y[3, -1] == pytest.approx(GRAVITY * first * (0.5 - 0.4), abs=1e-6)
    assert sol.y[2] == pytest.approx(1.0)
    after, impulse = m.impact(0, [0, 0, 1, -2], rows=[0], restitution=0.5)
    assert after == pytest.approx([0, 0, 1, 1]) and abs(impulse[0]) == pytest.approx(3 * MASS)


@pytest.mark.parametrize("how, rows", [("direct", 1), ("rate", 1), ("full", 0)])
def test_a_prescribed_motion_is_followed_and_the_force_that_drives_it_is_known(how, rows):
    m = cpodes.Mechanism(mass=[MASS, 1.0], forces=lambda t, q, u: np.zeros(2))
    m.prescribe(0, how, np.sin, np.cos, lambda t: -np.sin(t))
    sol = m.solve((0, 3), [0.0, 0.0, 1.0, 0.0], rtol=1e-8, atol=1e-8)
    assert sol.y[0] == pytest.approx(np.sin(sol.t), abs=1e-6)
    y = sol.y[:, -1]
    assert m.multipliers(3, y).shape == (rows,)
    assert m.reactions(3, y)[0] == pytest.approx(-MASS * np.sin(3), abs=1e-6)


def test_a_spinning_body_keeps_the_norm_of_its_quaternion():
    """Free rotation: omega's component along the axis of symmetry is constant, and the others rotate (Euler). J = (1, 1,
    2)."""
    J = np.array([1.0, 1.0, 2.0])
    m = cpodes.Mechanism(mass=J, forces=lambda t, q, u: -np.cross(u, J * u), quaternions=[(0, 0, "body")])
    y0 = m.start([1, 0, 0, 0], [0.3, 0.0, 1.0])
    sol = m.solve((0, 10), y0, rtol=1e-9, atol=1e-9)
    assert np.linalg.norm(sol.y[:4], axis=0) == pytest.approx(1, abs=1e-8)
    assert sol.y[4:, -1] == pytest.approx([0.3 * np.cos(10), 0.3 * np.sin(10), 1.0], abs=1e-6)


def test_sparse_matrices_give_the_same_as_dense_ones():
    sparse = pytest.importorskip("scipy.sparse")
    n = 5 # a chain of masses on rods of length 1

    def ends(q):
        return np.diff(np.concatenate([[[0.0, 0.0]], q.reshape(n, 2)]), axis=0)

    def A(t, q):
        rows = np.zeros((n, 2 * n))
        for i, d in enumerate(ends(q)):
            rows[i, 2 * i:2 * i + 2] = d
            if i:
                rows[i, 2 * i - 2:2 * i] = -d
        return rows
    weight = np.tile([0, -GRAVITY], n)
    rest = dict(forces=lambda t, q, u: weight, position=lambda t, q: ((ends(q) ** 2).sum(axis=1) - 1) / 2)
    band = sparse.csc_matrix(A(0, np.arange(2 * n) ** 2 + 1.0)) # no entry is 0 here, so this is the pattern

    def A_sparse(t, q):
        full = A(t, q).T[band.T.tocsr().nonzero()]
        return sparse.csc_matrix((full, band.indices, band.indptr), band.shape)
    dense = cpodes.Mechanism(mass=np.eye(2 * n), constraints=A, **rest)
    thin = cpodes.Mechanism(mass=sparse.identity(2 * n, format="csc"), constraints=A_sparse, **rest)
    q = np.column_stack([np.arange(1.0, n + 1), np.zeros(n)]).ravel()
    ys = []
    for m in dense, thin:
        ys.append(m.solve((0, 0.5), m.start(q), rtol=1e-8, atol=1e-8).y[:, -1])
    assert ys[0] == pytest.approx(ys[1], abs=1e-6)


def test_wrong_functions_are_named_by_check():
    m = pendulum()
    assert m.check(0, m.start([0.6, -0.8], [0.8, 0.6]))["A_p"] < 1e-8
    wrong = pendulum()
    wrong.functions["A"] = lambda t, q: np.array([[q[0], 2 * q[1]]])
    with pytest.raises(cpodes.Error, match="CP_MECH_A_WRONG"):
        wrong.check(0, np.array([0.6, -0.8, 0.8, 0.6]))


@pytest.mark.parametrize("options, words", [
    (dict(mass=None), "mass"), (dict(mass=lambda t, q: None), "mass"), (dict(mass=np.eye(3)), "3"),
    (dict(mass=lambda t, q: np.eye(3)), r"\(2, 2\)"), (dict(position=lambda t, q: None), "position"),
    (dict(position=lambda t, q: [[0.0]]), "position"), (dict(position=None), "position"),
    (dict(constraints=lambda t, q: [[1.0]]), "constraints"), (dict(mass=[1.0, np.nan]), "finite"), (dict(metric="mine"), "mine"),
    (dict(constraints=lambda t, q: [[q[0], q[1]], [0.0, 1.0]]), "bias"), (dict(position=lambda t, q: [[1], [2, 3]]), "different lengths"),
    (dict(quaternions=[(0, 0, "sideways")]), "sideways"), (dict(forces=3), "forces"), (dict(forces=lambda t, q, u: [1.0]), "forces")])
def test_wrong_parts_are_named(options, words):
    parts = {"mass": np.eye(2), "forces": lambda t, q, u: [0.0, 0.0], "constraints": lambda t, q: [[q[0], q[1]]],
             "position": lambda t, q: [(q @ q - 1) / 2], **options}
    with pytest.raises((TypeError, ValueError, cpodes.Error), match=words):
        m = cpodes.Mechanism(**parts)
        m.solve((0, 1), m.start([1.0, 0.0]))


def test_a_first_state_that_is_refused_leaves_nothing():
    m = pendulum()
    for q, u in ([1.0, 0.0, 0.0], None), ([1.0, 0.0], [1.0]):
        with pytest.raises(ValueError, match="q has 3 entries|u has 1 entries"):
            m.start(q, u)
    assert m.solve((0, 0.1), m.start([1.0, 0.0])).success
    for rows in [1], ["a"]:
        with pytest.raises(ValueError, match="from 0 to 0"):
            m.impact(0, m.start([1.0, 0.0]), rows=rows)
    with pytest.raises(TypeError, match="number of a coordinate"):
        m.prescribe("a", "full", np.sin)


def test_one_mechanism_moves_in_two_threads():
    m = pendulum()
    y0, ends = m.start([1, 0]), {}
    work = lambda k: ends.__setitem__(k, m.solve((0, 2), y0, rtol=1e-8, atol=1e-8).y[:, -1])
    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    [t.start() for t in threads]
    [t.join(60) for t in threads]
    assert np.array_equal(ends[0], ends[1]) and np.array_equal(ends[0], ends[2])


def test_a_function_that_asks_its_own_mechanism_is_refused():
    m = pendulum()
    m.start([1, 0])
    m.functions["f"] = lambda t, q, u: m.reactions(t, np.concatenate([q, u]))
    m._query = None
    with pytest.raises(RuntimeError, match="asks the mechanism"):
        m.accelerations(0, [1, 0, 0, 0])


# ---- models ----


def test_the_catalogue_is_there():
    assert {"andrews", "slider_crank", "pendulum"} <= set(cpodes.models())
    with pytest.raises(ValueError, match="andrews"):
        cpodes.model("andrew")
    with pytest.raises(ValueError, match="no parameter"):
        cpodes.model("slider_crank", nothing=3)


def test_andrews_mechanism_ends_at_its_reference():
    """Reference: Test Set for Initial Value Problem Solvers, as the model says."""
    m = cpodes.model("andrews")
    sol = m.solve(rtol=1e-8, atol=1e-8)
    assert m.error(m.t_end, sol.y[:, -1]) < 1e-5
    assert sol.violation.max() < 1e-7


def test_models_come_with_quantities_parameters_events_and_drawing():
    m = cpodes.model("slider_crank")
    assert m.units and set(m.values) == set(m.units)
    xyz, pairs = m.points(0, m.y0)
    assert xyz.shape[1] == 3 and len(pairs) and pairs.max() < len(xyz)
    cradle = cpodes.model("newton_cradle")
    sol = cradle.solve(rtol=1e-8, atol=1e-8, max_step=cradle.t_end / 200)
    energy = cradle.quantities(sol.t, sol.y)
    assert all(np.ndim(value) == 1 for value in energy.values())
    assert len(np.flatnonzero(np.diff(sol.t) == 0)) > 0 # there have been impacts
    third = lambda t, y: t - cradle.t_end / 3 # in addition to the model's own
    assert cradle.solve(events=third, max_step=cradle.t_end / 200).t_events[0] == pytest.approx([cradle.t_end / 3])


def test_a_shared_object_that_is_no_model_is_refused(tmp_path):
    (tmp_path / "a.so").write_bytes(b"not an object")
    with pytest.raises(ValueError, match="cannot be loaded"):
        cpodes.load(tmp_path / "a.so")
    import _ctypes
    with pytest.raises(ValueError, match="cpodes_plugin"):
        cpodes.load(_ctypes.__file__)


def test_a_model_of_ones_own_is_loaded_from_its_shared_object(tmp_path):
    template = Path(__file__).resolve().parents[2] / "runner" / "template" / "my_model.c"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "cpodes_plugin"], capture_output=True, text=True)
    if flags.returncode or not template.exists():
        pytest.skip("no installed cpodes to compile a model against")
    target = tmp_path / "my_model.so"
    subprocess.run(["cc", "-shared", "-fPIC", template, "-o", target, *flags.stdout.split()], check=True)
    m = cpodes.load(target)
    sol = m.solve(rtol=1e-8, atol=1e-8)
    assert sol.t[-1] == m.t_end and sol.violation.max() < 1e-7
    name, value = next(iter(m.values.items()))
    end = lambda change: cpodes.load(target, **{name: value * (1 + change)}).solve((0, 1), rtol=1e-12, atol=1e-12).y[0, -1]
    _, gradient = m.gradient(lambda t, y, P: y[0], {name: value}, t_span=(0, 1), rtol=1e-10, atol=1e-10)
    assert gradient[name] == pytest.approx((8 * (end(1e-3) - end(-1e-3)) - (end(2e-3) - end(-2e-3))) / (0.012 * value), rel=1e-6)


@pytest.mark.parametrize("method", ["DOP853", "RADAU", "BDF"])
def test_runs_backwards_end_steps_at_kinks(method):
    """case 2: the force on the first ball ends at 2 pi / 5"""
    m, kink = cpodes.model("newton_cradle", case=2), 2 * np.pi / 5
    forwards = m.solve((0, 1.3 * kink), rtol=1e-10, atol=1e-12, method=method)
    backwards = m.solve((1.3 * kink, 0), forwards.y[:, -1], rtol=1e-10, atol=1e-12, method=method)
    assert abs(forwards.t - kink).min() < 1e-14 and abs(backwards.t - kink).min() < 1e-14
