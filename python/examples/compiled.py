"""The same mechanism with functions in Python, and compiled from sympy's expressions: the motion, and how long both take.

A double pendulum of two unit masses on unit rods, q = (x1, z1, x2, z2).
Expected: equal states after 3 s, and "ok"."""
import sys
import time

import numpy as np
import sympy as sp

import cpodes

g = 9.81
q, u = sp.symbols("x1 z1 x2 z2"), sp.symbols("u1 w1 u2 w2")
x1, z1, x2, z2 = q
rods = [(x1 ** 2 + z1 ** 2 - 1) / 2, ((x2 - x1) ** 2 + (z2 - z1) ** 2 - 1) / 2]
compiled = cpodes.symbolic.mechanism(q, u, sp.eye(4), [0, -g, 0, -g], rods)

in_python = cpodes.Mechanism(
    mass=np.eye(4), forces=lambda t, q, u: np.array([0, -g, 0, -g]),
    constraints=lambda t, q: np.array([[q[0], q[1], 0, 0], [q[0] - q[2], q[1] - q[3], q[2] - q[0], q[3] - q[1]]]),
    position=lambda t, q: np.array([q[0] ** 2 + q[1] ** 2 - 1, (q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - 1]) / 2)

start, ends = [1, 0, 2, 0, 0, 0, 0, 0], []
for name, m in (("Python", in_python), ("compiled", compiled)):
    seconds = np.inf
    for _ in range(5):
        begin = time.perf_counter()
        sol = m.solve((0, 3), start, rtol=1e-9, atol=1e-9)
        seconds = min(seconds, time.perf_counter() - begin)
    ends.append(sol.y[:, -1])
    print(f"{name:>9}: {len(sol.t)} steps in {1e3 * seconds:.1f} ms")
good = np.allclose(*ends, atol=1e-5)
print("ok" if good else "WRONG: they end at different states")
sys.exit(not good)
