"""A closed loop in space from bodies and joints: a crank turns at 3 rad/s and, through a rod with two ball joints, swings a
rocker, whose hinge is at right angles to that of the crank. The placement closes the loop; cpodes writes the equations.

    python3 four_bar.py [REPORT.html]

Expected: the rocker swings from -0.245 to 0.241 rad, the rod keeps its length to 1e-12 m, and "ok"."""
import sys

import numpy as np

import cpodes

m = cpodes.Bodies(gravity=(0, 0, -9.81), balance=True)
m.add_body("crank", mass=0.5, inertia=(1e-3, 1e-3, 1e-3), at=(0, 0.05, 0), omega=(3, 0, 0))
m.add_body("rod", mass=0.3, inertia=(5e-3, 5e-3, 5e-3), at=(0.2, 0.05, 0.2))
m.add_body("rocker", mass=1.0, inertia=(1e-2, 1e-2, 1e-2), at=(0.4, 0, 0.2))

m.revolute("ground", "crank", at=(0, 0, 0), axis=(1, 0, 0), name="motor")
m.ball("crank", "rod", at=(0, 0.1, 0))
m.ball("rod", "rocker", at=(0.4, 0, 0.4))
hinge = m.revolute("ground", "rocker", at=(0.4, 0, 0), axis=(0, 1, 0), name="hinge")
m.drive("motor", rate=3.0, name="turning")
m.spring(hinge, damping=0.01)

sol = m.solve((0, 4), method="RADAU", rtol=1e-9, atol=1e-9)
theta, phi = m.coordinate("motor", sol.y)[0], m.coordinate(hinge, sol.y)[0]
rod = (0.4 + 0.4 * np.sin(phi)) ** 2 + 0.01 * np.cos(theta) ** 2 + (0.4 * np.cos(phi) - 0.1 * np.sin(theta)) ** 2
force, torque = np.linalg.norm(m.reaction(hinge, sol.t, sol.y)[:3], axis=0), m.reaction("turning", sol.t, sol.y)[0]
print(f"the rocker swings from {phi.min():.4f} to {phi.max():.4f} rad; its hinge carries up to {force.max():.2f} N")
print(f"the motor gives {torque.min():.3f} to {torque.max():.3f} N m")
error, drift = abs(rod - 0.33).max(), np.ptp(m.imbalance(sol.t, sol.y))
print(f"square of the rod's length within {error:.1e} m^2, energy less work within {drift:.1e} J")
if len(sys.argv) > 1:
    sol.report(sys.argv[1], "Four-bar linkage in space")
print("ok" if error < 1e-12 and drift < 1e-7 else "WRONG: the loop or the energy")
sys.exit(not (error < 1e-12 and drift < 1e-7))
