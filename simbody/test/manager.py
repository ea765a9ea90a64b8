"""A four-bar linkage by OpenSim's Manager, with CPodes as its integrator, which the preloaded drop-in replaces. OpenSim is that of
pip, with another Simbody than the one that cpodes may have been built with. Without the package the test is skipped (77)."""
import ctypes
import sys

try:
    import opensim
except ImportError as e:
    print(f"skipped: {e}. Set CPODES_OPENSIM_PYTHON to the Python of an environment with pip's opensim")
    sys.exit(77)


class Symbol(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("address", ctypes.c_void_p)]


def four_bar():
    """Crank, coupler and rocker of 0.2, 0.6 and 0.4 m on a ground of 0.5 m. The row of the point constraint normal to the plane is
    redundant."""
    model = opensim.Model()
    model.setGravity(opensim.Vec3(0, -9.81, 0))
    zero, parent, bodies = opensim.Vec3(0), model.getGround(), {}
    for name, at, length in (("crank", 0.0, 0.2), ("coupler", 0.2, 0.6), ("rocker", 0.5, 0.4)):
        body = opensim.Body(name, 1.0, opensim.Vec3(length / 2, 0, 0), opensim.Inertia(0.01, 0.02 + length**2 / 3, 0.02 + length**2 / 3))
        where = model.getGround() if name == "rocker" else parent
        joint = opensim.PinJoint(name + "_pin", where, opensim.Vec3(at, 0, 0), zero, body, zero, zero)
        joint.updCoordinate().setDefaultValue({"crank": 1.2, "coupler": -0.8, "rocker": 1.4}[name])
        model.addBody(body)
        model.addJoint(joint)
        parent = bodies[name] = body
    closure = opensim.PointConstraint(bodies["coupler"], opensim.Vec3(0.6, 0, 0), bodies["rocker"], opensim.Vec3(0.4, 0, 0))
    model.addConstraint(closure)
    return model, model.initSystem()


def run(method, accuracy):
    """The angles at the times 0.1, ..., 1, and the largest violation of a constraint"""
    model, state = four_bar()
    manager = opensim.Manager(model)
    manager.setIntegratorMethod(method)
    manager.setIntegratorAccuracy(accuracy)
    manager.initialize(state)
    angles, violation = [], 0.0
    for k in range(1, 11):
        state = manager.integrate(k / 10)
        model.realizeVelocity(state)
        angles += [state.getQ().get(i) for i in range(state.getNQ())]
        for errors in (state.getQErr(), state.getUErr()):
            violation = max([violation] + [abs(errors.get(i)) for i in range(errors.size())])
    return angles, violation


opensim.Logger.setLevelString("Off")
function, found = ctypes.CDLL(None).CPode, Symbol()
assert ctypes.CDLL(None).dladdr(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(found))
assert b"libsimbody_cpodes" in found.file, found.file
exact, _ = run(opensim.Manager.IntegratorMethod_RungeKuttaMerson, 1e-9)
for accuracy in 1e-2, 1e-4, 1e-6:
    angles, violation = run(opensim.Manager.IntegratorMethod_CPodes, accuracy)
    error = max(abs(a - b) for a, b in zip(angles, exact))
    print(f"accuracy {accuracy:g}: error {error:.1e}, violation {violation:.1e}")
    # The RMS norm of the three violations at positions, and of those at velocities, is to be a tenth of the accuracy.
    assert violation <= 3**0.5 * accuracy / 10, violation
    assert error <= 100 * accuracy, error
print("ok")
