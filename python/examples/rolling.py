"""A billiard ball that is struck without spin: it slips, and rolls from t = 2 v0 / (7 mu g) on with 5/7 of its speed.

Its radius and mass are 1, q = (x, z, angle), and v_T = x' + angle' is the velocity of the point that touches the table.
Expected: phases sliding, then sticking from 0.1456 s on, sliding distance 12 v0^2 / (49 mu g), and "ok"."""
import sys

import numpy as np

import cpodes

g, mu, v0 = 9.81, 0.2, 1.0
table = cpodes.Contact(gap=lambda t, q: q[1] - 1, normal=[0, 1, 0], tangents=[1, 0, 1], mu=mu, name="table")
ball = cpodes.Mechanism(mass=[1, 1, 2 / 5], forces=lambda t, q, u: np.array([0, -g, 0]), contacts=[table])
sol = ball.solve((0, 0.5), [0, 1, 0, v0, 0, 0], rtol=1e-10, atol=1e-10)
for phase in sol.phases:
    print(f"{phase.contacts[0]} from {phase.begin:.4f} to {phase.end:.4f} s")
for event in sol.contact_events:
    print(f"the ball {event.kind} at {event.t:.4f} s")
rolls = sol.phases[-1].begin
x, v = sol.y[[0, 3], np.searchsorted(sol.t, rolls)]
good = np.allclose([rolls, x, v], [2 * v0 / (7 * mu * g), 12 * v0 ** 2 / (49 * mu * g), 5 / 7 * v0], rtol=0, atol=1e-9)
print("ok" if good else f"WRONG: it rolls from {rolls} s on, after {x} m, at {v} m/s")
sys.exit(not good)
