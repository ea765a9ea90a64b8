"""A pendulum that strikes a wall at x = 0 and rebounds: an event with a function that changes the state.

The speed at the wall is sqrt(2 g l) before the first impact and e times that after it; the pendulum returns with the same
speed. Expected: impacts at T, 3 T', ... with energies that fall by e^2, and "ok"."""
import sys

import numpy as np

import cpodes

g, e = 9.81, 0.7
pendulum = cpodes.Mechanism(mass=[1.0, 1.0], forces=lambda t, q, u: np.array([0.0, -g]),
                            constraints=lambda t, q: np.array([[q[0], q[1]]]),
                            position=lambda t, q: np.array([(q @ q - 1) / 2]), potential=lambda t, q: g * (q[1] + 1))


def wall(t, y):
    return y[0]


wall.direction = -1 # from the right
wall.change = lambda t, y: [y[0], y[1], -e * y[2], y[3]]
sol = pendulum.solve((0, 4), [1, 0, 0, 0], rtol=1e-10, atol=1e-10, events=wall)
energy = pendulum.energy(sol.t, sol.y)
after = [energy[k + 1] for k in np.flatnonzero(np.diff(sol.t) == 0)] # where sol.t has a time twice
print("impacts at", ", ".join(f"{t:.4f}" for t in sol.t_events[0]), "s")
print("energies after them", ", ".join(f"{x:.5f}" for x in after), "J")
wanted = g * e ** (2 * np.arange(1, len(after) + 1))
good = len(after) > 2 and np.allclose(after, wanted, rtol=1e-7)
print("ok" if good else "WRONG: the energies are not g e^(2 k)")
sys.exit(not good)
