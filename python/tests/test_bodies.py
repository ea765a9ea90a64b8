"""Mechanisms of bodies: their elements, files, quantities and gradients, and bad input."""
import copy
import math
import threading
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import cpodes

FILES = Path(__file__).resolve().parents[2] / "examples" / "mechanisms"
GRAVITY = 9.81
MASS, INERTIA, LENGTH = 2.0, 0.1, 1.0 # of the arm, whose centre is at that distance from the hinge


def arm(**options):
    """A compound pendulum in space, released from the horizontal; positive angles about y lead downwards."""
    m = cpodes.Bodies(gravity=(0, 0, -GRAVITY), **options)
    m.add_body("arm", mass=MASS, inertia=[INERTIA] * 3, at=(LENGTH, 0, 0))
    m.revolute("ground", "arm", at=(0, 0, 0), axis=(0, 1, 0), name="hinge")
    return m


def torsion(stiffness=3.0, **options):
    """A wheel in the plane on a torsion spring, turned by 0.5 rad: phi = 0.5 cos(sqrt(stiffness / INERTIA) t)."""
    m = cpodes.Bodies(2)
    m.add_body("wheel", mass=MASS, inertia=INERTIA, angle=0.5)
    m.revolute(None, "wheel", frames="bodies", name="axle")
    m.spring("axle", name="spring", **({"stiffness": stiffness} | options))
    return m


def test_functions_have_derivatives_and_are_laws_of_other_elements():
    gas = cpodes.Function.table([0, 90, 180, 270, 360], [1, 3, 1, 0.5, 1], units=("deg", "bar"), ends="periodic")
    assert gas(np.pi / 2) == pytest.approx(3e5) and gas(np.array([0, 2.5 * np.pi])) == pytest.approx([1e5, 3e5])
    f = cpodes.Function("-k*sin(angle) - 2 N m s*v*w/(1 rad/s) + A*gas(angle)*t/(1 s)", {"t": "s", "x": "rad", "v": "rad/s", "angle": "rad", "w": "rad/s"},
                        unit="N m", names={"k": "3 N m", "A": "1e-6 m^3", "gas": gas})
    value, g, H = f.derivatives(0.0, 0.1, 0.2, 0.5, 0.7)
    assert value == pytest.approx(-3 * np.sin(0.5) - 2 * 0.2 * 0.7)
    assert g[2:] == pytest.approx([-1.4, -3 * np.cos(0.5), -0.4]) and H[2, 4] == pytest.approx(-2) and H[3, 3] == pytest.approx(3 * np.sin(0.5))
    with pytest.raises(cpodes.Error, match="did you mean"):
        cpodes.Function("2*angel", ["angle"])
    with pytest.raises(ValueError, match="not a finite number"):
        cpodes.Function("1/x", ["x"])(0)
    for text, variables, error, rule in ((3, ["x"], TypeError, "text has to be an expression"), ("x", ["x", "x"], cpodes.Error, "two variables"),
                                         ("sin", ["x"], cpodes.Error, "needs parentheses")):
        with pytest.raises(error, match=rule):
            cpodes.Function(text, variables)
    assert cpodes.Function("2*xy", "xy")(3) == 6
    m = arm()
    m.add_body("disc", mass=1.0, inertia=(1, 1, 1), at=(0, 0, 1))
    m.revolute(None, "disc", at=(0, 0, 1), axis=(0, 1, 0), name="wheel")
    m.spring("wheel", law=f, inputs=["hinge.angle", "hinge.rate"], name="motor")
    m.drive("hinge", cpodes.Function("0.5 rad*sin(2*t/(1 s))", {"t": "s"}), name="swing")
    del f
    sol = m.solve((0, 1), rtol=1e-9, atol=1e-9)
    angle, rate, v = sol["hinge.angle"], sol["hinge.rate"], sol["wheel.rate"]
    assert angle == pytest.approx(0.5 * np.sin(2 * sol.t), abs=1e-9)
    assert sol["motor.torque"] == pytest.approx(-3 * np.sin(angle) - 2 * v * rate + 1e-6 * gas(angle) * sol.t, abs=1e-9)
    assert sol["wheel.acceleration"] == pytest.approx(sol["motor.torque"], abs=1e-9) # J = 1
    with pytest.raises(cpodes.Error, match="must have 4 variables, and has 1"):
        m.spring("wheel", law=cpodes.Function("t", ["t"]), inputs=["hinge.angle"])


def test_quantities_have_names():
    m = arm()
    sol = m.solve((0, 0.5), rtol=1e-9, atol=1e-9)
    force, angle = sol["hinge.force"], sol["hinge.angle"]
    assert force.shape == (3, len(sol.t)) and angle.shape == (len(sol.t),)
    assert force == pytest.approx(m.reaction("hinge", sol.t, sol.y)[:3], abs=1e-12)
    assert angle == pytest.approx(m.coordinate("hinge", sol.y)[0], abs=1e-15)
    assert sol["arm.point([0, 0, 20 mm]).position.in(arm).z"] == pytest.approx(0.02, abs=1e-15)
    assert MASS * sol["arm.centre.acceleration.x"] == pytest.approx(force[0], abs=1e-9)
    assert "hinge.torque" in m.sensors and m.sensor("hinge.rate", 0, sol.y[:, 0]) == pytest.approx(0, abs=1e-15)
    with pytest.raises(cpodes.Error, match="did you mean \"hinge\""):
        sol["hingo.force"]


@pytest.mark.parametrize("method", ["auto", "BDF", "Adams", "DOP853", "RADAU"])
@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_the_arm_falls_on_its_circle_and_keeps_its_energy(method, coordinates):
    m = arm(balance=True, coordinates=coordinates)
    assert m.names[:1] == ["hinge.angle" if coordinates == "joint" else "arm.x"]
    sol = m.solve((0, 1), method=method, rtol=1e-8, atol=1e-8, dense_output=True)
    angle, rate = m.coordinate("hinge", sol.y)
    fall = MASS * GRAVITY * LENGTH * np.sin(angle) # conservation of energy gives the rate at each angle
    assert rate == pytest.approx(np.sqrt(2 * fall / (INERTIA + MASS * LENGTH ** 2)), abs=2e-5)
    assert sol.violation.max() < 1e-8 and abs(m.imbalance(sol.t, sol.y)).max() < 2e-4
    assert np.linalg.norm(m.point("arm", (-LENGTH, 0, 0), sol.sol(0.37))[:3]) < 1e-8
    assert sol.mechanism is m and set(sol.stats)


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_assemblies_take_values_limits_and_targets(coordinates):
    m = arm(coordinates=coordinates)
    y = m.assemble(coordinates={"hinge": 0.7})
    assert m.coordinate("hinge", y)[0] == pytest.approx(0.7, abs=1e-14)
    tip = m.point("arm", (0.3, 0, 0), y)[:3]
    again = m.assemble(targets={"arm": {"point": (0.3, 0, 0), "position": tip}})
    assert m.miss < 1e-9 and m.coordinate("hinge", again)[0] == pytest.approx(0.7, abs=1e-8)
    limited = m.assemble(targets={"arm": {"point": (0.3, 0, 0), "position": tip}}, coordinates={"hinge": (-1, 0.5)})
    assert m.miss > 0.01 and m.coordinate("hinge", limited)[0] == pytest.approx(0.5, abs=1e-12)
    with pytest.raises(cpodes.Error, match="low must not exceed high"):
        m.assemble(coordinates={"hinge": (1, -1)})


def test_reactions_are_those_of_the_formulas():
    """At the release from the horizontal, u' = m g l / (J + m l^2), and the hinge carries m (g - l u')."""
    m = arm()
    y = m.assemble()
    up = MASS * GRAVITY * LENGTH / (INERTIA + MASS * LENGTH ** 2)
    assert m.reaction("hinge", 0, y) == pytest.approx([0, 0, MASS * (GRAVITY - LENGTH * up), 0, 0, 0], abs=1e-12)
    assert m.accelerations(0, y)[4] == pytest.approx(up)
    assert m.powers(0, y).kinetic == 0 and m.evaluate(0, y).rank == 5
    assert m.reaction("hinge", np.zeros(3), np.stack([y] * 3, axis=1)).shape == (6, 3)
    assert m.bodies == ["arm"] and m.joints == ["hinge"]


def add_each(m, joint):
    m.add_body("a", mass=1, inertia=(1, 1, 1))
    m.add_body("b", mass=1, inertia=(1, 1, 1), at=(1, 0, 0))
    options = {"universal": {"axis": (0, 0, 1), "axis_b": (0, 1, 0)}, "rolling": {"radius": 1.0, "at": (0, 0, -1), "at_b": (1, 0, 0)},
               "rod": {"at_b": (1, 0, 0)}, "point_on_line": {"axis": (1, 0, 0), "at_b": (1, 0, 0)},
               "point_on_plane": {"at_b": (1, 0, 0)},
               "rolling_disc": {"radius": 1.0, "at": (0, 0, -1), "at_b": (1, 0, 0), "axis_b": (0, 1, 0)}}
    return getattr(m, joint)("a", "b", **options.get(joint, {}))


@pytest.mark.parametrize("joint, rank", [("ball", 3), ("revolute", 5), ("universal", 4), ("cylindrical", 4), ("prismatic", 5), ("planar", 3),
                                         ("fixed", 6), ("rod", 1), ("point_on_line", 2), ("point_on_plane", 1), ("rolling", 3),
                                         ("rolling_disc", 3)])
def test_each_joint_takes_as_many_freedoms_as_its_table_says(joint, rank):
    m = cpodes.Bodies()
    name = add_each(m, joint)
    assert name.startswith(joint) and m.joints == [name]
    assert m.evaluate(0, m.assemble()).rank == rank
    assert m.points(0, m.assemble())[1].max() < 4


def test_forces_and_laws_of_python_move_bodies_as_those_of_the_library():
    t = np.linspace(0, 1, 5)
    exact = 0.5 * np.cos(math.sqrt(3.0 / INERTIA) * t)
    law = lambda t, x, rate: (-3.0 * x, -3.0, 0.0)
    for m in torsion(), torsion(0.0, law=law):
        for method in "DOP853", "RADAU":
            sol = m.solve((0, 1), method=method, rtol=1e-10, atol=1e-10, t_eval=t)
            assert m.coordinate("axle", sol.y)[0] == pytest.approx(exact, abs=1e-7)
    drag = cpodes.Bodies()
    drag.add_body("ball", mass=2.0, inertia=(1, 1, 1), velocity=(3, 0, 0))
    drag.force("ball", f=lambda t, x, v: (-4.0 * v, np.zeros((3, 3)), -4.0 * np.eye(3))) # v = 3 exp(-2 t)
    for method in "DOP853", "RADAU":
        assert drag.solve((0, 1), method=method, rtol=1e-10, atol=1e-10).y[7, -1] == pytest.approx(3 * math.exp(-2), abs=1e-8)
    lift = cpodes.Bodies(gravity=(0, 0, -GRAVITY))
    lift.add_body("cage", mass=2.0, inertia=(1, 1, 1))
    guide = lift.prismatic("ground", "cage", axis=(0, 0, 1))
    motor = lift.drive(guide, lambda t: (t ** 3, 3 * t ** 2, 6 * t))
    sol = lift.solve((0, 1), rtol=1e-10, atol=1e-10)
    assert lift.coordinate((guide, 0), sol.y)[:, -1] == pytest.approx([1, 3])
    assert lift.reaction(motor, 1.0, sol.y[:, -1])[0] == pytest.approx(2 * (GRAVITY + 6))
    lift.friction(guide, 0.1, 0.01)
    lift.bushing("ground", "cage", drag=1.0)
    lift.shape("box", "cage", (1, 1, 1))
    assert lift.powers(1.0, lift.assemble(t=1.0)).drives == pytest.approx(3 * 2 * (GRAVITY + 6))


def test_derivatives_of_a_force_stand_by_rows():
    m = cpodes.Bodies()
    m.add_body("ball", mass=1.0, inertia=(1, 1, 1), at=(1, 2, 3))
    S = np.array([[-3.0, 1, 0], [0, -2, 0], [0, 0, -1]])
    m.force("ball", f=lambda t, x, v: (S @ x, S, np.zeros((3, 3))))
    assert m.check(0.0, m.assemble())["K"] < 1e-7


def test_couplers_take_further_coordinates_and_functions():
    m = cpodes.Bodies(2)
    for k, name in enumerate("abc"):
        m.add_body(name, mass=1, inertia=0.5, at=(k, 0))
        m.revolute(None, name, frames="bodies", at=(k, 0), name=f"turn_{name}")
    m.add_body("follower", mass=1, inertia=1, at=(0, 1))
    m.prismatic(None, "follower", at=(0, 1), axis=(0, 1), name="lift")
    m.couple("turn_a", "turn_b", [1, 1, -2], more=["turn_c"], name="differential")
    m.couple("lift", "turn_a", [1, -1], function=cpodes.Function("0.1*(1 - cos(x))", ["x"]))
    m.drive("turn_a", rate=2.0)
    m.drive("turn_b", rate=-0.5)
    sol = m.solve((0, 1.5), rtol=1e-9, atol=1e-9)
    assert m.coordinate("turn_c", sol.y[:, -1])[0] == pytest.approx(1.125, abs=1e-8)
    assert m.coordinate("lift", sol.y[:, -1])[0] == pytest.approx(0.1 * (1 - math.cos(3)), abs=1e-8)


def test_ropes_rub_on_drums_and_bearings_on_their_loads():
    factor, masses = math.exp(0.3 * math.pi), (1.0, 3.0)
    m = cpodes.Bodies(2, gravity=(0, -GRAVITY))
    m.add_body("left", mass=masses[0], inertia=1, at=(-0.2, -3))
    m.add_body("right", mass=masses[1], inertia=1, at=(0.2, -1))
    m.rope(("left", (-0.2, -3)), {"body": None, "at": (0, 0), "radius": -0.2, "friction": 0.3}, ("right", (0.2, -1)), name="rope")
    sol = m.solve((0, 0.9), rtol=1e-9, atol=1e-9)
    fall = (masses[1] - factor * masses[0]) / (masses[1] + factor * masses[0]) * GRAVITY * 0.9**2 / 2
    assert m.point("right", (0, 0), sol.y[:, -1])[1] == pytest.approx(-1 - fall, abs=1e-8)
    n = cpodes.Bodies(2, gravity=(0, -GRAVITY))
    n.add_body("wheel", mass=2, inertia=0.1, omega=(0, 0, 3))
    n.revolute(None, "wheel", at=(0, 0), name="pin")
    n.friction("pin", 0.02, name="bearing")
    sol = n.solve((0, 2), rtol=1e-9, atol=1e-9)
    assert n.coordinate("pin", sol.y[:, -1])[0] == pytest.approx(9 * 0.1 / (2 * 0.02 * 2 * GRAVITY), abs=1e-8)
    with pytest.raises(ValueError, match="a node has body, at, radius, axis, turns, friction and sticking, and not mu"):
        m.rope({"body": "left", "at": (0, 0), "mu": 1}, ("right", (0, 0)))


def test_paths_run_on_the_side_of_a_point():
    rho, a = math.sqrt(4.25), math.atan2(0.5, 2)
    for side, sign in ((None, -1), ((None, (0, -3)), 1)):
        m = cpodes.Bodies(2)
        m.add_body("end", mass=1, inertia=1, at=(2, 0.5))
        m.tendon("cord", along=[(None, (-2, 0.5)), {"body": None, "at": (0, 0), "radius": 1, "side": side}, ("end", (2, 0.5))])
        sol = m.solve((0, 0.1), rtol=1e-6, atol=1e-6)
        assert sol["cord.length"][0] == pytest.approx(2 * math.sqrt(3.25) + math.pi + 2 * sign * a - 2 * math.acos(1 / rho), abs=1e-13)


def test_ropes_and_tendons_pull():
    m = cpodes.Bodies(2, gravity=(0, -GRAVITY))
    m.add_body("left", mass=1.3, inertia=1, at=(-0.2, -3))
    m.add_body("right", mass=2.1, inertia=1, at=(0.2, -1))
    m.rope(("left", (-0.2, -3)), (None, (0, 0), -0.2), ("right", (0.2, -1)), name="rope")
    sol = m.solve((0, 0.9), rtol=1e-9, atol=1e-9)
    fall = 0.8 / 3.4 * GRAVITY * 0.9**2 / 2
    assert m.point("right", (0, 0), sol.y[:, -1])[1] == pytest.approx(-1 - fall, abs=1e-8)
    assert sol["rope.length"][-1] == pytest.approx(4 + 0.2 * math.pi, abs=1e-8)
    n = cpodes.Bodies(2)
    n.add_body("cart", mass=2, inertia=1)
    n.prismatic(None, "cart", frames="bodies", axis=(1, 0), axis_b=(1, 0), name="rail")
    n.tendon("cord", ["rail"], [3.0], stiffness=5, free=0.6)
    n.limit("cord", upper=2)
    sol = n.solve((0, 1), rtol=1e-9, atol=1e-9)
    assert n.coordinate("rail", sol.y[:, -1])[0] == pytest.approx(0.2 * (1 - math.cos(math.sqrt(45 / 2))), abs=1e-8)
    with pytest.raises(cpodes.Error, match="rope: node 1 and the next one are at one point"):
        n.rope((None, (0, 0)), ("cart", (0, 0)), name="rope")


def test_a_tyre_brakes_by_the_brush_model():
    m = cpodes.Bodies(3)
    m.add_body("wheel", mass=12, inertia=(0.3, 0.6, 0.3), at=(0, 0, 0.29), velocity=(10, 0.5, 0), omega=(0, 34, 0))
    m.tyre("wheel", at=(0, 0, 0.29), radius=0.3, stiffness=2e5, friction=0.9, slip_stiffness=4e4, speed=0.5, name="tyre")
    sol = m.solve((0, 1e-3), rtol=1e-9, atol=1e-9)
    load, roll = 2e5 * 0.01, 0.29 * 34
    slip = np.array([-(10 - roll), -0.5]) / math.hypot(roll, 0.5)
    s = 4e4 * np.linalg.norm(slip) / (3 * 0.9 * load)
    force = 0.9 * load * (1 - (1 - s)**3) * slip / np.linalg.norm(slip)
    assert sol["tyre.slip"][0] == pytest.approx(slip[0], abs=1e-14)
    assert [sol[f"tyre.force.{k}"][0] for k in "xyz"] == pytest.approx([*force, load], rel=1e-12)
    assert m.values["tyre.friction"] == 0.9
    with pytest.raises(cpodes.Error, match="tyre_1: radius must be"):
        m.tyre("wheel", at=(0, 0, 0.29), radius=-1, stiffness=2e5, friction=0.9, slip_stiffness=4e4, speed=0.5, name="tyre_1")


def test_an_elastic_sphere_pushes_by_hertz_and_slides():
    m = cpodes.Bodies(3)
    m.add_body("ball", mass=1, inertia=(0.1, 0.1, 0.1), at=(0, 0, 0.25), velocity=(0.5, 0, -0.2))
    m.elastic_sphere("ball", at_b=(0, 0, 0.25), radius=0.3, modulus=1e4, speed=0.1, damping=0.1, friction=0.4, viscous=0.2, name="soft")
    sol = m.solve((0, 1e-3), rtol=1e-9, atol=1e-9)
    load = 4 / 3 * 1e4 * 0.3 ** 0.5 * 0.05 ** 1.5 * (1 + 1.5 * 0.1 * 0.2)
    pull = -load * (0.4 - 2 * 0.4 / 26 + 0.2 * 0.5)
    assert sol["soft.load"][0] == pytest.approx(load, rel=1e-12)
    assert sol["soft.force.x"][0] == pytest.approx(pull, rel=1e-12)
    assert sol["soft.torque.y"][0] == pytest.approx(-0.275 * pull, rel=1e-12)
    with pytest.raises(cpodes.Error, match="hard: modulus must be"):
        m.elastic_sphere("ball", at_b=(0, 0, 0.25), radius=0.3, modulus=-1, speed=0.1, name="hard")


def test_a_cube_sinks_by_stokes_and_an_ellipsoid_is_lifted():
    """m v' = m g - 3 pi eta a v; and at rest in a wind U along (1, 1, 0) / sqrt(2) the drag and the lift of half axes of 3, 1, 2 m by the formulas of CPDrag."""
    m = cpodes.Bodies(3, gravity=(0, 0, -9.81))
    m.add_body("cube", mass=2, inertia=(0.1, 0.1, 0.1))
    m.drag("cube", at=(0, 0, 0), edges=(0.5, 0.5, 0.5), viscosity=3, name="oil")
    sol, k = m.solve((0, 1), rtol=1e-10, atol=1e-10), 3 * np.pi * 3 * 0.5 / 2
    assert sol["cube.velocity.z"][-1] == pytest.approx(-9.81 / k * (1 - np.exp(-k)), rel=1e-8)
    wing = cpodes.Bodies(3)
    wing.add_body("wing", mass=2, inertia=(1, 1, 1))
    wing.drag("wing", at=(0, 0, 0), half_axes=(3, 1, 2), density=1.2, wind=(1, 1, 0), across=(1, 0, 0), blunt=0.5, slender=0.2, kutta=0.7, name="air")
    n = np.array([(1 * 2) ** 2, (2 * 3) ** 2, 0.0])  # n_i = (r_j r_k)^2 v_i for v = -(1, 1, 0), up to its sign
    v, s = -np.array([1.0, 1.0, 0.0]), 2 ** 0.5
    seen = np.pi * (n @ n / n.sum()) ** 0.5
    c = n.sum() / (s * (n @ n))
    force = -1.2 * s * (0.5 * seen + 0.2 * (6 * np.pi - seen)) * v + 1.2 * 0.7 * seen * c * np.cross(np.cross(-n, v), v)
    sol = wing.solve((0, 1e-9))
    assert [sol[f"air.force.{k}"][0] for k in "xyz"] == pytest.approx(list(force), rel=1e-12, abs=1e-12)
    with pytest.raises(cpodes.Error, match="one of edges and half_axes must be given"):
        wing.drag("wing", at=(0, 0, 0), name="none")
    with pytest.raises(cpodes.Error, match="air_2: half_axes must be positive, and is -1"):
        wing.drag("wing", at=(0, 0, 0), half_axes=(1, -1, 1), name="air_2")


def test_gradients_with_respect_to_a_tyre_agree_with_differences():
    """The radius has the size of the deflection, 0.01 m, for differences; the quotients are of fourth order."""
    def wheel(friction=0.9, radius=0.3):
        m = cpodes.Bodies(3, gravity=(0, 0, -GRAVITY))
        m.add_body("wheel", mass=200, inertia=(3, 6, 3), at=(0, 0, 0.29), velocity=(10, 0.5, 0), omega=(0, 34, 0))
        m.tyre("wheel", at=(0, 0, 0.29), radius=radius, stiffness=2e5, friction=friction, slip_stiffness=4e4, speed=0.5, name="tyre")
        return m
    _, grad = wheel().gradient(lambda t, y, p: y[1], {"tyre.friction": 0.9, "tyre.radius": 0.3}, t_span=(0, 0.05), rtol=1e-12, atol=1e-12,
                               scale={"tyre.friction": 1.0, "tyre.radius": 0.01})
    for name, value, h in (("friction", 0.9, 1e-2), ("radius", 0.3, 1e-4)):
        at = lambda x: wheel(**{name: x}).solve((0, 0.05), rtol=1e-13, atol=1e-13).y[1, -1]
        quotient = (8 * (at(value + h) - at(value - h)) - at(value + 2 * h) + at(value - 2 * h)) / (12 * h)
        assert grad[f"tyre.{name}"] == pytest.approx(quotient, rel=1e-6)


def test_gears_turn_against_each_other():
    m = cpodes.Bodies(2)
    for name, x in (("small", 0.0), ("large", 3.0)):
        m.add_body(name, mass=1.0, inertia=1.0, at=(x, 0), spin=1.0 if name == "small" else -0.5)
        m.revolute("ground", name, at=(x, 0), name=f"axle_{name}")
    m.couple("axle_small", "axle_large", ratio=(1, 2))
    sol = m.solve((0, 2), rtol=1e-10, atol=1e-10)
    assert m.coordinate("axle_large", sol.y)[:, -1] == pytest.approx([-1, -0.5])


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_andrews_mechanism_from_a_file_reaches_its_reference(coordinates):
    """Angles at 0.03 s: Hairer and Wanner, Solving Ordinary Differential Equations II (1996), VII.7; 4 of the 7."""
    reference = {"O": 15.81077119629904, "B": 0.04082224013073101, "A5": 0.5244099658805304, "A7": 1.048080741042263}
    m = cpodes.Bodies.read(FILES / "andrews.yaml", coordinates=coordinates)
    assert len(m.names) == (15 if coordinates == "joint" else 43)
    assert m.title and m.notes == "" and m.t_end == 0.03
    sol = m.solve(method="DOP853", rtol=1e-10, atol=1e-10)
    assert sol.violation.max() < 1e-8 and np.ptp(m.imbalance(sol.t, sol.y)) < 1e-8
    for joint, angle in reference.items():
        assert m.coordinate(joint, sol.y[:, -1])[0] == pytest.approx(angle, abs=2e-6), joint
    with pytest.raises(ValueError, match="absolute"):
        cpodes.Bodies(coordinates="polar")


def test_a_screw_falls_as_its_closed_form():
    pitch, m, J = 0.05, 2.0, 0.02
    b = cpodes.Bodies(gravity=(0, 0, -9.81), coordinates="joint")
    b.add_body("nut", mass=m, inertia=(J, J, J))
    screw = b.custom(None, "nut", [dict(about=(0, 0, 1)), dict(along=(0, 0, 1), function=cpodes.Function("0.05*x", ["x"]))])
    sol = b.solve((0.0, 1.0), rtol=1e-9, atol=1e-9)
    assert b.coordinate(screw, sol.y)[0][-1] == pytest.approx(-m * 9.81 * pitch / (J + m * pitch**2) / 2, rel=1e-9)
    with pytest.raises(ValueError, match="either about"):
        b.custom(None, "nut", [dict(ratio=1.0)])


def test_a_leg_of_opensim_starts_where_its_coordinates_are():
    leg = Path(__file__).parents[2] / "test" / "unit" / "bodies" / "leg.osim"
    b = cpodes.Bodies.read(leg, parameters={"start.knee_angle": -0.3})
    sol = b.solve((0.0, 0.1))
    assert b.coordinate("knee", sol.y)[0][0] == pytest.approx(-0.3, abs=1e-15) and "Thelen2003Muscle (2 times)" in str(b.notes)


def test_robots_are_read_with_their_loops():
    m = cpodes.load(str(FILES / "gripper.xml"))
    assert m.notes == "" and "loop_l" in m.joints
    assert m.values["hinge_l_actuator.gear"] == 50 and m.values["hinge_l_actuator.control"] == 0
    sol = m.solve((0, 1), rtol=1e-8, atol=1e-8)
    assert sol.violation.max() < 1e-8
    assert cpodes.load(FILES / "arm.urdf").bodies


def test_a_parallelogram_in_sdf_swings_as_a_pendulum():
    integrate = pytest.importorskip("scipy.integrate")
    # (2 (m l^2/4 + J) + M l^2) a'' = -(m + M) g l sin a - d a'
    m = cpodes.load(FILES / "parallelogram.sdf")
    assert m.coordinates == "joint" and not m.notes
    sol = m.solve((0, 3), rtol=1e-10, atol=1e-10)
    inertia, torque = 2 * (1 / 4 + 0.08) + 2, (1 + 2) * 9.8
    start = math.atan2(0.3, 0.4)
    swing = integrate.solve_ivp(lambda t, y: (y[1], (-torque * math.sin(y[0]) - 0.05 * y[1]) / inertia), (0, 3), (start, 0),
                                rtol=1e-11, atol=1e-11, method="DOP853")
    # the coordinate is 0 at the placement, and about y, from z to x: a falls as it grows
    assert m.coordinate("left_bearing", sol.y[:, -1])[0] == pytest.approx(start - swing.y[0, -1], abs=1e-8)


def test_parameters_of_a_file_are_replaced_by_name():
    m = cpodes.Bodies.read(FILES / "engine.yaml", parameters={"r": "50 mm", "speed": 100 * math.pi})
    sol = m.solve((0, 0.01), rtol=1e-9, atol=1e-9) # half a turn
    assert m.coordinate("main", sol.y[:, -1])[0] == pytest.approx(-math.pi, abs=1e-9)
    with pytest.raises(cpodes.Error, match="there is no parameter \"R\", but speed, r,"):
        cpodes.Bodies.read(FILES / "engine.yaml", parameters={"R": 1})
    with pytest.raises(cpodes.Error, match="it must have the dimension of what it replaces, m, and has kg"):
        cpodes.Bodies.read(FILES / "engine.yaml", parameters={"r": "2 kg"})


@pytest.mark.parametrize("method", ["DOP853", "RADAU", "BDF"])
def test_loops_are_closed_as_far_as_is_asked_for(method):
    # The parallelograms are closed exactly in joint coordinates.
    m = cpodes.Bodies.read(FILES / "gripper.xml", coordinates="absolute")
    sol = m.solve((0, 10), method=method, closure=1e-12, dense_output=True)
    assert sol.violation.max() < 1e-12
    assert max(m.evaluate(t, sol.sol(t)).position for t in np.linspace(0.03, 9.97, 20)) < 1e-12
    assert m.solve((0, 10), method=method).violation.max() < 1e-12 # the default
    loose = m.solve((0, 10), method="BDF", closure=1.0)
    assert loose.violation.max() > 1e-12
    for wrong in (0, -1.0, math.nan, "tight"):
        with pytest.raises(ValueError, match="closure"):
            m.solve((0, 1), closure=wrong)


def test_radau_closes_a_loop_far_beyond_the_tolerance_of_its_stages():
    m = cpodes.load(FILES / "spatial_crank.yaml")
    y0 = m.assemble()
    sol = m.solve((0, 1), y0, "RADAU", closure=1e-12) # by its stages alone only to 2e-11 m
    found = [m.evaluate(t, y) for t, y in zip(sol.t[1:], sol.y.T[1:])]
    assert max(max(o.position, o.velocity) for o in found) < 1e-12


def test_parameters_have_names_and_count_from_the_next_run_on():
    m = torsion(3.0)
    assert m.values["spring.stiffness"] == 3.0 and set(m.values) >= {"wheel.mass", "wheel.J_zz", "gravity.x", "spring.free"}
    for stiffness in 3.0, 12.0:
        m.values["spring.stiffness"] = stiffness
        sol = m.solve((0, 1), rtol=1e-10, atol=1e-10)
        assert m.coordinate("axle", sol.y)[0, -1] == pytest.approx(0.5 * math.cos(math.sqrt(stiffness / INERTIA)), abs=1e-7)
    with pytest.raises(KeyError, match="spring.stifness"):
        m.values["spring.stifness"] = 1
    for wrong in (math.nan, None, [1, 2]):
        with pytest.raises((ValueError, TypeError)):
            m.values["spring.stiffness"] = wrong
    assert m.values["spring.stiffness"] == 12.0


@pytest.mark.parametrize("method", ["forward", "adjoint"])
def test_gradients_by_name_are_those_of_the_solution_in_closed_form(method):
    k, T = 3.0, 1.0
    m = torsion()
    params = {"spring.stiffness": k, "wheel.J_zz": INERTIA}
    sol, grad = m.gradient(lambda t, y, p: y[2], params, t_span=(0, T), method=method, rtol=1e-10, atol=1e-10)
    w = math.sqrt(k / INERTIA)
    assert sol.objective == pytest.approx(0.5 * math.cos(w * T), abs=1e-7)
    assert list(grad) == list(params)
    assert grad["spring.stiffness"] == pytest.approx(-0.5 * T * math.sin(w * T) * w / (2 * k), rel=1e-6)
    assert grad["wheel.J_zz"] == pytest.approx(0.5 * T * math.sin(w * T) * w / (2 * INERTIA), rel=1e-6)
    explicit = cpodes.Objective(end=lambda t, y, p: float(p["spring.stiffness"]) * y[2])
    _, more = m.gradient(explicit, params, t_span=(0, T), method=method, rtol=1e-10, atol=1e-10)
    assert more["spring.stiffness"] == pytest.approx(0.5 * math.cos(w * T) + k * grad["spring.stiffness"], rel=1e-6)


def test_gradients_know_how_the_assembly_depends_on_lengths():
    """A mass hangs at rest on a rod of length L below a hinge: its depth is L."""
    m = cpodes.Bodies(2, gravity=(0, -GRAVITY))
    m.add_body("mass", mass=1.0, inertia=1.0, at=(0, -1))
    m.rod("ground", "mass", at=(0, 0), at_b=(0, -1), name="rod")
    _, grad = m.gradient(lambda t, y, p: y[1], {"rod.length": 1.5}, t_span=(0, 0.1))
    assert grad["rod.length"] == pytest.approx(-1, abs=1e-7)
    assert m.assemble()[1] == pytest.approx(-1.5)
    with pytest.raises(TypeError, match="dict"):
        m.gradient(lambda t, y, p: y[1], [1.0], t_span=(0, 1))
    with pytest.raises(KeyError, match="rod.size"):
        m.gradient(lambda t, y, p: y[1], {"rod.size": 1.0}, t_span=(0, 1))
    with pytest.raises(TypeError, match="by name, of none"):
        cpodes.model("andrews").gradient(lambda t, y, p: y[0], t_span=(0, 0.01), start=cpodes.model("andrews").y0)


def rounded_four_bar():
    """A four-bar linkage in the plane y = 0, whose pin misses by 9e-8 across that plane."""
    m = cpodes.Bodies(gravity=(0, 0, -GRAVITY))
    for name, x, z in (("crank", 0, 0), ("rod", 0, 0.2), ("rocker", 0.4, 0)):
        m.add_body(name, mass=1, inertia=(1e-2,) * 3, at=(x, 0, z), centre=(0.1, 0, 0.1))
    for name, a, b, at in (("h1", None, "crank", (0, 0, 0)), ("h2", "crank", "rod", (0, 0, 0.2)), ("h3", None, "rocker", (0.4, 0, 0))):
        m.revolute(a, b, at=at, axis=(0, 1, 0), name=name)
    m.ball("rod", "rocker", frames="bodies", at=(0.4, 0, 0.1), at_b=(0, 9e-8, 0.3), name="pin")
    return m


def test_an_offset_that_closes_a_rounded_loop_holds_in_the_runs_that_follow():
    m = rounded_four_bar()
    sol = m.solve((0, 0.5), rtol=1e-8, atol=1e-8)
    assert sol.success and 'joint "pin" along y: an offset of 9e-08 m' in m.assembly_notes
    assert abs(m.coordinate("h1", sol.y[:, -1])[0]) > 0.1 and sol.violation.max() < 1e-8
    m.add_body("other", mass=1, inertia=(1,) * 3)
    assert m.solve((0, 0.1)).success


def test_drives_in_conflict_are_named():
    m = arm()
    m.drive("hinge", rate=1, name="first")
    m.drive("hinge", rate=2, name="second")
    with pytest.raises(cpodes.Error, match='drive "second" contradicts drive "first"'):
        m.assemble()


def test_the_assembly_names_the_joint_that_stays_open():
    m = cpodes.Bodies(2)
    m.add_body("bar", mass=1, inertia=1, at=(0, 0))
    m.revolute("ground", "bar", frames="bodies", name="left")
    m.revolute("ground", "bar", at=(3, 0), at_b=(2, 0), frames="bodies", name="right")
    with pytest.raises(cpodes.Error, match="CP_IC_FAIL.*right") as failure:
        m.assemble()
    assert failure.value.code < 0 and failure.value.name == "CP_IC_FAIL"
    with pytest.raises(cpodes.Error, match="no body \"baar\""):
        m.assemble(held=["baar"])


@pytest.mark.parametrize("wrong, message", [
    (dict(mass=-1.0), "mass must not be negative"), (dict(mass=math.nan), "not finite"), (dict(mass=None), "real numbers"),
    (dict(mass=[1, 2]), "has to be a number"), (dict(inertia=(1, 1)), "shape"), (dict(inertia=(1, 1, 3)), "principal moments"),
    (dict(inertia=[[1, 2, 0], [0, 1, 0], [0, 0, 1]]), "symmetric"), (dict(inertia=None), "real numbers"), (dict(at=(0, 0, math.inf)), "not finite"),
    (dict(at=(1,)), "3 numbers"), (dict(name="arm"), "already"), (dict(name="a b"), "blank"), (dict(name=3), "string"),
    (dict(name="x\0y"), "zero character"), (dict(name="ground"), "ground"), (dict(quaternion=(1, 0, 0)), "4|numbers"), (dict(omega="fast"), "real")])
def test_a_wrong_body_is_refused_and_changes_nothing(wrong, message):
    m = arm()
    with pytest.raises((cpodes.Error, ValueError, TypeError), match=message):
        m.add_body(**({"name": "new", "mass": 1.0, "inertia": (1, 1, 1)} | wrong))
    assert m.bodies == ["arm"] and m.solve((0, 0.1)).success


@pytest.mark.parametrize("add, message", [
    (lambda m: m.revolute("arm", "arm"), "differ"), (lambda m: m.revolute("arm", "leg"), "no body"), (lambda m: m.revolute(1, "arm"), "string"),
    (lambda m: m.revolute("ground", "arm", at=(0, 0, math.nan)), "not finite"), (lambda m: m.revolute("ground", "arm", at_b=(0, 0, 0)), "frames"),
    (lambda m: m.revolute("ground", "arm", frames="body"), "frames"), (lambda m: m.joint("hinge", "ground", "arm"), "no kind"),
    (lambda m: m.ball("ground", "arm", name="hinge"), "already"), (lambda m: m.spring("elbow"), "no joint"), (lambda m: m.spring(), "spring acts"),
    (lambda m: m.spring(("hinge", "0")), "coordinate"), (lambda m: m.spring("hinge", law=3), "function"), (lambda m: m.drive("hinge", g="sin"), "function"),
    (lambda m: m.drive(("hinge", 4)), "coordinate"), (lambda m: m.couple("hinge", "hinge", ratio=(1, 0)), "ratio|differ|same"),
    (lambda m: m.force("arm", (1, 2, 3, 4)), "3 numbers"), (lambda m: m.force(None, (1, 2, 3)), "ground|body|differ"),
    (lambda m: m.friction("hinge", -1, 1), "negative"), (lambda m: m.shape("cone", "arm", (1, 1, 1)), "shape is one of"),
    (lambda m: m.rolling("ground", "arm", at_b=(0, 0, 1), radius=-1.0), "radius"), (lambda m: m.bushing("arm", "arm"), "differ")])
def test_a_wrong_element_is_refused_and_changes_nothing(add, message):
    m = arm()
    with pytest.raises((cpodes.Error, ValueError, TypeError), match=message):
        add(m)
    assert m.joints == ["hinge"] and m.solve((0, 0.1)).success


@pytest.mark.parametrize("returned, kind", [(None, TypeError), ((1.0, 2.0), ValueError), ((math.nan,) * 3, cpodes.Error), ("abc", TypeError)])
def test_functions_that_return_nonsense_raise_what_was_expected(returned, kind):
    for m in torsion(law=lambda t, x, rate: returned), arm():
        if m.bodies == ["arm"]:
            m.drive("hinge", lambda t: returned)
        with pytest.raises(kind):
            m.solve((0, 1))


def test_exceptions_of_functions_come_through():
    def law(t, x, rate):
        raise ZeroDivisionError("here")
    with pytest.raises(ZeroDivisionError, match="here"):
        torsion(law=law).solve((0, 1))


def test_states_of_a_wrong_shape_are_refused():
    m = arm()
    for y in (np.zeros(3), None, np.full(13, math.nan), "y"):
        with pytest.raises((ValueError, TypeError)):
            m.reaction("hinge", 0, y)
    with pytest.raises(cpodes.Error, match="no joint"):
        m.reaction("knee", 0, m.assemble())
    with pytest.raises(cpodes.Error, match="no body"):
        m.point("leg", (0, 0, 0), m.assemble())
    with pytest.raises(ValueError, match="balance"):
        m.imbalance(0, m.assemble())
    with pytest.raises(TypeError, match="t_span"):
        m.solve()
    with pytest.raises(ValueError, match="no bodies"):
        cpodes.Bodies().solve((0, 1))
    with pytest.raises(ValueError, match="dimension"):
        cpodes.Bodies(4)
    with pytest.raises(ValueError, match="3 numbers"):
        cpodes.Bodies(gravity=[9.81])


def test_files_that_are_wrong_are_named_with_line_and_rule(tmp_path):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("bodies:\n  - {name: a, mass: 1, inertia: [1, 1, 1], colour: red}\n")
    with pytest.raises(cpodes.Error, match=r'wrong.yaml:2:\d+: a body has no key "colour"'):
        cpodes.load(wrong)
    robot = tmp_path / "robot.urdf"
    robot.write_text("<robot>")
    with pytest.raises(cpodes.Error, match="robot.urdf:1"):
        cpodes.load(robot)
    with pytest.raises(FileNotFoundError):
        cpodes.load(tmp_path / "none.yaml")
    with pytest.raises(TypeError, match="values"):
        cpodes.load(FILES / "arm.urdf", length=2)
    with pytest.raises(TypeError):
        cpodes.load(None)


def test_a_closed_mechanism_says_so_and_its_solutions_remain():
    with arm() as m:
        sol = m.solve((0, 0.1), dense_output=True)
    for use in (lambda: m.solve((0, 1), sol.y[:, 0]), lambda: m.add_body("b", mass=1, inertia=(1, 1, 1)), lambda: m.values["arm.mass"],
                lambda: m.bodies, lambda: m.assemble()):
        with pytest.raises(RuntimeError, match="closed"):
            use()
    m.close()
    assert sol.sol(0.05).shape == (13,) and sol.violation.max() < 1e-6
    with pytest.raises(TypeError, match="copied"):
        copy.copy(arm())


def test_elements_may_follow_a_run_and_runs_go_side_by_side():
    m = arm()
    first = m.solve((0, 0.5), rtol=1e-8, atol=1e-8)
    m.spring("hinge", damping=5.0)
    ends = [None, None]

    def run(i):
        ends[i] = m.solve((0, 0.5), rtol=1e-8, atol=1e-8).y[:, -1]
    threads = [threading.Thread(target=run, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.array_equal(*ends) and m.coordinate("hinge", ends[0])[0] < m.coordinate("hinge", first.y[:, -1])[0] - 0.1
    assert first.violation.max() < 1e-8


def test_components_have_names():
    m = cpodes.Bodies(3, balance=True)
    m.add_body("rod", mass=1, inertia=(1, 1, 1))
    assert m.names == [f"rod.{k}" for k in "x y z e0 e1 e2 e3 x' y' z' wx wy wz".split()] + ["W"]
    assert m.names[12] == "rod.wz" and m.placed().size == len(m.names)
    top = cpodes.model("heavy_top")
    assert top.names[10:] == ["wx", "wy", "wz"] and top.y0[top.names.index("wy")] == top.values["spin"]
    assert cpodes.model("slider_crank").names[0] + "'" in cpodes.model("slider_crank").names
    plain = cpodes.Mechanism(mass=np.eye(2))
    plain.evaluate(0, [0, 0, 1, 0])
    assert plain.names == ["q0", "q1", "u0", "u1"]


# ---- contacts ----

G, FIRST = 9.81, 0.451523640986 # sqrt(2 h / g) for h = 1


def balls(n, **laws):
    """n balls of radius 0.1 above a floor, in space."""
    m = cpodes.Bodies(3, gravity=(0, 0, -G))
    for i in range(n):
        m.add_body(f"ball{i}", mass=1, inertia=(0.004, 0.004, 0.004), at=(i, 0, 1.1))
        m.contact(None, f"ball{i}", axis=(0, 0, 1), across=(1, 0, 0), at_b=(i, 0, 1.1), radius=0.1, name=f"floor{i}", **laws)
    return m


@pytest.mark.parametrize("n", [1, 5]) # 30 velocities: sparse matrices
def test_balls_of_bodies_bounce(n):
    m = balls(n, restitution=0.9)
    sol = m.solve((0, 1), method="DOP853", rtol=1e-10, atol=1e-10)
    assert len(sol.contact_events) == n and sol.contact_names == [f"floor{i}" for i in range(n)]
    assert sol.contact_events[0].t == pytest.approx(FIRST, abs=1e-9)
    t, up = 1 - FIRST, 0.9 * G * FIRST
    assert m.point(f"ball{n - 1}", (0, 0, 0), sol.y[:, -1])[2] == pytest.approx(0.1 + up * t - G * t * t / 2, abs=1e-8)
    m.values["floor0.restitution"] = 0.5
    again = m.solve((0, 1), method="DOP853", rtol=1e-10, atol=1e-10)
    assert again.contact_events[0].velocity[1, 0] == pytest.approx(0.5 * G * FIRST, abs=1e-8)
    assert m.evaluate(0.5, m.placed()).multipliers == pytest.approx(0) # open


@pytest.mark.parametrize("method", ["DOP853", "RADAU"])
def test_a_ball_of_bodies_slips_and_rolls(method):
    m, mu = cpodes.Bodies(3, gravity=(0, 0, -G)), 0.2
    m.add_body("ball", mass=1, inertia=(0.4, 0.4, 0.4), at=(0, 0, 1), velocity=(1, 0, 0))
    m.contact(None, "ball", axis=(0, 0, 1), across=(1, 0, 0), at_b=(0, 0, 1), radius=1, friction=mu)
    sol = m.solve((0, 1), method=method, rtol=1e-10, atol=1e-10)
    assert [p.contacts for p in sol.phases] == [("sliding",), ("sticking",)]
    assert sol.phases[1].begin == pytest.approx(2 / (7 * mu * G), abs=1e-9) # Coriolis' billiard ball
    assert m.point("ball", (0, 0, 0), sol.y[:, -1])[3] == pytest.approx(5 / 7, abs=1e-9)


@pytest.mark.parametrize("height, method, error, message", [
    (0.9, "DOP853", cpodes.Error, 'CP_CONTACT_PENETRATION.*"floor" penetrates'), (1, "Euler", ValueError, "Euler")])
def test_exceptions_carry_the_messages_of_contacts_and_stderr_none(capfd, height, method, error, message):
    m = cpodes.Bodies(3, gravity=(0, 0, -G))
    m.add_body("ball", mass=1, inertia=(0.4, 0.4, 0.4), at=(0, 0, height))
    m.contact(None, "ball", name="floor", axis=(0, 0, 1), at_b=(0, 0, height), radius=1)
    with pytest.raises(error, match=message):
        m.solve((0, 1), method=method)
    assert not capfd.readouterr().err


def shaped(**shape):
    """A ball, thrown at 0.3 m/s from the height 1 above the floor, with a contact of these shapes."""
    m = cpodes.Bodies(3, gravity=(0, 0, -G))
    m.add_body("ball", mass=1, inertia=(0.4, 0.4, 0.4), at=(0.3, 0, 1), velocity=(0.3, 0, 0))
    m.contact(None, "ball", at_b=(0.3, 0, 1), **shape)
    return m


def bowl(x): # x^2 + y^2 - 2 z = 0, from above
    return x[2] - (x[0] ** 2 + x[1] ** 2) / 2, (-x[0], -x[1], 1), np.diag([-1, -1, 0]), np.zeros((3, 3, 3))


@pytest.mark.parametrize("shape, fall", [ # heights at contact: the fall, and x = 0.3 (1 + t)
    ({"at": (0, 0, -3), "radius_a": 2, "radius": 0.25}, lambda x: -3 + np.sqrt(2.25 ** 2 - x ** 2)),
    ({"at": (0, 0, 3), "radius_a": -4, "radius": 0.25}, lambda x: 3 - np.sqrt(3.75 ** 2 - x ** 2)),
    ({"surface": bowl}, lambda x: x ** 2 / 2)])
def test_bodies_fall_on_surfaces(shape, fall):
    sol = shaped(restitution=0.5, **shape).solve((0, 0.8), method="DOP853", rtol=1e-10, atol=1e-10)
    t = sol.contact_events[0].t
    assert 1 - G * t * t / 2 == pytest.approx(fall(0.3 + 0.3 * t), abs=1e-9)


def test_boxes_discs_and_cylinders_have_vertices_and_edges():
    m = shaped(touch="box", size=(0.2, 0.4, 0.6), axis=(0, 0, 1))
    sol = m.solve((0, 0.5), method="DOP853", rtol=1e-9, atol=1e-9)
    assert sol.contact_names == [f"contact_1_{k}" for k in range(1, 9)]
    assert sol.contact_events[0].t == pytest.approx(np.sqrt(2 * 0.7 / G), abs=1e-9)
    for touch, n in ("disc", 1), ("cylinder", 2):
        sol = shaped(touch=touch, radius=0.3, length=0.5, axis=(0, 0, 1), axis_b=(0, 1, 0)).solve((0, 0.5), rtol=1e-9, atol=1e-9)
        assert len(sol.contact_names) == n
        assert sol.contact_events[0].t == pytest.approx(np.sqrt(2 * 0.7 / G), abs=1e-8)


def test_contacts_of_shapes_act():
    """An egg falls on a floor on its tip, and bounces."""
    m = cpodes.Bodies(3, gravity=(0, 0, -G))
    m.add_body("egg", mass=1, inertia=(0.004, 0.004, 0.002), at=(0, 0, 1.3))
    m.shape("ellipsoid", "egg", (0.1, 0.2, 0.3), at=(0, 0, 1.3), name="shell")
    m.shape("plane", "ground", (1, 1, 0), name="floor")
    m.contact("shell", "floor", touch="shape", restitution=0.5)
    sol = m.solve((0, 0.5), method="DOP853", rtol=1e-10, atol=1e-10)
    assert sol.contact_events[0].t == pytest.approx(FIRST, abs=1e-9)
    assert sol.contact_events[0].velocity[1, 0] == pytest.approx(0.5 * G * FIRST, abs=1e-8)
    with pytest.raises(cpodes.Error, match="there is no shape"):
        m.contact("shell", "egg", touch="shape")


def test_functions_of_surfaces_fail_by_name():
    with pytest.raises(ZeroDivisionError):
        shaped(surface=lambda x: 1 / 0)
    with pytest.raises(cpodes.Error, match="contact_1: with a radius the surface must be given by a distance"):
        shaped(surface=bowl, radius=0.1)
    with pytest.raises(ValueError, match="ball, disc, cylinder, box"):
        shaped(touch="cone")
    with pytest.raises(ValueError, match="cannot both"):
        shaped(surface=bowl, radius_a=1)


def test_contacts_of_a_file_act():
    m = cpodes.load(FILES / "rocking_block.yaml")
    sol = m.solve((0, 1), rtol=1e-8, atol=1e-8)
    assert [e.kind for e in sol.contact_events if e.kind == "impact"] and sol.violation.max() < 1e-6
    assert all("corner" in name or name for name in sol.contact_names)


# Contacts that slip slowly beside fast bodies, and contacts on small radii that slide and stick
@pytest.mark.long
@pytest.mark.parametrize("name, of, t", [("chain_floor", "rod_1.mass", 0.28), ("chain_floor", "end_0.friction", 0.28),
                                         ("four_bar_clearance", "crank.mass", 0.08)])
def test_gradients_pass_all_events_of_files(name, of, t):
    """Against differences of sixth order of whole runs at 1e-12."""
    m = cpodes.Bodies.read(FILES / f"{name}.yaml")
    weigh = lambda y: np.cos(1.3 * np.arange(y.size)) @ y
    present = float(m.values[of])
    sol, grad = m.gradient(lambda t, y, p: weigh(y), {of: present}, t_span=(0, t), rtol=1e-9, atol=1e-9)

    def run(k):
        m.values[of] = present * (1 + 1e-3 * k)
        return weigh(m.solve((0, t), m.assemble(), rtol=1e-12, atol=1e-12).y[:, -1])
    exact = (45 * (run(1) - run(-1)) - 9 * (run(2) - run(-2)) + run(3) - run(-3)) / (60e-3 * present)
    assert grad[of] == pytest.approx(exact, rel=1e-6)


def test_gradients_by_the_laws_of_contacts():
    """A puck falls from h with the speed u, strikes the ground with v = sqrt(2 g h), loses mu (1 + e) v of u, and flies on."""
    h, u, e, mu, g, end = 1.0, 8.0, 0.6, 0.3, 9.81, 0.9
    m = cpodes.Bodies(2, gravity=(0, -g))
    m.add_body("puck", mass=1, inertia=1, at=(0, h))
    m.contact(None, "puck", axis=(0, 1), at_b=(0, h), friction=mu, restitution=e, name="floor")
    y0 = np.array(m.placed(), dtype=float)
    y0[m.names.index("puck.x'")] = u
    x, y = m.names.index("puck.x"), m.names.index("puck.y")
    fall, v = np.sqrt(2 * h / g), np.sqrt(2 * g * h)
    s = end - fall
    both = cpodes.Objective(end=lambda t, y_t, p: y_t[[x, y]], count=2)
    sol, grad = m.gradient(both, {"floor.restitution": e, "floor.friction": mu}, t_span=(0, end), start=y0)
    assert sol.objective == pytest.approx([u * end - mu * (1 + e) * v * s, e * v * s - g * s * s / 2], abs=1e-7)
    assert [row["floor.restitution"] for row in grad] == pytest.approx([-mu * v * s, v * s], rel=1e-7)
    assert [row["floor.friction"] for row in grad] == pytest.approx([-(1 + e) * v * s, 0], rel=1e-7, abs=1e-7)


def test_wrong_contacts_of_bodies_are_refused():
    m = balls(1)
    with pytest.raises(ValueError, match="newton, poisson"):
        m.contact(None, "ball0", law="Hooke")
    with pytest.raises(cpodes.Error, match="restitution"):
        m.contact(None, "ball0", axis=(0, 0, 1), restitution=2)
    m.revolute(None, "ball0", axis=(0, 1, 0), name="pin")
    m.friction("pin", 0.1, 0.01)
    with pytest.raises(cpodes.Error, match="cannot be combined with contacts"):
        m.solve((0, 1))
    with pytest.raises(ValueError, match="contacts"):
        arm().solve((0, 1), time_stepping=(10, 0.01))


def on_circle(angle):
    """A Decimal in [-pi, pi] up to whole turns"""
    turn = 2 * Decimal("3.14159265358979323846264338327950288419716939937510")
    return float(angle - turn * (angle / turn).to_integral_value())


@pytest.mark.parametrize("method", ["DOP853", "RADAU", "BDF", "Adams"])
@pytest.mark.parametrize("place", ["angle", "time"])
def test_a_million_turns_before_the_start_change_nothing(place, method):
    rate, before = 314.15926535897931, 1e6 * 2 * math.pi
    start, t0 = (before, 0.0) if place == "angle" else (0.0, before / rate)
    for tol in 1e-4, 1e-10:
        m = cpodes.Bodies(gravity=(0, 0, -9.81))
        m.add_body("shaft", mass=2, inertia=(0.01, 0.02, 0.02))
        m.revolute(None, "shaft", axis=(1, 0, 0), name="bearing")
        m.drive("bearing", rate=rate, start=start)
        sol = m.solve((t0, t0 + 0.13), method=method, rtol=tol, atol=tol)
        x, _ = m.coordinate("bearing", sol.y[:, -1])
        right = on_circle(Decimal(start) + Decimal(rate) * Decimal(float(sol.t[-1])))
        assert sol.success and abs(on_circle(Decimal(float(x)) - Decimal(right))) < 2e-12


def rod_on_hinge(**options):
    m = cpodes.Bodies(2, **options)
    m.add_body("rod", mass=1, inertia=0.1)
    m.revolute(None, "rod", name="hinge")
    return m


def test_limits_friction_and_actuators_act_in_solve():
    m = rod_on_hinge()
    m.limit("hinge", upper=1.0, restitution=0.5, name="stop")
    m.actuator("hinge", gear=2.0, control=0.3, name="motor")
    sol = m.solve((0, 3), rtol=1e-10, atol=1e-10)
    assert m.coordinate("hinge", sol.y[:, -1]) == pytest.approx((1, 0), abs=1e-9)  # at rest after all bounces, 1.8 s
    m = rod_on_hinge()
    m.friction("hinge", force=0.2, name="rub")
    y0 = m.start()
    y0 = np.array(y0, dtype=float)
    y0[5] = 1.0
    sol = m.solve((0, 2), y0, rtol=1e-10, atol=1e-10)
    assert m.coordinate("hinge", sol.y[:, -1]) == pytest.approx((0.25, 0), abs=1e-9)  # 1 / (2 0.2 / 0.1)
    assert m.values["rub.force"] == 0.2
    m = rod_on_hinge()
    m.limit("hinge", upper=0.0, stiffness=40.0, name="pad")
    sol = m.solve((0, np.pi / 20 + 1), y0, rtol=1e-10, atol=1e-10)
    assert m.coordinate("hinge", sol.y[:, -1]) == pytest.approx((-1, -1), abs=1e-9)  # half a swing with omega = 20, then free
    with pytest.raises(cpodes.Error, match="lower must be less than upper"):
        m.limit("hinge", 1, 0)


def test_gradients_pass_stops():
    """A wheel with the torque T strikes its stop at X with w^2 = v^2 + 2 a X, a = T / J, and bounces: x = X - e w s + a s^2 / 2 after the rest s
    of the time."""
    v, end, p = 1.0, 1.2, np.array([0.05, 0.1, 0.9, 0.6])

    def angle(p):
        a, X, e = p[0] / p[1], p[2], p[3]
        w = np.sqrt(v * v + 2 * a * X)
        s = end - (w - v) / a
        return X - e * w * s + a * s * s / 2
    exact = [(8 * (angle(p + h) - angle(p - h)) - angle(p + 2 * h) + angle(p - 2 * h)) / (12e-4 * p[i])
             for i, h in enumerate(np.diag(1e-4 * p))]
    names = "turn.force", "rod.J_zz", "stop.upper", "stop.restitution"
    for coordinates in "absolute", "joint":
        m = cpodes.Bodies(2, coordinates=coordinates)
        m.add_body("rod", mass=1, inertia=p[1])
        m.revolute(None, "rod", name="hinge")
        m.spring("hinge", force=p[0], name="turn")
        m.limit("hinge", upper=p[2], restitution=p[3], name="stop")
        y0 = np.array(m.placed(), dtype=float)
        y0[-1] = v
        place = m.names.index("rod.phi" if coordinates == "absolute" else "hinge.angle")
        sol, grad = m.gradient(lambda t, y, p: y[place], dict(zip(names, p)), t_span=(0, end), start=y0)
        assert sol.objective == pytest.approx(angle(p), abs=1e-7)
        assert [grad[name] for name in names] == pytest.approx(exact, rel=1e-7)
        _, forward = m.gradient(lambda t, y, p: y[place], dict(zip(names, p)), t_span=(0, end), start=y0, method="forward")
        assert [forward[name] for name in names] == pytest.approx(exact, rel=1e-7)
        along = dict(zip(names, (0.3, 0.0, -0.2, 1.0)))
        _, tangent = cpodes.jvp(m, (0, end), y0, dict(zip(names, p)), along)
        assert tangent[place] == pytest.approx(sum(d * along[name] for d, name in zip(exact, names)), rel=1e-7)


def test_controllers_sample_and_hold():
    m = rod_on_hinge()
    motor = m.actuator("hinge")
    seen = []

    def control(t, y):
        seen.append(t)
        return -4 * y[2] - 0.8 * y[5]
    m.control(motor, control, 0.01)
    y0 = np.array(m.start(), dtype=float)
    y0[2] = 1.0
    sol = m.solve((0, 1), y0, rtol=1e-10, atol=1e-10)
    x, v, h = 1.0, 0.0, 0.01
    for _ in range(100):
        a = (-4 * x - 0.8 * v) / 0.1
        x, v = x + h * v + h * h / 2 * a, v + h * a
    assert sol.y[[2, 5], -1] == pytest.approx([x, v], abs=1e-8)
    assert seen == [0.01 * k for k in range(101)]
    with pytest.raises(KeyError):
        m.control("none", control, 0.01)


def test_activations_are_states_of_the_mechanism():
    m = rod_on_hinge()
    m.actuator("hinge", dynamics="filter", times=0.2, control=1.5, name="motor")
    m.actuator(b="rod", at=(0, -1), at_b=(1, 0), muscle={"force": 2, "length": (0.5, 2)}, name="pull")
    assert m.names[-1] == "motor.activation" and m.values["pull.peak_force"] == 2
    sol = m.solve((0, 1), rtol=1e-9, atol=1e-9)
    assert sol.y[-1, -1] == pytest.approx(1.5 * (1 - np.exp(-5)), abs=1e-8)  # z' = (w - z) / 0.2
    with pytest.raises(ValueError, match="dynamics has to be one of none, integrator, filter, muscle"):
        m.actuator("hinge", dynamics="slow")
    with pytest.raises(TypeError, match="curve has to be a Function, and is ufunc"):
        m.actuator("hinge", curve=np.sin)


def test_coordinates_may_be_changed_after_elements_have_been_added():
    m = arm()
    m.values["arm.mass"] = 1.5 * MASS
    angles = []
    for coordinates, n in (("joint", 1), ("absolute", 7), ("joint", 1)):
        m.coordinates = coordinates
        sol = m.solve((0.0, 0.5), rtol=1e-9, atol=1e-9)
        assert (m.coordinates, m.nq, m.values["arm.mass"]) == (coordinates, n, 1.5 * MASS)
        angles.append(float(np.ravel(m.coordinate("hinge", sol.y)[0])[-1]))
    assert angles[0] == angles[2] == pytest.approx(angles[1], abs=1e-8)
    with pytest.raises(ValueError, match="absolute"):
        m.coordinates = "generalized"
    assert m.coordinates == "joint"


def test_frames_and_terms_are_those_of_the_equations_of_motion():
    m = cpodes.Bodies(3, gravity=(0, 0, -9.81), coordinates="joint")
    for i, name in enumerate(("upper", "fore")):
        m.add_body(name, mass=2 - i, inertia=(0.1, 0.12, 0.02), centre=(0, 0, -0.2))
        m.revolute("ground" if i == 0 else "upper", name, at=(0, 0, -0.4 * i), at_b=(0, 0, 0), axis=(0, 1, 0), axis_b=(0, 1, 0), frames="bodies",
                   name=f"hinge_{i}")
    y = m.placed()
    for joint, angle, rate in (("hinge_0", 0.3, 1.2), ("hinge_1", -0.8, 0.5)):
        y = m.set_coordinate(joint, y, angle, rate)
        assert np.allclose(m.coordinate(joint, y), (angle, rate), atol=1e-15)
    u = y[m.nq:m.nq + m.nu]
    frame = m.frame("fore", y, (0, 0, -0.4))
    x = np.array([-0.4 * np.sin(0.3) - 0.4 * np.sin(-0.5), 0, -0.4 * np.cos(0.3) - 0.4 * np.cos(-0.5)]) # a double pendulum
    J = np.array([[-0.4 * np.cos(0.3) - 0.4 * np.cos(-0.5), -0.4 * np.cos(-0.5)], [0.4 * np.sin(0.3) + 0.4 * np.sin(-0.5), 0.4 * np.sin(-0.5)]])
    assert np.allclose(frame.position, x, atol=1e-14) and np.allclose(frame.jacobian[[0, 2]], J, atol=1e-14)
    assert np.allclose(frame.jacobian @ u, np.append(frame.velocity, frame.omega), atol=1e-14)
    terms = m.terms(0, y)
    assert terms.A.shape == (0, 2) and np.allclose(terms.M @ m.accelerations(0, y), terms.f, atol=1e-13)
    assert np.allclose(u @ terms.M @ u / 2, m.kinetic_energy(0, y), atol=1e-14)
    with pytest.raises(ValueError):
        m.set_coordinate("hinge_0", y, np.nan)


LOOP = """
dimension: 2
bodies: [{name: rod, mass: 1, inertia: 0.1}]
joints: [{name: hinge, kind: revolute, b: rod}]
actuators: [{name: motor, of: hinge, gain: [1, 0, 0]}]
controllers:
- {name: hold, of: motor, every: 10 ms, delay: 20 ms, control: "-4*(hinge.angle/(1 rad) - 1) - 0.8*hinge.rate/(1 rad/s)"}
run: {coordinates: joint}
"""


def test_controllers_of_files_and_delays_act(tmp_path):
    path = tmp_path / "loop.yaml"
    path.write_text(LOOP)
    x, v, h, held = 0.0, 0.0, 0.01, [0.0, 0.0]  # from sample to sample, with the controls of two samples on their way
    for _ in range(100):
        held.append(-4 * (x - 1) - 0.8 * v)
        a = held.pop(0) / 0.1
        x, v = x + h * v + h * h / 2 * a, v + h * a
    m = cpodes.Bodies.read(path)
    for _ in range(2):  # each run begins anew
        sol = m.solve((0, 1), rtol=1e-10, atol=1e-10)
        assert sol.y[:2, -1] == pytest.approx([x, v], abs=1e-8)
    m = rod_on_hinge()
    m.actuator("hinge", name="motor")
    m.control("motor", lambda t, y: -4 * (y[2] - 1) - 0.8 * y[5], 0.01, delay=0.02)
    assert m.solve((0, 1), rtol=1e-10, atol=1e-10).y[[2, 5], -1] == pytest.approx([x, v], abs=1e-8)
    def end(J, late):  # the angle from sample to sample
        x, v, held = 0.0, 0.0, [0.0] * late
        for _ in range(100):
            held.append(-4 * (x - 1) - 0.8 * v)
            a = held.pop(0) / J
            x, v = x + h * v + h * h / 2 * a, v + h * a
        return x
    prompt = rod_on_hinge()
    prompt.actuator("hinge", name="motor")
    prompt.control("motor", lambda t, y: -4 * (y[2] - 1) - 0.8 * y[5], 0.01)
    for loop, place, late in (m, 2, 2), (cpodes.Bodies.read(path), 0, 2), (prompt, 2, 0):
        e = 1e-4
        exact = (8 * (end(0.1 + e, late) - end(0.1 - e, late)) - end(0.1 + 2 * e, late) + end(0.1 - 2 * e, late)) / (12 * e)
        for method in "adjoint", "forward":
            sol, grad = loop.gradient(lambda t, y, p: y[place], {"rod.J_zz": 0.1}, t_span=(0, 1), start=loop.start(), method=method)
            assert sol.objective == pytest.approx(end(0.1, late), abs=1e-8)
            assert grad["rod.J_zz"] == pytest.approx(exact, rel=1e-7)
    m = rod_on_hinge()
    m.control(m.actuator("hinge"), lambda t, y: float("nan") if t > 0.5 else 0, 0.01, name="loop")
    with pytest.raises(ValueError, match="the controller loop has to return 1 finite numbers, and returned .nan. at t = 0.51"):
        m.solve((0, 1))


def test_a_pin_breaks_at_its_load():
    """test/unit/contact/acting.c has the derivation of these numbers (scipy's quad)."""
    x, omega, t_break, half = 0.79893517064835, 4.59237895276600, 0.33312902505489, 0.5
    s = 1 - t_break
    end = [half * np.cos(x) - omega * half * np.sin(x) * s, -half * np.sin(x) - omega * half * np.cos(x) * s - 9.81 / 2 * s**2]
    weight, inertia = 2 * 9.81, 2 / 12 + 2 * half**2
    along, across = 1 + 4 * half**2 / inertia, 1 - 2 * half**2 / inertia  # of the force over weight sin x and weight cos x
    rise, slope = weight * half * np.cos(x) / (inertia * omega), weight * (along**2 - across**2) * np.sin(x) * np.cos(x) / 1.8  # by x
    force = cpodes.Function("sqrt(x^2 + y^2) - 1.8*2 kg*9.81 m/s^2", {"t": "s", "x": "N", "y": "N"}, unit="N")
    for coordinates in "absolute", "joint":
        for how in {"load": 1.8 * 2 * 9.81}, {"when": force, "inputs": ["pin.force.x", "pin.force.y"]}, {"at": t_break}:
            m = cpodes.Bodies(2, gravity=(0, -9.81), coordinates=coordinates)
            m.add_body("rod", mass=2, inertia=2 / 12, centre=(half, 0))
            m.revolute(None, "rod", name="pin")
            m.release("pin", name="snap", **how)
            sol = m.solve((0, 1), rtol=1e-9, atol=1e-9, dense_output=True)
            (t, name), = sol.named_events
            assert name == "pin released" and t == pytest.approx(t_break, abs=1e-8)
            assert m.point("rod", (half, 0), sol.y[:, -1])[:2] == pytest.approx(end, abs=1e-7)
            assert m.point("rod", (half, 0), sol.sol(t))[0] == pytest.approx(half * np.cos(x), abs=1e-7)
            for name in {"load", "at"} & set(how):  # the angle at the end is x + omega s
                value = {f"snap.{name}": how[name]}
                for method in "adjoint", "forward":
                    _, grad = m.gradient(lambda t, y, p: y[2], value, t_span=(0, 1), start=m.start(), method=method)
                    assert grad[f"snap.{name}"] == pytest.approx(-rise * s * (omega if name == "at" else 1 / slope), rel=1e-7)
    with pytest.raises(TypeError, match="when has to be a Function, and is function"):
        m.release("pin", when=lambda t: t)


def test_a_latch_closes_where_the_bodies_are():
    """Two pucks stick together: the momentum stays, and the dense output shows the state after the jump."""
    m = cpodes.Bodies(2)
    m.add_body("tug", mass=2, inertia=0.3, velocity=(3, 0))
    m.add_body("barge", mass=1, inertia=0.2, at=(1.5, 0))
    m.fixed("tug", "barge", name="dock")
    m.latch("dock", when=cpodes.Function("1 m - (x - z)", {"t": "s", "x": "m", "z": "m"}, unit="m"),
            inputs=["barge.position.x", "tug.position.x"])
    sol = m.solve((0, 1), m.placed(), rtol=1e-9, atol=1e-9, dense_output=True)
    (t, name), = sol.named_events
    assert name == "dock closed" and t == pytest.approx(1 / 6, abs=1e-9)
    for time in t, 0.5, 1.0:
        assert sol.sol(time)[[6, 9]] == pytest.approx([2, 2], abs=1e-8)
    assert sol.y[[0, 3], -1] == pytest.approx([0.5 + 2 * (1 - t), 1.5 + 2 * (1 - t)], abs=1e-8)
    for method in "adjoint", "forward":
        value, slope = m.gradient(lambda t, y, p: y[0], {"tug.mass": 2.0}, t_span=(0, 1), start=m.placed(), method=method)
        assert slope["tug.mass"] == pytest.approx((1 - t) * 3 / (2 + 1)**2, abs=1e-6)  # the velocity is 3 m / (m + 1)


def test_an_arm_under_controllers_moves_as_from_interval_to_interval():
    solve_ivp = pytest.importorskip("scipy.integrate").solve_ivp
    m = cpodes.Bodies.read(FILES / "arm_control.yaml")
    gains = {"base": (900, 90), "shoulder": (2000, 150), "elbow": (900, 50), "roll": (15, 0.5), "bend": (80, 3), "flange": (0.5, 0.02)}
    q, v, z = ([m.names.index(joint + end) for joint in gains] for end in (".angle", ".angle'", "_motor.activation"))
    stiffness, damping = np.transpose(list(gains.values()))
    y = y0 = np.array(m.start(), dtype=float)

    def f(t, y, w):  # the accelerations at a state, whose activations are those of the filters, z' = (w - z) / 1 ms
        rates = np.zeros(len(y))
        rates[q], rates[v], rates[z] = y[v], m.accelerations(t, y)[np.array(v) - 6], (w - y[z]) / 0.001
        return rates
    late = [np.zeros(6), np.zeros(6)]  # the targets are 0 up to 0.2 s, and what is asked for acts two samples later
    for k in range(100):
        late.append(-stiffness * y[q] - damping * y[v])
        y = solve_ivp(f, (k / 1000, (k + 1) / 1000), y, "DOP853", rtol=1e-10, atol=1e-11, args=(late.pop(0),)).y[:, -1]
    for method, tol in (("DOP853", 1e-8), ("RADAU", 1e-6), ("auto", 1e-4)):
        sol = m.solve((0, 0.1), y0, method, rtol=tol, atol=tol)
        assert np.abs(sol.y[:12, -1] - y[:12]).max() <= 10 * tol
        assert np.abs(y[q]).max() > 0.01  # it sags


def test_a_mesh_is_a_shape_of_points():
    corners = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.2, 0.2) for z in (-0.15, 0.15)]
    ends = []
    for kind in ("box", "mesh"):
        bodies = cpodes.Bodies(3, gravity=(0, 0, -10))
        bodies.add_body("stone", mass=2, inertia=(0.05, 0.04, 0.04), at=(0, 0, 0.5), quaternion=(0.9, 0.3, 0.2, 0.1))
        bodies.shape("box", "ground", (4, 4, 1), at=(0, 0, -0.5), name="floor")
        if kind == "box":
            bodies.shape("box", "stone", (0.2, 0.4, 0.3), frames="bodies", name="shape")
        else:
            bodies.shape("mesh", "stone", points=corners, frames="bodies", name="shape")
        bodies.contact("floor", "shape", touch="shape", friction=0.3, restitution=0.2)
        ends.append(bodies.solve((0, 0.6), rtol=1e-9, atol=1e-9).y[:, -1])
    assert np.max(np.abs(ends[0] - ends[1])) < 1e-6
    with pytest.raises(cpodes.Error, match="four points"):
        cpodes.Bodies(3).shape("mesh", "ground")
