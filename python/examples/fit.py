"""Fits length and damping of a pendulum to its position and speed after two seconds, with gradients by the adjoint method
and scipy's BFGS.

    m x'' + d x' + x lambda = 0,  m z'' + d z' + z lambda = -m g,  x^2 + z^2 = l^2;   params = {"d", "l"}

Expected: l = 1.2 m and d = 0.3 kg/s, with which the "measurement" was computed, to 5 digits, and "ok"."""
import sys

import numpy as np
import sympy as sp
from scipy.optimize import minimize

import cpodes

x, z, u, w, d, l = sp.symbols("x z u w d l")
pendulum = cpodes.symbolic.mechanism([x, z], [u, w], sp.eye(2), [-d * u, -9.81 - d * w], [(x ** 2 + z ** 2 - l ** 2) / 2],
                                     params={d: 0.3, l: 1.2})
span = (0.0, 2.0)


def start(p): # horizontal, at rest
    return np.array([p["l"], 0.0, 0.0, 0.0])


measured = pendulum.solve(span, start({"l": 1.2}), "Adams", rtol=1e-11, atol=1e-11).y[:, -1]


def misfit(t, y, p):
    return np.sum((y - measured) ** 2)


def value_and_gradient(p):
    sol, slope = pendulum.gradient(misfit, {"d": p[0], "l": p[1]}, t_span=span, start=start)
    return sol.objective, [slope["d"], slope["l"]]


found = minimize(value_and_gradient, [0.2, 1.1], jac=True, method="BFGS", options={"gtol": 1e-8})
print(f"l = {found.x[1]:.6f} m, d = {found.x[0]:.6f} kg/s after {found.nfev} gradients; misfit {found.fun:.1e}")
good = abs(found.x - [0.3, 1.2]).max() < 1e-5
print("ok" if good else "WRONG: these are not the parameters of the measurement")
sys.exit(not good)
