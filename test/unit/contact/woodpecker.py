#!/usr/bin/python3
"""Glocker's woodpecker toy without cpodes: the reference numbers of motions.c (needs numpy and scipy).

woodpecker.py               events, and the period of the limit cycle, by exponentials of matrices woodpecker.py --step 2e-5
impacts by Moreau's and Jean's time stepping with theta = 1/2 and this step

Between two events the equations are linear with constant coefficients: open contacts exert nothing, and the forces of a
closed one are affine in q. So the motion is the exponential of a 7 x 7 matrix, and an event is a root of a function of it,
found to roundoff. Never more than one contact is closed.

Time stepping with h = 2e-5 gives the impacts that Siconos' example prints, 0.08104 and 0.22710 of the beak, at the distance
0.14606, from its start, in which the sleeve penetrates the pole by 9e-7. With h = 1e-6 the distance is 0.14584. It is not
the period of the limit cycle, since these are the first two impacts of a motion that is not yet periodic."""
import argparse
import itertools

import numpy as np
from scipy.linalg import expm
from scipy.optimize import brentq

m_M, J_M, m_S, J_S, c = 3e-4, 5e-9, 4.5e-3, 7e-7, 5.6e-3
r_O, r_M, h_M, l_M, l_G, h_S, l_S, g = 2.5e-3, 3.1e-3, 5.8e-3, 0.010, 0.015, 0.02, 0.0201, 9.81
M = np.array([[m_S + m_M, m_S * l_M, m_S * l_G],
              [m_S * l_M, J_M + m_S * l_M**2, m_S * l_M * l_G],
              [m_S * l_G, m_S * l_M * l_G, J_S + m_S * l_G**2]])
M_inverse = np.linalg.inv(M)
K = c * np.array([[0, 0, 0], [0, 1, -1], [0, -1, 1]])
F = -g * np.array([m_S + m_M, m_S * l_M, m_S * l_G])
# Gaps normal q + offset, and tangential velocities tangent u, of the beak and both edges of the sleeve
normal = np.array([[0, 0, -h_S], [0, h_M, 0], [0, -h_M, 0]])
tangent = np.array([[1, l_M, l_G - l_S], [1, r_M, 0], [1, r_M, 0]])
offset = np.array([l_M + l_G - l_S - r_O, r_M - r_O, r_M - r_O])
mu, restitution = 0.3, np.array([0.5, 0, 0])
LOWER = 1  # the edge that is closed at the start


def solve(W, b):
    """Impulses x of contacts (normal, tangential, ...) with the velocities W x + b: tries all combinations."""
    for kinds in itertools.product(("stick", 1, -1, "open"), repeat=len(b) // 2):
        A, r = np.eye(len(b)), np.zeros(len(b))
        for k, kind in enumerate(kinds):
            n, t = 2 * k, 2 * k + 1
            if kind != "open":
                A[n], r[n] = W[n], -b[n]
            if kind == "stick":
                A[t], r[t] = W[t], -b[t]
            elif kind != "open":
                A[t, n] = mu * kind
        x = np.linalg.solve(A, r)
        w = W @ x + b
        if all(w[2 * k] >= -1e-13 if kind == "open" else
               x[2 * k] >= 0 and (abs(x[2 * k + 1]) <= mu * x[2 * k] if kind == "stick" else kind * w[2 * k + 1] >= 0)
               for k, kind in enumerate(kinds)):
            return x
    raise ArithmeticError("no impulses")


def forces(phase):
    """(N, F_T) = L q + l of the closed contact: phase is None, or (contact, direction of sliding), 0 if it sticks."""
    if phase is None:
        return np.zeros((2, 3)), np.zeros(2)
    i, s = phase
    if s == 0:
        A = np.array([normal[i], tangent[i]])
        W = A @ M_inverse @ A.T
        return np.linalg.solve(W, A @ M_inverse @ K), -np.linalg.solve(W, A @ M_inverse @ F)
    w = normal[i] @ M_inverse @ (normal[i] - mu * s * tangent[i])
    L, l = normal[i] @ M_inverse @ K / w, -normal[i] @ M_inverse @ F / w
    return np.array([L, -mu * s * L]), np.array([l, -mu * s * l])


def phase_of(i, y):
    """The phase of contact i, whose gap is 0."""
    v_N, v_T = normal[i] @ y[3:6], tangent[i] @ y[3:6]
    phase = None if v_N > 1e-9 else (i, np.sign(v_T) if abs(v_T) > 1e-9 else 0)
    L, l = forces(phase)
    N, F_T = L @ y[:3] + l
    if phase and phase[1] == 0 and abs(F_T) > mu * N:
        raise ArithmeticError("slides from rest")
    return phase if N > 1e-12 else None


def events(t_end, step=2e-4):
    """(t, kind, contact, phase after it)"""
    y = np.array([0, -(r_M - r_O) / h_M, -0.2788, -0.3411, 0, -7.4583, 1])
    t, phase, fresh, found = 0, phase_of(LOWER, y), None, []
    while True:
        L, l = forces(phase)
        B = np.zeros((7, 7))  # y' = B y, y = (q, u, 1)
        B[:3, 3:6] = np.eye(3)
        B[3:6, :3], B[3:6, 6] = -M_inverse @ K, M_inverse @ F
        roots = {("gap", i): lambda y, i=i: offset[i] + normal[i] @ y[:3]
                 for i in range(3) if not phase or phase[0] != i}
        if phase:
            i, s = phase
            A = np.array([normal[i], tangent[i]])
            B[3:6, :3] += M_inverse @ A.T @ L
            B[3:6, 6] += M_inverse @ A.T @ l
            roots["opens", i] = lambda y: (L @ y[:3] + l)[0]
            if s == 0:
                roots["slips", i] = lambda y: mu * (L @ y[:3] + l)[0] - abs((L @ y[:3] + l)[1])
            else:
                roots["sticks", i] = lambda y: s * (tangent[i] @ y[3:6])
        along, first, hits = expm(B * step), True, []
        while not hits:
            after = along @ y
            for name, root in roots.items():
                s0 = 1e-7 if first and name == fresh else 0  # it has just been zero
                f = lambda s, root=root: root(expm(B * s) @ y)
                if f(s0) > 0 and root(after) <= 0:
                    hits.append((brentq(f, s0, step, xtol=1e-16, rtol=1e-15), name))
            first = False
            if not hits:
                y, t = after, t + step
            if t > t_end:
                return found
        s, (what, i) = min(hits)
        y, t, fresh = expm(B * s) @ y, t + s, None
        if what == "gap":
            A = np.array([normal[i], tangent[i]])
            b = A @ y[3:6] * [1 + restitution[i], 1]
            y[3:6] += M_inverse @ A.T @ solve(A @ M_inverse @ A.T, b)
            phase, fresh = phase_of(i, y), ("gap", i)
        elif what == "opens":
            phase, fresh = None, ("gap", i)
        elif what == "slips":
            phase = (i, -np.sign((L @ y[:3] + l)[1]))
            fresh = ("sticks", i)
        else:
            phase = (i, 0)
        found.append((t, what, i, phase))


def stepping(h, t_end, phi_M=-0.1036):
    """(t, contact) of impacts: gaps at half the step, velocities jump within it."""
    q, u = np.array([0, phi_M, -0.2788]), np.array([-0.3411, 0, -7.4583])
    inverse = np.linalg.inv(M + h * h / 4 * K)
    found = []
    for k in range(round(t_end / h)):
        free = u + inverse @ (h * F - h * K @ q - h * h / 2 * K @ u)
        active = [i for i in range(3) if offset[i] + normal[i] @ (q + h / 2 * u) <= 0]
        new = free
        if active:
            A = np.array([row for i in active for row in (normal[i], tangent[i])])
            b = A @ free
            b[::2] += restitution[active] * (normal[active] @ u)
            new = free + inverse @ A.T @ solve(A @ inverse @ A.T, b)
            found += [(k * h + h, i) for i in active if (normal[i] @ u) < -5e-3 and (normal[i] @ new) > -1e-9]
        q, u = q + h / 2 * (u + new), new
    return found


parser = argparse.ArgumentParser()
parser.add_argument("--step", type=float)
parser.add_argument("--end", type=float, default=6)
arguments = parser.parse_args()
if arguments.step:
    for t, i in stepping(arguments.step, min(arguments.end, 0.23)):
        print(f"{t:.6f} {i}")
else:
    found = events(arguments.end)
    for t, what, i, phase in found[:18]:
        print(f"{t:.12f} {what:6} {i} {phase}")
    d = np.diff([t for t, what, i, phase in found if i == 0])[-3:]
    print(f"period {d[2] - (d[2] - d[1]) ** 2 / (d[2] - 2 * d[1] + d[0]):.12f} (Aitken)")
