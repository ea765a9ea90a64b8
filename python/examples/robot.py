"""A gripper of two four-bar linkages from an MJCF file: its springs open it, without motors and contacts. Its loops stay
closed to 1e-12, and its energy falls by what the dampers dissipate.

Run: python3 robot.py
Expected: what the file has that cpodes leaves out, the angles of both cranks at the end, "ok"."""
import sys
from pathlib import Path

import numpy as np

import cpodes

m = cpodes.load(Path(__file__).parents[2] / "examples" / "mechanisms" / "gripper.xml")
print(m.notes, end="")
sol = m.solve((0, 5), rtol=1e-8, atol=1e-8)
left, right = (np.degrees(m.coordinate(hinge, sol.y)[0]) for hinge in ("hinge_l", "hinge_r"))
powers = m.powers(sol.t, sol.y)
energy = powers.kinetic + powers.potential
drift = np.ptp(m.imbalance(sol.t, sol.y))
print(f"cranks {left[-1]:.4f} and {right[-1]:.4f} degrees, energy {energy[0]:.6f} -> {energy[-1]:.6f} J")
print(f"loops closed to {sol.violation.max():.0e}, energy balance to {drift:.0e} J")

ok = sol.violation.max() < 1e-12 and drift < 1e-8 and abs(left[-1] + right[-1]) < 1e-10 and energy[-1] < energy[0]
print("ok" if ok else "WRONG")
sys.exit(not ok)
