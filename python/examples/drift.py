"""The pendulum of examples/drift.c with and without its constraints: y = (x, z, u, w), length 1 m. It returns every 2 s,
and is lowest half a second later.

    python3 drift.py

Expected: errors of length and state after 100.5 s, the first about 1e-3 m without and 1e-7 m with constraints, and "ok"."""
import sys

import numpy as np

import cpodes

g = (2 * 1.854074677301372) ** 2 # (2 K)^2, K(m = 1/2): Abramowitz and Stegun, table 17.1


def f(t, y):
    x, z, u, w = y
    tension = (u * u + w * w - g * z) / (x * x + z * z)
    return np.array([u, w, -tension * x, -g - tension * z])


def c(t, y):
    x, z, u, w = y
    return np.array([x * x + z * z - 1, x * u + z * w])


length = {}
for name, constraints in ("without", None), ("with", c):
    sol = cpodes.solve(f, (0, 100.5), [1, 0, 0, 0], constraints=constraints, rtol=1e-6, atol=1e-6)
    x, z, u, w = sol.y[:, -1]
    length[name] = abs(np.hypot(x, z) - 1)
    print(f"{name:7} c: length {length[name]:.1e} m, state {np.hypot(x, z + 1):.1e} m")
good = length["with"] < 1e-6 and length["without"] > 1e-3
print("ok" if good else "WRONG: the pendulum is off its circle, or needs no projection")
sys.exit(not good)
