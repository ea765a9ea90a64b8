"""A four-bar linkage, a closed loop of three rods, from masses, constraints and gravity: consistent start, reactions, energy.

    q = (angles of crank, coupler and rocker to the horizontal), all rods uniform: lengths 1, 2, 2 m, masses 1, 2, 2 kg, ground 2 m

Expected: the force in the pin of the crank after 2 s, energy within 1e-5 J, and "ok"."""
import sys

import numpy as np

import cpodes

L, m, ground, g = np.array([1.0, 2.0, 2.0]), np.array([1.0, 2.0, 2.0]), 2.0, 9.81


def p(t, q): # the loop is closed: crank and coupler end where the rocker ends
    return np.array([L[0] * np.cos(q[0]) + L[1] * np.cos(q[1]) - ground - L[2] * np.cos(q[2]),
                     L[0] * np.sin(q[0]) + L[1] * np.sin(q[1]) - L[2] * np.sin(q[2])])


def A(t, q):
    s, c = L * np.sin(q), L * np.cos(q)
    return np.array([[-s[0], -s[1], s[2]], [c[0], c[1], -c[2]]])


def M(t, q): # the coupler's centre is carried by the crank
    coupling = m[1] * L[0] * L[1] / 2 * np.cos(q[0] - q[1])
    return np.array([[m[0] * L[0] ** 2 / 3 + m[1] * L[0] ** 2, coupling, 0], [coupling, m[1] * L[1] ** 2 / 3, 0],
                     [0, 0, m[2] * L[2] ** 2 / 3]])


def f(t, q, u): # centrifugal forces and weights
    turn = m[1] * L[0] * L[1] / 2 * np.sin(q[0] - q[1])
    weight = g * np.cos(q) * np.array([(m[0] / 2 + m[1]) * L[0], m[1] / 2 * L[1], m[2] / 2 * L[2]])
    return np.array([-turn * u[1] ** 2, turn * u[0] ** 2, 0]) - weight


def V(t, q):
    return g * np.sin(q) @ np.array([(m[0] / 2 + m[1]) * L[0], m[1] / 2 * L[1], m[2] / 2 * L[2]])


loop = cpodes.Mechanism(mass=M, constraints=A, forces=f, position=p, potential=V)
y0 = loop.start([1.5, 0.5, 1.5], fixed=[0]) # from a rough guess; the crank stays at 1.5
errors = loop.check(0, loop.start([1.5, 0.5, 1.5], [1, 0, 0], fixed=[0]))
sol = loop.solve((0, 2), y0, rtol=1e-9, atol=1e-9)
energy = loop.energy(sol.t, sol.y)
force = loop.multipliers(sol.t, sol.y)[:, -1] # of the loop's closure, in x and y
print(f"{len(sol.t)} steps, force at the joint of coupler and rocker ({force[0]:.4f}, {force[1]:.4f}) N at t = 2 s")
print(f"energy within {np.ptp(energy):.1e} J of {energy[0]:.4f} J, closure within {sol.violation.max():.1e}, A against p {errors['A_p']:.0e}")
good = np.ptp(energy) < 1e-5 and sol.violation.max() < 1e-7 and errors["A_p"] < 1e-8
print("ok" if good else "WRONG: energy or closure")
sys.exit(not good)
