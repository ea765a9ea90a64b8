"""The slider-crank with spring and damper of E. J. Haug, Intermediate Dynamics (1992), example 6.1.8: in Python, and as
sympy expressions. Its mean kinetic energy over 0 ... 10 is given by SUNDIALS' example idasSlCrank_dns: 3.3366160663 J s,
from a run at tolerances 1e-6."""
import numpy as np

import cpodes

PUBLISHED = 3.3366160663
PARAMETERS = {"a": 0.5, "c": 1.0, "k": 1.0, "l0": 1.0}
J1, M2, J2, F = 1.0, 1.0, 2.0, 1.0


def spring_forces(m, r, u, P):
    """Q; m: a module with sin, cos, sqrt."""
    (q, x, p), (qd, xd, pd) = r, u
    a, c, k, l0 = P["a"], P["c"], P["k"], P["l0"]
    reach = m.cos(p) + a * m.cos(q)
    l = m.sqrt(x * x - x * reach + (1 + a * a) / 4 + a * m.cos(p - q) / 2)
    rate = (2 * x * xd - xd * reach + x * (m.sin(p) * pd + a * m.sin(q) * qd) - a * m.sin(p - q) * (pd - qd) / 2) / (2 * l)
    phi = (k * (l - l0) + c * rate) / l
    return [-phi * a * (m.sin(p - q) / 2 + x * m.sin(q)) / 2, phi * (m.cos(p) / 2 - x + a * m.cos(q) / 2) + F,
            -phi * (x * m.sin(p) - a * m.sin(p - q) / 2) / 2 - F * m.sin(p)]


def pin(m, r, P):
    q, x, p = r
    return [x - m.cos(p) - P["a"] * m.cos(q), -m.sin(p) - P["a"] * m.sin(q)]


def in_python():
    def A(t, r, P):
        q, x, p = r
        a = P["a"]
        return np.array([[a * np.sin(q), 1, np.sin(p)], [-a * np.cos(q), 0, -np.cos(p)]])

    def b(t, r, u, P):
        (q, x, p), (qd, xd, pd) = r, u
        a = P["a"]
        return -np.array([a * np.cos(q) * qd ** 2 + np.cos(p) * pd ** 2, a * np.sin(q) * qd ** 2 + np.sin(p) * pd ** 2])
    return cpodes.Mechanism(mass=[J1, M2, J2], forces=lambda t, r, u, P: np.array(spring_forces(np, r, u, P)), constraints=A,
                            position=lambda t, r, P: np.array(pin(np, r, P)), bias=b, params=PARAMETERS)


def in_sympy():
    import sympy as sp
    r, u, P = sp.symbols("q x p"), sp.symbols("qd xd pd"), sp.symbols("a c k l0")
    names = dict(zip(("a", "c", "k", "l0"), P))
    return cpodes.symbolic.mechanism(r, u, sp.diag(J1, M2, J2), spring_forces(sp, r, u, names), pin(sp, r, names),
                                     params={s: PARAMETERS[str(s)] for s in P})


def start(P):
    """At rest with the crank upright."""
    p = -np.arcsin(P["a"])
    return np.array([np.pi / 2, np.cos(p), p, 0, 0, 0])


def kinetic(t, y, P):
    return (J1 * y[3] ** 2 + M2 * y[4] ** 2 + J2 * y[5] ** 2) / 2


PROBLEM = dict(objective=cpodes.Objective(integrand=kinetic), t_span=(0, 10), start=start)
