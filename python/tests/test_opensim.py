"""Models of OpenSim, with the headers of its Simbody: CPODES_SIMBODY names the sources or the prefix. Without them, or without the
package, these tests are skipped."""
import os

import numpy as np
import pytest

opensim = pytest.importorskip("opensim")
if "CPODES_SIMBODY" not in os.environ:
    pytest.skip("CPODES_SIMBODY does not name the headers of OpenSim's Simbody", allow_module_level=True)
import cpodes.opensim # noqa: E402, after opensim

opensim.Logger.setLevelString("Off")
LENGTHS, NAMES = (0.2, 0.6, 0.4), ("crank", "coupler", "rocker")


def four_bar(start=(1.2, -0.8, 1.4)):
    """Crank, coupler and rocker on a ground of 0.5 m; the state is not consistent."""
    model = opensim.Model()
    model.setGravity(opensim.Vec3(0, -9.81, 0))
    zero, bodies = opensim.Vec3(0), {}
    for name, length, angle in zip(NAMES, LENGTHS, start):
        body = bodies[name] = opensim.Body(name, 1.0, opensim.Vec3(length / 2, 0, 0), opensim.Inertia(0.01, 0.02 + length**2 / 3, 0.02 + length**2 / 3))
        on, at = (bodies["crank"], 0.2) if name == "coupler" else (model.getGround(), 0.5 if name == "rocker" else 0.0)
        joint = opensim.PinJoint(name + "_pin", on, opensim.Vec3(at, 0, 0), zero, body, zero, zero)
        joint.updCoordinate().setName(name)
        joint.updCoordinate().setDefaultValue(angle)
        model.addBody(body)
        model.addJoint(joint)
    model.addConstraint(opensim.PointConstraint(bodies["coupler"], opensim.Vec3(0.6, 0, 0), bodies["rocker"], opensim.Vec3(0.4, 0, 0)))
    return model


def angles(model, state):
    return np.array([model.getCoordinateSet().get(name).getValue(state) for name in NAMES])


def closure(a):
    crank, coupler, rocker = a[0], a[0] + a[1], a[2]
    return np.array([0.2 * np.cos(crank) + 0.6 * np.cos(coupler) - 0.5 - 0.4 * np.cos(rocker),
                     0.2 * np.sin(crank) + 0.6 * np.sin(coupler) - 0.4 * np.sin(rocker)])


def test_a_four_bar_linkage_moves_as_by_opensim_itself():
    model = four_bar()
    state = model.initSystem()
    own = opensim.Manager(model)
    own.setIntegratorMethod(opensim.Manager.IntegratorMethod_RungeKuttaMerson)
    own.setIntegratorAccuracy(1e-9)
    own.initialize(state)
    expected = angles(model, own.integrate(1.0))
    model = four_bar()
    state = model.initSystem()
    manager = cpodes.opensim.Manager(model, accuracy=1e-5, balance=True)
    manager.initialize(state)
    state = manager.integrate(1.0, every=0.25)
    assert state.getTime() == 1.0 and np.abs(angles(model, state) - expected).max() < 1e-3
    assert np.abs(closure(angles(model, state))).max() < 1e-6 and manager.verdict().ok
    table = manager.states_table()
    assert list(table.getIndependentColumn()) == [0.0, 0.25, 0.5, 0.75, 1.0]
    column = table.getDependentColumn("/jointset/rocker_pin/rocker/value")
    assert column[4] == angles(model, state)[2]
    assert {one.name.split("/")[-2] for one in manager.limits()} == set(NAMES)
    manager.restart(state := model.initializeState())
    assert manager.time == 0.0 and np.abs(angles(model, manager.state) - angles(model, state)).max() < 1e-5
    assert np.abs(angles(model, manager.integrate(1.0)) - expected).max() < 1e-3


def test_the_nearest_state_is_the_nearest():
    """Positions by scipy's SLSQP, speeds by least squares."""
    optimize = pytest.importorskip("scipy.optimize")
    start = np.array([1.3, -0.9, 1.1])
    model = four_bar(start)
    state = model.initSystem()
    for name, angle in zip(NAMES, start):
        model.getCoordinateSet().get(name).setValue(state, angle, False)
        model.getCoordinateSet().get(name).setSpeedValue(state, angle)
    found, moved = cpodes.opensim.nearest(model, state, 1e-10)
    best = optimize.minimize(lambda a: np.sum((a - start)**2), start, constraints={"type": "eq", "fun": closure}, method="SLSQP",
                             options={"ftol": 1e-15}).x
    assert np.abs(angles(model, found) - best).max() < 1e-4 # SLSQP differences its gradients
    assert moved[0] == pytest.approx(np.sqrt(np.mean((best - start)**2)), abs=1e-6)
    G = np.array([(closure(angles(model, found) + 1e-6 * e) - closure(angles(model, found) - 1e-6 * e)) / 2e-6 for e in np.eye(3)]).T
    speeds = start - np.linalg.pinv(G) @ G @ start
    assert np.abs([model.getCoordinateSet().get(name).getSpeedValue(found) for name in NAMES] - speeds).max() < 1e-7


def rod_on_a_pin():
    model = opensim.Model()
    body = opensim.Body("rod", 1.0, opensim.Vec3(0), opensim.Inertia(1, 1, 1))
    joint = opensim.PinJoint("pin", model.getGround(), opensim.Vec3(0), opensim.Vec3(0), body, opensim.Vec3(0), opensim.Vec3(0))
    joint.updCoordinate().setName("angle")
    model.addBody(body)
    model.addJoint(joint)
    return model, body


def refusal(model, state):
    with pytest.raises(cpodes.opensim.Failed) as failure:
        cpodes.opensim.Manager(model).initialize(state)
    assert "\n" not in str(failure.value)
    return str(failure.value)


def test_constraints_that_cannot_be_assembled_are_named():
    model, body = rod_on_a_pin()
    constraint = opensim.ConstantDistanceConstraint(model.getGround(), opensim.Vec3(5, 0, 0), body, opensim.Vec3(1, 0, 0), 1.0)
    constraint.setName("too_short") # at least 4 m
    model.addConstraint(constraint)
    assert "/constraintset/too_short is violated by 3" in refusal(model, model.initSystem())


def test_coordinates_that_are_locked_against_a_constraint_are_named():
    model = four_bar()
    state = model.initSystem()
    model.getCoordinateSet().get("rocker").setValue(state, 0.2, False)
    for name in NAMES:
        model.getCoordinateSet().get(name).setLocked(state, True)
    said = refusal(model, state)
    assert "/constraintset/pointconstraint is violated" in said and "locked: " in said and all(f"/{name}" in said for name in NAMES)


def test_a_controller_that_fails_is_named_and_the_state_stays():
    """The torque is 1 N m until 0.5 s: the angle is t^2 / 2."""
    model, _ = rod_on_a_pin()
    motor = opensim.CoordinateActuator("angle")
    motor.setOptimalForce(1.0)
    model.addForce(motor)
    table = opensim.PiecewiseLinearFunction()
    for t, value in ((0.0, 1.0), (0.5, 1.0), (0.51, float("nan")), (2.0, 1.0)):
        table.addPoint(t, value)
    controller = opensim.PrescribedController()
    controller.addActuator(motor)
    controller.prescribeControlForActuator(motor.getName(), table)
    model.addController(controller)
    state = model.initSystem()
    manager = cpodes.opensim.Manager(model, accuracy=1e-5)
    manager.initialize(state)
    with pytest.raises(cpodes.opensim.Failed, match="the rate of /jointset/pin/angle/speed = nan") as failure:
        manager.integrate(1.0)
    assert failure.value.time == manager.state.getTime() <= 0.5
    assert abs(manager.y[0] - manager.time**2 / 2) < 1e-4
