"""A pendulum in Cartesian coordinates, from the horizontal: y = (x, z, u, w), length 1 m, with its invariants.

    python3 pendulum.py [REPORT.html]

Expected: the lowest point after 0.59196 s, K(m = 1/2) sqrt(l/g) (Abramowitz and Stegun, table 17.1), and "ok"."""
import sys

import numpy as np

import cpodes

g = 9.81


def f(t, y):
    x, z, u, w = y
    tension = u * u + w * w - g * z # of the rod, over mass and length
    return np.array([u, w, -tension * x, -g - tension * z])


def c(t, y):
    x, z, u, w = y
    return np.array([(x * x + z * z - 1) / 2, x * u + z * w]) # the rod's length, and its rate


def lowest(t, y):
    return y[0]


sol = cpodes.solve(f, (0, 20), [1, 0, 0, 0], constraints=c, rtol=1e-8, atol=1e-8, events=lowest, dense_output=True)
print(sol)

quarter = 1.854074677301372 / np.sqrt(g)
energy = (sol.y[2] ** 2 + sol.y[3] ** 2) / 2 + g * sol.y[1]
between = sol.sol(np.linspace(0, 20, 1001)) # on the manifold as well
print(f"lowest after {sol.t_events[0][0]:.5f} s; energy within {abs(energy).max():.1e}, length within {sol.violation.max():.1e}, "
      f"between the steps within {abs(c(0, between)).max():.1e}")
if len(sys.argv) > 1:
    sol.report(sys.argv[1], "Pendulum")
good = abs(sol.t_events[0][0] - quarter) < 1e-6 and abs(energy).max() < 1e-4 and abs(c(0, between)).max() < 1e-7
print("ok" if good else "WRONG: time, energy or length")
sys.exit(not good)
