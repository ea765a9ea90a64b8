"""Measures what the guide's chapter "Python" says about speed. Times are minima of many repeats, ratios are taken in turn.

    python3 bench.py [overhead] [import] [andrews]"""
import math
import subprocess
import sys
import time

import numpy as np

import cpodes


def overhead() -> None:
    """Of one callback with n = 14, beyond the function itself."""
    n, value = 14, np.zeros(14)
    f = lambda t, y: value
    y = np.zeros(n)
    run = alone = np.inf
    for _ in range(200):
        begin = time.perf_counter()
        for _ in range(1000):
            f(0.0, y)
        alone = min(alone, (time.perf_counter() - begin) / 1000)
        system = cpodes._solve.Ode(f, 0.0, y, float, None, None, None, (), 1e-3, 1e-6)
        raw, ode = cpodes._solve.lib.glue_rhs, system.ode
        a, b = system.scratch_vectors
        empty = time.perf_counter()
        for _ in range(1000):
            raw(0.0, a, b, ode)
        run = min(run, (time.perf_counter() - empty) / 1000)
    print(f"a callback, n = 14: {1e6 * (run - alone):.2f} microseconds beyond the function (which takes {1e6 * alone:.2f})")


def importing() -> None:
    program = "import numpy, time; t = time.perf_counter(); import cpodes; print(time.perf_counter() - t)"
    times = [float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout) for _ in range(15)]
    print(f"import cpodes after numpy: {1e3 * min(times):.0f} ms")


class Andrews:
    """Andrews' squeezing mechanism (Test Set for Initial Value Problem Solvers) as an index-reduced ODE in numpy: y = (q, u)."""

    m = dict(zip(range(1, 8), (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)))
    inertia = dict(zip(range(1, 8), (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)))
    xa, ya, xb, yb, xc, yc = -0.06934, -0.00227, -0.03635, 0.03273, 0.014, 0.072
    d, da, e, ea, rr, ra, ss, sa, sb, sc, sd = 0.028, 0.0115, 0.02, 0.01421, 0.007, 0.00092, 0.035, 0.01874, 0.01043, 0.018, 0.02
    ta, tb, u, ua, ub, zf, zt, fa, c0, l0, mom = 0.02308, 0.00916, 0.04, 0.01228, 0.00449, 0.02, 0.04, 0.01421, 4530, 0.07785, 0.033
    fixed = np.array([xb, yb, xa, ya, xa, ya])
    # bars: rows of their loops, angles, vector at angle 0
    bars = [((0, 1, 2), (0,), (rr, 0)), ((0, 1, 2), (0, 1), (-d, 0)), ((0,), (2,), (0, ss)), ((1,), (3, 4), (0, e)), ((1,), (4,), (-zt, 0)),
            ((2,), (5, 6), (-zf, 0)), ((2,), (6,), (0, u))]
    S = np.zeros((7, 7)) # angles of the bars
    for k, (_, angles, _) in enumerate(bars):
        S[k, list(angles)] = 1
    B = np.array([[v[0], v[1]] for _, _, v in bars])
    L = np.zeros((3, 7)) # bars of the loops
    for k, (loops, _, _) in enumerate(bars):
        L[list(loops), k] = 1
    LS = (L[:, :, None] * S[None]).transpose(0, 2, 1) # [loop, angle, bar]

    def turned(self, q):
        a = self.S @ q
        c, s = np.cos(a), np.sin(a)
        return c * self.B[:, 0] - s * self.B[:, 1], s * self.B[:, 0] + c * self.B[:, 1]

    def p(self, q):
        nx, ny = self.turned(q)
        r = np.empty(6)
        r[0::2], r[1::2] = self.L @ nx, self.L @ ny
        return r - self.fixed

    def A(self, q, turned=None):
        nx, ny = turned or self.turned(q)
        A = np.empty((6, 7))
        A[0::2], A[1::2] = -(self.LS @ ny), self.LS @ nx
        return A

    def b(self, q, v, turned=None):
        nx, ny = turned or self.turned(q)
        w2, b = (self.S @ v) ** 2, np.empty(6)
        b[0::2], b[1::2] = self.L @ (nx * w2), self.L @ (ny * w2)
        return b

    def M(self, q):
        m, I, M = self.m, self.inertia, np.zeros((7, 7))
        ct, sp, so = math.cos(q[1]), math.sin(q[3]), math.sin(q[5])
        h, k = self.e - self.ea, self.zf - self.fa
        M[0, 0] = m[1] * self.ra ** 2 + m[2] * (self.rr ** 2 - 2 * self.da * self.rr * ct + self.da ** 2) + I[1] + I[2]
        M[0, 1] = M[1, 0] = m[2] * (self.da ** 2 - self.da * self.rr * ct) + I[2]
        M[1, 1] = m[2] * self.da ** 2 + I[2]
        M[2, 2] = m[3] * (self.sa ** 2 + self.sb ** 2) + I[3]
        M[3, 3] = m[4] * h * h + I[4]
        M[3, 4] = M[4, 3] = m[4] * (h * h + self.zt * h * sp) + I[4]
        M[4, 4] = m[4] * (self.zt ** 2 + 2 * self.zt * h * sp + h * h) + m[5] * (self.ta ** 2 + self.tb ** 2) + I[4] + I[5]
        M[5, 5] = m[6] * k * k + I[6]
        M[5, 6] = M[6, 5] = m[6] * (k * k - self.u * k * so) + I[6]
        M[6, 6] = m[6] * (k * k - 2 * self.u * k * so + self.u ** 2) + m[7] * (self.ua ** 2 + self.ub ** 2) + I[6] + I[7]
        return M

    def forces(self, q, v):
        m, q, v = self.m, q.tolist(), v.tolist()
        cg, sg = math.cos(q[2]), math.sin(q[2])
        x, z = self.sd * cg + self.sc * sg + self.xb - self.xc, self.sd * sg - self.sc * cg + self.yb - self.yc
        l = math.hypot(x, z)
        F = -self.c0 * (l - self.l0) / l
        arm = m[2] * self.da * self.rr * math.sin(q[1])
        fork, rod = m[4] * self.zt * (self.e - self.ea) * math.cos(q[3]), m[6] * self.u * (self.zf - self.fa) * math.cos(q[5])
        return np.array((self.mom - arm * v[1] * (v[1] + 2 * v[0]), arm * v[0] ** 2,
                         F * (x * (self.sc * cg - self.sd * sg) + z * (self.sd * cg + self.sc * sg)), fork * v[4] ** 2,
                         -fork * v[3] * (v[3] + 2 * v[4]), -rod * v[6] ** 2, rod * v[5] * (v[5] + 2 * v[6])))

    def f(self, t, y):
        q, v = y[:7], y[7:]
        turned, K, r = self.turned(q), np.zeros((13, 13)), np.empty(13)
        K[:7, :7], K[7:, :7], r[:7], r[7:] = self.M(q), self.A(q, turned), self.forces(q, v), self.b(q, v, turned)
        K[:7, 7:] = K[7:, :7].T
        return np.concatenate([v, np.linalg.solve(K, r)[:7]])

    def mechanism(self):
        return cpodes.Mechanism(lambda t, q: self.M(q), lambda t, q, u: self.forces(q, u), lambda t, q: self.A(q),
                                lambda t, q: self.p(q), lambda t, q, u: self.A(q) @ u, lambda t, q, u: self.b(q, u))

    def c(self, t, y):
        A = self.A(y[:7])
        return np.concatenate([self.p(y[:7]), A @ y[7:]])

    def G(self, t, y):
        nx, ny = self.turned(y[:7])
        G = np.zeros((12, 14))
        G[0:6:2, :7], G[1:6:2, :7] = -(self.LS @ ny), self.LS @ nx
        G[6:, 7:] = G[:6, :7]
        w = self.S @ y[7:]
        G[6::2, :7], G[7::2, :7] = -(self.L * (nx * w)) @ self.S, -(self.L * (ny * w)) @ self.S
        return G


def andrews() -> None:
    """CPU time of Andrews' mechanism to an error of 1e-8 [rad] in the angles at the end: that of a ladder of tolerances, by a line
    through the logarithms of errors and times from 1e-6 to 1e-10."""
    from scipy.integrate import solve_ivp
    a, model = Andrews(), cpodes.model("andrews")
    y0, end = model.y0, model.t_end
    exact = model.solve(rtol=1e-13, atol=1e-13).y[:7, -1]
    mechanism = a.mechanism()
    programs = {f"scipy {name}": (lambda name: lambda tol: solve_ivp(a.f, (0, end), y0, name, rtol=tol, atol=tol))(name)
                for name in ("RK45", "DOP853", "LSODA")} # BDF takes 13 times, Radau 8 times the time of DOP853
    programs["cpodes, Python"] = lambda tol: cpodes.solve(a.f, (0, end), y0, "DOP853", constraints=a.c, jac=a.G, rtol=tol, atol=tol)
    programs["cpodes, Mechanism"] = lambda tol: mechanism.solve((0, end), y0, "DOP853", rtol=tol, atol=tol)
    programs["cpodes, compiled"] = lambda tol: model.solve(method="DOP853", rtol=tol, atol=tol)
    tolerances = 10.0 ** -np.arange(5.5, 11.6, 0.25)
    ladder = {name: [] for name in programs} # (error, evaluations, seconds)
    for tol in tolerances:
        for name, program in programs.items():
            best = np.inf
            for _ in range(3): # in turn: the load of the machine falls on all
                begin = time.thread_time()
                sol = program(tol)
                best = min(best, time.thread_time() - begin)
            ladder[name].append((abs(sol.y[:7, -1] - exact).max(), sol.nfev, best))
    at = {}
    for name, rows in ladder.items():
        errors, counts, seconds = (np.log(column) for column in np.array([r for r in rows if 1e-10 <= r[0] <= 1e-6]).T)
        counts, seconds = (np.exp(np.polyval(np.polyfit(errors, column, 1), math.log(1e-8))) for column in (counts, seconds))
        at[name] = counts, seconds, len(errors)
    best = min(value[1] for name, value in at.items() if name.startswith("scipy"))
    for name, (counts, seconds, n) in at.items():
        print(f"{name:>18}: {counts:6.0f} evaluations, {1e3 * seconds:7.1f} ms, {best / seconds:6.2f} times as fast as the best of scipy's "
              f"({n} tolerances)")


if __name__ == "__main__":
    parts = {"overhead": overhead, "import": importing, "andrews": andrews}
    for name in sys.argv[1:] or parts:
        parts[name]()
