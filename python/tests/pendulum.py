"""The pendulum in Cartesian coordinates, y = (x, z, u, w), of length 1: y' = f, 0 = c, and known values."""
import numpy as np

GRAVITY = 9.81


def f(t, y):
    x, z, u, w = y
    tension = u * u + w * w - GRAVITY * z
    return np.array([u, w, -tension * x, -GRAVITY - tension * z])


def c(t, y):
    x, z, u, w = y
    return np.array([(x * x + z * z - 1) / 2, x * u + z * w])


def G(t, y):
    x, z, u, w = y
    return np.array([[x, z, 0, 0], [u, w, x, z]])


def energy(y):
    return (y[2] ** 2 + y[3] ** 2) / 2 + GRAVITY * y[1]


START = np.array([1.0, 0.0, 0.0, 0.0]) # horizontal, at rest

# A quarter of the period for an amplitude of 90 degrees: K(sin(45 degrees)) sqrt(l / g); K from Abramowitz and Stegun,
# table 17.1: m = 0.5
QUARTER = 1.854074677301372 / np.sqrt(GRAVITY)
