"""A closed loop in space, the slider-crank of the guide's tutorial "Your first mechanism", from its energies.

    q = (theta, x): angle of the crank from upright [rad], position of the slider [m]

The crank of 0.08 m turns about x through (0, 0.1, 0.12), the slider moves along x, and a thin uniform rod of 0.3 m joins
both. Its ends move at right angles to each other, so that the rod adds a third of its mass to each end.

    python3 spatial_crank.py [REPORT.html]

Expected: theta = 21.476 rad (3 turns and 2.6264) and x = 0.28947 m after 2 s, energy within 1e-6 J, and "ok"."""
import sys

import numpy as np

import cpodes

r, L, g = 0.08, 0.3, 9.81
m_crank, m_rod, m_slider = 0.12, 0.5, 2.0
J_crank = 1e-4 + m_crank * 0.04 ** 2 # about its axis

M = np.diag([J_crank + m_rod / 3 * r ** 2, m_slider + m_rod / 3])


def end(theta): # y and z of the crank's end
    return 0.1 - r * np.sin(theta), 0.12 + r * np.cos(theta)


def p(t, q): # the constraint on the length of the rod
    y, z = end(q[0])
    return np.array([(q[1] ** 2 + y ** 2 + z ** 2 - L ** 2) / 2])


def A(t, q): # dp/dq
    y, z = end(q[0])
    return np.array([[-r * (y * np.cos(q[0]) + z * np.sin(q[0])), q[1]]])


def f(t, q, u): # weights of the crank and of half of the rod
    return np.array([(m_crank * 0.04 + m_rod / 2 * r) * g * np.sin(q[0]), 0.0])


def V(t, q):
    return (m_crank * 0.04 + m_rod / 2 * r) * g * np.cos(q[0])


loop = cpodes.Mechanism(mass=M, constraints=A, forces=f, position=p, potential=V)
y0 = loop.start([0.0, 0.2], [6.0, 0.0], fixed=[0, 2]) # angle and rate of the crank are held
sol = loop.solve((0, 2), y0, rtol=1e-9, atol=1e-9)
theta, x = sol.y[:2, -1]
energy = loop.energy(sol.t, sol.y)
print(f"theta = {theta:.6f} rad, x = {x:.6f} m after {len(sol.t) - 1} steps")
print(f"energy within {np.ptp(energy):.1e} J, length of the rod within {sol.violation.max():.1e}")
if len(sys.argv) > 1:
    sol.report(sys.argv[1], "Slider-crank in space")
good = np.ptp(energy) < 1e-6 and sol.violation.max() < 1e-7
print("ok" if good else "WRONG: energy or length")
sys.exit(not good)
