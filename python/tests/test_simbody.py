"""Mechanisms of Simbody in this process, by their addresses: solutions in closed form, events, controllers, faults. test_opensim.py has
OpenSim's models."""
import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cpodes.opensim as simbody

METHODS = ["auto", "adams", "bdf", "dop853", "radau", "bs54", "bs32"]
K, D = 40.0, 8.0
# (q, u, z) of the slider on a Maxwell element: y' = A y + (0, force, 0)
A = np.array([[0.0, 1.0, 0.0], [-K, 0.0, K], [K / D, 0.0, -K / D]])
pytestmark = pytest.mark.skipif(not Path("/usr/include/simbody/SimTKsimbody.h").exists(), reason="no Simbody of Debian (libsimbody-dev)")


def exact(t, y, force=0.0):
    """The solution of y' = A y + b, by the eigenvectors of [A b; 0 0]."""
    W = np.zeros((4, 4))
    W[:3, :3], W[1, 3] = A, force
    values, vectors = np.linalg.eig(W.astype(complex))
    start = np.linalg.lstsq(vectors, np.append(y, 1.0).astype(complex), rcond=None)[0]
    return (vectors @ (np.exp(values * t) * start)).real[:3]


START = np.array([0.0, 2.0, 0.0])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simbody")
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++17", "-UNDEBUG", "-w", "-shared", "-fPIC", "-isystem/usr/include/simbody",
                    str(Path(__file__).with_name("simbody_system.cpp")), "-o", str(folder / "system.so"), "-lSimTKsimbody", "-lSimTKmath",
                    "-lSimTKcommon"], check=True)
    library = ctypes.CDLL(str(folder / "system.so"))
    for name in ("maxwell", "knee", "system_of", "state_of"):
        getattr(library, name).restype = ctypes.c_void_p
    return library


@pytest.fixture
def started(made):
    """started(name, arguments, options of Integrator): the integrator at the start"""
    boxes = []

    def start(name, *arguments, **options):
        box = ctypes.c_void_p(getattr(made, name)(*arguments))
        run = simbody.Integrator(made.system_of(box), **options)
        run.initialize(made.state_of(box))
        boxes.append((box, run))
        return run
    yield start
    for box, run in boxes:
        run.close()
        made.release(box)


@pytest.mark.parametrize("method", METHODS)
def test_a_maxwell_element_moves_as_its_closed_form(started, method):
    run = started("maxwell", 0, method=method, accuracy=1e-6)
    for t in (0.3, 1.0, 2.0):
        assert run.step(t) and run.time == t
        assert np.abs(run.y - exact(t, START)).max() < 20e-6
    assert run.statistics["steps"] > 3 and run.verdict().ok and run.sizes == (1, 1, 1)


def test_an_event_is_reported_at_its_time(started):
    """The wall at q = 0.3 reverses the speed."""
    low, high = 0.0, 0.25 # bisection of the closed form
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if exact(middle, START)[0] < 0.3 else (low, middle)
    after = exact(high, START) * [1, -1, 1]
    run = started("maxwell", 1, method="dop853", accuracy=1e-7)
    assert run.step(0.4)
    assert [e.kind for e in run.events] == ["trigger"] and abs(run.events[0].time - high) < 1e-6
    assert np.abs(run.y - exact(0.4 - high, after)).max() < 1e-5


def test_a_controller_restarts_at_no_cost(started, made):
    """The force is another one in each millisecond. A step of BS32 takes three realizations, and one more is the first of a segment."""
    run, y, n = started("maxwell", 0, period=1e-3), START, 200
    for k in range(n):
        force = 5.0 * np.sin(0.37 * k)
        made.set_pull(ctypes.c_double(force))
        run.restart()
        run.step((k + 1) * 1e-3)
        y = exact(1e-3, y, force)
    assert run.method == "bs32" and run.statistics["realizations"] <= 5 * n
    assert np.abs(run.y - y).max() < 10e-3


def test_a_force_that_throws_leaves_the_last_good_state(started, made):
    run = started("maxwell", 0, accuracy=1e-5)
    run.step(0.5)
    made.set_last_time(ctypes.c_double(0.7))
    with pytest.raises(simbody.Failed, match="the controller has no more values") as failure:
        run.step(1.0)
    assert "\n" not in str(failure.value)
    assert 0.5 <= failure.value.time == run.time <= 0.7
    assert np.abs(run.y - exact(run.time, START)).max() < 20e-5
    made.set_last_time(ctypes.c_double(np.inf))
    run.restart()
    run.step(1.0)
    assert np.abs(run.y - exact(1.0, START)).max() < 20e-5


def test_the_work_of_all_forces_is_the_change_of_kinetic_energy(started):
    for method in METHODS:
        run = started("maxwell", 0, method=method, accuracy=1e-6, balance=True)
        run.step(1.0)
        b = run.balance()
        assert b["work"] == pytest.approx(exact(1.0, START)[1] ** 2 / 2 - 2.0, abs=1e-4)
        assert abs(b["residual"]) < 1e-4 and run.verdict().ok


@pytest.mark.parametrize("accuracy", [1e-4, 1e-8])
def test_a_joint_of_functions_that_gains_energy_is_not_balanced(started, accuracy):
    run = started("knee", accuracy=accuracy, balance=True)
    run.step(1.0)
    assert abs(run.balance()["residual"]) > 1e-2 and not run.verdict().ok and "NOT balanced" in str(run.verdict())


def test_each_step_is_limited_by_one_variable(started):
    run = started("maxwell", 0, method="dop853", accuracy=1e-8)
    run.step(2.0)
    limits = run.limits()
    assert {one.name for one in limits} == {"q[0]", "u[0]", "z[0]"}
    assert sum(one.steps for one in limits) == run.statistics["steps"]
    assert all(limits[k].steps >= limits[k + 1].steps for k in range(2))


def test_what_cannot_work_is_refused(started, made):
    run = started("maxwell", 0)
    with pytest.raises(ValueError, match="there is no method euler"):
        started("maxwell", 0, method="euler")
    with pytest.raises(ValueError, match="there is no option speed"):
        started("maxwell", 0, speed=1.0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        started("maxwell", 0, accuracy=2.0)
    run.step(1.0)
    with pytest.raises(ValueError, match="0.5 s lies before 1.0 s"):
        run.step(0.5)
    with pytest.raises(ValueError, match="balance=True"):
        run.balance()


def test_headers_of_another_version_are_refused(made, tmp_path):
    (tmp_path / "include" / "simbody").mkdir(parents=True)
    (tmp_path / "include" / "simbody" / "SimTKsimbody.h").touch()
    with pytest.raises(ValueError, match="whose version can be found"):
        simbody.compiled_bridge(tmp_path)
    (tmp_path / "lib" / "cmake" / "simbody").mkdir(parents=True)
    (tmp_path / "lib" / "cmake" / "simbody" / "SimbodyConfigVersion.cmake").write_text('set(PACKAGE_VERSION "3.6.1")\n')
    with pytest.raises(ValueError, match="those of Simbody 3.6, and the Simbody in this process is 3.7"):
        simbody.compiled_bridge(tmp_path / "include" / "simbody")


def test_without_a_simbody_in_the_process_it_says_so():
    program = "import cpodes.opensim as o\ntry: o.Integrator(1)\nexcept ValueError as e: print(e)"
    said = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True).stdout
    assert said == "there is no Simbody in this process: import opensim first\n"
