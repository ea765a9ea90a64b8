#!/usr/bin/python3
"""The slider-crank of P. Flores, R. Leine, C. Glocker (Multibody System Dynamics 23, 2010), whose slider has 1 mm of
clearance in its guide, without cpodes: the impacts of published.c (needs numpy and scipy).

Between impacts scipy's DOP853 integrates at rtol = 1e-13. An impact of one corner follows Newton's and Coulomb's law in
closed form."""
import numpy as np
from scipy.integrate import solve_ivp

l1, l2, a, b, c = 0.153, 0.306, 0.05, 0.025, 0.001
m1, m2, m3, J1, J2, J3, g = 0.038, 0.038, 0.076, 7.4e-5, 5.9e-4, 2.7e-6, 9.81
e, mu = 0.4, 0.01
CORNERS = ((-a, b, -1), (a, b, -1), (-a, -b, 1), (a, -b, 1))  # in the slider's axes; direction of the normal


def mass(q):
    k = (m2 / 2 + m3) * l1 * l2 * np.cos(q[1] - q[0])
    return np.array([[J1 + (m1 / 4 + m2 + m3) * l1**2, k, 0], [k, J2 + (m2 / 4 + m3) * l2**2, 0], [0, 0, J3]])


def rate(t, y):
    q, u = y[:3], y[3:]
    k = (m2 / 2 + m3) * l1 * l2 * np.sin(q[0] - q[1])
    f = [-k * u[1]**2 - (m1 / 2 + m2 + m3) * g * l1 * np.cos(q[0]),
         k * u[0]**2 - (m2 / 2 + m3) * g * l2 * np.cos(q[1]), 0]
    return np.concatenate([u, np.linalg.solve(mass(q), f)])


def gap(y, corner):
    x, h, s = corner
    return b + c + s * (l1 * np.sin(y[0]) + l2 * np.sin(y[1]) + x * np.sin(y[2]) + h * np.cos(y[2]))


def rows(q, corner):
    x, h, s = corner
    sin, cos = np.sin(q), np.cos(q)
    return np.array([[s * l1 * cos[0], s * l2 * cos[1], s * (x * cos[2] - h * sin[2])],
                     [-l1 * sin[0], -l2 * sin[1], -x * sin[2] - h * cos[2]]])


def hits(i):
    def event(t, y):
        return gap(y, CORNERS[i])
    event.terminal, event.direction = True, -1
    return event


t, y = 0.0, np.array([0, 0, 0, 150, -75, -0.01])
for number in range(12):
    run = solve_ivp(rate, (t, 0.2), y, "DOP853", events=[hits(i) for i in range(4)], rtol=1e-13, atol=1e-13)
    i = next(i for i in range(4) if len(run.t_events[i]))
    t, y = run.t_events[i][0], run.y_events[i][0].copy()
    A = rows(y[:3], CORNERS[i])
    W = A @ np.linalg.solve(mass(y[:3]), A.T)
    v = A @ y[3:]
    P = np.linalg.solve(W, [-(1 + e) * v[0], -v[1]])
    if abs(P[1]) > mu * P[0]:
        s = np.sign(v[1])
        P[0] = -(1 + e) * v[0] / (W[0, 0] - mu * s * W[0, 1])
        P[1] = -mu * s * P[0]
        assert s * (v + W @ P)[1] >= 0
    y[3:] += np.linalg.solve(mass(y[:3]), A.T @ P)
    print(f"{t:.12f} {i} {P[0]:.12g} energy {P @ (v + W @ P / 2):.3e} v {v[0]:.3e}")
